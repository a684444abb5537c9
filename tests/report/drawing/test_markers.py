from seatrial.report.drawing.markers import STYLES, styles


def test_reads_and_writes_look_the_same_everywhere():
    assert styles(['write', 'read']) == {'write': 'write', 'read': 'read'}
    assert styles(['read']) == {'read': 'read'}


def test_anything_else_has_its_style_in_turn():
    assert styles(['shared', 'private', 'shared']) == {'shared': STYLES[0], 'private': STYLES[1]}


def test_more_lines_than_styles_begin_again():
    names = [str(n) for n in range(len(STYLES) + 1)]
    assert [styles(names)[name] for name in names] == [*STYLES, STYLES[0]]
