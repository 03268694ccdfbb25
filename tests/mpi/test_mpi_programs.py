# SPDX-License-Identifier: BSD-2-Clause
"""The MPI benchmarks of apps/mpi-bench: their results are the published ones, or those of a single rank, with
each library and for each number of ranks; their verifications can fail; bad options are refused by name. No
times are asserted."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.making import ROOT
from tests.making import made as make

BENCH = ROOT / "apps" / "mpi-bench"
SHARED = [BENCH / "common.c", ROOT / "apps" / "lib" / "parse.c", ROOT / "apps" / "lib" / "order.c"]
LIMIT_S = 600
#: Lines that differ from run to run.
TIMES = ("#", "Time [", "Rate [", "Step [", "Iteration [")
RANKS = (1, 2, 3, 4)


class Toolchain(NamedTuple):
    compiler: list[str | Path]
    runner: list[str | Path]
    #: Lines that must be printed.
    files: list[Path]
    environment: dict[str, str] = {}


TOOLCHAINS = {
    # MPICH's header declares array parameters, for which its MPI_STATUSES_IGNORE is no valid argument.
    "mpich": Toolchain(
        ["mpicc.mpich", "-Wno-stringop-overflow"],
        ["mpiexec.mpich"],
        [Path("/usr/bin/mpicc.mpich"), Path("/usr/bin/mpiexec.mpich")],
    ),
    "mpi-lite": Toolchain(
        [ROOT / "apps" / "mpi-lite" / "tacet-mpicc"],
        [ROOT / "build" / "service" / "tacet-mpirun"],
        [ROOT / "build" / "mpi-lite" / "glibc" / "libmpi.a", ROOT / "build" / "service" / "tacet-mpirun"],
        {"TACET_MPI_LIBC": "glibc"},
    ),
}
COLLECTIVES = "bcast reduce allreduce gather scatter allgather alltoall reduce_scatter scan".split()

#: Wrappers that corrupt what MPI delivers, through its profiling interface: a verification must notice.
SPOILERS = {
    "MPI_Bcast": """
        int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
        {
            int rank, error = PMPI_Bcast(buffer, count, type, root, comm);
            PMPI_Comm_rank(comm, &rank);
            if (rank != root && count > 5)
                ((char *)buffer)[5] ^= 1;
            return error;
        }""",
    "MPI_Scan": """
        int MPI_Scan(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
        {
            return PMPI_Exscan(from, to, count, type, op, comm);
        }""",
    "MPI_Recv": """
        int MPI_Recv(void *to, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                     MPI_Status *status)
        {
            int error = PMPI_Recv(to, count, type, source, tag, comm, status);
            if (count > 0)
                ((char *)to)[count - 1] ^= 1;
            return error;
        }""",
    "MPI_Isend": """
        int MPI_Isend(const void *from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                      MPI_Request *request)
        {
            return PMPI_Isend((const char *)from + 8, count, type, to, tag, comm, request);
        }""",
    "MPI_Send_init": """
        int MPI_Send_init(const void *from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                          MPI_Request *request)
        {
            return PMPI_Send_init((const char *)from + 8, count, type, to, tag, comm, request);
        }""",
    "MPI_Alltoallv": """
        int MPI_Alltoallv(const void *from, const int counts[], const int places[], MPI_Datatype type,
                          void *to, const int to_counts[], const int to_places[],
                          MPI_Datatype to_type, MPI_Comm comm)
        {
            int error = PMPI_Alltoallv(from, counts, places, type, to, to_counts, to_places, to_type, comm);
            if (to_counts[0] > 1)
                ((int *)to)[to_places[0]] = ((int *)to)[to_places[0] + 1];
            return error;
        }""",
}

Build = Callable[..., Path]


class Ran(NamedTuple):
    status: int
    said: str
    errors: str

    def steady(self) -> list[str]:
        """The lines that do not depend on time or place."""
        return [line for line in self.said.splitlines() if not line.startswith(TIMES)]

    def rows(self) -> list[list[str]]:
        """The table's rows, as words."""
        words = [line.split() for line in self.said.splitlines() if not line.startswith("#")]
        return [row for row in words if row[0] != "Verification:"]


#: MPICH's ranks take long if they outnumber the CPUs.
@pytest.fixture(scope="session", params=["mpi-lite", pytest.param("mpich", marks=pytest.mark.long)])
def toolchain(request: pytest.FixtureRequest) -> Toolchain:
    if request.param == "mpi-lite":
        make("build/mpi-lite/glibc/libmpi.a", "build/service/tacet-mpirun")
    found = TOOLCHAINS[request.param]
    missing = [str(path) for path in found.files if not path.exists()]
    if missing:
        pytest.skip(f"there is no {', '.join(missing)}")
    return found


@pytest.fixture(scope="session")
def build(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compiles and links a program, once; with further arguments, or a wrapper of SPOILERS, another one."""
    made: dict[tuple[str, ...], Path] = {}

    def compile_program(name: str, *arguments: str, spoiler: str = "") -> Path:
        key = (name, *arguments, spoiler)
        if key not in made:
            folder = tmp_path_factory.mktemp(name)
            sources = [BENCH / f"{name}.c", *SHARED]
            if spoiler:
                (folder / "spoiler.c").write_text("#include <mpi.h>\n" + SPOILERS[spoiler] + "\n")
                sources.append(folder / "spoiler.c")
            flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'apps' / 'lib'}"]
            command = [*toolchain.compiler, *flags, *arguments, *sources, "-o", folder / name, "-lm"]
            done = subprocess.run(
                command,
                env={**os.environ, **toolchain.environment},
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
            )
            assert done.returncode == 0, done.stderr[-4000:]
            made[key] = folder / name
        return made[key]

    return compile_program


@pytest.fixture
def run(toolchain: Toolchain) -> Callable[..., Ran]:
    def run_program(program: Path, ranks: int, *arguments: str) -> Ran:
        done = subprocess.run(
            [*toolchain.runner, "-n", str(ranks), program, *arguments],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return run_program


def verified(ran: Ran) -> Ran:
    assert ran.status == 0, f"status {ran.status}\n{ran.said[-2000:]}{ran.errors[-2000:]}"
    assert "Verification: verified" in ran.said.splitlines()
    assert not ran.errors
    return ran


def not_verified(ran: Ran) -> None:
    assert ran.status == 1, f"status {ran.status}\n{ran.said[-2000:]}{ran.errors[-2000:]}"
    assert "Verification: not verified" in ran.said.splitlines()


@pytest.mark.parametrize(
    "name, arguments",
    [
        ("ep", []),
        ("is", []),
        ("halo", ["--check", "-g", "17,13,11", "-n", "20"]),
        ("halo", ["--check", "-g", "17,13,11", "-n", "20", "--periodic"]),
        ("halo", ["--check", "-g", "40,30", "-n", "20"]),
        ("halo", ["--check", "-g", "40,30", "-n", "20", "--periodic"]),
        ("halo", ["--check", "-g", "9,10,11", "-n", "20", "-p", "0,1,1"]),
        ("halo", ["--check", "-g", "9,10,11", "-n", "20", "-p", "1,1,0"]),
    ],
    ids=" ".join,
)
def test_the_result_is_the_same_for_any_number_of_ranks(
    build: Build, run: Callable[..., Ran], name: str, arguments: list[str]
) -> None:
    alone = verified(run(build(name), 1, *arguments)).steady()
    assert len(alone) > 2
    for ranks in RANKS[1:]:
        assert verified(run(build(name), ranks, *arguments)).steady() == alone, f"{ranks} ranks"


@pytest.mark.parametrize("name", ["ep", "is"])
@pytest.mark.parametrize("problem", ["W", pytest.param("A", marks=pytest.mark.long)])
def test_larger_classes_give_the_published_results(
    build: Build, run: Callable[..., Ran], name: str, problem: str
) -> None:
    ran = verified(run(build(name), 2, "-c", problem))
    assert f"class {problem}" in ran.said


@pytest.mark.parametrize("grid", ["17,13,11", "40,30", "1,1,40", "2,1"])
def test_cg_finds_the_known_solution_with_the_same_iterations_each_time(
    build: Build, run: Callable[..., Ran], grid: str
) -> None:
    for ranks in RANKS:
        first = verified(run(build("cg"), ranks, "-g", grid)).steady()
        assert first[0].startswith("Iterations: ")
        assert verified(run(build("cg"), ranks, "-g", grid)).steady() == first


def test_cg_says_what_has_not_converged(build: Build, run: Callable[..., Ran]) -> None:
    ran = run(build("cg"), 2, "-n", "3")
    not_verified(ran)
    assert "Iterations: 3" in ran.said.splitlines()


@pytest.mark.parametrize("ranks", RANKS)
def test_collbench_verifies_every_collective_at_every_size(
    build: Build, run: Callable[..., Ran], tmp_path: Path, ranks: int
) -> None:
    path = tmp_path / "rows"
    options = ["--check", "-s", "0,8,72,40K", "-n", "2", "-w", "0", "-o", str(path)]
    ran = verified(run(build("collbench"), ranks, *options))
    expected = [["barrier", "0", "-"]]
    expected += [[name, size, "ok"] for name in COLLECTIVES for size in ("0", "8", "72", "40960")]
    assert [[row[0], row[1], row[6]] for row in ran.rows()] == expected
    for row in ran.rows():
        times = [float(word) for word in row[2:6]]
        assert times == sorted(times)
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    assert rows[0] == ["#collective", "bytes", "min_us", "median_us", "p99_us", "max_us", "check"]
    assert rows[1:] == ran.rows()


def test_collbench_runs_what_was_chosen(build: Build, run: Callable[..., Ran]) -> None:
    ran = run(build("collbench"), 2, "-c", "scan,bcast", "-s", "8:64", "-n", "3", "-w", "1")
    assert ran.status == 0 and "Verification" not in ran.said
    assert [row[:2] for row in ran.rows()] == [
        [name, size] for name in ("bcast", "scan") for size in ("8", "16", "32", "64")
    ]
    assert "3 repetitions after 1 of warm-up" in ran.said


@pytest.mark.parametrize("ranks, pairs", [(2, 1), (3, 1), (4, 2)])
def test_pingpong_verifies_what_arrives_in_every_mode(
    build: Build, run: Callable[..., Ran], ranks: int, pairs: int
) -> None:
    modes = ("latency", "bandwidth", "bidirectional", "rate")
    sizes = ("0", "1", "100", "40960")
    options = ["-s", "0,1,100,40K", "-n", "2", "-w", "1", "-W", "8", "-p", str(pairs), "--check"]
    ran = verified(run(build("pingpong"), ranks, "-m", ",".join(modes), *options))
    expected = [[mode, size, "1" if mode == "latency" else "8", "ok"] for mode in modes for size in sizes]
    assert [[*row[:3], row[-1]] for row in ran.rows()] == expected


@pytest.mark.parametrize("eager", [100, 8192])
def test_loggops_finds_the_largest_eager_message_to_the_byte(
    build: Build, run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, eager: int
) -> None:
    """And prints each parameter once, within its interval, in the simulator's words."""
    monkeypatch.setenv("TACET_MPI_EAGER", str(eager))
    ran = run(build("loggops"), 2, "-r", "6", "-n", "3", "-m", "1024")
    rows = ran.rows()
    assert ran.status == 0 and [row[1] for row in rows] == ["L", "o_s", "o_r", "g", "G", "O", "S"]
    if "mpi-lite" in ran.said:
        assert rows[-1][2] == str(eager)
    for row in rows[:-1]:
        assert float(row[3]) <= float(row[2]) <= float(row[4])
    assert re.search(
        r"^# node: sim -L \d+ --os \d+ --or \d+ -g \d+ -G [\d.]+ -O [\d.]+ -S \d+$", ran.said, re.M
    )


@pytest.mark.parametrize("name, seed", [("ep", "-DEP_SEED=271828185"), ("is", "-DIS_SEED=314159267")])
def test_another_sequence_of_numbers_is_not_verified(
    build: Build, run: Callable[..., Ran], name: str, seed: str
) -> None:
    not_verified(run(build(name, seed), 2))


@pytest.mark.parametrize(
    "name, spoiler, arguments",
    [
        ("collbench", "MPI_Bcast", ["--check", "-s", "64", "-n", "2", "-c", "bcast,reduce"]),
        ("collbench", "MPI_Scan", ["--check", "-s", "64", "-n", "2", "-c", "scan,bcast"]),
        ("pingpong", "MPI_Recv", ["--check", "-s", "64", "-n", "2"]),
        ("pingpong", "MPI_Isend", ["--check", "-s", "64", "-n", "2", "-m", "bandwidth"]),
        ("halo", "MPI_Isend", ["--check", "-g", "8,8,8", "-n", "3"]),
        ("cg", "MPI_Send_init", ["-g", "8,8,8", "-n", "200"]),
        ("is", "MPI_Alltoallv", []),
    ],
)
def test_data_that_mpi_spoils_is_not_verified(
    build: Build, run: Callable[..., Ran], name: str, spoiler: str, arguments: list[str]
) -> None:
    verified(run(build(name), 2, *arguments))
    not_verified(run(build(name, spoiler=spoiler), 2, *arguments))


@pytest.mark.parametrize(
    "ranks, name, arguments, why",
    [
        (2, "ep", "-c X", "ep: -c X: give a class: S, W or A"),
        (2, "is", "--class=s", "is: --class s: give a class: S, W or A"),
        (2, "is", "S", "is: S: there is no such option: is --help lists them"),
        (1, "pingpong", "", "pingpong: 1 rank: it takes at least 2: mpiexec -n 2 pingpong"),
        (3, "pingpong", "-p 2", "pingpong: -p 2: 3 ranks: give at most 1"),
        (2, "pingpong", "-m latency,speed", "pingpong: -m latency,speed: give names with commas, of latency"),
        (2, "pingpong", "-W 0", "pingpong: -W 0: give a whole number from 1 to 1024"),
        (2, "pingpong", "-s 512M", "pingpong: -s 512M: give sizes in bytes up to 256M"),
        (2, "pingpong", "-s 8:4", "pingpong: -s 8:4: give sizes"),
        (1, "loggops", "", "loggops: 1 rank: it takes at least 2: mpiexec -n 2 loggops"),
        (2, "loggops", "-r 5", "loggops: -r 5: give a whole number from 6 to 1000"),
        (2, "loggops", "-m 4", "loggops: -m 4: give one size from 8 bytes to 4M"),
        (2, "collbench", "-s 12", "collbench: -s 12: reduce adds doubles: give multiples of 8"),
        (2, "collbench", "-c bcast,broadcast", "collbench: -c bcast,broadcast: give names with commas"),
        (2, "collbench", "-n", "collbench: -n: a value must follow it"),
        (2, "collbench", "--check=yes", "collbench: --check=yes: --check takes no value"),
        (2, "collbench", "-o /nowhere/rows", "collbench: -o /nowhere/rows: No such file or directory"),
        (2, "halo", "-g 64", "halo: -g 64: give two or three numbers of points with commas"),
        (2, "halo", "-g 65536,65536", "halo: -g 65536,65536: give two or three numbers of points"),
        (4, "halo", "-g 1,1,9 -p 4,1,1", "halo: -g: 1 points in x for 4 processes: give at least as many"),
        (1, "halo", "-p 2,0,0", "halo: -p 2,0,0: 1 ranks: give numbers whose product is that"),
        (4, "halo", "-p 3,0,0", "halo: -p 3,0,0: 4 ranks: give numbers whose product is that"),
        (2, "cg", "-t 2", "cg: -t 2: give a number from 1e-13 to 0.1"),
        (2, "cg", "-n 0", "cg: -n 0: give a whole number from 1 to 100000"),
    ],
)
def test_bad_options_are_refused_once_and_by_name(
    build: Build, run: Callable[..., Ran], ranks: int, name: str, arguments: str, why: str
) -> None:
    ran = run(build(name), ranks, *arguments.split())
    assert ran.status == 2
    assert ran.errors.count(why) == 1, ran.errors
    assert ran.errors.count(f"{name}: ") == 1, ran.errors


@pytest.mark.parametrize("name", ["collbench", "pingpong", "ep", "is", "halo", "cg"])
def test_help_names_every_option(build: Build, run: Callable[..., Ran], name: str) -> None:
    ran = run(build(name), 2, "--help")
    assert ran.status == 0 and ran.said.startswith(f"usage: {name} ") and not ran.errors
    source = (BENCH / f"{name}.c").read_text()
    for option in source.split('.name = "')[1:]:
        assert f"--{option.split(chr(34))[0]}" in ran.said
