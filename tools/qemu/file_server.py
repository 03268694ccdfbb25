# SPDX-License-Identifier: BSD-2-Clause
"""A file server for nodes in QEMU: diod (9P2000.L) on 127.0.0.1, which a node on QEMU's own network reaches
at 10.0.2.2, or at an address of the nodes' bridge. It runs as the calling user and serves only the given
folders.

diod(8): https://manpages.debian.org/bookworm/diod/diod.8.en.html
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from .errors import RunnerError
from .ports import free_port

PLACE_DEFAULT = "/mnt"
#: This host's address for a node on QEMU's own network.
HOST = "10.0.2.2"
START_SECONDS = 10.0
#: Debian's unprivileged user, to which diod maps all other users with -S.
NOBODY = 65534


def check_mounts(words: Sequence[str]) -> list[tuple[Path, str]]:
    """The folders and places of words DIR[:PLACE]. Raises RunnerError."""
    mounts = []
    for word in words:
        name, _, place = word.partition(":")
        folder = Path(name).resolve()
        if not name or not folder.is_dir():
            reason = f"there is no folder {name}" if name else "the folder's name is missing"
            raise RunnerError(f"--mount {word}: {reason}")
        place = place or PLACE_DEFAULT
        if not place.startswith("/") or any(c in f"{folder}{place}" for c in ':," \\'):
            raise RunnerError(
                f"--mount {word}: expected DIR or DIR:/PLACE, without blanks, commas, quotes and more colons"
            )
        mounts.append((folder, place))
    if len({place for _, place in mounts}) < len(mounts):
        raise RunnerError("--mount: each folder needs a different place: --mount DIR:/PLACE")
    return mounts


class FileServer:
    """diod on some folders, while a `with` block runs. `kill` and `start` inside the block model a server
    that fails and comes back at the same port. It listens at `address` of this machine; `host` is its address
    for nodes.

    `mapped`: this process is root of a user namespace. There diod does not start as root, because it may not
    set its groups. So it runs as another user in its own namespace, with the same rights to files.
    """

    def __init__(
        self, folders: Sequence[Path], address: str = "127.0.0.1", host: str = HOST, mapped: bool = False
    ) -> None:
        self.folders = [folder.resolve() for folder in folders]
        self.address, self.host = address, host
        self.mapped = mapped
        self.process: subprocess.Popen[bytes] | None = None
        self.port = free_port()

    def option(self, folder: Path, place: str = PLACE_DEFAULT) -> str:
        """The kernel's option that mounts a folder on a node."""
        return f"mount={place}:{self.host}:{self.port}:{folder.resolve()}"

    @staticmethod
    def program() -> str | None:
        """The path of diod; None if it is not installed."""
        return shutil.which("diod", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")

    def start(self) -> None:
        """Start it; it listens when this returns. RunnerError if it does not."""
        diod = self.program()
        if diod is None:
            raise RunnerError("diod, which mounts need, is not installed; ports/deps.sh cluster installs it")
        command = [diod, "-f", "-n", "-c", "/dev/null", "-l", f"{self.address}:{self.port}"]
        command += ["-L", "/dev/null"]
        if self.mapped:
            command = ["unshare", f"--map-user={NOBODY}", *command, "-S"]
        else:
            command += ["-N", *(["-u", str(os.getuid())] if os.getuid() else [])]
        for folder in self.folders:
            command += ["-e", str(folder)]
        # SIGPIPE stays ignored, as in this process and in systemd: otherwise diod dies when a client
        # disconnects.
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            restore_signals=False,
            start_new_session=True,
        )
        deadline = time.monotonic() + START_SECONDS
        while not self._listens():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                said = self.process.communicate()[1].decode(errors="replace").strip()
                raise RunnerError(f"diod does not start: {said or 'it prints no message'}")
            time.sleep(0.01)

    def _listens(self) -> bool:
        with socket.socket() as tried:
            return tried.connect_ex((self.address, self.port)) == 0

    def kill(self) -> None:
        """End it at once, with its connections."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def __enter__(self) -> FileServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
