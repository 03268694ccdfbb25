# SPDX-License-Identifier: BSD-2-Clause
"""`lab bench`: costs of Tacet, compared with Linux: system call, log event, boot, memory, image, lines of
code.

Runs `cost` in QEMU with `icount` at one instruction per nanosecond, so the clock's ticks are instructions and
the figures are the same in every run. On POWER a tick of the time base is 1.95 instructions, so figures of
single events are exact to two or three. Prints a table with the aims, and writes `bench.json` and the raw
output of each run (`cost-SYSTEM.txt`) into `--out`.

What the figures are:

getpid      from the system call instruction to the return instruction, both included (`apps/cost/cost.c`)
clock       the C library's clock_gettime(CLOCK_MONOTONIC), from the call to its return (with a vDSO it does
not
            enter the kernel); and the same as a system call
signal      from kill, with a handler that does nothing, to the instruction after it, minus an empty call
            (Linux saves the whole vector state, too)
wake        from before the futex call that wakes a thread on another CPU to after the return of that thread's
            own call (`apps/cost/wake.c`, one rank on two CPUs). Under icount both CPUs share one clock and
            take turns; the waker gives up its turn when its call has returned. So the figure is the sum of
            the chain's instructions, not the time of two real CPUs, whose work overlaps. Linux needs QEMU 10
            for this, which runs its two CPUs under icount
switch      from before the futex call that wakes a thread on the same CPU, through the waker's own wait, to
            after the return of that thread's call: half of the way there and back (`apps/cost/share.c`). Over
            a SCHED_IDLE thread: the same, but the waker is SCHED_IDLE and loses the CPU in its call
log event   half of the extra cost of getpid while the flight log's class of system calls is on, because then
            it writes two events
boot        clock at main() minus the clock at the kernel's first instruction. Linux does not report the
            latter, so the firmware's time is taken from Tacet's run in the same machine (its clock at its
            first instruction). Linux's figure includes unpacking its own image, its first process, and the
            time in which it halts and waits
zeroing     QEMU counts one instruction for each 8 bytes that x86_64's `rep stosq` clears, three for 128 bytes
            of POWER's loop; the figure without zeroing is Tacet's boot minus the instructions for its zeroed
            bytes
mmap        from mmap and a write to each page to munmap, per page of the machine (4 KiB on x86_64, 64 KiB on
            POWER), zeroing included (512 of Tacet's instructions on x86_64)
memory      Tacet: the memory that the kernel reports as its own. Linux: the machine's memory minus MemFree at
            the first program, which includes the files in its initramfs
timers      timer_settime that arms a timer, and that disarms it, through the C library; and the time that an
            expiring timer takes from a program that computes, including interrupt entry and exit and a
            blocked signal (`apps/cost/timer.c`). A crowd is a number of sleeps, one thread each
lateness    from the end time of a sleep of 1 ms to the program's next reading of the clock
            (`apps/cost/sleep.c`); `exact` with a timer slack of 1 ns, `default` with the system's default
image       the kernel file, stripped
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO

from lab.bench import runner, sloc
from lab.bench.cost_figures import MAP_MIB, as_table, figures
from lab.bench.runner import Runner
from lab.common import architecture
from lab.common.errors import LabError
from lab.common.files import bytes_write
from lab.common.paths import ROOT

SUMMARY = "Measure costs of Tacet and of Linux: system call, log event, boot, memory, image, lines of code."


def mebibytes(text: str) -> int:
    """Parses a memory size like QEMU's, `256M` or `1G`, to MiB."""
    number, unit = text[:-1], text[-1:].upper()
    if not number.isdigit() or unit not in ("M", "G") or int(number) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a memory size; give one such as 256M or 1G")
    return int(number) * (1024 if unit == "G" else 1)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("bench", description=SUMMARY)
    architecture.options_add(parser)
    parser.add_argument("--out", type=Path, help="folder for the results")
    parser.add_argument("--cost", type=Path, help="path of cost")
    parser.add_argument("--kernel", type=Path, help="the kernel (build/ARCH/tacet.elf)")
    parser.add_argument(
        "--memory", type=mebibytes, default="256M", help="memory of the machines (default 256M)"
    )
    parser.add_argument(
        "--qemu", choices=("system", "newest"), default="newest", help="which QEMU (default newest)"
    )
    parser.add_argument(
        "--time-limit",
        type=float,
        default=600.0,
        metavar="SECONDS",
        help="most seconds for each run (default 600)",
    )


def parse_cost(text: str, instructions_a_tick: float = 1.0) -> dict[str, int]:
    """Returns the `key value` lines of `apps/cost`, ticks as instructions."""
    values: dict[str, int] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 2 and re.fullmatch(r"\d+(\.\d+)?", words[1]):
            values[words[0]] = _of_ticks(words[0], float(words[1]), instructions_a_tick)
    return values


def _of_ticks(key: str, value: float, instructions_a_tick: float) -> int:
    return round(value * instructions_a_tick if "_ticks" in key else value)


def image_bytes(kernel: Path, strip_name: str = "strip") -> int:
    """Returns the size of the kernel file without symbols and debug information, bytes. Raises LabError."""
    if not kernel.is_file():
        raise LabError(f"{kernel}: no such kernel; build it first (`make`), or name another with --kernel")
    strip = shutil.which(strip_name)
    if not strip:
        raise LabError(f"{strip_name} is not installed; install binutils for this architecture")
    with tempfile.TemporaryDirectory() as folder:
        stripped = Path(folder) / "kernel"
        done = subprocess.run([strip, "-o", stripped, kernel], capture_output=True, text=True)
        if done.returncode:
            raise LabError(f"{kernel}: cannot be stripped: {done.stderr.strip()}")
        return stripped.stat().st_size


def values_checked(who: str, found: dict[str, int], needed: Sequence[str], result: Any) -> dict[str, int]:
    """Returns `found` if it has all needed keys; else LabError with the end of the console."""
    if missing := [word for word in needed if word not in found]:
        raise LabError(f"{who} does not print {', '.join(missing)}\n{runner.console_tail(result)}")
    return found


def cost_values(
    what: str,
    name: str,
    call: Callable[[], Any],
    path: Path,
    needed: Sequence[str],
    options: argparse.Namespace,
    out: TextIO,
) -> dict[str, int]:
    """Returns the values that a run of `cost` on the system `name` prints; `path` keeps its output.
    RunnerError if the machine cannot run."""
    result = runner.run_shown(f"{what} on {name}", out, call)
    bytes_write(path, result.stdout)
    runner.result_checked(name, result)
    text = result.stdout.decode("ascii", errors="replace")
    values = parse_cost(text, architecture.chosen(options).instructions_a_tick)
    return values_checked(f"{name}: the program", values, needed, result)


def machine_of(options: argparse.Namespace, memory_mib: int) -> dict[str, Any]:
    """Returns the options of the machine on which all systems are measured."""
    return {
        "memory": f"{memory_mib}M",
        "icount": 0,
        "qemu": options.qemu,
        "time_limit": options.time_limit,
        "arch": options.arch,
        "firmware": options.firmware,
    }


def measure(options: argparse.Namespace, machines: Runner, out: TextIO) -> dict[str, dict[str, int]]:
    """Returns the values of `cost` on each system."""
    common = machine_of(options, options.memory)
    args = ["-m", str(options.memory)]
    runs = {
        "tacet": ("Tacet", lambda: machines.run_tacet(options.cost, args, **common)),
        "linux": ("Linux", lambda: machines.run_linux(options.cost, args, variant="stock", **common)),
        "linux_mitigations_off": (
            "Linux, mitigations=off",
            lambda: machines.run_linux(
                options.cost, args, variant="stock", options="mitigations=off", **common
            ),
        ),
    }
    found: dict[str, dict[str, int]] = {}
    for i, (key, (name, call)) in enumerate(runs.items(), start=1):
        needed = [
            "getpid_ticks_min",
            "signal_ticks",
            "clock_gettime_ticks_min",
            "clock_gettime_kernel_ticks_min",
            "main_ticks",
        ]
        tacet_only = ["boot_ticks", "zeroed_bytes_before_main", "kernel_bytes", "klog_event_ticks"]
        needed += tacet_only if key == "tacet" else ["memory_gone_bytes"]
        needed += [
            f"sleep_{which}_late_{part}_ns"
            for which in ("exact", "default")
            for part in ("min", "median", "max")
        ]
        try:
            found[key] = cost_values(
                f"[{i}/{len(runs)}] cost", name, call, options.out / f"cost-{key}.txt", needed, options, out
            )
        except machines.RunnerError as error:
            raise LabError(f"{name}: {error}") from None
    return found


#: Memory of the machine for the large mapping, MiB.
MAP_MACHINE_MIB = 2048


def measure_both(
    what: str,
    kept: str,
    args: Sequence[str],
    needed: Sequence[str],
    memory_mib: int,
    options: argparse.Namespace,
    machines: Runner,
    out: TextIO,
    tacet_options: str = "",
    tacet_only: Sequence[str] = (),
) -> dict[str, dict[str, int]]:
    """Returns the values that `cost` prints with these arguments on Tacet and on Linux. `kept` names the
    files of its outputs; `tacet_options` are the kernel's; `tacet_only` are keys that only Tacet must
    print."""
    common = machine_of(options, memory_mib)
    runs = {
        "tacet": ("Tacet", lambda: machines.run_tacet(options.cost, args, options=tacet_options, **common)),
        "linux": ("Linux", lambda: machines.run_linux(options.cost, args, variant="stock", **common)),
    }
    found: dict[str, dict[str, int]] = {}
    for key, (name, call) in runs.items():
        try:
            path = options.out / f"{kept}-{key}.txt"
            wanted = [*needed, *(tacet_only if key == "tacet" else ())]
            found[key] = cost_values(what, name, call, path, wanted, options, out)
        except machines.RunnerError as error:
            raise LabError(f"{name}: {error}") from None
    return found


def measure_maps(options: argparse.Namespace, machines: Runner, out: TextIO) -> dict[str, dict[str, int]]:
    """Measures the cost of a page from mmap to munmap on each system."""
    args, needed = ["-b", str(MAP_MIB)], ["map_small_page_ticks", "map_large_page_ticks"]
    return measure_both("memory", "cost-map", args, needed, MAP_MACHINE_MIB, options, machines, out)


def measure_wake(options: argparse.Namespace, machines: Runner, out: TextIO) -> dict[str, int | str]:
    """Measures the cost of waking a thread on another CPU; for Linux, if it cannot run, why."""
    common = {**machine_of(options, options.memory), "cpus": 2}
    runs = {
        "tacet": ("Tacet", lambda: machines.run_tacet(options.cost, ["-w"], options="ranks=1", **common)),
        "linux": ("Linux", lambda: machines.run_linux(options.cost, ["-w"], variant="stock", **common)),
    }
    found: dict[str, int | str] = {}
    for key, (name, call) in runs.items():
        try:
            path, needed = options.out / f"cost-wake-{key}.txt", ["futex_wake_ticks_min"]
            values = cost_values("wake-up", name, call, path, needed, options, out)
        except machines.RunnerError as error:
            if key == "tacet":
                raise LabError(f"{name}: {error}") from None
            found[key] = f"absent: {error}"
            continue
        found[key] = values["futex_wake_ticks_min"]
    return found


#: Tacet's options for 1,001 threads, none of which loses the CPU to another; and the memory of a machine for
#: them, MiB: the pages of their kernel stacks are large on POWER.
CROWD_OPTIONS = "threads=1024 rotation=off"
CROWD_MACHINE_MIB = 512


def measure_timers(options: argparse.Namespace, machines: Runner, out: TextIO) -> dict[str, dict[str, int]]:
    """Measures the cost of a timer on each system, and of a crowd of them on Tacet."""
    needed = ["timer_arm_ticks", "timer_disarm_ticks", "timer_expire_ticks"]
    crowd = ["crowd_sleeps", "crowd_interrupts"]
    kept, memory = "cost-timers", CROWD_MACHINE_MIB
    return measure_both("timers", kept, ["-t"], needed, memory, options, machines, out, CROWD_OPTIONS, crowd)


def measure_share(options: argparse.Namespace, machines: Runner, out: TextIO) -> dict[str, dict[str, int]]:
    """Measures the cost of a switch between two threads of one CPU on each system."""
    what, needed = "two threads of one CPU", ["futex_switch_ticks_min", "wake_over_idle_ticks_min"]
    return measure_both(what, "cost-share", ["-s"], needed, options.memory, options, machines, out)


def bench(options: argparse.Namespace, machines: Runner, out: TextIO) -> None:
    """Runs the whole benchmark. LabError if it fails."""
    architecture.options_settle(options, cost="cost")
    chosen = architecture.chosen(options)
    runner.program_found(options.cost)
    image = image_bytes(options.kernel, chosen.strip)
    options.out.mkdir(parents=True, exist_ok=True)
    cost = measure(options, machines, out)
    maps = measure_maps(options, machines, out)
    wake = measure_wake(options, machines, out)
    share = measure_share(options, machines, out)
    timers = measure_timers(options, machines, out)
    found = {"arch": chosen.name, **figures(cost, maps, wake, share, timers, image, chosen)}
    rooms = sloc.count(ROOT)
    found["sloc"] = {**{row.name: row.lines for row in rooms}, **sloc.sums(rooms)}
    text = f"{as_table(found, chosen)}\n\n{sloc.as_table(rooms)}"
    runner.figures_keep(options.out / "bench.json", found, text, out)


def run(options: argparse.Namespace, machines: Runner | None = None, out: TextIO | None = None) -> int:
    """Runs the command; `machines` and `out` are for tests. Raises LabError or OSError."""
    bench(options, machines or runner.load(), out or sys.stdout)
    return 0
