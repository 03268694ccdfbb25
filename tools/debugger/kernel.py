# SPDX-License-Identifier: BSD-2-Clause
"""The kernel's structures in the node's memory, with the names and types from its debugging information."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator

import gdb

EARLY = "The kernel has not set up this CPU yet (early boot): `continue` to kernel_start and beyond."

#: At most this many areas are listed: a longer list is corrupt.
AREAS_MAX = 10000


class Early(Exception):
    """The kernel's structures do not exist yet, so there is nothing to show; not a mistake of the user."""


@contextlib.contextmanager
def readable() -> Iterator[None]:
    """Turns gdb.MemoryError into Early: before its page tables are loaded, the kernel's memory has no
    addresses."""
    try:
        yield
    except gdb.MemoryError:
        raise Early(EARLY) from None


def require_node() -> None:
    if not gdb.selected_inferior().threads():
        raise gdb.GdbError("there is no node; `tacet start` starts one")


def static(file: str, name: str) -> gdb.Value:
    """A static variable of a kernel file."""
    return gdb.parse_and_eval(f"'{file}'::{name}")


def cpus() -> list[gdb.Value]:
    """A `struct cpu *` for each CPU that is initialised."""
    require_node()
    with readable():
        count = int(static("arch/x86_64/smp.c", "cpu_count"))
        first = gdb.parse_and_eval("&boot_cpu")
        distances = gdb.parse_and_eval("arch_cpu_distances")
        areas = [int(first) + int(distances[i]) & (1 << 64) - 1 for i in range(count)]
        found = [gdb.Value(area).cast(first.type) for area in areas]
        return [cpu for cpu in found if int(cpu["self"]) == int(cpu)]


def cpu_of_selected() -> gdb.Value | None:
    """The CPU that gdb has selected; None if the kernel has not started it. GS points to its area in the
    kernel, and is swapped in the program."""
    frame = gdb.newest_frame()
    bases = [int(frame.read_register(name)) & (2**64 - 1) for name in ("gs_base", "k_gs_base")]
    return next((cpu for cpu in cpus() if int(cpu) in bases), None)


def current_cpu() -> gdb.Value:
    require_node()
    cpu = cpu_of_selected()
    if cpu is None:
        raise Early(EARLY)
    return cpu


def current_thread() -> gdb.Value | None:
    """The `struct thread *` of the selected CPU, or None."""
    with readable():
        thread = current_cpu()["thread"]
        return thread if int(thread) else None


def word(address: int) -> int:
    with readable():
        memory = gdb.selected_inferior().read_memory(address, 8)
    return struct.unpack("<Q", bytes(memory))[0]


def areas(process: gdb.Value) -> Iterator[gdb.Value]:
    """The mapped areas of a process, in ascending order."""
    area_type = gdb.lookup_type("struct vm_area").pointer()
    above: list[gdb.Value] = []
    node = process["vm"]["areas"]
    for _ in range(AREAS_MAX):
        while int(node):
            above.append(node)
            node = node["child"][0]
        if not above:
            return
        node = above.pop()
        yield node.cast(area_type).dereference()
        node = node["child"][1]


def cpus_text(mask: gdb.Value) -> str:
    """A `struct cpu_mask` as a list of CPUs, such as 0,2-3."""
    first, last = mask["words"].type.range()
    words = [int(mask["words"][i]) for i in range(first, last + 1)]
    runs: list[list[int]] = []
    for cpu in (i * 64 + bit for i, word in enumerate(words) for bit in range(64) if word >> bit & 1):
        if runs and runs[-1][1] == cpu - 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)


def bytes_text(count: int) -> str:
    """A size as text, in the largest binary unit in which it is at least 1, with up to one decimal."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.1f}".removesuffix(".0") + f" {unit}"
    return f"{count} bytes"
