# SPDX-License-Identifier: BSD-2-Clause
"""Paths that do not depend on the current folder, and the default folder of results."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

#: The results of `make kernel`, `make apps`, `make sim` and `make caches`.
KERNEL = ROOT / "build/x86_64/tacet.elf"
APPS = ROOT / "build/x86_64/apps"
SIMULATOR = ROOT / "build/simulator/sim"
CACHES = ROOT / "build/caches.so"

#: The default folder of results, in the current folder.
REPORT = Path("build/report")
