"""The record of a simulated scenario of 72 hours on 200 nodes: its size, and the time and memory for its figures
and its report.

    python benchmarks/scenario_record.py

One task a node, six actions of 120 s. Each node's rows are made as its task prints them, and read as they come.
"""

import argparse
import json
import resource
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

from harness import machine, run

from seatrial.engine.posixops.scenario_figures import ScenarioRow, bound_s, figures, line_of_row
from seatrial.model.action import Step, line_of_step
from seatrial.model.codec import to_json
from seatrial.model.point import Point
from seatrial.model.units import BINARY
from seatrial.report.drawing.timeline import courses
from seatrial.report.evidence import CaseEvidence
from seatrial.workload.scenario import VERIFIED, scenario

ACTIONS, AWAY_S, BEFORE_S = 6, 120.0, 3600.0
RATE, SIZE = 400, 65536  # acknowledged operations a second, and their bytes
LATENCIES = {'40': 250, '44': 100, '48': 40, '52': 8, '60': 2}


def rows(point: Point) -> Iterator[str]:
    """The lines that the task of a node prints."""
    at_s = 0.0
    while at_s < point.duration_s:
        end_s = bound_s(point, at_s)
        away = any(action.at_s <= at_s < action.at_s + action.for_s for action in point.actions)
        back = [action.at_s for action in point.actions if at_s <= action.at_s + action.for_s < end_s]
        number = 0 if away else int(RATE * (end_s - at_s))
        latencies = {} if away else {key: int(share * (end_s - at_s)) for key, share in LATENCIES.items()}
        gaps = tuple((start, start + AWAY_S) for start in back)
        yield line_of_row(ScenarioRow(at_s, end_s - at_s, number, number * SIZE, 0.0312, {}, latencies, gaps))
        at_s = end_s
    yield f'["{VERIFIED}",{int(RATE * point.duration_s)}]'


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--quick', action='store_true', help='two nodes, 12 hours')
    nodes, hours = (2, 12) if parser.parse_args().quick else (200, 72)
    each_s = hours * 3600 / ACTIONS
    point = scenario(BEFORE_S, AWAY_S, each_s - BEFORE_S - AWAY_S, ACTIONS)
    point = point.changed(actions=tuple(action._replace(name='away') for action in point.actions), tasks=nodes)
    text = '{"skew_s": 0.0}\n'
    for action in point.actions:
        text += line_of_step(Step('away', 'start', action.at_s, action.at_s, ''))
        text += line_of_step(Step('away', 'undo', action.at_s + action.for_s, action.at_s + action.for_s, ''))
    text += '{"complete": true}\n'
    lines = list(rows(point))
    size = sum(len(line) + 1 for line in lines)
    began = time.perf_counter()
    metrics, course = figures(point, [lines] * nodes, [f'n{number}' for number in range(nodes)], text)
    took_s = time.perf_counter() - began
    text_bytes = len(json.dumps(to_json(course)))
    case = SimpleNamespace(valid=True, repetition=1, point=point, measurement=SimpleNamespace(course=course))
    evidence = SimpleNamespace(plan=SimpleNamespace(points=[point]), samples={'outage': [case]})
    began = time.perf_counter()
    courses(cast(CaseEvidence, evidence), BINARY)
    drawn_s = time.perf_counter() - began
    outage = next(metric.value for metric in metrics if metric.name == 'outage')
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(machine())
    print('\n| nodes | hours | rows a node | a node | all | figures | memory | its course | drawn | outage | of |')
    print('|---|---|---|---|---|---|---|---|---|---|---|')
    sizes = f'{len(lines)} | {size / 2**20:.2f} MiB | {nodes * size / 2**20:.0f} MiB'
    kept = f'{took_s:.0f} s | {memory} MiB | {text_bytes / 1024:.1f} KiB | {1000 * drawn_s:.0f} ms'
    print(f'| {nodes} | {hours} | {sizes} | {kept} | {outage:.1f} s | {ACTIONS * AWAY_S:g} s |')
    return 0


if __name__ == '__main__':
    run(main)
