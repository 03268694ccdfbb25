# SPDX-License-Identifier: BSD-2-Clause
"""Run programs on nodes in QEMU, for tools/run, the tests and the benchmarks.

`run_tacet` runs a program on a Tacet node, `run_linux` runs the same file on a Linux node: the same machine,
CPU, memory and serial ports. `run_machine` starts a machine that finds its kernel on a disk. All three wait
until the machine switches itself off, within a time limit, and return a `Result`. `RunnerError` says why a
run cannot begin.

A run is described by a few small records. Each keyword of the three functions is a field of one of them:

    Machine              CPUs, memory, clock, devices, which QEMU      machine.py, network.py
    Program              file, arguments, environment, input, files    program.py
    TacetNode, LinuxNode kernel, its options, flight log               tacet.py, linux.py
    Watch                time limit, sinks for output as it comes      emulator.py

A machine that exceeds its time limit is examined before it is ended (postmortem.py): the result says where
its CPUs were, and has the flight log of a Tacet node.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .emulator import Emulator, Watch, temporary_folder
from .errors import RunnerError
from .file_server import FileServer
from .klog_file import log_missing
from .linux import LinuxNode, initramfs, machine_defaults
from .machine import DETERMINISTIC, DirectBoot, Machine, clock_options
from .network import Network
from .paths import BUILD, BUSYBOX, KERNEL, ROOT
from .ports import free_port
from .postmortem import examine_tacet
from .process import Sink, run
from .program import Program, check_program, find_program
from .report import failure_of, panic_of, with_names
from .result import Outcome, Result, parse_end
from .settings import split
from .sizes import MIB, parse_size, size_text
from .streams import Ports
from .tacet import TacetNode, quote, tacet_command_line, words_of
from .version import qemu_binary, qemu_major

__all__ = [
    "BUILD",
    "BUSYBOX",
    "DETERMINISTIC",
    "KERNEL",
    "MIB",
    "ROOT",
    "DirectBoot",
    "Emulator",
    "FileServer",
    "LinuxNode",
    "Machine",
    "Network",
    "Outcome",
    "Ports",
    "Program",
    "Result",
    "RunnerError",
    "Sink",
    "TacetNode",
    "Watch",
    "check_program",
    "clock_options",
    "failure_of",
    "find_program",
    "free_port",
    "initramfs",
    "log_missing",
    "panic_of",
    "parse_end",
    "parse_size",
    "qemu_binary",
    "qemu_major",
    "quote",
    "run",
    "run_linux",
    "run_machine",
    "run_tacet",
    "size_text",
    "split",
    "tacet_command_line",
    "temporary_folder",
    "with_names",
    "words_of",
]


def run_tacet(app: Path | None, args: Sequence[str] = (), **settings: Any) -> Result:
    """Run a program on a Tacet node. `settings` are fields of TacetNode, Program, Machine and Watch."""
    node, program, machine, watch = split(
        {"app": app, "args": args, **settings}, TacetNode, Program, Machine, Watch
    )
    prepared = node.prepare(program, machine)
    kernel = node.kernel_file(machine.arch)
    examine = examine_tacet(kernel, program.app)
    feed = not node.input_is_empty(program) or "-append" in machine.qemu_options  # a line of the user's own
    result = run(prepared, watch, program.stdin, feed, examine)
    result.kernel = kernel
    return result


def run_linux(app: Path, args: Sequence[str] = (), **settings: Any) -> Result:
    """Run the same program on a Linux node. `settings` are fields of LinuxNode, Program, Machine and Watch.

    `stdin` is a file in the node's memory, empty if not given. CPUs, QEMU and the time limit have other
    defaults than on Tacet: `machine_defaults`.
    """
    given = {name: value for name, value in settings.items() if value is not None}
    defaults = {"time_limit": 120.0, **machine_defaults(settings.get("variant", "stock"))}
    node, program, machine, watch = split(
        {**defaults, "app": app, "args": args, **given}, LinuxNode, Program, Machine, Watch
    )
    return run(node.prepare(program, machine), watch)


def run_machine(qemu_options: Sequence[str], **settings: Any) -> Result:
    """Run a machine whose firmware finds the kernel on a disk or CD that `qemu_options` name. `settings` are
    fields of Machine and Watch."""
    machine, watch = split({"qemu_options": qemu_options, **settings}, Machine, Watch)
    return run(machine, watch)
