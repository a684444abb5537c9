"""The page in a real browser without network access."""

import dataclasses
import json
import re
import subprocess
import zlib
from html import escape
from types import SimpleNamespace

import pytest

from builders import measured_of, night, node_plan, scenario_of
from seatrial.model.layout import Layout
from seatrial.report.session.page import page
from seatrial.workload.sweep import Sweep
from seatrial.workload.tree import metadata_tree

pytestmark = pytest.mark.needs('chromium')

WIDTHS = (360, 800, 1400)
BACKGROUND = {'light': 'f6f7f8', 'dark': '0f1317'}

LOOK = """<script>
addEventListener('load', () => {
  const touch = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  for (const {contentDocument: page, contentWindow: {innerWidth: width}} of document.querySelectorAll('iframe')) {
    page.querySelectorAll('details').forEach(details => details.open = true);
    const seen = {width, scrolls: page.documentElement.scrollWidth, drawings: 0, touching: [], outside: []};
    for (const drawing of page.querySelectorAll('svg.curve')) {
      const frame = drawing.getBoundingClientRect();
      if (!frame.width) continue;
      seen.drawings += 1;
      const labels = [...drawing.querySelectorAll('text')];
      const places = labels.map(label => label.getBoundingClientRect());
      places.forEach((a, i) => {
        const inside = a.left > frame.left - 1 && a.right < frame.right + 1
          && a.top > frame.top - 1 && a.bottom < frame.bottom + 1;
        if (!inside) seen.outside.push(labels[i].textContent);
        places.slice(0, i).forEach((b, k) => {
          if (touch(a, b)) seen.touching.push(labels[i].textContent + ' | ' + labels[k].textContent);
        });
      });
    }
    console.log('SEEN' + JSON.stringify(seen) + 'SEEN');
  }
});
</script>"""
"""Reports of each frame the width, the scroll width, the drawings, and the labels that touch or lie outside."""


@pytest.fixture
def browse(tmp_path):
    """Opens an HTML text as a file; returns the console lines, the URLs requested, the output and the screenshot."""

    def open_page(html, *options, width=1400, scheme='light'):
        file, log, picture = tmp_path / 'page.html', tmp_path / 'net.json', tmp_path / 'picture.png'
        file.write_text(html, encoding='utf-8')
        argv = [
            'chromium', '--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--no-first-run',
            '--disable-background-networking', '--disable-component-update', '--disable-sync',
            # Chromium itself contacts its vendor; with these options no request leaves this machine.
            '--host-resolver-rules=MAP * ~NOTFOUND', '--proxy-server=127.0.0.1:9',
            f'--user-data-dir={tmp_path / "profile"}', f'--log-net-log={log}', '--enable-logging=stderr', '--v=0',
            f'--window-size={width},1000', f'--blink-settings=preferredColorScheme={int(scheme == "light")}',
            *(options or (f'--screenshot={picture}',)), file.as_uri(),
        ]  # fmt: skip
        done = subprocess.run(argv, capture_output=True, text=True, errors='replace', timeout=120, check=True)
        console = re.findall(r':CONSOLE[^\]]*\] (.*)', done.stderr)
        return SimpleNamespace(console=console, requests=requests_in(log), out=done.stdout, picture=picture)

    return open_page


def requests_in(log):
    """The URLs that the page requested; requests of the browser itself have no origin."""
    data = json.loads(log.read_text())
    kind = data['constants']['logEventTypes']['URL_REQUEST_START_JOB']
    requests = [event.get('params', {}) for event in data['events'] if event['type'] == kind]
    return [request['url'] for request in requests if request.get('initiator', 'not an origin') != 'not an origin']


def first_pixel(picture):
    """The size of a PNG and its first pixel, which no filter changes (PNG specification, 9.2)."""
    data = picture.read_bytes()
    size = int.from_bytes(data[16:20], 'big'), int.from_bytes(data[20:24], 'big')
    chunks, at = b'', 8
    while at < len(data):
        length = int.from_bytes(data[at : at + 4], 'big')
        chunks += data[at + 8 : at + 8 + length] if data[at + 4 : at + 8] == b'IDAT' else b''
        at += length + 12
    return size, zlib.decompress(chunks)[1:4].hex()


def in_layouts(make):
    """A session with data in ten layouts, nine of long names, metadata in two layouts, and a sweep over two nodes."""
    plain = tuple(
        Layout(f'{count}-stripes-of-{size}KiB', 'lustre', (f'c{count}', f'S{size}k'))
        for count in (1, 4, -1)
        for size in (64, 1024, 16384)
    )
    dom = Layout('dom-64KiB', 'lustre', ('e64k', 'mdt', 'c1'))
    tree = metadata_tree(files_per_directory=1000, bytes_per_file=3901, scales=True)
    small = make.plan('Dom', tree, Sweep('layout', (Layout(), dom)), tasks=8)
    many = make.plan('Map', sweep=Sweep('layout', (Layout(), *plain)))
    nodes = node_plan(2)
    even = make.even_rates(many).items()
    rates = {name: [rate * (1 + n / 9) for rate in values] for n, (name, values) in enumerate(even)}
    swept = make.case(nodes, night(nodes, lambda node, phase: 1e8))
    return make.session(make.measured(many, rates), make.measured(small, make.tree_rates(small)), swept)


@pytest.fixture(scope='module', params=['data', 'metadata', 'layouts'])
def session(request, make):
    if request.param == 'layouts':
        return in_layouts(make)
    return make.varied() if request.param == 'data' else make.metadata(noise=0.4)


@pytest.mark.parametrize(('width', 'scheme'), [pytest.param(360, 'dark', marks=pytest.mark.long), (1400, 'light')])
def test_the_page_is_drawn_without_console_messages_and_without_requests(browse, make, width, scheme):
    seen = browse(page(make.varied()), width=width, scheme=scheme)
    assert (seen.console, seen.requests) == ([], [])
    assert first_pixel(seen.picture) == ((width, 1000), BACKGROUND[scheme])


def test_the_browser_reports_console_messages_and_requests(browse):
    seen = browse('<!doctype html><img src="http://127.0.0.1:9/x.png"><script>console.error("oh")</script>')
    assert seen.requests == ['http://127.0.0.1:9/x.png']
    assert any('oh' in line for line in seen.console)


def test_a_script_inserted_into_the_page_does_not_run(browse, make):
    html = page(make.session()).replace('<main>', '<script>document.title = "ran"</script><main>')
    seen = browse(html, '--dump-dom')
    assert '<title>ran' not in seen.out
    assert any('Content Security Policy' in line for line in seen.console)


def test_a_link_unfolds_the_case_that_it_leads_to(browse, make):
    html = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', '', page(make.varied()))
    follow = "location.hash = 'case-1'; console.log('OPEN' + document.querySelectorAll('details[open]').length);"
    seen = browse(html.replace('</main>', f'</main><script>{follow}</script>'))
    assert [re.search(r'OPEN(\d)', line).group(1) for line in seen.console] == ['1']


@pytest.fixture
def look(browse):
    """Opens each page, unfolded, in a frame of its width; returns the report of LOOK on each frame."""

    def reports_of(*pages):
        frames = [f'<iframe width="{width}" height="1000" srcdoc="{escape(html)}"></iframe>' for html, width in pages]
        seen = browse(f'<!doctype html>{"".join(frames)}{LOOK}')
        assert (seen.requests, [line for line in seen.console if 'SEEN' not in line]) == ([], [])
        return [json.loads(line.split('SEEN')[1]) for line in seen.console]

    return reports_of


def drawings_of(look, html):
    """The number of drawings, the same at each width; no labels touch, and the page does not scroll sideways."""
    results = look(*((html, width) for width in WIDTHS))
    assert [(result['width'], result['scrolls']) for result in results] == [(width, width) for width in WIDTHS]
    assert [result['touching'] + result['outside'] for result in results] == [[]] * len(WIDTHS)
    (drawings,) = {result['drawings'] for result in results}
    return drawings


def test_nothing_overlaps_and_the_page_does_not_scroll_sideways(look, session):
    measured = [case for case in session.cases if any(metric.summary for metric in case.result.metrics)]
    assert drawings_of(look, page(session)) == sum(not case.result.facts for case in measured)


def test_no_page_that_people_open_scrolls_sideways(look, pages):
    frames = {f'{name} {width}': (html, width) for name, html in pages.items() for width in (420, 1280)}
    scrolls = {name: seen['scrolls'] for name, seen in zip(frames, look(*frames.values()), strict=True)}
    assert scrolls == {name: width for name, (_, width) in frames.items()}


@pytest.mark.parametrize('seconds', [30, pytest.param(900, marks=pytest.mark.long)])
def test_nothing_overlaps_in_the_throughput_over_time(look, make, seconds):
    reads = [100.0] * 23 + [0.0] * 3 + [12345.0] * (seconds - 26)
    case = dataclasses.replace(make.timed(), telemetry=make.counted(reads, [1.0] * seconds))
    assert drawings_of(look, page(make.session(case))) == 2  # throughput over time, and metrics


def test_nothing_overlaps_in_the_course_of_a_scenario(look, make):
    points = scenario_of(60, 10, 120), scenario_of(3600, 120, 12 * 3600 - 3720, 6, 'mds-away')
    case = make.scenarios(*((point, measured_of(point, dead_s=6, errors=True)) for point in points))
    assert drawings_of(look, page(make.session(case))) == len(points) + 3  # metrics in B/s, in s and without a unit
