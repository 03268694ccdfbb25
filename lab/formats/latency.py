# SPDX-License-Identifier: BSD-2-Clause
"""Reads Linux's latency tools: cyclictest, oslat and hwlatdetect (rt-tests), and `rtla timerlat`.

cyclictest and timerlat do not measure detours but how late a timer woke them: each sample is a latency. They
have percentiles and a longest latency, but no noise ratio, and cannot be replayed. oslat counts turns of a
loop by their length in whole µs, rounded up: turns longer than the shortest ones are detours, and the last
bucket holds all longer ones. hwlatdetect lists gaps that it saw with interrupts off, with their end and
length, for only a part of each window.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from lab.common.errors import DataError
from lab.formats.columns import ROWS_MAX
from lab.formats.osnoise import text_lines
from lab.formats.trace import Totals, Trace

US_NS = 1e3


class LatencyError(DataError):
    """Text that is not of these tools."""


def _whole_words(where: str, words: list[str], count: int, right: str) -> list[int]:
    if len(words) != count or not all(re.fullmatch(r"\d{1,12}", word) for word in words):
        raise LatencyError(f"{where}: not {right}: {' '.join(words)[:60]!r}")
    return [int(word) for word in words]


def _histogram(
    path: Path | str, name: str, of: str, buckets: list[tuple[float, int]], over: tuple[float, int, float]
) -> tuple[np.ndarray, Totals, dict[str, str]]:
    """Returns lengths, totals and parameters of (length, count) buckets. `over` is the last bucket's end, the
    number of longer samples, and the longest one."""
    counts = [count for _, count in buckets]
    total = sum(counts) + over[1]
    if total > ROWS_MAX:
        raise LatencyError(f"{path}: {of}: more than {ROWS_MAX} samples; this is not a histogram of {name}")
    lengths = np.concatenate(
        [np.repeat([length for length, _ in buckets], counts), np.full(over[1], over[0])]
    )
    longest = max(over[2], float(lengths.max()) if total else 0.0)
    totals = Totals(total, float(lengths.sum()), longest)
    return lengths, totals, {"over": f"{over[1]} longer than {over[0] / US_NS:g} µs"} if over[1] else {}


def over_doubt(count: int) -> str:
    """Returns why figures are doubtful if `count` lengths are beyond the histogram; empty if none is."""
    return (
        f"{count} are longer than the last bucket, by an unknown amount, so the sum is a lower bound; run "
        "the tool with more buckets"
        if count
        else ""
    )


# ---- cyclictest ----


def read_cyclictest(path: Path | str) -> list[Trace]:
    """Returns a trace per thread of `cyclictest -h`."""
    rows: list[tuple[int, list[int]]] = []
    summary: dict[str, list[int]] = {}
    width = None
    for number, line in text_lines(path, LatencyError, "cyclictest's output"):
        where, words = f"{path}:{number}", line.split()
        if match := re.match(
            r"# (Total|Min Latencies|Avg Latencies|Max Latencies|Histogram Overflows):", line
        ):
            found = line[match.end() :].split()
            width = width or len(found)
            summary[match[1]] = _whole_words(where, found, width, f"a count for each of {width} threads")
        elif words and not line.startswith(("#", "T:")):
            width = width or len(words) - 1
            index, *counts = _whole_words(
                where, words, width + 1, f"a bucket, which is µs and a count for each of {width} threads"
            )
            if rows and index <= rows[-1][0]:
                raise LatencyError(f"{where}: bucket {index} after {rows[-1][0]}; buckets must rise")
            rows.append((index, counts))
    if not rows or "Total" not in summary:
        raise LatencyError(
            f"{path}: no histogram with its '# Total:' line; give the output of `cyclictest -h 200`"
        )
    traces = []
    for thread in range(width or 0):
        over = summary.get("Histogram Overflows", [0] * (width or 0))[thread]
        listed = sum(counts[thread] for _, counts in rows)
        if listed != summary["Total"][thread]:
            raise LatencyError(
                f"{path}: thread {thread}: {listed} samples in the buckets, but {summary['Total'][thread]} "
                "in '# Total': lines are missing or damaged"
            )
        longest = summary.get("Max Latencies", [0] * (width or 0))[thread] * US_NS
        last = (rows[-1][0] + 1) * US_NS
        buckets = [(index * US_NS, counts[thread]) for index, counts in rows]
        lengths, totals, parameters = _histogram(
            path, "latencies", f"thread {thread}", buckets, (last, over, longest)
        )
        traces.append(
            _latencies(
                f"{path}:thread {thread}",
                "cyclictest",
                lengths,
                totals,
                parameters,
                over_doubt(over),
                over=over,
            )
        )
    return traces


def _latencies(
    source: str,
    name: str,
    lengths: np.ndarray,
    totals: Totals,
    parameters: dict[str, str],
    doubt: str = "",
    cpu: int | None = None,
    span_ns: float = math.nan,
    over: int = 0,
) -> Trace:
    return Trace(
        source, name, np.zeros(len(lengths)), lengths, span_ns, None, "Linux", cpu, parameters,
        starts_known=False, totals=totals, latencies=True, doubt=doubt, over=over,
    )  # fmt: skip


def _json_of(path: Path | str) -> dict[str, Any]:
    try:
        found = json.loads(Path(path).read_bytes())
    except ValueError as error:
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
    except (AttributeError, TypeError, ValueError):
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
    traces = []
    for key, thread in found["thread"].items():
        if not isinstance(thread, dict):
            raise LatencyError(f"{path}: thread {key[:20]!r} is not an object")
        cpu = thread.get("cpu") if isinstance(thread.get("cpu"), int) else None
        buckets = _json_buckets(path, thread)
        longest = _number(path, thread, "max") * US_NS
        parameters = {"command": command}
        if tool == "oslat":
            span_ns = _number(path, thread, "duration") * 1e9
            traces.append(_oslat(path, cpu, buckets, longest, span_ns, parameters))
            continue
        cycles, mean = int(_number(path, thread, "cycles")), _number(path, thread, "avg") * US_NS
        lengths, _, _ = _histogram(
            path, "latencies", key, [(us * US_NS, count) for us, count in buckets], (0.0, 0, longest)
        )
        totals = Totals(cycles, mean * cycles, longest, _number(path, thread, "min") * US_NS, mean)
        source = f"{path}:thread {key}"
        traces.append(_latencies(source, "cyclictest", lengths, totals, parameters, cpu=cpu))
    return traces


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
    lengths, totals, more = _histogram(
        path, "detours", f"CPU {cpu}", middles, ((last_us - 1) * US_NS, over, longest_ns if over else 0.0)
    )
    return Trace(
        f"{path}:CPU {cpu}", "oslat", np.zeros(len(lengths)), lengths, span_ns, filled[0] * US_NS, "Linux",
        cpu, {**parameters, **more}, starts_known=False, totals=totals, doubt=over_doubt(over), over=over,
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
    origin = starts[0] if starts else 0
    measured_ns = seconds * 1e9 * min(width / window, 1.0) if window else 0.0
    return [
        Trace(
            str(path), "hwlatdetect", np.array(starts, dtype=np.float64) * 0.0, np.array(lengths,
            dtype=np.float64), measured_ns, threshold, "Linux", None,
            {"first sample": f"{origin / 1e9:.9f} s", "share of each window": f"{width / window:g}"},
            starts_known=False,
        )
    ]  # fmt: skip


# ---- rtla timerlat ----

_TIMERLAT_ROW = re.compile(
    r"\s*(\d{1,5}) #(\d{1,12})\s*\|((?:\s+\d{1,12}){4}) \|((?:\s+\d{1,12}){4})(?: \|.*)?\s*$"
)


def read_timerlat_top(path: Path | str) -> list[Trace]:
    """Returns two traces per CPU of `rtla timerlat top -q`, of the interrupt and of the thread: totals only.
    Of several screens the last one counts."""
    rows: dict[int, list[Trace]] = {}
    scale = US_NS
    begun = False
    for number, line in text_lines(path, LatencyError, "rtla's output"):
        if "Timer Latency (" in line:
            scale = 1.0 if "(ns)" in line else US_NS
        if line.split()[:2] == ["CPU", "COUNT"]:
            rows, begun = {}, True
            continue
        match = _TIMERLAT_ROW.match(line)
        if not match:
            if begun and re.match(r"\s*\d+ #", line):
                raise LatencyError(
                    f"{path}:{number}: not a CPU's line: {line[:60]!r}; it must be CPU, #count, and cur, "
                    "min, avg, max of the interrupt and of the thread"
                )
            continue
        cpu, count = int(match[1]), int(match[2])
        rows[cpu] = []
        for part, figures in (("IRQ", match[3]), ("thread", match[4])):
            _, low, mean, high = (int(word) * scale for word in figures.split())
            if not low <= mean <= high:
                raise LatencyError(f"{path}:{number}: {part}: {low:g}, {mean:g}, {high:g} ns do not rise")
            totals = Totals(count, mean * count, high, low, mean)
            rows[cpu].append(
                _latencies(f"{path}:CPU {cpu} {part}", "timerlat-top", np.empty(0), totals, {}, cpu=cpu)
            )
    if not rows:
        raise LatencyError(f"{path}: no CPU's line; give the output of `rtla timerlat top -q`")
    return [trace for cpu in sorted(rows) for trace in rows[cpu]]


def _timerlat_row(where: str, words: list[str], names: list[str], kind: str) -> list[int]:
    index = "an index and " if kind == "a bucket" else ""
    right = f"{kind}; it must be {index}a count for each of {len(names)} columns"
    return _whole_words(where, words, len(names) + (kind == "a bucket"), right)


def read_timerlat_hist(path: Path | str) -> list[Trace]:
    """Returns a trace for each column of `rtla timerlat hist`: interrupt, thread and, if measured, return to
    user space of each CPU. A latency is the middle of its bucket."""
    names: list[str] = []
    rows: list[tuple[int, list[int]]] = []
    summary: dict[str, list[int]] = {}
    scale, span_ns = US_NS, math.nan
    for number, line in text_lines(path, LatencyError, "rtla's output"):
        where, words = f"{path}:{number}", line.split()
        if line.startswith("# Time unit is"):
            scale = 1.0 if "nanoseconds" in line else US_NS
        elif match := re.search(r"[Dd]uration:\s+(\d{1,6}) (\d\d):(\d\d):(\d\d)", line):
            days, hours, minutes, seconds = map(int, match.groups())
            span_ns = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1e9 or math.nan
        elif words[:1] == ["Index"]:
            names = words[1:]
            if not names or not all(re.fullmatch(r"(IRQ|Thr|Usr)-\d{1,5}", name) for name in names):
                raise LatencyError(f"{where}: not a heading: {line[:60]!r}; as 'Index IRQ-000 Thr-000 …'")
        elif words[:1] == ["ALL:"]:
            break  # the rest sums up the lines before
        elif words and words[0] in ("over:", "count:", "max:"):
            found = [word if word != "-" else "0" for word in words[1:]]
            summary[words[0][:-1]] = _timerlat_row(where, found, names, "a summary")
        elif words and words[0].isdigit():
            index, *counts = _timerlat_row(where, words, names, "a bucket")
            if rows and index <= rows[-1][0]:
                raise LatencyError(f"{where}: bucket {index} after {rows[-1][0]}; buckets must rise")
            rows.append((index, counts))
    if not names or "count" not in summary:
        raise LatencyError(
            f"{path}: no 'Index IRQ-000 …' or no 'count:' line; keep rtla's header and summary in the file"
        )
    width = math.gcd(*(index for index, _ in rows)) or 1
    last = (rows[-1][0] + width) * scale if rows else 0.0
    traces = []
    for i, name in enumerate(names):
        over = summary.get("over", [0] * len(names))[i]
        listed = sum(counts[i] for _, counts in rows) + over
        if listed != summary["count"][i]:
            raise LatencyError(
                f"{path}: {name}: {listed} in the buckets, but {summary['count'][i]} in the summary: lines "
                "are missing"
            )
        longest = summary.get("max", [0] * len(names))[i] * scale
        buckets = [((index + width / 2) * scale, counts[i]) for index, counts in rows]
        lengths, totals, parameters = _histogram(path, "latencies", name, buckets, (last, over, longest))
        source, cpu = f"{path}:CPU {int(name[4:])} {name[:3]}", int(name[4:])
        traces.append(
            _latencies(
                source, "timerlat-hist", lengths, totals, parameters, over_doubt(over), cpu, span_ns, over
            )
        )
    return traces
