# SPDX-License-Identifier: BSD-2-Clause
"""Reads the tools of rt-tests: cyclictest, oslat and hwlatdetect.

cyclictest does not measure detours but how late a timer woke it: each sample is a latency. So it has
percentiles and a longest latency, but no noise ratio, and cannot be replayed. Without a histogram (-h) it
prints a line of figures for each thread, again and again, of which the last one counts, or each sample (-v).
oslat counts turns of a loop by their length in whole µs, rounded up: turns longer than the shortest ones are
detours, and the last bucket holds all longer ones. hwlatdetect lists gaps that it saw with interrupts off,
with their end and length, for only a part of each window.
"""

from __future__ import annotations

import json
import re
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lab.common.errors import DataError
from lab.formats.histogram import Histogram, histogram_trace
from lab.formats.reading import text_lines, text_open
from lab.formats.trace import Totals, Trace, latency_trace, over_doubt

US_NS = 1e3


class LatencyError(DataError):
    """Text that is not of these tools."""


def _whole_words(where: str, words: list[str], count: int, right: str) -> list[int]:
    if len(words) != count or not all(re.fullmatch(r"\d{1,12}", word) for word in words):
        raise LatencyError(f"{where}: not {right}: {' '.join(words)[:60]!r}")
    return [int(word) for word in words]


def _over(histogram: Histogram) -> dict[str, str]:
    """Returns the parameter that says how many samples are beyond the histogram."""
    if not histogram.over:
        return {}
    return {"over": f"{histogram.over} longer than {histogram.beyond_ns / US_NS:g} µs"}


# ---- cyclictest ----


_SUMMARY = re.compile(r"# (Total|Min Latencies|Avg Latencies|Max Latencies|Histogram Overflows):")
#: A thread's line, and the field of its last latency, which is wider if the unit is ns (-N).
_THREAD = re.compile(
    r"T: ?(\d{1,6}) \( ?\d{1,9}\) P: ?\d{1,3} I: ?\d{1,12} C: *(\d{1,18}) Min: *(\d{1,18}) Act:( *\d{1,18}) "
    r"Avg: *(\d{1,18}) Max: *(\d{1,18})(?: |$)"
)
_NS_WIDTH = 8
#: How other lines of its output begin: the load, warnings, the command in front of its first line.
_OTHER_LINES = (
    "policy:", "Max CPUs", "Online CPUs", "INFO:", "WARN", "Thread ", "cyclictest", "running cmd",
)  # fmt: skip
#: A sample with -v: the thread, the cycle, and the latency.
_SAMPLE = re.compile(r" *(\d{1,6}): *\d{1,12}: *(\d{1,12})(?: |$)")


def _cyclictest_line(where: str, line: str) -> tuple[int, Totals] | None:
    """Returns the number and the totals of a thread's line; None if it took no sample yet."""
    match = _THREAD.match(line)
    if not match:
        raise LatencyError(
            f"{where}: not a thread's line: {line[:60]!r}; it is 'T: 0 (PID) P:… I:… C:… Min:… Act:… Avg:… "
            "Max:…'"
        )
    scale = 1.0 if len(match[4]) >= _NS_WIDTH else US_NS
    cycles = int(match[2])
    low, mean, high = (int(match[i]) * scale for i in (3, 5, 6))
    if not cycles:
        return None
    if not low <= mean <= high:
        raise LatencyError(f"{where}: {low:g}, {mean:g}, {high:g} ns do not rise; the line is damaged")
    return int(match[1]), Totals(cycles, mean * cycles, high, low, mean)


@dataclass
class _Cyclictest:
    """What cyclictest printed: buckets (a row is a bucket's µs and a count for each column), the summary
    below them, the threads that it names there, the last line of figures of each thread; and with -v each
    thread's samples, µs."""

    rows: list[tuple[int, list[int]]] = field(default_factory=list)
    summary: dict[str, list[int]] = field(default_factory=dict)
    width: int | None = None
    named: int = 0
    threads: dict[int, Totals] = field(default_factory=dict)
    samples: dict[int, array[int]] = field(default_factory=dict)

    def add(self, where: str, line: str) -> None:
        words = line.split()
        if match := _SUMMARY.match(line):
            found = line[match.end() :].split()
            right = f"a count for each of {self.width or 'the'} threads"
            self.width = self.width or max(len(found), 1)
            self.summary[match[1]] = _whole_words(where, found, self.width, right)
        elif line.startswith("T:"):
            if found_thread := _cyclictest_line(where, line):
                self.threads[found_thread[0]] = found_thread[1]
        elif match := _SAMPLE.match(line):
            self.samples.setdefault(int(match[1]), array("q")).append(int(match[2]))
        elif re.match(r"# Thread \d+:", line):
            self.named += 1
        elif words and words[0].isdigit():
            self.width = self.width or max(len(words) - 1, 1)
            right = f"a bucket, which is µs and a count for each of {self.width} threads"
            index, *counts = _whole_words(where, words, self.width + 1, right)
            if self.rows and index <= self.rows[-1][0]:
                raise LatencyError(f"{where}: bucket {index} after {self.rows[-1][0]}; buckets must rise")
            self.rows.append((index, counts))
        elif words and not line.startswith(("#", *_OTHER_LINES)):
            raise LatencyError(f"{where}: not cyclictest's: {line[:60]!r}; give its whole output")

    @property
    def columns(self) -> int:
        """The number of threads: with -H a last column sums up the others."""
        width = self.width or 0
        return width - 1 if 1 < self.named == width - 1 else width

    def of(self, key: str, thread: int) -> int:
        return self.summary[key][thread] if key in self.summary else 0


def read_cyclictest(path: Path | str) -> list[Trace]:
    """Returns a trace per thread of cyclictest's text: with a histogram (-h) latencies to a µs, else
    totals."""
    found = _Cyclictest()
    for number, line in text_lines(path, LatencyError, "cyclictest's output"):
        found.add(f"{path}:{number}", line)
    if found.summary or found.rows:
        if "Max Latencies" not in found.summary:
            raise LatencyError(
                f"{path}: a histogram without its '# Max Latencies:' line, so it is cut off; give "
                "cyclictest's whole output"
            )
        return [_cyclictest_column(path, found, thread) for thread in range(found.columns)]
    if found.samples and not found.threads:
        return [_cyclictest_samples(path, thread, found) for thread in sorted(found.samples)]
    if not found.threads:
        raise LatencyError(
            f"{path}: neither a histogram nor a thread's line with a sample; let cyclictest end (-D 60)"
        )
    return [
        latency_trace(f"{path}:thread {thread}", "cyclictest", np.empty(0), totals)
        for thread, totals in sorted(found.threads.items())
    ]


def _cyclictest_samples(path: Path | str, thread: int, found: _Cyclictest) -> Trace:
    lengths = np.array(found.samples[thread], dtype=np.float64) * US_NS
    totals = Totals(len(lengths), float(lengths.sum()), float(lengths.max()))
    return latency_trace(f"{path}:thread {thread}", "cyclictest", lengths, totals)


def _cyclictest_column(path: Path | str, found: _Cyclictest, thread: int) -> Trace:
    """Returns a thread's trace; without buckets (filtered out, or all empty) its totals."""
    over, longest = found.of("Histogram Overflows", thread), found.of("Max Latencies", thread) * US_NS
    mean, shortest = found.of("Avg Latencies", thread) * US_NS, found.of("Min Latencies", thread) * US_NS
    source = f"{path}:thread {thread}"
    if not found.rows:
        count = found.of("Total", thread) + over
        totals = Totals(count, mean * count, longest, shortest, mean) if count else Totals(0, 0.0, 0.0)
        return latency_trace(source, "cyclictest", np.empty(0), totals)
    listed = sum(counts[thread] for _, counts in found.rows)
    if "Total" in found.summary and listed != found.of("Total", thread):
        raise LatencyError(
            f"{path}: thread {thread}: {listed} samples in the buckets, but {found.of('Total', thread)} "
            "in '# Total': lines are missing or damaged"
        )
    buckets = [(index * US_NS, counts[thread]) for index, counts in found.rows]
    histogram = Histogram.of(buckets, over, (found.rows[-1][0] + 1) * US_NS)
    totals = histogram.totals(longest_ns=max(longest, histogram.longest_ns), mean_ns=mean or None)
    return histogram_trace(source, "cyclictest", histogram, totals, parameters=_over(histogram))


def _json_of(path: Path | str) -> dict[str, Any]:
    try:
        with text_open(path) as file:
            found = json.loads(file.read())
    except (ValueError, RecursionError) as error:
        raise LatencyError(f"{path}: the JSON is cut off or damaged: {error}") from None
    if not isinstance(found, dict) or not isinstance(found.get("thread"), dict) or not found["thread"]:
        raise LatencyError(
            f"{path}: JSON without 'thread', so not a file of rt-tests; give one written with --json"
        )
    return found


def _number(path: Path | str, thread: dict[str, Any], key: str) -> float:
    value = thread.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < 2.0**53:
        raise LatencyError(f"{path}: a thread's {key!r} is {value!r}; it must be a number from 0 on")
    return float(value)


def _json_buckets(path: Path | str, thread: dict[str, Any]) -> list[tuple[int, int]]:
    found = thread.get("histogram", {})
    try:
        buckets = sorted((int(key), int(count)) for key, count in found.items())
    except (AttributeError, TypeError, ValueError, OverflowError):
        raise LatencyError(f"{path}: the histogram does not map µs to counts; the file is damaged") from None
    if any(key < 0 or not 0 <= count < 2**48 for key, count in buckets):
        raise LatencyError(f"{path}: the histogram has a negative or too large number; the file is damaged")
    return buckets


def read_rttests_json(path: Path | str) -> list[Trace]:
    """Returns a trace per thread of what cyclictest or oslat write with --json."""
    found = _json_of(path)
    command = str(found.get("cmdline:", found.get("cmdline", "")))
    tool = Path(command.split(" ")[0]).name
    if tool not in ("cyclictest", "oslat"):
        raise LatencyError(
            f"{path}: JSON of {tool or 'an unknown tool'!r}; the lab reads only cyclictest's and oslat's"
        )
    # cyclictest -N measures in ns and says so here.
    scale = 1.0 if found.get("resolution_in_ns") == 1 else US_NS
    traces = []
    for key, thread in found["thread"].items():
        if not isinstance(thread, dict):
            raise LatencyError(f"{path}: thread {key[:20]!r} is not an object")
        cpu = thread.get("cpu") if isinstance(thread.get("cpu"), int) else None
        buckets = _json_buckets(path, thread)
        parameters = {"command": command}
        if tool == "oslat":
            longest = _number(path, thread, "max") * US_NS
            span_ns = _number(path, thread, "duration") * 1e9
            traces.append(_oslat(path, cpu, buckets, longest, span_ns, parameters))
            continue
        traces.append(_json_latencies(path, key, thread, buckets, parameters, scale))
    return traces


def _json_latencies(
    path: Path | str,
    key: str,
    thread: dict[str, Any],
    buckets: list[tuple[int, int]],
    parameters: dict[str, str],
    scale: float,
) -> Trace:
    """Returns the trace of a thread of cyclictest; `scale` is the unit of its numbers in ns."""
    cycles = int(_number(path, thread, "cycles"))
    low, mean, high = (_number(path, thread, name) * scale for name in ("min", "avg", "max"))
    listed = sum(count for _, count in buckets)
    over = max(cycles - listed, 0) if buckets else 0
    beyond = (buckets[-1][0] + 1) * scale if buckets else 0.0
    histogram = Histogram.of([(value * scale, count) for value, count in buckets], over, beyond)
    cpu = thread.get("cpu")
    return histogram_trace(
        f"{path}:thread {key}",
        "cyclictest",
        histogram,
        Totals(cycles, mean * cycles, high, low, mean, histogram.percentiles()),
        parameters=parameters,
        cpu=cpu if isinstance(cpu, int) and not isinstance(cpu, bool) else None,
    )


# ---- oslat ----


def _oslat(
    path: Path | str,
    cpu: int | None,
    buckets: list[tuple[int, int]],
    longest_ns: float,
    span_ns: float,
    parameters: dict[str, str],
) -> Trace:
    """Returns one CPU's trace: turns longer than the shortest are detours, each the middle of its µs."""
    filled = [us for us, count in buckets if count]
    if not filled:
        raise LatencyError(f"{path}: CPU {cpu}: all buckets are empty")
    last_us = buckets[-1][0]
    middles = [((us - 0.5) * US_NS, count) for us, count in buckets if filled[0] < us < last_us]
    over = buckets[-1][1] if last_us > filled[0] else 0
    histogram = Histogram.of(middles, over, (last_us - 1) * US_NS)
    lengths = histogram.listed()
    totals = histogram.totals(longest_ns=max(longest_ns, histogram.longest_ns) if over else None)
    return Trace(
        f"{path}:CPU {cpu}", "oslat", np.zeros(len(lengths)), lengths, span_ns, filled[0] * US_NS, "Linux",
        cpu, {**parameters, **_over(histogram)}, starts_known=False, totals=totals, doubt=over_doubt(over),
        over=min(over, len(lengths)),
    )  # fmt: skip


def read_oslat(path: Path | str) -> list[Trace]:
    """Returns a trace per CPU of oslat's text."""
    cpus: list[int] = []
    rows: list[tuple[int, list[int]]] = []
    longest: list[int] = []
    spans: list[float] = []
    for number, line in text_lines(path, LatencyError, "oslat's output"):
        where, (head, _, rest) = f"{path}:{number}", line.strip().partition(":")
        words = rest.partition("(")[0].split()
        if head == "Core":
            cpus = _whole_words(where, words, max(len(words), 1), "the numbers of cores")
        elif match := re.fullmatch(r"(\d{1,6}) \(us\)", head):
            right = f"a bucket, which is a count for each of {len(cpus)} cores"
            rows.append((int(match[1]), _whole_words(where, words, len(cpus), right)))
        elif head == "Maximum":
            longest = _whole_words(where, words, len(cpus), f"µs for each of {len(cpus)} cores")
        elif head == "Duration":
            if len(words) != len(cpus) or not all(
                re.fullmatch(r"\d{1,9}(\.\d{1,9})?", word) for word in words
            ):
                raise LatencyError(
                    f"{where}: not seconds for each of {len(cpus)} cores: {line.strip()[:60]!r}"
                )
            spans = [float(word) * 1e9 for word in words]
    if not cpus or not rows or not longest or not spans:
        raise LatencyError(
            f"{path}: no table with cores, buckets, 'Maximum' and 'Duration': the file is cut off; give "
            "oslat's whole output"
        )
    return [
        _oslat(path, cpu, [(us, counts[i]) for us, counts in rows], longest[i] * US_NS, spans[i], {})
        for i, cpu in enumerate(cpus)
    ]


# ---- hwlatdetect ----

_GAP = re.compile(r"ts: (\d{1,12})\.(\d{9}), inner:(\d{1,9}), outer:(\d{1,9})")


def read_hwlatdetect(path: Path | str) -> list[Trace]:
    """Returns the one trace of hwlatdetect's output or report: each sample is a gap as long as the longer of
    its two figures. Only a part of each window is measured (`Sample width` of `Sample window`)."""
    seconds, window, width, threshold, stated = 0.0, 1.0, 1.0, None, None
    starts, lengths = [], []
    for number, line in text_lines(path, LatencyError, "hwlatdetect's output"):
        text = line.strip()
        if "Traceback" in text or "DetectorNotAvailable" in text:
            raise LatencyError(
                f"{path}:{number}: hwlatdetect did not measure, because that kernel has no hwlat tracer; run "
                "it on a kernel with CONFIG_HWLAT_TRACER"
            )
        if match := re.search(r"test duration (\d{1,9}) seconds", text):
            seconds = float(match[1])
        elif match := re.match(r"Sample window:\s+(\d{1,12})us", text):
            window = float(match[1])
        elif match := re.match(r"Sample width:\s+(\d{1,12})us", text):
            width = float(match[1])
        elif match := re.match(r"Latency threshold: (\d{1,9})us", text):
            threshold = float(match[1]) * US_NS
        elif match := re.match(r"Samples recorded: (\d{1,9})$", text):
            stated = int(match[1])
        elif text.startswith("ts:"):
            gap = _GAP.match(text)
            if not gap:
                raise LatencyError(
                    f"{path}:{number}: not a sample: {text[:60]!r}; it must be 'ts: S.N, inner:US, outer:US'"
                )
            start = int(gap[1]) * 10**9 + int(gap[2])
            if starts and start < starts[-1]:
                raise LatencyError(f"{path}:{number}: time runs backwards from the sample before")
            starts.append(start)
            lengths.append(max(int(gap[3]), int(gap[4])) * US_NS)
    if not seconds or stated is None:
        raise LatencyError(
            f"{path}: no 'test duration' or no 'Samples recorded'; give hwlatdetect's whole output"
        )
    if stated != len(starts):
        raise LatencyError(
            f"{path}: {stated} samples recorded, but {len(starts)} lines of them: lines are missing"
        )
    if not 0 < width <= window:
        raise LatencyError(f"{path}: a sample width of {width:g} µs in a window of {window:g} µs: impossible")
    origin = starts[0] if starts else 0
    measured_ns = seconds * 1e9 * width / window
    return [
        Trace(
            str(path), "hwlatdetect", np.array(starts, dtype=np.float64) * 0.0, np.array(lengths,
            dtype=np.float64), measured_ns, threshold, "Linux", None,
            {"first sample": f"{origin / 1e9:.9f} s", "share of each window": f"{width / window:g}"},
            starts_known=False,
        )
    ]  # fmt: skip
