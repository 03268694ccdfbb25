# SPDX-License-Identifier: BSD-2-Clause
"""The model of a network controller (test_e1000.c) notices a driver that is wrong: each change below is made
to a copy of the driver, and the test must fail."""

from __future__ import annotations

from pathlib import Path

import pytest
from changed_source import ChangedSource

#: What all cases need is compiled once.
pytestmark = pytest.mark.xdist_group("e1000 changed")

SOURCES = ChangedSource(
    test="tests/host/test_e1000.c",
    folder="drivers/e1000",
    gcc=("gcc", "-std=gnu11", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    includes=("tests/host/stub", "kernel", "arch/x86_64/include", "tests/host", "."),
)

#: File, what stands there, and what stands there instead.
CHANGES = [
    ("ring.c", "nic->receive_next + RECEIVE_COUNT - 1;", "nic->receive_next + RECEIVE_COUNT;"),
    ("ring.c", "descriptor_renew(nic, nic->receive_next++);", "nic->receive_next++;"),
    ("ring.c", "    tail_move(nic);\n    return NULL;", "    return NULL;"),
    ("ring.c", "== SEND_COUNT - 1)", "== SEND_COUNT)"),
    ("ring.c", "!continues && status", "status"),
    ("ring.c", "bytes <= ETHERNET_FRAME_BYTES_MAX;", "bytes <= BUFFER_BYTES;"),
    ("ring.c", "bytes >= ETHERNET_HEADER_BYTES &&", ""),
    ("ring.c", "words[is_advanced(nic) ? 0 : 1]);", "words[1]);"),
    ("ring.c", "parts[i].count > ETHERNET_FRAME_BYTES_MAX - bytes", "bytes > ETHERNET_FRAME_BYTES_MAX"),
    ("e1000.c", "if (!received_is_due(nic) && device->link == link)", "if (true)"),
    ("e1000.c", "    mask_all(nic);\n    pci_interrupt_disable", "    pci_interrupt_disable"),
    ("e1000.c", "/ 32 == word)", "/ 32 != word)"),
    ("e1000.c", "(interval_ns + INTERVAL_NS - 1) / INTERVAL_NS", "interval_ns / INTERVAL_NS"),
    ("e1000.c", "                        << INTERVAL_ADVANCED_SHIFT", ""),
    (
        "e1000.c",
        "    if (nic->generation == E1000_EXPRESS)\n        e1000_write(nic, REG_INTERVAL_E",
        "    if (false)\n        e1000_write(nic, REG_INTERVAL_E",
    ),
]


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return SOURCES.objects(("ring.c", "e1000.c"), tmp_path_factory.mktemp("e1000"))


@pytest.mark.parametrize(
    ("name", "before", "after"), CHANGES, ids=[f"{name} {i}" for i, (name, *_) in enumerate(CHANGES)]
)
def test_a_driver_that_is_wrong_fails_its_test(
    name: str, before: str, after: str, unchanged: dict[str, Path], tmp_path: Path
) -> None:
    assert SOURCES.fails(unchanged, name, before, after, tmp_path)
