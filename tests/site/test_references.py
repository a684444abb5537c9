"""references.yaml: an entry that ReFrame would skip is refused, with its place and a remedy."""

import copy
import re
from contextlib import suppress
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from seatrial.judge.references import BASELINE, Reference
from seatrial.model.metric import LOWER
from seatrial.model.plan import Case
from seatrial.model.units import MIB, UNITS, in_base
from seatrial.site.error import SHOWN_PROBLEMS, SiteError
from seatrial.site.references import INDEX, REFERENCES_FILE, Measured, load_references, references_file
from site_fixtures import places

FILE = """
$seatrial:
  SharedFile:
    nightly: {origin: baseline, date: 2026-11-20, engine: ior}
    acceptance: {origin: baseline, date: '2026-06-30'}
SharedFile:
  $index: [profile, $partition, file_system, layout, num_nodes]
  nightly:
    lab:io:
      scratch:
        default:
          1: {read@1MiB: [100.0, -0.1, 0.3, MiB/s], write@1MiB: [80, -0.1, 0.2, MiB/s]}
          16:
            read@1MiB: [1000.0, -0.2, 0.2, MiB/s]
  acceptance:
    lab:io:
      scratch:
        wide:
          16:
            read@1MiB: [2000.0, -0.05, 0.5, MiB/s]
"""
METRICS = [f'{phase}@{size}' for phase in ('write', 'read') for size in ('1MiB', '32MiB')]
CASE = ('lab:io', 'scratch', 'default', 1)
MEASURED = {
    'SharedFile': [
        Measured(profile, 'lab:io', 'scratch', layout, nodes, metric)
        for profile in ('nightly', 'acceptance')
        for layout in ('default', 'wide')
        for nodes in (1, 16)
        for metric in METRICS
    ],
    'FilePerTask': [Measured('nightly', *CASE, 'read@1MiB')],
    'FileMetadata': [
        Measured('nightly', *CASE, 'file_create@shared', 'op/s'),
        Measured('nightly', *CASE, 'p99@4KiB', 's', LOWER),
        Measured('nightly', *CASE, 'holding@two', ''),
    ],
    'Unused': [],
}


def loaded(folder, text, complete=True):
    """The references of a text."""
    (folder / REFERENCES_FILE).write_text(text)
    return load_references(folder / REFERENCES_FILE, MEASURED, complete)


@pytest.fixture
def read(tmp_path):
    return partial(loaded, tmp_path)


@pytest.fixture
def problems_of(read):
    """A function that gives the problems of FILE with the first `old` in it replaced by `new`."""

    def problems(old, new):
        assert old in FILE
        with pytest.raises(SiteError) as caught:
            read(FILE.replace(old, new, 1))
        return caught.value.problems

    return problems


def test_the_file_gives_every_reference_with_its_case_and_origin(read):
    case = Case('SharedFile', 'lab:io', 'scratch', 'default', 1)
    wide = Case('SharedFile', 'lab:io', 'scratch', 'wide', 16)
    references = read(FILE)
    assert list(references) == [('nightly', case), ('nightly', case._replace(nodes=16)), ('acceptance', wide)]
    assert references['nightly', case] == (
        Reference('read@1MiB', 100.0 * MIB, -0.1, 0.3, 'MiB/s', BASELINE, '2026-11-20', 'ior'),
        Reference('write@1MiB', 80.0 * MIB, -0.1, 0.2, 'MiB/s', BASELINE, '2026-11-20', 'ior'),
    )
    (of_any_engine,) = references['acceptance', wide]
    assert (of_any_engine.date, of_any_engine.engine) == ('2026-06-30', '')


@pytest.mark.parametrize(('words', 'of_sessions'), [('', False), (', sessions: [20261120T021500-0a1b2c]', True)])
def test_a_baseline_that_names_its_sessions_has_bounds_from_them(read, words, of_sessions):
    references = read(FILE.replace('engine: ior}', f'engine: ior{words}}}'))
    nightly = [of_case for (profile, _), of_case in references.items() if profile == 'nightly']
    assert {reference.of_sessions for of_case in nightly for reference in of_case} == {of_sessions}


def test_a_broken_link_is_refused_and_not_taken_for_a_missing_file(tmp_path):
    (tmp_path / REFERENCES_FILE).symlink_to('nowhere')
    file = references_file(tmp_path)
    assert file is not None
    with pytest.raises(SiteError, match='No such file'):
        load_references(file, MEASURED)


@pytest.mark.parametrize(
    ('old', 'new', 'problem'),
    [
        # names
        ('\nSharedFile:', '\nShardFile:', "'ShardFile' is not the class name of a check; did you mean 'SharedFile'?"),
        ('  nightly:\n', '  nightky:\n', "'nightky' is not a profile that is judged here; did you mean 'nightly'?"),
        ('  nightly:\n', '  smoke:\n', "'smoke' is not a profile that is judged here; write one of nightly, a"),
        ('  nightly:\n', '  paper:\n', 'SharedFile.paper: no trial of the profile paper has this check; add one'),
        ('SharedFile:\n  $index', 'Unused:\n  $index', 'no trial of the profile nightly has this check'),
        ('lab:io:', 'lab:oi:', "'lab:oi' is not a partition that is judged here; did you mean 'lab:io'?"),
        ('scratch:', 'home:', "'home' is not a file system that is judged here; write scratch"),
        ('default:', 'wdie:', "'wdie' is not a layout that is judged here; did you mean 'wide'?"),
        ('          1:', '          2:', '2 is not a node count that is judged here; write one of 1, 16'),
        ('read@1MiB', 'read@2MiB', "'read@2MiB' is not a metric that is judged here; did you mean"),
        ('read@1MiB', "'.*'", "'.*' is not a metric that is judged here; write one of write@1MiB"),
        ('          1:', "          '1':", "'1' is text, but ReFrame looks for a number; write 1, 16"),
        ('          1:', '          01:', "line 12: '01' is neither a name nor a whole number to ReFrame; put"),
        ('          1:', '          yes:', "'yes' is neither a name nor a whole number to ReFrame"),
        # the index
        ('[profile, $partition, file_system, layout, num_nodes]', '[num_nodes]', '$index: has other levels than'),
        ('  $index: [profile, $partition, file_system, layout, num_nodes]\n', '', '$index: has other levels than'),
        # the parts of a reference
        ('100.0,', '0.0,', '0 is not a reference; write a number above 0: 1000.0'),
        ('100.0,', 'fast,', "'fast' is not a reference"),
        ('100.0,', '1e3,', "'1e3' is not a reference"),
        ('100.0,', '.inf,', "'.inf' is another number to ReFrame, or none; write plain digits: 1000.0"),
        ('100.0,', '1.0e+999,', "'1.0e+999' is another number to ReFrame, or none"),
        ('-0.1,', '0.1,', '0.1 is not a lowest fraction; write -0.1 for 10 % less'),
        ('-0.1,', '-1,', '-1 is not a lowest fraction'),
        ('0.2, MiB/s]}', '-0.2, MiB/s]}', '-0.2 is not a highest fraction; write 0.1 for 10 % more, or null'),
        ('-0.1, 0.3,', 'null, null,', 'no figure can fail it; write -0.1'),
        ('-0.1, 0.3,', 'null, 0.1,', 'no figure can be too low; write -0.1 for at most 10 % less'),
        ('engine: ior}', 'tasks: 0}', "0 is not a number of tasks; write a whole number from 1"),
        ('engine: ior}', 'clients: 8}', "unknown key; write one of origin, date, engine, tasks, statistic"),
        ('engine: ior}', 'statistic: p1}', "'p1' is not a statistic; did you mean 'p10'?"),
        ('-0.1, 0.3,', '0, 0.3,', '0 is not a lowest fraction; write -0.1 for 10 % less'),
        ('-0.1, 0.3,', '-0.1, null,', 'a baseline needs the highest fraction too; write 0.3 for at most 30 % more'),
        ('100.0, -0.1', '1.0e+17, -0.1', '1e+17 MiB/s is more than any file system has; correct number or unit'),
        ('MiB/s', 'MBs', "'MBs' is not a unit of the metric; write MiB/s, GB/s or another one"),
        ('MiB/s', 'op/s', "'op/s' is not a unit of the metric; write MiB/s, GB/s or another one"),
        ('100.0,', '1.0e+308,', "'1e+308 MiB/s' is no finite number; write a smaller one"),
        ('0.3, MiB/s]', '0.3]', '3 parts where 4 are expected; write [1000.0, -0.1, null, MiB/s]'),
        ('MiB/s]', 'MiB/s, median]', '5 parts where 4 are expected'),
        ('[100.0, -0.1, 0.3, MiB/s]', '{a: 1}', 'a mapping where 4 are expected'),
        # their origin
        ('origin: baseline', 'origin: guess', "SharedFile.nightly.origin: 'guess' is not an origin; write baseline"),
        ('origin: baseline', 'origin: contract', 'nightly.origin: what was agreed belongs in another file'),
        ('origin: baseline, ', '', '$seatrial.SharedFile.nightly.origin: is missing; write origin: baseline'),
        (', date: 2026-11-20', '', '$seatrial.SharedFile.nightly.date: is missing; write date: 2026-11-20'),
        ('date: 2026-11-20', 'date: 20.11.2026', "'20.11.2026' is not a date; write year, month and day: 2026-11-20"),
        ('date: 2026-11-20', 'date: 2026-02-30', "line 4: '2026-02-30' is not a date"),
        ('engine: ior', 'engine: iro', "'iro' is not an engine; did you mean 'ior'?"),
        ('{origin: baseline, date: \'2026-06-30\'}', 'baseline', "expected a mapping, found 'baseline'"),
        ('    acceptance: {', '    paper: {', 'SharedFile.paper: is the origin of references that do not exist'),
        ('    acceptance: {', '    paper: {', 'the references of SharedFile.acceptance have no origin; write {'),
        ('  SharedFile:\n', '  Shared:\n', '$seatrial.SharedFile.nightly: the references of SharedFile'),
        # the file
        ('$seatrial:', 'seatrial:', "'seatrial' is not the class name of a check"),
        ('write@1MiB:', 'read@1MiB:', 'read@1MiB: is given twice, in lines 12 and 12; keep one'),
        ('100.0,', '!!float 1,', "the tag '!!float' in line 12 is not supported; remove it"),
        ('100.0,', '=,', "'=' has a meaning of its own in YAML; put it in quotes"),
    ],
)  # fmt: skip
def test_an_entry_that_reframe_would_skip_is_refused(problems_of, old, new, problem):
    lines = problems_of(old, new)
    assert any(problem in line for line in lines), lines
    assert all(line.startswith('references.yaml: ') and line.isprintable() for line in lines)


OTHERS = """
$seatrial:
  FileMetadata:
    nightly: {{origin: baseline, date: 2026-11-20, engine: mdtest}}
FileMetadata:
  $index: [profile, $partition, file_system, layout, num_nodes]
  nightly: {{lab:io: {{scratch: {{default: {{1: {{{metric}: [{parts}]}}}}}}}}}}
"""


@pytest.mark.parametrize(
    ('metric', 'written', 'base'),
    [
        ('file_create@shared', '40000.0, -0.1, 0.3, ops/s', 40_000.0),
        ('file_create@shared', '40.3, -0.1, 0.1, kIOPS', 40_300.0),
        ('p99@4KiB', '2.0, null, 0.5, ms', 0.002),
        ('p99@4KiB', '2.0, -0.5, 0.5, us', 2e-6),
        ('holding@two', "8, -0.1, null, ''", 8.0),
    ],
)
def test_a_reference_of_any_metric_is_in_a_unit_of_its_dimension(read, metric, written, base):
    ((reference,),) = read(OTHERS.format(metric=metric, parts=written)).values()
    assert (reference.metric, reference.value, reference.engine) == (metric, base, 'mdtest')


@pytest.mark.parametrize(
    ('statistic', 'metric', 'expected'),
    [
        ('p10', 'file_create@shared: [40000.0, -0.1, 0.3, op/s]', 'p10'),
        ('p10', 'p99@4KiB: [2.0, null, 0.5, ms]', 'p90'),
        ('minimum', 'p99@4KiB: [2.0, null, 0.5, ms]', 'maximum'),
        ('median', 'p99@4KiB: [2.0, null, 0.5, ms]', 'median'),
    ],
)
def test_a_statistic_counts_from_the_worse_end_of_the_metric(read, statistic, metric, expected):
    name, _, parts = metric.partition(': ')
    text = OTHERS.format(metric=name, parts=parts.strip('[]')).replace('engine: mdtest', f'statistic: {statistic}')
    ((reference,),) = read(text).values()
    assert reference.statistic == expected


@given(st.integers(1, 10**4), st.sampled_from(sorted(unit for unit, (base, _) in UNITS.items() if base == 'B/s')))
def test_a_reference_in_any_unit_is_in_its_base_unit_to_the_digit(tmp_path_factory, hundredths, unit):
    text = f'{hundredths // 100}.{hundredths % 100:02d}'
    changed = FILE.replace('[100.0, -0.1, 0.3, MiB/s]', f'[{text}, -0.1, 0.3, {unit}]')
    reference, *_ = next(iter(loaded(tmp_path_factory.mktemp('site'), changed).values()))
    assert (reference.unit, reference.value) == (unit, float(Fraction(text) * UNITS[unit][1]))


@pytest.mark.parametrize(
    ('metric', 'unit', 'right'),
    [('file_create@shared', 'B/s', 'op/s or kop/s'), ('p99@4KiB', 'IOPS', 's, ms or us'), ('holding@two', 's', "''")],
)
def test_a_unit_of_another_dimension_is_refused_with_the_right_ones(read, metric, unit, right):
    with pytest.raises(SiteError) as caught:
        read(OTHERS.format(metric=metric, parts=f'1.0, -0.1, 0.1, {unit}'))
    assert caught.value.problems == (
        f"references.yaml: FileMetadata.nightly.lab:io.scratch.default.1.{metric}[3]: '{unit}' is not a unit of the "
        f'metric; write {right}',
    )


@pytest.mark.parametrize(
    ('bounds', 'words'),
    [
        ('-0.1, null', '[2]: no figure can be too high; write 0.1 for at most 10 % more'),
        ('null, null', ': no figure can fail it; write 0.1 for at most 10 % more'),
        ('0, 0.1', '[1]: 0 is not a lowest fraction; write -0.1 for 10 % less'),
        ('null, -0.1', '[2]: -0.1 is not a highest fraction; write 0.1 for 10 % more, or null'),
    ],
)
def test_a_metric_of_which_lower_is_better_needs_an_upper_bound(read, bounds, words):
    with pytest.raises(SiteError) as caught:
        read(OTHERS.format(metric='p99@4KiB', parts=f'2.0, {bounds}, ms'))
    assert caught.value.problems[0].endswith(f'p99@4KiB{words}')


@pytest.mark.parametrize('text', ['', '# nothing\n', '[]', 'text', 'null', '7'])
def test_a_file_without_references_is_refused(read, text):
    with pytest.raises(SiteError):
        read(text)


@pytest.mark.parametrize(
    'text',
    ['SharedFile: []\n', FILE.replace('          1: {', '          1:\n          64: {'), FILE + '          1: {}\n'],
)
def test_a_key_without_references_is_refused(read, text):
    with pytest.raises(SiteError, match=r'expected|judged here'):
        read(text)


def test_unknown_checks_are_skipped_if_not_all_checks_are_loaded(read):
    text = FILE.replace('SharedFile', 'Elsewhere')
    assert read(text, complete=False) == {}
    with pytest.raises(SiteError, match='class name of a check'):
        read(text)


def test_a_misspelt_key_is_refused_even_if_not_all_checks_are_loaded(read):
    with pytest.raises(SiteError, match=r"'\$seatrail' is not the class name of a check"):
        read(FILE.replace('$seatrial', '$seatrail'), complete=False)


def test_aliases_may_be_used(read):
    text = FILE.replace('[100.0, -0.1, 0.3, MiB/s]', '&one [100.0, -0.1, 0.3, MiB/s]')
    assert sum(map(len, read(text.replace('[80, -0.1, 0.2, MiB/s]', '*one')).values())) == 4


DOCS = Path(__file__).parents[2] / 'docs' / 'reference' / 'references.md'
DOCUMENT = yaml.safe_load(FILE)
ODD = (
    None, True, 0, 1, -1, 16, 1.0, float('inf'), float('nan'), '', '1', '$index', '$seatrial', 'SharedFile',
    'nightly', 'lab:io', 'scratch', 'default', 'read@1MiB', 'read:1MiB', '.*', '*', [], {},
    [100.0, -0.1, None, 'MiB/s'], {'origin': 'baseline', 'date': '2026-11-20'}, list(INDEX), '\x07', '\u2028', 'é',
)  # fmt: skip


@st.composite
def changed_documents(draw):
    """The file with one to three values replaced, renamed or taken out."""
    document = copy.deepcopy(DOCUMENT)
    for _ in range(draw(st.integers(1, 3))):
        if not document:
            break
        container, key = draw(st.sampled_from(list(places(document))))
        if draw(st.booleans()):
            container[key] = copy.deepcopy(draw(st.sampled_from(ODD)))
        else:
            value = container.pop(key)
            name = draw(st.sampled_from(ODD))
            if isinstance(container, dict) and isinstance(name, (str, int, float)):
                container[name] = value
    return document


def below(value, depth):
    """Every reference that ReFrame could find in the file: its keys and its value."""
    if depth == 0:
        yield (), value
        return
    for key, item in value.items():
        if key not in ('$seatrial', '$index'):
            for path, leaf in below(item, depth - 1):
                yield (key, *path), leaf


@given(changed_documents())
def test_a_reference_in_any_changed_file_is_judged_or_reported_as_a_problem(tmp_path_factory, document):
    text = yaml.safe_dump(document, allow_unicode=True, sort_keys=False)
    try:
        references = loaded(tmp_path_factory.mktemp('site'), text)
    except SiteError as error:
        assert 1 <= len(error.problems) <= SHOWN_PROBLEMS
        return
    seen = {
        (case.check, profile, *case[1:], entry.metric): [entry.value, entry.low, entry.high, entry.unit]
        for (profile, case), of_case in references.items()
        for entry in of_case
    }
    written = dict(below(yaml.safe_load(text), len(INDEX) + 2))
    assert seen == {keys: [in_base(value, unit).value, *ends, unit] for keys, (value, *ends, unit) in written.items()}


ODD_TEXTS = ('', ':', '- ', '!!float', '&a', '*a', '{', '[', '"', '\t', '010', '1:30', '<<: ', '=')


@given(st.integers(0, len(FILE)), st.integers(0, 40), st.sampled_from(ODD_TEXTS))
def test_any_changed_text_gives_references_or_problems(tmp_path_factory, start, length, odd):
    with suppress(SiteError):
        loaded(tmp_path_factory.mktemp('site'), FILE[:start] + odd + FILE[start + length :])


def test_the_example_in_the_documentation_is_valid(tmp_path):
    documented = re.search(r'```yaml\n(.*?)```', DOCS.read_text(), re.DOTALL)
    assert documented is not None
    file = tmp_path / REFERENCES_FILE
    file.write_text(documented.group(1))
    random = [('nightly', *CASE, 'randread_iops@qd16', 'op/s'), ('nightly', *CASE, 'randread_p99@qd16', 's', LOWER)]
    measured = {
        'SharedFileContiguousTransferSizes': [Measured('acceptance', 'lab:io', 'scratch', 'wide', 16, 'read@1MiB')],
        'RandomReadQueueDepths': [Measured(*row) for row in random],
    }
    assert len(load_references(file, measured)) == 2


def test_a_profile_that_no_trial_has_for_a_check_hides_no_other_problem(read):
    with pytest.raises(SiteError) as caught:
        read(FILE.replace('  nightly:', '  paper:').replace('2000.0', '-5'))
    problems = caught.value.problems
    assert [line for line in problems if 'SharedFile.paper: no trial of the profile paper' in line]
    assert [line for line in problems if 'SharedFile.acceptance.' in line and '-5 is not a reference' in line]
