# SPDX-License-Identifier: BSD-2-Clause
"""Intervals of the conclusions: they hold what is known to be true, are the same each time, and are left out
where a single event decides; nodes that are not alike enter E(Y) as they are."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lab import statistics
from lab.cli import dispatch as command
from lab.formats.phase import PhaseData
from lab.formats.trace import Trace
from lab.report.figures import pictures
from lab.statistics import Delays, StatisticsError

GRAIN_NS = 1e6


def poisson(seed: int, seconds: float = 10.0, rate: float = 20.0, length_ns: float = 5e5) -> Trace:
    """Detours that come independently, each of the same length."""
    random = np.random.default_rng(seed)
    count = random.poisson(rate * seconds)
    starts = np.sort(random.random(count) * seconds * 1e9) + np.arange(count) * length_ns
    return Trace("x", "selfish", starts, np.full(count, length_ns), seconds * 1e9 + count * length_ns)


def bernoulli(p: float, delay_ns: float) -> Delays:
    return Delays(GRAIN_NS, np.array([0.0, delay_ns]), np.array([1 - p, p]), 1e9)


@pytest.mark.parametrize(("seeds", "held"), [(range(50, 56), 5), (range(40), 34)], ids=["few", "forty"])
def test_the_interval_holds_the_true_figures_nineteen_times_in_twenty(seeds: range, held: int) -> None:
    """Of a Poisson process p is 1 - exp(-rate grain), and slowdown and largest job follow from it. Of forty,
    38 are expected to hold them."""
    p = -math.expm1(-20e-3)
    true = bernoulli(p, 5e5)
    kept = {"p": 0, "slowdown": 0, "scale": 0}
    for seed in seeds:
        trace = poisson(seed)
        drawn = statistics.resampled(statistics.blocks_of_trace(trace, GRAIN_NS), resamples=200)
        kept["p"] += statistics.delayed_interval(trace, GRAIN_NS).holds(p)
        kept["slowdown"] += statistics.slowdown_interval(drawn, 20).holds(
            float(statistics.slowdown(true, 20)) - 1
        )
        kept["scale"] += statistics.scale_interval(drawn, 0.2).holds(statistics.scale_max(true, 0.2))
    assert min(kept.values()) >= held


def test_ticks_delay_a_share_that_is_known_to_a_tick() -> None:
    """A tick each 4 ms delays a quarter of the phases of 1 ms, whatever the phase of the measurement."""
    for offset in (0.1e6, 3.2e6):
        trace = Trace("x", "selfish", np.arange(250) * 4e6 + offset, np.full(250, 10.0), 1e9)
        found = statistics.delayed_interval(trace, GRAIN_NS)
        assert found.holds(0.25) and found.high - found.low < 0.005
        assert statistics.delayed_interval(trace, 8e6).high == 1.0


def test_few_phases_say_nothing_of_many_nodes() -> None:
    drawn = statistics.resampled(statistics.blocks_of_trace(poisson(1), GRAIN_NS))
    with pytest.raises(StatisticsError, match=r"from 40,000 phases on: measure \d times as long"):
        statistics.slowdown_interval(drawn, 1_000)
    found = statistics.scale_interval(drawn, 0.499)
    assert found.low <= drawn.nodes_max and math.isinf(found.high)


def test_blocks_hold_the_trace_s_own_distribution() -> None:
    trace = poisson(3)
    blocks, delays = statistics.blocks_of_trace(trace, GRAIN_NS), statistics.delays_of_trace(trace, GRAIN_NS)
    assert len(blocks.share) == 50
    assert blocks.delay_ns == pytest.approx(delays.delay_ns)
    assert blocks.share.sum(axis=0) == pytest.approx(delays.share)


def test_bursts_widen_the_interval() -> None:
    """The same detours, in ten bursts: the slowdown is less known."""
    even = poisson(5)
    starts = np.sort(np.repeat(np.arange(10) * 1e9, 20) + np.tile(np.arange(20) * 2e6, 10)) + 3e8
    burst = Trace("x", "selfish", starts, np.full(200, 5e5), even.span_ns)

    def width(trace: Trace) -> float:
        drawn = statistics.resampled(statistics.blocks_of_trace(trace, GRAIN_NS))
        found = statistics.slowdown_interval(drawn, 10)
        return found.high - found.low

    assert width(burst) > 1.3 * width(even)


def test_an_interval_is_the_same_each_time() -> None:
    drawn = [statistics.resampled(statistics.blocks_of_trace(poisson(1), GRAIN_NS)) for _ in range(2)]
    assert statistics.scale_interval(drawn[0], 0.2) == statistics.scale_interval(drawn[1], 0.2)


def test_too_short_a_trace_has_no_interval() -> None:
    with pytest.raises(StatisticsError, match="measure longer"):
        statistics.blocks_of_trace(poisson(1, seconds=0.5), 100e6)


def test_measured_phases_have_the_binomial_interval() -> None:
    data = PhaseData("x", 1000, 1000.0, 1.0, np.array([1000, 2000]), np.array([9900, 100]))
    found = statistics.phases_delayed_interval(data)
    half = 1.96 * math.sqrt(0.99 / 100)
    assert (found.low, found.high) == pytest.approx((0.01 * math.exp(-half), 0.01 * math.exp(half)), rel=1e-4)
    drawn = statistics.resampled(statistics.blocks_of_phases(data))
    slowed = statistics.slowdown_interval(drawn, 1)
    assert slowed.holds(0.01) and 0.007 < slowed.low and slowed.high < 0.014


def test_one_event_that_decides_is_found() -> None:
    short = [(1e7 * i, 100.0) for i in range(200)]
    for extra, expected in ((5e8, 5e8), (0.0, None)):
        starts, lengths = map(np.array, zip(*short, (2e9, extra)))
        trace = Trace("x", "selfish", starts, lengths, 3e9 + extra)
        delays = statistics.delays_of_trace(trace, GRAIN_NS)
        assert statistics.deciding_event_ns(trace, delays, GRAIN_NS, 0.01) == expected
    data = PhaseData("x", 1000, 1000.0, 1.0, np.array([1000, 9000]), np.array([999, 1]))
    assert statistics.deciding_event_ns(data, statistics.delays_of_phases(data), 1000, 0.01) == 8000
    data = PhaseData("x", 1000, 1000.0, 1.0, np.array([1000, 9000]), np.array([990, 10]))
    assert statistics.deciding_event_ns(data, statistics.delays_of_phases(data), 1000, 0.01) is None


@pytest.fixture
def one_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report has its first picture: all take longer than the words, and have tests of their own."""
    monkeypatch.setattr("lab.report.page.pictures", lambda *data: pictures(*data)[:1])


@pytest.mark.usefixtures("one_picture")
def test_a_single_event_is_reported_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Data of 1,000 phases would speak for 1,000 nodes; with one event that decides, for 100."""
    (tmp_path / "phase.dat").write_text(
        "# Phase durations\n# grain_ns 1000000\n# calibrated_ns 1000000\n# phases 1000\n# ticks_per_ns 1\n"
        "1000000 999\n3000000 1\n"
    )
    words = ["report", "--node", f"x={tmp_path}", "--tolerance", "50", "-o", str(tmp_path / "r.html")]
    assert command.main(words) == 0
    assert capsys.readouterr().out.startswith("x: no limit found.\n")
    said = (tmp_path / "r.html").read_text()
    assert "up to 100 nodes; about more nodes its data say nothing (one single event of 2 ms decides" in said
    assert "there is no interval" in said


def test_unlike_nodes_enter_as_they_are() -> None:
    """Half of the nodes lose 1 ms with p, the others never: the step is delayed with 1 - (1-p)^(n/2). The
    pooled distribution would say 1 - (1-p/2)^n, which is less only to the second order; at p = 1/2 and one
    node of each kind it says 7/16 where 1/2 is right."""
    noisy, quiet = bernoulli(0.5, 1e6), Delays(GRAIN_NS, np.zeros(1), np.ones(1), 1e9)
    assert statistics.slowdown_unlike([(noisy, 1), (quiet, 1)]) == pytest.approx(1.5)
    assert statistics.slowdown_unlike([(noisy, 3), (quiet, 7)]) == pytest.approx(2 - 0.5**3)
    pooled = float(statistics.slowdown(bernoulli(0.25, 1e6), 2))
    assert pooled == pytest.approx(1 + 7 / 16)
    # Two kinds of delays: 1 ms with 1/2 on the one node, 2 ms with 1/4 on the other.
    longer = bernoulli(0.25, 2e6)
    assert statistics.slowdown_unlike([(noisy, 1), (longer, 1)]) == pytest.approx(1 + 2 / 4 + 1 * 3 / 8)
    assert statistics.slowdown_unlike([(noisy, 4), (noisy, 6)]) == pytest.approx(
        float(statistics.slowdown(noisy, 10))
    )
    with pytest.raises(StatisticsError, match="without nodes"):
        statistics.slowdown_unlike([])


@pytest.mark.usefixtures("one_picture")
def test_every_recorded_file_can_be_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder of many tools' files: one of them is judged by, the others are no obstacle."""
    folder = ROOT / "tests/data/noise-files"
    assert command.main(["report", "--node", f"busy={folder}", "-o", str(tmp_path / "r.html")]) == 0
    assert capsys.readouterr().out.startswith("busy: 19 nodes.\nThe largest job whose steps")
