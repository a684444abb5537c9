"""A year of nights, and its page: exactly the changes that were planted, with what changed beside them."""

import json
import math
import random
import re
from datetime import datetime, timedelta, timezone

import polars as pl
import pytest

from nights import DEAD, DUE, FLAPPING, METADATA_WORSE, UPGRADE, WRITES_WORSE, figures, nights_in, session
from nights import year as planted_year
from seatrial.history.store import Annotation
from seatrial.judge.compare import BETTER, WORSE
from seatrial.report.nights.nights import nights
from seatrial.report.nights.notification import TrialWatch
from seatrial.report.nights.page import year_page
from seatrial.report.nights.trend import MAX_LEVEL, trend

BEGAN = datetime(2026, 1, 1, 2, 0, tzinfo=timezone.utc)


def night(rng, day):
    """Writes are slower from night 200 on, reads faster with an upgrade of night 290; odd nights in May INVALID."""
    level = 1 + rng.gauss(0, 0.03)
    times = {'write': 0.85 if day >= 200 else 1.0, 'read': 1.1 if day >= 290 else 1.0}
    means = {
        f'{name}@{point}': [100e6 * level * times[name] * (1 + rng.gauss(0, 0.02)) for _ in range(2)]
        for name in times
        for point in range(3)
    }
    state = {'mounted': 'x on /s type lustre', 'vm dirty_ratio': '20' if day < 290 else '10'}
    invalid = {'verdict': 'INVALID'} if 120 <= day < 141 and day % 2 else {}
    return figures(BEGAN + timedelta(days=day), means, state=json.dumps(state), used_percent=day // 10, **invalid)


@pytest.fixture(scope='module')
def year():
    rng = random.Random(3)
    return pl.concat(night(rng, day) for day in range(365) if not 250 <= day < 264)


def test_a_year_has_the_changes_that_were_planted_and_no_others(year):
    year_trend = trend(nights_in(year), 1.0, 0.05)
    assert [(turn.family, turn.change.verdict) for turn in year_trend.turns] == [
        ('data read', BETTER),
        ('data write', WORSE),
    ]
    days = [(turn.began - BEGAN).days for turn in year_trend.turns]
    assert days == pytest.approx([290, 200], abs=2)
    assert [turn.change.ratio for turn in year_trend.turns] == pytest.approx([1.1, 0.85], abs=0.03)
    assert all(turn.change.low < turn.change.ratio < turn.change.high for turn in year_trend.turns)


def test_what_changed_beside_it_is_the_suspect(year):
    reads, writes = trend(nights_in(year), 1.0, 0.05).turns
    assert [suspect.partition(' (')[0] for suspect in reads.suspects] == ['scratch: vm dirty_ratio: 20 against 10']
    assert writes.suspects == []
    assert [
        line.startswith('scratch: ') and '% full against' in line for line in writes.comparison.circumstances
    ] == [True]


def test_the_nearest_difference_is_the_first_suspect():
    rng = random.Random(3)
    nights = pl.concat(night(rng, day) for day in range(180, 220))
    began = pl.col('session_started')
    other = [(began >= BEGAN + timedelta(days=198), 'kernel'), (began >= BEGAN + timedelta(days=200), 'mpi')]
    changed = nights.with_columns(
        pl.when(later).then(pl.lit('2')).otherwise(pl.lit('1')).alias(c) for later, c in other
    )
    (turn,) = trend(nights_in(changed), 1.0, 0.05).turns
    assert [suspect.partition(':')[0] for suspect in turn.suspects] == ['MPI', 'kernel']


def test_a_smaller_budget_of_false_notifications_is_a_stricter_level(year):
    monthly = 365.25 / 12 * 350 / 364
    one, tenth = (trend(nights_in(year), budget, 0.05) for budget in (1.0, 0.1))
    assert (one.level, tenth.level) == pytest.approx((1 / monthly, 0.1 / monthly))
    assert (one.rate, tenth.rate) == pytest.approx((1.0, 0.1))
    assert trend(nights_in(year), 1000.0, 0.05).level == MAX_LEVEL


def test_the_metrics_of_a_change_are_compared_on_both_sides_of_it(year):
    _, writes = trend(nights_in(year), 1.0, 0.05).turns
    rows = [row for row in writes.comparison.metrics if row.family == 'data write']
    assert [row.change.verdict for row in rows] == [WORSE] * 3


def test_a_change_within_the_smallest_effect_is_none(year):
    assert [turn.family for turn in trend(nights_in(year), 1.0, 0.12).turns] == ['data write']


def test_a_metric_of_another_unit_changes_no_level():
    rng = random.Random(3)
    nights = pl.concat(night(rng, day) for day in range(40))
    other = (pl.col('session_started') >= BEGAN + timedelta(days=20)) & (pl.col('operation') == 'read')
    columns = {'unit': 's', 'better': 'lower'}
    changed = nights.with_columns(
        pl.when(other).then(pl.lit(value)).otherwise(pl.col(name)).alias(name) for name, value in columns.items()
    )
    assert trend(nights_in(changed), 1.0, 0.05).turns == []


def test_a_figure_that_is_no_number_hides_no_change():
    rng = random.Random(3)
    one = pl.concat(night(rng, day) for day in range(180, 220))
    damaged = (pl.col('session') == one['session'][0]) & (pl.col('repetition') == 0)
    one = one.with_columns(value=pl.when(damaged).then(math.nan).otherwise('value'))
    assert [turn.family for turn in trend(nights_in(one), 1.0, 0.05).turns] == ['data write']


def test_a_drop_shortly_before_all_metrics_get_other_names_is_told():
    rng = random.Random(3)
    nights = pl.concat(night(rng, day) for day in range(190, 230))
    later = pl.col('session_started') >= BEGAN + timedelta(days=206)
    renamed = pl.when(later).then(pl.col('metric') + 'KiB').otherwise('metric')
    turns = trend(nights_in(nights.with_columns(metric=renamed)), 1.0, 0.05).turns
    assert [f'{turn.began:%m-%d}' for turn in turns if turn.family == 'data write'] == ['07-20']


# The page of the year


@pytest.fixture(scope='module')
def page():
    """In the morning after the last night."""
    rows = pl.concat(planted_year().values())
    noted = [Annotation(DUE[UPGRADE].date(), 'clients <upgraded>')]
    past = nights([rows.filter(pl.col('session_started') > DUE[-20])], 'site', 'nightly')
    watch = TrialWatch('site', 'nightly', DUE[-1] + timedelta(hours=4), past)
    planted = trend(nights_in(rows), 1.0, 0.05, annotations=noted)
    return year_page(watch, nights_in(rows), planted, noted, [DUE[number] for number in DEAD], [session(DUE[-1])])


def test_exactly_what_was_planted_stands_on_the_page(page):
    turns = re.findall(r'([a-z]+)</span> ([\d-]+): scratch: ([a-z ]+)  ', page)
    assert [(word, family) for word, _, family in turns] == [
        ('better', 'data read'),
        ('worse', 'metadata'),
        ('worse', 'data write'),
    ]
    results = [datetime.fromisoformat(day).date() for _, day, _ in turns]
    planted = [DUE[number].date() for number in (UPGRADE, METADATA_WORSE, WRITES_WORSE)]
    assert all(abs((one - other).days) <= 2 for one, other in zip(results, planted, strict=True))
    first, last = (DUE[number].date() for number in (DEAD[0], DEAD[-1]))
    odd = [DUE[number].date() for number in FLAPPING if number % 2]
    assert re.findall(r'<li><strong>(\w+)</strong>: (.*)</li>', page) == [
        ('missed', f'{len(DEAD)} runs, {first} to {last}'),
        ('INVALID', f'{len(odd)} nights, {odd[0]} to {odd[-1]}'),
    ]


def test_the_first_suspect_and_the_annotations_stand_beside_a_change(page):
    beside = page.partition('better</span>')[2].partition('</ul>')[0]
    assert beside.index('kernel: 6.1 against 6.8') < beside.index('clients &lt;upgraded&gt;')


def test_each_day_of_the_calendar_has_its_sign(page):
    assert page.count('class="v-missed"') == len(DEAD)
    assert page.count('class="v-invalid"') == len([number for number in FLAPPING if number % 2])


def test_the_worst_metrics_are_compared_with_a_year_ago(page):
    worst = page.partition('Worst metrics')[2]
    names = re.findall(r'<th scope="row">(\w+)@', worst)
    assert names == ['open', 'open', 'write', 'write']


def test_each_family_has_a_chart_of_its_nights_with_the_changes_and_annotations(page):
    charts = re.findall(r'<svg class="curve wide".*?</svg>', page, re.DOTALL)
    assert len(charts) == 3
    assert ['turn c-worse' in chart for chart in charts] == [True, False, True]
    for chart in charts:
        assert 'clients &lt;upgraded&gt;' in chart
        dots = re.search('class="dot" d="(.*?)"', chart).group(1).count('M')
        assert dots > 300 and chart.count('>ratio to the mean<') == 1 and re.search(r'>20\d\d-\d\d<', chart)


# The page of a short history


def short_page(*verdicts, apart=timedelta(days=1), noted=(), **watched):
    """Of these nights, the write of which is a fifth slower where it is a FAIL."""
    rng = random.Random(1)
    began = [BEGAN + number * apart for number in range(len(verdicts))]
    rows = pl.concat(
        [
            figures(
                when, {'write@1': [1e8 * (0.8 if verdict == 'FAIL' else 1) * (1 + rng.gauss(0, 0.02))] * 2}, verdict
            )
            for when, verdict in zip(began, verdicts, strict=True)
        ]
        or [figures(BEGAN, {'write@1': [1e8]}).head(0)]
    )
    history = nights_in(rows)
    watch = TrialWatch('site', 'nightly', BEGAN + timedelta(days=30), nights([rows], 'site', 'nightly'), **watched)
    return year_page(watch, history, trend(history, 1.0, 0.05) if verdicts else None, noted)


GOOD = ('MEASURED',) * 4


@pytest.mark.parametrize(
    ('verdicts', 'apart', 'text'),
    [
        (('INVALID',) * 3, timedelta(days=1), '<strong>INVALID</strong>: 3 nights, 2026-01-01 to 2026-01-03'),
        (('INVALID', 'PASS'), timedelta(hours=2), '<strong>INVALID</strong>: 1 night, 2026-01-01'),
        (('INCOMPLETE', 'PASS'), timedelta(days=1), '<strong>INCOMPLETE</strong>: 1 night, 2026-01-01'),
        (GOOD, timedelta(days=1), 'Every night has a valid result.'),
        ((*GOOD, 'FAIL', 'INVALID'), timedelta(days=1), '<dt>first bad night</dt><dd>2026-01-05: FAIL</dd>'),
        ((*GOOD, 'FAIL', 'INVALID'), timedelta(days=1), '<dt>last good night</dt><dd>2026-01-04: MEASURED</dd>'),
        (('FAIL',), timedelta(days=1), '<dt>last good night</dt><dd>none</dd>'),
        (GOOD, timedelta(days=1), 'Of 1 metric measured in both, none is proved worse: 1 undecided.'),
    ],
)
def test_the_page_of_the_nights_is_right_in_each_sentence(verdicts, apart, text):
    assert text in short_page(*verdicts, apart=apart)


def test_after_a_good_night_no_bad_one_is_named():
    assert 'bad night' not in short_page('FAIL', 'PASS')


@pytest.mark.parametrize('day', [1, 4])
def test_an_annotation_of_the_first_and_of_the_last_day_is_drawn_between_axes_with_their_labels(day):
    page = short_page(*GOOD, noted=[Annotation((BEGAN + timedelta(days=day - 1)).date(), 'a new rack')])
    chart = re.search(r'<svg class="curve wide".*?</svg>', page, re.DOTALL).group()
    assert f'<title>2026-01-0{day}: a new rack</title><path class="noted"' in chart
    assert {'>night<', '>ratio to the mean<', '>2026-01-01<', '>1.00<'} <= set(re.findall('>[^<>]+<', chart))


def test_the_page_of_a_series_that_has_not_begun_says_so_and_shouts_nothing():
    page = short_page()
    assert '<h1>NOT BEGUN</h1>' in page and 'No session of this profile has ended yet.' in page
    assert 'INCOMPLETE' not in page and '<h2>' not in page
