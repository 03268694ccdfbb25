# SPDX-License-Identifier: BSD-2-Clause
"""What `make run` does before it measures (tools/make_run.py): the steps side by side, how they fail, how an
interrupt ends them. With steps that only look like make's; test_fresh_machine.py tries the real ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests import waiting
from tools.make_run import PACE_MAX, Plan

#: They share build/make-run.log.
pytestmark = pytest.mark.xdist_group("make run's log")

#: What stands for make: with -n nothing, else what the test wants.
FAKE = """#!/bin/sh
case " $* " in *" -n "* | *" linux "*) exit 0 ;; esac
"""


def begun(tmp_path: Path, body: str) -> subprocess.Popen[str]:
    make = tmp_path / "make"
    make.write_text(FAKE + body)
    make.chmod(0o755)
    words = ["tools/make_run.py", "--make", str(make), "--out", str(tmp_path / "report")]
    return subprocess.Popen(
        words,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"TACET_DEPS": "skip"},
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_ends_the_steps_and_their_children(number: int, tmp_path: Path) -> None:
    running = begun(
        tmp_path, f"sleep 1000 & echo $! >{tmp_path}/part && mv {tmp_path}/part {tmp_path}/pid; wait\n"
    )
    file = tmp_path / "pid"
    waiting.until(lambda: file.exists() or running.poll() is not None, "the step's child")
    child = int(file.read_text())
    running.send_signal(number)
    said, _ = running.communicate()
    assert running.returncode == 130 and "interrupted; the next call goes on from here" in said, said
    assert "Traceback" not in said
    waiting.until(lambda: not waiting.is_running(child), "the end of the step's child")


def test_a_step_that_fails_shows_its_end_and_names_the_log(tmp_path: Path) -> None:
    running = begun(tmp_path, "seq 100; echo 'a.c:1: error: no such thing' >&2; exit 2\n")
    said, _ = running.communicate()
    lines = said.splitlines()
    assert running.returncode == 1 and "a.c:1: error: no such thing" in lines and len(lines) < 25, said
    assert lines[-1] == "make run: the build failed; the full output is in build/make-run.log"
    assert "\n50\n" in (ROOT / "build/make-run.log").read_text()


def test_what_nothing_waits_for_is_built_last_and_a_failure_of_the_kernel_ends_it(tmp_path: Path) -> None:
    body = f"""
case " $* " in
*" build/x86_64/apps/ftq "*) echo program >>{tmp_path}/order ;;
*" kernel "*) echo kernel >>{tmp_path}/order; echo 'ld: no such symbol'; exit 1 ;;
*" apps "*) echo apps >>{tmp_path}/order ;;
esac
"""
    said, _ = (running := begun(tmp_path, body)).communicate()
    assert running.returncode == 1 and "ld: no such symbol" in said and "Traceback" not in said, said
    assert (tmp_path / "order").read_text().split() == ["program", "kernel"]


def test_the_estimate_shrinks_with_what_is_done_and_follows_the_pace() -> None:
    files = [("CC", f"{name}.c") for name in range(100)]
    plan = Plan([*files, ("PORT", "Linux"), ("APP", "ftq")])
    lines = [f"  CC      {name}.c" for name in range(100)]
    whole = plan.left_s([], 0.0)
    assert whole == plan.total_s > 15
    assert plan.left_s([*lines, "  APP     ftq"], 1.0) < whole / 4
    early, late = (plan.left_s(lines, passed) for passed in (1.0, 1000.0))
    assert late == pytest.approx(PACE_MAX * early)
    assert Plan([]).left_s([], 10.0) == 0.0
