# SPDX-License-Identifier: BSD-2-Clause
"""Recorded answers of other systems (tests/answers.py): a record that is missing, stale or damaged is refused
in one line that names the cause and the command that renews it; a version that has changed lets the reference
be asked; what is written is what was said. The tree's own two records are whole and fit its sources."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "conformance"), str(ROOT / "tests" / "mpi")]

import linux_answers
import mpi_answers

from tests import answers, ingredients
from tests.answers import Absent, Answer, Answers, Record, Reference, Refused, main

COMMAND = "tests/some/refresh.py"


class System:
    """A reference whose every ingredient a test can change; `asked` has the names of each time."""

    def __init__(self, folder: Path, name: str = "system", at_once: bool = False) -> None:
        self.folder = folder
        self.options = {"machine": "-smp 4", "header.h": "123"}
        self.installed: dict[str, str | None] = {"Linux": "6.1-1", "compiler": "gcc 12"}
        self.says: dict[str, list[str]] = {
            "pipe": ["pipe: made: 0", "", "| pipe: a = b"],
            "poll": ["[end 9]"],
        }
        self.asked: list[list[str]] = []
        self.absent = ""
        for each in self.says:
            (folder / f"{each}.c").write_text(each)
        self.reference = Reference(
            name,
            list(self.says),
            self.sources,
            lambda: self.options,
            lambda: self.installed,
            self.ask,
            at_once,
        )

    def sources(self, name: str) -> list[Path]:
        return [self.folder / f"{name}.c"]

    def ask(self, names: Sequence[str]) -> Mapping[str, Sequence[str]]:
        if self.absent:
            raise Absent(self.absent)
        self.asked.append(list(names))
        return {name: self.says[name] for name in names if name in self.says}

    def record(self, *further: Reference) -> Answers:
        """The record as a new process finds it."""
        return Answers(
            self.folder / "answers.txt",
            "A head.",
            COMMAND,
            [self.reference, *further],
            self.folder / "confirmed",
        )


@pytest.fixture
def system(tmp_path: Path) -> System:
    """A system whose answers are recorded."""
    made = System(tmp_path)
    assert made.record().renew("system") == ["pipe", "poll"]
    made.asked.clear()
    return made


def refusal(system: System, name: str = "pipe") -> str:
    """The line with which the answer to a name is refused; nothing was asked."""
    with pytest.raises(Refused) as refused:
        system.record().lines("system", name)
    assert system.asked == []
    assert "\n" not in str(refused.value) and f"renew it by {COMMAND}" in str(refused.value)
    return str(refused.value)


# ---- Read ----


def test_what_was_said_is_read_and_nothing_is_asked(system: System) -> None:
    record = system.record()
    assert {name: record.lines("system", name) for name in system.says} == system.says
    assert system.asked == [] and record.complaints() == []


def test_a_missing_file_is_refused(system: System) -> None:
    (system.folder / "answers.txt").unlink()
    assert refusal(system).endswith(f"answers.txt: the file is missing; renew it by {COMMAND}")


def test_a_missing_answer_is_refused_by_its_name(system: System) -> None:
    system.says["select"] = ["select: 0"]
    (system.folder / "select.c").write_text("")
    system.reference = replace(system.reference, names=list(system.says))
    said = "there is no answer of system to select; renew it by tests/some/refresh.py select"
    assert said in refusal(system, "select") and said in system.record().complaints()[0]
    assert system.record().lines("system", "pipe") == system.says["pipe"]


def test_an_answer_to_what_is_no_more_is_named(system: System) -> None:
    system.reference = replace(system.reference, names=["pipe"])
    (complaint,) = system.record().complaints()
    assert "system has an answer to poll, which no longer exists" in complaint


def test_a_changed_source_makes_its_own_answer_stale(system: System) -> None:
    (system.folder / "pipe.c").write_text("changed")
    line = refusal(system)
    assert "the answer of system to pipe is stale: " in line and line.endswith(f"{COMMAND} pipe")
    assert f"{system.folder}/pipe.c was {ingredients.digest('pipe')} and is" in line
    assert system.record().lines("system", "poll") == system.says["poll"]


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("machine", "-smp 8", "machine was -smp 4 and is -smp 8"),
        ("header.h", "456", "header.h was 123 and is 456"),
        ("data", "789", "data was not there and is 789"),
        ("machine", None, "machine was -smp 4 and is not there"),
    ],
)
def test_a_changed_option_makes_all_answers_stale(
    name: str, value: str | None, says: str, system: System
) -> None:
    if value is None:
        del system.options[name]
    else:
        system.options[name] = value
    for asked in system.says:
        assert refusal(system, asked).endswith(f"system is stale: {says}; renew it by {COMMAND}")
    assert len(system.record().complaints()) == 1


# ---- Damage ----


def damage(system: System, old: str, new: str) -> str:
    """The refusal of a file in which this was replaced."""
    path = system.folder / "answers.txt"
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    line = refusal(system)
    assert "answers.txt: damaged: " in line
    return line


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("| pipe: made: 0", "| pipe: made: 1", "the answer pipe does not fit its seal"),
        ("| pipe: made: 0\n", "", "the answer pipe does not fit its seal"),
        ("machine = -smp 4", "machine = -smp 5", "the reference system does not fit its seal"),
        ("Linux = 6.1-1", "Linux = 6.1-2", "the reference system does not fit its seal"),
        (": system]\n", ": system\n", "does not fit its seal"),
        ("| [end 9]", "[end 9]", "the answer poll does not fit its seal"),
        ("[end 3]", "[end 4]", "it ends after 3 sections and had 4"),
        ("[end 3]\n", "", "its end is missing"),
        ("[end 3]\n", "[end 3]\n[end 3]\n", "line 20 comes after the end"),
        ("[answer poll", "<<<<<<< ours\n[answer poll", "line 15 is none of a record: <<<<<<< ours"),
    ],
    ids=range(10),
)  # fmt: skip
def test_a_damaged_file_is_refused(old: str, new: str, says: str, system: System) -> None:
    text = (system.folder / "answers.txt").read_text(encoding="utf-8")
    if old == ": system]\n":  # in two sections
        old, new = text[text.index("[answer poll") :].split("\n")[0], "[answer poll]"
        says = "is none of a record: [answer poll]"
    assert says in damage(system, old, new)


def test_a_file_that_is_cut_anywhere_is_refused(system: System) -> None:
    path = system.folder / "answers.txt"
    text = path.read_text(encoding="utf-8")
    for length in range(0, len(text) - 1, 7):
        path.write_text(text[:length], encoding="utf-8")
        assert "damaged: " in refusal(system)


def test_a_file_that_is_no_text_is_refused(system: System) -> None:
    (system.folder / "answers.txt").write_bytes(b"\xff\xfe\0")
    assert "damaged: 'utf-8' codec can't decode" in refusal(system)


# ---- Versions ----


def test_a_changed_version_is_confirmed_once_and_said_in_one_line(system: System) -> None:
    system.installed["Linux"] = "6.1-2"
    with pytest.warns(UserWarning, match="Linux was 6.1-1 and is 6.1-2; so system was asked") as warned:
        assert system.record().lines("system", "pipe") == system.says["pipe"]
    assert len(warned) == 1 and "\n" not in str(warned[0].message) and COMMAND in str(warned[0].message)
    assert system.asked == [["pipe"]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert system.record().lines("system", "pipe") == system.says["pipe"]
    assert system.asked == [["pipe"]] and system.record().complaints() == []


def test_a_confirmation_holds_for_these_versions_and_lines_alone(system: System) -> None:
    for versions in ({"Linux": "6.1-2"}, {"Linux": "6.1-2", "compiler": "gcc 13"}):
        system.installed |= versions
        with pytest.warns(UserWarning):
            system.record().lines("system", "pipe")
    with pytest.warns(UserWarning):
        system.record().lines("system", "poll")
    assert system.asked == [["pipe"], ["pipe"], ["poll"]]


def test_a_system_that_is_started_once_for_all_is_asked_once(tmp_path: Path) -> None:
    system = System(tmp_path, at_once=True)
    system.record().renew("system")
    system.asked.clear()
    system.installed["compiler"] = "gcc 13"
    record = system.record()
    with pytest.warns(UserWarning) as warned:
        assert {name: record.lines("system", name) for name in system.says} == system.says
    assert system.asked == [["pipe", "poll"]] and len(warned) == 1


@pytest.mark.filterwarnings("ignore:.*so system was asked")
def test_a_new_version_that_answers_otherwise_fails_with_both_lines(system: System) -> None:
    system.installed["Linux"] = "6.1-2"
    system.says["pipe"] = ["pipe: made: ENOSYS", *system.says["pipe"][1:]]
    with pytest.raises(Refused) as refused:
        system.record().lines("system", "pipe")
    said = str(refused.value)
    assert "Linux was 6.1-1 and is 6.1-2, and system now answers otherwise to pipe:" in said
    assert "\n-pipe: made: 0\n+pipe: made: ENOSYS\n" in said and said.endswith(f"{COMMAND} pipe")
    assert not (system.folder / "confirmed").exists()


def test_what_is_not_installed_is_not_compared(system: System) -> None:
    system.installed["Linux"] = None
    assert system.record().lines("system", "pipe") == system.says["pipe"] and system.asked == []


def test_a_system_that_is_not_installed_leaves_the_record_as_it_is(system: System) -> None:
    system.installed |= {"Linux": None, "compiler": "gcc 13"}
    system.absent = "Linux is not installed"
    with pytest.warns(UserWarning, match="gcc 13; taken as it is, since Linux is not installed"):
        assert system.record().lines("system", "pipe") == system.says["pipe"]


# ---- Checked and renewed ----


def test_a_check_asks_all_and_names_each_difference(system: System) -> None:
    assert system.record().differences("system") == "" and system.asked == [["pipe", "poll"]]
    system.says["poll"] = ["poll: 1"]
    said = system.record().differences("system")
    assert said == "poll, - is the record, + is system:\n-[end 9]\n+poll: 1"
    (system.folder / "pipe.c").write_text("changed")
    with pytest.raises(Refused, match="pipe is stale"):
        system.record().differences("system")


def test_renewal_writes_what_was_said(system: System) -> None:
    system.says["pipe"] = ["pipe: made: 3", "", "  deep", "ümlaut = [x]"]
    system.installed["Linux"] = "6.1-2"
    assert system.record().renew("system") == ["pipe"]
    record = system.record()
    assert {name: record.lines("system", name) for name in system.says} == system.says
    assert record.complaints() == [] and record.record.references["system"]["Linux"] == "6.1-2"


def test_renewal_of_one_name_takes_the_stale_ones_along(system: System) -> None:
    system.record().renew("system", ["pipe"])
    (system.folder / "poll.c").write_text("changed")
    system.record().renew("system", ["pipe"])
    assert system.asked == [["pipe"], ["pipe", "poll"]] and system.record().complaints() == []


def test_renewal_of_one_name_takes_all_where_what_they_share_has_changed(system: System) -> None:
    system.options["machine"] = "-smp 8"
    system.record().renew("system", ["pipe"])
    assert system.asked == [["pipe", "poll"]] and system.record().complaints() == []


def test_a_version_that_shows_only_when_asked_renews_all(system: System) -> None:
    system.installed["Linux"] = None
    ask = system.ask

    def fetches(names: Sequence[str]) -> Mapping[str, Sequence[str]]:
        system.installed["Linux"] = "6.1-2"
        return ask(names)

    system.reference = replace(system.reference, ask=fetches)
    system.record().renew("system", ["pipe"])
    assert system.asked == [["pipe"], ["pipe", "poll"]]
    assert system.record().record.references["system"]["Linux"] == "6.1-2"


@pytest.mark.parametrize("text", [None, "damaged"])
def test_renewal_replaces_a_file_that_is_missing_or_damaged(text: str | None, system: System) -> None:
    path = system.folder / "answers.txt"
    before = path.read_text(encoding="utf-8")
    path.unlink() if text is None else path.write_text(text)
    system.record().renew("system", ["pipe"])
    assert path.read_text(encoding="utf-8") == before


@pytest.mark.parametrize("changes", ["pipe.c", "machine"])
def test_a_source_that_changes_while_a_system_is_asked_is_noticed(changes: str, system: System) -> None:
    before = (system.folder / "answers.txt").read_text(encoding="utf-8")

    def edits(names: Sequence[str]) -> Mapping[str, Sequence[str]]:
        if changes == "machine":
            system.options = {"machine": "-smp 8", "header.h": "123"}
        else:
            (system.folder / changes).write_text("edited")
        return {name: ["another line"] for name in names}

    system.reference = replace(system.reference, ask=edits)
    with pytest.raises(ValueError, match="a source has changed since it was asked"):
        system.record().renew("system", ["poll"])
    assert (system.folder / "answers.txt").read_text(encoding="utf-8") == before


def test_a_system_that_is_silent_is_not_recorded(system: System) -> None:
    before = (system.folder / "answers.txt").read_text(encoding="utf-8")
    system.says["pipe"] = []
    with pytest.raises(AssertionError, match="system printed nothing for pipe"):
        system.record().renew("system")
    assert (system.folder / "answers.txt").read_text(encoding="utf-8") == before


@pytest.mark.parametrize("line", ["two\nlines", "a return\r"])
def test_a_line_that_would_not_read_back_is_not_written(line: str, system: System) -> None:
    system.says["pipe"] = [line]
    with pytest.raises(ValueError, match="a line that no file of lines can hold"):
        system.record().renew("system")


def test_equal_answers_of_two_systems_are_written_once(tmp_path: Path) -> None:
    one, other = System(tmp_path, "one"), System(tmp_path, "other")
    other.says["poll"] = ["poll: 2"]
    for reference in ("one", "other"):
        one.record(other.reference).renew(reference)
    text = (tmp_path / "answers.txt").read_text(encoding="utf-8")
    assert text.count("[answer pipe ") == 1 and text.count(": one other]") == 1
    record = one.record(other.reference)
    assert [record.lines(name, "poll") for name in ("one", "other")] == [["[end 9]"], ["poll: 2"]]


def test_the_text_of_a_record_reads_back() -> None:
    record = Record(
        {"a": {"flags": "-O2 | x = y", "empty": ""}},
        {"a": {"f/x": Answer({"f/x.c": "1"}, ("", "| #", "[answer]", "end ")), "silent": Answer({}, ())}},
    )
    assert answers.parsed(answers.written(record, "Two\nlines.")) == record


# ---- The command ----


def test_the_command_renews_and_checks(system: System, capsys: pytest.CaptureFixture[str]) -> None:
    system.says["poll"] = ["poll: 1"]
    assert main(system.record(), ["--check"]) == 1
    assert capsys.readouterr().out == "system: poll, - is the record, + is system:\n-[end 9]\n+poll: 1\n"
    assert main(system.record(), ["poll"]) == 0
    assert capsys.readouterr().out == "system: poll changed\n"
    assert main(system.record(), ["--check", "poll"]) == 0
    assert capsys.readouterr().out == "system: says what is recorded\n"
    assert system.asked == [["pipe", "poll"], ["poll"], ["poll"]]


def test_the_command_refuses_a_name_that_there_is_not(
    system: System, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(system.record(), ["pip"]) == 2
    assert capsys.readouterr().err == f"{COMMAND}: there is no pip; is it pipe?\n"
    system.absent = "Linux is not installed"
    assert main(system.record(), []) == 2
    assert capsys.readouterr().err == f"{COMMAND}: Linux is not installed\n"


# ---- Ingredients ----


def test_headers_are_found_at_whatever_depth(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text('#include "a.h"\n  # include "none.h"\n#include <stdio.h>\n')
    (tmp_path / "a.h").write_text('#include "b.h"\n#include "tests/programs/raw_call.h"\n')
    (tmp_path / "b.h").write_text('#include "a.h"\n')
    found = ingredients.with_headers(tmp_path / "a.c")
    assert [path.name for path in found if path.parent == tmp_path] == ["a.c", "a.h", "b.h"]
    assert ROOT / "tests/programs/raw_call.h" in found


def test_variables_of_a_makefile_are_read_unexpanded(tmp_path: Path) -> None:
    (tmp_path / "x.mk").write_text("A := -O2 \\\n     $(B)\nB = \nC_D=1\n")
    assert ingredients.variables(tmp_path / "x.mk", ["A", "C_D"]) == "-O2 $(B) | 1"
    with pytest.raises(ValueError, match="x.mk does not set D"):
        ingredients.variables(tmp_path / "x.mk", ["D"])


def test_what_is_not_installed_has_no_version() -> None:
    assert ingredients.version_of("no-such-compiler") is None
    assert ingredients.glibc_of("no-such-compiler") is None
    assert ingredients.package_version("no-such-package") is None


# ---- The tree's records ----


@pytest.mark.parametrize("record", [linux_answers.ANSWERS, mpi_answers.ANSWERS], ids=["Linux", "MPI"])
def test_the_tree_s_record_fits_its_sources(record: Answers) -> None:
    """Those of all references, also of those that only `make test-long` compares with."""
    assert record.complaints() == []


def test_each_conformance_test_has_a_line_that_begins_with_its_name() -> None:
    for by_name in linux_answers.ANSWERS.record.answers.values():
        for name, answer in by_name.items():
            assert answer.lines and all(line.startswith(f"{name}: ") for line in answer.lines), name
