#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Make compile_commands.json (for clangd, clang-tidy) from the output of `make -nB`.

make -nB V=1 kernel | tools/compile_commands.py > compile_commands.json
"""

from __future__ import annotations

import json
import os
import shlex
import sys


def main() -> int:
    entries = []
    for line in sys.stdin:
        words = shlex.split(line) if " -c -o " in line else []
        if words and words[-1].endswith(".c"):
            entries.append({"directory": os.getcwd(), "file": words[-1], "arguments": words})
    json.dump(entries, sys.stdout, indent=1)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
