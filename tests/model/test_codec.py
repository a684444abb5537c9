"""The JSON form of the values: exact, and what is not exact is refused with its place."""

import json
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.model.codec import FormError, from_json, to_json
from seatrial.model.plan import Case, EngineChoice, Launcher, Limits, Sizing, StoppingRule, Target, TrialPlan
from seatrial.model.workload import AccessPattern, Geometry, Sweep, expand


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
