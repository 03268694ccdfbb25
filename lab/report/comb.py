# SPDX-License-Identifier: BSD-2-Clause
"""Finds detours at a steady rate, like the teeth of a comb: the clock tick of a kernel.

The start of a detour is an angle on a circle that turns once per period. Detours of that period all point
in one direction, other detours in all directions, so the length of the vector sum counts the detours that
belong to the comb (Rayleigh's test). The sum is taken for each second, so that an error of the clock's rate
does not smear it. A comb of 250 Hz also fits 500 and 1000 Hz, so the slowest rate that fits is taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lab.formats.trace import Trace

#: Tick rates that Linux kernels can be configured with.
TICKS_HZ = (100.0, 250.0, 300.0, 1000.0)
BLOCK_NS = 1e9
#: The least share of the comb's possible teeth that were seen, and of all detours that belong to the comb.
COVERAGE_MIN = 0.4
SHARE_MIN = 0.15
#: Cosine of the largest angle between a tooth and the comb's direction.
POINTING_MIN = 0.9


@dataclass(frozen=True)
class Comb:
    """Detours at a steady rate: the share of the comb's teeth that were seen, the median length of a tooth,
    and the share of time that they take."""

    rate_hz: float
    coverage: float
    tooth_ns: float

    @property
    def lost_ratio(self) -> float:
        return self.rate_hz * self.coverage * self.tooth_ns / 1e9


def comb_find(trace: Trace, rates: tuple[float, ...] = TICKS_HZ) -> Comb | None:
    """Returns the comb of the slowest rate that the detours fit, or None. It needs exact start times, so the
    result for FTQ and FWQ is always None."""
    if not trace.complete or trace.format in ("ftq", "fwq") or trace.listed < 8:
        return None
    starts, durations = trace.start_ns, trace.duration_ns
    free_ns = trace.listed_span_ns - float(durations.sum())
    block = (starts // BLOCK_NS).astype(np.int64)
    for rate in sorted(rates):
        turns = np.exp(2j * np.pi * rate / 1e9 * starts)
        sums = np.bincount(block, weights=turns.real) + 1j * np.bincount(block, weights=turns.imag)
        together = float(np.abs(sums).sum())
        if together < SHARE_MIN * trace.listed:
            continue
        pointing = (turns * np.conj(sums[block] / np.maximum(np.abs(sums[block]), 1e-9))).real
        teeth = pointing > POINTING_MIN
        taken = len(np.unique((starts[teeth] * (rate / 1e9)).astype(np.int64)))
        coverage = taken / max(rate * free_ns / 1e9, 1.0)
        if coverage >= COVERAGE_MIN:
            return Comb(rate, min(coverage, 1.0), float(np.median(durations[teeth])))
    return None
