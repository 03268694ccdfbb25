# SPDX-License-Identifier: BSD-2-Clause
"""tacetrun (docs/jobs.md) beside nodes of this process (tests/launch_node.py): jobs that run as they should,
and nodes, ranks, conductors and users that do not."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests.beat_frames import KEY
from tests.launch_node import NONCE, PATIENCE_S, Job, Node, processes, ticket_of
from tests.making import ROOT, made

TACETRUN = ROOT / "build/service/tacetrun"
#: How a node that runs Tacet greets.
TACET = {"system": "Tacet-0.1"}
Run = Callable[[Job], None]


@pytest.fixture(scope="module", autouse=True)
def build() -> None:
    made("service")


@contextmanager
def nodes_of(*runs: Run) -> Iterator[list[Node]]:
    """A node for each."""
    with ExitStack() as stack:
        yield [stack.enter_context(Node(run)) for run in runs]


def names_of(nodes: list[Node]) -> str:
    return ",".join(node.address for node in nodes)


def environment(**more: str) -> dict[str, str]:
    """Without what would lead to a real cluster."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TACET_")}
    return {**kept, "TACET_CONDUCTOR": "/nonexistent/conductor", **more}


def started(nodes: list[Node] | None, *words: object, env: dict | None = None, **popen) -> subprocess.Popen:
    chosen = ["-w", names_of(nodes)] if nodes is not None else []
    popen = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **popen}
    return subprocess.Popen([TACETRUN, *chosen, *map(str, words)], env=environment(**(env or {})), **popen)


def ran(
    nodes: list[Node] | None, *words: object, data: bytes | None = None, **more
) -> subprocess.CompletedProcess:
    """tacetrun to its end; its output as text."""
    if data is not None:
        more["stdin"] = subprocess.PIPE
    process = started(nodes, *words, **more)
    out, err = process.communicate(data, timeout=PATIENCE_S)
    return subprocess.CompletedProcess(words, process.returncode, out.decode(), err.decode())


def wait_for_start(nodes: list[Node]) -> None:
    """tacetrun knows that the job runs on all of them."""
    wait_until(lambda: all(node.jobs and node.jobs[0].is_heard() for node in nodes))


def shell(text: str) -> tuple[str, str, str]:
    return ("/bin/sh", "-c", text)


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it never happens"
        time.sleep(0.01)


def streams_then(*lines: str) -> Run:
    """Ranks with streams that end at once, and then these lines."""

    def run(job: Job) -> None:
        for rank in job.ranks:
            job.stream(rank, "out").close()
            job.stream(rank, "err").close()
        job.say(*lines)

    return run


def until_killed(job: Job) -> None:
    """Ranks that go on until they are killed, through this node's network."""
    streams = [job.stream(rank, which) for rank in job.ranks for which in ("out", "err")]
    job.say("started")
    assert job.wait_for_kill()
    for stream in streams:
        stream.close()
    job.end(137)


def deaf(job: Job) -> None:
    """Ranks that only compute: the node hears nothing but the end of the connection."""
    job.say("started")
    while job.wait_for_kill():
        job.bytes = b""
        try:
            job.receive()
        except (EOFError, OSError):
            return


# ---- Jobs that run ----


def test_ranks_run_in_blocks_with_their_numbers() -> None:
    with nodes_of(processes, processes) as nodes:
        done = ran(
            nodes,
            "-n",
            5,
            *shell("echo $TACET_RANK $TACET_SIZE $TACET_LOCAL_RANK $PMI_ID $PMI_RANK $PMI_SIZE"),
        )
        assert sorted(done.stdout.splitlines()) == [
            f"{r} 5 {r if r < 3 else r - 3} {r} {r} 5" for r in range(5)
        ]
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
    assert job.launch == ["launch", job.launch[1], "-"]
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
        # It takes what fits into buffers, and then no more: reading ahead without end would be a leak.
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
    stopped = threading.Event()

    def run(job: Job) -> None:
        job.stream(0, "err").close()
        job.say("started")
        with job.stream(0, "out") as out:
            wait_until(job.is_heard)
            os.kill(process.pid, signal.SIGSTOP)
            out.sendall(content)
        job.end()
        stopped.set()

    with nodes_of(run) as nodes, (tmp_path / "out").open("wb") as out:
        process = started(nodes, "/bin/x", stdout=out)
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
            f"{busy.address}: busy" in done.stderr
            and "too few idle nodes: 2 of 3, and the job takes 3" in done.stderr
        )
        done = ran([busy, *idle], "/bin/true")
        assert done.returncode == 125 and "-N 2 runs on those that are idle" in done.stderr


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
        assert f"{lost}: no answer with its greeting within 1 s" in done.stderr
        assert f"{closed}: nothing listens at port" in done.stderr
        assert "no-such-node.invalid: it has no address" in done.stderr


@pytest.mark.parametrize(
    ("greeting", "said"),
    [
        ("SSH-2.0-OpenSSH_9.2\n", "something else listens there"),
        ("tacet-launch 2 0123456789abcdef open state=idle\n", "version 2 of the launch protocol"),
        ("tacet-launch 1 0123 open state=idle\n", "lacks a nonce"),
        ("tacet-launch 1 0123456789abcdef maybe state=idle\n", "lacks a nonce, ticket or open"),
        ("tacet-launch 1 0123456789abcdef open cpus=4\n", "lacks a nonce, ticket or open, or its state"),
        ("tacet-launch 1\n", "lacks a nonce"),
        ("\n", "something else listens there"),
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


# ---- Nodes that break ----


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["refused no file /bin/x"], "no file /bin/x"),
        (["hello"], '"hello", which has no place there'),
        (["rank 0 0"], "which has no place there"),
        (["started", "rank 7 0"], '"rank 7 0", which has no place there'),
        (["started", "rank 0 256"], "which has no place there"),
        (["started", "rank 0 0", "rank 0 0"], "which has no place there"),
        (["started", "rank 0"], "which has no place there"),
        (["started", "end x"], "which has no place there"),
        (["started", "refused its memory is broken"], "its memory is broken"),
        pytest.param(["started", "x" * 600], "a line of more than 512 characters", id="long"),
        (["started"], "it has closed the connection"),
        ([], "it has closed the connection"),
    ],
)
def test_a_node_that_breaks_is_named_and_ends_the_job(lines: list[str], said: str) -> None:
    def run(job: Job) -> None:
        job.say(*lines)

    with nodes_of(run, until_killed) as nodes:
        done = ran(nodes, "/bin/x")
        assert done.returncode == 125
        assert nodes[0].address in done.stderr and said in done.stderr


def test_a_node_that_takes_the_request_and_never_answers_is_named() -> None:
    def run(job: Job) -> None:
        job.wait_for_kill()

    with nodes_of(run, until_killed) as nodes:
        done = ran(nodes, "--within", 3, "/bin/x")
        assert done.returncode == 125
        assert f"{nodes[0].address}: no answer to the request within 3 s" in done.stderr


def test_nodes_that_had_not_started_yet_are_free_again_when_tacetrun_ends() -> None:
    free = threading.Event()
    asked = threading.Event()

    def refuses(job: Job) -> None:
        assert asked.wait(PATIENCE_S)
        job.say("refused not here")

    def slow(job: Job) -> None:
        asked.set()
        assert job.wait_for_kill()
        job.say("started")
        time.sleep(0.5)
        free.set()
        job.end(137)

    with nodes_of(refuses, slow) as nodes:
        done = ran(nodes, "/bin/x")
        assert done.returncode == 125 and free.is_set()
        assert done.stderr == f"tacetrun: {nodes[0].address}: not here\n"


def test_a_node_that_does_not_take_the_program_is_named(tmp_path: Path) -> None:
    with (tmp_path / "program").open("wb") as program:
        program.truncate(1 << 30)

    with socket.create_server(("127.0.0.1", 0)) as server:
        server.listen()

        def serve() -> None:
            connection, _ = server.accept()
            connection.sendall(f"tacet-launch 1 {NONCE:016x} open state=idle\n".encode())
            held.append(connection)

        held: list[socket.socket] = []
        thread = threading.Thread(target=serve)
        thread.start()
        name = f"127.0.0.1:{server.getsockname()[1]}"
        done = ran(None, "-w", name, "--within", 2, "--bcast", tmp_path / "program")
        thread.join()
        held[0].close()
    assert done.returncode == 125 and f"{name}: no answer by taking the request within 2 s" in done.stderr


CUT_OFF = """
import subprocess, sys
sys.path.insert(0, sys.argv[1])
from tests.host.test_tacetrun import *

def goes_on(job):
    job.say("started")
    subprocess.run(["ip", "link", "set", "lo", "down"], check=True)
    running.wait(PATIENCE_S)

running = threading.Event()
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
node = Node(goes_on, system=sys.argv[2])
done = ran([node], *sys.argv[3:], "/bin/x")
running.set()
print(json.dumps([node.address, done.returncode, done.stderr]))
os._exit(0)
"""


def cut_off(system: str, *words: str) -> list:
    """A job on a node that is cut off: in a network of its own, whose loopback goes down."""
    if subprocess.run(["unshare", "-rn", "true"], capture_output=True).returncode:
        pytest.skip("no network namespace without root here (unshare -rn)")
    inside = ["unshare", "-rn", sys.executable, "-c", CUT_OFF, ROOT, system, *words]
    done = subprocess.run(inside, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_node_that_is_cut_off_is_dead_after_a_silence() -> None:
    address, status, said = cut_off("Linux-6.1", "--silence", "2", "-t", "60")
    assert status == 125 and f"{address}: its network does not answer: it is dead, or cut off" in said


def test_a_node_of_tacet_may_be_silent_since_it_computes() -> None:
    _, status, said = cut_off("Tacet-0.1", "-t", "16", "--within", "3")
    assert status == 124 and "does not answer" not in said


def test_ranks_that_a_node_did_not_name_have_its_highest_status() -> None:
    with nodes_of(streams_then("started", "end 9")) as nodes:
        assert ran(nodes, "/bin/x").returncode == 9


# ---- What ends a job early ----


def test_a_bad_exit_ends_all_where_that_is_wished() -> None:
    with nodes_of(streams_then("started", "rank 0 3", "end 3"), until_killed) as nodes:
        done = ran(nodes, "-K", "/bin/x")
        assert done.returncode == 3 and "--kill-on-bad-exit" in done.stderr


def test_ranks_that_stay_are_ended_after_a_while() -> None:
    with nodes_of(streams_then("started", "rank 0 0", "end 0"), until_killed) as nodes:
        done = ran(nodes, "-W", 1, "/bin/x")
        assert done.returncode == 137 and "--wait" in done.stderr


def test_a_time_limit_ends_the_job() -> None:
    with nodes_of(until_killed, until_killed) as nodes:
        done = ran(nodes, "-t", 1, "/bin/x")
        assert done.returncode == 124 and "--time" in done.stderr


def test_nobody_reads_the_output_any_more() -> None:
    def run(job: Job) -> None:
        out, err = job.stream(0, "out"), job.stream(0, "err")
        job.say("started")
        try:
            while not job.wait_for_kill(0):
                out.sendall(b"y\n" * 1000)
        except OSError:
            pass
        out.close()
        err.close()
        job.end(137)

    with nodes_of(run) as nodes:
        process = started(nodes, "/bin/x")
        assert process.stdout and process.stdout.readline() == b"y\n"
        process.stdout.close()
        assert process.wait(PATIENCE_S) == 141
        assert process.stderr and b"nobody reads the standard output" in process.stderr.read()
        process.stderr.close()


def test_a_full_disk_ends_the_job() -> None:
    def run(job: Job) -> None:
        with job.stream(0, "out") as out, job.stream(0, "err"):
            out.sendall(b"y\n")
            job.say("started")
            assert job.wait_for_kill()
        job.end(137)

    with nodes_of(run) as nodes, open("/dev/full", "w") as full:
        done = subprocess.run(
            [TACETRUN, "-w", names_of(nodes), "/bin/x"],
            stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, env=environment(),
            timeout=PATIENCE_S,
        )  # fmt: skip
        assert done.returncode == 125 and b"cannot be written: No space left" in done.stderr


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_an_interrupt_kills_through_nodes_where_there_is_no_conductor(number: int, status: int) -> None:
    with nodes_of(until_killed, until_killed) as nodes:
        process = started(nodes, "/bin/x")
        wait_for_start(nodes)
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == status and b"interrupted: kills job" in err


def test_an_interrupt_before_there_is_a_job_ends_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        process = started(None, "-w", f"127.0.0.1:{silent.getsockname()[1]}", "--within", 60, "/bin/x")
        with silent.accept()[0]:
            process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 130 and b"no job has begun" in err


def test_a_node_that_hears_no_kill_is_left_and_named() -> None:
    with nodes_of(deaf) as nodes:
        process = started(nodes, "--within", 3, "/bin/x")
        wait_for_start(nodes)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 143
        assert f"has not ended on {nodes[0].address}" in err.decode()


# ---- The conductor ----


class Conductor:
    """One that answers what it is told to, and keeps what it was asked."""

    def __init__(self, path: Path, answer: Callable[[str], dict | None]) -> None:
        self.path, self.answer = path, answer
        self.requests: list[str] = []
        self.server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.server.bind(str(path))
        self.server.listen()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self) -> None:
        """One connection at a time: none may be kept longer than it is used."""
        while True:
            try:
                connection, _ = self.server.accept()
            except OSError:
                return
            with connection, suppress(OSError):  # tacetrun may end before it is answered
                while request := connection.recv(4096).decode():
                    self.requests.append(request)
                    answer = self.answer(request)
                    if answer is not None:
                        connection.sendall(json.dumps(answer).encode() + b"\n")

    def __enter__(self) -> Conductor:
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        self.thread.join(PATIENCE_S)


def conducting(request: str) -> dict | None:
    if request == "job begin":
        return {"job": 4711}
    if request.startswith("ticket "):
        return {"ticket": ticket_of(KEY, int(request.split()[1], 16))}
    return {}


def test_the_conductor_numbers_the_job_and_makes_tickets(tmp_path: Path) -> None:
    run = streams_then("started", "rank 0 0", "end 0")
    with Conductor(tmp_path / "c", conducting) as conductor, Node(run, need="ticket") as node:
        done = ran([node], "--conductor", conductor.path, "/bin/x")
        assert (done.returncode, done.stderr) == (0, "")
        assert node.jobs[0].number("job") == 4711
        assert node.jobs[0].launch[2] == ticket_of(KEY, NONCE)
    assert conductor.requests == ["job begin", f"ticket {NONCE:016x}"]


def test_a_key_makes_tickets_without_a_conductor(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text(KEY.hex() + "\n")
    key.chmod(0o600)
    with Node(streams_then("started", "rank 0 0", "end 0"), need="ticket") as node:
        assert ran([node], "--key", key, "/bin/x").returncode == 0
        assert node.jobs[0].launch[2] == ticket_of(KEY, NONCE)


def test_a_ticket_that_cannot_be_had_or_is_wrong_is_said(tmp_path: Path) -> None:
    def refusing(job: Job) -> None:
        job.say("refused the ticket is wrong")

    with Node(refusing, need="ticket") as node:
        done = ran([node], "/bin/x")
        assert done.returncode == 125 and "--conductor" in done.stderr and "--key" in done.stderr
        with Conductor(tmp_path / "a", lambda request: {"error": "it has no key"}) as conductor:
            done = ran([node], "--conductor", conductor.path, "/bin/x")
            assert done.returncode == 125 and "gives no ticket for it: it has no key" in done.stderr
        with Conductor(tmp_path / "b", lambda request: {"ticket": "0" * 16}) as conductor:
            done = ran([node], "--conductor", conductor.path, "/bin/x")
            assert done.returncode == 125 and f"{node.address}: the ticket is wrong" in done.stderr


def test_nodes_come_from_the_conductor_page_by_page(tmp_path: Path) -> None:
    def one(number: int, state: str = "running") -> dict:
        return {"name": f"n{number}", "ipv4": f"127.0.0.{number}", "state": state}

    odd = [
        {**one(94), "name": ""},
        {**one(95), "name": "n93"},
        {**one(96), "name": "a:b"},
        {**one(97), "name": "\x1b"},
    ]
    pages = {
        "nodes 0": {"nodes": [one(91), one(92, "silent")], "next": 2},
        "nodes 2": {"nodes": [one(93), *odd, {**one(98), "ipv4": "0.0.0.0"}], "next": 0},
    }
    with Conductor(tmp_path / "c", lambda request: pages.get(request, {})) as conductor:
        done = ran(None, "--conductor", conductor.path, "/bin/x")
    assert done.returncode == 125 and "n92 is silent" in done.stderr
    assert (
        "n91: nothing listens at port 35019" in done.stderr and done.stderr.count("n93: nothing listens") == 2
    )
    assert all(f"{name}: nothing listens" in done.stderr for name in ("127.0.0.94", "127.0.0.96", "?"))
    assert "too few idle nodes: 0 of 6" in done.stderr
    with Conductor(tmp_path / "d", lambda request: {"nodes": [], "next": 0}) as conductor:
        done = ran(None, "--conductor", conductor.path, "/bin/x")
        assert done.returncode == 125 and "knows no node" in done.stderr


def test_a_conductor_that_does_not_answer_delays_a_job_and_no_more(tmp_path: Path) -> None:
    with Conductor(tmp_path / "c", lambda request: None) as conductor, nodes_of(processes) as nodes:
        done = ran(nodes, "--conductor", conductor.path, "/bin/echo", "ran")
        assert (done.stdout, done.returncode) == ("ran\n", 0) and "has not answered within 2 s" in done.stderr


def test_the_first_interrupt_lets_the_conductor_kill_at_a_beat(tmp_path: Path) -> None:
    beat = threading.Event()

    def answer(request: str) -> dict | None:
        if request.startswith("one-way"):
            beat.set()
        return conducting(request)

    def run(job: Job) -> None:
        streams = [job.stream(rank, which) for rank in job.ranks for which in ("out", "err")]
        job.say("started")
        assert beat.wait(PATIENCE_S)
        for stream in streams:
            stream.close()
        assert not job.wait_for_kill(0)
        job.end(137)

    with Conductor(tmp_path / "c", answer) as conductor, nodes_of(run, run) as nodes:
        process = started(nodes, "--conductor", conductor.path, "/bin/x")
        wait_for_start(nodes)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 130 and b"the conductor kills job 4711 at the next beat" in err
        assert conductor.requests[-1] == "one-way kill job 4711"


def test_a_job_that_runs_keeps_no_connection_to_the_conductor(tmp_path: Path) -> None:
    with Conductor(tmp_path / "c", conducting) as conductor, nodes_of(until_killed) as nodes:
        process = started(nodes, "--conductor", conductor.path, "/bin/x")
        wait_for_start(nodes)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as other:
            other.settimeout(PATIENCE_S)
            other.connect(str(conductor.path))
            other.sendall(b"job begin")
            assert json.loads(other.recv(100)) == {"job": 4711}
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 143


def test_a_conductor_that_cannot_kill_leaves_it_to_the_nodes(tmp_path: Path) -> None:
    def answer(request: str) -> dict | None:
        return {"error": "no such command"} if request.startswith("one-way") else conducting(request)

    with Conductor(tmp_path / "c", answer) as conductor, nodes_of(until_killed) as nodes:
        process = started(nodes, "--conductor", conductor.path, "/bin/x")
        wait_for_start(nodes)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 130 and b"no such command; the nodes are told" in err


def test_the_second_interrupt_kills_through_nodes_and_the_third_leaves(tmp_path: Path) -> None:
    with Conductor(tmp_path / "c", conducting) as conductor, nodes_of(until_killed, deaf) as nodes:
        process = started(nodes, "--within", 60, "--conductor", conductor.path, "/bin/x", bufsize=0)
        assert process.stderr
        wait_for_start(nodes)
        process.send_signal(signal.SIGINT)
        assert b"at the next beat" in process.stderr.readline()
        line = process.stderr.readline().decode()
        assert (
            f"not ended 5 s later on {names_of(nodes).replace(',', ', ')}" in line and "Ctrl-C again" in line
        )
        process.send_signal(signal.SIGINT)
        assert b"once more leaves" in process.stderr.readline()
        line = process.stderr.readline().decode()
        assert f"not ended 5 s later on {nodes[1].address}: a node hears nothing" in line
        process.send_signal(signal.SIGINT)
        assert f"has not ended on {nodes[1].address}" in process.stderr.readline().decode()
        assert process.wait(PATIENCE_S) == 130
        process.communicate()


# ---- Connections that are no rank's ----


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("stream 0000000000000000 0 out\n", "does not know the job's secret"),
        ("stream {secret} 1 out\n", "the job has no such rank"),
        ("stream {secret} 0 in\n", 'a stream is "out" or "err"'),
        ("stream {secret} 0 out\n", "is there already"),
        ("stream {secret} 0\n", "says neither"),
        ("stream {secret} 0 out again\n", "says neither"),
        ("GET / HTTP/1.1\r\n\r\n", "says neither"),
        ("\n", "says neither"),
        pytest.param("x" * 600, "its first line is too long", id="long"),
        ("", "it ended before it said what it is"),
        ("cmd=init pmi_version=1 pmi_subversion=1\n", "PMI begins with cmd=initack"),
        ("cmd=initack pmiid=1\n", "a rank that the job does not have"),
        ("cmd=initack pmiid=-1\n", "it takes a number"),
        ("cmd=\x1b[2J\n", "PMI-1 has no such command"),
        pytest.param("cmd=" + "x" * 3000, "its line is too long", id="long PMI"),
        pytest.param("cmd= " + "a=b " * 40 + "\n", "16 at most", id="many words"),
    ],
)
def test_strangers_are_sent_away_and_named(line: str, said: str) -> None:
    def run(job: Job) -> None:
        with job.stream(0, "out") as out, job.stream(0, "err"):
            job.say("started")
            with job.connect(line.format(secret=job.value("secret"))) as stranger:
                with suppress(OSError):  # it may be closed already
                    stranger.shutdown(socket.SHUT_WR)
                    assert stranger.recv(100) == b""
            out.sendall(b"still here\n")
        job.end()

    with nodes_of(run) as nodes:
        done = ran(nodes, "/bin/x")
        assert (done.stdout, done.returncode) == ("still here\n", 0)
        assert said in done.stderr and "127.0.0.1:" in done.stderr and "\x1b" not in done.stderr


def test_a_stranger_that_says_nothing_is_sent_away() -> None:
    def run(job: Job) -> None:
        with job.stream(0, "out"), job.stream(0, "err"):
            job.say("started")
            with job.connect("") as stranger:
                assert stranger.recv(100) == b""
        job.end()

    with nodes_of(run) as nodes:
        done = ran(nodes, "--within", 3, "/bin/x")
        assert done.returncode == 0 and "does not say what it is" in done.stderr


# ---- PMI ----


class PmiClient:
    """A rank's connection to PMI."""

    def __init__(self, job: Job, rank: int) -> None:
        environment = job.environment(rank)
        host, port = environment["PMI_PORT"].split(":")
        self.connection = socket.create_connection((host, int(port)), PATIENCE_S)
        self.lines = self.connection.makefile("rb")
        self.size = int(environment["PMI_SIZE"])
        self.send(f"cmd=initack pmiid={environment['PMI_ID']}\n")
        assert [self.answer() for _ in range(4)] == [
            {"cmd": "initack"}, {"cmd": "set", "size": str(self.size)},
            {"cmd": "set", "rank": str(rank)}, {"cmd": "set", "debug": "0"},
        ]  # fmt: skip
        said = self.exchange("cmd=init pmi_version=1 pmi_subversion=1")
        assert said == {"cmd": "response_to_init", "pmi_version": "1", "pmi_subversion": "1", "rc": "0"}
        self.store = self.exchange("cmd=get_my_kvsname")["kvsname"]

    def send(self, text: str) -> None:
        self.connection.sendall(text.encode())

    def answer(self) -> dict[str, str]:
        line = self.lines.readline().decode()
        if not line:
            raise EOFError
        return dict(word.split("=", 1) for word in line.split())

    def exchange(self, text: str) -> dict[str, str]:
        self.send(text + "\n")
        return self.answer()

    def put(self, key: str, value: str) -> dict[str, str]:
        return self.exchange(f"cmd=put kvsname={self.store} key={key} value={value}")

    def get(self, key: str) -> dict[str, str]:
        return self.exchange(f"cmd=get kvsname={self.store} key={key}")

    def finalize(self) -> None:
        assert self.exchange("cmd=finalize")["cmd"] == "finalize_ack"

    def __enter__(self) -> PmiClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.lines.close()
        self.connection.close()


def in_pmi(body: Callable[[PmiClient, int], None], status: int = 0) -> Run:
    """Each rank of the node is a thread that speaks PMI."""

    def run(job: Job) -> None:
        streams = [job.stream(rank, which) for rank in job.ranks for which in ("out", "err")]
        job.say("started")
        failures = []

        def rank_run(rank: int) -> None:
            try:
                with PmiClient(job, rank) as client:
                    body(client, rank)
            except BaseException as failure:
                failures.append(failure)

        threads = [threading.Thread(target=rank_run, args=(rank,)) for rank in job.ranks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for stream in streams:
            stream.close()
        job.end(status)
        if failures:
            raise failures[0]

    return run


def test_ranks_find_each_other_by_pmi() -> None:
    def body(client: PmiClient, rank: int) -> None:
        assert client.exchange("cmd=get_maxes") == {
            "cmd": "maxes", "kvsname_max": "256", "keylen_max": "64", "vallen_max": "1024",
        }  # fmt: skip
        assert client.exchange("cmd=get_appnum") == {"cmd": "appnum", "appnum": "0"}
        assert client.exchange("cmd=get_universe_size") == {"cmd": "universe_size", "size": "7"}
        assert client.put(f"card-{rank}", f"tcp://10.0.0.{rank}")["rc"] == "0"
        for _ in range(20):
            assert client.exchange("cmd=barrier_in") == {"cmd": "barrier_out"}
        for other in range(client.size):
            assert client.get(f"card-{other}")["value"] == f"tcp://10.0.0.{other}"
        assert client.get("PMI_process_mapping")["value"] == "(vector,(0,1,3),(1,2,2))"
        found, index = {}, "0"
        while (said := client.exchange(f"cmd=getbyidx kvsname={client.store} idx={index}"))["rc"] == "0":
            found[said["key"]], index = said["val"], said["nextidx"]
        assert len(found) == 8 and said["reason"] == "no_more_keyvals"
        client.finalize()

    with nodes_of(*[in_pmi(body)] * 3) as nodes:
        done = ran(nodes, "-n", 7, "/bin/x")
        assert (done.returncode, done.stderr) == (0, "")


def test_pmi_refuses_what_it_does_not_offer_and_goes_on() -> None:
    def body(client: PmiClient, rank: int) -> None:
        assert client.put("key", "value")["rc"] == "0"
        again = client.put("key", "other")
        assert again["rc"] == "-1" and "already" in again["msg"]
        assert client.put("k" * 64, "v")["rc"] == "-1" and client.put("k" * 63, "v")["rc"] == "0"
        assert client.put("long", "v" * 1024)["rc"] == "-1" and client.put("long", "v" * 1023)["rc"] == "0"
        assert client.put("empty", "")["rc"] == "0" and client.get("empty")["value"] == ""
        assert client.get("other")["rc"] == "-1"
        assert client.exchange("cmd=get kvsname=elsewhere key=key")["rc"] == "-1"
        assert client.exchange("cmd=put kvsname=elsewhere key=a value=b")["rc"] == "-1"
        for request, answer in (
            ("cmd=publish_name service=a port=b", "publish_result"),
            ("cmd=unpublish_name service=a", "unpublish_result"),
            ("cmd=lookup_name service=a", "lookup_result"),
            ("cmd=create_kvs", "newkvs"),
            ("cmd=destroy_kvs kvsname=a", "kvs_destroyed"),
            ("mcmd=spawn\nnprocs=1\nexecname=/bin/x\narg1=without = sense\nendcmd", "spawn_result"),
        ):
            said = client.exchange(request)
            assert (said["cmd"], said["rc"]) == (answer, "-1")
        client.finalize()

    with nodes_of(in_pmi(body)) as nodes:
        done = ran(nodes, "/bin/x")
        assert done.returncode == 0 and "PMI's put is refused: key=key: it is put already" in done.stderr


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("garbage", "cmd=COMMAND"),
        ("cmd=garbage", "no such command"),
        ("cmd=put key=a value=b", "kvsname= is missing"),
        ("cmd=put kvsname=a value=b", "key= is missing"),
        ("cmd=put kvsname=a key=b", "value= is missing"),
        ("cmd=get kvsname=a", "key= is missing"),
        ("cmd=getbyidx kvsname=a idx=99999999999999999999", "it takes a number"),
        ("cmd=initack pmiid=0", "initack twice"),
        ("cmd=init pmi_version=1 pmi_subversion=1", "init twice"),
        ("cmd=barrier_in\ncmd=get_maxes", "before the barrier has opened"),
        pytest.param("cmd=get " + "x" * 5000, "its line is too long", id="long"),
    ],
)
def test_a_rank_that_speaks_pmi_wrongly_is_named_and_ends_the_job(line: str, said: str) -> None:
    def wrong(client: PmiClient, rank: int) -> None:
        client.send(line + "\n")
        try:
            while client.lines.readline():
                pass
        except ConnectionError:
            pass

    with nodes_of(in_pmi(wrong, status=9), until_killed) as nodes:
        done = ran(nodes, "/bin/x")
        assert done.returncode == 9
        assert f"rank 0 on {nodes[0].address} does not keep to PMI" in done.stderr and said in done.stderr


def test_another_version_of_pmi_is_refused() -> None:
    def run(job: Job) -> None:
        with job.stream(0, "out"), job.stream(0, "err"):
            job.say("started")
            with job.connect("cmd=initack pmiid=0\n") as client, client.makefile("rb") as lines:
                client.sendall(b"cmd=init pmi_version=2 pmi_subversion=0\n")
                assert [lines.readline() for _ in range(5)][-1].split()[-1] == b"rc=-1"
        job.end()

    with nodes_of(run) as nodes:
        assert ran(nodes, "/bin/x").returncode == 0


def test_abort_ends_all_ranks_with_its_exit_code() -> None:
    def body(client: PmiClient, rank: int) -> None:
        client.send("cmd=abort exitcode=42\n")

    with nodes_of(in_pmi(body, status=42), until_killed) as nodes:
        done = ran(nodes, "/bin/x")
        assert done.returncode == 42 and f"rank 0 on {nodes[0].address} aborts the job" in done.stderr


def test_a_rank_that_dies_in_pmi_ends_those_that_wait_for_it() -> None:
    def dies(client: PmiClient, rank: int) -> None:
        pass

    def waits(client: PmiClient, rank: int) -> None:
        with pytest.raises((EOFError, ConnectionError)):
            client.exchange("cmd=barrier_in")

    def run(job: Job) -> None:
        streams = [job.stream(1, which) for which in ("out", "err")]
        job.say("started")
        with PmiClient(job, 1) as client:
            client.send("cmd=barrier_in\n")
            assert job.wait_for_kill()
        for stream in streams:
            stream.close()
        job.end(137)

    with nodes_of(in_pmi(dies, status=139), run) as nodes:
        done = ran(nodes, "/bin/x")
        assert done.returncode == 139 and "has ended before PMI's finalize" in done.stderr


MPI_PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
int main(int count, char **words)
{
    int rank, size, right;
    long sum, own;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (count > 1 && rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 7);
    own = rank + 1;
    MPI_Allreduce(&own, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + size - 1) % size, 0, &right, 1, MPI_INT, (rank + 1) % size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("rank %d of %d: sum %ld, right %d\n", rank, size, sum, right);
    MPI_Finalize();
    return 0;
}
"""


@pytest.fixture(scope="module")
def mpi_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("mpicc.mpich"):
        pytest.skip("no mpicc.mpich here (Debian: libmpich-dev, mpich)")
    folder = tmp_path_factory.mktemp("mpi")
    (folder / "ring.c").write_text(MPI_PROGRAM)
    subprocess.run(["mpicc.mpich", "-o", folder / "ring", folder / "ring.c"], check=True)
    return folder / "ring"


def test_programs_with_mpich_run_over_nodes(mpi_program: Path) -> None:
    with nodes_of(processes, processes) as nodes:
        done = ran(nodes, "-n", 4, mpi_program)
        expected = [f"rank {r} of 4: sum 10, right {(r + 1) % 4}" for r in range(4)]
        assert (done.returncode, sorted(done.stdout.splitlines())) == (0, expected), done.stderr
        done = ran(nodes, "-n", 4, mpi_program, "abort")
        assert done.returncode == 7 and "aborts the job with exit code 7" in done.stderr


# ---- Command lines ----


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "it takes the program to run"),
        (["ftq"], "ftq: there is no search for programs: say its path on the nodes, as /mnt/ftq"),
        (["--bcast", "ftq"], "say ./ftq"),
        (["/mnt/"], "this is a folder"),
        (["-N", "0", "/bin/x"], "-N 0: it takes a number, 1 to"),
        (["-N", "-1", "/bin/x"], "-N -1: it takes a number"),
        (["-n", "many", "/bin/x"], "-n many: it takes a number"),
        (["-n", "99999999999999999999", "/bin/x"], "it takes a number"),
        (["-c", "0", "/bin/x"], "-c 0"),
        (["-N", "4", "-n", "3", "/bin/x"], "each node runs a rank at least"),
        (["-t", "1h", "/bin/x"], "-t 1h: it takes a number"),
        (["-W", "0", "/bin/x"], "-W 0: it takes a number"),
        (["--within", "0", "/bin/x"], "--within 0"),
        (["--silence", "x", "/bin/x"], "--silence x"),
        (["--port", "65536", "/bin/x"], "--port 65536"),
        (["--env", "A", "/bin/x"], "--env A: it takes NAME=VALUE"),
        (["--env", "=A", "/bin/x"], "it takes NAME=VALUE"),
        (["-D", "here", "/bin/x"], "it takes a whole path"),
        (["-i", "all", "/bin/x"], "-i all: it takes a number"),
        (["-n", "2", "-i", "2", "/bin/x"], "ranks are 0 to 1"),
        (["--unknown", "/bin/x"], "--help lists the options"),
        (["-n"], "--help lists the options"),
    ],
)
def test_wrong_words_are_named_with_what_would_be_right(words: list[str], said: str) -> None:
    done = ran(None, *words)
    assert done.returncode == 2 and said in done.stderr and done.stdout == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["/bin/x"], "name them with -w"),
        (["-w", ",", "/bin/x"], "-w names no node"),
        (["-w", "a:b", "/bin/x"], "a port is a number"),
        (["-w", "a:0", "/bin/x"], "a port is a number"),
        (["-w", ":1", "/bin/x"], "a name of 1 to 127 characters"),
        (["-w", "n" * 128, "/bin/x"], "a name of 1 to 127 characters"),
        (["-w", "127.0.0.1:9,127.0.0.1:9", "/bin/x"], "is named twice"),
        (["-w", "127.0.0.1:9", "-N", "2", "/bin/x"], "-N 2: there are 1 nodes to choose from"),
        (["-w", "127.0.0.1:9", "--bcast", "./no-such-file"], "./no-such-file: No such file"),
        (["-w", "127.0.0.1:9", "--bcast", "/dev/null"], "it takes a file of 1 byte to 4 GiB"),
        (["-w", "127.0.0.1:9", "--key", "/no-such-key", "/bin/x"], "the key /no-such-key: No such file"),
        (
            ["-w", "127.0.0.1:9", "--conductor", "/no-such-socket", "/bin/x"],
            "no conductor at /no-such-socket",
        ),
    ],
)
def test_what_cannot_be_done_is_named(words: list[str], said: str) -> None:
    done = ran(None, *words)
    assert done.returncode == 125 and said in done.stderr and done.stdout == ""


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("0.0.0.0", 0)) as taken:
        port = taken.getsockname()[1]
        done = ran(None, "-w", "127.0.0.1:9", "--port", port, "/bin/x")
        assert done.returncode == 125 and f"port {port}: Address already in use" in done.stderr


def test_arguments_that_do_not_fit_into_a_request_are_refused() -> None:
    with nodes_of(processes) as nodes:
        done = ran(nodes, "/bin/x", *["a" * 70_000] * 2)
        assert done.returncode == 125 and "131072 bytes" in done.stderr
        done = ran(nodes, "/bin/x", *["a"] * 1024)
        assert done.returncode == 2 and "1024 arguments" in done.stderr


def test_too_few_descriptors_are_said_before_the_job_begins() -> None:
    with nodes_of(processes) as nodes:
        done = subprocess.run(
            ["/bin/sh", "-c", f"ulimit -n 64; exec {TACETRUN} -w {names_of(nodes)} -n 100 /bin/x"],
            capture_output=True, text=True, env=environment(), timeout=PATIENCE_S, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 125 and "100 ranks need 333 descriptors" in done.stderr


def test_help_is_there() -> None:
    done = ran(None, "--help")
    assert done.returncode == 0 and "usage: tacetrun" in done.stdout and done.stderr == ""
