"""fio on raw devices: it can only read them, and what is made of a genuine output of fio 3.33 on two loop devices."""

import json
import os
import re
import subprocess

import pytest

from fio_runs import TRANSCRIPTS, jobs_in, outcome
from measuring import access_point, launched, refused_by
from seatrial.engine.fio.access import FioDevices
from seatrial.model.units import MIB
from seatrial.workload.devices import raw_devices

POINT = access_point(raw_devices().changed(devices=('/dev/loop0', '/dev/loop1')), tasks=4, transfers=32)
TOLD = TRANSCRIPTS['device-read']


def command_of(phase='device', at=POINT, raw='/raw/1'):
    return FioDevices().command('fio', phase, at, raw, 7)


def measure(report=None):
    return FioDevices().measure('device', POINT, command_of(), outcome('device-read', report))


refusal = refused_by(measure)


def jobs(phase):
    return jobs_in(command_of(phase))


def test_the_job_file_is_that_of_the_transcript():
    assert command_of().inputs['/raw/1.fio'] == TOLD['fio']
    assert ' '.join(command_of().argvs[0]).replace('/raw/1', 'device-read') + '\n' == TOLD['cmd']


def test_a_device_is_opened_to_read_and_its_cache_is_let_alone():
    assert '--readonly' in command_of().argvs[0]
    for job in jobs('device'):
        assert (job['rw'], job['direct'], job['invalidate'], job['allow_file_create']) == ('read', '1', '0', '0')
    assert {job['filename'] for job in jobs('device')} == set(POINT.data.devices)


@pytest.mark.parametrize('phase', ['write', 'read'])
def test_no_other_phase_names_a_device(phase):
    assert not any('/dev/' in value for job in jobs(phase) for value in job.values())
    assert '--readonly' not in command_of(phase).argvs[0]


def test_the_bandwidth_is_that_of_all_devices_together():
    measurement = measure()
    (metric,) = measurement.metrics
    assert (metric.name, measurement.bytes_moved, measurement.world_size) == ('device', 8 * MIB, 4)
    assert metric.value == 8 * MIB / measurement.seconds
    assert measurement.direct and not measurement.fsync


@pytest.mark.parametrize(
    ('change', 'rule'),
    [
        (lambda report: report['jobs'][3]['read'].update(io_bytes=2 * MIB - 65536), 'T18'),
        (lambda report: report['global options'].update(rw='write'), 'P15'),
    ],
    ids=['it gave less', 'a job wrote'],
)
def test_a_report_of_something_else_is_refused(change, rule):
    report = json.loads(TOLD['json'])
    change(report)
    assert refusal(json.dumps(report, indent=2)).rule == rule


@pytest.fixture
def read_only(tmp_path):
    """Two loop devices of this machine that can only be read, with their files; skipped where there are none."""
    files, devices = [], []
    try:
        for number in range(2):
            file = tmp_path / f'device{number}'
            file.write_bytes(os.urandom(4 * MIB))
            done = subprocess.run(['losetup', '-r', '-f', '--show', str(file)], capture_output=True, text=True)
            if done.returncode:
                pytest.skip(f'no loop device here: {done.stderr.strip()}')
            files.append(file)
            devices.append(done.stdout.strip())
        yield tuple(devices), files
    finally:
        for device in devices:
            subprocess.run(['losetup', '-d', device], check=True)


@pytest.mark.needs('fio', 'strace', 'losetup')
def test_every_open_of_a_device_is_to_read_and_one_that_is_read_only_does(tmp_path, read_only):
    devices, files = read_only
    before = [file.read_bytes() for file in files]
    at, raw, trace = POINT.changed(devices=devices), str(tmp_path / 'raw'), tmp_path / 'trace'
    watched = ['strace', '-f', '-y', '-e', 'trace=open,openat,write,pwrite64,pwritev,ioctl', '-o', str(trace)]
    assert launched(command_of(at=at, raw=raw), tmp_path, *watched).exit_status == 0
    calls = [line for line in trace.read_text().splitlines() if '/dev/loop' in line]
    opened = [line for line in calls if '"/dev/loop' in line]
    assert opened and all('O_RDONLY' in line for line in opened)
    assert not [line for line in calls if re.search(r'\b(p?write\w*\(|BLKFLSBUF|O_RDWR|O_WRONLY)', line)]
    assert [file.read_bytes() for file in files] == before
