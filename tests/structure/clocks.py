# SPDX-License-Identifier: BSD-2-Clause
"""Finds assertions that bound a difference of the host's clock readings from above: on a busy machine such a
test fails although nothing is wrong. A lower bound is allowed, and so is a loop that waits until a reading.

What a name holds is followed through assignments, inside one function and from the functions of the same
file that it calls: a reading of a clock, or a difference of two readings.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import IntEnum

#: Functions of the module time that read a wall clock.
READERS = {f"{name}{unit}" for name in ("monotonic", "time", "perf_counter") for unit in ("", "_ns")}
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Kind(IntEnum):
    """What an expression holds of clocks."""

    OTHER = 0
    READING = 1
    DIFFERENCE = 2


class Names:
    """What the names of one function hold, on top of those around it."""

    def __init__(self, kinds: dict[str, Kind]) -> None:
        self.kinds = dict(kinds)

    def learn(self, target: ast.expr, kind: Kind) -> None:
        for node in ast.walk(target):
            if isinstance(node, ast.Name):
                self.kinds[node.id] = max(kind, self.kinds.get(node.id, Kind.OTHER))

    def of(self, node: ast.AST) -> Kind:
        if isinstance(node, ast.Name):
            return self.kinds.get(node.id, Kind.OTHER)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            sides = self.of(node.left), self.of(node.right)
            return Kind.DIFFERENCE if min(sides) >= Kind.READING else max(sides)
        if isinstance(node, ast.Call):
            # A waiting function's argument is no part of what it returns.
            inner = [self.of(one) for one in node.args] if isinstance(node.func, ast.Name) else []
            return max([self.of_function(node.func), *inner], default=Kind.OTHER)
        if isinstance(node, SCOPES):
            return Kind.OTHER
        return max((self.of(child) for child in ast.iter_child_nodes(node)), default=Kind.OTHER)

    def of_function(self, function: ast.expr) -> Kind:
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            return Kind.READING if function.value.id == "time" and function.attr in READERS else Kind.OTHER
        if isinstance(function, ast.Name):
            return self.kinds.get(f"{function.id}()", Kind.OTHER)
        return Kind.OTHER


def own_nodes(scope: ast.AST) -> Iterator[tuple[ast.AST, bool]]:
    """The nodes of a scope without those of the functions in it, in order, and whether each is in a loop
    that waits."""

    def within(node: ast.AST, in_loop: bool) -> Iterator[tuple[ast.AST, bool]]:
        for child in ast.iter_child_nodes(node):
            yield child, in_loop
            if not isinstance(child, SCOPES):
                yield from within(child, in_loop or isinstance(child, ast.While))

    return within(scope, False)


def is_upper_bound(left: ast.expr, op: ast.cmpop, right: ast.expr, names: Names, in_loop: bool) -> bool:
    if isinstance(op, ast.Gt | ast.GtE):
        left, right = right, left
    elif not isinstance(op, ast.Lt | ast.LtE):
        return False
    small, large = names.of(left), names.of(right)
    return small == Kind.DIFFERENCE or (small == large == Kind.READING and not in_loop)


def look(scope: ast.AST, around: Names, found: list[int]) -> Kind:
    """Looks through a scope and the functions in it; returns what it returns."""
    names = Names(around.kinds)
    returned = Kind.OTHER
    nodes = list(own_nodes(scope))
    for _ in range(2):  # the second time with what later lines have said of names
        for node, _ in nodes:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    names.learn(target, names.of(node.value))
            elif isinstance(node, ast.NamedExpr | ast.AugAssign | ast.AnnAssign) and node.value:
                names.learn(node.target, names.of(node.value))
            elif isinstance(node, ast.Return) and node.value:
                returned = max(returned, names.of(node.value))
    for node, _ in nodes:
        if isinstance(node, SCOPES):
            kind = look(node, names, found)
            names.kinds[f"{getattr(node, 'name', 'lambda')}()"] = kind
    for node, in_loop in nodes:
        compares = ast.walk(node.test) if isinstance(node, ast.Assert) else ()
        for compare in (one for one in compares if isinstance(one, ast.Compare)):
            terms = [compare.left, *compare.comparators]
            if any(
                is_upper_bound(left, op, right, names, in_loop)
                for left, op, right in zip(terms, compare.ops, terms[1:])
            ):
                found.append(node.lineno)
    return returned


def upper_bounds(source: str) -> list[int]:
    """Returns the lines of the assertions that bound a difference of clock readings from above."""
    found: list[int] = []
    if not any(f"time.{name}(" in source for name in READERS):
        return found
    look(ast.parse(source), Names({}), found)
    return sorted(set(found))


def check(sources: dict[str, str]) -> list[str]:
    return [
        f"{path}:{line} bounds a difference of the host's clock readings from above; busy machines fail it"
        for path, text in sorted(sources.items())
        for line in upper_bounds(text)
    ]
