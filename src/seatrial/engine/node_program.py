"""Starts a module of this package as a program on a node, from a source tree or from a job's zipapp."""

import os
from typing import Tuple

import seatrial

_START = 'import sys; sys.path.insert(0, sys.argv[1]); from {module} import main; sys.exit(main(sys.argv[2:]))'


def module_argv(program: str, module: str, arguments: Tuple[str, ...]) -> Tuple[str, ...]:
    """The argv that runs main(arguments) of the module, isolated (-I, -S) from the user's paths and variables."""
    home = os.path.dirname(os.path.dirname(os.path.abspath(seatrial.__file__)))
    return (program, '-I', '-S', '-c', _START.format(module=module), home, *arguments)
