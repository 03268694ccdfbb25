# SPDX-License-Identifier: BSD-2-Clause
"""Clusters one after the other, in each of which something else is killed, for test_cluster_ends.py. Runs as
the first process of namespaces of its own: it sees all that a cluster leaves, and nothing of others.

    unshare … python3 cluster_cycles.py FOLDER NODES CYCLES PROGRAM

CYCLES says what is killed in each, with commas. It boots the nodes, starts a job, kills, and, if the
cluster lives on, runs another job on it. FOLDER has what clusters say. Prints as JSON what was found. If a
cycle cannot go on, all end by an AssertionError with what the cluster has said.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 900.0
BRIDGES = ("tacet", "beats")
SERVERS = ("conductor", "dnsmasq", "diod")
#: What is killed, one in each cycle.
KINDS = ("job", "node", "conductor", "dnsmasq", "diod", "rack", "SIGTERM", "SIGKILL")
#: A node's death ends the job, and so does an interrupt.
NO_STATUS = 125
INTERRUPTED = 128 + signal.SIGINT
#: Of a cluster that has been killed, by what was.
ENDED = {"rack": NO_STATUS, "SIGTERM": 128 + signal.SIGTERM, "SIGKILL": -signal.SIGKILL}
#: How often the job is started and ended if nothing else is killed.
JOBS = 6

#: The cluster's command: a job for each line of its input.
COMMAND = """
read -r words
while [ "$words" ]; do
    tacetrun -i none $words
    echo "status $?"
    read -r words
done
"""


def wait_for(what: str, found: Callable[[], Any]) -> Any:
    """Waits until it finds something; returns that."""
    deadline = time.monotonic() + LIMIT_S
    while not (result := found()):
        assert time.monotonic() < deadline, f"no {what} within {LIMIT_S:g} s"
        time.sleep(0.02)
    return result


def entry(pid: int, name: str) -> str:
    """Of a process; nothing of one that has gone."""
    try:
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    except OSError:
        return ""


def processes() -> dict[int, str]:
    """All that there are in here, but for this one."""
    found = {int(path.name): entry(int(path.name), "comm").strip() for path in Path("/proc").glob("[0-9]*")}
    return {pid: name for pid, name in found.items() if name and pid != os.getpid()}


def named(name: str) -> list[int]:
    return [pid for pid, its in processes().items() if its.startswith(name)]


def descriptors(pid: int) -> dict[str, int]:
    """How many of each kind a process has."""
    kinds: Counter[str] = Counter()
    for path in Path(f"/proc/{pid}/fd").glob("*"):
        try:
            kinds[re.sub(r"\[\d+\]$", "", os.readlink(path))] += 1
        except OSError:
            pass
    return dict(kinds)


def field(pid: int, name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB", entry(pid, "status"), re.M)
    return int(found[1]) if found else 0


def interfaces(pid: int | str) -> list[str]:
    return sorted(re.findall(r"^ *([^ :|]+):", Path(f"/proc/{pid}/net/dev").read_text(), re.M))


def addresses(pid: int) -> list[str]:
    """Of this machine on the cluster's networks. IPv6's also say which Ethernet address a bridge has."""
    lines = [line.split() for line in Path(f"/proc/{pid}/net/if_inet6").read_text().splitlines()]
    return sorted(f"{words[5]} {words[0]}" for words in lines if words[5] in BRIDGES)


def sockets(pid: int | str) -> list[str]:
    """Local ones that have a name."""
    lines = Path(f"/proc/{pid}/net/unix").read_text().splitlines()[1:]
    return sorted({words[7] for line in lines if len(words := line.split()) > 7})


def outside(temporary: Path) -> dict[str, Any]:
    """What a cluster could leave on the machine: all of it, as nothing else runs in here. A namespace lives
    as long as a process in it, a descriptor or a mount."""
    # Children of processes that have ended become this one's.
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
    places = (Path("/dev/shm"), Path("/run"), temporary)
    return {
        "processes": sorted(processes().values()),
        "interfaces": interfaces("self"),
        "mounts": sorted(line.split(" ", 3)[3] for line in entry(os.getpid(), "mountinfo").splitlines()),
        "sockets": sockets("self"),
        "files": sorted(str(path) for place in places for path in place.rglob("*")),
        "descriptors": descriptors(os.getpid()),
    }


def inside() -> dict[str, Any]:
    """What a job, or something that was killed, could leave in a cluster that lives on."""
    servers = {name: pids[0] for name in SERVERS if (pids := named(name))}
    rack = parent_of_servers()
    return {
        "processes": sorted(processes().values()),
        "interfaces": interfaces(rack),
        "addresses": addresses(rack),
        "sockets": sockets(rack),
        "mounts": len(entry(rack, "mountinfo").splitlines()),
        "descriptors": {name: descriptors(pid) for name, pid in {**servers, "rack": rack}.items()},
        "data_kb": {name: field(pid, "VmData") for name, pid in servers.items()},
        "resident_kb": {name: field(pid, "VmRSS") for name, pid in servers.items()},
    }


def parent_of_servers() -> int:
    """The first process of the cluster's house: QEMU's parent."""
    qemu = named("qemu-system")
    return int(entry(qemu[0], "stat").rpartition(")")[2].split()[1])


class Cluster:
    """One of them, from its start to its end."""

    def __init__(self, folder: Path, number: int, nodes: int) -> None:
        self.folder = folder
        self.temporary = folder / "temporary"
        self.said = {name: folder / f"cycle{number}.{name}" for name in ("out", "err")}
        with self.said["out"].open("wb") as out, self.said["err"].open("wb") as err:
            self.process = subprocess.Popen(
                ["tools/cluster", "--nodes", str(nodes), "--logs", folder / f"logs{number}"]
                + ["--", "sh", "-c", COMMAND],
                cwd=ROOT,
                env={**os.environ, "TMPDIR": str(self.temporary)},
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=err,
                text=True,
                start_new_session=True,
            )

    def text(self, name: str = "out") -> str:
        return self.said[name].read_text(errors="replace")

    def wait(self, what: str, found: Callable[[], Any]) -> Any:
        def still() -> Any:
            result = found()
            assert result or self.process.poll() is None, f"no {what}:\n{self.text()}{self.text('err')}"
            return result

        return wait_for(what, still)

    def say(self, words: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{words}\n")
        self.process.stdin.flush()

    def start(self, nodes: int, program: Path) -> int:
        """The job; returns once all of its ranks run: tacetrun's number."""
        before = self.text().count("waits\n")
        self.say(f"-N {nodes} --silence 3 --bcast {program} wait")
        self.wait("job", lambda: self.text().count("waits\n") == before + nodes)
        return named("tacetrun")[0]

    def statuses(self) -> list[int]:
        return [int(status) for status in re.findall(r"^status (\d+)$", self.text(), re.M)]

    def ended(self, jobs: int) -> int:
        """Waits until this number of jobs has ended; the status of the last."""
        return int(self.wait("status", lambda: len(self.statuses()) == jobs and self.statuses())[-1])


def settled(one: Callable[[], dict[str, Any]], like: dict[str, Any] | None = None) -> dict[str, Any]:
    """What there is once it no longer changes, or is as before."""
    last, since = one(), time.monotonic()
    while last != like and time.monotonic() < since + 5:
        time.sleep(0.1)
        if (now := one()) != last:
            last, since = now, time.monotonic()
    return last


def cycle(folder: Path, number: int, nodes: int, kind: str, program: Path) -> dict[str, Any]:
    begun = time.monotonic()
    cluster = Cluster(folder, number, nodes)
    found: dict[str, Any] = {"kind": kind, "nodes": nodes}
    cluster.wait("cluster", lambda: cluster.text("err").count(" runs\n") == nodes)
    found["booted_s"] = round(time.monotonic() - begun, 1)
    before = settled(inside)
    job = cluster.start(nodes, program)
    if kind in ENDED:
        if kind == "rack":
            os.kill(parent_of_servers(), signal.SIGKILL)
        else:
            cluster.process.send_signal(signal.Signals[kind])
        found["status"] = cluster.process.wait(LIMIT_S)
        found["said"] = cluster.text("err")
        return found
    if kind == "node":
        victim = named("qemu-system")[-1]
        os.kill(victim, signal.SIGKILL)
    else:
        for pid in named(kind) if kind in SERVERS else []:
            os.kill(pid, signal.SIGKILL)
        # It goes on without what was killed.
        time.sleep(0.5)
        assert not cluster.statuses(), cluster.text("err")
        os.kill(job, signal.SIGINT)
    jobs = 1
    found["job_status"] = cluster.ended(jobs)
    found["living"] = [before, settled(inside, before)]
    while kind == "job" and jobs < JOBS:
        os.kill(cluster.start(nodes, program), signal.SIGINT)
        jobs += 1
        assert cluster.ended(jobs) == INTERRUPTED, cluster.text("err")
        found["living"].append(settled(inside, before))
    # Without the conductor tickets are made from its key, and nodes are named.
    words = f"-N {nodes - (kind == 'node')} --within 30"
    if kind == "conductor":
        words += " --key /run/beats.key -w " + ",".join(f"node{i}" for i in range(1, nodes + 1))
    cluster.say(f"{words} --bcast /bin/busybox echo next")
    found["next_status"] = cluster.ended(jobs + 1)
    found["next"] = cluster.text().count("next\n")
    cluster.say("")
    found["status"] = cluster.process.wait(LIMIT_S)
    found["said"] = cluster.text("err")
    return found


def main(words: list[str]) -> None:
    folder, nodes, cycles, program = Path(words[0]), int(words[1]), words[2], Path(words[3])
    assert os.getpid() == 1, "not the first process"
    temporary = folder / "temporary"
    temporary.mkdir()
    found = []
    for number, kind in enumerate(cycles.split(",")):
        before = outside(temporary)
        begun = time.monotonic()
        one = cycle(folder, number, nodes, kind, program)
        one["outside"] = [before, settled(lambda: outside(temporary), before)]
        one["seconds"] = round(time.monotonic() - begun, 1)
        found.append(one)
        print(f"{number} {kind}: {one['seconds']} s", file=sys.stderr, flush=True)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
