# SPDX-License-Identifier: BSD-2-Clause
"""Pictures can be read: no letters lie on letters or leave the sheet, no legend covers data, panels that are
compared have one scale, and names are written alike. Each kind is drawn small and large, of data that make
room scarce."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]

from pictures_checked import figures_seen, shown, words_of

from lab.formats import ftq, phase
from lab.formats.trace import Trace
from lab.pictures.bars import Bar, bar_picture
from lab.pictures.collectives import collective_picture
from lab.pictures.curves import CurvePanel, curve_picture
from lab.pictures.detours import scatter_picture, series_picture
from lab.pictures.distributions import DelayCurve, cdf_picture
from lab.pictures.frame import spread
from lab.pictures.ftq import Panel, ftq_picture
from lab.pictures.heat_map import heat_map_picture
from lab.pictures.law import law_picture, slowdown_picture
from lab.pictures.spectrum import spectrum_picture
from lab.pictures.style import STYLES, System, decade_text, key_of, looks_of, power_text, style_of
from lab.pictures.survival import SurvivalCurves, survival_picture
from lab.statistics import Delays, delays_of_trace

#: As wide as the documentation's pictures, as those of its pages, and as those of reports.
WIDTHS = (700, *(pytest.param(width, marks=pytest.mark.long) for width in (1000, 1400)))
#: Names that others chose: long ones, and such as mean something to matplotlib.
NAMES = (
    "Tacet",
    "Linux, PREEMPT_RT",
    "node $a_{1}$ of $x$",
    "BlueGene/P, ZeptoOS, all four cores of a node used",
)
S = 1_000_000_000


def trace_of(count: int, seconds: float, shortest: float, longest: float, seed: int = 1) -> Trace:
    random = np.random.default_rng(seed)
    starts = np.sort(random.uniform(0, seconds * S - longest, count))
    lengths = np.exp(random.uniform(math.log(shortest), math.log(longest), count))
    return Trace("x", "noise", starts, lengths, seconds * S)


def systems() -> list[System]:
    silent = Trace("x", "noise", np.zeros(0), np.zeros(0), 10.0 * S)
    lists = [silent, trace_of(2500, 10, 2e3, 2e4), trace_of(9000, 40, 1e3, 3e7), trace_of(40, 0.4, 900, 950)]
    return [System(key_of(name), name, trace) for name, trace in zip(NAMES, lists, strict=True)]


def delays_of(trace: Trace, grain_ns: int = 1_000_000) -> Delays:
    return delays_of_trace(trace, grain_ns)


def curves() -> list[DelayCurve]:
    return [DelayCurve(one.key, one.name, delays_of(one.trace)) for one in systems()]


def ftq_panels() -> list[Panel]:
    panels = []
    for i, name in enumerate(NAMES[:3]):
        lost = np.zeros(2000, int)
        lost[::4] = (0, 40, 11_000)[i]
        starts = np.arange(2000) * 1_000_000
        text = "# quantum_ns 1000000\n" + "".join(f"{at} {15_625 - n}\n" for at, n in zip(starts, lost))
        data = ftq.parse(text, name)[0]
        title = f"{name} (540 interrupts)"
        panels.append(Panel(key_of(name), title, data, ftq.summarise(data), remark="a remark" * (i == 1)))
    return [*panels, Panel("linux-tuned", "Linux, tuned", absent="no such kernel on this machine; " * 6)]


def latencies() -> dict[str, dict[int, list[float]]]:
    random = np.random.default_rng(3)
    return {
        name: {4**i: (1e4 * 2**i * (1 + random.pareto(1.2, 200))).tolist() for i in range(1, 11)}
        for name in ("tacet", "linux", "node $a_{1}$ of $x$", "Altix, slower network")
    }


def line(factor: float, count: int = 8) -> list[tuple[float, float]]:
    return [(4.0**i, 1 + factor * i) for i in range(1, count)]


SAME = [
    CurvePanel(
        f"({n}) allreduce, unsynchronized", {f"{us} µs every 100 ms": line(us * 3**n) for us in (16, 50)}
    )
    for n in range(6)
]
OTHER = [
    CurvePanel(f"({n}) case", {f"line {n} {'of a long name ' * n}{i}": line(i) for i in range(5)})
    for n in range(3)
]


def phases(grain_ns: int, count: int, silent: bool = False) -> phase.PhaseData:
    if silent:
        text = f"# Phase durations\n# grain_ns {grain_ns}\n# calibrated_ns {grain_ns}\n# phases {count}\n"
        return phase.parse(f"{text}# ticks_per_ns 1\n{grain_ns} {count}\n", "x")[0]
    text = (
        f"# Phase durations\n# grain_ns {grain_ns}\n# calibrated_ns {grain_ns}\n# phases {count}\n"
        f"# ticks_per_ns 1\n{grain_ns} {count - 12}\n{2 * grain_ns} 10\n{40 * grain_ns} 2\n"
    )
    return phase.parse(text, "x")[0]


SURVIVAL = [
    SurvivalCurves(key_of(name), name, {10**n: phases(10**n, 10 ** (10 - n)) for n in range(3, 9)})
    for name in NAMES
]
#: In half of the panels no phase of two systems is delayed, and of seven systems in all panels.
HALF = [
    SurvivalCurves(one.key, one.name, {10**n: phases(10**n, 1000, i < 2 and n > 5) for n in range(3, 9)})
    for i, one in enumerate(SURVIVAL)
]
CROWD = [*SURVIVAL[:1], *(SurvivalCurves("x", f"node {i}", {1000: phases(1000, 9, True)}) for i in range(7))]


@dataclass(frozen=True)
class Drawn:
    """A picture: its name, and the function that draws it to a path with a width."""

    name: str
    draw: Callable[[Path, int], None]


def hosts(rows: int, columns: int, marked: int = 0) -> Callable[[Path, int], None]:
    random = np.random.default_rng(rows)
    names = [f"rack-07-chassis-12-node-{i:05d}.cluster.example" for i in range(rows)]
    lost = 10 ** random.uniform(-6, -1, (rows, columns))
    lost[rows // 2] = 0
    return lambda path, width: heat_map_picture(
        names, [str(i) for i in range(columns)], lost, path, marked=names[:marked], width=width,
        title="Time lost by host and CPU",
    )  # fmt: skip


PICTURES = (
    Drawn("series", lambda path, width: series_picture(systems(), path, width=width, shown_ns=5e9)),
    Drawn("scatter", lambda path, width: scatter_picture(systems(), path, width=width)),
    Drawn("spectrum", lambda path, width: spectrum_picture(systems()[1:3], path, width=width)),
    Drawn("cdf", lambda path, width: cdf_picture(curves(), path, width=width)),
    Drawn(
        "cdf, tails",
        lambda path, width: cdf_picture(
            curves(), path, tails=curves()[1:3], width=width, log_from_ns=100, notes=["note " * 60]
        ),
    ),
    Drawn("law", lambda path, width: law_picture(curves(), path, width=width)),
    Drawn("slowdown", lambda path, width: slowdown_picture(curves(), path, tolerance=0.01, width=width)),
    Drawn("survival", lambda path, width: survival_picture(SURVIVAL, path, width=width)),
    Drawn("survival of one", lambda path, width: survival_picture(SURVIVAL[:1], path, width=width)),
    Drawn("survival, silent", lambda path, width: survival_picture(HALF, path, width=width)),
    Drawn("survival of a crowd", lambda path, width: survival_picture(CROWD, path, width=width)),
    Drawn("ftq", lambda path, width: ftq_picture(ftq_panels(), path, width=width, note="note " * 60)),
    Drawn("boxes", lambda path, width: collective_picture(latencies(), path, width=width)),
    Drawn(
        "bars",
        lambda path, width: bar_picture(
            [Bar(f"{name} (published)", {f"part {i}": 10.0**i for i in range(6)}) for name in NAMES], path,
            x="share", width=width,
        ),
    ),
    Drawn(
        "bars, logarithmic",
        lambda path, width: bar_picture(
            [Bar(name, {"all": 10.0**i}) for i, name in enumerate(NAMES)], path, x="cycles", log=True,
            title="words and /a/path" + "/x" * 400, notes=["y" * 500],
            width=width,
        ),
    ),
    Drawn(
        "curves, one legend",
        lambda path, width: curve_picture(
            SAME, path, x="processes", y="mean slowdown", log_y=True, columns=2, width=width,
            title="a title " * 20,
        ),
    ),
    Drawn(
        "curves, a legend each",
        lambda path, width: curve_picture(OTHER, path, x="ranks", y="increase, %", log_from=1, width=width),
    ),
    Drawn("heat map of one host", hosts(1, 4)),
    Drawn("heat map of many CPUs", hosts(30, 256, 4)),
    Drawn("heat map of many hosts", hosts(1200, 8, 40)),
)  # fmt: skip


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_letters_and_legends_cover_nothing(picture: Drawn, width: int, tmp_path: Path) -> None:
    with figures_seen():
        picture.draw(tmp_path / "a.png", width)


#: Pictures whose panels are compared, and whether they share the x axis, too.
COMPARED: dict[str, tuple[Callable[[Path], None], bool]] = {
    "curves": (lambda path: curve_picture(SAME, path, x="ranks", y="slowdown", log_y=True, columns=2), True),
    "curves, others": (lambda path: curve_picture(OTHER, path, x="ranks", y="increase", log_from=1), True),
    "series": (lambda path: series_picture(systems(), path, shown_ns=5e9), False),
    "scatter": (lambda path: scatter_picture(systems(), path), False),
    "survival": (lambda path: survival_picture(HALF, path), True),
}


@pytest.mark.parametrize("name", COMPARED)
def test_panels_that_are_compared_have_one_scale(name: str, tmp_path: Path) -> None:
    draw, both = COMPARED[name]
    with figures_seen() as seen:
        draw(tmp_path / "a.png")
    limits = {(axes.get_ylim(), axes.get_xlim() if both else None) for axes in shown(seen[0])}
    assert len(shown(seen[0])) > 2 and len(limits) == 1, limits


def test_numbers_are_those_of_the_whole_trace_if_its_beginning_is_drawn(tmp_path: Path) -> None:
    """Noise that begins later than the part that is drawn."""
    one = trace_of(1000, 10, 1e3, 1e5)
    late = System("linux", "Linux", Trace("x", "noise", one.start_ns + 10 * S, one.duration_ns, 20.0 * S))
    for draw in (scatter_picture, series_picture):
        with figures_seen() as seen:
            draw([late], tmp_path / "a.png", shown_ns=5e9)
            draw([late], tmp_path / "a.png")
        first, whole = (words_of(figure) for figure in seen)
        remark = f"50 detours a second, {100 * one.duration_ns.sum() / (20 * S):.3g} % of the time"
        assert remark in first and remark in whole
        assert any("the first 5 s" in words and "whole time" in words for words in first)
        assert not any("the first" in words for words in whole)


def test_systems_have_the_names_of_tables(tmp_path: Path) -> None:
    """Keys of files are no names: "linux" of a file is Linux in a picture, as `lab show` has it."""
    with figures_seen() as seen:
        collective_picture({"tacet": {4: [9e3]}, "linux-rt": {4: [9e4]}}, tmp_path / "a.png")
    assert {"Tacet", "Linux, PREEMPT_RT"} <= set(words_of(seen[0]))


def test_systems_of_one_colour_differ_in_line_marker_and_hatch() -> None:
    """The CPUs of a node, and more unknown systems than there are colours for."""
    for keys in (["linux"] * 8, [f"x{i}" for i in range(12)], ["tacet", "linux", "linux", "x", "tacet"]):
        looks = looks_of(keys)
        assert len({(look.colour, str(look.line), look.marker) for look in looks}) == len(keys)
        assert len({(look.colour, look.hatch) for look in looks}) == len(keys)
    assert looks_of(["tacet", "x", "linux-rt"]) == [style_of("tacet"), style_of("x", 1), style_of("linux-rt")]


def test_a_small_picture_s_colours_are_those_of_the_large_one(tmp_path: Path) -> None:
    """Each system's colour is found in a picture of few colours, although only a thin line has it."""
    keys = [*STYLES, "a", "b", "c", "d"]
    delays = delays_of(trace_of(500, 10, 2e3, 2e5))
    shown_curves = [
        DelayCurve(key, key, replace(delays, delay_ns=delays.delay_ns * (1 + i / 3)))
        for i, key in enumerate(keys)
    ]
    cdf_picture(shown_curves, tmp_path / "a.png", width=900)
    pixels = (255 * matplotlib.image.imread(tmp_path / "a.png")[..., :3]).round().reshape(-1, 3)
    for style in looks_of(keys):
        wanted = [int(style.colour[i : i + 2], 16) for i in (1, 3, 5)]
        assert np.abs(pixels - wanted).max(axis=1).min() < 20, style


def test_a_log_s_labels_are_numbers() -> None:
    assert [decade_text(value) for value in (1e-7, 1e-3, 0.5, 1, 20, 1e4, 1e6, 0)] == [
        "10⁻⁷", "0.001", "0.5", "1", "20", "10,000", "10⁶", "0",
    ]  # fmt: skip
    assert power_text(-12) == "10⁻¹²"


@pytest.mark.parametrize("seed", range(8))
def test_labels_that_are_spread_keep_their_order_and_their_distance(seed: int) -> None:
    random = np.random.default_rng(seed)
    places = np.sort(random.uniform(0, 100, int(random.integers(1, 60)))).tolist()
    found = spread(places, 1.5, 0, 100)
    assert len(found) == len(places) and found[0] >= 0.7 and found[-1] <= 99.3
    assert all(b - a >= 1.5 - 1e-9 for a, b in zip(found, found[1:]))
    assert spread([3, 50], 1.5, 0, 100) == [3, 50]
    crowd = spread([1.0] * 400, 1.5, 0, 100)
    assert all(b > a for a, b in zip(crowd, crowd[1:])) and crowd[-1] < 100


def test_a_heat_map_s_names_differ_where_hosts_do(tmp_path: Path) -> None:
    """The common domain goes first, then the middle: what is left is each host's own."""
    with figures_seen() as seen:
        hosts(130, 2, 9)(tmp_path / "a.png", 1000)
    names = [words for words in words_of(seen[0]) if "node" in words]
    assert len(names) == len(set(names)) == 10
