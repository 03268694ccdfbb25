# SPDX-License-Identifier: BSD-2-Clause
"""tests/run.py adds up what every kind of stage prints, and takes a stage that prints nothing for a
failure."""

from __future__ import annotations

import importlib.util
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("tacet_tests_run", ROOT / "tests" / "run.py")
assert _spec and _spec.loader
run = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = run
_spec.loader.exec_module(run)


@pytest.mark.parametrize(
    ("line", "total"),
    [
        ("memplan: 12 passed, 0 failed", "12 passed, 0 failed"),
        ("elf image: 12 passed, 3 failed", "12 passed, 3 failed"),
        ("5 passed, 0 failed", "5 passed, 0 failed"),
        ("23 passed in 42.04s", "23 passed, 0 failed"),
        ("\x1b[32m23 passed\x1b[0m, 2 skipped in 1.02s", "23 passed, 0 failed, 2 skipped"),
        ("=== 2 failed, 15 passed, 6 errors in 5.15s ===", "15 passed, 8 failed"),
        ("1 error in 0.15s", "0 passed, 1 failed"),
    ],
)
def test_numbers_of_every_kind_of_stage_are_read(line: str, total: str) -> None:
    sum_of = run.Total()
    assert sum_of.add(line)
    assert str(sum_of) == total


@pytest.mark.parametrize(
    "line",
    [
        "",
        "make: 'host-test' is up to date.",
        "fuzz elf: 12 inputs, nothing found",
        "it passed 3 times",
        "34.52s setup",
    ],
)
def test_other_lines_hold_no_numbers(line: str) -> None:
    assert not run.Total().add(line)


@pytest.mark.parametrize(
    ("script", "seconds", "total", "remark"),
    [
        ("echo 'x: 3 passed, 0 failed'", 10, "3 passed, 0 failed", ""),
        ("echo 'x: 3 passed, 1 failed'; exit 1", 10, "3 passed, 1 failed", "1 failed"),
        ("echo 'x: 3 passed, 0 failed'; exit 1", 10, "3 passed, 1 failed", "status 1"),
        ("echo nothing", 10, "0 passed, 1 failed", "printed no numbers"),
        ("kill -9 $$", 10, "0 passed, 1 failed", "status -9"),
        ("echo 'x: 1 passed, 0 failed'; sleep 60", 0.5, "1 passed, 1 failed", "no end within"),
    ],
)
def test_a_stage_that_dies_is_a_failure(script: str, seconds: float, total: str, remark: str) -> None:
    sum_of = run.Total()
    said = run.run_stage(run.Stage("x", "a stage", ["sh", "-c", script], seconds), sum_of, False)
    assert str(sum_of) == total
    assert remark in said and bool(said) == bool(remark)


def test_an_interrupt_ends_all_that_a_stage_has_started(tmp_path: Path) -> None:
    """The stage's own child, too, and with one line."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import run\n"
        "stage = run.Stage('x', 'a stage', ['sh', '-c', 'sleep 600 & echo $!; wait'], 600)\n"
        "run.stages = lambda _: [stage]\n"
        "sys.argv = ['run']; sys.exit(run.main())\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(ROOT / "tests")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout and process.stderr
    child = next(int(line) for line in process.stdout if line.strip().isdigit())
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=120)[1]
    assert process.returncode == run.INTERRUPTED
    assert said == "\ntests/run.py: interrupted in stage x; 0 passed, 0 failed before it\n"
    state = Path(f"/proc/{child}/stat")
    assert not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] == "Z"
