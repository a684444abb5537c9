"""One run of LFSCK by its servers' outputs: `lctl get_param mdd.*.lfsck_* obdfilter.*.lfsck_layout`, all in one text;
beside them `lctl lfsck_query` and `lfs df` tell which targets there are. Each target keeps the last run of each type.
Fields: a 2.17, lfsck_layout_dump, lfsck_namespace_dump; their meaning: the manual, "LFSCK status of layout"."""

import re
from collections import Counter
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from seatrial.filesystem.lustre.params import NotUnderstood, Param, matched, number, parse_fields, parse_params

TYPES = ('namespace', 'layout')
COMPLETED = 'completed'
CLOCKS_S = 5  # that the clocks of two servers may be apart

_PARAM = re.compile(r'(mdd|obdfilter)\.(.+)\.lfsck_(namespace|layout)\Z')
_SETTING = re.compile(r'mdd\..+\.lfsck_(async_windows|speed_limit)\Z')  # mdd.*.lfsck_* beside the runs (2.17)
_FAULT = re.compile(
    r'(repaired_\w+|\w+_repaired|inconsistent_\w+|\w+_inconsistent|updated_phase[12]|unknown_inconsistency'
    r'|linkea_overflow_cleared|striped_dirs_disabled|local_lost_found_moved|failed_phase[12]|\w+_failed)\Z'
)
"""Inconsistencies and failures. What a run has updated, cleared, disabled or moved was inconsistent before."""
_HARMLESS = re.compile(  # numbers that say when a run was, how far it came, how fast, and what it looked at
    r'(magic|version|\w+_time|time_since_\w+|\w+_position|success_count|checked_phase[12]|(run_time|\w+_speed)_\w+'
    r'|directories|multiple_linked_checked|\w+_scanned)\Z'
)
_KEPT = {'repaired_dangling': 'create_ostobj', 'dangling_repaired': 'create_mdtobj'}
"""Counters of damage that is counted as repaired and stays, unless the run has this option (2.17, seen)."""
_DAMAGED = ('inconsistent', 'crashed_lastid')  # flags of a target with damage (lfsck_flags_names in lfsck_lib.c)
_COUNT = re.compile(r'\d+')
_SECONDS = re.compile(r'(\d+) seconds\Z')
_QUERY = re.compile(r'(layout|namespace)_(?:(mdts|osts)_([a-z][\w-]*)|repaired): +(\d+)\s*\Z')
_DF = re.compile(r'(?:(\S+-(?:OST|MDT)[0-9a-f]{4})_UUID\b|UUID |filesystem_summary:)')
_LEAST = ('status', 'param', 'checked_phase1', 'run_time_phase1', 'run_time_phase2')


class Scan(NamedTuple):
    """One target's report of its last run of one type."""

    target: str
    type: str  # 'namespace' or 'layout'
    mdt: bool  # whether the target is an MDT
    status: str  # 'completed', 'init', 'scanning-phase1', 'partial',
    options: Tuple[str, ...]  # options of the run: 'dryrun', 'all_targets', 'orphan',
    checked: int  # objects of the first phase
    phases_s: Tuple[int, int]  # run times of both phases, in whole seconds
    began_s: Optional[int]  # whole ones since 1970 by the server's clock; None where the run has none
    ended_s: Optional[int]
    # names and numbers of inconsistencies (repaired ones unless a dry run) and failures; a flag of damage counts as 1
    inconsistencies: Tuple[Tuple[str, int], ...]
    # the same of counters that are neither these nor harmless: what was skipped, and what is not known here
    unclear: Tuple[Tuple[str, int], ...]


class LfsckRun(NamedTuple):
    """The scans of all targets, in the order of the text."""

    scans: Tuple[Scan, ...]
    missing: Tuple[str, ...] = ()  # targets of lfsck_query or lfs df that have no scan here, as sentences
    left_out: Tuple[str, ...] = ()  # types whose scans belong to no run or an earlier one, as sentences

    @property
    def types(self) -> Tuple[str, ...]:
        return tuple(kind for kind in TYPES if any(scan.type == kind for scan in self.scans))

    @property
    def dry(self) -> bool:
        """True if nothing was repaired by any MDT. OSTs do not know it in all versions."""
        return all('dryrun' in scan.options for scan in self.scans if scan.mdt)

    @property
    def inodes(self) -> int:
        """Objects that the MDTs checked in their first phase, each once."""
        return sum(scan.checked for scan in self.scans if scan.mdt and scan.type == self.types[0])

    @property
    def osts(self) -> int:
        return len({scan.target for scan in self.scans if not scan.mdt})

    @property
    def span(self) -> Optional[Tuple[int, int]]:
        """Begin and end of the longest scan, in whole seconds of its server's clock; None for a run without end."""
        spans = [(scan.began_s, scan.ended_s) for scan in self.scans]
        known = [(began, ended) for began, ended in spans if began is not None and ended is not None]
        return None if self.unended or len(known) < len(spans) else max(known, key=lambda span: span[1] - span[0])

    @property
    def seconds(self) -> Optional[int]:
        return self.span and self.span[1] - self.span[0]

    @property
    def phases_s(self) -> Tuple[int, int]:
        """Run times of both phases, for the type and MDT whose second one took longest."""
        return max((scan.phases_s for scan in self.scans if scan.mdt), key=lambda phases: (phases[1], phases[0]))

    @property
    def unended(self) -> Tuple[Scan, ...]:
        return tuple(scan for scan in self.scans if scan.status != COMPLETED)

    @property
    def earlier(self) -> Tuple[Scan, ...]:
        """Scans that had ended before the last one began: they belong to another run."""
        return tuple(scan for scan in self.scans if _is_earlier(scan, self.scans))

    @property
    def inconsistencies(self) -> Dict[str, int]:
        return sum((Counter(dict(scan.inconsistencies)) for scan in self.scans), Counter())

    @property
    def kept(self) -> Tuple[str, ...]:
        """The counters of damage that was counted as repaired and left as it was."""
        lacking = {name for scan in self.scans for name, option in _KEPT.items() if option not in scan.options}
        return tuple(name for name in self.inconsistencies if name in lacking)

    @property
    def unclear(self) -> Dict[str, int]:
        """Counters that may mean damage, over all targets, by name."""
        return sum((Counter(dict(scan.unclear)) for scan in self.scans), Counter())


def _is_earlier(scan: Scan, scans: Sequence[Scan]) -> bool:
    newest = max(other.began_s or 0 for other in scans)
    return scan.status == COMPLETED and scan.ended_s is not None and scan.ended_s + CLOCKS_S < newest


def parse_lfsck(text: str) -> LfsckRun:
    """A run from the outputs of all servers in any order. Raises NotUnderstood: a target twice, no MDT, cut short."""
    scans: List[Scan] = []
    parameters, query, names = _apart(text)
    for param in parse_params(parameters):
        if not _SETTING.match(param.name):
            room, target, kind = matched(_PARAM, param.name, 'not a parameter of LFSCK').groups()
            scans.append(_scan(param, room == 'mdd', target, kind))
    for (target, kind), count in Counter((scan.target, scan.type) for scan in scans).items():
        if count > 1:
            raise NotUnderstood(f'{kind} of {target} is there twice; a file holds one run')
    for kind in {scan.type for scan in scans}:
        if not any(scan.mdt for scan in scans if scan.type == kind):
            raise NotUnderstood(f'the {kind} scan of the MDTs is missing; add mdd.*.lfsck_{kind} of the MDS')
    if not scans:
        raise NotUnderstood('no run of LFSCK is shown')
    kept, left_out = _of_last_run(scans)
    return LfsckRun(kept, tuple(_missing(kept, query, names)), left_out)


def _apart(text: str) -> Tuple[str, Dict[str, Dict[str, int]], List[str]]:
    """The parameters; lfsck_query's last number of targets by status, by 'layout_osts'; the targets of lfs df."""
    parameters: List[str] = []
    query: Dict[str, Dict[str, int]] = {}
    names: List[str] = []
    for line in text.splitlines(keepends=True):
        asked, listed = _QUERY.match(line), _DF.match(line)
        if asked is not None and asked.group(2):
            kind, role, status, count = asked.groups()
            query.setdefault(f'{kind}_{role}', {})[status] = int(count)
        elif listed is not None and listed.group(1):
            names.append(listed.group(1))
        elif asked is None and listed is None:
            parameters.append(line)
    return ''.join(parameters), query, names


def _of_last_run(scans: List[Scan]) -> Tuple[Tuple[Scan, ...], Tuple[str, ...]]:
    """The scans of the types of the last run, and sentences about the other types."""
    had = {scan.type for scan in scans if scan.began_s is not None and not _is_earlier(scan, scans)}
    kept = tuple(scan for scan in scans if not had or scan.type in had)
    others = {scan.type: scan.began_s is not None for scan in scans if scan not in kept}
    sentences = (
        f'{kind} is not judged: {"its scans are of an earlier run" if ran else "it has never run"}'
        for kind, ran in others.items()
    )
    return kept, tuple(sentences)


def _missing(scans: Sequence[Scan], query: Dict[str, Dict[str, int]], names: Sequence[str]) -> Iterator[str]:
    for kind in dict.fromkeys(scan.type for scan in scans):
        for role, mdt in (('mdts', True), ('osts', False)):
            counts = query.get(f'{kind}_{role}', {})
            whole = sum(counts.values())
            here = sum(scan.type == kind and scan.mdt == mdt for scan in scans)
            if whole > here:
                yield f'lfsck_query counts {whole} {role[:3].upper()}s in {kind}, but the output of {here} is here'
            for status, count in counts.items():
                if count and status != COMPLETED:
                    yield f'lfsck_query says that {kind} is {status} on {count} of {whole} {role[:3].upper()}s'
    seen = {scan.target for scan in scans}
    osts = any(not scan.mdt for scan in scans) or any(scan.type == 'layout' for scan in scans)
    for name in names:
        if name not in seen and (osts or '-MDT' in name):
            yield f'the output of {name}, which lfs df lists, is missing'


def _scan(param: Param, mdt: bool, target: str, kind: str) -> Scan:
    fields = parse_fields(param.value)
    # The last field of both types: without it the text was cut short, and counters may be missing.
    for name in (*_LEAST, 'current_position'):
        if name not in fields:
            raise NotUnderstood(f'{param.name} has no {name}; was the output cut short?')
    damage, unclear = [], []
    for name, value in fields.items():
        count = _COUNT.match(value)
        if _FAULT.match(name) and value != '0':
            damage.append((name, number(value, f'{name}: {value}')))
        elif count and int(count.group()) and not _FAULT.match(name) and not _HARMLESS.match(name):
            unclear.append((name, int(count.group())))
    damage += [(flag, 1) for flag in _DAMAGED if flag in fields.get('flags', '').split(',')]
    about = target, kind, mdt, fields['status'], tuple(filter(None, fields['param'].split(',')))
    checked = number(fields['checked_phase1'], param.name)
    phases_s = _whole_seconds(fields, 'run_time_phase1'), _whole_seconds(fields, 'run_time_phase2')
    began_and_ended = _time(fields, 'latest_start_time'), _time(fields, 'last_completed_time')
    return Scan(*about, checked, phases_s, *began_and_ended, tuple(damage), tuple(unclear))


def _whole_seconds(fields: Dict[str, str], name: str) -> int:
    return int(matched(_SECONDS, fields[name], f'{name} is not a number of seconds').group(1))


def _time(fields: Dict[str, str], name: str) -> Optional[int]:
    value = fields.get(name, 'N/A')
    return None if value == 'N/A' else number(value, f'{name}: {value}')
