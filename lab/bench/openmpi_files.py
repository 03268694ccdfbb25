# SPDX-License-Identifier: BSD-2-Clause
"""Debian's Open MPI as an archive for a small Linux node without packages: its launcher, its plug-ins, what
they are linked to, and its files of settings and messages, at the paths that they have here.

Plug-ins for hardware that such a node has not (InfiniBand and the like, UCX, libfabric) are left out with
their libraries; what Open MPI chooses between nodes with Ethernet alone, TCP, is there.
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
    """The libraries that the loader takes for a file, itself among them. LabError where one is missing."""
    done = subprocess.run(["ldd", path], capture_output=True, text=True, check=False)
    if done.returncode or "not found" in done.stdout:
        raise LabError(f"{path}: what it is linked to is not all here: {(done.stdout + done.stderr).strip()}")
    return [Path(found) for found in re.findall(r"(?:^|\s)(/\S+) \(0x", done.stdout)]


def plugins() -> list[Path]:
    """Those that such a node can load."""
    found = [path for folder in PLUGINS for path in sorted(folder.glob("*.so"))]
    return [path for path in found if not any(OTHER_NETWORKS.search(str(one)) for one in linked(path))]


def files_of(programs: Iterable[Path]) -> list[Path]:
    """All files, for these programs besides."""
    if missing := [path for path in (*LAUNCHERS, *PLUGINS[:1]) if not path.exists()]:
        raise LabError(f"there is no {missing[0]}; ports/deps.sh bench installs Open MPI")
    loaded = [*LAUNCHERS, *plugins()]
    libraries = {one for path in (*loaded, *programs) for one in linked(path)}
    texts = [path for folder in TEXTS for path in sorted(folder.rglob("*")) if path.is_file()]
    return [*loaded, *sorted(libraries), *texts]


def archive(path: Path, programs: Mapping[str, Path], scripts: Mapping[str, str]) -> None:
    """Writes it: programs and scripts under the paths that they are to have."""
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
