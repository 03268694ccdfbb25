# SPDX-License-Identifier: BSD-2-Clause
"""Makes what tests need, when a test needs it, one at a time: pytest's workers run side by side, and two
makes of one target disturb each other. What make says is shown while it works. It ends when the process of
the test ends, however that ends.

With TACET_BUILT in the environment, `make test-build` has run just before (tests/run.py): make is not asked
again about what is in its lists, build/test-built/ARCH.
"""

from __future__ import annotations

import fcntl
import functools
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: How long make's children may take to end after SIGTERM.
GRACE_S = 5.0


def made(*targets: str, seconds: float = 900) -> None:
    """Makes sure that the targets exist and are up to date. AssertionError with what make said. Asks make
    once in a process for each target: sources do not change while tests run."""
    once(tuple(targets), seconds)


@functools.cache
def once(targets: tuple[str, ...], seconds: float) -> None:
    if os.environ.get("TACET_BUILT") and in_lists(targets):
        return
    with alone():
        status, said = run(["make", "-s", "--no-print-directory", "-j2", *targets], seconds)
    assert status == 0, f"build failed: make {' '.join(targets)}: {said[-6000:]}"


@contextmanager
def alone() -> Iterator[None]:
    """Keeps other workers from making anything meanwhile."""
    (ROOT / "build").mkdir(exist_ok=True)
    with (ROOT / "build" / ".making").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def in_lists(targets: tuple[str, ...]) -> bool:
    """Whether `make test-build` has made these targets."""
    words = dict(target.split("=", 1) for target in targets if "=" in target)
    arch = words.pop("ARCH", "x86_64")
    return not words and {target for target in targets if "=" not in target} <= listed(arch)


@functools.cache
def listed(arch: str) -> frozenset[str]:
    """What `make test-build` has made for an architecture, files and names of goals."""
    path = ROOT / "build" / "test-built" / arch
    return frozenset(path.read_text().split()) if path.is_file() else frozenset()


def shown() -> Callable[[str], object]:
    """Writes to the terminal that tests/conftest.py has found before pytest captured the output."""
    try:
        return open(os.environ["TACET_SHOWN"], "a", buffering=1).write
    except (KeyError, OSError):
        return sys.stderr.write


def run(command: list[str], seconds: float) -> tuple[int | None, str]:
    """Runs a command; returns its status and output, which is shown line by line. None if the time was over.
    The command ends with this process: the guard below holds one end of a pipe and sees the other one
    close."""
    write = shown()
    watched, held = os.pipe()
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).resolve()), str(watched), *command],
        cwd=ROOT,
        # A make around the tests must not pass its job server on.
        env={k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=(watched,),
        start_new_session=True,
    )
    os.close(watched)
    said: list[str] = []
    deadline = time.monotonic() + seconds
    try:
        assert process.stdout
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while selector.select(max(0.0, deadline - time.monotonic())):
                if not (taken := os.read(process.stdout.fileno(), 1 << 16)):
                    break
                said.append(taken.decode(errors="replace"))
                write(said[-1])
            else:
                return None, "".join(said) + f"\nno end within {seconds:g} s"
        return process.wait(), "".join(said)
    finally:
        os.close(held)
        process.wait()


def guard(watched: int, command: list[str]) -> int:
    """Runs a command; ends it and all its children when the parent has closed the pipe's other end. This
    process leads their process group."""
    process = subprocess.Popen(command)
    os.set_blocking(watched, False)
    with selectors.DefaultSelector() as selector:
        selector.register(watched, selectors.EVENT_READ)
        selector.register(ended := os.pidfd_open(process.pid), selectors.EVENT_READ)
        keys = {key.fd for key, _ in selector.select()}
    if ended in keys:
        return process.wait()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.killpg(0, signal.SIGTERM)
    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        pass
    os.killpg(0, signal.SIGKILL)
    return 1


if __name__ == "__main__":
    sys.exit(guard(int(sys.argv[1]), sys.argv[2:]))
