# SPDX-License-Identifier: BSD-2-Clause
"""A machine in Bochs, and its configuration.

The serial ports are used as in QEMU (tools/qemu/machine.py). Bochs cannot load a kernel itself, so GRUB
starts it from a CD. The program has no input, since a port that is a file has none.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import qemu

#: Files and programs that a machine needs, and their packages (ports/deps.sh test installs them).
BIOS = Path("/usr/share/bochs/BIOS-bochs-latest")
VGA_BIOS = Path("/usr/share/vgabios/vgabios.bin")
PACKAGES = {"bochs": "bochs", str(BIOS): "bochsbios", str(VGA_BIOS): "vgabios"}

CPUS_MAX = 8  # Bochs has timers for only a few more
MEMORY_MAX_MIB = 2048  # Bochs allocates it on the host

#: Names of files in a run's folder.
CONFIGURATION, COMMANDS, IMAGE, LOG, KLOG = "bochsrc", "commands", "image.iso", "log", "klog"

#: 2026-01-01, as for deterministic machines in QEMU.
BATTERY_CLOCK_S = 1767225600


@dataclass(frozen=True)
class Machine:
    """One virtual computer.

    cpus    virtual CPUs memory  a size in QEMU's form: 256M, 2G model   Bochs's model of the CPU ips
    instructions that each CPU executes in a second of the machine's own time; also the rate of its TSC.
            Time is a function of the instructions: Bochs is configured to ignore the host's clock
    """

    cpus: int = 1
    memory: str = "256M"
    model: str = "corei7_skylake_x"
    ips: int = 100_000_000

    def memory_mib(self) -> int:
        return (qemu.parse_size(self.memory) or 0) // qemu.MIB

    def check(self) -> None:
        """RunnerError if Bochs is not installed or cannot emulate this machine."""
        if absent := [what for what in PACKAGES if shutil.which(what) is None and not Path(what).is_file()]:
            packages = " ".join(PACKAGES[what] for what in absent)
            raise qemu.RunnerError(f"missing: {', '.join(absent)}; apt-get install {packages}")
        if not 1 <= self.cpus <= CPUS_MAX:
            raise qemu.RunnerError(f"--cpus takes 1 to {CPUS_MAX} with --bochs, not {self.cpus}")
        if self.memory_mib() > MEMORY_MAX_MIB:
            most = f"{MEMORY_MAX_MIB}M"
            raise qemu.RunnerError(f"--memory takes at most {most} with --bochs, not {self.memory}")

    def _cpu_options(self) -> str:
        # MONITOR of Bochs 2.7 makes all CPUs drop their translation of the monitored word's address, so that
        # it sees their stores. But it uses the physical address as the virtual one: if they differ, MWAIT may
        # sleep forever. As a no-operation MWAIT ends at once, which is allowed on any CPU.
        return f"reset_on_triple_fault=0, mwait_is_nop={int(self.cpus > 1)}"

    def configuration(self, has_klog: bool) -> str:
        """The bochsrc of a run. Paths in it are relative to the run's folder."""
        mib = self.memory_mib()
        ports = {number: f"{name}.out" for number, name in enumerate(qemu.Ports.NAMES, 1)}
        if has_klog:
            ports[4] = KLOG
        lines = [
            "plugin_ctrl: speaker=0",  # crashes on a host without sound
            "config_interface: textconfig",
            # The only display that needs no screen; no viewer has to connect.
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
            # For Bochs, switching the machine off is a panic; a panic ends Bochs.
            "panic: action=fatal",
            *(f"{kind}: action=ignore" for kind in ("error", "info", "debug")),
        ]
        return "".join(f"{line}\n" for line in lines)
