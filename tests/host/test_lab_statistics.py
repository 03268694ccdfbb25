# SPDX-License-Identifier: BSD-2-Clause
"""The lab's statistics against closed forms, the papers' own examples, hand-made cases, and a second, naive
way to compute the same."""

from __future__ import annotations

import math
import random
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lab import statistics
from lab.formats.phase import PhaseData
from lab.formats.trace import Totals, Trace
from lab.statistics import Delays, StatisticsError


def trace_of(detours: list[tuple[float, float]], span_ns: float, **further: object) -> Trace:
    starts, durations = (
        (np.array(column, dtype=float) for column in zip(*detours)) if detours else (np.empty(0), np.empty(0))
    )
    return Trace("made by hand", "selfish", starts, durations, span_ns, **further)  # type: ignore[arg-type]


def bernoulli(p: float, delay_ns: float, grain_ns: float = 1e6) -> Delays:
    return Delays(grain_ns, np.array([0.0, delay_ns]), np.array([1 - p, p]), 1e9)


# What the system took


def test_figures_of_four_detours() -> None:
    figures = statistics.detour_figures(trace_of([(0, 100), (500, 300), (1000, 200), (5000, 400)], 1e6))
    assert (figures.detours, figures.per_second, figures.noise_ratio) == (4, 4000, 0.001)
    assert (figures.minimum_ns, figures.mean_ns, figures.maximum_ns) == (100, 250, 400)
    assert figures.percentiles_ns == {"median": 200}  # four samples carry no other


@pytest.mark.parametrize(
    ("count", "last"), [(9, "median"), (10, "p90"), (99_999, "p99.99"), (100_000, "p99.999")]
)
def test_a_percentile_needs_a_sample_beyond_it(count: int, last: str) -> None:
    trace = trace_of([(10.0 * i, 5.0) for i in range(count)], 1e9)
    assert list(statistics.detour_figures(trace).percentiles_ns)[-1] == last


def test_no_detour_has_a_ratio_of_zero_and_no_lengths() -> None:
    figures = statistics.detour_figures(trace_of([], 1e9))
    assert (figures.detours, figures.per_second, figures.noise_ratio) == (0, 0, 0)
    assert figures.minimum_ns is figures.maximum_ns is figures.mean_ns is None


def test_what_a_source_counted_itself_goes_before_what_it_lists() -> None:
    figures = statistics.detour_figures(trace_of([(0, 100)], 1e6, totals=Totals(50, 5000, 900)))
    assert (figures.detours, figures.noise_ratio, figures.maximum_ns) == (50, 0.005, 900)


def test_times_without_lengths_have_no_ratio() -> None:
    trace = trace_of([(10, 0)], 1e6, durations_known=False)
    with pytest.raises(StatisticsError, match="not how long"):
        statistics.noise_ratio(trace)
    assert math.isnan(statistics.detour_figures(trace).noise_ratio)


# When it took it


def test_a_sinusoid_has_its_amplitude_at_its_frequency() -> None:
    t = np.arange(1000) / 1000
    found = statistics.spectrum(7 + 3 * np.sin(2 * np.pi * 40 * t) + 0.5 * np.cos(2 * np.pi * 500 * t), 1e6)
    at = {round(f): a for f, a in zip(found.frequency_hz, found.amplitude)}
    assert (
        at[40] == pytest.approx(3) and at[500] == pytest.approx(0.5) and at[41] == pytest.approx(0, abs=1e-9)
    )
    assert (found.limit_hz, found.resolution_hz) == (500, 1)


def test_what_is_faster_than_half_the_sampling_rate_appears_elsewhere() -> None:
    """900 Hz, sampled at 1000 Hz, looks like 100 Hz [Hoefler10 §II]."""
    t = np.arange(1000) / 1000
    found = statistics.spectrum(np.sin(2 * np.pi * 900 * t), 1e6)
    assert round(statistics.peaks(found)[0].frequency_hz) == 100


def test_a_tick_of_250_hz_is_found_with_its_harmonic() -> None:
    losses = np.zeros(1000)
    losses[1::4] = 60
    found = [round(peak.frequency_hz) for peak in statistics.peaks(statistics.spectrum(losses, 1e6))]
    assert sorted(found) == [250, 500]


def test_white_noise_has_no_peak() -> None:
    generator = np.random.default_rng(3)
    found = [
        statistics.peaks(statistics.spectrum(generator.normal(size=500), 1e6), chance=0.01)
        for _ in range(100)
    ]
    assert sum(map(bool, found)) <= 4  # one in a hundred is expected


def test_a_long_series_is_averaged_and_keeps_its_sinusoid() -> None:
    """Eight segments of 3640: noise becomes smooth as the mean of 7.6 does, a sinusoid stays."""
    n = 16_380
    noise = np.random.default_rng(4).normal(size=n)
    found = statistics.spectrum(noise, 1e6)
    assert found.resolution_hz == pytest.approx(1000 / 3640)
    power = found.amplitude[1:-1] ** 2
    assert power.std() / power.mean() == pytest.approx(found.averages**-0.5, rel=0.1)
    one = statistics.spectrum(noise[:8190], 1e6).amplitude[1:-1] ** 2
    assert one.std() / one.mean() == pytest.approx(1, rel=0.1)
    loud = statistics.spectrum(noise + 0.3 * np.sin(2 * np.pi * 250 * np.arange(n) / 1000), 1e6)
    peak = statistics.peaks(loud)[0]
    assert peak.frequency_hz == pytest.approx(250) and peak.amplitude == pytest.approx(0.3, rel=0.15)


def test_long_white_noise_has_no_peak() -> None:
    generator = np.random.default_rng(5)
    found = [
        statistics.peaks(statistics.spectrum(generator.normal(size=9000), 1e6), chance=0.01)
        for _ in range(100)
    ]
    assert sum(map(bool, found)) <= 4  # one in a hundred is expected


def test_a_silent_series_has_no_peak() -> None:
    assert statistics.peaks(statistics.spectrum(np.zeros(100), 1e6)) == []
    with pytest.raises(StatisticsError, match="at least 4 values"):
        statistics.spectrum(np.zeros(3), 1e6)


def test_the_series_adds_up_what_begins_in_a_step() -> None:
    series = statistics.series_of(trace_of([(0, 5), (99, 7), (100, 1), (350, 9)], 399), 100)
    assert series.tolist() == [12, 1, 0]  # the fourth step is broken


# What a job feels


def test_one_detour_delays_the_phases_that_meet_it() -> None:
    """A phase meets it if it begins within a grain before it: p = grain / work."""
    delays = statistics.delays_of_trace(trace_of([(3000, 1000)], 11_000), 2500)
    assert delays.delay_ns.tolist() == [0, 1000] and delays.share == pytest.approx([0.75, 0.25])
    assert delays.phases == 4


@pytest.mark.parametrize(
    ("grain", "expected"), [(1e4, {1000: 1.0}), (15e3, {1000: 0.5, 2000: 0.5}), (2e4, {2000: 1.0})]
)
def test_a_phase_may_be_longer_than_the_trace(grain: float, expected: dict[float, float]) -> None:
    delays = statistics.delays_of_trace(trace_of([(3000, 1000)], 11_000), grain)
    assert dict(zip(delays.delay_ns.tolist(), delays.share.tolist())) == pytest.approx(expected)


def test_periodic_detours_delay_by_one_or_by_two() -> None:
    """A detour after each 900 ns of work; a phase of 1200 ns meets one with 2/3 and two with 1/3."""
    trace = trace_of([(1000.0 * i + 900, 100) for i in range(50)], 50_000)
    delays = statistics.delays_of_trace(trace, 1200)
    assert delays.delay_ns.tolist() == [100, 200] and delays.share == pytest.approx([2 / 3, 1 / 3])


def test_silence_delays_nothing() -> None:
    delays = statistics.delays_of_trace(trace_of([], 1e9), 1e6)
    assert (delays.delay_ns.tolist(), delays.share.tolist(), delays.phases) == ([0], [1], 1000)
    assert statistics.p(delays, 0) == 0 and statistics.slowdown(delays, 1e9) == 1


def naive_delay(trace: Trace, grain_ns: float, begin_work_ns: float) -> float:
    """One phase, replayed detour by detour."""
    now, work, detours = 0.0, 0.0, list(zip(trace.start_ns.tolist(), trace.duration_ns.tolist()))
    delay, end = 0.0, begin_work_ns + grain_ns
    while True:
        for start, duration in detours:
            work += start - now
            now = start + duration
            if begin_work_ns <= work < end:
                delay += duration
            if work >= end:
                return delay
        work += trace.span_ns - now
        now = 0.0


def test_the_exact_distribution_is_what_replayed_phases_show() -> None:
    chance = random.Random(5)
    for _ in range(20):
        detours, at = [], 0.0
        for _ in range(chance.randrange(1, 12)):
            at += chance.randrange(0, 400)
            duration = chance.randrange(1, 90)
            detours.append((at, float(duration)))
            at += duration
        trace = trace_of(detours, at + chance.randrange(1, 300))
        grain = chance.choice([7.5, 100.5, 333.5, 2000.5])
        delays = statistics.delays_of_trace(trace, grain)
        work = trace.span_ns - trace.duration_ns.sum()
        places = (np.arange(2000) + 0.5) * work / 2000
        naive = np.array([naive_delay(trace, grain, place) for place in places])
        assert delays.mean_ns == pytest.approx(
            grain * trace.duration_ns.sum() / work
        )  # whatever the order of detours
        for delay, share in zip(delays.delay_ns, delays.share):
            assert (naive == delay).mean() == pytest.approx(share, abs=0.03)


def test_a_list_that_was_full_stands_for_the_time_it_covers() -> None:
    trace = trace_of([(1000, 100), (2000, 100)], 1e6, totals=Totals(999, 1e5, 100))
    assert statistics.delays_of_trace(trace, 100).phases == pytest.approx(1900 / 100)


def test_measured_phases_are_their_own_distribution() -> None:
    data = PhaseData("x", 1000, 1000.0, 2.0, np.array([2000, 2200, 6000]), np.array([90, 9, 1]))
    delays = statistics.delays_of_phases(data)
    assert delays.delay_ns.tolist() == [0, 100, 2000] and delays.share.tolist() == [0.9, 0.09, 0.01]
    assert [statistics.p(delays, x) for x in (0, 0.1, 0.5, 2)] == pytest.approx([0.1, 0.01, 0.01, 0])


# What n nodes feel


def test_the_law_of_noise_has_the_paper_s_values() -> None:
    """[Tsafrir05 §2.2, §2.4]: 1 in 100 at a thousand nodes and p = 1e-5; 0.63 at a hundred and p = 0.01."""
    assert float(statistics.delayed_probability(1e-5, 1000)) == pytest.approx(0.00995, abs=1e-5)
    assert float(statistics.delayed_probability(0.01, 100)) == pytest.approx(0.634, abs=1e-3)
    assert statistics.delayed_probability_linear(0.01, 10) == pytest.approx(0.1)
    assert (
        float(statistics.delayed_probability(1, 5)) == 1 and float(statistics.delayed_probability(0, 5)) == 0
    )
    assert float(statistics.delayed_probability(1e-18, 1e6)) == pytest.approx(1e-12)  # where 1 - p is 1


@pytest.mark.parametrize("probability", [0.3, 1e-3, 1e-6])
def test_the_linear_law_is_as_good_as_the_paper_says(probability: float) -> None:
    """Within 5 % up to 1/(10 p) nodes, and beyond by less than n^2 p^2 / 2 [Tsafrir05 §2.1, Eq. 3-4]."""
    most = statistics.linear_nodes_max(probability)
    assert most == pytest.approx(1 / (10 * probability))
    for n in (max(1.0, most / 100), max(1.0, most)):
        exact = float(statistics.delayed_probability(probability, n))
        linear = float(statistics.delayed_probability_linear(probability, n))
        # The paper bounds the error by np/2 of np; of d_p(n) itself it is that over 1 - np/2.
        assert -1e-15 <= linear - exact < n * n * probability**2 / 2 + 1e-15
    assert statistics.linear_nodes_max(0) == math.inf


def test_the_slowdown_has_the_paper_s_values() -> None:
    """A phase of 1 ms that lasts 1.5 ms with p = 0.01: 1.05 at ten nodes, 1.32 at a hundred [Tsafrir05 §2.4,
    Eq. 5]."""
    delays = bernoulli(0.01, 0.5e6)
    assert [round(float(x), 2) for x in statistics.slowdown(delays, np.array([1, 10, 100]))] == [
        1.0,
        1.05,
        1.32,
    ]


@pytest.mark.parametrize("n", [1, 2, 7, 50])
def test_the_slowdown_is_the_mean_of_the_largest(n: int) -> None:
    """Of n draws from 1..k the mean maximum is k - sum (i/k)^n."""
    k = 20
    delays = Delays(1.0, np.arange(1, k + 1, dtype=float), np.full(k, 1 / k), k)
    assert float(statistics.slowdown(delays, n)) - 1 == pytest.approx(k - sum((i / k) ** n for i in range(k)))


def test_a_rare_delay_is_not_lost_to_rounding() -> None:
    """p = 1e-17 is lost next to 1: a thousand million nodes meet it with 1e-8."""
    delays = bernoulli(1e-17, 1e6)
    assert float(statistics.slowdown(delays, 1e9)) - 1 == pytest.approx(1e-8, rel=1e-3)


@pytest.mark.parametrize(("p", "delay_ns"), [(1e-3, 5e5), (1e-6, 2e4), (0.2, 1e6)])
def test_the_largest_job_within_a_tolerance(p: float, delay_ns: float) -> None:
    """1 + (d/G) (1 - (1-p)^n) = 1.01 solved for n."""
    n = math.log1p(-0.01 * 1e6 / delay_ns) / math.log1p(-p)
    assert statistics.scale_max(bernoulli(p, delay_ns), 0.01) == (math.floor(n) if n >= 1 else 0)


def test_short_delays_stop_no_job() -> None:
    assert statistics.scale_max(bernoulli(0.5, 9_999), 0.01) == math.inf
    assert statistics.scale_max(bernoulli(0.9, 1e6), 0.01) == 0


# How sure that is


def test_silence_proves_three_in_the_time_measured() -> None:
    assert statistics.silent_rate_max(1e9) == pytest.approx(2.9957, abs=1e-4)
    assert statistics.silent_rate_max(3600e9, 0.99) == pytest.approx(4.605 / 3600, rel=1e-3)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: statistics.delayed_probability(1.5, 3),
        lambda: statistics.delayed_probability(math.nan, 3),
        lambda: statistics.slowdown(bernoulli(0.1, 1), 0.5),
        lambda: statistics.delays_of_trace(trace_of([], 1), 0),
        lambda: statistics.delays_of_trace(trace_of([(0, 5)], 10, starts_known=False), 1),
        lambda: statistics.p(bernoulli(0.1, 1), -1),
        lambda: statistics.scale_max(bernoulli(0.1, 1), 0),
        lambda: statistics.linear_nodes_max(0.1, 2),
        lambda: statistics.silent_rate_max(0),
        lambda: statistics.median_interval([1.0]),
        lambda: statistics.count_needed(1.0),
        lambda: statistics.series_of(trace_of([], 10), 11),
    ],
)
def test_a_wrong_argument_is_one_clear_line(wrong: object) -> None:
    with pytest.raises(StatisticsError) as error:
        wrong()  # type: ignore[operator]
    assert "\n" not in str(error.value) and ";" in str(error.value)
