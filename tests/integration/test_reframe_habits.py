"""Commands and settings that users of ReFrame use with any suite, with a real ReFrame on this one."""

import fcntl
import json
import subprocess
import sys
import threading
import zlib
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import yaml

from local_site import LocalSite, trial
from site_fixtures import CHECKS, METADATA

OTHER = """
import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class Hello(rfm.RunOnlyRegressionTest):
    valid_systems = ['*']
    valid_prog_environs = ['*']
    executable = 'echo'
    sanity_patterns = sn.assert_true(True)
"""
SMOKE, NIGHTLY, FILES = 'Writes 1n/smoke', 'Writes 1n/nightly', 'Files 1n/smoke'
SITE, LONG = 'site-config/site', pytest.mark.long


@pytest.fixture(scope='module')
def home(tmp_path_factory, make_stub_fio):
    """A checkout with a site, its checks where settings.py says, and another suite beside them."""
    home = tmp_path_factory.mktemp('checkout')
    fio = make_stub_fio(home / 'stubs', ('measured', {'seconds': 0.5}))
    text = trial('Writes', engines=f'[{{name: fio, program: {fio}}}, posixops]', more='profiles: [smoke, nightly]')
    more = '  - {checks: [Files], partitions: [local:default], file_systems: [scratch], nodes: [1],'
    for folder in (f'{SITE}/checks/access', 'other'):
        (home / folder).mkdir(parents=True)
    LocalSite(home / SITE, f'{text}{more} profiles: [smoke]}}\n')
    (home / SITE / 'checks' / 'access' / 'data.py').write_text(CHECKS)
    (home / SITE / 'checks' / 'access' / 'metadata.py').write_text(METADATA)
    (home / 'other' / 'hello.py').write_text(OTHER)
    return home


@pytest.fixture(scope='module')
def reframe(home):
    """A call of ReFrame on the site, which has ended."""

    def run(*words):
        settings = f'--config-file={home / SITE / "settings.py"}'
        argv = [str(Path(sys.executable).with_name('reframe')), settings, '--nocolor', *words]
        return subprocess.run(argv, capture_output=True, text=True, cwd=home, timeout=300)

    return run


def listed(done):
    """The checks that are listed, each with its nodes and profile, by their names."""
    assert done.returncode == 0 and 'WARNING' not in done.stdout, done.stdout + done.stderr
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith('- ')]
    return sorted((f'{words[1]} {"/".join(words[2].split("/")[-2:])}' for words in lines), reverse=True)


@pytest.mark.parametrize(
    ('words', 'names'),
    [
        pytest.param(['-l'], [SMOKE, NIGHTLY, FILES], marks=LONG),
        pytest.param(['-l', '-t', 'MFWA', '-t', 'all_nodes', '-T', 'nightly'], [SMOKE], marks=LONG),
        pytest.param(['-l', '-E', 'file_system == "scratch" and layout != "default"'], [], marks=LONG),
        (['-l', '--mode=nightly', '--repeat=2'], [NIGHTLY, NIGHTLY]),
        pytest.param(['-l', '-t', 'metadata', '-P', 'budget=5s,9s'], [FILES, FILES], marks=LONG),
    ],
    ids=lambda value: ' '.join(value),
)
def test_the_settings_alone_list_what_is_chosen_and_nothing_that_no_trial_asks_for(reframe, words, names):
    assert listed(reframe(*words)) == names


def test_what_was_only_listed_has_left_nothing_and_variables_of_another_suite_are_left_alone(home, reframe):
    assert 'Found 3 check(s)' in reframe('-l', '-S', 'scale=1_node', '-S', 'Hello.valid_systems=*').stdout
    assert not (home / SITE / 'state').exists()


@pytest.mark.parametrize(
    ('words', 'sentence'),
    [
        (['--mode=acceptance'], "has the profile 'acceptance'; write one of smoke, nightly"),
        pytest.param(['-S', 'valid_systems=other'], 'has a fixed value: trial.yaml says on which ', marks=LONG),
        (['-S', 'Files.num_nodes=4'], '-S num_nodes: Files has a fixed value: it belongs to the case; choose'),
        pytest.param(['-S', 'budget=soon'], "-S: budget: 'soon' is not a duration; write a number", marks=LONG),
        pytest.param(['--distribute=all'], '--distribute: trial.yaml sets the nodes of a case', marks=LONG),
    ],
)
def test_what_cannot_be_set_ends_reframe_with_a_sentence(reframe, words, sentence):
    done = reframe('-l', *words)
    assert done.returncode == 64 and sentence in done.stderr


def test_a_dry_run_writes_the_job_and_its_plan_beside_it(home, reframe):
    given = [word for setting in ('transfer_size=512KiB', 'budget=5s', 'engine=dd') for word in ('-S', setting)]
    assert reframe('--dry-run', '-n', 'Writes', '--mode=smoke', *given).returncode == 0
    (file,) = (home / '.seatrial' / 'reframe' / 'smoke' / 'stage').rglob('plan.json')
    plan = json.loads(file.read_text())
    assert ([point['label'] for point in plan['points']], plan['stopping']['budget_s']) == (['512KiB'], 5.0)
    assert [engine['name'] for engine in plan['engines']] == ['dd']
    assert f'run remove {file}' in file.with_name('rfm_job.sh').read_text()


def test_the_parts_and_the_tags_of_a_case_are_shown(reframe):
    assert "'1_node', 'access', 'all_nodes', 'metadata', 'smoke'" in reframe('--list-tags', '-n', 'Files').stdout
    (case,) = json.loads(reframe('--describe', '-n', 'Files').stdout)
    named = [case[key] for key in ('name', 'profile', 'file_system', 'layout', 'num_nodes')]
    assert named == ['Files %case=scratch/default/1n/smoke', 'smoke', 'scratch', 'default', 1]


@LONG
def test_a_job_of_a_generated_pipeline_has_one_case_of_the_mode(reframe, tmp_path):
    file = tmp_path / 'pipeline.yml'
    reframe('--mode=nightly', f'--ci-generate={file}')
    (job,) = [job for job in yaml.safe_load(file.read_text()).values() if 'script' in job]
    words = job['script'][0].split()
    assert listed(reframe(*words[words.index('-n') :][:2], '--mode=nightly', '-l')) == [NIGHTLY]


@pytest.fixture(scope='module')
def ran(home, reframe):
    """The output of a run beside another suite, each check twice, and ReFrame's entries of it by their class."""
    report = home / 'report.json'
    paths = [f'--checkpath={home / name}' for name in (f'{SITE}/checks', 'other')]
    values = [
        word for value in ('profile=smoke', 'transfer_size=512KiB', 'bytes_per_task=1MiB') for word in ('-S', value)
    ]
    chosen = ['-n', 'Writes|Hello', '--repeat=2', '--performance-report']
    done = reframe(*paths, *values, *chosen, '-r', f'--report-file={report}')
    assert done.returncode == 0, done.stdout
    runs = {}
    for case in json.loads(report.read_text())['runs'][0]['testcases']:
        runs.setdefault(case['name'].split()[0], []).append(case)
    return done.stdout, runs


def test_the_suite_runs_beside_another_in_one_call_and_a_repeated_case_has_a_record_of_its_own(ran):
    results = {name: [run['result'] for run in runs] for name, runs in ran[1].items()}
    assert results == {'Hello': ['pass', 'pass'], 'Writes': ['pass', 'pass']}
    first, second = (Path(run['records']) for run in ran[1]['Writes'])
    assert first != second and all((folder / 'samples.jsonl').is_file() for folder in (first, second))


def test_a_performance_report_and_reframes_results_database_have_the_figures_with_their_units(ran, reframe):
    assert 'Current session stored with UUID' in ran[0]
    compared = reframe('--performance-compare=now-1h:now/now-1h:now/mean:/').stdout
    for text in (compared, ran[0].partition('PERFORMANCE REPORT')[2]):
        assert all(word in text for word in ('Writes %case=scratch/default/1n/smoke', 'write@512KiB', 'MiB/s'))


def test_of_a_restored_session_what_failed_is_run_again(ran, home, reframe):
    words = [f'--restore-session={home / "report.json"}', '-l', '-S', 'profile=smoke']
    assert 'Found 2 check(s)' in reframe(*words).stdout
    assert 'Found 0 check(s)' in reframe(*words, '--failed').stdout


class Collector(BaseHTTPRequestHandler):
    """Keeps what ReFrame's handlers send, by the path."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        packed = 'Content-Encoding' in self.headers
        self.server.received.setdefault(self.path, []).append(json.loads(zlib.decompress(body) if packed else body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture(scope='module')
def sent(home, reframe):
    """A run with a web server for its performance logs, a results database that somebody holds, and what is undecided
    skipped in one check and failed in the other: its output, ReFrame's entries by their class, and what was sent."""
    settings, report = home / SITE / 'settings.py', home / 'undecided.json'
    before = settings.read_text()
    with HTTPServer(('127.0.0.1', 0), Collector) as server:
        server.received = {}
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f'127.0.0.1:{server.server_port}'
        handlers = [
            {'type': 'httpjson', 'url': f'http://{address}/own', 'level': 'info'},
            {'type': 'graylog', 'address': address, 'level': 'info'},
        ]
        text = before.replace("'logging': [\n        {", f"'logging': [{{\n        'handlers_perflog': {handlers},")
        settings.write_text(text.replace("'enable': True", "'enable': True, 'sqlite_conn_timeout': 1"))
        (home / '.seatrial' / 'reframe').mkdir(parents=True, exist_ok=True)
        with (home / '.seatrial' / 'reframe' / '.db.lock').open('a') as held:
            fcntl.lockf(held, fcntl.LOCK_EX)
            values = ['-S', 'profile=smoke', '-S', 'Writes.undecided=fail', '-S', 'Files.undecided=skip']
            options = ('Writes.transfer_size=512KiB', 'Writes.bytes_per_task=1MiB', 'Files.files_per_task=100')
            sizes = [word for setting in options for word in ('-S', setting)]
            done = reframe('-n', 'Writes|Files', *values, *sizes, '-r', f'--report-file={report}')
        server.shutdown()
    settings.write_text(before)
    cases = json.loads(report.read_text())['runs'][0]['testcases']
    return done.stdout, {case['name'].split()[0]: case for case in cases}, server.received


def test_what_is_undecided_is_a_skip_or_a_failure_as_the_site_says_and_a_held_database_is_not_waited_for(sent):
    output, cases, _ = sent
    assert 'failed to store results in the database: another process has locked' in output
    results = {name: (case['result'], case['verdict']) for name, case in cases.items()}
    assert results == {'Writes': ('fail', 'MEASURED'), 'Files': ('skip', 'MEASURED')}
    words = 'MEASURED: valid, and without a pass criterion'
    assert cases['Writes']['fail_reason'] == f'performance error: {words}'
    assert f'[{words}]' in next(line for line in output.splitlines() if '[     SKIP ]' in line)
    assert all(case['perfvalues'] for case in cases.values())


def test_its_handlers_send_what_was_measured_with_units(sent):
    (record,) = sent[2]['/own']
    assert (record['check_verdict'], record['check_result'], record['check_num_nodes']) == ('MEASURED', 'fail', 1)
    assert record['check_perf_write_512KiB_unit'] == 'MiB/s'
    assert record['check_perf_write_512KiB_value'] > 0


def test_graylog_gets_all_metrics_of_a_case_in_one_field(sent):
    pytest.importorskip('pygelf', reason='ReFrame sends GELF by pygelf')
    (record,) = sent[2]['/gelf']
    assert (record['_check_verdict'], record['_check_num_nodes']) == ('MEASURED', 1)
    value, *_, unit, result = record['_check_perfvalues']['local:default:write@512KiB']
    assert value > 0 and (unit, result) == ('MiB/s', 'pass')


@pytest.fixture
def adopt(home, command):
    """`seatrial adopt` of a report."""
    return lambda *reports: command('adopt', f'--site={home / SITE}', *reports)


def test_a_run_is_adopted_as_a_session_of_the_history_with_its_report_once(ran, home, adopt):
    folder = Path(ran[1]['Writes'][0]['records']).parents[1]
    done = adopt(home / 'report.json')
    assert (done.status, json.loads((folder / 'results.json').read_text())['verdict']) == (0, 'MEASURED')
    assert (folder / 'report' / 'index.html').is_file()
    assert [file.stem for file in (folder.parents[1] / 'history').rglob('*.parquet')] == [folder.name]
    assert f'{folder.name} has its results' in adopt(home / 'report.json').out


def test_without_a_report_what_ended_without_results_is_adopted(ran, adopt):
    file = Path(ran[1]['Writes'][0]['records']).parents[1] / 'session.json'
    file.unlink(missing_ok=True)
    assert (adopt().status, file.exists()) == (0, True)


def test_a_case_that_is_changed_behind_its_name_is_incomplete(reframe, adopt, tmp_path):
    done = reframe('-n', 'Files', '-P', 'num_nodes=2', '-r', f'--report-file={tmp_path / "report.json"}')
    sentence = 'no trial of trial.yaml has smoke/scratch/default/2 on local:default'
    assert done.returncode == 1 and f'INCOMPLETE: {sentence}' in done.stdout
    adopted = adopt(tmp_path / 'report.json')
    assert (adopted.status, adopted.out.startswith('INCOMPLETE: Files/')) == (13, True)
    assert sentence in adopted.out
