# SPDX-License-Identifier: BSD-2-Clause
"""A reader of the documents: has a tree of their own, built, and types what stands there.

The tree is a copy in build/documents/, so that readers run side by side and change nothing here. What is
built already is there, too, as hard links if no document has it built again. What runs leave (logs,
reports) is not there: a document that needs it says how it is made.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess

from blocks import ANY, ROOT, Block, Command, difference

from tests import making

#: What `make` builds, below build/: a reader has it, or gets it by the same make in some minutes.
LINKED = ("x86_64/musl", "x86_64/tests", "ppc64/musl", "ppc64/tests", "linux", "lwip", "bearssl", "qemu10")
COPIED = ("x86_64", "ppc64", "simulator", "host", "mpi-lite", "mpi-lite.flags")

#: Variables of the tests' own environment that a reader does not have.
NOT_A_READER_S = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "TACET_BUILD", "PYTHON")

#: Seconds by the wall clock, in which some commands make what takes half a minute on an idle machine.
TIME_LIMIT = 1200.0


class Reader:
    """A copy of the tree, and what was typed in it."""

    def __init__(self, name: str) -> None:
        self.root = ROOT / "build" / "documents" / name.replace("/", "-")
        self.said: dict[str, list[str]] = {}
        shutil.rmtree(self.root, ignore_errors=True)
        (self.root / "build").mkdir(parents=True)
        sources = [one for one in ROOT.iterdir() if one.name not in ("build", ".git")]
        subprocess.run(["cp", "-a", *sources, self.root], check=True)
        with making.alone():
            for part, how in [*((part, "-al") for part in LINKED), *((part, "-an") for part in COPIED)]:
                built, here = ROOT / "build" / part, (self.root / "build" / part).parent
                here.mkdir(exist_ok=True)
                if built.exists():
                    subprocess.run(["cp", how, built, here], check=True)

    def close(self) -> None:
        """Removes the tree, unless something went wrong: then it can be looked at."""
        if not any(self.said.values()):
            shutil.rmtree(self.root, ignore_errors=True)

    def type(self, command: str, time_limit: float = TIME_LIMIT) -> tuple[int, str]:
        """Runs a command; its status, and what a terminal would show."""
        environment = {k: v for k, v in os.environ.items() if k not in NOT_A_READER_S}
        environment |= {"LC_ALL": "C.UTF-8", "TERM": "dumb", "COLUMNS": "110"}
        process = subprocess.Popen(
            ["bash", "-c", command],
            cwd=self.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=time_limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            return 124, output.decode(errors="replace") + f"no end within {time_limit:g} s"
        return process.returncode, output.decode(errors="replace")

    def try_command(self, command: Command, time_limit: float) -> str:
        """A complaint, or "" if the command printed what is shown."""
        status, output = self.type(command.text, time_limit)
        complaint = difference(command, output)
        if not complaint and status != 0 and all(line.strip() == ANY for line in command.shown):
            return f"{command}\nended with status {status}, and the document does not show that:\n{output}"
        return complaint

    def read_block(self, block: Block, time_limit: float) -> list[str]:
        """Types a block's commands; the complaints about them."""
        complaints = [self.try_command(command, time_limit) for command in block.commands()]
        self.said[block.name] = [complaint for complaint in complaints if complaint]
        return self.said[block.name]
