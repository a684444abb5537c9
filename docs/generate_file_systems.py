"""Prints docs/file-systems.md from the drivers: `python docs/generate_file_systems.py > docs/file-systems.md`."""

from seatrial.filesystem.base import FileSystem
from seatrial.filesystem.registry import DRIVERS

HEAD = """# File-system types

Each type below is one file or folder in `src/seatrial/filesystem/`; this page is made from them. A site names one
under `type` in [trial.yaml](site-config.md). All know capacity, quota and the settings that a figure depends on.

| type | mounted as | what more it can | no launch ends before | tried |
|---|---|---|---|---|
"""


def page() -> str:
    """The whole page."""
    return HEAD + ''.join(f'| {" | ".join(_cells(driver))} |\n' for driver in DRIVERS)


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
