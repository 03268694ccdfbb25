# SPDX-License-Identifier: BSD-2-Clause
"""The state of a machine that has not reached its end: where each CPU is, and the flight log.

The monitor stops the machine and gives its CPUs' registers. For a Tacet node, the kernel's ELF file tells
where the rest is in memory: the areas of the CPUs (struct cpu, arch/cpu.h), which lead to the call chain and
the program's own address, and the rings of the flight log (klog.h). None of this needs the kernel's help, so
it also works with interrupts off. The memory's contents are not trusted: an invalid pointer ends only the
reading of its part.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from . import klog_file
from .monitor import Monitor, MonitorError
from .stopped import CPUS_MAX, LAYOUTS, Layout, Registers, registers_of
from .symbols import Symbols

#: How long one answer of the monitor may take.
ANSWER_SECONDS = 10.0

#: Offset in struct klog_ring; tests/qemu/test_postmortem.py compares it with the kernel's.
RING_EVENTS_AT = 16


@dataclass(frozen=True)
class Postmortem:
    """The findings: lines for the user, and the flight log's file, or why there is none."""

    lines: tuple[str, ...] = ()
    flight_log: bytes | None = None
    no_flight_log: str = ""


Examine = Callable[[Monitor, Path], Postmortem]


def stopped_registers(monitor: Monitor) -> list[Registers]:
    """Stop the machine and return its CPUs' registers. Raises MonitorError."""
    monitor.greet()
    monitor.command("stop")
    return registers_of(monitor.human("info registers -a"))


def examine_any(monitor: Monitor, _: Path) -> Postmortem:
    """Examine a machine whose software is not known."""
    return Postmortem(tuple(f"CPU {r.cpu}: {r.state}, {r.shown}" for r in stopped_registers(monitor)))


@dataclass(frozen=True)
class _Memory:
    """The machine's memory, read through a file that the monitor writes."""

    monitor: Monitor
    folder: Path
    layout: Layout

    def read(self, address: int, count: int) -> bytes:
        """Read `count` bytes at a kernel address. Raises MonitorError."""
        layout = self.layout
        physical = address - (layout.KERNEL_BASE if address >= layout.KERNEL_BASE else layout.DIRECT_MAP)
        if not 0 <= physical < 1 << 52:
            raise MonitorError(f"{address:#x} is not a kernel address")
        path = self.folder / "memory"
        self.monitor.command("pmemsave", val=physical, size=count, filename=str(path))
        try:
            content = path.read_bytes()
        except OSError as error:
            raise MonitorError(f"cannot read the memory: {error.strerror}") from None
        if len(content) != count:
            raise MonitorError(f"{len(content)} of {count} bytes at {address:#x}")
        return content

    def word(self, address: int) -> int:
        return int.from_bytes(self.read(address, 8), "little")


@dataclass
class _Place:
    """An address to be named, and the text around it."""

    before: str
    address: int
    symbols: Symbols | None
    after_call: bool = False
    unnamed: str = ""


@dataclass
class _TacetNode:
    """A stopped Tacet node."""

    memory: _Memory
    kernel: Symbols
    program: Symbols | None
    cpus: list[int] = field(default_factory=list)  #: addresses of its CPUs' areas, by CPU number

    @property
    def layout(self) -> Layout:
        return self.memory.layout

    def field(self, cpu: int, name: str) -> int:
        """A word of a CPU's struct cpu."""
        return self.memory.word(cpu + self.layout.FIELDS[name])

    def find_cpus(self) -> None:
        """Find the CPUs that the kernel has set up. Raises MonitorError, KeyError."""
        first = self.kernel.find("boot_cpu").address
        table = self.kernel.find("arch_cpu_distances")
        count = int.from_bytes(self.memory.read(self.kernel.find("cpu_count", "smp.c").address, 4), "little")
        words = self.memory.read(table.address, 8 * CPUS_MAX)
        for (distance,) in struct.iter_unpack("<Q", words[: 8 * min(count, CPUS_MAX)]):
            address = (first + distance) % (1 << 64)
            if not self.field(address, "klog"):
                break
            self.cpus.append(address)

    def places(self, registers: Registers) -> list[_Place]:
        """Where a CPU is, and its call chain."""
        number = self.cpus.index(registers.area) if registers.area in self.cpus else None
        name = f"CPU {registers.cpu if number is None else number}: {registers.state}, "
        if registers.in_program:
            return [self._program_place(name, registers.instruction)]
        if self.kernel.function(registers.instruction) is None:
            before_paging = registers.instruction + self.layout.KERNEL_BASE
            if self.kernel.function(before_paging):
                return [_Place(name, before_paging, self.kernel)]
            in_firmware = registers.instruction < self.layout.FIRMWARE_END
            where = "in the firmware" if in_firmware else "not in the kernel's code"
            return [_Place(name, registers.instruction, None, unnamed=where)]
        found = [_Place(name, registers.instruction, self.kernel)]
        try:
            for caller in self.layout.callers(registers, self.kernel, self.memory.read):
                found.append(_Place("  called from ", caller, self.kernel, after_call=True))
            if number is not None:
                found += self._caller_in_program(self.cpus[number], found)
        except (MonitorError, KeyError):
            pass  # the chain leads to memory that does not exist
        return found

    def _program_place(self, before: str, address: int, after_call: bool = False) -> _Place:
        if address >= self.layout.NODE_PAGES:
            return _Place(before, address, None, unnamed="in the vDSO")
        return _Place(before, address, self.program, after_call, "in the program")

    def _caller_in_program(self, cpu: int, chain: list[_Place]) -> list[_Place]:
        """The place where the program has entered the kernel."""
        if not self.field(cpu, "thread"):
            return []
        functions = (self.kernel.function(place.address - place.after_call) for place in chain)
        names = [function.name for function in functions if function]
        address, by_call = self.layout.left_at(self.field(cpu, "kernel_stack"), names, self.memory.read)
        if not address:
            return []
        before = "  called by the program at " if by_call else "  entered from the program at "
        return [self._program_place(before, address, after_call=by_call)]

    def lines(self, registers: list[Registers]) -> tuple[str, ...]:
        places = [place for one in registers for place in self.places(one)]
        names: dict[tuple[int, bool], str] = {}
        for symbols in (self.kernel, self.program):
            mine = [p for p in places if symbols is not None and p.symbols is symbols]
            for after_call in (False, True):
                addresses = [p.address for p in mine if p.after_call == after_call]
                if symbols is not None and addresses:
                    described = symbols.describe(addresses, addresses if after_call else ())
                    names.update({(address, after_call): text for address, text in described.items()})
        return tuple(
            f"{p.before}{p.address:016x} {names.get((p.address, p.after_call), p.unnamed)}".rstrip()
            for p in places
        )

    def flight_log(self) -> bytes:
        """The current flight log, as a file's bytes. MonitorError or KeyError if the node has none yet."""
        rings = []
        for cpu in self.cpus:
            ring = self.field(cpu, "klog")
            written, last = struct.unpack("<2Q", self.memory.read(ring, 16))
            slots = min(last + 1, klog_file.RING_EVENTS)
            rings.append((written, self.memory.read(ring + RING_EVENTS_AT, slots * klog_file.EVENT_BYTES)))
        clock, at = self.layout.CLOCK_HZ
        hz = self.memory.word(self.kernel.find(clock).address + at)
        boot = self.memory.word(self.kernel.find("boot_ticks").address)
        table = self.kernel.find("kinds", "klog.c")
        kinds = self.kernel.read(table.address, table.size)
        return klog_file.pack(self.kernel.architecture.name, (hz, boot), kinds, rings)


def bias_of(program: Symbols, layout: Layout) -> int:
    """The distance from a program's linked addresses to those where the kernel loads it (load.c)."""
    if not program.position_independent or not program.segments:
        return 0
    alignment = max(max(segment.alignment for segment in program.segments), 1)
    return layout.PIE_BASE - (min(segment.address for segment in program.segments) & ~(alignment - 1))


def examine_tacet(kernel: Path, program: Path | None) -> Examine:
    """A function that examines a Tacet node with this kernel and this program."""

    def examine(monitor: Monitor, folder: Path) -> Postmortem:
        registers = stopped_registers(monitor)
        of_kernel, symbols = Symbols(kernel), Symbols(program) if program else None
        layout = LAYOUTS[of_kernel.architecture.name]
        if symbols is not None:
            symbols.bias = bias_of(symbols, layout)
        node = _TacetNode(_Memory(monitor, folder, layout), of_kernel, symbols)
        try:
            node.find_cpus()
        except (MonitorError, KeyError) as error:
            why = f"{kernel} has no symbol {error}" if isinstance(error, KeyError) else str(error)
            return Postmortem(node.lines(registers), None, f"cannot find the flight log: {why}")
        lines = node.lines(registers)
        if not node.cpus:
            return Postmortem(lines, None, "the node has not set up its flight log yet")
        try:
            return Postmortem(lines, node.flight_log())
        except (MonitorError, KeyError, ValueError, IndexError) as error:
            return Postmortem(lines, None, f"cannot read the flight log: {error}")

    return examine
