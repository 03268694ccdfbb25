# SPDX-License-Identifier: BSD-2-Clause
"""[Betti09]: FTQ under a timer interrupt, and under heartbeats instead (NETTICK, Fig. 3); and FTQ with a
daemon that wakes up, under schedulers that let it disturb FTQ or not (Fig. 4). All is measured."""

from __future__ import annotations

import numpy as np

from lab.formats import ftq
from lab.pictures.ftq import Panel, ftq_picture
from lab.reproduce.beats import measure_beats
from lab.reproduce.measured import TICK_HZ, Measurement, measure_all
from lab.reproduce.outcome import Experiment, Outcome, Row, Settings
from lab.reproduce.traces import MS

#: Operations of FTQ in an undisturbed quantum [Betti09 §VI-A]. Our quantum is 1 ms: the paper's "around one
#: microsecond" is too short for them.
OPERATIONS = 31_300
QUANTUM_NS = 1 * MS
#: The paper's timer interrupt, operations: the middle of "20-50".
PUBLISHED_TICK = 35
#: Beats a second [Betti09 §VI-C].
RATES_HZ = (100, 50, 10)
#: Linux with its tick.
LINUX = f"Linux, {TICK_HZ} Hz"
ONE_INSTRUCTION = "1 ns is one instruction, an operation is 64; no caches."


def ftq_args(quanta: int) -> tuple[str, ...]:
    return ("-s", "-n", str(quanta), "-q", f"{QUANTUM_NS:.0f}ns")


def fig3(settings: Settings) -> Outcome:
    quanta = 300 if settings.quick else 1000
    settings.store.progress.total += len(RATES_HZ)
    linux = measure_all(settings, {LINUX: Measurement("linux", "ftq", ftq_args(quanta))})[LINUX]
    data, entries = {LINUX: linux.ftq()}, {LINUX: linux.entries()}
    for rate in RATES_HZ:
        found = measure_beats(settings, rate, quanta)
        data[f"Tacet, {rate} Hz"], entries[f"Tacet, {rate} Hz"] = found.data, found.entries
    summaries = {name: ftq.summarise(one) for name, one in data.items()}
    seconds = quanta * QUANTUM_NS / 1e9

    def lost(name: str) -> float:
        """Returns the median loss of a disturbed quantum, as a share of a quantum."""
        summary = summaries[name]
        disturbed = summary.losses[summary.losses >= summary.disturbed_from]
        return float(np.median(disturbed)) / summary.nominal_count if len(disturbed) else 0.0

    rows = [
        Row(
            "a quantum with a tick or beat: operations missing, %",
            100 * PUBLISHED_TICK / OPERATIONS,
            {name: 100 * lost(name) for name in data},
        ),
        Row("the same, of 31,300", float(PUBLISHED_TICK), {name: OPERATIONS * lost(name) for name in data}),
        Row("ticks or beats a second", None, {name: count / seconds for name, count in entries.items()}),
        Row(
            "quanta disturbed, %",
            None,
            {name: 100 * summary.disturbed_quanta / quanta for name, summary in summaries.items()},
        ),
        Row("noise, %", None, {name: 100 * summary.noise_ratio for name, summary in summaries.items()}),
        Row("largest loss, us", None, {n: s.largest_loss_ns / 1e3 for n, s in summaries.items()}),
    ]
    notes = (
        f"{quanta:,} quanta of 1 ms. Linux: its tick. Tacet: the conductor's heartbeats (NETTICK), one "
        "card, in lockstep. " + ONE_INSTRUCTION,
        "No traffic here: the paper's losses of 650 and of more than 6,500 operations came from its network, "
        "in both of its panels.",
    )
    title = "FTQ under a tick and under heartbeats [Betti09 Fig. 3]"
    panels = [Panel(name.split(",")[0].lower(), name, one, summaries[name]) for name, one in data.items()]
    return Outcome(
        title,
        rows,
        notes,
        lambda path, width: ftq_picture(panels, path, title=title, note="\n".join(notes), width=width),
    )


# ---- Fig. 4: with a daemon ----

#: The daemon wakes up, does nothing, and sleeps again: its cost is the scheduler's [Betti09 §VI-B].
WAKES_NS = 50_000_000
DAEMON = ("-p", f"{WAKES_NS}ns", "-w", "1ns")
#: FTQ's loss in a quantum in which the statistics daemon ran [Betti09 Fig. 4].
PUBLISHED_LOSS = 3500
#: The cases: name, system, class of FTQ, class of the daemon.
CASES = (
    ("Linux, both normal", "linux", "other", "other"),
    ("Linux, FTQ above", "linux", "fifo", "other"),
    ("Tacet, both normal", "tacet", "other", "other"),
    ("Tacet, daemon idle", "tacet", "other", "idle"),
)


def fig4(settings: Settings) -> Outcome:
    quanta = 500 if settings.quick else 2000
    args = ftq_args(quanta)
    found = measure_all(
        settings,
        {
            name: Measurement(system, "ftq", args, 0, policy, DAEMON, daemon)
            for name, system, policy, daemon in CASES
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
        f"{quanta:,} quanta of 1 ms. The daemon wakes up every {WAKES_NS / MS:.0f} ms and does nothing. "
        "HPCSCHED is a class above the normal one: SCHED_FIFO.",
        ONE_INSTRUCTION + " The daemon sends no message, as the paper's did to a job manager.",
    )
    title = "FTQ with a daemon that wakes up [Betti09 Fig. 4]"
    panels = [Panel(system, name, data[name], summaries[name]) for name, system, _, _ in CASES]
    return Outcome(
        title,
        rows,
        notes,
        lambda path, width: ftq_picture(panels, path, title=title, note=notes[1], width=width),
    )


EXPERIMENTS = (
    Experiment(
        "betti-fig3",
        "Betti09 §VI-A, Fig. 3",
        "FTQ under a tick, and under heartbeats: measured",
        fig3,
        measured=True,
    ),
    Experiment(
        "betti-fig4",
        "Betti09 §VI-B, Fig. 4",
        "FTQ with a daemon, two schedulers each: measured",
        fig4,
        measured=True,
    ),
)
