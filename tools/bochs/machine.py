# SPDX-License-Identifier: BSD-2-Clause
"""A machine in Bochs: what it is made of, and the configuration that describes it.

Serial ports are those of a machine in QEMU (tools/qemu/machine.py). Bochs loads no kernel itself, so that
GRUB starts it from a CD, and gives the program no input: a port that is a file has none.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import qemu

#: What a machine needs, and the packages that bring it (ports/deps.sh test installs them).
BIOS = Path("/usr/share/bochs/BIOS-bochs-latest")
VGA_BIOS = Path("/usr/share/vgabios/vgabios.bin")
PACKAGES = {"bochs": "bochs", str(BIOS): "bochsbios", str(VGA_BIOS): "vgabios"}

CPUS_MAX = 8  # Bochs has timers for few more
MEMORY_MAX_MIB = 2048  # what Bochs takes from the host

#: Names in a run's folder.
CONFIGURATION, COMMANDS, IMAGE, LOG, KLOG = "bochsrc", "commands", "image.iso", "log", "klog"

#: 2026-01-01, the date of deterministic machines in QEMU, too.
BATTERY_CLOCK_S = 1767225600


@dataclass(frozen=True)
class Machine:
    """One virtual computer.

    cpus    virtual CPUs
    memory  a size as for QEMU: 256M, 2G
    model   Bochs's model of the CPU
    ips     instructions that each CPU executes in a second of the machine's own time, and so the rate of its
            TSC. Time is a function of the instructions: Bochs is told not to look at the host's clock
    """

    cpus: int = 1
    memory: str = "256M"
    model: str = "corei7_skylake_x"
    ips: int = 100_000_000

    def memory_mib(self) -> int:
        return (qemu.parse_size(self.memory) or 0) // qemu.MIB

    def check(self) -> None:
        """RunnerError where Bochs is not there, or cannot be such a machine."""
        if absent := [what for what in PACKAGES if shutil.which(what) is None and not Path(what).is_file()]:
            packages = " ".join(PACKAGES[what] for what in absent)
            raise qemu.RunnerError(f"missing: {', '.join(absent)}; apt-get install {packages}")
        if not 1 <= self.cpus <= CPUS_MAX:
            raise qemu.RunnerError(f"--cpus takes 1 to {CPUS_MAX} with --bochs, not {self.cpus}")
        if self.memory_mib() > MEMORY_MAX_MIB:
            most = f"{MEMORY_MAX_MIB}M"
            raise qemu.RunnerError(f"--memory takes at most {most} with --bochs, not {self.memory}")

    def _cpu_options(self) -> str:
        # MONITOR of Bochs 2.7 makes all CPUs forget how they translate the monitored word's address, so that
        # it sees their stores, but takes the physical address for the virtual one: where these differ, MWAIT
        # may sleep for ever. As a no-operation it ends at once, as it may on any CPU.
        return f"reset_on_triple_fault=0, mwait_is_nop={int(self.cpus > 1)}"

    def configuration(self, has_klog: bool) -> str:
        """The bochsrc of a run. Its files are named as seen from the run's folder."""
        mib = self.memory_mib()
        ports = {number: f"{name}.out" for number, name in enumerate(qemu.Ports.NAMES, 1)}
        if has_klog:
            ports[4] = KLOG
        lines = [
            "plugin_ctrl: speaker=0",  # on a host without sound it crashes
            "config_interface: textconfig",
            # The one display that needs no screen; nobody has to look at it.
            'display_library: rfb, options="timeout=0"',
            f"romimage: file={BIOS}",
            f"vgaromimage: file={VGA_BIOS}",
            f"cpu: model={self.model}, count={self.cpus}, ips={self.ips}, {self._cpu_options()}",
            f"clock: sync=none, time0={BATTERY_CLOCK_S}",
            f"memory: guest={mib}, host={mib}",
            "ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14",
            f"ata0-master: type=cdrom, path={IMAGE}, status=inserted",
            "boot: cdrom",
            *(f"com{number}: enabled=1, mode=file, dev={file}" for number, file in ports.items()),
            f"log: {LOG}",
            # To be switched off is a panic for Bochs, too; a panic ends it.
            "panic: action=fatal",
            *(f"{kind}: action=ignore" for kind in ("error", "info", "debug")),
        ]
        return "".join(f"{line}\n" for line in lines)
