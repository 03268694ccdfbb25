# SPDX-License-Identifier: BSD-2-Clause
"""The memory of a node with two ranks: physical memory and its owners, and a rank's address space, with
addresses from the kernel's headers."""

from __future__ import annotations

from dataclasses import dataclass

from tools.drawings.sources import constant, defined, link_constant
from tools.drawings.svg import BLUE, EDGE, GREEN, GREY, NAVY, ORANGE, PAPER, STONE, WHITE, Drawing

PLATFORM = "arch/x86_64/include/arch/platform.h"
ALL_PLATFORMS = "arch/common/platform.h"
CPU = "arch/x86_64/include/arch/cpu.h"
LOAD = "kernel/init/load.c"


@dataclass(frozen=True)
class Addresses:
    """Addresses from the sources."""

    pie: int
    mmap: int
    stack_low: int
    stack_guard: int
    stack_top: int
    vdso: int
    user_limit: int
    direct_map: int
    devices: int
    image: int
    image_physical: int

    @classmethod
    def read(cls) -> Addresses:
        page = constant(PLATFORM, "ARCH_PAGE")
        large = constant(ALL_PLATFORMS, "ARCH_LARGE_PAGE")
        limit = constant(PLATFORM, "ARCH_USER_LIMIT")
        cpus = constant(ALL_PLATFORMS, "ARCH_CPUS_MAX")
        kernel_pages = constant(LOAD, "KERNEL_PAGES_MAX", ARCH_CPUS_MAX=cpus)
        top = constant(
            LOAD,
            "STACK_TOP",
            ARCH_USER_LIMIT=limit,
            ARCH_LARGE_PAGE=large,
            KERNEL_PAGES_MAX=kernel_pages,
            ARCH_PAGE=page,
        )
        low = top - constant("kernel/init/job_line.c", "STACK_BYTES_DEFAULT")
        load = link_constant("arch/x86_64/link.ld", "KERNEL_LOAD")
        return cls(
            pie=constant(ALL_PLATFORMS, "ARCH_PIE_BASE"),
            mmap=constant(ALL_PLATFORMS, "ARCH_MMAP_BASE"),
            stack_low=low,
            stack_guard=low - constant(LOAD, "STACK_GUARD", ARCH_LARGE_PAGE=large),
            stack_top=top,
            vdso=constant(LOAD, "VDSO_BASE", STACK_TOP=top, ARCH_CPUS_MAX=cpus, ARCH_PAGE=page),
            user_limit=limit,
            direct_map=constant(CPU, "DIRECT_MAP"),
            devices=constant(CPU, "DEVICE_WINDOW"),
            image=link_constant("arch/x86_64/link.ld", "KERNEL_BASE") + load,
            image_physical=load,
        )


def address(value: int) -> str:
    """An address as sixteen digits in groups of four: `0000 1000 0000 0000`."""
    digits = f"{value:016x}"
    return " ".join(digits[i : i + 4] for i in range(0, 16, 4))


@dataclass
class Stack:
    """Boxes one below the other; the next one begins at `at`."""

    d: Drawing
    x: float
    width: float
    at: float

    def add(self, height: float, fill: str, head: str, *texts: str, dashes: str = "") -> float:
        """Draw a box. Returns the height of its middle."""
        y, self.at = self.at, self.at + height + 3
        if dashes:
            self.d.box(self.x, y, self.width, height, fill, edge=GREY, dashes=dashes)
            self.d.text(
                self.x + self.width / 2,
                y + height / 2 + 4,
                head,
                size=12,
                colour=GREY,
                anchor="middle",
                room=self.width - 12,
            )
        else:
            self.d.card(self.x, y, self.width, height, fill, head, texts, edge=EDGE, size=11.5)
        return y + height / 2


def physical(d: Drawing, a: Addresses) -> dict[str, float]:
    """Draw the left column. Returns the heights to which the right one refers."""
    d.text(18, 30, "Physical memory", size=15, bold=True, colour=NAVY)
    d.text(18, 48, "planned once, by `memplan_make`", size=12, colour=GREY)
    defined("kernel/mm/memplan.c", "memplan_make")
    defined("kernel/mm/page_pool.c", "page_pool_allocate", "page_pool_reserve")
    s = Stack(d, 18, 268, 60)
    s.add(26, STONE, "first MiB: firmware, text screen", dashes="4 3")
    s.add(
        60,
        GREEN,
        "the kernel's image",
        f"from {a.image_physical:#x} on; text R-X,",
        "constants R--, data RW-",
    )
    image = s.at
    s.add(
        60,
        GREEN,
        "the kernel's page pool",
        "its page tables, the file tree,",
        "areas of CPUs; small, fixed at boot",
    )
    slice_0 = s.add(
        126,
        BLUE,
        "slice of rank 0: a page pool",
        "`page_pool_allocate`: the list of free",
        "extents stands in the free memory.",
        "`page_pool_reserve`: what a call must",
        "not lack half-way is set aside before",
        "it changes anything. Page tables of",
        "the rank come from here, too.",
    )
    s.add(42, STONE, "slice of rank 1: a page pool", "its own; ranks share only files")
    s.add(
        60,
        STONE,
        "boot modules",
        "the files' data, where the loader put",
        "them; programs are loaded from here",
    )
    d.lines(
        18,
        s.at + 20,
        [
            "Zeroed when it is handed out. Every byte",
            "is the image's, the pool's, a slice's, or",
            "counted as lost.",
        ],
    )
    d.lines(
        18,
        s.at + 86,
        [
            "Memory with rights is backed before the",
            "call that maps it returns, so that no page",
            "fault comes later.",
        ],
    )
    return {"image": image, "slice": slice_0}


def virtual(d: Drawing, a: Addresses, x: float) -> dict[str, float]:
    """Draw the right column: the rank's address space, with addresses rising from top to bottom."""
    d.text(x, 30, "The address space of rank 0", size=15, bold=True, colour=NAVY)
    d.text(x, 48, "low addresses above; pages: 4 KiB, 2 MiB, 1 GiB", size=12, colour=GREY)
    s = Stack(d, x + 128, 252, 60)
    marks = {}

    def part(
        start: int | None, height: float, fill: str, head: str, *texts: str, pages: str = "", dashes: str = ""
    ) -> float:
        y = s.at
        if start is not None:
            d.text(x, y + 13, f"`{address(start)}`", size=11.5, room=124)
        middle = s.add(height, fill, head, *texts, dashes=dashes)
        if pages:
            d.lines(
                s.x + s.width + 8,
                middle - 3 if "|" in pages else middle + 4,
                pages.split("|"),
                size=11,
                step=14,
            )
        return middle

    marks["program"] = part(
        None, 42, BLUE, "program", "as linked: R, RX, R, RW, never W and X", pages="4 KiB"
    )
    marks["heap"] = part(
        None, 42, BLUE, "heap", "`brk`: from the next 2 MiB boundary on", pages="largest|that fit"
    )
    part(a.pie, 42, BLUE, "program, if a static-PIE", "its heap follows", pages="4 KiB")
    marks["mmap"] = part(
        a.mmap,
        58,
        BLUE,
        "mappings",
        "`vm_map`: the first gap that fits,",
        "from here on",
        pages="largest|that fit",
    )
    part(a.stack_guard, 26, WHITE, "guard: address space only", dashes="4 3")
    marks["stack"] = part(
        a.stack_low,
        42,
        BLUE,
        "stack",
        "8 MiB or `stack=`, all there from the start",
        pages="largest|that fit",
    )
    marks["counters"] = part(
        a.stack_top, 42, GREEN, "node facts, counters", "a page, and one a CPU; read-only", pages="4 KiB"
    )
    part(a.vdso, 42, GREEN, "clock page, vDSO", "the time without a system call", pages="4 KiB")
    part(a.user_limit, 26, WHITE, "an empty page, then no addresses", dashes="4 3")
    part(
        a.direct_map, 42, STONE, "kernel: direct map", "usable memory, boot modules", pages="largest|that fit"
    )
    part(a.devices, 26, STONE, "kernel: device registers", pages="4 KiB")
    part(a.image, 42, STONE, "kernel: its image", "R-X, R--, RW-", pages="4 KiB")
    defined("kernel/mm/vm.c", "vm_map")
    d.text(x, 86, "as linked", size=11.5, colour=GREY)
    d.text(x, 131, "after the program", size=11.5, colour=GREY)
    return marks


def drawing() -> Drawing:
    a = Addresses.read()
    d = Drawing(
        588,
        "The memory of a rank",
        "Physical memory: the kernel's image and pool, a slice for each rank. The address space of a rank: "
        "program, heap, mappings, stack, counters and clock, and the kernel above.",
    )
    left = physical(d, a)
    right = virtual(d, a, 378)
    for name in ("program", "heap", "mmap", "stack"):
        d.line([(287, left["slice"]), (330, left["slice"]), (358, right[name]), (372, right[name])], ORANGE)
    d.line(
        [(287, left["image"]), (306, left["image"]), (306, right["counters"]), (372, right["counters"])],
        NAVY,
        dashes="4 3",
    )
    d.box(302, right["counters"] - 24, 66, 15, PAPER, radius=2)
    d.text(335, right["counters"] - 12, "read-only", size=11, colour=NAVY, anchor="middle", room=80)
    return d
