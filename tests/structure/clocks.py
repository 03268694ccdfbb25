# SPDX-License-Identifier: BSD-2-Clause
"""Finds assertions that bound a difference of the host's clock readings from above: on a busy machine such a
test fails although nothing is wrong. A lower bound is allowed, and so is a loop that waits until a reading.

What a name holds is followed through assignments, inside one function and from the functions of the same
file that it calls.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

#: Functions of the module time that read a wall clock.
READERS = {f"{name}{unit}" for name in ("monotonic", "time", "perf_counter") for unit in ("", "_ns")}
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
#: What an expression holds of clocks; of two, the greater counts.
OTHER, READING, DIFFERENCE = range(3)

Kinds = dict[str, int]


def kind_of(node: ast.AST, names: Kinds) -> int:
    """What an expression holds. `names` has the kinds of names, and of functions as "NAME()"."""
    if isinstance(node, ast.Name):
        return names.get(node.id, OTHER)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        sides = kind_of(node.left, names), kind_of(node.right, names)
        return DIFFERENCE if min(sides) >= READING else max(sides)
    if isinstance(node, SCOPES):
        return OTHER
    parts = list(ast.iter_child_nodes(node))
    kind = OTHER
    if isinstance(node, ast.Call):
        # A waiting method's argument is no part of what it returns.
        parts = node.args if isinstance(node.func, ast.Name) else []
        function = ast.unparse(node.func)
        is_reader = function.startswith("time.") and function.removeprefix("time.") in READERS
        kind = READING if is_reader else names.get(f"{function}()", OTHER)
    return max([kind, *(kind_of(part, names) for part in parts)])


def own_nodes(scope: ast.AST, in_loop: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    """The nodes of a scope without those of the functions in it, and whether each is in a loop that waits."""
    for child in ast.iter_child_nodes(scope):
        yield child, in_loop
        if not isinstance(child, SCOPES):
            yield from own_nodes(child, in_loop or isinstance(child, ast.While))


def is_upper_bound(left: ast.expr, op: ast.cmpop, right: ast.expr, names: Kinds, in_loop: bool) -> bool:
    if isinstance(op, ast.Gt | ast.GtE):
        left, right = right, left
    elif not isinstance(op, ast.Lt | ast.LtE):
        return False
    small, large = kind_of(left, names), kind_of(right, names)
    return small == DIFFERENCE or (small == large == READING and not in_loop)


def look(scope: ast.AST, around: Kinds, found: set[int]) -> int:
    """Looks through a scope and the functions in it; returns the kind of what it returns."""
    names, returned = dict(around), OTHER
    nodes = list(own_nodes(scope))
    for _ in range(2):  # the second time with what later lines have said of names
        for node, _ in nodes:
            if isinstance(node, ast.Return) and node.value:
                returned = max(returned, kind_of(node.value, names))
            if isinstance(node, ast.Assign | ast.NamedExpr | ast.AugAssign | ast.AnnAssign) and node.value:
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    for name in (one.id for one in ast.walk(target) if isinstance(one, ast.Name)):
                        names[name] = max(names.get(name, OTHER), kind_of(node.value, names))
    for node, _ in nodes:
        if isinstance(node, SCOPES):
            names[f"{getattr(node, 'name', 'lambda')}()"] = look(node, names, found)
    for node, in_loop in nodes:
        for compare in ast.walk(node.test) if isinstance(node, ast.Assert) else ():
            if isinstance(compare, ast.Compare):
                terms = zip([compare.left, *compare.comparators], compare.ops, compare.comparators)
                if any(is_upper_bound(*term, names, in_loop) for term in terms):
                    found.add(node.lineno)
    return returned


def upper_bounds(source: str) -> list[int]:
    """Returns the lines of the assertions that bound a difference of clock readings from above."""
    found: set[int] = set()
    if any(f"time.{name}(" in source for name in READERS):
        look(ast.parse(source), {}, found)
    return sorted(found)


def check(sources: dict[str, str]) -> list[str]:
    return [
        f"{path}:{line} bounds a difference of the host's clock readings from above; busy machines fail it"
        for path, text in sorted(sources.items())
        for line in upper_bounds(text)
    ]
