# SPDX-License-Identifier: BSD-2-Clause
"""How long a process could run, so that its time limit does not pass while other processes use the host's
CPUs.

For each thread, Linux counts the time on a CPU and the time in which it was ready but had no CPU
(`/proc/PID/task/TID/schedstat`). The wall time minus the latter is the process's own time: it passes while
the process sleeps or computes. Several threads may wait at the same time, also for each other, which
subtracts too much. So a second measure is used if it is larger: the CPU time divided by the number of the
host's CPUs. Neither exceeds the wall time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

#: A run ends after this multiple of its limit by the wall clock, even if its own time does not pass.
WALL_FACTOR = 20
#: Linux writes nanoseconds.
NS = 1e-9


class OwnTime:
    """The own time of a process with its threads, from now on. `clock` and `root` are for tests."""

    def __init__(
        self, pid: int, clock: Callable[[], float] = time.monotonic, root: Path = Path("/proc")
    ) -> None:
        self.tasks = root / str(pid) / "task"
        self.clock = clock
        self.begun = clock()
        self.cpus = len(os.sched_getaffinity(0))
        #: By thread: seconds on a CPU, seconds of waiting for one. Entries of ended threads stay.
        self.threads: dict[str, tuple[float, float]] = {}

    def wall(self) -> float:
        return self.clock() - self.begun

    def waited(self) -> float:
        """Wall seconds that are not its own time: other processes had the host's CPUs."""
        return self.wall() - self.seconds()

    def seconds(self) -> float:
        wall = self.wall()
        self._look()
        used = sum(thread[0] for thread in self.threads.values())
        delayed = sum(thread[1] for thread in self.threads.values())
        return min(wall, max(wall - delayed, used / self.cpus))

    def _look(self) -> None:
        """Read the threads' times; there are none if the process has ended or the system does not count
        them."""
        try:
            for task in self.tasks.iterdir():
                used, delayed = (task / "schedstat").read_text().split()[:2]
                self.threads[task.name] = (int(used) * NS, int(delayed) * NS)
        except (OSError, ValueError):
            pass
