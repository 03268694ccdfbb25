# SPDX-License-Identifier: BSD-2-Clause
"""What stands in the documents is true: every command is run, and prints what is shown.

blocks.py says how commands are written, commands.txt how those are tried that no console block shows.
`tests/documents/refresh.py PAGE` puts what is printed now into a page.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent)]

import ledger
from blocks import Block, Command, blocks, console_blocks, difference, documents, mentioned, plain, read
from reader import TIME_LIMIT, Reader

from tests.making import made

ROWS = ledger.rows()

#: Long commands are for `make test-long`; they may take as long as the pages say, many times over.
LONG = pytest.mark.long
LONG_LIMIT = 3600.0

NEEDED = ("kernel", "apps", "sim", "qemu10", "build/linux/version")


@pytest.fixture(scope="session")
def readers() -> Iterator[dict[str, Reader]]:
    """The readers of this worker, each with a tree of its own."""
    made(*NEEDED)
    found: dict[str, Reader] = {}
    yield found
    for one in found.values():
        one.close()


@pytest.fixture(scope="session")
def complaints(request: pytest.FixtureRequest, readers: dict[str, Reader]) -> dict[Block, list[str]]:
    """What was wrong with each block of a document that was read from its beginning to its end, but for its
    long ones: commands build on those before them."""
    document = request.param
    readers[document] = Reader(document)
    return {
        block: readers[document].read_block(block, TIME_LIMIT)
        for block in BLOCKS
        if block.document == document and not is_long(block)
    }


def rows_of(block: Block) -> list[ledger.Row]:
    return [row for command in block.commands() for row in ROWS if row.covers(plain(command.text))]


def is_long(block: Block) -> bool:
    return any(row.long and not row.run for row in rows_of(block))


#: Without the commands that another test runs, and those that a row excepts.
BLOCKS = [
    block
    for document in documents()
    for block in console_blocks(document)
    if not any(row.is_elsewhere for row in rows_of(block))
]


def ids() -> Iterator[str]:
    """A test's name: the document, and the beginning of the block's first command; unlike the line it stays
    when the document grows above it."""
    seen: Counter[str] = Counter()
    for block in BLOCKS:
        name = f"{block.document} {re.sub(r'[^ -Z^-~]', '_', plain(block.commands()[0].text))[:40].strip()}"
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name} ({seen[name]})"


IDS = dict(zip(BLOCKS, ids()))


def marked(block: Block) -> object:
    # One document, one worker.
    group = f"long {block.line % 2}" if is_long(block) else block.document
    # pytest compares a fixture's parameters by identity, and makes the fixture again for another object.
    values = (block,) if is_long(block) else (sys.intern(block.document), block)
    return pytest.param(*values, marks=pytest.mark.xdist_group(f"documents {group}"), id=IDS[block])


@pytest.mark.parametrize(
    ("complaints", "block"),
    [marked(block) for block in BLOCKS if not is_long(block)],
    indirect=["complaints"],
    scope="session",  # else pytest would make the fixture for each test
)
def test_a_command_prints_what_the_document_shows(complaints: dict[Block, list[str]], block: Block) -> None:
    assert not complaints[block], "\n\n" + "\n\n".join(complaints[block])


def reader_of(name: str, readers: dict[str, Reader]) -> Reader:
    if name not in readers:
        readers[name] = Reader(name)
    return readers[name]


@LONG
@pytest.mark.parametrize("block", [marked(block) for block in BLOCKS if is_long(block)])
def test_a_long_command_prints_what_the_document_shows(block: Block, readers: dict[str, Reader]) -> None:
    """It stands for itself: the commands before it are not typed."""
    complaints = reader_of(f"{block.document}-long", readers).read_block(block, LONG_LIMIT)
    assert not complaints, "\n\n" + "\n\n".join(complaints)


def case(row: ledger.Row) -> object:
    marks = [pytest.mark.xdist_group("documents ledger"), *([LONG] if row.long else [])]
    return pytest.param(row, marks=marks, id=row.name)


@pytest.mark.parametrize("row", [case(row) for row in ROWS if row.run])
def test_a_command_in_the_text_does_what_it_says(row: ledger.Row, readers: dict[str, Reader]) -> None:
    reader = reader_of("ledger", readers)
    output = ""
    for command, wanted in ((row.before, 0), (row.run, row.status)):
        if not command:
            continue
        status, output = reader.type(command, LONG_LIMIT if row.long else TIME_LIMIT)
        assert status == wanted, f"{command}: status {status}\n{output}"
    assert re.search(row.prints, output, re.MULTILINE), f"{row.run}: no {row.prints!r} in\n{output}"


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in ROWS if row.test])
def test_a_command_that_another_test_runs_is_named_there(row: ledger.Row) -> None:
    assert not (missing := row.missing()), missing


@pytest.mark.parametrize("document", documents())
def test_every_command_of_a_document_is_tried(document: str) -> None:
    left = ledger.uncovered(document, read(document), ROWS, ledger.typed())
    assert not left, "tried by nothing (a console block, or a row of commands.txt):\n" + "\n".join(left)


def test_the_ledger_has_no_row_that_no_document_needs() -> None:
    assert not (unused := ledger.unused(ROWS)), "\n".join(unused)


@pytest.mark.parametrize("document", documents())
def test_a_block_says_what_it_is(document: str) -> None:
    nameless = [block.name for block in blocks(document, read(document)) if not block.info]
    assert not nameless, "a fenced block has an info string: console, text, c, …:\n" + "\n".join(nameless)


# ---- The check itself notices what is wrong ----

PAGE = """\
`make cake` and `tools/run --cake
prog`, but not `kernel/`, nor `tools/run`.

```console
$ printf 'one\\ntwo\\n' \\
      | cat
one
…
$ true
```

```text
$ make tea      # a remark
```
"""


def test_a_page_is_taken_apart() -> None:
    (console, text) = blocks("page", PAGE)
    assert (console.info, console.line, text.info) == ("console", 4, "text")
    first, second = console.commands()
    assert first == Command("page", 5, "printf 'one\\ntwo\\n' \\\n      | cat", ("one", "…"))
    assert second == Command("page", 9, "true")
    assert [(one.line, one.text) for one in mentioned("page", PAGE)] == [
        (12, "make tea"),
        (1, "make cake"),
        (1, "tools/run --cake prog"),
    ]
    for broken, said in (
        ("```console\nx\n```\n", "page:1: a console block begins"),
        ("```c\n", "without an end"),
    ):
        with pytest.raises(ValueError, match=said):
            [block.commands() for block in blocks("page", broken)]


def test_a_help_that_lacks_an_option_is_refused() -> None:
    (row,) = ledger.rows("tools/lab bake --cake 1\n    help\n")
    assert row.run == "tools/lab bake --help"
    assert re.search(row.prints, "usage: bake\n  --cake N\n") and not re.search(row.prints, "usage: --cakes")


@pytest.mark.parametrize(
    ("shown", "printed", "differs"),
    [
        (("one", "two"), "one\ntwo\n", False),
        (("…",), "", False),
        (("…",), "one\ntwo\n", False),
        (("one", "…"), "one\n", False),
        (("one", "…", "four"), "one\ntwo\nthree\nfour\n", False),
        (("at 0x…, then", ""), "at 0x1234, then\n", False),
        ((), "\n", False),
        (("took 1,000 ns (12 of 16)",), "took   998 ns (12 of 16)\n", False),
        (("a     999  x", "b  1000.5  y"), "a    1,001  x\nb   900.25  y\n", False),
        (("one",), "two\n", True),
        (("took 1,000 ns",), "took 700 ns\n", True),
        (("took 12 ns",), "took 13 ns\n", True),
        (("took 100 ns", "…"), "took 100 us\n", True),
        (("at 10.1.0.200:7777",), "at 10.1.0.201:7777\n", True),
        (("at 10.1.0.200:7777",), "at 10.1.0.200:7778\n", True),
        (("one",), "one\ntwo\n", True),
        ((), "one\n", True),
        (("one.",), "onex\n", True),
        (("one", "…", "four"), "one\n", True),
        (("at …",), "at 1\nat 2\n", True),
    ],
)
def test_what_is_not_shown_is_a_difference(shown: tuple[str, ...], printed: str, differs: bool) -> None:
    said = difference(Command("page", 7, "x", shown), printed)
    assert ("page:7" in said and "+++ printed" in said) if differs else said == ""


def test_a_command_that_nobody_tries_is_named() -> None:
    rows = ledger.rows("make t*\n    test a::b\n")
    assert ledger.uncovered("page", PAGE, rows, ["make cake WITH=cream"]) == ["page:1: tools/run --cake prog"]


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ("tests/none.py::test_x", "there is no tests/none.py"),
        ("tests/documents/test_documents.py::test_x", "has no test test_x"),
        ("tests/documents/ledger.py::rows", "does not name make, " + "pudding"),
    ],
)
def test_a_test_that_does_not_run_the_command_is_refused(test: str, said: str) -> None:
    assert said in ledger.Row(shown=("make " + "pudding",), test=test).missing()


@pytest.mark.parametrize("said", ["test a\n    run b", "status 1", "run a\n    runs b", ""])
def test_a_row_that_says_nothing_or_too_much_is_refused(said: str) -> None:
    with pytest.raises(ValueError, match=r"commands.txt: make x: (takes one|unknown: runs)"):
        ledger.rows(f"make x\n    {said}\n".replace("    \n", ""))
