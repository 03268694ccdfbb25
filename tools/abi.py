#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Write docs/abi.md from kernel/syscall/syscalls.def: every system call that Tacet has an opinion on.

    tools/abi.py kernel/syscall/syscalls.def > docs/abi.md

The document is kept in the tree, so that it can be read without a build; a test compares it with this
program's output.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

HEADER = """# The Linux system calls of Tacet

<!-- Made by tools/abi.py from kernel/syscall/syscalls.def; `make abi` makes it again. -->

A Tacet node runs ordinary static Linux programs. This page lists every system call that is answered, and
those that are refused by choice. **Any call that is not listed answers `ENOSYS`** and is named once in the
kernel's log by its number: nothing pretends to have worked.

* **local**: carried out on the node.
* **stub**: the whole answer follows from what Tacet is; the reason is given.
* **refused**: answers `ENOSYS` by choice; the reason is given, and logged once.

Addresses are checked by the hardware while the kernel copies: a bad pointer of any kind answers `EFAULT`.

## Memory

A process has one slice of the node's memory, and no more. What it maps with any right is backed by zeroed
memory before the call returns, or the call answers `ENOMEM` and has changed nothing; there are no page faults
later. Address space without rights costs nothing, and what is unmapped goes back at once.

* **Stack:** as large as `stack=` says (8 MiB), all of it backed from the start, above a guard of 2 MiB. It
  does not grow.
* **Heap:** `brk` begins at the next 2 MiB after the program and may grow to 0x100000000000, where `mmap`
  begins to look for room; the limit is the slice. It is backed in steps of 2 MiB.
* **Growing may need spare memory:** where a mapping replaces another one, moves, or gets rights, the page
  tables are counted at their worst (4 KiB for each 2 MiB of it) before anything is changed.
* **Shared files:** `MAP_SHARED` of a file that can be written shows its own memory to all ranks. Pages after
  the file's end are there only if the file reached them when they were mapped (or remapped, or given rights):
  touching others is `SIGBUS`, also after the file has grown. What a file loses by shrinking is zeroed, and
  stays mapped until it is unmapped. `MADV_DONTNEED` leaves it alone, `MADV_REMOVE` zeroes it.
* **Private files** are copied by `mmap`; after the file's end there are zeroes. Shared mappings of files that
  nobody can write are copies, too, and stay read-only. `MAP_SHARED` with `MAP_ANONYMOUS` is private memory,
  because nothing forks.
* **Several threads:** a right that is taken, or memory that is unmapped, is gone on all CPUs when the call
  returns. A thread that touches a range while another one replaces it waits until that is done; a system call
  that gets an address in it meanwhile may answer `EFAULT`.
"""


FOOTER = """
## Without a call: the vDSO

`AT_SYSINFO_EHDR` leads to an ELF file with `__vdso_clock_gettime`, `__vdso_clock_getres`,
`__vdso_gettimeofday`, `__vdso_time` and `__vdso_getcpu`, and the same names without `__vdso_`, all of version
`LINUX_2.6`. They give the kernel's own numbers without entering it; CPU-time clocks, which only the kernel
knows, are read by a system call. Static glibc and musl use them by themselves.

## Files of `/proc` and `/sys`

Formats are Linux's [proc(5)]. A file's text is made when it is opened. What a kernel without paging and
scheduling has no number for is 0.

| file | content |
|---|---|
| `/proc/self/{auxv,cmdline,comm,environ,exe,limits,maps,mounts,stat,statm,status}` | the process itself; `/proc/PID` is the same for its own number and not there for others |
| `/proc/self/fd/N` | a link for each open descriptor; opening it opens the file once more, but for pipes and their like: `ENXIO`. `/dev/fd` and `/dev/{stdin,stdout,stderr}` lead there |
| `/proc/meminfo` | the rank's slice of the node's memory: nobody else takes from it, so free is available |
| `/proc/stat` | times of the process's own CPUs by exact accounting; interrupts of the node; btime |
| `/proc/cpuinfo`, `/proc/interrupts` | all CPUs of the node; interrupts by name, or by number where none is expected |
| `/proc/loadavg` | the node's ranks: nothing waits for a CPU |
| `/proc/{filesystems,mounts,uptime,version}` | |
| `/proc/sys/kernel/{hostname,osrelease,ostype,pid_max,randomize_va_space}`, `random/boot_id` | |
| `/proc/sys/vm/overcommit_memory` | 2: never |
| `/proc/tacet/{clockevents,counters,klog,timers}` | docs/timers.md, docs/flight-log.md |
| `/sys/devices/system/cpu/online` | the process's own CPUs, as `sched_getaffinity`: the number that OpenMP and `sysconf(_SC_NPROCESSORS_ONLN)` go by |
| `/sys/devices/system/cpu/{possible,present}`, `cpuN/topology/{core_id,physical_package_id,thread_siblings_list,core_siblings_list}` | all CPUs of the node |
| `/sys/devices/system/node/online`, `nodeN/cpulist` | the NUMA nodes that have CPUs, and which |
"""  # noqa: E501 -- rows of a table cannot wrap


@dataclass(frozen=True)
class Call:
    """One row: `x86_64` and `ppc64` are Linux's numbers, None where the architecture lacks the call."""

    disposition: str
    name: str
    x86_64: int | None
    ppc64: int | None
    note: str


_ROW = re.compile(r'^(LOCAL|STUB|REFUSED)\((\w+), (-?\d+), (-?\d+),(?: (\d),)? "([^"]*)"\)$')


def parse(text: str) -> list[tuple[str, list[Call]]]:
    """Sections (heading, calls) in the order of the file; a comment line of its own starts a section."""
    sections: list[tuple[str, list[Call]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        if line.startswith("/* "):
            sections.append((line.removeprefix("/* ").removesuffix(" */").rstrip("."), []))
            continue
        row = _ROW.match(line)
        if row is None or not sections:
            raise SystemExit(f"syscalls.def: not understood: {line} (line {number} after the header)")
        numbers = [None if int(row[i]) < 0 else int(row[i]) for i in (3, 4)]
        sections[-1][1].append(Call(row[1].lower(), row[2], numbers[0], numbers[1], row[6]))
    return sections


def document(sections: list[tuple[str, list[Call]]]) -> str:
    """The whole page."""
    calls = [call for _, section in sections for call in section]
    counts = {kind: sum(call.disposition == kind for call in calls) for kind in ("local", "stub", "refused")}
    parts = [
        HEADER,
        f"{len(calls)} calls: {counts['local']} local, {counts['stub']} stubs, {counts['refused']} "
        "refused.\n",
    ]
    for heading, section in sections:
        parts.append(
            f"\n## {heading}\n\n| call | x86_64 | ppc64 | | limits and reasons |\n|---|---:|---:|---|---|\n"
        )
        for call in section:
            numbers = ["—" if n is None else str(n) for n in (call.x86_64, call.ppc64)]
            parts.append(
                f"| `{call.name}` | {numbers[0]} | {numbers[1]} | {call.disposition} | {call.note} |\n"
            )
    return "".join(parts) + FOOTER


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: tools/abi.py kernel/syscall/syscalls.def > docs/abi.md", file=sys.stderr)
        return 2
    text = Path(sys.argv[1]).read_text()
    body = text[text.index("*/", text.index("syscalls.def:")) + 2 :]
    sys.stdout.write(document(parse(body)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
