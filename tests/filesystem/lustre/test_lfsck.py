"""Runs of LFSCK, as a Lustre 2.17 reported them."""

import re

import pytest

from seatrial.filesystem.lustre.lfsck import parse_lfsck
from seatrial.filesystem.lustre.params import NotUnderstood
from transcript import lustre_step


def shown(step: str) -> str:
    """The parameters that a step printed after what lctl said of the run."""
    out = lustre_step(step).stdout
    return out[out.index('mdd.') :]


ALL = shown('123')


def test_a_run_of_both_types_is_that_of_all_targets():
    run = parse_lfsck(ALL)
    assert run.types == ('namespace', 'layout')
    assert (run.osts, run.inodes, run.seconds, run.phases_s) == (4, 50 + 15, 1, (0, 0))
    assert not run.unended and not run.inconsistencies and not run.dry


def test_settings_of_lfsck_that_lctl_prints_beside_the_runs_are_no_runs():
    """`mdd.*.lfsck_*`, as docs/how-to/lfsck.md has it, names two settings too."""
    text = shown('520')
    run = parse_lfsck(text)
    assert 'lfsck_async_windows=1024' in text and 'lfsck_speed_limit=0' in text
    assert (run.types, run.osts, run.dry, run.inconsistencies) == (('namespace', 'layout'), 4, True, {})


def test_a_run_that_never_began_has_no_time():
    run = parse_lfsck(shown('120'))
    assert run.seconds is None
    assert {scan.status for scan in run.unended} == {'init'}


def test_findings_are_summed_by_name():
    damaged = ALL.replace('dangling_repaired: 0', 'dangling_repaired: 2')
    worse = damaged.replace('failed_phase1: 0', 'failed_phase1: 1')
    assert parse_lfsck(worse).inconsistencies == {'dangling_repaired': 4, 'failed_phase1': 8}


def test_a_dry_run_has_what_it_would_have_repaired():
    run = parse_lfsck(lustre_step('580').stdout)
    assert (run.dry, run.unended, run.inconsistencies, run.unclear) == (True, (), {'inconsistent_dangling': 25}, {})


@pytest.mark.parametrize(
    'name',
    [
        *('inconsistent_others', 'inconsistent_phase1', 'dirent_inconsistent', 'striped_shards_inconsistent'),
        *('unknown_inconsistency', 'striped_dirs_disabled', 'local_lost_found_moved'),
        *('failed_phase2', 'striped_dirs_failed'),
        *('skipped', 'striped_dirs_skipped', 'striped_shards_skipped', 'local_lost_found_skipped'),
    ],
)
def test_a_counter_of_inconsistencies_or_failures_is_found_and_one_of_what_was_skipped_is_unclear(name):
    run = parse_lfsck(re.sub(rf'(?m)^{name}: 0$', f'{name}: 3', shown('520'), count=1))
    assert (run.inconsistencies, run.unclear) == (({}, {name: 3}) if 'skipped' in name else ({name: 3}, {}))


@pytest.mark.parametrize('name', ['updated_phase1', 'updated_phase2', 'linkea_overflow_cleared'])
def test_what_a_run_repairs_under_another_name_is_found_too(name):
    assert parse_lfsck(ALL.replace(f'{name}: 0', f'{name}: 3', 1)).inconsistencies == {name: 3}


def test_a_counter_that_is_not_known_is_neither_found_nor_harmless():
    text = shown('520').replace('success_count: ', 'shredded: 5\nflavour: vanilla\nlost_sheep: 0\nsuccess_count: ', 1)
    run = parse_lfsck(text)
    assert (run.inconsistencies, run.unclear) == ({}, {'shredded': 5})


def test_a_run_is_a_dry_run_if_every_mdt_reports_it():
    dry = ALL.replace('param: all_targets,orphan', 'param: dryrun,all_targets')
    assert parse_lfsck(dry).dry
    assert not parse_lfsck(dry.replace('dryrun,', '', 1)).dry


@pytest.mark.parametrize('text', [ALL, shown('520')], ids=['123', '520'])
@pytest.mark.slow
def test_a_text_that_was_cut_short_at_any_line_is_refused_or_lacks_targets(text):
    lines, whole = text.splitlines(keepends=True), parse_lfsck(text).scans
    for number in range(len(lines)):
        try:
            scans = parse_lfsck(''.join(lines[:number])).scans
        except NotUnderstood:
            continue
        assert scans == whole[: len(scans)]


@pytest.mark.parametrize(
    ('text', 'word'),
    [
        ('', 'no run'),
        (ALL + ALL, 'twice'),
        (ALL[ALL.index('obdfilter.') :], 'MDS'),
        (ALL.replace('lfsck_layout=', 'stats='), 'not a parameter of LFSCK'),
        (ALL.replace('run_time_phase1: 0 seconds', 'run_time_phase1: soon'), 'soon'),
        (lustre_step('126').stdout, 'not a parameter'),
        (lustre_step('431').stdout, 'not a parameter'),
    ],
)
def test_another_text_is_refused_in_words(text, word):
    with pytest.raises(NotUnderstood, match=word):
        parse_lfsck(text)
