# SPDX-License-Identifier: BSD-2-Clause
"""What the subcommands' command lines have in common: measured files with names, and what the user adds to
them."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from lab.common.errors import DataError
from lab.formats import phase, registry
from lab.formats.registry import Assumed
from lab.formats.trace import Trace
from lab.pictures.style import NAMES, STYLES, System, key_of


@dataclass(frozen=True)
class Input:
    """A file of the command line, and the system that it is of."""

    key: str
    path: Path

    @property
    def name(self) -> str:
        return NAMES.get(self.key, self.key)


def positive(text: str) -> float:
    """A positive number; argparse's error says what would be right."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 2.0**63:
        raise argparse.ArgumentTypeError(f"{text!r} is no positive number; give one such as 2.6")
    return value


def system_file(text: str) -> Input:
    """`NAME=FILE` or `FILE`, whose name then gives the system where it can."""
    name, equals, path = text.partition("=")
    if equals and "/" not in name and name:
        return Input(
            name if name not in STYLES and key_of(name) != name.replace("_", "-") else key_of(name),
            Path(path),
        )
    return Input(key_of(Path(text).stem), Path(text))


def add_files(
    parser: argparse.ArgumentParser,
    what: str = "measured data; with the system's name where the file's name does not give it",
) -> None:
    parser.add_argument("files", nargs="+", type=system_file, metavar="[NAME=]FILE", help=what)


def add_assumed(parser: argparse.ArgumentParser) -> None:
    """What the user says where a file does not."""
    group = parser.add_argument_group("where a file does not say")
    group.add_argument(
        "--format", choices=registry.NAMES, help="the files' format, if it is not the one that they look like"
    )
    group.add_argument(
        "--ticks-per-ns", type=positive, metavar="RATE", help="the clock's rate, for the public FWQ's files"
    )
    group.add_argument(
        "--threshold",
        type=positive,
        metavar="NS",
        help="FWQ: a sample so much longer than undisturbed is a detour (default: the file's, or 100)",
    )
    group.add_argument(
        "--span",
        type=positive,
        metavar="SECONDS",
        help="the time measured, for sysjitter's files without an interruption",
    )


def assumed_of(options: argparse.Namespace) -> Assumed:
    return Assumed(
        options.format,
        options.ticks_per_ns,
        options.threshold,
        None if options.span is None else options.span * 1e9,
    )


def traces_of(given: Input, assumed: Assumed) -> list[Trace]:
    return registry.read(given.path, assumed)


def systems_of(files: list[Input], assumed: Assumed) -> list[System]:
    """A system for each trace of each file; several of a file are named by their CPUs."""
    systems = []
    for given in files:
        traces = traces_of(given, assumed)
        for i, trace in enumerate(traces):
            part = trace.source.removeprefix(f"{given.path}:")
            cpu = f"CPU {trace.cpu}" if trace.cpu is not None else f"part {i + 1}"
            cpu = part if trace.latencies and part != trace.source else cpu
            systems.append(System(given.key, given.name + (f", {cpu}" if len(traces) > 1 else ""), trace))
    return systems


@dataclass(frozen=True)
class Shown:
    """What the files of a command line and of its folders hold; `left_out` says of each other file of a
    folder what it is, in a line."""

    systems: list[System]
    phases: list[tuple[Path, phase.PhaseData]]
    left_out: list[str]


def files_of(files: list[Input], assumed: Assumed) -> Shown:
    """Every file's content. A file that is named must be good: DataError or OSError; one in a folder may be
    none."""
    shown = Shown([], [], [])

    def add(given: Input) -> None:
        if measured := phases_of(given.path, assumed):
            shown.phases.extend((given.path, data) for data in measured)
        else:
            shown.systems.extend(systems_of([given], assumed))

    for given in files:
        if not given.path.is_dir():
            add(given)
            continue
        for path in sorted(path for path in given.path.rglob("*") if path.is_file()):
            try:
                add(Input(key_of(path.stem), path))
            except (DataError, OSError) as error:
                shown.left_out.append(str(error))
    return shown


def phases_of(path: Path, assumed: Assumed) -> list[phase.PhaseData] | None:
    """The measured phases of a file, or None if it holds detours."""
    name = assumed.format or registry.detect(path)
    return phase.read(path) if name == "phase" else None


def grains_apart(data: list[phase.PhaseData], path: Path) -> dict[int, phase.PhaseData]:
    """By grain. Of several CPUs the first, and DataError if there is none."""
    found: dict[int, phase.PhaseData] = {}
    for block in data:
        found.setdefault(block.grain_ns, block)
    if not found:
        raise DataError(f"{path}: no phases")
    return found
