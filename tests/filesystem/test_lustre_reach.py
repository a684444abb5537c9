"""On which OSTs the files of a layout may lie."""

import pytest

from lustre_stand import standing
from seatrial.filesystem import lustre
from seatrial.filesystem.base import FileSystem
from seatrial.filesystem.lustre_layout import Inventory
from seatrial.filesystem.lustre_text import NotUnderstood
from seatrial.model.layout import ALL, Component, Layout

MIB = 1 << 20
DRIVER = lustre.Lustre('lustre')
TIERED = Layout(
    't', components=(Component(MIB, pool='flash'), Component(4 * MIB, pool='flash'), Component(pool='disk'))
)
DOM = Layout('dom', components=(Component(MIB, True), Component(stripe_count=2)))


@pytest.fixture
def there(monkeypatch):
    seen = Inventory((0, 1, 2, 3), (0,), {'flash': (0, 1), 'disk': (2, 3)})
    monkeypatch.setattr(lustre, '_inventory', lambda path, layout: seen)


@pytest.mark.parametrize(
    ('layout', 'size', 'reached'),
    [
        (Layout('f', pool='flash'), MIB, (0, 1)),
        (Layout('o', osts=(3, 1)), MIB, (3, 1)),
        (Layout('all', ALL), MIB, None),
        (Layout('none', pool='gone'), MIB, ()),
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
        assert DRIVER.set_layout(directory, Layout('o', osts=(2,))) is None
        assert DRIVER.reach(directory, Layout(), MIB) in (None, (2,))  # lfs does not tell the numbers of a directory


def test_what_cannot_be_asked_is_nowhere(monkeypatch):
    def refuse(path, layout):
        raise NotUnderstood('not a pool', 'x')

    monkeypatch.setattr(lustre, '_inventory', refuse)
    assert DRIVER.reach('/lustre', Layout('f', pool='flash'), MIB) == ()


def test_other_types_have_no_such_places():
    assert FileSystem('nfs').reach('/home', Layout(), MIB) is None
