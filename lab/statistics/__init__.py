# SPDX-License-Identifier: BSD-2-Clause
"""Computes the figures of noise that the papers define, from traces and from phase durations.

    time that the system takes     detours.py     noise_ratio, detour_figures        [Beckman06 §3.3, Table 4]
    when it takes it               spectrum.py    spectrum, peaks, series_of         [Hoefler10 §II]
    effect on one node of a job    delays.py      Delays, delays_of_trace, p, …      [Tsafrir05 §2.1, §3.1]
    effect on n nodes              scale.py       slowdown, scale_max, …             [Tsafrir05 §2.1, §2.4]
    confidence                     confidence.py  Interval, silent_rate_max
      of sums over time            sums.py        ratio_interval, rate_interval, delayed_interval (of p); it
                                                  uses batches.py and tails.py
      of quantiles and maxima      order.py       length_interval, median_interval, longest_in
      of differences, verdicts     differences.py lost_figure, difference_interval, surely_different
      of slowdown and scale        intervals.py   …; whether one event decides; slowdown_unlike: nodes with
                                                  different noise
      how often they hold          coverage.py    the table of `tools/lab coverage`

Units are in the names; ratios and probabilities are fractions of one. A wrong argument raises
StatisticsError, whose message says what is right. No function reads a clock or an unseeded generator: the
same input gives the same figures.
"""

from lab.statistics.confidence import Interval, silent_rate_max
from lab.statistics.delays import Delays, delays_of_phases, delays_of_trace, p
from lab.statistics.detours import PERCENTILES, DetourFigures, detour_figures, noise_ratio
from lab.statistics.differences import Figure, difference_interval, lost_figure, surely_different
from lab.statistics.errors import StatisticsError
from lab.statistics.intervals import (
    Blocks,
    blocks_of_phases,
    blocks_of_trace,
    deciding_event_ns,
    resampled,
    scale_interval,
    slowdown_interval,
    slowdown_unlike,
)
from lab.statistics.order import (
    Longest,
    count_needed,
    length_interval,
    longest_in,
    median_interval,
    quantile_interval,
    window_maxima,
)
from lab.statistics.scale import (
    LINEAR_ERROR,
    delayed_probability,
    delayed_probability_linear,
    linear_nodes_max,
    scale_max,
    slowdown,
)
from lab.statistics.spectrum import Peak, Spectrum, peaks, series_of, spectrum
from lab.statistics.sums import (
    delayed_interval,
    phases_delayed_interval,
    phases_lost_interval,
    phases_lost_ratio,
    rate_interval,
    ratio_interval,
)

__all__ = [
    "LINEAR_ERROR",
    "PERCENTILES",
    "Blocks",
    "Delays",
    "DetourFigures",
    "Figure",
    "Interval",
    "Longest",
    "Peak",
    "Spectrum",
    "StatisticsError",
    "blocks_of_phases",
    "blocks_of_trace",
    "count_needed",
    "deciding_event_ns",
    "delayed_interval",
    "delayed_probability",
    "delayed_probability_linear",
    "delays_of_phases",
    "delays_of_trace",
    "detour_figures",
    "difference_interval",
    "length_interval",
    "linear_nodes_max",
    "longest_in",
    "lost_figure",
    "median_interval",
    "noise_ratio",
    "p",
    "peaks",
    "phases_delayed_interval",
    "phases_lost_interval",
    "phases_lost_ratio",
    "quantile_interval",
    "rate_interval",
    "ratio_interval",
    "resampled",
    "scale_interval",
    "scale_max",
    "series_of",
    "silent_rate_max",
    "slowdown",
    "slowdown_interval",
    "slowdown_unlike",
    "spectrum",
    "surely_different",
    "window_maxima",
]
