"""A node with a BeeGFS that is a stand-in: what its client shows in /proc is that of a genuine 8.3.1, or as told."""

from pathlib import Path

import pytest

from seatrial.filesystem import beegfs
from seatrial.filesystem.mounts import Mount
from transcript import transcripts

SHOWN = transcripts('beegfs')['client-8.3.1']
GOOD = SHOWN['storage_target_state']
FALLBACK = SHOWN['storage_nodes'].replace('(10.80.0.1:8003)', '(10.80.0.1:8003 [fallback route])')


class BeeGfsStand:
    """Where it is mounted, and what its client shows."""

    def __init__(self, folder: Path, mount: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.client = folder / 'proc-beegfs' / 'c309-6B09A96C-n1'
        self.client.mkdir(parents=True)
        self.now(**SHOWN)
        mounts = [
            Mount('/', 'ext4', '/dev/vda', 'rw'),
            Mount(str(mount), 'beegfs', 'beegfs_nodev', 'rw,relatime,cfgFile=/etc/beegfs/beegfs-client.conf'),
        ]
        monkeypatch.setattr('seatrial.filesystem.mounts.read_mounts', lambda: mounts)
        monkeypatch.setattr(beegfs, 'CLIENTS', str(self.client.parent))

    def now(self, **files: str) -> None:
        """From now on its client shows this."""
        for name, text in files.items():
            (self.client / name).write_text(text)


def state(number: int, said: str) -> str:
    """What the client shows of the storage targets, of which one is in another state."""
    old = f'[Target ID: {number}] @ node_storage_1 [beegfs-storage:1]: '
    assert f'{old}Online / Good' in GOOD
    return GOOD.replace(f'{old}Online / Good', old + said)
