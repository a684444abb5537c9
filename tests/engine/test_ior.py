"""The IOR engine: its command lines, and what it makes of genuine outputs of IOR 3.3.0, 4.0.0 and 4.1.0+dev. two-
nodes-* was run on one node with IOR_FAKE_NODES=2 IOR_FAKE_TASK_PER_NODES=1."""

import functools
import json
import random
import re
import shutil
import subprocess
import zlib
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import measuring
from measuring import MFWA, MFWA_RANDOM, SFSA, SFSA_RANDOM, SFSA_STRIDED, SFWA, access_point, assert_refused, option
from seatrial.engine.base import MAX_BYTES_PER_CALL, EngineError, Outcome, ProcessTime
from seatrial.engine.ior import Ior, complaints, parse_summary
from seatrial.model.units import GIB, KIB, MIB
from seatrial.workload.access import file_name
from seatrial.workload.registry import kind_of
from seatrial.workload.reuse import file_reuse
from transcript import transcripts

TRANSCRIPTS = transcripts('ior')

SFWA_RANDOM = SFWA.changed(order='random')
DIRECT = '--posix.odirect'


def through(interface):
    return lambda workload, collective=False: workload.changed(interface=interface, collective=collective)


mpiio, hdf5, netcdf = map(through, ('mpiio', 'hdf5', 'netcdf'))
point = functools.partial(access_point, transfers=64)


def both(workloads):
    """The write and the read of each."""
    return {f'{name}-{phase}': (phase, point(at)) for name, at in workloads.items() for phase in ('write', 'read')}


FORMS = {
    **both({'mfwa': MFWA, 'mfwa-random': MFWA_RANDOM, 'sfsa-contiguous': SFSA, 'sfsa-strided': SFSA_STRIDED}),
    'sfwa-read': ('read', point(SFWA)),
    'mpiio-strided-write': ('write', point(mpiio(SFSA_STRIDED))),
    **both({'mpiio-collective': mpiio(SFSA_STRIDED, collective=True)}),
}
GOOD = {
    **{f'one-{name}': form for name, form in FORMS.items()},
    **{f'one-main-{name}': form for name, form in FORMS.items()},
    **both({'one-hdf5-mfwa': hdf5(MFWA), 'one-hdf5-sfsa': hdf5(SFSA)}),
    'one-hdf5-collective-write': ('write', point(hdf5(SFSA, collective=True))),
    **both({'one-netcdf-sfsa': netcdf(SFSA), 'one-netcdf-strided': netcdf(SFSA_STRIDED)}),
    **both({'one-netcdf-collective': netcdf(SFSA_STRIDED, collective=True)}),
    'two-nodes-mfwa-read': ('read', point(nodes=2)),
    'two-nodes-netcdf-read': ('read', point(netcdf(SFSA), nodes=2)),
    'over-existing': ('write', point()),
    'one-mpiio-mfwa-write': ('write', point(mpiio(MFWA))),
}

# Why the others are refused when this was planned: two tasks, each writing 64 x 64 KiB into its own file.
PLANNED = ('write', point())
REFUSED = {
    **dict.fromkeys(('ext4-fpp-n1', 'main-txt'), ('T8', '')),  # a table for people
    **dict.fromkeys(
        ('fail-corrupt', 'fail-corrupt-txt', 'wrap-corrupt-n1', 'wrap-corrupt256', 'wrap-ior-main-c128'),
        ('T8', 'WARNING: Incorrect data on read'),
    ),
    **dict.fromkeys(('wrap128xfer-ior', 'wrap-ior-3.3-c128'), ('T8', 'exited with 0')),
    'fail-corrupt-werr': ('T8', 'Incorrect data on read'),
    'fail-N-too-many': ('T9', 'More tasks requested (4) than available (2)'),
    'dryrun': ('E1', 'exited with 1'),
    'dummy': ('T8', 'DUMMY initialized'),
    **dict.fromkeys(
        ('enospc-ior-3.3', 'enospc-ior-main', 'fail-enospc', 'fail-enospc-txt'), ('E1', 'No space left on device')
    ),
    **dict.fromkeys(('fail-enospc-mpiio', 'fail-eacces', 'fail-nopath'), ('E1', 'exited with 255')),
    **dict.fromkeys(('fail-missing-read', 'fail-missing-read-mpiio'), ('E1', 'exited with 255')),
    **dict.fromkeys(('fail-badapi', 'hdf5-not-built'), ('E1', 'Unrecognized I/O API')),
    'netcdf-4gib': ('E1', 'NetCDF: Operation not allowed in data mode'),
    'fail-badflag': ('E1', 'Error invalid argument: --nosuch'),
    'fail-badformat': ('E1', 'Unknown summaryFormat'),
    'fail-badopt': ('E1', 'Unrecognized parameter'),
    'fail-badsize': ('E1', 'block size must be a multiple of access size'),
    **dict.fromkeys(('fail-block-lt-xfer', 'fail-block-xfer'), ('E1', 'block size must be a multiple of transfer')),
    'fail-missing-read-txt': ('E1', 'No such file or directory'),
    'fail-notwritable': ('E1', 'No such file or directory'),
    'fail-summaryfile': ('E1', 'Cannot open output file for writes'),
    'kill-INT': ('E1', 'Interrupt (signal 2)'),
    **dict.fromkeys(('kill-TERM', 'kill-mpiexec', 'kill-timeout'), ('E1', 'Terminated (signal 15)')),
    'kill-sigxfsz': ('E1', 'File size limit exceeded (signal 25)'),
    'stonewall-D1-wearout': ('E1', 'exited with 255'),
    **dict.fromkeys(('sw-noweo-txt', 'sw-r', 'sw-w', 'sw-w-txt'), ('T1', 'Expected aggregate file size')),
    'werr-sw': ('E1', 'Expected aggregate file size'),
    'phantom-mpiio-read': ('T1', 'Expected aggregate file size'),
    **dict.fromkeys(('wrong-world', 'singletons'), ('T9', '1 tasks instead of 2')),
    'v33-refuses': ('E1', 'Unrecognized parameter'),
    # Runs of something else, whole and without a complaint.
    **dict.fromkeys(('json-shared-fsync-i4', 'mpiio-coll', 'mpiio-ind', 'random-z'), ('P15', '')),
    **dict.fromkeys(('reorder-C', 'reorder-Z', 'verify-W', 'verify-l-R'), ('P15', '')),
    'v33-json': ('T7', ''),
}


def text(name, section):
    return TRANSCRIPTS[name].get(section)


def outcome(name, stdout=None, summary=None, ranks=None, status=None, stderr=None):
    """The outcome of this transcript, with these texts and this status in place of its own."""
    if status is None:
        status = int((text(name, 'rc') or '124').strip().rsplit('=')[-1].rsplit(' ')[-1])
    return Outcome(
        (ProcessTime('node1', 0.0, 1.0, status),),
        ((text(name, 'out') or '') if stdout is None else stdout,),
        ((text(name, 'err') or '') if stderr is None else stderr,),
        (text(name, 'summary.json') if summary is None else summary, text(name, 'csv') if ranks is None else ranks),
    )


def measure(name, how=None, seen=None, **instead):
    phase, at = how or GOOD.get(name, PLANNED)
    return Ior().measure(phase, at, command_of(phase, at), seen or outcome(name, **instead))


refusal = measuring.refused_by(measure)


def changed(name, **fields):
    """The summary of a transcript with these values, by the name that IOR gives them, wherever they stand."""
    whole = text(name, 'summary.json')
    for key, value in fields.items():
        whole, count = re.subn(rf'"{key}": [^,\n]+', f'"{key}": {value}', whole)
        assert count, key
    return whole


def command_of(phase, at, raw='/records/1', seed=7):
    return Ior().command('ior', phase, at, raw, seed)


def argv_of(*launch, **how):
    return command_of(*launch, **how).argvs[0]


# The command lines


@pytest.mark.parametrize(
    ('workload', 'block', 'segments'),
    [(MFWA, 32 * MIB, 1), (SFSA, 32 * MIB, 1), (SFSA_STRIDED, MIB, 32)],
    ids=['a file a task', 'contiguous', 'strided'],
)
def test_a_task_is_one_block_or_a_block_a_transfer(workload, block, segments):
    command = command_of('write', point(workload, transfers=32, transfer_size=MIB))
    (argv,) = command.argvs
    assert ('-F' in argv, command.links) == (workload == MFWA, ())
    assert (option(argv, '-b'), option(argv, '-t'), option(argv, '-s')) == (str(block), str(MIB), str(segments))


def test_the_whole_of_one_file_is_read_over_a_link_a_task_and_never_written():
    command = command_of('read', point(SFWA, tasks=3))
    assert '-F' in command.argvs[0]
    assert command.links == (('data.00000000', 'data'), ('data.00000001', 'data'), ('data.00000002', 'data'))
    with pytest.raises(ValueError, match='whole of one file'):
        argv_of('write', point(SFWA))


@pytest.mark.parametrize('form', FORMS.values(), ids=FORMS)
def test_one_launch_does_one_operation_once_and_has_no_other_option(form):
    argv = argv_of(*form)
    assert {'-w', '-r', '-e'} & set(argv) == ({'-w', '-e'} if form[0] == 'write' else {'-r'})
    assert '-k' in argv and option(argv, '-i') == '1'
    assert not {'-v', '-vv', '-vvv', '-D', DIRECT, '-E'} & set(argv)


def test_direct_access_is_read_from_the_command_line_that_ior_was_given():
    summary_with = text('one-mfwa-write', 'summary.json').replace('"ior -a POSIX', f'"ior -a POSIX {DIRECT}')
    direct = ('write', point(MFWA.changed(direct=True)))
    assert DIRECT in argv_of(*direct)
    assert measure('one-mfwa-write', direct, summary=summary_with).direct is True
    assert_refused(refusal('one-mfwa-write', direct), 'P15', f'{DIRECT} was planned, and IOR ran without it')
    unplanned = refusal('one-mfwa-write', summary=summary_with)
    assert_refused(unplanned, 'P15', f'{DIRECT} was not planned, and IOR ran with it')


@pytest.mark.parametrize(
    ('workload', 'phase', 'nodes', 'shifted'),
    [
        (MFWA, 'read', 2, True),
        (MFWA, 'read', 1, False),
        (MFWA, 'write', 2, False),
        (SFWA, 'read', 2, False),
        (netcdf(SFSA), 'read', 2, False),
        (mpiio(SFSA), 'read', 2, True),
    ],
)
def test_a_read_on_several_nodes_is_shifted_by_one_node(workload, phase, nodes, shifted):
    at = point(workload, tasks=4, nodes=nodes)
    assert ('-C' in argv_of(phase, at)) is bool(Ior().reads_elsewhere(at, phase)) is shifted


def test_the_data_are_others_in_every_launch():
    tags = {option(argv_of('write', point(), raw, seed), '-G') for raw in ('/r/1', '/r/2') for seed in (1, 2)}
    assert len(tags) == 4


@given(st.integers(), st.sampled_from(['write', 'read']))
def test_the_seeds_are_numbers_that_ior_takes_as_they_are(seed, phase):
    argv = argv_of(phase, point(MFWA_RANDOM), seed=seed)
    order = next(word for word in argv if word.startswith('--random-offset-seed='))
    assert 0 < int(order.partition('=')[2]) < 2**30
    if phase == 'write':
        assert 0 < int(option(argv, '-G')) < 2**31


def opened(**fields):
    how = 'write', point(MFWA.changed(opening=True))
    return measure('one-mfwa-write', how, summary=changed('one-mfwa-write', **fields))


def test_the_share_of_opening_is_that_of_the_time_from_the_first_open_to_the_last():
    share = opened().metric('write_open_share')
    open_s = json.loads(text('one-mfwa-write', 'summary.json'))['tests'][0]['Results'][0]['openTime']
    assert share.value == pytest.approx(open_s / opened().seconds)
    assert (share.unit, share.better, float(share.figure)) == ('', 'lower', open_s)
    assert opened(openTime='0.0000').metric('write_open_share').value == 0


@pytest.mark.parametrize('open_s', ['0.1000', '-0.0010'])
def test_opening_takes_no_longer_than_all_of_it(open_s):
    assert_refused(measuring.refused_by(opened)(openTime=open_s), 'T1', f'{open_s} s of opening')


@pytest.mark.parametrize('raw', ['/a,b/1', '/a b/1', '/a#b/1', '/a\tb/1', '/a"b/1', '/a\\b/1', '/' + 'a' * 1000])
def test_a_path_that_ior_would_cut_short_is_refused(raw):
    with pytest.raises(EngineError, match='P11: IOR cannot write to /a'):
        argv_of('write', point(), raw)


@pytest.mark.parametrize(
    ('at', 'after'),
    [
        (point(transfers=129, transfer_size=MIB), '128 MiB'),
        (point(SFSA, tasks=4, transfers=320, transfer_size=MIB), '128 MiB'),
        (point(SFSA_STRIDED, tasks=4, transfers=33, transfer_size=MIB), '32 MiB'),
        (point(transfers=129, transfer_size=3 * MIB), '384 MiB'),
    ],
)
def test_data_begin_again_where_an_offset_comes_to_the_same_seed(at, after):
    assert f'begin again after {after}, and' in Ior().repeats(at)


@given(st.sampled_from([MFWA, SFSA_STRIDED]), st.integers(1, 5), st.sampled_from([MIB, 3 * MIB, 5 * MIB]), st.data())
def test_up_to_there_no_seed_of_a_task_comes_twice(workload, tasks, transfer_size, data):
    at = point(workload, tasks, transfers=data.draw(st.integers(1, 300)), transfer_size=transfer_size)
    step = transfer_size * (tasks if at.data.order == 'strided' else 1)
    seeds = {number * step % 2**27 for number in range(at.data.transfers)}
    assert (len(seeds) < at.data.transfers) == bool(Ior().repeats(at))


# What it cannot do


@pytest.mark.parametrize(
    'at',
    [
        *(point(form, tasks=40, nodes=40) for form in (MFWA, MFWA_RANDOM, SFSA, SFSA_STRIDED, SFWA, SFWA_RANDOM)),
        *(point(form, tasks=40, nodes=40) for form in (mpiio(SFSA, True), hdf5(MFWA), netcdf(SFSA_STRIDED))),
        point(netcdf(SFSA), transfer_size=MIB, transfers=4096),
        point(netcdf(SFSA_STRIDED), transfer_size=16 * MIB, transfers=128),
        point(transfer_size=MAX_BYTES_PER_CALL),
    ],
)
def test_it_can_do_the_classes_of_the_literature_up_to_its_limits(at):
    assert Ior().cannot(at) is None


@pytest.mark.parametrize(
    ('at', 'why'),
    [
        (point(SFSA_RANDOM), 'unequally'),
        (point(MFWA_RANDOM, transfers=1), 'single transfer'),
        (point(transfer_size=1001), 'multiples of 8'),
        (point(transfer_size=MAX_BYTES_PER_CALL + 8), 'one call'),
        (point(transfer_size=2 * GIB), 'one call'),
        *((point(hdf5(form)), 'through HDF5 in any other way') for form in (SFSA_STRIDED, MFWA_RANDOM, SFWA)),
        *((point(netcdf(form)), 'through NetCDF in any other way') for form in (MFWA, SFWA, SFSA_RANDOM)),
        (point(netcdf(SFSA), transfer_size=MIB, transfers=4097), 'cannot write NetCDF to 4 GiB past'),
        (point(netcdf(SFSA_STRIDED), transfer_size=16 * MIB, transfers=129), 'cannot write NetCDF to 4 GiB past'),
        *((point(mpiio(form, collective=True)), 'collectively') for form in (MFWA, SFWA)),
        (point(MFWA.changed(direct=True), transfer_size=6 * KIB), 'only multiples of 4096'),
    ],
)
def test_it_says_what_it_cannot_do_exactly(at, why):
    assert why in Ior().cannot(at)


# Genuine outputs


@pytest.mark.parametrize('name', GOOD)
def test_figures_are_those_of_the_summary_to_the_last_digit_and_the_times_of_tasks_those_of_the_rows(name):
    summary, measured = text(name, 'summary.json'), measure(name)
    printed, seconds = (re.search(rf'"{key}": ([\d.]+)', summary).group(1) for key in ('bwMiB', 'totalTime'))
    (metric,) = measured.metrics
    assert (metric.name, metric.unit, metric.figure) == (GOOD[name][0], 'B/s', printed)
    assert f'{metric.value / MIB:.4f}' == printed
    assert abs(Decimal(measured.seconds) - Decimal(seconds)) <= Decimal('0.0000500001')
    phase, at = GOOD[name]
    rows = [line.split(',') for line in text(name, 'csv').splitlines()[1:]]
    assert (measured.bytes_moved, measured.world_size) == (at.bytes_moved, at.tasks)
    tasks = [(task.rank, task.bytes_moved, task.seconds) for task in measured.tasks]
    assert tasks == [(rank, at.data.bytes_per_task, float(row[2])) for rank, row in enumerate(rows)]
    assert (measured.fsync, measured.direct) == (phase == 'write', False)


UNKNOWN = ((), ('n1',), ('n1', 'n1'), ('n1', 'n2', 'n3'))


@pytest.mark.parametrize(
    ('name', 'hosts', 'known', 'of_tasks'),
    [
        ('one-mfwa-read', (), ('vm',), ('vm', 'vm')),
        ('two-nodes-mfwa-read', ('n1', 'n2'), ('n1', 'n2'), ('n1', 'n2')),
        ('two-nodes-mfwa-read', ('n2', 'n1'), ('n2', 'n1'), ('n2', 'n1')),
        *(('two-nodes-mfwa-read', hosts, ('vm', 'unnamed-2'), ('', '')) for hosts in UNKNOWN),
    ],
)
def test_a_rank_is_on_the_host_that_it_names_where_ior_has_counted_as_many(name, hosts, known, of_tasks):
    measured = measure(name, seen=outcome(name)._replace(hosts=hosts))
    assert (measured.hosts, tuple(task.host for task in measured.tasks)) == (known, of_tasks)


@pytest.mark.parametrize('name', REFUSED)
def test_a_failure_is_refused_with_its_rule_and_reason(name):
    assert_refused(refusal(name, ranks=text('one-mfwa-write', 'csv')), *REFUSED[name])


# Cut short, and tampered with


@pytest.mark.parametrize('name', ['one-mfwa-write', 'two-nodes-netcdf-read'])
def test_cut_after_any_line_summary_and_ranks_are_refused_and_an_output_changes_no_measurement(name):
    for cut in measuring.cuts(text(name, 'summary.json')):
        with pytest.raises(EngineError, match='T8'):
            parse_summary(cut)
    for cut in measuring.cuts(text(name, 'csv')):
        assert refusal(name, ranks=cut).rule in {'T8', 'T9'}
    assert all(measure(name, stdout=cut) == measure(name) for cut in measuring.cuts(text(name, 'out')))


@pytest.mark.parametrize('name', sorted({*TRANSCRIPTS} - {*GOOD}))
def test_what_is_refused_stays_refused_when_its_output_is_cut(name):
    for cut in measuring.cuts(text(name, 'out'), 20):
        refusal(name, stdout=cut)


@pytest.mark.parametrize('name', sorted(name for name, (rule, _) in REFUSED.items() if rule == 'E1'))
def test_the_exit_status_decides_when_the_explanation_is_lost(name):
    summary, ranks = text('one-mfwa-write', 'summary.json'), text('one-mfwa-write', 'csv')
    assert refusal(name, stdout='', summary=summary, ranks=ranks).rule == 'E1'
    assert 'died of signal 9' in refusal(name, status=-9).sentence


@pytest.mark.parametrize(
    ('fields', 'rule', 'words'),
    [
        ({'xsizeMiB': '4.0000'}, 'T1', 'moved 4.0000 MiB where 8 MiB'),
        ({'xsizeMiB': '8.0001'}, 'T1', 'moved 8.0001 MiB'),
        ({'bwMiB': '29658.0000', 'bwMeanMIB': '29658.0000'}, 'T1', 'reports 29658.0000 MiB/s'),
        ({'bwMeanMIB': '1.0000'}, 'T1', 'a mean of 1.0000'),
        ({'totalTime': '9.0000'}, 'T1', 'in 9.0000 s'),
        ({'MeanTime': '9.0000'}, 'T1', 'a mean time of s 9.0000, where it is 0.0'),
        ({'bwMaxMIB': '1.0000'}, 'T1', 'a maximum of MiB/s 1.0000, where it is '),
        ({'bwMinMIB': '1.0000'}, 'T1', 'a minimum of MiB/s 1.0000, where it is '),
        ({'bwStdMIB': '1.0000'}, 'T1', 'a deviation of 1.0000, where it is 0'),
        ({'numTasks': '4'}, 'T1', 'reports tasks 4, where it is 2'),
        ({'blockKiB': '64.0000'}, 'T1', 'a block of 64.0000 KiB, where it is 4096 KiB'),
        ({'xferKiB': '1.0000'}, 'T1', 'a transfer of 1.0000 KiB, where it is 64 KiB'),
        ({'iops': '1.0000'}, 'T1', 'reports 1.0000 transfers a second for 128 in '),
        ({'totalTime': '-1.0000'}, 'T12', 'clock was set'),
        ({'bwMiB': '"inf"', 'bwMeanMIB': '"inf"', 'totalTime': '0.0000'}, 'T12', 'too short to measure'),
        ({'bwMiB': '0.0000', 'bwMeanMIB': '0.0000'}, 'T12', 'too short to measure'),
        ({'deadlineForStonewall': '1'}, 'T1', 'stonewall of 1 s'),
        ({'tasks': '1'}, 'T9', '1 tasks instead of 2'),
        ({'nodes': '2'}, 'T10', 'IOR saw 2 nodes'),
        ({'clients per node': '1'}, 'T10', '1 tasks on the first'),
        ({'fsync': '0'}, 'P15', 'fsync 0 instead of 1'),
        ({'transferSize': '1024'}, 'P15', 'transferSize 1024 instead of 65536'),
        ({'filePerProc': '0'}, 'P15', 'filePerProc 0 instead of 1'),
        ({'api': '"MPIIO"'}, 'P15', 'api MPIIO instead of POSIX'),
        ({'useExistingTestFile': '1'}, 'P15', 'useExistingTestFile'),
        ({'checkRead': '1'}, 'P15', 'checkRead'),
        ({'access': '"read"'}, 'P15', 'reports a read'),
        ({'access': '"remove"'}, 'P15', 'reports a remove'),
        ({'Version': '"3.3.0"'}, 'T7', 'IOR 3.3.0'),
        ({'bwMiB': '"fast"'}, 'T13', "no 'bwMiB'"),
        ({'bwMiB': 'NaN'}, 'T13', "no 'bwMiB'"),
        ({'bwMiB': '-nan'}, 'T8', 'damaged'),
        ({'tasks': 'true'}, 'T13', "no 'tasks'"),
    ],
)
def test_a_summary_with_other_values_is_refused(fields, rule, words):
    assert_refused(refusal('one-mfwa-write', summary=changed('one-mfwa-write', **fields)), rule, words)


@pytest.mark.parametrize('key', ['Version', 'tests', 'summary', 'Machine', 'bwMiB', 'keepFile', 'tasks', 'xsizeMiB'])
def test_a_summary_that_lacks_something_is_refused(key):
    summary = text('one-mfwa-write', 'summary.json').replace(f'"{key}"', '"other"')
    assert refusal('one-mfwa-write', summary=summary).rule == 'T13'
    unended = text('one-mfwa-write', 'summary.json').replace('"Finished"', '"Began again"')
    assert refusal('one-mfwa-write', summary=unended).rule == 'T8'


@pytest.mark.parametrize('key', ['tests', 'summary', 'Results'])
@pytest.mark.parametrize('times', [0, 2])
def test_a_second_or_missing_test_or_result_is_refused(key, times):
    data = json.loads(text('one-mfwa-write', 'summary.json'))
    holder = data['tests'][0] if key == 'Results' else data
    holder[key] *= times
    assert refusal('one-mfwa-write', summary=json.dumps(data)).rule == 'P15'


@pytest.mark.parametrize(
    ('old', 'new', 'rule', 'words'),
    [
        (r'(write,1),[^,]+', r'\1,5.0000000000e+00', 'T1', 'rank 1 took 5.0 s of'),
        ('write,1,', 'write,0,', 'T9', ''),
        ('write,1,.*', 'write,1,fast', 'T8', ''),
        *(
            (rf'(write,1(,[^,]+){{{n}}}),[^,\n]+', r'\1,9.0000000000e+00', 'T1', 'rank 1 reports 9 B/s')
            for n in (2, 3)
        ),
    ],
)
def test_ranks_that_cannot_be_are_refused(old, new, rule, words):
    assert_refused(refusal('one-mfwa-write', ranks=re.sub(old, new, text('one-mfwa-write', 'csv'))), rule, words)


def timed(seconds, longest_s, lived_s=100.0, nodes=2):
    """The refusal of a read of 8 MiB in so many seconds, whose longest rank took so long; None if it is valid."""
    at, name = ('read', point(nodes=nodes)), 'two-nodes-mfwa-read' if nodes == 2 else 'one-mfwa-read'
    figure = f'{8 / seconds:.4f}'
    figures = dict.fromkeys(('bwMiB', 'bwMaxMIB', 'bwMinMIB', 'bwMeanMIB'), figure)
    summary = changed(name, **figures, **dict.fromkeys(('totalTime', 'MeanTime'), f'{seconds:.4f}'))
    throughput = point().data.bytes_per_task / longest_s
    ranks = re.sub(r'(read,1),[^,]+,([^,]+),[^,]+', rf'\1,{longest_s:.10e},\2,{throughput:.10e}', text(name, 'csv'))
    seen = outcome(name, summary=summary, ranks=ranks)
    seen = seen._replace(processes=(ProcessTime('node1', 2.0, 2.0 + lived_s, 0),))
    try:
        measure(name, at, seen)
    except EngineError as error:
        return error
    return None


def test_a_region_that_only_the_clocks_of_two_nodes_make_long_is_refused():
    words = 'reports 3.470 s, but its longest rank took 0.470 s: the clocks of the nodes are up to 3.000 s apart'
    assert_refused(timed(3.47, 0.47), 'T1', words)
    assert timed(0.62, 0.5).rule == 'T1'
    little_apart, one_clock = ((0.06, 0.03), (0.59, 0.5), (20.0, 18.5)), timed(3.0, 2.0, nodes=1)
    assert [timed(*times) for times in little_apart] == [None] * 3 and one_clock is None


@pytest.mark.parametrize('nodes', [1, 2])
def test_more_seconds_than_the_launch_lived_are_refused(nodes):
    refused = timed(3.47, 3.46, lived_s=0.69, nodes=nodes)
    assert_refused(refused, 'T1', 'IOR reports 3.470 s in a launch of 0.690 s: a clock ')
    assert timed(3.47, 3.46, lived_s=3.48, nodes=nodes) is None


@pytest.mark.parametrize(('summary', 'ranks'), [(True, False), (False, True)])
def test_a_file_that_was_not_written_is_refused_by_its_name(summary, ranks):
    seen = outcome('one-mfwa-write')
    seen = seen._replace(outputs=(seen.outputs[0] if summary else None, seen.outputs[1] if ranks else None))
    error = refusal('one-mfwa-write', seen=seen)
    assert_refused(error, 'T8', f'/records/1.{"csv" if summary else "json"}')


def test_a_launch_of_several_processes_is_not_one_of_ior():
    seen = outcome('one-mfwa-write')
    assert refusal('one-mfwa-write', seen=seen._replace(processes=seen.processes * 2)).rule == 'T9'


@pytest.mark.parametrize(
    ('line', 'rule'),
    [
        ('WARNING: inconsistent file size by different tasks', 'T8'),
        ('WARNING: fsync(30) failed', 'T8'),
        ('WARNING: task 1, partial write(), 4096 of 65536 bytes at offset 0', 'T8'),
        ('WARNING: fsync() not supported in selected backend. Using value of 0.', 'T8'),
        ('WARNING: Stat() of aggregate file size      = 0', 'T1'),
        ('11/20/2026 23:35:10: Process 0: FAILED in DecodeDirective, Unknown summaryFormat', 'T8'),
        ('Writing output to /r/1.jsonWARNING: Incorrect data on read (1 errors found).', 'T8'),
        ('WARNING: incorrect data on read (128 errors found).', 'T8'),
    ],
)
def test_a_warning_beside_a_perfect_summary_is_refused(line, rule):
    assert_refused(refusal('one-mfwa-write', stdout=f'Writing output to /r/1.json\n{line}\n'), rule, line[-20:])


RULER = 74 * '-'


@pytest.mark.parametrize(
    'line',
    [
        'WARNING: The file "data.00000000" exists already and will be overwritten',
        'WARNING: The file "data.00000000" exists already and will be deleted',
        'WARNING: Backend returned error during statfs',
        f'{RULER}\nWARNING: There was an error initializing an OpenFabrics device.\n\n  Local host: n1\n{RULER}',
        'WARNING: There are more than one active ports on host n1',
        'WARNING: No preset parameters were found for the device that Open MPI detected',
    ],
)
def test_a_harmless_warning_is_no_complaint(line):
    assert complaints(line + '\n') == ()


@given(st.sampled_from(sorted(GOOD)), st.randoms(use_true_random=False))
def test_a_summary_with_a_hole_is_refused_or_has_the_same_values(name, rng: random.Random):
    whole = text(name, 'summary.json')
    start, end = sorted(rng.sample(range(len(whole) + 1), 2))
    end = rng.choice([end, min(end, start + 5)])
    try:
        seen = measure(name, summary=whole[:start] + whole[end:])
    except EngineError:
        return
    assert seen._replace(hosts=(), tasks=()) == measure(name)._replace(hosts=(), tasks=())


@given(st.text(), st.text(), st.text())
def test_any_text_is_refused_and_breaks_nothing(stdout, summary, ranks):
    refusal('one-mfwa-write', stdout=stdout, summary=summary, ranks=ranks)


# The program itself


def small(workload):
    return point(workload, transfers=8)


BOTH = {
    'MFWA': MFWA,
    'MFWA random': MFWA_RANDOM,
    'MFWA direct': MFWA.changed(direct=True),
    'SFSA contiguous': SFSA,
    'SFSA strided': SFSA_STRIDED,
    'MFWA MPI-IO': mpiio(MFWA),
    'SFSA strided MPI-IO': mpiio(SFSA_STRIDED),
}
TRACED = {f'{name} {phase}': (phase, small(at)) for name, at in BOTH.items() for phase in ('write', 'read')}
TRACED.update({'SFWA read': ('read', small(SFWA)), 'SFWA random read': ('read', small(SFWA_RANDOM))})


class Ran:
    """One launch of IOR under strace: its measurement, and the calls on the data files by rank, in order."""

    def __init__(self, scratch, phase, at, watch=True):
        self.data = scratch / 'data directory'
        self.data.mkdir(exist_ok=True)
        if phase == 'read':
            measuring.prepared(self.data, at)
        command = Ior().command(shutil.which('ior'), phase, at, str(scratch / 'raw'), 7)
        for name, target in command.links:
            (self.data / name).symlink_to(target)
        calls = 'lseek,read,write,pread64,pwrite64,fsync,unlink'
        under = ['sh', '-c', f'exec strace -y -s 0 -e trace={calls} -o "$0.$PMI_RANK" "$@"', str(scratch / 'trace')]
        outcome = measuring.launched(command, self.data, 'mpiexec', '-n', str(at.tasks), *(under if watch else []))
        self.measured = Ior().measure(phase, at, command, outcome)
        if watch:
            self.calls = [self._calls(scratch / f'trace.{rank}') for rank in range(at.tasks)]

    @staticmethod
    def _calls(trace):
        """(call, file, offset, bytes) for every call on a data file that moves bytes or syncs."""
        calls, position = [], {}
        for line in trace.read_text().splitlines():
            match = re.match(r'(\w+)\(\d+<[^>]*/(data[.\d]*)>(.*)\) += (\d+)', line)
            if match is None:
                continue
            call, file, arguments, result = match.group(1), match.group(2), match.group(3), int(match.group(4))
            if call == 'lseek':
                position[file] = result
            elif call in ('pread64', 'pwrite64'):
                calls.append((call[1:-2], file, int(arguments.rpartition(', ')[2]), result))
            elif call == 'fsync':
                calls.append((call, file, None, None))
            else:
                calls.append((call, file, position.get(file, 0), result))
                position[file] = position.get(file, 0) + result
        return calls


@pytest.mark.needs('ior', 'mpiexec', 'strace')
@pytest.mark.parametrize('name', TRACED)
def test_the_offsets_of_every_rank_are_those_of_the_lanl_rule(tmp_path, request, name):
    phase, at = TRACED[name]
    if at.data.direct:
        request.getfixturevalue('o_direct')
    ran = Ran(tmp_path, phase, at)
    assert ran.measured.direct == at.data.direct
    for rank, calls in enumerate(ran.calls):
        moved = [call for call in calls if call[0] == phase]
        rule = measuring.offset_rule(at, rank)
        offsets = [offset for _, _, offset, _ in moved]
        assert {(file, size) for _, file, _, size in moved} == {(file_name(at, rank), at.data.transfer_size)}
        assert (sorted(offsets) if at.data.order == 'random' else offsets) == rule
        assert (offsets != rule) == (at.data.order == 'random')


@pytest.mark.needs('ior', 'mpiexec', 'strace')
@pytest.mark.parametrize('workload', [MFWA, SFSA_STRIDED, mpiio(SFSA)], ids=['MFWA', 'SFSA', 'MPI-IO'])
def test_the_last_that_a_writing_rank_does_to_its_file_is_to_sync_it(tmp_path, workload):
    assert [calls[-1][0] for calls in Ran(tmp_path, 'write', small(workload)).calls] == ['fsync', 'fsync']


@pytest.mark.needs('ior', 'mpiexec', 'strace')
@pytest.mark.parametrize('workload', [MFWA, SFSA])
def test_a_read_on_two_nodes_reads_what_the_other_node_wrote(tmp_path, monkeypatch, workload):
    monkeypatch.setenv('IOR_FAKE_NODES', '2')
    monkeypatch.setenv('IOR_FAKE_TASK_PER_NODES', '1')
    at = small(workload)._replace(nodes=2, tasks_per_node=1)
    for rank, calls in enumerate(Ran(tmp_path, 'read', at).calls):
        moved = [(file, offset) for call, file, offset, _ in calls if call == 'read']
        other = 1 - rank
        assert moved == [(file_name(at, other), offset) for offset in measuring.offset_rule(at, other)]


@pytest.mark.needs('ior', 'mpiexec')
def test_links_and_their_file_outlive_a_read(tmp_path):
    at = small(SFWA)
    ran = Ran(tmp_path, 'read', at, watch=False)
    assert sorted(path.name for path in ran.data.iterdir()) == ['data', 'data.00000000', 'data.00000001']
    assert (ran.data / 'data').stat().st_size == at.data.bytes_per_task


@pytest.mark.needs('ior', 'mpiexec')
@pytest.mark.parametrize('workload', [MFWA, SFSA])
def test_what_is_written_does_not_compress_and_is_nowhere_the_same(tmp_path, workload):
    blocks, at = [], small(workload)
    for launch in ('first', 'second'):
        (tmp_path / launch).mkdir()
        ran = Ran(tmp_path / launch, 'write', at, watch=False)
        for file in kind_of('access').files(at):
            whole = (ran.data / file.name).read_bytes()
            blocks += [whole[start : start + 64 * KIB] for start in range(0, len(whole), 64 * KIB)]
    assert len(set(blocks)) == len(blocks) == 2 * 2 * at.data.transfers
    assert all(len(zlib.compress(block)) > 0.99 * len(block) for block in blocks)


@pytest.mark.needs('ior', 'mpiexec')
def test_files_of_an_earlier_launch_are_made_anew(tmp_path):
    Ran(tmp_path, 'write', small(MFWA), watch=False)
    before = {path.name: path.stat().st_size for path in (tmp_path / 'data directory').iterdir()}
    smaller = point(transfers=4)
    after = {path.name: path.stat().st_size for path in Ran(tmp_path, 'write', smaller, watch=False).data.iterdir()}
    assert after == dict.fromkeys(before, smaller.data.bytes_per_task)


def version_of(program, directory):
    argv = Ior().version_argv(str(program))
    return Ior().parse_version(subprocess.run(argv, cwd=directory, capture_output=True, text=True, timeout=60).stdout)


@pytest.mark.needs('ior')
def test_the_version_is_found_without_starting_the_program(tmp_path):
    copy = tmp_path / 'ior copy'
    copy.write_bytes(Path(shutil.which('ior')).read_bytes())  # not executable
    assert re.match(r'\d+\.\d+', version_of(copy, tmp_path))


@pytest.mark.needs('ior')
def test_the_version_behind_a_script_is_found_and_no_file_is_made(tmp_path):
    script = tmp_path / 'ior'
    script.write_text(f'#!/bin/sh\nexec {shutil.which("ior")} "$@"\n')
    script.chmod(0o755)
    assert version_of(script, tmp_path) == version_of(shutil.which('ior'), tmp_path)
    assert list(tmp_path.iterdir()) == [script]


def test_a_rewrite_keeps_the_files_and_is_read_as_the_write_that_it_is():
    at = access_point(file_reuse(('write', 'rewrite', 'read', 'reread')), transfers=32)
    measurement = measure('reuse-rewrite', ('rewrite', at))
    assert (measurement.metrics[0].name, measurement.fsync) == ('rewrite', True)
    assert [phase for phase in at.phases if '-E' in argv_of(phase, at)] == ['rewrite']
    assert 'useExistingTestFile 1 instead of 0' in refusal('reuse-rewrite', ('write', at)).sentence
    assert Ior().cannot(at._replace(phases=('write', 'update'))) == 'cannot read and write back in place'
