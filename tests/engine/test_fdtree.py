"""The reader of fdtree's output, on genuine outputs of fdtree 1.0.2 and on the sample that its script shows."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.engine.base import EngineError, Outcome, ProcessTime
from seatrial.engine.fdtree import parse, read, tree_of
from seatrial.model.tree import Entries, entries

TRANSCRIPTS = Path(__file__).parents[1] / 'transcripts' / 'fdtree'

TREE = tree_of(2, 3, 4, 2)

# A tree that takes long enough, in the form of 1.0.2.
LONG = """\
fdtree-1.0.2: starting at /scratch/trial/LEVEL0.vm.2028/
\tcreating/deleting 2 directory levels with 3 directories at each level
\tfor a total of 13 directories
\twith 4 files of size 8KiB per directory
\tfor a total of 52 files and 416KiB
Sat Nov 21 00:07:32 UTC 2026
Sat Nov 21 00:07:35 UTC 2026
DIRECTORY CREATE TIME IN, OUT, TOTAL = 0, 3, 3
\tDirectory creates per second =  4
Sat Nov 21 00:07:35 UTC 2026
Sat Nov 21 00:07:52 UTC 2026
FILE CREATE TIME IN, OUT, TOTAL      = 3, 20, 17
\tFile creates per second      =  3
\tKiB per second               =  24
Sat Nov 21 00:07:52 UTC 2026
Sat Nov 21 00:07:52 UTC 2026
FILE REMOVE TIME IN, OUT, TOTAL      = 20, 20, 0
\tFile removals per second     =  0
Sat Nov 21 00:07:52 UTC 2026
Sat Nov 21 00:07:57 UTC 2026
DIRECTORY REMOVE TIME IN, OUT, TOTAL = 20, 25, 5
\tDirectory removals per second =  2
"""


def outcome(stdout, stderr='', status=0):
    return Outcome((ProcessTime('node1', 0.0, 1.0, status),), (stdout,), (stderr,), ())


def transcript(name):
    """What a launch left, and the tree of its options."""
    out, err = (TRANSCRIPTS / f'{name}.{extension}' for extension in ('out', 'err'))
    options = dict(re.findall(r'-([ldfs]) (\d+)', (TRANSCRIPTS / f'{name}.cmd').read_text()))
    tree = tree_of(*(int(options[letter]) for letter in 'ldfs')) if options else tree_of()
    status = int((TRANSCRIPTS / f'{name}.rc').read_text())
    return tree, outcome(out.read_text(), err.read_text(encoding='utf-8') if err.exists() else '', status)


def refusal(stdout, tree=TREE, **streams):
    with pytest.raises(EngineError) as caught:
        read(tree, outcome(stdout, **streams))
    return caught.value


def cuts(whole):
    """The text cut short after every line but the last."""
    lines = whole.splitlines(keepends=True)
    return [''.join(lines[:count]) for count in range(len(lines))]


def test_the_first_scenario_of_the_source_is_f_3_d_5():
    assert entries(tree_of(directories_per_level=5, files_per_directory=3), 1) == Entries(781, 2343, 0)
    assert tree_of(directories_per_level=5, files_per_directory=3).bytes_per_file == 40960


def test_the_second_scenario_of_the_source_is_l_1_d_1_f_1000_s_500():
    assert entries(tree_of(1, 1, 1000, 500), 1) == Entries(2, 2000, 0)
    assert tree_of(1, 1, 1000, 500).bytes_per_file == 2_048_000


def test_the_tree_of_a_transcript_is_the_one_that_its_options_make():
    said = read(*transcript('run1'))
    assert (said.directories, said.files, said.kib) == (13, 52, 416)
    assert (said.version, said.directory) == ('1.0.2', '/scratch/trial/LEVEL0.vm.2028/')


def test_a_phase_of_less_than_a_second_is_too_short_to_measure_and_no_zero():
    said = read(*transcript('run1'))
    assert [phase.metric for phase in said.phases] == ['tree_create', 'file_create', 'file_remove', 'tree_remove']
    assert {(phase.seconds, phase.per_second, phase.kib_per_second) for phase in said.phases} == {(0, None, None)}


def test_phases_that_take_long_enough_have_rates():
    phases = read(TREE, outcome(LONG)).phases
    assert [phase.per_second for phase in phases] == [4, 3, None, 2]
    assert [phase.kib_per_second for phase in phases] == [None, 24, None, None]
    assert (phases[1].from_s, phases[1].to_s, phases[1].seconds) == (3, 20, 17)
    assert (phases[1].began, phases[1].ended) == ('Sat Nov 21 00:07:35 UTC 2026', 'Sat Nov 21 00:07:52 UTC 2026')


def test_a_directory_that_is_not_there_is_refused_although_fdtree_exits_with_0():
    with pytest.raises(EngineError, match="T8: fdtree exited with 0 and said 'mkdir: cannot create directory"):
        read(*transcript('fail'))


def test_usage_is_refused():
    with pytest.raises(EngineError, match='E1: fdtree exited with 1'):
        read(*transcript('usage'))


def test_usage_is_not_an_output():
    with pytest.raises(EngineError, match='T13'):
        parse(transcript('usage')[1].stdouts[0])


def test_a_tree_that_is_only_created_has_two_phases():
    only = ''.join(LONG.splitlines(keepends=True)[:14])
    assert len(read(TREE._replace(phases=('create',)), outcome(only)).phases) == 2


@pytest.mark.parametrize('whole', [LONG, transcript('run1')[1].stdouts[0]])
def test_an_output_cut_after_any_line_is_refused(whole):
    for cut in cuts(whole):
        assert refusal(cut).rule in ({'T8'} if cut else {'T13'})


@pytest.mark.parametrize('name', ['fail', 'usage'])
def test_what_is_refused_stays_refused_when_it_is_cut(name):
    tree, seen = transcript(name)
    for cut in cuts(seen.stdouts[0]):
        with pytest.raises(EngineError):
            read(tree, seen._replace(stdouts=(cut,)))


@pytest.mark.parametrize(
    ('old', 'new', 'rule', 'words'),
    [
        ('= 0, 3, 3', '= 0, 3, 4', 'T1', 'DIRECTORY CREATE'),
        ('creates per second =  4', 'creates per second =  5', 'T1', '5 a second for 13 from 0 to 3 s'),
        ('=  24', '=  25', 'T1', 'FILE CREATE'),
        ('=  0\n', '=  52\n', 'T1', '52 a second for 52 from 20 to 20 s'),
        ('2 directory levels', '3 directory levels', 'P15', 'not (2, 3, 4, 8192)'),
        ('size 8KiB', 'size 4KiB', 'P15', 'made a tree of'),
        ('total of 13', 'total of 14', 'T1', '14 directories'),
        ('and 416KiB', 'and 417KiB', 'T1', '417 KiB'),
        ('\tKiB per second               =  24\n', '', 'T8', 'FILE CREATE'),
        ('FILE CREATE', 'FILE COPY', 'T8', 'breaks off in a phase'),
        ('fdtree-', 'ftree-', 'T13', 'ftree-1.0.2'),
    ],
)
def test_an_output_that_says_something_else_is_refused(old, new, rule, words):
    assert old in LONG
    refused = refusal(LONG.replace(old, new))
    assert refused.rule == rule
    assert words in refused.sentence


def test_another_tree_than_planned_is_refused():
    assert refusal(LONG, tree_of()).rule == 'P15'


@given(st.text())
def test_any_text_is_refused_and_breaks_nothing(text):
    refusal(text)
