# SPDX-License-Identifier: BSD-2-Clause
"""docs/papers.md and docs/glossary.md: what they name exists, and no figure of the papers is missing. (That
the commands there are tried is for tests/documents.)

In both pages a path stands in backticks. Names in backticks that follow it, separated by blanks and commas
only, stand in that file: in a test they are tests, elsewhere any words. Tables of papers.md have four
columns. What follows "no" in backticks (no `PTP`) is in no source: a word, or a pattern of files.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PAPERS = ROOT / "docs/papers.md"
GLOSSARY = ROOT / "docs/glossary.md"
PAGES = (PAPERS, GLOSSARY)

#: Folders of the tree with which a path can begin. What commands make (build/) is not in the tree.
TOPS = "apps|arch|boot|docs|drivers|kernel|lab|libc|ports|service|simulator|tests|tools"
PATH = re.compile(rf"(?:{TOPS})/[\w./+-]+|Makefile|README\.md")
#: What reads like a path of the tree although PATH does not know it: a slip.
LIKE_A_PATH = re.compile(r"(?!build/|/)[\w.-]+/[\w./-]+\.(?:asm|c|cpp|def|h|hpp|json|md|mk|py|sh)")
TEST_FILE = re.compile(r"tests/(?:host|mpi|qemu)/test_\w+\.(?:c|cpp|py)")
BACKTICKS = re.compile(r"`([^`]+)`")
#: What stands between a path and the names that belong to it, or between two of them.
JOINED = re.compile(r",?\s+")

#: What a page says that the tree does not have.
ABSENT = re.compile(r"\bno `([^`]+)`")
#: Where it is looked for.
SOURCES = ("*.c", "*.h", "*.S", "*.asm", "*.cpp", "*.hpp", "*.py", "*.txt", "*.def", "*.sh", "*.mk")

#: Every numbered figure and table of each paper.
NUMBERED = {
    "Tsafrir05": [*(f"Fig. {n}" for n in range(1, 8)), *(f"Table {n}" for n in range(1, 4))],
    "Beckman06": [*(f"Fig. {n}" for n in range(1, 7)), *(f"Table {n}" for n in range(1, 5))],
    "Betti09": [*(f"Fig. {n}" for n in range(1, 6)), "Table I", "Table II"],
    "Hoefler10": [*(f"Fig. {n}" for n in range(1, 11)), "Table I", "Table II", "Table III"],
}


@dataclass(frozen=True)
class Named:
    """A path in backticks, with the line where it stands and the names that follow it."""

    line: int
    path: str
    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.line}: {self.path}"


def named(text: str) -> Iterator[Named]:
    """All paths of a text, in order, each with its names."""
    tokens = list(BACKTICKS.finditer(text))
    for place, token in enumerate(tokens):
        if not PATH.fullmatch(token[1]):
            continue
        names: list[str] = []
        end = token.end()
        for following in tokens[place + 1 :]:
            if PATH.fullmatch(following[1]) or not JOINED.fullmatch(text[end : following.start()]):
                break
            names.append(following[1])
            end = following.end()
        yield Named(text.count("\n", 0, token.start()) + 1, token[1], tuple(names))


@cache
def source(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def has_name(path: str, name: str) -> bool:
    if not TEST_FILE.fullmatch(path):
        end = r"(?!\w)" if name[-1].isalnum() else ""  # an option, as in `ranks=`, goes on
        return re.search(rf"(?<!\w){re.escape(name)}{end}", source(path)) is not None
    pattern = rf"^def {name}\(" if path.endswith(".py") else rf"^TEST\({name}\)"
    return re.search(pattern, source(path), re.MULTILINE) is not None


def sections(text: str) -> dict[str, list[list[str]]]:
    """Rows of each paper's table, without its head, as cells."""
    found: dict[str, list[list[str]]] = {}
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title = re.match(r"\[(\w+)\]", part)
        rows = [line.strip().strip("|").split("|") for line in part.splitlines() if line.startswith("|")]
        if title:
            found[title[1]] = [[cell.strip() for cell in row] for row in rows[2:]]
    return found


def numbers(cell: str) -> set[str]:
    """The figures and tables that a cell of the first column names: "§3, Fig. 5(b, c)" is "Fig. 5"."""
    return {re.sub(r"\s+", " ", found) for found in re.findall(r"Fig\. \d+|Table (?:\d+|[IVX]+)", cell)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_is_in_the_tree(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [str(found) for found in named(text) if not (ROOT / found.path).exists()] == []
    tokens = BACKTICKS.findall(text)
    assert [token for token in tokens if LIKE_A_PATH.fullmatch(token) and not PATH.fullmatch(token)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_name_stands_in_its_file(page: Path) -> None:
    found = [one for one in named(page.read_text(encoding="utf-8")) if (ROOT / one.path).is_file()]
    assert any(one.names for one in found)
    assert [f"{one}: {name}" for one in found for name in one.names if not has_name(one.path, name)] == []


def test_every_experiment_exists_and_has_a_row() -> None:
    command = [sys.executable, "-m", "lab", "reproduce", "list"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout
    experiments = set(re.findall(r"^  ([a-z][\w-]*)  ", said, re.MULTILINE))
    repeated = [set(re.findall(r"`tools/lab reproduce ([a-z][\w-]*)`", page.read_text())) for page in PAGES]
    assert len(experiments) >= 10 and repeated[0] == experiments and repeated[1] <= experiments


@pytest.mark.parametrize("paper", NUMBERED)
def test_every_figure_and_table_of_a_paper_has_a_row_that_names_code_and_test(paper: str) -> None:
    """Or says what is absent."""
    rows = sections(PAPERS.read_text(encoding="utf-8"))[paper]
    assert set().union(*(numbers(row[0]) for row in rows)) == set(NUMBERED[paper])
    for row in rows:
        assert len(row) == 4 and all(row) and row[0].startswith("§"), row
        if row[1].startswith("**absent**"):
            assert ABSENT.search(row[1]), row
            continue
        assert any(named(row[1])), row
        assert [one for one in named(row[2]) if TEST_FILE.fullmatch(one.path) and one.names], row


def git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode <= 1, done.stderr  # 1: git grep has found nothing
    return done.stdout.splitlines()


def places(absent: str) -> list[str]:
    """Where the tree has it: files that match a pattern (it has a slash), or sources with a word."""
    if "/" in absent:
        return [path for path in git("ls-files") if fnmatchcase(path, absent)]
    found = git("grep", "--files-with-matches", "--word-regexp", "--fixed-strings", absent, "--", *SOURCES)
    return [path for path in found if path != "tests/host/test_papers.py"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_calls_absent_is_in_no_source(page: Path) -> None:
    """Nor does it speak of plans, which stay in a page when they have been carried out."""
    text = page.read_text(encoding="utf-8")
    assert {absent: found for absent in ABSENT.findall(text) if (found := places(absent))} == {}
    assert "planned" not in text


def test_the_search_for_what_is_absent_finds_what_is_there() -> None:
    assert "lab/cli/reproduce.py" in places("Waiting") and places("Waitin") == []
    assert places("apps/mpi-bench/e*") == ["apps/mpi-bench/ep.c"] and places("apps/mpi-bench/x*") == []


def test_the_glossary_is_in_order_and_says_what_each_word_means() -> None:
    text = GLOSSARY.read_text(encoding="utf-8")
    entries = re.findall(r"^\* \*\*([^*]+)\*\*:((?:.|\n(?!\* |\n|#))*)", text, re.MULTILINE)
    assert len(entries) == len(re.findall(r"^\* ", text, re.MULTILINE))
    words = [re.sub(r"[^a-z0-9 ]", "", word.lower()) for word, _ in entries]
    assert len(words) > 50
    misplaced = [(here, there) for here, there in zip(words, sorted(words), strict=True) if here != there]
    assert not misplaced, misplaced[0]
    assert len(words) == len(set(words))
    assert [word for word, meaning in entries if len(meaning.split()) < 5] == []
