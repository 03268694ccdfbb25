# SPDX-License-Identifier: BSD-2-Clause
"""tools/cluster: something of it is killed while a job runs. What is left goes on, says what is gone, and
leaves nothing when it ends (docs/cluster.md)."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from cluster_cycles import ENDED, INTERRUPTED, KINDS, NO_STATUS, SERVERS
from conftest import ROOT, program

from tests.making import made

SCRIPT = Path(__file__).with_name("cluster_cycles.py")
HOUSE = "unshare -r --net --pid --mount --ipc --fork --kill-child --mount-proc".split()
UNAVAILABLE = 3
#: What conductor_anew.py has the first job print.
STEPS = 300
#: Places of its own, which are empty: what is left in them is the cluster's.
EMPTY = 'mount -n -t tmpfs shm /dev/shm && mount -n -t tmpfs run /run && exec "$@"'
#: By what a server's memory may differ from one job to the next: pages that it touches for the first time.
TOUCHED_KB = 256


def cycles(tmp_path: Path, nodes: int, kinds: list[str]) -> list[dict[str, Any]]:
    """What was found in each."""
    made("service")
    if subprocess.run([*HOUSE, "sh", "-c", EMPTY, "sh", "true"], capture_output=True).returncode != 0:
        pytest.skip("no namespaces without root here (unshare -rn --pid --mount)")
    words = [sys.executable, SCRIPT, tmp_path, str(nodes), ",".join(kinds), program("jobs.musl")]
    done = subprocess.run([*HOUSE, "sh", "-c", EMPTY, "sh", *words], cwd=ROOT, capture_output=True, text=True)
    print(done.stderr)  # how long each took
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check_living(kind: str, before: dict[str, Any], after: dict[str, Any]) -> None:
    """In a cluster that lives on, what has been killed is gone, and all else is as before the job."""
    gone = {"node": ["qemu-system-x86"], "job": []}.get(kind, [kind])
    left, had = Counter(after["processes"]), Counter(before["processes"])
    assert had - left == Counter(gone) and not left - had, (before["processes"], after["processes"])
    assert set(after["interfaces"]) <= set(before["interfaces"])
    assert set(after["sockets"]) <= set(before["sockets"])
    assert after["mounts"] == before["mounts"] and after["addresses"] == before["addresses"]
    for name, kinds in after["descriptors"].items():
        assert all(count <= before["descriptors"][name][what] for what, count in kinds.items()), (name, kinds)
    for name in SERVERS:
        if name != kind:
            assert after["data_kb"][name] == before["data_kb"][name], name
            assert after["resident_kb"][name] <= before["resident_kb"][name] + TOUCHED_KB, name


def check(cycle: dict[str, Any]) -> None:
    kind, nodes = cycle["kind"], cycle["nodes"]
    before, after = cycle["outside"]
    assert before["processes"] == [] and before["interfaces"] == ["lo"] and before["files"] == []
    assert after == before, (kind, {name: value for name, value in after.items() if value != before[name]})
    if kind in ENDED:
        assert cycle["status"] == ENDED[kind], cycle
        assert ("first process has been killed" in cycle["said"]) == (kind == "rack"), cycle["said"]
        return
    first, *later = cycle["living"]
    for state in later:
        check_living(kind, first, state)
    assert cycle["job_status"] == (NO_STATUS if kind == "node" else INTERRUPTED), cycle["said"]
    assert cycle["next_status"] == cycle["status"] == 0, cycle["said"]
    assert cycle["next"] == nodes - (kind == "node"), cycle["said"]
    if kind == "node":
        assert "has stopped, status 125: QEMU was killed by signal 9" in cycle["said"]
        assert "no longer answers the conductor's beats" in cycle["said"] or "timed out" in cycle["said"]
    if kind in SERVERS:
        assert f"cluster: {kind} has been killed by signal 9: " in cycle["said"], cycle["said"]


def test_what_is_killed_in_a_cluster_is_named_and_nothing_of_it_remains(tmp_path: Path) -> None:
    for cycle in cycles(tmp_path, 2, ["job", "conductor"]):
        check(cycle)


@pytest.mark.long
@pytest.mark.limit(600, 14400)
def test_twenty_four_clusters_leave_nothing(tmp_path: Path) -> None:
    """Four nodes each; all that can be killed is, three times."""
    found = cycles(tmp_path, 4, [*KINDS] * 3)
    assert len(found) == 24
    for cycle in found:
        check(cycle)


def test_jobs_outlive_the_conductor_and_obey_the_one_that_is_started_anew(tmp_path: Path) -> None:
    """On nodes with Tacet and with Linux: output and status are whole, numbers stay and do not come again. A
    job that computes ends if its tacetrun is killed."""
    made("service", "build/linux/version")
    script = [sys.executable, str(Path(__file__).with_name("conductor_anew.py")), str(program("jobs.musl"))]
    words = ["tools/cluster", "--nodes", "2", "--linux", "1", "--logs", str(tmp_path / "logs"), "--", *script]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    if done.returncode == UNAVAILABLE and "does not work here" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    goes_on, killed, orphan, last = json.loads(done.stdout)
    ranks = 3
    assert Counter(goes_on["lines"]) == Counter(
        f"rank {r} step {i}" for r in range(ranks) for i in range(STEPS)
    )
    for rank in range(ranks):
        own = [line for line in goes_on["lines"] if line.startswith(f"rank {rank} ")]
        assert own == [f"rank {rank} step {i}" for i in range(STEPS)]
    assert goes_on["status"] == 42 and goes_on["running"] and goes_on["done"] == [ranks, ranks], goes_on
    assert killed["status"] == 128 + signal.SIGKILL and killed["running"], killed
    assert killed["done"] == [ranks, ranks] and killed["lines"] == ["spins"] * ranks, killed
    assert last["status"] == 42 and len(last["lines"]) == 10 * ranks, last
    assert orphan["status"] == -signal.SIGKILL and orphan["lines"] == ["spins"] * ranks, orphan
    numbers = [one["numbers"] for one in (goes_on, killed, orphan, last)]
    assert all(len({*own}) == 1 for own in numbers) and len({own[0] for own in numbers}) == 4, numbers
    # A job needs no attention: its cluster says which server has gone, and tacetrun nothing.
    assert done.stderr.count("cluster: conductor has been killed by signal 9") == 1, done.stderr
