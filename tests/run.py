#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""All tests, in order; what `make test` calls. Ends with one line, `N passed, M failed`, and `, K skipped` if
any were.

    tests/run.py                        everything
    tests/run.py --only qemu -k faults  one stage, or several; -k goes to pytest

A stage's output is shown as it comes. A stage that ends without printing how many tests it ran, or with a
status that its numbers do not explain, counts as a failure. The exit status is 0 only if every stage ran and
nothing failed. With CI=true in the environment, warnings of the compilers are errors.
"""

from __future__ import annotations

import argparse
import codecs
import contextlib
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = "/usr/bin/python3"
CPUS = len(os.sched_getaffinity(0))
WORKERS = str(max(2, min(CPUS, 8)))

#: A line of numbers: pytest's last one, `N passed, M failed` of a fuzzer's run, `NAME: N passed, M failed` of
#: a host test.
COUNTS = re.compile(r"^(?:[=. ]*|\w[\w ./-]*: )(?=\d+ (?:passed|failed|skipped|error))(.*)$")
COUNT = re.compile(r"(\d+) (passed|failed|skipped|errors?)\b")
NO_TESTS_COLLECTED = 5
INTERRUPTED = 130


@dataclass(frozen=True)
class Stage:
    """One command; `counts` says that it has tests whose numbers it prints."""

    name: str
    title: str
    command: list[str]
    seconds: float
    counts: bool = True
    pytest: bool = False


@dataclass
class Total:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, line: str) -> bool:
        """Take a line's numbers; False where it holds none."""
        plain = re.sub(r"\x1b\[[0-9;]*m", "", line).strip()
        if not (counts := COUNTS.match(plain)):
            return False
        for number, kind in COUNT.findall(counts[1]):
            if kind == "passed":
                self.passed += int(number)
            elif kind == "skipped":
                self.skipped += int(number)
            else:
                self.failed += int(number)
        return True

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed" + (
            f", {self.skipped} skipped" if self.skipped else ""
        )


def stages(filter_words: list[str]) -> list[Stage]:
    """All of them, in order."""
    make = ["make", "--no-print-directory", f"-j{CPUS}"]
    pytest = [PYTHON, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", *filter_words]
    side_by_side = ["-n", WORKERS, "--dist", "loadgroup"] if has_xdist() else []
    return [
        Stage(
            "build",
            "The kernel, the programs, the tests' programs",
            [*make, "kernel", "apps", "test-programs", "qemu10"],
            900,
            counts=False,
        ),
        Stage("host", "Pure logic on this machine, with sanitizers", [*make, "host-test"], 900),
        Stage("fuzz", "Parsers of outside bytes", [*make, "fuzz", "FUZZ_SECONDS=5"], 600),
        Stage("tools", "Tools and lab", [*pytest, "tests/host", "tests/structure"], 900, pytest=True),
        Stage(
            "qemu",
            "Whole systems",
            [*pytest, *side_by_side, "--durations=10", "tests/qemu"],
            2400,
            pytest=True,
        ),
    ]


def has_xdist() -> bool:
    return subprocess.run([PYTHON, "-c", "import xdist"], capture_output=True, check=False).returncode == 0


def run_shown(command: list[str], seconds: float) -> tuple[int | None, list[str]]:
    """Run a command, show its output as it comes; its status (None: the time was over) and its lines."""
    # A make around this one must not pass its job server on: this file says how many jobs there are.
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    environment["PYTHONUNBUFFERED"] = "1"
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        return output_shown(process, seconds)
    except KeyboardInterrupt:
        group_end(process)
        raise


def group_end(process: subprocess.Popen[bytes]) -> None:
    """Interrupts a stage with all that it has started, and ends by force what takes no notice."""
    os.killpg(process.pid, signal.SIGINT)
    try:
        process.wait(10)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        pass
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def output_shown(process: subprocess.Popen[bytes], seconds: float) -> tuple[int | None, list[str]]:
    """Show a stage's output; what `run_shown` returns."""
    assert process.stdout
    text, decoder = [], codecs.getincrementaldecoder("utf-8")("replace")
    deadline = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                os.killpg(process.pid, 9)
                process.wait()
                return None, "".join(text).splitlines()
            chunk = decoder.decode(os.read(process.stdout.fileno(), 1 << 16) or b"", final=False)
            if not chunk and process.poll() is not None:
                break
            if not chunk:
                # The end of the stream comes before the end of the process.
                try:
                    process.wait(max(0.1, deadline - time.monotonic()))
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, 9)
                    process.wait()
                    return None, "".join(text).splitlines()
                break
            text.append(chunk)
            print(chunk, end="", flush=True)
    return process.returncode, "".join(text).splitlines()


def run_stage(stage: Stage, total: Total, filtered: bool) -> str:
    """Run it and add its numbers to the total; a remark, or "" if all was well."""
    begun = time.monotonic()
    status, lines = run_shown(stage.command, stage.seconds)
    own = Total()
    counted = [own.add(line) for line in lines]
    took = f"{time.monotonic() - begun:.0f} s"
    total.passed, total.failed, total.skipped = (
        total.passed + own.passed,
        total.failed + own.failed,
        total.skipped + own.skipped,
    )
    if status is None:
        total.failed += 1
        return f"{stage.name}: no end within {stage.seconds:g} s"
    if stage.pytest and filtered and status == NO_TESTS_COLLECTED:
        return ""
    if stage.counts and not any(counted):
        total.failed += 1
        return f"{stage.name}: ended with status {status} and printed no numbers"
    if status != 0 and own.failed == 0:
        total.failed += 1
        return f"{stage.name}: ended with status {status}"
    print(f"--- {stage.name}: {own if stage.counts else 'done'}, {took}", flush=True)
    return f"{stage.name}: {own.failed} failed" if own.failed else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [stage.name for stage in stages([])]
    parser.add_argument(
        "--only",
        action="append",
        choices=names,
        metavar="STAGE",
        help=f"this stage; may be repeated: {', '.join(names)}",
    )
    parser.add_argument("-k", metavar="EXPRESSION", help="only tests that match, as pytest takes it")
    arguments = parser.parse_args()

    chosen = [
        s
        for s in stages(["-k", arguments.k] if arguments.k else [])
        if not arguments.only or s.name in arguments.only
    ]
    total, remarks = Total(), []
    for number, stage in enumerate(chosen, 1):
        print(f"\n=== {number}/{len(chosen)}: {stage.title} ({stage.name})", flush=True)
        try:
            remark = run_stage(stage, total, arguments.k is not None)
        except KeyboardInterrupt:
            print(f"\ntests/run.py: interrupted in stage {stage.name}; {total} before it", file=sys.stderr)
            return INTERRUPTED
        if remark:
            remarks.append(remark)
            print(f"--- {remark}", flush=True)
        if stage.name == "build" and remarks:
            remarks += [f"{s.name}: not run: the build failed" for s in chosen[number:]]
            break
    print()
    for remark in remarks:
        print(f"!!! {remark}")
    print(total, flush=True)
    return 1 if remarks or total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
