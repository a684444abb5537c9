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
    more = 'from seatrial.judge.expectations import Insensitive'
    site.change('import data_access', f'import data_access\n{more}', CHECK)
    site.change('(4096, 65536))', f'(4096, 65536))\n    expectations = [{EXPECTATION}]', CHECK)
    site.change('bytes_per_task: 1MiB', ENFORCING)
    return judged(past(SESSION, proved=True))


def edit(file, change):
    """Changes the data of a file by `change`."""
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def reads(results):
    """The data of the case Reads."""
    return next(result for result in results['cases'] if result['case']['check'] == 'Reads')


def test_a_session_whose_output_was_not_kept_is_not_proved(past, verify):
    past(SESSION)
    done = verify()
    assert (done.status, ' not proved\n' in done.out) == (13, True)
    assert f'- INCOMPLETE  session {SESSION}: the chain of the records ends' in done.out


EDITS = {
    'the session is PASS there, and MEASURED by': lambda results: results.update(verdict='PASS'),
    f'{READS} is PASS there, and MEASURED by': lambda results: reads(results).update(verdict='PASS'),
    f'{READS}: read@4KiB is PASS there': lambda results: reads(results)['metrics'][0].update(verdict='PASS'),
    "the number of cases by verdict is {'PASS': 2} there": lambda results: results.update(counts={'PASS': 2}),
    f'{READS} is missing': lambda results: results['cases'].remove(reads(results)),
    f'{READS} is there 2 times': lambda results: results['cases'].append(reads(results)),
    f'{READS}: read@4KiB is missing': lambda results: reads(results)['metrics'].pop(0),
    f'{READS}: read@1MiB is MEASURED, and nothing of it': lambda results: reads(results)['metrics'].append(
        {**reads(results)['metrics'][0], 'metric': 'read@1MiB'}
    ),
}


@pytest.mark.parametrize('contradiction', EDITS)
def test_results_that_are_not_those_of_the_records_are_a_contradiction(results, verify, contradiction):
    edit(results, EDITS[contradiction])
    done = verify()
    assert (done.status, f'results.json: {contradiction}' in done.out) == (11, True), done.out


@pytest.mark.parametrize('key', ['engine', 'reasons', 'summary', 'unit'])
def test_whatever_else_results_have_of_a_case_is_compared(results, verify, key):
    def without(whole):
        next(part for part in (reads(whole), *reads(whole)['metrics']) if key in part).pop(key)

    edit(results, without)
    done = verify()
    assert (done.status, f'{key} is not what the records come to\n' in done.out) == (11, True)


def test_results_of_another_form_are_not_compared(results, verify):
    edit(results, lambda results: reads(results)['metrics'][0].pop('verdict'))
    done = verify()
    assert done.status == 13
    assert 'results.json: it is not of this version of Seatrial, and is not compared\n' in done.out


def test_a_session_is_judged_by_the_references_that_it_was_begun_with(missed, verify, site):
    site.change('900.0', '2.0', 'references.yaml')
    done = verify()
    assert done.status == 0, done.out


@pytest.mark.parametrize(
    'earlier',
    [
        lambda key, row: [*key, *row[:9]],  # before it was known of what its bounds are
        # with the value as it was written, and which is better
        lambda key, row: [*key, row[0], 0.0, *row[2:5], row[1], 'higher', *row[5:9]],
    ],
)
def test_references_are_read_as_earlier_sessions_have_kept_them(missed, verify, earlier):
    def as_earlier(results):
        results['references'] = [earlier(row[:2], row[2:]) for row in results['references']]

    edit(missed.with_name('session.json'), as_earlier)
    done = verify()
    assert done.status == 0, done.out


def test_references_of_a_session_that_are_damaged_are_refused_with_their_file(missed, verify):
    file = missed.with_name('session.json')
    edit(file, lambda content: content.update(references=[[]]))
    done = verify()
    assert (done.status, f'{file}: its references cannot be read' in done.err) == (64, True)


@pytest.mark.parametrize(('session', 'verdict'), [('results', 'MEASURED'), ('missed', 'FAIL'), ('enforced', 'PASS')])
def test_results_that_nobody_has_edited_are_verified_whatever_their_verdict(request, on_site, session, verdict):
    results = request.getfixturevalue(session)
    assert json.loads(results.read_text())['verdict'] == verdict
    for done in (on_site('verify'), on_site('verify', str(results.parent))):
        assert (done.status, f'verified  session {SESSION}' in done.out) == (0, True), done.out


def test_an_enforced_expectation_that_holds_does_not_hide_an_edited_verdict(enforced, on_site):
    edit(enforced, lambda results: reads(results)['metrics'][0].update(verdict='PASS'))
    done = on_site('verify')
    assert done.status == 11
    assert f'{READS}: read@4KiB is PASS there, and MEASURED by the records\n' in done.out


def test_verdicts_are_not_compared_where_trial_yaml_has_other_criteria_today(enforced, on_site, site):
    site.change(ENFORCING, 'bytes_per_task: 1MiB')
    done = on_site('verify')
    assert done.status == 13
    assert 'which proves nothing: other expectations were enforced on the day' in done.out


def test_verdicts_of_another_version_of_seatrial_are_not_compared(results, verify, monkeypatch):
    results.write_text(results.read_text().replace('"MEASURED"', '"PASS"'))
    written = seatrial.__version__
    monkeypatch.setattr(seatrial, '__version__', '99')
    done = verify()
    assert done.status == 13
    assert f'its verdicts differ, which proves nothing: Seatrial {written} judged on the day' in done.out


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
    content = json.loads(results.read_text())
    assert content['chain'] in honest.out

    def contradicted(file, edited):
        """The output of `verify` while the file has other contents."""
        before = file.read_bytes()
        file.write_bytes(edited)
        done, report = verify(), on_site('report')
        file.write_bytes(before)
        assert done.status == 11, done.out
        if file != results:
            assert report.status == 11 and all(line.strip() in report.out for line in done.out.splitlines()[1:2])
            assert (folder / 'report' / 'index.html').read_bytes() == page
        return done.out

    metric = content['cases'][0]['metrics'][0]
    metric['values'][0] *= 2
    assert f': {metric["metric"]} is not as the record has it' in contradicted(results, json.dumps(content).encode())
    (samples,) = folder.glob(f'cases/*/{SAMPLES}')
    lines = samples.read_text().splitlines(keepends=True)
    number, line = next((n, line) for n, line in enumerate(lines) if '"stage":"measured"' in line)
    value = json.loads(line)['measurement']['metrics'][0]['value']
    lines[number] = line.replace(f'"value":{value!r}', f'"value":{2 * value!r}')
    out = contradicted(samples, chained(lines).encode())
    assert f'line {number + 1} (measured read@' in out and 'results.json: it was made of other records' in out
    assert f'read is {2 * value!r} in the record and {value!r} by' in out
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
    done = command('verify', tmp_path)
    assert (done.status, list(tmp_path.iterdir())) == (64, [])
    assert f'others may write to {tmp_path} (mode 0777), and it has no sticky bit; set TMPDIR to a folder' in done.err
