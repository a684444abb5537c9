"""`seatrial history`: what earlier sessions measured."""

from datetime import datetime, timezone

import polars as pl
import pytest

from builders import FLAT, FLAT_TREE, plan_of, records_of
from seatrial.cli import history as history_module
from seatrial.history.rows import Kept, table
from seatrial.history.store import ARCHIVE, read, write
from seatrial.rules.case import measured
from seatrial.workload.registry import planned_metrics

FIRST, SECOND = '20261121T020638-9f3a1c', '20261122T020638-000000'


@pytest.fixture
def history(command, site):
    return lambda name, *arguments: command('history', name, f'--site={site.folder}', *arguments)


@pytest.fixture
def two(site, past, remembered):
    """Two sessions in the history, the second one twice as fast and cut off."""
    for session, figure, ended in ((FIRST, 1.0, True), (SECOND, 2.0, False)):
        remembered(past(session, figure=figure, ended=ended), label='' if ended else 'cut')
    return site.folder / 'state' / 'history'


def words_of(line):
    return ' '.join(line.split())


def test_of_many_sessions_the_newest_are_listed_and_only_they_are_read(history, two, monkeypatch):
    (two / '20261119T020638-9f3a1c.parquet').write_text('damaged')
    monkeypatch.setattr(history_module, 'SESSIONS_LISTED', 1)
    output = history('list').out
    assert SECOND in output and FIRST not in output and 'skipped' not in output
    assert output.endswith('2 earlier sessions: seatrial history list --all\n')
    everything = history('list', '--all').out
    assert FIRST in everything and 'skipped' in everything and 'earlier' not in everything


def test_an_empty_history_says_what_fills_it(history):
    assert history('list').out == 'The history is empty; seatrial run adds to it.\n'


def test_the_sessions_are_listed_with_their_verdicts_oldest_first(history, two):
    heading, *lines = map(words_of, history('list').out.splitlines())
    assert heading == 'verdict session label started profile engine cases not PASS or MEASURED launches'
    assert lines == [
        f'= MEASURED {FIRST} 2026-11-21 02:06 nightly fio 3.33 2 0 60',
        f'- INCOMPLETE {SECOND} cut 2026-11-22 02:06 nightly fio 3.33 2 2 60',
    ]


def test_a_session_is_shown_metric_by_metric(history, two):
    lines = [words_of(line) for line in history('show', FIRST).out.splitlines()]
    cases = [f'{check}/local:default/scratch/default/1n' for check in ('Writes', 'Reads')]
    assert [line for line in lines if line.endswith('/1n')] == cases
    assert sum('= MEASURED' in line for line in lines) == 10
    assert lines[2].startswith(f'{FIRST} write@64KiB = MEASURED 1.00 MiB/s 0.98')


def test_a_metric_is_shown_over_sessions(history, two):
    lines = history('show', '--check=Reads', '--metric=read@64KiB').out.splitlines()[2:]
    assert [line.split()[0] for line in lines] == [FIRST, SECOND]
    assert [line.split()[4] for line in lines] == ['1.00', '2.00']


def test_sessions_that_measured_with_other_things_are_shown_with_that_first(history, two):
    write(two, SECOND, pl.read_parquet(two / f'{SECOND}.parquet').with_columns(kernel=pl.lit('6.2')))
    words = f'Not measured with the same: kernel: 6.1 against 6.2 (from {SECOND} on)'
    assert history('show', '--check=Reads').out.splitlines()[0] == words
    assert 'Not measured' not in history('show', SECOND).out


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        ([], 'name a session, a --check or a --metric'),
        (['nowhere'], f"there is no session 'nowhere' in the history; the newest are {FIRST}, {SECOND}"),
        (['--check=Nothing'], "no check 'Nothing' in the history"),
        ([FIRST, '--metric=none@1'], "no metric 'none@1' in that session"),
    ],
)
def test_what_is_not_there_is_refused(history, two, arguments, words):
    done = history('show', *arguments)
    assert (done.status, words in done.err) == (64, True)


@pytest.mark.parametrize(('name', 'reader'), [('all.csv', pl.read_csv), ('all.parquet', pl.read_parquet)])
def test_everything_can_be_exported(history, two, tmp_path, name, reader):
    done = history('export', '--output', tmp_path / name)
    assert done.out == f'120 rows of 2 sessions in {tmp_path / name}\n'
    frame = reader(tmp_path / name)
    assert frame.height == 120
    assert set(frame['session']) == {FIRST, SECOND}


@pytest.mark.parametrize(
    ('name', 'words'), [('all.csv', 'name another file'), ('all.xlsx', 'must end with .csv or .parquet')]
)
def test_an_export_over_a_file_or_of_another_form_is_refused(history, two, tmp_path, name, words):
    (tmp_path / 'all.csv').write_text('mine')
    done = history('export', '--output', tmp_path / name)
    assert (done.status, words in done.err) == (64, True)
    assert [(file.name, file.read_text()) for file in tmp_path.glob('all.*')] == [('all.csv', 'mine')]


@pytest.fixture
def swept(history, two):
    """Both sessions, as if their points were those of node sweeps."""
    point = pl.col('point').replace({'64KiB': 'all', '128KiB': 'group01', '256KiB': 'group02', '512KiB': 'group03'})
    metric = pl.col('operation') + '@' + point
    for session in (FIRST, SECOND):
        rows = pl.read_parquet(two / f'{session}.parquet').filter(pl.col('check') == 'Writes')
        write(two, session, rows.with_columns(metric=metric, point=point, axis=pl.lit('node')))
    return history


def test_groups_of_a_node_sweep_are_not_shown_over_sessions_also_not_one_alone(swept):
    output = swept('show', '--check=Writes').out
    assert output.startswith('Left out: the groups of a node sweep have other nodes in every session')
    assert 'write@all' in output and 'write@group' not in output
    assert 'Left out' not in swept('show', '--metric=write@all').out
    done = swept('show', '--metric=write@group01')
    assert (done.status, done.out, 'groups of a node sweep' in done.err) == (64, '', True)


def test_groups_are_shown_of_one_session_and_exported_with_their_hosts(swept, tmp_path):
    output = swept('show', FIRST).out
    assert 'write@group01' in output and 'Left out' not in output
    swept('export', '--output', tmp_path / 'all.parquet')
    groups = pl.read_parquet(tmp_path / 'all.parquet').filter(pl.col('point') == 'group01')
    assert groups.height and groups['hosts'].null_count() == 0


def test_figures_of_metadata_are_shown_in_their_own_unit(history, site):
    plan = plan_of(FLAT, FLAT_TREE)
    records = records_of(plan, 6 * [5000.0])
    kept = Kept(plan, records, measured(plan, records), 'PASS', dict.fromkeys(planned_metrics(plan), ('PASS', '')))
    began = datetime(2026, 11, 21, 2, 6, 38, tzinfo=timezone.utc)
    state = site.folder / 'state'
    write(state / 'history', FIRST, table(FIRST, began, 'site', 'PASS', [kept]))
    lines = [words_of(line) for line in history('show', FIRST).out.splitlines()]
    assert [line.split(' PASS ')[1][:9] for line in lines[2:]] == ['5000 op/s'] * 4


def test_what_was_exported_is_taken_into_another_history_once(history, two, tmp_path):
    output = tmp_path / 'all.parquet'
    history('export', f'--output={output}')
    before = read(two).rows
    (two / f'{FIRST}.parquet').unlink()
    assert history('import', output).out == '1 session taken, 1 there already\n'
    assert history('import', output).out == '0 sessions taken, 2 there already\n'
    assert read(two).rows.equals(before)


def test_a_session_that_is_there_with_other_rows_is_refused_and_nothing_is_taken(history, two, tmp_path):
    output = tmp_path / 'all.parquet'
    history('export', f'--output={output}')
    (two / f'{FIRST}.parquet').unlink()
    write(two, SECOND, read(two).rows.with_columns(value=pl.lit(1.0)))
    answer = history('import', output)
    assert (answer.status, f'session {SECOND} is in the history with other rows' in answer.err) == (64, True)
    assert [file.stem for file in two.iterdir()] == [SECOND]


@pytest.mark.parametrize('name', ('../../20261121T020638-9f3a1c', '20261121', '', FIRST))
def test_a_file_whose_session_would_be_no_name_of_a_file_or_that_is_damaged_is_refused(history, two, tmp_path, name):
    write(tmp_path, 'evil', read(two).rows.with_columns(session=pl.lit(name)))
    file, why = tmp_path / 'evil.parquet', 'is no name of a session'
    if name == FIRST:
        file.write_bytes(file.read_bytes()[:-9])
        why = 'damaged'
    answer = history('import', file)
    assert (answer.status, why in answer.err) == (64, True), answer.err


def test_old_sessions_are_removed_when_asked_and_only_then(history, two):
    (two / '20261101T020638-000000.parquet').write_text('damaged')
    output = history('prune', '--before=2026-11-22').out
    assert f'1 session would be removed, {FIRST} to {FIRST}; --yes removes them' in output
    assert len(list(two.iterdir())) == 3
    history('prune', '--before=2026-12-01', '--yes')
    # The second has a label, and what is damaged may be anything.
    assert sorted(file.stem for file in two.glob('*.parquet')) == ['20261101T020638-000000', SECOND]


def test_sessions_of_a_baseline_or_an_acceptance_are_kept(history, two, site):
    nightly = f'{{origin: baseline, date: 2026-11-21, sessions: [{FIRST}]}}'
    (site.folder / 'references.yaml').write_text(f'$seatrial: {{Reads: {{nightly: {nightly}}}}}\n')
    rows = read(two).rows.filter(pl.col('session') == FIRST)
    accepted = '20261101T020638-0000aa'
    write(two, accepted, rows.with_columns(session=pl.lit(accepted), profile=pl.lit('acceptance')))
    output = history('prune', '--before=2026-12-01', '--yes').out
    assert {'kept: 1 session of an acceptance', 'kept: 1 session with a label'} <= set(output.splitlines())
    assert 'kept: 1 session of a baseline in references.yaml' in output and '0 sessions removed' in output


def test_sessions_of_a_yearly_file_are_there_again_once_it_is_imported(history, two):
    before = [history('list').out, history('show', FIRST).out, history('show', '--check=Reads').out]
    yearly = two / '2026-0123456789ab.parquet'
    gone = '20260901T020638-0000aa'
    write(two, gone, read(two).rows.filter(pl.col('session') == FIRST).with_columns(session=pl.lit(gone)))
    history('export', f'--output={yearly}')  # as Seatrial 0.1 merged them
    (two / 'host.removed').write_text(f'{gone}\n')
    for name in (gone, FIRST, SECOND):
        (two / f'{name}.parquet').unlink()
    assert f'skipped {yearly}: {ARCHIVE}' in history('list').out
    history('import', str(yearly))
    yearly.unlink()
    assert [history('list').out, history('show', FIRST).out, history('show', '--check=Reads').out] == before
