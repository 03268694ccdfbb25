# SPDX-License-Identifier: BSD-2-Clause
"""How long a process could run: its time limit must not pass because others use the host's CPUs.

Linux counts, for each thread, the time on a CPU and the time in which it was ready and had none
(`/proc/PID/task/TID/schedstat`). The wall time without the latter is the process's own: it passes for a
process that sleeps and for one that computes. Several threads may wait at the same time, also for each other;
so a second measure, which no waiting shortens, counts where it is larger: the CPU time consumed, divided by
the host's CPUs. Neither is more than the wall time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

#: Where not even its own time passes, the wall clock ends a run after so many times its limit.
WALL_FACTOR = 20
#: Linux writes nanoseconds.
NS = 1e-9


class OwnTime:
    """The own time of a process, its threads included, from now on. `clock` and `root` are for tests."""

    def __init__(
        self, pid: int, clock: Callable[[], float] = time.monotonic, root: Path = Path("/proc")
    ) -> None:
        self.tasks = root / str(pid) / "task"
        self.clock = clock
        self.begun = clock()
        self.cpus = len(os.sched_getaffinity(0))
        #: By thread: seconds on a CPU, seconds in which it waited for one. Those of ended threads stay.
        self.threads: dict[str, tuple[float, float]] = {}

    def wall(self) -> float:
        return self.clock() - self.begun

    def waited(self) -> float:
        """Seconds by the wall clock that were not its own: others had the host's CPUs."""
        return self.wall() - self.seconds()

    def seconds(self) -> float:
        wall = self.wall()
        self._look()
        used = sum(thread[0] for thread in self.threads.values())
        delayed = sum(thread[1] for thread in self.threads.values())
        return min(wall, max(wall - delayed, used / self.cpus))

    def _look(self) -> None:
        """Read the threads' times; a process that has ended, and a system without such times, have none."""
        try:
            for task in self.tasks.iterdir():
                used, delayed = (task / "schedstat").read_text().split()[:2]
                self.threads[task.name] = (int(used) * NS, int(delayed) * NS)
        except (OSError, ValueError):
            pass
