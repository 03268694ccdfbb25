# SPDX-License-Identifier: BSD-2-Clause
"""Schedules that are made of traces (lab/schedules): the public application's ends are the public tool
chain's, to the nanosecond; each kind of call becomes what the program waits for; collectives match on all
ranks; what cannot be done is refused or named."""

from __future__ import annotations

import json
import sys
import tarfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]

from test_lab_mpi_trace import SWEEP3D, row, text_of, words, written

from lab.cli.dispatch import main
from lab.common.simulator import sim
from lab.formats import liballprof, mpi_trace
from lab.formats.mpi_trace import COLLECTIVE, COMM, COMPLETES, RECEIVES, RECORD, SENDS
from lab.schedules import collectives, from_trace
from lab.schedules.collectives import ALGORITHMS, RECEIVE, SEND, Part
from tests.making import made

#: Of Sweep3D's traces, by the public simulator: LogGP, L=2500 o=1500 g=1000 G=6 S=65535.
PUBLIC = ["-L", "2500", "-o", "1500", "-g", "1000", "-G", "6", "-S", "65535", "--order", "published",
          "--zero-byte", "published"]  # fmt: skip
ENDS = {1: 42_441_527_748, 16: 42_442_504_978, 128: 42_443_334_168}
COUNTS = {1: (23_940, 6_052), 16: (401_080, 105_852), 128: (3_316_216, 900_604)}


@pytest.fixture(scope="module")
def sweep3d(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep3d")
    with tarfile.open(SWEEP3D) as archive:
        archive.extractall(folder)
    made("sim")
    return folder / "sweep3d-2x2"


def simulated(path: Path, *options: str) -> dict:
    return json.loads(sim(["run", path, *options, "--json", "-", "--per-rank", "-q"]))


@pytest.mark.parametrize("times", [1, *(pytest.param(times, marks=pytest.mark.long) for times in (16, 128))])
def test_the_public_application_ends_where_the_public_tool_chain_s_schedule_does(
    times: int, sweep3d: Path, tmp_path: Path
) -> None:
    path = tmp_path / "sweep3d.goal"
    schedule = from_trace.write(liballprof.read_folder(sweep3d), path, times)
    assert (schedule.operations, schedule.messages) == COUNTS[times] and not schedule.left
    assert simulated(path, *PUBLIC)["max_ns"] == ENDS[times]


def test_each_rank_of_the_public_application_ends_there(sweep3d: Path, tmp_path: Path) -> None:
    assert main(["goal", "--trace", str(sweep3d), "-o", str(tmp_path / "s.goal")]) == 0
    ends = simulated(tmp_path / "s.goal", *PUBLIC)["finish_ns"]
    assert ends == [42441527748, 42441450916, 42441445916, 42441442416]


# ---- Calls ----


def one(folder: Path, rows: list[list[tuple]], **changed: str) -> Path:
    """Writes traces of ranks, each with MPI_Init and MPI_COMM_WORLD before its rows; returns the folder."""
    folder.mkdir()
    for rank, own in enumerate(rows):
        begin = [
            row(0, 0, 1000),
            (COMM, 0, 1, 0, 0, 0, len(rows), rank, 0, 0, 0, 0, 0),
            *words([1, 0, 1, len(rows)]),
        ]
        records = np.array([*begin, *own], dtype=RECORD)
        content = text_of(rank, len(rows), len(records), **changed) + records.tobytes()
        (folder / f"rank-{rank}.trace").write_bytes(content)
    return folder


def schedule_of(folder: Path, tmp_path: Path, times: int = 1) -> list[str]:
    from_trace.write(mpi_trace.read_folder(folder), tmp_path / "x.goal", times)
    return (tmp_path / "x.goal").read_text(encoding="ascii").split("\n")


def test_a_program_waits_for_what_it_waited_for(tmp_path: Path) -> None:
    """Computation is what is left of a gap after the tracer's cost; a request is waited for where it was."""
    sender = [row(2, 2000, 2010, SENDS, bytes=8, peer=1, tag=5, comm=0, request=1),
              row(3, 3040, 4000, COMPLETES, request=1), row(6, 4500, 4600)]  # fmt: skip
    receiver = [row(2, 1000, 1010, RECEIVES, bytes=8, peer=0, tag=5, comm=0, request=1),
                row(3, 3040, 4000, COMPLETES, request=1), row(6, 4030, 4600)]  # fmt: skip
    lines = schedule_of(one(tmp_path / "t", [sender, receiver]), tmp_path)
    assert lines == [
        "num_ranks 2", "",
        "rank 0 {",
        "l1: calc 970", "l2: send 8b to 1 tag 0", "l2 requires l1",
        "l3: calc 1000", "l3 irequires l2",
        "l4: calc 0", "l4 requires l3", "l4 requires l2",
        "l5: calc 470", "l5 requires l4", "}", "",
        "rank 1 {",
        "l1: recv 8b from 0 tag 0", "l2: calc 2000", "l3: calc 0", "l3 requires l2", "l3 requires l1",
        "}", "",
    ]  # fmt: skip


def test_what_waits_in_a_probe_is_no_computation(tmp_path: Path) -> None:
    """But what the program did between its polls is, and a poll in vain."""
    found = row(1, 2000, 5000, RECEIVES | mpi_trace.PROBES, bytes=100, peer=0, tag=1, comm=0)
    found = (*found[:11], 7, found[12])
    vain = row(1, 5100, 5200, RECEIVES | mpi_trace.PROBES | mpi_trace.IN_VAIN, peer=0, tag=1, comm=0)
    folder = one(tmp_path / "t", [[found, vain, row(6, 6000, 6100)]])
    assert schedule_of(folder, tmp_path)[3:] == [
        "l1: calc 970", "l2: calc 100", "l2 requires l1", "l3: calc 940", "l3 requires l2", "}", "",
    ]  # fmt: skip


def test_cpu_time_is_the_computation_if_it_was_measured(tmp_path: Path) -> None:
    """A rank that shares its CPU computes less than time passes."""
    send = list(row(1, 9000, 9010, SENDS, bytes=1, peer=0, tag=1, comm=0))
    send[5] = 5500
    folder = one(
        tmp_path / "t", [[tuple(send), row(6, 9020, 9030)]], **{"cpu-time": "yes", "cost-cpu-ns": "300"}
    )
    assert schedule_of(folder, tmp_path)[3] == "l1: calc 5200"


@pytest.mark.parametrize("times", [1, 3])
def test_messages_of_other_communicators_go_to_their_ranks(times: int, tmp_path: Path) -> None:
    """And a trace that is repeated stays a schedule that ends, each copy for itself."""
    made("sim")
    from_trace.write(mpi_trace.read_folder(written(tmp_path / "t")), tmp_path / "x.goal", times)
    ended = simulated(tmp_path / "x.goal")
    assert ended["ranks"] == 4 * times
    text = (tmp_path / "x.goal").read_text(encoding="ascii")
    ring = Counter(line.split(": ")[1].split(" tag")[0] for line in text.splitlines() if "64b" in line)
    assert ring == Counter(
        f"{way} {copy * 4 + (rank + (1 if way == 'send 64b to' else 3)) % 4}"
        for way in ("send 64b to", "recv 64b from")
        for copy in range(times)
        for rank in range(4)
    )


def test_a_collective_that_does_not_block_is_waited_for_at_its_wait(tmp_path: Path) -> None:
    begun = row(5, 1000, 1010, COLLECTIVE, bytes=8, comm=0, request=1)
    rows = [[begun, row(3, 5000, 6000, COMPLETES, request=1), row(6, 6000, 6100)]] * 2
    lines = schedule_of(one(tmp_path / "t", rows), tmp_path)
    assert lines[3:9] == [
        "l1: send 8b to 1 tag 1073741824", "l2: recv 8b from 1 tag 1073741824", "l3: calc 3960",
        "l4: calc 0", "l4 requires l3", "l4 requires l1",
    ]  # fmt: skip


def test_what_a_schedule_cannot_hold_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [[row(1, 2000, 2001, mpi_trace.ONE_SIDED), row(6, 3000, 3001)]]
    folder = one(tmp_path / "t", rows, **{"end": "MPI_Abort"})
    assert main(["goal", "--trace", str(folder), "-o", str(tmp_path / "x.goal")]) == 0
    said = capsys.readouterr().out
    assert "left out: one-sided calls and MPI-IO" in said
    assert "left out: the end of rank 0: it ends by MPI_Abort" in said


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["ring", "--ranks", "4"], "leave out PATTERN, --ranks, --check"),
        (["--times", "0"], "--times 0: give a number from 1 to 1048576"),
        (["--times", "300000"], "4 ranks 300000 times are more than 1048576"),
        (["--collective", "bcast=tree"], "--collective bcast=tree: give NAME=ALGORITHM"),
        (["-o", "-"], "--trace needs a file"),
    ],
)
def test_wrong_options_are_refused(
    options: list[str], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(tmp_path / "t")
    assert main(["goal", "--trace", str(folder), "-o", str(tmp_path / "x.goal"), *options]) == 1
    assert why in capsys.readouterr().err


def test_a_repeated_trace_is_compared_with_one_of_so_many_ranks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A ring stays a ring for each rank; an allreduce of twice the ranks has a round more, as it has."""
    few, many = written(tmp_path / "few", 4), written(tmp_path / "many", 8)
    words_ = ["goal", "--trace", str(few), "--times", "2", "-o", str(tmp_path / "x.goal")]
    assert main([*words_, "--against", str(many)]) == 0
    said = capsys.readouterr().out.splitlines()[-3:]
    assert [line.split() for line in said] == [
        ["messages", "24.0", "24.0", "+0.00", "%"],
        ["bytes", "296.0", "296.0", "+0.00", "%"],
        ["computation,", "us", *said[2].split()[2:4], "+0.00", "%"],
    ]
    assert main([*words_, "--against", str(few)]) == 1
    assert "traces of 4 ranks, but the schedule has 8" in capsys.readouterr().err


# ---- Collectives ----


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_collective_s_messages_match_on_all_ranks(algorithm: str) -> None:
    """Each that is sent is received, steps name earlier ones, and the schedule ends in any order of ranks."""
    for ranks in (1, 2, 3, 4, 7, 8, 13):
        for root in {0, ranks - 1, ranks // 2}:
            parts = [ALGORITHMS[algorithm](Part(rank, ranks, 8, root)) for rank in range(ranks)]
            sent = Counter(
                (rank, one.peer) for rank in range(ranks) for one in parts[rank] if one.kind == SEND
            )
            got = Counter(
                (one.peer, rank) for rank in range(ranks) for one in parts[rank] if one.kind == RECEIVE
            )
            assert sent == got and all(rank != peer for rank, peer in sent)
            assert all(before < i for steps in parts for i, one in enumerate(steps) for before in one.after)


def test_data_reaches_whom_it_must() -> None:
    """From the root to all, to the root from all, or from each to all: by steps that follow one another."""

    def reached(algorithm: str, ranks: int, root: int) -> list[set[int]]:
        steps = [ALGORITHMS[algorithm](Part(rank, ranks, 8, root)) for rank in range(ranks)]
        done: list[set[int]] = [set() for _ in steps]
        known = [{rank} for rank in range(ranks)]
        flying: dict[tuple[int, int], list[set[int]]] = {}
        for _ in range(2 * ranks):
            for rank, own in enumerate(steps):
                for i, one in enumerate(own):
                    if i in done[rank] or not set(one.after) <= done[rank]:
                        continue
                    if one.kind == SEND:
                        flying.setdefault((rank, one.peer), []).append(set(known[rank]))
                    elif not flying.get((one.peer, rank)):
                        continue
                    else:
                        known[rank] |= flying[one.peer, rank].pop(0)
                    done[rank].add(i)
        return known

    for ranks in (2, 5, 8):
        everyone = set(range(ranks))
        for root in (0, ranks - 1):
            assert all(root in known for known in reached("binomial-bcast", ranks, root))
            assert all(root in known for known in reached("linear-scatter", ranks, root))
            assert reached("binomial-reduce", ranks, root)[root] == everyone
            assert reached("linear-gather", ranks, root)[root] == everyone
        for algorithm in ("dissemination", "ring", "linear"):
            assert all(known == everyone for known in reached(algorithm, ranks, 0)), algorithm
        assert reached("chain", ranks, 0)[-1] == everyone


def test_functions_have_algorithms_that_are_there() -> None:
    assert set(collectives.DEFAULTS.values()) <= set(ALGORITHMS)
    assert [collectives.function_of(name) for name in ("Iallreduce", "Bcast", "Comm_split", "Send")] == [
        "allreduce", "bcast", "barrier", "",
    ]  # fmt: skip
