# SPDX-License-Identifier: BSD-2-Clause
"""tacetrun with nodes, conductors, users and strangers that break it off: how a job ends that does not end
normally."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.keys import MASTER, TICKET_S, key_write, ticket
from tests.launch_node import ID, NONCE, PATIENCE_S, STREAMS, Job, Node, processes
from tests.making import ROOT, made
from tests.namespaces import namespace_needed
from tests.tacetrun import (
    EXPIRES,
    TACETRUN,
    Conductor,
    PmiClient,
    conducting,
    deaf,
    environment,
    hears_all,
    names_of,
    nodes_of,
    ran,
    started,
    streams_then,
    until_killed,
    wait_for_start,
    wait_until,
)


@pytest.fixture(scope="module", autouse=True)
def build() -> None:
    made("service")


# ---- Nodes that break ----


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["refused no file /bin/x"], "no file /bin/x"),
        (["hello"], 'unexpected message "hello"'),
        (["rank 0 0"], "unexpected message"),
        (["started", "rank 7 0"], 'unexpected message "rank 7 0"'),
        (["started", "rank 0 256"], "unexpected message"),
        (["started", "rank 0 0", "rank 0 0"], "unexpected message"),
        (["started", "rank 0"], "unexpected message"),
        (["started", "end x"], "unexpected message"),
        (["started", "refused its memory is broken"], "its memory is broken"),
        pytest.param(["started", "x" * 600], "a line of more than 512 characters", id="long"),
        (["started"], "the node closed the connection"),
        ([], "the node closed the connection"),
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
        assert f"{nodes[0].address}: timed out waiting for its ranks to start" in done.stderr


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


def test_a_node_whose_rank_has_failed_is_free_again_when_tacetrun_ends() -> None:
    """It says so at once, and then has its other ranks to end."""
    free = threading.Event()

    def fails(job: Job) -> None:
        job.say("refused rank 0: it does not fit into memory")
        assert job.wait_for_kill()
        time.sleep(0.5)
        free.set()
        job.end(137)

    with nodes_of(fails, until_killed) as nodes:
        done = ran(nodes, "/bin/x")
        assert done.returncode == 125 and free.is_set()
        assert done.stderr == f"tacetrun: {nodes[0].address}: rank 0: it does not fit into memory\n"


def test_a_node_that_does_not_take_the_program_is_named(tmp_path: Path) -> None:
    with (tmp_path / "program").open("wb") as program:
        program.truncate(1 << 30)

    with socket.create_server(("127.0.0.1", 0)) as server:
        server.listen()

        def serve() -> None:
            connection, _ = server.accept()
            connection.sendall(f"tacet-launch 2 {NONCE:016x} open state=idle id={ID}\n".encode())
            held.append(connection)

        held: list[socket.socket] = []
        thread = threading.Thread(target=serve)
        thread.start()
        name = f"127.0.0.1:{server.getsockname()[1]}"
        done = ran(None, "-w", name, "--within", 2, "--bcast", tmp_path / "program")
        thread.join()
        held[0].close()
    assert done.returncode == 125 and f"{name}: timed out while sending the request" in done.stderr


CUT_OFF = """
import json, os, subprocess, sys, threading
sys.path.insert(0, sys.argv[1])
from tests.launch_node import PATIENCE_S, Node
from tests.tacetrun import ran

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
    namespace_needed()
    inside = ["unshare", "-rn", sys.executable, "-c", CUT_OFF, ROOT, system, *words]
    done = subprocess.run(inside, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_node_that_is_cut_off_is_dead_after_a_silence() -> None:
    address, status, said = cut_off("Linux-6.1", "--silence", "2", "-t", "60")
    assert status == 125 and f"{address}: connection timed out" in said


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
        assert process.stderr and b"reader of standard output has closed it" in process.stderr.read()
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
        assert done.returncode == 125 and b"cannot write to standard output: No space left" in done.stderr


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_an_interrupt_kills_through_nodes_where_there_is_no_conductor(number: int, status: int) -> None:
    with nodes_of(until_killed, until_killed) as nodes:
        process = started(nodes, "/bin/x")
        wait_for_start(nodes)
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == status and b"interrupted: killing job" in err


def test_a_hangup_that_nohup_ignores_ends_nothing() -> None:
    hung_up = threading.Event()

    def run(job: Job) -> None:
        streams_then("started")(job)
        hung_up.wait(PATIENCE_S)
        job.say("rank 0 0", "end 0")

    with nodes_of(run) as nodes:
        process = started(nodes, "/bin/x", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        wait_for_start(nodes)
        process.send_signal(signal.SIGHUP)
        hung_up.set()
        _, err = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, err) == (0, b"")


def test_an_interrupt_before_there_is_a_job_ends_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        process = started(None, "-w", f"127.0.0.1:{silent.getsockname()[1]}", "--within", 60, "/bin/x")
        with silent.accept()[0]:
            process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 130 and b"no job was started" in err


def test_a_node_that_hears_no_kill_is_left_and_named() -> None:
    with nodes_of(deaf) as nodes:
        process = started(nodes, "--within", 3, "/bin/x")
        wait_for_start(nodes)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 143
        assert f"has not ended on {nodes[0].address}" in err.decode()


# ---- The conductor ----


def test_the_conductor_numbers_the_job_and_makes_tickets(tmp_path: Path) -> None:
    run = streams_then("started", "rank 0 0", "end 0")
    with Conductor(tmp_path / "c", conducting) as conductor, Node(run, need="ticket") as node:
        done = ran([node], "--conductor", conductor.path, "/bin/x")
        assert (done.returncode, done.stderr) == (0, "")
        assert node.jobs[0].number("job") == 4711
        said = ticket(f"{NONCE:016x}", ID, job=4711, expires=EXPIRES)
        assert node.jobs[0].launch[2:] == said.split()
        wait_until(lambda: conductor.requests[-1] == "job end")
    assert conductor.requests == ["job begin 127.0.0.1", f"ticket {NONCE:016x} {ID} 4711", "job end"]


def test_a_key_makes_tickets_without_a_conductor(tmp_path: Path) -> None:
    key = key_write(tmp_path / "key", MASTER.hex() + "\n")
    with Node(streams_then("started", "rank 0 0", "end 0"), need="ticket") as node:
        assert ran([node], "--key", key, "/bin/x").returncode == 0
        job, uid, gid, groups, expires, mac = node.jobs[0].launch[2:]
        assert (int(uid), int(gid)) == (os.getuid(), os.getgid())
        assert sorted(groups.split(",")) == sorted(map(str, os.getgroups())) or (groups, os.getgroups()) == (
            "-",
            [],
        )
        assert abs(int(expires) - time.time()) <= PATIENCE_S + TICKET_S
        said = [] if groups == "-" else list(map(int, groups.split(",")))
        made = ticket(f"{NONCE:016x}", ID, job=int(job), groups=said, expires=int(expires))
        assert made.split()[-1] == mac


def test_a_ticket_that_cannot_be_had_or_is_wrong_is_said(tmp_path: Path) -> None:
    def refusing(job: Job) -> None:
        job.say("refused the ticket is wrong")

    with Node(refusing, need="ticket") as node:
        done = ran([node], "/bin/x")
        assert done.returncode == 125 and "--conductor" in done.stderr and "--key" in done.stderr
        assert f"{node.address} wants a ticket" in done.stderr and "on the service node" in done.stderr
        assert "/nonexistent/conductor (No such file or directory)" in done.stderr
        assert not any(job.launch for job in node.jobs)
        with Conductor(tmp_path / "a", lambda request: {"error": "it has no key"}) as conductor:
            done = ran([node], "--conductor", conductor.path, "/bin/x")
            assert done.returncode == 125 and "refused a ticket: it has no key" in done.stderr
        with Conductor(tmp_path / "b", lambda request: {"ticket": "1 0 0 - 5 " + "0" * 32}) as conductor:
            done = ran([node], "--conductor", conductor.path, "/bin/x")
            assert done.returncode == 125 and f"{node.address}: the ticket is wrong" in done.stderr


def test_a_ticket_that_a_rotation_has_overtaken_is_made_again(tmp_path: Path) -> None:
    """By the conductor, or with what the key's file holds by then."""

    def run(job: Job) -> None:
        if len(job.node.jobs) == 1:
            key_write(key, NEW.hex())
            job.say("refused the ticket is wrong: it was made with another key, or for another node")
        else:
            streams_then("started", "rank 0 0", "end 0")(job)

    NEW = bytes(range(100, 116))
    key = key_write(tmp_path / "key", MASTER.hex())
    with Node(run, need="ticket") as node:
        done = ran([node], "--key", key, "/bin/x")
        assert (done.returncode, done.stderr) == (0, "")
        macs = []
        for job, master in zip([job for job in node.jobs if job.launch], (MASTER, NEW), strict=True):
            number, uid, gid, groups, expires, mac = job.launch[2:]
            said = [] if groups == "-" else list(map(int, groups.split(",")))
            macs.append(mac)
            assert (
                macs[-1]
                == ticket(
                    f"{NONCE:016x}", ID, job=int(number), groups=said, expires=int(expires), master=master
                ).split()[-1]
            )
    with Conductor(tmp_path / "c", conducting) as conductor, Node(run, need="ticket") as node:
        done = ran([node], "--conductor", conductor.path, "/bin/x")
        assert (done.returncode, done.stderr) == (0, "")
    asked = [request.split()[0] for request in conductor.requests]
    assert asked == ["job", "ticket", "ticket", "job"]


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
    assert done.returncode == 125 and "skipping n92" in done.stderr
    assert (
        "n91: connection refused at port 350" in done.stderr and done.stderr.count("n93: connection ref") == 2
    )
    assert all(f"{name}: connection refused" in done.stderr for name in ("127.0.0.94", "127.0.0.96", "?"))
    assert "too few idle nodes: 0 of 6" in done.stderr
    with Conductor(tmp_path / "d", lambda request: {"nodes": [], "next": 0}) as conductor:
        done = ran(None, "--conductor", conductor.path, "/bin/x")
        assert done.returncode == 125 and "knows only silent nodes" in done.stderr


def test_a_node_that_hears_nothing_is_busy_if_the_conductor_knows_its_job(tmp_path: Path) -> None:
    """Long before --within is over. One that the conductor does not hear either may be dead."""
    with socket.create_server(("127.0.0.1", 0)) as silent, socket.socket() as closed:
        closed.bind(("127.0.0.2", 0))  # and does not listen
        node = {"name": "n1", "ipv4": "127.0.0.1", "state": "running", "job": 12, "uid": 0}
        pages = {
            "nodes 0": {"nodes": [{**node, "ipv4": "127.0.0.9", "job": 10}], "next": 1},
            "nodes 1": {"nodes": [node, {**node, "ipv4": "127.0.0.2", "job": 13}], "next": 0},
        }
        names = [f"127.0.0.{i + 1}:{s.getsockname()[1]}" for i, s in enumerate((silent, closed))]
        with Conductor(tmp_path / "c", lambda request: pages.get(request, {})) as conductor:
            words = ["-w", ",".join(names), "--within", 1000, "--conductor", conductor.path]
            done = ran(None, *words, "/bin/x")
    assert done.returncode == 125 and f"{names[0]}: busy with job 12 of root\n" in done.stderr
    assert f"{names[1]}: connection refused" in done.stderr
    assert conductor.requests == ["nodes 0", "nodes 1"]
    with socket.create_server(("127.0.0.1", 0)) as silent:
        name = f"127.0.0.1:{silent.getsockname()[1]}"
        gone = {"nodes": [{**node, "state": "silent"}], "next": 0}
        with Conductor(tmp_path / "d", lambda request: gone) as conductor:
            done = ran(None, "-w", name, "--within", 1, "--conductor", conductor.path, "/bin/x")
    assert done.returncode == 125 and f"{name}: timed out waiting for its greeting" in done.stderr


def test_a_conductor_that_does_not_answer_delays_a_job_and_no_more(tmp_path: Path) -> None:
    with Conductor(tmp_path / "c", lambda request: None) as conductor, nodes_of(processes) as nodes:
        done = ran(nodes, "--conductor", conductor.path, "/bin/echo", "ran")
        assert (done.stdout, done.returncode) == ("ran\n", 0) and "timed out after 2 s" in done.stderr


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
        wait_until(lambda: conductor.requests[-2:] == ["one-way kill job 4711", "job end"])


def test_a_conductor_that_cannot_kill_leaves_it_to_the_nodes(tmp_path: Path) -> None:
    def answer(request: str) -> dict | None:
        return {"error": "no such command"} if request.startswith("one-way") else conducting(request)

    with Conductor(tmp_path / "c", answer) as conductor, nodes_of(until_killed) as nodes:
        process = started(nodes, "--conductor", conductor.path, "/bin/x")
        wait_for_start(nodes)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 130 and b"no such command; killing it through the network" in err


def test_the_second_interrupt_kills_through_nodes_and_the_third_leaves(tmp_path: Path) -> None:
    with Conductor(tmp_path / "c", conducting) as conductor, nodes_of(until_killed, deaf) as nodes:
        process = started(nodes, "--within", 60, "--conductor", conductor.path, "/bin/x", bufsize=0)
        assert process.stderr
        wait_for_start(nodes)
        process.send_signal(signal.SIGINT)
        assert b"at the next beat" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert b"press Ctrl-C again to leave" in process.stderr.readline()
        wait_until(lambda: nodes[0].jobs[0].is_killed)
        process.send_signal(signal.SIGINT)
        assert f"has not ended on {nodes[1].address}" in process.stderr.readline().decode()
        assert process.wait(PATIENCE_S) == 130
        process.communicate()


def test_one_interrupt_ends_a_job_with_a_dead_node(tmp_path: Path) -> None:
    """Neither the conductor nor the network reaches one of the nodes."""
    with Conductor(tmp_path / "c", conducting) as conductor, nodes_of(until_killed, deaf) as nodes:
        process = started(nodes, "--within", 2, "--conductor", conductor.path, "/bin/x")
        wait_for_start(nodes)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 130
        both = names_of(nodes).replace(",", ", ")
        assert f"not ended after 5 s on {both}: killing it through the network, too" in err.decode()
        assert f"leaving, but job 4711 has not ended on {nodes[1].address}" in err.decode()
        assert "job end" not in conductor.requests


# ---- Connections that are no rank's ----


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("stream 0000000000000000 0 out\n", "secret is not the job's"),
        ("stream {secret} 1 out\n", "the job has no such rank"),
        ("stream {secret} 0 in\n", "its first line is not"),
        ("stream {secret} -1 out\n", "its first line is not"),
        ("stream 0{secret} 0 out\n", "its first line is not"),
        ("stream {secret} 0 out\n", "already connected"),
        ("stream {secret} 0 pmi\n", "already connected"),
        ("stream 0000000000000000 0 pmi\ncmd=abort exitcode=7\n", "secret is not the job's"),
        ("cmd=initack pmiid=0\ncmd=abort exitcode=7\n", "its first line is not"),
        ("stream {secret} 0\n", "its first line is not"),
        ("stream {secret} 0 out again\n", "its first line is not"),
        ("GET / HTTP/1.1\r\n\r\n", "its first line is not"),
        ("\n", "its first line is not"),
        pytest.param("x" * 600, "its first line is too long", id="long"),
        ("", "closed before its first line came"),
        ("\x1b[2J\n", "its first line is not"),
    ],
)
def test_strangers_are_sent_away_and_named(line: str, said: str) -> None:
    def run(job: Job) -> None:
        with job.stream(0, "out") as out, job.stream(0, "err"), job.stream(0, "pmi"):
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
        done = ran(nodes, "--within", 60, "/bin/x")
        assert done.returncode == 0 and "first line has not come in time" in done.stderr


def ends(strangers: list[socket.socket]) -> int:
    """How many of them tacetrun has closed; waits for one."""
    readable = select.select(strangers, [], [], PATIENCE_S)[0]
    assert all(one.recv(100) == b"" for one in readable)
    return len(readable)


@pytest.mark.parametrize("limit", [None, 36])
def test_many_strangers_keep_no_rank_out(limit: int | None) -> None:
    """They are there before the ranks' streams, say half a line or nothing, and come again. The job needs 36
    descriptors."""
    strangers: list[socket.socket] = []

    def run(job: Job) -> None:
        half = f"stream {job.value('secret')} 0 o"
        strangers.extend(job.connect(half if i % 2 else "") for i in range(300))
        with job.stream(0, "out") as out, job.stream(0, "err"), PmiClient(job, 0) as pmi:
            job.say("started")
            strangers.extend(job.connect("stream") for _ in range(300))
            while ends(strangers) < 100:
                time.sleep(0.01)
            assert out.recv(100) == b"input"
            out.sendall(b"output")
            pmi.finalize()
        job.end()

    def limits() -> None:
        hears_all()
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit or 4096, limit or 4096))

    with nodes_of(run) as nodes:
        done = ran(nodes, "/bin/x", data=b"input", preexec_fn=limits)
        assert (done.stdout, done.returncode) == ("output", 0), done.stderr
        assert "and newer connections wait" in done.stderr
        for stranger in strangers:
            stranger.close()


def test_descriptors_that_are_short_for_a_while_end_no_job() -> None:
    """There is none left when the ranks' streams come."""
    short, enough = threading.Event(), threading.Event()

    def run(job: Job) -> None:
        assert short.wait(PATIENCE_S)
        with job.stream(0, "out") as out, job.stream(0, "err"):
            job.say("started")
            assert enough.wait(PATIENCE_S)
            out.sendall(b"output")
        job.end()

    with nodes_of(run) as nodes:
        process = started(nodes, "-i", "none", "/bin/x", bufsize=0)
        assert process.stderr
        wait_until(lambda: nodes[0].jobs and nodes[0].jobs[0].words)
        before = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (3, before[1]))
        short.set()
        assert b"cannot accept a connection: Too many open files" in process.stderr.readline()
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, before)
        enough.set()
        out, err = process.communicate(timeout=PATIENCE_S)
        assert (out, err, process.returncode) == (b"output", b"", 0)


def test_strangers_do_not_hold_up_the_end_of_a_job() -> None:
    """One connects again and again, while a stream of a dead node never ends."""
    over = threading.Event()

    def visit(job: Job) -> None:
        with suppress(OSError):
            while not over.is_set():
                job.connect("x").close()

    def run(job: Job) -> None:
        streams.extend(job.stream(0, which) for which in STREAMS)
        job.say("started")
        visitor = threading.Thread(target=visit, args=(job,))
        visitor.start()
        job.end()
        visitor.join()

    streams: list[socket.socket] = []
    with nodes_of(run) as nodes:
        try:
            assert ran(nodes, "/bin/x").returncode == 0
        finally:
            over.set()
        for stream in streams:
            stream.close()
