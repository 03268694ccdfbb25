# SPDX-License-Identifier: BSD-2-Clause
"""What all tests of pytest share: a time limit for each, and the marker `long`.

A test that computes for too long, by its process's own CPU time, hangs, however busy the host is; so does one
that waits, by the wall clock, many times longer than any does. It fails, and shows the line at which it was.
What it has started is ended with it where the test ends its own children, as subprocess.run does.

`long` marks what takes too long for `make test`; `make test-long`, or `-m long`, runs it.
"""

from __future__ import annotations

import fcntl
import os
import signal
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from types import FrameType

import pytest

#: CPU seconds of the test's own process, and seconds by the wall clock.
CPU_SECONDS = 240.0
WALL_SECONDS = 1500.0


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: takes too long for make test; make test-long runs it")
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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "long" in (config.getoption("markexpr") or ""):
        return
    left_out = [item for item in items if item.get_closest_marker("long")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("long")]


@contextmanager
def limited(cpu_s: float, wall_s: float) -> Iterator[None]:
    """What runs in it is ended by a failure when either time is over."""

    def over(number: int, frame: FrameType | None) -> None:
        which = f"{cpu_s:g} s of CPU time" if number == signal.SIGPROF else f"{wall_s:g} s"
        pytest.fail(f"hangs: no end within {which}")

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
