#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""All tests, in order; what `make test` calls. Ends with one line, `N passed, M failed`, and `, K skipped` if
any were.

    tests/run.py                        everything
    tests/run.py --only qemu -k faults  one stage, or several; -k goes to pytest
    tests/run.py --long                 what takes hours (make test-long): tests/README.md says how long
    tests/run.py --only slice --slice 7 one slice of the long tests, whichever commit this is
    tests/run.py --measure              everything, and writes tests/costs.txt
    tests/run.py --repeat 10 TEST…      tests, by node ID, ten times; --help: while busy loops run

A stage's output is shown as it comes, and after it how long it took and its slowest tests. A stage that ends
without printing how many tests it ran, or with a status that its numbers do not explain, counts as a failure,
and so do words after -k that no test matches. The exit status is 0 only if every stage ran and nothing
failed; 130 after Ctrl-C, which ends what runs and prints the numbers so far. With CI=true in the environment,
warnings of the compilers are errors.

A test that fails by lost time alone (tests/waiting.py) is run once more, alone, when its stage is over. If it
then passes, it is named as unsteady, and the run passes with at most UNSTEADY_MAX of them.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests import budget, records, slices
from tests.running import ROOT, Interrupted, run_shown
from tests.speed import slowness
from tests.stages import CPUS, PYTHON, RECORDS, Long, Stage, long_stages, pytest_words, slice_stage, stages
from tests.totals import Total, downloads, slowest

#: pytest's statuses.
WRONG_WORDS, NO_TESTS_COLLECTED = 4, 5
#: `make test` is to take less on two idle CPUs.
WHOLE_MAX_S = 15 * 60
INTERRUPTED = 130
#: How many tests may pass at the second try only.
UNSTEADY_MAX = 3
#: A load above which costs that are measured are not believed.
LOAD_MAX = 0.5
#: Why tests may be skipped.
SKIPS = ROOT / "tests" / "skips.txt"


@dataclass
class Run:
    """What has happened so far in all stages."""

    total: Total = field(default_factory=Total)
    #: For the end of the output; unlike the remarks of stages, they are no failures.
    notes: list[str] = field(default_factory=list)
    records: records.Records = field(default_factory=records.Records)
    unsteady: int = 0
    #: The stage `build` has made all that short tests need; without it, tests make what they need.
    built: bool = False

    def environment(self) -> dict[str, str]:
        """What pytest is to know."""
        return {"TACET_BUILT": "1"} if self.built else {}


def cpu_seconds() -> float:
    """CPU time of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def load() -> float:
    return os.getloadavg()[0]


def try_again(stage: Stage, seen: records.Records, own: Total, run: Run) -> None:
    """Runs the tests that failed by lost time alone once more, each alone. Those that pass are counted as
    passed, and named."""
    lost = seen.lost()
    if not lost or run.unsteady + len(lost) > UNSTEADY_MAX:
        return
    for test in lost:
        at = f"load {load():.1f}"
        print(f"\n--- {stage.name}: {test.name} failed by lost time ({at}): once more, alone", flush=True)
        status, lines = run_shown(pytest_words(test.name), stage.seconds, run.environment())
        if status == 0:
            run.unsteady += 1
            own.failed, own.passed = own.failed - 1, own.passed + 1
            print(f"unsteady: {test.name}; first, at {at}:\n{test.said}\nthen, alone:", *lines, sep="\n")
            run.notes.append(f"unsteady: {test.name} ({at}; passed alone, at load {load():.1f})")


def look_at(stage: Stage, own: Total, run: Run) -> None:
    """Takes what recorder.py wrote of a stage's tests."""
    seen = records.read(stage.records)
    run.records += seen
    try_again(stage, seen, own, run)


def run_stage(stage: Stage, run: Run, filtered: bool) -> str:
    """Runs it and adds its numbers to the total; returns a remark, or "" if all was well."""
    begun, cpu_begun = time.monotonic(), cpu_seconds()
    if stage.pytest:
        shutil.rmtree(stage.records, ignore_errors=True)
        stage.records.mkdir(parents=True)
    try:
        environment = {**run.environment(), "TACET_RECORDS": str(stage.records)} if stage.pytest else {}
        status, lines = run_shown(stage.command, stage.seconds, environment)
    except Interrupted as interrupted:
        for line in interrupted.lines:
            run.total.add(line)
        raise
    own = Total()
    counted = [own.add(line) for line in lines]
    failed_first = own.failed
    if stage.pytest:
        look_at(stage, own, run)
    took = f"{time.monotonic() - begun:.0f} s, {cpu_seconds() - cpu_begun:.0f} CPU s"
    took += downloads(lines) + slowest(lines)
    run.total += own
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
    elif status != 0 and not failed_first:
        wrong = f"ended with status {status}"
    else:
        return ""
    run.total.failed += 1
    return f"{stage.name}: {wrong}"


def refuse(why: str) -> NoReturn:
    """Ends, because the arguments are wrong."""
    print(f"tests/run.py: {why}", file=sys.stderr)
    sys.exit(2)


def words_check(filter_words: list[str]) -> None:
    """Ends if pytest cannot read the words; several pytests side by side would say so in a hundred lines."""
    command = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--collect-only", *filter_words]
    done = subprocess.run(
        [*command, "tests/host/test_run.py"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode == WRONG_WORDS:
        said = (done.stderr + done.stdout).strip().splitlines()
        refuse(said[0].removeprefix("ERROR: ") if said else f"pytest refuses {filter_words}")


def slice_of(arguments: argparse.Namespace) -> list[Stage]:
    """The stage of this tree's slice of the long tests; none if no test is long."""
    costs = budget.of_all()
    long = {n: slices.price(n, cost) for n, cost in costs.tests.items() if costs.is_long(n)}
    try:
        choice = slices.of_this_tree(long, budget.SLICE_S, arguments.slice, arguments.base)
    except ValueError as error:
        refuse(str(error))
    if not choice.tests:
        return []
    RECORDS.mkdir(parents=True, exist_ok=True)
    ids = RECORDS / "slice.txt"
    ids.write_text("\n".join(choice.tests) + "\n", encoding="utf-8")
    again = f"tests/run.py --only slice --slice {choice.number}" + (
        f" --base {choice.base[:12]}" if choice.base else ""
    )
    title = f"{len(choice.tests)} long tests, slice {choice.number} of {choice.count}; to repeat it: {again}"
    return [slice_stage(ids, title)]


def measuring_stages(only: Sequence[str]) -> list[Stage]:
    """Every test that is not marked as long by hand, of all stages or only of some, with as many workers as
    CPUs: a test that waits for a CPU would be thought idle."""
    RECORDS.mkdir(parents=True, exist_ok=True)
    ids = RECORDS / "measured.txt"
    ids.write_text("\n".join(budget.of_all().tests) + "\n", encoding="utf-8")
    able = [s for s in stages([f"--also={ids}"], workers=CPUS) if s.pytest or s.name == "build"]
    return [s for s in able if s.name in only or not only]


def check_load(anyway: bool) -> None:
    """Ends if the machine is too busy to measure."""
    if load() > LOAD_MAX and not anyway:
        refuse(
            f"--measure: the load is {load():.1f}: costs would be wrong, so that tests/costs.txt stays as it "
            f"is; wait until it is below {LOAD_MAX:g}, or say --anyway"
        )


def write_costs(run: Run, load_before: float) -> None:
    slow = slowness()
    machine = f"on {CPUS} CPUs, {slow:.2f} times as slow as the reference, load {load_before:.1f} before"
    measured = records.costs_of(run.records, slow)
    remark = f"measured {time.strftime('%Y-%m-%d')} {machine}"
    costs = records.merged(budget.of_all(), measured, run.records.collected, remark)
    budget.COSTS.write_text(budget.written(costs), encoding="utf-8")
    print(f"tests/costs.txt: {len(measured)} tests measured {machine}; {len(costs.tests)} are listed")


def repeat(times: int, beside: int, tests: list[str]) -> int:
    """Runs tests several times while busy loops run; returns the exit status."""
    loops = [subprocess.Popen([PYTHON, "-c", "while True: pass"]) for _ in range(beside)]
    failed = 0
    try:
        for number in range(1, times + 1):
            status, lines = run_shown(pytest_words(*tests), 8 * 3600, shown=False)
            failed += status != 0
            print(f"{number} of {times}: {lines[-1] if lines else f'status {status}'}", flush=True)
            if status != 0:
                print(*lines, sep="\n", flush=True)
    except (Interrupted, KeyboardInterrupt):
        return INTERRUPTED
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    print(f"{times - failed} passed, {failed} failed")
    return 1 if failed else 0


def arguments_of(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests/run.py", description=__doc__.splitlines()[0])
    parser.add_argument("tests", nargs="*", metavar="TEST", help="with --repeat: tests, by node ID")
    parser.add_argument("--only", action="append", metavar="STAGE", help="this stage; may be repeated")
    parser.add_argument("-k", metavar="EXPRESSION", help="only tests that match, as pytest takes it")
    parser.add_argument("--long", action="store_true", help="the stages of make test-long instead")
    for name, default in vars(Long()).items():
        what = f"with --long: {name.replace('_', ' ')} (default {default:g})"
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, default=default, help=what)
    parser.add_argument("--slice", type=int, metavar="N", help="this slice of the long tests")
    parser.add_argument("--base", metavar="COMMIT", help="what the change is compared with (or BASE=)")
    parser.add_argument("--measure", action="store_true", help="measure all tests, write tests/costs.txt")
    parser.add_argument("--anyway", action="store_true", help="with --measure: on a busy machine, too")
    parser.add_argument("--repeat", type=int, metavar="N", help="run TESTs N times")
    parser.add_argument("--beside", type=int, default=0, metavar="L", help="with --repeat: busy loops")
    arguments = parser.parse_args(words)
    if bool(arguments.tests) != (arguments.repeat is not None):
        refuse("--repeat N takes tests, by node ID, and nothing else does")
    how = Long(arguments.fuzz_minutes, arguments.call_minutes, arguments.silent_hours)
    if min(vars(how).values()) <= 0:
        refuse("minutes and hours are numbers above 0")
    filter_words = ["-k", arguments.k] if arguments.k is not None else []
    known = long_stages(filter_words, how) if arguments.long else stages(filter_words)
    names = [stage.name for stage in known] + ([] if arguments.long else ["slice"])
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
    elif not arguments.long and (not arguments.only or "slice" in arguments.only):
        chosen += slice_of(arguments)
    arguments.stages = chosen
    return arguments


def run_stages(chosen: list[Stage], filtered: bool, run: Run) -> list[str]:
    """Runs them in order; returns a remark on each that was not well. Interrupted as soon as one is."""
    remarks: list[str] = []
    for number, stage in enumerate(chosen, 1):
        print(f"\n=== {number}/{len(chosen)}: {stage.title} ({stage.name})", flush=True)
        if remark := run_stage(stage, run, filtered):
            remarks.append(remark)
            print(f"--- {remark}", flush=True)
        run.built |= stage.name == "build"
        if stage.name == "build" and remarks:
            return ["the build failed: see above"] + [f"{s.name}: not run" for s in chosen[number:]]
    if filtered and run.total.passed + run.total.failed + run.total.skipped == 0:
        run.total.failed += 1
        remarks.append("no test matches the words after -k")
    return remarks


def check_skips(run: Run) -> list[str]:
    """Notes why tests were skipped; returns a remark on each reason that tests/skips.txt does not list."""
    skips = run.records.skips()
    run.notes += [f"skipped: {count} because {reason}" for reason, count in sorted(skips.items())]
    listed = budget.read_reasons(SKIPS.read_text(encoding="utf-8"), "tests/skips.txt")
    refused = records.refused_skips(skips, listed)
    run.total.failed += len(refused)
    return [f"skipped for a reason that tests/skips.txt does not list: {reason}" for reason in refused]


def check_functions(run: Run) -> list[str]:
    """Complains about test functions without a case in `make test`, if everything was collected."""
    cases = [(name, kind != "short") for name, kind in run.records.collected.items()]
    return budget.wrong_exceptions(cases, budget.long_functions())


def main(words: list[str] | None = None) -> int:
    arguments = arguments_of(words)
    begun, load_before, run = time.monotonic(), load(), Run()
    # A shell's background job ignores it, and so would all programs that tests interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if arguments.repeat:
        return repeat(arguments.repeat, arguments.beside, arguments.tests)
    if arguments.measure:
        check_load(arguments.anyway)
        arguments.stages = measuring_stages(arguments.only or ())
    try:
        remarks = run_stages(arguments.stages, arguments.k is not None, run)
    except (Interrupted, KeyboardInterrupt):
        print(f"\ninterrupted: {run.total} so far", flush=True)
        return INTERRUPTED
    remarks += check_skips(run)
    if {"tools", "qemu"} <= {stage.name for stage in arguments.stages}:
        complaints = check_functions(run)
        run.total.failed += len(complaints)
        remarks += complaints
    seconds = time.monotonic() - begun
    print()
    if seconds > WHOLE_MAX_S and not (arguments.long or arguments.measure):
        print(
            f"warning: {seconds / 60:.0f} minutes (load {load_before:.1f} before): make test is to take less "
            f"than {WHOLE_MAX_S // 60} on two idle CPUs"
        )
    for name, cost in records.unmeasured(run.records, budget.of_all(), slowness()):
        run.notes.append(f"not measured, and above its budget: {name} {cost.cpu_s:.1f} CPU s (--measure)")
    made = [(name, cpu_s) for name, cpu_s in run.records.made.items() if cpu_s >= budget.LISTED_S]
    run.notes += [f"made in a test: {name} ({cpu_s:.0f} CPU s)" for name, cpu_s in made]
    if arguments.measure:
        write_costs(run, load_before)
    for note in run.notes:
        print(note)
    for remark in remarks:
        print(f"!!! {remark}")
    print(run.total, flush=True)
    return 1 if remarks or run.total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
