"""commands.txt: what was recorded of each launch, and nothing more."""

from seatrial.model.units import BINARY
from seatrial.report.session.commands import commands


def test_each_point_has_its_launches_as_they_ran_with_what_they_gave(make):
    session = make.varied()
    case = session.cases[0]
    launch = case.launches['32KiB'][0]
    lines = commands(session.cases, BINARY).splitlines()
    assert lines[0] == f'#### {case.plan.case.name}: bytes per transfer: 32 KiB'
    assert lines[1].startswith(f'# {launch.launch}; it gave ')
    assert lines[2:6] == [f'cd {launch.directory}', 'export LC_ALL=C', *launch.command, '']
    assert sum(line.startswith('#### ') for line in lines) == sum(len(one.launches) for one in session.cases)
