"""Sites with a scenario, as the tests of several storage systems use them: check, contract, and what came of it."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

from seatrial.job.sequence.recorder import records_in
from seatrial.model.metric import Metric

CHECK = """
import reframe
from seatrial.check.base import Check, trial
from seatrial.workload.scenario import scenario
from seatrial.workload.sweep import Sweep


@trial
class Away(Check):
    '''An action of some seconds.'''

    workload = scenario(before_s={before_s}, action_s={action_s}, after_s={after_s}, think_s=0.2)
    sweep = Sweep('action')
"""
BURDEN = """
actions:
  burden: {start: ['true'], undo: ['true'], check: ['true'], file_systems: [scratch]}
"""
CONTRACT = """
version: 1
title: Acceptance
date: 2026-06-30
parties: {{customer: Pelagia, supplier: Tidewater}}
criteria:
  - id: '1'
    text: Longer than it is away.
    metric: outage
    at_most: {longer} s
    nodes: {nodes}
    workload: {{check: Away}}
    conditions: {{caches: allowed}}
  - id: '2'
    text: Shorter than it is away.
    metric: outage
    at_most: {shorter} s
    nodes: {nodes}
    workload: {{check: Away}}
    conditions: {{caches: allowed}}
"""

PROBE = """
import os, sys, time
done, folder, files = sys.argv[1], sys.argv[2], int(sys.argv[3])
before, longest = [time.monotonic()] * files, [0.0] * files
while not os.path.exists(done):
    for number in range(files):
        try:
            descriptor = os.open(f'{folder}/probe{number}', os.O_WRONLY | os.O_CREAT, 0o600)
            try:
                os.pwrite(descriptor, b'x', 0)
            finally:
                os.close(descriptor)  # which waits for the server, on NFS and GlusterFS
        except OSError:
            continue
        now = time.monotonic()
        before[number], longest[number] = now, max(longest[number], now - before[number])
    time.sleep(0.05)
print(max(longest), flush=True)
"""
"""Somebody else on a client: the longest time without an operation of one of its files is how long the servers were
away. Arguments: a file that ends it, where its files are, how many."""


def metrics_of(session: Path) -> dict[str, Metric]:
    """Of the only scenario of a session, by their names."""
    (case,) = session.glob('cases/*')
    (sample,) = (each for each in records_in(str(case)).samples if each.stage == 'measured')
    assert sample.measurement is not None, sample.findings
    return {each.name: each for each in sample.measurement.metrics}


def until_acted(entry: Path, session: 'subprocess.Popen[str]', seconds: float = 120) -> None:
    """Wait until an action is in the journal."""
    end = time.monotonic() + seconds
    while not entry.exists():
        assert session.poll() is None and time.monotonic() < end, 'no action was begun'
        time.sleep(0.05)


def end_job(site: Path) -> None:
    """End the job of a session that was killed: its load would last until it has given up waiting for the session."""
    (records,) = site.glob('state/sessions/*/cases/*/samples.jsonl')
    os.kill(json.loads(records.read_text().splitlines()[0])['pid'], signal.SIGTERM)
