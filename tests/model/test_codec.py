"""The JSON form of the values: exact, and what is not exact is refused with its place."""

import json
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import FLAT, FLAT_TREE, plan_of
from seatrial.engine.proof import Differs
from seatrial.model.codec import FormError, from_json, to_json
from seatrial.model.issued import DarshanRun
from seatrial.model.metric import Histogram
from seatrial.model.plan import ALL_IN_ONE, SCHEMA, TrialPlan, digest, read_plan
from seatrial.model.point import Axis, Point, TreePart
from seatrial.model.record import KINDS, Sample, read_records
from seatrial.model.telemetry import Servers
from transcript import transcripts


class Inner(NamedTuple):
    number: int
    share: float = 0.5


class Outer(NamedTuple):
    inner: Inner
    several: Tuple[Inner, ...]
    names: List[str]
    sizes: Dict[str, int]
    perhaps: Optional[str] = None


OUTER = Outer(Inner(1), (Inner(2), Inner(3, 1.0)), ['a'], {'b': 4})


def again(kind, value):
    """The value after a way through its JSON text."""
    return from_json(kind, json.loads(json.dumps(to_json(value))))


def test_what_is_as_by_default_is_left_out():
    inner = {'inner': {'number': 1}, 'several': [{'number': 2}, {'number': 3, 'share': 1.0}]}
    assert to_json(OUTER) == {**inner, 'names': ['a'], 'sizes': {'b': 4}}
    assert again(Outer, OUTER._replace(perhaps='')) == OUTER._replace(perhaps='')


def test_a_field_that_a_class_gets_later_changes_nothing_that_was_written():
    class Grown(NamedTuple):
        number: int
        share: float = 0.5
        later: Tuple[str, ...] = ()

    assert to_json(Grown(3)) == to_json(Inner(3)) != to_json(Grown(3, later=('x',)))
    assert from_json(Grown, to_json(Inner(3, 0.25))) == Grown(3, 0.25)


@pytest.mark.parametrize(
    ('value', 'key'),
    [
        (Axis('variant', 'variants', differs='in each variant'), 'each'),
        (Histogram('files by size', 'B', (1024,), (7,), (1.0,)), 'found'),
        (Servers('before', 0.5, 0, 'raw', '4242', ()), 'own'),
        (Differs('f', 0, '00', '01'), 'found'),
    ],
)
def test_a_field_with_another_name_keeps_its_key(value, key):
    (field,) = type(value).json_keys()
    data = to_json(value)
    assert key in data and field not in data and again(type(value), value) == value
    with pytest.raises(FormError, match=f'{field}: no such key'):
        from_json(type(value), {**data, field: data[key]})


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        ({'extra': 1}, 'extra: no such key in Outer'),
        ({'names': 'a'}, 'names: a list is expected, not str'),
        ({'names': [1]}, r'names\[0\]: str is expected, not int'),
        ({'inner': {}}, 'inner.number: missing from Inner'),
        ({'inner': {'number': True}}, 'inner.number: int is expected, not bool'),
        ({'inner': None}, 'inner: an object is expected, not null'),
        ({'several': [{'number': 1, 'share': '1'}]}, r'several\[0\].share: float is expected, not str'),
        ({'sizes': {'b': None}}, 'sizes.b: int is expected, not null'),
        ({'sizes': []}, 'sizes: an object is expected, not list'),
        ({'perhaps': 3}, 'perhaps: str is expected, not int'),
    ],
)
def test_another_form_is_refused_with_its_place(change, words):
    with pytest.raises(FormError, match=words):
        from_json(Outer, {**to_json(OUTER), **change})


ANY_JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from([*Outer._fields, *Inner._fields]), inner),
)


@settings(max_examples=30)
@given(ANY_JSON)
def test_any_json_is_a_value_or_a_form_error(data):
    try:
        assert isinstance(from_json(Outer, data), Outer)
    except FormError as error:
        assert str(error)


def reached(kind, types):
    """Every type that is named in a value of this one."""
    if kind not in types:
        types.add(kind)
        for part in get_args(kind) or (get_type_hints(kind).values() if hasattr(kind, '_fields') else ()):
            reached(part, types)
    return types


@pytest.mark.parametrize('kind', [TrialPlan, DarshanRun, *KINDS.values()])
def test_every_field_has_one_form_or_none_so_that_nothing_is_decoded_by_guess(kind):
    unions = [form for form in reached(kind, set()) if get_origin(form) is Union]
    assert [form for form in unions if len(get_args(form)) != 2 or get_args(form)[1] is not type(None)] == []


PLAN = plan_of()


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        ({'schema': 1}, f'schema: 1 is neither {SCHEMA} nor {ALL_IN_ONE}, which are read here'),
        ({'schema': None}, 'schema: None is neither'),
        ({'axis': 'objects'}, 'axis: an object is expected, not str'),
        ({'workload': {'files': 'multiple'}}, 'workload: no such key in TrialPlan'),
    ],
)
def test_a_plan_of_another_form_is_refused_with_the_key(tmp_path, change, words):
    (tmp_path / 'plan.json').write_text(json.dumps({**to_json(PLAN), **change}))
    with pytest.raises(FormError, match=words):
        read_plan(str(tmp_path / 'plan.json'))


def test_a_genuine_plan_of_schema_2_is_read_with_the_parts_of_its_kind_and_has_the_digest_in_its_record(tmp_path):
    sections = transcripts('seatrial')['empty-files']
    (tmp_path / 'plan.json').write_text(sections['plan.json'])
    plan, records = read_plan(str(tmp_path / 'plan.json')), read_records(sections['samples.jsonl'].splitlines())
    (point,) = plan.points
    assert point.tree == TreePart(files_per_directory=500, subtrees='private')
    assert (point.data, point.time, point.training, point.fill) == (None, None, None, None)
    assert [sample.point for sample in records.samples] == [point]
    assert digest(plan) == records.start.plan


def test_a_point_in_both_forms_at_once_is_refused():
    with pytest.raises(FormError, match='transfer_size: no such key in Point'):
        from_json(Point, {'kind': 'access', 'phases': [], 'data': {}, 'transfer_size': 1})


def test_the_digest_is_of_all_that_a_plan_says():
    assert digest(again(TrialPlan, PLAN)) == digest(PLAN)
    others = PLAN._replace(seed=2), PLAN._replace(points=PLAN.points[:1]), plan_of(FLAT, FLAT_TREE)
    assert len({digest(plan) for plan in (PLAN, *others)}) == 4


@pytest.mark.parametrize('kind', [TrialPlan, Sample, DarshanRun])
@settings(max_examples=10)
@given(data=st.data())
def test_any_value_comes_back(kind, data):
    """NaN among them, which equals nothing: so the texts are compared."""
    value = data.draw(st.from_type(kind))
    assert json.dumps(to_json(again(kind, value))) == json.dumps(to_json(value))
