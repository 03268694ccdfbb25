# SPDX-License-Identifier: BSD-2-Clause
"""Where things are, from whatever folder a command is called."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

#: What `make kernel`, `make apps`, `make sim` and `make caches` build.
KERNEL = ROOT / "build/x86_64/tacet.elf"
APPS = ROOT / "build/x86_64/apps"
SIMULATOR = ROOT / "build/simulator/sim"
CACHES = ROOT / "build/caches.so"

#: Where results go unless the user says otherwise: in the folder of the call.
REPORT = Path("build/report")
