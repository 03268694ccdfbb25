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
from structure import Contract, Objects

from tests import budget
from tests.making import made

#: The objects' symbols are read once.
pytestmark = pytest.mark.xdist_group("structure")

ROOT = Path(__file__).resolve().parent.parent.parent
ARCHITECTURES = ("x86_64", "ppc64")

#: Files that hold one idea each, and text that people read or write.
TEXT = (".c", ".h", ".asm", ".inc", ".def", ".ld", ".py", ".cpp", ".hpp", ".md", ".mk", ".sh")
#: Data of other tools, in the form in which they write it.
DATA = ("tests/data/",)


def tracked() -> list[str]:
    listing = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [path for path in listing.splitlines() if (ROOT / path).is_file()]


def texts(*prefixes: str, suffixes: tuple[str, ...] = (".c", ".h", ".def", ".asm")) -> dict[str, str]:
    return {
        path: (ROOT / path).read_text(encoding="utf-8")
        for path in tracked()
        if path.startswith(prefixes) and path.endswith(suffixes)
    }


@functools.cache
def objects_of(arch: str) -> Objects:
    made(f"ARCH={arch}", "kernel")
    return Objects.read(ROOT / "build" / arch / "kernel", ROOT)


@pytest.fixture(scope="module", params=ARCHITECTURES)
def objects(request: pytest.FixtureRequest) -> Objects:
    """The kernel's objects, of each architecture."""
    return objects_of(request.param)


@pytest.fixture(scope="module")
def contract() -> Contract:
    return Contract.read((ROOT / "kernel" / "arch.h").read_text(encoding="utf-8"))


# ---- The tree ----


def accept(complaints: list[str]) -> None:
    """Fails with one complaint a line."""
    assert not complaints, "\n" + "\n".join(complaints)


def test_no_use_runs_up_or_past_the_contract(objects: Objects, contract: Contract) -> None:
    accept(structure.check_symbols(objects, contract))


def test_an_architecture_provides_all_of_the_contract(objects: Objects) -> None:
    accept(structure.check_provided(objects, (ROOT / "kernel" / "arch.h").read_text(encoding="utf-8")))


def test_what_architectures_have_in_common_is_all_used_by_each() -> None:
    # What lies deeper, the vDSO's, is a file of its own, and no object of the kernel's.
    common = {path for path in tracked() if re.fullmatch(r"arch/common/[^/]+\.c", path)}
    for arch in ARCHITECTURES:
        used = {definer for _, definer, _ in objects_of(arch).uses() if definer.startswith("arch/common/")}
        assert used == common, arch


def test_rooms_use_each_other_in_no_circle(objects: Objects) -> None:
    accept(structure.room_circles(objects))


def test_no_include_runs_up_or_past_the_contract() -> None:
    accept(structure.check_includes(texts("kernel/", "drivers/")))


def test_nothing_outside_arch_knows_an_architecture() -> None:
    accept(structure.check_architecture_names(texts("kernel/", "drivers/")))


def test_nothing_outside_arch_knows_how_large_a_page_is() -> None:
    accept(structure.check_page_numbers(texts("kernel/", "drivers/")))


def test_nothing_in_the_network_cuts_a_number_to_16_bits() -> None:
    accept(structure.check_cuts(texts("kernel/ninep/", "kernel/net/", "ports/lwip/")))


def test_every_hook_stands_in_the_table() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    accept(structure.check_hooks(texts("kernel/"), page))


def test_the_accounting_word_changes_in_one_piece() -> None:
    """Other CPUs read it meanwhile (kernel_ticks of frame.inc)."""
    kernel = ROOT / "build" / "x86_64" / "tacet.elf"
    listing = subprocess.run(["objdump", "-d", kernel], capture_output=True, text=True, check=True).stdout
    assert len(re.findall(r"\s(?:sub|add) +%rax,%gs:", listing)) == 7
    assert not re.findall(r"\s(?:sub|add|sbb|adc) +%e[ad]x,%gs:", listing)


def test_identifiers_are_the_field_s_words() -> None:
    sources = texts(
        "kernel/", "arch/", "drivers/", "apps/", "simulator/", suffixes=(".c", ".h", ".cpp", ".hpp")
    )
    accept(structure.check_words(sources))


def test_every_folder_of_the_kernel_is_a_room() -> None:
    folders = {str(Path(path).parent) for path in tracked() if path.startswith("kernel/")} - {"kernel"}
    assert folders == {f"kernel/{room}" for room in structure.ROOMS}


def test_no_file_is_longer_than_a_reader_can_hold() -> None:
    code = tuple(suffix for suffix in TEXT if suffix != ".md")
    sources = texts("", suffixes=code)
    # A test of a header holds its model and all its promises.
    accept(
        structure.check_lines({path: text for path, text in sources.items() if not path.startswith("tests/")})
    )


def test_no_line_is_wider_than_a_page() -> None:
    sources = {path: text for path, text in texts("", suffixes=TEXT).items() if not path.startswith(DATA)}
    sources |= {path: (ROOT / path).read_text(encoding="utf-8") for path in ("Makefile",)}
    accept(structure.check_columns(sources))


def test_no_assertion_bounds_the_host_s_time_from_above() -> None:
    accept(clocks.check(texts("tests/", suffixes=(".py",))))


@pytest.mark.parametrize("stage", budget.STAGE_CPU_S)
def test_the_short_tests_fit_their_stage(stage: str) -> None:
    assert budget.of_all().short_cpu_s(stage) <= budget.STAGE_CPU_S[stage]


def test_the_map_of_the_tests_names_what_is_there() -> None:
    page = (ROOT / "tests" / "README.md").read_text(encoding="utf-8")
    stems = {Path(path).stem for path in tracked() if path.startswith("tests/")}
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| `")]
    names = {name for row in rows for cell in row[2:] for name in re.findall(r"`(\w+)`", cell)}
    assert names - stems == set()
    rooms = {f"kernel/{room}/" for room in structure.ROOMS}
    assert rooms <= {name for row in rows for name in re.findall(r"`([^`]+)`", row[1])}


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


MADE_CONTRACT = Contract.read("/*\n *   call-up: kernel_start\n */\nvoid arch_halt(void);\n")

START = {"kernel/init/main.c": "void kernel_start(void) {}\n"}


@pytest.mark.parametrize(
    ("sources", "complaint"),
    [
        (
            {
                "kernel/mm/vm.c": "void thread_wake(void); void vm_map(void) { thread_wake(); }\n",
                "kernel/process/thread.c": "void thread_wake(void) {}\n",
            },
            "kernel/mm/vm.c uses thread_wake of kernel/process/thread.c: mm/ is below process/",
        ),
        (
            {
                "kernel/fs/file.c": "void proc_add(void); void file_open(void) { proc_add(); }\n",
                "kernel/fs/proc/proc.c": "void proc_add(void) {}\n",
            },
            "kernel/fs/file.c uses proc_add of kernel/fs/proc/proc.c: fs/ is below fs/proc/",
        ),
        (
            {
                "kernel/mm/vm.c": "void cr3_write(void); void vm_map(void) { cr3_write(); }\n",
                "arch/x86_64/page_table.c": "void cr3_write(void) {}\n",
            },
            "kernel/mm/vm.c uses cr3_write of arch/x86_64/page_table.c: kernel/arch.h does not name it",
        ),
        (
            {
                "kernel/mm/vm.c": "void vm_map(void) {}\n",
                "arch/x86_64/trap.c": "void vm_map(void); void trap(void) { vm_map(); }\n",
            },
            "arch/x86_64/trap.c uses vm_map of kernel/mm/vm.c: kernel/arch.h does not list it as call-up",
        ),
        (
            {
                "kernel/debug/console.c": "void uart_put(void); void print(void) { uart_put(); }\n",
                "drivers/uart/uart.c": "void uart_put(void) {}\n",
            },
            "kernel/debug/console.c uses uart_put of drivers/uart/uart.c: the kernel knows no driver; an "
            "architecture registers them",
        ),
        (
            {
                "kernel/process/thread.c": "void thread_wake(void) {}\n",
                "drivers/uart/uart.c": "void thread_wake(void); void uart_put(void) { thread_wake(); }\n",
            },
            "drivers/uart/uart.c uses thread_wake of kernel/process/thread.c: a driver may use "
            "debug, smp, lib",
        ),
    ],
)
def test_a_use_that_breaks_the_plan_is_named_with_both_files(
    sources: dict[str, str], complaint: str, tmp_path: Path
) -> None:
    objects = tree_of(tmp_path, START | sources)
    assert structure.check_symbols(objects, MADE_CONTRACT) == [complaint]


def test_a_plan_that_is_kept_has_no_complaints(tmp_path: Path) -> None:
    sources = START | {
        "kernel/mm/vm.c": "void arch_halt(void); void vm_map(void) { arch_halt(); }\n",
        "kernel/process/thread.c": "void vm_map(void); void thread_wake(void) { vm_map(); }\n",
        "arch/x86_64/start.c": "void kernel_start(void); void arch_halt(void) { kernel_start(); }\n",
    }
    assert structure.check_symbols(tree_of(tmp_path, sources), MADE_CONTRACT) == []


def test_a_call_up_that_is_nowhere_is_named(tmp_path: Path) -> None:
    objects = tree_of(tmp_path, {"kernel/lib/string.c": "void copy(void) {}\n"})
    complaint = "kernel/arch.h lists kernel_start as call-up, and no object defines it"
    assert structure.check_symbols(objects, MADE_CONTRACT) == [complaint]


def test_a_circle_of_rooms_is_shown_with_its_way(tmp_path: Path) -> None:
    sources = {
        "kernel/mm/a.c": "void b(void); void a(void) { b(); }\n",
        "kernel/lib/b.c": "void c(void); void b(void) { c(); }\n",
        "kernel/smp/c.c": "void a(void); void c(void) { a(); }\n",
    }
    found = structure.room_circles(tree_of(tmp_path, sources))
    assert found and found[0] == "mm/ and lib/ use each other, through lib -> smp -> mm"


@pytest.mark.parametrize(
    ("path", "include", "complaint"),
    [
        ("kernel/mm/vm.c", "process/thread.h", "mm/ is below process/"),
        ("kernel/mm/vm.c", "thread.h", "an include names its room"),
        ("kernel/mm/vm.c", "arch/cpu.h", "of an architecture only"),
        ("kernel/mm/vm.c", "drivers/uart/uart.h", "the kernel knows no driver"),
        ("drivers/uart/uart.c", "process/thread.h", "a driver may use"),
        ("drivers/uart/uart.c", "arch/cpu.h", "of an architecture only"),
    ],
)
def test_an_include_that_breaks_the_plan_is_named(path: str, include: str, complaint: str) -> None:
    sources = {path: f'#include "{include}"\n', "kernel/process/thread.h": "", "drivers/uart/uart.h": ""}
    (found,) = structure.check_includes(sources)
    assert found.startswith(f"{path} includes {include}: ") and complaint in found


def test_includes_downwards_and_of_the_contract_are_fine() -> None:
    text = '#include "lib/errno.h"\n#include "arch.h"\n#include "arch/platform.h"\n#include "tacet.h"\n'
    assert structure.check_includes({"kernel/mm/vm.c": text, "kernel/lib/errno.h": ""}) == []


def test_a_folder_that_is_no_room_is_refused() -> None:
    with pytest.raises(ValueError, match="kernel/misc/x.c: misc is no room"):
        structure.place_of("kernel/misc/x.c")


def test_a_hook_must_be_in_the_table_and_a_row_must_have_a_hook() -> None:
    header = (
        "struct device {\n    const char *name;\n    void (*arm)(int when); /* (comment */\n};\n"
        "void each(void (*parameter)(int), int count);\nextern void (*ended)(void);\n"
        "void f(void)\n{\n    int (*local)(int, int) =\n        choose(1);\n}\n"
    )
    assert structure.function_pointers(header) == {"arm", "ended"}
    page = "# Hooks\n\n| hook | called by |\n|---|---|\n| `arm` | time |\n| `gone` | time |\n\n# More\n"
    assert structure.check_hooks({"kernel/time/device.h": header}, page) == [
        "kernel/time/device.h calls through ended: docs/architecture.md, Hooks, does not have it",
        "docs/architecture.md, Hooks, has gone, and no source does",
    ]


def test_a_source_that_asks_for_its_architecture_is_named() -> None:
    text = "/* #ifdef __x86_64__ in words is fine */\n#ifdef __x86_64__\n#endif\n"
    (found,) = structure.check_architecture_names({"kernel/mm/vm.c": text})
    assert found.startswith("kernel/mm/vm.c:2: #ifdef __x86_64__")


def test_a_source_that_knows_a_page_s_size_is_named() -> None:
    text = "/* 4095 in words is fine */\nunsigned long last = address & 4095;\n"
    assert structure.check_page_numbers({"kernel/mm/vm.c": text}) == [
        "kernel/mm/vm.c:2: & 4095: pages are ARCH_PAGE, ARCH_LARGE_PAGE, ARCH_HUGE_PAGE"
    ]


def test_a_cast_that_cuts_a_size_is_named() -> None:
    text = "a = size_16(b);\nb = (u16_t)(c + 28); /* (u16_t)d */\nuint16_t x(uint16_t);\n"
    assert structure.check_cuts({"kernel/net/a.c": text, "kernel/net/size.c": text}) == [
        "kernel/net/a.c:2: a cast to 16 bits: use size_16 (net/size.h)"
    ]


def test_a_function_of_the_contract_that_is_nowhere_is_named(tmp_path: Path) -> None:
    sources = {"arch/ppc64/power.c": "void arch_halt(void) {}\n"}
    header = "_Noreturn void arch_halt(void);\nstruct x *arch_counters(unsigned cpu);\n"
    complaint = "kernel/arch.h declares arch_counters, and no object of arch/ defines it"
    assert structure.check_provided(tree_of(tmp_path, sources), header) == [complaint]


def test_an_identifier_of_another_language_is_named() -> None:
    text = 'int waiters_told; /* told */ int almost, mostly; const char *s = "told you";\n'
    assert structure.check_words({"kernel/mm/vm.c": text}) == [
        "kernel/mm/vm.c has waiters_told: see the words of docs/glossary.md"
    ]


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
    page = f"{wide}\n| {wide} |\n```\n{wide}\n```\nhttps://example.org/{'x' * 120}\n"
    assert structure.check_columns({"a.md": page, "b.c": f"\n{wide}\n"}) == [
        "a.md:1 is wider than 110 columns",
        "b.c:2 is wider than 110 columns",
    ]


def test_the_page_of_security_names_tests_that_are_there() -> None:
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:test|fuzz)_\w+)`", page))
    sources = texts("tests/", suffixes=(".py",)).values()
    there = {name for text in sources for name in re.findall(r"^def (test_\w+)", text, re.M)}
    there |= {Path(path).stem for path in tracked() if path.startswith("tests/fuzz/")}
    accept([f"docs/security.md names {name}, which is no test" for name in sorted(named - there)])
    cells = [line.split("|") for line in page.splitlines() if line.startswith("|") and "---" not in line]
    claims = [row for row in cells if "**No**" not in row[2] and row[3].strip() != "tried by"]
    accept([f"docs/security.md: {row[1].strip()}: by which test?" for row in claims if not row[3].strip()])
    assert len(named) > 15
