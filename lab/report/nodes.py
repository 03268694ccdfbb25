# SPDX-License-Identifier: BSD-2-Clause
"""Collects the nodes of a report: which files belong to which node, what they hold, and by which method the
nodes are compared.

A node's data are files of any format that the lab reads. Nodes are compared by the same method if all have
one in common. Of several such methods the order is: measured phases of the grain, because nothing has to be
derived; then detours, the methods that see the shortest detours first. A method is skipped if its data are
valid for less than half the nodes of another. Of several CPUs the noisiest represents its node, because a
step waits for the last rank.

A run may be marked as doubtful: its recorder states that its figures are an artefact of the machine (the
remark that `tools/lab compare` keeps in PROGRAM.json), or its data have no floor. The report shows marked
runs with a star and leaves them out of the judgement.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab import statistics
from lab.common.errors import DataError
from lab.common.text import time_text
from lab.formats import phase, registry
from lab.formats.registry import Assumed, FormatError
from lab.formats.trace import Trace
from lab.pictures.style import NAMES, key_of
from lab.statistics import Delays

#: Formats, best first: those that see the shortest detours and time them most exactly.
PREFERENCE = (
    "selfish",
    "sysjitter",
    "sysjitter-bare",
    "osnoise",
    "noise",
    "fwq",
    "netgauge-fwq",
    "ftq",
    "netgauge-ftq",
)

#: Programs whose output `make run` and `make bench` leave as PROGRAM-SYSTEM.dat.
PROGRAMS = ("selfish", "fwq", "ftq", "phase")

QEMU_NOTE = (
    "Measured in QEMU with a deterministic clock of one instruction per nanosecond: counts are as on "
    "hardware; lengths are numbers of instructions, without the effects of caches and pipelines "
    "(docs/noise.md)."
)
TUNED_REMARK = (
    "The tuned Linux needs two CPUs, which take turns on QEMU's one clock. No record says that the turns "
    "were bounded, so most of its lost time may be the other CPU's work; its loss is an upper bound."
)


PHASE_DOUBT = (
    "undisturbed phases cannot be distinguished from delayed ones, so delays cannot be counted; measure on "
    "a CPU that runs nothing else"
)


def starred(marked: object) -> str:
    """Returns what follows a name in the report: a star if it is marked."""
    return " *" if marked else ""


def _file_of(trace: Trace) -> Path:
    return Path(trace.source.partition(":")[0])


def _recorded_remark(path: Path) -> str | None:
    """Returns the recorder's remark on PROGRAM-SYSTEM.dat, from PROGRAM.json in the same folder. Empty if the
    run has no remark, None if there is no record of the run."""
    program, _, system = path.stem.partition("-")
    try:
        recorded = json.loads((path.parent / f"{program}.json").read_text(encoding="utf-8"))
        remark = recorded[system.replace("-", "_")]["remark"]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return remark if isinstance(remark, str) else None


@dataclass
class Node:
    """A node: its key (for the style), and all its measurements."""

    key: str
    traces: list[Trace] = field(default_factory=list)
    phases: list[tuple[Path, phase.PhaseData]] = field(default_factory=list)
    #: the remark of each marked run, by its file
    marks: dict[Path, str] = field(default_factory=dict)

    @property
    def plain_name(self) -> str:
        return NAMES.get(self.key, self.key)

    def trace_doubt(self, trace: Trace) -> str:
        """Returns why nothing may be concluded from a trace; empty if it is good."""
        return self.marks.get(_file_of(trace), "") or trace.doubt

    def phase_doubt(self, path: Path, data: phase.PhaseData) -> str:
        """Returns why nothing may be concluded from measured phases; empty if they are good."""
        return self.marks.get(path, "") or ("" if data.separable else PHASE_DOUBT)

    @property
    def doubts(self) -> list[str]:
        """The node's different doubts, without repetition."""
        found = [self.trace_doubt(trace) for trace in self.traces]
        found += [self.phase_doubt(path, data) for path, data in self.phases]
        return list(dict.fromkeys(filter(None, found)))

    @property
    def name(self) -> str:
        """The name, with a star if all data of the node are marked."""
        held = [self.trace_doubt(trace) for trace in self.traces]
        held += [self.phase_doubt(path, data) for path, data in self.phases]
        return self.plain_name + starred(bool(held) and all(held))


@dataclass(frozen=True)
class Basis:
    """The data that a node is judged by: the method, the delays of the grain, and the trace or the measured
    phases that the delays come from."""

    method: str
    delays: Delays
    source: Trace | phase.PhaseData
    path: Path

    @property
    def trace(self) -> Trace | None:
        return self.source if isinstance(self.source, Trace) else None


@dataclass
class Collection:
    """All nodes, the files that were left out with the reason, and the commands that made the data, if
    known."""

    nodes: list[Node] = field(default_factory=list)
    left_out: list[tuple[Path, str]] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def node(self, key: str) -> Node:
        for known in self.nodes:
            if known.key == key:
                return known
        self.nodes.append(Node(key))
        return self.nodes[-1]


def _add_file(collection: Collection, node: Node, path: Path, assumed: Assumed, named: bool) -> None:
    """Adds a file to a node. In a folder (not `named`), a file of unknown format is skipped, and damaged data
    are left out with a note in the report. DataError if a file that the user named is not good."""
    try:
        name = assumed.format or registry.detect(path)
    except FormatError:
        if named:
            raise
        return
    try:
        if name == "phase":
            node.phases += [(path, data) for data in phase.read(path)]
        else:
            node.traces += registry.read(path, assumed)
    except DataError as error:
        if named:
            raise
        collection.left_out.append((path, str(error)))
        return
    if remark := _recorded_remark(path):
        node.marks[path] = remark


def add_node(collection: Collection, name: str, path: Path, assumed: Assumed) -> None:
    """Adds a folder of measured files, or one file, as a node. Raises DataError or OSError."""
    node = collection.node(name)
    if not path.is_dir():
        _add_file(collection, node, path, assumed, named=True)
        return
    for file in sorted(path.iterdir()):
        if file.is_file():
            _add_file(collection, node, file, assumed, named=False)
    if not node.traces and not node.phases:
        reasons = "; ".join(reason for _, reason in collection.left_out)
        raise DataError(
            f"{path}: no file in a format that the lab reads ({', '.join(registry.NAMES)})"
            + (f": {reasons}" if reasons else "")
        )


def add_runs(collection: Collection, folder: Path, assumed: Assumed) -> None:
    """Adds what `make run` and `make bench` leave in a folder: PROGRAM-SYSTEM.dat, and the commands in
    PROGRAM.json. Raises DataError or OSError."""
    found = False
    for key in NAMES:
        for program in PROGRAMS:
            for spelling in dict.fromkeys((key, key.replace("-", "_"))):
                path = folder / f"{program}-{spelling}.dat"
                if path.is_file():
                    node = collection.node(key)
                    _add_file(collection, node, path, assumed, named=False)
                    if key == "linux-tuned" and _recorded_remark(path) is None:
                        node.marks[path] = TUNED_REMARK
                    found = True
    if not found:
        raise DataError(
            f"{folder}: no PROGRAM-SYSTEM.dat such as ftq-tacet.dat; `make run` writes them to build/report"
        )
    collection.notes.append(QEMU_NOTE)
    for program in PROGRAMS:
        try:
            command = json.loads((folder / f"{program}.json").read_text(encoding="utf-8")).get("command")
        except (OSError, ValueError, AttributeError):
            continue
        if isinstance(command, str):
            collection.commands.append(command)


def node_argument(text: str) -> tuple[str, Path]:
    """Parses `NAME=DIR` or `NAME=FILE`. Raises DataError."""
    name, equals, path = text.partition("=")
    if not equals or not name or not path:
        raise DataError(f"{text!r} is not a node; give NAME=FOLDER, such as tacet=measured/tacet")
    known = key_of(name)
    return (known if known == name.lower().replace("_", "-") else name), Path(path)


# ---- The method by which the nodes are compared ----


def _phase_basis(node: Node, grain_ns: int) -> Basis | None:
    found = [
        (path, data)
        for path, data in node.phases
        if data.grain_ns == grain_ns and not node.phase_doubt(path, data)
    ]
    if not found:
        return None
    path, data = max(found, key=lambda pair: pair[1].mean_ns / pair[1].minimum_ns)
    return Basis(f"measured phases of {time_text(grain_ns)}", statistics.delays_of_phases(data), data, path)


def _trace_basis(node: Node, format_name: str, grain_ns: int) -> Basis | None:
    found = [
        trace
        for trace in node.traces
        if trace.format == format_name and trace.complete and not node.trace_doubt(trace)
    ]
    if not found:
        return None
    trace = max(found, key=lambda t: (t.noise_ns / t.span_ns, t.span_ns))
    return Basis(
        format_name, statistics.delays_of_trace(trace, grain_ns), trace, Path(trace.source.partition(":")[0])
    )


def _all_bases(node: Node, grain_ns: int) -> dict[str, Basis]:
    """Returns the bases that a node has, by method, the preferred one first."""
    candidates = {
        "phase": _phase_basis(node, grain_ns),
        **{name: _trace_basis(node, name, grain_ns) for name in PREFERENCE},
    }
    return {name: basis for name, basis in candidates.items() if basis is not None}


def bases(nodes: Sequence[Node], grain_ns: int) -> dict[str, Basis]:
    """Returns each node's basis by its key: one method for all nodes if all have one in common, else the best
    of each node. A node with only marked runs gets none. DataError if another node has no basis, or if no
    node has one."""
    found = {node.key: _all_bases(node, grain_ns) for node in nodes}
    for node in nodes:
        if not found[node.key] and node.doubts:
            del found[node.key]
        elif not found[node.key]:
            held = sorted({trace.format for trace in node.traces}) + [
                f"phases of {time_text(data.grain_ns)}" for _, data in node.phases
            ]
            raise DataError(
                f"{node.key}: no data to judge phases of {time_text(grain_ns)} by; there is only "
                f"{', '.join(held)}; measure single detours ({', '.join(PREFERENCE)}) or phases of that "
                "grain"
            )
    if not found:
        raise DataError("; ".join(f"{node.key}: {doubt}" for node in nodes for doubt in node.doubts[:1]))
    shared = [name for name in ("phase", *PREFERENCE) if all(name in of_node for of_node in found.values())]
    if shared:
        phases = {name: min(of_node[name].delays.phases for of_node in found.values()) for name in shared}
        name = next(name for name in shared if phases[name] >= max(phases.values()) / 2)
        return {key: of_node[name] for key, of_node in found.items()}
    return {key: next(iter(of_node.values())) for key, of_node in found.items()}
