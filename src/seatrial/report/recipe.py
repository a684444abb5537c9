"""How to repeat one point by hand: lines for a POSIX shell that make the same launches as the runner did.

They write neither into the records, which are evidence, nor into a run directory.
"""

import shlex
from collections.abc import Sequence

from seatrial.model.plan import TrialPlan
from seatrial.report.evidence import Step

DIRECTORY = 'seatrial-by-hand'


def recipe(plan: TrialPlan, steps: Sequence[Step], raw: str) -> str:
    """The lines for one repetition of a point, without a line end. `raw` is the folder that the commands name."""
    lines = [
        '(  # in a shell of its own, which ends if the directory cannot be made',
        f'cd {shlex.quote(plan.target.path)} && mkdir {DIRECTORY} && cd {DIRECTORY} || exit',
        'export LC_ALL=C',
        'raw=$(mktemp -d -p "$HOME")  # reports of the engine: not on the file system under test, seen by all nodes',
    ]
    for step in steps:
        lines += ['', f'# {_said(step)}', *_inputs(step), *_links(step), *_forget(step), *_commands(step, raw)]
    return '\n'.join([*lines, '', 'echo "The reports are in $raw. Afterwards: rm -r $raw $PWD"', ')'])


def _said(step: Step) -> str:
    sample = step.sample
    figure = f'; it gave {sample.measurement.bandwidth:.4g} MiB/s' if sample.measurement else ''
    verb = 'prepare the files to be read' if sample.stage == 'prepare' else f'{sample.operation}@{sample.point}'
    return f'{verb}{figure}'.replace('\n', ' ')


def _inputs(step: Step) -> list[str]:
    """Here documents, quoted so that the shell changes nothing in them."""
    lines = []
    for name, text in step.inputs.items():
        end = 'END'
        body = text.removesuffix('\n').split('\n')
        while end in body:
            end += '_'
        lines += [f'cat >"$raw"/{shlex.quote(name)} <<\'{end}\'', *body, end]
    return lines


def _links(step: Step) -> list[str]:
    return [f'ln -s {shlex.quote(leads_to)} {shlex.quote(name)}' for name, leads_to in step.links]


def _forget(step: Step) -> list[str]:
    """What the runner does before a read on one node: drop what the kernel holds of the files (dd(1), nocache)."""
    if step.sample.operation != 'read':
        return []
    return ['for file in data*; do dd if="$file" iflag=nocache count=0 status=none; done']


def _commands(step: Step, raw: str) -> list[str]:
    lines = [_elsewhere(line, raw) for line in step.sample.command]
    return lines if len(lines) == 1 else [*(f'{line} &' for line in lines), 'wait']


def _elsewhere(line: str, raw: str) -> str:
    """The shell line with $raw in place of the folder of the raw output, wherever a word names it."""
    try:
        split = shlex.split(line)
    except ValueError:
        return '# this command is damaged in the record'
    words = []
    for word in split:
        parts = [shlex.quote(part) if part else '' for part in word.split(f'{raw}/')]
        words.append('"$raw"/'.join(parts) or "''")
    return ' '.join(words)
