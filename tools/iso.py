# SPDX-License-Identifier: BSD-2-Clause
"""Images that boot: GRUB, the kernel by multiboot2, and a boot module. For boot/make-iso, and for machines
that have no other way to a kernel (tools/bochs)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from qemu import RunnerError

#: What makes the image, and the packages that bring it (ports/deps.sh installs them).
TOOLS = {"grub-mkrescue": "grub-common", "xorriso": "xorriso", "mformat": "mtools"}
GRUB = Path(os.environ.get("GRUB_LIBRARY") or "/usr/lib/grub")
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


def quoted(word: str) -> str:
    """A word for grub.cfg: in single quotes, where only the single quote itself is special. GRUB quotes it
    again, the way that the kernel's parser reads, when it hands the command line over."""
    # GRUB puts a word into quotes only where it sees a space in it, so these would not arrive as they are.
    if " " not in word and (not word or "\t" in word or "\n" in word):
        raise WrongInput(
            "GRUB cannot hand over an empty argument, nor one with a tab or a new line and no space: "
            f"{word!r}"
        )
    return "'" + word.replace("'", "'\\''") + "'"


def configuration(command_line: str) -> str:
    """grub.cfg, for a command line of words as GRUB reads them (`quoted`)."""
    return f"""set timeout=0
serial --unit=0 --speed=115200
terminal_output console serial
# UEFI has no text mode to hand over: without a video driver GRUB would complain.
if [ "$grub_platform" = efi ]; then insmod all_video; fi
menuentry Tacet {{
    multiboot2 /boot/tacet.elf {command_line}
    module2 /boot/program
    # The kernel's header has asked for a framebuffer; a BIOS has a text mode.
    if [ "$grub_platform" = pc ]; then set gfxpayload=text; fi
    boot
}}
"""


def complaint(log: str) -> str:
    """The line of a failed grub-mkrescue's output that says why."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"FAILURE|FATAL|SORRY|No space|too large|error:", line)]
    return (telling or lines or ["grub-mkrescue says nothing"])[0]


def make(iso: Path, kernel: Path, module: Path, grub_cfg: str, platform: str | None = None) -> None:
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
            shutil.copyfile(module, content / "boot" / "program")
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
