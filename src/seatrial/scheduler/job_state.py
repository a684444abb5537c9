"""Slurm's account of the end of a job: asked with a deadline, parsed, put into words. scontrol knows a job until
MinJobAge (300 s) after its end. Only accounting knows who cancelled it, some seconds later; srun reports which
node failed. States: job_state_codes.html of Slurm 20.11 to 25.05, reasons: job_reason_codes.html; seen with 22.05."""

import re
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from seatrial.model.ask import ask
from seatrial.model.owned import user_name
from seatrial.model.quoted_value import printable
from seatrial.scheduler.queue import seconds_in

DEADLINE_S = 20.0  # seconds for one question: slurmctld may be busy, stopped or gone
SETTLE_S = 8.0  # seconds of repeated questions while a job is about to end or accounting lacks its end
SACCT_FIELDS = ('JobID', 'State', 'ExitCode', 'Reason', 'ElapsedRaw', 'TimelimitRaw', 'NodeList')

# Values of JobState.state that are not states of Slurm.
UNKNOWN = 'unknown'  # the answer of Slurm cannot be read
NO_SUCH_JOB = 'no such job'  # Slurm knows no such job
SILENT = 'silent'  # Slurm did not answer
REFUSED = 'refused'  # sbatch did not take the job


class JobState(NamedTuple):
    """The known facts about a job. exit_code and signal: of its script; by: who cancelled it; node: that failed."""

    state: str  # Slurm's word, or one of those above
    exit_code: int | None = None
    signal: int | None = None
    by: str = ''
    node: str = ''
    reason: str = ''
    nodes: str = ''  # its nodes in Slurm's notation, empty before it starts
    # elapsed_s, limit_s: seconds, None if unknown
    elapsed_s: int | None = None
    limit_s: int | None = None
    restarts: int | None = None  # None if unknown (sacct)
    seven_bits: bool = False  # the exit code lacks its eighth bit (sacct)
    down: str = ''  # its nodes that are down now, where Slurm does not say which one failed


UNREADABLE = JobState(UNKNOWN)
NO_ANSWER = (UNKNOWN, NO_SUCH_JOB, SILENT)
"""States without an answer of Slurm about the job; their sentences are about Slurm."""


def job_state_of(job: str, output: str = '') -> JobState:
    """Ask Slurm about a job; output is the job's own output. Waits SETTLE_S for news at most."""
    end = time.monotonic() + SETTLE_S
    known = _asked(job)
    while known.state in _ABOUT_TO_END and time.monotonic() < end:
        time.sleep(1.0)
        known = _asked(job)
    known = with_output(known, output)
    if known.state != 'NODE_FAIL' or known.node or not re.search(r'[\[,]', known.nodes):
        return known
    # Slurm says only that a node of the job failed; sinfo shows which of its nodes are down now.
    answer = ask(['sinfo', '--noheader', f'--nodes={known.nodes}', '--states=down', '--format=%N'], DEADLINE_S)
    return known if answer is None or answer.exit_status != 0 else known._replace(down=answer.stdout.strip())


def may_go_on(known: JobState) -> bool:
    """True if a job may still run or begin: Slurm says so, or Slurm is away and may come back."""
    return known.state in _GOING_ON or (known.state == SILENT and known.reason != _MISSING)


def of_scontrol(text: str) -> JobState:
    """The output of `scontrol show job`; UNKNOWN if it was cut short before all fields that are read."""
    fields: dict[str, str] = {}
    for line in _whole_lines(text)[1:]:  # the first has the job's name, which may hold anything
        for key, value in re.findall(r'(?:^|\s)([\w/:]+)=(\S*)', line):
            fields.setdefault(key, value)
    if not fields.keys() >= _SCONTROL_NEEDS:
        return UNREADABLE
    restarts = fields['Restarts']
    return _with_code(
        fields['JobState'],
        fields['ExitCode'],
        reason=_reason(fields['Reason']),
        nodes='' if fields['NodeList'] == '(null)' else fields['NodeList'],
        elapsed_s=seconds_in(fields['RunTime']),
        limit_s=seconds_in(fields['TimeLimit']),
        restarts=int(restarts) if restarts.isdecimal() else None,
    )


def of_sacct(text: str, job: str, names: Callable[[int], str] = user_name) -> JobState:
    """The line of `sacct -P` about this job itself, its columns in any order; NO_SUCH_JOB without one."""
    lines = _whole_lines(text)
    columns = lines[0].split('|') if lines else []
    if not set(columns) >= set(SACCT_FIELDS):
        return UNREADABLE
    rows = [dict(zip(columns, line.split('|'), strict=False)) for line in lines[1:]]
    row = next((candidate for candidate in reversed(rows) if candidate['JobID'] == job), None)
    if row is None:
        return JobState(NO_SUCH_JOB)
    if len(row) < len(columns):
        return UNREADABLE
    by = re.fullmatch(r'CANCELLED by (\d+)', row['State'])
    limit = row['TimelimitRaw']
    return _with_code(
        row['State'],
        row['ExitCode'],
        by=names(int(by.group(1))) if by else '',
        reason=_reason(row['Reason']),
        nodes='' if row['NodeList'] == 'None assigned' else row['NodeList'],
        elapsed_s=int(row['ElapsedRaw']) if row['ElapsedRaw'].isdecimal() else None,
        limit_s=60 * int(limit) if limit.isdecimal() else None,
        seven_bits=True,
    )


def of_sbatch(text: str) -> JobState | None:
    """The reason of sbatch for refusing a job, or None if it has no message here. Its last message may be no more
    than "Unspecified error", and those before it name the limit, or are a plugin's own words."""
    messages = [match.groups() for match in re.finditer(r'^sbatch: (error: )?(.+)$', text, re.MULTILINE)]
    if not messages:
        return None
    *before, failure = [words.strip().removeprefix('Batch job submission failed: ') for _, words in messages]
    if failure.startswith(_NO_CONTACT):
        return JobState(SILENT, reason=_munge([*before, failure]) or failure)
    errors = [words for (mark, _), words in zip(messages, before, strict=False) if mark]
    return JobState(REFUSED, reason='; '.join(dict.fromkeys([failure, *(errors or before)])))


def of_silence(text: str) -> JobState:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if any(line.endswith('Invalid job id specified') for line in lines):
        return JobState(NO_SUCH_JOB)
    last = lines[-1] if lines else 'it printed nothing'
    return JobState(SILENT, reason=_munge(lines) or re.sub(r'^\w+:? (?:error|fatal): ', '', last))


def with_output(known: JobState, output: str) -> JobState:
    """Adds Slurm's messages to the job: memory exceeded (without cgroups only signal 9), or the node that failed."""
    if known.state == 'FAILED' and _MEMORY.search(output):
        return known._replace(state='OUT_OF_MEMORY')
    node = _NODE_FAILURE.search(output)
    if known.state == 'NODE_FAIL' and not known.node and node:
        return known._replace(node=node.group(1))
    return known


def merged(young: JobState, accounted: JobState) -> JobState:
    """The answer of scontrol, with facts that only accounting has; or if scontrol knows nothing, sacct's."""
    if accounted.state in NO_ANSWER:
        return young
    if young.state in NO_ANSWER:
        # Accounting lacks some states of slurmctld, and shows such a job as waiting or running.
        return young if young.state == UNKNOWN and young.reason and may_go_on(accounted) else accounted
    if young.state in _ABOUT_TO_END and accounted.state not in _GOING_ON:
        return accounted._replace(restarts=young.restarts, nodes=young.nodes or accounted.nodes)
    if young.state != accounted.state:
        return young  # accounting does not have the end yet
    return young._replace(by=accounted.by)


def sentence(known: JobState) -> str:
    """The end of a job in a sentence without its full stop; without any guess."""
    words = _WORDS[known.state] + _after(known) if known.state in _WORDS else _SENTENCES[known.state](known)
    started_again = known.restarts and known.nodes and known.state not in WAITING
    return f'{words}, after {known.restarts} requeue{"s" if known.restarts != 1 else ""}' if started_again else words


def slurm_words(known: JobState) -> str:
    """'Slurm says: cancelled by alice after 12 s', or the reason why it says nothing."""
    return sentence(known) if known.state in NO_ANSWER else f'Slurm says: {sentence(known)}'


def _asked(job: str) -> JobState:
    young = _answer(['scontrol', 'show', 'job', job], of_scontrol)
    if young.state in _WHOLE or young.reason == _MISSING:
        return young  # accounting has nothing to add, or there is no Slurm here
    accounted = _accounted(job)
    if young.state == 'CANCELLED' and accounted.state in _ABOUT_TO_END:
        time.sleep(2.0)  # accounting has it within 2 s (seen)
        accounted = _accounted(job)
    return merged(young, accounted)


def _accounted(job: str) -> JobState:
    argv = ['sacct', '-P', f'--jobs={job}', f'--format={",".join(SACCT_FIELDS)}']
    return _answer(argv, lambda text: of_sacct(text, job))


def _answer(argv: list[str], read: Callable[[str], JobState]) -> JobState:
    answer = ask(argv, DEADLINE_S)
    if answer is None:
        return JobState(SILENT, reason=_MISSING if argv[0] == 'scontrol' else f'{argv[0]} is not installed')
    if answer.exit_status is None:
        # Without munge scontrol says why and tries again for minutes.
        reason = _munge(answer.stderr.splitlines()) or f'{argv[0]} has not answered for {DEADLINE_S:.0f} s'
        return JobState(SILENT, reason=reason)
    if answer.exit_status != 0:
        return of_silence(answer.stderr + answer.stdout)
    return read(answer.stdout)


_MISSING = 'scontrol is not on the PATH'
_NO_CONTACT = (
    'Protocol authentication error',
    'Unable to contact slurm controller',
    'Socket timed out',
    'Zero Bytes were transmitted',
)
_WHOLE = ('COMPLETED', 'FAILED', 'TIMEOUT', 'OUT_OF_MEMORY', 'PENDING')
_ABOUT_TO_END = ('RUNNING', 'COMPLETING', 'SUSPENDED', 'RESIZING', 'SIGNALING', 'STAGE_OUT', 'STOPPED', 'UPDATE_DB')
_HELD: Mapping[str, str] = {  # reasons why a job waits, by states that say more than the reason beside them
    'CONFIGURING': 'its nodes are being made ready',
    'POWER_UP_NODE': 'its nodes are being powered up',
    'REQUEUE_FED': 'another cluster of the federation is to begin it anew',
    'REQUEUE_HOLD': 'held after it was requeued',
    'RESV_DEL_HOLD': 'held, as its reservation was deleted',
    'SPECIAL_EXIT': 'held after it ended with an exit code that asks for it',
    'LAUNCH_FAILED': 'its launch failed',
    'RECONFIG_FAIL': 'its nodes could not be configured',
}
WAITING = ('PENDING', 'REQUEUED', *_HELD)  # states before a job begins, or begins anew
_GOING_ON = (*_ABOUT_TO_END, *WAITING)
# WorkDir follows all fields that are read: without it the text was cut short.
_SCONTROL_NEEDS = {'JobState', 'ExitCode', 'Reason', 'RunTime', 'TimeLimit', 'Restarts', 'NodeList', 'WorkDir'}
_MEMORY = re.compile(r'^slurmstepd\S*: error: .*(?:exceeded memory limit|Exceeded job memory|oom.kill)', re.M | re.I)
_NO_OUTPUT = 53  # signal seen with an output file and with a working folder that cannot be had
_NODE_FAILURE = re.compile(r'^srun: error: Node failure on (\S+)', re.M)


def _munge(lines: Iterable[str]) -> str:
    """The message of Slurm's programs about a munge that does not serve them; its last words are the reason."""
    reasons = [line.partition('Munge encode failed: ')[2] for line in lines if 'Munge encode failed: ' in line]
    return f'munge does not serve this host: {reasons[0].strip()}' if reasons else ''


def _whole_lines(text: str) -> list[str]:
    return text[: text.rfind('\n') + 1].splitlines()


def _with_code(state: str, code: str, **facts: Any) -> JobState:
    """The job by the first word of its state ('CANCELLED by 1001', 'CANCELLED+' in a narrow column), and by its exit
    code as in '3:0'. Of a Slurm that has more states than are known here the state is the reason."""
    match, numbers = re.match(r'[A-Z_]+', state), re.fullmatch(r'(\d+):(\d+)', code)
    if numbers is None or not state:
        return UNREADABLE
    if match is None or (match.group() not in _WORDS and match.group() not in _SENTENCES):
        return JobState(UNKNOWN, reason=printable(state))
    return JobState(match.group(), int(numbers.group(1)), int(numbers.group(2)), **facts)


def _reason(text: str) -> str:
    return '' if text in ('None', '(null)', 'None assigned', 'Unknown') else text


def _after(known: JobState) -> str:
    return '' if known.elapsed_s is None else f' after {_span(known.elapsed_s)}'


def _span(seconds: int) -> str:
    return f'{seconds} s' if seconds < 600 else f'{seconds // 60} min'


def _failed(known: JobState) -> str:
    if known.signal == _NO_OUTPUT and known.nodes:
        return f'failed to launch (0:{_NO_OUTPUT}): most likely its output file or folder cannot be opened'
    if known.signal:
        return f'died of signal {known.signal}{_signal_name(known.signal)}{_after(known)}'
    code = known.exit_code or 0
    if known.seven_bits:
        return f'failed with exit code {code} or {code + 128} (sacct keeps only seven bits){_after(known)}'
    died = f', which usually means signal {code - 128}{_signal_name(code - 128)}' if code > 128 else ''
    return f'failed with exit code {code}{died}{_after(known)}'


def _signal_name(number: int) -> str:
    try:
        return f' ({signal.Signals(number).name})'
    except ValueError:
        return ''


def _cancelled(known: JobState) -> str:
    by = f'cancelled by {known.by}' if known.by else 'cancelled by somebody whom accounting does not name,'
    if known.nodes:
        return f'{by}{_after(known)}'.removesuffix(',')
    waited = _why_waiting(known)
    if known.restarts is None:
        return f'{by} while it waited: {waited}'
    return f'{_not_started(known)}: {waited}; {by.removesuffix(",")}'


def _not_started(known: JobState) -> str:
    if known.restarts:
        return f'requeued{" " + str(known.restarts) + " times" if known.restarts > 1 else ""} and not started again'
    return 'never started' if known.restarts == 0 else 'not running'


def _timed_out(known: JobState) -> str:
    limit = f', its time limit was {_span(known.limit_s)}' if known.limit_s is not None else ''
    return f'timed out{_after(known)}{limit}'


def _node_failed(known: JobState) -> str:
    if known.node:
        return f'node {known.node} failed{_after(known)}'
    which = f': it is {known.nodes}' if known.nodes else ''
    if re.search(r'[\[,]', known.nodes):
        which = f'; Slurm does not say which of {known.nodes}{f"; {known.down} is down now" if known.down else ""}'
    return f'a node failed{_after(known)}{which}'


def _refused(known: JobState) -> str:
    meaning = next((words for beginning, words in _REFUSALS.items() if known.reason.startswith(beginning)), '')
    failure, *before = known.reason.split('; ')
    refusal = '; '.join([f'{failure}{f" ({meaning})" if meaning else ""}', *before])
    return f'never started: sbatch refused it: {refusal}'


def _why_waiting(known: JobState) -> str:
    if known.state in _HELD:
        return _HELD[known.state]
    word, _, rest = known.reason.partition(',_UnavailableNodes:')
    words = _REASONS.get(word)
    if words is None and word.startswith(('QOS', 'Assoc')):
        words = f'a limit of its {"QOS" if word.startswith("QOS") else "account"} ({word})'
    if words is None:
        words = f"Slurm's reason is {word}" if word else 'Slurm gives no reason'
    return f'{words} ({rest})' if rest.strip('()') else words


_WORDS: Mapping[str, str] = {
    'COMPLETED': 'completed with exit code 0',
    'DEADLINE': 'ended by Slurm because its deadline had come',
    'BOOT_FAIL': 'a node did not boot for it',
    'OUT_OF_MEMORY': 'ran out of memory',
    'PREEMPTED': 'preempted by another job',
    'REVOKED': 'taken by another cluster of the federation',
    'RUNNING': 'it still runs',
    'SUSPENDED': 'it is suspended',
    'RESIZING': 'it still runs, and gets another number of nodes',
    'SIGNALING': 'a signal is being sent to it',
    'STAGE_OUT': 'it has ended, and its burst buffer is being written back',
    'STOPPED': 'it was stopped by a signal and keeps its nodes',
    'UPDATE_DB': 'accounting is being told of it',
    'COMPLETING': 'it is ending, and how is not said yet',
}
_SENTENCES: Mapping[str, Callable[[JobState], str]] = {
    'FAILED': _failed,
    'CANCELLED': _cancelled,
    'TIMEOUT': _timed_out,
    'NODE_FAIL': _node_failed,
    **dict.fromkeys(WAITING, lambda known: f'{_not_started(known)}: {_why_waiting(known)}; it still waits'),
    REFUSED: _refused,
    UNKNOWN: lambda known: (
        f'Slurm reports the state {known.reason}, which Seatrial does not know'
        if known.reason
        else "Slurm's answer about the job cannot be parsed"
    ),
    NO_SUCH_JOB: lambda known: 'Slurm does not know the job',
    SILENT: lambda known: f'Slurm does not answer: {known.reason}',
}
_DOWN = 'Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority_partitions'
_REASONS: Mapping[str, str] = {
    _DOWN: 'the nodes that it needs are down, drained or reserved',
    'ReqNodeNotAvail': 'nodes that it needs are not available',
    'BeginTime': 'its begin time had not come',
    'Dependency': 'a job that it depends on had not ended',
    'DependencyNeverSatisfied': 'a job that it depends on did not end as it had to',
    'JobHeldUser': 'held by its user',
    'JobHeldAdmin': 'held by an administrator',
    'Licenses': 'a licence that it needs was not free',
    'Resources': 'the nodes that it needs were not free',
    'Priority': 'jobs of a higher priority came first',
    'Reservation': 'its reservation had not begun',
    'ReservationDeleted': 'its reservation was deleted',
    'PartitionDown': 'its partition is down',
    'PartitionInactive': 'its partition is inactive',
    'PartitionNodeLimit': 'it asks for more nodes than its partition allows',
    'PartitionTimeLimit': 'it asks for more time than its partition allows',
    'BadConstraints': 'no nodes have what it asks for (BadConstraints)',
    'AccountNotAllowed': 'its account may not use the partition',
    'InvalidAccount': 'there is no such account',
    'InvalidQOS': 'there is no such QOS',
    'JobHoldMaxRequeue': 'held after too many requeues',
    'launch_failed_requeued_held': 'held after its launch failed',
}
_REFUSALS: Mapping[str, str] = {
    'Invalid feature specification': 'no node has such a constraint',
    'Invalid license specification': 'no such licence, or fewer of it',
    'Invalid partition name specified': 'no such partition',
    'Invalid qos specification': 'no such QOS, or not for this account',
    'Invalid account or account/partition combination': 'no such account, or not in this partition',
    'Node count specification invalid': 'more nodes than there are, or than the partition allows',
    'More processors requested than permitted': 'more tasks than its nodes, or the whole partition, have processors',
    'Requested node configuration is not available': 'no nodes are as it asks, or there are fewer of them',
    'Requested reservation is invalid': 'no such reservation',
}
