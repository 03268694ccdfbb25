# SPDX-License-Identifier: BSD-2-Clause
"""The programs of tests/mpi/programs print the same with this library and with Debian's MPICH and Open MPI,
for each way of a message: eager, from the sender's memory, in fragments; with waits that spin and waits that
block. The output of those two is recorded in answers.txt (mpi_answers.py); `make test-long` asks them."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from mpi_answers import ANSWERS, LIMIT_S, OPENMPI_LACKS, OPENMPI_RANKS, PROGRAMS, recorded

from tests.making import ROOT, made

BUILD = ROOT / "build" / "mpi-lite" / "programs"
MPIRUN = ROOT / "build" / "service" / "tacet-mpirun"
RANKS = (1, 2, 3, 4, 7)
#: More than most nodes' ranks; for programs whose time does not grow with the square of the ranks.
MANY_RANKS = 16
#: Of a rank: some for its connections, but not one for each.
FEW_DESCRIPTORS = 12
#: Types whose elements overlap, with a stride of -1: Open MPI 4.1 handles them as if the stride was 1.
OPENMPI_STRIDES = r"^type (?:445|463):.*\n"
#: Ways of messages and of waits.
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


def with_mpich(program: str) -> str:
    """What MPICH prints for any number of ranks."""
    return recorded("mpich", program)


@pytest.mark.parametrize("program", [name for name in PROGRAMS if name not in OPENMPI_LACKS])
def test_open_mpi_says_what_mpich_says(program: str) -> None:
    strides = re.compile(OPENMPI_STRIDES, re.MULTILINE)
    for ranks in OPENMPI_RANKS:
        said = recorded(f"openmpi-{ranks}", program)
        assert strides.sub("", said) == strides.sub("", with_mpich(program)), f"{ranks} ranks"


@pytest.mark.long
@pytest.mark.parametrize("reference", ANSWERS.references)
def test_each_library_still_says_what_is_recorded(reference: str) -> None:
    differs = ANSWERS.differences(reference)
    assert not differs, f"{differs}\n{ANSWERS.command} renews the record"


@pytest.mark.parametrize("program", ["communicators", "errors_transfers", "queries", "topology"])
def test_programs_say_the_same_with_many_ranks(program: str) -> None:
    made(f"build/mpi-lite/programs/asan/{program}", "build/service/tacet-mpirun")
    assert ran([MPIRUN, "-n", str(MANY_RANKS), BUILD / "asan" / program]) == with_mpich(program)


@pytest.mark.parametrize(
    ("program", "way"),
    [
        ("communicators", "usual"),
        *[
            pytest.param(program, way, marks=pytest.mark.long)
            for program, way in (("communicators", "blocking"), ("point_to_point", "usual"))
        ],
    ],
)
def test_programs_say_the_same_with_fewer_descriptors_than_peers(program: str, way: str) -> None:
    """Each rank is a node of its own; connections are closed and opened again."""
    made(f"build/mpi-lite/programs/asan/{program}", "build/service/tacet-mpirun")
    limited = f"ulimit -n {FEW_DESCRIPTORS}; exec {BUILD / 'asan' / program}"
    words = [MPIRUN, "-n", str(MANY_RANKS), "--nodes", str(MANY_RANKS), "sh", "-c", limited]
    environment = {**os.environ, **WAYS[way]}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=LIMIT_S)
    assert (done.returncode, done.stdout) == (0, with_mpich(program)), done.stderr[-4000:]
    told = rf"mpi-lite: a rank may open {FEW_DESCRIPTORS} files .* for {MANY_RANKS - 1} ranks of other nodes"
    assert re.match(told, done.stderr), done.stderr[-4000:]


@pytest.mark.long
@pytest.mark.parametrize("ranks", range(1, MANY_RANKS + 1))
@pytest.mark.parametrize("sanitizer", ["asan", "tsan"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_say_the_same_with_each_number_of_ranks(program: str, sanitizer: str, ranks: int) -> None:
    made(f"build/mpi-lite/programs/{sanitizer}/{program}", "build/service/tacet-mpirun")
    assert ran([MPIRUN, "-n", str(ranks), BUILD / sanitizer / program]) == with_mpich(program)


#: Programs that test each way; the other programs run with each way in make test-long.
WAY_SENSITIVE = ("collectives", "point_to_point", "rma", "modes", "neighbours")


def ways() -> list[object]:
    return [
        pytest.param(program, way, marks=() if is_short else pytest.mark.long)
        for program in PROGRAMS
        for way in WAYS
        for is_short in [way == "usual" or program in WAY_SENSITIVE]
    ]


@pytest.mark.parametrize(("program", "way"), ways())
def test_programs_say_what_they_say_with_mpich(program: str, way: str) -> None:
    """Under the address and undefined-behaviour sanitizers, leaks included."""
    made(f"build/mpi-lite/programs/asan/{program}", "build/service/tacet-mpirun")
    for ranks in RANKS if way == "usual" else (3,):
        said = ran([MPIRUN, "-n", str(ranks), BUILD / "asan" / program], **WAYS[way])
        assert said == with_mpich(program), f"{ranks} ranks"
        assert "ok " in said


@pytest.mark.parametrize(
    "program",
    [pytest.param(name, marks=() if name in WAY_SENSITIVE else pytest.mark.long) for name in PROGRAMS],
)
def test_programs_say_the_same_on_two_nodes(program: str) -> None:
    """The launcher tells the ranks that there are several nodes: messages between them use TCP."""
    made(f"build/mpi-lite/programs/asan/{program}", "build/service/tacet-mpirun")
    for ranks in (2, 5):
        said = ran([MPIRUN, "-n", str(ranks), "--nodes", "2", BUILD / "asan" / program])
        assert said == with_mpich(program), f"{ranks} ranks"


@pytest.mark.parametrize("way", ["usual", "blocking"])
@pytest.mark.parametrize("program", [name for name in PROGRAMS if name.startswith(("windows", "rma"))])
def test_windows_reach_other_nodes(program: str, way: str) -> None:
    """Ranks of two nodes, as the launcher tells them, share memory with some ranks and use TCP to others."""
    made(f"build/mpi-lite/programs/asan/{program}", "build/service/tacet-mpirun")
    for ranks in (2, 5):
        words = [MPIRUN, "-n", str(ranks), "--nodes", "2", BUILD / "asan" / program]
        assert ran(words, **WAYS[way]) == with_mpich(program), f"{ranks} ranks"


LEFT = """
#include <mpi.h>
int main(void)
{
    MPI_Win win;
    MPI_Init(0, 0);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    return MPI_Finalize();
}
"""


def test_windows_that_are_left_are_named(tmp_path: Path) -> None:
    made("build/mpi-lite/glibc/libmpi.a", "build/service/tacet-mpirun")
    (tmp_path / "left.c").write_text(LEFT, encoding="utf-8")
    environment = {**os.environ, "TACET_MPI_LIBC": "glibc", "TACET_MPI_DEBUG": "1"}
    compiler = ROOT / "apps" / "mpi-lite" / "tacet-mpicc"
    subprocess.run([compiler, tmp_path / "left.c", "-o", tmp_path / "left"], env=environment, check=True)
    words = [str(MPIRUN), "-n", "2", str(tmp_path / "left")]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=LIMIT_S)
    lines = [f"mpi-lite: rank {rank}: 2 windows were not freed" for rank in range(2)]
    assert (done.returncode, sorted(done.stderr.splitlines())) == (0, lines)


@pytest.mark.long
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_say_the_same_under_the_thread_sanitizer(program: str) -> None:
    """The sanitizer watches one process: it does not see accesses to memory that ranks share."""
    made(f"build/mpi-lite/programs/tsan/{program}", "build/service/tacet-mpirun")
    assert ran([MPIRUN, "-n", "3", BUILD / "tsan" / program]) == with_mpich(program)


@pytest.mark.long
@pytest.mark.parametrize("way", ["usual", "blocking"])
def test_threads_of_a_rank_have_no_races(way: str) -> None:
    made("build/mpi-lite/programs/tsan/threads", "build/service/tacet-mpirun")
    for ranks, nodes in ((1, 1), (4, 2)):
        words = [MPIRUN, "-n", str(ranks), "--nodes", str(nodes), BUILD / "tsan" / "threads"]
        said = ran(words, **WAYS[way])
        assert said == with_mpich("threads")


def algorithms() -> list[tuple[str, str]]:
    """Returns a variable and a value for each row of the table of algorithms."""
    text = (ROOT / "apps" / "mpi-lite" / "src" / "collective" / "choice.c").read_text(encoding="utf-8")
    rows = re.findall(r'^    \{ ([A-Z_]+), "(\w+)", \w+,', text, re.MULTILINE)
    variables = dict(re.findall(r'\[([A-Z_]+)\] = "(TACET_MPI_[A-Z_]+)"', text))
    return sorted({(variables[kind], name) for kind, name in rows})


#: `make test` runs the last value of each variable.
CHOICES = [
    pytest.param(*choice, marks=() if choice in dict(algorithms()).items() else pytest.mark.long)
    for choice in algorithms()
]


@pytest.mark.parametrize(("variable", "name"), CHOICES)
def test_each_algorithm_gives_the_same_results(variable: str, name: str) -> None:
    """With a power of two ranks and without, on one node and on several, as the launcher tells the ranks."""
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
    assert (
        done.returncode != 0
        and "TACET_MPI_BCAST=pigeon: no such algorithm; there are exchange," in done.stderr
    ), done
