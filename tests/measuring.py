# SPDX-License-Identifier: BSD-2-Clause
"""Measures what each test of pytest costs: a plugin, `-p tests.measuring`, that `tests/run.py --measure` loads.

A test's cost is the CPU time of its process and of all descendants that have ended by the end of the test, and
the time in which none of them computed. Its setup and its end count; what `made` compiles, and what fixtures
of a module or session compute for all their tests, is booked apart. Each process of pytest appends one JSON
line a test, and one a shared fixture, to FOLDER/PID.jsonl, where FOLDER is $TACET_MEASURE:

    {"name": node ID, "cpu_s": s, "wall_s": s}           a test
    {"fixture": FILE::NAME, "cpu_s": s, "wall_s": s}     a fixture that tests share
"""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import making

FOLDER = os.environ.get("TACET_MEASURE", "")


@dataclass(frozen=True)
class Spent:
    """CPU time and wall time, in seconds."""

    cpu_s: float
    wall_s: float

    def __sub__(self, other: Spent) -> Spent:
        return Spent(self.cpu_s - other.cpu_s, self.wall_s - other.wall_s)

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.cpu_s + other.cpu_s, self.wall_s + other.wall_s)


def now() -> Spent:
    """What this process and its ended descendants have spent so far."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return Spent(sum(one.ru_utime + one.ru_stime for one in used), time.monotonic())


#: What shared fixtures and `made` have spent so far, which is not the running test's own.
apart = Spent(0.0, 0.0)


def book_apart(spent: Spent) -> None:
    global apart
    apart += spent


def write(**what: Any) -> None:
    with (Path(FOLDER) / f"{os.getpid()}.jsonl").open("a") as file:
        file.write(json.dumps(what) + "\n")


def own(begun: Spent, apart_before: Spent) -> Spent:
    """What was spent since `begun`, without what was booked apart since then."""
    return now() - begun - (apart - apart_before)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, None, None]:
    begun, before = now(), apart
    yield
    spent = own(begun, before)
    write(name=item.nodeid, cpu_s=round(spent.cpu_s, 3), wall_s=round(spent.wall_s, 3))


@pytest.hookimpl(hookwrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Generator[None, None, None]:
    begun, before = now(), apart
    yield
    if fixturedef.scope not in ("module", "session", "package"):
        return
    spent = own(begun, before)
    book_apart(spent)
    if spent.wall_s > 0.05:
        name = f"{fixturedef.baseid}::{fixturedef.argname}"
        write(fixture=name, cpu_s=round(spent.cpu_s, 3), wall_s=round(spent.wall_s, 3))


def measured(*targets: str, seconds: float = 900) -> None:
    """`made`, booked as building."""
    begun = now()
    try:
        make(*targets, seconds=seconds)
    finally:
        spent = now() - begun
        book_apart(spent)
        write(made=" ".join(targets), cpu_s=round(spent.cpu_s, 3), wall_s=round(spent.wall_s, 3))


# Before the tests' files take it by its name.
make, making.made = making.made, measured
