"""IO500's own program: IOR, mdtest and its parallel find in one MPI launch, by a configuration that is ours.

Read in the source of isc26 and seen with a program built from it. Its results stand in result.txt, an ini file with
complaints in comments ('; ERROR INVALID'). A runtime below the rules' 300 s is one; it is expected where the plan has
a shorter stone wall, and such a launch has no score. Seconds are those of the whole phase (t_delta), start-up
included. Its data are random; with the default packet type they compress.
"""

import re
from typing import Any, Dict, List, NamedTuple, Tuple

from seatrial.engine.base import Command, Engine, EngineError, Outcome, check_life, ended
from seatrial.model.metric import UNNAMED, Measurement, Metric, bandwidth
from seatrial.model.point import Point
from seatrial.model.units import GIB
from seatrial.workload import io500

FOLDER = 'io500'
CLOCK_S = 1e-4  # the last digit of t_delta
PRINTED = 1e-6  # last digit of a printed score
SLACK = 2e-3  # error of a score computed from seven digits; 0.4 kIOPS have only six

_SHORT = ('Runtime is smaller than expected minimum runtime', 'stonewall-time')
_PHASES = (*io500.BANDWIDTHS, io500.BESIDE, *io500.RATES)
_NAMES = {name: name.replace('_', '-').replace('rnd4k', 'rnd4K') for name in _PHASES}


class Section(NamedTuple):
    """A section of result.txt."""

    values: Dict[str, str]
    complaints: Tuple[str, ...]


class Io500Engine(Engine):
    name = 'io500'
    kinds = ('io500',)
    programs = ('io500',)
    how_to_get = 'from github.com/IO500/io500, by its prepare.sh'
    says_version = re.compile(r'^io500-(\S*\d\S*)$', re.MULTILINE)
    without_version = 'T7'
    mpi = True
    names_hosts = False
    makes = (
        *('data(\\.\\d{8,})?', FOLDER, '(ior|mdtest)-(easy|hard)', 'ior_file_easy(\\.\\d{8,})?', 'file'),
        *(r'test-dir\.\d+-\d+', r'mdtest_tree(\.\d+)+', r'file\.mdtest\.\d+\.\d+'),
    )

    def parse_version(self, text: str) -> str:
        """The version; EngineError T7 for a release without a phase whose figure is read, as all before 2025."""
        version = super().parse_version(text)
        release = re.match(r'(?:isc|scc?)(\d\d)(?!\d)', version)
        if release and int(release.group(1)) < 25:
            lacks = f'{version} has no {_NAMES[io500.BESIDE]}'
            raise EngineError('T7', f'IO500 {lacks}; install isc25 or later ({self.how_to_get})')
        return version

    def version_argv(self, program: str) -> List[str]:
        """It prints its version only when it runs, so the version is read from its binary."""
        return ['sh', '-c', 'grep -a -o -m 1 "io500-[a-z0-9][A-Za-z0-9._-]*" "$1"', 'sh', program]

    def command(self, program: str, phase: str, point: Point, raw: str, seed: int) -> Command:
        """The configuration is raw + '.ini'; results lie in raw + '.io500'."""
        results = f'{raw}.io500'
        sections: Dict[str, Dict[str, Any]] = {
            'global': {
                'datadir': FOLDER,
                'resultdir': results,
                **dict.fromkeys(('timestamp-datadir', 'timestamp-resultdir'), 'FALSE'),
                'dataPacketType': 'random',
            },
            'debug': {'stonewall-time': io500.stone_wall_s(point)},
            'ior-easy': {'blockSize': point.data.bytes_per_task},
            'ior-hard': {'segmentCount': max(1, point.data.bytes_per_task // io500.HARD_BYTES)},
            'mdtest-easy': {'n': io500.files_per_task(point)},
            'mdtest-hard': {'n': io500.files_per_task(point)},
        }
        lines = []
        for name, options in sections.items():
            lines += [f'[{name}]', *(f'{key} = {value}' for key, value in options.items()), '']
        logs = sorted(name for name in _NAMES.values() if name not in ('find', 'ior-easy-write'))
        outputs = tuple(f'{results}/{name}.txt' for name in ('result', 'ior-easy-write', *logs))
        return Command('mpi', ((program, f'{raw}.ini'),), {f'{raw}.ini': '\n'.join(lines)}, outputs)

    def measure(self, phase: str, point: Point, command: Command, outcome: Outcome) -> Measurement:
        """Figures in GiB/s or kIOPS. Raises EngineError: E1 failed; T13 results not whole; T9 other tasks; P15
        another plan; T19 a phase that it calls invalid; T1 a score that does not follow from its phases."""
        if outcome.exit_status:
            # Only the log of a phase has the error of a storage call that failed in it.
            logs = [*outcome.stdouts, *filter(None, outcome.outputs[1:])]
            raise EngineError('E1', f'IO500 {ended(outcome.exit_status, outcome.stderrs, logs)}')
        result, log = (text or '' for text in outcome.outputs[:2])
        sections = parse_result(result)
        _check_plan(sections, point)
        short = io500.stone_wall_s(point) < io500.STONE_WALL_S
        for name, section in sections.items():
            for complaint in section.complaints:
                if not short or not complaint.startswith(_SHORT):
                    raise EngineError('T19', f'IO500 calls {name} invalid: {complaint}; give it more bytes_per_task')
        metrics = tuple(_metric(sections, name) for name in _NAMES)
        of = {metric.name: metric.value for metric in metrics}
        zero = [name for name, value in of.items() if value <= 0]
        if zero:
            raise EngineError('T12', f'{zero[0]} is too short to measure: IO500 gives it 0')
        means = (io500.geometric_mean([of[name] for name in names]) for names in (io500.BANDWIDTHS, io500.RATES))
        due = io500.score_of(*means)
        score = float(_value(sections, 'SCORE', 'SCORE').partition(' ')[0])
        if abs(score - due) > SLACK * due + PRINTED:
            raise EngineError('T1', f'IO500 has the score {score}, and its phases give {due:.6f}')
        check_life('IO500', sum(metric.seconds for metric in metrics), outcome.processes[0])
        nodes = re.search(r'^nodes +: (\d+)$', log, re.MULTILINE)
        if nodes is None:
            raise EngineError('T13', "IO500's log of ior-easy-write does not say on how many nodes it ran")
        hosts = tuple(f'{UNNAMED}{node}' for node in range(1, int(nodes.group(1)) + 1))
        fsync = ' -e ' in sections['ior-easy-write'].values['exe']
        return Measurement(metrics, world_size=point.tasks, hosts=hosts, clock_s=CLOCK_S, fsync=fsync)


def parse_result(text: str) -> Dict[str, Section]:
    """The sections of a result.txt. Raises EngineError T13 where it is not whole."""
    if re.search(r'^; END \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\s*\Z', text, re.MULTILINE) is None:
        raise EngineError('T13', "IO500's result.txt does not end with '; END' and the time")
    sections = {}
    _, *parts = re.split(r'^\[(.*)\]\s*$', text, flags=re.MULTILINE)
    for name, body in zip(parts[::2], parts[1::2]):
        pairs = (line.partition('=') for line in body.splitlines() if '=' in line and not line.startswith(';'))
        complaints = tuple(line.strip() for line in re.findall('^; ERROR INVALID(.*)', body, re.MULTILINE))
        sections[name] = Section({key.strip(): value.strip() for key, _, value in pairs}, complaints)
    missing = [section for section in ('run', *_NAMES.values(), 'SCORE') if section not in sections]
    if missing:
        raise EngineError('T13', f"IO500's result.txt has no {missing[0]}")
    return sections


def _check_plan(sections: Dict[str, Section], point: Point) -> None:
    procs = _value(sections, 'run', 'procs')
    if procs != str(point.tasks):
        raise EngineError('T9', f'IO500 ran {procs} processes, not {point.tasks}')
    mode, wall = _value(sections, 'run', 'mode'), io500.stone_wall_s(point)
    files = io500.files_per_task(point)
    for section, meant in (
        ('ior-easy-write', f' -t 2m -b {point.data.bytes_per_task} -F -w -D {wall} '),
        ('ior-hard-write', f' -s {max(1, point.data.bytes_per_task // io500.HARD_BYTES)} -w -D {wall} '),
        ('mdtest-easy-write', f' -n {files} '),
        ('mdtest-hard-write', f' -n {files} '),
    ):
        ran = _value(sections, section, 'exe')
        if meant not in ran or mode != 'standard':
            raise EngineError('P15', f"IO500 ran {section} as '{ran}' in its mode {mode}, without '{meant.strip()}'")


def _metric(sections: Dict[str, Section], name: str) -> Metric:
    section = _NAMES[name]
    value, seconds = _number(sections, section, 'score'), _number(sections, section, 't_delta')
    if name in io500.RATES:
        return Metric(name, value * 1000, 'op/s', seconds=seconds, figure=f'{value:.6f} kIOPS')
    return bandwidth(name, 0, seconds, f'{value:.6f} GiB/s')._replace(value=value * GIB)


def _value(sections: Dict[str, Section], section: str, key: str) -> str:
    if key not in sections[section].values:
        raise EngineError('T13', f"IO500's result.txt has no {key} of {section}")
    return sections[section].values[key]


def _number(sections: Dict[str, Section], section: str, key: str) -> float:
    text = _value(sections, section, key)
    if re.match(r'\d+\.\d+$', text) is None:
        raise EngineError('T13', f"IO500's result.txt has '{text}' as the {key} of {section}")
    return float(text)
