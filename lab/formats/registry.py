# SPDX-License-Identifier: BSD-2-Clause
"""Knows every file format that holds noise, and reads each as traces.

`detect` finds a file's format by its content; `read` returns its traces, one per CPU. A format is a row of
`FORMATS`. If no reader accepts a file, one DataError names the file, the line if there is one, what is wrong,
and what is right.

How samples become detours:

* FTQ: a quantum that lost two operations or more is a detour. It begins with its quantum and is as long as
  the lost operations' share of it. Quanta that were lost completely belong to the detour around them
  (ftq.py).
* FWQ: a sample is a detour if its excess over the undisturbed sample is more than the threshold and more than
  the spread of undisturbed samples. It begins with its sample and is as long as the excess (fwq.py).

So starts are exact to a quantum or a sample, and two detours in one quantum or sample count as one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from lab.formats import (
    ftq,
    fwq,
    klog,
    latency,
    netgauge,
    noise,
    osjitter,
    osnoise,
    phase,
    rtla,
    selfish,
    sysjitter,
)
from lab.formats.columns import LISTED_MAX, UNLISTED
from lab.formats.errors import FormatError
from lab.formats.reading import UTF8_MARK, wide_encoding
from lab.formats.trace import Totals, Trace, header_parameters, system_text

#: Bytes at the beginning of a file that decide its format: the public FTQ's header holds all of
#: /proc/cpuinfo.
HEAD_BYTES = 1 << 18
#: What is said of a text with a mark that is skipped.
MARK_REMARK = (
    "the file begins with a byte order mark (BOM) of UTF-8, as Windows editors write it; it is skipped"
)
#: FWQ's threshold if the file has none: the default of apps/fwq.
THRESHOLD_NS_DEFAULT = 100.0


#: Why figures of data without a floor are doubtful.
FTQ_DOUBT = (
    "undisturbed quanta cannot be distinguished from disturbed ones, so only quanta that lost half of "
    "the best "
    "are counted and all figures are lower bounds; measure on a CPU that runs nothing else"
)
FWQ_DOUBT = (
    "undisturbed samples cannot be distinguished from disturbed ones, so only samples that took twice as "
    "long "
    "are counted and all figures are lower bounds; measure on a CPU that runs nothing else"
)


@dataclass(frozen=True)
class Assumed:
    """What the user stated because the file does not."""

    format: str | None = None
    ticks_per_ns: float | None = None
    threshold_ns: float | None = None
    span_ns: float | None = None


NOTHING = Assumed()


def _core(header: tuple[str, ...]) -> int | None:
    """Returns the CPU in a line such as `# thread 0, core 3`, or None."""
    for line in header:
        if match := re.match(r"thread \d{1,6},? core (\d{1,6})", line):
            return int(match[1])
    return None


def _named(path: Path, number: int, of: int) -> str:
    return str(path) if of == 1 else f"{path}:part {number + 1}"


# ---- FTQ, FWQ, selfish ----


def _ftq_trace(data: ftq.FtqData, source: str, name: str = "ftq") -> Trace:
    summary = ftq.summarise(data)
    found = ftq.detours(data.counts, summary.losses, summary.disturbed_from)
    starts = (data.start_ns[found.first] - data.start_ns[0]).astype(np.float64)
    parameters = {
        "quantum_ns": str(data.quantum_ns),
        "samples": str(len(data.counts)),
        "operation_ns": f"{summary.operation_ns:.6g}",
        "nominal_count": str(summary.nominal_count),
        "disturbed_from": str(summary.disturbed_from),
    }
    return Trace(
        source,
        name,
        starts,
        summary.price_ns(found.lost),
        float(data.window_ns),
        summary.disturbed_from * summary.floor_ns,
        system_text(data.header),
        _core(data.header),
        parameters,
        data,
        doubt="" if summary.separable else FTQ_DOUBT,
        remarks=(summary.floor_remark,) * summary.floor_is_high,
    )


def _read_ftq(path: Path, _assumed: Assumed) -> list[Trace]:
    found = ftq.read(path)
    return [_ftq_trace(data, _named(path, i, len(found))) for i, data in enumerate(found)]


def _fwq_trace(data: fwq.FwqData, source: str, assumed: Assumed, name: str = "fwq") -> Trace:
    rate = data.ticks_per_ns or assumed.ticks_per_ns
    if not rate:
        raise fwq.FwqError(
            f"{source}: the file does not state the clock's rate; give it with --ticks-per-ns, such as 2.6"
        )
    threshold = data.threshold_ticks
    if assumed.threshold_ns is not None or threshold is None:
        threshold = max(1, round((assumed.threshold_ns or THRESHOLD_NS_DEFAULT) * rate))
    summary = fwq.summarise(data, threshold)
    nominal, limit = summary.nominal, summary.disturbed_above
    at = np.flatnonzero(data.ticks > nominal + limit)
    before = np.cumsum(data.ticks)[at] - data.ticks[at]
    parameters = {
        "samples": str(len(data.ticks)),
        "ticks_per_ns": f"{rate:g}",
        "nominal_ticks": str(nominal),
        "disturbed_above_ticks": str(limit),
    }
    if data.work_instructions:
        parameters["work_instructions"] = str(data.work_instructions)
    return Trace(
        source,
        name,
        before / rate,
        (data.ticks[at] - nominal) / rate,
        float(data.ticks.sum() / rate),
        limit / rate,
        system_text(data.header),
        _core(data.header),
        parameters,
        data,
        doubt="" if summary.separable else FWQ_DOUBT,
    )


def _read_fwq(path: Path, assumed: Assumed) -> list[Trace]:
    found = fwq.read(path)
    return [_fwq_trace(data, _named(path, i, len(found)), assumed) for i, data in enumerate(found)]


def _selfish_trace(data: selfish.SelfishData, source: str) -> Trace:
    totals, remarks = None, ()
    if data.found > len(data.start_ns):
        totals = Totals(data.found, selfish.noise_ratio(data) * data.period_ns, data.longest_ns)
    if data.found > len(data.start_ns) == LISTED_MAX:
        remarks = (UNLISTED.format(LISTED_MAX, data.found),)
    return Trace(
        source,
        "selfish",
        data.start_ns,
        data.duration_ns,
        data.period_ns,
        data.threshold_ns,
        system_text(data.header),
        _core(data.header),
        {k: v for k, v in header_parameters(data.header).items() if "time [ns]" not in k.lower()},
        totals=totals,
        remarks=remarks,
    )


def _read_selfish(path: Path, _assumed: Assumed) -> list[Trace]:
    found = selfish.read(path)
    return [_selfish_trace(data, _named(path, i, len(found))) for i, data in enumerate(found)]


# ---- Our flight log ----


def _read_klog(path: Path, _assumed: Assumed) -> list[Trace]:
    """Returns, by CPU, the exceptions and interrupts while a program ran. The log has their times but not
    their lengths."""
    try:
        log = klog.read(path)
    except klog.KlogError as error:
        raise FormatError(str(error)) from None
    names = np.array([kind.name for kind in log.kinds])
    if not log.clock_hz:
        raise FormatError(
            f"{path}: the node ended before it knew its clock's rate, so its log has no times in ns"
        )
    kinds = names[log.kind] if len(log) else np.empty(0, dtype=str)
    traces = []
    for part in log.cpus:
        here = log.cpu == part.cpu
        times, what = log.time_ns[here].astype(np.float64), kinds[here]
        entered, ended = times[what == "program_enter"], times[what == "program_end"]
        first = entered[0] if len(entered) else times[0] if len(times) else 0.0
        last = ended[-1] if len(ended) else times[-1] if len(times) else 0.0
        if last <= first:
            continue
        within = (times >= first) & (times <= last)
        trap = ((what == "exception") | (what == "interrupt")) & within
        parameters = {
            name: str(int((within & (what == name)).sum()))
            for name in ("exception", "interrupt", "system_call")
        }
        if part.lost:
            parameters["lost"] = f"{part.lost} older events"
        traces.append(
            Trace(
                f"{path}:CPU {part.cpu}",
                "klog",
                times[trap] - first,
                np.zeros(int(trap.sum())),
                last - first,
                0.0,
                "Tacet",
                part.cpu,
                parameters,
                durations_known=False,
            )
        )
    if not traces:
        raise FormatError(f"{path}: no CPU's log covers any time; run a program first")
    return traces


def _read_phase(path: Path, _assumed: Assumed) -> list[Trace]:
    phase.read(path)
    raise FormatError(
        f"{path}: holds durations of phases, not detours; use it with `lab plot survival`, `lab plot cdf` or "
        "`lab report`"
    )


@dataclass(frozen=True)
class Format:
    """A format: its name, the program that writes it, a pattern that recognises a file's head, its reader."""

    name: str
    writer: str
    sign: re.Pattern[str]
    read: Callable[[Path, Assumed], list[Trace]]


def _sign(text: str) -> re.Pattern[str]:
    return re.compile(text, re.MULTILINE)


#: The order in which the signs are tried.
FORMATS = (
    Format(
        "klog", "Tacet's flight log (tools/run --klog, /proc/tacet/klog)", _sign(r"\ATACETLOG"), _read_klog
    ),
    Format(
        "rt-tests-json",
        "cyclictest, oslat with --json",
        _sign(r'\A\s*\{[^\0]{0,400}"(rt_test_version|cmdline|thread)'),
        lambda path, _: latency.read_rttests_json(path),
    ),
    Format(
        "cyclictest",
        "cyclictest (-h for percentiles)",
        _sign(
            r"^# Histogram\s*$|^# (Total|Min Latencies|Histogram Overflows): "
            r"|^T: ?\d+ \(|^ *\d+: +\d+: +\d+\s*$"
        ),
        lambda path, _: latency.read_cyclictest(path),
    ),
    Format(
        "oslat", "oslat", _sign(r"\Aoslat V|^\s*\d{3,} \(us\):\s"), lambda path, _: latency.read_oslat(path)
    ),
    Format(
        "hwlatdetect",
        "hwlatdetect",
        _sign(r"\Ahwlatdetect:|^hwlatdetect: |^Samples exceeding threshold:|hwlat tracer not available"),
        lambda path, _: latency.read_hwlatdetect(path),
    ),
    Format(
        "timerlat-hist",
        "rtla timerlat hist",
        _sign(r"^# RTLA timerlat histogram"),
        lambda path, _: rtla.read_timerlat_hist(path),
    ),
    Format(
        "timerlat-top",
        "rtla timerlat top -q",
        _sign(r"^\s+Timer Latency\s*$|IRQ Timer Latency \("),
        lambda path, _: rtla.read_timerlat_top(path),
    ),
    Format(
        "netgauge-ftq",
        "netgauge -x noise -e ftq",
        _sign(r"^# Benchmark Method: ftq\s*$"),
        lambda path, _: [_ftq_trace(netgauge.read_ftq(path), str(path), "netgauge-ftq")],
    ),
    Format(
        "netgauge-fwq",
        "netgauge -x noise -e fwq",
        _sign(r"^# Benchmark Method: fwq\s*$"),
        lambda path, assumed: [_fwq_trace(netgauge.read_fwq(path), str(path), assumed, "netgauge-fwq")],
    ),
    Format(
        "sysjitter-summary", "sysjitter", _sign(r"\Acore_i: \d"), lambda path, _: sysjitter.read_summary(path)
    ),
    Format(
        "sysjitter-bare",
        "sysjitter --raw of a version that writes no header",
        _sign(r"\A\d+ \d+\.\d{3} \d+ \d+\s*$"),
        lambda path, assumed: sysjitter.read_bare(path, assumed.span_ns),
    ),
    Format(
        "osnoise",
        "Linux's osnoise tracer, from tracefs",
        _sign(r"^# tracer: osnoise|sample_threshold:\s+start "),
        lambda path, assumed: osnoise.read_tracefs(path, assumed.span_ns),
    ),
    Format(
        "rtla-hist",
        "rtla osnoise hist",
        _sign(r"^# RTLA osnoise histogram"),
        lambda path, _: rtla.read_osnoise_hist(path),
    ),
    Format(
        "rtla-top",
        "rtla osnoise top -q, rtla hwnoise -q",
        _sign(r"Operating System Noise|Hardware-related Noise|^\s*CPU Period\s+Runtime\s+Noise"),
        lambda path, _: rtla.read_osnoise_top(path),
    ),
    Format(
        "sysjitter",
        "sysjitter --raw",
        _sign(
            r"^# n_interruptions:|^# "
            r"cpu_mhz:"
        ),
        lambda path, assumed: sysjitter.read(path, assumed.span_ns),
    ),
    Format(
        "osjitter",
        "osjitter (github.com/gsauthof/osjitter)",
        _sign(r"^\s*CPU +TSC_khz +#intr "),
        lambda path, _: osjitter.read(path),
    ),
    Format(
        "noise",
        "the simulator's noise file (lab convert --to noise)",
        noise.SIGN,
        lambda path, assumed: noise.read(path, assumed.span_ns, assumed.threshold_ns),
    ),
    Format("phase", "apps/phase", _sign(r"^# (Phase durations|grain_ns)"), _read_phase),
    Format(
        "selfish",
        "apps/selfish, netgauge -x noise -e selfish",
        _sign(
            r"^# (Benchmark Method|Minimal cycle length|Time \[ns\]|Measurement "
            r"period)"
        ),
        _read_selfish,
    ),
    Format("fwq", "apps/fwq, the public FWQ", _sign(r"^# (FWQ|work_bits)"), _read_fwq),
    Format(
        "ftq",
        "apps/ftq, the public FTQ",
        _sign(
            r"^# *(Frequency|quantum_ns|Ticks per ns|Total "
            r"count|octave|Octave)"
        ),
        _read_ftq,
    ),
)


#: Files that users give by mistake: the sign, what the file is, and which one to give.
MISTAKEN = (
    (
        _sign(r"^# Info:\s+Netgauge v|^\[\d+\] CPU overhead due to noise"),
        "netgauge's console output, which has no detours; give the file that it names (-o FILE, by default "
        "ng.out)",
    ),
    (
        _sign(r"\ATACET-MPI-TRACE |^MPI_Init(_thread)?:"),
        "the calls of an MPI program, which has no detours; use it with `lab trace FOLDER`",
    ),
    (_sign(r"\A\x7fELF"), "an ELF program; run it, and give the file that it writes"),
    (
        _sign(r"\A\x1f\x8b|\ABZh|\A\xfd7zXZ|\A\x28\xb5\x2f\xfd|\APK\x03\x04"),
        "a compressed file; unpack it first",
    ),
    (
        _sign(r"\A\x89PNG|\A\xff\xd8\xff|\A%PDF|\A<svg|\A<\?xml"),
        "a picture or document; give the data from which it was made",
    ),
    (_sign(r"\A\x17\x08\x44tracing"), "trace-cmd's binary; give the output of `trace-cmd report`"),
    (_sign(r"\APERFILE2"), "perf's binary record, which the lab cannot read; measure with another tool"),
    (_sign(r"(?i)\A\s*<(!doctype )?html"), "an HTML page; give the data from which it was made"),
    (_sign(r"\A\s*[\[{]"), "JSON, but not of a tool that the lab reads (cyclictest, oslat)"),
    (
        _sign(r"^Traceback \(most recent call last\)"),
        "a tool's error message; run the tool on a machine where it can measure",
    ),
    (
        _sign(r"^# /dev/cpu_dma_latency"),
        "cyclictest's output without a result; with -q it prints only at its end: let it end (-D 60)",
    ),
)

NAMES = tuple(known.name for known in FORMATS)


def _by_name(name: str) -> Format:
    return next(known for known in FORMATS if known.name == name)


def _head(path: Path) -> bytes:
    """Returns a file's beginning, after a UTF-8 byte order mark. FormatError if it is text of wide
    characters, or cannot be read twice."""
    if path.is_fifo() or path.is_char_device():
        raise FormatError(f"{path}: a pipe or device; write its data into a file, and give that")
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if wide := wide_encoding(head):
        name, shown_by = wide
        raise FormatError(
            f"{path}: {name} text ({shown_by}), as PowerShell's > writes it; convert it: iconv -f {name} -t "
            f"ASCII {path.name}"
        )
    return head.removeprefix(UTF8_MARK)


def detect(path: Path | str) -> str:
    """Returns the name of a file's format. FormatError if it is unknown or ambiguous, OSError if the file
    cannot be read."""
    head = _head(Path(path))
    if not head:
        raise FormatError(f"{path}: empty; give a file in one of these formats: {', '.join(NAMES)}")
    text = head.decode("latin-1")
    for known in FORMATS:
        if known.sign.search(text):
            return known.name
    for sign, what in MISTAKEN:
        if sign.search(text):
            raise FormatError(f"{path}: {what}")
    if b"\0" in head:
        raise FormatError(
            f"{path}: binary data, not text; give a file in one of these formats: {', '.join(NAMES)}"
        )
    return _detect_bare(path, text)


def _detect_bare(path: Path | str, text: str) -> str:
    """Returns the format of data without a header that names them."""
    for number, line in enumerate(text.split("\n"), start=1):
        words = line.split()
        if not words or line.lstrip().startswith("#"):
            continue
        if all(re.fullmatch(r"[0-9][0-9.eE+-]*", word) for word in words):
            if len(words) == 1:
                return "fwq"
            if len(words) == 2 and "\t" in line:
                return "noise"  # as the public simulator's traces are
            if len(words) == 2:
                raise FormatError(
                    f"{path}:{number}: two columns and no header that names them; give --format ftq, "
                    "selfish or noise"
                )
        break
    raise FormatError(
        f"{path}:1: no format that the lab reads: {', '.join(NAMES)}; if it is one of these, name it with "
        "--format"
    )


def read(path: Path | str, assumed: Assumed = NOTHING) -> list[Trace]:
    """Returns the traces of a file, one per CPU. Raises DataError or OSError."""
    path = Path(path)
    name = assumed.format or detect(path)
    if name not in NAMES:
        raise FormatError(f"{path}: unknown format {name!r}; formats are {', '.join(NAMES)}")
    if not _head(path):
        raise FormatError(f"{path}: empty; give a file of {name}")
    traces = _by_name(name).read(path, assumed)
    if not traces:
        raise FormatError(f"{path}: it holds no CPU's data")
    with path.open("rb") as file:
        marked = file.read(len(UTF8_MARK)) == UTF8_MARK
    return [replace(trace, remarks=(*trace.remarks, MARK_REMARK)) for trace in traces] if marked else traces
