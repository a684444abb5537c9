"""Transcripts of real tools, by their sections; the form is in tests/transcripts/README.md.

Bytes that are not UTF-8 are Python's surrogates in a text. The stand-ins for real programs import this at every call:
no pathlib, whose import takes 5 ms.
"""

import functools
import os
import re
from collections import namedtuple
from types import MappingProxyType

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'transcripts')
TORN = b'\n\\ No newline at end of file\n'

Step = namedtuple('Step', ['stdout', 'stderr'])


@functools.cache
def sections(path: str | os.PathLike[str]) -> MappingProxyType[str, str]:
    """The texts of a transcript by the names of their sections, in their order."""
    with open(path, 'rb') as stream:
        before, *parts = re.split(rb'^=== (.+)\n', stream.read(), flags=re.MULTILINE)
    assert not before, f'{path} begins with no section'
    return MappingProxyType({name.decode(): _read(body) for name, body in zip(parts[::2], parts[1::2], strict=True)})


def transcripts(tool: str) -> dict[str, MappingProxyType[str, str]]:
    """The sections of every transcript of a tool, by the name of the file without .txt."""
    folder = os.path.join(FOLDER, tool)
    names = sorted(name for name in os.listdir(folder) if name.endswith('.txt'))
    return {name.removesuffix('.txt'): sections(os.path.join(folder, name)) for name in names}


def lustre_step(name: str) -> Step:
    """The output of a step of tests/transcripts/lustre; the end of its name may be left out."""
    folder = os.path.join(FOLDER, 'lustre')
    file = next(file for file in os.listdir(folder) if file.startswith(name[:2]))
    texts = sections(os.path.join(folder, file)).items()
    streams = {section.rpartition('.')[2]: text for section, text in texts if section.startswith(name)}
    return Step(streams['out'], streams.get('err', ''))


def run_for(done: dict[str, float], runtime_ms: int) -> None:
    """Change what fio reports of a job in one direction to that of one that took so long."""
    rate = done['io_bytes'] * 1000 // runtime_ms
    iops = 1000.0 * done['total_ios'] / runtime_ms
    done.update(runtime=runtime_ms, bw_bytes=rate, bw=rate // 1024, iops=iops)


def _read(body: bytes) -> str:
    plain = re.sub(rb'^\\(?=\\|=== )', b'', body.removesuffix(TORN), flags=re.MULTILINE)
    return plain.decode(errors='surrogateescape')
