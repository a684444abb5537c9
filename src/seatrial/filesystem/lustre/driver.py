"""Lustre: layouts that are set and proved, room on its targets, cold caches, and what happened to its connections.
Written against outputs of a 2.17 and the sources of 2.12 to 2.17. Each lfs and lctl has a deadline, for `lfs df`
blocks at a target that is away; what it had printed is used. A call takes up to 0.5 s: none is in a timed region."""

import contextlib
import fnmatch
import os
import re
import stat
import time
from typing import Any, Callable, Dict, FrozenSet, List, NamedTuple, Optional, Sequence, Set, Tuple

from seatrial.filesystem import base
from seatrial.filesystem.layout_words import ALL
from seatrial.filesystem.lustre import params, striping, targets
from seatrial.filesystem.lustre.layout import NAME, LustreLayout, asked, from_settings
from seatrial.filesystem.lustre.params import NotUnderstood
from seatrial.filesystem.mounts import Mount
from seatrial.filesystem.posix import Mounted, answer_or_unknown, look, unknown
from seatrial.model.ask import Answer, ask
from seatrial.model.layout import Layout, target_name
from seatrial.model.quoted_value import shell_line
from seatrial.model.record import TargetRow
from seatrial.model.state import NONE_REMEMBERED, REMEMBERED
from seatrial.model.telemetry import READ, WRITTEN, RpcSizes, Served
from seatrial.model.units import approximate_size

ANSWER_S = 10.0
DF_S = 20.0
SETTING_S = 60.0
NAMED = 8  # targets that a sentence names; of more it has the number

CLIENT_PARAMETERS = (  # that bandwidth and metadata rates depend on, per type of device
    *('osc.max_rpcs_in_flight', 'osc.max_pages_per_rpc', 'osc.max_dirty_mb'),
    *('osc.checksums', 'osc.checksum_type', 'osc.idle_timeout'),
    *('mdc.max_rpcs_in_flight', 'mdc.max_mod_rpcs_in_flight'),
    *('llite.max_read_ahead_mb', 'llite.max_read_ahead_per_file_mb', 'llite.max_read_ahead_whole_mb'),
    *('llite.max_cached_mb', 'llite.statahead_max', 'llite.fast_read'),
    *('llite.hybrid_io', 'llite.hybrid_io_read_threshold_bytes', 'llite.hybrid_io_write_threshold_bytes'),
    *('ldlm.namespaces.lru_size', 'ldlm.namespaces.lru_max_age'),
)
# Known to an MDS alone: retired targets, and how it deals out objects to the others.
SERVER_PARAMETERS = ('osp.*.active', 'lod.*.qos_threshold_rr', 'lod.*.qos_prio_free')
IN_ORDER = ('FULL', 'IDLE')  # states of an import that need no attention: connected, or disconnected for want of work
NO_CONNECTION = '<none>'  # what an import shows in place of a server (lprocfs_import_seq_show)


class Connections(NamedTuple):
    """The states of this mount's imports by device, for incidents() and turned_over(); why they are not known."""

    states: Dict[str, params.States]
    unknown: str = ''


class Lustre(Mounted):
    """The driver of the type. Where a node has several mounts, the mount of the path is asked."""

    name = NAME
    kernel_types = ('lustre',)
    recovery_limit_s = 900.0
    recovery_source = 'the hard limit of its recovery window (recovery_time_hard; kernel log: "150-900")'
    can = (
        *('layouts', 'targets', 'cold reads', 'traffic', 'proof of cold reads', 'lost connections'),
        *('request sizes', "servers' counters of a job"),
    )
    tried = (
        'Lustre 2.17.0, 2 MDTs and 4 OSTs on ZFS, emulated or in user mode: all checks of a nightly session, most of '
        'them briefly, layouts, faults, targets away, a quota'
    )
    tried_on = '2026-11-29'
    sources = 'genuine outputs of 2.17, the sources of 2.12 to 2.17'
    no_layout = ''
    pins = ('OST', 'MDT')
    no_pinning = 'no such targets: those of Lustre are OSTs and MDTs'
    alike = LustreLayout(stripe_count=ALL).named('all')
    kernel_counts_reads = False  # the counters of the client do: exchanged()

    def same_storage(self, one: Mount, other: Mount) -> bool:
        """Compares the file system's name and the NIDs of its MGS: any directory of it may be mounted."""
        (servers, fsname), (others, other_fsname) = _parts_of(one.source), _parts_of(other.source)
        return fsname == other_fsname and bool(servers & others)

    def capacity(self, path: str, layout: Layout = base.AS_IT_IS, files: Optional[int] = None) -> base.Capacity:
        """The room of the file system as a whole; or less, if `files` files of the layout find less on their OSTs."""
        whole = super().capacity(path)
        if not files:  # none is planned: a workload that fills what there is, or names alone
            return whole
        try:
            wished = _wished(path, layout)
            about = wished, files, _spaces(path).of('OST'), _inventory(path, wished)
            room, used = targets.room(*about), targets.in_use(*about)
        except base.NoAnswer as error:
            return whole._replace(unseen=f'the free space for its layout ({error})')
        free = whole.bytes if room is None or whole.bytes is None else min(whole.bytes, room)
        narrowest = f'OST {used[0].number} has {approximate_size(used[0].free)} free' if used else ''
        return whole._replace(bytes=free, narrowest=narrowest)

    def quota(self, path: str) -> base.Capacity:
        """Reads `lfs quota` of the user, the group of new files and the project of the directory. Root has none."""
        if _is_root():
            return base.Capacity(None, None)
        rows: List[targets.QuotaRow] = []
        try:
            rows += targets.parse_quota(_ended(['lfs', 'quota', _mounted(path).path]).stdout)
        except base.NoAnswer as error:
            unseen = f'the quota ({error})'
        else:
            away = any(not row.exact for row in rows)
            unseen = 'the whole use of the quota: a target is away, and lfs counts only the others' if away else ''
        with contextlib.suppress(base.NoAnswer, OSError):
            directory = os.stat(path)
            if directory.st_mode & stat.S_ISGID and directory.st_gid != os.getegid():
                rows = [row for row in rows if row.who != 'grp']
                asked = ['lfs', 'quota', '-g', str(directory.st_gid), _mounted(path).path]
                rows += targets.parse_quota(_ended(asked).stdout)
        with contextlib.suppress(base.NoAnswer):
            project = targets.parse_project(_output(['lfs', 'project', '-d', path]))
            asked = ['lfs', 'quota', '-p', str(project), _mounted(path).path]
            rows += targets.parse_quota(_ended(asked).stdout) if project else ()
        return base.Capacity(*targets.left(rows), unseen=unseen)

    def targets(self, path: str) -> base.Targets:
        """All metadata and object targets, and the servers of this mount's imports, failed over or not."""
        try:
            return base.Targets(_target_rows(path), _servers(path))
        except base.NoAnswer as error:
            return base.Targets((), _servers(path), str(error))

    def placed(self, directory: str) -> str:
        """The directory's MDTs, over which a default of the root may spread new ones, and new files' layout."""
        try:
            got = striping.parse_getdirstripe(_output(['lfs', 'getdirstripe', directory]))
            return f'MDT {base.spelled(got.mdts)}, new files {_default_of(directory).words}'
        except base.NoAnswer as error:
            return unknown(str(error))

    def _own_state(self, path: str, mount: Mount) -> Dict[str, str]:
        version = answer_or_unknown(lambda: f'lustre {targets.parse_version(_output(["lfs", "--version"]))}')
        settings = {
            'client version': version,
            'default layout': answer_or_unknown(lambda: _default_of(path).words),
            'default directory layout': answer_or_unknown(lambda: _directory_default_of(path)),
            'LNet': answer_or_unknown(_interfaces),
        }
        try:
            settings.update(_client_state(_mounted(path).instance, mount.options))
        except base.NoAnswer as error:
            settings['client parameters'] = unknown(str(error))
        return settings

    def connections(self, path: str) -> Connections:
        try:
            instance = _instance_of(path)
            values, errors = _params([f'{kind}.*-{instance}.state' for kind in ('osc', 'mdc')])
            states = {_device(param.name): params.parse_states(param.value) for param in values}
        except base.NoAnswer as error:
            return Connections({}, str(error))
        return Connections(states, '' if any('-osc-' in device for device in states) else _why_none(errors))

    def lost(self, before: Connections, after: Connections) -> base.Lost:
        """Compares the states of the imports; unseen are failed readings and devices without a history."""
        why = before.unknown or after.unknown
        if why:  # against nothing every loss since the mount would be one of meanwhile
            return base.Lost(unseen=why)
        turned = params.turned_over(before.states, after.states)
        idled = [device for device in turned if params.only_idled(after.states[device])]
        return base.Lost(_lost(before, after, set(turned) - set(idled)), _unseen(before, after, idled))

    def behind(self, path: str, file: str, offset: Optional[int]) -> str:
        """Reads lfs getstripe of the file, which asks its MDT alone, and the imports of this mount."""
        states = self.connections(path).states
        away = [(device, state.current) for device, state in states.items() if state.current not in IN_ORDER]
        clauses = [f'{_target(device)}, whose import is {state}' for device, state in away]
        with contextlib.suppress(base.NoAnswer):
            got = striping.parse_getstripe(_output(['lfs', 'getstripe', '-y', file])) if file else None
            osts = striping.osts_at(got, offset) if got else ()
            clauses[:0] = [f'OST {base.spelled(osts)}'] if osts else []
        return '; '.join(clauses)

    def capabilities(self, path: str) -> Tuple[base.Capability, ...]:
        """Features of this version and this user, found by asking and not by the version's number."""
        rows = []
        for command, option, what in _OPTIONS:
            try:
                has = option in _options_of(command)
                why = '' if has else f'this version of lfs {command} has no {option}'
            except base.NoAnswer as error:
                has, why = False, str(error)
            rows.append(base.Capability(what, has, why))
        try:
            instance = _mounted(path).instance
            for pattern, what in _READABLE:
                values, errors = _params([pattern.format(instance=instance)])
                rows.append(base.Capability(what, bool(values), '' if values else _why_none(errors)))
            values, errors = _stats(_stats_names(path))
            rows.append(base.Capability(PROOF, bool(values), '' if values else _why_none(errors)))
        except base.NoAnswer as error:
            known, asked_for = {row.name for row in rows}, [*(what for _, what in _READABLE), PROOF]
            rows += [base.Capability(what, False, str(error)) for what in asked_for if what not in known]
        return (*rows, *super().capabilities(path))

    def layout(self, name: str, settings: Any) -> Layout:
        return from_settings(settings).named(name)

    def on_targets(self, name: str, kind: str, numbers: Sequence[int], like: Layout = base.AS_IT_IS) -> Layout:
        """Plain stripes, whose size is the other's where that has no components; of MDTs a directory on one."""
        if kind == 'MDT':
            return LustreLayout(mdt_index=numbers[0]).named(name)
        wished = asked(like)
        size = None if wished.components else wished.stripe_size
        return LustreLayout(stripe_size=size, osts=tuple(numbers)).named(name)

    def _layout_fault(self, layout: Layout, path: str) -> Optional[str]:
        wished = asked(layout)
        needed = [option for option, needs in _NEEDS if needs(wished)]
        known = _options_of('setstripe') if needed else ()
        missing = [option for option in needed if option not in known]
        if missing:
            return f'this version of lfs setstripe has no {missing[0]}'
        return striping.impossible(wished, _open_inventory(path, wished))

    def _set_layout(self, directory: str, layout: Layout) -> Optional[str]:
        """Calls lfs setstripe; for MDTs of its own the directory is made anew, with them as its default."""
        wished = asked(layout)
        try:
            status = os.lstat(directory)
            if not stat.S_ISDIR(status.st_mode):  # setstripe would make a file where there is nothing
                return f'{directory} is not a directory'
            mode = stat.S_IMODE(status.st_mode)
            if wished.places_directory:
                os.rmdir(directory)
                _make_directory(directory, wished, mode)
                difference = _directory_difference(directory, wished)
                if difference is not None:
                    return difference
                deep = wished.mdt_count not in (None, 1) and '--max-inherit' in _options_of('setdirstripe')
                _output(striping.setdirstripe_argv(wished, directory, deep), SETTING_S)
            if wished.places_file:
                _set_striping(directory, wished, mode)
        except OSError as error:
            return f'{directory}: {error.strerror or error}'
        return None

    def _granted(self, file: str, layout: Layout) -> base.Granted:
        """Reads lfs getstripe -y of the file, and lfs getdirstripe of its directory."""
        wished, granted = asked(layout), base.Granted()
        if wished.places_file:
            got = striping.parse_getstripe(_asked_again(['lfs', 'getstripe', '-y', file]))
            there = _inventory(file, wished)
            granted = granted._replace(differs=striping.difference(wished, got, there))
            if granted.differs is None and any(piece.stripe_count == ALL for piece in wished.pieces):
                granted = striping.granted(wished, got, there)
        if granted.differs is None and wished.places_directory:
            granted = granted._replace(differs=_directory_difference(os.path.dirname(file), wished))
        return granted

    def reach(self, path: str, layout: Layout, size: int) -> Optional[Tuple[int, ...]]:
        """The pool or OSTs of the piece in which the file ends; without any, those of the directory."""
        try:
            wished = _wished(path, layout)
            piece = next(piece for piece in wished.pieces if piece.end is None or size <= piece.end)
            if piece.osts or piece.on_mdt:
                return piece.osts
            return None if piece.pool is None else _inventory(path, wished).reach(piece.pool)
        except (base.NoAnswer, StopIteration):
            return ()

    def make_files(self, files: Sequence[str], layout: Layout, inside: str) -> Optional[str]:
        """Files can be pinned to an OST. What lfs leaves on refusal is removed if new, empty and ours."""
        for file in files:
            if os.path.lexists(file):
                return f'{file} is there already'
            parent, top = os.path.realpath(os.path.dirname(file)), os.path.realpath(inside)
            if os.path.commonpath([parent, top]) != top:
                return f'{file} does not lie in {inside}'
            try:
                _output(striping.setstripe_argv(asked(layout), file), SETTING_S)
            except base.NoAnswer as error:
                _remove_left_over(os.path.join(parent, os.path.basename(file)))
                return str(error)
        return None

    def cold(self, path: str) -> base.Cold:
        """Cancelling the locks of the mount drops what they cover; only root may. posix_fadvise leaves parts."""
        why_not, how = 'only root may cancel the locks of a Lustre client (lctl set_param ldlm.namespaces)', ''
        if _is_root():
            try:
                why_not, how = '', shell_line(_clear_argv(_mounted(path).instance))
            except base.NoAnswer as error:
                why_not = str(error)
        return base.Cold(how and f'the locks of the mount cancelled: {how}', why_not, forgets=False)

    def empty_client_cache(self, path: str, deadline_s: float = base.EMPTYING_S) -> Optional[str]:
        """sync(1), then the locks are cancelled; done only if the client then counts no cached page."""
        why_not = self.cold(path).why_not
        if why_not:
            return why_not
        try:
            instance = _mounted(path).instance
            end = time.monotonic() + deadline_s
            for argv in (['sync', '-f', path], _clear_argv(instance)):
                _output(argv, max(0.0, end - time.monotonic()))
            values, errors = _params([f'llite.*-{instance}.max_cached_mb'])
            if not values:
                return f'whether the cache is empty cannot be checked: {_why_none(errors)}'
            kept = params.parse_fields(values[0].value).get('used_mb', 'an unknown number of')
        except base.NoAnswer as error:
            return str(error)
        return None if kept == '0' else f'{kept} MiB are still cached after all locks were cancelled'

    def exchanged(self, path: str) -> base.Exchanged:
        """The sums of read_bytes and write_bytes over osc and mdc; None without osc. Bytes sent equalled the servers'
        counters (2.17), and are for root alone: for others lctl mixes up names. Contradictions are not used."""
        try:
            counters, _ = _stats(_stats_names(path))
            seen = params.traffic(counters) if any(param.name.startswith('osc.') for param in counters) else {}
        except NotUnderstood as error:
            return base.Exchanged(contradiction=str(error))
        except base.NoAnswer:
            return base.Exchanged()
        return base.Exchanged(seen.get(READ), None if os.geteuid() else seen.get(WRITTEN))

    def meter(self, path: str) -> base.Meter:
        """Counters of osc and mdc of this mount, and of llite; those of them that this user may read."""
        try:
            mount = _mounted(path)
            names = [f'llite.{mount.fsname}-{mount.instance}.stats', *_stats_names(path)]
            counters, errors = _stats(names)
        except base.NoAnswer as error:
            return base.no_meter(str(error))
        kinds = {param.name.partition('.')[0] for param in counters}
        if not kinds & {'osc', 'llite'}:
            return base.no_meter(_why_none(errors))
        whose = 'with its servers' if 'osc' in kinds else 'with its programs, what the cache answers included'

        def look_at(deadline_s: float) -> Dict[str, int]:
            try:
                return params.traffic(_stats(names, deadline_s)[0])
            except base.NoAnswer:
                return {}

        def waited_for(deadline_s: float) -> FrozenSet[str]:
            imports = _imports_of(path, deadline_s)
            devices = [import_.name for import_ in imports if import_.in_flight]
            return frozenset(_targets_of([name]) for name in (devices if imports else _unwritten(path, deadline_s)))

        return base.Meter(f"this node's Lustre client on this mount, {whose}", '', look_at, waited_for)

    def rpc_sizes(self, path: str, when: str) -> RpcSizes:
        """The table 'pages per rpc' of osc.*.rpc_stats, of all object targets together."""
        try:
            histograms, errors = _params([f'osc.*-{_mounted(path).instance}.rpc_stats'])
            sizes = params.rpc_sizes(histograms)
        except base.NoAnswer as error:
            return RpcSizes(when, (), str(error))
        return RpcSizes(when, sizes, '' if histograms else _why_none(errors))

    def served(self, text: str, job: str) -> Tuple[Tuple[Served, ...], str]:
        """Reads obdfilter.*.job_stats and mdt.*.job_stats, where the output of the command has them."""
        try:
            return params.served(text, job), ''
        except NotUnderstood as error:
            return (), str(error)


_OPTIONS = (
    ('setstripe', '--component-end', 'layouts with components (PFL)'),
    ('setstripe', '--overstripe-count', 'several stripes on one OST (overstriping)'),
    ('setstripe', '--mirror-count', 'mirrored files (FLR)'),
    ('getstripe', '--yaml', 'layouts that are read back (getstripe -y)'),
    ('mkdir', '--mdt-count', 'directories over several MDTs (DNE)'),
)
PROOF = 'proof of cold reads (osc.*.stats)'
_READABLE = (
    ('llite.*-{instance}.stats', 'counters of the mount (llite.*.stats)'),
    ('osc.*-{instance}.rpc_stats', 'sizes of the RPCs (osc.*.rpc_stats)'),
    ('osc.*-{instance}.state', 'evictions during a run (osc.*.state)'),
    ('osc.*-{instance}.import', 'versions of the servers (osc.*.import)'),
    ('llite.*-{instance}.max_cached_mb', 'whether the cache is empty (llite.*.max_cached_mb)'),
)
_NEEDS: Tuple[Tuple[str, Callable[[LustreLayout], bool]], ...] = (
    ('--component-end', lambda layout: bool(layout.components)),
    ('--overstripe-count', lambda layout: any(piece.overstripe_count is not None for piece in layout.pieces)),
    ('--mirror-count', lambda layout: layout.mirrors != 1),
)
_TARGET = re.compile(r'(?:OST|MDT)[0-9a-f]{4}')
_FORBIDDEN = re.compile('Permission denied|Operation not permitted')
_NID = re.compile(r'(.+?@\w+)(?:[:,]|\Z)')


def _servers(path: str) -> Dict[str, str]:
    """The NID of the server by the name of its target; empty where the imports cannot be read."""
    return {
        target_name(target[:3], int(target[3:], 16)): import_.connection
        for import_, target in ((import_, _target(import_.name)) for import_ in _imports_of(path))
        if _TARGET.match(target) and import_.connection not in ('', NO_CONNECTION)
    }


def _unwritten(path: str, deadline_s: float) -> List[str]:
    """The devices of object targets for which this client holds as much unwritten data as one request takes, or more:
    so much is sent at once (osc_makes_rpc), and counts until the target has answered, of direct writes too
    (osc_queue_dio_pages). For users who cannot read imports; it shows no reads."""
    names, page = ('cur_dirty_bytes', 'max_pages_per_rpc'), os.sysconf('SC_PAGE_SIZE')
    seen, _ = _params([f'osc.*-{_mounted(path).instance}.{name}' for name in names], deadline_s)
    dirty, most = ({_device(row.name): int(row.value) for row in seen if row.name.endswith(name)} for name in names)
    return [device for device, unwritten in dirty.items() if unwritten >= page * most[device]]


def _imports_of(path: str, deadline_s: float = ANSWER_S) -> List[params.Import]:
    """The imports of this mount; none where they cannot be read."""
    try:
        instance = _mounted(path).instance
        values, _ = _params([f'{kind}.*-{instance}.import' for kind in ('osc', 'mdc')], deadline_s)
        return [params.parse_import(param.value) for param in values]
    except base.NoAnswer:
        return []


def _lost(before: Connections, after: Connections, forgotten: Set[str]) -> str:
    """Imports that went to DISCONN or EVICTED meanwhile, and those whose history may have lost such a state."""
    times: Dict[Tuple[str, str], List[str]] = {}
    for incident in params.incidents(before.states, after.states):
        time_of_day = time.strftime('%H:%M:%S', time.localtime(incident.time_s))
        times.setdefault((incident.device, incident.state), []).append(time_of_day)
    # What an eviction lost is gone; a connection that only broke off goes on where it was.
    ordered = sorted(times.items(), key=lambda item: item[0][1] != 'EVICTED')
    alike: Dict[str, List[str]] = {}
    for (device, state), (at, *later) in ordered:
        often = 'once' if len(later) == 1 else f'{len(later)} times'
        how = f'{state} at {at}' + (f' and {often} more until {later[-1]}' if later else '')
        how += ', and maybe earlier' if device in forgotten else ''
        alike.setdefault(how, []).append(device)
    were = {how: 'was' if len(devices) == 1 else 'were' for how, devices in alike.items()}
    clauses = [f'{_targets_of(devices)} {were[how]} {how}' for how, devices in alike.items()]
    silent = sorted(forgotten - {device for device, _ in times})
    if silent:
        clauses.append(f'{_targets_of(silent)} changed state so often that the states are not known')
    return '; '.join(clauses)


def _unseen(before: Connections, after: Connections, idled: Sequence[str]) -> str:
    """The devices whose history is gone, with the device or through frequent idling."""
    gone = sorted(set(before.states) - set(after.states))
    if gone:
        return f'{gone[0]}{f" and {len(gone) - 1} more" if len(gone) > 1 else ""}: no longer there'
    return f'{idled[0]} has been idle so often that its earlier states are not known' if idled else ''


def _targets_of(devices: Sequence[str]) -> str:
    """The targets that imports of this client lead to: 'lustre-OST0000' of 'lustre-OST0000-osc-ffff888109352000'."""
    names = [re.split('-(?:osc|mdc)-', device)[0] for device in devices]
    return ', '.join(names[:NAMED]) + (f' and {len(names) - NAMED} more' if len(names) > NAMED else '')


def _parts_of(source: str) -> Tuple[FrozenSet[str], str]:
    """NIDs of the MGS and the fsname in '10.0.0.1@o2ib,10.0.0.1@tcp:10.0.0.2@tcp:/lustre/home' (mount.lustre(8))."""
    nids, _, path = source.partition(':/')
    matches = _NID.findall(nids)
    return frozenset(nid[:-1] if re.search(r'@\w*[a-z]0\Z', nid) else nid for nid in matches), path.split('/')[0]


def _is_root() -> bool:
    return os.geteuid() == 0


def _answer(argv: List[str], deadline_s: float) -> Answer:
    """The answer of a command, by its deadline at the latest. Raises NoAnswer if it is not installed."""
    answer = ask([base.program(argv[0]), *argv[1:]], deadline_s)
    if answer is None:
        raise base.NoAnswer(f'{argv[0]} is not installed on this node')
    return answer


def _ended(argv: List[str], deadline_s: float = ANSWER_S) -> Answer:
    """The answer of a command. Raises NoAnswer unless it ended in time."""
    answer = _answer(argv, deadline_s)
    if answer.exit_status is None:
        raise base.NoAnswer(f'`{shell_line(argv)}` did not answer within {deadline_s:.0f} s; is a server down?')
    return answer


def _output(argv: List[str], deadline_s: float = ANSWER_S) -> str:
    """The output of a command. Raises NoAnswer unless it ended in time and with 0."""
    answer = _ended(argv, deadline_s)
    if answer.exit_status != 0:
        last = (answer.stderr.strip() or answer.stdout.strip()).split('\n')[-1]
        raise base.NoAnswer(f'`{shell_line(argv)}` failed with exit status {answer.exit_status}: {last}')
    return answer.stdout


def _params(patterns: List[str], deadline_s: float = ANSWER_S) -> Tuple[Tuple[params.Param, ...], Dict[str, str]]:
    """The parameters that could be read, and the errors of the others."""
    answer = _ended(['lctl', 'get_param', *patterns], deadline_s)
    seen, errors = params.parse_params(answer.stdout), params.parse_param_errors(answer.stderr)
    if answer.exit_status:  # lctl prints nothing where debugfs is closed to this user (seen)
        why = 'lctl printed nothing' if _is_root() else 'only root may read it'
        missing = (name for name in patterns if not any(fnmatch.fnmatchcase(param.name, name) for param in seen))
        errors = {**{name.replace('.', '/'): why for name in missing}, **errors}
    return seen, errors


def _stats(names: List[str], deadline_s: float = ANSWER_S) -> Tuple[Tuple[params.Param, ...], Dict[str, str]]:
    """Counters, as _params. Raises NotUnderstood where they contradict themselves."""
    counters, errors = _params(names, deadline_s)
    params.check(counters)
    return counters, errors


def _stats_names(path: str) -> List[str]:
    """Full names of each device's counters: with wildcards lctl of 2.17 mixes up a user's counters (seen)."""
    mount = _mounted(path)
    if mount not in _DEVICES:
        _DEVICES[mount] = [
            f'{client}.{target.uuid.replace("_UUID", "")}-{client}-{mount.instance}.stats'
            for client, command in (('osc', 'osts'), ('mdc', 'mdts'))
            for target in targets.parse_targets(_output(['lfs', command, path]))
        ]
    return _DEVICES[mount]


def _why_none(errors: Dict[str, str]) -> str:
    return '; '.join(f'{path}: {reason}' for path, reason in errors.items()) or 'lctl did not report it'


def _interfaces() -> str:
    answer = _ended(['lnetctl', 'net', 'show', '-v'])
    if _FORBIDDEN.search(answer.stderr):
        raise base.NoAnswer('only root may read it')
    return '; '.join(targets.parse_interfaces(answer.stdout))


_MOUNTED: Dict[Mount, targets.ClientMount] = {}
_INSTANCES: Dict[str, str] = {}
_DEVICES: Dict[targets.ClientMount, List[str]] = {}  # asked once: a call takes up to 0.5 s, and a job holds its mount


def _mounted(path: str) -> targets.ClientMount:
    """The mount of the path, with its instance. lfs is given the path, for else it opens the root of every mount."""
    mount, why_not = look(path)
    if mount is None:
        raise base.NoAnswer(why_not)
    if mount not in _MOUNTED:
        _MOUNTED[mount] = targets.parse_mounted(_output(['lfs', 'getname', path]))._replace(path=mount.point)
    return _MOUNTED[mount]


def _instance_of(path: str) -> str:
    """The instance in device names of the path's mount; the last known one where the path does not answer now."""
    try:
        _INSTANCES[path] = _mounted(path).instance
    except base.NoAnswer:
        if path not in _INSTANCES:
            raise
    return _INSTANCES[path]


def _standing(path: str) -> FrozenSet[str]:
    states = Lustre().connections(path).states
    return frozenset(device for device, state in states.items() if state.current in IN_ORDER)


# Mounts where lfs df waited for a target that is away: the connections that stood then, and the output so far.
_BLOCKED: Dict[str, Tuple[FrozenSet[str], targets.Spaces]] = {}


def _spaces(path: str, option: str = '-v') -> targets.Spaces:
    """Keeps an answer that was cut off: lfs would block as long again, until a connection is back."""
    stood, seen = _BLOCKED.get(path, (frozenset(), None))
    if seen is None or _standing(path) - stood:
        seen = targets.parse_df(_answer(['lfs', 'df', option, path], DF_S).stdout)
        if not seen.complete:
            _BLOCKED[path] = _standing(path), seen
    return seen


def _default_of(path: str) -> striping.Striping:
    return striping.parse_getstripe(_output(['lfs', 'getstripe', '-y', '-d', path]))


def _directory_default_of(path: str) -> str:
    """The default for directories made in this one, in the words of lfs: they may get an MDT of their own each."""
    text = _output(['lfs', 'getdirstripe', '-D', path])
    striping.parse_getdirstripe(text)
    return ' '.join(text.replace('lmv_', '').split())


def _wished(path: str, layout: Layout) -> LustreLayout:
    wished = asked(layout)
    return wished if wished.places_file else _default_of(path).layout


def _asked_again(argv: List[str]) -> str:
    """As _output, with patience: a metadata server may still be busy with the launch before."""
    answer = _answer(argv, ANSWER_S)
    return answer.stdout if answer.exit_status == 0 else _output(argv, SETTING_S)


def _inventory(path: str, layout: LustreLayout) -> striping.Inventory:
    osts = targets.parse_targets(_output(['lfs', 'osts', path]))
    mdts = targets.parse_targets(_output(['lfs', 'mdts', path])) if layout.places_directory else ()
    pools = _pools(osts[0].uuid, layout) if osts else {}
    return striping.Inventory(tuple(row.number for row in osts), tuple(row.number for row in mdts), pools)


def _open_inventory(path: str, layout: LustreLayout) -> striping.Inventory:
    """The inventory, with the object targets that are closed to new objects."""
    rows = _target_rows(path, inodes=False)
    osts = [row for row in rows if row.kind == 'OST']
    pools = _pools(f'{osts[0].name}_UUID', layout) if osts else {}
    closed = tuple(row.number for row in osts if row.takes_objects is False)
    mdts = tuple(row.number for row in rows if row.kind == 'MDT')
    return striping.Inventory(tuple(row.number for row in osts), mdts, pools, closed)


def _pools(uuid: str, layout: LustreLayout) -> Dict[str, Tuple[int, ...]]:
    """The pools by name, with the members of those that the layout asks for; empty if it asks for none."""
    wished = {piece.pool for piece in layout.pieces if piece.pool is not None}
    pools: Dict[str, Tuple[int, ...]] = {}
    fsname, _ = targets.target_of(uuid)
    for pool in targets.parse_pools(_output(['lfs', 'pool_list', fsname])) if wished else ():
        listed = _output(['lfs', 'pool_list', f'{fsname}.{pool}']) if pool in wished else ''
        pools[pool] = targets.parse_pool(listed) if listed else ()
    return pools


def _options_of(command: str) -> Tuple[str, ...]:
    answer = _ended(['lfs', 'help', command])
    return targets.parse_usage(answer.stdout + answer.stderr)


def _make_directory(directory: str, layout: LustreLayout, mode: int) -> None:
    """Make it with lfs mkdir; a plain one is made in its place if that is refused."""
    try:
        _output(['lfs', 'mkdir', *striping.directory_options(layout), directory], SETTING_S)
    except base.NoAnswer as error:
        os.mkdir(directory, mode)
        who = ' (only root may, or the group of mdt.*.enable_remote_dir_gid)' if _FORBIDDEN.search(str(error)) else ''
        raise base.NoAnswer(f'{error}{who}') from None
    os.chmod(directory, mode)


def _set_striping(directory: str, layout: LustreLayout, mode: int) -> None:
    """Makes the directory anew if lfs 2.16 or later removed it, as it does where setstripe is restricted."""
    try:
        _output(striping.setstripe_argv(layout, directory), SETTING_S)
    finally:
        removed = not os.path.lexists(directory)
        if removed:
            os.mkdir(directory, mode)
    if removed:
        raise base.NoAnswer(f'lfs setstripe removed {directory}: only llite.*.enable_setstripe_gid may set layouts')


def _directory_difference(directory: str, layout: LustreLayout) -> Optional[str]:
    got = striping.parse_getdirstripe(_asked_again(['lfs', 'getdirstripe', directory]))
    return striping.directory_difference(layout, got, _inventory(directory, layout))


def _remove_left_over(file: str) -> None:
    with contextlib.suppress(OSError):  # nothing was left
        status = os.lstat(file)
        if stat.S_ISREG(status.st_mode) and status.st_size == 0 and status.st_uid == os.geteuid():
            os.unlink(file)


def _clear_argv(instance: str) -> List[str]:
    return ['lctl', 'set_param', *(f'ldlm.namespaces.*-{kind}-{instance}.lru_size=clear' for kind in ('osc', 'mdc'))]


def _target_rows(path: str, inodes: bool = True) -> Tuple[TargetRow, ...]:
    """Reads lfs mdts, lfs osts and lfs df -v, which tells flash, and blocks at the first target that is away."""
    spaces = _spaces(path)
    files = _spaces(path, '-i') if inodes and spaces.complete else targets.Spaces((), False)
    rows: List[TargetRow] = []
    away = ''
    for kind, command in (('MDT', 'mdts'), ('OST', 'osts')):
        space_of, files_of = ({row.number: row for row in seen.of(kind)} for seen in (spaces, files))
        for listed in targets.parse_targets(_output(['lfs', command, path])):
            row = TargetRow(kind, listed.number, listed.uuid.replace('_UUID', ''), listed.active)
            space = space_of.get(listed.number)
            if not listed.active and (space is None or space.fault):
                row = row._replace(takes_objects=False)
            elif space is not None:
                row = _measured(row, space, files_of.get(listed.number))
            elif away:
                row = row._replace(flags=(f'state unknown, because lfs df waits for {away}',))
            elif not spaces.complete:
                away = row.name
                row = row._replace(fault='does not answer', takes_objects=False)
            rows.append(row)
    return tuple(rows)


def _measured(row: TargetRow, space: targets.Space, files: Optional[targets.Space]) -> TargetRow:
    if not space.fault:
        row = row._replace(bytes_total=space.total, bytes_free=space.free)
    row = row._replace(takes_objects=space.takes_objects)
    if files is not None and not files.fault:
        row = row._replace(inodes_total=files.total, inodes_free=files.free)
    return row._replace(flags=tuple(targets.FLAGS.get(flag, flag) for flag in space.flags), fault=space.fault)


def _client_state(instance: str, options: str) -> Dict[str, str]:
    wished = {name: f'.*-{instance}.'.join(name.rsplit('.', 1)) for name in CLIENT_PARAMETERS}
    imports = [f'{kind}.*-{instance}.import' for kind in ('osc', 'mdc')]
    history = [f'{kind}.*-{instance}.state' for kind in ('osc', 'mdc')]
    seen, errors = _params([*wished.values(), *imports, *history, *SERVER_PARAMETERS, 'jobid_var'])

    def shown(pattern: str) -> Dict[str, str]:
        return {_device(row.name): row.value for row in seen if fnmatch.fnmatchcase(row.name, pattern)}

    def not_shown(pattern: str) -> str:
        return unknown(errors.get(pattern.replace('.', '/'), 'lctl did not report it'))

    state = {}
    for name, pattern in wished.items():
        key, values = name.rpartition('.')[2], shown(pattern)
        for device, value in values.items():
            values[device] = params.parse_fields(value).get(key, '') if '\n' in value else value
        state[name] = _agreed(values) or not_shown(pattern)
    if 'lruresize' in options.split(','):
        state['ldlm.namespaces.lru_size'] = 'dynamic'  # the number then is that of the locks of the moment
    for pattern in SERVER_PARAMETERS:
        state[pattern] = _agreed(shown(pattern)) or unknown('no MDT on this node')
    states = {device: params.parse_states(value) for device, value in shown('*.state').items()}
    lost = [loss for loss in params.incidents({}, states) if loss.state == 'EVICTED']
    evictions = [f'{_target(loss.device)} at {time.strftime("%F %T", time.localtime(loss.time_s))}' for loss in lost]
    state[REMEMBERED] = '; '.join(evictions) or (NONE_REMEMBERED if states else not_shown(history[0]))
    state['jobid_var'] = next((param.value for param in seen if param.name == 'jobid_var'), unknown('not reported'))
    known = [params.parse_import(param.value) for param in seen if param.name.endswith('.import')]
    versions = {_target(import_.name): import_.server_version for import_ in known}
    state['server versions'] = _agreed(versions) or not_shown(imports[0])
    lost_now = [f'{_target(import_.name)} is {import_.state}' for import_ in known if import_.state not in IN_ORDER]
    state['imports'] = ('; '.join(sorted(lost_now)) or 'all in order') if known else _checked(instance)
    return state


def _agreed(values: Dict[str, str]) -> str:
    """The value that all devices have; else each value with its targets: '8 on OST 0-2; 64 on OST 3'."""
    by_value: Dict[str, List[str]] = {}
    for device, value in values.items():
        by_value.setdefault(value.strip(), []).append(device)
    if len(by_value) <= 1:
        return ''.join(by_value)
    return '; '.join(f'{value} on {_places(devices)}' for value, devices in sorted(by_value.items()))


def _places(devices: List[str]) -> str:
    numbers: Dict[str, List[int]] = {}
    for device in devices:
        target = _target(device)
        numbers.setdefault(target[:3], []).append(int(target[3:], 16) if _TARGET.match(target) else 0)
    return ', '.join(f'{kind} {base.spelled(of_kind)}' for kind, of_kind in sorted(numbers.items()))


def _checked(instance: str) -> str:
    """Runs lfs check, which any user may: it exits with 0, and reports faults on stderr."""
    lost = []
    for kind in ('osts', 'mdts'):
        try:
            answer = _ended(['lfs', 'check', kind])
            seen = targets.parse_check(answer.stdout, answer.stderr)
        except base.NoAnswer as error:
            return unknown(str(error))
        lost += [f'{_target(device)}: {fault}' for device, fault in seen.items() if fault and instance in device]
    return '; '.join(lost) or 'all in order'


def _device(name: str) -> str:
    return name.rpartition('.')[0].rpartition('.')[2]


def _target(device: str) -> str:
    match = _TARGET.search(device)
    return match.group(0) if match else device
