# SPDX-License-Identifier: BSD-2-Clause
"""The conductor on a machine whose clock is set, has a leap second, or is suspended (docs/nettick.md): its
time goes on, as nodes' clocks do. It runs in a network namespace, with clocks that the test moves
(clock_steps.c)."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.beat_frames import Beat, beat_of
from tests.keys import MASTER
from tests.making import made
from tests.namespaces import namespace_needed

SHIM = Path(__file__).with_name("clock_steps.c")
INSIDE = ["unshare", "-rn", sys.executable, __file__]
HOUR_NS, S = 3600 * 10**9, 10**9
PERIOD_NS = 10**7
BEATS = 20
TAI_S = 37
#: What is done to the machine: its wall clock set, its suspension, TAI - UTC; each from then on.
STEPS = {
    "nothing": (0, 0, TAI_S),
    "set forward": (HOUR_NS, 0, TAI_S),
    "set back": (-HOUR_NS, 0, TAI_S),
    "leap second": (-HOUR_NS - S, 0, TAI_S + 1),
    "suspended": (-HOUR_NS - S, 30 * S, TAI_S + 1),
}


def inside(folder: Path) -> None:
    """In the namespace: beats after each step, and the conductor's counters."""
    for command in ("link add beats type veth peer name node", "link set beats up", "link set node up"):
        subprocess.run(["ip", *command.split()], check=True)
    node = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88CB))
    node.bind(("node", 0))
    node.settimeout(60)
    steps = (folder / "steps").open("r+b", buffering=0)
    command = [ROOT / "build/service/conductor", "--interface", "beats", "--key", folder / "key"]
    conductor = subprocess.Popen(
        [*command, "--socket", folder / "control", "--rate", "100"],
        stdout=subprocess.DEVNULL,
        env={**os.environ, "LD_PRELOAD": str(folder / "shim.so"), "CLOCK_STEPS": str(folder / "steps")},
    )
    ask = [ROOT / "build/service/conductorctl", "--socket", folder / "control", "--json", "status"]
    found = []
    for step in STEPS.values():
        steps.seek(0)
        steps.write(struct.pack("=3q", *step))
        # Those of before may be in the queue still, and there is no conductor before its first beat.
        frames = [node.recv(2000)]
        status = json.loads(subprocess.run(ask, check=True, capture_output=True).stdout)
        while beat_of(frames[-1]).sequence < status["sequence"] + BEATS:
            frames.append(node.recv(2000))
        status = json.loads(subprocess.run(ask, check=True, capture_output=True).stdout)
        found.append({"frames": [frame.hex() for frame in frames], "left_out": status["left_out"]})
    conductor.terminate()
    conductor.wait()
    print(json.dumps(found))


def test_conductor_time_goes_on_whatever_is_done_to_the_clock(tmp_path: Path) -> None:
    namespace_needed()
    made("service")
    words = ["gcc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o", tmp_path / "shim.so", SHIM]
    subprocess.run(words, check=True)
    (tmp_path / "key").write_text(MASTER.hex() + "\n")
    (tmp_path / "key").chmod(0o600)
    (tmp_path / "steps").write_bytes(struct.pack("=3q", *STEPS["nothing"]))
    done = subprocess.run([*INSIDE, tmp_path], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = dict(zip(STEPS, json.loads(done.stdout), strict=True))
    beats: dict[str, list[Beat]] = {}
    for step, part in found.items():
        beats[step] = [beat_of(bytes.fromhex(frame)) for frame in part["frames"]]
    every = [beat for part in beats.values() for beat in part]
    # None is lost, doubled or late, and all are multiples of the period.
    assert [beat.sequence for beat in every] == sorted({beat.sequence for beat in every})
    assert len({beat.epoch for beat in every}) == 1
    assert all(beat.time_ns % PERIOD_NS == 0 and beat.period_ns == PERIOD_NS for beat in every)
    times = [beat.time_ns for beat in every]
    assert times == sorted(set(times))
    # Setting the clock moves nothing, nor does a leap second; beats say it.
    for step in ("set forward", "set back", "leap second"):
        assert beats[step][-1].time_ns - beats["nothing"][0].time_ns < HOUR_NS / 2, step
    said = {step: [beat.tai_utc_s for beat in part] for step, part in beats.items()}
    assert {*said["nothing"], *said["set forward"], *said["set back"]} == {TAI_S}, said
    assert said["leap second"][-1] == TAI_S + 1 and {*said["suspended"]} == {TAI_S + 1}, said
    # It goes on while the machine is suspended: what was due meanwhile is left out, and counted.
    asleep = beats["suspended"][-1].time_ns - beats["leap second"][-1].time_ns
    assert 30 * S < asleep < 30 * S + HOUR_NS / 2
    left_out = found["suspended"]["left_out"] - found["leap second"]["left_out"]
    assert left_out >= 30 * S // PERIOD_NS - 1, (left_out, found["leap second"]["left_out"])


if __name__ == "__main__":
    inside(Path(sys.argv[1]))
