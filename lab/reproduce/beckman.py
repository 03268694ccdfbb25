# SPDX-License-Identifier: BSD-2-Clause
"""[Beckman06]: collective operations under injected noise, synchronized or not (§4, Fig. 6), and the noise of
five platforms (§3.3, Table 4)."""

from __future__ import annotations

import itertools

import numpy as np

from lab import statistics
from lab.pictures.curves import CurvePanel, curve_picture
from lab.pictures.detours import series_picture
from lab.pictures.style import Style, System
from lab.reproduce.outcome import Experiment, Outcome, Row, Settings, ranks_text
from lab.reproduce.simulator import NETWORKS, Disturbance, Key, Latencies, Network, Run, simulate_all
from lab.reproduce.traces import BECKMAN, generate

DETOURS_US = (16, 50, 100, 200)
INTERVALS_MS = (1, 10, 100)
#: The barrier of BG/L has a network of its own, the global interrupt: a step of 0.4 us to raise the signal,
#: 0.8 us on the wire, and a step of 0.4 us to leave; 1.6 us for any number of processes.
BARRIER = Network("barrier", 800, 400, 0, 0)
ALLREDUCE = NETWORKS["cnl"]
#: In an alltoall all processes send to all: the square of the processes in messages, of 56 bytes each in
#: memory, which all wait at their receivers until these have sent theirs. The paper's smallest size has a
#: million messages. The largest size here, simulated only under the strongest noise, has 17 million (0.94 GB,
#: some seconds); the paper's largest would have a thousand million (60 GB).
ALLTOALL_MIN, ALLTOALL_MAX = 1024, 4096
STRONGEST_US, STRONGEST_MS = 200, 1
OPERATIONS = ("barrier", "allreduce", "alltoall")


#: The paper times loops. Many ranks at random places of the noise show its mean at once; synchronized ranks
#: must pass through whole periods of it. A barrier is simulated once, at many places: in a loop without a
#: pause the delay of one step's slowest rank overlaps with the next operation's.
LOOP = 10
PERIODS = {1: 3, 10: 3, 100: 1}  # by the interval, ms
#: The lengths of detours that are drawn.
DRAWN_US = (50, 200)


def run_of(operation: str, ranks: int, noise: Disturbance, loop: int = LOOP) -> Run:
    if operation == "alltoall":
        return Run("alltoall", ranks, ALLREDUCE, noise, 8)
    if operation == "barrier":
        return Run("global-interrupt", ranks, BARRIER, noise, 8, iterations=loop if noise.coscheduled else 1)
    return Run("dissemination", ranks, ALLREDUCE, noise, 8, iterations=loop)


def loop_together(operation: str, ranks: int, ms: int) -> int:
    """Returns how often an operation is repeated to pass through the periods of synchronized noise."""
    network, steps = (BARRIER, 1) if operation == "barrier" else (ALLREDUCE, (ranks - 1).bit_length())
    return round(PERIODS[ms] * ms * 1e6 / ((network.L + 2 * network.o) * steps)) + 1


def sizes(operation: str, settings: Settings) -> list[int]:
    """Returns the numbers of processes in virtual node mode: two per node, 512 to 16 384 nodes."""
    last = 1 << min(settings.largest, 15)
    if operation == "alltoall":
        return [16, 64] if settings.quick else [64, 256, ALLTOALL_MIN]
    if operation == "barrier" and not settings.quick:
        return [n for n in (64, 256, 1024, 4096, 16384, 32768) if n <= last] or [last]
    return [n for n in ([64, 256] if settings.quick else [1024, 4096, 16384, 32768]) if n <= last] or [last]


def fig6(settings: Settings) -> Outcome:
    runs: dict[Key, Run] = {}
    for operation in OPERATIONS:
        for us in DETOURS_US:
            for ms in INTERVALS_MS:
                noise = Disturbance("physical", ms * 1e6, us * 1e3)
                for ranks in sizes(operation, settings):
                    runs[operation, False, ms, us, ranks] = run_of(operation, ranks, noise)
        for us, ms, ranks in itertools.product(DRAWN_US, INTERVALS_MS, sizes(operation, settings)):
            noise = Disturbance("physical", ms * 1e6, us * 1e3, coscheduled=True)
            loop = loop_together(operation, ranks, ms)
            runs[operation, True, ms, us, ranks] = run_of(operation, ranks, noise, loop)
    alltoall_sizes = sizes("alltoall", settings) + [ALLTOALL_MAX] * (not settings.quick)
    strongest = Disturbance("physical", STRONGEST_MS * 1e6, STRONGEST_US * 1e3)
    for ranks in alltoall_sizes:
        key = ("alltoall", False, STRONGEST_MS, STRONGEST_US, ranks)
        runs[key] = run_of("alltoall", ranks, strongest)
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

    def each(value: Latencies) -> float:
        """Returns what a detour of 200 us adds to one barrier, in detours."""
        return (float(np.mean(value.ns)) - value.quiet_ns) / 2e5

    full = not settings.quick and settings.largest >= 15
    rows = [
        Row(
            "barrier, unsynchronized: largest mean slowdown",
            268.0 if full else None,
            {ours: most("barrier", False)},
        ),
        Row("barrier, 200 us each 1 ms: increase / detour", 2.0, {ours: each(barrier)}),
        *(
            Row(
                f"barrier, 200 us each 100 ms, {ranks_text(ranks)} processes: increase / detour",
                "phase transition" if ranks < last["barrier"] else "1, later 2",
                {ours: each(found["barrier", False, 100, 200, ranks])},
            )
            for ranks in sizes("barrier", settings)
        ),
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
        *(
            Row(
                f"alltoall, 200 us each 1 ms, {ranks_text(ranks)} processes",
                2.73 if ranks == ALLTOALL_MIN else None,
                {ours: slow("alltoall", False, STRONGEST_MS, STRONGEST_US, ranks)},
            )
            for ranks in alltoall_sizes
        ),
        Row(
            f"alltoall, the same synchronized, {ranks_text(last['alltoall'])} processes",
            "little difference",
            {ours: slow("alltoall", True, 1, 200, last["alltoall"])},
        ),
    ]
    panels = [
        CurvePanel(
            f"{operation}, {'synchronized' if together else 'unsynchronized'}",
            {
                f"{us} µs each {ms} ms": [
                    (n, slow(operation, together, ms, us, n)) for n in sizes(operation, settings)
                ]
                for us in DRAWN_US
                for ms in INTERVALS_MS
            },
        )
        for operation in OPERATIONS
        for together in (True, False)
    ]
    # The colour shows the detour's length, dashes and marker its interval.
    looks = {
        f"{us} µs each {ms} ms": Style(colour, line, marker, "")
        for us, colour in zip(DRAWN_US, ("#5f9e8f", "#14375e"), strict=True)
        for ms, line, marker in zip(INTERVALS_MS, ("-", (0, (6, 2)), (0, (1.5, 1.5))), "os^", strict=True)
    }
    title = "Collective operations under injected noise [Beckman06 Fig. 6]"
    notes = (
        f"Means: unsynchronized of loops of {LOOP}, for the barrier of single operations; synchronized of "
        "loops through whole periods of the noise.",
        "allreduce and alltoall: messages with BlueGene/P CNL's parameters [Hoefler10 Table III]; BG/L was "
        "faster. barrier: the pattern global-interrupt, two steps of 0.4 us and a wire of 0.8 us.",
        f"alltoall: one step of all messages, at most {ranks_text(ALLTOALL_MAX)} processes; the published "
        "values are 2.73 at 1,024 and 1.34 at 32,768.",
    )
    return Outcome(
        title,
        rows,
        notes,
        lambda path, width: curve_picture(
            panels,
            path,
            x="processes",
            y="mean slowdown",
            log_y=True,
            columns=2,
            title=title,
            width=width,
            looks=looks,
            notes=notes[:1],
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
#: The part of each trace that is drawn over time, ns.
SHOWN_NS = 1e10
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
            # The share and the longest are input; for BG/L's compute node the text gives all values.
            is_input = word in TABLE4_WORDS[:2] or machine.key == "bgl-cn"
            rows.append(Row(f"{machine.name}: {word}", published, {"synthetic": ours}, restates=is_input))
        settings.store.progress.step(machine.name, False)
    shown = [
        System(machine.key, machine.name, made[machine.key].trace)
        for machine in BECKMAN
        if machine.key != "bgl-cn"
    ]
    notes = (
        'The traces are made from the paper\'s description (lab/reproduce/traces.py). "is input": set '
        "from the published value, so agreement means nothing.",
        "If the text gives the detours' composition (both BG/L), nothing else was used. For the others "
        "lengths were chosen to fit: agreement only says that such a composition exists.",
    )
    title = "Noise of five platforms, synthetic traces [Beckman06 Table 4]"
    return Outcome(
        title,
        rows,
        notes,
        lambda path, width: series_picture(shown, path, title=title, width=width, shown_ns=SHOWN_NS),
    )


EXPERIMENTS = (
    Experiment(
        "beckman-fig6", "Beckman06 §4, Fig. 6", "barrier, allreduce and alltoall under injected noise", fig6
    ),
    Experiment("beckman-table4", "Beckman06 Table 4, Fig. 3-5", "synthetic traces of five platforms", table4),
)
