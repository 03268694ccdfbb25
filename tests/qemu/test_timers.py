# SPDX-License-Identifier: BSD-2-Clause
"""Smart timers on a whole node: never early, at most their bound late, no interrupt without a
reason.

Upper bounds are held against a deterministic clock (icount), one instruction a nanosecond: on a free-running
one the host's own pauses would stand in them. What must hold at any speed (never early, counts of interrupts)
is tried on both.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from conftest import Run, expect_exit
from monitor import Monitor

import qemu
from lab.formats import klog
from qemu import architectures

BAD_INPUT = 64
#: What a system call and the reading of the clock around it may cost, instructions; and how late an exact
#: sleep may be. An interrupt has more registers to keep on POWER.
CALL_NS = {"x86_64": 2000, "ppc64": 3000}
EXACT_NS = {"x86_64": 1000, "ppc64": 1500}

CLOCKS = pytest.mark.parametrize("icount", [0, None], ids=["icount", "free"])


def reported(result: qemu.Result) -> dict[str, int]:
    """The lines `name value` of the program."""
    text = result.stdout.decode()
    return {name: int(value) for name, value in re.findall(r"^(\w+) (-?\d+)\s*$", text, re.MULTILINE)}


def rounded(bound_ns: int) -> int:
    """The bound that is used: the largest power of two that is not above it."""
    return 1 << (bound_ns.bit_length() - 1)


# ---- Sleeping ----


@pytest.mark.parametrize("bound_ns", [1, 100, 1000, 50_000, 1_000_000, 10_000_000])
@pytest.mark.parametrize("by", ["the node", "the thread"])
def test_a_sleep_is_never_early_and_at_most_its_bound_late(
    bound_ns: int, by: str, arch: str, tacet: Run
) -> None:
    call_ns = CALL_NS[arch]
    options, slack = (f"latency_bound={bound_ns}", "0") if by == "the node" else ("", str(bound_ns))
    result = expect_exit(tacet("sleeps.musl", "late", slack, "112", options=options, icount=0))
    late = reported(result)
    assert 0 <= late["late_min_ns"] <= late["late_max_ns"] <= rounded(bound_ns) + call_ns, result.explain()
    assert late["past_ns"] < 2 * call_ns, result.explain()
    if bound_ns >= 1_000_000:
        # The bound is really used: not every sleep hits its boundary by chance.
        assert late["late_max_ns"] > bound_ns // 8, result.explain()


def test_an_exact_sleep_is_about_a_microsecond_late_at_most(arch: str, tacet: Run) -> None:
    result = expect_exit(tacet("sleeps.musl", "late", "1", "280", icount=0))
    assert reported(result)["late_absolute_max_ns"] < EXACT_NS[arch], result.explain()


@pytest.mark.parametrize("cpus", [1, 4])
def test_a_sleep_is_never_early_on_a_free_running_clock(cpus: int, tacet: Run) -> None:
    expect_exit(tacet("sleeps.musl", "late", "1", "112", cpus=cpus))


def test_the_newer_qemu_keeps_the_same_promises(arch: str, tacet: Run) -> None:
    if qemu.qemu_binary("newest", arch) == qemu.qemu_binary(arch=arch):
        pytest.skip(f"no newer QEMU here (make qemu10-{arch})")
    result = expect_exit(tacet("sleeps.musl", "late", "1", "112", icount=0, qemu="newest"))
    late = reported(result)
    assert 0 <= late["late_min_ns"] and late["late_absolute_max_ns"] < EXACT_NS[arch], result.explain()
    expect_exit(tacet("sleeps.musl", "late", "1", "112", qemu="newest"))


def test_bad_times_clocks_and_addresses_get_the_errors_of_linux(tacet: Run) -> None:
    expect_exit(tacet("sleeps.musl", "bad"))


def test_the_slack_of_a_thread_is_its_latency_bound(tacet: Run) -> None:
    assert reported(expect_exit(tacet("sleeps.musl", "slack")))["slack"] == 50_000
    assert reported(expect_exit(tacet("sleeps.musl", "slack", options="latency_bound=3us")))["slack"] == 3000


def test_endless_sleeps_do_not_end(tacet: Run, tmp_path: Path) -> None:
    # Each rank but the last sleeps for another overlong time; a second later the last one looks at their
    # timers.
    with Monitor(tmp_path, lambda m: m.quit()) as monitor:
        run = tacet(
            "sleeps.musl",
            "huge",
            cpus=8,
            memory="256M",
            qemu_options=monitor.options,
            on_stdout=monitor.at(b"watched\n"),
        )
    monitor.check()
    assert run.outcome == "no-status" and "ended" not in run.console and run.stderr == b"", run.explain()
    timers = run.stdout.decode()
    assert (
        len(
            re.findall(
                r"^cpu[0-6] pending (?:1 armed_ns (?:none|\d{19})|0 armed_ns none) .* expired 0 ",
                timers,
                re.MULTILINE,
            )
        )
        == 7
    ), run.explain()
    # A time that the clock does not reach is not armed at all: it costs no interrupt, ever.
    assert re.search(r"^cpu2 pending [01] armed_ns (\d{19}|none) .* interrupts 0 ", timers, re.MULTILINE), (
        timers
    )


# ---- Silence ----


def test_after_the_last_timer_a_minute_passes_without_an_interrupt(tacet: Run) -> None:
    result = expect_exit(tacet("sleeps.musl", "quiet", "60", icount=8))
    assert reported(result)["entries"] == 0, result.explain()


@pytest.mark.parametrize("icount", [4, None], ids=["icount", "free"])
def test_a_sleeper_of_1000_hz_disturbs_its_own_core_alone(icount: int | None, tacet: Run) -> None:
    result = expect_exit(tacet("sleeps.musl", "periodic", cpus=4, icount=icount, time_limit=90))
    assert len(re.findall(rb"rank (\d) entries (\d+)", result.stdout)) == 3, result.explain()
    assert all(count == b"0" for count in re.findall(rb"entries (\d+)", result.stdout)), result.explain()


# ---- Many at a time ----


@CLOCKS
def test_a_thousand_sleeps_cost_at_most_two_interrupts(icount: int | None, tacet: Run) -> None:
    """A nanosecond apart and within one bound, each of a thread of its own, none of them too short."""
    options = {"options": "threads=1024 rotation=off", "memory": "512M"}
    result = expect_exit(tacet("apps/cost", "-t", icount=icount, **options))
    found = reported(result)
    most = 1 if icount is not None else 2
    assert found["crowd_sleeps"] == 1000 and 1 <= found["crowd_interrupts"] <= most, result.explain()


RANDOM_SLEEPS = ("sleeps.musl", "random", "50", "100")


def test_sleeps_of_random_times_keep_random_bounds(tacet: Run, tmp_path: Path) -> None:
    options = {"options": "threads=64 klog_classes=timer", "icount": 0, "klog": tmp_path / "klog.bin"}
    result = expect_exit(tacet(*RANDOM_SLEEPS, **options))
    found = reported(result)
    assert found["random_sleeps"] == 5000, result.explain()
    # Beyond the bound there is what other threads compute that woke at the same time.
    assert found["random_late_beyond_bound_max_ns"] < 100_000, result.explain()
    # The timers themselves: beyond the boundary there is what the service of others on the same one takes.
    log = klog.read(tmp_path / "klog.bin")
    armed = log.of("timer_arm").tolist()
    times = Counter(deadline for deadline, _ in armed)
    boundaries = {deadline: boundary for deadline, boundary in armed if times[deadline] == 1}
    expired = [(deadline, now) for deadline, now in log.of("timer_expire").tolist() if deadline in boundaries]
    assert len(expired) > 100
    for deadline, now in expired:
        assert deadline <= boundaries[deadline] <= now < boundaries[deadline] + 10_000


@pytest.mark.parametrize("version", ["system", "newest"])
def test_no_sleep_of_a_random_time_is_too_short_on_a_free_running_clock(version: str, tacet: Run) -> None:
    expect_exit(tacet(*RANDOM_SLEEPS, options="threads=64", qemu=version))


# ---- /proc and the command line ----


def test_the_timers_files_can_be_read_and_take_only_what_makes_sense(tacet: Run) -> None:
    expect_exit(tacet("sleeps.musl", "proc", options="clockevents=writable"))
    expect_exit(tacet("sleeps.musl", "proc", icount=0, options="clockevents=writable"))


@pytest.mark.parametrize("icount", [0, None], ids=["icount", "free"])
def test_a_rank_cannot_disturb_others_by_ratings(icount: int | None, tacet: Run) -> None:
    """Without the option a rating cannot be written; with it, writing the value that it has disturbs no
    rank."""
    for options in ("", "clockevents=writable"):
        expect_exit(tacet("sleeps.musl", "ratings", cpus=2, icount=icount, options=options))
    result = tacet("status.musl", options="clockevents=all")
    assert (result.outcome, result.status) == ("stop", 64) and "clockevents=" in result.reason, (
        result.explain()
    )


@pytest.mark.parametrize(
    "value", ["0", "11s", "x", "", "-1", "1.5ms", "10000000001", "99999999999999999999s", "1 ms"]
)
def test_a_wrong_latency_bound_is_refused_with_the_allowed_range(value: str, tacet: Run) -> None:
    result = tacet("status.musl", options=f'"latency_bound={value}"')
    assert (result.outcome, result.status) == ("stop", BAD_INPUT), result.explain()
    assert re.search(
        r"option latency_bound: '.*' is not a time .* from 1 to 10000000000 ns", result.reason
    ), result.explain()


@pytest.mark.parametrize("value", ["hpet", "", "TIMER", "timer ", "nettick"])
def test_an_unknown_clock_event_device_is_refused_with_those_there_are(
    value: str, arch: str, tacet: Run
) -> None:
    timer = architectures.named(arch).timer
    value = value.replace("TIMER", timer.upper()).replace("timer", timer)
    result = tacet("status.musl", options=f'"clockevent={value}"')
    assert (result.outcome, result.status) == ("stop", BAD_INPUT), result.explain()
    assert re.search(rf"clockevent=.*no such clock event device; it has: {timer}", result.reason), (
        result.explain()
    )


def test_the_clock_event_device_can_be_chosen(arch: str, tacet: Run) -> None:
    options = f"clockevent={architectures.named(arch).timer}"
    result = expect_exit(tacet("sleeps.musl", "late", "1", "112", options=options, icount=0))
    assert reported(result)["late_min_ns"] >= 0, result.explain()


@pytest.mark.parametrize("version", ["system", "newest"])
def test_the_tsc_deadline_keeps_the_same_promises_where_there_is_one(version: str, tacet: Run) -> None:
    options = {"options": "clockevent=tsc-deadline", "qemu": version, "cpu": "max,+tsc-deadline", "icount": 0}
    result = tacet("sleeps.musl", "late", "1", "112", **options)
    if result.outcome == "stop" and "it has: lapic" in result.reason:
        pytest.skip("this QEMU's emulation has no TSC deadline")
    assert reported(expect_exit(result))["late_absolute_max_ns"] < 1000, result.explain()


# ---- Accounting ----


def test_user_system_and_idle_time_add_up(tacet: Run) -> None:
    result = expect_exit(tacet("sleeps.musl", "account", icount=0))
    found = reported(result)
    assert (
        found["computing_user_ns"] >= 49_900_000
        and found["asleep_user_ns"] + found["asleep_system_ns"] < 30_000
    ), result.explain()
