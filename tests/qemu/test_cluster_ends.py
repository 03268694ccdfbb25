# SPDX-License-Identifier: BSD-2-Clause
"""tools/cluster: something of it is killed while a job runs. What is left goes on, says what is gone, and
leaves nothing when it ends (docs/cluster.md)."""

from __future__ import annotations

import json
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
    """Of a cluster that lives on: what has been killed is gone, all else is as before the job."""
    gone = {"node": ["qemu-system-x86"], "job": []}.get(kind, [kind])
    left, had = Counter(after["processes"]), Counter(before["processes"])
    assert had - left == Counter(gone) and not left - had, (before["processes"], after["processes"])
    assert set(after["interfaces"]) <= set(before["interfaces"])
    assert set(after["sockets"]) <= set(before["sockets"])
    assert after["mounts"] == before["mounts"]
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
        assert "its network does not answer: it is dead, or cut off" in cycle["said"]
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
