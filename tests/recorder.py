# SPDX-License-Identifier: BSD-2-Clause
"""Records what each test of pytest costs and how it ended: a plugin, `-p tests.recorder`, that tests/run.py
loads.

A test's cost is the CPU time of its process and of all descendants that have ended by the end of the test,
and its wall time. Its setup and its end count. What `made` compiles is booked apart, and so is what a fixture
of a module or session computes for several tests. Each process of pytest appends JSON lines to
FOLDER/PID.jsonl, where FOLDER is $TACET_RECORDS:

    {"test": node ID, "cpu_s": s, "wall_s": s, "fixtures": [name], "outcome": "passed" | "failed" | "skipped",
     "skip": reason, "lost_time": true if the failure is one of lost time alone, "said": the failure's text}
    {"fixture": FILE::NAME, "cpu_s": s, "wall_s": s}     a fixture that tests share, made and ended again
    {"made": targets, "cpu_s": s, "wall_s": s}           what a test had to make

The longest tests run first, by tests/costs.txt, so that no worker is left with one at the end; the others in
pytest's order, which keeps those together that share a fixture.
"""

from __future__ import annotations

import json
import os
import resource
import time
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import budget, making
from tests.waiting import is_lost_time

SHARED_SCOPES = ("module", "package", "session")
#: Where records go, if anywhere.
FOLDER = os.environ.get("TACET_RECORDS", "")
#: A fixture, or a make, that takes less is not worth a line: seconds by the wall clock.
LEAST_S = 0.05


@dataclass(frozen=True)
class Spent:
    """CPU time and wall time, in seconds."""

    cpu_s: float
    wall_s: float

    def __sub__(self, other: Spent) -> Spent:
        return Spent(self.cpu_s - other.cpu_s, self.wall_s - other.wall_s)

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.cpu_s + other.cpu_s, self.wall_s + other.wall_s)

    def record(self) -> dict[str, float]:
        return {"cpu_s": round(self.cpu_s, 3), "wall_s": round(self.wall_s, 3)}


def now() -> Spent:
    """What this process and its ended descendants have spent so far."""
    used = [resource.getrusage(which) for which in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return Spent(sum(one.ru_utime + one.ru_stime for one in used), time.monotonic())


#: What shared fixtures and `made` have spent so far, which is not the running test's own.
apart = Spent(0.0, 0.0)


def book_apart(spent: Spent) -> None:
    global apart
    apart += spent


def own(begun: Spent, apart_before: Spent) -> Spent:
    """What was spent since `begun`, without what was booked apart since then."""
    return now() - begun - (apart - apart_before)


def write(what: dict[str, Any]) -> None:
    if FOLDER:
        with (Path(FOLDER) / f"{os.getpid()}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(what) + "\n")


#: How the running test ends, as far as its reports have come.
ending: dict[str, Any] = {}


def shared_fixtures(item: pytest.Item) -> list[str]:
    """The fixtures of a module or session that a test uses, as FILE::NAME."""
    known = getattr(item, "_fixtureinfo", None)
    found = (known.name2fixturedefs.get(name, ())[-1:] for name in known.names_closure) if known else ()
    params = item.callspec.params if hasattr(item, "callspec") else {}
    return [
        fixture_name(one, params.get(one.argname))
        for defs in found
        for one in defs
        if one.scope in SHARED_SCOPES
    ]


def fixture_name(fixture: pytest.FixtureDef[Any], param: object) -> str:
    """FILE::NAME, and in brackets of which kind it is."""
    kind = f"[{param}]" if isinstance(param, str) else ""
    return f"{fixture.baseid}::{fixture.argname}{kind}"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, None, None]:
    begun, before = now(), apart
    ending.clear()
    yield
    spent = own(begun, before).record()
    test = {"test": budget.name_of(item.nodeid), **spent, "fixtures": shared_fixtures(item)}
    write({**test, "outcome": "passed", **ending})


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    outcome = yield
    report = outcome.get_result()
    if report.skipped and isinstance(report.longrepr, tuple):
        ending.update(outcome="skipped", skip=report.longrepr[2].removeprefix("Skipped: "))
    elif report.failed:
        # A second failure, in the test's end, is lost time only if the first one was.
        lost = call.excinfo is not None and is_lost_time(call.excinfo.value)
        ending.update(
            outcome="failed",
            lost_time=lost and ending.get("lost_time", True),
            said=ending.get("said", "") + report.longreprtext + "\n",
        )


@pytest.hookimpl(hookwrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, None, None]:
    if fixturedef.scope not in SHARED_SCOPES:
        yield
        return
    # Finalizers run in reverse order: the end of the fixture, with what it has started, is between these.
    whole, ending_begun, apart_then = Spent(0.0, 0.0), Spent(0.0, 0.0), apart
    name = fixture_name(fixturedef, getattr(request, "param", None))

    def end_begins() -> None:
        nonlocal ending_begun, apart_then
        ending_begun, apart_then = now(), apart

    def ended() -> None:
        spent = own(ending_begun, apart_then)
        book_apart(spent)
        if (whole + spent).wall_s > LEAST_S:
            write({"fixture": name, **(whole + spent).record()})

    fixturedef.addfinalizer(ended)
    begun, before = now(), apart
    yield
    whole = own(begun, before)
    book_apart(whole)
    fixturedef.addfinalizer(end_begins)


#: What costs less together need not run first: seconds.
LEAST_FIRST_S = 4.0


def group_of(item: pytest.Item) -> str:
    """What one worker runs as a whole: a test, or all tests of an xdist_group."""
    mark = item.get_closest_marker("xdist_group")
    return str(mark.args[0]) if mark and mark.args else item.nodeid


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the expensive groups first. Programs that tests start, pytest among them, do not record."""
    os.environ.pop("TACET_RECORDS", None)
    costs, whole = budget.of_all(), Counter[str]()
    for item in items:
        whole[group_of(item)] += sum(costs.of(budget.name_of(item.nodeid)).seconds())
    first = {group for group, cost in whole.items() if cost > LEAST_FIRST_S}

    def place(item: pytest.Item) -> tuple[float, str]:
        group = group_of(item)
        return (-whole[group], group) if group in first else (0.0, "")

    items.sort(key=place)


def booked(*targets: str, seconds: float = 900) -> None:
    """`made`, booked as building."""
    begun = now()
    try:
        make(*targets, seconds=seconds)
    finally:
        spent = now() - begun
        book_apart(spent)
        if spent.wall_s > LEAST_S:
            write({"made": " ".join(targets), **spent.record()})


# Before the tests' files take it by its name.
make, making.made = making.made, booked
