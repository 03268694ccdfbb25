# SPDX-License-Identifier: BSD-2-Clause
"""Packs Debian's Open MPI for a small Linux node without packages: its launcher, its plug-ins, the libraries
that they need, and its settings and messages, at the same paths as on this machine.

Plug-ins for hardware that such a node lacks (InfiniBand and the like, UCX, libfabric) are left out with their
libraries. TCP, which Open MPI chooses between nodes with only Ethernet, is included.
"""

from __future__ import annotations

import io
import re
import subprocess
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from lab.common.errors import LabError

LAUNCHERS = (Path("/usr/bin/orterun"), Path("/usr/bin/orted"))
LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
PLUGINS = (LIBRARIES / "openmpi/lib/openmpi3", LIBRARIES / "pmix2/lib/pmix")
TEXTS = (Path("/etc/openmpi"), Path("/usr/share/openmpi"), Path("/usr/share/pmix2"))
#: Libraries for hardware of other networks.
OTHER_NETWORKS = re.compile(r"/lib(uc[pstm]|fabric|psm|ibverbs|rdmacm)")


def linked(path: Path) -> list[Path]:
    """Returns the libraries that the loader loads for a file, itself included. LabError if one is missing."""
    done = subprocess.run(["ldd", path], capture_output=True, text=True, check=False)
    if done.returncode or "not found" in done.stdout:
        raise LabError(f"{path}: a library that it needs is missing: {(done.stdout + done.stderr).strip()}")
    return [Path(found) for found in re.findall(r"(?:^|\s)(/\S+) \(0x", done.stdout)]


def plugins() -> list[Path]:
    """Returns the plug-ins that such a node can load."""
    found = [path for folder in PLUGINS for path in sorted(folder.glob("*.so"))]
    return [path for path in found if not any(OTHER_NETWORKS.search(str(one)) for one in linked(path))]


def files_of(programs: Iterable[Path]) -> list[Path]:
    """Returns all files of Open MPI, with the libraries of these programs."""
    if missing := [path for path in (*LAUNCHERS, *PLUGINS[:1]) if not path.exists()]:
        raise LabError(f"{missing[0]}: no such file; ports/deps.sh bench installs Open MPI")
    loaded = [*LAUNCHERS, *plugins()]
    libraries = {one for path in (*loaded, *programs) for one in linked(path)}
    texts = [path for folder in TEXTS for path in sorted(folder.rglob("*")) if path.is_file()]
    return [*loaded, *sorted(libraries), *texts]


def archive(path: Path, programs: Mapping[str, Path], scripts: Mapping[str, str]) -> None:
    """Writes the archive: programs and scripts are given by their paths on the node."""
    with tarfile.open(path, "w") as tar:
        for file in files_of(programs.values()):
            tar.add(file.resolve(), arcname=str(file).lstrip("/"))
        for name, file in programs.items():
            tar.add(file, arcname=name.lstrip("/"))
        for name, text in scripts.items():
            entry = tarfile.TarInfo(name.lstrip("/"))
            data = text.encode()
            entry.size, entry.mode = len(data), 0o755
            tar.addfile(entry, io.BytesIO(data))
