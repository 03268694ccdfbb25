# SPDX-License-Identifier: BSD-2-Clause
"""`lab bench-mpi-nodes`: compares messages between two nodes: mpi-lite on Tacet with Debian's Open MPI, and
with mpi-lite, on Linux. All four nodes are in one cluster in QEMU (tools/cluster) on one network.

The program is apps/mpi-bench/pingpong.c, compiled with each library's own wrapper. All nodes have one CPU,
the same memory and the same card; nodes whose turn it is not are idle. tacetrun starts the ranks; on Linux
Open MPI's own launcher starts its ranks, and reaches the other node through busybox's nc and a shell. In a
round each of the three runs once; each round begins with another one, so other work of this machine affects
all alike. The figure of a run is the median of its samples. The table has, for each size, the median over the
rounds of Tacet's time divided by Open MPI's in the same round, and its interval. The time of a
message in QEMU depends on this machine: only the ratio is meaningful. Writes `mpi_nodes.json` into `--out`.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np

from lab.bench import openmpi_files
from lab.common.errors import LabError
from lab.common.files import text_write
from lab.common.paths import REPORT, ROOT
from lab.common.text import table
from lab.statistics.order import median_interval

SUMMARY = "Compare messages between two nodes: mpi-lite on Tacet, Open MPI on Linux, in QEMU."

TACET, OPEN_MPI, LINUX = "Tacet, mpi-lite", "Linux, Open MPI", "Linux, mpi-lite"
SYSTEMS = (TACET, OPEN_MPI, LINUX)
SOURCES = ROOT / "apps/mpi-bench"
PARSER = ROOT / "apps/lib"
OURS = ROOT / "build/x86_64/mpi/pingpong"
OPTIONS = "-m latency -s {sizes} -n {samples} -w 10"
SIZES = "0,8,64,1K,4K,16K,64K,256K,1M"
CONFIDENCE = 0.95
#: A median of fewer has no interval.
ROUNDS_MIN = 6
#: Time limit of a run, s, and memory of each node, which holds Open MPI's files.
LIMIT_S = 600
MEMORY = "512M"
#: The place of the shared folder on the nodes, and its files.
PLACE = "/mnt"
ARCHIVE, PROGRAM, NODE_SCRIPT = "openmpi.tar", "/usr/bin/pingpong", "openmpi.sh"
AGENT = "/bin/tacet-agent"
#: The shell's port on the second node.
PORT = 2222

#: What Open MPI's launcher calls instead of ssh, with the node's name and the command for its shell. The node
#: may not listen yet.
AGENT_TEXT = f"""#!/bin/busybox sh
node=$1
shift
until echo "PATH=$PATH; export PATH; $*" | nc "$node" {PORT}; do
    usleep 200000
done
"""

#: What tacetrun starts on both Linux nodes, with the program's options: on the first node Open MPI's
#: launcher, on the other a shell that listens for it, and ends with it.
NODE_TEXT = f"""#!/bin/busybox sh
set -e
PATH=/usr/bin:/bin
export PATH HOME=/tmp TMPDIR=/tmp OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
[ -e {PROGRAM} ] || tar -x -f {PLACE}/{ARCHIVE} -C /
[ "$TACET_RANK" = 0 ] || exec nc -l -p {PORT} -e /bin/sh
exec orterun -n 2 --host linux1,linux2 --map-by node --leave-session-attached \\
    --mca plm rsh --mca plm_rsh_agent {AGENT} --mca pml ob1 --mca btl tcp,self {PROGRAM} "$@"
"""

Times = dict[str, dict[int, list[float]]]


def build(folder: Path) -> Path:
    """Compiles pingpong with Open MPI. LabError with the compiler's message."""
    program = folder / "pingpong.openmpi"
    sources = [SOURCES / "pingpong.c", SOURCES / "common.c", PARSER / "parse.c", PARSER / "order.c"]
    words = ["mpicc.openmpi", "-std=gnu11", "-O2", "-w", f"-I{PARSER}"]
    words += [*map(str, sources), "-o", str(program)]
    try:
        done = subprocess.run([*words, "-lm"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise LabError("mpicc.openmpi: not found; ports/deps.sh bench installs it") from None
    if done.returncode:
        raise LabError(f"mpicc.openmpi cannot compile pingpong: {done.stderr.strip()[-500:]}")
    return program


def command_of(system: str, options: str) -> str:
    """Returns the command of a run, for the shell that runs next to the cluster."""
    nodes = "node1,node2" if system == TACET else "linux1,linux2"
    words = ["tacetrun", "-i", "none", "-w", nodes, "-n", "2", "-K", "-t", str(LIMIT_S)]
    if system == OPEN_MPI:
        words += ["/bin/busybox", "sh", f"{PLACE}/{NODE_SCRIPT}"]
    else:
        words += ["--bcast", str(OURS)]
    return shlex.join([*words, *options.split()])


def output_of(folder: Path, system: str, number: int) -> Path:
    return folder / f"{system.replace(', ', '-').replace(' ', '')}-{number}"


def script_of(folder: Path, rounds: int, options: str) -> str:
    """Returns all rounds as a script, for the shell that runs next to the cluster."""
    lines = ["set -e"]
    for number in range(rounds):
        first = number % len(SYSTEMS)
        for system in (*SYSTEMS[first:], *SYSTEMS[:first]):
            path = shlex.quote(str(output_of(folder, system, number)))
            lines.append(f"echo {shlex.quote(f'round {number + 1} of {rounds}: {system}')}")
            lines.append(f"{command_of(system, options)} >{path}")
    return "\n".join([*lines, ""])


def rows_read(said: str) -> dict[int, float]:
    """Returns bytes and the median in µs of pingpong's rows."""
    rows = [line.split() for line in said.splitlines() if line.startswith("latency")]
    if not rows:
        raise LabError(f"pingpong printed no rows: {said.strip()[-300:]!r}")
    return {int(row[1]): float(row[4]) for row in rows}


def measure(folder: Path, rounds: int, options: str, out: TextIO, logs: Path) -> Times:
    """Runs the cluster and returns its times. LabError with the cluster's message."""
    openmpi_files.archive(folder / ARCHIVE, {PROGRAM: build(folder)}, {AGENT: AGENT_TEXT})
    text_write(folder / NODE_SCRIPT, NODE_TEXT)
    text_write(folder / "rounds.sh", script_of(folder, rounds, options))
    words = [str(ROOT / "tools/cluster"), "--nodes", "2", "--linux", "2", "--rate", "0", "--memory", MEMORY]
    words += ["--share", str(folder), "--logs", str(logs), "--", "sh", str(folder / "rounds.sh")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as cluster:
        assert cluster.stdout is not None and cluster.stderr is not None
        for line in cluster.stdout:
            print(line.rstrip(), file=out, flush=True)
        said = cluster.stderr.read()
    if cluster.returncode:
        raise LabError(f"the cluster ended with status {cluster.returncode}:\n{said.rstrip()[-2000:]}")
    times: Times = {system: {} for system in SYSTEMS}
    for system in SYSTEMS:
        for number in range(rounds):
            rows = rows_read(output_of(folder, system, number).read_text(errors="replace"))
            for size, median_us in rows.items():
                times[system].setdefault(size, []).append(median_us)
    return times


@dataclass(frozen=True)
class Row:
    """One size; `us` has each system's median over the rounds."""

    bytes: int
    us: Mapping[str, float]
    ratio: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """`undecided` if more rounds could change the verdict."""
        if self.low <= 1 < self.high:
            return "undecided"
        return "as fast" if self.high <= 1 else "SLOWER"


def compare(times: Times) -> list[Row]:
    """Returns Tacet's time divided by Open MPI's on Linux, in each round."""
    rows = []
    for size, ours in times[TACET].items():
        ratios = np.array(ours) / np.array(times[OPEN_MPI][size])
        interval = median_interval(ratios, CONFIDENCE)
        us = {system: float(np.median(times[system][size])) for system in SYSTEMS}
        rows.append(Row(size, us, float(np.median(ratios)), interval.low, interval.high))
    return rows


def as_table(rows: Sequence[Row], rounds: int) -> str:
    """Returns a table of all sizes, and after it those at which Tacet is slower."""
    lines = [
        [
            f"{row.bytes:,}",
            *(f"{row.us[system]:.1f}" for system in SYSTEMS),
            f"{row.ratio:.3f}",
            f"{row.low:.3f} to {row.high:.3f}",
            row.verdict,
        ]
        for row in rows
    ]
    head = ["bytes, µs", *SYSTEMS, "Tacet / Open MPI", f"{CONFIDENCE:.0%} of {rounds} rounds", ""]
    missed = [f"{row.bytes:,} bytes ({row.ratio:.2f})" for row in rows if row.verdict != "as fast"]
    verdict = (
        f"slower, or undecided, at {len(missed)} of {len(rows)} sizes: {', '.join(missed)}"
        if missed
        else f"at least as fast at all {len(rows)} sizes"
    )
    title = "mpi-lite between Tacet nodes, compared with Open MPI between Linux nodes"
    return f"{table(head, lines)}\n\n{title}: {verdict}"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("bench-mpi-nodes", description=SUMMARY)
    parser.add_argument("--out", type=Path, default=REPORT, help="folder for mpi_nodes.json")
    parser.add_argument("--rounds", type=int, default=20, metavar="N", help="number of paired runs (20)")
    parser.add_argument("--samples", type=int, default=50, metavar="N", help="samples per run and size (50)")
    parser.add_argument("--sizes", default=SIZES, help=f"sizes as for pingpong (default {SIZES})")


def run(options: argparse.Namespace, out: TextIO | None = None) -> int:
    """Runs the command; `out` is for tests. Raises LabError or OSError."""
    if options.rounds < ROUNDS_MIN:
        raise LabError(f"--rounds {options.rounds}: too few for an interval; give at least {ROUNDS_MIN}")
    if options.samples < 1:
        raise LabError(f"--samples {options.samples}: too few; give at least one")
    if not OURS.is_file():
        raise LabError(f"{OURS}: no such program; `make mpi` builds it")
    words = OPTIONS.format(sizes=options.sizes, samples=options.samples)
    with tempfile.TemporaryDirectory() as folder:
        logs = (options.out / "mpi_nodes").absolute()
        times = measure(Path(folder), options.rounds, words, out or sys.stdout, logs)
    print(f"\n{as_table(compare(times), options.rounds)}", file=out or sys.stdout, flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    text_write(options.out / "mpi_nodes.json", json.dumps(times, indent=1) + "\n")
    return 0
