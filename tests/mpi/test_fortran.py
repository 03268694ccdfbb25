# SPDX-License-Identifier: BSD-2-Clause
"""MPI's Fortran (apps/mpi-lite/fortran.py, tacet-mpif90): the programs of tests/mpi/fortran print the same
with this library and with Debian's MPICH, as answers.txt records it; constants are those of mpi.h; every
function links; the module checks arguments, and is made once for each compiler; refusals name their cause."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mpi_answers import recorded, run

from tests.making import ROOT, made

MPI = ROOT / "apps" / "mpi-lite"
LIBRARY = ROOT / "build" / "mpi-lite"
BUILD = LIBRARY / "fortran-programs"
MPIRUN = ROOT / "build" / "service" / "tacet-mpirun"
PROGRAMS = sorted(path.stem for path in (ROOT / "tests" / "mpi" / "fortran").glob("*.f*"))
#: Limit of a job, in seconds.
LIMIT_S = 600

sys.path.insert(0, str(MPI))
import bindings
import fortran

HELLO = """\
program hello
  use mpi
  implicit none
  integer :: rank, error
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  print '(a, i0)', 'rank ', rank
  call MPI_Finalize(error)
end program
"""


def compiled(
    folder: Path, text: str, *options: str, name: str = "program.f90", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Compiles a program with tacet-mpif90 to `folder`/program."""
    made("mpi")
    (folder / name).write_text(text, encoding="utf-8")
    return run(MPI / "tacet-mpif90", *options, name, "-o", "program", cwd=folder, environment=environment)


# ---- Conformance ----


def test_there_are_programs_in_both_forms() -> None:
    assert len(PROGRAMS) >= 4
    assert {path.suffix for path in (ROOT / "tests" / "mpi" / "fortran").glob("*.f*")} == {".f", ".f90"}


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_say_what_they_say_with_mpich(program: str, ranks: int) -> None:
    """Under the address and undefined-behaviour sanitizers, leaks included; nothing is left at the end."""
    made(f"build/mpi-lite/fortran-programs/asan/{program}", "build/service/tacet-mpirun")
    done = run(MPIRUN, "-n", str(ranks), BUILD / "asan" / program, environment={"TACET_MPI_DEBUG": "1"})
    assert (done.returncode, done.stderr) == (0, ""), done
    assert done.stdout == recorded("mpich", f"fortran/{program}") and "ok " in done.stdout


# ---- Functions and constants ----


def test_every_function_links_by_both_names(tmp_path: Path) -> None:
    made("mpi")
    words = ["-w", LIBRARY / "every.f", "-o", "every"]
    done = run(MPI / "tacet-mpif90", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    functions = [function for function in bindings.read_functions(MPI / "functions.txt")]
    names = {function.name for function in functions if fortran.is_fortran(function)} | set(fortran.MPI_1)
    count = 2 * len(names) + len(fortran.CALLBACKS)
    assert run(tmp_path / "every").stdout == f"{count} functions\n" and count > 700


def c_constants(folder: Path) -> dict[str, int]:
    """Returns Fortran's value, computed in C, of each macro of mpi.h that is an integer or a handle."""
    include = [f"-I{MPI}/include", f"-I{LIBRARY}/include"]
    macros = run("gcc", "-dM", "-E", *include, MPI / "include" / "mpi.h").stdout
    handles = "Comm Type Group Request Message Op Info Errhandler Win File".split()
    types = {"Type": "MPI_Datatype"}
    choices = ", ".join(f"{types.get(kind, 'MPI_' + kind)}: MPI_{kind}_c2f" for kind in handles)
    lines = ["#include <mpi.h>", "#include <stdio.h>", "static long long same(long long i) { return i; }",
             f"#define NUMBER(x) _Generic((x), int: same, {choices})(x)", "int main(void) {"]  # fmt: skip
    number, object_ = r"\(?-?(0x)?[0-9a-f]+\)?", r"\(&mpi_lite_\w+\)"
    null, other = r"\(\(MPI_(?!\w*function|T_)\w+\)0\)", r"MPI_[A-Z_]+(?<!_FN)"
    for name, text in re.findall(r"^#define (MPI_[A-Z0-9]\w*) (.+)$", macros, re.MULTILINE):
        if re.fullmatch(f"{number}|{object_}|{null}|{other}", text):
            lines.append(f'printf("%s %lld\\n", "{name}", (long long)NUMBER({name}));')
    (folder / "c.c").write_text("\n".join([*lines, "}"]), encoding="utf-8")
    done = run("gcc", *include, "c.c", LIBRARY / "glibc" / "libmpi.a", "-o", "c", "-pthread", cwd=folder)
    assert done.returncode == 0, done.stderr
    return {name: int(value) for name, value in map(str.split, run(folder / "c").stdout.splitlines())}


def test_constants_are_those_of_mpi_h(tmp_path: Path) -> None:
    """A string's length does not count C's NUL."""
    made("mpi")
    expected = {name: value - name.startswith("MPI_MAX_") for name, value in c_constants(tmp_path).items()}
    assert len(expected) > 245 and {"MPI_COMM_WORLD", "MPI_ERR_RANK", "MPI_2INTEGER"} <= set(expected)
    lines = ["program constants", "implicit none", "include 'mpif.h'"]
    lines += [f"print '(a, 1x, i0)', '{name}', {name}" for name in expected]
    done = compiled(tmp_path, "\n".join([*lines, "end"]))
    assert done.returncode == 0, done.stderr
    said = run(tmp_path / "program").stdout
    assert {name: int(value) for name, value in map(str.split, said.splitlines())} == expected


@pytest.mark.parametrize("options", [["-ffixed-form"], ["-ffree-form"], ["-ffree-form", "-std=f2008"]])
def test_mpif_h_reads_in_both_forms(options: list[str], tmp_path: Path) -> None:
    made("mpi")
    text = (LIBRARY / "include" / "mpif.h").read_text(encoding="utf-8")
    assert max(map(len, text.splitlines())) <= 72
    program = "      program forms\n      implicit none\n      include 'mpif.h'\n      end\n"
    done = compiled(tmp_path, program, *options, "-Werror", "-c")
    assert done.returncode == 0, done.stderr


def test_a_function_without_fortran_is_named(tmp_path: Path) -> None:
    """fortran.py refuses a parameter of an unknown type."""
    text = "## Groups [MPI 3.1 §6.3]\nint Group_paint(MPI_Group group, MPI_Paint paint)\n    Paints.\n"
    (tmp_path / "list.txt").write_text(text, encoding="utf-8")
    words = ["wrappers", "list.txt", MPI / "include" / "mpi.h"]
    done = run(sys.executable, MPI / "fortran.py", *words, cwd=tmp_path)
    assert done.returncode == 1 and "MPI_Group_paint: no Fortran for MPI_Paint paint" in done.stderr, done


# ---- The compiler ----


def test_a_program_compiles_and_runs_alone(tmp_path: Path) -> None:
    for libc in "musl", "glibc":
        done = compiled(tmp_path, HELLO, "-Wall", "-Werror", TACET_MPI_LIBC=libc)
        assert done.returncode == 0, done.stderr
        done = run(tmp_path / "program")
        assert (done.returncode, done.stdout) == (0, "rank 0\n"), done.stderr


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("MPI_Init(error)", "MPI_Init()"),
        ("MPI_Comm_rank(MPI_COMM_WORLD, rank, error)", "MPI_Comm_rank(MPI_COMM_WORLD, rank)"),
        ("MPI_Comm_rank(MPI_COMM_WORLD, rank, error)", "MPI_Comm_rank(MPI_COMM_WORLD, rank, error, 1)"),
        ("MPI_Comm_rank(MPI_COMM_WORLD, rank, error)", "MPI_Comm_rank(1.5, rank, error)"),
    ],
)
def test_the_module_checks_arguments(right: str, wrong: str, tmp_path: Path) -> None:
    done = compiled(tmp_path, HELLO.replace(right, wrong), "-c")
    assert done.returncode != 0 and "Error: " in done.stderr, done


@pytest.mark.parametrize("name", ["tacet-mpif90", "tacet-mpif77", "tacet-mpifort"])
def test_show_prints_the_command(name: str) -> None:
    made("mpi")
    done = run(MPI / name, "-show", "-O2", "a.f90")
    words = done.stdout.split()
    assert words[0] == "gfortran" and f"-I{LIBRARY}/include" in words and "-static" in words
    assert words[-3:] == [str(ROOT / "libc" / "gfortran.ld"), "-lmpi", "-pthread"]
    assert "-lmpi" not in run(MPI / name, "-show", "-c", "a.f90").stdout


@pytest.mark.parametrize(
    ("environment", "option", "says"),
    [
        ({"TACET_ARCH": "ppc64"}, "-c", "TACET_ARCH=ppc64: the library for glibc is for x86_64 alone"),
        ({"TACET_MPI_LIBC": "newlib"}, "-c", "TACET_MPI_LIBC=newlib: musl or glibc"),
        ({}, "-fdefault-integer-8", "-fdefault-integer-8: the library's INTEGERs have 4 bytes"),
        ({"TACET_MPI_FC": "no-such-compiler"}, "-c", "no-such-compiler does not run"),
    ],
)
def test_what_there_is_not_is_refused(
    environment: dict[str, str], option: str, says: str, tmp_path: Path
) -> None:
    done = compiled(tmp_path, HELLO, option, **environment)
    assert done.returncode == 1 and done.stderr.startswith(f"tacet-mpif90: {says}"), done


@pytest.mark.parametrize("use", ["use mpi_f08", "USE, NON_INTRINSIC :: MPI_F08", "use mpi_f08, only: a"])
def test_mpi_f08_is_refused_by_name(use: str, tmp_path: Path) -> None:
    done = compiled(tmp_path, HELLO.replace("use mpi", use), "-c")
    assert done.returncode != 0
    says = "the module mpi_f08 is not in this library; use mpi, or include 'mpif.h'"
    assert done.stderr.splitlines()[-1] == f"tacet-mpif90: program.f90:2: {says}", done


def test_a_program_that_only_mentions_mpi_f08_compiles(tmp_path: Path) -> None:
    text = HELLO.replace("  use mpi", "#ifdef MODERN\n  use mpi_f08\n#else\n  use mpi\n#endif")
    done = compiled(tmp_path, text, "-c", name="program.F90")
    assert (done.returncode, done.stderr) == (0, "")


def modules_of(build: Path) -> list[Path]:
    """The folders of modules: one for each, and none incomplete."""
    found = sorted((build / "mpi-lite" / "fortran").iterdir())
    assert all((folder / "mpi.mod").exists() for folder in found)
    return found


@pytest.mark.long
def test_the_module_is_made_once_for_each_compiler_and_source(tmp_path: Path) -> None:
    """Also by several compilers at once."""
    made("mpi")
    build = tmp_path / "build"
    shutil.copytree(LIBRARY / "include", build / "mpi-lite" / "include")
    (tmp_path / "hello.f90").write_text(HELLO, encoding="utf-8")
    environment = {**os.environ, "TACET_BUILD": str(build)}
    words = [str(MPI / "tacet-mpif90"), "-c", "hello.f90", "-o"]
    running = [subprocess.Popen([*words, f"{i}.o"], cwd=tmp_path, env=environment) for i in range(4)]
    assert [process.wait(timeout=LIMIT_S) for process in running] == [0] * 4
    assert len(modules_of(build)) == 1

    with (build / "mpi-lite" / "include" / "mpi.f90").open("a") as source:
        source.write("! Another source.\n")
    assert run(*words, "5.o", cwd=tmp_path, environment={"TACET_BUILD": str(build)}).returncode == 0
    assert len(modules_of(build)) == 2

    other = tmp_path / "other-gfortran"
    other.write_text('#!/bin/sh\n[ "$1" != --version ] || { echo other; exit; }\nexec gfortran "$@"\n')
    other.chmod(0o755)
    more = {"TACET_BUILD": str(build), "TACET_MPI_FC": str(other)}
    for _ in range(2):
        assert run(*words, "6.o", cwd=tmp_path, environment=more).returncode == 0
    assert len(modules_of(build)) == 3


# ---- Bad input ----


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("MPI_Comm_rank(12345, rank, error)", "MPI_Comm_rank: MPI_ERR_COMM: argument comm: 12345 is no comm"),
        ("MPI_Barrier(MPI_INTEGER, error)", "MPI_Barrier: MPI_ERR_COMM: argument comm: 2000000"),
        ("MPI_Send(rank, 1, -7, 0, 0, MPI_COMM_WORLD, error)", "MPI_ERR_TYPE: argument type: -7 is no data"),
        ("MPI_Comm_spawn('a', MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, rank, "
         "MPI_ERRCODES_IGNORE, error)", "MPI_Comm_spawn is not in this library"),
        ("MPI_Type_create_f90_real(40, 10, rank, error)", "MPI_ERR_ARG: Fortran has no kind of 40 digits"),
        ("MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, rank, error)", "argument size: there is no type of"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_named(call: str, says: str, tmp_path: Path) -> None:
    text = HELLO.replace("MPI_Comm_rank(MPI_COMM_WORLD, rank, error)", call)
    done = compiled(tmp_path, text.replace("use mpi", "").replace("none", "none\n  include 'mpif.h'"), "-w")
    assert done.returncode == 0, done.stderr
    done = run(tmp_path / "program")
    assert done.returncode != 0 and says in done.stderr, done


def test_numbers_of_freed_handles_are_used_again(tmp_path: Path) -> None:
    """In whichever language they are freed; a freed number is refused."""
    text = """\
program again
  use mpi
  implicit none
  integer :: type, error, i, first, class
  call MPI_Init(error)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, error)
  call MPI_Type_contiguous(2, MPI_INTEGER, first, error)
  type = first
  call MPI_Type_free(type, error)
  do i = 1, 100000
    call MPI_Type_contiguous(2, MPI_INTEGER, type, error)
    if (type /= first) error stop 2
    call MPI_Type_free(type, error)
  end do
  call MPI_Type_size(first, i, error)
  call MPI_Error_class(error, class, i)
  if (class /= MPI_ERR_TYPE) error stop 3
  call MPI_Finalize(error)
end program
"""
    done = compiled(tmp_path, text)
    assert done.returncode == 0, done.stderr
    assert run(tmp_path / "program").returncode == 0
