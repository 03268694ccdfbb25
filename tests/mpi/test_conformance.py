# SPDX-License-Identifier: BSD-2-Clause
"""The programs of tests/mpi/programs say the same with this library and with Debian's MPICH, whichever way
messages go: eagerly, from the sender's memory, in fragments; with waits that spin and waits that block."""

from __future__ import annotations

import os
import re
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
def with_mpich(program: str) -> str:
    """The programs print the same with any number of ranks; MPICH's take long where these outnumber CPUs, and
    crash in some collectives of several ranks (4.0)."""
    made(f"build/mpi-lite/programs/mpich/{program}")
    ranks = 1 if program == "collectives" else 2
    return ran(["mpiexec.mpich", "-n", str(ranks), BUILD / "mpich" / program])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_say_what_they_say_with_mpich(program: str, way: str) -> None:
    """Under the address and undefined-behaviour sanitizers, leaks included."""
    made(f"build/mpi-lite/programs/asan/{program}", "build/service/tacet-mpirun")
    for ranks in RANKS if way == "usual" else (3,):
        said = ran([MPIRUN, "-n", str(ranks), BUILD / "asan" / program], **WAYS[way])
        assert said == with_mpich(program), f"{ranks} ranks"
        assert "ok " in said


@pytest.mark.parametrize("way", ["usual", "blocking"])
def test_threads_of_a_rank_have_no_races(way: str) -> None:
    """Under the thread sanitizer, which watches one process: what ranks share it does not see."""
    made("build/mpi-lite/programs/tsan/threads", "build/service/tacet-mpirun")
    for ranks, nodes in ((1, 1), (3, 1), (4, 2)):
        words = [MPIRUN, "-n", str(ranks), "--nodes", str(nodes), BUILD / "tsan" / "threads"]
        said = ran(words, **WAYS[way])
        assert said == with_mpich("threads")


def algorithms() -> list[tuple[str, str]]:
    """A variable and what it may be set to, for each row of the table of algorithms."""
    text = (ROOT / "apps" / "mpi-lite" / "src" / "choice.c").read_text(encoding="utf-8")
    rows = re.findall(r'^    \{ ([A-Z_]+), "(\w+)", \w+,', text, re.MULTILINE)
    variables = dict(re.findall(r'\[([A-Z_]+)\] = "(TACET_MPI_[A-Z_]+)"', text))
    return sorted({(variables[kind], name) for kind, name in rows})


@pytest.mark.parametrize(("variable", "name"), algorithms())
def test_each_algorithm_gives_the_same_results(variable: str, name: str) -> None:
    """With a power of two ranks and without, on one node and on several that the ranks are told of."""
    made("build/mpi-lite/programs/asan/collectives", "build/service/tacet-mpirun")
    for ranks, nodes in ((4, 1), (5, 1), (5, 2)):
        words = [MPIRUN, "-n", str(ranks), "--nodes", str(nodes), BUILD / "asan" / "collectives", "3001"]
        said = ran(words, **{variable: name}, TACET_MPI_SPIN_US="0")
        assert said == with_mpich("collectives"), f"{ranks} ranks on {nodes} nodes"


def test_there_is_a_choice_for_each_collective() -> None:
    assert len(algorithms()) > 20 and len({variable for variable, _ in algorithms()}) == 10


def test_an_algorithm_that_does_not_exist_is_refused_by_name() -> None:
    made("build/mpi-lite/programs/glibc/collectives", "build/service/tacet-mpirun")
    words = [str(MPIRUN), "-n", "1", str(BUILD / "glibc" / "collectives")]
    environment = {**os.environ, "TACET_MPI_BCAST": "pigeon"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode != 0 and "TACET_MPI_BCAST=pigeon: there are nodes, binomial," in done.stderr, done
