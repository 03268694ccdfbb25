# SPDX-License-Identifier: BSD-2-Clause
"""The files that other noise tools write: each recorded one is read as what it is, or refused in a line that
says what it is and what would do instead; and a damaged one is never half a result."""

from __future__ import annotations

import json
import math
import random
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lab.cli import dispatch as command
from lab.common.errors import DataError
from lab.formats import phase, registry
from lab.formats.registry import Assumed
from lab.formats.trace import Trace
from lab.statistics import StatisticsError, detour_figures, noise_ratio

RECORDED = ROOT / "tests/data/noise-files"

#: Made by hand after the documentation of rtla; this tree has no file that it wrote.
TIMERLAT_HIST = """# RTLA timerlat histogram
# Time unit is microseconds (us)
# Duration:   0 00:00:10
Index   IRQ-000   Thr-000   IRQ-003   Thr-003
0          9000         0      8000         0
1           990      9000      1990      9990
5            10      1000        10         9
over:         0         0         0         1
count:    10000     10000     10000     10000
min:          0         1         0         1
avg:          0         1         0         1
max:          5         5         5        77
"""
TIMERLAT_TOP = """                                     Timer Latency
  0 00:00:05   |          IRQ Timer Latency (us)        |         Thread Timer Latency (us)
CPU COUNT      |      cur       min       avg       max |      cur       min       avg       max
  1 #5000      |        0         0         1        15 |       10         3         9        31
  7 #4999      |        3         0         1        12 |       10         3         9        23
"""
#: Likewise after hwlatdetect's own output as others have published it.
HWLATDETECT = """hwlatdetect:  test duration 10 seconds
   detector: tracer
   parameters:
        Latency threshold: 10us
        Sample window:     1000000us
        Sample width:      500000us
     Non-sampling period:  500000us
        Output File:       None

Starting test
test finished
Max Latency: 18us
Samples recorded: 2
Samples exceeding threshold: 2
ts: 1000000001.220664736, inner:17, outer:15
ts: 1000000002.721666674, inner:12, outer:18
"""


def figures_of(name: str) -> list[tuple[Trace, dict[str, float]]]:
    return [(trace, detour_figures(trace).percentiles_ns) for trace in registry.read(RECORDED / name)]


def written(folder: Path, text: str) -> list[Trace]:
    (folder / "file.txt").write_text(text)
    return registry.read(folder / "file.txt")


@pytest.mark.parametrize(
    ("name", "formats", "counts"),
    [
        ("cyclictest-hist.txt", "cyclictest", [4843, 4824]),
        ("cyclictest.json", "cyclictest", [2866, 1944]),
        ("oslat.txt", "oslat", [4935, 4939]),
        ("oslat.json", "oslat", [10004]),
        ("sysjitter.txt", "sysjitter-summary", [11752, 16159]),
        ("sysjitter.raw", "sysjitter-bare", [1200]),
        ("netgauge-selfish.out", "selfish", [999]),
        ("netgauge-ftq.out", "netgauge-ftq", None),
        ("netgauge-fwq.out", "netgauge-fwq", None),
        ("ftq-public_0.dat", "ftq", None),
        ("ftq-public-t2_0.dat", "ftq", None),
        ("ftq-public-t2_1.dat", "ftq", None),
        ("busy-host/ftq_0.dat", "ftq", None),
        ("busy-host/fwq_0_times.dat", "fwq", None),
    ],
)
def test_a_recorded_file_is_read_as_what_it_is(name: str, formats: str, counts: list[int] | None) -> None:
    traces = registry.read(RECORDED / name)
    assert {trace.format for trace in traces} <= {formats, "sysjitter"}
    if counts:
        assert [trace.detours for trace in traces] == counts


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("hwlatdetect-refused.txt", "that kernel has no hwlat tracer"),
        ("netgauge-selfish.stdout", "netgauge's console output"),
        ("netgauge-selfish-period.head", "lines are missing; give the whole file"),
        ("README.md", "no format that the lab reads"),
    ],
)
def test_what_is_no_data_is_named_as_what_it_is(name: str, said: str) -> None:
    with pytest.raises(DataError, match=said) as error:
        registry.read(RECORDED / name)
    assert "\n" not in str(error.value)


def test_a_short_run_of_netgauge_has_the_time_of_its_detours() -> None:
    """Its period reads "0.00 s": 999 detours took 98.84 % of 35.5 µs."""
    ((trace, _),) = figures_of("netgauge-selfish.out")
    assert trace.span_ns == pytest.approx(35_470, rel=1e-3)
    assert noise_ratio(trace) == pytest.approx(0.9884, abs=1e-3)
    assert trace.threshold_ns == pytest.approx(3.466, abs=1e-3)


def test_latencies_have_no_ratio_and_no_time() -> None:
    for trace, percentiles in figures_of("cyclictest-hist.txt"):
        assert trace.latencies and math.isnan(trace.span_ns) and not trace.complete
        assert "lower bound" in trace.doubt
        assert list(percentiles) == ["median", "p90"]  # more than 1 % are beyond the last bucket
        with pytest.raises(StatisticsError, match="latencies of a timer"):
            noise_ratio(trace)
    (zero, _), (one, _) = figures_of("cyclictest.json")
    found = detour_figures(zero)
    assert (found.minimum_ns, found.mean_ns, found.maximum_ns) == (23e3, pytest.approx(151_740), 17_634e3)
    assert one.cpu == 1


def test_oslat_s_turns_above_the_shortest_are_detours() -> None:
    zero, one = registry.read(RECORDED / "oslat.txt")
    assert (zero.cpu, one.cpu, zero.span_ns) == (0, 1, 5.015e9)
    assert zero.over == 1139 and detour_figures(zero).maximum_ns == 24_123e3
    assert detour_figures(zero).minimum_ns == 1500


def test_sysjitter_s_summary_keeps_its_percentiles() -> None:
    (zero, percentiles), _ = figures_of("sysjitter.txt")
    assert percentiles == {
        "median": 1922,
        "p90": 66897,
        "p99": 407219,
        "p99.9": 8070171,
        "p99.99": 12075002,
    }  # 11,752 samples carry no 99.999 %
    assert noise_ratio(zero) == pytest.approx(0.13927, abs=1e-5)


def test_one_thread_of_two_needs_the_other_s_file(tmp_path: Path) -> None:
    """The public FTQ writes the sum over all threads into each file: it holds with both, and not with one."""
    (trace,) = registry.read(RECORDED / "ftq-public-t2_0.dat")
    assert trace.samples is not None and trace.samples.quantum_ns == 100_000
    (tmp_path / "ftq-public-t2_0.dat").write_bytes((RECORDED / "ftq-public-t2_0.dat").read_bytes())
    with pytest.raises(DataError, match="keep all files"):
        registry.read(tmp_path / "ftq-public-t2_0.dat")


def test_timerlat_of_rtla(tmp_path: Path) -> None:
    traces = written(tmp_path, TIMERLAT_HIST)
    assert [trace.source.rpartition(":")[2] for trace in traces] == [
        "CPU 0 IRQ", "CPU 0 Thr", "CPU 3 IRQ", "CPU 3 Thr",
    ]  # fmt: skip
    assert [trace.over for trace in traces] == [0, 0, 0, 1] and traces[0].span_ns == 10e9
    assert detour_figures(traces[1]).percentiles_ns["median"] == 1500
    assert detour_figures(traces[3]).maximum_ns == 77e3
    traces = written(tmp_path, TIMERLAT_TOP)
    assert [trace.cpu for trace in traces] == [1, 1, 7, 7] and traces[0].detours == 5000
    assert detour_figures(traces[1]).maximum_ns == 31e3 and all(trace.latencies for trace in traces)


def test_hwlatdetect_counts_the_time_that_it_looked(tmp_path: Path) -> None:
    (trace,) = written(tmp_path, HWLATDETECT)
    assert trace.span_ns == 5e9 and trace.duration_ns.tolist() == [17e3, 18e3]
    assert trace.threshold_ns == 10e3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HWLATDETECT.replace("1000000002.7", "1000000000.7"), "file.txt:16: time runs backwards"),
        (HWLATDETECT.replace("recorded: 2", "recorded: 3"), "3 samples recorded, but 2 lines"),
        (TIMERLAT_HIST.replace("9990", "9989"), "Thr-003: 9999 in the buckets, but 10000 in the summary"),
        (TIMERLAT_HIST[: TIMERLAT_HIST.index("over")], "no 'Index IRQ-000 …' or no 'count:' line"),
        (TIMERLAT_TOP.replace("#4999 ", "#49x9 "), "file.txt:5: not a CPU's line"),
        ("\x7fELF\x02\x01", "an ELF program; run it"),
        ('{"a": 1}\n', "JSON, but not of a tool"),
        ("# /dev/cpu_dma_latency set to 0us\n", "cyclictest's output without a result"),
        ('{"cmdline:": "hackbench", "thread": {"0": {}}}\n', "JSON of 'hackbench'"),
    ],
)
def test_a_wrong_file_is_named_with_what_would_do(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        written(tmp_path, text)
    assert said in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("sysjitter.raw", "2964812 8.618", "1 8.618", ":2: time runs backwards"),
        ("sysjitter.raw", "8.618 22406 8618", "8.618 22406 9618", ":2: 8.618 µs do not equal 9618 ns"),
        ("netgauge-ftq.out", "\n 7 ", "\n 9 ", "cycle 9 instead of 7: lines are missing"),
        ("netgauge-fwq.out", "\n5             2230", "", "cycle 6 instead of 5"),
        ("oslat.txt", " 1157 976", " 1157", "not a bucket"),
        ("cyclictest-hist.txt", "000181 000001", "000181 000002", "thread 0: 4629 samples in the buckets"),
        ("sysjitter.txt", "11752 16159", "11752", ":6: not a figure for each core"),
    ],
)
def test_a_damage_is_found_where_it_is(name: str, old: str, new: str, said: str, tmp_path: Path) -> None:
    text = (RECORDED / name).read_text()
    assert old in text
    (tmp_path / name).write_text(text.replace(old, new, 1))
    with pytest.raises(DataError) as error:
        registry.read(tmp_path / name)
    assert said in str(error.value) and "\n" not in str(error.value)


def small(name: str) -> bytes:
    """A recorded file, or one made by hand; long ones are cut after some lines, which is a damage itself."""
    made = {"timerlat-hist": TIMERLAT_HIST, "timerlat-top": TIMERLAT_TOP, "hwlatdetect": HWLATDETECT}
    return made[name].encode() if name in made else (RECORDED / name).read_bytes()[:20_000]


@pytest.mark.parametrize(
    "name",
    [
        "cyclictest-hist.txt", "cyclictest.json", "oslat.txt", "oslat.json", "sysjitter.txt", "sysjitter.raw",
        "netgauge-selfish.out", "netgauge-ftq.out", "netgauge-fwq.out", "timerlat-hist", "timerlat-top",
        "hwlatdetect", "ftq-public_0.dat",
    ],
)  # fmt: skip
def test_a_damaged_file_is_a_trace_or_one_line(name: str, tmp_path: Path) -> None:
    """Cut anywhere, bytes changed, pieces lost, doubled, or of another file."""
    data, other = small(name), small("oslat.txt")
    chance = random.Random(name)
    path = tmp_path / "damaged.dat"
    for _ in range(120):
        damaged = bytearray(data)
        at, length = chance.randrange(len(data)), chance.randrange(1, 40)
        how = chance.randrange(5)
        if how == 0:
            damaged = damaged[:at]
        elif how == 1:
            damaged[at] = chance.choice(b"0123456789 .-#:\n\txe\xff\0")
        elif how == 2:
            del damaged[at : at + length]
        elif how == 3:
            damaged[at:at] = damaged[at : at + length]
        else:
            damaged[at : at + length] = other[at % len(other) :][:length]
        path.write_bytes(damaged)
        try:
            traces = registry.read(path, Assumed(ticks_per_ns=2.6))
        except DataError as error:
            assert "\n" not in str(error) and str(path) in str(error)
            continue
        for trace in traces:
            detour_figures(trace)


def test_show_takes_a_folder_and_leaves_nothing_unsaid(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["show", str(RECORDED)]) == 0
    said = capsys.readouterr()
    for path in RECORDED.rglob("*"):
        if path.is_file():
            assert (path.stem in said.out) or (str(path) in said.err), path
    assert "phase_0.dat" in said.out and said.err.count("left out: ") == 4
    assert command.main(["show", "--json", str(RECORDED)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["format"] for row in found} >= {"phase", "oslat", "cyclictest", "selfish", "netgauge-ftq"}
    assert all(row["span_ns"] is None for row in found if row.get("latencies"))


def test_show_of_no_data_is_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:

    (tmp_path / "empty.dat").write_bytes(b"")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n")
    assert command.main(["show", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert "empty.dat: empty" in error and "picture.png: a picture" in error and error.count("\n") == 2


def test_phases_are_shown_as_phases(capsys: pytest.CaptureFixture[str]) -> None:
    file = RECORDED / "busy-host/phase_0.dat"
    assert command.main(["show", str(file)]) == 0
    said = capsys.readouterr().out
    fine = phase.read(file)[0]
    assert f"{fine.count:,}" in said and "11.1 µs ?" in said
