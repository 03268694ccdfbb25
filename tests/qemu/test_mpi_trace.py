# SPDX-License-Identifier: BSD-2-Clause
"""Programs that are traced (apps/mpi-trace) on Tacet's nodes: the traces have their messages, and a traced
call costs few instructions. tests/mpi/test_trace.py is about other systems and libraries."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Run, expect_exit
from waiting_nodes import WaitingNodes

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


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WaitingNodes]:
    made("service")
    with WaitingNodes(tmp_path_factory.mktemp("trace"), nodes=2, cpus=2, memory="512M") as nodes:
        yield nodes


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


@pytest.mark.long
@pytest.mark.xdist_group("mpi")
def test_ranks_of_two_nodes_are_traced_as_those_of_one(pair: WaitingNodes) -> None:
    """Their clocks differ; each node keeps the files of its ranks."""
    done = pair.tacetrun("-N", "2", "-n", "4", "--bcast", traced_program("traced", "x86_64"))
    assert (done.returncode, done.stderr) == (0, ""), done
    lines = done.stdout.splitlines()
    sent = Counter(line[2:] for line in lines if line.startswith("S "))
    assert sent == Counter(line[2:] for line in lines if line.startswith("R ")) and len(sent) > 20


@pytest.mark.long
@pytest.mark.xdist_group("mpi")
def test_loggops_measures_within_a_node_and_between_nodes(pair: WaitingNodes) -> None:
    made("mpi")
    program = ROOT / "build" / "x86_64" / "mpi" / "loggops"
    done = pair.tacetrun("-N", "2", "-n", "4", "--bcast", program, "-r", "6", "-n", "3", "--max", "2048")
    assert (done.returncode, done.stderr) == (0, ""), done
    rows = [line.split() for line in done.stdout.splitlines() if not line.startswith("#")]
    names = ["L", "o_s", "o_r", "g", "G", "O", "S"]
    assert [row[:2] for row in rows] == [[where, name] for where in ("node", "between") for name in names]
    assert {row[0]: row[2] for row in rows if row[1] == "S"} == {"node": "8192", "between": "65536"}
