"""Which server each target hangs on, as this node's imports tell (a genuine one, and others made from it)."""

import pytest

from lustre_stand import imports, standing
from seatrial.filesystem.lustre import driver as lustre
from seatrial.filesystem.registry import TYPES, by_type

DRIVER = lustre.Lustre()


@pytest.fixture
def stand(tmp_path, monkeypatch):
    with standing(tmp_path, monkeypatch) as made:
        yield made


def test_each_target_has_the_server_that_it_is_connected_to(stand):
    stand.now(params=imports({'OST0000': '10.0.0.1@o2ib', 'OST000a': '10.0.0.2@o2ib', 'MDT0000': '10.0.0.3@o2ib'}))
    assert DRIVER.targets(str(stand.mount)).servers == {
        'ost0000': '10.0.0.1@o2ib',
        'ost0010': '10.0.0.2@o2ib',
        'mdt0000': '10.0.0.3@o2ib',
    }


def test_the_genuine_transcript_is_understood(stand):
    assert DRIVER.targets(str(stand.mount)).servers == {'ost0000': '0@lo', 'mdt0000': '0@lo'}


def test_a_target_that_is_not_connected_has_no_server(stand):
    stand.now(params=imports({'OST0000': '<none>', 'OST0001': '10.0.0.1@o2ib', 'MDT0000': ''}))
    assert DRIVER.targets(str(stand.mount)).servers == {'ost0001': '10.0.0.1@o2ib'}


@pytest.mark.parametrize('told', [{'unreadable': ['*.import']}, {'unresponsive': True}], ids=str)
def test_where_they_cannot_be_read_nothing_is_known_and_nothing_hangs(stand, monkeypatch, told):
    monkeypatch.setattr(lustre._params, '__defaults__', (0.3,))
    stand.now(**told)
    assert DRIVER.targets(str(stand.mount)).servers == {}


@pytest.mark.parametrize('type', [each for each in TYPES if each != 'lustre'])
def test_other_types_know_no_servers(type, tmp_path):
    assert by_type(type).targets(str(tmp_path)).servers == {}
