# SPDX-License-Identifier: BSD-2-Clause
"""`conductorctl klog` with nodes that are scripted, on a wire of its own (a network namespace without root):
logs come whole even if the wire damages their pages, nodes without a log are named, no log stays held, and no
name of a node leads out of the folder.

Each test runs as `scene_…` in a namespace of its own.
"""

from __future__ import annotations

import dataclasses
import json
import random
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from test_conductor_nodes import OFTEN, SELDOM, connect, service  # noqa: F401

from tests.beat_frames import HOLD, PAGE_BYTES, SEND_PAGES, Page
from tests.fake_nodes import SERVICE, FakeNode, Wire, assert_plays, play

EBUSY = 16


def log_of(bytes_of: int, seed: int = 5) -> bytes:
    return random.Random(seed).randbytes(bytes_of)


def folder_of(wire: Wire) -> Path:
    return wire.folder / "logs"


def pull(wire: Wire, *words: object, status: int = 0) -> dict:
    """What conductorctl has written, which is what it says in JSON."""
    said = wire.ctl("klog", "--to", folder_of(wire), *words, status=status)
    assert said == json.loads((folder_of(wire) / "nodes.json").read_text())
    return said


def check_logs(wire: Wire, said: dict, *nodes: FakeNode) -> None:
    """These have come whole, and none is held any more."""
    found = {node["address"]: node for node in said["nodes"]}
    assert sorted(found) == sorted(node.address.hex(":") for node in nodes)
    for node in nodes:
        entry = found[node.address.hex(":")]
        assert (folder_of(wire) / entry["file"]).read_bytes() == node.log
        assert entry["bytes"] == len(node.log) and entry["name"] == node.name.decode()
        beat = entry["beat"]
        assert (entry["local_ns"], entry["global_ns"], entry["drift"]) == (1000 + beat, 10**18 + beat, -7)
    assert len({entry["beat"] for entry in found.values()}) <= 1
    assert not any(node.held for node in wire.nodes if node.answers)


def errors(said: dict) -> dict[str, str]:
    return {node["name"]: node["error"] for node in said["missing"]}


def codes(node: FakeNode) -> list[int]:
    return [command.code & 0x7FFF for command in node.obeyed]


def has_held(node: FakeNode) -> bool:
    return any(command.code & 0x7FFF == HOLD and any(command.body) for command in node.obeyed)


def scene_logs_of_any_length_come_whole(wire: Wire) -> None:
    sizes = (1, PAGE_BYTES - 1, PAGE_BYTES, PAGE_BYTES + 1, 8 * PAGE_BYTES, 8 * PAGE_BYTES + 1, 100_000)
    nodes = [FakeNode(b"n%d" % size, log=log_of(size)) for size in sizes]
    wire.add(*nodes)
    wire.start(*SELDOM)
    check_logs(wire, pull(wire), *nodes)
    assert sorted(path.name for path in folder_of(wire).iterdir()) == sorted(
        [*(f"n{size}.klog" for size in sizes), "nodes.json"]
    )
    assert codes(nodes[0])[0] == HOLD and codes(nodes[0])[-1] == HOLD
    said = wire.run("klog", "--to", folder_of(wire), "--nodes", f"n1,{nodes[3].address.hex(':')}")
    assert (said.returncode, said.stderr) == (0, "") and "klog: 2 logs in" in said.stdout
    check_logs(wire, json.loads((folder_of(wire) / "nodes.json").read_text()), nodes[0], nodes[3])
    status = wire.status()
    assert status["stray_pages"] == 0 and status["pages"] >= sum(-(-size // PAGE_BYTES) for size in sizes)


def scene_pages_that_are_lost_doubled_mixed_or_strange_change_nothing(wire: Wire) -> None:
    chance = random.Random(7)

    def lossy(page: Page) -> Sequence[Page]:
        strange = (
            dataclasses.replace(page, start=page.start + 1),
            dataclasses.replace(page, epoch=page.epoch + 1),
            dataclasses.replace(page, number=page.number + 1000),
            dataclasses.replace(page, offset=page.offset + 1, data=page.data[1:]),
            dataclasses.replace(page, data=page.data[:-1]),
            dataclasses.replace(page, version=2),
            dataclasses.replace(page, size=page.offset),
            dataclasses.replace(page, length=3),
        )
        sent = [page] * chance.choice((0, 1, 1, 1, 2)) + [chance.choice(strange)]
        chance.shuffle(sent)
        return sent

    node, other = FakeNode(b"n1", log=log_of(60_000), pages_of=lossy), FakeNode(b"n2", log=log_of(3000))
    wire.add(node, other)
    wire.start(*SELDOM)
    stranger = Page(number=1, epoch=10**18, size=8, data=b"TACETLOG")
    wire.send(stranger.frame(wire.to, bytes.fromhex("025400000077")))
    wire.send(stranger.frame(wire.to, other.address, bytes(16)))
    check_logs(wire, pull(wire, "--within", 60), node, other)
    status = wire.status()
    assert status["stray_pages"] > 5 and status["forged"] >= 1 and status["other_version"] + status["absurd"]


def scene_a_node_that_falls_silent_is_named_and_the_others_logs_are_there(wire: Wire) -> None:
    def last_one(page: Page) -> Sequence[Page]:
        dying.answers = page.offset == 0
        return (page,)

    nodes = [FakeNode(b"n%d" % i, log=log_of(50_000, i)) for i in range(2)]
    dying = FakeNode(b"dying", log=log_of(90_000), pages_of=last_one)
    silent = FakeNode(b"silent")
    wire.add(nodes[0], dying, nodes[1], silent)
    wire.start(*OFTEN)
    wire.until(lambda: wire.status()["nodes"] == 4)
    silent.answers = False
    wire.until(lambda: wire.status()["silent"] == 1)
    said = pull(wire, "--within", 10, status=1)
    check_logs(wire, said, *nodes)
    found = errors(said)
    assert sorted(found) == ["dying", "silent"] and "has not held" in found["silent"]
    assert "silent" in found["dying"] or "does not come" in found["dying"]
    assert not (folder_of(wire) / "dying.klog").exists()
    ran = wire.run("klog", "--to", folder_of(wire), "--within", 10)
    assert ran.returncode == 1 and "no log of silent (02:54:00:00:00:04): it has not held" in ran.stderr


def scene_a_node_that_was_started_anew_is_named(wire: Wire) -> None:
    def anew(page: Page) -> Sequence[Page]:
        if page.offset >= 20 * PAGE_BYTES:
            node.pages_of = lambda page: (page,)
            node.restart()
            return ()
        return (page,)

    node, other = FakeNode(b"n1", log=log_of(60_000), pages_of=anew), FakeNode(b"n2", log=log_of(60_000))
    wire.add(node, other)
    wire.start(*OFTEN)
    said = pull(wire, "--within", 20, status=1)
    check_logs(wire, said, other)
    assert "restarted" in errors(said)["n1"]


def scene_a_node_that_cannot_hold_its_log_is_named(wire: Wire) -> None:
    old, held, fine = FakeNode(b"old", result=38), FakeNode(b"held", result=EBUSY), FakeNode(b"fine")
    wire.add(old, held, fine)
    wire.start(*SELDOM)
    said = pull(wire, status=1)
    check_logs(wire, said, fine)
    assert "does not know the command" in errors(said)["old"] and "is held already" in errors(said)["held"]


def scene_names_do_not_lead_out_of_the_folder(wire: Wire) -> None:
    given = (
        b"../../up",
        b"/etc/x",
        b".hidden",
        b"..",
        b"a/b",
        b"same",
        b"same",
        b'q"\\',
        b"nodes",
        b"",
        b"a%sb",
    )
    nodes = [FakeNode(name, log=log_of(100, i)) for i, name in enumerate(given)]
    nodes.append(FakeNode(b"same-025400000006", log=log_of(77)))
    wire.add(*nodes)
    wire.start(*SELDOM)
    before = {path for path in wire.folder.rglob("*") if path.is_file()}
    (folder_of(wire)).mkdir()
    (folder_of(wire) / "nodes.klog").symlink_to(wire.folder / "target")
    said = pull(wire, status=1)
    assert not (wire.folder / "target").exists() and "cannot write its file" in errors(said)["nodes"]
    (folder_of(wire) / "nodes.klog").unlink()
    said = pull(wire)
    check_logs(wire, said, *nodes)
    files = {path for path in wire.folder.rglob("*") if path.is_file()} - before
    assert {path.parent for path in files} == {folder_of(wire)} and len(files) == len(nodes) + 1
    assert not any(path.name.startswith(".") for path in files)


def scene_two_clients_do_not_mix_their_logs(wire: Wire) -> None:
    gate = threading.Event()

    def wait(page: Page) -> Sequence[Page]:
        return (page,) if gate.is_set() else ()

    nodes = [FakeNode(b"n1", log=log_of(30_000), pages_of=wait), FakeNode(b"n2", log=log_of(30_000, 6))]
    wire.add(*nodes)
    wire.start(*SELDOM)
    first = subprocess.Popen(
        [
            SERVICE / "conductorctl",
            "--socket",
            wire.control,
            "klog",
            "--to",
            folder_of(wire),
            "--within",
            "100",
        ]
    )
    wire.until(lambda: SEND_PAGES in codes(nodes[0]))
    refused = wire.run("klog", "--to", wire.folder / "second")
    assert refused.returncode == 1 and "held for another client" in refused.stderr
    with connect(wire) as client:
        client.send(b"release")
        assert "held for another client" in json.loads(client.recv(65536))["error"]
        client.send(b"one-way hold")
        assert "held for another client" in json.loads(client.recv(65536))["error"]
        client.send(b"page " + nodes[1].address.hex(":").encode() + b" 0 2")  # both read at once
        pages = [json.loads(client.recv(65536)) for _ in range(3)]
    data = b"".join(bytes.fromhex(page["data"]) for page in pages[:2])
    assert data == nodes[1].log[: 2 * PAGE_BYTES] and pages[2] == {"pages": 2}
    assert all(node.held for node in nodes)
    gate.set()
    assert first.wait(100) == 0
    check_logs(wire, json.loads((folder_of(wire) / "nodes.json").read_text()), *nodes)
    check_logs(wire, pull(wire), *nodes)


def scene_logs_are_released_when_who_has_held_them_dies(wire: Wire) -> None:
    nodes = [FakeNode(b"n1", log=log_of(30_000), pages_of=lambda page: ()), FakeNode(b"n2")]
    wire.add(*nodes)
    wire.start(*SELDOM)
    for end in ("terminate", "kill"):
        pages = codes(nodes[0]).count(SEND_PAGES)
        command = [SERVICE / "conductorctl", "--socket", wire.control, "klog", "--to", folder_of(wire)]
        client = subprocess.Popen([*command, "--within", "100"])
        wire.until(lambda before=pages: codes(nodes[0]).count(SEND_PAGES) > before)
        assert all(node.held for node in nodes)
        getattr(client, end)()
        client.wait()
        wire.until(lambda: not any(node.held for node in nodes))
    # The answer to its hold is lost, because another command waits.
    nodes[0].lose_answers = 20
    gone, waits = connect(wire), connect(wire)
    gone.send(b"within 100 hold")
    wire.until(lambda: all(node.held for node in nodes))
    waits.send(b"within 100 stop")
    gone.close()
    assert json.loads(waits.recv(65536))["done"] == 2
    wire.until(lambda: not any(node.held for node in nodes))
    nodes[0].answers = False  # it does not say that it has held its log
    client_socket = connect(wire)
    client_socket.send(b"within 100 hold")
    wire.until(lambda: bool(nodes[1].held))
    client_socket.close()
    wire.until(lambda: not nodes[1].held)
    nodes[0].answers, nodes[0].pages_of = True, lambda page: (page,)
    check_logs(wire, pull(wire, "--within", 60), *nodes)


def scene_a_hold_says_how_long_it_lasts_without_a_page(wire: Wire) -> None:
    node = FakeNode(b"n1")
    wire.add(node)
    wire.start(*SELDOM)
    with connect(wire) as client:
        for rate, seconds in ((100, 60), (1000, 60)):
            wire.ctl("rate", rate)
            for request, body in ((b"hold", seconds), (b"release", 0)):
                client.send(request)
                assert json.loads(client.recv(65536))["done"] == 1
                assert node.obeyed[-1].body == body.to_bytes(4, "big")


def scene_what_is_wrong_is_said(wire: Wire) -> None:
    wire.start("--rate", "0")
    said = wire.run("klog", "--to", folder_of(wire))
    assert said.returncode == 1 and "no beats" in said.stderr
    wire.ctl("rate", "100")
    assert "no node has answered" in wire.run("klog", "--to", folder_of(wire), "--within", "1").stderr
    node = FakeNode(b"n1")
    wire.add(node)
    wire.ctl("stop", "--within", "100")
    said = wire.run("klog", "--to", folder_of(wire), "--nodes", "n1,n2,")
    assert said.returncode == 1 and "is known: n2" in said.stderr and not has_held(node)
    (wire.folder / "file").write_text("")
    said = wire.run("klog", "--to", wire.folder / "file")
    assert said.returncode == 1 and "Not a directory" in said.stderr and not has_held(node)
    with connect(wire) as client:
        node_1 = b"page 02:54:00:00:00:01"
        words = (b" 0 0", b" 0 9", b" 0 1 1", b"", b" 0", b" x 1")
        for wrong in (b"page", b"page 02:54:00:00:00:77 0 1", *(node_1 + word for word in words)):
            client.send(wrong)
            assert "error" in json.loads(client.recv(65536)), wrong
        client.send(b"page 02:54:00:00:00:01 0 8")  # not held
        page, end = (json.loads(client.recv(65536)) for _ in range(2))
    assert (page["size"], page["beat"], page["data"], end) == (0, 0, "", {"pages": 1})


SCENES = sorted(name.removeprefix("scene_") for name in globals() if name.startswith("scene_"))


@pytest.mark.parametrize("scene", SCENES)
def test_logs(scene: str, tmp_path: Path, service: None) -> None:  # noqa: F811
    assert_plays(__file__, scene, tmp_path)


@pytest.mark.parametrize(
    "words",
    (
        ["klog"],
        ["klog", "--to"],
        ["klog", "now", "--to", "x"],
        ["klog", "--to", "x", "--one-way"],
        ["klog", "--to", "x", "--nodes"],
        ["klog", "--to", "x", "--job", "1"],
        ["status", "--to", "x"],
        ["nodes", "--nodes", "n1"],
        ["hold"],
        ["release"],
    ),
)
def test_words_that_are_wrong_end_with_status_2(words: list[str], service: None) -> None:  # noqa: F811
    ran = subprocess.run([SERVICE / "conductorctl", *words], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 2 and "(conductorctl --help)" in ran.stderr and not ran.stdout


if __name__ == "__main__":
    play(globals()["scene_" + sys.argv[1]], Path(sys.argv[2]))
