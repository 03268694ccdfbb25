# SPDX-License-Identifier: BSD-2-Clause
"""The house of a cluster: namespaces for the network, the processes and the mounts, of a user who is root in
them; who makes it needs no right.

Its first process is `python3 tools/rack`; when that ends, Linux ends all others in there. It ends by itself
when the one that has made it has: the pipe between the two then has no writer. Should it not come to that
(SIGSTOP, say), `unshare`, which waits for it, dies with the maker (PR_SET_PDEATHSIG), and it dies with
`unshare` (--kill-child). Becoming another user clears that setting, so it is made after that step.
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
    """Somebody has ended the cluster from outside; the text says so in a line."""


_USER = ("unshare", "--map-root-user")
_HOUSE = ("unshare", "--net", "--pid", "--mount", "--fork", "--kill-child")


def check() -> None:
    """network.Unavailable where there can be no such house."""
    tried = subprocess.run([*_USER, *_HOUSE, "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        said = tried.stderr.strip().splitlines()
        raise network.Unavailable(
            f"unshare -rn --pid --mount does not work here: {said[0] if said else 'it says nothing'}"
        )


def run(words: Sequence[str]) -> int:
    """Run the cluster that these words ask for; its exit status. SIGTERM and SIGHUP end it. Killed
    where its first process was killed: what `unshare` ends with then says nothing."""
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
    """A shell in the house takes the terminal and cannot give it back: it does not see our process group."""
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
