import pytest

from seatrial.model.quoted_value import choice, key_path, printable, show
from seatrial.site.error import SHOWN_PROBLEMS, SiteError, problem


def test_a_problem_names_file_key_what_and_mend() -> None:
    line = problem('trial.yaml', ['trials', 0, 'nodes', 1], '-2 is not a node count; write a whole number from 1')
    assert line == 'trial.yaml: trials[0].nodes[1]: -2 is not a node count; write a whole number from 1'


def test_a_problem_of_a_whole_file_has_no_key() -> None:
    assert problem('trial.yaml', [], 'the file is empty') == 'trial.yaml: the file is empty'


@pytest.mark.parametrize(
    ('keys', 'path'),
    [
        (['partitions', 'lab:io', 'python'], 'partitions.lab:io.python'),
        (['file_systems', 'a b'], "file_systems['a b']"),
        (['file_systems', ''], "file_systems['']"),
        ([0, 'a'], '[0].a'),
        ([], ''),
    ],
)
def test_a_key_path_quotes_odd_keys(keys: list[str | int], path: str) -> None:
    assert key_path(keys) == path


@pytest.mark.parametrize(
    ('value', 'shown'),
    [
        (None, 'nothing'),
        (True, 'true'),
        (-2, '-2'),
        ([], 'an empty list'),
        ([1], 'a list'),
        ({}, 'a mapping'),
        ('two\nlines', r"'two\nlines'"),
        ('x' * 1000, "'" + 'x' * 60 + "...'"),
    ],
)
def test_values_are_shown_short_and_on_one_line(value: object, shown: str) -> None:
    assert show(value) == shown


@pytest.mark.parametrize(
    ('raw', 'safe'), [('\x1b[31m', r'\x1b[31m'), ('\ud800', r'\ud800'), ('a\u2028b', r'a\u2028b'), ('naïve', 'naïve')]
)
def test_what_a_terminal_would_obey_is_escaped(raw: str, safe: str) -> None:
    assert printable(raw) == safe


def test_the_nearest_word_is_suggested() -> None:
    assert choice('lustr', ['posix', 'lustre']) == "did you mean 'lustre'?"


def test_without_a_near_word_all_are_offered() -> None:
    assert choice('zzz', ['posix', 'lustre']) == 'write one of posix, lustre'


def test_a_suggestion_for_what_is_no_word_offers_all() -> None:
    assert choice(7, ['posix']) == 'write posix'


def test_without_any_known_word_it_says_so() -> None:
    assert choice('x', []) == 'there is none to choose from'


def test_a_flood_of_problems_is_cut() -> None:
    error = SiteError([str(number) for number in range(1000)])
    assert len(error.problems) == SHOWN_PROBLEMS
    assert error.problems[-1] == 'there are more problems; correct these first'


def test_as_many_problems_as_are_shown_are_not_cut() -> None:
    assert SiteError(['x'] * SHOWN_PROBLEMS).problems == ('x',) * SHOWN_PROBLEMS
