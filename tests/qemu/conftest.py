# SPDX-License-Identifier: BSD-2-Clause
"""What the whole-system tests share: the runner on Python's path, everything built once, and a way to run and
to complain.

Each test boots machines of its own in QEMU, waits for them to switch themselves off within a time limit, and
on failure shows how the run ended, the console's last lines and the command that repeats it. Tests share
nothing, so they run side by side (`-n 2 --dist loadgroup`, of pytest-xdist) as well as one by one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools"), str(Path(__file__).resolve().parent)]

import qemu

PROGRAMS = qemu.BUILD / "x86_64" / "tests"
APPS = qemu.BUILD / "x86_64" / "apps"

Run = Callable[..., qemu.Result]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "xdist_group(name): tests that share a fixture worth keeping on one worker"
    )
    if hasattr(config, "workerinput"):
        return
    made = subprocess.run(
        ["make", "--no-print-directory", "-j2", "kernel", "apps", "test-programs"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if made.returncode != 0:
        raise pytest.UsageError(
            f"make kernel apps test-programs failed:\n{made.stdout[-2000:]}{made.stderr[-4000:]}"
        )


def program(name: str) -> Path:
    """A program of tests/programs, by name and kind: "status.musl"."""
    return PROGRAMS / name


def iso_made(image: Path, app: Path, *words: str, options: str = "", kernel: Path = qemu.KERNEL) -> Path:
    """The image of a program with its arguments and the kernel's options, made at this path."""
    made = subprocess.run(
        ["boot/make-iso", str(image), str(kernel), str(app), "--", *words],
        cwd=ROOT,
        env={**os.environ, "TACET_OPTIONS": options},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert made.returncode == 0, made.stderr
    return image


def expect_exit(result: qemu.Result, status: int = 0) -> qemu.Result:
    """The program ended by itself, with this status."""
    assert (result.outcome, result.status) == ("exit", status), result.explain()
    return result


#: CPU seconds that `slowness` took on the machine for which the tests' time limits were chosen.
REFERENCE_S = 0.03


def slowness() -> float:
    """How much slower than the reference this machine's CPUs are, at least 1: by the CPU time of a fixed
    piece of work. Other processes on them change it little; a machine's time limit is in seconds of its own
    (tools/qemu/own_time.py), so that it does not pass while others have the CPUs."""
    begun = time.process_time()
    sum(i * i for i in range(500_000))
    return max(1.0, (time.process_time() - begun) / REFERENCE_S)


@pytest.fixture(scope="session")
def tacet() -> Run:
    """Run a program on a Tacet node. Limits of half a minute and more stretch with the machine's slowness;
    shorter ones are the test's own subject."""

    def run(app: Path | str | None, *args: str, **keywords: Any) -> qemu.Result:
        limit = keywords.setdefault("time_limit", 60.0)
        if limit >= 30:
            keywords["time_limit"] = limit * slowness()
        keywords.setdefault("memory", "128M")
        return qemu.run_tacet(program(app) if isinstance(app, str) else app, args, **keywords)

    return run


@pytest.fixture(scope="session")
def busybox() -> Path:
    """Debian's own static busybox, as it is."""
    assert qemu.BUSYBOX.is_file(), "busybox-static is not installed (ports/deps.sh run)"
    return qemu.BUSYBOX
