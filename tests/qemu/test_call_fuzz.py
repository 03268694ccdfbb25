# SPDX-License-Identifier: BSD-2-Clause
"""System calls at random do no harm: not to the kernel, not to another rank, and nothing of the kernel's
comes out.

One rank makes the calls (tests/programs/call_fuzz.c), the other watches its own memory and all counters.
Longer, by hand: make fuzz-calls MINUTES=60.
"""

from __future__ import annotations

import re
import sys

import pending
import pytest
from conftest import ROOT, Run

import qemu

sys.path.insert(0, str(ROOT / "tests" / "fuzz"))

import calls

#: Name, seed, threads of the fuzzing rank, CPUs of the machine, kernel options on top, CPU where it is not
#: the usual one.
MODES = {
    "one_thread": (1, 1, 2, "", None),
    "logged": (2, 1, 2, "klog_classes=all", None),
    "old_cpu": (3, 1, 2, "", "qemu64"),
    "threads": (4, 4, 8, "", None),
    "shared_cpus": (5, 12, 4, "rotation=100us", None),
}


@pytest.mark.parametrize(("name", "mode"), pending.params("fuzz", MODES, MODES.values()))
def test_random_calls_harm_neither_the_kernel_nor_another_rank(
    name: str, mode: tuple[int, int, int, str, str | None], arch: str, tacet: Run
) -> None:
    seed, threads, cpus, options, cpu = mode
    result = calls.run(seed, threads=threads, cpus=cpus, seconds=10, options=options, cpu=cpu, arch=arch)
    assert not calls.harm(result), (
        f"{calls.harm(result)}\n{calls.last_call(result, seed, threads, arch)}\n{result.explain()}"
    )
    reported = re.search(rb"calls: (\d+), of them (\d+) succeeded", result.stdout)
    assert reported and int(reported[1]) > 1000 and int(reported[2]) > int(reported[1]) // 20, (
        result.explain()
    )


def test_a_seed_says_what_is_called(tacet: Run) -> None:
    said = [tacet("call_fuzz.musl-pie", "-s", "5", "-n", "20000", "-t", "1000") for _ in range(2)]
    assert said[0].status == 0 and b"calls: " in said[0].stdout, said[0].explain()
    assert said[0].stdout == said[1].stdout, said[1].explain()


@pytest.mark.parametrize("status", [1, 2, 3])
def test_harm_is_seen(status: int) -> None:
    assert calls.harm(qemu.Result(status, "exit", "", "", b"", b""))
    assert calls.harm(qemu.Result(None, "timeout", "", "", b"", b""))
    assert calls.harm(qemu.Result(0, "exit", "", "", b"calls: 9, of them 1 succeeded\n", b""))
    assert not calls.harm(
        qemu.Result(
            0,
            "exit",
            "",
            "",
            b"calls: 9, of them 1 succeeded\nwitness: 2 rounds in 3 s, nothing changed\n",
            b"",
        )
    )
