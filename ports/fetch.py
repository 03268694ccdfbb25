#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Fetch the pinned foreign sources that a recipe names, and print where they lie.

    ports/fetch.py [--mirror URL]... [--retries N] PORT...

A recipe, ports/PORT/recipe, is text: `version V`, then `file PATH SHA256` for each file, PATH being its path
on a Debian mirror; `#` begins a comment. Files are kept in
${TACET_CACHE:-${XDG_CACHE_HOME:-~/.cache}/tacet}/PORT, so that later builds, and builds of other clones, need
no network. Mirrors are those of the machine's own apt configuration, tried in order; the bytes travel through
apt's own downloader, which knows the machine's proxies.

A file that differs from its recipe is refused, wherever it comes from: one error on stderr, status 1. Without
network, the error says which files are missing and where they may be put by hand.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

PORTS = Path(__file__).resolve().parent
DOWNLOADER = Path("/usr/lib/apt/apt-helper")


class FetchError(Exception):
    """What went wrong, in words for the person who runs the build."""


class OutOfReachError(FetchError):
    """No mirror has answered with the file; it may be brought by hand."""


@dataclass(frozen=True)
class PinnedFile:
    """One file of a recipe: its path on a Debian mirror and the sum that its bytes must have."""

    path: str
    sha256: str

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Recipe:
    version: str
    files: tuple[PinnedFile, ...]


def parse_recipe(text: str, where: str = "recipe") -> Recipe:
    """Read a recipe; `where` names it in errors."""
    version = ""
    files: list[PinnedFile] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        if words[0] == "version" and len(words) == 2:
            version = words[1]
        elif words[0] == "file" and len(words) == 3:
            sha256 = words[2].lower()
            if len(sha256) != 64 or set(sha256) - set("0123456789abcdef"):
                raise FetchError(f"{where}:{number}: not a sha256: {words[2]}")
            files.append(PinnedFile(words[1], sha256))
        else:
            raise FetchError(f"{where}:{number}: expected `version V` or `file PATH SHA256`: {line.strip()}")
    if not version or not files:
        raise FetchError(f"{where}: a recipe needs a version and at least one file")
    return Recipe(version, tuple(files))


def cache_folder() -> Path:
    """The cache, shared by all clones of one user."""
    if named := os.environ.get("TACET_CACHE"):
        return Path(named).absolute()
    if named := os.environ.get("XDG_CACHE_HOME") or os.environ.get("HOME"):
        return Path(named) / ("tacet" if os.environ.get("XDG_CACHE_HOME") else ".cache/tacet")
    raise FetchError("there is no HOME for the cache; name a folder with TACET_CACHE")


def debian_mirrors() -> list[str]:
    """URLs of the Debian archives that this machine's apt is configured for, in apt's order.

    Other archives cannot be recognised for certain; those that look like Debian's own come first.
    """
    fields = "$(CREATED_BY) $(COMPONENT) $(REPO_URI)"
    command = ["apt-get", "indextargets", "--no-release-info", "--format", fields]
    try:
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except FileNotFoundError as error:
        raise OutOfReachError("there is no apt here, whose mirrors would be asked") from error
    except (OSError, subprocess.CalledProcessError) as error:
        raise FetchError(f"cannot read apt's configuration ({error})") from error
    mirrors: list[str] = []
    for line in output.splitlines():
        created_by, component, uri = line.split(" ", 2)
        uri = uri.rstrip("/")
        is_main = created_by == "Packages" and component == "main" and not uri.endswith("-security")
        if is_main and uri not in mirrors:
            mirrors.append(uri)
    if not mirrors:
        raise OutOfReachError("apt's configuration names no mirror of Debian's main archive")
    return sorted(mirrors, key=lambda uri: not uri.endswith("/debian"))


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check(path: Path, pinned: PinnedFile, origin: str) -> None:
    """Refuse a file whose sum is not the recipe's."""
    actual = sha256_of(path)
    if actual != pinned.sha256:
        raise FetchError(
            f"wrong checksum: {pinned.name}\n  from      {origin}\n"
            f"  expected  {pinned.sha256}\n  actual    {actual}"
        )


def download(url: str, target: Path, retries: int) -> str | None:
    """Fetch one URL into `target`; None when it worked, else apt's reason."""
    settings = ["APT::Sandbox::User=", f"Acquire::Retries={retries}", "Acquire::http::Timeout=30"]
    options = [word for setting in settings for word in ("-o", setting)]
    try:
        done = subprocess.run(
            [str(DOWNLOADER), *options, "download-file", url, str(target)],
            capture_output=True,
            text=True,
            env=os.environ | {"LC_ALL": "C"},
        )
    except OSError as error:
        raise OutOfReachError(f"apt's downloader does not run: {error}") from error
    if done.returncode == 0 and target.is_file():
        return None
    reasons = [line[2:].strip() for line in (done.stdout + done.stderr).splitlines() if line.startswith("E:")]
    return reasons[0] if reasons else f"apt-helper ended with status {done.returncode}"


def fetch_file(pinned: PinnedFile, folder: Path, mirrors: list[str] | None, retries: int) -> Path:
    """The file in `folder`, taken from a mirror when it is not there yet. It appears whole or not at all."""
    kept = folder / pinned.name
    if kept.exists():
        check(kept, pinned, f"the cache: {kept} (remove it to fetch it again)")
        return kept
    folder.mkdir(parents=True, exist_ok=True)
    print(f"fetch.py: fetching {pinned.name} into {folder}", file=sys.stderr, flush=True)
    begun = time.monotonic()
    failures: list[str] = []
    for mirror in debian_mirrors() if mirrors is None else mirrors:
        url = f"{mirror.rstrip('/')}/{pinned.path}"
        with tempfile.TemporaryDirectory(prefix=".part-", dir=folder) as part:
            fresh = Path(part) / pinned.name
            if reason := download(url, fresh, retries):
                failures.append(f"  {url}\n    {reason}")
                continue
            check(fresh, pinned, url)
            fresh.replace(kept)
            took = time.monotonic() - begun
            print(f"  FETCHED {pinned.name} in {took:.0f} s", file=sys.stderr, flush=True)
            return kept
    raise OutOfReachError(f"cannot fetch {pinned.name}; no mirror had it:\n" + "\n".join(failures))


def by_hand(recipe: Recipe, folder: Path) -> str:
    """What the cache holds of a port, and what may be put there without this program."""
    lines = []
    for pinned in recipe.files:
        there = (folder / pinned.name).exists()
        missing = f"missing; a Debian mirror's {pinned.path}, sha256 {pinned.sha256}"
        lines.append(f"  {folder / pinned.name}: {'there' if there else missing}")
    return "\n".join(["without network, put there by hand what is missing:", *lines])


def fetch_port(
    port: str, mirrors: list[str] | None = None, retries: int = 3, ports: Path = PORTS
) -> list[Path]:
    """All files of a port, in the recipe's order; from apt's mirrors if none are given."""
    where = ports / port / "recipe"
    try:
        recipe = parse_recipe(where.read_text(), str(where))
    except OSError as error:
        raise FetchError(f"no such port: {where} ({error.strerror})") from error
    folder = cache_folder() / port
    try:
        return [fetch_file(pinned, folder, mirrors, retries) for pinned in recipe.files]
    except OutOfReachError as error:
        raise FetchError(f"{error}\n{by_hand(recipe, folder)}") from error
    except OSError as error:
        raise FetchError(
            f"the cache {folder} cannot be used: {error.strerror}; name another folder with TACET_CACHE"
        ) from error


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Fetch the pinned sources of ports into the cache, print their paths."
    )
    parser.add_argument("port", nargs="+", help="a folder of ports/ with a recipe, such as musl")
    mirror_help = "use this Debian mirror instead of apt's; may be repeated"
    parser.add_argument("--mirror", action="append", help=mirror_help)
    parser.add_argument("--retries", type=int, default=3, help="of each mirror (default: %(default)s)")
    parser.add_argument("--ports", type=Path, default=PORTS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    try:
        for port in arguments.port:
            for path in fetch_port(port, arguments.mirror, arguments.retries, arguments.ports):
                print(path)
    except FetchError as error:
        print(f"fetch.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("fetch.py: interrupted; the next call begins the file again", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
