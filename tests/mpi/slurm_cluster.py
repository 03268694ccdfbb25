# SPDX-License-Identifier: BSD-2-Clause
"""A cluster of Slurm's on this machine, for the time of a test: slurmctld and four times slurmd, each with a
network and a /dev/shm of its own, so that ranks of two nodes share neither. Everything is in namespaces,
which end, with all their processes, when the process that opened them ends.

Run as a program (in the namespaces, by Cluster) it starts the daemons and then runs commands: a line of JSON
for each, {"words", "environment", "seconds"}, and a line of JSON for its end.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

NODES = 4
CPUS = 8
#: In seconds: until all nodes are idle, even on a busy machine.
START_S = 300
#: The first process of the namespaces, a shell, reaps orphans.
INIT = ["sh", "-c", '"$@"; exit $?', "init"]
NAMESPACES = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]

CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(10.77.0.254)
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/linear
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
MessageTimeout=100
TCPTimeout=60
SlurmdTimeout=600
SlurmctldPort=17000
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
SlurmdParameters=config_overrides
NodeName=node[1-{nodes}] NodeHostname={host} NodeAddr=10.77.0.[1-{nodes}] Port=17001 CPUs={cpus}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Ended(NamedTuple):
    status: int
    said: str
    errors: str


def namespaces() -> list[str] | None:
    """The command in which root, or a user with subordinate IDs to map, runs the cluster; or None.
    Daemons set their groups, if only to root's."""
    ways = [[]] if os.geteuid() == 0 else [["--map-root-user", "--map-auto"], ["--map-root-user"]]
    for way in ways:
        command = ["unshare", *way, *NAMESPACES]
        probe = "ip link set lo up && [ $(cat /proc/self/setgroups) = allow ]"
        if subprocess.run([*command, "sh", "-c", probe], capture_output=True).returncode == 0:
            return command
    return None


class Cluster:
    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            [*command, *INIT, sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.answer()

    def answer(self) -> dict:
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, "the cluster has ended"
        said = json.loads(line)
        assert "error" not in said, said["error"]
        return said

    def run(self, *words: object, seconds: float = 300, **environment: str) -> Ended:
        """Returns srun's outcome; status -1 if it has timed out."""
        assert self.process.stdin
        asked = {"words": [str(word) for word in words], "environment": environment, "seconds": seconds}
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        return Ended(**self.answer())

    def end(self) -> None:
        """Ends the cluster by closing its input; remaining processes end with its namespaces."""
        assert self.process.stdin
        self.process.stdin.close()
        try:
            self.process.wait(60)
        finally:
            self.process.kill()
            self.process.wait()


# ---- In the namespaces ----


def ip(words: str) -> None:
    subprocess.run(["ip", *words.split()], check=True)


def node_start(number: int, environment: dict[str, str]) -> subprocess.Popen:
    """Starts slurmd once its end of a cable is in its network."""
    name = f"node{number}"
    script = f"mount -t tmpfs shm /dev/shm && echo there && read go && exec slurmd -D -N {name}"
    node = subprocess.Popen(
        ["unshare", "--net", "--mount", "sh", "-c", script],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert node.stdin and node.stdout and node.stdout.readline() == "there\n"
    ip(f"link add cable{number} type veth peer name net0 netns {node.pid}")
    ip(f"link set cable{number} master switch up")
    for words in (f"addr add 10.77.0.{number}/24 dev net0", "link set net0 up", "link set lo up"):
        subprocess.run(["nsenter", "-t", str(node.pid), "-n", "ip", *words.split()], check=True)
    node.stdin.write("go\n")
    node.stdin.flush()
    return node


def wait_until_idle(environment: dict[str, str], folder: Path) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        words = ["sinfo", "--noheader", "--states=idle", "--format=%D"]
        done = subprocess.run(words, env=environment, capture_output=True, text=True)
        if done.stdout.strip() == str(NODES):
            return
        time.sleep(0.2)
    logs = "\n".join(f"{path.name}: {path.read_text()[-1500:]}" for path in sorted(folder.glob("*.log")))
    raise RuntimeError(f"not all nodes are idle after {START_S} s:\n{logs}")


def start(folder: Path, environment: dict[str, str]) -> list[subprocess.Popen]:
    (folder / "state").mkdir()
    text = CONFIGURATION.format(host=socket.gethostname(), folder=folder, nodes=NODES, cpus=CPUS)
    (folder / "slurm.conf").write_text(text)
    ip("link set lo up")
    ip("link add switch type bridge")
    ip("addr add 10.77.0.254/24 dev switch")
    ip("link set switch up")
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    daemons = [subprocess.Popen(["slurmctld", "-D"], env=environment, **quiet)]
    daemons += [node_start(number, environment) for number in range(1, NODES + 1)]
    wait_until_idle(environment, folder)
    return daemons


def command_run(asked: dict, environment: dict[str, str]) -> Ended:
    process = subprocess.Popen(
        asked["words"],
        env={**environment, **asked["environment"]},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        said, errors = process.communicate(timeout=asked["seconds"])
        return Ended(process.returncode, said, errors)
    except subprocess.TimeoutExpired:
        process.terminate()
        said, errors = process.communicate()
        return Ended(-1, said, errors)


def main() -> None:
    foreign = ("SLURM_", "PMI", "OMPI_", "TACET_MPI")
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))
    environment = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    environment["SLURM_CONF"] = str(folder / "slurm.conf")
    environment["PATH"] += ":/usr/sbin:/sbin"
    os.environ["PATH"] = environment["PATH"]
    try:
        daemons = start(folder, environment)
        print(json.dumps({"daemons": len(daemons)}), flush=True)
        for line in sys.stdin:
            print(json.dumps(command_run(json.loads(line), environment)._asdict()), flush=True)
    except (RuntimeError, OSError, AssertionError, subprocess.CalledProcessError) as error:
        print(json.dumps({"error": str(error)}), flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
