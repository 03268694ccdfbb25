# SPDX-License-Identifier: BSD-2-Clause
"""Reads the hosts of a measurement: the folder that `tacet-noise` (kit/) writes, with one folder per host.

    meta.txt         key=value, the last line of a key counts; ends with status=complete or incomplete
    *.dat            the programs' data, in any format that the lab reads
    rtla.txt         rtla's summary, if the measurement ran as root
    interrupts-…     /proc/interrupts and /proc/stat from before and after (activity.py)

The files come from other machines and may be damaged or copied in part, so the reader trusts none of them. It
reports each file that it leaves out, with the reason.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from lab import statistics
from lab.common.errors import DataError
from lab.formats import phase, registry
from lab.formats.registry import FormatError
from lab.formats.trace import Trace
from lab.report.activity import Activity, activity_read
from lab.report.nodes import PREFERENCE
from lab.statistics import Figure, Interval

META = "meta.txt"
META_BYTES_MAX = 1 << 22
#: Files of tacet-noise that hold no program's data.
NO_DATA = re.compile(r"meta\.txt|log|(interrupts|softirqs|stat)-(before|after)\.txt")
#: The clock of the day has stepped if it and the uptime differ by more than this in a run, s.
CLOCK_STEP_S = 2.0
#: A list of more CPUs is taken as damage; no machine has them.
CPUS_MAX = 1 << 17


def printable(text: str) -> str:
    """Returns text of another machine as a page can hold it: control characters and incomplete UTF-8 become
    question marks."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(c if c.isprintable() else "?" for c in whole)


@dataclass
class Host:
    """A host's folder: its unique name, its settings, its data, and remarks for the report."""

    name: str
    path: Path
    meta: dict[str, str] = field(default_factory=dict)
    traces: list[Trace] = field(default_factory=list)
    phases: list[phase.PhaseData] = field(default_factory=list)
    activity: Activity = field(default_factory=Activity)
    remarks: list[str] = field(default_factory=list)

    def by_cpu(self, method: str) -> dict[int, Trace]:
        """Returns the traces of a method that have lengths, by CPU; of two traces of one CPU the longer
        one."""
        found: dict[int, Trace] = {}
        for trace in self.traces:
            if trace.format != method or not (trace.durations_known or trace.totals):
                continue
            cpu = trace.cpu if trace.cpu is not None else len(found)
            if cpu not in found or trace.span_ns > found[cpu].span_ns:
                found[cpu] = trace
        return dict(sorted(found.items()))

    @property
    def methods(self) -> list[str]:
        return [name for name in (*PREFERENCE, "rtla-top", "rtla-hist") if self.by_cpu(name)]

    @property
    def cpus(self) -> list[int]:
        """The measured CPUs: as recorded, else those of the data."""
        recorded = cpu_list(self.meta.get("cpus_measured", ""))
        return recorded or sorted({t.cpu for t in self.traces if t.cpu is not None})

    @cached_property
    def settings(self) -> dict[str, str]:
        """The settings to compare, with those of single CPUs put together."""
        found = {key: value for key, value in self.meta.items() if key in SETTINGS}
        governors = Counter(v for k, v in self.meta.items() if re.fullmatch(r"cpu\.\d+\.governor", k))
        if governors:
            found["governor"] = ", ".join(sorted(governors))
        return found


#: The settings in which hosts may differ: keys of meta.txt, with their names for a reader.
SETTINGS = {
    "kernel": "kernel",
    "kernel_version": "kernel's build",
    "cpu_model": "CPU",
    "governor": "governor",
    "scaling_driver": "frequency driver",
    "nohz_full": "nohz_full",
    "isolated": "isolated CPUs",
    "boot_rcu_nocbs": "rcu_nocbs",
    "smt_active": "SMT active",
    "clocksource": "clock source",
    "irqbalance": "irqbalance",
    "transparent_hugepage": "transparent hugepages",
    "numa_balancing": "NUMA balancing",
    "watchdog": "watchdog",
    "nmi_watchdog": "NMI watchdog",
    "cstates": "C-states",
    "no_turbo": "no_turbo",
    "boost": "boost",
    "cgroup_cpu_max": "cgroup's cpu.max",
    "container": "container",
    "hypervisor": "hypervisor",
    "tuned_profile": "tuned's profile",
    "workqueue_cpumask": "workqueues' CPUs",
    "config": "kernel's configuration",
}


@dataclass
class Hosts:
    """All hosts of a folder, and what was left out with the reason."""

    folder: Path
    hosts: list[Host] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)


def cpu_list(text: str) -> list[int]:
    """Parses a list like `0,2-4`; empty if it is not one."""
    found: list[int] = []
    for part in text.split(","):
        if not (match := re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", part.strip())):
            return []
        found += range(int(match[1]), int(match[2] or match[1]) + 1)
        if len(found) > CPUS_MAX:
            return []
    return found


def cpu_text(cpus: Sequence[int]) -> str:
    """Returns numbers in Linux's format of CPU lists: 0-2,5."""
    parts: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if parts and parts[-1][1] == cpu - 1:
            parts[-1][1] = cpu
        else:
            parts.append([cpu, cpu])
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in parts)


def number(text: str | None) -> float | None:
    """Returns the number that a value begins with, or None."""
    match = re.match(r"-?\d{1,15}(\.\d{1,9})?(?=\s|$)", text or "")
    return float(match[0]) if match else None


# ---- Reading ----


def _meta(path: Path, host: Host) -> None:
    with path.open("rb") as file:
        text = file.read(META_BYTES_MAX).decode("utf-8", "replace")
    damaged = 0
    for line in text.split("\n"):
        key, equals, value = line.partition("=")
        if equals and re.fullmatch(r"[a-z][a-z0-9_.]{0,60}", key):
            host.meta[key] = printable(value)
        elif line.strip():
            damaged += 1
    if damaged:
        host.remarks.append(f"{META}: {damaged} lines are not key=value and were skipped")
    if host.meta.get("format", "tacet-noise 1") != "tacet-noise 1":
        host.remarks.append(f"{META}: unknown format {host.meta['format']!r}; this lab reads tacet-noise 1")


def _file(host: Host, path: Path, left_out: list[tuple[str, str]]) -> None:
    """Adds a file's data to its host. Skips files of unknown format; leaves out damaged *.dat with the
    reason."""
    try:
        name = registry.detect(path)
    except FormatError as error:
        if path.suffix == ".dat":
            left_out.append((f"{host.name}/{path.name}", str(error)))
        return
    try:
        if name == "phase":
            host.phases += phase.read(path)
        else:
            host.traces += registry.read(path)
    except DataError as error:
        left_out.append((f"{host.name}/{path.name}", str(error)))


def _listed(folder: Path) -> list[Path]:
    return [folder / name for name in sorted(os.listdir(folder))]


def host_read(path: Path, name: str, left_out: list[tuple[str, str]]) -> Host:
    """Reads a host's folder. OSError if it cannot be listed."""
    host = Host(printable(name), path)
    try:
        _meta(path / META, host)
    except FileNotFoundError:
        host.remarks.append(f"no {META}: the host's settings are unknown, so there is no advice on them")
    except OSError as error:
        host.remarks.append(f"{META} cannot be read ({error.strerror}): the host's settings are unknown")
    for file in _listed(path):
        if NO_DATA.fullmatch(file.name) or not os.path.isfile(file):
            continue
        try:
            _file(host, file, left_out)
        except OSError as error:
            left_out.append((printable(f"{name}/{file.name}"), f"cannot be read: {error.strerror}"))
    host.activity = activity_read(path, _lasted_s(host))
    _remark_on_the_run(host)
    return host


def _lasted_s(host: Host) -> float | None:
    """Returns the length of the run in s: by the uptime, because it never steps, else by the clock of the
    day. None if neither was recorded."""
    for first, last in (("uptime_before", "uptime_after"), ("started", "ended")):
        begin, end = number(host.meta.get(first)), number(host.meta.get(last))
        if begin is not None and end is not None and end > begin:
            return end - begin
    return None


def _remark_on_the_run(host: Host) -> None:
    status = host.meta.get("status")
    if status == "running":
        host.remarks.append("the run was killed or still runs; the page shows what it has written so far")
    elif status not in (None, "complete"):
        reason = host.meta.get("reason", "no reason recorded")
        host.remarks.append(f"incomplete: {reason}; the page shows what was measured until then")
    begin, end = number(host.meta.get("started")), number(host.meta.get("ended"))
    up, down = number(host.meta.get("uptime_before")), number(host.meta.get("uptime_after"))
    if None not in (begin, end, up, down):
        step = (end - begin) - (down - up)  # type: ignore[operator]
        if abs(step) > CLOCK_STEP_S:
            host.remarks.append(
                f"the clock of the day stepped by {step:+.0f} s during the run: recorded dates may be wrong; "
                "the data are right (they use the CPU's own counter)"
            )


def _remark_on_names(hosts: Sequence[Host]) -> None:
    """Adds remarks to folders with the same host name: one host twice, two tasks at once, or two hosts."""
    by_name: dict[str, list[Host]] = {}
    for host in hosts:
        if name := host.meta.get("host"):
            by_name.setdefault(name, []).append(host)
    for name, group in by_name.items():
        boots = {host.meta.get("boot_id") for host in group}
        if len(group) < 2:
            continue
        if len(boots) == 1:
            why = "the same boot: one host that was measured more than once; each run has its own row"
        else:
            why = "different boots: different hosts with one name, or one host that rebooted in between"
        for host in group:
            others = ", ".join(other.name for other in group if other is not host)
            host.remarks.append(f"has the host name {name}, like {others}; {why}")


def hosts_read(folder: Path) -> Hosts:
    """Reads the folder of host folders, or a host's own folder. Raises DataError or OSError."""
    if not folder.is_dir():
        raise DataError(
            f"{folder}: {'not a folder' if folder.exists() else 'no such folder'}; give the folder that "
            "tacet-noise has written to (--out), which holds a folder per host"
        )
    found = Hosts(folder)
    if (folder / META).is_file():
        folders = [(folder, folder.resolve().name)]
    else:
        # os.path.isdir answers False for a path that cannot be read, such as a link to itself.
        folders = [(path, path.name) for path in _listed(folder) if os.path.isdir(path)]
    for path, name in folders:
        try:
            host = host_read(path, name, found.left_out)
        except OSError as error:
            found.left_out.append((printable(name), f"cannot be read: {error.strerror}"))
            continue
        while any(host.name == other.name for other in found.hosts):
            host.name += "'"  # names that are not UTF-8 may look alike
        if host.methods or host.phases:
            found.hosts.append(host)
        else:
            found.left_out.append((host.name, "no program's data in it"))
    if not found.hosts:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in found.left_out[:3])
        raise DataError(
            f"{folder}: no host's folder in it; tacet-noise writes FOLDER/HOST/ with {META} and *.dat"
            + (f" ({reasons})" if reasons else "")
        )
    _remark_on_names(found.hosts)
    return found


# ---- Figures ----


@dataclass(frozen=True)
class Figures:
    """What a host loses, by one method: the share of each CPU's time, their mean, and the CPU that loses most
    (a step of a job waits for it). `longest_ns` is the longest detour in `span_ns`, the time for which its
    CPUs were measured; if the times differ, the longest of them."""

    method: str
    by_cpu: dict[int, float]
    per_second: float
    longest_ns: float
    worst: Trace
    traces: dict[int, Trace] = field(default_factory=dict, repr=False)

    @property
    def lost_ratio(self) -> float:
        return float(np.mean(list(self.by_cpu.values())))

    @property
    def span_ns(self) -> float:
        return max(trace.span_ns for trace in self.traces.values())

    def lost_figure(self, longest_ns: float) -> Figure:
        """Returns the mean loss of the CPUs with its interval. Noise of a host comes on several of its CPUs
        at once, so the bounds are the means of the CPUs' bounds. `longest_ns`: see
        `statistics.lost_figure`."""
        parts = [statistics.lost_figure(trace, longest_ns) for trace in self.traces.values()]

        @lru_cache(maxsize=16)
        def interval(confidence: float) -> Interval:
            found = [part.interval(confidence) for part in parts]
            low, high = (float(np.mean([getattr(one, end) for one in found])) for end in ("low", "high"))
            return Interval(low, high, confidence, next((one.remark for one in found if one.remark), ""))

        return Figure(self.lost_ratio, interval)

    def longest_in_ns(self, window_ns: float) -> float | None:
        """Returns the longest detour of a CPU in `window_ns` of measured time: the median over such windows;
        None if a CPU that was measured for longer has no times of its detours."""
        found = []
        for trace in self.traces.values():
            windows = int(trace.span_ns / window_ns * (1 + 1e-12))
            if windows < 2:
                found.append(statistics.detour_figures(trace).maximum_ns or 0.0)
            elif trace.complete and trace.detours == trace.listed:
                found.append(float(np.median(statistics.window_maxima(trace, window_ns, windows))))
            else:
                return None
        return max(found)


def common_method(hosts: Sequence[Host]) -> str:
    """Returns the finest method that at least half of the hosts have, else the finest of any host; empty if
    there is none."""
    counts = Counter(method for host in hosts for method in host.methods)
    order = (*PREFERENCE, "rtla-top", "rtla-hist")
    shared = [method for method in order if 2 * counts[method] >= len(hosts)]
    return next((method for method in (*shared, *order) if counts[method]), "")


def figures_of(host: Host, method: str) -> Figures | None:
    """Returns a host's figures by the method, or by its own finest if it lacks that. None if it has only
    phases."""
    used = method if host.by_cpu(method) else next(iter(host.methods), "")
    traces = host.by_cpu(used)
    if not traces:
        return None
    ratios = {cpu: statistics.noise_ratio(trace) for cpu, trace in traces.items()}
    details = [statistics.detour_figures(trace) for trace in traces.values()]
    return Figures(
        used,
        ratios,
        float(np.mean([one.per_second for one in details])),
        max((one.maximum_ns or 0.0 for one in details), default=0.0),
        traces[max(ratios, key=lambda cpu: ratios[cpu])],
        traces,
    )
