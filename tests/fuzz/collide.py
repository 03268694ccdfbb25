#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs threads that collide on few objects on a Tacet node for a given time: `make fuzz-collide
MINUTES=60`, or

    tests/fuzz/collide.py [--minutes M] [--seed S] [--family F]... [--each SECONDS] [--arch A] [--kernel K]
                          [--icount]

Runs machines one after the other, each with the next seed, the next of WAYS, and the next family of calls
(tests/programs/collide.c); the family "all" is all of them at once. The family "mounts" makes the calls of
"files" in a folder of a file server on this machine (x86_64 only; the server's timing does not depend on the
seed, so --icount does not repeat it exactly). Ends with status 1 at the first failure: the kernel stops, or
the program does not end with status 0. Then it prints the command that repeats it. With --icount a seed
always gives the same order of events, in turns of 1 µs. Without, the machine runs at full speed, and the same
seed may have to be tried more than once.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import qemu
from qemu import architectures

FAMILIES = (
    *("inet", "unix", "netlink", "events", "timers", "memory", "futexes", "signals", "threads", "files"),
    *("descriptors", "ipc", "all", "mounts"),
)
TURNS_NS = 1000
#: Calls of each thread with --icount, which counts calls instead of seconds.
ICOUNT_CALLS = 1500


@dataclass(frozen=True)
class Way:
    """A number of threads, a number of CPUs, and options of the kernel."""

    threads: int
    cpus: int
    options: str = ""


WAYS = (
    Way(4, 2),
    Way(7, 4),
    Way(4, 2, "rotation=100us raw_sockets=on"),
    Way(7, 4, "rotation=100us"),
    Way(4, 4, "raw_sockets=on"),
)


def run(
    seed: int,
    family: str,
    seconds: float,
    *,
    arch: str = architectures.DEFAULT,
    kernel: Path | None = None,
    icount: bool = False,
    calls: int | None = None,
) -> qemu.Result:
    """Runs one machine of one rank until each thread has made `calls`; for `seconds` if that is None."""
    way = WAYS[seed % len(WAYS)]
    words = ["-s", str(seed), "-j", str(way.threads)]
    words += ["-n", str(calls)] if calls else ["-t", f"{seconds:.0f}"]
    options = f"ranks=1 {way.options}"
    settings: dict[str, object] = {"icount": 0, "turns_ns": TURNS_NS, "qemu": "newest"} if icount else {}
    with contextlib.ExitStack() as stack:
        if family == "mounts":
            export = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            server = stack.enter_context(qemu.FileServer([export]))
            options += f" {server.option(export)}"
            words += ["-p", "/mnt"]
            settings["network"] = qemu.Network("user")
        return qemu.run_tacet(
            qemu.BUILD / arch / "tests/collide.glibc",
            [*words, "files" if family == "mounts" else family],
            arch=arch,
            kernel=kernel,
            cpus=way.cpus,
            memory="512M",
            options=options,
            time_limit=600 if calls else seconds + 120,
            **settings,
        )


def harm(result: qemu.Result) -> str:
    """Returns what went wrong, or an empty text."""
    if result.outcome != "exit":
        return f"the node did not come to its end: {result.outcome}, {result.reason}"
    if result.status != 0 or b" succeeded\n" not in result.stdout:
        return f"the program ended with status {result.status}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1, help="how long (default 1)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the first (default: the time)")
    parser.add_argument("--family", action="append", choices=FAMILIES, help="of calls (default: each)")
    parser.add_argument("--each", type=float, default=20, help="seconds of a machine (default 20)")
    parser.add_argument("--arch", default=architectures.DEFAULT, choices=list(architectures.ALL))
    parser.add_argument("--kernel", type=Path, help="another kernel, such as one built with LOCKCHECK=1")
    parser.add_argument("--icount", action="store_true", help="deterministic: one seed, one order")
    arguments = parser.parse_args()
    families = arguments.family or [
        one for one in FAMILIES if one != "mounts" or arguments.arch == architectures.DEFAULT
    ]
    if "mounts" in families and arguments.arch != architectures.DEFAULT:
        parser.error("the family mounts runs only on x86_64")
    seed, end = arguments.seed, time.monotonic() + arguments.minutes * 60
    while (left := end - time.monotonic()) > 0:
        family = families[seed % len(families)]
        seconds = max(1.0, min(arguments.each, left))
        result = run(
            *(seed, family, seconds),
            arch=arguments.arch,
            kernel=arguments.kernel,
            icount=arguments.icount,
            calls=ICOUNT_CALLS if arguments.icount else None,
        )
        said = result.stdout.decode(errors="replace").strip().replace("\n", "; ")
        print(f"seed {seed}, {family}: {said or 'no end'}", flush=True)
        if wrong := harm(result):
            words = [word for word in sys.argv[1:] if word == "--icount"]
            words += [f"--kernel {arguments.kernel}"] if arguments.kernel else []
            again = f"--seed {seed} --family {family} --arch {arguments.arch} --each {seconds:.0f}"
            print(wrong, result.explain(), f"again: {' '.join([sys.argv[0], again, *words])}", sep="\n")
            print(f"fuzz-collide: {seed - arguments.seed} passed, 1 failed")
            return 1
        seed += 1
    print(f"fuzz-collide: {seed - arguments.seed} passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
