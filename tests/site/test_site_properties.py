"""Any change of trial.yaml or of modules in settings.py gives a site that answers, or one-line problems."""

import copy
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.site.error import SHOWN_PROBLEMS, SiteError
from seatrial.site.load import Module, Modules, load, modules_in
from seatrial.site.profile import PROFILES
from site_fixtures import places

SITES = Path(__file__).parents[2] / 'site-config'
EXAMPLE = SITES / 'example-lustre'
TEXT = (EXAMPLE / 'trial.yaml').read_text()
DOCUMENT = yaml.safe_load(TEXT)

ODD_TEXTS = (
    '', '~', '-1', '0', '010', '1e9', '.nan', '.inf', '9' * 30, '2026-11-20', '1:30', 'yes', '[]', '{}', '[[]]',
    '*a', '&a [*a]', '<<', '? [a]', '!!python/object:os.x y', '!!binary aGk=', '!!set {a}', '"\\0"', '"\\UFFFFFFFF"',
    '"\\uD800"', '"\\e[31m"', "'", '"', '#', '\t', ': ', '- ', '---', '...', '%YAML 1.1', '4GB', '-1KiB', '10 days',
    '../..', '/', '//', '$HOME', '~/x', 'a/b', 'a+b=c', 'lab:io:x', 'default', '[key]', '\ud800', '\x07', '\ufeff',
)  # fmt: skip
odd_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(ODD_TEXTS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


@pytest.fixture(scope='module')
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp('site')
    shutil.copy(EXAMPLE / 'settings.py', home)
    return home


def check_outcome(folder: Path, raw: bytes) -> None:
    (folder / 'trial.yaml').write_bytes(raw)
    try:
        site = load(folder)
    except SiteError as error:
        assert 1 <= len(error.problems) <= SHOWN_PROBLEMS
        for line in error.problems:
            assert line.isprintable()
            assert line.startswith('trial.yaml: ') or line == 'there are more problems; correct these first'
        return
    for profile in PROFILES:
        cases = site.cases('SharedFile', 'access', profile)
        assert len({case.slug for case in cases}) == len(cases)
        for case in cases:
            assert re.fullmatch(r'[A-Za-z0-9_.+=-]+', case.slug)
            assert site.target(case.file_system, case.layout).path.startswith('/')
            assert site.launcher(case.partition).kind
            overrides = site.overrides(case, 'access', profile)
            assert site.allocation(case, overrides).tasks_per_node >= 1


@st.composite
def changed_documents(draw: st.DrawFn) -> Any:
    """The example with one to three values replaced, taken out, renamed, doubled or exchanged."""
    document = copy.deepcopy(DOCUMENT)
    for _ in range(draw(st.integers(1, 3))):
        if not document:
            break
        container, key = draw(st.sampled_from(list(places(document))))
        change = draw(st.sampled_from(['replace', 'remove', 'add', 'exchange']))
        if change == 'remove':
            del container[key]
        elif change == 'exchange':
            other, place = draw(st.sampled_from(list(places(document))))
            container[key] = copy.deepcopy(other[place])
        elif change == 'add' and isinstance(container, dict):
            container[draw(st.text(max_size=8) | st.sampled_from(ODD_TEXTS))] = container.get(key)
        elif change == 'add':
            container.append(draw(odd_values))
        else:
            container[key] = draw(odd_values)
    return document


@st.composite
def changed_texts(draw: st.DrawFn) -> str:
    """The example's text with one to three slices taken out, doubled, or replaced by an odd text."""
    text = TEXT
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 40)))
        middle = draw(st.sampled_from(['', text[start:end] * 2, *ODD_TEXTS]))
        text = text[:start] + middle + text[end:]
    return text


@settings(max_examples=40)
@given(document=changed_documents())
def test_any_change_of_the_values_gives_a_site_or_problems(example, document):
    check_outcome(example, yaml.dump(document, allow_unicode=True).encode('utf-8', 'surrogatepass'))


@settings(max_examples=40)
@given(text=changed_texts())
def test_any_change_of_the_text_gives_a_site_or_problems(example, text):
    check_outcome(example, text.encode('utf-8', 'surrogatepass'))


@given(raw=st.text(st.characters(codec='utf-8')).map(str.encode) | st.binary())
def test_any_text_and_any_bytes_give_problems(example, raw):
    check_outcome(example, raw)


# The modules that ReFrame loads in the jobs of a partition


@pytest.fixture
def modules(tmp_path):
    """The modules of a partition s:p with these entries in the system, the partition and the environments."""

    def read(system=(), partition=(), environments=(), environs=('e',)):
        entry = {'name': 's', 'modules': list(system), 'modules_system': 'lmod'}
        entry['partitions'] = [{'name': 'p', 'environs': list(environs), 'modules': partition}]
        configuration = {'systems': [entry], 'environments': list(environments)}
        (tmp_path / 'settings.py').write_text(f'site_configuration = {configuration!r}\n')
        return modules_in(tmp_path / 'settings.py')['s:p']

    return read


def environment(*names, **keys):
    return {'name': 'e', 'modules': list(names), **keys}


def test_a_partition_without_modules_loads_none(modules):
    assert modules() == Modules('lmod', ())


def test_modules_load_in_the_order_system_partition_environments(modules):
    assert modules(['a'], ['b'], [environment('c', 'd')]).names == ('a', 'b', 'c', 'd')


def test_an_entry_may_give_the_directory_of_its_module(modules):
    loaded = modules(environments=[environment({'name': 'seatrial/ior', 'path': '/opt/modules'}, {'name': 'x'})])
    assert loaded == Modules('lmod', (Module('seatrial/ior', '/opt/modules'), Module('x', '')))


@pytest.mark.parametrize('mistake', [7, [{'path': '/x'}], 'ior', [7]])
def test_modules_that_reframe_would_not_accept_are_reported(modules, mistake):
    with pytest.raises(SiteError, match="settings.py: p: modules is not a list of names; write 'modules': "):
        modules(partition=mistake)


@pytest.mark.parametrize(
    ('targets', 'chosen'), [((['*'], ['s:p']), 'second'), ((['s'], ['*']), 'first'), ((['other'], ['s']), 'second')]
)
def test_of_environments_with_the_same_name_the_most_specific_one_counts(modules, targets, chosen):
    first, second = environment('first', target_systems=targets[0]), environment('second', target_systems=targets[1])
    assert modules(environments=[first, second]).names == (chosen,)


def test_the_builtin_environment_of_reframe_loads_nothing(modules):
    assert modules(environments=[environment('c')], environs=['builtin']).names == ()
