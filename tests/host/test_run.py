# SPDX-License-Identifier: BSD-2-Clause
"""tests/run.py adds up what every kind of stage prints, and takes a stage that prints nothing for a
failure."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import run, stages, waiting
from tests.running import ROOT
from tests.totals import Total, downloads, slowest


@pytest.mark.parametrize(
    ("line", "total"),
    [
        ("memplan: 12 passed, 0 failed", "12 passed, 0 failed"),
        ("elf image: 12 passed, 3 failed", "12 passed, 3 failed"),
        ("5 passed, 0 failed", "5 passed, 0 failed"),
        ("23 passed in 42.04s", "23 passed, 0 failed"),
        ("\x1b[32m23 passed\x1b[0m, 2 skipped in 1.02s", "23 passed, 0 failed, 2 skipped"),
        ("=== 2 failed, 15 passed, 6 errors in 5.15s ===", "15 passed, 8 failed"),
        ("1 error in 0.15s", "0 passed, 1 failed"),
        ("", None),
        ("make: 'host-test' is up to date.", None),
        ("fuzz elf: 12 inputs, nothing found", None),
        ("it passed 3 times", None),
        ("34.52s setup", None),
    ],
)
def test_numbers_of_every_kind_of_stage_are_read_and_no_others(line: str, total: str | None) -> None:
    sum_of = Total()
    assert (str(sum_of) if sum_of.add(line) else None) == total


@pytest.mark.parametrize(
    ("script", "seconds", "total", "remark"),
    [
        ("echo 'x: 3 passed, 0 failed'", 10, "3 passed, 0 failed", ""),
        ("echo 'x: 3 passed, 1 failed'; exit 1", 10, "3 passed, 1 failed", "1 failed"),
        ("echo 'x: 3 passed, 0 failed'; exit 1", 10, "3 passed, 1 failed", "status 1"),
        ("echo nothing", 10, "0 passed, 1 failed", "printed no numbers"),
        ("kill -9 $$", 10, "0 passed, 1 failed", "status -9"),
        ("echo 'x: 1 passed, 0 failed'; sleep 60", 3, "1 passed, 1 failed", "no end within"),
    ],
)
def test_a_stage_that_dies_is_a_failure(script: str, seconds: float, total: str, remark: str) -> None:
    whole = run.Run()
    said = run.run_stage(stages.Stage("x", "a stage", ["sh", "-c", script], seconds), whole, False)
    assert str(whole.total) == total
    assert remark in said and bool(said) == bool(remark)


def interrupted(script: str, folder: Path) -> tuple[int, str]:
    """A stage of this script, interrupted as soon as it has made the file `begun`; status and output."""
    (folder / "stage.py").write_text(
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests import run, stages\n"
        f"run.stages = lambda words: [stages.Stage('x', 'a stage', ['sh', '-c', {script!r}], 600)]\n"
        "sys.exit(run.main([]))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-B", folder / "stage.py"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    waiting.until(lambda: (folder / "begun").exists() or process.poll() is not None, "the stage's begin")
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate()
    return process.returncode, output


def test_ctrl_c_ends_the_children_and_prints_the_numbers_so_far(tmp_path: Path) -> None:
    script = f"""trap 'echo "y: 4 passed, 1 failed"; exit 1' INT
        echo 'x: 3 passed, 0 failed'; sleep 600 & echo $! >{tmp_path}/child
        touch {tmp_path}/begun; wait"""
    status, output = interrupted(script, tmp_path)
    assert status == 130 and output.endswith("\ninterrupted: 7 passed, 1 failed so far\n"), output
    assert "Traceback" not in output
    child = int((tmp_path / "child").read_text())
    waiting.until(lambda: not waiting.is_running(child), "the end of the stage's child")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--only", "quemu"], r"no such stage: quemu; the stages are build, host, fuzz, tools, qemu, slice"),
        (["--long", "--only", "host"], r"no such stage: host; the stages are build, fuzz, calls, .*"),
        (["--only", "host", "-k", "x"], r"-k selects tests of pytest; .* are tools, qemu"),
        (["-k", "a or"], r"Wrong expression passed to '-k': a or: .*"),
        (["--long", "--call-minutes", "0"], r"minutes and hours are numbers above 0"),
    ],
)
def test_arguments_that_are_wrong_are_refused_in_one_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run.main(words)
    assert ended.value.code == 2
    assert re.fullmatch(rf"tests/run.py: {said}\n", capsys.readouterr().err)


def test_words_alone_select_the_stages_that_know_them() -> None:
    assert [stage.name for stage in run.arguments_of(["-k", "x"]).stages] == ["tools", "qemu"]
    assert [stage.name for stage in run.arguments_of(["-k", "x", "--only", "qemu"]).stages] == ["qemu"]


def pytest_on(test: str, *words: str) -> list[str]:
    """A stage's command: this repository's limits and markers on one test file."""
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words, test]


def test_words_that_no_test_matches_are_a_failure(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("def test_a(): pass\n")
    for words, passed in (("test_a", 1), ("nothing_of_this", 0)):
        whole = run.Run()
        stage = stages.Stage("x", "x", pytest_on(str(tmp_path / "test_a.py"), "-k", words), 60, pytest=True)
        remarks = run.run_stages([stage], True, whole)
        assert (whole.total.passed, whole.total.failed) == (passed, 1 - passed)
        assert remarks == ([] if passed else ["no test matches the words after -k"])


def test_downloads_are_told_apart() -> None:
    lines = ["  FETCHED linux in 12 s", "  FETCHED musl_1.2.3.orig.tar.gz in 3 s", "  FETCH linux in 7 s"]
    assert downloads(lines) == ", 15 s of downloads meanwhile" and downloads(lines[2:]) == ""


def test_the_slowest_tests_are_named() -> None:
    lines = ["3.10s call     tests/a/test_b.py::test_c", "0.5 s", "12.00s setup    b.py::d", "1.00s call x"]
    assert slowest([*lines, "0.10s call y"]) == "; slowest: b.py::d 12 s, test_b.py::test_c 3 s, x 1 s"
    assert slowest(["5 passed, 0 failed"]) == ""


def said_by_pytest(folder: Path, source: str, *words: str) -> str:
    """What pytest prints of a test file, with the tree's own limits and markers."""
    (folder / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (folder / "test_a.py").write_text(f"import pytest, time\n{source}")
    command = pytest_on(str(folder / "test_a.py"), *words)
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def test_long_tests_are_left_out_unless_they_are_asked_for(tmp_path: Path) -> None:
    source = "@pytest.mark.long\ndef test_long(): pass\ndef test_short(): pass\n"
    for words, runs, left_out in ((["-vv"], "short", "long"), (["-vv", "-m", "long"], "long", "short")):
        said = said_by_pytest(tmp_path, source, *words)
        assert f"::test_{runs} PASSED" in said and f"::test_{left_out}" not in said
    (long,) = [stage for stage in stages.long_stages([], stages.Long()) if stage.pytest]
    assert "long" in long.command


@pytest.mark.parametrize(
    ("body", "wall", "which"), [("while True: pass", 600, "0.3 s of CPU time"), ("time.sleep(600)", 1, "1 s")]
)
def test_a_test_that_hangs_fails_by_its_name(body: str, wall: int, which: str, tmp_path: Path) -> None:
    limit = f"@pytest.mark.limit(cpu=0.3, wall={wall})"
    source = f"{limit}\ndef test_hangs():\n    {body}\ndef test_goes_on(): pass\n"
    said = said_by_pytest(tmp_path, source)
    assert f"hangs: no end within {which}" in said and "::test_hangs" in said, said
    assert "1 failed, 1 passed" in said, said


HOST_TEST = """
#include "check.h"
TEST(is_well) { CHECK(true); }
TEST(hangs) { for (volatile int i = 0; i >= 0;) i = 1; }
TEST(dies) { abort(); }
int main(int count, char **arguments)
{
    RUN(is_well);
    if (arguments[0][strlen(arguments[0]) - 1] == 'h')
        RUN(hangs);
    if (arguments[0][strlen(arguments[0]) - 1] == 'd')
        RUN(dies);
    return check_report("a_test") + (count < 0);
}
"""


@pytest.mark.long
def test_a_host_test_that_hangs_or_dies_fails_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "test.c").write_text(HOST_TEST)
    binaries = [tmp_path / name for name in ("test_w", "test_h", "test_d")]
    for binary in binaries:
        subprocess.run(
            ["gcc", "-g", "-iquote", ROOT / "tests/host", "-o", binary, tmp_path / "test.c"], check=True
        )
    command = [sys.executable, ROOT / "tests/host/run.py", "--seconds", "3", *binaries]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr == ""
    for part in (
        "a_test: 1 passed, 0 failed\n",
        "interrupted in hangs\ntest_h: no end within 3 s\ntest_h: 0 passed, 1 failed\n",
        "test_d: ended by signal 6 without numbers\ntest_d: 0 passed, 1 failed\n",
    ):
        assert part in done.stdout, done.stdout
    total = Total()
    for line in done.stdout.splitlines():
        total.add(line)
    assert str(total) == "1 passed, 2 failed"
    assert re.search(r"^\d+\.\d+s call test_h$", done.stdout, re.MULTILINE)
