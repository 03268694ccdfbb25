# SPDX-License-Identifier: BSD-2-Clause
"""Computes what the system takes: noise ratio, count and lengths of detours [Beckman06 §3.3, Table 4]."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lab.formats.reading import quantiles
from lab.formats.trace import Totals, Trace
from lab.statistics.errors import StatisticsError

#: Percentiles of detours' lengths, by their names in tables, in millionths.
PERCENTILES = {
    "median": 500_000,
    "p90": 900_000,
    "p99": 990_000,
    "p99.9": 999_000,
    "p99.99": 999_900,
    "p99.999": 999_990,
}


@dataclass(frozen=True)
class DetourFigures:
    """One trace's figures; lengths in ns, None if the source does not have them or if there are no
    detours."""

    detours: int
    per_second: float
    noise_ratio: float
    minimum_ns: float | None
    mean_ns: float | None
    percentiles_ns: dict[str, float]
    maximum_ns: float | None


def noise_ratio(trace: Trace) -> float:
    """Returns the share of the measured time that detours took, from 0 to 1 [Beckman06 §3.3, Table 4].
    Detours below the method's threshold are not counted, so two ratios can be compared only with the same
    threshold. StatisticsError if the source has no lengths or no measured time."""
    if trace.latencies:
        raise StatisticsError(f"{trace.source}: latencies of a timer; they take no time from a program")
    if not trace.durations_known and trace.detours:
        raise StatisticsError(
            f"{trace.source}: the {trace.format} format says when detours came, but not how long they took"
        )
    if math.isnan(trace.span_ns):
        raise StatisticsError(
            f"{trace.source}: the measured time is unknown; give it with --span SECONDS if you know it"
        )
    return trace.noise_ns / trace.span_ns


def detour_figures(trace: Trace) -> DetourFigures:
    """Computes count, rate (per second of measured time), ratio, and the lengths of the listed detours:
    minimum, mean, percentiles (the smallest length that is not below this share of the lengths, as defined in
    apps/include/order.h), maximum [Beckman06 Table 4].

    A percentile is present if at least one sample is beyond it and it is below all lengths that are known
    only as lower bounds. The mean is present if there are no such lengths."""
    known = trace.durations_known and trace.listed > 0
    lengths, count = trace.duration_ns, trace.listed
    maximum = float(lengths.max()) if known else None
    parts = {
        name: part
        for name, part in PERCENTILES.items()
        if known
        and count * (1_000_000 - part) >= 1_000_000
        and count * part <= (count - trace.over) * 1_000_000
    }
    percentiles = dict(zip(parts, quantiles(lengths, list(parts.values()))))
    totals = trace.totals or Totals(0, 0.0, 0.0)
    if trace.totals and trace.totals.detours:
        maximum = max(maximum or 0.0, trace.totals.longest_ns)
    return DetourFigures(
        detours=trace.detours,
        per_second=trace.detours * 1e9 / trace.span_ns,
        noise_ratio=math.nan
        if trace.latencies or math.isnan(trace.span_ns) or not (known or trace.totals or not trace.detours)
        else noise_ratio(trace),
        minimum_ns=float(lengths.min()) if known else totals.shortest_ns,
        mean_ns=float(lengths.mean()) if known and not trace.over else totals.mean_ns,
        percentiles_ns=percentiles if known else dict(totals.percentiles_ns),
        maximum_ns=maximum,
    )
