"""The file systems under test as the nodes saw them: settings and their changes, targets with their free space."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from seatrial.model.record import TargetRow
from seatrial.model.state import Change, changes
from seatrial.report.evidence import CaseEvidence
from seatrial.report.words import cut
from seatrial.workload.words import counted

FULL_SHARE = 0.8
"""Of a target. Cori's Lustre fell to 53-66 % of its acceptance figures on full OSTs (Lockwood, 2017; rule P9)."""


def states(cases: Sequence[CaseEvidence]) -> list[dict[str, Any]]:
    """Every file system that a node has seen, in the order of the cases, as templates/state.html shows it.

    settings: at the first start, with the places of run directories
    changed: until the last end, and between cases: each key once, first and last value
    targets: at the first start; missing: how many of the site's targets are absent, in words, or empty
    """
    found = []
    for name in dict.fromkeys(case.plan.target.name for case in cases):
        own = [case for case in cases if case.plan.target.name == name and case.records.start]
        own.sort(key=lambda case: case.records.start.started if case.records.start else 0.0)
        ends = [end for case in own for end in (case.records.start, case.records.end) if end]
        seen = [dict(end.state) for end in ends if end.state]
        if seen:
            settings: dict[str, str] = {**seen[0], **_placed(own)}
            targets = own[0].records.start.targets if own[0].records.start else ()
            found.append(
                {
                    'name': name,
                    'settings': settings,
                    'changed': _changed(seen),
                    'targets': [_filled(row) for row in targets],
                    'missing': _missing(own[0], targets),
                }
            )
    return found


def changed_words(state: Mapping[str, Any]) -> str:
    """Changes for a console: 'default layout: c1.S4M, then c4.S4M'; empty if there are none."""
    said = [f'{each.key}: {each.before or "none"}, then {each.after or "none"}' for each in state['changed']]
    if not said:
        return ''
    few = '; '.join(cut(said, CHANGES_SHOWN, ' in the report'))
    return f'{state["name"]} changed while the session ran, figures before and after may not be of one system: {few}'


CHANGES_SHOWN = 3


def _placed(cases: Sequence[CaseEvidence]) -> dict[str, str]:
    found = Counter(case.records.end.placed for case in cases if case.records.end and case.records.end.placed)
    said = '; '.join(f'{where} ({counted(number, "case")})' for where, number in found.items())
    return {'run directories': said} if said else {}


def _changed(seen: Sequence[dict[str, str]]) -> list[Change]:
    """Every key with several values: the first and the first different one."""
    found: dict[str, Change] = {}
    for later in seen[1:]:
        for change in changes(seen[0], later):
            found.setdefault(change.key, change)
    return [found[key] for key in sorted(found)]


def _filled(row: TargetRow) -> dict[str, Any]:
    """A target. share: used part of its bytes, None if unknown; note: in words"""
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
    said = []
    of = case.plan.target
    for kind, wanted in (('OST', of.osts), ('MDT', of.mdts), ('brick', of.bricks)):
        there = sum(row.kind == kind for row in targets)
        listed = kind in of.listed  # those to be tested, of perhaps more
        if targets and wanted is not None and wanted != there and not listed:
            said.append(f'the site has {wanted} {kind}s, and {there} are seen')
    return '; '.join(said)
