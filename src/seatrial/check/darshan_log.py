"""Prints what Darshan logs say as JSON, one line a log. It runs in a process of its own, because PyDarshan may die.

A log that is damaged makes the C library under PyDarshan abort, crash, or tell of it on stderr alone and go on with
the module empty (seen with 3.5.0); two reports open at a time have deadlocked. So it reads one after the other, and
whoever started it takes a line of ERROR on stderr for a failure.
"""

import contextlib
import json
import sys
from typing import Any

MODULES = ('POSIX', 'MPI-IO')
STDIO = ('STDIO_BYTES_WRITTEN', 'STDIO_BYTES_READ')  # of files that were opened with fopen(3); POSIX has none of them
STREAMS = ('<STDIN>', '<STDOUT>', '<STDERR>')  # as Darshan calls what no file was opened for
TRACES = ('DXT_POSIX', 'DXT_MPIIO')  # as large as the run was long, and nothing here asks for them
MISSING, DAMAGED = 3, 4
ERROR = 'Error:'
FORM = 1


def main(paths: list[str]) -> int:
    """The exit status: 0, MISSING without PyDarshan, DAMAGED for a log that cannot be read whole."""
    try:
        import darshan
    except ImportError as error:
        print(f'PyDarshan cannot be loaded: {error}', file=sys.stderr)
        return MISSING
    for path in paths:
        try:
            with darshan.DarshanReport(path, read_all=False) as report:
                print(json.dumps(_said(report)))
        except Exception as error:
            print(f'{type(error).__name__}: {error}', file=sys.stderr)
            return DAMAGED
    return 0


def _said(report: Any) -> dict[str, Any]:
    # Modules that nobody asks for are read too: a log that was cut short in one of them is not whole.
    for module in report.modules:
        if module not in TRACES:
            report.mod_read_all_records(module, warnings=False)
    if 'HEATMAP' in report.modules:
        with contextlib.suppress(Exception):  # PyDarshan may not know one of its kinds; damage is told on stderr
            report.read_all_heatmap_records()
    job = report.metadata['job']
    present = [module for module in MODULES if module in report.modules]
    return {
        'form': FORM,
        'version': str(job['metadata'].get('lib_ver', '')),
        'processes': int(job['nprocs']),
        'stdio': _stdio(report),
        'partial': any(bool(report.modules[module]['partial_flag']) for module in present),
        'records': [
            [
                module,
                report.name_records.get(record['id'], ''),
                int(record['rank']),
                _counters(report, module, record),
            ]
            for module in present
            for record in report.records[module]
        ],
    }


def _stdio(report: Any) -> list[int]:
    """Bytes written and read through buffered streams: no pattern is known of them."""
    records = report.records['STDIO'] if 'STDIO' in report.modules else ()
    own = [
        _counters(report, 'STDIO', each) for each in records if report.name_records.get(each['id'], '') not in STREAMS
    ]
    return [sum(counters.get(name, 0) for counters in own) for name in STDIO]


def _counters(report: Any, module: str, record: Any) -> dict[str, int]:
    """Those that are not zero. -1 is Darshan's word for a counter that it could not keep."""
    named = zip(report.counters[module]['counters'], record['counters'], strict=True)
    return {name: int(value) for name, value in named if value > 0}


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
