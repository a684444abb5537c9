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
        r'MFWA +local:default scratch \(default\) 1 node +3: 2objects, 8objects, 16objects +fio', row('Objects')
    )


def test_a_profile_with_more_points_shows_them(row):
    assert '4: 2objects, 4objects, 8objects, 16objects' in row('Objects', '--profile=nightly')


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


# Metadata


def engines_of(row, *arguments):
    """The engine of each check, as the last word before its sizes."""
    return {
        check: re.search(r'(\w+|none here) +[\d.]+ \w*B ', row(check, *arguments)).group(1)
        for check in ('Objects', 'Reads', 'Files', 'Promises')
    }


def test_a_check_of_metadata_is_shown_with_its_trees_and_what_they_hold(site, row):
    site.add_metadata()
    assert re.search(
        r'a metadata tree +local:default scratch \(default\) 1 node +2: files, both +posixops +1 MiB', row('Files')
    )


def test_each_kind_of_check_has_the_first_engine_that_can(site, row):
    site.add_metadata()
    assert engines_of(row) == {'Objects': 'fio', 'Reads': 'fio', 'Files': 'posixops', 'Promises': 'posixops'}


def test_metadata_that_nothing_here_can_measure_is_said_with_the_reasons(on_site, site):
    site.add_metadata(engines='')
    said = ' '.join(on_site('list').out.split())
    assert 'no engine here for a metadata tree: fio: cannot work on directories (both)' in said
    assert 'no engine here for POSIX semantics: fio: does not know POSIX semantics (two)' in said


def test_an_engine_of_data_that_is_asked_for_leaves_metadata_to_the_others(site, row):
    site.add_metadata()
    assert engines_of(row, '--engine=dd') == {
        'Objects': 'none here',
        'Reads': 'dd',
        'Files': 'posixops',
        'Promises': 'posixops',
    }


def test_an_engine_of_metadata_that_is_asked_for_leaves_data_to_the_others(site, row):
    site.add_metadata()
    assert engines_of(row, '--engine=posixops') == {
        'Objects': 'fio',
        'Reads': 'fio',
        'Files': 'posixops',
        'Promises': 'posixops',
    }


def test_an_engine_of_both_that_is_asked_for_measures_both_or_nothing_does(site, row):
    site.add_metadata()
    assert engines_of(row, '--engine=fio') == {
        'Objects': 'fio',
        'Reads': 'fio',
        'Files': 'none here',
        'Promises': 'none here',
    }
