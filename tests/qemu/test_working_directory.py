# SPDX-License-Identifier: BSD-2-Clause
"""Where programs start: `cwd=`, and without it where files can be made; and that what they find there is the
same by every name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Run, expect_exit

BAD_INPUT = 64
SCRIPT = "pwd; cd -P /proc/self/cwd; pwd; "


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The node's files: a folder, one with a blank in its name, a link to a folder, and a file."""
    files = tmp_path / "files"
    for name in ("data", "two words"):
        (files / name).mkdir(parents=True)
        (files / name / "here").write_text(f"{name}\n")
    (files / "link").symlink_to("data")
    return files


def started_in(
    tacet: Run, busybox: Path, folder: Path | None, options: str, script: str = SCRIPT
) -> list[str]:
    """What a shell prints that starts with these options."""
    result = expect_exit(tacet(busybox, "sh", "-c", script, files=folder, options=options))
    assert result.stderr == b"", result.explain()
    return result.stdout.decode().splitlines()


def test_a_program_starts_where_it_can_make_files(tacet: Run, busybox: Path) -> None:
    script = SCRIPT + "echo made > file; read -r line < /tmp/file; echo $line"
    assert started_in(tacet, busybox, None, "", script) == ["/tmp", "/tmp", "made"]


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ("cwd=/", "/"),
        ("cwd=/dev/shm", "/dev/shm"),
        ("cwd=/data", "/data"),
        ("cwd=//data/../data/.", "/data"),
        ("cwd=/link", "/data"),
        ('cwd="/two words"', "/two words"),
        ("cwd=/none cwd=/data", "/data"),
    ],
)
def test_a_program_starts_where_the_option_says(
    options: str, place: str, tacet: Run, busybox: Path, folder: Path
) -> None:
    script = SCRIPT + ("read -r line < here; echo $line" if place in ("/data", "/two words") else "echo")
    expected = [place, place, place[1:] if "here" in script else ""]
    assert started_in(tacet, busybox, folder, options, script) == expected


def test_all_ranks_start_in_the_same_place_and_keep_their_own(tacet: Run, busybox: Path) -> None:
    script = "echo $TACET_RANK > mine$TACET_RANK; cd /proc; cd -; cd /"
    result = expect_exit(
        tacet(busybox, "sh", "-c", script, cpus=4, options="prefix=rank cwd=/dev/shm", memory="256M")
    )
    assert sorted(result.stdout.decode().splitlines()) == [f"{rank}: /dev/shm" for rank in range(4)], (
        result.explain()
    )


WRONG = {
    "relative": ("cwd=tmp", "tmp", "does not begin with /"),
    "dot": ("cwd=.", r"\.", "does not begin with /"),
    "empty": ("cwd=", "", "does not begin with /"),
    "bare": ("cwd", "", "does not begin with /"),
    "missing": ("cwd=/none", "/none", "there is no such directory"),
    "below_a_file": ("cwd=/init/x", "/init/x", "there is no such directory"),
    "file": ("cwd=/init", "/init", "this is not a directory"),
    "device": ("cwd=/dev/null", "/dev/null", "this is not a directory"),
    "pseudo_file": ("cwd=/proc/meminfo", "/proc/meminfo", "this is not a directory"),
    "nobody_s": ("cwd=/proc/self/cwd", "/proc/self/cwd", "there is no such directory"),
    "blank": ('cwd="/two words"', "/two words", "there is no such directory"),
    "long_name": (f"cwd=/{'x' * 300}", "/x{79}", "there is no such directory"),
    "long_path": (f"cwd={'/x' * 1500}", "(/x){40}", "there is no such directory"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_place_where_nothing_can_start_is_refused_with_one_that_is_there(name: str, tacet: Run) -> None:
    options, path, fault = WRONG[name]
    result = tacet("status.musl", options=options)
    assert (result.outcome, result.status) == ("stop", BAD_INPUT), result.explain()
    right = "; give the full path of a directory, as cwd=/tmp"
    assert re.fullmatch(f"cwd={path}: .*{fault}{right}", result.reason), result.explain()


@pytest.mark.parametrize("cpus", [1, 2])
def test_ftq_without_options_writes_its_files_on_a_node(cpus: int, tacet: Run) -> None:
    result = expect_exit(tacet("apps/ftq", "-n", "100", cpus=cpus, icount=4))
    assert result.stderr.count(b"samples: 100\n") == cpus, result.explain()
