"""A GlusterFS of which one brick lies on a slow device: isolation and drill-down name it, and it alone."""

import re
import shlex
import shutil

import pytest

from kernel_lab import Running
from local_site import LocalSite, check_file, executable, trial

pytestmark = [pytest.mark.long, pytest.mark.needs('linux.uml', 'glusterd', 'glusterfs', 'dmsetup', 'fio')]

SERVER = """
for name in dm-mod dm-delay; do insmod $(find /usr/lib/uml/modules -name $name.ko); done
dd if=/dev/zero of=/dev/ubda bs=1M count=640 conv=fsync 2>/dev/null  # else who writes there first waits for the host
bricks=
for number in 1 2 3 4; do
    dmsetup create brick$number --table "0 327680 linear /dev/ubda $(((number - 1) * 327680))" && dmsetup mknodes
    mkfs.ext4 -q -m 0 -E lazy_itable_init=0,lazy_journal_init=0 /dev/mapper/brick$number
    mkdir -p /srv/$number && mount /dev/mapper/brick$number /srv/$number && mkdir /srv/$number/brick
    bricks="$bricks n3:/srv/$number/brick"
done
mkdir -p /var/lib/glusterd /var/log/glusterfs && mount -t tmpfs memory /var/lib/glusterd
glusterd
until gluster --mode=script pool list >/dev/null 2>&1; do sleep 0.2; done
gluster --mode=script volume create bricks $bricks force
gluster --mode=script volume start bricks
"""
SLOW = """
dmsetup suspend brick3
dmsetup reload brick3 --table '0 327680 delay /dev/ubda 655360 0 /dev/ubda 655360 500'
dmsetup resume brick3
"""
# In namespaces of its own, so that the mount and its client end with the session.
MOUNTED = ('unshare', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', 'sh', '-c')
MOUNT = """
glusterfs --volfile-server=n3 --volfile-id=bricks --log-file="$0.log" "$0"
until grep -q " $0 " /proc/self/mountinfo; do sleep 0.2; done
"$@"
"""
FIO = """#!/bin/sh
# What else this machine does is not to differ between bricks: fio writes at a set rate, which is taken out of its
# report, where it would be found (P15).
[ "$1" = --version ] && exec {fio} --version
{fio} --rate=4m "$@" || exit
for word; do case $word in --output=*) exec sed -i '/^ *"rate" : /d' "${{word#--output=}}";; esac; done
"""
WRITE = "'multiple', operations=('write',)"
# Each brick by itself, of which nothing is read: half as long as BrickBandwidth; and all bricks, wherever the volume
# places the files.
CHECKS = check_file('WrittenBricks', WRITE, "'brick'", max_relative_error=0.5)
CHECKS += check_file('WrittenFiles', WRITE, max_relative_error=0.5)
REFERENCES = """
$seatrial: {WrittenFiles: {paper: {origin: baseline, date: 2026-11-22}}}
WrittenFiles:
  $index: [profile, $partition, file_system, layout, num_nodes]
  paper: {local:default: {scratch: {default: {1: {write@1MiB: [100.0, -0.1, 0.1, MiB/s]}}}}}
"""


@pytest.fixture(scope='module')
def volume(kernels):
    """A volume of four bricks on n3, of which nothing is left."""
    kernels.run('n3', 'sh', '-ec', SERVER)
    try:
        yield kernels
    finally:
        kernels.new_disk('n3')


@pytest.fixture(scope='module')
def slow_volume(volume):
    """The third brick is slow from here on."""
    volume.run('n3', 'sh', '-ec', SLOW)
    return volume


def session(kernels, name, check, tasks=1):
    """A session with the check on the volume; it has ended."""
    site, mount, checks = (kernels.place / f'{name}-{what}' for what in ('site', 'mount', 'checks'))
    for folder in (site, mount, checks / 'isolation'):
        folder.mkdir(parents=True)
    (checks / 'isolation' / 'bricks.py').write_text(CHECKS)
    fio = executable(site / 'fio', FIO.format(fio=shlex.quote(shutil.which('fio') or '')))
    volume = f'type: glusterfs, path: {mount}, mount: {mount}, bricks: 4'
    engines = f'[{{name: fio, program: {fio}}}]'
    LocalSite(site, trial(check, engines, volume, tasks=tasks, more='bytes_per_task: 16MiB'))
    if check in REFERENCES:
        (site / 'references.yaml').write_text(REFERENCES)
    wrapper = (*MOUNTED, MOUNT, str(mount))
    return Running(kernels, site, *wrapper, checks=checks, profile='paper').ended(seconds=1800)


def named(ended):
    """The bricks of which a session says that they are slow, or may be."""
    return re.findall(r'brick (brick\d+) \((\S+)\) (?:is|may be) slow', ended.output)


def test_where_all_bricks_are_alike_none_is_named(volume):
    ended = session(volume, 'alike', 'WrittenBricks')
    assert (ended.status, named(ended)) == (0, []), ended.output


def test_the_brick_on_the_slow_device_is_named(slow_volume):
    ended = session(slow_volume, 'slow', 'WrittenBricks')
    assert (ended.status, named(ended)) == (10, [('brick0002', 'n3:/srv/3/brick')]), ended.output


def test_the_drill_down_of_a_figure_that_is_too_low_names_it(slow_volume):
    ended = session(slow_volume, 'low', 'WrittenFiles', tasks=2)
    lines = set(re.findall(r'drill-down: (.*)', ended.output))
    assert ended.status == 10 and len(lines) == 1, ended.output
    assert re.fullmatch(r'brick0002 of n3 is \d+ % slower', lines.pop()), ended.output
