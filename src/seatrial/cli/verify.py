"""`seatrial verify`: every figure of a session made again from the raw output of its engines."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from seatrial.check.verified import Verified, verified
from seatrial.cli.bundle import ZIP, unpacked
from seatrial.cli.campaign import SESSIONS, protocol_again
from seatrial.cli.evidence import FAULTS_SHOWN, named, plan_in, sessions_of
from seatrial.cli.extracts import differing
from seatrial.cli.options import site_option
from seatrial.cli.results import RESULTS
from seatrial.cli.terminal import console, marked
from seatrial.job.sequence.recorder import records_in
from seatrial.judge.case import judge_case
from seatrial.judge.session import judge_session
from seatrial.judge.verdict import EXIT_CODES, CaseResult, Verdict, worst
from seatrial.model.record import PLAN
from seatrial.report.words import chain_words, cut
from seatrial.site.load import answering
from seatrial.workload.words import counted


@click.command()
@click.argument('session', required=False, metavar='[SESSION | BUNDLE]')
@click.option(
    '--signers', type=click.Path(path_type=Path, exists=True), help='Allowed signers, one of whom signed the BUNDLE.'
)
@site_option
def verify(session: str | None, signers: Path | None, site_folder: Path) -> int:
    """Compare the figures of a session with the raw output of its engines: of the newest, or of SESSION.

    Of a BUNDLE (a *.zip or a folder of `seatrial bundle`) the sum of every file, each of its sessions, and the
    verdict of each criterion, judged again by contract.yaml and the records; no site is needed.
    Exit codes: 0 every figure is that of the output, to the last bit; 11 something contradicts it, or was changed
    after it was written; 13 nothing does, but not all of it is there to compare with.
    """
    screen = console()
    if session and (session.endswith(ZIP) or Path(session).is_dir()):
        return EXIT_CODES[_verify_bundle(screen, Path(session), signers)]
    if signers:
        raise click.UsageError('--signers belongs to a BUNDLE; a session has no signature')
    site = answering(site_folder)
    known = sessions_of(site)
    if not known:
        raise click.UsageError(f'there is no session in {site.state}; seatrial run makes one')
    folder = site.session_folder(named(known, session, site.state) if session else known[-1])
    return EXIT_CODES[_verify_session(screen, folder)]


def _verify_bundle(screen: Console, file: Path, signers: Path | None) -> Verdict:
    if not file.exists():
        raise click.UsageError(f'{file} is not there; seatrial bundle makes one')
    with tempfile.TemporaryDirectory(prefix='seatrial-verify-') as scratch:
        faults = unpacked(file, Path(scratch), signers)
        page, differences = protocol_again(Path(scratch) / 'site', Path(scratch))
        faults += differences
        faults += differing(page, Path(scratch)) if page else []
        for said in cut(faults, FAULTS_SHOWN):
            screen.print(said, soft_wrap=True)
        sessions = sorted(Path(scratch).glob(f'{SESSIONS}/*'))
        verdicts = [_verify_session(screen, each) for each in sessions]
    verdict = worst([Verdict.INVALID if faults else Verdict.PASS, *verdicts])
    for row in page.rows if page else ():
        screen.print(
            Text.assemble(marked(row.verdict), f'  criterion {row.asked.id}: {row.measured}'), soft_wrap=True
        )
    said = f'  {file}: {counted(len(sessions), "session")}'
    screen.print(Text.assemble(_shown(verdict), said), soft_wrap=True)
    return verdict


def _verify_session(screen: Console, folder: Path) -> Verdict:
    results = []
    proved = Verdict.PASS
    for file in sorted(folder.glob(f'cases/*/{PLAN}')):
        plan = plan_in(file)
        found = verified(plan, file.parent)
        result = judge_case(plan, records_in(str(file.parent)))
        results.append(result)
        screen.print(f'{plan.case.name}: {_words(found)}', soft_wrap=True)
        for said in cut([*found.contradictions, *found.unproved], FAULTS_SHOWN):
            screen.print(f'  {said}', soft_wrap=True)
        if found.contradictions:
            proved = Verdict.INVALID
        elif found.unproved and proved is Verdict.PASS:
            proved = Verdict.INCOMPLETE
    whole = judge_session(folder.name, '', results)
    try:
        contradicted = _contradicted(folder, results, whole.chain)
        proved = Verdict.INVALID if contradicted else proved
    except (KeyError, TypeError):
        contradicted = ['it is not of this version of Seatrial, and is not compared']
        proved = Verdict.INVALID if proved is Verdict.INVALID else Verdict.INCOMPLETE
    for said in cut(contradicted, FAULTS_SHOWN):
        screen.print(f'{RESULTS}: {said}', soft_wrap=True)
    said = f'  session {folder.name}: {chain_words(whole.chain)}'
    screen.print(Text.assemble(_shown(proved), said), soft_wrap=True)
    return proved


def _shown(verdict: Verdict) -> Text:
    return Text('verified') if verdict is Verdict.PASS else marked(verdict)


def _words(found: Verified) -> str:
    said = [f'{counted(found.launches, "launch", "launches")} as their output says']
    if found.contradictions:
        said.append(counted(len(found.contradictions), 'contradiction'))
    if found.unproved:
        said.append(f'{len(found.unproved)} not proved')
    return ', '.join(said)


def _contradicted(folder: Path, results: list[CaseResult], chain: str) -> list[str]:
    """Which figures of results.json are not those of the records; nothing where it is not there.

    Raises KeyError or TypeError where it has another form.
    """
    try:
        said = json.loads((folder / RESULTS).read_text())
    except FileNotFoundError:
        return []
    except ValueError:
        return ['it is no JSON']
    values = {(each.case.name, one.metric): list(one.values) for each in results for one in each.metrics}
    found = [
        f'{name}: {metric} is not as the record has it'
        for (name, metric), figures in _figures(said).items()
        if values.get((name, metric)) != figures
    ]
    return found + [f'it was made of other records: {chain_words(said["chain"])}'] * (said['chain'] != chain)


def _figures(results: Mapping[str, Any]) -> dict[tuple[str, str], list[float]]:
    """The values of each metric in results.json, by the names of case and metric. Raises KeyError or TypeError."""
    return {
        (case['case']['name'], metric['metric']): metric['values']
        for case in results['cases']
        for metric in case['metrics']
    }
