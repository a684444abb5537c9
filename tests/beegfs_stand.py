"""A node with a BeeGFS that is a stand-in: what its client shows in /proc is that of a genuine 8.3.1, or as told, and
its `beegfs` answers in the forms of one without a licence (transcripts/beegfs)."""

import os
import sys
from pathlib import Path

import pytest

from seatrial.filesystem import beegfs
from seatrial.filesystem.mounts import Mount
from transcript import transcripts

SHOWN = transcripts('beegfs')['client-8.3.1']
GOOD = SHOWN['storage_target_state']
FALLBACK = SHOWN['storage_nodes'].replace('(10.80.0.1:8003)', '(10.80.0.1:8003 [fallback route])')
MIRRORS = """ALIAS  ID   TYPE     PRIMARY_TARGET  PRIMARY_CONSISTENCY  SECONDARY_TARGET  SECONDARY_CONSISTENCY
left   s:1  storage  s:101           Good                 s:201             Needs-resync
right  s:2  storage  s:202           Good                 s:102             Good
meta   m:1  meta     m:1             Good                 m:2               Good
"""


PROGRAM = """#!{python} -IS
import json, os, sys
verb, path, kept = sys.argv[2], os.path.realpath(sys.argv[-1]), {kept!r}
sizes = json.load(open(kept)) if os.path.exists(kept) else {{}}
options = dict(zip(sys.argv[3:-1:2], sys.argv[4:-1:2]))
directory = os.path.isdir(path)
count, chunk, pool = sizes.get(path if directory else os.path.dirname(path), [4, 524288, 1])
mirrored = {mirrored!r}
if sys.argv[1:3] == ['mirror', 'list']:
    print(mirrored or 'Error: no mirrors configured')
elif verb == 'create':
    options = dict(zip(sys.argv[4::2], sys.argv[5::2]))
    of_file = [options['--targets'].split(','), int(options.get('--chunk-size', chunk))]
    for name in sys.argv[4 + 2 * sum(word.startswith('--') for word in sys.argv) :]:
        try:
            open(name, 'x').close()
        except OSError as error:
            print(name, error.strerror)
            continue
        sizes[os.path.realpath(name)] = of_file
    json.dump(sizes, open(kept, 'w'))
elif verb == 'set':  # it says the same of a file, and changes nothing
    if directory:
        names = ('--num-targets', '--chunk-size', '--pool')
        wished = [int(options.get(name, old)) for name, old in zip(names, (count, chunk, pool))]
        json.dump({{**sizes, path: wished}}, open(kept, 'w'))
    print('Summary: processed 1 entries | configuration updates: ' + str(options))
else:
    targets = range(1, 1 + min(count, {targets}))
    if not directory and path in sizes:
        targets, chunk = sizes[path]
        count = len(targets)
    lies_on = '(directory)' if directory else ','.join(f's:{{number}}' for number in targets)
    mirrors = '(directory)' if directory else '(unmirrored)'
    if mirrored and not directory:
        lies_on, mirrors = '(mirrored)', lies_on
    pool = f'storage_pool_default ({{pool}})' if directory else '(file)'
    entry = dict(path=path, storage_pool=pool, storage_targets=lies_on, storage_mirrors=mirrors)
    pattern = 'Buddy Mirror' if mirrored else 'RAID0'
    print(json.dumps([dict(entry, stripe_pattern=f'{{pattern}} ({{count}}x{{chunk}})')]))
print('\\nError: unable to verify licensed status: License verification library not loaded.', file=sys.stderr)
sys.exit(1)
"""


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
        self.programs = folder / 'beegfs-bin'
        self.programs.mkdir()
        self.takes_files(3)
        monkeypatch.setenv('PATH', f'{self.programs}:{os.environ["PATH"]}')
        monkeypatch.setattr('seatrial.filesystem.mounts.read_mounts', lambda: mounts)
        monkeypatch.setattr(beegfs, 'CLIENTS', str(self.client.parent))

    def now(self, **files: str) -> None:
        """From now on its client shows this."""
        for name, text in files.items():
            (self.client / name).write_text(text)

    def takes_files(self, targets: int) -> None:
        """From now on so many of its three storage targets take new files."""
        self._program(targets=targets)

    def mirrored(self, groups: str) -> None:
        """From now on its directories are mirrored, over these groups."""
        self._program(mirrored=groups)

    def _program(self, targets: int = 3, mirrored: str = '') -> None:
        program, kept = self.programs / 'beegfs', str(self.programs / 'kept.json')
        program.write_text(PROGRAM.format(python=sys.executable, kept=kept, targets=targets, mirrored=mirrored))
        program.chmod(0o755)


def state(number: int, words: str) -> str:
    """What the client shows of the storage targets, of which one is in another state."""
    old = f'[Target ID: {number}] @ node_storage_1 [beegfs-storage:1]: '
    assert f'{old}Online / Good' in GOOD
    return GOOD.replace(f'{old}Online / Good', old + words)
