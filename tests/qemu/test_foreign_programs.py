# SPDX-License-Identifier: BSD-2-Clause
"""Runtimes and libraries of other projects, as Debian has them, use threads as they do elsewhere: Go,
Rust, CPython, OpenBLAS, FFTW, HDF5, SQLite, Lua; and noise tools and OpenMP bind threads to CPUs that others
use.

Each row is one run of a static ELF file made of a source in tests/foreign/; it prints, and ends, as the same
file does on this machine. The files check themselves, and print the same whatever the number of CPUs is. Most
rows have more threads than CPUs. What Debian's mirrors do not give (ports/foreign/fetch.sh) is skipped.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pending
import pytest
from conftest import Run, program

import qemu
from tests.making import ROOT, made

FOREIGN = qemu.BUILD / "x86_64" / "foreign"


@dataclass(frozen=True)
class Row:
    """A program of a kind of tests/foreign/foreign.mk, its words, and the node that it runs on."""

    kind: str
    program: str
    words: Sequence[str] = ()
    cpus: int = 2
    memory: str = "256M"
    env: tuple[tuple[str, str], ...] = ()


def python(part: str, cpus: int, script: str = "threads") -> Row:
    words = ("-S", f"/{script}.py", part)
    return Row("libraries", "python", words, cpus, "512M", env=(("PYTHONHOME", "/usr"),))


def openmp(cpus: int, threads: int, **env: str) -> Row:
    return Row("", "openmp", (), cpus, env=(("OMP_NUM_THREADS", str(threads)), *env.items()))


ROWS: dict[str, Row] = {
    # GOMAXPROCS is what Go finds; at least one more thread watches the others.
    **{f"go-{cpus}": Row("go", "go", ("all",), cpus, "512M") for cpus in (1, 2, 4, 8)},
    **{f"rust-{cpus}": Row("rust", "rust", ("4",), cpus) for cpus in (1, 2, 8)},
    **{f"go-network-{cpus}": Row("go", "go", ("network",), cpus, "512M") for cpus in (1, 4)},
    "rust-12-threads": Row("rust", "rust", ("12",), 4),
    # OpenBLAS maps 128 MiB for each thread that computes.
    "openblas": Row("libraries", "openblas", ("4",), 2, "2G"),
    **{f"fftw-{cpus}": Row("libraries", "fftw", ("4",), cpus) for cpus in (1, 4)},
    **{f"hdf5-{cpus}": Row("libraries", "hdf5", ("6",), cpus) for cpus in (1, 3, 8)},
    **{f"sqlite-{cpus}": Row("libraries", "sqlite", ("4",), cpus) for cpus in (1, 2, 8)},
    **{f"lua-{cpus}": Row("libraries", "lua", ("5",), cpus) for cpus in (1, 2, 8)},
    **{f"python-{part}-1": python(part, 1) for part in ("threads", "pool", "asyncio", "signals")},
    **{f"python-{part}-4": python(part, 4) for part in ("threads", "pool", "asyncio", "signals")},
    **{f"python-network-{cpus}": python("loopback", cpus, "network") for cpus in (1, 4)},
    # One thread on each CPU, the main thread on one of them, too (sysjitter).
    **{f"pinned-jitter-{cpus}": Row("", "pinned", ("jitter",), cpus) for cpus in (1, 2, 4)},
    # More threads than CPUs, each bound to one, that wait for each other by spinning (ftq -t).
    "pinned-quanta-same": Row("", "pinned", ("quanta", "2"), 2),
    "pinned-quanta-more": Row("", "pinned", ("quanta", "9"), 4),
    "pinned-quanta-1": Row("", "pinned", ("quanta", "4"), 1),
    "pinned-others": Row("", "pinned", ("others", "7"), 3),
    "pinned-tour": Row("", "pinned", ("tour", "12"), 3),
    # A lock that is asked for after a time limit, as CPython's is.
    **{f"handover-{cpus}": Row("", "handover", ("5",), cpus) for cpus in (1, 2)},
    "openmp-more-active": openmp(2, 4, OMP_WAIT_POLICY="active"),
    "openmp-more-bound": openmp(2, 6, OMP_PROC_BIND="true", OMP_PLACES="cores"),
    "openmp-1": openmp(1, 4),
}


@functools.cache
def absent(kind: str) -> str:
    """Makes the programs of a kind; says, where they cannot be made for lack of Debian's packages, why."""
    made(f"foreign-{kind}")
    if (ROOT / "build" / "foreign" / kind / "packages").is_file():
        return ""
    return (ROOT / "build" / "foreign" / f"{kind}.log").read_text().strip().splitlines()[-1]


def file_of(row: Row) -> Path:
    if row.program == "openmp":
        return program("openmp.glibc")
    if not row.kind:
        made(f"build/x86_64/foreign/{row.program}")
    elif reason := absent(row.kind):
        pytest.skip(reason)
    return FOREIGN / row.program


def files_of(row: Row, folder: Path) -> Path:
    """What node and machine have as their root directory."""
    files = folder / "files"
    (files / "tmp").mkdir(parents=True)
    if row.program == "python":
        shutil.copytree(FOREIGN / "python-files" / "usr", files / "usr")
        for script in ("threads.py", "network.py"):
            shutil.copy(ROOT / "tests" / "foreign" / "python" / script, files)
    return files


def here(app: Path, row: Row, files: Path) -> tuple[int, bytes]:
    """Status and output of the same file on this machine, with the files as its root directory."""
    root = files.with_name("root")
    shutil.copytree(files, root)
    shutil.copy(app, root / app.name)
    ran = subprocess.run(
        ["unshare", "-r", "chroot", ".", f"/{app.name}", *row.words],
        cwd=root,
        capture_output=True,
        timeout=300,
        env={"PATH": os.environ["PATH"], **dict(row.env)},
    )
    return ran.returncode, ran.stdout


@pytest.mark.long
@pytest.mark.parametrize(("name", "row"), pending.params("foreign", ROWS, ROWS.values()))
def test_a_program_with_threads_prints_what_it_prints_here(
    name: str, row: Row, tacet: Run, tmp_path: Path
) -> None:
    app = file_of(row)
    files = files_of(row, tmp_path)
    status, expected = here(app, row, files)
    assert status == 0 and expected, expected.decode(errors="replace")
    result = tacet(
        app,
        *row.words,
        files=files,
        env=dict(row.env),
        cpus=row.cpus,
        memory=row.memory,
        options="ranks=1 cwd=/",
        time_limit=60,
    )
    assert (result.outcome, result.status) == ("exit", 0), result.explain()
    assert result.stdout == expected, result.explain()
