"""`seatrial lfsck` on runs that are a genuine one with other figures."""

import re

import pytest
from click.testing import CliRunner

from seatrial.cli.main import main
from seatrial.model.telemetry import ServerLook, line_of
from transcript import lustre_step

DRY = lustre_step('520').stdout
DRY = DRY[DRY.index('mdd.') :]
OUT = lustre_step('123').stdout
ALL = OUT[OUT.index('mdd.') :].replace('param: all_targets,orphan', 'param: dryrun,all_targets')


def run_of(seconds: int, inodes: int, types: tuple[str, ...] = ('namespace', 'layout'), text: str = ALL) -> str:
    """A run that took so long over so many inodes, most of it in its first phase."""
    text = re.sub(r'latest_start_time: \d+', 'latest_start_time: 1000', text)
    text = re.sub(r'last_completed_time: \d+', f'last_completed_time: {1000 + seconds}', text)
    text = re.sub(r'run_time_phase1: \d+', f'run_time_phase1: {seconds - 1}', text)
    text = re.sub(r'checked_phase1: \d+', f'checked_phase1: {inodes // 2}', text)
    blocks = re.findall(r'(?ms)^(?:mdd|obdfilter)\..+?^current_position: .*?\n', text)
    return ''.join(block for block in blocks if any(f'lfsck_{kind}=' in block.partition('\n')[0] for kind in types))


def judged(tmp_path, *texts: str, more: tuple[str, ...] = ()) -> tuple[int, str]:
    files = []
    for number, text in enumerate(texts):
        file = tmp_path / f'run{number}.txt'
        file.write_text(text)
        files.append(str(file))
    done = CliRunner().invoke(main, ['lfsck', *files, *more], standalone_mode=False)
    return done.return_value if done.exception is None else 64, done.output


FOUND = lustre_step('580').stdout
NOT_MADE = lustre_step('591').stdout
QUERY = OUT[OUT.rindex('layout_mdts_init') : OUT.index('mdd.')]


def changed(pattern: str, put: str, target: str, kind: str, text: str = ALL) -> str:
    """The run, of which one scan says something else."""
    at = re.search(rf'(?m)^\w+\.{target}\.lfsck_{kind}=$', text).start()
    return text[:at] + re.sub(pattern, put, text[at:], count=1)


def begun_again(text: str, kind: str) -> str:
    """The run, an hour after which this type alone was scanned again."""
    again = run_of(3600 + 100, 130, (kind,), text).replace('latest_start_time: 1000', 'latest_start_time: 4600')
    other = {'layout': 'namespace', 'namespace': 'layout'}[kind]
    return run_of(100, 130, (other,), text) + again


OLD = changed(r'latest_start_time: \d+', 'latest_start_time: 2', 'lustre-OST0003', 'layout')
OLD = changed(r'last_completed_time: \d+', 'last_completed_time: 5', 'lustre-OST0003', 'layout', OLD)
INIT = re.sub(r'(?ms)^mdd\S+lfsck_namespace=.+?(?=^(mdd|obd)\S+=$)', '', ALL)
NEVER = lustre_step('120').stdout
INIT += NEVER[NEVER.index('mdd.') : NEVER.index('mdd.lustre-MDT0000.lfsck_layout')]
WITHOUT = ALL[: ALL.index('obdfilter.lustre-OST0003')]


@pytest.mark.parametrize(
    ('text', 'code', 'named'),
    [
        (DRY, 0, ''),
        (FOUND, 10, 'run0.txt: inconsistent_dangling 25, expected 0'),
        (NOT_MADE, 10, 'repaired, but not repaired_dangling: files without their objects stay so'),
        (NOT_MADE.replace('all_targets', 'all_targets,create_ostobj'), 10, 'what it found it has repaired; start it'),
        (lustre_step('593').stdout, 10, 'run0.txt: linkea_repaired 7, expected 0'),
        (DRY.replace('success_count: ', 'shredded: 5\nsuccess_count: ', 1), 12, 'run0.txt: shredded 5: '),
        (DRY.replace('\nskipped: 0', '\nskipped: 4', 1), 12, 'run0.txt: skipped 4: '),
        (FOUND.replace('\nskipped: 0', '\nskipped: 4', 1), 10, 'skipped 4'),  # damage outranks it
        (ALL.replace('status: completed', 'status: scanning-phase1', 1), 13, 'is scanning-phase1; wait for'),
        (ALL.replace('status: completed', 'status: failed', 1), 13, 'is failed; see the log of its server'),
        (ALL.replace('status: completed', 'status: co-stopped', 1), 13, 'is co-stopped; somebody has stopped it'),
        (ALL.replace('status: completed', 'status: crashed', 1), 13, 'is crashed; its server went down'),
        (ALL.replace('status: completed', 'status: partial', 1), 13, 'is partial; a target took no part'),
        (ALL.replace('flags:', 'flags: crashed_lastid', 1), 10, 'crashed_lastid 1, expected 0'),
        (OLD, 13, 'layout of lustre-OST0003 had ended before this run began'),
        (begun_again(ALL, 'namespace'), 0, 'layout is not judged: its scans are of an earlier run'),
        (INIT, 0, 'namespace is not judged: it has never run'),
        (QUERY + ALL + lustre_step('010').stdout, 0, ''),
        (QUERY + WITHOUT, 13, 'lfsck_query counts 4 OSTs in layout, but the output of 3 is here'),
        (QUERY.replace('osts_failed: 0', 'osts_failed: 1', 1) + ALL, 13, 'layout is failed on 1 of 5 OSTs'),
        (WITHOUT + lustre_step('010').stdout, 13, 'the output of lustre-OST0003, which lfs df lists, is missing'),
    ],
)
def test_a_run_is_judged_by_its_counters_and_names_them(tmp_path, text, code, named):
    status, output = judged(tmp_path, text)
    assert (status, named in output) == (code, True), output


def test_the_relations_of_the_source_are_named(tmp_path):
    sizes = [run_of(seconds, seconds * 5000) for seconds in (80, 180, 280, 380, 500)]
    alone = (400, 'namespace'), (500, 'layout'), (130, 'layout')
    code, output = judged(tmp_path, *sizes, *(run_of(seconds, 2_500_000, (kind,)) for seconds, kind in alone))
    assert code == 0
    for test in ('FS-01', 'FS-05', 'FS-06'):
        assert any(line.startswith(test) and 'here it holds' in line for line in output.splitlines()), test


@pytest.mark.parametrize('text', ['', 'no output\n', run_of(100, 1000)[:3000]])
def test_what_is_no_run_is_refused(tmp_path, text):
    assert judged(tmp_path, text)[0] == 64


def monitored(tmp_path, *servers: str) -> str:
    """A file in which the first of these sends and receives as the source's MDS, and the others as its OSS."""
    file = tmp_path / 'telemetry.jsonl'
    packets = [(200.0, 100.0), *[(100.0 / (len(servers) - 1 or 1), 50.0)] * (len(servers) - 1)]
    with file.open('w') as stream:
        for second in range(990, 1110):
            for server, traffic in zip(servers, packets, strict=True):
                look = ServerLook(float(second), server, 1.0, 1, 0.3, 'sda', 0.0, 0.0, 1e6, 1e6, *traffic)
                stream.write(line_of(look))
    return str(file)


def test_monitors_say_what_the_servers_did_in_the_time_of_the_run(tmp_path):
    file = monitored(tmp_path, 'mds1', 'oss1', 'oss2')
    code, output = judged(tmp_path, run_of(100, 10**6), more=('--monitors', file, '--mds', 'mds1'))
    lines = [line for line in output.splitlines() if line.startswith(('FS-03', 'FS-04'))]
    assert code == 0 and len(lines) == 3
    assert ' 10,000 ' in output and 'FS-09' in output  # inodes in a second
    assert all('here it holds' in line for line in lines)


@pytest.mark.parametrize(
    ('servers', 'more'),
    [
        (('mds1', 'oss1'), '--mds=mds1'),
        (('mds1', 'oss1'), '--monitors={file}'),
        (('mds1', 'oss1'), '--monitors={file} --mds=no'),
        (('mds1',), '--monitors={file} --mds=mds1'),
        (('mds1', 'oss1'), '--monitors={file}.missing --mds=mds1'),
    ],
)
def test_monitors_that_do_not_show_the_mds_and_another_server_are_refused(tmp_path, servers, more):
    file = monitored(tmp_path, *servers)
    assert judged(tmp_path, run_of(100, 10**6), more=tuple(more.format(file=file).split()))[0] == 64
