# SPDX-License-Identifier: BSD-2-Clause
"""Runs nodes in lockstep (docs/lockstep.md) for experiments, from start to end, and keeps their outputs and
flight logs."""

from __future__ import annotations

import argparse
import importlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.bench import runner
from lab.common.errors import LabError

#: FTQ's quantum.
QUANTUM_NS = 1_000_000
#: Time of the first beat: the card's link, which takes a second, is up, and FTQ has begun.
FIRST_BEAT_NS = 1_200_000_000


@contextmanager
def cluster(
    words: Sequence[str], folder: Path, begun: Callable[[Any], None] = lambda _: None
) -> Iterator[tuple[Any, Any]]:
    """Runs nodes to their ends, like `tools/lockstep-run` with these words; yields them and a summary of the
    run. `begun` is called with the started nodes. LabError if they cannot run."""
    machines = runner.load()
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
    except (missing, machines.RunnerError) as error:
        raise LabError(str(error)) from None


def ended_check(nodes: Sequence[Any], how: Callable[[Any], Any] = lambda node: node.ending()) -> None:
    """Raises LabError if a node's program failed."""
    for node in nodes:
        ending = how(node)
        if ending.outcome != "exit" or ending.status:
            said = node.file("err").read_text(errors="replace").strip().splitlines()
            why = ending.reason or (said[-1] if said else "-")
            raise LabError(f"{node.name}: {ending.outcome}, status {ending.status}: {why}")


@dataclass(frozen=True)
class Ended:
    """The output of a node."""

    name: str
    out: str
    klog: bytes


def nodes_run(words: Sequence[str]) -> list[Ended]:
    """Runs nodes and returns their outputs. LabError if one of them fails."""
    with (
        tempfile.TemporaryDirectory(prefix="tacet-lockstep-") as folder,
        cluster(words, Path(folder)) as (done, _),
    ):
        ended_check(done.nodes, done.ending)
        return [
            Ended(
                node.name,
                node.file("out").read_text(encoding="ascii", errors="replace").replace("\r\n", "\n"),
                node.file("klog").read_bytes(),
            )
            for node in done.nodes
        ]


def ftq_words(options: argparse.Namespace, samples: int) -> list[str]:
    return [str(options.ftq), "-n", str(samples), "-q", f"{QUANTUM_NS}ns", "-s"]


def header(text: str, key: str, where: str) -> float:
    """Returns the number after `# KEY: ` in a program's output."""
    for line in text.splitlines():
        if line.startswith(f"# {key}: "):
            try:
                return float(line.rsplit(": ", 1)[1])
            except ValueError:
                break
    raise LabError(f"{where}: the output has no number {key}; the program's version may differ")
