# SPDX-License-Identifier: BSD-2-Clause
"""Memory of a rank's own NUMA node, as the firmware's SRAT describes it."""

from __future__ import annotations

import re
from pathlib import Path

from conftest import Run, expect_exit

NODES = [
    *("-object", "memory-backend-ram,id=near,size=512M", "-object", "memory-backend-ram,id=far,size=512M"),
    *("-numa", "node,nodeid=0,cpus=0,cpus=2,memdev=near", "-numa", "node,nodeid=1,cpus=1,cpus=3,memdev=far"),
]


def test_ranks_run_on_a_machine_of_two_nodes(tacet: Run) -> None:
    result = expect_exit(tacet("ranks.musl", "own", cpus=4, memory="1G", qemu_options=NODES))
    assert result.stdout.count(b" of 4 cpu ") == 4 and "each of 4 ranks" in result.console, result.explain()


def test_each_rank_has_memory_of_its_own_node(tacet: Run) -> None:
    result = expect_exit(tacet("ranks.musl", "own", cpus=4, memory="1G", qemu_options=NODES))
    reported = re.findall(r"rank (\d) is on NUMA node (\d), as are (\d+) of its (\d+) MiB", result.console)
    assert [(rank, node) for rank, node, _, _ in reported] == [
        ("0", "0"),
        ("1", "1"),
        ("2", "0"),
        ("3", "1"),
    ], result.explain()
    # All but a large page: slices are cut at its multiples.
    assert all(int(whole) - int(near) <= 3 for _, _, near, whole in reported), result.explain()


def test_programs_read_which_cpus_a_node_has(tacet: Run, busybox: Path) -> None:
    files = [f"/sys/devices/system/node/{name}" for name in ("online", "node0/cpulist", "node1/cpulist")]
    result = expect_exit(
        tacet(busybox, "cat", *files, cpus=4, memory="1G", qemu_options=NODES, options="ranks=1")
    )
    assert result.stdout.decode().split() == ["0-1", "0,2", "1,3"], result.explain()


def test_a_rank_reads_where_its_memory_is(tacet: Run, busybox: Path) -> None:
    files = [
        f"/sys/devices/system/node/node{node}/{name}" for node in (0, 1) for name in ("distance", "meminfo")
    ]
    result = expect_exit(
        tacet(
            busybox,
            "grep",
            "-h",
            ".",
            *files,
            "/proc/self/numa_maps",
            cpus=4,
            memory="1G",
            qemu_options=NODES,
        )
    )
    lines = result.stdout.decode()
    assert lines.count("10 20\n") == 4 and lines.count("20 10\n") == 4, result.explain()
    totals = [int(kib) >> 10 for kib in re.findall(r"Node \d MemTotal: +(\d+) kB", lines)]
    assert len(totals) == 8 and sum(total > 180 for total in totals) == 4, result.explain()
    assert sum(total <= 3 for total in totals) == 4, result.explain()
    assert re.search(r" anon=\d+ dirty=\d+ N0=", lines) and re.search(r" anon=\d+ dirty=\d+ N1=", lines)


def test_a_rank_binds_memory_to_where_it_is_and_nowhere_else(tacet: Run) -> None:
    result = expect_exit(tacet("nodes.musl", cpus=4, memory="1G", qemu_options=NODES))
    assert result.stdout.count(b"broken: 0\n") == 4 and result.stderr == b"", result.explain()
    whole = expect_exit(tacet("nodes.musl", cpus=4, memory="1G", qemu_options=NODES, options="ranks=1"))
    assert b"broken: 0\n" in whole.stdout and whole.stderr == b"", whole.explain()


def test_where_the_firmware_reports_no_nodes_nothing_is_said(tacet: Run) -> None:
    assert "NUMA" not in expect_exit(tacet("ranks.musl", "own", cpus=2, memory="256M")).console
