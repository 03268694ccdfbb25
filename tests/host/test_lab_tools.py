# SPDX-License-Identifier: BSD-2-Clause
"""Files of tools in forms that no recorded file has: osjitter, cyclictest without a histogram, the
simulator's noise files; and files that are no text, or text of another encoding. A small file in the format's
words for each."""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lab.cli import dispatch as command
from lab.common.errors import DataError
from lab.formats import registry
from lab.formats.registry import Assumed
from lab.formats.trace import Trace
from lab.statistics import detour_figures
from tests import published
from tests.host import test_lab_formats, test_lab_readers, test_lab_rtla

#: After github.com/gsauthof/osjitter's source and README.
OSJITTER = """ CPU  TSC_khz  #intr  #delta  ovfl_ns  invol_ctx  sum_intr_ns  iratio  rt_s  loop_ns  median_ns  p20_ns  p80_ns  p90_ns  p99_ns  p99.9_ns   max_ns  mad_ns
   0  2200000  60240   60000 59000000       8065    283228653   0.005    60       22       3151    2989    4354    6047    7218    443376  9380037     220
   5  2200000    156     156        0          1       576392   0.000    60       22       3681    2801    4044    4388   11667     12138    12286     428
   6  2200000      0       0        0          0            0   0.000    60       22          0       0       0       0       0         0        0       0
"""  # noqa: E501 -- as the tool writes it

CYCLICTEST = """# /dev/cpu_dma_latency set to 0us
policy: fifo: loadavg: 0.32 0.40 0.35 1/250 2022

T: 0 ( 2013) P:80 I:1000 C:      0 Min:1000000 Act:    0 Avg:    0 Max:       0
T: 1 ( 2014) P:80 I:1500 C:      0 Min:1000000 Act:    0 Avg:    0 Max:       0
\x1b[2AT: 0 ( 2013) P:80 I:1000 C:  10000 Min:      6 Act:   18 Avg:   16 Max:     306
T: 1 ( 2014) P:80 I:1500 C:   6666 Min:      5 Act:   13 Avg:   17 Max:     342
"""
CYCLICTEST_NS = (
    "T: 0 ( 2013) P:80 I:1000 C:  10000 Min:   6123 Act:   18123 Avg:   16004 Max:  306002 SMI:       0\n"
)
#: With -H, a last column sums up the threads.
CYCLICTEST_ALL = """# /dev/cpu_dma_latency set to 0us
# Histogram
000002 000003\t000001\t000004
000003 000001\t000002\t000003
# Total: 000000004 000000003 000000007
# Min Latencies: 00002 00002 00002
# Avg Latencies: 00002 00002 00002
# Max Latencies: 00003 00003 00003
# Histogram Overflows: 00000 00000 00000
# Histogram Overflow at cycle number:
# Thread 0:
# Thread 1:
"""
#: The buckets filtered out, as a summary for mail.
CYCLICTEST_SUMMARY = "# Histogram\n" + CYCLICTEST_ALL[CYCLICTEST_ALL.index("# Total") :]

SELFISH = (
    "# Benchmark Method: selfish detour\n# Threshold [ns]: 100.000\n# Time [ns]\tselfish duration [ns]\n"
    "1000\t250\n4001000\t1750\n# Measurement period: 0.008000000 s\n"
)
GERMAN = SELFISH.replace("Time", "Zeit für")


def written(folder: Path, content: str | bytes, assumed: Assumed = registry.NOTHING) -> list[Trace]:
    (folder / "file.txt").write_bytes(content if isinstance(content, bytes) else content.encode())
    return registry.read(folder / "file.txt", assumed)


# What is in the file is in the trace


def test_osjitter_has_totals_and_percentiles(tmp_path: Path) -> None:
    zero, five, six = written(tmp_path, OSJITTER)
    figures = detour_figures(zero)
    assert (zero.format, zero.cpu, zero.span_ns, zero.threshold_ns) == ("osjitter", 0, 60e9, None)
    assert (figures.detours, figures.maximum_ns) == (60240, 9_380_037)
    assert figures.noise_ratio == pytest.approx(0.283228653 / 60)
    assert figures.percentiles_ns == {"median": 3151, "p90": 6047, "p99": 7218, "p99.9": 443376}
    assert "later ones may be longer" in zero.remarks[0] and not five.remarks
    assert list(detour_figures(five).percentiles_ns) == [
        "median",
        "p90",
        "p99",
    ]  # of 156, none is beyond 99.9 %
    assert six.detours == 0 and detour_figures(six).noise_ratio == 0


def test_cyclictest_without_a_histogram_has_the_last_figures_of_each_thread(tmp_path: Path) -> None:
    zero, one = written(tmp_path, CYCLICTEST)
    assert zero.latencies and zero.detours == 10000 and one.detours == 6666
    figures = detour_figures(zero)
    assert (figures.minimum_ns, figures.mean_ns, figures.maximum_ns) == (6e3, 16e3, 306e3)
    (nano,) = written(tmp_path, CYCLICTEST_NS)
    assert detour_figures(nano).maximum_ns == 306_002


def test_cyclictest_s_samples_are_latencies_one_by_one(tmp_path: Path) -> None:
    text = "# /dev/cpu_dma_latency set to 0us\nThread 0 Interval: 1000\n"
    text += "".join(f"{i % 2:8d}:{i // 2:8d}:{10 + i:8d}\n" for i in range(7))
    zero, one = written(tmp_path, text)
    assert zero.duration_ns.tolist() == [10e3, 12e3, 14e3, 16e3] and zero.latencies
    assert detour_figures(one).maximum_ns == 15e3


def test_cyclictest_s_sum_of_threads_is_no_thread(tmp_path: Path) -> None:
    assert [trace.detours for trace in written(tmp_path, CYCLICTEST_ALL)] == [4, 3]
    traces = written(tmp_path, CYCLICTEST_SUMMARY)
    assert [(trace.detours, trace.listed, detour_figures(trace).maximum_ns) for trace in traces] == [
        (4, 0, 3e3),
        (3, 0, 3e3),
    ]


def test_cyclictest_s_json_in_ns(tmp_path: Path) -> None:
    thread = {
        "histogram": {"900": 3, "1200": 1},
        "cycles": 5,
        "min": 900,
        "max": 7000,
        "avg": 2200.0,
        "cpu": 2,
    }
    found = {"cmdline:": "cyclictest -N -h 2000", "resolution_in_ns": 1, "thread": {"0": thread}}
    (trace,) = written(tmp_path, json.dumps(found))
    figures = detour_figures(trace)
    assert (figures.minimum_ns, figures.mean_ns, figures.maximum_ns) == (900, 2200, 7000)
    assert trace.over == 1 and "1 are longer than the last bucket" in trace.doubt


@pytest.mark.parametrize("name", ["noise-250hz-tick.txt", "noise-10hz-2500us.txt"])
def test_the_public_simulator_s_traces_are_noise(name: str, tmp_path: Path) -> None:
    """Two columns with a tab, no header, no newline at the end, no period."""
    text = published.trace(name)
    (trace,) = written(tmp_path, text)
    rows = [tuple(map(float, line.split())) for line in text.splitlines()]
    assert trace.format == "noise" and list(zip(trace.start_ns, trace.duration_ns)) == rows
    last, count = rows[-1][0], len(rows)
    assert trace.span_ns == pytest.approx(last + (last - rows[0][0]) / (count - 1))
    assert any("no newline" in remark for remark in trace.remarks)


@pytest.mark.parametrize(
    "head", ["# Period: 1000000 ns", "# Measurement period: 0.001 s", "# of a node\n# Period: 1000000"]
)
def test_a_noise_file_is_known_by_a_period_before_its_data(head: str, tmp_path: Path) -> None:
    (trace,) = written(tmp_path, f"{head}\n0\t500\n250000 1500.5\n")
    assert (trace.format, trace.span_ns, trace.noise_ns) == ("noise", 1e6, 2000.5) and not trace.remarks


def test_overlapping_detours_follow_each_other_as_in_the_simulator(tmp_path: Path) -> None:
    (trace,) = written(tmp_path, "# Noise trace\n# Period: 100 ns\n0\t30\n10\t30\n70\t40\n")
    assert trace.start_ns.tolist() == [0, 30, 70] and trace.span_ns == 110
    assert "1 detours begin in another one" in trace.remarks[0]


def test_a_silent_cpu_before_another_is_no_noise_file(tmp_path: Path) -> None:
    silent = SELFISH.replace("1000\t250\n4001000\t1750\n", "")
    zero, one = written(tmp_path, silent + SELFISH)
    assert (zero.format, zero.detours, one.detours) == ("selfish", 0, 2)


# Files that are no text, or text of another encoding


def test_a_mark_of_utf_8_is_skipped_and_named(tmp_path: Path) -> None:
    for text in (SELFISH, OSJITTER, json.dumps({"cmdline:": "cyclictest", "thread": {"0": {
        "cycles": 1, "min": 1, "max": 1, "avg": 1}}})):  # fmt: skip
        plain = written(tmp_path, text)
        marked = written(tmp_path, b"\xef\xbb\xbf" + text.encode())
        assert [trace.detours for trace in marked] == [trace.detours for trace in plain]
        assert all("byte order mark (BOM) of UTF-8" in trace.remarks[-1] for trace in marked)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (SELFISH.encode("utf-16"), "UTF-16 text (byte order mark FF FE)"),
        (b"\xfe\xff" + SELFISH.encode("utf-16-be"), "UTF-16 text (byte order mark FE FF)"),
        (SELFISH.encode("utf-16-le"), "UTF-16LE text (every second byte is 0)"),
        (SELFISH.encode("utf-32"), "UTF-32 text (byte order mark"),
        (GERMAN.encode("latin-1"), "file.txt:3: not text: byte 0xfc in column 9, as in Latin-1"),
        (GERMAN.encode(), "file.txt:3: not text: byte 0xc3 in column 9, as in UTF-8"),
        (SELFISH.replace("250", "25²").encode("latin-1"), "file.txt:4: not text: byte 0xb2 in column 8"),
        (OSJITTER.replace("12286", "1228\xa0").encode("latin-1"), "file.txt:3: not text: byte 0xa0"),
        (SELFISH.encode().replace(b"250", b"\x01\xff"), "control characters: the file is binary"),
        (SELFISH.encode() + SELFISH.encode("utf-16-le"), "file.txt:7: not text: a byte of 0 in column 2"),
        (CYCLICTEST.encode() + b"T\0:\0\n\0", "file.txt:8: not text: a byte of 0 in column 2: the file is"),
        (bytes(range(1, 256)) + b"\0", "binary data, not text"),
        (b"", "file.txt: empty"),
        (b"\xef\xbb\xbf", "file.txt: empty"),
    ],
)  # fmt: skip
def test_another_encoding_is_named(content: bytes, said: str, tmp_path: Path) -> None:
    for assumed in (registry.NOTHING, Assumed(format="selfish")):
        if assumed.format and (said.startswith("binary") or b"TSC" in content or b"T:" in content):
            continue
        with pytest.raises(DataError) as error:
            written(tmp_path, content, assumed)
        assert said in str(error.value) and str(error.value).isprintable()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (OSJITTER[: OSJITTER.index("\n") + 1], "no CPU's line below the heading"),
        (OSJITTER.replace("   428\n", "\n"), "file.txt:3: not a CPU's line"),
        (OSJITTER.replace("   5  22", "   0  22"), "file.txt:3: CPU 0 again"),
        (OSJITTER.replace("60240   60000", "60240   60241"), "impossible, so the line is damaged"),
        (OSJITTER.replace("#delta", "#gamma"), "file.txt:1: the heading lacks #delta"),
        (OSJITTER.replace("   0.000    60 ", "   0.000     0 "), "file.txt:3: a measured time of 0 s"),
        (CYCLICTEST.replace("Min:      5", "Min:     -5"), "file.txt:7: not a thread's line"),
        (CYCLICTEST.replace("Avg:   17", "Avg:    4"), "do not rise; the line is damaged"),
        (CYCLICTEST[: CYCLICTEST.index("\x1b")], "neither a histogram nor a thread's line with a sample"),
        (CYCLICTEST_ALL[: CYCLICTEST_ALL.index("# Max")], "without its '# Max Latencies:' line, so"),
        ("# Noise trace\n5\t5\n", "1 detours and no '# Measurement period: SECONDS s'"),
        ("# Noise trace\n5\t5\n5\t5\n", "2 detours at one time and no '# Measurement"),
        ("# Noise trace\n5\t5\n4\t5\n", "file.txt:3: time runs backwards: 4 ns after 5 ns"),
        ("# Noise trace\n5\tnan\n", "file.txt:2: not a detour"),
        ("# Noise trace\n5\t-5\n", "file.txt:2: not a detour"),
    ],
)  # fmt: skip
def test_a_damage_is_named(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        written(tmp_path, text)
    assert said in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("work", [23.02, 2.5, 117.9])
def test_netgauge_s_ftq_counts_turns_of_its_loop(work: float, tmp_path: Path) -> None:
    """A silent quantum may lack one turn, whatever the work of a turn is. One quantum lost three turns, one
    all of them."""
    turns = [921 - (i % 7 == 3) for i in range(300)]
    turns[100], turns[200] = 918, 0
    lines = "".join(f" {i}                {int(turn * work)}\n" for i, turn in enumerate(turns))
    head = "# Benchmark Method: ftq\n# Compute-Cycle Duration: 1000 usec\n# Number of Cycles/Detours: 300\n"
    (trace,) = written(tmp_path, head + lines)
    assert trace.start_ns.tolist() == [100e6, 200e6] and not trace.doubt
    assert trace.duration_ns[1] == 1e6 and trace.duration_ns[0] == pytest.approx(3e6 / 921, rel=0.1)


def test_a_detour_of_no_length_is_a_detour(tmp_path: Path) -> None:
    (trace,) = written(tmp_path, SELFISH.replace("\t250", "\t0"))
    assert trace.detours == 2 and detour_figures(trace).minimum_ns == 0


TEXTS = (OSJITTER, CYCLICTEST, CYCLICTEST_ALL, CYCLICTEST_SUMMARY, "# Period: 9 ns\n0\t5\n5\t1\n6\t2\n")


@pytest.mark.parametrize("place", range(len(TEXTS)))
def test_a_damaged_text_is_a_trace_or_one_line(place: int, tmp_path: Path) -> None:
    data, chance = TEXTS[place].encode(), random.Random(place)
    words = (
        b"nan",
        b"-1",
        b"1e400",
        b"9" * 20,
        b"\xff",
        b"\0",
        b"\xef\xbb\xbf",
        b"#",
        b"\n",
        b"\x1b[2A",
        b"T:",
    )
    for _ in range(200):
        damaged = bytearray(data)
        at, length = chance.randrange(len(data)), chance.randrange(1, 40)
        how = chance.randrange(4)
        if how == 0:
            del damaged[at:]
        elif how == 1:
            damaged[at:at] = chance.choice(words)
        elif how == 2:
            del damaged[at : at + length]
        else:
            damaged[at:at] = damaged[at : at + length]
        try:
            traces = written(tmp_path, bytes(damaged))
        except DataError as error:
            assert str(error).isprintable() and str(tmp_path) in str(error)
            continue
        for trace in traces:
            detour_figures(trace)


def test_any_text_under_any_name_is_a_trace_or_one_line(tmp_path: Path) -> None:
    """Formats that the user names, of files of other tools, with damages."""
    texts = [text.encode() for text in (*TEXTS, *test_lab_rtla.TEXTS, *test_lab_formats.TEXTS.values())]
    texts += [test_lab_readers.small(name) for name in ("hwlatdetect", "oslat.json", "sysjitter.txt")]
    chance = random.Random(38)
    for _ in range(800):
        name = chance.choice([None, *registry.NAMES])
        content = test_lab_formats.damaged(chance.choice(texts), chance)
        try:
            traces = written(tmp_path, content, Assumed(name, ticks_per_ns=2.6))
        except DataError as error:
            assert str(error).isprintable() and str(tmp_path) in str(error) and len(str(error)) < 700
            continue
        for trace in traces:
            assert not detour_figures(trace).noise_ratio < 0


# lab show


def test_a_pipe_is_refused_since_it_can_be_read_once_only(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="a pipe or device; write its data into a file"):
        registry.read(tmp_path / "pipe")


def test_show_goes_on_past_a_foreign_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, late, foreign = tmp_path / "good.dat", tmp_path / "late.dat", tmp_path / "foreign.dat"
    good.write_text(SELFISH)
    late.write_text(OSJITTER)
    foreign.write_text("hello\n")
    asked = [str(good), str(foreign), str(tmp_path / "absent.dat"), str(late)]
    assert command.main(["show", *asked]) == 1
    said = capsys.readouterr()
    assert "good" in said.out and "late, CPU 5" in said.out
    assert "foreign.dat:1: no format that the lab reads" in said.err and "absent.dat" in said.err
    assert said.err.count("\n") == 2
    assert command.main(["show", "--json", *asked]) == 1
    assert len(json.loads(capsys.readouterr().out)) == 4
    assert command.main(["show", str(good), str(late)]) == 0
    assert command.main(["show", str(tmp_path)]) == 0  # a folder may hold other files
    assert command.main(["show", str(foreign)]) == 1
