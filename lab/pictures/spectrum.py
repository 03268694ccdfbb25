# SPDX-License-Identifier: BSD-2-Clause
"""Draws the spectrum of the time that the system takes, a panel per system, with the peaks that stand out of
white noise.

The spectrum ends at half of the sampling rate ([Hoefler10 §II]; lab/statistics/spectrum.py explains why).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lab.common.errors import DataError
from lab.common.text import time_text
from lab.formats.ftq import FtqData
from lab.formats.trace import Trace
from lab.pictures.frame import finish
from lab.pictures.style import GREY, System, bare, figure_new, grid, name_axes, nothing, plt, style_of
from lab.statistics import Spectrum, peaks, series_of, spectrum

#: A trace without samples is cut into at most this number of steps, which is what a picture can show.
STEPS = 1 << 14
STEP_LEAST_NS = 10_000.0
PEAKS_NAMED = 4


def trace_spectrum(trace: Trace) -> Spectrum:
    """Returns the spectrum of the ns that detours took in each quantum of FTQ, or in each step of at least 10
    µs."""
    step_ns = (
        float(trace.samples.quantum_ns)
        if isinstance(trace.samples, FtqData)
        else max(trace.listed_span_ns / STEPS, STEP_LEAST_NS)
    )
    return spectrum(series_of(trace, step_ns), step_ns)


def spectrum_picture(
    systems: Sequence[System],
    path: Path | str,
    *,
    title: str = "",
    notes: Sequence[str] = (),
    width: int = 1400,
) -> None:
    """Draws amplitude by frequency. DataError if a source has no starts or lengths."""
    if not systems:
        raise DataError("no system to draw; give one file or more")
    found = [trace_spectrum(system.trace) for system in systems]
    limit = max(s.limit_hz for s in found)
    size = (14, 0.6 + 2.1 * len(systems))
    figure, all_axes = figure_new(len(systems), 1, size, width, sharex=True, sharey=True)
    try:
        named = []
        top = max(float(s.amplitude.max()) for s in found)
        for i, (system, s, axes) in enumerate(zip(systems, found, all_axes[:, 0])):
            style = style_of(system.key, i)
            name_axes(
                axes,
                system.name,
                f"up to {s.limit_hz:,.0f} Hz, {s.resolution_hz:.3g} Hz apart",
                system.key,
                i,
            )
            axes.set_xlim(0, 1.005 * limit)
            axes.set_ylim(0, 1.35 * top if top else 1)
            bare(axes)
            grid(axes, "y")
            if not s.amplitude.any():
                nothing(
                    axes,
                    f"zero detours in {time_text(system.trace.span_ns)}"
                    if not system.trace.detours
                    else "equal noise in every step",
                    system.key,
                    i,
                )
                continue
            axes.vlines(
                s.frequency_hz,
                0,
                s.amplitude,
                colors=style.colour,
                linewidth=1.0,
                rasterized=len(s.amplitude) > 5000,
            )
            for peak in peaks(s, PEAKS_NAMED):
                right = peak.frequency_hz > 0.95 * limit
                words = axes.annotate(
                    f"{peak.frequency_hz:.4g} Hz",
                    (peak.frequency_hz, peak.amplitude),
                    xytext=(-4 if right else 4, 4),
                    textcoords="offset points",
                    fontsize=9.5,
                    ha="right" if right else "left",
                )
                named.append((peak.amplitude, words))
            if s.limit_hz < 0.999 * limit:
                axes.axvline(s.limit_hz, color=GREY, linewidth=0.8, linestyle=":")
        all_axes[-1, 0].set_xlabel("frequency, Hz")
        read = (
            "A periodic detour has peaks at its frequency and at multiples. Noise faster than the limit "
            "appears at a lower frequency."
        )
        finish(
            figure, path, width, title=title or "When noise comes: spectrum of the time taken",
            notes=[read, *notes], y_label="amplitude, ns per step",
            in_data=[words for _, words in sorted(named, key=lambda one: -one[0])],
        )  # fmt: skip
    finally:
        plt.close(figure)
