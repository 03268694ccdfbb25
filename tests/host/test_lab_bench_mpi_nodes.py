# SPDX-License-Identifier: BSD-2-Clause
"""lab bench-mpi-nodes compares run with run, lists the sizes at which Tacet is slower, and takes no output
without rows for figures."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from lab.bench import mpi_nodes, openmpi_files
from lab.bench.mpi_nodes import LINUX, OPEN_MPI, TACET
from lab.cli import dispatch as lab
from lab.common.errors import LabError

SAID = """# pingpong: 50 repetitions after 10 of warm-up, window 64, batch 1
#mode               bytes window         min      median         p99         max        MB/s  rate  check
latency                 0      1     100.000     150.500     200.000     900.000        0.00       0.0066  -
latency              1024      1     200.000     250.250     300.000     900.000        4.09       0.0040  -
"""


def test_rows_are_bytes_and_the_median() -> None:
    assert mpi_nodes.rows_read(SAID) == {0: 150.5, 1024: 250.25}
    with pytest.raises(LabError, match="no rows"):
        mpi_nodes.rows_read("pingpong: it has failed\n")


def test_each_round_is_compared_with_itself_and_what_is_slower_is_listed() -> None:
    """Rounds differ by more than systems do; a ratio of medians over all would say nothing."""
    pace = [1.0, 2.0, 4.0, 4.0, 8.0, 16.0]
    times = {
        TACET: {0: [90 * by for by in pace], 1024: [120 * by for by in pace]},
        OPEN_MPI: {0: [100 * by for by in pace], 1024: [100 * by for by in pace]},
        LINUX: {0: [50.0] * 6, 1024: [50.0] * 6},
    }
    rows = mpi_nodes.compare(times)
    assert [round(row.ratio, 6) for row in rows] == [0.9, 1.2]
    assert [(round(row.low, 6), round(row.high, 6)) for row in rows] == [(0.9, 0.9), (1.2, 1.2)]
    said = mpi_nodes.as_table(rows, 6)
    assert re.search(r"^0 +360\.0 +400\.0 +50\.0 +0\.900 +0\.900 to 0\.900 +as fast$", said, re.MULTILINE)
    assert said.endswith("slower, or undecided, at 1 of 2 sizes: 1,024 bytes (1.20)")
    unsure = mpi_nodes.Row(0, rows[0].us, 0.9, 0.5, 1.3)
    assert unsure.verdict == "undecided"
    assert mpi_nodes.as_table(rows[:1], 6).endswith("at least as fast at all 1 sizes")


def test_rounds_begin_with_each_system_in_turn_and_an_error_ends_them(tmp_path: Path) -> None:
    lines = mpi_nodes.script_of(tmp_path, 4, "-m latency -s 0").splitlines()
    assert lines[0] == "set -e"
    said = [line.partition(": ")[2].rstrip("'") for line in lines if line.startswith("echo ")]
    assert [said[i] for i in (0, 3, 6, 9)] == [TACET, OPEN_MPI, LINUX, TACET]
    assert all(sorted(said[i : i + 3]) == sorted(mpi_nodes.SYSTEMS) for i in (0, 3, 6, 9))
    runs = [line for line in lines if line.startswith("tacetrun ")]
    assert len(runs) == 12 and len({line.partition(" >")[2] for line in runs}) == 12
    assert all("-m latency -s 0" in line and "-n 2" in line for line in runs)


def test_other_networks_libraries_are_known() -> None:
    for name in ("libucp.so.0", "libuct.so.0", "libfabric.so.1", "libpsm2.so.2", "libibverbs.so.1"):
        assert openmpi_files.OTHER_NETWORKS.search(f"/lib/x86_64-linux-gnu/{name}")
    for name in ("libutil.so.1", "libopen-pal.so.40", "libc.so.6"):
        assert not openmpi_files.OTHER_NETWORKS.search(f"/lib/x86_64-linux-gnu/{name}")


def test_one_round_has_no_interval(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["bench-mpi-nodes", "--rounds", "1", "--out", str(tmp_path)]
    assert lab.main(words, out=io.StringIO()) == 1
    assert "too few for an interval" in capsys.readouterr().err
