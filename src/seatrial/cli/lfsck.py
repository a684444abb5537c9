"""`seatrial lfsck`: runs of Lustre's own check, from what its servers printed."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from seatrial.cli.options import PATH
from seatrial.filesystem.lustre.lfsck import TYPES, LfsckRun, parse_lfsck
from seatrial.filesystem.lustre.params import NotUnderstood
from seatrial.judge.expectations import ExpectationResult
from seatrial.judge.lfsck import MIN_S, fan_in, fan_out, linear, share, unsaturated, watched
from seatrial.judge.relations import Relation
from seatrial.judge.verdict import EXIT_CODES, Verdict, worst
from seatrial.model.telemetry import ServerLook, read_telemetry
from seatrial.report.terminal import console, marked, say, table_of
from seatrial.workload.words import by_key

SOURCE = 'Dai et al. 2019'
ALIKE = 0.05  # runs whose inodes differ by no more are of one file system (the source repeats at 0.88 M and 2.5 M)

_SKIPPED = 'LFSCK left these out, and they may be damaged; see that all targets are up, and run it again'
_ADVICE = {
    'init': 'it has not begun; start it with `lctl lfsck_start -A`',
    'failed': 'see the log of its server, and start it again',
    'stopped': 'somebody has stopped it; start it again',
    'paused': 'its server was unmounted; mount it and start it again',
    'crashed': 'its server went down meanwhile; see that it is up, and start it again',
    'partial': 'a target took no part; see that all are up, and start it again with `-A -r`',
}
"""The remedy for each status (lfsck_status2name); one that begins with `co-` has its cause on another target."""
_KEPT = 'files without their objects stay so until `-c on` makes empty ones (names without an inode: `-C on`)'
_WAIT = 'wait for `lctl lfsck_query -w`, and save it again'
_UNKNOWN = 'Seatrial does not know this counter; look it up in the Lustre manual, for it may count damage'


class _LfsckOutput(NamedTuple):
    name: str
    run: LfsckRun

    @property
    def verdict(self) -> Verdict:
        if self.run.inconsistencies:
            return Verdict.FAIL
        if self.run.unended or self.run.earlier or self.run.missing:
            return Verdict.INCOMPLETE
        return Verdict.INCONCLUSIVE if self.run.unclear else Verdict.PASS

    @property
    def timed(self) -> bool:
        return (self.run.seconds or 0) >= MIN_S


@click.command()
@click.argument('files', metavar='FILE...', type=PATH, nargs=-1, required=True)
@click.option(
    '--monitors',
    type=PATH,
    help='The telemetry.jsonl of a case with `monitors` that ran meanwhile: disks and packets of the servers.',
)
@click.option('--mds', help='Which of its servers is the MDS; all others are OSS.')
def lfsck(files: Sequence[Path], monitors: Path | None, mds: str | None) -> int:
    """Judge runs of LFSCK from saved output, one FILE a run, in the order in which they ran; nothing is started.

    A FILE holds what `lctl get_param mdd.*.lfsck_* obdfilter.*.lfsck_layout` prints on all MDS and OSS afterwards,
    and what `lctl lfsck_query` and `lfs df` say of the targets there are. Exit codes: 0 PASS, all are complete and
    nothing inconsistent was found; 10 FAIL, a counter of inconsistencies or failures is not 0; 12 INCONCLUSIVE,
    objects were skipped, or a counter that Seatrial does not know is not 0; 13 INCOMPLETE, a target is missing, took
    no part or has not completed its run.
    """
    looks = _looks(monitors, mds)
    read = [_LfsckOutput(file.name, _read(file)) for file in files]
    screen = console()
    table = table_of('run', 'types', 'dry run', '#MDTs', '#OSTs', '#inodes', '#seconds', '#inodes/s', 'verdict')
    for output in read:
        run = output.run
        mdts = len({scan.target for scan in run.scans if scan.mdt})
        seconds, rate = '-', '-'
        if run.seconds is not None:
            seconds = str(run.seconds)
            rate = f'{run.inodes / (run.seconds or 1):,.0f}' if output.timed else f'below {MIN_S} s'
        what = output.name, ', '.join(run.types), 'yes' if run.dry else 'no', str(mdts), str(run.osts)
        table.add_row(*what, f'{run.inodes:,}', seconds, rate, marked(output.verdict))
    screen.print(table)
    for output in read:
        say(screen, *(f'{output.name}: {sentence}' for sentence in _reasons(output)))
    for result in (*_relations(read), *_monitored(read, looks, mds or '')):
        say(screen, f'{result.id} {result.sentence} ({result.subject}: {result.relation.sentence})')
    return EXIT_CODES[worst(output.verdict for output in read)]


def _read(file: Path) -> LfsckRun:
    try:
        return parse_lfsck(file.read_text(errors='surrogateescape'))
    except NotUnderstood as error:
        raise click.UsageError(f'{file}: {error}') from None
    except OSError as error:
        raise click.UsageError(f'{file}: {os.strerror(error.errno or 0)}') from None


def _looks(monitors: Path | None, mds: str | None) -> dict[str, list[ServerLook]]:
    """A file's samples by server, which must include the MDS and another. Empty without a file. Raises UsageError."""
    if (monitors is None) != (mds is None):
        raise click.UsageError('--monitors and --mds go together')
    if monitors is None:
        return {}
    try:
        with monitors.open(encoding='utf-8', errors='replace') as stream:
            telemetry = read_telemetry(stream)
    except OSError as error:
        raise click.UsageError(f'{monitors}: {os.strerror(error.errno or 0)}') from None
    silent = {gap.server: list[ServerLook]() for gap in telemetry.server_gaps}
    looks = {**silent, **by_key((look.server, look) for look in telemetry.server_looks)}
    if mds not in looks or len(looks) < 2:
        has = ', '.join(looks) or 'none; it takes monitors in trial.yaml'
        raise click.UsageError(f'{monitors}: --mds is one of two servers or more that it has seen: {has}')
    return looks


def _monitored(
    files: Sequence[_LfsckOutput], looks: Mapping[str, Sequence[ServerLook]], mds: str
) -> Iterator[ExpectationResult]:
    for file in files if looks else ():
        if not file.timed or file.run.span is None:
            continue
        servers = {name: watched(seen, *file.run.span) for name, seen in looks.items()}
        yield _result('FS-03', 'no disk is fully utilised (95 %, chosen)', file.name, unsaturated(servers))
        words = 'the MDS sends about as many times the packets that one OSS receives as there are OSS'
        yield _result('FS-04', words, file.name, fan_out(mds, servers))
        words = 'the MDS receives up to twice as many packets as it sends'
        yield _result('FS-04', words, file.name, fan_in(mds, servers))


def _reasons(file: _LfsckOutput) -> Iterator[str]:
    for name, count in sorted(file.run.inconsistencies.items()):
        yield f'{name} {count:,}, expected 0'
    for name, count in sorted(file.run.unclear.items()):
        yield f'{name} {count:,}: {_SKIPPED if name.endswith("skipped") else _UNKNOWN}'
    for scan in file.run.unended:
        advice = _ADVICE.get(scan.status.replace('co-', ''), _WAIT)
        yield f'{scan.type} of {scan.target} is {scan.status}; {advice}'
    for scan in file.run.earlier:
        yield f'{scan.type} of {scan.target} had ended before this run began: it took no part; see that it is up'
    for sentence in file.run.missing:
        yield f'{sentence}; see that all targets are up, and save what all servers say when it has ended'
    yield from file.run.left_out
    if not file.run.dry:
        left = f', but not {" and ".join(file.run.kept)}: {_KEPT}' if file.run.kept else ''
        yield f'not a dry run: what it found it has repaired{left}; start it with `-n on` to look only'


def _relations(files: Sequence[_LfsckOutput]) -> Iterator[ExpectationResult]:
    """The source's findings, judged on runs that are long enough to be timed."""
    timed = [(file, file.run, file.run.seconds or 0) for file in files if file.timed]
    alike = by_key(((run.types, run.osts), (run.inodes, seconds)) for _, run, seconds in timed)
    for (types, osts), runs in sorted(alike.items()):
        sizes, times = zip(*runs, strict=True)
        if len(set(sizes)) > 1:
            named = f'{" and ".join(types)}, {osts} OSTs'
            yield _result('FS-01', 'the time is linear in inodes', named, linear(sizes, times))
    for i, (first, before, before_s) in enumerate(timed):
        for second, after, after_s in timed[i + 1 :]:
            if abs(after.inodes - before.inodes) > ALIKE * before.inodes:
                continue
            named = f'{second.name} beside {first.name}'
            if (before.types, before.osts) == (after.types, after.osts) == (('layout',), before.osts):
                words = 'a layout scan takes 130 s in place of 500 s once metadata are cached (half, chosen)'
                yield _result('FS-05', words, named, share(after_s, before_s, most=0.5))
            elif before.types == after.types and before.osts != after.osts:
                more, fewer = (after_s, before_s) if after.osts > before.osts else (before_s, after_s)
                yield _result('FS-02', 'more servers take longer', named, share(more, fewer, least=1))
            elif {before.types, after.types} == {('namespace',), TYPES}:  # no OST has a part in the namespace
                part, whole = (after_s, before_s) if after.types == ('namespace',) else (before_s, after_s)
                words = 'the namespace takes 400 s of 500 s (0.7, chosen)'
                yield _result('FS-06', words, named, share(part, whole, least=0.7))
    for file, run, _ in timed:
        words = 'the second phase is short where nothing is wrong (a tenth, chosen)'
        yield _result('FS-09', words, file.name, share(run.phases_s[1], sum(run.phases_s), most=0.1))


def _result(test: str, words: str, subject: str, relation: Relation) -> ExpectationResult:
    return ExpectationResult(test, words, SOURCE, subject, relation)
