"""The dashboard and the alert rules, answered by a real Prometheus that scraped a real file of figures."""

import dataclasses
import http.server
import json
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from datetime import datetime, timedelta, timezone
from functools import partial

import polars as pl
import pytest

from nights import figures
from seatrial.report.nights.nights import DONE, DueRun, nights
from seatrial.report.nights.notification import TrialWatch
from seatrial.report.openmetrics import openmetrics

NIGHT = datetime.now(timezone.utc) - timedelta(hours=40)
TRIES = 600
VARIABLES = {'$site': 'site', '$profile': 'nightly', '$file_system': '.*'}

pytestmark = pytest.mark.needs('prometheus', 'promtool')


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope='module')
def served(tmp_path_factory):
    """A folder with the figures of a night, and its address."""
    folder = tmp_path_factory.mktemp('metrics')
    opens = {'unit': 'op/s', 'check': 'Opens'}
    writes = figures(NIGHT, {'write@1MiB': [9e7, 1e8, 1.1e8] * 2})
    table = pl.concat([writes, figures(NIGHT, {'open@one': [7e3, 7.5e3] * 3}, **opens)])
    past = nights([table], 'site', 'nightly')
    watch = TrialWatch('site', 'nightly', datetime.now(timezone.utc), past, [DueRun(NIGHT, DONE)], rows=table)
    (folder / 'metrics').write_text(openmetrics(dataclasses.replace(watch, following=NIGHT + timedelta(days=2))))
    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, server.server_address[1]
        server.shutdown()


@pytest.fixture(scope='module')
def ask(served, repository):
    """A function that asks Prometheus, once it has scraped the figures and looked at the rules."""
    folder, port = served
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        free_port = free.getsockname()[1]
    shutil.copy(repository / 'reports' / 'grafana' / 'alerts.yaml', folder)
    target = {'job_name': 'seatrial', 'static_configs': [{'targets': [f'127.0.0.1:{port}']}]}
    every = {'scrape_interval': '1s', 'evaluation_interval': '1s'}
    config = folder / 'prometheus.yml'
    config.write_text(json.dumps({'global': every, 'rule_files': ['alerts.yaml'], 'scrape_configs': [target]}))
    argv = ['prometheus', f'--config.file={config}', f'--storage.tsdb.path={folder}/data']
    process = subprocess.Popen([*argv, f'--web.listen-address=127.0.0.1:{free_port}'], stderr=subprocess.DEVNULL)

    def asked(expression):
        address = f'http://127.0.0.1:{free_port}/api/v1/query?{urllib.parse.urlencode({"query": expression})}'
        with urllib.request.urlopen(address, timeout=30) as answer:
            return json.load(answer)['data']['result']

    try:
        for _ in range(TRIES):
            if process.poll() is not None or _firing(asked):
                break
            time.sleep(0.2)
        yield asked
    finally:
        process.terminate()
        process.wait()


def _firing(asked):
    try:
        return asked('ALERTS{alertstate="firing"}')
    except urllib.error.URLError:
        return []


def board(repository):
    return json.loads((repository / 'reports' / 'grafana' / 'dashboard.json').read_text())


def test_promtool_finds_no_fault_in_the_figures(served):
    text = (served[0] / 'metrics').read_text()
    done = subprocess.run(['promtool', 'check', 'metrics'], input=text, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, '', '')


def test_every_panel_of_the_dashboard_is_answered(ask, repository):
    empty = []
    for panel in board(repository)['panels']:
        for target in panel['targets']:
            expression = target['expr']
            for name, value in VARIABLES.items():
                expression = expression.replace(name, value)
            empty += [expression] * (not ask(expression))
    assert empty == []


def test_every_variable_of_the_dashboard_has_values(ask, repository):
    asked = [variable['query'] for variable in board(repository)['templating']['list'] if variable['type'] == 'query']
    for query in asked:
        series, label = re.fullmatch(r'label_values\((.+), (\w+)\)', query).groups()
        assert all(series_of['metric'][label] for series_of in ask(series.replace('$site', 'site')))
        assert ask(series.replace('$site', 'site'))
    assert len(asked) == 3


def test_40_hours_after_the_last_session_the_silence_is_an_alert_and_nothing_else_is(ask):
    fired = [alert['metric'] for alert in ask('ALERTS{alertstate="firing"}')]
    assert [(alert['alertname'], alert['site']) for alert in fired] == [('SeatrialSilent', 'site')]
