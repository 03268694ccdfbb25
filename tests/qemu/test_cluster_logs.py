# SPDX-License-Identifier: BSD-2-Clause
"""The flight logs of all nodes, held at one beat and fetched over the beats' wire, from nodes whose CPUs all
compute; and as pictures (docs/flight-log.md).

QEMU's nodes share this machine's CPUs, so a beat comes to them as late as that likes: what is compared is
numbers and order, not times.
"""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from conftest import program
from test_cluster import built, cluster, said  # noqa: F401

from lab.cli import dispatch as lab
from lab.flight_log.chrome import node_chrome
from lab.formats.klog import FlightLog
from lab.formats.klog_nodes import read_folder, together

#: How many events a rank's CPU keeps, of those that are on.
KEPT = 1023


def kinds_of(log: FlightLog) -> list[str]:
    return [log.kinds[kind].name for kind in log.kind]


@pytest.mark.usefixtures("built")
def test_the_logs_of_computing_nodes_have_the_same_interval(tmp_path: Path) -> None:
    script = str(Path(__file__).with_name("logs_of_cluster.py"))
    words = ("--cpus", "2", "--", sys.executable, script, str(program("jobs.musl")), str(tmp_path / "klog"))
    done = cluster(tmp_path, *words)
    assert done.returncode == 0, said(done)
    found = json.loads(done.stdout)
    computing = found["computing"]
    assert [status for status, _, _ in computing["logs"]] == [0, 0] and computing["kill"] == 0, said(done)
    # Ranks that compute were not ended, stopped or asked for anything.
    assert all(node["ranks"] == 2 and node["state"] == "running" for node in computing["states"]), said(done)
    folders = [tmp_path / "klog" / str(i) for i in range(2)]
    held = []
    for folder in folders:
        report = json.loads((folder / "nodes.json").read_text())
        assert (
            sorted(node["name"] for node in report["nodes"]) == ["node1", "node2"] and not report["missing"]
        )
        held.append({node["beat"] for node in report["nodes"]})
        nodes = read_folder(folder)
        for node in nodes:
            names = kinds_of(node.log)
            assert len(node.log.cpus) == 2 and node.log.clock_hz > 0
            assert all(part.kept + part.lost > 0 and part.kept <= KEPT for part in node.log.cpus)
            # The beat of the hold is the last that the log has; a node that stood still takes a later one.
            heard = node.log.of("beat")[:, 0].tolist()
            assert heard[-1] in held[-1] and heard == sorted(set(heard))
            assert "interrupt" in names and int(node.log.time_ns[-1]) <= node.local_ns
        interval = together(nodes)
        # From where both listen on they have the same beats, but for those that each says it has lost.
        beats = {name: log.of("beat").tolist() for name, log in interval.logs.items()}
        first = max(own[0][0] for own in beats.values())
        last = min(own[-1][0] for own in beats.values())
        numbers = [{number for number, _ in own if first <= number <= last} for own in beats.values()]
        lost = sum(missing for own in beats.values() for number, missing in own if number >= first)
        common = sorted(numbers[0] & numbers[1])
        assert common and len(numbers[0] ^ numbers[1]) <= lost, (beats, lost)
        trace = node_chrome(interval.logs)["traceEvents"]
        tracks = {(event["pid"], event["tid"]) for event in trace if event["name"] == "thread_name"}
        assert tracks == {(node, cpu) for node in range(2) for cpu in range(2)}
    # Logs are on one line: a beat comes to all before the one after next does to any. Beats of before a card
    # was started come to it at once; where this machine lets a node stand still, they are late.
    live = computing["between"][0]["sequence"]
    interval = together(read_folder(folders[1]))
    beats_at = {number: of for number, of in interval.beats().items() if len(of) == 2 and number > live}
    times = [beats_at[number] for number in sorted(beats_at)]
    in_order = [max(one.values()) < min(later.values()) for one, later in zip(times, times[2:])]
    assert in_order and sum(in_order) >= len(in_order) / 2, times
    # Between the two the logs went on, and each of them has that it was released.
    assert max(held[0]) < min(held[1])
    for node in read_folder(folders[1]):
        assert "log_release" in kinds_of(node.log) and max(node.log.of("beat")[:, 0]) > max(held[0])
    out = io.StringIO()
    assert lab.main(["klog", str(folders[1]), "--last", "1"], out=out) == 0
    assert " node1  " in out.getvalue() and " node2  " in out.getvalue()
    assert found["same"] == {"node1": True, "node2": True}, said(done)
    assert all(status["stray_pages"] == status["forged"] == 0 for status in computing["between"]), said(done)
