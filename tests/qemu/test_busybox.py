# SPDX-License-Identifier: BSD-2-Clause
"""Debian's busybox-static, the very file that is installed here, does on a node what it does on this
machine."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import pytest
from conftest import Run, expect_exit

import qemu


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small tree with all kinds of names and sizes."""
    root = tmp_path / "files"
    (root / "data" / "deep" / "er").mkdir(parents=True)
    (root / "data" / "empty").mkdir()
    (root / "data" / "a").write_text("first\nsecond\nthird\n")
    (root / "data" / "no newline").write_bytes(b"x" * 4096)
    (root / "data" / "large").write_bytes(bytes(range(256)) * 5000)
    (root / "data" / "deep" / "er" / "file").write_text("deep\n")
    (root / "data" / ("n" * 255)).write_text("long\n")
    (root / "data" / "nothing").write_bytes(b"")
    (root / "data" / "link").symlink_to("deep/er/file")
    (root / "data" / "absolute").symlink_to("/data/a")
    (root / "data" / "dangling").symlink_to("nowhere")
    for i in range(300):
        (root / "data" / "deep" / f"many{i:03}").write_text(f"{i}\n")
    for path in sorted(root.rglob("*"), reverse=True):
        # The node's archive has mtime 0 and whole permissions; so has this side, to compare listings.
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() else 0o644)
        os.utime(path, (0, 0), follow_symlinks=False)
    return root


def here(*words: str, cwd: Path, **keywords: object) -> bytes:
    """The same command on this machine."""
    command: list[str | Path] = [qemu.BUSYBOX, *words]
    ran = subprocess.run(command, cwd=cwd, capture_output=True, timeout=60, **keywords)  # type: ignore
    return bytes(ran.stdout)


@pytest.mark.parametrize(
    "words",
    [
        ("echo", "hello", "a  b", ""),
        ("seq", "1", "1000"),
        ("printf", "%s|%5d|%x\\n", "a", "42", "255"),
        ("expr", "6", "*", "7"),
        ("env", "-i", "A=b c"),
        ("basename", "/a/b/c"),
        ("true",),
        ("factor", "1000000007"),
        ("dc", "-e", "2 64 ^ p"),
        ("awk", 'BEGIN { for (i = 0; i < 10; i++) printf "%d %.3f\\n", i, i / 7 }'),
    ],
    ids=lambda words: words[0],
)
def test_a_command_prints_what_it_prints_here(
    words: tuple[str, ...], tacet: Run, busybox: Path, tmp_path: Path
) -> None:
    result = expect_exit(tacet(busybox, *words))
    assert result.stdout == here(*words, cwd=tmp_path, env={}), result.explain()
    assert result.stderr == b"", result.explain()


def test_uname_reports_linux_programs_what_they_ask_for(arch: str, tacet: Run, busybox: Path) -> None:
    result = expect_exit(tacet(busybox, "uname", "-a"))
    words = result.stdout.decode().split()
    machine = {"x86_64": "x86_64", "ppc64": "ppc64le"}[arch]
    assert words[0] == "Linux" and machine in words and "Tacet" in words, result.explain()
    assert expect_exit(tacet(busybox, "uname", "-m")).stdout == f"{machine}\n".encode()


def test_sha256sum_of_the_program_itself_is_that_of_the_file(tacet: Run, busybox: Path) -> None:
    result = expect_exit(tacet(busybox, "sha256sum", "/init"))
    assert result.stdout.decode() == f"{hashlib.sha256(busybox.read_bytes()).hexdigest()}  /init\n", (
        result.explain()
    )


@pytest.mark.parametrize(
    "words",
    [
        ("cat", "data/a", "data/link", "data/absolute", "data/deep/er/file"),
        ("cat", "data/large"),
        ("sha256sum", "data/large", "data/no newline", "data/nothing"),
        ("ls", "-1a", "data"),
        ("ls", "-1R", "data"),
        ("ls", "-lnd", "data/a", "data/large", "data/link"),
        ("find", "data", "-name", "many1*5"),
        ("find", "data", "-type", "l"),
        ("find", "data", "-size", "+100k"),
        ("wc", "data/a", "data/large"),
        ("sort", "-r", "data/a"),
        ("tail", "-c", "10", "data/large"),
        ("head", "-n", "2", "data/a"),
        ("grep", "-rc", "deep", "data/deep/er"),
        ("readlink", "-f", "data/link"),
        ("stat", "-c", "%s %F %a %N", "data/a", "data/link"),
        ("cmp", "data/a", "data/absolute"),
        ("od", "-A", "d", "-t", "x1", "data/a"),
        ("md5sum", "data/a"),
    ],
    ids=lambda words: "_".join(words[:2]).strip("-"),
)
def test_a_command_on_files_prints_what_it_prints_here(
    words: tuple[str, ...], tacet: Run, busybox: Path, folder: Path
) -> None:
    result = expect_exit(tacet(busybox, *words, files=folder, options="cwd=/"))
    # This side sees an absolute link only where its target is: below the folder as root.
    expected = subprocess.run(
        ["unshare", "-r", "chroot", ".", "/busybox", *words],
        cwd=rooted(folder),
        capture_output=True,
        timeout=60,
    ).stdout
    order = sorted if words[0] in ("find", "grep") else list
    assert order(result.stdout.splitlines()) == order(expected.splitlines()), result.explain()
    assert expected or words[0] == "cmp"


def rooted(folder: Path) -> Path:
    """The folder with busybox in it, to be a root directory here."""
    copy = folder.parent / "root"
    if not copy.exists():
        subprocess.run(["cp", "-a", folder, copy], check=True, timeout=60)
        (copy / "busybox").write_bytes(qemu.BUSYBOX.read_bytes())
        (copy / "busybox").chmod(0o755)
    return copy


def test_a_missing_file_is_reported_with_linux_s_words(tacet: Run, busybox: Path) -> None:
    result = expect_exit(tacet(busybox, "cat", "/none"), 1)
    assert result.stderr == b"cat: can't open '/none': No such file or directory\n", result.explain()


def test_the_tree_cannot_be_written(tacet: Run, busybox: Path) -> None:
    result = expect_exit(tacet(busybox, "touch", "/new"), 1)
    assert b"touch: /new: " in result.stderr, result.explain()


def test_standard_input_is_read_to_its_end(tacet: Run, busybox: Path, folder: Path) -> None:
    text = folder / "data" / "a"
    result = expect_exit(tacet(busybox, "sort", "-r", stdin=text, time_limit=30))
    assert result.stdout == b"third\nsecond\nfirst\n", result.explain()
    expect_exit(tacet(busybox, "cat", "-", "-", stdin=text, time_limit=30))


def test_a_refused_call_is_named_once_in_the_log(tacet: Run, busybox: Path) -> None:
    result = tacet(busybox, "sh", "-c", "/init true; /init true; echo after")
    assert result.outcome == "exit", result.explain()
    for said in (result.console, result.stderr.decode()):
        assert said.count("fork is not supported: ") == 1, result.explain()
