"""`seatrial verify`: checks the figures and verdicts of a session against the raw output of its engines."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

import seatrial
from seatrial.acceptance.bundle import ZIP, unpacked
from seatrial.acceptance.bundle_extracts import differing
from seatrial.acceptance.campaign import protocol_again
from seatrial.check.declared import load as load_checks
from seatrial.check.session import RESULTS, contract_of, left_out_of, session_folders
from seatrial.cli.options import THERE, checks_option, site_option
from seatrial.judge.session import SessionResult, judge_cases, judge_session
from seatrial.judge.verdict import EXIT_CODES, OF_CONTRACT, Criteria, Verdict, worst
from seatrial.model.foreign import NotReadable, read_json
from seatrial.model.owned import private_folder
from seatrial.model.plan import Case, TrialPlan
from seatrial.model.record import PLAN, Records
from seatrial.report.terminal import console, marked, say
from seatrial.report.words import chain_words, cut
from seatrial.session import evidence
from seatrial.session.results import plain_results
from seatrial.site.load import answering
from seatrial.workload.words import by_key, counted

CriteriaIn = Callable[[Path, Sequence[TrialPlan]], Mapping[Case, Criteria]]
"""Gives the criteria of the cases of the session in a folder."""


@click.command()
@click.argument('session', required=False, metavar='[SESSION | BUNDLE]')
@click.option('--signers', type=THERE, help='Allowed signers, one of whom signed the BUNDLE.')
@checks_option
@site_option
def verify(session: str | None, signers: Path | None, checks: Sequence[Path], site_folder: Path) -> int:
    """Compare the figures of a session with the raw output of its engines: of the newest, or of SESSION.

    The verdicts in its results.json are compared with those that follow from its records, by the references that it
    was begun with and the expectations that trial.yaml enforces.
    For a BUNDLE (a *.zip or a folder of `seatrial bundle`): the checksum of every file, each of its sessions, and the
    verdict of each criterion, judged again by contract.yaml and the records; no site is needed.
    Exit codes: 0 every figure equals the output, to the last bit, and every verdict the records; 11 something
    contradicts them, or was changed after it was written; 13 nothing does, but not everything can be compared.
    """
    screen = console()
    path = Path(session or '')
    # A folder that has cases is that of a session, as `seatrial run` prints it.
    if session and (session.endswith(ZIP) or (path.is_dir() and not (path / 'cases').is_dir())):
        return EXIT_CODES[_verify_bundle(screen, path, signers)]
    if signers:
        raise click.UsageError('--signers belongs to a BUNDLE; a session has no signature')
    site = answering(site_folder)
    folder = evidence.session_folder(site, session)

    def criteria_in(folder: Path, plans: Sequence[TrialPlan]) -> Mapping[Case, Criteria]:
        if contract_of(folder):
            return _of_contract(folder, plans)
        return evidence.criteria_of_the_day(site, load_checks(*checks), folder, plans)

    with evidence.judging(folder):
        return EXIT_CODES[_verify_session(screen, folder, criteria_in, evidence.read_case)]


def _of_contract(folder: Path, plans: Sequence[TrialPlan]) -> Mapping[Case, Criteria]:
    return dict.fromkeys((plan.case for plan in plans), OF_CONTRACT) if contract_of(folder) else {}


def _verify_bundle(screen: Console, file: Path, signers: Path | None) -> Verdict:
    if not file.exists():
        raise click.UsageError(f'{file} is not there; seatrial bundle makes one')
    with private_folder('seatrial-verify-') as scratch:
        state, read = Path(scratch), cache(evidence.read_case)
        faults = unpacked(file, state, signers)
        page, differences = protocol_again(state / 'site', state, read)
        if page:
            with evidence.judging(file):
                differences += differing(page, state, read)
        # What was changed is not unpacked: that it is not there would be a second word on it.
        named = {f'there is no {line.partition(" ")[0].removeprefix("site/")}' for line in faults}
        faults += [line for line in differences if line not in named]
        say(screen, *(line.replace(f'{scratch}/', '') for line in cut(faults, evidence.FAULTS_SHOWN)))
        sessions, verdicts = session_folders(state), []
        for folder in sessions:
            try:
                with evidence.judging(folder):
                    verdicts.append(_verify_session(screen, folder, _of_contract, read))
            except evidence.UNREADABLE as error:
                verdicts.append(Verdict.INVALID)
                say(screen, str(error).replace(f'{scratch}/', ''))
    verdict = worst([Verdict.INVALID if faults else Verdict.PASS, *verdicts])
    for row in page.rows if page else ():
        say(screen, Text.assemble(marked(row.verdict), f'  criterion {row.criterion.id}: {row.measured}'))
    say(screen, Text.assemble(_shown(verdict), f'  {file}: {counted(len(sessions), "session")}'))
    return verdict


def _verify_session(screen: Console, folder: Path, criteria_in: CriteriaIn, read: evidence.ReadCase) -> Verdict:
    cases, contradictions, unproved = list[tuple[TrialPlan, Records]](), list[str](), list[str]()
    for file in sorted(folder.glob(f'cases/*/{PLAN}')):
        plan, records, proof = read(file)
        cases.append((plan, records))
        words = [f'{counted(proof.launches, "launch", "launches")} as their output says']
        words += [counted(len(proof.contradictions), 'contradiction')] if proof.contradictions else []
        words += [f'{len(proof.unproved)} not proved'] if proof.unproved else []
        faults = cut([*proof.contradictions, *proof.unproved], evidence.FAULTS_SHOWN)
        say(screen, f'{plan.case.name}: {", ".join(words)}', *(f'  {line}' for line in faults))
        contradictions += proof.contradictions
        unproved += proof.unproved
    plans = [plan for plan, _ in cases]
    criteria = criteria_in(folder, plans) if (folder / RESULTS).is_file() else {}
    results = judge_cases(cases, criteria)
    profile = plans[0].profile if plans else ''
    whole = judge_session(folder.name, profile, results, criteria, left_out_of(folder))
    try:
        contradicted, uncompared = _compared(folder, plans, whole)
    except (KeyError, TypeError, AttributeError):
        contradicted, uncompared = [], ['it is not of this version of Seatrial, and is not compared']
    say(screen, *(f'{RESULTS}: {line}' for line in cut([*contradicted, *uncompared], evidence.FAULTS_SHOWN)))
    is_open = unproved or uncompared
    proved = Verdict.INVALID if contradictions or contradicted else Verdict.INCOMPLETE if is_open else Verdict.PASS
    say(screen, Text.assemble(_shown(proved), f'  session {folder.name}: {chain_words(whole.chain)}'))
    return proved


def _shown(verdict: Verdict) -> Text:
    return Text('verified') if verdict is Verdict.PASS else marked(verdict)


def _compared(folder: Path, plans: Sequence[TrialPlan], whole: SessionResult) -> tuple[list[str], list[str]]:
    """Contradictions between results.json and the records, and what cannot be compared; empty without the file.
    Raises KeyError, TypeError or AttributeError if it has another form."""
    try:
        saved = read_json(folder / RESULTS)
    except FileNotFoundError:
        return [], []
    except NotReadable as error:
        return [str(error)], []
    there, judged = (by_key(_parts(data)) for data in (saved, plain_results(whole)))
    faults, verdicts = [], []
    today = {plan.seatrial for plan in plans} == {seatrial.__version__}
    for name in dict.fromkeys([*judged, *there]):
        if name not in there:
            faults.append(f'{name} is missing, and is {judged[name][0][0]} by the records')
        elif name not in judged:
            faults.append(f'{name} is {there[name][0][0]}, and nothing of it is in the records')
        elif len(there[name]) != len(judged[name]):
            times = [counted(len(parts[name]), 'time') for parts in (there, judged)]
            faults.append(f'{name} is there {times[0]}, and {times[1]} in the records')
        else:
            for (verdict, rest), (again, expected) in zip(there[name], judged[name], strict=True):
                compared = dict.fromkeys([*rest, *expected]) if today else ['values']
                other = [key for key in compared if rest.get(key) != expected.get(key)]
                faults += [f'{name} is not as the record has it'] * ('values' in other)
                verdicts += [f'{name} is {verdict} there, and {again} by the records'] * (verdict != again)
                verdicts += [f'{name}: {key} is not what the records come to' for key in other if key != 'values']
    faults += [f'it was made of other records: {chain_words(saved["chain"])}'] * (saved['chain'] != whole.chain)
    why = _judged_otherwise(folder, plans, saved, whole) if verdicts else ''
    if why:
        return faults, [f'its verdicts differ, which proves nothing: {why}', *verdicts]
    return [*faults, *verdicts], []


def _judged_otherwise(
    folder: Path, plans: Sequence[TrialPlan], saved: Mapping[str, Any], whole: SessionResult
) -> str:
    """The reason why verdicts may differ today without an edit, as a clause; empty if they may not."""
    others = sorted({plan.seatrial for plan in plans} - {seatrial.__version__})
    if others:
        return f'Seatrial {", ".join(others)} judged on the day; verify with that version'
    # A session for a contract keeps all that it is judged by; of another one trial.yaml has it.
    if contract_of(folder) or _enforced(plain_results(whole)) == _enforced(saved):
        return ''
    why = 'other expectations were enforced on the day than trial.yaml and the checks enforce now'
    return f'{why}; verify with those of the day'


def _enforced(results: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The enforced expectations, each with its sentence: the limit stands in that alone."""
    of_cases = [row for case in results['cases'] for row in case['expectations']]
    all_ = [*of_cases, *results['relations']]
    return sorted((row['id'], row['relation']['sentence']) for row in all_ if row['enforced'])


def _parts(results: Mapping[str, Any]) -> Iterator[tuple[str, tuple[Any, Mapping[str, Any]]]]:
    """(name, (verdict, all else)) of the session, each case and each metric in results.json. Expectations are left
    out: the checks may have others today. Raises KeyError, TypeError or AttributeError."""
    of_all = {key: results.get(key) for key in ('profile', 'headline', 'scores', 'left_out')}
    yield 'the session', (results['verdict'], of_all)
    yield 'the number of cases by verdict', (results['counts'], {})
    for case in results['cases']:
        name = case['case']['name']
        yield name, (case['verdict'], _without(case, 'verdict', 'metrics', 'expectations'))
        for metric in case['metrics']:
            yield f'{name}: {metric["metric"]}', (metric['verdict'], _without(metric, 'verdict'))


def _without(data: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in keys}
