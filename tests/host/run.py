#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the host tests' programs, several at a time, each with a time limit of its own; what one prints is
shown as a whole when it ends. A program that hangs is ended, fails by its name, and says in which test it was
(check.h).

    tests/host/run.py [--seconds N] PROGRAM[:PART/PARTS]…

A program that takes long runs in parts: as many processes, each with its share of the tests (check_part).
The seconds are a program's own (tools/qemu/own_time.py): on a busy machine it gets more by the wall clock.
Ends with the slowest programs, and with status 1 if any has failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from qemu.own_time import WALL_FACTOR, OwnTime

#: How long a program that is told to end may take to say where it was.
LAST_WORDS_S = 5.0
SHOWN_SLOWEST = 3


@dataclass
class Ended:
    """One program's end: its output, complete lines; `status` None where its time was over."""

    name: str
    output: str
    status: int | None
    seconds: float

    def report(self, limit_s: float) -> str:
        """The output, and for what a program could not report itself a line with its name and numbers."""
        if self.status is None:
            return f"{self.output}{self.name}: no end within {limit_s:g} s\n{self.name}: 0 passed, 1 failed\n"
        if self.status not in (0, 1) or " passed, " not in self.output:
            how = f"signal {-self.status}" if self.status < 0 else f"status {self.status}"
            return (
                f"{self.output}{self.name}: ended by {how} without numbers\n{self.name}: 0 passed, 1 failed\n"
            )
        return self.output


def run(program: str, limit_s: float) -> Ended:
    """One program to its end, or to its limit."""
    begun = time.monotonic()
    path, _, part = program.partition(":")
    process = subprocess.Popen(
        [os.path.abspath(path), *filter(None, [part])],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    own = OwnTime(process.pid)
    in_time, output = True, ""
    while True:
        left = min(limit_s - own.seconds(), limit_s * WALL_FACTOR - own.wall())
        try:
            output, _ = process.communicate(timeout=max(left, 0.05))
            break
        except subprocess.TimeoutExpired:
            if left > 0:
                continue
        in_time = False
        process.terminate()
        try:
            output, _ = process.communicate(timeout=LAST_WORDS_S)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
        break
    if output and not output.endswith("\n"):
        output += "\n"
    status = process.returncode if in_time else None
    name = " part ".join(filter(None, [Path(path).name, part.replace("/", " of ")]))
    return Ended(name, output, status, time.monotonic() - begun)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300, help="limit of each program (default 300)")
    parser.add_argument("programs", nargs="+", metavar="PROGRAM")
    arguments = parser.parse_args()
    ended: list[Ended] = []
    failed = False
    with ThreadPoolExecutor(max(2, len(os.sched_getaffinity(0)))) as pool:
        running = [pool.submit(run, program, arguments.seconds) for program in arguments.programs]
        for one in (future.result() for future in as_completed(running)):
            said = one.report(arguments.seconds)
            print(said, end="", flush=True)
            failed |= one.status != 0 or said != one.output
            ended.append(one)
    # As pytest's --durations, for tests/run.py.
    for one in sorted(ended, key=lambda e: -e.seconds)[:SHOWN_SLOWEST]:
        print(f"{one.seconds:.2f}s call {one.name}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
