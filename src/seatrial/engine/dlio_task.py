"""The program of a rank: it links the data set to where DLIO looks for it, and then becomes DLIO."""

import contextlib
import json
import os
import sys
from array import array
from typing import List, NamedTuple, Tuple

from seatrial.model.codec import from_json

NOT_STARTED = 127
TRACER = 'DFTRACER_ENABLE'  # switches on DLIO's tracing, whose own calls would be measured too


class DatasetLayout(NamedTuple):
    """The files of a data set as DLIO wants them. files: in the order in which DLIO's ranks share them out."""

    folder: str  # folder in which the links are made
    files: Tuple[int, ...]
    samples_per_file: int
    sample_bytes: int


def main(arguments: List[str]) -> int:
    """The arguments: the file with the Layout, and the argv of DLIO. Returns if it cannot be started."""
    path, argv = arguments[0], arguments[1:]
    with open(path, encoding='utf-8') as stream:
        layout = from_json(DatasetLayout, json.load(stream))
    lay(layout, os.getcwd())
    try:
        os.execvpe(argv[0], argv, {**os.environ, TRACER: '0'})
    except OSError as error:
        print(f'seatrial: {argv[0]} cannot be started: {error.strerror}', file=sys.stderr)
    return NOT_STARTED


def lay(layout: DatasetLayout, data: str) -> None:
    above = os.path.dirname(layout.folder)
    for folder in (layout.folder, os.path.join(above, 'valid')):  # which DLIO lists even where it is not used
        os.makedirs(folder, exist_ok=True)
    number, size = layout.samples_per_file, layout.sample_bytes
    index = {'off.idx': array('q', range(0, number * size, size)), 'sz.idx': array('q', [size] * number)}
    for name, values in index.items():
        temporary = os.path.join(above, f'{name}.{os.uname().nodename}.{os.getpid()}')
        with open(temporary, 'wb') as stream:
            values.tofile(stream)
        os.rename(temporary, os.path.join(above, name))
    for place, file in enumerate(layout.files):
        link = os.path.join(layout.folder, f'{place:08d}.indexed_binary')
        targets = {link: os.path.join(data, f'data.{file:08d}')}
        targets.update({f'{link}.{name}': os.path.join(above, name) for name in index})
        for path, target in targets.items():
            with contextlib.suppress(FileExistsError):
                os.symlink(target, path)
