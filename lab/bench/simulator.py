# SPDX-License-Identifier: BSD-2-Clause
"""`lab bench-simulator`: speed and memory of the simulator, beside plain numpy doing the same dissemination
and beside the public simulator.

Each size runs in a process of its own, `sim bench` and numpy in turn on the same machine, so that their ratio
says more than their times. numpy works round by round on whole arrays: it knows the noise, but not that a
message which comes early is handled early, so its end differs a little.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from lab.common.errors import LabError
from lab.common.files import text_write
from lab.common.paths import REPORT, SIMULATOR
from lab.common.simulator import sim
from lab.common.text import table

SUMMARY = "Measure the simulator's speed and memory beside plain numpy and the public simulator."

#: The simulator's default parameters and its bench's noise, ns (simulator/parameters.hpp, bench.cpp).
L, O, G_MESSAGE = 2500.0, 1500.0, 7 * 6.0
PERIOD, DETOUR = 4_000_000.0, 10_000.0

#: Aims: one dissemination of 2^20 ranks.
SECONDS_BELOW = 0.3
MEGABYTES_BELOW = 300

#: The public simulator on a machine like this one, dissemination of 8 bytes, single thread: making and
#: converting the schedule, simulating it, and memory in MB, by ranks. For orientation: taken earlier.
PUBLIC = {65536: (3.1, 1.6, 456), 262144: (13.0, 13.7, 1900), 1048576: (64.0, 77.0, 7700)}


def work_done(now: np.ndarray, work: float, offset: np.ndarray) -> np.ndarray:
    """When `work` that begins at `now` ends under the physical rule, for work shorter than the period."""
    phase = (now + offset) % PERIOD
    start = now + np.where(phase < DETOUR, DETOUR - phase, 0.0)
    left = PERIOD - (start + offset) % PERIOD
    return start + work + np.where(left < work, DETOUR, 0.0)


def dissemination(ranks: int, seed: int = 1) -> np.ndarray:
    """When each rank ends, round by round."""
    offset = np.random.default_rng(seed).uniform(0, PERIOD, ranks)
    now = np.zeros(ranks)
    distance = 1
    while distance < ranks:
        sent = work_done(now, O, offset)
        arrival = np.roll(sent, distance) + L
        now = work_done(np.maximum(arrival, sent), O, offset) + G_MESSAGE
        distance *= 2
    return now


def measure(largest: int, largest_goal: int, repeats: int = 1) -> list[dict[str, Any]]:
    """The rows of `sim bench`, with numpy's seconds for the same ranks: of each row the quickest of `repeats`
    runs, and of numpy's."""
    runs = [
        json.loads(sim(["bench", "--json", "--largest", largest, "--largest-goal", largest_goal]))
        for _ in range(repeats)
    ]
    rows: list[dict[str, Any]] = [
        min(same, key=lambda row: float(row["seconds"])) for same in zip(*runs, strict=True)
    ]
    for row in rows:
        seconds = []
        for _ in range(repeats):
            begin = time.perf_counter()
            end = dissemination(row["ranks"])
            seconds.append(time.perf_counter() - begin)
        row["numpy_seconds"] = min(seconds)
        row["numpy_max_ns"] = float(end.max())
    return rows


def as_table(rows: list[dict[str, Any]]) -> str:
    lines = []
    for row in rows:
        name = "built-in pattern" if row["what"] == "pattern" else "GOAL text, reading included"
        public = PUBLIC.get(row["ranks"])
        faster = (
            f"{sum(public[:2]) / row['seconds']:.0f}x, {public[2] / row['megabytes']:.1f}x" if public else ""
        )
        aim = ""
        if row["what"] == "pattern" and row["ranks"] == 1 << 20:
            held = row["seconds"] < SECONDS_BELOW and row["megabytes"] < MEGABYTES_BELOW
            aim = f"< {SECONDS_BELOW} s, < {MEGABYTES_BELOW} MB: {'yes' if held else 'NO'}"
        lines.append(
            [
                f"{name}, {row['ranks']:,} ranks",
                f"{row['seconds']:.3g}",
                f"{row['cpu_seconds']:.3g}",
                f"{row['megabytes']:.0f}",
                f"{row['messages'] / row['seconds'] / 1e6:.1f}",
                f"{row['numpy_seconds'] / row['seconds']:.2f}",
                faster,
                aim,
            ]
        )
    head = [
        "dissemination under noise",
        "s",
        "CPU s",
        "MB",
        "million messages/s",
        "numpy's time / ours",
        "public: time, memory / ours",
        "aim",
    ]
    return table(head, lines)


def the_command(largest: int, repeats: int) -> str:
    """What a user waits for: `sim pattern` of the most ranks under the bench's noise, its simulation without
    noise, the start of the program and its summary included; the quickest of `repeats`."""
    words = [
        *("pattern", "dissemination", "-n", 1 << largest),
        *("--noise-period", round(PERIOD), "--noise-duration", round(DETOUR)),
    ]
    runs = [spent([SIMULATOR, *words]) for _ in range(repeats)]
    seconds, cpu = (min(run[k] for run in runs) for k in (0, 1))
    return f"sim {' '.join(map(str, words))}: {seconds:.3g} s, {cpu:.3g} CPU s"


#: The folder of a built public simulator: its LogGOPSim and txt2bin.
PUBLIC_FOLDER = "TACET_LOGGOPSIM"
#: What both simulate, text and all: pattern and log2 of its ranks.
SIDE_BY_SIDE = (("dissemination", 16), ("recursive-doubling", 16), ("bcast", 18))


def spent(words: list[object]) -> tuple[float, float]:
    """Seconds and CPU seconds of a command."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([str(word) for word in words], capture_output=True, check=False)
    seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise LabError(
            f"{words[0]} ended with {done.returncode}; give a folder of a public simulator that runs"
        )
    return seconds, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def side_by_side(folder: Path, repeats: int) -> str:
    """Ours on GOAL text, reading included, and the public simulator's simulation of its binary form, in turn;
    the quickest of `repeats` each. Its conversion stands beside it and is not counted."""
    for program in ("LogGOPSim", "txt2bin"):
        if not os.access(folder / program, os.X_OK):
            raise LabError(
                f"{PUBLIC_FOLDER}={folder}: no program {program} there; build the public simulator"
            )
    lines = []
    with tempfile.TemporaryDirectory() as scratch:
        text, binary = Path(scratch) / "schedule.goal", Path(scratch) / "schedule.bin"
        for pattern, log in SIDE_BY_SIDE:
            sim(["goal", pattern, "-n", 1 << log, "--output", text])
            converted = spent([folder / "txt2bin", "-i", text, "-o", binary])
            runs = [
                (spent([SIMULATOR, "run", text, "-q"]), spent([folder / "LogGOPSim", "-f", binary]))
                for _ in range(repeats)
            ]
            ours, public = (tuple(min(run[i][k] for run in runs) for k in (0, 1)) for i in (0, 1))
            lines.append(
                [
                    f"{pattern}, 2^{log} ranks",
                    *(f"{value:.3g}" for value in (*ours, *public, converted[0])),
                    f"{public[0] / ours[0]:.1f}",
                    f"{public[1] / ours[1]:.1f}",
                ]
            )
    head = ["GOAL text", "ours s", "CPU s", "public s", "CPU s", "converting s", "time / ours", "CPU / ours"]
    return table(head, lines)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("bench-simulator", description=SUMMARY)
    parser.add_argument("--out", type=Path, default=REPORT, help="folder for sim.json")
    parser.add_argument(
        "--largest", type=int, default=20, metavar="LOG2", help="of the built-in pattern's ranks (20)"
    )
    parser.add_argument(
        "--largest-goal", type=int, default=18, metavar="LOG2", help="of a schedule's ranks (18)"
    )
    parser.add_argument(
        "--repeats", type=int, default=5, metavar="N", help="runs, of which the quickest counts (5)"
    )


def run(options: argparse.Namespace, out: TextIO | None = None) -> int:
    """Carries the command out; `out` is for tests. LabError or OSError if it fails."""
    if options.repeats < 1:
        raise LabError(f"--repeats {options.repeats}: at least one run")
    rows = measure(options.largest, options.largest_goal, options.repeats)
    options.out.mkdir(parents=True, exist_ok=True)
    text_write(options.out / "sim.json", json.dumps(rows, indent=1) + "\n")
    print(f"\n{as_table(rows)}\n\n{options.out / 'sim.json'}", file=out or sys.stdout, flush=True)
    print(f"\n{the_command(options.largest, options.repeats)}", file=out or sys.stdout, flush=True)
    public = os.environ.get(PUBLIC_FOLDER)
    beside = (
        side_by_side(Path(public), options.repeats)
        if public
        else f"not beside the public simulator: {PUBLIC_FOLDER}=FOLDER names the folder of a built one"
    )
    print(f"\n{beside}", file=out or sys.stdout, flush=True)
    return 0
