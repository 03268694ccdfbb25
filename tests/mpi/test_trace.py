# SPDX-License-Identifier: BSD-2-Clause
"""Traces of programs (apps/mpi-trace): the program of trace/ prints the messages that it sends and receives,
and its trace has the same ones, with this library and with Debian's MPICH and Open MPI; a job that ends badly
leaves marked files; refusals name their cause. tests/host/test_lab_mpi_trace.py is about reading."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest
from mpi_answers import FORTRAN, OPENMPI, PROGRAMS, run
from mpi_answers import recorded as recorded_of

from lab.formats import liballprof, mpi_trace
from lab.formats.mpi_trace import RECEIVES, SENDS, RankTrace
from tests.making import ROOT, made

BUILD = ROOT / "build" / "mpi-trace"
MPIRUN = ROOT / "build" / "service" / "tacet-mpirun"
MPI = ROOT / "apps" / "mpi-lite"
OTHERS = ("mpich", "openmpi")
IN_FORTRAN = (ROOT / "tests" / "mpi" / "trace" / "traced.f90").read_text(encoding="utf-8")


def ours(folder: Path, ranks: int, *how: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs the program under the address and undefined-behaviour sanitizers, leaks included."""
    made("build/mpi-trace/programs/asan/traced", "build/service/tacet-mpirun")
    words = [MPIRUN, "-n", str(ranks), BUILD / "programs" / "asan" / "traced", *how]
    return run(*words, environment={"TACET_TRACE": str(folder / "trace"), **environment})


def theirs(library: str, folder: Path, *program: str | Path, preload: bool = True) -> str:
    """Runs a program with another library on two ranks, traced by LD_PRELOAD; returns what it prints."""
    tracer = BUILD / library / "libmpi-trace.so" if preload else ""
    variables = {"TACET_TRACE": str(folder / "trace")}
    if library == "mpich":
        words = ["mpiexec.mpich", "-n", "2", "-genv", "LD_PRELOAD", tracer, *program]
    else:
        variables |= OPENMPI | {"OMPI_MCA_orte_tmpdir_base": str(folder)}
        words = ["mpirun.openmpi", "-n", "2", "-x", f"LD_PRELOAD={tracer}", *program]
    done = run(*words, environment=variables)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def recorded(traces: list[RankTrace]) -> Counter[str]:
    """The messages of all ranks' traces, as the program prints them."""
    found: Counter[str] = Counter()
    for trace in traces:
        for letter, kind in (("S", SENDS), ("R", RECEIVES)):
            for rows in mpi_trace.world_messages(trace, kind):
                found.update(f"{letter} {' '.join(map(str, row))}" for row in rows.tolist())
    return found


def agree(said: str, folder: Path) -> list[RankTrace]:
    """Checks that the traces have the messages that were printed, and nothing is open or marked."""
    traces = mpi_trace.read_folder(folder / "trace")
    messages = [line for line in said.splitlines() if line[:2] in ("S ", "R ")]
    assert len(messages) > 10 and recorded(traces) == Counter(messages)
    assert not any(trace.mark for trace in traces)
    return traces


@pytest.mark.parametrize("ranks", [2, 5])
def test_a_trace_has_the_messages_of_the_program(ranks: int, tmp_path: Path) -> None:
    done = ours(tmp_path, ranks)
    assert (done.returncode, done.stderr) == (0, ""), done
    traces = agree(done.stdout, tmp_path)
    rows = np_rows(traces[0])
    names = [traces[0].names.get(int(row["call"]), "") for row in rows]
    polls = [row for row, name in zip(rows, names) if name in ("Test", "Iprobe", "Improbe")]
    assert sum(traces[0].counts[name] for name in ("Test", "Iprobe", "Improbe")) > len(polls)
    assert len(polls) <= 4, "a loop of polls is one record, and one more if it is interrupted"
    assert names[0] == "Init" and names[-1] == "Finalize"


def np_rows(trace: RankTrace) -> list:
    """All calls of a small trace."""
    return [
        row
        for rows in trace.blocks()
        for row in rows[mpi_trace.heads_of(rows)]
        if row["call"] != mpi_trace.COMM
    ]


def test_requests_are_completed_once_by_what_waits_for_them(tmp_path: Path) -> None:
    assert ours(tmp_path, 3).returncode == 0
    for trace in mpi_trace.read_folder(tmp_path / "trace"):
        begun, completed = [], []
        for rows in trace.blocks():
            starts = (rows["flags"] & mpi_trace.COMPLETES == 0) & (rows["call"] != mpi_trace.WORDS)
            begun += rows["request"][starts & (rows["request"] > 0) & (rows["flags"] & 7 > 0)].tolist()
            for head in mpi_trace.heads_of(rows):
                if rows["flags"][head] & mpi_trace.COMPLETES:
                    words = mpi_trace.words_of(rows, int(head)).tolist()
                    completed += words or [int(rows["request"][head])]
        assert sorted(completed) == sorted(begun) and len(set(begun)) == len(begun) > 8


def test_liballprofs_text_has_the_same_messages(tmp_path: Path) -> None:
    done = ours(tmp_path, 3)
    traces = mpi_trace.read_folder(tmp_path / "trace")
    (tmp_path / "text").mkdir()
    liballprof.write_folder(traces, tmp_path / "text")
    found: Counter[str] = Counter()
    for trace in liballprof.read_folder(tmp_path / "text"):
        for rows in trace.blocks():
            for row in mpi_trace.messages(rows, SENDS):
                found[f"S {trace.rank} {row['peer']} {row['tag']} {row['bytes']}"] += 1
            for row in mpi_trace.messages(rows, RECEIVES):
                found[f"R {row['peer']} {trace.rank} {row['tag']} {row['bytes']}"] += 1
    assert found == Counter(line for line in done.stdout.splitlines() if line)


#: What rank 1 does, and what its and the others' files say.
ENDS = {
    "abort": ("it ends by MPI_Abort", "it ends by signal 15"),
    "exit": ("it ends by exit without MPI_Finalize",) * 2,
    "term": ("it ends by signal 15",) * 2,
    "error": (
        "it ends by an error: MPI_Send: MPI_ERR_RANK: argument dest: 99 is no rank of a communicator of 2",
        "it ends by signal 15",
    ),
    "kill": ("it ends by none: the process was killed, or still runs", "it ends by signal 15"),
}


@pytest.mark.parametrize(
    "how",
    ["error", "kill", *(pytest.param(how, marks=pytest.mark.long) for how in ("abort", "exit", "term"))],
)
def test_a_job_that_ends_badly_leaves_marked_files(how: str, tmp_path: Path) -> None:
    assert ours(tmp_path, 2, how).returncode != 0
    others, own = mpi_trace.read_folder(tmp_path / "trace")
    assert (own.mark, others.mark) == ENDS[how]
    assert len(np_rows(others)) > 40


def test_a_trace_without_room_is_whole_up_to_its_end_and_says_so(tmp_path: Path) -> None:
    done = ours(tmp_path, 2, TACET_TRACE_RECORDS="64")
    assert done.returncode == 0 and "calls found no room" in done.stderr, done
    traces = mpi_trace.read_folder(tmp_path / "trace")
    assert all(trace.records <= 64 and trace.lost and "found no room" in trace.mark for trace in traces)
    assert all(len(np_rows(trace)) > 30 for trace in traces)
    assert not recorded(traces) - Counter(done.stdout.splitlines())


def test_threads_that_would_overlap_are_serialized_by_name(tmp_path: Path) -> None:
    done = ours(tmp_path, 2, "threads")
    assert done.returncode == 0 and done.stdout.startswith("serialized"), done
    assert "MPI_THREAD_MULTIPLE cannot be traced: the program gets MPI_THREAD_SERIALIZED" in done.stderr


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("TACET_TRACE_RECORDS", "many", "TACET_TRACE_RECORDS=many: it takes a number from 64 to "),
        ("TACET_TRACE_CPU", "2", "TACET_TRACE_CPU=2: it takes a number from 0 to 1"),
        ("TACET_TRACE", "/proc/none", "set TACET_TRACE to another folder"),
    ],
)
def test_what_cannot_be_traced_is_refused_at_the_start(
    name: str, value: str, why: str, tmp_path: Path
) -> None:
    done = ours(tmp_path, 2, **{name: value})
    assert done.returncode == 1 and why in done.stderr and not done.stdout, done


def test_cpu_time_is_measured_if_ranks_share_cpus(tmp_path: Path) -> None:
    assert ours(tmp_path, 2, TACET_TRACE_CPU="1").returncode == 0
    for trace in mpi_trace.read_folder(tmp_path / "trace"):
        rows = np_rows(trace)
        assert trace.cpu_time and sum(int(row["cpu_ns"]) for row in rows) > 0
        ends = [int(row["end_ns"]) for row in rows]
        assert all(0 <= int(row["cpu_ns"]) < 10**10 for row in rows) and ends == sorted(ends)


# ---- Fortran, and other libraries ----


def test_fortran_is_traced_as_c_is(tmp_path: Path) -> None:
    made("mpi", "build/service/tacet-mpirun")
    (tmp_path / "traced.f90").write_text(IN_FORTRAN, encoding="utf-8")
    done = run(MPI / "tacet-mpif90", "traced.f90", "-lmpi-trace", "-o", "traced", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    variables = {"TACET_TRACE": str(tmp_path / "trace")}
    done = run(MPIRUN, "-n", "3", tmp_path / "traced", environment=variables)
    assert (done.returncode, done.stderr) == (0, ""), done
    traces = agree(done.stdout, tmp_path)
    for trace in traces:
        reduced = [row for row in np_rows(trace) if trace.names[int(row["call"])] == "Allgather"]
        assert [int(row["bytes"]) for row in reduced] == [4], "in place: the part that is received"


@pytest.mark.long
@pytest.mark.parametrize("library", OTHERS)
def test_a_program_may_be_linked_with_the_tracer(library: str, tmp_path: Path) -> None:
    """Instead of LD_PRELOAD."""
    made(f"build/mpi-trace/{library}/libmpi-trace.so")
    folder = BUILD / library
    words = [ROOT / "tests" / "mpi" / "trace" / "traced.c", "-w", f"-L{folder}", "-lmpi-trace"]
    done = run(f"mpicc.{library}", *words, f"-Wl,-rpath,{folder}", "-o", tmp_path / "traced")
    assert done.returncode == 0, done.stderr
    agree(theirs(library, tmp_path, tmp_path / "traced", preload=False), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("library", OTHERS)
def test_other_libraries_send_the_same_messages(library: str, tmp_path: Path) -> None:
    made(f"build/mpi-trace/{library}/libmpi-trace.so", f"build/mpi-trace/programs/{library}/traced")
    said = theirs(library, tmp_path, BUILD / "programs" / library / "traced")
    agree(said, tmp_path)
    (tmp_path / "ours").mkdir()
    assert sorted(ours(tmp_path / "ours", 2).stdout.splitlines()) == sorted(said.splitlines())
    of_ours = mpi_trace.read_folder(tmp_path / "ours" / "trace")
    assert recorded(of_ours) == recorded(mpi_trace.read_folder(tmp_path / "trace"))


@pytest.mark.long
def test_fortran_of_mpich_sends_the_same_messages(tmp_path: Path) -> None:
    made("build/mpi-trace/mpich/libmpi-trace.so")
    (tmp_path / "traced.f90").write_text(IN_FORTRAN, encoding="utf-8")
    done = run("mpif90.mpich", "-w", "traced.f90", "-o", "traced", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    agree(theirs("mpich", tmp_path, tmp_path / "traced"), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("program", [name for name in PROGRAMS if name != "threads"])
def test_every_program_says_the_same_when_it_is_traced(program: str, tmp_path: Path) -> None:
    """All functions, right and wrong arguments, under the sanitizers. The program `threads` requires what is
    not given to it."""
    library = ROOT / "build" / "mpi-lite" / "asan"
    made("build/mpi-lite/asan/libmpi-trace.a", "build/mpi-lite/asan/libmpi.a", "build/service/tacet-mpirun")
    includes = [f"-I{MPI}/include", f"-I{ROOT}/build/mpi-lite/include"]
    source = ROOT / "tests" / "mpi" / "programs" / f"{program}.c"
    words = ["-std=gnu11", "-fsanitize=address,undefined", "-w", *includes, source, f"-L{library}"]
    done = run("gcc", *words, "-lmpi-trace", "-lmpi", "-pthread", "-lm", "-o", tmp_path / "program")
    assert done.returncode == 0, done.stderr
    variables = {"TACET_TRACE": str(tmp_path / "trace"), "TACET_TRACE_RECORDS": "100000"}
    done = run(MPIRUN, "-n", "3", tmp_path / "program", environment=variables)
    assert (done.returncode, done.stdout) == (0, recorded_of("mpich", program)), done
    for trace in mpi_trace.read_folder(tmp_path / "trace"):
        assert not trace.mark or "found no room" in trace.mark
        for kind in (SENDS, RECEIVES):
            assert sum(len(rows) for rows in mpi_trace.world_messages(trace, kind)) >= 0


@pytest.mark.long
@pytest.mark.parametrize("program", FORTRAN)
def test_every_program_in_fortran_says_the_same_when_it_is_traced(program: str, tmp_path: Path) -> None:
    made("mpi", "build/service/tacet-mpirun")
    folder = ROOT / "tests" / "mpi" / "fortran"
    words = ["-w", "-c", folder / "support.c", "-o", tmp_path / "support.o"]
    done = run(MPI / "tacet-mpicc", *words, environment={"TACET_MPI_LIBC": "glibc"})
    assert done.returncode == 0, done.stderr
    source = next(folder.glob(f"{program.rpartition('/')[2]}.f*"))
    words = ["-w", source, "support.o", "-lmpi-trace", "-o", "program"]
    done = run(MPI / "tacet-mpif90", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    variables = {"TACET_TRACE": str(tmp_path / "trace"), "TACET_TRACE_RECORDS": "100000"}
    done = run(MPIRUN, "-n", "3", tmp_path / "program", environment=variables)
    assert (done.returncode, done.stdout) == (0, recorded_of("mpich", program)), done
    traces = mpi_trace.read_folder(tmp_path / "trace")
    sent, got = (
        sum(len(rows) for trace in traces for rows in mpi_trace.world_messages(trace, kind))
        for kind in (SENDS, RECEIVES)
    )
    assert sent == got and not any(trace.mark for trace in traces)
