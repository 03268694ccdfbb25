# SPDX-License-Identifier: BSD-2-Clause
"""Programs of others, for the tests that run them: their sources, as ports/NAME/recipe pins them, compiled as
they are by our compilers."""

from __future__ import annotations

import os
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
#: The last resort of a make, in seconds.
MAKE_S = 900.0


def run(words: Sequence[str | Path], folder: Path, seconds: float, **environment: str) -> tuple[int, str]:
    """Its status, and what it says; it and its children end within the time."""
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
    """The port's source, or what tar's options choose of it, below the folder."""
    words = [ROOT / "ports" / "fetch.py", port]
    source = subprocess.run(words, capture_output=True, text=True, check=True, timeout=MAKE_S).stdout.strip()
    subprocess.run(["tar", "-x", "-f", source, *options], cwd=folder, check=True)
