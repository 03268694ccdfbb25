# SPDX-License-Identifier: BSD-2-Clause
"""Which tests `make test` runs: those that cost no more than their budget, of a function as many cases as the
function's budget has room for. The others belong to `make test-long`, and a slice of them to each `make test`
(slices.py).

A test's cost is what `tests/run.py --measure` saw: CPU seconds of its process and all descendants, and the
seconds in which none of them computed, both divided by how much slower than the reference the machine was
(speed.py). A fixture that several tests share is divided among them. tests/costs.txt keeps a line for each
test above LISTED_S, and for each case of a function whose cases within BUDGET_S cost more than FUNCTION_CPU_S
together; a test without a line costs less, or has not been measured.

Which cases of a function stay is drawn by their names (`order`), so that neither the first nor the last nor
those of one architecture are preferred, and that a new measurement changes little.

A test function must keep a case in `make test`: if none is within the budget, the cheapest is kept if it
costs no more than KEPT_S, and its line has a `*`. tests/long.txt lists the functions without a case, each
with its reason; `make test` complains where it lists others.
"""

from __future__ import annotations

import functools
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COSTS = ROOT / "tests" / "costs.txt"
LONG = ROOT / "tests" / "long.txt"

#: CPU seconds, and idle seconds, that a test may cost; what a function's only case may cost.
BUDGET_S = 1.0
KEPT_S, KEPT_IDLE_S = 3.0, 8.0
#: CPU seconds that the cases of one function may cost together in `make test`.
FUNCTION_CPU_S = 3.0
WHOLE_SYSTEMS = ("tests/qemu/", "tests/documents/")
#: CPU seconds that all tests of a stage may cost together; seconds of workers that a slice of the long tests
#: may take, two of them at once.
STAGE_CPU_S = {"tools": 270.0, "qemu": 660.0}
SLICE_S = 210.0
#: tests/costs.txt has a line for each test that costs more, of whatever function.
LISTED_S = 1.0


@dataclass(frozen=True)
class Cost:
    """CPU seconds and idle seconds of one test."""

    cpu_s: float = 0.0
    idle_s: float = 0.0

    def exceeds(self, budget_s: float) -> bool:
        return self.cpu_s > budget_s or self.idle_s > budget_s

    def seconds(self) -> tuple[float, float]:
        return self.cpu_s, self.idle_s


@dataclass(frozen=True)
class Costs:
    """What tests/costs.txt says: `tests` by node ID; `rest_cpu_s` the sum of all tests without a line, by
    stage; `remarks` where and how it was measured; `kept` the tests that exceed their budget and are their
    functions' cases in `make test` all the same."""

    tests: Mapping[str, Cost]
    rest_cpu_s: Mapping[str, float]
    remarks: tuple[str, ...] = ()
    kept: frozenset[str] = frozenset()

    def of(self, name: str) -> Cost:
        return self.tests.get(name, Cost())

    def is_long(self, name: str) -> bool:
        return name in self.long

    @functools.cached_property
    def long(self) -> frozenset[str]:
        """The tests above their budget, and those above their function's."""
        found: set[str] = set()
        spent: Counter[str] = Counter()
        for name in sorted(self.tests, key=order):
            function, cost = function_of(name), self.tests[name]
            full = 0.0 < spent[function] and spent[function] + cost.cpu_s > FUNCTION_CPU_S
            if (cost.exceeds(BUDGET_S) or full) and name not in self.kept:
                found.add(name)
            else:
                spent[function] += cost.cpu_s
        return frozenset(found)

    def short_cpu_s(self, stage: str) -> float:
        """What the short tests of a stage cost together."""
        listed = (n for n in self.tests if stage_of(n) == stage and not self.is_long(n))
        return self.rest_cpu_s.get(stage, 0.0) + sum(self.tests[name].cpu_s for name in listed)


def order(name: str) -> tuple[int, str]:
    """The place of a case among those of its function when some are drawn: by its name, but not sorted."""
    return zlib.crc32(name.encode()), name


def listed(costs: Mapping[str, Cost]) -> dict[str, Cost]:
    """The tests that have lines in tests/costs.txt."""
    whole: Counter[str] = Counter()
    for name, cost in costs.items():
        whole[function_of(name)] += 0.0 if cost.exceeds(BUDGET_S) else cost.cpu_s
    return {
        name: cost
        for name, cost in costs.items()
        if cost.exceeds(LISTED_S) or whole[function_of(name)] > FUNCTION_CPU_S
    }


def stage_of(name: str) -> str:
    return "qemu" if name.startswith(WHOLE_SYSTEMS) else "tools"


def two_digits(seconds: float) -> str:
    """Rounds to two significant digits, so that a new measurement changes few lines: 0.0, 1.3, 27, 450."""
    if seconds < 0.05:
        return "0.0"
    places = 1 - math.floor(math.log10(seconds))
    return f"{round(seconds, places):.{max(0, min(places, 1))}f}"


HEADER = """\
# What tests cost: CPU seconds, idle seconds, node ID. Written by `tests/run.py --measure`; do not edit.
# A test without a line costs less than {listed:g} s of each, and the cases of its function cost less than
# {function:g} CPU seconds. `*`: kept as its function's only case.
"""
REMARK = re.compile(r"# (measured .*)")
REST = re.compile(r"rest (\w+) ([\d.]+)")
LINE = re.compile(r" *([\d.]+) +([\d.]+) ([ *])(\S.*)")


def written(costs: Costs) -> str:
    """Returns the text of tests/costs.txt."""
    lines = [f"# {remark}" for remark in costs.remarks]
    lines += [f"rest {stage} {two_digits(seconds)}" for stage, seconds in sorted(costs.rest_cpu_s.items())]
    lines += [
        f"{two_digits(cost.cpu_s):>5} {two_digits(cost.idle_s):>5} {'*' if name in costs.kept else ' '}{name}"
        for name, cost in sorted(costs.tests.items())
    ]
    return HEADER.format(listed=LISTED_S, function=FUNCTION_CPU_S) + "\n".join(lines) + "\n"


def read(text: str, name: str = "tests/costs.txt") -> Costs:
    """Reads what `written` has written. ValueError names the first line that is wrong."""
    tests: dict[str, Cost] = {}
    rest: dict[str, float] = {}
    remarks: list[str] = []
    kept: set[str] = set()
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#") or not line:
            if found := REMARK.fullmatch(line):
                remarks.append(found[1])
        elif found := REST.fullmatch(line):
            rest[found[1]] = float(found[2])
        elif (found := LINE.fullmatch(line)) and found[4] not in tests:
            tests[found[4]] = Cost(float(found[1]), float(found[2]))
            if found[3] == "*":
                kept.add(found[4])
        else:
            raise ValueError(
                f"{name}:{number}: not a cost, or listed twice: {line!r}; renew it: tests/run.py --measure"
            )
    return Costs(tests, rest, tuple(remarks), frozenset(kept))


@functools.cache
def of_all() -> Costs:
    """Reads tests/costs.txt; without the file no test has a cost."""
    return read(COSTS.read_text(encoding="utf-8")) if COSTS.is_file() else Costs({}, {})


def name_of(node_id: str) -> str:
    """Returns a node ID without the @GROUP that pytest-xdist adds in its workers."""
    return re.sub(r"@[^\[\]]*$", "", node_id)


def kept_of(
    tests: Mapping[str, Cost], collected: Mapping[str, str], exceptions: Iterable[str] = ()
) -> frozenset[str]:
    """Returns the cheapest cases of the functions of which no case is within the budget, if they cost no more
    than KEPT_S, and are idle for no more than KEPT_IDLE_S. `collected` has all cases; one that is `marked` as
    long by hand is never kept, nor one of the functions that are `exceptions`."""
    cases: dict[str, list[tuple[float, str]]] = {}
    for name, kind in collected.items():
        if kind != "marked":
            cost = tests.get(name, Cost())
            share = max(cost.cpu_s / KEPT_S, cost.idle_s / KEPT_IDLE_S)
            cases.setdefault(function_of(name), []).append((share if cost.exceeds(BUDGET_S) else 0.0, name))
    cheapest = (min(cases[function]) for function in cases.keys() - set(exceptions))
    return frozenset(name for share, name in cheapest if 0.0 < share <= 1.0)


def function_of(name: str) -> str:
    """Returns the node ID without the case: tests/a.py::test_b[c] is of tests/a.py::test_b."""
    return name.partition("[")[0]


def read_reasons(text: str, name: str) -> dict[str, str]:
    """Reads lines `KEY: REASON`, with remarks after #. ValueError names a line that is none, or whose key
    was listed before."""
    reasons: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        key, colon, reason = line.partition(": ")
        if not colon or not reason.strip() or key in reasons:
            raise ValueError(f"{name}:{number}: expected `KEY: REASON`, each key once, not {line!r}")
        reasons[key] = reason.strip()
    return reasons


def long_functions() -> dict[str, str]:
    """Reads tests/long.txt: functions without a case in `make test`, and why."""
    return read_reasons(LONG.read_text(encoding="utf-8"), "tests/long.txt")


def wrong_exceptions(cases: Iterable[tuple[str, bool]], listed: Mapping[str, str]) -> list[str]:
    """Compares all cases (node ID, whether it is long) with the functions that are `listed`; returns a
    complaint for each that is missing in the list, or wrongly there."""
    short: dict[str, bool] = {}
    for name, is_long in cases:
        function = function_of(name)
        short[function] = short.get(function, False) or not is_long
    complaints = [
        f"{function} has no case of at most {KEPT_S:g} s: make one cheaper, or give the reason in "
        "tests/long.txt"
        for function, has_short in short.items()
        if not has_short and function not in listed
    ]
    complaints += [
        f"tests/long.txt lists {function}, which "
        + ("has a case in make test" if function in short else "is no test")
        for function in listed
        if short.get(function, True)
    ]
    return complaints
