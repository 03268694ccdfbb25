# SPDX-License-Identifier: BSD-2-Clause
"""The inputs of the public LogGOPSim's reference runs, to the byte: its generator's schedules by their
patterns, noise traces by their periods, and the finish times that it published, in the form it wrote them in.

`sha256sums` in the same folder has the sums of the files as the public tools wrote them.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parent / "data"
QUIET = DATA / "loggops"
NOISY = DATA / "loggops-noise"
#: The pipelined patterns' largest message, in bytes.
SEGMENT = 16384
#: By the number of ranks: which rank sends to which in random_bisect, as the generator drew them.
BISECTIONS = {2: {0: 1}, 8: {0: 7, 1: 5, 4: 2, 6: 3}, 14: {0: 8, 1: 13, 2: 11, 3: 6, 7: 5, 10: 9, 12: 4}}


class Rank:
    """One rank's operations, which are labelled in their order, and the lines that they make in GOAL."""

    def __init__(self, number: int, ranks: int) -> None:
        self.number, self.ranks = number, ranks
        self.lines: list[str] = []
        self.operations = 0

    def operation(self, text: str) -> int:
        self.operations += 1
        self.lines.append(f"l{self.operations}: {text}")
        return self.operations

    def send(self, size: int, peer: int) -> int:
        return self.operation(f"send {size}b to {peer % self.ranks} tag 0")

    def recv(self, size: int, peer: int) -> int:
        return self.operation(f"recv {size}b from {peer % self.ranks} tag 0")

    def requires(self, later: int, *earlier: int) -> None:
        self.lines += [f"l{later} requires l{one}" for one in earlier if one]

    def exchange(self, size: int, to: int, source: int, after: int) -> int:
        """Sends, once the operation `after` has ended (0: at once), and receives; returns the latter."""
        self.requires(self.send(size, to), after)
        return self.recv(size, source)


def distances(ranks: int) -> list[int]:
    """1, 2, 4, … below the number of ranks."""
    return [1 << k for k in range((ranks - 1).bit_length())]


def allreduce_recdoub(rank: Rank, size: int) -> None:
    """Halves are reduced with ever farther partners, then gathered on the way back."""
    halves = [(distance, size >> k) for k, distance in enumerate(distances(rank.ranks), 1)]
    received = 0
    for distance, half in halves + halves[::-1]:
        received = rank.exchange(half, rank.number ^ distance, rank.number ^ distance, received)


def allreduce_ring(rank: Rank, size: int) -> None:
    received = 0
    for _ in range(2 * (rank.ranks - 1)):
        received = rank.exchange(size // rank.ranks, rank.number + 1, rank.number - 1, received)


def binarytreebcast(rank: Rank, size: int) -> None:
    received = rank.recv(size, (rank.number - 1) // 2) if rank.number else 0
    children = (2 * rank.number + 1, 2 * rank.number + 2)
    sent = [rank.send(size, child) for child in children if child < rank.ranks]
    for one in sent:
        rank.requires(one, received)


def binomial_children(rank: Rank) -> list[int]:
    farther = [distance for distance in distances(rank.ranks) if distance > rank.number]
    return [rank.number + distance for distance in farther if rank.number + distance < rank.ranks]


def binomial_parent(rank: Rank) -> int:
    return rank.number - (1 << (rank.number.bit_length() - 1))


def binomialtreebcast(rank: Rank, size: int) -> None:
    received = rank.recv(size, binomial_parent(rank)) if rank.number else 0
    for child in binomial_children(rank):
        rank.requires(rank.send(size, child), received)


def binomialtreereduce(rank: Rank, size: int) -> None:
    sent = rank.send(size, binomial_parent(rank)) if rank.number else 0
    for child in binomial_children(rank):
        received = rank.recv(size, child)
        if sent:
            rank.requires(sent, received)


def dissemination(rank: Rank, size: int) -> None:
    received = 0
    for distance in distances(rank.ranks):
        received = rank.exchange(size, rank.number + distance, rank.number - distance, received)


def nwaydissemination(rank: Rank, size: int) -> None:
    """Dissemination in which each rank computes on what it has received before it sends on."""
    received = 0
    for distance in distances(rank.ranks):
        sent = rank.send(size, rank.number + distance)
        if received:
            computed = rank.operation(f"calc {size}")
            rank.requires(computed, received)
            rank.requires(sent, received, computed)
        received = rank.recv(size, rank.number - distance)


def doublering(rank: Rank, size: int) -> None:
    for step in (1, -1):
        sent = rank.send(size, rank.number + step)
        received = rank.recv(size, rank.number - step)
        if rank.number:
            rank.requires(sent, received)


def gather(rank: Rank, size: int) -> None:
    if rank.number:
        rank.send(size, 0)
    else:
        for source in range(1, rank.ranks):
            rank.recv(size, source)


def scatter(rank: Rank, size: int) -> None:
    if rank.number:
        rank.recv(size, 0)
    else:
        for target in range(1, rank.ranks):
            rank.send(size, target)


def linbarrier(rank: Rank, _size: int) -> None:
    """The first rank answers all others, once it has heard from all of them; a byte each, whatever the name
    says."""
    if rank.number:
        rank.send(1, 0)
        rank.recv(1, 0)
        return
    heard = rank.operation("calc 0")
    for other in range(1, rank.ranks):
        received, sent = rank.recv(1, other), rank.send(1, other)
        rank.requires(heard, received)
        rank.requires(sent, heard)


def linear_alltoall(rank: Rank, size: int) -> None:
    for distance in range(1, rank.ranks):
        rank.exchange(size, rank.number + distance, rank.number - distance, 0)


def pipelined(rank: Rank, size: int, in_turn: bool) -> None:
    """Passes segments along the ranks; `in_turn`: each is received after the one before was passed on."""
    first, last = rank.number == 0, rank.number == rank.ranks - 1
    sent = 0
    for at in range(0, size, SEGMENT):
        part = min(SEGMENT, size - at)
        received = 0 if first else rank.recv(part, rank.number - 1)
        before, sent = sent, 0 if last else rank.send(part, rank.number + 1)
        if received and sent:
            rank.requires(sent, received)
            rank.requires(received, before if in_turn else 0)


def pipelinedring(rank: Rank, size: int) -> None:
    pipelined(rank, size, in_turn=False)


def pipelinedringdep(rank: Rank, size: int) -> None:
    pipelined(rank, size, in_turn=True)


def random_bisect(rank: Rank, size: int) -> None:
    pairs = BISECTIONS[rank.ranks]
    if rank.number in pairs:
        rank.send(size, pairs[rank.number])
    else:
        rank.recv(size, next(source for source, target in pairs.items() if target == rank.number))


PATTERNS: dict[str, Callable[[Rank, int], None]] = {
    pattern.__name__: pattern
    for pattern in (
        allreduce_recdoub, allreduce_ring, binarytreebcast, binomialtreebcast, binomialtreereduce,
        dissemination, doublering, gather, linbarrier, linear_alltoall, nwaydissemination, pipelinedring,
        pipelinedringdep, random_bisect, scatter,
    )
}  # fmt: skip


def schedule(name: str) -> str:
    """The text of `PATTERN-pRANKS-dBYTES.goal`. random_bisect leaves an odd rank out."""
    pattern, count, size = re.findall(r"^(\w+)-p(\d+)-d(\d+)\.goal$", name)[0]
    ranks = int(count) // 2 * 2 if pattern == "random_bisect" else int(count)
    parts = [f"num_ranks {ranks}\n"]
    for number in range(ranks):
        rank = Rank(number, ranks)
        PATTERNS[pattern](rank, int(size))
        parts.append("\n".join([f"rank {number} {{", *rank.lines, "}\n"]))
    return "\n".join(parts)


def trace(name: str) -> str:
    """The text of a noise trace: the start and the duration of each detour, in ns. Lists that are shorter
    than the trace repeat."""
    rule = json.loads((NOISY / "traces.json").read_text())[name]
    gaps, durations = itertools.cycle(rule["gaps_ns"]), itertools.cycle(rule["durations_ns"])
    starts = itertools.accumulate(itertools.islice(gaps, rule["count"] - 1), initial=0)
    return "\n".join(f"{start}\t{duration}" for start, duration in zip(starts, durations))


def expected() -> dict[str, list[dict[str, Any]]]:
    """For each schedule and parameter set without noise: the parameters, and the ranks' finish times."""
    content = json.loads((QUIET / "expected.json").read_text())
    return {
        name: [
            {**point, "finish_ns": times, "max_ns": None}
            for point, times in zip(content["parameters"], runs, strict=True)
        ]
        for name, runs in content["finish_ns"].items()
    }


def expected_with_noise() -> dict[str, list[dict[str, Any]]]:
    """The same with noise, and where in its trace each rank began."""
    content: dict[str, list[dict[str, Any]]] = json.loads((NOISY / "expected.json").read_text())
    return content


def written(name: str) -> str:
    """The file of that name below tests/data, as the public tools wrote it."""
    folder, file = name.split("/")
    if file.endswith(".goal"):
        return schedule(file)
    if file.endswith(".txt"):
        return trace(file)
    return json.dumps(expected(), indent=0) if folder == QUIET.name else (NOISY / file).read_text()
