"""BeeGFS: recognised by its mount. Untried: written by its documentation ("Client Side Caching Modes"). With
tuneFileCacheType = native drop_caches empties its cache; with buffered, the default, its client has small buffers."""

import glob
from typing import Dict, List, Optional, Tuple

from seatrial.filesystem.base import Cold
from seatrial.filesystem.mounts import Mount
from seatrial.filesystem.posix import Mounted, kernel_cold, unknown

CLIENTS = '/proc/fs/beegfs/*/config'


class BeeGfs(Mounted):
    name = 'beegfs'
    kernel_types = ('beegfs', 'beegfs_nodev', 'fuse.beegfs')
    recovery_limit_s = 300.0
    recovery_source = 'above the 180 s of sysTargetOfflineTimeoutSecs'
    can = ('cold reads',)
    sources = 'its public documentation'
    no_layout = 'no layout: this driver does not set the stripe patterns of BeeGFS'

    def _own_state(self, path: str, mount: Mount) -> Dict[str, str]:
        config, why_not = _config(mount)
        if config is None:
            return {'beegfs client': unknown(why_not)}
        return {f'beegfs {key}': value for key, value in config.items()}

    def cold(self, path: str) -> Cold:
        return kernel_cold('small buffers of its client, unless its files are cached by the kernel (native)')


def _config(mount: Mount) -> Tuple[Optional[Dict[str, str]], str]:
    """Of the client of this mount: the one with its configuration file (mount option cfgFile), or the only one."""
    found: List[Dict[str, str]] = []
    for name in glob.glob(CLIENTS):
        try:
            with open(name, encoding='utf-8', errors='replace') as stream:
                pairs = [line.partition('=') for line in stream]
                found.append({key.strip(): value.strip() for key, equals, value in pairs if equals})
        except OSError as error:
            return None, f'{name}: {error.strerror}'
    own = [each for each in found if f'cfgFile={each.get("cfgFile")}' in mount.options.split(',')]
    if own:
        return own[0], ''
    return (found[0], '') if len(found) == 1 else (None, f'{len(found)} clients show themselves in {CLIENTS}')
