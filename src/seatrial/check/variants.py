"""The variants of a check in ReFrame, their tags, and the variables that `-S` sets in them."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from pydantic import ValidationError

from seatrial.check.catalogue import rows_of
from seatrial.check.declared import Declared
from seatrial.check.planning import cases_of
from seatrial.check.session import Session
from seatrial.engine.registry import NAMES
from seatrial.model.plan import Case
from seatrial.model.quoted_value import choice, show
from seatrial.site.error import SiteError
from seatrial.site.load import problem_of
from seatrial.site.model import Overrides, Site
from seatrial.site.profile import PROFILES
from seatrial.site.yaml_file import parse
from seatrial.workload.registry import hurts, kind_of, metrics_at
from seatrial.workload.sweep import examples
from seatrial.workload.words import by_key

ENGINE = 'engine'
SETTABLE = (ENGINE, *Overrides.model_fields)
"""Variables of every check beside ReFrame's own: empty leaves it to the site, the check or the profile."""

SKIP, FAIL = 'skip', 'fail'
"""Values of `-S undecided`, for MEASURED and INCONCLUSIVE; without it the one passes in ReFrame, the other fails."""

DECIDED = {
    'valid_systems': 'trial.yaml says on which partitions a case runs; choose cases with -n, -t, -E or --system',
    **dict.fromkeys(
        ('file_system', 'layout', 'num_nodes', 'tags'), 'it belongs to the case; choose cases with -n, -t or -E'
    ),
    'num_tasks': 'set tasks_per_node or max_tasks',
    'num_tasks_per_node': 'set tasks_per_node',
    'time_limit': 'it is computed from the plan; set budget',
    'max_pending_time': 'write queue_limit under partitions of trial.yaml',
    'executable': 'every check starts the runner of Seatrial; set engine',
    **dict.fromkeys(('prerun_cmds', 'postrun_cmds'), 'write prepare_cmds under the partition in settings.py'),
    'reference': 'write references.yaml beside settings.py',
    'perf_variables': 'they are the metrics of the workload',
    'records': 'they are kept in the state directory of trial.yaml',
    'verdict': 'it is the result of the case',
}
"""ReFrame's variables and those of a check that `-S` cannot set, and what to do instead."""

_ACCESS_CLASS = re.compile(r'\b[SM]F[WS]A\b')


class Variant(NamedTuple):
    profile: str
    file_system: str
    layout: str
    nodes: int
    partitions: tuple[str, ...]  # system:partition

    def __str__(self) -> str:
        return f'{self.file_system}/{self.layout}/{self.nodes}n/{self.profile}'

    def on(self, check: str, partition: str) -> Case:
        return Case(check, partition, self.file_system, self.layout, self.nodes)


def variants_of(session: Session, declared: Declared) -> list[Variant]:
    """The variants for the session's profile; in plain ReFrame for every profile, selected by tags."""
    by_case = by_key(
        ((profile.name, case.file_system, case.layout, case.nodes), case.partition)
        for profile in (PROFILES.values() if session.plain else (session.profile,))
        for case in cases_of(replace(session, profile=profile), declared)
    )
    return [Variant(*key, tuple(partitions)) for key, partitions in by_case.items()]


def tags_of(declared: Declared) -> set[str]:
    """The tags that all cases of a check have: its kind, and the tests of the sources that it covers."""
    point = examples(declared.sweep, declared.workload)[0]
    kind, units = kind_of(point.kind), {measure.unit for measure in metrics_at(point)}
    does = {
        'data': kind.moves_data or 'B/s' in units,
        'metadata': not kind.moves_data and 'op/s' in units,
        'destructive': hurts(point),
    }
    tags = {tag for tag, true in does.items() if true}
    return {declared.family, *_ACCESS_CLASS.findall(kind.title_of(point)), *tags, *rows_of(declared)}


def tags_of_case(site: Site, variant: Variant) -> set[str]:
    """The tags of one case: its profile, and its scale in the words of EESSI's test suite."""
    trials = [trial for trial in site.trial_file.trials if not set(trial.partitions).isdisjoint(variant.partitions)]
    whole = variant.nodes == max(number for trial in trials for number in trial.nodes)
    scale = '1_node' if variant.nodes == 1 else f'{variant.nodes}_nodes'
    return {variant.profile, scale, *(['all_nodes'] if whole else [])}


def with_set(session: Session, values: Mapping[str, str]) -> Session:
    """The session with the values set by `-S` in place of every trial's. Raises SiteError for an invalid value."""
    given = {name: parse(text, f'-S {name}') for name, text in values.items()}
    engine = given.pop(ENGINE, None)
    if engine is not None:
        if engine not in NAMES:
            raise SiteError([f'-S {ENGINE}: {show(engine)} is not an engine; {choice(engine, NAMES)}'])
        session = replace(session, engines=session.site.engine_choices(engine))
    try:
        fixed = Overrides.model_validate(given).model_dump(include=set(given))
    except ValidationError as error:
        raise SiteError([problem_of(detail, '-S', Overrides) for detail in error.errors(include_url=False)]) from None
    trials = [trial.model_copy(update=fixed) for trial in session.site.trial_file.trials]
    return replace(session, site=session.site.with_trials(trials))
