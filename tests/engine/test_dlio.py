"""The DLIO engine: what it makes of genuine reports of DLIO 2.0.0, and where it has DLIO look for the data."""

import json
import os
from pathlib import Path

import pytest

from measuring import cuts, refused_by
from seatrial.engine.base import Outcome, ProcessTime
from seatrial.engine.dlio import Dlio
from seatrial.engine.dlio_task import DatasetLayout, lay
from seatrial.model.codec import from_json
from seatrial.workload.registry import metrics_of
from seatrial.workload.training import FIRST, NEXT, training
from transcript import transcripts

TEXTS = transcripts('dlio')
REPORTS = tuple(TEXTS['two-ranks'][name] for name in ('0.json', '1.json'))
POINT = training(100_000, 4, 0.05, 2, samples_per_file=2, bytes_per_task=2_400_000)
POINT = POINT._replace(label='2tasks', tasks=2, tasks_per_node=2)


def command(phase=FIRST, point=POINT):
    return Dlio().command('/opt/dlio/bin/dlio_benchmark', phase, point, '/state/raw/7', 7)


def measure(*reports, status=0, err='', point=POINT):
    outcome = Outcome((ProcessTime('node1', 0.0, 9.0, status),), ('',), (err,), reports or REPORTS)
    return Dlio().measure(FIRST, point, command(), outcome)


def changed(**figures):
    report = json.loads(REPORTS[0])
    for name, value in figures.items():
        report['1'][name]['block1'] = value
    return json.dumps(report)


refused = refused_by(measure)


def test_figures_are_those_of_its_slowest_rank_and_the_mean_utilisation():
    measurement = measure()
    epochs = [json.loads(text)['1'] for text in REPORTS]
    seconds = max(24 / epoch['throughput']['block1'] for epoch in epochs)
    assert [metric.name for metric in measurement.metrics] == [metric.name for metric in metrics_of(POINT, FIRST)]
    assert measurement.metric('first_epoch_samples').value == pytest.approx(48 / seconds)
    share = sum(epoch['au']['block1'] for epoch in epochs) / 200
    assert measurement.metric('first_epoch_utilisation').value == pytest.approx(share)
    assert [task.bytes_moved for task in measurement.tasks] == [2_400_000] * 2


def test_a_report_that_is_cut_short_or_missing_is_refused():
    assert {refused(text, REPORTS[1]).rule for text in cuts(REPORTS[0].rstrip('\n'))} == {'E1'}
    assert refused(REPORTS[0], None).sentence == 'rank 1 of DLIO left no whole report'


@pytest.mark.parametrize(
    ('figures', 'rule'),
    [
        ({'compute': [0.0] * 6}, 'P15'),
        ({'proc': [0.06] * 5}, 'P15'),
        ({'throughput': 0.0}, 'T12'),
        ({'throughput': 1e6}, 'T1'),
        ({'au': 101.0}, 'T1'),
        ({'au': 'much'}, 'E1'),
    ],
)
def test_a_report_that_contradicts_what_was_asked_or_itself_is_refused(figures, rule):
    assert refused(changed(**figures), REPORTS[1]).rule == rule


IO_ERROR = "OSError: [Errno 5] Input/output error: '/data/data.00000003'"
OF_HYDRA = "Error executing job with overrides: ['++workload.model=seatrial']\nTraceback (most recent call last):\n"
OF_LOADER = 'OSError: Caught OSError in DataLoader worker process 0.\nOriginal Traceback (most recent call last):\n'


@pytest.mark.parametrize(
    ('err', 'cause'),
    [
        (TEXTS['no-tracer']['err'], 'TypeError: Profile.__init__() takes 1 positional argument but 2 were given'),
        (f'{OF_HYDRA}{OF_LOADER}  File "a.py", line 3, in read\n    open(name)\n{IO_ERROR}\n', IO_ERROR),
        (f'{IO_ERROR}\n\nDuring handling of the above:\n\nRuntimeError: a worker exited unexpectedly\n', IO_ERROR),
    ],
)
def test_a_failure_is_explained_by_the_exception_that_was_first(err, cause):
    error = refused(status=1, err=err)
    assert (error.rule, error.sentence) == ('E1', f"DLIO exited with 1: '{cause}'")


@pytest.mark.parametrize(
    ('changes', 'why'),
    [
        ({'interface': 'mmap'}, 'cannot read by mmap(2) as here'),
        ({'samples_per_file': 3}, 'drops a last batch that is not full, and files of 3 samples leave one'),
        ({'prefetch': 3}, 'cannot read 3 batches ahead by 2 processes: only multiples'),
        ({}, None),
    ],
)
def test_what_it_cannot_do_and_why(changes, why):
    assert Dlio().cannot(POINT.changed(**changes)) == why


def test_nothing_that_it_makes_lies_where_the_data_are():
    (argv,) = command().argvs
    paths = [word.partition('=')[2].strip("'") for word in argv if '=' in word and '/' in word.partition('=')[2]]
    assert len(paths) == 4 and all(path.startswith('/state/raw/7.dlio') for path in paths)
    assert command('write').scope == 'task' and command().scope == 'mpi'


@pytest.mark.parametrize(('nodes', 'first'), [(1, 0), (2, 12)])
def test_a_rank_finds_its_samples_in_the_links_of_its_place(tmp_path, nodes, first):
    point = POINT._replace(nodes=nodes, tasks_per_node=2 // nodes)
    (text,) = command(FIRST, point).inputs.values()
    layout = from_json(DatasetLayout, json.loads(text))._replace(folder=str(tmp_path / 'data' / 'train'))
    lay(layout, '/scratch/data')
    lay(layout, '/scratch/data')  # of another rank
    links = sorted(path for path in Path(layout.folder).iterdir() if path.name.endswith('indexed_binary'))
    assert [os.readlink(link) for link in links[:2]] == [f'/scratch/data/data.{first + n:08d}' for n in (0, 1)]
    assert len(links) == 24
    offsets = Path(f'{links[5]}.off.idx').read_bytes()
    assert [int.from_bytes(offsets[at : at + 8], 'little') for at in (0, 8)] == [0, 100_000] and len(offsets) == 16
    assert Dlio().reads_elsewhere(point, FIRST) == (nodes > 1)
    assert not Dlio().reads_elsewhere(point, NEXT)
