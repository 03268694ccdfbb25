# SPDX-License-Identifier: BSD-2-Clause
"""lab bench-mpi reads what the benchmarks print, compares with the better neighbour of each row, round by
round, and lists what is slower; a benchmark that fails, and a part that does not exist, are refused by
name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from lab.bench import mpi
from lab.common.errors import LabError

PRINTED = """\
# pingpong: 300 repetitions
#mode               bytes window         min      median         p99  check
latency                 0      1       0.268       0.284       3.332  ok
latency                 8      1       0.254       0.312       2.708  ok
Verification: verified
"""


def times(ours: list[float], open_mpi: list[float], mpich: list[float]) -> dict[str, mpi.Times]:
    row = ("latency", "8")
    return {mpi.OURS: {row: ours}, "Open MPI": {row: open_mpi}, "MPICH": {row: mpich}}


def test_rows_are_the_medians_under_their_names() -> None:
    rows = mpi.rows_read(PRINTED)
    assert rows == {("latency", "0"): 0.284, ("latency", "8"): 0.312}


@pytest.mark.parametrize("said", ["", "# pingpong\n", "latency 0 1 0.1 0.2\n"])
def test_output_without_rows_is_no_result(said: str) -> None:
    with pytest.raises(LabError, match="no rows"):
        mpi.rows_read(said)


def test_the_ratio_is_to_the_better_one_in_the_same_round() -> None:
    """A machine that is twice as slow in a round is so for all: the ratio does not change."""
    row = mpi.compare(times([1.0, 2.0, 4.0] * 2, [2.0, 4.0, 8.0] * 2, [3.0, 6.0, 12.0] * 2))[0]
    assert (row.better, row.ratio, row.low, row.high) == ("Open MPI", 0.5, 0.5, 0.5)
    assert row.verdict == "as fast"


def test_a_slower_row_is_listed_and_not_averaged_away() -> None:
    rows = mpi.compare(times([3.0] * 6, [4.0] * 6, [2.0] * 6))
    said = mpi.as_table([*rows, *mpi.compare(times([1.0] * 6, [4.0] * 6, [2.0] * 6))], 6)
    assert rows[0].better == "MPICH" and rows[0].verdict == "SLOWER"
    assert said.count("SLOWER") == 2 and "SLOWER: 1 of 2 rows: latency 8 (1.50)" in said


def test_parts_name_what_the_programs_have() -> None:
    """Their options are read by the programs themselves, and no size of a part is in another one."""
    for program, options in mpi.PARTS:
        assert (mpi.SOURCES / f"{program}.c").is_file()
        assert options.startswith(("-m ", "-c "))


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--rounds", "5"], "--rounds 5: too few for an interval; give at least 6"),
        (["--ranks", "1"], "--ranks 1: too few"),
        (["--only", "pigeon"], "--only pigeon: no part has it"),
    ],
)
def test_options_that_measure_nothing_are_refused(
    words: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from lab.cli import dispatch

    assert dispatch.main(["bench-mpi", *words]) != 0
    assert why in capsys.readouterr().err


def test_a_launcher_that_fails_is_named(tmp_path: Path) -> None:
    one = mpi.Mpi("nobody's", "cc", ["false"])
    with pytest.raises(LabError, match="status 1"):
        mpi.part_run(one, tmp_path, mpi.PARTS[0], 2, False, [])
