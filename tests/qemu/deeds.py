# SPDX-License-Identifier: BSD-2-Clause
"""What tests/programs/forbidden.c can do on each architecture, from its source: tests are listed before
anything is built."""

from __future__ import annotations

import re
import signal
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"


def deeds(arch: str) -> dict[str, int]:
    """The names of the deeds, and the signal that Linux gives for each; 0: it does no harm."""
    sources = (PROGRAMS / name for name in ("forbidden.c", f"forbidden_{arch}.h"))
    return {
        name: int(getattr(signal, number, 0))
        for source in sources
        for name, number in re.findall(r"ROW\((\w+), (SIG\w+|0)\)", source.read_text())
    }
