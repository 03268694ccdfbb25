# SPDX-License-Identifier: BSD-2-Clause
"""The report: its first sentence is right, it holds everything itself, and a real browser shows its tables
and pictures without an error."""

from __future__ import annotations

import html
import json
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lab.cli import dispatch as command
from lab.report.figures import pictures

CHROMIUM = shutil.which("chromium")

#: A tick of 2.5 µs every 4 ms for 2 s; each tenth is 50 µs.
TICKS = [(4_000_000 * i + 500_000, 50_000 if i % 10 == 0 else 2_500) for i in range(500)]


@pytest.fixture(autouse=True)
def pictures_drawn(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """One picture, except where a test asks for `all_pictures`: seven take longer than all the words."""
    if "all_pictures" not in request.fixturenames:
        monkeypatch.setattr("lab.report.page.pictures", lambda *data: pictures(*data)[:1])


@pytest.fixture
def all_pictures() -> None:
    """The page has all of its pictures."""


def selfish_text(detours: list[tuple[int, int]], seconds: float) -> str:
    rows = "".join(f"{start}\t{duration}\n" for start, duration in detours)
    return (
        f"# Benchmark Method: selfish\n# Sysname: Linux <6.1> & co\n# Threshold [ns]: 100\n{rows}# "
        f"Measurement period: {seconds} s\n"
    )


def ftq_text(lost: int) -> str:
    return "# quantum_ns 1000000\n" + "".join(
        f"{1_000_000 * i} {15625 - (lost if i % 4 == 1 else 0)}\n" for i in range(1000)
    )


@pytest.fixture
def nodes(tmp_path: Path) -> Path:
    """Two nodes' folders, each with data, and with files that are none."""
    for name, detours, lost in (("tacet", [], 0), ("linux", TICKS, 40)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "selfish.dat").write_text(selfish_text(detours, 2))
        (tmp_path / name / "ftq.dat").write_text(ftq_text(lost))
        (tmp_path / name / "notes.txt").write_text("measured on a Tuesday\n")
        (tmp_path / name / "picture.png").write_bytes(b"\x89PNG\r\n")
    return tmp_path


def reported(nodes: Path, *options: str) -> str:
    """The page that the command makes of the two nodes."""
    out = nodes / "report.html"
    words = [
        "report",
        "--node",
        f"tacet={nodes / 'tacet'}",
        "--node",
        f"linux={nodes / 'linux'}",
        "-o",
        str(out),
        *options,
    ]
    assert command.main(words) == 0
    return out.read_text()


def answer_of(page: str) -> str:
    match = re.search(r'<p class="answer">(.*?)</p>', page)
    assert match
    return html.unescape(match[1])


def details_of(page: str) -> str:
    """The sentences after the leading one, and the list of nodes."""
    match = re.search(r'<p class="answer">.*?</p>\n<p>(.*?)</p>\n<ul[^>]*>(.*?)</ul>', page, re.DOTALL)
    assert match
    return html.unescape(re.sub(r"<[^>]+>", "", f"{match[1]} {match[2]}"))


def test_the_answer_is_what_the_closed_form_says(nodes: Path) -> None:
    """A grain of 1 ms meets a long tick with p = 50/2000 and a short one with 450/2000: E(Y) is a sum of two
    steps; 1 % is 10 µs."""
    work_ms = 2000 - sum(duration for _, duration in TICKS) / 1e6
    p_long, p_any = 50 / work_ms, 500 / work_ms

    def slowed(n: float) -> float:
        none, short = (1 - p_any) ** n, (1 - p_long) ** n
        return 0.0025 * (short - none) + 0.05 * (1 - short)

    most = max(n for n in range(1, 2000) if slowed(n) <= 0.01)
    page = reported(nodes)
    assert answer_of(page) == f"Linux: {most} nodes; Tacet: no limit found."
    text = details_of(page)
    assert text.startswith(
        "The largest job whose steps, with 1 ms of computation between synchronisations, are "
    )
    assert "not one delay in 2,000 phases" in text and f"up to {most} nodes (95 %: " in text
    assert f"a step of 1,000 nodes is slowed by {100 * slowed(1000):.3g} %." in text
    ratio = sum(duration for _, duration in TICKS) / 2e9
    assert f"Tacet loses less time than Linux: 0 % against {100 * ratio:.3g} % (difference, 95 %: 0.1" in text


def test_grain_and_tolerance_change_the_answer(nodes: Path) -> None:
    page = reported(nodes, "--grain", "10ms", "--tolerance", "0.0001")
    assert answer_of(page) == "Linux: not even one node; Tacet: no limit found."
    assert "with 10 ms of computation" in details_of(page) and "at most 0.0001 %" in details_of(page)


@pytest.mark.parametrize(("factor", "said"), [(3, "3 times as much"), (100, "100 times as much")])
def test_two_noisy_nodes_are_distinguished_by_a_factor(nodes: Path, factor: int, said: str) -> None:
    (nodes / "tacet/selfish.dat").write_text(selfish_text([(s, 1 + d // 100) for s, d in TICKS], 2))
    (nodes / "linux/selfish.dat").write_text(
        selfish_text([(s, factor * (1 + d // 100)) for s, d in TICKS], 2)
    )
    text = details_of(reported(nodes))
    assert "Tacet loses less time than Linux" in text and said in text and "e+" not in text


def test_equal_nodes_have_no_winner(nodes: Path) -> None:
    """The same ticks, a little later and for half the time: per second they lose the same."""
    later = [(start + 700_000, duration + i % 3) for i, (start, duration) in enumerate(TICKS[:250])]
    (nodes / "tacet/selfish.dat").write_text(selfish_text(later, 1))
    text = details_of(reported(nodes))
    assert "No node is a winner: " in text and "the difference may be zero (95 %: \N{MINUS SIGN}0." in text
    assert "loses less" not in text


def test_a_node_without_an_interval_is_no_winner(nodes: Path) -> None:
    """One long detour makes most of the loss: another measurement might have seen none."""
    (nodes / "linux/selfish.dat").write_text(selfish_text([*TICKS[:-1], (TICKS[-1][0], 1_000_000)], 2))
    (nodes / "tacet/selfish.dat").write_text(selfish_text(TICKS, 2))
    text = details_of(reported(nodes))
    assert (
        "No node is a winner: the time that Linux loses has no interval" in text and "was seen once" in text
    )


def test_methods_that_see_different_detours_are_not_compared(nodes: Path) -> None:
    (nodes / "linux/ftq.dat").unlink()
    (nodes / "tacet/selfish.dat").unlink()
    assert "judged by different methods (ftq, selfish)" in details_of(reported(nodes))


def test_only_detours_that_both_would_have_seen_are_compared(nodes: Path) -> None:
    """Tacet's method sees 100 ns, Linux's 10 µs: a thousand detours of 1 µs are no disadvantage of Tacet."""
    more = sorted([*TICKS, *((2_000_000 * i + 100_000, 1_000) for i in range(1_000))])
    (nodes / "tacet/selfish.dat").write_text(selfish_text(more, 2))
    blind = selfish_text([(s, d) for s, d in TICKS if d > 10_000], 2)
    (nodes / "linux/selfish.dat").write_text(blind.replace("Threshold [ns]: 100", "Threshold [ns]: 10000"))
    text = details_of(reported(nodes))
    assert "No node is a winner: Linux (0.125 %) and Tacet (0.125 %) lose the same" in text


def test_many_nodes_have_a_short_sentence_and_one_winner(nodes: Path) -> None:
    words: list[str] = []
    for i in range(8):
        factor = 1 if i == 3 else 3 + i % 2
        (nodes / f"n{i}.dat").write_text(
            selfish_text([(s + i, factor * (d + (s // 4_000_000) % 7)) for s, d in TICKS], 2)
        )
        words += ["--node", f"machine number {i}={nodes / f'n{i}.dat'}"]
    assert command.main(["report", *words, "-o", str(nodes / "r.html")]) == 0
    page = (nodes / "r.html").read_text()
    assert len(answer_of(page).split()) <= 20 and answer_of(page).startswith("8 nodes: from ")
    text = details_of(page)
    assert "machine number 3 loses the least time" in text and "Holm's correction for 28 pairs" in text
    shutil.copy(nodes / "n3.dat", nodes / "n4.dat")
    assert command.main(["report", *words, "-o", str(nodes / "r.html")]) == 0
    assert "No node is a winner: machine number 3" in details_of((nodes / "r.html").read_text())


def test_a_maximum_stands_with_its_time(nodes: Path) -> None:
    page = reported(nodes)
    assert "<td>50 µs in 2 s</td>" in page


def test_the_page_says_what_made_it(nodes: Path) -> None:
    assert re.search(r"Made by tacet [0-9a-f]{12}\+?; seed of the resampling: 1\.", reported(nodes))


def test_measured_phases_are_used_where_all_nodes_have_them(nodes: Path) -> None:
    for name, rows in (("tacet", "1000000 1000\n"), ("linux", "1000000 990\n1500000 10\n")):
        (nodes / name / "phase.dat").write_text(
            "# Phase durations\n# grain_ns 1000000\n# calibrated_ns 1000000\n# phases 1000\n# ticks_per_ns "
            f"1\n{rows}"
        )
    page = reported(nodes)
    n = math.floor(math.log1p(-0.02) / math.log1p(-0.01))
    assert f"Linux: {n} nodes" in answer_of(page) and "measured phases of 1 ms" in page
    assert "Tacet loses less time than Linux" not in page  # ten delayed phases have only a bound


def test_a_method_that_speaks_for_more_nodes_goes_first(nodes: Path) -> None:
    """Fifty phases hold less than two seconds of detours."""
    for name in ("tacet", "linux"):
        (nodes / name / "phase.dat").write_text(
            "# Phase durations\n# grain_ns 1000000\n# calibrated_ns 1000000\n# phases 50\n# ticks_per_ns "
            "1\n1000000 50\n"
        )
    assert "not one delay in 2,000 phases" in details_of(reported(nodes))


def test_a_damaged_file_is_left_out_and_named(nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (nodes / "linux/cut.dat").write_text(selfish_text(TICKS, 2)[:900])
    page = reported(nodes)
    assert "cut.dat</code> was left out" in page and "cut.dat" in capsys.readouterr().err
    assert (
        command.main(["report", "--node", f"x={nodes / 'linux/cut.dat'}", "-o", str(nodes / "x.html")]) == 1
    )
    assert "no newline at the end" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "give --node NAME=DIR"),
        (["--node", "linux"], "'linux' is not a node; give NAME=FOLDER"),
        (["--node", "a=empty"], "empty: no file in a format that the lab reads"),
        (["--node", "a=nowhere"], "No such file"),
        (["--runs", "empty"], "no PROGRAM-SYSTEM.dat"),
        (["--node", "a=top.txt"], "no data to judge phases of 1 ms by; there is only rtla-top"),
    ],
)
def test_what_cannot_be_reported_is_said_in_one_line(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "top.txt").write_text(
        "Operating System Noise\nCPU Period Runtime Noise\n  0 #5 5000 40 99.2 9 8 1 0 1 1 1\n"
    )
    assert command.main(["report", *words]) == 1
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_what_make_run_leaves_is_a_report(nodes: Path) -> None:
    for name in ("tacet", "linux"):
        shutil.copy(nodes / name / "ftq.dat", nodes / f"ftq-{name}.dat")
    shutil.copy(nodes / "linux/ftq.dat", nodes / "ftq-linux_tuned.dat")
    (nodes / "ftq.json").write_text(json.dumps({"command": "tools/lab compare --out here"}))
    assert command.main(["report", "--runs", str(nodes), "-o", str(nodes / "r.html")]) == 0
    page = (nodes / "r.html").read_text()
    assert "tools/lab compare --out here" in page and "one instruction per nanosecond" in page
    assert "Linux, tuned *" in page and "take turns" in page
    assert "tuned" not in answer_of(page)
    text = details_of(page)
    assert "Tacet loses less time than Linux" in text
    assert "The tuned Linux * is left out of this answer" in text


@pytest.mark.parametrize(("remark", "judged"), [("an artefact", False), ("", True)])
def test_a_run_is_judged_or_not_by_what_its_recorder_says(nodes: Path, remark: str, judged: bool) -> None:
    """The mark is the run's own: the same data take part where their recorder has nothing to remark."""
    for name in ("tacet", "linux"):
        shutil.copy(nodes / name / "ftq.dat", nodes / f"ftq-{name}.dat")
    shutil.copy(nodes / "linux/ftq.dat", nodes / "ftq-linux_tuned.dat")
    figures = {"tacet": {"remark": ""}, "linux": {"remark": ""}, "linux_tuned": {"remark": remark}}
    (nodes / "ftq.json").write_text(json.dumps(figures))
    assert command.main(["report", "--runs", str(nodes), "-o", str(nodes / "r.html")]) == 0
    page = (nodes / "r.html").read_text()
    assert ("Linux, tuned: " in answer_of(page)) == judged
    assert ("Linux, tuned *" in page) == ("left out of this answer" in details_of(page)) == (not judged)
    assert ("* Linux, tuned: an artefact" in html.unescape(page)) == (not judged)


def test_data_without_a_floor_are_no_verdict(nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = ROOT / "tests/data/noise-files/ftq-public_0.dat"
    shutil.copy(file, nodes / "busy.dat")
    both = ["--node", f"busy={file}", "--node", f"linux={nodes / 'linux/ftq.dat'}"]
    assert command.main(["report", *both, "-o", str(nodes / "r.html")]) == 0
    assert "Busy * is left out of this answer" in details_of((nodes / "r.html").read_text())
    assert command.main(["report", *both[:2], "-o", str(nodes / "s.html")]) == 1
    assert "busy: undisturbed quanta cannot be distinguished from disturbed ones" in capsys.readouterr().err


def test_the_page_holds_everything_itself(nodes: Path) -> None:
    page = reported(nodes, "--note", "<script>alert(1)</script>")
    assert "<script" not in page
    links = re.findall(r'(?:src|href)="([^"]{0,40})', page)
    assert links and all(link.startswith("data:") for link in links)
    assert "@import" not in page and not re.search(r"url\((?!#)", page)
    assert "Linux &lt;6.1&gt; &amp; co" in page
    assert "tools/lab plot slowdown tacet=" in page and "tools/lab report --node" in page


#: What a browser has made of the page: appended to a copy of it, as the page itself has no script.
WITNESS = """<script>addEventListener("load", () => {
  const images = [...document.images].map(
    i => [i.complete, i.naturalWidth, i.getBoundingClientRect().width, i.alt.length]);
  const tables = [...document.querySelectorAll("table")].map(t => t.tBodies[0].rows.length);
  const wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
  const style = getComputedStyle(document.querySelector(".answer")).borderLeftWidth;
  document.body.setAttribute("data-witness", JSON.stringify({images, tables, wide, style}));
});</script></body>"""


def browsed(page: Path, folder: Path) -> tuple[str, str]:
    """The page's document and the browser's messages."""
    assert CHROMIUM
    words = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={folder}",
        "--enable-logging=stderr",
        "--virtual-time-budget=5000",
        "--window-size=1200,900",
    ]
    done = subprocess.run([*words, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout, done.stderr


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (ports/deps.sh test)")
@pytest.mark.usefixtures("all_pictures")
def test_a_browser_shows_tables_and_pictures_without_an_error(nodes: Path) -> None:
    text = reported(nodes)
    document, messages = browsed(nodes / "report.html", nodes / "profile")
    assert "CONSOLE" not in messages, messages
    assert answer_of(document) == answer_of(text)

    witnessed = re.sub(r"<meta http-equiv[^>]*>", "", text).replace("</body>", WITNESS)
    (nodes / "witnessed.html").write_text(witnessed)
    document, messages = browsed(nodes / "witnessed.html", nodes / "profile")
    match = re.search(r'data-witness="([^"]*)"', document)
    assert match, messages
    seen = json.loads(html.unescape(match[1]))
    assert len(seen["images"]) == 7 and len(seen["tables"]) == 3
    assert all(
        complete and natural > 300 and width > 300 and alt for complete, natural, width, alt in seen["images"]
    )
    assert min(seen["tables"]) >= 2 and not seen["wide"] and seen["style"] != "0px"


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (ports/deps.sh test)")
def test_the_browser_would_report_an_outside_resource(nodes: Path) -> None:
    """Otherwise its silence above would prove nothing."""
    page = reported(nodes).replace("</body>", '<img src="http://127.0.0.1:9/x.png"></body>')
    (nodes / "leaky.html").write_text(page)
    _, messages = browsed(nodes / "leaky.html", nodes / "profile")
    assert "CONSOLE" in messages and "Content Security Policy" in messages


def test_the_interval_of_the_table_holds_the_ratio(nodes: Path) -> None:
    uneven = [(start, 1_000 * (1 + i % 7)) for i, (start, _) in enumerate(TICKS)]
    (nodes / "linux/selfish.dat").write_text(selfish_text(uneven, 2))
    page = reported(nodes)
    page = page[page.index("Noise of each node") :]
    ratio = sum(duration for _, duration in uneven) / 2e9
    cells = [
        tuple(map(float, found))
        for found in re.findall(r"<td>([0-9.]+) % \[([0-9.]+), ([0-9.]+)\]</td>", page)
    ]
    assert len(cells) == 2  # selfish and FTQ
    assert all(
        low <= value <= high for value, low, high in cells
    )  # FTQ's blocks are all alike here, so that its interval is a point
    assert any(low < high for _, low, high in cells)
    assert any(np.isclose(value, 100 * ratio, rtol=5e-3) for value, _, _ in cells)
