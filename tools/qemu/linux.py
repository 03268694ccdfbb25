# SPDX-License-Identifier: BSD-2-Clause
"""A Linux node: Debian's kernel, and an initramfs with busybox, the program, and a first process that runs
the program."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import cpio

from . import architectures, paths, turns, version
from .errors import RunnerError
from .linux_network import LinuxNetwork, network_of
from .linux_systems import LinuxSystem, system_of
from .machine import DirectBoot, Machine
from .program import Program
from .room import LINUX_ROOM, check_room, folder_bytes

# Options of the tuned Linux node, which keeps CPU 1 free for one program: no tick, no callbacks, no
# interrupts, no watchdog timers there. The tick can stop only with `tsc=reliable`: QEMU's CPU does not
# promise a constant TSC, and an unstable clock keeps the tick of a nohz_full CPU running.
_TUNED = (
    "nohz_full=1 isolcpus=nohz,domain,managed_irq,1 rcu_nocbs=1 rcu_nocb_poll irqaffinity=0"
    " tsc=reliable nowatchdog nosoftlockup mce=ignore_ce audit=0 skew_tick=1 workqueue.power_efficient=0"
)

#: A program's working directory, as on Tacet.
DIRECTORY_DEFAULT = "/tmp"

_INIT = """#!/bin/busybox sh
# The first process of a Linux node: run one program, report its status, switch the machine off.
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t sysfs sysfs /sys
$b mount -t devtmpfs devtmpfs /dev
$b mkdir /dev/shm
$b mount -t tmpfs tmpfs /dev/shm
$b mount -t tmpfs tmpfs /tmp
$b stty -F /dev/{stdout} 115200 raw -onlcr -echo
$b stty -F /dev/{stderr} 115200 raw -onlcr -echo
{network}{tuning}
cd {cwd} || {{
    $b printf '%s\\n' {no_folder}
    $b poweroff -f
}}
. /command </stdin >/dev/{stdout} 2>/dev/{stderr}
echo "linux: exit status=$?"
$b poweroff -f
"""

# CPU 0 computes, too: by `pause` or a halt it would give up its turn on the clock (turns.py). It starts
# later, because for a while after boot Linux patches its own code, with interrupts to all CPUs.
_NEIGHBOUR = "$b sleep 2\n$b taskset 1 $b sh -c 'while :; do :; done' &\n"

# The program's short turns begin with the program: a boot in turns of 1 µs takes QEMU over a minute.
_TURNS = """$b devmem {register:#x} 32 {period} || {{
    $b printf '%s\\n' 'linux: stop status=64 reason="the turns of its CPUs cannot be set: no /dev/mem"'
    $b poweroff -f
}}
"""

_TUNING = """
echo 1 >/sys/devices/virtual/workqueue/cpumask
echo 3600 >/proc/sys/vm/stat_interval
echo -1 >/proc/sys/kernel/sched_rt_runtime_us
for irq in /proc/irq/*/smp_affinity; do echo 1 >$irq; done 2>/dev/null
"""

Variant = Literal["stock", "tuned", "rt"]

#: The turns in which the tuned Linux boots.
BOOT_TURNS_NS = 1_000_000


def stock_options(arch: str = architectures.DEFAULT) -> str:
    """The beginning of Linux's command line."""
    return f"console={system_of(arch).terminals[0]} quiet"


def machine_defaults(variant: Variant) -> dict[str, Any]:
    """A machine's defaults. `tuned` needs a second CPU for the kernel's own work, and a QEMU that runs two
    CPUs under icount."""
    return {"cpus": 2, "qemu": "newest"} if variant == "tuned" else {"cpus": 1, "qemu": "system"}


@dataclass(frozen=True)
class LinuxNode:
    """The software of a Linux node.

    variant   `stock`: Debian's kernel, untouched, on one CPU. `rt`: the same with PREEMPT_RT. `tuned`: two
              CPUs, of which CPU 1 is kept free of the kernel's work; the program is bound to it. On POWER
              there is `stock` only (linux_systems.py says why)
    kernel    another kernel
    options   kernel options, passed unchanged
    nic       the module of its network card: e1000, e1000e, igb; None: that of the machine's `network`
    address   the card's "ADDRESS/BITS[,GATEWAY]", or `dhcp`; None: as the machine's `network` requires
    modules   further modules of the kernel: 9p, 9pnet_fd

    Its loopback is up. Under icount, several CPUs need QEMU 10: with 7.2, Linux hangs. The CPUs take turns on
    one clock. If the turns are bounded (turns.py), CPU 0 of `tuned` computes, and times on CPU 1 can be
    compared. Otherwise CPU 0's tick appears as lost time on CPU 1: count interrupts there, not gaps in time.
    """

    variant: Variant = "stock"
    kernel: Path | None = None
    options: str = ""
    nic: str | None = None
    address: str | None = None
    modules: Sequence[str] = ()

    def kernel_file(self, arch: str = architectures.DEFAULT) -> Path:
        """The kernel to boot; RunnerError if there is none."""
        system = system_of(arch)
        unpacked = system.folder(self.variant) / "vmlinux"
        kernel = self.kernel or (unpacked if unpacked.is_file() else unpacked.with_name("vmlinuz"))
        if not kernel.is_file():
            command = system.kernel_fetch(self.variant)
            raise RunnerError(f"there is no Linux kernel {kernel}; {command} gets it")
        return kernel

    def module_folder(self, arch: str = architectures.DEFAULT) -> Path:
        return system_of(arch).folder(self.variant) / "modules"

    def prepare(self, program: Program, machine: Machine) -> Machine:
        """The machine, ready to boot Linux and to run the program. RunnerError if something is missing."""
        system = system_of(machine.arch)
        kernel = self.kernel_file(machine.arch)
        program.check_files()
        binary = version.qemu_binary(machine.qemu, machine.arch)
        if machine.icount is not None and machine.cpus > 1 and version.qemu_major(binary) < 10:
            raise RunnerError("Linux with several CPUs and icount needs QEMU 10; ports/qemu/fetch.sh gets it")
        assert program.app is not None
        tuned = self.variant == "tuned"
        if program.files is not None:
            check_room(folder_bytes(program.files), machine.memory, LINUX_ROOM, copies=2)
        # The HPET is used for the turns.
        takes_turns = machine.takes_turns()
        # Turns shorter than this begin with the program.
        late_turns_ns = machine.turns_ns if tuned and takes_turns and machine.turns_ns < BOOT_TURNS_NS else 0
        network = network_of(self.nic, self.address, self.modules, machine.network)
        content = initramfs(
            program,
            tuned=tuned,
            neighbour=tuned and takes_turns,
            late_turns_ns=late_turns_ns,
            network=network,
            modules=self.module_folder(machine.arch),
            system=system,
        )
        check_room(len(content), machine.memory, LINUX_ROOM, copies=2)
        archive = paths.keep(f"{program.app.name}.cpio", content)
        words = [
            stock_options(machine.arch),
            _TUNED if tuned else "",
            "hpet=disable" if takes_turns else "",
            self.options,
        ]
        line = " ".join(filter(None, words))
        options = [*system.options, *machine.qemu_options]
        if late_turns_ns:
            machine = replace(machine, turns_ns=BOOT_TURNS_NS)
        return replace(machine, boot=DirectBoot(kernel, line, archive), qemu_options=options)


def initramfs(
    program: Program,
    *,
    tuned: bool,
    neighbour: bool = False,
    late_turns_ns: int = 0,
    network: LinuxNetwork = LinuxNetwork(),
    modules: Path = Path(),
    system: LinuxSystem = system_of(architectures.DEFAULT),
) -> bytes:
    """The Linux node's files: the program, Debian's busybox, and a first process that sets up the network,
    with modules from the folder `modules`, and runs the program. `neighbour`: CPU 0 computes at the same
    time. `late_turns_ns`: the CPUs take turns of this length from the program's start on; 0: unchanged."""
    if not system.busybox.is_file():
        raise RunnerError(f"there is no {system.busybox} ({system.brings})")
    app = program.app
    assert app is not None
    # env(1) finds the program in /bin and /usr/bin, so that argv[0] is its bare name, as on Tacet.
    name = app.name if "PATH" not in program.env else f"/usr/bin/{app.name}"
    words = ["/bin/busybox", "env", "-i", *(f"{k}={v}" for k, v in program.env.items()), name, *program.args]
    if tuned:
        words = ["/bin/busybox", "taskset", "2", *words]
    cwd = program.cwd or DIRECTORY_DEFAULT
    escaped = cwd.replace("\\", "\\\\").replace('"', '\\"')
    no_folder = f'linux: stop status=64 reason="cwd={escaped}: there is no such folder"'
    _, stdout, stderr = system.terminals
    init = _INIT.format(
        network=network.commands(modules),
        tuning=(_TUNING if tuned else "")
        + (_NEIGHBOUR if neighbour else "")
        + (_TURNS.format(**turns.period_register(late_turns_ns)) if late_turns_ns else ""),
        cwd=shlex.quote(cwd),
        no_folder=shlex.quote(no_folder),
        stdout=stdout,
        stderr=stderr,
    )
    entries = cpio.entries_of(program.files) if program.files else []
    entries += [
        *network.entries(modules),
        *(cpio.Entry.folder(name) for name in ("proc", "sys", "dev", "tmp")),
        cpio.Entry.character_device("dev/console", 5, 1),
        cpio.Entry.file("bin/busybox", system.busybox.read_bytes(), executable=True),
        cpio.Entry.file(f"usr/bin/{app.name}", app.read_bytes(), executable=True),
        cpio.Entry.file("stdin", program.stdin.read_bytes() if program.stdin else b""),
        cpio.Entry.file("command", os.fsencode(shlex.join(words) + "\n")),
        cpio.Entry.file("init", init.encode(), executable=True),
    ]
    return cpio.pack(entries)
