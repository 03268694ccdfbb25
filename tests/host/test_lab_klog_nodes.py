# SPDX-License-Identifier: BSD-2-Clause
"""Flight logs of several nodes on one time line, on folders made here as `conductorctl klog` makes them."""

from __future__ import annotations

import io
import json
import random
import struct
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from test_lab_klog import HZ, NUMBER, file_of

from lab.cli import dispatch as lab
from lab.formats.klog import KlogError
from lab.formats.klog_nodes import read_folder, together

#: The conductor's time at each node's boot, and by how much it runs faster than the node's.
BOOTS = {"early": (10**18, 0), "late": (10**18 + 700_000, 0), "slow": (10**18 + 300_000, 10**-4)}
HOLD = 10**18 + 5_000_000


def local_of(name: str, global_ns: int) -> int:
    boot, drift = BOOTS[name]
    return round((global_ns - boot) / (1 + drift))


def folder_of(path: Path, lost: dict[str, int] | None = None, **more: Any) -> Path:
    """Each node has a mark, at the same global times, on both of its CPUs; CPU 1 may have lost older ones."""
    path.mkdir(exist_ok=True)
    entries = []
    for name in BOOTS:
        times = [HOLD - 10**6 * i for i in range(4, 0, -1)]
        ticks = [local_of(name, time) * HZ // 10**9 for time in times]
        marks = [(tick, "mark", i, 0) for i, tick in enumerate(ticks)]
        gone = (lost or {}).get(name, 0)
        data = file_of(marks, [])
        if gone:
            data = file_of(marks, marks[gone:], lost=gone)
        (path / f"{name}.klog").write_bytes(data)
        drift = round(BOOTS[name][1] * 2**32)
        clocks = {"local_ns": local_of(name, HOLD), "global_ns": HOLD, "drift": drift}
        entries.append({"name": name, "file": f"{name}.klog", "beat": 7, **clocks, **more.get(name, {})})
    (path / "nodes.json").write_text(json.dumps({"nodes": entries, "missing": []}))
    return path


def shown(*words: str | Path) -> str:
    out = io.StringIO()
    assert lab.main(["klog", *map(str, words)], out=out) == 0
    return out.getvalue()


def test_the_same_moment_of_all_nodes_is_at_the_same_time(tmp_path: Path) -> None:
    interval = together(read_folder(folder_of(tmp_path / "logs")))
    # From the boot of the node that was started last on, for none has lost anything.
    assert interval.begin_ns == pytest.approx(BOOTS["late"][0], abs=2)
    assert interval.begin_ns + interval.length_ns == HOLD
    for name, log in interval.logs.items():
        assert len(log) == 4, name
        for time_ns, (number, _) in zip(log.time_ns.tolist(), log.words.tolist()):
            assert interval.begin_ns + time_ns == pytest.approx(HOLD - 10**6 * (4 - number), abs=3)


def test_only_what_all_have_is_kept(tmp_path: Path) -> None:
    held = {"global_ns": HOLD - 1_500_000, "local_ns": local_of("early", HOLD - 1_500_000)}
    interval = together(read_folder(folder_of(tmp_path / "logs", lost={"late": 1}, early=held)))
    assert interval.begin_ns == pytest.approx(HOLD - 3 * 10**6, abs=2)
    assert interval.begin_ns + interval.length_ns == HOLD - 1_500_000
    assert {name: sorted(set(log.words[:, 0].tolist())) for name, log in interval.logs.items()} in (
        {"early": [1, 2], "late": [1, 2], "slow": [1, 2]},
        {"early": [2], "late": [1, 2], "slow": [2]},  # the first one's time is rounded
        {"early": [1, 2], "late": [1, 2], "slow": [2]},
        {"early": [2], "late": [1, 2], "slow": [1, 2]},
    )
    nodes = read_folder(folder_of(tmp_path / "logs"))
    last = together(nodes, last_ns=1_200_000)
    assert last.length_ns == 1_200_000 and all(len(log) == 1 for log in last.logs.values())


def test_logs_that_have_no_time_together_are_refused(tmp_path: Path) -> None:
    early = {"global_ns": HOLD - 4_500_000, "local_ns": local_of("early", HOLD - 4_500_000)}
    folder = folder_of(tmp_path / "logs", lost={"slow": 2}, early=early)
    with pytest.raises(KlogError, match=r"no time in common: that of slow begins \d+ ns after that of early"):
        together(read_folder(folder))


def test_nothing_before_an_earlier_release_is_kept(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "logs")
    path = folder / "slow.klog"
    log = path.read_bytes()
    at = log.index(struct.pack("<II", NUMBER["mark"], 0) + struct.pack("<QQ", 1, 0))
    changed = log[:at] + struct.pack("<II", NUMBER["map"], 0) + log[at + 8 :]
    path.write_bytes(changed.replace(b"map".ljust(24, b"\0"), b"log_release".ljust(24, b"\0"), 1))
    interval = together(read_folder(folder))
    assert interval.begin_ns == pytest.approx(HOLD - 3 * 10**6, abs=3)


def test_the_table_and_the_trace_name_the_node(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "logs")
    table = shown(folder).splitlines()
    assert "12 events of 3 nodes within 0.004300 s, which all logs cover" in table[0]
    assert table[4].split()[:4] == ["time_ns", "node", "cpu", "event"] and len(table) == 5 + 12
    times = [int(row.split()[0]) for row in table[5:]]
    assert times == sorted(times) and {row.split()[1] for row in table[5:]} == set(BOOTS)
    assert len(shown(folder, "--cpu", "1").splitlines()) == 5
    assert len(shown(folder, "--from", "4000000").splitlines()) == 5
    summary = shown(folder, "--summary").splitlines()
    assert summary[4].split()[:3] == ["node", "cause", "cpu"] and len(summary) == 6 + 3
    shown(folder, "--last", "0.0025", "--chrome", tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    processes = {event["pid"]: event["args"]["name"] for event in trace if event["name"] == "process_name"}
    tracks = {(event["pid"], event["tid"]) for event in trace if event["name"] == "thread_name"}
    marks = [event for event in trace if event["ph"] == "i"]
    assert sorted(processes.values()) == sorted(BOOTS) and tracks == {
        (p, c) for p in range(3) for c in range(2)
    }
    assert len(marks) == 6 and {event["pid"] for event in marks} == {0, 1, 2}


def test_beats_are_compared(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "logs")
    for name in BOOTS:
        path = folder / f"{name}.klog"
        path.write_bytes(path.read_bytes().replace(b"mark\0", b"beat\0", 1))
    assert "4 beats reached all nodes, each within 0.0 us" in shown(folder)


@pytest.mark.parametrize(
    ("change", "says"),
    (
        ({"file": "../early.klog"}, "is not the name of a file"),
        ({"file": ".."}, "is not the name of a file"),
        ({"file": ""}, "is not the name of a file"),
        ({"file": 7}, "not of type str"),
        ({"name": None}, "not of type str"),
        ({"name": "a\x1b[2J"}, "is not the name of a file"),
        ({"name": "late", "file": "late.klog"}, "is listed twice"),
        ({"local_ns": "0"}, "not of type int"),
        ({"local_ns": True}, "not of type int"),
        ({"global_ns": 1 << 63}, "out of range for a clock"),
        ({"drift": 0.5}, "not of type int"),
        ({"file": "nothing.klog"}, "No such file"),
        ({"file": "nodes.json"}, "not a flight log"),
    ),
)
def test_a_folder_that_is_wrong_is_refused(change: dict[str, Any], says: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "logs", early=change)
    with pytest.raises(KlogError, match=says):
        read_folder(folder)


def test_nodes_of_one_name_go_by_their_files(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "logs", early={"name": "same"}, slow={"name": "same"})
    assert [node.name for node in read_folder(folder)] == ["same", "late", "slow"]


@pytest.mark.parametrize(
    "text", ("", "[]", "{}", '{"nodes": []}', '{"nodes": [3]}', '{"nodes": 3}', "[" * 10**5)
)
def test_a_report_that_is_none_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "nodes.json").write_text(text)
    with pytest.raises(KlogError):
        read_folder(tmp_path)


def test_what_is_wrong_is_said_with_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = folder_of(tmp_path / "logs")
    for words, says in (
        ((tmp_path,), "give a folder that `conductorctl klog"),
        ((folder, "--last", "0"), "more than 0 and at most 1e9 seconds"),
        ((folder, "--last", "nan"), "more than 0 and at most 1e9 seconds"),
        ((folder / "late.klog", "--last", "1"), "is for a folder of logs"),
    ):
        assert lab.main(["klog", *map(str, words)]) != 0
        assert says in capsys.readouterr().err


def test_whatever_changes_in_a_report_it_is_read_or_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "logs")
    whole = (folder / "nodes.json").read_bytes()
    chance = random.Random(3)
    for _ in range(300):
        changed = bytearray(whole)
        for _ in range(chance.randint(1, 3)):
            changed[chance.randrange(len(changed))] = chance.choice(b'0123456789"{}[],:-.eE /\\')
        (folder / "nodes.json").write_bytes(changed)
        try:
            together(read_folder(folder))
        except KlogError:
            pass
