"""The report of a session: its page, JUnit XML and summary, written into a folder."""

from pathlib import Path

from seatrial.check.session import PAGE
from seatrial.model.atomic_file import write_whole
from seatrial.report.evidence import SessionEvidence
from seatrial.report.junit import junit
from seatrial.report.session.page import page
from seatrial.report.session.summary import markdown


def write_report(evidence: SessionEvidence, folder: Path) -> Path:
    """Write the three files, each whole, into the folder, which is made; returns the page. Raises OSError."""
    texts = {PAGE: page(evidence), 'junit.xml': junit(evidence), 'summary.md': markdown(evidence)}
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_whole(folder / name, text)
    return folder / PAGE
