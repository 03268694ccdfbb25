# SPDX-License-Identifier: BSD-2-Clause
"""docs/pictures/: each drawing is what `make pictures` makes of the sources as they are, names what is there,
and can be read; the README's table is that of the data of its picture."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from lab.bench.compare import Column, as_table
from tests.documents.blocks import NUMBER_DIFFERS, is_near
from tools.drawings import __main__ as command
from tools.drawings import ftq, memory, sources, structure, timer
from tools.drawings.svg import WIDTH, Drawing, DrawingError

PICTURES = ROOT / "docs" / "pictures"
NAMES = sorted(command.DRAWINGS)
SVG = "{http://www.w3.org/2000/svg}"


def tracked(*paths: str) -> list[str]:
    listing = subprocess.run(
        ["git", "ls-files", *paths], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return listing.stdout.splitlines()


def words_in(name: str) -> set[str]:
    """Identifiers that a drawing sets as names of the sources, folders and options not."""
    root = ElementTree.parse(PICTURES / name).getroot()
    names = [span.text or "" for span in root.iter(f"{SVG}tspan") if span.get("class") == "m"]
    return {word for text in names for word in re.findall(r"(?<![/.\w])[a-z]\w*_\w+(?![/.=\w])", text)}


@pytest.mark.parametrize("name", NAMES)
def test_a_drawing_is_what_the_sources_make(name: str) -> None:
    drawn = command.DRAWINGS[name]().svg()
    assert (PICTURES / name).read_text(encoding="utf-8") == drawn, f"docs/pictures/{name}: make pictures"


def test_all_pictures_are_drawn_and_all_are_shown() -> None:
    there = {path.name for path in PICTURES.glob("*.svg")}
    assert there == set(NAMES)
    pages = "".join((ROOT / page).read_text(encoding="utf-8") for page in tracked("*.md"))
    assert [name for name in NAMES if f"pictures/{name})" not in pages] == []


@pytest.mark.parametrize("name", NAMES)
def test_names_in_a_drawing_are_in_the_sources(name: str) -> None:
    paths = tracked("kernel", "arch", "drivers")
    code = "".join((ROOT / p).read_text(encoding="utf-8") for p in paths if p.endswith((".c", ".h", ".asm")))
    missing = sorted(word for word in words_in(name) if not re.search(rf"\b{word}\b", code))
    assert missing == []
    assert name in ("ftq.svg", "structure.svg") or len(words_in(name)) >= 3


def test_the_structure_shows_the_rooms_of_the_tree_in_their_order() -> None:
    shown = (PICTURES / "structure.svg").read_text(encoding="utf-8")
    places = [shown.index(f">{room}/<") for room in sources.ROOMS]
    assert places == sorted(places)
    for folder in (*structure.HOST, *sources.folders("apps")):
        assert folder == "lib" or re.search(rf"[> ]{folder}[/ <]", shown), folder


@pytest.mark.parametrize("name", NAMES)
def test_a_drawing_is_as_wide_as_a_page_and_small(name: str) -> None:
    text = (PICTURES / name).read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)
    assert root.get("width") == str(WIDTH) and len(text) < 50_000
    assert root.find(f"{SVG}title") is not None and root.find(f"{SVG}desc") is not None
    for outside in ("href", "url(http", "<script", "@import", "<image"):
        assert outside not in text


def test_the_addresses_of_a_rank_are_the_kernel_s() -> None:
    """The stack's as the kernel reports them in docs/porting.md, the others as the headers have them."""
    a = memory.Addresses.read()
    assert a.mmap == 0x1000_0000_0000 and a.pie == 0x400_0000_0000
    assert a.stack_low == 0x7FFF_FF20_0000 and a.stack_top == 0x7FFF_FFA0_0000
    assert a.vdso - a.stack_top == 1025 * 4096 and a.image == 0xFFFF_FFFF_8020_0000
    shown = (PICTURES / "memory.svg").read_text(encoding="utf-8")
    for value in vars(a).values():
        assert memory.address(value) in shown or f"{value:#x}" in shown


def test_the_timer_s_boundary_is_the_first_multiple_of_the_rounded_bound() -> None:
    """The examples of docs/timers.md."""
    assert timer.bound_round(1_000_000) == 524_288 and timer.bound_round(50_000) == 32_768
    assert timer.bound_round(1) == 1
    assert timer.boundary(16_124_592, 524_288) == 16_252_928 == 31 * 524_288
    assert timer.boundary(524_288, 524_288) == 524_288


def test_the_readme_s_table_is_that_of_its_picture() -> None:
    """The very lines that `make run` prints for the data that are drawn."""
    columns = [
        Column(key, m.data, m.summary, {"kernel_entries": str(m.kernel_entries)})
        for key, m in ftq.measured().items()
    ]
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    missing = [line for line in as_table(columns).splitlines() if line not in page.splitlines()]
    assert missing == []


def test_the_readme_s_numbers_are_those_of_the_costs() -> None:
    costs = (ROOT / "docs" / "costs.md").read_text(encoding="utf-8")

    def row(name: str) -> tuple[int, int]:
        """What the table of `make bench` has for Tacet and for Linux."""
        line = re.search(rf"^{re.escape(name)} .*$", costs, re.M)
        assert line, name
        numbers = [int(n.replace(",", "")) for n in re.findall(r"(?<=  )\d[\d,]*(?= |$)", line[0])]
        return numbers[0], numbers[-1]

    call, wake = (
        row("empty system call, instructions"),
        row("futex wake to waiter running on another CPU, instructions"),
    )
    sleep, boot = row("1 ms sleep, exact: at most late, ns"), row("boot to main, instructions")
    memory = row("kernel memory, bytes")
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    number = r"([\d,.]+)"
    for unit, scale, (tacet, linux) in (
        ("", 1, call),
        ("", 1, wake),
        (" ns", 1, sleep),
        (" million", 1e6, boot),
        (" MB", 1e6, memory),
    ):
        # As near as a page's digits have to be, so that the README needs no edit when a cost moves a little.
        shown = re.findall(rf"\| {number}{unit} \| {number}{unit} \|", page)
        wanted = (str(tacet / scale), str(linux / scale))
        assert any(all(map(is_near, pair, wanted, [NUMBER_DIFFERS] * 2)) for pair in shown), wanted


# ---- What breaks a drawing ----


def test_a_function_that_is_gone_is_named() -> None:
    sources.defined("kernel/time/timer.c", "timer_start")
    sources.defined("arch/x86_64/syscall_entry.asm", "syscall_entry", "call_return")
    with pytest.raises(DrawingError, match=r"kernel/time/timer\.c does not define timer_queue_start,"):
        sources.defined("kernel/time/timer.c", "timer_queue_start")  # it only calls it
    with pytest.raises(DrawingError, match=r"kernel/time/tick\.c: .* not in the tree"):
        sources.defined("kernel/time/tick.c", "tick")


def test_a_room_that_the_drawing_lacks_is_named() -> None:
    with pytest.raises(DrawingError, match="lacks the rooms shm"):
        structure.same("the rooms", list(structure.HOLDS), [*sources.ROOMS, "shm"])
    with pytest.raises(DrawingError, match="has the rooms lib, and the tree does not"):
        structure.same("the rooms", list(structure.HOLDS), sources.ROOMS[:-1])


def test_a_constant_that_cannot_be_computed_is_named() -> None:
    with pytest.raises(DrawingError, match=r"load\.c: STACK_TOP: cannot compute"):
        sources.constant("kernel/init/load.c", "STACK_TOP")
    with pytest.raises(DrawingError, match="does not define STACK_TIP"):
        sources.constant("kernel/init/load.c", "STACK_TIP")


def test_a_text_that_does_not_fit_is_named() -> None:
    d = Drawing(100, "A drawing", "")
    with pytest.raises(DrawingError, match="A drawing: 'too long a text' needs .* px, its place has 20"):
        d.text(10, 10, "too long a text", room=20)
    with pytest.raises(DrawingError, match="the box of 'head' needs 53 px, it has 30"):
        d.card(0, 0, 200, 30, "#fff", "head", ["one", "two"])


def test_text_is_escaped() -> None:
    d = Drawing(100, "a < b", "")
    d.text(10, 20, "`a<b>` & c")
    ElementTree.fromstring(d.svg())


def test_make_pictures_says_what_is_stale_and_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "FOLDER", tmp_path)
    assert command.main(["--check"]) == 1
    assert "docs/pictures/timer.svg is outdated" in capsys.readouterr().out
    assert command.main([]) == 0 and len(list(tmp_path.glob("*.svg"))) == len(NAMES)
    assert command.main(["--check"]) == 0
    capsys.readouterr()
    assert command.main(["--measured", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "lacks ftq.json, ftq-tacet.dat" in said and "make run" in said


def test_a_measurement_is_taken_over_whole(tmp_path: Path) -> None:
    """Data as FTQ wrote them; of the figures only what the data do not hold."""
    source, kept = tmp_path / "report", tmp_path / "kept"
    source.mkdir()
    kept.mkdir()
    for path in PICTURES.glob("ftq-*.dat"):
        (source / path.name).write_bytes(path.read_bytes())
    figures = {key: {"kernel_entries": n, "command": "qemu"} for n, key in enumerate(ftq.SYSTEMS)}
    (source / "ftq.json").write_text(json.dumps({**figures, "command": "lab"}))
    ftq.take_over(source, kept)
    assert {path.name for path in kept.iterdir()} == {path.name for path in source.iterdir()}
    assert [m.kernel_entries for m in ftq.measured(kept).values()] == [0, 1, 2]
    assert "command" not in (kept / "ftq.json").read_text()
