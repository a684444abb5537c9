"""Whatever a site's files or the history hold: an exit code that is documented, and no error of Seatrial's own."""

import copy
import random
import re
import shutil
import sys

import polars as pl
import pytest
import yaml

from seatrial.history.rows import COLUMNS
from seatrial.history.store import read, write
from site_fixtures import places

ODD = (
    None, True, False, 0, -1, 5, 2**70, 1e17, float('inf'), float('nan'), '', 'yes', 'inf', '..', '/', '\x1b[31m',
    [], {}, [None], {'a': {}}, ['*'], object(), b'x', {1}, (1,), lambda: None, type, {None: None}, 'x' * 5000,
)  # fmt: skip
RAISES = ('raise BaseException', 'raise GeneratorExit', 'import sys; sys.exit(3)', 'def f(): f()\nf()', '1/0', '\0')
PARTITION = {'name': 'default', 'scheduler': 'local', 'launcher': 'local', 'access': [], 'environs': ['builtin']}
SETTINGS = {
    'systems': [{'name': 'local', 'hostnames': ['.*'], 'modules_system': 'nomod', 'partitions': [PARTITION]}],
    'environments': [{'name': 'builtin', 'cc': 'cc', 'target_systems': ['*'], 'modules': []}],
}
REFERENCES = {
    '$seatrial': {'Writes': {'nightly': {'origin': 'baseline', 'date': '2026-11-20', 'engine': 'fio', 'tasks': 2}}},
    'Writes': {
        '$index': ['profile', '$partition', 'file_system', 'layout', 'num_nodes'],
        'nightly': {'local:default': {'scratch': {'default': {1: {'write@64KiB': [100.0, -0.1, 0.2, 'MiB/s']}}}}},
    },
}
COMMANDS = (('list', '--profile=nightly'), ('status',), ('schedule', '--profile=nightly'), ('history', 'list'))


def changed(rng, document):
    """The document with one or two values replaced by an odd one, taken out, or renamed."""
    document = copy.deepcopy(document)
    for _ in range(rng.choice((1, 1, 2))):
        container, key = rng.choice(list(places(document)))
        odd = rng.choice(ODD)
        if rng.random() < 0.1 and isinstance(container, dict) and not isinstance(odd, (list, dict, set)):
            container[odd] = container.pop(key)
        elif rng.random() < 0.1:
            del container[key]
        else:
            container[key] = odd
    return document


@pytest.fixture
def check(site, command):
    """Ask a command on the small site, one of whose files is another one in each case."""
    folder, whole = site.folder, {name: (site.folder / name).read_bytes() for name in ('trial.yaml', 'settings.py')}
    trial = yaml.safe_load(site.trial.read_text())

    def ask(number):
        rng = random.Random(f'site {number}')
        for name, content in whole.items():
            (folder / name).write_bytes(content)
        (folder / 'references.yaml').unlink(missing_ok=True)
        shutil.rmtree(folder / 'state', ignore_errors=True)
        kind = rng.choice(('trial', 'trial', 'settings', 'settings', 'references', 'text', 'raises'))
        if kind == 'settings':
            sys.fuzz_settings = changed(rng, SETTINGS)
            (folder / 'settings.py').write_text(f'# {number}\nimport sys\nsite_configuration = sys.fuzz_settings\n')
        elif kind == 'raises':
            (folder / 'settings.py').write_text(f'# {number}\n{rng.choice(RAISES)}\n')
        elif kind == 'text':
            name = rng.choice(('trial.yaml', 'settings.py'))
            text = bytearray(whole[name])
            for _ in range(rng.randint(1, 4)):
                text[rng.randrange(len(text))] = rng.randrange(256)
            (folder / name).write_bytes(text)
        else:
            document = changed(rng, trial if kind == 'trial' else REFERENCES)
            name = 'trial.yaml' if kind == 'trial' else 'references.yaml'
            (folder / name).write_text(yaml.dump(document, Dumper=yaml.Dumper))
        words = rng.choice(COMMANDS)
        checks = [f'--checks={site.checks}'] if words[0] in ('list', 'schedule') else []
        done = command(*words, f'--site={folder}', *checks)
        assert done.status in (0, 10, 11, 12, 13, 64), (number, words, done)
        assert 'Traceback' not in done.out + done.err, (number, words, done)

    return ask


@pytest.mark.parametrize('numbers', [range(100), pytest.param(range(100, 5000), marks=pytest.mark.long)])
def test_odd_sites_are_refused_in_sentences_or_work(check, numbers):
    for number in numbers:
        check(number)


@pytest.mark.parametrize('access', ['5', "'--account=x'", '[5]', 'object()'])
@pytest.mark.parametrize('key', ['access', 'environs'])
def test_a_list_of_settings_that_is_none_is_said_with_its_place(on_site, site, key, access):
    site.settings.write_text(site.settings.read_text() + '\n' + LAST.format(key=key, value=access))
    done = on_site('list')
    assert (done.status, done.err.count('\n')) == (64, 1)
    assert re.search(f'settings.py: local:default: {key} is not a list of texts; write ', done.err)


LAST = "site_configuration['systems'][0]['partitions'][0]['{key}'] = {value}\n"


@pytest.fixture
def rewritten(site, repository):
    """Write a genuine session with another column into the history; its rows as they were."""
    folder = site.folder / 'state' / 'history'
    shutil.copytree(repository / 'tests' / 'history', folder, ignore=shutil.ignore_patterns('*.py', '__pycache__'))

    def rewrite(column_of):
        rows = read(folder).rows
        write(folder, rows['session'][0], rows.with_columns(column_of(rows)))
        return rows

    return rewrite


@pytest.mark.parametrize(
    ('column', 'wrong'),
    [(name, 'odd' if type_ == pl.String else None) for name, type_ in COLUMNS.items()]
    + [pytest.param(name, None, marks=pytest.mark.long) for name, type_ in COLUMNS.items() if type_ == pl.String],
)
@pytest.mark.slow
def test_a_history_with_odd_values_is_skipped_with_a_reason_or_shown(command, site, rewritten, column, wrong):
    rows = rewritten(lambda rows: pl.lit(wrong, rows.schema[column]).alias(column))
    for words in (('history', 'list'), ('history', 'show', '--metric', rows['metric'][0]), ('status',)):
        done = command(*words, f'--site={site.folder}')
        assert done.status in (0, 10, 11, 12, 13, 64), (words, done)


def test_a_verdict_that_nobody_knows_is_named(command, site, rewritten):
    rewritten(lambda rows: pl.lit('GOOD').alias('case_verdict'))
    done = command('history', 'list', f'--site={site.folder}')
    assert "case_verdict is 'GOOD', which this Seatrial does not know" in done.out
