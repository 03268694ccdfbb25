# SPDX-License-Identifier: BSD-2-Clause
"""A program on nodes in lockstep (docs/lockstep.md), for experiments: run to its end, its outputs and flight
logs kept."""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lab.bench import runner
from lab.common.errors import LabError


@dataclass(frozen=True)
class Ended:
    """What a node has left."""

    name: str
    out: str
    klog: bytes


def nodes_run(words: Sequence[str]) -> list[Ended]:
    """The nodes that `tools/lockstep-run` would run with these words. LabError if one of them fails."""
    machines = runner.load()
    arguments = importlib.import_module("lockstep.arguments")
    cluster_new = importlib.import_module("lockstep.cluster").Cluster
    missing = importlib.import_module("lockstep.gates").Missing
    with tempfile.TemporaryDirectory(prefix="tacet-lockstep-") as folder:
        try:
            cluster = cluster_new(arguments.parse(["--logs", folder, *words]))
            try:
                cluster.start()
                cluster.run()
                return [_ended(cluster, node) for node in cluster.nodes]
            finally:
                cluster.close()
        except (missing, machines.RunnerError) as error:
            raise LabError(str(error)) from None


def _ended(cluster: Any, node: Any) -> Ended:
    ending = cluster.ending(node)
    if ending.outcome != "exit" or ending.status:
        said = node.file("err").read_text(errors="replace").strip().splitlines()
        why = ending.reason or (said[-1] if said else "-")
        raise LabError(f"{node.name}: {ending.outcome}, status {ending.status}: {why}")
    out = node.file("out").read_text(encoding="ascii", errors="replace").replace("\r\n", "\n")
    return Ended(node.name, out, node.file("klog").read_bytes())


def header(text: str, key: str, where: str) -> float:
    """The number behind `# KEY: ` in a program's output."""
    for line in text.splitlines():
        if line.startswith(f"# {key}: "):
            try:
                return float(line.rsplit(": ", 1)[1])
            except ValueError:
                break
    raise LabError(f"{where}: there is no number {key}")
