# SPDX-License-Identifier: BSD-2-Clause
"""The programs of tests/mpi/programs say the same with this library and with Debian's MPICH, whichever way
messages go: eagerly, from the sender's memory, in fragments; with waits that spin and waits that block."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.making import ROOT, made

BUILD = ROOT / "build" / "mpi-lite" / "programs"
MPIRUN = ROOT / "build" / "service" / "tacet-mpirun"
PROGRAMS = sorted(path.stem for path in (ROOT / "tests" / "mpi" / "programs").glob("*.c"))
RANKS = (1, 2, 3, 4, 7)
#: A job's last resort, in seconds.
LIMIT_S = 600
#: Ways that messages go, and in which waits wait.
WAYS = {
    "usual": {},
    "rendezvous": {"TACET_MPI_EAGER": "0"},
    "peer-read": {"TACET_MPI_EAGER": "0", "TACET_MPI_PEER_READ": "1"},
    "blocking": {"TACET_MPI_SPIN_US": "0"},
    "leaks": {"TACET_MPI_DEBUG": "1"},
}


def ran(command: list[str | Path], **environment: str) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    said = f"{done.stdout[-2000:]}{done.stderr[-4000:]}"
    assert done.returncode == 0, f"{command}: status {done.returncode}\n{said}"
    assert not done.stderr, done.stderr[-4000:]
    return done.stdout


@cache
def with_mpich(program: str, ranks: int) -> str:
    made(f"build/mpi-lite/programs/mpich/{program}")
    return ran(["mpiexec.mpich", "-n", str(ranks), BUILD / "mpich" / program])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_say_what_they_say_with_mpich(program: str, way: str) -> None:
    """Under the address and undefined-behaviour sanitizers, leaks included."""
    made(f"build/mpi-lite/programs/asan/{program}", "build/service/tacet-mpirun")
    for ranks in RANKS if way == "usual" else (3,):
        said = ran([MPIRUN, "-n", str(ranks), BUILD / "asan" / program], **WAYS[way])
        assert said == with_mpich(program, ranks), f"{ranks} ranks"
        assert "ok " in said
