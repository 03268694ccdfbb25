# SPDX-License-Identifier: BSD-2-Clause
"""Makes the page on many hosts: how much time each loses and when, which stand out, what to tune first, and a
comparison with Tacet. Like the other report (page.py) it is one file that refers to no other and holds no
script."""

from __future__ import annotations

import base64
import statistics as plain
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from lab import statistics
from lab.common import paths
from lab.common.errors import DataError
from lab.common.text import count_text, digits_text, percent_text, rate_text, time_text
from lab.common.version import version
from lab.formats import phase, registry
from lab.formats.trace import Trace
from lab.pictures.heat_map import heat_map_picture
from lab.report.advice import Advice, Measured, advice, measured
from lab.report.hosts import SETTINGS, Figures, Host, Hosts, common_method, cpu_text, figures_of
from lab.report.markup import STYLE, escaped, table_html
from lab.report.outliers import CROWD_MIN, DEVIATIONS, TIMES, Outlier, outliers
from lab.report.winner import Ranked, loser_sure, rank, winner_text
from lab.statistics import StatisticsError

#: Tacet's own measurement in the tree, taken in QEMU.
REFERENCE = paths.ROOT / "docs/pictures/ftq-tacet.dat"
REFERENCE_NAME = "Tacet (emulated)"
#: The number of columns of the heat map over time.
PIECES = 60
#: The number of hosts that the tables list.
HOSTS_LISTED = 200
#: The number of hosts whose interrupts are shown.
SOURCES_HOSTS = 12
#: The number of settings that a piece of advice lists.
FOUND_SHOWN = 3
#: A larger SVG becomes a PNG, bytes.
SVG_MAX = 300_000

HOSTS_STYLE = """
ol.advice > li { margin-bottom: 1.1rem; } .advice p { margin: .15rem 0; }
.cost { font-variant-numeric: tabular-nums; color: #a3401a; }
"""


@dataclass(frozen=True)
class HostsOptions:
    """The user's choices; `command` makes the page again."""

    grain_ns: int
    tolerance: float
    title: str
    command: str
    notes: Sequence[str] = ()


@dataclass
class Judged:
    """All data of the page."""

    found: Hosts
    method: str
    figures: dict[str, Figures]
    outside: list[Outlier]
    advice: list[Advice]

    @property
    def ranked(self) -> list[Host]:
        """The hosts with figures, the quietest first."""
        known = [host for host in self.found.hosts if host.name in self.figures]
        known.sort(key=lambda host: (self.figures[host.name].lost_ratio, host.name))
        return known

    @cached_property
    def compared(self) -> list[Ranked]:
        """The hosts that were measured by the common method, the quietest first."""
        alike = {name: one for name, one in self.figures.items() if one.method == self.method}
        longest_ns = max((one.longest_ns for one in alike.values()), default=0.0)
        return rank([Ranked(name, one.lost_figure(longest_ns)) for name, one in alike.items()])

    @cached_property
    def loudest(self) -> str:
        """The name of the host that surely loses most; empty if none does, or if hosts cannot be compared."""
        return self.compared[-1].name if loser_sure(self.compared) else ""


def judge(found: Hosts) -> Judged:
    """Judges all hosts. A host whose data cannot be judged is left out, with the reason; no DataError."""
    method = common_method(found.hosts)
    figures: dict[str, Figures] = {}
    everybody: list[Measured] = []
    for host in found.hosts:
        try:
            one = figures_of(host, method)
        except DataError as error:
            found.left_out.append((host.name, str(error)))
            one = None
        if one:
            figures[host.name] = one
        everybody.append(measured(host, one))
    return Judged(found, method, figures, outliers(found.hosts, figures), advice(everybody))


# ---- Sentences ----


def hosts_sentence(judged: Judged) -> str:
    """Returns the answer in at most twenty words: how many hosts, how much they lose, which one surely loses
    most, and what to tune first."""
    ranked = judged.ranked
    if not ranked:
        return f"{_many(len(judged.found.hosts), 'host')}, measured only with phases of work."
    cpus = sum(len(judged.figures[host.name].by_cpu) for host in ranked)
    lost = [judged.figures[host.name].lost_ratio for host in ranked]
    text = f"{_many(len(ranked), 'host')}, {_many(cpus, 'CPU')}: "
    if len(ranked) == 1:
        text += f"{ranked[0].name} loses {percent_text(lost[0])} of its time to noise"
    else:
        text += f"median loss {percent_text(plain.median(lost))}; "
        loud = judged.loudest
        text += (
            f"{loud} loses most, {percent_text(judged.figures[loud].lost_ratio)}"
            if loud
            else "none surely loses most"
        )
    if judged.advice:
        text += f". Tune first: {judged.advice[0].title[0].lower()}{judged.advice[0].title[1:]}"
    return text + "."


def hosts_compared(judged: Judged) -> str:
    """Returns the sentences on which host loses least and most, by one method; empty for one host."""
    nodes = judged.compared
    if len(nodes) < 2:
        return ""
    pairs = len(nodes) * (len(nodes) - 1) // 2
    sure = f"(95 %, Holm's correction for {_many(pairs, 'pair')})" if pairs > 1 else "(95 %)"
    loud = judged.loudest
    return winner_text(nodes) + (f" {loud} surely loses more than each other host {sure}." if loud else "")


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


# ---- Pictures ----


def _image(draw: object, name: str, caption: str, folder: Path) -> str:
    path = folder / f"{name}.svg"
    draw(path)  # type: ignore[operator]
    kind = "svg+xml"
    if path.stat().st_size > SVG_MAX:
        path, kind = path.with_suffix(".png"), "png"
        draw(path)  # type: ignore[operator]
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    return (
        f'<figure id="{name}"><img alt="{escaped(caption)}" src="data:image/{kind};base64,{data}">'
        f"<figcaption>{escaped(caption)}</figcaption></figure>"
    )


def cpu_map(judged: Judged) -> tuple[list[str], list[str], np.ndarray]:
    """Returns the heat map of hosts by CPUs: names of rows and columns, shares of time lost (NaN: not
    measured)."""
    ranked = judged.ranked[::-1]
    cpus = sorted({cpu for host in ranked for cpu in judged.figures[host.name].by_cpu})
    lost = np.full((len(ranked), len(cpus)), np.nan)
    for row, host in enumerate(ranked):
        for cpu, ratio in judged.figures[host.name].by_cpu.items():
            lost[row, cpus.index(cpu)] = ratio
    return [host.name for host in ranked], [str(cpu) for cpu in cpus], lost


def time_map(judged: Judged) -> tuple[list[str], list[str], np.ndarray] | None:
    """Returns the heat map of hosts by time: the mean loss of the CPUs in each piece of the measurement. None
    if no host has the detours' times."""
    names, rows, spans = [], [], []
    for host in judged.ranked[::-1]:
        traces = [
            trace
            for trace in host.by_cpu(judged.figures[host.name].method).values()
            if trace.complete and trace.listed_span_ns == trace.span_ns
        ]
        if traces:
            names.append(host.name)
            rows.append(np.mean([_pieces(trace) for trace in traces], axis=0))
            spans.append(traces[0].span_ns)
    if not rows:
        return None
    seconds = float(np.median(spans)) / 1e9
    return names, [f"{seconds * (i + 0.5) / PIECES:.3g}" for i in range(PIECES)], np.array(rows)


def _pieces(trace: Trace) -> np.ndarray:
    step_ns = trace.span_ns / PIECES
    lost: np.ndarray = statistics.series_of(trace, step_ns)[:PIECES] / step_ns
    # A detour is counted where it begins. Time beyond the end of a piece is carried to the next pieces.
    carried = 0.0
    for i in range(len(lost)):
        carried += lost[i]
        lost[i] = min(carried, 1.0)
        carried -= lost[i]
    return lost


# ---- Tables ----


def _phase_text(host: Host, grain_ns: int) -> str:
    found = [data for data in host.phases if data.grain_ns == grain_ns]
    if not found:
        return "–"
    return percent_text(max(phase.probability(data, 0.01) for data in found))


def _scale(trace: Trace, options: HostsOptions) -> str:
    """Returns the number of nodes like this to which a job scales, at most the number that the data allow."""
    try:
        delays = statistics.delays_of_trace(trace, options.grain_ns)
        scale = statistics.scale_max(delays, options.tolerance)
    except DataError:
        return "–"
    known = max(int(delays.phases), 1)
    if scale < 1:
        return "not one"
    return count_text(scale) if scale <= known else f"over {count_text(known)}"


def _bracketed(figures: Figures) -> str:
    """Returns the interval of a host's loss in percent, in square brackets; empty if it has none."""
    try:
        found = figures.lost_figure(figures.longest_ns).interval(0.95)
    except StatisticsError:
        return ""
    return f" [{digits_text(100 * found.low)}, {digits_text(100 * found.high)}]"


def hosts_table(judged: Judged, options: HostsOptions) -> str:
    outside = {one.name for one in judged.outside}
    rows = []
    ranked = judged.ranked[::-1]
    for host in ranked[:HOSTS_LISTED]:
        one = judged.figures[host.name]
        name = f"<strong>{escaped(host.name)} ◂</strong>" if host.name in outside else escaped(host.name)
        rows.append(
            [
                name,
                cpu_text(list(one.by_cpu)),
                escaped(one.method),
                percent_text(one.lost_ratio) + _bracketed(one),
                percent_text(max(one.by_cpu.values())),
                rate_text(one.per_second),
                f"{time_text(one.longest_ns)} in {time_text(one.span_ns)}",
                _phase_text(host, options.grain_ns),
                _scale(one.worst, options),
            ]
        )
    more = f" {len(ranked) - HOSTS_LISTED} quieter hosts are left out." * (len(ranked) > HOSTS_LISTED)
    return table_html(
        f"Time lost by host, the loudest first; in square brackets 95 % intervals.{more} The longest detour "
        "is that of the measured time: compare it only with one of the same time. The last column: the "
        f"number of nodes like its worst CPU up to which a step of {time_text(options.grain_ns)} is slowed "
        f"by at most {percent_text(options.tolerance)}.",
        [
            "host",
            "CPUs",
            "method",
            "lost, mean",
            "worst CPU",
            "detours/s",
            "longest",
            f"phases of {time_text(options.grain_ns)} late by 1 %",
            "nodes",
        ],
        rows,
        (0, 1, 2),
    )


def beside_table(judged: Judged, options: HostsOptions) -> str:
    """Compares hosts with the lowest, the median and the highest loss with Tacet, by the program of Tacet's
    file."""
    try:
        tacet = registry.read(REFERENCE)[0]
    except (DataError, OSError) as error:
        return f'<p class="small">Tacet\'s own measurement cannot be read: {escaped(str(error))}</p>'
    ranked = [
        (statistics.noise_ratio(worst), host.name, worst)
        for host in judged.found.hosts
        if (traces := host.by_cpu(tacet.format))
        for worst in [max(traces.values(), key=statistics.noise_ratio)]
    ]
    if not ranked:
        return f'<p class="small">No host was measured with {tacet.format}, so none compares with Tacet.</p>'
    ranked.sort(key=lambda row: row[:2])
    places = {"lowest": 0, "median": (len(ranked) - 1) // 2, "highest": len(ranked) - 1}
    if len(ranked) < 3:
        places = {"lowest": 0, "highest": len(ranked) - 1} if len(ranked) == 2 else {"host": 0}
    shown = [(f"{what}: {ranked[at][1]}", ranked[at][2]) for what, at in places.items()]
    shown.append((REFERENCE_NAME, tacet))
    details = [statistics.detour_figures(trace) for _, trace in shown]
    rows = [
        ["time lost", *(percent_text(one.noise_ratio) for one in details)],
        ["detours a second", *(rate_text(one.per_second) for one in details)],
        [
            "longest",
            *(
                f"{time_text(one.maximum_ns)} in {time_text(trace.span_ns)}" if one.maximum_ns else "none"
                for one, (_, trace) in zip(details, shown)
            ),
        ],
        [f"nodes at {percent_text(options.tolerance)}", *(_scale(trace, options) for _, trace in shown)],
        ["measured", *(time_text(trace.span_ns) for _, trace in shown)],
        ["shortest visible", *(time_text(trace.threshold_ns or 0) for _, trace in shown)],
    ]
    return table_html(
        f"The worst CPU of hosts, by {tacet.format}, compared with Tacet. <strong>Tacet's column was "
        "measured in QEMU, one instruction per nanosecond</strong>: its count of detours is right; its times "
        "do not include caches and devices. It is not a measurement of a real machine (docs/noise.md).",
        ["", *(name for name, _ in shown)],
        rows,
    )


def settings_table(judged: Judged) -> str:
    """Returns the table of settings: each value, with the hosts that have it if hosts differ."""
    rows = []
    for key, name in SETTINGS.items():
        values: dict[str, list[str]] = {}
        for host in judged.found.hosts:
            values.setdefault(host.settings.get(key, ""), []).append(host.name)
        if set(values) == {""}:
            continue
        parts = [
            f"{escaped(value or 'not recorded')} <span class='small'>({escaped(_names(names))})</span>"
            if len(values) > 1
            else escaped(value)
            for value, names in sorted(values.items(), key=lambda item: -len(item[1]))
        ]
        rows.append([escaped(name), "<br>".join(parts)])
    return table_html("Settings; if hosts differ, with their names.", ["setting", "found"], rows, (0, 1))


def _names(names: Sequence[str], most: int = 4) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def sources_table(judged: Judged, most: int = 8) -> str:
    """Returns the tables of interrupts: /proc/interrupts of all hosts, and the kernel tracer's counts of
    hosts that were measured as root."""
    rows = []
    for host in (judged.ranked[::-1] or judged.found.hosts)[:SOURCES_HOSTS]:
        cpus = host.cpus
        seen = [
            (line.per_second[cpu], cpu, line)
            for line in host.activity.lines
            for cpu in [max((c for c in cpus if c in line.per_second), key=line.per_second.get, default=None)]
            if cpu is not None and line.per_second[cpu] >= 0.1
        ]
        seen.sort(key=lambda row: -row[0])
        rows += [
            [escaped(host.name), f"{escaped(line.name)} {escaped(line.what)}", f"{cpu}", rate_text(rate)]
            for rate, cpu, line in seen[: max(1, most if len(judged.found.hosts) < 10 else 2)]
        ]
    table = table_html(
        "Interrupts during the measurement (/proc/interrupts), on the measured CPU that had most; for the "
        f"{SOURCES_HOSTS} loudest hosts.",
        ["host", "interrupt", "CPU", "per second"],
        rows,
        (0, 1),
    )
    counted = [
        [escaped(host.name), str(trace.cpu), escaped(trace.format), *_counters(trace)]
        for host in judged.found.hosts
        for method in ("osnoise", "rtla-top")
        for trace in host.by_cpu(method).values()
    ]
    if not counted:
        reasons = sorted({host.meta.get("osnoise", "") for host in judged.found.hosts} - {""})
        why = f" ({'; '.join(map(escaped, reasons))})" if reasons else ""
        return (table if rows else "") + (
            f'<p class="small">No counts from the kernel\'s osnoise tracer{why}. To see NMIs, interrupts, '
            "softirqs and threads here, install rtla and run tacet-noise as root.</p>"
        )
    header = ["host", "CPU", "tracer", "NMI", "IRQ", "softirq", "thread", "lost"]
    return table + table_html("Counts of the kernel's tracer.", header, counted[:HOSTS_LISTED], (0, 2))


def _counters(trace: Trace) -> list[str]:
    lower = {key.lower(): value for key, value in trace.parameters.items()}
    return [escaped(str(lower.get(name, "–"))) for name in ("nmi", "irq", "softirq", "thread")] + [
        percent_text(statistics.noise_ratio(trace))
    ]


# ---- The page ----


def advice_html(judged: Judged) -> str:
    hosts = len(judged.found.hosts)
    if not judged.advice:
        known = any(host.meta for host in judged.found.hosts)
        return (
            "<p>Nothing in the recorded settings is known to make noise.</p>"
            if known
            else "<p>No settings were recorded, so there is no advice.</p>"
        )
    items = []
    for one in judged.advice:
        cost = (
            f' <span class="cost">up to {percent_text(one.lost_ratio)} lost</span>' if one.lost_ratio else ""
        )
        where = "" if hosts == 1 else f" On {len(one.findings)} of {hosts} hosts."
        by_setting: dict[str, list[tuple[str, str]]] = {}
        for name, finding in one.findings:
            by_setting.setdefault(finding.setting, []).append((name, finding.found))
        shown = list(by_setting.items())[:FOUND_SHOWN]
        found = "".join(
            f"<p>Found{'' if hosts == 1 else ' on ' + escaped(on[0][0])}: {escaped(on[0][1])}."
            + (f" The same on {escaped(_names([name for name, _ in on[1:]]))}." if on[1:] else "")
            + f"<br>Change: <code>{escaped(setting)}</code></p>"
            for setting, on in shown
        )
        if len(by_setting) > len(shown):
            found += f'<p class="small">and {len(by_setting) - len(shown)} more settings like these</p>'
        items.append(
            f"<li><strong>{escaped(one.title)}</strong>{cost}: {escaped(one.why)}.{where}{found}</li>"
        )
    return f'<ol class="advice">{"".join(items)}</ol>'


def outliers_html(judged: Judged) -> str:
    count = len(judged.figures)
    rule = (
        f"more than {DEVIATIONS:g} deviations (1.48 MAD each) above the median, and more than {TIMES:g} "
        "times the median"
    )
    if not judged.outside:
        if count < CROWD_MIN:
            return (
                f"<p>{_many(count, 'host')}: too few to find outliers; it takes {CROWD_MIN} hosts, or "
                f"{CROWD_MIN} CPUs of a host.</p>"
            )
        return f"<p>None of the {count} hosts stands out ({rule}).</p>"
    items = "".join(
        f"<li><strong>{escaped(one.name)}</strong> {escaped(one.why)}."
        + (f" It differs from most: {escaped('; '.join(one.differs))}." if one.differs else "")
        + "</li>"
        for one in judged.outside
    )
    return f'<ul>{items}</ul><p class="small">A host stands out if a figure is {rule}.</p>'


def _left_out(judged: Judged) -> str:
    remarks = [(host.name, remark) for host in judged.found.hosts for remark in host.remarks]
    other = sorted({one.method for one in judged.figures.values()} - {judged.method})
    notes = [*(f"{name}: {remark}." for name, remark in remarks)]
    if other:
        notes.append(
            f"Hosts without {judged.method} are judged by {', '.join(other)}. Do not compare them with the "
            "other hosts: the methods have different thresholds."
        )
    items = "".join(f"<li>{escaped(note)}</li>" for note in notes) + "".join(
        f"<li><code>{escaped(name)}</code> was left out: {escaped(reason)}</li>"
        for name, reason in judged.found.left_out
    )
    return f'<h2>Remarks</h2><ul class="small">{items}</ul>' if items else ""


def hosts_page(judged: Judged, options: HostsOptions, folder: Path) -> str:
    """Returns the whole page as HTML. Draws its pictures in `folder`."""
    outside = [one.name for one in judged.outside]
    pictures = []
    if judged.figures:
        names, cpus, lost = cpu_map(judged)
        pictures.append(
            _image(
                lambda path: heat_map_picture(names, cpus, lost, path, marked=outside),
                "cpus",
                f"Time lost by host and CPU ({judged.method}), the loudest host on top; ◂ marks hosts that "
                "stand out. White: nothing lost. Hatched: not measured.",
                folder,
            )
        )
        if over_time := time_map(judged):
            pictures.append(
                _image(
                    lambda path: heat_map_picture(
                        *over_time,  # type: ignore[arg-type]
                        path,
                        marked=outside,
                        across="seconds since the host's own measurement began",
                    ),
                    "times",
                    "Time lost by host and time, the mean of its CPUs. A stripe across all hosts is work "
                    "that runs on all hosts at the same time; a mark in one row is work of one host.",
                    folder,
                )
            )
    notes = "".join(f"<li>{escaped(note)}</li>" for note in options.notes)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{escaped(options.title)}</title>
<style>{STYLE}{HOSTS_STYLE}</style>
</head>
<body>
<h1>{escaped(options.title)}</h1>
<p class="answer">{escaped(hosts_sentence(judged))}</p>
<p>{escaped(hosts_compared(judged))}</p>
{f'<ul class="small">{notes}</ul>' if notes else ""}
<h2>Where and when</h2>
{"".join(pictures)}
<h2>Hosts that stand out</h2>
{outliers_html(judged)}
<h2>Tune this first</h2>
{advice_html(judged)}
<h2>What each host loses</h2>
{hosts_table(judged, options)}
<h2>Compared with Tacet</h2>
{beside_table(judged, options)}
<h2>Interrupts</h2>
{sources_table(judged)}
<h2>Settings</h2>
{settings_table(judged)}
{_left_out(judged)}
<h2>How to repeat this</h2>
<pre>{escaped(options.command)}</pre>
<p class="small">Made by {escaped(version())}; nothing is drawn at random.</p>
</body>
</html>
"""
