"""Genuine outputs of a Lustre 2.17, at least one of each form, are typed values, or refused with a typed error."""

import fnmatch
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measuring import cuts
from seatrial.engine import ior, mdtest
from seatrial.engine.failed_call import FailedCall, failed_calls
from seatrial.filesystem.lustre import params, targets
from seatrial.filesystem.lustre.params import NotUnderstood, parse_fields, parse_params, parse_states, parse_stats
from seatrial.filesystem.lustre.striping import DirectoryStriping, Striping, parse_getdirstripe, parse_getstripe
from seatrial.filesystem.lustre.targets import parse_check, parse_df, parse_interfaces, parse_quota, parse_targets
from transcript import lustre_step, transcripts

SAID = {name: text for steps in transcripts('lustre').values() for name, text in steps.items()}
ROOT = Path(__file__).resolve().parents[3]
CLIENT = 'ffff888105ab7000'
MIB = 1 << 20


class Shown(NamedTuple):
    """A fact of a part of a transcript, as parsed: from the line that begins with first to before stop."""

    number: str
    parse: Callable[[str], Any]
    fact: Callable[[Any], Any]
    value: Any
    first: str = ''
    stop: str = ''
    stream: str = 'stdout'


def part(text: str, first: str, stop: str) -> str:
    """From the first line that begins with `first` to the one before the next that begins with `stop`."""
    lines = text.splitlines(keepends=True)
    begin = next(n for n, line in enumerate(lines) if re.match(first, line)) if first else 0
    ends = (n for n in range(begin + 1, len(lines)) if stop and re.match(stop, lines[n]))
    return ''.join(lines[begin : next(ends, len(lines))])


def connections(text: str) -> dict[str, str]:
    """`lfs check` of which stdout and stderr were captured together."""
    lines = text.splitlines(keepends=True)
    errors = [line for line in lines if line.startswith('lfs check: ')]
    return parse_check(''.join(line for line in lines if line not in errors), ''.join(errors))


def traffic_in(text: str) -> dict[str, int]:
    return params.traffic(parse_params(text))


def parsed(parse: Callable[[str], Any], ending: str) -> Callable[[str], dict[str, Any]]:
    """Reads the parameters whose names have this ending with this parser."""

    def read(text: str) -> dict[str, Any]:
        return {param.name: parse(param.value) for param in parse_params(text) if param.name.endswith(ending)}

    return read


def refused_calls(text: str) -> list[FailedCall]:
    """The calls that failed, in each complaint of IOR."""
    return [call for complaint in ior.complaints(text) for call in failed_calls(complaint.line)]


def times(state: str) -> Callable[[Any], int]:
    """As a fact: how often all connections were in this state."""
    return lambda seen: [change.state for states in seen.values() for change in states.changes].count(state)


def field(name: str, key: str) -> Callable[[Any], Any]:
    """As a fact: one field of one parameter."""
    return lambda values: values[name][key]


def values(text: str) -> dict[str, str]:
    return {param.name: param.value for param in parse_params(text)}


def refused(error: str) -> str:
    """As a fact: the typed error, of which this is a part."""
    return f'NotUnderstood: {error}'


def canonical(got: Striping) -> str:
    return got.layout.canonical


def osts(spaces: Any) -> list[tuple[int, str]]:
    return [(row.number, row.flags) for row in spaces.of('OST')]


def same(value: Any) -> Any:
    return value


OSC = f'osc.lustre-OST0000-osc-{CLIENT}'
LLITE = f'llite.lustre-{CLIENT}'
IDLING_OST = 'lustre-OST0001-osc-ffff888109352000'
SHIFTED = 'osc.lustre-OST0003-osc-ffff888133664000'
ALL_OSTS = [(0, ''), (1, ''), (2, ''), (3, '')]
RECOVERY, JOBS = parsed(parse_fields, 'recovery_status'), parsed(params.parse_job_stats, 'job_stats')
STATS, STATES = parsed(parse_stats, ''), parsed(parse_states, '.state')
HISTOGRAMS, IMPORT = params.parse_histograms, params.parse_import
RPC, IMPORTS = parsed(HISTOGRAMS, 'rpc_stats'), parsed(IMPORT, '.import')
RECOVERING, NO_FILE = 'obdfilter.lustre-OST0003.recovery_status', 'No such file or directory'
SHOWN = [
    Shown('001', parse_df, same, refused('not the heading of lfs df'), 'UUID', 'real'),  # rounded sizes
    Shown('010', parse_df, lambda v: (osts(v), v.complete, v.rows[2].free), (ALL_OSTS, True, 5537792 * 1024)),
    Shown('012', parse_df, lambda v: v.rows[0].total, 1254426),
    Shown('013', parse_df, same, refused('not the heading of lfs df')),
    Shown('014', connections, lambda v: (len(v), any(v.values())), (15, False)),
    Shown('016', targets.parse_mounted, same, ('lustre', CLIENT, '/mnt/lustre'), '', 'ffff'),
    Shown('016', targets.parse_mounted, same, refused('not the name of a mount')),
    Shown('017', parse_targets, lambda v: [row.number for row in v if row.active], [0, 1, 2, 3], 'OBDS', 'M'),
    Shown('017', parse_targets, lambda v: v[1].uuid, 'lustre-MDT0001_UUID', 'MDTS', 'Pools'),
    Shown('017', targets.parse_pools, same, (), 'Pools', ''),
    Shown('019', targets.parse_version, same, '2.17.0', 'version', '2'),
    Shown('019', targets.parse_version, same, '2.17.0', 'lfs', 'lctl'),
    Shown('030', parse_getstripe, canonical, 'c1.S4M.o3'),
    Shown('032', parse_getstripe, canonical, 'c2.S64k.o1_2'),
    Shown('037', parse_getstripe, same, refused('not a line of a layout')),
    Shown('041', targets.parse_usage, lambda v: '--overstripe-count' in v, True, 'Create', ''),
    Shown('042', parse_getstripe, canonical, 'E4M.c1.S1M.o2.E64M.c2.S1M.E-1.c-1.S4M'),
    Shown('045', parse_getstripe, same, refused('3 components are announced, and 1 shown'), 'pfl', 'init'),
    Shown('047', parse_getstripe, canonical, 'E1M.Lmdt.E-1.c2.S4M', '', r'\d'),
    Shown('047', parse_getstripe, canonical, 'E1M.Lmdt.E-1.c2.S4M', 'lcm', ''),
    Shown('048', parse_getstripe, canonical, 'c1.S4M', '', '$'),
    Shown('048', parse_getstripe, canonical, 'c2.S2M.o1_2', 'ddef/f', 'stripe'),
    Shown('051', parse_getstripe, canonical, 'N2.E-1.c1.S4M.o3', 'flr', r'\d'),
    Shown('051', lambda text: parse_getstripe('flr\n' + ''.join(text.split('flr\n')[2:3])),
          lambda v: v.pieces[1].flags, ('init', 'stale'), '', 'CRC'),
    Shown('052', parse_getstripe, lambda v: [(p.mirror, *p.osts) for p in v.pieces], [(1, 3), (2, 0)], '', r'\d'),
    Shown('054', targets.parse_pools, same, ('flash',), 'Pools', 'Pool:'),
    Shown('054', targets.parse_pool, same, (0, 1), 'Pool:', 'pfile'),
    Shown('054', parse_getstripe, canonical, 'c2.S4M.o1_0.pflash', 'pfile', 'lmm_x|$'),
    Shown('060', parse_getdirstripe, same, DirectoryStriping(0, 1, (1,)), '', r'\d'),
    Shown('060', parse_getdirstripe, same, DirectoryStriping(0, 1, (1,)), r'lmv_stripe_count:  ', ''),
    Shown('061', parse_getdirstripe, same, DirectoryStriping(2, 0, (0, 1)), '', r'lmv_stripe_count:  '),
    Shown('061', parse_getdirstripe, lambda v: v.mdts, (0, 1), r'lmv_stripe_count:  ', 'dm2'),
    Shown('063', parse_getdirstripe, same, DirectoryStriping(2, -1), '', 'lmv_stripe_count: 0'),
    Shown('063', parse_getdirstripe, lambda v: v.mdt_count, 2, r'lmv_stripe_count: 2.*fnv', ''),
    Shown('064', parse_getdirstripe, same, refused('not a line of a layout')),
    Shown('066', parse_getstripe, lambda v: v.pieces[0].pattern, ('0',), r'stripe_count:  1$', 'lmv'),
    Shown('066', parse_getdirstripe, lambda v: v.mdts, (), 'lmv', 'lmv'),
    Shown('076', parse_getstripe, same, refused('no layout is shown')),
    Shown('077', parse_quota, lambda v: (v[0].bytes_used, v[0].inodes_used), (2048, 1), 'Disk', 'rc'),
    Shown('077', parse_df, lambda v: (len(v.rows), v.complete), (2, False), 'UUID', '/proc'),
    Shown('077', parsed(parse_stats, '.stats'), lambda v: v[f'{OSC}.stats'], {}, 'llite', 'rc'),
    Shown('100', STATS, lambda v: v[f'{LLITE}.stats']['open'].samples, 3),
    Shown('101', STATS, lambda v: v[f'{OSC}.stats']['read_bytes'].total, 4 * MIB),
    Shown('105', RPC, lambda v: v[f'{OSC}.rpc_stats']['pages per rpc'][-1], ('256', 4, 38)),
    Shown('105', parsed(HISTOGRAMS, 'brw_stats'), lambda v: list(v['osd-zfs.lustre-MDT0001.brw_stats'])[4],
          'disk I/O size'),
    Shown('105', parsed(HISTOGRAMS, 'extents_stats'), same, refused("not a line of a histogram: 'disabled'")),
    Shown('106', parsed(parse_fields, 'max_cached_mb'), field(f'{LLITE}.max_cached_mb', 'used_mb'), '17'),
    Shown('107', values, lambda v: (v[f'{OSC}.max_dirty_mb'], len(v)), ('993', 76)),
    Shown('108', IMPORTS, lambda v: v[f'{OSC}.import'][1:3], ('FULL', '2.17.0.0')),
    Shown('108', STATES, lambda v: times('IDLE')({OSC: v[f'{OSC}.state']}), 2),
    Shown('111', STATS, lambda v: v[f'{LLITE}.stats']['read_bytes'].total, 32 * MIB, 'llite', 'osc'),
    Shown('111', STATS, same, refused('the time of the counters is missing'), 'osc', '32'),
    Shown('450', traffic_in, lambda v: [v[f'{what}_bytes'] // MIB for what in ('read', 'write', 'called_write')],
          [24, 80, 80]),
    Shown('451', STATS, lambda v: v[f'{SHIFTED}.stats']['read_bytes'].unit, 'reqs'),
    Shown('460', parse_interfaces, same, ('10.0.2.15@tcp up, credits 256, peer_credits 8, drop_count 0',)),
    Shown('462', parsed(parse_states, 'state'), lambda v: v[f'osc.{IDLING_OST}.state'].current, 'IDLE', 'osc', 'osp'),
    Shown('463', parse_getstripe, lambda v: v.pieces[1].osts, (3, 0, 1)),
    Shown('465', parse_interfaces, same, refused('no interface of LNet')),
    Shown('112', JOBS, lambda v: v['obdfilter.lustre-OST0000.job_stats'], {}),
    Shown('114', JOBS, lambda v: next(iter(v['obdfilter.lustre-OST0001.job_stats'].values()))['write_bytes'][:2],
          (4, 'bytes'), 'obdf', r'obdfilter.lustre-OST0002'),
    Shown('114', JOBS, lambda v: list(v['mdt.lustre-MDT0000.job_stats'])[-1], '4242', 'mdt', 'mdt.lustre-MDT0001'),
    Shown('115', parse_params, same, refused('not a parameter')),
    Shown('118', parse_quota, lambda v: [row.inodes_used for row in v], [711], '', 'Disk'),
    Shown('118', parse_quota, same, refused('not the heading of a quota in KiB'), r'Disk.*tester', 'Disk'),
    Shown('118', parse_quota, len, 1, r'Disk.*prj', 'Display'),
    Shown('119', RECOVERY, field('mdt.lustre-MDT0000.recovery_status', 'status'), 'INACTIVE'),
    Shown('119', STATES, lambda v: [c.state for c in v['osp.lustre-OST0002-osc-MDT0001.state'].changes],
          ['CONNECTING', 'DISCONN', 'CONNECTING', 'FULL']),
    Shown('122', parse_fields, lambda v: (v['status'], v['success_count']), ('completed', '1'), 'name', 'name'),
    Shown('125', parsed(parse_fields, 'oi_scrub'), field('osd-zfs.lustre-OST0003.oi_scrub', 'inconsistent'), '0', '',
          'Started'),
    Shown('201', ior.complaints, len, 2),
    Shown('205', ior.complaints, same, ()),
    Shown('206', ior.complaints, lambda v: v[0].line, "ERROR: Unable to open '/mnt/lustre/ior/p3': File exists"),
    Shown('207', parse_getstripe, same, refused('pattern is missing'), 'lmm', ''),
    Shown('209', ior.parse_summary, lambda v: v.command_line[:10], 'ior -a POS', r'\{', ''),
    Shown('220', mdtest.parse_output, lambda v: v.version, '4.0.0', '', 'rc'),
    Shown('310', parse_df, osts, [(0, ''), (1, ''), (2, ''), (3, 'D')], 'UUID', 'UUID'),
    Shown('311', parse_df, lambda v: [row.takes_objects for row in v.of('OST')], [True, True, True, False], 'UUID',
          ' +\\d'),
    Shown('313', parse_df, lambda v: (v.rows[-1].flags, v.complete), ('R', False), 'UUID', 'rc'),
    Shown('320', parse_df, lambda v: (osts(v), v.complete), (ALL_OSTS[:3], False), 'UUID', 'Filesystem'),
    Shown('320', connections, lambda v: [*v.values()][-1], 'Transport endpoint is not connected (107)',
          'lustre-OST0000-osc', r'\['),
    Shown('321', RECOVERY, field(RECOVERING, 'time_remaining'), '150', 'obdfilter', 'rc'),
    Shown('412', parse_quota, lambda v: v[0].bytes_limit, 12288 * 1024, 'Disk', 'Disk'),
    Shown('412', parse_quota, lambda v: [row.bytes_used for row in v], [8198 * 1024] * 2, 'Disk', 'rc=1'),
    Shown('412', parse_quota, same, refused('no quota is shown'), r'Disk.*root', ''),
    Shown('530', refused_calls, lambda v: v[0][:2], ('ENOSPC', True)),
    Shown('541', refused_calls, same, []),
    Shown('544', lambda text: parse_check(text, ''), lambda v: list(v.values()), ['', '', '']),
    Shown('544', lambda text: parse_check('', text.partition('\n')[0] + '\n'), lambda v: list(v.values()),
          ['Input/output error (5)'], stream='stderr'),
    Shown('546', STATES, times('EVICTED'), 1),
    Shown('105', params.parse_param_errors, same, {'obdfilter/*/brw_stats': NO_FILE}, stream='stderr'),
    Shown('117', params.parse_param_errors, lambda v: v["osc/*/max_rpcs_in_flight'='0"],
          'Numerical result out of range', stream='stderr'),
    Shown('119', params.parse_param_errors, lambda v: set(v.values()), {'Invalid argument'}, stream='stderr'),
    Shown('600', targets.parse_usage, {'--component-end', '--overstripe-count', '--mirror-count', '-o'}.issubset,
          True, stream='stderr'),
    Shown('604', targets.parse_usage, same, (), stream='stderr'),
    Shown('609', targets.parse_usage, same, refused('not a usage text'), stream='stderr'),
]  # fmt: skip

OUTPUTS = [(row, part(getattr(lustre_step(row.number), row.stream), row.first, row.stop)) for row in SHOWN]
IDS = [f'{row.number}-{place}' for place, (row, _) in enumerate(OUTPUTS)]
TYPED = (NotUnderstood, ior.base.EngineError, mdtest.EngineError)


def read(parse: Callable[[str], Any], text: str) -> Any:
    """The value, or the typed error as a text."""
    try:
        return parse(text)
    except TYPED as error:
        return f'{type(error).__name__}: {error}'


NAMED = re.compile(r'\b(?:obdfilter|mdt|mdd|osd-\*|lod|osp|osc|mdc|llite)\.\*\.[a-z_*]+')


def test_the_parameters_named_in_messages_exist():
    files = [*ROOT.glob('docs/**/*.md'), *ROOT.glob('site-config/**/trial.yaml')]
    named = {name for file in files for name in NAMED.findall(file.read_text())}
    there = ''.join(transcripts('lustre')['10_counters'].values()).replace('=', ' ').split()
    there += (lustre_step('550').stdout + lustre_step('551').stdout).split()
    assert len(named) > 9 and [name for name in named if not fnmatch.filter(there, name)] == []


@pytest.mark.parametrize(('row', 'text'), OUTPUTS, ids=IDS)
def test_a_transcript_is_a_value_or_a_typed_error(row, text):
    value = read(row.parse, text)
    if str(row.value).startswith('NotUnderstood: '):
        assert str(value).startswith(row.value.partition(': ')[0]) and row.value.partition(': ')[2] in value
    else:
        assert row.fact(value) == row.value


@pytest.mark.parametrize(('row', 'text'), OUTPUTS, ids=IDS)
@pytest.mark.slow
def test_cut_short_after_any_line_it_is_a_value_or_a_typed_error(row, text):
    is_first = next(other for other in SHOWN if other.parse is row.parse) is row
    for cut in cuts(text, 10**6 if is_first else 20):
        read(row.parse, cut)


OF_LAYOUTS = (parse_getstripe, parse_getdirstripe)
LAYOUTS = [(row, text) for row, text in OUTPUTS if row.parse in OF_LAYOUTS and len(text) < 2500]


@pytest.mark.parametrize(('row', 'text'), LAYOUTS)
def test_a_layout_cut_short_anywhere_is_refused_or_is_the_whole(row, text):
    whole = read(row.parse, text)
    for length in range(len(text)):
        cut = read(row.parse, text[:length])
        assert isinstance(cut, str) or cut == whole or isinstance(whole, str)


def test_lfs_df_cut_short_anywhere_has_no_target_that_is_not_there():
    text = lustre_step('310').stdout
    text = part(text, 'UUID', 'UUID')
    whole = parse_df(text)
    for length in range(text.index('\n') + 1, len(text)):
        cut = parse_df(text[:length])
        assert cut.rows == whole.rows[: len(cut.rows)]
        assert not cut.complete or cut.rows == whole.rows


def test_what_a_wildcard_mixes_up_is_not_understood():
    with pytest.raises(NotUnderstood, match='OST0003.*contradicts itself'):
        params.check(parse_params(SAID['451_counters_by_a_wildcard.out']))
    params.check(parse_params(SAID['450_counters_of_a_user.out']))


def test_a_sum_whose_last_digit_lctl_leaves_out_is_not_understood():
    text = SAID['450_counters_of_a_user.out']
    with pytest.raises(NotUnderstood, match='last digit of a sum'):
        traffic_in(re.sub(r'(write_bytes .* \d+) \d+$', r'\1', text, flags=re.MULTILINE))


PARSERS = sorted({row.parse for row in SHOWN if row.parse.__module__.startswith('seatrial.filesystem')}, key=str)


@pytest.mark.parametrize('parse', [*PARSERS, parse_stats, parse_states, HISTOGRAMS, IMPORT])
@given(data=st.data())
def test_any_mixture_of_genuine_lines_is_a_value_or_a_typed_error(parse, data):
    lines = data.draw(st.lists(st.sampled_from(GENUINE_LINES) | st.text(), max_size=12))
    read(parse, ''.join(lines))


GENUINE_LINES = sorted({line for text in SAID.values() for line in text.splitlines(keepends=True)})


# Outputs of lfs that no transcript shows, in the form of the lines that its sources print (2.12 to 2.17)

HEAD = 'UUID                   1K-blocks        Used   Available Use%  Mounted on\n'
FIRST = 'lustre-OST0000_UUID      5542912        3072     5537792   1%  /mnt/lustre[OST:0]\n'
SUM = '\nfilesystem_summary:     22171648       12288    22151168   1%  /mnt/lustre\n\n'
QUOTA = """Disk quotas for usr tester (uid 1001):
     Filesystem  kbytes   quota   limit   grace   files   quota   limit   grace
    /mnt/lustre   {used}   1024    4096   {grace}       5     100     200   {files}
"""


@pytest.mark.parametrize(
    ('used', 'grace', 'files', 'left_over', 'exact'),
    [
        ('2048*', '6d23h59m', '-', (2048 * 1024, 195), True),
        ('2048*', 'none', '-', (0, 195), True),
        ('512', '-', 'none', (3584 * 1024, 0), True),
        ('[512]', '-', '-', (3584 * 1024, 195), False),
    ],
    ids=['in its grace', 'past its grace', 'files past theirs', 'with a target away'],
)
def test_a_soft_limit_counts_once_its_grace_is_over_and_a_bound_is_said(used, grace, files, left_over, exact):
    rows = parse_quota(QUOTA.format(used=used, grace=grace, files=files))
    assert (targets.left(rows), rows[0].exact) == (left_over, exact)


def test_a_target_that_is_not_connected_is_inactive_on_stdout():
    """do_target_check of liblustreapi.c."""
    device = f'lustre-OST0001-osc-{CLIENT}'
    text = f'lustre-OST0000-osc-{CLIENT} active.\n{device} inactive.\n'
    assert parse_check(text, '') == {f'lustre-OST0000-osc-{CLIENT}': '', device: 'inactive'}
    with pytest.raises(NotUnderstood):
        parse_check(f'{device} reactive.\n', '')


@pytest.mark.parametrize('kind', ['OST', 'MDT'])
def test_a_target_of_which_no_name_is_known_has_its_number(kind):
    """mntdf of lfs.c prints its kind and number where the servers gave no UUID."""
    spaces = parse_df(f'{HEAD}{FIRST}{kind}000a             : Input/output error\n{SUM}')
    assert spaces.complete and spaces.rows[1] == targets.Space(f'{kind}000a', kind, 10, fault='Input/output error')
    assert not spaces.rows[1].takes_objects and spaces.rows[0].free == 5537792 * 1024


@pytest.mark.parametrize('name', ['OST00', 'OST000a1', 'XST0001', 'ost0001'])
def test_text_that_is_not_a_target_is_refused(name):
    with pytest.raises(NotUnderstood):
        parse_df(f'{HEAD}{FIRST}{name}             : Input/output error\n{SUM}')


@pytest.mark.parametrize('behind', ['', ' /mnt/my lustre/trials'], ids=['2.17', 'before'])
def test_of_one_path_the_name_stands_alone_or_before_it(behind):
    assert targets.parse_mounted(f'my-fs-{CLIENT}{behind}\n') == targets.ClientMount('my-fs', CLIENT, behind.strip())


@pytest.mark.parametrize(
    ('parse', 'text'),
    [
        *((targets.parse_mounted, text) for text in ('', 'lustre\n', f'{CLIENT}\n', f'lustre-{CLIENT}')),
        (targets.parse_mounted, "cannot get name for `/x': No\n"),
        *((targets.parse_project, text) for text in ('', '  100 P /lustre', '  100 P /a\n  100 P /b\n')),
        (targets.parse_project, 'lfs: no such command\n'),
    ],
)
def test_what_is_no_name_of_a_mount_and_no_project_is_refused(parse, text):
    with pytest.raises(NotUnderstood):
        parse(text)


def before_217():
    """The genuine layout with data on the MDT, in the words of lov_dump_user_lmm_header before 2.17."""
    genuine = lustre_step('047').stdout.partition('4.4 MB/s\n')[2]
    text, number = re.subn(r'lmm_mdt_index:     0', 'lmm_stripe_offset: 0', genuine)
    assert number == 1
    return text


def test_cut_short_after_any_line_they_are_refused():
    lines = before_217().splitlines(keepends=True)
    for length in range(len(lines)):
        with pytest.raises(NotUnderstood):
            parse_getstripe(''.join(lines[:length]))


@pytest.mark.parametrize(
    ('text', 'number'), [('  100 P /lustre/my trials\n', 100), ('  100 - /l\n', 0), ('1234567 P /l\n', 1234567)]
)
def test_a_directory_has_the_project_that_it_hands_down(text, number):
    """lfs_project.c: number, P where new files take it over, name."""
    assert targets.parse_project(text) == number
