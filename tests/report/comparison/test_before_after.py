"""The comparison of two sets of rows of the history, and its page."""

import json
import math
import re
from datetime import datetime, timedelta, timezone

import polars as pl
import pytest

from nights import WHERE, figures
from seatrial.judge.compare import BETTER, SAME, WORSE
from seatrial.report.comparison.before_after import change_words, comparison, comparison_page, means_words, to_json

BEGAN = datetime(2026, 10, 1, 2, 0, tzinfo=timezone.utc)
CASE = f'Check/{WHERE}'


def nights(count=3, first=0, times=1.0, metrics=('write@1MiB', 'read@1MiB'), **columns):
    """Consecutive nights, whose rates differ by half a per cent."""
    rates = [[times * 100e6 * (1 + 0.005 * (night % 3) + 0.001 * n) for n in range(6)] for night in range(count)]
    return pl.concat(
        figures(BEGAN + timedelta(days=first + night), dict.fromkeys(metrics, values), **columns)
        for night, values in enumerate(rates)
    )


def verdicts(result):
    return {row.metric: row.change.verdict for row in result.metrics}


def test_a_metric_is_compared_within_its_case_and_listed_if_only_one_side_has_it():
    parts = {'read@1MiB': 1.0, 'write@1MiB': 0.5, 'write@2MiB': 1.0}
    after = pl.concat(nights(first=5, times=times, metrics=(name,)) for name, times in parts.items())
    compared = comparison(nights(metrics=('write@1MiB', 'read@1MiB', 'read@2MiB')), after)
    assert verdicts(compared) == {'write@1MiB': WORSE, 'read@1MiB': SAME}
    families = {row.family: row.change.verdict for row in compared.families}
    assert families == {'data write': WORSE, 'data read': SAME}
    assert compared.left_out == [f'{CASE}: read@2MiB: only before', f'{CASE}: write@2MiB: only after']


@pytest.mark.parametrize(
    ('before', 'after', 'why'),
    [
        ({}, {'unit': 's', 'better': 'lower'}, 'in B/s, higher is better, before; in s, lower is better, after'),
        ({'cache': 'cold'}, {'cache': 'cached'}, 'cold before and cached after, so they do not compare the storage'),
    ],
)
def test_a_metric_with_another_unit_or_cache_state_on_one_side_is_not_compared(before, after, why):
    compared = comparison(nights(**before), nights(first=5, **after))
    assert (compared.metrics, compared.left_out) == ([], [f'{CASE}: write@1MiB, read@1MiB: {why}'])


@pytest.mark.parametrize('value', [math.nan, math.inf])
def test_nan_and_infinity_are_not_valid_figures(value):
    compared = comparison(nights(), nights(first=5).with_columns(value=pl.lit(value)))
    assert (compared.metrics, compared.left_out[-1].endswith('no valid figures after')) == ([], True)


def test_worse_metrics_come_first_then_better_ones_then_equal_ones():
    times = {'write@1': 1.0, 'write@2': 0.8, 'write@3': 0.5, 'write@4': 1.9}
    after = pl.concat([nights(first=5, times=factor, metrics=(name,)) for name, factor in times.items()])
    compared = comparison(nights(metrics=tuple(times)), after)
    assert [row.metric for row in compared.metrics] == ['write@3', 'write@2', 'write@4', 'write@1']


@pytest.mark.parametrize(
    ('columns', 'operation', 'family'),
    [
        ({}, 'write', 'data write'),
        ({'kind': 'random'}, 'randrw_write_iops', 'data write'),
        ({'kind': 'random'}, 'randread_p99', 'data read'),
        ({'kind': 'tree', 'unit': 'op/s'}, 'file_create', 'metadata'),
        ({'kind': 'listing', 'unit': 'op/s'}, 'ls_first', 'metadata'),
        ({'kind': 'access', 'axis': 'ost'}, 'write', 'target'),
        ({'kind': 'tree', 'axis': 'mdt', 'unit': 'op/s'}, 'file_create', 'target'),
        ({'axis': 'node', 'point': 'all'}, 'write', 'node'),
        ({'kind': 'semantics', 'unit': ''}, 'holding', 'guarantees'),
        ({'kind': None}, 'read', 'data read'),
        ({'kind': None, 'unit': 'op/s'}, 'file_create', 'metadata'),
    ],
)
def test_a_metric_belongs_to_the_family_of_its_operation_kind_or_axis(columns, operation, family):
    named = (f'{operation}@{columns.pop("point", "1")}',)
    compared = comparison(nights(metrics=named, **columns), nights(first=5, metrics=named, **columns))
    assert [row.family for row in compared.metrics] == [row.family for row in compared.families] == [family]


def test_a_guarantee_that_no_longer_holds_is_worse():
    def night(day, holding):
        return figures(BEGAN + timedelta(days=day), {'holding@2tasks': [holding]}, kind='semantics', unit='')

    assert verdicts(comparison(night(0, 40.0), night(1, 39.0))) == {'holding@2tasks': WORSE}


def test_an_invalid_metric_is_listed_and_never_compared():
    invalid = nights(1, first=9, times=0.1, metrics=('write@1MiB',), verdict='INVALID')
    compared = comparison(nights(), pl.concat([nights(first=5), invalid]))
    assert verdicts(compared)['write@1MiB'] == SAME
    assert compared.left_out == [f'{CASE}: write@1MiB: INVALID in 20261010T020000-00000a']
    alone = comparison(nights(), invalid)
    assert (alone.metrics, f'{CASE}: write@1MiB: no valid figures after' in alone.left_out) == ([], True)
    invalid = nights(1, first=9, verdict='INVALID', cache='cached')
    compared = comparison(nights(cache='cold'), pl.concat([nights(first=5, cache='cold'), invalid]))
    assert set(verdicts(compared).values()) == {SAME}, 'the cache of an invalid session does not matter'


def test_invalid_launches_do_not_count():
    after = nights(first=5).with_columns(
        pl.when(pl.col('repetition') == 0).then(1.0).otherwise('value').alias('value'), valid=pl.col('repetition') > 0
    )
    assert set(verdicts(comparison(nights(), after)).values()) == {SAME}


def test_groups_of_a_node_sweep_are_left_out():
    compared = comparison(*(nights(first=day, axis='node', metrics=('write@group01', 'write@all')) for day in (0, 5)))
    assert list(verdicts(compared)) == ['write@all']
    assert compared.left_out == ['groups of a node sweep have other nodes in every session']


def test_each_file_system_has_its_families():
    home = [nights(first=day, file_system='home') for day in (0, 5)]
    compared = comparison(pl.concat([nights(), home[0]]), pl.concat([nights(first=5, times=0.5), home[1]]))
    assert len(compared.families) == 4
    verdicts_of = {(row.file_system, row.change.verdict) for row in compared.families}
    assert verdicts_of == {('home', SAME), ('scratch', WORSE)}


def test_a_comparison_of_two_single_sessions_has_a_notice_on_its_interval():
    single = comparison(nights(1), nights(1, first=5))
    assert 'One session a side' in single.notice and change_words(single.metrics[0].change)[1].endswith('*')
    assert comparison(nights(), nights(1, first=5)).notice == ''


def test_both_means_are_shown_in_one_unit():
    compared = comparison(nights(metrics=('write@1',)), nights(first=5, times=20.0, metrics=('write@1',)))
    assert compared.metrics[0].change.verdict == BETTER
    assert means_words(compared.metrics[0], 'binary') == ('96.1', '1920 MiB/s')


def test_the_json_has_differences_metrics_and_counts():
    before, after = (json.dumps({'mounted': mount}) for mount in ('tmpfs on /t type tmpfs', '/dev/x on /t type ext4'))
    compared = comparison(nights(state=before), nights(first=5, state=after))
    plain = json.loads(json.dumps(to_json(compared), allow_nan=False))
    assert plain['differing'] == ['scratch: mounted: tmpfs on /t type tmpfs against /dev/x on /t type ext4']
    assert plain['metrics'][0]['change']['verdict'] == SAME
    assert plain['counts'] == {'worse': 0, 'better': 0, 'undecided': 0, 'same': 2}


def test_the_page_lists_differences_before_any_figure_and_needs_no_other_file():
    state = json.dumps({'mounted': 'tmpfs on /<t> type tmpfs'})
    compared = comparison(nights(state=state), nights(first=5, times=0.5, state=json.dumps({'mounted': 'x'})))
    page = comparison_page(compared, 'site')
    differing = page.index('scratch: mounted: tmpfs on /&lt;t&gt; type tmpfs against x')
    assert differing < page.index('Families') < page.index('write@1MiB')
    assert re.findall('(?:src|href)="([^"]*)"', page) == ['data:,']
    assert page.count('▼ worse') == 4
