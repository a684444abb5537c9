"""A bundle without names: nobody can find one in it, and it proves its figures all the same."""

import gzip
import hashlib
import json
import random
import re
import stat
import zipfile
from types import SimpleNamespace

import pytest

from builders import CONTRACT
from seatrial.cli import redact
from seatrial.cli.bundle import SUMS

SESSION = '20261120T020638-9f3a1c'

NAMED = (
    'node1',
    'login7',
    'pelagia.example',
    'kern-j',
    'storage_team',
    '10.7.3.4',
    'fe80::7',
    '/home/',
    'secret',
    'vault',
    'depot',
)
"""Of hosts, addresses, users, groups and paths: none may be in a redacted bundle."""

JOB = """#!/bin/bash
#SBATCH --nodelist=node[1-3] --chdir=/work/secret/kern-j
export LD_LIBRARY_PATH=/opt/depot/lib:/home/kern-j/lib USER=kern-j
mount -t lustre 10.7.3.4@tcp:/secret /mnt/secret; ping fe80::7 # login7.pelagia.example, group storage_team
/usr/bin/fio
"""


@pytest.fixture
def site_with_names(site, on_site, allocation, monkeypatch):
    """One session for the contract of a site, on a machine that has names."""
    monkeypatch.setattr(redact.pwd, 'getpwuid', lambda _: SimpleNamespace(pw_name='kern-j'))
    monkeypatch.setattr(redact.grp, 'getgrgid', lambda _: SimpleNamespace(gr_name='storage_team'))
    monkeypatch.setattr(redact.socket, 'gethostname', lambda: 'login7')
    monkeypatch.setattr(redact.socket, 'getfqdn', lambda: 'login7.pelagia.example')
    (site.folder / 'contract.yaml').write_text(CONTRACT)
    folder = allocation(SESSION, '1', 200.0)
    (folder / 'rfm_job.sh').write_text(JOB)
    (folder / 'notes.md').write_text(r'raw output lies in /work/a\_vault of storage\_team')
    (folder / 'darshan.bin').write_bytes(b'\xff\xfe node1')
    on_site('accept', '--judge')
    return site


@pytest.fixture
def redacted(site_with_names, command):
    file = site_with_names.folder / 'bundle.zip'
    said = command('bundle', f'--site={site_with_names.folder}', f'--output={file}', '--redact')
    assert said.status == 0, said.err
    return file


def contents(file):
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def texts(file):
    for name, content in contents(file).items():
        yield name, name
        yield name, (gzip.decompress(content) if name.endswith('.gz') else content).decode(errors='replace')


def test_no_name_can_be_found_in_it(redacted, site):
    for file, text in texts(redacted):
        for name in (*NAMED, str(site.folder)):
            assert name not in text, file
    assert 'darshan.bin' not in ' '.join(contents(redacted))


def test_what_every_machine_has_and_what_the_contract_says_stays(redacted):
    found = dict(texts(redacted))
    job = found[f'sessions/{SESSION}/rfm_job.sh']
    assert job.startswith('#!/bin/bash')
    assert job.endswith('\n/usr/bin/fio\n')
    assert 'Tidewater' in found['acceptance/protocol.html']


def test_it_verifies_with_the_same_figures(redacted, command):
    said = command('verify', redacted)
    assert said.status == 0, said.out
    assert '+ PASS  criterion 1: 200 MiB/s' in said.out
    assert 'not proved' not in said.out


def test_an_edit_is_found_under_sums_made_anew(redacted, command):
    rng, whole = random.Random(17), contents(redacted)
    names = [name for name in whole if name.endswith(('samples.jsonl', '.launch.json.gz', 'plan.json'))]
    for _ in range(20):
        name = rng.choice(names)
        packed = name.endswith('.gz')
        text = gzip.decompress(whole[name]) if packed else whole[name]
        place = rng.choice([found.start() for found in re.finditer(rb'\d', text)])
        edited = text[:place] + b'%d' % ((text[place] - 48 + rng.randrange(1, 10)) % 10) + text[place + 1 :]
        files = {**whole, name: gzip.compress(edited, mtime=0) if packed else edited}
        sums = ''.join(f'{hashlib.sha256(each).hexdigest()}  {own}\n' for own, each in files.items() if own != SUMS)
        with zipfile.ZipFile(redacted, 'w') as archive:
            for own, each in {**files, SUMS: sums.encode()}.items():
                archive.writestr(own, each)
        assert command('verify', redacted).status not in (0, 70), (name, place)


def test_the_names_stay_at_the_site_and_are_the_same_the_next_time(redacted, site_with_names, command):
    file = site_with_names.folder / 'state' / 'acceptance' / redact.NAMES
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    given = json.loads(file.read_text())
    assert given['host']['node1'] in ' '.join(text for _, text in texts(redacted))
    again = redacted.with_name('again.zip')
    command('bundle', f'--site={site_with_names.folder}', f'--output={again}', '--redact')
    assert contents(again) == contents(redacted)
    plain = redacted.with_name('plain.zip')
    command('bundle', f'--site={site_with_names.folder}', f'--output={plain}')
    assert not any(redact.NAMES in name for name in contents(plain))


def test_records_that_do_not_verify_are_not_sealed_anew(site_with_names, on_site, command):
    (file,) = site_with_names.folder.glob('state/sessions/*/cases/*/samples.jsonl')
    file.write_text(file.read_text().replace('"host":"node1"', '"host":"node2"', 1))
    on_site('accept', '--judge')
    said = command('bundle', f'--site={site_with_names.folder}', '--output=b.zip', '--redact')
    assert (said.status, 'R4' in said.err) == (64, True)


def test_a_name_that_is_a_word_of_the_records_is_refused(site_with_names, command, monkeypatch):
    monkeypatch.setattr(redact.pwd, 'getpwuid', lambda _: SimpleNamespace(pw_name='copied'))
    said = command(
        'bundle', f'--site={site_with_names.folder}', f'--output={site_with_names.folder}/b.zip', '--redact'
    )
    assert said.status == 64
    assert re.search(r'words of the records .*: samples.jsonl, line \d+', said.err)
