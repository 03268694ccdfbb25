# SPDX-License-Identifier: BSD-2-Clause
"""[Beckman06]: collective operations under injected noise, together or not (§4, Fig. 6), and the noise of
five platforms (§3.3, Table 4)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lab import statistics
from lab.pictures.curves import CurvePanel, curve_picture
from lab.pictures.detours import series_picture
from lab.pictures.style import System
from lab.reproduce.outcome import Experiment, Outcome, Row, Settings, ranks_text
from lab.reproduce.simulator import NETWORKS, Disturbance, Key, Latencies, Network, Run, simulate_all
from lab.reproduce.traces import BECKMAN, generate

DETOURS_US = (16, 50, 100, 200)
INTERVALS_MS = (1, 10, 100)
#: The barrier of BG/L is a network of its own; LogGOPS has messages only, so a very fast one stands for it:
#: 1.6 us at 32 768 processes.
BARRIER = Network("barrier", 64, 20, 0, 0)
ALLREDUCE = NETWORKS["cnl"]
#: All processes send to all. A message that waits for its processor is looked at again whenever that was
#: free, so that the time grows with the cube of the processes: more than this takes minutes a simulation.
ALLTOALL_MAX = 256
OPERATIONS = ("barrier", "allreduce", "alltoall")


#: The paper times loops. Many ranks at random places of the noise show its mean at once; ranks in step have
#: to pass through some of its periods.
LOOP = 10
PERIODS = 3
TOGETHER_RANKS = 16
TOGETHER_LOOP_MAX = 30_000


def run_of(operation: str, ranks: int, noise: Disturbance, loop: int = LOOP) -> Run:
    if operation == "alltoall":
        return Run("alltoall", ranks, ALLREDUCE, noise, 8)
    return Run(
        "dissemination", ranks, BARRIER if operation == "barrier" else ALLREDUCE, noise, 8, iterations=loop
    )


def loop_together(operation: str, ms: int) -> int:
    network = BARRIER if operation == "barrier" else ALLREDUCE
    once_ns = (network.L + 2 * network.o) * (TOGETHER_RANKS.bit_length() - 1)
    return min(TOGETHER_LOOP_MAX, round(PERIODS * ms * 1e6 / once_ns) + 1)


def sizes(operation: str, settings: Settings) -> list[int]:
    """Processes in virtual node mode: two a node, 512 to 16 384 nodes."""
    last = 1 << min(settings.largest, 15)
    if operation == "alltoall":
        return [16, 64] if settings.quick else [64, ALLTOALL_MAX]
    return [n for n in ([64, 256] if settings.quick else [1024, 4096, 16384, 32768]) if n <= last] or [last]


def fig6(settings: Settings) -> Outcome:
    runs: dict[Key, Run] = {}
    for operation in OPERATIONS:
        for us in DETOURS_US:
            for ms in INTERVALS_MS:
                noise = Disturbance("physical", ms * 1e6, us * 1e3)
                for ranks in sizes(operation, settings):
                    runs[operation, False, ms, us, ranks] = run_of(operation, ranks, noise)
            noise = Disturbance("physical", 1e6, us * 1e3, coscheduled=True)
            runs[operation, True, 1, us, TOGETHER_RANKS] = run_of(
                operation, TOGETHER_RANKS, noise, loop_together(operation, 1)
            )
    found = simulate_all(settings, runs)

    def slow(operation: str, together: bool, ms: int, us: int, ranks: int) -> float:
        return float(np.mean(found[operation, together, ms, us, ranks].slowdowns()))

    def most(operation: str, together: bool) -> float:
        return max(
            float(np.mean(value.slowdowns()))
            for key, value in found.items()
            if key[:2] == (operation, together)
        )

    last = {operation: sizes(operation, settings)[-1] for operation in OPERATIONS}
    ours = "physical"
    barrier: Latencies = found["barrier", False, 1, 200, last["barrier"]]
    rare: Latencies = found["barrier", False, 100, 200, last["barrier"]]

    def each(value: Latencies) -> float:
        """What a detour of 200 us adds to one barrier, in detours."""
        return (float(np.mean(value.ns)) - value.quiet_ns) / LOOP / 2e5

    full = not settings.quick and settings.largest >= 15
    rows = [
        Row(
            "barrier, unsynchronized: largest mean slowdown",
            268.0 if full else None,
            {ours: most("barrier", False)},
        ),
        Row("barrier, 200 us each 1 ms: increase / detour", 2.0, {ours: each(barrier)}),
        Row("barrier, 200 us each 100 ms: increase / detour", 1.0, {ours: each(rare)}),
        Row("barrier, synchronized: largest mean slowdown", 1.26, {ours: most("barrier", True)}),
        Row(
            "allreduce, unsynchronized: largest mean slowdown",
            18.0 if full else None,
            {ours: most("allreduce", False)},
        ),
        Row("allreduce, synchronized: largest mean slowdown", "slight", {ours: most("allreduce", True)}),
        Row(
            f"allreduce, 16 us each 1 ms, {ranks_text(last['allreduce'])} processes",
            "hardly",
            {ours: slow("allreduce", False, 1, 16, last["allreduce"])},
        ),
        Row(
            f"allreduce, 200 us each 1 ms, {ranks_text(sizes('allreduce', settings)[0])} processes",
            None,
            {ours: slow("allreduce", False, 1, 200, sizes("allreduce", settings)[0])},
        ),
        Row(
            f"alltoall, 200 us each 1 ms, {last['alltoall']} processes (1024)",
            2.73 if full else None,
            {ours: slow("alltoall", False, 1, 200, last["alltoall"])},
        ),
        Row(
            f"alltoall, the same synchronized, {TOGETHER_RANKS} processes",
            "little difference",
            {ours: slow("alltoall", True, 1, 200, TOGETHER_RANKS)},
        ),
    ]
    panels = [
        CurvePanel(
            f"{operation}, unsynchronized",
            {
                f"{us} µs each {ms} ms": [
                    (n, slow(operation, False, ms, us, n)) for n in sizes(operation, settings)
                ]
                for us in (50, 200)
                for ms in INTERVALS_MS
            },
        )
        for operation in OPERATIONS
    ]
    title = "Collective operations under injected noise [Beckman06 Fig. 6]"
    notes = (
        f"Means of loops of {LOOP}; synchronized: {TOGETHER_RANKS} processes through {PERIODS} periods of "
        "the noise, as all ranks then are alike.",
        "allreduce and alltoall: messages with BlueGene/P CNL's parameters [Hoefler10 Table III]; BG/L was "
        "faster. barrier: stands for a network of its own.",
        "alltoall: one step of all messages, at most 256 processes; the published values are 2.73 at 1024 "
        "and 1.34 at 32 768.",
    )
    return Outcome(
        title,
        rows,
        notes,
        lambda path, width: curve_picture(
            panels, path, x="processes", y="mean slowdown", log_y=True, title=title, width=width
        ),
    )


#: [Beckman06 Table 4]: noise ratio in %, longest, mean and median in us.
TABLE4 = {
    "bgl-cn": (0.000029, 1.8, 1.8, 1.8),
    "bgl-ion": (0.02, 5.9, 2.0, 1.9),
    "jazz": (0.12, 109.7, 6.2, 8.5),
    "laptop": (1.02, 180.0, 9.5, 7.0),
    "xt3": (0.002, 9.5, 2.1, 1.2),
}
TABLE4_WORDS = ("noise ratio, %", "longest, us", "mean, us", "median, us")


def table4(settings: Settings) -> Outcome:
    made = {
        machine.key: generate(machine, settings.seed, 5_000 if settings.quick else 100_000)
        for machine in BECKMAN
    }
    settings.store.progress.total += len(made)
    rows = []
    for machine in BECKMAN:
        trace = made[machine.key].trace
        values = (
            100 * statistics.noise_ratio(trace),
            float(trace.duration_ns.max()) / 1e3,
            float(trace.duration_ns.mean()) / 1e3,
            float(np.median(trace.duration_ns)) / 1e3,
        )
        for word, published, ours in zip(TABLE4_WORDS, TABLE4[machine.key], values, strict=True):
            rows.append(Row(f"{machine.name}: {word}", published, {"synthetic": ours}))
        settings.store.progress.step(machine.name, False)
    shown = [
        System(machine.key, machine.name, cut(made[machine.key].trace))
        for machine in BECKMAN
        if machine.key != "bgl-cn"
    ]
    notes = (
        "The traces are made from the paper's description (lab/reproduce/traces.py). The noise ratio is set; "
        "that the other figures come out right is what is tried.",
        "Where the text gives the detours' make-up (both BG/L), nothing else was used; for the others "
        "lengths were chosen to fit.",
    )
    return Outcome(
        "Noise of five platforms, synthetic traces [Beckman06 Table 4]",
        rows,
        notes,
        lambda path, width: series_picture(
            shown, path, title="Synthetic traces after [Beckman06 Table 4], the first 10 s", width=width
        ),
    )


def cut(trace, span_ns: float = 1e10):  # type: ignore[no-untyped-def]
    """The beginning of a trace."""
    keep = trace.start_ns + trace.duration_ns <= span_ns
    return replace(
        trace,
        start_ns=trace.start_ns[keep],
        duration_ns=trace.duration_ns[keep],
        span_ns=min(span_ns, trace.span_ns),
    )


EXPERIMENTS = (
    Experiment(
        "beckman-fig6", "Beckman06 §4, Fig. 6", "barrier, allreduce and alltoall under injected noise", fig6
    ),
    Experiment("beckman-table4", "Beckman06 Table 4", "synthetic traces of five platforms", table4),
)
