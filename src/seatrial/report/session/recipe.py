"""Shell commands to repeat each point by hand: the recorded launches as lines for a POSIX shell.

They write neither into the records, which are evidence, nor into a run directory. If they cannot do what the runner
did, they say so, and run nothing.
"""

import re
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from seatrial.model.plan import TrialPlan
from seatrial.report.evidence import CaseEvidence, LaunchEvidence
from seatrial.report.figures import brief
from seatrial.report.words import clean, point_words
from seatrial.workload.base import COLD
from seatrial.workload.registry import kind_of
from seatrial.workload.words import counted

DIRECTORY = 'seatrial-by-hand'
MAX_LINES = 2000
"""Of the directories of a launch and of its files together: more make no recipe, but a flood."""


def commands(cases: Sequence[CaseEvidence], system: str) -> str:
    """The text of commands.txt: for each measured point its launches as they ran, and how to repeat them."""
    lines = []
    for case in cases:
        for point in case.plan.points:
            if steps := case.steps.get(point.label):
                lines += [
                    f'#### {case.plan.case.name}: {point_words(case.plan.axis, point)}',
                    f'## as it ran, in {steps[-1].sample.directory}',
                    *(line for step in steps for line in step.sample.command),
                    '',
                    '## again, leaving the records as they are',
                    recipe(case.plan, steps, case.raw, system),
                    '',
                ]
    return clean('\n'.join(lines))


def recipe(plan: TrialPlan, steps: Sequence[LaunchEvidence], raw: str, system: str) -> str:
    """The lines for one repetition of a point, without a line end. steps: its launches, at least one; raw: the folder
    that the commands name"""
    why_not = next((why for step in steps if (why := _why_not(step))), '')
    if why_not:
        launches = [f'# {_said(step, system)}' for step in steps]
        return '\n'.join([f'# This cannot be repeated by hand: {why_not}.', *launches])
    nodes = max(step.sample.point.nodes for step in steps)
    homes = dict.fromkeys(shlex.quote(runner.home) for runner in map(_runner, steps) if runner)
    layout = steps[-1].sample.point.layout or plan.target.layout
    lines = [
        *([f'# In an allocation of {counted(nodes, "node")}, on one of them:'] if nodes > 1 else []),
        '(  # in a shell of its own, which ends if the directory cannot be made',
        *(f'[ -e {home} ] || {{ echo {home} is gone, and with it the program that ran; exit; }}' for home in homes),
        f'cd {shlex.quote(plan.target.path)} && mkdir {DIRECTORY} && cd {DIRECTORY} || exit',
        *([] if layout.is_default else [_LAYOUT.format(layout.canonical)]),
        'raw=$(mktemp -d -p "$HOME")  # reports of the engine: not on the file system under test, seen by all nodes',
    ]
    exported: tuple[str, ...] = ()
    for step in steps:
        lines += ['', f'# {_said(step, system)}']
        if step.sample.environment != exported:
            exported = step.sample.environment
            lines += [f'export {shlex.quote(setting)}' for setting in exported]
        lines += [*_inputs(step, raw), *_directories(step)]
        lines += [f'ln -s {shlex.quote(leads_to)} {shlex.quote(name)}' for name, leads_to in step.sample.links]
        lines += [*_cold(step), *_commands(step, raw)]
    return '\n'.join([*lines, '', 'echo "The reports are in $raw. Afterwards: rm -r $raw $PWD"', ')'])


_LAYOUT = 'echo "It had the layout {}. Give it to $PWD, then press return"; read -r _'


class _Runner(NamedTuple):
    """A command that runs a module of the runner (engine/node_program.py)."""

    python: str
    home: str  # file of the runner
    launched: bool  # whether a launcher starts it


def _runner(step: LaunchEvidence) -> _Runner | None:
    for line in step.sample.command:
        words = _words(line) or []
        at = next((i for i, word in enumerate(words[:-1]) if i > 3 and 'from seatrial.' in word), 0)
        if at:
            return _Runner(words[at - 4], words[at + 1], at > 4)
    return None


def _why_not(step: LaunchEvidence) -> str:
    """The reason why the launch cannot be repeated by hand, or empty."""
    gone = [name for name in step.sample.inputs if name not in step.inputs]
    if gone:
        return f'{gone[0]} is gone, which it was given'
    lines = len(step.sample.directories) + sum(text.count('\n') for text in step.inputs.values())
    return f'{lines} lines name the directories and files that it begins with' if lines > MAX_LINES else ''


def _said(step: LaunchEvidence, system: str) -> str:
    sample = step.sample
    if sample.stage == 'prepare':
        return 'prepare what is read or listed'
    metrics = sample.measurement.metrics if sample.measurement else ()
    gave = [
        f'{f"{metric.name} " if len(metrics) > 1 else ""}{brief(metric.value, metric.unit, system)}'
        for metric in metrics
    ]
    return f'{sample.launch}{"; it gave " if gave else ""}{", ".join(gave)}'.replace('\n', ' ')


def _inputs(step: LaunchEvidence, raw: str) -> list[str]:
    """The files given to the engine; $raw replaces the folder of the raw output in them."""
    lines = []
    for name, text in step.inputs.items():
        file = f'"$raw"/{shlex.quote(name)}'
        lines += _here(f'cat >{file}', text)
        if f'{raw}/' in text:
            was = re.sub(r'([].*^$|\\[])', r'\\\1', raw)
            lines.append(f'sed -i {shlex.quote(f"s|{was}/|")}"$raw"{shlex.quote("/|g")} {file}')
    return lines


def _directories(step: LaunchEvidence) -> list[str]:
    """A line that makes the directories without subdirectories; the others are made on the way."""
    directories = step.sample.directories
    parents = {name.rpartition('/')[0] for name in directories}
    leaves = [name for name in directories if name not in parents]
    return _here("xargs -d '\\n' mkdir -p --", '\n'.join(leaves)) if leaves else []


def _here(command: str, text: str) -> list[str]:
    """A here document, quoted so that the shell changes nothing in it."""
    end = 'END'
    body = text.removesuffix('\n').split('\n')
    while end in body:
        end += '_'
    return [f"{command} <<'{end}'", *body, end]


def _cold(step: LaunchEvidence) -> list[str]:
    """The runner's step before a read on one node: drop what the kernel caches of the files (dd(1), nocache)."""
    sample = step.sample
    kind = kind_of(sample.point.kind)
    phase = kind.phase(sample.phase)
    if not phase.reads or phase.warm:
        return []
    if kind.moves_data and sample.point.nodes == 1:
        return ['for file in data*; do dd if="$file" iflag=nocache count=0 status=none; done']
    cold = sample.cache == COLD
    return ['# It was cold: no task had seen this before, or the caches were emptied.'] if cold else []


def _commands(step: LaunchEvidence, raw: str) -> list[str]:
    sample, runner = step.sample, _runner(step)
    lines = [_elsewhere(line, raw) for line in sample.command]
    several = len(lines) > 1
    lines = [*(f'{line} &' for line in lines), 'wait'] if several else lines
    if runner is None or not sample.barrier:
        return lines
    nodes = sample.point.nodes + runner.launched  # more than one: tasks reach the barrier by the name of this host
    holder = f"{shlex.quote(runner.python)} -I -S -c '{_BARRIER}' {shlex.quote(runner.home)}"
    return [
        f'# The runner let {counted(sample.barrier, "task")} begin together: each waits at a barrier until all have',
        '# come. Python holds it while the commands below run, and gives them its address in the environment.',
        '# To start without it: run what stands behind the number of each task and that of all of them.'
        if any(_WRAPPER in text for text in (*sample.command, *step.inputs.values()))
        else '# Without it the tasks do not start.',
        *_here(f'raw=$raw {holder} {sample.barrier} {nodes} sh -s', '\n'.join(lines)),
    ]


_WRAPPER = 'from seatrial.engine.start_together '
"""In the commands of ordinary programs that were started at the barrier, and do not know of it themselves."""

_BARRIER = """import os, subprocess, sys
sys.path.insert(0, sys.argv[1])
from seatrial.job.launch.barrier import Barrier
with Barrier(int(sys.argv[2]), int(sys.argv[3])) as barrier:
    sys.exit(subprocess.call(sys.argv[4:], env=dict(os.environ, **barrier.environment)))"""


def _elsewhere(line: str, raw: str) -> str:
    """The shell line with $raw in place of the folder of the raw output, in every word that names it."""
    split = _words(line)
    if split is None:
        return '# this command is damaged in the record'
    elsewhere = []
    for word in split:
        parts = [shlex.quote(part) if part else '' for part in word.split(f'{raw}/')]
        elsewhere.append('"$raw"/'.join(parts) or "''")
    return ' '.join(elsewhere)


def _words(line: str) -> list[str] | None:
    try:
        return shlex.split(line)
    except ValueError:
        return None
