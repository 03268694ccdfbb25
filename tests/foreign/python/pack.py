# SPDX-License-Identifier: BSD-2-Clause
"""Packs the modules of CPython's standard library, compiled, into one archive, for a node without disks:

    python pack.py FOLDER ARCHIVE

Run it by the interpreter that will read the archive.
"""

import sys
import zipfile
from pathlib import Path

#: Large, and not needed on a node.
LEFT_OUT = {
    "test",
    "idlelib",
    "tkinter",
    "turtle.py",
    "turtledemo",
    "lib2to3",
    "ensurepip",
    "distutils",
    "pydoc_data",
    "lib-dynload",
    "__pycache__",
    "__phello__",
}


def main() -> None:
    folder, archive = Path(sys.argv[1]), Path(sys.argv[2])
    part = archive.with_suffix(".part")
    with zipfile.PyZipFile(part, "w", zipfile.ZIP_STORED) as packed:
        for entry in sorted(folder.iterdir()):
            package = (entry / "__init__.py").is_file()
            if entry.name not in LEFT_OUT and (package or entry.suffix == ".py"):
                packed.writepy(str(entry))
    part.rename(archive)


main()
