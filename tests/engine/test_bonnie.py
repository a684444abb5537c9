"""The Bonnie++ engine: its command line, and what it makes of genuine outputs of Bonnie++ 2.00a."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measuring import assert_refused, refused_by
from seatrial.engine import bonnie
from seatrial.engine.base import EngineError, Outcome, ProcessTime
from seatrial.engine.bonnie import FIELDS, BonnieEngine, parse_run
from seatrial.model.units import GIB, KIB, MIB
from seatrial.workload.bonnie import PHASE, bonnie_file
from transcript import transcripts

TRANSCRIPTS = transcripts('bonnie++')
GOOD = bonnie_file('1MiB', '2GiB')._replace(label='1MiB', tasks_per_node=1)
SMALL = bonnie_file('64KiB', '64MiB')._replace(label='64KiB', tasks_per_node=1)
LINE = TRANSCRIPTS['good']['out']


def measure(name, point=GOOD, out=None, err=None):
    transcript = TRANSCRIPTS[name]
    process = ProcessTime('node1', 0.0, float(transcript['seconds']), int(transcript['rc']))
    line = transcript['out'] if out is None else out
    outcome = Outcome((process,), (line,), (transcript.get('err', '') if err is None else err,), ())
    return BonnieEngine().measure(PHASE, point, command(point), outcome)


def command(point):
    return BonnieEngine().command('bonnie++', PHASE, point, '/raw/1', 7)


def changed(**fields):
    values = dict(zip(FIELDS, LINE.rstrip('\n').split(','), strict=True))
    return ','.join({**values, **fields}.values()) + '\n'


refusal = refused_by(measure)


@pytest.mark.parametrize(('name', 'point'), [('good', GOOD), ('short', SMALL)])
def test_the_command_is_that_of_the_transcript(name, point, monkeypatch):
    monkeypatch.setattr(bonnie.os, 'geteuid', lambda: 0)
    (argv,) = command(point).argvs
    assert ' '.join(argv) + '\n' == TRANSCRIPTS[name]['cmd']


def test_only_root_has_to_name_the_user_that_it_runs_as(monkeypatch):
    monkeypatch.setattr(bonnie.os, 'geteuid', lambda: 1000)
    assert '-u' not in command(GOOD).argvs[0]
    assert refusal('no-root-user').sentence.startswith('Bonnie++ exited with 1')


def test_its_figures_are_the_bytes_of_the_file_over_the_time_of_each_part():
    figures = {metric.name: metric for metric in measure('good').metrics}
    assert measure('good').fsync
    assert [figures[name].value / KIB for name in ('write', 'update', 'read')] == [1088249, 754369, 1747827]
    assert (figures['seeks'].value, figures['seeks'].operations) == (pytest.approx(714.2), 2048)
    assert figures['write'].seconds == pytest.approx(2 * GIB / (1088249 * KIB))
    assert figures['update'].figure == 'rewrite 754369, 34 %CP, latency 54148us'


def test_what_it_calls_too_short_has_no_figure_and_is_no_zero():
    few, none = measure('some-short', GOOD.changed(bytes_per_task=768 * MIB)), measure('short', SMALL)
    assert few.figures == {'write': 1413452 * KIB}
    assert none.figures == {}
    assert [metric.name for metric in none.metrics] == ['write', 'update', 'read', 'seeks']


@pytest.mark.parametrize(('name', 'point'), [('good', GOOD), ('short', SMALL)])
def test_cut_short_anywhere_it_is_refused(name, point):
    text = TRANSCRIPTS[name]['out']
    assert {refusal(name, point, text[:at]).rule for at in range(len(text))} == {'T13'}


@given(st.text())
def test_of_any_text_it_makes_figures_or_a_refusal(text):
    with pytest.raises(EngineError, match='^T13'):
        parse_run(text)


@pytest.mark.parametrize(
    ('fields', 'rule'),
    [
        ({'file_size': '1G'}, 'P15'),
        ({'seeks_meant': '8192'}, 'P15'),
        ({'seekers': '3'}, 'P15'),
        ({'put_block': ''}, 'T13'),
        ({'put_block': '0'}, 'T13'),
        ({'put_block': 'nan'}, 'T13'),
        ({'put_block': '9e'}, 'T13'),
        ({'seeks_meant': ''}, 'T13'),
        ({'get_block': '1000'}, 'T1'),
    ],
)
def test_a_line_that_is_not_of_this_launch_is_refused(fields, rule):
    assert refusal('good', out=changed(**fields)).rule == rule


def test_a_failed_run_and_a_complaint_beside_figures_are_refused_in_the_words_of_bonnie():
    assert_refused(refusal('file-limit', SMALL), 'E1', "exited with 1: 'exceeded file storage limits.'")
    assert_refused(refusal('no-space', SMALL), 'E1', 'No space left on device')
    assert_refused(refusal('good', err="Can't sync file.\n"), 'T8', "Can't sync file.")


@pytest.mark.parametrize(
    ('change', 'why'),
    [
        ({'transfer_size': 2 * MIB}, 'cannot move 2097152 bytes at a time'),
        ({'transfer_size': 96 * KIB, 'bytes_per_task': 96 * MIB}, 'cannot move 98304 bytes at a time'),
        ({'transfer_size': 128}, 'cannot move 128 bytes at a time'),
        ({'transfer_size': KIB, 'bytes_per_task': KIB}, 'cannot write 1024 bytes'),
        ({'transfer_size': KIB, 'bytes_per_task': 4096 * GIB}, 'cannot count 4294967296 transfers'),
    ],
)
def test_a_point_that_it_cannot_run_is_refused(change, why):
    assert BonnieEngine().cannot(GOOD) is None
    assert BonnieEngine().cannot(GOOD.changed(**change)).startswith(why)
