#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Asks Linux again and writes what it says into answers.txt.

tests/conformance/refresh.py                       all answers: both C libraries on both architectures
tests/conformance/refresh.py NAME…                 these tests, and those whose answers are stale
tests/conformance/refresh.py --of ppc64-musl       one architecture and C library
tests/conformance/refresh.py --check               compares instead, and writes nothing
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent)]

from linux_answers import ANSWERS

from tests.answers import main

if __name__ == "__main__":
    sys.exit(main(ANSWERS))
