# SPDX-License-Identifier: BSD-2-Clause
"""Each group of ports/deps.sh against what its commands open: without a fresh machine, and in a second.

A user who installs a group gets its packages, their dependencies, and what every Debian has. Three things
must be among these: the commands that the group's files call, the headers and libraries that its compilers
open, and the modules and libraries that its Python programs load. Debian's lists of the packages that are
installed here say whose they are. tests/host/test_fresh_machine.py tries the same on bare machines.
"""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INFO = Path("/var/lib/dpkg/info")

pytestmark = pytest.mark.skipif(not INFO.is_dir(), reason="no Debian: there are no lists of packages")

#: Files whose commands a group has to bring, next to the groups that it is installed with.
FILES = {
    "build": (
        ("libc/tacet-cc", "ports/musl/fetch.sh", "ports/apt.sh", "ports/fetch.py"),
        ("ports/unpack.sh",),
        ("ports/linux/fetch.sh", "ports/linux/extract.py", "ports/qemu/fetch.sh", "service/service.mk"),
        ("ports/busybox-ppc64/fetch.sh", "kit/kit.mk", "tools/lockstep/lockstep.mk"),
    ),
    "sim": (("simulator/simulator.mk",),),
    "run": (("tools/run", "tools/qemu/*.py", "tools/make_run.py"),),
    "boot": (("boot/make-iso", "boot/make-pxe", "tools/iso.py", "tools/grub.py", "tools/pxe.py"),),
    "network": (("tools/with-network", "tools/network/*.py"),),
    "cluster": (("tools/cluster", "tools/rack/*.py", "tools/qemu/file_server.py"),),
    "gdb": (("tools/gdb", "tools/debugger/*.py"),),
    "fuzz": (("tests/fuzz/run.py",),),
}
#: What else is installed where a group is (the Makefile's table).
WITH = {
    "sim": ("build",),
    "run": ("build",),
    "boot": ("build",),
    "network": ("build", "run"),
    "cluster": ("build", "run", "boot", "network"),
    "gdb": ("build", "run"),
    "fuzz": ("build", "sim"),
    "draw": ("build",),
    "lab": ("build",),
    "build-ppc64": ("build",),
    "run-ppc64": ("build", "run"),
}
#: Commands that are called only if they are there, or by tests, by file and command; and why.
OPTIONAL = {
    ("ports/busybox-ppc64/fetch.sh", "busybox"): "the name of a file",
    ("tools/qemu/architectures.py", "qemu-system-ppc64"): "ARCH=ppc64 adds the group run-ppc64",
    ("tools/run", "gdb"): "an option; the debugger has the group gdb",
    ("tools/qemu/file_server.py", "diod"): "MOUNT= adds the group cluster",
    ("simulator/simulator.mk", "clang++"): "the fuzzers' compiler; they have the group fuzz",
}


@cache
def table() -> tuple[tuple[str, str, str], ...]:
    """Group, probe, package of each row."""
    text = (ROOT / "ports/deps.sh").read_text().split("table='\n", 1)[1].split("\n'", 1)[0]
    rows = [line.split() for line in text.splitlines() if line.strip()]
    return tuple((row[0], row[1], row[2]) for row in rows)


@cache
def status() -> dict[str, set[str]]:
    """What each installed package depends on; of alternatives all. What it provides counts as its name."""
    fields = "${Package}\t${Essential}\t${Priority}\t${Pre-Depends}, ${Depends}\t${Provides}\n"
    shown = subprocess.run(["dpkg-query", "-W", "-f", fields], capture_output=True, text=True, check=True)
    depends: dict[str, set[str]] = {"": set()}
    for line in shown.stdout.splitlines():
        name, essential, priority, needed, provides = line.split("\t")
        depends[name] = {
            re.split(r"[ :(]", one.strip())[0] for part in needed.split(",") for one in part.split("|")
        } - {""}
        for one in provides.split(","):
            if virtual := one.split("(")[0].strip():
                depends.setdefault(virtual, set()).add(name)
        if essential == "yes" or priority in ("required", "important"):
            depends[""].add(name)
    return depends


@cache
def closure(*groups: str) -> frozenset[str]:
    """All packages that these groups bring, and those that every Debian has."""
    wanted = {one for group, _, package in table() if group in groups for one in re.split(r"[&|]", package)}
    reached, todo = set(), [*wanted, "", "make", "apt", "dpkg"]
    while todo:
        name = todo.pop()
        if name not in reached:
            reached.add(name)
            todo += status().get(name, ())
    return frozenset(reached)


@cache
def commands() -> dict[str, str]:
    """The commands of the packages that the table names and of what they need, and whose they are."""
    found = {}
    everything = closure(*{group for group, _, _ in table()})
    for list_file in INFO.glob("*.list"):
        package = list_file.stem.split(":")[0]
        if package in everything:
            for path in re.findall(r"^(?:/usr)?/s?bin/(\S+)$", list_file.read_text(), re.M):
                found[path] = package
    return found


@cache
def owners() -> dict[str, str]:
    """Every file of an installed package, and whose it is."""
    found = {}
    for list_file in INFO.glob("*.list"):
        for path in list_file.read_text().splitlines():
            found[path.removeprefix("/usr") if path.startswith("/usr/lib") else path] = list_file.stem
    return found


def owner(path: str) -> str | None:
    """The package of a file, by the name under which it was installed; None if it is of none."""
    real = str(Path(path).resolve())
    for one in (path, real):
        plain = one.removeprefix("/usr") if one.startswith("/usr/lib") else one
        if package := owners().get(plain):
            return package.split(":")[0]
    return None


def called(path: Path) -> set[str]:
    """Names in a file that may be commands: a script's first words, a Python program's short strings."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py" or "python3" in text.split("\n", 1)[0]:
        text = re.sub(r'"""(?:.|\n)*?"""|#.*', "", text)
        return set(re.findall(r'"([a-z][\w.+-]+)"', text))
    text = re.sub(r"#.*|'[^'\n]*'", "", text)
    firsts = re.findall(
        r"(?:^[\s@]*|[|;&(`]\s*|\$\(Q\)\s*|\bexec\s+|\bthen\s+|\bdo\s+|!\s*)([a-z][\w.+-]*)", text, re.M
    )
    defaults = re.findall(r"^[A-Z_]+\s*[?:]?=\s*([a-z][\w.+-]*)\s*$", text, re.M)
    return {*firsts, *defaults}


def files_of(group: str) -> list[Path]:
    return sorted({p for names in FILES[group] for name in names for p in ROOT.glob(name)})


@pytest.mark.parametrize("group", FILES)
def test_a_group_brings_the_commands_that_its_files_call(group: str) -> None:
    brought = closure(group, *WITH.get(group, ()))
    lacking = [
        f"{path.relative_to(ROOT)}: {one} ({commands()[one]})"
        for path in files_of(group)
        for one in sorted(called(path) & commands().keys())
        if commands()[one] not in brought and (str(path.relative_to(ROOT)), one) not in OPTIONAL
    ]
    assert not lacking, "\n".join(lacking)


@pytest.mark.parametrize(
    ("group", "compiler", "language", "header"),
    [
        ("build", "gcc", "c", "pthread.h"),
        ("sim", "g++", "c++", "CLI/CLI.hpp"),
        ("build-ppc64", "powerpc64le-linux-gnu-gcc", "c", "pthread.h"),
        ("fuzz", "clang", "c", "stdlib.h"),
    ],
)
def test_a_group_brings_what_its_compiler_opens(
    group: str, compiler: str, language: str, header: str
) -> None:
    brought = closure(group, *WITH.get(group, ()))
    source = f"#include <{header}>\n"
    opened = subprocess.run(
        [compiler, "-M", "-x", language, "-"], input=source, capture_output=True, text=True, check=True
    ).stdout
    files = [word for word in opened.split() if word.startswith("/")]
    for name in ("crt1.o", "crtbeginT.o", "libc.a", "libgcc_eh.a", "libasan.so", "ld", "as"):
        how = "-print-prog-name=" if name in ("ld", "as") else "-print-file-name="
        found = subprocess.run(
            [compiler, how + name], capture_output=True, text=True, check=True
        ).stdout.strip()
        files += [found] if found.startswith("/") else []
    assert len(files) > 20
    lacking = {file: owner(file) for file in files if owner(file) not in brought}
    assert not lacking, lacking


@pytest.mark.parametrize(
    ("group", "module"),
    [
        ("draw", "lab.bench.compare"),
        ("draw", "tools.drawings.ftq"),
        ("lab", "lab.report.page"),
        ("build", "tools.abi"),
        ("run", "tools.make_run"),
    ],
)
def test_a_group_brings_what_its_python_loads(group: str, module: str) -> None:
    brought = closure(group, *WITH.get(group, ()))
    script = (
        f"import sys; before = set(sys.modules); import {module}\n"
        "loaded = [m for name, m in list(sys.modules.items()) if name not in before]\n"
        "print(*{m.__file__ for m in loaded if getattr(m, '__file__', None)}, sep='\\n')\n"
        "print(*{line.split()[-1] for line in open('/proc/self/maps') if '.so' in line}, sep='\\n')\n"
    )
    loaded = subprocess.run(
        ["/usr/bin/python3", "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    files = [file for file in loaded.split("\n") if file.startswith("/usr/") and "/local/" not in file]
    lacking = {file: owner(file) for file in files if (whose := owner(file)) and whose not in brought}
    assert files and not lacking, lacking


def test_each_group_is_named_at_the_head_of_the_script_and_by_a_goal() -> None:
    head = (ROOT / "ports/deps.sh").read_text().split("\nset -eu", 1)[0]
    makefile = (ROOT / "Makefile").read_text() + (ROOT / "arch/ppc64/arch.mk").read_text()
    goals = "\n".join(re.findall(r"^(?:needs_.*|ARCH_DEPS.*)$", makefile, re.M))
    for group in dict.fromkeys(group for group, _, _ in table()):
        assert re.search(rf"^#   {group} ", head, re.M), group
        assert re.search(rf"(?<![\w-]){group}(?![\w-])", goals), group
