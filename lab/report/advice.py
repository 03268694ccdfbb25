# SPDX-License-Identifier: BSD-2-Clause
"""Decides what to tune first on Linux hosts: rules that lead from the recorded settings and the measured
noise to a setting, each with what was found.

A rule looks at one host and returns a `Finding` or None. The findings of one rule on several hosts are one
piece of advice. Advice is ranked by the measured share of time lost, on the host where it costs most. Advice
without a measured cost comes after it, in the order of `RULES`. A setting that was not recorded leads to no
advice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lab.common.text import percent_text, rate_text, time_text
from lab.report.comb import Comb, comb_find
from lab.report.hosts import Figures, Host, cpu_list, cpu_text, number


@dataclass(frozen=True)
class Finding:
    """A finding on one host: what was found, the exact setting to change, and the share of time lost (None:
    not measured)."""

    found: str
    setting: str
    lost_ratio: float | None = None


@dataclass
class Advice:
    """A rule's findings on all hosts: (host, finding), the one that costs most first."""

    title: str
    why: str
    findings: list[tuple[str, Finding]] = field(default_factory=list)

    @property
    def lost_ratio(self) -> float | None:
        known = [one.lost_ratio for _, one in self.findings if one.lost_ratio is not None]
        return max(known, default=None)


@dataclass(frozen=True)
class Measured:
    """A host with the figures and the comb that were derived from its data."""

    host: Host
    figures: Figures | None
    comb: Comb | None

    @property
    def cpus(self) -> list[int]:
        return self.host.cpus

    def get(self, key: str) -> str:
        return self.host.meta.get(key, "")


def measured(host: Host, figures: Figures | None) -> Measured:
    """Finds the comb of the CPU that loses most, in its selfish detours if it has any."""
    exact = host.by_cpu("selfish") or (host.by_cpu(figures.method) if figures else {})
    trace = exact.get(figures.worst.cpu if figures and figures.worst.cpu is not None else -1)
    trace = trace or next(iter(exact.values()), None)
    return Measured(host, figures, comb_find(trace) if trace else None)


# ---- Rules ----


def _quota(one: Measured) -> Finding | None:
    quota = one.get("cgroup_cpu_max").split()
    if len(quota) < 2 or not all(word.isdigit() for word in quota[:2]) or int(quota[1]) == 0:
        return None
    cpus = int(quota[0]) / int(quota[1])
    if cpus >= len(one.cpus):
        return None
    return Finding(
        f"cpu.max is {' '.join(quota)}: {cpus:.3g} CPUs' time for {len(one.cpus)} CPUs",
        f"echo max > /sys/fs/cgroup{one.get('cgroup').rstrip('/')}/cpu.max (or the container's CPU limit)",
        max(0.0, 1 - cpus / max(len(one.cpus), 1)),
    )


def _stolen(one: Measured) -> Finding | None:
    stolen = {cpu: one.host.activity.stolen.get(cpu, 0.0) for cpu in one.cpus}
    worst = max(stolen, key=lambda cpu: stolen[cpu], default=None)
    if worst is None or stolen[worst] < 0.001:
        return None
    name = one.get("hypervisor_vendor") or one.get("hypervisor") or "unknown"
    return Finding(
        f"hypervisor {name}; CPU {worst} had {percent_text(stolen[worst])} of its time stolen",
        "on the hypervisor: give each virtual CPU a host CPU of its own (libvirt: <vcpupin>), or use no "
        "virtual machine",
        stolen[worst],
    )


def _load(one: Measured) -> Finding | None:
    load = number(one.get("load_before"))
    if load is None or load < 0.5:
        return None
    tick = one.comb.lost_ratio if one.comb else 0.0
    lost = max(one.figures.lost_ratio - tick, 0.0) if one.figures else None
    return Finding(
        f"a load of {load:g} before the measurement began, on {len(one.cpus)} measured CPUs",
        "stop the other programs (top shows them), or measure under the batch system with the node for this "
        "job only (srun --exclusive)",
        lost,
    )


def _tick(one: Measured) -> Finding | None:
    line = one.host.activity.line("LOC")
    rates = [line.per_second[cpu] for cpu in one.cpus if cpu in line.per_second] if line else []
    rate = min(rates, default=0.0)
    if one.comb is None and rate < 50:
        return None
    found = []
    if one.comb:
        whose = (
            "the clock tick"
            if _is_tick(one.comb, rate)
            else "not this kernel's tick, perhaps the period of a hypervisor or of a quota"
        )
        found.append(f"detours at {one.comb.rate_hz:g} Hz, median {time_text(one.comb.tooth_ns)}: {whose}")
    if rate >= 50:
        found.append(f"{rate_text(rate)} local timer interrupts a second on each measured CPU")
    cost = one.comb.lost_ratio if one.comb and _is_tick(one.comb, rate) else None
    quiet = one.get("nohz_full")
    ticking = [cpu for cpu in one.cpus if cpu not in cpu_list(quiet)]
    if not one.host.meta:
        found.append("nohz_full unknown")
    elif not quiet:
        found.append("nohz_full is not supported by this kernel (CONFIG_NO_HZ_FULL is not set)")
    elif ticking:
        found.append(f"nohz_full is {quiet}" if quiet in ("none", "(null)") else f"nohz_full is {quiet} only")
    else:
        found.append(f"nohz_full is {quiet} already, so more than one task runs on these CPUs")
        return Finding("; ".join(found), "keep other tasks off them: isolcpus, or a cgroup's cpuset", cost)
    cpus = cpu_text([cpu for cpu in one.cpus if cpu != 0] or one.cpus)
    keep = "" if len(one.cpus) > 1 else " (and keep another CPU for the system)"
    return Finding(
        "; ".join(found),
        f"kernel command line: nohz_full={cpus} rcu_nocbs={cpus}{keep}; leave CPU 0 to the system"
        + ("" if quiet else "; needs a kernel with CONFIG_NO_HZ_FULL=y"),
        cost,
    )


def _is_tick(comb: Comb, timer_rate: float) -> bool:
    """Whether the timer interrupts come at the comb's rate; true if their rate is unknown (0)."""
    return timer_rate == 0 or abs(timer_rate - comb.rate_hz) < 0.3 * comb.rate_hz


def _siblings(one: Measured) -> Finding | None:
    busy = {}
    for cpu in one.cpus:
        for sibling in cpu_list(one.get(f"cpu.{cpu}.siblings")):
            if sibling != cpu and (share := one.host.activity.busy.get(sibling, 0.0)) > 0.01:
                busy[sibling] = (share, cpu)
    if not busy:
        return None
    worst = max(busy, key=lambda cpu: busy[cpu][0])
    share, cpu = busy[worst]
    who = "measured, too" if worst in one.cpus else "other work"
    return Finding(
        f"SMT is on, and CPU {worst}, the sibling of CPU {cpu}, was busy for {percent_text(share)} ({who})",
        "echo off > /sys/devices/system/cpu/smt/control, or leave the siblings idle (srun "
        "--hint=nomultithread)",
    )


def _devices(one: Measured) -> Finding | None:
    rates = []
    for line in one.host.activity.devices:
        here = {cpu: line.per_second.get(cpu, 0.0) for cpu in one.cpus}
        worst = max(here, key=lambda cpu: here[cpu], default=None)
        if worst is not None and here[worst] >= 1:
            rates.append((here[worst], worst, line))
    if not rates:
        return None
    rates.sort(key=lambda row: -row[0])
    loudest = ", ".join(
        f"{line.name} ({line.what}) {rate_text(rate)}/s on CPU {cpu}" for rate, cpu, line in rates[:3]
    )
    balance = one.get("irqbalance")
    numbers = " ".join(line.name for _, _, line in rates[:3])
    stop = "systemctl stop irqbalance; " if balance == "running" else ""
    return Finding(
        f"irqbalance {balance or 'unknown'}; interrupts of devices on measured CPUs: {loudest}",
        f"{stop}for i in {numbers}; do echo 0 > /proc/irq/$i/smp_affinity_list; done",
    )


def _governor(one: Measured) -> Finding | None:
    slow: dict[str, list[int]] = {}
    for cpu in one.cpus:
        governor = one.get(f"cpu.{cpu}.governor")
        if governor and governor != "performance":
            slow.setdefault(governor, []).append(cpu)
    if not slow:
        return None
    found = ", ".join(f"{name} on CPUs {cpu_text(cpus)}" for name, cpus in slow.items())
    return Finding(
        f"governor {found}" + (f" ({one.get('scaling_driver')})" if one.get("scaling_driver") else ""),
        "cpupower frequency-set -g performance",
    )


def _clock(one: Measured) -> Finding | None:
    clock = one.get("clocksource")
    if clock in ("", "tsc", "kvm-clock", "timebase", "arch_sys_counter"):
        return None
    return Finding(
        f"the kernel keeps time by {clock}, so each reading of the clock is slow",
        "kernel command line: tsc=reliable, if the machine's TSC is reliable (dmesg | grep -i tsc says why "
        "it is not used)",
    )


def _switch(key: str, wrong: str, what: str, setting: str) -> Callable[[Measured], Finding | None]:
    def rule(one: Measured) -> Finding | None:
        value = one.get(key)
        return Finding(f"{what} is {value}", setting) if re.search(wrong, value) else None

    return rule


def _deep_sleep(one: Measured) -> Finding | None:
    deep = []
    for state in re.finditer(r"(\S[^:]*):(\d{1,7})us:(\d)", one.get("cstates")):
        if int(state[2]) > 10 and state[3] == "0":
            deep.append(f"{state[1].strip()} ({state[2]} µs)")
    if not deep:
        return None
    return Finding(
        f"C-states with a long exit latency are enabled: {', '.join(deep)}",
        "cpupower idle-set -D 10 (or hold /dev/cpu_dma_latency open with 0); this helps jobs that wait, not "
        "those that compute",
    )


#: Title, why it matters, rule. Advice without a measured cost keeps this order.
RULES: tuple[tuple[str, str, Callable[[Measured], Finding | None]], ...] = (
    ("A CPU quota", "a cgroup that has used its quota stands still until the period ends", _quota),
    ("Time stolen by the hypervisor", "no setting of the guest can prevent it", _stolen),
    ("Other programs", "each other program that runs takes whole time slices", _load),
    ("The clock tick", "one interrupt per period on every CPU", _tick),
    ("Interrupts of devices", "each takes some µs, and more if a softirq follows", _devices),
    ("Busy SMT siblings", "two hardware threads share one core's units and caches", _siblings),
    ("The frequency governor", "if a CPU changes its speed, phases differ in length", _governor),
    ("The clock source", "each program that reads the time waits for it", _clock),
    (
        "NUMA balancing",
        "it unmaps pages to see which CPUs touch them: page faults during computation",
        _switch("numa_balancing", r"^[1-9]", "kernel.numa_balancing", "sysctl kernel.numa_balancing=0"),
    ),
    (
        "Transparent hugepages",
        "khugepaged moves memory during computation",
        _switch(
            "transparent_hugepage",
            r"\[always\]",
            "transparent_hugepage/enabled",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        ),
    ),
    (
        "The NMI watchdog",
        "an interrupt of a performance counter on each CPU, every few seconds",
        _switch("nmi_watchdog", r"^1", "kernel.nmi_watchdog", "sysctl kernel.nmi_watchdog=0"),
    ),
    (
        "The soft lockup watchdog",
        "a timer on each CPU, every four seconds by default",
        _switch("watchdog", r"^1", "kernel.watchdog", "sysctl kernel.watchdog=0"),
    ),
    ("Deep C-states", "an idle CPU sleeps deeper and wakes later", _deep_sleep),
)


def advice(everybody: Sequence[Measured]) -> list[Advice]:
    """Returns the advice for all hosts, what costs most first."""
    found = []
    for title, why, rule in RULES:
        one = Advice(title, why)
        for host in everybody:
            if finding := rule(host):
                one.findings.append((host.host.name, finding))
        if one.findings:
            one.findings.sort(key=lambda pair: -(pair[1].lost_ratio or 0.0))
            found.append(one)
    return sorted(found, key=lambda one: -(one.lost_ratio or 0.0))
