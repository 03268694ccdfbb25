# SPDX-License-Identifier: BSD-2-Clause
"""What Linux says to the conformance programs, as recorded in answers.txt: which systems are asked, and what
the answers depend on. tests/answers.py has the rules and the file's form, refresh.py renews the file.

A reference is Debian's Linux with the program of one C library on one architecture, `x86_64-musl`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools"), str(HERE)]

import compare

import qemu
from qemu import architectures, linux
from qemu.linux_systems import system_of
from tests.answers import Answers, Reference
from tests.ingredients import digest, digest_of, glibc_of, relative, variables, version_of, with_headers
from tests.making import made

#: In all programs.
COMMON = with_headers(HERE / "conform.c")


def data_files() -> str:
    """A digest of the files that the tests look at."""
    with tempfile.TemporaryDirectory() as folder:
        top = compare.files_make(Path(folder))
        return digest(
            repr(
                [
                    (str(path.relative_to(top)), path.readlink() if path.is_symlink() else path.read_bytes())
                    for path in sorted(top.rglob("*"))
                    if path.is_symlink() or path.is_file()
                ]
            )
        )


def machine_options(arch: str) -> str:
    """QEMU's options for the machine, without what differs from one host to the next, and Linux's."""
    one = architectures.named(arch)
    machine = qemu.Machine(arch=arch, cpus=compare.CPUS)
    board = one.board(machine.cpus, machine.firmware, direct=True)
    words = ["-machine", board, "-cpu", machine.cpu_model(), "-smp", str(machine.cpus), "-m", machine.memory]
    return " ".join([*words, *system_of(arch).options, "-append", repr(linux.stock_options(arch))])


def compiler(arch: str) -> str:
    return f"{architectures.named(arch).binutils}gcc"


def linux_version(arch: str) -> str | None:
    """The package of the kernel; None as long as it is not fetched."""
    version = system_of(arch).folder("stock") / "version"
    return version.read_text(encoding="utf-8").strip() if version.is_file() else None


def qemu_version(arch: str) -> str | None:
    try:
        return str(qemu.qemu_major(qemu.qemu_binary("system", arch)))
    except qemu.RunnerError:
        return None


def of(arch: str, kind: str) -> Reference:
    """Linux on an architecture, with the program of one C library."""

    def sources(name: str) -> Sequence[Path]:
        folder = HERE if (HERE / f"{name}.c").is_file() else HERE / arch
        return [path for path in with_headers(folder / f"{name}.c") if path not in COMMON]

    def tree() -> Mapping[str, str]:
        flags = variables(HERE / "conformance.mk", ["CONFORM_CFLAGS"])
        flags += " | " + variables(ROOT / "tests/programs/programs.mk", ["TEST_CFLAGS"])
        recipe = f"ports/musl{'' if arch == 'x86_64' else f'-{arch}'}/recipe"
        libc = {recipe: digest_of(ROOT / recipe)} if kind == "musl" else {}
        return {
            **{relative(path): digest_of(path) for path in COMMON},
            **libc,
            "data files": data_files(),
            "first process": digest(linux._INIT),
            "flags": flags,
            "machine": machine_options(arch),
        }

    def versions() -> Mapping[str, str | None]:
        libc = {"glibc": glibc_of(compiler(arch))} if kind == "glibc" else {}
        return {
            **libc,
            "compiler": version_of(compiler(arch)),
            "Linux": linux_version(arch),
            "QEMU": qemu_version(arch),
        }

    def ask(names: Sequence[str]) -> Mapping[str, Sequence[str]]:
        made("conform-programs", "linux", f"ARCH={arch}")
        said = compare.run_linux(kind, names, arch=arch)
        assert said.whole, f"Linux did not come to the end: {said.runs[-1].explain()}"
        return said.lines

    return Reference(f"{arch}-{kind}", compare.names(arch), sources, tree, versions, ask, at_once=True)


HEAD = """\
SPDX-License-Identifier: BSD-2-Clause
What Debian's Linux says to the conformance programs. Do not edit: tests/conformance/refresh.py writes this
file; tests/answers.py says what it means."""

ANSWERS = Answers(
    HERE / "answers.txt",
    HEAD,
    "tests/conformance/refresh.py",
    [of(arch, kind) for arch in architectures.ALL for kind in compare.KINDS],
)
