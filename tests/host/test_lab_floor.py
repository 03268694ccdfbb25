# SPDX-License-Identifier: BSD-2-Clause
"""The floor of FTQ, FWQ and measured phases where a real machine's undisturbed quanta differ by themselves:
on data recorded on a busy host, and on synthetic data with a known answer."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lab.formats import ftq, fwq, phase, registry

RECORDED = ROOT / "tests/data/noise-files"


def test_a_noisy_host_s_floor_is_the_mode_and_its_spread() -> None:
    """By the best twentieth alone, 2,850 of 3,000 quanta would be disturbed, whatever has happened."""
    (data,) = ftq.read(RECORDED / "busy-host/ftq_0.dat")
    summary = ftq.summarise(data)
    assert summary.separable and 59_000 < summary.nominal_count < 61_000
    assert 1_000 < summary.disturbed_from < 6_000
    assert summary.disturbed_quanta < 1_300 and summary.lost_quanta == 99


def test_data_without_a_floor_are_reported_as_such() -> None:
    """The public FTQ on a host that ran at two speeds, a third of the time at each."""
    (data,) = ftq.read(RECORDED / "ftq-public_0.dat")
    summary = ftq.summarise(data)
    assert not summary.separable and summary.disturbed_quanta == int((data.counts <= 29507 - 14754).sum())


def test_jitter_of_undisturbed_quanta_is_no_noise() -> None:
    random = np.random.default_rng(4)
    for spread in (random.normal(0, 300, 2000), random.integers(-600, 600, 2000)):
        counts = (60_000 + spread).astype(np.int64)
        counts[::20] -= 20_000
        summary = ftq.summarise(ftq.FtqData("synthetic", 1_000_000, np.arange(2000) * 1_000_000, counts))
        assert summary.separable and 100 <= summary.disturbed_quanta <= 110


def test_a_noisy_host_s_phases_are_judged_by_the_mode() -> None:
    """From the shortest phase, 97 % of the phases of 1 µs would be delayed by 1 %: a step of that clock is
    10 ns. The phases of 10 µs had two speeds."""
    fine, coarse = phase.read(RECORDED / "busy-host/phase_0.dat")
    assert fine.separable and fine.floor.mode == 2600
    assert 0.02 < phase.probability(fine, 0.01) < 0.05
    assert not coarse.separable


def test_a_noisy_host_s_samples_are_judged_by_the_mode() -> None:
    """From what one in twenty did not exceed, 1,899 of 2,000 samples would be disturbed."""
    path = RECORDED / "busy-host/fwq_0_times.dat"
    (data,) = fwq.read(path)
    summary = fwq.summarise(data)
    best = np.sort(data.ticks)[99]
    assert data.threshold_ticks and int((data.ticks > best + data.threshold_ticks).sum()) == 1_899
    assert summary.separable and 2_650_000 < summary.nominal < 2_750_000
    assert 100_000 < summary.disturbed_above < 250_000 and 150 < summary.disturbed < 350
    (trace,) = registry.read(path)
    assert trace.detours == summary.disturbed and not trace.doubt


def test_samples_of_two_speeds_are_reported_as_such(tmp_path: Path) -> None:
    path = tmp_path / "fwq_0_times.dat"
    ticks = [1500] * 60 + [1000] * 40 + [5000]
    path.write_text("# FWQ\n# ticks_per_ns 1\n# threshold_ticks 100\n" + "\n".join(map(str, ticks)) + "\n")
    (trace,) = registry.read(path)
    assert trace.detours == 1 and "lower bounds" in trace.doubt
