# SPDX-License-Identifier: BSD-2-Clause
"""What the kernel tells a program's user is on the program's standard error, in lines of its own: on a node
alone, and through tacetrun."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator

import pytest
from conftest import Run, expect_exit, memory_of, program, slowness
from waiting_nodes import LIMIT_S, WaitingNodes

from qemu import architectures
from tests.making import made

FORK = "fork is not supported: a rank cannot start another process, so system and popen fail, too (ENOMEM)"
CALLS = [
    f"system call {number} is not supported (ENOSYS); docs/abi.md lists those that are"
    for number in range(468, 512)
]
SEGV = 128 + signal.SIGSEGV
INTERRUPTED = 128 + signal.SIGINT
pytestmark = pytest.mark.xdist_group("jobs")


def line_of(rank: int, text: str, kind: str = "musl") -> str:
    return f"tacet: rank {rank} (messages.{kind}): {text}"


def whole_lines(text: str | bytes) -> list[str]:
    """Its lines; the last one has its end, too."""
    text = text if isinstance(text, str) else text.decode()
    assert text.endswith("\n") or not text, text
    return text.splitlines()


def expect_crash(lines: list[str], rank: int) -> None:
    """The report of a fault, without registers. tacetrun's own line comes on another connection: anywhere."""
    lines = [line for line in lines if not line.startswith("tacetrun: ")]
    assert (
        lines[0] == f"tacet: rank {rank} (messages.musl) ended by SIGSEGV: write to where nothing is mapped"
    )
    assert [re.sub("0x[0-9a-f]+", "N", line) for line in lines[1:4]] == [
        "tacet:   at instruction N, address N",
        "tacet:   that is a NULL pointer, or near one",
        "tacet:   in null_touch+N (N as linked)",
    ]
    assert not any(re.match(r"tacet: +(r0|rip|nip|rax)\b", line) for line in lines), lines


# ---- On a node alone ----


@pytest.mark.parametrize("kind", ["musl", "glibc"])
def test_a_refused_fork_is_named_once_though_the_program_goes_on(kind: str, tacet: Run) -> None:
    result = tacet(f"messages.{kind}", "fork")
    expect_exit(result)
    assert whole_lines(result.stderr) == [line_of(0, FORK, kind)], result.explain()
    assert result.console.count(FORK) == 1, result.explain()


def test_refused_memory_is_named_once_with_what_is_left(arch: str, tacet: Run) -> None:
    result = tacet("messages.musl", "memory", memory="128M")
    expect_exit(result)
    (line,) = whole_lines(result.stderr)
    found = re.fullmatch(re.escape(line_of(0, "mmap of 1048576 MiB refused, ")) + r"(\d+) MiB free; .*", line)
    assert found and int(found[1]) < int(memory_of("128M", arch).removesuffix("M")), result.explain()


def test_a_crash_is_reported_without_the_registers(tacet: Run) -> None:
    result = expect_exit(tacet("messages.musl", "null"), SEGV)
    lines = whole_lines(result.stderr)
    expect_crash(lines, 0)
    assert len(lines) == 4 and all(line in result.console for line in lines), result.explain()


def test_each_rank_is_told_of_its_own_once(tacet: Run) -> None:
    result = tacet("messages.musl", "fork", cpus=2)
    assert sorted(whole_lines(result.stderr)) == [line_of(0, FORK), line_of(1, FORK)], result.explain()


def test_a_message_has_a_line_of_its_own(tacet: Run) -> None:
    result = tacet("messages.musl", "within-line")
    assert whole_lines(result.stderr) == ["half", line_of(0, CALLS[0]), "whole"], result.explain()


def test_a_console_that_is_the_program_s_terminal_has_each_message_once(arch: str, tacet: Run) -> None:
    port = architectures.named(arch).terminals[0]
    result = tacet("messages.musl", "within-line", options=f"stdout={port} stderr={port}")
    rows = result.console.replace("\r", "").splitlines()
    at = rows.index("half")
    assert rows[at : at + 3] == ["half", line_of(0, CALLS[0]), "whole"], result.explain()
    assert result.console.count(CALLS[0]) == 1, result.explain()


# ---- Through tacetrun ----


def expect_messages(lines: list[str], said: str) -> None:
    """Messages about CALLS in their order, but for as many as were dropped."""
    counts = re.match(r"(\d+) calls, (\d+) dropped\n", said)
    assert counts and int(counts[1]) == len(CALLS), said
    all_lines = [line_of(0, call) for call in CALLS]
    assert lines == [line for line in all_lines if line in lines], lines
    assert len(lines) + int(counts[2]) == len(CALLS), (said, lines)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WaitingNodes]:
    """Two nodes of two CPUs."""
    made("service")
    with WaitingNodes(tmp_path_factory.mktemp("words"), nodes=2, cpus=2, memory="128M") as nodes:
        yield nodes


def messages(nodes: WaitingNodes, way: str, *words: str, status: int = 0) -> tuple[str, list[str]]:
    """What a job of it says, on either stream."""
    done = nodes.tacetrun(*words, "--bcast", program("messages.musl"), way)
    assert done.returncode == status, done
    return done.stdout, whole_lines(done.stderr)


def test_tacetrun_shows_a_crash_with_the_rank_s_number_in_the_job(pair: WaitingNodes) -> None:
    """Three ranks on two nodes: the last one is the first of its node."""
    _, lines = messages(pair, "null", "-n", "3", "-l", status=SEGV)
    for rank, node in ((0, 0), (1, 0), (2, 1)):
        expect_crash([line[3:] for line in lines if line.startswith(f"{rank}: ")], rank)
        said = (
            f"tacetrun: rank {rank} on {pair.nodes[node].address}: Segmentation fault (SIGSEGV, status 139)"
        )
        assert said in lines, lines
        assert pair.nodes[node].said(f"rank {rank} (messages.musl) ended by SIGSEGV"), rank
    assert all(node.said("rip ") for node in pair.nodes)


def test_tacetrun_shows_what_a_signal_of_the_program_s_own_was(pair: WaitingNodes) -> None:
    _, lines = messages(pair, "abort", "-n", "1", status=128 + signal.SIGABRT)
    assert "tacet: rank 0 (messages.musl) ended by SIGABRT, which it sent itself" in lines, lines
    assert f"tacetrun: rank 0 on {pair.nodes[0].address}: Aborted (SIGABRT, status 134)" in lines


def test_tacetrun_shows_each_job_its_refusals(pair: WaitingNodes) -> None:
    """Also that of a second job, on nodes that have refused before."""
    for _ in range(2):
        said, lines = messages(pair, "fork", "-n", "4")
        assert said == "promises: 3, broken: 0\n" * 4
        assert sorted(lines) == [line_of(rank, FORK) for rank in range(4)]


def test_tacetrun_shows_refused_memory_while_the_program_asks_again_and_again(pair: WaitingNodes) -> None:
    job = pair.start("-n", "1", "--bcast", program("messages.musl"), "starve")
    assert job.stderr is not None
    first = job.stderr.readline()
    assert first.startswith(line_of(0, "mmap of 1048576 MiB refused, ")), first
    job.send_signal(signal.SIGINT)
    _, rest = job.communicate(timeout=LIMIT_S * slowness())
    assert job.returncode == INTERRUPTED and "refused" not in rest, rest


def test_a_message_finds_room_when_the_program_has_taken_all_memory(pair: WaitingNodes) -> None:
    done = pair.tacetrun("-n", "1", "--bcast", program("refusals.musl"), "full")
    assert done.returncode == 0, done
    (line,) = whole_lines(done.stderr)
    assert re.fullmatch(r"tacet: rank 0 \(refusals.musl\): mmap of 1 MiB refused, 0 MiB free; .*", line)


def test_a_message_through_tacetrun_has_a_line_of_its_own(pair: WaitingNodes) -> None:
    _, lines = messages(pair, "within-line", "-n", "1")
    assert lines == ["half", line_of(0, CALLS[0]), "whole"]


def test_messages_do_not_mix_with_lines_that_another_thread_writes(pair: WaitingNodes) -> None:
    """One that comes while there is no room for the rest of a line follows that line."""
    said, lines = messages(pair, "together", "-n", "1")
    expect_messages([line for line in lines if line != "a line of the program"], said)
    assert lines.count("a line of the program") % 1000 == 0


def test_a_program_that_has_closed_its_standard_error_is_reported_and_has_all_descriptors(
    pair: WaitingNodes,
) -> None:
    _, lines = messages(pair, "closed", "-n", "1", status=SEGV)
    expect_crash(lines, 0)


def test_messages_that_find_no_room_are_dropped_whole_and_counted(pair: WaitingNodes) -> None:
    job = pair.start("-n", "1", "--bcast", program("messages.musl"), "unread")
    assert job.stdout is not None and job.stderr is not None
    said = job.stdout.readline()  # its standard error is full
    _, errors = job.communicate(timeout=LIMIT_S * slowness())
    assert job.returncode == 0, errors[-1000:]
    expect_messages([line for line in whole_lines(errors) if not re.fullmatch("x+", line)], said)


def test_nobody_is_told_of_the_end_that_he_has_commanded(pair: WaitingNodes) -> None:
    job = pair.start("-n", "1", "--bcast", program("jobs.musl"), "wait")
    assert job.stdout is not None and job.stdout.readline() == "waits\n"
    job.send_signal(signal.SIGINT)
    _, said = job.communicate(timeout=LIMIT_S * slowness())
    assert job.returncode == INTERRUPTED and "tacet: " not in said, said
