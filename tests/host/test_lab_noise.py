# SPDX-License-Identifier: BSD-2-Clause
"""Holds FWQ, selfish and phase, the lab's readers of them and the phase comparison to their promises; nothing
here starts a machine.

Builds the programs themselves into a folder of its own, so that it needs a C compiler and nothing else of the
tree to be built.
"""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from lab.cli import dispatch as lab
from lab.common.errors import DataError
from lab.formats import fwq, phase, selfish
from lab.formats.ftq import parse_report
from lab.pictures.survival import SurvivalCurves, survival_picture
from tests.host.fake_result import FakeResult, FakeRunner, option

#: What they share is compiled once.
pytestmark = pytest.mark.xdist_group("lab noise")

WARNINGS = ["-std=gnu11", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror"]
INCLUDES = [f"-I{ROOT / folder}" for folder in ("apps/lib", "libc/include", "tests/host")]


def built(folder: Path, program: str, patterns: list[str], options: list[str]) -> Path:
    files = [str(path) for pattern in patterns for path in sorted(ROOT.glob(pattern))]
    flags = ["-O2", *WARNINGS, *options, *INCLUDES]
    command = ["gcc", *flags, *files, "-lm", "-pthread", "-o", str(folder / program)]
    subprocess.run(command, check=True)
    return folder / program


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The benchmarks, built for this host in the usual way."""
    folder = tmp_path_factory.mktemp("apps")
    return {
        name: built(folder, name, [f"apps/{name}/*.c", "apps/lib/*.c"], ["-static"])
        for name in ("fwq", "selfish", "phase")
    }


@pytest.fixture(scope="session")
def c_analysis(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The C analyses as programs with sanitizers."""
    folder = tmp_path_factory.mktemp("analysis")
    sanitize = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    sources = {"fwq_analysis": "apps/fwq/analysis.c", "phase_distribution": "apps/phase/distribution.c"}
    return {
        name: built(folder, name, [f"tests/host/test_{name}.c", source, "apps/lib/order.c"], sanitize)
        for name, source in sources.items()
    }


def phase_text(grain_ns: int, rows: list[tuple[int, int]], calibrated_ns: float | None = None) -> str:
    head = [
        f"# grain_ns {grain_ns}", f"# calibrated_ns {calibrated_ns or grain_ns:.3f}",
        f"# phases {sum(count for _, count in rows)}", "# ticks_per_ns 1", "# ticks\tphases",
    ]  # fmt: skip
    return "\n".join([*head, *(f"{ticks}\t{count}" for ticks, count in rows)]) + "\n"


def phase_report(text: str, entries: int) -> str:
    lines = []
    for block in phase.parse(text, "given"):
        lines += [f"grain: {block.grain_ns} ns", "thread: 0", f"phases: {block.count}"]
        lines += [f"p_{round(100 * d)}_percent: {phase.probability(block, d):.9f} (…)" for d in phase.DELAYS]
        lines += [f"kernel_entries: {entries}"]
    return "\n".join(lines) + "\n"


# The programs


def test_fwq_sees_all_the_time(programs: dict[str, Path], tmp_path: Path) -> None:
    prefix = tmp_path / "here"
    done = subprocess.run(
        [programs["fwq"], "-n", "40", "-w", "12", "-o", prefix], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    (data,) = fwq.read(f"{prefix}_0_times.dat")
    report = parse_report(done.stderr)
    summary = fwq.summarise(data)
    assert len(data.ticks) == 40 and data.work_instructions == 16 << 12 == int(report["work_instructions"])
    assert data.ticks_per_ns and summary.total / data.ticks_per_ns == pytest.approx(
        float(report["window"]), rel=1e-6
    )
    assert report["disturbed_samples"] == str(summary.disturbed)
    assert int(report["maximum_at"]) == summary.maximum_at
    assert report["nominal"] == str(summary.nominal) and report["threshold"] == str(data.threshold_ticks)
    assert report["kernel_entries"].isdigit() or report["kernel_entries"] == "not available"
    assert "smi" in report and "clock_step" in report and "clock_invariant" in report


def test_fwq_without_header_is_ticks_only(programs: dict[str, Path]) -> None:
    done = subprocess.run([programs["fwq"], "-n", "5", "-w", "8", "-s", "-H"], capture_output=True, text=True)
    assert done.returncode == 0 and re.fullmatch(r"(\d+\n){5}", done.stdout)


def test_fwq_work_has_as_many_instructions_as_it_says(programs: dict[str, Path]) -> None:
    assert loop_lengths(programs["fwq"], "intervals_measure")[0] == 16


def test_phase_and_fwq_run_the_same_work(programs: dict[str, Path]) -> None:
    assert loop_lengths(programs["phase"], "intervals_measure")[0] == 16


def test_selfish_loop_has_as_many_instructions_as_it_says(programs: dict[str, Path]) -> None:
    assert loop_lengths(programs["selfish"], "window_watch")[0] == 11


def loop_lengths(program: Path, function: str) -> list[int]:
    """Instructions of the loops in a function: of each jump backwards, the innermost first."""
    listing = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}", program],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    addresses: list[int] = []
    lengths: list[int] = []
    for line in listing.splitlines():
        match = re.match(r"\s+([0-9a-f]+):\s+(\S+)\s*(\S*)", line)
        if not match:
            continue
        addresses.append(int(match[1], 16))
        if (
            match[2].startswith("j")
            and re.fullmatch("[0-9a-f]+", match[3])
            and int(match[3], 16) in addresses
        ):
            lengths.append(len(addresses) - addresses.index(int(match[3], 16)))
    return lengths


def test_selfish_ends_after_its_time_and_agrees_with_the_reader(programs: dict[str, Path]) -> None:
    done = subprocess.run(
        [programs["selfish"], "-r", "50ms", "-s"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    (data,) = selfish.parse(done.stdout, "here")
    report = parse_report(done.stderr)
    summary = selfish.summarise(data)
    assert 50e6 <= data.period_ns and float(report["window"]) == pytest.approx(data.period_ns, abs=2)
    assert report["detours"] == str(summary.detours)
    assert data.threshold_ns == pytest.approx(float(report["threshold"]))
    if summary.detours:
        assert float(report["detour_maximum"]) == summary.maximum_ns
        assert float(report["detour_median"]) == summary.quantiles_ns["median"]
        # The file has whole ns: on a busy machine, whose detours are many, their roundings add up.
        rounding = summary.detours / data.period_ns
        assert summary.noise_ratio == pytest.approx(float(report["noise_ratio"]), abs=1e-5 + rounding)
    assert report["clock_backwards"] == "0"


def test_selfish_says_zero_detours_in_so_many_words(programs: dict[str, Path]) -> None:
    # Only a machine that stands still for a minute could show one.
    done = subprocess.run(
        [programs["selfish"], "-r", "5ms", "-d", "60s", "-s"], capture_output=True, text=True
    )
    assert done.returncode == 0 and "detours: 0 (zero detours)" in done.stderr
    (data,) = selfish.parse(done.stdout, "silent")
    assert len(data.start_ns) == data.found == 0
    assert "# CPU overhead due to noise: 0.000000000%" in done.stdout
    summary = selfish.summarise(data)
    assert summary.detours == summary.maximum_ns == summary.noise_ratio == 0


def test_selfish_counts_detours_that_it_has_no_room_for(programs: dict[str, Path]) -> None:
    done = subprocess.run(
        [programs["selfish"], "-r", "1s", "-k", "1ms", "-n", "3", "-s"], capture_output=True, text=True
    )
    report = parse_report(done.stderr)
    (data,) = selfish.parse(done.stdout, "full")
    assert len(data.start_ns) == 3 and data.found == int(report["detours"]) > 3
    assert int(report["detours_not_listed"]) == data.found - 3
    assert int(report["controls"]) > 3
    assert selfish.summarise(data).detours == data.found


def test_phase_agrees_with_the_reader(programs: dict[str, Path]) -> None:
    args = ["-g", "2us,50us", "-l", "20ms", "-N", "1,1000", "-s"]
    done = subprocess.run([programs["phase"], *args], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    blocks = phase.parse(done.stdout, "here")
    reports = phase.parse_reports(done.stderr)
    phase.check_reports("here", blocks, reports)
    assert [block.count for block in blocks] == [10_000, 400]
    for block, report in zip(blocks, reports):
        assert float(report["minimum"]) == pytest.approx(block.minimum_ns, abs=0.06)
        assert float(report["mean"]) == pytest.approx(block.mean_ns, abs=0.06)
        for nodes in (1, 1000):
            assert float(report[f"slowdown_{nodes}_nodes"]) == pytest.approx(
                phase.slowdown(block, nodes), rel=1e-4
            )


def test_programs_measure_two_cpus_together(programs: dict[str, Path]) -> None:
    runs = {
        "fwq": ["-n", "20", "-w", "10"],
        "selfish": ["-r", "5ms"],
        "phase": ["-g", "10us,20us", "-l", "1ms"],
    }
    for name, args in runs.items():
        done = subprocess.run(
            [programs[name], *args, "-t", "2", "-s"], capture_output=True, text=True, timeout=60
        )
        if done.returncode == 2:
            pytest.skip("one CPU only")
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("kernel_entries:") == (4 if name == "phase" else 2)
        read = {"fwq": fwq.parse, "selfish": selfish.parse, "phase": phase.parse}[name]
        assert len(read(done.stdout, name)) == (4 if name == "phase" else 2)


def test_rank_is_reported_and_waits_for_the_clock(programs: dict[str, Path]) -> None:
    env = {"TACET_RANK": "1", "TACET_SIZE": "2"}
    done = subprocess.run([programs["selfish"], "-r", "1ms", "-s"], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    assert "thread: 1\n" in done.stderr and "rank: 1 of 2\n" in done.stderr and "start: " in done.stderr


@pytest.mark.parametrize(
    ("program", "options", "said"),
    [
        ("fwq", ["-n", "0"], "fwq: -n 0: give a whole number from 1 to 10000000"),
        ("fwq", ["-w", "2"], "fwq: -w 2: give a whole number from 3 to 30"),
        ("fwq", ["-w", "31"], "fwq: -w 31: give a whole number from 3 to 30"),
        ("fwq", ["-d", "1ns"], "fwq: -d 1ns: the clock cannot tell that here: give at least"),
        ("fwq", ["-o", "x", "-s"], "fwq: -o x: -s writes to standard output"),
        ("fwq", ["-c", "1-"], "fwq: -c 1-: give CPU numbers"),
        ("selfish", ["-r", "0"], "selfish: -r 0: give a time from 1ns to 2592000s"),
        ("selfish", ["-d", "1ns"], "selfish: -d 1ns: a turn of the loop lasts"),
        ("selfish", ["-k", "10ns"], "selfish: -k 10ns: too often to tell apart"),
        ("selfish", ["-n", "-1"], "selfish: -n -1: give a whole number from 1 to 10000000"),
        ("selfish", ["-b", "soon"], "selfish: -b soon: give a time"),
        ("selfish", ["-z"], "selfish: -z is no option of selfish"),
        ("phase", ["-g", "1us,x"], "phase: -g 1us,x: give at most 32 times"),
        ("phase", ["-g", "1us,1us"], "phase: -g 1us,1us: give rising grains"),
        ("phase", ["-g", "10ns"], "phase: -g 10ns: give grains from 100ns to 100s"),
        ("phase", ["-N", "1,0"], "phase: -N 1,0: give at most 32 whole numbers"),
        ("phase", ["-l"], "phase: -l needs a value"),
        ("phase", ["1us"], "phase: 1us: phase takes options only"),
    ],
)
def test_bad_option_is_refused_in_one_line(
    programs: dict[str, Path], program: str, options: list[str], said: str
) -> None:
    done = subprocess.run([programs[program], *options], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(said) and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "env",
    [
        {"TACET_RANK": "1"},
        {"TACET_SIZE": "2"},
        {"TACET_RANK": "2", "TACET_SIZE": "2"},
        {"TACET_RANK": "a", "TACET_SIZE": "2"},
    ],
)  # fmt: skip
def test_rank_without_sense_is_refused(programs: dict[str, Path], env: dict[str, str]) -> None:
    done = subprocess.run([programs["fwq"], "-n", "1"], capture_output=True, text=True, env=env)
    assert done.returncode == 2 and done.stderr.startswith(
        "fwq: TACET_RANK and TACET_SIZE: give both or none"
    )


def test_output_that_cannot_be_written_is_an_error(programs: dict[str, Path], tmp_path: Path) -> None:
    prefix = tmp_path / "nowhere" / "x"
    done = subprocess.run(
        [programs["fwq"], "-n", "2", "-w", "3", "-o", prefix], capture_output=True, text=True
    )
    assert done.returncode == 1 and f"fwq: cannot write {prefix}_0_times.dat" in done.stderr


# Program and lab compute the same


def test_fwq_figures_are_the_same_in_c_and_python(c_analysis: dict[str, Path]) -> None:
    """Of exact samples, of samples that differ by themselves, and of two speeds."""
    random = np.random.default_rng(5)
    separable = set()
    for i in range(30):
        ticks = 10_000 + random.integers(0, (3, 900, 20)[i % 3], int(random.integers(1, 500)))
        if i % 3 == 2:
            ticks[random.random(len(ticks)) < 0.4] -= 4_000
        hit = random.random(len(ticks)) < 0.1
        ticks[hit] += random.integers(0, 50_000, hit.sum())
        done = subprocess.run(
            [c_analysis["fwq_analysis"], "--analyse", "100"],
            input="\n".join(map(str, ticks)),
            capture_output=True,
            text=True,
            check=True,
        )
        summary = fwq.summarise(fwq.FwqData("given", ticks), 100)
        separable.add(summary.separable)
        for line in done.stdout.splitlines():
            key, value = line.split()
            assert getattr(summary, key) == pytest.approx(float(value), rel=1e-12, abs=0), key
    assert separable == {True, False}


def test_phase_figures_are_the_same_in_c_and_python(c_analysis: dict[str, Path]) -> None:
    random = np.random.default_rng(6)
    for _ in range(20):
        threshold = int(random.choice([0, 0, 20, 300]))
        ticks = 1000 + random.integers(0, 30, int(random.integers(1, 5000)))
        hit = random.random(len(ticks)) < 0.05
        ticks[hit] += random.integers(0, 5000, hit.sum())
        done = subprocess.run(
            [c_analysis["phase_distribution"], "--analyse", str(threshold)],
            input="\n".join(map(str, ticks)),
            capture_output=True,
            text=True,
            check=True,
        )
        values, counts = np.unique(ticks, return_counts=True)
        data = phase.PhaseData("given", 1000, 1000.0, 1.0, values, counts, threshold_ticks=threshold)
        expected = {"mean": data.mean_ns}
        expected |= {"separable": data.separable}
        expected |= {f"delayed_{round(100 * d)}": phase.delayed(data, d) for d in phase.DELAYS}
        expected |= {f"longest_{10**i}": phase.expected_longest_ns(data, 10**i) for i in range(6)}
        for line in done.stdout.splitlines():
            key, value = line.split()
            assert expected[key] == pytest.approx(float(value), rel=1e-12, abs=0), key


# Readers and known answers


def test_public_fwq_file_is_read() -> None:
    (data,) = fwq.parse("1000\n1000\n1500\n1001\n", "public")
    assert data.ticks_per_ns is None and data.ticks.tolist() == [1000, 1000, 1500, 1001]
    with pytest.raises(fwq.FwqError, match="states no threshold"):
        fwq.summarise(data)
    summary = fwq.summarise(data, 100)
    assert (summary.disturbed, summary.disturbed_excess, summary.raw_excess) == (1, 500, 501)
    assert summary.noise_ratio == pytest.approx(500 / 4501)


def test_netgauge_file_is_read() -> None:
    text = (
        "# Benchmark Method: selfish\n# Sysname: Linux\n# Minimal cycle length [ns]: 7.5\n# Threshold: 67.5\n"
        "# Time [ns]\tselfish duration [ns]\n100.5\t2000.0\n5000000\t1000\n"
        "# CPU overhead due to noise: 0.03%\n# Measurement period: 0.01 s\n"
    )
    (data,) = selfish.parse(text, "public")
    assert data.start_ns.tolist() == [100.5, 5e6] and data.period_ns == 1e7
    assert (data.loop_ns, data.threshold_ns, data.found) == (7.5, 67.5, 2)
    summary = selfish.summarise(data)
    assert (summary.detours, summary.minimum_ns, summary.maximum_ns) == (2, 1000, 2000)
    assert summary.detours_per_second == pytest.approx(200)
    assert summary.noise_ratio == pytest.approx(3000 / 1e7) == data.overhead_ratio


def test_phase_known_answers() -> None:
    (data,) = phase.parse(phase_text(1_000_000, [(1_000_000, 99), (1_500_000, 1)]), "known")
    assert data.count == 100 and data.mean_ns == 1_005_000
    assert [phase.delayed(data, d) for d in (0.01, 0.4, 0.5, 1.0)] == [1, 1, 0, 0]
    assert phase.slowdown(data, 1) == pytest.approx(1.005)
    # [Tsafrir05 §2.4, Eq. 5]: 1.32 with a hundred nodes.
    assert phase.slowdown(data, 100) == pytest.approx(1 + 0.5 * (1 - 0.99**100))
    assert round(phase.slowdown(data, 100), 2) == 1.32
    delays, above = phase.survival(data)
    assert delays.tolist() == [0, 0.5] and above.tolist() == [0.01, 0]


@pytest.mark.parametrize(
    ("parse", "text", "said"),
    [
        (fwq.parse, "", "x: no samples"),
        (fwq.parse, "# a\n5\n6 7\n", "x:3: not a sample"),
        (fwq.parse, "5\n-6\n", "x:2: not a sample"),
        (fwq.parse, "5\n99999999999999999999\n", "x:2: not a sample"),
        (selfish.parse, "", "x: empty"),
        (selfish.parse, "1 2\n", "x: no '# Measurement period'"),
        (selfish.parse, "# Measurement period: 0 s\n", "x: no '# Measurement period'"),
        (selfish.parse, "1 2\n3\n", "x:2: not a detour"),
        (selfish.parse, "1 nan\n", "x:1: not a detour"),
        (selfish.parse, "1 -2\n", "x:1: not a detour"),
        (selfish.parse, "9 2\n3 2\n", "x:2: time runs backwards"),
        (selfish.parse, "# Detours: 1\n1 2\n3 4\n# Measurement period: 1 "
                        "s\n", "x: 2 detours listed, but the header states only 1"),
        (phase.parse, "", "x: no durations"),
        (phase.parse, "5 1\n", "x: no '# grain_ns'"),
        (
            phase.parse,
            phase_text(1000, [(1000, 5)]).replace("phases 5", "phases 6"),
            "x: grain 1000 ns: 6 phases ran, but 5",
        ),
        (phase.parse, phase_text(1000, [(1000, 5), (1000, 1)]), "x:7: durations must rise"),
        (phase.parse, phase_text(1000, [(1000, 5)]) + "1001\n", "x:7: not a duration"),
        (phase.parse, phase_text(1000, [(1000, 5), (1001, 0)]), "x:7: not a duration"),
    ],
)  # fmt: skip
def test_broken_data_is_named_with_its_line(parse: Any, text: str, said: str) -> None:
    with pytest.raises(DataError) as error:
        parse(text, "x")
    assert str(error.value).startswith(said)


@pytest.mark.parametrize(("module", "first"), [(fwq, b"5"), (selfish, b"5 1"), (phase, b"5 1")])
def test_file_that_is_no_text_is_named_with_its_line(module: Any, first: bytes, tmp_path: Path) -> None:
    (tmp_path / "image.dat").write_bytes(first + b"\n\xff\xfe\n")
    with pytest.raises(DataError, match=r"image.dat:2: not text"):
        module.read(tmp_path / "image.dat")


def test_summary_and_data_must_agree() -> None:
    text = phase_text(1000, [(1000, 99), (3000, 1)])
    blocks = phase.parse(text, "x")
    reports = phase.parse_reports(phase_report(text, 0))
    phase.check_reports("x", blocks, reports)
    reports[0]["p_1_percent"] = "0.000000000"
    with pytest.raises(phase.PhaseError, match="the program says p_1_percent"):
        phase.check_reports("x", blocks, reports)
    with pytest.raises(phase.PhaseError, match="output was lost"):
        phase.check_reports("x", blocks, [])


# Comparison, with a runner that runs nothing


def phase_answer(system: str, _app: str, args: list[str], linux_is_silent: bool = False) -> FakeResult:
    quiet = system == "tacet" or linux_is_silent
    text = "".join(
        phase_text(grain, [(grain, 990)] + ([] if quiet else [(grain + 2600, 9), (grain + 17000, 1)]))
        for grain in (int(word.removesuffix("ns")) for word in option(args, "-g").split(","))
    )
    return FakeResult(text.encode(), phase_report(text, 0 if quiet or system == "tuned" else 250).encode())


def compare_runs(tmp_path: Path, answer: Any, *words: str) -> tuple[int, str, FakeRunner]:
    program = tmp_path / "phase"
    program.write_bytes(b"")
    out, machines = io.StringIO(), FakeRunner(answer)
    argv = ["--out", str(tmp_path / "report"), "--phase", str(program), "--grains", "1us,100us"]
    return lab.main(["compare-phases", *argv, *words], machines=machines, out=out), out.getvalue(), machines


def test_phase_comparison_tells_p_of_four_systems(tmp_path: Path) -> None:
    status, said, machines = compare_runs(tmp_path, phase_answer)
    assert status == 0
    assert [call[0] for call in machines.calls] == ["tacet", "stock", "tuned", "rt"]
    assert all(call[3]["icount"] == 0 for call in machines.calls)
    figures = json.loads((tmp_path / "report/phase.json").read_text())
    assert figures["tacet"]["grains"]["1000"]["p"] == {"1%": 0, "10%": 0, "100%": 0}
    assert figures["linux"]["grains"]["1000"]["p"]["100%"] == pytest.approx(0.01)
    assert figures["linux_rt"]["grains"]["100000"]["delayed_phases"] == {"1%": 10, "10%": 1, "100%": 0}
    assert figures["tacet"]["grains"]["1000"]["slowdown"]["1000"] == 1
    assert figures["linux"]["grains"]["1000"]["slowdown"]["100000"] == pytest.approx(18)
    assert figures["linux"]["grains"]["1000"]["kernel_entries"] == 250
    # Of a turn of 1 µs, 100 µs are a hundred.
    assert list(figures["linux_tuned"]["grains"]) == ["100000"]
    assert (figures["linux_tuned"]["turns_ns"], figures["linux_tuned"]["remark"]) == (1_000, "")
    assert figures["linux_tuned"]["grains"]["100000"]["slowdown"]["1"] == pytest.approx(1.000404)
    assert [option(call[2], "-d") for call in machines.calls if "-d" in call[2]] == ["1000ns"]
    assert "1.00e-02" in said and "two CPUs take turns of 1 µs" in said and " *" not in said
    image = (tmp_path / "report/phase.png").read_bytes()
    assert image[:8] == b"\x89PNG\r\n\x1a\n" and len(image) > 20_000


def test_phases_in_turns_that_nobody_bounds_are_marked(tmp_path: Path) -> None:
    status, said, _ = compare_runs(tmp_path, phase_answer, "--turns", "off")
    tuned = json.loads((tmp_path / "report/phase.json").read_text())["linux_tuned"]
    assert status == 0 and "Linux, tuned *" in said and "take turns of any length" in said
    assert list(tuned["grains"]) == ["1000", "100000"] and tuned["remark"] and tuned["turns_ns"] == 0


def test_grains_shorter_than_turns_are_said(tmp_path: Path) -> None:
    status, said, _ = compare_runs(tmp_path, phase_answer, "--turns", "100us")
    assert status == 0 and "absent: its turns of 100 µs need grains of 10 ms or more" in said


def test_phase_comparison_goes_on_without_rt_and_tuned(tmp_path: Path) -> None:
    def answer(system: str, app: str, args: list[str]) -> Any:
        if system in ("rt", "tuned"):
            return FakeRunner.RunnerError("there is no such kernel")
        return phase_answer(system, app, args)

    status, said, _ = compare_runs(tmp_path, answer)
    assert status == 0 and "Linux, PREEMPT_RT: absent: there is no such kernel" in said
    assert json.loads((tmp_path / "report/phase.json").read_text())["linux_rt"] == {
        "absent": "there is no such kernel"
    }


def test_phase_comparison_fails_where_linux_is_silent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, _ = compare_runs(tmp_path, lambda *call: phase_answer(*call, linux_is_silent=True))
    assert status == 1 and "cannot see noise here" in capsys.readouterr().err


def test_phase_comparison_reports_lost_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def answer(system: str, app: str, args: list[str]) -> FakeResult:
        result = phase_answer(system, app, args)
        result.stdout = result.stdout[: len(result.stdout) // 2]
        return result

    status, _, _ = compare_runs(tmp_path, answer)
    assert status == 1 and "phase-tacet.dat" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "1us,", "1us,1us", "10us,1us", "1parsec", "10ns"])
def test_wrong_grains_are_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        lab.main(["compare-phases", "--grains", text])
    assert error.value.code == 2 and "give" in capsys.readouterr().err


def test_survival_picture_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no system"):
        survival_picture([SurvivalCurves("tacet", "Tacet", {})], tmp_path / "phase.png")


def test_missing_program_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        lab.main(
            ["compare-phases", *["--phase", str(tmp_path / "none")]],
            machines=FakeRunner(phase_answer),
            out=io.StringIO(),
        )
        == 1
    )
    assert "no such program; build it with `make apps`" in capsys.readouterr().err


def test_a_shortest_delay_that_counts_is_in_the_phases_file(programs: dict[str, Path]) -> None:
    command = [programs["phase"], "-s", "-g", "100us,1ms", "-l", "20ms", "-T", "1", "-d", "7us"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    blocks = phase.parse(done.stdout, "here")
    phase.check_reports("here", blocks, phase.parse_reports(done.stderr))
    for block, report in zip(blocks, phase.parse_reports(done.stderr)):
        assert block.threshold_ticks == 7_000 and block.floor.reach >= 7_000
        slowdown = phase.expected_longest_ns(block, 10) / block.floor.mode
        assert phase.slowdown(block, 10) == pytest.approx(slowdown)
        assert float(report["slowdown_10_nodes"]) == pytest.approx(slowdown, abs=1e-5)
