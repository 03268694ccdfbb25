# SPDX-License-Identifier: BSD-2-Clause
"""Histograms of lengths, as rtla and rt-tests print them: what a trace can hold of them.

A day of timer latencies is 86 million samples of each column, and a node has a column or three for each CPU.
So the samples are listed one by one only if they are few. Of others, the trace has totals and percentiles,
which are exact to the bucket either way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lab.formats.trace import Totals, Trace, latency_trace, over_doubt

#: The most samples of a histogram that are listed one by one.
LISTED_MAX = 1_000_000
#: The percentiles by their names, in millionths; lab/statistics/detours.py has the same.
PERCENTILES = {
    "median": 500_000,
    "p90": 900_000,
    "p99": 990_000,
    "p99.9": 999_000,
    "p99.99": 999_900,
    "p99.999": 999_990,
}


@dataclass(frozen=True)
class Histogram:
    """`counts[i]` samples of `lengths_ns[i]`, rising; `over` more, each longer than `beyond_ns`."""

    lengths_ns: np.ndarray
    counts: np.ndarray
    over: int = 0
    beyond_ns: float = 0.0

    @classmethod
    def of(cls, buckets: Sequence[tuple[float, int]], over: int = 0, beyond_ns: float = 0.0) -> Histogram:
        """Returns the histogram of (length, count) pairs; empty buckets are left out."""
        filled = [(length, count) for length, count in buckets if count]
        lengths = np.array([length for length, _ in filled], dtype=np.float64)
        return cls(lengths, np.array([count for _, count in filled], dtype=np.int64), over, beyond_ns)

    @property
    def samples(self) -> int:
        return int(self.counts.sum()) + self.over

    @property
    def total_ns(self) -> float:
        """The sum of all lengths; a lower bound if some are over."""
        return float((self.lengths_ns * self.counts).sum()) + self.over * self.beyond_ns

    @property
    def longest_ns(self) -> float:
        """The longest length, or its lower bound; 0 of no sample."""
        if self.over:
            return self.beyond_ns
        return float(self.lengths_ns[-1]) if len(self.lengths_ns) else 0.0

    def listed(self) -> np.ndarray:
        """Returns every sample's length, the lower bounds last; none if there are too many."""
        if self.samples > LISTED_MAX:
            return np.empty(0)
        return np.concatenate([np.repeat(self.lengths_ns, self.counts), np.full(self.over, self.beyond_ns)])

    def percentiles(self) -> dict[str, float]:
        """Returns the percentiles that a sample is above, and that are in a bucket."""
        samples, ends = self.samples, np.cumsum(self.counts)
        found = {}
        for name, part in PERCENTILES.items():
            rank = (samples * part + 999_999) // 1_000_000
            if samples * (1_000_000 - part) >= 1_000_000 and rank <= samples - self.over:
                found[name] = float(self.lengths_ns[np.searchsorted(ends, rank, side="left")])
        return found

    def totals(
        self, total_ns: float | None = None, longest_ns: float | None = None, mean_ns: float | None = None
    ) -> Totals:
        """Returns the totals; the arguments are what the source states, or knows better."""
        if not self.samples:
            return Totals(0, 0.0, 0.0)
        total_ns = self.total_ns if total_ns is None else total_ns
        if mean_ns is None and not self.over:
            mean_ns = total_ns / self.samples
        return Totals(
            self.samples,
            total_ns,
            self.longest_ns if longest_ns is None else longest_ns,
            float(self.lengths_ns[0]) if len(self.lengths_ns) else None,
            mean_ns,
            self.percentiles(),
        )


def histogram_trace(source: str, format: str, histogram: Histogram, totals: Totals, **more: Any) -> Trace:
    """Returns the trace of a timer's latencies; `more` as of `latency_trace`."""
    lengths = histogram.listed()
    return latency_trace(
        source,
        format,
        lengths,
        totals,
        doubt=over_doubt(histogram.over),
        over=min(histogram.over, len(lengths)),
        **more,
    )
