"""`seatrial baseline`: writes references into references.yaml from the figures of several sessions."""

import difflib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import polars as pl
import yaml
from rich.console import Console
from rich.text import Text

from seatrial.check.criteria import with_references
from seatrial.check.declared import load as load_checks
from seatrial.check.session import Session, new_id
from seatrial.cli.options import checks_option, site_option
from seatrial.history.provenance import CASE, sentence
from seatrial.history.rows import OF_ONE_SESSION
from seatrial.judge.references import BASELINE, Baseline, baseline_of
from seatrial.judge.verdict import Verdict
from seatrial.model.atomic_file import write_whole
from seatrial.model.owned import private_folder
from seatrial.model.plan import Case
from seatrial.model.units import in_unit, unit_for
from seatrial.report.figures import percent
from seatrial.report.terminal import console, say
from seatrial.report.words import cut
from seatrial.session.chosen_sessions import WHICH, chosen
from seatrial.site import yaml_file
from seatrial.site.error import SiteError
from seatrial.site.load import answering
from seatrial.site.model import Site
from seatrial.site.profile import PROFILES
from seatrial.site.references import INDEX, REFERENCES_FILE, SEATRIAL
from seatrial.workload.base import CACHED
from seatrial.workload.words import counted

MIN_SESSIONS = 3  # the interval of two means, which differ by next to nothing or by much, is of no use (t is 12.7)
WIDEST = 0.9  # share of the value: a bound at a tenth of it judges nothing
LEAST_WIDTH = 0.001  # share of the value: a width of 0 is refused; only simulated storage never varies
SHOWN = 20
STORAGE_FAILED = ('F1', 'F2')
Change = tuple[tuple[str | int, ...], Any, str]
"""The keys of a value in references.yaml, the value, and the comment behind it."""


@click.command(help=f'Make references from SESSIONS. Each is {WHICH}.')
@click.argument('sessions', nargs=-1, required=True, metavar='SESSIONS...')
@click.option('--yes', is_flag=True, help='Write what is shown into references.yaml.')
@checks_option
@site_option
def baseline(sessions: tuple[str, ...], yes: bool, checks: Sequence[Path], site_folder: Path) -> None:
    site = answering(site_folder)
    screen = console()
    wanted = ','.join(sessions)
    (rows,) = chosen(site, [wanted], screen)
    rows = _usable(rows, [term.strip() for term in wanted.split(',')], screen)
    _check(rows)
    file = (site.folder / REFERENCES_FILE).resolve()  # a link stays one
    before = _text(file)
    after, left_out = _edited(before, rows, site.units)
    say(screen, *(f'no baseline: {line}' for line in cut(left_out, SHOWN)))
    if after == before:
        say(screen, f'{file} has nothing to change')
        return
    _judge(site, checks, rows['profile'][0], after)
    texts = before.splitlines(), after.splitlines()
    for line in difflib.unified_diff(*texts, REFERENCES_FILE, REFERENCES_FILE, lineterm='', n=1):
        say(screen, Text(line, {'+': 'green', '-': 'red'}.get(line[0], '')))
    of = counted(rows['session'].n_unique(), 'session')
    if not yes:
        say(screen, f'nothing was written; --yes writes this baseline of {of} into {file}')
        return
    if _text(file) != before:
        raise click.UsageError(f'{file} was changed meanwhile; nothing was written, begin again')
    mode = file.stat().st_mode if file.exists() else None
    write_whole(file, after)
    if mode is not None:
        file.chmod(mode)
    say(screen, f'{file} has the baseline of {of}')


def _text(file: Path) -> str:
    return yaml_file.read_text(file) if file.exists() else ''


def _usable(rows: pl.DataFrame, wanted: Sequence[str], screen: Console) -> pl.DataFrame:
    """The rows without unusable sessions of a day or a label, which are shown. UsageError for one chosen by name."""
    unusable = []
    for (name,), of_session in rows.group_by('session', maintain_order=True):
        verdict, rules = of_session['session_verdict'][0], set(' '.join(of_session['rules'].drop_nulls()).split())
        fault = f'it is {verdict}' if verdict in (Verdict.INVALID, Verdict.INCOMPLETE) else ''
        if set(STORAGE_FAILED) & rules:
            fault = 'the storage failed in it'
        if fault and any(str(name).startswith(term) for term in wanted):
            raise click.UsageError(f'session {name} cannot be part of a baseline: {fault}; name others')
        if fault:
            unusable.append(name)
            say(screen, f'left out session {name}: {fault}')
    return rows.filter(~pl.col('session').is_in(unusable))


def _check(rows: pl.DataFrame) -> None:
    if not rows.height:
        raise click.UsageError('none of these sessions can be part of a baseline; name others')
    frames = [of_session for _, of_session in rows.group_by('session', maintain_order=True)]
    profiles = sorted(set(rows['profile']))
    if len(profiles) > 1 or not PROFILES[profiles[0]].judges:
        remedy = 'a baseline is of one profile that judges, as nightly'
        raise click.UsageError(f'sessions of the profile {" and ".join(profiles)}; {remedy}')
    if len(frames) < MIN_SESSIONS:
        remedy = f'how far nights differ takes {MIN_SESSIONS} at least, better 10'
        raise click.UsageError(f'{counted(len(frames), "session")}; {remedy}')
    if differing := sentence(frames):
        raise click.UsageError(f'{differing}; name sessions that measured with the same')


def _edited(text: str, rows: pl.DataFrame, system: str) -> tuple[str, list[str]]:
    """The file with the baselines, and the metrics without one, with reasons. SiteError for a malformed file."""
    if text:
        yaml_file.parse(text, REFERENCES_FILE)
    if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)):
        raise SiteError([f'{REFERENCES_FILE}: an alias (*) would change two places at once; write its values out'])
    there, profile = yaml.safe_load(text), rows['profile'][0]
    baselines, left_out = _baselines(rows, profile, system)
    changes = list[Change]()
    for check in dict.fromkeys(keys[0] for keys, _, _ in baselines):
        of_check, place = rows.filter(pl.col('check') == check), (SEATRIAL, check, profile)
        facts: dict[str, Any] = {'origin': BASELINE, 'date': max(of_check['session_started'].to_list()).date()}
        facts |= {'sessions': sorted(set(of_check['session']))}
        engines = of_check['engine'].drop_nulls().unique().to_list()
        facts |= {'engine': engines[0]} if len(engines) == 1 else {}
        known = _at(there, place)
        changes += [((*place, key), value, '') for key, value in facts.items()] if known else [(place, facts, '')]
        changes += [] if _at(there, (check, '$index')) else [((check, '$index'), list(INDEX), '')]
    for keys, value, comment in [*changes, *baselines]:
        try:
            text = yaml_file.with_value(text, keys, value, comment)
        except ValueError as error:
            raise SiteError([f'{REFERENCES_FILE}: {error}']) from None
    return text, left_out


def _baselines(rows: pl.DataFrame, profile: str, system: str) -> tuple[list[Change], list[str]]:
    """References to every metric that all sessions have; the other metrics with the reason. system: of units"""
    sessions = rows['session'].n_unique()
    changes, left_out = list[Change](), list[str]()
    judged = rows.filter(~OF_ONE_SESSION & (pl.col('unit').fill_null('') != ''))
    groups = list(judged.group_by(*CASE, 'metric', maintain_order=True))
    for (check, *environment, metric), of_metric in groups:
        name, value = f'{Case(check, *environment).name} {metric}', pl.col('value')
        counts = pl.col('valid') & (pl.col('metric_verdict') != Verdict.INVALID.value)
        valid = of_metric.filter(counts, value > 0, value.is_finite())
        samples = [of_session['value'].to_list() for _, of_session in valid.group_by('session', maintain_order=True)]
        if len(samples) < sessions:
            left_out.append(f'{name}: valid in {len(samples)} of {counted(sessions, "session")}')
        elif valid['unit'].n_unique() > 1:
            left_out.append(f'{name}: in {" and ".join(sorted(set(valid["unit"])))}; name sessions of one unit')
        elif CACHED in set(valid['cache']):
            left_out.append(f'{name}: it was read from a cache, and no reference is made of that')
        elif (own_baseline := baseline_of(samples, len(groups))).width > WIDEST:
            left_out.append(f'{name}: it varies too much for a bound that any session could miss; take more sessions')
        else:
            spread = f'within {percent(own_baseline.within)}, between {percent(own_baseline.between)}'
            comment = f'# baseline: {sessions} sessions, spread {spread}'
            reference = _reference(own_baseline, of_metric['unit'][0], system)
            changes.append(((check, profile, *environment, metric), reference, comment))
    return changes, left_out


def _reference(baseline: Baseline, base_unit: str, system: str) -> list[Any]:
    """The entry in references.yaml: the value rounded to five digits, its bounds to a thousandth further out."""
    unit = unit_for(baseline.value, base_unit, system)
    value = in_unit(baseline.value, unit)
    width = math.ceil(1000 * max(baseline.width, LEAST_WIDTH)) / 1000
    return [round(value, max(1, 4 - math.floor(math.log10(value)))), -width, width, unit]


def _judge(site: Site, checks: Sequence[Path], profile: str, text: str) -> None:
    """Raises SiteError for a references.yaml that `seatrial run` would refuse."""
    session = Session(new_id(), Path(site.state), site, PROFILES[profile], site.engine_choices())
    with private_folder('seatrial-baseline-') as folder:
        file = Path(folder) / REFERENCES_FILE
        file.write_text(text, encoding='utf-8')
        with_references(session, load_checks(*checks), file=file)


def _at(data: Any, keys: Sequence[Any]) -> Any:
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data
