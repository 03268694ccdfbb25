# SPDX-License-Identifier: BSD-2-Clause
"""`lab bench-network`: compares the costs of the network on Tacet and on Linux, in the same QEMU with the
same card.

echo        a datagram of 64 bytes there and back: instructions from before sendto to after recv, without the
            wait; minimum and median of a hundred (`apps/cost -u`, icount at one instruction per ns)
TCP         instructions per KiB sent, and per KiB received, acknowledgements included (the same program)
iperf3      its own figures, Mbit/s, in a machine that runs as fast as it can: they depend on this host and
its
            other work, so only their ratio is meaningful
files       reading and writing with calls of 64 KiB, creating, stat and removal of a server's files (diod on
            this host), per second: Tacet's client of 9P2000.L compared with Linux's own, with messages of the
            same size and without a cache (tests/programs/file_rates.c), in a machine as for iperf3

Linux is measured twice: with its defaults, where the card and the kernel have offloads (TSO, GSO, GRO,
checksums by the card), and without them, as with a plain card. The peer is on this host (lab/bench/peer.py),
reached through QEMU's own network. Writes `bench_network.json` into `--out`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

from lab.bench import runner
from lab.bench.costs import parse_cost
from lab.bench.peer import HOST, Iperf, Peer
from lab.bench.runner import Runner
from lab.common.errors import LabError
from lab.common.paths import APPS, REPORT
from lab.common.text import table

SUMMARY = "Compare network costs on Tacet and on Linux: datagrams, TCP, iperf3, files of a server."

SYSTEMS = ("tacet", "linux", "linux_plain")
#: Keys that `cost -u` prints, with their names in the table.
COSTS = {
    "udp_echo_ticks_min": "UDP echo, instructions: least",
    "udp_echo_ticks_median": "  median",
    "tcp_send_kib_ticks": "TCP, instructions of a KiB sent",
    "tcp_receive_kib_ticks": "  received",
}
#: The aims: an echo in instructions; iperf3 at least as fast as Linux without offloads.
ECHO_BELOW = 10_000
DIRECTIONS = {"sent": (), "received": ("-R",)}
SECONDS = 5
#: Keys that `file_rates` prints, with their names in the table.
RATES = {
    "write_kib_s": "files, KiB/s written",
    "read_kib_s": "  read",
    "create_s": "  created, a second",
    "stat_s": "  looked at (stat)",
    "unlink_s": "  removed",
}
FILE_MIB = 16
FILES = 200
#: Options of Linux's own client: its default, which does not cache either, but with Tacet's size of a
#: message.
LINUX_MOUNT = "trans=tcp,version=9p2000.L,msize=65536,access=any,dfltuid=0,uname=root"
PLACE = "/mnt"
ADDRESS = "10.0.2.15/24,10.0.2.2"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("bench-network", description=SUMMARY)
    parser.add_argument("--out", type=Path, default=REPORT, help="folder for the results")
    parser.add_argument("--apps", type=Path, default=APPS, help="folder of cost")
    parser.add_argument(
        "--programs",
        type=Path,
        default=APPS.parent / "tests",
        help="folder of plain_card and file_rates (make test-programs)",
    )
    parser.add_argument(
        "--iperf3",
        type=Path,
        default=APPS.parent / "foreign" / "iperf3",
        help="a static iperf3 (make foreign-network); left out if it is missing",
    )
    parser.add_argument("--nic", choices=("e1000", "e1000e", "igb"), default="e1000", help="the card")
    parser.add_argument(
        "--qemu", choices=("system", "newest"), default="newest", help="which QEMU (default newest)"
    )
    parser.add_argument(
        "--time-limit",
        type=float,
        default=300.0,
        metavar="SECONDS",
        help="most seconds for each run (default 300)",
    )


def run_on(
    system: str,
    app: Path,
    words: list[str],
    options: argparse.Namespace,
    machines: Runner,
    mount: str = "",
    **keywords: Any,
) -> runner.Result:
    """Runs a program on one of the systems, in a machine with a card in QEMU's own network. `mount`: one more
    option for Tacet; Linux gets the modules of its client."""
    common: dict[str, Any] = {
        "memory": "256M",
        "qemu": options.qemu,
        "time_limit": options.time_limit,
        "network": machines.Network("user", options.nic),  # type: ignore[attr-defined]
        **keywords,
    }
    if system == "tacet":
        return machines.run_tacet(app, words, options=f"ip={ADDRESS} {mount}".rstrip(), **common)
    if mount:
        common["modules"] = ("9p", "9pnet_fd")
    if system == "linux":
        return machines.run_linux(app, words, **common)
    with tempfile.TemporaryDirectory() as folder:
        inside = Path(folder) / "bin"
        inside.mkdir()
        shutil.copy(app, inside)
        plain = runner.program_found(options.programs / "plain_card.musl")
        return machines.run_linux(plain, [f"/bin/{app.name}", *words], files=Path(folder), **common)


def figures_of(system: str, program: str, names: Iterable[str], result: runner.Result) -> dict[str, int]:
    """Returns the values that the program printed. LabError if one of `names` is missing."""
    values = parse_cost(runner.result_checked(system, result).stdout.decode("ascii", errors="replace"))
    if missing := [name for name in names if name not in values]:
        raise LabError(
            f"{system}: {program} does not print {', '.join(missing)}\n{runner.console_tail(result)}"
        )
    return {name: values[name] for name in names}


def costs_on(system: str, options: argparse.Namespace, machines: Runner, out: TextIO) -> dict[str, int]:
    app = runner.program_found(options.apps / "cost")
    with Peer() as peer:
        result = runner.run_shown(
            f"cost -u on {system}",
            out,
            lambda: run_on(system, app, ["-u", peer.address], options, machines, icount=0),
        )
    return figures_of(system, "cost", COSTS, result)


def iperf_on(system: str, direction: str, options: argparse.Namespace, machines: Runner, out: TextIO) -> int:
    """Returns the Mbit/s that iperf3 measured at the receiving end."""
    words = ["-c", HOST, "-t", str(SECONDS), "-J", *DIRECTIONS[direction]]
    with Iperf(options.iperf3) as server:
        result = runner.run_shown(
            f"iperf3, {direction}, on {system}",
            out,
            lambda: run_on(system, options.iperf3, [*words, "-p", str(server.port)], options, machines),
        )
    runner.result_checked(system, result)
    try:
        said = json.loads(result.stdout)
        return round(said["end"]["sum_received"]["bits_per_second"] / 1e6)
    except (ValueError, KeyError):
        raise LabError(f"{system}: iperf3 printed no figures\n{runner.console_tail(result)}") from None


def rates_on(
    system: str,
    options: argparse.Namespace,
    machines: Runner,
    out: TextIO,
    mib: int = FILE_MIB,
    files: int = FILES,
) -> dict[str, int]:
    """Returns the rates of a server's files."""
    app = runner.program_found(options.programs / "file_rates.musl")
    words = [PLACE, str(mib), str(files)]
    with (
        tempfile.TemporaryDirectory() as folder,
        machines.FileServer([Path(folder)]) as server,  # type: ignore[attr-defined]
    ):
        if system != "tacet":
            words += [HOST, f"{LINUX_MOUNT},port={server.port},aname={server.folders[0]}"]
        mount = server.option(server.folders[0], PLACE)
        result = runner.run_shown(
            f"file_rates on {system}", out, lambda: run_on(system, app, words, options, machines, mount)
        )
    return figures_of(system, "file_rates", RATES, result)


def as_table(figures: dict[str, Any]) -> str:
    rows = []
    for name, title in COSTS.items():
        values = [figures["costs"][system][name] for system in SYSTEMS]
        aimed = name == "udp_echo_ticks_min"
        verdict = ("yes" if values[0] < ECHO_BELOW else "NO") if aimed else ""
        rows.append([title, *(f"{v:,}" for v in values), f"< {ECHO_BELOW:,}" if aimed else "", verdict])
    rates = {f"iperf3, Mbit/s {direction}": values for direction, values in figures["iperf3_mbit"].items()}
    for name, title in RATES.items() if figures["file_rates"] else ():
        rates[title] = {system: figures["file_rates"][system][name] for system in SYSTEMS}
    for title, values in rates.items():
        shown = [f"{values[system]:,}" for system in SYSTEMS]
        verdict = "yes" if values["tacet"] >= values["linux_plain"] else "NO"
        rows.append([title, *shown, ">= plain", verdict])
    return table(["", "Tacet", "Linux", "Linux, plain card", "aim", "held"], rows)


def bench(options: argparse.Namespace, machines: Runner, out: TextIO) -> dict[str, Any]:
    """Measures all figures. LabError if a run fails."""
    try:
        figures: dict[str, Any] = {
            "nic": options.nic,
            "costs": {system: costs_on(system, options, machines, out) for system in SYSTEMS},
            "iperf3_mbit": {},
            "file_rates": {},
        }
        if options.iperf3.is_file():
            figures["iperf3_mbit"] = {
                direction: {system: iperf_on(system, direction, options, machines, out) for system in SYSTEMS}
                for direction in DIRECTIONS
            }
        else:
            print(f"{options.iperf3}: no such program, left out; `make foreign-network` builds it", file=out)
        if machines.FileServer.program():  # type: ignore[attr-defined]
            figures["file_rates"] = {system: rates_on(system, options, machines, out) for system in SYSTEMS}
        else:
            print("files of a server: no diod, left out; ports/deps.sh cluster installs it", file=out)
    except machines.RunnerError as error:
        raise LabError(str(error)) from None
    runner.figures_keep(options.out / "bench_network.json", figures, as_table(figures), out)
    return figures


def run(options: argparse.Namespace, machines: Runner | None = None, out: TextIO | None = None) -> int:
    """Runs the command; `machines` and `out` are for tests. Raises LabError or OSError."""
    bench(options, machines or runner.load(), out or sys.stdout)
    return 0
