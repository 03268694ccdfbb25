# SPDX-License-Identifier: BSD-2-Clause
"""Pictures: every kind draws what it is given, as PNG and as SVG, keeps systems apart in grey, and says what
is wrong."""

from __future__ import annotations

import itertools
import json
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]

from pictures_checked import figures_seen, shown

from lab.cli import dispatch as command
from lab.cli.inputs import system_file
from lab.cli.plot import KINDS
from lab.common.errors import DataError
from lab.pictures.collectives import latencies_read
from lab.pictures.style import OTHERS, STYLES, key_of, style_of
from tests.making import made


def selfish_text(detours: list[tuple[int, int]], seconds: float) -> str:
    rows = "".join(f"{start}\t{duration}\n" for start, duration in detours)
    return f"# Benchmark Method: selfish\n# Threshold [ns]: 100\n{rows}# Measurement period: {seconds} s\n"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """A silent and a ticking node: selfish, FTQ, phases, and latencies."""
    ticks = [(4_000_000 * i + 500_000, 12_000 if i % 10 == 0 else 2_500) for i in range(500)]
    counts = [15_625 - (40 if i % 4 == 1 else 0) for i in range(1000)]
    texts = {
        "selfish-tacet.dat": selfish_text([], 2),
        "selfish-linux.dat": selfish_text(ticks, 2),
        "ftq-tacet.dat": "# quantum_ns 1000000\n" + "".join(f"{1_000_000 * i} 15625\n" for i in range(1000)),
        "ftq-linux.dat": "# quantum_ns 1000000\n"
        + "".join(f"{1_000_000 * i} {count}\n" for i, count in enumerate(counts)),
        "phase-linux.dat": "# Phase durations\n# grain_ns 1000000\n# calibrated_ns 1000000\n# phases "
        "1000\n# ticks_per_ns 1\n1000000 750\n1002500 240\n1012000 10\n",
        "boxes.json": json.dumps(
            {
                "tacet": {"16": [8e3] * 9, "256": [16e3] * 9},
                "linux": {"16": [8e3, 9e3, 40e3], "256": [16e3, 30e3, 90e3, 1e6]},
            }
        ),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return {name: tmp_path / name for name in texts}


INPUTS = {
    "ftq": ["ftq-tacet.dat", "ftq-linux.dat"],
    "spectrum": ["ftq-tacet.dat", "ftq-linux.dat"],
    "boxes": ["boxes.json"],
    "survival": ["selfish-tacet.dat", "selfish-linux.dat", "phase-linux.dat"],
    "cdf": ["selfish-tacet.dat", "phase-linux.dat"],
}


def drawn(kind: str, files: dict[str, Path], out: Path, *options: str) -> int:
    names = INPUTS.get(kind, ["selfish-tacet.dat", "selfish-linux.dat"])
    return command.main(["plot", kind, *(str(files[name]) for name in names), "-o", str(out), *options])


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_every_kind_is_a_png_of_the_asked_width_and_an_svg(
    kind: str, files: dict[str, Path], tmp_path: Path
) -> None:
    assert drawn(kind, files, tmp_path / "a.png", "--width", "900") == 0
    assert (tmp_path / "a.png").stat().st_size < 40_000
    picture = matplotlib.image.imread(tmp_path / "a.png")
    assert picture.shape[1] == 900
    grey = picture[..., :3].mean(axis=2)
    assert grey.min() < 0.3 and (grey > 0.95).mean() > 0.4  # ink on paper
    assert drawn(kind, files, tmp_path / "a.svg", "--title", "A title <&>") == 0
    root = xml.parse(tmp_path / "a.svg").getroot()
    assert root.tag.endswith("svg") and len((tmp_path / "a.svg").read_text()) > 5_000


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_the_same_picture_is_the_same_file(suffix: str, files: dict[str, Path], tmp_path: Path) -> None:
    for name in ("a", "b"):
        drawn("series", files, tmp_path / f"{name}.{suffix}")
    assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()


def test_systems_differ_without_colour() -> None:
    """In line, marker or hatch every pair differs, and tacet's colour is much darker than the rest."""
    styles = [*STYLES.values(), *OTHERS]
    for a, b in itertools.combinations(styles, 2):
        assert (str(a.line), a.marker, a.hatch) != (str(b.line), b.marker, b.hatch) and a.marker != b.marker
    assert len({str(style.line) for style in styles}) == len(styles)

    def lightness(colour: str) -> float:
        red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    darkest = lightness(STYLES["tacet"].colour)
    assert all(lightness(style.colour) > darkest + 20 for name, style in STYLES.items() if name != "tacet")


def test_a_system_keeps_its_style_under_all_its_names() -> None:
    assert (
        style_of("linux_tuned") is style_of("linux-tuned") is style_of("Linux-Tuned") is STYLES["linux-tuned"]
    )
    assert [
        key_of(name) for name in ("ftq-linux_tuned", "selfish-tacet", "linux-rt", "jazz", "mylinuxbox")
    ] == ["linux-tuned", "tacet", "linux-rt", "jazz", "mylinuxbox"]
    assert system_file("jazz=a/linux.dat").key == "jazz" and system_file("a/ftq-linux.dat").key == "linux"
    assert system_file("linux_rt=x").key == "linux-rt" and system_file("a=b/c=d.dat").path == Path(
        "b/c=d.dat"
    )


def test_files_of_one_system_have_different_names(files: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    other = tmp_path / "a" / "selfish-linux.dat"
    other.write_bytes(files["selfish-linux.dat"].read_bytes())
    linux, tacet = str(files["selfish-linux.dat"]), str(files["selfish-tacet.dat"])
    with figures_seen() as seen:
        for words in ([tacet, linux, str(other)], [tacet, linux], [f"linux={tacet}", linux]):
            assert command.main(["plot", "series", *words, "-o", str(tmp_path / "x.png")]) == 0
    names = [{axes.get_title("left").strip() for axes in shown(figure)} for figure in seen]
    assert names[0] >= {"Tacet", f"Linux ({linux})", f"Linux ({other})"}
    assert names[1] >= {"Tacet", "Linux"}
    assert names[2] >= {"Linux (selfish-tacet)", "Linux (selfish-linux)"}


def test_a_source_without_times_leaves_the_time_axis_to_others(
    files: dict[str, Path], tmp_path: Path
) -> None:
    latencies = str(ROOT / "tests/data/noise-files/cyclictest-hist.txt")
    words = [latencies, str(files["selfish-linux.dat"]), "-o", str(tmp_path / "x.png")]
    with figures_seen() as seen:
        assert command.main(["plot", "series", *words]) == 0
    assert shown(seen[0])[0].get_xlim() == (0, 2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ftq", "selfish-linux.dat", "-o", "a.png"], "this picture needs samples of FTQ"),
        (["series", "phase-linux.dat", "-o", "a.png"], "durations of phases, not detours"),
        (["cdf", "phase-linux.dat", "-o", "a.png", "--grain", "10us"], "no phases of 10 µs; give a grain"),
        (["boxes", "ftq-linux.dat", "-o", "a.png"], "not JSON"),
        (["law", "absent.dat", "-o", "a.png"], "No such file"),
        (["law", "selfish-linux.dat", "-o", "no/folder/a.png"], "No such file"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_one_line(
    words: list[str],
    said: str,
    files: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command.main(["plot", *words]) == 1
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1 and error.startswith("lab plot: ")


@pytest.mark.parametrize(
    "options", [["-o", "a.pdf"], ["-o", "a.png", "--width", "1"], ["-o", "a.png", "--grain", "x"]]
)
def test_wrong_options_are_refused(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(["plot", "law", "x", *options])
    assert ended.value.code == 2 and "give" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        '{"a": {}}',
        '{"a": {"x": [1]}}',
        '{"a": {"2": []}}',
        '{"a": {"2": [-1]}}',
        '{"a": {"2": [NaN]}}',
        '{"a": {"2": ["1"]}}',
        "{",
        "\xff",
    ],
)
def test_latencies_that_are_none_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match="x.json.*it is {"):
        latencies_read(tmp_path / "x.json")


PAGE = (ROOT / "docs/lab/README.md").read_text()
COMMANDS = [
    shlex.split(line)[1:] for line in re.findall(r"^\$ (tools/lab plot [a-z].*)$", PAGE, re.MULTILINE)
]


def test_the_page_has_a_command_for_each_picture() -> None:
    assert [words[1] for words in COMMANDS] == [kind.name for kind in KINDS]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[1])
def test_a_command_of_the_page_draws_its_picture(
    words: list[str], files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run in another folder, on other data of the same names; and each checked-in picture is one of them, and
    small."""
    for folder in ("build/report", "build/lab/data"):
        (tmp_path / folder).mkdir(parents=True)
    for name, path in files.items():
        path.rename(tmp_path / ("build/lab/data" if name.startswith("selfish") else "build/report") / name)
    for system in ("tacet", "linux"):
        for ranks in (64, 1024, 16384):
            (tmp_path / f"build/lab/data/{system}-{ranks}.json").write_text(
                json.dumps({"ranks": ranks, "max_ns": 9e3, "simulations_max_ns": [9e3, 9e4]})
            )
    monkeypatch.chdir(tmp_path)
    assert command.main(words) == 0
    name = f"{words[1]}.png"
    assert (tmp_path / "build/lab" / name).exists() and f"]({name})" in PAGE
    assert 1_000 < (ROOT / "docs/lab" / name).stat().st_size < 40_000


def test_the_simulator_s_results_are_latencies(tmp_path: Path) -> None:
    (tmp_path / "sim.json").write_text('{"ranks": 64, "max_ns": 5, "simulations_max_ns": [5, 6.5]}')
    assert latencies_read(tmp_path / "sim.json", "linux") == {"linux": {64: [5, 6.5]}}
    (tmp_path / "sim.json").write_text('{"ranks": 64, "max_ns": 5}')
    assert latencies_read(tmp_path / "sim.json", "linux") == {"linux": {64: [5]}}
    (tmp_path / "sim.json").write_text('{"ranks": true, "max_ns": 5}')
    with pytest.raises(DataError, match="no 'ranks'"):
        latencies_read(tmp_path / "sim.json", "linux")


def test_show_reports_the_figures_as_table_and_as_json(
    files: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(files["selfish-tacet.dat"]), f"jazz={files['selfish-linux.dat']}"]
    assert command.main(["show", *words]) == 0
    table = capsys.readouterr().out
    assert re.search(r"^ +Tacet +jazz$", table, re.MULTILINE) and re.search(
        r"^detours a second +0 +250$", table, re.MULTILINE
    )
    assert command.main(["show", "--json", *words]) == 0
    silent, ticking = json.loads(capsys.readouterr().out)
    assert silent["detours"] == 0 and silent["maximum_ns"] is None
    assert ticking["detours"] == 500 and ticking["noise_ratio"] == pytest.approx(
        (450 * 2500 + 50 * 12000) / 2e9
    )


def test_the_simulator_replays_what_convert_writes(files: dict[str, Path], tmp_path: Path) -> None:
    """One rank that computes for the whole trace is delayed by all its detours."""
    made("build/simulator/sim")
    assert command.main(["convert", str(files["selfish-linux.dat"]), "-o", str(tmp_path / "noise")]) == 0
    work_ns = 2_000_000_000 - (450 * 2500 + 50 * 12000)
    (tmp_path / "one.goal").write_text(f"num_ranks 1\nrank 0 {{\na: calc {work_ns}\n}}\n")
    done = subprocess.run(
        [ROOT / "build/simulator/sim", "run", tmp_path / "one.goal", "--noise", tmp_path / "noise"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    ends = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", done.stdout.replace(",", ""))]
    assert any(
        np.isclose(end, 2e9, rtol=0, atol=12_000) or np.isclose(end, 2, rtol=0, atol=12e-6) for end in ends
    ), done.stdout
