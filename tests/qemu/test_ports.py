# SPDX-License-Identifier: BSD-2-Clause
"""Which serial ports a node finds, which of them is its console, and at which speed: by `console=`, by the
firmware's own description (ACPI's SPCR), and where neither says. The machines are plain QEMU, with ports at
places of the test's own; a port's speed is read from its divisor when the node is off."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import program
from monitor import Client, Monitor

import qemu

PORTS = {"com1": (0x3F8, 4), "com2": (0x2F8, 3), "com3": (0x3E8, 4), "com4": (0x2E8, 3), "card": (0x1E0, 3)}
AT_NOTHING = 0x120


@dataclass
class Seen:
    said: dict[str, str]
    divisor: dict[str, int]


def divisor_of(client: Client, address: int) -> int:
    """Through the monitor: the line register's highest bit shows the divisor."""

    def byte(at: int) -> int:
        return int(client.human(f"i /b {at:#x}").split("=")[1], 16)

    line = byte(address + 3)
    client.human(f"o /b {address + 3:#x} {line | 0x80:#x}")
    divisor = byte(address) | byte(address + 1) << 8
    client.human(f"o /b {address + 3:#x} {line:#x}")
    return divisor


def run_node(folder: Path, ports: Sequence[str], line: str, spcr: bytes | None = None) -> Seen:
    """A node with these ports and no other output; what each port got, and its divisor at the end."""
    seen = Seen({}, {})
    options = []
    for name in ports:
        address, irq = PORTS[name]
        options += ["-chardev", f"file,id={name},path={folder / name}"]
        options += ["-device", f"isa-serial,iobase={address:#x},irq={irq},chardev={name}"]
    if spcr is not None:
        (folder / "spcr").write_bytes(spcr)
        options += ["-acpitable", f"sig=SPCR,rev=2,data={folder / 'spcr'}"]

    def look(client: Client) -> None:
        client.wait_event("SHUTDOWN")
        for name in ports:
            seen.divisor[name] = divisor_of(client, PORTS[name][0])
        client.quit()

    with Monitor(folder, look) as monitor:
        monitor.go()
        boot = qemu.DirectBoot(qemu.KERNEL, f"{line} -- 3", program("status.musl"))
        command = qemu.Machine(boot=boot, memory="128M", qemu_options=options).command()
        subprocess.run([*command, "-no-shutdown", *monitor.options], timeout=300, check=True)
    monitor.check()
    for name in ports:
        seen.said[name] = (folder / name).read_text(errors="replace").replace("\r", "")
    return seen


def spcr(port: int, speed: int = 0, kind: int = 0, space: int = 1) -> bytes:
    """The table after its header. Speeds: 0 as it is, 3 9600, 4 19200, 6 57600, 7 115200."""
    address = struct.pack("<BBBBQ", space, 8, 0, 1, port)
    return struct.pack("<B3x", kind) + address + struct.pack("<BBIB", 1, 3, 3, speed) + bytes(21)


BEGIN, END = "tacet: Tacet ", "tacet: exit status=3\n"


def is_console(text: str) -> bool:
    return BEGIN in text and text.endswith(END)


@pytest.mark.parametrize(
    ("line", "console", "divisors"),
    [
        ("", {"com1"}, {"com1": 1, "com2": 1}),
        ("console=com2,57600", {"com2"}, {"com1": 1, "com2": 2}),
        ("console=com2,9600,com1,38400", {"com1", "com2"}, {"com1": 3, "com2": 12}),
        ("console=com1,com2,300", {"com1", "com2"}, {"com1": 1, "com2": 384}),
        ("stdout=com2,19200", {"com1"}, {"com1": 1, "com2": 6}),
    ],
)
def test_a_consoles_port_and_speed_are_chosen(
    line: str, console: set[str], divisors: dict[str, int], tmp_path: Path
) -> None:
    seen = run_node(tmp_path, ["com1", "com2"], line)
    assert {name for name, text in seen.said.items() if is_console(text)} == console, seen
    assert seen.divisor == divisors, seen


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("console=com2,115201", "console=com2,115201: no such speed; it must divide 115200: 1"),
        ("console=com2,0", "console=com2,0: no such speed"),
        ("console=com2,99999999999999999999", "console=com2,99999999999999999999: no such speed"),
        ("console=57600", "console=57600: this machine has no such console; it has: com2"),
        ("console=com1", "console=com1: this machine has no such console; it has: com2"),
        ("console=", "console= needs at least one console's name"),
    ],
)
def test_a_wrong_choice_is_named_on_whatever_output_there_is(line: str, reason: str, tmp_path: Path) -> None:
    """The machine has neither com1 nor a screen."""
    seen = run_node(tmp_path, ["com2"], line)
    assert f'tacet: stop status=64 reason="{reason}' in seen.said["com2"], seen


def test_without_a_usual_console_the_first_port_is_one(tmp_path: Path) -> None:
    seen = run_node(tmp_path, ["com3", "com4"], "")
    assert is_console(seen.said["com3"]) and not seen.said["com4"], seen


@pytest.mark.parametrize(("code", "divisor"), [(0, 12), (3, 12), (6, 2), (7, 1), (99, 12)])
def test_the_firmwares_console_is_the_kernels(code: int, divisor: int, tmp_path: Path) -> None:
    """A speed that is not known stays as it was: here 9600, QEMU's own."""
    seen = run_node(tmp_path, ["com1", "com2"], "", spcr(0x2F8, code))
    assert is_console(seen.said["com2"]) and not seen.said["com1"].count("tacet:"), seen
    assert seen.divisor["com2"] == divisor, seen


def test_a_firmwares_console_at_another_port_is_found(tmp_path: Path) -> None:
    seen = run_node(tmp_path, ["com1", "card"], "", spcr(PORTS["card"][0], 6))
    assert is_console(seen.said["card"]) and seen.divisor["card"] == 2, seen
    assert not seen.said["com1"].count("tacet:"), seen


def test_the_command_line_comes_before_the_firmware(tmp_path: Path) -> None:
    seen = run_node(tmp_path, ["com1", "com2"], "console=com1", spcr(0x2F8, 6))
    assert is_console(seen.said["com1"]) and "tacet:" not in seen.said["com2"], seen


def test_a_firmwares_console_that_is_not_there_is_named(tmp_path: Path) -> None:
    seen = run_node(tmp_path, ["com1"], "", spcr(AT_NOTHING, 6))
    wrong = "tacet: acpi: the SPCR names a serial console at port 0x120, and no port answers there\n"
    assert wrong in seen.said["com1"] and seen.said["com1"].endswith(END), seen


@pytest.mark.parametrize("table", [spcr(0x2F8, 6, kind=3), spcr(0x2F8, 6, space=0), b"\0"], ids=repr)
def test_other_descriptions_change_nothing(table: bytes, tmp_path: Path) -> None:
    seen = run_node(tmp_path, ["com1", "com2"], "", table)
    assert is_console(seen.said["com1"]) and seen.divisor["com2"] == 1, seen
