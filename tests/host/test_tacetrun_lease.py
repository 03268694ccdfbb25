# SPDX-License-Identifier: BSD-2-Clause
"""tacetrun's connection to the conductor while its job runs: what it does when the conductor says that a node
is dead, and when the conductor itself is gone for a while."""

from __future__ import annotations

import signal
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.launch_node import PATIENCE_S, Node
from tests.making import made
from tests.tacetrun import (
    Conductor,
    conducting,
    deaf,
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


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ("silent", "the node is dead or cut off: it no longer answers the conductor's beats"),
        ("restarted", "the node has restarted, without the job"),
        ("without", "the node runs the job no longer, but has not reported its end"),
    ],
)
def test_a_node_that_is_dead_ends_the_job_everywhere(event: str, said: str, tmp_path: Path) -> None:
    with Conductor(tmp_path / "c", conducting) as conductor, nodes_of(until_killed, deaf) as nodes:
        process = started(nodes, "--conductor", conductor.path, "/bin/x")
        wait_for_start(nodes)
        conductor.tell(event, 1)
        _, err = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, err.decode()) == (125, f"tacetrun: {nodes[1].address}: {said}\n")
        assert nodes[0].jobs[0].is_killed
        wait_until(lambda: "one-way kill job 4711" in conductor.requests)
        assert "job end" not in conductor.requests  # so the conductor kills it where it has not ended


def test_news_of_a_node_that_has_ended_its_part_or_of_none_harm_nobody(tmp_path: Path) -> None:
    with Conductor(tmp_path / "c", conducting) as conductor:
        with nodes_of(streams_then("started", "rank 0 0", "end 0"), until_killed) as nodes:
            process = started(nodes, "-W", "1", "--conductor", conductor.path, "/bin/x")
            wait_for_start(nodes[1:])
            for event, node in (("else", 1), ("silent", 99), ("silent", 0), ("restarted", 0), ("without", 0)):
                conductor.tell(event, node)
            _, err = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 137 and err.count(b"\n") == 1 and b"--wait" in err


def test_nodes_are_named_by_their_address_and_name_in_their_order(tmp_path: Path) -> None:
    run = streams_then("started", "end 0")
    with Conductor(tmp_path / "c", conducting) as conductor:
        with Node(run, name="n1") as first, Node(run, name="n2") as second:
            assert ran([first, second], "--conductor", conductor.path, "/bin/x").returncode == 0
            wait_until(lambda: conductor.requests[-1] == "job end")
    assert conductor.requests == ["job begin 127.0.0.1/n1 127.0.0.1/n2", "job end"]


def test_many_nodes_are_named_in_several_requests(tmp_path: Path) -> None:
    slow: list[str] = []

    def answer(request: str) -> dict | None:
        if request.startswith("job nodes") and not slow:
            slow.append(request)  # this one stays without an answer
            return None
        return conducting(request)

    with Conductor(tmp_path / "c", answer) as conductor, ExitStack() as stack:
        nodes = [stack.enter_context(Node(until_killed, name=f"n{i:030}")) for i in range(100)]
        process = started(nodes, "--conductor", conductor.path, "/bin/x")
        wait_until(lambda: slow)
        conductor.end()
        conductor.requests.clear()
        conductor.begin()
        wait_until(lambda: sum(len(request.split()) for request in conductor.requests) == 100 + 3 + 2)
        named = [word for request in conductor.requests for word in request.split() if "/" in word]
        assert named == [f"127.0.0.1/n{i:030}" for i in range(100)]
        assert [request.split()[1] for request in conductor.requests] == ["resume", "nodes"]
        wait_for_start(nodes)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 143
        assert b"does not watch" not in process.communicate()[1]


def test_a_conductor_that_comes_back_gets_the_job_back(tmp_path: Path) -> None:
    with Conductor(tmp_path / "c", conducting) as conductor, nodes_of(until_killed, deaf) as nodes:
        process = started(nodes, "--conductor", conductor.path, "/bin/x")
        wait_for_start(nodes)
        for _ in range(2):
            conductor.end()
            conductor.begin()
            wait_until(lambda: conductor.requests[-1] == "job resume 4711 127.0.0.1 127.0.0.1")
            conductor.requests.append("")
        wait_until(lambda: conductor.leases)
        conductor.tell("silent", 1)
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 125 and err.count(b"\n") == 1


def test_a_request_waits_for_a_conductor_that_is_gone(tmp_path: Path) -> None:
    with Conductor(tmp_path / "c", conducting) as conductor, nodes_of(until_killed) as nodes:
        process = started(nodes, "--conductor", conductor.path, "/bin/x")
        wait_for_start(nodes)
        conductor.end()
        process.send_signal(signal.SIGINT)  # through the network, since there is no conductor
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 130 and b"interrupted: killing job 4711" in err
        conductor.begin()


def test_a_conductor_that_does_not_take_the_job_back_is_named(tmp_path: Path) -> None:
    def answer(request: str) -> dict | None:
        return {"error": "not yours"} if request.startswith("job resume") else conducting(request)

    with Conductor(tmp_path / "c", answer) as conductor, nodes_of(until_killed) as nodes:
        process = started(nodes, "--conductor", conductor.path, "/bin/x")
        wait_for_start(nodes)
        conductor.end()
        conductor.begin()
        wait_until(lambda: conductor.requests[-1].startswith("job resume"))
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 143
        assert b"the conductor does not watch this job: not yours" in err


def test_a_conductor_that_does_not_answer_keeps_the_lease(tmp_path: Path) -> None:
    def answer(request: str) -> dict | None:
        return None if request.startswith("one-way") else conducting(request)

    with Conductor(tmp_path / "c", answer) as conductor, nodes_of(until_killed) as nodes:
        process = started(nodes, "--conductor", conductor.path, "/bin/x")
        wait_for_start(nodes)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 130 and b"no answer; killing it through the network" in err
        wait_until(lambda: conductor.requests[-1] == "job end")
        assert len(conductor.leases) == 1


def test_a_job_that_another_one_outruns_gives_its_number_back(tmp_path: Path) -> None:
    """And gets a new one, with a ticket for that."""
    numbers = iter((4711, 4712))

    def answer(request: str) -> dict | None:
        return {"job": next(numbers)} if request.startswith("job begin") else conducting(request)

    run = streams_then("started", "rank 0 0", "end 0")
    with Conductor(tmp_path / "c", answer) as conductor:
        with Node(run, need="ticket", outrun="busy: another job has begun here") as node:
            process = started(
                [node], "--conductor", conductor.path, "--wait-for-nodes", 100, "--within", 60, "/bin/x"
            )
            assert process.stderr and b"waiting for idle nodes again" in process.stderr.readline()
            wait_until(lambda: "job end" in conductor.requests)
            node.set_busy(False)
            process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 0 and node.jobs[0].number("job") == 4712
        wait_until(lambda: conductor.requests.count("job end") == 2)
    asked = [request.split(" 127")[0].split()[:2] for request in conductor.requests if "nodes" not in request]
    assert [words[0] for words in asked] == ["job", "ticket", "job", "job", "ticket", "job"]
