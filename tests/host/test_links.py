# SPDX-License-Identifier: BSD-2-Clause
"""Links of all Markdown files: each leads to a file of the tree, each `#anchor` to a heading there, and from
the README a reader comes to every page."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent

FENCE = re.compile(r"^(?P<mark>`{3,}|~{3,}).*?^(?P=mark)`*\s*?$", re.M | re.S)
INLINE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.S)
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)|^\[[^\]]+\]:\s+(\S+)", re.M)
OUTSIDE = re.compile(r"[a-z][a-z0-9+.-]*:")


@cache
def tracked() -> frozenset[str]:
    listing = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return frozenset(listing.splitlines())


def pages() -> list[str]:
    return sorted(path for path in tracked() if path.endswith(".md"))


@cache
def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


@dataclass(frozen=True)
class Link:
    """A relative link: where it stands, the path in the tree that it leads to, and its anchor."""

    page: str
    line: int
    path: str
    anchor: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.path}" + f"#{self.anchor}" * bool(self.anchor)


def normal(path: PurePosixPath) -> str:
    """Without `..` and `.`; what leaves the tree keeps its `..`."""
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def links_of(page: str, text: str) -> list[Link]:
    plain = INLINE.sub(blank, FENCE.sub(blank, text))
    found = []
    for match in LINK.finditer(plain):
        target = match[1] or match[2]
        if OUTSIDE.match(target):
            continue
        path, _, anchor = target.partition("#")
        where = normal(PurePosixPath(page).parent / path) if path else page
        found.append(Link(page, plain.count("\n", 0, match.start()) + 1, where, anchor))
    return found


def anchors_of(text: str) -> set[str]:
    """The anchors that GitHub gives to the headings."""
    found: set[str] = set()
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", FENCE.sub(blank, text), re.M):
        words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
        plain = anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        number = 0
        while anchor in found:
            number += 1
            anchor = f"{plain}-{number}"
        found.add(anchor)
    return found


def is_there(path: str) -> bool:
    return path in tracked() or any(name.startswith(f"{path}/") for name in tracked())


def is_broken(link: Link) -> bool:
    return not is_there(link.path) or (
        link.path.endswith(".md") and link.anchor not in {"", *anchors_of(text_of(link.path))}
    )


@pytest.mark.parametrize("page", pages())
def test_every_link_leads_to_a_file_of_the_tree_and_a_heading(page: str) -> None:
    assert [str(link) for link in links_of(page, text_of(page)) if is_broken(link)] == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, to_read = {"README.md"}, ["README.md"]
    while to_read:
        page = to_read.pop()
        for link in links_of(page, text_of(page)):
            if link.path.endswith(".md") and link.path not in reached and link.path in tracked():
                reached.add(link.path)
                to_read.append(link.path)
    assert set(pages()) - reached == set()


def test_the_guide_names_every_page_of_the_documents() -> None:
    guide = "docs/README.md"
    named = {link.path for link in links_of(guide, text_of(guide))}
    documents = {page for page in pages() if re.fullmatch(r"docs/(?:lab/)?[\w-]+\.md", page)}
    assert documents - named == {guide}


# ---- The reader of links ----


def test_code_has_no_links_and_headings_have_github_s_anchors() -> None:
    text = (
        "# A `b_c` d: e\n\n[x](y.md#z) `[no](no.md)`\n```\n[no](no.md)\n# no\n```\n"
        "## A b_c, d e\n[w](http://w)\n"
    )
    assert [str(link) for link in links_of("docs/p.md", text)] == ["docs/p.md:3: docs/y.md#z"]
    assert anchors_of(text) == {"a-b_c-d-e", "a-b_c-d-e-1"}


def test_a_link_out_of_the_tree_is_broken() -> None:
    (link,) = links_of("docs/p.md", "[x](../../etc/passwd)")
    assert link.path == "../etc/passwd" and not is_there(link.path)
