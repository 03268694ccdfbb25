# SPDX-License-Identifier: BSD-2-Clause
"""The model of a network controller (test_e1000.c) notices a driver that is wrong: each change below is made
to a copy of the driver, and the test must fail."""

from __future__ import annotations

import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DRIVER = "drivers/e1000"
INCLUDES = ["tests/host/stub", "kernel", "arch/x86_64/include", "tests/host", "."]

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


def fails(folder: Path, number: int) -> bool:
    """Whether the test fails with that change; all of it in a folder of its own."""
    own = folder / str(number)
    shutil.copytree(ROOT / DRIVER, own / DRIVER)
    name, before, after = CHANGES[number]
    path = own / DRIVER / name
    text = path.read_text()
    assert text.count(before) == 1, f"{name} has {text.count(before)} times: {before}"
    path.write_text(text.replace(before, after))
    sources = ["tests/host/test_e1000.c", str(own / DRIVER / "ring.c"), str(own / DRIVER / "e1000.c")]
    includes = [word for folder_ in [str(own), *INCLUDES] for word in ("-iquote", folder_)]
    command = ["gcc", "-std=gnu11", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command += [*includes, "-o", str(own / "test"), *sources]
    subprocess.run(command, cwd=ROOT, check=True, timeout=120)
    ended = subprocess.run([own / "test"], capture_output=True, timeout=120)
    return ended.returncode != 0


def test_a_driver_that_is_wrong_fails_its_test(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda number: fails(tmp_path, number), range(len(CHANGES))))
    unnoticed = [CHANGES[number] for number, noticed in enumerate(found) if not noticed]
    assert not unnoticed
