# SPDX-License-Identifier: BSD-2-Clause
"""The house of a cluster: namespaces for the network, processes and mounts, in which the user is root. Making
it needs no privilege.

Its first process is `python3 tools/rack`; when it ends, Linux ends all other processes in the house. It ends
when the process that made the house has ended: the pipe between the two then has no writer. If it cannot
notice that (after SIGSTOP, for example), it is killed: `unshare`, which waits for it, dies with the maker
(PR_SET_PDEATHSIG), and it dies with `unshare` (--kill-child). A change of the user clears PR_SET_PDEATHSIG,
so it is set after that.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import network

INSIDE = Path(__file__).resolve().parent


class Killed(Exception):
    """The cluster was killed from outside; the text says so in a line."""


_USER = ("unshare", "--map-root-user")
_HOUSE = ("unshare", "--net", "--pid", "--mount", "--fork", "--kill-child")


def check() -> None:
    """network.Unavailable if this machine does not allow such namespaces."""
    tried = subprocess.run([*_USER, *_HOUSE, "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        said = tried.stderr.strip().splitlines()
        raise network.Unavailable(
            f"unshare -rn --pid --mount does not work here: {said[0] if said else 'it says nothing'}"
        )


def run(words: Sequence[str]) -> int:
    """Run the cluster that these words ask for; returns its exit status. SIGTERM and SIGHUP end it. Raises
    Killed if its first process was killed: the status of `unshare` is then meaningless."""
    end, ours = os.pipe()
    told, tell = os.pipe()
    inside = [sys.executable, str(INSIDE), str(end), str(tell), *words]
    with _terminal_kept():
        process = subprocess.Popen(
            [*_USER, "setpriv", "--pdeathsig", "KILL", *_HOUSE, *inside], pass_fds=[end, tell]
        )
        os.close(end)
        os.close(tell)
        ended_by = 0

        def leave(number: int, _frame: object) -> None:
            nonlocal ended_by
            if not ended_by:
                ended_by = number
                os.close(ours)

        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to the other process, too
        signal.signal(signal.SIGTERM, leave)
        signal.signal(signal.SIGHUP, leave)
        status = process.wait()
    if ended_by:
        return 128 + ended_by
    if not os.read(told, 1):
        raise Killed("the cluster's first process has been killed, and all of the cluster with it")
    return status


@contextmanager
def _terminal_kept() -> Iterator[None]:
    """Give the terminal back to our process group: a shell in the house takes it, and cannot see our
    group."""
    try:
        before = os.tcgetpgrp(0)
    except OSError:
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        try:
            os.tcsetpgrp(0, before)
        except OSError:
            pass  # the terminal has gone
