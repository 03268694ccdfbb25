#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Write docs/abi.md from kernel/syscall/syscalls.def: every system call that Tacet answers or refuses.

    tools/abi.py kernel/syscall/syscalls.def > docs/abi.md

The document is kept in the tree, so that it can be read without a build; `make abi` writes it again.
"""

from __future__ import annotations

import re
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

HEADER = """# The Linux system calls of Tacet

<!-- Made by tools/abi.py from kernel/syscall/syscalls.def; `make abi` makes it again. -->

**A call that is not on this page answers `ENOSYS`**, and [a message](porting.md#when-it-does-not-work) names
its number once for each process. After a call's name are its numbers on x86_64 and on ppc64 (—: the
architecture lacks it). The node carries a call out, unless its row says otherwise:

* *stub*: checks its arguments; the rest of the answer is fixed, for the reason given.
* *constant*: always answers the value given.
* *refused*: answers `ENOSYS`; the message gives the reason.
* *probed*: answers `ENOSYS` without a message.

A bad pointer answers `EFAULT`. LMDB's, libuv's and hwloc's own tests, and those of Go's library, run here as
on Linux; [the differences](../tests/suites/differences) have their reasons.

## Memory

A process has one slice of the node's memory. What it maps with any access right is backed by zeroed memory
before the call returns; otherwise the call answers `ENOMEM` and changes nothing. So there are no page faults.
Addresses without access rights take no memory. Unmapped memory returns to the slice at once.

* **Stack:** `stack=` (default 8 MiB), backed from the start, above a guard of 2 MiB. It does not grow.
* **Heap:** `brk` begins at the next multiple of 2 MiB above the program, and grows in backed steps of 2 MiB,
  to 0x100000000000 (where `mmap` begins to search) or the slice's end.
* **Spare memory:** before a mapping replaces another one, moves or gets access rights, the slice must have
  the most that its page tables can need: 4 KiB for each 2 MiB.
* **Shared files:** `MAP_SHARED` of a writable file shows the file's own memory to all ranks. Above the file's
  last page is `SIGBUS`; what the file grows by is there at once, by any rank, and what it is cut by
  is gone. The page tables are the file's: all mappings of one part with the same rights share them, 8 such
  kinds a file, from the memory of the rank that mapped first. Other mappings (with MAP_FIXED or a hint, above
  512 GiB, of further kinds; those of which a part is changed, or moved by MREMAP_FIXED, or any rights by
  `mprotect`) map growth when it is touched, by the only page fault that there is (`EFAULT` if a system call
  touches it first), and read zeroes where the file was cut. If a rank has no memory for tables, the file
  grows nevertheless, and the rank's touch is `SIGBUS`, with a line that says why. `MADV_DONTNEED` leaves
  shared files alone.
* **Private files** are copied by `mmap`, with zeroes after the file's end, and do not follow later writes; so
  is a shared mapping of a read-only file. `MAP_SHARED` with `MAP_ANONYMOUS` is private memory, because
  nothing forks.
* **Executable stacks:** if a program's PT_GNU_STACK asks for them (nested functions), its stack, and what it
  maps with MAP_STACK, as glibc does for threads, may be writable and executable; without such a header, only
  the latter; nothing else ever. `execstack=off` refuses programs that ask.
* **Threads:** when memory is unmapped or loses an access right, it has done so on all CPUs before the call
  returns. A thread that touches a range while another one replaces it waits; a system call with an address in
  it may answer `EFAULT`.
"""


FOOTER = """
## Processes and threads

A node runs one process for each rank, and a service with the option [`service=`](boot.md). A process may have
`threads=` threads (default 128) for each of its CPUs. They share these CPUs by their policies, which any
process may set:

| policy | which thread runs |
|---|---|
| `SCHED_OTHER`, `SCHED_BATCH` | a thread keeps its CPU until it blocks. While others of this class wait for the CPU, they take turns of at least `rotation=` (default 4 ms); never with `rotation=off` |
| `SCHED_FIFO` | goes before those, by priority, 1 to 99; no turns |
| `SCHED_RR` | as `SCHED_FIFO`, with turns among equal priorities |
| `SCHED_IDLE` | runs only while no other thread wants the CPU, and interrupts none: its timers are not armed then, and wake-ups send no interrupt |

## Options of sockets

Options are kept and read back as on Linux. Of `SOL_SOCKET`: `SO_REUSEADDR`, `SO_REUSEPORT` (at most 1,024
sockets; each peer's go to one of them), `SO_BROADCAST`, `SO_KEEPALIVE`, `SO_LINGER`, `SO_RCVTIMEO`,
`SO_SNDTIMEO`, `SO_RCVBUF`, `SO_SNDBUF`, `SO_RCVLOWAT` (TCP), `SO_PASSCRED`, `SO_TIMESTAMP` and
`SO_TIMESTAMPNS` (datagrams). Of IP: `IP_TOS`, `IP_TTL`, `IP_FREEBIND`, `IP_BIND_ADDRESS_NO_PORT` (TCP),
`IP_MTU`; for datagrams `IP_PKTINFO`, `IP_RECVTTL`, `IP_RECVTOS`, `IP_RECVERR`, `IP_HDRINCL` and multicast.
These are limited, or have no effect:

| option | what it does |
|---|---|
| `TCP_NODELAY`, `TCP_CORK`, `TCP_KEEPIDLE`, `TCP_KEEPINTVL`, `TCP_KEEPCNT`, `TCP_USER_TIMEOUT`, `TCP_NOTSENT_LOWAT`, `TCP_WINDOW_CLAMP`, `TCP_DEFER_ACCEPT` | as on Linux, in steps of 100 ms |
| `TCP_SYNCNT` | one attempt in 3 s, at most 12 |
| `TCP_LINGER2` | at most 20 s |
| `TCP_MAXSEG` | limits what is sent |
| `TCP_CONGESTION` | `reno` is the only one: ENOENT |
| `IP_MTU_DISCOVER` | DO and PROBE: EMSGSIZE for datagrams above the card's MTU; no packet carries DF |
| `IP_RECVERR` | errors also without `connect`; no error queue: MSG_ERRQUEUE answers EAGAIN |
| `SO_PRIORITY`, `SO_MARK`, `SO_DONTROUTE`, `SO_BINDTODEVICE` | nothing: one card, without queues and filters |
| `SO_BUSY_POLL`, `TCP_QUICKACK` | nothing: each call of the network polls, and acknowledges |
| `TCP_FASTOPEN`, `TCP_FASTOPEN_CONNECT`, `SO_OOBINLINE`, `IP_RETOPTS` | nothing: no bytes in SYN, no urgent bytes, no options of IP |

## Without a call: the vDSO

`AT_SYSINFO_EHDR` points to an ELF file with these functions. They do not enter the kernel, except for
CPU-time clocks. Static glibc uses them, musl on x86_64 only.

* x86_64, version `LINUX_2.6`: `__vdso_clock_gettime`, `__vdso_clock_getres`, `__vdso_gettimeofday`,
  `__vdso_time`, `__vdso_getcpu`, and the same names without `__vdso_`.
* POWER, version `LINUX_2.6.15`: the same as `__kernel_clock_gettime` and so on, `__kernel_get_tbfreq`, and
  the signals' trampoline `__kernel_sigtramp_rt64`.

## Files of `/proc` and `/sys`

Formats are those of Linux's proc(5). A file's text is made when it is opened. Numbers that this kernel does
not have are 0 in lines with fixed fields; else their line is missing.

| file | contents |
|---|---|
| `/proc/self/{auxv,cmdline,comm,cwd,environ,exe,limits,maps,mountinfo,mounts,root,sched,stat,statm,status}` | the process; `/proc/PID`: its own number only |
| `/proc/self/task/TID/…` | the same of its threads; `/proc/thread-self`: the caller |
| `/proc/self/comm`, `/proc/self/task/TID/comm` | writing names the first thread, or this one |
| `/proc/self/{smaps,smaps_rollup,numa_maps}` | the mappings, all backed, locked and dirty; `Pss` counts shared memory in full; nodes of pages by their addresses |
| `/proc/self/{cgroup,gid_map,oom_score,oom_score_adj,uid_map}` | the root group, no maps, 0 |
| `/proc/self/io` | no storage: 0 bytes. What calls copy is not counted |
| `/proc/self/fd/N` | a link for each open descriptor; opening it opens the file again (pipes and the like: `ENXIO`). `/dev/fd`, `/dev/{stdin,stdout,stderr}` lead there |
| `/proc/net/{raw,sockstat,tcp,udp,unix}` | the process's own sockets |
| `/proc/net/{dev,igmp,route}`, `/sys/class/net/NAME/{address,carrier,flags,ifindex,mtu,operstate,type}` | the node's interfaces |
| `/proc/{meminfo,vmstat}`, `/proc/loadavg` | the rank's slice; the node's ranks |
| `/proc/stat` | exact times of the process's own CPUs; interrupts, switches of the node; btime |
| `/proc/cpuinfo`, `/proc/interrupts` | the node's CPUs; its interrupts by name, unexpected ones by number |
| `/proc/cmdline` | the loader's options without keys, then the program's arguments |
| `/proc/{diskstats,filesystems,modules,mounts,swaps,uptime,version}`, `/proc/sys/kernel/{hostname,numa_balancing,osrelease,ostype,pid_max,randomize_va_space,random/boot_id,version}` | |
| `/proc/sys/vm/{max_map_count,overcommit_memory}` | no limit but the slice; 2: never |
| `/proc/sys/kernel/{core_pattern,ngroups_max,perf_event_paranoid,threads-max}`, `/proc/sys/fs/{nr_open,pipe-max-size}`, `/proc/sys/net/{core/somaxconn,ipv4/ip_local_port_range}` | no cores; 256; 4: no counters; `threads=` of all CPUs; the limits of calls |
| `/proc/sys/kernel/{shmmax,shmall,shmmni,sem,msgmax,msgmnb,msgmni}`, `/proc/sys/fs/mqueue/{msg_max,msgsize_max}` | limits of the calls between ranks |
| `/proc/tacet/{clockevents,timers}`, `{counters,klog}`, `nettick` | [timers.md](timers.md), [flight-log.md](flight-log.md), [nettick.md](nettick.md) |
| `/proc/tacet/threads` | for each CPU: switches between threads, rotations (ended turns), IPIs sent for threads that became ready, threads that wait now |
| `/proc/tacet/priorities` | the hardware priority of each thread; writing 1 to 6 sets the writer's (`EOPNOTSUPP` if CPUs have none); [balancer.md](balancer.md) |
| `/proc/tacet/iterations` | for each process, in its last iteration and in all: its threads' CPU time (running), and the rest of its CPUs' time (waiting). Writing `mark` ends an iteration |
| `/sys/devices/system/cpu/online` | the process's own CPUs, as `sched_getaffinity` |
| `/sys/devices/system/cpu/{possible,present}`, `cpuN/topology/…` | all CPUs of the node: cores and packages, as masks and lists |
| `/sys/devices/system/cpu/cpuN/cache/indexM/…` | CPUID leaf 4 (AMD: 0x8000001D, or 0x80000005 and 6); on POWER the device tree's two caches |
| `/sys/devices/system/node/{online,possible}`, `nodeN/{cpulist,cpumap}` | NUMA domains (SRAT, device tree), their CPUs |
| `/sys/devices/system/node/nodeN/meminfo` | the slice's memory there; free memory only if all of it is in one node |
| `/sys/devices/system/node/nodeN/distance` | 10 to itself, else 20: the firmware's table is not read |
| `/sys/kernel/mm/transparent_hugepage/{enabled,hpage_pmd_size}` | always: large pages wherever they fit |

## Files of `/etc`

The node has `passwd`, `group`, `hosts`, `hostname`, `host.conf`, `mtab`, `nsswitch.conf`, `os-release`,
`protocols`, `services` and, with a name server, `resolv.conf`. A file of the boot archive replaces the node's
own as a whole: its `passwd` need not know the job's user. A job has numbers without names; `user` and
`groupN` stand for them, and the home is `/tmp`.
"""


@dataclass(frozen=True)
class Call:
    """One row: `x86_64` and `ppc64` are Linux's numbers, None if the architecture lacks the call."""

    disposition: str
    name: str
    x86_64: int | None
    ppc64: int | None
    note: str


# Macro, name, both numbers, an argument that only some macros have, and the text: adjacent strings, as in C.
_ROW = re.compile(
    r"(LOCAL|STUB|CONST|CALL|VALUE|ON_FILE|ON_SOCKET|ALIAS|REFUSED|PROBED)\((\w+), (-?\d+), (-?\d+),"
    r'(?:\s+([^"]*?),)?((?:\s*"[^"]*")+)\)'
)
_ALIAS = re.compile(r"(\w+), \((.*)\)")


def rows(text: str) -> list[str]:
    """The file's comments and macro calls, one item each; preprocessor lines are left out."""
    found: list[str] = []
    for line in text.splitlines():
        if line.startswith(" "):
            found[-1] += "\n" + line
        elif line.strip() and not line.startswith("#"):
            found.append(line)
    return found


def call_of(row: re.Match[str], known: dict[str, Call]) -> Call:
    """The call of a row; an alias has the kind of the call to which it refers."""
    macro, name, x86_64, ppc64, middle, strings = row.groups()
    note = "".join(re.findall(r'"([^"]*)"', strings))
    disposition = "local" if macro in ("CALL", "VALUE", "ON_FILE", "ON_SOCKET") else macro.lower()
    if macro == "CONST":
        disposition, note = "constant", f"{middle.removeprefix('-')}: {note}"
    elif macro == "ALIAS":
        alias = _ALIAS.fullmatch(middle)
        if alias is None or alias[1] not in known:
            raise SystemExit(f"syscalls.def: {name} is an alias of a call that is not listed")
        disposition = known[alias[1]].disposition
        note = f"as {alias[1]}" + (f"; {note}" if note else "")
    numbers = [None if int(number) < 0 else int(number) for number in (x86_64, ppc64)]
    return Call(disposition, name, numbers[0], numbers[1], note)


def parse(text: str) -> list[tuple[str, list[Call]]]:
    """Sections (heading, calls) in the order of the file; a line with only a comment starts a section."""
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


def source_of(call: Call, calls: list[Call]) -> Call:
    """The call in the section whose limits hold for this one: another call if the note is only "as NAME"."""
    other = next((one for one in calls if call.note == f"as {one.name}"), None)
    return source_of(other, calls) if other else call


def rows_of(calls: list[Call]) -> dict[tuple[str, str], list[Call]]:
    """The calls that share a kind and limits; first the calls that have the text."""
    rows: dict[tuple[str, str], list[Call]] = {}
    for call in sorted(calls, key=lambda call: call is not source_of(call, calls)):
        rows.setdefault((call.disposition, source_of(call, calls).note), []).append(call)
    return rows


def numbered(calls: list[Call]) -> str:
    """Names with their numbers."""
    numbers = [["—" if n is None else str(n) for n in (call.x86_64, call.ppc64)] for call in calls]
    return ", ".join(f"`{call.name}` {x86_64}/{ppc64}" for call, (x86_64, ppc64) in zip(calls, numbers))


def section_of(heading: str, calls: list[Call]) -> str:
    """A section: a table of the calls with limits, and a line of those without."""
    same_kind = len({call.disposition for call in calls}) == 1
    table, plain = "", ""
    for (kind, note), row in rows_of(calls).items():
        if not note:
            names = numbered(sorted(row, key=lambda call: call.name))
            plain = textwrap.fill(f"Without limits: {names}.", 110, break_on_hyphens=False) + "\n"
            continue
        mark = "" if same_kind or kind == "local" else f"*{kind}*: "
        table += f"| {numbered(row)} | {mark}{note} |\n"
    table = f"| calls | limits and reasons |\n|---|---|\n{table}" if table else ""
    return "\n".join([f"\n## {heading}\n", *filter(None, (plain, table))])


def document(sections: list[tuple[str, list[Call]]]) -> str:
    """The whole page."""
    return HEADER + "".join(section_of(heading, section) for heading, section in sections) + FOOTER


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: tools/abi.py kernel/syscall/syscalls.def > docs/abi.md", file=sys.stderr)
        return 2
    text = Path(sys.argv[1]).read_text()
    body = text[text.index("*/", text.index("syscalls.def:")) + 2 :]  # without the file's head comment
    sys.stdout.write(document(parse(body)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
