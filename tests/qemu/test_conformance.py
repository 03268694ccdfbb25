# SPDX-License-Identifier: BSD-2-Clause
"""Each system call answers as Linux's does on the same architecture, in what it does and in every errno.

One program, tests/conformance/*.c, runs on Tacet in QEMU; each line that it prints must be the one that
Debian's kernel prints, as tests/conformance/answers.txt records it. Where Tacet differs by choice,
tests/conformance/differences and ARCH/differences say so; what it does not do yet stands in
tests/conformance/pending. By hand, both systems side by side: tests/conformance/compare.py.

All tests of a C library run in one machine of an architecture. `make test` runs one library on each: musl,
which Tacet's own programs have, on x86_64, and glibc, which programs of Debian's compilers have, on ppc64, so
that each library and each architecture is tried. `make test-long` runs all four, and asks Linux itself.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import pending
import pytest
from conftest import ROOT

from tests.making import made

sys.path.insert(0, str(ROOT / "tests" / "conformance"))

import compare
from linux_answers import ANSWERS

from qemu import architectures

#: The C library whose program `make test` runs on an architecture.
SHORT = {"x86_64": "musl", "ppc64": "glibc"}
NAMES = sorted({name for arch in architectures.ALL for name in compare.names(arch)})


def marks_of(arch: str, kind: str) -> list[Any]:
    """Tests of one machine stay on one worker."""
    long = [] if SHORT[arch] == kind else [pytest.mark.long]
    return [pytest.mark.xdist_group(f"conformance-{arch}-{kind}"), *long]


MACHINES = [
    pytest.param((arch, kind), id=f"{arch}-{kind}", marks=marks_of(arch, kind))
    for arch in architectures.ALL
    for kind in compare.KINDS
]
#: Each test on each machine that has it.
ROWS = [
    pytest.param(
        machine.values[0], *row.values, id=f"{machine.id}-{row.id}", marks=[*machine.marks, *row.marks]
    )
    for machine in MACHINES
    for row in pending.params("conformance", NAMES)
    if row.id in compare.names(machine.values[0][0])
]


@functools.cache
def said_on_tacet(arch: str, kind: str) -> compare.Said:
    """All tests on Tacet; those that are pending run apart, one by one, because they may end or block the
    run."""
    made(f"build/{arch}/tests/conform.{kind}", f"ARCH={arch}")
    missing, known = pending.reasons_of("conformance"), compare.names(arch)
    said = compare.run_tacet(kind, [name for name in known if name not in missing], arch=arch)
    for name in missing.keys() & set(known):
        said.lines |= compare.run_tacet(kind, [name], arch=arch, time_limit=10).lines
    return said


@pytest.fixture(scope="module")
def tacet_said(request: pytest.FixtureRequest) -> compare.Said:
    """One run for all tests of a machine; a fixture, so that it is measured apart from the first of them."""
    return said_on_tacet(*request.param)


@pytest.mark.parametrize(("tacet_said", "name"), ROWS, indirect=["tacet_said"])
def test_a_system_call_answers_as_on_linux(
    name: str, tacet_said: compare.Said, request: pytest.FixtureRequest
) -> None:
    arch, kind = request.node.callspec.params["tacet_said"]
    linux = ANSWERS.lines(f"{arch}-{kind}", name)
    said = tacet_said.lines.get(name)
    assert said, f"Tacet printed nothing for {name}\n{tacet_said.runs[-1].explain()}"
    wrong = compare.compare(linux, said, compare.differences_of(arch))
    assert not wrong, f"- is Linux, + is Tacet\n{wrong}\n"


@pytest.mark.parametrize("tacet_said", MACHINES, indirect=True)
def test_all_that_can_run_runs_in_one_go(tacet_said: compare.Said) -> None:
    assert len(tacet_said.runs) == 1 and tacet_said.whole, tacet_said.runs[0].explain()


@pytest.mark.long
@pytest.mark.parametrize("reference", ANSWERS.references)
def test_linux_still_says_what_is_recorded(reference: str) -> None:
    differs = ANSWERS.differences(reference)
    assert not differs, f"{differs}\n{ANSWERS.command} renews the record"


@pytest.mark.long
@pytest.mark.parametrize("cpu", ["qemu64", "Nehalem", "Haswell", "EPYC"])
@pytest.mark.parametrize("kind", compare.KINDS)
def test_every_call_answers_as_on_linux_on_every_cpu(kind: str, cpu: str) -> None:
    made("build/linux/version", f"build/x86_64/tests/conform.{kind}")
    linux = compare.run_linux(kind, cpu=cpu)
    tacet = compare.run_tacet(kind, compare.names(), cpu=cpu)
    assert linux.whole and tacet.whole, linux.runs[-1].explain() + tacet.runs[-1].explain()
    listed = compare.differences_of()
    wrong = [
        compare.silence(name, linux, tacet) or compare.compare(linux.lines[name], tacet.lines[name], listed)
        for name in compare.names()
        if name not in pending.reasons_of("conformance")
    ]
    assert not any(wrong), f"- is Linux, + is Tacet\n{chr(10).join(filter(None, wrong))}"


@pytest.mark.parametrize("machine", architectures.ALL)
def test_each_listed_difference_belongs_to_a_test_and_has_both_sides(machine: str) -> None:
    for difference in compare.differences_of(machine):
        assert {line.split(":", 1)[0] for line in (*difference.linux, *difference.tacet)} <= set(
            compare.names(machine)
        ), difference
        assert difference.linux and difference.tacet, difference


@pytest.mark.parametrize(
    ("linux", "tacet", "expected"),
    [
        (["a: x: 0"], ["a: x: 0"], ""),
        (["a: x: 0"], ["a: x: 1"], "- a: x: 0\n+ a: x: 1"),
        (["a: x: 0"], [], "- a: x: 0"),
        (["a: x: 0", "a: y: 0"], ["a: y: 0", "a: x: 0"], "(the same lines in another order)"),
        (["a: z: 0"], ["a: z: EROFS"], ""),
        (
            ["a: z: 0", "a: x: 0"],
            ["a: z: 0", "a: x: 0"],
            "(listed, but not so)  - a: z: 0\n(listed, but not so)  + a: z: EROFS",
        ),
        (
            ["a: x: 0", "a: x: 1"],
            ["a: x: 0", "a: x: 1"],
            "(printed twice)  a: x: 0\n(printed twice)  a: x: 1",
        ),
    ],
)
def test_a_difference_that_is_not_listed_is_seen_and_one_that_is_not_there_too(
    linux: list[str], tacet: list[str], expected: str
) -> None:
    listed = (
        compare.read_differences("# why\n- a: z: 0\n+ a: z: EROFS\n")
        if any("z:" in line for line in linux)
        else []
    )
    assert compare.compare(linux, tacet, listed) == expected


def test_a_difference_needs_a_reason() -> None:
    with pytest.raises(ValueError, match="needs a reason"):
        compare.read_differences("- a: z: 0\n+ a: z: EROFS\n")
    with pytest.raises(ValueError, match="needs a reason"):
        compare.read_differences("# why\n- a: z: 0\nsomething else\n")


def test_what_is_pending_needs_a_reason_and_is_reported_once() -> None:
    assert pending.read("# a remark\n\nconformance/a: why\n") == {"conformance/a": "why"}
    for wrong in ["conformance/a", "conformance/a:", "a: why", "x/a: why\nx/a: why"]:
        with pytest.raises(ValueError):
            pending.read(wrong)
