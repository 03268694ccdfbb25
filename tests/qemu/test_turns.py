# SPDX-License-Identifier: BSD-2-Clause
"""Several CPUs under a deterministic clock, in bounded turns (tools/qemu/turns.py): silence, times that can
be compared, and the same bytes in each run. What is exact here is exact on each host."""

from __future__ import annotations

import re
import shlex
import subprocess

import pytest
from conftest import APPS, ROOT, Run, expect_exit

from qemu import run_linux, turns, version
from qemu.streams import Ports
from tests.making import made

SETTINGS = {"icount": 0, "qemu": "newest", "turns_ns": turns.DEFAULT_NS, "memory": "256M", "time_limit": 300}

pytestmark = pytest.mark.skipif(
    version.qemu_major(version.qemu_binary("newest")) < turns.QEMU_MAJOR,
    reason="QEMU 10 is not there (ports/qemu/fetch.sh build)",
)


def numbers(text: str, key: str) -> list[int]:
    """What each rank says of this key."""
    return [int(value) for value in re.findall(rf"{key}: (\d+)", text)]


@pytest.mark.parametrize("cpus", [2, 4, 8])
def test_each_of_several_cpus_is_silent(tacet: Run, cpus: int) -> None:
    """Counted, and seen from each program: a quantum loses less than a turn, and few do."""
    result = expect_exit(tacet("apps/ftq", "-n", "100", cpus=cpus, **SETTINGS))
    said = result.stderr.decode()
    assert numbers(said, "kernel_entries") == [0] * cpus
    assert max(numbers(said, "largest_loss_ns")) < turns.DEFAULT_NS
    assert max(numbers(said, "disturbed_quanta")) <= 10
    assert numbers(said, "lost_quanta") == [0] * cpus


@pytest.mark.parametrize("cpus", [2, 4, 8])
def test_a_sleep_ends_by_each_cpu_s_own_timer_never_early(tacet: Run, cpus: int) -> None:
    """At most a turn and what it takes on one CPU late. At least, and on the median, as on one CPU, but for a
    nanosecond that two measured rates of a clock may make."""
    settings = {**SETTINGS, "options": "prefix=rank"}
    text = expect_exit(tacet("apps/cost", cpus=cpus, **settings)).stdout.decode()
    alone = expect_exit(tacet("apps/cost", **{**settings, "turns_ns": 0})).stdout.decode()

    def late(said: str, part: str) -> list[int]:
        return [int(ns) for ns in re.findall(rf"sleep_exact_late_{part}_ns (\d+)", said)]

    assert len(late(text, "max")) == cpus
    for part in ("min", "median"):
        assert late(text, part) == pytest.approx(late(alone, part) * cpus, abs=1), text
    assert max(late(text, "max")) < turns.DEFAULT_NS + late(alone, "max")[0]


@pytest.mark.parametrize(
    ("cpus", "app", "args", "options"),
    [
        (2, "ftq", ["-n", "50", "-s"], ""),
        (8, "ftq", ["-n", "20", "-s"], "prefix=rank"),
        (4, "cost", [], "prefix=rank"),
        (4, "cost", ["-w"], "ranks=1"),
    ],
)
def test_two_runs_print_the_same_bytes(
    tacet: Run, cpus: int, app: str, args: list[str], options: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also since the host sends nothing meanwhile, for a byte that arrives changes the turns."""
    sent: list[object] = []
    monkeypatch.setattr(Ports, "send_input", lambda ports, source: sent.append(source))
    settings = {**SETTINGS, "options": options}
    runs = [expect_exit(tacet(APPS / app, *args, cpus=cpus, **settings)) for _ in range(2)]
    assert runs[0].stdout and runs[0].stdout == runs[1].stdout and runs[0].stderr == runs[1].stderr
    assert not sent


@pytest.mark.long
def test_a_tuned_linux_shows_each_of_its_ticks_where_it_has_them() -> None:
    """The control of the comparison's column, which has none: with `nohz=off` CPU 1 has a tick each 4 ms."""
    made("build/linux/version")
    settings = {"icount": 0, "qemu": "newest", "turns_ns": 1_000, "memory": "256M", "time_limit": 900}
    args = ["-n", "100", "-d", "1us"]
    result = run_linux(APPS / "ftq", args, variant="tuned", options="nohz=off", **settings)
    said = expect_exit(result).stderr.decode()
    assert numbers(said, "disturbed_quanta") == numbers(said, "kernel_entries") == [25]
    # The calibration's runs gain up to a turn at each end, which is no noise.
    assert "fall short" not in said and "(better half of the quanta against the calibrated operation)" in said


#: Instructions of the loop in which the waker waits (apps/cost/wake.c).
LOOK = 4
REST = 14


@pytest.mark.parametrize("turns_ns", [0, 2_000, turns.DEFAULT_NS])
def test_a_wake_on_another_cpu_costs_the_same_in_turns_of_any_length(tacet: Run, turns_ns: int) -> None:
    costs = [
        expect_exit(
            tacet("apps/cost", "-w", cpus=2, options="ranks=1", **{**SETTINGS, "turns_ns": length})
        ).stdout
        for length in (turns_ns, turns.DEFAULT_NS)
    ]
    found = [re.search(rb"futex_wake_ticks_median (\d+)", cost) for cost in costs]
    # Where the waiter's turn ends on its way, the waker looks once more whether it is awake.
    assert found[0] and found[1] and int(found[0][1]) - int(found[1][1]) in (0, LOOK), costs
    # The least of many wakes may be one at which the waker's turn ends between its IPI and its first look: so
    # much of its call, REST instructions, then comes later than the wake.
    least = [int(one[1]) for cost in costs if (one := re.search(rb"futex_wake_ticks_min (\d+)", cost))]
    assert len(least) == 2 and abs(least[0] - least[1]) <= REST, costs
    assert costs[0] == costs[1] or turns_ns != turns.DEFAULT_NS


def test_the_command_that_repeats_a_run_repeats_it(tacet: Run) -> None:
    """The one that is printed: it bounds the turns itself."""
    result = expect_exit(tacet("apps/ftq", "-n", "20", "-s", cpus=2, **SETTINGS))
    assert f"tools/turns {turns.DEFAULT_NS} " in shlex.join(result.command)
    ports = ["-serial", "stdio", "-serial", "null", "-serial", "null"]
    command = [*result.command[: result.command.index("-serial")], *ports]
    again = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=3000, check=False)
    assert again.returncode == 0 and again.stdout.splitlines()[-1] == "tacet: exit status=0", again.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--icount", "0", "--cpus", "2", "--turns", "3"], "--turns takes a time from 1us to 100ms"),
        (["--icount", "0", "--cpus", "2", "--turns", "0ns"], "--turns takes a time from 1us to 100ms"),
        (["--icount", "0", "--cpus", "2", "--turns", "1s"], "--turns takes a time from 1us to 100ms"),
        (["--cpus", "2", "--turns", "10us"], "--turns needs a deterministic clock: add --icount"),
        (["--icount", "0", "--cpus", "2", "--qemu", "system", "--turns", "10us"], "need QEMU 10"),
    ],
)
def test_turns_that_cannot_be_are_refused_in_one_line(words: list[str], said: str) -> None:
    command = [ROOT / "tools/run", *words, "/bin/busybox", "true"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if "system" in words and version.qemu_major(version.qemu_binary("system")) >= turns.QEMU_MAJOR:
        pytest.skip("the installed QEMU can, too")
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1
