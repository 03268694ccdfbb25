# SPDX-License-Identifier: BSD-2-Clause
"""How a rank begins with each launcher. Wrong answers of launchers, in both protocols of PMI, and
environments in which ranks could not find each other are reported; MPICH's mpiexec speaks either
protocol."""

from __future__ import annotations

import os
import socket
import subprocess

import pytest

from tests.making import ROOT, made

PROGRAM = ROOT / "build" / "mpi-lite" / "programs" / "x86_64" / "point_to_point"
LIMIT_S = 600
#: What the library reads.
KNOWN = ("PMI", "OMPI_", "SLURM_", "TACET_")

BEGIN_1 = b"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
BEGIN_2 = b"cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n"
FULL = b"cmd=fullinit-response;rc=0;rank=0;size=2;"


@pytest.fixture(scope="module", autouse=True)
def build() -> None:
    made(str(PROGRAM.relative_to(ROOT)))


def environment(**more: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(KNOWN)} | more


def ran(*before: str, fds: tuple[int, ...] = (), **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*before, str(PROGRAM)],
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        pass_fds=fds,
    )


def answered(answers: bytes, **more: str) -> subprocess.CompletedProcess[str]:
    """Runs rank 0 of two, to which a launcher sends these answers, whatever it asks, and then closes. The
    rank's requests fit in the socket's buffer."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(answers)
        ours.shutdown(socket.SHUT_WR)
        fd = str(theirs.fileno())
        return ran(fds=(theirs.fileno(),), PMI_FD=fd, PMI_RANK="0", PMI_SIZE="2", **more)


def message(text: bytes) -> bytes:
    return b"%6d" % len(text) + text


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        (b"", "the launcher has closed the PMI connection"),
        (b"x" * 3000, "the launcher's line has more than 2048 bytes"),
        (b"cmd=hello\n", 'the launcher answers "cmd=hello"; PMI requires cmd=response_to_init'),
        (BEGIN_1.replace(b"rc=0", b"rc=-1"), "the launcher does not speak PMI-1"),
        (BEGIN_1 + b"cmd=my_kvsname rc=0\n", "PMI-1 requires kvsname=NAME"),
        (BEGIN_1 + b"cmd=my_kvsname kvsname=k\ncmd=get_result rc=1\n", "no value for PMI_process_mapping"),
        (
            BEGIN_1 + b"cmd=my_kvsname kvsname=k\ncmd=get_result rc=0 value=(vector,(0,1,0))\n",
            "PMI_process_mapping=(vector,(0,1,0)): it takes (vector,(NODE,NODES,RANKS),…)",
        ),
    ],
    ids=range(7),
)
def test_answers_of_pmi_1_that_make_no_sense_are_named(answers: bytes, why: str) -> None:
    done = answered(answers)
    assert done.returncode == 16 and why in done.stderr, done


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        (BEGIN_1, "the launcher does not speak PMI-2, which PMI_JOBID selects"),
        (BEGIN_2, "the launcher has closed the PMI connection"),
        (BEGIN_2 + b"-00001;", 'the launcher\'s message begins with "-00001" instead of its length'),
        (BEGIN_2 + b"     9cmd=", "the launcher has closed the PMI connection"),
        (BEGIN_2 + message(b"cmd=full\0;"), "has a zero byte"),
        (BEGIN_2 + message(b"rc=0;cmd=fullinit-response;"), "PMI-2 requires cmd=fullinit-response"),
        (BEGIN_2 + message(b"cmd=fullinit-response;rc=14;errmsg=no;"), 'the launcher refuses fullinit: "no"'),
        (BEGIN_2 + message(FULL.replace(b"size=2;", b"")), "PMI-2 requires rank and size"),
        (BEGIN_2 + message(FULL.replace(b"rank=0", b"rank=2")), "the launcher says rank 2"),
        (
            BEGIN_2 + message(FULL) + message(b"cmd=info-getjobattr-response;rc=0;found=FALSE;"),
            "the launcher has no value for PMI_process_mapping",
        ),
    ],
    ids=range(10),
)
def test_answers_of_pmi_2_that_make_no_sense_are_named(answers: bytes, why: str) -> None:
    done = answered(answers, PMI_JOBID="7.0")
    assert done.returncode == 16 and why in done.stderr, done


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"OMPI_COMM_WORLD_SIZE": "2", "PMIX_NAMESPACE": "n"}, "OMPI_COMM_WORLD_SIZE: started by Open MPI"),
        (
            {"PMIX_NAMESPACE": "n"},
            "PMIX_NAMESPACE: started by Open MPI's mpirun or another launcher that speaks PMIx",
        ),
        ({"SLURM_STEP_NUM_TASKS": "4", "PMIX_NAMESPACE": "n"}, "use srun --mpi=pmi2"),
        ({"PMI_FD": "77", "PMI_RANK": "0", "PMI_SIZE": "2"}, "PMI_FD=77 is not open here"),
        ({"PMI_FD": "0", "PMI_RANK": "x", "PMI_SIZE": "2"}, "PMI_RANK=x: the launcher sets it to a number"),
        ({"PMI_PORT": "10.0.0.1:99", "PMI_ID": "0"}, "PMI_PORT=10.0.0.1:99: a launcher must pass PMI's"),
    ],
)
def test_environments_in_which_ranks_cannot_meet_are_named(given: dict[str, str], why: str) -> None:
    done = ran(**given)
    assert done.returncode == 16 and why in done.stderr, done


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"OMPI_COMM_WORLD_SIZE": "1", "PMIX_NAMESPACE": "n"},
        {"SLURM_STEP_NUM_TASKS": "1"},
        {"SLURM_NTASKS": "8", "SLURM_JOB_ID": "1"},
        {"OMPI_COMM_WORLD_SIZE": "1", "SLURM_STEP_NUM_TASKS": "4"},
    ],
)
def test_a_process_alone_is_a_world_of_one(given: dict[str, str]) -> None:
    done = ran(**given)
    assert (done.returncode, done.stderr) == (0, "") and "ok ring\n" in done.stdout


@pytest.mark.long
def test_mpiexec_of_mpich_speaks_either_protocol() -> None:
    """Long, because no short test needs MPICH itself."""
    with_1 = ran("mpiexec.mpich", "-n", "3", TACET_MPI_SPIN_US="0")
    with_2 = ran("mpiexec.mpich", "-n", "3", TACET_MPI_SPIN_US="0", PMI_JOBID="7")
    assert (with_1.returncode, with_1.stderr) == (with_2.returncode, with_2.stderr) == (0, "")
    assert with_1.stdout == with_2.stdout and "ok ring\n" in with_1.stdout
