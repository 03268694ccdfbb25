# SPDX-License-Identifier: BSD-2-Clause
"""The experiments of `lab reproduce` that measure Linux and Tacet, with few phases: they leave a table,
values and a picture, and what they find of interrupts, schedulers and daemons is what each system does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests" / "host"))

from pictures_checked import figures_seen, words_of

from lab.cli import dispatch
from lab.cli import reproduce as command
from qemu import version
from tests.making import made

pytestmark = pytest.mark.xdist_group("reproduce")

MEASURED = [experiment for experiment in command.EXPERIMENTS if experiment.measured]
Values = dict[str, dict[str, float]]
#: All that can be read in the picture of an experiment that has run here.
picture_s_words: dict[str, list[str]] = {}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One store of points for all tests here."""
    made("build/linux/version", "caches", "lockstep-parts")
    return tmp_path_factory.mktemp("reproduce")


def values(store: Path, name: str) -> Values:
    """What the experiment found, by row and column."""
    result = store / f"{name}-quick/result.json"
    if not result.is_file():
        words = ["reproduce", name, "--quick", "--out", str(store), "--thumbnails", str(store)]
        with figures_seen() as seen:
            assert dispatch.main(words) == 0
        picture_s_words[name] = words_of(seen[0])
    return {row["what"]: row["ours"] for row in json.loads(result.read_text())["rows"]}


@pytest.mark.parametrize("experiment", MEASURED, ids=lambda experiment: experiment.name)
def test_a_measured_experiment_leaves_table_values_and_picture(experiment: Any, store: Path) -> None:
    assert all(values(store, experiment.name).values())
    kept = store / f"{experiment.name}-quick"
    found = json.loads((kept / "result.json").read_text())
    assert found["title"] in (kept / "table.txt").read_text()
    assert found["title"] in (ROOT / "docs/lab/reproduce.md").read_text()
    assert found["seed"] == 1 and any(version.startswith("machines ") for version in found["version"])
    for picture in (kept / "picture.png", store / f"reproduce-{experiment.name}.png"):
        assert picture.read_bytes().startswith(b"\x89PNG")


def test_linux_ticks_as_it_should_and_its_log_explains_its_detours(store: Path) -> None:
    found = values(store, "tsafrir-table3")
    assert found["ticks a second"]["Linux"] == pytest.approx(1000, rel=0.01)
    assert found["250 Hz: ticks a second"]["Linux"] == pytest.approx(250, rel=0.02)
    # The parts are all there is, and the log makes a tick longer.
    parts = (
        "tick, direct overhead, %",
        "softirqs that the tick raises, %",
        "devices' interrupts, %",
        "kernel entry and exit, and the log, %",
    )
    whole = found["all detours, %"]["Linux"]
    assert sum(found[part]["Linux"] for part in parts) == pytest.approx(whole)
    assert found["tick, direct overhead, %"]["Linux"] > 0.5 * whole
    assert 0 < found["all detours without the log, %"]["Linux"] < whole
    entries = found["interrupts (Linux), kernel entries (Tacet) in the window"]
    assert entries["Linux"] >= 500 and entries["Tacet"] == found["all detours, %"]["Tacet"] == 0


def test_a_daemon_delays_phases_of_its_own_class_alone(store: Path) -> None:
    found = values(store, "tsafrir-fig3")
    assert found["OTHER: longest, us"]["Linux"] > 1500 > found["FIFO: longest, us"]["Linux"]
    assert found["FIFO: standard deviation, us"]["Linux"] > 0
    assert found["with the daemon: standard deviation, us"]["Tacet"] == 0


def test_delays_grow_with_the_tick_s_rate_and_go_with_what_is_subtracted(store: Path) -> None:
    found = values(store, "tsafrir-fig4")
    assert found["1000 Hz: mean delay, us"]["Linux"] == pytest.approx(
        2 * found["500 Hz: mean delay, us"]["Linux"], rel=0.1
    )
    spreads = [value["Linux"] for what, value in found.items() if what.startswith(("noisy: sta", "minus"))
               and "standard" in what]  # fmt: skip
    assert len(spreads) == 3 and spreads == sorted(spreads, reverse=True) and spreads[-1] < spreads[0] / 2


def test_every_phase_meets_a_tick_on_linux_and_none_on_tacet(store: Path) -> None:
    found = values(store, "tsafrir-fig7")
    assert found["p of a delay of more than 0.1 %"] == {"Linux": pytest.approx(1), "Tacet": 0}
    assert found["kernel entries"]["Linux"] >= 400 and found["kernel entries"]["Tacet"] == 0


def test_misses_grow_with_the_tick_s_rate_in_the_first_level_alone(store: Path) -> None:
    """As in the paper; the machines with the smallest caches suffer most, and on Tacet nothing interrupts."""
    found = values(store, "tsafrir-fig6")
    for model in ("M1", "M2, M3", "M4"):
        assert 1.8 < found[f"{model}: L1, 1000 Hz / 500 Hz"]["Linux"] < 2.1
        assert found[f"{model}: L2, 1000 Hz / 500 Hz"]["Linux"] < 1.2
        # The loop's own lines: of its code, of the readings' array, of both, or of neither: which of them
        # share a set with the tick's way is a matter of the program's layout.
        assert 0 <= found[f"  {model}: L1 misses of the program after it"]["Linux"] <= 5
    assert (
        found["M2, M3, 1000 Hz: L1 misses in a phase"]["Linux"]
        > found["M4, 1000 Hz: L1 misses in a phase"]["Linux"]
    )
    interruptions = found["interruptions of the loop"]
    assert interruptions["Linux"] >= 800 and interruptions["Tacet"] == 0
    # Eight bytes a phase: every eighth one, or on lines of 32 bytes every fourth, begins a line.
    assert found["M4, 500 Hz: L1 misses in a phase"]["Tacet"] == pytest.approx(1 / 8, rel=0.02)
    assert found["M1, 500 Hz: L1 misses in a phase"]["Tacet"] == pytest.approx(1 / 4, rel=0.02)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("begin=1", "caches: options: begin, a later end, out, and at least one caches are needed"),
        ("start=1", "caches: start=1: no such option; there are begin, end, out and caches"),
        ("caches=M1:1", "caches: caches=M1:1: a cache is BYTES/WAYS/LINE, three numbers above 0"),
    ],
)
def test_the_plugin_says_in_a_line_what_is_wrong(options: str, said: str) -> None:
    made("caches")
    words = [version.qemu_binary("newest"), "-display", "none", "-machine", "none", "-plugin"]
    done = subprocess.run(
        [*words, f"{ROOT}/build/caches.so,{options}"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode != 0 and said in done.stderr.splitlines(), done.stderr


def test_ftq_loses_to_a_daemon_of_its_own_class_alone(store: Path) -> None:
    found = values(store, "betti-fig4")
    lost = found["the same, operations"]
    assert lost["Linux, both normal"] > 2 * lost["Linux, FTQ above"] > 0
    assert lost["Tacet, both normal"] > 10 * lost["Tacet, daemon idle"]
    assert found["quanta disturbed, %"]["Tacet, daemon idle"] == 0


@pytest.mark.long
def test_a_beat_disturbs_one_quantum_and_less_than_a_tick(store: Path) -> None:
    """What the conductor sends is what FTQ loses: at each rate as many quanta as beats, each the same."""
    found = values(store, "betti-fig3")
    assert found["ticks or beats a second"] == pytest.approx(
        {"Linux, 250 Hz": 250, "Tacet, 100 Hz": 100, "Tacet, 50 Hz": 50, "Tacet, 10 Hz": 10}, abs=3.4
    )
    lost = found["the same, of 31,300"]
    beats = [lost[f"Tacet, {rate} Hz"] for rate in (100, 50, 10)]
    assert 20 < max(beats) < 1.1 * min(beats) and max(beats) < lost["Linux, 250 Hz"]
    for name, disturbed in found["quanta disturbed, %"].items():
        assert disturbed == pytest.approx(found["ticks or beats a second"][name] / 10, abs=0.4)


@pytest.mark.long
def test_numbers_in_a_picture_are_those_of_its_table(store: Path) -> None:
    found = values(store, "hoefler-fig1")
    words = picture_s_words["hoefler-fig1"]
    for name in ("CHiC", "Altix", "ZeptoOS", "Jaguar"):
        share = found[f"{name}: noise, %"]["synthetic"]
        assert name in words and any(said.endswith(f", {share:.3g} % of the time") for said in words), words
    linux = f"{found['detours a second']['Linux']:,.0f} detours a second, {found['noise, %']['Linux']:.3g} %"
    assert any(said.startswith(linux) for said in words), words
    found, words = values(store, "betti-fig3"), picture_s_words["betti-fig3"]
    for name, share in found["noise, %"].items():
        assert name in words and any(f"noise {share:.3g} %" in said for said in words), words


def test_only_linux_has_detours(store: Path) -> None:
    for name in ("hoefler-fig1", "beckman-fig3"):
        found = values(store, name)
        for what, value in found.items():
            if "noise" in what and "Tacet" in value:
                assert value["Tacet"] == 0
            if what == "noise, %":
                assert value["Linux"] > 0.01


def test_a_measurement_is_a_point_that_is_used_again(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values(store, "tsafrir-fig7")
    assert dispatch.main(["reproduce", "tsafrir-fig7", "--quick", "--out", str(store)]) == 0
    assert "2 points, 2 of them from earlier runs" in capsys.readouterr().out
