"""The Lustre driver against a stand-in for lfs and lctl that refuses what a real one refuses (tests/stubs/lfs.py)."""

import json
import os
import re
import stat
import subprocess
import time
from pathlib import Path
from unittest.mock import Mock

import lfs
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from lustre_stand import INSTANCE, OPTIONS, imports, standing
from seatrial.filesystem.base import Capacity, Lost, NoAnswer
from seatrial.filesystem.lustre import driver as lustre
from seatrial.filesystem.lustre import striping
from seatrial.filesystem.lustre.layout import ALL, LayoutComponent, LustreLayout, progressive, striped
from seatrial.filesystem.lustre.params import States, incidents, parse_params, parse_states, turned_over
from seatrial.filesystem.lustre.targets import Space, room
from seatrial.filesystem.posix import Mounted
from seatrial.model.ask import Answer
from seatrial.model.layout import Layout
from seatrial.model.record import FLASH
from seatrial.model.state import changes
from seatrial.model.telemetry import BEFORE
from transcript import lustre_step

MIB = 1 << 20
THERE = striping.Inventory((0, 1, 2, 3), (0, 1), {'flash': (0, 1)})
DRIVER = lustre.Lustre()
DOM = progressive('dom', {'end': MIB, 'on_mdt': True}, {'stripe_count': 2})
PROGRESSIVE = progressive(
    'grows',
    {'end': 4 * MIB, 'stripe_count': 1, 'stripe_size': MIB},
    {'end': 64 * MIB, 'stripe_count': 2},
    {'stripe_count': ALL, 'stripe_size': 4 * MIB},
)


@pytest.fixture
def stand(tmp_path, monkeypatch):
    """A node with a Lustre, whose user is root."""
    with standing(tmp_path, monkeypatch) as made:
        yield made


def run(argv: list[str]) -> 'subprocess.CompletedProcess[str]':
    return subprocess.run(argv, capture_output=True, text=True, timeout=30)


sizes = st.none() | st.sampled_from([65536, MIB, 4 * MIB])
counts = st.none() | st.just(ALL) | st.integers(1, 4)
ends = st.lists(st.sampled_from([4 * MIB, 8 * MIB, 64 * MIB]), unique=True, max_size=2).map(sorted)
few = counts.map(lambda number: number and min(number, 2))
starts = st.none() | st.integers(0, 3)
two_osts = st.permutations(range(4)).map(lambda osts: tuple(osts[:2]))
plain = st.one_of(
    st.tuples(st.none(), st.just(False), counts, sizes, st.none(), starts).map(lambda t: LayoutComponent(*t)),
    st.tuples(st.none(), st.just(False), few, sizes, st.just('flash')).map(lambda t: LayoutComponent(*t)),
    st.tuples(two_osts, sizes).map(lambda t: LayoutComponent(stripe_size=t[1], osts=t[0])),
    st.integers(1, 12).map(lambda count: LayoutComponent(overstripe_count=count)),
)


@st.composite
def possible_layouts(draw):
    """Layouts that four OSTs with the pool flash can give."""
    mirrors, is_plain = draw(st.integers(1, 3)), draw(st.booleans())
    if is_plain:
        return LustreLayout(*draw(plain)[2:8], mirrors=mirrors)
    rest = [draw(plain)._replace(end=end) for end in [*draw(ends), None]]
    dom = [LayoutComponent(MIB, True)] if draw(st.booleans()) else []
    return LustreLayout(components=tuple(dom + rest), mirrors=mirrors)


def file_under(stand, layout):
    """A file that an engine writes in a directory which has been given the layout."""
    directory = stand.directory()
    assert DRIVER.set_layout(directory, layout) is None
    return stand.written(directory)


class TestLayouts:
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(layout=possible_layouts(), size=st.sampled_from([0, 1, 5 * MIB, 65 * MIB]))
    def test_any_possible_layout_comes_back_from_the_genuine_form(self, stand, layout, size):
        assume(striping.impossible(layout, THERE) is None)
        state = json.loads(stand.file.read_text())
        options, _ = lfs.parse('setstripe', striping.setstripe_argv(layout, 'F')[2:], state)
        shown = lfs.shown(lfs.allocate(lfs.wish_of(options, state), size, state))
        assert striping.difference(layout, striping.parse_getstripe(shown), THERE) is None

    @pytest.mark.parametrize(
        'layout',
        [
            striped('paper', 4, 65536),
            striped('ageing', ALL, MIB),
            striped('hint', 1, start_ost=2),
            striped('pinned', osts=(3, 1)),
            striped('flash', ALL, pool='flash'),
            striped('over', overstripe_count=6),
            striped('twice', 1, mirrors=2),
            PROGRESSIVE,
            DOM,
            striped('spread', 2, mdt_count=2),
            striped('second', mdt_index=1),
            striped('everywhere', mdt_count=ALL, mdt_index=1),
        ],
        ids=lambda layout: layout.name,
    )
    def test_a_layout_that_is_set_is_on_the_file_that_an_engine_writes(self, stand, layout):
        assert DRIVER.layout_fault(layout, str(stand.mount)) is None
        assert DRIVER.granted(file_under(stand, layout), layout).differs is None

    def test_all_targets_without_the_one_that_is_retired_on_the_mds_are_told(self, stand):
        wide, file = striped('wide', ALL), str(stand.mount / 'file')
        assert DRIVER.granted(file_under(stand, wide), wide).targets == ''
        stand.now(retired=[3])
        assert DRIVER.make_files([file], wide, str(stand.mount)) is None
        assert DRIVER.granted(file, wide).differs is None
        assert DRIVER.granted(file, wide).targets == f'all = 3 of 4 OSTs ({striping.RETIRED})'

    def test_a_target_that_is_retired_on_the_mds_is_found_by_a_file_and_not_by_a_directory(self, stand):
        stand.now(retired=[3])
        directory, pinned = stand.directory(), striped('on3', osts=(3,))
        assert DRIVER.set_layout(directory, pinned) is None
        assert 'Invalid argument' in (DRIVER.make_files([f'{directory}/x'], pinned, directory) or '')

    @pytest.mark.parametrize('version', ['2.12.9', '2.15.6', '2.16.1', '2.17.0'])
    def test_data_on_the_mdt_are_proved_in_the_words_of_every_version(self, stand, version):
        stand.now(version=version)
        file = file_under(stand, DOM)
        word = 'lmm_mdt_index' if version == '2.17.0' else 'lmm_stripe_offset: 0'
        assert word in run(['lfs', 'getstripe', '-y', file]).stdout
        assert DRIVER.granted(file, DOM).differs is None

    def test_a_directory_on_an_mdt_is_proved_without_the_layout_of_the_file(self, stand):
        second = striped('second', mdt_index=1)
        assert DRIVER.granted(file_under(stand, second), second).differs is None
        assert not any(argv[1] == 'getstripe' for argv in stand.asked())

    def test_a_busy_metadata_server_is_asked_again(self, stand, monkeypatch):
        two = striped('two', 2)
        file = file_under(stand, two)
        looks, answer = [], lustre._answer

        def busy(argv, deadline_s):
            looks.append(deadline_s)
            return answer(argv, deadline_s) if len(looks) > 1 else Answer('', None)

        monkeypatch.setattr(lustre, '_answer', busy)
        assert DRIVER.granted(file, two).differs is None
        assert looks[:2] == [lustre.ANSWER_S, lustre.SETTING_S]

    @pytest.mark.parametrize(
        'layout',
        [striped('spread', mdt_count=2), striped('second', mdt_index=1), striped('both', mdt_count=2, mdt_index=1)],
        ids=lambda layout: layout.name,
    )
    @pytest.mark.parametrize('spread', [False, True], ids=['plain', 'root spreads'])
    @pytest.mark.parametrize('below', ['test-dir.0-0', 'a/b/c/d/e'])
    def test_directories_that_an_engine_makes_lie_on_the_metadata_targets_too(self, stand, layout, spread, below):
        stand.now(spread=spread)
        directory = stand.directory()
        assert DRIVER.set_layout(directory, layout) is None
        os.makedirs(os.path.join(directory, below))
        assert DRIVER.granted(stand.written(os.path.join(directory, below)), layout).differs is None

    def test_a_version_that_knows_no_levels_is_not_asked_for_them(self, stand):
        stand.now(lacks=['--max-inherit'])
        directory = stand.directory()
        assert DRIVER.set_layout(directory, striped('spread', mdt_count=2)) is None
        assert ['lfs', 'setdirstripe', '-D', '-c', '2', directory] in stand.asked()

    @pytest.mark.parametrize(
        ('state', 'asked', 'words'),
        [
            ({}, striped('five', 5), 'c5 was requested, but the file has c4.S4M'),
            ({'full': [3]}, striped('hint', 1, start_ost=3), 'instead of 3'),
            ({'dom_limit': 65536}, DOM, 'component 1: it ends at 64k instead of 1M'),
        ],
        ids=['too many', 'full', 'less on the MDT'],
    )
    def test_what_lfs_accepts_and_the_file_does_not_have_is_found(self, stand, state, asked, words):
        stand.now(**state)
        assert words in (DRIVER.granted(file_under(stand, asked), asked).differs or '')

    @pytest.mark.parametrize(
        ('layout', 'words'),
        [
            (striped('x', mdt_count=5), '2 MDTs instead of 5'),
            (striped('x', pool='nopool'), 'does not exist'),
            (striped('x', mdt_index=7), 'No such device'),
        ],
    )
    def test_what_lfs_refuses_is_said_in_its_words(self, stand, layout, words):
        assert words in (DRIVER.set_layout(stand.directory(), layout) or '')

    def test_the_default_needs_no_call(self, stand):
        directory = stand.directory()
        assert DRIVER.layout_fault(Layout(), directory) is None
        assert DRIVER.set_layout(directory, Layout()) is None
        assert DRIVER.granted(stand.written(directory), Layout()).differs is None
        assert stand.asked() == []

    @pytest.mark.parametrize('state', [{'df': '311'}, {'inactive': [3]}, {'df': '320'}], ids=str)
    @pytest.mark.parametrize('layout', [striped('wide', ALL), striped('pinned', osts=(3,))])
    def test_a_layout_that_needs_a_target_without_new_objects_is_refused(self, stand, state, layout):
        stand.now(**state)
        fault = DRIVER.layout_fault(layout, str(stand.mount))
        assert fault is not None and 'OST 3 takes no new objects' in fault
        assert DRIVER.layout_fault(striped('narrow', 2), str(stand.mount)) is None

    def test_an_option_that_this_version_lacks_is_said(self, stand):
        stand.now(lacks=['--overstripe-count'])
        fault = DRIVER.layout_fault(striped('over', overstripe_count=8), str(stand.mount))
        assert fault is not None and 'this version of lfs setstripe has no --overstripe-count' in fault

    def test_it_is_not_set_on_what_is_no_directory(self, stand):
        file = stand.written(str(stand.mount))
        assert 'is not a directory' in (DRIVER.set_layout(file, striped('x', 2)) or '')
        missing = str(stand.mount / 'missing')
        assert 'No such file' in (DRIVER.set_layout(missing, striped('x', 2)) or '')
        assert not os.path.lexists(missing) and stand.asked() == []

    def test_metadata_targets_are_not_taken_for_a_directory_with_files_in_it(self, stand):
        directory = stand.directory()
        file = stand.written(directory)
        assert 'not empty' in (DRIVER.set_layout(directory, striped('x', mdt_index=1)) or '')
        assert os.path.exists(file)

    def test_a_directory_keeps_its_mode_with_metadata_targets_and_where_the_user_may_not_have_them(self, stand):
        stand.now(root=False)
        directory = stand.directory()
        os.chmod(directory, 0o700)
        fault = DRIVER.set_layout(directory, striped('x', mdt_index=1))
        assert fault is not None and 'Operation not permitted' in fault and 'enable_remote_dir_gid' in fault
        assert stat.S_IMODE(os.stat(directory).st_mode) == 0o700
        stand.now(root=True)
        assert DRIVER.set_layout(directory, striped('x', mdt_index=1)) is None
        assert stat.S_IMODE(os.stat(directory).st_mode) == 0o700

    def test_where_setstripe_is_restricted_the_directory_that_it_removed_is_made_again(self, stand):
        stand.now(restricted=True)
        directory = stand.directory()
        assert 'No such file' in (DRIVER.set_layout(directory, striped('x', 2)) or '')
        assert os.path.isdir(directory)

    def test_a_file_without_a_readable_layout_is_not_proved(self, stand):
        differs = DRIVER.granted(str(stand.mount / 'missing'), striped('x', 2)).differs
        assert differs is not None and 'has the layout c2 is not known' in differs


class TestWhereAnErrorComesFrom:
    @pytest.mark.parametrize(('offset', 'target'), [(65536, 'OST 0'), (131072 + 7, 'OST 2'), (None, 'OST 0, 2')])
    def test_it_is_the_target_of_the_offset_or_all_of_the_file(self, stand, offset, target):
        file = file_under(stand, striped('two', osts=(2, 0), stripe_size='64KiB'))
        assert DRIVER.behind(str(stand.mount), file, offset) == target

    def test_a_piece_of_a_composite_file_has_its_own_targets_on_every_mirror(self):
        first = striping.FoundPiece(0, MIB, ('raid0',), 1, MIB, (1,))
        second = striping.FoundPiece(MIB, None, ('raid0',), 2, MIB, (2, 3))
        got = striping.Striping((first, second, second._replace(start=0, osts=(0, 1), mirror=1)), mirrors=2)
        assert [striping.osts_at(got, offset) for offset in (0, MIB, 2 * MIB)] == [(0, 1), (1, 3), (0, 2)]

    def test_a_target_that_the_client_is_not_connected_to_is_named(self, stand):
        state = '\ncurrent_state: DISCONN\nstate_history:\n - [ 5, DISCONN ]\n'
        stand.now(params={f'osc.lustre-OST0001-osc-{INSTANCE}.state': state})
        assert DRIVER.behind(str(stand.mount), '', None) == 'OST0001, whose import is DISCONN'

    def test_a_target_that_has_not_answered_a_request_is_waited_for(self, stand):
        ((name, value),) = imports({'OST0001': '10.0.0.1@tcp'}).items()
        stand.now(params={name: value.replace('inflight: 0', 'inflight: 9')})
        assert DRIVER.meter(str(stand.mount)).waited_for(30.0) == {'lustre-OST0001'}

    @pytest.mark.parametrize(('unwritten', 'targets'), [(MIB - 1, set()), (MIB, {'lustre-OST0001'})])
    def test_where_imports_are_for_root_alone_data_that_would_fill_a_request_show_it(self, stand, unwritten, targets):
        dirty = {f'osc.lustre-OST0001-osc-{INSTANCE}.cur_dirty_bytes': f'{unwritten}\n'}
        stand.now(root=False, closed=True, unreadable=['*.import'], params=dirty)
        assert DRIVER.meter(str(stand.mount)).waited_for(30.0) == targets


class TestFilesThatAreMadeEmpty:
    def test_what_a_refused_lfs_leaves_is_removed_and_what_was_there_stays(self, stand):
        file = str(stand.mount / 'on9')
        assert run(striping.setstripe_argv(LustreLayout(osts=(9,)), file)).returncode == 22 and os.path.exists(file)
        os.unlink(file)
        assert 'Invalid argument' in (DRIVER.make_files([file], striped('x', osts=(9,)), str(stand.mount)) or '')
        assert not os.path.lexists(file)
        file, asked = stand.written(str(stand.mount), 0), stand.asked()
        assert 'is there already' in (DRIVER.make_files([file], striped('x', osts=(9,)), str(stand.mount)) or '')
        assert os.path.exists(file) and stand.asked() == asked

    def test_what_is_not_empty_or_no_file_is_never_removed(self, stand):
        file, directory = stand.written(str(stand.mount)), stand.directory()
        for path in (file, directory):
            lustre._remove_left_over(path)
            assert os.path.exists(path)

    def test_nothing_is_made_outside_the_run_directory(self, stand, tmp_path):
        inside = stand.directory('run')
        (tmp_path / 'mnt' / 'run' / 'link').symlink_to(stand.mount)
        for place in (stand.mount / 'x', Path(inside) / 'link' / 'x', Path(inside) / '..' / 'x'):
            assert 'does not lie in' in (DRIVER.make_files([str(place)], striped('x', osts=(1,)), inside) or '')
        assert stand.asked() == []


class TestRoom:
    TIB = 1 << 40
    ONE_IS_FULL = TIB // 1024, *[100 * TIB] * 499

    def spaces(self, *free):
        return [Space(f'x-OST{ost:04x}_UUID', 'OST', ost, 200 * self.TIB, left) for ost, left in enumerate(free)]

    @pytest.mark.parametrize(
        ('layout', 'files', 'free', 'left'),
        [
            (LustreLayout(1), 8, ONE_IS_FULL, 8 * 100 * TIB),  # which hardly touches the full one
            (LustreLayout(249), 8, ONE_IS_FULL, 499 * 100 * TIB),
            (LustreLayout(1), 1, (84, *[100] * 499), 84),  # nearly alike: used in turn
            (LustreLayout(ALL), 8, ONE_IS_FULL, 500 * TIB // 1024),
            (LustreLayout(250), 8, ONE_IS_FULL, 500 * TIB // 1024),
            (LustreLayout(osts=(0, 1)), 8, ONE_IS_FULL, 2 * TIB // 1024),
            (LustreLayout(2, start_ost=0), 8, ONE_IS_FULL, 2 * TIB // 1024),
            (LustreLayout(1), 600000, ONE_IS_FULL, 500 * TIB // 1024),
            (LustreLayout(ALL), 1, (51, 50, 52), 3 * 50),
            (LustreLayout(1), 1, (51, 50, 52), 50),
            (LustreLayout(1), 99, (51, 50, 52), 3 * 50),
            (LustreLayout(osts=(0, 2)), 1, (51, 50, 52), 2 * 51),
            (LustreLayout(1, mirrors=2), 99, (51, 50, 52), 3 * 50 // 2),
            (LustreLayout(1), 1, (), None),
        ],
    )
    def test_the_fullest_target_that_a_layout_cannot_go_round_ends_the_writing(self, layout, files, free, left):
        there = striping.Inventory(tuple(range(len(free))), (), {})
        assert room(layout, files, self.spaces(*free), there) == left

    @pytest.mark.parametrize(('flags', 'takes'), [('D', 1), ('N', 0)])
    def test_a_target_that_takes_no_objects_is_not_counted(self, flags, takes):
        spaces, there = self.spaces(8, 8, 8, 9), striping.Inventory((0, 1, 2, 3), (0,), {})
        spaces[3] = spaces[3]._replace(flags=flags)
        assert room(LustreLayout(ALL), 1, spaces, there) == (3 + takes) * 8
        assert room(LustreLayout(osts=(3,)), 1, spaces, there) == takes * 9

    def test_the_driver_takes_the_smaller_of_the_whole_and_the_room_of_the_layout(self, stand, monkeypatch):
        monkeypatch.setattr(Mounted, 'capacity', lambda self, path: Capacity(1 << 50, 5))
        narrowest = 'OST 0 has 5.28 GiB free'
        assert DRIVER.capacity(str(stand.mount), striped('x', osts=(0,)), 1) == (5537792 * 1024, 5, narrowest, '')
        assert DRIVER.capacity(str(stand.mount), files=2).bytes == 2 * 5537792 * 1024
        assert DRIVER.capacity(str(stand.mount), striped('x', pool='nopool'), files=1) == Capacity(0, 5)

    @pytest.mark.parametrize('files', [None, 0])
    def test_of_no_or_an_unknown_number_of_files_the_room_is_the_whole_and_nothing_is_asked(self, stand, files):
        """A quota that is filled has no files planned: it was refused as if 0 B were free (seen on 2.17)."""
        assert DRIVER.capacity(str(stand.mount), files=files).bytes and stand.asked() == []

    def test_the_quota_is_that_of_user_and_group(self, stand):
        assert DRIVER.quota(str(stand.mount)) == Capacity(None, None)
        stand.now(root=False)
        assert DRIVER.quota(str(stand.mount)) == Capacity(0, 1)
        stand.now(quota='118')
        assert DRIVER.quota(str(stand.mount)) == Capacity(None, None)
        stand.now(project=[100, 1024])  # which a directory hands down
        assert DRIVER.quota(str(stand.mount)) == Capacity(1020 * 1024, None)

    def test_a_directory_that_hands_down_its_group_has_the_quota_of_that_group(self, stand, monkeypatch):
        def ended(argv, *rest):
            if argv[1] != 'quota':
                return known(argv, *rest)
            asked.append(argv[2:-1])
            return Answer(stdout='', stderr='', exit_status=0)

        asked, known = [], lustre._ended
        monkeypatch.setattr(lustre, '_ended', ended)
        monkeypatch.setattr(lustre.os, 'getegid', lambda: 4242)
        stand.now(root=False)
        stand.mount.chmod(0o2755)
        assert DRIVER.quota(str(stand.mount)).unseen.startswith('the quota (no quota is shown')
        assert asked == [[], ['-g', str(stand.mount.stat().st_gid)]]

    def test_a_version_without_projects_has_the_other_quotas(self, stand, monkeypatch):
        stand.now(root=False)
        refused = Mock(side_effect=lustre.NotUnderstood('unknown command'))
        monkeypatch.setattr(lustre.targets, 'parse_project', refused)
        assert DRIVER.quota(str(stand.mount)) == Capacity(0, 1)


class TestState:
    def test_it_names_versions_targets_and_parameters(self, stand):
        state = DRIVER.state(str(stand.mount))
        assert state['client version'] == 'lustre 2.17.0' and state['server versions'] == '2.17.0.0'
        assert state['mount options'] == OPTIONS
        assert state['OSTs'] == '4: 0-3' and state['MDTs'] == '2: 0-1'
        assert state['osc.max_rpcs_in_flight'] == '8' and state['osc.max_dirty_mb'] == '993'
        assert state['llite.max_cached_mb'] == '3970' and state['llite.max_read_ahead_mb'] == '256'
        assert state['ldlm.namespaces.lru_size'] == 'dynamic' and state['imports'] == 'all in order'
        assert state['default layout'] == 'c1.S4M'
        assert state['llite.hybrid_io'] == '1' and state['lod.*.qos_prio_free'] == '90%'
        assert state['llite.hybrid_io_write_threshold_bytes'] == str(2 * MIB)
        stand.now(cached_mb=7)
        assert changes(state, DRIVER.state(str(stand.mount))) == [], 'what moves by itself is no change'
        stand.now(flash=[0, 1])
        rows = DRIVER.targets(str(stand.mount)).rows
        assert [(row.kind, row.number) for row in rows if FLASH in row.flags] == [('OST', 0), ('OST', 1)]
        assert all(row.takes_objects for row in rows)

    def test_a_default_for_new_directories_that_changes_is_a_change_of_the_state(self, stand):
        path = stand.directory()
        first = DRIVER.state(path)
        assert first['default directory layout'].startswith('stripe_count: 1 stripe_offset: -1 ')
        assert run(['lfs', 'setdirstripe', '-D', '-c', '2', path]).returncode == 0
        assert [change for change in changes(first, DRIVER.state(path)) if 'directory layout' in str(change)] != []

    def test_what_only_an_mds_knows_is_told_there_and_unknown_elsewhere(self, stand):
        state = DRIVER.state(str(stand.mount))
        assert state['osp.*.active'] == '1' and state['lod.*.qos_threshold_rr'] == '17%'
        stand.now(params={'osp.lustre-OST0002-osc-MDT0001.active': '0\n'})
        assert DRIVER.state(str(stand.mount))['osp.*.active'].startswith('0 on OST 2; 1 on MDT 0-1, OST ')
        stand.now(params={}, unreadable=['osp.*', 'lod.*'])
        state = DRIVER.state(str(stand.mount))
        assert state['osp.*.active'] == state['lod.*.qos_threshold_rr'] == 'unknown: no MDT on this node'

    def test_the_interfaces_of_lnet_are_told_to_root_with_their_limits_and_what_they_have_dropped(self, stand):
        shown = '10.0.2.15@tcp up, credits 256, peer_credits 8, drop_count 0'
        assert DRIVER.state(str(stand.mount))['LNet'] == shown
        stand.now(root=False)
        assert DRIVER.state(str(stand.mount))['LNet'] == 'unknown: only root may read it'

    def test_evictions_that_the_mount_remembers_are_told_with_target_and_time(self, stand):
        assert DRIVER.state(str(stand.mount))['evictions'] == 'none remembered'
        name = f'osc.lustre-OST0001-osc-{INSTANCE}.state'
        stand.now(params={name: '\ncurrent_state: FULL\nstate_history:\n - [ 1795220479, EVICTED ]\n'})
        at = time.strftime('%F %T', time.localtime(1795220479))
        assert DRIVER.state(str(stand.mount))['evictions'] == f'OST0001 at {at}'

    def test_what_debugfs_keeps_from_a_user_is_said_beside_what_is_not_there(self, stand):
        stand.now(root=False, closed=True, unreadable=['osc.*.state', 'osc.*.import', 'mdc.*.state', 'mdc.*.import'])
        state = DRIVER.state(str(stand.mount))
        assert state['evictions'] == state['server versions'] == 'unknown: only root may read it'

    def test_where_a_directory_lies_is_told_with_what_its_files_get(self, stand):
        path = str(stand.mount / 'on1')
        assert run(['lfs', 'mkdir', '-i', '1', path]).returncode == 0
        assert DRIVER.placed(path) == 'MDT 1, new files c1.S4M'

    def test_a_parameter_that_differs_between_targets_is_told_for_each(self, stand):
        stand.now(params={f'osc.lustre-OST0003-osc-{INSTANCE}.max_rpcs_in_flight': '64\n'})
        assert DRIVER.state(str(stand.mount))['osc.max_rpcs_in_flight'] == '64 on OST 3; 8 on OST 0-2'

    def test_a_target_that_is_away_is_waited_for_once_and_the_mounts_name_is_asked_for_once(self, stand):
        stand.now(df='320')
        path = str(stand.mount)
        DRIVER.capacity(path, striped('x', 2), 4), DRIVER.layout_fault(striped('x', 2), path)
        DRIVER.targets(path).rows, DRIVER.state(path), DRIVER.connections(path), DRIVER.exchanged(path).fetched
        asked = [argv[1] for argv in stand.asked()]
        assert (asked.count('df'), asked.count('getname')) == (1, 1)

    def test_a_target_that_was_away_is_asked_again_only_once_its_connection_is_back(self, stand, monkeypatch):
        path, import_ = str(stand.mount), f'osc.lustre-OST0003-osc-{INSTANCE}.state'

        def now(state, df):
            stand.now(df=df, params={import_: f'\ncurrent_state: {state}\nstate_history:\n'})
            return DRIVER.targets(path).rows[-1].fault

        monkeypatch.setattr(time, 'monotonic', lambda real=time.monotonic: real() + shift)
        shift = 0.0
        assert now('DISCONN', '320') == 'does not answer'
        shift = 3600.0
        assert now('CONNECTING', '320') == 'does not answer'
        assert [argv[1] for argv in stand.asked()].count('df') == 1
        assert now('FULL', '010') == ''

    def test_a_target_that_is_away_ends_lfs_df_and_what_lies_behind_it_is_not_said_to_be_away(self, stand):
        stand.now(away=[1])
        rows = [row for row in DRIVER.targets(str(stand.mount)).rows if row.kind == 'OST']
        assert [(row.fault, row.bytes_free) for row in rows[:2]] == [('', 5537792 * 1024), ('does not answer', None)]
        assert {row.flags for row in rows[2:]} == {('state unknown, because lfs df waits for lustre-OST0001',)}

    def test_an_ordinary_user_learns_of_lost_connections_from_lfs_check(self, stand):
        stand.now(root=False, unreadable=['*.import', '*.state'], check='320')
        state = DRIVER.state(str(stand.mount))
        assert state['imports'] == 'OST0003: Transport endpoint is not connected (107)'
        assert state['server versions'].startswith('unknown: ')

    def test_it_never_raises_where_lfs_is_missing(self, stand, monkeypatch, tmp_path):
        (tmp_path / 'bin' / 'lfs').unlink()
        monkeypatch.setenv('PATH', str(tmp_path / 'bin'))  # the machine may have a real one
        state = DRIVER.state(str(stand.mount))
        assert state['client version'] == 'unknown: lfs is not installed on this node'
        assert DRIVER.placed(str(stand.mount)) == state['client version']
        assert state['targets'].startswith('unknown: ') and state['client parameters'].startswith('unknown: ')
        assert DRIVER.targets(str(stand.mount)).rows == ()
        assert DRIVER.capacity(str(stand.mount), files=1).bytes is not None
        assert 'not installed' in (DRIVER.layout_fault(striped('x', 2), str(stand.mount)) or '')


class TestConnections:
    HEAD = 'current_state: FULL\nstate_history:\n'
    EVICTED = HEAD + ''.join(re.findall(r'^ - \[.*\n', lustre_step('320').stdout, re.MULTILINE))

    def states_of(self, text: str):
        return {'OST0003': parse_states(text)}

    def test_an_eviction_between_two_looks_is_told_with_its_time(self):
        before = self.states_of(self.EVICTED.partition(' - [ 1795221515, EVICTED')[0])
        assert incidents(before, self.states_of(self.EVICTED)) == ((1795221515, 'OST0003', 'EVICTED'),)

    @pytest.mark.parametrize(
        ('history', 'pattern'),
        [
            (
                [(time, state) for time in range(7) for state in ('CONNECTING', 'DISCONN')],
                r'OST0003 was DISCONN at {} and 6 times more until {}',
            ),
            (
                list(enumerate(('DISCONN', 'DISCONN', 'EVICTED', 'FULL'))),
                r'OST0003 was EVICTED at {}; OST0003 was DISCONN at {} and once more until {}',
            ),
            ([(5, 'DISCONN'), (5, 'DISCONN')], r'OST0003 was DISCONN at {} and once more until {}'),
        ],
        ids=['it stays away', 'an eviction comes first', 'in one second'],
    )
    def test_what_was_lost_is_said_once_with_its_times(self, history, pattern):
        lines = ''.join(f' - [ {time}, {state} ]\n' for time, state in history)
        after = self.states_of(self.HEAD + lines)
        sentence = DRIVER.lost(lustre.Connections({'OST0003': States('FULL', ())}), lustre.Connections(after)).lost
        assert re.fullmatch(pattern.replace('{}', r'[\d:]{8}'), sentence)
        assert incidents(after, after) == ()

    def test_what_happened_to_several_targets_at_once_is_said_once_with_their_names(self):
        def at(count):
            after = parse_states(f'{self.HEAD} - [ 5, EVICTED ]\n - [ 5, FULL ]\n')
            devices = [f'lustre-OST{n:04x}-osc-ffff888109352000' for n in range(count)]
            seen = (lustre.Connections(dict.fromkeys(devices, states)) for states in (States('FULL', ()), after))
            return DRIVER.lost(*seen).lost

        assert re.fullmatch(r'lustre-OST0000, lustre-OST0001 were EVICTED at [\d:]{8}', at(2))
        assert re.fullmatch(r'lustre-OST0000, .*, lustre-OST0007 and 92 more were EVICTED at .{8}', at(100))

    def idled(self):
        """The states of an import that a transcript shows."""
        values = {param.name: param.value for param in parse_params(lustre_step('108').stdout)}
        return parse_states(values[f'osc.lustre-OST0000-osc-{INSTANCE}.state'])

    def test_going_idle_and_coming_back_is_no_incident(self):
        after = {'x': self.idled()}
        before = {'x': after['x']._replace(changes=after['x'].changes[:2])}
        assert incidents(before, after) == () and turned_over(before, after) == ()

    def test_a_history_that_has_turned_over_is_told(self):
        lines = ''.join(f' - [ {time}, {state} ]\n' for time in range(8) for state in ('CONNECTING', 'DISCONN'))
        after = self.states_of(self.HEAD + lines)
        assert turned_over(self.states_of(self.EVICTED), after) == turned_over({}, after) == ('OST0003',)

    def test_a_history_that_only_idling_has_turned_over_is_no_loss_but_not_seen(self):
        cycle = self.idled().changes[-4:]
        assert sorted(change.state for change in cycle) == ['CONNECTING', 'CONNECTING', 'FULL', 'IDLE']

        def idled(*others):
            times = (change._replace(time_s=1795300000 + n) for n, change in enumerate((*cycle * 4, *others)))
            return lustre.Connections({'OST0003': States('FULL', tuple(times)[-16:])})

        before = lustre.Connections(self.states_of(self.EVICTED))
        assert DRIVER.lost(before, idled()).lost == ''
        assert 'OST0003 has been idle so often' in DRIVER.lost(before, idled()).unseen
        other = idled(cycle[0]._replace(state='REPLAY'))
        assert 'changed state so often' in DRIVER.lost(before, other).lost and DRIVER.lost(before, other).unseen == ''

    def test_the_driver_reads_them_for_its_own_mount(self, stand):
        seen = DRIVER.connections(str(stand.mount))
        assert sorted(seen.states) == [f'lustre-OST000{n}-osc-{INSTANCE}' for n in range(4)]
        assert {states.current for states in seen.states.values()} == {'FULL'} and seen.unknown == ''

    def test_they_are_read_too_while_the_path_itself_lies_on_a_server_that_is_away(self, stand, monkeypatch):
        seen = DRIVER.connections(str(stand.mount))
        monkeypatch.setattr('seatrial.filesystem.lustre.driver.look', lambda path: (None, 'it does not answer'))
        assert DRIVER.connections(str(stand.mount)) == seen
        assert DRIVER.connections('/never/seen').unknown == 'it does not answer'

    def test_a_look_that_told_nothing_is_no_look_at_no_loss_and_after_it_one_of_long_ago_is_none_of_now(self):
        seen = lustre.Connections(self.states_of(self.EVICTED))
        unknown = lustre.Connections({}, 'lctl did not answer')
        assert DRIVER.lost(seen, seen) == Lost('', '')
        assert 'EVICTED' in DRIVER.lost(lustre.Connections({'OST0003': States('FULL', ())}), seen).lost
        for before, after in ((seen, unknown), (unknown, seen), (unknown, unknown)):
            assert DRIVER.lost(before, after) == Lost('', 'lctl did not answer')

    def test_without_those_of_the_object_targets_the_connections_are_not_known(self, stand):
        stand.now(unreadable=['*.state'])
        assert DRIVER.connections(str(stand.mount)).states == {}
        state = {f'mdc.lustre-MDT0000-mdc-{INSTANCE}.state': f'\n{self.HEAD} - [ 5, FULL ]\n'}
        stand.now(unreadable=['osc.*.state'], params=state)
        partly = DRIVER.connections(str(stand.mount))
        assert len(partly.states) == 1 and 'osc/*' in partly.unknown

    def test_a_target_that_is_added_has_lost_nothing(self):
        added = {**self.states_of(self.EVICTED), 'OST0004': States('FULL', parse_states(self.EVICTED).changes[:1])}
        before, after = (lustre.Connections(states) for states in (self.states_of(self.EVICTED), added))
        assert len(added['OST0004'].changes) == 1 and DRIVER.lost(before, after) == Lost('', '')

    def test_a_device_that_is_gone_has_taken_its_history_with_it(self, stand):
        seen = DRIVER.connections(str(stand.mount))
        left = seen._replace(states=dict(sorted(seen.states.items())[2:]))
        assert DRIVER.lost(seen, left).unseen == 'lustre-OST0000-osc-ffff888105ab7000 and 1 more: no longer there'

    @pytest.mark.parametrize('version', ['2.12.9', '2.16.1', '2.17.0'])
    def test_no_other_mount_is_asked_for_the_name_of_this_one(self, stand, version):
        stand.now(version=version)
        path = stand.directory()
        assert DRIVER.connections(path).unknown == ''
        assert [argv for argv in stand.asked() if argv[1] == 'getname'] == [['lfs', 'getname', path]]


class TestCaches:
    def test_only_root_may_cancel_locks(self, stand):
        assert DRIVER.cold(str(stand.mount)).possible
        stand.now(root=False)
        assert 'only root' in DRIVER.cold(str(stand.mount)).why_not
        assert 'only root' in (DRIVER.empty_client_cache(str(stand.mount)) or '')

    def test_the_locks_of_this_mount_alone_are_cancelled_and_the_cache_is_seen_empty(self, stand):
        assert DRIVER.empty_client_cache(str(stand.mount)) is None
        setting = next(call for call in stand.asked() if call[1] == 'set_param')
        assert setting[2:] == [f'ldlm.namespaces.*-{kind}-{INSTANCE}.lru_size=clear' for kind in ('osc', 'mdc')]

    def test_a_cache_that_is_not_empty_afterwards_is_said(self, stand):
        stand.now(kept_mb=12)
        assert '12 MiB are still cached' in (DRIVER.empty_client_cache(str(stand.mount)) or '')
        stand.now(unreadable=['*.max_cached_mb'])
        assert 'cannot be checked' in (DRIVER.empty_client_cache(str(stand.mount)) or '')
        assert not DRIVER.cold(str(stand.mount)).forgets, 'posix_fadvise leaves up to all of a file cached'

    def test_the_bytes_are_those_of_this_mount_with_all_servers_and_requests_are_counted(self, stand, monkeypatch):
        meter = DRIVER.meter(str(stand.mount))
        assert meter.why_not == '' and 'servers' in meter.what
        totals, (fetched, sent) = meter.look(30.0), (12 * MIB, 93388809)  # the sums in transcripts 101 and 102
        assert (totals['read_bytes'], totals['write_bytes']) == (fetched, sent)
        assert (totals['read_rpcs'], totals['write_rpcs'], totals['rpcs']) == (12, 93, 928)
        for user, known in ((0, sent), (1000, None)):
            monkeypatch.setattr(os, 'geteuid', lambda user=user: user)
            assert DRIVER.exchanged(str(stand.mount))[:2] == (fetched, known)

    def test_an_ordinary_users_bytes_are_roots(self, stand):
        """By a wildcard lctl would give him the counters of each device under the names of another's."""
        path = str(stand.mount)
        ours, traffic = DRIVER.exchanged(path).fetched, DRIVER.meter(path).look(30.0)
        stand.now(root=False, shifts=True)
        assert run(['lctl', 'get_param', 'osc.*.stats']).stdout != lustre_step('101').stdout
        assert DRIVER.exchanged(path).fetched == ours and DRIVER.meter(path).look(30.0) == traffic

    def test_bytes_that_no_request_has_moved_are_unknown_with_the_reason(self, stand):
        device = f'osc.lustre-OST0002-osc-{INSTANCE}.stats'
        line = 'read_bytes                8 samples [bytes] 1048576 1048576 8388608 8796093022208'
        stand.now(params={device: f'\nsnapshot_time             1795220834.583034670 secs.nsecs\n{line}\n'})
        path = str(stand.mount)
        assert DRIVER.exchanged(path).fetched is None
        wrong = f"{device} contradicts itself: '8 read_bytes in bytes of 0 ost_read'"
        assert DRIVER.meter(path).why_not == wrong
        (proof,) = [capability for capability in DRIVER.capabilities(path) if 'proof' in capability.name]
        assert (proof.available, proof.detail) == (False, wrong)
        assert DRIVER.exchanged(path).contradiction == wrong

    def test_without_counters_the_bytes_are_unknown(self, stand):
        stand.now(unreadable=['*.stats'])
        assert DRIVER.exchanged(str(stand.mount)).fetched is None
        assert DRIVER.exchanged(str(stand.mount)).contradiction == ''
        stand.now(unreadable=[], unresponsive=True)
        assert DRIVER.exchanged(str(stand.mount)).fetched is None


class TestCapabilities:
    def test_one_that_was_answered_is_not_missing_where_lctl_then_falls_silent(self, stand, monkeypatch):
        answers = Mock(side_effect=[lustre._params(['llite.*.stats']), NoAnswer('silent')])
        monkeypatch.setattr(lustre, '_params', answers)
        rows = [row.name for row in DRIVER.capabilities(str(stand.mount))]
        assert len(set(rows)) == len(rows)

    def test_what_a_version_or_a_user_lacks_is_named_with_the_reason(self, stand):
        assert [capability for capability in DRIVER.capabilities(str(stand.mount)) if not capability.available] == []
        stand.now(root=False, lacks=['--overstripe-count'], unreadable=['*.state', '*.rpc_stats'])
        lacking = {row.name: row.detail for row in DRIVER.capabilities(str(stand.mount)) if not row.available}
        assert sorted(lacking) == [
            'emptying the cache of this client',
            'evictions during a run (osc.*.state)',
            'several stripes on one OST (overstriping)',
            'sizes of the RPCs (osc.*.rpc_stats)',
        ]
        assert all(lacking.values())


class TestCounters:
    """The questions of the sampler and of a run's report (telemetry)."""

    def test_what_programs_read_and_wrote_stands_beside(self, stand):
        line = 'write_bytes               3 samples [bytes] 1 9 21 99'
        stats = f'\nsnapshot_time             1795220833.621947640 secs.nsecs\n{line}\n'
        stand.now(params={f'llite.lustre-{INSTANCE}.stats': stats})
        totals = DRIVER.meter(str(stand.mount)).look(30.0)
        assert (totals['called_read_bytes'], totals['called_write_bytes']) == (0, 21)

    def test_they_are_never_cleared(self, stand):
        meter = DRIVER.meter(str(stand.mount))
        assert meter.look(30.0) == meter.look(30.0)
        DRIVER.rpc_sizes(str(stand.mount), BEFORE)
        assert {argv[1] for argv in stand.asked() if argv[0] == 'lctl'} == {'get_param'}

    def test_where_only_llite_can_be_read_the_caption_says_that_caches_answer(self, stand):
        stand.now(unreadable=['osc.*', 'mdc.*'])
        meter = DRIVER.meter(str(stand.mount))
        assert 'cache' in meter.what and set(meter.look(30.0)) == {'read_bytes', 'write_bytes'}

    @pytest.mark.parametrize(('root', 'why'), [(False, 'only root may read it'), (True, 'lctl printed nothing')])
    def test_where_debugfs_is_closed_lctl_says_nothing_and_it_is_said_who_may(self, stand, root, why):
        stand.now(root=root, unreadable=['*.rpc_stats', '*.stats'], closed=True)
        answer, meter = DRIVER.rpc_sizes(str(stand.mount), BEFORE), DRIVER.meter(str(stand.mount))
        assert answer.sizes == () and answer.why_not.endswith(f'/rpc_stats: {why}')
        assert meter.why_not and meter.look(1.0) == {}

    def test_a_client_that_does_not_answer_in_time_gives_nothing(self, stand):
        meter = DRIVER.meter(str(stand.mount))
        stand.now(unresponsive=True)
        assert meter.look(0.3) == {}

    def test_the_sizes_of_the_requests_are_those_of_all_targets(self, stand):
        answer = DRIVER.rpc_sizes(str(stand.mount), BEFORE)
        summed = {
            '1': (0, 3),
            **{str(1 << power): (0, 0) for power in range(1, 8)},
            '256': (12, 89),
        }  # step 105
        assert {size.pages: (size.reads, size.writes) for size in answer.sizes} == summed
        assert (answer.when, answer.why_not) == (BEFORE, '')

    def test_of_job_statistics_the_jobs_own_are_taken(self):
        """The transcript shows three jobs, and then the statistics after they were cleared."""
        text = lustre_step('114').stdout.partition('obdfilter.lustre-OST0000.job_stats=\n- ')[0]
        rows, why_not = DRIVER.served(text, '4242')
        assert why_not == ''
        assert ('lustre-OST0001', 'write_bytes', 4, 4194304, 'bytes') in rows
        assert all(row.samples for row in rows)
        assert DRIVER.served(text, '4711') == ((), '')
        rows, why_not = DRIVER.served('obdfilter.lustre-OST0000.job_stats=\nConnection closed\n', '4242')
        assert rows == () and 'Connection closed' in why_not

    @pytest.mark.parametrize('text', ['', 'ssh: connect to host oss1: refused\n', 'jobid_var=disable\n'])
    def test_an_output_without_job_statistics_has_none(self, text):
        assert DRIVER.served(text, '4242') == ((), '')

    def test_cut_short_after_any_line_they_are_numbers_or_an_error(self):
        lines = lustre_step('114').stdout.splitlines(keepends=True)
        whole = {row[:2] for row in DRIVER.served(''.join(lines), '4242')[0]}
        for length in range(len(lines)):
            rows, why_not = DRIVER.served(''.join(lines[:length]), '4242')
            assert not why_not and {row[:2] for row in rows} <= whole


# Which server each target hangs on, as this node's imports tell


def test_each_target_has_the_server_that_it_is_connected_to_if_it_is(stand):
    assert DRIVER.targets(str(stand.mount)).servers == {'ost0000': '0@lo', 'mdt0000': '0@lo'}  # as in the transcript
    stand.now(params=imports({'OST0000': '<none>', 'OST000a': '10.0.0.2@o2ib', 'MDT0000': '10.0.0.3@o2ib'}))
    assert DRIVER.targets(str(stand.mount)).servers == {'ost0010': '10.0.0.2@o2ib', 'mdt0000': '10.0.0.3@o2ib'}
    stand.now(params=imports({'OST0001': '10.0.0.1@o2ib', 'OST0000': '', 'MDT0000': ''}))
    assert DRIVER.targets(str(stand.mount)).servers == {'ost0001': '10.0.0.1@o2ib'}


@pytest.mark.parametrize('state', [{'unreadable': ['*.import']}, {'unresponsive': True}], ids=str)
def test_where_they_cannot_be_read_nothing_is_known_and_nothing_hangs(stand, state):
    stand.now(**state)
    assert DRIVER.targets(str(stand.mount)).servers == {}


# On which OSTs the files of a layout may lie

TIERED = progressive('t', {'end': MIB, 'pool': 'flash'}, {'end': 4 * MIB, 'pool': 'flash'}, {'pool': 'disk'})


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
def test_a_file_reaches_what_the_piece_in_which_it_ends_asks_for(monkeypatch, layout, size, reached):
    there = striping.Inventory((0, 1, 2, 3), (0,), {'flash': (0, 1), 'disk': (2, 3)})
    monkeypatch.setattr(lustre, '_inventory', lambda path, layout: there)
    assert DRIVER.reach('/lustre', layout, size) == reached


def test_without_a_layout_the_files_reach_what_that_of_the_directory_asks_for(stand):
    assert DRIVER.reach(stand.directory(), Layout(), MIB) is None
    directory = stand.directory('flash')
    assert DRIVER.set_layout(directory, striped('f', pool='flash')) is None
    assert DRIVER.reach(directory, Layout(), MIB) == (0, 1)


def test_where_pools_cannot_be_asked_for_a_file_reaches_nothing(monkeypatch):
    monkeypatch.setattr(lustre, '_inventory', Mock(side_effect=lustre.NotUnderstood('not a pool', 'x')))
    assert DRIVER.reach('/lustre', striped('f', pool='flash'), MIB) == ()
