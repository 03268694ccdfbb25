# SPDX-License-Identifier: BSD-2-Clause
"""tacetrun (docs/jobs.md) with nodes in this process (tests/launch_node.py): jobs that run as they should,
and which nodes they run on."""

from __future__ import annotations

import hashlib
import os
import pty
import re
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from tests.keys import MASTER, key_write
from tests.launch_node import PATIENCE_S, Job, Node, processes
from tests.launchd import Daemon
from tests.making import made
from tests.tacetrun import (
    TACETRUN,
    PmiClient,
    environment,
    names_of,
    nodes_of,
    ran,
    shell,
    started,
    streams_then,
    until_killed,
    wait_until,
)


@pytest.fixture(scope="module", autouse=True)
def build() -> None:
    made("service")


# ---- Jobs that run ----


def test_ranks_run_in_blocks_with_their_numbers() -> None:
    with nodes_of(processes, processes) as nodes:
        done = ran(
            nodes, "-n", 5, *shell("echo $TACET_RANK $TACET_SIZE $TACET_LOCAL_RANK $PMI_RANK $PMI_SIZE")
        )
        assert sorted(done.stdout.splitlines()) == [f"{r} 5 {r if r < 3 else r - 3} {r} 5" for r in range(5)]
        assert (done.returncode, done.stderr) == (0, "")
        assert [list(node.jobs[0].ranks) for node in nodes] == [[0, 1, 2], [3, 4]]


def test_each_node_runs_one_rank_by_default_and_fewer_ranks_take_fewer_nodes() -> None:
    with nodes_of(processes, processes, processes) as nodes:
        assert ran(nodes, *shell("echo $TACET_RANK")).stdout.split().__len__() == 3
        assert sorted(ran(nodes, "-n", 2, *shell("echo $TACET_RANK")).stdout.split()) == ["0", "1"]
        assert ran(nodes, "-N", 1, "-n", 3, *shell("echo $TACET_LOCAL_RANK")).stdout.split().__len__() == 3


def test_a_request_says_what_the_command_line_says() -> None:
    with nodes_of(streams_then("started", "rank 0 0", "end 0")) as nodes:
        words = ["-c", 2, "-D", "/mnt", "--env", "A=1", "--env", "B=x y=z", "/mnt/ftq", "-n", "3", "a b"]
        assert ran(nodes, *words).returncode == 0
        job = nodes[0].jobs[0]
    assert job.launch[3:5] == [str(os.getuid()), str(os.getgid())] and job.launch[6:] == ["0", "-"]
    assert (job.launch[0], job.launch[2]) == ("launch", job.value("job"))
    assert (job.value("path"), job.values("arg")) == ("/mnt/ftq", ["/mnt/ftq", "-n", "3", "a b"])
    assert (job.value("cwd"), job.value("cpus"), job.value("stdin")) == ("/mnt", "2", "0")
    assert job.values("env")[-2:] == ["A=1", "B=x y=z"] and 0 < job.number("job") < 1 << 32
    assert re.fullmatch("[0-9a-f]{16}", job.value("secret"))


def test_labels_stand_before_lines() -> None:
    with nodes_of(processes, processes) as nodes:
        done = ran(nodes, "--label", *shell("echo a; echo b; echo c >&2; printf unfinished"))
        assert sorted(done.stdout.splitlines()) == sorted(
            f"{r}: {t}" for r in (0, 1) for t in "a b unfinished".split()
        )
        assert sorted(done.stderr.splitlines()) == ["0: c", "1: c"]


def test_bytes_come_as_they_are_without_labels() -> None:
    content = bytes(range(256)) * 3000 + b"\n\nend without a line"

    def run(job: Job) -> None:
        job.stream(0, "err").close()
        with job.stream(0, "out") as out:
            out.sendall(content)
        job.say("started", "rank 0 0", "end 0")

    with nodes_of(run) as nodes:
        process = started(nodes, "/bin/x")
        assert process.communicate(timeout=PATIENCE_S)[0] == content


def test_lines_that_are_longer_than_64_KiB_come_in_parts() -> None:
    line = b"x" * 200_000

    def run(job: Job) -> None:
        job.stream(0, "err").close()
        with job.stream(0, "out") as out:
            out.sendall(line + b"\nshort\n")
        job.say("started", "rank 0 0", "end 0")

    with nodes_of(run) as nodes:
        done = ran(nodes, "-l", "/bin/x")
    parts = done.stdout.splitlines()
    assert (
        all(part.startswith("0: ") and len(part) <= 65536 + 3 for part in parts) and parts[-1] == "0: short"
    )
    assert "".join(part[3:] for part in parts[:-1]) == line.decode()


def test_exit_status_is_the_highest_of_the_ranks_and_signals_count() -> None:
    with nodes_of(processes, processes, processes) as nodes:
        done = ran(nodes, *shell("exit $TACET_RANK"))
        assert done.returncode == 2
        assert f"rank 2 on {nodes[2].address} has ended with status 2" in done.stderr
        assert ran(nodes, *shell("[ $TACET_RANK = 1 ] && kill -SEGV $$; exit 3")).returncode == 139


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (139, "rank 1 on {}: Segmentation fault (SIGSEGV, status 139)"),
        (137, "rank 1 on {}: Killed (SIGKILL, status 137)"),
        (134, "rank 1 on {}: Aborted (SIGABRT, status 134)"),
        (128, "rank 1 on {} has ended with status 128"),
        (162, "rank 1 on {} has ended with status 162"),
        (255, "rank 1 on {} has ended with status 255"),
    ],
)
def test_a_signal_that_ends_a_rank_is_named(status: int, said: str) -> None:
    with nodes_of(processes, processes) as nodes:
        done = ran(nodes, *shell(f"[ $TACET_RANK = 0 ] || exit {status}"))
        assert done.returncode == status
        assert f"tacetrun: {said.format(nodes[1].address)}\n" in done.stderr, done.stderr


def test_input_goes_to_rank_0_and_its_end_too() -> None:
    text = b"".join(b"line %d\n" % n for n in range(100_000))
    with nodes_of(processes, processes) as nodes:
        process = started(nodes, "/usr/bin/sha256sum", stdin=subprocess.PIPE)
        out = process.communicate(text, timeout=PATIENCE_S)[0].decode()
        found = {line.split()[0] for line in out.splitlines()}
        assert found == {hashlib.sha256(text).hexdigest(), hashlib.sha256(b"").hexdigest()}


def test_input_goes_to_the_rank_that_is_named_or_to_none() -> None:
    with nodes_of(processes, processes) as nodes:
        assert ran(nodes, "-l", "-i", 1, "/bin/cat", data=b"for one\n").stdout == "1: for one\n"
        assert ran(nodes, "-l", "-i", "none", "/bin/cat", data=b"for none\n").stdout == ""


def test_input_waits_for_a_rank_that_does_not_read_yet() -> None:
    text = os.urandom(3_000_000)
    go = threading.Event()

    def run(job: Job) -> None:
        job.stream(0, "err").close()
        stream = job.stream(0, "out")
        job.say("started")
        go.wait(PATIENCE_S)
        digest = hashlib.sha256()
        while piece := stream.recv(65536):
            digest.update(piece)
        stream.sendall(digest.hexdigest().encode())
        stream.close()
        job.end()

    with nodes_of(run) as nodes:
        process = started(nodes, "/bin/x", stdin=subprocess.PIPE)
        assert process.stdin
        # It takes what fits into buffers, and then stops: reading ahead without end would be a leak.
        os.set_blocking(process.stdin.fileno(), False)
        written, idle_since = 0, time.monotonic()
        many = bytes(1 << 20)
        while time.monotonic() - idle_since < 1 and written < 1 << 28:
            try:
                written += os.write(process.stdin.fileno(), many)
                idle_since = time.monotonic()
            except BlockingIOError:
                time.sleep(0.01)
        assert written < 1 << 28
        os.set_blocking(process.stdin.fileno(), True)
        go.set()
        out = process.communicate(text, timeout=PATIENCE_S)[0].decode()
        assert out == hashlib.sha256(bytes(written) + text).hexdigest()


def test_a_rank_that_ends_before_its_input_does_not_disturb() -> None:
    with nodes_of(processes) as nodes:
        process = started(nodes, *shell("head -c 1 >/dev/null; echo had enough"), stdin=subprocess.PIPE)
        out, _ = process.communicate(bytes(10_000_000), timeout=PATIENCE_S)
        assert (out, process.returncode) == (b"had enough\n", 0)


def test_a_terminal_is_not_read_from_its_background() -> None:
    """A job that reads there is stopped by the terminal, with all that it does."""

    def run(job: Job) -> None:
        os.write(ours, b"for the shell\n")
        streams = [job.stream(0, "out"), job.stream(0, "err")]
        time.sleep(0.5)  # gives one that reads it the time to be stopped
        for stream in streams:
            stream.close()
        job.say("started", "rank 0 0", "end 0")

    ours, theirs = pty.openpty()
    with nodes_of(run) as nodes:
        words = ["sh", "-mc", '"$@" & wait $!', "sh", TACETRUN, "-w", names_of(nodes), "/bin/x"]
        background = subprocess.Popen(
            words, stdin=theirs, start_new_session=True, env=environment(),
            preexec_fn=lambda: os.close(os.open(os.ttyname(0), os.O_RDWR)),
        )  # fmt: skip
        os.close(theirs)
        assert background.wait(PATIENCE_S) == 0
    os.close(ours)


def test_a_program_is_sent_from_here(tmp_path: Path) -> None:
    content = os.urandom(5_000_000)
    (tmp_path / "program").write_bytes(content)
    with nodes_of(*[streams_then("started", f"rank {n} 0", "end 0") for n in range(2)]) as nodes:
        assert ran(nodes, "--bcast", tmp_path / "program", "x").returncode == 0
        jobs = [node.jobs[0] for node in nodes]
    for job in jobs:
        assert job.program == content and job.value("path") == "program"
        assert job.values("arg") == [str(tmp_path / "program"), "x"]


def test_nothing_is_lost_where_all_ranks_write_much_and_the_reader_is_slow() -> None:
    lines = 20_000

    def run(job: Job) -> None:
        streams = [(rank, which, job.stream(rank, which)) for rank in job.ranks for which in ("out", "err")]
        job.say("started")

        def write(rank: int, which: str, stream: socket.socket) -> None:
            with stream:
                for number in range(lines):
                    stream.sendall(f"{which} {rank} {number} {'.' * (number % 200)}\n".encode())

        threads = [threading.Thread(target=write, args=stream) for stream in streams]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        job.end()

    with nodes_of(run, run) as nodes:
        process = started(nodes, "-n", 4, "/bin/x", stderr=subprocess.STDOUT)
        assert process.stdout
        text = b""
        while piece := os.read(process.stdout.fileno(), 1 << 20):
            text += piece
            if len(text) < 3_000_000:
                time.sleep(0.002)
        assert process.wait(PATIENCE_S) == 0
    seen: dict[tuple[str, str], int] = {}
    for line in text.decode().splitlines():
        which, rank, number, *dots = line.split(" ")
        assert int(number) == seen.get((which, rank), -1) + 1 and len(dots[0]) == int(number) % 200
        seen[which, rank] = int(number)
    assert seen == {(which, str(rank)): lines - 1 for which in ("out", "err") for rank in range(4)}


def test_nothing_is_lost_where_tacetrun_does_not_run_for_a_while(tmp_path: Path) -> None:
    """The time in which it is stopped is none in which ranks were silent, wherever in its loop it was."""
    content = b"x\n" * 400_000  # each line is a write: it takes it a while
    known, stopped = threading.Event(), threading.Event()

    def run(job: Job) -> None:
        job.stream(0, "err").close()
        job.say("started")
        with job.stream(0, "out") as out:
            wait_until(job.is_heard)
            assert known.wait(PATIENCE_S)
            os.kill(process.pid, signal.SIGSTOP)
            out.sendall(content)
        job.end()
        stopped.set()

    with nodes_of(run) as nodes, (tmp_path / "out").open("wb") as out:
        process = started(nodes, "/bin/x", stdout=out)
        known.set()
        assert stopped.wait(PATIENCE_S)
        for _ in range(4):
            os.kill(process.pid, signal.SIGCONT)
            time.sleep(0.01)
            os.kill(process.pid, signal.SIGSTOP)
            time.sleep(1.2)
        os.kill(process.pid, signal.SIGCONT)
        assert process.wait(PATIENCE_S) == 0
        process.communicate()
    assert (tmp_path / "out").read_bytes() == content


def test_a_full_output_stops_ranks_and_neither_nodes_nor_pmi() -> None:
    written = [0]
    go = threading.Event()

    def run(job: Job) -> None:
        err, out = job.stream(0, "err"), job.stream(0, "out")
        job.say("started")
        out.settimeout(1)
        try:
            while written[0] < 1 << 28:
                written[0] += out.send(b"x" * 1023 + b"\n")
        except TimeoutError:
            pass
        with PmiClient(job, 0) as client:
            assert client.exchange("cmd=barrier_in") == {"cmd": "barrier_out"}
            client.finalize()
        out.close()
        err.close()
        go.set()
        job.end()

    with nodes_of(run) as nodes:
        process = started(nodes, "/bin/x")
        assert go.wait(PATIENCE_S) and written[0] < 1 << 28
        out, err = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, err) == (0, b"")
        assert out.replace(b"\n", b"").count(b"x") + out.count(b"\n") == len(out) == written[0]


def test_two_hundred_ranks_on_forty_nodes() -> None:
    def run(job: Job) -> None:
        streams = []
        for rank in job.ranks:
            out, err = job.stream(rank, "out"), job.stream(rank, "err")
            out.sendall(f"rank {rank}\n".encode())
            streams += [out, err]
        job.say("started")
        for stream in streams:
            stream.close()
        job.end()

    with nodes_of(*[run] * 40) as nodes:
        done = ran(nodes, "-n", 200, "--within", 60, "-l", "/bin/x")
    assert sorted(done.stdout.splitlines()) == sorted(f"{r}: rank {r}" for r in range(200))
    assert (done.returncode, done.stderr) == (0, "")


def test_nodes_come_from_the_environment() -> None:
    with nodes_of(processes, processes) as nodes:
        names = " ".join(node.address for node in nodes)
        done = ran(None, *shell("echo $TACET_RANK $HOME"), env={"TACET_NODES": names})
        assert sorted(done.stdout.splitlines()) == ["0", "1"]  # and no other variable of here comes along


# ---- Which nodes ----


def test_busy_nodes_are_passed_over_where_there_are_enough_others() -> None:
    with Node(processes, state="busy") as busy, nodes_of(processes, processes) as idle:
        done = ran([busy, *idle], "-N", 2, *shell("echo $TACET_RANK"))
        assert sorted(done.stdout.split()) == ["0", "1"] and done.returncode == 0
        done = ran([busy, *idle], "-N", 3, "/bin/true")
        assert done.returncode == 125
        assert (
            f"{busy.address}: busy: a job begins there" in done.stderr
            and "too few idle nodes: 2 of 3 are idle, and the job needs 3" in done.stderr
        )
        done = ran([busy, *idle], "/bin/true")
        assert done.returncode == 125 and "-N 2 runs on the idle nodes" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"job": "17", "uid": "0"}, "busy with job 17 of root"),
        ({"job": "17", "uid": "3999999999"}, "busy with job 17 of user 3999999999"),
        ({"job": "17"}, "busy with job 17"),
        ({"job": "0", "uid": "0"}, "busy: a job begins there"),
        ({"job": "x", "uid": "-1"}, "busy: a job begins there"),
    ],
)
def test_a_busy_node_is_named_with_its_job_and_user(words: dict[str, str], said: str) -> None:
    with Node(processes, state="busy", **words) as busy:
        done = ran([busy], "--within", 60, "/bin/true")
        assert done.returncode == 125 and f"{busy.address}: {said}\n" in done.stderr


def test_a_busy_node_is_named_before_a_slow_one_answers() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        Node(processes, state="busy", job="8") as busy,
        nodes_of(processes) as idle,
    ):
        lost = f"127.0.0.1:{silent.getsockname()[1]}"
        done = ran(None, "-w", f"{lost},{busy.address},{idle[0].address}", "--within", 1000, "/bin/true")
    assert done.returncode == 125 and f"{busy.address}: busy with job 8\n" in done.stderr
    assert f"{lost}: no answer yet" in done.stderr and "-N 1 runs on the idle nodes" in done.stderr


def test_a_job_waits_for_nodes_that_are_busy_or_do_not_listen_yet(tmp_path: Path) -> None:
    """It says for whom, and goes on as soon as they are idle."""
    with Node(processes, state="busy", job="9", uid="0") as busy, socket.socket() as later:
        later.bind(("127.0.0.1", 0))  # and does not listen
        address = f"127.0.0.1:{later.getsockname()[1]}"
        job = started(None, "-w", f"{busy.address},{address}", "--wait-for-nodes", 100, *shell("echo ran"))
        assert job.stderr is not None
        said = [job.stderr.readline().decode() for _ in range(3)]
        assert "at most 100 s (--wait-for-nodes): 0 of 2 are idle, and the job needs 2" in said[0]
        assert (
            f"{busy.address}: busy with job 9 of root" in said[1] and f"{address}: connection ref" in said[2]
        )
        busy.greeting = busy.greeting.replace("state=busy", "state=idle")
        with Node(processes, listener=later):
            out, err = job.communicate(timeout=PATIENCE_S)
    assert (job.returncode, out, err) == (0, b"ran\nran\n", b"")


def test_a_job_does_not_wait_for_more_nodes_than_there_are(tmp_path: Path) -> None:
    with nodes_of(processes) as nodes:
        done = ran(nodes, "--wait-for-nodes", 1000, "-N", 2, "/bin/true")
        assert done.returncode == 125 and "-N 2: there are only 1 nodes" in done.stderr


def test_nodes_that_stay_busy_are_named_when_the_wait_is_over() -> None:
    with Node(processes, state="busy", job="9") as busy:
        done = ran([busy], "--wait-for-nodes", 1, "/bin/true")
        assert done.returncode == 125 and done.stderr.count(f"{busy.address}: busy with job 9\n") == 2
        assert len(busy.jobs) <= 4  # it is asked about once a second


@pytest.mark.parametrize("words", ["busy: another job has begun here", "busy with job 9"])
@pytest.mark.parametrize("others", [0, 1])
def test_a_job_that_another_one_outruns_waits_on(words: str, others: int) -> None:
    """The other node has not begun: it gets the whole request when all nodes are claimed."""
    with Node(processes, outrun=words) as raced, nodes_of(*[processes] * others) as idle:
        job = started([raced, *idle], "--wait-for-nodes", 100, *shell("echo ran"))
        assert job.stderr is not None
        said = [job.stderr.readline().decode() for _ in range(3)]
        assert f"{raced.address}: {words}; waiting for idle nodes again (--wait-for-nodes)\n" in said[0]
        assert "at most 100 s (--wait-for-nodes)" in said[1] and "busy with job 9 of root" in said[-1]
        raced.set_busy(False)
        out, err = job.communicate(timeout=PATIENCE_S)
        assert (job.returncode, out) == (0, b"ran\n" * (1 + others)), err
        assert all(len(node.jobs) == 1 for node in idle)


def test_a_job_that_is_outrun_fails_without_patience() -> None:
    with Node(processes, outrun="busy: another job has begun here") as raced:
        done = ran([raced], "/bin/true")
    assert done.returncode == 125 and f"{raced.address}: busy: another job has begun here" in done.stderr


def test_a_job_whose_ranks_have_begun_elsewhere_does_not_begin_again() -> None:
    begun = threading.Event()

    def begins(job: Job) -> None:
        job.say("started")
        wait_until(job.is_heard)
        begun.set()
        job.wait_for_kill()

    def refuses(job: Job) -> None:
        assert begun.wait(PATIENCE_S)
        job.say("refused busy: another job has begun here")

    with Node(begins) as first, Node(refuses) as second:
        done = ran([first, second], "--wait-for-nodes", 100, "/bin/true")
    assert done.returncode == 125 and f"{second.address}: busy" in done.stderr
    assert len(first.jobs) == 1


def connected(port: int) -> int:
    """How many connections to this port there are."""
    with open("/proc/net/tcp", encoding="ascii") as table:
        rows = [line.split() for line in table]
    return sum(row[2].endswith(f":{port:04X}") and row[3] == "01" for row in rows)


@pytest.mark.parametrize("count", [1, 2])
def test_jobs_that_race_for_nodes_run_one_after_the_other(count: int, tmp_path: Path) -> None:
    """With the real tacet-launchd, which greets all of them as idle: it stands still while they connect."""
    key = key_write(tmp_path / "master", MASTER.hex())
    daemons = [Daemon() for _ in range(count)]
    names = ",".join(f"{host}:{port}" for host, port in (daemon.node for daemon in daemons))
    words = ["--key", key, "-w", names, "--wait-for-nodes", 100, "--within", 60, *shell("echo ran")]
    try:
        for daemon in daemons:
            daemon.process.send_signal(signal.SIGSTOP)
        racing = [started(None, *words) for _ in range(4)]
        wait_until(lambda: all(connected(daemon.node[1]) == len(racing) for daemon in daemons))
        for daemon in daemons:
            daemon.process.send_signal(signal.SIGCONT)
        for job in racing:
            out, err = job.communicate(timeout=PATIENCE_S)
            assert (job.returncode, out) == (0, b"ran\n" * count), err
        for daemon in daemons:
            daemon.wait_idle()
    finally:
        for daemon in daemons:
            daemon.process.send_signal(signal.SIGCONT)
            daemon.close()


@pytest.mark.parametrize("ends", ["refused no request has come\n", ""], ids=["refused", "closed"])
def test_a_slow_node_loses_none_that_ends_silent_connections(ends: str) -> None:
    """The others greet at once, and give up 5 s later, before the slow one greets."""
    given_up = threading.Event()

    def waits(job: Job) -> None:
        processes(job)

    with (
        Node(processes, greets_after=6.5) as slow,
        Node(waits, gives_up=(5, ends, given_up)) as first,
        Node(waits, gives_up=(0.2, ends, given_up)) as hasty,
    ):
        done = ran([first, slow, hasty], "--within", 60, *shell("echo ran"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "ran\n" * 3, "")
    assert given_up.is_set()


def test_a_node_that_never_greets_delays_nobody_else() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, nodes_of(processes) as nodes:
        names = f"127.0.0.1:{silent.getsockname()[1]},{nodes[0].address}"
        done = ran(None, "-w", names, "-N", 1, "--within", 60, *shell("echo ran"))
        assert (done.stdout, done.returncode) == ("ran\n", 0)


def test_nodes_that_cannot_be_reached_are_named() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        socket.socket() as nobody,
        nodes_of(processes) as nodes,
    ):
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        lost, closed = (f"127.0.0.1:{s.getsockname()[1]}" for s in (silent, nobody))
        words = ["-w", f"{lost},{nodes[0].address},{closed},no-such-node.invalid", "--within", 1, "/bin/true"]
        done = ran(None, *words)
        assert done.returncode == 125
        assert f"{lost}: timed out waiting for its greeting: no answer within 1 s" in done.stderr
        assert f"{closed}: connection refused at port" in done.stderr
        assert "no-such-node.invalid: cannot look up its address" in done.stderr


@pytest.mark.parametrize(
    ("greeting", "said"),
    [
        ("SSH-2.0-OpenSSH_9.2\n", "another service listens on this port"),
        ("tacet-launch 3 0123456789abcdef open state=idle\n", "version 3 of the launch protocol"),
        ("tacet-launch 2 0123 open state=idle\n", "no nonce"),
        ("tacet-launch 2 0123456789abcdef maybe state=idle\n", "no nonce, no ticket or open"),
        ("tacet-launch 2 0123456789abcdef open cpus=4\n", "no nonce, no ticket or open, no state"),
        ("tacet-launch 2 0123456789abcdef open state=idle\n", "or no id"),
        ("tacet-launch 1 0123456789abcdef open state=idle\n", "version 1 of the launch protocol"),
        ("tacet-launch 2\n", "no nonce"),
        ("\n", "another service listens on this port"),
        pytest.param("x" * 600, "a line of more than 512 characters", id="long"),
        ("refused it is full\n", "it is full"),
        ("\x1b[31mred\n", "?[31mred"),
    ],
)
def test_nodes_that_greet_wrongly_are_named(greeting: str, said: str) -> None:
    with Node(until_killed, greeting=greeting) as node:
        done = ran([node], "/bin/true")
        assert done.returncode == 125 and node.address in done.stderr and said in done.stderr
        assert "\x1b" not in done.stderr
