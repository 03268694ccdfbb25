# SPDX-License-Identifier: BSD-2-Clause
"""Epochs of the conductor (docs/nettick.md): its nodes follow it although its clock was set back, or although
another conductor has run meanwhile; and no recording of their answers makes it begin new ones.

Each test but the last runs as `scene_…` in a namespace of its own.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.beat_frames import ANSWER, ETHERTYPE, PAYLOAD_AT, SOURCE, Answer, Beat, answer_of
from tests.fake_nodes import SERVICE, FakeNode, Wire, assert_plays, play
from tests.keys import key_write, node_lines
from tests.making import made
from tests.namespaces import namespace_needed

SELDOM = ("--rate", "100", "--answer-every", "1000")
HOUR_NS = 3600 * 10**9
AHEAD_NS = 10**12
#: ETH_P_ALL: a bridge takes its ports' frames from all other sockets.
ALL_FRAMES = 3
STRANGER = bytes.fromhex("025400000099")


def says_newer(wire: Wire, follows: int) -> bytes:
    """The answer of a node that follows a newer epoch."""
    wire.until(lambda: wire.status()["sequence"] > 0)
    status = wire.status()
    answer = Answer(status["sequence"], status["epoch"], b"n9", follows=follows)
    return answer.frame(wire.to, STRANGER)


def raised(wire: Wire, times: int) -> dict:
    wire.until(lambda: wire.status()["epochs_raised"] == times)
    return wire.status()


def scene_a_node_of_a_newer_epoch_is_taken_back_once_and_no_recording_repeats_it(wire: Wire) -> None:
    node = FakeNode(b"n1")
    wire.add(node)
    wire.start(*SELDOM)
    first = wire.status()["epoch"]
    told = says_newer(wire, first + AHEAD_NS)
    wire.send(told)
    second = raised(wire, 1)["epoch"]
    assert second > first + AHEAD_NS
    wire.until(lambda: node.epoch == second and node.welcomed)
    assert [one["name"] for one in wire.ctl("nodes")["nodes"]] == ["n1"]
    said = wire.ctl("stop", "--within", "100")
    assert (said["number"], said["done"]) == (1, 1)
    for _ in range(50):
        wire.send(told)
    wire.until(lambda: wire.status()["other_epoch"] >= 50)
    status = wire.status()
    assert (status["epoch"], status["epochs_raised"], status["follow_newer_epoch"]) == (second, 1, 1)
    assert f"follows epoch {first + AHEAD_NS}, whose conductor is silent" in wire.messages.read_text()


def scene_no_epoch_is_raised_while_the_other_conductor_beats(wire: Wire) -> None:
    wire.start(*SELDOM)
    epoch = wire.status()["epoch"] + AHEAD_NS
    beats = [
        Beat(number, epoch, period_ns=period_ns).frame() for number, period_ns in ((1, 6 * 10**10), (2, 0))
    ]
    wire.send(beats[0])
    for times in range(1, 4):
        wire.send(says_newer(wire, epoch))
        wire.until(lambda: wire.status()["follow_newer_epoch"] == times)  # noqa: B023
    status = wire.status()
    assert status["other_beats_now"] and status["epochs_raised"] == 0
    assert status["other_conductor"] == SOURCE.hex(":")
    wire.send(beats[1])  # none follows
    wire.until(lambda: not wire.status()["other_beats_now"])
    wire.send(says_newer(wire, epoch))
    assert raised(wire, 1)["epoch"] > epoch
    for _ in range(9):
        wire.send(beats[0])  # recorded: it has ended
    wire.send(says_newer(wire, wire.status()["epoch"] + 1))
    assert not raised(wire, 2)["other_beats_now"]


def scene_a_command_goes_on_in_the_new_epoch(wire: Wire) -> None:
    node = FakeNode(b"n1")
    wire.add(node)
    wire.start(*SELDOM)
    wire.ctl("stop")
    wire.next_beats(4)  # three carry a command at least
    node.answers = False
    waits = subprocess.Popen(
        [SERVICE / "conductorctl", "--socket", wire.control, "--within", "100", "continue"],
        stdout=subprocess.PIPE,
        text=True,
    )
    wire.until(lambda: wire.status()["last_command"] == 2)
    wire.send(says_newer(wire, wire.status()["epoch"] + AHEAD_NS))
    raised(wire, 1)
    assert wire.status()["last_command"] == 1
    node.answers = True
    assert waits.communicate()[0] == "continue: done by 1 nodes\n"
    assert node.state == 1


def scene_above_the_highest_epoch_there_is_none(wire: Wire) -> None:
    wire.start(*SELDOM)
    for times in range(1, 4):
        wire.send(says_newer(wire, 2**64 - times))
        wire.until(lambda: wire.status()["follow_newer_epoch"] == times)  # noqa: B023
    assert wire.status()["epochs_raised"] == 0
    assert wire.messages.read_text().count("none is higher: restart it") == 1


def scene_silent_nodes_are_removed_at_once(wire: Wire) -> None:
    nodes = [FakeNode(b"n%d" % i) for i in range(5)]
    wire.add(*nodes)
    wire.start("--rate", "100", "--answer-every", "50")
    for node in nodes[1:4]:
        node.answers = False
    wire.until(lambda: wire.status()["silent"] == 3)
    assert wire.ctl("remove", "--silent")["nodes"] == 2
    assert sorted(one["name"] for one in wire.ctl("nodes")["nodes"]) == ["n0", "n4"]
    for words in (["remove"], ["remove", "n0", "--silent"], ["status", "--silent"]):
        assert wire.run(*words).returncode == 2


# ---- With real nodes ----


@contextmanager
def node_of(wire: Wire) -> Iterator[None]:
    """tacet-launchd on a bridge between the interfaces `first` and `second`, for conductors, and `node`."""
    for words in ("link set lo up", "link add bridge type bridge", "link set bridge up"):
        subprocess.run(["ip", *words.split()], check=True)
    for name in ("first", "second", "node"):
        for words in (
            f"link add {name} type veth peer name at-{name}",
            f"link set at-{name} master bridge",
            f"link set {name} up",
            f"link set at-{name} up",
        ):
            subprocess.run(["ip", *words.split()], check=True)
    link = subprocess.run(["ip", "-o", "link", "show", "node"], check=True, capture_output=True, text=True)
    address = link.stdout.split("link/ether ")[1].split()[0].replace(":", "")
    keys = key_write(wire.folder / "node-keys", node_lines(address))
    words = [SERVICE / "tacet-launchd", "--port", "0", "--key", keys, "--beats", "node"]
    with (wire.folder / "node").open("w") as log:
        process = subprocess.Popen([*words, "--name", "n1"], stdout=log, stderr=log)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def follows(wire: Wire, control: str = "control") -> bool:
    """Whether the node answers this conductor, and obeys it."""
    nodes = wire.ctl("nodes", control=control)["nodes"]
    return [(node["state"] != "silent", node["welcomed"]) for node in nodes] == [(True, True)]


def answer_heard(spy: socket.socket) -> bytes:
    """The next answer of the node that this socket gets."""
    while True:
        frame = spy.recv(2000)
        if frame[12:14] == ETHERTYPE and frame[PAYLOAD_AT + 1] == ANSWER:
            return frame


def second_conductor_runs(wire: Wire, end: signal.Signals) -> None:
    with node_of(wire), socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as spy:
        # A conductor counts as gone after three periods: so they are longer than a busy host makes one wait.
        wire.start("--rate", "5", "--answer-every", "1", interface="first")
        wire.until(lambda: follows(wire))
        first = wire.status()["epoch"]
        second = wire.start("--rate", "5", interface="second", control="second")
        wire.until(lambda: follows(wire, "second"))
        heard = wire.status()["other_conductors"]
        wire.until(lambda: wire.status()["other_conductors"] > heard + 5)
        status = wire.status()
        assert (status["epoch"], status["epochs_raised"], status["other_beats_now"]) == (first, 0, True)
        spy.bind(("at-node", ALL_FRAMES))  # only now: it has room for some hundred frames
        second.send_signal(end)
        second.wait()
        last = raised(wire, 1)["epoch"]
        wire.until(lambda: follows(wire))
        assert wire.ctl("stop", "--within", "100")["done"] == 1
        told: list[bytes] = []
        while (answer := answer_of(frame := answer_heard(spy))).epoch < last:
            assert (answer.epoch == first) == (answer.follows > answer.epoch)
            told += [frame] * (answer.epoch == first)
        assert told
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as intruder:
            intruder.bind(("second", 0))
            for frame in told * 20:
                intruder.send(frame)
        wire.until(lambda: wire.status()["other_epoch"] >= 20 * len(told))
        assert wire.status()["epochs_raised"] == 1
    assert (
        "is silent, and has told that conductor to begin a higher one" in (wire.folder / "node").read_text()
    )


def scene_after_a_second_conductor_that_ends_the_first_has_its_nodes_again(wire: Wire) -> None:
    second_conductor_runs(wire, signal.SIGTERM)


def scene_after_a_second_conductor_that_dies_the_first_has_its_nodes_again(wire: Wire) -> None:
    second_conductor_runs(wire, signal.SIGKILL)


def clock_set(wire: Wire, ns: int) -> None:
    """Sets the clock of conductors that start from now on (clock_steps.c)."""
    steps = wire.folder / "steps"
    steps.write_bytes(struct.pack("=3q", ns, 0, 37))
    os.environ |= {"LD_PRELOAD": str(wire.folder / "shim.so"), "CLOCK_STEPS": str(steps)}


def restarted(wire: Wire, conductor: subprocess.Popen[bytes], *words: str) -> subprocess.Popen[bytes]:
    """The conductor, after it was killed, with its clock set back by an hour. The node follows it."""
    conductor.kill()
    conductor.wait()
    clock_set(wire, -HOUR_NS)
    conductor = wire.start(*words, interface="first")
    wire.until(lambda: follows(wire))
    return conductor


def scene_nodes_follow_a_conductor_whose_clock_was_set_back(wire: Wire) -> None:
    with node_of(wire):
        conductor = wire.start(*SELDOM, interface="first")
        wire.until(lambda: follows(wire))
        first = wire.status()["epoch"]
        restarted(wire, conductor, *SELDOM)
        status = wire.status()
        assert status["epoch"] > first and status["epochs_raised"] == 1
        assert wire.ctl("kill", "--within", "100")["done"] == 1


def job_begun(wire: Wire) -> int:
    """The number of a job that begins."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        client.connect(str(wire.control))
        client.send(b"job begin")
        return json.loads(client.recv(65536))["job"]


def scene_the_last_epoch_is_kept(wire: Wire) -> None:
    state = str(wire.folder / "state")
    with node_of(wire):
        conductor = wire.start(*SELDOM, "--state", state, interface="first")
        wire.until(lambda: follows(wire))
        epochs, jobs = [wire.status()["epoch"]], {job_begun(wire)}
        for _ in range(3):
            conductor = restarted(wire, conductor, *SELDOM, "--state", state)
            status = wire.status()
            assert status["epochs_raised"] == 0
            epochs.append(status["epoch"])
            jobs.add(job_begun(wire))
            assert int((wire.folder / "state" / "epoch").read_text()) == epochs[-1]
        assert epochs == sorted(set(epochs)) and len(jobs) == len(epochs)
        assert "the clock is earlier than the last epoch" in wire.messages.read_text()


def scene_a_raised_epoch_is_kept(wire: Wire) -> None:
    state = wire.folder / "state"
    conductor = wire.start(*SELDOM, "--state", str(state))
    far = wire.status()["epoch"] + AHEAD_NS
    wire.send(says_newer(wire, far))
    epoch = raised(wire, 1)["epoch"]
    assert int((state / "epoch").read_text()) == epoch > far
    conductor.kill()
    conductor.wait()
    wire.start(*SELDOM, "--state", str(state))
    assert wire.status()["epoch"] > epoch


def scene_a_state_that_is_damaged_or_cannot_be_written_is_refused(wire: Wire) -> None:
    state = wire.folder / "state"
    state.mkdir()
    file = wire.folder / "file"
    file.write_text("")

    def refusal(folder: Path) -> str:
        words = [SERVICE / "conductor", "--interface", "beats", "--key", wire.folder / "key", "--socket"]
        words += [wire.folder / "refused", "--state", folder]
        ran = subprocess.run(words, capture_output=True, text=True, timeout=60)
        assert ran.returncode == 2 and ran.stderr.count("\n") == 1, ran
        return ran.stderr

    good = f"{10**18:020}\n"
    for text in ("", "\n", good[:-1], good[1:], good + "\n", good + good, "x" + good[1:], "-" + good[1:]):
        (state / "epoch").write_text(text)
        assert f"the state {state}/epoch: damaged: it must be a number of 20 digits" in refusal(state)
    (state / "epoch").write_text("9" * 20 + "\n")
    assert "no epoch is higher" in refusal(state)
    (state / "epoch").unlink()
    (state / "epoch").mkdir()
    assert "Is a directory" in refusal(state)
    assert "Not a directory" in refusal(file)
    assert "cannot be written: No such file or directory" in refusal(wire.folder / "none" / "none")
    (state / "epoch").rmdir()
    (state / "epoch.new").mkdir()
    assert "cannot be written: Is a directory" in refusal(state)
    (state / "epoch.new").rmdir()
    conductor = wire.start(*SELDOM, "--state", str(state))  # and with what is right it starts
    assert int((state / "epoch").read_text()) == wire.status()["epoch"]
    assert conductor.poll() is None


SCENES = sorted(name.removeprefix("scene_") for name in globals() if name.startswith("scene_"))


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    namespace_needed()
    made("service")
    built = tmp_path_factory.mktemp("shim") / "shim.so"
    source = Path(__file__).with_name("clock_steps.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", built, source], check=True)
    return built


@pytest.mark.parametrize("scene", SCENES)
def test_epochs(scene: str, tmp_path: Path, shim: Path) -> None:
    (tmp_path / "shim.so").symlink_to(shim)
    assert_plays(__file__, scene, tmp_path)


if __name__ == "__main__":
    play(globals()["scene_" + sys.argv[1]], Path(sys.argv[2]))
