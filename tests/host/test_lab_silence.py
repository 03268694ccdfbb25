# SPDX-License-Identifier: BSD-2-Clause
"""Holds the lab's silent hour to its promises, with a runner that runs nothing."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from lab.bench import silence
from lab.cli import dispatch as lab
from tests.host.fake_result import FakeResult, FakeRunner, option

CORES_RUN = f"{silence.CORES_NS}ns"


def ranks_answer(entries: list[int], starts: list[int] | None = None) -> FakeResult:
    """What the run on several cores writes, ranks mixed as they come."""
    starts = starts or [1000] * len(entries)
    lines = [f"{i}: start: {start} ticks (since boot)" for i, start in enumerate(starts)]
    lines += [f"{i}: kernel_entries: {count}" for i, count in enumerate(entries)]
    return FakeResult(b"", "\n".join(lines).encode())


def silence_answer(_system: str, app: str, args: list[str], detours: int = 0, entries: int = 0) -> FakeResult:
    """What a silent Tacet writes, and a system call's detours where they are asked for."""
    if CORES_RUN in args:
        return ranks_answer([0, 0, 0, 0])
    if app == "selfish":
        period = int(option(args, "-r").removesuffix("ns")) / 1e9
        if "-k" in args:
            detours = entries = silence.CONTROLS
        rows = "".join(f"{i * 1000}\t63\n" for i in range(detours))
        text = f"# Detours: {detours}\n{rows}# Measurement period: {period:.9f} s\n"
    elif app == "ftq":
        quantum, samples = int(option(args, "-q").removesuffix("ns")), int(option(args, "-n"))
        counts = [62_500] * samples
        for i in range(detours):
            counts[2 * i] = 62_000
        text = f"# quantum_ns {quantum}\n" + "".join(
            f"{i * quantum} {count}\n" for i, count in enumerate(counts)
        )
    else:
        threshold = int(option(args, "-d").removesuffix("ns"))
        ticks = (silence.WORK_INSTRUCTIONS + 11) * threshold // silence.THRESHOLD_INSTRUCTIONS
        lengths = [ticks] * int(option(args, "-n"))
        for i in range(detours):
            lengths[2 * i] += threshold + 1
        text = f"# ticks_per_ns 1\n# threshold_ticks {threshold}\n" + "".join(
            f"{length}\n" for length in lengths
        )
    report = f"detours: {detours}\nkernel_entries: {entries}\nclock_invariant: no\nsmi: not available\n"
    return FakeResult(text.encode(), report.encode())


def be_silent(tmp_path: Path, answer: Any, *more: str) -> tuple[int, str, FakeRunner]:
    for name in ("ftq", "fwq", "selfish"):
        (tmp_path / name).write_bytes(b"")
    out, machines = io.StringIO(), FakeRunner(answer)
    argv = ["--out", str(tmp_path / "report"), "--apps", str(tmp_path), *more]
    return lab.main(["silence", *argv], machines=machines, out=out), out.getvalue(), machines


def test_silent_hour_is_reported_program_by_program(tmp_path: Path) -> None:
    status, said, machines = be_silent(tmp_path, silence_answer)
    assert status == 0 and said.count("zero detours") == 3
    figures = json.loads((tmp_path / "report/silence.json").read_text())
    for key in ("selfish", "ftq", "fwq"):
        assert (figures[key]["detours"], figures[key]["kernel_entries"]) == (0, 0)
        assert figures[key]["window_s"] == pytest.approx(3600, rel=1e-3)
    assert figures["selfish_control"]["detours"] == silence.CONTROLS
    assert [(call[1], call[3]["icount"]) for call in machines.calls] == [
        ("selfish", 10), ("selfish", 10), ("ftq", 8), ("fwq", 8), ("selfish", 4),
    ]  # fmt: skip
    assert figures["cores"]["kernel_entries"] == {"0": 0, "1": 0, "2": 0, "3": 0}
    assert machines.calls[-1][3]["cpus"] == 4 and "prefix=rank" in machines.calls[-1][3]["options"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (ranks_answer([0, 0, 7, 0]), "cores: kernel entries by rank: {2: '7'}"),
        (ranks_answer([0, 0, 0]), "cores: 4 ranks were started, but only these reported: [0, 1, 2]"),
        (ranks_answer([0] * 4, [1000, 1000, 2000, 1000]), "cores: the ranks did not begin together"),
    ],
)
def test_every_core_must_be_silent_and_begin_with_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], answer: FakeResult, said: str
) -> None:
    status, _, _ = be_silent(
        tmp_path, lambda *call: answer if CORES_RUN in call[2] else silence_answer(*call)
    )
    assert status == 1 and said in capsys.readouterr().err


@pytest.mark.parametrize("key", ["selfish", "ftq", "fwq"])
@pytest.mark.parametrize(("detours", "entries"), [(1, 0), (0, 1), (1, 1)])
def test_one_detour_or_one_kernel_entry_is_not_silence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str, detours: int, entries: int
) -> None:
    def answer(system: str, app: str, args: list[str]) -> FakeResult:
        disturbed = app == key and "-k" not in args
        return silence_answer(system, app, args, *((detours, entries) if disturbed else (0, 0)))

    status, _, _ = be_silent(tmp_path, answer)
    error = capsys.readouterr().err
    assert (
        status == 1
        and f"not silent: {key}: silence expected, but {detours} detours seen, {entries} kernel" in error
    )
    assert json.loads((tmp_path / "report/silence.json").read_text())[key]["kernel_entries"] == entries


def test_method_that_misses_system_calls_proves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(system: str, app: str, args: list[str]) -> FakeResult:
        result = silence_answer(system, app, [arg for arg in args if arg != "-k"])
        result.stderr = result.stderr.replace(b"kernel_entries: 0", b"kernel_entries: 20")
        return result if "-k" in args else silence_answer(system, app, args)

    status, _, _ = be_silent(tmp_path, answer)
    assert status == 1 and "20 system calls made, but 0 detours seen" in capsys.readouterr().err


def test_window_that_is_too_short_is_not_an_hour(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def answer(system: str, app: str, args: list[str]) -> FakeResult:
        if app == "ftq":
            args[args.index("-n") + 1] = str(int(option(args, "-n")) // 2)
        return silence_answer(system, app, args)

    status, _, _ = be_silent(tmp_path, answer)
    assert status == 1 and "ftq: only 1800" in capsys.readouterr().err


@pytest.mark.parametrize(("hours", "shift"), [(1, 0), (1, 4), (1, 8), (0.01, 4)])
def test_thresholds_scale_with_the_length_of_an_instruction(hours: float, shift: int) -> None:
    control, watch, quanta, work = silence.plan(hours, shift)
    coarse = shift + silence.SELFISH_SHIFT_MORE
    assert control.shift == watch.shift == coarse and quanta.shift == work.shift == shift
    assert option(control.args, "-d") == option(watch.args, "-d") == f"{48 << coarse}ns"
    assert option(work.args, "-d") == f"{48 << shift}ns"
    assert (
        int(option(quanta.args, "-q").removesuffix("ns")) * int(option(quanta.args, "-n")) >= hours * 3600e9
    )
    assert (16 << 18 << shift) * int(option(work.args, "-n")) >= hours * 3600e9


@pytest.mark.parametrize(
    "argv", [["--hours", "0"], ["--hours", "x"], ["--cores", "1"], ["--shift", "9"], ["--shift", "-1"]]
)
def test_wrong_hours_and_shifts_are_refused(argv: list[str]) -> None:
    with pytest.raises(SystemExit) as error:
        lab.main(["silence", *argv])
    assert error.value.code == 2


def test_a_program_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["silence", "--apps", str(tmp_path / "none")]
    assert lab.main(argv, machines=FakeRunner(silence_answer), out=io.StringIO()) == 1
    assert "no such program; build it with `make apps`" in capsys.readouterr().err
