# SPDX-License-Identifier: BSD-2-Clause
"""Commands to nodes in lockstep (docs/lockstep.md): the conductor's own code has them done by all nodes at
one beat, to the nanosecond of the nodes' time, in each run the same.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import APPS, program
from test_lockstep import STREAMS, WRONG, lockstep, parts, said

from lab.bench.lockstep import FIRST_BEAT_NS
from lab.formats import ftq, klog

assert parts  # a fixture of all tests here
US, MS = 1_000, 1_000_000
#: Their two runs are made once.
pytestmark = pytest.mark.xdist_group("lockstep commands")

NODES = 3
SIGNAL_OF_STOP = 19
STOP, CONTINUE, KILL, SERVICES = 1, 2, 3, 7
#: When: all after the first beats have made node and conductor known to each other.
STOP_NS, CONTINUE_NS, SERVICES_NS, KILL_NS = 1_300 * MS, 1_400 * MS, 1_420 * MS, 1_460 * MS
WINDOW_US = 700
#: In instructions, of a CPU that computes: to the event of the command, and on to the ranks' signal.
COMMAND_MAX_NS, SIGNAL_MAX_NS = 2_500, 8_000
QUANTUM = ["--quantum", "500us", "--beats", "50", "--first-beat", f"{FIRST_BEAT_NS}ns"]
#: More than there is time for.
COMPUTES = [str(APPS / "ftq"), "-n", "100000", "-s"]
SIGKILL_STATUS = 137


def commands(*pairs: tuple[int, str]) -> list[str]:
    return [word for at_ns, words in pairs for word in ("--command", f"{at_ns}ns {words}")]


@dataclass(frozen=True)
class Event:
    cpu: int
    at_ns: int
    words: tuple[int, int]


def events(path: Path, name: str) -> list[Event]:
    """Those of this name in a node's flight log; ticks of its clock are ns of the virtual one."""
    log = klog.read(path)
    one = log.select(log.kind == [kind.name for kind in log.kinds].index(name))
    rows = zip(one.cpu.tolist(), one.ticks.tolist(), one.words.tolist(), strict=True)
    return [Event(cpu, at_ns, tuple(words)) for cpu, at_ns, words in rows]


@dataclass(frozen=True)
class Kept:
    done: subprocess.CompletedProcess[str]
    logs: list[Path]
    streams: dict[str, bytes]

    def outcomes(self) -> list[str]:
        """All that is said of the run but how long it took here."""
        return [line for line in self.done.stderr.splitlines() if "it took" not in line]


def run(folder: Path, *words: str) -> Kept:
    folder.mkdir(exist_ok=True)
    done = lockstep(folder, *words)
    logs = sorted((folder / "logs").glob("node*.klog"))
    names = [f"node{number}.{stream}" for number in range(1, len(logs) + 1) for stream in STREAMS]
    return Kept(done, logs, {name: (folder / "logs" / name).read_bytes() for name in names})


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Kept]:
    """A job that is stopped, goes on, makes room for the service, and is killed; twice."""
    folder = tmp_path_factory.mktemp("commands")
    words = [
        *QUANTUM,
        *("--nodes", str(NODES), "--service", f"{program('service.musl')} computing"),
        *commands(
            (KILL_NS, "kill"),
            (STOP_NS, "stop"),
            (CONTINUE_NS, "continue"),
            (SERVICES_NS, f"services {WINDOW_US}"),
        ),
        *COMPUTES,
    ]
    return [run(folder / name, *words) for name in ("first", "second")]


def test_two_runs_with_commands_are_the_same_bytes(runs: list[Kept]) -> None:
    first, second = runs
    assert len(first.logs) == NODES, said(first.done)
    assert first.outcomes() == second.outcomes()
    assert first.done.stdout == second.done.stdout
    for name, content in first.streams.items():
        assert content == second.streams[name], name


def test_what_is_commanded_is_done_at_one_instant_by_all_nodes(runs: list[Kept]) -> None:
    due_ns = {STOP: STOP_NS, CONTINUE: CONTINUE_NS, SERVICES: SERVICES_NS, KILL: KILL_NS}
    ones = [events(log, "command") for log in runs[0].logs]
    assert [event.words for event in ones[0]] == [(code, 0) for code in due_ns]
    for event, of_nodes in zip(ones[0], zip(*ones, strict=True), strict=True):
        assert 0 < event.at_ns - due_ns[event.words[0]] < COMMAND_MAX_NS, event
        assert set(of_nodes) == {event}
    stops = [[one for one in events(log, "signal") if one.words[0] == SIGNAL_OF_STOP] for log in runs[0].logs]
    assert len(stops[0]) == 1 and all(one == stops[0] for one in stops), stops
    assert 0 < stops[0][0].at_ns - STOP_NS < SIGNAL_MAX_NS, stops


def test_all_services_have_the_same_window(runs: list[Kept]) -> None:
    windows = [events(log, "window") for log in runs[0].logs]
    assert len(windows[0]) == 1 and all(one == windows[0] for one in windows), windows
    ends = [events(log, "window_end") for log in runs[0].logs]
    assert len(ends[0]) == 1 and all(one == ends[0] for one in ends), ends
    assert windows[0][0].words[0] == 1 and 0 < windows[0][0].at_ns - SERVICES_NS < COMMAND_MAX_NS
    assert 0 < ends[0][0].at_ns - SERVICES_NS - WINDOW_US * US < SIGNAL_MAX_NS, ends


def test_the_outcome_of_each_command_is_said_with_the_times_of_the_nodes(runs: list[Kept]) -> None:
    done = runs[0].done
    assert done.returncode == SIGKILL_STATUS, said(done)
    rows = re.findall(
        r"^lockstep: (.+): sent at (\S+) s, done by all (\d) at (\S+) s, after (.+)$", done.stderr, re.M
    )
    assert [(words, sent_s) for words, sent_s, *_ in rows] == [
        ("stop", "1.3"),
        ("continue", "1.4"),
        (f"services {WINDOW_US}", "1.42"),
        ("kill", "1.46"),
    ], said(done)
    for _, sent_s, nodes, done_s, beats in rows[:3]:
        # Answers are there at the next gate.
        assert int(nodes) == NODES and float(done_s) - float(sent_s) == pytest.approx(500e-6, rel=1e-6)
        assert beats == "a beat"


def test_what_a_job_loses_while_it_is_stopped_is_exact(tmp_path: Path) -> None:
    pairs = (STOP_NS, "stop"), (CONTINUE_NS, "continue")
    kept = run(tmp_path, *QUANTUM, "--nodes", "2", *commands(*pairs), str(APPS / "ftq"), "-n", "1500", "-s")
    assert kept.done.returncode == 0, said(kept.done)
    for number in (1, 2):
        data = ftq.parse(kept.streams[f"node{number}.out"].decode(), "out")[0]
        assert 0 < ftq.summarise(data).largest_loss_ns - (CONTINUE_NS - STOP_NS) < 20 * US


def test_a_command_is_repeated_until_all_nodes_hear_it(tmp_path: Path) -> None:
    """No card has its link before a second."""
    words = ["--quantum", "500us", "--beats", "50", "--until", "1200ms", "--nodes", "2"]
    done = lockstep(tmp_path, *words, *commands((200 * MS, "stop")), *COMPUTES)
    found = re.search(
        r"^lockstep: stop: sent at 0.2 s, done by all 2 at (\S+) s, after (\d+) beats$", done.stderr, re.M
    )
    assert found and 1 < float(found[1]) < 1.2 and int(found[2]) > 40, said(done)


def test_who_could_not_do_a_command_is_named_and_what_comes_too_late(tmp_path: Path) -> None:
    pairs = (STOP_NS, "trace +nothing"), (STOP_NS + MS, "--one-way trace +timer"), (KILL_NS, "kill")
    kept = run(tmp_path, *QUANTUM, "--cpus", "2", *commands(*pairs, (2_000 * MS, "stop")), *COMPUTES)
    text = said(kept.done)
    assert kept.done.returncode == SIGKILL_STATUS, text
    refusal = "nodes could not do the command: node1 (Invalid argument), node2 (Invalid argument)"
    assert f"lockstep: trace +nothing: sent at 1.3 s: {refusal}\n" in text
    assert "lockstep: --one-way trace +timer: sent at 1.32 s, one-way\n" in text
    # Killed before all CPUs had said so: silence says it.
    assert re.search(
        r"^lockstep: kill: sent at 1.46 s, done by all 2 at [5-6]\S* s, after \d+ beats$", text, re.M
    )
    assert "lockstep: stop: not sent: all nodes had ended before\n" in text


def test_a_command_that_fails_is_the_run_s_status(tmp_path: Path) -> None:
    words = [
        *QUANTUM,
        "--until",
        "1400ms",
        "--nodes",
        "1",
        *commands((STOP_NS, "rating nothing 7")),
        *COMPUTES,
    ]
    done = lockstep(tmp_path, *words)
    assert done.returncode == 1 and "nodes could not do the command: node1" in done.stderr, said(done)


def test_a_service_that_is_no_program_is_refused_in_one_line(tmp_path: Path) -> None:
    done = lockstep(tmp_path, "--service", "/nowhere/daemon", *COMPUTES)
    assert done.returncode == WRONG and done.stderr.count("\n") == 1, said(done)
    assert "no such program: /nowhere/daemon" in done.stderr, said(done)
