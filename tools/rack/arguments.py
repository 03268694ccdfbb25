# SPDX-License-Identifier: BSD-2-Clause
"""The command line of a cluster, checked before anything is started. Each error is one line that says what
would be right."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import network

import qemu
from qemu import arguments as checks

from . import layout, linux

WRONG = 2
UNAVAILABLE = 3
RATE_MAX = 1000
#: Required programs and servers. Debian installs servers in SBIN, which is not in every user's PATH.
TOOLS = ("unshare", "setpriv", "ip", "mount", "grub-mkimage")
SERVERS = ("dnsmasq", "diod")
SBIN = "/usr/sbin:/sbin"
BOOT_LIMIT_S = 900.0


@dataclass(frozen=True)
class Plan:
    """The cluster that the user asked for."""

    nodes: int  #: Tacet nodes
    linux: int
    rate: str
    app: Path | None  #: None: nodes wait for jobs
    args: Sequence[str]
    env: Sequence[str]
    options: Sequence[str]
    cpus: int
    memory: str
    share: Path | None
    logs: Path
    boot_limit_s: float
    wait: bool
    verbose: bool
    command: Sequence[str]

    @property
    def numbers(self) -> list[int]:
        """The numbers of all nodes, Tacet nodes first."""
        linux = range(layout.LINUX_BEGIN + 1, layout.LINUX_BEGIN + self.linux + 1)
        return [*range(1, self.nodes + 1), *linux]


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Exit with a one-line message."""
        self.exit(WRONG, f"tools/cluster: {message} (tools/cluster --help)\n")


def parser_new() -> Parser:
    parser = Parser(
        prog="tools/cluster",
        usage="tools/cluster [options] [-- COMMAND [ARGS...]]",
        description="Run a cluster of Tacet or Linux nodes in QEMU, with a command or shell that uses it.",
    )
    parser.add_argument(
        "--nodes",
        default="4",
        metavar="N",
        help=f"Tacet nodes, 0 to {layout.NODES_MAX} (default: %(default)s)",
    )
    parser.add_argument(
        "--linux", default="0", metavar="N", help="additional nodes with Linux (default: %(default)s)"
    )
    parser.add_argument(
        "--rate", default="10", metavar="HZ", help="beats a second, 0 to 1000 (default: %(default)s)"
    )
    parser.add_argument(
        "--app",
        type=Path,
        metavar="APP",
        help="a static ELF program; each node runs it and ends (default: nodes wait for jobs of tacetrun)",
    )
    parser.add_argument(
        "--args", default="", metavar='"…"', help="the program's arguments; split as a shell does"
    )
    parser.add_argument(
        "--env", action="append", default=[], metavar="K=V", help="the program's environment; may be repeated"
    )
    parser.add_argument(
        "--wait", action="store_true", help="wait until all nodes have ended; the exit status is the highest"
    )
    parser.add_argument("--options", default="", metavar='"…"', help="options for the nodes' kernels")
    parser.add_argument("--cpus", default="1", metavar="N", help="CPUs of each node (default: %(default)s)")
    parser.add_argument(
        "--memory", default="256M", metavar="M", help="memory of each node (default: %(default)s)"
    )
    parser.add_argument(
        "--share",
        type=Path,
        metavar="DIR",
        help=f"the folder that nodes have at {layout.PLACE} (default: a temporary one)",
    )
    parser.add_argument(
        "--logs", type=Path, metavar="DIR", help="folder for the nodes' consoles (default: build/cluster)"
    )
    parser.add_argument(
        "--boot-limit",
        default=f"{BOOT_LIMIT_S:g}",
        metavar="S",
        help="time for all nodes to come up, in seconds (default: %(default)s)",
    )
    parser.add_argument("--verbose", action="store_true", help="print the nodes' consoles to stderr")
    return parser


def parse(words: Sequence[str]) -> Plan:
    """The plan. If it is wrong, exits with a message of one line, or raises RunnerError or
    network.Unavailable."""
    end = words.index("--") if "--" in words else len(words)
    parser = parser_new()
    given = parser.parse_args(words[:end])
    command = words[end + 1 :]
    if end < len(words) and not command:
        parser.error("the command after -- is missing; leave out -- for a shell")
    if given.wait and command:
        parser.error("--wait waits for the nodes' programs, so it takes no command")
    if given.app is None and (given.args or given.env or given.wait):
        parser.error("--args, --env and --wait need a program: --app APP")
    if given.app is not None and given.linux != "0":
        parser.error("--app is only for Tacet nodes: leave out --linux, or run the program with tacetrun")
    plan = Plan(
        nodes=whole("--nodes", given.nodes, 0, layout.NODES_MAX),
        linux=whole("--linux", given.linux, 0, layout.NODES_MAX),
        rate=rate(given.rate),
        app=given.app and outside("--app", given.app),
        args=words_of("--args", given.args),
        env=given.env,
        options=words_of("--options", given.options),
        cpus=checks.check_cpus(given.cpus, None),
        memory=checks.check_memory(given.memory, "stock" if given.linux != "0" else None),
        share=given.share and outside("--share", given.share),
        logs=(given.logs or qemu.BUILD / "cluster").absolute(),
        boot_limit_s=seconds("--boot-limit", given.boot_limit),
        wait=given.wait,
        verbose=given.verbose,
        command=command,
    )
    check(plan)
    return plan


def whole(option: str, text: str, low: int, high: int) -> int:
    if not re.fullmatch(r"\d{1,9}", text) or not low <= int(text) <= high:
        raise qemu.RunnerError(f"{option} takes {low} to {high}, not {text or 'nothing'}")
    return int(text)


def rate(text: str) -> str:
    """The rate, in the conductor's form. Raises RunnerError."""
    if not re.fullmatch(r"\d{1,4}(\.\d{1,9})?", text) or float(text) > RATE_MAX or 0 < float(text) < 1 / 60:
        raise qemu.RunnerError(
            f"--rate takes 1/60 to {RATE_MAX} beats a second, or 0, not {text or 'nothing'}"
        )
    return text


def seconds(option: str, text: str) -> float:
    if not re.fullmatch(r"\d{1,7}(\.\d+)?", text) or not float(text):
        raise qemu.RunnerError(f"{option} takes seconds, not {text or 'nothing'}")
    return float(text)


def words_of(option: str, text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise qemu.RunnerError(f"{option}: {str(error).lower()}") from None


def outside(option: str, path: Path) -> Path:
    """The path, if the cluster can see it: it has its own /run. RunnerError if not."""
    if path.resolve().is_relative_to(layout.RUN):
        raise qemu.RunnerError(
            f"{option} {path}: the cluster cannot see {layout.RUN}, since it has its own; use another place"
        )
    return path.resolve()


def check(plan: Plan) -> None:
    """Check that everything the plan needs is available. RunnerError, network.Unavailable."""
    if not plan.numbers:
        raise qemu.RunnerError("a cluster needs at least one node: --nodes, --linux")
    if plan.app is not None:
        qemu.check_program(plan.app)
    for pair in plan.env:
        if "=" not in pair:
            raise qemu.RunnerError(f"the environment takes K=V, not {pair}")
    if plan.share is not None:
        if not plan.share.is_dir():
            raise qemu.RunnerError(f"--share: there is no folder {plan.share}")
        if any(c in str(plan.share) for c in ':," \\'):
            raise qemu.RunnerError(
                f"--share {plan.share}: the path must not have blanks, commas, quotes, colons or backslashes"
            )
    total, _ = checks.host_memory()
    if total and (wanted := len(plan.numbers) * (qemu.parse_size(plan.memory) or 0)) > total:
        raise qemu.RunnerError(
            f"{len(plan.numbers)} nodes of {plan.memory} take {qemu.size_text(wanted)}, and this host has "
            f"{qemu.size_text(total)}: --nodes, --memory"
        )
    needed = [(layout.SERVICE / "conductor", "service"), (layout.SERVICE / "conductorctl", "service")]
    needed += [(layout.KERNEL, "kernel")] if plan.nodes else []
    needed += [(layout.SERVICE / layout.LAUNCHD, "service")] if plan.linux else []
    for path, target in needed:
        if not path.is_file():
            raise qemu.RunnerError(f"there is no {path}; `make {target}` builds it")
    if plan.linux:
        linux.check()
    qemu.qemu_binary()
    if missing := [one for one in SERVERS if shutil.which(one, path=search_path()) is None]:
        raise network.Unavailable(f"missing: {', '.join(missing)} (ports/deps.sh network cluster)")
    network.check(TOOLS)


def search_path() -> str:
    """The folders where servers are searched."""
    return f"{os.environ.get('PATH', '')}:{SBIN}"
