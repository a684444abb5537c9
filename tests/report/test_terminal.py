"""Output that cannot be written is lost without an error; other output is printed with unsafe characters escaped."""

import errno
import io
import os
import subprocess
import sys

import pytest
from rich.table import Table

from seatrial.report import terminal


@pytest.mark.parametrize('number', [errno.EPIPE, errno.EIO, errno.ENOSPC, None])
def test_output_that_fails_or_was_closed_is_lost_without_an_error(monkeypatch, number):
    """The errors of a pipe without a reader, of a terminal that is gone and of a full disk."""

    def fail(*text):
        raise OSError(number, 'x')

    broken = io.StringIO()
    broken.write = broken.flush = fail
    monkeypatch.setattr(sys, 'stdout', None if number is None else broken)
    terminal.console().print('x')


def test_a_long_line_is_printed_unbroken(capsys):
    terminal.console().print('x' * 150, 'y')
    assert capsys.readouterr().out == 'x' * 150 + ' y\n'


@pytest.mark.parametrize('shown', ['line', 'cell'])
def test_characters_that_would_steer_the_terminal_are_shown_as_escapes(capsys, shown):
    text = 'a\x1b[2J\ud800\u202eb'
    if shown == 'cell':
        text, cell = Table(box=None, show_header=False), text
        text.add_row(cell)
    terminal.console().print(text)
    assert capsys.readouterr().out.strip() == 'a\\x1b[2J\\ud800\\u202eb'


@pytest.mark.slow
def test_last_lines_that_cannot_be_written_do_not_change_the_exit_code():
    code = 'import sys; from seatrial.report.terminal import drop_unwritten; sys.stdout.write("x"); drop_unwritten()'
    buffered = {**os.environ, 'PYTHONUNBUFFERED': ''}
    with open('/dev/full', 'w') as full:
        done = subprocess.run([sys.executable, '-c', code], env=buffered, stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b'')
