"""The drawing of throughput over time, and its place in the page."""

import json
import re
import subprocess
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import SIZE
from seatrial.model.telemetry import (
    AFTER,
    BEFORE,
    READ,
    WRITTEN,
    Look,
    Pace,
    RpcSize,
    RpcSizes,
    Served,
    Servers,
    Telemetry,
    Watch,
)
from seatrial.model.units import BINARY, DECIMAL, MIB
from seatrial.report.drawing.timeline import MAX_STEPS, PAPERS, timeline, why_none
from seatrial.report.session.page import page
from seatrial.workload.sweep import Sweep
from seatrial.workload.tree import metadata_tree

BEGIN = 1795230450.0
WIDE = PAPERS['wide']
WATCH = Watch(BEGIN, 'node1', 'block device sda of the whole machine', '', 1.0)


def counted(reads, writes=None, begin=BEGIN, **changes):
    """Looks a second apart between which so many MiB/s were read and written."""
    writes = writes or [0.0] * len(reads)
    read, written, looks = 0.0, 0.0, [Look(begin, 0.0, 0.001, {READ: 0, WRITTEN: 0})]
    for i, (one, other) in enumerate(zip(reads, writes, strict=True), 1):
        read, written = read + one * MIB, written + other * MIB
        looks.append(Look(begin + i, float(i), 0.001, {READ: int(read), WRITTEN: int(written)}))
    return Telemetry(WATCH, looks, [], [], [], [], None, 0)._replace(**changes)


@pytest.fixture
def case(make):
    """A case of two launches of ten seconds each, a write and then a read, from BEGIN + 10 on."""
    plan = make.plan()
    records = make.records(plan, make.even_rates(plan))
    samples = []
    for i, (phase, stage) in enumerate([('write', 'warmup'), ('write', 'measured'), ('read', 'measured')]):
        sample = make.sample(plan, plan.points[0].label, phase, 0, {phase: 2 * SIZE / 10.0}, stage)
        samples.append(sample._replace(started=BEGIN + 10 * i, elapsed_s=10.0))
    return make.case(plan, records._replace(samples=samples))


@pytest.fixture
def page_of(make):
    """The page of a session of this case alone."""
    return lambda case, telemetry: page(make.session(replace(case, telemetry=telemetry)))


def drawn(case, telemetry, system=BINARY):
    return timeline(replace(case, telemetry=telemetry), system)


def test_a_case_without_telemetry_has_none_and_says_so(case):
    assert timeline(case, BINARY) is None and 'kept no telemetry' in why_none(case)


@pytest.mark.parametrize(
    ('telemetry', 'why'),
    [
        (counted([])._replace(watch=WATCH._replace(why_not='tmpfs is memory'), looks=[]), 'none: tmpfs is memory'),
        (counted([])._replace(looks=[]), 'none: the counters never answered'),
    ],
)
def test_where_nothing_was_counted_it_says_why(case, telemetry, why):
    assert drawn(case, telemetry) is None and why_none(replace(case, telemetry=telemetry)) == why


def test_the_lines_step_from_look_to_look(case):
    found = drawn(case, counted([100.0, 50.0] * 15))
    drawing = found.drawings['wide']
    ((first, second, third, *_),) = drawing.lines['read']
    assert first[1] == second[1] < third[1] and second[0] == third[0]
    assert found.step_s == 0.0 and why_none(case) and not why_none(replace(case, telemetry=counted([1.0])))


def test_the_upright_axis_begins_at_zero_and_holds_all(case):
    drawing = drawn(case, counted([100.0] * 30, [300.0] * 30)).drawings['wide']
    bottom = WIDE.height - WIDE.bottom
    assert drawing.y_ticks[0].label == '0' and drawing.y_ticks[0].at == bottom
    assert all(WIDE.top < y <= bottom for line in drawing.lines.values() for stroke in line for _, y in stroke)


def test_a_line_is_broken_where_nothing_is_known(case):
    telemetry = counted([100.0] * 30)
    telemetry = telemetry._replace(looks=telemetry.looks[:8] + telemetry.looks[14:])
    assert len(drawn(case, telemetry).drawings['wide'].lines['read']) == 2


def test_every_launch_has_a_band_on_the_lane_of_its_phase(case):
    drawing = drawn(case, counted([100.0] * 30)).drawings['wide']
    write, read = drawing.lanes
    assert (write.label, read.label) == ('write', 'read') and write.at < read.at
    assert [(band.y, band.measured) for band in drawing.bands] == [
        (write.at, False),
        (write.at, True),
        (read.at, True),
    ]
    assert 'warm-up' in drawing.bands[0].words and 'repetition 1' in drawing.bands[1].words
    assert drawing.bands[1].x == pytest.approx(drawing.bands[0].x + drawing.bands[0].width)


def test_a_stall_is_marked_and_named_in_words(case):
    found = drawn(case, counted([100.0] * 23 + [0.0] * 3 + [100.0] * 4))
    (sentence,) = found.pauses
    assert sentence == (
        'Stall of 3.00 s, 23 s after the beginning, in read@2MiB, repetition 1: 0 MiB/s moved; usual is 100 MiB/s.'
    )
    (block,) = found.drawings['wide'].blocks
    assert (block.kind, block.number) == ('stall', '1')
    read = found.drawings['wide'].bands[2]
    assert read.x < block.x and block.x + block.width < read.x + read.width
    assert '1 stall and 0 gaps' in found.words


def test_a_site_that_shows_decimal_units_has_them_on_the_axis(case):
    found = drawn(case, counted([100.0] * 30), DECIMAL)
    assert (found.unit.name, found.drawings['wide'].y_label, found.drawings['wide'].y_ticks[-1].label) == (
        'MB/s',
        'MB/s',
        '100',
    )


def test_a_gap_is_told_from_a_stall(case):
    telemetry = counted([100.0] * 30)
    found = drawn(case, telemetry._replace(looks=telemetry.looks[:23] + telemetry.looks[27:]))
    assert [block.kind for block in found.drawings['wide'].blocks] == ['gap']
    assert found.pauses == [
        'Gap of 5.00 s, 22 s after the beginning, in read@2MiB, repetition 1: the counters did not answer.'
    ]


def test_a_launch_that_failed_says_so(case):
    failed = [sample._replace(measurement=None) for sample in case.records.samples]
    case = replace(case, records=case.records._replace(samples=failed))
    (sentence,) = drawn(case, counted([100.0] * 23 + [0.0] * 3 + [100.0] * 4)).pauses
    assert 'in read@2MiB, repetition 1, which gave no figure: 0 MiB/s moved' in sentence


@settings(max_examples=20)
@given(st.integers(MAX_STEPS + 1, 5 * MAX_STEPS), st.integers(1, 997))
def test_many_looks_are_drawn_as_fewer_steps_that_moved_as_much(make, number, factor):
    plan = make.plan()
    rates = [float(i * factor % 211) for i in range(number)]
    evidence = replace(make.case(plan, make.records(plan, make.even_rates(plan))), telemetry=counted(rates))
    found = timeline(evidence, BINARY)
    (stroke,) = found.drawings['wide'].lines['read']
    assert len(stroke) == 2 * MAX_STEPS and found.step_s == pytest.approx(number / MAX_STEPS)
    bottom = WIDE.height - WIDE.bottom
    areas = [(other[0] - one[0]) * (bottom - one[1]) for one, other in zip(stroke[::2], stroke[1::2], strict=True)]
    means = [bottom - y for _, y in stroke[::2]]
    assert sum(areas) / (stroke[-1][0] - stroke[0][0]) == pytest.approx(sum(means) / MAX_STEPS)


@pytest.mark.parametrize(
    ('seconds', 'unit', 'last'), [(30, 'seconds', 30), (1200, 'minutes', 20), (36000, 'hours', 10)]
)
def test_the_axis_of_time_has_a_unit_that_fits(make, seconds, unit, last):
    plan = make.plan()
    records = make.records(plan, make.even_rates(plan))._replace(samples=[])
    evidence = replace(make.case(plan, records), telemetry=counted([1.0] * seconds))
    drawing = timeline(evidence, BINARY).drawings['wide']
    assert drawing.x_label.startswith(unit)
    assert 0 < float([tick.label for tick in drawing.x_ticks if tick.label][-1]) <= last


def test_launches_of_metadata_share_one_lane_and_have_no_stalls(make):
    plan = make.plan('Check', metadata_tree(files_per_directory=1000, scales=True), Sweep('tree', (('shared', {}),)))
    records = make.records(plan, make.tree_rates(plan))
    evidence = replace(make.case(plan, records), telemetry=counted([0.0, 50.0] * 10))
    found = timeline(evidence, BINARY)
    assert [lane.label for lane in found.drawings['wide'].lanes] == ['launches']
    assert not found.flows and not found.pauses


def test_looks_further_apart_are_said(case, page_of):
    telemetry = counted([1.0] * 30, paces=[Pace(BEGIN, 2.5, 'a look takes 0.13 s')])
    html = page_of(case, telemetry)
    assert 'Looked at every 2.5 s' in html


STALLED = [100.0] * 23 + [0.0] * 3 + [100.0] * 4


def test_the_page_folds_it_unless_something_stood_still(case, page_of):
    assert '<details class="timeline">' in page_of(case, counted([100.0] * 30))
    stalled = page_of(case, counted(STALLED))
    assert '<details class="timeline" open>' in stalled and '<li>Stall of 3.00 s' in stalled


def test_the_caption_says_whose_traffic_it_is_and_the_table_says_it_without_the_drawing(case, page_of):
    html = page_of(case, counted([100.0] * 30))
    assert 'Counted on node1 alone: block device sda of the whole machine; whatever else' in html
    table = html.partition('<table class="counted">')[2].partition('</table>')[0]
    assert re.search(r'read@2MiB</th><td class="n">1</td><td class="n">1</td><td class="n">100</td>', table)


def test_truncated_lines_are_said(case, page_of):
    assert '2 lines of the telemetry cut short or foreign' in page_of(case, counted([1.0] * 5, truncated=2))


def test_the_sizes_of_requests_and_what_servers_count_of_the_job_are_tables(case, page_of):
    row = Served('lustre-OST0001', 'write_bytes', 4, 4 * MIB, 'bytes')
    html = page_of(
        case,
        counted(
            [1.0] * 5,
            rpc_sizes=[
                RpcSizes(BEFORE, (RpcSize('256', 1, 1),)),
                RpcSizes(AFTER, (RpcSize('256', 41, 8), RpcSize('1K', 0, 12345))),
            ],
            servers=[
                Servers(BEFORE, BEGIN, 0, 'telemetry-before', '4242', ()),
                Servers(AFTER, BEGIN, 0, 'telemetry-after', '4242', (row,)),
            ],
        ),
    )
    assert re.search(r'256</th><td class="n">40</td><td class="n">7</td>', html)
    assert '1K</th><td class="n">0</td><td class="n">12\u202f345</td>' in html
    assert 'of job 4242' in html and re.search(r'lustre-OST0001</th><td>write_bytes</td>.*4 MiB', html)


def test_a_command_that_failed_says_how(case, page_of):
    failed = Servers(AFTER, BEGIN, 255, 'telemetry-after', '', (), 'it ended with 255')
    html = page_of(case, counted([1.0] * 5, servers=[failed]))
    assert 'After the case: it ended with 255' in html and 'no Slurm job' in html


def test_what_comes_from_elsewhere_is_escaped(case, page_of):
    bad = '<script>alert(1)</script>'
    served = Servers(AFTER, BEGIN, 0, bad, bad, (Served(bad, bad, 1, 1, 'bytes'),), bad)
    telemetry = counted([1.0] * 5, servers=[served._replace(when=BEFORE, own=(), why_not=''), served])
    html = page_of(case, telemetry._replace(watch=WATCH._replace(what=bad)))
    assert bad not in html and '&lt;script&gt;' in html
    nothing = counted([])._replace(watch=WATCH._replace(why_not=bad), looks=[])
    assert bad not in page_of(case, nothing)


LOOK = """<script>addEventListener('load', () => {
  const drawings = [...document.querySelectorAll('.timeline svg.curve')].filter(each => each.getClientRects().length);
  const outside = [], touching = [];
  for (const drawing of drawings) {
    const frame = drawing.getBoundingClientRect();
    const labels = [...drawing.querySelectorAll('text')];
    const places = labels.map(label => label.getBoundingClientRect());
    places.forEach((a, i) => {
      if (a.left < frame.left - 1 || a.right > frame.right + 1 || a.bottom > frame.bottom + 1)
        outside.push(labels[i].textContent);
      places.slice(0, i).forEach((b, k) => {
        if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
          touching.push(labels[i].textContent + ' | ' + labels[k].textContent);
      });
    });
  }
  document.title = 'SEEN' + JSON.stringify({drawings: drawings.length, outside, touching}) + 'SEEN';
});</script>"""


@pytest.mark.needs('chromium')
@pytest.mark.parametrize('width', [500, 1400])
@pytest.mark.parametrize('length', [30, 900])
def test_in_a_browser_nothing_overlaps(case, page_of, tmp_path, width, length):
    rates = STALLED + [12345.0] * (length - 30)
    html = page_of(case, counted(rates, [1.0] * length))
    free = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', '', html)
    file = tmp_path / 'page.html'
    file.write_text(free.replace('</head>', f'{LOOK}</head>'), encoding='utf-8')
    argv = ['chromium', '--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--proxy-server=127.0.0.1:9']
    argv += [f'--user-data-dir={tmp_path / "profile"}', f'--window-size={width},1000', '--dump-dom', file.as_uri()]
    done = subprocess.run(argv, capture_output=True, text=True, errors='replace', timeout=120, check=True)
    seen = json.loads(re.search('SEEN(.*?)SEEN', done.stdout.partition('<title>')[2]).group(1))
    assert seen == {'drawings': 1, 'outside': [], 'touching': []}
