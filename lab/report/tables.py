# SPDX-License-Identifier: BSD-2-Clause
"""The report's tables: what was measured, what a job feels, phases, sources."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from lab import statistics
from lab.common.text import count_text, digits_text, percent_text, rate_text, time_text
from lab.formats import phase
from lab.formats.trace import Trace
from lab.report.answer import NODES_SHOWN as NODES_PICTURED
from lab.report.answer import Options, Verdict, together
from lab.report.markup import escaped, table_html
from lab.report.nodes import Collection, starred
from lab.statistics import Interval, StatisticsError

NODES_SHOWN = (1, 10, 100, 1_000, 10_000, 100_000)


def bracketed(found: Interval | None, text: Callable[[float], str]) -> str:
    """Returns an interval in square brackets, to follow its figure; empty for None."""
    return "" if found is None else f" [{text(found.low)}, {text(found.high)}]"


def _ratio_cell(trace: Trace) -> str:
    """Returns the noise ratio, with its interval if it can be had."""
    try:
        text = percent_text(statistics.noise_ratio(trace))
    except StatisticsError:
        return "–"
    return text + bracketed(
        _interval(statistics.ratio_interval, trace), lambda bound: digits_text(100 * bound)
    )


def _interval(figure: Callable[[Trace], Interval], trace: Trace) -> Interval | None:
    """Returns the interval of a trace's figure; None if it is refused."""
    try:
        return figure(trace)
    except StatisticsError:
        return None


def _rate_cell(trace: Trace) -> str:
    """Returns detours per second; for a silent trace, the largest rate that its silence allows."""
    if math.isnan(trace.span_ns):
        return "–"
    if trace.detours:
        rate = rate_text(trace.detours * 1e9 / trace.span_ns)
        return rate + bracketed(_interval(statistics.rate_interval, trace), rate_text)
    return f"0 (&lt; {rate_text(statistics.silent_rate_max(trace.span_ns))})"


def _median_cell(trace: Trace, median_ns: float | None) -> str:
    """Returns the median length, with its interval if it can be had."""
    found = _interval(lambda one: statistics.length_interval(one, 0.5), trace)
    return _length(median_ns) + bracketed(found, time_text)


def _longest_cell(trace: Trace, longest_ns: float | None) -> str:
    """Returns the longest detour and the time in which it is the longest: it grows with that time."""
    known = longest_ns is not None and not math.isnan(trace.span_ns)
    return _length(longest_ns) + (f" in {time_text(trace.span_ns)}" if known else "")


def _length(value: float | None) -> str:
    return "–" if value is None else time_text(value)


def measured_table(collection: Collection) -> str:
    rows = []
    for node in collection.nodes:
        for trace in node.traces:
            f = statistics.detour_figures(trace)
            rows.append(
                [
                    escaped(node.plain_name + starred(node.trace_doubt(trace))),
                    trace.format + ("" if trace.cpu is None else f", CPU {trace.cpu}"),
                    _length(None if math.isnan(trace.span_ns) else trace.span_ns),
                    _length(trace.threshold_ns),
                    f"{f.detours:,}",
                    _rate_cell(trace),
                    _ratio_cell(trace),
                    _median_cell(trace, f.percentiles_ns.get("median")),
                    _length(f.percentiles_ns.get("p99")),
                    _longest_cell(trace, f.maximum_ns),
                ]
            )
    caption = (
        "Detours. Threshold: the shortest detour that the method sees. Noise ratio: share of the measured "
        "time. In square brackets: 95 % intervals; none where the data have none. In round brackets after a "
        "rate of 0: its upper bound with 95 % confidence. A longest detour is that of the time measured: "
        "compare it only with one of the same time."
    )
    header = [
        "node",
        "method",
        "measured",
        "threshold",
        "detours",
        "a second",
        "noise ratio",
        "median",
        "99 %",
        "longest",
    ]
    return table_html(caption, header, rows, (0, 1)) if rows else ""


def job_table(found: Sequence[Verdict], options: Options) -> str:
    rows = []
    for v in found:
        delays = v.basis.delays
        cells = []
        for nodes in NODES_SHOWN:
            text = percent_text(float(statistics.slowdown(delays, nodes)) - 1)
            if nodes == NODES_PICTURED:
                text += bracketed(v.slowdown_interval, percent_text)
            cells.append(text if nodes <= v.known else f'<span class="beyond">{text}</span>')
        scale = f"{count_text(v.known)} or more" if v.scale > v.known else count_text(v.scale)
        scale += bracketed(v.scale_interval, lambda bound: "–" if math.isinf(bound) else count_text(bound))
        rows.append(
            [
                escaped(v.node.name),
                escaped(v.basis.method),
                f"{delays.phases:,.0f}",
                percent_text(statistics.p(delays, 0))
                + bracketed(v.p_interval, lambda bound: digits_text(100 * bound)),
                percent_text(statistics.p(delays, 0.01)),
                *cells,
                scale,
            ]
        )
    mixed = [together(found, nodes) for nodes in NODES_SHOWN]
    if any(value is not None for value in mixed):
        cells = ["–" if value is None else percent_text(value - 1) for value in mixed]
        rows.append(["a job on all kinds, in equal parts", "", "", "", "", *cells, ""])
    caption = (
        f"A step of n nodes with phases of {time_text(options.grain_ns)}. p: the probability that a phase of "
        "one node is delayed at all, and by more than 1 %. n: the slowdown E(Y)/G - 1; grey italics are an "
        "extrapolation to more nodes than the data hold phases. Last column: the largest job that is slowed "
        f"by at most {percent_text(options.tolerance)}. In square brackets: 95 % intervals; none if one "
        "single event decides, or for more than one node in 40 phases (–: no upper bound). In the row of a "
        "job on all kinds each node has its own distribution."
    )
    header = [
        "node",
        "judged by",
        "phases in it",
        "p",
        "p, 1 %",
        *(f"n = {nodes:,}" for nodes in NODES_SHOWN),
        f"within {percent_text(options.tolerance)}",
    ]
    return table_html(caption, header, rows, (0, 1))


def phase_table(collection: Collection) -> str:
    rows = [
        [
            escaped(node.plain_name + starred(node.phase_doubt(path, data))),
            time_text(data.grain_ns),
            f"{data.count:,}",
            time_text(data.minimum_ns),
            time_text(data.mean_ns),
            f"{time_text(data.maximum_ns)} in {time_text(data.mean_ns * data.count)}",
            *(percent_text(phase.probability(data, delay)) for delay in phase.DELAYS),
            f"{phase.slowdown(data, 1000):.4f}",
        ]
        for node in collection.nodes
        for path, data in node.phases
    ]
    header = [
        "node",
        "grain",
        "phases",
        "shortest",
        "mean",
        "longest",
        *(f"p, {100 * delay:g} %" for delay in phase.DELAYS),
        "E(Y)/G, n = 1,000",
    ]
    return table_html("Measured phases [Tsafrir05 §3.1].", header, rows, (0, 1)) if rows else ""


def source_table(collection: Collection) -> str:
    rows = []
    for node in collection.nodes:
        for trace in node.traces:
            parameters = ", ".join(
                f"{key} {value}" for key, value in trace.parameters.items() if len(value) < 60
            )
            rows.append(
                [
                    escaped(node.name),
                    f"<code>{escaped(trace.source)}</code>",
                    trace.format,
                    escaped(trace.system or "unknown"),
                    escaped(parameters),
                ]
            )
        for path in dict.fromkeys(path for path, _ in node.phases):
            grains = ", ".join(time_text(data.grain_ns) for of, data in node.phases if of == path)
            rows.append(
                [
                    escaped(node.name),
                    f"<code>{escaped(str(path))}</code>",
                    "phase",
                    "unknown",
                    f"grains {grains}",
                ]
            )
    return table_html(
        "What each file states about its measurement.",
        ["node", "file", "format", "system", "parameters"],
        rows,
        (0, 1, 2, 3, 4),
    )
