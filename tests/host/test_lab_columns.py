# SPDX-License-Identifier: BSD-2-Clause
"""Long recordings: what is read takes little more memory than its numbers, and figures that are found without
a sorted copy, or on distinct values, are those of the sorted values."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lab.common.errors import DataError
from lab.formats import columns, noise, reading, registry, selfish
from lab.formats.histogram import Histogram
from lab.formats.reading import Floor
from lab.formats.trace import latency_trace
from lab.statistics import detour_figures, noise_ratio

PARTS = [1, 50_000, 500_000, 900_000, 999_000, 999_990, 1_000_000]


def samples(random: np.random.Generator) -> Iterator[np.ndarray]:
    """Lengths as tools have them: spread, of few values, of one value, with zeros, over many decades."""
    count = int(random.integers(1, 400))
    yield random.integers(0, 10_000, count).astype(np.float64)
    yield random.choice([9.63, 19.64, 29.27], count)
    yield np.full(count, 250.0)
    yield np.where(random.random(count) < 0.5, 0.0, random.pareto(1.5, count) * 1e3)
    yield 10 ** random.uniform(-3, 15, count)


@pytest.mark.parametrize("seed", range(6))
def test_quantiles_are_those_of_sorted_values(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "PIECE", 16)
    for values in samples(np.random.default_rng(seed)):
        rising = np.sort(values)
        kept = values.copy()
        assert reading.quantiles(values, PARTS) == [reading.quantile(rising, part) for part in PARTS]
        assert (values == kept).all()
    assert reading.quantiles(np.empty(0), PARTS) == []


def floor_by_all_windows(rising: np.ndarray) -> Floor:
    """The definition of apps/include/order.h, on every window."""
    total, window = len(rising), (len(rising) + 7) // 8
    ranges = [int(rising[i + window - 1] - rising[i]) for i in range(total - window + 1)]
    steps = [int(b - a) for a, b in zip(rising, rising[1:]) if b > a]
    step, shortest = min(steps, default=0), min(range(len(ranges)), key=ranges.__getitem__)
    low = high = shortest
    while low and ranges[low - 1] <= 2 * ranges[shortest] + step:
        low -= 1
    while high + 1 < len(ranges) and ranges[high + 1] <= 2 * ranges[shortest] + step:
        high += 1
    mode = int(rising[low + (high - low) // 2 + window // 2])
    below = [int(value) for value in rising if value <= mode]
    spread = mode - below[len(below) - 1 - len(below) // 2]
    if rising[total // 20] < mode:
        spread = max(spread, step)
    return Floor(mode, spread, spread * 44478 // 10000)


@pytest.mark.parametrize("seed", range(6))
def test_the_floor_of_distinct_values_is_that_of_all_windows(seed: int) -> None:
    random = np.random.default_rng(seed)
    for top in (1, 3, 30, 1_000, 10**9):
        for count in (1, 2, 7, 8, 9, 60, 300):
            rising = np.sort(random.integers(0, top + 1, count) + random.integers(0, 2) * 5)
            expected = floor_by_all_windows(rising)
            assert reading.floor_of(rising) == expected
            values, times = np.unique(rising, return_counts=True)
            assert reading.floor_of(values, times) == expected


def test_rows_keep_their_line_numbers() -> None:
    lines = columns.Lines()
    given = [1, 2, 3, 5, 6, 9, 11, 12, 13, 20]
    for part in ([1, 2], [3], [5, 6, 9], [11, 12], [13], [20]):
        lines.add(np.array(part))
    assert [lines[row] for row in range(len(lines))] == given


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> int:
    """A limit of detours that are listed, so low that small files exceed it."""
    for module in (selfish, noise):
        monkeypatch.setattr(module, "LAYOUT", replace(module.LAYOUT, listed_max=100))
    monkeypatch.setattr(registry, "LISTED_MAX", 100)
    monkeypatch.setattr(columns, "CHUNK_BYTES", 300)
    return 100


@pytest.mark.parametrize("head", ["# Benchmark Method: selfish\n", "# Noise trace\n"])
def test_detours_that_have_no_room_are_summed_up(head: str, few: int, tmp_path: Path) -> None:
    starts, lengths = np.arange(1000) * 1000, np.arange(1000) % 97
    text = head + "".join(f"{start}\t{length}\n" for start, length in zip(starts, lengths))
    text += "# Measurement period: 0.001 s\n"
    (tmp_path / "long.dat").write_text(text)
    (trace,) = registry.read(tmp_path / "long.dat")
    assert (trace.listed, trace.detours) == (few, 1000)
    assert noise_ratio(trace) == pytest.approx(lengths.sum() / 1e6)
    assert detour_figures(trace).maximum_ns == 96 and trace.listed_span_ns == 99_002
    assert "only the first 100 of 1,000 detours are listed" in trace.remarks[0]
    for at, said in ((50, ":52: time runs backwards"), (100, ":102: time runs"), (700, ":702: time runs")):
        wrong = text.replace(f"\n{starts[at]}\t", f"\n{starts[at] - 1001}\t", 1)
        (tmp_path / "long.dat").write_text(wrong)
        with pytest.raises(DataError, match=said):
            registry.read(tmp_path / "long.dat")


def test_comments_are_not_gathered_for_ever(tmp_path: Path) -> None:
    (tmp_path / "notes.dat").write_text("# Benchmark Method: selfish\n" + "#\n" * columns.COMMENTS_MAX)
    with pytest.raises(DataError, match=f"notes.dat:{columns.COMMENTS_MAX + 1}: more than"):
        registry.read(tmp_path / "notes.dat")


def peak_kib(path: Path) -> int:
    """The peak of `lab show`'s memory, KiB."""
    program = (
        "import resource, sys; sys.path.insert(0, sys.argv[1]); from lab.cli import dispatch; "
        "dispatch.main(['show', sys.argv[2]]); print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, ROOT, path], capture_output=True, text=True, check=True
    )
    return int(done.stdout.split()[-1])


def test_a_detour_takes_less_than_thirty_bytes(tmp_path: Path) -> None:
    """16 are its numbers; ten million lines take 230 MB."""
    few, many = tmp_path / "few.dat", tmp_path / "many.dat"
    lines = "".join(f"{start}\t{start % 997}\n" for start in range(10**9, 10**9 + 300_000))
    pieces = [lines, *(lines.replace("\n1000", f"\n{place}000").replace("1", place, 1) for place in "234")]
    for path, count in ((few, 1), (many, 4)):
        text = "".join(pieces[:count])
        path.write_text(f"# Benchmark Method: selfish\n{text}# Measurement period: 9 s\n")
    assert 1024 * (peak_kib(many) - peak_kib(few)) < 30 * 900_000


def test_show_loads_nothing_that_draws() -> None:
    program = "import sys; sys.path.insert(0, sys.argv[1]); import lab.cli.show; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program, ROOT], capture_output=True, text=True, check=True)
    assert not {"matplotlib", "scipy"} & {name.partition(".")[0] for name in done.stdout.split()}


@pytest.mark.parametrize("seed", range(4))
def test_a_histogram_has_the_percentiles_of_its_samples(seed: int) -> None:
    random = np.random.default_rng(seed)
    for top in (2, 50, 100_000):
        lengths = np.unique(random.integers(1, 1000, 20)).astype(np.float64)
        counts = random.integers(0, top, len(lengths)) * (random.random(len(lengths)) < 0.7)
        histogram = Histogram.of(list(zip(lengths, counts)), int(random.integers(0, top)) // 9, lengths[-1])
        listed = latency_trace("x", "x", histogram.listed(), histogram.totals(), over=histogram.over)
        figures = detour_figures(listed)
        assert figures.percentiles_ns == histogram.percentiles()
        assert (figures.detours, listed.noise_ns) == (histogram.samples, pytest.approx(histogram.total_ns))


def test_a_day_of_latencies_has_percentiles_without_a_list(tmp_path: Path) -> None:
    """86.4 million samples, as text of five lines: they take no memory each."""
    text = (
        "# RTLA timerlat histogram\n# Time unit is microseconds (us)\n# Duration:   1 00:00:00\n"
        "Index   IRQ-000   Thr-000\n1      86399000  80000000\n7          1000   6400000\n"
        "over:         0         0\ncount: 86400000  86400000\n"
        "min:          1         1\navg:          1         1\nmax:          7         7\n"
    )
    (tmp_path / "day.txt").write_text(text)
    irq, thread = registry.read(tmp_path / "day.txt")
    assert (irq.listed, irq.detours) == (0, 86_400_000)
    assert detour_figures(irq).percentiles_ns["p99.99"] == 1500
    assert (
        detour_figures(irq).percentiles_ns["p99.999"] == detour_figures(thread).percentiles_ns["p99"] == 7000
    )
