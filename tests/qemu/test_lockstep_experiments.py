# SPDX-License-Identifier: BSD-2-Clause
"""Experiments on nodes in lockstep (docs/lockstep.md): barriers under noise compared with the simulator, and
timers of nodes that do not start together. Small ones; what they show is exact, so bounds are of counts and
ns."""

from __future__ import annotations

import argparse
import io
import json
from pathlib import Path

import numpy as np
import pytest
from conftest import APPS
from test_lockstep import NETWORK, lockstep, parts, said

from lab.bench import lockstep_barriers, lockstep_timers
from tests.making import made

__all__ = ["parts"]

#: Their jobs run once.
pytestmark = pytest.mark.xdist_group("lockstep experiments")

NODES = 2
#: Iterations of half a millisecond, and noise each 10 ms: some five detours a node.
ITERATIONS, COMPUTE_NS, QUANTUM_NS = 100, 500_000, 20_000
NO_ANSWER = 1


def barrier(nodes: int = NODES, *words: str) -> list[str]:
    return [str(APPS / "barrier"), "--node", "{node}", "--nodes", str(nodes), *words]


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, dict[str, float]], Path]:
    """Of the jobs on two nodes, by their noise; and where they are."""
    made("sim")
    out = tmp_path_factory.mktemp("barriers")
    options = argparse.Namespace(
        out=out, nodes=[NODES], iterations=ITERATIONS, compute=COMPUTE_NS, quantum=QUANTUM_NS
    )
    printed = io.StringIO()
    assert lockstep_barriers.run(options, printed) == 0
    found = json.loads((out / "lockstep-barriers.json").read_text())
    assert str(out / "lockstep-barriers.json") in printed.getvalue()
    return {one["noise"]: one for one in found["jobs"].values()}, out


def test_what_the_simulator_says_of_barriers_is_what_they_take(
    figures: tuple[dict[str, dict[str, float]], Path],
) -> None:
    found, _ = figures
    assert abs(found["none"]["difference_ratio"]) < 1e-4, found
    for noise in ("co-scheduled", "unsynchronised"):
        assert abs(found[noise]["difference_ratio"]) < 0.005, found
        assert abs(found[noise]["plain_difference_ratio"]) < 0.04, found


def test_noise_at_times_of_each_node_s_own_costs_a_job_more_than_the_same_at_one_time(
    figures: tuple[dict[str, dict[str, float]], Path],
) -> None:
    quiet, together, apart = (
        figures[0][noise]["measured_mean_ns"] for noise in ("none", "co-scheduled", "unsynchronised")
    )
    assert quiet < together < apart
    assert apart - quiet > 1.3 * (together - quiet), figures[0]


def test_a_job_under_noise_repeats_to_the_nanosecond(
    figures: tuple[dict[str, dict[str, float]], Path],
) -> None:
    options = argparse.Namespace(iterations=ITERATIONS, compute=COMPUTE_NS, quantum=QUANTUM_NS)
    again = lockstep_barriers.job(NODES, "unsynchronised", options).passed
    before = np.loadtxt(figures[1] / f"lockstep-barriers-{NODES}-unsynchronised.dat", dtype=np.int64)
    assert (again == before).all()


def test_a_lost_datagram_ends_the_job_and_says_whose_it_was(tmp_path: Path) -> None:
    words = [
        *NETWORK,
        "--card",
        "e1000e",
        "--loss",
        "0.2",
        *barrier(NODES, "--limit", "300ms", "--compute", "1ms"),
    ]
    done = lockstep(tmp_path, *words)
    assert done.returncode == NO_ANSWER, said(done)
    assert "barrier: rank " in done.stderr and "a datagram was lost, or that rank has ended" in done.stderr


def test_a_node_without_the_others_gives_up(tmp_path: Path) -> None:
    done = lockstep(
        tmp_path, "--nodes", "1", *NETWORK, "--card", "e1000e", *barrier(NODES, "--limit", "50ms")
    )
    assert done.returncode == NO_ANSWER, said(done)
    assert "barrier: rank 0 has heard nothing of rank 1 within 50 ms" in done.stderr, said(done)


def test_a_job_of_a_tacet_and_a_linux_node_passes_its_barriers(tmp_path: Path) -> None:
    made("build/linux/version")
    words = ["--nodes", "1", "--linux", "1", *NETWORK, "--card", "e1000e"]
    done = lockstep(tmp_path, *words, *barrier(NODES, "--iterations", "5", "--limit", "30s"))
    assert done.returncode == 0, said(done)
    rows = [line.split() for line in done.stdout.splitlines() if "#" not in line]
    assert [row[0] for row in rows] == ["node1:"] * 5 + ["node2:"] * 5
    # No barrier is passed before all have come to it.
    came, passed = (np.array([int(row[at]) for row in rows]).reshape(2, 5) for at in (2, 3))
    assert (passed.min(axis=0) > came.max(axis=0)).all(), said(done)


def test_timers_of_nodes_that_start_apart_expire_together_at_beats(tmp_path: Path) -> None:
    options = argparse.Namespace(out=tmp_path, nodes=2, rounds=30, stagger=2_000_000)
    alone, beaten = (lockstep_timers.figures(rate, options) for rate in (0, 100))
    assert alone["spread_ns_min"] > 1_900_000, alone
    assert beaten["spread_ns_max"] < 1_000, beaten
    assert min(beaten["expiries"]) >= options.rounds - 1, beaten
