"""The run directory: made and marked, used, and removed without touching anything else."""

import errno
import json
import os
import resource
import shutil
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from seatrial.job.directory import removal, rundir
from seatrial.job.directory.owner import this_owner
from seatrial.job.directory.rundir import (
    MARKER,
    MAX_LEFT,
    RunDirectoryError,
    create,
    found_at,
    inside,
    path_of,
    remove,
)
from seatrial.model.record import line_of
from seatrial.rules.launch import FileCount

SESSION, CASE, ENTRIES = '20261120T101500-7f3a', 'SharedFile/lab:io/scratch/default/1n', ('data', 'warmup')
ANY = (r'[^/]*',)  # names that the session makes


class Os:
    """The module os with some functions replaced, for rundir alone."""

    def __init__(self, **replaced):
        self.__dict__.update(replaced)

    def __getattr__(self, name):
        return getattr(os, name)


def failing(code):
    def fail(*_, **__):
        raise OSError(code, os.strerror(code))

    return fail


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


def marker_of(run):
    return json.loads(Path(run.path, MARKER).read_text())


def tamper(run, **changes):
    """Rewrite the marker in place, so that it keeps its inode."""
    data = marker_of(run)
    data['maker'].update(changes.pop('maker', {}))
    data.update(changes)
    Path(run.path, MARKER).write_text(json.dumps(data))


# Making it


def test_it_is_made_under_its_parent_for_the_owner_alone(run, parent):
    assert os.path.dirname(run.path) == str(parent)
    assert stat.S_IMODE(os.stat(run.path).st_mode) == 0o700


def test_its_path_is_known_before_it_is_made(run, parent):
    assert run.path == path_of(str(parent), SESSION, CASE)


def test_its_name_says_the_session_and_differs_by_case(parent):
    first, second = (os.path.basename(path_of(str(parent), SESSION, case)) for case in ('a', 'b'))
    assert first.startswith(f'seatrial-{SESSION}-')
    assert first != second


def test_the_marker_says_who_made_what(run):
    status, data = os.stat(run.path), marker_of(run)
    assert (data['device'], data['inode']) == (status.st_dev, status.st_ino)
    assert data['marker_inode'] == os.stat(run.path_of(MARKER)).st_ino
    assert (data['format'], data['case'], tuple(data['entries'])) == (1, CASE, ENTRIES)
    assert (data['maker']['session'], data['maker']['uid'], data['maker']['pid']) == (
        SESSION,
        os.geteuid(),
        os.getpid(),
    )


def test_a_run_directory_that_exists_is_not_used_again(run, parent):
    with pytest.raises(RunDirectoryError, match='there already.*seatrial clean'):
        create(str(parent), SESSION, CASE, ENTRIES, ANY)


def test_a_missing_parent_is_named_with_the_mend(parent):
    with pytest.raises(RunDirectoryError, match=r'gone: no such directory.*mounted\?'):
        create(str(parent / 'gone'), SESSION, CASE, ENTRIES, ANY)


def test_a_parent_that_is_a_file_is_refused(parent):
    (parent / 'file').touch()
    with pytest.raises(RunDirectoryError, match='not a directory'):
        create(str(parent / 'file'), SESSION, CASE, ENTRIES, ANY)


def test_a_relative_parent_is_refused():
    with pytest.raises(RunDirectoryError, match='absolute'):
        create('relative', SESSION, CASE, ENTRIES, ANY)


def test_a_parent_that_this_user_may_not_write_is_refused_before_anything_is_made(parent, monkeypatch):
    monkeypatch.setattr(rundir, 'os', Os(access=lambda *_, **__: False))
    with pytest.raises(RunDirectoryError, match='may not write in it'):
        create(str(parent), SESSION, CASE, ENTRIES, ANY)
    assert os.listdir(parent) == []


def test_a_parent_on_a_read_only_file_system_is_refused(parent, monkeypatch):
    class ReadOnly:
        f_flag = os.ST_RDONLY

    monkeypatch.setattr(rundir, 'os', Os(fstatvfs=lambda _: ReadOnly))
    with pytest.raises(RunDirectoryError, match='read-only'):
        create(str(parent), SESSION, CASE, ENTRIES, ANY)


def test_a_parent_reached_through_symbolic_links_is_the_sites_business(parent, tmp_path):
    (tmp_path / 'link').symlink_to(parent)
    run = create(str(tmp_path / 'link'), SESSION, CASE, ENTRIES, ANY)
    run.verify()
    assert remove(run.path, SESSION).left == ()
    assert os.listdir(parent) == []


@pytest.mark.parametrize('session', ['', '../up', 'a/b', '.hidden', 'line\nbreak', 'a' * 151, 'é'])
def test_a_session_that_is_no_safe_name_is_refused(parent, session):
    with pytest.raises(RunDirectoryError, match='is no name'):
        create(str(parent), session, CASE, ENTRIES, ANY)
    assert os.listdir(parent) == []


@pytest.mark.parametrize('entry', ['', '.', '..', 'a/b', MARKER, 'line\nbreak', '\udcff'])
def test_an_entry_that_is_no_safe_name_is_refused(parent, entry):
    with pytest.raises(RunDirectoryError, match='is no name'):
        create(str(parent), SESSION, CASE, ('data', entry), ANY)


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


def test_a_directory_that_replaced_the_new_one_is_not_marked(parent, tmp_path, monkeypatch):
    (tmp_path / 'theirs').mkdir()

    def swapped(path, mode, dir_fd):
        os.mkdir(path, mode, dir_fd=dir_fd)
        monkeypatch.setattr(rundir, 'os', Os(open=opened))

    def opened(path, *arguments, **options):
        if str(path).startswith('seatrial-'):
            os.rename(parent / path, tmp_path / 'ours')
            os.rename(tmp_path / 'theirs', parent / path)
        return os.open(path, *arguments, **options)

    monkeypatch.setattr(rundir, 'os', Os(mkdir=swapped))
    with pytest.raises(RunDirectoryError, match='replaced'):
        create(str(parent), SESSION, CASE, ENTRIES, ANY)
    assert [os.listdir(parent / name) for name in os.listdir(parent)] == [[]]


def test_a_file_system_that_gives_the_directory_to_another_owner_is_refused(parent, monkeypatch):
    owner = os.geteuid() + 1
    monkeypatch.setattr(rundir, 'os', Os(geteuid=lambda: owner))
    with pytest.raises(RunDirectoryError, match='root squash'):
        create(str(parent), SESSION, CASE, ENTRIES, ANY)
    assert os.listdir(parent) == []


# Using it


def test_a_run_directory_that_is_in_its_place_is_verified(run):
    run.verify()


def test_a_run_directory_that_was_replaced_is_not_verified(run, tmp_path):
    os.rename(run.path, tmp_path / 'away')
    os.mkdir(run.path)
    with pytest.raises(RunDirectoryError, match='replaced'):
        run.verify()


def test_a_symbolic_link_to_the_run_directory_is_not_the_run_directory(run, tmp_path):
    os.rename(run.path, tmp_path / 'away')
    os.symlink(tmp_path / 'away', run.path)
    with pytest.raises(RunDirectoryError, match='replaced'):
        run.verify()


def test_a_changed_marker_is_not_verified(run):
    tamper(run, case='another')
    with pytest.raises(RunDirectoryError, match='was changed'):
        run.verify()


def test_a_run_directory_without_its_marker_is_not_verified(run):
    os.unlink(run.path_of(MARKER))
    with pytest.raises(RunDirectoryError, match='has no'):
        run.verify()


def test_an_entry_of_the_marker_can_be_made(run):
    assert run.make('data') == run.path_of('data')
    assert stat.S_IMODE(os.stat(run.path_of('data')).st_mode) == 0o700


def test_a_directory_below_an_entry_can_be_made(run):
    run.make('data')
    run.make('data/point')
    assert os.path.isdir(run.path_of('data/point'))


@pytest.mark.parametrize('name', ['other', 'data/../../out', '/data', 'data/', '', '..', MARKER])
def test_nothing_else_can_be_made(run, name):
    run.make('data')
    before = sorted(os.listdir(run.path))
    with pytest.raises(RunDirectoryError, match='names no such entry'):
        run.make(name)
    assert sorted(os.listdir(run.path)) == before


def test_nothing_is_made_through_a_symbolic_link(run, tmp_path):
    (tmp_path / 'outside').mkdir()
    os.symlink(tmp_path / 'outside', run.path_of('data'))
    with pytest.raises(RunDirectoryError, match='symbolic link'):
        run.make('data/point')
    assert os.listdir(tmp_path / 'outside') == []


def test_the_file_list_gives_regular_files_with_their_exact_sizes(run, tmp_path):
    run.make('data')
    run.make('data/sub')
    Path(run.path, 'data', 'a').write_bytes(b'x' * 12345)
    Path(run.path, 'data', 'sub', 'b').write_bytes(b'')
    assert run.file_list('data') == {'a': 12345, 'sub/b': 0}


def test_the_file_list_follows_no_link_and_counts_no_fifo(run, tmp_path):
    (tmp_path / 'outside').mkdir()
    (tmp_path / 'outside' / 'file').write_text('x')
    run.make('data')
    os.symlink(tmp_path / 'outside', run.path_of('data/directory'))
    os.symlink(tmp_path / 'outside' / 'file', run.path_of('data/file'))
    os.mkfifo(run.path_of('data/fifo'))
    assert run.file_list('data') == {}


def test_the_file_list_of_a_missing_directory_is_an_error(run):
    with pytest.raises(RunDirectoryError, match='no such file'):
        run.file_list('data')


def test_emptying_keeps_the_directory_itself(run):
    identity = os.stat(run.make('data')).st_ino
    os.makedirs(run.path_of('data/a/b'))
    Path(run.path, 'data', 'a', 'file').touch()
    removal = run.empty('data')
    assert (removal.removed_files, removal.removed_directories, removal.left) == (1, 2, ())
    assert (os.listdir(run.path_of('data')), os.stat(run.path_of('data')).st_ino) == ([], identity)


def test_emptying_one_directory_leaves_the_others(run):
    for name in ENTRIES:
        run.make(name)
        Path(run.path, name, 'file').touch()
    run.empty('data')
    assert run.file_list('warmup') == {'file': 0}


def test_nothing_is_emptied_through_a_symbolic_link(run, tmp_path):
    (tmp_path / 'outside').mkdir()
    (tmp_path / 'outside' / 'file').touch()
    os.symlink(tmp_path / 'outside', run.path_of('data'))
    with pytest.raises(RunDirectoryError, match='symbolic link'):
        run.empty('data')
    assert os.listdir(tmp_path / 'outside') == ['file']


def test_nothing_is_emptied_in_a_run_directory_that_was_replaced(run, tmp_path):
    os.rename(run.path, tmp_path / 'away')
    os.makedirs(run.path_of('data'))
    Path(run.path, 'data', 'file').touch()
    with pytest.raises(RunDirectoryError, match='replaced'):
        run.empty('data')
    assert os.listdir(run.path_of('data')) == ['file']


def test_nothing_is_emptied_after_the_marker_was_changed(run):
    run.make('data')
    Path(run.path, 'data', 'file').touch()
    tamper(run, case='another')
    with pytest.raises(RunDirectoryError, match='was changed'):
        run.empty('data')
    assert os.listdir(run.path_of('data')) == ['file']


def test_a_directory_of_another_owner_is_not_emptied(run, monkeypatch):
    run.make('data')
    Path(run.path, 'data', 'file').touch()

    def change(path, found):
        return [*found[:4], found.st_uid + (path == 'data'), *found[5:7]]

    monkeypatch.setattr(rundir, 'os', statuses(change))
    with pytest.raises(RunDirectoryError, match='belongs to'):
        run.empty('data')
    assert os.listdir(run.path_of('data')) == ['file']


def test_nothing_else_is_emptied_when_the_directory_is_moved_away_meanwhile(run, tmp_path, monkeypatch):
    for name in ENTRIES:
        run.make(name)
        for number in range(10):
            Path(run.path, name, str(number)).touch()

    def unlink(path, dir_fd):
        os.unlink(path, dir_fd=dir_fd)
        os.rename(run.path_of('data'), tmp_path / 'away')

    monkeypatch.setattr(rundir, 'os', Os(unlink=unlink))
    with pytest.raises(RunDirectoryError, match='cannot be emptied.*moved while'):
        run.empty('data')
    run.verify()
    assert (len(os.listdir(tmp_path / 'away')), len(os.listdir(run.path_of('warmup')))) == (9, 10)


@pytest.mark.parametrize(('stubborn', 'more'), [(('a',), r'\Z'), (('a', 'b', 'c'), r', and 2 more\Z')])
def test_what_cannot_be_emptied_is_named_and_all_else_goes(run, monkeypatch, stubborn, more):
    run.make('data')
    for name in 'abcd':
        Path(run.path, 'data', name).touch()

    def unlink(path, dir_fd):
        if path in stubborn:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        os.unlink(path, dir_fd=dir_fd)

    monkeypatch.setattr(rundir, 'os', Os(unlink=unlink))
    with pytest.raises(RunDirectoryError, match='/data: it cannot be emptied.*; left: data/[abc]: .*permit.*' + more):
        run.empty('data')
    assert sorted(os.listdir(run.path_of('data'))) == sorted(stubborn)


def test_a_file_list_of_a_directory_that_is_moved_away_meanwhile_is_an_error(run, tmp_path, monkeypatch):
    chain(run.make('data'), 2 * rundir._HELD)
    for number in range(3):
        Path(run.path, 'data', f'a{number}').touch()

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
    for name in ('', '/a', '/a/b', '/a/b/empty', '/c'):
        run.make(f'data{name}')
    for name, size in (('0', 0), ('a/1', 0), ('a/b/2', 3901), ('c/3', 3901), ('c/4', 1)):
        Path(run.path, 'data', name).write_bytes(bytes(size))


def test_a_file_count_counts_directories_files_and_their_sizes(run):
    filled(run)
    assert run.file_count('data', True)[:3] == FileCount(4, 5, {0: 2, 3901: 2, 1: 1})[:3]


def test_a_file_count_without_sizes_counts_names_alone(run):
    filled(run)
    assert run.file_count('data', False)[:3] == FileCount(4, 5, None)[:3]


@pytest.mark.parametrize(('with_sizes', 'sizes'), [(True, {}), (False, None)])
def test_the_file_count_of_an_empty_directory_is_nothing(run, with_sizes, sizes):
    run.make('data')
    assert run.file_count('data', with_sizes)[:3] == FileCount(0, 0, sizes)[:3]


def test_a_file_count_without_sizes_asks_no_file_for_its_attributes(run, monkeypatch):
    filled(run)
    asked = []

    def status_of(path, **options):
        asked.append(path)
        return os.stat(path, **options)

    monkeypatch.setattr(rundir, 'os', Os(stat=status_of))
    run.file_count('data', False)
    assert not {'0', '1', '2', '3', '4'} & set(asked)
    run.file_count('data', True)
    assert {'0', '1', '2', '3', '4'} <= set(asked)


def test_a_file_count_follows_no_link_and_counts_neither_links_nor_fifos(run, tmp_path):
    (tmp_path / 'outside' / 'more').mkdir(parents=True)
    (tmp_path / 'outside' / 'file').write_text('x')
    run.make('data')
    os.symlink(tmp_path / 'outside', run.path_of('data/directory'))
    os.symlink(tmp_path / 'outside' / 'file', run.path_of('data/file'))
    os.symlink('nowhere', run.path_of('data/dangling'))
    os.mkfifo(run.path_of('data/fifo'))
    for with_sizes in (True, False):
        assert run.file_count('data', with_sizes)[:2] == (0, 0)


def test_a_file_count_has_the_room_of_all_directories_and_of_what_is_the_run_directorys_own(run):
    filled(run)
    files = [Path(run.path, 'data', name) for name in ('0', 'a/1', 'a/b/2', 'c/3', 'c/4')]
    own = {Path(run.path), *Path(run.path).rglob('*')}.difference(files)
    assert run.file_count('data', False).directory_bytes == 512 * sum(each.lstat().st_blocks for each in own)


def test_a_second_name_of_a_file_is_counted_as_another(run):
    run.make('data')
    Path(run.path, 'data', 'one').write_bytes(b'x')
    os.link(run.path_of('data/one'), run.path_of('data/two'))
    assert run.file_count('data', True)[:3] == FileCount(0, 2, {1: 2})[:3]


def test_names_of_any_bytes_are_counted(run):
    data = os.fsencode(run.make('data'))
    for name in (b'line\nbreak', b'\xff\xfe', b'n' * 255, b'-rf', b' '):
        with open(os.path.join(data, name), 'wb'):
            pass
    assert run.file_count('data', True)[:3] == FileCount(0, 5, {0: 5})[:3]


@pytest.mark.parametrize('depth', [1, rundir._HELD + 1, 300])
def test_a_tree_as_deep_as_engines_make_them_is_counted_to_its_end(run, depth):
    chain(run.make('data'), depth)
    descriptors = len(os.listdir('/proc/self/fd'))
    assert run.file_count('data', True)[:3] == FileCount(depth, 1, {0: 1})[:3]
    assert len(os.listdir('/proc/self/fd')) == descriptors


def test_a_file_count_agrees_with_the_file_list(run):
    filled(run)
    files = run.file_list('data')
    assert run.file_count('data', True).sizes == {size: list(files.values()).count(size) for size in files.values()}


@pytest.mark.parametrize('name', ['other', 'data/../..', '..', ''])
def test_nothing_else_can_be_tallied(run, name):
    run.make('data')
    with pytest.raises(RunDirectoryError, match='names no such entry'):
        run.file_count(name, True)


def test_a_deep_tree_with_many_branches_is_counted_to_its_end(run):
    # At every level what is counted after the way back must be found again.
    top, directories = run.make('data'), 0
    for branch in ('a', 'b'):
        os.mkdir(f'{top}/{branch}')
        chain(f'{top}/{branch}', rundir._HELD + 6, sisters=True)
        directories += 1 + 3 * (rundir._HELD + 6)
    assert run.file_count('data', True)[:3] == FileCount(directories, 2, {0: 2})[:3]


def test_a_directory_that_is_moved_away_during_the_file_count_is_an_error(run, tmp_path, monkeypatch):
    for name in ('', '/a', '/a/b'):
        run.make(f'data{name}')

    def opened(path, *flags, **options):
        if path == 'b':
            os.rename(run.path_of('data/a/b'), tmp_path / 'elsewhere')
        return os.open(path, *flags, **options)

    monkeypatch.setattr(rundir, 'os', Os(open=opened))
    with pytest.raises(RunDirectoryError, match='no such file'):
        run.file_count('data', False)


def test_what_is_mounted_into_the_directory_is_not_tallied(run, monkeypatch):
    filled(run)

    def mount_of(descriptor):
        return 'mnt_id: 2' if os.readlink(f'/proc/self/fd/{descriptor}').endswith('/data/a') else 'mnt_id: 1'

    monkeypatch.setattr(rundir, '_mount_of', mount_of)
    with pytest.raises(RunDirectoryError, match='another file system is mounted there'):
        run.file_count('data', False)


def test_nothing_is_tallied_through_a_symbolic_link(run, tmp_path):
    (tmp_path / 'outside').mkdir()
    os.symlink(tmp_path / 'outside', run.path_of('data'))
    with pytest.raises(RunDirectoryError, match='symbolic link'):
        run.file_count('data', False)


def test_the_file_count_of_a_missing_directory_is_an_error(run):
    with pytest.raises(RunDirectoryError, match='no such file'):
        run.file_count('data', True)


def test_the_oldest_python_of_the_nodes_counts_the_same(run, repository):
    old = shutil.which('python3.6')
    if old is None or subprocess.run([old, '-c', 'pass'], stderr=subprocess.DEVNULL).returncode:
        pytest.skip('python3.6 is not installed')
    filled(run)
    script = (
        'import os, sys; from seatrial.job.directory import rundir; '
        'walk = rundir._Walk(os.open(sys.argv[1], os.O_RDONLY)); '
        'print(tuple(rundir._file_count(walk, "data", True))[:3], tuple(rundir._file_count(walk, "data", False))[:3])'
    )
    done = subprocess.run(
        [old, '-c', script, run.path],
        env={'PATH': os.environ['PATH'], 'HOME': os.environ.get('HOME', '/'), 'PYTHONPATH': str(repository / 'src')},
        capture_output=True,
        text=True,
    )
    # Not the room of directories: the run directory adds its own.
    counted = ' '.join(str(tuple(run.file_count('data', each))[:3]) for each in (True, False))
    assert done.stdout.strip() == counted, done.stderr


# Where it lies


def mounts(monkeypatch, *points):
    monkeypatch.setattr(rundir, '_mount_points', lambda: [str(point) for point in points])


def test_a_path_below_the_mount_point_is_inside(tmp_path, monkeypatch):
    mounts(monkeypatch, tmp_path)
    (tmp_path / 'below').mkdir()
    assert inside(str(tmp_path / 'below'), str(tmp_path)) is None


def test_the_root_is_a_mount_point():
    assert inside('/', '/') is None


def test_a_mount_point_that_is_a_symbolic_link_is_meant_where_it_leads(tmp_path, monkeypatch):
    (tmp_path / 'real' / 'below').mkdir(parents=True)
    (tmp_path / 'link').symlink_to('real')
    mounts(monkeypatch, tmp_path / 'real')
    assert inside(str(tmp_path / 'link' / 'below'), str(tmp_path / 'link')) is None


def test_a_symbolic_link_that_leads_out_of_the_mount_is_told(tmp_path, monkeypatch):
    (tmp_path / 'mount').mkdir()
    (tmp_path / 'elsewhere').mkdir()
    (tmp_path / 'mount' / 'link').symlink_to('../elsewhere')
    mounts(monkeypatch, tmp_path / 'mount')
    sentence = inside(str(tmp_path / 'mount' / 'link'), str(tmp_path / 'mount'))
    assert sentence is not None
    assert f'symbolic link leads from it to {tmp_path}/elsewhere' in sentence


def test_a_path_whose_name_only_begins_like_the_mount_point_is_outside(tmp_path, monkeypatch):
    (tmp_path / 'mount').mkdir()
    (tmp_path / 'mount2').mkdir()
    mounts(monkeypatch, tmp_path / 'mount')
    assert 'does not lie under' in (inside(str(tmp_path / 'mount2'), str(tmp_path / 'mount')) or '')


def test_a_mount_point_with_nothing_mounted_is_told(tmp_path):
    assert 'nothing is mounted' in (inside(str(tmp_path), str(tmp_path)) or '')


def test_another_file_system_between_mount_point_and_path_is_told(monkeypatch):
    assert 'in between' in (inside('/proc/self', '/') or '')


def test_a_missing_path_is_told(tmp_path):
    assert 'no such directory' in (inside(str(tmp_path / 'gone'), '/') or '')


def test_a_mount_point_with_a_space_in_its_name_is_read(monkeypatch, tmp_path):
    table = tmp_path / 'mountinfo'
    table.write_bytes(b'36 35 98:0 /mnt1 /mnt\\040two\\134 rw master:1 - ext3 /dev/root rw\n')
    monkeypatch.setattr(rundir, 'open', lambda *_: table.open('rb'), raising=False)
    assert rundir._mount_points() == ['/mnt two\\']


# Removing it


def test_it_is_removed_whole(run, parent):
    run.make('data')
    os.makedirs(run.path_of('data/a/b'))
    Path(run.path, 'data', 'a', 'file').touch()
    removal = remove(run.path, SESSION)
    assert (removal.removed_files, removal.removed_directories, removal.left) == (1, 4, ())
    assert os.listdir(parent) == []


def test_its_trees_are_removed_in_parts_and_then_what_is_left(run, parent):
    run.make('data')
    Path(run.path, 'data', 'beside').touch()
    for way in range(40):
        os.makedirs(run.path_of(f'data/a/b{way}/d'))
        Path(run.path, 'data', 'a', f'b{way}', 'd', 'file').touch()
    first, second = (remove(run.path, SESSION, part=(number, 2)) for number in range(2))
    assert first.removed_files + second.removed_files == 40 and 5 < first.removed_files < 35
    assert os.listdir(run.path_of('data/a')) == [] and Path(run.path, 'data', 'beside').exists()
    run.verify()
    last = remove(run.path, SESSION)
    assert (last.removed_files, last.removed_directories, last.left) == (1, 3, ()) and os.listdir(parent) == []


def test_all_parts_at_once_remove_it_whole(run, parent, monkeypatch, capsys):
    run.make('data')
    for tree in range(3):
        for way in range(20):
            os.makedirs(run.path_of(f'data/a{tree}/b{way}/d'))
            Path(run.path, 'data', f'a{tree}', f'b{way}', 'd', 'file').touch()
    assert removal.main([run.path, SESSION]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said['removed_files'], said['removed_directories'], said['left']) == (60, 125, [])
    assert os.listdir(parent) == []


def test_what_the_session_did_not_make_stays_where_parts_are_removed(parent, capsys):
    run = create(str(parent), SESSION, CASE, ENTRIES, ('[ab]',))
    os.makedirs(run.path_of('data/a/foreign'))
    os.makedirs(run.path_of('data/a/b'))
    removal.main([run.path, SESSION])
    run.close()
    (left,) = json.loads(capsys.readouterr().out)['left']
    assert 'foreign' in left and os.listdir(run.path_of('data/a')) == ['foreign']


def test_a_fresh_process_can_remove_it_by_path_and_session(run, parent):
    run.make('data')
    code = f'from seatrial.job.directory.rundir import remove; print(remove({run.path + "/"!r}, {SESSION!r}).left)'
    assert subprocess.run([sys.executable, '-c', code], stdout=subprocess.PIPE, check=True).stdout == b'()\n'
    assert os.listdir(parent) == []


def test_what_is_not_there_is_removed_already(parent):
    assert remove(str(parent / 'seatrial-x'), SESSION).left == ()


def test_a_missing_parent_is_no_removal(parent):
    assert 'mounted?' in remove(str(parent / 'gone' / 'seatrial-x'), SESSION).left[0]


@pytest.mark.parametrize('path', ['', '/', '.', '..', 'nul\0byte', '\ud800'])
def test_a_path_that_names_no_run_directory_is_left(path):
    assert len(remove(path, SESSION).left) == 1


def refused(run, why, session=SESSION):
    """Nothing at all is removed, for this reason."""
    os.makedirs(run.path_of('data'), exist_ok=True)
    Path(run.path, 'data', 'file').touch()
    before = sorted(os.listdir(run.path))
    removal = remove(run.path, session)
    assert (removal.removed_files, removal.removed_directories, len(removal.left)) == (0, 0, 1)
    assert why in removal.left[0]
    assert sorted(os.listdir(run.path)) == before
    assert os.listdir(run.path_of('data')) == ['file']


def test_a_directory_without_a_marker_is_refused(run):
    os.unlink(run.path_of(MARKER))
    refused(run, 'has no .seatrial-run.json')


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


def test_a_marker_of_another_format_is_refused(run):
    tamper(run, format=2)
    refused(run, 'this version reads 1')


def test_a_marker_with_an_unknown_key_is_refused(run):
    tamper(run, more=1)
    refused(run, 'no such key')


@pytest.mark.parametrize('entries', [['..'], ['data', '../../home'], ['/'], ['']])
def test_a_marker_whose_entries_lead_out_is_refused(run, entries):
    tamper(run, entries=entries)
    refused(run, 'entries')


def test_a_marker_whose_session_is_no_safe_name_is_refused(run):
    tamper(run, maker={'session': 'line\nbreak'})
    refused(run, 'maker.session')


def test_a_marker_whose_time_is_no_number_is_refused(run):
    tamper(run, maker={'time': float('nan')})
    refused(run, 'maker.time')


def test_a_marker_that_is_too_large_is_refused(run):
    os.truncate(run.path_of(MARKER), 10**12)
    refused(run, 'at most')


def test_a_marker_that_is_a_fifo_is_refused_without_waiting(run):
    os.unlink(run.path_of(MARKER))
    os.mkfifo(run.path_of(MARKER))
    refused(run, 'no regular file')


def test_a_marker_that_is_a_symbolic_link_is_refused(run, tmp_path):
    os.rename(run.path_of(MARKER), tmp_path / 'marker')
    os.symlink(tmp_path / 'marker', run.path_of(MARKER))
    refused(run, 'cannot be read')


@pytest.mark.parametrize('key', ['inode', 'marker_inode'])
def test_a_marker_of_another_directory_is_refused(run, key):
    tamper(run, **{key: 1})
    refused(run, 'copied or moved')


def test_a_marker_that_was_moved_to_another_directory_is_refused(run, tmp_path):
    other = create(str(tmp_path), SESSION, CASE, ENTRIES, ANY)
    os.rename(run.path_of(MARKER), other.path_of(MARKER))
    refused(other, 'copied or moved')


def test_a_marker_that_was_copied_over_itself_is_refused(run):
    content = Path(run.path, MARKER).read_bytes()
    os.rename(run.path_of(MARKER), run.path_of('data'))
    Path(run.path, MARKER).write_bytes(content)
    os.unlink(run.path_of('data'))
    refused(run, 'copied or moved')


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


def test_a_marker_that_claims_another_user_is_refused(run):
    tamper(run, maker={'uid': os.geteuid() + 1})
    refused(run, 'made by another user')


def test_a_symbolic_link_in_the_place_of_the_run_directory_is_refused(run, tmp_path):
    os.rename(run.path, tmp_path / 'away')
    os.symlink(tmp_path / 'away', run.path)
    refused(run, 'symbolic link')


def leaves(run, *expected):
    """What is foreign is left with the reason, and the marker stays."""
    removal = remove(run.path, SESSION)
    assert removal.left == expected
    run.verify()
    assert line_of(removal)
    return removal


def test_a_top_level_entry_that_the_session_did_not_make_is_left(run):
    run.make('data')
    Path(run.path, 'notes').touch()
    leaves(run, 'notes: the session did not make it')
    assert sorted(os.listdir(run.path)) == [MARKER, 'notes']


def test_what_lies_below_a_path_that_is_the_sessions_is_removed_whatever_its_name(parent):
    made = create(str(parent), SESSION, CASE, ENTRIES, (r'(.*/)?programs\.\d+(/.*)?',))
    made.make('data')
    for path in ('data/programs.0/.git/HEAD', 'data/notes', 'data/programs/HEAD'):
        Path(made.path, path).parent.mkdir(parents=True, exist_ok=True)
        Path(made.path, path).touch()
    left = remove(made.path, SESSION).left
    assert sorted(left) == [f'data/{name}: the session did not make it' for name in ('notes', 'programs')]
    assert sorted(os.listdir(Path(made.path, 'data'))) == ['notes', 'programs']
    made.close()


def test_a_fifo_and_a_socket_are_left(run):
    run.make('data')
    os.mkfifo(run.path_of('data/fifo'))
    leaves(run, 'data/fifo: it is a fifo')
    os.unlink(run.path_of('data/fifo'))
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(run.path_of('data'))  # a socket's path has 107 bytes at most
        server.bind('socket')
        os.chdir(here)
        leaves(run, 'data/socket: it is a socket')


def statuses(change):
    """os.stat as if some entries had other values."""

    def status_of(path, **options):
        found = os.stat(path, **options)
        return os.stat_result([*(change(path, found)), *found[7:]])

    return Os(stat=status_of)


def test_an_entry_of_another_owner_is_left(run, monkeypatch):
    run.make('data')
    Path(run.path, 'data', 'theirs').touch()
    other = os.geteuid() + 4711

    def change(path, found):
        return [*found[:4], other if path == 'theirs' else found.st_uid, *found[5:7]]

    monkeypatch.setattr(rundir, 'os', statuses(change))
    leaves(run, f'data/theirs: it belongs to uid {other}')


@pytest.mark.skipif(os.geteuid() != 0, reason='only root can give a directory away')
def test_a_directory_of_another_owner_is_not_entered(run):
    run.make('data')
    run.make('data/theirs')
    Path(run.path, 'data', 'theirs', 'file').touch()
    os.chown(run.path_of('data/theirs'), 4711, 4711)
    leaves(run, 'data/theirs: it belongs to uid 4711')
    assert run.file_list('data') == {'theirs/file': 0}


def test_an_entry_on_another_device_is_left(run, monkeypatch):
    run.make('data')
    run.make('data/mounted')
    Path(run.path, 'data', 'mounted', 'file').touch()

    def change(path, found):
        return [found[0], found[1], found.st_dev + (path == 'mounted'), *found[3:7]]

    monkeypatch.setattr(rundir, 'os', statuses(change))
    leaves(run, 'data/mounted: another file system is mounted there')
    monkeypatch.setattr(rundir, 'os', os)
    assert run.file_list('data/mounted') == {'file': 0}


@pytest.mark.needs('unshare', 'mount')
@pytest.mark.parametrize(
    'mount',
    ['mount --bind {outside} {data}/on', 'mount -t tmpfs none {data}/on', 'mount --bind {outside}/file {data}/file'],
    ids=['a directory of the same device', 'another file system', 'a file'],
)
def test_what_is_mounted_into_the_run_directory_is_left(run, tmp_path, mount):
    (tmp_path / 'outside').mkdir()
    (tmp_path / 'outside' / 'file').write_text('precious')
    run.make('data')
    run.make('data/on')
    Path(run.path, 'data', 'file').touch()
    namespace = ['unshare', '--user', '--map-root-user', '--mount']
    command = mount.format(outside=tmp_path / 'outside', data=run.path_of('data'))
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
    said = subprocess.run(
        [*namespace, sys.executable, '-c', code], stdout=subprocess.PIPE, check=True
    ).stdout.decode()
    assert 'data/file: device or resource busy' in said or 'data/on: another file system is mounted there' in said
    assert len(said.splitlines()) == 1
    assert (tmp_path / 'outside' / 'file').read_text() == 'precious'


def test_a_symbolic_link_is_removed_and_what_it_leads_to_is_not(run, tmp_path):
    (tmp_path / 'outside').mkdir()
    (tmp_path / 'outside' / 'file').touch()
    run.make('data')
    os.symlink(tmp_path / 'outside', run.path_of('data/link'))
    os.symlink(tmp_path / 'outside', run.path_of('warmup'))
    assert remove(run.path, SESSION).left == ()
    assert os.listdir(tmp_path / 'outside') == ['file']


def test_a_name_of_any_bytes_is_removed(run):
    run.make('data')
    for name in (b'line\nbreak', b'\xff\xfe', b'n' * 255, b'-rf', b'*', b' ', b'..x', 'é\u202e'.encode()):
        os.mkdir(os.path.join(os.fsencode(run.path), b'data', name))
        Path(os.fsdecode(os.path.join(os.fsencode(run.path), b'data', name, name))).touch()
    removal = remove(run.path, SESSION)
    assert (removal.removed_files, removal.left) == (8, ())


def test_a_name_of_any_bytes_is_reported_in_plain_characters(run):
    run.make('data')
    os.mkfifo(os.path.join(os.fsencode(run.path), b'data', b'a\n\x1b[2J\xff\xe2\x80\xae'))
    leaves(run, 'data/a\\n\\x1b[2J\\xff\\xe2\\x80\\xae: it is a fifo')


def test_a_long_list_of_what_is_left_is_cut_with_a_count(run):
    run.make('data')
    for number in range(MAX_LEFT + 7):
        os.mkfifo(run.path_of(f'data/{number}'))
    left = remove(run.path, SESSION).left
    assert (len(left), left[-1]) == (MAX_LEFT + 1, 'and 7 more')


def test_a_removal_goes_on_after_what_it_must_leave(run):
    run.make('data')
    os.makedirs(run.path_of('data/a/b/c'))
    os.mkfifo(run.path_of('data/a/b/fifo'))
    leaves(run, 'data/a/b/fifo: it is a fifo')
    assert os.listdir(run.path_of('data/a/b')) == ['fifo']


def test_a_removal_can_be_repeated_when_the_obstacle_is_gone(run, parent):
    run.make('data')
    os.mkfifo(run.path_of('data/fifo'))
    leaves(run, 'data/fifo: it is a fifo')
    os.unlink(run.path_of('data/fifo'))
    assert remove(run.path, SESSION).left == ()
    assert os.listdir(parent) == []


def test_a_removal_that_was_killed_at_any_call_can_be_repeated(parent, monkeypatch):
    class KilledError(BaseException):
        pass

    interrupted = 0
    for calls in range(1, 100):
        run = create(str(parent), SESSION, CASE, ENTRIES, ANY)
        run.close()
        os.makedirs(run.path_of('data/a/b'))
        Path(run.path, 'data', 'a', 'file').touch()
        left = [calls]

        def counting(function, left=left):
            def call(*arguments, **options):
                left[0] -= 1
                if left[0] == 0:
                    raise KilledError
                return function(*arguments, **options)

            return call

        names = ('open', 'stat', 'listdir', 'unlink')
        monkeypatch.setattr(rundir, 'os', Os(**{name: counting(getattr(os, name)) for name in names}))
        try:
            remove(run.path, SESSION)
            done = True
        except KilledError:
            done = False
        monkeypatch.setattr(rundir, 'os', os)
        assert remove(run.path, SESSION).left == ()
        assert os.listdir(parent) == []
        if done:
            break
        interrupted += 1
    assert interrupted > 10


def test_a_directory_that_something_is_made_in_meanwhile_stays_with_its_marker(run, monkeypatch):
    run.make('data')

    def rmdir(path, dir_fd):
        if path == 'data':
            Path(run.path, 'data', 'new').touch()
        os.rmdir(path, dir_fd=dir_fd)

    monkeypatch.setattr(rundir, 'os', Os(rmdir=rmdir))
    leaves(run, 'data: directory not empty')


def test_the_marker_is_put_back_if_the_directory_cannot_be_removed(run, parent, monkeypatch):
    monkeypatch.setattr(rundir, 'os', Os(rmdir=failing(errno.EBUSY)))
    assert remove(run.path, SESSION).left == (f'{run.path}: device or resource busy',)
    assert os.listdir(run.path) == [MARKER]
    monkeypatch.setattr(rundir, 'os', os)
    assert remove(run.path, SESSION).left == ()
    assert os.listdir(parent) == []


def test_an_entry_made_at_the_top_meanwhile_keeps_the_marker(run, monkeypatch):
    run.make('data')

    def rmdir(path, dir_fd):
        os.rmdir(path, dir_fd=dir_fd)
        Path(run.path, 'new').touch()

    monkeypatch.setattr(rundir, 'os', Os(rmdir=rmdir))
    leaves(run, f'{run.path}: something was made in it during the removal')


def test_a_directory_that_is_replaced_by_another_before_it_is_entered_is_left(run, tmp_path, monkeypatch):
    (tmp_path / 'theirs').mkdir()
    (tmp_path / 'theirs' / 'file').touch()
    run.make('data')

    def opened(path, *arguments, **options):
        if path == 'data':
            os.rename(run.path_of('data'), tmp_path / 'ours')
            os.rename(tmp_path / 'theirs', run.path_of('data'))
        return os.open(path, *arguments, **options)

    monkeypatch.setattr(rundir, 'os', Os(open=opened))
    leaves(run, 'data: it was replaced by another directory')
    assert os.listdir(run.path_of('data')) == ['file']


def test_an_empty_directory_that_took_the_place_of_ours_is_not_removed(run, tmp_path, monkeypatch):
    (tmp_path / 'theirs').mkdir()
    run.make('data')
    theirs = os.stat(tmp_path / 'theirs').st_ino

    def listed(path):
        names = os.listdir(path)
        if names == []:
            os.rename(run.path_of('data'), tmp_path / 'ours')
            os.rename(tmp_path / 'theirs', run.path_of('data'))
        return names

    monkeypatch.setattr(rundir, 'os', Os(listdir=listed))
    leaves(run, 'data: it was replaced while it was being removed')
    assert os.stat(run.path_of('data')).st_ino == theirs


@pytest.mark.parametrize('moved', ['data', 'data/a', 'data/a/b'])
def test_a_directory_that_is_moved_out_of_the_tree_keeps_what_is_in_it(run, tmp_path, monkeypatch, moved):
    run.make('data')
    os.makedirs(run.path_of('data/a/b'))
    for number in range(50):
        Path(run.path, 'data', 'a', 'b', str(number)).touch()
    removed = []

    def unlink(path, dir_fd):
        removed.append(path)
        os.unlink(path, dir_fd=dir_fd)
        if len(removed) == 5:
            os.rename(run.path_of(moved), tmp_path / 'rescued')

    monkeypatch.setattr(rundir, 'os', Os(unlink=unlink))
    (left,) = remove(run.path, SESSION).left
    assert left.startswith(f'{moved}: it was moved')
    run.verify()
    assert sum(len(files) for _, _, files in os.walk(tmp_path / 'rescued')) == 45


def test_a_directory_that_another_process_removes_meanwhile_is_not_reported(run, parent, monkeypatch):
    run.make('data')
    run.make('data/sub')
    Path(run.path, 'data', 'sub', 'file').touch()
    once = []

    def unlink(path, dir_fd):
        if not once:
            once.append(None)
            once.append(remove(run.path, SESSION))
        os.unlink(path, dir_fd=dir_fd)

    monkeypatch.setattr(rundir, 'os', Os(unlink=unlink))
    assert remove(run.path, SESSION).left == ()
    assert once[1].left == ()
    assert os.listdir(parent) == []


def chain(top, depth, sisters=False):
    """A directory tree of one branch, too deep for any path; at each of its levels two empty directories, or none."""
    descriptor = os.open(top, os.O_RDONLY)
    for level in range(depth):
        for name in (f'a{level}', 'd', f'z{level}') if sisters else ('d',):
            os.mkdir(name, dir_fd=descriptor)
        below = os.open('d', os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(os.open('file', os.O_CREAT | os.O_WRONLY, dir_fd=descriptor))
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
    """How deep the tree in 'data' is. If the test fails it goes all the same: pytest's own removal recurses."""
    depth = sys.getrecursionlimit() + 100
    chain(run.make('data'), depth)
    yield depth
    subprocess.run(['rm', '-rf', '--', run.path_of('data')], check=True)


def test_a_tree_deeper_than_descriptors_and_recursion_allow_is_counted_and_removed(run, too_deep, few_descriptors):
    assert list(run.file_list('data').values()) == [0]
    assert run.file_count('data', True)[:3] == FileCount(too_deep, 1, {0: 1})[:3]
    assert found_at(run.path).files == 1
    removal = remove(run.path, SESSION)
    assert (removal.removed_files, removal.removed_directories, removal.left) == (1, too_deep + 2, ())


def test_what_is_left_deep_in_a_tree_is_told_in_few_words(run):
    chain(run.make('data'), 500)
    descriptor = os.open(run.path_of('data'), os.O_RDONLY)
    for _ in range(500):
        below = os.open('d', os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.mkfifo('fifo', dir_fd=descriptor)
    os.close(descriptor)
    (left,) = remove(run.path, SESSION).left
    assert left.endswith('/fifo: it is a fifo')
    assert len(left) < 250


def test_a_directory_that_is_replaced_while_the_walk_is_far_below_is_left(run, tmp_path, monkeypatch):
    chain(run.make('data'), 200)
    (tmp_path / 'theirs' / 'd').mkdir(parents=True)

    def unlink(path, dir_fd):
        os.unlink(path, dir_fd=dir_fd)
        os.rename(run.path_of('data/d/d'), tmp_path / 'ours')
        os.rename(tmp_path / 'theirs', run.path_of('data/d/d'))

    monkeypatch.setattr(rundir, 'os', Os(unlink=unlink))
    leaves(run, 'data/d/d: it was replaced by another directory')
    assert os.listdir(run.path_of('data/d/d')) == ['d']


def test_a_wide_directory_is_removed(run):
    run.make('data')
    for number in range(3000):
        os.mknod(run.path_of(f'data/{number}'))
    assert remove(run.path, SESSION).removed_files == 3000


def test_a_removal_gives_its_descriptors_back(run):
    run.make('data')
    os.makedirs(run.path_of('data/a/b'))
    os.mkfifo(run.path_of('data/a/fifo'))
    before = len(os.listdir('/proc/self/fd'))
    remove(run.path, SESSION)
    with pytest.raises(RunDirectoryError, match='a/fifo: it is a fifo'):
        run.empty('data')
    run.file_list('data')
    found_at(run.path)
    assert len(os.listdir('/proc/self/fd')) == before


def test_a_directory_that_cannot_be_listed_is_left_and_costs_no_descriptor(run, monkeypatch):
    run.make('data')
    before = len(os.listdir('/proc/self/fd'))
    data = os.stat(run.path_of('data')).st_ino

    def listed(path):
        if os.fstat(path).st_ino == data:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return os.listdir(path)

    monkeypatch.setattr(rundir, 'os', Os(listdir=listed))
    leaves(run, 'data: input/output error')
    assert len(os.listdir('/proc/self/fd')) == before


# What lies there


def test_a_run_directory_is_found_with_its_files_and_their_sizes(run):
    run.make('data')
    Path(run.path, 'data', 'a').write_bytes(b'x' * 1000)
    Path(run.path, 'data', 'b').write_bytes(b'x' * 500)
    found = found_at(run.path)
    assert (found.marker, found.files, found.size_bytes) == (run.marker, 2, 1500)


def test_a_directory_without_a_marker_is_not_found(parent):
    (parent / 'seatrial-x').mkdir()
    with pytest.raises(RunDirectoryError, match='has no'):
        found_at(str(parent / 'seatrial-x'))


def test_the_marker_keeps_every_value_of_its_maker(run):
    here = this_owner(SESSION)
    assert found_at(run.path).marker.maker == here._replace(time=run.marker.maker.time)
