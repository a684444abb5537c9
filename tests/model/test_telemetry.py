"""telemetry.jsonl: what is written is read back, and what was cut short is counted."""

from seatrial.model.telemetry import (
    AFTER,
    BEFORE,
    KINDS,
    Ended,
    Gap,
    Look,
    Pace,
    RpcSize,
    RpcSizes,
    Served,
    ServerGap,
    ServerLook,
    Servers,
    Watch,
    line_of,
    read_telemetry,
)

ALL = (
    RpcSizes(BEFORE, (RpcSize('256', 4, 38),)),
    Servers(BEFORE, 0.5, 0, 'telemetry-before', '4242', (Served('lustre-OST0001', 'write_bytes', 4, 4096, 'bytes'),)),
    Watch(1.0, 'node1', 'block device vda', '', 1.0),
    Look(2.0, 100.0, 0.001, {'read_bytes': 1, 'write_bytes': 2}),
    Gap(3.0, 101.0, 1.0, 'the counters did not answer'),
    Pace(4.0, 2.5, 'a look takes 0.13 s'),
    Look(5.0, 103.0, 0.001, {'read_bytes': 3, 'write_bytes': 2}),
    ServerGap(5.5, 'oss2', 'no route to host'),
    ServerLook(5.6, 'oss1', 1.0, 1, 0.5, 'sda', 1.0, 2.0, 3.0, 4.0, 5.0, 6.0),
    Ended(6.0),
    Servers(AFTER, 6.5, None, 'telemetry-after', '', (), 'it did not end within 30 s'),
)
TEXT = ''.join(map(line_of, ALL))


def test_what_is_written_is_read_back():
    sizes, before, watch, one, gap, pace, other, lost, server, ended, after = ALL
    telemetry = read_telemetry(TEXT.splitlines())
    assert telemetry == (watch, [one, other], [gap], [pace], [sizes], [before, after], ended, 0, (server,), (lost,))


def test_every_kind_of_line_is_tried_here():
    assert {type(value) for value in ALL} == set(KINDS.values())
