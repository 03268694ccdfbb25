# SPDX-License-Identifier: BSD-2-Clause
"""Synthetic traces of the papers' machines, whose measured traces are not public.

A machine's noise is a few sources, each with a rate and a distribution of lengths. `published` has what the
paper states, `assumed` what was chosen here. The same seed makes the same trace. All lengths are scaled by
one factor, so that the share of time is exactly the published one; `scale` shows the factor, which is close
to 1 if the sources were chosen well.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lab.common.files import written_whole
from lab.formats.trace import Trace, noise_write

#: Number of detours in a trace [Hoefler10 §II-A].
DETOURS = 100_000
GENERATOR = 1  # increased with every change that makes different traces


@dataclass(frozen=True)
class Source:
    """Detours of one origin.

    They come `period_ns` apart, exactly, or as a Poisson process if `random`; lengths are distributed evenly
    from `shortest_ns` to `longest_ns`.
    """

    period_ns: float
    shortest_ns: float
    longest_ns: float
    random: bool = False
    phase: float = 0.0  # for a regular source: when the first detour comes, in periods

    def starts(self, span_ns: float, random: np.random.Generator) -> np.ndarray:
        if not self.random:
            return (np.arange(int(span_ns / self.period_ns)) + self.phase) * self.period_ns
        count = random.poisson(span_ns / self.period_ns)
        return np.sort(random.uniform(0, span_ns, count))


@dataclass(frozen=True)
class Machine:
    """A machine of a paper: its key, name, share of time taken by noise (None: as the sources make it), its
    sources, and what is published and assumed about them."""

    key: str
    name: str
    noise_ratio: float | None
    sources: tuple[Source, ...]
    published: str
    assumed: str
    network: str = ""


US = 1_000.0
MS = 1_000_000.0
S = 1_000_000_000.0

#: [Hoefler10 Table I (all cores of a node used), Fig. 1, §II-A]: CHiC, Linux 2.6.18; SGI Altix 4700, Linux
#: 2.6.16; BlueGene/P, ZeptoOS; Jaguar, a Cray XT-4 with CNL.
HOEFLER = (
    Machine(
        "chic",
        "CHiC",
        0.0021,
        (
            Source(4 * MS, 2 * US, 5 * US),
            Source(50 * MS, 5 * US, 55 * US, random=True),
            Source(20 * S, 8 * MS, 16 * MS, random=True),
        ),
        "0.21 %; low regular noise, reproducible longer interruptions",
        "a tick of 250 Hz, daemons 20 times a second, interruptions of 8 to 16 ms every 20 s",
        "chic",
    ),
    Machine(
        "altix",
        "Altix",
        0.0005,
        (Source(2 * S, 220 * US, 220 * US, phase=0.5), Source(11.5 * MS, 1 * US, 8 * US, random=True)),
        "0.05 %; most detours 1 to 8 us, one of 220 us about every 2 s",
        "the small ones come at random",
        "altix",
    ),
    Machine(
        "zeptoos",
        "ZeptoOS",
        0.0008,
        (Source(10 * MS, 6 * US, 9 * US), Source(100 * MS, 4 * US, 6 * US, phase=0.55)),
        "0.08 %; low noise in a regular pattern",
        "a tick of 100 Hz and a smaller one of 10 Hz",
        "zeptoos",
    ),
    Machine(
        "jaguar",
        "Jaguar",
        0.0002,
        (
            Source(100 * MS, 4 * US, 5 * US),
            Source(100 * MS, 8 * US, 10 * US, phase=0.5),
            Source(50 * S, 1 * MS, 5 * MS, random=True),
        ),
        "0.02 %; two baselines, and high, infrequent, random detours",
        "baselines at 10 Hz, high ones of 1 to 5 ms every 50 s",
        "xt4",
    ),
)

#: [Beckman06 Table 4, §3.3].
BECKMAN = (
    Machine(
        "bgl-cn",
        "BG/L compute node, BLRTS",
        0.00000029,
        (Source(2**32 / 0.7, 1.8 * US, 1.8 * US),),
        "nothing but the decrementer's reset every 2^32 cycles at 700 MHz, 1.8 us",
        "nothing",
    ),
    Machine(
        "bgl-ion",
        "BG/L I/O node, Linux 2.4",
        0.0002,
        tuple(Source(60 * MS, 1.8 * US, 1.9 * US, phase=i / 6) for i in range(5))
        + (Source(60 * MS, 2.3 * US, 2.5 * US, phase=5 / 6), Source(0.5 * S, 3 * US, 5.9 * US, random=True)),
        "a tick of 100 Hz: 80 % of 1.8 us, every sixth 2.4 us; a handful below 6 us",
        "the handful: two a second",
    ),
    Machine(
        "jazz",
        "Jazz node, Linux 2.4",
        0.0012,
        (
            Source(10 * MS, 8.4 * US, 8.8 * US),
            Source(10.7 * MS, 1 * US, 6 * US, random=True),
            Source(6 * S, 60 * US, 109.7 * US, random=True),
        ),
        "0.12 %, at most 109.7 us, mean 6.2 us, median 8.5 us",
        "a tick of 100 Hz as the median, shorter ones of 1 to 6 us, long ones every 6 s",
    ),
    Machine(
        "laptop",
        "Laptop, Linux 2.6",
        0.0102,
        (
            Source(1 * MS, 6 * US, 8.6 * US),
            Source(12 * MS, 15 * US, 50 * US, random=True),
            Source(1 * S, 90 * US, 180 * US, random=True),
        ),
        "1.02 %, at most 180 us, mean 9.5 us, median 7.0 us",
        "a tick of 1000 Hz, others to 50 us, long ones every second",
    ),
    Machine(
        "xt3",
        "XT3, Catamount",
        0.00002,
        (
            Source(190 * MS, 1.1 * US, 1.3 * US),
            Source(250 * MS, 1.2 * US, 4.8 * US, random=True),
            Source(4 * S, 6 * US, 9.5 * US, random=True),
        ),
        "0.002 %, at most 9.5 us, mean 2.1 us, median 1.2 us",
        "a short regular one as the median, others to 9.5 us",
    ),
)

#: [Tsafrir05 Table 3]: M3, 2.8 GHz, eighteen minutes: ticks of both clocks together, and the network's
#: interrupts.
CYCLE_NS = 1 / 2.8
M3_SPAN_NS = 3_023_642_905_020 * CYCLE_NS
M3_TICK_NS = (23_437_759_192 / 1_082_744 + 1_674_717_580 / 1_082_731) * CYCLE_NS
M3_NETWORK_NS = 102_987_708 / 5_917 * CYCLE_NS
TSAFRIR = Machine(
    "m3",
    "M3, Linux 2.6.9, 1000 Hz",
    0.00833,
    (
        Source(M3_SPAN_NS / 1_082_744, M3_TICK_NS, M3_TICK_NS),
        Source(M3_SPAN_NS / 5_917, M3_NETWORK_NS, M3_NETWORK_NS, random=True),
    ),
    "1,082,744 ticks and 5,917 network interrupts in eighteen minutes, with their cycles",
    "each lasts its mean",
)


@dataclass(frozen=True)
class Synthetic:
    trace: Trace
    scale: float  # the factor by which all lengths were multiplied


def generate(machine: Machine, seed: int = 1, detours: int = DETOURS) -> Synthetic:
    """Makes about `detours` detours; detours that would overlap are moved one after the other. The span is a
    whole number of periods, so regular sources stay regular when the trace is replayed cyclically."""
    random = np.random.default_rng([seed, zlib.crc32(machine.key.encode()), GENERATOR])
    rate = sum(1 / source.period_ns for source in machine.sources)
    longest = max((source.period_ns for source in machine.sources if not source.random), default=1.0)
    span_ns = max(round(detours / rate / longest), 1) * longest
    parts = [
        (
            starts := source.starts(span_ns, random),
            random.uniform(source.shortest_ns, source.longest_ns, len(starts)),
        )
        for source in machine.sources
    ]
    starts, lengths = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.argsort(starts, kind="stable")
    starts, lengths = starts[order], lengths[order]
    scale = (
        machine.noise_ratio * span_ns / float(lengths.sum()) if machine.noise_ratio and len(lengths) else 1.0
    )
    lengths = np.round(lengths * scale, 3)
    before = np.concatenate([[0.0], np.cumsum(lengths)[:-1]])
    starts = np.round(np.maximum.accumulate(starts - before) + before, 3)
    over = np.flatnonzero(starts + lengths > span_ns)
    keep = slice(0, int(over[0])) if len(over) else slice(None)
    trace = Trace(
        source=f"{machine.name}, synthetic, seed {seed}",
        format="noise",
        start_ns=starts[keep],
        duration_ns=lengths[keep],
        span_ns=span_ns,
        parameters={"published": machine.published, "assumed": machine.assumed},
    )
    return Synthetic(trace, scale)


def trace_file(machine: Machine, folder: Path, seed: int = 1, detours: int = DETOURS) -> Path:
    """Returns the file of the machine's trace in the simulator's format; makes it if it is missing."""
    made_of = zlib.crc32(repr(machine).encode())
    path = folder / "traces" / f"{machine.key}-{seed}-{detours}-v{GENERATOR}-{made_of:08x}.noise"
    if not path.is_file():
        with written_whole(path) as part:
            noise_write(generate(machine, seed, detours).trace, part)
    return path
