# SPDX-License-Identifier: BSD-2-Clause
"""What other systems answer, kept as facts next to the programs that ask: Linux to the conformance programs
(tests/conformance/answers.txt), MPICH and Open MPI to the MPI programs (tests/mpi/answers.txt).

A *reference* is a system that is asked: Linux with one C library on one architecture, or one MPI library. An
*answer* is what a reference prints for one *name*, a program or a test. A file holds the answers of several
references, equal ones once, and what they depend on (*ingredients*):

    [reference NAME SEAL]               a reference, and what all its answers depend on
    INGREDIENT = VALUE
    [answer NAME SEAL: REFERENCE…]      an answer that these references give
    SOURCE = DIGEST                     the files that this name alone depends on
    | a line of it
    [end COUNT]                         of both kinds of sections; its absence shows that the file is cut

A SEAL is a hash of its section's ingredients and lines: a section that was edited is damaged.

`make test` reads the file (`Answers.lines`) and asks no reference, unless a version has changed:

- A file that is missing or damaged, an answer that is missing, and one whose sources or options are no longer
  those of the tree are refused, in one line that names the cause and the command that renews the file. Such a
  change is the tree's, so the same commit renews the answers.
- A *version* that differs on this machine (of the C library, the compiler, QEMU, the reference itself) is
  not the tree's change: a security update must fail no test. The reference is asked once on this machine, its
  lines must be the recorded ones, and a warning says so. build/answers remembers it for the next run. A
  version that this machine does not have is not compared: a machine without MPICH takes the file as it is.

`make test-long` asks each reference (`Answers.differences`), and fails if one says anything else.
`main` is the command that renews a file: tests/conformance/refresh.py and tests/mpi/refresh.py.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tests.ingredients import digest_of, relative
from tests.making import ROOT

SECTION = re.compile(r"\[(reference|answer) (\S+) ([0-9a-f]{12})(?:: (\S+(?: \S+)*))?\]")
END = re.compile(r"\[end (\d+)\]")
INGREDIENT = re.compile(r"(\S[^=]*?) = (.*)")


class Refused(Exception):
    """A record cannot be used; one line says why, and how to renew it."""


class Absent(Exception):
    """The reference is not installed here, so that it cannot be asked."""


@dataclass(frozen=True)
class Reference:
    """A system that is asked.

    names      what it answers
    sources    the files that this name depends on, in addition to `tree`
    tree       what all its answers depend on and a commit changes: common sources, options
    versions   the same, of what is installed on this machine; None: it is not here
    ask        returns what it says now, by name. Absent if it is not installed
    at_once    asking all names costs little more than asking one
    """

    name: str
    names: Sequence[str]
    sources: Callable[[str], Sequence[Path]]
    tree: Callable[[], Mapping[str, str]]
    versions: Callable[[], Mapping[str, str | None]]
    ask: Callable[[Sequence[str]], Mapping[str, Sequence[str]]]
    at_once: bool = False

    def sources_of(self, name: str) -> dict[str, str]:
        """The digests of a name's own sources, by their paths."""
        return {relative(path): digest_of(path) for path in self.sources(name)}


@dataclass(frozen=True)
class Answer:
    """What was said, and the digests of the sources that said it."""

    sources: Mapping[str, str]
    lines: tuple[str, ...]


@dataclass
class Record:
    """A file's content: the ingredients of each reference, and its answers by name."""

    references: dict[str, dict[str, str]] = field(default_factory=dict)
    answers: dict[str, dict[str, Answer]] = field(default_factory=dict)


def seal(*parts: object) -> str:
    """A hash of what a section says."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]


def written(record: Record, head: str) -> str:
    """The file's text; `head` is its first comment. ValueError for lines that it cannot hold."""
    text = [*(f"# {line}".rstrip() for line in head.splitlines()), ""]
    for reference, ingredients in sorted(record.references.items()):
        text += [f"[reference {reference} {seal(reference, ingredients)}]"]
        text += [*(f"{name} = {value}" for name, value in sorted(ingredients.items())), ""]
    groups: dict[tuple[str, str], tuple[Answer, list[str]]] = {}
    for reference, answers in sorted(record.answers.items()):
        for name, answer in answers.items():
            if wrong := [line for line in answer.lines if line.splitlines() not in ([line], [])]:
                raise ValueError(f"{reference}, {name}: a line that no file of lines can hold: {wrong[0]!r}")
            key = name, seal(name, answer.sources, answer.lines)
            groups.setdefault(key, (answer, []))[1].append(reference)
    for (name, sealed), (answer, references) in sorted(groups.items()):
        text += [f"[answer {name} {sealed}: {' '.join(references)}]"]
        text += [f"{path} = {digest}" for path, digest in sorted(answer.sources.items())]
        text += [*(f"| {line}" if line else "|" for line in answer.lines), ""]
    return "\n".join([*text, f"[end {len(record.references) + len(groups)}]", ""])


def parsed(text: str) -> Record:
    """The record that a file's text holds. ValueError with what is damaged."""
    record, sections = Record(), 0
    section: re.Match[str] | None = None
    ingredients: dict[str, str] = {}
    lines: list[str] = []
    ended = False

    def close() -> None:
        """Takes in the section that ends here."""
        if section is None:
            return
        kind, name, sealed, references = section.groups()
        content = (name, ingredients) if kind == "reference" else (name, ingredients, tuple(lines))
        if seal(*content) != sealed:
            raise ValueError(f"the {kind} {name} does not fit its seal: it was edited or cut")
        if kind == "reference":
            record.references[name] = dict(ingredients)
        for reference in (references or "").split():
            record.answers.setdefault(reference, {})[name] = Answer(dict(ingredients), tuple(lines))

    for number, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        end = END.fullmatch(line)
        if ended:
            raise ValueError(f"line {number} comes after the end")
        if end or (found := SECTION.fullmatch(line)):
            close()
            ended = end is not None
            if end and int(end[1]) != sections:
                raise ValueError(f"it ends after {sections} sections and had {end[1]}")
            section, ingredients, lines = (None if end else found), {}, []
            sections += 1
        elif section and line.startswith("|"):
            lines.append(line[2:])
        elif section and (pair := INGREDIENT.fullmatch(line)):
            ingredients[pair[1]] = pair[2]
        else:
            raise ValueError(f"line {number} is none of a record: {line[:60]}")
    if not ended:
        raise ValueError("its end is missing")
    return record


def changes(recorded: Mapping[str, str], now: Mapping[str, str | None]) -> list[str]:
    """What differs between ingredients, a phrase each. What this machine does not have is not compared."""
    return [
        f"{name} was {recorded.get(name, 'not there')} and is {now.get(name, 'not there')}"
        for name in sorted(recorded.keys() | now.keys())
        if recorded.get(name) != now.get(name) and not (name in now and now[name] is None)
    ]


def difference(recorded: Iterable[str], said: Iterable[str]) -> str:
    """The lines that differ: `-` the record's, `+` what is said now. Empty if none does."""
    lines = difflib.unified_diff(list(recorded), list(said), lineterm="", n=0)
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


class Answers:
    """One file of answers: read, checked and renewed.

    path         the file
    head         its first comment
    command      the command that renews it
    references   the systems that are asked
    confirmed    the file that remembers which answers this machine's versions have confirmed
    """

    def __init__(
        self,
        path: Path,
        head: str,
        command: str,
        references: Iterable[Reference],
        confirmed: Path | None = None,
    ) -> None:
        self.path, self.head, self.command = path, head, command
        self.references = {reference.name: reference for reference in references}
        self.confirmed = confirmed or ROOT / "build" / "answers" / relative(path).replace("/", "-")
        self.said: dict[tuple[str, str], Sequence[str]] = {}
        self.ingredients: dict[str, tuple[Mapping[str, str], Mapping[str, str | None]]] = {}

    # ---- Reading ----

    def refused(self, why: str, *names: str) -> Refused:
        words = " ".join([self.command, *names])
        return Refused(f"{relative(self.path)}: {why}; renew it by {words}")

    @cached_property
    def record(self) -> Record:
        """What the file holds. Refused if it is missing or damaged."""
        try:
            return parsed(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise self.refused("the file is missing") from None
        except ValueError as error:
            raise self.refused(f"damaged: {error}") from None

    def now(self, reference: str) -> tuple[Mapping[str, str], Mapping[str, str | None]]:
        """The tree's ingredients of a reference, and this machine's versions; read once."""
        if reference not in self.ingredients:
            one = self.references[reference]
            self.ingredients[reference] = one.tree(), one.versions()
        return self.ingredients[reference]

    def shared_changes(self, reference: str) -> tuple[list[str], list[str]]:
        """How the ingredients of all answers of a reference have changed: the tree's, and versions."""
        tree, versions = self.now(reference)
        recorded = self.record.references.get(reference, {})
        old_versions = {name: value for name, value in recorded.items() if name in versions}
        old_tree = {name: value for name, value in recorded.items() if name not in versions}
        return changes(old_tree, tree), changes(old_versions, versions)

    def stale(self, reference: str, name: str) -> str:
        """Why the answer to a name cannot be used, by the tree's own changes; empty if it can."""
        answer = self.record.answers.get(reference, {}).get(name)
        if answer is None:
            return f"there is no answer of {reference} to {name}"
        if changed := changes(answer.sources, self.references[reference].sources_of(name)):
            return f"the answer of {reference} to {name} is stale: {changed[0]}"
        return ""

    def complaints(self) -> list[str]:
        """All that is wrong with the file and needs no reference to find out: one line each."""
        found = []
        for reference, one in self.references.items():
            if changed := self.shared_changes(reference)[0]:
                found.append(str(self.refused(f"{reference} is stale: {changed[0]}")))
            found += [
                str(self.refused(why, name)) for name in one.names if (why := self.stale(reference, name))
            ]
        for reference, answers in self.record.answers.items():
            known = self.references[reference].names if reference in self.references else ()
            left = [name for name in answers if name not in known]
            found += [
                str(self.refused(f"{reference} has an answer to {name}, which no longer exists"))
                for name in left
            ]
        return found

    def lines(self, reference: str, name: str) -> list[str]:
        """Returns the recorded answer. Refused if it is missing, stale or damaged. If versions have changed,
        the reference is asked first, and must say the same."""
        in_tree, in_versions = self.shared_changes(reference)
        if in_tree:
            raise self.refused(f"{reference} is stale: {in_tree[0]}")
        if why := self.stale(reference, name):
            raise self.refused(why, name)
        if in_versions:
            self.confirm(reference, name, in_versions)
        return list(self.record.answers[reference][name].lines)

    # ---- Asking ----

    def asked(self, reference: str, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """What the reference says now to each name. AssertionError if it says nothing to one."""
        said = self.references[reference].ask(names)
        silent = [name for name in names if not said.get(name)]
        assert not silent, f"{reference} printed nothing for {', '.join(silent)}"
        return {name: tuple(said[name]) for name in names}

    def confirmation(self, reference: str, name: str) -> str:
        """The line of `confirmed` that says that this machine's reference gives the recorded answer."""
        tree, versions = self.now(reference)
        answer = self.record.answers[reference][name]
        return f"{reference} {name} {seal(dict(tree), dict(versions), dict(answer.sources), answer.lines)}"

    def confirm(self, reference: str, name: str, changed: Sequence[str]) -> None:
        """Asks the reference whether it still gives the recorded answer, once on this machine. Refused if it
        does not."""
        if self.confirmed.exists():
            if self.confirmation(reference, name) in self.confirmed.read_text(encoding="utf-8").splitlines():
                return
        one, cause = self.references[reference], ", ".join(changed)
        if (reference, name) not in self.said:
            try:
                names = one.names if one.at_once else [name]
                self.said |= {
                    (reference, each): lines for each, lines in self.asked(reference, names).items()
                }
            except Absent as absent:
                warnings.warn(f"{relative(self.path)}: {cause}; taken as it is, since {absent}", stacklevel=2)
                return
            warnings.warn(
                f"{relative(self.path)}: {cause}; so {reference} was asked; {self.command} renews the file",
                stacklevel=2,
            )
        recorded = self.record.answers[reference][name].lines
        if differs := difference(recorded, self.said[reference, name]):
            raise self.refused(
                f"{cause}, and {reference} now answers otherwise to {name}:\n{differs}\n", name
            )
        self.confirmed.parent.mkdir(parents=True, exist_ok=True)
        with self.confirmed.open("a", encoding="utf-8") as file:
            file.write(f"{self.confirmation(reference, name)}\n")

    def differences(self, reference: str, names: Sequence[str] = ()) -> str:
        """Asks the reference, and returns where it says something else than the file; empty if nowhere.
        Refused if the file does not hold its answers."""
        chosen = names or self.references[reference].names
        if in_tree := self.shared_changes(reference)[0]:
            raise self.refused(f"{reference} is stale: {in_tree[0]}")
        for name in chosen:
            if why := self.stale(reference, name):
                raise self.refused(why, name)
        recorded = self.record.answers[reference]
        found = []
        for name, lines in self.asked(reference, chosen).items():
            if differs := difference(recorded[name].lines, lines):
                found.append(f"{name}, - is the record, + is {reference}:\n{differs}")
        return "\n".join(found)

    # ---- Renewing ----

    def renew(self, reference: str, names: Sequence[str] = ()) -> list[str]:
        """Asks the reference for these names and for those whose answers are stale, or without names for all,
        and writes the file; the names whose lines have changed."""
        try:
            record = self.record
        except Refused:
            record = Record()
        self.record = record
        one = self.references[reference]
        chosen = list(one.names)
        if names and not any(self.shared_changes(reference)):
            chosen = [name for name in one.names if name in names or self.stale(reference, name)]
        if not chosen:
            return []
        tree, sources = self.now(reference)[0], {name: one.sources_of(name) for name in one.names}
        said = self.asked(reference, chosen)
        # A reference that was not here before is now, and its version is known.
        del self.ingredients[reference]
        versions = self.now(reference)[1]
        if len(chosen) < len(one.names) and any(self.shared_changes(reference)):
            said = self.asked(reference, one.names)
        if tree != self.now(reference)[0] or sources != {name: one.sources_of(name) for name in one.names}:
            raise ValueError(f"{reference}: a source has changed since it was asked; ask it again")
        before = record.answers.get(reference, {})
        fresh = {name: Answer(sources[name], tuple(lines)) for name, lines in said.items()}
        record.references[reference] = {**tree, **{k: v for k, v in versions.items() if v is not None}}
        record.answers[reference] = {name: fresh.get(name) or before[name] for name in one.names}
        for gone in record.references.keys() - self.references.keys():
            del record.references[gone]
            record.answers.pop(gone, None)
        self.write(record)
        return [name for name in fresh if name not in before or before[name].lines != fresh[name].lines]

    def write(self, record: Record) -> None:
        """Replaces the file, if what is written reads back as it is."""
        text = written(record, self.head)
        if parsed(text) != record:
            raise ValueError(f"{relative(self.path)}: what is written would not read back as it is")
        part = self.path.with_suffix(".part")
        part.write_text(text, encoding="utf-8")
        os.replace(part, self.path)


def main(answers: Answers, words: Sequence[str] | None = None) -> int:
    """The command that renews or checks a file."""
    parser = argparse.ArgumentParser(
        prog=answers.command,
        description=f"Asks the references again and writes {relative(answers.path)}. With names: these, and "
        "those whose answers are stale.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="what to ask (default: everything)")
    parser.add_argument(
        "--of", action="append", choices=list(answers.references), help="this reference; may be repeated"
    )
    parser.add_argument("--check", action="store_true", help="compare with the file, and write nothing")
    arguments = parser.parse_args(words)
    known = {name for one in answers.references.values() for name in one.names}
    if unknown := [name for name in arguments.names if name not in known]:
        close = difflib.get_close_matches(unknown[0], sorted(known), n=3)
        hint = f"; is it {', '.join(close)}?" if close else ""
        print(f"{answers.command}: there is no {unknown[0]}{hint}", file=sys.stderr)
        return 2
    status = 0
    for reference in arguments.of or answers.references:
        names = [name for name in arguments.names if name in answers.references[reference].names]
        if arguments.names and not names and arguments.check:
            continue
        try:
            if arguments.check:
                differs = answers.differences(reference, names)
                print(f"{reference}: {differs or 'says what is recorded'}", flush=True)
                status |= bool(differs)
            else:
                changed = answers.renew(reference, arguments.names)
                print(f"{reference}: {', '.join(changed) or 'nothing'} changed", flush=True)
        except (Refused, Absent, AssertionError, ValueError) as error:
            print(f"{answers.command}: {error}", file=sys.stderr)
            return 2
    return status
