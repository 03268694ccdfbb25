# SPDX-License-Identifier: BSD-2-Clause
"""What the conductor does for whom (docs/jobs.md, Users): two users, an operator, root, and a user in no
group of the conductor's, each as a real user of this machine."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests import waiting
from tests.keys import MASTER, key_write, node_lines, ticket
from tests.launch_client import LIMIT_S
from tests.launch_node import Job, Node
from tests.making import made

MAY_RUN, COMMANDS = 4790, 4791
#: User, group, supplementary groups.
ALICE, BOB = (4711, 4711, [MAY_RUN, 4799]), (4712, MAY_RUN, [])
OPERATOR, STRANGER = (4713, 4713, [MAY_RUN, COMMANDS]), (4714, 4714, [4799])
Who = tuple[int, int, list[int]]
#: Sends requests, prints the answers, and stays connected until its input ends.
ASKS = """
import socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
    client.connect(sys.argv[1])
    client.settimeout(60)
    for request in sys.argv[2:]:
        client.send(request.encode())
        print(client.recv(65536).decode().strip(), flush=True)
    sys.stdin.read()
"""


def become(who: Who) -> list[str]:
    uid, gid, groups = who
    more = ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
    return ["setpriv", "--reuid", str(uid), "--regid", str(gid), *more]


class Conductor:
    """With beats on a wire of its own."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.folder.chmod(0o755)
        for name in ("conductor", "conductorctl", "tacetrun"):
            shutil.copy(ROOT / "build/service" / name, self.folder)
        self.socket = self.folder / "socket"
        self.start()

    def start(self) -> None:
        words = [self.folder / "conductor", "--interface", "beats", "--rate", "100", "--socket", self.socket]
        words += ["--key", key_write(self.folder / "master", MASTER.hex())]
        words += ["--group", str(MAY_RUN), "--operators", str(COMMANDS)]
        links = "ip link add beats type veth peer name node; ip link set beats up; ip link set node up; "
        self.process = subprocess.Popen(
            ["unshare", "-n", "sh", "-c", links + 'exec "$@"', "sh", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None and "beats on" in self.process.stdout.readline()
        self.log: list[str] = []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line.strip())

    def wait_log(self, pattern: str) -> None:
        waiting.until(
            lambda: any(re.fullmatch(rf"conductor: {pattern}", line) for line in self.log), pattern, LIMIT_S
        )

    def ask(self, who: Who | None, *requests: str) -> list[dict]:
        before = become(who) if who else []
        words = [*before, "/usr/bin/python3", "-c", ASKS, self.socket, *requests]
        done = subprocess.run(words, input="", capture_output=True, text=True, timeout=LIMIT_S)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    @contextmanager
    def job_of(self, who: Who) -> Iterator[int]:
        """A job that the user has begun, until the end of the block."""
        words = [*become(who), "/usr/bin/python3", "-c", ASKS, str(self.socket), "job begin"]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["job"]
            process.communicate()

    def run(self, who: Who | None, name: str, *words: str) -> subprocess.CompletedProcess[str]:
        before = become(who) if who else []
        option = "--socket" if name == "conductorctl" else "--conductor"
        command = [*before, self.folder / name, option, self.socket, *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, cwd=self.folder)

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(LIMIT_S)
        shutil.rmtree(self.folder)


@pytest.fixture(scope="module")
def conductor() -> Iterator[Conductor]:
    if os.geteuid() != 0 or subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode:
        pytest.skip("not root here, and no namespace with several users")
    made("service")
    started = Conductor()
    yield started
    started.close()


#: What all members of the group may ask for, and what operators may.
FREE = ["status", "nodes 0"]
COMMANDED = [
    *("rate 100", "remove n1", "one-way stop", "within 1 continue", "one-way kill", "one-way count"),
    *("one-way hold", "one-way release", "one-way trace +timer", "one-way rating lapic 100"),
    *("one-way services 500", "page 525400000001 0 1", "nonsense"),
]


def refusal(answer: dict) -> str:
    error = answer.get("error", "")
    return error if " may do this" in error else ""


def test_users_ask_operators_command_and_root_has_the_keys(conductor: Conductor) -> None:
    for who in (ALICE, BOB):
        assert all("error" not in answer for answer in conductor.ask(who, *FREE))
        for request, answer in zip(COMMANDED, conductor.ask(who, *COMMANDED), strict=True):
            said = f"only root and members of the group {COMMANDS} may do this"
            assert refusal(answer) == said, request
    for who in (OPERATOR, None):
        answers = conductor.ask(who, *FREE, *COMMANDED)
        assert not any(map(refusal, answers)), answers
    for who in (ALICE, OPERATOR):
        (answer,) = conductor.ask(who, "key n1")
        assert refusal(answer) == "only root may do this" and "ticket" not in answer
        done = conductor.run(who, "conductorctl", "key", "n1")
        assert done.returncode == 1 and "only root may do this" in done.stderr and not done.stdout
    assert conductor.run(None, "conductorctl", "key", "n1").stdout == node_lines("n1")


def test_a_user_in_no_group_reaches_nothing(conductor: Conductor) -> None:
    done = conductor.run(STRANGER, "conductorctl", "status")
    assert done.returncode == 1 and "Permission denied" in done.stderr
    done = conductor.run(STRANGER, "tacetrun", "-w", "127.0.0.1:9", "/bin/true")
    assert done.returncode == 125 and "Permission denied" in done.stderr, done


def test_a_ticket_has_the_credentials_of_the_process_that_asks(conductor: Conductor) -> None:
    nonce = "0123456789abcdef"
    for who in (ALICE, BOB, OPERATOR):
        uid, gid, groups = who
        with conductor.job_of(who) as job:
            (answer,) = conductor.ask(who, f"ticket {nonce} n1 {job}")
            expires = int(answer["ticket"].split()[4])
            said = ticket(nonce, "n1", job=job, uid=uid, gid=gid, groups=groups, expires=expires)
            assert answer["ticket"] == said
            other = BOB if who is ALICE else ALICE
            (refused,) = conductor.ask(other, f"ticket {nonce} n1 {job}")
            assert refused == {"error": f"job {job} was not begun by uid {other[0]}"}


def test_a_user_ends_his_own_jobs_and_an_operator_all(conductor: Conductor) -> None:
    with conductor.job_of(ALICE) as job:
        forms = [f"one-way kill job {job}", f"within 1 kill job {job}", f"kill job {job}"]
        for answer in conductor.ask(BOB, *forms):
            assert answer == {"error": f"job {job} is a job of uid {ALICE[0]}, and you are uid {BOB[0]}"}
        (unknown,) = conductor.ask(BOB, "one-way kill job 5")
        assert unknown == {"error": f"no job 5 of uid {BOB[0]} is known"}
        for more in (
            "kill",
            f"stop job {job}",
            f"continue job {job}",
            f"kill job {job} ",
            f"kill job {job} 1",
        ):
            assert refusal(conductor.ask(ALICE, f"one-way {more}")[0]), more
        for who in (ALICE, OPERATOR, None):
            (answer,) = conductor.ask(who, f"one-way kill job {job}")
            assert answer["command"] == "kill" and answer["number"] > 0
            done = conductor.run(who, "conductorctl", "--one-way", "kill", "--job", str(job))
            assert done.stdout == "kill: goes with the next beats\n", done


def test_it_logs_who_has_begun_and_commanded_what(conductor: Conductor) -> None:
    time.sleep(1.1)  # else requests of the tests before may have used up this second's lines
    with conductor.job_of(ALICE) as job:
        conductor.ask(ALICE, f"one-way kill job {job}", "rate 7\x1b[31m", "status")
    conductor.ask(OPERATOR, "rate 100")
    conductor.ask(None, "key n1")
    conductor.wait_log(rf"uid 4711, pid \d+: begins job {job}")
    conductor.wait_log(rf"uid 4711, pid \d+: one-way kill job {job}")
    conductor.wait_log(r"uid 4711, pid \d+: rate 7\?\[31m: refused: only root and members of the group .*")
    conductor.wait_log(r"uid 4713, pid \d+: rate 100")
    conductor.wait_log(r"uid 0, pid \d+: key n1")
    assert not any("status" in line or MASTER.hex() in line for line in conductor.log)


def test_a_user_does_not_fill_the_log(conductor: Conductor) -> None:
    before = len(conductor.log)
    conductor.ask(BOB, *["rate 7"] * 5000)
    said = "requests of users were not logged: more than 20 of one user in a second"
    waiting.until(
        lambda: conductor.ask(BOB, "rate 7") and any(said in line for line in conductor.log), said, LIMIT_S
    )
    lines = [line for line in conductor.log[before:] if "uid 4712" in line]
    assert len(lines) < 5000


def test_a_user_who_fills_his_part_of_the_log_hides_nobody_else(conductor: Conductor) -> None:
    time.sleep(1.1)  # else he may have used up this second's lines before, and asks no more in the next one
    before = len(conductor.log)
    words = [*become(BOB), "/usr/bin/python3", "-c", ASKS, str(conductor.socket), *["rate 7"] * 30000]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as spammer:
        waiting.until(
            lambda: sum("uid 4712" in line for line in conductor.log[before:]) >= 20, "his lines", LIMIT_S
        )
        conductor.ask(ALICE, "rate 8")
        spammer.kill()
    conductor.wait_log(r"uid 4711, pid \d+: rate 8: refused: .*")


def test_tacetrun_runs_a_job_as_its_user(conductor: Conductor) -> None:
    """The node gets the user's numbers in a ticket that the conductor has made."""

    def run(job: Job) -> None:
        for rank in job.ranks:
            for which in ("out", "err"):
                job.stream(rank, which).close()
        job.say("started")
        job.end()

    with Node(run, need="ticket") as node:
        for who in (ALICE, BOB, None):
            done = conductor.run(who, "tacetrun", "-i", "none", "-w", node.address, "/bin/x")
            assert (done.returncode, done.stderr) == (0, ""), done
            uid, gid = (who[0], who[1]) if who else (0, os.getgid())
            assert node.jobs[-1].launch[3:5] == [str(uid), str(gid)]
            said = node.jobs[-1].launch[5]
            groups = who[2] if who else os.getgroups()
            assert sorted([] if said == "-" else map(int, said.split(","))) == sorted(groups)


def test_the_site_s_key_is_of_no_use_to_users(conductor: Conductor) -> None:
    """It is root's file: tacetrun --key of a user is refused by name."""
    done = conductor.run(ALICE, "tacetrun", "--key", "master", "-w", "127.0.0.1:9", "/bin/x")
    assert done.returncode == 125 and "the key master: Permission denied" in done.stderr
