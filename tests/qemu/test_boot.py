# SPDX-License-Identifier: BSD-2-Clause
"""How QEMU's own loader starts a node: the program is reached, with its arguments and environment byte by
byte, with memory of every size, and two runs under a clock of instructions are the same. What a PC's
firmware, CPUs and devices do: test_pc; what POWER's do: test_ppc64_machine.
"""

from __future__ import annotations

import re

from conftest import Run, expect_exit

import qemu

WORDS = [
    "a b",
    'say "x"',
    "back\\slash",
    "ends\\",
    "$HOME ${x} $(y)",
    "it's",
    "--",
    "ünï",
    "#x;y|z&",
    "{a,b}",
    "*",
    "-n",
    "'",
    '"',
    "\\",
    "a=b",
]
#: GRUB loses these (boot/make-iso refuses them); QEMU's loader does not.
DELICATE = ["", "tab\there", "new\nline", " "]

#: Who starts the kernel where QEMU loads it.
LOADERS = {"x86_64": "pvh", "ppc64": "Open Firmware"}


def arguments_of(result: qemu.Result) -> list[bytes]:
    """What the program `arguments` wrote: its argv. Firmware may have written to the same port before."""
    words, _, _ = result.stdout.partition(b"=ENV=\0")
    at = words.rfind(b"arguments.musl\0")
    assert at >= 0 and words.endswith(b"\0"), result.explain()
    return words[at:-1].split(b"\0")


# ---- The program's words ----


def test_qemu_s_loader_hands_arguments_over_byte_by_byte(arch: str, tacet: Run) -> None:
    result = expect_exit(tacet("arguments.musl", *WORDS, *DELICATE))
    assert arguments_of(result)[1:] == [w.encode() for w in WORDS + DELICATE], result.explain()
    assert f"started by {LOADERS[arch]}\r\n" in result.console, result.explain()


def test_the_environment_is_handed_over_byte_by_byte(tacet: Run) -> None:
    env = {"A": "1", "EMPTY": "", "QUOTED": 'a "b" \\ c', "EQUALS": "x=y=z"}
    result = expect_exit(tacet("arguments.glibc", env=env))
    _, _, tail = result.stdout.partition(b"=ENV=\0")
    expected = [f"{k}={v}".encode() for k, v in env.items()]
    # After these the kernel gives the rank of the process.
    assert tail.split(b"\0")[: len(expected)] == expected, result.explain()


def test_many_long_arguments_arrive(tacet: Run) -> None:
    words = [f"{i}:" + "x" * (i % 13) for i in range(300)]
    result = expect_exit(tacet("arguments.musl", *words))
    assert arguments_of(result)[1:] == [w.encode() for w in words], result.explain()


# ---- Memory, clocks ----


def test_every_size_of_memory_runs_a_program(board: str, size: str, tacet: Run) -> None:
    result = expect_exit(tacet("status.musl", "5", memory=size, qemu_options=["-machine", board]), 5)
    offered = re.search(r"memory: (\d+) MiB for", result.console)
    mib = int(size[:-1]) * (1024 if size.endswith("G") else 1)
    assert offered and mib - 20 <= int(offered[1]) <= mib, result.explain()


def test_the_time_of_day_is_that_of_the_battery_clock(tacet: Run) -> None:
    result = expect_exit(tacet("clocks.glibc", icount=0))
    seconds = re.search(rb"seconds: (\d+)", result.stdout)
    # The runner's deterministic clock starts at 2026-01-01.
    assert seconds and 0 <= int(seconds[1]) - 1767225600 < 60, result.explain()


def test_a_deterministic_run_repeats_to_the_byte(tacet: Run) -> None:
    first, second = (expect_exit(tacet("clocks.musl", icount=0)) for _ in range(2))
    assert (first.console, first.stdout) == (second.console, second.stdout)
