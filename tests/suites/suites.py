#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Whole test suites of other projects, on a Tacet node and on this machine's Linux, test by test.

    tests/suites/suites.py [SUITE[/TEST]…]    of lmdb, libuv, hwloc, go, or of all: what passes on Linux and
                                               not on the node, and is not listed in `differences`
    tests/suites/suites.py --said SUITE/TEST  what both systems print

Each test is a job of its own: LMDB's and hwloc's a program, libuv's the program of all with the test's name;
Go's all tests of a package at once, and again from the next one on where one ends the program. The same
static ELF files run on both systems, as an ordinary user; on Linux in a network of their own. They start in
an empty folder of memory. A test that fails is run once more: some of these suites wait for times.

`differences` has a line `SUITE/TEST: reason` for each test that passes on Linux and may fail on the node. A
difference that is not listed is an error, and so is a listed one that is none, and less than PASSED_MIN of
those tests of a suite that pass on Linux, without those of which `differences` says that they need `fork`.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parents[1] / "tools"), str(HERE.parent / "qemu")]

import cpio
import qemu
from tests.making import ROOT, made
from tests.speed import slowness

SUITES = ("lmdb", "libuv", "hwloc", "go")
FOLDER = ROOT / "build" / "x86_64" / "suites"
#: Where a node has that folder.
MOUNT = "/mnt"
#: The part of a suite's tests that pass on Linux which must pass on the node.
PASSED_MIN = 0.95
#: What begins the reason of a test that starts processes.
FORK = "fork: "
#: How long one job may take, seconds.
TEST_S, PACKAGE_S = 60, 900
GO_PACKAGES = ("net", "os", "os/signal", "os/user", "runtime/pprof", "syscall", "time")
#: Exit statuses of a test that finds nothing to test: libuv's and automake's.
SKIPPED = {"libuv": 7, "hwloc": 77}
ENVIRONMENT = {"HOME": "/tmp", "PATH": "/bin"}
#: Both systems' user.
USER = ("unshare", "--map-user=1000", "--map-group=1000")
#: Folders that tests look for on each Linux, and names in them.
TREE = {"usr/bin": ("one", "other", "third"), "bin": ("sh",)}


@dataclass(frozen=True)
class Job:
    """A program of a suite, relative to FOLDER, its words, and the folder below FOLDER where it starts; None
    is an empty one."""

    program: str
    words: tuple[str, ...] = ()
    cwd: str | None = None
    seconds: int = TEST_S


@dataclass(frozen=True)
class Ended:
    """How a job has ended, and what it has printed on both streams."""

    status: int
    said: str


class Linux:
    """Runs jobs on this machine."""

    def run(self, job: Job) -> Ended:
        with tempfile.TemporaryDirectory() as empty:
            inside = f'ip link set lo up && cd "$0" && exec {" ".join(USER)} "$@"'
            folder = FOLDER / job.cwd if job.cwd else empty
            words = ["unshare", "-rn", "sh", "-c", inside, str(folder), str(FOLDER / job.program), *job.words]
            return ended(
                ["timeout", "-k", "5", str(job.seconds * slowness()), *words],
                {**ENVIRONMENT, "PATH": os.environ["PATH"], "GOROOT": str(FOLDER / "go")},
                job.seconds,
            )


class Node:
    """Runs jobs on a Tacet node that waits for them."""

    def __init__(self, port: int) -> None:
        self.port = port

    def run(self, job: Job) -> Ended:
        limit = str(int(job.seconds * slowness()))
        words = [str(qemu.BUILD / "service" / "tacetrun"), "-i", "none", "-w", f"127.0.0.1:{self.port}"]
        words += ["-D", f"{MOUNT}/{job.cwd}" if job.cwd else "/tmp", "--within", "60", "--time", limit]
        for name, value in {**ENVIRONMENT, "GOROOT": f"{MOUNT}/go"}.items():
            words += ["--env", f"{name}={value}"]
        return ended([*USER, *words, f"{MOUNT}/{job.program}", *job.words], dict(os.environ), job.seconds)


def ended(words: Sequence[str], environment: dict[str, str], seconds: int) -> Ended:
    done = subprocess.run(
        words,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=2 * seconds * slowness() + 120,
        errors="replace",
        text=True,
    )
    return Ended(done.returncode, done.stdout)


@contextmanager
def node() -> Iterator[Node]:
    """A node with four CPUs whose mount has the suites."""
    from test_jobs import node_that_mounts

    made("kernel", "service")
    with tempfile.TemporaryDirectory() as folder, qemu.FileServer([FOLDER]) as server:
        archive = Path(folder) / "archive"
        archive.write_bytes(
            cpio.pack([cpio.Entry.file(f"{where}/{name}", b"") for where in TREE for name in TREE[where]])
        )
        mount = server.option(FOLDER, MOUNT)
        with node_that_mounts(Path(folder), mount, archive, cpus=4, memory="2G") as (_, port):
            yield Node(port)


def tests_of(suite: str) -> list[str]:
    """The tests of a suite, each `SUITE/TEST`; of Go, the packages."""
    made(f"suite-{suite}")
    folder = FOLDER / suite
    if suite == "go":
        return [f"go/{package}" for package in GO_PACKAGES]
    if suite == "libuv":
        listed = Linux().run(Job("libuv/uv_run_tests", ("--list",))).said
        return [f"libuv/{name}" for name in listed.split("\n") if re.fullmatch(r"\w+", name)]
    return sorted(f"{suite}/{path.name}" for path in folder.iterdir() if path.name != "stamp")


def results(system: Linux | Node, test: str) -> dict[str, str]:
    """What has become of a test, or of each test of a package of Go: passed, failed or skipped."""
    suite, name = test.split("/", 1)
    if suite == "go":
        return results_of_package(system, name)
    job = job_of(suite, name)
    for _ in range(2):
        status = system.run(job).status
        if status in (0, SKIPPED.get(suite)):
            return {test: "skipped" if status else "passed"}
    return {test: "failed"}


def go_job(package: str, tests: str, seconds: int) -> Job:
    """Those tests of a package whose names match."""
    words = ("-test.v", f"-test.timeout={seconds}s", "-test.run", tests)
    return Job(f"go/{package.replace('/', '.')}.test", words, f"go/src/{package}", seconds)


def job_of(suite: str, name: str) -> Job:
    if suite == "libuv":
        return Job("libuv/uv_run_tests", (name, name))
    if suite == "go":
        package, test = name.rsplit("/", 1)
        return go_job(package, f"^{test}$", TEST_S)
    return Job(f"{suite}/{name}")


def results_of_package(system: Linux | Node, package: str) -> dict[str, str]:
    """All tests of a package; those that fail once more, each alone."""
    every = go_job(package, "", TEST_S)
    listed = system.run(Job(every.program, ("-test.list", "^Test"), every.cwd)).said
    left = re.findall(r"^Test\w*$", listed, re.MULTILINE)
    found: dict[str, str] = {}

    def ran(names: Sequence[str], seconds: int) -> None:
        said = system.run(go_job(package, f"^({'|'.join(names)})$", seconds)).said
        for how, name in re.findall(r"^--- (PASS|FAIL|SKIP): (\w+) ", said, re.MULTILINE):
            found[name] = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}[how]
        # The one that has ended the program.
        begun = [name for name in re.findall(r"^=== RUN   (\w+)$", said, re.MULTILINE) if name not in found]
        for name in begun[-1:] or names[:1]:
            found.setdefault(name, "failed")

    while left:
        ran(left, PACKAGE_S)
        left = [name for name in left if name not in found]
    for name in [name for name, how in found.items() if how == "failed"]:
        ran([name], TEST_S)
    return {f"go/{package}/{name}": how for name, how in found.items()}


def listed_differences() -> dict[str, str]:
    """The reasons, by test. ValueError where the list is not as it must be."""
    reasons: dict[str, str] = {}
    for number, line in enumerate((HERE / "differences").read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        entry = re.fullmatch(r"([\w./-]+): (\S.*)", line)
        if entry is None or entry[1] in reasons:
            raise ValueError(f"differences:{number}: expected `SUITE/TEST: reason`, once for a test: {line}")
        reasons[entry[1]] = entry[2]
    return reasons


def errors(linux: dict[str, str], tacet: dict[str, str], reasons: dict[str, str]) -> list[str]:
    """What is wrong with the results of one suite."""
    passed = [test for test, how in linux.items() if how == "passed"]
    different = [test for test in passed if tacet.get(test) != "passed"]
    found = [
        f"{test}: passes on Linux, {tacet.get(test, 'does not run')} on the node"
        for test in different
        if test not in reasons
    ]
    found += [
        f"{test}: is listed in `differences`, and passes"
        for test in passed
        if test in reasons and test not in different
    ]
    counted = [test for test in passed if not reasons.get(test, "").startswith(FORK)]
    well = sum(tacet.get(test) == "passed" for test in counted)
    if well < PASSED_MIN * len(counted):
        found.append(f"{well} of {len(counted)} tests that pass on Linux and need no fork pass on the node")
    return found


def compared(names: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """The results of suites or tests on both systems: Linux's, and the node's."""
    tests = [test for name in names for test in (tests_of(name) if name in SUITES else [name])]
    linux: dict[str, str] = {}
    tacet: dict[str, str] = {}
    here = Linux()
    with node() as there:
        for test in tests:
            linux |= results(here, test)
            tacet |= results(there, test)
    return linux, tacet


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tests/suites/suites.py", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="SUITE[/TEST]")
    parser.add_argument("--said", action="store_true", help="print what each system says of each test")
    arguments = parser.parse_args(words)
    names = arguments.names or list(SUITES)
    for suite in {name.split("/")[0] for name in names}:
        if suite not in SUITES:
            parser.error(f"there is no suite {suite}; there are {', '.join(SUITES)}")
        made(f"suite-{suite}")
    if arguments.said:
        with node() as there:
            for system in (Linux(), there):
                for name in names:
                    job = job_of(*name.split("/", 1))
                    end = system.run(job)
                    print(f"{type(system).__name__}: {name}: status {end.status}\n{end.said}")
        return 0
    reasons = listed_differences()
    status = 0
    for name in names:
        linux, tacet = compared([name])
        wrong = errors(linux, tacet, reasons)
        passed = sum(how == "passed" for how in linux.values())
        both = sum(how == "passed" == tacet.get(test) for test, how in linux.items())
        print(f"{name}: {len(linux)} tests, {passed} pass on Linux, {both} of them on the node", flush=True)
        for line in wrong:
            print(f"    {line}", flush=True)
        status |= bool(wrong)
    return status


if __name__ == "__main__":
    sys.exit(main())
