"""Problems in a site's files: one printable line each, with file, key, fault, and remedy."""

from collections.abc import Iterable, Sequence

from seatrial.model.quoted_value import key_path, printable

SHOWN_PROBLEMS = 30


class SiteError(Exception):
    """A site that cannot be used."""

    def __init__(self, problems: Sequence[str]) -> None:
        shown = [printable(problem) for problem in problems[:SHOWN_PROBLEMS]]
        if len(problems) > SHOWN_PROBLEMS:
            shown[-1] = 'there are more problems; correct these first'
        self.problems = tuple(shown)
        super().__init__('\n'.join(shown))


def problem(file: str, keys: Iterable[str | int], sentence: str) -> str:
    """The line 'trial.yaml: trials[0].nodes[1]: -2 is not a node count; write a whole number from 1'."""
    return ': '.join(part for part in (file, key_path(keys), sentence) if part)


def raise_any(problems: Iterable[str]) -> None:
    lines = [line for line in problems if line]
    if lines:
        raise SiteError(lines)
