# SPDX-License-Identifier: BSD-2-Clause
"""MPI's list of functions (apps/mpi-lite/functions.txt), what bindings.py makes of it, and the compilers that
use it, tacet-mpicc and tacet-mpicxx. If the library is built, it has each listed function, and no other
names that a program could define; if MPICH's headers are installed, the types agree with theirs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mpi_answers import run

from tests.making import ROOT

MPI = ROOT / "apps" / "mpi-lite"
LIST = MPI / "functions.txt"
LIBRARY = ROOT / "build" / "mpi-lite" / "glibc" / "libmpi.a"
MPICH = Path("/usr/include/x86_64-linux-gnu/mpich")

sys.path.insert(0, str(MPI))
import bindings

WARNINGS = "-std=gnu11 -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Werror".split()
GOOD = """\
## Groups [MPI 3.1 §6.3]
int Group_size(MPI_Group group, int *size)
    How many processes it has.
"""


def made_of(kind: str, text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Returns what bindings.py makes of a list."""
    (folder / "list.txt").write_text(text, encoding="utf-8")
    return run(sys.executable, MPI / "bindings.py", kind, "list.txt", cwd=folder)


# ---- The list ----


def test_the_list_reads_and_names_no_function_twice() -> None:
    functions = bindings.read_functions(LIST)
    names = [function.name for function in functions]
    assert len(names) == len(set(names)) > 350
    assert {"Send", "Wtime", "Pcontrol", "Alltoallw", "File_open", "Win_create", "Comm_spawn"} <= set(names)
    assert sum(name.startswith("T_") for name in names) == 31, "all of the tool interface"


def test_no_line_of_the_list_and_of_what_it_makes_is_too_wide() -> None:
    functions = bindings.read_functions(LIST)
    made = (bindings.header(functions), bindings.missing(functions), bindings.frames(functions))
    for text in LIST.read_text(encoding="utf-8"), *made:
        assert [line for line in text.splitlines() if len(line) > bindings.COLUMNS] == []


@pytest.mark.parametrize("compiler", ["gcc", "clang", "g++"])
def test_the_header_compiles_without_warnings(compiler: str, tmp_path: Path) -> None:
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    text = bindings.header(bindings.read_functions(LIST))
    (tmp_path / "mpi_functions.h").write_text(text, encoding="utf-8")
    cxx = compiler == "g++"
    source = tmp_path / ("program.cc" if cxx else "program.c")
    source.write_text("#include <mpi.h>\nint main(void) { return MPI_Init(0, 0); }\n")
    flags = ["-Wall", "-Wextra", "-Wshadow", "-Werror"] if cxx else WARNINGS
    done = run(compiler, *flags, f"-I{tmp_path}", f"-I{MPI}/include", "-fsyntax-only", source)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_what_is_missing_compiles_without_warnings(compiler: str, tmp_path: Path) -> None:
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    functions = bindings.read_functions(LIST)
    for function in functions:
        function.missing = True
    (tmp_path / "mpi_functions.h").write_text(bindings.header(functions), encoding="utf-8")
    (tmp_path / "missing.c").write_text(bindings.missing(functions), encoding="utf-8")
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "frames.h").write_text(bindings.frames(functions), encoding="utf-8")
    include = [f"-I{tmp_path}", f"-I{MPI}/include", f"-I{MPI}/src"]
    done = run(compiler, *WARNINGS, *include, "-c", "-o", tmp_path / "missing.o", tmp_path / "missing.c")
    assert done.returncode == 0, done.stderr


def test_a_missing_function_ends_the_job_with_its_name(tmp_path: Path) -> None:
    done = made_of("missing", GOOD.replace("int Group", "missing int Group"), tmp_path)
    assert done.returncode == 0, done.stderr
    assert 'mpi_abort(1, "MPI_Group_size is not in this library");' in done.stdout
    assert "(void)group, (void)size;" in done.stdout
    assert "MPI_ALIAS(Group_size);" in done.stdout


FRAME = """
    [group as group1; size; group has MPI_CART; group is good]
    How many processes it has.
int Comm_size(MPI_Comm comm, MPI_Info info, const int ranks[], int *size)
    [comm heard; info changes; size as room]
    How many processes it has.
int Win_sync(MPI_Win win)
    [win heard]
    Both copies agree.
int Barrier(MPI_Comm comm)
    [comm]
    All come.
int Wait(int a)
    [started]
    Waits.
"""


def test_a_frame_checks_in_the_order_of_the_list_and_says_whose_handler_hears(tmp_path: Path) -> None:
    done = made_of("frames", GOOD.replace("\n    How many processes it has.\n", FRAME), tmp_path)
    assert done.returncode == 0, done.stderr
    frames = dict(re.findall(r"#define MPI_CALL_(\w+) \\\n(.*?)\n\n", done.stdout, re.DOTALL))
    errors = {name: re.findall(r"error = (.*); \\\n", text) for name, text in frames.items()}
    assert errors["Group_size"] == [
        'check_group(group, "group1")',
        'check_output(size, "size")',
        "check_topology(group, MPI_CART)",
        "check_good(group)",
        "Group_size(group, size)",
    ]
    assert errors["Comm_size"][:3] == [
        "check_comm(comm)",
        "check_info(info, true)",
        'check_output(size, "room")',
    ]
    assert "struct mpi_comm *heard = error ? NULL : comm;" in frames["Comm_size"]
    assert 'return mpi_leave_with(heard, "MPI_Comm_size", error);' in frames["Comm_size"]
    assert 'error = mpi_return_win(heard, "MPI_Win_sync", error);' in frames["Win_sync"]
    assert 'return mpi_leave_with(NULL, "MPI_Barrier", error);' in frames["Barrier"]
    assert errors["Wait"] == ["check_started()", "Wait(a)"]
    header = made_of("header", GOOD.replace("\n    How many processes it has.\n", FRAME), tmp_path).stdout
    assert "How many processes it has." in header and "Waits." in header
    assert not re.search(r"group as group1|heard\]|\[started\]", header)


def test_each_frame_of_the_list_is_that_of_a_function_in_the_sources() -> None:
    listed = {function.name for function in bindings.read_functions(LIST) if function.checks}
    sources = [path.read_text(encoding="utf-8") for path in sorted((MPI / "src").glob("*/*.c"))]
    framed = [name for text in sources for name in re.findall(r"^MPI_CALL\((\w+)\);", text, re.MULTILINE)]
    assert len(framed) > 100 and sorted(framed) == sorted(listed)


def test_a_prototype_goes_on_until_its_parenthesis(tmp_path: Path) -> None:
    text = GOOD.replace("MPI_Group group, int", "MPI_Group group,\n    int")
    done = made_of("header", text, tmp_path)
    assert "\nint PMPI_Group_size(MPI_Group group, int *size);\n" in done.stdout
    assert "/* How many processes it has. */\nint MPI_Group_size(" in done.stdout


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (GOOD + "int Group_rank MPI_Group group, int *rank\n    Rank.\n", 4, "not a prototype"),
        (GOOD + "int Group_rank(MPI_Group group, int)\n    Rank.\n", 4, "parameter 2, 'int': expected a"),
        (GOOD + "int Group_rank(..., int *rank)\n    Rank.\n", 4, "parameter 1, '...'"),
        (GOOD + "int Group_rank()\n    Rank.\n", 4, "write Group_rank(void)"),
        (GOOD + "int Group_rank(int a, int a)\n    Rank.\n", 4, "two parameters 'a'"),
        (GOOD + "int MPI_Group_rank(int a)\n    Rank.\n", 4, "without it: Group_rank"),
        (GOOD + "int PMPI_Group_rank(int a)\n    Rank.\n", 4, "without it: Group_rank"),
        (GOOD + GOOD.split("\n", 1)[1], 4, "Group_size is there already, in line 2"),
        (GOOD + "int Group_rank(int a)\n", 4, "has no meaning; an indented line"),
        (GOOD + "int A(int a)\nint B(int a)\n    B.\n", 4, "A has no meaning"),
        (GOOD + "int A(int a,\n    int b\nint B(int a)\n    B.\n", 6, "has no `)` before this line"),
        (GOOD + "int A(int a,\n    int b\n", 6, "has no `)` before this line"),
        (GOOD + "## Groups\n", 4, "not a section: '## Groups'; such as `## Info [MPI 3.1 §9]`"),
        (GOOD.split("\n", 1)[1], 1, "comes before any section"),
        ("    Nothing.\n" + GOOD, 1, "an indented line without an entry before it"),
        (GOOD + "absent int A(int a)\n    A.\n", 4, "not a prototype: 'absent int A(int a)'"),
        (GOOD + "double A(int *a)\n    [a]\n    A.\n", 5, "A returns no error, and so has no frame"),
        (GOOD + "int A(int *a)\n    [b]\n    A.\n", 5, "A: 'b' is no check; such as `result`"),
        (GOOD + "int A(int *a)\n    [a, a]\n    A.\n", 5, "A: 'a, a' is no check"),
        (GOOD + "int A(int *a)\n    [a;\n    started]\n    A.\n", 5, "A: its checks stand in one line"),
        (GOOD + "int A(int *a)\n    [a]\n    [started]\n    A.\n", 6, "A: its checks stand in one line"),
        (GOOD + "int A(int *a)\n    [a heard]\n    A.\n", 5, "A: 'a heard': the first check's communicator"),
        (
            GOOD + "int A(int *a, MPI_Comm b)\n    [a; b heard]\n    A.\n",
            5,
            "A: 'b heard': the first check's",
        ),
        (GOOD + "int A(int a)\n    [a]\n    A.\n", 5, "A: 'a': nothing checks a int; say what it is"),
    ],
)
def test_a_line_that_does_not_read_is_named(text: str, line: int, says: str, tmp_path: Path) -> None:
    for kind in "header", "missing":
        done = made_of(kind, text, tmp_path)
        assert done.returncode == 1 and not done.stdout
        assert done.stderr.startswith(f"list.txt:{line}: ") and says in done.stderr, done.stderr
        assert done.stderr.count("\n") == 1


def test_bindings_says_how_it_is_called_and_what_it_cannot_read(tmp_path: Path) -> None:
    assert "bindings.py header functions.txt" in run(sys.executable, MPI / "bindings.py").stderr
    done = run(sys.executable, MPI / "bindings.py", "header", "nowhere.txt", cwd=tmp_path)
    assert done.returncode == 1 and done.stderr.startswith("bindings.py: nowhere.txt: ")


# ---- The library, and another one's types ----


def test_the_library_has_each_function_and_nothing_else() -> None:
    if not LIBRARY.exists():
        pytest.skip("make mpi builds the library")
    symbols = {}
    for line in run("nm", "--defined-only", "--extern-only", LIBRARY).stdout.splitlines():
        words = line.split()
        if len(words) == 3:
            symbols[words[2]] = words[1]
    names = [function.name for function in bindings.read_functions(LIST)]
    assert [name for name in names if symbols.get(f"PMPI_{name}") != "T"] == [], "PMPI_: a strong function"
    assert [name for name in names if symbols.get(f"MPI_{name}") != "W"] == [], "MPI_: a weak function"
    listed = {prefix + name for name in names for prefix in ("MPI_", "PMPI_")}
    # Fortran's: mpi_send_ is weak, too; the functions of attributes have one name.
    fortran = {name for name in symbols if re.fullmatch(r"p?mpi_(?!lite_)[a-z0-9_]+_", name)}
    strong = {name for name in fortran if symbols[name] == "T" and not name.endswith(("_fn_", "_fn_null_"))}
    assert {f"p{name}" for name in fortran if symbols[name] == "W"} == strong and len(strong) > 350
    others = {name for name in symbols if name not in listed | fortran}
    assert [name for name in sorted(others) if not name.startswith("mpi_lite_")] == []
    functions = {name for name in others if symbols[name] not in "BDR"}
    between = r"mpi_lite_(handles?|fortran|attribute)_[a-z]+|mpi_lite_sizeof"  # fortran.h
    assert [name for name in sorted(functions) if not re.fullmatch(between, name)] == [], "objects alone"


def parameter_type(parameter: str) -> str:
    """Without its name and without spaces; an array is a pointer."""
    parameter = parameter.strip()
    text, dimensions = re.subn(r"\[\s*\d*\s*\]", "", parameter)
    match = re.fullmatch(r"(.*\S)\s*\b[A-Za-z_]\w*\s*", text)
    bare = match[1] if match and match[1] != "const" else text
    inner = "".join(re.findall(r"\[\s*\d*\s*\]", parameter)[1:])
    return re.sub(r"\s+", "", bare) + ("*" + inner if dimensions else "")


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        ("const int ranks[]", "constint*"),
        ("const int *ranks", "constint*"),
        ("int ranges[][3]", "int*[3]"),
        ("char ***argv", "char***"),
        ("char **argvs[]", "char***"),
        ("MPI_Comm comm", "MPI_Comm"),
        ("void", "void"),
        ("...", "..."),
    ],
)
def test_types_compare_without_their_names(parameter: str, expected: str) -> None:
    assert parameter_type(parameter) == expected


def test_types_agree_with_mpichs_headers() -> None:
    headers = [MPICH / "mpi_proto.h", MPICH / "mpio.h"]
    if not all(header.exists() for header in headers):
        pytest.skip("Debian's libmpich-dev is not there")
    theirs: dict[str, list[str]] = {}
    for header in headers:
        text = re.sub(r"/\*.*?\*/", " ", header.read_text(encoding="utf-8"), flags=re.DOTALL)
        # MPICH's name of MPI_Request in its older functions of files.
        text = text.replace("MPIO_Request", "MPI_Request")
        for result, name, parameters in re.findall(r"^(\w+)\s+MPI_(\w+)\(([^()]*)\)", text, re.MULTILINE):
            # mpi_proto.h comes first: mpio.h has another MPI_Type_create_darray, which nothing compiles.
            theirs.setdefault(name, [result, *map(parameter_type, parameters.split(","))])
    differ, compared = {}, 0
    for function in bindings.read_functions(LIST):
        ours = [function.result, *map(parameter_type, function.parameters or ["void"])]
        compared += function.name in theirs
        if theirs.get(function.name, ours) != ours:
            differ[function.name] = (ours, theirs[function.name])
    assert differ == {}
    assert compared > 350


#: Names in MPICH's header that MPI 3.1 does not have: of MPI 4, of MPICH alone, and of Fortran.
LATER = re.compile(
    r"MPI_(\w+_c|\w+_init(_c)?|\w*[Ss]ession\w*|\w*SESSION\w*|P(send|recv)_init|Pready\w*|Parrived"
    r"|I?sendrecv\w*|Isendrecv\w*|\w+_from_groups?|Comm_idup_with_info|Info_(create_env|get_string)"
    r"|T_(event|source|cb|SOURCE|CB)\w*|T_category_get(_num)?_events|COMM_TYPE_HW\w+|ERRORS_ABORT"
    r"|ERR_(PROC_ABORTED|VALUE_TOO_LARGE)|MAX_(PSET_NAME|STRINGTAG)_LEN|\w+_FMT_\w+_SPEC|F08_\w+|F_\w+"
    r"|Status_\w*f08\w*|FILE_DEFINED|(PROTO_H_)?INCLUDED|OFFSET_TYPEDEF|T_\w+_INVALID"
    r"|CONVERSION_FN_NULL_C|STATUS|T_?|T_ERR_NOT_SUPPORTED|[A-Z_]+_T|INTEGER16)"
)


def names_of(*headers: Path) -> set[str]:
    """MPI's names in headers, without those that comments alone mention."""
    text = "".join(header.read_text(encoding="utf-8") for header in headers)
    return set(re.findall(r"\bMPI_\w+", re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)))


def test_no_name_of_mpichs_that_the_standard_has_is_missing(tmp_path: Path) -> None:
    headers = [MPICH / name for name in ("mpi.h", "mpi_proto.h", "mpio.h")]
    if not all(header.exists() for header in headers):
        pytest.skip("Debian's libmpich-dev is not there")
    functions = tmp_path / "mpi_functions.h"
    functions.write_text(bindings.header(bindings.read_functions(LIST)), encoding="utf-8")
    theirs = {name for name in names_of(*headers) if not LATER.fullmatch(name)}
    assert len(theirs) > 700
    assert sorted(theirs - names_of(MPI / "include" / "mpi.h", functions)) == []


@pytest.mark.parametrize("compiler", ["gcc", "g++"])
def test_each_constant_is_an_expression(compiler: str, tmp_path: Path) -> None:
    text = (MPI / "include" / "mpi.h").read_text(encoding="utf-8")
    names = re.findall(r"^#define (MPI_\w+)[ \t]", text, re.MULTILINE)
    assert len(names) > 300
    (tmp_path / "mpi_functions.h").write_text(
        bindings.header(bindings.read_functions(LIST)), encoding="utf-8"
    )
    source = tmp_path / ("constants.cc" if compiler == "g++" else "constants.c")
    uses = "".join(f"    (void)({name});\n" for name in names)
    source.write_text(f"#include <mpi.h>\nint main(int, char **)\n{{\n{uses}    return 0;\n}}\n")
    if compiler == "gcc":
        source.write_text(source.read_text().replace("(int, char **)", "(void)"))
    command = [compiler, "-Wall", "-Wextra", "-Werror", f"-I{tmp_path}", f"-I{MPI}/include", "-fsyntax-only"]
    done = run(*command, source)
    assert done.returncode == 0, done.stderr


# ---- The compilers ----


def test_show_prints_the_command_and_runs_nothing(tmp_path: Path) -> None:
    done = run(MPI / "tacet-mpicc", "-show", "-O2", "two words.c", "-o", "it's", cwd=tmp_path)
    words = done.stdout.split()
    assert done.returncode == 0 and done.stdout.count("\n") == 1
    assert words[0] == str(ROOT / "libc" / "tacet-cc")
    assert f"-I{MPI}/include" in words and f"-I{ROOT}/build/mpi-lite/include" in words
    assert f"-L{ROOT}/build/mpi-lite/x86_64" in words and words[-2:] == ["-lmpi", "-pthread"]
    # A shell must read the same words.
    assert "'two words.c' -o 'it'\\''s' -lmpi" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["-c", "-S", "-E", "-M", "-shared", "-fsyntax-only"])
def test_the_library_is_linked_to_programs_alone(option: str) -> None:
    done = run(MPI / "tacet-mpicc", "-show", option, "a.c")
    assert "-lmpi" not in done.stdout and f"-I{MPI}/include" in done.stdout


def test_show_alone_tells_a_configure_script_all_flags() -> None:
    done = run(MPI / "tacet-mpicc", "-show")
    assert f"-I{MPI}/include" in done.stdout and "-lmpi" in done.stdout


@pytest.mark.parametrize(
    ("compiler", "environment", "command", "library"),
    [
        ("tacet-mpicc", {"TACET_ARCH": "ppc64"}, "tacet-cc", "ppc64"),
        ("tacet-mpicc", {"TACET_MPI_LIBC": "glibc"}, "gcc", "glibc"),
        ("tacet-mpicxx", {}, "g++", "glibc"),
        ("tacet-mpicxx", {"TACET_MPI_LIBC": "glibc"}, "g++", "glibc"),
    ],
)
def test_each_kind_has_its_compiler_and_library(
    compiler: str, environment: dict[str, str], command: str, library: str
) -> None:
    done = run(MPI / compiler, "-show", "a.c", environment=environment)
    assert Path(done.stdout.split()[0]).name == command
    assert f"-L{ROOT}/build/mpi-lite/{library} " in done.stdout
    # tacet-cc adds -static itself.
    assert ("-static" in done.stdout) == (compiler == "tacet-mpicxx" and not environment)


@pytest.mark.parametrize(
    ("compiler", "environment", "says"),
    [
        ("tacet-mpicc", {"TACET_ARCH": "arm"}, "TACET_ARCH=arm: x86_64 or ppc64"),
        ("tacet-mpicc", {"TACET_MPI_LIBC": "newlib"}, "TACET_MPI_LIBC=newlib: musl or glibc"),
        ("tacet-mpicxx", {"TACET_ARCH": "ppc64"}, "the library for glibc is for x86_64 alone"),
        ("tacet-mpicc", {"TACET_ARCH": "ppc64", "TACET_MPI_LIBC": "glibc"}, "for x86_64 alone"),
    ],
)
def test_a_kind_that_there_is_not_is_refused(compiler: str, environment: dict[str, str], says: str) -> None:
    done = run(MPI / compiler, "a.c", environment=environment)
    assert done.returncode == 1 and done.stderr.startswith(f"{compiler}: ") and says in done.stderr


def test_what_has_not_been_built_is_named_with_its_make_target(tmp_path: Path) -> None:
    environment = {"TACET_BUILD": str(tmp_path), "TACET_ARCH": "ppc64"}
    done = run(MPI / "tacet-mpicc", "-c", "a.c", environment=environment)
    assert done.returncode == 1 and done.stderr == (
        f"tacet-mpicc: there is no {tmp_path}/mpi-lite/include/mpi_functions.h; "
        "make it with: make mpi ARCH=ppc64\n"
    )
    (tmp_path / "mpi-lite" / "include").mkdir(parents=True)
    (tmp_path / "mpi-lite" / "include" / "mpi_functions.h").touch()
    done = run(MPI / "tacet-mpicc", "a.c", environment=environment)
    assert done.returncode == 1 and done.stderr == (
        f"tacet-mpicc: there is no {tmp_path}/mpi-lite/ppc64/libmpi.a; make it with: make mpi ARCH=ppc64\n"
    )


def test_usage_is_said_on_request_and_without_arguments() -> None:
    asked, bare = run(MPI / "tacet-mpicc", "--help"), run(MPI / "tacet-mpicxx")
    assert asked.returncode == 0 and asked.stdout.startswith("usage: tacet-mpicc [-show]")
    assert "TACET_MPI_LIBC  musl (default), or glibc" in asked.stdout
    assert bare.returncode == 2 and bare.stderr.startswith("usage: tacet-mpicxx [-show]") and not bare.stdout


PROGRAM = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank = -1, size = -1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("rank %d of %d\\n", rank, size);
    return MPI_Finalize();
}
"""


@pytest.mark.parametrize(
    ("compiler", "environment", "library"),
    [
        ("tacet-mpicc", {}, "x86_64"),
        ("tacet-mpicc", {"TACET_MPI_LIBC": "glibc"}, "glibc"),
        ("tacet-mpicxx", {}, "glibc"),
        ("tacet-mpicxx", {"TACET_MPI_LIBC": "glibc"}, "glibc"),
    ],
)
def test_a_program_compiles_and_runs_alone(
    compiler: str, environment: dict[str, str], library: str, tmp_path: Path
) -> None:
    if not (ROOT / "build" / "mpi-lite" / library / "libmpi.a").exists():
        pytest.skip("make mpi builds the library")
    source = tmp_path / ("hello.cc" if compiler == "tacet-mpicxx" else "hello.c")
    source.write_text(PROGRAM)
    done = run(MPI / compiler, "-Wall", "-Werror", "-o", tmp_path / "hello", source, environment=environment)
    assert done.returncode == 0, done.stderr
    done = run(tmp_path / "hello")
    assert (done.returncode, done.stdout) == (0, "rank 0 of 1\n"), done.stderr
