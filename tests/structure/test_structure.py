# SPDX-License-Identifier: BSD-2-Clause
"""The tree keeps to its plan (structure.py), and the check finds what breaks it.

The second half breaks the plan on purpose: real C, compiled and read by `nm`, in a tree of the test's own.
"""

from __future__ import annotations

import functools
import re
import subprocess
from pathlib import Path

import clocks
import pytest
import structure
from structure import BANS, Contract, Objects

from tests import budget
from tests.making import made

#: The objects' symbols are read once.
pytestmark = pytest.mark.xdist_group("structure")

ROOT = Path(__file__).resolve().parent.parent.parent
ARCHITECTURES = ("x86_64", "ppc64")

#: The MPI library's rooms.
LIBRARY = "apps/mpi-lite/src/"

#: Files that hold one idea each, and text that people read or write.
TEXT = (".c", ".h", ".asm", ".inc", ".def", ".ld", ".py", ".cpp", ".hpp", ".md", ".mk", ".sh")
#: Data of other tools, in the form in which they write it.
DATA = "tests/data/"
ARCH_H = (ROOT / "kernel" / "arch.h").read_text(encoding="utf-8")


def tracked() -> list[str]:
    listing = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [path for path in listing.splitlines() if (ROOT / path).is_file()]


def page(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def texts(*prefixes: str, suffixes: tuple[str, ...] = (".c", ".h", ".def", ".cpp", ".hpp")) -> dict[str, str]:
    return {path: page(path) for path in tracked() if path.startswith(prefixes) and path.endswith(suffixes)}


@functools.cache
def objects_of(arch: str) -> Objects:
    made(f"ARCH={arch}", "kernel")
    return Objects.read(ROOT / "build" / arch / "kernel", ROOT)


@functools.cache
def library_of(arch: str) -> Objects:
    made(f"ARCH={arch}", f"build/mpi-lite/{arch}/libmpi.a")
    made_of = ROOT / "build" / "mpi-lite"
    objects = Objects.read(made_of / arch, ROOT / LIBRARY, made_of / "made")
    # Both forms of a function's name, weak and strong, are defined by the one object.
    assert objects.defined["MPI_Send"] == objects.defined["PMPI_Send"]
    return objects


#: POWER's library is compiled of the same sources, for long tests alone.
@pytest.fixture(scope="module", params=["x86_64", pytest.param("ppc64", marks=pytest.mark.long)])
def library(request: pytest.FixtureRequest) -> Objects:
    """The MPI library's objects, of each architecture."""
    return library_of(request.param)


def accept(complaints: list[str]) -> None:
    """Fails with one complaint a line."""
    assert not complaints, "\n" + "\n".join(complaints)


# ---- The tree ----


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_no_use_runs_up_or_past_the_contract(arch: str) -> None:
    accept(structure.check_symbols(objects_of(arch), Contract.read(ARCH_H)))


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_an_architecture_provides_all_of_the_contract(arch: str) -> None:
    accept(structure.check_provided(objects_of(arch), ARCH_H))


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_what_architectures_have_in_common_is_all_used_by_each(arch: str) -> None:
    # What lies deeper, the vDSO's, is a file of its own, and no object of the kernel's.
    common = {path for path in tracked() if re.fullmatch(r"arch/common/[^/]+\.c", path)}
    used = {definer for _, definer, _ in objects_of(arch).uses() if definer.startswith("arch/common/")}
    assert used == common


def test_no_include_runs_up_or_past_the_contract() -> None:
    accept(structure.check_includes(texts("kernel/", "drivers/")))


def test_no_use_of_the_mpi_library_runs_up(library: Objects) -> None:
    accept(structure.check_library_symbols(library, structure.MPI_ROOMS))


def test_objects_of_the_mpi_library_use_each_other_in_no_circle_but_the_named(library: Objects) -> None:
    accept(structure.check_circles(library, structure.MPI_CIRCLES, structure.MPI_CIRCLE_MAX))


def test_no_include_of_the_mpi_library_runs_up() -> None:
    sources = {path.removeprefix(LIBRARY): text for path, text in texts(LIBRARY).items()}
    accept(structure.check_library_includes(sources, structure.MPI_ROOMS))
    assert {path.split("/")[0] for path in sources} == set(structure.MPI_ROOMS)


def test_the_page_and_the_header_have_the_rooms_of_the_mpi_library_in_their_order() -> None:
    section = re.search(r"^#+ Rooms of mpi-lite\n(.*?)(?=^#+ |\Z)", page("docs/architecture.md"), re.M | re.S)
    assert section
    assert tuple(re.findall(r"^\| `(\w+)/` ", section[1], re.M)) == structure.MPI_ROOMS
    header = (ROOT / LIBRARY / "base" / "base.h").read_text(encoding="utf-8")
    assert tuple(re.findall(r"^ \*   (\w+)  +\w", header, re.M)) == structure.MPI_ROOMS


@pytest.mark.parametrize("ban", BANS.values(), ids=BANS)
def test_no_source_contains_what_is_banned(ban: structure.Ban) -> None:
    accept(structure.check_ban(ban, texts(*ban.folders)))


def test_every_hook_stands_in_the_table() -> None:
    accept(structure.check_hooks(texts("kernel/"), page("docs/architecture.md")))
    accept(structure.check_hooks(texts(LIBRARY), page("docs/architecture.md"), "Hooks of mpi-lite"))


def test_the_accounting_word_changes_in_one_piece() -> None:
    """Other CPUs read it meanwhile (kernel_ticks of frame.inc)."""
    made("kernel")
    kernel = ROOT / "build" / "x86_64" / "tacet.elf"
    listing = subprocess.run(["objdump", "-d", kernel], capture_output=True, text=True, check=True).stdout
    assert len(re.findall(r"\s(?:sub|add) +%rax,%gs:", listing)) == 7
    assert not re.findall(r"\s(?:sub|add|sbb|adc) +%e[ad]x,%gs:", listing)


def test_every_folder_of_the_kernel_is_a_room() -> None:
    folders = {str(Path(path).parent) for path in tracked() if path.startswith("kernel/")} - {"kernel"}
    assert folders == {f"kernel/{room}" for room in structure.ROOMS}


def test_no_file_is_longer_than_a_reader_can_hold() -> None:
    sources = texts("", suffixes=tuple(suffix for suffix in TEXT if suffix != ".md"))
    # A test in C holds its model and all its promises.
    models = [path for path in sources if path.startswith("tests/") and not path.endswith(".py")]
    accept(structure.check_lines({path: text for path, text in sources.items() if path not in models}))


def test_no_line_is_wider_than_a_page() -> None:
    sources = {path: text for path, text in texts("", suffixes=TEXT).items() if not path.startswith(DATA)}
    accept(structure.check_columns({**sources, "Makefile": page("Makefile")}))


def test_no_assertion_bounds_the_host_s_time_from_above() -> None:
    accept(clocks.check(texts("tests/", suffixes=(".py",))))


@pytest.mark.parametrize("stage", budget.STAGE_CPU_S)
def test_the_short_tests_fit_their_stage(stage: str) -> None:
    assert budget.of_all().short_cpu_s(stage) <= budget.STAGE_CPU_S[stage]


def test_the_map_of_the_tests_names_what_is_there() -> None:
    stems = {Path(path).stem for path in tracked() if path.startswith("tests/")}
    rows = [line.split("|") for line in page("tests/README.md").splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`(\w+)`", "|".join(row[2:]))} <= stems
    rooms = {f"kernel/{room}/" for room in structure.ROOMS}
    assert rooms <= {name for row in rows for name in re.findall(r"`([^`]+)`", row[1])}


def test_the_page_of_security_names_tests_that_are_there() -> None:
    security = page("docs/security.md")
    named = set(re.findall(r"`((?:test|fuzz)_\w+)`", security))
    sources = texts("tests/", suffixes=(".py",)).values()
    there = {name for text in sources for name in re.findall(r"^def (test_\w+)", text, re.M)}
    there |= {Path(path).stem for path in tracked() if path.startswith("tests/fuzz/")}
    assert len(named) > 15 and named <= there, named - there
    rows = [line.split("|") for line in security.splitlines() if re.match(r"\|(?!.*---)", line)]
    accept(
        [f"{row[1].strip()}: by which test?" for row in rows if "**No**" not in row[2] and not row[3].strip()]
    )


# ---- The check ----


def tree_of(folder: Path, sources: dict[str, str]) -> Objects:
    """Compiles sources into objects as the Makefile does, and reads them."""
    for path, text in sources.items():
        source, target = folder / path, folder / "objects" / Path(path).with_suffix(".o")
        source.parent.mkdir(parents=True, exist_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(text, encoding="utf-8")
        subprocess.run(["gcc", "-c", "-o", target, source], check=True)
    return Objects.read(folder / "objects", folder)


def function(name: str, *called: str) -> str:
    """A function in C that calls others."""
    calls = " ".join(f"{one}();" for one in called)
    return "".join(f"void {one}(void); " for one in called) + f"void {name}(void) {{ {calls} }}\n"


def test_a_use_that_breaks_the_plan_is_named_with_both_files(tmp_path: Path) -> None:
    """Each allowed use passes: downwards, of the contract, and by an architecture of what the contract
    lists."""
    sources = {
        "kernel/init/main.c": function("kernel_start", "thread_wake"),
        "kernel/process/thread.c": function("thread_wake", "vm_map"),
        "kernel/mm/vm.c": function("vm_map", "thread_wake", "cr3_write", "arch_halt"),
        "kernel/fs/file.c": function("file_open", "proc_add"),
        "kernel/fs/proc/proc.c": function("proc_add", "file_open"),
        "kernel/debug/console.c": function("print", "uart_put"),
        "drivers/uart/uart.c": function("uart_put", "thread_wake", "print"),
        "arch/x86_64/trap.c": function("arch_halt", "vm_map", "kernel_start", "uart_put"),
        "arch/x86_64/page_table.c": function("cr3_write"),
    }
    contract = Contract.read(
        "/*\n *   call-up: kernel_start\n *   call-up: gone\n */\nvoid arch_halt(void);\n"
    )
    objects = tree_of(tmp_path, sources)
    thread, vm = "thread_wake of kernel/process/thread.c", "kernel/mm/vm.c"
    assert structure.check_symbols(objects, contract) == [
        f"arch/x86_64/trap.c uses vm_map of {vm}: kernel/arch.h does not list it as call-up",
        f"drivers/uart/uart.c uses {thread}: a driver may use debug, smp, lib",
        "kernel/debug/console.c uses uart_put of drivers/uart/uart.c: the kernel knows no driver; an "
        "architecture registers them",
        "kernel/fs/file.c uses proc_add of kernel/fs/proc/proc.c: fs/ is below fs/proc/",
        f"{vm} uses cr3_write of arch/x86_64/page_table.c: kernel/arch.h does not name it",
        f"{vm} uses {thread}: mm/ is below process/",
        "kernel/arch.h lists gone as call-up, and no object defines it",
    ]
    header = "_Noreturn void arch_halt(void);\nstruct x *arch_counters(unsigned cpu);\n"
    assert structure.check_provided(objects, header) == [
        "kernel/arch.h declares arch_counters, and no object of arch/ defines it"
    ]


def test_a_use_of_the_mpi_library_that_runs_up_is_named(tmp_path: Path) -> None:
    sources = {
        "message/message.c": "void window_arrived(void); void message(void) { window_arrived(); }\n",
        "window/window.c": "void message(void); void window_arrived(void) { message(); }\n",
    }
    objects = tree_of(tmp_path, sources)
    assert structure.check_library_symbols(objects, structure.MPI_ROOMS) == [
        "message/message.c uses window_arrived of window/window.c: message/ is below window/"
    ]
    includes = {"base/a.c": '#include "mpi.h"\n#include "b.h"\n#include "type/c.h"\n', "type/c.h": ""}
    assert structure.check_library_includes(includes, structure.MPI_ROOMS) == [
        "base/a.c includes b.h: an include names its room, and there is no b.h",
        "base/a.c includes type/c.h: base/ is below type/",
    ]
    with pytest.raises(ValueError, match="a.c stands in no room"):
        structure.check_library_includes({"a.c": '#include "mpi.h"\n'}, structure.MPI_ROOMS)


def test_a_circle_of_objects_must_be_named_with_its_reason_and_be_small(tmp_path: Path) -> None:
    sources = {
        "base/a.c": "void b(void); void a(void) { b(); }\n",
        "base/b.c": "void c(void); void b(void) { c(); }\n",
        "base/c.c": "void a(void); void c(void) { a(); }\n",
        "base/d.c": "void a(void); void d(void) { a(); }\n",
    }
    objects = tree_of(tmp_path, sources)
    named = {("base", "a b c"): "they are"}
    assert structure.check_circles(objects, named, 3) == []
    assert structure.check_circles(objects, {}, 3) == [
        "a b c of base/ use each other: cut the circle, or name it and why"
    ]
    assert structure.check_circles(objects, named, 2) == [
        "a b c of base/ use each other: 3 objects, more than 2"
    ]
    assert structure.check_circles(objects, named | {("base", "a d"): "they were"}, 3) == [
        "a d of base/ are no circle: it is not to be named"
    ]


@pytest.mark.parametrize(
    ("path", "include", "complaint"),
    [
        ("kernel/mm/vm.c", "process/thread.h", "mm/ is below process/"),
        ("kernel/mm/vm.c", "thread.h", "an include names its room, and there is no kernel/thread.h"),
        ("kernel/mm/vm.c", "arch/cpu.h", "of an architecture only"),
        ("kernel/mm/vm.c", "drivers/uart/uart.h", "the kernel knows no driver"),
        ("kernel/arch.h", "drivers/uart/uart.h", "the kernel knows no driver"),
        ("kernel/mm/vm.c", "lwip/tcp.h", "net/ alone knows the stack"),
        ("drivers/uart/uart.c", "process/thread.h", "a driver may use"),
        ("drivers/uart/uart.c", "arch/cpu.h", "of an architecture only"),
        ("kernel/mm/vm.c", "lib/errno.h", ""),
        ("kernel/mm/vm.c", "arch.h", ""),
        ("kernel/mm/vm.c", "arch/platform.h", ""),
        ("kernel/mm/vm.c", "tacet.h", ""),
        ("kernel/net/stream.c", "lwip/tcp.h", ""),
        ("drivers/uart/uart.c", "net/device.h", ""),
    ],
)
def test_an_include_that_breaks_the_plan_is_named(path: str, include: str, complaint: str) -> None:
    headers = ("process/thread.h", "lib/errno.h", "net/device.h")
    sources = {path: f'#include "{include}"\n', **{f"kernel/{name}": "" for name in headers}}
    found = structure.check_includes(sources)
    assert [one.startswith(f"{path} includes {include}: {complaint}") for one in found] == [True] * bool(
        complaint
    )


def test_a_folder_that_is_no_room_is_refused() -> None:
    with pytest.raises(ValueError, match="kernel/misc/x.c: misc is no room"):
        structure.place_of("kernel/misc/x.c")


def test_a_hook_must_be_in_the_table_and_a_row_must_have_a_hook() -> None:
    header = (
        "struct device {\n    const char *name;\n    void (*arm)(int when); /* (comment */\n};\n"
        "void each(void (*parameter)(int), int count);\nextern void (*ended)(void);\n"
        "void f(void)\n{\n    int (*local)(int, int) =\n        choose(1);\n}\n"
    )
    table = "# Hooks\n\n| hook | called by |\n|---|---|\n| `arm` | time |\n| `gone` | time |\n\n# More\n"
    assert structure.check_hooks({"kernel/time/device.h": header}, table) == [
        "kernel/time/device.h calls through ended: docs/architecture.md, Hooks, does not have it",
        "docs/architecture.md, Hooks, has gone, and no source does",
    ]


@pytest.mark.parametrize(
    ("ban", "fine", "found"),
    [
        ("architecture", "/* #ifdef __x86_64__ */", "#ifdef __x86_64__"),
        ("architecture", "__attribute__((unused))", "__attribute__((weak"),
        ("page size", "/* 4095 in words is fine */ x = 4096;", "& 4095"),
        ("16 bits", "a = size_16(b); /* (u16_t)d */ uint16_t x(uint16_t);", "(u16_t)("),
        ("words", 'int almost, mostly; /* told */ const char *s = "told you";', "waiters_told"),
    ],
)
def test_what_is_banned_is_named_with_its_line(ban: str, fine: str, found: str) -> None:
    text = f"{fine}\n{found} + 1);\n"
    complaint = f"kernel/net/a.c:2: {found}: {BANS[ban].reason}"
    assert structure.check_ban(BANS[ban], {"kernel/net/a.c": text, BANS[ban].but_in: text}) == [complaint]


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("assert time.monotonic() - begun < 5", True),
        ("assert 1 <= (time.time() - begun) * 1000 <= 5", True),
        ("assert time.monotonic() <= end", True),
        ("took = time.perf_counter() - begun; assert 5 > took", True),
        ("assert took_of() < 4", True),
        ("assert time.monotonic() - begun > 5", False),
        ("while work(): assert time.monotonic() < end", False),
        ("assert guest_ns() - begun_ns < 5", False),
        ("assert time.process_time() - cpu < 5", False),
    ],
)
def test_an_upper_bound_on_the_host_s_time_is_named(line: str, named: bool) -> None:
    text = (
        "import time\ndef took_of():\n    begun = time.time()\n    return time.time() - begun\n"
        "def test_a():\n    begun = time.monotonic()\n    end = begun + 5\n"
        "    cpu = time.process_time()\n    "
    )
    assert clocks.upper_bounds(text + line) == ([9] if named else [])


def test_long_files_and_wide_lines_are_named() -> None:
    assert structure.check_lines({"a.c": "x\n" * 700, "b.c": "x\n" * 701}) == [
        "b.c has 701 lines; a file holds one idea and at most 700"
    ]
    wide = "word " * 22 + "end"
    text = f"{wide}\n| {wide} |\n```\n{wide}\n```\nhttps://example.org/{'x' * 120}\n"
    assert structure.check_columns({"a.md": text, "b.c": f"\n{wide}\n"}) == [
        "a.md:1 is wider than 110 columns",
        "b.c:2 is wider than 110 columns",
    ]
