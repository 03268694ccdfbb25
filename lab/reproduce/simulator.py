# SPDX-License-Identifier: BSD-2-Clause
"""Simulations for the experiments: networks, noise, and runs whose results are stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.common.simulator import sim, sim_version
from lab.reproduce.outcome import Settings
from lab.reproduce.store import Maker, Store

#: Identifies a run: its case, with the number of ranks at the end.
Key = tuple[object, ...]

#: LogGOPS parameter S [Hoefler10 §IV].
EAGER_LIMIT = 65 * 1024
#: Approximate messages of one call of the simulator: some seconds, so an interruption loses at most that.
CALL_MESSAGES = 100_000_000


@dataclass(frozen=True)
class Network:
    """LogGOPS parameters in ns and ns per byte [Hoefler10 Table III]."""

    name: str
    L: float
    o: float
    g: float
    G: float

    def words(self) -> list[object]:
        return [
            "-L",
            number(self.L),
            "-o",
            number(self.o),
            "-g",
            number(self.g),
            "-G",
            number(self.G, 6),
            "-S",
            EAGER_LIMIT,
        ]

    def faster(self, factor: float) -> Network:
        """Returns a network that is faster by this factor, with the same host overhead [Hoefler10 §IV-B5]."""
        return Network(
            f"{self.name}, network {factor:g}x", self.L / factor, self.o, self.g / factor, self.G / factor
        )


def number(value: float, digits: int = 3) -> str:
    return f"{value:.{digits}f}"


NETWORKS = {
    "chic": Network("CHiC", 5330, 770, 1560, 1.25),
    "altix": Network("Altix", 1640, 990, 900, 1.23),
    "cnl": Network("CNL", 4770, 2870, 2040, 2.67),
    "zeptoos": Network("ZeptoOS", 8670, 3420, 2810, 2.69),
    "xt4": Network("XT-4", 9900, 1750, 3400, 0.58),
}


@dataclass(frozen=True)
class Disturbance:
    """Noise: a detour of `duration_ns` every `period_ns`, or a trace's file; and the rule by which detours
    count."""

    rule: str = "physical"
    period_ns: float = 0
    duration_ns: float = 0
    trace: Path | None = None
    coscheduled: bool = False

    def words(self) -> list[object]:
        words: list[object] = ["--noise-rule", self.rule]
        if self.trace:
            words += ["--noise", self.trace]
        elif self.duration_ns:
            words += ["--noise-period", number(self.period_ns), "--noise-duration", number(self.duration_ns)]
        return words + ["--coscheduled"] * self.coscheduled

    def depends(self) -> dict[str, Any]:
        kept: dict[str, Any] = {
            "rule": self.rule,
            "period": self.period_ns,
            "duration": self.duration_ns,
            "coscheduled": self.coscheduled,
        }
        if self.trace:
            kept["trace"] = hashlib.sha256(self.trace.read_bytes()).hexdigest()
        return kept


@dataclass(frozen=True)
class Run:
    """Simulations of one pattern for one number of ranks."""

    pattern: str
    ranks: int
    network: Network
    noise: Disturbance
    bytes: int = 1
    more: tuple[object, ...] = ()
    iterations: int = 1

    def words(self) -> list[object]:
        return [
            "pattern",
            self.pattern,
            "-n",
            self.ranks,
            "-b",
            self.bytes,
            *self.network.words(),
            *self.noise.words(),
            "-i",
            self.iterations,
            *self.more,
        ]

    @property
    def messages(self) -> int:
        """The cost of a simulation, in messages of dissemination: other patterns need the general engine,
        rendezvous one thread, and a global interrupt no messages."""
        steps = max(self.ranks - 1, 1).bit_length()
        each = {"alltoall": 2 * self.ranks, "bcast": 8, "reduce": 8, "global-interrupt": 1}.get(
            self.pattern, steps
        )
        return max(1, self.ranks * each * self.iterations * (16 if self.bytes > EAGER_LIMIT else 1))

    @property
    def samples(self) -> int:
        """The number of places of the noise that a simulation shows: one for each iteration of a loop; ten
        for an alltoall, whose messages last through many detours."""
        return 10 if self.pattern == "alltoall" else self.iterations


@dataclass(frozen=True)
class Latencies:
    """The latency of each simulation, and the latency without noise, ns."""

    quiet_ns: float
    ns: list[float]

    def slowdowns(self) -> list[float]:
        return [latency / self.quiet_ns for latency in self.ns]


def calls(run: Run, simulations: int) -> list[tuple[int, int]]:
    """Returns (first seed, number) of each call of the simulator."""
    most = max(1, min(simulations, CALL_MESSAGES // run.messages))
    return [(first + 1, min(most, simulations - first)) for first in range(0, simulations, most)]


def latencies(store: Store, name: str, run: Run, simulations: int, threads: int = 0) -> Latencies:
    """Simulates, with one point of the store per call. The same seeds give the same latencies however they
    are divided into calls."""
    found: list[float] = []
    quiet = 0.0
    depends = {
        "pattern": run.pattern,
        "ranks": run.ranks,
        "bytes": run.bytes,
        "more": [str(w) for w in run.more],
        "iterations": run.iterations,
        "network": [run.network.L, run.network.o, run.network.g, run.network.G],
        "noise": run.noise.depends(),
    }

    def compute(seed: int, count: int) -> dict[str, Any]:
        words = [
            *run.words(),
            "--seed",
            seed,
            "-r",
            count,
            "--json",
            "-",
            *(["-j", threads] if threads else []),
        ]
        answer = json.loads(sim(words))
        latencies_ns = answer.get("simulations_max_ns", [answer["max_ns"]])
        return {"quiet_ns": answer.get("quiet_max_ns", answer["max_ns"]), "ns": latencies_ns}

    for seed, count in calls(run, simulations):
        value = store.point(
            f"{name}, {run.ranks} ranks",
            {**depends, "seed": seed, "count": count},
            lambda seed=seed, count=count: compute(seed, count),
            Maker(sim_version(), seed),
        )
        quiet = value["quiet_ns"]
        found += value["ns"]
    return Latencies(quiet, found)


def simulate_all(settings: Settings, runs: Mapping[Key, Run]) -> dict[Key, Latencies]:
    """Simulates all runs, each as often as the settings say. The progress counts all calls from the
    beginning."""
    repeats = {key: settings.repeat(run.messages, run.samples) for key, run in runs.items()}
    settings.store.progress.total += sum(len(calls(run, repeats[key])) for key, run in runs.items())
    return {
        key: latencies(settings.store, " ".join(map(str, key)), run, repeats[key], settings.threads)
        for key, run in runs.items()
    }
