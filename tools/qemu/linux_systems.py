# SPDX-License-Identifier: BSD-2-Clause
"""The differences between Linux nodes of the architectures, in one record each: Debian's kernels, the busybox
of the first process, and Linux's names of the serial ports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from . import architectures, paths
from .errors import RunnerError


@dataclass(frozen=True)
class LinuxSystem:
    """Linux on one architecture.

    flavours   by the node's variant: the flavour for ports/linux/fetch.sh, and the folder of build/ for it
    absent     by variants that this architecture lacks: why
    busybox    a static busybox
    brings     the command that gets it
    terminals  Linux's names of the first three serial ports: console, standard output, standard error
    options    QEMU's options in addition to those for Tacet
    """

    flavours: Mapping[str, tuple[str, str]]
    absent: Mapping[str, str]
    busybox: Path
    brings: str
    terminals: tuple[str, str, str]
    options: tuple[str, ...]

    def folder(self, variant: str) -> Path:
        """The folder of this variant's kernel and modules. RunnerError if there is no such variant."""
        if variant not in self.flavours:
            raise RunnerError(self.absent.get(variant, f"no such Linux: {variant}"))
        return paths.BUILD / self.flavours[variant][1]

    def kernel_fetch(self, variant: str) -> str:
        """The command that gets this variant's kernel."""
        flavour, _ = self.flavours[variant]
        return "ports/linux/fetch.sh" if flavour == "stock" else f"ports/linux/fetch.sh build {flavour}"


SYSTEMS = {
    "x86_64": LinuxSystem(
        flavours={"stock": ("stock", "linux"), "tuned": ("stock", "linux"), "rt": ("rt", "linux-rt")},
        absent={},
        busybox=paths.BUSYBOX,
        brings="ports/deps.sh run",
        terminals=("ttyS0", "ttyS1", "ttyS2"),
        options=(),
    ),
    "ppc64": LinuxSystem(
        flavours={"stock": ("ppc64", "linux-ppc64")},
        absent={
            "tuned": "a tuned Linux needs a second CPU, and no device of QEMU's pseries bounds the turns "
            "that two take on one clock",
            "rt": "Debian has no Linux with PREEMPT_RT for POWER",
        },
        busybox=paths.BUILD / "ppc64" / "busybox",
        brings="ports/busybox-ppc64/fetch.sh build",
        terminals=("hvc0", "hvc1", "hvc2"),
        # A POWER9 flushes its cache by one instruction. If the machine does not offer it, Linux uses a loop
        # at each entry, which makes its calls 2.7 times as long. QEMU warns that the instruction has no
        # effect here.
        options=(
            *("-machine", "cap-cfpc=workaround,cap-sbbc=workaround,cap-ibs=workaround,cap-ccf-assist=on"),
        ),
    ),
}


def system_of(arch: str) -> LinuxSystem:
    return SYSTEMS[architectures.named(arch).name]
