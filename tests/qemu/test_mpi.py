# SPDX-License-Identifier: BSD-2-Clause
"""MPI programs on Tacet's nodes, with apps/mpi-lite: ranks of one node without a launcher, and of several by
tacetrun; what they print is what they print with Debian's MPICH (tests/mpi/answers.txt)."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from conftest import Run, expect_exit
from waiting_nodes import LIMIT_S, WaitingNodes

from tests.keys import MASTER, key_write, node_lines
from tests.making import ROOT, made
from tests.mpi.mpi_answers import recorded

BUILD = ROOT / "build" / "mpi-lite" / "programs"
#: Of some programs, so that they are short on a machine that is emulated: the largest count.
ARGUMENTS = {"collectives": ["3001"]}
#: The same between nodes, where each message costs more.
FEWER = {"collectives": ["301"]}
PROGRAMS = sorted(path.stem for path in (ROOT / "tests" / "mpi" / "programs").glob("*.c"))
FORTRAN = sorted(path.stem for path in (ROOT / "tests" / "mpi" / "fortran").glob("*.f*"))


BUSY_TRIES = 60
#: What tacetrun says as long as the ranks of a job that has just ended are not gone.
BUSY = "too few idle nodes: "
#: What is tried between nodes in each `make test`: messages, trees of them, and windows.
OVER_THE_WIRE = ["collectives", "point_to_point", "rma"]
#: What is about messages, memory and data, on both architectures.
BOTH = [
    *("collectives", "communicators", "datatypes", "operations", "point_to_point", "rma", "rma_stress"),
    *("threads", "topology", "windows"),
]


@cache
def mpi_program(name: str, arch: str = "x86_64") -> Path:
    made(f"build/mpi-lite/programs/{arch}/{name}", f"ARCH={arch}")
    return BUILD / arch / name


def with_mpich(name: str) -> str:
    """What MPICH prints, whatever the number of ranks."""
    return recorded("mpich", name)


def in_fortran(name: str) -> Path:
    made(f"build/mpi-lite/fortran-programs/glibc/{name}")
    return ROOT / "build" / "mpi-lite" / "fortran-programs" / "glibc" / name


@pytest.mark.parametrize("name", FORTRAN)
def test_fortran_says_on_a_node_what_it_says_with_mpich(name: str, tacet: Run) -> None:
    """Static programs of Debian's gfortran and glibc."""
    result = tacet(in_fortran(name), cpus=3, memory="512M", time_limit=240)
    assert expect_exit(result).stdout.decode() == with_mpich(f"fortran/{name}"), result.explain()
    assert not result.stderr, result.explain()


def says_on_a_node_what_it_says_with_mpich(name: str, arch: str, ranks: int, tacet: Run) -> None:
    words = [mpi_program(name, arch), *ARGUMENTS.get(name, [])]
    result = tacet(*words, cpus=ranks, memory="512M", time_limit=240)
    assert expect_exit(result).stdout.decode() == with_mpich(name), result.explain()
    assert not result.stderr, result.explain()


@pytest.mark.parametrize("name", BOTH)
def test_programs_say_on_a_node_what_they_say_with_mpich(name: str, arch: str, tacet: Run) -> None:
    """Its ranks need no launcher, and no network."""
    for ranks in (1, 3):
        says_on_a_node_what_it_says_with_mpich(name, arch, ranks, tacet)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in BOTH])
def test_what_knows_no_machine_says_on_a_node_what_it_says_with_mpich(name: str, tacet: Run) -> None:
    """Programs about what stands above messages and collectives, which those of BOTH try on both machines."""
    says_on_a_node_what_it_says_with_mpich(name, "x86_64", 3, tacet)


def test_barriers_and_exchanges_in_a_node_enter_no_kernel(arch: str, tacet: Run) -> None:
    result = tacet(mpi_program("entries", arch), cpus=3, memory="256M")
    said = expect_exit(result).stdout.decode()
    assert said == "barrier: 0 entries of all ranks\nexchange: 0 entries of all ranks\n", result.explain()


@pytest.mark.parametrize(
    ("how", "status", "why"),
    [
        ("abort", 7, "MPI_Abort with exit code 7"),
        ("error", 6, "MPI_Send: MPI_ERR_RANK"),
        ("missing", 1, "MPI_File_open is not in this library"),
    ],
)
def test_a_rank_that_ends_the_job_is_named_and_no_rank_goes_on(
    how: str, status: int, why: str, arch: str, tacet: Run
) -> None:
    result = tacet(mpi_program("abort", arch), how, cpus=3, memory="256M")
    assert result.outcome == "exit" and b"went on" not in result.stdout, result.explain()
    assert f"mpi-lite: rank 2: {why}" in result.stderr.decode(), result.explain()
    assert result.status == status, result.explain()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WaitingNodes]:
    made("service")
    with WaitingNodes(tmp_path_factory.mktemp("mpi"), nodes=2, cpus=2, memory="512M") as nodes:
        yield nodes


def between_nodes(name: str) -> object:
    """Ranks that wait compute, and so two nodes cost as much as four CPUs: the rest is make test-long's."""
    return pytest.param(name, marks=() if name in OVER_THE_WIRE else pytest.mark.long)


@pytest.mark.xdist_group("mpi")
@pytest.mark.parametrize("name", map(between_nodes, PROGRAMS))
def test_programs_say_on_two_nodes_what_they_say_with_mpich(name: str, pair: WaitingNodes) -> None:
    """Two ranks share each node's memory; between nodes messages go over TCP."""
    words = [mpi_program(name), *FEWER.get(name, [])]
    done = pair.tacetrun("-N", "2", "-n", "4", "--bcast", *words)
    assert (done.returncode, done.stderr) == (0, ""), done
    assert done.stdout == with_mpich(name)


@pytest.mark.xdist_group("mpi")
def test_a_rank_that_aborts_ends_the_job_on_all_nodes(pair: WaitingNodes) -> None:
    done = pair.tacetrun("-N", "2", "-n", "4", "--bcast", mpi_program("abort"))
    assert done.returncode == 7 and "went on" not in done.stdout, done
    assert "rank 3: MPI_Abort with exit code 7" in done.stderr, done


# ---- Ranks that die ----


#: How a rank ends, and the status of the node. The first ones are tried in each `make test`.
ENDS = {
    "segfault": 128 + 11, "negative": 255, "before": 3,
    "kill": 128 + 9, "abort": 128 + 6, "exit": 1, "status": 5, "self": 6, "returned": 8,
}  # fmt: skip


def ends_the_job_of_a_node(how: str, others: str, arch: str, tacet: Run) -> None:
    result = tacet(mpi_program("ends", arch), how, others, cpus=2, memory="256M")
    assert (result.outcome, result.status) == ("exit", ENDS[how]), result.explain()
    assert b"went on" not in result.stdout, result.explain()
    assert result.console.count("without MPI_Finalize: all ranks end") == 1, result.explain()
    assert re.search(r"rank 1 (has )?ended with status", result.console), result.explain()


@pytest.mark.parametrize(
    "how", [pytest.param(how, marks=() if i < 3 else pytest.mark.long) for i, how in enumerate(ENDS)]
)
def test_a_rank_that_dies_ends_ranks_that_compute(how: str, arch: str, tacet: Run) -> None:
    """Without a launcher. The status is that of the first, and neither 137 nor the highest."""
    ends_the_job_of_a_node(how, "computes", arch, tacet)


@pytest.mark.parametrize("how", ["segfault", "status", "before"])
def test_a_rank_that_dies_ends_ranks_that_wait_for_it(how: str, arch: str, tacet: Run) -> None:
    ends_the_job_of_a_node(how, "wait", arch, tacet)


def test_ranks_that_sleep_end_with_one_that_dies(arch: str, tacet: Run) -> None:
    result = tacet(mpi_program("ends", arch), "status", cpus=2, memory="256M", env={"TACET_MPI_SPIN_US": "0"})
    assert (result.outcome, result.status) == ("exit", 5), result.explain()


@pytest.mark.xdist_group("mpi")
@pytest.mark.parametrize(
    ("how", "status"), [("kill", 128 + 9), ("segfault", 128 + 11), ("exit", 1), ("negative", 255)]
)
def test_a_rank_that_dies_ends_the_job_on_all_nodes_and_is_named(
    how: str, status: int, pair: WaitingNodes
) -> None:
    words = ["-N", "2", "-n", "4", "--bcast", mpi_program("ends"), how]
    done = pair.tacetrun(*words)
    for _ in range(BUSY_TRIES):
        if BUSY not in done.stderr:
            break
        time.sleep(1)
        done = pair.tacetrun(*words)
    assert done.returncode == status and "went on" not in done.stdout, done
    assert "rank 3" in done.stderr, done


# ---- A Linux node with a Tacet node ----

LAUNCHD = ROOT / "build/service/tacet-launchd"


@pytest.fixture
def linux(pair: WaitingNodes, tmp_path: Path) -> Iterator[str]:
    """The address of this machine on the nodes' network, where tacet-launchd runs."""
    address = "10.99.0.1"
    key_write(tmp_path / "master", MASTER.hex() + "\n")
    keys = key_write(tmp_path / "keys", node_lines("linux"))
    words = [LAUNCHD, "--address", address, "--name", "linux", "--key", keys]
    daemon = pair.space.popen(words, stderr=subprocess.PIPE, text=True)
    try:
        assert daemon.stderr is not None and "takes jobs at port" in daemon.stderr.readline()
        yield address
    finally:
        daemon.terminate()
        daemon.communicate(timeout=LIMIT_S)


@pytest.mark.xdist_group("mpi")
@pytest.mark.parametrize(
    ("name", "linux_first"), [("collectives", True), ("point_to_point", False), ("rma", True)]
)
def test_one_file_runs_on_a_linux_node_and_a_tacet_node_in_one_job(
    name: str, linux_first: bool, pair: WaitingNodes, linux: str, tmp_path: Path
) -> None:
    """Ranks 0 and 1 on the first, and 2 and 3 on the other."""
    addresses = [linux, pair.nodes[0].address] if linux_first else [pair.nodes[0].address, linux]
    words = ["--key", tmp_path / "master", "--nodelist", ",".join(addresses), "-n", "4"]
    words += ["--bcast", mpi_program(name), *FEWER.get(name, [])]
    before = [node.said("2 ranks of") for node in pair.nodes]
    done = pair.tacetrun(*words)
    assert (done.returncode, done.stderr) == (0, ""), done
    assert done.stdout == with_mpich(name)
    assert [node.said("2 ranks of") for node in pair.nodes] == [before[0] + 1, before[1]]


# ---- Four nodes, and eight ranks of a node ----

#: What goes between nodes in each way, of what two nodes try.
BETWEEN = ["collectives", "communicators", "errors_transfers", "point_to_point", "topology"]


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WaitingNodes]:
    made("service")
    with WaitingNodes(tmp_path_factory.mktemp("mpi4"), nodes=4, cpus=2, memory="512M") as nodes:
        yield nodes


@pytest.mark.xdist_group("mpi4")
@pytest.mark.parametrize("name", BETWEEN)
def test_programs_say_on_four_nodes_what_they_say_with_mpich(name: str, four: WaitingNodes) -> None:
    words = [mpi_program(name), *FEWER.get(name, [])]
    done = four.tacetrun("-N", "4", "-n", "8", "--bcast", *words)
    assert (done.returncode, done.stderr) == (0, ""), done
    assert done.stdout == with_mpich(name)


@pytest.mark.parametrize("name", ["communicators", "topology"])
def test_programs_say_the_same_on_eight_cpus_of_a_node(name: str, arch: str, tacet: Run) -> None:
    result = tacet(mpi_program(name, arch), cpus=8, memory="512M", time_limit=240)
    assert expect_exit(result).stdout.decode() == with_mpich(name), result.explain()
    assert not result.stderr, result.explain()
