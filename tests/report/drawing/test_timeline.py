"""The drawing of throughput over time, and its place in the page."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.model.telemetry import AFTER, BEFORE, Pace, RpcSize, RpcSizes, Served, Servers
from seatrial.model.units import BINARY, MIB
from seatrial.report.drawing.plot import Box, Curve
from seatrial.report.drawing.timeline import MAX_STEPS, timeline, why_none
from seatrial.report.session.page import page
from seatrial.workload.sweep import Sweep
from seatrial.workload.tree import metadata_tree

BEGIN = 1795230454.0
STALLED = [100.0] * 23 + [0.0] * 3 + [100.0] * 4


@pytest.fixture
def case(make):
    return make.timed()


@pytest.fixture
def page_of(make, case):
    """The page of a session with this case only, with this telemetry."""
    return lambda telemetry: page(make.session(replace(case, telemetry=telemetry)))


def drawn(case, telemetry):
    return timeline(replace(case, telemetry=telemetry), BINARY)


def test_a_case_without_counts_has_no_drawing_but_a_reason(make, case):
    silent = make.counted([])._replace(looks=[])
    refused = silent._replace(watch=silent.watch._replace(why_not='tmpfs is memory'))
    reasons = ['the job kept no telemetry', 'the counters could not be read', 'tmpfs is memory']
    for telemetry, why in zip((None, silent, refused), reasons, strict=True):
        assert drawn(case, telemetry) is None and why_none(replace(case, telemetry=telemetry)) == f'none: {why}'


def lines_of(result):
    return {part.style: part.strokes for part in result['chart'].parts if isinstance(part, Curve)}


def boxes_of(result, *kinds):
    return [part for part in result['chart'].parts if isinstance(part, Box) and part.kind in kinds]


def test_a_line_has_a_step_for_each_look_and_its_axis_begins_at_zero(make, case):
    drawing = drawn(case, make.counted([100.0, 50.0] * 15, [300.0] * 30))
    assert lines_of(drawing)['read'][0][:3] == [(BEGIN, 100 * MIB), (BEGIN + 1, 100 * MIB), (BEGIN + 1, 50 * MIB)]
    assert (drawing['chart'].y.low, drawing['chart'].y.label, drawing['step_s']) == (0.0, 'MiB/s', 0.0)
    assert drawing['chart'].y.high > 300 * MIB and not why_none(replace(case, telemetry=make.counted([1.0])))


def test_every_launch_has_a_box_on_the_lane_of_its_phase(make, case):
    drawing = drawn(case, make.counted([100.0] * 30))
    assert drawing['chart'].lanes == ['write', 'read']
    launches = boxes_of(drawing, 'launch', 'launch other')
    assert [(box.start - BEGIN, box.end - BEGIN, box.lane, box.label) for box in launches] == [
        (0.0, 10.0, 0, 'warm-up, preparation'),
        (10.0, 20.0, 0, 'a measured launch'),
        (20.0, 30.0, 1, 'a measured launch'),
    ]
    assert 'warm-up' in launches[0].words and 'repetition 1' in launches[1].words
    assert [(box.start, box.end) for box in boxes_of(drawing, 'timed')] == [(b.start, b.end) for b in launches[1:]]


def test_a_stall_is_marked_and_described_in_a_sentence(make, case):
    drawing = drawn(case, make.counted(STALLED))
    assert drawing['pauses'] == [
        'Stall of 3.00 s, 23 s after the beginning, in read@2MiB, repetition 1: 0 MiB/s moved instead of 100 MiB/s.'
    ]
    (box,) = boxes_of(drawing, 'pause stall')
    assert (box.start - BEGIN, box.end - BEGIN, box.number, box.label) == (23.0, 26.0, '1', 'stall')
    assert '1 stall and 0 gaps' in drawing['chart'].words
    failed = [sample._replace(measurement=None) for sample in case.records.samples]
    case = replace(case, records=case.records._replace(samples=failed))
    (sentence,) = drawn(case, make.counted(STALLED))['pauses']
    assert 'in read@2MiB, repetition 1, which gave no figure: 0 MiB/s moved' in sentence


def test_a_gap_is_not_a_stall_and_breaks_the_line(make, case):
    telemetry = make.counted([100.0] * 30)
    drawing = drawn(case, telemetry._replace(looks=telemetry.looks[:23] + telemetry.looks[27:]))
    assert len(lines_of(drawing)['read']) == 2
    assert [box.label for box in boxes_of(drawing, 'pause gap')] == ['no samples']
    assert drawing['pauses'] == [
        'Gap of 5.00 s, 22 s after the beginning, in read@2MiB, repetition 1: the counters could not be read.'
    ]


@settings(max_examples=20)
@given(st.integers(MAX_STEPS + 1, 5 * MAX_STEPS), st.integers(1, 997))
@pytest.mark.slow
def test_many_looks_are_drawn_as_fewer_steps_with_the_same_bytes(make, number, factor):
    rates = [float(i * factor % 211) for i in range(number)]
    result = drawn(make.measured(), make.counted(rates))
    (stroke,) = lines_of(result)['read']
    assert len(stroke) == 2 * MAX_STEPS and result['step_s'] == pytest.approx(number / MAX_STEPS)
    moved = [rate * (end - start) for (start, rate), (end, _) in zip(stroke[::2], stroke[1::2], strict=True)]
    assert sum(moved) == pytest.approx(sum(rates) * MIB, rel=1e-6)


def test_metadata_launches_share_one_lane_and_have_no_stalls(make):
    plan = make.plan('Check', metadata_tree(files_per_directory=1000, scales=True), Sweep('tree', (('shared', {}),)))
    result = drawn(make.measured(plan, make.tree_rates(plan)), make.counted([0.0, 50.0] * 10))
    assert (result['chart'].lanes, list(result['flows']), result['pauses']) == (['launches'], [], [])


def test_the_page_folds_the_drawing_unless_it_has_a_stall(make, page_of):
    assert '<details class="timeline">' in page_of(make.counted([100.0] * 30))
    stalled = page_of(make.counted(STALLED))
    assert '<details class="timeline" open>' in stalled and '<li>Stall of 3.00 s' in stalled


def test_the_page_names_the_source_and_interval_of_the_counts_and_has_them_as_a_table(make, page_of):
    html = page_of(make.counted([100.0] * 30, paces=[Pace(BEGIN, 2.5, 'a look takes 0.13 s')], truncated=2))
    assert 'Counted on node1: block device sda of the whole machine, every 2.5 s. 2 lines of the' in html
    table = html.partition('<table class="counted">')[2].partition('</table>')[0]
    assert re.search(r'read@2MiB</th><td class="n">1</td><td class="n">1</td><td class="n">100</td>', table)


def test_request_sizes_and_the_counts_of_servers_for_the_job_are_tables(make, page_of):
    row = Served('lustre-OST0001', 'write_bytes', 4, 4 * MIB, 'bytes')
    later = (RpcSize('256', 41, 8), RpcSize('1K', 0, 12345))
    sizes = [RpcSizes(BEFORE, (RpcSize('256', 1, 1),)), RpcSizes(AFTER, later)]
    counts = {BEFORE: (), AFTER: (row,)}
    servers = [Servers(when, BEGIN, 0, f'telemetry-{when}', '4242', rows) for when, rows in counts.items()]
    html = page_of(make.counted([1.0] * 5, rpc_sizes=sizes, servers=servers))
    assert re.search(r'256</th><td class="n">40</td><td class="n">7</td>', html)
    assert '1K</th><td class="n">0</td><td class="n">12\u202f345</td>' in html
    assert 'of job 4242' in html and re.search(r'lustre-OST0001</th><td>write_bytes</td>.*4 MiB', html)


def test_a_failed_command_is_shown_with_its_exit_status(make, page_of):
    failed = Servers(AFTER, BEGIN, 255, 'telemetry-after', '', (), 'it ended with 255')
    html = page_of(make.counted([1.0] * 5, servers=[failed]))
    assert 'After the case: it ended with 255' in html and 'not a Slurm job' in html


def test_text_from_commands_and_nodes_is_escaped(make, page_of):
    markup = '<script>alert(1)</script>'
    served = Servers(AFTER, BEGIN, 0, markup, markup, (Served(markup, markup, 1, 1, 'bytes'),), markup)
    telemetry = make.counted([1.0] * 5, servers=[served._replace(when=BEFORE, counts=(), why_not=''), served])
    html = page_of(telemetry._replace(watch=telemetry.watch._replace(what=markup)))
    assert markup not in html and '&lt;script&gt;' in html
    nothing = telemetry._replace(watch=telemetry.watch._replace(why_not=markup), looks=[], servers=[])
    assert markup not in page_of(nothing)
