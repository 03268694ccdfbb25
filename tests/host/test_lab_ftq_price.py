# SPDX-License-Identifier: BSD-2-Clause
"""What a lost operation of FTQ is worth: its share of the quantum, so that no detour is longer than its
quanta and no ratio of noise exceeds the raw one. tests/host/test_lab_ftq.py compares the figures with C's."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lab.formats import ftq, netgauge, registry
from lab.formats.trace import Trace
from lab.statistics import detour_figures, noise_ratio

RECORDED = ROOT / "tests/data/noise-files"
QUANTUM_NS = 1_000_000


def trace_of(counts: np.ndarray, folder: Path) -> tuple[ftq.FtqSummary, Trace]:
    lines = [f"# quantum_ns {QUANTUM_NS}", *(f"{i * QUANTUM_NS} {count}" for i, count in enumerate(counts))]
    (folder / "ftq.dat").write_text("\n".join(lines) + "\n")
    (trace,) = registry.read(folder / "ftq.dat")
    assert isinstance(trace.samples, ftq.FtqData)
    return ftq.summarise(trace.samples), trace


@pytest.mark.parametrize("seed", range(12))
def test_no_detour_is_longer_than_its_quanta(seed: int, tmp_path: Path) -> None:
    """Random machines: quanta that differ by nothing to a third, ticks, losses of whole quanta in a row."""
    random = np.random.default_rng(seed)
    full, spread = int(random.choice([12, 40, 1_000, 60_000])), random.choice([0.0, 0.001, 0.05, 0.3])
    counts = full - np.floor(full * spread * random.random(400) ** random.integers(1, 4)).astype(np.int64)
    hit = random.random(400) < random.random() * 0.4
    counts[hit] = (counts[hit] * random.random(hit.sum())).astype(np.int64)
    counts[100 : 100 + random.integers(1, 30)] = 0
    summary, trace = trace_of(counts, tmp_path)
    found = ftq.detours(counts, summary.losses, summary.disturbed_from)
    quanta = found.end - found.first
    assert len(quanta) == trace.detours and (trace.duration_ns <= quanta * QUANTUM_NS).all()
    assert noise_ratio(trace) == pytest.approx(summary.noise_ratio, rel=1e-12)
    assert summary.noise_ratio <= summary.raw_ratio * (1 + 1e-12)
    assert detour_figures(trace).maximum_ns == summary.largest_loss_ns


def test_a_quantum_that_is_lost_whole_is_a_quantum(tmp_path: Path) -> None:
    """The undisturbed quanta differ: by the mean operation it would be more than 1.001 ms."""
    counts = np.array([60_000 + i * 7919 % 601 if i % 2 else 59_900 - i * 7919 % 1_201 for i in range(300)])
    counts[150] = 0
    counts[149] = counts[151] = 60_300
    summary, trace = trace_of(counts, tmp_path)
    assert trace.duration_ns.max() == summary.largest_loss_ns == QUANTUM_NS
    assert summary.operation_ns * summary.nominal_count > 1.001 * QUANTUM_NS


@pytest.mark.parametrize(
    "name", ["busy-host/ftq_0.dat", "ftq-public_0.dat", "ftq-public-t2_0.dat", "netgauge-ftq.out"]
)
def test_recorded_noise_is_at_most_the_raw_one(name: str) -> None:
    path = RECORDED / name
    data = netgauge.read_ftq(path) if name.startswith("netgauge") else ftq.read(path)[0]
    summary = ftq.summarise(data)
    (trace,) = registry.read(path)
    assert noise_ratio(trace) <= summary.noise_ratio * (1 + 1e-12) <= summary.raw_ratio


@pytest.mark.parametrize(
    ("full", "spread", "remarked"),
    [(1_000, 0, False), (20, 0, False), (19, 0, True), (60_000, 2_000, False), (60_000, 6_000, True)],
)
def test_a_floor_of_more_than_a_tenth_is_remarked(
    full: int, spread: int, remarked: bool, tmp_path: Path
) -> None:
    counts = np.array([full - i * 7919 % (spread + 1) for i in range(300)])
    summary, trace = trace_of(counts, tmp_path)
    assert summary.separable and summary.floor_is_high is remarked
    assert any("the floor is 1" in text for text in trace.remarks) is remarked
    assert not trace.doubt  # the figures hold
