# SPDX-License-Identifier: BSD-2-Clause
"""`lab bench-simulator`: compares speed and memory of the simulator with plain numpy, which computes the same
dissemination, and with the public simulator.

Each size runs in a process of its own; `sim bench` and numpy run in turn on the same machine, so their ratio
is more meaningful than their times. numpy works round by round on whole arrays. It knows the noise, but not
that an early message is handled early, so its end differs a little.
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
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from lab.bench.schedules import SCHEDULES, schedule_write
from lab.common.errors import LabError
from lab.common.files import text_write
from lab.common.paths import REPORT, SIMULATOR
from lab.common.simulator import sim
from lab.common.text import table

SUMMARY = "Measure the simulator's speed and memory, compared with plain numpy and the public simulator."

#: The simulator's default parameters and the noise of its bench, ns (simulator/parameters.hpp, bench.cpp).
L, O, G_MESSAGE = 2500.0, 1500.0, 7 * 6.0
PERIOD, DETOUR = 4_000_000.0, 10_000.0

#: Aims for one dissemination of 2^20 ranks.
SECONDS_BELOW = 0.3
MEGABYTES_BELOW = 300

#: The public simulator on a similar machine, dissemination of 8 bytes, single thread, by ranks: s to make and
#: convert the schedule, s to simulate it, and memory in MB. For orientation; measured earlier.
PUBLIC = {65536: (3.1, 1.6, 456), 262144: (13.0, 13.7, 1900), 1048576: (64.0, 77.0, 7700)}


def work_done(now: np.ndarray, work: float, offset: np.ndarray) -> np.ndarray:
    """Returns when `work` that begins at `now` ends by the physical rule, for work shorter than the
    period."""
    phase = (now + offset) % PERIOD
    start = now + np.where(phase < DETOUR, DETOUR - phase, 0.0)
    left = PERIOD - (start + offset) % PERIOD
    return start + work + np.where(left < work, DETOUR, 0.0)


def dissemination(ranks: int, seed: int = 1) -> np.ndarray:
    """Computes round by round when each rank ends."""
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
    """Returns the rows of `sim bench`, with numpy's seconds for the same ranks; each is the quickest of
    `repeats` runs."""
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
    """Measures the time that a user waits: `sim pattern` with the most ranks under the bench's noise,
    including its simulation without noise, the program's start and its summary; the quickest of `repeats`."""
    words = [
        *("pattern", "dissemination", "-n", 1 << largest),
        *("--noise-period", round(PERIOD), "--noise-duration", round(DETOUR)),
    ]
    runs = [spent([SIMULATOR, *words]) for _ in range(repeats)]
    seconds, cpu = (min(run[k] for run in runs) for k in (0, 1))
    return f"sim {' '.join(map(str, words))}: {seconds:.3g} s, {cpu:.3g} CPU s"


#: The folder of a built public simulator, with its LogGOPSim and txt2bin.
PUBLIC_FOLDER = "TACET_LOGGOPSIM"
#: Sweep3D on 512 ranks is used instead of 64 if it is in that folder.
SWEEP3D_512 = "sweep3d-512.goal"
#: Built-in patterns that both simulate: pattern and log2 of its ranks.
SIDE_BY_SIDE = (("dissemination", 16), ("recursive-doubling", 16), ("bcast", 18))
#: Pairs of runs. The lowest and highest of six ratios hold their median with 97 % confidence, whatever the
#: distribution: all six are on one side of it in one of 2^5 cases.
PAIRS_MIN = 6


def spent(words: list[object]) -> tuple[float, float]:
    """Runs a command and returns its seconds and CPU seconds. Raises LabError."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([str(word) for word in words], capture_output=True, check=False)
    seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise LabError(
            f"{words[0]} ended with status {done.returncode}; give a folder of a working public simulator"
        )
    return seconds, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def ratio(theirs: list[float], ours: list[float]) -> str:
    """Returns the median of the pairs' ratios, and the lowest and highest."""
    ratios = [a / b for a, b in zip(theirs, ours, strict=True)]
    return f"{float(np.median(ratios)):.1f} [{min(ratios):.1f}, {max(ratios):.1f}]"


def schedule_rows(folder: Path, scratch: Path) -> Iterator[tuple[str, Path]]:
    """Writes the schedules of the comparison one after the other; yields their names and paths."""
    text = scratch / "schedule.goal"
    for pattern, log in SIDE_BY_SIDE:
        sim(["goal", pattern, "-n", 1 << log, "--output", text])
        yield f"{pattern}, 2^{log} ranks", text
    larger = folder / SWEEP3D_512
    for name in SCHEDULES:
        if name.startswith("Sweep3D") and larger.is_file():
            yield "Sweep3D, 512 ranks", larger
            continue
        schedule_write(name, text)
        yield name, text


def compared(name: str, text: Path, folder: Path, pairs: int) -> list[str]:
    """Returns a row: medians of the seconds, and the ratios of time and CPU time, in our order and in the
    public one."""
    binary = text.with_suffix(".bin") if text.name != SWEEP3D_512 else Path(f"{text}.bin")
    spent([folder / "txt2bin", "-i", text, "-o", binary])
    commands: list[list[object]] = [
        [folder / "LogGOPSim", "-b", "-f", binary],
        [SIMULATOR, "run", text, "-q"],
        [SIMULATOR, "run", text, "-q", "--like", "loggopsim"],
    ]
    for command in commands:
        spent(command)  # into the system's caches
    runs = [[spent(command) for command in commands] for _ in range(pairs)]
    public, ours, like = ([[run[which][k] for run in runs] for k in (0, 1)] for which in range(3))
    binary.unlink()
    return [
        name,
        *(f"{float(np.median(values)):.3g}" for values in (*ours, *public)),
        *(ratio(public[k], ours[k]) for k in (0, 1)),
        *(ratio(public[k], like[k]) for k in (0, 1)),
    ]


def side_by_side(folder: Path, repeats: int) -> str:
    """Compares, in turn, the simulator on GOAL text, reading included, with the public simulator on its
    binary form, whose conversion is not counted."""
    for program in ("LogGOPSim", "txt2bin"):
        if not os.access(folder / program, os.X_OK):
            raise LabError(
                f"{PUBLIC_FOLDER}={folder}: no program {program} there; build the public simulator first"
            )
    pairs = max(repeats, PAIRS_MIN)
    with tempfile.TemporaryDirectory() as scratch:
        lines = [compared(name, text, folder, pairs) for name, text in schedule_rows(folder, Path(scratch))]
    head = ["GOAL text", "ours s", "CPU s", "public s", "CPU s"]
    head += ["time / ours", "CPU / ours", "time / --like", "CPU / --like"]
    return f"{table(head, lines)}\n{pairs} pairs each: median [lowest, highest]"


def alone(repeats: int) -> str:
    """Measures Sweep3D if there is no public simulator; the quickest of `repeats`."""
    with tempfile.TemporaryDirectory() as scratch:
        text = Path(scratch) / "schedule.goal"
        schedule_write(next(iter(SCHEDULES)), text)
        runs = [spent([SIMULATOR, "run", text, "-q"]) for _ in range(repeats)]
    seconds, cpu = (min(run[k] for run in runs) for k in (0, 1))
    return (
        f"sim run of {next(iter(SCHEDULES))}: {seconds:.3g} s, {cpu:.3g} CPU s\n"
        f"public simulator: not compared; set {PUBLIC_FOLDER}=FOLDER to the folder of a built one"
    )


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("bench-simulator", description=SUMMARY)
    parser.add_argument("--out", type=Path, default=REPORT, help="folder for sim.json")
    parser.add_argument(
        "--largest", type=int, default=20, metavar="LOG2", help="log2 of the built-in pattern's ranks (20)"
    )
    parser.add_argument(
        "--largest-goal", type=int, default=18, metavar="LOG2", help="log2 of a schedule's ranks (18)"
    )
    parser.add_argument(
        "--repeats", type=int, default=5, metavar="N", help="number of runs; the quickest counts (5)"
    )


def run(options: argparse.Namespace, out: TextIO | None = None) -> int:
    """Runs the command; `out` is for tests. Raises LabError or OSError."""
    if options.repeats < 1:
        raise LabError(f"--repeats {options.repeats}: too few; give at least one")
    rows = measure(options.largest, options.largest_goal, options.repeats)
    options.out.mkdir(parents=True, exist_ok=True)
    text_write(options.out / "sim.json", json.dumps(rows, indent=1) + "\n")
    print(f"\n{as_table(rows)}\n\n{options.out / 'sim.json'}", file=out or sys.stdout, flush=True)
    print(f"\n{the_command(options.largest, options.repeats)}", file=out or sys.stdout, flush=True)
    public = os.environ.get(PUBLIC_FOLDER)
    comparison = side_by_side(Path(public), options.repeats) if public else alone(options.repeats)
    print(f"\n{comparison}", file=out or sys.stdout, flush=True)
    return 0
