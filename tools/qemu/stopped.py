# SPDX-License-Identifier: BSD-2-Clause
"""What postmortem.py needs to know about each architecture: QEMU's names of registers, a node's memory
layout, struct cpu, how to find a function's callers, and the kernel's saved state of the program."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .symbols import Symbols

CPUS_MAX = 1024
FRAMES_MAX = 16

#: Reads bytes at a kernel address: (address, count).
Read = Callable[[int, int], bytes]


@dataclass(frozen=True)
class Registers:
    """The registers of one CPU. `shown` has the instruction and stack addresses under the architecture's
    names; `area` is the address of its struct cpu."""

    cpu: int
    instruction: int
    stack: int
    frame: int
    link: int
    state: str
    in_program: bool
    area: int
    shown: str


def _number(pattern: str, text: str, base: int = 16) -> int:
    match = re.search(rf"\b{pattern}", text)
    return int(match[1], base) if match else 0


def _word(read: Read, address: int) -> int:
    return int.from_bytes(read(address, 8), "little")


class X86_64:
    KERNEL_BASE = 0xFFFFFFFF80000000  # physical 0, for the kernel's image
    DIRECT_MAP = 0xFFFF800000000000  # physical 0, for everything else
    PIE_BASE = 0x40000000000
    NODE_PAGES = 0x7FFFFFA00000  # the first stack ends here; above it facts, counters and the vDSO
    USER_END = 1 << 47
    FIRMWARE_END = 1 << 20
    INTERRUPTS_ON = 1 << 9
    CALL, CALL_BY_POINTER = 0xE8, 0xFF  # opcodes: with a 32-bit distance; two to seven bytes long
    FRAME_BEGIN = b"\x55\x48\x89\xe5"  # PUSH RBP; MOV RBP, RSP
    USER_DATA, USER_CODE = 0x1B, 0x23

    #: Offsets in struct cpu; tests/qemu/test_postmortem.py compares them with the kernel's.
    FIELDS = {"kernel_stack": 0x6008, "klog": 0x6018, "thread": 0x6028, "task_state": 0x60A8}
    CLOCK_HZ = ("clock_hz", 0)  # an object, and the offset in it

    @classmethod
    def registers(cls, text: str) -> Registers:
        ring, flags = _number(r"CPL=(\d)", text), _number(r"[RE]?FL=([0-9a-f]+)", text)
        words = [f"ring {ring}", *(["halted"] if _number(r"HLT=(\d)", text) else [])]
        if ring == 0:
            words.append(f"interrupts {'on' if flags & cls.INTERRUPTS_ON else 'off'}")
        instruction, stack = (_number(rf"[RE]{name}=([0-9a-f]+)", text) for name in ("IP", "SP"))
        return Registers(
            cpu=int(text.split(None, 1)[0]),
            instruction=instruction,
            stack=stack,
            frame=_number(r"[RE]BP=([0-9a-f]+)", text),
            link=0,
            state=", ".join(words),
            in_program=ring == 3,
            area=_number(r"TR =[0-9a-f]+ ([0-9a-f]+)", text) - cls.FIELDS["task_state"],
            shown=f"rip {instruction:016x}, rsp {stack:016x}",
        )

    @classmethod
    def callers(cls, registers: Registers, kernel: Symbols, read: Read) -> Iterator[int]:
        """Return addresses from the chain of frame pointers, as in the kernel's own report of a panic."""
        yield from cls._caller_of_leaf(registers, kernel, read)
        frame = registers.frame
        for _ in range(FRAMES_MAX):
            if frame < cls.DIRECT_MAP or frame % 8 != 0:
                return
            before, address = struct.unpack("<QQ", read(frame, 16))
            if kernel.function(address - 1) is None:
                return
            yield address
            if before <= frame:
                return
            frame = before

    @classmethod
    def _caller_of_leaf(cls, registers: Registers, kernel: Symbols, read: Read) -> Iterator[int]:
        """The return address of a function without a frame: a leaf function, or any function at its
        beginning. It is on top of the stack, if the instruction before it is a call."""
        function = kernel.function(registers.instruction)
        if function is None:
            return
        frame_at = kernel.read(function.address, function.size).find(cls.FRAME_BEGIN)
        if 0 <= frame_at < registers.instruction - function.address:
            return
        address = _word(read, registers.stack)
        if kernel.function(address - 1) is None:
            return
        before = kernel.read(address - 7, 7)
        if before[2] == cls.CALL or cls.CALL_BY_POINTER in (before[0], before[1], before[4], before[5]):
            yield address

    @classmethod
    def left_at(cls, top: int, chain: list[str], read: Read) -> tuple[int, bool]:
        """The address where the program has entered the kernel, and whether it was by a system call. It is
        saved at the top of the kernel's stack: in an exception's frame; or by a system call, which pushes the
        flags and the return address (syscall_entry.asm). 0: the thread has not been in the program yet."""
        instruction, code, _, second, first = struct.unpack("<5Q", read(top - 40, 40))
        if (first, code) == (cls.USER_DATA, cls.USER_CODE):
            return instruction, False
        return (second, True) if 0 < second < cls.USER_END else (0, True)


class Ppc64:
    KERNEL_BASE = DIRECT_MAP = 0xC000000000000000
    PIE_BASE = 0x40000000000
    NODE_PAGES = 0x7FFFFBA00000
    USER_END = 1 << 52
    FIRMWARE_END = 1 << 62
    INTERRUPTS_ON, PROBLEM_STATE = 1 << 15, 1 << 14  # of MSR
    FRAME_BEGIN = b"\x21\xf8"  # the upper half of `stdu r1, -N(r1)`
    CALL_BY_POINTER = 0x4E800421  # bctrl

    #: Offsets in struct cpu; SPRG0 has the address of its middle.
    MIDDLE = 0x40000
    FIELDS = {"kernel_stack": 0x3F000, "klog": 0x3F028, "thread": 0x3F038}
    CLOCK_HZ = ("machine", 0x40)
    FRAME_BYTES, FRAME_INSTRUCTION = 352, 256  # of struct trap_frame; MSR follows the instruction

    @classmethod
    def registers(cls, text: str) -> Registers:
        state = _number(r"MSR ([0-9a-f]+)", text)
        in_program = bool(state & cls.PROBLEM_STATE)
        instruction, stack = _number(r"NIP ([0-9a-f]+)", text), _number(r"GPR00 \w+ ([0-9a-f]+)", text)
        return Registers(
            cpu=int(text.split(None, 1)[0]),
            instruction=instruction,
            stack=stack,
            frame=stack,
            link=_number(r"LR ([0-9a-f]+)", text),
            state="problem state"
            if in_program
            else f"supervisor state, interrupts {'on' if state & cls.INTERRUPTS_ON else 'off'}",
            in_program=in_program,
            area=_number(r"SPRG0 ([0-9a-f]+)", text) - cls.MIDDLE,
            shown=f"nip {instruction:016x}, r1 {stack:016x}",
        )

    @classmethod
    def callers(cls, registers: Registers, kernel: Symbols, read: Read) -> Iterator[int]:
        """Return addresses: first the link register's, if the function has no frame (yet); then those of the
        chain of frames. A called function stores its return address in its caller's frame."""
        function = kernel.function(registers.instruction)
        if function is None:
            return
        begun = kernel.read(function.address, registers.instruction - function.address)
        if cls.FRAME_BEGIN not in (begun[at + 2 : at + 4] for at in range(0, len(begun), 4)):
            if cls._is_return(registers.link, kernel):
                yield registers.link
        frame = registers.frame
        for _ in range(FRAMES_MAX):
            if frame < cls.DIRECT_MAP or frame % 8 != 0:
                return
            before = _word(read, frame)
            if before <= frame:
                return
            address = _word(read, before + 16)
            if not cls._is_return(address, kernel):
                return
            yield address
            frame = before

    @classmethod
    def _is_return(cls, address: int, kernel: Symbols) -> bool:
        if kernel.function(address - 1) is None:
            return False
        call = int.from_bytes(kernel.read(address - 4, 4), "little")
        return call & 0xFC000003 == 0x48000001 or call == cls.CALL_BY_POINTER

    @classmethod
    def left_at(cls, top: int, chain: list[str], read: Read) -> tuple[int, bool]:
        """As for x86_64. In both cases a struct trap_frame is at the top of the kernel's stack; the outermost
        function tells whether it was a system call."""
        frame = read(top - cls.FRAME_BYTES, cls.FRAME_BYTES)
        instruction, state = struct.unpack_from("<2Q", frame, cls.FRAME_INSTRUCTION)
        by_call = bool(chain) and chain[-1].startswith("syscall_entry")
        return (instruction if state & cls.PROBLEM_STATE and instruction < cls.USER_END else 0), by_call


Layout = type[X86_64] | type[Ppc64]

LAYOUTS: dict[str, Layout] = {"x86_64": X86_64, "ppc64": Ppc64}


def registers_of(text: str) -> list[Registers]:
    """The registers in the monitor's answer to `info registers -a`."""
    parts = re.split(r"^CPU#", text.replace("\r", ""), flags=re.MULTILINE)[1:]
    return [(Ppc64 if re.search(r"^NIP ", part, re.MULTILINE) else X86_64).registers(part) for part in parts]
