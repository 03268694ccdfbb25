# SPDX-License-Identifier: BSD-2-Clause
"""The model of a network controller (test_e1000.c) notices a driver that is wrong: each change below is made
to a copy of the driver, and the test must fail."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

#: What all cases need is compiled once.
pytestmark = pytest.mark.xdist_group("e1000 changed")

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


GCC = ("gcc", "-std=gnu11", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def compiled(source: Path, folder: Path) -> Path:
    made = folder / f"{source.stem}.o"
    includes = [word for name in (DRIVER, *INCLUDES) for word in ("-iquote", name)]
    subprocess.run([*GCC, *includes, "-c", "-o", made, source], cwd=ROOT, check=True, timeout=120)
    return made


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The objects of the test and of the driver as they are, by the source's name."""
    folder = tmp_path_factory.mktemp("e1000")
    sources = (Path("tests/host/test_e1000.c"), Path(DRIVER, "ring.c"), Path(DRIVER, "e1000.c"))
    return {source.name: compiled(source, folder) for source in sources}


@pytest.mark.parametrize(
    ("name", "before", "after"), CHANGES, ids=[f"{name} {i}" for i, (name, *_) in enumerate(CHANGES)]
)
def test_a_driver_that_is_wrong_fails_its_test(
    name: str, before: str, after: str, unchanged: dict[str, Path], tmp_path: Path
) -> None:
    text = (ROOT / DRIVER / name).read_text(encoding="utf-8")
    assert text.count(before) == 1, f"{name} has {text.count(before)} times: {before}"
    (tmp_path / name).write_text(text.replace(before, after), encoding="utf-8")
    objects = unchanged | {name: compiled(tmp_path / name, tmp_path)}
    subprocess.run([*GCC, "-o", tmp_path / "test", *objects.values()], check=True, timeout=120)
    ended = subprocess.run([tmp_path / "test"], capture_output=True, timeout=120)
    assert ended.returncode != 0
