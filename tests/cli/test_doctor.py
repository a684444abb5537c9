"""`seatrial doctor`: what is there, what is missing, and how to get it."""

import os
import platform
import sys

import pytest

import seatrial


@pytest.fixture
def doctor(command, site):
    return lambda: command('doctor', f'--site={site.folder}')


def line_of(said, what):
    (line,) = [line for line in said.out.splitlines() if f' {what} ' in f'{line} ']
    return line


def test_an_engine_is_shown_with_its_version_and_path(doctor, tmp_path):
    said = doctor()
    assert said.status == 0
    assert line_of(said, 'engine fio').split() == ['+', 'ok', 'engine', 'fio', '3.33', 'at', f'{tmp_path}/stubs/fio']
    assert 'fio would measure data on this host and fio metadata' in said.out


def test_an_engine_that_is_missing_is_shown_with_the_way_to_get_it(doctor, site, tmp_path):
    site.change(str(tmp_path / 'stubs' / 'fio'), '/no/such/fio')
    said = doctor()
    assert said.status == 64
    assert '- missing  engine fio' in said.out
    assert '/no/such/fio is not on the PATH; apt-get install fio' in said.out
    assert 'No engine can measure data here. Install one of the above.' in said.out


@pytest.mark.parametrize(
    ('engines', 'said'),
    [
        (', posixops', 'fio would measure data on this host and fio metadata'),
        (', dd', 'fio would measure data on this host and fio metadata'),
    ],
)
def test_the_first_engine_of_each_kind_is_the_one_that_would_measure(doctor, site, engines, said):
    site.change('}]\nfile_systems', f'}}{engines}]\nfile_systems')
    assert said in doctor().out


def test_data_and_metadata_can_be_measured_by_different_engines(doctor, site, tmp_path):
    site.change(str(tmp_path / 'stubs' / 'fio'), '/no/such/fio')
    site.change('}]\nfile_systems', '}, dd, posixops]\nfile_systems')
    said = doctor()
    assert (said.status, 'dd would measure data on this host and posixops metadata' in said.out) == (0, True)


def test_metadata_that_nothing_can_measure_is_said(doctor, site, tmp_path):
    site.change(str(tmp_path / 'stubs' / 'fio'), '/no/such/fio')
    site.change('}]\nfile_systems', '}, dd]\nfile_systems')
    said = doctor()
    assert said.status == 64
    assert 'No engine can measure metadata here. Install one of the above.' in said.out


def test_the_engine_that_is_part_of_seatrial_is_shown_with_its_interpreter(doctor, site):
    site.change('}]\nfile_systems', f'}}, {{name: posixops, program: {sys.executable}}}]\nfile_systems')
    words = line_of(doctor(), 'engine posixops')
    assert f'{seatrial.__version__}, Python {platform.python_version()} at {sys.executable}' in words


def test_mdtest_is_said_to_come_with_ior(doctor, site):
    site.change('}]\nfile_systems', '}, {name: mdtest, program: /no/such/mdtest}]\nfile_systems')
    assert '/no/such/mdtest is not on the PATH; from spack-env/ (it comes with ior@' in line_of(
        doctor(), 'engine mdtest'
    )


def test_a_program_that_is_not_the_engine_is_missing(doctor, stub_fio, site, tmp_path):
    site.change(str(tmp_path / 'stubs' / 'fio'), stub_fio(version='nonsense'))
    said = doctor()
    assert said.status == 64
    assert line_of(said, 'engine fio').startswith('- missing')
    assert "'nonsense' is not" in said.out


def test_a_file_system_that_the_first_run_makes_is_fine(doctor):
    assert 'is made by the first run' in line_of(doctor(), 'file system scratch')


def test_a_file_system_that_is_there_is_shown_with_its_free_space(doctor, site):
    (site.folder / 'state' / 'trials').mkdir(parents=True)
    line = line_of(doctor(), 'file system scratch')
    assert line.startswith('+ ok')
    assert 'posix' in line
    assert 'free' in line


def test_a_file_system_that_is_not_there_is_missing(doctor, site):
    site.change('path: state/trials', 'path: /no/such/mount')
    line = line_of(doctor(), 'file system scratch')
    assert line.startswith('- missing')
    assert '/no/such/mount is not there; make or mount it' in line


@pytest.mark.skipif(os.geteuid() == 0, reason='root may write everywhere')
def test_a_file_system_in_which_one_may_not_write_is_missing(doctor, site):
    (site.folder / 'state' / 'trials').mkdir(parents=True)
    (site.folder / 'state' / 'trials').chmod(0o500)
    assert 'no permission to write' in line_of(doctor(), 'file system scratch')


def test_a_state_directory_that_cannot_be_made_is_missing(doctor, site):
    site.change('state: state', 'state: /no/such/parent/state')
    assert '/no/such/parent is not there; make it, or correct state' in line_of(doctor(), 'state')


def test_nothing_is_made(doctor, site):
    doctor()
    assert not (site.folder / 'state').exists()
