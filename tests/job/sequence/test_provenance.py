"""The build of a program, its MPI, its launcher and its modules, and the proof that all nodes have the same."""

import hashlib
import json
import platform
import subprocess
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.job.launch import placement
from seatrial.job.sequence import provenance, start
from seatrial.model.plan import Launcher
from seatrial.model.record import Finding, Provenance
from seatrial.rules.places import short
from stand_in import program

VERSIONS = {
    'hydra-4.0.2.out': 'Hydra 4.0.2',
    'library-mpich-4.0.2.out': 'MPICH 4.0.2',
    'mpirun-openmpi-4.1.4.out': 'Open MPI 4.1.4',
    'library-openmpi-4.1.4.out': 'Open MPI 4.1.4',
    'mpiexec-intel-2021.19.0.out': 'Intel MPI 2021.19.0',
    'library-intel-2021.19.0.out': 'Intel MPI 2021.19.0',
    'srun-22.05.8.out': 'Slurm 22.05.8',
}


@pytest.fixture(scope='module')
def transcript(repository):
    return lambda name: (repository / 'tests' / 'transcripts' / 'mpi' / name).read_text()


@pytest.mark.parametrize(('name', 'version'), VERSIONS.items())
def test_an_output_gives_the_mpi_or_launcher_with_its_version_and_cut_short_never_another(transcript, name, version):
    lines = transcript(name).splitlines(keepends=True)
    versions = [provenance.version_of_output(''.join(lines[:number])) for number in range(len(lines) + 1)]
    assert versions[-1] == version
    assert {text for text in versions if any(letter.isdigit() for letter in text)} == {version}


@given(st.text())
def test_any_text_gives_a_version_of_one_line(text):
    assert '\n' not in provenance.version_of_output(text)


@pytest.mark.parametrize(
    ('output', 'version'), [('\n  prterun (PRRTE) 3.0.2 \nReport bugs\n', 'prterun (PRRTE) 3.0.2'), ('', '')]
)
def test_of_an_unknown_program_the_first_line_is_kept(output, version):
    assert provenance.version_of_output(output) == version


def test_only_variables_of_the_environment_that_change_io_are_kept():
    names = ('LD_PRELOAD', 'ROMIO_HINTS', 'MY_ROMIO_X', 'IOR_HINT__MPI__romio_cb_write', 'MPICH_MPIIO_HINTS')
    more = ('OMPI_MCA_io', 'DARSHAN_LOGHINTS')
    environment = dict.fromkeys((*names, *more, 'LD_PRELOADED', 'HOME', 'PATH', 'MY_DARSHAN_', 'MPICH_X'), 'x')
    assert provenance.inherited(environment) == tuple(sorted(f'{name}=x' for name in (*names, *more)))
    long = {'LD_PRELOAD': 200 * 'y', 'ROMIO_HINTS': 201 * 'y'}
    assert provenance.inherited(long) == (f'LD_PRELOAD={200 * "y"}', 'ROMIO_HINTS')


@pytest.mark.parametrize(
    ('name', 'library'),
    [
        ('ldd-ior-mpich.out', '/lib/x86_64-linux-gnu/libmpich.so.12'),
        ('ldd-fortran-openmpi.out', '/usr/lib/x86_64-linux-gnu/libmpi.so.40'),
        ('ldd-fio.out', None),
    ],
)
def test_the_library_is_the_one_with_mpis_c_functions(transcript, name, library):
    cray = '\tlibmpi_cray.so.12 => /opt/cray/lib/libmpi_cray.so.12 (0x1)\n'
    texts = {transcript(name): library, cray: cray.split()[2], '\tlibmpi.so.40 => not found\n': None}
    for text, expected in texts.items():
        match = provenance._LIBRARY.search(text)
        assert (match and match.group(1)) == expected


@pytest.fixture
def prefix(tmp_path):
    """An installation as Spack leaves it, and its program."""
    program = tmp_path / 'ior-4.0.0-l7f4hbh' / 'bin' / 'ior'
    (program.parent.parent / '.spack').mkdir(parents=True)
    program.parent.mkdir()
    program.write_bytes(b'\x7fELF')
    spec = {'spec': {'nodes': [{'name': 'ior', 'hash': 'l7f4hbh6twzbxdmv6upuni7omqeedeme'}, {'hash': 'other'}]}}
    (program.parent.parent / '.spack' / 'spec.json').write_text(json.dumps(spec))
    return program


def test_a_program_of_spack_is_known_by_the_hash_of_its_installation_also_through_a_view(prefix, tmp_path):
    (tmp_path / 'ior').symlink_to(prefix)
    for path in (str(prefix), str(tmp_path / 'ior')):
        assert provenance.build_of(path) == 'spack:l7f4hbh6twzbxdmv6upuni7omqeedeme'
    darshan = provenance.provenance('/bin/dd', False, None, darshan=str(prefix)).darshan
    assert darshan == provenance.build_of(str(prefix))


@pytest.mark.parametrize('text', ['', '{}', '[]', '{"spec": {"nodes": []}}', '{"spec": {"nodes": null}}'])
def test_any_other_program_is_known_by_its_checksum(prefix, text):
    (prefix.parent.parent / '.spack' / 'spec.json').write_text(text)
    assert provenance.build_of(str(prefix)) == f'sha256:{hashlib.sha256(prefix.read_bytes()).hexdigest()}'


def test_the_version_of_a_launcher_is_that_of_the_command_that_starts_the_ranks(tmp_path, monkeypatch, transcript):
    for name, file in (('mpirun', 'mpirun-openmpi-4.1.4.out'), ('srun', 'srun-22.05.8.out')):
        (tmp_path / f'{name}.out').write_text(transcript(file))
        program(tmp_path, monkeypatch, name, f'[ "$1" = --version ] && exec cat {tmp_path}/{name}.out')
    assert provenance.launcher_of(Launcher('openmpi')) == 'Open MPI 4.1.4'
    assert provenance.launcher_of(Launcher('srun')) == 'Slurm 22.05.8'
    monkeypatch.setenv('PATH', '')
    assert provenance.launcher_of(Launcher('openmpi')) == ''
    assert provenance.library_of('/bin/sh') == '', 'a program without MPI'


@pytest.mark.needs('gcc', 'mpicc', 'mpiexec')
def test_the_mpi_library_that_a_rank_would_load_gives_its_version(tmp_path, mpicc):
    (tmp_path / 'rank.c').write_text('#include <mpi.h>\nint main(int n, char **a) { return MPI_Init(&n, &a); }\n')
    mpicc('-o', tmp_path / 'rank', tmp_path / 'rank.c')
    asked = subprocess.run(['mpiexec', '--version'], capture_output=True, text=True, timeout=120).stdout
    library, started = provenance.library_of(str(tmp_path / 'rank')), provenance.version_of_output(asked)
    assert library.split()[-1] == started.split()[-1], 'both are of one package'


def test_a_job_records_the_build_the_modules_and_the_environment_of_its_program(lab, stub_fio, monkeypatch):
    monkeypatch.setenv('LOADEDMODULES', 'seatrial/mpich/4.0.2:seatrial/fio/3.37')
    monkeypatch.setenv('OMPI_MCA_io', 'romio321')
    fio = stub_fio()
    here = lab.run(lab.plan(fio)).records.start.provenance
    build, modules = provenance.build_of(fio), ('seatrial/mpich/4.0.2', 'seatrial/fio/3.37')
    assert here == Provenance(build, modules=modules, environment=('OMPI_MCA_io=romio321',))
    monkeypatch.setenv('LOADEDMODULES', '')
    assert provenance.provenance('/no/such/fio', False, None)[:4] == ('', '', '', ())


# All nodes of a job must have the same program


HERE = short(platform.node())
SOFTWARE = Provenance('spack:l7f4hbh6twzbxdmv6upuni7omqeedeme', 'MPICH 4.0.2')


@pytest.fixture
def asked(monkeypatch):
    """The disagreement if the nodes print these lines after the mark, or if the launcher fails with this fault."""

    def make(nodes, *lines, fault=None):
        output = ''.join(f'{provenance.MARK} {line}\n' for line in lines)
        monkeypatch.setattr(placement, 'output_of_tasks', lambda *arguments: (f'motd\n{output}', fault))
        return provenance.disagreement(Launcher('srun'), nodes, '/apps/ior', True, SOFTWARE)

    return make


def test_a_node_with_another_mpi_is_named_with_both(asked):
    same = [f'{name}.cluster {provenance.SAME}' for name in ('n1', 'n3')]
    assert asked(2, *same) is None
    finding = asked(3, *same, 'n2 Spack l7f4hbh with Open MPI 4.1.4')
    assert finding == Finding(
        'P21',
        'refuse',
        f'/apps/ior is Spack l7f4hbh with MPICH 4.0.2 on {HERE}, and Spack l7f4hbh with Open MPI 4.1.4 on n2; '
        'install one and the same on all nodes, or leave those that differ out of the job',
    )


def test_of_thousands_of_nodes_some_are_named_and_the_others_counted(asked):
    sentence = asked(5000, *(f'n{number:04d} SHA-256 {min(number, 9)}' for number in range(5000))).sentence
    assert len(sentence) < 600
    assert 'SHA-256 9 on n0009, n0010, n0011, n0012, n0013, n0014, n0015, n0016 and 4983 more, ' in sentence
    assert 'SHA-256 2 on n0002, still others on n0003, n0004, n0005, n0006, n0007, n0008; ' in sentence


@pytest.mark.parametrize(
    ('lines', 'answered'),
    [((), 'none'), (('n1 same',), 'n1'), (('n1 same', 'n1 same'), 'n1'), (('n1 same', 'n2'), 'n1')],
)
def test_a_node_that_says_nothing_is_not_taken_for_one_that_agrees(asked, lines, answered):
    finding, why = asked(2, *lines), f'2 nodes were asked for, one task on each, and {answered} answered; '
    assert (finding.rule, finding.effect, finding.sentence.startswith(why)) == ('P17', 'refuse', True)
    assert asked(2, *lines, fault='srun is not installed').sentence.startswith('srun is not installed')


def test_a_node_without_the_program_reports_that_and_its_mpi(tmp_path, capsys):
    assert provenance._digest(SOFTWARE) != provenance._digest(SOFTWARE._replace(mpi='MPICH 4.0.3'))
    assert provenance.main([str(tmp_path / 'none'), provenance.MPI, provenance._digest(SOFTWARE)]) == 0
    head = f'{provenance.MARK} {platform.node()} no file that can be read with an MPI '
    assert capsys.readouterr().out.startswith(head)


def test_a_launcher_asks_every_node_once(tmp_path, monkeypatch):
    """The task is the real one. The stand-in starts two, the second with another node name and another program."""
    fio = tmp_path / 'fio'
    fio.write_bytes(b'mine')
    script = f"""[ "$1 $2 $3" = '-N2 -n2 --ntasks-per-node=1' ] || exit 9
shift 4
"$@"
printf other > {fio}
"$@" | sed 's/{provenance.MARK} [^ ]*/{provenance.MARK} n2/'
"""
    program(tmp_path, monkeypatch, 'srun', script)
    mine, other = (hashlib.sha256(content).hexdigest() for content in (b'mine', b'other'))
    finding = provenance.disagreement(Launcher('srun'), 2, str(fio), False, Provenance(f'sha256:{mine}'))
    builds = f'{fio} is SHA-256 {mine[:12]} on {HERE}, and SHA-256 {other[:12]} on n2; '
    assert finding.sentence.startswith(builds)


@pytest.fixture
def of_two_nodes(lab, stub_fio, monkeypatch):
    """A plan whose points are on two nodes; the placement of its tasks is not proved."""
    monkeypatch.setattr(start, 'misplaced', lambda launcher, points: None)
    plan = lab.plan(stub_fio(), launcher=Launcher('srun'))
    points = tuple(point._replace(nodes=2, tasks_per_node=1) for point in plan.points)
    return plan._replace(case=plan.case._replace(nodes=2), points=points)


def test_a_case_is_refused_before_anything_is_written(lab, of_two_nodes, monkeypatch):
    asked = Mock(return_value=({'n1': provenance.SAME, 'n2': 'SHA-256 0a0a0a0a0a0a'}, None))
    monkeypatch.setattr(provenance, 'answers_of_nodes', asked)
    before = lab.surroundings()
    ran = lab.run(of_two_nodes)
    assert [call.args[1] for call in asked.mock_calls] == [2]
    assert (ran.end.reason, ran.records.samples) == ('refused', [])
    assert ran.end.why.startswith(of_two_nodes.engines[0].program)
    assert 'and SHA-256 0a0a0a0a0a0a on n2; install one and the same on all nodes' in ran.end.why
    assert ran.result.verdict.value == 'INCOMPLETE'
    assert ran.records.start.provenance.build.startswith('sha256:')
    assert lab.surroundings() == before and lab.left() == []


HERE_ALONE = {
    'one node': lambda plan: {'case': plan.case._replace(nodes=1)},
    'no launcher': lambda plan: {'launcher': Launcher('local')},
    'all on one node': lambda plan: {'points': tuple(point._replace(nodes=1) for point in plan.points)},
}


@pytest.mark.parametrize('way', HERE_ALONE)
def test_where_all_tasks_run_on_this_node_no_other_is_asked(lab, of_two_nodes, monkeypatch, way):
    asked = Mock(return_value=None)
    monkeypatch.setattr(start, 'disagreement', asked)
    chosen = start.examined(of_two_nodes, None).chosen
    for plan in (of_two_nodes, of_two_nodes._replace(**HERE_ALONE[way](of_two_nodes))):
        start.prove_launcher(plan, chosen)
        assert asked.call_count == 1
