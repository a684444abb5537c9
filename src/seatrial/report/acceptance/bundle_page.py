"""The first page of a bundle: how the criteria stand, the sessions that measured them, and where everything lies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from seatrial.judge.verdict import Verdict
from seatrial.report.acceptance.protocol import Protocol
from seatrial.report.session.page import jinja


@dataclass(frozen=True)
class BundleSession:
    """One session of an acceptance.

    verdict:  of the session by itself; why: the first reason for it, or empty
    measured: by which check, in words; state: of the system, or empty; criteria: the numbers of those that it is for
    report:   its page, from the first one, or empty where there is none
    """

    session: str
    began: datetime
    verdict: Verdict
    measured: str
    state: str
    criteria: Sequence[str]
    why: str = ''
    report: str = ''


def front(protocol: Protocol, sessions: Sequence[BundleSession], files: Mapping[str, str], page: str) -> str:
    """The page, whose every text is escaped. files: what each of the others is; page: where the protocol lies."""
    template = jinja().get_template('bundle.html')
    return template.render(protocol=protocol, sessions=sessions, files=files, page=page)
