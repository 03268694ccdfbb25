# SPDX-License-Identifier: BSD-2-Clause
"""The plan of the tree, as a check: which room of the kernel, and of the MPI library, may use which, and what
an architecture may.

The rules stand in docs/architecture.md, "Rooms"; this file reads them from where they are written:

* `ROOMS` and `MPI_ROOMS` below, top to bottom: a file uses, by symbol or by include, its own room and those
  below it.
* `kernel/arch.h`: what the kernel and the drivers may use of an architecture (what is declared there, and its
  lines ` *   provides-inline: name …`), and what an architecture may use of the kernel (` *   call-up: …`).
* docs/architecture.md, "Hooks" and "Hooks of mpi-lite": every function pointer through which a room calls
  what it does not know.

Every check answers a list of complaints; an empty list is a pass. Facts come from two places: includes from
the sources, uses from the symbol tables of the linked objects (`nm`), so that no declaration can hide a use.
"""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

#: The rooms of kernel/, from the one that may use all others to the one that may use none.
ROOMS = (
    *("init", "launch", "syscall", "ninep", "net", "fs/proc", "ipc", "fs", "fs/tree"),
    *("process", "beat", "time", "mm", "debug", "smp", "lib"),
)

#: The rooms of apps/mpi-lite/src/, in the same order.
MPI_ROOMS = (
    *("fortran", "init", "window", "construct", "collective", "comm"),
    *("message", "transport", "launch", "type", "base"),
)

#: Headers that stand in no room: those for programs, and those made from functions.txt.
MPI_HEADERS = ("mpi.h", "base/frames.h")

#: The largest number of objects of the library that may use each other in a circle, and why it would not help
#: to cut each circle. All objects of a circle are in one room.
MPI_CIRCLE_MAX = 9
MPI_CIRCLES = {
    ("base", "check error error_text"): "a call about errors is checked, and has errors, as any other",
    ("type", "type type_make"): "a derived type holds the types it is made of, and releases them at its end",
    ("type", "op op_kernels"): "an operation of MPI's is known by its address, in both",
    ("message", "buffered generalized message peer_copy progress request"): (
        "a wait makes progress, progress moves messages, and the end of a message completes its request"
    ),
    ("collective", "allreduce broadcast choice collective_inter exchange reduce"): (
        "an algorithm over nodes lets the table choose again, within a node and between nodes"
    ),
    ("window", "rma_origin rma_target window"): (
        "a process is a target of its own operations, and ends a window when both sides are through"
    ),
}

#: Rooms of the kernel that drivers may use, and single headers of other rooms.
ROOMS_OF_DRIVERS = ("debug", "smp", "lib")
HEADERS_OF_DRIVERS = ("net/device.h",)

#: Headers of an architecture that belong to the contract: its inline half.
CONTRACT_HEADERS = ("arch/platform.h", "arch/linux_abi.h", "arch/io.h")

LINES_MAX = 700
COLUMNS_MAX = 110

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
NAME = re.compile(r"[A-Za-z_]\w*")


def blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def without_comments(text: str) -> str:
    """C without its comments; line ends stay."""
    return COMMENT.sub(blank, text)


def place_of(path: str) -> str:
    """Where a source stands: a room of the kernel, "kernel", "arch", or "drivers"."""
    parts = path.split("/")
    if parts[0] != "kernel":
        return parts[0]
    folder = "/".join(parts[1:-1])
    if folder and folder not in ROOMS:
        raise ValueError(f"{path}: {folder} is no room of kernel/; the rooms are {', '.join(ROOMS)}")
    return folder or "kernel"


def refusal(user: str, used: str) -> str:
    """Why a source may not use another one, by where they stand; "" if it may, or if the contract decides."""
    here, there = place_of(user), place_of(used)
    if here in (*ROOMS, "kernel") and there == "drivers":
        return "the kernel knows no driver; an architecture registers them"
    if there not in ROOMS:
        return ""
    if here in ROOMS and ROOMS.index(there) < ROOMS.index(here):
        return f"{here}/ is below {there}/"
    header = re.sub(r"\.c$", ".h", used.removeprefix("kernel/"))
    if here == "drivers" and there not in ROOMS_OF_DRIVERS and header not in HEADERS_OF_DRIVERS:
        return f"a driver may use {', '.join(ROOMS_OF_DRIVERS)}"
    return ""


# ---- Symbols ----


@dataclass
class Objects:
    """Which source defines and which uses a symbol, by the source's path."""

    defined: dict[str, str] = field(default_factory=dict)
    used: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def read(cls, folder: Path, *trees: Path) -> Objects:
        """From the object files below `folder`, which mirrors the trees; those whose source is gone do not
        count."""

        def source_of(path: Path) -> str:
            name = str(path.relative_to(folder).with_suffix(""))
            return name if name.endswith((".asm", ".S")) else name + ".c"

        found = cls()
        paths = sorted(folder.rglob("*.o"))
        if not paths:
            raise FileNotFoundError(f"no object files below {folder}: make kernel")
        listing = subprocess.run(["nm", "-A", *paths], capture_output=True, text=True, check=True).stdout
        there = {source: any((tree / source).exists() for tree in trees) for source in map(source_of, paths)}
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
    """Uses that run up, or past the contract. If none runs up, rooms use each other in no circle."""
    complaints = []
    for user, definer, name in sorted(objects.uses()):
        above, below = place_of(user), place_of(definer)
        reason = refusal(user, definer)
        if below == "arch" and above in (*ROOMS, "drivers") and name not in contract.provided:
            reason = "kernel/arch.h does not name it"
        elif above == "arch" and below in ROOMS and name not in contract.call_up:
            reason = "kernel/arch.h does not list it as call-up"
        if reason:
            complaints.append(f"{user} uses {name} of {definer}: {reason}")
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


# ---- The MPI library ----


def room_of(path: str, rooms: tuple[str, ...]) -> str:
    """The room that a source stands in, by its path within the library."""
    room = path.split("/")[0]
    if room not in rooms or path.count("/") != 1:
        raise ValueError(f"{path} stands in no room; the rooms are {', '.join(rooms)}")
    return room


def check_library_symbols(objects: Objects, rooms: tuple[str, ...]) -> list[str]:
    """Uses of a library of rooms alone that run up."""
    return [
        f"{user} uses {name} of {definer}: {above}/ is below {below}/"
        for user, definer, name in sorted(objects.uses())
        for above, below in [(room_of(user, rooms), room_of(definer, rooms))]
        if rooms.index(below) < rooms.index(above)
    ]


def check_library_includes(sources: Mapping[str, str], rooms: tuple[str, ...]) -> list[str]:
    """Includes that run up, or do not name their room. `sources`: text by path within the library."""
    complaints = []
    for path, text in sorted(sources.items()):
        here = room_of(path, rooms)
        for name in INCLUDE.findall(text):
            if name in MPI_HEADERS:
                continue
            if name not in sources:
                complaints.append(
                    f"{path} includes {name}: an include names its room, and there is no {name}"
                )
            elif rooms.index(there := room_of(name, rooms)) < rooms.index(here):
                complaints.append(f"{path} includes {name}: {here}/ is below {there}/")
    return complaints


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The sets of more than one node each of which reaches each other (Tarjan 1972), sorted."""
    found: list[list[str]] = []
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []

    def visit(node: str) -> None:
        numbers[node] = lowest[node] = len(numbers)
        stack.append(node)
        for used in sorted(graph.get(node, ())):
            if used not in numbers:
                visit(used)
                lowest[node] = min(lowest[node], lowest[used])
            elif used in stack:
                lowest[node] = min(lowest[node], numbers[used])
        if lowest[node] == numbers[node]:
            circle = [stack.pop()]
            while circle[-1] != node:
                circle.append(stack.pop())
            if len(circle) > 1:
                found.append(sorted(circle))

    for node in sorted(graph):
        if node not in numbers:
            visit(node)
    return sorted(found)


def check_circles(objects: Objects, known: Mapping[tuple[str, str], str], max_objects: int) -> list[str]:
    """Circles of objects that are not in `known` (room, names) with their reason, or are too large; and those
    of `known` that are no longer circles."""
    graph: dict[str, set[str]] = defaultdict(set)
    for user, definer, _ in objects.uses():
        graph[user].add(definer)
    complaints, seen = [], set()
    for circle in circles(graph):
        room = "/".join(sorted({path.rpartition("/")[0] for path in circle}))
        names = " ".join(Path(path).stem for path in circle)
        seen.add((room, names))
        if len(circle) > max_objects:
            complaints.append(
                f"{names} of {room}/ use each other: {len(circle)} objects, more than {max_objects}"
            )
        elif not known.get((room, names)):
            complaints.append(f"{names} of {room}/ use each other: cut the circle, or name it and why")
    complaints += [
        f"{names} of {room}/ are no circle: it is not to be named"
        for room, names in sorted(set(known) - seen)
    ]
    return complaints


# ---- Includes ----


def include_refusal(path: str, name: str, sources: Container[str]) -> str:
    """Why a source of kernel/ or drivers/ may not include a header, or ""."""
    if name in ("arch.h", "tacet.h", *CONTRACT_HEADERS):
        return ""
    if name.startswith("arch/"):
        return f"of an architecture only {', '.join(CONTRACT_HEADERS)}"
    if name.startswith("lwip/"):
        return "" if place_of(path) == "net" else "net/ alone knows the stack"
    if name.startswith("drivers/"):
        return refusal(path, name)
    target = f"kernel/{name}"
    if "/" not in name or target not in sources:
        return f"an include names its room, and there is no {target}"
    return refusal(path, target)


def check_includes(sources: Mapping[str, str]) -> list[str]:
    """Includes of kernel/ and drivers/ that run up, or past the contract. `sources`: text by path."""
    return [
        f"{path} includes {name}: {reason}"
        for path, text in sorted(sources.items())
        for name in INCLUDE.findall(text)
        if (reason := include_refusal(path, name, sources))
    ]


# ---- What no source may contain ----


@dataclass(frozen=True)
class Ban:
    """A pattern that code in some folders must not contain, outside comments and strings."""

    pattern: str
    reason: str
    folders: tuple[str, ...] = ("kernel/", "drivers/")
    but_in: str = ""


BANS = {
    "architecture": Ban(
        r"#\s*(?:if|ifdef|ifndef|elif)\b.*\b__(?:x86_64|powerpc|PPC|ppc)\w*|__attribute__\s*\(\(weak",
        "nothing here knows an architecture",
    ),
    # What the size of one architecture's pages and tables looks like. (4096 itself is Linux's for other
    # things.)
    "page size": Ban(
        r"[&+] *4095\b|[%/] *4096\b|~ *0xfff\b|\b2(?:ULL?)? *<< *20\b",
        "pages are ARCH_PAGE, ARCH_LARGE_PAGE, ARCH_HUGE_PAGE",
    ),
    "16 bits": Ban(
        r"\((?:u16_t|uint16_t|unsigned short)\) *[\w~(]",
        "a cast to 16 bits: use size_16 (net/size.h)",
        folders=("kernel/ninep/", "kernel/net/", "ports/lwip/"),
        but_in="kernel/net/size.c",
    ),
    # Parts of identifiers that the field has better words for: notify, TLB shootdown, spurious, MAX, MIN,
    # reclaim, after, requested.
    "words": Ban(
        r"(?i)\b(?:\w*_)?(?:tells?|told|forgets?|forgotten|unasked|most|least|settle|behind|gone"
        r"|wants?|wanted|asks?|asked)(?:_\w*)?\b",
        "see the words of docs/glossary.md",
        folders=("kernel/", "arch/", "drivers/", "apps/", "simulator/"),
    ),
}


def check_ban(ban: Ban, sources: Mapping[str, str]) -> list[str]:
    """Places in sources, by line, that a ban names."""
    return [
        f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {match[0].strip()}: {ban.reason}"
        for path, text in sorted(sources.items())
        if path != ban.but_in
        for match in re.finditer(ban.pattern, STRING.sub(blank, without_comments(text)))
    ]


# ---- Hooks ----

#: A function pointer that lasts: a member of a structure or a variable of a file. Parameters stand inside
#: parentheses, so that their line does not end in ");" at the right depth.
POINTER = re.compile(r"\(\*(?:const )?(\w+)\)\(")
#: What is before it in its line: qualifiers and a type, not further right than a member.
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


def hooks_of(page: str, title: str) -> set[str]:
    """Names in the first column of the table below a title of the page: `` `a`, `b` of `struct x` ``."""
    section = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#+ |\Z)", page, re.M | re.S)
    if not section:
        raise ValueError(f'docs/architecture.md has no section "{title}"')
    rows = [line for line in section[1].splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}


def check_hooks(sources: Mapping[str, str], page: str, title: str = "Hooks") -> list[str]:
    """Function pointers of the sources that the table does not have, and rows without a function pointer."""
    listed = hooks_of(page, title)
    found: dict[str, str] = {}
    for path, text in sorted(sources.items()):
        for name in function_pointers(text):
            found.setdefault(name, path)
    complaints = [
        f"{path} calls through {name}: docs/architecture.md, {title}, does not have it"
        for name, path in sorted(found.items())
        if name not in listed
    ]
    complaints += [
        f"docs/architecture.md, {title}, has {name}, and no source does"
        for name in sorted(listed - set(found))
    ]
    return complaints


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
