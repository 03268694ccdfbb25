# SPDX-License-Identifier: BSD-2-Clause
"""The command of a cluster with Linux nodes, for test_cluster.py: runs jobs on them by the launch protocol
and prints as JSON what came of it. The word: a static program to send."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.launch_client import PORT, Control, Ended, Job

ALL = os.environ["TACET_NODES"].split()
NAMES = [name for name in ALL if name.startswith("linux")]
KEY = bytes.fromhex(Path("/run/beats.key").read_text())
BUSYBOX = "/bin/busybox"
#: What runs on a node, but for the kernel's own threads: each one's name and parent.
PROCESSES = (
    "for one in /proc/[0-9]*; do [ -z \"$(tr -d '\\0' <$one/cmdline 2>/dev/null)\" ] || "
    "cut -d ' ' -f 2,4 $one/stat 2>/dev/null; done; ls /proc/$PPID/fd | wc -l"
)


def job(name: str, *args: str, **settings: Any) -> Job:
    return Job((name, PORT), BUSYBOX, args, key=KEY, **settings)


def each(*args: str, **settings: Any) -> dict[str, Ended]:
    """The same on all nodes, one after the other."""
    return {name: job(name, *args, **settings).finish() for name in NAMES}


def conductorctl(*words: str) -> dict[str, Any]:
    done = subprocess.run(["conductorctl", "--json", *words], capture_output=True, text=True)
    return json.loads(done.stdout or "{}") | {"status": done.returncode}


def nodes() -> dict[str, list[Any]]:
    """State and ranks of each with Linux."""
    shown = conductorctl("nodes")["nodes"]
    assert {one["name"] for one in shown} <= set(ALL), shown
    return {one["name"]: [one["state"], one["ranks"]] for one in shown if one["name"] in NAMES}


def tacetrun(*words: str) -> list[Any]:
    """Its status, and its lines, sorted."""
    done = subprocess.run(["tacetrun", "--bcast", "--label", *words], capture_output=True, text=True)
    return [done.returncode, sorted(done.stdout.splitlines()), done.stderr]


def together() -> dict[str, Ended]:
    """One job on all nodes at once."""
    size = f"size={len(NAMES)}"
    script = (
        "uname -s; hostname; cat /mnt/word; echo $TACET_RANK $TACET_SIZE; grep -c linux /etc/hosts;"
        "cat /proc/$PPID/oom_score_adj /proc/self/oom_score_adj"
    )
    jobs = {name: job(name, "sh", "-c", script, words=[f"first={i}", size]) for i, name in enumerate(NAMES)}
    return {name: one.finish() for name, one in jobs.items()}


def commanded() -> dict[str, Any]:
    """Jobs that the conductor stops, lets go on, and kills."""
    jobs = {name: job(name, "sleep", "100000").started() for name in NAMES}
    done = [conductorctl("stop")["status"]]
    stopped = nodes()
    done.append(conductorctl("continue")["status"])
    running = nodes()
    done.append(conductorctl("kill")["status"])
    ends = {name: one.finish().lines for name, one in jobs.items()}
    return {"done": done, "stopped": stopped, "running": running, "ends": ends}


def main(sent: Path) -> None:
    # All nodes have to be known to the conductor, or it waits for some in vain.
    while len(conductorctl("nodes")["nodes"]) < len(ALL):
        threading.Event().wait(0.1)
    before = each("sh", "-c", PROCESSES)
    ran = together()
    program = sent.read_bytes()
    statuses = {
        name: Job((name, PORT), "sent", ["sent", "5"], key=KEY, program=program).finish().status
        for name in NAMES
    }
    script = "id -u; id -g; id -G; cat /proc/self/cgroup"
    users = each("sh", "-c", script, number=9, user={"uid": 4711, "gid": 4712, "groups": [4713]})
    wrong = Job((NAMES[0], PORT), BUSYBOX, ["true"], key=bytes(16)).finish()
    found = {
        "ran": {name: [one.lines, [text.decode() for text in one.out.values()]] for name, one in ran.items()},
        "sent": statuses,
        "users": {name: one.out[0].decode().split() for name, one in users.items()},
        "wrong_key": wrong.refused,
        "names": tacetrun(BUSYBOX, "hostname"),
        "fails": tacetrun(str(sent), "5"),
        "commanded": commanded(),
        "states": {name: Control((name, PORT)).fields["state"] for name in NAMES},
    }
    after = each("sh", "-c", PROCESSES)
    found["processes"] = [{name: one.out[0].decode() for name, one in of.items()} for of in (before, after)]
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
