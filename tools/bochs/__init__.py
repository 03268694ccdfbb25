# SPDX-License-Identifier: BSD-2-Clause
"""Run programs on nodes in Bochs, a second machine beside QEMU's: with an x2APIC, a TSC deadline and AVX-512,
which QEMU's software CPUs do not have. It computes slower, about 50 million instructions a second.

`run_bochs` is to Bochs what `qemu.run_tacet` is to QEMU, with the same records of a program, a node and who
watches, and the same result; machine.py describes the machine.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
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
    Machine and qemu.Watch. The program's input is empty: RunnerError for another one."""
    node, program, machine, watch = qemu.split(
        {"app": app, "args": args, **settings}, qemu.TacetNode, qemu.Program, Machine, qemu.Watch
    )
    if program.stdin is not None:
        raise qemu.RunnerError("a program in Bochs has no standard input")
    qemu.check_program(app)
    machine.check()
    without_input = replace(node, options=f"{node.options} stdin_bytes=0".strip())
    prepared = without_input.prepare(program, qemu.Machine(cpus=machine.cpus, memory=machine.memory))
    assert prepared.boot is not None
    command = _shown(app, machine, node, program)
    result = run(machine, prepared.boot, watch, node.klog, command)
    result.kernel = node.kernel_file()
    return result
