"""What the figures of a case are held against: the check's expectations and the site's references and choices."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from seatrial.check.declared import Declared
from seatrial.check.planning import Unplannable, cases_of, points_of
from seatrial.check.session import Session
from seatrial.judge.references import Reference
from seatrial.judge.verdict import Criteria
from seatrial.model.plan import Case, metric
from seatrial.model.work import measures, unit
from seatrial.site.profile import PROFILES
from seatrial.site.references import Measured, load_references, references_file


def with_references(session: Session, checks: Mapping[str, Declared], complete: bool = True) -> Session:
    """The session with the references of its site, all of them checked against what its trials measure.

    complete: whether `checks` are all that there are; if not, what speaks of others is passed over. Raises SiteError.
    """
    if complete:
        known = {each.name: (each.family, {one.id for one in each.expectations}) for each in checks.values()}
        session.site.check_enforced(known)
    file = references_file(session.site.folder)
    if file is None:
        return session
    measured = {name: list(_measured(session, each)) for name, each in checks.items()}
    return replace(session, references=tuple(load_references(file, measured, complete)))


def criteria_of(session: Session, declared: Declared, case: Case) -> Criteria:
    """What this case is held against in this session."""
    profile = session.profile.name
    return Criteria(
        expectations=declared.expectations,
        enforced=frozenset(session.site.overrides(case, declared.family, profile).enforce),
        references=tuple(
            Reference(each.metric, each.value, each.low, each.high, each.unit, each.origin, each.date, each.engine)
            for each in session.references
            if (each.profile, each.case) == (profile, case)
        ),
    )


def _measured(session: Session, declared: Declared) -> Iterator[Measured]:
    """Every metric of a check that a trial of the site measures; a smoke test judges nothing."""
    for profile in PROFILES.values():
        everywhere = replace(session, profile=profile, only=(), system=None)
        for case in cases_of(everywhere, declared) if not profile.repetitions else ():
            try:
                points = points_of(everywhere, declared, case)
            except Unplannable:
                continue
            for name in (
                metric(name, each.label)
                for each in points
                for operation in declared.workload.operations
                for name in measures(declared.workload, operation, each)
            ):
                yield Measured(
                    profile.name,
                    case.partition,
                    case.file_system,
                    case.layout,
                    case.nodes,
                    name,
                    unit(declared.workload),
                )
