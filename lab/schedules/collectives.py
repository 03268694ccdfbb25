# SPDX-License-Identifier: BSD-2-Clause
"""Collectives as sends and receives: what one rank of n does, by the algorithm. The steps of a rank are in
order; a step names those that must end before it. Ranks are those of the communicator.

Default algorithms are those of the public Schedgen, and a linear one where it has none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

SEND, RECEIVE = "send", "recv"


@dataclass
class Step:
    """A message: sent to a rank, or received from it, after earlier steps of the list."""

    kind: str
    bytes: int
    peer: int
    after: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Part:
    """One rank's part of a collective: `parts` are the bytes for, or of, each rank, if they differ."""

    rank: int
    ranks: int
    bytes: int
    root: int = 0
    parts: Sequence[int] = ()

    def of(self, peer: int) -> int:
        return self.parts[peer] if len(self.parts) == self.ranks else self.bytes


def dissemination(part: Part) -> list[Step]:
    """log2 n rounds: to the rank 2^k above, from the one 2^k below; a send is after the receive before it."""
    steps: list[Step] = []
    distance = 1
    while distance < part.ranks:
        after = [len(steps) - 1] if steps else []
        steps.append(Step(SEND, part.bytes, (part.rank + distance) % part.ranks, after))
        steps.append(Step(RECEIVE, part.bytes, (part.rank - distance) % part.ranks))
        distance *= 2
    return steps


def binomial_bcast(part: Part) -> list[Step]:
    """A tree from the root: in round k the ranks below 2^k send to those 2^k above."""
    place = (part.rank - part.root) % part.ranks
    steps: list[Step] = []
    distance = 1
    while distance < part.ranks:
        if place < distance and place + distance < part.ranks:
            after = [0] if place else []
            steps.append(Step(SEND, part.bytes, (part.rank + distance) % part.ranks, after))
        elif distance <= place < 2 * distance:
            steps.append(Step(RECEIVE, part.bytes, (part.rank - distance) % part.ranks))
        distance *= 2
    return steps


def binomial_reduce(part: Part) -> list[Step]:
    """The tree of a broadcast backwards: a rank sends after it has received from all below it."""
    place = (part.rank - part.root) % part.ranks
    steps: list[Step] = []
    for step in reversed(binomial_bcast(part)):
        kind = RECEIVE if step.kind == SEND else SEND
        after = list(range(len(steps))) if kind == SEND else []
        steps.append(Step(kind, part.bytes, step.peer, after))
    assert place or all(step.kind == RECEIVE for step in steps)
    return steps


def linear(part: Part) -> list[Step]:
    """To all others and from all others, at once."""
    steps = []
    for distance in range(1, part.ranks):
        steps.append(
            Step(SEND, part.of((part.rank + distance) % part.ranks), (part.rank + distance) % part.ranks)
        )
        steps.append(Step(RECEIVE, part.bytes, (part.rank - distance) % part.ranks))
    return steps


def linear_gather(part: Part) -> list[Step]:
    """From all others to the root."""
    if part.rank != part.root:
        return [Step(SEND, part.bytes, part.root)]
    return [Step(RECEIVE, part.of(peer), peer) for peer in range(part.ranks) if peer != part.root]


def linear_scatter(part: Part) -> list[Step]:
    """From the root to all others."""
    if part.rank != part.root:
        return [Step(RECEIVE, part.bytes, part.root)]
    return [Step(SEND, part.of(peer), peer) for peer in range(part.ranks) if peer != part.root]


def ring(part: Part) -> list[Step]:
    """n - 1 rounds: to the next rank what has come from the one before."""
    steps: list[Step] = []
    for hop in range(part.ranks - 1):
        after = [len(steps) - 1] if steps else []
        steps.append(Step(SEND, part.of((part.rank - hop) % part.ranks), (part.rank + 1) % part.ranks, after))
        bytes_ = part.of((part.rank - hop - 1) % part.ranks)
        steps.append(Step(RECEIVE, bytes_, (part.rank - 1) % part.ranks))
    return steps


def chain(part: Part) -> list[Step]:
    """From each rank to the next, one after the other."""
    steps = [Step(RECEIVE, part.bytes, part.rank - 1)] if part.rank else []
    if part.rank + 1 < part.ranks:
        steps.append(Step(SEND, part.bytes, part.rank + 1, [0] if part.rank else []))
    return steps


Algorithm = Callable[[Part], list[Step]]
ALGORITHMS: dict[str, Algorithm] = {
    "dissemination": dissemination,
    "binomial-bcast": binomial_bcast,
    "binomial-reduce": binomial_reduce,
    "linear": linear,
    "linear-gather": linear_gather,
    "linear-scatter": linear_scatter,
    "ring": ring,
    "chain": chain,
}
#: By function, of MPI_I… too; what makes communicators synchronizes, as a barrier.
DEFAULTS = {
    "barrier": "dissemination", "allreduce": "dissemination", "allgather": "dissemination",
    "bcast": "binomial-bcast", "reduce": "binomial-reduce", "alltoall": "linear", "alltoallv": "linear",
    "alltoallw": "linear", "allgatherv": "ring", "gather": "linear-gather", "gatherv": "linear-gather",
    "scatter": "linear-scatter", "scatterv": "linear-scatter", "scan": "chain", "exscan": "chain",
    "reduce_scatter": "dissemination", "reduce_scatter_block": "dissemination",
}  # fmt: skip


def function_of(name: str) -> str:
    """Returns a collective's key in DEFAULTS; "" for what is none of them."""
    lower = name.lower()
    if lower in DEFAULTS:
        return lower
    if lower.startswith("i") and lower[1:] in DEFAULTS:
        return lower[1:]
    return "barrier" if lower.startswith(("comm_", "cart_", "graph_", "dist_graph", "intercomm_")) else ""
