# SPDX-License-Identifier: BSD-2-Clause
"""Jobs whose tacetrun is connected to the conductor (docs/jobs.md): what a tacetrun is told of its nodes, how
a job ends without its tacetrun, what outlives a restart of the conductor, and which clients get in. On a wire
of its own (tests/fake_nodes.py); a tacetrun is a connection to the control socket here."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.fake_nodes import LIMIT_S, SERVICE, FakeNode, Wire, assert_plays, play
from tests.keys import MASTER, key_write
from tests.making import made

#: Ten answers a second, so that a node is silent three seconds after its last one.
OFTEN = ("--rate", "100", "--answer-every", "10")


class Tacetrun:
    """A connection to the conductor."""

    def __init__(self, wire: Wire, control: str = "control") -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(LIMIT_S)
        self.socket.connect(str(wire.folder / control))
        self.events: list[dict] = []

    def ask(self, request: str) -> dict:
        self.socket.send(request.encode())
        while True:
            answer = self.hear()
            if "event" not in answer:
                return answer
            self.events.append(answer)

    def hear(self) -> dict:
        return json.loads(self.socket.recv(65536))

    def begin(self, *nodes: FakeNode) -> int:
        """The job runs on these nodes at once."""
        names = " ".join(f"0.0.0.0/{node.name.decode()}" for node in nodes)
        self.job = self.ask(f"job begin {names}")["job"]
        for node in nodes:
            node.job, node.kills_to_end = self.job, 1
        return self.job

    def event(self) -> dict:
        return self.events.pop(0) if self.events else self.hear()

    def has_news(self) -> bool:
        return bool(select.select([self.socket], [], [], 0)[0])

    def close(self) -> None:
        self.socket.close()


def jobs(wire: Wire) -> tuple[int, int, int]:
    status = wire.status()
    return status["jobs"], status["lost_jobs"], status["ending_jobs"]


def kills_of(node: FakeNode, job: int) -> int:
    return sum(command.code == 3 and command.body == struct.pack(">I", job) for command in node.obeyed)


def asked(wire: Wire, count: int) -> None:
    """Waits for this number of beats that nodes answer."""
    wire.next_beats(count * wire.status()["answer_every"])


def scene_a_job_whose_tacetrun_is_gone_is_killed_until_it_has_ended(wire: Wire) -> None:
    nodes = [FakeNode(b"n1"), FakeNode(b"n2"), FakeNode(b"n3", job=9, kills_to_end=1)]
    wire.add(*nodes)
    wire.start(*OFTEN)
    tacetrun = Tacetrun(wire)
    job = tacetrun.begin(*nodes[:2])
    nodes[1].kills_to_end = 3
    assert jobs(wire) == (1, 0, 0)
    tacetrun.close()
    wire.until(lambda: jobs(wire) == (0, 0, 0))
    assert [node.job for node in nodes] == [0, 0, 9]
    assert [kills_of(node, job) for node in nodes] == [3, 3, 3]
    assert f"job {job}: its tacetrun is gone" in wire.messages.read_text()


def scene_the_list_of_nodes_says_whose_job_runs_there(wire: Wire) -> None:
    busy, other, idle = nodes = [FakeNode(b"n1"), FakeNode(b"n2"), FakeNode(b"n3")]
    wire.add(*nodes)
    wire.start(*OFTEN)
    tacetrun = Tacetrun(wire)
    tacetrun.begin(busy)
    other.job = 5  # of another conductor
    asked(wire, 3)
    listed = {node["name"]: node for node in wire.ctl("nodes")["nodes"]}
    assert (listed["n1"]["job"], listed["n1"]["uid"]) == (tacetrun.job, os.geteuid())
    assert listed["n2"]["job"] == 5 and not any("uid" in listed[name] for name in ("n2", "n3"))


def scene_a_node_that_answers_no_more_once_a_job_has_named_it_is_silent(wire: Wire) -> None:
    """Though it has not answered during the job."""
    node = FakeNode(b"n1")
    crowd = [FakeNode(b"c%d" % number) for number in range(100)]
    wire.add(*crowd, node)
    wire.start(*OFTEN)
    asked(wire, 2)
    node.answers = False
    tacetrun = Tacetrun(wire)
    tacetrun.begin(node)
    assert tacetrun.event() == {"event": "silent", "node": 0}


def scene_a_job_that_has_said_its_end_is_left_alone(wire: Wire) -> None:
    node = FakeNode(b"n1")
    wire.add(node)
    wire.start(*OFTEN)
    tacetrun = Tacetrun(wire)
    job = tacetrun.begin(node)
    assert tacetrun.ask("job end") == {"job": job}
    assert "no job" in tacetrun.ask("job end")["error"] and jobs(wire) == (0, 0, 0)
    tacetrun.close()
    asked(wire, 5)
    assert not kills_of(node, job)


def scene_a_tacetrun_hears_which_node_is_silent_or_has_restarted(wire: Wire) -> None:
    dies, starts_again, polls, loses, lives = nodes = [FakeNode(b"n%d" % number) for number in range(5)]
    wire.add(*nodes)
    polls.polls = True
    wire.start(*OFTEN)
    tacetrun = Tacetrun(wire)
    tacetrun.begin(*nodes)
    asked(wire, 3)
    assert not tacetrun.has_news()
    dies.answers = polls.answers = False
    loses.job = 0
    starts_again.restart()
    starts_again.job = 0
    heard = sorted((tacetrun.event() for _ in range(3)), key=lambda event: event["node"])
    assert heard == [
        {"event": "silent", "node": 0},
        {"event": "restarted", "node": 1},
        {"event": "without", "node": 3},
    ]
    polls.answers = dies.answers = True
    asked(wire, 5)
    dies.answers = False  # for the second time
    assert tacetrun.event() == {"event": "silent", "node": 0}
    assert not tacetrun.has_news() and lives.job


def scene_a_silent_node_is_killed_when_it_is_back(wire: Wire) -> None:
    node = FakeNode(b"n1")
    wire.add(node)
    wire.start(*OFTEN)
    tacetrun = Tacetrun(wire)
    job = tacetrun.begin(node)
    asked(wire, 2)
    with wire.lock:
        wire.nodes.clear()  # its cable is pulled
    tacetrun.close()
    asked(wire, 40)
    assert node.job == job and jobs(wire) == (0, 0, 1)
    with wire.lock:
        wire.nodes.append(node)
    wire.until(lambda: jobs(wire) == (0, 0, 0))
    assert node.job == 0


def scene_a_conductor_that_stands_still_ends_no_job(wire: Wire) -> None:
    node = FakeNode(b"n1")
    wire.add(node)
    process = wire.start(*OFTEN)
    tacetrun = Tacetrun(wire)
    tacetrun.begin(node)
    asked(wire, 2)
    process.send_signal(signal.SIGSTOP)
    time.sleep(6)
    process.send_signal(signal.SIGCONT)
    asked(wire, 5)
    assert not tacetrun.has_news() and jobs(wire) == (1, 0, 0)


def scene_another_conductor_ends_no_job(wire: Wire) -> None:
    node = FakeNode(b"n1")
    wire.add(node)
    wire.start(*OFTEN)
    tacetrun = Tacetrun(wire)
    tacetrun.begin(node)
    asked(wire, 2)
    other = wire.start("--rate", "100", interface="nodes", control="other")
    node.answers = False  # it follows the other one
    before = wire.status()["other_conductors"]
    wire.until(lambda: wire.status()["other_conductors"] > before + 500)
    other.terminate()
    other.wait()
    node.answers = True
    asked(wire, 5)
    assert not tacetrun.has_news() and jobs(wire) == (1, 0, 0)


def restarted(wire: Wire, *words: str) -> None:
    process = wire.conductor
    assert process
    process.kill()
    process.wait()
    wire.start(*words)


def scene_jobs_outlive_the_conductor(wire: Wire) -> None:
    stays, ends, late = nodes = [FakeNode(b"n1"), FakeNode(b"n2"), FakeNode(b"n3")]
    state = (*OFTEN, "--state", str(wire.folder))
    wire.add(*nodes)
    wire.start(*state)
    first, second, third = (Tacetrun(wire) for _ in nodes)
    numbers = [tacetrun.begin(node) for tacetrun, node in zip((first, second, third), nodes)]
    other = Tacetrun(wire)
    other.begin()
    other.close()  # it is being ended while the conductor restarts
    asked(wire, 2)
    restarted(wire, *state)
    assert [tacetrun.socket.recv(100) for tacetrun in (first, second)] == [b"", b""]
    assert jobs(wire)[:2] == (0, 3)
    back = Tacetrun(wire)
    assert "other nodes" in back.ask(f"job resume {numbers[0]} 0.0.0.0/n2")["error"]
    back.close()
    wire.until(lambda: jobs(wire)[1] == 2)
    back = Tacetrun(wire)
    assert "is ending it" in back.ask(f"job resume {numbers[0]} 0.0.0.0/n1")["error"]
    assert back.ask(f"job resume {numbers[1]} 0.0.0.0/n2") == {"job": numbers[1]}
    assert "has a job already" in back.ask(f"job resume {numbers[2]} 0.0.0.0/n3")["error"]
    assert "connected already" in Tacetrun(wire).ask(f"job resume {numbers[1]} 0.0.0.0/n2")["error"]
    new = Tacetrun(wire)
    assert new.begin() > max(numbers) and new.ask("job end")
    wire.until(lambda: jobs(wire) == (1, 0, 0))  # the third has not returned within 10 s
    assert "has not returned within 10 s" in wire.messages.read_text()
    assert (stays.job, ends.job, late.job) == (0, numbers[1], 0)
    ends.answers = False
    assert back.event() == {"event": "silent", "node": 0}


def scene_a_node_that_dies_while_the_conductor_restarts_is_noticed(wire: Wire) -> None:
    node = FakeNode(b"n1")
    polls = FakeNode(b"n2", polls=True)
    state = (*OFTEN, "--state", str(wire.folder))
    wire.add(node, polls)
    wire.start(*state)
    tacetrun = Tacetrun(wire)
    job = tacetrun.begin(node, polls)
    asked(wire, 2)
    node.answers = polls.answers = False
    restarted(wire, *state)
    back = Tacetrun(wire)
    assert back.ask(f"job resume {job} 0.0.0.0/n1 0.0.0.0/n2") == {"job": job}
    assert back.event() == {"event": "silent", "node": 0}
    polls.answers = True
    asked(wire, 5)
    assert not back.has_news()


def scene_a_file_of_jobs_that_is_damaged_is_named(wire: Wire) -> None:
    (wire.folder / "jobs").write_text("tacet-jobs 1\nhello\n")
    command = [SERVICE / "conductor", "--interface", "beats", "--key", wire.folder / "key"]
    command += ["--state", wire.folder, "--socket", wire.folder / "control"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    assert ran.returncode == 2 and f"{wire.folder}/jobs, line 2: the line is none of" in ran.stderr


def scene_more_than_a_thousand_clients_are_told_so_and_conductorctl_gets_in(wire: Wire) -> None:
    wire.start("--rate", "10")
    crowd = [Tacetrun(wire) for _ in range(1008)]
    begun = [tacetrun.begin() for tacetrun in crowd]
    assert len(set(begun)) == 1008
    late = Tacetrun(wire)
    assert "no room for more jobs" in late.ask("job begin")["error"]
    idle = [Tacetrun(wire) for _ in range(40)]  # those that are idle for longest make room
    for client in idle[-16:]:
        assert client.ask("status")["jobs"] == 1008
    assert wire.ctl("status")["clients"] == 1024 and wire.ctl("nodes")["nodes"] == []
    crowd.pop().ask("job end")
    assert late.socket.recv(100) == b"" and Tacetrun(wire).begin() > max(begun)


def scene_what_a_client_may_not_ask_is_refused(wire: Wire) -> None:
    wire.start("--rate", "10")
    client = Tacetrun(wire)
    for request, said in (
        ("job", "unknown request"),
        ("job x", "job takes"),
        ("job beginning", "job takes"),
        ("job begin n1", "named as 10.0.0.7/NAME"),
        ("job nodes 10.0.0.1", "no job"),
        ("job end", "no job"),
        ("job resume", "job takes"),
        ("job resume 0", "the job's number"),
        ("job resume x", "the job's number"),
        ("job resume 4294967296", "the job's number"),
    ):
        assert said in client.ask(request)["error"], request
    assert jobs(wire) == (0, 0, 0)
    assert client.ask("job resume 4294967295 10.0.0.1/n1") == {"job": 4294967295}
    assert client.ask("job nodes 10.0.0.2/n2  10.0.0.3 ") == {"job": 4294967295}


def as_user(wire: Wire, uid: int) -> Tacetrun:
    """A connection of this user, who may reach the socket."""
    wire.folder.chmod(0o755)
    wire.control.chmod(0o666)
    os.seteuid(uid)
    try:
        return Tacetrun(wire)
    finally:
        os.seteuid(0)


def users_take_no_other_user_s_job(wire: Wire) -> None:
    node = FakeNode(b"n1")
    state = (*OFTEN, "--state", str(wire.folder))
    wire.add(node)
    wire.start(*state)
    first = as_user(wire, 1001)
    job = first.begin(node)
    asked(wire, 2)
    restarted(wire, *state)
    request = f"job resume {job} 0.0.0.0/n1"
    assert "another user's job" in as_user(wire, 1002).ask(request)["error"]
    assert "does not know the job" in as_user(wire, 1002).ask("job resume 7")["error"]
    back = as_user(wire, 1001)
    assert back.ask(request) == {"job": job}
    asked(wire, 5)
    assert node.job == job and jobs(wire) == (1, 0, 0)


def users_fill_only_their_part(wire: Wire) -> None:
    wire.start(*OFTEN)
    crowd = [as_user(wire, 1001) for _ in range(128)]
    assert [tacetrun.begin() > 0 for tacetrun in crowd[:64]] == [True] * 64
    assert "a user may have 64 jobs" in crowd[64].ask("job begin")["error"]
    late = as_user(wire, 1001)
    assert "a user may have 128 connections" in late.hear()["error"] and late.socket.recv(100) == b""
    ctl = [SERVICE / "conductorctl", "--socket", wire.control, "status"]
    ran = subprocess.run(ctl, capture_output=True, text=True, user=1001, timeout=LIMIT_S)
    assert ran.returncode == 1 and "a user may have 128 connections" in ran.stderr
    other = as_user(wire, 1002)
    assert other.begin() and wire.ctl("status")["jobs"] == 65


def users_fill_only_their_part_of_the_nodes(wire: Wire) -> None:
    """16,384 in several jobs, and all with one name."""
    wire.start(*OFTEN)
    many = " 10.0.0.1/n1" * 256
    first, second, other = as_user(wire, 1001), as_user(wire, 1001), as_user(wire, 1002)
    for tacetrun in (first, second):
        assert tacetrun.ask(f"job begin{many}")["job"]
    for tacetrun in [first, second] * 31:
        assert "error" not in tacetrun.ask(f"job nodes{many}")
    said = "a user's jobs may have 16384 nodes"
    assert said in first.ask("job nodes 10.0.0.2")["error"]
    assert said in as_user(wire, 1001).ask("job begin 10.0.0.2")["error"]
    assert "error" not in other.ask(f"job begin{many}")
    assert second.ask("job end") and "error" not in first.ask(f"job nodes{many}")
    assert Tacetrun(wire).ask(f"job begin{many}")["job"]


def users_leave_commands_to_others(wire: Wire) -> None:
    """A node that never does them keeps acknowledged commands waiting."""
    node = FakeNode(b"n1")
    wire.add(node)
    wire.start(*OFTEN)
    node.lose_answers = 10**6
    user = [as_user(wire, 1001) for _ in range(10)]
    jobs_of = [tacetrun.ask("job begin")["job"] for tacetrun in user]
    asking = [as_user(wire, 1001) for _ in range(10)]
    for client, job in zip(asking, jobs_of):
        client.socket.send(f"within 100 kill job {job}".encode())
    wire.until(lambda: wire.status()["waiting_commands"] >= 2)
    wire.until(lambda: sum(client.has_news() for client in asking) == 7)
    refused = [client for client in asking if client.has_news()]
    assert all("too many commands of yours" in client.hear()["error"] for client in refused)
    assert "error" not in user[0].ask(f"one-way kill job {jobs_of[0]}")
    late = Tacetrun(wire)
    late.socket.send(b"within 100 stop")
    wire.until(lambda: wire.status()["waiting_commands"] == 3)


SCENES = sorted(name.removeprefix("scene_") for name in globals() if name.startswith("scene_"))


@pytest.fixture(scope="module")
def service() -> None:
    made("service")


@pytest.mark.parametrize("scene", SCENES)
def test_leases(scene: str, tmp_path: Path, service: None) -> None:
    assert_plays(__file__, scene, tmp_path)


def as_root(scene: str) -> None:
    """Plays with several users: with real root, in a folder that all of them can reach."""
    if os.geteuid() or subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode:
        pytest.skip("needs root, for connections of several users")
    with tempfile.TemporaryDirectory(prefix="conductor_leases.") as folder:
        key_write(Path(folder, "key"), MASTER.hex() + "\n")
        inside = ["unshare", "-n", sys.executable, __file__, scene, folder]
        ran = subprocess.run(inside, capture_output=True, text=True, timeout=500)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_user_takes_no_other_user_s_job(service: None) -> None:
    as_root("users_take_no_other_user_s_job")


def test_a_user_fills_only_a_part_of_the_conductor(service: None) -> None:
    as_root("users_fill_only_their_part")


def test_a_user_fills_only_a_part_of_the_nodes_of_jobs(service: None) -> None:
    as_root("users_fill_only_their_part_of_the_nodes")


def test_users_leave_commands_to_others(service: None) -> None:
    as_root("users_leave_commands_to_others")


if __name__ == "__main__":
    play(globals().get("scene_" + sys.argv[1]) or globals()[sys.argv[1]], Path(sys.argv[2]))
