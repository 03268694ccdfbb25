# SPDX-License-Identifier: BSD-2-Clause
"""The programs of service/ keep apart: each is a folder, and they share service/lib/, which knows none of
them. A program links its folder and lib/ alone (service.mk), so that its includes say all that it uses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import structure
from structure import Objects
from test_structure import accept, texts, tracked

from tests.making import ROOT, made

PROGRAMS = ("conductor", "conductorctl", "launchd", "listener", "mpirun", "tacetrun")
#: What programs share with a node's kernel: its side of the same protocols, and pure C.
ROOMS_OF_KERNEL = ("beat", "launch", "lib")


def folder_of(path: str) -> str:
    """The folder of service/ that a path lies in; "" for anything else."""
    parts = Path(path).parts
    return parts[1] if parts[0] == "service" else ""


def check_includes(sources: Mapping[str, str]) -> list[str]:
    """Includes of another program, of a program by lib/, and of more of the kernel than is shared."""
    complaints = []
    for path, text in sorted(sources.items()):
        for name in structure.INCLUDE.findall(text):
            if name.startswith("service/"):
                if folder_of(name) not in (folder_of(path), "lib"):
                    complaints.append(f"{path} includes {name}: it may use its own folder and service/lib/")
            elif name.split("/")[0] not in ROOMS_OF_KERNEL:
                complaints.append(f"{path} includes {name}: of the kernel only {', '.join(ROOMS_OF_KERNEL)}")
    return complaints


def check_symbols(objects: Objects) -> list[str]:
    """Uses of a program by lib/."""
    return [
        f"{user} uses {name} of {definer}: lib/ knows no program"
        for user, definer, name in sorted(objects.uses())
        if folder_of(user) == "lib" and folder_of(definer) in PROGRAMS
    ]


def test_every_folder_is_a_program_or_lib() -> None:
    folders = {folder_of(path) for path in tracked() if path.startswith("service/") and path.count("/") > 1}
    assert folders == {*PROGRAMS, "lib"}


def test_no_program_uses_another_and_lib_uses_none() -> None:
    accept(check_includes(texts("service/")))


def test_lib_calls_no_program() -> None:
    """Nor does a program define a name that lib/ uses: its own object would come before that of lib/."""
    made("service")
    folder = ROOT / "build/service/objects"
    objects = Objects.read(folder, ROOT)
    accept(check_symbols(objects))
    used = set().union(*(names for user, names in objects.used.items() if folder_of(user) == "lib"))
    for program in PROGRAMS:
        own = Objects.read(folder / "service" / program, ROOT / "service" / program).defined
        assert not used & set(own), program


def test_what_breaks_the_plan_is_found() -> None:
    sources = {
        "service/mpirun/rank.c": '#include "service/tacetrun/nodes.h"\n#include "service/lib/say.h"\n',
        "service/lib/say.c": '#include "service/mpirun/mpirun.h"\n#include "fs/file.h"\n',
    }
    assert len(check_includes(sources)) == 3
    objects = Objects(
        defined={"run": "service/mpirun/mpirun.c", "say": "service/lib/say.c"},
        used={"service/lib/output.c": {"run", "say"}, "service/mpirun/rank.c": {"run", "say"}},
    )
    assert len(check_symbols(objects)) == 1
