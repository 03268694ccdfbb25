# SPDX-License-Identifier: BSD-2-Clause
"""The structure of the tree: a node from ring 3 to the hardware, and next to it the machine on which it is
developed. Rooms, programs, drivers and folders are read from the tree."""

from __future__ import annotations

from collections.abc import Sequence

from lab.bench.sloc import HEARTBEATS, JOBS, LINUX_PERSONALITY, NETWORK, NINEP, SILENT_CORE
from lab.bench.sloc import ROOMS as PARTS
from tools.drawings.sources import ROOMS, folders
from tools.drawings.svg import (
    AQUA,
    BLUE,
    EDGE,
    GREEN,
    GREY,
    INK,
    LILAC,
    NAVY,
    ORANGE,
    ROSE,
    SAND,
    STONE,
    STRAW,
    TEAL,
    WHITE,
    Drawing,
    DrawingError,
)

#: Each room's contents, in a few words.
HOLDS = {
    "init": "from boot to the job: memory plan, ranks, ELF loader",
    "launch": "jobs that tacetrun starts: what it asks for",
    "syscall": "the table of system calls; decode, check, call below",
    "ninep": "files of a server, by 9P2000.L",
    "net": "devices, lwIP's port, connections, DHCP",
    "fs/proc": "/proc and /sys",
    "ipc": "System V's objects, POSIX message queues",
    "fs": "open files, pipes, events, devices, file locks",
    "fs/tree": "the file tree in memory",
    "process": "processes, threads, sleeping, futexes, signals",
    "beat": "heartbeats of a cluster, and their time",
    "time": "the clock, smart timers, clock event devices",
    "mm": "page pools, address spaces, shared memory",
    "debug": "console, flight log, the node's end",
    "smp": "spin locks, crosscalls",
    "lib": "strings, formatting, ELF, cpio, command line",
}
#: The folders that do not run on a node, with what they do.
HOST = {
    "tools": ("starts QEMU: a Tacet node,", "or Linux with the same file"),
    "lab": ("statistics, pictures, report:", "how far would a job scale?"),
    "simulator": ("LogGOPS: a million ranks", "under recorded noise"),
    "ports": ("fetches musl, lwIP, Linux,", "QEMU 10, and checks sums"),
    "service": ("the conductor: heartbeats", "onto the cluster's wire"),
    "tests": ("pure C on this machine, fuzzers,", "whole systems, conformance"),
}
#: The other folders of the tree: on the node, in a text, or (docs/) around the drawing.
ELSEWHERE = {"apps", "arch", "boot", "docs", "drivers", "kernel", "kit", "libc"}
#: Names in the drawing of folders in apps/ and drivers/.
SAY = {"uart": "serial", "vga": "VGA", "pci": "PCI"}


def same(what: str, drawn: Sequence[str], there: Sequence[str]) -> None:
    """DrawingError if the drawing and the tree differ."""
    if missing := sorted(set(there) - set(drawn)):
        raise DrawingError(f"the drawing of the structure lacks {what} {', '.join(missing)}")
    if gone := sorted(set(drawn) - set(there)):
        raise DrawingError(
            f"the drawing of the structure has {what} {', '.join(gone)}, and the tree does not"
        )


def room_fill(room: str) -> str:
    fills = {
        SILENT_CORE: BLUE,
        LINUX_PERSONALITY: SAND,
        NINEP: AQUA,
        NETWORK: LILAC,
        HEARTBEATS: ROSE,
        JOBS: STRAW,
    }
    return fills[PARTS[room.split("/")[0]]]


def node(d: Drawing, x: float, width: float, bottom: float) -> None:
    """Draws the left half: what runs on a node."""
    d.text(x, 28, "On a compute node", bold=True, size=15, colour=NAVY)
    programs = [name for name in folders("apps") if name != "lib" and not name.startswith("mpi-")]
    d.card(
        x,
        42,
        width,
        62,
        WHITE,
        "Programs, in ring 3: static Linux ELF files",
        [
            "yours, from any compiler; with MPI (`mpi-lite`, `mpi-trace`, `mpi-bench`); one of `apps/`:",
            " · ".join(programs),
        ],
        edge=EDGE,
        size=10.5,
    )
    d.line([(x + 24, 104), (x + 24, 137)], ORANGE)
    d.text(x + 34, 125, "Linux system calls", size=12, colour=ORANGE, bold=True)
    d.line([(x + width - 24, 137), (x + width - 24, 104)], NAVY)
    d.text(x + width - 34, 125, "counters, clock: read without a call", size=12, colour=NAVY, anchor="end")

    top, step = 138, 25
    d.box(x, top, width, 30 + step * len(ROOMS), STONE)
    d.text(x + 10, top + 20, "`kernel/`", bold=True)
    d.text(x + 86, top + 20, "a room uses only itself and the rooms below it", size=12, colour=GREY)
    for place, room in enumerate(ROOMS):
        y = top + 30 + step * place
        d.box(x + 8, y, width - 16, step - 4, room_fill(room), radius=3)
        d.text(x + 16, y + 15, f"`{room}/`", size=12.5, bold=True)
        d.text(x + 104, y + 15, HOLDS[room], size=12, room=width - 120)
    y = top + 30 + step * len(ROOMS) + 8
    d.box(x, y, width, 26, NAVY, radius=3)
    d.text(
        x + width / 2,
        y + 18,
        "`kernel/arch.h`: the contract, complete in both directions",
        size=12.5,
        colour=WHITE,
        anchor="middle",
        room=width - 16,
    )
    y += 34
    part = (width - 8) * 0.56
    architectures = [name for name in folders("arch") if name != "include"]
    same("the architectures", ["common", "ppc64", "x86_64"], architectures)
    d.card(x, y, part, 44, GREEN, "`arch/x86_64/`, `ppc64/`", ["entry · paging · CPUs · APIC · vDSO"])
    drivers = " · ".join(SAY.get(name, name) for name in folders("drivers"))
    d.card(x + part + 8, y, width - part - 8, 44, GREEN, "`drivers/`", [drivers])
    y += 50
    d.text(
        x + width / 2,
        y + 13,
        "started by GRUB (ISO or PXE, from `boot/`) or by QEMU (PVH)",
        size=12,
        colour=GREY,
        anchor="middle",
    )
    if y + 20 > bottom:
        raise DrawingError(f"the drawing of the structure needs {y + 20 - bottom:.0f} px more")


def host(d: Drawing, x: float, width: float) -> None:
    """The right half: the machine on which it is developed, and the key."""
    d.text(x, 28, "On the developer's machine", bold=True, size=15, colour=NAVY)
    y = 42.0
    for name, texts in HOST.items():
        d.card(x, y, width, 62, WHITE, f"`{name}/`", texts, edge=EDGE)
        y += 70
    half = (width - 8) / 2
    d.card(x, y, half, 44, WHITE, "`libc/`", ["`tacet-cc`, musl"], edge=EDGE)
    d.card(x + half + 8, y, half, 44, WHITE, "`kit/`", ["noise of Linux"], edge=EDGE)
    y += 62
    parts = (
        (BLUE, SILENT_CORE),
        (SAND, LINUX_PERSONALITY),
        (AQUA, "files of a server"),
        (LILAC, NETWORK),
        (ROSE, HEARTBEATS),
        (STRAW, JOBS),
        (GREEN, "knows the hardware"),
    )
    for fill, words in parts:
        d.box(x, y, 22, 14, fill, radius=3, edge=EDGE)
        d.text(x + 30, y + 12, words, size=12)
        y += 20


def drawing() -> Drawing:
    same("the rooms", list(HOLDS), ROOMS)
    same("the folders", [*HOST, *ELSEWHERE], folders())
    height = 687
    d = Drawing(
        height,
        "The structure of Tacet",
        "A compute node from the programs in ring 3 over the rooms of the kernel to the architecture; next "
        "to it the folders that serve development.",
    )
    node(d, 18, 510, height)
    host(d, 572, 242)
    d.line([(571, 62), (530, 62)], GREY, dashes="4 3")
    d.line([(529, 92), (556, 92), (556, 143), (571, 143)], GREY, dashes="4 3")
    d.text(550, 56, "runs", size=11, colour=INK, anchor="middle")
    d.text(552, 136, "data", size=11, colour=TEAL, anchor="end", room=40)
    return d
