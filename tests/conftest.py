# SPDX-License-Identifier: BSD-2-Clause
"""What all tests of pytest share: a time limit for each, and the marker `long`.

A test that computes for too long, by its process's own CPU time, hangs, however busy the host is; so does one
that waits, by the wall clock, many times longer than any does. It fails, and shows the line at which it was.
What it has started ends with it if the test ends its own children, as subprocess.run does.

`long` marks what takes too long for `make test`: by hand, or because it costs more than its budget
(budget.py). `make test-long`, `-m long` and a node ID on pytest's command line run it.
"""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests import budget, waiting

#: CPU seconds of the test's own process, and seconds by the wall clock.
CPU_SECONDS = 240.0
WALL_SECONDS = 1500.0


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--also", metavar="FILE", help="run the tests whose node IDs are in FILE, too, even if they are long"
    )
    parser.addoption("--alone", action="store_true", help="with --also: run no other tests")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: costs more than its budget; make test-long runs it")
    config.addinivalue_line(
        "markers", "limit(cpu, wall): other seconds than the usual ones until a test counts as hung"
    )
    if not hasattr(config, "workerinput"):
        output_kept()


def output_kept() -> None:
    """Names this pytest's own output, which it does not capture yet, to all its workers: what is made for a
    test is shown there (making.py). Several processes write to it: if it is a file, at its end."""
    shown = os.dup(1)
    if stat.S_ISREG(os.fstat(shown).st_mode):
        fcntl.fcntl(shown, fcntl.F_SETFL, fcntl.fcntl(shown, fcntl.F_GETFL) | os.O_APPEND)
    os.environ["TACET_SHOWN"] = f"/proc/{os.getpid()}/fd/{shown}"


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    # Before pytest selects by -m.
    if budget.of_all().is_long(item.nodeid):
        item.add_marker(pytest.mark.long(by="cost"))


def kind_of(item: pytest.Item) -> str:
    """`short`; `long` by its cost; or `marked` as long by hand."""
    marks = list(item.iter_markers("long"))
    return "short" if not marks else "long" if all(mark.kwargs for mark in marks) else "marked"


def write_collected(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tells tests/run.py which cases there are, and which of them are long."""
    folder = os.environ.get("TACET_RECORDS")
    if folder and getattr(config, "workerinput", {"workerid": "gw0"})["workerid"] == "gw0":
        lines = [f"{kind_of(item)} {budget.name_of(item.nodeid)}" for item in items]
        (Path(folder) / "collected.txt").write_text("\n".join(lines), encoding="utf-8")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    write_collected(config, items)
    if "long" in (config.getoption("markexpr") or ""):
        return
    # A test that is named on the command line runs.
    named = {word for word in config.args if "::" in word}
    if also := config.getoption("--also"):
        named |= set(Path(also).read_text(encoding="utf-8").splitlines())
    alone = config.getoption("--alone")

    def stays(item: pytest.Item) -> bool:
        name = budget.name_of(item.nodeid)
        if name in named or budget.function_of(name) in named:
            return True
        return not alone and not item.get_closest_marker("long")

    left_out = [item for item in items if not stays(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if stays(item)]


@contextmanager
def limited(cpu_s: float, wall_s: float) -> Iterator[None]:
    """Ends what runs in it by a failure when either time is over."""

    def over(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGPROF:
            pytest.fail(f"hangs: no end within {cpu_s:g} s of CPU time")
        raise waiting.LostTime(f"hangs: no end within {wall_s:g} s")

    timers = {signal.SIGPROF: (signal.ITIMER_PROF, cpu_s), signal.SIGALRM: (signal.ITIMER_REAL, wall_s)}
    before = {number: signal.signal(number, over) for number in timers}
    for timer, seconds in timers.values():
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for timer, _ in timers.values():
            signal.setitimer(timer, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def limits_of(item: pytest.Item) -> tuple[float, float]:
    given = marker.kwargs if (marker := item.get_closest_marker("limit")) else {}
    long = 10 if item.get_closest_marker("long") else 1
    return given.get("cpu", CPU_SECONDS * long), given.get("wall", WALL_SECONDS * long)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    with limited(*limits_of(item)):
        yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    with limited(*limits_of(item)):
        yield
