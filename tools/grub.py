# SPDX-License-Identifier: BSD-2-Clause
"""What images (iso.py) and trees for network boot (pxe.py) have in common: where GRUB is, how a word is
written in its configuration, and its serial console."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from qemu import RunnerError

GRUB = Path(os.environ.get("GRUB_LIBRARY") or "/usr/lib/grub")
PORTS = ("com1", "com2", "com3", "com4")
SPEED_MAX = 115200
PLATFORMS = {"i386-pc": "grub-pc-bin", "x86_64-efi": "grub-efi-amd64-bin"}


class WrongInput(RunnerError):
    """Something that was handed in is wrong; the text says what in one line."""


class Failure(RunnerError):
    """The image could not be made; the text says why in one line."""


def check_tools(tools: Mapping[str, str], platforms: Iterable[str] = tuple(PLATFORMS)) -> None:
    """RunnerError that names what is missing of the tools and of GRUB's platforms, and the packages."""
    absent = {tool: package for tool, package in tools.items() if shutil.which(tool) is None}
    absent |= {
        f"{GRUB / platform}/multiboot2.mod": PLATFORMS[platform]
        for platform in platforms
        if not (GRUB / platform / "multiboot2.mod").is_file()
    }
    if absent:
        packages = " ".join(sorted(set(absent.values())))
        raise WrongInput(f"missing: {', '.join(absent)}; apt-get install {packages}")


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

    def commands(self, keys: bool) -> str:
        """GRUB's commands for it; with `keys`, it listens there, too."""
        text = f"serial --unit={PORTS.index(self.port)} --speed={self.speed}\n"
        return text + "terminal_output console serial\n" + ("terminal_input console serial\n" if keys else "")

    def kernel_options(self) -> list[str]:
        return [f"console={self.port},{self.speed}"]
