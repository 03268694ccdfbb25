#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes random system calls on a Tacet node for a given time: `make fuzz-calls MINUTES=60`, or

    tests/fuzz/calls.py [--minutes M] [--seed S] [--threads T] [--cpus N] [--cpu C] [--arch A]

Runs machines of two ranks one after the other, each with the next seed: rank 1 runs
tests/programs/call_fuzz.c for a minute, rank 0 watches. Ends with status 1 at the first failure: the kernel
stops, a rank is killed, memory or counters of rank 0 have changed, or an address of the kernel has leaked.
Then it prints the seed, and makes the same calls again to name the last one.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import qemu
from qemu import architectures

PROGRAM = "tests/call_fuzz.musl-pie"


def run(
    seed: int,
    *,
    threads: int = 1,
    cpus: int | None = None,
    seconds: int = 60,
    options: str = "",
    cpu: str | None = None,
    arch: str = architectures.DEFAULT,
    trace_from: int | None = None,
) -> qemu.Result:
    """Runs one machine. Each rank has half of its CPUs: as many as `threads` if `cpus` is None."""
    words = ["-s", str(seed), "-t", str(seconds), "-j", str(threads)]
    if trace_from is not None:
        words += ["-T", str(trace_from)]
    return qemu.run_tacet(
        qemu.BUILD / arch / PROGRAM,
        words,
        arch=arch,
        cpus=cpus or 2 * threads,
        memory="256M",
        options=f"ranks=2 {options}".strip(),
        cpu=cpu,
        time_limit=seconds + 60,
    )


def harm(result: qemu.Result) -> str:
    """Returns what went wrong, or an empty text."""
    if result.outcome != "exit":
        return f"the node did not come to its end: {result.outcome}, {result.reason}"
    if broken := re.search(r".*(?:the kernel itself|ended by).*", result.console):
        return broken[0].strip()
    if result.status != 0:
        said = [
            line
            for line in result.stderr.decode(errors="replace").splitlines()
            if line.startswith("call_fuzz: ")
        ]
        return f"status {result.status}: {said[-1] if said else 'call_fuzz printed no reason'}"
    if b"calls: " not in result.stdout or b"nothing changed" not in result.stdout:
        return "a rank did not print its result"
    return ""


def last_call(result: qemu.Result, seed: int, threads: int, arch: str = architectures.DEFAULT) -> str:
    """Makes the same calls again, and returns the last one before the end. With several threads calls have no
    fixed order: returns only the words that repeat the run."""
    seen = [int(number) for number in re.findall(rb"^0:(\d+)$", result.stderr, re.MULTILINE)]
    again = f"again: call_fuzz -s {seed} -j {threads} -T {seen[-1] if seen else 0}"
    if threads > 1:
        return again
    traced = run(seed, seconds=600, arch=arch, trace_from=seen[-1] if seen else 0)
    named = [
        line for line in traced.stderr.decode(errors="replace").splitlines() if re.match(r"\d+:\d+ ", line)
    ]
    return f"{again}\nlast call: {named[-1] if named else 'none was made'}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1, help="how long (default 1)")
    parser.add_argument(
        "--seed", type=int, default=int(time.time()), help="the first seed (default: the time)"
    )
    parser.add_argument("--threads", type=int, default=1, help="fuzzing threads in one process (default 1)")
    parser.add_argument("--cpus", type=int, help="of the machine (default: two for each thread)")
    parser.add_argument("--cpu", help="QEMU's name of a CPU (default: the architecture's usual one)")
    parser.add_argument("--arch", default=architectures.DEFAULT, choices=list(architectures.ALL))
    arguments = parser.parse_args()
    seed, end = arguments.seed, time.monotonic() + arguments.minutes * 60
    while (left := end - time.monotonic()) > 0:
        result = run(
            seed,
            threads=arguments.threads,
            cpus=arguments.cpus,
            seconds=max(1, min(60, int(left))),
            cpu=arguments.cpu,
            arch=arguments.arch,
        )
        summary = re.search(rb"calls: .*", result.stdout)
        print(f"seed {seed}: {summary[0].decode() if summary else 'no end'}", flush=True)
        if wrong := harm(result):
            print(
                f"{wrong}\n{last_call(result, seed, arguments.threads, arguments.arch)}\n{result.explain()}"
            )
            print(f"fuzz-calls: {seed - arguments.seed} passed, 1 failed")
            return 1
        seed += 1
    print(f"fuzz-calls: {seed - arguments.seed} passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
