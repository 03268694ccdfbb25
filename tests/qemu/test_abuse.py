# SPDX-License-Identifier: BSD-2-Clause
"""What no program should do ends in an error or in the program's end, with a report; other ranks do not
notice.

More of it: threads without end (test_threads.py), memory without end, a rank that unmaps itself, addresses at
every bound (test_memory.py), every call with hostile arguments (test_hostile.py), frames, recursive signals
and full stacks of signals (test_signals.py).
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from conftest import Run, expect_exit, own_errors, program
from test_signals import expect_kept

ENDS = {
    "handler-faults": r"ended by SIGSEGV: write to where nothing is mapped\n.*address 0x20\n.*NULL pointer, "
    r"or near one\n.* in fault_again\+",
    "recursion": r"the stack ends before 0x[0-9a-f]+, where the frame of SIGUSR1 would begin\n.*ended by "
    r"SIGSEGV: no room on the stack for the handler of a signal\n",
    "alternate-overflow": r"ended by SIGSEGV: write to .*\n.*\n.* that lies in .* --- anonymous\n.* in "
    r"use_up\+",
    "thread-without-stack": r"ended by SIGSEGV: write to where nothing is mapped\n.*address 0xfff8\n",
}


def test_a_million_timers_are_refused_and_other_ranks_have_theirs(tacet: Run) -> None:
    result = expect_exit(tacet("abuse.musl", "timers", cpus=2, time_limit=120))
    assert result.stdout.count(b", broken: 0\n") == 2 and own_errors(result) == b"", result.explain()
    made = re.search(rb"made (\d+)\n", result.stdout)
    reported = re.findall(
        r"rank 0 \(\S+\) wants more than (\d+) timers: timer_create answers EAGAIN", result.console
    )
    assert made and reported == [made[1].decode()], result.explain()


@pytest.mark.parametrize(("part", "least"), [("vectors", 1000), ("paths", 20000), ("stacks", 64)])
def test_lies_of_a_program_get_the_errors_of_linux(part: str, least: int, tacet: Run, tmp_path: Path) -> None:
    expect_kept(tacet("abuse.musl", part), least)
    ran = subprocess.run(
        [program("abuse.musl"), part, tmp_path], capture_output=True, timeout=120, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, b""), ran


@pytest.mark.parametrize("part", ENDS)
def test_what_cannot_go_on_ends_with_a_report(part: str, tacet: Run) -> None:
    result = expect_exit(tacet("abuse.musl", part, cpus=2, options="ranks=1"), 128 + 11)
    assert re.search(ENDS[part], result.console.replace("\r", "")), result.explain()
    assert (
        subprocess.run([program("abuse.musl"), part], capture_output=True, timeout=60, check=False).returncode
        == -11
    )
