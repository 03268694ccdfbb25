# SPDX-License-Identifier: BSD-2-Clause
"""`lab bench-mpi`: compares mpi-lite with Debian's Open MPI and MPICH on this Linux machine: latency,
bandwidth, message rate and collectives between ranks that share memory, and over TCP's loopback.

The programs are apps/mpi-bench, compiled with each library's own compiler wrapper and the same options. In a
round each library runs each part once, in turn; each round begins with another library, so other work of the
machine affects all alike. The figure of a run is the median of its samples. Of the two other libraries, the
better one is chosen for each row by its lower median over the rounds. The ratio is mpi-lite's figure divided
by the better one's in the same round: below 1 mpi-lite is faster. The table has the median ratio over the
rounds and its interval. A row is `as fast` if the median is at most 1, `undecided` if it is larger
but the interval includes 1, and `SLOWER` otherwise. Rows that are not as fast are listed; there is no average
over rows.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

import numpy as np

from lab.common.errors import LabError
from lab.common.files import text_write
from lab.common.paths import REPORT, ROOT
from lab.common.text import table
from lab.statistics.order import median_interval

SUMMARY = "Compare mpi-lite with Open MPI and MPICH on this machine."

SOURCES = ROOT / "apps/mpi-bench"
LIBRARY = ROOT / "apps/lib"
SHARED = [SOURCES / "common.c", LIBRARY / "parse.c", LIBRARY / "order.c"]
OURS = "mpi-lite"
#: Time limit of a part, s.
LIMIT_S = 300
#: A median of fewer has no interval.
ROUNDS_MIN = 6
CONFIDENCE = 0.95

#: The parts: a program's name and its options. Rows are named by their first two columns.
PARTS = (
    ("pingpong", "-m latency -s 0,1,2,4,8 -n 300 -w 50 -b 20"),
    ("pingpong", "-m latency -s 1K,4K,16K,64K,256K,1M,4M -n 60 -w 10"),
    ("pingpong", "-m bandwidth -s 4K,16K,64K,256K,1M,4M -n 20 -w 4"),
    ("pingpong", "-m rate -s 8 -n 20 -w 4"),
    ("collbench", "-c barrier -n 1000"),
    ("collbench", "-c bcast,allreduce,alltoall -s 8,64,1K,8K,64K,256K,1M -n 60 -w 10"),
)


@dataclass(frozen=True)
class Mpi:
    """One library: its compiler wrapper, its launcher, and their environment. `network` and
    `network_environment` are the options and variables that keep its ranks from sharing memory."""

    name: str
    compiler: str
    launcher: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    network: list[str] = field(default_factory=list)
    network_environment: dict[str, str] = field(default_factory=dict)


MPIS = (
    Mpi(
        OURS,
        str(ROOT / "apps/mpi-lite/tacet-mpicc"),
        [str(ROOT / "build/service/tacet-mpirun")],
        {"TACET_MPI_LIBC": "glibc"},
        network=["--nodes", "2"],
    ),
    Mpi(
        "Open MPI",
        "mpicc.openmpi",
        ["mpirun.openmpi"],
        {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
        network=["--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo"],
    ),
    Mpi(
        "MPICH",
        "mpicc.mpich",
        ["mpiexec.mpich"],
        network_environment={"UCX_TLS": "tcp,self", "MPIR_CVAR_NOLOCAL": "1", "UCX_NET_DEVICES": "lo"},
    ),
)

#: For each row, the microseconds of each round.
Times = dict[tuple[str, str], list[float]]


def build(mpi: Mpi, folder: Path) -> None:
    """Compiles both programs with this library. LabError with the compiler's message."""
    if not shutil.which(mpi.compiler):
        raise LabError(f"{mpi.compiler}: not found; ports/deps.sh bench installs {mpi.name}")
    for program in ("pingpong", "collbench"):
        words = [
            *(mpi.compiler, "-std=gnu11", "-O2", "-w", f"-I{LIBRARY}", SOURCES / f"{program}.c", *SHARED),
            *("-o", folder / f"{program}.{mpi.name}", "-lm"),
        ]
        done = subprocess.run(
            [str(word) for word in words],
            env={**os.environ, **mpi.environment},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise LabError(f"{mpi.compiler} cannot compile {program}: {done.stderr.strip()[-500:]}")


def rows_read(said: str) -> dict[tuple[str, str], float]:
    """Returns the rows of pingpong's or collbench's table: the mode or collective, bytes, and the median in
    µs."""
    rows = {}
    header: list[str] = []
    for line in said.splitlines():
        words = line.lstrip("#").split()
        if line.startswith("#") and "median" in words:
            header = words
        elif not line.startswith("#") and header and len(words) == len(header):
            rows[words[0], words[1]] = float(words[header.index("median")])
    if not rows:
        raise LabError(f"the benchmark printed no rows: {said.strip()[-300:]!r}")
    return rows


def part_run(
    mpi: Mpi, folder: Path, part: tuple[str, str], ranks: int, network: bool, before: Sequence[str]
) -> dict[tuple[str, str], float]:
    """Runs one part once."""
    program, options = part
    words = [
        *before,
        *mpi.launcher,
        *(mpi.network if network else []),
        *("-n", str(ranks), str(folder / f"{program}.{mpi.name}"), *options.split()),
    ]
    environment = {**os.environ, **mpi.environment, **(mpi.network_environment if network else {})}
    if ranks > len(os.sched_getaffinity(0)) and mpi.name == "Open MPI":
        words.insert(len(before) + 1, "--oversubscribe")
    try:
        done = subprocess.run(
            words, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise LabError(f"{shlex.join(words)}: timed out after {LIMIT_S} s") from None
    if done.returncode:
        raise LabError(f"{shlex.join(words)}: status {done.returncode}: {done.stderr.strip()[-500:]}")
    return rows_read(done.stdout)


def measure(
    folder: Path,
    parts: Sequence[tuple[str, str]],
    rounds: int,
    ranks: int,
    network: bool,
    before: Sequence[str],
) -> dict[str, Times]:
    """Returns, for each library and row, the median of each round."""
    times: dict[str, Times] = {mpi.name: {} for mpi in MPIS}
    for number in range(rounds):
        for part in parts:
            first = number % len(MPIS)
            for mpi in (*MPIS[first:], *MPIS[:first]):
                for row, median in part_run(mpi, folder, part, ranks, network, before).items():
                    times[mpi.name].setdefault(row, []).append(median)
    return times


@dataclass(frozen=True)
class Row:
    """One line of the comparison; `us` has each library's median over the rounds."""

    name: str
    bytes: str
    us: dict[str, float]
    better: str
    ratio: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        return "as fast" if self.ratio <= 1 else "undecided" if self.low <= 1 else "SLOWER"


def compare(times: dict[str, Times]) -> list[Row]:
    """Returns the ratio of mpi-lite to the better other library, for each row."""
    rows = []
    for row, ours in times[OURS].items():
        us = {name: float(np.median(of[row])) for name, of in times.items()}
        better = min((name for name in us if name != OURS), key=lambda name: us[name])
        ratios = np.array(ours) / np.array(times[better][row])
        interval = median_interval(ratios, CONFIDENCE)
        rows.append(Row(*row, us, better, float(np.median(ratios)), interval.low, interval.high))
    return rows


def as_table(rows: Iterable[Row], rounds: int) -> str:
    """Returns a table of all rows, and after it the list of those that are slower."""
    rows = list(rows)
    names = [mpi.name for mpi in MPIS]
    lines = [
        [
            row.name,
            row.bytes,
            *(f"{row.us[name]:.3f}" for name in names),
            row.better,
            f"{row.ratio:.3f}",
            f"{row.low:.3f} to {row.high:.3f}",
            row.verdict,
        ]
        for row in rows
    ]
    head = [
        *("µs, medians", "bytes", *names),
        *("better one", "ours / its", f"{CONFIDENCE:.0%} of {rounds} rounds", ""),
    ]
    said = []
    for verdict in ("as fast", "undecided", "SLOWER"):
        of = [f"{row.name} {row.bytes} ({row.ratio:.2f})" for row in rows if row.verdict == verdict]
        said.append(f"{verdict}: {len(of)} of {len(rows)} rows")
        if of and verdict != "as fast":
            said[-1] += f": {', '.join(of)}"
    return "\n".join([table(head, lines), "", *said])


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("bench-mpi", description=SUMMARY)
    parser.add_argument("--out", type=Path, default=REPORT, help="folder for mpi.json")
    parser.add_argument("--rounds", type=int, default=20, metavar="N", help="number of paired runs (20)")
    parser.add_argument(
        "--ranks", type=int, default=2, metavar="N", help="ranks of collectives; pingpong has two (2)"
    )
    parser.add_argument(
        "--transport", choices=("shared", "tcp", "both"), default="both", help="path of messages (both)"
    )
    parser.add_argument(
        "--before",
        default="",
        metavar="WORDS",
        help="a prefix for each launcher, such as 'nice -n -15' on a machine with other work",
    )
    parser.add_argument(
        "--only", default="", metavar="WORD", help="run parts whose program or options contain the word"
    )


def run(options: argparse.Namespace, out: TextIO | None = None) -> int:
    """Runs the command; `out` is for tests. Raises LabError or OSError."""
    if options.rounds < ROUNDS_MIN:
        raise LabError(f"--rounds {options.rounds}: too few for an interval; give at least {ROUNDS_MIN}")
    if options.ranks < 2:
        raise LabError(f"--ranks {options.ranks}: too few to exchange messages; give at least two")
    parts = [part for part in PARTS if options.only in " ".join(part)]
    if not parts:
        raise LabError(f"--only {options.only}: no part has it; parts are {'; '.join(map(' '.join, PARTS))}")
    results: dict[str, dict[str, dict[str, list[float]]]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for mpi in MPIS:
            build(mpi, Path(scratch))
        for transport in ("shared", "tcp"):
            if options.transport not in (transport, "both"):
                continue
            times = measure(
                Path(scratch),
                parts,
                options.rounds,
                options.ranks,
                transport == "tcp",
                shlex.split(options.before),
            )
            title = "shared memory" if transport == "shared" else "TCP's loopback"
            said = as_table(compare(times), options.rounds)
            print(f"\n{options.ranks} ranks, {title}\n\n{said}", file=out or sys.stdout, flush=True)
            results[transport] = {
                name: {" ".join(row): values for row, values in of.items()} for name, of in times.items()
            }
    options.out.mkdir(parents=True, exist_ok=True)
    text_write(options.out / "mpi.json", json.dumps(results, indent=1) + "\n")
    print(f"\n{options.out / 'mpi.json'}", file=out or sys.stdout, flush=True)
    return 0
