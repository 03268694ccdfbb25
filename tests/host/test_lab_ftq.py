# SPDX-License-Identifier: BSD-2-Clause
"""Holds the lab's FTQ reader, figures, picture, comparison and bench to their promises; nothing here starts a
machine.

Builds `test_ftq_analysis` and `ftq` themselves into a folder of its own, so that it needs a C compiler and
nothing else of the tree to be built.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from lab.bench import compare, costs, runner
from lab.bench.cost_figures import GETPID_MAX
from lab.cli import dispatch as lab
from lab.formats import ftq
from lab.pictures.ftq import Panel, ftq_picture
from tests.host.fake_result import FakeResult

pytestmark = pytest.mark.xdist_group("lab ftq")  # they share what is compiled

WARNINGS = ["-std=gnu11", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror"]
INCLUDES = [f"-I{ROOT / folder}" for folder in ("apps/lib", "apps/ftq", "libc/include", "tests/host")]
MILLISECOND_NS = 1_000_000


def sources(pattern: str) -> list[str]:
    return sorted(map(str, ROOT.glob(pattern)))


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a program leaves, it leaves in a folder of the test's own."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def c_analysis(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The C analysis as a program with sanitizers."""
    program = tmp_path_factory.mktemp("c") / "test_ftq_analysis"
    files = [ROOT / "tests/host/test_ftq_analysis.c", ROOT / "apps/ftq/analysis.c"]
    files += [ROOT / "apps/lib/order.c", ROOT / "apps/lib/parse.c", ROOT / "apps/lib/counters.c"]
    sanitize = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    subprocess.run(
        ["gcc", *WARNINGS, *sanitize, *INCLUDES, *map(str, files), "-o", str(program), "-lm"], check=True
    )
    return program


@pytest.fixture(scope="session")
def ftq_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """FTQ itself, for this host."""
    program = tmp_path_factory.mktemp("ftq") / "ftq"
    files = [*sources("apps/ftq/*.c"), *sources("apps/lib/*.c")]
    subprocess.run(
        ["gcc", "-O2", *WARNINGS, "-static", *INCLUDES, *files, "-lm", "-pthread", "-o", program], check=True
    )
    return program


@pytest.fixture(scope="session")
def cost_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("cost") / "cost"
    files = [
        *map(str, sorted((ROOT / "apps/cost").glob("*.c"))),
        *(str(ROOT / "apps/lib" / name) for name in ("affinity.c", "order.c", "parse.c")),
    ]
    subprocess.run(
        ["gcc", "-O2", *WARNINGS, "-static", *INCLUDES, *files, "-pthread", "-o", program], check=True
    )
    return program


def data_of(counts: list[int] | np.ndarray, quantum_ns: int = MILLISECOND_NS) -> ftq.FtqData:
    counts = np.asarray(counts, dtype=np.int64)
    return ftq.FtqData("synthetic", quantum_ns, np.arange(len(counts)) * quantum_ns, counts, (), 64)


def text_of(data: ftq.FtqData) -> str:
    lines = [f"# quantum_ns {data.quantum_ns}", "# operation_instructions 64"]
    lines += [f"# threshold_ns {data.threshold_ns}"] if data.threshold_ns else []
    lines += [f"{start} {count}" for start, count in zip(data.start_ns, data.counts)]
    return "\n".join(lines) + "\n"


def silent(samples: int = 400) -> ftq.FtqData:
    """A silent core: the beat of the grid and nothing else."""
    return data_of([15625 - (i % 6 == 0) for i in range(samples)])


def ticking(samples: int = 400) -> ftq.FtqData:
    """A core with a tick in every fourth quantum."""
    return data_of([15625 - (40 if i % 4 == 1 else i % 6 == 0) for i in range(samples)])


# The C programs


def test_c_analysis_holds_its_definitions(c_analysis: Path) -> None:
    done = subprocess.run([c_analysis], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"ftq_analysis: \d+ passed, 0 failed\n", done.stdout)


def test_operation_has_as_many_instructions_as_it_says(ftq_program: Path) -> None:
    listing = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", "--disassemble=grid_measure", ftq_program],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    addresses: list[int] = []
    loops: list[int] = []
    for line in listing.splitlines():
        match = re.match(r"\s+([0-9a-f]+):\s+(\S+)\s*(\S*)", line)
        if not match:
            continue
        address = int(match[1], 16)
        addresses.append(address)
        if match[2] == "jb" and int(match[3], 16) < address:
            first = addresses.index(int(match[3], 16))
            body = addresses[first:]
            if len(body) > 30:
                loops.append(len(body))
    stated = re.search(r"#define OPERATION_INSTRUCTIONS (\d+)", (ROOT / "apps/lib/cycles.h").read_text())
    assert stated and int(stated[1]) <= 300
    assert loops and set(loops) == {int(stated[1])}


def test_same_data_gives_same_figures_in_c_and_python(c_analysis: Path) -> None:
    random = np.random.default_rng(2026)
    for quantum_ns in (MILLISECOND_NS, 333_333):
        for _ in range(20):
            samples = int(random.integers(1, 600))
            counts = np.where(random.random(samples) < 0.3, 999, 1000)
            hit = random.random(samples) < random.random() * 0.5
            counts[hit] = random.integers(0, 1000, hit.sum())
            counts[random.random(samples) < 0.1] = 0
            if random.random() < 0.5:  # as a real machine has it: undisturbed quanta differ
                counts = counts * 60 - (counts > 0) * random.integers(0, random.choice([5, 900]), samples)
                counts = np.maximum(counts, 0)
            text = "\n".join(map(str, counts))
            threshold_ns = int(random.choice([0, 0, 1_000, quantum_ns // 7]))
            done = subprocess.run(
                [c_analysis, "--analyse", str(quantum_ns), str(threshold_ns)],
                input=text,
                capture_output=True,
                text=True,
            )
            data = replace(data_of(counts, quantum_ns), threshold_ns=threshold_ns or None)
            if done.returncode:
                with pytest.raises(ftq.FtqError):
                    ftq.summarise(data)
                continue
            summary = ftq.summarise(data)
            for line in done.stdout.splitlines():
                key, value = line.split()
                assert getattr(summary, key) == pytest.approx(float(value), rel=1e-12, abs=0), key


def test_ftq_on_this_host_agrees_with_the_reader(ftq_program: Path, tmp_path: Path) -> None:
    # Quanta in which it gets a CPU on a busy host, too.
    prefix = tmp_path / "here"
    done = subprocess.run(
        [ftq_program, "-n", "50", "-q", "20ms", "-o", prefix], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    (data,) = ftq.read(f"{prefix}_0.dat")
    report = ftq.parse_report(done.stderr)
    summary = ftq.summarise(data)
    assert data.quantum_ns == 20_000_000 and len(data.counts) == 50
    assert data.start_ns.tolist() == [i * 20_000_000 for i in range(50)]
    assert data.operation_instructions == int(report["operation_instructions"])
    for reported, computed in compare.CHECKED:
        assert report[reported] == str(getattr(summary, computed))
    assert float(report["noise_ratio"]) == pytest.approx(summary.noise_ratio, abs=1e-9)
    assert report["kernel_entries"].isdigit() or report["kernel_entries"] == "not available"


def test_a_shortest_loss_that_counts_is_in_the_file(ftq_program: Path, tmp_path: Path) -> None:
    # On a busy host, too, it gets a CPU in most of these quanta, of which the median counts.
    command = [ftq_program, "-n", "20", "-q", "100ms", "-d", "25ms", "-o", tmp_path / "here"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (data,) = ftq.read(tmp_path / "here_0.dat")
    report, summary = ftq.parse_report(done.stderr), ftq.summarise(data)
    assert data.threshold_ns == 25_000_000
    assert abs(summary.disturbed_from - summary.nominal_count / 4) <= 1
    for reported, computed in compare.CHECKED:
        assert report[reported] == str(getattr(summary, computed))
    done = subprocess.run([ftq_program, "-d", "1ms"], capture_output=True, text=True)
    assert done.returncode == 2 and "no quantum of 1000000 ns can lose more" in done.stderr


def test_ftq_measures_two_cpus_on_one_grid(ftq_program: Path) -> None:
    done = subprocess.run(
        [ftq_program, "-n", "20", "-q", "50ms", "-t", "2", "-s"], capture_output=True, text=True
    )
    if done.returncode == 2:
        pytest.skip("one CPU only")
    assert done.returncode == 0, done.stderr
    blocks = ftq.parse(done.stdout, "two")
    assert [len(block.counts) for block in blocks] == [20, 20]
    assert done.stderr.count("kernel_entries:") == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-n", "0"], "ftq: -n 0: give a whole number from 1 to 10000000"),
        (["-n", ""], "ftq: -n '': give a whole number"),
        (["-q", "5parsecs"], "ftq: -q 5parsecs: give a time from 1ns to 3600s"),
        (["-q", "20ns"], "ftq: -q 20ns: an operation lasts"),
        (["-f", "0"], "ftq: -f 0: give a number above 0"),
        (["-f", "1e-9"], "ftq: -f 1e-9: give at least"),
        (["-q", "1ms", "-f", "10"], "ftq: -f 10: the quantum is given already"),
        (["-c", "3-1"], "ftq: -c 3-1: give CPU numbers"),
        (["-c", "60000"], "ftq: -c 60000: CPU 60000 is not one this program may use"),
        (["-t", "256"], "ftq: -t 256: there is one thread a CPU"),
        (["-T", "fast"], "ftq: -T fast: give a number above 0"),
        (["-o", ""], "ftq: -o '': give the beginning of a file name"),
        (["-o", "x", "-s"], "ftq: -o x: -s writes to standard output"),
        (["-n"], "ftq: -n needs a value"),
        (["-y"], "ftq: -y is no option"),
        (["now"], "ftq: now: ftq takes options only"),
    ],
)
def test_ftq_refuses_a_bad_option_in_one_line(ftq_program: Path, options: list[str], said: str) -> None:
    done = subprocess.run([ftq_program, *options], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(said) and done.stderr.count("\n") == 1


def test_cost_reports_the_empty_system_call(cost_program: Path) -> None:
    """Everything that holds at any speed is demanded of every run. That a call costs more than none is
    demanded of one run of many: on a busy machine the clock readings that are taken off may have been slower
    than the calls, but not always."""
    for _ in range(20):
        done = subprocess.run([cost_program, "-n", "10000", "-m", "1000000"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        values = costs.parse_cost(done.stdout)
        if values["getpid_ticks_min"] > 0 and values["getpid_ticks_median"] > 0:
            break
    assert values["getpid_ticks_min"] > 0 and values["getpid_ticks_median"] > 0
    assert values["getpid_calls"] == 10000 and values["main_ticks"] > 0
    assert (
        values["memory_gone_bytes"] == (1000000 << 20) - values["mem_free_bytes"]
        and values["mem_free_bytes"] <= values["mem_total_bytes"]
    )
    assert (
        0
        <= values["sleep_exact_late_min_ns"]
        <= values["sleep_exact_late_median_ns"]
        <= values["sleep_exact_late_max_ns"]
    )
    done = subprocess.run([cost_program, "-b", "64"], capture_output=True, text=True)
    values = costs.parse_cost(done.stdout)
    assert (
        done.returncode == 0 and 0 < values["map_small_page_ticks"] and 0 < values["map_large_page_ticks"]
    ), done.stderr
    done = subprocess.run([cost_program, "-s"], capture_output=True, text=True)
    values = costs.parse_cost(done.stdout)
    for cost in ("futex_switch", "wake_over_idle"):
        assert done.returncode == 0 and 0 < values[f"{cost}_ticks_min"] <= values[f"{cost}_ticks_median"], (
            done.stderr
        )
    done = subprocess.run([cost_program, "-w"], capture_output=True, text=True)
    if len(os.sched_getaffinity(0)) > 1:
        values = costs.parse_cost(done.stdout)
        assert (
            done.returncode == 0 and 0 < values["futex_wake_ticks_min"] <= values["futex_wake_ticks_median"]
        ), done.stderr
    done = subprocess.run(
        ["taskset", "-c", str(min(os.sched_getaffinity(0))), cost_program, "-w"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and done.stdout == "" and "there is only one" in done.stderr
    assert subprocess.run([cost_program, "-n", "x"], capture_output=True).returncode == 2


# Reader


def test_public_tool_files_are_read() -> None:
    text = "# Frequency 1000.000000\n# Ticks per ns: 2.6\n# core 3\n7000123 31300\n8000123 31299\n9000123 0\n"
    (data,) = ftq.parse(text, "public")
    assert data.quantum_ns == MILLISECOND_NS
    assert data.counts.tolist() == [31300, 31299, 0]
    assert data.operation_instructions is None
    (bare,) = ftq.parse("0 5\n500 6\n1000 5\n", "bare")
    assert bare.quantum_ns == 500
    (wrong,) = ftq.parse("# Frequency 10000\n0 5\n500 6\n1000 5\n", "wrong")
    assert wrong.quantum_ns == 500  # the samples are right, not the header


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "broken.dat: no samples"),
        ("# only a header\n", "broken.dat: no samples"),
        ("# q\n0 5\n1000 five\n", "broken.dat:3: not a sample"),
        ("0 5\n1000\n", "broken.dat:2: not a sample"),
        ("0 5 6\n", "broken.dat:1: not a sample"),
        ("0 -5\n", "broken.dat:1: not a sample"),
        ("0 99999999999999999999\n", "broken.dat:1: not a sample"),
        ("1000 5\n0 5\n", "broken.dat:2: time runs backwards"),
        ("7 5\n", "broken.dat: neither the header nor the samples give the length of a quantum"),
    ],
)
def test_broken_file_is_named_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "broken.dat").write_text(text)
    with pytest.raises(ftq.FtqError) as error:
        ftq.read(tmp_path / "broken.dat")
    assert str(error.value).startswith(f"{tmp_path}/{said}")


def test_file_that_is_no_text_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "image.dat").write_bytes(b"0 5\n\xff\xfe\n")
    with pytest.raises(ftq.FtqError, match=r"image.dat:2: not text"):
        ftq.read(tmp_path / "image.dat")


# Figures


def test_known_losses_give_known_figures() -> None:
    counts = [1000] * 100
    counts[5] = 999
    counts[10], counts[11], counts[12] = 400, 0, 700
    counts[50] = 990
    summary = ftq.summarise(data_of(counts))
    assert summary.nominal_count == 1000
    assert (summary.disturbed_quanta, summary.detours, summary.lost_quanta) == (4, 2, 1)
    assert (summary.largest_loss, summary.largest_loss_at) == (1900, 10)
    assert summary.noise_ratio == pytest.approx(1910 / 100_000)
    assert summary.raw_ratio == pytest.approx(1911 / 100_000)
    assert summary.detours_per_second == pytest.approx(20)


def test_silent_data_has_zero_detours() -> None:
    summary = ftq.summarise(silent())
    assert summary.disturbed_quanta == summary.detours == summary.largest_loss == 0
    assert summary.noise_ratio == 0 < summary.raw_ratio <= summary.floor_ratio


def test_report_is_read_without_units_and_remarks() -> None:
    report = ftq.parse_report(
        "noise\nthread: 0\nquantum: 1000000 ns\ndetours: 0 (zero detours)\nkernel_entries: not available\n"
        "thread: 1\nquantum: 7 ns\n"
    )
    assert report == {"thread": "0", "quantum": "1000000", "detours": "0", "kernel_entries": "not available"}


# Picture


def test_picture_is_a_png_of_the_stated_width_as_high_as_it_needs(tmp_path: Path) -> None:
    panels = [Panel("tacet", "Tacet", silent(), ftq.summarise(silent()))]
    panels += [Panel("linux", "Linux", ticking(), ftq.summarise(ticking()), remark="a remark")]
    panels += [Panel("linux_tuned", "Linux, tuned", absent="no such machine")]
    ftq_picture(panels, tmp_path / "ftq.png")
    image = (tmp_path / "ftq.png").read_bytes()
    assert image[:8] == b"\x89PNG\r\n\x1a\n" and int.from_bytes(image[16:20], "big") == 1400
    assert 750 < int.from_bytes(image[20:24], "big") < 1000


def test_picture_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no system"):
        ftq_picture([Panel("tacet", "Tacet", absent="x")], tmp_path / "ftq.png")


# Comparison and bench, with a runner that runs nothing


class FakeRunner:
    """Answers with what it was given; `systems` holds a FakeResult or an exception for each."""

    class RunnerError(Exception):
        pass

    def __init__(self, **systems: Any) -> None:
        self.systems = systems
        self.calls: list[tuple[str, list[str], dict[str, Any]]] = []

    def _answer(self, key: str, args: list[str], keywords: dict[str, Any]) -> Any:
        self.calls.append((key, list(args), keywords))
        answer = self.systems[
            {"-b": "map_", "-w": "wake_", "-s": "share_", "-t": "timers_"}.get(args[0] if args else "", "")
            + key
        ]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def run_tacet(self, app: Path, args: list[str], **keywords: Any) -> Any:
        return self._answer("tacet", args, keywords)

    def run_linux(self, app: Path, args: list[str], *, variant: str = "stock", **keywords: Any) -> Any:
        key = "linux_tuned" if variant == "tuned" else "linux"
        if keywords.get("options") == "mitigations=off":
            key = "linux_mitigations_off"
        return self._answer(key, args, keywords)


def ftq_result(data: ftq.FtqData, kernel_entries: str = "0") -> FakeResult:
    summary = ftq.summarise(data)
    report = (
        f"thread: 0\nsamples: {summary.samples}\nkernel_entries: {kernel_entries}\nkernel_entries_LOC: "
        "9 (x)\n"
    )
    report += "".join(
        f"{reported}: {getattr(summary, computed)} units\n" for reported, computed in compare.CHECKED
    )
    return FakeResult(stdout=text_of(data).encode(), stderr=report.encode())


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program"
    path.write_bytes(b"\x7fELF")
    return path


def run_compare(machines: FakeRunner, program: Path, tmp_path: Path, *words: str) -> tuple[int, str]:
    out = io.StringIO()
    argv = ["--out", str(tmp_path / "report"), "--ftq", str(program), "--samples", "400", "--quantum", "1ms"]
    return lab.main(["compare", *argv, *words], machines=machines, out=out), out.getvalue()


def test_compare_writes_figures_picture_and_raw_data(program: Path, tmp_path: Path) -> None:
    machines = FakeRunner(
        tacet=ftq_result(silent()), linux=ftq_result(ticking(), "100"), linux_tuned=ftq_result(silent(), "3")
    )
    status, said = run_compare(machines, program, tmp_path)
    assert status == 0
    assert "zero detours" in said and "100 of 400" in said and "[1/3] FTQ on Tacet" in said
    folder = tmp_path / "report"
    figures = json.loads((folder / "ftq.json").read_text())
    assert list(figures) == ["tacet", "linux", "linux_tuned", "arch", "command"]
    assert figures["tacet"]["disturbed_quanta"] == 0 and figures["linux"]["disturbed_quanta"] == 100
    assert figures["linux"]["max_loss_ns"] == pytest.approx(40 * 64, rel=1e-3)
    assert figures["linux"]["kernel_entries"] == 100 and figures["linux"]["kernel_entries_by_cause"] == {
        "LOC": 9
    }
    assert figures["tacet"]["noise_ratio"] == 0 and figures["tacet"]["quantum_ns"] == MILLISECOND_NS
    assert figures["tacet"]["operation_instructions"] == 64
    assert figures["command"].startswith("tools/lab compare --out")
    assert (folder / "ftq.png").read_bytes()[:4] == b"\x89PNG"
    for key in ("tacet", "linux", "linux_tuned"):
        assert ftq.read(folder / f"ftq-{key}.dat")[0].quantum_ns == MILLISECOND_NS
        assert "last words of the console" in (folder / f"ftq-{key}.log").read_text()
    for key, args, keywords in machines.calls:
        turns = [] if key != "linux_tuned" else ["-d", "1000ns"]
        assert args == ["-n", "400", "-q", "1000000ns", "-s", *turns]
        assert keywords.get("turns_ns", 0) == (1000 if turns else 0)
        assert keywords["icount"] == 0 and keywords["memory"] == "256M"


def test_a_column_whose_turns_nobody_bounds_is_marked(program: Path, tmp_path: Path) -> None:
    """By default they are bounded: the file states from which loss on it counts, and nothing is marked."""
    (tmp_path / "turns").mkdir()
    bounded = ftq_result(replace(ticking(), threshold_ns=1_000))
    systems = {"tacet": ftq_result(silent()), "linux": ftq_result(ticking(), "100")}
    status, said = run_compare(FakeRunner(**systems, linux_tuned=bounded), program, tmp_path / "turns")
    figures = json.loads((tmp_path / "turns/report/ftq.json").read_text())["linux_tuned"]
    assert status == 0 and "take turns of 1 µs" in said and "Linux, tuned *" not in said
    assert (figures["turns_ns"], figures["remark"]) == (1_000, "") and figures["disturbed_quanta"] == 100
    machines = FakeRunner(**systems, linux_tuned=ftq_result(ticking()))
    status, said = run_compare(machines, program, tmp_path, "--turns", "off")
    figures = json.loads((tmp_path / "report/ftq.json").read_text())["linux_tuned"]
    assert status == 0 and "Linux, tuned *" in said and "take turns of any length" in said
    assert figures["turns_ns"] == 0 and figures["remark"] and "-d" not in machines.calls[-1][1]


@pytest.mark.parametrize("text", ["", "0", "500ns", "1ms", "10"])
def test_turns_that_cannot_be_are_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        lab.main(["compare", "--turns", text])
    assert error.value.code == 2 and "give a" in capsys.readouterr().err


def test_compare_fails_when_linux_is_silent_too(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machines = FakeRunner(
        tacet=ftq_result(silent()), linux=ftq_result(silent()), linux_tuned=ftq_result(silent())
    )
    status, said = run_compare(machines, program, tmp_path)
    assert status == 1
    assert "cannot see noise here" in capsys.readouterr().err
    assert "disturbed quanta" in said  # the figures are shown all the same


def test_system_that_cannot_run_is_a_column_with_the_reason(program: Path, tmp_path: Path) -> None:
    absent = FakeRunner.RunnerError("needs QEMU 10")
    machines = FakeRunner(tacet=ftq_result(silent()), linux=ftq_result(ticking()), linux_tuned=absent)
    status, said = run_compare(machines, program, tmp_path)
    assert status == 0
    assert "Linux, tuned: absent: needs QEMU 10" in said
    assert json.loads((tmp_path / "report/ftq.json").read_text())["linux_tuned"] == {
        "absent": "needs QEMU 10"
    }


def test_noise_in_every_quantum_is_not_passed_over(program: Path, tmp_path: Path) -> None:
    linux = ftq_result(ticking())
    linux.stderr += b"shortfall_ratio: 0.000593 (best quanta against the calibrated operation)\n"
    machines = FakeRunner(tacet=ftq_result(silent()), linux=linux, linux_tuned=FakeRunner.RunnerError("x"))
    status, said = run_compare(machines, program, tmp_path)
    assert status == 0
    assert "Linux: even the best quanta lack 0.059 %" in said and "Tacet: even" not in said


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (
            FakeResult(outcome="timeout", status=None, reason="no end within 9 s"),
            "Tacet: timeout: no end within 9 s",
        ),
        (FakeResult(status=1, stderr=b"ftq: no clock\n"), "ftq: no clock"),
        (FakeResult(stdout=b"0 5\nrubbish\n"), "ftq-tacet.dat:2: not a sample"),
        (FakeRunner.RunnerError("there is no kernel"), "Tacet: there is no kernel"),
    ],
)
def test_failing_run_shows_the_end_of_its_console(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], broken: Any, said: str
) -> None:
    status, _ = run_compare(FakeRunner(tacet=broken), program, tmp_path)
    error = capsys.readouterr().err
    assert status == 1
    assert said in error and "Traceback" not in error
    if isinstance(broken, FakeResult):
        assert "last words of the console" in error


def test_lost_output_is_noticed(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = ftq_result(ticking())
    result.stdout = result.stdout[: len(result.stdout) // 2].rsplit(b"\n", 1)[0] + b"\n"
    status, _ = run_compare(FakeRunner(tacet=result), program, tmp_path)
    assert status == 1
    assert "output was lost" in capsys.readouterr().err


def test_missing_program_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_compare(FakeRunner(), tmp_path / "nothing", tmp_path)[0] == 1
    assert "no such program" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["--samples", "0"], ["--samples", "many"], ["--quantum", "1 parsec"]])
def test_compare_refuses_bad_options(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        lab.main(["compare", *argv])
    assert ended.value.code == 2
    assert "give" in capsys.readouterr().err


def cost_result(late_ns: int = 400, **values: int) -> FakeResult:
    values |= {
        f"sleep_{which}_late_{part}_ns": late_ns
        for which in ("exact", "default")
        for part in ("min", "median", "max")
    }
    return FakeResult(stdout="".join(f"{key} {value}\n" for key, value in values.items()).encode())


@pytest.mark.parametrize(
    ("wake_linux", "expected"),
    [
        (cost_result(futex_wake_ticks_min=4_428), 4_428),
        (FakeRunner.RunnerError("needs QEMU 10"), "absent: needs QEMU 10"),
    ],
)
def test_bench_writes_figures_with_their_aims(
    wake_linux: Any, expected: int | str, program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machines = FakeRunner(
        tacet=cost_result(
            getpid_ticks_min=40,
            signal_ticks=900,
            clock_gettime_ticks_min=80,
            clock_gettime_kernel_ticks_min=170,
            main_ticks=12_000_000,
            boot_ticks=5_000_000,
            boot_to_main_ticks=7_000_000,
            zeroed_bytes_before_main=8_000_000,
            kernel_bytes=1_500_000,
            klog_event_ticks=39,
        ),
        linux=cost_result(
            52_000,
            getpid_ticks_min=306,
            signal_ticks=3000,
            clock_gettime_ticks_min=90,
            clock_gettime_kernel_ticks_min=400,
            main_ticks=2_005_000_000,
            memory_gone_bytes=80_000_000,
        ),
        linux_mitigations_off=cost_result(
            getpid_ticks_min=300,
            signal_ticks=2900,
            clock_gettime_ticks_min=90,
            clock_gettime_kernel_ticks_min=400,
            main_ticks=1,
            memory_gone_bytes=1,
        ),
        map_tacet=cost_result(map_small_page_ticks=900, map_large_page_ticks=517),
        map_linux=cost_result(map_small_page_ticks=9_500, map_large_page_ticks=8_300),
        wake_tacet=cost_result(futex_wake_ticks_min=841),
        wake_linux=wake_linux,
        share_tacet=cost_result(futex_switch_ticks_min=2_801, wake_over_idle_ticks_min=2_101),
        share_linux=cost_result(futex_switch_ticks_min=4_801, wake_over_idle_ticks_min=4_101),
        timers_tacet=cost_result(
            timer_arm_ticks=604,
            timer_disarm_ticks=504,
            timer_expire_ticks=683,
            crowd_sleeps=1000,
            crowd_interrupts=1,
        ),
        timers_linux=cost_result(timer_arm_ticks=1_204, timer_disarm_ticks=1_104, timer_expire_ticks=6_083),
    )
    kernel = tmp_path / "tacet.elf"
    (tmp_path / "k.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", "-g", str(tmp_path / "k.c"), "-o", kernel], check=True)
    out = io.StringIO()
    argv = ["--out", str(tmp_path / "report"), "--cost", str(program), "--kernel", str(kernel)]
    assert lab.main(["bench", *argv], machines=machines, out=out) == 0, capsys.readouterr().err
    found = json.loads((tmp_path / "report/bench.json").read_text())
    assert found["getpid_instructions"] == {"tacet": 40, "linux": 306, "linux_mitigations_off": 300}
    assert found["klog_event_instructions"] == 39
    assert found["timer_instructions"] == {
        "arm": {"tacet": 604, "linux": 1_204},
        "disarm": {"tacet": 504, "linux": 1_104},
        "expire": {"tacet": 683, "linux": 6_083},
    }
    assert found["sleep_crowd"] == {"sleeps": 1000, "interrupts": 1}
    assert (
        found["sleep_exact_late_ns"]["tacet"]["max"] == 400
        and found["sleep_exact_late_ns"]["linux"]["max"] == 52_000
    )
    assert found["boot_instructions"] == {
        "tacet": 7_000_000, "tacet_without_zeroing": 6_000_000, "linux": 2_000_000_000,
    }  # fmt: skip
    assert found["kernel_memory_bytes"] == {"tacet": 1_500_000, "linux": 80_000_000}
    assert 0 < found["kernel_image_bytes"] < kernel.stat().st_size
    assert (
        found["sloc"]["drivers"] > 0
        and found["sloc"]["silent core"] > 0
        and "\nsilent core " in out.getvalue()
    )
    said = out.getvalue()
    for text in (f"<= {GETPID_MAX}", "< 8,000,000", "Kitten 45", "end of the firmware"):
        assert text in said, said
    assert found["map_page_instructions"]["small"] == {"tacet": 900, "linux": 9_500}
    assert found["map_page_instructions"]["large"] == {"tacet": 517, "linux": 8_300}
    assert found["futex_wake_instructions"] == {"tacet": 841, "linux": expected}
    assert found["futex_switch_instructions"] == {"tacet": 2_801, "linux": 4_801}
    assert found["wake_over_idle_instructions"] == {"tacet": 2_101, "linux": 4_101}
    assert "2,801" in said and "4,101" in said
    assert all(keywords["cpus"] == 2 for _, args, keywords in machines.calls if args == ["-w"])
    assert (f"{expected:,}" if isinstance(expected, int) else expected) in said
    of_cost = [args for _, args, _ in machines.calls if args[:1] not in (["-b"], ["-w"], ["-s"], ["-t"])]
    assert len(of_cost) == 3 and all(args == ["-m", "256"] for args in of_cost)


def test_bench_says_what_a_program_did_not_print(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machines = FakeRunner(
        tacet=cost_result(
            getpid_ticks_min=40,
            signal_ticks=900,
            clock_gettime_ticks_min=80,
            clock_gettime_kernel_ticks_min=170,
            main_ticks=1,
        )
    )
    argv = ["--out", str(tmp_path / "report"), "--cost", str(program), "--kernel", sys.executable]
    assert lab.main(["bench", *argv], machines=machines, out=io.StringIO()) == 1
    assert "does not print boot_ticks" in capsys.readouterr().err


def test_runner_has_what_the_lab_asks_for() -> None:
    machines = runner.load()
    assert callable(machines.run_tacet) and callable(machines.run_linux)
    assert issubclass(machines.RunnerError, Exception)
