# SPDX-License-Identifier: BSD-2-Clause
"""FTQ on a node of Tacet under the conductor's heartbeats [Betti09 §V-B, §VI-A], for the experiments.

The node runs in lockstep (docs/lockstep.md): the beats are frames that the conductor's own code made and that
the node's card receives, and its time is a count of instructions. So a beat comes, and costs, the same in
every run, and a measurement is a point of the store.
"""

from __future__ import annotations

import importlib
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lab.bench import runner
from lab.bench.lockstep_nodes import FIRST_BEAT_NS, QUANTUM_NS, cluster, ended_check
from lab.common.errors import LabError
from lab.common.paths import APPS, KERNEL
from lab.common.version import files_version
from lab.formats import ftq, klog
from lab.formats.ftq import parse_report
from lab.reproduce.measured import QEMU_SEED, machines_version
from lab.reproduce.outcome import Settings
from lab.reproduce.store import Maker

#: Quanta before the counted ones. They end before the first beat, so all beats are in the counted ones.
AHEAD = FIRST_BEAT_NS // QUANTUM_NS - 20
#: Time between two gates. Beats come at multiples of it, and it changes nothing else.
GATES = "1ms"


@dataclass(frozen=True)
class Beaten:
    """FTQ under beats: its counted quanta, the kernel entries while it ran, and the beats that its node took
    from the first one to the program's end."""

    data: ftq.FtqData
    summary: ftq.FtqSummary
    entries: int
    beats: int


def conductor() -> Path:
    """Returns the file of the conductor's code. LabError if it has not been built."""
    runner.load()
    library: Path = importlib.import_module("lockstep.beats").LIBRARY
    if not library.is_file():
        raise LabError(f"{library}: no such library; build it with `make lockstep-parts`")
    return library


def measure_beats(settings: Settings, rate_hz: int, quanta: int) -> Beaten:
    """Measures FTQ with quanta of 1 ms under `rate_hz` beats a second, or takes the result for the same
    software from the store. LabError if the run fails."""
    machines: Any = runner.load()
    program = runner.program_found(APPS / "ftq")
    if not KERNEL.is_file():
        raise LabError(f"{KERNEL}: no such kernel; build it with `make`")
    words = ["--nodes", "1", "--quantum", GATES, "--beats", str(rate_hz)]
    words += ["--first-beat", f"{FIRST_BEAT_NS}ns", "--quiet"]
    args = ["-s", "-n", str(AHEAD + quanta), "-q", f"{QUANTUM_NS}ns"]
    try:
        made_by = (Path(machines.qemu_binary("newest")), KERNEL, conductor(), program)
    except machines.RunnerError as error:
        raise LabError(str(error)) from None

    def compute() -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="reproduce") as folder:
            with cluster([*words, str(program), *args], Path(folder)) as (done, _):
                ended_check(done.nodes, done.ending)
                (node,) = done.nodes
                out, err = (node.file(name).read_text(errors="replace") for name in ("out", "err"))
                log = klog.read(node.file("klog"))
                kinds = [kind.name for kind in log.kinds]
                beats = sum(kinds[kind] == "beat" for kind in log.kind)
        return {"stdout": out, "stderr": err, "beats": beats}

    depends = {"words": words, "args": ["ftq", *args], "files": [files_version([path]) for path in made_by]}
    maker = Maker(machines_version(made_by), QEMU_SEED)
    kept = settings.store.point(f"ftq on tacet, {rate_hz} beats a second", depends, compute, maker)
    whole = ftq.parse(kept["stdout"], f"ftq under {rate_hz} beats a second")[0]
    data = replace(whole, start_ns=whole.start_ns[AHEAD:], counts=whole.counts[AHEAD:])
    entries = parse_report(kept["stderr"]).get("kernel_entries", "")
    if not kept["beats"] or not entries.isdigit():
        raise LabError(f"ftq under {rate_hz} beats a second: the node took no beat, or did not count entries")
    return Beaten(data, ftq.summarise(data), int(entries), int(kept["beats"]))
