"""Repetitions that a night needs, and the cost of the commands that read three years of nights.

    python benchmarks/nights.py --years 100 --series 400 --seed 2009 --sessions 1100 [--cases 120] [--quick]
    python benchmarks/nights.py --years 0 --sessions 7

First, nights of one case with eight metrics of one family are simulated. Half of the noise between nights is common
to all metrics. They are stopped by the rule from before nights had their own, and by their own. The table shows the
cost of a night, the drops that the trend finds within three nights, and the false notifications. An array version of
the rule stops the nights; a random part is compared with the real one (coverage.py).

Then a year of such nights is judged by a baseline of ten nights before it, as `seatrial baseline` makes it. The table
shows the verdicts of a case without a change, and after a drop of 30 %.

Last, the commands that list and compare nights, and find when they changed, are timed, after commands that read no
night. Each night has 120 cases (--cases) of 12 points with 6 samples: 1,440 metrics. Each command runs three times,
as a process of its own. The table shows wall and CPU seconds and peak resident memory of the run with the least CPU,
and the ratio of its CPU to that of a Python that does nothing, and of `reframe -l` with the same checks. --years 0
leaves out the simulated nights, --sessions 0 the commands. --quick shows only that it works.
"""

import argparse
import os
import shutil
import sys
from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import polars as pl
from coverage import CHECKED, check_against_the_rule, lognormal, stopped
from detection import BEFORE, TOOLS, YEAR, false_alarms, flagged_after
from harness import REFRAME, REPOSITORY, SEATRIAL, SITES, Cost, costs, machine, run, scratch

from seatrial.cli.baseline import WIDEST
from seatrial.history.noise import LEAST, NIGHTS, OF_MEDIAN
from seatrial.history.rows import COLUMNS
from seatrial.history.store import folder_of, read, write
from seatrial.judge.references import BASELINE, INSIDE, OUTSIDE, Reference, baseline_of, judge_reference
from seatrial.judge.statistics import MIN_FOR_INTERVAL
from seatrial.model.plan import StoppingRule
from seatrial.site.profile import NIGHTLY

ONE = REPOSITORY / 'tests' / 'history'
FIRST = datetime(2023, 11, 1, 2, tzinfo=timezone.utc)
DROP = 0.85
"""All figures of the last third of the nights are multiplied by this."""

WITHIN, BETWEEN = (0.05, 0.15, 0.40), (0.03, 0.10, 0.20)
DROPS, FOUND_WITHIN = (0.15, 0.30), 3
METRICS = 8
BASELINE_OF, CASES = 10, 4
"""Sessions of a baseline, as references.md advises; cases of a session, whose metrics are bounded jointly."""
EARLIER = StoppingRule(0.10)
RULES = {
    '4 to 20, and 2': EARLIER,
    'as nights differ': EARLIER._replace(minimum=MIN_FOR_INTERVAL, extra=0, between=NIGHTLY.between),
}


def family(rng, count: int, nights: int, noise: tuple[float, float], rule: StoppingRule, drop: float = 0.0):
    """Logarithms of the family's mean, by series and night, and mean number of repetitions of a metric in a night.

    noise: of a repetition, and between nights; drop: of all metrics, from the night BEFORE on
    """
    within, between = noise
    values, made = np.empty((count, METRICS, nights)), np.empty((count, METRICS, nights))
    for night in range(nights):
        shared, alone = rng.standard_normal((count, 1)), rng.standard_normal((count, METRICS))
        levels = between * (shared + alone).reshape(-1, 1) / np.sqrt(2) + (np.log1p(-drop) if night >= BEFORE else 0)
        samples = np.exp(levels) * lognormal(rng, (count * METRICS, rule.maximum + rule.extra), within)
        known = np.full(count, rule.between)
        if rule.between and night >= LEAST:
            steps = np.abs(np.diff(values[:, :, max(0, night - NIGHTS) : night], axis=2))
            known = np.median(np.median(steps, axis=2), axis=1) * OF_MEDIAN
        ends = stopped(samples, rule, np.repeat(known, METRICS))
        if not night:
            check_against_the_rule(samples, rule, ends, rng.choice(len(samples), min(CHECKED, len(samples))))
        values[:, :, night], made[:, :, night] = np.log(ends.mean).reshape(count, -1), ends.n.reshape(count, -1)
    return values.mean(axis=1), made[:, :, LEAST:].mean()


def print_repetitions(years: int, series: int, seed: int) -> None:
    """Print cost and findings of each rule. A launch lasts as long as the profile's target; no budget ends it."""
    print('| noise in a night | between nights | repetitions end | repetitions | minutes ', end='')
    print(f'| {" | ".join(f"drop of {100 * drop:.0f} % found" for drop in DROPS)} | false calls a year |')
    print('|---' * (6 + len(DROPS)) + '|', flush=True)
    seatrial = TOOLS[0]
    for noise in ((within, between) for within in WITHIN for between in BETWEEN):
        for words, rule in RULES.items():
            rng = np.random.default_rng(seed)
            quiet, made = family(rng, years, YEAR, noise, rule)
            alarms = sum(false_alarms(seatrial, one) for one in quiet.tolist()) * YEAR / (YEAR - BEFORE) / years
            cells = []
            for drop in DROPS:
                lower, _ = family(rng, series, BEFORE + FOUND_WITHIN, noise, rule, drop)
                flags = [flagged_after(seatrial, one) <= FOUND_WITHIN for one in lower.tolist()]
                cells.append(f'{100 * np.mean(flags):.0f} %')
            cost = f'{made:.1f} | {made * METRICS * NIGHTLY.effort.target_s / 60:.1f}'
            shares = ' | '.join(f'{100 * share:.0f} %' for share in noise)
            print(f'| {shares} | {words} | {cost} | {" | ".join(cells)} | {alarms:.2f} |', flush=True)


def verdicts(case, references) -> tuple[str, list[str]]:
    """The worst verdict of a night's case, and the verdict of each metric, by the samples of each metric."""
    nights_made = []
    for samples, reference in zip(case, references, strict=True):
        judged = judge_reference(reference, samples, '') if reference else None
        nights_made.append(
            {INSIDE: 'PASS', OUTSIDE: 'FAIL'}.get(judged.interval, 'INCONCLUSIVE') if judged else 'MEASURED'
        )
    return next(word for word in ('FAIL', 'INCONCLUSIVE', 'PASS', 'MEASURED') if word in nights_made), nights_made


def baseline(nights) -> list[Reference | None]:
    """The references of a case's metrics, by the samples of each night; None where `seatrial baseline` has none."""
    rates = []
    for row in zip(*nights, strict=True):
        shown = baseline_of(row, CASES * METRICS)
        bounds = None if shown.width > WIDEST else (-shown.width, shown.width)
        rates.append(
            bounds and Reference('rate', shown.value, *bounds, 'op/s', BASELINE, '2026-11-28', of_sessions=True)
        )
    return rates


def judged_year(rng, noise: tuple[float, float], rule: StoppingRule) -> tuple[Counter, Counter, int, float, float]:
    """Verdicts of cases and of metrics in a year without a change after the baseline; number of metrics with a
    reference; nights with a drop until a case fails, and until the trend names it."""
    within, between = noise

    def night(level: float, own_rule: StoppingRule, known: float):
        shared, alone = rng.standard_normal(), rng.standard_normal(METRICS)
        levels = np.exp(level + between * (shared + alone) / np.sqrt(2))[:, None]
        samples = levels * lognormal(rng, (METRICS, rule.maximum + rule.extra), within)
        ends = stopped(samples, own_rule._replace(between=known), known)
        return [[float(value) for value in row[:n]] for row, n in zip(samples, ends.n, strict=True)]

    alone = RULES['as nights differ']
    before = [night(0.0, alone, alone.between) for _ in range(BASELINE_OF)]
    references = baseline(before)
    steps = np.abs(np.diff(np.log([[np.mean(samples) for samples in case] for case in before]), axis=0))
    known = float(np.median(np.median(steps, axis=0)) * OF_MEDIAN)
    asked = rule if any(references) else alone
    cases, metrics, means = Counter(), Counter(), []
    for _ in range(YEAR):
        case = night(0.0, asked, known)
        word, words = verdicts(case, references)
        cases[word] += 1
        metrics.update(words)
        means.append(np.mean(np.log([np.mean(samples) for samples in case])))
    fails, lower = np.inf, []
    for number in range(1, FOUND_WITHIN + 1):
        case = night(np.log1p(-DROPS[-1]), asked, known)
        lower.append(np.mean(np.log([np.mean(samples) for samples in case])))
        if verdicts(case, references)[0] == 'FAIL':
            fails = min(fails, number)
    flagged = flagged_after(TOOLS[0], np.array(means[-BEFORE:] + lower))
    return cases, metrics, sum(map(bool, references)), fails, flagged


def print_verdicts(years: int, seed: int) -> None:
    """Print the verdicts of nights with a baseline."""
    print('\n| noise in a night | between nights | metrics with a reference ', end='')
    print('| cases PASS or MEASURED | INCONCLUSIVE | FAIL | metrics INCONCLUSIVE | ', end='')
    print(f'drop of 30 %: FAIL in the first night | FAIL or notified within {FOUND_WITHIN} |')
    print('|---' * 9 + '|', flush=True)
    rule = EARLIER._replace(between=NIGHTLY.between)  # a case with a reference has six samples at least
    for noise in ((within, between) for within in WITHIN[1:] for between in BETWEEN):
        rng = np.random.default_rng(seed)
        years_judged = [judged_year(rng, noise, rule) for _ in range(years)]
        cases, metrics = (sum((judged[place] for judged in years_judged), Counter()) for place in (0, 1))
        shares = [cases['PASS'] + cases['MEASURED'], cases['INCONCLUSIVE'], cases['FAIL']]
        row = [100 * share for share in noise]
        row += [100 * sum(judged[2] for judged in years_judged) / years / METRICS]
        row += [100 * share / cases.total() for share in shares]
        row += [100 * metrics['INCONCLUSIVE'] / metrics.total()]
        row += [100 * np.mean([judged[3] == 1 for judged in years_judged])]
        row += [100 * np.mean([min(judged[3], judged[4]) <= FOUND_WITHIN for judged in years_judged])]
        print('| ' + ' | '.join(f'{figure:.3g} %' for figure in row) + ' |', flush=True)


def a_night(cases: int) -> pl.DataFrame:
    """The rows of one night, in which each metric is 1 GB/s."""
    row = read(ONE).rows.filter((pl.col('operation') == 'write') & (pl.col('axis') == 'tasks')).head(1)
    numbers = [
        pl.DataFrame({'check': [f'Check{number:03}' for number in range(cases)]}),
        pl.DataFrame({'point': [f'{2**power}KiB' for power in range(12)]}),
        pl.DataFrame({'repetition': range(6)}, schema={'repetition': pl.Int64}),
    ]
    rows = row.drop('check', 'point', 'repetition')
    for column in numbers:
        rows = rows.join(column, how='cross')
    named = {'site': 'site', 'profile': 'nightly', 'selection': ''}
    rows = rows.with_columns(pl.lit(value).alias(name) for name, value in named.items())
    return rows.with_columns(metric='write@' + pl.col('point')).select(list(COLUMNS))


def make_nights(site: Path, number: int, cases: int) -> None:
    """Write the history of `number` nights, whose repetitions vary by 3 %."""
    rows, rng = a_night(cases), np.random.default_rng(2009)
    ends = np.arange(rows.height) * 1_900_000
    for n in range(number):
        began = FIRST + timedelta(days=n)
        session, at = f'{began:%Y%m%dT%H%M%S}-{n:06x}', pl.lit(began).cast(COLUMNS['started'])
        value = 1e9 * (DROP if 3 * n > 2 * number else 1) * (1 + 0.03 * rng.standard_normal(rows.height))
        columns = {
            'session': pl.lit(session),
            'session_started': at,
            'started': at + pl.Series(ends + rng.integers(0, 900_000, rows.height)).cast(pl.Duration('us')),
            'value': pl.Series(value),
            'seconds': pl.Series(6e10 / value),
        }
        write(folder_of(site / 'state'), session, rows.with_columns(**columns))


def commands(number: int) -> list[tuple[str, ...]]:
    """Commands over `number` nights; compare has the last night, a month and a tenth of all beside earlier ones."""

    def days(start: int, end: int) -> str:
        return '..'.join(f'{FIRST + timedelta(days=number + day):%Y-%m-%d}' for day in (start, end - 1))

    tenth = number // 10
    sides = [
        (days(-31, -1), 'latest'),
        (days(-60, -30), days(-30, 0)),
        (days(-2 * tenth, -tenth), days(-tenth, 0)),
    ]
    compared = [('compare', *side) for side in sides if number > 60]
    return [('list',), ('history', 'list'), ('history', 'list', '--all'), ('status',), *compared, ('trend',)]


def least(*words: str, program: str = SEATRIAL) -> Cost:
    return min((costs(*words, program=program) for _ in range(3)), key=lambda cost: cost.cpu_s)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--years', type=int, default=100)
    parser.add_argument('--series', type=int, default=400)
    parser.add_argument('--seed', type=int, default=2009)
    parser.add_argument('--sessions', type=int, default=1100)
    parser.add_argument('--cases', type=int, default=120)
    parser.add_argument('--quick', action='store_true', help='70 nights with 2 cases')
    options = parser.parse_args()
    sessions, cases = (70, 2) if options.quick else (options.sessions, options.cases)
    if options.years:
        print_repetitions(*(1, 2) if options.quick else (options.years, options.series), options.seed)
        print_verdicts(1 if options.quick else options.years // 5, options.seed)
    if not sessions:
        return 0
    print(f'\n{machine(f"polars {pl.__version__}")}')
    print(f'{sessions:,} sessions with {12 * cases:,} metrics\n')
    print('| command | wall | CPU | memory | CPU / Python | CPU / `reframe -l` |')
    print('|---|---|---|---|---|---|')
    with scratch() as folder:
        os.environ['TMPDIR'] = str(folder)  # where ReFrame leaves a log
        site = folder / 'site'
        shutil.copytree(SITES / 'local', site)
        trial = site / 'trial.yaml'
        trial.write_text(trial.read_text().replace('../../.seatrial', 'state'))
        settings = site / 'settings.py'
        settings.write_text(settings.read_text().replace('/../../.seatrial/', '/state/'))
        make_nights(site, sessions, cases)
        named = {f'seatrial {" ".join(words)}': (*words, f'--site={site}') for words in commands(sessions)}
        listed = f'--config-file={settings}', f'--checkpath={REPOSITORY / "checks"}', '--recursive', '--list'
        rows = {
            'python -c pass': least('-c', 'pass', program=sys.executable),
            'reframe -l': least(*listed, program=REFRAME),
            'seatrial --help': least('--help'),
            **{name: least(*words) for name, words in named.items()},
        }
    for name, cost in rows.items():
        ratios = ' | '.join(f'{cost.cpu_s / floor.cpu_s:.3g}' for floor in list(rows.values())[:2])
        print(f'| `{name}` | {cost.cells} | {ratios} |')
    return 0


if __name__ == '__main__':
    run(main)
