# SPDX-License-Identifier: BSD-2-Clause
"""What decides which tests run: costs and budgets, slices of the long tests, records, tests that are tried
again, reasons for skipping."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests import budget, records, run, slices, stages, waiting
from tests.budget import Cost, Costs
from tests.running import ROOT

# ---- Costs ----


def test_costs_are_read_as_they_were_written() -> None:
    costs = Costs(
        {"tests/qemu/test_a.py::test_b[x y]": Cost(12.34, 0.0), "tests/host/c.py::test_d": Cost(0.2, 1.26)},
        {"tools": 123.4},
        ("measured 2026-01-01 on 2 CPUs",),
        frozenset(["tests/qemu/test_a.py::test_b[x y]"]),
    )
    again = budget.read(budget.written(costs))
    assert again.tests == {
        "tests/qemu/test_a.py::test_b[x y]": Cost(12.0, 0.0),
        "tests/host/c.py::test_d": Cost(0.2, 1.3),
    }
    assert again.rest_cpu_s == {"tools": 120.0} and again.remarks == costs.remarks
    assert again.kept == costs.kept
    assert budget.written(again) == budget.written(budget.read(budget.written(again)))


@pytest.mark.parametrize("line", ["5.0  tests/a.py::b", "x 1.0  tests/a.py::b", " 2.0  0.0  twice", "rest x"])
def test_a_line_that_is_no_cost_is_named(line: str) -> None:
    with pytest.raises(ValueError, match=r"costs.txt:2: not a cost, .* tests/run.py --measure"):
        budget.read(f"  2.0   0.0  twice\n{line}\n")


@pytest.mark.parametrize(
    ("name", "cost", "long"),
    [
        ("tests/qemu/test_a.py::b", Cost(1.0, 0.0), False),
        ("tests/qemu/test_a.py::b", Cost(1.1, 0.0), True),
        ("tests/host/test_a.py::b", Cost(1.0, 1.1), True),
    ],
)
def test_a_test_above_its_budget_is_long(name: str, cost: Cost, long: bool) -> None:
    assert Costs({name: cost}, {}).is_long(name) == long
    assert not Costs({name: cost}, {}, kept=frozenset([name])).is_long(name)


def test_a_function_s_cheapest_case_is_kept_where_none_is_within_the_budget() -> None:
    seconds = {"a::f[1]": 3.0, "a::f[2]": 2.0, "a::g[1]": 4.0, "a::h": 3.3, "a::i": 2.1, "a::j": 2.0}
    tests = {name: Cost(cpu_s) for name, cpu_s in seconds.items()} | {"a::k": Cost(0.1, 7.0)}
    collected = dict.fromkeys(tests, "long") | {"a::g[2]": "short", "a::i[by hand]": "marked"}
    collected["a::j"] = "marked"
    assert budget.kept_of(tests, collected) == {"a::f[2]", "a::i", "a::k"}
    assert budget.kept_of(tests, collected, ["a::i"]) == {"a::f[2]", "a::k"}
    costs = Costs({"tests/qemu/a.py::f": Cost(3.0), "tests/host/a.py::g": Cost(0.9)}, {"qemu": 7.0})
    assert (costs.short_cpu_s("qemu"), costs.short_cpu_s("tools")) == (7.0, 0.9)


def test_a_function_has_as_many_cases_as_its_budget_has_room_for() -> None:
    many = {f"tests/qemu/a.py::f[{n}]": Cost(0.5) for n in range(20)}
    few = {f"tests/qemu/a.py::g[{n}]": Cost(0.5) for n in range(6)}
    large = {f"tests/qemu/a.py::h[{n}]": Cost(2.0) for n in range(6)} | {"tests/qemu/a.py::h[s]": Cost(0.1)}
    costs = Costs(budget.listed(many | few | large), {})
    assert costs.tests.keys() == many.keys() | (large.keys() - {"tests/qemu/a.py::h[s]"})
    short = {name for name in many | few | large if not costs.is_long(name)}
    assert few.keys() <= short and "tests/qemu/a.py::h[s]" in short
    drawn = short & many.keys()
    assert len(drawn) == 6 and not drawn >= set(sorted(many)[:6]) and len(short) == 6 + len(few) + 1
    # A new measurement draws the same, and another case leaves most of them in place.
    again = Costs({**costs.tests, "tests/qemu/a.py::f[new]": Cost(0.5)}, {})
    assert len({name for name in many if not again.is_long(name)} & drawn) >= 5


def test_two_digits_are_kept() -> None:
    given = [0.01, 0.34, 1.26, 9.96, 27.4, 454.0]
    assert [budget.two_digits(s) for s in given] == ["0.0", "0.3", "1.3", "10.0", "27", "450"]


def test_a_function_keeps_a_case_or_gives_a_reason() -> None:
    cases = [("a.py::b[1]", True), ("a.py::b[2]", False), ("a.py::c", True), ("a.py::d", True)]
    assert budget.wrong_exceptions(cases, {"a.py::c": "x", "a.py::d": "y"}) == []
    complaints = budget.wrong_exceptions(cases, {"a.py::c": "x", "a.py::b": "y", "a.py::gone": "z"})
    assert len(complaints) == 3
    assert complaints[0].startswith("a.py::d has no case of at most 3 s")
    assert complaints[1:] == [
        "tests/long.txt lists a.py::b, which has a case in make test",
        "tests/long.txt lists a.py::gone, which is no test",
    ]


@pytest.mark.parametrize("text", ["key", "key: ", "a: x\na: y"])
def test_a_reason_that_is_missing_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"long.txt:\d: expected `KEY: REASON`"):
        budget.read_reasons(text, "long.txt")


# ---- Slices ----

COSTS = {f"tests/qemu/test_{file}.py::t[{n}]": 10.0 for file in "abc" for n in range(10)}


def test_slices_hold_all_tests_once_and_cost_about_the_same() -> None:
    cut = slices.cut(COSTS | {"z": 150.0, "y": 250.0}, 100.0)
    assert sorted(name for one in cut for name in one) == sorted([*COSTS, "z"]), "y is make test-long's"
    sums = [sum((COSTS | {"z": 150.0})[name] for name in one) for one in cut]
    assert sums == [100.0, 100.0, 100.0, 150.0]


def test_a_slice_counts_what_it_builds_once_and_the_worker_that_waits() -> None:
    many = {f"tests/qemu/test_mounts.py::test_sqlite[{n}]": 10.0 for n in range(4)}
    cut = slices.cut(COSTS | many, 150.0)
    with_build = [one for one in cut if any("sqlite" in name for name in one)]
    assert [len([name for name in one if "sqlite" in name]) for one in with_build] == [3, 1]
    first = slices.chosen(COSTS | many, 150.0, 0, {"test_mounts"}).tests
    assert slices.whole_cost(first, COSTS | many) <= 150.0 and len(first) == 3
    assert slices.price("tests/qemu/a.py::b", Cost(1.0, 2.0)) == 3.0
    assert slices.price("tests/documents/a.py::b", Cost(1.0, 2.0)) == 3.0 * stages.CPUS


def test_every_slice_comes_with_the_commits() -> None:
    seen = {name for number in range(7, 10) for name in slices.chosen(COSTS, 100.0, number, set()).tests}
    assert seen == set(COSTS)


def test_the_tests_of_a_touched_room_come_first() -> None:
    room = {name for name in COSTS if "test_b" in name}
    choice = slices.chosen(COSTS, 150.0, 0, {"test_b"})
    assert set(choice.tests[:10]) == room
    assert len(choice.tests) == 15 and len(set(choice.tests)) == 15
    # More than fits: commit after commit another part.
    seen = {name for number in range(2) for name in slices.chosen(COSTS, 50.0, number, {"test_b"}).tests}
    assert seen == room


def test_rooms_and_their_tests_are_read_from_the_page() -> None:
    rooms = slices.rooms_of((ROOT / "tests" / "README.md").read_text(encoding="utf-8"))
    assert "test_timers" in rooms["kernel/time/"] and "test_mpi" in rooms["apps/mpi-lite/"]
    assert slices.touched(["kernel/time/timer.c"], rooms) >= {"test_timers", "test_vdso"}
    assert "test_jobs" not in slices.touched(["kernel/time/timer.c"], rooms)
    assert slices.touched(["tests/qemu/test_x.py", "nowhere/a.c"], rooms) == {"test_x"}


def test_a_tree_without_history_has_a_slice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "ROOT", tmp_path)
    assert (slices.base_of_change(""), slices.changed_since(""), slices.commit_number()) == ("", [], 0)
    with pytest.raises(ValueError, match="BASE=x: there is no such commit"):
        slices.base_of_change("x")
    git = ["git", "-c", "user.name=a", "-c", "user.email=b", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    for number in range(2):
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", str(number)], check=True)
        assert slices.commit_number() == number + 1
    assert slices.base_of_change("") == slices.git("rev-parse", "HEAD^")
    clone = tmp_path / "clone"
    source = f"file://{tmp_path}"
    subprocess.run([*git, "clone", "-q", "--depth=1", source, str(clone)], check=True)
    monkeypatch.setattr(slices, "ROOT", clone)
    assert slices.base_of_change("") == "" and slices.commit_number() > 2


# ---- Records ----


def written(folder: Path, *rows: dict[str, object]) -> records.Records:
    folder.mkdir(exist_ok=True)
    (folder / "1.jsonl").write_text("\n".join(map(json.dumps, rows)) + '\n{"test": "cut o')
    return records.read(folder)


def row(name: str, **more: object) -> dict[str, object]:
    return {"test": name, "cpu_s": 1.0, "wall_s": 3.0, "fixtures": [], "outcome": "passed", **more}


def test_a_shared_fixture_is_divided_among_its_tests(tmp_path: Path) -> None:
    made = {"fixture": "f", "cpu_s": 4.0, "wall_s": 4.0}
    rows = [row("a", fixtures=["f"]), row("b", fixtures=["f"]), row("c"), made, made]
    costs = records.costs_of(written(tmp_path, *rows), 2.0)
    assert costs == {"a": Cost(1.5, 1.0), "b": Cost(1.5, 1.0), "c": Cost(0.5, 1.0)}


def test_new_measurements_take_the_place_of_old_ones() -> None:
    old = Costs({"tests/host/a.py::a": Cost(5.0, 0.0), "tests/host/a.py::b": Cost(6.0, 0.0)}, {"qemu": 9.0})
    new = {"tests/host/a.py::a": Cost(0.5, 0.0), "tests/host/a.py::c": Cost(2.0, 0.0)}
    collected = {"tests/host/a.py::b": "long", **dict.fromkeys(new, "short")}
    merged = records.merged(old, new, collected, "measured now")
    assert set(merged.tests) == {"tests/host/a.py::b", "tests/host/a.py::c"}
    assert merged.kept == {"tests/host/a.py::c"}
    gone = records.merged(old, new, dict.fromkeys(new, "short"), "measured now")
    assert set(gone.tests) == {"tests/host/a.py::c"}
    assert merged.rest_cpu_s == {"qemu": 9.0, "tools": 0.5}


def test_what_was_not_measured_and_costs_much_is_named(tmp_path: Path) -> None:
    seen = written(tmp_path, row("tests/host/a.py::a", cpu_s=9.0), row("tests/host/a.py::b"))
    assert [name for name, _ in records.unmeasured(seen, Costs({}, {}), 1.0)] == ["tests/host/a.py::a"]
    assert records.unmeasured(seen, Costs({"tests/host/a.py::a": Cost(9.0, 0.0)}, {}), 1.0) == []


def test_a_reason_for_skipping_that_is_not_listed_is_refused(tmp_path: Path) -> None:
    seen = written(tmp_path, row("a", outcome="skipped", skip="no root here: x"))
    assert records.refused_skips(seen.skips(), ["no root"]) == []
    assert records.refused_skips(seen.skips(), ["no network"]) == ["no root here: x"]


def test_costs_are_not_measured_on_a_busy_machine(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "load", lambda: 7.9)
    with pytest.raises(SystemExit):
        run.main(["--measure"])
    assert "the load is 7.9" in capsys.readouterr().err
    run.check_load(anyway=True)


# ---- Tests that are tried again ----

UNSTEADY = """
from pathlib import Path
from tests.waiting import LostTime
def test_a():
    if not Path("{folder}/seen").exists():
        Path("{folder}/seen").touch()
        raise {error}
"""


@pytest.mark.parametrize(
    ("error", "passed"), [('LostTime("too late")', True), ('AssertionError("a wrong value")', False)]
)
def test_lost_time_alone_is_tried_again(
    error: str,
    passed: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(stages, "RECORDS", tmp_path / "records")
    whole = run.Run()
    # A node ID is a path below the tree.
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
        test = Path(folder) / "test_a.py"
        test.write_text(UNSTEADY.format(folder=tmp_path, error=error))
        stage = stages.Stage("x", "x", stages.pytest_words(str(test)), 100, pytest=True)
        remark = run.run_stage(stage, whole, False)
    said = capsys.readouterr().out
    assert str(whole.total) == ("1 passed, 0 failed" if passed else "0 passed, 1 failed"), said
    assert (remark == "") == passed and len(whole.notes) == passed
    assert ("unsteady: " in said and "too late" in said) == passed


def test_waiting_gives_back_what_has_come_and_says_what_has_not() -> None:
    found = iter([0, 0, 7])
    assert waiting.until(lambda: next(found), "seven") == 7
    with pytest.raises(waiting.LostTime, match="not within 0 s: a start"):
        waiting.until(lambda: False, "a start", limit_s=0)
    assert waiting.is_lost_time(subprocess.TimeoutExpired("x", 1))
    assert waiting.is_lost_time(subprocess.TimeoutExpired(["dnsmasq", Path("/a")], 1))
    assert not waiting.is_lost_time(subprocess.TimeoutExpired(["/usr/bin/qemu-system-ppc64", "-M"], 1))
    assert not waiting.is_lost_time(AssertionError())


def test_repeating_counts_the_runs_that_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "test_a.py").write_text(UNSTEADY.format(folder=tmp_path, error="AssertionError()"))
    assert run.main(["--repeat", "2", "--beside", "1", str(tmp_path / "test_a.py")]) == 1
    assert capsys.readouterr().out.endswith("1 passed, 1 failed\n")


# ---- The end of a run ----


def test_children_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    script = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.running import run_shown\n"
        f"run_shown(['sh', '-c', 'echo $$ >{tmp_path}/pid.part; mv {tmp_path}/pid.part {tmp_path}/pid; "
        "exec sleep 600'], 600)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script])
    pid = int(
        waiting.until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text(), "a child")
    )
    parent.kill()
    parent.wait()
    waiting.until(lambda: not waiting.is_running(pid), "the child's end")
