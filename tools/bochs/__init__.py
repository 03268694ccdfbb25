# SPDX-License-Identifier: BSD-2-Clause
"""Run programs on nodes in Bochs, an alternative to QEMU: its CPUs have an x2APIC, a TSC deadline timer and
AVX-512, which QEMU's software CPUs lack. It is slower: about 50 million instructions a second.

`run_bochs` corresponds to `qemu.run_tacet`, with the same records Program, TacetNode and Watch, and the same
Result; machine.py describes the machine.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import qemu

from .machine import CPUS_MAX, Machine
from .process import run

__all__ = ["CPUS_MAX", "Machine", "run_bochs"]


def _shown(app: Path, machine: Machine, node: qemu.TacetNode, program: qemu.Program) -> list[str]:
    """The command that repeats a run."""
    options = ["--cpus", str(machine.cpus), "--memory", machine.memory]
    for pair in program.env.items():
        options += ["--env", "=".join(pair)]
    given = {
        "--files": program.files,
        "--cwd": program.cwd,
        "--service": shlex.join(node.service),
        "--options": node.options,
        "--kernel": node.kernel,
    }
    for option, value in given.items():
        options += [option, str(value)] if value else []
    return ["tools/run", "--bochs", *options, str(app), *program.args]


def run_bochs(app: Path, args: Sequence[str] = (), **settings: Any) -> qemu.Result:
    """Run a program on a Tacet node in Bochs. `settings` are fields of qemu.TacetNode, qemu.Program,
    Machine and qemu.Watch. The program's input must be empty. Raises RunnerError."""
    node, program, machine, watch = qemu.split(
        {"app": app, "args": args, **settings}, qemu.TacetNode, qemu.Program, Machine, qemu.Watch
    )
    if program.stdin is not None:
        raise qemu.RunnerError("programs in Bochs have no standard input")
    qemu.check_program(app)
    machine.check()
    prepared = node.prepare(program, qemu.Machine(cpus=machine.cpus, memory=machine.memory))
    assert prepared.boot is not None
    command = _shown(app, machine, node, program)
    result = run(machine, prepared.boot, watch, node.klog, command)
    result.kernel = node.kernel_file()
    return result
