# SPDX-License-Identifier: BSD-2-Clause
"""Programs of others, for the tests that run them: their sources, as ports/NAME/recipe pins them, compiled as
they are by our compilers; how HPC Challenge, NetPIPE and FFTW are configured, and what they say of their
checks."""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.making import ROOT

MPI_LITE = ROOT / "apps" / "mpi-lite"
MPIRUN = ROOT / "build" / "service" / "tacet-mpirun"
ENVIRONMENT = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS")} | {
    "TACET_MPI_LIBC": "glibc"
}
#: Limit of a make, in seconds.
MAKE_S = 900.0

Grids = Sequence[tuple[int, int]]


def run(words: Sequence[str | Path], folder: Path, seconds: float, **environment: str) -> tuple[int, str]:
    """Returns a command's status and output; it and its children end within the time."""
    process = subprocess.Popen(
        [str(word) for word in words],
        cwd=folder,
        env=ENVIRONMENT | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        said, _ = process.communicate()
        said += f"no end within {seconds:g} s\n"
    return process.returncode, said


def unpack(port: str, folder: Path, *options: str) -> None:
    """Unpacks the port's source, or what tar's options select, below the folder."""
    words = [ROOT / "ports" / "fetch.py", port]
    source = subprocess.run(words, capture_output=True, text=True, check=True, timeout=MAKE_S).stdout.strip()
    subprocess.run(["tar", "-x", "-f", source, *options], cwd=folder, check=True)


def make(folder: Path, *words: str, **environment: str) -> None:
    status, said = run(["make", *words], folder, MAKE_S, **environment)
    assert status == 0, said[-4000:]


# ---- HPC Challenge ----

#: HPL's configuration. BLAS is any of Debian's, in Fortran; tacet-mpif90 links all of it statically, so that
#: nodes run the same file.
HPCC_MAKE = f"""\
SHELL = /bin/sh
CD = cd
MKDIR = mkdir -p
TOPdir = ../../..
HPLlib = $(TOPdir)/lib/$(arch)/libhpl.a
CC = {MPI_LITE}/tacet-mpicc
CCNOOPT = -I$(TOPdir)/include
CCFLAGS = -O2 $(CCNOOPT)
LINKER = TACET_MPI_LIBC=musl {MPI_LITE}/tacet-mpif90
HPL_LIBS = $(HPLlib) -lblas
ARCHIVER = ar
ARFLAGS = rc
RANLIB = ranlib
"""
#: OpenBLAS would start threads.
HPCC_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1"}
#: Its input: how many values, and the values; the scaled residual that may not be exceeded.
THRESHOLD = 16.0
SIZES, BLOCKS, FACTORS, BROADCASTS, DEPTHS = "100", "16", "0 1 2", "0 1 2 3 4 5", "0 1"
PTRANS_SIZES, PTRANS_BLOCKS, PTRANS_MAPPINGS = "75", "7", 5


def hpcc_made(folder: Path) -> Path:
    unpack("hpcc", folder, "--strip-components=1")
    (folder / "hpl" / "Make.tacet").write_text(HPCC_MAKE)
    make(folder, "arch=tacet")
    return folder / "hpcc"


def hpcc_input(grids: Grids) -> str:
    """The file hpccinf.txt: small systems, on each grid of P x Q processes by each way of HPL's to factor a
    panel, to broadcast it, and to look ahead."""

    def counted(*rows: str) -> list[str]:
        return [str(len(rows[0].split())), *rows]

    sides = (" ".join(map(str, side)) for side in zip(*grids))
    lines = ["title", "title", "output", "device", *counted(SIZES), *counted(BLOCKS), "0", *counted(*sides)]
    # A panel is halved, by Crout's way, down to 4 columns.
    lines += [str(THRESHOLD), *counted(FACTORS), *counted("4"), *counted("2"), *counted("1")]
    # Swaps, forms, equilibration and alignment as usual.
    lines += [*counted(BROADCASTS), *counted(DEPTHS), "2", "64", "0", "0", "1", "8"]
    return "\n".join([*lines, "PTRANS", *counted(PTRANS_SIZES), *counted(PTRANS_BLOCKS)]) + "\n"


def hpcc_verify(said: str, ranks: int, grids: Grids) -> None:
    """Asserts that each part has run, and each check has passed, as hpccoutf.txt says."""
    summary = dict(re.findall(r"^(\w+)=(\S+)$", said.partition("Begin of Summary section.")[2], re.MULTILINE))
    assert summary.get("Success") == "1" and "FAILED" not in said and "failed)" not in said, said[-4000:]
    assert summary["CommWorldProcs"] == str(ranks)
    # PTRANS takes HPL's sizes, halved, and its blocks as well; HPL comes last.
    ptrans = (1 + len(SIZES.split())) * (1 + len(BLOCKS.split())) * len(grids) * PTRANS_MAPPINGS
    hpl = len(grids) * math.prod(len(each.split()) for each in (SIZES, BLOCKS, FACTORS, BROADCASTS, DEPTHS))
    tests = [r"(\d+) tests", r"(\d+) tests .* passed .*", r"(\d+) tests .* failed .*", r"(\d+) tests skipped"]
    results = f"^Finished +{tests[0]}.*\\n +{tests[1]}\\n +{tests[2]}\\n +{tests[3]}"
    finished = [tuple(map(int, found)) for found in re.findall(results, said, re.MULTILINE)]
    assert finished == [(count, count, 0, 0) for count in (ptrans, hpl)], finished
    assert said.count("...... PASSED") == hpl
    assert 0 <= float(summary["PTRANS_residual"]) < THRESHOLD
    # RandomAccess, of all ranks and of each, with both of its generators.
    wrong = re.findall(r"^Found (\d+) errors in (\d+) locations \(passed\)", said, re.MULTILINE)
    assert len(wrong) == 4 and all(int(errors) <= 0.01 * int(words) for errors, words in wrong), wrong
    for name in ("MPIRandomAccess", "MPIRandomAccess_LCG"):
        assert 0 <= int(summary[f"{name}_Errors"]) <= 0.01 * int(summary[f"{name}_N"])
    # RandomAccess twice, DGEMM, STREAM and FFT, by one rank and by all of them alone.
    assert re.findall(r"^Node\(s\) with error (\d+)$", said, re.MULTILINE) == ["0"] * 10
    error = float(summary["MPIFFT_maxErr"]) / math.log(int(summary["MPIFFT_N"])) / float(summary["HPL_eps"])
    assert 0 <= error < THRESHOLD
    # b_eff verifies nothing; it has come to its end.
    assert float(summary["MaxPingPongLatency_usec"]) > 0
    assert float(summary["RandomlyOrderedRingBandwidth_GBytes"]) > 0


# ---- NetPIPE ----

#: Without -I the expected data is already in the buffer, from the previous message; -p has sizes near
#: multiples of powers of two. 7 exchanges of each size, up to 768 KiB.
NETPIPE_CHECK = ["-i", "-I", "-p", "3", "-n", "7", "-u", "1000000"]
NETPIPE_WAYS = {
    "usual": [],
    "any-source": ["-z"],
    "synchronous": ["-S"],
    "posted": ["-a"],
    "both-directions": ["-2", "-a"],
    "stream": ["-s"],
    "displaced": ["-O", "1,3"],
}


def netpipe_made(folder: Path, libc: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    unpack("netpipe", folder, "--strip-components=1")
    make(folder, "mpi", f"MPICC={MPI_LITE}/tacet-mpicc", TACET_MPI_LIBC=libc)
    return folder / "NPmpi"


def netpipe_verify(said: str) -> None:
    """Asserts that NetPIPE has received everything as it was sent. (It ends before the last size if a message
    takes a second.)"""
    lines = re.findall(r"^ *(\d+): +(\d+) bytes +7 times --> +(.*)$", said, re.MULTILINE)
    assert lines and lines[0][:2] == ("0", "5"), said[-4000:]
    assert all(verdict == "Integrity check passed" for _, _, verdict in lines), said[-4000:]


# ---- FFTW ----

#: Number of random sizes that its script tries, and their maximum of points; each by several transforms.
FFTW_SIZES, FFTW_POINTS = 4, 10_000
#: Limit of the relative errors that it reports; it fails above 1e-10.
FFTW_ERROR_MAX = 1e-13


def fftw_made(folder: Path) -> Path:
    """Its folder `mpi`, which has its program; the library's own parts are gcc's."""
    unpack("fftw", folder, "--strip-components=1")
    words = ["./configure", "--enable-mpi", "--disable-fortran", "--disable-doc"]
    status, said = run([*words, f"MPICC={MPI_LITE / 'tacet-mpicc'}"], folder, MAKE_S)
    assert status == 0, said[-4000:]
    make(folder, "-j2")
    return folder / "mpi"


def fftw_check(launcher: Sequence[str | Path]) -> list[str]:
    """The command by which its script verifies random transforms on the ranks that the launcher starts."""
    program = " ".join([*map(str, launcher), "./mpi-bench"])
    options = ["--verbose", "--random", f"--maxsize={FFTW_POINTS}", f"-c={FFTW_SIZES}", "--mpi"]
    return ["perl", "-w", "../tests/check.pl", *options, program]


def fftw_verify(said: str) -> None:
    """Each transform that was asked for says how far it is from linear, from what an impulse becomes, and
    from what a shift makes of it."""
    errors = re.findall(r"^\S+ (\S+e-\d+|0) (\S+e-\d+|0) (\S+e-\d+|0)$", said, re.MULTILINE)
    assert len(errors) == said.count(" --verify ") >= FFTW_SIZES, said[-4000:]
    assert max(float(error) for each in errors for error in each) < FFTW_ERROR_MAX, said[-4000:]
