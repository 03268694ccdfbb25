# SPDX-License-Identifier: BSD-2-Clause
"""Nodes without a serial port and without a text screen: what the kernel says stands on the framebuffer that
GRUB has set up, letter by letter, also after a panic. Pictures are QEMU's, read back by the kernel's font."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import screen
from conftest import iso_made, program
from monitor import Monitor
from planted import planted

import iso as images
import qemu

OVMF = ["-drive", "if=pflash,format=raw,readonly=on,file=/usr/share/OVMF/OVMF_CODE.fd"]


def run_and_look(folder: Path, image: Path, options: Sequence[str], **settings: object) -> qemu.Result:
    with Monitor(folder, lambda client: screen.dump_at_end(folder, client)) as monitor:
        monitor.go()
        result = qemu.run_machine(
            ["-cdrom", str(image), *options, "-no-shutdown", *monitor.options],
            time_limit=180,
            **settings,  # type: ignore[arg-type]
        )
    monitor.check()
    return result


def said(result: qemu.Result, columns: int) -> list[str]:
    """What the kernel and its program printed on the serial console, as rows of a screen."""
    text = result.console.replace("\r", "")
    lines = text[text.index("tacet: Tacet ") :].splitlines()
    return [
        row
        for line in lines
        for row in ([line[i : i + columns] for i in range(0, len(line), columns)] or [""])
    ]


def test_under_uefi_the_screen_shows_what_the_serial_console_shows(tmp_path: Path) -> None:
    image = iso_made(tmp_path / "tacet.iso", program("status.musl"), "3")
    result = run_and_look(tmp_path, image, [*OVMF, "-vga", "std"])
    width, height, _ = screen.picture(tmp_path / "screen")
    rows = screen.text_rows(tmp_path / "screen")
    expected = [row.rstrip() for row in said(result, width // 8)]
    assert rows[: len(expected)] == expected and not any(rows[len(expected) :]), (rows, result.explain())
    assert expected[-1] == "tacet: exit status=3" and width * height >= 640 * 480, result.explain()


def test_what_a_long_run_printed_last_stands_in_order_at_its_end(tmp_path: Path) -> None:
    image = iso_made(tmp_path / "tacet.iso", qemu.BUSYBOX, "seq", "1", "1000")
    result = run_and_look(tmp_path, image, [*OVMF, "-vga", "std"])
    rows = screen.text_rows(tmp_path / "screen")
    end = rows.index("tacet: exit status=0")
    assert not any(rows[end + 1 :]) and end >= 25, (rows, result.explain())
    assert rows[:end] == [str(n) for n in range(1001 - end, 1001)], (rows, result.explain())


def test_a_panic_stays_on_the_screen(tmp_path: Path) -> None:
    """A planted bug, on a machine whose only output is the screen."""
    kernel = planted(tmp_path, "sys_exit_group")
    image = iso_made(
        tmp_path / "tacet.iso", program("status.musl"), "3", options="console=screen", kernel=kernel
    )
    run_and_look(tmp_path, image, [*OVMF, "-vga", "std"])
    rows = screen.text_rows(tmp_path / "screen")
    assert any("the kernel itself faulted: invalid opcode" in row for row in rows), rows
    last = [row for row in rows if row][-1]
    assert last.startswith('tacet: stop status=70 reason="kernel fault: invalid opcode at '), rows
    assert any(row.startswith("tacet:   rip ffffffff") for row in rows), rows


@pytest.mark.parametrize("mode", ["640x480x15", "800x600x16", "1024x768x24", "1152x864x32", "320x200x32"])
def test_framebuffers_of_other_formats(mode: str, tmp_path: Path) -> None:
    """GRUB sets one up under a BIOS, too, where it is asked for."""
    text = images.configuration([images.Entry("Tacet", "argv0=status.musl -- 4")])
    assert text.count("gfxpayload=text") == 1
    image = tmp_path / "bios.iso"
    cfg = "insmod all_video\n" + text.replace("gfxpayload=text", f"gfxpayload={mode}")
    images.make(image, qemu.KERNEL, [program("status.musl")], cfg, "i386-pc")
    result = run_and_look(tmp_path, image, ["-vga", "std"])
    width, height, _ = screen.picture(tmp_path / "screen")
    assert mode.startswith(f"{width}x{height}x"), (width, height)
    rows = [row for row in screen.text_rows(tmp_path / "screen") if row]
    expected = [row.rstrip() for row in said(result, width // 8)]
    assert rows == expected[-(height // 16 - 1) :], (rows, result.explain())


@pytest.mark.parametrize("device", ["cirrus-vga", "qxl-vga", "virtio-vga", "VGA,xres=1366,yres=768,edid=on"])
def test_other_display_devices(device: str, tmp_path: Path) -> None:
    image = iso_made(tmp_path / "tacet.iso", program("status.musl"), "3")
    result = run_and_look(tmp_path, image, [*OVMF, "-device", device])
    width, _, _ = screen.picture(tmp_path / "screen")
    rows = [row for row in screen.text_rows(tmp_path / "screen") if row]
    assert rows == [row.rstrip() for row in said(result, width // 8)], (rows, result.explain())
