# SPDX-License-Identifier: BSD-2-Clause
"""Random deaths of tacetruns, nodes and conductors leave nothing (tests/interleavings.py): thirty jobs here,
of three seeds. Five thousand: python3 -m tests.interleavings."""

from __future__ import annotations

import subprocess

import pytest

from tests import interleavings
from tests.making import made


@pytest.mark.parametrize("seed", (1, 2, 3))
def test_nothing_is_left_whatever_dies_and_when(seed: int) -> None:
    if subprocess.run(["unshare", "-rn", "true"], capture_output=True).returncode:
        pytest.skip("no network namespace without root here (unshare -rn)")
    made("service")
    said = interleavings.play_round(seed)
    assert not said, said
