"""The JSON form of the values: exact, and what is not exact is refused with its place."""

import json
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import FLAT_TREE, plan_of, records_of
from seatrial.model.codec import FormError, from_json, stated, to_json
from seatrial.model.namespace import OPERATIONS, SEMANTICS, TREE, Namespace, Trees
from seatrial.model.plan import Case, EngineChoice, Launcher, Limits, Sizing, StoppingRule, Target, TrialPlan
from seatrial.model.record import Measurement, Sample, line_of, read_records
from seatrial.model.tree import MetadataTree, TreeMeasurement, TreePoint
from seatrial.model.workload import AccessPattern, Geometry, Point, Sweep, expand


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


def test_a_value_comes_back_from_its_json():
    assert from_json(Outer, json.loads(json.dumps(to_json(OUTER)))) == OUTER


def test_what_is_as_by_default_is_not_stated():
    assert stated(OUTER) == {
        'inner': {'number': 1},
        'several': [{'number': 2}, {'number': 3, 'share': 1.0}],
        'names': ['a'],
        'sizes': {'b': 4},
    }


def test_a_field_that_a_class_gets_later_changes_nothing_that_was_stated():
    class Grown(NamedTuple):
        number: int
        share: float = 0.5
        later: Tuple[str, ...] = ()

    assert stated(Grown(3)) == stated(Inner(3)) != stated(Grown(3, later=('x',)))


def test_a_whole_plan_comes_back_from_its_json():
    plan = TrialPlan(
        schema=1,
        seatrial='1',
        session='s',
        case=Case('Check', 'a:b', 'scratch', 'default', 2),
        profile='smoke',
        workload=AccessPattern('multiple', 'whole'),
        axis='clients',
        points=tuple(expand(Sweep('clients', (1, 2), 64, objects=2), Geometry(2, 1), 64)),
        engines=(EngineChoice('fio', '/usr/bin/fio'),),
        launcher=Launcher('srun', ('--mpi=pmi2',)),
        target=Target('scratch', 'lustre', '/l', 'l', Limits(1, 2), compresses=None, server_cache_bytes=5),
        records='/r',
        state='/s',
        stopping=StoppingRule(0.1),
        sizing=Sizing(64, 64, 0.8, 0.5),
        launch_limit_s=60.0,
        seed=7,
    )
    assert from_json(TrialPlan, json.loads(json.dumps(to_json(plan)))) == plan
    assert plan.metrics == ['write@1client', 'read@1client', 'write@2clients', 'read@2clients']


@pytest.mark.parametrize(
    ('change', 'said'),
    [
        ({'extra': 1}, 'extra: no such key in Outer'),
        ({'names': 'a'}, 'names: a list is expected, not str'),
        ({'names': [1]}, r'names\[0\]: str is expected, not int'),
        ({'inner': {}}, 'inner.number: missing from Inner'),
        ({'inner': {'number': True}}, 'inner.number: int is expected, not bool'),
        ({'several': [{'number': 1, 'share': '1'}]}, r'several\[0\].share: float is expected, not str'),
        ({'sizes': {'b': None}}, 'sizes.b: int is expected, not null'),
        ({'perhaps': 3}, 'perhaps: str is expected, not int'),
    ],
)
def test_another_form_is_refused_with_its_place(change, said):
    with pytest.raises(FormError, match=said):
        from_json(Outer, {**to_json(OUTER), **change})


def test_a_missing_key_without_default_is_refused():
    with pytest.raises(FormError, match='sizes: missing'):
        from_json(Outer, {key: value for key, value in to_json(OUTER).items() if key != 'sizes'})


ANY_JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from([*Outer._fields, *Inner._fields]), inner),
)


@given(ANY_JSON)
def test_any_json_is_a_value_or_a_form_error(data):
    try:
        assert isinstance(from_json(Outer, data), Outer)
    except FormError as error:
        assert str(error)


# One of several forms


class Other(NamedTuple):
    name: str
    share: float = 0.5


class Either(NamedTuple):
    value: Union[Inner, Other]
    perhaps: Optional[Union[Inner, Other]] = None
    several: Tuple[Union[Inner, Other], ...] = ()


@pytest.mark.parametrize('value', [Inner(1), Other('a'), Inner(1, 0.25), Other('a', 0.25)])
def test_of_two_forms_the_one_that_was_written_comes_back(value):
    for whole in (Either(value), Either(value, value), Either(value, None, (value, Inner(2), Other('b')))):
        back = from_json(Either, json.loads(json.dumps(to_json(whole))))
        assert back == whole
        assert type(back.value) is type(value)


@pytest.mark.parametrize(
    ('data', 'said'),
    [
        ({'name': 3}, 'value.name: str is expected, not int'),
        ({'number': 'a'}, 'value.number: int is expected, not str'),
        ({'name': 'a', 'extra': 1}, 'value.extra: no such key in Other'),
        ({'number': 1, 'extra': 1}, 'value.extra: no such key in Inner'),
        ({'share': 1.0}, 'value.number: missing from Inner'),
        ([], 'value: an object is expected, not list'),
        (None, 'value: an object is expected, not null'),
    ],
)
def test_what_is_none_of_two_forms_is_refused_by_the_one_that_is_nearest(data, said):
    with pytest.raises(FormError, match=said):
        from_json(Either, {'value': data})


def again(kind, value):
    """The value after a way through its JSON text."""
    return from_json(kind, json.loads(json.dumps(to_json(value))))


@pytest.mark.parametrize(
    ('workload', 'sweep'),
    [
        (TREE, FLAT_TREE),
        (
            Namespace('tree', ('create', 'remove')),
            Trees((('d', MetadataTree(4, 5, 3, phases=('create', 'remove'))),)),
        ),
        (OPERATIONS, FLAT_TREE),
        (SEMANTICS, Trees((('two', MetadataTree()),), tasks=2)),
    ],
)
def test_a_plan_and_a_record_of_metadata_come_back(workload, sweep):
    plan = plan_of(workload, sweep)
    assert again(TrialPlan, plan) == plan
    assert {type(point) for point in again(TrialPlan, plan).points} == {TreePoint}
    records = records_of(plan, 6 * [1.0])
    lines = [line_of(each) for each in (records.start, records.sized, *records.samples, records.end)]
    assert read_records(lines) == records


# Every value that the types allow, NaN among them, which equals nothing: so the texts are compared.


@given(st.from_type(TrialPlan))
def test_any_plan_comes_back_with_its_kinds(plan):
    back = again(TrialPlan, plan)
    assert json.dumps(to_json(back)) == json.dumps(to_json(plan))
    assert type(back.workload) is type(plan.workload)
    assert [type(each) for each in back.points] == [type(each) for each in plan.points]


@given(st.from_type(Sample))
def test_any_sample_comes_back_with_its_kind_of_measurement(sample):
    back = again(Sample, sample)
    assert json.dumps(to_json(back)) == json.dumps(to_json(sample))
    assert type(back.measurement) is type(sample.measurement)


def test_the_forms_of_a_plan_and_of_a_record_are_told_apart_by_their_required_keys():
    for one, other in ((AccessPattern, Namespace), (Point, TreePoint), (Measurement, TreeMeasurement)):
        required = set(other._fields) - set(other._field_defaults)
        assert not required <= set(one._fields)
