# SPDX-License-Identifier: BSD-2-Clause
"""Drives the LogGOPS simulator `build/simulator/sim`: the reference schedules, errors of users, determinism,
outputs.

Builds the simulator first, which needs make, g++ and CLI11 only.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import hashlib
import io
import json
import lzma
import re
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from lab.bench import schedules, simulator
from lab.common.errors import LabError
from tests import published
from tests.making import made

EXPECTED = published.expected()
NOISY_EXPECTED = published.expected_with_noise()


@pytest.fixture(scope="session", autouse=True)
def built() -> None:
    made("build/simulator/sim")


def sim(*arguments: object, text: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [str(ROOT / "build/simulator/sim"), *map(str, arguments)]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, check=False)


def result(*arguments: object, text: str | None = None) -> dict[str, Any]:
    done = sim(*arguments, "--json", "-", "--per-rank", text=text)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def parameters(point: dict[str, Any]) -> list[object]:
    return [word for key in "LogGOS" for word in (f"-{key}", point[key])]


def schedule(folder: Path, name: str) -> Path:
    """A file of that published schedule."""
    path = folder / name
    path.write_text(published.schedule(name))
    return path


def noise_words(folder: Path, point: dict[str, Any]) -> list[object]:
    """The options for a published run's trace, and for where in it each rank began."""
    offsets, trace = folder / "offsets", folder / point["noise"]
    offsets.write_text("".join(f"{place}\n" for place in point["offsets_ns"]))
    trace.write_text(published.trace(point["noise"]))
    return ["--noise", trace, "--offsets", offsets]


def has_empty_messages(name: str) -> bool:
    return " 0b " in published.schedule(name)


@pytest.mark.parametrize("folder", [published.QUIET, published.NOISY])
def test_the_reference_is_what_the_public_tools_wrote(folder: Path) -> None:
    """To the byte: 189 schedules, 6 traces and 2 files of finish times."""
    sums = dict(reversed(line.split()) for line in (folder / "sha256sums").read_text().splitlines())
    names = {name.partition("/")[2] for name in sums}
    assert names > (set(EXPECTED) if folder == published.QUIET else set(NOISY_EXPECTED))
    for name, expected in sums.items():
        assert hashlib.sha256(published.written(name).encode()).hexdigest() == expected, name


#: Every third one in each `make test`.
SCHEDULES = [
    pytest.param(name, marks=pytest.mark.long if i % 3 else ()) for i, name in enumerate(sorted(EXPECTED))
]


@pytest.mark.parametrize("name", SCHEDULES)
def test_reference_schedules_end_exactly(name: str, tmp_path: Path) -> None:
    """As published: all of them by one switch, and in our order with the published cost of messages of no
    bytes."""
    path = schedule(tmp_path, name)
    for point in EXPECTED[name]:
        words = ["run", path, *parameters(point)]
        for like in (["--like", "loggopsim"], ["--zero-byte", "published"]):
            assert result(*words, *like)["finish_ns"] == point["finish_ns"]
        if not has_empty_messages(name):
            for threads in (1, 3):
                assert result(*words, "-j", threads)["finish_ns"] == point["finish_ns"]


def test_empty_messages_are_not_faster_than_light(tmp_path: Path) -> None:
    """Where we differ: a message of no bytes takes as long as one of one byte; published, G less per hop."""
    differing = [name for name in EXPECTED if has_empty_messages(name)]
    assert len(differing) == 5
    for name in differing:
        path = schedule(tmp_path, name)
        one_byte = path.read_text().replace(" 0b ", " 1b ")
        for point in EXPECTED[name]:
            ours = result("run", path, *parameters(point))["finish_ns"]
            assert ours == result("run", "-", *parameters(point), text=one_byte)["finish_ns"]
            assert all(mine > theirs for mine, theirs in zip(ours, point["finish_ns"], strict=True))


@pytest.mark.parametrize("name", sorted(NOISY_EXPECTED))
def test_noise_delays_every_rank_as_in_the_public_simulator(name: str, tmp_path: Path) -> None:
    """By one switch, and with its rule alone in our order of equal times: all 276 runs, to the nanosecond."""
    path = schedule(tmp_path, name)
    for point in NOISY_EXPECTED[name]:
        words = ["run", path, *parameters(point), *noise_words(tmp_path, point)]
        for like in (["--like", "loggopsim"], ["--noise-rule", "loggopsim"]):
            assert result(*words, *like)["finish_ns"] == point["finish_ns"], point["noise"]


def test_what_is_given_takes_precedence_over_the_one_switch() -> None:
    text = "num_ranks 1\nrank 0 {\ncalc 5\n}\n"
    words = ["run", "-", "--like", "loggopsim", "--order", "causes", "--noise-rule", "paper2010"]
    answer = result(*words, text=text)
    assert answer["parameters"]["order"] == "causes" and answer["parameters"]["zero_byte"] == "published"
    assert answer["noise"]["rule"] == "paper2010"
    assert sim("run", "-", "--like", "simgrid", text=text).returncode == 2


def test_the_reference_with_noise_is_whole() -> None:
    assert sum(map(len, NOISY_EXPECTED.values())) == 276


@pytest.mark.parametrize("rule", ["physical", "paper2010"])
def test_the_other_rules_are_others(rule: str, tmp_path: Path) -> None:
    name = "dissemination-p256-d1.goal"
    path = schedule(tmp_path, name)
    for point in NOISY_EXPECTED[name]:
        words = ["run", path, *parameters(point), *noise_words(tmp_path, point)]
        if max(point["finish_ns"]) > 500_000:
            other = result(*words, "--noise-rule", rule)["finish_ns"]
            assert other != point["finish_ns"]


def test_an_unknown_rule_is_answered_with_the_three() -> None:
    done = sim("pattern", "dissemination", "-n", 4, "--noise-rule", "published")
    assert done.returncode == 1
    assert all(rule in done.stderr for rule in ("physical", "loggopsim", "paper2010"))


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 1, "0 places of 4 ranks"),
        ("1\n2\n3\n", 4, "3 places of 4 ranks"),
        ("1\n2\n3\n4\n5\n", 5, "more places than the 4 ranks"),
        ("1\n-2\n3\n4\n", 2, "place of rank 1"),
        ("1\n2\nthree\n4\n", 3, "place of rank 2"),
        ("1\n2\n3\t3\n4\n", 3, "place of rank 2"),
        ("1\n2\n99999999999999999999\n4\n", 3, "too large"),
        ("# ranks\n1\n2\n3\n4e3\n", 5, "place of rank 3"),
    ],
)
def test_errors_of_offsets_name_the_line(text: str, line: int, what: str, tmp_path: Path) -> None:
    path = tmp_path / "offsets"
    path.write_text(text)
    done = sim("pattern", "bcast", "-n", 4, "--noise-period", 9, "--noise-duration", 3, "--offsets", path)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"sim: {path}:{line}: ") and what in done.stderr


def test_offsets_decide_where_ranks_begin(tmp_path: Path) -> None:
    """A detour of 30 ns each 90 ns; the ranks compute only."""
    path = tmp_path / "offsets"
    path.write_text("0\n20\n31\n85\n")
    words = ["pattern", "alltoall", "-n", 4, "--compute", 40, "-L", 0, "-o", 0, "-g", 0, "-G", 0]
    words += ["--noise-period", 90, "--noise-duration", 30, "--offsets", path, "--noise-rule"]
    assert result(*words, "physical")["finish_ns"] == [70] * 4
    words = ["pattern", "dissemination", "-n", 1, "--compute", 40, *words[words.index("--noise-period") :]]
    for place, physical, loggopsim, paper in ((0, 70, 70, 70), (20, 50, 50, 40), (85, 70, 70, 70)):
        path.write_text(f"{place}\n")
        for rule, expected in (("physical", physical), ("loggopsim", loggopsim), ("paper2010", paper)):
            assert result(*words, rule)["finish_ns"] == [expected], (place, rule)


def test_messages_wait_for_a_gate_and_are_under_way_for_the_latency_from_there(tmp_path: Path) -> None:
    words = ["-L", 200, "-o", 30, "-g", 0, "-G", 0]
    for compute, gated in ((40, 330), (70, 330), (71, 430)):
        pattern = ["pattern", "dissemination", "-n", 2, "--compute", compute, *words]
        assert result(*pattern)["finish_ns"] == [compute + 30 + 200 + 30] * 2
        assert result(*pattern, "--gate", 100)["finish_ns"] == [gated] * 2
    path = tmp_path / "barrier.goal"
    assert sim("goal", "dissemination", "-n", 70, "-i", 3, "--output", path).returncode == 0
    words += ["--gate", 100, "--noise-period", 1000, "--noise-duration", 70]
    expected = result("run", path, *words)["finish_ns"]
    for threads in (1, 3):
        many = result("pattern", "dissemination", "-n", 70, "-i", 3, *words, "-j", threads)
        assert many["finish_ns"] == expected and many["parameters"]["gate"] == 100


def test_the_published_order_is_that_of_an_unstable_sort() -> None:
    """Of operations ready at once sends go first, then receives, then computations; from 17 on, sends change
    places among each other. The times are the public simulator's."""
    few = "num_ranks 3\nrank 0 {\ncalc 9000\nsend 8b to 1\nsend 8b to 2\n}\n"
    few += "rank 1 {\nrecv 8b from 0\n}\nrank 2 {\nrecv 8b from 0\n}\n"
    assert result("run", "-", text=few)["finish_ns"] == [12000, 14542, 16042]
    assert result("run", "-", "--order", "published", text=few)["finish_ns"] == [12000, 5542, 7042]
    many = "num_ranks 25\nrank 0 {\n"
    many += "".join(f"send 8b to {rank}\nrecv 8b from {rank}\n" for rank in range(1, 25)) + "}\n"
    for rank in range(1, 25):
        many += f"rank {rank} {{\nrecv 8b from 0\nsend 8b to 0\n}}\n"
    received = [28042, 29542, 32542, 34042, 35542, 37042, 40042, 25042, 5542, 22042, 19042, 17542, 14542]
    received += [13042, 10042, 8542, 7042, 11542, 16042, 20542, 23542, 38542, 26542, 31042]
    assert result("run", "-", "--order", "published", text=many)["finish_ns"] == [73008, *received]
    assert result("run", "-", text=many)["finish_ns"] == [73008, *sorted(received)]


def test_a_global_interrupt_meets_two_detours_and_no_more() -> None:
    """[Beckman06 §4]: 1.6 us, and under 200 us of noise each millisecond 251 times that, at any size."""
    words = ["pattern", "global-interrupt", "-L", 800, "-o", 400, "--noise-period", 1e6, "--noise-duration"]
    words = [f"{word:.0f}" if isinstance(word, float) else word for word in words]
    for ranks in (1024, 32768):
        found = result(*words, 200_000, "-n", ranks, "-r", 20)
        assert found["quiet_max_ns"] == 1600
        increase = [(end - 1600) / 200_000 for end in found["simulations_max_ns"]]
        assert all(1.9 < one <= 2 for one in increase)
    assert result(*words, 200_000, "-n", 1, "--coscheduled")["max_ns"] < 1600 + 200_001
    done = sim("goal", "global-interrupt", "-n", 4)
    assert done.returncode == 1 and "separate network" in done.stderr


def test_the_quiet_simulation_can_be_left_out() -> None:
    words = ["pattern", "bcast", "-n", 64, "--noise-period", 90000, "--noise-duration", 30000]
    with_quiet, without = result(*words), result(*words, "--no-quiet")
    assert with_quiet.pop("quiet_max_ns") > 0 and with_quiet == without


HEAD = "num_ranks 2\nrank 0 {\n"
TAIL = "}\nrank 1 {\n}\n"


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 1, "num_ranks"),
        ("hello", 1, "num_ranks"),
        ("num_ranks -3", 1, "number of ranks"),
        ("num_ranks 0\n", 1, "number of ranks"),
        ("num_ranks 99999999999999999999\n", 1, "number of ranks"),
        ("num_ranks NaN\n", 1, "number of ranks"),
        ("num_ranks 2\nrank 0 {\n}\n", 4, "rank 1 is missing"),
        ("num_ranks 3\nrank 0 {\n}\nrank 2 {\n}\n", 4, "rank 1 is missing"),
        ("num_ranks 2\nrank 1 {\n}\nrank 0 {\n}\n", 4, "ascending"),
        ("num_ranks 2\nrank 5 {\n}\n", 2, "out of range"),
        (HEAD + "send 8b to 2\n" + TAIL, 3, "out of range"),
        (HEAD + "send 8b to -1\n" + TAIL, 3, "a rank"),
        (HEAD + "recv 8b from -2\n" + TAIL, 3, "-1 for any"),
        (HEAD + "send -8b to 1\n" + TAIL, 3, "number of bytes"),
        (HEAD + "send nanb to 1\n" + TAIL, 3, "requires"),
        (HEAD + "send 8 to 1\n" + TAIL, 3, '"b"'),
        (HEAD + "send 8b from 1\n" + TAIL, 3, "to RANK"),
        (HEAD + "calc -5\n" + TAIL, 3, "ns"),
        (HEAD + "calc 99999999999999999999\n" + TAIL, 3, "ns"),
        (HEAD + "send 8b to 1 tag -1\n" + TAIL, 3, "tag"),
        (HEAD + "send 8b to 1 cpu 256\n" + TAIL, 3, "0 to 255"),
        (HEAD + "a: calc 5\na: calc 6\n" + TAIL, 4, "twice"),
        (HEAD + "a: calc 5\na requires b\n" + TAIL, 4, 'labelled "b"'),
        (HEAD + "a: calc 5\na requires a\n" + TAIL, 3, "cycle"),
        (
            HEAD + "a: calc 1\nb: calc 1\nc: calc 1\nb requires c\nc irequires b\na requires b\n" + TAIL,
            4,
            "cycle",
        ),
        (HEAD + "calc 5\n", 2, "inside rank 0"),
        (HEAD + "calc 5 /* no end\n" + TAIL, 3, "comment"),
        (HEAD + "sned 8b to 1\n" + TAIL, 3, "requires"),
        (HEAD + "\x01\x02\x7f\n" + TAIL, 3, "an operation"),
    ],
)
def test_errors_of_text_name_the_line(text: str, line: int, what: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.goal"
    path.write_text(text)
    done = sim("run", path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"sim: {path}:{line}: ")
    assert what in done.stderr


@pytest.mark.parametrize("verb", ["put", "get", "append", "tput", "tget", "tappend", "test", "calcgem5"])
def test_one_sided_operations_are_named_as_such(verb: str) -> None:
    """With a label and without one; as a label such a word is as good as any."""
    for label in ("", "a: "):
        done = sim("run", "-", text=HEAD + f"calc 5\n{label}{verb} 8b to 1 tag 3\n" + TAIL)
        assert done.returncode == 1 and done.stderr.startswith(f'sim: standard input:4: "{verb}" ')
        assert "LogGOPSim2" in done.stderr and done.stderr.count("\n") == 1
    text = HEAD + f"{verb}: calc 5\nb: calc 6\nb requires {verb}\n{verb} irequires c\nc: calc 1\n" + TAIL
    assert result("run", "-", text=text)["finish_ns"] == [12, 0]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (lzma.compress(b"num_ranks 1"), "xz -dc"),
        (gzip.compress(b"num_ranks 1", mtime=0), "gzip -dc"),
        (bz2.compress(b"num_ranks 1"), "bzip2 -dc"),
        (b"\x28\xb5\x2f\xfd" + bytes(20), "zstd -dc"),
        (b"PK\x03\x04" + bytes(20), "zip"),
        (b"\x7fELF" + bytes(20), "program"),
        ("num_ranks 1".encode("utf-16"), "UTF-16"),
        ("num_ranks 1".encode("utf-8-sig"), "byte order mark"),
        (struct.pack(">QI", 4223, 4), "big endian"),
        (struct.pack("<QI", 2342, 4), "--save-mem"),
        (struct.pack("<II", 4, 70), "unknown layout"),
    ],
    ids=lambda value: value if isinstance(value, str) else "content",
)
def test_files_that_are_no_schedules_are_named_as_what_they_are(
    content: bytes, what: str, tmp_path: Path
) -> None:
    path = tmp_path / "schedule"
    path.write_bytes(content)
    done = sim("run", path)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"sim: {path}: byte 0: ") and what in done.stderr


def test_binary_schedules_of_other_nodes_are_named_as_what_they_are(tmp_path: Path) -> None:
    """LogGOPSim2 has the same mark, and 65 more bytes in a node."""
    path = tmp_path / "schedule"
    for kinds in ((1, 3), (4, 3), (5,), (3, 11, 9)):
        nodes = [node(0, kind, 1, 8) + bytes(65) for kind in kinds]
        roots = list(range(len(nodes)))
        path.write_bytes(binary_schedule([(roots, nodes, []), ([0], [node(0, 3, 0, 5) + bytes(65)], [])]))
        done = sim("run", path)
        assert done.returncode == 1 and "rank 0 has nodes of 104 bytes, which LogGOPSim2" in done.stderr


def test_errors_beyond_the_first_block_name_the_line(tmp_path: Path) -> None:
    ranks = 60000
    lines = [f"num_ranks {ranks}"]
    for rank in range(ranks):
        lines += [
            f"rank {rank} {{ // a comment with rank {rank} in it",
            "l1: calc 100",
            "l2: calc 200",
            "l2 requires l1",
            "}",
        ]
    lines[50004] = "l2 requires l9"
    path = tmp_path / "long.goal"
    for before in (0, 1):
        path.write_text(("/* " + "x" * 2**22 + " */\n") * before + "\n".join(lines) + "\n")
        for threads in (1, 4):
            done = sim("run", path, "-j", threads)
            assert done.stderr.startswith(f"sim: {path}:{50005 + before}: "), done.stderr


def test_a_partner_that_does_nothing_is_named() -> None:
    """A rank without operations ends at 0, unless another waits for it."""
    empty = "}\nrank 1 {\n}\nrank 2 {\n}\n"
    text = "num_ranks 3\nrank 0 {\ncalc 5\n" + empty
    assert result("run", "-", text=text)["finish_ns"] == [5, 0, 0]
    done = sim("run", "-", text="num_ranks 3\nrank 0 {\nrecv 8b from 2\nsend 99999b to 1\n" + empty)
    assert done.returncode == 1
    assert "(recv 8b from 2 tag 0) waits for a message; rank 2 has no operations\n" in done.stderr
    assert "(send 99999b to 1 tag 0) waits for a receive; rank 1 has no operations\n" in done.stderr


def test_deadlocks_name_ranks_and_operations(tmp_path: Path) -> None:
    path = tmp_path / "dead.goal"
    path.write_text(
        "num_ranks 3\nrank 0 {\nrecv 8b from 1 tag 7\n}\nrank 1 {\nsend 99999b to 2\n}\nrank 2 {\ncalc "
        "5\nsend 8b to 0 tag 3\n}\n"
    )
    done = sim("run", path)
    assert done.returncode == 1
    assert "rank 0, operation 1 (recv 8b from 1 tag 7) waits for a message" in done.stderr
    assert "rank 1, operation 1 (send 99999b to 2 tag 0) waits for a receive" in done.stderr
    assert "rank 0 never receives the message of rank 2, operation 2 (send 8b to 0 tag 3)" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["-L", "nan"],
        ["-L", "-5"],
        ["-o", "1e3"],
        ["-g", "inf"],
        ["--gate", "-1"],
        ["-G", "0.1234567"],
        ["-S", "12.5"],
        ["-L", "99999999999999999999999"],
        ["--noise-period", "100"],
        ["--noise-period", "100", "--noise-duration", "100"],
        ["--noise", "/nowhere/trace"],
        ["--noise", "/"],
        ["--noise-rule", "published"],
        ["--offsets", "/dev/null"],
        ["--offsets", "/", "--noise-period", "100", "--noise-duration", "10"],
        ["--system", "cray"],
        ["--json", "/nowhere/result"],
    ],
)
def test_wrong_parameters_are_one_line(words: list[str]) -> None:
    done = sim("pattern", "dissemination", "-n", 4, *words)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("sim: ")
    assert "internal error" not in done.stderr


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("0\t5\n-7\t5\n", 2, "start"),
        ("0\t5\n100\tnan\n", 2, "duration"),
        ("0\t5\n100\n", 2, "one column"),
        ("0\t5\n100\t5\t5\n", 2, "two columns"),
        ("# fine\n100\t5\n0\t5\n", 3, "sort"),
    ],
)
def test_errors_of_traces_name_the_line(text: str, line: int, what: str, tmp_path: Path) -> None:
    path = tmp_path / "noise"
    path.write_text(text)
    done = sim("pattern", "dissemination", "-n", 4, "--noise", path)
    assert done.returncode == 1
    assert done.stderr.startswith(f"sim: {path}:{line}: ") and what in done.stderr


def test_empty_and_single_traces_run(tmp_path: Path) -> None:
    quiet = result("pattern", "dissemination", "-n", 64)["finish_ns"]
    for text in ("", "# nothing was measured\n", "0\t100\n"):
        path = tmp_path / "noise"
        path.write_text(text)
        assert result("pattern", "dissemination", "-n", 64, "--noise", path)["finish_ns"] == quiet
    path.write_text("# Measurement period: 0.00005 s\n0\t10000\n")
    assert result("pattern", "dissemination", "-n", 64, "--noise", path)["max_ns"] > max(quiet)


def binary_schedule(ranks: list[tuple[list[int], list[bytes], list[int]]]) -> bytes:
    parts = [
        struct.pack("<II", len(nodes), len(roots))
        + struct.pack(f"<{len(roots)}I", *roots)
        + b"".join(nodes)
        + struct.pack(f"<{len(successors)}I", *successors)
        for roots, nodes, successors in ranks
    ]
    at = 6 + 16 * len(parts)
    table = b""
    for part in parts:
        table += struct.pack("<QQ", at, at + len(part))
        at += len(part)
    return struct.pack("<QIBB", 4223, len(parts), 0, 0) + table + b"".join(parts)


def node(waits: int, kind: int, peer: int, size: int, ends: tuple[int, int] = (0, 0)) -> bytes:
    return struct.pack("<IBIQIBBIIII", waits, kind, peer, size, 5, 0, 0, *ends, 0, 0)


def test_binary_schedules_mean_what_text_means(tmp_path: Path) -> None:
    path = tmp_path / "ping"
    content = binary_schedule(
        [([0], [node(0, 1, 1, 8, (1, 0)), node(1, 3, 0, 5000)], [1]), ([0], [node(0, 2, 0xFFFFFFFF, 8)], [])]
    )
    path.write_bytes(content)
    text = (
        "num_ranks 2\nrank 0 {\na: send 8b to 1 tag 5\nb: calc 5000\nb requires a\n}\nrank 1 {\nrecv 8b "
        "from -1 tag 5\n}\n"
    )
    assert result("run", path)["finish_ns"] == result("run", "-", text=text)["finish_ns"]
    for threads in (1, 2, 5):
        assert result("run", path, "-j", threads)["finish_ns"] == result("run", path)["finish_ns"]
    for length in range(8, len(content)):
        path.write_bytes(content[:length])
        done = sim("run", path) if length % 7 == 0 else None
        assert done is None or (
            done.returncode == 1 and done.stderr.count("\n") == 1 and "byte" in done.stderr
        )


#: Runs a command and prints its KB of memory; the one that asks must be small, as its memory counts, too.
MEMORY_OF = """import os, resource, sys
assert os.spawnv(os.P_WAIT, sys.argv[1], sys.argv[1:]) == 0
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"""


def test_binary_schedules_do_not_stay_in_memory(tmp_path: Path) -> None:
    """50 MB on the disk, of which 14 are kept."""
    path = tmp_path / "calculations"
    path.write_bytes(binary_schedule([([], [node(0, 3, 0, 5)] * 20000, [])] * 64))
    size = path.stat().st_size
    for threads in ("1", "2"):
        command = [str(ROOT / "build/simulator/sim"), "run", str(path), "-q", "-j", threads]
        told = subprocess.check_output([sys.executable, "-S", "-c", MEMORY_OF, *command], text=True)
        assert size > 49e6 and int(told) * 1024 < 0.8 * size


def test_waiting_messages_take_few_bytes() -> None:
    """In an alltoall nearly all messages wait at once, here 2.4 million."""
    command = [str(ROOT / "build/simulator/sim"), "pattern", "alltoall", "-n", "1536", "-q", "-j", "1"]
    told = subprocess.check_output([sys.executable, "-S", "-c", MEMORY_OF, *command], text=True)
    assert int(told) * 1024 < 16 * 1536**2


def test_unusual_spellings_mean_what_usual_ones_do(tmp_path: Path) -> None:
    """Lines as generators write them are read in another way than all others."""
    text = published.schedule("allreduce_recdoub-p8-d1024.goal")
    assert re.search(r"^l1: send 512b to \d+ tag \d+$", text, re.M), "no usual line"
    usual = result("run", "-", text=text)["finish_ns"]
    changes = [
        (r"^l", "  l"),
        (r"\bl(\d+)\b", r"label\1"),
        (r"\bl(\d+)\b", r"l000\1"),
        (r"\bl(\d+)\b", r"l77777777\1"),
        (r"b to (\d+)", r"b to 000000000000\1"),
        (r": ", " :\t"),
        (r"$", " // a comment"),
        (r" tag (\d+)$", r"\ntag\n\1 cpu 0"),
        (r" requires ", "/* a */requires\n"),
    ]
    for pattern, by in changes:
        changed = re.sub(pattern, by, text, flags=re.M)
        assert changed != text and result("run", "-", text=changed)["finish_ns"] == usual, (pattern, by)
    mixed = text.replace("l2 requires l1", "l02 requires l1", 1)
    assert mixed == text or sim("run", "-", text=mixed).returncode == 1
    assert "twice" in sim("run", "-", text=text.replace("l2:", "l1:", 1)).stderr


def test_processors_and_interfaces_work_side_by_side() -> None:
    text = (
        "num_ranks 1\nrank 0 {\na: calc 100\nb: calc 100 cpu 1\nc: calc 50\nc requires b\nd: calc 10 cpu "
        "1\nd irequires a\n}\n"
    )
    assert result("run", "-", text=text)["finish_ns"] == [150]
    sends = (
        "num_ranks 3\nrank 0 {\nsend 1b to 1\nsend 1b to 2 nic 1\n}\nrank 1 {\nrecv 1b from 0\n}\nrank "
        "2 {\nrecv 1b from -1\n}\n"
    )
    words = ["-L", 1000, "-o", 100, "-g", 5000]
    assert result("run", "-", *words, text=sends)["finish_ns"] == [200, 1200, 1300]


def test_results_do_not_depend_on_threads() -> None:
    words = ["--noise-period", 100000, "--noise-duration", 7000, "--seed", 3]
    for pattern in ("dissemination", "halo3d", "recursive-doubling", "bcast"):
        answers = [
            result("pattern", pattern, "-n", 3000, "-i", 3, *words, "-j", threads) for threads in (1, 2, 5)
        ]
        assert answers[0] == answers[1] == answers[2]


def test_a_barrier_of_thousands_ends_as_its_schedule(tmp_path: Path) -> None:
    """The engine for dissemination, with this machine's vectors, and the general one: every rank, to the
    picosecond."""
    path = tmp_path / "barrier.goal"
    for ranks in (2047, 4100):
        assert sim("goal", "dissemination", "-n", ranks, "-i", 2, "--output", path).returncode == 0
        for noise in (
            ["--noise-period", 4000000, "--noise-duration", 10000],
            ["--noise-period", 90000, "--noise-duration", 30000, "--noise-rule", "loggopsim"],
            ["--noise-period", 90000, "--noise-duration", 30000, "--noise-rule", "paper2010"],
        ):
            expected = result("run", path, *noise)["finish_ns"]
            for threads in (1, 2, 3):
                assert (
                    result("pattern", "dissemination", "-n", ranks, "-i", 2, *noise, "-j", threads)[
                        "finish_ns"
                    ]
                    == expected
                )


def test_timeline_and_latencies(tmp_path: Path) -> None:
    timeline, answer = tmp_path / "timeline.json", tmp_path / "result.json"
    done = sim(
        "pattern",
        "dissemination",
        "-n",
        8,
        "-i",
        5,
        "--compute",
        1000,
        "--timeline",
        timeline,
        "--json",
        answer,
    )
    assert done.returncode == 0 and "last rank ends" in done.stdout
    events = json.loads(timeline.read_text())["traceEvents"]
    assert sum(event["name"] == "calc" for event in events) == 8 * 5
    assert (
        sum(event["ph"] == "s" for event in events)
        == sum(event["ph"] == "f" for event in events)
        == 8 * 3 * 5
    )
    content = json.loads(answer.read_text())
    assert len(content["iteration_ends_ns"]) == 5 and content["latency_ns"]["count"] == 5
    assert content["iteration_ends_ns"][-1] == content["max_ns"]
    assert not list(tmp_path.glob("*.part*"))


def test_bench_answers_in_json() -> None:
    done = sim("bench", "--json", "--largest", 12, "--largest-goal", 10)
    assert done.returncode == 0, done.stderr
    assert {line["what"] for line in json.loads(done.stdout)} == {"pattern", "goal"}


def test_the_bench_says_what_the_folder_of_the_public_simulator_lacks(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="no program LogGOPSim there; build the public simulator"):
        simulator.side_by_side(tmp_path, 1)


def test_the_bench_times_the_command_and_says_that_nothing_stands_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(simulator.PUBLIC_FOLDER, raising=False)
    out = io.StringIO()
    options = argparse.Namespace(out=tmp_path, largest=10, largest_goal=10, repeats=1)
    assert simulator.run(options, out) == 0
    assert re.search(
        r"^sim pattern dissemination -n 1024 --noise-period 4000000 --noise-duration 10000: \S+ s, "
        r"\S+ CPU s$",
        out.getvalue(),
        re.M,
    )
    assert "not compared; set TACET_LOGGOPSIM=FOLDER" in out.getvalue()
    assert re.search(r"^sim run of Sweep3D, 64 ranks: \S+ s, \S+ CPU s$", out.getvalue(), re.M)


def test_the_bench_compares_pairs_of_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that do nothing stand for the public ones."""
    monkeypatch.setattr(simulator, "SIDE_BY_SIDE", (("bcast", 4),))
    monkeypatch.setattr(
        simulator, "SCHEDULES", {"Sweep3D, 64 ranks": schedules.SCHEDULES["Sweep3D, 64 ranks"]}
    )
    for name, text in (("LogGOPSim", ""), ("txt2bin", 'touch "$4"')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / simulator.SWEEP3D_512).write_text("num_ranks 1\nrank 0 {\ncalc 5\n}\n")
    found = simulator.side_by_side(tmp_path, 1)
    number = r"\d+\.\d \[\d+\.\d, \d+\.\d\]"
    for row in (r"bcast, 2\^4 ranks", "Sweep3D, 512 ranks"):
        assert re.search(rf"^{row}(\s+\S+){{4}}(\s+{number}){{4}}$", found, re.M), found
    assert "6 pairs each" in found and sorted(tmp_path.iterdir())[-1].name == "txt2bin"


@pytest.mark.parametrize("name", ["master, 1023 workers", "wavefront, 4096 ranks"])
def test_the_schedules_of_the_bench_end(name: str, tmp_path: Path) -> None:
    path = tmp_path / "schedule.goal"
    schedules.schedule_write(name, path)
    done = sim("run", path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "lines", [schedules.stencil(3, 2), schedules.tree(30, 2), schedules.random_graph(9, 99)]
)
def test_small_schedules_of_the_bench_end(lines: Iterator[str]) -> None:
    assert sim("run", "-", text="".join(lines)).returncode == 0


def test_a_real_application_ends_exactly(tmp_path: Path) -> None:
    """Sweep3D, as the public simulator computes it; and the same in our order, whatever the threads."""
    text = "".join(schedules.sweep3d())
    sums = (ROOT / "tests/data/traces/README.md").read_text()
    assert hashlib.sha256(text.encode()).hexdigest() in sums
    path = tmp_path / "sweep3d.goal"
    path.write_text(text)
    assert "last rank ends at 42442504978 ns\n" in sim("run", path, "--like", "loggopsim").stdout
    ours = [sim("run", path, "-j", threads, "--per-rank").stdout for threads in (1, 3)]
    assert "last rank ends at 42442506478 ns\n" in ours[0] and ours[0] == ours[1]


def test_plain_numpy_ends_about_when_the_simulator_does() -> None:
    """The bench's yardstick does the same thing; only messages that come early are handled in their round
    there."""
    for row in simulator.measure(12, 10):
        assert row["numpy_max_ns"] == pytest.approx(row["max_ns"], rel=0.25)
        assert row["numpy_seconds"] > 0 and row["read_seconds"] < row["seconds"]
