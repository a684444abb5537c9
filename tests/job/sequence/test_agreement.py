"""Nodes that would measure with other programs than the first. Real ones: tests/integration/test_other_node.py."""

import hashlib
import platform

import pytest

from seatrial.job.launch import placement
from seatrial.job.sequence import provenance, start
from seatrial.job.sequence.provenance import MARK, MPI, NO_MPI, SAME, disagreement, main
from seatrial.model.plan import Launcher
from seatrial.model.record import Finding, Provenance
from seatrial.rules.places import short
from stand_in import program

HERE = short(platform.node())
OWN = Provenance('spack:l7f4hbh6twzbxdmv6upuni7omqeedeme', 'MPICH 4.0.2')
OTHER = 'SHA-256 0a0a0a0a0a0a with MPICH 4.0.2'


@pytest.fixture
def asked(monkeypatch):
    """What is found where the nodes print these lines, or where the launcher fails with this."""

    def make(nodes, *lines, fault=None, mpi=True):
        output = ''.join(f'{line}\n' for line in lines)
        monkeypatch.setattr(placement, 'said_by_tasks', lambda *arguments: (output, fault))
        return disagreement(Launcher('srun'), nodes, '/apps/ior', mpi, OWN if mpi else OWN._replace(mpi=''))

    return make


def test_nodes_that_all_have_the_same_are_no_finding(asked):
    assert asked(2, 'motd', f'{MARK} n1.cluster {SAME}', f'{MARK} n2.cluster {SAME}') is None


def test_a_node_with_another_mpi_is_named_with_both(asked):
    finding = asked(3, f'{MARK} n1 {SAME}', f'{MARK} n2 Spack l7f4hbh with Open MPI 4.1.4', f'{MARK} n3 {SAME}')
    assert finding == Finding(
        'P21',
        'refuse',
        f'/apps/ior is Spack l7f4hbh with MPICH 4.0.2 on {HERE}, and Spack l7f4hbh with Open MPI 4.1.4 on n2; '
        'install one and the same on all nodes, or leave those that differ out of the job',
    )


def test_of_thousands_of_nodes_some_are_named_and_the_others_counted(asked):
    lines = [f'{MARK} n{number:04d} SHA-256 {min(number, 9)}' for number in range(5000)]
    sentence = asked(5000, *lines).sentence
    assert len(sentence) < 600
    sentence_of_two = asked(3, *(f'{MARK} n{number} {OTHER}' for number in (3, 2)), f'{MARK} n1 {SAME}').sentence
    assert f'on {HERE}, and {OTHER} on n2, n3; ' in sentence_of_two
    without = asked(2, f'{MARK} n1 {SAME}', f'{MARK} n2 no file that can be read', mpi=False).sentence
    assert without.startswith(f'/apps/ior is Spack l7f4hbh on {HERE}, and no file that can be read on n2; ')
    assert 'SHA-256 9 on n0009, n0010, n0011, n0012, n0013, n0014, n0015, n0016 and 4983 more, ' in sentence
    assert 'SHA-256 2 on n0002, still others on n0003, n0004, n0005, n0006, n0007, n0008; ' in sentence


@pytest.mark.parametrize(
    ('lines', 'there'),
    [
        ((), 'none'),
        ((f'{MARK} n1 {SAME}',), 'n1'),
        ((f'{MARK} n1 {SAME}', f'{MARK} n1 {SAME}'), 'n1'),
        ((f'{MARK} n1 {SAME}', f'{MARK} n2'), 'n1'),
    ],
)
def test_a_node_that_says_nothing_is_not_taken_for_one_that_agrees(asked, lines, there):
    finding = asked(2, *lines)
    assert (finding.rule, finding.effect) == ('P17', 'refuse')
    assert finding.sentence.startswith(f'2 nodes were asked for, one task on each, and {there} answered; ')


def test_a_launcher_that_fails_is_said_as_it_is(asked):
    assert asked(2, fault='srun is not installed').rule == 'P17'


def test_a_node_says_what_it_has_where_that_is_not_expected(tmp_path, capsys):
    program = tmp_path / 'fio'
    program.write_bytes(b'mine')
    checksum = hashlib.sha256(b'mine').hexdigest()
    for expected, answer in (
        (Provenance(f'sha256:{checksum}'), SAME),
        (Provenance(f'sha256:{checksum}', 'MPICH 4.0.2'), f'SHA-256 {checksum[:12]}'),
        (Provenance('sha256:other'), f'SHA-256 {checksum[:12]}'),
    ):
        assert main([str(program), NO_MPI, provenance._digest(expected)]) == 0
        assert capsys.readouterr().out == f'{MARK} {platform.node()} {answer}\n'
    main([str(tmp_path / 'none'), MPI, provenance._digest(OWN)])
    assert capsys.readouterr().out.startswith(f'{MARK} {platform.node()} no file that can be read with an MPI ')


def test_a_launcher_asks_every_node_once(tmp_path, monkeypatch):
    """The task is the real one; of the stand-in's two, one is on a node of another name and with another program."""
    fio = tmp_path / 'fio'
    fio.write_bytes(b'mine')
    script = f"""[ "$1 $2 $3" = '-N2 -n2 --ntasks-per-node=1' ] || exit 9
shift 4
"$@"
printf other > {fio}
"$@" | sed 's/{MARK} [^ ]*/{MARK} n2/'
"""
    program(tmp_path, monkeypatch, 'srun', script)
    expected = Provenance(f'sha256:{hashlib.sha256(b"mine").hexdigest()}')
    finding = disagreement(Launcher('srun'), 2, str(fio), False, expected)
    assert finding.sentence.startswith(
        f'{fio} is SHA-256 {hashlib.sha256(b"mine").hexdigest()[:12]} on {HERE}, '
        f'and SHA-256 {hashlib.sha256(b"other").hexdigest()[:12]} on n2; '
    )


@pytest.fixture
def of_two_nodes(lab, stub_fio, monkeypatch):
    """A plan whose points are on two nodes; where its tasks would be is not asked."""
    monkeypatch.setattr(start, 'misplaced', lambda launcher, points: None)
    plan = lab.plan(stub_fio(), launcher=Launcher('srun'))
    points = tuple(point._replace(nodes=2, tasks_per_node=1) for point in plan.points)
    return plan._replace(case=plan.case._replace(nodes=2), points=points)


def test_a_case_is_refused_before_anything_is_written(lab, of_two_nodes, monkeypatch):
    asked = []
    answers = {'n1': SAME, 'n2': 'SHA-256 0a0a0a0a0a0a'}
    monkeypatch.setattr(
        provenance, 'said_by_nodes', lambda launcher, nodes, *rest: (asked.append(nodes), (answers, None))[1]
    )
    before = lab.surroundings()
    ran = lab.run(of_two_nodes)
    assert asked == [2]
    assert (ran.end.reason, ran.records.samples) == ('refused', [])
    assert ran.end.why.startswith(of_two_nodes.engines[0].program)
    assert 'and SHA-256 0a0a0a0a0a0a on n2; install one and the same on all nodes' in ran.end.why
    assert ran.result.verdict.value == 'INCOMPLETE'
    assert ran.records.start.provenance.build.startswith('sha256:')
    assert lab.surroundings() == before and lab.left() == []


@pytest.mark.parametrize(
    'changes', [{'nodes': 1}, {'kind': 'local'}, {'points': 1}], ids=['one node', 'no launcher', 'all on one node']
)
def test_where_all_is_done_on_this_node_no_other_is_asked(lab, of_two_nodes, monkeypatch, changes):
    asked = []
    monkeypatch.setattr(start, 'disagreement', lambda *arguments: asked.append(arguments))
    chosen = start.examined(of_two_nodes, None).chosen
    start.prove_agreement(of_two_nodes, chosen)
    assert len(asked) == 1
    plan = of_two_nodes._replace(
        case=of_two_nodes.case._replace(nodes=changes.get('nodes', 2)),
        launcher=Launcher(changes.get('kind', 'srun')),
        points=tuple(point._replace(nodes=changes.get('points', 2)) for point in of_two_nodes.points),
    )
    start.prove_agreement(plan, chosen)
    assert len(asked) == 1
