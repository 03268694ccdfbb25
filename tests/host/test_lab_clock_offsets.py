# SPDX-License-Identifier: BSD-2-Clause
"""lab clock-offsets: what nodes print, what is known of nodes on one clock, the table; nothing runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from lab.bench import clock_offsets as lab
from lab.common.errors import LabError

EPOCH_NS = 10**18
#: By how much each node's clock is ahead of the conductor's.
AHEAD_NS = {"10.99.0.11": 40, "10.99.0.12": -60, "10.99.0.13": 5000}


def printed(delay_ns: int = 1000, wrong_ns: int = 0, label: str = "node") -> str:
    """As all nodes print it whose exchanges are wrong by so much."""
    lines = []
    for number, (own, ahead_ns) in enumerate(AHEAD_NS.items(), start=1):
        lines += [f"{label}{number}: # offsets of {own}: 3 samples, the best of 8 exchanges each"]
        for ticks in (1000, 2000, 3000):
            lines += [
                f"{label}{number}: {peer} {EPOCH_NS + ticks + ahead_ns} {ticks} "
                f"{its_ns - ahead_ns + wrong_ns} {delay_ns}"
                for peer, its_ns in AHEAD_NS.items()
                if peer != own
            ]
        lines += [f"{label}{number}: # lost 0"]
    return "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize("label", ["node", ""])
def test_each_node_has_its_samples_whoever_labels_them(label: str) -> None:
    nodes = lab.parse(printed(label=label), 3)
    assert [node.address for node in nodes] == list(AHEAD_NS)
    assert all(len(node.peers) == len(node.offset_ns) == 6 for node in nodes)
    assert sorted({*lab.measured(nodes).apart_ns.tolist()}) == [100, 4960, 5060]


def test_on_one_clock_nothing_needs_to_be_measured() -> None:
    apart, conductor = lab.known(lab.parse(printed(wrong_ns=500), 3), EPOCH_NS)
    assert sorted({*apart.apart_ns.tolist()}) == [100, 4960, 5060] and len(apart.apart_ns) == 18
    assert sorted({*conductor.apart_ns.tolist()}) == [40, 60, 5000]


def test_an_exchange_that_is_wrong_by_more_than_half_its_delay_is_an_error() -> None:
    with pytest.raises(LabError, match="more than half the delay"):
        lab.known(lab.parse(printed(wrong_ns=600), 3), EPOCH_NS)


def test_a_node_without_samples_is_no_measurement() -> None:
    text = "".join(line for line in printed().splitlines(True) if "node2: 1" not in line)
    with pytest.raises(LabError, match=r"only these did: 10\.99\.0\.11, 10\.99\.0\.13$"):
        lab.parse(text, 3)
    with pytest.raises(LabError, match="only these did: none"):
        lab.parse("", 3)


def test_the_table_has_a_row_for_each_distribution() -> None:
    nodes = lab.parse(printed(), 3)
    found = {(lab.HERE, 10): {"measured": lab.measured(nodes)}}
    exact, _ = lab.known(nodes, EPOCH_NS)
    found[lab.LOCKSTEP, 100] = {"exact": exact}
    rows = lab.as_table(found).splitlines()
    assert len(rows) == 4
    assert rows[2].split()[-4:] == ["500", "ns", "500", "ns"]
    assert rows[3].startswith("lockstep, 100 Hz, exact") and rows[3].split()[-2:] == ["-", "-"]


def test_the_picture_is_drawn_where_clocks_agree_to_the_nanosecond(tmp_path: Path) -> None:
    nodes = lab.parse(printed(), 3)
    found = {(place, 10): {"measured": lab.measured(nodes)} for place in lab.PLACES}
    lab.picture(found, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000


def test_nodes_run_as_the_words_say(tmp_path: Path) -> None:
    options = argparse.Namespace(out=tmp_path, offsets=Path("offsets"), samples=7)
    for place in lab.PLACES:
        words = lab.words_of(place, 10, list(AHEAD_NS), options)
        assert words[-3:] == list(AHEAD_NS) and words[words.index("--nodes") + 1] == "3"
        assert words[words.index("offsets") + 1 :][:2] == ["-n", "7"]
