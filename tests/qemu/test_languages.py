# SPDX-License-Identifier: BSD-2-Clause
"""Languages with a run-time library of their own, by the compiler of each architecture: Fortran with files
and OpenMP, C++ with exceptions, streams and threads, also exceptions out of a signal's handler. What the
sources print is the same everywhere; test_real_programs.py holds what x86_64's print against this machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conftest import Run, expect_exit, program

from qemu import architectures
from tests.making import ROOT

PROGRAMS = ROOT / "tests" / "programs"
FLAGS = ("-O2", "-static", "-Wl,--no-warnings")

FORTRAN = """\
40 hello from a file and ababab 28
product   196800.00   2.4000E+02 20 40
allocated F T
too much is refused T
lines 500500.00 T
records 125000 800
a file that is not there is an error T
threads 2 333833500 1000000
"""
THROWN = "".join(
    f"{what}, alive 0, {x}\n" for what in ("fault: signal 11", "raised: signal 10") for x in (0.0, 1.5)
)
#: A line of each part of tests/programs/cplusplus.cpp that only its end has right.
CPLUSPLUS = {
    "language": "caught: at the bottom, alive: 0\n",
    "threads": "from another thread: at the bottom\n",
    "files": "caught: Not a directory\n",
}


def built(folder: Path, arch: str, source: str, compiler: str, *more: str | Path) -> Path:
    out = folder / Path(source).stem
    prefix = architectures.named(arch).binutils
    subprocess.run([prefix + compiler, *FLAGS, "-o", out, PROGRAMS / source, *more], check=True)
    return out


def test_fortran_has_files_allocatable_arrays_and_threads(arch: str, tacet: Run, tmp_path: Path) -> None:
    threads = ("-fopenmp", ROOT / "libc" / "gfortran.ld")
    own = built(tmp_path, arch, "fortran.f90", "gfortran", *threads)
    source = tmp_path / "input"
    source.write_text("40\nhello from a file\n")
    result = tacet(own, cpus=2, memory="512M", options="ranks=1", stdin=source)
    assert expect_exit(result, 5).stdout.decode() == FORTRAN, result.explain()
    assert result.stderr == b"to standard error\nSTOP 5\n", result.explain()


def test_exceptions_leave_handlers_of_signals(arch: str, tacet: Run, tmp_path: Path) -> None:
    thrown = built(tmp_path, arch, "thrown.cpp", "g++", "-std=c++20", "-fnon-call-exceptions")
    result = tacet(thrown, cpus=2, memory="256M", options="ranks=1")
    assert expect_exit(result).stdout.decode() == 3 * THROWN, result.explain()


@pytest.mark.parametrize("part", list(CPLUSPLUS))
def test_cplusplus_has_exceptions_streams_and_threads(part: str, arch: str, tacet: Run) -> None:
    result = tacet(program("cplusplus.glibc", arch), part, cpus=2, memory="256M", options="ranks=1")
    said = expect_exit(result).stdout.decode()
    assert CPLUSPLUS[part] in said and said.endswith("end\n"), result.explain()
