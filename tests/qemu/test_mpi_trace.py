# SPDX-License-Identifier: BSD-2-Clause
"""Programs that are traced (apps/mpi-trace) on Tacet's nodes: the traces have their messages, and a traced
call costs few instructions. tests/mpi/test_trace.py is about other systems and libraries."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from conftest import Run, expect_exit

from lab.formats import mpi_trace
from lab.formats.mpi_trace import RECEIVES, SENDS
from tests.making import ROOT, made

#: Records, so that they cost little to have.
FEW = {"TACET_TRACE_RECORDS": "4096"}
#: The most that the tracer may add to a call, instructions of x86_64. POWER's compiler needs more.
COSTS = {
    "MPI_Comm_rank": 130, "MPI_Send": 220, "MPI_Recv": 260, "MPI_Bcast": 220, "MPI_Allreduce": 220,
    "MPI_Isend": 300, "MPI_Irecv": 300, "MPI_Waitall of 2": 600,
}  # fmt: skip
TIMES = {"x86_64": 1.0, "ppc64": 1.5}


def traced_program(name: str, arch: str) -> Path:
    made(f"build/mpi-trace/programs/{arch}/{name}", f"ARCH={arch}")
    return ROOT / "build" / "mpi-trace" / "programs" / arch / name


def test_a_node_s_traces_have_the_messages_of_the_program(arch: str, tacet: Run, tmp_path: Path) -> None:
    result = tacet(traced_program("traced", arch), "dump", cpus=3, memory="256M", env=FEW)
    lines = expect_exit(result).stdout.decode().splitlines()
    files = [bytes.fromhex(line[2:]) for line in lines if line.startswith("T ")]
    for number, content in enumerate(files):
        (tmp_path / f"rank-{number}.trace").write_bytes(content)
    traces = mpi_trace.read_folder(tmp_path)
    found: Counter[str] = Counter()
    for trace in traces:
        assert not trace.mark and not trace.cpu_time, "each rank has a CPU"
        for letter, kind in (("S", SENDS), ("R", RECEIVES)):
            for rows in mpi_trace.world_messages(trace, kind):
                found.update(f"{letter} {' '.join(map(str, row))}" for row in rows.tolist())
    assert len(traces) == 3 and found == Counter(line for line in lines if line[:2] in ("S ", "R "))


def test_a_traced_call_costs_few_instructions(arch: str, tacet: Run) -> None:
    """On one CPU, where each instruction takes 1 ns; two runs print the same digits."""
    result = tacet(traced_program("cost", arch), icount=0, env=FEW)
    said = expect_exit(result).stdout.decode()
    costs = {name: int(number) for name, number in re.findall(r"^(.+): (\d+) instructions$", said, re.M)}
    assert costs.keys() == COSTS.keys(), result.explain()
    assert all(0 < costs[name] <= TIMES[arch] * limit for name, limit in COSTS.items()), costs
