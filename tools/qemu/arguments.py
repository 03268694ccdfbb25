# SPDX-License-Identifier: BSD-2-Clause
"""Checks of options for a machine. Each error says in one line what is wrong and what would be right.

For tools/run. Tests may ask for machines that cannot work, to see the kernel's message.
"""

from __future__ import annotations

import re
from pathlib import Path

from . import architectures, turns
from .errors import RunnerError
from .machine import PC_CPUS_MAX
from .sizes import MIB, parse_size, size_text
from .version import qemu_binary, qemu_major

TACET_CPUS_MAX = 1024  # ARCH_CPUS_MAX
TACET_MEMORY_MIN = 20 * MIB  # kernel, page tables, and at least 16 MiB for each rank
LINUX_MEMORY_MIN = 96 * MIB  # Debian's kernel and busybox; it hangs with 64 MiB
ICOUNT_MAX = 10
TIME_LIMIT_MAX = 365 * 86400.0


def _whole(option: str, text: str, low: int, high: int, why: str = "") -> int:
    if not re.fullmatch(r"\d{1,9}", text) or not low <= int(text) <= high:
        raise RunnerError(f"{option} takes {low} to {high}{why}, not {text or 'nothing'}")
    return int(text)


def check_cpus(text: str, linux: str | None) -> int:
    if linux is None:
        return _whole("--cpus", text, 1, TACET_CPUS_MAX, " (the kernel's limit)")
    low = 2 if linux == "tuned" else 1
    return _whole("--cpus", text, low, PC_CPUS_MAX, " (the limit of QEMU's machine)")


def check_icount(text: str) -> int:
    return _whole("--icount", text, 0, ICOUNT_MAX)


def check_arch(text: str) -> str:
    return architectures.named(text).name


def check_firmware(text: str | None, arch: str) -> str | None:
    if text is not None:
        architectures.named(arch).board(1, text, direct=True)
    return text


def check_turns(
    text: str | None, icount: int | None, cpus: int, qemu: str | None, arch: str = architectures.DEFAULT
) -> tuple[int, str | None]:
    """The longest turn in ns (0: not bounded), and the QEMU that it needs. Without --turns, turns are bounded
    if QEMU can: otherwise times of several CPUs under a deterministic clock are meaningless. Raises
    RunnerError."""
    if text is None:
        can = icount is not None and cpus > 1 and qemu != "system" and architectures.named(arch).turns
        can = can and qemu_major(qemu_binary("newest", arch)) >= turns.QEMU_MAJOR
        return (turns.DEFAULT_NS, "newest") if can else (0, qemu)
    if text == "off":
        return 0, qemu
    number = re.fullmatch(r"(\d{1,9})(ns|us|ms)", text)
    ns = int(number[1]) * {"ns": 1, "us": 1_000, "ms": 1_000_000}[number[2]] if number else 0
    if not turns.MIN_NS <= ns <= turns.MAX_NS:
        raise RunnerError(
            f"--turns takes a time from 1us to 100ms, such as 10us, or off, not {text or 'nothing'}"
        )
    if icount is None:
        raise RunnerError("--turns needs a deterministic clock: add --icount")
    return ns, qemu or "newest"


def check_memory(text: str, linux: str | None, arch: str = architectures.DEFAULT) -> str:
    least = LINUX_MEMORY_MIN if linux else TACET_MEMORY_MIN
    who = "Linux needs" if linux else "the kernel and a small program need"
    size = parse_size(text)
    if size is None:
        raise RunnerError(f"--memory takes a size such as 256M or 2G, not {text or 'nothing'}")
    if size < least:
        raise RunnerError(f"--memory takes {least // MIB}M or more, which {who}, not {text}")
    step = architectures.named(arch).memory_step
    if size % step and step > MIB:
        raise RunnerError(f"--memory of {arch} takes a multiple of {size_text(step)}, not {text}")
    total, free = host_memory()
    if total and size > total:
        raise RunnerError(
            f"--memory takes at most what this host has, {size_text(total)} ({size_text(free)} are free), "
            f"not {text}"
        )
    return text


def host_memory() -> tuple[int, int]:
    """This host's memory with its swap space, and how much of it is available, in bytes. Zeros if that is not
    known, or if the host overcommits memory without limit."""
    try:
        if Path("/proc/sys/vm/overcommit_memory").read_text().strip() == "1":
            return 0, 0
        rows = re.findall(r"^(\w+): +(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE)
    except OSError:
        return 0, 0
    kib = {name: int(value) * 1024 for name, value in rows}
    total = kib.get("MemTotal", 0) + kib.get("SwapTotal", 0)
    return total, kib.get("MemAvailable", 0) + kib.get("SwapFree", 0)


def check_time_limit(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= TIME_LIMIT_MAX:  # and no NaN
        raise RunnerError(f"--time-limit takes seconds, above 0 and at most {TIME_LIMIT_MAX:.0f}, not {text}")
    return seconds


def check_kernel(kernel: Path, linux: str | None, arch: str = architectures.DEFAULT) -> None:
    """RunnerError if a file is no kernel for this architecture."""
    try:
        with kernel.open("rb") as file:
            begin = file.read(20)
    except OSError as error:
        raise RunnerError(f"--kernel {kernel}: {error.strerror}") from None
    if begin[:4] != b"\x7fELF" and linux is None:
        raise RunnerError(f"--kernel {kernel} is not a kernel: it is no ELF file")
    machine = architectures.of_program(begin) if begin[:4] == b"\x7fELF" else None
    if machine is not None and machine.name != arch:
        raise RunnerError(f"--kernel {kernel} is for {machine.name}, but the machine is {arch} (--arch)")


def check_directory(path: str) -> str:
    if not path.startswith("/") or "\0" in path:
        raise RunnerError(f"--cwd takes an absolute path on the node, such as /tmp, not {path or 'nothing'}")
    return path


#: Patterns in QEMU's error messages, and the option that caused them.
_ORIGINS = (
    (r"guest memory|pc\.ram|-m |Parameter 'size'|initrd|Initial RAM", "--memory"),
    (r"SMP|-smp|CPU topology", "--cpus"),
    (r"icount", "--icount"),
    (r"klog", "--klog"),
    (r"kernel|PVH|multiboot|bzImage|linux", "--kernel"),
)


def origin_of(message: str, qemu_options: str) -> str:
    """Our option that a message of QEMU is probably about; "" if it is not known."""
    said = message.lower()
    for word in qemu_options.split():
        if len(word) > 2 and word.lower().lstrip("-") in said:
            return "--qemu-options"
    for words, option in _ORIGINS:
        if re.search(words, message, re.IGNORECASE):
            return option
    return "--qemu-options" if qemu_options else ""
