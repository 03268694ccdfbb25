# SPDX-License-Identifier: BSD-2-Clause
"""Counts how often the lab's intervals hold the true value: measurements are simulated of which it is known.

    independent   detours at random times (Poisson), with Gaussian, exponential or Pareto lengths
    ticks         detours of a fixed period, with lengths that vary by a tenth
    bursts        at random times some detours shortly after each other, five on average
    Linux         a measured trace, from which detours are drawn with the times that follow them

Each measurement holds n detours on average, one in 100 µs. An interval is right if it holds the true value in
COVERED_MIN of the measurements for which it is offered, and in COVERED_MAX at most unless it says that it is
conservative. If the data do not have a figure's interval, it must be refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import NormalDist

import numpy as np

from lab.common import paths
from lab.formats import registry
from lab.formats.trace import Trace
from lab.statistics.confidence import Interval
from lab.statistics.differences import difference_interval, lost_figure
from lab.statistics.errors import StatisticsError
from lab.statistics.order import length_interval, longest_in, window_maxima
from lab.statistics.sums import cycles, rate_interval, ratio_interval

COVERED_MIN, COVERED_MAX = 0.93, 0.97
STRICT = 2_000
#: A figure counts as refused if its interval is offered in fewer measurements than this.
OFFERED_MIN = 0.15
COUNTS = (50, 1_000, 100_000)
#: The mean time between detours, and their mean length, ns.
GAP_NS, LENGTH_NS = 100_000.0, 1_000.0
#: The mean number of detours in a burst, and the time between them as a part of the mean one.
BURST, BURST_GAP = 5, 0.05
#: A resampled measurement begins after this number of detours, because any time must be able to be its first.
BEFORE = 200
#: Windows in a measurement, for the longest detour in a window.
WINDOWS = 20
#: The second node of a difference is measured for twice the time, with detours longer by this factor.
LONGER = 1.5
LINUX = paths.ROOT / "tests/data/noise-files/sysjitter.raw"
BUSY = paths.ROOT / "tests/data/noise-files/busy-host/ftq_0.dat"


@dataclass(frozen=True)
class Model:
    """A kind of noise: makes a measurement of about n detours, and knows the true figures.

    measure      (generator, n) -> a trace
    ratio, rate  the true noise ratio, and detours per second
    quantile     the true quantile of lengths, ns
    maximum      (share, windows' detours m) -> the quantile of the longest in a window of m detours; None:
                 found by simulation
    """

    name: str
    measure: Callable[[np.random.Generator, int], Trace]
    ratio: float
    rate: float
    quantile: Callable[[float], float]
    maximum: Callable[[float], float] | None = None


def _trace(starts: np.ndarray, lengths: np.ndarray, span_ns: float) -> Trace:
    inside = (starts >= 0) & (starts < span_ns)
    starts, lengths = starts[inside], lengths[inside]
    return Trace("simulated", "selfish", starts, lengths, max(span_ns, float(lengths.sum())))


def _independent(
    name: str, draw: Callable[[np.random.Generator, int], np.ndarray], quantile: Callable[[float], float]
) -> Model:
    """Lengths of the mean 1, at random times."""

    def measure(generator: np.random.Generator, count: int) -> Trace:
        span_ns = count * GAP_NS
        starts = np.cumsum(generator.exponential(GAP_NS, int(count + 7 * math.sqrt(count) + 20)))
        return _trace(starts, LENGTH_NS * draw(generator, len(starts)), span_ns)

    def maximum(detours: float) -> float:
        # No detour of a Poisson process with this mean is above x: exp(-mean P(X > x)) = 1/2.
        return LENGTH_NS * quantile(1 - math.log(2) / detours)

    return Model(
        name, measure, LENGTH_NS / GAP_NS, 1e9 / GAP_NS, lambda part: LENGTH_NS * quantile(part), maximum
    )


def _pareto(index: float) -> Model:
    least = (index - 1) / index
    return _independent(
        f"Pareto {index:g}",
        lambda generator, count: least * (1 - generator.random(count)) ** (-1 / index),
        lambda part: float(least * (1 - part) ** (-1 / index)),
    )


def _ticks() -> Model:
    """Begins at a random phase, and measures some part of a period besides whole ones."""
    lengths = NormalDist(LENGTH_NS, LENGTH_NS / 10)

    def measure(generator: np.random.Generator, count: int) -> Trace:
        starts = (np.arange(count + 2) + generator.random() - 1) * GAP_NS
        drawn = np.abs(generator.normal(lengths.mean, lengths.stdev, len(starts)))
        return _trace(starts, drawn, (count + generator.random()) * GAP_NS)

    return Model("ticks", measure, LENGTH_NS / GAP_NS, 1e9 / GAP_NS, lengths.inv_cdf)


def _bursts() -> Model:
    """Lengths are exponential, and the number of detours in a burst is geometric."""

    def measure(generator: np.random.Generator, count: int) -> Trace:
        span_ns = count * GAP_NS
        before = BURST * GAP_NS
        times = generator.random(generator.poisson((span_ns + before) / GAP_NS / BURST))
        detours = generator.geometric(1 / BURST, len(times))
        within = np.arange(detours.sum()) - np.repeat(np.cumsum(detours) - detours, detours)
        starts = np.repeat(times * (span_ns + before) - before, detours) + within * BURST_GAP * GAP_NS
        return _trace(np.sort(starts), LENGTH_NS * generator.exponential(1.0, len(starts)), span_ns)

    return Model(
        "bursts", measure, LENGTH_NS / GAP_NS, 1e9 / GAP_NS, lambda part: -LENGTH_NS * math.log1p(-part)
    )


def _resampled(name: str, path: Path) -> Model:
    """A measured trace; its last detour is followed by its first."""
    measured = registry.read(path)[0]
    lengths, gaps = measured.duration_ns, np.maximum(cycles(measured), measured.duration_ns)
    rising = np.sort(lengths)
    mean_ns = float(gaps.mean())
    spread = float(gaps.std()) / mean_ns

    def measure(generator: np.random.Generator, count: int) -> Trace:
        drawn = int(count + BEFORE + 6 * spread * math.sqrt(count + BEFORE))
        place = generator.integers(0, len(lengths), drawn)
        starts = np.cumsum(gaps[place]) - gaps[place] - BEFORE * mean_ns
        return _trace(starts, lengths[place], count * mean_ns)

    def quantile(part: float) -> float:
        return float(rising[math.ceil(part * len(rising)) - 1])

    return Model(name, measure, float(lengths.sum() / gaps.sum()), 1e9 / mean_ns, quantile)


def models() -> list[Model]:
    """Returns the kinds of noise of the table. OSError or DataError if a measured trace cannot be read."""
    gaussian = NormalDist(1.0, 0.2)
    return [
        _independent(
            "Gaussian", lambda generator, count: np.abs(generator.normal(1, 0.2, count)), gaussian.inv_cdf
        ),
        _independent(
            "exponential",
            lambda generator, count: generator.exponential(1.0, count),
            lambda part: -math.log1p(-part),
        ),
        _pareto(3.0),
        _pareto(1.5),
        _ticks(),
        _bursts(),
        _resampled("Linux", LINUX),
        _resampled("Linux, busy", BUSY),
    ]


# ---- Figures ----


def _difference(trace: Trace, other: Trace) -> Interval:
    return difference_interval(lost_figure(other), lost_figure(trace))


#: The figures of the table: each with its interval of a measurement (and of a second one).
FIGURES: dict[str, Callable[[Trace, Trace], Interval]] = {
    "ratio": lambda trace, _: ratio_interval(trace),
    "rate": lambda trace, _: rate_interval(trace),
    "median": lambda trace, _: length_interval(trace, 0.5),
    "99.9 %": lambda trace, _: length_interval(trace, 0.999),
    "longest": lambda trace, _: longest_in(trace, trace.span_ns / WINDOWS).interval,
    "difference": _difference,
}


def _true(model: Model, count: int, seed: int) -> dict[str, float]:
    """Returns the true figures. `longest` is the median of the maxima of windows; without a formula it comes
    from 4,000 windows of a measurement of their own."""
    if model.maximum is not None:
        longest = model.maximum(count / WINDOWS)
    else:
        generator = np.random.default_rng([seed, count, 1])
        windows = 4_000
        trace = model.measure(generator, windows * count // WINDOWS)
        longest = float(np.median(window_maxima(trace, trace.span_ns / windows, windows)))
    return {
        "ratio": model.ratio,
        "rate": model.rate,
        "median": model.quantile(0.5),
        "99.9 %": model.quantile(0.999),
        "longest": longest,
        "difference": (LONGER - 1) * model.ratio,
    }


@dataclass(frozen=True)
class Cell:
    """How often a figure's interval was offered, was wrong, and said that it is conservative, in
    `replications` measurements of `count` detours."""

    model: str
    count: int
    figure: str
    replications: int
    offered: int
    missed: int
    conservative: int

    @property
    def covered(self) -> float:
        """The share of offered intervals that hold the true value; NaN if none was offered."""
        return 1 - self.missed / self.offered if self.offered else math.nan

    @property
    def refused(self) -> bool:
        return self.offered < OFFERED_MIN * self.replications

    @property
    def remarked(self) -> bool:
        return 2 * self.conservative > self.offered

    @property
    def right(self) -> bool:
        """Whether the interval covers as it should; if it is refused, whether few users get a wrong one.
        Strict for STRICT measurements and more; for fewer, two standard errors of chance are allowed."""
        count = self.replications if self.refused else self.offered
        chance = 2 * math.sqrt(COVERED_MIN * (1 - COVERED_MIN))
        chance *= max(1 / math.sqrt(count) - 1 / math.sqrt(STRICT), 0.0)
        if self.refused:
            return self.missed <= (1 - COVERED_MIN + chance) * count
        return self.covered >= COVERED_MIN - chance and (
            self.covered <= COVERED_MAX + chance or self.remarked
        )

    def text(self) -> str:
        if self.refused:
            return "refused" if not self.missed else f"refused, {100 * self.missed / self.replications:.1f}"
        part = (
            "" if self.offered == self.replications else f" of {100 * self.offered / self.replications:.0f}"
        )
        return f"{100 * self.covered:.1f}{part}{' c' * self.remarked}{' !' * (not self.right)}"

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def cells(model: Model, count: int, replications: int, seed: int) -> Iterator[Cell]:
    """Yields a row of the table: each figure's cell. The same for the same seed."""
    true = _true(model, count, seed)
    tally = {name: [0, 0, 0] for name in FIGURES}
    generator = np.random.default_rng([seed, count, 0])
    for _ in range(replications):
        trace, long = model.measure(generator, count), model.measure(generator, 2 * count)
        other = _trace(long.start_ns, LONGER * long.duration_ns, long.span_ns)
        for name, figure in FIGURES.items():
            try:
                found = figure(trace, other)
            except StatisticsError:
                continue
            tally[name][0] += 1
            tally[name][1] += not _holds(found, true[name])
            tally[name][2] += bool(found.remark)
    for name, (offered, missed, conservative) in tally.items():
        yield Cell(model.name, count, name, replications, offered, missed, conservative)


def _holds(found: Interval, value: float) -> bool:
    """Whether an interval holds the value, up to rounding."""
    return found.low <= value * (1 + 1e-9) and value <= found.high * (1 + 1e-9)


def table_rows(found: Sequence[Cell]) -> list[list[str]]:
    """Returns the rows of the table: n, the kind of noise, and each figure."""
    rows: dict[tuple[int, str], list[str]] = {}
    for cell in found:
        rows.setdefault((cell.count, cell.model), []).append(cell.text())
    return [[f"{count:,}", model, *texts] for (count, model), texts in rows.items()]
