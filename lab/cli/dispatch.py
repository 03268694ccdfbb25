# SPDX-License-Identifier: BSD-2-Clause
"""Dispatches the subcommands of `tools/lab`. To add one, add a row to `COMMANDS`: its name, its module, and a
line for `lab help`. The module has two functions:

    add_parser(subparsers)      adds its parser: subparsers.add_parser(NAME, description=…)
    run(options) -> int         does the work and returns the exit status; `options.command_line` holds the
                                typed command

A module is imported only when its subcommand is called, so no subcommand loads another's libraries. A row
whose module is not in the tree does not appear in the help. Errors that the user can correct are `DataError`,
`LabError` or `OSError`: one line on standard error and status 1. Wrong options are argparse's: status 2. An
interrupt prints one line; status 130.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from lab.common.errors import DataError, LabError

NOT_DONE = 1
WRONG_USE = 2
INTERRUPTED = 130


@dataclass(frozen=True)
class Command:
    """A subcommand: its name, its module, and a line on what it does."""

    name: str
    module: str
    summary: str

    @property
    def there(self) -> bool:
        """Whether the module is in this tree."""
        try:
            return importlib.util.find_spec(self.module) is not None
        except ModuleNotFoundError:  # the module's package is missing, too
            return False

    def load(self) -> ModuleType:
        return importlib.import_module(self.module)


#: In the order of the help: work on measured files, experiments of papers, measurements in QEMU.
COMMANDS = (
    Command("show", "lab.cli.show", "show a trace's parameters and figures"),
    Command(
        "convert",
        "lab.cli.convert",
        "write a trace in another tool's format: netgauge's selfish, the simulator's noise file",
    ),
    Command("plot", "lab.cli.plot", "draw one of the field's pictures as PNG or SVG"),
    Command("report", "lab.cli.report", "make an HTML page that says how far this noise lets a job scale"),
    Command("coverage", "lab.cli.coverage", "count how often the lab's intervals hold the true value"),
    Command("klog", "lab.cli.klog", "show a Tacet node's flight log as events, as causes, or for Perfetto"),
    Command("goal", "lab.cli.goal", "make and check schedules for the simulator"),
    Command("trace", "lab.cli.trace", "show or convert what an MPI program communicated"),
    Command("reproduce", "lab.cli.reproduce", "repeat the experiments of the papers"),
    Command("compare", "lab.bench.compare", "FTQ on Tacet and on Linux, in QEMU"),
    Command(
        "compare-phases", "lab.bench.compare_phases", "computation phases on Tacet and on Linux, in QEMU"
    ),
    Command("beats", "lab.bench.beats", "FTQ on four nodes under heartbeats, compared with Linux, in QEMU"),
    Command(
        "lockstep",
        "lab.bench.lockstep",
        "FTQ on nodes under heartbeats on one virtual clock: a beat's exact spread",
    ),
    Command(
        "lockstep-barriers",
        "lab.bench.lockstep_barriers",
        "barriers under noise on one virtual clock, compared with the simulator",
    ),
    Command(
        "lockstep-timers",
        "lab.bench.lockstep_timers",
        "timers of nodes that start at different times, under heartbeats",
    ),
    Command("bench-lockstep", "lab.bench.lockstep_cost", "the cost of gates for nodes on one virtual clock"),
    Command("clock-offsets", "lab.bench.clock_offsets", "offsets of nodes' clocks under heartbeats"),
    Command("bench", "lab.bench.costs", "costs of Tacet and of Linux: system calls, boot, memory, image"),
    Command(
        "bench-programs", "lab.bench.programs", "STREAM's triad and a matrix product on Tacet and on Linux"
    ),
    Command("bench-cores", "lab.bench.cores", "silence, wake-ups and timers on 2, 4 and 8 CPUs"),
    Command(
        "bench-deaths",
        "lab.bench.deaths",
        "how long the death of tacetrun, a node or the conductor is unknown",
    ),
    Command("bench-network", "lab.bench.network", "datagrams, TCP, iperf3 and files on Tacet and on Linux"),
    Command("bench-mpi", "lab.bench.mpi", "mpi-lite, Open MPI and MPICH on this machine"),
    Command(
        "bench-mpi-nodes",
        "lab.bench.mpi_nodes",
        "messages between nodes: mpi-lite on Tacet, Open MPI on Linux",
    ),
    Command("silence", "lab.bench.silence", "an hour of guest time without one detour"),
    Command(
        "bench-simulator",
        "lab.bench.simulator",
        "the simulator's speed, compared with numpy and the public simulator",
    ),
    Command("sloc", "lab.bench.sloc", "lines of code of each part of the kernel"),
)


def help_text(commands: Sequence[Command] = COMMANDS) -> str:
    """Returns the text of `lab help`."""
    there = [command for command in commands if command.there]
    width = max((len(command.name) for command in there), default=0)
    lines = [
        "lab: measured noise as figures, pictures and a report; measurements of Tacet and of Linux",
        "",
        "usage: tools/lab COMMAND [OPTIONS] …       tools/lab help COMMAND lists a command's options",
        "",
        *(f"  {command.name:<{width}}  {command.summary}" for command in there),
        "",
        "docs/lab/README.md describes formats, figures and pictures, with the commands that make them.",
    ]
    return "\n".join(lines)


def command_find(name: str, commands: Sequence[Command]) -> Command | None:
    return next((command for command in commands if command.name == name and command.there), None)


def command_run(command: Command, words: Sequence[str], **environment: Any) -> int:
    """Parses the words after the subcommand's name, runs it, and returns its status."""
    module = command.load()
    parser = argparse.ArgumentParser(prog="lab")
    module.add_parser(parser.add_subparsers())
    options = parser.parse_args([command.name, *words])
    options.command_line = shlex.join(["tools/lab", command.name, *words])
    return int(module.run(options, **environment))


def main(
    argv: Sequence[str] | None = None, commands: Sequence[Command] = COMMANDS, **environment: Any
) -> int:
    """Runs `tools/lab`. Returns the subcommand's status, 1 with a message on standard error, or 2 for wrong
    use. `environment` is for tests: further arguments of the subcommand's `run`."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] in (["help"], ["-h"], ["--help"]):
        if len(words) == 1:
            print(help_text(commands))
            return 0
        words = [words[1], "--help"]
    if not words:
        print(help_text(commands), file=sys.stderr)
        return WRONG_USE
    command = command_find(words[0], commands)
    if command is None:
        names = ", ".join(c.name for c in commands if c.there)
        print(f"lab: no such command: {words[0][:60]!r}; commands are {names}, and help", file=sys.stderr)
        return WRONG_USE
    try:
        status = command_run(command, words[1:], **environment)
        sys.stdout.flush()  # reports a full disk here at the latest
        return status
    except KeyboardInterrupt:
        print(f"lab {command.name}: interrupted; the files that it has written are complete", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        stdout_drop()
        return 141
    except (DataError, LabError, OSError) as error:
        if isinstance(error, OSError) and error.strerror and not error.filename:
            error = LabError(f"its output cannot be written: {error.strerror}")
        print(f"lab {command.name}: {error}", file=sys.stderr)
        stdout_drop()
        return NOT_DONE


def stdout_drop() -> None:
    """Keeps Python from printing an error at exit because of a closed pipe or a full disk."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
