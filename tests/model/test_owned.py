"""Files written whole, whose a path is, and through which of its directories and links others may change it."""

import os
from types import SimpleNamespace

import pytest

from seatrial.model.atomic_file import write_whole
from seatrial.model.owned import open_to, shared, user_name


def test_a_user_that_the_node_does_not_know_is_named_by_number():
    assert user_name(4294967294 - 7) == 'uid 4294967287'


@pytest.fixture
def base(tmp_path):
    (tmp_path / 'above' / 'between' / 'base').mkdir(parents=True)
    return tmp_path / 'above' / 'between' / 'base'


@pytest.mark.parametrize('mode', [0o770, 0o702, 0o777, 0o1777])
def test_what_a_path_leads_to_is_its_users_alone_whatever_its_sticky_bit(base, mode):
    base.chmod(mode)
    (fault,) = shared(str(base))
    why = f'others may write to {base} (mode {mode:04o})'
    assert fault == (str(base), why, ('chmod', 'go-w', str(base)))


@pytest.mark.parametrize(
    ('name', 'members', 'mode', 'is_open'),
    [
        ('kern', [], 0o775, False),
        ('kern', ['kern'], 0o775, False),
        ('kern', ['kern', 'aalto'], 0o775, True),
        ('staff', [], 0o775, True),
        ('kern', [], 0o777, True),
    ],
)
def test_a_group_in_which_a_user_is_alone_is_no_other(base, monkeypatch, name, members, mode, is_open):
    uid, gid = base.stat().st_uid, base.stat().st_gid
    monkeypatch.setattr('os.geteuid', lambda: uid)
    monkeypatch.setattr('pwd.getpwuid', lambda _: SimpleNamespace(pw_uid=1234, pw_gid=gid, pw_name='kern'))
    monkeypatch.setattr('grp.getgrgid', lambda _: SimpleNamespace(gr_gid=gid, gr_name=name, gr_mem=members))
    base.chmod(mode)
    assert bool(shared(str(base))) == is_open


def test_what_is_not_there_is_nobodys(base):
    assert shared(str(base / 'none' / 'below')) == []


of_root = pytest.mark.skipif(os.geteuid() != 0, reason='only root can give a directory or a link away')


@of_root
def test_a_user_who_is_trusted_may_own_what_lies_there_and_not_let_others_write_to_it(base):
    os.chown(base, 1234, 1234)
    assert shared(str(base)) and not shared(str(base), trusted=1234)
    base.chmod(0o777)
    assert shared(str(base), trusted=1234)


@pytest.mark.parametrize(('mode', 'is_open'), [(0o755, False), (0o775, True), (0o777, True), (0o1777, False)])
def test_what_others_may_rename_in_a_directory_above_is_open_to_them(base, mode, is_open):
    above = base.parents[1]
    above.chmod(mode)
    words = f'others may write to {above} (mode {mode:04o}), and it has no sticky bit'
    assert open_to(str(base)) == (words if is_open else None)


def test_a_link_leads_through_the_directory_that_it_lies_in(base, tmp_path):
    (tmp_path / 'open').mkdir()
    (tmp_path / 'open' / 'link').symlink_to('../above/between/../between')
    assert open_to(str(tmp_path / 'open' / 'link' / 'base')) is None
    (tmp_path / 'open').chmod(0o777)
    assert str(tmp_path / 'open') in open_to(str(tmp_path / 'open' / 'link' / 'base'))
    assert open_to(str(base)) is None


@of_root
def test_a_link_of_another_user_may_lead_elsewhere_next_time(base, tmp_path):
    link = tmp_path / 'link'
    link.symlink_to(base)
    for place in (link, base):  # a directory of another user may become another one too
        assert open_to(str(place)) is None
        os.lchown(place, 1234, 1234)
        assert open_to(str(place)) == f'{place} belongs to uid 1234, who may replace what lies in it'
        os.lchown(place, 0, 0)


def test_a_link_that_leads_to_itself_is_an_error(tmp_path):
    (tmp_path / 'link').symlink_to('link')
    with pytest.raises(OSError, match='symbolic links'):
        open_to(str(tmp_path / 'link'))


def test_a_file_is_written_whole_and_where_there_is_no_room_it_is_named_and_stays_as_it_was(tmp_path):
    file = tmp_path / 'a.json'
    write_whole(file, 'ä\n')
    (tmp_path / f'.a.json.{os.getpid()}.tmp').symlink_to('/dev/full')
    with pytest.raises(OSError, match='No space left on device') as caught:
        write_whole(file, 'new')
    assert caught.value.filename == str(file)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [('a.json', 'ä\n'.encode())]
