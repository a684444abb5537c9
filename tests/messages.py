"""Prints what people read, to be read from top to bottom: python tests/messages.py > messages.txt

Of commands, judgement, rules, sites, checks and reports every string with a blank, an f-string with {} for a value,
below the name of its file; without docstrings. Then titles and remedies of all rules.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from seatrial.rules.registry import all_rules

SOURCE = Path(__file__).resolve().parent.parent / 'src' / 'seatrial'
ROOMS = 'cli', 'judge', 'rules', 'site', 'check', 'report', 'session'


def messages_in(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The texts of a module with their lines, each once: the parts of an f-string are none of their own."""
    passed = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) in passed:
            continue
        if isinstance(node, ast.JoinedStr):
            passed.update(id(part) for part in ast.walk(node))
            parts = (part.value if isinstance(part, ast.Constant) else '{}' for part in node.values)
            yield node.lineno, ''.join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def main() -> None:
    for file in sorted(file for room in ROOMS for file in (SOURCE / room).rglob('*.py')):
        print(f'\n# {file.relative_to(SOURCE)}')
        for line, text in sorted(messages_in(ast.parse(file.read_text()))):
            if ' ' in text.strip():
                print(f'{line}: {" ".join(text.split())}')
    print('\n# the rules')
    for rule in all_rules().values():
        print(f'{rule.id}: {rule.title}; {rule.remedy}; {rule.source}')


if __name__ == '__main__':
    main()
