# SPDX-License-Identifier: BSD-2-Clause
"""One run: a CD, and a Bochs process from start to end."""

from __future__ import annotations

import re
import time
from pathlib import Path

import iso
import qemu

from .machine import COMMANDS, CONFIGURATION, IMAGE, KLOG, LOG, Machine

POWER_OFF = "ACPI control: soft power off"


class _Process(qemu.Emulator):
    """One Bochs process. It ends with status 1 when the machine is switched off and also after a panic; its
    log tells which."""

    NAME = "Bochs"

    def __init__(self, ports: qemu.Ports, folder: Path, watch: qemu.Watch) -> None:
        self.log = folder / LOG
        super().__init__(["bochs", "-q", "-f", CONFIGURATION, "-rc", COMMANDS], ports, watch, cwd=folder)

    def failure(self) -> str:
        log = self.log.read_text(errors="replace") if self.log.is_file() else ""
        said = self.received["own"].decode(errors="replace")
        panics = re.findall(r">>PANIC<< (.*)", log) or re.findall(r">>PANIC<< (.*)", said)
        if POWER_OFF in panics:
            return ""
        return f"Bochs: {panics[0].strip()}" if panics else super().failure()


def _make_image(boot: qemu.DirectBoot, image: Path) -> None:
    """Make the CD from which GRUB starts the kernel, with the command line that QEMU would pass."""
    iso.check_tools(["i386-pc"])
    line = " ".join(map(iso.quoted, qemu.words_of(boot.command_line)))
    if boot.module is None:
        raise qemu.RunnerError("a machine in Bochs needs a program")
    iso.make(image, boot.kernel, [boot.module], iso.configuration([iso.Entry("Tacet", line)]), "i386-pc")


def run(
    machine: Machine, boot: qemu.DirectBoot, watch: qemu.Watch, klog: Path | None, command: list[str]
) -> qemu.Result:
    """Run one machine to its end. `command` is the shell command that repeats the run."""
    begun = time.monotonic()
    machine.check()
    with qemu.temporary_folder() as name:
        folder = Path(name)
        _make_image(boot, folder / IMAGE)
        if klog is not None:
            (folder / KLOG).symlink_to(klog.absolute())
        (folder / CONFIGURATION).write_text(machine.configuration(klog is not None))
        (folder / COMMANDS).write_text("c\n")  # its debugger would wait for input
        process = _Process(qemu.Ports(folder), folder, watch)
        try:
            in_time = process.wait(None)
            if not in_time:
                process.process.kill()
            process.drain()
            result = process.result(command, in_time, time.monotonic() - begun)
        finally:
            process.close()
    process.delivery.finish()
    return result
