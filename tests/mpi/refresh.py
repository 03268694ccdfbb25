#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Asks Debian's MPICH and Open MPI again and writes what they print into answers.txt.

tests/mpi/refresh.py                    all answers
tests/mpi/refresh.py NAME…              these programs, and those whose answers are stale
tests/mpi/refresh.py --of mpich         one library
tests/mpi/refresh.py --check            compares instead, and writes nothing
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent)]

from mpi_answers import ANSWERS

from tests.answers import main

if __name__ == "__main__":
    sys.exit(main(ANSWERS))
