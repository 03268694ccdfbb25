# SPDX-License-Identifier: BSD-2-Clause
"""Finds the QEMU for a machine, and its version. The accelerator is always TCG: only there the clock is
exact."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess

from . import architectures, paths
from .errors import RunnerError


def qemu_binary(which: str = "system", arch: str = architectures.DEFAULT) -> str:
    """The QEMU to use: `system` is the installed one, `newest` the unpacked QEMU 10 if there is one.
    Raises RunnerError."""
    name = architectures.named(arch).emulator
    folder = "qemu10" if arch == architectures.DEFAULT else f"qemu10-{arch}"
    unpacked = paths.BUILD / folder / "bin" / name
    if which == "newest" and unpacked.exists():
        return str(unpacked)
    if which not in ("system", "newest"):
        raise RunnerError(f"no such QEMU: {which}; it is system or newest")
    installed = shutil.which(name)
    if installed is None:
        raise RunnerError(f"{name} is not installed (ports/deps.sh run, or run-ppc64)")
    return installed


@functools.cache
def qemu_major(binary: str) -> int:
    """The first number of a QEMU's version."""
    output = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=30).stdout
    version = re.search(r"version (\d+)", output)
    if version is None:
        raise RunnerError(f"{binary} --version prints no version")
    return int(version[1])
