# SPDX-License-Identifier: BSD-2-Clause
"""Traces of MPI programs as the lab reads them (lab/formats/mpi_trace.py, liballprof.py): what is in the
files is read in pieces of any size, and a damaged file is read, marked, or refused in one line."""

from __future__ import annotations

import io
import random
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lab.cli import trace as trace_command
from lab.cli.dispatch import main
from lab.common import progress
from lab.common.errors import DataError
from lab.formats import liballprof, mpi_trace
from lab.formats.mpi_trace import (
    COLLECTIVE,
    COMM,
    COMM_NONE,
    COMPLETES,
    PART,
    RECEIVES,
    RECORD,
    SENDS,
    WORDS,
    RankTrace,
)  # fmt: skip

SWEEP3D = ROOT / "tests" / "data" / "traces" / "sweep3d-2x2.tar.xz"
NAMES = {0: "Init", 1: "Send", 2: "Irecv", 3: "Waitall", 4: "Sendrecv", 5: "Allreduce", 6: "Finalize"}


def words(numbers: Sequence[int]) -> list[tuple]:
    """Records of numbers that continue a call."""
    made = []
    for at in range(0, len(numbers), 14):
        raw = np.zeros(16, dtype="<u4")
        raw[2 : 2 + len(numbers[at : at + 14])] = np.array(numbers[at : at + 14]).astype("<u4")
        row = list(raw.view(RECORD)[0].tolist())
        row[:3] = [WORDS, len(numbers[at : at + 14]), 0]
        made.append(tuple(row))
    return made


def row(call: int, start: int, end: int, flags: int = 0, **more: int) -> tuple:
    given = {"more": 0, "bytes": 0, "peer": -1, "tag": -1, "comm": COMM_NONE, "request": 0, **more}
    return (call, flags, given["more"], start, end, 0, given["bytes"], given["peer"], given["tag"],
            given["comm"], given["request"], 0, 1)  # fmt: skip


def of_rank(rank: int, ranks: int) -> list[tuple]:
    """A small program: a ring of messages, a large MPI_Waitall, an exchange, an allreduce; on two
    communicators, the second one with the ranks in the other order."""
    next_, previous = (rank + 1) % ranks, (rank - 1) % ranks
    requests = list(range(1, 21))
    made = [row(0, 0, 1000)]
    for number, group in ((0, [1, 0, 1, ranks]), (1, [1, ranks - 1, -1, ranks])):
        place = rank if number == 0 else ranks - 1 - rank
        made += [(COMM, 0, 1, 0, 0, 0, ranks, place, 0, number, 0, 0, 0), *words(group)]
    at = 2000
    for request in requests:
        made.append(
            row(2, at, at + 1, RECEIVES, bytes=8, peer=previous, tag=request, comm=0, request=request)
        )
        at += 10
    for request in requests:
        made.append(row(1, at, at + 2, SENDS, bytes=8, peer=next_, tag=request, comm=0))
        at += 10
    made += [row(3, at, at + 500, COMPLETES, more=2), *words(requests)]
    made.append(
        row(4, at + 600, at + 700, SENDS, more=1, bytes=64, peer=ranks - 1 - next_, tag=7 + rank % 2, comm=1)
    )
    part = row(PART, 0, 0, RECEIVES, bytes=64, peer=ranks - 1 - previous, tag=7 + previous % 2, comm=1)
    made += [part, row(5, at + 800, at + 900, COLLECTIVE, bytes=24, comm=0), row(6, at + 1000, at + 1100)]
    return made


def text_of(rank: int, ranks: int, records: int, **changed: str) -> bytes:
    lines = {
        "rank": str(rank), "ranks": str(ranks), "end": "MPI_Finalize", "records": str(records),
        "lost-calls": "0", "missed-calls": "0", "program": "small", "host": "here", "library": "none",
        "clock-offset-init-ns": "-40 within 200", "clock-offset-finalize-ns": "10 within 300",
        "cost-between-ns": "30", "cost-inside-ns": "20", "cost-cpu-ns": "0", "cpu-time": "no", **changed,
    }  # fmt: skip
    calls = "".join(f"call {code} MPI_{name} 1\n" for code, name in NAMES.items())
    body = "".join(f"{key}: {value}\n" for key, value in lines.items()) + calls + "\n"
    size = -(-(len(body) + 29) // 64) * 64
    return (f"TACET-MPI-TRACE 1 {size:06}\n" + body).encode().ljust(size, b" ")


def written(folder: Path, ranks: int = 4, **changed: str) -> Path:
    folder.mkdir(exist_ok=True)
    for rank in range(ranks):
        rows = np.array(of_rank(rank, ranks), dtype=RECORD)
        (folder / f"rank-{rank}.trace").write_bytes(
            text_of(rank, ranks, len(rows), **changed) + rows.tobytes()
        )
    return folder


def sums(traces: list[RankTrace], kind: int) -> list[list[tuple[int, ...]]]:
    return [
        sorted(tuple(row) for rows in mpi_trace.world_messages(trace, kind) for row in rows.tolist())
        for trace in traces
    ]


@pytest.mark.parametrize("block", [3, 1 << 16])
def test_what_is_in_the_files_is_read(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the size of pieces, also if a call is longer."""
    monkeypatch.setattr(mpi_trace, "BLOCK_RECORDS", block)
    traces = mpi_trace.read_folder(written(tmp_path / "t"))
    assert [trace.rank for trace in traces] == [0, 1, 2, 3] and not any(trace.mark for trace in traces)
    assert (traces[1].offsets_ns, traces[1].cost_between_ns, traces[1].program) == ((-40, 10), 30, "small")
    expected = [
        sorted(
            [(rank, (rank + 1) % 4, tag, 8) for tag in range(1, 21)]
            + [(rank, (rank + 1) % 4, 7 + rank % 2, 64)]
        )
        for rank in range(4)
    ]
    assert sums(traces, SENDS) == expected
    assert sorted(sum(sums(traces, RECEIVES), [])) == sorted(sum(expected, []))
    backwards = traces[0].communicators()[1]
    assert backwards.members == (3, 2, 1, 0) and backwards.key == traces[2].communicators()[1].key
    waits = [
        mpi_trace.words_of(rows, int(at)).tolist()
        for rows in traces[0].blocks()
        for at in mpi_trace.heads_of(rows)
        if rows["flags"][at] & COMPLETES
    ]
    assert waits == [list(range(1, 21))]


def test_liballprofs_text_of_a_trace_has_its_messages(tmp_path: Path) -> None:
    """In MPI_COMM_WORLD's ranks. An exchange with two tags is two messages, for Schedgen adds one to both."""
    traces = mpi_trace.read_folder(written(tmp_path / "t"))
    (tmp_path / "text").mkdir()
    calls = liballprof.write_folder(traces, tmp_path / "text")
    again = liballprof.read_folder(tmp_path / "text")
    assert calls == sum(len(mpi_trace.heads_of(rows)) - 2 for trace in traces for rows in trace.blocks())
    for ours, theirs, rank in zip(traces, again, range(4)):
        for kind in (SENDS, RECEIVES):
            found = sorted(
                (int(row["peer"]), int(row["tag"]), int(row["bytes"]))
                for rows in theirs.blocks()
                for row in mpi_trace.messages(rows, kind)
            )
            there = [
                (a, b, c, d) for rows in mpi_trace.world_messages(ours, kind) for a, b, c, d in rows.tolist()
            ]
            assert found == sorted((b if a == rank and kind == SENDS else a, c, d) for a, b, c, d in there)
        text = (tmp_path / "text" / f"pmpi-trace-rank-{rank}.txt").read_text(encoding="ascii").splitlines()
        assert sum(line.startswith("MPI_Wait:") for line in text) == 22
        assert text[-1].startswith("MPI_Finalize:") and text[-1].endswith(":-")


def test_a_traced_application_is_read(tmp_path: Path) -> None:
    """Sweep3D on 2 × 2 ranks: 6,052 messages in its public schedule, of which 292 are collectives'."""
    with tarfile.open(SWEEP3D) as archive:
        archive.extractall(tmp_path)
    traces = liballprof.read_folder(tmp_path / "sweep3d-2x2")
    figures = [trace_command.figures_of(trace) for trace in traces]
    assert [one.sent for one in figures] == [one.received for one in figures] == [1440] * 4
    assert [one.sent_bytes for one in figures] == [one.received_bytes for one in figures] == [51_840_000] * 4
    assert not any(trace.mark for trace in traces)
    assert sum(one.calls["Allreduce"] for one in figures) == 128
    sends = [rows[rows["flags"] & SENDS > 0] for rows in traces[0].blocks()][0]
    assert set(sends["peer"].tolist()) == {1, 2} and set(sends["comm"].tolist()) == {0}


def test_requests_of_a_text_are_found_by_their_addresses(tmp_path: Path) -> None:
    """Of 8 bytes each, or of 4 as MPICH has them; an address is used again."""
    lines = [
        "# a comment", "MPI_Init:-:1:2:1000.000000",
        "MPI_Irecv:1001.5:0:10:1,4,8589934600:-1:7:0,0,1:800:1002.25",
        "MPI_Isend:1003:0:10:1,4,4:0:7:0,0,1:804:1004", "MPI_Isend:1005:0:1:1,4,4:0:8:0,0,1:840:1006",
        "MPI_Test:1006.5:840:99:0:1006.75", "MPI_Waitall:1007:2:800:0:1009", "MPI_Wait:1010:840:0:1011",
        "MPI_Isend:1012:0:1:1,4,4:0:9:0,0,1:840:1013", "MPI_Wait:1014:840:0:1015", "MPI_Finalize:1016:-", "",
    ]  # fmt: skip
    (tmp_path / "rank-0.txt").write_text("\n".join(lines), encoding="ascii")
    trace = liballprof.read_folder(tmp_path)[0]
    rows = np.concatenate(list(trace.blocks()))
    heads = mpi_trace.heads_of(rows)
    named = [(trace.names[int(rows["call"][at])], int(rows["request"][at]),
              mpi_trace.words_of(rows, int(at)).tolist()) for at in heads]  # fmt: skip
    assert named == [
        ("Init", 0, []), ("Irecv", 1, []), ("Isend", 2, []), ("Isend", 3, []), ("Test", 3, []),
        ("Waitall", 0, [1, 2]), ("Wait", 3, []), ("Isend", 4, []), ("Wait", 4, []), ("Finalize", 0, []),
    ]  # fmt: skip
    assert (rows["start_ns"][1], rows["end_ns"][1], rows["bytes"][1]) == (1_001_500, 1_002_250, 40)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_long_work_shows_how_far_it_is_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 1.0, 2.5, 2.6, 9.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(times))
    terminal = Terminal()
    with progress.Bar(200, "reading", terminal) as bar:
        for _ in range(4):
            bar.add(50)
    assert terminal.getvalue().split("\r")[1:] == [
        "[###############...............]  50 %  reading, 2 s left \x1b[K",
        "[##############################] 100 %  reading, 0 s left \x1b[K",
        "\x1b[K",
    ]
    times = iter([0.0, 9.0])
    file = io.StringIO()
    with progress.Bar(200, "reading", file) as bar:
        bar.add(100)
    assert not file.getvalue()


# ---- What is wrong ----


def cut(path: Path, bytes_: int) -> None:
    path.write_bytes(path.read_bytes()[:-bytes_])


def replace(path: Path, old: bytes, new: bytes) -> None:
    path.write_bytes(path.read_bytes().replace(old, new))


def step(path: Path, at: int, field: str, value: int) -> None:
    """Changes a field of a record."""
    data = bytearray(path.read_bytes())
    place = int(data[18:24]) + 64 * at
    rows = np.frombuffer(bytes(data[place : place + 64]), dtype=RECORD).copy()
    rows[field] = value
    data[place : place + 64] = rows.tobytes()
    path.write_bytes(bytes(data))


BAD = {
    "cut": (lambda f: cut(f, 64), "52 records in its text, but room for 51: the file was cut"),
    "within a record": (lambda f: cut(f, 10), "but room for 51: the file was cut"),
    "within the text": (lambda f: f.write_bytes(f.read_bytes()[:300]), "ends within its text"),
    "clock": (lambda f: step(f, 7, "start_ns", 5), "Irecv from 5 to 2021 ns after 2011 ns: the clock"),
    "function": (lambda f: step(f, 7, "call", 40), "record 8: function 40 is not in the file's list"),
    "more": (lambda f: step(f, 51, "more", 9), "record 52 has 9 more, but 0 follow it; the file ends"),
    "group": (lambda f: step(f, 2, "end_ns", (4 << 32) + 1000), "ranks that are not in MPI_COMM_WORLD"),
    "peer": (lambda f: step(f, 8, "peer", 77), "a message to a rank that communicator 0 does not have"),
    "version": (lambda f: replace(f, b"TRACE 1", b"TRACE 2"), "version 2 of the format"),
    "other": (lambda f: f.write_bytes(b"# FWQ\n1\n"), "does not begin with 'TACET-MPI-TRACE'"),
    "ranks": (lambda f: replace(f, b"ranks: 4", b"ranks: 8"), "of a job of 8 ranks"),
    "missing": (lambda f: f.unlink(), "traces of 3 of 4 ranks; missing: 2"),
    "number": (lambda f: replace(f, b"within 300", b"witxin 300"), "no valid line"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_a_trace_that_cannot_be_is_refused_by_name(what: str, tmp_path: Path) -> None:
    folder = written(tmp_path / "t")
    damage, why = BAD[what]
    damage(folder / "rank-2.trace")
    with pytest.raises(DataError) as refusal:
        for trace in mpi_trace.read_folder(folder):
            for kind in (SENDS, RECEIVES):
                list(mpi_trace.world_messages(trace, kind))
    assert why in str(refusal.value) and str(folder) in str(refusal.value)


MARKS = {
    "end": ({"end": "MPI_Abort"}, "it ends by MPI_Abort"),
    "lost": ({"lost-calls": "12"}, "12 calls found no room"),
    "missed": ({"missed-calls": "3"}, "3 calls of a second thread are missing"),
    "clock": ({"clock-offset-finalize-ns": "9000000 within 5"}, "its clock went 9000040 ns from rank 0's"),
}


@pytest.mark.parametrize("what", MARKS)
def test_a_trace_that_is_not_whole_is_marked(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed, mark = MARKS[what]
    folder = written(tmp_path / "t", **changed)
    assert [trace.mark for trace in mpi_trace.read_folder(folder)] == [mark] * 4
    assert main(["trace", str(folder)]) == 0
    assert f"rank-0.trace: incomplete: {mark}" in capsys.readouterr().out


BAD_TEXT = {
    "a line cut": ("MPI_Barrier:1:0,0,1:2\nMPI_Barr", "x-0.txt:2: the file ends within a line"),
    "arguments": ("MPI_Send:1:0:10:2\n", "x-0.txt:1: MPI_Send has 2 arguments; it takes 6"),
    "a type": ("MPI_Bcast:1:0:1:4:0:0,0,1:2\n", "x-0.txt:1: MPI_Bcast: '4' is no type"),
    "times": ("MPI_Barrier:a:0,0,1:2\n", "x-0.txt:1: no times in µs: 'a', '2'"),
    "a clock": (
        "MPI_Barrier:5:0,0,1:7\nMPI_Barrier:6:0,0,1:8\n",
        "from 6000 to 8000 ns after 7000 ns: the clock",
    ),
    "no call": ("1 2 3\n", "x-0.txt:1: no call: '1 2 3'; as 'MPI_Barrier:start:0,0,4:end'"),
    "a number": (
        "MPI_Send:1:0:1:1,4,4:99999999999:0:0,0,1:2\n",
        "MPI_Send: 99999999999 is no int, as a peer is",
    ),
}


@pytest.mark.parametrize("what", BAD_TEXT)
def test_a_text_that_cannot_be_is_refused_by_its_line(what: str, tmp_path: Path) -> None:
    text, why = BAD_TEXT[what]
    (tmp_path / "x-0.txt").write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as refusal:
        for trace in liballprof.read_folder(tmp_path):
            list(trace.blocks())
    assert why in str(refusal.value)


def test_a_text_without_finalize_is_marked(tmp_path: Path) -> None:
    (tmp_path / "x-0.txt").write_text("MPI_Barrier:1:0,0,1:2\n", encoding="ascii")
    assert liballprof.read_folder(tmp_path)[0].mark == "it ends by a line that is not MPI_Finalize's"


def test_the_command_names_what_it_needs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words_, why in (
        ([str(tmp_path / "no")], "not a folder"),
        ([str(tmp_path)], "no files …N.txt"),
        ([str(tmp_path), "--to", "liballprof"], "give both, or neither"),
    ):
        assert main(["trace", *words_]) == 1 and why in capsys.readouterr().err
    (tmp_path / "rank-0.trace").write_bytes(b"TACET-MPI-TRACE 1 000064\nrank: 0\n\n")
    assert main(["show", str(tmp_path / "rank-0.trace")]) == 1
    assert "use it with `lab trace FOLDER`" in capsys.readouterr().err


def damaged(data: bytes, chance: random.Random) -> bytes:
    """A few random changes: bytes, bits, cuts, copies."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at, what = chance.randrange(len(changed)), chance.randrange(4)
        if what == 0:
            changed[at] = chance.randrange(256)
        elif what == 1:
            changed[at] ^= 1 << chance.randrange(8)
        elif what == 2:
            del changed[at : at + chance.choice((1, 7, 64, 640))]
        else:
            changed[at:at] = changed[at : at + chance.choice((1, 64))]
        changed = changed or bytearray(b"x")
    return bytes(changed)


@pytest.mark.parametrize("format_", ["records", "text"])
def test_a_damaged_trace_is_read_or_refused_in_one_line(format_: str, tmp_path: Path) -> None:
    chance = random.Random(f"damage {format_}")
    folder = written(tmp_path / "t", 2)
    if format_ == "text":
        (tmp_path / "text").mkdir()
        liballprof.write_folder(mpi_trace.read_folder(folder), tmp_path / "text")
        folder = tmp_path / "text"
    path = sorted(folder.iterdir())[0]
    whole, refused = path.read_bytes(), 0
    for _ in range(300):
        path.write_bytes(damaged(whole, chance))
        try:
            for trace in trace_command.read_folder(folder):
                trace_command.figures_of(trace)
                trace.communicators()
        except DataError as error:
            assert "\n" not in str(error) and str(tmp_path) in str(error)
            refused += 1
    assert 40 < refused < 300
