# SPDX-License-Identifier: BSD-2-Clause
"""Draws latencies of collective operations by the number of ranks, as boxplots [Hoefler10 Fig. 5-7].

The box is the middle half; the line in it is the median. The whiskers reach to the last value within 1.5
boxes; dots are values beyond them. A cross is the mean, which noise moves more than the median.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.patches import Patch

from lab.common.errors import DataError
from lab.pictures.frame import finish
from lab.pictures.style import NAMES, Style, bare, figure_new, grid, log_time_axis, looks_of, plt

#: Latencies in ns: by system, by ranks.
Latencies = Mapping[str, Mapping[int, Sequence[float]]]

RIGHT = 'it is {"SYSTEM": {"RANKS": [latency_ns, …]}}, or what `build/simulator/sim --json` writes'
FILE_MAX = 256 << 20


def _latencies(values: object) -> list[float] | None:
    """Returns a list of positive numbers, or None."""
    if not isinstance(values, list) or not values:
        return None
    good = all(
        isinstance(v, (int, float)) and not isinstance(v, bool) and math.isfinite(v) and v > 0 for v in values
    )
    return [float(v) for v in values] if good else None


def _simulated(path: Path | str, found: dict[str, object]) -> dict[int, list[float]]:
    """Returns the time of each simulation in a result of the simulator, by ranks (docs/lab/loggops.md)."""
    ranks, values = found.get("ranks"), _latencies(found.get("simulations_max_ns", [found.get("max_ns")]))
    if not isinstance(ranks, int) or isinstance(ranks, bool) or not 0 < ranks < 2**62 or values is None:
        raise DataError(f"{path}: no 'ranks' with positive 'simulations_max_ns'; {RIGHT}")
    return {ranks: values}


def _by_ranks(path: Path | str, system: str, found: object) -> dict[int, list[float]]:
    if not isinstance(found, dict) or not found:
        raise DataError(f"{path}: {system[:40]!r} does not map ranks to latencies; {RIGHT}")
    result = {}
    for ranks, values in found.items():
        latencies = _latencies(values)
        if not (ranks.isascii() and ranks.isdigit() and 0 < int(ranks[:19]) < 2**62) or latencies is None:
            raise DataError(
                f"{path}: {system[:40]!r}, {ranks[:20]!r} ranks: not a list of positive latencies; {RIGHT}"
            )
        result[int(ranks)] = latencies
    return result


def latencies_read(path: Path | str, system: str = "") -> dict[str, dict[int, list[float]]]:
    """Reads latencies from a JSON file: of several systems, or of one simulation of `system`. Raises
    DataError or OSError."""
    with Path(path).open("rb") as file:
        raw = file.read(FILE_MAX + 1)
    if len(raw) > FILE_MAX:
        raise DataError(f"{path}: more than {FILE_MAX} bytes; {RIGHT}")
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise DataError(f"{path}:{line}: not JSON: {str(error)[:80]}; {RIGHT}") from None
    if not isinstance(found, dict) or not found:
        raise DataError(f"{path}: no systems; {RIGHT}")
    if "max_ns" in found:
        return {system: _simulated(path, found)}
    return {key: _by_ranks(path, key, values) for key, values in found.items()}


def _face(style: Style) -> str:
    """Returns the colour of a box: white below a hatch, else light enough for a black median."""
    if style.hatch:
        return "white"
    return "#" + "".join(f"{round(0.5 * int(style.colour[i : i + 2], 16) + 127.5):02x}" for i in (1, 3, 5))


def collective_picture(
    latencies_ns: Latencies,
    path: Path | str,
    *,
    title: str = "",
    notes: Sequence[str] = (),
    width: int = 1400,
) -> None:
    """Draws the boxes of all systems side by side at each number of ranks; latencies in ns, above 0, on a
    logarithmic axis. Raises DataError."""
    if not latencies_ns or not any(latencies_ns.values()):
        raise DataError("no latencies to draw: no system has any for a number of ranks")
    all_ranks = sorted({ranks for by_ranks in latencies_ns.values() for ranks in by_ranks})
    share = 0.8 / len(latencies_ns)
    figure, ((axes,),) = figure_new(1, 1, (14, 4.8), width)
    try:
        handles = []
        styles = looks_of(list(latencies_ns))
        for i, ((name, by_ranks), style) in enumerate(zip(latencies_ns.items(), styles)):
            places = [
                all_ranks.index(ranks) + (i - (len(latencies_ns) - 1) / 2) * share
                for ranks in sorted(by_ranks)
            ]
            drawn = axes.boxplot(
                [np.asarray(by_ranks[ranks]) for ranks in sorted(by_ranks)],
                positions=places,
                widths=0.8 * share,
                patch_artist=True,
                manage_ticks=False,
                showmeans=True,
                meanprops={"marker": "x", "markeredgecolor": "black", "markersize": 5},
                medianprops={"color": "black", "linewidth": 1.6},
                whiskerprops={"color": style.colour},
                capprops={"color": style.colour},
                flierprops={
                    "marker": ".",
                    "markersize": 3,
                    "markerfacecolor": style.colour,
                    "markeredgecolor": "none",
                    "alpha": 0.5,
                    "rasterized": True,
                },
            )
            for box in drawn["boxes"]:
                box.set(facecolor=_face(style), edgecolor=style.colour, hatch=style.hatch, linewidth=1.2)
            looks = {"facecolor": _face(style), "edgecolor": style.colour, "hatch": style.hatch}
            handles.append(Patch(**looks, label=NAMES.get(name, name)))
        axes.set_yscale("log")
        log_time_axis(axes.yaxis, *axes.get_ylim())
        axes.set_xlim(-0.6, len(all_ranks) - 0.4)
        axes.set_xticks(range(len(all_ranks)), [f"{ranks:,}" for ranks in all_ranks])
        axes.set_xlabel("ranks")
        axes.set_ylabel("latency")
        bare(axes)
        grid(axes, "y")
        read = "Box: middle half and median; whiskers: 1.5 boxes; dots: beyond; cross: mean."
        finish(
            figure, path, width, title=title or "Latency of a collective operation", notes=[read, *notes],
            legend=handles,
        )  # fmt: skip
    finally:
        plt.close(figure)
