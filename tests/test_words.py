"""The words of the house (docs/glossary.md): what was retired does not come back in messages, docstrings or docs."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent

# Each line: what was retired, and what is meant instead. A blank stands for any space between words.
RETIRED = (
    r'mend(s|ed|ing)?',  # remedy, correct
    r'h[eo]ld(s|ing)? against',  # compared with
    r'believ\w+|cannot be told|cannot tell',  # valid, invalid, undecided, unknown
    r'pass(es|ed|ing)? over(?! the directory)',  # skipped, not used
    r'witness\w*|testimon\w+',  # Darshan run, Darshan log
    r'fates?',  # job state
    r'torn',  # truncated
    r'census\w*|tall(y|ies)',  # file list, file count
    r'(a|two|three|the|every|last|later) looks?',  # stat, lookup; of counters a reading
    r'dice',  # rng
    r'meetings?',  # barrier
    r'(in|into|out of) force',  # enabled, disabled
    r'promis\w+',  # guarantee
    r'(nobody|people) (was|were|is|are) told',  # notification
    r'told to (end|stop)',  # asked to, stop requested
    r'heed(s|ed|ing)?|mute',  # check; unresponsive
    r'parted',  # split, separated
    r'used up',  # exhausted
    r'decided nothing',  # no valid result
    r'asked is not got',  # not the layout that was asked for
    r'(objects?|bytes|files) (a|per) client|over objects',  # transfer size, bytes a task, files a task
)
WORDS = re.compile(rf'\b({"|".join(RETIRED)})\b'.replace(' ', r'\s+'), re.IGNORECASE)
KEYS = re.compile(r'\b(bytes_per_client|files_per_client|max_clients|\d+objects|\d+clients?)\b')


def retired(text: str) -> list[str]:
    return [found.group() for found in WORDS.finditer(text)]


def strings(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_messages_and_docstrings_have_no_retired_word():
    files = [file for folder in ('src', 'checks') for file in (REPOSITORY / folder).rglob('*.py')]
    found = {str(file): words for file in files if (words := retired('\n'.join(strings(file))))}
    assert files
    assert not found


def test_pages_and_site_files_have_no_retired_word():
    sites = [file for suffix in ('py', 'yaml') for file in (REPOSITORY / 'site-config').rglob(f'*.{suffix}')]
    pages = [REPOSITORY / 'README.md', *(REPOSITORY / 'docs').glob('*.md'), *sites]
    texts = {str(file): file.read_text() for file in pages}
    found = {name: [*retired(text), *KEYS.findall(text)] for name, text in texts.items()}
    assert {name: words for name, words in found.items() if words} == {}


@pytest.mark.parametrize(
    'text', ['the mend', 'Held\nagainst nothing', 'it is passed  over', 'three looks', 'bytes a client', 'IN FORCE']
)
def test_a_retired_word_is_found(text):
    assert len(retired(text)) == 1


@pytest.mark.parametrize('text', ['recommended', 'all passes over the directory', 'an OST object', 'it looks up'])
def test_a_word_that_only_resembles_one_is_not(text):
    assert not retired(text)
