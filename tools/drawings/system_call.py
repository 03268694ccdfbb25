# SPDX-License-Identifier: BSD-2-Clause
"""The path of a system call: a write to a pipe, down through the rooms and back."""

from __future__ import annotations

from tools.drawings.route import Band, Box, Placed, bands_draw, down, up
from tools.drawings.sources import defined
from tools.drawings.svg import BLUE, GREEN, GREY, NAVY, ORANGE, PAPER, SAND, Drawing

LEFT, MIDDLE, RIGHT, WIDE = (122, 226), (372, 190), (586, 226), (122, 440)

ENTRY = "arch/x86_64/syscall_entry.asm"
CALLS = "kernel/syscall/sys_file.c"

BANDS = (
    Band(
        "the program", "ring 3", PAPER, 60,
        (
            Box(LEFT, "`write(fd, buffer, 2)`", ("SYSCALL: number in RAX",)),
            Box(RIGHT, "its next instruction", ("RAX is 2, or a negative errno",)),
        ),
    ),
    Band(
        "arch/x86_64/", "the entry", GREEN, 92,
        (
            Box(
                LEFT, "`syscall_entry`",
                (
                    "the kernel's stack; counts; notes the",
                    "time; saves 8 registers; then calls",
                    "`syscall_table[RAX]`",
                ),
                {ENTRY: ["syscall_entry"], "kernel/syscall/syscall.c": ["syscall_table"]},
            ),
            Box(
                MIDDLE, "`program_return`",
                ("the slow return: a signal,", "a migration, the end;", "then IRETQ"),
                {"arch/x86_64/thread.c": ["program_return"]},
            ),
            Box(
                RIGHT, "`call_return`",
                (
                    "notes the time, restores registers,",
                    "SYSRET. If the slow one is asked",
                    "for: `call_return_slow`",
                ),
                {ENTRY: ["call_return", "call_return_slow"]},
            ),
        ),
    ),
    Band(
        "syscall/", "decode, check", SAND, 76,
        (
            Box(
                LEFT, "`part_transfer`",
                ("may the file be written, is the", "range possible?"),
                {CALLS: ["part_transfer", "file_of_call"]},
            ),
            Box(
                RIGHT, "`restartable`",
                ("a call that a signal interrupted", "is repeated or answers EINTR"),
                {"kernel/syscall/syscall.c": ["restartable"]},
            ),
        ),
    ),
    Band(
        "fs/", "the open file", SAND, 92,
        (
            Box(
                LEFT, "`file_get`",
                (
                    "descriptor to open file, and one",
                    "reference more, under the lock of",
                    "the process's table",
                ),
                {"kernel/fs/file.c": ["file_get"]},
            ),
            Box(
                MIDDLE, "`pipe_move`",
                ("the open file's hook `move`:", "`ring_copy`, with the lock of", "those who write"),
                {
                    "kernel/fs/pipe.c": ["pipe_move"],
                    "kernel/fs/unix_transfer.c": [
                        "unix_pipe_write", "send_to", "send_once", "bytes_send", "ring_copy",
                    ],
                },
            ),
            Box(
                RIGHT, "`file_put`",
                ("one reference less; the last one", "ends the open file"),
                {"kernel/fs/file.c": ["file_put"]},
            ),
        ),
    ),
    Band(
        "process/", "who waits?", BLUE, 76,
        (
            Box(
                RIGHT, "`event_notify`",
                ("after the lock: notes the", "event for each CPU of the process"),
                {"kernel/process/event.c": ["event_notify"]},
            ),
        ),
    ),
    Band(
        "arch/x86_64/", "through arch.h", GREEN, 92,
        (
            Box(
                WIDE, "`user_read`",
                (
                    "checks the range and calls `user_copy`: the few instructions that touch",
                    "the program's memory. One that faults goes on at `user_copy_fault`:",
                    "a bad pointer of any kind is an EFAULT.",
                ),
                {
                    "arch/common/user_copy.c": ["user_read"],
                    "arch/x86_64/user_copy.asm": ["user_copy", "user_copy_fault"],
                },
            ),
            Box(
                RIGHT, "`arch_ipi_send`",
                (
                    "an IPI, only to a CPU that idles",
                    "for an event: a thread that",
                    "computes is not interrupted",
                ),
                {"arch/x86_64/idle.c": ["arch_ipi_send"]},
            ),
        ),
    ),
)  # fmt: skip


def arrows(d: Drawing, placed: dict[str, Placed]) -> None:
    way_down = ["write(fd, buffer, 2)", "syscall_entry", "part_transfer", "file_get"]
    down(d, placed, way_down, LEFT[0] + 40, NAVY)
    up(d, placed, ["file_put", "restartable", "call_return", "its next instruction"], RIGHT[0] + 180, NAVY)
    get, pipe, put = placed["file_get"], placed["pipe_move"], placed["file_put"]
    notify = placed["event_notify"]
    d.line([(get.right, get.middle), (pipe.x, get.middle)], NAVY)
    d.line([(pipe.right, get.middle), (put.x, get.middle)], NAVY)
    d.line([(pipe.x + 40, pipe.bottom), (pipe.x + 40, placed["user_read"].y)], NAVY, both=True)
    d.line([(pipe.x + 150, pipe.bottom), (pipe.x + 150, notify.middle), (notify.x, notify.middle)], NAVY)
    down(d, placed, ["event_notify", "arch_ipi_send"], RIGHT[0] + 40, NAVY)
    slow, leave = placed["program_return"], placed["call_return"]
    resumed = placed["its next instruction"]
    d.line([(leave.x, leave.middle), (slow.right, leave.middle)], ORANGE, dashes="4 3")
    turn = slow.x + slow.width / 2
    d.line([(turn, slow.y), (turn, resumed.middle), (resumed.x, resumed.middle)], ORANGE, dashes="4 3")


def drawing() -> Drawing:
    defined(ENTRY, "syscall_hole")
    defined("kernel/syscall/syscall.c", "syscall_unknown")
    d = Drawing(
        620,
        "The path of a system call",
        "A write to a pipe: from the program through the entry code, the table, the room of system calls, "
        "the open file and the pipe, and back by SYSRET.",
    )
    d.text(20, 30, "A write to a pipe: down on the left, back on the right", size=15, bold=True, colour=NAVY)
    arrows(d, bands_draw(d, 46, BANDS))
    d.lines(
        20,
        594,
        [
            "Arrows follow the order of events. A number without a call leads through `syscall_hole` to",
            "`syscall_unknown`: it answers ENOSYS, and the console names it once.",
        ],
        colour=GREY,
    )
    return d
