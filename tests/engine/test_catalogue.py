"""Which engine carries a case out, and what is said of those that do not."""

import pytest

from seatrial.engine.catalogue import ENGINES, by_name, choose
from seatrial.engine.dd import Dd
from seatrial.engine.fio import Fio
from seatrial.model.plan import EngineChoice
from seatrial.model.workload import AccessPattern, Point

WRITE_AND_READ = AccessPattern('multiple', 'whole')
READ = AccessPattern('single', 'whole', operations=('read',))
POINT = Point('4KiB', 1, 2, 2, 8192, 4096, 2)
TWO_NODES = Point('2clients', 2, 2, 1, 8192, 4096, 2)
FIO, DD = EngineChoice('fio', 'fio'), EngineChoice('dd', '/opt/dd')


def installed(*programs):
    return lambda program: f'/found/{program}' if program in programs else None


def test_every_engine_is_found_by_its_name():
    assert [by_name(engine.name) for engine in ENGINES] == list(ENGINES)


def test_no_two_engines_share_a_name():
    assert len({engine.name for engine in ENGINES}) == len(ENGINES)


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"'fi' is not an engine; the engines are .*fio, dd"):
        by_name('fi')


def test_the_first_that_can_is_chosen_with_the_path_that_was_found():
    chosen = choose([FIO, DD], READ, [POINT], installed('fio', '/opt/dd'))
    assert isinstance(chosen.engine, Fio)
    assert (chosen.program, chosen.passed_over) == ('/found/fio', ())


def test_the_order_of_the_candidates_decides():
    chosen = choose([DD, FIO], READ, [POINT], installed('fio', '/opt/dd'))
    assert isinstance(chosen.engine, Dd)


def test_one_that_is_not_installed_is_passed_over_by_name():
    chosen = choose([FIO, DD], READ, [POINT], installed('/opt/dd'))
    assert isinstance(chosen.engine, Dd)
    assert chosen.passed_over == ('fio: not installed (fio)',)


def test_one_that_cannot_is_passed_over_with_its_reason_and_the_point():
    chosen = choose([DD, FIO], WRITE_AND_READ, [POINT], installed('fio', '/opt/dd'))
    assert isinstance(chosen.engine, Fio)
    assert chosen.passed_over == ('dd: cannot write incompressible data faster than /dev/urandom gives it (4KiB)',)


def test_one_point_that_an_engine_cannot_do_is_enough_to_pass_it_over():
    chosen = choose([FIO], READ, [POINT, TWO_NODES], installed('fio'))
    assert chosen.passed_over == ('fio: cannot start clients on 2 nodes at once (2clients)',)


def test_where_none_can_no_engine_is_chosen_and_every_reason_is_kept():
    chosen = choose([FIO, DD], WRITE_AND_READ, [POINT], installed('/opt/dd'))
    assert (chosen.engine, chosen.program, len(chosen.passed_over)) == (None, '', 2)


def test_an_unknown_candidate_is_an_error_and_is_not_skipped():
    with pytest.raises(ValueError, match='is not an engine'):
        choose([EngineChoice('fi', 'fio'), FIO], READ, [POINT], installed('fio'))
