# SPDX-License-Identifier: BSD-2-Clause
"""The path of a timer: from a sleep to the armed device, and from its interrupt back to the thread. Bound and
boundary are computed from the deadline as in the kernel."""

from __future__ import annotations

import re

from tools.drawings.route import Band, Box, Placed, bands_draw, down, up
from tools.drawings.sources import source
from tools.drawings.svg import (
    BLUE,
    EDGE,
    GREEN,
    GREY,
    INK,
    NAVY,
    ORANGE,
    PAPER,
    SAND,
    TEAL,
    WHITE,
    Drawing,
    DrawingError,
)

DEADLINE_NS, BOUND_NS = 16_100_000, 1_000_000

LEFT, MIDDLE, RIGHT, WIDE, ALL = (122, 232), (378, 178), (580, 232), (122, 450), (122, 690)

CALLS = "kernel/syscall/sys_time.c"
SLEEP = "kernel/process/sleep.c"
TIMER = "kernel/time/timer.c"
QUEUE = "kernel/time/timer_queue.c"


def bound_round(bound_ns: int) -> int:
    """Like timer_bound_round of kernel/time/timer_queue.c."""
    return 1 << (bound_ns.bit_length() - 1)


def boundary(deadline_ns: int, bound_ns: int) -> int:
    """Like timer_boundary of kernel/time/timer_queue.c, without an offset to global time."""
    return deadline_ns + -deadline_ns % bound_ns


def blanks(value: int) -> str:
    """A number with blanks, such as 16 124 592."""
    return f"{value:,}".replace(",", " ")


def vector() -> str:
    found = re.search(r"VECTOR_TIMER = (0x[0-9a-f]+)", source("arch/x86_64/include/arch/trap.h"))
    if not found:
        raise DrawingError("arch/x86_64/include/arch/trap.h has no VECTOR_TIMER, which a drawing shows")
    return found[1]


def upper_bands() -> tuple[Band, ...]:
    """Boxes from the program to the thread that sleeps."""
    return (
        Band(
            "the program", "ring 3", PAPER, 60,
            (
                Box(LEFT, "`nanosleep(12 ms)`", ("its latency bound is 1 ms",)),
                Box(RIGHT, "its next instruction", ("late by less than the bound",)),
            ),
        ),
        Band(
            "syscall/", "decode, check", SAND, 60,
            (
                Box(
                    LEFT, "`sys_clock_nanosleep`", ("its end: now and the duration",),
                    {CALLS: ["sys_clock_nanosleep"]},
                ),
                Box(
                    RIGHT, "`sleep_resume`", ("0, or the rest after a signal",), {CALLS: ["sleep_resume"]}
                ),
            ),
        ),
        Band(
            "process/", "who waits", BLUE, 92,
            (
                Box(
                    LEFT, "`thread_sleep`",
                    ("a `struct smart_timer` on the", "sleeper's own stack: nothing is", "allocated"),
                    {SLEEP: ["thread_sleep"]},
                ),
                Box(
                    MIDDLE, "its loop",
                    ("`timer_idle`, until the", "flag is set: the CPU", "halts"),
                    {TIMER: ["timer_idle"]},
                ),
                Box(
                    RIGHT, "`sleep_expire`",
                    (
                        "the timer's hook `expire`: sets a",
                        "flag on the sleeper's stack;",
                        "`thread_sleep` sees it",
                    ),
                    {SLEEP: ["sleep_expire"]},
                ),
            ),
        ),
    )  # fmt: skip


def lower_bands() -> tuple[Band, ...]:
    """Boxes from the queue to the device."""
    used_ns = bound_round(BOUND_NS)
    return (
        Band(
            "time/", "smart timers", BLUE, 170,
            (
                Box(
                    WIDE, "`timer_start`",
                    (
                        "into this CPU's queue (`timer_queue_start`), at a multiple of the bound:",
                        f"bound {blanks(BOUND_NS)} ns, as a power of two {blanks(used_ns)} ns  "
                        "(`timer_bound_round`)",
                        f"deadline {blanks(DEADLINE_NS)}, boundary {blanks(boundary(DEADLINE_NS, used_ns))} "
                        "ns  (`timer_boundary`)",
                    ),
                    {
                        TIMER: ["timer_start"],
                        QUEUE: ["timer_queue_start", "timer_bound_round", "timer_boundary"],
                    },
                    height=84,
                ),
                Box(
                    RIGHT, "`timer_interrupt`",
                    (
                        "`timer_queue_expire`: takes all",
                        "timers that are due out of the",
                        "heap, calls each one's hook",
                        "`expire`, and arms the device for",
                        "the next boundary, if there is one",
                    ),
                    {TIMER: ["timer_interrupt"], QUEUE: ["timer_queue_expire"]},
                ),
            ),
        ),
        Band(
            "arch/x86_64/", "through arch.h", GREEN, 76,
            (
                Box(
                    (122, 290), "`apic_arm`",
                    ("the hook `arm` of the best rated device;", "only where the earliest boundary changes"),
                    {"arch/x86_64/apic_timer.c": ["apic_arm"]},
                ),
                Box(
                    RIGHT, "`trap_handle`",
                    (f"vector {vector()}: acknowledges it and", "calls up; counted at the entry"),
                    {"arch/x86_64/trap.c": ["trap_handle"]},
                ),
            ),
        ),
        Band(
            "hardware", "one-shot", PAPER, 60,
            (
                Box(
                    ALL, "the local APIC's timer  (`local_apic_timer_start`)",
                    (
                        "counts down once; until then nothing runs, and where no timer is pending "
                        "nothing is armed at all",
                    ),
                    {"arch/x86_64/local_apic.c": ["local_apic_timer_start"]},
                ),
            ),
        ),
    )  # fmt: skip


def grid(d: Drawing, x: float, y: float, width: float) -> None:
    """Draw three deadlines that share a boundary."""
    step = width / 4
    for place, name in enumerate(("0", "B", "2B", "3B", "4B")):
        at = x + step * place
        d.path(f"M{at:.1f} {y - 7}v14", INK, 1.5)
        d.text(at, y + 22, name, size=11, colour=GREY, anchor="middle")
    d.path(f"M{x} {y}H{x + width}", INK, 1.5)
    for share, name in ((0.15, "a"), (0.38, "b"), (0.7, "c")):
        at = x + step * (1 + share)
        d.text(at, y - 20, name, size=12, colour=TEAL, anchor="middle", bold=True)
        d.path(f"M{at:.1f} {y - 16}v12", TEAL, 1.5)
        d.path(f"M{at:.1f} {y - 4}H{x + 2 * step - 4:.1f}", TEAL, 1)
    d.line([(x + 2 * step, y - 36), (x + 2 * step, y - 9)], ORANGE, width=2)
    d.text(x + 2 * step + 8, y - 28, "one interrupt for three", size=11.5, colour=ORANGE, room=2 * step)
    d.text(x + 3 * step, y - 12, "nothing armed", size=11, colour=GREY, anchor="middle", room=2 * step)


def arrows(d: Drawing, placed: dict[str, Placed]) -> None:
    device = "the local APIC's timer  (local_apic_timer_start)"
    down(
        d,
        placed,
        ["nanosleep(12 ms)", "sys_clock_nanosleep", "thread_sleep", "timer_start", "apic_arm", device],
        LEFT[0] + 24,
        NAVY,
    )
    up(
        d,
        placed,
        [device, "trap_handle", "timer_interrupt", "sleep_expire", "sleep_resume", "its next instruction"],
        RIGHT[0] + 206,
        NAVY,
    )
    sleep, loop, expire = placed["thread_sleep"], placed["its loop"], placed["sleep_expire"]
    d.line([(sleep.right, loop.middle), (loop.x, loop.middle)], GREY, dashes="4 3")
    d.line([(expire.x, loop.middle), (loop.right, loop.middle)], GREY, dashes="4 3")


def drawing() -> Drawing:
    d = Drawing(
        616,
        "The path of a timer",
        "A sleep: nanosleep, thread_sleep, timer_start, the queue, the device; its interrupt, "
        "timer_interrupt, and the thread goes on.",
    )
    d.text(20, 30, "A sleep: the timer goes down, its interrupt comes up", size=15, bold=True, colour=NAVY)
    placed = bands_draw(d, 46, [*upper_bands(), *lower_bands()])
    start = placed["timer_start"]
    d.box(start.x, start.bottom + 6, start.width, 66, WHITE, edge=EDGE)
    grid(d, start.x + 48, start.bottom + 48, start.width - 76)
    arrows(d, placed)
    return d
