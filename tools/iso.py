# SPDX-License-Identifier: BSD-2-Clause
"""Bootable images: GRUB, the kernel (multiboot2), and a boot module for each entry of the menu. For
boot/make-iso, and for machines that cannot load a kernel in another way (tools/bochs)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import grub
from grub import GRUB, PLATFORMS, SPEED_MAX, Failure, Serial, WrongInput, in_quotes, quoted

__all__ = [
    "SPEED_MAX",
    "Entry",
    "Failure",
    "Serial",
    "WrongInput",
    "check_target",
    "check_tools",
    "configuration",
    "make",
    "quoted",
]

#: Programs that make the image, and their packages (ports/deps.sh installs them).
TOOLS = {"grub-mkrescue": "grub-common", "xorriso": "xorriso", "mformat": "mtools"}


def check_tools(platforms: Iterable[str] = tuple(PLATFORMS)) -> None:
    grub.check_tools(TOOLS, platforms)


def check_target(iso: Path) -> None:
    if iso.is_dir():
        raise WrongInput(f"{iso} is a folder; the image must be a file")
    if iso.exists() and not iso.is_file():
        raise WrongInput(f"{iso} is not a regular file; write the image to a file, and copy that")
    if not iso.parent.is_dir():
        raise WrongInput(f"no such folder: {iso.parent}")
    if not os.access(iso.parent, os.W_OK):
        raise WrongInput(f"cannot write {iso}: the folder {iso.parent} is read-only")


@dataclass(frozen=True)
class Entry:
    """An entry of the menu: its title, and the kernel's command line, with words in GRUB's quotes
    (`quoted`)."""

    title: str
    command_line: str


def module_path(number: int) -> str:
    """The path in the image of an entry's program."""
    return f"/boot/program{number + 1 if number else ''}"


def configuration(entries: Sequence[Entry], serial: Serial | None = None, timeout_s: int = 0) -> str:
    """The text of grub.cfg. The first entry starts after the time-out. The program of entry n is
    `module_path(n)`."""
    serial = serial or Serial()
    serial.check()
    commands = serial.commands(keys=len(entries) > 1)
    text = f"""set timeout={timeout_s}
{commands}# UEFI has no text mode to hand over: without a video driver GRUB would complain.
if [ "$grub_platform" = efi ]; then insmod all_video; fi
"""
    for number, entry in enumerate(entries):
        text += f"""menuentry {in_quotes(entry.title)} {{
    multiboot2 /boot/tacet.elf {entry.command_line}
    module2 {module_path(number)}
    # The kernel's header has asked for a framebuffer; a BIOS has a text mode.
    if [ "$grub_platform" = pc ]; then set gfxpayload=text; fi
    boot
}}
"""
    return text


def complaint(log: str) -> str:
    """The line in a failed grub-mkrescue's output that says why."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"FAILURE|FATAL|SORRY|No space|too large|error:", line)]
    return (telling or lines or ["no message from grub-mkrescue"])[0]


def make(
    iso: Path, kernel: Path, modules: Sequence[Path], grub_cfg: str, platform: str | None = None
) -> None:
    """Make the image, for all platforms or for one. It appears in its place when it is complete. Raises
    Failure."""
    only = [] if platform is None else ["-d", str(GRUB / platform)]
    try:
        with (
            tempfile.TemporaryDirectory(prefix="tacet-iso-") as folder,
            tempfile.TemporaryDirectory(prefix=f".{iso.name[:100]}-", dir=iso.parent) as beside,
        ):
            content, part = Path(folder), Path(beside) / "image"
            (content / "boot" / "grub").mkdir(parents=True)
            shutil.copyfile(kernel, content / "boot" / "tacet.elf")
            for number, module in enumerate(modules):
                shutil.copyfile(module, content / module_path(number).lstrip("/"))
            (content / "boot" / "grub" / "grub.cfg").write_text(grub_cfg, errors="surrogateescape")
            made = subprocess.run(
                ["grub-mkrescue", *only, "-o", part, content],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            if made.returncode != 0 or not part.is_file():
                raise Failure(f"cannot make {iso}: {complaint(made.stdout.decode(errors='replace'))}")
            os.replace(part, iso)
    except OSError as error:
        raise Failure(f"cannot make {iso}: {error.filename or iso}: {error.strerror}") from None
