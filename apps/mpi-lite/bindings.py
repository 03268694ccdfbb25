#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes C of functions.txt, the list of MPI's functions.

    bindings.py header functions.txt    mpi_functions.h: MPI_F and PMPI_F declared, with what they do
    bindings.py missing functions.txt   missing.c: what is marked `missing`, which ends the job with its name

A line of the list that does not read ends this program, with the line's number and with what would be right.
"""

from __future__ import annotations

import re
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

COLUMNS = 110

HEADER = """\
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mpi_functions.h: MPI's functions, by the standard's chapters. mpi.h includes it; programs include mpi.h.
 *
 * Each PMPI_ function does the same as the MPI_ function above it: a profiling library may define the latter
 * and call the former [MPI 3.1 §14.2]. Functions return MPI_SUCCESS or an error class, after the error
 * handler of their communicator, file or window, unless it says otherwise. "Collective": all processes of the
 * communicator call it. "Local": it needs no other process.
 *
 * Made by apps/mpi-lite/bindings.py from functions.txt.
 */
#ifndef MPI_H
#error "include mpi.h, which includes mpi_functions.h"
#endif
"""

MISSING = """\
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * missing.c: MPI's functions that this library does not have. They link, and end the job with their name when
 * they are called, so that a program that mentions them and does not call them runs.
 *
 * Made by apps/mpi-lite/bindings.py from functions.txt.
 */
#include "base/base.h"
"""

PROTOTYPE = re.compile(r"(?P<result>[A-Za-z_]\w*)\s+(?P<name>[A-Z]\w*)\((?P<arguments>[^()]*)\)")
PARAMETER = re.compile(
    r"(?P<type>(?:const\s+)?[A-Za-z_]\w*(?:\s+(?:const\b|\*+)|\*+)*)\s*\b"
    r"(?P<name>[a-z_]\w*)(?P<array>(?:\[\d*\])*)"
)
SECTION = re.compile(r"## (?P<title>.+ \[MPI 3\.1 §[^\]]+\])")


class ListError(Exception):
    """A line of functions.txt that does not read: where, what, and what would be right."""


@dataclass
class Function:
    """One entry. `parameters` are as in C; none for `void`."""

    line: int
    result: str
    name: str
    parameters: list[str]
    missing: bool
    section: str
    meaning: list[str] = field(default_factory=list)

    def prototype(self, prefix: str) -> str:
        """In C, without the semicolon, at most COLUMNS - 1 wide."""
        begin = f"{self.result} {prefix}{self.name}("
        text = begin + ", ".join(self.parameters or ["void"]) + ")"
        return textwrap.fill(text, COLUMNS - 1, subsequent_indent=" " * len(begin), break_long_words=False)

    def argument_names(self) -> list[str]:
        """The parameters' names, in order; none for `...`."""
        found = [PARAMETER.fullmatch(parameter) for parameter in self.parameters]
        return [match["name"] for match in found if match]


def read_function(where: str, line: int, text: str, section: str) -> Function:
    """An entry's prototype, which may have come on several lines."""
    words = " ".join(text.split())
    missing = words.startswith("missing ")
    match = PROTOTYPE.fullmatch(words.removeprefix("missing "))
    if not match:
        raise ListError(f"{where}: not a prototype: {words!r}; such as `int Wait(MPI_Request *request)`")
    if match["name"].startswith(("MPI_", "PMPI_")):
        bare = match["name"].split("_", 1)[1]
        raise ListError(f"{where}: {match['name']} has a prefix; without it: {bare}")
    arguments = match["arguments"].strip()
    if not arguments:
        raise ListError(f"{where}: {match['name']}() has no parameters; write {match['name']}(void)")
    parameters = [] if arguments == "void" else [part.strip() for part in arguments.split(",")]
    for number, parameter in enumerate(parameters, 1):
        last = parameter == "..." and number == len(parameters) > 1
        if not last and not PARAMETER.fullmatch(parameter):
            raise ListError(
                f"{where}: {match['name']}: parameter {number}, {parameter!r}: expected a type and a name, "
                "such as `const int ranks[]`"
            )
    if not section:
        raise ListError(f"{where}: {match['name']} comes before any section; `## Title [MPI 3.1 §3]` first")
    function = Function(line, match["result"], match["name"], parameters, missing, section)
    names = function.argument_names()
    for name in names:
        if names.count(name) > 1:
            raise ListError(f"{where}: {match['name']} has two parameters {name!r}; no two may share a name")
    return function


def read_functions(path: Path) -> list[Function]:
    """All entries, in the file's order. ListError says where it does not read."""
    functions: list[Function] = []
    lines_of: dict[str, int] = {}
    section, open_text, open_line = "", "", 0

    def finish(where: str) -> None:
        if functions and not functions[-1].meaning:
            at = f"{path}:{functions[-1].line}"
            name = functions[-1].name
            raise ListError(f"{at}: {name} has no meaning; an indented line after it says what it does")
        if open_text:
            raise ListError(f"{where}: the prototype {open_text.split('(')[0]!r} has no `)` before this line")

    number = 0
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        where, line = f"{path}:{number}", line.rstrip()
        indented = line[:1].isspace()
        if open_text and indented:
            open_text += " " + line
        elif indented and line.strip():
            if not functions:
                raise ListError(f"{where}: an indented line without an entry before it: {line.strip()!r}")
            functions[-1].meaning.append(line.strip())
        else:
            finish(where)
            if line.startswith("##"):
                title = SECTION.fullmatch(line)
                if not title:
                    raise ListError(f"{where}: not a section: {line!r}; such as `## Info [MPI 3.1 §9]`")
                section = title["title"]
            elif line and not line.startswith("#"):
                open_text, open_line = line, number
        if open_text and (")" in open_text or "(" not in open_text):
            function = read_function(f"{path}:{open_line}", open_line, open_text, section)
            if function.name in lines_of:
                where, first = f"{path}:{open_line}", lines_of[function.name]
                raise ListError(f"{where}: {function.name} is there already, in line {first}; keep one")
            lines_of[function.name] = open_line
            functions.append(function)
            open_text = ""
    finish(f"{path}:{number + 1}")
    return functions


def comment(text: str) -> str:
    """A comment of C, over as many lines as it takes."""
    if len(text) + len("/*  */") <= COLUMNS:
        return f"/* {text} */"
    return textwrap.fill(f"/* {text}", COLUMNS - len(" */"), subsequent_indent=" * ") + " */"


def header(functions: list[Function]) -> str:
    """mpi_functions.h."""
    parts, section = [HEADER], ""
    for function in functions:
        if function.section != section:
            section = function.section
            parts.append(f"\n/* ---- {section} ---- */\n")
        meaning = " ".join(function.meaning)
        if function.missing:
            meaning += " This library does not have it."
        parts.append(f"\n{comment(meaning)}\n{function.prototype('MPI_')};\n{function.prototype('PMPI_')};\n")
    return "".join(parts)


def missing(functions: list[Function]) -> str:
    """missing.c."""
    parts = [MISSING]
    for function in functions:
        if not function.missing:
            continue
        unused = ", ".join(f"(void){name}" for name in function.argument_names())
        if unused:
            unused = textwrap.indent(textwrap.fill(unused + ";", COLUMNS - 4), "    ") + "\n"
        name = function.name
        parts.append(f"\n{function.prototype('PMPI_')}\n{{\n{unused}")
        parts.append(f'    mpi_abort(1, "MPI_{name} is not in this library");\n}}\nMPI_ALIAS({name});\n')
    return "".join(parts)


def main(arguments: list[str]) -> int:
    makers = {"header": header, "missing": missing}
    if len(arguments) != 2 or arguments[0] not in makers:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        functions = read_functions(Path(arguments[1]))
    except (OSError, UnicodeDecodeError) as error:
        print(f"bindings.py: {arguments[1]}: {error}", file=sys.stderr)
        return 1
    except ListError as error:
        print(error, file=sys.stderr)
        return 1
    sys.stdout.write(makers[arguments[0]](functions))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
