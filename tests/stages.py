# SPDX-License-Identifier: BSD-2-Clause
"""The stages of `make test` and `make test-long`: one command each, and how long it may take."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.running import ROOT

PYTHON = "/usr/bin/python3"
#: How long each of pytest's tests took, in JUnit's form; what recorder.py has written of them.
TIMES = ROOT / "build" / "test-times"
RECORDS = ROOT / "build" / "test-records"
CPUS = len(os.sched_getaffinity(0))
#: Each test waits for processes of its own: a third of the time, or in whole systems a tenth.
WORKERS = max(2, min(CPUS, 8)) + 1

TOOLS_FOLDERS = ("tests/host", "tests/mpi", "tests/structure", "tests/model")
QEMU_FOLDERS = ("tests/qemu", "tests/documents")


@dataclass(frozen=True)
class Stage:
    """One command; `counts` says that it has tests whose numbers it prints. `seconds` are the last resort, on
    a busy machine, too: each test has a limit of its own."""

    name: str
    title: str
    command: list[str]
    seconds: float
    counts: bool = True
    pytest: bool = False

    @property
    def records(self) -> Path:
        """The folder that recorder.py writes to."""
        return RECORDS / self.name


@dataclass(frozen=True)
class Long:
    """How long the parts of `--long` take."""

    fuzz_minutes: float = 10
    call_minutes: float = 60
    silent_hours: float = 1


def make(*targets: str) -> list[str]:
    return ["make", "--no-print-directory", f"-j{CPUS}", *targets]


#: A few seconds for each parser; some machines on which threads collide, a quarter of a minute in all.
FUZZ = make("fuzz", "fuzz-collide", "FUZZ_SECONDS=4", "MINUTES=0.25", "COLLIDE_OPTIONS=--each 5")
#: The kernel that test-long-build has made for that.
CHECKING = "--kernel build/x86_64-lockcheck/tacet.elf"


def has_xdist() -> bool:
    return subprocess.run([PYTHON, "-c", "import xdist"], capture_output=True, check=False).returncode == 0


def pytest_words(*words: str) -> list[str]:
    plugins = ("-p", "no:cacheprovider", "-p", "tests.recorder")
    return [PYTHON, "-m", "pytest", "-q", "--tb=short", *plugins, *words]


def pytest_stage(name: str, title: str, seconds: float, *words: str, workers: int = WORKERS) -> Stage:
    side_by_side = ["-n", str(workers), "--dist", "loadgroup"] if has_xdist() else []
    shown = ["--durations=10", f"--junitxml={TIMES / name}.xml"]
    return Stage(name, title, pytest_words(*shown, *side_by_side, *words), seconds, pytest=True)


def build_stage(*targets: str) -> Stage:
    return Stage("build", "The kernel, the programs, the tests' programs", make(*targets), 3600, counts=False)


def stages(filter_words: list[str], workers: int = WORKERS) -> list[Stage]:
    """Those of `make test`, in order; a slice of the long tests follows (slice_stage). Pytest gets the
    `filter_words` and the number of `workers`."""
    tools, qemu = ([*filter_words, *folders] for folders in (TOOLS_FOLDERS, QEMU_FOLDERS))
    systems = "Whole systems, and what the documents say of them"
    return [
        build_stage("test-build"),
        Stage("host", "Pure logic on this machine, with sanitizers", make("host-test"), 3600),
        Stage("fuzz", "Parsers of outside bytes, threads that collide", FUZZ, 3600),
        pytest_stage("tools", "Tools and lab, the tree's plan, models", 3600, *tools, workers=workers),
        pytest_stage("qemu", systems, 7200, *qemu, workers=workers),
    ]


def slice_stage(ids: Path, title: str) -> Stage:
    """The tests whose node IDs a file holds."""
    return pytest_stage("slice", title, 7200, "--alone", f"--also={ids}", *TOOLS_FOLDERS, *QEMU_FOLDERS)


def long_stages(filter_words: list[str], how: Long) -> list[Stage]:
    """What takes too long for each change."""
    fuzz_s, call_s = how.fuzz_minutes * 60, how.call_minutes * 60
    silence = ["tools/lab", "silence", "--hours", f"{how.silent_hours:g}", "--shift", "4"]
    return [
        build_stage("test-build", "test-long-build"),
        Stage(
            "fuzz",
            f"Parsers of outside bytes, {how.fuzz_minutes:g} minutes each",
            make("fuzz", f"FUZZ_SECONDS={fuzz_s:.0f}"),
            20 * fuzz_s + 3600,
        ),
        Stage(
            "calls",
            f"System calls at random, {how.call_minutes:g} minutes",
            make("fuzz-calls", f"MINUTES={how.call_minutes:g}"),
            2 * call_s + 3600,
        ),
        Stage(
            "collide",
            f"Threads that collide, {how.call_minutes:g} minutes",
            make("fuzz-collide", f"MINUTES={how.call_minutes:g}", f"COLLIDE_OPTIONS={CHECKING}"),
            2 * call_s + 3600,
        ),
        Stage("silence", f"{how.silent_hours:g} silent hours", silence, 4 * 3600, counts=False),
        pytest_stage("tests", "Tests that are marked long", 8 * 3600, "-m", "long", *filter_words, "tests"),
    ]
