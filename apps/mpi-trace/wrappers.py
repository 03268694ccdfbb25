#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Generates the tracer's wrappers of MPI's functions from mpi-lite's functions.txt.

    wrappers.py c functions.txt          MPI_F of each function F, and the table of their names
    wrappers.py fortran functions.txt    mpi_f_, as gfortran calls it

A wrapper times one call of PMPI_F (pmpi_f_) with the arguments that it got. If that returns no error, it
passes those that matter to a function of trace.h. A rule of RULES says which: `<count>` is an argument's
value in C, whether the program is in C or in Fortran; `<@counts>` the address of an array of integers; KEYS,
STATUS and the like stand for what differs between the languages. A function without a rule is recorded with
its times alone.
"""

from __future__ import annotations

import re
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "mpi-lite"))
import bindings
import fortran
from bindings import COLUMNS, Function, ListError, read_functions

#: Functions that do nothing that a trace could tell: no wrapper.
UNTRACED = re.compile(r"T_\w+|\w+_(c2f|f2c)|Pcontrol|Wtime|Wtick|Aint_\w+|Initialized|Finalized")
#: Functions that MPI 3.0 has removed; libraries may have none of them.
REMOVED = {
    "Address", "Type_hvector", "Type_hindexed", "Type_struct", "Type_extent", "Type_lb", "Type_ub",
    "Errhandler_create", "Errhandler_set", "Errhandler_get", "Keyval_create", "Keyval_free", "Attr_put",
    "Attr_get", "Attr_delete",
}  # fmt: skip


@dataclass(frozen=True)
class Rule:
    """What a wrapper does before the call, and after it; `poll` is the condition of a poll's success."""

    after: str
    before: str = ""
    poll: str = ""


MESSAGE = "<count>, <type>, {peer}, <tag>, <comm>"
SENT, GOT = MESSAGE.format(peer="<dest>"), MESSAGE.format(peer="<source>")
#: Ways to send, by the beginning of a function's name.
SENDS = {"": "0", "B": "0", "S": "TRACE_SYNCHRONOUS", "R": "0"}
EXCHANGE = (
    "trace_sendrecv(record, {count}, {type}, <dest>, <send_tag>, {to_count}, {to_type}, <source>, "
    "<receive_tag>, <comm>, GOT(status));"
)

RULES = {
    "Recv": Rule(f"trace_recv(record, {GOT}, GOT(status));", "STATUS(status)"),
    "Irecv": Rule(f"trace_irecv(record, {GOT}, <key request>);"),
    "Recv_init": Rule(f"trace_init_request(record, {GOT}, TRACE_RECEIVES, <key request>);"),
    "Sendrecv": Rule(
        EXCHANGE.format(count="<from_count>", type="<from_type>", to_count="<to_count>", to_type="<to_type>"),
        "STATUS(status)",
    ),
    "Sendrecv_replace": Rule(
        EXCHANGE.format(count="<count>", type="<type>", to_count="<count>", to_type="<type>"),
        "STATUS(status)",
    ),
    "Probe": Rule("trace_probe(record, true, <source>, <tag>, <comm>, GOT(status));", "STATUS(status)"),
    "Iprobe": Rule(
        "trace_probe(record, found, <source>, <tag>, <comm>, found ? GOT(status) : NULL);",
        "STATUS(status)",
        "<*flag>",
    ),
    "Mprobe": Rule(
        "trace_mprobe(record, true, <source>, <tag>, <comm>, GOT(status), <key message>);", "STATUS(status)"
    ),
    "Improbe": Rule(
        "trace_mprobe(record, found, <source>, <tag>, <comm>, found ? GOT(status) : NULL, "
        "found ? <key message> : 0);",
        "STATUS(status)",
        "<*flag>",
    ),
    "Mrecv": Rule(
        "trace_mrecv(record, <count>, <type>, key, GOT(status));",
        "STATUS(status) uintptr_t key = <key message>;",
    ),
    "Imrecv": Rule(
        "trace_imrecv(record, <count>, <type>, key, <key request>);", "uintptr_t key = <key message>;"
    ),
    "Start": Rule("trace_start(record, 1, &key);", "uintptr_t key = <key request>;"),
    "Startall": Rule("trace_start(record, <count>, keys);", "KEYS(<count>, requests)"),
    "Wait": Rule(
        "trace_completed(record, key, GOT(status));", "STATUS(status) uintptr_t key = <key request>;"
    ),
    "Test": Rule(
        "if (found)\n    trace_completed(record, key, GOT(status));",
        "STATUS(status) uintptr_t key = <key request>;",
        "<*flag>",
    ),
    "Waitall": Rule(
        "trace_completed_some(record, <count>, keys, NULL, 0, ALL(<count>, statuses));",
        "KEYS(<count>, requests) STATUSES(<count>, statuses)",
    ),
    "Testall": Rule(
        "if (found)\n    trace_completed_some(record, <count>, keys, NULL, 0, ALL(<count>, statuses));",
        "KEYS(<count>, requests) STATUSES(<count>, statuses)",
        "<*flag>",
    ),
    "Waitany": Rule(
        "if (<*index> != MPI_UNDEFINED)\n    trace_completed(record, keys[<*index> - BASE], GOT(status));",
        "KEYS(<count>, requests) STATUS(status)",
    ),
    "Testany": Rule(
        "if (found && <*index> != MPI_UNDEFINED)\n"
        "    trace_completed(record, keys[<*index> - BASE], GOT(status));",
        "KEYS(<count>, requests) STATUS(status)",
        "<*flag>",
    ),
    "Waitsome": Rule(
        "trace_completed_some(record, <*outcount>, keys, <@indices>, BASE, ALL(<*outcount>, statuses));",
        "KEYS(<count>, requests) STATUSES(<count>, statuses)",
    ),
    "Testsome": Rule(
        "if (found)\n    trace_completed_some(record, <*outcount>, keys, <@indices>, BASE, "
        "ALL(<*outcount>, statuses));",
        "KEYS(<count>, requests) STATUSES(<count>, statuses)",
        "<*outcount>",
    ),
    "Request_get_status": Rule(
        "trace_request_seen(record, found, TRACE_KEY(<request>), found ? GOT(status) : NULL);",
        "STATUS(status)",
        "<*flag>",
    ),
    "Request_free": Rule("trace_request_freed(record, key);", "uintptr_t key = <key request>;"),
    "Cancel": Rule("trace_request_named(record, key);", "uintptr_t key = <key request>;"),
    "Type_free": Rule("trace_type_freed(key);", "uintptr_t key = <key type>;"),
    "Comm_free": Rule("trace_comm_freed(record, key);", "uintptr_t key = <key comm>;"),
    "Comm_disconnect": Rule("trace_comm_freed(record, key);", "uintptr_t key = <key comm>;"),
    "Comm_idup": Rule("trace_comm_begun(record, <comm>, newcomm, IN_FORTRAN, <key request>);"),
}
for way, flags in SENDS.items():
    send, isend = (f"{way}send", f"I{way.lower()}send") if way else ("Send", "Isend")
    RULES[send] = Rule(f"trace_send(record, {SENT}, {flags});")
    RULES[isend] = Rule(f"trace_isend(record, {SENT}, {flags}, <key request>);")
    RULES[f"{send}_init"] = Rule(
        f"trace_init_request(record, {SENT}, TRACE_SENDS | {flags}, <key request>);".replace(" | 0", "")
    )

NO_ROOT = "TRACE_ANY_SOURCE"
OWN, OTHER = "<sendcount>, <sendtype>", "<recvcount>, <recvtype>"
#: Collectives: what is recorded, without the last arguments, communicator and request. Conditions are those
#: of the process whose other part counts: a root, or one that works in place.
COLLECTIVES = {
    "Barrier": f"trace_collective(record, 0, MPI_BYTE, {NO_ROOT}",
    "Bcast": "trace_collective(record, <count>, <type>, <root>",
    "Reduce": "trace_collective(record, <count>, <type>, <root>",
    "Allreduce": f"trace_collective(record, <count>, <type>, {NO_ROOT}",
    "Scan": f"trace_collective(record, <count>, <type>, {NO_ROOT}",
    "Exscan": f"trace_collective(record, <count>, <type>, {NO_ROOT}",
    "Reduce_scatter_block": f"trace_collective(record, <recvcount>, <type>, {NO_ROOT}",
    "Reduce_scatter": f"trace_collective_parts(record, <@recvcounts>, <type>, NULL, {NO_ROOT}",
    "Gather": f"AT_ROOT ? trace_collective(record, {OTHER}, <root> : trace_collective(record, {OWN}, <root>",
    "Scatter": f"AT_ROOT ? trace_collective(record, {OWN}, <root> : trace_collective(record, {OTHER}, <root>",
    "Gatherv": "AT_ROOT ? trace_collective_parts(record, <@recvcounts>, <recvtype>, NULL, <root> : "
    f"trace_collective(record, {OWN}, <root>",
    "Scatterv": "AT_ROOT ? trace_collective_parts(record, <@sendcounts>, <sendtype>, NULL, <root> : "
    f"trace_collective(record, {OTHER}, <root>",
    "Allgather": f"IN_PLACE(sendbuf) ? trace_collective(record, {OTHER}, {NO_ROOT} : "
    f"trace_collective(record, {OWN}, {NO_ROOT}",
    "Alltoall": f"IN_PLACE(sendbuf) ? trace_collective(record, {OTHER}, {NO_ROOT} : "
    f"trace_collective(record, {OWN}, {NO_ROOT}",
    "Allgatherv": f"trace_collective_parts(record, <@recvcounts>, <recvtype>, NULL, {NO_ROOT}",
    "Alltoallv": f"IN_PLACE(sendbuf) ? trace_collective_parts(record, <@recvcounts>, <recvtype>, NULL, "
    f"{NO_ROOT} : trace_collective_parts(record, <@sendcounts>, <sendtype>, NULL, {NO_ROOT}",
    "Alltoallw": "IN_PLACE(sendbuf) ? trace_collective_parts(record, <@recvcounts>, MPI_BYTE, "
    f"TYPES(trace_remote_size(<comm>), recvtypes), {NO_ROOT} : trace_collective_parts(record, "
    f"<@sendcounts>, MPI_BYTE, TYPES(trace_remote_size(<comm>), sendtypes), {NO_ROOT}",
    "Neighbor_allgather": f"trace_collective(record, {OWN}, {NO_ROOT}",
    "Neighbor_allgatherv": f"trace_collective(record, {OWN}, {NO_ROOT}",
    "Neighbor_alltoall": f"trace_collective(record, {OWN}, {NO_ROOT}",
    "Neighbor_alltoallv": "trace_neighbours(record, <@sendcounts>, <sendtype>, NULL",
    "Neighbor_alltoallw": "trace_neighbours(record, <@sendcounts>, MPI_BYTE, "
    "TYPES(trace_neighbours_count(<comm>), sendtypes)",
}


def collective_rule(body: str, request: str) -> Rule:
    """Returns the rule of a collective: one call, or one of two."""
    condition, is_two, rest = body.partition(" ? ")
    end = f", <comm>, {request});"
    if not is_two:
        return Rule(body + end)
    first, second = rest.split(" : ")
    condition = condition.replace("AT_ROOT", "trace_is_root(<root>, <comm>)")
    return Rule(f"if ({condition})\n    {first}{end}\nelse\n    {second}{end}")


for name, body in COLLECTIVES.items():
    RULES[name] = collective_rule(body, "0")
    RULES["I" + name[0].lower() + name[1:]] = collective_rule(body, "<key request>")

HEAD = """\
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * {file}: MPI's functions for programs in {language}: each times the library's, and records it.
 *
 * Made by apps/mpi-trace/wrappers.py from functions.txt.
 */
#include "{header}"
"""


def category(function: Function) -> str:
    """Returns the flag of a function whose messages are not recorded, or 0."""
    if "MPI_Win " in f"{function.prototype('')} " or function.name.startswith("Win_"):
        return "TRACE_ONE_SIDED"
    return "TRACE_FILE" if function.name.startswith("File_") else "0"


def rule_of(function: Function) -> Rule:
    """Returns a function's rule; one that makes a communicator numbers it."""
    name = function.name
    if name in RULES:
        return RULES[name]
    made = [
        text for text in map(bindings.PARAMETER.fullmatch, function.parameters)
        if text and text["type"].replace(" ", "") == "MPI_Comm*"
    ]  # fmt: skip
    if made:
        of = "<comm>" if "comm" in function.argument_names() else None
        begin = f"trace_collective(record, 0, MPI_BYTE, {NO_ROOT}, {of}, 0);\n" if of else ""
        return Rule(begin + f"trace_comm_made(<{made[0]['name']}>);")
    flag = category(function)
    return Rule("" if flag == "0" else f"record->flags |= {flag};")


class Language:
    """How a wrapper's text differs between C and Fortran."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.parameters = {p.name: p for p in fortran.parameters_of(function)}

    def value(self, name: str) -> str:
        raise NotImplementedError

    def expand(self, text: str) -> str:
        """Replaces `<…>` by C expressions of the arguments."""

        def one(match: re.Match[str]) -> str:
            kind, name = match["kind"], match["name"]
            if name not in self.parameters:
                raise ListError(f"MPI_{self.function.name} has no argument {name}; see RULES of wrappers.py")
            if kind == "@":
                return name
            if kind == "*":
                return f"*{name}"
            value = self.value(name)
            if kind != "key ":
                return value
            # A program may pass NULL, of which the library complains.
            return (
                f"({name} ? TRACE_KEY({value}) : 0)"
                if self.parameters[name].pointers
                else f"TRACE_KEY({value})"
            )

        return re.sub(r"<(?P<kind>@|\*|key |)(?P<name>\w+)>", one, text)


class C(Language):
    def value(self, name: str) -> str:
        return f"*{name}" if self.parameters[name].pointers else name

    def prototype(self) -> str:
        return self.function.prototype("MPI_")

    def call(self) -> str:
        return f"PMPI_{self.function.name}({', '.join(self.function.argument_names())})"


class Fortran(Language):
    """Every argument is an address; lengths of strings are at the end."""

    def value(self, name: str) -> str:
        parameter = self.parameters[name]
        if not parameter.is_handle:
            return f"*{name}"
        return f"PMPI_{parameter.base.removeprefix('MPI_').replace('Datatype', 'Type')}_f2c(*{name})"

    def arguments(self) -> list[tuple[str, str]]:
        names = ("argc", "argv") if self.function.name in ("Init", "Init_thread") else ()
        own = [parameter for name, parameter in self.parameters.items() if name not in names]
        found = [(self.type_of(p), p.name) for p in own]
        found.append(("MPI_Fint *", "ierror"))
        return found + [("size_t ", f"{p.name}_length") for p in own if p.base == "char"]

    @staticmethod
    def type_of(parameter: fortran.Parameter) -> str:
        wide = parameter.base in ("MPI_Aint", "MPI_Offset", "MPI_Count")
        return f"{parameter.base} *" if wide else "MPI_Fint *"

    def prototype(self, prefix: str = "mpi_") -> str:
        begin = f"void {prefix}{self.function.name.lower()}_("
        text = begin + ", ".join(type_ + name for type_, name in self.arguments()) + ")"
        return textwrap.fill(text, COLUMNS - 1, subsequent_indent=" " * len(begin), break_long_words=False)

    def call(self) -> str:
        names = ", ".join(name for _, name in self.arguments())
        return f"pmpi_{self.function.name.lower()}_({names})"


def indented(text: str, columns: int = 4) -> str:
    """Indents statements, and breaks long ones after commas."""
    lines = []
    for line in text.split("\n"):
        margin = " " * (columns + len(line) - len(line.lstrip()))
        lines.append(textwrap.fill(line.strip(), COLUMNS - 1, initial_indent=margin,
                                   subsequent_indent=margin + "    ", break_long_words=False))  # fmt: skip
    return "\n".join(lines)


def returning(language: Language, value: str) -> list[str]:
    """Returns the statement that passes a result to the program."""
    return [f"return {value};"] if isinstance(language, C) else []


def unless(begins: str, language: Language) -> list[str]:
    """Returns the statements of a call that is not traced."""
    if isinstance(language, C):
        return [f"if (!{begins})", f"    return {language.call()};"]
    return [f"if (!{begins}) {{", f"    {language.call()};", "    return;", "}"]


def special(language: Language) -> list[str] | None:
    """Returns the statements of functions that begin and end tracing, or None."""
    function, call = language.function, language.call()
    code = f"TRACE_CODE_{function.name}"
    is_c = isinstance(language, C)
    run, error = (f"int error = {call};", "error") if is_c else (f"{call};", "*ierror")
    if function.name in ("Init", "Init_thread", "Finalize"):
        stage = "finalize" if function.name == "Finalize" else "init"
        allowed = []
        if function.name == "Init_thread" and is_c:
            allowed = ["required = trace_threads(required);"]
        elif function.name == "Init_thread":
            allowed = ["MPI_Fint allowed = trace_threads(*required);", "required = &allowed;"]
        return [
            "struct trace_call call;", *unless(f"trace_{stage}_begin(&call)", language), *allowed, run,
            f"trace_{stage}(&call, {code}, {error});", *returning(language, "error"),
        ]  # fmt: skip
    if function.name == "Abort":
        return [f"trace_abort({code});", f"return {call};" if is_c else f"{call};"]
    return None


def wrapper(language: Language) -> str:
    """Returns the definition of one wrapper."""
    function, call = language.function, language.call()
    is_c = isinstance(language, C)
    body = special(language)
    if body is None:
        rule = rule_of(function)
        code = f"TRACE_CODE_{function.name}"
        body = ["struct trace_call call;", *unless("trace_begin(&call)", language)]
        body += [language.expand(rule.before)] if rule.before else []
        body.append(f"int error = {call};" if is_c else f"{call};\nint error = *ierror;")
        if rule.poll:
            body.append(f"bool found = error == MPI_SUCCESS && ({language.expand(rule.poll)});")
            end = f"trace_end_poll(&call, {code}, error, found)"
        else:
            end = f"trace_end(&call, {code}, error)"
        after = language.expand(rule.after)
        body.append(f"struct trace_record *record = {end};" if "record" in after else f"{end};")
        if after:
            body += ["if (error == MPI_SUCCESS) {", textwrap.indent(after, "    "), "}"]
        body += returning(language, "error")
    text = "\n".join(indented(part) for part in body)
    return f"\n{language.prototype()}\n{{\n{text}\n}}\n"


def traced(functions: list[Function]) -> list[Function]:
    return [one for one in functions if one.result == "int" and not UNTRACED.fullmatch(one.name)]


def guarded(function: Function, text: str) -> str:
    return f"\n#ifndef TRACE_LACKS_REMOVED{text}#endif\n" if function.name in REMOVED else text


def codes(functions: list[Function]) -> str:
    return "\nenum {\n" + "".join(f"    TRACE_CODE_{one.name},\n" for one in functions) + "};\n"


def c_text(functions: list[Function]) -> str:
    parts = [HEAD.format(file="wrappers.c", language="C", header="wrapper_c.h"), codes(functions)]
    parts.append("\nconst char *const trace_names[] = {\n")
    parts += [f'    "{one.name}",\n' for one in functions]
    parts.append("};\nconst uint16_t trace_function_flags[] = {\n")
    parts += [f"    {category(one)}, /* {one.name} */\n" for one in functions]
    parts.append(f"}};\nconst unsigned trace_functions = {len(functions)};\n")
    parts += [guarded(one, wrapper(C(one))) for one in functions]
    return "".join(parts)


def fortran_text(functions: list[Function]) -> str:
    parts = [HEAD.format(file="fortran_wrappers.c", language="Fortran", header="wrapper_fortran.h")]
    parts.append(codes(functions))
    for one in functions:
        language = Fortran(one)
        declared = f"\n{language.prototype('pmpi_')} TRACE_WEAK;{wrapper(language)}"
        parts.append(guarded(one, declared))
    return "".join(parts)


def main(arguments: list[str]) -> int:
    makers = {"c": c_text, "fortran": fortran_text}
    if len(arguments) != 2 or arguments[0] not in makers:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        text = makers[arguments[0]](traced(read_functions(Path(arguments[1]))))
    except (OSError, UnicodeDecodeError) as error:
        print(f"wrappers.py: {arguments[1]}: {error}", file=sys.stderr)
        return 1
    except ListError as error:
        print(error, file=sys.stderr)
        return 1
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
