"""`seatrial list`: what would run where, and what it would take."""

import re

import pytest


@pytest.fixture
def row(on_site):
    """The words of a check's line."""

    def words(check, *arguments):
        said = on_site('list', *arguments)
        assert said.status == 0, said.err
        (line,) = [line for line in said.out.splitlines() if line.startswith(f'{check} ')]
        return line

    return words


def test_every_case_of_the_profile_is_counted(on_site):
    assert on_site('list').out.startswith('2 cases of site, profile smoke')


def test_what_the_profile_is_good_for_is_said_first(on_site):
    assert 'says nothing about performance' in on_site('list').out.splitlines()[1]


def test_a_check_is_shown_with_pattern_place_points_and_engine(row):
    assert re.search(
        r'MFWA +local:default scratch \(default\) 1 node +3: 2objects \.\. 16objects +fio', row('Objects')
    )


def test_a_profile_with_more_points_shows_them(row):
    assert '4: 2objects .. 16objects' in row('Objects', '--profile=nightly')


def test_only_the_checks_that_are_named_are_listed(on_site):
    said = on_site('list', 'Reads')
    assert (said.out.startswith('1 cases'), 'Objects' in said.out) == (True, False)


def test_a_family_can_be_named(on_site):
    assert on_site('list', 'files').out.startswith('2 cases')


def test_bytes_and_budget_are_those_of_the_plan(row, site):
    site.change('bytes_per_client: 1MiB', 'bytes_per_client: 2MiB, budget: 90s')
    # Two clients with 2 MiB each; on the file system also 1 MiB for the directories.
    assert re.search(r'5 MiB +4 MiB +90 s', row('Objects'))


def test_the_most_time_and_space_are_added_up(on_site, site):
    site.change('bytes_per_client: 1MiB', 'bytes_per_client: 2MiB, budget: 50s')
    assert 'At most 100 s of measuring, and at most 1 GiB on a file system' in on_site('list').out


def test_a_missing_engine_is_said_with_the_reason(on_site, site, tmp_path):
    site.change(str(tmp_path / 'stubs' / 'fio'), '/no/such/fio')
    said = on_site('list', 'Objects')
    assert (said.status, 'none here' in said.out) == (0, True)
    assert re.search(r'no engine here for MFWA: fio: .*/no/such/fio', said.out)


def test_another_engine_can_be_asked_for(row):
    assert ' dd ' in row('Reads', '--engine=dd')


def test_nothing_is_made(on_site, site):
    on_site('list')
    assert not (site.folder / 'state').exists()
