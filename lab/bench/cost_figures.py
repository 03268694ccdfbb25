# SPDX-License-Identifier: BSD-2-Clause
"""Computes the figures of `lab bench` from the raw values, and makes the table of figures and aims. costs.py
measures."""

from __future__ import annotations

from typing import Any

from lab.common import architecture
from lab.common.architecture import Architecture
from lab.common.text import table

#: The project's aims on all architectures: a limit that must not be reached, and a maximum.
LATE_BELOW_NS = 1_000
CROWD_INTERRUPTS_MAX = 2
#: Aims for x86_64: instructions of getpid, of one event of the flight log and of boot; bytes of memory and
#: image.
GETPID_MAX = 44
KLOG_EVENT_BELOW = 60
BOOT_BELOW = 8_000_000
MEMORY_BELOW = 3 << 19
IMAGE_BELOW = 410 << 10

#: Other kernels on x86_64, for orientation only: measured earlier, in QEMU (TCG, icount, shift 0), from
#: Debian's Linux 6.1.192 and from the public sources of Hermit, Kitten and Nautilus. Instructions to main()
#: and of one getpid, clock reads included; bytes of the stripped image; ns by which a sleep of 1 ms comes
#: late (Linux with its default slack, Kitten at its quiet 1 Hz). The other columns have what this program
#: measures.
NEIGHBOURS: dict[str, dict[str, int]] = {
    "Linux 6.1.192": {"boot": 1_730_000_000, "getpid": 316, "late": 52_000},
    "Hermit": {"boot": 72_000_000, "image": 890_000, "late": 2_500},
    "Kitten": {"boot": 533_000_000, "getpid": 45, "image": 722_000, "late": 386_000_000},
    "Nautilus": {"boot": 222_000_000},
}

#: The large mapping, MiB, and pages of the small one.
MAP_MIB = 1024
SMALL_MAP_PAGES = 16


def size_text(kib: int) -> str:
    return f"{kib} KiB" if kib < 1024 else f"{kib // 1024} MiB"


def lateness(values: dict[str, int], which: str) -> dict[str, int]:
    return {part: values[f"sleep_{which}_late_{part}_ns"] for part in ("min", "median", "max")}


def figures(
    cost: dict[str, dict[str, int]],
    maps: dict[str, dict[str, int]],
    wake: dict[str, int | str],
    share: dict[str, dict[str, int]],
    timers: dict[str, dict[str, int]],
    image: int,
    chosen: Architecture = architecture.ALL[architecture.DEFAULT],
) -> dict[str, Any]:
    """Returns the figures from the raw values; instructions, ns, bytes."""
    tacet, linux = cost["tacet"], cost["linux"]
    boot = tacet["main_ticks"] - tacet["boot_ticks"]
    return {
        "getpid_instructions": {key: values["getpid_ticks_min"] for key, values in cost.items()},
        "clock_gettime_instructions": {
            key: values["clock_gettime_ticks_min"] for key, values in cost.items()
        },
        "clock_gettime_kernel_instructions": {
            key: values["clock_gettime_kernel_ticks_min"] for key, values in cost.items()
        },
        "klog_event_instructions": tacet["klog_event_ticks"],
        "signal_instructions": {"tacet": tacet["signal_ticks"], "linux": linux["signal_ticks"]},
        "futex_wake_instructions": wake,
        "futex_switch_instructions": {key: values["futex_switch_ticks_min"] for key, values in share.items()},
        "wake_over_idle_instructions": {
            key: values["wake_over_idle_ticks_min"] for key, values in share.items()
        },
        "boot_instructions": {
            "tacet": boot,
            "tacet_without_zeroing": boot - int(tacet["zeroed_bytes_before_main"] / chosen.zeroing),
            "linux": linux["main_ticks"] - tacet["boot_ticks"],
        },
        "timer_instructions": {
            what: {key: values[f"timer_{what}_ticks"] for key, values in timers.items()}
            for what in ("arm", "disarm", "expire")
        },
        "sleep_crowd": {which: timers["tacet"][f"crowd_{which}"] for which in ("sleeps", "interrupts")},
        "sleep_exact_late_ns": {"tacet": lateness(tacet, "exact"), "linux": lateness(linux, "exact")},
        "sleep_default_late_ns": {"tacet": lateness(tacet, "default"), "linux": lateness(linux, "default")},
        "map_page_instructions": {
            which: {key: values[f"map_{which}_page_ticks"] for key, values in maps.items()}
            for which in ("small", "large")
        },
        "kernel_memory_bytes": {"tacet": tacet["kernel_bytes"], "linux": linux["memory_gone_bytes"]},
        "kernel_image_bytes": image,
    }


def as_table(f: dict[str, Any], chosen: Architecture = architecture.ALL[architecture.DEFAULT]) -> str:
    """Returns the table of figures and aims, with the other kernels'; aims and other kernels only if they are
    this architecture's."""
    own = chosen.name == architecture.DEFAULT

    def row(
        name: str, value: int, aim: str = "", held: bool | None = None, linux: str = "", others: str = ""
    ) -> list[str]:
        verdict = "" if held is None else ("yes" if held else "NO")
        return [name, f"{value:,}", aim, verdict, linux, *([others] if own else [])]

    def beside(name: str, values: dict[str, int]) -> list[str]:
        return row(name, values["tacet"], linux=f"{values['linux']:,}")

    def most(value: int, limit: int) -> tuple[str, bool]:
        return f"<= {limit:,}", value <= limit

    def below(value: int, limit: int) -> tuple[str, bool]:
        return f"< {limit:,}", value < limit

    def if_own(aim: tuple[str, bool]) -> tuple[str, bool | None]:
        return aim if own else ("", None)

    def others(what: str) -> str:
        return ", ".join(f"{name} {values[what]:,}" for name, values in NEIGHBOURS.items() if what in values)

    getpid, boot, memory = f["getpid_instructions"], f["boot_instructions"], f["kernel_memory_bytes"]
    clock, kernel_clock = f["clock_gettime_instructions"], f["clock_gettime_kernel_instructions"]
    event, timer, crowd = f["klog_event_instructions"], f["timer_instructions"], f["sleep_crowd"]
    pages, wake = f["map_page_instructions"], f["futex_wake_instructions"]
    switch, over_idle = f["futex_switch_instructions"], f["wake_over_idle_instructions"]
    exact, default = f["sleep_exact_late_ns"], f["sleep_default_late_ns"]
    linux_getpid = f"{getpid['linux']:,} (mitigations off: {getpid['linux_mitigations_off']:,})"
    image = f["kernel_image_bytes"]
    small = size_text(SMALL_MAP_PAGES * chosen.page_kib)
    rows = [
        row(
            "empty system call, instructions",
            getpid["tacet"],
            *if_own(most(getpid["tacet"], GETPID_MAX)),
            linux_getpid,
            others("getpid"),
        ),
        row("clock_gettime, instructions", clock["tacet"], linux=f"{clock['linux']:,}"),
        row("  as a system call", kernel_clock["tacet"], linux=f"{kernel_clock['linux']:,}"),
        row("one event of the flight log, instructions", event, *if_own(below(event, KLOG_EVENT_BELOW))),
        row(
            "signal to itself, handler and back, instructions",
            f["signal_instructions"]["tacet"],
            linux=f"{f['signal_instructions']['linux']:,}",
        ),
        row(
            "futex wake to waiter running on another CPU, instructions",
            wake["tacet"],
            linux=wake["linux"] if isinstance(wake["linux"], str) else f"{wake['linux']:,}",
        ),
        row(
            "  to waiter on the same CPU, waker waits: a switch",
            switch["tacet"],
            linux=f"{switch['linux']:,}",
        ),
        row("  over the waker, a SCHED_IDLE thread", over_idle["tacet"], linux=f"{over_idle['linux']:,}"),
        beside("timer_settime: a timer armed, instructions", timer["arm"]),
        beside("  disarmed", timer["disarm"]),
        beside("  expired: taken from a program that computes", timer["expire"]),
        row(
            f"{crowd['sleeps']:,} sleeps that end 1 ns apart, interrupts",
            crowd["interrupts"],
            *most(crowd["interrupts"], CROWD_INTERRUPTS_MAX),
        ),
        row(
            "1 ms sleep, exact: at most late, ns",
            exact["tacet"]["max"],
            *below(exact["tacet"]["max"], LATE_BELOW_NS),
            f"{exact['linux']['max']:,}",
            others("late"),
        ),
        row("  median", exact["tacet"]["median"], linux=f"{exact['linux']['median']:,}"),
        row(
            "  default slack: at most late, ns", default["tacet"]["max"], linux=f"{default['linux']['max']:,}"
        ),
        row(
            f"mmap, touch, munmap of {small}: a page, instructions",
            pages["small"]["tacet"],
            linux=f"{pages['small']['linux']:,}",
        ),
        row(f"  of {MAP_MIB} MiB", pages["large"]["tacet"], linux=f"{pages['large']['linux']:,}"),
        row(
            "boot to main, instructions",
            boot["tacet"],
            *if_own(below(boot["tacet"], BOOT_BELOW)),
            f"{boot['linux']:,}",
            others("boot"),
        ),
        row("  without zeroing memory", boot["tacet_without_zeroing"]),
        row(
            "kernel memory, bytes",
            memory["tacet"],
            *if_own(below(memory["tacet"], MEMORY_BELOW)),
            f"{memory['linux']:,}",
        ),
        row("kernel image, stripped, bytes", image, *if_own(below(image, IMAGE_BELOW)), "", others("image")),
    ]
    notes = (
        "Linux's boot is counted from the end of the firmware, as measured in Tacet's run on the same "
        "machine; it includes\n"
        "unpacking its own image and any time in which it halts. Linux's memory includes the files of its "
        "initramfs."
    )
    if not own:
        notes += (
            f"\nOn {chosen.name} a tick of the clock is {chosen.instructions_a_tick:.2f} instructions: "
            "single events are exact to two or three of them, the\nempty call to a tenth. Aims in "
            "instructions and bytes are x86_64's."
        )
    header = ["", "Tacet", "aim", "held", "Linux here", *(["for orientation"] if own else [])]
    return f"{table(header, rows)}\n\n{notes}"
