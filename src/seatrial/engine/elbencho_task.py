"""The process around an elbencho that writes: it syncs the file, as elbencho has only syncfs(2), which requires less
on some file systems (Lustre), waits for data of other processes, and hid errors before Linux 5.8."""

import json
import os
import subprocess
import sys
import time
from typing import List, NamedTuple

from seatrial.engine.start_together import NOT_STARTED, as_ended
from seatrial.model.codec import to_json

PREFIX = 'seatrial: '


class Synced(NamedTuple):
    """Duration of the fsync in seconds, and its end by this node's clock in Unix time."""

    seconds: float
    ended: float


def main(arguments: List[str]) -> int:
    """Runs elbencho (arguments: file, argv). Returns its status; 1: fsync failed. Last line: PREFIX and a Synced."""
    path, argv = arguments[0], arguments[1:]
    try:
        status = subprocess.call(argv)
    except OSError as error:
        print(f'ERROR: {argv[0]} cannot be started: {error.strerror}', file=sys.stderr)
        return NOT_STARTED
    if status:
        return as_ended(status)
    began = time.monotonic()
    try:
        descriptor = os.open(path, os.O_WRONLY)
        os.fsync(descriptor)
        os.close(descriptor)
    except OSError as error:
        print(f'ERROR: fsync of {path}: {error.strerror}', file=sys.stderr)
        return 1
    print(PREFIX + json.dumps(to_json(Synced(time.monotonic() - began, time.time()))))
    return 0
