"""Which modules ReFrame loads in the jobs of a partition."""

import pytest

from seatrial.site.error import SiteError
from seatrial.site.modules import Module, Modules, modules_in


@pytest.fixture
def modules(tmp_path):
    """The modules of a partition s:p with these entries in the system, the partition and the environments."""

    def read(system=(), partition=(), environments=(), environs=('e',), name='lmod'):
        entry = {'name': 's', 'modules': list(system), 'modules_system': name}
        entry['partitions'] = [{'name': 'p', 'environs': list(environs), 'modules': list(partition)}]
        configuration = {'systems': [entry], 'environments': list(environments)}
        (tmp_path / 'settings.py').write_text(f'site_configuration = {configuration!r}\n')
        return modules_in(tmp_path / 'settings.py')['s:p']

    return read


def environment(*names, **keys):
    return {'name': 'e', 'modules': list(names), **keys}


def test_a_partition_without_any_has_none(modules):
    assert modules() == Modules('lmod', ())


def test_those_of_the_system_come_before_the_partitions_and_the_environments(modules):
    assert modules(['a'], ['b'], [environment('c', 'd')]).names == ('a', 'b', 'c', 'd')


def test_an_entry_may_say_where_this_module_is_looked_for(modules):
    found = modules(environments=[environment({'name': 'seatrial/ior', 'path': '/opt/modules'}, {'name': 'x'})])
    assert found == Modules('lmod', (Module('seatrial/ior', '/opt/modules'), Module('x', '')))


@pytest.mark.parametrize('mistake', ['7', "[{'path': '/x'}]", "'ior'", '[7]'])
def test_what_reframe_would_not_take_for_modules_is_said(tmp_path, mistake):
    partition = f"{{'name': 'p', 'environs': ['e'], 'modules': {mistake}}}"
    system = f"{{'name': 's', 'modules_system': 'lmod', 'partitions': [{partition}]}}"
    (tmp_path / 'settings.py').write_text(f"site_configuration = {{'systems': [{system}]}}\n")
    with pytest.raises(SiteError, match="settings.py: p: modules is not a list of names; write 'modules': "):
        modules_in(tmp_path / 'settings.py')


@pytest.mark.parametrize(
    ('targets', 'chosen'),
    [((['*'], ['s:p']), 'second'), ((['s'], ['*']), 'first'), ((['other'], ['s']), 'second')],
)
def test_of_environments_with_one_name_the_nearest_counts(modules, targets, chosen):
    first, second = (
        environment(name, target_systems=target) for name, target in zip(('first', 'second'), targets, strict=True)
    )
    assert modules(environments=[first, second]).names == (chosen,)


def test_the_environment_that_reframe_has_by_itself_loads_nothing(modules):
    assert modules(environments=[environment('c')], environs=['builtin']).names == ()
