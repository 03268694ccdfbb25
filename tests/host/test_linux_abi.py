# SPDX-License-Identifier: BSD-2-Clause
"""Every constant and structure of Linux's interface that the kernel has, and every system call's number, is
as in Linux's own headers, on each architecture. What Linux does not have under our name is listed here."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
COMPILERS = {"x86_64": "gcc", "ppc64": "powerpc64le-linux-gnu-gcc"}
ARCHITECTURES = list(COMPILERS)

#: Ours, of which the constants are read; and what else they need.
HEADERS = (
    "arch/{arch}/include/arch/linux_abi.h",
    *(
        "kernel/lib/linux_abi.h",
        "kernel/lib/signal_numbers.h",
        "kernel/lib/errno.h",
        "kernel/lib/file_mode.h",
    ),
    *(
        "kernel/fs/linux_files.h",
        "kernel/fs/socket.h",
        "kernel/syscall/linux_calls.h",
        "kernel/time/timespec.h",
    ),
)

#: Linux's, in two rooms: the second has what only the C library's headers name.
LINUX = (
    "asm/fcntl.h linux/fcntl.h linux/mman.h asm/ioctls.h linux/termios.h asm/socket.h linux/signal.h"
    " linux/uio.h asm/stat.h asm/statfs.h linux/stat.h linux/auxvec.h linux/futex.h linux/sched.h linux/fs.h"
    " linux/eventpoll.h linux/memfd.h linux/membarrier.h linux/falloc.h linux/close_range.h"
    " linux/errno.h linux/magic.h linux/time.h linux/utsname.h linux/sysinfo.h linux/sockios.h",
    "sys/socket.h sys/file.h unistd.h sys/mman.h signal.h sys/stat.h sys/statfs.h sys/epoll.h fcntl.h"
    " sys/eventfd.h sys/timerfd.h sys/uio.h limits.h sys/resource.h sys/statvfs.h time.h",
)

#: Where Linux says it otherwise.
RENAMED = (
    (r"SIGNAL_(ILL|TRAP|BUS|FPE|KILL|SEGV|PIPE|ALRM|CHLD|CONT|STOP|TSTP|TTIN|TTOU|URG|WINCH)", r"SIG\1"),
    (r"SIGNAL_(XCPU|XFSZ|VTALRM|PROF)", r"SIG\1"),
    (r"SIGNAL_BY_(USER|KERNEL|TIMER|TKILL)", r"SI_\1"),
    (r"CLOCK_ID_(PROCESS|THREAD)_CPU", r"CLOCK_\1_CPUTIME_ID"),
    (r"CLOCK_ID_(\w+)", r"CLOCK_\1"),
    (r"ACCESS_EXECUTE", "X_OK"),
    (r"ACCESS_WRITE", "W_OK"),
    (r"ILL_OPERAND", "ILL_ILLOPN"),
    (r"ILL_OPERATION", "ILL_ILLOPC"),
    (r"ILL_PRIVILEGED", "ILL_PRVOPC"),
    (r"SEGV_BOUND", "SEGV_BNDERR"),
    (r"FPE_INTEGER_DIVIDE", "FPE_INTDIV"),
    (r"FPE_DIVIDE", "FPE_FLTDIV"),
    (r"FPE_OVERFLOW", "FPE_FLTOVF"),
    (r"FPE_UNDERFLOW", "FPE_FLTUND"),
    (r"FPE_INEXACT", "FPE_FLTRES"),
    (r"FPE_INVALID", "FPE_FLTINV"),
    (r"SEGV_NOT_MAPPED", "SEGV_MAPERR"),
    (r"SEGV_NO_RIGHT", "SEGV_ACCERR"),
    (r"BUS_ALIGNMENT", "BUS_ADRALN"),
    (r"BUS_NO_MEMORY", "BUS_ADRERR"),
    (r"TRAP_BY_BREAKPOINT", "TRAP_BRKPT"),
    (r"TRAP_BY_STEP", "TRAP_TRACE"),
    (r"STATFS_TMPFS", "TMPFS_MAGIC"),
    (r"STATFS_RAMFS", "RAMFS_MAGIC"),
    (r"STATFS_PROC", "PROC_SUPER_MAGIC"),
    (r"STATFS_SYS", "SYSFS_MAGIC"),
    (r"STATFS_READ_ONLY", "ST_RDONLY"),
    (r"STATX_BASIC", "STATX_BASIC_STATS"),
    (r"STATX_RESERVED", "STATX__RESERVED"),
    (r"FALLOC_(\w+)", r"FALLOC_FL_\1"),
    (r"MEMBARRIER_(\w+)", r"MEMBARRIER_CMD_\1"),
    (r"TIMER_ABSOLUTE", "TIMER_ABSTIME"),
    (r"MCL_ALL", "(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT)"),
    (r"PROT_ALL", "(PROT_READ | PROT_WRITE | PROT_EXEC)"),
    (r"O_TMPFILE_BIT", "(O_TMPFILE & ~O_DIRECTORY)"),
    (r"RLIM_INFINITY", "RLIM64_INFINITY"),
)

#: Ours alone: of the kernel's inside, or a set of those above.
OWN = set(
    "ARCH_PLATFORM ARCH_MACHINE CPUINFO_HAS_PLACES SIGNAL_RESTORER_REQUIRED MAP_VALID SA_KNOWN"
    " SIGNAL_COUNT SIGNAL_REAL_TIME ERESTARTNOHAND READ_WRITE_MAX FILE_BYTES_MAX DIRECTORY_READ_MAX"
    " MFD_NAME_MAX EPOLL_EVENTS STATFS_VALID US_PER_S CPU_CLOCK_ID_SHIFT CPU_CLOCK_OF_THREAD"
    " CPU_CLOCK_KIND CPU_CLOCK_USER CPU_CLOCK_SCHEDULED CLOCK_OF_DEVICE CLOCK_LAST_BITS FUTEX_COMMANDS"
    " MADV_LAST SOCKET_ADDRESS_BYTES_MAX MMAP_RIGHTS".split()
)

#: What the build machine's headers may be too old for: since Linux 6.3.
NEWER = {"MFD_NOEXEC_SEAL": 8, "MFD_EXEC": 16}

#: What an architecture's Linux lacks, and what the kernel has instead.
LACKS = {"x86_64": NEWER, "ppc64": NEWER | {"MAP_32BIT": 0}}

STRUCTURES = {
    ("linux_stat", "stat"): {
        **{"device": "st_dev", "inode": "st_ino", "links": "st_nlink", "mode": "st_mode", "user": "st_uid"},
        **{
            "represented_device": "st_rdev",
            "size": "st_size",
            "block_size": "st_blksize",
            "blocks": "st_blocks",
        },
        **{"access_s": "st_atime", "modify_ns": "st_mtime_nsec", "change_ns": "st_ctime_nsec"},
    },
    ("linux_termios", "termios"): {
        **{"input": "c_iflag", "output": "c_oflag", "control": "c_cflag", "local": "c_lflag"},
        **{"characters": "c_cc", "line": "c_line"},
    },
    ("linux_epoll_event", "epoll_event"): {"events": "events", "data": "data"},
    ("linux_statfs", "statfs"): {
        **{"type": "f_type", "block_bytes": "f_bsize", "free_files": "f_ffree", "identity": "f_fsid"},
        **{"name_bytes": "f_namelen", "fragment_bytes": "f_frsize", "flags": "f_flags"},
    },
    ("linux_siginfo", "siginfo"): {
        **{"info.signal": "si_signo", "info.error": "si_errno", "info.code": "si_code"},
        **{"info.sender.pid": "si_pid", "info.sender.uid": "si_uid", "info.sender.value": "si_value"},
        **{"info.timer.id": "si_tid", "info.timer.overrun": "si_overrun", "info.timer.value": "si_value"},
        **{"info.fault.address": "si_addr"},
    },
    ("linux_sigevent", "sigevent"): {
        **{"value": "sigev_value", "signal": "sigev_signo", "notify": "sigev_notify", "tid": "_sigev_un._tid"}
    },
    ("linux_statx", "statx"): {
        **{
            "mask": "stx_mask",
            "mode": "stx_mode",
            "inode": "stx_ino",
            "attributes_mask": "stx_attributes_mask",
        },
        **{"access": "stx_atime", "represented_major": "stx_rdev_major", "mount": "stx_mnt_id"},
    },
    ("linux_flock", "flock"): {
        "type": "l_type",
        "whence": "l_whence",
        "start": "l_start",
        "bytes": "l_len",
        "pid": "l_pid",
    },
    ("linux_sysinfo", "sysinfo"): {"uptime_s": "uptime", "processes": "procs", "unit": "mem_unit"},
    ("linux_utsname", "new_utsname"): {"machine": "machine", "domain": "domainname"},
}


def values(arch: str, includes: list[str], expressions: list[str], options: list[str]) -> dict[str, int]:
    """What C says to constant expressions, with these headers."""
    lines = [f"#include {name}" for name in includes]
    lines += [
        "#define SAY(number, value) "
        '__asm__ volatile("\\n->" #number " %0" : : "i"((unsigned long long)(value)))',
        "void f(void) {",
    ]
    lines += [f"SAY({i}, {expression});" for i, expression in enumerate(expressions)] + ["}"]
    text = subprocess.run(
        [COMPILERS[arch], "-std=gnu11", "-S", "-O1", *options, "-x", "c", "-", "-o", "-"],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=False,
    )
    assert text.returncode == 0, text.stderr
    found = re.findall(r"->(\d+) \$?(-?\d+)", text.stdout)
    return {expressions[int(number)]: int(value) & (2**64 - 1) for number, value in found}


def ours(arch: str, expressions: list[str]) -> dict[str, int]:
    options = ["-ffreestanding"]
    for folder in ("kernel", f"arch/{arch}/include", "libc/include", "."):
        options += ["-iquote", str(ROOT / folder)]
    return values(arch, [f'"{ROOT / header.format(arch=arch)}"' for header in HEADERS], expressions, options)


def theirs(arch: str, expressions: list[str]) -> dict[str, int]:
    """Those that Linux has, by name or as an expression of names."""
    found: dict[str, int] = {}
    for room in LINUX:
        includes = [f"<{name}>" for name in room.split()]
        options = ["-D_GNU_SOURCE"]
        asked = "\n".join(f"#include {name}" for name in includes)
        for expression in expressions:
            names = re.findall(r"\b(?!sizeof|struct|__builtin)[A-Z_]\w*", expression)
            asked += "".join(f"\n#ifdef {name}" for name in names) + f"\n@{expressions.index(expression)}@"
            asked += "\n#endif" * len(names)
        text = subprocess.run(
            [COMPILERS[arch], "-E", *options, "-"], input=asked, capture_output=True, text=True, check=True
        ).stdout
        known = [expressions[int(number)] for number in re.findall(r"^@(\d+)@", text, re.M)]
        known += [name for name in expressions if re.search(rf"\b{re.escape(name)}\s*[=,]", text)]  # of enums
        found |= values(arch, includes, [name for name in known if name not in found], options)
    return found


def names_of(arch: str) -> list[str]:
    """The constants that our headers define."""
    found: list[str] = []
    for header in HEADERS:
        text = re.sub(r"/\*.*?\*/", "", (ROOT / header.format(arch=arch)).read_text(), flags=re.S)
        found += re.findall(r"^#define ([A-Z]\w+)(?= +\S)", text, re.M)
        for body in re.findall(r"enum [a-z_ ]*\{(.*?)\}", text, re.S):
            found += re.findall(r"\b([A-Z]\w+) =", body)
    return sorted(set(found))


def linux_name(name: str) -> str:
    for pattern, replacement in RENAMED:
        if re.fullmatch(pattern, name):
            return re.sub(pattern, replacement, name)
    return name


@pytest.fixture(params=ARCHITECTURES)
def arch(request: pytest.FixtureRequest) -> str:
    if not shutil.which(COMPILERS[request.param]):
        pytest.skip(f"{COMPILERS[request.param]} is not installed")
    return str(request.param)


def test_constants_are_linux_s(arch: str) -> None:
    asked = [name for name in names_of(arch) if name not in OWN]
    mine = ours(arch, asked)
    linux = theirs(arch, sorted({linux_name(name) for name in asked}))
    unknown = [name for name in asked if linux_name(name) not in linux and name not in LACKS[arch]]
    assert len(asked) > 250 and not unknown, "\n".join(unknown)
    wrong = {
        name: (hex(mine[name]), hex(linux.get(linux_name(name), LACKS[arch].get(name, -1))))
        for name in asked
        if mine[name] & 0xFFFFFFFF != linux.get(linux_name(name), LACKS[arch].get(name, -1)) & 0xFFFFFFFF
    }
    assert not wrong, wrong


def test_structures_are_linux_s(arch: str) -> None:
    for (mine, linux), fields in STRUCTURES.items():
        pairs = {f"sizeof(struct {mine})": f"sizeof(struct {linux})"}
        pairs |= {
            f"__builtin_offsetof(struct {mine}, {field})": f"__builtin_offsetof(struct {linux}, {other})"
            for field, other in fields.items()
        }
        kernel = ours(arch, list(pairs))
        includes = [f"<{name}>" for name in LINUX[0].split()]
        system = values(arch, includes, list(pairs.values()), ["-D_GNU_SOURCE"])
        wrong = {a: (kernel[a], system[b]) for a, b in pairs.items() if kernel[a] != system[b]}
        assert not wrong, wrong


MACROS = "LOCAL|STUB|CONST|CALL|VALUE|ON_FILE|ON_SOCKET|ALIAS|REFUSED|PROBED"
ROW = re.compile(rf"^(?:{MACROS})\((\w+), (-?\d+), (-?\d+),", re.M)

#: Linux's name where it has another one on POWER.
CALLS_RENAMED = {("ppc64", "select"): "_newselect", ("ppc64", "getrlimit"): "ugetrlimit"}


def test_system_calls_have_linux_s_numbers(arch: str) -> None:
    rows = ROW.findall((ROOT / "kernel/syscall/syscalls.def").read_text())
    assert len(rows) > 200
    numbers = {name: int(row[ARCHITECTURES.index(arch)]) for name, *row in rows}
    text = subprocess.run(
        [COMPILERS[arch], "-E", "-dM", "-x", "c", "-"],
        input="#include <asm/unistd.h>",
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    linux = {name: int(number) for name, number in re.findall(r"#define __NR_(\w+) (\d+)$", text, re.M)}
    newest = max(linux.values())  # of these headers' release
    wrong = {
        name: (number, linux.get(CALLS_RENAMED.get((arch, name), name), -1))
        for name, number in numbers.items()
        if number <= newest and number != linux.get(CALLS_RENAMED.get((arch, name), name), -1)
    }
    assert not wrong, wrong
