"""The criteria of a case: the check's expectations, and the references and choices of the site."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from seatrial.check.declared import Declared
from seatrial.check.planning import Unplannable, cases_of, resolved
from seatrial.check.session import Session, references_of
from seatrial.judge.expectations import GuaranteeHolds, Limited
from seatrial.judge.verdict import Criteria
from seatrial.model.plan import Case, metric
from seatrial.site.error import problem, raise_any
from seatrial.site.model import TRIAL_FILE
from seatrial.site.profile import PROFILES
from seatrial.site.references import REFERENCES_FILE, Measured, load_references, references_file
from seatrial.workload.registry import metrics_at
from seatrial.workload.sweep import ALL_NODES


def with_references(
    session: Session, checks: Mapping[str, Declared], complete: bool = True, file: Path | None = None
) -> Session:
    """The session with the references of its site, checked against what its trials measure. Raises SiteError.
    complete: whether `checks` are all checks; if not, references of others are skipped; file: replaces the site's"""
    if complete:
        known = {check.name: (check.family, {one.id for one in check.expectations}) for check in checks.values()}
        every = [expectation for check in checks.values() for expectation in check.expectations]
        limited = {one.id: one for one in every if isinstance(one, Limited)}
        session.site.check_enforced(known, {one.id for one in every if isinstance(one, GuaranteeHolds)}, limited)
        raise_any(  # limits that nothing could miss, or nothing could keep
            problem(TRIAL_FILE, ['trials', i, 'enforce', k], f'{limit:g} for {id_}: {fault}')
            for i, trial in enumerate(session.site.trial_file.trials)
            for k, (id_, limit) in enumerate(trial.enforce)
            if limit is not None and (fault := replace(limited[id_], limit=limit).limit_fault())
        )
        session.site.check_overrides({check.name: check.family for check in checks.values()})
    file = file or references_file(session.site.folder)
    if file is None:
        return session
    measured = {name: _measured(session, check) for name, check in checks.items()}  # made only for those in the file
    references = load_references(file, measured, complete)
    raise_any(
        problem(
            REFERENCES_FILE,
            [case.check, profile, *map(str, case[1:]), reference.metric],
            'the groups of a node sweep have other nodes in every session, so they cannot have a baseline; '
            f'name a metric that ends with @{ALL_NODES}',
        )
        for (profile, case), of_case in references.items()
        for reference in of_case
        if checks[case.check].axis.equals == 'node' and not reference.metric.endswith(f'@{ALL_NODES}')
    )
    return replace(session, references=references)


def criteria_of(session: Session, declared: Declared | None, case: Case) -> Criteria:
    """The criteria of this case in this session; for a check that no longer exists, its references alone."""
    limits = session.site.enforced(case, declared.family, session.profile.name) if declared else {}
    expectations = list(declared.expectations if declared else ())
    for place, expectation in enumerate(expectations):
        limit = limits.get(expectation.id)
        if limit is not None and isinstance(expectation, Limited):  # the site's own
            expectations[place] = replace(expectation, limit=limit)
    references = references_of(session, case)
    return Criteria(tuple(expectations), frozenset(limits), references, of_contract=bool(session.contract))


def _measured(session: Session, declared: Declared) -> Iterator[Measured]:
    """Every metric that a trial of the site measures with this check; not in smoke tests, which judge nothing."""
    for profile in PROFILES.values():
        everywhere = replace(session, profile=profile, only=(), system=None)
        for case in cases_of(everywhere, declared) if profile.judges else ():
            try:
                points = resolved(everywhere, declared, case).points
            except Unplannable:
                continue
            tasks = max(point.tasks for point in points)
            for point in points:
                for measure in metrics_at(point):
                    name = metric(measure.name, point.label)
                    yield Measured(profile.name, *case[1:], name, measure.unit, measure.better, tasks)
