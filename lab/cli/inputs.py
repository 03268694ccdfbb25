# SPDX-License-Identifier: BSD-2-Clause
"""The arguments that several subcommands share: measured files with names, and what the user knows about
them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

from lab.common.errors import DataError
from lab.formats import phase, registry
from lab.formats.registry import Assumed
from lab.formats.trace import Trace
from lab.pictures.systems import NAMES, STYLES, System, key_of


@dataclass(frozen=True)
class Input:
    """A file of the command line, and the key of the system that it belongs to. `part` distinguishes files of
    one system."""

    key: str
    path: Path
    part: str = ""

    @property
    def name(self) -> str:
        name = NAMES.get(self.key, self.key)
        return f"{name} ({self.part})" if self.part else name


def told_apart(files: list[Input]) -> list[Input]:
    """Returns the files; those of one system with what their paths differ in: the name, else the folder."""
    keys = [given.key for given in files]
    several = [given for given in files if keys.count(given.key) > 1]
    stems = {(given.key, given.path.stem) for given in several}
    return [
        replace(given, part=given.path.stem if len(stems) == len(several) else str(given.path))
        if given in several
        else given
        for given in files
    ]


def positive(text: str) -> float:
    """Parses a positive number; argparse's error says what is right."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 2.0**63:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number; give one such as 2.6")
    return value


def system_file(text: str) -> Input:
    """Parses `NAME=FILE` or `FILE`; of the latter the file's name gives the system if it can."""
    name, equals, path = text.partition("=")
    if equals and "/" not in name and name:
        return Input(
            name if name not in STYLES and key_of(name) != name.replace("_", "-") else key_of(name),
            Path(path),
        )
    return Input(key_of(Path(text).stem), Path(text))


def add_files(
    parser: argparse.ArgumentParser,
    what: str = "measured data; with the system's name if the file's name does not give it",
) -> None:
    parser.add_argument("files", nargs="+", type=system_file, metavar="[NAME=]FILE", help=what)


def add_assumed(parser: argparse.ArgumentParser) -> None:
    """Adds the options for what a file does not state."""
    group = parser.add_argument_group("if a file does not state it")
    group.add_argument(
        "--format", choices=registry.NAMES, help="the files' format, if the lab does not recognise it"
    )
    group.add_argument(
        "--ticks-per-ns", type=positive, metavar="RATE", help="the clock's rate, for files of the public FWQ"
    )
    group.add_argument(
        "--threshold",
        type=positive,
        metavar="NS",
        help="FWQ: a sample longer than undisturbed by this is a detour (default: the file's, or 100)",
    )
    group.add_argument(
        "--span",
        type=positive,
        metavar="SECONDS",
        help="the time measured (sysjitter without an interruption, few events of osnoise)",
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
    """Returns a system for each trace of each file; if a file has several, their names have the CPU, too."""
    systems = []
    for given in files:
        traces = traces_of(given, assumed)
        for i, trace in enumerate(traces):
            part = trace.source.removeprefix(f"{given.path}:")
            cpu = f"CPU {trace.cpu}" if trace.cpu is not None else f"part {i + 1}"
            cpu = part if trace.latencies and part != trace.source else cpu
            systems.append(System(given.key, given.name + (f", {cpu}" if len(traces) > 1 else ""), trace))
    return systems


T = TypeVar("T")


@dataclass(frozen=True)
class Shown(Generic[T]):
    """The content of the files and folders of a command line: what `of` made of each system. `refused` has a
    line on each named file that cannot be read, `left_out` on each such file of a folder."""

    systems: list[T]
    phases: list[tuple[Path, phase.PhaseData]]
    left_out: list[str]
    refused: list[str]


def files_of(files: list[Input], assumed: Assumed, of: Callable[[System], T]) -> Shown[T]:
    """Reads every file that can be read. Of a system only what `of` returns is kept, since a folder's traces
    together may be larger than memory."""
    shown: Shown[T] = Shown([], [], [], [])

    def add(given: Input, refused: list[str]) -> None:
        try:
            if measured := phases_of(given.path, assumed):
                shown.phases.extend((given.path, data) for data in measured)
            else:
                shown.systems.extend(map(of, systems_of([given], assumed)))
        except (DataError, OSError) as error:
            refused.append(str(error))

    for given in files:
        if not given.path.is_dir():
            add(given, shown.refused)
            continue
        for path in sorted(path for path in given.path.rglob("*") if path.is_file()):
            add(Input(key_of(path.stem), path), shown.left_out)
    return shown


def phases_of(path: Path, assumed: Assumed) -> list[phase.PhaseData] | None:
    """Returns the measured phases of a file, or None if it holds detours."""
    name = assumed.format or registry.detect(path)
    return phase.read(path) if name == "phase" else None


def grains_apart(data: list[phase.PhaseData], path: Path) -> dict[int, phase.PhaseData]:
    """Returns the phases by grain, ns; of several CPUs the first. DataError if there are none."""
    found: dict[int, phase.PhaseData] = {}
    for block in data:
        found.setdefault(block.grain_ns, block)
    if not found:
        raise DataError(f"{path}: no phases")
    return found
