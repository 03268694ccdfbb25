# SPDX-License-Identifier: BSD-2-Clause
"""Ranks that Slurm starts, by srun --mpi=pmi2: the same programs print the same as with
tacet-mpirun, however Slurm places ranks on nodes; a rank that aborts or ends early ends the job and is named;
programs that srun starts without PMI-2 are refused. The cluster is Debian's Slurm on this machine
(slurm_cluster.py)."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.making import ROOT, made
from tests.mpi.slurm_cluster import Cluster, Ended, namespaces

#: The cluster of all of them is started once.
pytestmark = pytest.mark.xdist_group("slurm")

BUILD = ROOT / "build" / "mpi-lite" / "programs"
MPIRUN = ROOT / "build" / "service" / "tacet-mpirun"
PROGRAMS = ("collectives", "communicators", "point_to_point", "threads")
BUILT = [*(f"x86_64/{name}" for name in PROGRAMS), "glibc/collectives", "asan/point_to_point"]
#: The nodes of this cluster share CPUs, which ranks cannot know.
QUIET = {"TACET_MPI_SPIN_US": "0"}

ENDS = """
#include <errno.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **words)
{
    int rank;

    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(words[1], "child") == 0 && (waitpid(-1, NULL, 0) != -1 || errno != ECHILD))
        printf("rank %d has a child that it has not made\\n", rank);
    if (rank == 2 && strcmp(words[1], "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 5);
    if (rank == 2 && strcmp(words[1], "exit") == 0)
        exit(6);
    if (rank == 2 && strcmp(words[1], "return") == 0)
        return 0;
    if (rank == 2 && strcmp(words[1], "kill") == 0)
        raise(SIGKILL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    command = namespaces()
    if command is None:
        pytest.skip("not root here, and no namespace with several users and groups (unshare --map-auto)")
    made("build/service/tacet-mpirun", *(f"build/mpi-lite/programs/{name}" for name in BUILT))
    cluster = Cluster(command)
    yield cluster
    cluster.end()


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that ends as its argument says."""
    folder = tmp_path_factory.mktemp("ends")
    (folder / "ends.c").write_text(ENDS)
    words = [ROOT / "apps" / "mpi-lite" / "tacet-mpicc", folder / "ends.c", "-o", folder / "ends"]
    subprocess.run(words, check=True)
    return folder / "ends"


def with_mpirun(program: Path) -> str:
    done = subprocess.run(
        [str(MPIRUN), "-n", "2", str(program)], capture_output=True, text=True, timeout=600, check=True
    )
    assert "ok " in done.stdout
    return done.stdout


def srun(cluster: Cluster, options: str, *words: object, **environment: str) -> Ended:
    return cluster.run("srun", *options.split(), *words, **{**QUIET, **environment})


@pytest.mark.parametrize("program", BUILT)
def test_programs_say_what_they_say_with_tacet_mpirun(cluster: Cluster, program: str) -> None:
    ran = srun(cluster, "--mpi=pmi2 -N 2 -n 4", BUILD / program)
    assert (ran.status, ran.errors) == (0, "")
    assert ran.said == with_mpirun(BUILD / program)


@pytest.mark.parametrize(
    "options",
    [
        "-N 1 -n 3",
        "-N 4 -n 8",
        "-N 2 -n 5 --distribution=cyclic",
        "-N 3 -n 7 --distribution=plane=2",
        "-N 3 -n 5 --distribution=arbitrary --nodelist=node1,node1,node2,node3,node3",
    ],
)
def test_ranks_meet_however_they_lie_on_nodes(cluster: Cluster, options: str) -> None:
    ran = srun(cluster, f"--mpi=pmi2 {options}", BUILD / "x86_64" / "collectives")
    assert (ran.status, ran.errors) == (0, "")
    assert ran.said == with_mpirun(BUILD / "x86_64" / "collectives")


def test_a_rank_that_aborts_ends_the_job_and_is_named(cluster: Cluster, ends: Path) -> None:
    """srun's own status is the largest of all tasks': that of the tasks that it has killed."""
    ran = srun(cluster, "--mpi=pmi2 -N 2 -n 4", ends, "abort")
    assert ran.status == 128 + 9, ran
    assert "mpi-lite: rank 2: MPI_Abort with exit code 5\n" in ran.errors
    assert "without MPI_Finalize" not in ran.errors


@pytest.mark.parametrize("how", ["exit", "return", "kill"])
def test_a_rank_that_ends_early_ends_the_job_and_is_named(cluster: Cluster, ends: Path, how: str) -> None:
    ran = srun(cluster, "--mpi=pmi2 -N 2 -n 4", ends, how)
    assert ran.status == 128 + 9, ran
    assert "mpi-lite: rank 2 has ended without MPI_Finalize; the job ends\n" in ran.errors


def test_ranks_have_no_children_that_the_program_has_not_made(cluster: Cluster, ends: Path) -> None:
    ran = srun(cluster, "--mpi=pmi2 -N 2 -n 4", ends, "child")
    assert ran == Ended(0, "", "")


def test_nothing_is_left_of_jobs(cluster: Cluster, ends: Path) -> None:
    srun(cluster, "--mpi=pmi2 -N 2 -n 4", ends, "kill")
    wait = 'until [ -z "$(squeue --noheader)" ]; do sleep 0.2; done'
    # A process that has ended is listed until its parent has reaped it.
    wait += '; for i in $(seq 300); do ps -eo comm | grep -qE "mpi-watchdog|ends" || break; sleep 0.2; done'
    ran = cluster.run("sh", "-c", f"{wait}; ps -eo comm")
    assert ran.status == 0 and "slurmd" in ran.said
    assert not {"mpi-watchdog", "ends"} & set(ran.said.split())


def test_a_world_of_one_needs_no_pmi(cluster: Cluster) -> None:
    for options in ("-n 1", "--mpi=pmi2 -n 1"):
        ran = srun(cluster, options, BUILD / "x86_64" / "point_to_point")
        assert (ran.status, ran.errors) == (0, "")
        assert ran.said == with_mpirun(BUILD / "x86_64" / "point_to_point")


def test_ranks_without_pmi_are_told_how_to_start(cluster: Cluster, ends: Path) -> None:
    ran = srun(cluster, "--mpi=none -n 2", ends, "none")
    assert ran.status == 16, ran
    assert "SLURM_STEP_NUM_TASKS=2: srun has started several tasks without PMI-2" in ran.errors
    assert "use srun --mpi=pmi2" in ran.errors


def test_an_address_that_is_none_is_refused_by_name(cluster: Cluster, ends: Path) -> None:
    ran = srun(cluster, "--mpi=pmi2 -N 2 -n 2", ends, "none", TACET_MPI_ADDRESS="node1")
    assert ran.status != 0
    assert "TACET_MPI_ADDRESS=node1: it takes an IPv4 address" in ran.errors


def test_mpirun_inside_a_step_is_a_launcher_of_its_own(cluster: Cluster) -> None:
    ran = srun(cluster, "--mpi=pmi2 -n 1", MPIRUN, "-n", 2, BUILD / "x86_64" / "point_to_point")
    assert (ran.status, ran.errors) == (0, "")
    assert ran.said == with_mpirun(BUILD / "x86_64" / "point_to_point")
