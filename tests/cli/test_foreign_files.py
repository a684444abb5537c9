"""Files that somebody else has made, in a state directory or a bundle: refused by their name, in time and memory."""

import gzip
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile
from unittest import mock

import pytest

from builders import CONTRACT, chained
from seatrial.acceptance.bundle import SUMS
from seatrial.check import verified as check_verified
from seatrial.cli import status as status_module
from seatrial.job.sequence.recorder import LAUNCH, kept_launch
from seatrial.model.foreign import LARGEST
from seatrial.model.record import SAMPLES
from site_fixtures import bundle_of, contents, places

SESSION, OTHER = '20261120T020638-9f3a1c', '20261121T020638-9f3a1c'
DOCUMENTED = (0, 10, 11, 12, 13, 64)
IN_TIME_S = 300
PACKED, ROOM = 160 << 20, 128 << 10
"""Bytes that a file unpacks to, and KiB of memory that reading it may take."""
ESCAPE = '\x1b]0;x\x07'
DEEP = '[' * 200_000
PEAK = r"""
import atexit, re, sys
from pathlib import Path
said = lambda: re.search(r'VmHWM:\s+(\d+)', Path('/proc/self/status').read_text())[1]
atexit.register(lambda: print(said(), file=sys.stderr))
from seatrial.cli.main import entry
entry()
"""
ODD = (
    'null', 'true', '0', '-1', '-1.5', '0.0', '1e-320', '1e308', '1e400', 'NaN', '-Infinity', '2000000000',
    str(2**63), '1' + '0' * 400, '""', '[]', '{}', '[[]]', '{"": null}', r'"\ud800"', r'"\u001b[31m"', '"../../../x"',
    '"/dev/zero"', f'"{"x" * 5000}"', DEEP, '[' + '{},' * 2_000_000 + '{}]',
)  # fmt: skip


@pytest.fixture(autouse=True)
def ends():
    """Ends a test that hangs on a pipe, with a TimeoutError after IN_TIME_S."""

    def give_up(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(IN_TIME_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def folder(site, allocation, past, judged):
    """The folder of a session, beside one for the contract of the site."""
    (site.folder / 'contract.yaml').write_text(CONTRACT)
    judged(allocation(SESSION, '1', 200.0))
    made = past(OTHER, proved=True)
    judged(made)
    return made


@pytest.fixture
def bundle(folder, on_site, command, site):
    file = site.folder / 'bundle.zip'
    on_site('accept', '--judge')
    assert command('bundle', f'--site={site.folder}', f'--output={file}').status == 0
    return file


@pytest.fixture
def peak(site):
    """Runs a command in a process of its own; returns its exit code, its output and the memory it used, in KiB."""

    def run(*arguments):
        argv = [sys.executable, '-c', PEAK, *map(str, arguments)]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=IN_TIME_S)
        *_, memory = done.stderr.split()
        return done.returncode, done.stdout + done.stderr, int(memory)

    return run


def file_in(folder, pattern):
    return min(folder.glob(pattern))


def rewrite(samples, change):
    """Changes the lines of a record, and links them anew."""
    samples.write_text(chained(change(line) for line in samples.read_text().splitlines(keepends=True)))


@pytest.mark.parametrize(
    'text', [DEEP, r'{"profile": "\ud800"}', '{"profile": NaN}', '{"seed": 1' + '0' * 400 + '}', '[' + '{},' * 2**21]
)
@pytest.mark.parametrize(
    ('file', 'status'), [('session.json', 64), ('cases/*/plan.json', 64), ('results.json', 11)], ids=str
)
def test_json_that_no_program_of_ours_writes_is_refused_with_its_file(on_site, folder, file, status, text):
    path = file_in(folder, file)
    path.write_text(text)
    done = on_site('verify', OTHER)
    assert (done.status, str(path) in done.out + done.err) == (status, True)


def test_a_file_larger_than_any_of_ours_is_refused_with_its_name(on_site, folder):
    path = folder / 'session.json'
    path.write_text(path.read_text() + ' ' * LARGEST)
    done = on_site('verify', OTHER)
    assert (done.status, str(path) in done.out + done.err) == (64, True)


def test_a_protocol_that_is_no_json_is_refused_with_its_file(bundle, command):
    files = contents(bundle)
    bundle_of(bundle, {**files, 'acceptance/protocol.json': DEEP.encode()})
    done = command('verify', bundle)
    assert (done.status, 'acceptance/protocol.json' in done.out) == (11, True)


@pytest.mark.parametrize(
    ('old', 'new', 'words'),
    [
        ('"schema": 3', '"schema": 1', 'schema: 1 is neither 3 nor 2'),
        ('"kind": "access"', '"kind": "else"', 'points'),
        ('"read"', '"else"', "points: phases: ['else']"),
        ('"transfer_size": 4096, ', '', 'its files contradict each other'),
        ('"profile": "nightly"', '"profile": "else"', 'profile'),
    ],
)
def test_a_plan_that_cannot_be_carried_out_is_refused_with_its_file(on_site, folder, old, new, words):
    plan = file_in(folder, 'cases/Reads*/plan.json')
    text = json.dumps(json.loads(plan.read_text()))
    assert old in text
    plan.write_text(text.replace(old, new))
    for name in ('verify', 'report'):
        done = on_site(name, OTHER)
        assert (done.status, str(folder) in done.err, words in done.err) == (64, True, True), done.err


@pytest.mark.parametrize('number', ['NaN', 'Infinity', '1e400', '1e308', '1e-320', '1' + '0' * 400, '-1', '0'])
def test_a_record_with_numbers_that_nothing_can_be_is_contradicted(on_site, folder, number):
    numbers = r'("(?:value|seconds|elapsed_s|bytes_moved|per_task)":)[-0-9.e+]+'
    rewrite(file_in(folder, f'cases/*/{SAMPLES}'), lambda line: re.sub(numbers, rf'\g<1>{number}', line))
    assert on_site('verify', OTHER).status in (11, 64)
    assert on_site('report', OTHER).status in (0, 11, 64)


@pytest.mark.parametrize(
    ('old', 'new'),
    [('"tasks":2', '"tasks":2000000000'), ('"kind":"access"', '"kind":"else"'), (':"read"', ':"else"')],
)
def test_a_launch_that_nobody_can_have_made_is_contradicted(on_site, folder, old, new):
    edits = (old, new), ('"stage":"measured"', '"stage":"proof"')
    rewrite(file_in(folder, f'cases/*/{SAMPLES}'), lambda line: line.replace(*edits[0]).replace(*edits[1]))
    done = on_site('verify', OTHER)
    assert (done.status, 'R4: line 2 (' in done.out) == (11, True)
    assert on_site('report', OTHER).status == 0


@pytest.mark.parametrize('make', [os.mkfifo, lambda file: file.symlink_to('/dev/zero')], ids=['a pipe', 'a device'])
@pytest.mark.parametrize(
    ('file', 'status'),
    [('session.json', 64), ('cases/*/plan.json', 64), (f'cases/*/{SAMPLES}', 64), ('results.json', 11)],
    ids=str,
)
def test_a_file_that_is_none_is_not_waited_for(on_site, folder, make, file, status):
    path = file_in(folder, file)
    path.unlink()
    make(path)
    done = on_site('verify', OTHER)
    assert (done.status, f'{path} is not a regular file' in done.out + done.err) == (status, True)


def test_what_a_second_user_has_written_is_refused(bundle, command, on_site, everybodys, second_user, site):
    bundle_of(bundle, {**contents(bundle), 'acceptance/protocol.json': DEEP.encode()})
    assert second_user('cat > own.zip\nmkfifo pipe\nln -s /dev/zero zero', bundle.read_bytes()) == 0
    done = command('verify', everybodys / 'own.zip')
    assert (done.status, 'acceptance/protocol.json' in done.out) == (11, True)
    for name in ('pipe', 'zero'):
        for words in (('verify',), ('history', 'import', f'--site={site.folder}')):
            done = command(*words, everybodys / name)
            assert (done.status, str(everybodys / name) in done.out + done.err) == (64, True), (name, words)


def test_a_bundle_that_is_a_pipe_is_not_waited_for(command, tmp_path):
    os.mkfifo(tmp_path / 'bundle.zip')
    done = command('verify', tmp_path / 'bundle.zip')
    assert (done.status, 'bundle.zip is not a regular file' in done.out + done.err) == (11, True)


@pytest.mark.parametrize('file', ['session.json', 'cases/*/plan.json', f'cases/*/{SAMPLES}'])
def test_a_session_that_cannot_be_read_stops_no_other(on_site, command, bundle, site, file):
    bad = site.folder / 'state' / 'sessions' / '20261122T020638-9f3a1c'
    shutil.copytree(bad.with_name(SESSION), bad)
    path = file_in(bad, file)
    path.unlink()
    path.symlink_to('/dev/zero')
    here = f'--site={site.folder}'
    accepted, packed = on_site('accept', '--judge'), command('bundle', f'--output={bundle}2', here)
    assert (accepted.status, packed.status) == (0, 0)
    assert str(path) in accepted.out and str(path) in packed.out
    assert (command('status', here).status, on_site('list').status) == (13, 0)


@pytest.mark.parametrize('name', ['accept', 'status', 'verify', 'report'])
def test_a_file_where_the_sessions_should_be_is_named(on_site, command, folder, site, name):
    sessions = folder.parent
    shutil.rmtree(sessions)
    sessions.write_text('')
    more = {'status': (), 'accept': (f'--checks={site.checks}', '--judge')}.get(name, (f'--checks={site.checks}',))
    done = command(name, f'--site={site.folder}', *more)
    assert (done.status, str(sessions) in done.err) == (64, True)


def test_a_file_where_a_session_should_be_is_named(on_site, folder):
    shutil.rmtree(folder)
    folder.write_text('')
    done = on_site('verify', OTHER)
    assert (done.status, str(folder) in done.err) == (64, True)
    assert str(folder) in on_site('accept', '--judge').out


@pytest.mark.slow
@pytest.mark.long
def test_output_that_unpacks_to_much_more_takes_no_memory(folder, site, peak):
    arguments = ('verify', OTHER, f'--site={site.folder}', f'--checks={site.checks}')
    honest = peak(*arguments)
    samples = file_in(folder, f'cases/*/{SAMPLES}')
    packed = file_in(folder, f'cases/*/raw/*warmup*{LAUNCH}')
    before = hashlib.sha256(packed.read_bytes()).hexdigest()
    with gzip.open(packed, 'wb', compresslevel=1) as stream:
        for _ in range(PACKED >> 20):
            stream.write(bytes(1 << 20))
    rewrite(samples, lambda line: line.replace(before, hashlib.sha256(packed.read_bytes()).hexdigest()))
    status, output, memory = peak(*arguments)
    assert (status, f'{packed}: it unpacks to more than' in output) == (11, True)
    assert memory < honest[2] + ROOM


@pytest.mark.parametrize('name', ['session.json', pytest.param('index.html', marks=pytest.mark.long)])
@pytest.mark.slow
def test_a_file_of_a_bundle_that_unpacks_to_much_more_takes_no_memory(bundle, peak, name):
    honest = peak('verify', bundle)
    files = contents(bundle)
    long = next(file for file in files if file.endswith(name))
    kept = {path: content for path, content in files.items() if path not in (long, SUMS)}
    digest = hashlib.sha256(bytes(PACKED)).hexdigest()
    sums = ''.join(f'{hashlib.sha256(content).hexdigest()}  {path}\n' for path, content in kept.items())
    with zipfile.ZipFile(bundle, 'w', zipfile.ZIP_DEFLATED) as archive:
        for path, content in kept.items():
            archive.writestr(path, content)
        archive.writestr(SUMS, f'{sums}{digest}  {long}\n')
        with archive.open(long, 'w') as stream:
            for _ in range(PACKED >> 20):
                stream.write(bytes(1 << 20))
    status, output, memory = peak('verify', bundle)
    assert (status, name in output) == (11, True)
    assert memory < honest[2] + ROOM


@pytest.mark.parametrize(
    'line', [pytest.param('0' * 64 + '  {}\n', id='whole'), pytest.param('\n', id='empty', marks=pytest.mark.long)]
)
@pytest.mark.slow
def test_a_manifest_without_end_takes_no_memory(tmp_path, peak, line):
    file = tmp_path / 'bundle.zip'
    with zipfile.ZipFile(file, 'w', zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(SUMS, ''.join(map(line.format, range((60 << 20) // len(line)))))
    status, output, memory = peak('verify', file)
    assert (status, f'{SUMS} is missing, or it is no list of' in output) == (11, True)
    assert memory < 100 * 1024 + ROOM


def test_an_archive_of_too_many_files_is_refused(bundle, command, monkeypatch):
    monkeypatch.setattr('seatrial.acceptance.bundle.MAX_FILES', 3)
    done = command('verify', bundle)
    assert (done.status, 'it has more than 3 files' in done.out) == (11, True)


@pytest.mark.long
def test_an_archive_of_files_without_end_takes_no_memory(tmp_path, peak):
    file = tmp_path / 'bundle.zip'
    with zipfile.ZipFile(file, 'w') as archive:
        for number in range(110_000):
            archive.writestr(str(number), b'')
    status, output, memory = peak('verify', file)
    assert (status, 'it has more than 100000 files' in output) == (11, True)
    assert memory < 100 * 1024 + ROOM


def test_an_error_whose_text_cannot_be_written_is_said_all_the_same(command, site, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))  # gets the file with the traceback
    monkeypatch.setattr(status_module, 'watch_of', mock.Mock(side_effect=KeyError('\ud800')))
    done = command('status', f'--site={site.folder}')
    assert (done.status, r'\ud800' in done.err) == (70, True)


def test_no_name_steers_the_terminal(on_site, command, bundle, folder):
    files = {name: content for name, content in contents(bundle).items() if name != SUMS}
    odd = folder.rename(folder.with_name(OTHER + ESCAPE))
    rewrite(file_in(odd, f'cases/*/{SAMPLES}'), lambda line: line.replace('"stage":"', r'"stage":"\u001b[31m'))
    bundle_of(bundle, {**files, f'{ESCAPE}extra': b''})
    named = bundle.rename(bundle.with_name(f'{ESCAPE}.zip'))
    asked = ('verify', OTHER), ('report', OTHER), ('verify', 'nothing')
    for done in (*(on_site(*words) for words in asked), command('verify', named)):
        assert r'\x1b' in done.out + done.err
        assert '\x1b' not in done.out + done.err


def test_a_record_that_names_a_file_elsewhere_puts_nothing_of_it_into_the_report(on_site, folder):
    secret = folder.parent / 'secret'
    secret.write_text('hunter2')
    samples = file_in(folder, f'cases/*/{SAMPLES}')
    rewrite(samples, lambda line: re.sub(r'("inputs":)\[[^]]*', rf'\1["{secret}"', line))
    on_site('report', OTHER)
    assert 'hunter2' not in (folder / 'report' / 'index.html').read_text()


def test_the_output_in_a_bundle_is_read_once(bundle, command, monkeypatch):
    read = []
    monkeypatch.setattr(check_verified, 'kept_launch', lambda *args: (read.append(args[1]), kept_launch(*args))[1])
    assert command('verify', bundle).status == 0
    assert (len(read), len(set(read))) == (13, 13)


@pytest.fixture
def check(folder, bundle, site, command):
    """Changes a bundle or a session, differently for each number, and runs commands on it."""
    whole, files = shutil.copytree(folder, site.folder / 'whole'), contents(bundle)
    here, checks = f'--site={site.folder}', f'--checks={site.checks}'

    def ask(number):
        rng = random.Random(f'foreign {number}')
        if rng.random() < 0.5:
            change_bundle(rng, bundle, files)
            calls = [('verify', bundle)]
        else:
            change_session(rng, folder, whole)
            calls = [('verify', OTHER, here, checks), ('report', OTHER, here, checks), ('status', here)]
        for words in calls:
            signal.alarm(IN_TIME_S)
            done = command(*words)
            assert done.status in DOCUMENTED, (number, words[0], done)
            assert 'Traceback' not in done.out + done.err, (number, words, done)

    return ask


def change_session(rng, folder, whole):
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole, folder)
    file = rng.choice(sorted(path for path in folder.rglob('*') if path.is_file()))
    content = changed(rng, file.name, file.read_bytes())
    if file.name == SAMPLES and rng.random() < 0.8:
        content = chained(content.decode(errors='replace').splitlines(keepends=True)).encode(errors='replace')
    elif file.name.endswith(LAUNCH) and rng.random() < 0.8:
        digests = [hashlib.sha256(part).hexdigest() for part in (file.read_bytes(), content)]
        rewrite(file.parents[1] / SAMPLES, lambda line: line.replace(*digests))
    file.write_bytes(content)


def change_bundle(rng, bundle, whole):
    files = {name: content for name, content in whole.items() if name != SUMS}
    name = rng.choice(sorted(files))
    files[name] = changed(rng, name, files[name])
    if name.endswith(SAMPLES) and rng.random() < 0.8:
        text = files[name].decode(errors='replace')
        files[name] = chained(text.splitlines(keepends=True)).encode(errors='replace')
    if rng.random() < 0.3:
        names = '../x', '/x', f'{ESCAPE}x', 'sessions/x/session.json', 'x' * 300, 'a/' * 200 + 'b', name + '/x'
        files[rng.choice(names)] = files.pop(name) if rng.random() < 0.5 else files[name]
    bundle_of(bundle, files)
    if rng.random() < 0.2:
        with zipfile.ZipFile(bundle, 'a') as archive:
            archive.writestr(rng.choice([*files, SUMS, '..']), rng.randbytes(9))
    if rng.random() < 0.2:
        bundle.write_bytes(damaged(rng, bundle.read_bytes()))


def changed(rng, name, content):
    """The content with bits flipped, cut short, or with a value of its JSON replaced."""
    if name.endswith('.gz') and rng.random() < 0.7:
        return gzip.compress(changed(rng, '.json', gzip.decompress(content)))
    if not name.endswith(('.json', '.jsonl')) or rng.random() < 0.1:
        return damaged(rng, content)
    lines = [content] if name.endswith('.json') else content.splitlines(keepends=True)
    at = rng.randrange(len(lines))
    value = json.loads(lines[at])
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        inside, key = rng.choice(list(places(value)) or [([0], 0)])
        if rng.random() < 0.1 and isinstance(inside, dict):
            del inside[key]
        else:
            inside[key] = '@@'
    lines[at] = re.sub('"@@"', lambda _: rng.choice(ODD), json.dumps(value, separators=(',', ':'))).encode() + b'\n'
    return b''.join(lines)


def damaged(rng, content):
    content = bytearray(content)
    if rng.random() < 0.3:
        return bytes(content[: rng.randrange(len(content) + 1)])
    for _ in range(rng.randint(1, 8) if content else 0):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(content)


@pytest.fixture
def limited():
    """Limits the memory of this process to 4 GiB, so that no test takes that of the whole machine."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.long
@pytest.mark.usefixtures('limited')
@pytest.mark.filterwarnings('ignore:Duplicate name')
def test_thousands_of_mutations_are_refused_in_sentences(check):
    for number in range(2000):
        check(number)
