"""The tests of the sources, one in a row, with the checks that cover it and their engines, or the reason for none.
A check covers the rows that its `covers` names, and those whose id begins the id of one of its expectations."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from seatrial.check.declared import CheckError, Declared
from seatrial.engine.registry import ENGINES, cannot
from seatrial.workload.sweep import examples
from seatrial.workload.words import by_key

_BOITO, _CALDERON, _GOVORUN = 'Boito et al. 2009', 'Calderon, HLRS', 'Belyakov et al.'
_FERMILAB, _LFSCK = 'Garzoglio and Chadwick 2011', 'Dai et al. 2019'
_COMPARED = 'any check, on each as a file system or a layout of trial.yaml'
_BY_CONTENT = 'an action of a scenario: all content is compared, and a setting that changed is named; no target is'
_LFSCK_WHY = '`seatrial lfsck`'
_MONITORS_WHY = '`seatrial lfsck --monitors`'


class SourceTest(NamedTuple):
    id: str
    source: str
    test: str
    why: str = ''  # a clause on what covers it instead of a check, or what a check would need; else empty


_ROWS = (
    ('L09-00', _BOITO, 'repeat until 90 % confidence and 10 % error', 'the stopping rule of every check'),
    ('L09-01', _BOITO, 'SFWA (whole shared file) over block sizes'),
    ('L09-02', _BOITO, 'MFWA (file per process) over numbers of objects'),
    ('L09-03', _BOITO, 'MFWA (file per process) over clients'),
    ('L09-04', _BOITO, 'SFSA contiguous (single shared file) over numbers of objects'),
    ('L09-05', _BOITO, 'SFSA strided (single shared file) over numbers of objects'),
    ('L09-06', _BOITO, 'SFSA contiguous beside MFWA (shared file, file per process)'),
    ('L09-07', _BOITO, 'SFSA (single shared file) over clients'),
    ('L09-08', _BOITO, 'reading beside writing'),
    ('GP-01', _CALDERON, 'fdtree on local disk, NFS and GPFS'),
    ('GP-02', _CALDERON, 'fdtree in trees of their own'),
    ('GP-03', _CALDERON, 'fdtree in one tree'),
    ('GP-04', _CALDERON, 'a listing from the cache and not'),
    ('GP-05', _CALDERON, 'Bonnie: write, rewrite, read'),
    ('GP-06', _CALDERON, 'IOzone: file sizes by access sizes'),
    ('GP-07', _CALDERON, 'IODD: processes by nodes by file sizes'),
    ('GP-08', _CALDERON, 'IODD: POSIX beside MPI-IO'),
    ('GP-09', _CALDERON, 'IODD: one directory beside several'),
    ('GP-10', _CALDERON, 'IOP: a shared file beside separate files'),
    ('GP-11', _CALDERON, 'IOP: the change point at 128 KB'),
    ('GV-01', _GOVORUN, 'IOR in ten pool configurations', f'{_COMPARED}; or under labels, in `seatrial compare`'),
    ('GV-02', _GOVORUN, 'capacity of each configuration', 'a column of `seatrial compare`, given by --capacity'),
    ('GV-03', _GOVORUN, 'duration of the load test', 'a column of `seatrial compare` with several configurations'),
    ('GV-04', _GOVORUN, 'settings of pools and modules', 'prechecks of trial.yaml, in `seatrial doctor`'),
    ('GV-05', _GOVORUN, 'numbers of service threads'),
    ('GV-06', _GOVORUN, 'the choice of a configuration', '`seatrial compare` with --require and --maximise'),
    ('FN-01', _FERMILAB, 'IOzone throughput over clients'),
    ('FN-02', _FERMILAB, 'drivers of a virtual server', _COMPARED),
    ('FN-03', _FERMILAB, 'virtual CPUs of a server', _COMPARED),
    ('FN-04', _FERMILAB, 'clients on the servers and elsewhere'),
    ('FN-05', _FERMILAB, 'IOzone with and without stripes'),
    ('FN-06', _FERMILAB, 'a skim that only reads'),
    ('FN-07', _FERMILAB, 'a skim that reads and writes'),
    ('FN-08', _FERMILAB, 'fairness between 49 clients'),
    ('FN-09', _FERMILAB, 'striped beside plain files'),
    ('FN-10', _FERMILAB, 'a skim of 1400 files'),
    ('FN-11', _FERMILAB, 'mdtest by 48 clients'),
    ('FN-12', _FERMILAB, 'fileop'),
    ('FN-13', _FERMILAB, 'targets that fail meanwhile'),
    ('FN-14', _FERMILAB, 'a changed fault configuration', _BY_CONTENT),
    ('FN-15', _FERMILAB, 'guarantees of POSIX'),
    ('FN-16', _FERMILAB, 'storage with a caching front end', _COMPARED),
    ('FN-17', _FERMILAB, 'metrics of an acceptance', 'contract.yaml of a site, of any check'),
    ('FN-18', _FERMILAB, 'raw devices'),
    ('FS-01', _LFSCK, 'LFSCK over inodes', _LFSCK_WHY),
    ('FS-02', _LFSCK, 'LFSCK over servers', _LFSCK_WHY),
    ('FS-03', _LFSCK, 'LFSCK with monitors', _MONITORS_WHY),
    ('FS-04', _LFSCK, 'packets of LFSCK', _MONITORS_WHY),
    ('FS-05', _LFSCK, 'LFSCK with cached metadata', _LFSCK_WHY),
    ('FS-06', _LFSCK, 'LFSCK of the namespace', _LFSCK_WHY),
    ('FS-07', _LFSCK, 'trees as Darshan logs have them'),
    ('FS-08', _LFSCK, 'monitors at 1 s', '`monitors` in trial.yaml, beside any case, over ssh'),
    ('FS-09', _LFSCK, 'invariants of LFSCK', _LFSCK_WHY),
)
_TRIED = {  # by row, a clause on the storage on which its checks were tried; only if they need a server
    'GV-05': 'with an action that changes nothing, on one machine; "slow I/O" by a command of the site; no Lustre',
    'GP-01': 'ext4 and Lustre 2.17; never GPFS, which nobody has tried',
    'FN-13': 'bricks of GlusterFS, an NFS server and one of OrangeFS 2.10, stopped and killed; MDT and OST of Lustre '
    '2.17, unmounted',
    'FN-15': 'ext4, NFS 4.2, GlusterFS 10.3, CephFS 16.2, OrangeFS 2.10 and BeeGFS 8.3.1; never GPFS',
    'FN-14': 'content alone: GlusterFS, NFS and ext4, in scenarios; never with tunefs.lustre, which can destroy data',
    'FN-18': 'loop devices of one machine; those in a server are read there',
    **dict.fromkeys(('FS-01', 'FS-02', 'FS-05', 'FS-06', 'FS-09'), 'on outputs of Lustre 2.17'),
    **dict.fromkeys(('FS-03', 'FS-04'), "on the source's figures, never with LFSCK"),
    'FS-07': 'ext4 on one machine, fresh against aged too, on 1 to 3 nodes of the Slurm lab; never on Lustre, nor '
    'with a million inodes',
    'FS-08': 'three sshd of one machine: 58 of 60 samples, and a connection that was cut',
}
CATALOGUE = tuple(SourceTest(*row) for row in _ROWS)  # every test of the five sources, in their order
_STEM = re.compile(r'[A-Z]+\d*-\d+')


def rows_of(check: Declared) -> set[str]:
    """The ids of the rows that a check covers. Raises CheckError for an unknown row."""
    known = {row.id for row in CATALOGUE}
    stems = {match.group() for expectation in check.expectations if (match := _STEM.match(expectation.id))}
    if unknown := sorted(set(check.covers) - known):
        raise CheckError(f"{check.name}.covers: '{unknown[0]}' is no test of docs/reference/catalogue.md")
    return (stems & known) | set(check.covers)


def covered(checks: Iterable[Declared]) -> list[tuple[SourceTest, str]]:
    """Each row with the checks and engines that cover it, or why none does. Raises CheckError for an unknown row."""
    rows = [(check, rows_of(check)) for check in checks]
    pairs = ((row, _by(check for check, ids in rows if row.id in ids) or f'no check: {row.why}') for row in CATALOGUE)
    return [(row, f'{by}; tried: {_TRIED[row.id]}' if row.id in _TRIED else by) for row, by in pairs]


def _by(checks: Iterable[Declared]) -> str:
    by_engines = by_key((', '.join(_engines(check)), check.name) for check in checks)
    return '; '.join(f'{", ".join(names)} ({engines})' for engines, names in by_engines.items())


def _engines(check: Declared) -> list[str]:
    points = examples(check.sweep, check.workload)
    able = [engine for engine in ENGINES if check.workload.kind in engine.kinds and cannot(engine, points) is None]
    return list(dict.fromkeys(engine.name for engine in able))
