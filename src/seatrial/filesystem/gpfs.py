"""GPFS (IBM Storage Scale): recognised by its mount. Untried: written by IBM's documentation. Its pagepool and its
cache of inodes ("GPFS and memory") are its own: drop_caches reaches neither, and what would empties them for all."""

from typing import Dict

from seatrial.filesystem.base import Cold
from seatrial.filesystem.mounts import Mount
from seatrial.filesystem.posix import Mounted, unknown
from seatrial.model.ask import ask

ANSWER_S = 10.0
PACKAGE_QUERIES = (
    ['rpm', '--query', 'gpfs.base'],
    ['dpkg-query', '--show', '--showformat=${Package}-${Version}', 'gpfs.base'],
)


class Gpfs(Mounted):
    name = 'gpfs'
    kernel_types = ('gpfs',)
    recovery_limit_s = 300.0
    recovery_source = 'chosen as for the other network types'
    sources = "IBM's public documentation"
    no_layout = 'no layout: policies of the file system place files in storage pools, and its administrator sets them'

    def _own_state(self, path: str, mount: Mount) -> Dict[str, str]:
        for argv in PACKAGE_QUERIES:
            answer = ask(argv, ANSWER_S)
            if answer is not None and answer.exit_status == 0:
                return {'client version': answer.stdout.strip()}
        return {'client version': unknown('no package gpfs.base; mmdiag --version is for root')}

    def cold(self, path: str) -> Cold:
        return Cold('', 'GPFS keeps what it reads in its pagepool, which drop_caches does not reach')
