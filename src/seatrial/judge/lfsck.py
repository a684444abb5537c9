"""Compares runs of a file-system check: time over inodes and over servers, the shares of its parts, load of servers.
The servers report whole seconds: a time of t s lies between t - 1 and t + 1, and a ratio of two has the interval of
the four corners. That covers the clock alone; only several runs show how much equal runs differ."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from seatrial.judge.relations import FAILS, HOLDS, UNDECIDED, Relation, without_figure
from seatrial.judge.statistics import CONFIDENCE
from seatrial.model.telemetry import ServerLook
from seatrial.rules.stopping import t_quantile

CLOCK_S = 1  # both ends of a run are whole seconds
MIN_S = 10  # CLOCK_S is 10 % of it: the time of a shorter run is too uncertain to be compared
MIN_RUNS = 4  # a line through three points leaves one degree of freedom; Fisher's interval needs four

LOOKED = 0.95  # share of a run for which monitor samples of a server must exist; its load at other times is unknown
SATURATED = 0.95  # a disk that is busy for this share of the time counts as saturated


class Watched(NamedTuple):
    """One server during a run, as monitors saw it."""

    seen: float  # share of the run that was observed
    busy: float  # share of `seen` in which its busiest disk had work
    # packets_in, packets_out: sums of all network cards
    packets_in: float
    packets_out: float
    network: float  # B/s, the higher of both directions


class Line(NamedTuple):
    """Time over a count, by least squares: seconds = start + seconds_each x count."""

    start_s: float
    seconds_each: float
    low: float  # interval of seconds_each at CONFIDENCE (Student's t of a slope, n - 2 degrees of freedom)
    high: float


def line(counts: Sequence[float], seconds: Sequence[float]) -> Line | None:
    """The least-squares line through these runs; None for fewer than MIN_RUNS runs, or if all counts are equal."""
    if len(counts) < MIN_RUNS or len(set(counts)) < 2:
        return None
    slope, start = statistics.linear_regression(counts, seconds)
    centre = statistics.fmean(counts)
    left = math.fsum((y - start - slope * x) ** 2 for x, y in zip(counts, seconds, strict=True))
    error = math.sqrt(left / (len(counts) - 2) / math.fsum((x - centre) ** 2 for x in counts))
    reach = t_quantile(CONFIDENCE, len(counts) - 2) * error
    return Line(start, slope, slope - reach, slope + reach)


def linear(counts: Sequence[float], seconds: Sequence[float], least: float = 0.9) -> Relation:
    """The relation that time is linear in a count: R^2 is at least `least` (chosen; the source shows a picture). The
    interval of the coefficient is Fisher's, atanh r with the error 1 / sqrt(n - 3) (Metron 1, 1921)."""
    fit = line(counts, seconds)
    if fit is None or len(set(seconds)) < 2:
        return without_figure(f'it takes {MIN_RUNS} runs of several sizes')
    r = statistics.correlation(counts, seconds)
    reach = statistics.NormalDist().inv_cdf((1 + CONFIDENCE) / 2) / math.sqrt(len(counts) - 3)
    bound = min(abs(r), 1 - 1e-12)
    low, high = (max(0.0, math.tanh(math.atanh(bound) + side * reach)) ** 2 if r > 0 else 0.0 for side in (-1, 1))
    million_s, *ends = (1e6 * slope for slope in (fit.seconds_each, fit.low, fit.high))
    sentence = (
        f'R2 {max(r, 0.0) ** 2:.3f} ({low:.3f} to {high:.3f}) of {len(counts)} runs; '
        f'a million takes {million_s:.4g} s ({ends[0]:.4g} to {ends[1]:.4g})'
    )
    return _judged(low >= least, high < least, max(r, 0.0) ** 2, (low, high), sentence, CONFIDENCE)


def share(part_s: float, whole_s: float, least: float = 0.0, most: float = math.inf) -> Relation:
    """The relation that the ratio of two times lies between `least` and `most`, given the clocks' resolution."""
    if whole_s < MIN_S:
        return without_figure(f'{whole_s:g} s is too short; it takes {MIN_S} s')
    low, high = max(0.0, part_s - CLOCK_S) / (whole_s + CLOCK_S), (part_s + CLOCK_S) / (whole_s - CLOCK_S)
    sentence = f'{part_s:g} s over {whole_s:g} s: {part_s / whole_s:.2f} ({low:.2f} to {high:.2f} by clocks of 1 s)'
    holds, fails = low >= least and high <= most, high < least or low > most
    return _judged(holds, fails, part_s / whole_s, (low, high), sentence)


def watched(looks: Sequence[ServerLook], began_s: float, ended_s: float) -> Watched:
    """The load of one server between two Unix times. A sample that reaches beyond them counts in part. A sample of
    several seconds has the value of its busiest one, so `busy` is then too high rather than too low."""
    parts = [(look, min(ended_s, look.time) - max(began_s, look.time - look.length_s)) for look in looks]
    parts = [(look, part_s) for look, part_s in parts if part_s > 0]
    seen_s = math.fsum(part_s for _, part_s in parts)

    def total(name: str) -> float:
        return math.fsum(getattr(look, name) * part_s for look, part_s in parts)

    return Watched(
        seen=seen_s / (ended_s - began_s),
        busy=total('busy') / seen_s if seen_s else 0.0,
        packets_in=total('packets_in'),
        packets_out=total('packets_out'),
        network=max((max(look.received, look.sent) for look, _ in parts), default=0.0),
    )


def unsaturated(servers: Mapping[str, Watched]) -> Relation:
    """The relation that the busiest disk of each server had time left; monitors do not know the network's speed."""
    lacking = _unseen(servers)
    if lacking:
        return without_figure(lacking)
    name = max(servers, key=lambda server: servers[server].busy)
    fastest = max(servers, key=lambda server: servers[server].network)
    busy = servers[name].busy
    sentence = (
        f'the busiest disk is that of {name}, {100 * busy:.0f} % of the time; '
        f'the most in a network is {servers[fastest].network / 1e6:.3g} MB/s of {fastest}'
    )
    return _judged(busy < SATURATED, busy >= SATURATED, busy, (busy, busy), sentence)


def fan_out(mds: str, servers: Mapping[str, Watched], least: float = 0.8, most: float = 1.2) -> Relation:
    """The relation that the MDS sends N times the packets that one OSS receives, for N OSS: every other server is
    one. least, most: factors of N (chosen; the source has "around eight times" for eight). The interval is from the
    OSS that receives most to the one that receives least."""
    lacking = _unseen(servers)
    received = [server.packets_in for name, server in servers.items() if name != mds]
    if lacking or not received or not all(received):
        return without_figure(lacking or 'no packets of an OSS were seen')
    sent, count = servers[mds].packets_out, len(received)
    low, high = sent / max(received), sent / min(received)
    estimate = count * sent / math.fsum(received)
    sentence = f'{mds} sends {estimate:.3g} times what one of {count} OSS receives ({low:.3g} to {high:.3g})'
    holds, fails = low >= least * count and high <= most * count, high < least * count or low > most * count
    return _judged(holds, fails, estimate, (low, high), sentence)


def fan_in(mds: str, servers: Mapping[str, Watched], most: float = 2.2) -> Relation:
    """The relation that the MDS receives more packets than it sends, and up to twice as many (2.2, chosen)."""
    server = servers[mds]
    lacking = _unseen({mds: server})
    if lacking or not server.packets_out:
        return without_figure(lacking or f'{mds} sent no packet')
    ratio = server.packets_in / server.packets_out
    holds = 1 < ratio <= most
    return _judged(holds, not holds, ratio, (ratio, ratio), f'{mds} receives {ratio:.3g} times what it sends')


def _unseen(servers: Mapping[str, Watched]) -> str:
    name = min(servers, key=lambda server: servers[server].seen)
    seen = servers[name].seen
    return (
        '' if seen >= LOOKED else f'of {name} {100 * seen:.0f} % of the run was seen; it takes {100 * LOOKED:.0f} %'
    )


def _judged(
    holds: bool, fails: bool, estimate: float, interval: tuple[float, float], sentence: str, confidence: float = 1.0
) -> Relation:
    verdict = HOLDS if holds else FAILS if fails else UNDECIDED
    return Relation(verdict, estimate, *interval, confidence, sentence)
