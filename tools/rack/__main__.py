# SPDX-License-Identifier: BSD-2-Clause
"""The first process of a cluster's house: `python3 tools/rack PIPE PIPE WORDS…`, started by house.py. It
brings the cluster up, runs the command, and ends; everything in the house ends with it. The first pipe
reaches its end when house.py ends. Into the second pipe this process writes a byte when it ends normally."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])

import network

import qemu
from rack import arguments, layout, services
from rack.arguments import Plan
from rack.lines import Stream
from rack.nodes import ENDED, NO_STATUS, RUNS, STATES, Node

INTERRUPTED = 130
NO_READER = 141


class Cluster:
    """All nodes, and the messages about them."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.out, self.err = Stream(sys.stdout.buffer), Stream(sys.stderr.buffer)
        self.news = threading.Condition()
        self.nodes = [Node(number, plan, self.out, self.err, self.changed) for number in plan.numbers]
        self._said: dict[str, int] = {}

    def say(self, text: str) -> None:
        self.err.say(f"cluster: {text}")

    def changed(self) -> None:
        with self.news:
            self.news.notify_all()

    def served(self, line: str) -> None:
        for node in self.nodes:
            node.served(line)

    def start(self) -> None:
        space = network.Here()
        for server in services.start(self.plan, space, self.served):
            threading.Thread(target=lambda one=server: self.say(one.end()), daemon=True).start()
        for node in self.nodes:
            node.thread.start()

    def wait(self, state: int, limit_s: float | None) -> bool:
        """Wait until all nodes have reached this state; report each step. False if the time is up before."""
        deadline = None if limit_s is None else time.monotonic() + limit_s
        with self.news:
            while True:
                self._tell()
                if all(node.state >= state for node in self.nodes):
                    return True
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return False
                self.news.wait(left)

    def _tell(self) -> None:
        """Report each node whose state has changed."""
        for node in self.nodes:
            if self._said.get(node.name, 0) == node.state:
                continue
            self._said[node.name] = node.state
            if node.state < ENDED:
                self.say(f"{node.name} {STATES[node.state]}")
                continue
            if failure := node.failure():
                for line in failure[:-1]:
                    self.err.say(f"{node.name}: {line}")
                self.say(f"{node.name} {failure[-1]}")
            else:
                self.say(f"{node.name} {STATES[ENDED]}")

    def watch(self) -> None:
        """Report changes of nodes from another thread while a command runs."""
        threading.Thread(target=self.wait, args=(ENDED, None), daemon=True).start()

    def missing(self) -> int:
        """Name the nodes that have not come up, with the ends of their consoles. Returns their number."""
        late = [node for node in self.nodes if node.state < RUNS]
        for node in late:
            for line in node.tail():
                self.err.say(f"{node.name}: {line}")
            self.say(
                f"{node.name} is not up after {self.plan.boot_limit_s:g} s (--boot-limit): it "
                f"{STATES[node.state]}"
            )
        broken = [node for node in self.nodes if node.state == ENDED and node_broke(node)]
        return len(late) + len(broken)

    def worst(self) -> int:
        return max(node.status for node in self.nodes)


def node_broke(node: Node) -> bool:
    """Whether a node that has ended stopped without its program's end."""
    return node.result is None or node.result.outcome != "exit"


def environment(plan: Plan) -> dict[str, str]:
    """The environment of the command or shell."""
    return {
        **os.environ,
        "TACET_CONDUCTOR": str(layout.SOCKET),
        "TACET_SHARE": str(plan.share or layout.SHARE),
        "TACET_NODES": " ".join(map(layout.name_of, plan.numbers)),
        "PATH": f"{layout.SERVICE}:{os.environ.get('PATH', '/usr/bin:/bin')}:/usr/sbin:/sbin",
    }


def run_command(cluster: Cluster) -> int:
    """Run the command, or a shell. Returns its status in a shell's form."""
    plan = cluster.plan
    words = list(plan.command) or [os.environ.get("SHELL", "/bin/sh")]
    if not plan.command:
        share = plan.share or layout.SHARE
        cluster.say(
            f"use tacetrun and conductorctl; nodes have {share} at {layout.PLACE}; the cluster ends with "
            "this shell"
        )
    # The command handles the terminal's interrupt; it does not inherit this handler.
    signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        status = subprocess.run(words, env=environment(plan)).returncode
    except OSError as error:
        cluster.say(f"{words[0]}: {error.strerror}")
        return 127 if isinstance(error, FileNotFoundError) else 126
    return 128 - status if status < 0 else status


def run(plan: Plan) -> int:
    services.run_own()
    no_processes = services.processes_own()
    tempfile.tempdir = str(layout.RUN)
    plan.logs.mkdir(parents=True, exist_ok=True)
    cluster = Cluster(plan)
    several = "s" * (len(plan.numbers) > 1)
    linux = f", {plan.linux} of them with Linux" if plan.linux else ""
    cluster.say(
        f"{len(plan.numbers)} node{several}{linux}, {plan.rate} beats a second; consoles are in {plan.logs}"
    )
    if no_processes:
        cluster.say(
            f"cannot mount /proc: {no_processes}: ps and pkill see all processes of this machine, with other "
            "numbers"
        )
    cluster.start()
    cluster.wait(RUNS, plan.boot_limit_s)
    if cluster.missing() and not plan.wait:
        return NO_STATUS
    if plan.wait:
        if any(node.state < RUNS for node in cluster.nodes):
            return NO_STATUS
        cluster.wait(ENDED, None)
        return cluster.worst()
    cluster.watch()
    return run_command(cluster)


def ends_with(pipe: int) -> None:
    """End this process, and so the house, when the process that made it has ended. Runs in a thread."""
    os.read(pipe, 1)
    os._exit(128 + signal.SIGTERM)


def main(words: Sequence[str]) -> int:
    threading.Thread(target=ends_with, args=(int(words[0]),), daemon=True).start()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return run(arguments.parse(words[2:]))
    except network.Unavailable as error:
        problem, status = str(error), arguments.UNAVAILABLE
    except qemu.RunnerError as error:
        problem, status = str(error), arguments.WRONG
    except KeyboardInterrupt:
        problem, status = "interrupted", INTERRUPTED
    except BrokenPipeError:
        return NO_READER
    except OSError as error:
        name = f"{error.filename}: " if error.filename is not None else ""
        problem, status = f"{name}{error.strerror or error}", arguments.WRONG
    try:
        print(f"tools/cluster: {problem}", file=sys.stderr, flush=True)
    except OSError:
        pass
    return status


if __name__ == "__main__":
    # The threads of running nodes end with the process, and so do their machines.
    ended = main(sys.argv[1:])
    try:
        os.write(int(sys.argv[2]), b"\0")
    except BrokenPipeError:
        pass  # the process that started this one has ended before
    os._exit(ended)
