"""Proves where a launcher places the tasks, by a launch without I/O before the first with I/O (rules T11, P17); also
the nodes of the allocation, whether it shares them, and the partition's nodes that it does not include."""

import glob
import os
import platform
import re
import sys
from collections import Counter
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from seatrial.engine.dispatch import RANK_VARIABLES, RankPlace
from seatrial.engine.node_program import module_argv
from seatrial.job.launch.processes import launch_argv
from seatrial.model.ask import ask
from seatrial.model.hostlist import expanded
from seatrial.model.plan import Launcher
from seatrial.model.point import Point
from seatrial.model.record import BoundTasks, NotTested
from seatrial.rules.places import short
from seatrial.workload.words import LISTED, by_key, counted

# Limits of a trivial program's launch; srun starts thousands of tasks in seconds (Slurm's Large Cluster guide).
DEADLINE_S, DEADLINE_PER_TASK_S = 60.0, 0.05
MARK = 'seatrial-task'
MAX_COMPLAINT = 200  # characters of a launcher's message
ANSWER_S = 20.0  # slurmctld may be busy or away; a list of untested nodes is not worth a longer wait
UNKNOWN = 'unknown'


def main(arguments: List[str]) -> int:
    """A task that prints its rank and its host."""
    rank = next((os.environ[name] for name in RANK_VARIABLES if name in os.environ), '?')
    print(f'{MARK} {rank} {platform.node()}', flush=True)
    return 0


def misplaced(launcher: Launcher, points: Sequence[Point]) -> Optional[str]:
    """A clause if the launcher misplaces the tasks of a point, or None. Each geometry is tried once."""
    tried = {(point.nodes, point.tasks, point.tasks_per_node): point for point in points}
    for _, point in sorted(tried.items()):  # from the smallest, whose fault is the simplest
        output, fault = output_of_tasks(launcher, point, module_argv(sys.executable, __name__, ()))
        fault = fault or _misplaced(output, point)
        if fault is not None:
            return fault
    return None


def output_of_tasks(
    launcher: Launcher, point: Point, argv: Tuple[str, ...], work_s: float = 0.0, nodes: Tuple[str, ...] = ()
) -> Tuple[str, Optional[str]]:
    """The output of all tasks of this program, which may take work_s; and the fault, or None. nodes: their names."""
    started = launch_argv(launcher, point, argv, nodes)
    deadline = DEADLINE_S + DEADLINE_PER_TASK_S * point.tasks + work_s
    answer = ask(started, deadline)
    asked = f'{counted(point.tasks, "task")} on {counted(point.nodes, "node")}'
    if answer is None:
        return '', f'{started[0]} is not installed'
    if answer.exit_status is None:
        return '', f'{started[0]} has not started {asked} of a program that writes no data within {deadline:.0f} s'
    if answer.exit_status != 0:
        lines = [line.strip() for line in (answer.stderr + answer.stdout).splitlines() if line.strip()]
        why = lines[0][:MAX_COMPLAINT] if lines else f'it ended with {answer.exit_status} and said nothing'
        return '', f'{started[0]} could not start {asked}: {why}'
    return answer.stdout, None


def answers_of_nodes(
    launcher: Launcher, nodes: int, mark: str, argv: Tuple[str, ...], work_s: float, named: Tuple[str, ...] = ()
) -> Tuple[Dict[str, str], Optional[str]]:
    """The output of a task on each node after the mark, by host; and the fault, as of silent nodes, or None."""
    point = Point('', (), nodes=nodes, tasks=nodes, tasks_per_node=1)
    output, fault = output_of_tasks(launcher, point, argv, work_s, named)
    lines = (line.split(None, 2) for line in output.splitlines() if line.startswith(mark))
    answers = {short(words[1]): words[2] for words in lines if len(words) == 3}
    if fault is None and len(answers) != nodes:
        hosts = ', '.join(sorted(answers)[:LISTED]) or 'none'
        fault = f'{nodes} nodes were asked for, one task on each, and {hosts} answered'
    return answers, fault


def bound(places: Sequence[RankPlace], tasks: int) -> Tuple[BoundTasks, ...]:
    """The cores of a launch's tasks by its processes' reports, each for as many tasks; empty if one is missing."""
    if not all(place.cores for place in places):
        return ()
    of_nodes = by_key((short(place.host), place.cores) for place in places for _ in range(tasks // len(places)))
    alike = by_key((tuple(cores), node) for node, cores in of_nodes.items())
    return tuple(BoundTasks(tuple(nodes), cores) for cores, nodes in alike.items())


def _misplaced(output: str, point: Point) -> Optional[str]:
    lines = [line.split() for line in output.splitlines() if line.startswith(MARK)]
    hosts = Counter(words[2] for words in lines if len(words) == 3)
    ranks = sorted(words[1] for words in lines)
    if ranks != sorted(map(str, range(point.tasks))):
        return f'{_asked(point.tasks)}, and the ranks {", ".join(ranks[:LISTED]) or "none"} were there'
    placed = ', '.join(f'{count} on {host}' for host, count in sorted(hosts.items())[:LISTED])
    if len(hosts) != point.nodes or set(hosts.values()) != {point.tasks_per_node}:
        where = ' on one node' if point.nodes == 1 else f' on each of {point.nodes} nodes'
        return f'{_asked(point.tasks_per_node, where)}; there were {placed}'
    return None


def _asked(tasks: int, where: str = '') -> str:
    return f'1 task{where} was asked for' if tasks == 1 else f'{tasks} tasks{where} were asked for'


def allocated(environment: Mapping[str, str] = os.environ) -> Tuple[str, ...]:
    """The nodes of this job in Slurm's order; none where Slurm runs no job here. Raises ValueError."""
    return expanded(environment.get('SLURM_JOB_NODELIST', ''))


def not_tested(allocation: Sequence[str], environment: Mapping[str, str] = os.environ) -> Tuple[NotTested, ...]:
    """The partition's other nodes, with state ('*': it does not answer) and reason, by sinfo(1), of which other lines
    are skipped; one row that says so if Slurm is silent for ANSWER_S."""
    partition = environment.get('SLURM_JOB_PARTITION', '')
    if not partition:
        return ()
    answer = ask(['sinfo', '--Node', '--noheader', f'--partition={partition}', '--format=%N|%T|%E'], ANSWER_S)
    if answer is None or answer.exit_status != 0:
        complaint = answer.stderr.strip().splitlines()[:1] if answer else ['sinfo is not installed']
        why = complaint[0] if complaint else f'sinfo does not answer within {ANSWER_S:.0f} s'
        return (NotTested(f'others of {partition}', UNKNOWN, why),)
    allocated_names = {short(name) for name in allocation}
    rows = ([word.strip() for word in line.split('|', 2)] for line in answer.stdout.splitlines())
    others = (row for row in rows if len(row) == 3 and short(row[0]) not in allocated_names)
    return tuple(NotTested(node, state, '' if reason == 'none' else reason) for node, state, reason in others)


def oversubscribe(environment: Mapping[str, str] = os.environ) -> str:
    """OverSubscribe of this job (scontrol show job): NO, OK, YES or USER; empty without Slurm or an answer."""
    job = environment.get('SLURM_JOB_ID', '')
    answer = ask(['scontrol', 'show', 'job', job], ANSWER_S) if job else None
    match = re.search(r'(?<!\S)OverSubscribe=(\S+)', answer.stdout) if answer and answer.exit_status == 0 else None
    return match.group(1) if match else ''


def numa(devices: str = '/sys/devices/system/node') -> Tuple[str, ...]:
    """The cores of each NUMA node of this host, as the kernel lists them; empty if it lists none."""
    cores = {}
    for path in glob.glob(f'{devices}/node[0-9]*/cpulist'):
        with open(path) as stream:
            cores[int(path.split('/node')[-1].partition('/')[0])] = stream.read().strip()
    return tuple(cores[number] for number in sorted(cores))
