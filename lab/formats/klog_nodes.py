# SPDX-License-Identifier: BSD-2-Clause
"""Reads the flight logs of all nodes, as `conductorctl klog --to DIR` fetches them, on one time line.

DIR has a file for each node (formats/klog.py) and nodes.json. For each node nodes.json has its name, its
log's file, and one moment, the hold, on the node's clock (`local_ns`, since its boot) and on the conductor's
(`global_ns`), with the excess of the conductor's clock rate (`drift`, in 2**-32). So each event has a global
time, and each beat has the same global time on all nodes.

Only the interval that all logs cover completely is kept: a busy CPU overwrites its older events sooner than
others do, and nodes that were held at different beats end at different times.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from lab.formats.klog import FlightLog, KlogError, read

NODES = "nodes.json"
NODES_MAX = 16384
JSON_MAX = 64 << 20
#: The event with which a log continues after it was held.
RELEASE = "log_release"


@dataclass(frozen=True)
class NodeLog:
    """A node's log, and the relation of its clock to the conductor's."""

    name: str
    log: FlightLog
    local_ns: int
    global_ns: int
    drift: int

    def global_of(self, time_ns: np.ndarray) -> np.ndarray:
        """Converts the node's times to global times, ns."""
        after = time_ns.astype(np.int64) - np.int64(self.local_ns)
        return np.int64(self.global_ns) + after + np.rint(after * (self.drift / 2**32)).astype(np.int64)

    def covered_from(self) -> int:
        """Returns the global time from which no CPU has lost an event, also by an earlier hold, ns."""
        released = [i for i, kind in enumerate(self.log.kinds) if kind.name == RELEASE]
        begins = [0, *self.log.time_ns[np.isin(self.log.kind, released)][-1:].tolist()]
        for part in self.log.cpus:
            if part.lost:
                own = self.log.time_ns[self.log.cpu == part.cpu]
                begins.append(int(own[0]) if len(own) else self.local_ns)
        return int(self.global_of(np.array([max(begins)], dtype=np.uint64))[0])


@dataclass(frozen=True)
class Interval:
    """The logs of all nodes within the time that all cover; times in ns from its beginning."""

    begin_ns: int  #: global time
    length_ns: int
    logs: dict[str, FlightLog]

    def beats(self) -> dict[int, dict[str, int]]:
        """Returns when each beat reached each node, by the beat's number."""
        found: dict[int, dict[str, int]] = {}
        for name, log in self.logs.items():
            number = next((i for i, kind in enumerate(log.kinds) if kind.name == "beat"), None)
            chosen = np.flatnonzero(log.kind == number) if number is not None else []
            for time_ns, sequence in zip(log.time_ns[chosen].tolist(), log.words[chosen, 0].tolist()):
                found.setdefault(sequence, {})[name] = time_ns
        return found

    def beat_spread_ns(self) -> tuple[int, int]:
        """Returns the number of beats that reached all nodes, and the largest difference of one beat's times,
        ns."""
        whole = [times.values() for times in self.beats().values() if len(times) == len(self.logs)]
        return len(whole), max((max(times) - min(times) for times in whole), default=0)


def _entry(entry: Any, where: str) -> tuple[str, str, int, int, int]:
    """Returns a node's entry in nodes.json, checked."""
    if not isinstance(entry, dict):
        raise KlogError(f"{where}: a node is {entry!r:.40}, not an object")
    found: list[Any] = []
    for name, kind in (("name", str), ("file", str), ("local_ns", int), ("global_ns", int), ("drift", int)):
        value = entry.get(name)
        if type(value) is not kind:
            raise KlogError(f"{where}: a node's {name!r} is {value!r:.40}, not of type {kind.__name__}")
        if kind is int and abs(value) >= 1 << 62:
            raise KlogError(f"{where}: a node's {name!r} is {value}: out of range for a clock")
        found.append(value)
    name, file = found[0], found[1]
    if not name.isprintable() or not file.isprintable() or "/" in file or file in ("", ".", ".."):
        raise KlogError(f"{where}: {file!r} of node {name!r} is not the name of a file in its folder")
    return tuple(found)  # type: ignore[return-value]


def read_folder(folder: Path) -> list[NodeLog]:
    """Returns all logs of a folder. KlogError says what is wrong, and where."""
    path = folder / NODES
    try:
        with path.open("rb") as file:
            report = json.loads(file.read(JSON_MAX))
    except OSError as error:
        raise KlogError(
            f"{path}: {error.strerror}; give a folder that `conductorctl klog --to DIR` has written"
        ) from None
    except (ValueError, RecursionError) as error:
        raise KlogError(f"{path}: not JSON: {error}") from None
    entries = report.get("nodes") if isinstance(report, dict) else None
    if not isinstance(entries, list) or not 1 <= len(entries) <= NODES_MAX:
        raise KlogError(f"{path}: 'nodes' is not a list of 1 to {NODES_MAX} nodes")
    found: dict[str, NodeLog] = {}
    for entry in entries:
        name, file_name, *clocks = _entry(entry, str(path))
        shown = name if name and name not in found else file_name.removesuffix(".klog")
        if shown in found:
            raise KlogError(f"{path}: node {name!r} is listed twice")
        found[shown] = NodeLog(shown, read(folder / file_name), *clocks)
    return list(found.values())


def together(nodes: list[NodeLog], last_ns: int | None = None) -> Interval:
    """Returns the time that all logs cover, or the last `last_ns` of it."""
    unclocked = [node.name for node in nodes if node.log.clock_hz == 0]
    if unclocked:
        raise KlogError(f"{unclocked[0]}: the node did not know its clock's rate, so its times are not in ns")
    begin, end = max(node.covered_from() for node in nodes), min(node.global_ns for node in nodes)
    if begin >= end:
        late = max(nodes, key=NodeLog.covered_from).name
        early = min(nodes, key=lambda node: node.global_ns).name
        raise KlogError(
            f"the logs have no time in common: that of {late} begins {begin - end} ns after that of {early} "
            "ends; record fewer classes of events (conductorctl trace -CLASS), then logs reach further back"
        )
    if last_ns is not None:
        begin = max(begin, end - last_ns)
    logs = {}
    for node in nodes:
        times = node.global_of(node.log.time_ns)
        keep = (times >= begin) & (times <= end)
        chosen = node.log.select(keep)
        logs[node.name] = replace(chosen, time_ns=(times[keep] - begin).astype(np.uint64))
    return Interval(begin, end - begin, logs)
