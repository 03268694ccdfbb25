# SPDX-License-Identifier: BSD-2-Clause
"""The commands `tacet …` of gdb, and the node to which they apply."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import gdb

from debugger import kernel, registers
from debugger.node import Node
from debugger.program import add_symbols
from debugger.session import Session

NODE = Node(Session.received())

LOG_EVENTS = 20


def name_of(value: gdb.Value) -> str:
    """A NUL-padded name in a structure."""
    return value.string(errors="replace")


def who(thread: gdb.Value) -> str:
    process = thread["process"]
    return f"thread {int(thread['tid'])} ({name_of(thread['name'])}) of rank {int(process['rank'])}"


def state_of(cpu: gdb.Value, thread: gdb.Value | None) -> str:
    """What the selected CPU does, as text."""
    if registers.in_program():
        return "computes in its program"
    chain = registers.functions()
    if thread is None:
        idles = "arch_cpu_idle" in chain or "thread_idle" in chain
        return "idles" if idles else "in the kernel, without a thread"
    call = next((f"system call {name[4:]}" for name in chain if name.startswith("sys_")), "")
    if not call and "trap_handle" in chain:
        found = registers.of_program(cpu)
        if found and found.vector is not None:
            call = registers.vector_name(found.vector)
    asleep = int(thread["time"]["idle_since_ns"]) != 0
    if asleep:
        return f"asleep in {call}" if call else "asleep in the kernel"
    return f"in {call}" if call else "in the kernel"


class Command(gdb.Command):
    """A command; it takes no argument unless ARGUMENT is set."""

    NAME = ""
    ARGUMENT = ""

    def __init__(self) -> None:
        super().__init__(f"tacet {self.NAME}", gdb.COMMAND_DATA)

    def invoke(self, argument: str, _: bool) -> None:
        if argument and not self.ARGUMENT:
            raise gdb.GdbError(f"tacet {self.NAME} takes no argument")
        try:
            with kernel.readable():
                for line in self.lines(argument.strip()):
                    gdb.write(f"{line}\n")
        except kernel.Early as early:
            gdb.write(f"{early}\n")

    def lines(self, argument: str) -> Iterator[str]:
        raise NotImplementedError


class Tacet(gdb.Command):
    """The Tacet node that gdb debugs. Its CPUs are gdb's threads: `thread 2` selects the second one.

    tacet thread        the thread of the selected CPU: its state, its program's registers
    tacet rank          the process of the selected CPU: its program, its memory
    tacet cpus          what each CPU runs, and where it is
    tacet log [N]       the newest N events of the selected CPU's flight log
    tacet program FILE  load the symbols of another program; those of the started one are loaded
    tacet start         start the node again, stopped before its first instruction

    Set breakpoints with `hbreak`: `break` needs memory that does not exist before the program runs."""

    def __init__(self) -> None:
        super().__init__("tacet", gdb.COMMAND_DATA, prefix=True)

    def invoke(self, argument: str, _: bool) -> None:
        if argument:
            raise gdb.GdbError(f"no such command: tacet {argument.split()[0]}; `help tacet` lists them")
        gdb.execute("help tacet")


class ThreadCommand(Command):
    """The thread of the selected CPU: its state, its program's registers."""

    NAME = "thread"

    def lines(self, argument: str) -> Iterator[str]:
        cpu = kernel.current_cpu()
        thread = kernel.current_thread()
        yield f"CPU {int(cpu['index'])}: {who(thread) if thread is not None else 'no thread'}"
        yield f"  {state_of(cpu, thread)}, at"
        yield f"  {registers.place(registers.register('rip'))}"
        if thread is None:
            return
        found = registers.of_program(cpu)
        if found is None:
            yield "  its program has not started yet"
            return
        yield f"registers of the program, {found.origin}:"
        yield f"  rip {registers.place(found.values['rip'])}"
        rest = [f"{name:<6} {value:#018x}" for name, value in found.values.items() if name != "rip"]
        for i in range(0, len(rest), 3):
            yield "  " + "  ".join(rest[i : i + 3])


class RankCommand(Command):
    """The process of the selected CPU: its program, its memory."""

    NAME = "rank"

    def lines(self, argument: str) -> Iterator[str]:
        cpu = kernel.current_cpu()
        process = cpu["process"]
        if not int(process):
            yield f"CPU {int(cpu['index'])}: no rank (not started, ended, or none on this CPU)"
            return
        pages, threads = process["pages"], int(process["thread_count"])
        yield (
            f"rank {int(process['rank'])} ({name_of(process['name'])}): pid {int(process['pid'])}, "
            f"{threads} thread{'' if threads == 1 else 's'}, CPUs {kernel.cpus_text(process['cpus'])}"
        )
        if int(process["program_path"]):
            yield f"  program {name_of(process['program_path'])}, bias {int(process['image']['bias']):#x}"
        yield (
            f"  its slice of the memory: {kernel.bytes_text(int(pages['total_bytes']))}, "
            f"of which {kernel.bytes_text(int(pages['free_bytes']))} are free"
        )
        for area in kernel.areas(process):
            start, end, rights = int(area["start"]), int(area["end"]), int(area["rights"])
            flags = "".join(letter if rights >> i & 1 else "-" for i, letter in enumerate("rwx"))
            size = kernel.bytes_text(end - start)
            yield f"  {start:016x}-{end:016x}  {flags}  {size:>10}  {name_of(area['name'])}".rstrip()


class CpusCommand(Command):
    """What each CPU runs, and where it is; * marks the selected one."""

    NAME = "cpus"

    def lines(self, argument: str) -> Iterator[str]:
        kernel.require_node()
        selected = gdb.selected_thread()
        try:
            for machine_cpu in sorted(gdb.selected_inferior().threads(), key=lambda thread: thread.num):
                machine_cpu.switch()
                yield f"{'*' if machine_cpu == selected else ' '} {self.line(machine_cpu.num)}"
        finally:
            selected.switch()

    @staticmethod
    def line(number: int) -> str:
        place = registers.place(registers.register("rip"))
        try:
            cpu = kernel.current_cpu()
        except kernel.Early:
            return f"gdb's thread {number}: not set up by the kernel yet, at {place}"
        thread = cpu["thread"] if int(cpu["thread"]) else None
        runs = who(thread) if thread is not None else "no thread"
        return f"CPU {int(cpu['index'])}: {runs}, {state_of(cpu, thread)}, at {place}"


class LogCommand(Command):
    """The newest N events (default: 20) of the selected CPU's flight log."""

    NAME = "log"
    ARGUMENT = "N"

    def lines(self, argument: str) -> Iterator[str]:
        if argument and not (argument.isascii() and argument.isdecimal() and int(argument) > 0):
            raise gdb.GdbError(f"tacet log takes a number of events, such as 50, not {argument}")
        try:
            from lab.common.errors import LabError
            from lab.flight_log.causes import rows
            from lab.formats.klog import parse
        except ImportError as error:
            raise gdb.GdbError(f"tacet log needs numpy: {error}; ports/deps.sh gdb installs it") from None
        cpu = kernel.current_cpu()
        try:
            log = parse(self.file(cpu, int(argument or LOG_EVENTS)))
        except LabError as error:
            raise gdb.GdbError(str(error)) from None
        if len(log) == 0:
            yield f"CPU {int(cpu['index'])} has logged nothing yet"
            return
        yield from rows(log)

    @staticmethod
    def file(cpu: gdb.Value, wanted: int) -> bytes:
        """The log in its file's format (kernel/debug/klog.h), with the newest events of one CPU."""
        from lab.formats.klog import CPU, EVENT, HEADER, KIND, MAGIC, NAME, VERSION

        memory = gdb.selected_inferior()
        kinds = kernel.static("kernel/debug/klog.c", "kinds")
        kind_count = kinds.type.range()[1] + 1
        hz = int(kernel.static("arch/x86_64/clock.c", "clock_hz"))
        boot_ticks = int(gdb.parse_and_eval("*(unsigned long *)&boot_ticks"))
        index = int(cpu["index"])
        parts = [HEADER.pack(MAGIC, VERSION, index + 1, kind_count, EVENT.itemsize, hz, boot_ticks)]
        parts.append(NAME.pack(b"x86_64"))
        parts.append(bytes(memory.read_memory(int(kinds.address), kind_count * KIND.size)))
        parts += [CPU.pack(other, 0, 0) for other in range(index)]
        ring = cpu["klog"].dereference()
        slots = int(ring["last"]) + 1
        written = int(ring["written"])
        # The slot of the next event may be half-written.
        count = min(wanted, written, slots - 1)
        parts.append(CPU.pack(index, count, written - count))
        events = bytes(memory.read_memory(int(ring["events"].address), slots * EVENT.itemsize))
        for number in range(written - count, written):
            at = number % slots * EVENT.itemsize
            parts.append(events[at : at + EVENT.itemsize])
        return b"".join(parts)


class ProgramCommand(Command):
    """Load the symbols of a program, so that `hbreak main` works: tacet program FILE.

    They are at the linked addresses; for a static-PIE, at the addresses where the kernel loads it."""

    NAME = "program"
    ARGUMENT = "FILE"

    def __init__(self) -> None:
        gdb.Command.__init__(self, "tacet program", gdb.COMMAND_FILES, gdb.COMPLETE_FILENAME)

    def lines(self, argument: str) -> Iterator[str]:
        if not argument:
            raise gdb.GdbError("tacet program needs the program's file")
        yield add_symbols(Path(argument).expanduser())


class StartCommand(Command):
    """Start the node again, stopped before its first instruction. Breakpoints stay."""

    NAME = "start"

    def __init__(self) -> None:
        super().__init__()
        self.started = False

    def lines(self, argument: str) -> Iterator[str]:
        NODE.start()
        shown = os.path.relpath(NODE.session.output("console"))
        if not self.started:
            self.started = True
            gdb.execute("hbreak kernel_start", to_string=True)
            yield add_symbols(Path(NODE.session.program))
        yield f"Console: {shown}. The node is stopped before its first instruction. A breakpoint at"
        yield 'kernel_start is set: "continue" goes there. "help tacet" lists further commands.'


for command in (Tacet, ThreadCommand, RankCommand, CpusCommand, LogCommand, ProgramCommand, StartCommand):
    command()


def begin() -> None:
    """Start the session's first node; end gdb if that fails."""
    try:
        gdb.execute("tacet start")
    except gdb.error as error:
        gdb.write(f"tools/gdb: {error}\n", gdb.STDERR)
        gdb.execute("quit 1")
