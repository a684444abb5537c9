"""The file for a monitoring system, as node_exporter's textfile collector and OpenMetrics want it."""

import dataclasses
import json
import re
from datetime import datetime, timedelta, timezone

import polars as pl
import pytest
import yaml
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from nights import CASE, figures, plain, rows
from seatrial.judge.verdict import Verdict
from seatrial.report.nights.nights import MISSED, DueRun, nights
from seatrial.report.nights.notification import TrialWatch
from seatrial.report.openmetrics import openmetrics

FIRST = datetime(2026, 11, 20, 1, 0, tzinfo=timezone.utc)
DAY = timedelta(days=1)


def watched(*tables, **others):
    return TrialWatch('site', 'nightly', FIRST + DAY, nights(tables, 'site', 'nightly'), **others)


def families(watch):
    """All that Prometheus reads of the file: gauges, each with a sentence."""
    gauges = list(text_string_to_metric_families(openmetrics(watch)))
    assert all((family.type, family.documentation[-1]) == ('gauge', '.') for family in gauges)
    return gauges


def samples(watch):
    """The samples of the file, by name and verdict."""
    read = [sample for family in families(watch) for sample in family.samples]
    assert not any(sample.timestamp for sample in read), "node_exporter's textfile collector takes no time stamps"
    return {(sample.name, sample.labels.get('verdict', '')): sample.value for sample in read}


def measured(**columns):
    """The metric families that Prometheus reads from a session, by name; each sample has labels and a value."""
    values = {'write@1MiB': [9e7, 1e8, 1.1e8, 1e8, 1e8, 1e8]}
    rates = {**columns, 'unit': 'op/s', 'check': 'Opens', 'better': 'higher'}
    table = pl.concat([figures(FIRST, values, **columns), figures(FIRST, {'open@one': [7e3, 7.5e3] * 3}, **rates)])
    read = families(dataclasses.replace(watched(table), rows=table))
    return {family.name: [(sample.labels, sample.value) for sample in family.samples] for family in read}


def test_each_metric_has_its_mean_and_interval_in_base_units_and_says_where_it_was_measured():
    exported = measured()
    ((labels, mean),) = exported['seatrial_bandwidth_bytes_per_second']
    assert mean == pytest.approx(1e8)
    where = {'site': 'site', 'profile': 'nightly', 'check': 'Check', **{key: str(CASE[key]) for key in CASE}}
    assert labels == {**where, 'metric': 'write@1MiB', 'better': 'higher'}
    ((_, low),) = exported['seatrial_bandwidth_low_bytes_per_second']
    ((_, high),) = exported['seatrial_bandwidth_high_bytes_per_second']
    assert low < mean < high
    assert exported['seatrial_rate_operations_per_second'][0][1] == pytest.approx(7250)
    assert [value for _, value in exported['seatrial_case_began_timestamp_seconds']] == [FIRST.timestamp()] * 2
    invalid = measured(verdict='INVALID')
    assert [labels['verdict'] for labels, _ in invalid['seatrial_metric_verdict']] == ['INVALID'] * 2
    assert not any('bandwidth' in name for name in invalid), 'what is invalid has no figure'


def test_names_in_the_dashboard_and_the_alerts_are_exported(repository):
    exported = set(measured()) | {name for name, _ in samples(watched(plain(FIRST, 'PASS'), following=FIRST + DAY))}
    folder = repository / 'reports' / 'grafana'
    board = json.loads((folder / 'dashboard.json').read_text())
    asked = [target['expr'] for panel in board['panels'] for target in panel['targets']]
    rules = yaml.safe_load((folder / 'alerts.yaml').read_text())['groups']
    asked += [rule['expr'] for group in rules for rule in group['rules']]
    names = {name for text in asked for name in re.findall(r'seatrial_\w+', text)}
    assert len(asked) > 8 and names <= exported


def test_the_time_of_the_last_run_in_which_all_was_measured_is_exported_and_none_of_what_never_was():
    exported = samples(watched(plain(FIRST, 'FAIL'), plain(FIRST + DAY, 'INCOMPLETE')))
    assert exported['seatrial_last_completed_timestamp_seconds', ''] == int(FIRST.timestamp()) + 150
    assert exported['seatrial_last_ended_timestamp_seconds', ''] == int((FIRST + DAY).timestamp())
    exported = samples(TrialWatch('site', 'nightly', FIRST, []))
    assert not any('timestamp' in name for name, _ in exported)
    assert exported['seatrial_last_verdict', 'INCOMPLETE'] == 1


@pytest.mark.parametrize('verdict', list(Verdict))
def test_exactly_one_verdict_is_the_last(verdict):
    exported = samples(watched(plain(FIRST, verdict.value)))
    assert all(exported['seatrial_last_verdict', one.value] == (one is verdict) for one in Verdict)


def test_what_stands_is_counted():
    cases = {'One': ('FAIL', {'write@1': 'FAIL', 'write@2': 'FAIL'}), 'Two': ('PASS', {'write@1': 'PASS'})}
    exported = samples(watched(rows(FIRST, 'FAIL', cases), criteria=7, following=FIRST + 2 * DAY))
    assert (exported['seatrial_last_cases', 'FAIL'], exported['seatrial_last_cases', 'PASS']) == (1, 1)
    assert (exported['seatrial_failing_criteria', ''], exported['seatrial_judged_criteria', '']) == (2, 7)
    assert exported['seatrial_next_timestamp_seconds', ''] == int((FIRST + 2 * DAY).timestamp())
    exported = samples(
        watched(plain(FIRST, 'PASS'), plain(FIRST + DAY, 'PASS'), runs=[DueRun(FIRST + 2 * DAY, MISSED)])
    )
    assert (exported['seatrial_nights_passed', ''], exported['seatrial_missed_runs', '']) == (2, 1)
    assert (exported['seatrial_last_verdict', 'PASS'], exported['seatrial_last_verdict', 'INCOMPLETE']) == (0, 1)
    assert ('seatrial_judged_criteria', '') not in exported, 'nobody knows of any'


@pytest.mark.parametrize(
    ('site', 'shown'), [('a"b', r'a\"b'), ('a\\b', r'a\\b'), ('a\nb', r'a\nb'), ('\x1b[31m', r'\\x1b[31m')]
)
def test_a_label_is_escaped(site, shown):
    watch = dataclasses.replace(watched(plain(FIRST, 'PASS')), site=site)
    assert samples(watch)
    assert f'site="{shown}"' in openmetrics(watch)


def test_every_figure_is_documented(repository):
    exported = samples(watched(plain(FIRST, 'PASS'), following=FIRST + DAY))
    documentation = (repository / 'docs' / 'how-to' / 'scheduled.md').read_text()
    names = {*measured(), *(name for name, _ in exported)}
    assert [name for name in names if not re.search(rf'^\|.*`{name}[`{{]', documentation, re.MULTILINE)] == []
