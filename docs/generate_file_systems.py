"""Prints docs/file-systems.md from the drivers: `python docs/generate_file_systems.py > docs/file-systems.md`."""

from seatrial.filesystem.base import FileSystem
from seatrial.filesystem.registry import DRIVERS

HEAD = """# File-system types

Each type below is one file or folder in `src/seatrial/filesystem/`; this page is made from them. A site names one
under `type` in [trial.yaml](site-config.md). All know capacity, quota and the settings that a figure depends on.

| type | mounted as | what more it can | no launch ends before | tried |
|---|---|---|---|---|
"""

OTHERS = """
## Of no type of their own

Looked for among Debian's packages and the modules of its user-mode kernel, 2026-11-22:

- MooseFS 3.0: tried on one node with two chunk servers. As `posix` a smoke test passes. Reads are labelled
  unknown and metadata cached, for its FUSE client shows no counters, and what it caches itself is not known.
- OpenAFS: Debian has its servers, the kernel has a client (kafs); not tried. GFS2: the kernel has it; not tried.
- HDFS: Debian has no package of it; its FUSE clients were not tried.
"""


def page() -> str:
    """The whole page."""
    return HEAD + ''.join(f'| {" | ".join(_cells(driver))} |\n' for driver in DRIVERS) + OTHERS


def _cells(driver: FileSystem) -> list[str]:
    return [
        f'`{driver.name}`',
        ', '.join(f'`{name}`' for name in driver.kernel_types) or 'anything',
        ', '.join(driver.can) or '-',
        f'{driver.recovery_limit_s:.0f} s: {driver.recovery_source}',
        f'{driver.tried}; {driver.tried_on}' if driver.tried else f'untried; written from {driver.sources}',
    ]


if __name__ == '__main__':
    print(page(), end='')
