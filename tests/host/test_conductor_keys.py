# SPDX-License-Identifier: BSD-2-Clause
"""The conductor and nodes that ask for their keys, on a wire of its own: only what an administrator has
admitted, or with --trust-first an address that is not in use, gets them, sealed for it alone; and a rotation
ends the old key once all nodes have the new one.

Each test runs as `scene_…` in a namespace of its own.
"""

from __future__ import annotations

import random
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.beat_frames import framed
from tests.fake_nodes import SERVICE, FakeNode, Wire, assert_plays, play
from tests.key_frames import KEY_REQUEST, REQUEST, REQUEST_BYTES, VERSION, Asker, fingerprint, x25519
from tests.keys import KEY, MASTER, derive, node_lines
from tests.making import made

IDENTITY = bytes(range(32, 64))
PUBLIC = x25519(IDENTITY)
NEW = bytes(range(100, 116))
OFTEN = ("--rate", "100", "--answer-every", "20")


def beats_key(master: bytes) -> bytes:
    return derive(master, "tacet beats")


def address(number: int) -> bytes:
    return b"\x02\x54" + struct.pack(">I", number)


def shown(of: bytes) -> str:
    return of.hex(":")


def ticket_key(master: bytes, of: bytes) -> bytes:
    return derive(master, "tacet ticket", of.hex().encode())


def start(wire: Wire, *words: str) -> None:
    identity = wire.folder / "identity"
    identity.write_text(IDENTITY.hex() + "\n")
    identity.chmod(0o600)
    wire.start("--identity", str(identity), *(words or ("--rate", "10")))


def asks(wire: Wire, *askers: Asker) -> None:
    """Returns once the conductor has heard them."""
    for asker in askers:
        wire.send(asker.frame())
    wire.until(lambda: all(asker.print in states(wire) for asker in askers))


def states(wire: Wire) -> dict[str, str]:
    """Of all askers, by fingerprint."""
    return {node["fingerprint"]: node["state"] for node in wire.ctl("keys")["nodes"]}


def keys_of(wire: Wire, asker: Asker) -> tuple[bytes, bytes]:
    def found() -> list[tuple[bytes, bytes]]:
        return [keys for frame in wire.key_answers if (keys := asker.keys_of(frame))]

    wire.until(lambda: bool(found()))
    return found()[-1]


def scene_a_node_gets_its_keys_once_it_is_admitted(wire: Wire) -> None:
    start(wire)
    asker = Asker(b"n1", address(1), PUBLIC)
    asks(wire, asker)
    assert states(wire) == {asker.print: "waiting"}
    assert f"conductor_key={PUBLIC.hex()}" in wire.run("keys").stdout.splitlines()
    wrong = ("0" if asker.print[0] != "0" else "1") + asker.print[1:]
    assert "no node of this name" in wire.run("admit", "n1", wrong).stderr
    assert "fingerprint that its console shows" in wire.run("admit", "n1", asker.print[:-1]).stderr
    assert not wire.key_answers
    assert wire.ctl("admit", "n1", asker.print)["state"] == "admitted"
    assert keys_of(wire, asker) == (beats_key(MASTER), ticket_key(MASTER, asker.address))
    assert wire.key_answers[0][:6] == asker.address
    wire.until(lambda: states(wire) == {asker.print: "answered"})
    count = len(wire.key_answers)
    wire.send(asker.frame())  # an answer was lost
    wire.until(lambda: len(wire.key_answers) > count)
    assert f"node n1 ({shown(asker.address)}) asks for its keys" in wire.messages.read_text()


def scene_an_intruder_in_a_nodes_name_gets_no_key(wire: Wire) -> None:
    start(wire)
    node, intruder = Asker(b"n1", address(1), PUBLIC), Asker(b"n1", address(1), PUBLIC)
    asks(wire, intruder, node)
    assert wire.ctl("admit", "n1", node.print)["fingerprint"] == node.print
    keys_of(wire, node)
    wire.send(intruder.frame())
    wire.send(node.frame())
    wire.until(lambda: len(wire.key_answers) > 1)
    assert states(wire) == {node.print: "answered", intruder.print: "waiting"}
    assert not any(intruder.keys_of(frame) for frame in wire.key_answers)
    #: The node's own request, repeated with another start, gives an answer that is of no use.
    forged = Asker(b"n1", address(1), PUBLIC, start=99, secret=node.secret)
    count = len(wire.key_answers)
    wire.send(forged.frame())
    wire.until(lambda: len(wire.key_answers) > count)
    assert node.keys_of(wire.key_answers[-1]) is None
    wire.send(node.frame())
    wire.until(lambda: node.keys_of(wire.key_answers[-1]) is not None)


def scene_a_node_can_be_admitted_before_it_asks(wire: Wire) -> None:
    start(wire)
    asker = Asker(b"n7", address(7), PUBLIC)
    assert wire.ctl("admit", shown(asker.address), asker.print)["state"] == "expected"
    wire.send(asker.frame())
    keys_of(wire, asker)


def scene_at_first_sight_only_an_address_not_in_use_is_trusted(wire: Wire) -> None:
    node = FakeNode(b"n1")
    wire.add(node)
    start(wire, *OFTEN, "--trust-first")
    intruder, other = Asker(b"n1", node.address, PUBLIC), Asker(b"n2", address(2), PUBLIC)
    asks(wire, intruder, other)
    keys_of(wire, other)
    assert states(wire)[intruder.print] == "waiting"
    assert "its address is in use" in wire.messages.read_text()
    #: A second key from the address that has just got its keys.
    late = Asker(b"n2", address(2), PUBLIC)
    asks(wire, late)
    assert states(wire)[late.print] == "waiting"
    #: The node falls silent: it may have started again.
    node.answers = False
    wire.until(lambda: wire.ctl("nodes")["nodes"][0]["state"] == "silent")
    wire.send(intruder.frame())
    keys_of(wire, intruder)


def scene_a_flood_of_askers_keeps_no_node_from_its_keys(wire: Wire) -> None:
    start(wire, "--rate", "100", "--answer-every", "100")
    asker = Asker(b"n1", address(1), PUBLIC)
    drawn = random.Random(36)
    head = (VERSION, KEY_REQUEST, REQUEST_BYTES, 1, 1)
    for turn in range(6000):
        source = address(1) if turn % 3 == 0 else b"\x02" + drawn.randbytes(5)
        body = REQUEST.pack(*head, drawn.randbytes(32), b"flood") + bytes(16)
        wire.send(framed(body, source=source))
    small = REQUEST.pack(*head, bytes(32), b"zero") + bytes(16)  # a point of small order
    zero = fingerprint(bytes(32))
    assert wire.ctl("admit", shown(address(9)), zero)["fingerprint"] == zero
    wire.send(framed(small, source=address(9)))
    wire.ctl("admit", shown(asker.address), asker.print)
    wire.send(asker.frame())
    keys_of(wire, asker)
    listed = wire.ctl("keys")["nodes"]
    assert 1000 < len(listed) <= 16384
    assert sum(node["address"] == shown(address(1)) for node in listed) <= 8
    wire.until(lambda: zero not in states(wire))
    assert wire.next_beats(10)


def restart(wire: Wire, *words: str, number: int = signal.SIGKILL) -> None:
    assert wire.conductor
    wire.conductor.send_signal(number)
    wire.conductor.wait()
    start(wire, *words)


def kept(wire: Wire) -> list[list[str]]:
    """The lines of the file of admissions, as words, without their times."""
    head, *lines, end = (wire.folder / "admissions").read_text().splitlines()
    assert (head, end) == ("tacet-admissions 1", f"end {len(lines)}")
    return [line.split()[:3] + line.split()[4:] for line in lines]


def scene_admissions_outlive_the_conductor(wire: Wire) -> None:
    words = ("--rate", "10", "--state", str(wire.folder))
    start(wire, *words)
    node, later, third = (Asker(b"n%d" % i, address(i), PUBLIC) for i in range(3))
    asks(wire, node, third)
    wire.ctl("admit", "n0", node.print)
    wire.ctl("admit", shown(later.address), later.print)
    restart(wire, *words)  # at once: what is answered is on the disk
    assert sorted(kept(wire)) == [
        ["admitted", node.address.hex(), node.public.hex(), "n0"],
        ["expected", later.address.hex(), later.print, "-"],
    ]
    assert (wire.folder / "admissions").stat().st_mode & 0o777 == 0o600
    assert states(wire) == {node.print: "admitted", later.print: "expected"}
    intruder = Asker(b"n0", node.address, PUBLIC)
    asks(wire, intruder, third)
    wire.key_answers.clear()
    for asker in (node, later):
        wire.send(asker.frame())
        assert keys_of(wire, asker) == (beats_key(MASTER), ticket_key(MASTER, asker.address))
    assert states(wire) == {
        node.print: "answered",
        later.print: "answered",
        third.print: "waiting",
        intruder.print: "waiting",
    }
    restart(wire, *words, number=signal.SIGTERM)  # it writes the rest at its end
    assert ["admitted", later.address.hex(), later.public.hex(), "n1"] in kept(wire)


def scene_a_node_that_has_missed_a_rotation_is_known_after_a_restart(wire: Wire) -> None:
    """Its proof is under the old key."""
    words = ("--rate", "10", "--state", str(wire.folder))
    start(wire, *words)
    node = Asker(b"n1", address(1), PUBLIC)
    asks(wire, node)
    wire.ctl("admit", "n1", node.print)
    keys_of(wire, node)
    wire.next_key = beats_key(NEW)
    rotate_file(wire, NEW)
    node.ticket, node.number = ticket_key(MASTER, node.address), 2
    restart(wire, *words)
    wire.send(node.frame())
    assert keys_of(wire, node) == (beats_key(NEW), ticket_key(NEW, node.address))


def scene_nodes_trusted_at_first_sight_are_kept_together(wire: Wire) -> None:
    words = ("--rate", "10", "--trust-first", "--state", str(wire.folder))
    start(wire, *words)
    crowd = [Asker(b"n%d" % i, address(i), PUBLIC) for i in range(40)]
    asks(wire, *crowd)
    wire.until(lambda: (wire.folder / "admissions").exists() and len(kept(wire)) == len(crowd))
    restart(wire, "--rate", "10", "--state", str(wire.folder))
    assert set(states(wire)) == {asker.print for asker in crowd}
    wire.send(crowd[7].frame())
    keys_of(wire, crowd[7])


def scene_a_disk_that_takes_no_admissions_is_said(wire: Wire) -> None:
    obstacle = wire.folder / "admissions.new"
    obstacle.mkdir()
    start(wire, "--rate", "10", "--state", str(wire.folder))
    node = Asker(b"n1", address(1), PUBLIC)
    asks(wire, node)
    failed = wire.run("admit", "n1", node.print)
    assert failed.returncode == 1 and "only until the conductor's end" in failed.stderr
    assert "Is a directory" in failed.stderr and "Is a directory" in wire.messages.read_text()
    keys_of(wire, node)
    obstacle.rmdir()
    wire.until(lambda: (wire.folder / "admissions").exists())  # it tries again
    assert [line[0] for line in kept(wire)] == ["admitted"]


def scene_a_damaged_file_of_admissions_is_named_and_left(wire: Wire) -> None:
    path = wire.folder / "admissions"
    head, line = "tacet-admissions 1\n", f"admitted {address(1).hex()} {'ab' * 32} 1796000123 n1\n"
    expected = f"expected {address(2).hex()} 01234-56789-abcde-f0123 1796000123 -\n"
    identity = wire.folder / "identity"
    identity.write_text(IDENTITY.hex() + "\n")
    identity.chmod(0o600)
    words = [SERVICE / "conductor", "--interface", "beats", "--key", wire.folder / "key"]
    words += ["--identity", identity, "--state", wire.folder, "--socket", wire.control]
    cases = [
        ("", 0o600, "line 1: it does not begin"),
        ("tacet-admissions 2\nend 0\n", 0o600, "line 1: it does not begin"),
        (head, 0o600, "line 2: a line has"),
        (head + line, 0o600, "line 3: a line has"),
        (head + line[:-1], 0o600, "its end is missing"),
        (head + line + "end 2\n", 0o600, "line 3: a line has"),
        (head + "end 0\n" + line, 0o600, "line 2: its end is not the last line"),
        (head + "end 0", 0o600, "line 2: its end is not the last line"),
        (head + line.replace("ab", "ag", 1) + "end 1\n", 0o600, "line 2: a public key is"),
        (head + line.replace("n1", "n 1") + "end 1\n", 0o600, "line 2: the line is malformed"),
        (head + line.replace("n1", "n\x01") + "end 1\n", 0o600, "line 2: the name is not printable"),
        (head + line.replace(" 17", "  17") + "end 1\n", 0o600, "line 2: the line is malformed"),
        (head + line.replace(" 17", " 99917") + "end 1\n", 0o600, "line 2: "),
        (head + expected.replace("-5", "_5") + "end 1\n", 0o600, "line 2: a public key is"),
        (head + line + "\0" + "end 1\n", 0o600, "a zero byte"),
        (head + line + "end 1\n", 0o602, "other users can read or write it"),
    ]
    for text, mode, reason in cases:
        path.write_text(text)
        path.chmod(mode)
        ran = subprocess.run(words, capture_output=True, text=True, timeout=60)
        assert ran.returncode == 2 and f"{path}" in ran.stderr and reason in ran.stderr, (text, ran.stderr)
        assert ran.stderr.count("\n") == 1 and path.read_text() == text
    path.unlink()
    path.symlink_to(wire.folder / "key")
    ran = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 2 and str(path) in ran.stderr
    path.unlink()
    path.write_text(head + line + expected + "end 2\n")
    path.chmod(0o600)
    start(wire, "--rate", "10", "--state", str(wire.folder))
    assert len(states(wire)) == 2


def scene_the_keys_to_come_are_printed_for_files_on_nodes(wire: Wire) -> None:
    start(wire)
    early = wire.run("key", "n1", "--next")
    assert early.returncode == 1 and "is the present one" in early.stderr and not early.stdout
    rotate_file(wire, NEW)
    assert wire.run("key", "n1", "--next").stdout == node_lines("n1", NEW)
    assert wire.run("key", "n1").stdout == node_lines("n1")
    (wire.folder / "key").write_text("0123\n")
    broken = wire.run("key", "n1", "--next")
    assert broken.returncode == 1 and "32 hexadecimal digits" in broken.stderr
    assert "--next" not in wire.run("key", "next").stderr
    assert wire.run("status", "--next").returncode == 2


def rotate_file(wire: Wire, key: bytes) -> None:
    written = wire.folder / "key.new"
    written.write_text(key.hex() + "\n")
    written.chmod(0o600)
    written.replace(wire.folder / "key")


def nodes_that_ask(wire: Wire, *nodes: FakeNode) -> list[Asker]:
    """Nodes with keys, which ask at each rotation; a thread of the wire hears the beats."""
    askers = []
    for node in nodes:
        asker = Asker(node.name, node.address, PUBLIC, ticket=ticket_key(MASTER, node.address))

        def ask(asker: Asker = asker) -> None:
            asker.number += 1
            wire.send(asker.frame())

        node.asks_keys = ask
        askers.append(asker)
    return askers


def take_keys(wire: Wire, nodes: list[FakeNode], askers: list[Asker]) -> None:
    for node, asker in zip(nodes, askers):
        wire.until(lambda node=node: any(command.code & 0xFF == 11 for command in node.obeyed))
        wire.next_key, asker.ticket = keys_of(wire, asker)
        node.rekeyed = True


def scene_a_rotation_ends_the_old_key_when_all_nodes_have_the_new_one(wire: Wire) -> None:
    nodes = [FakeNode(b"n%d" % i) for i in range(3)]
    wire.add(*nodes)
    start(wire, *OFTEN)
    askers = nodes_that_ask(wire, *nodes)
    same = wire.run("rotate")
    assert same.returncode == 1 and "is the present one" in same.stderr
    rotate_file(wire, NEW)
    rotating = subprocess.Popen(
        [SERVICE / "conductorctl", "--socket", wire.control, "--json", "rotate", "--within", "100"],
        stdout=subprocess.PIPE,
        text=True,
    )
    take_keys(wire, nodes[:2], askers[:2])
    before = wire.next_beats(5)
    assert rotating.poll() is None and wire.key == KEY, "the third node lacks it"
    assert "under way" in wire.run("rotate").stderr
    take_keys(wire, nodes[2:], askers[2:])
    told, _ = rotating.communicate(timeout=100)
    assert rotating.returncode == 0 and '"done": 3' in told
    wire.until(lambda: wire.key == beats_key(NEW))
    assert before[-1].sequence < wire.next_beats(5)[0].sequence
    assert all(asker.ticket == ticket_key(NEW, asker.address) for asker in askers)
    assert wire.ctl("stop")["done"] == 3, "nodes obey as before"


def scene_a_rotation_that_a_node_misses_changes_nothing(wire: Wire) -> None:
    nodes = [FakeNode(b"n0"), FakeNode(b"n1")]
    wire.add(*nodes)
    start(wire, *OFTEN)
    askers = nodes_that_ask(wire, *nodes)
    rotate_file(wire, NEW)
    wire.conductor.send_signal(signal.SIGHUP)
    take_keys(wire, nodes[:1], askers[:1])
    late = wire.run("rotate", "--within", "1")
    assert "under way" in late.stderr
    failed = nodes[1]
    failed.result = 126
    wire.until(lambda: "no new key: nodes could not do the command" in wire.messages.read_text())
    assert wire.key == KEY and wire.next_beats(3)
    failed.result = 0
    for node in nodes:
        node.obeyed.clear()
    rotating = subprocess.Popen([SERVICE / "conductorctl", "--socket", wire.control, "rotate"])
    take_keys(wire, nodes, askers)
    assert rotating.wait(100) == 0
    wire.until(lambda: wire.key == beats_key(NEW))


SCENES = [name for name in dir() if name.startswith("scene_")]


@pytest.mark.parametrize("scene", [name.removeprefix("scene_") for name in SCENES])
def test_keys(scene: str, tmp_path: Path) -> None:
    made("service")
    assert_plays(__file__, f"scene_{scene}", tmp_path)


@pytest.mark.parametrize(
    "text, mode, reason",
    [
        ("", 0o600, "it is empty"),
        (IDENTITY.hex()[:-2], 0o600, "64 hexadecimal digits"),
        (IDENTITY.hex(), 0o644, "other users can read"),
    ],
)
def test_an_identity_that_is_no_secret_is_refused(text: str, mode: int, reason: str, tmp_path: Path) -> None:
    made("service")
    for name, content, rights in (("key", MASTER.hex(), 0o600), ("identity", text, mode)):
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(rights)
    words = ["--interface", "lo", "--key", tmp_path / "key", "--identity", tmp_path / "identity"]
    ran = subprocess.run([SERVICE / "conductor", *words], capture_output=True, text=True)
    assert ran.returncode == 2 and reason in ran.stderr and "identity" in ran.stderr


if __name__ == "__main__":
    play(globals()[sys.argv[1]], Path(sys.argv[2]))
