# SPDX-License-Identifier: BSD-2-Clause
"""What a flood of forged heartbeats costs a program that computes, on a card for beats alone and on a shared
one: one instruction takes one nanosecond, so each detour that selfish sees is what the kernel has executed.
"""

from __future__ import annotations

import re
import threading

import pytest
from conftest import APPS, expect_exit
from test_nettick import CARDS, HEARS, KEYED, MAC, STATIC, needs
from wire import Wire

import qemu
from tests.beat_frames import BEAT, VERSION, Beat, Command, framed

LOSS_MAX_NS = 100_000
BURST = 200
PAUSE_S = 0.01
#: Detours that are longer than the noise of QEMU's cards; the fewest that show that the flood came.
DETOUR_NS, DETOURS_MIN = 1_000, 20
WRONG_KEY = bytes(16)
#: Frames of 1,500 bytes, and the longest that can be a beat, all of which is hashed.
FLOODS = {
    "long": framed(bytes([VERSION, BEAT]) + (1500).to_bytes(2, "big") + bytes(1496)),
    "longest": Beat(2**40, commands=[Command(1, n, bytes(64)) for n in range(16)]).frame(WRONG_KEY),
}
WIRES = {"alone": HEARS, "shared": f"ranks=1 nettick=irq {STATIC} {KEYED}"}


@pytest.mark.long
@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize("wires", WIRES)
@pytest.mark.parametrize("flood", FLOODS)
def test_a_forged_flood_costs_less_than_100_us_at_once(flood: str, wires: str, card: str) -> None:
    is_over, machine = threading.Event(), needs(card)

    def script(wire: Wire) -> None:
        wire.connected()
        try:
            for sequence in range(1, 10**6):
                wire.send(Beat(sequence).frame())
                for _ in range(BURST):
                    wire.send(FLOODS[flood])
                if is_over.wait(PAUSE_S):
                    break
        except OSError:
            pass  # the machine has ended

    with Wire() as wire:
        wire.play(script)
        result = qemu.run_tacet(
            APPS / "selfish",
            ["-r", "1s", "-s"],
            icount=0,
            options=WIRES[wires],
            qemu_options=wire.options(card, MAC),
            time_limit=300,
            **machine,
        )
        is_over.set()
        expect_exit(result)
        wire.check()
    detours = [int(ns) for ns in re.findall(r"^\d+\t(\d+)\r?$", result.stdout.decode(), re.M)]
    assert sum(ns > DETOUR_NS for ns in detours) >= DETOURS_MIN, result.explain()
    assert max(detours) < LOSS_MAX_NS, (sorted(detours)[-5:], result.explain())
