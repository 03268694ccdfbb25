#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""`make run` without a program: FTQ on Tacet and on Linux, as soon as possible on a fresh machine.

    tools/make_run.py --arch ARCH --out FOLDER [--make MAKE] [--verbose] [-- OPTIONS of `tools/lab compare`]

The compiler must be installed. While this script compiles the kernel and the programs and fetches musl and
Linux, it installs QEMU and the drawing packages (ports/deps.sh). Then `tools/lab compare` measures. On a
terminal, one line shows the current work and the time left; otherwise a few lines are printed. The output of
all steps goes to build/make-run.log; if a step fails its end is shown.

An interrupt ends the steps, except that packages being unpacked are finished first; the next call goes on
from there. Uses only Python's standard library, since other packages are still being installed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, NoReturn

ROOT = Path(__file__).resolve().parent.parent
LOG = ROOT / "build" / "make-run.log"
#: This file's existence tells `lab compare` that the kernel is built.
KERNEL_THERE = ROOT / "build" / "make-run.kernel"
INTERRUPTED = 130
#: The build's goals, in order.
PROGRAM, KERNEL, ALL = 1, 2, 3

#: A step of make: `echo "  CC      file"` in a dry run, `  CC      file` when it runs.
PLANNED = re.compile(r'echo "  ([A-Z]+) +(.*)"')
DONE = re.compile(r"^  ([A-Z]+) +(\S.*)")
#: Wall seconds on two idle CPUs, for estimates: a step of the build, a download, the packages, the first two
#: columns.
STEP_S, PORT_S, PACKAGES_S, MEASURE_S = 0.12, 3.0, 40.0, 15.0
#: The largest factor by which a busy machine is assumed to be slower than that.
PACE_MAX = 5.0
#: How long an interrupted step may take to end. dpkg finishes the current package.
GRACE_S, PACKAGES_GRACE_S = 10.0, 120.0


class StepFailed(Exception):
    """A step ended with this status."""

    def __init__(self, step: Step, status: int) -> None:
        super().__init__(step.name)
        self.step = step
        self.status = status


class Step:
    """A command that runs in parallel to others, in its own process group; its output goes to the log."""

    def __init__(self, name: str, command: list[str], log: IO[str], shown: bool) -> None:
        self.name = name
        self.lines: list[str] = []
        self.log = log
        self.shown = shown
        # The descriptors of make's job server pass through.
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", *command],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            close_fds=False,
            process_group=0,
        )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            self.log.write(line)
            self.log.flush()
            if self.shown:
                print(line, end="", flush=True)

    def over(self) -> bool:
        """Whether it has ended with status 0. StepFailed if it has ended with another status."""
        status = self.process.poll()
        if status is None:
            return False
        self.reader.join(1.0)
        if status != 0:
            raise StepFailed(self, status)
        return True

    def end(self, grace_seconds: float) -> None:
        """Interrupt it as Ctrl-C would; kill it after this time. Its remaining processes get SIGTERM."""
        self._signal(signal.SIGINT)
        try:
            self.process.wait(grace_seconds)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self.process.wait()
        self._signal(signal.SIGTERM)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)


class Plan:
    """The steps that make has to run, with their expected seconds."""

    def __init__(self, steps: list[tuple[str, str]]) -> None:
        self.seconds = {(kind, what): PORT_S if kind == "PORT" else STEP_S for kind, what in steps}
        self.total_s = sum(self.seconds.values())

    @classmethod
    def of(cls, command: list[str]) -> Plan:
        """The plan of a make command, from a dry run; empty if that fails."""
        said = subprocess.run(
            [*command, "-n"], cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        return cls([(kind, what) for kind, what in PLANNED.findall(said.stdout)])

    def left_s(self, lines: list[str], passed_s: float) -> float:
        """The estimated seconds left, from the output so far and the seconds passed."""
        begun = [found.groups() for line in lines if (found := DONE.match(line))]
        done_s = sum(self.seconds.get((kind, what), 0.0) for kind, what in begun)
        pace = min(max(1.0, passed_s / done_s), PACE_MAX) if done_s > 0.2 * self.total_s else 1.0
        return max(0.0, self.total_s - done_s) * pace


class Line:
    """A line of the terminal that is rewritten; shows nothing if stderr is no terminal."""

    def __init__(self) -> None:
        self.terminal = sys.stderr.isatty()

    def show(self, text: str) -> None:
        if self.terminal:
            columns = os.get_terminal_size(sys.stderr.fileno()).columns or 80
            print(f"\r\033[K{text[: columns - 1]}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        self.show("")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def latest(lines: list[str]) -> str:
    """make's current step, as text."""
    last = next((found for line in reversed(lines) if (found := DONE.match(line))), None)
    return f"{last[1].lower()} {re.split('[:,;(]', last[2])[0]}" if last else "make"


class Build:
    """make's goals, built one after the other: first the program, which Linux runs; last, at low priority,
    the other programs, for which nothing waits."""

    def __init__(self, arguments: argparse.Namespace, make: list[str], log: IO[str]) -> None:
        program = f"build/{arguments.arch}/apps/ftq"
        self.plan = Plan.of([*make, program, "kernel", "apps"])
        self.commands = [[*make, program], [*make, "kernel"], ["nice", *make, "apps"]]
        self.steps: list[Step] = []
        self.log, self.shown = log, arguments.verbose

    def lines(self) -> list[str]:
        return [line for step in self.steps for line in step.lines]

    def over(self, count: int) -> bool:
        """Whether the first `count` goals are built. Starts the next goal when one is built. StepFailed if
        one fails."""
        if not self.steps or (len(self.steps) < len(self.commands) and self.steps[-1].over()):
            self.steps.append(Step("the build", self.commands[len(self.steps)], self.log, self.shown))
        done = len(self.steps) - 1 + self.steps[-1].over()
        return done >= count


def prepare(arguments: argparse.Namespace, log: IO[str], line: Line) -> Build:
    """Install packages and build the program; returns while the rest is being built. StepFailed."""
    arch = arguments.arch
    groups = ["run", "draw", *([f"run-{arch}"] if arch != "x86_64" else [])]
    # x86_64 needs QEMU 10 only for the tuned Linux, which waits for it; other architectures measure on it.
    fetched = ["linux", *(["qemu10"] if arch != "x86_64" else [])]
    make = [*shlex.split(arguments.make), "--no-print-directory", f"ARCH={arch}"]
    begun = time.monotonic()
    build = Build(arguments, make, log)
    packages = Step("the packages", ["ports/deps.sh", *groups], log, arguments.verbose)
    steps = [packages]
    try:
        # A separate make: it mostly waits for the network and would take one of the build's jobs.
        fetch = Step("Debian's Linux", [*make, *fetched], log, arguments.verbose)
        steps.append(fetch)
        announced = False
        while True:
            built, kernel = build.over(PROGRAM), build.over(KERNEL)
            installed, there = packages.over(), fetch.over()
            if installed and built and there:
                return build
            passed = time.monotonic() - begun
            if not announced and passed > 2 and not line.terminal:
                announced = True
                say("make run: building and installing; the table comes in about a minute on two idle CPUs")
            left = max(
                0 if kernel else build.plan.left_s(build.lines(), passed),
                0 if installed else PACKAGES_S - passed,
            )
            what = "; ".join(
                [
                    *([] if kernel else [latest(build.lines())]),
                    *([] if installed or not packages.lines else ["installing QEMU and matplotlib"]),
                    *([] if there or not fetch.lines else ["fetching Linux"]),
                ]
            )
            if not arguments.verbose:
                line.show(f"  {passed:3.0f} s, table in about {left + MEASURE_S:.0f} s: {what}")
            time.sleep(0.1)
    except BaseException:
        line.clear()
        if packages.process.poll() is None and packages.lines:
            say("make run: ending after the package that is being unpacked")
        for step in [*steps, *build.steps]:
            step.end(PACKAGES_GRACE_S if step is packages else GRACE_S)
        raise
    finally:
        line.clear()


def measure(arguments: argparse.Namespace, build: Build) -> int:
    """Compare while the rest is being built. Returns the comparison's status. StepFailed."""
    options = ["--arch", arguments.arch, "--out", arguments.out, *arguments.options]
    if not build.over(KERNEL):
        KERNEL_THERE.unlink(missing_ok=True)
        options += ["--kernel-wait", f"until [ -e {KERNEL_THERE} ]; do sleep 0.1; done"]
    if arguments.arch == "x86_64":
        options += ["--tuned-fetch", "ports/qemu/fetch.sh build x86_64"]
    compare = subprocess.Popen(["tools/lab", "compare", *options], cwd=ROOT)
    try:
        while compare.poll() is None:
            if build.over(KERNEL):
                KERNEL_THERE.touch()
            build.over(ALL)
            time.sleep(0.1)
        while compare.returncode == 0 and not build.over(ALL):
            time.sleep(0.1)
        return compare.returncode
    except BaseException:
        # Ctrl-C on a terminal has already interrupted it.
        with contextlib.suppress(subprocess.TimeoutExpired):
            compare.wait(1.0)
        if compare.poll() is None:
            compare.send_signal(signal.SIGINT)
            compare.wait()
        for step in build.steps:
            step.end(GRACE_S)
        raise


def interrupt(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


def main() -> int:
    parser = argparse.ArgumentParser(description="Build, install and compare: what make run does.")
    parser.add_argument("--arch", default="x86_64")
    parser.add_argument("--out", required=True, help="folder of the report")
    parser.add_argument("--make", default="make", help="the command make")
    parser.add_argument("--verbose", action="store_true", help="show the output of the steps")
    parser.add_argument("options", nargs="*", help="options of tools/lab compare")
    arguments = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    line = Line()
    try:
        with LOG.open("w", encoding="utf-8") as log:
            return measure(arguments, prepare(arguments, log, line))
    except StepFailed as failure:
        if not arguments.verbose:
            say("\n".join(failure.step.lines[-20:]))
        say(f"make run: {failure.step.name} failed; the full output is in build/make-run.log")
        return 1
    except KeyboardInterrupt:
        say("make run: interrupted; the next call goes on from here")
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
