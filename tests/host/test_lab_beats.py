# SPDX-License-Identifier: BSD-2-Clause
"""lab beats: the conductor's pace, what of a run counts, and the table; nothing runs."""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from lab.bench import beats
from lab.common.errors import LabError
from lab.formats import ftq


def data(lost: dict[int, int]) -> ftq.FtqData:
    counts = np.full(1000, 15625)
    for quantum, loss in lost.items():
        counts[quantum] -= loss
    return ftq.FtqData("node", beats.QUANTUM_NS, np.arange(1000) * beats.QUANTUM_NS, counts)


class Nodes:
    """Two nodes of which four seconds of this machine's are one while FTQ runs, and five with the boot."""

    def __init__(self, deaf: bool = False) -> None:
        self.options = argparse.Namespace(nodes=2)
        self.deaf = deaf
        self.rates: list[float] = []

    def rate(self, rate_hz: float) -> None:
        self.rates.append(rate_hz)

    def measure(self, label: str) -> list[beats.Node]:
        came = 0.0 if self.deaf else self.rates[-1] * 4
        one = data({quantum * 10: 22 for quantum in range(int(came))})
        return [beats.Node(one, ftq.summarise(one), came, 1 / 5)] * 2


def test_the_conductor_beats_at_the_nodes_pace() -> None:
    nodes = Nodes()
    found = beats.measure_all(nodes, io.StringIO())
    assert nodes.rates == pytest.approx([0, 20, 2.5, 12.5, 25])
    assert list(found) == list(beats.RATES)
    assert [one[0].beats_hz for one in found.values()] == pytest.approx(list(beats.RATES))


def test_a_node_that_hears_nothing_is_no_measurement() -> None:
    with pytest.raises(LabError, match="received no beats"):
        beats.measure_all(Nodes(deaf=True), io.StringIO())


def test_the_table_has_a_row_for_each_rate_and_linux() -> None:
    found = beats.measure_all(Nodes(), io.StringIO())
    printed = beats.as_table(found, ftq.summarise(data({quantum: 45 for quantum in range(0, 1000, 4)})))
    rows = [line.split("  ") for line in printed.splitlines()[2:]]
    assert [row[0] for row in rows] == [*(f"Tacet, {rate} Hz" for rate in beats.RATES), "Linux, its tick"]
    disturbed = [[word for word in row if word][2].strip() for row in rows]
    assert disturbed[0] == "0 0" and disturbed[3] == "100 100" and disturbed[4] == "250"
