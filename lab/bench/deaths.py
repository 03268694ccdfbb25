# SPDX-License-Identifier: BSD-2-Clause
"""`lab bench-deaths`: measures how long a death in a job is unknown, in a cluster in QEMU (tools/cluster),
for a program that sleeps and for one that only computes:

tacetrun -9   until the conductor hears no node with the job
restart       until a conductor that was killed and started again has the job's tacetrun back
cable         until tacetrun has ended and no other node has the job; then, from the cable's return on, until
              the node has ended the job, too
power         until tacetrun has ended and no other node has the job

Nodes answer about once a second, so half a second of each figure is the measurement's. Writes `deaths.json`
into `--out`.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from lab.common.errors import LabError
from lab.common.files import text_write
from lab.common.paths import APPS, REPORT, ROOT
from lab.common.text import table

SUMMARY = "Measure how long the death of tacetrun, a node or the conductor is unknown, in QEMU."

PROGRAMS = {"wait": "sleeps", "spin": "computes"}
ROWS = ("tacetrun -9", "restart", "cable", "cable's return", "power")
NODES = 3
LIMIT_S = 120.0
TICK_S = 0.05


# ---- Next to the cluster ----


def until(what: str, holds: Callable[[], Any]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not holds():
        if time.monotonic() > deadline:
            raise LabError(f"no {what} within {LIMIT_S:g} s")
        time.sleep(TICK_S)


def asked(request: str) -> dict[str, Any]:
    """Returns conductorctl's answer, without members if there is no conductor."""
    done = subprocess.run(["conductorctl", "--json", request], capture_output=True, text=True)
    return json.loads(done.stdout or "{}")


def jobs() -> dict[str, int]:
    return {node["name"]: node["job"] for node in asked("nodes").get("nodes", [])}


def pid_of(pattern: str) -> int:
    return int(subprocess.run(["pgrep", "-f", pattern], capture_output=True, text=True).stdout.split()[0])


def ip(*words: str) -> str:
    return subprocess.run([*words], capture_output=True, text=True, check=True).stdout


class Trial:
    """A job on these nodes, which are numbered from 1 on."""

    def __init__(self, program: str, mode: str, nodes: int) -> None:
        self.names = [f"node{number}" for number in range(1, nodes + 1)]
        words = [
            "tacetrun",
            "-i",
            "none",
            "-w",
            ",".join(self.names),
            "--within",
            "5",
            "--bcast",
            program,
            mode,
        ]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until("job", lambda: all(jobs().get(name) for name in self.names))
        self.began = time.monotonic()

    def since(self) -> float:
        return time.monotonic() - self.began

    def mark(self) -> None:
        self.began = time.monotonic()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        until("end of the job", lambda: not any(jobs().get(name) for name in self.names))

    def until_known(self, names: list[str]) -> float:
        """Waits until tacetrun has ended, and the job on these nodes."""
        until("end of tacetrun", lambda: self.process.poll() is not None)
        until("end of the job", lambda: not any(jobs().get(name) for name in names))
        return self.since()


def tacetrun_killed(program: str, mode: str, nodes: int) -> dict[str, float]:
    trial = Trial(program, mode, nodes)
    trial.mark()
    trial.process.send_signal(signal.SIGKILL)
    return {"tacetrun -9": trial.until_known(trial.names)}


def conductor_restarted(program: str, mode: str, nodes: int) -> dict[str, float]:
    trial = Trial(program, mode, nodes)
    pid = int(ip("pgrep", "-x", "conductor").split()[0])
    words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1]
    trial.mark()
    os.kill(pid, signal.SIGKILL)
    until("end of the conductor", lambda: not Path(f"/proc/{pid}/cmdline").exists() or not asked("status"))
    subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until("return of tacetrun", lambda: asked("status").get("jobs") == 1)
    taken = trial.since()
    until("return of the nodes", lambda: all(jobs().get(name) for name in trial.names))
    trial.end()
    return {"restart": taken}


def cable_pulled(program: str, mode: str, nodes: int) -> dict[str, float]:
    trial = Trial(program, mode, nodes)
    mac = f"52:54:00:01:00:{nodes:02x}"
    (data,) = {line.split()[2] for line in ip("bridge", "fdb", "show").splitlines() if line.startswith(mac)}
    time.sleep(1)  # for an answer with the job
    trial.mark()
    for card in (data, f"beats{nodes}"):
        ip("ip", "link", "set", card, "down")
    found = {"cable": trial.until_known(trial.names[:-1])}
    trial.mark()
    for card in (data, f"beats{nodes}"):
        ip("ip", "link", "set", card, "up")
    return {**found, "cable's return": trial.until_known(trial.names)}


def power_off(program: str, mode: str, nodes: int) -> dict[str, float]:
    trial = Trial(program, mode, nodes)
    time.sleep(1)
    trial.mark()
    os.kill(pid_of(f"ifname=beats{nodes},"), signal.SIGKILL)
    return {"power": trial.until_known(trial.names[:-1])}


def inside(program: str) -> None:
    """Prints the figures of each mode as a line of JSON. Each mode ends with a node less."""
    nodes = NODES
    for mode in PROGRAMS:
        until("nodes", lambda: len(jobs()) == NODES)
        found: dict[str, float] = {}
        for measure in (tacetrun_killed, conductor_restarted, cable_pulled, power_off):
            found |= measure(program, mode, nodes)
        print("deaths:", json.dumps({mode: found}), flush=True)
        nodes -= 1


# ---- The command ----


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("bench-deaths", description=SUMMARY)
    parser.add_argument("--out", type=Path, default=REPORT, help="folder for the results")
    parser.add_argument(
        "--program",
        type=Path,
        default=APPS.parent / "tests/jobs.musl",
        help="path of jobs (make test-programs)",
    )


def measure(program: Path) -> dict[str, dict[str, float]]:
    """Runs the cluster and returns s by mode and row. LabError with the cluster's message."""
    code = "import sys; from lab.bench import deaths; deaths.inside(sys.argv[1])"
    words = [
        str(ROOT / "tools/cluster"),
        "--nodes",
        str(NODES),
        "--",
        sys.executable,
        "-c",
        code,
        str(program),
    ]
    ran = subprocess.run(
        words, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    found: dict[str, dict[str, float]] = {}
    for line in ran.stdout.splitlines():
        if line.startswith("deaths: "):
            found |= json.loads(line.removeprefix("deaths: "))
    if set(found) != set(PROGRAMS):
        raise LabError(f"the cluster ended with status {ran.returncode}:\n{ran.stderr.rstrip()[-2000:]}")
    return found


def run(options: argparse.Namespace, out: TextIO | None = None) -> int:
    found = measure(options.program)
    rows = [[row, *(f"{found[mode][row]:.1f} s" for mode in PROGRAMS)] for row in ROWS]
    print(table(["until everybody knows", *PROGRAMS.values()], rows), file=out or sys.stdout)
    text_write(options.out / "deaths.json", json.dumps(found, indent=2) + "\n")
    return 0
