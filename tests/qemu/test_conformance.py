# SPDX-License-Identifier: BSD-2-Clause
"""Each system call answers as Linux's does on the same architecture, in what it does and in every errno.

One program, tests/conformance/*.c, runs on Debian's kernel and on Tacet, both in QEMU; each line that it
prints must be the same. Where Tacet differs by choice, tests/conformance/differences and ARCH/differences
say so; what it does not do yet stands in tests/conformance/pending. By hand: tests/conformance/compare.py.
All tests of a C library run in two machines of an architecture, one of each system.
"""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass

import pending
import pytest
from conftest import ROOT

from tests.making import made

sys.path.insert(0, str(ROOT / "tests" / "conformance"))

import compare

from qemu import architectures

pytestmark = pytest.mark.xdist_group("conformance")

NAMES = sorted({name for arch in architectures.ALL for name in compare.names(arch)})


@dataclass
class Both:
    """What both systems say."""

    linux: compare.Said
    tacet: compare.Said


@functools.cache
def both(kind: str, arch: str) -> Both:
    """All tests on both systems; on Tacet those that are pending run apart, one by one, because they may end
    or block the run."""
    made("linux", f"build/{arch}/tests/conform.{kind}", f"ARCH={arch}")
    linux = compare.run_linux(kind, arch=arch)
    assert linux.whole, f"the reference is not whole: {linux.runs[-1].explain()}"
    missing, known = pending.reasons_of("conformance"), compare.names(arch)
    tacet = compare.run_tacet(kind, [name for name in known if name not in missing], arch=arch)
    for name in missing.keys() & set(known):
        tacet.lines |= compare.run_tacet(kind, [name], arch=arch, time_limit=10).lines
    return Both(linux, tacet)


@pytest.fixture(params=compare.KINDS)
def said(request: pytest.FixtureRequest, arch: str) -> Both:
    return both(request.param, arch)


@pytest.mark.parametrize("name", pending.params("conformance", NAMES))
def test_a_system_call_answers_as_on_linux(name: str, said: Both, arch: str) -> None:
    silent = compare.silence(name, said.linux, said.tacet)
    assert not silent, f"{silent}\n{said.tacet.runs[-1].explain()}"
    listed = compare.differences_of(arch)
    wrong = compare.compare(said.linux.lines[name], said.tacet.lines[name], listed)
    assert not wrong, f"- is Linux, + is Tacet\n{wrong}\n"


def test_all_that_can_run_runs_in_one_go(said: Both) -> None:
    assert len(said.tacet.runs) == 1 and said.tacet.whole, said.tacet.runs[0].explain()


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
