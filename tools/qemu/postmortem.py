# SPDX-License-Identifier: BSD-2-Clause
"""What is read out of a machine that has not come to its end: where each CPU is, and the flight log.

The machine is stopped by its monitor and asked for its CPUs' registers. On a Tacet node the kernel's ELF file
says where in memory the rest lies: the areas of the CPUs (struct cpu, arch/cpu.h), from which the call chain
and the program's own address follow, and the rings of the flight log (klog.h). Nothing of it needs the
kernel's help, so it works with interrupts off, too. What the memory holds is not trusted: a pointer that
leads nowhere ends the reading of that part alone.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from . import klog_file
from .monitor import Monitor, MonitorError
from .symbols import Symbols

#: How long one answer of the monitor may take.
ANSWER_SECONDS = 10.0

KERNEL_BASE = 0xFFFFFFFF80000000  # physical 0, for the kernel's image
DIRECT_MAP = 0xFFFF800000000000  # physical 0, for everything else
PIE_BASE = 0x40000000000
NODE_PAGES = 0x7FFFFFA00000  # the first stack ends here; above it facts, counters and the vDSO
USER_END = 1 << 47
CPUS_MAX = 1024
FIRMWARE_END = 1 << 20
FRAMES_MAX = 16
INTERRUPTS_ON = 1 << 9
CALL, CALL_BY_POINTER = 0xE8, 0xFF  # with a distance of 32 bits; with two to seven bytes
FRAME_BEGIN = b"\x55\x48\x89\xe5"  # PUSH RBP; MOV RBP, RSP
USER_DATA, USER_CODE = 0x1B, 0x23

# Offsets in struct cpu; tests/qemu/test_postmortem.py compares them with the kernel's DWARF.
CPU_KERNEL_STACK = 0x6008
CPU_SELF = 0x6010
CPU_KLOG = 0x6018
CPU_THREAD = 0x6028
CPU_TASK_STATE = 0x60A8
RING_EVENTS_AT = 16


@dataclass(frozen=True)
class Registers:
    """What the monitor says of one CPU."""

    cpu: int
    instruction: int
    stack: int
    frame: int
    flags: int
    ring: int
    halted: bool
    task_state: int

    def state(self) -> str:
        """Where it is but for the address, in words."""
        words = [f"ring {self.ring}", *(["halted"] if self.halted else [])]
        if self.ring == 0:
            words.append(f"interrupts {'on' if self.flags & INTERRUPTS_ON else 'off'}")
        return ", ".join(words)


@dataclass(frozen=True)
class Postmortem:
    """What was found: lines for people, the flight log's file if there is one, and why not if there is
    none."""

    lines: tuple[str, ...] = ()
    flight_log: bytes | None = None
    no_flight_log: str = ""


Examine = Callable[[Monitor, Path], Postmortem]


def registers_of(text: str) -> list[Registers]:
    """The answer to `info registers -a`."""
    found = []
    for part in re.split(r"^CPU#", text.replace("\r", ""), flags=re.MULTILINE)[1:]:

        def number(pattern: str, part: str = part) -> int:
            match = re.search(rf"\b{pattern}", part)
            return int(match[1], 16) if match else 0

        found.append(
            Registers(
                cpu=int(part.split(None, 1)[0]),
                instruction=number(r"[RE]IP=([0-9a-f]+)"),
                stack=number(r"[RE]SP=([0-9a-f]+)"),
                frame=number(r"[RE]BP=([0-9a-f]+)"),
                flags=number(r"[RE]?FL=([0-9a-f]+)"),
                ring=number(r"CPL=(\d)"),
                halted=bool(number(r"HLT=(\d)")),
                task_state=number(r"TR =[0-9a-f]+ ([0-9a-f]+)"),
            )
        )
    return found


def stopped_registers(monitor: Monitor) -> list[Registers]:
    """Stop the machine, and say where its CPUs are."""
    monitor.greet()
    monitor.command("stop")
    return registers_of(monitor.human("info registers -a"))


def examine_any(monitor: Monitor, _: Path) -> Postmortem:
    """Of a machine whose software is not known here."""
    return Postmortem(
        tuple(
            f"CPU {r.cpu}: {r.state()}, rip {r.instruction:016x}, rsp {r.stack:016x}"
            for r in stopped_registers(monitor)
        )
    )


@dataclass(frozen=True)
class _Memory:
    """The machine's memory, by way of a file that the monitor writes."""

    monitor: Monitor
    folder: Path

    def read(self, address: int, count: int) -> bytes:
        """From an address of the kernel's."""
        physical = address - (KERNEL_BASE if address >= KERNEL_BASE else DIRECT_MAP)
        if not 0 <= physical < 1 << 52:
            raise MonitorError(f"{address:#x} is no address of the kernel's")
        path = self.folder / "memory"
        self.monitor.command("pmemsave", val=physical, size=count, filename=str(path))
        try:
            content = path.read_bytes()
        except OSError as error:
            raise MonitorError(f"the memory cannot be read: {error.strerror}") from None
        if len(content) != count:
            raise MonitorError(f"{len(content)} of {count} bytes at {address:#x}")
        return content

    def word(self, address: int) -> int:
        return int.from_bytes(self.read(address, 8), "little")


@dataclass
class _Place:
    """An address to be named, and the words around it."""

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
    cpus: list[int] = field(default_factory=list)  #: addresses of the areas of its CPUs, by its own numbers

    def find_cpus(self) -> None:
        """The CPUs that the kernel has set up."""
        first = self.kernel.find("boot_cpu").address
        table = self.kernel.find("arch_cpu_distances")
        count = int.from_bytes(self.memory.read(self.kernel.find("cpu_count", "smp.c").address, 4), "little")
        words = self.memory.read(table.address, 8 * CPUS_MAX)
        for (distance,) in struct.iter_unpack("<Q", words[: 8 * min(count, CPUS_MAX)]):
            address = (first + distance) % (1 << 64)
            if self.memory.word(address + CPU_SELF) != address:
                break
            self.cpus.append(address)

    def number_of(self, registers: Registers) -> int | None:
        """The kernel's own number of a CPU, by its task state."""
        area = registers.task_state - CPU_TASK_STATE
        return self.cpus.index(area) if area in self.cpus else None

    def places(self, registers: Registers) -> list[_Place]:
        """Where a CPU is, and what called that."""
        number = self.number_of(registers)
        name = f"CPU {registers.cpu if number is None else number}: {registers.state()}, "
        if registers.ring == 3:
            return [self._program_place(name, registers.instruction)]
        if self.kernel.function(registers.instruction) is None:
            if self.kernel.function(registers.instruction + KERNEL_BASE):  # before paging is on
                return [_Place(name, registers.instruction + KERNEL_BASE, self.kernel)]
            where = "in the firmware" if registers.instruction < FIRMWARE_END else "not in the kernel's code"
            return [_Place(name, registers.instruction, None, unnamed=where)]
        found = [_Place(name, registers.instruction, self.kernel)]
        try:
            found += self._caller_of_leaf(registers)
            for caller in self._callers(registers.frame):
                found.append(caller)
            if number is not None:
                found += self._caller_in_program(self.cpus[number])
        except (MonitorError, KeyError):
            pass  # the chain leads into memory that there is not
        return found

    def _program_place(self, before: str, address: int, after_call: bool = False) -> _Place:
        if address >= NODE_PAGES:
            return _Place(before, address, None, unnamed="in the vDSO")
        return _Place(before, address, self.program, after_call, "in the program")

    def _caller_of_leaf(self, registers: Registers) -> list[_Place]:
        """A function that calls no other keeps no frame, and any other one has none at its beginning: the
        return address is the top of the stack, if a call stands before it."""
        function = self.kernel.function(registers.instruction)
        if function is None:
            return []
        frame_at = self.kernel.read(function.address, function.size).find(FRAME_BEGIN)
        if 0 <= frame_at < registers.instruction - function.address:
            return []
        address = self.memory.word(registers.stack)
        if self.kernel.function(address - 1) is None:
            return []
        before = self.kernel.read(address - 7, 7)
        if before[2] != CALL and CALL_BY_POINTER not in (before[0], before[1], before[4], before[5]):
            return []
        return [_Place("  called from ", address, self.kernel, after_call=True)]

    def _callers(self, frame: int) -> Iterator[_Place]:
        """By the chain of frame pointers, as the kernel's own report of a panic does."""
        for _ in range(FRAMES_MAX):
            if frame < DIRECT_MAP or frame % 8 != 0:
                return
            before, address = struct.unpack("<QQ", self.memory.read(frame, 16))
            if self.kernel.function(address - 1) is None:
                return
            yield _Place("  called from ", address, self.kernel, after_call=True)
            if before <= frame:
                return
            frame = before

    def _caller_in_program(self, cpu: int) -> list[_Place]:
        """Where the program has entered the kernel, as saved at the top of the kernel's stack: the frame of
        an exception, or what a system call pushes, the flags and the return address (syscall_entry.asm)."""
        if not self.memory.word(cpu + CPU_THREAD):
            return []
        top = self.memory.word(cpu + CPU_KERNEL_STACK)
        instruction, code, _, second, first = struct.unpack("<5Q", self.memory.read(top - 40, 40))
        if (first, code) == (USER_DATA, USER_CODE):
            return [self._program_place("  entered from the program at ", instruction)]
        if not 0 < second < USER_END:
            return []  # the thread has not been in the program yet
        return [self._program_place("  called by the program at ", second, after_call=True)]

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
        """The file of the flight log as it is now. MonitorError, KeyError where the node is not that far."""
        rings = []
        for cpu in self.cpus:
            ring = self.memory.word(cpu + CPU_KLOG)
            written, last = struct.unpack("<2Q", self.memory.read(ring, 16))
            slots = min(last + 1, klog_file.RING_EVENTS)
            rings.append((written, self.memory.read(ring + RING_EVENTS_AT, slots * klog_file.EVENT_BYTES)))
        hz, boot = (self.memory.word(self.kernel.find(name).address) for name in ("clock_hz", "boot_ticks"))
        return klog_file.pack(hz, boot, self._kinds(), rings)

    def _kinds(self) -> list[tuple[str, str, str]]:
        """The kinds of events, as the kernel's file has them (klog.c): name, words, class."""

        def text(address: int) -> str:
            return self.kernel.read(address, 64).split(b"\0", 1)[0].decode("ascii")

        classes = self.kernel.find("class_names", "klog.c")
        pointers = struct.iter_unpack("<Q", self.kernel.read(classes.address, classes.size))
        names = [text(pointer) for (pointer,) in pointers]
        kinds = self.kernel.find("kinds", "klog.c")
        table = struct.iter_unpack("<QQI4x", self.kernel.read(kinds.address, kinds.size))
        return [(text(name), names[class_], text(words)) for name, words, class_ in table]


def bias_of(program: Symbols) -> int:
    """How far above its linked addresses the kernel loads a program (load.c)."""
    if not program.position_independent or not program.segments:
        return 0
    alignment = max(max(segment.alignment for segment in program.segments), 1)
    return PIE_BASE - (min(segment.address for segment in program.segments) & ~(alignment - 1))


def examine_tacet(kernel: Path, program: Path | None) -> Examine:
    """Of a Tacet node that runs this kernel and this program."""

    def examine(monitor: Monitor, folder: Path) -> Postmortem:
        registers = stopped_registers(monitor)
        symbols = Symbols(program) if program else None
        if symbols is not None:
            symbols.bias = bias_of(symbols)
        node = _TacetNode(_Memory(monitor, folder), Symbols(kernel), symbols)
        try:
            node.find_cpus()
        except (MonitorError, KeyError) as error:
            why = f"{kernel} has no symbol {error}" if isinstance(error, KeyError) else str(error)
            return Postmortem(node.lines(registers), None, f"the flight log is not found: {why}")
        lines = node.lines(registers)
        if not node.cpus:
            return Postmortem(lines, None, "the node has not come as far as its flight log")
        try:
            return Postmortem(lines, node.flight_log())
        except (MonitorError, KeyError, ValueError, IndexError) as error:
            return Postmortem(lines, None, f"the flight log cannot be read: {error}")

    return examine
