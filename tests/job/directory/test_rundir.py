"""The run directory: made and marked, used, and removed without touching anything else."""

import contextlib
import errno
import functools
import itertools
import json
import os
import resource
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from seatrial.filesystem.mounts import Mount
from seatrial.job.directory import removal, rundir
from seatrial.job.directory.owner import this_owner
from seatrial.job.directory.rundir import MARKER, RunDirectoryError, create, remove
from seatrial.model.record import line_of
from seatrial.rules.launch import FileCount
from stand_in import Altered

SESSION, CASE, ENTRIES = '20261120T101500-7f3a', 'SharedFile/lab:io/scratch/default/1n', ('data', 'warmup')
ANY = (r'[^/]*',)  # names that the session makes
STRANGER = os.geteuid() + 1


Os = functools.partial(Altered, os)


def failing(code):
    return Mock(side_effect=OSError(code, os.strerror(code)))


@pytest.fixture
def parent(tmp_path):
    directory = tmp_path / 'parent'
    directory.mkdir()
    return directory


@pytest.fixture
def run(parent):
    made = create(str(parent), SESSION, CASE, ENTRIES, ANY)
    yield made
    made.close()


@pytest.fixture
def outside(tmp_path):
    """A directory of somebody else, with a file."""
    (tmp_path / 'outside').mkdir()
    (tmp_path / 'outside' / 'file').write_text('precious')
    return tmp_path / 'outside'


def marker_of(run):
    return json.loads(Path(run.path, MARKER).read_text())


def fill(run, *names):
    """Make these empty files, and the directories that they lie in."""
    for name in names:
        file = Path(run.path, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()


def swap(ours, theirs):
    """Their directory takes the place of ours."""
    os.rename(ours, f'{theirs}.ours')
    os.rename(theirs, ours)


@pytest.fixture
def around(monkeypatch):
    """Has rundir do this with the first argument, a path, before and after it calls these functions of os."""

    def wrap(*names, before=lambda path: None, after=lambda path: None):
        def wrapped(function):
            def call(path, *arguments, **options):
                before(path)
                result = function(path, *arguments, **options)
                after(path)
                return result

            return call

        monkeypatch.setattr(rundir, 'os', Os(**{name: wrapped(getattr(os, name)) for name in names}))

    return wrap


def tamper(run, **changes):
    """Rewrite the marker in place, so that it keeps its inode."""
    data = marker_of(run)
    data['maker'].update(changes.pop('maker', {}))
    data.update(changes)
    Path(run.path, MARKER).write_text(json.dumps(data))


# Making it


def test_it_is_made_under_its_parent_for_the_owner_alone_with_a_marker_of_who_made_what(run, parent):
    status, data = os.stat(run.path), marker_of(run)
    assert os.path.dirname(run.path) == str(parent) and stat.S_IMODE(status.st_mode) == 0o700
    first, second = (os.path.basename(rundir.path_of(str(parent), SESSION, case)) for case in ('a', 'b'))
    assert first.startswith(f'seatrial-{SESSION}-') and first != second
    assert (data['device'], data['inode']) == (status.st_dev, status.st_ino)
    assert data['marker_inode'] == os.stat(run.path_of(MARKER)).st_ino
    assert (data['format'], data['case'], tuple(data['entries'])) == (1, CASE, ENTRIES)
    assert rundir.marker_at(run.path) == run.marker
    assert run.marker.maker == this_owner(SESSION)._replace(time=run.marker.maker.time)


def test_a_run_directory_that_exists_is_not_used_again(run, parent):
    with pytest.raises(RunDirectoryError, match='there already.*seatrial clean'):
        create(str(parent), SESSION, CASE, ENTRIES, ANY)


@pytest.mark.parametrize(
    ('path', 'why'),
    [('{}/gone', r'gone: no such directory.*mounted\?'), ('{}/file', 'not a directory'), ('relative', 'absolute')],
)
def test_a_parent_that_is_no_directory_is_refused(parent, path, why):
    (parent / 'file').touch()
    with pytest.raises(RunDirectoryError, match=why):
        create(path.format(parent), SESSION, CASE, ENTRIES, ANY)


@pytest.mark.parametrize(
    ('answers', 'why'),
    [
        ({'access': lambda *_, **__: False}, 'may not write in it'),
        ({'fstatvfs': lambda _: SimpleNamespace(f_flag=os.ST_RDONLY)}, 'read-only'),
        ({'geteuid': lambda: STRANGER}, 'root squash'),
    ],
    ids=['no permission', 'read-only', 'of another owner'],
)
def test_a_parent_in_which_this_user_can_have_no_directory_is_refused(parent, monkeypatch, answers, why):
    monkeypatch.setattr(rundir, 'os', Os(**answers))
    with pytest.raises(RunDirectoryError, match=why):
        create(str(parent), SESSION, CASE, ENTRIES, ANY)
    assert os.listdir(parent) == []


def test_a_parent_reached_through_symbolic_links_is_the_sites_business(parent, tmp_path):
    (tmp_path / 'link').symlink_to(parent)
    run = create(str(tmp_path / 'link'), SESSION, CASE, ENTRIES, ANY)
    run.verify()
    assert remove(run.path, SESSION).left == ()
    assert os.listdir(parent) == []


@pytest.mark.parametrize(
    ('session', 'entry'),
    [
        *((session, 'data') for session in ('', '../up', 'a/b', '.hidden', 'line\nbreak', 'a' * 151, 'é')),
        *((SESSION, entry) for entry in ('', '.', '..', 'a/b', MARKER, 'line\nbreak', '\udcff')),
    ],
)
def test_a_session_or_an_entry_that_is_no_safe_name_is_refused(parent, session, entry):
    with pytest.raises(RunDirectoryError, match='is no name'):
        create(str(parent), session, CASE, ('warmup', entry), ANY)
    assert os.listdir(parent) == []


@pytest.mark.parametrize('step', ['fsync', 'open'])
def test_what_was_made_is_undone_if_marking_fails(parent, monkeypatch, step):
    def full(*arguments, **options):
        if step == 'open' and (arguments[0] != MARKER):
            return os.open(*arguments, **options)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    descriptors = len(os.listdir('/proc/self/fd'))
    monkeypatch.setattr(rundir, 'os', Os(**{step: full}))
    with pytest.raises(RunDirectoryError, match='no space left'):
        create(str(parent), SESSION, CASE, ENTRIES, ANY)
    assert os.listdir(parent) == []
    assert len(os.listdir('/proc/self/fd')) == descriptors


def test_a_directory_that_replaced_the_new_one_is_not_marked(parent, tmp_path, around):
    theirs = tmp_path / 'theirs'
    theirs.mkdir()
    around('open', before=lambda path: swap(parent / path, theirs) if path.startswith('seatrial-') else None)
    with pytest.raises(RunDirectoryError, match='replaced'):
        create(str(parent), SESSION, CASE, ENTRIES, ANY)
    assert [os.listdir(parent / name) for name in os.listdir(parent)] == [[]]


# Using it


@pytest.mark.parametrize(
    'by', [os.mkdir, lambda path: os.symlink(f'{path}.away', path)], ids=['another', 'a link to it']
)
def test_a_run_directory_that_was_replaced_is_neither_verified_nor_emptied(run, by):
    os.rename(run.path, f'{run.path}.away')
    by(run.path)
    for call in (run.verify, lambda: run.empty('data')):
        with pytest.raises(RunDirectoryError, match='replaced'):
            call()


def test_a_changed_marker_is_not_verified(run):
    fill(run, 'data/file')
    tamper(run, case='another')
    for call in (run.verify, lambda: run.empty('data')):
        with pytest.raises(RunDirectoryError, match='was changed'):
            call()
    assert os.listdir(run.path_of('data')) == ['file']
    os.unlink(run.path_of(MARKER))
    with pytest.raises(RunDirectoryError, match='has no'):
        run.verify()


CALLS = {
    'make': lambda run, name: run.make(name),
    'empty': lambda run, name: run.empty(name),
    'list': lambda run, name: run.file_list(name),
    'count': lambda run, name: run.file_count(name, True),
}


@pytest.mark.parametrize('call', ['make', 'count'])
@pytest.mark.parametrize('name', ['other', 'data/../../out', '/data', 'data/', '', '..', MARKER])
def test_nothing_else_can_be_made_or_counted(run, name, call):
    run.make('data')
    before = sorted(os.listdir(run.path))
    with pytest.raises(RunDirectoryError, match='names no such entry'):
        CALLS[call](run, name)
    assert sorted(os.listdir(run.path)) == before


@pytest.mark.parametrize(('call', 'name'), [('make', 'data/point'), ('empty', 'data'), ('count', 'data')])
def test_nothing_is_done_through_a_symbolic_link(run, outside, call, name):
    os.symlink(outside, run.path_of('data'))
    with pytest.raises(RunDirectoryError, match='symbolic link'):
        CALLS[call](run, name)
    assert os.listdir(outside) == ['file']


@pytest.mark.parametrize('call', ['list', 'count'])
def test_a_directory_that_is_missing_is_an_error(run, call):
    with pytest.raises(RunDirectoryError, match='no such file'):
        CALLS[call](run, 'data')


def test_emptying_keeps_the_directory_itself_and_the_others(run):
    fill(run, 'data/file', 'warmup/file')
    identity = os.stat(run.path_of('data')).st_ino
    os.makedirs(run.path_of('data/a/b'))
    removal = run.empty('data')
    assert (removal.removed_files, removal.removed_directories, removal.left) == (1, 2, ())
    assert (os.listdir(run.path_of('data')), os.stat(run.path_of('data')).st_ino) == ([], identity)
    assert run.file_list('warmup') == {'file': 0}


def give_away(monkeypatch, name):
    """Let an entry of this name seem to belong to somebody else, whose number is returned."""
    other = os.geteuid() + 4711

    def status_of(path, **options):
        status = os.stat(path, **options)
        return os.stat_result([*status[:4], other if path == name else status.st_uid, *status[5:]])

    monkeypatch.setattr(rundir, 'os', Os(stat=status_of))
    return other


def test_nothing_is_emptied_that_belongs_to_another(run, monkeypatch):
    fill(run, 'data/file')
    give_away(monkeypatch, 'data')
    with pytest.raises(RunDirectoryError, match='belongs to'):
        run.empty('data')
    assert os.listdir(run.path_of('data')) == ['file']


def test_nothing_else_is_emptied_when_the_directory_is_moved_away_meanwhile(run, tmp_path, around):
    fill(run, *(f'{name}/{number}' for name in ENTRIES for number in range(10)))
    around('unlink', after=lambda path: os.rename(run.path_of('data'), tmp_path / 'away'))
    with pytest.raises(RunDirectoryError, match='cannot be emptied.*moved while'):
        run.empty('data')
    run.verify()
    assert (len(os.listdir(tmp_path / 'away')), len(os.listdir(run.path_of('warmup')))) == (9, 10)


@pytest.mark.parametrize(('stubborn', 'more'), [(('a',), r'\Z'), (('a', 'b', 'c'), r', and 2 more\Z')])
def test_what_cannot_be_emptied_is_named_and_all_else_goes(run, around, stubborn, more):
    fill(run, *(f'data/{name}' for name in 'abcd'))
    around('unlink', before=lambda path: failing(errno.EPERM)() if path in stubborn else None)
    with pytest.raises(RunDirectoryError, match='/data: it cannot be emptied.*; left: data/[abc]: .*permit.*' + more):
        run.empty('data')
    assert sorted(os.listdir(run.path_of('data'))) == sorted(stubborn)


def test_a_file_list_of_a_directory_that_is_moved_away_meanwhile_is_an_error(run, tmp_path, monkeypatch):
    chain(run.make('data'), 2 * rundir._HELD)
    fill(run, 'data/a0', 'data/a1', 'data/a2')

    def status_of(path, **options):
        if path == 'file':
            os.rename(run.path_of('data'), tmp_path / 'away')
        return os.stat(path, **options)

    # 'd' is looked into first, so far down that its parents must be opened again.
    monkeypatch.setattr(rundir, 'os', Os(stat=status_of, listdir=lambda path: sorted(os.listdir(path))))
    with pytest.raises(RunDirectoryError, match='no such file'):
        run.file_list('data')


# Counting what is there


def filled(run):
    """Directories and files of several sizes, in 'data': 4 directories, 5 files."""
    for name in ('a/b/empty', 'c'):
        os.makedirs(run.path_of(f'data/{name}'))
    for name, size in (('0', 0), ('a/1', 0), ('a/b/2', 3901), ('c/3', 3901), ('c/4', 1)):
        Path(run.path, 'data', name).write_bytes(bytes(size))


@pytest.mark.parametrize('with_sizes', [True, False])
def test_directories_files_and_where_asked_their_sizes_are_counted_and_listed(run, with_sizes):
    run.make('data')
    assert run.file_count('data', with_sizes)[:3] == FileCount(0, 0, {} if with_sizes else None)[:3]
    filled(run)
    os.link(run.path_of('data/c/4'), run.path_of('data/c/5'))  # another name is another file
    sizes = {0: 2, 3901: 2, 1: 2} if with_sizes else None
    assert run.file_count('data', with_sizes)[:3] == FileCount(4, 6, sizes)[:3]
    assert run.file_list('data') == {'0': 0, 'a/1': 0, 'a/b/2': 3901, 'c/3': 3901, 'c/4': 1, 'c/5': 1}


def test_a_file_count_without_sizes_asks_no_file_for_its_attributes(run, around):
    filled(run)
    asked = []
    around('stat', before=asked.append)
    run.file_count('data', False)
    assert not {'0', '1', '2', '3', '4'} & set(asked)
    run.file_count('data', True)
    assert {'0', '1', '2', '3', '4'} <= set(asked)


def test_a_file_count_follows_no_link_and_counts_neither_links_nor_fifos(run, outside):
    (outside / 'more').mkdir()
    run.make('data')
    os.symlink(outside, run.path_of('data/directory'))
    os.symlink(outside / 'file', run.path_of('data/file'))
    os.symlink('nowhere', run.path_of('data/dangling'))
    os.mkfifo(run.path_of('data/fifo'))
    for with_sizes in (True, False):
        assert run.file_count('data', with_sizes)[:2] == (0, 0)
    assert run.file_list('data') == {}


def test_a_file_count_has_the_room_of_all_directories_and_of_what_is_the_run_directorys_own(run):
    filled(run)
    files = [Path(run.path, 'data', name) for name in ('0', 'a/1', 'a/b/2', 'c/3', 'c/4')]
    others = {Path(run.path), *Path(run.path).rglob('*')}.difference(files)
    assert run.file_count('data', False).directory_bytes == 512 * sum(path.lstat().st_blocks for path in others)


def test_a_deep_tree_with_many_branches_is_counted_to_its_end(run):
    # At every level what is counted after the way back must be found again.
    top, directories = run.make('data'), 0
    for branch in ('a', 'b'):
        os.mkdir(f'{top}/{branch}')
        chain(f'{top}/{branch}', rundir._HELD + 6, sisters=True)
        directories += 1 + 3 * (rundir._HELD + 6)
    assert run.file_count('data', True)[:3] == FileCount(directories, 2, {0: 2})[:3]


def test_what_is_mounted_into_the_directory_is_not_tallied(run, monkeypatch):
    filled(run)

    def mount_of(descriptor):
        return 'mnt_id: 2' if os.readlink(f'/proc/self/fd/{descriptor}').endswith('/data/a') else 'mnt_id: 1'

    monkeypatch.setattr(rundir, '_mount_of', mount_of)
    with pytest.raises(RunDirectoryError, match='another file system is mounted there'):
        run.file_count('data', False)


@pytest.mark.parametrize(
    ('path', 'mount', 'words'),
    [
        ('/', '/', ''),
        ('{}/mount/below', '{}/mount', ''),
        ('{}/to-mount/below', '{}/to-mount', ''),  # a mount point that is a link is meant where it leads
        ('{}/mount/link', '{}/mount', 'symbolic link leads from it to {}/elsewhere'),
        ('{}/mount2', '{}/mount', 'does not lie under'),
        ('{}/elsewhere', '{}/elsewhere', 'nothing is mounted'),
        ('/proc/self', '/', 'in between'),
        ('{}/gone', '/', 'no such directory'),
    ],
)
def test_a_path_that_does_not_lie_on_a_mount_is_refused_with_the_reason(tmp_path, monkeypatch, path, mount, words):
    for name in ('mount/below', 'mount2', 'elsewhere'):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / 'mount' / 'link').symlink_to('../elsewhere')
    (tmp_path / 'to-mount').symlink_to('mount')
    if 'mount' in mount:
        there = [Mount(f'{tmp_path}/mount', 'ext4', '/dev/sda1', 'rw')]
        monkeypatch.setattr(rundir, 'read_mounts', lambda: there)
    why = rundir.inside(path.format(tmp_path), mount.format(tmp_path))
    assert (why is None) == (not words) and words.format(tmp_path) in (why or '')


# Removing it


def test_its_trees_are_removed_in_parts_and_then_what_is_left(run, parent):
    fill(run, 'data/beside', *(f'data/a/b{way}/d/file' for way in range(40)))
    first, second = (remove(run.path, SESSION, part=(number, 2)) for number in range(2))
    assert first.removed_files + second.removed_files == 40 and 5 < first.removed_files < 35
    assert os.listdir(run.path_of('data/a')) == [] and Path(run.path, 'data', 'beside').exists()
    run.verify()
    last = remove(run.path, SESSION)
    assert (last.removed_files, last.removed_directories, last.left) == (1, 3, ()) and os.listdir(parent) == []


def test_all_parts_at_once_remove_it_whole_but_for_what_the_session_did_not_make(parent, capsys):
    run = create(str(parent), SESSION, CASE, ENTRIES, (r'[abd]\d*', 'file'))
    run.close()
    fill(run, *(f'data/a{tree}/b{way}/d/file' for tree in range(3) for way in range(20)), 'data/a0/foreign')
    for files, directories, left in ((60, 122, ['data/a0/foreign: the session did not make it']), (0, 3, [])):
        assert removal.main([run.path, SESSION]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert [answer[key] for key in ('removed_files', 'removed_directories', 'left')] == [files, directories, left]
        Path(run.path_of('data/a0/foreign')).unlink(missing_ok=True)
    assert os.listdir(parent) == []


def test_what_is_not_there_is_removed_already_unless_its_parent_is_missing_too(parent):
    assert remove(str(parent / 'seatrial-x'), SESSION).left == ()
    assert 'mounted?' in remove(str(parent / 'gone' / 'seatrial-x'), SESSION).left[0]


@pytest.mark.parametrize('path', ['', '/', '.', '..', 'nul\0byte', '\ud800'])
def test_a_path_that_names_no_run_directory_is_left(path):
    assert len(remove(path, SESSION).left) == 1


def refused(run, why, session=SESSION):
    """Nothing at all is removed, for this reason."""
    fill(run, 'data/file')
    before = sorted(os.listdir(run.path))
    removal = remove(run.path, session)
    assert (removal.removed_files, removal.removed_directories, len(removal.left)) == (0, 0, 1)
    assert why in removal.left[0]
    assert sorted(os.listdir(run.path)) == before
    assert os.listdir(run.path_of('data')) == ['file']


def test_the_run_directory_of_another_session_is_refused(run):
    refused(run, f'belongs to session {SESSION}', session='another')


@pytest.mark.parametrize(
    'content',
    ['', '{}', '[]', 'null', '{"format": 1}', '[' * 50000, '\x00\xff', '1' * 60000, '{"\\ud800": 1}'],
    ids=['empty', 'object', 'list', 'null', 'short', 'deep', 'binary', 'number', 'surrogate'],
)
def test_a_marker_that_is_none_is_refused(run, content):
    Path(run.path, MARKER).write_text(content, encoding='latin-1')
    refused(run, 'is none that Seatrial wrote')


@pytest.mark.parametrize(
    ('changes', 'why'),
    [
        ({'format': 2}, 'this version reads 1'),
        ({'more': 1}, 'no such key'),
        *(({'entries': entries}, 'entries') for entries in (['..'], ['data', '../../home'], ['/'], [''])),
        ({'maker': {'session': 'line\nbreak'}}, 'maker.session'),
        ({'maker': {'time': float('nan')}}, 'maker.time'),
        ({'maker': {'uid': os.geteuid() + 1}}, 'made by another user'),
        ({'inode': 1}, 'copied or moved'),
        ({'marker_inode': 1}, 'copied or moved'),
    ],
    ids=str,
)
def test_a_marker_that_says_something_else_is_refused(run, changes, why):
    tamper(run, **changes)
    refused(run, why)


def copied(marker):
    """Over itself: another file of the same content."""
    content = Path(marker).read_bytes()
    os.rename(marker, f'{marker}.old')
    Path(marker).write_bytes(content)
    os.unlink(f'{marker}.old')


@pytest.mark.parametrize(
    ('spoil', 'why'),
    [
        (os.unlink, 'has no .seatrial-run.json'),
        (lambda marker: os.truncate(marker, 10**12), 'at most'),
        (lambda marker: (os.unlink(marker), os.mkfifo(marker)), 'no regular file'),
        (lambda marker: (os.rename(marker, marker + '.old'), os.symlink(marker + '.old', marker)), 'cannot be read'),
        (copied, 'copied or moved'),
    ],
    ids=['gone', 'too large', 'fifo', 'link', 'copy'],
)
def test_what_is_not_the_file_that_was_marked_is_no_marker_and_is_not_waited_for(run, spoil, why):
    spoil(run.path_of(MARKER))
    refused(run, why)


@pytest.mark.parametrize('host', [os.uname().nodename, 'nid00001'])
def test_a_remount_or_another_node_may_know_the_device_by_another_number(run, parent, host):
    tamper(run, device=1, maker={'host': host})
    assert remove(run.path, SESSION).left == ()
    assert os.listdir(parent) == []


def test_a_renamed_run_directory_is_refused(run):
    os.rename(run.path, run.path + '.keep')
    refused(run._replace(path=run.path + '.keep'), 'renamed')


def test_a_run_directory_of_another_user_is_refused(run, monkeypatch):
    owner = os.geteuid()
    monkeypatch.setattr(rundir, 'os', Os(geteuid=lambda: owner + 1))
    refused(run, 'who can remove it')


def test_a_symbolic_link_in_the_place_of_the_run_directory_is_refused(run, tmp_path):
    os.rename(run.path, tmp_path / 'away')
    os.symlink(tmp_path / 'away', run.path)
    refused(run, 'symbolic link')


def leaves(run, *expected):
    """Removal leaves foreign entries, with these reasons, and the marker."""
    removal = remove(run.path, SESSION)
    assert removal.left == expected
    run.verify()
    assert line_of(removal)


def test_a_top_level_entry_that_the_session_did_not_make_is_left(run):
    run.make('data')
    fill(run, 'notes')
    leaves(run, 'notes: the session did not make it')
    assert sorted(os.listdir(run.path)) == [MARKER, 'notes']


def test_what_lies_below_a_path_that_is_the_sessions_is_removed_whatever_its_name(parent):
    made = create(str(parent), SESSION, CASE, ENTRIES, (r'(.*/)?programs\.\d+(/.*)?',))
    fill(made, 'data/programs.0/.git/HEAD', 'data/notes', 'data/programs/HEAD')
    left = remove(made.path, SESSION).left
    assert sorted(left) == [f'data/{name}: the session did not make it' for name in ('notes', 'programs')]
    assert sorted(os.listdir(Path(made.path, 'data'))) == ['notes', 'programs']
    made.close()


@pytest.mark.parametrize(('kind', 'words'), [(stat.S_IFIFO, 'a fifo'), (stat.S_IFSOCK, 'a socket')])
def test_a_fifo_and_a_socket_are_left(run, kind, words):
    run.make('data')
    os.mknod(run.path_of('data/it'), kind | 0o600)
    leaves(run, f'data/it: it is {words}')


@pytest.mark.parametrize('file', ['theirs', 'theirs/file'])
def test_an_entry_of_another_owner_is_left_with_all_that_lies_in_it(run, monkeypatch, file):
    fill(run, f'data/{file}')
    other = give_away(monkeypatch, 'theirs')
    leaves(run, f'data/theirs: it belongs to uid {other}')
    assert run.file_list('data') == {file: 0}


@pytest.mark.needs('unshare', 'mount')
@pytest.mark.parametrize(
    'mount',
    ['mount --bind {outside} {data}/on', 'mount -t tmpfs none {data}/on', 'mount --bind {outside}/file {data}/file'],
    ids=['a directory of the same device', 'another file system', 'a file'],
)
@pytest.mark.slow
def test_what_is_mounted_into_the_run_directory_is_left(run, outside, mount):
    os.makedirs(run.path_of('data/on'))
    fill(run, 'data/file')
    namespace = ['unshare', '--user', '--map-root-user', '--mount']
    command = mount.format(outside=outside, data=run.path_of('data'))
    code = f"""
import os, subprocess
from seatrial.job.directory import rundir
subprocess.run({command.split()!r}, check=True)
print(*rundir.remove({run.path!r}, {SESSION!r}).left, sep='\\n')
"""
    if subprocess.run([*namespace, *['mount', '-t', 'tmpfs', 'none', '/mnt']], stderr=subprocess.DEVNULL).returncode:
        pytest.skip('this user may not mount in a namespace of their own')
    # The user has the number 0 in the namespace, in the marker too.
    tamper(run, maker={'uid': 0})
    output = subprocess.check_output([*namespace, sys.executable, '-c', code], text=True)
    assert output in ('data/file: device or resource busy\n', 'data/on: another file system is mounted there\n')
    assert (outside / 'file').read_text() == 'precious'


def test_a_symbolic_link_is_removed_and_what_it_leads_to_is_not(run, outside):
    run.make('data')
    os.symlink(outside, run.path_of('data/link'))
    os.symlink(outside, run.path_of('warmup'))
    assert remove(run.path, SESSION).left == ()
    assert os.listdir(outside) == ['file']


def test_a_name_of_any_bytes_is_counted_and_removed(run):
    run.make('data')
    for name in (b'line\nbreak', b'\xff\xfe', b'n' * 255, b'-rf', b'*', b' ', b'..x', 'é\u202e'.encode()):
        os.mkdir(os.path.join(os.fsencode(run.path), b'data', name))
        Path(os.fsdecode(os.path.join(os.fsencode(run.path), b'data', name, name))).touch()
    assert run.file_count('data', True)[:3] == FileCount(8, 8, {0: 8})[:3]
    removal = remove(run.path, SESSION)
    assert (removal.removed_files, removal.left) == (8, ())


def test_a_name_of_any_bytes_is_reported_in_plain_characters(run):
    run.make('data')
    os.mkfifo(os.path.join(os.fsencode(run.path), b'data', b'a\n\x1b[2J\xff\xe2\x80\xae'))
    leaves(run, 'data/a\\n\\x1b[2J\\xff\\xe2\\x80\\xae: it is a fifo')


def test_a_long_list_of_what_is_left_is_cut_with_a_count(run):
    run.make('data')
    for number in range(rundir.MAX_LEFT + 7):
        os.mkfifo(run.path_of(f'data/{number}'))
    left = remove(run.path, SESSION).left
    assert (len(left), left[-1]) == (rundir.MAX_LEFT + 1, 'and 7 more')


def test_a_removal_goes_on_after_what_it_must_leave_and_can_be_repeated_when_that_is_gone(run, parent):
    os.makedirs(run.path_of('data/a/b/c'))
    os.mkfifo(run.path_of('data/a/b/fifo'))
    leaves(run, 'data/a/b/fifo: it is a fifo')
    assert os.listdir(run.path_of('data/a/b')) == ['fifo']
    os.unlink(run.path_of('data/a/b/fifo'))
    assert remove(run.path, SESSION).left == ()
    assert os.listdir(parent) == []


@pytest.mark.slow
def test_a_removal_that_was_killed_at_any_call_can_be_repeated(parent, monkeypatch, around):
    for calls in itertools.count():
        run = create(str(parent), SESSION, CASE, ENTRIES, ANY)
        run.close()
        os.makedirs(run.path_of('data/a/b'))
        fill(run, 'data/a/file')
        killed = Mock(side_effect=itertools.chain([None] * calls, [KeyboardInterrupt], itertools.repeat(None)))
        around('open', 'stat', 'listdir', 'unlink', before=killed)
        with contextlib.suppress(KeyboardInterrupt):
            remove(run.path, SESSION)
        monkeypatch.setattr(rundir, 'os', os)
        assert remove(run.path, SESSION).left == ()
        assert os.listdir(parent) == []
        if killed.call_count <= calls:
            break
    assert calls > 10


@pytest.mark.parametrize(
    ('when', 'new', 'left'),
    [
        ('before', 'data/new', 'data: directory not empty'),
        ('after', 'new', '{}: something was made in it during the removal'),
    ],
)
def test_what_is_made_in_it_meanwhile_stays_with_the_marker(run, around, when, new, left):
    run.make('data')
    around('rmdir', **{when: lambda path: fill(run, new)})
    leaves(run, left.format(run.path))


def test_the_marker_is_put_back_if_the_directory_cannot_be_removed(run, parent, monkeypatch):
    monkeypatch.setattr(rundir, 'os', Os(rmdir=failing(errno.EBUSY)))
    assert remove(run.path, SESSION).left == (f'{run.path}: device or resource busy',)
    assert os.listdir(run.path) == [MARKER]
    monkeypatch.setattr(rundir, 'os', os)
    assert remove(run.path, SESSION).left == ()
    assert os.listdir(parent) == []


def test_a_directory_that_is_replaced_by_another_before_it_is_entered_is_left(run, outside, around):
    data = run.make('data')
    around('open', before=lambda path: swap(data, outside) if path == 'data' else None)
    leaves(run, 'data: it was replaced by another directory')
    assert os.listdir(run.path_of('data')) == ['file']


def test_an_empty_directory_that_took_the_place_of_ours_is_not_removed(run, tmp_path, around):
    data, theirs = run.make('data'), tmp_path / 'theirs'
    theirs.mkdir()
    inode = theirs.stat().st_ino
    around('listdir', after=lambda descriptor: None if os.listdir(descriptor) else swap(data, theirs))
    leaves(run, 'data: it was replaced while it was being removed')
    assert os.stat(data).st_ino == inode


def test_a_directory_that_another_process_removes_meanwhile_is_not_reported(run, parent, around):
    fill(run, 'data/sub/file')
    others = [remove]

    def remove_all(path):
        while others:
            others.pop()(run.path, SESSION)

    around('unlink', before=remove_all)
    removal = remove(run.path, SESSION)
    assert (removal.removed_files, removal.left) == (0, ())
    assert os.listdir(parent) == []


def chain(top, depth, sisters=False, end=lambda descriptor: os.mknod('file', dir_fd=descriptor)):
    """A directory tree of one branch, too deep for any path; at each of its levels two empty directories, or none.
    end: makes what lies in the last."""
    descriptor = os.open(top, os.O_RDONLY)
    for level in range(depth):
        for name in (f'a{level}', 'd', f'z{level}') if sisters else ('d',):
            os.mkdir(name, dir_fd=descriptor)
        below = os.open('d', os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    end(descriptor)
    os.close(descriptor)


@pytest.fixture
def few_descriptors():
    """As many as the walk may use, and a few more."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max(map(int, os.listdir('/proc/self/fd'))) + rundir._HELD + 10
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.fixture
def too_deep(run):
    """The depth of the tree in 'data'; it is removed even if the test fails, because pytest's removal recurses."""
    depth = sys.getrecursionlimit() + 100
    chain(run.make('data'), depth)
    yield depth
    subprocess.run(['rm', '-rf', '--', run.path_of('data')], check=True)


@pytest.mark.slow
def test_a_tree_deeper_than_descriptors_and_recursion_allow_is_counted_and_removed(run, too_deep, few_descriptors):
    assert list(run.file_list('data').values()) == [0]
    assert run.file_count('data', True)[:3] == FileCount(too_deep, 1, {0: 1})[:3]
    assert rundir.found_at(run.path)[0] == 1
    removal = remove(run.path, SESSION)
    assert (removal.removed_files, removal.removed_directories, removal.left) == (1, too_deep + 2, ())


def test_an_entry_that_is_left_deep_in_a_tree_is_reported_in_few_words(run):
    chain(run.make('data'), 500, end=lambda descriptor: os.mkfifo('fifo', dir_fd=descriptor))
    (left,) = remove(run.path, SESSION).left
    assert left.endswith('/fifo: it is a fifo')
    assert len(left) < 250


def test_a_directory_that_is_replaced_while_the_walk_is_far_below_is_left(run, tmp_path, around):
    chain(run.make('data'), 200)
    (tmp_path / 'theirs' / 'd').mkdir(parents=True)
    around('unlink', after=lambda path: swap(run.path_of('data/d/d'), tmp_path / 'theirs'))
    leaves(run, 'data/d/d: it was replaced by another directory')
    assert os.listdir(run.path_of('data/d/d')) == ['d']


def test_a_removal_gives_its_descriptors_back_also_where_a_directory_cannot_be_listed(run, around):
    os.makedirs(run.path_of('data/a/b'))
    os.mkfifo(run.path_of('data/a/fifo'))
    before = len(os.listdir('/proc/self/fd'))
    remove(run.path, SESSION)
    with pytest.raises(RunDirectoryError, match='a/fifo: it is a fifo'):
        run.empty('data')
    run.file_list('data')
    rundir.found_at(run.path)
    data = os.stat(run.path_of('data')).st_ino
    around('listdir', before=lambda where: failing(errno.EIO)() if os.fstat(where).st_ino == data else None)
    leaves(run, 'data: input/output error')
    assert len(os.listdir('/proc/self/fd')) == before
