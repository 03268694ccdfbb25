# SPDX-License-Identifier: BSD-2-Clause
"""Images that boot: GRUB, the kernel by multiboot2, and a boot module for each entry of the menu. For
boot/make-iso, and for machines that have no other way to a kernel (tools/bochs)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from qemu import RunnerError

#: What makes the image, and the packages that bring it (ports/deps.sh installs them).
TOOLS = {"grub-mkrescue": "grub-common", "xorriso": "xorriso", "mformat": "mtools"}
GRUB = Path(os.environ.get("GRUB_LIBRARY") or "/usr/lib/grub")
PORTS = ("com1", "com2", "com3", "com4")
SPEED_MAX = 115200
PLATFORMS = {"i386-pc": "grub-pc-bin", "x86_64-efi": "grub-efi-amd64-bin"}


class WrongInput(RunnerError):
    """Something that was handed in is wrong; the text says what in one line."""


class Failure(RunnerError):
    """The image could not be made; the text says why in one line."""


def check_tools(platforms: Iterable[str] = tuple(PLATFORMS)) -> None:
    absent = {tool: package for tool, package in TOOLS.items() if shutil.which(tool) is None}
    absent |= {
        f"{GRUB / platform}/multiboot2.mod": PLATFORMS[platform]
        for platform in platforms
        if not (GRUB / platform / "multiboot2.mod").is_file()
    }
    if absent:
        packages = " ".join(sorted(set(absent.values())))
        raise WrongInput(f"missing: {', '.join(absent)}; apt-get install {packages}")


def check_target(iso: Path) -> None:
    if iso.is_dir():
        raise WrongInput(f"{iso} is a folder; the image is to be a file")
    if iso.exists() and not iso.is_file():
        raise WrongInput(f"{iso} is no plain file; write the image to a file, and copy that")
    if not iso.parent.is_dir():
        raise WrongInput(f"no such folder: {iso.parent}")
    if not os.access(iso.parent, os.W_OK):
        raise WrongInput(f"{iso} cannot be written: the folder {iso.parent} is read-only")


def in_quotes(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def quoted(word: str) -> str:
    """A word for grub.cfg: in single quotes, where only the single quote itself is special. GRUB quotes it
    again, the way that the kernel's parser reads, when it hands the command line over."""
    # GRUB puts a word into quotes only where it sees a space in it, so these would not arrive as they are.
    if " " not in word and (not word or "\t" in word or "\n" in word):
        raise WrongInput(
            "GRUB cannot hand over an empty argument, nor one with a tab or a new line and no space: "
            f"{word!r}"
        )
    return in_quotes(word)


@dataclass(frozen=True)
class Entry:
    """One of the menu's: its title, and the kernel's command line, of words as GRUB reads them (`quoted`)."""

    title: str
    command_line: str


@dataclass(frozen=True)
class Serial:
    """GRUB's own serial console."""

    port: str = "com1"
    speed: int = SPEED_MAX

    def check(self) -> None:
        if self.port not in PORTS:
            raise WrongInput(f"no such serial port: {self.port}; a PC has {', '.join(PORTS)}")
        if self.speed < 300 or SPEED_MAX % self.speed:
            raise WrongInput(
                f"no speed of a serial port: {self.speed}; it divides {SPEED_MAX}: 115200, 57600, 38400, "
                "19200, 9600, …"
            )


def module_path(number: int) -> str:
    """Where the entry's program lies in the image."""
    return f"/boot/program{number + 1 if number else ''}"


def configuration(entries: Sequence[Entry], serial: Serial | None = None, timeout_s: int = 0) -> str:
    """grub.cfg: the first entry starts when the time is over; the program of the entry with number n is
    `module_path(n)`."""
    serial = serial or Serial()
    serial.check()
    keys = "terminal_input console serial\n" if len(entries) > 1 else ""
    text = f"""set timeout={timeout_s}
serial --unit={PORTS.index(serial.port)} --speed={serial.speed}
terminal_output console serial
{keys}# UEFI has no text mode to hand over: without a video driver GRUB would complain.
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
    """The line of a failed grub-mkrescue's output that says why."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"FAILURE|FATAL|SORRY|No space|too large|error:", line)]
    return (telling or lines or ["grub-mkrescue says nothing"])[0]


def make(
    iso: Path, kernel: Path, modules: Sequence[Path], grub_cfg: str, platform: str | None = None
) -> None:
    """Make the image beside its place, and put it there when it is whole; for all platforms, or for one."""
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
                raise Failure(f"{iso} is not made: {complaint(made.stdout.decode(errors='replace'))}")
            os.replace(part, iso)
    except OSError as error:
        raise Failure(f"{iso} is not made: {error.filename or iso}: {error.strerror}") from None
