# SPDX-License-Identifier: BSD-2-Clause
"""Finds the hosts that stand out, and how their settings differ from most others.

The test uses the median and the median absolute deviation (MAD): one loud host does not move these, as it
would move mean and standard deviation. Longest detours are compared in the time for which every host was
measured, because a maximum grows with the time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lab.common.text import percent_text, time_text
from lab.report.hosts import SETTINGS, Figures, Host, cpu_text

#: The test needs at least this number of hosts or CPUs.
CROWD_MIN = 4
#: The standard deviation of a normal distribution, in MAD.
DEVIATION_OF_MAD = 1.4826
#: A value stands out if it is above median + DEVIATIONS deviations, and above TIMES the median.
DEVIATIONS = 5.0
TIMES = 1.5


@dataclass(frozen=True)
class Crowd:
    """One figure of many hosts or CPUs: its median, its MAD, and the names whose value stands out above."""

    median: float
    mad: float
    outside: tuple[str, ...]

    def above(self, value: float) -> str:
        """Returns how far a value is above the median, in words."""
        times = f"{value / self.median:.3g} times as much" if self.median > 0 else "most lose nothing"
        if not self.mad:
            return times
        return f"{times}, {(value - self.median) / self.mad:,.0f} MAD above"


def crowd(values: Mapping[str, float]) -> Crowd | None:
    """Returns median, MAD and outliers of the values; None for fewer than CROWD_MIN of them."""
    if len(values) < CROWD_MIN:
        return None
    every = np.array(list(values.values()))
    median = float(np.median(every))
    mad = float(np.median(np.abs(every - median)))
    limit = max(median + DEVIATIONS * DEVIATION_OF_MAD * mad, TIMES * median)
    return Crowd(median, mad, tuple(name for name, value in values.items() if value > limit))


@dataclass(frozen=True)
class Outlier:
    """A host that stands out: by which figures, and the settings in which it differs from most."""

    name: str
    why: str
    differs: tuple[str, ...]


def differences(host: Host, hosts: Sequence[Host]) -> list[str]:
    """Returns the settings in which a host differs from more than half of the others."""
    found = []
    others = [one for one in hosts if one is not host]
    for key, name in SETTINGS.items():
        mine = host.settings.get(key)
        common = Counter(one.settings.get(key) for one in others).most_common(1)
        if common and common[0][0] != mine and 2 * common[0][1] > len(others):
            found.append(f"{name}: {mine or 'unknown'} (most others: {common[0][0] or 'unknown'})")
    stolen = max(host.activity.stolen.values(), default=0.0)
    if stolen > 0.001:
        found.append(f"its hypervisor kept {percent_text(stolen)} of a CPU's time")
    return found


def outliers(hosts: Sequence[Host], figures: Mapping[str, Figures]) -> list[Outlier]:
    """Returns the hosts that stand out, the loudest first."""
    by_method = Counter(one.method for one in figures.values()).most_common(1)
    alike = {name: one for name, one in figures.items() if by_method and one.method == by_method[0][0]}
    lost = crowd({name: one.lost_ratio for name, one in alike.items()})
    window_ns = min((one.span_ns for one in alike.values()), default=0.0)
    longest_ns = {name: one.longest_in_ns(window_ns) for name, one in alike.items()}
    longest = crowd({name: value for name, value in longest_ns.items() if value is not None})
    found = []
    for host in sorted(hosts, key=lambda one: -figures[one.name].lost_ratio if one.name in figures else 0.0):
        if host.name not in alike:
            continue
        mine, why = alike[host.name], []
        if lost and host.name in lost.outside:
            why.append(
                f"loses {percent_text(mine.lost_ratio)} of its time; the median of {len(alike)} hosts is "
                f"{percent_text(lost.median)}: {lost.above(mine.lost_ratio)}"
            )
        if longest and host.name in longest.outside:
            why.append(
                f"its longest detour in {time_text(window_ns)} lasts "
                f"{time_text(longest_ns[host.name] or 0.0)}; the median of the hosts' is "
                f"{time_text(longest.median)}"
            )
        inside = crowd({str(cpu): ratio for cpu, ratio in mine.by_cpu.items()})
        if inside and inside.outside:
            cpus = [int(cpu) for cpu in inside.outside]
            why.append(
                f"of its {len(mine.by_cpu)} CPUs, CPU {cpu_text(cpus)} loses much more than others: up to "
                f"{percent_text(max(mine.by_cpu[cpu] for cpu in cpus))}; the median of its CPUs is "
                f"{percent_text(inside.median)}"
            )
        if why:
            found.append(Outlier(host.name, "; ".join(why), tuple(differences(host, hosts))))
    return found
