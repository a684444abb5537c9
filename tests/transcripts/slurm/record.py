#!/usr/bin/env python3
"""Make these transcripts anew, as root, with a real lab: record.py USER [SCENARIO...], up to half an hour for all.

USER is an ordinary user who submits the jobs. docs/labs.md tells in words what each failure is.
"""

from __future__ import annotations

import concurrent.futures
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from transcript import write  # noqa: E402

LAB_SLURM = HERE.parents[2] / 'ci' / 'lab-slurm'
LAB, JOBS = Path('/tmp/lab'), Path('/tmp/lab-jobs')
FIELDS = (
    'JobID,JobIDRaw,JobName,User,Account,Partition,QOS,State,ExitCode,DerivedExitCode,Reason,'
    'Submit,Start,End,ElapsedRaw,TimelimitRaw,NNodes,NTasks,AllocCPUS,NodeList'
)
ENDED = ['COMPLETED', 'FAILED', 'CANCELLED', 'TIMEOUT', 'NODE_FAIL', 'PREEMPTED', 'OUT_OF_MEMORY']
ENVIRONMENT = {**os.environ, 'SLURM_CONF': str(LAB / 'etc' / 'slurm.conf'), 'LC_ALL': 'C.UTF-8', 'TZ': 'UTC'}


def main(user: str, *only: str) -> None:
    JOBS.mkdir(exist_ok=True)
    subprocess.run(['chown', user, JOBS], check=True)
    lab('up', '--accounting')
    try:
        Recorder(user).record(only)
    finally:
        lab('down')
        subprocess.run(['find', JOBS, '-mindepth', '1', '-delete'], check=True)
    JOBS.rmdir()


def lab(*arguments: str) -> None:
    subprocess.run([LAB_SLURM, *arguments, '--dir', LAB], check=True)


class Recorder:
    """Runs commands of the lab, and writes down those of a scenario in its transcript."""

    def __init__(self, user: str) -> None:
        self.user = user
        self.said: dict[str, str] = {}
        ask(f'sacctmgr -i add user {user} account=lab defaultaccount=lab')

    def record(self, only: tuple[str, ...]) -> None:
        for scenario in (
            self.good_and_bad_ends,
            self.cancelled,
            self.refused,
            self.never_started,
            self.step_daemons_killed,
            self.nodes_lost,
            self.memory,
            self.reservation,
            self.controller_away,
            self.munge_away,
            self.time_limit,
            self.preempted,
        ):
            if not only or scenario.__name__ in only:
                print(scenario.__name__, flush=True)
                self.said = {}
                scenario()
                write(HERE / f'{scenario.__name__}.txt', self.said)

    def good_and_bad_ends(self) -> None:
        for name, text in {
            'completed': 'srun hostname',
            'exit-3': 'echo half a result; exit 3',
            'step-exit-3': 'srun bash -c "exit 3"',
            'step-ignored': 'srun bash -c "exit 3"; exit 0',
            'segfault': 'kill -SEGV $$',
            'step-segfault': 'srun bash -c "kill -SEGV \\$\\$"',
            'killed-script': 'srun sleep 1; kill -KILL $$',
        }.items():
            self.end(name, self.job(name, text, '-N2'))
        for name, options in {'no-output-folder': '-o /nowhere/out', 'no-work-folder': '-D /nowhere'}.items():
            self.end(name, self.job(name, 'hostname', options))

    def cancelled(self) -> None:
        for name, user in {'scancel': self.user, 'scancel-by-root': 'root'}.items():
            job = self.running(name, 'srun sleep 600', '-N2')
            ask(f'scancel {job}', user)
            self.end(name, job)
        job = self.running('scancel-deaf', "trap '' TERM; srun bash -c \"trap '' TERM; sleep 600\"", '-N2')
        ask(f'scancel {job}', self.user)
        self.end('scancel-deaf', job)
        job = self.job('scancel-pending', 'hostname', '--hold')
        self.now('held', job)
        ask(f'scancel {job}', self.user)
        self.end('scancel-pending', job)

    def refused(self) -> None:
        for name, options in {
            'too-many-nodes': '-N9',
            'too-many-tasks': '-N1 -n99',
            'bad-option': '--no-such-option',
            'bad-value': '-N many',
            'bad-partition': '-p none',
            'bad-constraint': '-C gpu',
            'bad-account': '-A nobody',
            'bad-qos': '-q none',
            'bad-reservation': '--reservation=none',
            'bad-licence': '-L none:1',
            'over-time': '-t 5:00:00',
            'too-much-memory': '--mem=100G',
        }.items():
            done = self.do(f'{name}-sbatch', f'sbatch {options} --wrap hostname')
            if done.returncode == 0:
                job = done.stdout.split()[-1]
                time.sleep(2)
                self.now(name, job)
                ask(f'scancel {job}')
        self.do('unknown-scontrol', 'scontrol show job 99999')
        self.do('unknown-squeue', 'squeue -j 99999')
        self.do('unknown-sacct', f'sacct -P -j 99999 --format={FIELDS}')

    def never_started(self) -> None:
        ask('scontrol update nodename=n[1-4] state=drain reason=trial')
        time.sleep(1)
        self.do('drained-sinfo', 'sinfo')
        self.do('drained-sinfo-reasons', 'sinfo -R')
        for name, options in {'drained': '-N2', 'drained-nodelist': '-w n2'}.items():
            self.waiting(name, options)
        ask('scontrol update nodename=n[1-4] state=resume')
        failed = self.job('dependency-of', 'exit 1')
        wait_for(failed, ENDED)
        self.waiting('dependency-never', f'-d afterok:{failed}')
        holder = self.running('licence-holder', 'sleep 600', '-L seatrial:1')
        self.waiting('licence', '-L seatrial:1')
        ask(f'scancel {holder}')
        wait_for(holder, ENDED)
        holder = self.running('resources-holder', 'sleep 600', '-N4 --exclusive')
        self.waiting('resources', '-N2')
        ask(f'scancel {holder}')
        wait_for(holder, ENDED)
        self.waiting('begin', '--begin=now+1hour')
        self.waiting('qos-limit', '-q onenode -N2')

    def step_daemons_killed(self) -> None:
        job = self.running('stepd-killed', 'srun sleep 600; echo srun: $?', '-N2 --no-requeue')
        lab('signal', 'KILL', 'n2:slurmstepd')
        time.sleep(5)
        self.now('stepd-killed', job)
        ask(f'scancel {job}')
        self.end('stepd-killed', job)
        job = self.running('batch-stepd-killed', 'sleep 600', '--no-requeue')
        lab('signal', 'KILL', 'n1:slurmstepd')
        self.end('batch-stepd-killed', job, limit_s=600)  # it is noticed when the node reports next
        self.do('batch-stepd-killed-processes', 'ps -u $USER -o args=')
        ask('scontrol update nodename=n[1-4] state=resume')

    def nodes_lost(self) -> None:
        job = self.running('node-down', 'srun sleep 600', '-N2 --no-requeue')
        ask('scontrol update nodename=n2 state=down reason=trial')
        self.end('node-down', job)
        ask('scontrol update nodename=n2 state=resume')
        job = self.running('node-down-requeued', 'echo restart ${SLURM_RESTART_COUNT:-0}; srun sleep 5', '-N2')
        ask('scontrol update nodename=n2 state=down reason=trial')
        time.sleep(1)
        self.now('node-down-requeued', job)
        ask('scontrol update nodename=n2 state=resume')
        # A requeued job waits two minutes before it starts again.
        ask(f'scancel {job}')
        self.end('node-down-requeued', job)
        job = self.running('power-cut', 'srun sleep 600', '-N2 --no-requeue')
        lab('signal', 'KILL', 'n2')
        self.end('power-cut', job, limit_s=150)
        self.do('power-cut-sinfo', 'sinfo')
        self.do('power-cut-sinfo-reasons', 'sinfo -R')
        lab('up')

    def memory(self) -> None:
        text = '/usr/bin/python3 -c "import time; kept = b\'x\' * (300 << 20); time.sleep(20)"'
        self.end('out-of-memory', self.job('out-of-memory', text, '--mem=100'))
        self.end('step-out-of-memory', self.job('step-out-of-memory', f'srun {text}; exit $?', '--mem=100'))

    def reservation(self) -> None:
        self.do(
            'reservation-create',
            f'scontrol create reservation ReservationName=trial Users={self.user} StartTime=now+10minutes '
            'Duration=30 Nodes=n[3-4]',
            'root',
        )
        self.do('reservation-show', 'scontrol show reservation')
        self.waiting('reservation-later', '--reservation=trial -N2')
        ask('scontrol delete ReservationName=trial')
        ask(
            f'scontrol create reservation ReservationName=now Users={self.user} StartTime=now Duration=9 Nodes=n[3-4]'
        )
        time.sleep(1)
        self.end('reservation', self.job('reservation', 'hostname', '--reservation=now -N2'))
        ask('scontrol delete ReservationName=now')

    def controller_away(self) -> None:
        job = self.running('controller-stopped', 'srun sleep 25; echo srun: $?', '-N2')
        lab('signal', 'STOP', 'slurmctld')
        self.do('controller-stopped-squeue', 'timeout 8 squeue')
        time.sleep(12)
        lab('signal', 'CONT', 'slurmctld')
        self.now('controller-stopped-back', job)
        self.end('controller-stopped', job)
        job = self.running('controller-killed', 'srun sleep 35; echo srun: $?', '-N2')
        time.sleep(7)  # it saves its state every 5 s
        lab('signal', 'KILL', 'slurmctld')
        for command in ('squeue', 'sinfo', f'scontrol show job {job}', 'sbatch --wrap hostname', f'scancel {job}'):
            self.do(f'controller-killed-{command.split()[0]}', f'timeout 20 {command}')
        lab('up')
        self.now('controller-killed-back', job)
        self.end('controller-killed', job)
        time.sleep(7)
        for _ in range(10):  # it has to be killed before it has saved that there is this job
            job = self.job('controller-forgot', 'srun sleep 60; echo srun: $?', '-N2')
            wait_for(job, ['RUNNING'])
            lab('signal', 'KILL', 'slurmctld')
            lab('up')
            if 'Invalid job id' in ask(f'scontrol show job {job}').stderr:
                break
            ask(f'scancel {job}')
            time.sleep(7)
        self.now('controller-forgot', job)
        again = self.job('controller-forgot-next', 'hostname')
        self.end('controller-forgot-next', again)
        self.keep_output('controller-forgot', job)

    def munge_away(self) -> None:
        job = self.running('munge-killed', 'srun sleep 20; echo srun: $?', '-N2')
        lab('signal', 'KILL', 'munged')
        time.sleep(15)
        lab('up')
        self.end('munge-killed', job)
        lab('signal', 'KILL', 'munged')
        commands = ['squeue', 'sinfo', f'scontrol show job {job}', 'sbatch --wrap hostname', f'scancel {job}']
        commands.append(f'sacct -P -j {job} --format={FIELDS}')
        with concurrent.futures.ThreadPoolExecutor() as pool:
            pool.map(lambda c: self.do(f'munge-dead-{c.split()[0]}', f'timeout 90 {c}'), commands)
        lab('up')

    def time_limit(self) -> None:
        jobs = {
            'time-limit': self.running('time-limit', 'srun sleep 600', '-N2 -t 1'),
            'time-limit-deaf': self.running('time-limit-deaf', "trap '' TERM; sleep 600", '-t 1'),
        }
        for name, job in jobs.items():
            self.end(name, job, limit_s=180)

    def preempted(self) -> None:
        job = self.running('preempted', 'srun sleep 600', '-N4 --exclusive --no-requeue')
        urgent = self.job('preemptor', 'hostname', '-q urgent -N4 --exclusive')
        self.end('preempted', job)
        wait_for(urgent, ENDED)

    def job(self, name: str, text: str, options: str = '') -> str:
        """Submit a job, and return its number."""
        script = JOBS / f'{name}.sh'
        script.write_text(f'#!/bin/bash\n{text}\n')
        return self.do(f'{name}-sbatch', f'sbatch {options} {script.name}').stdout.split()[-1]

    def running(self, name: str, text: str, options: str = '') -> str:
        job = self.job(name, text, options)
        wait_for(job, ['RUNNING'])
        time.sleep(1)
        return job

    def waiting(self, name: str, options: str) -> None:
        """A job that cannot start: what is said of it while it waits, and after it was cancelled."""
        job = self.job(name, 'hostname', options)
        time.sleep(7)  # the backfill scheduler, every 5 s, may find a better reason
        self.now(name, job)
        ask(f'scancel {job}')
        self.end(f'{name}-cancelled', job)

    def now(self, name: str, job: str) -> None:
        """What is said of a job that has not ended."""
        self.do(f'{name}-squeue', f'squeue -j {job}')
        self.do(f'{name}-scontrol', f'scontrol show job {job}')
        time.sleep(2)
        self.do(f'{name}-sacct', f'sacct -P -j {job} --format={FIELDS}')

    def end(self, name: str, job: str, limit_s: float = 60) -> None:
        """Wait for a job's end, then write down what is said of it."""
        wait_for(job, ENDED, limit_s)
        self.settle(name, job)
        self.do(f'{name}-end-squeue', f'squeue -t all -j {job}')
        self.do(f'{name}-end-scontrol', f'scontrol show job {job}')
        self.do(f'{name}-end-sacct', f'sacct -P -j {job} --format={FIELDS}')
        self.keep_output(f'{name}-end', job)

    def keep_output(self, name: str, job: str) -> None:
        """What the job itself has printed, if it has an output file."""
        output = JOBS / f'slurm-{job}.out'
        if output.exists():
            self.said[f'{name}-job.out'] = output.read_text()

    def settle(self, name: str, job: str) -> None:
        """slurmdbd is told later, and not all at once: wait for it, and keep what it said too early."""
        command = f'sacct -P -j {job} --format={FIELDS}'
        for second in range(15):
            said = ask(command).stdout
            if len(said.splitlines()) > 1 and not any(word in said for word in ('RUNNING', 'PENDING', '|Unknown|')):
                return
            if second == 0:
                self.do(f'{name}-soon-sacct', command)
            time.sleep(1)

    def do(self, name: str, command: str, user: str = '') -> subprocess.CompletedProcess[str]:
        done = ask(command, user or self.user)
        texts = {'cmd': f'{command}\n', 'rc': f'{done.returncode}\n', 'out': done.stdout}
        texts.update({'err': done.stderr} if done.stderr else {})
        self.said.update({f'{name}.{section}': text for section, text in texts.items()})
        return done


def ask(command: str, user: str = 'root') -> subprocess.CompletedProcess[str]:
    as_user = [] if user == 'root' else ['setpriv', f'--reuid={user}', f'--regid={user}', '--init-groups']
    return subprocess.run(
        [*as_user, 'sh', '-c', command], cwd=JOBS, env={**ENVIRONMENT, 'USER': user}, capture_output=True, text=True
    )


def wait_for(job: str, states: list[str], limit_s: float = 60) -> None:
    end = time.monotonic() + limit_s
    while (state := ask(f'squeue -h -t all -o %T -j {job}').stdout.strip()) not in states:
        if time.monotonic() > end:
            print(f'job {job} is {state} after {limit_s} s, not {" or ".join(states)}', flush=True)
            return
        time.sleep(0.5)


if __name__ == '__main__':
    main(*sys.argv[1:])
