# SPDX-License-Identifier: BSD-2-Clause
"""[Tsafrir05]: tests the law of noise on simulated jobs (§2, Fig. 2), and the effect of a tick on phases of
several grains (§3, Fig. 5)."""

from __future__ import annotations

import math

import numpy as np

from lab import statistics
from lab.pictures.curves import CurvePanel, curve_picture
from lab.pictures.style import power_text
from lab.pictures.survival import SurvivalCurves, survival_picture
from lab.reproduce.outcome import RULES, Experiment, Outcome, Row, Settings, by_rule, ranks_text
from lab.reproduce.simulator import Disturbance, Key, Network, Run, latencies
from lab.reproduce.traces import TSAFRIR, generate

#: A phase of 1 ms and a barrier that costs almost nothing, so that only the phases' noise counts.
GRAIN_NS = 1e6
BARRIER = Network("ideal", 1, 1, 0, 0)
DETOUR_NS = 0.5e6
#: p per node and phase, with the numbers of nodes for which it is tested.
TRIED = {1e-2: (1, 4, 10, 30, 100, 300, 1000), 1e-3: (10, 100, 300, 1000, 4096), 1e-5: (1000, 4096)}
QUICK = {1e-2: (1, 10, 100)}
RANKS_MAX = 8_000_000  # sum over all simulations of a point
SIMULATIONS_MIN, SIMULATIONS_MAX = 2000, 20_000
QUICK_SIMULATIONS = 200


def phase(nodes: int, p: float, rule: str) -> Run:
    """Returns one phase and a barrier. Detours come every GRAIN/p, so one begins in the phase with
    probability p."""
    noise = Disturbance(rule, GRAIN_NS / p, DETOUR_NS)
    return Run("dissemination", nodes, BARRIER, noise, 1, ("--compute", GRAIN_NS))


def simulations(nodes: int, settings: Settings) -> int:
    """Returns the number of phases of a point; rare delays need many."""
    if settings.simulations or settings.quick:
        return settings.simulations or QUICK_SIMULATIONS
    return min(SIMULATIONS_MAX, max(SIMULATIONS_MIN, RANKS_MAX // nodes))


def fig2(settings: Settings) -> Outcome:
    tried = QUICK if settings.quick else TRIED
    runs = {(p, rule, n): phase(n, p, rule) for p, sizes in tried.items() for n in sizes for rule in RULES}
    settings.store.progress.total += len(runs)
    delayed: dict[Key, float] = {}
    slow: dict[Key, float] = {}
    for key, run in runs.items():
        found = latencies(
            settings.store,
            f"p {key[0]:g}, {key[1]} rule",
            run,
            simulations(run.ranks, settings),
            settings.threads,
        )
        delayed[key] = float(np.mean(np.array(found.ns) > found.quiet_ns + 1))
        slow[key] = float(np.mean(found.slowdowns()))
    phases = " to ".join(
        f"{count:,}" for count in sorted({simulations(n, settings) for n in (1, max(TRIED[1e-5]))})
    )
    rows = []
    for p, sizes in tried.items():
        for n in sizes:
            law = float(statistics.delayed_probability(p, n))
            rows.append(
                Row(
                    f"p = {p:g}, {ranks_text(n)} nodes: d_p(n), simulated",
                    law,
                    by_rule({rule: delayed[p, rule, n] for rule in RULES}),
                )
            )
    for n, published in ((10, 1.05), (100, 1.32)):
        rows.append(
            Row(
                f"slowdown, p = 0.01, 0.5 ms of 1 ms, {n} nodes",
                published,
                by_rule({rule: slow[1e-2, rule, n] for rule in RULES}),
            )
        )
    linear = (
        statistics.delayed_probability_linear(1e-4, 1000) / statistics.delayed_probability(1e-4, 1000) - 1
    )
    rows.append(Row("linear law at p = 1/(10 n): too high by, at most", 0.05, {"formula": float(linear)}))
    nodes = np.logspace(0, 5, 101)
    names = {p: f"p = {power_text(round(math.log10(p)))}" for p in tried}
    panel = CurvePanel(
        "d_p(n): formula (lines), simulated jobs (marks)",
        {
            name: [(float(n), float(statistics.delayed_probability(p, n))) for n in nodes]
            for p, name in names.items()
        },
        {name: [(n, delayed[p, "paper2010", n]) for n in tried[p]] for p, name in names.items()},
    )
    notes = (
        f"{phases} phases per point. A detour counts if it begins in the phase (paper2010), as in the law; "
        "under the other rules a detour in progress counts, too.",
    )
    title = "The law of noise [Tsafrir05 Fig. 2]"
    return Outcome(
        title,
        rows,
        notes,
        lambda path, width: curve_picture(
            [panel],
            path,
            x="nodes",
            y="probability that a phase is delayed",
            title=title,
            notes=notes,
            width=width,
        ),
    )


#: [Tsafrir05 Fig. 5].
GRAINS_NS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)


def fig5(settings: Settings) -> Outcome:
    made = generate(TSAFRIR, settings.seed, 10_000 if settings.quick else 1_000_000)
    settings.store.progress.total += len(GRAINS_NS)
    delays = {}
    for grain in GRAINS_NS:
        delays[grain] = statistics.delays_of_trace(made.trace, grain)
        settings.store.progress.step(f"grain of {grain} ns", False)
    exact = "trace"
    mean = {grain: float((d.delay_ns * d.share).sum()) / grain for grain, d in delays.items()}
    one = delays[1_000_000]
    rows = [
        Row(
            "direct overhead of ticks and network, %",
            0.83,
            {exact: 100 * statistics.noise_ratio(made.trace)},
            restates=True,
        ),
        Row("1 us: p of a delay of the whole grain", 1e-3, {exact: statistics.p(delays[1000], 1.0)}),
        Row(
            "1 ms: share of phases that meet exactly one tick",
            "most",
            {
                exact: float(
                    one.share[(one.delay_ns > 1) & (one.delay_ns < 1.5 * one.delay_ns.max() / 2)].sum()
                )
            },
        ),
        Row("1 ms: average overhead against the shortest, %", 39.0, {exact: 100 * mean[1_000_000]}),
        *(
            Row(
                f"p of a delay of more than 1 %, grain {grain // 1000} us",
                None,
                {exact: statistics.p(d, 0.01)},
            )
            for grain, d in delays.items()
        ),
    ]
    notes = (
        "Made from published counts and cycles (Table 3): the time of the interrupts themselves. The "
        "measured 39 % come from cache misses after them, which a trace of",
        "detours does not hold: the paper shows it by switching the caches off, this experiment by the "
        "difference.",
    )
    curves = [SurvivalCurves(TSAFRIR.key, TSAFRIR.name, delays)]
    title = "Phases of a grain under a 1000 Hz tick [Tsafrir05 Fig. 5]"
    return Outcome(
        title,
        rows,
        notes,
        lambda path, width: survival_picture(
            curves, path, title=title, notes=("Direct costs only [Tsafrir05 Table 3].",), width=width
        ),
    )


EXPERIMENTS = (
    Experiment("tsafrir-fig2", "Tsafrir05 §2, Fig. 2", "the law of noise, on simulated jobs", fig2),
    Experiment("tsafrir-fig5", "Tsafrir05 §3, Fig. 5", "phases of 1 us to 100 ms under a 1000 Hz tick", fig5),
)
