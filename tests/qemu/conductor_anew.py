# SPDX-License-Identifier: BSD-2-Clause
"""The command of a cluster whose conductor is killed and restarted while jobs run, for
test_cluster_ends.py. Prints as JSON what came of it. The word: the program of jobs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

NAMES = os.environ["TACET_NODES"].split()
LIMIT_S = 300.0
#: Half a minute of steps: the conductor is restarted in the midst of them.
STEPS, STEP_NS = 300, 100_000_000


def wait_for(what: str, found: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + LIMIT_S
    while not (result := found()):
        assert time.monotonic() < deadline, f"no {what} within {LIMIT_S:g} s"
        time.sleep(0.05)
    return result


def conductorctl(*words: str) -> dict[str, Any]:
    done = subprocess.run(["conductorctl", "--json", *words], capture_output=True, text=True)
    return json.loads(done.stdout or "{}") | {"status": done.returncode, "said": done.stderr}


def jobs() -> dict[str, int]:
    """The number of its job, of each node that the conductor knows."""
    return {node["name"]: node["job"] for node in conductorctl("nodes").get("nodes", [])}


def job_of_all() -> int:
    """The job that all nodes run; 0: there is none."""
    found = jobs()
    return next(iter(found.values())) if set(found) == {*NAMES} and len({*found.values()}) == 1 else 0


def conductors() -> list[int]:
    """Those that run; a cluster has a /proc of its own."""
    done = subprocess.run(
        ["pgrep", "--exact", "--runstates", "RSD", "conductor"], capture_output=True, text=True
    )
    return [int(pid) for pid in done.stdout.split()]


def start_anew(meanwhile: Callable[[], None]) -> None:
    """The conductor, by the words that it was started with."""
    (pid,) = conductors()
    words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1]
    os.kill(pid, signal.SIGKILL)
    wait_for("end of the conductor", lambda: not conductors())
    meanwhile()
    subprocess.Popen(words, stdout=subprocess.DEVNULL)


class Job:
    """tacetrun, and its lines as they come."""

    def __init__(self, program: str, *words: str) -> None:
        self.process = subprocess.Popen(
            ["tacetrun", "-i", "none", "--bcast", program, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def wait_lines(self, count: int) -> None:
        wait_for(f"line {count}", lambda: len(self.lines) >= count or self.process.poll() is not None)

    def end(self) -> dict[str, Any]:
        assert self.process.stderr is not None
        said = self.process.stderr.read()
        status = self.process.wait(LIMIT_S)
        self._reader.join()
        return {"status": status, "lines": self.lines, "said": said}


def goes_on(program: str) -> dict[str, Any]:
    """A job that ends on its own, after the conductor has been restarted."""
    job = Job(program, "steps", str(STEPS), str(STEP_NS))
    job.wait_lines(len(NAMES))
    number = wait_for("job", job_of_all)
    start_anew(lambda: job.wait_lines(len(job.lines) + 10 * len(NAMES)))
    again = wait_for("job after the start", job_of_all)
    stopped = conductorctl("stop", "--job", str(number))
    continued = conductorctl("continue", "--job", str(number))
    running = job.process.poll() is None
    return {
        "numbers": [number, again],
        "done": [stopped["done"], continued["done"]],
        "running": running,
        **job.end(),
    }


def killed(program: str, earlier: int) -> dict[str, Any]:
    """A job that is killed by a conductor that was started after it."""
    job = Job(program, "spin")
    job.wait_lines(len(NAMES))
    number = wait_for("job", job_of_all)
    start_anew(lambda: None)
    again = wait_for("job after the start", job_of_all)
    others = conductorctl("kill", "--job", str(earlier))
    running = job.process.poll() is None
    done = conductorctl("kill", "--job", str(number))
    return {
        "numbers": [number, again],
        "done": [others["done"], done["done"]],
        "running": running,
        **job.end(),
    }


def orphan(program: str) -> dict[str, Any]:
    """A job that only computes, whose tacetrun is killed with -9."""
    job = Job(program, "spin")
    job.wait_lines(len(NAMES))
    number = wait_for("job", job_of_all)
    job.process.kill()
    wait_for("end of the job everywhere", lambda: set(jobs().values()) == {0})
    return {"numbers": [number], **job.end()}


def main(program: str) -> None:
    wait_for("nodes", lambda: set(jobs()) == {*NAMES})
    first = goes_on(program)
    second = killed(program, first["numbers"][0])
    alone = orphan(program)
    third = Job(program, "steps", "10", str(STEP_NS))
    third.wait_lines(len(NAMES))
    number = wait_for("job", job_of_all)
    print(json.dumps([first, second, alone, {"numbers": [number], **third.end()}]))


if __name__ == "__main__":
    main(sys.argv[1])
