"""The register, and the page that is made from it."""

import pytest

from seatrial.rules import prevented  # noqa: F401  (they register their rules)
from seatrial.rules.registry import BY_DESIGN, RULES, rule


def test_a_rule_is_defined_once():
    with pytest.raises(ValueError, match='twice'):
        rule('w', 'label', f'{next(iter(RULES))}: t', 'm', 's')(lambda evidence: None)


DESIGNS = {
    'T2': 'workload/test_access.py::test_a_contradiction_is_named_with_its_field',
    'T6': 'job/directory/test_rundir.py::test_a_changed_marker_is_not_verified',
    'T11': 'job/sequence/test_provenance.py::test_a_node_that_says_nothing_is_not_taken_for_one_that_agrees',
    'T16': 'integration/test_failures_in_slurm.py::test_munge_goes_down_during_a_job_and_the_job_is_waited_for',
    'P3': 'engine/test_ior.py::test_one_launch_does_one_operation_once_and_has_no_other_option',
    'P10': 'workload/test_random.py::test_the_files_are_written_in_full_and_in_order_before_by_as_many_tasks',
    'P12': 'check/test_criteria.py::test_what_no_case_can_be_compared_with_is_refused_at_its_place',
    'P13': 'judge/test_change_points.py::test_a_night_or_two_is_no_change_of_level',
    'P14': 'judge/test_references.py::test_what_is_doubted_or_measured_too_seldom_decides_nothing',
    'P19': 'judge/test_relations.py::test_the_lower_end_of_the_largest_ratio_pays_for_every_pair',
}
"""The test that tries to break each rule that no measurement can break."""


def test_what_no_measurement_can_break_is_tried(repository):
    assert {known.id for known in RULES.values() if known.when == BY_DESIGN} == set(DESIGNS)
    for place in DESIGNS.values():
        file, _, name = place.partition('::')
        assert f'def {name}(' in (repository / 'tests' / file).read_text(), place


@pytest.mark.parametrize(
    'known', [known for known in RULES.values() if known.when != BY_DESIGN], ids=lambda known: known.id
)
def test_every_rule_says_what_must_hold_its_remedy_and_its_source(known):
    assert all([known.title, known.remedy, known.source])
    assert known.effect in ('refuse', 'fail', 'invalid', 'incomplete', 'label')
