"""`seatrial bundle`: one file that says by itself what was changed in it."""

import io
import json
import random
import re
import shutil
import subprocess
import zipfile
from types import SimpleNamespace

import jsonschema
import polars as pl
import pytest

import seatrial
from builders import CONTRACT
from seatrial.acceptance.bundle import SIGNATURE, SUMS, unpacked
from seatrial.acceptance.bundle_extracts import FILES
from seatrial.model.units import MIB
from site_fixtures import bundle_of, contents

SESSION, OTHER = '20261120T020638-9f3a1c', '20261121T020638-9f3a1c'


@pytest.fixture
def made(command, on_site, site, allocation, past):
    """Make a bundle of a site with one session for its contract, and one of another kind."""
    (site.folder / 'contract.yaml').write_text(CONTRACT)
    allocation(SESSION, '1', 200.0)
    past(OTHER)
    on_site('accept', '--judge')

    def bundle(*arguments):
        file = site.folder / 'bundle.zip'
        done = command('bundle', f'--site={site.folder}', f'--output={file}', *arguments)
        assert done.status == 0, done.err
        return file

    return bundle


@pytest.fixture
def key(tmp_path):
    """A key, and the file of allowed signers that names it."""
    if shutil.which('ssh-keygen') is None:
        pytest.skip('ssh-keygen is not installed')
    file = tmp_path / 'key'
    subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', file], check=True)
    signers = tmp_path / 'signers'
    signers.write_text(f'kern@pelagia.example {(tmp_path / "key.pub").read_text()}')
    return file, signers


def written(file, files):
    with zipfile.ZipFile(file, 'w') as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def test_it_has_the_protocol_the_site_and_the_sessions_of_the_contract_alone(made):
    names = set(contents(made()))
    assert {SUMS, 'site/contract.yaml', 'site/trial.yaml', 'acceptance/protocol.html'} < names
    assert {name.split('/')[1] for name in names if name.startswith('sessions/')} == {SESSION}


def resummed(file, changes):
    """The bundle with other contents, and with the sums that go with them; None takes a file out."""
    whole = {**contents(file), **changes}
    bundle_of(file, {name: content for name, content in whole.items() if content is not None})


@pytest.fixture
def laid_out(made, command, site):
    """The same as a folder."""
    made()
    folder = site.folder / 'bundle'
    assert command('bundle', f'--site={site.folder}', f'--output={folder}').status == 0
    return folder


def test_a_folder_has_the_files_of_the_archive_and_verifies_too(laid_out, command):
    names = {path.relative_to(laid_out).as_posix() for path in laid_out.rglob('*') if path.is_file()}
    assert names == set(contents(laid_out.with_suffix('.zip')))
    assert subprocess.run(['sha256sum', '--check', '--quiet', SUMS], cwd=laid_out, check=False).returncode == 0
    for form in (laid_out, laid_out.with_suffix('.zip')):
        done = command('verify', form)
        assert (done.status, 'changed' in done.out) == (0, False), done.out
        assert f'session {SESSION}: the chain of the records ends with' in done.out
        assert '+ PASS  criterion 1: 200 MiB/s' in done.out


def test_a_folder_whose_files_were_changed_or_are_links_is_none(laid_out, command):
    summary, page = laid_out / 'summary.md', laid_out / 'index.html'
    summary.write_text(summary.read_text().replace('200', '900'))
    page.rename(laid_out.parent / 'elsewhere')
    page.symlink_to(laid_out.parent / 'elsewhere')
    done = command('verify', laid_out)
    assert done.status == 11
    assert done.out.count('summary.md') == 1 and 'summary.md was changed' in done.out
    assert 'index.html is missing' in done.out
    (laid_out / SUMS).unlink()
    assert command('verify', laid_out).status == 11


def test_its_first_page_has_the_criteria_and_leads_to_everything(laid_out):
    page = (laid_out / 'index.html').read_text()
    for link in set(re.findall('href="([^"#:]+)["#]', page)):
        assert (laid_out / link).is_file(), link
    assert 'acceptance/protocol.html#c-1' in page
    assert SESSION in page


def test_one_changed_byte_is_found_wherever_it_is(made, tmp_path):
    file, rng = made(), random.Random(17)
    whole = contents(file)
    names = [name for name, content in whole.items() if content]
    for number in range(40):
        name = rng.choice(names)
        content = bytearray(whole[name])
        content[rng.randrange(len(content))] ^= rng.randrange(1, 256)
        written(file, {**whole, name: bytes(content)})
        folder = tmp_path / f'{number}'
        folder.mkdir()
        problems = unpacked(file, folder, None)
        assert problems, name
        assert name == SUMS or any(name in problem for problem in problems)


def test_a_missing_and_an_extra_file_are_named(made, command):
    file = made()
    whole = contents(file)
    gone = next(name for name in whole if name.endswith('samples.jsonl'))
    written(file, {**{name: content for name, content in whole.items() if name != gone}, 'more.txt': b'x'})
    done = command('verify', file)
    assert (done.status, f'{gone} is missing' in done.out) == (11, True)
    assert f'more.txt is not in {SUMS}' in done.out


def test_a_file_that_would_lie_elsewhere_is_not_written(made, tmp_path):
    file = made()
    name = '../outside.txt'
    digest = '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881'  # of 'x'
    written(file, {SUMS: f'{digest}  {name}\n', name: b'x'})
    (tmp_path / 'deep').mkdir()
    (problem,) = unpacked(file, tmp_path / 'deep', None)
    assert name in problem
    assert not (tmp_path / 'outside.txt').exists()


def test_a_name_that_cannot_be_a_file_is_said(made, tmp_path):
    file = made()
    resummed(file, {'acceptance/protocol.html/x': b'x', 'a' * 300: b'x'})
    (tmp_path / 'deep').mkdir()
    assert sum('cannot be unpacked' in problem for problem in unpacked(file, tmp_path / 'deep', None)) == 2


def test_one_that_would_fill_the_disk_is_not_unpacked(made, tmp_path, monkeypatch):
    file, folder = made(), tmp_path / 'deep'
    folder.mkdir()
    monkeypatch.setattr(shutil, 'disk_usage', lambda _: SimpleNamespace(free=1000))
    (problem,) = unpacked(file, folder, None)
    assert 'unpacked it takes' in problem
    assert list(folder.iterdir()) == []


PROTOCOL, CONTRACT_YAML, RESULTS = 'acceptance/protocol.html', 'site/contract.yaml', 'results.json'
SUMMARY = f'sessions/{SESSION}/report/summary.md'
ACCESS = b'access: file per process'
KEYS = {
    'workload.access': (ACCESS, b'access: single shared file'),
    'workload.queue_depth': (ACCESS, ACCESS + b', queue_depth: 8'),
    'workload.check': (ACCESS, ACCESS + b', check: Other'),
    'workload.point': (b'64KiB, bytes', b"64KiB, point: '128KiB', bytes"),
    'conditions.seconds': (b'budget: 1h', b'budget: 1h, seconds: 2 s'),
    'nodes': (b'nodes: 1', b'nodes: 2'),
}
"""By the key at which the contract asks for another workload than was measured."""
BY_ANOTHER = f'come to by Seatrial {seatrial.__version__}; use the version that wrote it, 0.0.1'


@pytest.mark.parametrize(
    ('name', 'old', 'new', 'words'),
    [
        *((CONTRACT_YAML, *edit, f'contract.yaml: criteria[0].{key}: requires ') for key, edit in KEYS.items()),
        (CONTRACT_YAML, b'at_least: 100 MiB/s', b'at_least: 10 MiB/s', PROTOCOL),
        (PROTOCOL, b'200 MiB/s', b'900 MiB/s', PROTOCOL),
        (PROTOCOL, b'(?s).+', b'', f'there is no {PROTOCOL}'),
        ('acceptance/protocol.json', b'"state": ""', b'"state": "degraded"', 'acceptance/protocol.json'),
        ('acceptance/protocol.json', b'"criteria"', b'"others"', 'acceptance/protocol.json'),
        ('acceptance/remarks.jsonl', rb'Seen\.', b'Agreed.', PROTOCOL),
        (SUMMARY, b'# MEASURED', b'# PASS', f'{SUMMARY} is not what the records come to'),
        (RESULTS, b'"schema": ?1', b'"schema": 2', 'results.json: schema 2 is not 1'),
        (RESULTS, b'(?s).+', b'[]', 'results.json has no schema'),
        (RESULTS, b'"seatrial": ?"[^"]+"', b'"seatrial": "0.0.1"', BY_ANOTHER),
    ],
)
def test_what_was_edited_is_named_under_sums_made_anew(made, on_site, command, name, old, new, words):
    on_site('accept', '--remark=1', '--reason=Seen.', '--by=J. Kern')
    file = made()
    before = contents(file)[name]
    after = re.sub(old, new, before, count=1)
    assert after != before
    resummed(file, {name: after or None})
    done = command('verify', file)
    assert (done.status, words in done.out) == (11, True), done.out


def test_a_verdict_in_the_results_of_a_session_is_compared_under_sums_made_anew(made, judged, command, site):
    file, results = made(), judged(site.folder / 'state' / 'sessions' / SESSION)
    name, honest = f'sessions/{SESSION}/{results.name}', results.read_bytes()
    resummed(file, {name: honest})
    assert command('verify', file).status == 0
    resummed(file, {name: honest.replace(b'"MEASURED"', b'"PASS"')})
    done = command('verify', file)
    assert done.status == 11
    assert 'results.json: the session is PASS there, and MEASURED by the records\n' in done.out


def test_a_criterion_has_one_verdict_in_a_bundle_that_of_the_protocol(made, judged, on_site, site):
    on_site('report', SESSION)
    folder = site.folder / 'state' / 'sessions' / SESSION
    judged(folder)
    whole = contents(made())
    page, results = (whole[f'sessions/{SESSION}/{name}'].decode() for name in ('report/index.html', 'results.json'))
    assert 'The protocol judges the criteria of the contract, over all allocations.' in page
    header = page[page.index('<header') : page.index('</header>')]
    assert re.findall(r'\b(PASS|FAIL|INCONCLUSIVE)\b', header) == []
    assert set(re.findall('"verdict": "(.+)"', results)) == {'MEASURED'}
    _, _, allocations = whole['index.html'].decode().partition('id="allocations"')
    assert re.findall(r'badge v-([a-z]+)', allocations) == ['measured', 'pass']


PAGES = ('index.html', 'summary.md', 'commands.txt')
FORMS = ('index.html', *FILES, *(f'sessions/{SESSION}/report/{name}' for name in PAGES))


def test_what_programs_read_is_in_it_in_the_published_form(made, repository):
    whole = contents(made())
    assert set(FORMS) < set(whole)
    schema = json.loads((repository / 'docs' / 'reference' / 'results.schema.json').read_text())
    results = json.loads(whole['results.json'])
    jsonschema.validate(results, schema)
    assert json.loads(whole['results.schema.json']) == schema
    (criterion,) = results['criteria']
    assert (criterion['verdict'], round(criterion['figure']), criterion['unit']) == ('met', 200 * MIB, 'B/s')
    rows = pl.read_parquet(io.BytesIO(whole['samples.parquet']))
    assert rows.filter(pl.col('metric') == 'write@64KiB')['value'].len() == 6
    assert pl.read_csv(io.BytesIO(whole['samples.csv']))['value'].to_list() == rows['value'].to_list()


def test_what_programs_read_is_found_where_it_is_not_what_the_records_come_to(made, command):
    file = made()
    whole = contents(file)
    changed = pl.read_parquet(io.BytesIO(whole['samples.parquet'])).with_columns(pl.col('value') * 2)
    changed.write_parquet(parquet := io.BytesIO())
    edited = {name: whole[name].replace(b'2', b'3', 1) for name in FORMS}
    resummed(file, {**edited, 'samples.parquet': parquet.getvalue(), 'summary.md': None})
    done = command('verify', file)
    assert (done.status, 'there is no summary.md' in done.out) == (11, True)
    for name in set(FORMS) - {'summary.md'}:
        assert f'{name} is not what the records come to' in done.out


def test_without_its_sessions_a_bundle_proves_nothing(made, command):
    file = made()
    resummed(file, {name: None for name in contents(file) if name.startswith('sessions/')})
    assert command('verify', file).status == 11


def test_no_program_of_a_bundle_is_run(made, command, tmp_path):
    file = made()
    resummed(file, {'site/settings.py': f"open('{tmp_path}/ran', 'w')".encode()})
    command('verify', file)
    assert not (tmp_path / 'ran').exists()


def test_a_protocol_from_before_the_last_session_is_not_packed(made, command, site, allocation):
    allocation('20261122T020638-9f3a1c', '1', 200.0)
    done = command('bundle', f'--site={site.folder}', f'--output={site.folder / "b.zip"}')
    assert (done.status, 'seatrial accept --judge' in done.err) == (64, True)


def test_what_is_no_bundle_is_said(command, tmp_path):
    (tmp_path / 'a.zip').write_bytes(b'no archive')
    assert command('verify', tmp_path / 'a.zip').status == 11
    written(tmp_path / 'b.zip', {'a': b'b'})
    done = command('verify', tmp_path / 'b.zip')
    assert (done.status, SUMS in done.out) == (11, True)
    assert command('verify', tmp_path / 'c.zip').status == 64


def test_a_signature_is_that_of_an_allowed_signer(made, command, key):
    private, signers = key
    file = made('--sign', private)
    assert SIGNATURE in contents(file)
    done = command('verify', file, '--signers', signers)
    assert done.status == 0, done.out
    signers.write_text(signers.read_text().replace('AAAAC3', 'AAAAC3', 1)[:-20] + 'A' * 10 + '\n')
    assert command('verify', file, '--signers', signers).status == 11


def test_sums_that_were_made_anew_have_no_signature(made, command, key):
    private, signers = key
    file = made('--sign', private)
    whole = contents(file)
    written(file, {**whole, SUMS: whole[SUMS].replace(b'\n', b' \n', 1)})
    assert 'no signature' in command('verify', file, '--signers', signers).out
    written(file, {name: content for name, content in whole.items() if name != SIGNATURE})
    done = command('verify', file, '--signers', signers)
    assert (done.status, 'it is not signed' in done.out) == (11, True)


def test_a_bundle_is_never_overwritten(made, command, site):
    file = made()
    assert command('bundle', f'--site={site.folder}', f'--output={file}').status == 64


def test_without_a_session_for_a_contract_there_is_none(command, site, past):
    past(OTHER)
    done = command('bundle', f'--site={site.folder}', f'--output={site.folder / "b.zip"}')
    assert (done.status, 'seatrial accept' in done.err) == (64, True)


# The committed sample: a real bundle, in which every verdict can be seen


@pytest.fixture
def sample(repository):
    return repository / 'reports' / 'sample.zip'


def test_the_sample_verifies(sample, command):
    done = command('verify', sample)
    assert done.status == 0, f'{done.out}\nci/sample --again makes its pages of today'


def test_the_sample_has_valid_and_invalid_sessions_and_criteria_met_missed_undecided_and_waived(sample):
    page = zipfile.ZipFile(sample).read('index.html').decode()
    criteria, _, sessions = page.partition('id="allocations"')
    assert {'invalid', 'measured'} <= set(re.findall('badge v-([a-z]+)', sessions))
    assert {'met', 'missed', 'undecided', 'waived'} <= set(re.findall(r'\w+', criteria))
