"""The file systems under test as the nodes saw them: settings and their changes, targets with their free space."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from seatrial.model.layout import TARGETS, target_key
from seatrial.model.record import TargetRow
from seatrial.model.state import Change, changes
from seatrial.report.evidence import CaseEvidence
from seatrial.report.words import cut
from seatrial.workload.words import by_key, counted

# Of a full target. Cori's Lustre fell to 53-66 % of its acceptance figures on full OSTs (Lockwood, 2017; rule P9).
FULL_SHARE = 0.8


def states(cases: Sequence[CaseEvidence]) -> list[dict[str, Any]]:
    """Every file system that a node has seen, in the order of the cases, as templates/state.html shows it. settings,
    targets: at the first start; changed: settings that changed within or between cases, each once, with the first
    value and the first other one; missing: numbers of the site's targets that are not visible, in words, or empty"""
    views = []
    for name, of_target in by_key((case.plan.target.name, case) for case in cases).items():
        begun = [(case.records.start, case) for case in of_target if case.records.start]
        begun.sort(key=lambda pair: pair[0].started)
        ends = [end for start, case in begun for end in (start, case.records.end) if end]
        seen = [dict(end.state) for end in ends if end.state]
        if seen:
            targets, changed = begun[0][0].targets, dict[str, Change]()
            ended = [case.records.end for _, case in begun if case.records.end]
            places = Counter(end.placed for end in ended if end.placed)
            placed = '; '.join(f'{where} ({counted(number, "case")})' for where, number in places.items())
            directories = {'run directories': placed} if placed else {}
            distinct = [state for number, state in enumerate(seen) if state not in seen[:number]]
            for earlier, later in combinations(distinct, 2):
                for change in changes(earlier, later):
                    changed.setdefault(change.key, change)
            views.append(
                {
                    'name': name,
                    'settings': seen[0] | directories,
                    'changed': [changed[key] for key in sorted(changed)],
                    'targets': [_filled(row) for row in targets],
                    'missing': _missing(begun[0][1], targets),
                }
            )
    return views


def changed_words(state: Mapping[str, Any]) -> str:
    """Changed settings in a sentence for a console: 'default layout: c1.S4M, then c4.S4M'; or empty."""
    lines = [f'{change.key}: {change.before or "none"}, then {change.after or "none"}' for change in state['changed']]
    if not lines:
        return ''
    few = '; '.join(cut(lines, 3, ' in the report'))
    return f'{state["name"]} changed while the session ran, so its figures may not be comparable: {few}'


def _filled(row: TargetRow) -> dict[str, Any]:
    """A target. share: used share of its bytes, None if unknown; note: its faults and warnings in words"""
    share = None
    if row.bytes_total and row.bytes_free is not None:
        share = 1 - row.bytes_free / row.bytes_total
    words = [row.fault] if row.fault else []
    words += [flag for flag in row.flags if flag not in row.fault]
    words += ['inactive'] if not row.active and not row.fault else []
    words += ['takes no new objects'] if row.takes_objects is False and not row.fault else []
    words += ['nearly full: figures on it are lower'] if share is not None and share >= FULL_SHARE else []
    return {'row': row, 'share': share, 'note': ', '.join(words)}


def _missing(case: CaseEvidence, targets: Sequence[TargetRow]) -> str:
    target, kinds = case.plan.target, [row.kind for row in targets]
    faults = []
    for kind in TARGETS:
        declared, present = getattr(target, target_key(kind)), kinds.count(kind)
        # Listed targets are those to test; the file system may have more.
        if kinds and declared not in (None, present) and kind not in target.listed:
            faults.append(f'trial.yaml declares {declared} {kind}s, but {present} are visible')
    return '; '.join(faults)
