# SPDX-License-Identifier: BSD-2-Clause
"""[Tsafrir05 §3.2], measured on Linux and on Tacet in the emulator: phases of 1 ms under two schedulers (Fig.
3, Table 2), interrupts and their time (Table 3), the tick's rate and phases without the tick (Fig. 4), and
another operating system (Fig. 7).

The emulator has no caches: each instruction takes the same time. This is like the machine with caches off,
with which the paper explains its results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lab import statistics
from lab.common.errors import DataError
from lab.formats.phase import PhaseData
from lab.formats.trace import Trace
from lab.pictures.bars import Bar, bar_picture
from lab.pictures.distributions import DelayCurve, cdf_picture
from lab.reproduce.measured import SHIFT_1000_HZ, TICK_HZ, Found, Measurement, measure_all
from lab.reproduce.outcome import Experiment, Outcome, Row, Settings
from lab.reproduce.traces import CYCLE_NS, M3_SPAN_NS
from lab.statistics import Delays

MS = 1_000_000
GRAIN_NS = 1 * MS
#: Shorter delays are drawn as none.
LEAST_SHOWN_NS = 100.0
#: The daemon that runs with the phases: every half second it computes for 5 ms.
DAEMON_PERIOD_NS, DAEMON_WORK_NS = 500 * MS, 5 * MS
SCALED = (
    "1 ns is one instruction; a tick comes every million instructions (lab/reproduce/measured.py), like 1000 "
    "Hz on a processor of that speed."
)


def ns(time_ns: int) -> str:
    return f"{time_ns}ns"


def phases(
    system: str, settings: Settings, shift: int = SHIFT_1000_HZ, policy: str = "other", daemon: str = ""
) -> Measurement:
    """Returns a measurement of phases of 1 ms, in scaled time. `daemon` is the class of a daemon that runs at
    the same time, or empty."""
    count = 800 if settings.quick else 5000  # the daemon first runs after half a second
    times = (DAEMON_PERIOD_NS << shift, DAEMON_WORK_NS << shift)
    words = ("-p", ns(times[0]), "-w", ns(times[1])) if daemon else ()
    args = ("-s", "-g", ns(GRAIN_NS << shift), "-n", str(count), "-l", "100s")
    return Measurement(system, "phase", args, shift, policy, words, daemon or "other")


def durations_us(found: Found) -> tuple[np.ndarray, np.ndarray]:
    """Returns the durations, rising, and the number of phases with each duration."""
    data = found.phases()
    return data.ticks / data.ticks_per_ns / found.scale / 1e3, data.phases


def figures(found: Found) -> dict[str, float]:
    """Returns the figures of [Tsafrir05 Table 2] for a distribution, us."""
    us, count = durations_us(found)
    mean = float(np.average(us, weights=count))
    return {
        "average": mean,
        "median": float(np.repeat(us, count)[(int(count.sum()) - 1) // 2]),
        "standard deviation": round(float(np.sqrt(np.average((us - mean) ** 2, weights=count))), 6),
        "shortest": float(us[0]),
        "longest": float(us[-1]),
    }


def delays(found: Found) -> Delays:
    """Returns the distribution of delays beyond the calibrated phase: with a tick in every phase even the
    shortest one is delayed."""
    data: PhaseData = found.phases()
    beyond = np.maximum(data.ticks / data.ticks_per_ns - data.calibrated_ns, 0.0) / found.scale
    return Delays(data.calibrated_ns / found.scale, beyond, data.phases / data.count, float(data.count))


def cdf_drawing(
    curves: Sequence[DelayCurve], title: str, notes: Sequence[str], tails: Sequence[DelayCurve] = ()
) -> Callable[[Path, int], None]:
    """Returns a function that draws distributions to a path with a width."""
    return lambda path, width: cdf_picture(
        curves, path, tails=tails, title=title, notes=notes, width=width, log_from_ns=LEAST_SHOWN_NS
    )


#: Published values [Tsafrir05 Table 2], us.
TABLE2 = {
    "OTHER": {"average": 1060, "median": 999, "standard deviation": 127, "shortest": 668, "longest": 8334},
    "FIFO": {"average": 1080, "median": 1025, "standard deviation": 140, "shortest": 778, "longest": 1959},
}


def fig3(settings: Settings) -> Outcome:
    found = measure_all(
        settings,
        {
            "OTHER": phases("linux", settings, policy="other", daemon="other"),
            "FIFO": phases("linux", settings, policy="fifo", daemon="other"),
            "Tacet": phases("tacet", settings, daemon="idle"),
        },
    )
    values = {name: figures(one) for name, one in found.items()}
    rows = [
        Row(f"{policy}: {what}, us", float(published[what]), {"Linux": values[policy][what]})
        for policy, published in TABLE2.items()
        for what in published
    ]
    rows += [
        Row(f"with the daemon: {what}, us", None, {"Tacet": values["Tacet"][what]}) for what in TABLE2["FIFO"]
    ]
    for name, published, column in (
        ("OTHER", 1060 / 668, "Linux"),
        ("FIFO", 1080 / 778, "Linux"),
        ("Tacet", None, "Tacet"),
    ):
        ratio = values[name]["average"] / values[name]["shortest"]
        rows.append(Row(f"{name}: average / shortest", published, {column: ratio}))
    for name, column in (("OTHER", "Linux"), ("FIFO", "Linux"), ("Tacet", "Tacet")):
        p = statistics.p(delays(found[name]), 0.5)
        rows.append(Row(f"{name}: p of 1.5 ms and more", 0.01 if name != "Tacet" else None, {column: p}))
    count = found["OTHER"].phases().count
    notes = (
        f"{count:,} phases of 1 ms (the paper: a million). At the same time a daemon computes for "
        f"{DAEMON_WORK_NS // MS} ms every {DAEMON_PERIOD_NS // MS} ms; on Tacet as the service, SCHED_IDLE.",
        SCALED,
        "The paper's average is above its median, and its shortest far below, because of caches, which are "
        "missing here.",
    )
    curves = [
        DelayCurve("linux", "Linux, OTHER", delays(found["OTHER"])),
        DelayCurve("linux-fifo", "Linux, FIFO", delays(found["FIFO"])),
        DelayCurve("tacet", "Tacet, with the daemon", delays(found["Tacet"])),
    ]
    title = "Phases of 1 ms under two schedulers [Tsafrir05 Fig. 3, Table 2]"
    return Outcome(title, rows, notes, cdf_drawing(curves, title, notes[1:2]))


# ---- Table 3: interrupts ----

#: [Tsafrir05 Table 3]: interrupts and cycles, of the tick (both of its interrupts) and of the network.
TICKS, TICK_CYCLES = 1_082_744, 23_437_759_192 + 1_674_717_580
NETWORK, NETWORK_CYCLES = 5_917, 102_987_708
SPAN_CYCLES = M3_SPAN_NS / CYCLE_NS


def logged(settings: Settings, shift: int) -> Measurement:
    """Returns a measurement with selfish, which sees each interruption's length, on a Linux that logs the
    causes."""
    window_ns = (500 * MS if settings.quick else 2_500 * MS) << shift
    return Measurement("linux", "selfish", ("-s", "-r", ns(window_ns)), shift, "fifo", logged=True)


@dataclass(frozen=True)
class Explained:
    """The detours of a run with the kernel's log: for each the time that each kind of event took, ns,
    scaled."""

    trace: Trace
    kinds: Sequence[str]
    taken_ns: np.ndarray  # a row per detour, a column per kind
    counts: Counter[str]

    @property
    def left_ns(self) -> np.ndarray:
        """The time that no event explains: kernel entry and exit, and the log itself."""
        return self.trace.duration_ns - self.taken_ns.sum(axis=1)


#: Possible places of an event's beginning in its detour, in parts of a usual detour.
PLACES = np.arange(0.05, 0.6, 0.05)


def explained(found: Found) -> Explained:
    """Assigns each event to the detour that contains it. The program's clock and the log's use the same
    counter [Tsafrir05 §3.1], but the program's begins with its window. The window's beginning is found by
    trying: the first detour is one of the timer's events, and with the right one the unexplained time is
    nearly the same in each detour. DataError if events are missing."""
    trace, events = found.trace(), found.events()
    starts_ns = np.array([event.start_ns for event in events]) / found.scale
    lengths_ns = np.array([event.duration_ns for event in events]) / found.scale
    timers_ns = starts_ns[[event.name == "timer" for event in events]]
    if not trace.listed or not len(timers_ns):
        raise DataError("no detour or no timer event, so events cannot be assigned to detours")
    ends_ns = trace.start_ns + trace.duration_ns

    def detours_of(begin_ns: float) -> np.ndarray:
        """Returns the detour of each event if the window begins at this time, -1 for none."""
        at_ns = starts_ns - begin_ns
        index = np.searchsorted(trace.start_ns, at_ns, side="right") - 1
        return np.where((index >= 0) & (at_ns <= ends_ns[np.maximum(index, 0)]), index, -1)

    def unlike(begin_ns: float) -> float:
        """Returns how much the unexplained times of the detours differ."""
        of = detours_of(begin_ns)
        left = trace.duration_ns - np.bincount(of[of >= 0], lengths_ns[of >= 0], trace.listed)
        return float(np.abs(left - np.median(left)).sum())

    usual_ns = float(np.median(trace.duration_ns))
    last = max(1, len(timers_ns) - trace.listed + 3)  # the log also has ticks before the window
    begin_ns = min(
        (at - trace.start_ns[0] - place * usual_ns for at in timers_ns[:last] for place in PLACES), key=unlike
    )
    kinds = sorted({event.name for event in events})
    taken = np.zeros((trace.listed, len(kinds)))
    counts: Counter[str] = Counter()
    for event, where in zip(events, detours_of(begin_ns)):
        if where >= 0:
            taken[where, kinds.index(event.name)] += event.duration_ns / found.scale
            counts[event.name] += 1
    silent = int((taken.sum(axis=1) == 0).sum())
    if silent > 0.02 * trace.listed:
        raise DataError(f"{silent} of {trace.listed} detours have no event in the kernel's log")
    return Explained(trace, kinds, taken, counts)


def noise(trace: Trace) -> float:
    """Returns the share of time that detours take, %."""
    return 100 * statistics.noise_ratio(trace)


def table3(settings: Settings) -> Outcome:
    window_ns = 500 * MS if settings.quick else 2_500 * MS
    shifts = {1000: SHIFT_1000_HZ, 250: 0}
    wanted = {f"{hz} Hz": logged(settings, shift) for hz, shift in shifts.items()}
    wanted["quiet"] = Measurement(
        "linux", "selfish", ("-s", "-r", ns(window_ns << SHIFT_1000_HZ)), SHIFT_1000_HZ, "fifo"
    )
    wanted["Tacet"] = Measurement(
        "tacet", "selfish", ("-s", "-r", ns(window_ns << SHIFT_1000_HZ)), SHIFT_1000_HZ
    )
    found = measure_all(settings, wanted)
    parts = {f"{hz} Hz": explained(found[f"{hz} Hz"]) for hz in shifts}
    tacet = found["Tacet"]
    names = {f"{hz} Hz": f"Linux, {hz} Hz" for hz in shifts}

    def percent(key: str, *kinds: str) -> float:
        part = parts[key]
        columns = [i for i, kind in enumerate(part.kinds) if kind in kinds or kind.split()[0] in kinds]
        return 100 * float(part.taken_ns[:, columns].sum()) / part.trace.span_ns

    rows = []
    for hz in shifts:
        part = parts[f"{hz} Hz"]
        at = "" if hz == 1000 else f"{hz} Hz: "
        silent = {} if at else {"Tacet": 0.0}
        tick_ns = float(part.taken_ns[:, part.kinds.index("timer")].sum())
        rows += [
            Row(
                f"{at}ticks a second",
                None if at else TICKS / (M3_SPAN_NS / 1e9),
                {"Linux": 1e9 * part.counts["timer"] / part.trace.span_ns} | silent,
            ),
            Row(
                f"{at}a tick's interrupts, cycles (here instructions)",
                None if at else TICK_CYCLES / TICKS,
                {"Linux": tick_ns / part.counts["timer"]},
            ),
            Row(
                f"{at}tick, direct overhead, %",
                None if at else 100 * TICK_CYCLES / SPAN_CYCLES,
                {"Linux": percent(f"{hz} Hz", "timer")} | silent,
            ),
            Row(f"{at}softirqs that the tick raises, %", None, {"Linux": percent(f"{hz} Hz", "softirq")}),
            Row(
                f"{at}devices' interrupts, %",
                None if at else 100 * NETWORK_CYCLES / SPAN_CYCLES,
                {"Linux": percent(f"{hz} Hz", "device")} | silent,
            ),
            Row(
                f"{at}kernel entry and exit, and the log, %",
                None,
                {"Linux": 100 * float(part.left_ns.sum()) / part.trace.span_ns},
            ),
            Row(
                f"{at}all detours, %",
                None,
                {"Linux": noise(part.trace)} | ({} if at else {"Tacet": noise(tacet.trace())}),
            ),
            Row(
                f"{at}interrupts (Linux), kernel entries (Tacet) in the window",
                None,
                {"Linux": float(found[f"{hz} Hz"].entries())}
                | ({} if at else {"Tacet": float(tacet.entries())}),
            ),
        ]
        if not at:
            rows.append(Row("all detours without the log, %", None, {"Linux": noise(found["quiet"].trace())}))
    notes = (
        f"selfish for {window_ns / 1e9:g} s, SCHED_FIFO; Linux logs each interrupt with the processor's "
        "counter, as klogger did. The paper: eighteen minutes, 2.8 GHz.",
        SCALED,
        "The paper's tick is two interrupts (the timer's and the local APIC's), today's is one. No network.",
    )
    bars = [
        Bar(
            names[key],
            {
                "tick": percent(key, "timer"),
                "softirqs": percent(key, "softirq"),
                "devices' interrupts": percent(key, "device"),
                "kernel entry and exit, and the log": 100 * float(part.left_ns.sum()) / part.trace.span_ns,
            },
        )
        for key, part in parts.items()
    ]
    published = Bar(
        "M3, Linux 2.6.9 (published)",
        {
            "tick": 100 * TICK_CYCLES / SPAN_CYCLES,
            "softirqs": 0.0,
            "devices' interrupts": 100 * NETWORK_CYCLES / SPAN_CYCLES,
            "kernel entry and exit, and the log": 0.0,
        },
    )
    title = "Interrupts and what they take [Tsafrir05 Table 3]"
    return Outcome(
        title,
        rows,
        notes,
        lambda path, width: bar_picture(
            [published, *bars, Bar("Tacet", dict.fromkeys(published.parts, 0.0))],
            path,
            x="share of the time, %",
            title=title,
            notes=notes[1:2],
            width=width,
        ),
    )


# ---- Fig. 4: the tick's rate, and phases without the tick ----

RATES_HZ = (250, 500, 1000, 2000)


def without(part: Explained, *kinds: str) -> Trace:
    """Returns the detours without the time of events of these kinds, which [Tsafrir05 Fig. 4] subtracts."""
    columns = [i for i, kind in enumerate(part.kinds) if kind in kinds or kind.split()[0] in kinds]
    left = part.trace.duration_ns - part.taken_ns[:, columns].sum(axis=1)
    return Trace(
        source=part.trace.source,
        format="selfish",
        start_ns=part.trace.start_ns,
        duration_ns=np.maximum(left, 0.0),
        span_ns=part.trace.span_ns,
    )


def spread_ns(found: Delays) -> float:
    """Returns the standard deviation of the phases' durations, ns."""
    return float(np.sqrt(max(0.0, np.average((found.delay_ns - found.mean_ns) ** 2, weights=found.share))))


def fig4(settings: Settings) -> Outcome:
    rates = RATES_HZ[1:3] if settings.quick else RATES_HZ
    wanted = {
        f"{hz} Hz": phases("linux", settings, shift=(hz // TICK_HZ).bit_length() - 1, policy="fifo")
        for hz in rates
    }
    wanted["logged"] = logged(settings, SHIFT_1000_HZ)
    found = measure_all(settings, wanted)
    rows = []
    for hz in rates:
        values = figures(found[f"{hz} Hz"])
        calibrated = found[f"{hz} Hz"].phases().calibrated_ns / found[f"{hz} Hz"].scale / 1e3
        rows.append(Row(f"{hz} Hz: mean delay, us", None, {"Linux": values["average"] - calibrated}))
        rows.append(Row(f"{hz} Hz: standard deviation, us", None, {"Linux": values["standard deviation"]}))
    part = explained(found["logged"])
    softirqs = [kind for kind in part.kinds if kind.startswith("softirq")]
    steps = {
        "noisy": part.trace,
        "minus the timer's interrupts": without(part, "timer"),
        "minus softirqs and devices": without(part, "timer", "softirq", "device"),
    }
    curves = {name: statistics.delays_of_trace(trace, GRAIN_NS) for name, trace in steps.items()}
    whole = curves["noisy"].mean_ns
    for name, one in curves.items():
        said = "0" if name == list(curves)[-1] else None
        rows.append(Row(f"{name}: longest delay, us", None, {"Linux": one.longest_ns / 1e3}))
        rows.append(Row(f"{name}: standard deviation, us", said, {"Linux": spread_ns(one) / 1e3}))
        rows.append(
            Row(f"{name}: mean delay, of the noisy one's, %", None, {"Linux": 100 * one.mean_ns / whole})
        )
    notes = (
        "Left: FIFO, phases of 1 ms. Debian's kernel has only one rate, so the length of an instruction sets "
        "it. Right: 1000 Hz, from the detours of a run with the kernel's log.",
        f"Softirqs: {', '.join(kind.split()[1] for kind in softirqs)}. The rest is kernel entry and exit and "
        "the log itself, for which there are no events.",
        SCALED,
    )
    title = "The tick's rate, and phases without it [Tsafrir05 Fig. 4]"
    left = [DelayCurve(f"rate-{hz}", f"{hz} Hz", delays(found[f"{hz} Hz"])) for hz in rates]
    right = [DelayCurve(f"step-{i}", name, one) for i, (name, one) in enumerate(curves.items())]
    return Outcome(title, rows, notes, cdf_drawing(left, title, notes[2:], right))


# ---- Fig. 7: another operating system ----


def fig7(settings: Settings) -> Outcome:
    found = measure_all(
        settings, {"Linux": phases("linux", settings, policy="fifo"), "Tacet": phases("tacet", settings)}
    )
    values = {name: figures(one) for name, one in found.items()}
    rows = [
        Row(f"{what}, us", None, {name: value[what] for name, value in values.items()})
        for what in TABLE2["FIFO"]
    ]
    for delay, said in ((0.001, "both alike"), (0.01, None)):
        rows.append(
            Row(
                f"p of a delay of more than {100 * delay:g} %",
                said,
                {name: statistics.p(delays(one), delay) for name, one in found.items()},
            )
        )
    rows.append(Row("kernel entries", None, {name: float(one.entries()) for name, one in found.items()}))
    notes = (
        "The paper compares FreeBSD 5.3 with Linux: both tick, and both delay phases. Here the other system "
        "has no ticks; FreeBSD needs an image that a node can boot.",
        SCALED,
    )
    curves = [
        DelayCurve("linux", "Linux", delays(found["Linux"])),
        DelayCurve("tacet", "Tacet", delays(found["Tacet"])),
    ]
    title = "Phases of 1 ms on another operating system [Tsafrir05 Fig. 7]"
    return Outcome(title, rows, notes, cdf_drawing(curves, title, notes[1:]))


EXPERIMENTS = (
    Experiment(
        "tsafrir-fig3",
        "Tsafrir05 Fig. 3, Table 2",
        "1 ms phases with a daemon, two schedulers: measured",
        fig3,
        measured=True,
    ),
    Experiment(
        "tsafrir-fig4",
        "Tsafrir05 §3.2, Fig. 4",
        "tick rates, and phases without their interrupts: measured",
        fig4,
        measured=True,
    ),
    Experiment(
        "tsafrir-fig7",
        "Tsafrir05 §3.2, Fig. 7",
        "1 ms phases on Linux and on Tacet: measured",
        fig7,
        measured=True,
    ),
    Experiment(
        "tsafrir-table3",
        "Tsafrir05 §3.2, Table 3",
        "interrupts, counted and timed: measured",
        table3,
        measured=True,
    ),
)
