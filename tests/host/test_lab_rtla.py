# SPDX-License-Identifier: BSD-2-Clause
"""What Linux's rtla and osnoise tracer write, in the forms of their versions: read as it is meant, with
nothing that the text does not say. The texts are made by hand after the tools' source."""

from __future__ import annotations

import math
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

HEAD = "# RTLA osnoise histogram\n# Time unit is microseconds (us)\n# Duration:   0 00:01:00\n"
OVER = (
    HEAD + "Index   CPU-000   CPU-001\n"
    "1          5600      1360 \n"
    "2            20         4 \n"
    "over:         9         0 \n"
    "count:     5629      1364 \n"
    "min:          1         1 \n"
    "avg:       2.03      1.00 \n"
    "max:       2955         2 \n"
)
SILENT_OLD = HEAD + "Index\nover: \ncount:\nmin:  \navg:  \nmax:  \n"
SILENT = HEAD + "Index\nover: 0\ncount: 0\nmin: 0\navg: 0\nmax: 0\n"
#: rtla writes this if all detours are beyond the last bucket.
UNCOUNTED = HEAD + "Index   CPU-000   CPU-003\nover: 0\ncount: 0\nmin: 0\navg: 0\nmax: 0\n"
HWNOISE = """                                          Hardware-related Noise
duration:   0 00:10:00 | time is in us
CPU Period       Runtime        Noise  % CPU Aval   Max Noise   Max Single           HW          NMI
  0 #599       449250000           20    99.99999           5            3            7            0
  3 #599       449250000            0   100.00000           0            0            0            0
"""
TIMERLAT_USER = """                                     Timer Latency
  0 00:00:05   |          IRQ Timer Latency (us)        |         Thread Timer Latency (us)      |    Ret user Timer Latency (us)
CPU COUNT      |      cur       min       avg       max |      cur       min       avg       max |      cur       min       avg       max
  1 #5000      |        0         0         1        15 |       10         3         9        31 |       12         4        11        40
  7 #4999      |        3         0         1        12 |       10         3         9        23 |        -         -         -         -
---------------|----------------------------------------|---------------------------------------|---------------------------------------
ALL #9999   e0 |                  0         1        15 |                  3         9        31 |                  4        11        40
"""  # noqa: E501 -- as the tool writes it
TIMERLAT_STOPPED = """# RTLA timerlat histogram
# Time unit is microseconds (us)
# Duration:   0 00:00:01
Index   IRQ-000   Thr-000   Usr-000
6             1         0         0
21            0         1         0
over:         0         0         0
count:        1         1         0
min:          6        21         -
avg:          6        21         -
max:          6        21         -
ALL:        IRQ       Thr       Usr
count:        1         1         0
rtla timerlat hit stop tracing
  12 Saving trace to timerlat_trace.txt
"""
EVENT = (
    "  osnoise/1-961  [001] ....  100.000009: sample_threshold: start 100.000000000 duration 9000 ns "
    "interferences 1\n"
)
IRQ = (
    "  osnoise/1-961  [001] d.h.  {}.000009: irq_noise: local_timer:236 start {}.000000000 duration 1845 ns\n"
)


def written(folder: Path, text: str, assumed: Assumed = registry.NOTHING) -> list[Trace]:
    (folder / "rtla.txt").write_text(text)
    return registry.read(folder / "rtla.txt", assumed)


def test_the_longest_is_the_file_s_maximum_also_beyond_the_last_bucket(tmp_path: Path) -> None:
    zero, one = written(tmp_path, OVER)
    assert detour_figures(zero).maximum_ns == 2_955_000 and detour_figures(one).maximum_ns == 2_000
    assert zero.over == 9 and "p99.9" not in detour_figures(zero).percentiles_ns
    # The file's mean is of lengths that are cut off to a µs.
    assert 2.03e3 <= detour_figures(zero).mean_ns < 4.04e3
    assert zero.noise_ns == pytest.approx(5629 * detour_figures(zero).mean_ns)


def test_no_threshold_is_stated_that_the_file_does_not_state(tmp_path: Path) -> None:
    for text in (OVER, SILENT, HWNOISE, EVENT):
        assert all(trace.threshold_ns is None for trace in written(tmp_path, text))


@pytest.mark.parametrize("text", [SILENT_OLD, SILENT])
def test_a_silent_session_is_silence_of_no_cpu(text: str, tmp_path: Path) -> None:
    (trace,) = written(tmp_path, text)
    assert (trace.detours, trace.noise_ns, trace.span_ns, trace.cpu) == (0, 0, 60e9, None)


def test_hwnoise_has_two_counters(tmp_path: Path) -> None:
    zero, three = written(tmp_path, HWNOISE)
    assert (zero.format, zero.detours, zero.noise_ns, zero.span_ns) == ("rtla-top", 7, 20e3, 449.25e9)
    assert zero.parameters == {"periods": "599", "HW": "7", "NMI": "0"}
    assert three.cpu == 3 and three.detours == 0 and detour_figures(zero).maximum_ns == 3e3


@pytest.mark.parametrize("text", [HWNOISE, TIMERLAT_USER])
def test_a_screen_with_colours_is_read_as_without(text: str, tmp_path: Path) -> None:
    lines = text.splitlines()
    lines[0], lines[2] = f"\x1bc\x1b[2;37;40m{lines[0]}\x1b[0;0;0m", f"\x1b[2;30;47m{lines[2]}\x1b[0;0;0m"
    plain = [(trace.source, trace.detours, trace.noise_ns) for trace in written(tmp_path, text)]
    screens = "\n".join(lines) + "\n" + "\n".join(lines) + "\n"
    assert [(t.source, t.detours, t.noise_ns) for t in written(tmp_path, screens)] == plain


def test_user_threads_have_a_column_of_their_own(tmp_path: Path) -> None:
    traces = written(tmp_path, TIMERLAT_USER)
    assert [trace.source.rpartition(":")[2] for trace in traces] == [
        f"CPU {cpu} {part}" for cpu in (1, 7) for part in ("IRQ", "thread", "user")
    ]
    assert [detour_figures(trace).maximum_ns for trace in traces] == [15e3, 31e3, 40e3, 12e3, 23e3, None]
    assert traces[5].detours == 0 and all(trace.latencies for trace in traces)
    irq, thread, user = written(tmp_path, TIMERLAT_STOPPED)
    assert (irq.detours, thread.detours, user.detours) == (1, 1, 0)
    assert detour_figures(irq).maximum_ns == 6e3 and detour_figures(thread).maximum_ns == 21e3


def test_one_event_takes_no_share_of_an_unknown_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (trace,) = written(tmp_path, EVENT)
    figures = detour_figures(trace)
    assert math.isnan(trace.span_ns) and math.isnan(figures.noise_ratio) and math.isnan(figures.per_second)
    assert figures.maximum_ns == 9000 and not trace.complete and "--span" in trace.remarks[0]
    (trace,) = written(tmp_path, EVENT, Assumed(span_ns=2e9))
    assert detour_figures(trace).noise_ratio == pytest.approx(4.5e-6) and not trace.remarks
    path = str(tmp_path / "rtla.txt")
    assert command.main(["show", path]) == 0
    shown = capsys.readouterr().out
    assert "100 %" not in shown and "only one event" in shown
    assert command.main(["convert", path, "-o", str(tmp_path / "out")]) == 1
    assert "the measured time is unknown" in capsys.readouterr().err
    for kind in ("series", "cdf"):
        assert command.main(["plot", kind, path, "-o", str(tmp_path / "out.png")]) == 1
        assert "the measured time is unknown" in capsys.readouterr().err


def test_a_trace_without_periods_was_measured_from_its_first_line_to_its_last(tmp_path: Path) -> None:
    """Nine interrupts on another CPU's lines, which are no detours, and the event: ten lines in 18 s."""
    lines = [IRQ.format(second, second) for second in range(101, 120, 2)]
    (trace,) = written(tmp_path, EVENT + "".join(lines))
    assert trace.span_ns == pytest.approx(19e9, rel=1e-5) and trace.start_ns.tolist() == [0]
    assert "first to the last line" in trace.remarks[0]


def test_trace_cmd_pads_names_and_the_tracer_says_what_it_lost(tmp_path: Path) -> None:
    padded = EVENT.replace("sample_threshold: ", "sample_threshold:     ").replace(" ....", "")
    (trace,) = written(tmp_path, padded)
    assert trace.duration_ns.tolist() == [9000] and not trace.doubt
    (trace,) = written(tmp_path, EVENT + "CPU:1 [LOST 17 EVENTS]\nCPU:2 [LOST EVENTS]\n")
    assert "lost 17 events here, so all figures are lower bounds" in trace.doubt


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            UNCOUNTED,
            "columns for CPU-000, CPU-003, but no bucket and a summary of zeros: all lengths are beyond",
        ),
        (OVER[: OVER.index("min:")], "no 'max:' line: the file is cut off"),
        (OVER[: OVER.index("over:")], "no 'count:' line: the file is cut off, or was made with --no-header"),
        (SILENT[: SILENT.index("count")], "no 'count:' line"),
        (OVER.replace("count:     5629", "count:     5628"), "CPU 0: 5629 detours in the buckets, but 5628"),
        (OVER.replace("min:          1 ", "min:       9999 "), "CPU-000: min above max"),
        (OVER.replace("avg:       2.03 ", "avg:       nan "), "rtla.txt:10: not a summary"),
        (OVER.replace("avg:       2.03 ", "avg:  "), "'avg:' does not have 2 columns"),
        (OVER + OVER, "rtla.txt:15: a second heading; give the output of one session"),
        (OVER.replace("0 00:01:00", "0 00:00:00"), "no '# Duration: D HH:MM:SS' above 0"),
        (HWNOISE.replace("99.99999           5", "99.99999           x"), "rtla.txt:4: not a CPU's line"),
        (HWNOISE.replace(" 20    99", " 449250001    99"), "rtla.txt:4: noise of 449250001000 ns"),
        (
            TIMERLAT_USER.replace("4        11        40\n  7", "4        41        40\n  7"),
            "user: 4000, 41000",
        ),
        (EVENT.replace("duration 9000", "duration -9000"), "rtla.txt:1: not a detour"),
        (EVENT + EVENT.replace("start 100", "start 99"), "rtla.txt:2: time runs backwards on CPU 1"),
    ],
)
def test_a_damage_is_named(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        written(tmp_path, text)
    assert said in str(error.value) and "\n" not in str(error.value)


TEXTS = (OVER, SILENT_OLD, SILENT, UNCOUNTED, HWNOISE, TIMERLAT_USER, TIMERLAT_STOPPED, EVENT * 3)


@pytest.mark.parametrize("place", range(len(TEXTS)))
def test_a_damaged_text_is_a_trace_or_one_line(place: int, tmp_path: Path) -> None:
    data, chance = TEXTS[place].encode(), random.Random(place)
    path = tmp_path / "damaged.txt"
    for _ in range(200):
        damaged = bytearray(data)
        at, length = chance.randrange(len(data)), chance.randrange(1, 40)
        how = chance.randrange(5)
        if how == 0:
            del damaged[at:]
        elif how == 1:
            damaged[at] = chance.choice(b"0123456789 .-#:|\n\txe\xff\0\x1b")
        elif how == 2:
            del damaged[at : at + length]
        elif how == 3:
            damaged[at:at] = damaged[at : at + length]
        else:
            lines = bytes(damaged).split(b"\n")
            i, j = chance.randrange(len(lines)), chance.randrange(len(lines))
            lines[i], lines[j] = lines[j], lines[i]
            damaged = bytearray(b"\n".join(lines))
        path.write_bytes(damaged)
        try:
            traces = registry.read(path)
        except DataError as error:
            assert str(error).isprintable() and str(path) in str(error)
            continue
        for trace in traces:
            found = detour_figures(trace)
            assert not found.noise_ratio < 0 and not found.noise_ratio > 1.0001
