"""What the figures of a case are held against: the check's expectations and the site's references and choices."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from seatrial.check.declared import Declared
from seatrial.check.planning import Unplannable, cases_of, points_of
from seatrial.check.session import Session
from seatrial.judge.expectations import Promise
from seatrial.judge.references import Reference
from seatrial.judge.verdict import Criteria
from seatrial.model.plan import Case, metric
from seatrial.model.work import measures, unit
from seatrial.model.workload import TOGETHER
from seatrial.site.error import SiteError, problem
from seatrial.site.profile import PROFILES
from seatrial.site.references import REFERENCES_FILE, Measured, load_references, references_file
from seatrial.site.references import Reference as SiteReference


def with_references(session: Session, checks: Mapping[str, Declared], complete: bool = True) -> Session:
    """The session with the references of its site, all of them checked against what its trials measure.

    complete: whether `checks` are all that there are; if not, what speaks of others is passed over. Raises SiteError.
    """
    if complete:
        known = {each.name: (each.family, {one.id for one in each.expectations}) for each in checks.values()}
        promises = {one.id for each in checks.values() for one in each.expectations if isinstance(one, Promise)}
        session.site.check_enforced(known, promises)
        session.site.check_overrides({each.name: each.family for each in checks.values()})
    file = references_file(session.site.folder)
    if file is None:
        return session
    measured = {name: list(_measured(session, each)) for name, each in checks.items()}
    references = tuple(load_references(file, measured, complete))
    refused = [_no_baseline(each) for each in references if _of_other_nodes(each, checks[each.case.check])]
    if refused:
        raise SiteError(refused)
    return replace(session, references=references)


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


def _of_other_nodes(reference: SiteReference, declared: Declared) -> bool:
    """Whether what a session has shown is held against a group of a node sweep, which every session forms anew."""
    of_group = declared.sweep.axis == 'group' and not reference.metric.endswith(f'@{TOGETHER}')
    return of_group and reference.origin == 'baseline'


def _no_baseline(reference: SiteReference) -> str:
    profile, case = reference.profile, reference.case
    keys = [case.check, profile, case.partition, case.file_system, case.layout, str(case.nodes), reference.metric]
    return problem(
        REFERENCES_FILE,
        keys,
        'a group of a node sweep is other nodes in every session, so there is no baseline of it; '
        f'take a metric of @{TOGETHER}, or a contract for whatever nodes they are',
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
            clients = max(each.tasks for each in points)
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
                    clients,
                )
