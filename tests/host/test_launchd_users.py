# SPDX-License-Identifier: BSD-2-Clause
"""Whose jobs tacet-launchd runs (docs/jobs.md): tickets, keys, and what a job's processes may do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests import waiting
from tests.keys import MASTER, derive, key_write, node_lines, ticket
from tests.launch_client import LIMIT_S, Control, Job
from tests.launchd import BUSYBOX, LAUNCHD, Daemon
from tests.making import made


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    made("service")


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    started = Daemon()
    yield started
    started.close()


# ---- Tickets and keys ----


def refused(daemon: Daemon, line: str) -> str:
    control = Control(daemon.node)
    control.send(line.encode())
    (said,) = control.lines()
    assert said.startswith("refused ")
    return said.removeprefix("refused ")


def test_who_has_the_key_may_start_jobs_and_nobody_else(daemon: Daemon) -> None:
    control = Control(daemon.node)
    assert control.greeting[3] == "ticket"
    assert refused(daemon, "launch 9 1 0 0 - 0 -\n").startswith("this node has a key")
    wrong = "the ticket is wrong: it was made with another key, or for another node, nonce, job or user"
    assert refused(daemon, f"launch 9 1 0 0 - {2**40} {'0' * 32}\n") == wrong
    assert Job(daemon.node, BUSYBOX, ["true"], key=bytes(16)).finish().refused == wrong
    beats = derive(MASTER, "tacet beats")
    assert Job(daemon.node, BUSYBOX, ["true"], key=beats).finish().refused == wrong
    # Its own, for another connection.
    assert refused(daemon, f"launch 9 {ticket(control.nonce, 'n1')}\n") == wrong
    assert Job(daemon.node, BUSYBOX, ["true"]).finish().status == 0


def test_a_ticket_is_for_one_node_job_and_user_and_not_for_long(daemon: Daemon) -> None:
    """Each part of it is changed after it was made."""
    for part, other in ((0, "2"), (1, "4711"), (2, "4711"), (3, "4711"), (3, "-"), (4, str(2**40))):
        control = Control(daemon.node)
        words = ticket(control.nonce, "n1", groups=[8, 9]).split()
        words[part] = other
        control.send(f"launch 9 {' '.join(words)}\n".encode())
        (said,) = control.lines()
        assert said.startswith("refused the ticket is wrong"), (part, said)
    control = Control(daemon.node)
    assert refused(daemon, f"launch 9 {ticket(control.nonce, 'n2')}\n").startswith("the ticket is wrong")
    old = Job(daemon.node, BUSYBOX, ["true"], user={"expires": int(time.time()) - 86400}).finish().refused
    assert re.fullmatch(
        r"the ticket expired 86\d\d\d s ago by this node's clock; a ticket is valid for 60 s", old
    )
    job = Job(daemon.node, BUSYBOX, ["true"], number=7, user={"job": 8}).finish()
    assert job.refused == "request: job=7, but its ticket is for job 8"
    assert Job(daemon.node, BUSYBOX, ["true"], user={"groups": [1] * 256}).finish().status == 0


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (node_lines("n1")[:-1], ""),
        (node_lines("n1")[:-2], "it must hold two lines, `beats` and `ticket`"),
        (node_lines("n1")[:40], "it must hold two lines"),
        (MASTER.hex(), "it must hold two lines"),
        (node_lines("n1") + "x\n", "it must hold two lines"),
        ("".join(reversed(node_lines("n1").splitlines(True))), "it must hold two lines"),
        (" " * 1000, "it must hold two lines"),
        ("", "it is empty"),
    ],
)
def test_a_file_of_keys_that_is_not_whole_is_refused(tmp_path: Path, content: str, why: str) -> None:
    keys = key_write(tmp_path / "k", content)
    if not why:
        Daemon("--key", keys).close()
        return
    done = subprocess.run([LAUNCHD, "--key", keys], capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 2 and why in done.stderr and str(tmp_path / "k") in done.stderr, done


# ---- Users ----

USER, GROUP, OTHERS = 4711, 4712, [4713, 4714]
USERS = {"uid": USER, "gid": GROUP, "groups": OTHERS}


@pytest.fixture
def rooted(daemon: Daemon) -> Daemon:
    """The daemon runs as root, so that it can become any user."""
    if os.geteuid() != 0:
        pytest.skip("another user's job needs root")
    return daemon


def test_a_job_runs_as_the_user_of_its_ticket(rooted: Daemon) -> None:
    """By numbers that have no name, with all of its groups and nothing of root's."""
    script = "id -u; id -g; id -G; grep -E '^(Cap(Prm|Eff|Amb)|NoNewPrivs)' /proc/self/status; pwd; ls -ldn ."
    ended = rooted.shell(script, user=USERS, number=99).finish()
    assert ended.status == 0, ended
    uid, gid, groups, *rest = ended.out[0].decode().splitlines()
    assert (uid, gid) == (str(USER), str(GROUP)) and set(map(int, groups.split())) == {GROUP, *OTHERS}
    said = dict(line.split(":\t") for line in rest[:4])
    assert said == {"CapPrm": "0" * 16, "CapEff": "0" * 16, "CapAmb": "0" * 16, "NoNewPrivs": "1"}
    assert re.fullmatch(r"/tmp/tacet-99-\d+-\w{6}", rest[4]) and not Path(rest[4]).exists()
    assert rest[5].split()[0].startswith("drwx------") and rest[5].split()[2:4] == [str(USER), str(GROUP)]


def test_a_job_of_a_user_has_no_rights_of_others(rooted: Daemon, tmp_path: Path) -> None:
    """Neither root's files, nor its processes, nor the node's keys."""
    secret = tmp_path / "secret"
    secret.write_text("secret\n")
    secret.chmod(0o600)
    tmp_path.chmod(0o755)
    pid = rooted.process.pid
    tries = [
        *(f"cat {secret}", f"kill -9 {pid}", f"cat /proc/{pid}/environ", f"cat {rooted.keys}/n1"),
        *(
            f"echo x >>{secret}",
            "chroot / true",
            "setpriv --reuid 0 true",
            f"echo 1 >{cgroup_of(pid)}/cgroup.kill",
        ),
    ]
    script = "; ".join(f"({one}) 2>/dev/null && echo done: '{one}'" for one in tries) + "; exit 3"
    ended = rooted.shell(script, user=USERS).finish()
    assert (ended.out[0], ended.status) == (b"", 3)
    assert secret.read_text() == "secret\n"


def test_a_program_that_is_sent_runs_as_its_user_and_cannot_be_written(rooted: Daemon) -> None:
    content = Path(BUSYBOX).read_bytes()
    script = "id -u; (echo x >/proc/self/exe) 2>/dev/null || echo safe"
    ended = Job(rooted.node, "sent", ["sh", "-c", script], program=content, user=USERS).finish()
    assert ended.out[0].decode().split() == [str(USER), "safe"], ended


def test_a_folder_that_the_user_may_not_enter_is_named(rooted: Daemon, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    ended = rooted.shell("true", user=USERS, words=[f"cwd={tmp_path}"]).finish()
    assert ended.refused == f"cwd={tmp_path}: Permission denied"


def test_what_a_job_leaves_in_its_folder_stays_its_user_s(rooted: Daemon) -> None:
    ended = rooted.shell("echo result >file; pwd", user=USERS).finish()
    folder = Path(ended.out[0].decode().strip())
    try:
        assert (folder / "file").read_text() == "result\n" and (folder / "file").stat().st_uid == USER
    finally:
        shutil.rmtree(folder)


def cgroup_of(pid: int) -> str:
    """The folder of a process's group, version 2; "": it has none."""
    places = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    place = next((words[4] for words in places if "cgroup2" in words[words.index("-") :]), "")
    lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    path = next((line[3:] for line in lines if line.startswith("0::")), "")
    return place + path if place and path else ""


@pytest.fixture
def grouped(rooted: Daemon) -> Daemon:
    """Its jobs have groups."""
    if not os.access(cgroup_of(rooted.process.pid) or "/none", os.W_OK):
        pytest.skip("no cgroup v2 that root may write here")
    return rooted


def groups_left(daemon: Daemon) -> list[Path]:
    return list(Path(cgroup_of(daemon.process.pid)).glob(f"tacet-job-*-{daemon.process.pid}"))


def test_a_job_has_a_group_of_its_own_until_its_end(grouped: Daemon) -> None:
    job = grouped.shell("cat /proc/self/cgroup; exec sleep 100000", user=USERS, number=5, ranks=1).started()
    job.streams.wait(0, "out", f"/tacet-job-5-{grouped.process.pid}\n".encode())
    assert len(groups_left(grouped)) == 1
    job.kill()
    assert job.finish().status == 137 and not groups_left(grouped)


#: Starts processes for ever, each in a session of its own, faster than a look at /proc is.
SPREADS = "echo up; f() { setsid sh -c 'sleep 0.01; f() { :; }' & g & }; g() { f; }; while :; do f; done"


def test_processes_that_keep_starting_others_end_with_their_job(grouped: Daemon) -> None:
    job = grouped.shell(SPREADS, user=USERS).started()
    job.streams.wait(0, "out", b"up\n")
    job.kill()
    assert job.finish().status == 137 and not groups_left(grouped)
    assert grouped.shell("exit 3").finish().status == 3


def test_what_a_killed_daemon_leaves_ends_with_the_next_one(grouped: Daemon) -> None:
    first = Daemon()
    job = first.shell("setsid sleep 100000 & sleep 100000", user=USERS).started()
    (group,) = groups_left(first)
    pids = list(map(int, (group / "cgroup.procs").read_text().split()))
    first.process.kill()
    first.process.communicate(timeout=LIMIT_S)
    Daemon().close()
    waiting.until(lambda: not group.exists(), f"the end of {group}", LIMIT_S)
    assert not any(Path(f"/proc/{pid}/exe").exists() for pid in pids)
    assert not list(Path("/tmp").glob(f"tacet-*-{first.process.pid}-*"))
    job.close()
    shutil.rmtree(first.keys)


def test_root_needs_keys() -> None:
    if os.geteuid() != 0:
        pytest.skip("it is for root")
    done = subprocess.run([LAUNCHD, "--port", "0"], capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 2 and "as root it needs the node's keys, --key FILE" in done.stderr


def test_without_root_it_runs_its_own_user_s_jobs_alone() -> None:
    """Whatever groups the ticket has: it keeps its own. And without keys it believes what it is told."""
    before = ["setpriv", "--reuid", str(USER), "--regid", str(GROUP), "--clear-groups"]
    own = USERS if os.geteuid() == 0 else {"uid": os.getuid(), "gid": os.getgid()}
    daemon = Daemon(before=before if os.geteuid() == 0 else ["env"])
    control = Control(daemon.node)
    assert control.greeting[3] == "open"
    control.close()
    assert daemon.shell("id -u", user=own).finish().out[0] == f"{own['uid']}\n".encode()
    for other in (0, own["uid"] + 1):
        refused_job = daemon.shell("id -u", user={**own, "uid": other}).finish()
        said = f"user {other}: this node's tacet-launchd runs as user {own['uid']}"
        assert refused_job.refused.startswith(said) and not refused_job.out
    assert refused(daemon, f"launch 9 1 {own['uid']} 0 - 9 {'0' * 32}\n").startswith("this node has no key")
    daemon.close()
