# SPDX-License-Identifier: BSD-2-Clause
"""MPICH, an MPI library of others, on Tacet's nodes: static programs of this machine's gcc and glibc
(ports/mpich), started by tacetrun as they are. Ranks of a node share memory by a file in /dev/shm, ranks of
several speak TCP; they find each other by PMI-1, and the addresses of their node by netlink. The same file
prints the same on this machine."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from conftest import Run, expect_exit
from test_mpi import BUILD
from waiting_nodes import LIMIT_S, WaitingNodes

from tests.making import ROOT, made

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("mpich")]

#: Ranks that wait spin, so that collectives and threads take long where they outnumber CPUs, on Linux too.
NAMES = ["attributes", "communicators", "datatypes", "errors", "operations", "point_to_point", "topology"]


def mpich_program(name: str) -> Path:
    made(f"build/mpi-lite/programs/mpich-static/{name}", seconds=3600)
    return BUILD / "mpich-static" / name


@cache
def on_linux(name: str) -> str:
    """What the same file prints here. (Debian's MPICH may differ: it has another engine of data types.)"""
    made("build/service/tacet-mpirun")
    words = [ROOT / "build/service/tacet-mpirun", "-n", "2", mpich_program(name)]
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=600).stdout


def test_a_program_alone_needs_no_launcher(tacet: Run) -> None:
    result = tacet(mpich_program("where"), cpus=1, memory="256M")
    said = expect_exit(result).stdout.decode()
    assert said.startswith("rank 0 of 1 at ") and said.endswith(", 1 share its memory\n"), result.explain()
    assert not result.stderr, result.explain()


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WaitingNodes]:
    made("service")
    with WaitingNodes(tmp_path_factory.mktemp("mpich"), nodes=3, cpus=2, memory="512M") as waiting:
        yield waiting


@pytest.mark.parametrize(("count", "ranks"), [(1, [2]), (2, [2, 2]), (3, [2, 1, 1])])
def test_ranks_of_a_node_share_its_memory(count: int, ranks: list[int], nodes: WaitingNodes) -> None:
    size = sum(ranks)
    done = nodes.tacetrun("-N", str(count), "-n", str(size), "--bcast", mpich_program("where"))
    assert (done.returncode, done.stderr) == (0, ""), done
    shared = [of_node for of_node in ranks for _ in range(of_node)]
    assert sorted(done.stdout.splitlines()) == [
        f"rank {rank} of {size} at tacet, {of_node} share its memory" for rank, of_node in enumerate(shared)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_programs_say_on_nodes_what_they_say_on_linux(name: str, nodes: WaitingNodes) -> None:
    words = ["--bcast", mpich_program(name)]
    for count, size in ((1, 2), (2, 3)):
        done = nodes.tacetrun("-N", str(count), "-n", str(size), *words)
        assert (done.returncode, done.stderr) == (0, ""), done
        assert done.stdout == on_linux(name) and "ok " in done.stdout, (count, size)


def test_a_rank_that_aborts_ends_the_job_on_all_nodes(nodes: WaitingNodes) -> None:
    words = ["-N", "2", "-n", "4", "--within", str(round(LIMIT_S))]
    done = nodes.tacetrun(*words, "--bcast", mpich_program("where"), "abort")
    assert done.returncode == 7 and "share" not in done.stdout, done
    assert f"rank 3 on {nodes.nodes[1].address} aborts the job with exit code 7" in done.stderr, done
