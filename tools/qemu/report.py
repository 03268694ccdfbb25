# SPDX-License-Identifier: BSD-2-Clause
"""The lines of a Tacet node's console that the user is shown: only those that explain an end and are not on
the program's standard error, with names for the kernel's addresses."""

from __future__ import annotations

import re
from pathlib import Path

from .symbols import Symbols

#: The first line of the kernel's report of its own fault: an exception, a machine check, or, for an
#: assertion, the call chain.
_PANIC_BEGINS = re.compile(
    r"tacet: (the kernel itself faulted|machine check:|  called from |the last events of )"
)
_FAILURE = re.compile(r"tacet: (rank \d+ .*(ended |EAGAIN)|  )")
_REFUSED = re.compile(r"tacet: .*ENOSYS|tacet: rank \d+ \(.*\): (mmap|brk|mremap) \w\w .* refused")


def with_names(text: str, kernel: Path | None) -> str:
    """The text, with `function+0xoff (file:line)` after each address in the kernel's code."""
    if kernel is None:
        return text
    symbols = Symbols(kernel)
    pattern = symbols.architecture.kernel_address
    found = [int(address, 16) for address in re.findall(rf"\b{pattern}\b", text)]
    if not found:
        return text
    returns = {int(address, 16) for address in re.findall(rf"called from ({pattern})\b", text)}
    names = symbols.describe(set(found) - returns)
    names_of_calls = symbols.describe((), returns)

    def named(match: re.Match[str]) -> str:
        calls = match.string[: match.start()].endswith("called from ")
        name = (names_of_calls if calls else names).get(int(match[0], 16))
        return match[0] if name is None else f"{match[0]} {name}"

    return re.sub(rf"\b{pattern}\b", named, text)


def panic_of(console: str) -> str:
    """The kernel's report of its own fault, up to the console's end; "" if there is none."""
    lines = console.replace("\r", "").splitlines()
    for i, line in enumerate(lines):
        if _PANIC_BEGINS.match(line):
            return "".join(f"{line}\n" for line in lines[i:])
    return ""


def failure_of(console: str, errors: bytes = b"") -> str:
    """The kernel's lines that say why a program failed: the report of a fault, and calls that were refused;
    without those that are among `errors`, the program's standard error."""
    shown = set(errors.decode(errors="replace").splitlines())
    lines = console.replace("\r", "").splitlines()
    report = [line for line in lines if _FAILURE.match(line) or _REFUSED.match(line)]
    return "".join(f"{line}\n" for line in report if line not in shown)
