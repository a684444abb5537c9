"""Prints the contents of Darshan logs as JSON, a line a log, in a process of its own: on a damaged log the C library
under PyDarshan aborts, crashes, or reports it on stderr alone and goes on with the module empty (seen with 3.5.0), so
a line of ERROR there is a failure. Two reports open at a time have deadlocked: logs are read one after the other."""

import contextlib
import json
import sys
from typing import Any

MODULES = ('POSIX', 'MPI-IO')
LIBRARIES = ('H5D', 'PNETCDF_VAR')  # Darshan's modules for datasets
UNREPLAYED = ('STDIO', 'DFS', 'DAOS')  # what went by one of them is in no record of the others
STREAMS = ('<STDIN>', '<STDOUT>', '<STDERR>')  # Darshan's names for streams that no file was opened for
TRACES = ('DXT_POSIX', 'DXT_MPIIO')  # traces grow with the length of the run, and nothing here reads them
MISSING, DAMAGED = 3, 4
ERROR = 'Error:'
FORM = 2


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
                print(json.dumps(_as_json(report)))
        except Exception as error:
            print(f'{type(error).__name__}: {error}', file=sys.stderr)
            return DAMAGED
    return 0


def _as_json(report: Any) -> dict[str, Any]:
    # Modules that nobody asks for are read too: a log that was cut short in one of them is not whole.
    for module in report.modules:
        if module not in TRACES:
            report.mod_read_all_records(module, warnings=False)
    if 'HEATMAP' in report.modules:
        with contextlib.suppress(Exception):  # PyDarshan may not know one of its kinds; damage is told on stderr
            report.read_all_heatmap_records()
    job = report.metadata['job']
    present = [module for module in MODULES if module in report.modules]
    unreplayed = [[module, *_bytes(report, module)] for module in UNREPLAYED if module in report.modules]
    if not present and not any(written or read for _, written, read, _ in unreplayed):
        unreplayed.append(['HEATMAP', *_heat(report), False])
    return {
        'form': FORM,
        'version': str(job['metadata'].get('lib_ver', '')),
        'processes': int(job['nprocs']),
        'partial': any(bool(report.modules[module]['partial_flag']) for module in present),
        'records': _records(report, present),
        'libraries': _records(report, [module for module in LIBRARIES if module in report.modules]),
        'unreplayed': unreplayed,
        'mounts': [list(mount) for mount in report.mounts],
    }


def _records(report: Any, modules: list[str]) -> list[list[Any]]:
    return [
        [module, report.name_records.get(record['id'], ''), int(record['rank']), _counters(report, module, record)]
        for module in modules
        for record in report.records[module]
    ]


def _bytes(report: Any, module: str) -> list[Any]:
    """Bytes written and read by the module, except to the terminal, and whether its records are marked as partial."""
    counted = [counters for _, file, _, counters in _records(report, [module]) if file not in STREAMS]
    sums = [sum(counters.get(f'{module}_BYTES_{way}', 0) for counters in counted) for way in ('WRITTEN', 'READ')]
    return [*sums, bool(report.modules[module]['partial_flag'])]


def _heat(report: Any) -> list[int]:
    """Bytes written and read over all time bins, all that a heatmap knows. 0 if it cannot be read."""
    sums = [0, 0]
    for heatmap in getattr(report, 'heatmaps', {}).values():
        for place, operation in enumerate(('write', 'read')):
            with contextlib.suppress(Exception):  # none of this operation
                sums[place] += int(heatmap.to_df([operation]).to_numpy().sum())
    return sums


def _counters(report: Any, module: str, record: Any) -> dict[str, int]:
    """Counters that are not zero. -1 means that Darshan could not keep a counter; any less has overflowed."""
    named = zip(report.counters[module]['counters'], record['counters'], strict=True)
    return {name: int(value) for name, value in named if value > 0 or value < -1}


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
