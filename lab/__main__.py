# SPDX-License-Identifier: BSD-2-Clause
"""`tools/lab`, or `python3 -m lab`: the noise lab's subcommands, and how one is added.

A subcommand is a row of `COMMANDS`: its name, the module that carries it out, and a line for `lab help`. The module offers

    add_parser(subparsers)      adds its parser: subparsers.add_parser(NAME, description=…); argparse hands the parsed options on
    run(options) -> int         carries it out and answers the exit status

A module is imported only when its subcommand is asked for, so that none of them pays for another's libraries, and a row whose
module is not in the tree is left out of the help. Errors that the user can do something about are `DataError`, `LabError` or
`OSError`: the message goes to standard error in one line, and the status is 1. Wrong options are argparse's: status 2.
"""
from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

from lab.reading import DataError
from lab.runner import LabError

NOT_DONE = 1
WRONG_USE = 2


@dataclass(frozen=True)
class Command:
    """A subcommand: its name, the module behind it, and what it does in a line."""

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


#: In the order of the help: from a file to a report, then what makes and repeats experiments.
COMMANDS = (
    Command("show", "lab.commands.show", "what a trace holds: its parameters and its figures"),
    Command("convert", "lab.commands.convert", "write a trace as another tool reads it: netgauge's selfish, the simulator's noise file"),
    Command("plot", "lab.commands.plot", "draw one of the field's pictures as PNG or SVG"),
    Command("report", "lab.commands.report", "one HTML page that says how far this noise lets a job scale"),
    Command("goal", "lab.goal", "make and check schedules for the simulator"),
    Command("reproduce", "lab.reproduce.command", "repeat the experiments of the papers"),
)


def help_text(commands: Sequence[Command] = COMMANDS) -> str:
    """What `lab help` prints."""
    there = [command for command in commands if command.there]
    width = max((len(command.name) for command in there), default=0)
    lines = [
        "lab: measured noise as figures, pictures and a report",
        "",
        "usage: tools/lab COMMAND [OPTIONS] …       tools/lab help COMMAND tells a command's options",
        "",
        *(f"  {command.name:<{width}}  {command.summary}" for command in there),
        "",
        "Read docs/lab/README.md for formats, figures and pictures with the commands that make them.",
    ]
    return "\n".join(lines)


def command_find(name: str, commands: Sequence[Command]) -> Command | None:
    return next((command for command in commands if command.name == name and command.there), None)


def command_run(command: Command, words: Sequence[str]) -> int:
    """Parses the words behind the subcommand's name and carries it out."""
    module = command.load()
    parser = argparse.ArgumentParser(prog="lab")
    module.add_parser(parser.add_subparsers())
    options = parser.parse_args([command.name, *words])
    return int(module.run(options))


def main(argv: Sequence[str] | None = None, commands: Sequence[Command] = COMMANDS) -> int:
    """Entry point. The subcommand's status, 1 with a message on standard error, or 2 for wrong use."""
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
        return command_run(command, words[1:])
    except BrokenPipeError:
        # Nobody reads any more; keep Python from complaining when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except (DataError, LabError, OSError) as error:
        print(f"lab {command.name}: {error}", file=sys.stderr)
        return NOT_DONE


if __name__ == "__main__":
    sys.exit(main())
