# SPDX-License-Identifier: BSD-2-Clause
"""tacet-launchd on this machine, for its tests."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests import waiting
from tests.keys import key_write, node_lines
from tests.launch_client import LIMIT_S, Control, Job
from tests.making import ROOT

LAUNCHD = ROOT / "build/service/tacet-launchd"
BUSYBOX = "/bin/busybox"


class Daemon:
    """tacet-launchd on a free port of 127.0.0.1, with keys made of the tests' master key unless others are
    given."""

    def __init__(self, *words: str | Path, before: Sequence[str] = (), **popen: Any) -> None:
        self.keys = Path(tempfile.mkdtemp())
        if "--key" not in words and not before:
            words = (*words, "--key", key_write(self.keys / "n1", node_lines("n1")))
        command = [*before, LAUNCHD, "--port", "0", "--address", "127.0.0.1", "--name", "n1", *words]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **popen)
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        found = re.search(r"at port (\d+)", line)
        assert found, line
        self.node = ("127.0.0.1", int(found[1]))

    def shell(self, script: str, **settings: object) -> Job:
        return Job(self.node, BUSYBOX, ["sh", "-c", script], **settings)

    def children(self) -> list[int]:
        """Its own, which is where all end that have lost their parent."""
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == self.process.pid:
                found.append(int(stat.parent.name))
        return found

    def descriptors(self) -> list[str]:
        return sorted(os.listdir(f"/proc/{self.process.pid}/fd"))

    def wait_idle(self) -> None:
        """Until it would take a job."""

        def is_idle() -> bool:
            control = Control(self.node)
            control.close()
            return control.fields["state"] == "idle"

        waiting.until(is_idle, "the state idle", LIMIT_S)

    def close(self) -> None:
        self.process.terminate()
        _, said = self.process.communicate(timeout=LIMIT_S)
        shutil.rmtree(self.keys)
        assert self.process.returncode == 0, said
