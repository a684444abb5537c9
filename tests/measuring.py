"""What the tests of engines share: points of data access, command lines, and refusals."""

import configparser

import pytest

from seatrial.engine.base import EngineError
from seatrial.model.units import KIB
from seatrial.workload.access import data_access

MFWA = data_access('multiple')


def access_point(workload=MFWA, tasks=2, transfers=4, transfer_size=64 * KIB, nodes=1):
    return workload._replace(
        nodes=nodes,
        tasks=tasks,
        tasks_per_node=tasks // nodes,
        transfer_size=transfer_size,
        bytes_per_task=transfers * transfer_size,
    )


def refused_by(measure):
    """A function with the arguments of this one, which must raise: the EngineError."""

    def refusal(*arguments, **named):
        with pytest.raises(EngineError) as caught:
            measure(*arguments, **named)
        return caught.value

    return refusal


def option(argv, flag):
    """The word behind a flag."""
    return argv[argv.index(flag) + 1]


def sections(text):
    """The jobs of a job file of fio by their names, each with the global options."""
    parser = configparser.ConfigParser(delimiters=('=',), default_section='global')
    parser.read_string(text)
    return {section: dict(parser[section]) for section in parser.sections()}


def jobs_in(command):
    """The jobs of all job files of a command of fio, in the order of ranks."""
    files = (text for path, text in command.inputs.items() if path.endswith('.fio'))
    return [job for text in files for job in sections(text).values()]


def cuts(whole, most=10**6):
    """The text cut short after every line but the last, or after at most about so many of them."""
    lines = whole.splitlines(keepends=True)
    return [''.join(lines[:count]) for count in range(0, len(lines), 1 + len(lines) // most)]
