# SPDX-License-Identifier: BSD-2-Clause
"""tools/cpio.py: archives are right, the same each time, and read by the cpio program too."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import cpio


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    top = tmp_path / "top"
    (top / "bin").mkdir(parents=True)
    (top / "empty").mkdir()
    (top / "bin" / "app").write_bytes(bytes(range(256)) * 3 + b"odd")
    (top / "bin" / "app").chmod(0o700)
    (top / "notes ä.txt").write_text("text")
    (top / "link").symlink_to("bin/app")
    return top


def test_what_is_packed_is_unpacked(folder: Path) -> None:
    entries = {entry.name: entry for entry in cpio.unpack(cpio.pack(cpio.entries_of(folder)))}
    assert list(entries) == ["bin", "bin/app", "empty", "link", "notes ä.txt"]
    assert entries["bin/app"].data == (folder / "bin" / "app").read_bytes()
    assert entries["bin/app"].mode == stat.S_IFREG | 0o755
    assert entries["notes ä.txt"].mode == stat.S_IFREG | 0o644
    assert entries["link"].data == b"bin/app"
    assert stat.S_ISDIR(entries["empty"].mode)


def test_times_and_owners_do_not_change_the_bytes(folder: Path) -> None:
    first = cpio.pack(cpio.entries_of(folder))
    os.utime(folder / "bin" / "app", (1, 1))
    (folder / "bin" / "app").chmod(0o755)
    assert cpio.pack(reversed(cpio.entries_of(folder))) == first
    assert len(first) % 512 == 0


def test_missing_folders_are_added_before_their_files() -> None:
    names = [entry.name for entry in cpio.unpack(cpio.pack([cpio.Entry.file("a/b/c", b"1")]))]
    assert names == ["a", "a/b", "a/b/c"]


def test_a_later_entry_replaces_an_earlier_one() -> None:
    (entry,) = cpio.unpack(cpio.pack([cpio.Entry.file("a", b"1"), cpio.Entry.file("a", b"2")]))
    assert entry.data == b"2"


@pytest.mark.parametrize("name", ["/absolute", "a//b", "../up", "a/./b", "", "TRAILER!!!"])
def test_names_that_mislead_are_refused(name: str) -> None:
    with pytest.raises(cpio.CpioError, match="not a valid name"):
        cpio.pack([cpio.Entry.file(name, b"")])


def test_sockets_and_fifos_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(cpio.CpioError, match="fifo"):
        cpio.entries_of(tmp_path)


def test_a_cut_archive_is_refused(folder: Path) -> None:
    archive = cpio.pack(cpio.entries_of(folder))
    with pytest.raises(cpio.CpioError, match="no entry at byte"):
        list(cpio.unpack(archive[:600]))


def test_devices_need_no_root() -> None:
    (folder, console) = cpio.unpack(cpio.pack([cpio.Entry.character_device("dev/console", 5, 1)]))
    assert folder.name == "dev"
    assert stat.S_ISCHR(console.mode) and console.device == (5, 1)


@pytest.mark.skipif(shutil.which("cpio") is None, reason="the cpio program is not installed")
def test_the_cpio_program_reads_it(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    archive = cpio.pack(cpio.entries_of(folder))
    subprocess.run(["cpio", "-i", "--quiet"], input=archive, cwd=out, check=True)
    assert (out / "bin" / "app").read_bytes() == (folder / "bin" / "app").read_bytes()
    assert os.readlink(out / "link") == "bin/app"


def test_the_command_packs_a_folder(folder: Path, tmp_path: Path) -> None:
    program = [sys.executable, str(ROOT / "tools" / "cpio.py")]
    subprocess.run([*program, str(folder), str(tmp_path / "out.cpio")], check=True)
    assert (tmp_path / "out.cpio").read_bytes() == cpio.pack(cpio.entries_of(folder))
    refused = subprocess.run([*program, str(tmp_path / "none"), "x"], capture_output=True, text=True)
    assert refused.returncode == 1 and "no such folder" in refused.stderr
