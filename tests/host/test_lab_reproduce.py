# SPDX-License-Identifier: BSD-2-Clause
"""`lab goal` and `lab reproduce`: schedules mean what the patterns mean, synthetic traces are what the papers
say, results survive interruptions."""

from __future__ import annotations

import importlib
import io
import json
import os
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]

from pictures_checked import figures_seen, shown, words_of

from lab import statistics
from lab.cli import dispatch as lab_main
from lab.cli import reproduce as command
from lab.cli.goal import PATTERNS
from lab.common import simulator as sim
from lab.common import version
from lab.common.errors import DataError, LabError
from lab.reproduce import beats, beckman, measured, outcome, simulator, store, ticks, traces
from tests.making import made


@pytest.fixture(scope="session", autouse=True)
def built() -> None:
    made("build/simulator/sim")


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize(
    "words", [[], ["--iterations", "3", "--compute", "700", "--reduction", "90", "--bytes", "100000"]]
)
def test_a_written_pattern_ends_as_the_pattern(
    pattern: str, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "pattern.goal")
    assert lab_main.main(["goal", pattern, "--ranks", "23", "-o", path, "--check", *words]) == 0
    assert "23 ranks end at the same times" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["dissemination", "--ranks", "0"],
        ["ring", "--ranks", "4", "--segment", "0"],
        ["bcast", "--ranks", "4", "-o", "/nowhere/x"],
        ["bcast", "--ranks", "4", "--check"],
    ],
)
def test_wrong_patterns_are_one_line(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert lab_main.main(["goal", *words]) == 1
    said = capsys.readouterr().err
    assert said.startswith("lab goal: ") and said.count("\n") == 1


@pytest.mark.parametrize("machine", [*traces.HOEFLER, *traces.BECKMAN], ids=lambda machine: machine.key)
def test_a_synthetic_trace_has_the_published_share(machine: traces.Machine) -> None:
    made = traces.generate(machine)
    assert statistics.noise_ratio(made.trace) == pytest.approx(machine.noise_ratio, rel=1e-3)
    assert 0.9 < made.scale < 1.1
    assert 0.97 * traces.DETOURS < made.trace.listed < 1.03 * traces.DETOURS
    ends = made.trace.start_ns + made.trace.duration_ns
    assert (made.trace.start_ns[1:] >= ends[:-1] - 1e-2).all() and ends[-1] <= made.trace.span_ns
    again = traces.generate(machine)
    assert (again.trace.start_ns == made.trace.start_ns).all()
    assert (
        traces.generate(machine, seed=2).trace.duration_ns[:50] != made.trace.duration_ns[:50]
    ).any() or machine.key == "bgl-cn"


@pytest.mark.parametrize("machine", traces.BECKMAN, ids=lambda machine: machine.key)
def test_a_synthetic_trace_has_the_published_lengths(machine: traces.Machine) -> None:
    """Longest, mean and median [Beckman06 Table 4] to a tenth."""
    durations = traces.generate(machine).trace.duration_ns / 1e3
    _, longest, mean, median = beckman.TABLE4[machine.key]
    assert durations.max() == pytest.approx(longest, rel=0.1)
    assert durations.mean() == pytest.approx(mean, rel=0.1)
    assert np.median(durations) == pytest.approx(median, rel=0.1)


def test_altix_has_its_long_detours_every_two_seconds() -> None:
    trace = traces.generate(traces.HOEFLER[1]).trace
    starts = trace.start_ns[trace.duration_ns > 100e3]
    assert np.diff(starts) == pytest.approx(2e9, rel=1e-3)
    assert ((trace.duration_ns < 9e3) | (trace.duration_ns > 200e3)).all()


def test_the_simulator_reads_the_traces(tmp_path: Path) -> None:
    for machine in traces.HOEFLER:
        path = traces.trace_file(machine, tmp_path, detours=1000)
        words = ["pattern", "dissemination", "-n", 64, "--noise", path, "--compute", 1e9, "--json", "-"]
        answer = json.loads(simulator.sim(words))
        assert answer["max_ns"] / answer["quiet_max_ns"] > 1 + machine.noise_ratio / 2


PAGE = ROOT / "docs/lab/reproduce.md"


@pytest.mark.parametrize("name", [experiment.name for experiment in command.EXPERIMENTS])
def test_the_page_shows_every_experiment(name: str) -> None:
    """Its command, its small picture, and its table with all values."""
    text = PAGE.read_text()
    assert f"\n$ tools/lab reproduce {name}\n" in text and f"(reproduce-{name}.png)" in text
    picture = (PAGE.parent / f"reproduce-{name}.png").read_bytes()
    assert picture.startswith(b"\x89PNG") and len(picture) < 60_000
    assert int.from_bytes(picture[16:20], "big") == command.THUMBNAIL_WIDTH


def test_the_page_lists_what_waits() -> None:
    """Every figure that cannot be repeated yet, with what it needs."""
    text = PAGE.read_text()
    for one in command.WAITING:
        assert f"| {one.paper} | {one.summary} | {one.needs} |" in text, one


def test_a_value_made_from_the_published_one_says_so() -> None:
    rows = [outcome.Row("a", 2.0, {"x": 2.0}, restates=True), outcome.Row("b", 2.0, {"x": 3.0})]
    shown = outcome.Outcome("T", rows).as_text().splitlines()
    assert shown[4].split() == ["a", "2", "2", "is", "input"] and shown[5].split() == [
        "b",
        "2",
        "3",
        "+50",
        "%",
    ]


LOG = """\
1000: local_timer_entry: vector=236
1300: irq_handler_entry: irq=4 name=ttyS0
1350: irq_handler_exit: irq=4 ret=handled
1400: local_timer_exit: vector=236
1500: softirq_entry: vec=9 [action=RCU]
1700: softirq_exit: vec=9 [action=RCU]
"""


def found_with(data: str, log: str, stderr: str = "ticks_per_ns: 1\n") -> measured.Found:
    what = measured.Measurement("linux", "selfish", (), logged=True)
    return measured.Found(what, f"{data}{measured.LOG}\n{log}", stderr)


def test_the_kernel_s_log_is_read_as_events_without_what_interrupted_them() -> None:
    assert found_with("", LOG).events() == [
        measured.Event("device", 1300.0, 50.0),
        measured.Event("timer", 1000.0, 350.0),
        measured.Event("softirq RCU", 1500.0, 200.0),
    ]
    with pytest.raises(DataError, match="ends an event that has not begun"):
        found_with("", "5: local_timer_exit: vector=236\n").events()


def test_each_event_is_found_in_the_detour_that_it_caused() -> None:
    """A window that begins at 50 000: its detours hold the tick's events and 300 ns beyond; two ticks before
    the window are in the log, and softirqs say which is which."""
    starts = np.arange(20) * 10_000 + 3_000
    soft = np.arange(20) % 7 == 3
    lengths = 900 + 250 * soft
    log = ""
    for at, more in [
        (33_100, False),
        (43_100, False),
        *zip((starts + 50_100).tolist(), soft.tolist(), strict=True),
    ]:
        log += f"{at}: local_timer_entry: vector=236\n{at + 600}: local_timer_exit: vector=236\n"
        if more:
            log += f"{at + 650}: softirq_entry: vec=1 [action=TIMER]\n"
            log += f"{at + 900}: softirq_exit: vec=1 [action=TIMER]\n"
    lines = "".join(f"{start}\t{length}\n" for start, length in zip(starts, lengths, strict=True))
    found = found_with(f"{lines}# Measurement period: 0.000210 s\n", log)
    part = ticks.explained(found)
    assert part.kinds == ["softirq TIMER", "timer"] and part.counts == {
        "timer": 20,
        "softirq TIMER": int(soft.sum()),
    }
    assert (part.taken_ns[:, 1] == 600).all() and (part.taken_ns[:, 0] == 250 * soft).all()
    assert (part.left_ns == 300).all()
    assert (ticks.without(part, "timer", "softirq").duration_ns == 300).all()


def test_detours_without_events_are_an_error() -> None:
    lines = "".join(f"{10_000 * i}\t500\n" for i in range(50))
    log = "20: local_timer_entry: vector=236\n300: local_timer_exit: vector=236\n"
    with pytest.raises(DataError, match="have no event in the kernel's log"):
        ticks.explained(found_with(f"{lines}# Measurement period: 0.001 s\n", log))


def test_a_linux_script_gives_classes_and_a_daemon() -> None:
    what = measured.Measurement("linux", "phase", ("-s",), policy="fifo", daemon=("-p", "1s"), logged=True)
    script = what.script()
    assert "/lab/policy other /lab/daemon -p 1s &" in script and "/lab/policy fifo /lab/phase -s" in script
    assert "sched_rt_runtime_us" in script and "trace_clock" in script and not what.plain
    assert measured.Measurement("linux", "phase", ("-s",)).plain


def policy(*words: str) -> subprocess.CompletedProcess[str]:
    made("build/x86_64/apps/policy")
    program = ROOT / "build/x86_64/apps/policy"
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(("name", "number"), [("other", os.SCHED_OTHER), ("idle", os.SCHED_IDLE)])
def test_policy_starts_a_program_in_the_class(name: str, number: int) -> None:
    done = policy(name, sys.executable, "-c", "import os; print(os.sched_getscheduler(0))")
    assert (done.returncode, done.stdout) == (0, f"{number}\n"), done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["real", "/bin/true"], "policy: there is no class real; give other, fifo or idle\n"),
        (["idle", "/none"], "policy: /none: No such file or directory; give the path of a program\n"),
    ],
)
def test_policy_says_in_a_line_what_is_wrong(words: list[str], said: str) -> None:
    done = policy(*words)
    assert (done.returncode, done.stderr) == (2, said)


def title_of(words: list[str]) -> str:
    """A picture's title, which is written first."""
    return " ".join(words[0].split())


def reproduce(folder: Path, *words: str) -> int:
    return lab_main.main(["reproduce", *words, "--quick", "--out", str(folder)])


#: Those that measure machines are tried by tests/qemu/test_reproduce.py.
SIMULATED = [experiment for experiment in command.EXPERIMENTS if not experiment.measured]


@pytest.mark.parametrize("experiment", SIMULATED, ids=lambda experiment: experiment.name)
def test_an_experiment_leaves_table_values_and_picture(
    experiment: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [experiment.name, "--simulations", "3", "--largest", "6", "--thumbnails", str(tmp_path)]
    with figures_seen() as seen:
        assert reproduce(tmp_path, *words) == 0
    for figure in seen:  # the picture and the small one
        assert title_of(words_of(figure)) in PAGE.read_text(), words_of(figure)
    assert len(seen) == 2
    folder = tmp_path / f"{experiment.name}-quick"
    found = json.loads((folder / "result.json").read_text())
    assert found["seed"] == 1 and version.lab_version() in found["version"]
    for point in (tmp_path / "points").glob("*"):
        kept = json.loads(point.read_text())
        assert kept["version"] in found["version"] and kept["seed"] > 0
    assert found["rows"] and all(row["ours"] or row["what"].find("bottleneck") > 0 for row in found["rows"])
    assert all(np.isfinite(value) for row in found["rows"] for value in row["ours"].values())
    assert (folder / "table.txt").read_text() in capsys.readouterr().out
    assert found["title"] in PAGE.read_text()
    for picture in (folder / "picture.png", tmp_path / f"reproduce-{experiment.name}.png"):
        assert picture.read_bytes().startswith(b"\x89PNG")
    assert not list(tmp_path.rglob("*.part*"))


def test_an_interrupted_run_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name, real, called = "ferreira", simulator.sim, 0

    def failing(words: list[object]) -> str:
        nonlocal called
        called += 1
        if called == 4:
            raise KeyboardInterrupt
        return real(words)

    assert reproduce(tmp_path / "whole", name) == 0
    monkeypatch.setattr(simulator, "sim", failing)
    assert reproduce(tmp_path / "cut", name) == command.INTERRUPTED
    folder = tmp_path / "cut" / f"{name}-quick"
    assert not (folder / "result.json").exists() and len(list((tmp_path / "cut/points").iterdir())) == 3
    assert reproduce(tmp_path / "cut", name) == 0
    assert "3 of them from earlier runs" in capsys.readouterr().out
    assert (folder / "result.json").read_text() == (
        tmp_path / "whole" / f"{name}-quick/result.json"
    ).read_text()


def test_a_broken_or_other_point_is_computed_again(tmp_path: Path) -> None:
    kept = store.Store(tmp_path, store.Progress(0))
    assert kept.point("one", {"n": 1}, lambda: 5) == 5
    assert kept.point("one", {"n": 1}, lambda: 6) == 5
    assert kept.point("one", {"n": 2}, lambda: 7) == 7
    for path in (tmp_path / "points").iterdir():
        path.write_text('{"value": 1')
    assert kept.point("one", {"n": 1}, lambda: 8) == 8


def test_a_value_of_other_software_is_named_and_computed_again(tmp_path: Path) -> None:
    said = io.StringIO()
    kept = store.Store(tmp_path, store.Progress(0, said))

    def point(value: int, made_by: str, seed: int = 1) -> int:
        return kept.point("a name", {"n": 1}, lambda: value, store.Maker(made_by, seed))

    assert point(5, "simulator 1") == point(6, "simulator 1") == 5
    assert point(7, "simulator 2") == 7
    assert ".json: made by simulator 1, now simulator 2: computed again\n" in said.getvalue()
    assert point(8, "simulator 2", 2) == 8 and "made by seed 1, now" in said.getvalue()
    (path,) = (tmp_path / "points").iterdir()
    content = json.loads(path.read_text())
    assert (content["version"], content["seed"], content["value"]) == ("simulator 2", 2, 8)
    # As values were kept before they had a version.
    del content["version"], content["seed"]
    path.write_text(json.dumps(content))
    assert point(9, "simulator 2") == 9 and "made by an unknown version" in said.getvalue()
    assert kept.progress.outdated == 3 and kept.versions >= {"simulator 1", "simulator 2"}


@pytest.mark.parametrize(
    "content", ["", "[]", "null", "3", '"x"', "{}", '{"depends": 1}', '{"depends": {"n": 1}}', "\x00\xff"]
)
def test_a_file_that_is_no_point_is_computed_again(content: str, tmp_path: Path) -> None:
    kept = store.Store(tmp_path, store.Progress(0, io.StringIO()))
    assert kept.point("one", {"n": 1}, lambda: 5) == 5
    (path,) = (tmp_path / "points").iterdir()
    path.write_bytes(content.encode("latin-1"))
    assert kept.point("one", {"n": 1}, lambda: 6) == 6


def test_the_version_of_the_simulator_is_its_program_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sim.paths, "SIMULATOR", tmp_path / "sim")
    sim.sim_version.cache_clear()
    try:
        with pytest.raises(LabError, match="no simulator; build it with `make sim`"):
            sim.sim_version()
        (tmp_path / "sim").write_bytes(b"one")
        first = sim.sim_version()
        sim.sim_version.cache_clear()
        (tmp_path / "sim").write_bytes(b"two")
        assert first.startswith("simulator ") and sim.sim_version() != first
    finally:
        sim.sim_version.cache_clear()


def test_a_machine_s_trace_is_made_again_if_the_machine_changes(tmp_path: Path) -> None:
    machine = traces.HOEFLER[0]
    first = traces.trace_file(machine, tmp_path, detours=100)
    other = traces.trace_file(replace(machine, noise_ratio=0.01), tmp_path, detours=100)
    assert first != other and first.read_bytes() != other.read_bytes()
    assert traces.trace_file(machine, tmp_path, detours=100) == first


def test_numbers_in_a_picture_are_those_of_its_table(tmp_path: Path) -> None:
    """Although only the beginning of a trace is drawn."""
    with figures_seen() as seen:
        assert reproduce(tmp_path, "beckman-table4") == 0
    words = words_of(seen[0])
    found = json.loads((tmp_path / "beckman-table4-quick/result.json").read_text())
    values = {row["what"]: row["ours"]["synthetic"] for row in found["rows"]}
    for machine in traces.BECKMAN[1:]:
        share = f", {values[f'{machine.name}: noise ratio, %']:.3g} % of the time"
        assert machine.name in words and any(said.endswith(share) for said in words), (share, words)


def test_beckman_s_six_panels_have_one_scale(tmp_path: Path) -> None:
    with figures_seen() as seen:
        assert reproduce(tmp_path, "beckman-fig6", "--simulations", "1") == 0
    panels = shown(seen[0])
    assert [axes.get_title("left") for axes in panels] == [
        f"{operation}, {how}"
        for operation in beckman.OPERATIONS
        for how in ("synchronized", "unsynchronized")
    ]
    assert len({(*axes.get_xlim(), *axes.get_ylim()) for axes in panels}) == 1
    low, high = panels[0].get_ylim()
    for axes in panels:
        assert len(axes.get_lines()) == 6
        assert all(low <= y <= high for line in axes.get_lines() for y in line.get_ydata())


def test_synchronized_noise_is_simulated_through_whole_periods() -> None:
    """The slowdown of a loop as long as whole periods is 1 + detours / time, however many processes."""
    for operation, ranks in (("barrier", 64), ("allreduce", 64), ("allreduce", 1024)):
        for ms in beckman.INTERVALS_MS:
            noise = simulator.Disturbance("physical", ms * 1e6, 2e5, coscheduled=True)
            run = beckman.run_of(operation, ranks, noise, beckman.loop_together(operation, ranks, ms))
            if run.messages > 3_000_000:
                continue
            answer = json.loads(simulator.sim([*run.words(), "--json", "-"]))
            slowdown = answer["max_ns"] / answer["quiet_max_ns"]
            assert slowdown == pytest.approx(1 / (1 - 0.2 / ms), rel=0.07), (operation, ranks, ms)


class FakeNode:
    """A node in lockstep that has ended: its output and its error output."""

    def __init__(self, folder: Path, out: str, err: str) -> None:
        self.name, self.folder = "node1", folder
        for name, text in (("out", out), ("err", err), ("klog", "")):
            (folder / name).write_text(text)

    def file(self, name: str) -> Path:
        return self.folder / name

    def ending(self) -> Any:
        return SimpleNamespace(outcome="exit", status=0, reason="")


def beaten(folder: Path, monkeypatch: pytest.MonkeyPatch, taken: int, err: str) -> beats.Beaten:
    """What is measured on a node that took `taken` beats and loses 30 operations to each."""
    quanta = beats.AHEAD + 100
    lost = {beats.AHEAD + 5 + 10 * i for i in range(taken)}
    lines = "".join(f"{i * 10**6} {15_595 if i in lost else 15_625}\n" for i in range(quanta))
    node = FakeNode(folder, f"# quantum_ns 1000000\n{lines}", err)
    done = SimpleNamespace(nodes=[node], ending=FakeNode.ending)
    log = SimpleNamespace(
        kinds=[SimpleNamespace(name="beat"), SimpleNamespace(name="map")], kind=[0] * taken + [1]
    )
    monkeypatch.setattr(beats, "cluster", lambda words, at: nullcontext((done, None)))
    monkeypatch.setattr(beats.klog, "read", lambda path: log)
    for name in ("conductor", "runner"):
        fake = SimpleNamespace(
            load=lambda: SimpleNamespace(qemu_binary=lambda which: folder / "out", RunnerError=OSError),
            program_found=lambda path: folder / "out",
        )
        monkeypatch.setattr(beats, name, fake if name == "runner" else lambda: folder / "out")
    monkeypatch.setattr(beats, "KERNEL", folder / "out")
    kept = store.Store(folder, store.Progress(0, io.StringIO()))
    return beats.measure_beats(outcome.Settings(kept, folder), 100, 100)


def test_what_beats_take_is_counted_from_before_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = beaten(tmp_path, monkeypatch, 10, "kernel_entries: 10\n")
    assert (found.beats, found.entries, found.summary.samples) == (10, 10, 100)
    assert found.summary.disturbed_quanta == 10 and (found.summary.losses.max(), found.data.counts.min()) == (
        30,
        15_595,
    )


@pytest.mark.parametrize(("taken", "err"), [(0, "kernel_entries: 0\n"), (3, ""), (3, "kernel_entries: x\n")])
def test_a_node_that_takes_no_beat_is_an_error(
    taken: int, err: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(LabError, match="took no beat, or did not count entries"):
        beaten(tmp_path, monkeypatch, taken, err)


def test_a_conductor_that_is_not_built_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beats.runner.load()
    monkeypatch.setattr(importlib.import_module("lockstep.beats"), "LIBRARY", tmp_path / "none.so")
    with pytest.raises(LabError, match="none.so: no such library; build it with `make lockstep-parts`"):
        beats.conductor()


def test_tables_write_micro_as_pictures_do() -> None:
    rows = [outcome.Row("50 us each 1 ms: of us and bus, us", None, {"x": 1.0})]
    shown_text = outcome.Outcome("T, 1 us", rows, ["16us is no word, 3 us is"]).as_text()
    assert "50 µs each 1 ms: of µs and bus, µs" in shown_text and "16us is no word, 3 µs is" in shown_text
    assert "T, 1 µs\n" in shown_text


def test_unknown_experiments_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert reproduce(tmp_path, "nonsense") == 1
    assert (
        capsys.readouterr().err
        == "lab reproduce: no such experiment: 'nonsense'; `lab reproduce list` names them\n"
    )


@pytest.mark.parametrize("largest", ["5", "25"])
def test_too_few_or_too_many_ranks_are_one_line(
    largest: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reproduce(tmp_path, "ferreira", "--largest", largest) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"lab reproduce: --largest {largest}: ") and "give 6 to 24" in said
