"""How to repeat one point by hand: lines for a POSIX shell that make the same launches as the runner did.

They write neither into the records, which are evidence, nor into a run directory. Where they cannot do what the
runner did, they say so, and run nothing.
"""

import shlex
from collections.abc import Sequence
from itertools import pairwise

from seatrial.model.namespace import Namespace
from seatrial.model.plan import TrialPlan
from seatrial.model.work import unit
from seatrial.report import words
from seatrial.report.evidence import Step

DIRECTORY = 'seatrial-by-hand'
MOST_LINES = 2000
"""Of the directories of a launch and of its files together: more make no recipe, but a flood."""


def recipe(plan: TrialPlan, steps: Sequence[Step], raw: str) -> str:
    """The lines for one repetition of a point, without a line end. `raw` is the folder that the commands name."""
    why_not = next((why for step in steps if (why := _why_not(plan, step))), '')
    if why_not:
        return '\n'.join([f'# This cannot be repeated by hand: {why_not}.', *(f'# {_said(plan, s)}' for s in steps)])
    lines = [
        '(  # in a shell of its own, which ends if the directory cannot be made',
        *_runner(steps),
        f'cd {shlex.quote(plan.target.path)} && mkdir {DIRECTORY} && cd {DIRECTORY} || exit',
        *_layout(plan, steps),
        'export LC_ALL=C',
        'raw=$(mktemp -d -p "$HOME")  # reports of the engine: not on the file system under test, seen by all nodes',
        'export raw',
    ]
    for step in steps:
        lines += ['', f'# {_said(plan, step)}', *_inputs(step), *_directories(step), *_links(step)]
        lines += [*_forget(plan, step), *_commands(step, raw)]
    return '\n'.join([*lines, '', 'echo "The reports are in $raw. Afterwards: rm -r $raw $PWD"', ')'])


def _why_not(plan: TrialPlan, step: Step) -> str:
    """Why the launch cannot be made by hand, or nothing."""
    point = next((point for point in plan.points if point.label == step.sample.point), plan.points[0])
    if any(map(_carried, step.sample.command)) and (point.nodes > 1 or len(step.sample.command) != point.tasks):
        return f'its clients begin together on {point.nodes} nodes, which takes the runner of a job'
    lines = len(step.directories) + sum(text.count('\n') for text in step.inputs.values())
    return f'{lines} lines name the directories and files that it begins with' if lines > MOST_LINES else ''


def _carried(line: str) -> str:
    """The file of the runner, where a command runs one of its modules; else nothing. See engine/carried.py."""
    return next((home for word, home in pairwise(_words(line) or []) if 'from seatrial.' in word), '')


def _runner(steps: Sequence[Step]) -> list[str]:
    """A line that looks for the runner's file, where a launch is one of its own programs."""
    homes = dict.fromkeys(home for step in steps for line in step.sample.command if (home := _carried(line)))
    return [
        f'[ -e {home} ] || {{ echo {home} is gone, and with it the program that ran; exit; }}'
        for home in map(shlex.quote, homes)
    ]


def _layout(plan: TrialPlan, steps: Sequence[Step]) -> list[str]:
    """A line that waits until the directory has the layout of the point, where that is another than the default."""
    point = next((each for each in plan.points if steps and each.label == steps[-1].sample.point), plan.points[0])
    layout = point.layout or plan.target.layout
    if layout.is_default:
        return []
    return [f'echo "It had the layout {layout.canonical}. Give it to $PWD, then press return"; read -r _']


def _said(plan: TrialPlan, step: Step) -> str:
    sample = step.sample
    if sample.stage == 'prepare':
        return 'prepare what is read or listed'
    several = len(sample.figures) > 1
    rounded = {name: f'{value:.0f}' if value > 9999 else f'{value:.4g}' for name, value in sample.figures.items()}
    gave = [f'{name} {value}' if several else value for name, value in rounded.items()]
    figures = f'; it gave {words.listed(gave)} {unit(plan.workload)}' if gave else ''
    return f'{sample.operation}@{sample.point}{figures}'.replace('\n', ' ')


def _inputs(step: Step) -> list[str]:
    return [line for name, text in step.inputs.items() for line in _here(f'cat >"$raw"/{shlex.quote(name)}', text)]


def _directories(step: Step) -> list[str]:
    """Those below which there are no others: the rest are made on the way."""
    parents = {name.rpartition('/')[0] for name in step.directories}
    leaves = [name for name in step.directories if name not in parents]
    return _here("xargs -d '\\n' mkdir -p --", '\n'.join(leaves)) if leaves else []


def _here(command: str, text: str) -> list[str]:
    """A here document, quoted so that the shell changes nothing in it."""
    end = 'END'
    body = text.removesuffix('\n').split('\n')
    while end in body:
        end += '_'
    return [f"{command} <<'{end}'", *body, end]


def _links(step: Step) -> list[str]:
    return [f'ln -s {shlex.quote(leads_to)} {shlex.quote(name)}' for name, leads_to in step.links]


def _forget(plan: TrialPlan, step: Step) -> list[str]:
    """What the runner does before a read on one node: drop what the kernel holds of the files (dd(1), nocache)."""
    if isinstance(plan.workload, Namespace):
        cold = step.sample.cache == 'cold'
        return ['# It was cold: no client had seen the entries, or the caches were emptied before.'] if cold else []
    if step.sample.operation != 'read':
        return []
    return ['for file in data*; do dd if="$file" iflag=nocache count=0 status=none; done']


def _commands(step: Step, raw: str) -> list[str]:
    lines = [_elsewhere(line, raw) for line in step.sample.command]
    if len(lines) == 1:
        return lines
    together = [*(f'{line} &' for line in lines), 'wait']
    home = next((home for line in step.sample.command if (home := _carried(line))), '')
    if not home:
        return together
    python = (_words(step.sample.command[0]) or ['python3'])[0]
    return _here(
        f"{shlex.quote(python)} -I -S -c '{_BARRIER}' {shlex.quote(home)} {len(lines)} sh -s", '\n'.join(together)
    )


_BARRIER = """import os, subprocess, sys
sys.path.insert(0, sys.argv[1])
from seatrial.job.launch.barrier import Barrier
with Barrier(int(sys.argv[2])) as barrier:  # lets the clients begin together
    sys.exit(subprocess.call(sys.argv[3:], env=dict(os.environ, **barrier.environment)))"""


def _elsewhere(line: str, raw: str) -> str:
    """The shell line with $raw in place of the folder of the raw output, wherever a word names it."""
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
