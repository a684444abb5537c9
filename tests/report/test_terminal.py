"""What is printed where nobody hears it."""

import errno
import io
import os
import subprocess
import sys

import pytest
from rich.table import Table

from seatrial.report import terminal


@pytest.mark.parametrize('number', [errno.EPIPE, errno.EIO, errno.ENOSPC, None])
def test_output_is_lost_and_raises_nothing_that_fails_or_was_closed(monkeypatch, number):
    """As to a pipe without a reader, a terminal that is gone or a full disk."""

    def fail(*text):
        raise OSError(number, 'x')

    deaf = io.StringIO()
    deaf.write = deaf.flush = fail
    monkeypatch.setattr(sys, 'stdout', None if number is None else deaf)
    terminal.console().print('x')


def test_what_is_heard_is_printed(capsys):
    terminal.console().print('x' * 150, 'y')
    assert capsys.readouterr().out == 'x' * 150 + ' y\n'


@pytest.mark.parametrize('shown', ['line', 'cell'])
def test_what_would_steer_the_terminal_is_shown_as_an_escape(capsys, shown):
    text = 'a\x1b[2J\ud800\u202eb'
    if shown == 'cell':
        text, cell = Table(box=None, show_header=False), text
        text.add_row(cell)
    terminal.console().print(text)
    assert capsys.readouterr().out.strip() == 'a\\x1b[2J\\ud800\\u202eb'


@pytest.mark.slow
def test_the_last_lines_that_nobody_hears_do_not_change_the_exit_code():
    code = 'import sys; from seatrial.report.terminal import drop_unwritten; sys.stdout.write("x"); drop_unwritten()'
    buffered = {**os.environ, 'PYTHONUNBUFFERED': ''}
    with open('/dev/full', 'w') as full:
        done = subprocess.run([sys.executable, '-c', code], env=buffered, stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b'')
