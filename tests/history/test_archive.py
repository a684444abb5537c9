"""Archives: merging loses and doubles nothing, wherever it is cut off and whoever merges or writes beside it."""

import os
import threading
from pathlib import Path

import polars as pl
import pytest

from seatrial.history import archive, store
from seatrial.history.archive import merge, without
from seatrial.history.rows import SCHEMA, SINCE, summary
from seatrial.history.store import files_in, is_archive, read, sessions_in, summaries, write

NAMES = [f'{day}T020000-00000{day[-1]}' for day in ('20251230', '20251231', '20260101', '20260102', '20260103')]


@pytest.fixture
def five(tmp_path, rows, sample):
    """Sessions of two years, and what is read of them."""
    for name in NAMES:
        write(tmp_path, name, rows(name, write_16MiB=[sample(repetition=n) for n in range(2)]))
    return tmp_path, read(tmp_path).rows


class Killed(BaseException):
    """What no handler of faults sees, as SIGKILL."""


def killed_at(monkeypatch, step):
    """End the process at this call of all that changes a folder: before it, or at an odd step after it."""
    calls = iter(range(1000))
    for owner, name in ((Path, 'replace'), (Path, 'rename'), (Path, 'unlink'), (os, 'fsync'), (os, 'link')):
        real = getattr(owner, name)

        def act(*arguments, real=real, **named):
            number = next(calls)
            if number == step // 2 and step % 2 == 0:
                raise Killed
            found = real(*arguments, **named)
            if number == step // 2:
                raise Killed
            return found

        monkeypatch.setattr(owner, name, act)


def test_merged_sessions_are_read_as_before(five):
    folder, before = five
    done = merge(folder, apart=1)
    assert (done.sessions, done.skipped, len(done.archives)) == (4, (), 2)
    assert [file.stem[:5] for file in files_in(folder)] == ['2025-', '2026-', NAMES[-1][:5]]
    assert read(folder).rows.equals(before)
    assert sessions_in(folder) == NAMES
    assert read(folder, newest=2).rows['session'].unique().sort().to_list() == NAMES[-2:]
    assert read(folder, named=[NAMES[1]]).rows.equals(before.filter(pl.col('session') == NAMES[1]))
    assert pl.concat(summaries(folder)).equals(summary(before))


def test_an_archive_grows_and_another_merge_has_nothing_to_do(five):
    folder, before = five
    merge(folder, apart=2)
    assert merge(folder, apart=2).archives == ()
    merge(folder, apart=0)
    assert [is_archive(file) for file in files_in(folder)] == [True, True]
    assert read(folder).rows.equals(before)


def test_a_session_that_came_late_into_an_archive_is_read_in_its_place(tmp_path, rows, sample):
    for name in (NAMES[3], NAMES[2]):
        write(tmp_path, name, rows(name, write_16MiB=[sample()]))
        (file,) = merge(tmp_path, apart=0).archives
    held = pl.read_parquet(file)['session'].unique(maintain_order=True).to_list()
    assert read(tmp_path).rows['session'].unique(maintain_order=True).to_list() == held[::-1] == NAMES[2:4]


def test_a_merge_that_is_killed_anywhere_loses_and_doubles_nothing(five):
    folder, before = five
    without(folder, NAMES[:2])
    before = before.filter(pl.col('session') >= '2026')
    for step in range(1000):
        for name in NAMES[2:]:
            write(folder, name, before.filter(pl.col('session') == name))
        with pytest.MonkeyPatch.context() as monkeypatch:
            killed_at(monkeypatch, step)
            try:
                merge(folder, apart=1)
            except Killed:
                pass
            else:
                break
        aside = [file for file in folder.iterdir() if file.suffix == '.merged']
        found = read(folder)
        assert (found.skipped, found.rows.equals(before)) == ((), True), (step, aside)
        assert pl.concat(summaries(folder)).equals(summary(before)), step
    assert step > 12
    merge(folder, apart=1)
    assert [file.suffix for file in folder.iterdir() if file.name[0] == '.' and file.suffix != '.tmp'] == []
    assert read(folder).rows.equals(before)


def test_a_session_that_is_written_again_while_it_is_merged_stays(five, monkeypatch):
    folder, before = five
    newer = before.filter(pl.col('session') == NAMES[0]).with_columns(value=pl.lit(7.0))
    retire = archive._retire

    def late(source):
        if source.file.stem == NAMES[0]:
            write(folder, NAMES[0], newer)
        retire(source)

    monkeypatch.setattr(archive, '_retire', late)
    merge(folder, apart=1)
    monkeypatch.undo()
    assert read(folder, named=[NAMES[0]]).rows.equals(newer)
    merge(folder, apart=1)
    assert (read(folder, named=[NAMES[0]]).rows.equals(newer), sessions_in(folder)) == (True, NAMES)


def test_what_a_killed_merge_has_put_aside_is_put_back(five):
    folder, before = five
    (folder / f'{NAMES[1]}.parquet').rename(folder / f'.{NAMES[1]}.0123abcd.merged')
    merge(folder, apart=5)
    assert read(folder).rows.equals(before)


def test_several_merge_and_write_and_read_at_once(five, rows, sample):
    folder, before = five
    stop, faults = threading.Event(), []

    def again(act):
        while not stop.is_set():
            try:
                act()
            except Exception as error:
                faults.append(error)

    def reading():
        found = read(folder, named=NAMES)
        assert (found.skipped, found.rows.equals(before)) == ((), True)

    others = [threading.Thread(target=again, args=(act,)) for act in (lambda: merge(folder, 0), reading) * 2]
    for each in others:
        each.start()
    new = [f'20260201T0200{number:02}-000000' for number in range(12)]
    for name in new:
        write(folder, name, rows(name, write_16MiB=[sample()]))
    stop.set()
    for each in others:
        each.join()
    assert faults == []
    merge(folder, apart=0)
    assert (sessions_in(folder), len(files_in(folder))) == ([*NAMES, *new], 2)
    assert read(folder).rows.height == before.height + sum(rows(name, write_16MiB=[sample()]).height for name in new)


def test_what_cannot_be_read_is_named_and_stays(five):
    folder, before = five
    damaged = folder / '20251229T020000-000000.parquet'
    damaged.write_bytes(b'PAR1')
    later = before.head(1).with_columns(pl.lit('20251228T020000-000000').alias('session'))
    future = write(folder, '20251228T020000-000000', later.with_columns(pl.lit(SCHEMA + 1, pl.Int32).alias('schema')))
    done = merge(folder, apart=0)
    assert [each.file for each in done.skipped] == [future, damaged]
    assert (damaged.exists(), future.exists(), read(folder).rows.equals(before)) == (True, True, True)


def test_a_damaged_archive_is_named_and_the_others_are_read(five):
    folder, before = five
    first, _ = merge(folder, apart=0).archives
    first.write_bytes(first.read_bytes()[:-9])
    found = read(folder)
    assert [each.file for each in found.skipped] == [first]
    assert found.rows.equals(before.filter(pl.col('session') >= '2026'))
    first.with_suffix(store.SUMMARY_SUFFIX).unlink()
    assert sessions_in(folder) == NAMES[2:]


@pytest.mark.parametrize('spoil', (Path.unlink, lambda file: file.write_bytes(file.read_bytes()[:-9])))
def test_without_its_summary_an_archive_says_the_same(five, spoil):
    folder, before = five
    for file in merge(folder, apart=0).archives:
        spoil(file.with_suffix(store.SUMMARY_SUFFIX))
    assert pl.concat(summaries(folder)).equals(summary(before))


def test_sessions_of_earlier_schemas_are_merged_in_the_form_of_today(five):
    folder, before = five
    old = before.filter(pl.col('session') == NAMES[0]).drop(SINCE[5] + SINCE[6])
    write(folder, NAMES[0], old.with_columns(pl.lit(4, pl.Int32).alias('schema')))
    expected = read(folder).rows
    merge(folder, apart=0)
    assert (read(folder).skipped, read(folder).rows.equals(expected)) == ((), True)


def test_a_full_archive_is_not_made_anew(five, monkeypatch):
    folder, before = five
    (full,) = merge(folder, apart=3).archives
    monkeypatch.setattr(archive, 'FULL_BYTES', full.stat().st_size)
    late = NAMES[0].replace('1230', '1229')
    write(folder, late, before.filter(pl.col('session') == NAMES[0]).with_columns(pl.lit(late).alias('session')))
    merge(folder, apart=0)
    assert full.exists()
    assert sessions_in(folder) == [late, *NAMES]


def test_what_is_removed_is_gone_and_nothing_else(five):
    folder, before = five
    merge(folder, apart=1)
    without(folder, [NAMES[0], NAMES[1], NAMES[2]])
    assert read(folder).rows.equals(before.filter(pl.col('session').is_in(NAMES[3:])))
    assert pl.concat(summaries(folder))['session'].unique().sort().to_list() == NAMES[3:]


def test_a_merge_that_has_read_a_session_before_it_is_removed_brings_it_not_back(five, monkeypatch):
    folder, before = five
    merge(folder, apart=3)
    check = archive._check

    def meanwhile(*what):
        monkeypatch.setattr(archive, '_check', check)
        without(folder, NAMES[1:3])
        check(*what)

    monkeypatch.setattr(archive, '_check', meanwhile)
    merge(folder, apart=0)
    left = [NAMES[0], *NAMES[3:]]
    assert sessions_in(folder) == left
    assert read(folder).rows.equals(before.filter(pl.col('session').is_in(left)))
    # The next one leaves no row of them behind either.
    merge(folder, apart=0)
    assert pl.scan_parquet(folder / '*.parquet').collect()['session'].unique().sort().to_list() == left


def test_of_a_file_with_nothing_but_removed_sessions_a_merge_leaves_nothing(five):
    folder, _ = five
    store.mark_removed(folder, NAMES[:2])
    merge(folder, apart=0)
    assert not [file for file in folder.iterdir() if file.name.startswith('2025')]
    assert sessions_in(folder) == NAMES[2:]


@pytest.mark.parametrize('apart', (0, 5))
def test_a_session_that_was_removed_can_be_written_again(five, apart):
    folder, before = five
    merge(folder, apart)
    own = before.filter(pl.col('session') == NAMES[1])
    without(folder, NAMES[:3])
    write(folder, NAMES[1], own)
    assert sessions_in(folder) == NAMES[1:2] + NAMES[3:]
    assert read(folder, named=NAMES[:3]).rows.equals(own)


def test_of_fewer_columns_a_summary_says_the_same_of_each_session(five):
    folder, before = five
    merge(folder, apart=2)
    few = pl.concat(summaries(folder, columns=('session', 'profile', 'launches')))
    assert few.columns == ['session', 'profile', 'launches']
    expected = summary(before).group_by('session').agg(pl.col('launches').sum()).sort('session')
    assert few.group_by('session').agg(pl.col('launches').sum()).sort('session').equals(expected)
