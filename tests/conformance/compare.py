#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The conformance program on Linux and on Tacet, side by side: which lines differ, and whether they may.

    tests/conformance/compare.py [NAME…]      these tests, or all: what differs and is not listed in
                                              `differences`
    tests/conformance/compare.py --kind glibc --raw NAME    what each system says, without looking at any list

`differences` has a paragraph for each choice that makes Tacet answer otherwise: lines with `#` give the
reason, then the exact lines, `-` Linux's and `+` Tacet's. A difference that is not listed is an error, and so
is a listed one that there is not.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))

import qemu

KINDS = ["musl", "glibc"]
#: Threads of a test run side by side, each on a CPU of its own.
CPUS = 4
#: More runs than a suite needs in which hardly anything works.
RUNS_MAX = 40


@dataclass(frozen=True)
class Difference:
    """One choice: why, Linux's lines, Tacet's lines."""

    reason: str
    linux: tuple[str, ...]
    tacet: tuple[str, ...]


def names() -> list[str]:
    """The tests' names: the files of this folder."""
    return sorted(path.stem for path in HERE.glob("*.c") if path.stem != "conform")


def read_differences(listed: str) -> list[Difference]:
    """ValueError where the list is not as it must be."""
    found = []
    for paragraph in listed.split("\n\n"):
        lines = [line for line in paragraph.splitlines() if line.strip()]
        reason = " ".join(line[1:].strip() for line in lines if line.startswith("#"))
        linux = tuple(line[2:] for line in lines if line.startswith("- "))
        tacet = tuple(line[2:] for line in lines if line.startswith("+ "))
        if not linux and not tacet:
            continue
        if not reason or len(linux) + len(tacet) + sum(line.startswith("#") for line in lines) != len(lines):
            raise ValueError(
                "differences: a paragraph needs a reason, and no other lines than `#`, `-` and "
                f"`+`:\n{paragraph}"
            )
        found.append(Difference(reason, linux, tacet))
    return found


def lines_of(said: str) -> dict[str, list[str]]:
    """The lines of each test, in their order."""
    tests: dict[str, list[str]] = {}
    for line in said.splitlines():
        tests.setdefault(line.split(":", 1)[0], []).append(line)
    return tests


def compare(linux: Sequence[str], tacet: Sequence[str], differences: Sequence[Difference]) -> str:
    """What differs against the list, as a text; empty if nothing does. All lines are of one test."""
    test = linux[0].split(":", 1)[0] if linux else ""
    may_lack = {line for d in differences for line in d.linux if line.startswith(f"{test}: ")}
    may_have = {line for d in differences for line in d.tacet if line.startswith(f"{test}: ")}
    lacks, has = [line for line in linux if line not in tacet], [line for line in tacet if line not in linux]
    wrong = [f"- {line}" for line in lacks if line not in may_lack] + [
        f"+ {line}" for line in has if line not in may_have
    ]
    unused = [f"(listed, but not so)  - {line}" for line in sorted(may_lack - set(lacks))]
    unused += [f"(listed, but not so)  + {line}" for line in sorted(may_have - set(has))]
    twice = [
        f"(printed twice)  {line}"
        for line in dict.fromkeys(linux)
        if [l.rsplit(": ", 1)[0] for l in linux].count(line.rsplit(": ", 1)[0]) > 1
    ]
    order = [] if wrong or has or list(linux) == list(tacet) else ["(the same lines in another order)"]
    # In the order of the checks, so that a pair stands together.
    wrong.sort(
        key=lambda line: next(
            (i for i, l in enumerate(linux) if l.rsplit(": ", 1)[0] == line[2:].rsplit(": ", 1)[0]),
            len(linux),
        )
    )
    return "\n".join([*wrong, *unused, *twice, *order])


def files_make(folder: Path) -> Path:
    """The read-only files that the tests look at (conform.h)."""
    data = folder / "data"
    (data / "sub").mkdir(parents=True)
    (data / "text").write_text("first\nsecond\nthird\n")
    (data / "empty").write_text("")
    (data / "sub" / "file").write_text("deep\n")
    for name, target in [("link", "text"), ("folder_link", "sub"), ("dangling", "nowhere"), ("loop", "loop")]:
        (data / name).symlink_to(target)
    return folder


def program(kind: str) -> Path:
    return qemu.BUILD / "x86_64" / "tests" / f"conform.{kind}"


def run_linux(kind: str, tests: Sequence[str] = ()) -> tuple[dict[str, list[str]], qemu.Result]:
    """What Debian's kernel says."""
    with tempfile.TemporaryDirectory() as folder:
        result = qemu.run_linux(
            program(kind), tests, files=files_make(Path(folder)), cpus=CPUS, time_limit=120
        )
    return lines_of(result.stdout.decode(errors="replace")), result


def run_tacet(
    kind: str, tests: Sequence[str], time_limit: float = 60
) -> tuple[dict[str, list[str]], list[qemu.Result]]:
    """What Tacet says. Where a test ends the run, the ones after it run in another, so that one fault shows
    as one."""
    said: dict[str, list[str]] = {}
    results = []
    left = list(tests)
    with tempfile.TemporaryDirectory() as folder:
        files = files_make(Path(folder))
        while left and len(results) < RUNS_MAX:
            result = qemu.run_tacet(
                program(kind), left, files=files, cpus=CPUS, options="ranks=1", time_limit=time_limit
            )
            lines = lines_of(result.stdout.decode(errors="replace"))
            results.append(result)
            whole = lines.pop("conform", None)
            said |= lines
            reached = [name for name in left if name in lines]
            left = [] if whole else left[left.index(reached[-1]) + 1 if reached else 1 :]
    return said, results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tests", nargs="*", metavar="NAME", help="tests, by the names of their files")
    parser.add_argument(
        "--kind", choices=KINDS, default="musl", help="which C library's program (default musl)"
    )
    parser.add_argument("--raw", action="store_true", help="show what each system says instead")
    arguments = parser.parse_args()
    chosen = arguments.tests or names()
    if unknown := set(chosen) - set(names()):
        parser.error(f"no such test: {', '.join(sorted(unknown))}")
    linux, result = run_linux(arguments.kind, arguments.tests)
    if "conform" not in linux:
        print(f"Linux: {result.explain()}", file=sys.stderr)
    tacet, results = run_tacet(arguments.kind, chosen)
    if len(results) > 1:
        print(f"Tacet's last run: {results[-1].explain()}\n{len(results)} runs were needed", file=sys.stderr)
    differences = read_differences((HERE / "differences").read_text())
    same = 0
    for name in chosen:
        if arguments.raw:
            print(
                "\n".join(
                    [f"--- Linux, {name}", *linux.get(name, []), f"--- Tacet, {name}", *tacet.get(name, [])]
                )
            )
        elif wrong := compare(linux.get(name, []), tacet.get(name, []), differences):
            print(f"{name}:\n{wrong}\n")
        else:
            same += 1
    if not arguments.raw:
        print(
            f"{same} of {len(chosen)} tests are as on Linux; see also {os.path.relpath(HERE / 'differences')}"
        )
    return 0 if arguments.raw or same == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
