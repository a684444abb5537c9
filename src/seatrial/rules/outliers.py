"""Finds slow ones of many equals: nodes, OSTs or MDTs that should all give the same figure, where larger is better.

A component is suspected if it lies beyond the scatter of its equals and is at least MIN_EFFECT slower than they are.
It is slow only if a second measurement beside others finds both again.

The score is the modified z-score of median and MAD (Iglewicz and Hoaglin, How to Detect and Handle Outliers, ASQC
1993; their threshold is 3.5). The threshold grows with the number of components: it is the quantile at which
FALSE_SUSPECTS of a healthy system are expected (Bonferroni), by Student's t with 37 % of the degrees of freedom,
because that is the efficiency of a MAD (Rousseeuw and Croux, JASA 88, 1993). Fewer components than FEW are compared
in pairs by Welch's interval (Biometrika 34, 1947).

If about as many are slow as fast, neither rule knows which is usual. So the components are also split into the two
groups with the least absolute deviation inside both (Fisher, On Grouping for Maximum Homogeneity, JASA 53, 1958). One
half of the repetitions makes the cut and the other half has to show it, and the other way round (Cox, A Note on
Data-Splitting, Biometrika 62, 1975); Welch's interval of all of them must lie beyond MIN_EFFECT.
docs/explanation/isolation.md says how often the right and the wrong components are named."""

import math
from bisect import bisect_left
from itertools import accumulate
from statistics import median
from typing import Dict, Mapping, NamedTuple, Optional, Sequence, Tuple

from seatrial.rules.stopping import t_quantile

MIN_EFFECT = 0.10  # share; a component that is less slower than its equals is not named, however sure it is

FEW = 32  # fewer components are compared in pairs: of 16 the MAD knows so little that the threshold would be 4.5

# The least number of components measured again beside suspects: for a MAD, as few suspects lower the threshold.
CONTROLS = 16

MIN_GROUP = 10  # the smallest group: one in so many components, and at least one; rarer ones are outliers, or fast

FALSE_SUSPECTS = 0.05
"""Components that one comparison of a healthy system with normal scatter may name by chance, before MIN_EFFECT."""

CONFIDENCE = 0.90  # confidence of the two-sided interval for a pair: 5 % of equal pairs are called slower

Figures = Mapping[str, Sequence[float]]


class Score(NamedTuple):
    """A component compared with its equals, in the unit of the figures."""

    name: str
    # the median of its repetitions, the higher of the middle two: disturbances only slow a launch
    figure: float
    of_the_others: float  # the median of the others' figures
    effect: float  # share that it is below the others; negative where it is above
    # its modified z-score, negative below the median; None: too few for one, or most are exactly alike
    z: Optional[float]
    slow: bool  # it is beyond the scatter and the effect


def scores(figures: Figures) -> Tuple[Score, ...]:
    """Each of these components against all of the others, in their order; none where there are fewer than two.
    figures: of every repetition, by name; one without any has no score. ValueError for a figure not above zero."""
    typical = _typical(figures)
    if len(typical) < 2:
        return ()
    ordered = sorted(typical.values())
    others = {name: _median_without(ordered, figure) for name, figure in typical.items()}
    if len(typical) < FEW:
        return tuple(_in_pairs(name, typical[name], others[name], figures, typical) for name in typical)
    scatter = _scatter(ordered)
    bound = threshold(len(typical), len(typical))
    return tuple(_among_many(name, typical[name], others[name], scatter, bound) for name in typical)


def suspects(figures: Figures) -> Tuple[Score, ...]:
    """The components that seem slow, the slowest first. A second measurement has to confirm them."""
    return tuple(sorted((score for score in scores(figures) if score.slow), key=lambda score: -score.effect))


def again(suspected: Sequence[str], figures: Figures) -> Tuple[Score, ...]:
    """Each suspect with figures, compared with the controls alone: all others that have some. figures: of the second
    measurement. Suspects are never controls, so that several of them cannot hide each other. Either rule suffices for
    slow here: suspects are no longer chosen from many."""
    typical = _typical(figures)
    controls = {name: figure for name, figure in typical.items() if name not in set(suspected)}
    tested = [name for name in suspected if name in typical]
    if not controls:
        return ()
    ordered = sorted(controls.values())
    usual = median(ordered)
    scatter, enough = _scatter(ordered), len(controls) >= CONTROLS
    bound = threshold(len(controls), len(tested))

    def score(name: str) -> Score:
        among_many = _among_many(name, typical[name], usual, scatter, bound)
        if enough and among_many.slow:
            return among_many
        in_pairs = _in_pairs(name, typical[name], usual, figures, {**controls, name: 0.0})
        return in_pairs._replace(z=among_many.z) if enough else in_pairs

    return tuple(map(score, tested))


class Groups(NamedTuple):
    """Components that split into two groups, each by its names, the slowest first, and the median of its figures."""

    slow: Tuple[str, ...]
    fast: Tuple[str, ...]
    of_the_slow: float
    of_the_fast: float

    @property
    def effect(self) -> float:
        return 1 - self.of_the_slow / self.of_the_fast


def split(figures: Figures) -> Optional[Groups]:
    """The two groups that the components split into, MIN_EFFECT or more apart; None where they are not seen to.
    Figures in the order of the repetitions; a component with one is left out. Raises ValueError as scores."""
    usable = {name: values for name, values in figures.items() if len(values) > 1}
    if len(usable) < 2:
        return None
    halves = [_typical({name: values[start::2] for name, values in usable.items()}) for start in (0, 1)]
    shown = min(_between(_cut(one), other).effect for one, other in ((halves[0], halves[1]), (halves[1], halves[0])))
    whole = _typical(usable)
    groups = _between(_cut(whole), whole)
    slow, fast = ([value for name in names for value in usable[name]] for names in (groups.slow, groups.fast))
    return groups if min(shown, groups.effect) >= MIN_EFFECT and _slower(slow, fast) else None


def alike(figures: Figures) -> bool:
    """True if surely no component is MIN_EFFECT slower than another: Welch's interval of each pair is above it."""
    known = [values for values in figures.values() if values]
    pairs = [(one, other) for one in known for other in known if one is not other]
    share = (1 - MIN_EFFECT) ** 2
    return bool(pairs) and all(_slower([share * value for value in other], one) for one, other in pairs)


def threshold(known: int, tested: int) -> float:
    """The modified z-score beyond which one of `tested` components is suspected; the MAD is that of `known` ones."""
    degrees = max(1, int(_EFFICIENCY * (known - 1)))
    return max(_MIN_Z, t_quantile(1 - 2 * FALSE_SUSPECTS / max(1, tested), degrees))


_EFFICIENCY = 0.37
_MIN_Z = 3.5
_MAD_TO_SIGMA = 0.6745


def _typical(figures: Figures) -> Dict[str, float]:
    for name, values in figures.items():
        if not all(math.isfinite(value) and value > 0 for value in values):
            raise ValueError(f'{name}: figures are above zero: {list(values)}')
    return {name: sorted(values)[len(values) // 2] for name, values in figures.items() if values}


def _scatter(ordered: Sequence[float]) -> Tuple[float, float]:
    """Median and MAD."""
    middle = median(ordered)
    return middle, median(abs(figure - middle) for figure in ordered)


def _among_many(name: str, figure: float, usual: float, scatter: Tuple[float, float], bound: float) -> Score:
    # Where more than half are exactly alike, as a coarse clock has them, any other figure is beyond their scatter.
    middle, mad = scatter
    z = _MAD_TO_SIGMA * (figure - middle) / mad if mad else None
    effect = 1 - figure / usual
    return Score(name, figure, usual, effect, z, (z is None or z < -bound) and effect >= MIN_EFFECT)


def _in_pairs(name: str, figure: float, usual: float, figures: Figures, among: Mapping[str, float]) -> Score:
    """Slow is slower than most of the others: where most are slow, nobody knows which is usual (split)."""
    slower = [_slower(figures[name], figures[other]) for other in among if other != name]
    effect = 1 - figure / usual
    return Score(name, figure, usual, effect, None, effect >= MIN_EFFECT and 2 * sum(slower) > len(slower))


def _cut(typical: Mapping[str, float]) -> Tuple[Tuple[str, ...], Tuple[str, ...]]:
    """The slow and the fast, by the cut that leaves the least absolute deviation from the medians of both."""
    names = sorted(typical, key=lambda name: typical[name])
    sums = [0.0, *accumulate(typical[name] for name in names)]
    smallest = max(1, len(names) // MIN_GROUP)

    def deviation(first: int, last: int) -> float:
        low, high = (first + last) // 2, (first + last + 1) // 2
        return (sums[last] - sums[high]) - (sums[low] - sums[first])

    cut = min(range(smallest, len(names) - smallest + 1), key=lambda at: deviation(0, at) + deviation(at, len(names)))
    return tuple(names[:cut]), tuple(names[cut:])


def _between(cut: Tuple[Tuple[str, ...], Tuple[str, ...]], typical: Mapping[str, float]) -> Groups:
    slow, fast = (median(typical[name] for name in names) for names in cut)
    return Groups(cut[0], cut[1], slow, fast)


def _slower(values: Sequence[float], other: Sequence[float]) -> bool:
    """True if the mean of `values` is surely MIN_EFFECT below that of `other`, by Welch's interval."""
    if min(len(values), len(other)) < 2:
        return False
    share = 1 - MIN_EFFECT
    mean, error = _mean_and_error(values)
    other_mean, other_error = _mean_and_error([share * value for value in other])
    both = error + other_error
    if both == 0:
        return mean < other_mean
    degrees = both**2 / (error**2 / (len(values) - 1) + other_error**2 / (len(other) - 1))
    return other_mean - mean > t_quantile(CONFIDENCE, max(1, int(degrees))) * math.sqrt(both)


def _mean_and_error(values: Sequence[float]) -> Tuple[float, float]:
    """The mean, and its variance."""
    mean = math.fsum(values) / len(values)
    return mean, math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values)


def _median_without(ordered: Sequence[float], one: float) -> float:
    """The median of ascending figures without this one of them, found without sorting anew."""
    place, left = bisect_left(ordered, one), len(ordered) - 1

    def at(rank: int) -> float:
        return ordered[rank if rank < place else rank + 1]

    return at(left // 2) if left % 2 else (at(left // 2 - 1) + at(left // 2)) / 2
