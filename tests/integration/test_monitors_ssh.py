"""Monitors over genuine ssh: servers seen every second, one whose connection is cut, and what it costs them."""

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from seatrial.job.sequence.monitors import ask_servers
from seatrial.model.plan import Monitor
from seatrial.model.telemetry import ServerGap, ServerLook
from slurm_lab import wait_for

pytestmark = [pytest.mark.long, pytest.mark.needs('sshd', 'ssh-keygen')]
SERVERS = ('mds1', 'oss1', 'oss2')
WATCHED_S = 60
PRIVILEGES = Path('/run/sshd')
DAEMON = """
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
ListenAddress 127.0.0.1:{port}
PidFile none
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
"""
CLIENT = """
Host {server}
  HostName 127.0.0.1
  Port {port}
  HostKeyAlias seatrial-test
"""
OF_ALL = """
Host *
  IdentityFile {folder}/user
  IdentitiesOnly yes
  BatchMode yes
  StrictHostKeyChecking yes
  UserKnownHostsFile {folder}/known
"""


@pytest.fixture
def daemons(tmp_path):
    """A private sshd for each server, each with a port of its own, by their names."""
    made = not os.geteuid() and not PRIVILEGES.exists()  # sshd of root wants it, and its service makes it
    if made:
        PRIVILEGES.mkdir(mode=0o755)
    for key in ('host', 'user'):
        subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', tmp_path / key], check=True)
    (tmp_path / 'known').write_text('seatrial-test ' + (tmp_path / 'host.pub').read_text())
    client, daemons = OF_ALL.format(folder=tmp_path), {}
    try:
        for server, port in zip(SERVERS, free_ports(len(SERVERS)), strict=True):
            config = tmp_path / f'{server}.conf'
            config.write_text(DAEMON.format(folder=tmp_path, port=port))
            client += CLIENT.format(server=server, port=port)
            with (tmp_path / f'{server}.log').open('wb') as log:
                daemons[server] = subprocess.Popen([shutil.which('sshd'), '-D', '-e', '-f', config], stderr=log)
        (tmp_path / 'config').write_text(client)
        for server in SERVERS:
            wait_for('sshd answers', lambda name=server: answers(tmp_path, name))
        yield daemons
    finally:
        for daemon in daemons.values():
            daemon.terminate()
            daemon.wait()
        if made:
            PRIVILEGES.rmdir()


def free_ports(number):
    taken = [socket.create_server(('127.0.0.1', 0)) for _ in range(number)]
    ports = [listener.getsockname()[1] for listener in taken]
    for listener in taken:
        listener.close()
    return ports


def answers(folder, server):
    return subprocess.run(['ssh', '-F', folder / 'config', server, 'true'], capture_output=True).returncode == 0


def below(number):
    """A process and all that it has started, by their stat."""
    stats = {}
    for file in Path('/proc').glob('[0-9]*/stat'):
        try:
            stats[int(file.parent.name)] = file.read_text().rpartition(')')[2].split()
        except OSError:  # it has ended
            continue
    pids = {number}
    while more := {pid for pid, stat in stats.items() if int(stat[1]) in pids} - pids:
        pids |= more
    return {pid: stats[pid] for pid in pids if pid in stats}


def used_s(number):
    """CPU time of a process and its children, those that have ended included."""
    return sum(int(ticks) for stat in below(number).values() for ticks in stat[11:15]) / os.sysconf('SC_CLK_TCK')


def test_servers_over_ssh_are_seen_every_second_and_one_that_is_cut_off_comes_back(daemons, tmp_path):
    kept = []
    before_s = {server: used_s(daemon.pid) for server, daemon in daemons.items()}
    ssh = ('ssh', '-F', str(tmp_path / 'config'))
    stop = ask_servers([Monitor(server, (*ssh, server)) for server in SERVERS], kept.append)
    began_s = time.monotonic()

    def looks(server):
        return [look for look in kept if isinstance(look, ServerLook) and look.server == server]

    try:
        wait_for('it answers', lambda: len(looks('oss2')) >= WATCHED_S // 2)
        for child in set(below(daemons['oss2'].pid)) - {daemons['oss2'].pid}:
            os.kill(child, signal.SIGKILL)
        cut = len(looks('oss2'))
        time.sleep(max(0.0, began_s + WATCHED_S - time.monotonic()))
        wait_for('it has come back', lambda: len(looks('oss2')) > cut + 1)
        lasted_s = time.monotonic() - began_s
        cost = {server: (used_s(daemons[server].pid) - before_s[server]) / lasted_s for server in ('mds1', 'oss1')}
    finally:
        assert stop()
    samples = {server: sum(look.samples for look in looks(server)) for server in SERVERS}
    print(f'{lasted_s:.1f} s, samples {samples}, share of a core {cost}')
    assert all(samples[server] >= 0.95 * lasted_s for server in ('mds1', 'oss1'))
    assert all(0 < share < 0.01 for share in cost.values())
    (gap,) = (gap for gap in kept if isinstance(gap, ServerGap))
    assert gap.server == 'oss2' and gap.why
    ended = 'what ran on the servers has ended'
    wait_for(ended, lambda: all(len(below(daemon.pid)) == 1 for daemon in daemons.values()))
