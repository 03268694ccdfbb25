# SPDX-License-Identifier: BSD-2-Clause
"""One card for heartbeats and data (docs/nettick.md): beats interrupt, and data waits for whoever looks at the
network, in its order, however much of it comes; nothing else disturbs who computes.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import APPS, Run, expect_exit
from services import HOST, NODE, Services
from test_nettick import (
    CARDS,
    KEYED,
    LONG_NS,
    MAC,
    MS,
    STATIC,
    Conductor,
    beat_on,
    conduct,
    cpus_of,
    expect_counts,
    heard,
    interrupts_of,
    needs,
    one_by_one,
)
from test_nettick_commands import COUNT, RUNNING, STOP, STOPPED, CONTINUE, Commander
from test_nettick_commands import conduct as command
from wire import BROADCAST, Wire

import qemu
from lab.formats import klog
from tests.beat_frames import Beat

SHARED = f"ranks=1 nettick=irq {STATIC} {KEYED}"
#: A frame for nobody's protocol, which a card has to take all the same.
NOISE = (BROADCAST + Wire().address + b"\x88\xb5").ljust(60, b"\0")


@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize("cpus", [1, 4])
def test_each_beat_is_passed_on_to_every_cpu_once(card: str, cpus: int, tacet: Run) -> None:
    """On one CPU by the interrupt of who computes; on four, of one that idles."""
    result = conduct(tacet, one_by_one(20), "each", "20", card=card, cpus=cpus, options=SHARED)
    said = expect_counts(result, fine=20, next=20)
    assert [beats for beats, _, _ in cpus_of(result)] == [20] * cpus, result.explain()
    assert "heartbeats by eth0, which carries data, too" in result.console, result.explain()
    if cpus == 1:
        assert said["card_interrupts"] - said["card_interrupts_without_beat"] == 20, result.explain()
