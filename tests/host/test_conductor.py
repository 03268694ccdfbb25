# SPDX-License-Identifier: BSD-2-Clause
"""The conductor on a wire of its own (a network namespace without root): its beats are what docs/nettick.md
says, due at multiples of their period, one after the other, whatever their rate was before."""

from __future__ import annotations

import configparser
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.beat_frames import END_BYTES, HEADER, VERSION, ended
from tests.keys import KEY, MASTER, key_write, node_lines
from tests.making import made
from tests.namespaces import namespace_needed

#: Runs in the namespace: conductor and listener at the two ends of a pair of interfaces.
INSIDE = ["unshare", "-rn", sys.executable, __file__]


#: SOL_PACKET and PACKET_STATISTICS of packet(7): frames that came, and those that found no room.
STATISTICS = (263, 6)


def dropped(by: socket.socket) -> int:
    """Frames for which the socket had no room, since the last call."""
    return struct.unpack("II", by.getsockopt(*STATISTICS, 8))[1]


def open_sockets(ethertype: int) -> str:
    """The processes that have a packet socket bound to it, as text: here one for each."""
    with open("/proc/net/packet", encoding="ascii") as table:
        bound = {line.split()[8] for line in table.readlines()[1:] if int(line.split()[3], 16) == ethertype}
    found = []
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            target = os.readlink(link)
        except OSError:
            continue
        if target.startswith("socket:[") and target[8:-1] in bound:
            found.append(link.parts[2])
    return " ".join(found)


def inside() -> None:
    """In the namespace. The words: how many beats to take in each part, and the rate of the next part."""

    folder = Path(sys.argv[1])
    plan = [part.split(":") for part in sys.argv[2:]]
    for command in ("link add beats type veth peer name node", "link set beats up", "link set node up"):
        subprocess.run(["ip", *command.split()], check=True)
    node = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88CB))
    # Room for beats while this process waits for a CPU; how many found none is counted.
    node.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
    node.bind(("node", 0))
    node.settimeout(60)
    control = folder / "control"
    command = [ROOT / "build/service/conductor", "--interface", "beats", "--key", folder / "key"]
    rate = plan[0][1]
    hears = [ROOT / "build/service/listener", "--interface", "node", "--key", folder / "node-key"]
    listener = subprocess.Popen(hears, stdout=subprocess.PIPE, text=True)
    while str(listener.pid) not in open_sockets(0x88CB):
        time.sleep(0.01)
    conductor = subprocess.Popen([*command, "--socket", control, "--rate", rate], stdout=subprocess.PIPE)
    ask = [ROOT / "build/service/conductorctl", "--socket", control, "--json"]
    assert conductor.stdout and b"beats on beats" in conductor.stdout.readline()
    parts = []
    for number, (count, rate) in enumerate(plan):
        if number:
            subprocess.run([*ask, "rate", rate], check=True, capture_output=True)
        frames, counted = [], 0
        while counted < int(count):  # beats of the rate before may be in the queue still
            frames.append(node.recv(2000).hex())
            period = int(frames[-1][2 * (14 + 32) : 2 * (14 + 40)], 16)
            counted += period == (round(1e9 / float(rate)) if float(rate) else 0)
        parts.append({"rate": rate, "frames": frames, "monotonic_ns": time.monotonic_ns()})
    status = json.loads(subprocess.run([*ask, "status"], check=True, capture_output=True).stdout)
    wrong = subprocess.run([*ask, "rate", "2000"], capture_output=True, text=True)
    second = subprocess.run([*command, "--socket", control], capture_output=True, text=True)
    conductor.send_signal(signal.SIGTERM)
    ended = conductor.wait(60)
    rest = []
    node.settimeout(0.2)
    try:
        while True:
            rest.append(node.recv(2000).hex())
    except TimeoutError:
        pass
    listener.send_signal(signal.SIGTERM)
    heard = dict(line.split() for line in listener.communicate(timeout=60)[0].splitlines())
    said = {
        "heard": heard,
        "wrong": wrong.stdout,
        "wrong_status": wrong.returncode,
        "second": second.stderr,
        "ended": ended,
        "dropped": dropped(node),
    }
    print(json.dumps({"parts": parts, "status": status, "rest": rest, **said}))


def beats_of(frames: list[str]) -> list[dict[str, int]]:
    """The frames as beats; each is one, and tagged."""
    found = []
    for text in frames:
        frame = bytes.fromhex(text)
        assert frame[:6] == b"\xff" * 6 and frame[12:14] == b"\x88\xcb"
        names = "version kind bytes answer_every commands epoch sequence time_ns period_ns late_ns tai_utc_s"
        beat = dict(zip(names.split(), HEADER.unpack_from(frame, 14)))
        payload = frame[14 : 14 + beat["bytes"]]
        assert (beat["version"], beat["kind"], beat["bytes"]) == (VERSION, 1, HEADER.size + END_BYTES)
        assert payload == ended(payload[:-END_BYTES], frame[6:12], KEY)
        found.append(beat)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    namespace_needed()
    made("service")
    path = tmp_path_factory.mktemp("conductor")
    key_write(path / "key", MASTER.hex() + "\n")
    key_write(path / "node-key", node_lines("n1"))
    return path


def conduct(folder: Path, *plan: str) -> dict:
    done = subprocess.run([*INSIDE, folder, *plan], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_beats_are_due_at_multiples_of_their_period_at_each_rate(folder: Path) -> None:
    seen = conduct(folder, "20:100", "20:50", "20:1000", "5:12.5")
    beats = [(part["rate"], beat) for part in seen["parts"] for beat in beats_of(part["frames"])]
    rest = beats_of(seen["rest"])
    sequence = [beat["sequence"] for _, beat in beats] + [beat["sequence"] for beat in rest]
    assert sequence == sorted(set(sequence)) and sequence[0] >= 1
    assert sequence[-1] - len(sequence) <= seen["dropped"], "the others had room in the socket"
    assert len({beat["epoch"] for _, beat in beats}) == 1
    for _, beat in beats:
        assert beat["time_ns"] % beat["period_ns"] == 0 and beat["time_ns"] > beat["epoch"]
    for rate, period in (("100", 10_000_000), ("50", 20_000_000), ("1000", 1_000_000), ("12.5", 80_000_000)):
        periods = [beat["period_ns"] for at, beat in beats if at == rate]
        assert periods.count(period) >= 5 and period in periods[-1:]
    ahead_s = time.clock_gettime(time.CLOCK_TAI) - time.clock_gettime(time.CLOCK_REALTIME)
    assert {beat["tai_utc_s"] for _, beat in beats} == {round(ahead_s)}
    times = [beat["time_ns"] for _, beat in beats]
    assert times == sorted(set(times))
    assert seen["status"]["sent"] >= len(beats) and seen["status"]["failed"] == 0
    heard = {name: int(value) for name, value in seen["heard"].items()}
    assert heard["beats"] + heard["dropped"] >= sequence[-1] and heard["lost"] <= heard["dropped"]
    assert not any(heard[name] for name in ("late", "duplicate", "forged", "truncated", "absurd"))
    assert seen["status"]["epoch"] == beats[0][1]["epoch"]


def test_the_last_beat_before_a_rest_says_so(folder: Path) -> None:
    seen = conduct(folder, "3:100", "1:0", "3:100")
    beats = [beat for part in seen["parts"] for beat in beats_of(part["frames"])] + beats_of(seen["rest"])
    rests = [number for number, beat in enumerate(beats) if beat["period_ns"] == 0]
    assert rests[-1] == len(beats) - 1, "the conductor's end"
    assert len(rests) == 2 and [beat["sequence"] for beat in beats] == list(range(1, len(beats) + 1))
    assert seen["ended"] == 0


def test_a_conductor_that_is_started_anew_has_a_later_epoch(folder: Path) -> None:
    first, second = (beats_of(conduct(folder, "2:100")["parts"][0]["frames"])[0] for _ in range(2))
    assert second["epoch"] > first["epoch"] and second["sequence"] == first["sequence"] == 1


def test_what_cannot_be_is_said_in_a_line(folder: Path) -> None:
    seen = conduct(folder, "1:100")
    assert "from 1/60 to 1000" in seen["wrong"] and seen["wrong_status"] == 1
    assert "a conductor already listens there" in seen["second"]
    open_key = key_write(folder / "open", MASTER.hex())
    open_key.chmod(0o644)
    keys = {"short": "0123", "half": MASTER.hex()[:31], "more": MASTER.hex() + "0", "node": node_lines("n1")}
    wrong_keys = [str(key_write(folder / name, text)) for name, text in keys.items()]
    (folder / "pipe").unlink(missing_ok=True)
    os.mkfifo(folder / "pipe", 0o600)
    cases = (
        (["--interface", "lo"], "--interface NAME and --key FILE"),
        (["--interface", "lo", "--key", str(open_key)], "chmod 600"),
        *((["--interface", "lo", "--key", key], "it must hold 32 hexadecimal digits") for key in wrong_keys),
        (["--interface", "lo", "--key", str(key_write(folder / "empty", "\n"))], "it is empty"),
        (["--interface", "lo", "--key", str(folder / "pipe")], "not a regular file"),
        (["--interface", "lo", "--key", str(folder / "key"), "--group", "no-such"], "no group has this name"),
        (["--interface", "lo", "--key", str(folder / "key"), "--operators", "-1"], "no group has this name"),
        (["--interface", "lo", "--key", str(folder / "gone")], "No such file"),
        (["--interface", "lo", "--key", str(folder / "key"), "--answer-every", "1001"], "0 to 1000"),
        (["--interface", "nowhere0", "--key", str(folder / "key")], "no such interface"),
        (["--interface", "lo", "--key", str(folder / "key")], "not an Ethernet interface"),
    )
    for words, said in cases:
        ran = subprocess.run(
            ["unshare", "-rn", ROOT / "build/service/conductor", *words],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert ran.returncode == 2 and said in ran.stderr and ran.stderr.count("\n") == 1, ran.stderr
    ran = subprocess.run(
        [ROOT / "build/service/conductorctl", "--socket", folder / "nobody", "status"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 1 and "no conductor at" in ran.stderr


#: In a network of its own: the conductor with the words after its name.
WITH_WIRE = """
ip link add beats type veth peer name nodes && ip link set beats up && ip link set nodes up && exec "$@"
"""


def test_a_conductor_s_socket_replaces_only_that_of_a_program_that_has_ended(
    folder: Path, tmp_path: Path
) -> None:
    """Neither at its start nor at its end does the conductor remove another file."""
    path = tmp_path / "socket"
    inside = ["unshare", "-rn", "sh", "-c", WITH_WIRE, "sh", ROOT / "build/service/conductor"]
    words = [*inside, "--interface", "beats", "--key", folder / "key", "--socket", path]

    def refused() -> str:
        ran = subprocess.run(words, capture_output=True, text=True, timeout=60)
        assert ran.returncode == 2 and ran.stderr.count("\n") == 1, ran
        return ran.stderr

    path.write_text("precious")
    assert f"socket {path}: a file that is no socket is there" in refused()
    assert path.read_text() == "precious"
    path.rename(tmp_path / "kept")
    path.symlink_to("kept")
    assert "a file that is no socket is there" in refused() and path.is_symlink()
    path.unlink()
    path.mkdir()
    assert "a file that is no socket is there" in refused() and path.is_dir()
    path.rmdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        other.bind(str(path))
        other.listen()
        assert "another program listens there" in refused() and path.is_socket()
    for is_replaced in (False, True):  # first the socket of `other`, which has ended
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as conductor:
            assert conductor.stdout is not None and "beats on" in conductor.stdout.readline()
            assert "a conductor already listens there" in refused() and path.is_socket()
            if is_replaced:
                (tmp_path / "kept").replace(path)
            conductor.terminate()
            assert conductor.wait(60) == 0
        assert path.exists() == is_replaced
    assert path.read_text() == "precious"


def state_of(pid: int) -> str:
    """R, S, T and the like, as /proc has it."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(") ")[2][0]


def test_who_asks_may_be_stopped_and_goes_on(tmp_path: Path) -> None:
    made("service")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.bind(str(tmp_path / "control"))
        server.listen()
        words = [ROOT / "build/service/conductorctl", "--socket", tmp_path / "control", "--json", "status"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as asking:
            client, _ = server.accept()
            assert b"status" in client.recv(1000)
            for number, state in ((signal.SIGSTOP, "T"), (signal.SIGCONT, "SR")):
                time.sleep(0.1)  # it is in the call by now, most likely
                asking.send_signal(number)
                while (now := state_of(asking.pid)) not in state:
                    assert now != "Z", "it has ended"
                    time.sleep(0.01)
            client.send(b'{"sequence": 7}')
            assert json.loads(asking.communicate(timeout=60)[0]) == {"sequence": 7} and asking.returncode == 0
            client.close()


def test_the_unit_of_systemd_starts_what_there_is(folder: Path) -> None:
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    text = (ROOT / "service/conductor/tacet-conductor.service").read_text(encoding="utf-8")
    unit.read_string(text.replace("\\\n", " "))
    service, (program, *words) = unit["Service"], unit["Service"]["ExecStart"].split()
    help_text = subprocess.run(
        [ROOT / "build/service/conductor", "--help"], capture_output=True, text=True, check=True
    ).stdout
    page = (ROOT / "docs/nettick.md").read_text(encoding="utf-8")
    for option, value in zip(words[::2], words[1::2]):
        assert f"  {option} " in help_text and f"    {value.strip('${}')}=" in page
    assert f"/run/{service['RuntimeDirectory']}/socket" in help_text
    capabilities = service["CapabilityBoundingSet"].split()
    assert capabilities == ["CAP_NET_RAW", "CAP_SYS_NICE", "CAP_IPC_LOCK", "CAP_CHOWN"]
    assert all(name in page for name in capabilities) and service["EnvironmentFile"] in page
    assert service["Restart"] == "always"
    assert f"`/var/lib/{service['StateDirectory']}`" in page and "$STATE_DIRECTORY" in help_text
    if not shutil.which("systemd-analyze"):
        return
    copy = folder / "tacet-conductor.service"
    copy.write_text(text.replace(program, str(ROOT / "build/service/conductor")))
    ran = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True, timeout=60)
    assert "tacet-conductor.service" not in ran.stderr, ran.stderr


if __name__ == "__main__":
    inside()
    sys.stdout.flush()
    os._exit(0)
