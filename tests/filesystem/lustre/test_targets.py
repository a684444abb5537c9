"""Outputs of lfs that no transcript shows, in the form of the lines that its sources print (2.12 to 2.17)."""

import re

import pytest

from lustre_stand import INSTANCE
from seatrial.filesystem.lustre import targets
from seatrial.filesystem.lustre.params import NotUnderstood
from seatrial.filesystem.lustre.striping import parse_getstripe
from seatrial.filesystem.lustre.targets import Space, parse_check, parse_df, parse_mounted, parse_project, parse_quota
from seatrial.model.units import KIB
from transcript import lustre_step

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
        ('2048*', '6d23h59m', '-', (2048 * KIB, 195), True),
        ('2048*', 'none', '-', (0, 195), True),
        ('512', '-', 'none', (3584 * KIB, 0), True),
        ('[512]', '-', '-', (3584 * KIB, 195), False),
    ],
    ids=['in its grace', 'past its grace', 'files past theirs', 'with a target away'],
)
def test_a_soft_limit_counts_once_its_grace_is_over_and_a_bound_is_said(used, grace, files, left_over, exact):
    rows = parse_quota(QUOTA.format(used=used, grace=grace, files=files))
    assert (targets.left(rows), rows[0].exact) == (left_over, exact)


def test_a_target_that_is_not_connected_is_inactive_on_stdout():
    """do_target_check of liblustreapi.c."""
    device = f'lustre-OST0001-osc-{INSTANCE}'
    text = f'lustre-OST0000-osc-{INSTANCE} active.\n{device} inactive.\n'
    assert parse_check(text, '') == {f'lustre-OST0000-osc-{INSTANCE}': '', device: 'inactive'}
    with pytest.raises(NotUnderstood):
        parse_check(f'{device} reactive.\n', '')


@pytest.mark.parametrize('kind', ['OST', 'MDT'])
def test_a_target_of_which_no_name_is_known_has_its_number(kind):
    """mntdf of lfs.c prints its kind and number where the servers gave no UUID."""
    spaces = parse_df(f'{HEAD}{FIRST}{kind}000a             : Input/output error\n{SUM}')
    assert spaces.complete and spaces.rows[1] == Space(f'{kind}000a', kind, 10, fault='Input/output error')
    assert not spaces.rows[1].takes_objects and spaces.rows[0].free == 5537792 * KIB


@pytest.mark.parametrize('name', ['OST00', 'OST000a1', 'XST0001', 'ost0001'])
def test_what_is_no_target_is_refused(name):
    with pytest.raises(NotUnderstood):
        parse_df(f'{HEAD}{FIRST}{name}             : Input/output error\n{SUM}')


@pytest.mark.parametrize('behind', ['', ' /mnt/my lustre/trials'], ids=['2.17', 'before'])
def test_of_one_path_the_name_stands_alone_or_before_it(behind):
    assert parse_mounted(f'my-fs-{INSTANCE}{behind}\n') == targets.ClientMount('my-fs', INSTANCE, behind.strip())


@pytest.mark.parametrize(
    ('parse', 'text'),
    [
        *((parse_mounted, text) for text in ('', 'lustre\n', f'{INSTANCE}\n', f'lustre-{INSTANCE}')),
        (parse_mounted, "cannot get name for `/x': No\n"),
        *((parse_project, text) for text in ('', '  100 P /lustre', '  100 P /a\n  100 P /b\n')),
        (parse_project, 'lfs: no such command\n'),
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
    assert parse_project(text) == number
