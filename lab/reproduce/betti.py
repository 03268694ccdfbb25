# SPDX-License-Identifier: BSD-2-Clause
"""[Betti09]: FTQ on a node with its timer interrupt, and without it while there is nothing to do (NETTICK,
Fig. 3); and FTQ with a daemon that wakes up, under schedulers that let it disturb FTQ or not (Fig. 4),
measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lab.formats import ftq
from lab.pictures.curves import CurvePanel, curve_picture
from lab.pictures.ftq import Panel, ftq_picture
from lab.reproduce.measured import Measurement, measure_all
from lab.reproduce.outcome import Experiment, Outcome, Row, Settings
from lab.reproduce.traces import MS, Machine, Source, generate

#: Operations of FTQ: 31 300 in an undisturbed quantum [Betti09 §VI-A]. The quantum is 1 ms, because then the
#: published losses have the usual lengths of interrupts.
OPERATIONS = 31_300
QUANTUM_NS = 1 * MS
OPERATION_NS = QUANTUM_NS / OPERATIONS

TICK = Source(1 * MS, 20 * OPERATION_NS, 50 * OPERATION_NS, phase=0.5)
NETWORK = (
    Source(50 * MS, 630 * OPERATION_NS, 670 * OPERATION_NS, random=True),
    Source(1000 * MS, 6500 * OPERATION_NS, 6700 * OPERATION_NS, random=True),
)
STANDARD = Machine(
    "betti",
    "Standard Linux",
    None,
    (TICK, *NETWORK),
    "losses of 20-50 operations (timer), 650 and more than 6500 (network tasklets), of 31 300 in a quantum",
    "quanta of 1 ms, a tick of 1000 Hz, tasklets 20 times and once a second",
)
NETTICK = replace(STANDARD, name="NETTICK", sources=NETWORK)


def losses(machine: Machine, seed: int, quanta: int) -> np.ndarray:
    """Returns the operations that FTQ misses in each quantum; FTQ counts whole operations."""
    span_ns = quanta * QUANTUM_NS
    detours = round(span_ns * sum(1 / source.period_ns for source in machine.sources))
    trace = generate(machine, seed, max(detours, 1)).trace
    lost = np.zeros(quanta)
    starts, ends = trace.start_ns, trace.start_ns + trace.duration_ns
    for start, end in zip(starts[starts < span_ns], np.minimum(ends, span_ns)[starts < span_ns], strict=True):
        for quantum in range(int(start // QUANTUM_NS), min(int(end // QUANTUM_NS), quanta - 1) + 1):
            low, high = quantum * QUANTUM_NS, (quantum + 1) * QUANTUM_NS
            lost[quantum] += max(0.0, min(end, high) - max(start, low))
    return np.ceil(lost / OPERATION_NS)


def fig3(settings: Settings) -> Outcome:
    quanta = 3000 if settings.quick else 10_000
    settings.store.progress.total += 2
    found = {}
    for machine in (STANDARD, NETTICK):
        found[machine.name] = losses(machine, settings.seed, quanta)
        settings.store.progress.step(machine.name, False)
    rows = []
    for (words, low, high), published in zip(
        (("tick: median of losses to 100 "
          "operations", 1, 100), ("tasklet: median of 500 to "
                                  "1000", 500, 1000), ("long tasklet: median above "
                                                       "6000", 6000, OPERATIONS)), (35.0, 650.0, 6500.0)
    ):  # fmt: skip
        ours = {
            name: float(np.median(lost[(lost >= low) & (lost <= high)]))
            for name, lost in found.items()
            if ((lost >= low) & (lost <= high)).any()
        }
        rows.append(Row(words, published, ours, restates=True))
    rows.append(
        Row(
            "quanta without any loss, %",
            None,
            {name: 100 * float(np.mean(lost == 0)) for name, lost in found.items()},
        )
    )
    panels = [
        CurvePanel(
            f"{name}: {words}",
            {},
            {"": [(i + 1, float(value)) for i, value in enumerate(lost[:1000]) if value]},
        )
        for name, words, lost in (
            ("(a) standard", "tick and network", found[STANDARD.name]),
            ("(b) NETTICK", "network only", found[NETTICK.name]),
        )
    ]
    notes = (
        'The trace is synthetic; its lengths are the published ones ("is input"). The test is whether FTQ\'s '
        "losses distinguish the sources, and what remains without the tick.",
        "The paper states a quantum of about 1 us, which is too short for 31 300 operations; 1 ms is "
        "assumed. For Tacet's own FTQ use `make run`.",
    )
    title = "FTQ with and without the timer interrupt [Betti09 Fig. 3]"
    return Outcome(
        title,
        rows,
        notes,
        lambda path, width: curve_picture(
            panels,
            path,
            x="quantum",
            y="operations missing",
            log_x=False,
            log_y=True,
            title=title,
            notes=notes[1:],
            width=width,
        ),
    )


# ---- Fig. 4: with a daemon ----

#: The daemon wakes up, does nothing, and sleeps again: its cost is the scheduler's [Betti09 §VI-B].
WAKES_NS = 50_000_000
DAEMON = ("-p", f"{WAKES_NS}ns", "-w", "1ns")
#: FTQ's loss in a quantum in which the statistics daemon ran [Betti09 Fig. 4].
PUBLISHED_LOSS = 3500
#: The cases: name, system, class of FTQ, class of the daemon, the picture's key.
CASES = (
    ("Linux, both normal", "linux", "other", "other", "linux"),
    ("Linux, FTQ above", "linux", "fifo", "other", "linux-rt"),
    ("Tacet, both normal", "tacet", "other", "other", "linux-tuned"),
    ("Tacet, daemon idle", "tacet", "other", "idle", "tacet"),
)


def fig4(settings: Settings) -> Outcome:
    quanta = 500 if settings.quick else 2000
    args = ("-s", "-n", str(quanta), "-q", f"{QUANTUM_NS:.0f}ns")
    found = measure_all(
        settings,
        {
            name: Measurement(system, "ftq", args, 0, policy, DAEMON, daemon)
            for name, system, policy, daemon, _ in CASES
        },
    )
    data = {name: one.ftq() for name, one in found.items()}
    summaries = {name: ftq.summarise(one) for name, one in data.items()}
    wakes = int(quanta * QUANTUM_NS / WAKES_NS)

    def wake_loss(name: str) -> float:
        """Returns the median of the largest losses, one for each wake-up of the daemon, as a share of a
        quantum."""
        summary = summaries[name]
        return float(np.median(np.sort(summary.losses)[-wakes:])) / summary.nominal_count

    rows = [
        Row(
            "a quantum with a wake-up: operations missing, %",
            100 * PUBLISHED_LOSS / OPERATIONS,
            {name: 100 * wake_loss(name) for name in data},
        ),
        Row(
            "the same, operations",
            float(PUBLISHED_LOSS),
            {name: wake_loss(name) * summaries[name].nominal_count for name in data},
        ),
        Row(
            "quanta disturbed, %",
            None,
            {name: 100 * summary.disturbed_quanta / quanta for name, summary in summaries.items()},
        ),
        Row("largest loss, us", None, {n: s.largest_loss_ns / 1e3 for n, s in summaries.items()}),
        Row(
            "interrupts (Linux), kernel entries (Tacet) in the window",
            None,
            {name: float(one.entries()) for name, one in found.items()},
        ),
    ]  # fmt: skip
    notes = (
        f"{quanta} quanta of 1 ms, an operation is 64 instructions; the daemon wakes up every "
        f"{WAKES_NS / MS:.0f} ms and does nothing. HPCSCHED is a class above the normal one: SCHED_FIFO.",
        "1 ns is one instruction: no caches, and no message to a job manager, which the paper's daemon sent.",
    )
    title = "FTQ with a daemon that wakes up [Betti09 Fig. 4]"
    panels = [Panel(key, name, data[name], summaries[name]) for name, _, _, _, key in CASES]
    return Outcome(
        title,
        rows,
        notes,
        lambda path, width: ftq_picture(panels, path, title=title, note=notes[1], width=width),
    )


EXPERIMENTS = (
    Experiment("betti-fig3", "Betti09 §VI-A, Fig. 3", "FTQ with and without the timer interrupt", fig3),
    Experiment(
        "betti-fig4",
        "Betti09 §VI-B, Fig. 4",
        "FTQ with a daemon, two schedulers each: measured",
        fig4,
        measured=True,
    ),
)
