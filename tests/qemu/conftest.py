# SPDX-License-Identifier: BSD-2-Clause
"""What the whole-system tests share: the runner on Python's path, what a test needs made for it, and a way to
run and to complain.

Each test boots machines of its own in QEMU, waits for them to switch themselves off within a time limit, and
on failure shows how the run ended, the console's last lines and the command that repeats it. Tests share
nothing, so they run side by side (`-n 2 --dist loadgroup`, of pytest-xdist) as well as one by one.

A test that has the fixture `tacet` runs on each architecture, as `test_x[x86_64]` and `test_x[ppc64]`, unless
only.py says why not; `arch` is the name of the one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools"), str(Path(__file__).resolve().parent)]

import only
from deeds import deeds

import qemu
from qemu import architectures, version
from qemu.linux_systems import system_of
from tests.making import made
from tests.speed import slowness

APPS = qemu.BUILD / "x86_64" / "apps"

Run = Callable[..., qemu.Result]

SIZES = ("24M", "32M", "64M", "128M", "256M", "1G", "3G", "3584M", "4G", "8G")

#: Parameters that a test may have, whose values are the architecture's: each way to idle, or each that leaves
#: the CPU to others; each deed that a program may not do; each board, and each size of memory that its
#: machines can have.
BY_ARCHITECTURE: dict[str, Callable[[architectures.Architecture], Sequence[str]]] = {
    "idle": lambda one: one.idle,
    "idle_at_rest": lambda one: one.idle[:-1],
    "deed": lambda one: list(deeds(one.name)),
    "board": lambda one: [board.partition(",")[0] for _, board in one.boards],
    "size": lambda one: [size for size in SIZES if not (qemu.parse_size(size) or 0) % one.memory_step],
}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "xdist_group(name): tests that share a fixture worth keeping on one worker"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """The kernel and the benchmarks of the test's architecture are made before any fixture; `program` makes a
    test's program."""
    arch = item.callspec.params.get("arch") if hasattr(item, "callspec") else None
    made("kernel", "apps", f"ARCH={arch or architectures.DEFAULT}")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "arch" in metafunc.fixturenames:
        file, test = Path(metafunc.definition.path).stem, metafunc.definition.originalname
        names = ["arch", *(name for name in BY_ARCHITECTURE if name in metafunc.fixturenames)]
        params = [(arch,) for arch in only.names(file, test)]
        for name in names[1:]:
            values = BY_ARCHITECTURE[name]
            params = [(*one, value) for one in params for value in values(architectures.named(one[0]))]
        metafunc.parametrize(names, params, scope="session")


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
        arch = item.callspec.params.get("arch", "")
        if only.is_long(item.path.stem, arch, item.fixturenames):
            item.add_marker(pytest.mark.long)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the cases that only.py names. A parameter `cpu` is a model of x86_64, or None for the usual
    one of each architecture. What is left out is no test: `skipped` are those alone for which this machine
    lacks something."""
    out: list[pytest.Item] = []
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            arch, cpu = (item.callspec.params.get(name) for name in ("arch", "cpu"))
            if arch and (
                only.left_out(item.path.stem, item.name, arch)
                or (arch != architectures.DEFAULT and cpu is not None)
            ):
                out.append(item)
    if out:
        items[:] = [item for item in items if item not in out]
        config.hook.pytest_deselected(items=out)


def program(name: str, arch: str = architectures.DEFAULT) -> Path:
    """A program of tests/programs, by name and kind: "status.musl"; or one of apps/: "apps/ftq". It is made
    if need be."""
    path = qemu.BUILD / arch / (name if "/" in name else f"tests/{name}")
    made(str(path.relative_to(ROOT)), f"ARCH={arch}")
    return path


def iso_made(image: Path, app: Path, *words: str, options: str = "", kernel: Path = qemu.KERNEL) -> Path:
    """The image of a program with its arguments and the kernel's options, made at this path."""
    made = subprocess.run(
        ["boot/make-iso", str(image), str(kernel), str(app), "--", *words],
        cwd=ROOT,
        env={**os.environ, "TACET_OPTIONS": options},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert made.returncode == 0, made.stderr
    return image


def expect_exit(result: qemu.Result, status: int = 0) -> qemu.Result:
    """Checks that the program ended on its own, with this status."""
    assert (result.outcome, result.status) == ("exit", status), result.explain()
    return result


def own_errors(result: qemu.Result) -> bytes:
    """What the program itself has written on standard error, without what the kernel says of refusals."""
    lines = result.stderr.splitlines(keepends=True)
    return b"".join(line for line in lines if not line.startswith(b"tacet: "))


def hardware_threads(arch: str, cpus: int, cores: int) -> dict[str, Any]:
    """How `tacet` runs a machine whose cores have hardware threads: by the first QEMU that emulates some of
    this architecture's; where there is none, the test is skipped."""
    since = architectures.named(arch).threads_since
    fits = [
        one for one in ("system", "newest") if version.qemu_major(version.qemu_binary(one, arch)) >= since
    ]
    if not fits:
        pytest.skip(f"QEMU {since} is not there (make qemu{since}-{arch})")
    smp = f"{cpus},sockets=1,cores={cores},threads={cpus // cores}"
    return {"cpus": cpus, "qemu_options": ["-smp", smp], "qemu": fits[0], "memory": "256M"}


def memory_of(text: str, arch: str) -> str:
    """What a machine of this architecture has that is to have so much memory: of POWER's a multiple of
    256 MiB."""
    step, size = architectures.named(arch).memory_step, qemu.parse_size(text)
    return text if size is None or size % step == 0 else f"{-(-size // step) * step // qemu.MIB}M"


@pytest.fixture(scope="session")
def tacet(arch: str) -> Run:
    """Run a program on a Tacet node of each architecture. Limits stretch with the machine's slowness, even
    if a limit is the test's own subject: the node must have come far enough."""

    def run(app: Path | str | None, *args: str, **keywords: Any) -> qemu.Result:
        keywords.setdefault("arch", arch)
        if service := keywords.get("service"):
            keywords["service"] = [str(program(service[0], arch)), *service[1:]]
        keywords["time_limit"] = keywords.get("time_limit", 60.0) * slowness()
        keywords["memory"] = memory_of(keywords.get("memory", "128M"), keywords["arch"])
        return qemu.run_tacet(program(app, arch) if isinstance(app, str) else app, args, **keywords)

    return run


@pytest.fixture(scope="session")
def busybox(arch: str) -> Path:
    """Debian's own static busybox for the node's architecture, as it is."""
    system = system_of(arch)
    if arch != architectures.DEFAULT:
        made(str(system.busybox.relative_to(ROOT)))
    assert system.busybox.is_file(), f"there is no {system.busybox} ({system.brings})"
    return system.busybox
