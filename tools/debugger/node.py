# SPDX-License-Identifier: BSD-2-Clause
"""The node that gdb debugs: a QEMU that is gdb's child.

This machine's kernel kills QEMU when gdb ends in any way. When the node switches itself off, QEMU keeps its
state (`-no-shutdown`) and reports SIGQUIT; gdb then says how the node ended, and its memory can still be
read. Continuing from there ends QEMU, since gdb would wait for it forever.
"""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
from pathlib import Path

import gdb

from debugger.session import Session
from qemu import parse_end

#: The signal that QEMU reports for a machine that has switched itself off.
OFF_SIGNAL = "SIGQUIT"
#: gdb's time limit for an answer of QEMU, in seconds.
ANSWER_S = 120


class Node:
    """At most one QEMU, and its end."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.process: subprocess.Popen[bytes] | None = None
        self.is_off = False
        gdb.events.stop.connect(self._on_stop)
        gdb.events.cont.connect(self._on_continue)
        gdb.events.before_prompt.connect(self._on_prompt)
        gdb.events.gdb_exiting.connect(self._on_exit)

    def start(self) -> None:
        """Start a node and connect gdb to it, after ending an earlier one. gdb.GdbError if that fails."""
        self.end()
        self.is_off = False
        with tempfile.TemporaryDirectory(prefix="tacet-gdb-") as folder:
            path = Path(folder) / "gdb"
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(str(path))
                listener.listen(1)
                self.process = self._spawn(listener.fileno())
            try:
                # By default gdb asks again after 2 s, and takes a late answer for the answer to its next
                # question.
                gdb.execute(f"set remotetimeout {ANSWER_S}")
                gdb.execute(f"target remote {path}", to_string=True)
            except gdb.error as error:
                raise gdb.GdbError(f"QEMU did not start: {self._complaint() or error}") from None

    def end(self) -> None:
        """End QEMU, if there is one."""
        if gdb.selected_inferior().pid:
            gdb.execute("disconnect", to_string=True)
        self._kill()

    def _kill(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            process.wait()

    def _spawn(self, listener: int) -> subprocess.Popen[bytes]:
        """Start QEMU, stopped before the first instruction. The terminal's interrupt key does not reach
        it."""
        ports = [
            word
            for name in ("console", "stdout", "stderr")
            for word in ("-serial", "file:" + str(self.session.output(name)).replace(",", ",,"))
        ]
        command = [
            *("setpriv", "--pdeathsig", "KILL", "--", *self.session.command, *ports),
            *("-S", "-no-shutdown", "-gdb", "chardev:gdb"),
            *("-chardev", f"socket,id=gdb,fd={listener},server=on,wait=off"),
        ]
        with open(self.session.output("qemu"), "wb") as log:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[listener],
                start_new_session=True,
            )

    def _complaint(self) -> str:
        """QEMU's own message: its first error line, or else its first line."""
        lines = self.session.output("qemu").read_text(errors="replace").splitlines() or [""]
        return next((line for line in lines if "qemu-system" in line), lines[0])

    def _last_line(self) -> str:
        """The console's line that says how the node has ended; "" if there is none."""
        text = self.session.output("console").read_text(errors="replace").replace("\r", "")
        if parse_end(text)[0] == "no-status":
            return ""
        return [line for line in text.splitlines() if line.startswith(("tacet: exit ", "tacet: stop "))][-1]

    def _end_text(self) -> str:
        """How a node that is off has ended."""
        shown = os.path.relpath(self.session.output("console"))
        last = self._last_line()
        if not last:
            return f"The node is off, and its console ({shown}) does not say why: a reset, or a triple fault."
        return f"The node has ended: {last}\nIts full console: {shown}."

    # ---- gdb's events ----

    def _on_stop(self, event: gdb.StopEvent) -> None:
        if isinstance(event, gdb.SignalEvent) and event.stop_signal == OFF_SIGNAL and not self.is_off:
            self.is_off = True
            gdb.write(
                f"\n{self._end_text()}\n"
                "Its memory and registers can be read; `tacet start` starts it again.\n"
            )

    def _on_continue(self, _: gdb.ContinueEvent) -> None:
        if self.is_off and self.process is not None:
            self._kill()
            gdb.write(f"{self._end_text()}\nIt cannot continue; `tacet start` starts it again.\n")

    def _on_prompt(self) -> None:
        if self.process is not None and self.process.poll() is not None:
            status, self.process = self.process.returncode, None
            # If a signal has ended it, its earlier messages are not the reason.
            said = (self._complaint() if status > 0 else "") or f"status {status}"
            gdb.write(f"QEMU has ended ({said}). `tacet start` starts the node again.\n")

    def _on_exit(self, _: object) -> None:
        self.end()
