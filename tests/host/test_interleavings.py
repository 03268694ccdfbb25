# SPDX-License-Identifier: BSD-2-Clause
"""Random deaths of tacetruns, nodes and conductors leave nothing (tests/interleavings.py): thirty jobs here,
of three seeds. Five thousand: python3 -m tests.interleavings."""

from __future__ import annotations

import pytest

from tests import interleavings
from tests.making import made
from tests.namespaces import namespace_needed


@pytest.mark.parametrize("seed", (1, 2, 3))
def test_nothing_is_left_whatever_dies_and_when(seed: int) -> None:
    namespace_needed()
    made("service")
    said = interleavings.play_round(seed)
    assert not said, said
