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


def nights_of(days):
    rng = random.Random(3)
    return pl.concat(night(rng, day) for day in days)


def since(day):
    return pl.col('session_started') >= BEGAN + timedelta(days=day)


def turns_of(rows, effect=0.05):
    return trend(nights_in(rows), 1.0, effect).turns


@pytest.fixture(scope='module')
def year():
    return nights_of(day for day in range(365) if not 250 <= day < 264)


def test_a_year_has_the_changes_that_were_planted_and_no_others_with_what_changed_beside_them(year):
    turns = turns_of(year)
    assert [(turn.family, turn.change.verdict) for turn in turns] == [('data read', BETTER), ('data write', WORSE)]
    assert [(turn.began - BEGAN).days for turn in turns] == pytest.approx([290, 200], abs=2)
    assert [turn.change.ratio for turn in turns] == pytest.approx([1.1, 0.85], abs=0.03)
    assert all(turn.change.low < turn.change.ratio < turn.change.high for turn in turns)
    reads, writes = turns
    verdicts = [row.change.verdict for row in writes.comparison.metrics if row.family == 'data write']
    assert verdicts == [WORSE] * 3, 'its metrics are compared on both sides of it'
    assert [suspect.partition(' (')[0] for suspect in reads.suspects] == ['scratch: vm dirty_ratio: 20 against 10']
    assert writes.suspects == []
    (line,) = writes.comparison.circumstances
    assert line.startswith('scratch: ') and '% full against' in line


def test_the_nearest_difference_is_the_first_suspect():
    nights = {'kernel': 198, 'mpi': 200}  # from which another one ran
    columns = {name: pl.when(since(day)).then(pl.lit('2')).otherwise(pl.lit('1')) for name, day in nights.items()}
    (turn,) = turns_of(nights_of(range(180, 220)).with_columns(**columns))
    assert [suspect.partition(':')[0] for suspect in turn.suspects] == ['MPI', 'kernel']


def test_a_smaller_budget_of_false_notifications_is_a_stricter_level(year):
    monthly = 365.25 / 12 * 350 / 364
    rates = [trend(nights_in(year), budget, 0.05).rate for budget in (1.0, 0.1, 1000.0)]
    assert rates == pytest.approx([1.0, 0.1, MAX_LEVEL * monthly])


def test_a_change_within_the_smallest_effect_is_none_nor_is_a_metric_of_another_unit(year):
    assert [turn.family for turn in turns_of(year, 0.12)] == ['data write']
    other = since(20) & (pl.col('operation') == 'read')
    columns = {'unit': 's', 'better': 'lower'}
    changed = {name: pl.when(other).then(pl.lit(value)).otherwise(name) for name, value in columns.items()}
    assert turns_of(nights_of(range(40)).with_columns(**changed)) == []


def test_a_figure_that_is_no_number_hides_no_change():
    one = nights_of(range(180, 220))
    damaged = (pl.col('session') == one['session'][0]) & (pl.col('repetition') == 0)
    damaged_one = one.with_columns(value=pl.when(damaged).then(math.nan).otherwise('value'))
    assert [turn.family for turn in turns_of(damaged_one)] == ['data write']


def test_a_drop_shortly_before_all_metrics_get_other_names_is_told():
    renamed = pl.when(since(206)).then(pl.col('metric') + 'KiB').otherwise('metric')
    turns = turns_of(nights_of(range(190, 230)).with_columns(metric=renamed))
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
    families = [('better', 'data read'), ('worse', 'metadata'), ('worse', 'data write')]
    assert [(word, family) for word, _, family in turns] == families
    results = [datetime.fromisoformat(day).date() for _, day, _ in turns]
    planted = [DUE[number].date() for number in (UPGRADE, METADATA_WORSE, WRITES_WORSE)]
    assert all(abs((one - other).days) <= 2 for one, other in zip(results, planted, strict=True))
    first, last = (DUE[number].date() for number in (DEAD[0], DEAD[-1]))
    odd = [DUE[number].date() for number in FLAPPING if number % 2]
    assert re.findall(r'<li><strong>(\w+)</strong>: (.*)</li>', page) == [
        ('missed', f'{len(DEAD)} runs, {first} to {last}'),
        ('INVALID', f'{len(odd)} nights, {odd[0]} to {odd[-1]}'),
    ]


def test_suspects_and_annotations_stand_beside_a_change_signs_in_the_calendar_and_the_worst_metrics_below(page):
    beside = page.partition('better</span>')[2].partition('</ul>')[0]
    assert beside.index('kernel: 6.1 against 6.8') < beside.index('clients &lt;upgraded&gt;')
    assert page.count('class="v-missed"') == len(DEAD)
    assert page.count('class="v-invalid"') == len([number for number in FLAPPING if number % 2])
    names = re.findall(r'<th scope="row">(\w+)@', page.partition('Worst metrics')[2])
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
    rates = [1e8 * (0.8 if verdict == 'FAIL' else 1) * (1 + rng.gauss(0, 0.02)) for verdict in verdicts]
    nights_of_them = enumerate(zip(rates, verdicts, strict=True))
    tables = [figures(BEGAN + n * apart, {'write@1': [rate] * 2}, verdict) for n, (rate, verdict) in nights_of_them]
    rows = pl.concat([figures(BEGAN, {'write@1': [1e8]}).head(0), *tables])
    history = nights_in(rows)
    watch = TrialWatch('site', 'nightly', BEGAN + timedelta(days=30), nights([rows], 'site', 'nightly'), **watched)
    return year_page(watch, history, trend(history, 1.0, 0.05) if verdicts else None, noted)


GOOD = ('MEASURED',) * 4
BAD = (*GOOD, 'FAIL', 'INVALID')


@pytest.mark.parametrize(
    ('verdicts', 'hours', 'text'),
    [
        (('INVALID', 'PASS'), 2, '<strong>INVALID</strong>: 1 night, 2026-01-01'),
        (('INCOMPLETE', 'PASS'), 24, '<strong>INCOMPLETE</strong>: 1 night, 2026-01-01'),
        (GOOD, 24, 'Every night has a valid result.'),
        (BAD, 24, '<dt>first bad night</dt><dd>2026-01-05: FAIL</dd>'),
        (BAD, 24, '<dt>last good night</dt><dd>2026-01-04: MEASURED</dd>'),
        (('FAIL',), 24, '<dt>last good night</dt><dd>none</dd>'),
        (GOOD, 24, 'Of 1 metric measured in both, none is proved worse: 1 undecided.'),
    ],
)
def test_the_page_of_the_nights_is_right_in_each_sentence(verdicts, hours, text):
    page = short_page(*verdicts, apart=timedelta(hours=hours))
    assert text in page
    assert ('bad night' in page) == (verdicts[-1] not in ('PASS', 'MEASURED')), 'after a good night none is named'


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
