"""`seatrial verify`: the figures of a session beside the raw output of its engines, with its exit code."""

import json
from pathlib import Path

import pytest

from builders import chained
from seatrial.job.sequence.recorder import LAUNCH
from seatrial.model.record import SAMPLES

SESSION = '20261121T020638-9f3a1c'


@pytest.fixture
def verify(command, site):
    return lambda *arguments: command('verify', f'--site={site.folder}', *arguments)


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


@pytest.mark.slow
def test_a_session_is_proved_until_record_results_or_output_are_edited(on_site, site, verify):
    """Where a figure is not that of the output, there is no report either."""
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
