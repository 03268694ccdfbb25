# SPDX-License-Identifier: BSD-2-Clause
"""Other projects' own tests pass on a node as on Linux, but those that tests/suites/differences names with a
reason: LMDB's, libuv's, hwloc's, and those of Go's standard library for network, files, signals, users,
times, profiles and system calls. The short form runs some on the node alone, where they have to pass."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests" / "suites"))
import suites

#: Tests that pass on Linux anywhere.
SHORT = {
    "lmdb": ["mtest", "mtest2", "mtest5"],
    "libuv": [
        "timer",
        "signal_multiple_loops",
        "fs_event_watch_dir",
        "threadpool_queue_work_simple",
        "udp_mmsg",
    ],
    "hwloc": ["hwloc_is_thissystem", "hwloc_bind", "hwloc_get_last_cpu_location", "hwloc_topology_restrict"],
}


@pytest.fixture(scope="module")
def node() -> Iterator[suites.Node]:
    for suite in SHORT:
        suites.made(f"suite-{suite}")
    with suites.node() as one:
        yield one


@pytest.mark.xdist_group("suites")
@pytest.mark.parametrize("test", [f"{suite}/{name}" for suite, names in SHORT.items() for name in names])
def test_tests_of_other_projects_pass(test: str, node: suites.Node) -> None:
    end = node.run(suites.job_of(*test.split("/", 1)))
    assert end.status == 0, end.said


@pytest.mark.long
@pytest.mark.parametrize("suite", suites.SUITES)
def test_what_passes_on_linux_passes_on_a_node_or_is_listed(suite: str) -> None:
    suites.made(f"suite-{suite}")
    if not (suites.FOLDER / suite / "stamp").exists():
        pytest.skip((ROOT / "build" / "foreign" / f"{suite}.log").read_text().strip().splitlines()[-1])
    linux, tacet = suites.compared([suite])
    reasons = suites.listed_differences()
    assert suites.errors(linux, tacet, reasons) == []
    assert not {test for test in reasons if test.startswith(f"{suite}/")} - linux.keys()
