"""Genuine outputs of fio, as the tests of its engines read them, and its job files."""

import configparser
import json
from collections.abc import Callable
from typing import Any

from seatrial.engine.base import Command, Outcome, ProcessTime
from transcript import transcripts

TRANSCRIPTS = transcripts('fio')


def text(name: str, section: str) -> str:
    return TRANSCRIPTS[name].get(section, '')


def outcome(
    name: str,
    report: str | None = None,
    status: int | None = None,
    stderr: str | None = None,
    lived_s: float | None = None,
) -> Outcome:
    """The outcome of one process, by its transcript; values that are given replace those of the transcript."""
    ended = int(text(name, 'rc')) if status is None else status
    process = ProcessTime('node1', 0.0, float(text(name, 'seconds')) if lived_s is None else lived_s, ended)
    err = text(name, 'err') if stderr is None else stderr
    json_ = text(name, 'json') if report is None else report
    return Outcome((process,), (text(name, 'out'),), (err,), (json_ or None,))


def outcome_on_two(name: str) -> Outcome:
    """The outcome of two processes that ran at the same time, by their transcript, as if on two nodes."""
    return Outcome(
        tuple(ProcessTime(*process) for process in json.loads(text(name, 'processes'))),
        ('', ''),
        tuple(text(name, f'{rank}.err') for rank in range(2)),
        tuple(text(name, f'{rank}.json') or None for rank in range(2)),
    )


def inputs_of_two(name: str) -> dict[str, str]:
    return {f'/raw/1.{rank}.fio': text(name, f'{rank}.fio') for rank in range(2)}


def report_of(name: str, section: str = 'json') -> Any:
    """The data of its report, without the notes before it."""
    output = text(name, section)
    return json.JSONDecoder().raw_decode(output, output.index('{\n'))[0]


def changed(name: str, change: Callable[[Any], object]) -> str:
    """Its report after a change of its data."""
    data = report_of(name)
    change(data)
    return json.dumps(data, indent=2)


def sections(job_file: str) -> dict[str, dict[str, str]]:
    """The jobs of a job file by their names, each with the global options."""
    parser = configparser.ConfigParser(delimiters=('=',), default_section='global')
    parser.read_string(job_file)
    return {section: dict(parser[section]) for section in parser.sections()}


def jobs_in(command: Command) -> list[dict[str, str]]:
    """The jobs of all job files of a command, in the order of ranks."""
    files = (content for path, content in command.inputs.items() if path.endswith('.fio'))
    return [job for content in files for job in sections(content).values()]
