"""Archives that an earlier version made of many sessions: read with all others, and taken apart by a removal."""

import io
from pathlib import Path

import polars as pl
import pytest

from seatrial.history.rows import SINCE, summary
from seatrial.history.store import UNSEALED, files_in, is_archive, read, remove, sealed, sessions_in, summaries, write

NAMES = [f'{day}T020000-00000{day[-1]}' for day in ('20251230', '20251231', '20260101', '20260102', '20260103')]


def archived(folder, rows, name='2026-0123456789ab'):
    """An archive with these rows, as Seatrial 0.1 wrote it."""
    content = io.BytesIO()
    rows.write_parquet(content, metadata=UNSEALED)
    file = folder / f'{name}.parquet'
    file.write_bytes(sealed(content.getvalue()))
    return file


def of(rows, *names):
    return rows.filter(pl.col('session').is_in(names))


@pytest.fixture
def five(tmp_path, rows, sample):
    """Sessions of which three lie in an archive, the file of the archive, and what is read of all."""
    for name in NAMES:
        write(tmp_path, name, rows(name, write_16MiB=[sample(repetition=n) for n in range(2)]))
    before = read(tmp_path).rows
    # Those of an archive need not be in their order.
    file = archived(tmp_path, pl.concat([of(before, NAMES[2]), of(before, *NAMES[:2])]))
    for name in NAMES[:3]:
        (tmp_path / f'{name}.parquet').unlink()
    return tmp_path, file, before


def test_sessions_of_an_archive_are_read_as_those_of_files_of_their_own(five):
    folder, _, before = five
    assert read(folder).rows.equals(before) and sessions_in(folder) == NAMES
    assert read(folder, newest=3).rows.equals(of(before, *NAMES[2:]))
    assert read(folder, named=[NAMES[1]]).rows.equals(of(before, NAMES[1]))
    assert pl.concat(summaries(folder)).equals(summary(before))


def test_of_a_session_that_has_a_file_of_its_own_too_that_counts(five):
    folder, _, before = five
    newer = of(before, NAMES[0]).with_columns(value=pl.lit(7.0))
    write(folder, NAMES[0], newer)
    assert read(folder, named=NAMES[:1]).rows.equals(newer) and sessions_in(folder) == NAMES


def test_an_archive_of_an_earlier_schema_is_read_in_the_form_of_today(five):
    folder, file, before = five
    old = of(before, *NAMES[:3]).drop(SINCE[5] + SINCE[6])
    archived(folder, old.with_columns(pl.lit(4, pl.Int32).alias('schema')), file.stem)
    found = read(folder)
    assert (found.skipped, found.rows.height) == ((), before.height)
    assert found.rows.columns == before.columns


def test_a_damaged_archive_is_named_and_the_others_are_read(five):
    folder, file, before = five
    file.write_bytes(file.read_bytes()[:-9])
    found = read(folder)
    assert [each.file for each in found.skipped] == [file]
    assert found.rows.equals(of(before, *NAMES[3:]))


def test_an_archive_of_names_that_no_session_has_is_not_used(five):
    folder, file, before = five
    archived(folder, of(before, NAMES[0]).with_columns(session=pl.lit('../elsewhere')), file.stem)
    assert [each.file for each in read(folder).skipped] == [file]


def test_what_an_earlier_version_has_removed_from_an_archive_stays_removed(five):
    folder, _, _ = five
    (folder / '0123456789ab.removed').write_text(f'{NAMES[0]}\n{NAMES[2]}\n')
    assert sessions_in(folder) == [NAMES[1], *NAMES[3:]]


def test_a_removal_takes_an_archive_apart_and_leaves_all_else(five):
    folder, _, before = five
    remove(folder, [NAMES[1], NAMES[3]])
    left = [NAMES[0], NAMES[2], NAMES[4]]
    assert read(folder).rows.equals(of(before, *left))
    assert [each.stem for each in files_in(folder)] == left


def test_a_removal_leaves_archives_that_have_none_of_what_is_removed(five):
    folder, file, _ = five
    remove(folder, [NAMES[4]])
    assert file.exists() and sessions_in(folder) == NAMES[:4]


def test_a_removal_that_is_ended_anywhere_loses_nothing(five, monkeypatch):
    folder, _, before = five

    def killed(file, missing_ok=False):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, 'unlink', killed)
        with pytest.raises(KeyboardInterrupt):
            remove(folder, [NAMES[1]])
    assert read(folder).rows.equals(before)
    remove(folder, [NAMES[1]])
    assert sessions_in(folder) == [NAMES[0], *NAMES[2:]] and not any(map(is_archive, files_in(folder)))


def test_of_fewer_columns_a_summary_says_the_same_of_each_session(five):
    folder, _, before = five
    few = pl.concat(summaries(folder, columns=('session', 'profile', 'launches')))
    assert few.columns == ['session', 'profile', 'launches']
    expected = summary(before).group_by('session').agg(pl.col('launches').sum()).sort('session')
    assert few.group_by('session').agg(pl.col('launches').sum()).sort('session').equals(expected)


def test_of_files_that_are_summed_together_one_that_is_damaged_is_named(five):
    folder, _, before = five
    file = folder / f'{NAMES[3]}.parquet'
    file.write_bytes(file.read_bytes()[:-9])
    found = list(summaries(folder))
    assert [each.file for each in found if not isinstance(each, pl.DataFrame)] == [file]
    tables = [each for each in found if isinstance(each, pl.DataFrame)]
    assert pl.concat(tables).equals(summary(of(before, *NAMES[:3], NAMES[4])))
