# SPDX-License-Identifier: BSD-2-Clause
"""Of `lab lockstep`: nodes in lockstep (tools/lockstep) that run FTQ, from their start to their ends."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lab.bench import runner
from lab.common.errors import LabError

#: FTQ's.
QUANTUM_NS = 1_000_000
#: Where beats begin: the card has its link, which takes a second, and FTQ has begun.
FIRST_BEAT_NS = 1_200_000_000


@contextmanager
def cluster(
    words: Sequence[str], folder: Path, begun: Callable[[Any], None] = lambda _: None
) -> Iterator[tuple[Any, Any]]:
    """Nodes that have run to their ends, and a summary of that; `begun` gets those that were started.
    LabError where they cannot."""
    arguments = importlib.import_module("lockstep.arguments")
    missing = importlib.import_module("lockstep.gates").Missing
    try:
        nodes = importlib.import_module("lockstep.cluster").Cluster(
            arguments.parse(["--logs", str(folder), *words])
        )
        try:
            nodes.start()
            begun(nodes.nodes)
            yield nodes, nodes.run()
        finally:
            nodes.close()
    except (missing, runner.load().RunnerError) as error:
        raise LabError(str(error)) from None


def ftq_words(options: argparse.Namespace, samples: int) -> list[str]:
    return [str(options.ftq), "-n", str(samples), "-q", f"{QUANTUM_NS}ns", "-s"]


def ended_check(nodes: Sequence[Any]) -> None:
    """LabError where a node's program has failed."""
    for node in nodes:
        ending = node.ending()
        if ending.outcome != "exit" or ending.status:
            raise LabError(f"{node.name}: {ending.outcome}, status {ending.status}: {ending.reason or '-'}")
