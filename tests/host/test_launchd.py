# SPDX-License-Identifier: BSD-2-Clause
"""tacet-launchd over loopback: jobs start, speak and end as docs/jobs.md says, whatever other clients
send, and nothing of them is left. Beats come on a wire of its own (a network namespace without
root)."""

from __future__ import annotations

import configparser
import os
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests import waiting
from tests.beat_frames import (
    ACKNOWLEDGE,
    RUNNING,
    STOPPED,
    WELCOME,
    Answer,
    Beat,
    Command,
    answer_of,
    welcome_of,
)
from tests.keys import key_write, node_lines, ticket
from tests.launch_client import LIMIT_S, SECRET, Control, Job, reset
from tests.launchd import BUSYBOX, LAUNCHD, Daemon
from tests.making import made
from tests.namespaces import namespace_needed

CPUS = len(os.sched_getaffinity(0))
EINVAL, ENOSYS = 22, 38


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    made("service")


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    started = Daemon()
    yield started
    started.close()


def gone(pid: int) -> bool:
    """Whether there is no such process; one that is not waited for yet is none."""
    try:
        return "State:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True


def wait_gone(*pids: int) -> None:
    waiting.until(lambda: all(map(gone, pids)), f"the end of processes {pids}", LIMIT_S)


# ---- What a job is ----


def test_the_greeting_says_what_the_node_is(daemon: Daemon) -> None:
    control = Control(daemon.node)
    assert control.greeting[:2] == ["tacet-launch", "2"] and control.greeting[3] == "ticket"
    assert re.fullmatch(r"[0-9a-f]{16}", control.nonce)
    assert list(control.fields) == ["cpus", "memory_mib", "state", "name", "id", "system"]
    system = f"Linux-{os.uname().release}"
    assert control.fields["cpus"] == str(CPUS) and control.fields["state"] == "idle"
    assert [control.fields[name] for name in ("name", "id", "system")] == ["n1", "n1", system]
    assert Control(daemon.node).nonce != control.nonce


@pytest.mark.parametrize(
    ("script", "status"),
    [("exit 0", 0), ("exit 7", 7), ("kill -SEGV $$", 139), ("kill -KILL $$", 137), ("exit 255", 255)],
)
def test_the_status_of_a_rank_is_told(daemon: Daemon, script: str, status: int) -> None:
    ended = daemon.shell(script).finish()
    assert ended.lines == ["started", f"rank 0 {status}", f"end {status}"]


def test_a_parent_that_ignores_its_children_hides_no_status() -> None:
    daemon = Daemon(preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert daemon.shell("exit 7").finish().status == 7
    daemon.close()


@pytest.mark.skipif(CPUS < 2, reason="one CPU, one rank")
def test_ranks_have_their_numbers_and_the_worst_status_is_the_job_s(daemon: Daemon) -> None:
    script = 'echo "$TACET_RANK $TACET_SIZE $TACET_LOCAL_RANK $PMI_RANK"; exit $TACET_RANK'
    job = daemon.shell(script, ranks=2, words=["first=5", "size=9", "number=PMI_RANK"])
    ended = job.finish()
    assert ended.out == {5: b"5 9 0 5\n", 6: b"6 9 1 6\n"} and ended.ranks == {5: 5, 6: 6}
    assert ended.status == 6


def test_a_program_gets_what_the_request_gives_and_nothing_else(daemon: Daemon, tmp_path: Path) -> None:
    variables = ["A=b c", "EMPTY=", "A=second"]
    ended = Job(daemon.node, BUSYBOX, ["env"], words=[f"env={one}" for one in variables]).finish()
    own = ["TACET_RANK=0", "TACET_SIZE=1", "TACET_LOCAL_RANK=0", "PMI_FD=3"]
    assert ended.out[0].decode().splitlines() == [*own, *variables]
    script = "pwd; ls -l /proc/self/fd | grep -c ' -> '; grep -E '^Sig(Blk|Ign)' /proc/self/status; ulimit -n"
    ended = daemon.shell(script, words=[f"cwd={tmp_path}"]).finish()
    where, descriptors, blocked, ignored, limit = ended.out[0].decode().splitlines()
    assert where == str(tmp_path) and descriptors == "4"
    assert int(blocked.split()[1], 16) == int(ignored.split()[1], 16) == 0
    shell = subprocess.run([BUSYBOX, "sh", "-c", "ulimit -n"], capture_output=True, text=True)
    assert limit == shell.stdout.strip()


def test_arguments_come_as_they_are(daemon: Daemon) -> None:
    args = ["printf", "%s|%s|%s", "a b", "", 'ü"\\\n']
    assert Job(daemon.node, BUSYBOX, args).finish().out[0] == 'a b||ü"\\\n'.encode()


@pytest.mark.skipif(CPUS < 2, reason="one CPU, one rank")
@pytest.mark.parametrize("words", [[], ["cpus=1"]], ids=["shared", "cpus=1"])
def test_ranks_have_cpus_of_their_own(daemon: Daemon, words: list[str]) -> None:
    ended = daemon.shell("taskset -p $$", ranks=2, words=words).finish()
    masks = [int(text.split()[-1], 16) for text in ended.out.values()]
    allowed = sum(1 << cpu for cpu in os.sched_getaffinity(0))
    assert masks[0] & masks[1] == 0 and all(masks) and (masks[0] | masks[1]) & ~allowed == 0
    assert not words or all(mask.bit_count() == 1 for mask in masks)


def test_output_is_whole_and_apart(daemon: Daemon) -> None:
    script = "head -c 3000000 /dev/zero | tr '\\0' x; echo error >&2"
    ended = daemon.shell(script).finish()
    assert ended.out[0] == b"x" * 3_000_000 and ended.err[0] == b"error\n"


@pytest.mark.skipif(CPUS < 2, reason="one CPU, one rank")
def test_input_goes_to_the_rank_that_is_named(daemon: Daemon) -> None:
    sent = bytes(range(256)) * 1000
    ended = Job(daemon.node, BUSYBOX, ["cat"], ranks=2, stdin=sent, words=["stdin=1"]).finish()
    assert ended.out == {0: b"", 1: sent} and ended.status == 0


def test_a_program_that_is_sent_runs(daemon: Daemon) -> None:
    content = Path(BUSYBOX).read_bytes()
    script = "echo $0; ls -l /proc/self/fd | grep -c ' -> '"
    ended = Job(daemon.node, "mine", ["sh", "-c", script, "zero"], program=content).finish()
    assert ended.status == 0 and ended.out[0].split() == [b"zero", b"4"], ended


def test_the_end_is_told_when_all_output_has_arrived(daemon: Daemon) -> None:
    """The other side does not read: there is a rest on the node, whose rank has ended."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        control = Control(daemon.node)
        words = [f"port={listener.getsockname()[1]}", f"secret={SECRET:016x}", "job=1", "ranks=1"]
        words += [f"path={BUSYBOX}", "arg=head", "arg=-c", "arg=30000", "arg=/dev/zero"]
        request = "".join(f"{word}\0" for word in words).encode()
        control.ask(request)
        streams = [listener.accept()[0] for _ in range(3)]
        assert [control.line(), control.line()] == ["started", "rank 0 0"]
        assert select.select([control.socket], [], [], 0.5) == ([], [], [])
        whole = b"".join(one.makefile("rb").read() for one in streams)
        assert control.lines() == ["end 0"] and whole.count(0) == 30000
        for one in streams:
            one.close()


@pytest.mark.skipif(CPUS < 2, reason="one CPU, one rank")
def test_a_rank_s_streams_end_with_it(daemon: Daemon) -> None:
    """And not with the job: another rank waits for its input still."""
    job = daemon.shell("[ $TACET_RANK = 0 ] || sleep 100000", ranks=2).started()
    job.streams.wait_end(0, "out")
    job.streams.wait_end(0, "err")
    assert job.line() == "rank 0 0"
    job.kill()
    assert job.finish().ranks == {0: 0, 1: 137}


# ---- Its end ----

#: A process that has left its session, group and parent, and says who it is.
ESCAPE = "setsid sh -c 'sh -c \"echo \\$\\$; exec sleep 100000\" &'"


def escaped(job: Job) -> int:
    job.streams.wait(0, "out", b"\n")
    return int(job.streams.got[0, "out"].split()[0])


def test_kill_ends_all_that_the_job_has_started(daemon: Daemon) -> None:
    job = daemon.shell(f"{ESCAPE}; trap '' TERM INT HUP; sleep 100000").started()
    pid = escaped(job)
    job.kill()
    ended = job.finish()
    assert ended.lines == ["started", "rank 0 137", "end 137"]
    assert gone(pid) and daemon.children() == []


def test_kill_ends_who_starts_others_all_the_time(daemon: Daemon) -> None:
    """Each process is an orphan in a session of its own, and some are started while others are killed."""
    one = "setsid sh -c 'sleep 100000 & sleep 100000' & [ $i -gt 200 ] || echo $i"
    job = daemon.shell(f"while [ $((i += 1)) -lt 3000 ]; do {one}; done; wait").started()
    job.streams.wait(0, "out", b"100\n")
    job.kill()
    ended = job.finish()
    assert ended.status == 137 and daemon.children() == []
    assert daemon.shell("exit 2").finish().status == 2


def test_what_ranks_leave_behind_ends_with_the_last_of_them(daemon: Daemon, tmp_path: Path) -> None:
    script = f"{ESCAPE} >pid; until [ -s pid ]; do sleep 0.01; done; exit 3"
    ended = daemon.shell(script, words=[f"cwd={tmp_path}"]).finish()
    pid = int((tmp_path / "pid").read_text())
    assert ended.status == 3 and gone(pid) and daemon.children() == []


@pytest.mark.parametrize("how", ["closed", "half closed", "reset"])
def test_a_lost_connection_ends_the_job(daemon: Daemon, how: str) -> None:
    job = daemon.shell(f"{ESCAPE}; exec sleep 100000").started()
    pid = escaped(job)
    if how == "half closed":
        job.control.socket.shutdown(socket.SHUT_WR)
    elif how == "reset":
        reset(job.control)
    else:
        job.control.close()
    daemon.wait_idle()
    assert gone(pid) and daemon.children() == []
    job.close()
    assert daemon.shell("exit 4").finish().status == 4


def test_another_word_than_kill_ends_the_job(daemon: Daemon) -> None:
    job = daemon.shell("exec sleep 100000").started()
    job.control.send(b"stop\n")
    assert job.finish().refused.startswith("stop: tacetrun may say") and daemon.children() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda n: n.name)
def test_no_rank_outlives_the_daemon(number: signal.Signals) -> None:
    daemon = Daemon()
    job = daemon.shell("echo $$; exec sleep 100000").started()
    pid = escaped(job)
    daemon.process.send_signal(number)
    daemon.process.wait(LIMIT_S)
    wait_gone(pid)
    refused = job.finish().refused
    assert refused == ("the node's tacet-launchd was stopped" if number == signal.SIGTERM else "")
    assert daemon.process.stderr is not None
    daemon.process.stderr.close()


def test_many_jobs_leave_nothing(daemon: Daemon) -> None:
    before = daemon.descriptors()
    content = Path(BUSYBOX).read_bytes()
    for number in range(100):
        if number % 10 == 3:
            ended = Job(daemon.node, "/nowhere/prog", ["prog"], number=number + 1).finish()
            assert ended.refused, ended
        elif number % 10 == 7:
            ended = Job(daemon.node, "sent", ["true"], program=content, number=number + 1).finish()
            assert ended.status == 0, ended
        else:
            ended = daemon.shell(f"echo {number}; sleep 100000 & exit {number}", number=number + 1).finish()
            assert (ended.status, ended.out[0]) == (number, b"%d\n" % number), ended
    daemon.wait_idle()
    assert daemon.children() == []
    # The last connection's, which this side has closed, may still be open.
    waiting.until(
        lambda: daemon.descriptors() == before,
        lambda: f"descriptors {before}, there are {daemon.descriptors()}",
        LIMIT_S,
    )


# ---- Programs that cannot run ----


def executable(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    path.chmod(0o755)
    return str(path)


def with_interpreter(interpreter: bytes) -> bytes:
    """An ELF program of this machine that is linked dynamically: its header, one segment, and a path."""
    own = Path(BUSYBOX).read_bytes()
    header = bytearray(own[:64])
    struct.pack_into("<Q", header, 32, 64)  # program headers
    struct.pack_into("<HH", header, 54, 56, 1)
    return bytes(header) + struct.pack("<IIQQQQQQ", 3, 4, 120, 0, 0, *[len(interpreter)] * 2, 1) + interpreter


def test_what_cannot_run_is_refused_with_its_reason(daemon: Daemon, tmp_path: Path) -> None:
    own = Path(BUSYBOX).read_bytes()
    other = bytearray(own[:4096])
    struct.pack_into("<H", other, 18, 0xFEFE)
    plain = tmp_path / "plain"
    plain.write_bytes(own)
    cases = {
        "/nowhere/prog": "there is no such file on this node",
        str(tmp_path): "it is a folder or a device",
        str(plain): "it is not executable",
        executable(tmp_path / "text", b"text\n"): "it is neither an ELF program nor a script",
        executable(tmp_path / "empty", b""): "it is neither an ELF program nor a script",
        executable(tmp_path / "other", bytes(other)): "it is for another machine, ELF machine 65278",
        executable(
            tmp_path / "script", b"#!/nowhere/sh\n"
        ): "the interpreter in its first line is not on this node",
        executable(tmp_path / "dynamic", with_interpreter(b"/nowhere/ld.so\0")): (
            "it is linked dynamically, and this node has no /nowhere/ld.so; link it statically"
        ),
    }
    for path, why in cases.items():
        ended = Job(daemon.node, path, ["prog"]).finish()
        assert len(ended.lines) == 1 and ended.refused.startswith(f"{path}: "), (path, ended)
        assert why in ended.refused, ended
    sent = Job(daemon.node, "prog", ["prog"], program=b"#!/bin/sh\nexit 0\n").finish()
    assert "must be an ELF file" in sent.refused, sent
    where = Job(daemon.node, BUSYBOX, ["true"], words=["cwd=/nowhere"]).finish()
    assert where.refused == "cwd=/nowhere: No such file or directory"


def test_streams_that_cannot_be_made_are_refused(daemon: Daemon) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        control = Control(daemon.node)
        words = [
            f"port={free.getsockname()[1]}",
            "secret=" + "0" * 16,
            "job=1",
            "ranks=1",
            "path=/x",
            "arg=x",
        ]
        request = "".join(f"{word}\0" for word in words).encode()
        control.ask(request)
        (line,) = control.lines()
    assert re.fullmatch(r"refused a stream to 127\.0\.0\.1, port \d+: Connection refused", line)


# ---- Others, and nonsense ----


def answer_to(daemon: Daemon, content: bytes, is_request: bool = False) -> list[str]:
    control = Control(daemon.node)
    (control.ask if is_request else control.send)(content)
    lines = control.lines()
    control.close()
    return lines


def request_of(*words: str) -> bytes:
    return "".join(f"{word}\0" for word in words).encode()


GOOD = ("job=1", "ranks=1", "port=9", "secret=0123456789abcdef", "path=/bin/busybox", "arg=true")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"GET / HTTP/1.0\r\n\r\n", "launch BYTES JOB UID GID GROUPS EXPIRES MAC"),
        (b"\n", "launch BYTES JOB UID GID GROUPS EXPIRES MAC"),
        (b"launch\n", "launch BYTES JOB UID GID GROUPS EXPIRES MAC"),
        (b"launch 0 -\n", "1 to 131072"),
        (b"launch 131073 -\n", "1 to 131072"),
        (b"launch 99999999999999999999 -\n", "1 to 131072"),
        (b"launch 10 nonsense\n", "JOB is not a number"),
        (b"launch 10 1 0 0 - 0 nonsense\n", "32 hexadecimal digits"),
        (b"launch 10 1 0 0 %s 0 -\n" % b",".join([b"4294967294"] * 256), "this node has a key"),
        (b"x" * 100_000, "3584 characters"),
        (bytes(range(256)) * 10 + b"\n" * 10, "refused"),
        (request_of(*GOOD, "colour=red"), "colour"),
        (request_of(*GOOD, "job=2"), "job"),
        (request_of(*GOOD[1:]), "job"),
        (request_of("ranks=0", *GOOD[:1], *GOOD[2:]), "ranks"),
        (request_of("ranks=1000", *GOOD[:1], *GOOD[2:]), f"this node has {CPUS} CPUs"),
        (request_of(*GOOD, "cpus=1025"), f"this node has {CPUS} CPUs"),
    ],
    ids=lambda value: "" if isinstance(value, str) else repr(value[:24]),
)
def test_nonsense_is_refused(daemon: Daemon, content: bytes, why: str) -> None:
    (line,) = answer_to(daemon, content, content.endswith(b"\0"))
    assert line.startswith("refused ") and why in line, line
    assert daemon.shell("exit 6").finish().status == 6


def test_requests_may_come_byte_by_byte_and_with_more_behind(daemon: Daemon) -> None:
    """The program and `kill` follow in the same packet, or each byte is one."""
    content = Path(BUSYBOX).read_bytes()
    job = daemon.shell("exec sleep 100000")
    job.kill()
    ended = job.finish()
    assert ended.status == 137 or ended.refused == "killed before it had started", ended
    control = Control(daemon.node)
    request = request_of(*GOOD[:5], "arg=x", "program=4")
    line = f"launch {len(request)} {ticket(control.nonce, 'n1')}\n"
    for byte in line.encode() + request + content[:4]:
        control.send(bytes([byte]))
    assert control.line().startswith("refused "), "no client listens for its streams"


def test_others_are_greeted_and_refused_while_a_job_runs(daemon: Daemon) -> None:
    job = daemon.shell("exec sleep 100000").started()
    control = Control(daemon.node)
    assert [control.fields[word] for word in ("state", "job", "uid")] == ["busy", "1", "0"]
    control.ask(request_of(*GOOD))
    assert control.lines() == ["refused busy with job 1"]
    assert answer_to(daemon, b"kill\n")[0].startswith("refused ")
    job.kill()
    assert job.finish().status == 137


def test_who_is_silent_keeps_nobody_out_and_is_sent_away(daemon: Daemon) -> None:
    """Also a client that begins a request and then stops: it has the node for 10 s."""
    silent = [Control(daemon.node) for _ in range(100)]
    assert daemon.shell("exit 8").finish().status == 8
    for control in silent:
        control.close()
    last, half = Control(daemon.node), Control(daemon.node)
    half.send(f"launch 60 {ticket(half.nonce, 'n1')}\n".encode() + request_of(*GOOD)[:30])
    assert last.lines() == ["refused no request has come within 10 s"]
    assert half.lines() == ["refused the request or the program has not come: nothing for 10 s"]
    assert daemon.shell("exit 9").finish().status == 9


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--port", "70000"], "--port 70000: not a number from 0 to 65535"),
        (["--port", "x"], "--port x: not a number from 0 to 65535"),
        (["--name", "a b"], "--name a b: it takes a word"),
        (["--name", "x" * 32], "it takes 1 to 31 characters"),
        (["--address", "here"], "--address here: it takes an IPv4 address"),
        (["--key", "/nowhere"], "the key /nowhere: No such file"),
        (["--beats", "eth9"], "--beats needs the node's keys"),
        (["more"], "unexpected word: more"),
        (["--colour"], "--colour: no such option"),
    ],
)
def test_wrong_options_are_said_in_one_line(words: list[str], why: str) -> None:
    done = subprocess.run([LAUNCHD, *words], capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 2 and why in done.stderr and done.stderr.count("\n") == 1, done


def test_the_unit_of_systemd_starts_what_there_is(tmp_path: Path) -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    text = (ROOT / "service/launchd/tacet-launchd.service").read_text()
    unit.read_string(text)
    start = unit["Service"]["ExecStart"].split()
    known = subprocess.run([LAUNCHD, "--help"], capture_output=True, text=True, check=True).stdout
    assert Path(start[0]).name == LAUNCHD.name
    assert all(f"{word} " in known for word in start if word.startswith("--"))
    if not shutil.which("systemd-analyze"):
        return
    copy = tmp_path / "tacet-launchd.service"
    copy.write_text(text.replace(start[0], str(LAUNCHD)))
    ran = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True, timeout=60)
    assert "tacet-launchd.service" not in ran.stderr, ran.stderr


# ---- Beats, in a namespace of its own ----


class Conductor:
    """The other end of the daemon's wire."""

    def __init__(self) -> None:
        for words in ("link set lo up", "link add wire type veth peer name node", "link set wire up"):
            subprocess.run(["ip", *words.split()], check=True)
        subprocess.run("ip link set node up".split(), check=True)
        self.wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88CB))
        self.wire.bind(("wire", 0))
        self.wire.settimeout(LIMIT_S)
        self.sequence = 0

    def beat(self, *commands: Command, answer_every: int = 1, epoch: int = 10**18, skip: int = 0) -> Answer:
        """A beat, and the answer to it."""
        self.sequence += 1 + skip
        beat = Beat(self.sequence, epoch, answer_every=answer_every, commands=commands)
        self.wire.send(beat.frame())
        while True:
            frame = self.wire.recv(2000)
            if frame[PAYLOAD_KIND_AT] == 2:
                answer = answer_of(frame)
                assert (answer.sequence, answer.epoch) == (self.sequence, epoch)
                self.node = frame[6:12]
                return answer

    def welcome(self, start: int, epoch: int = 10**18) -> Answer:
        return self.beat(Command(WELCOME, 0, welcome_of(self.node, start)), epoch=epoch)


PAYLOAD_KIND_AT = 15


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def wait_states(stopped: bool, pids: list[int]) -> None:
    """A signal that has been sent comes a little later."""
    waiting.until(
        lambda: all((state_of(pid) == "T") == stopped for pid in pids), f"stopped: {stopped}", LIMIT_S
    )


def scene_beats(conductor: Conductor, daemon: Daemon) -> None:
    first = conductor.beat()
    assert (first.name, first.state, first.cpus, first.ranks) == (b"n1", RUNNING, CPUS, 0)
    assert (first.beats, first.lost, first.done, first.ipv4) == (1, 0, 0, bytes((127, 0, 0, 1)))
    assert abs(first.booted_ns - time.time_ns()) < 86400 * 10**9

    job = daemon.shell(f"{ESCAPE}; exec sleep 100000", number=77).started()
    pid = escaped(job)
    assert conductor.beat(skip=3).ranks == 1
    # It obeys no conductor that does not know its latest start.
    assert conductor.beat(Command(3 | ACKNOWLEDGE, 1)).done == 0
    assert conductor.welcome(first.start + 1).welcomed == 0
    assert conductor.welcome(first.start).welcomed == 1
    stopped = conductor.beat(Command(1 | ACKNOWLEDGE, 1), answer_every=0)
    assert (stopped.state, stopped.done, stopped.result, stopped.lost) == (STOPPED, 1, 0, 3)
    wait_states(True, [pid, *daemon.children()])
    # The same command again, and an older one, change nothing.
    subprocess.run(["kill", "-CONT", str(pid)], check=True)
    wait_states(False, [pid])
    again = conductor.beat(Command(1 | ACKNOWLEDGE, 1))
    assert again.state == STOPPED and state_of(pid) != "T"
    unknown = conductor.beat(Command(4 | ACKNOWLEDGE, 2))
    assert (unknown.done, unknown.result) == (2, ENOSYS)
    go_on = conductor.beat(Command(2 | ACKNOWLEDGE, 3))
    assert (go_on.state, go_on.done, go_on.result, go_on.job) == (RUNNING, 3, 0, 77)
    wait_states(False, [pid, *daemon.children()])
    # Commands for another job are done by doing nothing; what is no number is refused.
    others = [Command(code | ACKNOWLEDGE, code + 3, struct.pack(">I", 78)) for code in (1, 3)]
    other = conductor.beat(*others)
    assert (other.state, other.done, other.result) == (RUNNING, 6, 0)
    wrong = conductor.beat(Command(3 | ACKNOWLEDGE, 7, b"77"))
    assert (wrong.state, wrong.done, wrong.result) == (RUNNING, 7, EINVAL)
    stopped = conductor.beat(Command(1 | ACKNOWLEDGE, 8, struct.pack(">I", 77)))
    assert (stopped.state, stopped.done, stopped.result) == (STOPPED, 8, 0)
    wait_states(True, [pid, *daemon.children()])
    killed = conductor.beat(Command(3 | ACKNOWLEDGE, 9, struct.pack(">I", 77)))
    assert (killed.done, killed.result) == (9, 0)
    assert job.finish().lines == ["started", "rank 0 137", "end 137"] and gone(pid)
    after = conductor.beat()
    assert (after.ranks, after.job, after.state) == (0, 0, RUNNING)

    # A conductor that was restarted counts its commands from 1; a forged beat, and a late one, do not count.
    assert conductor.beat(Command(1 | ACKNOWLEDGE, 1), epoch=2 * 10**18).done == 0
    conductor.welcome(first.start, epoch=2 * 10**18)
    anew = conductor.beat(Command(1 | ACKNOWLEDGE, 1), epoch=2 * 10**18)
    assert (anew.state, anew.done) == (STOPPED, 1)
    conductor.wire.send(Beat(conductor.sequence + 1, 2 * 10**18, commands=[Command(2, 2)]).frame(bytes(16)))
    conductor.wire.send(Beat(conductor.sequence + 9, commands=[Command(2, 9)]).frame())
    later = conductor.beat(epoch=2 * 10**18)
    assert (later.state, later.done, later.beats) == (STOPPED, 1, anew.beats + 1)
    # Who starts a job wants it to run.
    # Tickets are valid by the conductor's time, which is years after this machine's.
    for _ in range(9):
        conductor.beat(epoch=2 * 10**18)
    late = Job(daemon.node, BUSYBOX, ["true"]).finish().refused
    assert late.startswith("the ticket expired ") and late.endswith("valid for 60 s"), late
    user = {"expires": 2 * 10**9 + 86400}
    assert Job(daemon.node, BUSYBOX, ["true"], user=user).finish().status == 0
    assert conductor.beat(epoch=2 * 10**18).state == RUNNING


def test_the_conductor_knows_the_node_and_commands_its_ranks(tmp_path: Path) -> None:
    namespace_needed()
    command = ["unshare", "-rn", sys.executable, __file__, str(tmp_path / "keys")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=4 * LIMIT_S)
    assert done.returncode == 0, done.stderr


def inside(key: str) -> None:
    conductor = Conductor()
    shown = subprocess.run(["ip", "-br", "link", "show", "node"], check=True, capture_output=True, text=True)
    node = shown.stdout.split()[2].replace(":", "")
    daemon = Daemon("--key", key_write(Path(key), node_lines(node)), "--beats", "node")
    try:
        scene_beats(conductor, daemon)
    finally:
        daemon.close()


@pytest.mark.long
def test_a_tacetrun_that_is_cut_off_has_gone_after_half_a_minute(tmp_path: Path) -> None:
    """Also when the node has just told it something, which its system never acknowledges."""
    namespace_needed()
    command = ["unshare", "-rn", sys.executable, __file__, "--cut-off", str(tmp_path / "end")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr


def cut_off(end: Path) -> None:
    subprocess.run("ip link set lo up".split(), check=True)
    daemon = Daemon()
    job = daemon.shell(f"until [ -e {end} ]; do sleep 0.1; done").started()
    subprocess.run("ip link set lo down".split(), check=True)
    end.touch()
    assert daemon.process.stderr is not None
    while "connection to tacetrun is closed" not in (line := daemon.process.stderr.readline()):
        assert line
    assert job.lines == ["started"]
    daemon.close()
    os._exit(0)  # threads wait for streams


if __name__ == "__main__" and sys.argv[1] == "--cut-off":
    cut_off(Path(sys.argv[2]))
elif __name__ == "__main__":
    inside(sys.argv[1])
