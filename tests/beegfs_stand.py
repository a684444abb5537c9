"""A node with a stand-in for BeeGFS: its client shows the files of a genuine 8.3.1 in /proc, or those of a test, and
its `beegfs` answers in the forms of one without a licence (transcripts/beegfs)."""

import os
import sys
from pathlib import Path

import pytest

from local_site import executable
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


OF_7 = {
    '--setpattern': 'entry set',
    '--getentryinfo': 'entry info',
    '--numtargets': '--num-targets',
    '--chunksize': '--chunk-size',
    '--storagepoolid': '--pool',
    '--getquota': 'quota list-usage',
    'buddymirror': 'mirrored',
}
"""The words of `beegfs-ctl`, which has an equals sign before each value, in those of `beegfs`."""
PROGRAM = """#!{python} -IS
import json, os, sys
of_7, kept, mirrored = {of_7!r} if sys.argv[0].endswith('ctl') else {{}}, {kept!r}, {mirrored!r}
argv = ' '.join(of_7.get(part, part) for word in sys.argv[1:] for part in word.split('=')).split()
verb, path = argv[1], os.path.realpath(argv[-1])
sizes = json.load(open(kept)) if os.path.exists(kept) else {{}}
options = dict(zip(argv[2:-1:2], argv[3:-1:2]))
directory = os.path.isdir(path)
names = ('--num-targets', '--chunk-size', '--pool', '--pattern')
default = [4, 524288, 1, 'mirrored' if mirrored else 'raid0']
count, chunk, pool, pattern = sizes.get(path if directory else os.path.dirname(path), default)
if argv[0] == 'quota':
    print({quota!r})
elif argv[:2] == ['mirror', 'list']:
    print(mirrored or 'Error: no mirrors configured')
elif verb == 'create':
    options = dict(zip(argv[3::2], argv[4::2]))
    of_file = [options['--targets'].split(','), int(options.get('--chunk-size', chunk))]
    for name in argv[3 + 2 * sum(word.startswith('--') for word in argv) :]:
        try:
            open(name, 'x').close()
        except OSError as error:
            print(name, error.strerror)
            continue
        sizes[os.path.realpath(name)] = of_file
    json.dump(sizes, open(kept, 'w'))
elif verb == 'set':  # it says the same of a file, and changes nothing
    if directory:
        wished = [type(old)(options.get(name, old)) for name, old in zip(names, (count, chunk, pool, pattern))]
        json.dump({{**sizes, path: wished}}, open(kept, 'w'))
    print('Summary: processed 1 entries | configuration updates: ' + str(options))
else:
    targets = range(1, 1 + min(count, {targets}))
    if not directory and path in sizes:
        targets, chunk = sizes[path]
        count = len(targets)
    pattern = 'Buddy Mirror' if pattern == 'mirrored' else 'RAID0'
    if of_7:
        print('EntryID: 5-5DC49168-19C\\nStripe pattern details:\\n+ Type: ' + pattern)
        print(f'+ Chunksize: {{chunk >> 10}}K\\n+ Number of storage targets: desired: {{count}}', end='')
        on = f'; actual: {{len(targets)}}\\n+ Storage targets:'
        print(f'\\n+ Storage Pool: {{pool}} (Default)' if directory else on)
        where = '' if pattern == 'Buddy Mirror' else ' @ node_storage_1 [ID: 1]'
        print('\\n'.join(f'  + {{number}}{{where}}' for number in targets if not directory))
        sys.exit(0)
    lies_on = '(directory)' if directory else ','.join(f's:{{number}}' for number in targets)
    mirrors = '(directory)' if directory else '(unmirrored)'
    if pattern != 'RAID0' and not directory:
        lies_on, mirrors = '(mirrored)', lies_on
    pool = f'storage_pool_default ({{pool}})' if directory else '(file)'
    entry = dict(path=path, storage_pool=pool, storage_targets=lies_on, storage_mirrors=mirrors)
    print(json.dumps([dict(entry, stripe_pattern=f'{{pattern}} ({{count}}x{{chunk}})')]))
print('\\nError: unable to verify licensed status: License verification library not loaded.', file=sys.stderr)
sys.exit(1)
"""


class BeeGfsStand:
    """The mount point, the files that the client shows in /proc, and the `beegfs` command."""

    def __init__(self, folder: Path, mount: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.client = folder / 'proc-beegfs' / 'c309-6B09A96C-n1'
        self.client.mkdir(parents=True)
        self.now(**SHOWN)
        mounts = [
            Mount('/', 'ext4', '/dev/vda', 'rw'),
            Mount(str(mount), 'beegfs', 'beegfs_nodev', 'rw,relatime,cfgFile=/etc/beegfs/beegfs-client.conf'),
        ]
        self.programs = folder / 'beegfs-bin'
        self.answers()
        monkeypatch.setenv('PATH', f'{self.programs}:{os.environ["PATH"]}')
        monkeypatch.setattr('seatrial.filesystem.mounts.read_mounts', lambda: mounts)
        monkeypatch.setattr(beegfs, 'CLIENTS', str(self.client.parent))

    def now(self, **files: str) -> None:
        """Changes the files that the client shows in /proc."""
        for name, text in files.items():
            (self.client / name).write_text(text)

    def answers(self, targets: int = 3, mirrored: str = '', quota: str = '') -> None:
        """From now on so many of its three storage targets take new files; its directories are mirrored, over these
        groups if any; it has a licence for quotas if it shows any."""
        kept = str(self.programs / 'kept.json')
        answers = {'kept': kept, 'targets': targets, 'mirrored': mirrored, 'quota': quota, 'of_7': OF_7}
        executable(self.programs / 'beegfs', PROGRAM.format(python=sys.executable, **answers))

    def is_of_7(self) -> None:
        """From now on it is one of release 7: its command is beegfs-ctl, and its client shows no uuid."""
        (self.programs / 'beegfs').rename(self.programs / 'beegfs-ctl')
        (self.client / 'fs_uuid').unlink()
        self.now(config=(self.client / 'config').read_text().replace('connMgmtdPort =', 'connMgmtdPortTCP ='))


def state(number: int, words: str) -> str:
    """The states of the storage targets in the output of the client; this target has another one."""
    old = f'[Target ID: {number}] @ node_storage_1 [beegfs-storage:1]: '
    assert f'{old}Online / Good' in GOOD
    return GOOD.replace(f'{old}Online / Good', old + words)
