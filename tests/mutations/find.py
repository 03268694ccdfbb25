#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Says which of the seeded faults in this folder the fuzzer of colliding threads finds.

    tests/mutations/find.py --folder DIR [--minutes M] [NAME...]

Each NAME.patch puts one fault into the kernel: its first lines say what it is, whether it is one of the
project's own that was mended (`a fix reverted`) or not, and which family of calls meets it. Each is applied
in a clone, which this makes in DIR, a kernel that checks itself is built, and tests/fuzz/collide.py runs
there for M minutes at most (default 1). A fault is found if the kernel stops, or the program does not end in
time. Prints a line for each, and ends with status 1 if more than two of all, or any of those named, are not
found.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
KERNEL = "build/x86_64-lockcheck/tacet.elf"
#: Not found, of all.
MISSED_MAX = 2


@dataclass(frozen=True)
class Mutation:
    """One patch."""

    name: str
    what: str
    kind: str
    family: str


def read(patch: Path) -> Mutation:
    """ValueError where its first lines do not say what they have to."""
    head = patch.read_text(encoding="utf-8").partition("\n--- ")[0]
    lines = re.fullmatch(r"(\S.*)\nkind: (a fix reverted|a new race)\nfamily: (\w+)\n", head)
    if not lines:
        raise ValueError(f"{patch.name}: expected WHAT, `kind: …`, `family: …`, an empty line, not {head!r}")
    return Mutation(patch.stem, lines[1], lines[2], lines[3])


def all_mutations() -> list[Mutation]:
    return [read(patch) for patch in sorted(HERE.glob("*.patch"))]


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, errors="replace")


def found(folder: Path, mutation: Mutation, minutes: float) -> str:
    """How the fault was found, after how many seconds; or nothing."""
    patch = ["git", "apply", str(HERE / f"{mutation.name}.patch")]
    subprocess.run(patch, cwd=folder, check=True)
    try:
        made = run(folder, "make", "-s", "-j2", "LOCKCHECK=1", "kernel")
        assert made.returncode == 0, made.stdout + made.stderr
        begin = time.monotonic()
        fuzz = ["tests/fuzz/collide.py", "--kernel", KERNEL, "--family", mutation.family, "--seed", "1"]
        done = run(folder, *fuzz, "--minutes", str(minutes), "--each", "10")
        why = re.search(r"^(the node did not.*|the program ended.*)$", done.stdout, re.MULTILINE)
        return f"{why[1]}, after {time.monotonic() - begin:.0f} s" if done.returncode and why else ""
    finally:
        subprocess.run([*patch, "--reverse"], cwd=folder, check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="where the clone is, or is made")
    parser.add_argument("--minutes", type=float, default=1, help="for each (default 1)")
    parser.add_argument("names", nargs="*", metavar="NAME", help="these alone")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    if not folder.exists():
        subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
    made = run(folder, "make", "-s", "-j2", "kernel", "build/x86_64/tests/collide.glibc")
    if made.returncode:
        sys.exit(f"{folder}: the tree as it is does not build:\n{made.stdout}{made.stderr}")
    chosen = [one for one in all_mutations() if not arguments.names or one.name in arguments.names]
    missed = 0
    for mutation in chosen:
        why = found(folder, mutation, arguments.minutes)
        missed += not why
        print(f"{mutation.name}: {why or 'NOT FOUND'}", flush=True)
    print(f"mutations: {len(chosen) - missed} passed, {missed} failed")
    return 1 if missed > (0 if arguments.names else MISSED_MAX) else 0


if __name__ == "__main__":
    sys.exit(main())
