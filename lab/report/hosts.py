# SPDX-License-Identifier: BSD-2-Clause
"""The hosts of a measurement: what `tacet-noise` (kit/) has left in a folder, a folder a host.

    meta.txt         key=value, the last line of a key counts; ends with status=complete or incomplete
    *.dat            the programs' data, of any format that the lab reads
    rtla.txt         rtla's summary, where root has measured
    interrupts-…     /proc/interrupts and /proc/stat from before and after (activity.py)

Other people's machines make these files, and they are read from wherever somebody has copied them: nothing is
taken for granted, and what is left out is said with its reason.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from lab import statistics
from lab.common.errors import DataError
from lab.formats import phase, registry
from lab.formats.registry import FormatError
from lab.formats.trace import Trace
from lab.report.activity import Activity, activity_read
from lab.report.nodes import PREFERENCE

META = "meta.txt"
META_BYTES_MAX = 1 << 22
#: What tacet-noise leaves beside its data.
NO_DATA = re.compile(r"meta\.txt|log|(interrupts|softirqs|stat)-(before|after)\.txt")
#: How far the clock of the day and the uptime may come apart in a run before it counts as a step, s.
CLOCK_STEP_S = 2.0
#: A list of more CPUs than any machine has is damage.
CPUS_MAX = 1 << 17


def printable(text: str) -> str:
    """Text of another machine as a page can hold it: no control characters, no half characters."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(c if c.isprintable() else "?" for c in whole)


@dataclass
class Host:
    """A host's folder: its name there (no two are the same), its settings, its data, what is to be said of
    it."""

    name: str
    path: Path
    meta: dict[str, str] = field(default_factory=dict)
    traces: list[Trace] = field(default_factory=list)
    phases: list[phase.PhaseData] = field(default_factory=list)
    activity: Activity = field(default_factory=Activity)
    remarks: list[str] = field(default_factory=list)

    def by_cpu(self, method: str) -> dict[int, Trace]:
        """The traces of a method by CPU, those that have lengths; a CPU that was measured twice has the
        longer one."""
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
        """The CPUs that were measured, as recorded or else as the data say."""
        recorded = cpu_list(self.meta.get("cpus_measured", ""))
        return recorded or sorted({t.cpu for t in self.traces if t.cpu is not None})

    @cached_property
    def settings(self) -> dict[str, str]:
        """Settings as one compares them: those of CPUs put together."""
        found = {key: value for key, value in self.meta.items() if key in SETTINGS}
        governors = Counter(v for k, v in self.meta.items() if re.fullmatch(r"cpu\.\d+\.governor", k))
        if governors:
            found["governor"] = ", ".join(sorted(governors))
        return found


#: What makes hosts differ: keys of meta.txt, with their names for a reader.
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
    """`0,2-4` as numbers; nothing of what is no such list."""
    found: list[int] = []
    for part in text.split(","):
        if not (match := re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", part.strip())):
            return []
        found += range(int(match[1]), int(match[2] or match[1]) + 1)
        if len(found) > CPUS_MAX:
            return []
    return found


def cpu_text(cpus: Sequence[int]) -> str:
    """Numbers as Linux writes CPU lists: 0-2,5."""
    parts: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if parts and parts[-1][1] == cpu - 1:
            parts[-1][1] = cpu
        else:
            parts.append([cpu, cpu])
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in parts)


def number(text: str | None) -> float | None:
    """The number that a value begins with, or None."""
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
        host.remarks.append(f"{META}: {damaged} lines are not key=value and were passed over")
    if host.meta.get("format", "tacet-noise 1") != "tacet-noise 1":
        host.remarks.append(f"{META}: format {host.meta['format']!r}; this lab knows tacet-noise 1")


def _file(host: Host, path: Path, left_out: list[tuple[str, str]]) -> None:
    """Takes a file's data; what is no data is passed over, what is damaged is left out with the reason."""
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
    """A host's folder. OSError if it cannot be listed."""
    host = Host(printable(name), path)
    try:
        _meta(path / META, host)
    except FileNotFoundError:
        host.remarks.append(f"no {META}: its settings are unknown, so that no advice can come from them")
    except OSError as error:
        host.remarks.append(f"{META} cannot be read ({error.strerror}): its settings are unknown")
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
    """How long the run lasted: by the uptime, which nobody sets, else by the clock of the day."""
    for first, last in (("uptime_before", "uptime_after"), ("started", "ended")):
        begin, end = number(host.meta.get(first)), number(host.meta.get(last))
        if begin is not None and end is not None and end > begin:
            return end - begin
    return None


def _remark_on_the_run(host: Host) -> None:
    status = host.meta.get("status")
    if status == "running":
        host.remarks.append("the run has no end: it was killed, or it still runs; shown is what it has left")
    elif status not in (None, "complete"):
        reason = host.meta.get("reason", "no reason recorded")
        host.remarks.append(f"incomplete: {reason}; shown is what was measured until then")
    begin, end = number(host.meta.get("started")), number(host.meta.get("ended"))
    up, down = number(host.meta.get("uptime_before")), number(host.meta.get("uptime_after"))
    if None not in (begin, end, up, down):
        step = (end - begin) - (down - up)  # type: ignore[operator]
        if abs(step) > CLOCK_STEP_S:
            host.remarks.append(
                f"the clock of the day stepped by {step:+.0f} s during the run: its dates are not to be "
                "trusted; the data are (they come from the CPU's own counter)"
            )


def _remark_on_names(hosts: Sequence[Host]) -> None:
    """Folders of one host name: the same host again, two tasks at once, or two hosts of that name."""
    by_name: dict[str, list[Host]] = {}
    for host in hosts:
        if name := host.meta.get("host"):
            by_name.setdefault(name, []).append(host)
    for name, group in by_name.items():
        boots = {host.meta.get("boot_id") for host in group}
        if len(group) < 2:
            continue
        if len(boots) == 1:
            why = "the same boot: one host that was measured more than once, each run a row of its own"
        else:
            why = "not the same boot: different hosts of one name, or one that was restarted in between"
        for host in group:
            others = ", ".join(other.name for other in group if other is not host)
            host.remarks.append(f"calls itself {name}, as {others} does; {why}")


def hosts_read(folder: Path) -> Hosts:
    """The folder of host folders, or a host's own folder. DataError or OSError."""
    if not folder.is_dir():
        raise DataError(
            f"{folder}: {'no folder' if folder.exists() else 'there is no such folder'}; give the one that "
            "tacet-noise has written to (--out), with a folder a host"
        )
    found = Hosts(folder)
    if (folder / META).is_file():
        folders = [(folder, folder.resolve().name)]
    else:
        # os.path's answer is no for what cannot be looked at, as a link that leads to itself.
        folders = [(path, path.name) for path in _listed(folder) if os.path.isdir(path)]
    for path, name in folders:
        try:
            host = host_read(path, name, found.left_out)
        except OSError as error:
            found.left_out.append((printable(name), f"cannot be read: {error.strerror}"))
            continue
        while any(host.name == other.name for other in found.hosts):
            host.name += "'"  # bytes that are no text look alike
        if host.methods or host.phases:
            found.hosts.append(host)
        else:
            found.left_out.append((host.name, "no data of a program in it"))
    if not found.hosts:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in found.left_out[:3])
        raise DataError(
            f"{folder}: no host's folder in it; tacet-noise leaves FOLDER/HOST/ with {META} and *.dat"
            + (f" ({reasons})" if reasons else "")
        )
    _remark_on_names(found.hosts)
    return found


# ---- Figures ----


@dataclass(frozen=True)
class Figures:
    """What a host loses, by one method: of each CPU, their mean, and the CPU that loses most, for which a
    step of a job waits."""

    method: str
    by_cpu: dict[int, float]
    per_second: float
    longest_ns: float
    worst: Trace

    @property
    def lost_ratio(self) -> float:
        return float(np.mean(list(self.by_cpu.values())))


def common_method(hosts: Sequence[Host]) -> str:
    """The finest method that at least half of the hosts have, else the finest of all. Empty if there is
    none."""
    counts = Counter(method for host in hosts for method in host.methods)
    order = (*PREFERENCE, "rtla-top", "rtla-hist")
    shared = [method for method in order if 2 * counts[method] >= len(hosts)]
    return next((method for method in (*shared, *order) if counts[method]), "")


def figures_of(host: Host, method: str) -> Figures | None:
    """By the method, or by the host's own finest where it lacks that. None where it has only phases."""
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
    )
