#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""All tests, in order; what `make test` calls. Ends with one line, `N passed, M failed`, and `, K skipped` if
any were.

    tests/run.py                        everything
    tests/run.py --only qemu -k faults  one stage, or several; -k goes to pytest
    tests/run.py --long                 what takes hours (make test-long): tests/README.md says how long

A stage's output is shown as it comes, and after it how long it took and its slowest tests. A stage that ends
without printing how many tests it ran, or with a status that its numbers do not explain, counts as a failure,
and so do words after -k that no test matches. The exit status is 0 only if every stage ran and nothing
failed; 130 after Ctrl-C, which ends what runs and prints the numbers so far. With CI=true in the environment,
warnings of the compilers are errors.
"""

from __future__ import annotations

import argparse
import codecs
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent
PYTHON = "/usr/bin/python3"
#: How long each of pytest's tests took, in JUnit's form.
TIMES = ROOT / "build" / "test-times"
CPUS = len(os.sched_getaffinity(0))
#: Each test waits for processes of its own: a third of the time, or in whole systems a tenth.
WORKERS = max(2, min(CPUS, 8)) + 1

#: A line of numbers: pytest's last one, `N passed, M failed` of a fuzzer's run, `NAME: N passed, M failed` of
#: a host test.
COUNTS = re.compile(r"^(?:[=. ]*|\w[\w ./-]*: )(?=\d+ (?:passed|failed|skipped|error))(.*)$")
COUNT = re.compile(r"(\d+) (passed|failed|skipped|errors?)\b")
#: A line of pytest's --durations, and of tests/host/run.py.
DURATION = re.compile(r"^\s*(\d+\.\d+)s (?:call|setup|teardown)\s+(\S.*)$")
SLOWEST_SHOWN = 3
#: pytest's statuses.
WRONG_WORDS, NO_TESTS_COLLECTED = 4, 5
#: `make test` is to take less on two idle CPUs.
WHOLE_MAX_S = 20 * 60
#: A stage that is interrupted may take so long to print its numbers.
LAST_WORDS_S = 10.0
INTERRUPTED = 130


@dataclass(frozen=True)
class Stage:
    """One command; `counts` says that it has tests whose numbers it prints. `seconds` are the last resort, on
    a busy machine, too: each test has a limit of its own."""

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


@dataclass(frozen=True)
class Long:
    """How long the parts of `--long` take."""

    fuzz_minutes: float = 10
    call_minutes: float = 60
    silent_hours: float = 1


def make(*targets: str) -> list[str]:
    return ["make", "--no-print-directory", f"-j{CPUS}", *targets]


def pytest_stage(name: str, title: str, seconds: float, *words: str) -> Stage:
    side_by_side = ["-n", str(WORKERS), "--dist", "loadgroup"] if has_xdist() else []
    command = [PYTHON, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", "--durations=10"]
    times = f"--junitxml={TIMES / name}.xml"
    return Stage(name, title, [*command, times, *side_by_side, *words], seconds, pytest=True)


def build_stage(*further: str) -> Stage:
    return Stage("build", "What the tests need", make("test-build", *further), 3600, counts=False)


def stages(filter_words: list[str]) -> list[Stage]:
    """All of them, in order."""
    return [
        build_stage(),
        Stage("host", "Pure logic on this machine, with sanitizers", make("host-test"), 3600),
        Stage("fuzz", "Parsers of outside bytes", make("fuzz", "FUZZ_SECONDS=5"), 3600),
        pytest_stage(
            "tools",
            "Tools and lab, the tree's plan, models",
            3600,
            *filter_words,
            "tests/host",
            "tests/mpi",
            "tests/structure",
            "tests/model",
        ),
        pytest_stage(
            "qemu",
            "Whole systems, and what the documents say of them",
            7200,
            *filter_words,
            "tests/qemu",
            "tests/documents",
        ),
    ]


def long_stages(filter_words: list[str], how: Long) -> list[Stage]:
    """What takes too long for everybody's every change."""
    fuzz_s, call_s = how.fuzz_minutes * 60, how.call_minutes * 60
    silence = ["tools/lab", "silence", "--hours", f"{how.silent_hours:g}", "--shift", "4"]
    return [
        build_stage("test-long-build"),
        Stage(
            "fuzz",
            f"Parsers of outside bytes, {how.fuzz_minutes:g} minutes each",
            make("fuzz", f"FUZZ_SECONDS={fuzz_s:.0f}"),
            20 * fuzz_s + 3600,
        ),
        Stage(
            "calls",
            f"System calls at random, {how.call_minutes:g} minutes",
            make("fuzz-calls", f"MINUTES={how.call_minutes:g}"),
            2 * call_s + 3600,
        ),
        Stage("silence", f"{how.silent_hours:g} silent hours", silence, 4 * 3600, counts=False),
        pytest_stage("tests", "Tests that are marked long", 8 * 3600, "-m", "long", *filter_words, "tests"),
    ]


def has_xdist() -> bool:
    return subprocess.run([PYTHON, "-c", "import xdist"], capture_output=True, check=False).returncode == 0


class Interrupted(Exception):
    """Ctrl-C; what the stage has printed, to its last words."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self.lines = lines


class Running:
    """A command that runs in a process group of its own; what it prints is kept, and shown as it comes."""

    def __init__(self, command: list[str]) -> None:
        # A make around this one must not pass its job server on: this file says how many jobs there are.
        environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
        environment["PYTHONUNBUFFERED"] = "1"
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        assert self.process.stdout
        self.stream = self.process.stdout.fileno()
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.text: list[str] = []

    def lines(self) -> list[str]:
        return "".join(self.text).splitlines()

    def ends_within(self, seconds: float, shown: bool = True) -> bool:
        """Read until the command has ended; False when the time is over before."""
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self.stream, selectors.EVENT_READ)
            while selector.select(max(0.0, deadline - time.monotonic())):
                taken = os.read(self.stream, 1 << 16)
                chunk = self.decoder.decode(taken)
                self.text.append(chunk)
                if shown:
                    print(chunk, end="", flush=True)
                if not taken:
                    # The end of the stream comes before the end of the process.
                    try:
                        self.process.wait(max(0.1, deadline - time.monotonic()))
                        return True
                    except subprocess.TimeoutExpired:
                        return False
        return False

    def end(self, number: int) -> None:
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass  # it has ended


def run_shown(command: list[str], seconds: float) -> tuple[int | None, list[str]]:
    """Run a command, show its output as it comes; its status (None: the time was over) and its lines.
    Interrupted where a person has ended it."""
    running = Running(command)
    try:
        if running.ends_within(seconds):
            return running.process.returncode, running.lines()
        return None, running.lines()
    except KeyboardInterrupt:
        # pytest prints its numbers.
        running.end(signal.SIGINT)
        try:
            running.ends_within(LAST_WORDS_S, shown=False)
        except KeyboardInterrupt:
            pass  # in a hurry
        raise Interrupted(running.lines()) from None
    finally:
        running.end(signal.SIGKILL)
        running.process.wait()


def slowest(lines: list[str]) -> str:
    """The slowest tests of a stage, as an end of its line."""
    found = [(float(m[1]), m[2].rsplit("/", 1)[-1].strip()) for m in map(DURATION.match, lines) if m]
    shown = sorted(found, reverse=True)[:SLOWEST_SHOWN]
    return "".join(
        f"{', ' if i else '; slowest: '}{name} {seconds:.0f} s" for i, (seconds, name) in enumerate(shown)
    )


def run_stage(stage: Stage, total: Total, filtered: bool) -> str:
    """Run it and add its numbers to the total; a remark, or "" if all was well."""
    begun = time.monotonic()
    try:
        status, lines = run_shown(stage.command, stage.seconds)
    except Interrupted as interrupted:
        for line in interrupted.lines:
            total.add(line)
        raise
    own = Total()
    counted = [own.add(line) for line in lines]
    took = f"{time.monotonic() - begun:.0f} s{slowest(lines)}"
    total.passed, total.failed, total.skipped = (
        total.passed + own.passed,
        total.failed + own.failed,
        total.skipped + own.skipped,
    )
    print(f"--- {stage.name}: {own if stage.counts else f'status {status}'}, {took}", flush=True)
    if stage.pytest and filtered and status == NO_TESTS_COLLECTED:
        return ""
    if own.failed:
        return f"{stage.name}: {own.failed} failed"
    if status is None:
        wrong = f"no end within {stage.seconds:g} s"
    elif stage.pytest and status == WRONG_WORDS and not any(counted):
        wrong = "pytest refuses its arguments: see above"
    elif stage.counts and not any(counted):
        wrong = f"ended with status {status} and printed no numbers"
    elif status != 0:
        wrong = f"ended with status {status}"
    else:
        return ""
    total.failed += 1
    return f"{stage.name}: {wrong}"


def refuse(why: str) -> NoReturn:
    """End, because the arguments are wrong."""
    print(f"tests/run.py: {why}", file=sys.stderr)
    sys.exit(2)


def words_check(filter_words: list[str]) -> None:
    """End if pytest cannot read the words; several pytests side by side would say so in a hundred lines."""
    command = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--collect-only", *filter_words]
    done = subprocess.run(
        [*command, "tests/host/test_run.py"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode == WRONG_WORDS:
        said = (done.stderr + done.stdout).strip().splitlines()
        refuse(said[0].removeprefix("ERROR: ") if said else f"pytest refuses {filter_words}")


def arguments_of(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests/run.py", description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", metavar="STAGE", help="this stage; may be repeated")
    parser.add_argument("-k", metavar="EXPRESSION", help="only tests that match, as pytest takes it")
    parser.add_argument("--long", action="store_true", help="the stages of make test-long instead")
    for name, default in vars(Long()).items():
        what = f"with --long: {name.replace('_', ' ')} (default {default:g})"
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, default=default, help=what)
    arguments = parser.parse_args(words)
    how = Long(arguments.fuzz_minutes, arguments.call_minutes, arguments.silent_hours)
    if min(vars(how).values()) <= 0:
        refuse("minutes and hours are numbers above 0")
    filter_words = ["-k", arguments.k] if arguments.k is not None else []
    known = long_stages(filter_words, how) if arguments.long else stages(filter_words)
    names = [stage.name for stage in known]
    if wrong := [name for name in arguments.only or [] if name not in names]:
        refuse(f"no such stage: {wrong[0]}; the stages are {', '.join(names)}")
    # Only pytest selects by words: without --only nothing else runs than these and what they need.
    chosen = [
        s for s in known if (s.name in arguments.only if arguments.only else not filter_words or s.pytest)
    ]
    if filter_words and not any(stage.pytest for stage in chosen):
        able = ", ".join(stage.name for stage in known if stage.pytest)
        refuse(f"-k selects tests of pytest; the stages that have some are {able}")
    if filter_words:
        words_check(filter_words)
    arguments.stages = [known[0], *chosen] if filter_words and not arguments.only else chosen
    return arguments


def run_stages(chosen: list[Stage], filtered: bool, total: Total) -> list[str]:
    """Run them in order; a remark on each that was not well. Interrupted as soon as one is."""
    remarks: list[str] = []
    for number, stage in enumerate(chosen, 1):
        print(f"\n=== {number}/{len(chosen)}: {stage.title} ({stage.name})", flush=True)
        if remark := run_stage(stage, total, filtered):
            remarks.append(remark)
            print(f"--- {remark}", flush=True)
        if stage.name == "build" and remarks:
            return remarks + [f"{s.name}: not run: the build failed" for s in chosen[number:]]
        if stage.name == "build":
            os.environ["TACET_BUILT"] = "1"  # for tests/making.py
    if filtered and total.passed + total.failed + total.skipped == 0:
        total.failed += 1
        remarks.append("no test matches the words after -k")
    return remarks


def main(words: list[str] | None = None) -> int:
    arguments = arguments_of(words)
    begun, total = time.monotonic(), Total()
    # A shell's background job ignores it, and so would all programs that tests interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        remarks = run_stages(arguments.stages, arguments.k is not None, total)
    except (Interrupted, KeyboardInterrupt):
        print(f"\ninterrupted: {total} so far", flush=True)
        return INTERRUPTED
    seconds = time.monotonic() - begun
    print()
    if seconds > WHOLE_MAX_S and not arguments.long:
        print(
            f"warning: {seconds / 60:.0f} minutes: make test is to take less than {WHOLE_MAX_S // 60} on two "
            "idle CPUs; what takes long is marked so (tests/README.md)"
        )
    for remark in remarks:
        print(f"!!! {remark}")
    print(total, flush=True)
    return 1 if remarks or total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
