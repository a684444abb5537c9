"""Hook of mkdocs.yml for features of GitHub's Markdown that Python's lacks."""

import re
from typing import Any

FENCED = re.compile(r'(^```.*?^```$)', re.MULTILINE | re.DOTALL)
OUTSIDE = re.compile(r'\[([^\]]+)\]\((?:\.\./)+(?:[A-Z]+\.md|ci|checks|reports|src|tests)\b[^)]*\)')
TEXT_BEFORE_LIST = re.compile(r'^(?![-*|>#\s]|\d+\. )(.+\n)(?=(?:[-*]|\d+\.) )', re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Turns links to repository files that are no pages into plain words, and lets a list follow a line of text."""
    parts = FENCED.split(markdown)
    parts[::2] = [TEXT_BEFORE_LIST.sub(r'\1\n', OUTSIDE.sub(r'\1', prose)) for prose in parts[::2]]
    return ''.join(parts)
