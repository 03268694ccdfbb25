# SPDX-License-Identifier: BSD-2-Clause
"""What a recorded answer depends on (tests/answers.py): digests of sources and of the headers that they
include, variables of makefiles, and the versions of what is installed."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tests.making import ROOT

INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
#: The version that a glibc has in its archive.
GLIBC = re.compile(rb"GNU C Library \(([^)]*)\)")
#: Characters of a digest: enough that no two sources share one by chance.
DIGITS = 12


def digest(content: bytes | str) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()[:DIGITS]


def digest_of(path: Path) -> str:
    return digest(path.read_bytes())


def relative(path: Path) -> str:
    """A path as the tree's documents name it."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def with_headers(*sources: Path) -> list[Path]:
    """The files, and the tree's headers that they include, in quotes, at whatever depth."""
    found: dict[Path, None] = {}
    left = list(sources)
    while left:
        path = left.pop()
        if path in found:
            continue
        found[path] = None
        for name in INCLUDE.findall(path.read_bytes()):
            places = (path.parent / name.decode(), ROOT / name.decode())
            left += [place.resolve() for place in places if place.is_file()][:1]
    return sorted(found)


def variables(makefile: Path, names: Iterable[str]) -> str:
    """What a makefile sets these variables to, unexpanded, so that no machine's paths are in it. ValueError
    if it does not set one."""
    text = re.sub(r"\s*\\\n\s*", " ", makefile.read_text(encoding="utf-8"))
    values = []
    for name in names:
        found = re.search(rf"^{re.escape(name)}\s*:?=\s*(.*)$", text, re.MULTILINE)
        if found is None:
            raise ValueError(f"{relative(makefile)} does not set {name}")
        values.append(" ".join(found[1].split()))
    return " | ".join(values)


@cache
def version_of(command: str) -> str | None:
    """The first line that a compiler says of its version; None if it is not installed."""
    if shutil.which(command) is None:
        return None
    done = subprocess.run([command, "--version"], capture_output=True, text=True, timeout=60)
    return done.stdout.partition("\n")[0] or None


@cache
def glibc_of(compiler: str) -> str | None:
    """The version of the static glibc that a compiler links; None without one."""
    if shutil.which(compiler) is None:
        return None
    words = [compiler, "-print-file-name=libc.a"]
    archive = Path(subprocess.run(words, capture_output=True, text=True, timeout=60).stdout.strip())
    found = GLIBC.search(archive.read_bytes()) if archive.is_file() else None
    return found[1].decode() if found else None


@cache
def package_version(package: str) -> str | None:
    """The version of an installed package of Debian's; None if it is not installed."""
    if shutil.which("dpkg-query") is None:
        return None
    words = ["dpkg-query", "--show", "--showformat=${db:Status-Status} ${Version}", package]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    status, _, version = done.stdout.partition(" ")
    return version if done.returncode == 0 and status == "installed" else None
