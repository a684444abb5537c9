"""On which OSTs the files of a layout may lie."""

import pytest

from lustre_stand import standing
from seatrial.filesystem.base import Driver
from seatrial.filesystem.lustre import driver as lustre
from seatrial.filesystem.lustre.layout import ALL, progressive, striped
from seatrial.filesystem.lustre.striping import Inventory
from seatrial.filesystem.lustre.text import NotUnderstood
from seatrial.model.layout import Layout

MIB = 1 << 20
DRIVER = lustre.Lustre()
TIERED = progressive('t', {'end': MIB, 'pool': 'flash'}, {'end': 4 * MIB, 'pool': 'flash'}, {'pool': 'disk'})
DOM = progressive('dom', {'end': MIB, 'on_mdt': True}, {'stripe_count': 2})


@pytest.fixture
def there(monkeypatch):
    seen = Inventory((0, 1, 2, 3), (0,), {'flash': (0, 1), 'disk': (2, 3)})
    monkeypatch.setattr(lustre, '_inventory', lambda path, layout: seen)


@pytest.mark.parametrize(
    ('layout', 'size', 'reached'),
    [
        (striped('f', pool='flash'), MIB, (0, 1)),
        (striped('o', osts=(3, 1)), MIB, (3, 1)),
        (striped('all', ALL), MIB, None),
        (striped('none', pool='gone'), MIB, ()),
        (TIERED, MIB, (0, 1)),
        (TIERED, 4 * MIB, (0, 1)),
        (TIERED, 4 * MIB + 1, (2, 3)),
        (DOM, MIB, ()),
        (DOM, 2 * MIB, None),
    ],
)
def test_it_is_what_the_piece_in_which_a_file_ends_asks_for(there, layout, size, reached):
    assert DRIVER.reach('/lustre', layout, size) == reached


def test_without_a_layout_it_is_that_of_the_directory(tmp_path, monkeypatch):
    with standing(tmp_path, monkeypatch) as stand:
        directory = stand.directory()
        assert DRIVER.reach(directory, Layout(), MIB) is None
        assert DRIVER.set_layout(directory, striped('o', osts=(2,))) is None
        assert DRIVER.reach(directory, Layout(), MIB) in (None, (2,))  # lfs does not tell the numbers of a directory


def test_what_cannot_be_asked_is_nowhere(monkeypatch):
    def refuse(path, layout):
        raise NotUnderstood('not a pool', 'x')

    monkeypatch.setattr(lustre, '_inventory', refuse)
    assert DRIVER.reach('/lustre', striped('f', pool='flash'), MIB) == ()


def test_other_types_have_no_such_places():
    assert Driver().reach('/home', Layout(), MIB) is None
