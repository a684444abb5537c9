"""Annotations: appended, read by day, and what is none is named."""

from datetime import date

from seatrial.history.store import ANNOTATIONS, Annotation, annotate, annotations, folder_of


def test_they_are_read_by_day_in_whatever_order_they_were_written(tmp_path):
    later, earlier = Annotation(date(2026, 10, 11), 'OSS \u2028 firmware'), Annotation(date(2026, 10, 2), 'a "rack"')
    for each in (later, earlier):
        annotate(tmp_path, each)
    assert annotations(tmp_path) == ([earlier, later], [])


def test_a_line_that_is_none_is_named_and_hides_no_other(tmp_path):
    own = Annotation(date(2026, 10, 11), 'one')
    file = annotate(tmp_path, own)
    with file.open('a') as stream:
        stream.write('{"day": "2026-13-11", "text": "x"}\n[1]\n\xff\n')
    annotate(tmp_path, own)
    found, skipped = annotations(tmp_path)
    assert found == [own, own]
    assert [each.why for each in skipped] == [f'line {number} is no annotation' for number in (2, 3, 4)]


def test_a_site_without_any_has_none(tmp_path):
    assert annotations(tmp_path) == ([], [])
    assert not (folder_of(tmp_path) / ANNOTATIONS).exists()
