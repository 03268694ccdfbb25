# SPDX-License-Identifier: BSD-2-Clause
"""Computing loops cost on Tacet what they cost on Linux, and on no number of cores is the kernel entered in
them."""

from __future__ import annotations

import pending
import pytest
from conftest import APPS, Run, expect_exit

from lab.bench import programs
from lab.bench.cost_figures import GETPID_MAX
from lab.bench.costs import parse_cost
from tests.making import made

CASES = {f"{name}-{cores}": (name, cores) for name in programs.PROGRAMS for cores in (1, 2, 4)}


@pytest.mark.parametrize(("name", "case"), pending.params("bench", CASES, CASES.values()))
def test_the_kernel_is_not_entered_in_a_computing_loop(name: str, case: tuple[str, int], tacet: Run) -> None:
    app, cores = case
    args = [*programs.PROGRAMS[app], "-r", "20", "-t", str(cores)]
    reported = parse_cost(
        expect_exit(tacet(APPS / app, *args, cpus=cores, options="ranks=1", memory="256M")).stdout.decode()
    )
    assert reported["threads"] == cores and reported["kernel_entries"] == 0 and reported["least_ticks"] > 0, (
        reported
    )


@pytest.mark.parametrize("app", list(programs.PROGRAMS))
def test_a_computing_loop_has_linux_s_instructions(app: str) -> None:
    made("build/linux/version")
    machines = programs.runner.load()
    args = [*programs.PROGRAMS[app], "-r", "20"]
    common = {"memory": "256M", "qemu": "newest", "icount": 0, "time_limit": 120.0}
    tacet = programs.values_of("Tacet", machines.run_tacet(APPS / app, args, **common))
    linux = programs.values_of("Linux", machines.run_linux(APPS / app, args, **common))
    assert (
        abs(tacet["least_ticks"] - linux["least_ticks"]) <= linux["least_ticks"] * programs.DIFFERENCE_MAX
    ), (tacet, linux)
    # Linux's ticks show in the mean, or the method is blind; Tacet's repetitions are all alike.
    assert linux["mean_ticks"] > linux["least_ticks"] and tacet["mean_ticks"] == tacet["least_ticks"], (
        tacet,
        linux,
    )


def test_an_empty_system_call_and_a_wake_up_cost_their_instructions(tacet: Run) -> None:
    call = parse_cost(expect_exit(tacet("apps/cost", icount=0)).stdout.decode())
    assert call["getpid_ticks_min"] == call["getpid_ticks_median"] <= GETPID_MAX, call
    wake = parse_cost(
        expect_exit(tacet("apps/cost", "-w", icount=0, cpus=2, options="ranks=1")).stdout.decode()
    )
    assert 0 < wake["futex_wake_ticks_min"] == wake["futex_wake_ticks_median"] < 1000, wake
    share = parse_cost(expect_exit(tacet("apps/cost", "-s", icount=0)).stdout.decode())
    for cost in ("futex_switch", "wake_over_idle"):
        assert 0 < share[f"{cost}_ticks_min"] == share[f"{cost}_ticks_median"] < 4000, share
    alone = tacet("apps/cost", "-w")
    assert alone.status == 1 and b"there is only one" in alone.stderr, alone.explain()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-t", "0"], "usage"),
        (["-n", "x"], "usage"),
        (["-r", "0"], "usage"),
        (["more"], "one word too many"),
        (["-t", "5"], "there are"),
    ],
)
def test_a_bad_word_is_reported(words: list[str], message: str, tacet: Run) -> None:
    result = tacet("apps/stream", *words)
    assert result.outcome == "exit" and result.status in (64, 73) and message in result.stderr.decode(), (
        result.explain()
    )
