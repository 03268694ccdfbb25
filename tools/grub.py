# SPDX-License-Identifier: BSD-2-Clause
"""The common part of images (iso.py) and folders for network boot (pxe.py): GRUB's location, quoting in its
configuration, and its serial console."""

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
    """An input is wrong; the text says what in one line."""


class Failure(RunnerError):
    """The image could not be made; the text says why in one line."""


def check_tools(tools: Mapping[str, str], platforms: Iterable[str] = tuple(PLATFORMS)) -> None:
    """WrongInput if tools or GRUB's platforms are missing; names them and their packages."""
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
    """A word for grub.cfg, in single quotes, in which only the single quote itself is special. GRUB quotes it
    again for the kernel's parser when it passes the command line. Raises WrongInput."""
    # GRUB quotes only words with a space. The kernel would not get an empty word, a tab or a new line as
    # given.
    if " " not in word and (not word or "\t" in word or "\n" in word):
        raise WrongInput(
            f"GRUB cannot pass an empty argument, or one with a tab or a new line but no space: {word!r}"
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
                f"not a serial port's speed: {self.speed}; it must divide {SPEED_MAX}: 115200, 57600, 38400, "
                "19200, 9600, …"
            )

    def commands(self, keys: bool) -> str:
        """GRUB's commands for it; with `keys`, GRUB also takes input from it."""
        text = f"serial --unit={PORTS.index(self.port)} --speed={self.speed}\n"
        return text + "terminal_output console serial\n" + ("terminal_input console serial\n" if keys else "")

    def kernel_options(self) -> list[str]:
        return [f"console={self.port},{self.speed}"]
