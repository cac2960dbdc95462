"""Two samples of times: by how much they differ, how sure that is, and the correction for asking often.

Everything here is in natural logarithms of seconds, so that a difference is the logarithm of a ratio.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from statistics import NormalDist, fmean, median, variance

DISTURBED = 7
"""A run that is slower than the fastest by so many typical spreads was disturbed."""
MOST_SHARED = 8
"""How much the typical spread counts at most beside a query's own, in degrees of freedom."""
BETWEEN_RESULTS = 0.02
"""Standard deviation of what a query's time differs by from result to result when nothing has changed, without a drift of all."""
_LEAST_SPREAD = 0.002  # clocks and schedulers have some
_PAIR_OF_NORMALS = 0.9539  # median of |x - y| for two normal variables of standard deviation 1
_TERMS = 30  # of the series of trigamma before the rest is taken as an integral
_MANY = 300  # degrees of freedom from which on Student's distribution is taken for the normal one


Sample = Sequence[float]
"""The runs of one query in one result."""
Pair = tuple[Sample, Sample]
"""The same in two results, before and after."""


@dataclass(frozen=True, slots=True)
class Shift:
    """An estimated difference, its standard error, and the degrees of freedom of that."""

    value: float
    error: float
    freedom: float

    def less(self, other: Shift) -> Shift:
        """This one without the part that is explained by another, independent one."""
        return combined([(1.0, self), (-1.0, other)])

    @property
    def p_slower(self) -> float:
        """Probability of a difference as high as this or higher if there is none."""
        return student_tail(self.value / self.error, self.freedom)

    @property
    def p_faster(self) -> float:
        """Probability of a difference as low as this or lower if there is none."""
        return student_tail(-self.value / self.error, self.freedom)

    def detectable(self, level: float) -> float:
        """The least difference above 0 that would be significant at `level`."""
        return student_quantile(level, max(1, int(self.freedom))) * self.error


@dataclass(frozen=True, slots=True)
class Noise:
    """The standard deviation within a sample that is typical of many, and how many degrees of freedom it counts for in each."""

    typical: float
    freedom: float


def noise_of(pairs: Sequence[Pair]) -> Noise:
    """The noise of many queries: robust, and right also for samples of two or three.

    The typical spread counts the less, the more the spreads of single queries differ from each other (Smyth's estimate, of the
    variance of their logarithms beyond what samples of this size have), and never for more than those of the others.
    """
    distances = [abs(a - b) for pair in pairs for sample in pair for a, b in combinations(sample, 2)]
    typical = max(_LEAST_SPREAD, median(distances) / _PAIR_OF_NORMALS) if distances else _LEAST_SPREAD
    own = [_own_spread(pair, typical) for pair in pairs]
    logarithms = [(math.log(max(squares / freedom, _LEAST_SPREAD**2)), freedom) for squares, freedom in own if freedom]
    if len(logarithms) < 2:
        return Noise(typical, 1)
    beyond = variance(value for value, _ in logarithms) - fmean(trigamma(freedom / 2) for _, freedom in logarithms)
    shared = next((freedom for freedom in range(MOST_SHARED, 1, -1) if trigamma(freedom / 2) >= beyond), 1)
    return Noise(typical, min(shared, sum(freedom for _, freedom in own) * (1 - 1 / len(own))))


def undisturbed(sample: Sample, typical: float) -> list[float]:
    """The sample without what is far above its least value; all of it if that is the greater part and so no exception."""
    kept = [value for value in sample if value <= min(sample) + DISTURBED * typical]
    return kept if 2 * len(kept) >= len(sample) else list(sample)


def shift(pair: Pair, noise: Noise) -> Shift:
    """By how much the second sample is higher than the first. Neither may be empty."""
    before, after = (undisturbed(sample, noise.typical) for sample in pair)
    squares, own = _own_spread(pair, noise.typical)
    freedom = noise.freedom + own
    moderated = (noise.freedom * noise.typical**2 + squares) / freedom
    error = math.sqrt(moderated * (1 / len(before) + 1 / len(after)) + BETWEEN_RESULTS**2)
    return Shift(fmean(after) - fmean(before), error, freedom)


def _own_spread(pair: Pair, typical: float) -> tuple[float, int]:
    """The sum of the squares within both samples, and its degrees of freedom."""
    samples = [undisturbed(sample, typical) for sample in pair]
    squares = sum((value - fmean(sample)) ** 2 for sample in samples for value in sample)
    return squares, sum(len(sample) - 1 for sample in samples)


def combined(parts: Iterable[tuple[float, Shift]]) -> Shift:
    """The sum of independent shifts with weights; degrees of freedom as Satterthwaite (1946) approximates them."""
    value = total = divisor = 0.0
    for weight, part in parts:
        square = (weight * part.error) ** 2
        value += weight * part.value
        total += square
        divisor += square**2 / part.freedom
    return Shift(value, math.sqrt(total), total**2 / divisor)


def student_tail(t: float, freedom: float) -> float:
    """Probability that Student's t with `freedom` (rounded down, at least 1) degrees of freedom is above `t`.

    The finite series of Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
    """
    if t < 0:
        return 1 - student_tail(-t, freedom)
    if freedom > _MANY:
        return NormalDist().cdf(-t)
    degrees = max(1, int(freedom))
    angle = math.atan(t / math.sqrt(degrees))
    cosine2 = math.cos(angle) ** 2
    odd = degrees % 2
    term = math.cos(angle) if odd else 1.0
    series = term if degrees > 1 else 0.0
    for k in range(1 + odd, degrees - 2, 2):
        term *= cosine2 * k / (k + 1)
        series += term
    inside = 2 / math.pi * (angle + math.sin(angle) * series) if odd else math.sin(angle) * series
    return max(0.0, (1 - inside) / 2)


@lru_cache(maxsize=1024)
def student_quantile(level: float, degrees: int) -> float:
    """The least t whose `student_tail` is at most `level` (below one half)."""
    low, high = 0.0, 1e6
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if student_tail(middle, degrees) <= level else (middle, high)
    return high


def trigamma(x: float) -> float:
    """The variance of the logarithm of a gamma variable of shape `x`, above 0; to four digits or more."""
    return sum(1 / (x + k) ** 2 for k in range(_TERMS)) + 1 / (x + _TERMS - 0.5)


def significant(probabilities: Sequence[float], level: float) -> list[bool]:
    """Which hypotheses are rejected at `level` for all of them together (Holm 1979)."""
    rejected = [False] * len(probabilities)
    ascending = sorted(range(len(probabilities)), key=probabilities.__getitem__)
    for passed, place in enumerate(ascending):
        if probabilities[place] * (len(probabilities) - passed) > level:
            break
        rejected[place] = True
    return rejected
