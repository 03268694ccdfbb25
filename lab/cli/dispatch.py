# SPDX-License-Identifier: BSD-2-Clause
"""The dispatcher of `tools/lab`: the noise lab's subcommands, and how one is added.

A subcommand is a row of `COMMANDS`: its name, the module that carries it out, and a line for `lab help`. The
module offers

    add_parser(subparsers)      adds its parser: subparsers.add_parser(NAME, description=…); argparse hands
                                the parsed options on
    run(options) -> int         carries it out and answers the exit status; `options.command_line` is what was
                                typed

A module is imported only when its subcommand is called, so that none of them pays for another's libraries,
and a row whose module is not in the tree is left out of the help. Errors that the user can do something about
are `DataError`, `LabError` or `OSError`: the message goes to standard error in one line, and the status is 1.
Wrong options are argparse's: status 2. An interrupt is a line and 130.
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
    """A subcommand: its name, its module, and what it does in a line."""

    name: str
    module: str
    summary: str

    @property
    def there(self) -> bool:
        """Whether the module is in this tree."""
        try:
            return importlib.util.find_spec(self.module) is not None
        except ModuleNotFoundError:  # not even the package that would hold it
            return False

    def load(self) -> ModuleType:
        return importlib.import_module(self.module)


#: In the order of the help: from a file to a report, what makes and repeats experiments, measurements in
#: QEMU.
COMMANDS = (
    Command("show", "lab.cli.show", "what a trace holds: its parameters and its figures"),
    Command(
        "convert",
        "lab.cli.convert",
        "write a trace as another tool reads it: netgauge's selfish, the simulator's noise file",
    ),
    Command("plot", "lab.cli.plot", "draw one of the field's pictures as PNG or SVG"),
    Command("report", "lab.cli.report", "one HTML page that says how far this noise lets a job scale"),
    Command("klog", "lab.cli.klog", "the flight log of a Tacet node as a table, as causes, or for Perfetto"),
    Command("goal", "lab.cli.goal", "make and check schedules for the simulator"),
    Command("reproduce", "lab.cli.reproduce", "repeat the experiments of the papers"),
    Command("compare", "lab.bench.compare", "FTQ on Tacet and on Linux, in QEMU"),
    Command(
        "compare-phases", "lab.bench.compare_phases", "computation phases on Tacet and on Linux, in QEMU"
    ),
    Command("beats", "lab.bench.beats", "FTQ on four nodes under heartbeats beside Linux, in QEMU"),
    Command("lockstep", "lab.bench.lockstep", "the same on one virtual clock: one beat's spread, exactly"),
    Command(
        "lockstep-barriers",
        "lab.bench.lockstep_barriers",
        "barriers under noise on one virtual clock, beside the simulator",
    ),
    Command(
        "lockstep-timers", "lab.bench.lockstep_timers", "timers of nodes that start apart, under heartbeats"
    ),
    Command("bench-lockstep", "lab.bench.lockstep_cost", "what gates cost nodes on one virtual clock"),
    Command("clock-offsets", "lab.bench.clock_offsets", "how far nodes' clocks are apart under heartbeats"),
    Command("bench", "lab.bench.costs", "what Tacet costs beside Linux: calls, boot, memory, image"),
    Command(
        "bench-programs", "lab.bench.programs", "STREAM's triad and a matrix product on Tacet beside Linux"
    ),
    Command("bench-cores", "lab.bench.cores", "silence, wake-ups and timers on 2, 4 and 8 CPUs"),
    Command("bench-network", "lab.bench.network", "datagrams, TCP, iperf3 and files on Tacet beside Linux"),
    Command("bench-mpi", "lab.bench.mpi", "mpi-lite beside Open MPI and MPICH on this machine"),
    Command(
        "bench-mpi-nodes",
        "lab.bench.mpi_nodes",
        "messages between nodes: mpi-lite on Tacet beside Open MPI on Linux",
    ),
    Command("silence", "lab.bench.silence", "an hour of guest time without one detour"),
    Command(
        "bench-simulator",
        "lab.bench.simulator",
        "the simulator's speed beside numpy and the public simulator",
    ),
    Command("sloc", "lab.bench.sloc", "lines of code of each part of the kernel"),
)


def help_text(commands: Sequence[Command] = COMMANDS) -> str:
    """What `lab help` prints."""
    there = [command for command in commands if command.there]
    width = max((len(command.name) for command in there), default=0)
    lines = [
        "lab: measured noise as figures, pictures and a report; measurements of Tacet beside Linux",
        "",
        "usage: tools/lab COMMAND [OPTIONS] …       tools/lab help COMMAND lists a command's options",
        "",
        *(f"  {command.name:<{width}}  {command.summary}" for command in there),
        "",
        "Read docs/lab/README.md for formats, figures and pictures with the commands that make them.",
    ]
    return "\n".join(lines)


def command_find(name: str, commands: Sequence[Command]) -> Command | None:
    return next((command for command in commands if command.name == name and command.there), None)


def command_run(command: Command, words: Sequence[str], **environment: Any) -> int:
    """Parses the words after the subcommand's name and carries it out."""
    module = command.load()
    parser = argparse.ArgumentParser(prog="lab")
    module.add_parser(parser.add_subparsers())
    options = parser.parse_args([command.name, *words])
    options.command_line = shlex.join(["tools/lab", command.name, *words])
    return int(module.run(options, **environment))


def main(
    argv: Sequence[str] | None = None, commands: Sequence[Command] = COMMANDS, **environment: Any
) -> int:
    """Entry point. The subcommand's status, 1 with a message on standard error, or 2 for wrong use.

    `environment` is for tests: what the subcommand's `run` takes beside the options.
    """
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
        print(f"lab: no such command: {words[0][:60]!r}; there are {names}, and help", file=sys.stderr)
        return WRONG_USE
    try:
        status = command_run(command, words[1:], **environment)
        sys.stdout.flush()  # a full disk is found out here at the latest
        return status
    except KeyboardInterrupt:
        print(f"lab {command.name}: interrupted; what it has written is whole", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        stdout_drop()
        return 141
    except (DataError, LabError, OSError) as error:
        if isinstance(error, OSError) and error.strerror and not error.filename:
            error = LabError(f"what it prints cannot be written: {error.strerror}")
        print(f"lab {command.name}: {error}", file=sys.stderr)
        stdout_drop()
        return NOT_DONE


def stdout_drop() -> None:
    """Keeps Python from complaining at its end about output that nobody takes: a closed pipe, a full disk."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
