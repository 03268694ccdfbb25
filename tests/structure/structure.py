# SPDX-License-Identifier: BSD-2-Clause
"""The plan of the tree, as a check: which room of the kernel may use which, and what an architecture may.

The rules stand in docs/architecture.md, "Rooms"; this file reads them from where they are written:

* `ROOMS` below, top to bottom: a file uses, by symbol or by include, its own room and those below it.
* `kernel/arch.h`: what the kernel and the drivers may use of an architecture (what is declared there, and its
  lines ` *   provides-inline: name …`), and what an architecture may use of the kernel (` *   call-up: …`).
* docs/architecture.md, "Hooks": every function pointer through which a room calls what it does not know.

Every check answers a list of complaints; an empty list is a pass. Facts come from two places: includes from
the sources, uses from the symbol tables of the linked objects (`nm`), so that no declaration can hide a use.
"""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

#: The rooms of kernel/, from the one that may use all others to the one that may use none.
ROOMS = (
    *("init", "launch", "syscall", "ninep", "net", "fs/proc", "fs", "fs/tree"),
    *("process", "beat", "time", "mm", "debug", "smp", "lib"),
)

#: What drivers may use of the kernel, and single headers beside it.
ROOMS_OF_DRIVERS = ("debug", "smp", "lib")
HEADERS_OF_DRIVERS = ("net/device.h",)

#: Headers of an architecture that belong to the contract: its inline half.
CONTRACT_HEADERS = ("arch/platform.h", "arch/linux_abi.h", "arch/io.h")

LINES_MAX = 700
COLUMNS_MAX = 110

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
NAME = re.compile(r"[A-Za-z_]\w*")


def without_comments(text: str) -> str:
    """C without its comments; line ends stay."""
    return COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def place_of(path: str) -> str:
    """Where a source stands: a room of the kernel, "kernel", "arch", or "drivers"."""
    parts = path.split("/")
    if parts[0] != "kernel":
        return parts[0]
    folder = "/".join(parts[1:-1])
    if folder and folder not in ROOMS:
        raise ValueError(f"{path}: {folder} is no room of kernel/; the rooms are {', '.join(ROOMS)}")
    return folder or "kernel"


def is_upward(user: str, used: str) -> bool:
    """Whether a room of the kernel uses one that is above it."""
    return ROOMS.index(used) < ROOMS.index(user)


# ---- Symbols ----


@dataclass
class Objects:
    """Who defines and who uses which symbol, by the source's path."""

    defined: dict[str, str] = field(default_factory=dict)
    used: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def read(cls, folder: Path, tree: Path) -> Objects:
        """From the object files below `folder`, which mirrors the tree; those whose source is gone do not
        count."""

        def source_of(path: Path) -> str:
            name = str(path.relative_to(folder).with_suffix(""))
            return name if name.endswith((".asm", ".S")) else name + ".c"

        found = cls()
        paths = sorted(folder.rglob("*.o"))
        if not paths:
            raise FileNotFoundError(f"no object files below {folder}: make kernel")
        listing = subprocess.run(["nm", "-A", *paths], capture_output=True, text=True, check=True).stdout
        there = {source: (tree / source).exists() for source in map(source_of, paths)}
        for line in listing.splitlines():
            path, _, symbol = line.partition(".o:")
            source = source_of(Path(f"{path}.o"))
            *_, kind, name = symbol.split()
            if not there[source]:
                continue
            if kind == "U":
                found.used[source].add(name)
            elif kind.isupper() and kind != "A":
                found.defined[name] = source
        return found

    def uses(self) -> Iterable[tuple[str, str, str]]:
        """(user, definer, symbol) of every use of another file."""
        for user, names in self.used.items():
            for name in names:
                if (definer := self.defined.get(name)) and definer != user:
                    yield user, definer, name


@dataclass(frozen=True)
class Contract:
    """What kernel/arch.h says: names that an architecture provides, names of the kernel that it may use."""

    provided: frozenset[str]
    call_up: frozenset[str]

    @classmethod
    def read(cls, text: str) -> Contract:
        def listed(what: str) -> list[str]:
            return NAME.findall(" ".join(re.findall(rf"^ \*\s+{what}:(.*)$", text, re.M)))

        return cls(
            provided=frozenset(NAME.findall(without_comments(text)) + listed("provides-inline")),
            call_up=frozenset(listed("call-up")),
        )


def check_symbols(objects: Objects, contract: Contract) -> list[str]:
    """Uses that run up, or past the contract."""
    complaints = []
    for user, definer, name in sorted(objects.uses()):
        above, below = place_of(user), place_of(definer)
        what = f"{user} uses {name} of {definer}"
        if above in ROOMS and below in ROOMS:
            if is_upward(above, below):
                complaints.append(f"{what}: {above}/ is below {below}/")
        elif below == "arch" and above in (*ROOMS, "drivers"):
            if name not in contract.provided:
                complaints.append(f"{what}: kernel/arch.h does not name it")
        elif above == "arch" and below in ROOMS:
            if name not in contract.call_up:
                complaints.append(f"{what}: kernel/arch.h does not list it as call-up")
        elif above in ROOMS and below == "drivers":
            complaints.append(f"{what}: the kernel knows no driver; an architecture registers them")
        elif (
            above == "drivers"
            and below in ROOMS
            and below not in ROOMS_OF_DRIVERS
            and re.sub(r"\.c$", ".h", definer.removeprefix("kernel/")) not in HEADERS_OF_DRIVERS
        ):
            complaints.append(f"{what}: a driver may use {', '.join(ROOMS_OF_DRIVERS)}")
    for name in sorted(contract.call_up - set(objects.defined)):
        complaints.append(f"kernel/arch.h lists {name} as call-up, and no object defines it")
    return complaints


#: A function that arch.h declares for an architecture to define.
DECLARATION = re.compile(r"^(?:_Noreturn )?(?:[\w ]+[ *])((?:arch|user)_\w+|syscall_hole|sys_clone)\(", re.M)


def check_provided(objects: Objects, header: str) -> list[str]:
    """Functions of the contract that no object of an architecture defines."""
    return [
        f"kernel/arch.h declares {name}, and no object of arch/ defines it"
        for name in sorted(DECLARATION.findall(without_comments(header)))
        if place_of(objects.defined.get(name, "kernel/arch.h")) != "arch"
    ]


def room_circles(objects: Objects) -> list[str]:
    """Circles among rooms, by symbols: none can be where no use runs up; said in words of its own."""
    graph: dict[str, set[str]] = defaultdict(set)
    for user, definer, _ in objects.uses():
        above, below = place_of(user), place_of(definer)
        if above in ROOMS and below in ROOMS and above != below:
            graph[above].add(below)
    return [
        f"{first}/ and {second}/ use each other, through {' -> '.join(path)}"
        for first in ROOMS
        for second in sorted(graph[first])
        if (path := path_between(graph, second, first))
    ]


def path_between(graph: Mapping[str, set[str]], start: str, end: str) -> list[str]:
    """The rooms on a way from start to end; [] where there is none."""
    ways = {start: [start]}
    queue = [start]
    while queue:
        room = queue.pop(0)
        if room == end:
            return ways[room]
        for following in sorted(graph.get(room, ())):
            if following not in ways:
                ways[following] = [*ways[room], following]
                queue.append(following)
    return []


# ---- Includes ----


def check_includes(sources: Mapping[str, str]) -> list[str]:
    """Includes of kernel/ and drivers/ that run up, or past the contract. `sources`: text by path."""
    complaints = []
    for path, text in sorted(sources.items()):
        here = place_of(path)
        for name in INCLUDE.findall(text):
            what = f"{path} includes {name}"
            if name.startswith("arch/") or name == "arch.h":
                if name != "arch.h" and name not in CONTRACT_HEADERS:
                    complaints.append(f"{what}: of an architecture only {', '.join(CONTRACT_HEADERS)}")
                continue
            if name.startswith("drivers/"):
                if here != "drivers":
                    complaints.append(f"{what}: the kernel knows no driver")
                continue
            if name.startswith("lwip/"):
                if here != "net":
                    complaints.append(f"{what}: net/ alone knows the stack")
                continue
            target = f"kernel/{name}"
            if "/" not in name or target not in sources:
                if name != "tacet.h":
                    complaints.append(f"{what}: an include names its room, and there is no {target}")
                continue
            there = place_of(target)
            if here in ROOMS and is_upward(here, there):
                complaints.append(f"{what}: {here}/ is below {there}/")
            elif (
                here == "drivers"
                and there not in ROOMS_OF_DRIVERS
                and (target.removeprefix("kernel/") not in HEADERS_OF_DRIVERS)
            ):
                complaints.append(f"{what}: a driver may use {', '.join(ROOMS_OF_DRIVERS)}")
    return complaints


def check_architecture_names(sources: Mapping[str, str]) -> list[str]:
    """Sources that ask which architecture they are compiled for, or use weak symbols."""
    asks = re.compile(
        r"#\s*(?:if|ifdef|ifndef|elif)\b.*\b__(?:x86_64|powerpc|PPC|ppc)\w*|__attribute__\s*\(\(weak"
    )
    return [
        f"{path}:{line}: {match[0].strip()}: nothing here knows an architecture"
        for path, text in sorted(sources.items())
        for match in asks.finditer(without_comments(text))
        for line in [text.count("\n", 0, match.start()) + 1]
    ]


#: What the size of one architecture's pages and tables looks like. (4096 itself is Linux's for other things.)
PAGE_NUMBERS = re.compile(r"[&+] *4095\b|[%/] *4096\b|~ *0xfff\b|\b2(?:ULL?)? *<< *20\b")


def check_page_numbers(sources: Mapping[str, str]) -> list[str]:
    """Sources that know how large a page is."""
    return [
        f"{path}:{line}: {match[0]}: pages are ARCH_PAGE, ARCH_LARGE_PAGE, ARCH_HUGE_PAGE"
        for path, text in sorted(sources.items())
        for match in PAGE_NUMBERS.finditer(without_comments(text))
        for line in [text.count("\n", 0, match.start()) + 1]
    ]


#: A cast that cuts a number to 16 bits; only net/size.c does, which looks first.
CUTS = re.compile(r"\((?:u16_t|uint16_t|unsigned short)\) *[\w~(]")


def check_cuts(sources: Mapping[str, str]) -> list[str]:
    """Sources of the network that cut numbers to 16 bits without a look at them."""
    return [
        f"{path}:{text.count(chr(10), 0, match.start()) + 1}: a cast to 16 bits: use size_16 (net/size.h)"
        for path, text in sorted(sources.items())
        if path != "kernel/net/size.c"
        for match in CUTS.finditer(without_comments(text))
    ]


# ---- Hooks ----

#: A function pointer that lasts: a member of a structure or a variable of a file. Parameters stand inside
#: parentheses, so that their line does not end in ");" at the right depth.
POINTER = re.compile(r"\(\*(?:const )?(\w+)\)\(")
#: What stands before it in its line: qualifiers and a type, not further right than a member.
DECLARED = re.compile(r"(?: {4,})?\w[\w ]*[ *]+")


def closing(text: str, start: int) -> int:
    """The index after the parenthesis that closes the one before `start`."""
    depth = 1
    while depth and start < len(text):
        depth += {"(": 1, ")": -1}.get(text[start], 0)
        start += 1
    return start


def function_pointers(text: str) -> set[str]:
    """Names of function pointers in C that are no parameters, and no variables of a function that are set
    where they are declared."""
    plain = without_comments(text)
    found = set()
    for match in POINTER.finditer(plain):
        before = plain[: match.start()]
        line = before[before.rfind("\n") + 1 :]
        if not DECLARED.fullmatch(line):
            continue
        outside = before.count("(") == before.count(")")
        local = line.startswith(" ") and plain[closing(plain, match.end()) :].lstrip().startswith("=")
        if outside and not local:
            found.add(match[1])
    return found


def hooks_of(page: str) -> set[str]:
    """Names in the first column of the table "Hooks" of docs/architecture.md: `` `struct x` `a`, `b` ``."""
    section = re.search(r"^#+ Hooks\n(.*?)(?=^#+ |\Z)", page, re.M | re.S)
    if not section:
        raise ValueError('docs/architecture.md has no section "Hooks"')
    rows = [line for line in section[1].splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}


def check_hooks(sources: Mapping[str, str], page: str) -> list[str]:
    """Function pointers of the kernel that the table does not have, and rows without a function pointer."""
    listed = hooks_of(page)
    found: dict[str, str] = {}
    for path, text in sorted(sources.items()):
        for name in function_pointers(text):
            found.setdefault(name, path)
    complaints = [
        f"{path} calls through {name}: docs/architecture.md, Hooks, does not have it"
        for name, path in sorted(found.items())
        if name not in listed
    ]
    complaints += [
        f"docs/architecture.md, Hooks, has {name}, and no source does" for name in sorted(listed - set(found))
    ]
    return complaints


# ---- Words ----

#: Words that the field has better ones for, as parts of identifiers: notify, TLB shootdown, spurious, MAX,
#: MIN, reclaim, after, requested.
WORDS = re.compile(
    r"(?:^|_)(?:tells?|told|forgets?|forgotten|unasked|most|least|settle|behind|gone"
    r"|wants?|wanted|asks?|asked)(?:_|$)",
    re.I,
)
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')


def check_words(sources: Mapping[str, str]) -> list[str]:
    """Identifiers of C and C++ that a reader of the field would have to ask for."""
    return [
        f"{path} has {name}: see the words of docs/glossary.md"
        for path, text in sorted(sources.items())
        for name in sorted(set(NAME.findall(STRING.sub("", without_comments(text)))))
        if WORDS.search(name)
    ]


# ---- Sizes ----


def check_lines(sources: Mapping[str, str]) -> list[str]:
    """Files that are longer than a reader can hold."""
    return [
        f"{path} has {count} lines; a file holds one idea and at most {LINES_MAX}"
        for path, text in sorted(sources.items())
        if (count := text.count("\n")) > LINES_MAX
    ]


def wide_lines(path: str, text: str) -> list[int]:
    """Numbers of lines that are too wide. Of Markdown only prose counts: a table's row cannot be wrapped, a
    block of code is what a program prints, and an address is one word. Of Python a text in triple quotes does
    not count whose end says `noqa: E501`: what another tool writes; nor do
    rows of a table that Python writes into Markdown."""
    wide, in_code = [], False
    lines = text.splitlines()
    for number, line in enumerate(lines, start=1):
        if path.endswith(".py") and line.startswith('"""  # noqa: E501'):
            start = max(n for n in range(1, number) if '"""' in lines[n - 1])
            wide = [n for n in wide if n < start]
        if path.endswith(".md"):
            if line.lstrip().startswith("```"):
                in_code = not in_code
                continue
            if in_code or line.lstrip().startswith("|") or max(map(len, line.split()), default=0) > 80:
                continue
        if len(line) > COLUMNS_MAX and not (path.endswith(".py") and line.startswith("| ")):
            wide.append(number)
    return wide


def check_columns(sources: Mapping[str, str]) -> list[str]:
    """Lines of prose and code that are wider than a page."""
    return [
        f"{path}:{number} is wider than {COLUMNS_MAX} columns"
        for path, text in sorted(sources.items())
        for number in wide_lines(path, text)
    ]
