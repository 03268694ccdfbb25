# SPDX-License-Identifier: BSD-2-Clause
"""`lab reproduce NAME…`: repeats experiments of the papers; `lab reproduce list` names them.

Each writes to `OUT/NAME/` its table (table.txt), its values (result.json) and its picture (picture.png), and
to `OUT/points/` every simulated point: an interrupted run continues from there, and experiments share points.
Each file is written whole or not at all.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from lab.cli.dispatch import INTERRUPTED
from lab.common.errors import LabError
from lab.common.files import text_write, written_whole
from lab.reproduce import beckman, betti, caches, detours, hoefler, ticks, tsafrir
from lab.reproduce.outcome import Experiment, Outcome, Settings, Waiting, typeset
from lab.reproduce.store import Progress, Store

EXPERIMENTS: tuple[Experiment, ...] = (
    *tsafrir.EXPERIMENTS,
    *ticks.EXPERIMENTS,
    *caches.EXPERIMENTS,
    *beckman.EXPERIMENTS,
    *detours.EXPERIMENTS,
    *hoefler.EXPERIMENTS,
    *betti.EXPERIMENTS,
)
#: Experiments that cannot be repeated here yet.
WAITING: tuple[Waiting, ...] = (
    Waiting("Tsafrir05 Table 1", "cache misses from the four platforms' own counters", "those machines"),
    Waiting(
        "Tsafrir05 Fig. 7",
        "the same phases on FreeBSD",
        "an image of FreeBSD that runs a program given to it",
    ),
    Waiting(
        "Beckman06 Table 1",
        "length of typical detours on PowerPC",
        "a real POWER machine: times in an emulator are not real",
    ),
    Waiting("Hoefler10 Table III", "LogGP parameters of five networks", "a cluster to measure them on"),
    Waiting(
        "Hoefler10 Fig. 8-10",
        "Sweep3D, AMG2006 and POP under noise",
        "MPI traces of AMG2006 and POP; Sweep3D's, of 4 ranks, are public with LogGOPSim",
    ),
    Waiting(
        "Betti09 Fig. 5, Table I, II", "NAS EP and BT under a heartbeat", "a cluster of real machines, and BT"
    ),
)
OUT = Path("build/lab/reproduce")
PICTURE_WIDTH = 1400
THUMBNAIL_WIDTH = 700
LARGEST_MIN, LARGEST_MAX = 6, 24  # log2 of ranks


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "reproduce",
        description="Repeat experiments of the papers.",
        epilog=listed(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="+", metavar="NAME", help="experiments listed below, all, or list")
    parser.add_argument("--out", type=Path, default=OUT, help=f"folder for the results (default {OUT})")
    parser.add_argument(
        "--quick", action="store_true", help="fewer ranks, simulations and phases: some minutes for all"
    )
    parser.add_argument(
        "--simulations",
        type=positive,
        metavar="N",
        help="simulations for each number of ranks (default 1000 up to two thousand ranks, then fewer, at "
        "least 20; the paper: 1000)",
    )
    parser.add_argument(
        "--largest", type=positive, default=20, metavar="LOG2", help="log2 of the most ranks (default 20)"
    )
    parser.add_argument(
        "--threads", type=positive, default=0, metavar="N", help="the simulator's threads (default: all CPUs)"
    )
    parser.add_argument("--seed", type=positive, default=1, metavar="N", help="seed of synthetic traces (1)")
    parser.add_argument(
        "--thumbnails",
        type=Path,
        metavar="FOLDER",
        help="write small pictures for the documentation, too: FOLDER/reproduce-NAME.png",
    )


def positive(text: str) -> int:
    if not text.isdigit() or not 0 < int(text[:10]) < 2**31:
        raise argparse.ArgumentTypeError(f"{text!r} is not a count; give a whole number from 1")
    return int(text)


def listed() -> str:
    name = max(len(experiment.name) for experiment in EXPERIMENTS)
    paper = max(len(experiment.paper) for experiment in EXPERIMENTS)
    lines = ["experiments:", *(f"  {e.name:<{name}}  {e.paper:<{paper}}  {e.summary}" for e in EXPERIMENTS)]
    paper = max(len(one.paper) for one in WAITING)
    lines += ["", "not possible here yet:"]
    lines += [f"  {one.paper:<{paper}}  {one.summary}: needs {one.needs}" for one in WAITING]
    return typeset("\n".join(lines))


def chosen(names: list[str]) -> list[Experiment]:
    known = {experiment.name: experiment for experiment in EXPERIMENTS}
    if names == ["all"]:
        return list(EXPERIMENTS)
    for name in names:
        if name not in known:
            raise LabError(f"no such experiment: {name[:60]!r}; `lab reproduce list` names them")
    return [known[name] for name in names]


def keep(outcome: Outcome, settings: Settings, folder: Path, thumbnail: Path | None) -> str:
    """Writes an outcome, and returns its table. result.json comes last: if it exists, the other files do,
    too. Table and values carry the versions of the software and the seed."""
    made_by = {"version": sorted(settings.store.versions), "seed": settings.seed}
    text = f"{outcome.as_text()}\nMade by {', '.join(made_by['version'])}; seed {settings.seed}.\n"
    (folder / "result.json").unlink(missing_ok=True)
    if outcome.draw:
        with written_whole(folder / "picture.png") as part:
            outcome.draw(part, PICTURE_WIDTH)
        if thumbnail:
            with written_whole(thumbnail) as part:
                outcome.draw(part, THUMBNAIL_WIDTH)
    text_write(folder / "table.txt", text)
    text_write(folder / "result.json", json.dumps(made_by | outcome.as_json(), indent=1) + "\n")
    return text


def run(options: argparse.Namespace) -> int:
    if options.names == ["list"]:
        print(listed())
        return 0
    if not LARGEST_MIN <= options.largest <= LARGEST_MAX:
        raise LabError(
            f"--largest {options.largest}: out of range; give {LARGEST_MIN} to {LARGEST_MAX} (fewer ranks "
            "show nothing, more were never tried)"
        )
    for experiment in chosen(options.names):
        folder = options.out / (f"{experiment.name}-quick" if options.quick else experiment.name)
        progress = Progress(0)
        settings = Settings(
            Store(options.out, progress),
            options.out,
            options.quick,
            options.simulations,
            options.largest,
            options.threads,
            options.seed,
        )
        progress.out.write(f"{experiment.name}: {experiment.summary} [{experiment.paper}]\n")
        try:
            outcome = experiment.run(settings)
        except KeyboardInterrupt:
            print(
                f"\n{experiment.name}: interrupted after {progress.done} points, which are kept; run the "
                "same command to continue"
            )
            return INTERRUPTED
        thumbnail = options.thumbnails and options.thumbnails / f"reproduce-{experiment.name}.png"
        text = keep(outcome, settings, folder, thumbnail)
        outdated = f", {progress.outdated} of another version, computed again" * bool(progress.outdated)
        print(
            f"\n{text}\n{folder}: table.txt, result.json, picture.png; {progress.done} points, "
            f"{progress.again} of them from earlier runs{outdated}\n"
        )
    return 0
