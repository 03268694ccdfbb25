# SPDX-License-Identifier: BSD-2-Clause
"""The settings that tools/gdb passes to its modules in gdb, through the environment."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar


@dataclass(frozen=True)
class Session:
    """One session of the debugger.

    command   QEMU's command line, without serial ports and without a port for gdb
    program   the program's file, for its symbols
    folder    the folder for the node's output
    """

    VARIABLE: ClassVar[str] = "TACET_GDB_SESSION"

    command: list[str]
    program: str
    folder: str

    @staticmethod
    def received() -> Session:
        return Session(**json.loads(os.environ[Session.VARIABLE]))

    def output(self, name: str) -> Path:
        return Path(self.folder) / f"gdb.{name}"

    def outputs(self) -> list[Path]:
        """The files that the node and QEMU write."""
        return [self.output(name) for name in ("console", "stdout", "stderr", "qemu")]
