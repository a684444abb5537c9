"""`seatrial list`: what would run where."""

import re
import shutil

import pytest

from seatrial.engine.fio.access import Fio
from seatrial.filesystem import mounts
from seatrial.filesystem.base import Behaviour
from seatrial.filesystem.mounts import Mount
from seatrial.filesystem.posix import Posix


@pytest.fixture
def row(on_site):
    """The words of a check's line."""

    def words(check, *arguments):
        done = on_site('list', *arguments)
        assert done.status == 0, done.err
        (line,) = [line for line in done.out.splitlines() if line.startswith(f'{check} ')]
        return line

    return words


def test_the_cases_are_counted_and_what_the_profile_is_good_for_is_said_first(on_site):
    first, second, *_ = on_site('list').out.splitlines()
    assert first.startswith('2 cases of site, profile smoke') and 'nothing about performance' in second


def test_a_check_is_shown_with_workload_place_points_and_engine(row):
    cells = r'MFWA \(file per process\) +local:default scratch \(default\) 1 node +3: 64KiB, 256KiB, 512KiB +fio'
    assert re.search(cells, row('Writes'))


def test_a_check_of_layouts_is_not_applicable_without_them_and_refused_by_itself(on_site, site, repository):
    shutil.copy(repository / 'checks' / 'layouts' / 'striping.py', site.checks / 'files')
    done = on_site('list', '--why')
    assert done.out.startswith('2 cases')
    assert 'SharedFile on local:default/scratch/default/1n: no layout: this file-system' in done.out
    done = on_site('list', 'StripingSharedFile')
    assert done.status == 64
    assert '1 not applicable: no layout: this file-system type has no layouts to set' in done.err


@pytest.mark.parametrize(
    ('kind', 'mounted', 'minutes'), [('posix', 'ext4', 2), ('posix', 'wekafs', 7), ('beegfs', 'beegfs', 17)]
)
@pytest.mark.parametrize('path', ['mnt', 'link', 'link/../mnt', 'far'])
def test_no_launch_is_killed_in_a_failover_of_its_mount(
    on_site, site, monkeypatch, tmp_path, kind, mounted, minutes, path
):
    (tmp_path / 'mnt').mkdir()
    (tmp_path / 'link').symlink_to('mnt')
    (tmp_path / 'a' / 'b').mkdir(parents=True)
    (tmp_path / 'near').symlink_to('a/b')
    (tmp_path / 'far').symlink_to('near/../../mnt')
    table = [Mount('/', 'ext4', '/dev/vda', 'rw'), Mount(f'{tmp_path}/mnt', mounted, 'servers', 'rw')]
    monkeypatch.setattr(mounts, 'read_mounts', lambda: table)
    site.change('type: posix, path: state/trials', f'type: {kind}, path: {tmp_path}/{path}')
    output = on_site('list').out
    assert f'At risk: 1 node at a time. A launch that hangs is killed, at the earliest after {minutes} min ' in output
    assert ('scratch: no layout: this file-system type has no layouts to set' in output) == (kind == 'posix')


@pytest.mark.parametrize(
    ('layout', 'words'),
    [
        ('num_dfiles: 2', 'layouts.few.num_dfiles: unknown key; write one of stripe_count,'),
        ('dist_name: nonsense', "few.dist_name: 'nonsense' is neither basic_dist nor twod_stripe; leave it out for"),
        ('stripe_count: 2, dist_name: basic_dist', 'few.stripe_count: basic_dist takes none; leave it out'),
    ],
)
def test_a_layout_that_orangefs_ignores_or_chokes_on_is_refused(on_site, site, layout, words):
    site.change('type: posix, path: state/trials', f'type: orangefs, path: /mnt, layouts: {{few: {{{layout}}}}}')
    done = on_site('list')
    assert (done.status, words in done.err) == (64, True), done.err


@pytest.mark.parametrize(('name', 'cases'), [('Reads', ['Reads']), ('files', ['Writes', 'Reads'])])
def test_only_the_checks_or_families_that_are_named_are_listed(on_site, site, name, cases):
    lines = on_site('list', name).out.splitlines()
    assert [line.split()[0] for line in lines if line.startswith(('Writes ', 'Reads '))] == cases
    assert not (site.folder / 'state').exists()


def test_a_missing_engine_is_said_with_the_reason(on_site, site, tmp_path):
    site.change(str(tmp_path / 'stubs' / 'fio'), '/no/such/fio')
    done = on_site('list', 'Writes')
    assert (done.status, 'none here' in done.out) == (0, True)
    assert re.search(r'no engine here for MFWA \(file per process\): fio: .*/no/such/fio', done.out)


def test_an_engine_that_the_run_does_not_take_on_this_type_is_not_shown(row, on_site, monkeypatch):
    monkeypatch.setattr(Fio, 'checks_close', False)
    monkeypatch.setattr(Posix, 'behaviour', lambda driver, path: Behaviour())
    assert 'none here' in row('Writes')
    assert 'fio: ignores what close(2) says, and a write may fail only then' in ' '.join(on_site('list').out.split())


def test_metadata_that_nothing_here_can_measure_is_said_with_the_reasons(on_site, site):
    site.add_metadata(engines='')
    text = ' '.join(on_site('list').out.split())
    assert 'no engine here for a metadata tree: fio: cannot work on directories (both)' in text
    assert 'no engine here for POSIX semantics: fio: measures data access, ' in text


@pytest.mark.parametrize(
    ('engine', 'measures'), [('dd', {'Reads': 'dd'}), ('posixops', {'Files': 'posixops', 'Guarantees': 'posixops'})]
)
def test_no_other_stands_in_for_an_engine_that_is_asked_for(site, row, engine, measures):
    site.add_metadata()
    lines = {check: row(check, f'--engine={engine}') for check in ('Writes', 'Reads', 'Files', 'Guarantees')}
    engines = {check: re.search(r' (\w+|none here) *$', line).group(1) for check, line in lines.items()}
    assert engines == {**dict.fromkeys(lines, 'none here'), **measures}


@pytest.mark.parametrize(
    ('access', 'expected'),
    [
        (['-p', 'io'], 'access of local:default lacks --exclusive and --no-requeue: '),
        (['--exclusive'], 'access of local:default lacks --no-requeue: '),
        (['--exclusive', '--no-requeue'], ''),
        (None, ''),  # no jobs of Slurm
    ],
)
def test_jobs_that_slurm_may_begin_anew_or_put_beside_others_are_pointed_out(on_site, site, access, expected):
    if access is not None:
        site.change("'scheduler': 'local'", f"'scheduler': 'squeue', 'access': {access}", 'settings.py')
    notes = [line for line in on_site('list').out.splitlines() if line.startswith('note: settings.py')]
    assert [expected in note for note in notes] == ([True] if expected else [])


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (['Writes', '--profile=acceptance'], 'narrowed to Writes: an acceptance of local has 1 more case, 0 of them'),
        (['--profile=acceptance'], None),
        (['Writes', '--profile=nightly'], None),
    ],
)
def test_an_acceptance_that_is_narrowed_says_what_it_leaves_out(on_site, arguments, words):
    lines = [line for line in on_site('list', *arguments).out.splitlines() if 'not whole' in line]
    assert [words in line for line in lines] == [True] * bool(words)


def test_a_schedule_whose_next_run_is_due_before_the_end_is_noted(on_site, site):
    site.change('bytes_per_task: 1MiB', 'bytes_per_task: 1MiB, budget: 13h')
    site.trial.write_text(f'{site.trial.read_text()}schedule: {{nightly: {{at: 02:00}}}}\n')
    done = on_site('list', '--profile=nightly')
    assert re.search(r'note: the budgets of the cases add up to 26(\.0)? h, but a run is due every 24', done.out)


def test_the_catalogue_is_listed_with_what_covers_it_and_without_a_site(on_site, site):
    (site.folder / 'trial.yaml').unlink()
    done = on_site('list', '--catalogue')
    words = r'^Dai et al. 2019 +FS-01 +LFSCK over inodes +no check: `seatrial lfsck`'
    assert done.status == 0 and re.search(words, done.out, re.MULTILINE)
    for tried in ('ext4 and Lustre 2.17; never GPFS, which nobody', 'an NFS server and one of OrangeFS 2.10'):
        assert tried in ' '.join(done.out.split())
