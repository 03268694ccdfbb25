# SPDX-License-Identifier: BSD-2-Clause
"""Schedules of applications as GOAL text, for comparisons of simulators: Sweep3D's trace, and patterns that
`sim goal` does not have. Lengths of computations are drawn from a fixed seed.
"""

from __future__ import annotations

import itertools
import lzma
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from lab.common.paths import ROOT

#: Sweep3D on 64 ranks. Peers are stored as their distance from the rank, which makes ranks alike.
SWEEP3D = ROOT / "tests/data/traces/sweep3d-64.xz"
PEER = re.compile(r"b (?:to|from) (\d+)")


def sweep3d(ranks: int = 64) -> Iterator[str]:
    """Yields the trace's text: a PMPI trace of Sweep3D on 4 ranks, extrapolated to 64 by the public
    generator (tests/data/traces/README.md). Line ends are included."""
    rank = 0
    with lzma.open(SWEEP3D, "rt", encoding="ascii") as lines:
        for line in lines:
            if line.startswith("rank "):
                rank = int(line.split()[1])
            peer = PEER.search(line)
            if peer:
                line = f"{line[: peer.start(1)]}{(int(peer[1]) + rank) % ranks}{line[peer.end(1) :]}"
            yield line


class Rank:
    """The operations of one rank; each requires the ones that it names."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.operations = 0
        self.last: list[int] = []  # what the next iteration waits for

    def operation(self, text: str, requires: list[int]) -> int:
        self.operations += 1
        self.lines.append(f"l{self.operations}: {text}\n")
        self.lines += [f"l{self.operations} requires l{one}\n" for one in requires]
        return self.operations


def text_of(ranks: list[Rank]) -> Iterator[str]:
    yield f"num_ranks {len(ranks)}\n"
    for number, rank in enumerate(ranks):
        yield f"rank {number} {{\n"
        yield from rank.lines
        yield "}\n"


def stencil(side: int, iterations: int) -> Iterator[str]:
    """Yields a cube of side³ ranks, a torus, in which each exchanges with its 26 neighbours: faces, edges
    and corners."""
    draw = random.Random(1)
    ranks = [Rank() for _ in range(side**3)]
    offsets = [offset for offset in itertools.product((-1, 0, 1), repeat=3) if any(offset)]
    for tag in range(iterations):
        for place, rank in zip(itertools.product(range(side), repeat=3), ranks, strict=True):
            work = rank.operation(f"calc {draw.randrange(20000, 30000)}", rank.last)
            ends = []
            for offset in offsets:
                x, y, z = ((a + b) % side for a, b in zip(place, offset, strict=True))
                size = (2048, 256, 8)[sum(map(abs, offset)) - 1]
                peer = (x * side + y) * side + z
                ends.append(rank.operation(f"send {size}b to {peer} tag {tag}", [work]))
                ends.append(rank.operation(f"recv {size}b from {peer} tag {tag}", [work]))
            rank.last = [rank.operation("calc 0", ends)]
    return text_of(ranks)


def wavefront(side: int, iterations: int) -> Iterator[str]:
    """Yields a plane of side² ranks: each waits for the ones to the north and west, computes, and sends to
    south and east."""
    draw = random.Random(2)
    ranks = [Rank() for _ in range(side**2)]
    for tag in range(iterations):
        for number, rank in enumerate(ranks):
            x, y = divmod(number, side)
            before = [number - step for step, there in ((side, x > 0), (1, y > 0)) if there]
            after = [number + step for step, there in ((side, x + 1 < side), (1, y + 1 < side)) if there]
            come = [rank.operation(f"recv 1024b from {peer} tag {tag}", rank.last) for peer in before]
            work = rank.operation(f"calc {draw.randrange(5000, 9000)}", come or rank.last)
            rank.last = [rank.operation(f"send 1024b to {peer} tag {tag}", [work]) for peer in after] or [
                work
            ]
    return text_of(ranks)


def master_and_workers(count: int, jobs: int) -> Iterator[str]:
    """Yields a master that answers each worker's request, in turn, with a job."""
    draw = random.Random(3)
    ranks = [Rank() for _ in range(count)]
    master = ranks[0]
    for tag in range(jobs):
        for number, worker in enumerate(ranks[1:], 1):
            asked = master.operation(f"recv 16b from {number} tag {tag}", master.last)
            master.last = [master.operation(f"send 64b to {number} tag {tag}", [asked])]
            ask = worker.operation(f"send 16b to 0 tag {tag}", worker.last)
            job = worker.operation(f"recv 64b from 0 tag {tag}", [ask])
            worker.last = [worker.operation(f"calc {draw.randrange(100_000, 3_000_000)}", [job])]
    return text_of(ranks)


def tree(count: int, iterations: int) -> Iterator[str]:
    """Yields a binary tree that reduces to its root and broadcasts from there; ranks compute for 1 to 100
    ms."""
    draw = random.Random(4)
    ranks = [Rank() for _ in range(count)]
    for tag in range(iterations):
        for number, rank in enumerate(ranks):
            children = [child for child in (2 * number + 1, 2 * number + 2) if child < count]
            come = [rank.operation(f"recv 64b from {child} tag {tag}", rank.last) for child in children]
            done = rank.operation(f"calc {draw.randrange(10**6, 10**8)}", come or rank.last)
            if number:
                parent = (number - 1) // 2
                up = rank.operation(f"send 64b to {parent} tag {tag}", [done])
                done = rank.operation(f"recv 8b from {parent} tag {tag}", [up])
            rank.last = [rank.operation(f"send 8b to {child} tag {tag}", [done]) for child in children] or [
                done
            ]
    return text_of(ranks)


def random_graph(count: int, messages: int) -> Iterator[str]:
    """Yields messages between random ranks; each rank's operations are in one order."""
    draw = random.Random(5)
    ranks = [Rank() for _ in range(count)]
    for _ in range(messages):
        number, peer = draw.sample(range(count), 2)
        sender, receiver = ranks[number], ranks[peer]
        size, tag = draw.choice((8, 100, 1000, 20000)), draw.randrange(7)
        work = sender.operation(f"calc {draw.randrange(50000)}", sender.last)
        sender.last = [sender.operation(f"send {size}b to {peer} tag {tag}", [work])]
        receiver.last = [receiver.operation(f"recv {size}b from {number} tag {tag}", receiver.last)]
    return text_of(ranks)


#: By name: what makes the text.
SCHEDULES: dict[str, Callable[[], Iterator[str]]] = {
    "Sweep3D, 64 ranks": sweep3d,
    "stencil of 26, 512 ranks": lambda: stencil(8, 6),
    "wavefront, 4096 ranks": lambda: wavefront(64, 12),
    "master, 1023 workers": lambda: master_and_workers(1024, 40),
    "deep tree, 16383 ranks": lambda: tree(16383, 4),
    "random graph, 4096 ranks": lambda: random_graph(4096, 120_000),
}


def schedule_write(name: str, path: Path) -> None:
    """Writes the schedule of that name."""
    with path.open("w", encoding="ascii") as out:
        out.writelines(SCHEDULES[name]())
