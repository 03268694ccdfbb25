#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures what tests/qemu/test_cost_figures.py holds docs/costs.md to, and puts the digits of now into the
page: Tacet's column and the lines of code; Linux's column is `make bench`'s. Some five minutes.

    tests/documents/refresh_costs.py           all; what changed is printed, row by row
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools"), str(ROOT / "tests" / "qemu")]

import test_cost_figures as held

from lab.bench import programs

PAGE = ROOT / "docs" / "costs.md"


def with_tacet(line: str, printed: str) -> str:
    """A row with the second column that was printed ("name: value"), in the same place as far as it fits."""
    found = re.match(r"( *\S+(?: \S+)*)(\s{2,})(\S+)", line)
    if not found:
        return line
    value = printed.rpartition(": ")[2]
    blanks = max(2, found.end() - found.end(1) - len(value))
    return found[1] + " " * blanks + value + line[found.end() :]


def put(shown: list[str], printed: list[str]) -> None:
    """Instead of held.accept(): what is printed replaces what the page shows."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = [held.name_and_tacet(line) for line in lines]
    whole = all(line in lines for line in shown)
    where = lines if whole else rows
    begin = next(n for n in range(len(lines)) if where[n : n + len(shown)] == shown)
    if len(shown) != len(printed) and not whole:
        sys.exit(f"docs/costs.md has {len(shown)} rows and {len(printed)} are printed: edit it by hand")
    new = printed if whole else [with_tacet(lines[begin + n], row) for n, row in enumerate(printed)]
    for before, after in zip(lines[begin:], new):
        if before != after:
            print(f"- {before}\n+ {after}", flush=True)
    lines[begin : begin + len(shown)] = new
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    held.COSTS = "\n".join(lines) + "\n"


def main() -> None:
    held.accept = put
    held.test_the_page_of_costs_shows_what_tacet_costs(held.measure())
    held.test_the_page_of_costs_shows_the_lines_of_code()
    for app in programs.PROGRAMS:
        held.test_the_page_of_costs_shows_what_a_computing_loop_executes(app)
    held.test_the_page_of_costs_shows_what_several_cpus_do()


if __name__ == "__main__":
    main()
