# SPDX-License-Identifier: BSD-2-Clause
"""Each function that the library has is called by a program of tests/mpi/programs, and each class of errors
that it returns is provoked by one: a new one fails here until a program uses it."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.making import ROOT, made

MPI = ROOT / "apps" / "mpi-lite"
PROGRAMS = sorted((ROOT / "tests" / "mpi" / "programs").glob("*.c"))
#: Classes that no program provokes on purpose, and why.
UNPROVOKED = {
    "MPI_ERR_FILE": "a number in Fortran that is no file's: test_fortran tries numbers that are nothing",
    "MPI_ERR_INTERN": "two thousand million communicators",
    "MPI_ERR_LASTCODE": "a limit, not a class",
    "MPI_ERR_UNKNOWN": "a name in the table of texts alone",
    "MPI_ERR_PENDING": "a name in the table of texts alone: calls complete all requests, failed or not",
}

sys.path.insert(0, str(MPI))
import bindings


@cache
def called(program: Path) -> frozenset[str]:
    """Functions of MPI that the program and the headers next to it name, after preprocessing."""
    made("build/mpi-lite/include/mpi_functions.h")
    includes = [f"-I{MPI}/include", f"-I{ROOT}/build/mpi-lite/include"]
    words = ["gcc", "-std=gnu11", *includes, "-E", program]
    said = subprocess.run(words, check=True, capture_output=True, text=True, timeout=300).stdout
    # Each piece of a file begins with a line `# NUMBER "FILE" …`.
    pieces = re.split(r'^# \d+ "([^"]*)".*$', said, flags=re.MULTILINE)[1:]
    here = str(program.parent)
    own = "".join(text for file, text in zip(pieces[::2], pieces[1::2]) if file.startswith(here))
    return frozenset(re.findall(r"\bMPI_(\w+)", own))


def test_each_function_is_called_by_a_program() -> None:
    """By a program that expects it to work: the programs about wrong arguments do not count."""
    programs = [program for program in PROGRAMS if not program.stem.startswith("errors_")]
    seen = set().union(*(called(program) for program in programs))
    functions = bindings.read_functions(MPI / "functions.txt")
    there = {function.name for function in functions if not function.missing}
    assert len(there) > 200
    assert sorted(there - seen) == []


def test_each_class_of_errors_is_provoked() -> None:
    returned = set()
    for source in sorted((MPI / "src").glob("*/*.c")):
        if source.name != "error_text.c":
            returned |= set(re.findall(r"\bMPI_ERR_[A-Z_]+\b", source.read_text(encoding="utf-8")))
    bad = (ROOT / "tests" / "mpi" / "bad").glob("*.c")
    tests = [*PROGRAMS, *bad, ROOT / "tests" / "mpi" / "test_mpi_bad_input.py"]
    provoked = set()
    for test in tests:
        for statement in re.split(r'[;{}]|",\n', test.read_text(encoding="utf-8")):
            if re.search(r"REFUSED|WRONG|BOTH|CHECK|expected|: MPI_ERR_", statement):
                provoked |= set(re.findall(r"\bMPI_ERR_[A-Z_]+\b", statement))
    assert len(returned) > 15
    assert sorted(returned - provoked - set(UNPROVOKED)) == []
