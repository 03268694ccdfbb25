#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Generates MPI's Fortran interface from functions.txt and mpi.h, so that it agrees with C.

    fortran.py wrappers functions.txt mpi.h      C: mpi_send_ and the like, as gfortran calls them
    fortran.py predefined functions.txt mpi.h    C: the predefined handles, in the order of their numbers
    fortran.py mpif.h functions.txt mpi.h        mpif.h, valid in fixed form and in free form
    fortran.py module functions.txt mpi.h        mpi.f90, the source of `use mpi`
    fortran.py every functions.txt mpi.h         a program that names every function, for a test

A parameter's type and name determine what a wrapper does with it. BY_HAND lists the functions for which that
is not enough; they are in src/fortran/fortran_*.c.
"""

from __future__ import annotations

import re
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

from bindings import COLUMNS, PARAMETER, Function, ListError, read_functions

#: C's handle types, in the order of enum fortran_kind.
KINDS = {
    "MPI_Comm": "COMM",
    "MPI_Datatype": "TYPE",
    "MPI_Group": "GROUP",
    "MPI_Request": "REQUEST",
    "MPI_Message": "MESSAGE",
    "MPI_Op": "OP",
    "MPI_Info": "INFO",
    "MPI_Errhandler": "ERRHANDLER",
    "MPI_Win": "WIN",
    "MPI_File": "FILE",
}
HANDLE_KIND = 100000000
#: The kind of a predefined object, by the beginning of its name in the library.
OBJECTS = {
    "comm": "COMM",
    "type": "TYPE",
    "group": "GROUP",
    "message": "MESSAGE",
    "op": "OP",
    "info": "INFO",
    "errors": "ERRHANDLER",
}
#: Fortran's kinds of C's integers.
INTEGERS = {
    "int": "INTEGER",
    "MPI_Aint": "INTEGER(KIND=MPI_ADDRESS_KIND)",
    "MPI_Offset": "INTEGER(KIND=MPI_OFFSET_KIND)",
    "MPI_Count": "INTEGER(KIND=MPI_COUNT_KIND)",
}
#: Integers in C that are LOGICAL in Fortran. gfortran's .TRUE. is 1 and .FALSE. 0, so they pass as they are.
LOGICALS = {"flag", "commute", "reorder", "periods", "remain_dims", "high", "weighted"}
WEIGHTS = {"weights", "sourceweights", "destweights"}
#: Functions that free the handle whose address they take; that leave it as it is; that may end it.
TAKERS = {
    "Comm_free", "Comm_disconnect", "Group_free", "Type_free", "Op_free", "Info_free", "Errhandler_free",
    "Win_free", "File_close", "Request_free",
}  # fmt: skip
KEEPERS = {"Type_commit", "Cancel", "Start"}
UPDATERS = {"Wait", "Test", "Mrecv", "Imrecv"}
BY_HAND = {
    "Init", "Init_thread", "Abort", "Pcontrol", "Buffer_detach", "Get_address",
    "Waitall", "Waitany", "Waitsome", "Testall", "Testany", "Testsome", "Startall",
    "Alltoallw", "Ialltoallw", "Neighbor_alltoallw", "Ineighbor_alltoallw",
    "Type_create_struct", "Type_get_contents", "Type_extent", "Type_lb", "Type_ub",
    "Op_create", "Grequest_start", "Comm_create_errhandler", "Win_create_errhandler",
    "File_create_errhandler", "Comm_create_keyval", "Type_create_keyval", "Win_create_keyval",
    "Comm_set_attr", "Type_set_attr", "Win_set_attr", "Comm_get_attr", "Type_get_attr", "Win_get_attr",
}  # fmt: skip
#: A call ends the job with the name: the library has no dynamic processes and files.
ABSENT = {"Comm_spawn", "Comm_spawn_multiple", "Register_datarep"}
#: MPI-1's names, whose addresses and attributes are INTEGERs in Fortran.
MPI_1 = {
    "Address": ["location", "INTEGER address"],
    "Attr_delete": ["INTEGER comm", "INTEGER keyval"],
    "Attr_get": ["INTEGER comm", "INTEGER keyval", "INTEGER attribute_val", "LOGICAL flag"],
    "Attr_put": ["INTEGER comm", "INTEGER keyval", "INTEGER attribute_val"],
    "Keyval_create": ["EXTERNAL copy_fn", "EXTERNAL delete_fn", "INTEGER keyval", "INTEGER extra_state"],
    "Keyval_free": ["INTEGER keyval"],
    "Errhandler_create": ["EXTERNAL handler_fn", "INTEGER errhandler"],
    "Errhandler_get": ["INTEGER comm", "INTEGER errhandler"],
    "Errhandler_set": ["INTEGER comm", "INTEGER errhandler"],
    "Type_hvector": ["INTEGER count", "INTEGER blocklength", "INTEGER stride", "INTEGER oldtype",
                     "INTEGER newtype"],
    "Type_hindexed": ["INTEGER count", "INTEGER array_of_blocklengths(*)",
                      "INTEGER array_of_displacements(*)", "INTEGER oldtype", "INTEGER newtype"],
    "Type_struct": ["INTEGER count", "INTEGER array_of_blocklengths(*)", "INTEGER array_of_displacements(*)",
                    "INTEGER array_of_types(*)", "INTEGER newtype"],
    "Type_extent": ["INTEGER datatype", "INTEGER extent"],
    "Type_lb": ["INTEGER datatype", "INTEGER displacement"],
    "Type_ub": ["INTEGER datatype", "INTEGER displacement"],
}  # fmt: skip
CALLBACKS = [
    f"MPI_{of}{what}"
    for of in ("", "COMM_", "TYPE_", "WIN_")
    for what in ("NULL_COPY_FN", "NULL_DELETE_FN", "DUP_FN")
] + ["MPI_CONVERSION_FN_NULL"]
#: The standard's names of parameters, for keywords in `use mpi`.
STANDARD_NAMES = {
    "buffer": "buf", "type": "datatype", "requests": "array_of_requests", "statuses": "array_of_statuses",
    "indices": "array_of_indices", "blocklengths": "array_of_blocklengths",
    "displacements": "array_of_displacements", "from": "sendbuf", "from_count": "sendcount",
    "from_type": "sendtype", "to": "recvbuf", "to_count": "recvcount", "to_type": "recvtype",
    "send_tag": "sendtag", "recv_tag": "recvtag", "receive_tag": "recvtag", "origin": "origin_addr",
    "origin_type": "origin_datatype", "target_type": "target_datatype", "result": "result_addr",
    "compare": "compare_addr", "state": "extra_state", "value": "attribute_val", "file": "fh",
    "assertion": "assert",
}  # fmt: skip


@dataclass
class Parameter:
    """A parameter of a C function: `pointers` counts stars and brackets, `base` is the type without const."""

    base: str
    pointers: int
    is_array: bool
    is_const: bool
    name: str

    @property
    def is_choice(self) -> bool:
        return self.base == "void" and self.name not in ("value", "state")

    @property
    def is_handle(self) -> bool:
        return self.base in KINDS

    @property
    def is_string(self) -> bool:
        return self.base == "char" and self.pointers == 1

    @property
    def is_callback(self) -> bool:
        return self.base.endswith(("_function", "_fn"))


def parameters_of(function: Function) -> list[Parameter]:
    found = []
    for text in function.parameters:
        match = PARAMETER.fullmatch(text)
        if match:
            words = match["type"].replace("*", " * ").split()
            base = next(word for word in words if word not in ("const", "*"))
            pointers = words.count("*") + match["array"].count("[")
            found.append(Parameter(base, pointers, bool(match["array"]), "const" in words, match["name"]))
    return found


def is_fortran(function: Function) -> bool:
    """Returns whether Fortran has the function as C has: the tool interface is C's, MPI-1's names differ."""
    name = function.name
    return not (name.startswith("T_") or name in MPI_1 or name.endswith(("_c2f", "_f2c")))


def filled(text: str, indent: str) -> str:
    return textwrap.fill(text, COLUMNS - 1, subsequent_indent=indent, break_long_words=False)


# ---- Wrappers in C ----

WRAPPERS = """\
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fortran_wrappers.c: MPI's functions as gfortran calls them: lower case and an underscore, every argument by
 * its address, the lengths of strings at the end.
 *
 * Made by apps/mpi-lite/fortran.py from functions.txt.
 */
#include "fortran/fortran_wrapper.h"
"""


class Wrapper:
    """The parts of one wrapper, in the order of its text."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.takes: list[str] = []
        self.lengths: list[str] = []
        self.before: list[str] = []
        self.passes: list[str] = []
        self.after: list[str] = []
        self.finally_: list[str] = []
        self.has_flag = any(p.name == "flag" and p.pointers for p in parameters_of(function))
        for parameter in parameters_of(function):
            self.add(parameter)

    def add(self, p: Parameter) -> None:
        name = p.name
        if p.is_handle:
            self.add_handle(p)
        elif p.base == "MPI_Status":
            self.takes.append(f"MPI_Fint *{name}")
            self.before.append(f"MPI_Status room_{name}, *c_{name} = status_in({name}, &room_{name});")
            self.passes.append(f"c_{name}")
            if not p.is_const:
                self.finally_.append(f"status_out(c_{name}, {name});")
        elif p.is_string:
            self.add_string(p)
        elif p.is_choice:
            self.takes.append(f"void *{name}")
            self.passes.append(name if name == "baseptr" else f"buffer_of({name})")
        elif p.base in INTEGERS and p.pointers == 0:
            c_type = "MPI_Fint" if p.base == "int" else p.base
            self.takes.append(f"const {c_type} *{name}")
            self.passes.append(f"*{name}")
        elif p.base in INTEGERS:
            c_type = "MPI_Fint" if p.base == "int" else p.base
            const = "const " if p.is_const and name not in WEIGHTS else ""
            self.takes.append(f"{const}{c_type} *{name}")
            passed = f"weights_of({name})" if name in WEIGHTS else name
            self.passes.append(f"(int(*)[3]){name}" if p.pointers == 2 else passed)
        else:
            raise ListError(f"MPI_{self.function.name}: no Fortran for {p.base} {name}; add it to BY_HAND")

    def add_handle(self, p: Parameter) -> None:
        kind, name, function = f"FORTRAN_{KINDS[p.base]}", p.name, self.function.name
        comes_in = f'{p.base} c_{name} = handle_in(&call, {kind}, "{name}", *{name});'
        if p.is_array or p.pointers > 1:
            raise ListError(f"MPI_{function}: an array of handles, {name}; add the function to BY_HAND")
        if p.pointers == 0:
            self.takes.append(f"const MPI_Fint *{name}")
            self.before.append(comes_in)
            self.passes.append(f"c_{name}")
            return
        self.takes.append(f"MPI_Fint *{name}")
        self.passes.append(f"&c_{name}")
        if function in TAKERS:
            self.before += [comes_in, f"unsigned serial = mpi_lite_handle_serial(*{name});"]
            self.finally_.append(f"handle_taken({kind}, c_{name}, {name}, serial);")
        elif function in KEEPERS and kind != "FORTRAN_MESSAGE":
            self.before.append(comes_in)
        elif (
            function in UPDATERS
            and name in ("request", "message")
            and not (function == "Imrecv" and name == "request")
        ):
            self.before.append(comes_in)
            self.finally_.append(f"handle_updated({kind}, c_{name}, {name});")
        else:
            self.before.append(f"{p.base} c_{name} = NULL;")
            self.after.append(f"*{name} = mpi_lite_handle_give({kind}, c_{name});")

    def add_string(self, p: Parameter) -> None:
        name = p.name
        self.lengths.append(f"size_t {name}_length")
        if p.is_const:
            both = "true" if self.function.name.startswith("Info_") else "false"
            self.takes.append(f"const char *{name}")
            self.before.append(f"char *c_{name} = string_in(&call, {name}, {name}_length, {both});")
            self.finally_.append(f"free(c_{name});")
            self.passes.append(f"c_{name}")
        else:
            self.takes.append(f"char *{name}")
            self.before.append(f'char c_{name}[STRING_ROOM] = "";')
            self.passes.append(f"c_{name}")
            found = "if (*flag)\n    " if self.has_flag else ""
            self.after.append(f"{found}string_out(c_{name}, {name}, {name}_length);")
            if any(q.name == "resultlen" for q in parameters_of(self.function)):
                self.after.append(f"if ((size_t)*resultlen > {name}_length)")
                self.after.append(f"    *resultlen = (MPI_Fint){name}_length;")

    def text(self) -> str:
        name = self.function.name
        begin = f"void pmpi_{name.lower()}_("
        head = filled(begin + ", ".join([*self.takes, "MPI_Fint *ierror", *self.lengths]) + ")",
                      " " * len(begin))  # fmt: skip
        body = [f'struct call call = {{ "MPI_{name}", MPI_SUCCESS }};', *self.before, ""]
        body.append("if (!call.error)")
        call = f"    call.error = PMPI_{name}("
        body.append(filled(call + ", ".join(self.passes) + ");", " " * len(call)))
        if self.after:
            body.append("if (!call.error) {")
            body += [textwrap.indent(line, "    ") for line in self.after] + ["}"]
        body += [*self.finally_, "*ierror = call.error;"]
        inner = textwrap.indent("\n".join(body), "    ")
        return f"\n{head}\n{{\n{inner}\n}}\nFORTRAN_ALIAS({name.lower()});\n"


def wrapper_of_value(function: Function) -> str:
    """Returns the wrapper of a function that returns a number and no error."""
    name = function.name
    takes = [f"const {p.base} *{p.name}" for p in parameters_of(function)]
    passes = ", ".join(f"*{p.name}" for p in parameters_of(function))
    return (
        f"\n{function.result} pmpi_{name.lower()}_({', '.join(takes) or 'void'})\n"
        f"{{\n    return PMPI_{name}({passes});\n}}\nFORTRAN_ALIAS({name.lower()});\n"
    )


def wrappers(functions: list[Function], _header: str) -> str:
    parts = [WRAPPERS]
    for function in functions:
        name = function.name
        if not is_fortran(function) or name in BY_HAND:
            continue
        if function.result != "int":
            parts.append(wrapper_of_value(function))
        elif name in ABSENT:
            parts.append(f"\nvoid pmpi_{name.lower()}_(void)\n{{\n")
            parts.append(f'    mpi_lite_fortran_missing("MPI_{name}");\n}}\nFORTRAN_ALIAS({name.lower()});\n')
        else:
            parts.append(Wrapper(function).text())
    return "".join(parts)


# ---- Constants ----


def predefined_handles(header: str) -> dict[str, tuple[str, str]]:
    """Returns kind and object of each constant that is an object's address, in mpi.h's order."""
    pattern = re.compile(r"^#define (MPI_\w+)\s+\(&(mpi_lite_([a-z]+)_\w+)\)$", re.MULTILINE)
    return {name: (OBJECTS[kind], object_) for name, object_, kind in pattern.findall(header)}


def handle_numbers(header: str) -> dict[str, int]:
    """Returns all handles that are constants, with their values in Fortran."""
    kinds = {kind: number for number, kind in enumerate(KINDS.values(), 1)}
    counts = dict.fromkeys(kinds, 0)
    numbers = {}
    for name, (kind, _) in predefined_handles(header).items():
        counts[kind] += 1
        numbers[name] = kinds[kind] * HANDLE_KIND + counts[kind]
    for name, type_ in re.findall(r"^#define (MPI_\w+_NULL)\s+\(\((MPI_\w+)\)0\)$", header, re.MULTILINE):
        if type_ in KINDS:
            numbers[name] = kinds[KINDS[type_]] * HANDLE_KIND
    for name, other in re.findall(r"^#define (MPI_\w+)\s+(MPI_\w+)$", header, re.MULTILINE):
        if other in numbers:
            numbers[name] = numbers[other]
    return numbers


def integers(header: str) -> dict[str, int]:
    """Returns the numeric constants of mpi.h for Fortran, where a string's length is without a NUL."""
    pattern = re.compile(r"^#define (MPI_[A-Z]\w*)\s+\(?(-?(?:0x[0-9a-f]+|\d+))\)?$", re.MULTILINE)
    values = {name: int(value, 0) for name, value in pattern.findall(header)}
    return {name: value - name.startswith("MPI_MAX_") for name, value in values.items()}


def constants(header: str) -> list[str]:
    """Returns statements that declare all constants, valid in fixed form and in free form."""
    own = {"MPI_STATUS_SIZE": 6, "MPI_SOURCE": 1, "MPI_TAG": 2, "MPI_ERROR": 3}
    kinds = {"MPI_INTEGER_KIND": 4, "MPI_ADDRESS_KIND": 8, "MPI_OFFSET_KIND": 8, "MPI_COUNT_KIND": 8}
    lines = []
    for name, value in (own | kinds | integers(header) | handle_numbers(header)).items():
        of = "INTEGER(KIND=8)" if name == "MPI_DISPLACEMENT_CURRENT" else "INTEGER"
        lines += [f"{of} {name}", f"PARAMETER ({name}={value})"]
    for name in "MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING":
        lines += [f"LOGICAL {name}", f"PARAMETER ({name}=.FALSE.)"]
    return lines


#: Constants that are recognized by their address, each in a common block of the library.
BY_ADDRESS = {
    "MPI_BOTTOM": "INTEGER MPI_BOTTOM",
    "MPI_IN_PLACE": "INTEGER MPI_IN_PLACE",
    "MPI_STATUS_IGNORE": "INTEGER MPI_STATUS_IGNORE(6)",
    "MPI_STATUSES_IGNORE": "INTEGER MPI_STATUSES_IGNORE(6,1)",
    "MPI_ERRCODES_IGNORE": "INTEGER MPI_ERRCODES_IGNORE(1)",
    "MPI_ARGV_NULL": "CHARACTER MPI_ARGV_NULL(1)",
    "MPI_ARGVS_NULL": "CHARACTER MPI_ARGVS_NULL(1,1)",
    "MPI_UNWEIGHTED": "INTEGER MPI_UNWEIGHTED(1)",
    "MPI_WEIGHTS_EMPTY": "INTEGER MPI_WEIGHTS_EMPTY(1)",
}


def by_address() -> list[str]:
    lines = []
    for name, declaration in BY_ADDRESS.items():
        lines += [declaration, f"COMMON /{name.replace('MPI_', 'MPI_LITE_')}/ {name}"]
    return lines


def predefined(functions: list[Function], header: str) -> str:
    """Returns predefined.c."""
    rows = [
        f"    {{ FORTRAN_{kind}, &{object_} }}, /* {name} */"
        for name, (kind, object_) in predefined_handles(header).items()
    ]
    return (
        "/* SPDX-License-Identifier: BSD-2-Clause */\n"
        "/* predefined.c: Fortran's numbers of the predefined handles, in the order of mpi.h and of mpif.h.\n"
        " *\n * Made by apps/mpi-lite/fortran.py from mpi.h. */\n"
        '#include "fortran/fortran.h"\n\nconst struct predefined predefined_objects[] = {\n'
        + "\n".join(rows)
        + "\n};\nconst int predefined_count = sizeof(predefined_objects) / sizeof(predefined_objects[0]);\n"
    )


MPIF = """\
! SPDX-License-Identifier: BSD-2-Clause
!
! mpif.h: MPI's constants for Fortran, in fixed form and in free form.
!
! Made by apps/mpi-lite/fortran.py from mpi.h, whose values these are.
!
"""


def mpif(functions: list[Function], header: str) -> str:
    lines = constants(header) + by_address() + [f"EXTERNAL {name}" for name in CALLBACKS]
    for function in functions:
        if function.result != "int" and is_fortran(function):
            name = f"MPI_{function.name.upper()}"
            of = "DOUBLE PRECISION" if function.result == "double" else "INTEGER(KIND=8)"
            lines += [f"{of} {name}, P{name}", f"EXTERNAL {name}, P{name}"]
    return MPIF + "".join(f"      {line}\n" for line in lines)


# ---- The module ----

MODULE = """\
! SPDX-License-Identifier: BSD-2-Clause
!
! mpi.f90: the module mpi: MPI's constants, and an interface for each function, so that the compiler checks
! arguments. Buffers may be of any type. It has no code: programs need only its .mod file.
!
! Made by apps/mpi-lite/fortran.py from functions.txt and mpi.h.
!
      MODULE mpi
      IMPLICIT NONE
      PUBLIC
"""

SIZEOF = """\
      INTERFACE MPI_SIZEOF
      SUBROUTINE mpi_lite_sizeof(x, size, ierror) BIND(C, NAME="mpi_lite_sizeof")
      TYPE(*), DIMENSION(..) :: x
      INTEGER, INTENT(OUT) :: size, ierror
      END SUBROUTINE
      END INTERFACE
"""


def declaration(p: Parameter, name: str) -> list[str]:
    """Returns the declaration of a dummy argument."""
    if p.is_callback:
        return [f"EXTERNAL :: {name}"]
    if p.base == "char":
        array = "(*)" if p.pointers > 1 else ""
        intent = ", INTENT(IN)" if p.is_const and p.pointers == 1 else ""
        return [f"CHARACTER(LEN=*){intent} :: {name}{array}"]
    if p.is_choice:
        return [f"!GCC$ ATTRIBUTES NO_ARG_CHECK :: {name}", f"TYPE(*), DIMENSION(*) :: {name}"]
    if p.base == "void":
        return [f"INTEGER(KIND=MPI_ADDRESS_KIND) :: {name}"]
    if p.base == "MPI_Status":
        return [f"INTEGER :: {name}(MPI_STATUS_SIZE{',*' if p.is_array else ''})"]
    of = "LOGICAL" if p.name in LOGICALS else INTEGERS.get(p.base, "INTEGER")
    if p.is_array:
        return [f"{of} :: {name}({'3,*' if p.pointers == 2 else '*'})"]
    return [f"{of}{'' if p.pointers else ', INTENT(IN)'} :: {name}"]


def interface(name: str, names: list[str], declared: list[str], result: str = "") -> str:
    """Returns the interface of a subroutine, or of a function with a result."""
    text = "\n".join(declared)
    imports = [kind for kind in ("ADDRESS", "OFFSET", "COUNT") if f"MPI_{kind}_KIND" in text + result]
    used = [f"MPI_{kind}_KIND" for kind in imports] + ["MPI_STATUS_SIZE"] * ("MPI_STATUS_SIZE" in text)
    lines = [f"IMPORT :: {', '.join(used)}"] if used else []
    what = "FUNCTION" if result else "SUBROUTINE"
    head = textwrap.wrap(f"{what} {name}({', '.join(names)})", 100)
    lines = [*" &\n".join(head).split("\n"), *lines, *declared]
    if result:
        lines.append(f"{result} :: {name}")
    return "".join(f"      {line}\n" for line in ["INTERFACE", *lines, f"END {what}", "END INTERFACE"])


def interface_of(function: Function, prefix: str) -> str:
    parameters = parameters_of(function)
    if function.name in ("Init", "Init_thread"):
        parameters = parameters[2:]
    names = [STANDARD_NAMES.get(p.name, p.name) for p in parameters]
    declared = [line for p, name in zip(parameters, names, strict=True) for line in declaration(p, name)]
    if function.result != "int":
        result = {"double": "DOUBLE PRECISION"}.get(function.result, INTEGERS["MPI_Aint"])
        return interface(prefix + function.name, names, declared, result)
    if function.name != "Pcontrol":
        names.append("ierror")
        declared.append("INTEGER, INTENT(OUT) :: ierror")
    return interface(prefix + function.name, names, declared)


def interface_of_mpi_1(name: str, arguments: list[str], prefix: str) -> str:
    names, declared = [], []
    for argument in arguments:
        of, _, bare = argument.rpartition(" ")
        names.append(bare.split("(")[0])
        declared += [f"{of} :: {bare}"] if of else declaration(Parameter("void", 1, False, True, bare), bare)
    return interface(prefix + name, [*names, "ierror"], [*declared, "INTEGER, INTENT(OUT) :: ierror"])


def module(functions: list[Function], header: str) -> str:
    lines = constants(header) + by_address() + [f"EXTERNAL {name}" for name in CALLBACKS]
    parts = [MODULE, *(f"      {line}\n" for line in lines), SIZEOF]
    for prefix in "MPI_", "PMPI_":
        for function in functions:
            if is_fortran(function) and function.name not in MPI_1:
                parts.append(interface_of(function, prefix))
        parts += [interface_of_mpi_1(name, arguments, prefix) for name, arguments in MPI_1.items()]
    return "".join(parts) + "      END MODULE mpi\n"


# ---- A program that names every function ----


def every(functions: list[Function], _header: str) -> str:
    """Returns a program that names every function: it passes each as an argument, and calls none."""
    names = [function.name for function in functions if is_fortran(function) and function.result == "int"]
    names = sorted({*names, *MPI_1})
    values = [function.name for function in functions if is_fortran(function) and function.result != "int"]
    lines = ["PROGRAM every", "IMPLICIT NONE", "INCLUDE 'mpif.h'", "INTEGER named"]
    lines += [f"EXTERNAL {prefix}{name}" for name in names for prefix in ("MPI_", "PMPI_")]
    lines.append("named = 0")
    procedures = [f"{prefix}{name}" for name in names + values for prefix in ("MPI_", "PMPI_")]
    lines += [f"CALL takes({name}, named)" for name in procedures + CALLBACKS]
    lines += ["PRINT '(I0,A)', named, ' functions'", "END"]
    lines += ["SUBROUTINE takes(function, named)", "EXTERNAL function", "INTEGER named", "named = named + 1"]
    return "".join(f"      {line}\n" for line in [*lines, "END"])


def main(arguments: list[str]) -> int:
    makers = {
        "wrappers": wrappers, "predefined": predefined, "mpif.h": mpif, "module": module, "every": every,
    }  # fmt: skip
    if len(arguments) != 3 or arguments[0] not in makers:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        functions = read_functions(Path(arguments[1]))
        text = makers[arguments[0]](functions, Path(arguments[2]).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        print(f"fortran.py: {error}", file=sys.stderr)
        return 1
    except ListError as error:
        print(error, file=sys.stderr)
        return 1
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
