# SPDX-License-Identifier: BSD-2-Clause
"""The `lab` command: its help, its registration, and how it fails."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lab.cli import dispatch as command
from lab.common.files import bytes_write


@pytest.fixture
def plugged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[command.Command, ...]:
    """Commands whose modules are there, absent, and broken."""
    (tmp_path / "plug_here.py").write_text(
        "def add_parser(subparsers):\n"
        "    subparsers.add_parser('here', description='returns its number').add_argument('--number', "
        "type=int)\n"
        "def run(options):\n"
        "    if options.number is None:\n"
        "        from lab.common.errors import DataError\n"
        "        raise DataError('file:3: no number')\n"
        "    return options.number\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    return (
        command.Command("here", "plug_here", "is here"),
        command.Command("gone", "plug_gone.command", "is not"),
    )


def test_a_plugged_command_gets_its_options(plugged: tuple[command.Command, ...]) -> None:
    assert command.main(["here", "--number", "7"], plugged) == 7


def test_a_command_without_module_is_not_offered(
    plugged: tuple[command.Command, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["help"], plugged) == 0
    text = capsys.readouterr().out
    assert "is here" in text and "is not" not in text
    assert command.main(["gone"], plugged) == 2
    assert capsys.readouterr().err == "lab: no such command: 'gone'; commands are here, and help\n"


def test_an_error_of_the_data_is_one_line_and_status_1(
    plugged: tuple[command.Command, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["here"], plugged) == 1
    assert capsys.readouterr().err == "lab here: file:3: no number\n"


def test_help_of_a_command_reports_its_options(
    plugged: tuple[command.Command, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(["help", "here"], plugged)
    assert ended.value.code == 0
    assert "--number" in capsys.readouterr().out


def test_the_wrapper_works_from_any_folder(tmp_path: Path) -> None:
    done = subprocess.run(
        [ROOT / "tools/lab", "help"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0 and done.stdout.startswith("lab: ")
    done = subprocess.run([ROOT / "tools/lab"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "usage" in done.stderr


def lab(*words: str | Path, **keywords: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [*map(str, words)], capture_output=True, text=True, timeout=240, **keywords
    )


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A noise trace that every command reads."""
    path = tmp_path / "node.noise"
    head = "# Noise trace from a node (noise)\n# Measurement period: 1.0 s\n"
    path.write_text(head + "".join(f"{i * 1000}\t100\n" for i in range(2000)))
    return path


@pytest.mark.parametrize(
    ("words", "said"), [(("lab", "klog"), "type tools/lab COMMAND"), (("lab.klog",), "type tools/lab klog")]
)
def test_a_python_without_numpy_is_told_in_a_line_what_to_type(words: tuple[str, ...], said: str) -> None:
    done = lab("/usr/bin/python3", "-S", "-m", *words, cwd=ROOT)  # -S: without Debian's packages
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "has no numpy" in done.stderr and said in done.stderr


def test_tools_klog_is_short_for_the_lab_s_command(tmp_path: Path) -> None:
    done = lab(ROOT / "tools/klog", tmp_path / "none")
    assert done.returncode == 1 and done.stderr.startswith("lab klog: ")


def test_output_that_cannot_be_written_is_a_line_and_a_status(trace: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [ROOT / "tools/lab", "show", trace], stdout=full, stderr=subprocess.PIPE, text=True, timeout=240
        )
    assert done.returncode == 1
    assert done.stderr == "lab show: its output cannot be written: No space left on device\n"


def test_a_full_disk_leaves_the_old_file_and_no_part(trace: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    script = (
        "mount -t tmpfs -o size=8k none disk && echo old >disk/out && "
        f"{{ '{ROOT}/tools/lab' convert node.noise -o disk/out; echo $?; cat disk/out; ls disk; }}"
    )
    done = lab("unshare", "-rm", "sh", "-c", script, cwd=tmp_path)
    if "unshare" in done.stderr:
        pytest.skip(f"no mount namespaces here: {done.stderr}")
    assert done.stdout == "1\nold\nout\n"
    assert done.stderr.startswith("lab convert: disk/out: cannot be written: No space left on device; ")
    assert done.stderr.count("\n") == 1


def test_a_device_is_written_and_not_replaced() -> None:
    bytes_write(Path("/dev/null"), b"x")
    assert Path("/dev/null").is_char_device()


def test_a_picture_goes_to_build_unless_a_file_is_named(trace: Path, tmp_path: Path) -> None:
    done = lab(ROOT / "tools/lab", "plot", "series", trace, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "build/lab/series.png\n"), done.stderr
    assert (tmp_path / "build/lab/series.png").exists()


def test_an_interrupt_is_a_line_and_its_status(
    plugged: tuple[command.Command, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "command_run", interrupted)
    assert command.main(["here"], plugged) == 130
    assert capsys.readouterr().err == "lab here: interrupted; the files that it has written are complete\n"
