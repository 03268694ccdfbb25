#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Write docs/abi.md from kernel/syscall/syscalls.def: every system call that Tacet answers or refuses.

    tools/abi.py kernel/syscall/syscalls.def > docs/abi.md

The document is kept in the tree, so that it can be read without a build; `make abi` writes it again.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

HEADER = """# The Linux system calls of Tacet

<!-- Made by tools/abi.py from kernel/syscall/syscalls.def; `make abi` makes it again. -->

A Tacet node runs ordinary static Linux programs. This page lists every system call that is answered, and
those that are refused on purpose. **Any call that is not listed answers `ENOSYS`** and is logged once, by its
number: nothing pretends to have worked.

* **local**: carried out on the node.
* **stub**: checks its arguments; beyond that the answer follows from what Tacet is, and the reason is given.
* **constant**: always answers the value that is given, with the reason.
* **refused**: answers `ENOSYS` on purpose; the reason is given, and logged once.
* **probed**: answers `ENOSYS`, and nothing is logged: C libraries and tools try it, and go on without it.

Where the limits say "as" another call, the limits of that call hold.

The hardware checks addresses while the kernel copies: a bad pointer of any kind answers `EFAULT`.

## Memory

A process has one slice of the node's memory, and no more. What it maps with any access right is backed by
zeroed memory before the call returns; otherwise the call answers `ENOMEM` and has changed nothing. There are
no page faults later. Address space without access rights costs nothing, and unmapped memory returns to the
slice at once.

* **Stack:** as large as `stack=` says (8 MiB), all of it backed from the start, above a guard of 2 MiB. It
  does not grow.
* **Heap:** `brk` begins at the next multiple of 2 MiB above the program and may grow to 0x100000000000, where
  `mmap` begins to search for room; the limit is the slice. It is backed in steps of 2 MiB.
* **Growing may need spare memory:** where a mapping replaces another one, moves, or gets access rights, the
  slice must have the maximum that its page tables can need (4 KiB for each 2 MiB) before anything changes.
* **Shared files:** `MAP_SHARED` of a file that can be written shows the file's own memory to all ranks. Pages
  beyond the file's end exist only if the file reached them when they were mapped (or remapped, or given
  access rights): touching others is `SIGBUS`, even after the file has grown. What a file loses by shrinking
  is zeroed, and stays mapped until it is unmapped. `MADV_DONTNEED` leaves it alone, `MADV_REMOVE` zeroes it.
* **Private files** are copied by `mmap`, with zeroes beyond the file's end. Shared mappings of files that
  nobody can write are copies, too, and stay read-only. `MAP_SHARED` with `MAP_ANONYMOUS` is private memory,
  because nothing forks.
* **Several threads:** an access right that is taken away, or memory that is unmapped, is gone on all CPUs
  when the call returns. A thread that touches a range while another one replaces it waits until the
  replacement is complete; a system call that is given an address in it meanwhile may answer `EFAULT`.
"""


FOOTER = """
## Processes and threads

A node runs one process for each rank, and perhaps a service. A process may have as many threads as
`threads=` says (16) for each of its CPUs, then `clone` answers `EAGAIN`. They share these CPUs:

| policy | | rights on Linux, and here |
|---|---|---|
| `SCHED_OTHER`, `SCHED_BATCH` | a thread keeps its CPU until it blocks. Only while others of this class wait for the same CPU, it rotates with them: each turn lasts `rotation=` (4 ms) at least, or until it blocks, with `rotation=off`. Then a thread that never blocks keeps its CPU from who waits for it | none; granted |
| `SCHED_FIFO` | before all others, by priority, 1 to 99; no turns | `CAP_SYS_NICE` or `RLIMIT_RTPRIO`; granted, for the program is root |
| `SCHED_RR` | the same, with turns among equal priorities | the same |
| `SCHED_IDLE` | runs only while no other thread wants the CPU, and interrupts none: its timers are not armed, and it is woken, without an interrupt, when its CPU becomes idle | none; granted |

`nice` values are stored, and have no effect: turns are alike. `sched_yield` lets those of the same class go
first. A thread that blocks costs its CPU nothing: where nobody else waits for the CPU, it idles.

## Without a call: the vDSO

`AT_SYSINFO_EHDR` points to an ELF file with `__vdso_clock_gettime`, `__vdso_clock_getres`,
`__vdso_gettimeofday`, `__vdso_time` and `__vdso_getcpu`, and the same names without `__vdso_`, all of version
`LINUX_2.6`; on POWER `__kernel_clock_gettime` and so on, `__kernel_get_tbfreq` and the signals' trampoline
`__kernel_sigtramp_rt64`, all of version `LINUX_2.6.15`. They give the kernel's own numbers without entering
it; only for the CPU-time clocks, which it alone knows, they make the system call. Static glibc and musl use
them by themselves, musl on x86_64 alone.

## Files of `/proc` and `/sys`

Formats are those of Linux's proc(5). A file's text is generated when it is opened. What a kernel without
paging and scheduling has no number for is 0.

| file | contents |
|---|---|
| `/proc/self/{auxv,cmdline,comm,cwd,environ,exe,limits,maps,mounts,stat,statm,status}` | the process itself; `/proc/PID` is the same for its own number and does not exist for others |
| `/proc/self/task/TID/{auxv,cmdline,comm,environ,limits,maps,stat,statm,status}` | the same of each of its threads; `/proc/thread-self` leads to the caller's |
| `/proc/self/comm`, `/proc/self/task/TID/comm` | writing names the thread, of the process the first one (`pthread_setname_np`) |
| `/proc/self/fd/N` | a link for each open descriptor; opening it opens the file once more, except for pipes and the like: `ENXIO`. `/dev/fd` and `/dev/{stdin,stdout,stderr}` lead there |
| `/proc/meminfo` | the rank's slice of the node's memory: nobody else allocates from it, so what is free is available |
| `/proc/stat` | times of the process's own CPUs by exact accounting; interrupts of the node; btime |
| `/proc/cpuinfo`, `/proc/interrupts` | all CPUs of the node; interrupts by name, or by number where none is expected |
| `/proc/loadavg` | the node's ranks |
| `/proc/{filesystems,mounts,uptime,version}` | |
| `/proc/sys/kernel/{hostname,osrelease,ostype,pid_max,randomize_va_space}`, `random/boot_id` | |
| `/proc/sys/vm/overcommit_memory` | 2: never |
| `/proc/tacet/{clockevents,counters,klog,nettick,timers}` | docs/timers.md, docs/flight-log.md, docs/nettick.md |
| `/proc/tacet/threads` | for each CPU: switches between threads, turns that were over (rotations), IPIs that a thread which became ready had to send, threads that wait for it now |
| `/proc/tacet/priorities` | a line for each thread of the node: its hardware priority; writing a digit, 1 to 6, sets the writer's (`EOPNOTSUPP` where CPUs have none); docs/balancer.md |
| `/proc/tacet/iterations` | a line for each process: CPU time of its threads (running) and what was left of its CPUs' time (waiting), in its last iteration and in all of them; writing `mark` ends an iteration [Betti09 §IV] |
| `/sys/devices/system/cpu/online` | the process's own CPUs, as `sched_getaffinity`: the number that OpenMP and `sysconf(_SC_NPROCESSORS_ONLN)` use |
| `/sys/devices/system/cpu/{possible,present}`, `cpuN/topology/{core_id,physical_package_id,thread_siblings_list,core_siblings_list}` | all CPUs of the node |
| `/sys/devices/system/node/online`, `nodeN/cpulist` | the NUMA domains that have CPUs, and which |
"""


KINDS = ("local", "stub", "constant", "refused", "probed")


@dataclass(frozen=True)
class Call:
    """One row: `x86_64` and `ppc64` are Linux's numbers, None where the architecture lacks the call."""

    disposition: str
    name: str
    x86_64: int | None
    ppc64: int | None
    note: str


# Macro, name, both numbers, what only some macros have, and the text: adjacent strings, as in C.
_ROW = re.compile(
    r"(LOCAL|STUB|CONST|ALIAS|REFUSED|PROBED)\((\w+), (-?\d+), (-?\d+),"
    r'(?: ([^"]*?),)?((?:\s*"[^"]*")+)\)'
)
_ALIAS = re.compile(r"(\w+), \((.*)\)")


def rows(text: str) -> list[str]:
    """The file's comments and macro calls, each as one line; preprocessor lines are left out."""
    found: list[str] = []
    for line in text.splitlines():
        if line.startswith(" "):
            found[-1] += "\n" + line
        elif line.strip() and not line.startswith("#"):
            found.append(line)
    return found


def call_of(row: re.Match[str], known: dict[str, Call]) -> Call:
    """The call of a row; an alias is of the kind of the call that it leads to."""
    macro, name, x86_64, ppc64, middle, strings = row.groups()
    note = "".join(re.findall(r'"([^"]*)"', strings))
    disposition = macro.lower()
    if macro == "CONST":
        disposition, note = "constant", f"{middle.removeprefix('-')}: {note}"
    elif macro == "ALIAS":
        alias = _ALIAS.fullmatch(middle)
        if alias is None or alias[1] not in known:
            raise SystemExit(f"syscalls.def: {name} is an alias of nothing that is listed")
        disposition = known[alias[1]].disposition
        note = f"as {alias[1]}" + (f"; {note}" if note else "")
    numbers = [None if int(number) < 0 else int(number) for number in (x86_64, ppc64)]
    return Call(disposition, name, numbers[0], numbers[1], note)


def parse(text: str) -> list[tuple[str, list[Call]]]:
    """Sections (heading, calls) in the order of the file; a comment line of its own starts a section."""
    matches: dict[str, re.Match[str]] = {}
    sections: list[tuple[str, list[str]]] = []
    for line in rows(text):
        if line.startswith("/* "):
            sections.append((line.removeprefix("/* ").removesuffix(" */").rstrip("."), []))
            continue
        row = _ROW.fullmatch(line)
        if row is None or not sections:
            raise SystemExit(f"syscalls.def: cannot parse: {line}")
        matches[row[2]] = row
        sections[-1][1].append(row[2])
    known = {name: call_of(row, {}) for name, row in matches.items() if row[1] != "ALIAS"}
    known |= {name: call_of(row, known) for name, row in matches.items() if row[1] == "ALIAS"}
    return [(heading, [known[name] for name in names]) for heading, names in sections]


def document(sections: list[tuple[str, list[Call]]]) -> str:
    """The whole page."""
    calls = [call for _, section in sections for call in section]
    counts = {kind: sum(call.disposition == kind for call in calls) for kind in KINDS}
    kinds = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    parts = [HEADER, f"\n{len(calls)} calls: {kinds}.\n"]
    for heading, section in sections:
        parts.append(f"\n## {heading}\n\n| call | x86_64 | ppc64 | | limits and reasons |\n")
        parts.append("|---|---:|---:|---|---|\n")
        for call in section:
            numbers = ["—" if n is None else str(n) for n in (call.x86_64, call.ppc64)]
            cells = [f"`{call.name}`", *numbers, call.disposition, call.note]
            parts.append(f"| {' | '.join(cells)} |\n")
    return "".join(parts) + FOOTER


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: tools/abi.py kernel/syscall/syscalls.def > docs/abi.md", file=sys.stderr)
        return 2
    text = Path(sys.argv[1]).read_text()
    body = text[text.index("*/", text.index("syscalls.def:")) + 2 :]  # without the comment at its head
    sys.stdout.write(document(parse(body)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
