# SPDX-License-Identifier: BSD-2-Clause
"""Confidence intervals hold the true value as often as they say, or are refused with what would do."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lab import statistics
from lab.cli import dispatch as command
from lab.formats.phase import PhaseData
from lab.formats.trace import Totals, Trace
from lab.report import winner
from lab.statistics import StatisticsError, coverage
from lab.statistics.batches import independent_count
from lab.statistics.confidence import binomial_below, student
from lab.statistics.differences import Figure
from lab.statistics.tails import tail_shape

SECOND = 1e9


def trace_of(starts: np.ndarray, lengths: np.ndarray, span_ns: float, **more: Any) -> Trace:
    return Trace("x", "selfish", np.asarray(starts, float), np.asarray(lengths, float), span_ns, **more)


def random_trace(seed: int, detours: int = 200, seconds: float = 1.0, mean_ns: float = 1e3) -> Trace:
    """Detours at random times, with exponential lengths."""
    generator = np.random.default_rng(seed)
    starts = np.sort(generator.random(detours)) * seconds * SECOND
    return trace_of(starts, generator.exponential(mean_ns, detours), seconds * SECOND)


# ---- Coverage ----

MODELS = {model.name: model for model in coverage.models()}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("count", [50, 1_000])
def test_intervals_hold_the_truth_as_often_as_they_say(name: str, count: int) -> None:
    """The short form of `tools/lab coverage`: chance alone may cost as much as the table allows."""
    wrong = [cell for cell in coverage.cells(MODELS[name], count, 80, seed=2) if not cell.right]
    assert not wrong


def test_what_the_data_do_not_have_is_refused() -> None:
    """Pareto 1.5 has no variance, and 1,000 detours no interval of a 99.9 % quantile."""
    by_name = {cell.figure: cell for cell in coverage.cells(MODELS["Pareto 1.5"], 1_000, 50, seed=3)}
    assert by_name["ratio"].refused and by_name["99.9 %"].offered == 0
    assert by_name["median"].covered > 0.8 and by_name["rate"].covered > 0.8


def test_coverage_saves_version_and_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "c.json"
    words = ["coverage", "--replications", "3", "--detours", "50", "--seed", "5", "-o", str(out)]
    command.main(words)
    saved = json.loads(out.read_text())
    assert saved["seed"] == 5 and saved["replications"] == 3 and saved["version"].startswith("tacet")
    assert len(saved["cells"]) == len(MODELS) * len(coverage.FIGURES)
    assert "3 replications, seed 5, tacet" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--detours", "many"], "--detours many: give whole numbers"),
        (["--detours", "0"], "give whole numbers from 1"),
        (["--replications", "0"], "give at least 1 replication"),
        (["--seed", "-1"], "a seed of 0 or more"),
    ],
)
def test_a_wrong_option_is_one_clear_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["coverage", *words]) == 1
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


# ---- The quantiles of distributions ----


@pytest.mark.parametrize(
    ("confidence", "freedom", "factor"),
    [
        (0.95, 1, 12.7062),
        (0.95, 9, 2.26216),
        (0.95, 49, 2.00958),
        (0.99, 10, 3.16927),
        (0.95, 5_000, 1.95996),
    ],
)
def test_student_s_factor_is_that_of_tables(confidence: float, freedom: int, factor: float) -> None:
    assert student(confidence, freedom) == pytest.approx(factor, rel=1e-5)


@pytest.mark.parametrize(("count", "share"), [(1, 0.5), (10, 0.3), (3_688, 0.999), (2_000_000, 0.5)])
def test_binomial_probabilities_are_exact(count: int, share: float) -> None:
    first, below = binomial_below(count, share)
    logs = math.lgamma(count + 1)
    for k in range(first, min(first + 3, count) + 1):
        rest = math.lgamma(k + 1) + math.lgamma(count - k + 1)
        mass = math.exp(logs - rest + k * math.log(share) + (count - k) * math.log1p(-share))
        found = below[k - first] - (below[k - first - 1] if k > first else 0.0)
        assert found == pytest.approx(mass, rel=1e-6, abs=1e-15)
    assert below[-1] == pytest.approx(1.0)


def test_the_tail_s_shape_is_that_of_the_distribution() -> None:
    generator = np.random.default_rng(4)
    for draw, shape in (
        (lambda: generator.exponential(1.0, 20_000), 0.0),
        (lambda: generator.pareto(1.5, 20_000), 1 / 1.5),
        (lambda: generator.pareto(3.0, 20_000), 1 / 3),
        (lambda: generator.random(20_000), -1.0),
    ):
        found, error = tail_shape(draw())
        assert abs(found - shape) < 4 * error + 0.02
    assert tail_shape(np.full(100, 3.0))[0] < 0  # all alike
    assert tail_shape(np.array([1.0] * 96 + [5.0] * 4))[0] == math.inf  # four values tell nothing


# ---- Sums over time ----


def test_intervals_hold_their_own_figure_in_any_unit() -> None:
    """The ratio does not change if time is stretched; the rate changes with it."""
    for seed in range(5):
        trace = random_trace(seed)
        slow = trace_of(trace.start_ns * 1_000, trace.duration_ns * 1_000, trace.span_ns * 1_000)
        ratio, rate = statistics.ratio_interval(trace), statistics.rate_interval(trace)
        assert ratio.holds(statistics.noise_ratio(trace)) and rate.holds(200.0)
        stretched = statistics.ratio_interval(slow)
        assert (stretched.low, stretched.high) == pytest.approx((ratio.low, ratio.high))
        assert statistics.rate_interval(slow).low == pytest.approx(rate.low / 1_000)


@pytest.mark.parametrize("grain_ns", [1e3, 1e5, 1e6, 1e10])
def test_the_interval_of_p_is_around_that_of_the_replayed_phases(grain_ns: float) -> None:
    for seed in (2, 4, 5):
        trace = random_trace(seed, 300)
        exact_p = statistics.p(statistics.delays_of_trace(trace, grain_ns), 0)
        assert statistics.delayed_interval(trace, grain_ns).holds(exact_p * (1 - 1e-9))


def test_an_interval_narrows_with_the_root_of_the_time() -> None:
    widths = []
    for detours in (400, 40_000):
        found = statistics.rate_interval(random_trace(1, detours, detours / 400))
        widths.append(math.log(found.high / found.low))
    assert widths[0] / widths[1] == pytest.approx(10, rel=0.4)


def test_higher_confidence_is_wider() -> None:
    trace = random_trace(2)
    found = [statistics.ratio_interval(trace, confidence) for confidence in (0.5, 0.95, 0.999_999)]
    assert found[0].low > found[1].low > found[2].low and found[0].high < found[1].high < found[2].high


@pytest.mark.parametrize("phase", [0.0, 0.3, 0.999])
def test_ticks_have_an_interval_of_one_tick_more_or_less(phase: float) -> None:
    """250 Hz for 1.0015 s: 250 or 251 ticks, by the phase. Equal blocks of time gave the width 0."""
    starts = (np.arange(252) + phase) * 4e6
    starts = starts[starts < 1.0015e9]
    found = statistics.rate_interval(trace_of(starts, np.full(len(starts), 2_500), 1.0015e9))
    assert found.holds(250.0) and found.high - found.low < 4 and "conservative" in found.remark


def test_a_missing_tick_is_no_burst() -> None:
    """One of 250 ticks is left out: the interval is hardly wider."""
    starts = np.delete(np.arange(250) * 4e6 + 1e6, 100)
    found = statistics.rate_interval(trace_of(starts, np.full(249, 2_500), SECOND))
    assert found.holds(249.0) and found.high - found.low < 7


def test_bursts_widen_the_interval() -> None:
    even = random_trace(5, 2_000, 10.0)
    starts = np.sort(np.repeat(np.linspace(0, 9.5e9, 100), 20) + np.tile(np.arange(20) * 1e6, 100))
    starts += np.repeat(np.random.default_rng(1).random(100) * 5e7, 20)
    burst = trace_of(np.sort(starts), even.duration_ns, 10e9)
    few = trace_of(np.sort(starts)[:200], even.duration_ns[:200], 1e9)
    wide, narrow = statistics.rate_interval(burst), statistics.rate_interval(even)
    assert wide.high / wide.low > narrow.high / narrow.low
    with pytest.raises(StatisticsError, match=r"bursts.*needs .*measure .* times as long"):
        statistics.rate_interval(few)


def test_slow_changes_leave_fewer_independent_batches() -> None:
    generator = np.random.default_rng(8)
    white = generator.normal(0, 1, 6_400)
    slow = np.convolve(generator.normal(0, 1, 7_000), np.ones(400), "valid")[:6_400]
    assert independent_count(white) == (64, False)
    count, merged = independent_count(slow)
    assert merged and count < 64


@pytest.mark.parametrize(
    ("trace", "said"),
    [
        (random_trace(1, 3), "3 detours; an interval needs 24: measure 8 times as long"),
        (trace_of(np.array([]), np.array([]), SECOND), "0 detours; an interval needs 24"),
        (trace_of(np.arange(50) * 1e7, np.zeros(50), SECOND), "all detours have the length 0"),
        (trace_of(np.zeros(50), np.ones(50), SECOND, starts_known=False), "does not say when detours came"),
        (trace_of(np.arange(50) * 1e7, np.ones(50), SECOND, over=2), "known only as lower bounds"),
        (
            trace_of(np.arange(50) * 1e7, np.ones(50), SECOND, totals=Totals(90, 90.0, 1.0)),
            "only 50 of 90 detours are listed",
        ),
        (
            trace_of(np.arange(50) * 2e7, np.r_[1e6, np.full(49, 10.0)], SECOND),
            "was seen once, so there is no interval; measure 10 times as long",
        ),
    ],
)
def test_a_ratio_without_an_interval_says_what_would_do(trace: Trace, said: str) -> None:
    with pytest.raises(StatisticsError) as error:
        statistics.ratio_interval(trace)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_a_heavy_tail_is_named_with_its_index() -> None:
    generator = np.random.default_rng(3)
    trace = random_trace(3, 2_000)
    heavy = trace_of(trace.start_ns, 100 * (1 + generator.pareto(1.2, 2_000)), trace.span_ns)
    with pytest.raises(StatisticsError, match=r"heavy tail \(index 1[;.]"):
        statistics.ratio_interval(heavy)
    assert statistics.rate_interval(heavy).holds(2_000)


def test_measured_phases_have_an_interval_of_the_time_lost() -> None:
    """Of 10,000 phases 100 last twice as long: the mean is a binomial one."""
    data = PhaseData("x", 1_000, 1_000.0, 1.0, np.array([1_000, 2_000]), np.array([9_900, 100]))
    found = statistics.phases_lost_interval(data)
    assert statistics.phases_lost_ratio(data) == pytest.approx(0.01 / 1.01)
    half = 1.96 * math.sqrt(0.01 / 10_000)
    assert found.low == pytest.approx(0.0099 - half, rel=0.05)
    assert found.high == pytest.approx(0.0099 + half, rel=0.05)
    rare = PhaseData("x", 1_000, 1_000.0, 1.0, np.array([1_000, 2_000]), np.array([9_997, 3]))
    with pytest.raises(StatisticsError, match="3 delayed phases; an interval needs"):
        statistics.phases_lost_interval(rare)


# ---- Quantiles and the longest ----


@pytest.mark.parametrize(
    ("part", "needed"), [(0.5, 6), (0.9, 36), (0.99, 368), (0.999, 3_688), (0.001, 3_688)]
)
def test_a_quantile_needs_values_on_both_sides(part: float, needed: int) -> None:
    """The largest of n values is below the quantile with part^n; that must be below 2.5 %."""
    assert statistics.count_needed(part) == needed
    values = np.random.default_rng(2).permutation(needed - 1).astype(float)
    with pytest.raises(StatisticsError, match=f"needs {needed:,}: measure 2 times as long"):
        statistics.quantile_interval(values, part)


def test_the_least_number_of_values_has_the_widest_interval() -> None:
    found = statistics.median_interval([3.0, 9.0, 1.0, 4.0, 2.0, 7.0])
    assert 1.0 <= found.low < 1.5 and 8.0 < found.high <= 9.0


def test_equal_values_have_a_point_that_says_so() -> None:
    found = statistics.median_interval([5.0] * 30)
    assert (found.low, found.high) == (5.0, 5.0) and "conservative" in found.remark


def test_a_quantile_follows_any_rising_map_of_the_values() -> None:
    """Ranks alone count, up to the interpolation between neighbours."""
    values = np.random.default_rng(6).random(50_000)
    plain = statistics.quantile_interval(values, 0.99)
    mapped = statistics.quantile_interval(np.exp(20 * values), 0.99)
    assert np.log([mapped.low, mapped.high]) / 20 == pytest.approx([plain.low, plain.high], abs=1e-4)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_values_that_are_not_numbers_are_refused(bad: float) -> None:
    with pytest.raises(StatisticsError, match="not a number"):
        statistics.quantile_interval(np.array([1.0] * 20 + [bad]), 0.5)
    with pytest.raises(StatisticsError, match="1 of them not numbers"):
        statistics.median_interval([1.0] * 20 + [bad])


def test_the_longest_is_that_of_a_time() -> None:
    """A detour of 1 µs each 10 ms, one of 50 µs each second: the longest in 1 s and in 0.1 s."""
    starts = np.arange(2_000) * 1e7 + 5e6
    lengths = np.where(np.arange(2_000) % 100 == 37, 50e3, 1e3)
    trace = trace_of(starts, lengths, 20e9)
    second, tenth = statistics.longest_in(trace, 1e9), statistics.longest_in(trace, 1e8)
    assert (second.windows, second.median_ns, second.interval.low) == (20, 50e3, 50e3)
    assert (tenth.windows, tenth.median_ns, tenth.interval.high) == (200, 1e3, 1e3)
    with pytest.raises(StatisticsError, match=r"5 windows of 4 s in 20 s.*from 6 windows on"):
        statistics.longest_in(trace, 4e9)
    with pytest.raises(StatisticsError, match="have no detour"):
        statistics.longest_in(trace, 4e6)


# ---- Differences ----


def exact(value: float, half: float) -> Figure:
    """A figure whose interval has this half-width at 95 %, and else one in proportion to Student's factor."""
    return Figure(
        value,
        lambda confidence: statistics.Interval(
            value - half * student(confidence, 60) / 2.0003,
            value + half * student(confidence, 60) / 2.0003,
            confidence,
        ),
    )


def test_a_difference_adds_squares_and_keeps_skewness() -> None:
    found = statistics.difference_interval(exact(10, 3), exact(4, 4))
    assert (found.low, found.high) == pytest.approx((1, 11), rel=1e-3)
    skewed = Figure(4.0, lambda confidence: statistics.Interval(3.0, 8.0, confidence))
    found = statistics.difference_interval(exact(10, 3), skewed)
    assert (found.low, found.high) == pytest.approx((6 - 5, 6 + math.sqrt(10)), rel=1e-3)


def test_recordings_of_different_lengths_are_compared_per_second() -> None:
    """The same noise for 2 s and for 20 s is no difference; half of it is one."""
    short, long = random_trace(1, 2_000, 2.0), random_trace(2, 20_000, 20.0)
    half = trace_of(long.start_ns, long.duration_ns / 2, long.span_ns)
    figures = [statistics.lost_figure(one) for one in (short, long, half)]
    assert statistics.difference_interval(figures[0], figures[1]).holds(0.0)
    found = statistics.difference_interval(figures[0], figures[2])
    assert not found.holds(0.0) and found.holds(0.5e-3)
    pairs = [(figures[0], figures[1]), (figures[0], figures[2])]
    assert statistics.surely_different(pairs) == [False, True]


def test_many_comparisons_need_more_each() -> None:
    """2.2 standard errors are sure alone, and not as one of twenty; Holm's steps get easier."""
    apart, alike = (exact(1.1, 0.7071), exact(0, 0.7071)), (exact(0, 1), exact(0, 1))
    assert statistics.surely_different([apart]) == [True]
    assert statistics.surely_different([apart] + [alike] * 19) == [False] * 20
    assert statistics.surely_different([apart], family=20) == [False]
    clear = (exact(5, 0.7), exact(0, 0.7))
    assert statistics.surely_different([clear, apart, alike]) == [True, False, False]
    assert statistics.surely_different([apart, clear]) == [True, True]


def test_no_node_is_a_winner_by_chance() -> None:
    """Ten alike nodes, forty times: with Holm's correction a sure difference among 45 pairs is rare."""
    wrong = 0
    for seed in range(40):
        nodes = [statistics.lost_figure(random_trace(100 * seed + i, 300)) for i in range(10)]
        nodes.sort(key=lambda one: one.value)
        wrong += any(statistics.surely_different([(nodes[0], one) for one in nodes[1:]], family=45))
    assert wrong <= 6


def test_a_silence_is_less_noise_only_if_it_lasted() -> None:
    """No detour in 1 s allows 3.7 a second, each as long as the longest one seen: 20 of 1 ms are more."""
    loud = trace_of(np.arange(30) * 3e7 + 1e6, np.full(30, 1e6), SECOND)
    for seconds, sure in ((1.0, True), (0.01, False)):
        silent = trace_of(np.array([]), np.array([]), seconds * SECOND)
        pair = statistics.lost_figure(silent, longest_ns=1e6), statistics.lost_figure(loud)
        assert statistics.surely_different([pair]) == [sure]
    both = [statistics.lost_figure(trace_of(np.array([]), np.array([]), SECOND), 1e6)] * 2
    assert statistics.surely_different([(both[0], both[1])]) == [False]


def test_a_node_without_an_interval_is_never_sure() -> None:
    many = random_trace(2, 5_000)
    heavy = trace_of(many.start_ns, 1 + np.random.default_rng(1).pareto(1.1, 5_000), many.span_ns)
    pair = statistics.lost_figure(heavy), statistics.lost_figure(many)
    assert statistics.surely_different([pair]) == [False]


def test_of_many_nodes_those_without_an_interval_are_named_and_not_compared() -> None:
    traces = [random_trace(seed, 2_000, mean_ns=1e3 if seed else 1e2) for seed in range(4)]
    heavy = trace_of(
        traces[1].start_ns, 10 * (1 + np.random.default_rng(1).pareto(1.1, 2_000)), traces[1].span_ns
    )
    heavy = trace_of(heavy.start_ns, heavy.duration_ns * 1e6 / heavy.duration_ns.sum(), heavy.span_ns)
    nodes = [
        winner.Ranked(name, statistics.lost_figure(trace)) for name, trace in zip("abcdx", [*traces, heavy])
    ]
    ranked = winner.rank(nodes)
    assert [node.name for node in winner.without_interval(ranked)] == ["x"] and winner.winner_sure(ranked)
    text = winner.winner_text(nodes)
    assert text.startswith("a loses the least time") and "Not compared, without an interval: x (" in text
    assert winner.winner_text(nodes[1:4]).startswith("No node is a winner")
    assert not winner.loser_sure(winner.rank(nodes[1:4])) and not winner.winner_text(nodes[:1])


def test_few_detours_are_surely_less_than_many() -> None:
    """Three a second are at most 8.8, each as long as the longest one seen."""
    few, many = random_trace(1, 3), random_trace(2, 5_000)
    longest_ns = max(few.duration_ns.max(), many.duration_ns.max())
    pair = statistics.lost_figure(few, longest_ns), statistics.lost_figure(many)
    assert statistics.surely_different([pair]) == [True]
    assert pair[0].interval(0.95).high == pytest.approx(8.767 * longest_ns / 1e9, rel=1e-3)


# ---- Any trace ----


def odd_trace(generator: np.random.Generator) -> Trace:
    """A trace with ties, zeros, all detours at once, one endless detour, or a tiny or huge span."""
    count = int(generator.choice([0, 1, 2, 5, 23, 24, 40, 65, 200]))
    span_ns = 10.0 ** generator.uniform(0, 18)
    starts = np.sort(generator.random(count)) * span_ns
    if generator.random() < 0.3:
        starts = np.floor(starts / span_ns * 4) / 4 * span_ns
    if generator.random() < 0.1:
        starts = np.zeros(count)
    kind = generator.integers(5)
    lengths = generator.pareto(0.3, count) if kind == 0 else generator.random(count)
    if kind == 1:
        lengths = np.round(lengths)
    if kind == 2:
        lengths[:1] = 1e9
    if kind == 3:
        lengths[:] = 0
    if lengths.sum() > 0:
        lengths *= generator.choice([1e-6, 0.5, 1.0]) * span_ns / lengths.sum()
    return trace_of(starts, lengths, span_ns)


def test_any_trace_has_an_interval_around_its_figure_or_one_line() -> None:
    generator = np.random.default_rng(12)
    figures = {
        "ratio": (statistics.ratio_interval, statistics.noise_ratio),
        "rate": (statistics.rate_interval, lambda trace: trace.detours * 1e9 / trace.span_ns),
        "median": (lambda trace: statistics.length_interval(trace, 0.5), None),
        "p": (lambda trace: statistics.delayed_interval(trace, trace.span_ns / 1_000), None),
        "longest": (lambda trace: statistics.longest_in(trace, trace.span_ns / 8).interval, None),
        "lost": (lambda trace: statistics.lost_figure(trace, 1e3).interval(0.95), statistics.noise_ratio),
    }
    offered = dict.fromkeys(figures, 0)
    for _ in range(250):
        trace = odd_trace(generator)
        for name, (interval, value) in figures.items():
            try:
                found = interval(trace)
            except StatisticsError as error:
                assert "\n" not in str(error) and len(str(error)) > 20
                continue
            offered[name] += 1
            assert math.isfinite(found.high) and 0 <= found.low <= found.high
            if value:
                assert (
                    found.low <= value(trace) * (1 + 1e-6) and value(trace) <= found.high * (1 + 1e-6) + 1e-12
                )
    assert min(offered.values()) > 10
