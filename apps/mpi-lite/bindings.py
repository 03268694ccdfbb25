#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Generates C from functions.txt, the list of MPI's functions.

    bindings.py header functions.txt    mpi_functions.h: MPI_F and PMPI_F declared, with what they do
    bindings.py missing functions.txt   missing.c: functions marked `missing`, which end the job
    bindings.py frames functions.txt    frames.h: MPI_CALL(F), which defines a call around its body

An invalid line of the list ends this program with the line's number and a correct example.
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
 * mpi_functions.h: MPI's functions, by the standard's chapters. Programs include mpi.h, which includes it.
 *
 * Each PMPI_ function does the same as the MPI_ function above it: a profiling library may define the latter
 * and call the former [MPI 3.1 §14.2]. Unless stated otherwise, functions call the error handler of their
 * communicator, file or window for an error, and return MPI_SUCCESS or an error class. "Collective": all
 * processes of the communicator call it. "Local": it needs no other process.
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
 * missing.c: MPI's functions that this library does not support. They link, and end the job with their name
 * when they are called, so that a program that mentions them without calling them runs.
 *
 * Made by apps/mpi-lite/bindings.py from functions.txt.
 */
#include "base/base.h"
"""

FRAMES = """\
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frames.h: what calls do around their bodies: enter the library, check arguments, pass an error to its
 * error handler, leave. MPI_CALL(Comm_size), after `static int Comm_size(…)`, defines
 * PMPI_Comm_size, and MPI_Comm_size as its weak alias.
 *
 * Made by apps/mpi-lite/bindings.py from functions.txt.
 */
#ifndef MPI_FRAMES_H
#define MPI_FRAMES_H

#define MPI_CALL(name) MPI_CALL_##name
"""

PROTOTYPE = re.compile(r"(?P<result>[A-Za-z_]\w*)\s+(?P<name>[A-Z]\w*)\((?P<arguments>[^()]*)\)")
PARAMETER = re.compile(
    r"(?P<type>(?:const\s+)?[A-Za-z_]\w*(?:\s+(?:const\b|\*+)|\*+)*)\s*\b"
    r"(?P<name>[a-z_]\w*)(?P<array>(?:\[\d*\])*)"
)
#: A check of a frame: an argument; `as` its name in the standard, if that differs; or what it is or has.
CHECK = re.compile(
    r"(?P<argument>[a-z_]\w*)(?: as (?P<name>[a-z_]\w*)| is (?P<kind>[a-z]+)| has (?P<topology>MPI_\w+)"
    r"| (?P<changes>changes))?(?P<heard> heard)?"
)
#: How an argument of a type is checked: `{0}` is the argument, `{1}` its name.
CHECKS = {
    "MPI_Comm": "check_comm({0})",
    "MPI_Win": "check_window({0})",
    "MPI_Group": 'check_group({0}, "{1}")',
    "MPI_Datatype": 'check_type({0}, "{1}")',
    "MPI_Info": "check_info({0}, false)",
}
#: Arguments whose error handler is called: the argument's structure, and the function that calls the handler.
HEARD = {"MPI_Comm": ("struct mpi_comm", "mpi_return"), "MPI_Win": ("struct mpi_win", "mpi_return_win")}
SECTION = re.compile(r"## (?P<title>.+ \[MPI 3\.1 §[^\]]+\])")


class ListError(Exception):
    """An invalid line of functions.txt: where, what, and a correct example."""


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
    checks: list[str] = field(default_factory=list)  #: of its frame; empty: it has no frame

    def prototype(self, prefix: str, width: int = COLUMNS - 1) -> str:
        """Returns the prototype in C, without the semicolon."""
        begin = f"{self.result} {prefix}{self.name}("
        text = begin + ", ".join(self.parameters or ["void"]) + ")"
        return textwrap.fill(text, width, subsequent_indent=" " * len(begin), break_long_words=False)

    def argument_names(self) -> list[str]:
        """Returns the parameters' names, in order; none for `...`."""
        found = [PARAMETER.fullmatch(parameter) for parameter in self.parameters]
        return [match["name"] for match in found if match]

    def argument_type(self, name: str) -> str:
        """Returns a parameter's type, "*" for a pointer that the call writes through; "" for no parameter."""
        for match in filter(None, map(PARAMETER.fullmatch, self.parameters)):
            if match["name"] == name:
                is_written = "*" in match["type"] and not match["type"].startswith("const")
                return "*" if is_written or match["array"] else match["type"].strip()
        return ""


def read_function(where: str, line: int, text: str, section: str) -> Function:
    """Reads an entry's prototype, which may span several lines."""
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


def read_checks(where: str, function: Function, text: str) -> list[str]:
    """Reads the checks of a function's frame: `[comm heard; result; one as group1]`."""
    if function.result != "int":
        raise ListError(f"{where}: {function.name} returns no error, and so has no frame")
    words = [part.strip() for part in text[1:-1].split(";")]
    for number, word in enumerate(words):
        match = CHECK.fullmatch(word)
        of_type = function.argument_type(match["argument"]) if match else ""
        if word == "started":
            continue
        if not match or not of_type:
            raise ListError(
                f"{where}: {function.name}: {word!r} is no check; such as `result`, `one as group1`"
            )
        if match["heard"] and (number or of_type not in HEARD):
            raise ListError(
                f"{where}: {function.name}: {word!r}: the first check's communicator or window hears"
            )
        if not match["kind"] and not match["topology"] and of_type not in ("*", *CHECKS):
            raise ListError(f"{where}: {function.name}: {word!r}: nothing checks a {of_type}; say what it is")
    return words


def read_functions(path: Path) -> list[Function]:
    """Reads all entries, in the file's order. Raises ListError for an invalid line."""
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
            text = line.strip()
            if text.startswith("[") and not functions[-1].meaning:
                if not text.endswith("]") or functions[-1].checks:
                    raise ListError(f"{where}: {functions[-1].name}: its checks stand in one line, [ to ]")
                functions[-1].checks = read_checks(where, functions[-1], text)
            else:
                functions[-1].meaning.append(text)
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
    """Returns a C comment, over as many lines as it needs."""
    if len(text) + len("/*  */") <= COLUMNS:
        return f"/* {text} */"
    return textwrap.fill(f"/* {text}", COLUMNS - len(" */"), subsequent_indent=" * ") + " */"


def header(functions: list[Function]) -> str:
    """Returns mpi_functions.h."""
    parts, section = [HEADER], ""
    for function in functions:
        if function.section != section:
            section = function.section
            parts.append(f"\n/* ---- {section} ---- */\n")
        meaning = " ".join(function.meaning)
        if function.missing:
            meaning += " Not supported: ends the job."
        parts.append(f"\n{comment(meaning)}\n{function.prototype('MPI_')};\n{function.prototype('PMPI_')};\n")
    return "".join(parts)


def missing(functions: list[Function]) -> str:
    """Returns missing.c."""
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


def check_call(function: Function, word: str) -> str:
    """Returns a check of a frame, in C."""
    match = CHECK.fullmatch(word)
    if word == "started" or not match:
        return "check_started()"
    argument = match["argument"]
    name = match["name"] or argument
    if match["kind"]:
        return f"check_{match['kind']}({argument})"
    if match["topology"]:
        return f"check_topology({argument}, {match['topology']})"
    if match["changes"]:
        return f"check_info({argument}, true)"
    of_type = function.argument_type(argument)
    return CHECKS.get(of_type, 'check_output({0}, "{1}")').format(argument, name)


def frame(function: Function) -> str:
    """Returns the definition of one call around its body, as a macro."""
    name, first, width = function.name, function.checks[0], COLUMNS - len(" \\")
    heard, hand = "NULL", "mpi_return"
    lines = [function.prototype("PMPI_", width), "{", "    mpi_enter();"]
    lines.append(f"    int error = {check_call(function, first)};")
    if first.endswith(" heard"):
        argument = first.split()[0]
        structure, hand = HEARD[function.argument_type(argument)]
        heard = "heard"
        lines.append(f"    {structure} *heard = error ? NULL : {argument};")
    calls = [check_call(function, word) for word in function.checks[1:]]
    for call in (*calls, f"{name}({', '.join(function.argument_names())})"):
        text = textwrap.fill(f"        error = {call};", width, subsequent_indent=" " * 12)
        lines += ["    if (!error)", text]
    if hand == "mpi_return":
        lines += [f'    return mpi_leave_with({heard}, "MPI_{name}", error);', "}"]
    else:
        lines += [
            f'    error = {hand}({heard}, "MPI_{name}", error);',
            "    mpi_leave();",
            "    return error;",
            "}",
        ]
    lines = [f"#define MPI_CALL_{name}", *"\n".join(lines).split("\n"), f"MPI_ALIAS({name})"]
    return "\n" + " \\\n".join(lines) + "\n"


def frames(functions: list[Function]) -> str:
    """Returns frames.h."""
    return FRAMES + "".join(frame(one) for one in functions if one.checks) + "\n#endif\n"


def main(arguments: list[str]) -> int:
    makers = {"header": header, "missing": missing, "frames": frames}
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
