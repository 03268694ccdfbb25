#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The conformance program on Linux and on Tacet, side by side: which lines differ, and whether they may.

    tests/conformance/compare.py [NAME…]      these tests, or all: what differs and is not listed in
                                              `differences`; builds what it needs
    tests/conformance/compare.py --kind glibc --raw NAME    what each system says, without looking at any list
    tests/conformance/compare.py --arch ppc64 NAME    on POWER

`differences`, and ARCH/differences for one architecture, has a paragraph for each choice that makes Tacet
answer otherwise: lines with `#` give the
reason, then the exact lines, `-` Linux's and `+` Tacet's. A difference that is not listed is an error, and so
are a listed one that there is not, and a test for which either system printed nothing.
"""

from __future__ import annotations

import argparse
import difflib
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parents[1] / "tools")]

import qemu
from qemu.architectures import ALL, DEFAULT
from tests.making import made

#: What a comparison runs: make's targets.
NEEDED = ("kernel", "conform-programs", "linux")

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


@dataclass
class Said:
    """What a system said, by test, and the runs in which it did; `whole`: the last one came to its end."""

    lines: dict[str, list[str]]
    runs: list[qemu.Result]
    whole: bool = False


def names(arch: str = DEFAULT) -> list[str]:
    """The tests' names: the files of this folder, and of the architecture's."""
    files = [*HERE.glob("*.c"), *(HERE / arch).glob("*.c")]
    return sorted(path.stem for path in files if path.stem != "conform")


def differences_of(arch: str = DEFAULT) -> list[Difference]:
    """The listed ones: those of every architecture, and its own."""
    return [
        d for folder in (HERE, HERE / arch) for d in read_differences((folder / "differences").read_text())
    ]


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


def how_it_ended(run: qemu.Result) -> str:
    """A run's end in one line."""
    status = "" if run.status is None else f" {run.status}"
    return f"{run.outcome}{status} after {run.seconds:.0f} s{f', {run.reason}' if run.reason else ''}"


def silence(name: str, linux: Said, tacet: Said) -> str:
    """Which of the systems printed nothing for a test, and how its last run ended; empty if both printed
    something. Two empty outputs are the same, and say nothing about a system call."""
    return "\n".join(
        f"{system} printed nothing for {name}: {how_it_ended(said.runs[-1])}"
        for system, said in (("Linux", linux), ("Tacet", tacet))
        if not said.lines.get(name)
    )


def unknown_names(wrong: Sequence[str], arch: str = DEFAULT) -> str:
    """What to say of names that no test has."""
    said = []
    for name in wrong:
        close = difflib.get_close_matches(name, names(arch), n=5, cutoff=0.5)
        close += [known for known in names(arch) if name and name in known and known not in close]
        said.append(f"no such test: {name}" + (f"; is it {', '.join(close)}?" if close else ""))
    where = os.path.relpath(HERE / "NAME.c")
    return "\n".join([*said, f"{len(names(arch))} tests are there, the files {where}"])


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


def program(kind: str, arch: str = DEFAULT) -> Path:
    return qemu.BUILD / arch / "tests" / f"conform.{kind}"


def run_linux(kind: str, tests: Sequence[str] = (), *, arch: str = DEFAULT, cpu: str | None = None) -> Said:
    """What Debian's kernel says, on the usual CPU of an architecture or on one by QEMU's name."""
    with tempfile.TemporaryDirectory() as folder:
        result = qemu.run_linux(
            program(kind, arch),
            tests,
            files=files_make(Path(folder)),
            arch=arch,
            cpus=CPUS,
            cpu=cpu,
            time_limit=120,
        )
    lines = lines_of(result.stdout.decode(errors="replace"))
    return Said(lines, [result], whole=lines.pop("conform", None) is not None and result.status == 0)


def run_tacet(
    kind: str, tests: Sequence[str], *, time_limit: float = 60, arch: str = DEFAULT, cpu: str | None = None
) -> Said:
    """What Tacet says. Where a test ends the run, the ones after it run in another, so that one fault shows
    as one."""
    said = Said({}, [])
    left = list(tests)
    with tempfile.TemporaryDirectory() as folder:
        files = files_make(Path(folder))
        while left and len(said.runs) < RUNS_MAX:
            result = qemu.run_tacet(
                program(kind, arch),
                left,
                files=files,
                arch=arch,
                cpus=CPUS,
                cpu=cpu,
                options="ranks=1",
                time_limit=time_limit,
            )
            lines = lines_of(result.stdout.decode(errors="replace"))
            said.runs.append(result)
            said.whole = lines.pop("conform", None) is not None and result.status == 0
            said.lines |= lines
            reached = [name for name in left if name in lines]
            left = [] if said.whole else left[left.index(reached[-1]) + 1 if reached else 1 :]
    return said


def report(chosen: Sequence[str], linux: Said, tacet: Said, raw: bool, arch: str = DEFAULT) -> bool:
    """Print what differs, or what each says; whether all is as on Linux. Silence is an error in both."""
    differences = differences_of(arch)
    same = 0
    for name in chosen:
        silent = silence(name, linux, tacet)
        wrong = silent or compare(linux.lines[name], tacet.lines[name], differences)
        same += not (silent if raw else wrong)
        if raw:
            print("\n".join([f"--- Linux, {name}", *linux.lines.get(name, [])]))
            print("\n".join([f"--- Tacet, {name}", *tacet.lines.get(name, [])]))
        if wrong and not raw:
            print(f"{name}:\n{wrong}\n")
        elif silent:
            print(silent, file=sys.stderr)
    if not raw:
        print(
            f"{same} of {len(chosen)} tests are as on Linux; see also {os.path.relpath(HERE / 'differences')}"
        )
    return same == len(chosen)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tests", nargs="*", metavar="NAME", help="tests, by the names of their files")
    parser.add_argument(
        "--kind", choices=KINDS, default="musl", help="which C library's program (default musl)"
    )
    parser.add_argument("--arch", choices=ALL, default=DEFAULT, help=f"default {DEFAULT}")
    parser.add_argument("--cpu", help="QEMU's name of a CPU (default: the architecture's usual one)")
    parser.add_argument("--raw", action="store_true", help="show what each system says instead")
    arguments = parser.parse_args()
    machine = {"arch": arguments.arch, "cpu": arguments.cpu}
    known = names(arguments.arch)
    if wrong := [name for name in dict.fromkeys(arguments.tests) if name not in known]:
        print(f"compare.py: {unknown_names(wrong, arguments.arch)}", file=sys.stderr)
        return 2
    chosen = list(dict.fromkeys(arguments.tests)) or known
    try:
        made(*NEEDED, f"ARCH={arguments.arch}")
        linux = run_linux(arguments.kind, chosen, **machine)
        tacet = run_tacet(arguments.kind, chosen, **machine)
    except (AssertionError, qemu.RunnerError) as failure:
        print(f"compare.py: {failure}", file=sys.stderr)
        return 2
    if not linux.whole:
        print(f"Linux: {linux.runs[-1].explain()}", file=sys.stderr)
    if len(tacet.runs) > 1 or not tacet.whole:
        print(f"Tacet: {tacet.runs[-1].explain()}\n{len(tacet.runs)} runs were needed", file=sys.stderr)
    return 0 if report(chosen, linux, tacet, arguments.raw, arguments.arch) else 1


if __name__ == "__main__":
    sys.exit(main())
