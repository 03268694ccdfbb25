# SPDX-License-Identifier: BSD-2-Clause
"""Where a CPU is, and the registers of its program: in the CPU, or where the entry code has stored them.

An entry to the kernel begins at the top of the CPU's stack. A trap, and a system call's slow return, have a
`struct trap_frame` there (arch/trap.h). A system call stores R11 (the program's flags), RCX (its return
address) and its arguments there, and RSP in the CPU's area (syscall_entry.asm).
"""

from __future__ import annotations

from dataclasses import dataclass

import gdb

from debugger.kernel import readable, word

SELECTOR_USER_DATA = 0x1B
SELECTOR_USER_CODE = 0x23
CPU_STACK_BYTES = 16384
USER_LIMIT = 0x00007FFFFFFFF000

GENERAL = "rax rbx rcx rdx rsi rdi rbp r8 r9 r10 r11 r12 r13 r14 r15".split()
#: The words below the top of the stack after a system call.
CALL_REGISTERS = ["eflags", "rip", "rdi", "rsi", "rdx", "r10", "r8", "r9"]
#: Fields of struct trap_frame whose names differ from the registers'.
FRAME_FIELDS = {"rip": "instruction", "rsp": "stack", "eflags": "flags"}


@dataclass(frozen=True)
class Registers:
    """The known registers of the program. `origin` says where they were found; `vector` is the trap that
    interrupted the program (None: a system call, or no interruption)."""

    values: dict[str, int]
    origin: str
    vector: int | None = None


def register(name: str) -> int:
    return int(gdb.newest_frame().read_register(name)) & (2**64 - 1)


def in_program() -> bool:
    """Whether the selected CPU executes its program."""
    return register("cs") & 3 == 3


def _of_cpu() -> Registers:
    return Registers({name: register(name) for name in ("rip", "rsp", "eflags", *GENERAL)}, "in the CPU")


def _of_frame(at: int, sp: int) -> Registers:
    """The registers that the CPU and the entry code have stored, down to the stack pointer `sp`."""
    pointer = gdb.lookup_type("struct trap_frame").pointer()
    with readable():
        frame = gdb.Value(at).cast(pointer).dereference()
        names = {name: FRAME_FIELDS.get(name, name) for name in ("rip", "rsp", "eflags", *GENERAL)}
        stored = {name: frame[field] for name, field in names.items() if int(frame[field].address) >= sp}
        values = {name: int(value) for name, value in stored.items()}
        vector = int(frame["vector"]) if int(frame["vector"].address) >= sp else None
        return Registers(values, "saved by the trap's entry code", vector)


def _of_call(cpu: gdb.Value, top: int, sp: int) -> Registers | None:
    stored = CALL_REGISTERS[: (top - sp) // 8]
    values = {name: word(top - 8 * (i + 1)) for i, name in enumerate(stored)}
    flags = values["eflags"]
    # In RFLAGS, bit 1 is one, and bits 3, 5, 15 and from 22 up are zero. Any other value there belongs to a
    # frame of a C function, on a CPU that has not run a program yet.
    if flags >> 22 or flags & 0x802A != 2 or values["rip"] >= USER_LIMIT:
        return None
    return Registers({"rsp": int(cpu["user_stack"]), **values}, "saved by the system call's entry code")


def _entering(cpu: gdb.Value, top: int, sp: int) -> Registers | None:
    """The program's registers if the CPU is in the first instructions of a system call, where they are still
    in the CPU; or None."""
    if 0 < top - 16 < sp <= top:
        sp = int(cpu["user_stack"])
    if sp >= USER_LIMIT:
        return None
    return Registers({"rip": register("rcx"), "rsp": sp, "eflags": register("r11")}, "in the CPU")


def of_program(cpu: gdb.Value) -> Registers | None:
    """The registers of the selected CPU's program; None if it has not entered a program yet."""
    if in_program():
        return _of_cpu()
    with readable():
        top, sp = int(cpu["kernel_stack"]), register("rsp")
        entering = _entering(cpu, top, sp)
    if entering:
        return entering
    if not top - CPU_STACK_BYTES <= sp < top:
        sp = top - CPU_STACK_BYTES  # on the stack of an NMI or similar: the entry below it is complete
    if word(top - 8) == SELECTOR_USER_DATA and word(top - 32) == SELECTOR_USER_CODE:
        return _of_frame(top - gdb.lookup_type("struct trap_frame").sizeof, sp)
    return _of_call(cpu, top, sp)


def vector_name(vector: int) -> str:
    """The name of a vector in the kernel's enum trap_vector, in words."""
    for field in gdb.lookup_type("enum trap_vector").fields():
        if field.enumval == vector:
            return field.name.split("_", 1)[1].lower().replace("_", " ")
    return f"interrupt {vector:#x}"


def functions() -> list[str]:
    """The functions of the selected CPU's call chain, the innermost first."""
    names = []
    frame = gdb.newest_frame()
    while frame is not None and frame.is_valid() and len(names) < 64:
        if frame.name():
            names.append(frame.name())
        try:
            frame = frame.older()
        except gdb.error:
            break
    return names


def place(address: int) -> str:
    """An address with its function and line."""
    said = gdb.execute(f"info symbol {address:#x}", to_string=True).strip()
    line = gdb.find_pc_line(address)
    text = f"{address:#018x}"
    if " in section " in said:
        text += "  " + said.split(" in section ")[0].replace(" + ", "+")
    if line.symtab is not None and line.line:
        text += f" ({line.symtab.filename}:{line.line})"
    return text
