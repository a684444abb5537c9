"""Which software plans a session: the commit of a checkout that Seatrial runs from, and ReFrame's version."""

from functools import cache
from importlib.metadata import version
from pathlib import Path

import seatrial
from seatrial.model.ask import ask

ANSWER_S = 30.0
PACKAGE = Path(seatrial.__file__).parent
REFRAME = 'ReFrame-HPC'


def reframe_version() -> str:
    """Of the ReFrame that is installed here."""
    return version(REFRAME)


@cache
def commit_of(package: Path = PACKAGE) -> str:
    """The commit of the checkout that has this package as its src/seatrial, with '+changes' where files differ.

    Empty for an installed package, also one that happens to lie in somebody's repository, and where git does not say.
    """
    top = package.parents[1]
    if not (top / '.git').exists() or package != top / 'src' / 'seatrial':
        return ''
    said = ask(
        ['git', '-C', str(top), 'describe', '--always', '--abbrev=12', '--exclude=*', '--dirty=+changes'], ANSWER_S
    )
    return said.stdout.strip() if said and said.exit_status == 0 else ''
