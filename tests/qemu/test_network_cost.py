# SPDX-License-Identifier: BSD-2-Clause
"""What the network costs in instructions, which are the same on every host (apps/cost/wire.h): a datagram
there and back, a KiB of a stream."""

from __future__ import annotations

import pytest
from conftest import APPS, Run, expect_exit
from services import NODE, options

from lab.bench.costs import parse_cost
from lab.bench.network import ECHO_BELOW
from lab.bench.peer import Peer

#: More than twice what is measured; Linux without segmentation offloads takes about 11,000 to send.
KIB_BELOW = 10_000


@pytest.mark.parametrize("card", ["e1000", "e1000e"])
def test_a_datagram_there_and_back_costs_less_than_the_aim(card: str, tacet: Run) -> None:
    with Peer() as peer:
        result = tacet(
            APPS / "cost",
            *("-u", peer.address),
            options=f"ip={NODE}",
            qemu_options=options(card),
            icount=0,
            memory="256M",
        )
    costs = parse_cost(expect_exit(result).stdout.decode())
    assert 1000 < costs["udp_echo_ticks_min"] <= costs["udp_echo_ticks_median"] < ECHO_BELOW, costs
    assert 0 < costs["tcp_send_kib_ticks"] < KIB_BELOW and 0 < costs["tcp_receive_kib_ticks"] < KIB_BELOW
