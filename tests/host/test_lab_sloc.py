# SPDX-License-Identifier: BSD-2-Clause
"""`lab sloc`: comments are no code, every folder is a row, and parts are sums of rooms."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lab.bench import sloc
from lab.cli import dispatch as lab


@pytest.mark.parametrize(
    ("suffix", "text", "lines"),
    [
        (".c", '/* a\n * b\n */\n\nint x; /* c */\n// d\n  \nchar *s = "// no /* comment";\n', 2),
        (".h", "#ifndef A // guard\n#define A '\"' /* x */\n#endif\n", 3),
        (".c", "int a; /* one\ntwo */ int b;\n", 2),
        (".asm", '; all comment\n  mov eax, 1 ; more\n\nmsg: db "a;b"\n', 2),
        (".S", '#include "x.h"\n// y\n nop\n', 2),
        (".s", "# y\n nop # z\n", 1),
    ],
)
def test_lines_of_code_hold_code(suffix: str, text: str, lines: int) -> None:
    assert sloc.count_text(text, suffix) == lines


#: A tree as it is after the move into rooms: file, lines of code.
FILES = {
    "arch/x86_64/start.c": 1,
    "arch/x86_64/boot/entry.asm": 2,
    "arch/ppc64/entry.S": 100,
    "drivers/uart/uart.c": 3,
    "kernel/arch.h": 4,
    "kernel/init/main.c": 5,
    "kernel/time/timer.c": 6,
    "kernel/time/timer.h": 1,
    "kernel/syscall/syscalls.def": 7,
    "kernel/fs/file.c": 8,
    "kernel/fs/tree/tree.c": 9,
    "kernel/fs/proc/proc.c": 10,
    "kernel/ninep/codec.c": 14,
    "kernel/net/port.c": 11,
    "kernel/beat/beat.c": 12,
    "kernel/launch/launch.c": 13,
    "kernel/README.md": 50,
    "tools/tool.c": 50,
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, lines in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\n" * lines)
    return tmp_path


def test_every_folder_is_a_row_with_the_files_directly_in_it(tree: Path) -> None:
    assert {row.name: row.lines for row in sloc.count(tree)} == {
        "arch/ppc64": 100,
        "arch/x86_64": 3,
        "drivers": 3,
        "kernel": 4,
        "kernel/fs": 8,
        "kernel/fs/proc": 10,
        "kernel/fs/tree": 9,
        "kernel/init": 5,
        "kernel/net": 11,
        "kernel/ninep": 14,
        "kernel/beat": 12,
        "kernel/launch": 13,
        "kernel/syscall": 7,
        "kernel/time": 7,
    }


def test_parts_are_sums_of_rooms(tree: Path) -> None:
    rows = sloc.count(tree)
    assert sloc.sums(rows) == {
        "silent core": 3 + 4 + 5 + 7,
        "Linux personality": 7 + 8 + 9 + 10,
        "9P": 14,
        "network": 11,
        "heartbeats": 12,
        "jobs": 13,
        "drivers": 3,
        "all": 206,
    }
    assert sloc.sums(sloc.count(tree, "ppc64"))["silent core"] == 100 + 4 + 5 + 7


def test_a_part_that_is_too_large_does_not_hold(tree: Path) -> None:
    (tree / "kernel/fs/large.c").write_text("x\n" * sloc.LINES_MAX[sloc.LINUX_PERSONALITY])
    lines = {line.split("  ")[0]: line.split()[-1] for line in sloc.as_table(sloc.count(tree)).splitlines()}
    assert lines["silent core"] == "yes" and lines["Linux personality"] == "NO"


def test_another_architecture_that_takes_more_lines_does_not_hold(tree: Path) -> None:
    def held() -> str:
        rows = [line.split() for line in sloc.as_table(sloc.count(tree)).splitlines()]
        return next(" ".join(row[1:]) for row in rows if row and row[0] == "arch/ppc64")

    assert held() == "100 <= 3 NO"
    (tree / "arch/ppc64/entry.S").write_text("x\n" * 3)
    assert held() == "3 <= 3 yes"


def test_the_command_prints_the_tree_it_is_in(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = io.StringIO()
    assert lab.main(["sloc"], out=out) == 0
    assert "\narch/x86_64 " in out.getvalue() and "\nsilent core " in out.getvalue()
    assert lab.main(["sloc", "--tree", str(tmp_path)]) == 1
    assert (
        capsys.readouterr().err == f"lab sloc: {tmp_path}: no folder kernel/; this is not the kernel's tree\n"
    )
