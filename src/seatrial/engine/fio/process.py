"""A process of fio: its job file (options by fio's HOWTO), and its report of the jobs, which are the tasks."""

import errno
import hashlib
import json
import os
import re
from typing import Any, Dict, List, Optional, Tuple, Type, TypeVar

from seatrial.engine.base import Engine, EngineError, Outcome, ProcessTime, causes_in, ending, only_process

T = TypeVar('T')
CLOCK_S = 0.001  # fio reports whole milliseconds, rounded up

_EVERYWHERE: Dict[str, Any] = {
    'clocksource': 'clock_gettime',  # the cycle counter can run at another pace than time
    'exitall_on_error': 1,
    'fadvise_hint': 0,  # IOR, dd and most applications give the kernel no hints either
    'fallocate': 'none',  # else blocks are allocated before the clock starts
    'group_reporting': 0,
    'refill_buffers': 1,
    'thread': 0,
    'unlink': 0,
}


class FioProcess(Engine):
    name = 'fio'
    programs = ('fio',)
    how_to_get = 'apt-get install fio, dnf install fio, or from spack-env/'
    says_version = re.compile(r'^fio-(\d\S*)\s*\Z')


def fio_argv(program: str, raw: str, form: str, *more: str) -> Tuple[str, ...]:
    """fio reads raw + '.fio' and leaves raw + '.json'; form: 'json', or 'json+' with all latencies."""
    return (program, '--eta=never', f'--output-format={form}', f'--output={raw}.json', *more, f'{raw}.fio')


def job_file(options: Dict[str, Any], jobs: Dict[int, Dict[str, Any]]) -> str:
    """The options of all jobs, with those that every job file has, and of the job of each rank."""
    sections = {'global': {**_EVERYWHERE, **options}, **{f'rank{rank}': job for rank, job in jobs.items()}}
    lines = []
    for name, section in sections.items():
        lines += [f'[{name}]'] + [f'{key}={value}' for key, value in section.items()]
    return '\n'.join(lines) + '\n'


def randseed_of(seed: int, raw: str) -> int:
    """A seed that differs by launch, and is the same for the same plan (P4). Odd: fio loses bits of an even one."""
    launch = os.path.basename(raw)
    return int(hashlib.sha256(f'{seed} {launch}'.encode()).hexdigest()[:15], 16) | 1


def report_of(outcome: Outcome) -> Any:
    """fio's JSON. After a killed job status and error are 0: a line 'fio: ...' is a failure; only the JSON shows a
    file that cannot be opened (seen with 3.33). Raises EngineError: T9 not one process; E1 failed or not whole."""
    only_process('fio', outcome)
    text = outcome.outputs[0] or ''
    start = text.find('{\n')
    messages = outcome.stderrs[0].splitlines() + (text[:start] if start >= 0 else text).splitlines()
    if outcome.exit_status:
        raise EngineError('E1', f'fio {ending(outcome.exit_status)}{_quoted(messages)}{_in_report(text, messages)}')
    errors = [line for line in messages if line.startswith('fio: ')]
    if errors:
        raise EngineError('E1', f'fio exited with 0 after an error{_quoted(errors)}')
    if start < 0:
        raise EngineError('E1', f'fio left no JSON{_quoted(messages)}')
    try:
        report, end = json.JSONDecoder().raw_decode(text, start)
    except ValueError as error:
        raise EngineError('E1', f"fio's JSON is cut short or damaged: {error}") from error
    if text[end:].strip():
        raise EngineError('E1', f"fio wrote '{text[end:].strip().splitlines()[0]}' after its JSON")
    return report


def decoded(text: str) -> Any:
    """The JSON in fio's output, whatever surrounds it; None where there is none."""
    try:
        return json.JSONDecoder().raw_decode(text, max(text.find('{\n'), 0))[0]
    except ValueError:
        return None


def first_error(report: Any) -> Optional[Tuple[int, int]]:
    """Rank and error number of the first task that failed; None if none is seen."""
    jobs = report.get('jobs') if isinstance(report, dict) else None
    errors = [error_of(job) if isinstance(job, dict) else 0 for job in jobs] if isinstance(jobs, list) else []
    return next(((rank, error) for rank, error in enumerate(errors) if type(error) is int and error), None)


def error_of(job: Dict[str, Any]) -> Any:
    """The error number of a job, also if it went on after the error and counts failures alone (continue_on_error)."""
    return job.get('error') or job.get('first_error') or (errno.EIO if job.get('total_err') else 0)


def jobs_of(report: Any, text: str) -> List[Any]:
    """The jobs, in the order of the job file. Raises EngineError: T9 other jobs, P15 fio echoes other options."""
    sections = []
    for section in text.split('[')[1:]:
        head, *lines = section.splitlines()
        sections.append((head.rstrip(']'), dict(line.split('=', 1) for line in lines)))
    names, options = zip(*sections)
    jobs = field(report, 'jobs', list)
    if len(jobs) != len(names) - 1:
        raise EngineError('T9', f'fio ran {len(jobs)} jobs instead of {len(names) - 1}')
    ran = tuple(field(job, 'jobname', str) for job in jobs)
    if ran != names[1:]:
        whole = ' to '.join(sorted({names[1], names[-1]}))
        raise EngineError('T9', f'fio ran the jobs {", ".join(ran)} instead of {whole}')
    echoed = [field(report, 'global options', dict)] + [field(job, 'job options', dict) for job in jobs]
    for name, planned, had in zip(names, options, echoed):
        other = sorted(key for key in {*planned, *had} if planned.get(key) != had.get(key))
        if other:
            key = other[0]
            where = 'all jobs' if name == 'global' else f'task {name[len("rank") :]}'
            raise EngineError('P15', f'fio ran {where} with {key}={had.get(key)}, not {planned.get(key)}')
    return jobs


def starts_of(jobs: List[Any]) -> Optional[List[float]]:
    """The start of each job, in seconds since the first one; None before fio 3.36, which does not report it."""
    starts_ms = [job.get('job_start') for job in jobs]
    if any(type(start) is not int for start in starts_ms):
        return None
    return [(start - min(starts_ms)) / 1000.0 for start in starts_ms]


def check_clock(seconds: float, process: ProcessTime) -> None:
    """Raises EngineError E1 if fio claims more seconds than its process lived."""
    if seconds > process.lived_s * 1.01 + 2 * CLOCK_S:
        ran = f'ran for {process.lived_s:.3f} s'
        raise EngineError('E1', f'fio reports {seconds:.3f} s, but {ran}; its clock is wrong')


def runtime_of(done: Any, rank: int) -> float:
    """Seconds that a job ran; raises EngineError T12 if it ran for no time."""
    runtime_ms = field(done, 'runtime', int)
    if runtime_ms <= 0:
        raise EngineError('T12', f'task {rank} is too short to measure: fio gives it no runtime')
    return runtime_ms / 1000.0


def latencies_of(done: List[Any], key: str = 'clat_ns') -> Dict[int, int]:
    """Number of operations of all tasks by nanoseconds (the middle of a bin, within 0.8 %). done: each task's report
    of one direction; key: of the latencies that have bins. Raises EngineError E1, T1."""
    together: Dict[int, int] = {}
    for rank, report in enumerate(done):
        latency = field(report, key, dict)
        bins = field(latency, 'bins', dict)
        if not all(re.match(r'\d+\Z', name) and type(number) is int for name, number in bins.items()):
            raise EngineError('E1', f"fio's JSON has other bins than latencies and numbers of task {rank}")
        if sum(bins.values()) != latency['N']:
            raise EngineError('T1', f'task {rank}: {sum(bins.values())} latencies of {latency["N"]} operations')
        for name, number in bins.items():
            together[int(name)] = together.get(int(name), 0) + number
    return together


def field(data: Any, key: str, kind: Type[T]) -> T:
    """The value under the key; raises EngineError E1 if it is not of this kind."""
    value = data.get(key) if isinstance(data, dict) else None
    if type(value) is not kind:
        raise EngineError('E1', f"fio's JSON has no '{key}' where {kind.__name__} is expected")
    return value


def _in_report(text: str, messages: List[str]) -> str:
    report = decoded(text)
    failed = first_error(report)
    if failed is None or any(os.strerror(failed[1]) in line for line in messages):
        return ''
    rank, error = failed
    options = report['jobs'][rank].get('job options')
    file = options.get('filename') if isinstance(options, dict) else None
    return f'; task {rank}{f", file {file}" if file else ""}: {os.strerror(error)}'


def _quoted(messages: List[str]) -> str:
    lines = causes_in(messages)[:3]
    return f": '{' / '.join(lines)}'" if lines else ''
