"""`seatrial verify`: the figures of a session beside the raw output of its engines, with its exit code."""

import json
import os
import signal
import tempfile
from pathlib import Path

import pytest

import seatrial
from builders import chained
from seatrial.job.sequence.recorder import LAUNCH
from seatrial.model.record import SAMPLES

SESSION = '20261121T020638-9f3a1c'
READS = 'Reads/local:default/scratch/default/1n'
REFERENCES = """
$seatrial: {Reads: {nightly: {origin: baseline, date: 2026-06-30}}}
Reads:
  $index: [profile, $partition, file_system, layout, num_nodes]
  nightly: {local:default: {scratch: {default: {1: {read@64KiB: [900.0, -0.05, 0.05, MiB/s]}}}}}
"""
CHECK = 'checks/files/check.py'
EXPECTATION = "Insensitive(id='X-1', words='it is flat', source='nobody', metric='read', to='transfer_size')"
ENFORCING = 'bytes_per_task: 1MiB, enforce: [X-1]'


@pytest.fixture
def verify(command, site):
    return lambda *arguments: command('verify', f'--site={site.folder}', *arguments)


@pytest.fixture
def results(past, judged):
    """results.json of a session that was compared with nothing, and whose figures are all proved."""
    return judged(past(SESSION, proved=True))


@pytest.fixture
def missed(site, past, judged):
    """results.json of a session in which one metric misses its reference."""
    (site.folder / 'references.yaml').write_text(REFERENCES)
    return judged(past(SESSION, proved=True))


@pytest.fixture
def enforced(site, past, judged):
    """results.json of a session in which an expectation holds that the site enforces."""
    site.change(
        'import data_access', 'import data_access\nfrom seatrial.judge.expectations import Insensitive', CHECK
    )
    site.change('(4096, 65536))', f'(4096, 65536))\n    expectations = [{EXPECTATION}]', CHECK)
    site.change('bytes_per_task: 1MiB', ENFORCING)
    return judged(past(SESSION, proved=True))


def edit(file, change):
    """The file as `change` leaves its data."""
    said = json.loads(file.read_text())
    change(said)
    file.write_text(json.dumps(said))


def reads(results):
    """The data of the case Reads."""
    return next(each for each in results['cases'] if each['case']['check'] == 'Reads')


def test_a_session_whose_output_was_not_kept_is_not_proved(past, verify):
    past(SESSION)
    said = verify()
    assert said.status == 13
    assert (
        ' not proved\n' in said.out and f'- INCOMPLETE  session {SESSION}: the chain of the records ends' in said.out
    )


def test_a_record_that_was_edited_is_a_contradiction(past, verify):
    samples = next(past(SESSION).glob(f'cases/Reads*/{SAMPLES}'))
    samples.write_text(samples.read_text().replace('"value":2', '"value":3', 1))
    said = verify(SESSION[:12])
    assert said.status == 11
    assert 'R4: line 2 (warmup read@4KiB, repetition 1) of samples.jsonl' in said.out


def test_a_session_that_is_not_there_is_refused(past, verify):
    assert (verify().status, 'seatrial run makes one' in verify().err) == (64, True)
    past(SESSION)
    assert "there is no session '2025'" in verify('2025').err


EDITS = {
    'the session is PASS there, and MEASURED by': lambda said: said.update(verdict='PASS'),
    f'{READS} is PASS there, and MEASURED by': lambda said: reads(said).update(verdict='PASS'),
    f'{READS}: read@4KiB is PASS there': lambda said: reads(said)['metrics'][0].update(verdict='PASS'),
    "the number of cases by verdict is {'PASS': 2} there": lambda said: said.update(counts={'PASS': 2}),
    f'{READS} is missing': lambda said: said['cases'].remove(reads(said)),
    f'{READS} is there 2 times': lambda said: said['cases'].append(reads(said)),
    f'{READS}: read@4KiB is missing': lambda said: reads(said)['metrics'].pop(0),
    f'{READS}: read@1MiB is MEASURED, and nothing of it': lambda said: reads(said)['metrics'].append(
        {**reads(said)['metrics'][0], 'metric': 'read@1MiB'}
    ),
}


@pytest.mark.parametrize('contradiction', EDITS)
def test_results_that_are_not_those_of_the_records_are_a_contradiction(results, verify, contradiction):
    edit(results, EDITS[contradiction])
    said = verify()
    assert (said.status, f'results.json: {contradiction}' in said.out) == (11, True), said.out


@pytest.mark.parametrize('key', ['engine', 'reasons', 'summary', 'unit'])
def test_whatever_else_results_have_of_a_case_is_compared(results, verify, key):
    edit(results, lambda said: next(each for each in (reads(said), *reads(said)['metrics']) if key in each).pop(key))
    said = verify()
    assert said.status == 11
    assert f'{key} is not what the records come to\n' in said.out


def test_results_of_another_form_are_not_compared(results, verify):
    edit(results, lambda said: reads(said)['metrics'][0].pop('verdict'))
    said = verify()
    assert said.status == 13
    assert 'results.json: it is not of this version of Seatrial, and is not compared\n' in said.out


def test_a_missed_reference_that_became_a_pass_is_a_contradiction(missed, verify):
    missed.write_text(missed.read_text().replace('"FAIL"', '"PASS"'))
    said = verify()
    assert said.status == 11
    assert f'results.json: {READS}: read@64KiB is PASS there, and FAIL by the records\n' in said.out
    assert 'results.json: the session is PASS there, and FAIL by the records\n' in said.out


def test_a_session_is_judged_by_the_references_that_it_was_begun_with(missed, verify, site):
    site.change('900.0', '2.0', 'references.yaml')
    said = verify()
    assert said.status == 0, said.out


@pytest.mark.parametrize(
    'earlier',
    [
        lambda key, own: [*key, *own[:9]],  # before it was known of what its bounds are
        # with the value as it was written, and which is better
        lambda key, own: [*key, own[0], 0.0, *own[2:5], own[1], 'higher', *own[5:9]],
    ],
)
def test_references_are_read_as_earlier_sessions_have_kept_them(missed, verify, earlier):
    def as_earlier(said):
        said['references'] = [earlier(row[:2], row[2:]) for row in said['references']]

    edit(missed.with_name('session.json'), as_earlier)
    said = verify()
    assert said.status == 0, said.out


def test_references_of_a_session_that_are_damaged_are_refused_with_their_file(missed, verify):
    file = missed.with_name('session.json')
    edit(file, lambda said: said.update(references=[[]]))
    said = verify()
    assert said.status == 64
    assert f'{file}: its references cannot be read' in said.err


@pytest.mark.parametrize(('session', 'verdict'), [('results', 'MEASURED'), ('missed', 'FAIL'), ('enforced', 'PASS')])
def test_results_that_nobody_has_edited_are_verified_whatever_their_verdict(request, on_site, session, verdict):
    results = request.getfixturevalue(session)
    assert json.loads(results.read_text())['verdict'] == verdict
    for said in (on_site('verify'), on_site('verify', str(results.parent))):
        assert (said.status, f'verified  session {SESSION}' in said.out) == (0, True), said.out


def test_an_enforced_expectation_that_holds_does_not_hide_an_edited_verdict(enforced, on_site):
    edit(enforced, lambda said: reads(said)['metrics'][0].update(verdict='PASS'))
    said = on_site('verify')
    assert said.status == 11
    assert f'{READS}: read@4KiB is PASS there, and MEASURED by the records\n' in said.out


def test_verdicts_are_not_compared_where_trial_yaml_has_other_criteria_today(enforced, on_site, site):
    site.change(ENFORCING, 'bytes_per_task: 1MiB')
    said = on_site('verify')
    assert said.status == 13
    assert 'which proves nothing: other expectations were enforced on the day' in said.out


def test_verdicts_of_another_version_of_seatrial_are_not_compared(results, verify, monkeypatch):
    results.write_text(results.read_text().replace('"MEASURED"', '"PASS"'))
    written = seatrial.__version__
    monkeypatch.setattr(seatrial, '__version__', '99')
    said = verify()
    assert said.status == 13
    assert f'its verdicts differ, which proves nothing: Seatrial {written} judged on the day' in said.out


@pytest.mark.slow
def test_a_session_is_proved_until_record_results_or_output_are_edited(on_site, site, verify, monkeypatch):
    """Where a figure is not that of the output, there is no report either."""
    monkeypatch.setattr('seatrial.model.metric.LONG_S', 0.0)  # the stand-in's launches are short
    on_site('run', '--profile=smoke', 'Reads')
    (folder,) = site.sessions()
    honest = verify()
    assert honest.status == 0, honest.out
    assert ' launches as their output says\n' in honest.out
    assert f'verified  session {folder.name}: the chain of the records ends with ' in honest.out
    results, page = folder / 'results.json', (folder / 'report' / 'index.html').read_bytes()
    said = json.loads(results.read_text())
    assert said['chain'] in honest.out

    def contradicted(file, edited):
        """What is said while a file is another one."""
        before = file.read_bytes()
        file.write_bytes(edited)
        found, report = verify(), on_site('report')
        file.write_bytes(before)
        assert found.status == 11, found.out
        if file != results:
            assert report.status == 11 and all(line.strip() in report.out for line in found.out.splitlines()[1:2])
            assert (folder / 'report' / 'index.html').read_bytes() == page
        return found.out

    metric = said['cases'][0]['metrics'][0]
    metric['values'][0] *= 2
    assert f': {metric["metric"]} is not as the record has it' in contradicted(results, json.dumps(said).encode())
    (samples,) = folder.glob(f'cases/*/{SAMPLES}')
    lines = samples.read_text().splitlines(keepends=True)
    number, line = next((n, each) for n, each in enumerate(lines) if '"stage":"measured"' in each)
    value = json.loads(line)['measurement']['metrics'][0]['value']
    lines[number] = line.replace(f'"value":{value!r}', f'"value":{2 * value!r}')
    out = contradicted(samples, chained(lines).encode())
    assert (
        f'line {number + 1} (measured read@' in out and f'read is {2 * value!r} in the record and {value!r} by' in out
    )
    assert 'results.json: it was made of other records' in out
    output = next(Path(samples.parent, 'raw').glob(f'*measured*{LAUNCH}'))
    assert f'{output} was changed after it was written' in contradicted(output, output.read_bytes()[:-1])
    assert verify().status == 0


def test_what_it_has_unpacked_does_not_outlive_a_request_to_end(command, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))
    monkeypatch.setattr('seatrial.cli.verify.unpacked', lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    assert command('verify', tmp_path).status == 130
    assert list(tmp_path.glob('seatrial-verify-*')) == []


def test_nothing_is_unpacked_where_others_may_replace_it(command, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))
    tmp_path.chmod(0o777)
    said = command('verify', tmp_path)
    assert (said.status, list(tmp_path.iterdir())) == (64, [])
    assert f'others may write to {tmp_path} (mode 0777), and it has no sticky bit; set TMPDIR to a folder' in said.err
