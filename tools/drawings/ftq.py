# SPDX-License-Identifier: BSD-2-Clause
"""The README's picture of what `make run` measures: the operations that each quantum of FTQ lost on Tacet, on
Linux and on tuned Linux, on one scale [Betti09 Fig. 3].

The data are kept in docs/pictures/: FTQ's own files (`ftq-SYSTEM.dat`), and further figures from its summary
(`ftq.json`). Under QEMU's instruction counting, another run of the same kernels writes the same bytes.
"""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import dataclass
from pathlib import Path

from lab.common.text import percent_text, time_text
from lab.formats import ftq
from tools.drawings.sources import ROOT
from tools.drawings.svg import EDGE, GREY, INK, NAVY, ORANGE, STONE, TEAL, Drawing, DrawingError, number

KEPT = ROOT / "docs" / "pictures"

#: Systems in the order of the panels: name, colour, what the counter counts.
SYSTEMS = {
    "tacet": ("Tacet", NAVY, "kernel entries"),
    "linux": ("Linux", ORANGE, "interrupts"),
    "linux_tuned": ("Linux, tuned", TEAL, "interrupts"),
}

#: Systems whose CPUs take turns on one clock: only losses of at least a turn count; the data give its length.
TAKES_TURNS = ("linux_tuned",)

#: The plot's left and right edge, and its height, in px.
LEFT, RIGHT, HIGH = 62.0, 768.0, 88.0
#: The scale: linear up to two operations (where noise begins), logarithmic above.
LINEAR, LINEAR_PX, TOP = 2.0, 20.0, 1000.0


@dataclass(frozen=True)
class Measured:
    """One system's data, figures, and its CPU's kernel entries (Linux: interrupts) in the window."""

    data: ftq.FtqData
    summary: ftq.FtqSummary
    kernel_entries: int


def data_name(key: str) -> str:
    return f"ftq-{key}.dat"


def measured(folder: Path = KEPT) -> dict[str, Measured]:
    """The folder's measurements, by system. Raises DrawingError."""
    missing = [name for name in ("ftq.json", *map(data_name, SYSTEMS)) if not (folder / name).is_file()]
    if missing:
        raise DrawingError(
            f"{folder} lacks {', '.join(missing)}; make run leaves a measurement in build/report"
        )
    figures = json.loads((folder / "ftq.json").read_text(encoding="utf-8"))
    found = {}
    for key in SYSTEMS:
        entries = figures.get(key, {}).get("kernel_entries")
        if not isinstance(entries, int):
            raise DrawingError(f"{folder}/ftq.json has no kernel_entries of {key}; make run writes them")
        path = folder / data_name(key)
        data = ftq.parse(path.read_text(encoding="ascii"), str(path))[0]
        if key in TAKES_TURNS and not data.threshold_ns:
            raise DrawingError(f"{path}: measured without bounded turns; make run bounds them with QEMU 10")
        found[key] = Measured(data, ftq.summarise(data), entries)
    return found


def take_over(folder: Path, kept: Path = KEPT) -> None:
    """Copy the results of `make run` from `folder`, if they are complete."""
    entries = {key: {"kernel_entries": m.kernel_entries} for key, m in measured(folder).items()}
    for key in SYSTEMS:
        shutil.copyfile(folder / data_name(key), kept / data_name(key))
    (kept / "ftq.json").write_text(json.dumps(entries, indent=2) + "\n", encoding="utf-8")


def height_px(loss: float) -> float:
    """The height of a loss above the base line."""
    if loss <= LINEAR:
        return loss / LINEAR * LINEAR_PX
    return LINEAR_PX + (HIGH - LINEAR_PX) * math.log(loss / LINEAR) / math.log(TOP / LINEAR)


def panel(d: Drawing, key: str, top: float, one: Measured) -> None:
    name, colour, kind = SYSTEMS[key]
    base = top + 24 + HIGH
    s = one.summary
    d.text(LEFT, top + 14, f"{name}: {one.kernel_entries} {kind}", size=16, bold=True, colour=colour)
    d.text(
        RIGHT,
        top + 14,
        f"{s.disturbed_quanta} of {s.samples} quanta disturbed · largest loss {time_text(s.largest_loss_ns)}",
        size=13,
        anchor="end",
        colour=INK,
    )
    if s.losses.max() > TOP:
        raise DrawingError(f"FTQ on {name}: a loss of {s.losses.max()} operations is above the scale's top")
    d.box(LEFT, base - height_px(1.5), RIGHT - LEFT, height_px(1.5), STONE, radius=0)
    for loss in (2, 10, 100, 1000):
        y = base - height_px(loss)
        d.path(f"M{number(LEFT)} {number(y)}H{number(RIGHT)}", EDGE, 0.8)
        d.text(LEFT - 6, y + 4, f"{loss}", size=11, colour=GREY, anchor="end")
        if loss > 2:
            d.text(RIGHT + 6, y + 4, time_text(loss * s.floor_ns), size=11, colour=GREY)
    step = (RIGHT - LEFT) / s.samples
    places = [(LEFT + (i + 0.5) * step, int(loss)) for i, loss in enumerate(s.losses)]
    dots = "".join(
        f"M{number(x)} {number(base - height_px(loss))}h0"
        for x, loss in places
        if 0 < loss < s.disturbed_from
    )
    bars = "".join(
        f"M{number(x)} {number(base)}V{number(base - height_px(loss))}"
        for x, loss in places
        if loss >= s.disturbed_from
    )
    if dots:
        d.path(dots, colour, 2, round_ends=True)
    if bars:
        d.path(bars, colour, 1.3)
    else:
        d.text(
            (LEFT + RIGHT) / 2,
            base - height_px(10) - 5,
            "zero detours",
            size=21,
            colour=colour,
            italic=True,
            anchor="middle",
        )
    d.path(f"M{number(LEFT)} {number(base)}H{number(RIGHT)}", INK, 1.2)


def drawing() -> Drawing:
    found = measured()
    tacet = found["tacet"].summary
    seconds = tacet.samples * tacet.quantum_ns / 1e9
    tuned = found["linux_tuned"]
    turn = time_text(tuned.data.threshold_ns or 0)
    step = 128.0
    d = Drawing(
        512,
        "FTQ on Tacet, on Linux and on tuned Linux",
        "Operations lost in each of 1000 quanta of one millisecond: "
        + "; ".join(
            f"{SYSTEMS[key][0]} {m.summary.disturbed_quanta} disturbed quanta, {m.kernel_entries} "
            f"{SYSTEMS[key][2]}, noise {percent_text(m.summary.noise_ratio)}"
            for key, m in found.items()
        ),
    )
    d.text(
        LEFT,
        28,
        f"What the kernel takes from a program: {tacet.samples} quanta of "
        f"{time_text(tacet.quantum_ns)}, the same ELF file",
        size=15,
        bold=True,
    )
    d.text(LEFT, 47, "operations lost in a quantum (right: the same as time)", size=12, colour=GREY)
    for place, (key, one) in enumerate(found.items()):
        panel(d, key, 58 + place * step, one)
    base = 58 + 2 * step + 24 + HIGH
    for tenth in range(0, 11, 2):
        x = LEFT + (RIGHT - LEFT) * tenth / 10
        d.path(f"M{number(x)} {number(base)}v4", INK, 1)
        d.text(x, base + 17, f"{seconds * tenth / 10:g}", size=11, colour=GREY, anchor="middle")
    d.text(RIGHT + 14, base + 17, "s", size=11, colour=GREY)
    d.lines(
        LEFT,
        base + 40,
        [
            f"Grey band: one operation ({tacet.operation_ns:.0f} ns) short is the beat of clock and loop, no "
            "noise; two or more are.",
            f"Tuned Linux has two CPUs, which take turns of {turn} on one clock in QEMU: an operation lasts",
            f"{tuned.summary.operation_ns:.0f} ns there, and only a loss of a turn or more counts. Its ticks "
            "come on the other CPU.",
        ],
        size=12,
    )
    return d
