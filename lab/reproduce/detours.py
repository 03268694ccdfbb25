# SPDX-License-Identifier: BSD-2-Clause
"""Detours, measured on Linux and on Tacet in the emulator: each as a point, compared with the papers'
machines [Hoefler10 §II-A, Table I, Fig. 1]; over time and sorted [Beckman06 §3.3, Fig. 3-5]; and the cost of
reading the clock, which limits what can be seen [Beckman06 §3, Tables 2 and 3]."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lab import statistics
from lab.bench.costs import parse_cost
from lab.formats.trace import Trace
from lab.pictures.bars import Bar, bar_picture
from lab.pictures.detours import scatter_picture, series_picture
from lab.pictures.style import System, key_of
from lab.reproduce.beckman import TABLE4, TABLE4_WORDS
from lab.reproduce.measured import SHIFT_1000_HZ, Found, Measurement, measure_all
from lab.reproduce.outcome import Experiment, Outcome, Row, Settings
from lab.reproduce.traces import HOEFLER, generate

S = 1_000_000_000
INSTRUCTIONS = (
    "Linux and Tacet here: QEMU, 1 ns is one instruction, no caches. Published values: on their machines."
)


def watch(settings: Settings, system: str, shift: int = 0, seconds: int = 10) -> Measurement:
    """Returns a measurement with selfish of this length, in scaled time."""
    window_ns = (S if settings.quick else seconds * S) << shift
    return Measurement(system, "selfish", ("-s", "-r", f"{window_ns}ns"), shift)


def named(found: Found, name: str) -> Trace:
    return replace(found.trace(), source=name)


def loop_ns(found: Found) -> float:
    """Returns the shortest turn of the loop, instructions."""
    return float(found.report()["minimum_loop"]) / found.scale


# ---- [Hoefler10 Fig. 1, Table I] ----

#: The part of a synthetic trace that is drawn over time, ns; the paper's figure shows some tens of seconds.
SHOWN_NS = 40.0 * S


def fig1(settings: Settings) -> Outcome:
    found = measure_all(
        settings,
        {
            "Linux": watch(settings, "linux"),
            "Linux, tuned": watch(settings, "linux_tuned", seconds=2),
            "Tacet": watch(settings, "tacet"),
        },
    )
    rows, shown = [], []
    for machine in HOEFLER:
        trace = generate(machine, settings.seed, 20_000 if settings.quick else 100_000).trace
        assert machine.noise_ratio is not None
        published = 100 * machine.noise_ratio
        ours = {"synthetic": 100 * statistics.noise_ratio(trace)}
        rows.append(Row(f"{machine.name}: noise, %", published, ours, restates=True))
        shown.append(System(machine.key, machine.name, trace))
    one_cpu = {name: found[name].trace() for name in ("Linux", "Tacet")}
    rows += [
        Row("noise, %", "0 to 0.26", {n: 100 * statistics.noise_ratio(t) for n, t in one_cpu.items()}),
        Row(
            "BlueGene/P, CNK: noise, %",
            "0, in hours",
            {"Tacet": 100 * statistics.noise_ratio(one_cpu["Tacet"])},
        ),
        Row("detours a second", None, {n: 1e9 * t.detours / t.span_ns for n, t in one_cpu.items()}),
        Row("longest detour, us", None, {n: longest_us(t) for n, t in one_cpu.items()}),
        Row(
            "interrupts (Linux), kernel entries (Tacet) a second",
            None,
            {n: one.entries() * 1e9 / (one.selfish().period_ns / one.scale) for n, one in found.items()},
        ),
        Row(
            "shortest turn of the loop, ns (here instructions)",
            "3.74 to 32.9",
            {n: loop_ns(one) for n, one in found.items()},
        ),
    ]
    shown += [
        System("linux", "Linux", named(found["Linux"], "Linux")),
        System("tacet", "Tacet", named(found["Tacet"], "Tacet")),
    ]
    notes = (
        INSTRUCTIONS,
        "The machines' traces are synthetic (lab/reproduce/traces.py): their share of time is input. The "
        "tuned Linux needs two CPUs, so under this clock only its counts are meaningful.",
    )
    title = "Detours of four machines and of two kernels here [Hoefler10 Fig. 1, Table I]"
    return Outcome(
        title,
        rows,
        notes,
        lambda path, width: scatter_picture(
            shown, path, title=title, notes=notes[:1], width=width, shown_ns=SHOWN_NS
        ),
    )


def longest_us(trace: Trace) -> float:
    return float(trace.duration_ns.max(initial=0.0)) / 1e3


# ---- [Beckman06 Fig. 3-5] ----


def fig3(settings: Settings) -> Outcome:
    found = measure_all(
        settings,
        {
            "Tacet": watch(settings, "tacet"),
            "Linux, 250 Hz": watch(settings, "linux"),
            "Linux, 1000 Hz": watch(settings, "linux", SHIFT_1000_HZ, seconds=2),
        },
    )
    traces = {name: one.trace() for name, one in found.items()}
    rows = []
    for words, key, ours in (
        ("BG/L compute node, BLRTS", "bgl-cn", "Tacet"),
        ("XT3, Catamount", "xt3", "Tacet"),
        ("BG/L I/O node, Linux 2.4 (100 Hz, no daemons)", "bgl-ion", "Linux, 250 Hz"),
        ("Laptop, Linux 2.6 (1000 Hz, daemons)", "laptop", "Linux, 1000 Hz"),
    ):
        trace = traces[ours]
        lengths = trace.duration_ns / 1e3 if trace.listed else np.zeros(1)
        values = (
            100 * statistics.noise_ratio(trace),
            float(lengths.max()),
            float(lengths.mean()),
            float(np.median(lengths)),
        )
        for word, published, value in zip(TABLE4_WORDS, TABLE4[key], values, strict=True):
            rows.append(Row(f"{words}: {word}", published, {ours: value}))
    shown = [System(key_of(name), name, trace) for name, trace in traces.items()]
    notes = (INSTRUCTIONS, "The papers' platforms as synthetic traces: see beckman-table4.")
    title = "Detours over time, and sorted, measured here [Beckman06 Fig. 3-5]"
    return Outcome(
        title,
        rows,
        notes,
        lambda path, width: series_picture(
            shown, path, title=title, notes=notes, width=width, shown_ns=2.0 * S
        ),
    )


# ---- [Beckman06 Tables 2 and 3] ----

#: Platform: its clock in GHz; the counter and gettimeofday in us [Table 2]; t_min in ns [Table 3].
PLATFORMS = {
    "BG/L compute node, BLRTS": (0.7, 0.024, 3.242, 185.0),
    "BG/L I/O node, Linux 2.4": (0.7, 0.024, 0.465, 137.0),
    "Jazz node, Linux 2.4": (2.4, None, None, 62.0),
    "Laptop, Linux 2.6": (1.7, 0.027, 3.020, 39.0),
    "XT3, Catamount": (2.4, None, None, 7.0),
}
LIGHTWEIGHT = ("BLRTS", "Catamount")


def table2(settings: Settings) -> Outcome:
    wanted = {
        f"{program} on {system}": replace(watch(settings, system, seconds=1), program=program, args=args)
        for system in ("tacet", "linux")
        for program, args in (("cost", ("-n", "1000")), ("selfish", ("-s", "-r", f"{S}ns")))
    }
    found = measure_all(settings, wanted)
    names = {"tacet": "Tacet", "linux": "Linux"}
    cost = {s: parse_cost(found[f"cost on {s}"].stdout) for s in names}
    loop = {s: loop_ns(found[f"selfish on {s}"]) for s in names}
    rows, bars = [], []
    for platform, (ghz, counter_us, day_us, loop_published_ns) in PLATFORMS.items():
        system = "tacet" if platform.endswith(LIGHTWEIGHT) else "linux"
        name = names[system]
        if counter_us is not None and day_us is not None:
            rows.append(
                Row(
                    f"{platform}: the counter, cycles",
                    1e3 * ghz * counter_us,
                    {name: float(cost[system]["clock_reads_ticks_min"])},
                )
            )
            rows.append(
                Row(
                    f"{platform}: gettimeofday, cycles",
                    1e3 * ghz * day_us,
                    {name: float(cost[system]["clock_gettime_ticks_min"])},
                )
            )
            bars.append(Bar(f"{platform} (published)", {"cycles of gettimeofday": 1e3 * ghz * day_us}))
        rows.append(Row(f"{platform}: t_min, cycles", ghz * loop_published_ns, {name: loop[system]}))
    rows.append(
        Row(
            "the clock as a system call",
            None,
            {names[s]: float(cost[s]["clock_gettime_kernel_ticks_min"]) for s in names},
        )
    )
    for system, name in names.items():
        bars.append(
            Bar(f"{name}, vDSO", {"cycles of gettimeofday": float(cost[system]["clock_gettime_ticks_min"])})
        )
        bars.append(
            Bar(
                f"{name}, system call",
                {"cycles of gettimeofday": float(cost[system]["clock_gettime_kernel_ticks_min"])},
            )
        )
    notes = (
        "Published times in cycles of the platform's clock; ours in instructions, of clock_gettime, which "
        "gettimeofday uses today. Each platform is compared with the kernel of its kind.",
        "t_min: the shortest turn of the acquisition loop; shorter detours cannot be seen.",
    )
    title = "Cost of reading the clock [Beckman06 Table 2, Table 3]"
    return Outcome(
        title,
        rows,
        notes,
        lambda path, width: bar_picture(
            bars, path, x="cycles (here: instructions)", log=True, title=title, notes=notes[:1], width=width
        ),
    )


EXPERIMENTS = (
    Experiment(
        "beckman-table2", "Beckman06 Table 2, 3", "cost of reading the clock: measured", table2, measured=True
    ),
    Experiment(
        "beckman-fig3", "Beckman06 Fig. 3-5", "detours over time and sorted: measured", fig3, measured=True
    ),
    Experiment(
        "hoefler-fig1", "Hoefler10 Fig. 1, Table I", "every detour: two systems measured", fig1, measured=True
    ),
)
