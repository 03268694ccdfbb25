# SPDX-License-Identifier: BSD-2-Clause
"""boot/make-iso and the commands for newcomers: what starts without any option succeeds, and what is wrong
with an image is said in one line, with no half image left.

How the image reaches its program is tested in test_pc.py.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
from pathlib import Path

import pytest
from conftest import APPS, ROOT, expect_exit, program
from monitor import Client, Monitor

import qemu

OVMF = ["-drive", "if=pflash,format=raw,readonly=on,file=/usr/share/OVMF/OVMF_CODE.fd"]


def make_iso(*words: str | Path, **keywords: object) -> subprocess.CompletedProcess[str]:
    command = ["boot/make-iso", *map(str, words)]
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        command, cwd=ROOT, capture_output=True, text=True, timeout=120, **keywords
    )


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# ---- What starts without any choice ----


@pytest.fixture(scope="module")
def default_iso(tmp_path_factory: pytest.TempPathFactory) -> Path:
    iso = tmp_path_factory.mktemp("default") / "tacet.iso"
    made = subprocess.run(
        ["make", "iso", f"ISO={iso}"], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert made.returncode == 0, made.stdout + made.stderr
    assert made.stdout == f"{iso}: boots ftq on Tacet, BIOS and UEFI\n", made.stdout
    return iso


@pytest.mark.parametrize("firmware", ["bios", "uefi"])
def test_the_image_that_make_iso_makes_without_a_program_succeeds(firmware: str, default_iso: Path) -> None:
    options = ["-cdrom", str(default_iso), *(OVMF if firmware == "uefi" else [])]
    result = expect_exit(qemu.run_machine(options, time_limit=120))
    assert "started by multiboot2" in result.console, result.explain()
    assert "samples: 1000\r\n" in result.console and "kernel_entries: 0\r\n" in result.console, (
        result.explain()
    )


def test_the_qemu_command_of_the_document_succeeds() -> None:
    line = re.search(r"^\$ (qemu-system-x86_64 .*-kernel .*)$", (ROOT / "docs/boot.md").read_text(), re.M)
    assert line, "docs/boot.md shows no QEMU command"
    ran = subprocess.run(
        ["bash", "-c", line[1]],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        errors="replace",
    )
    assert ran.returncode == 0 and qemu.parse_end(ran.stdout)[:2] == ("exit", 0), ran.stdout + ran.stderr


# ---- Several programs, and the serial port ----


def grub_cfg_of(image: Path, folder: Path) -> str:
    kept = folder / "grub.cfg"
    command = ["xorriso", "-osirrox", "on", "-indev", image, "-extract", "/boot/grub/grub.cfg", kept]
    subprocess.run(command, check=True, capture_output=True)
    return kept.read_text()


@pytest.fixture(scope="module")
def menu_iso(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two programs, which show by their status which of them ran: 7, and 0."""
    iso = tmp_path_factory.mktemp("menu") / "tacet.iso"
    files = f"{program('status.musl')} '{program('arguments.musl')}'"
    command = ["make", "iso", f"ISO={iso}", f"FILES={files}", "ARGS=7 'a b'", "TIMEOUT=2"]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert made.returncode == 0, made.stderr
    assert made.stdout == f"{iso}: boots status.musl or arguments.musl on Tacet, BIOS and UEFI\n", made.stdout
    return iso


def test_each_program_has_an_entry_and_a_module(menu_iso: Path, tmp_path: Path) -> None:
    text = grub_cfg_of(menu_iso, tmp_path)
    assert re.findall(r"^menuentry '(.*)' {$", text, re.M) == ["status.musl", "arguments.musl"], text
    assert re.findall(r"module2 (\S+)", text) == ["/boot/program", "/boot/program2"], text
    assert "set timeout=2\n" in text, text


@pytest.mark.parametrize("firmware", ["bios", "uefi"])
def test_the_first_program_starts_when_the_time_is_over(firmware: str, menu_iso: Path) -> None:
    options = ["-cdrom", str(menu_iso), *(OVMF if firmware == "uefi" else [])]
    expect_exit(qemu.run_machine(options, time_limit=120), 7)


def test_the_other_program_starts_where_it_is_chosen(menu_iso: Path, tmp_path: Path) -> None:
    def choose(client: Client) -> None:
        client.human("sendkey down")
        client.human("sendkey ret")

    with Monitor(tmp_path, choose) as monitor:
        result = qemu.run_machine(
            ["-cdrom", str(menu_iso), *monitor.options],
            time_limit=120,
            on_console=monitor.at(b"arguments.musl"),
        )
    monitor.check()
    expect_exit(result)
    assert "arguments.musl\0007\0a b\0" in result.console, result.explain()


def test_port_and_speed_are_grubs_and_the_kernels(tmp_path: Path) -> None:
    iso = tmp_path / "x.iso"
    command = ["make", "iso", f"ISO={iso}", f"APP={program('status.musl')}", "PORT=com2", "SPEED=57600"]
    made = subprocess.run([*command, "ARGS=5"], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert made.returncode == 0, made.stderr
    text = grub_cfg_of(iso, tmp_path)
    assert "serial --unit=1 --speed=57600\n" in text and " console=com2,57600 -- '5'\n" in text, text
    result = qemu.run_machine(["-cdrom", str(iso)], time_limit=120)
    assert b"Booting `Tacet'" in result.stdout and b"tacet: exit status=5\r\n" in result.stdout, result.stdout
    assert "tacet:" not in result.console, result.explain()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["PORT=com5"], "no such serial port: com5; a PC has com1, com2, com3, com4"),
        (["SPEED=57601"], "not a serial port's speed: 57601; it must divide 115200: 115200, 57600"),
        (["SPEED=fast"], "--speed fast: must be a number from 300 to 115200"),
        (["TIMEOUT=soon"], "--timeout soon: must be a number from -1 to 86400"),
        (["FILES=/none /bin/busybox"], "no such program: /none"),
    ],
)
def test_make_iso_says_what_is_wrong_with_its_options(words: list[str], said: str, tmp_path: Path) -> None:
    command = ["make", "iso", f"ISO={tmp_path / 'x.iso'}", *words]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    first, *rest = ran.stderr.splitlines()
    assert first.startswith(f"boot/make-iso: {said}"), ran.stderr
    assert ran.returncode == 2 and all(line.startswith("make: ***") for line in rest), ran.stderr
    assert left(tmp_path) == []


def test_app_and_files_are_not_mixed(tmp_path: Path) -> None:
    command = ["make", "iso", f"ISO={tmp_path / 'x.iso'}", "APP=/bin/busybox", "FILES=/bin/busybox"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 2 and ran.stderr.startswith(
        "make iso: APP names one program and FILES several; "
    )
    assert left(tmp_path) == []


# ---- What is wrong is said in one line ----


@pytest.mark.parametrize(
    ("app", "said"),
    [
        ("/none", "no such program: /none"),
        ("/bin", "/bin is a folder, not a program"),
        ("/bin/ls", "/bin/ls is linked dynamically, and there is no dynamic linker on a node; link it"),
        ("docs/boot.md", "docs/boot.md is not an ELF file; a node runs static ELF programs"),
    ],
)
def test_a_wrong_program_is_refused_before_there_is_an_image(app: str, said: str, tmp_path: Path) -> None:
    made = make_iso(tmp_path / "x.iso", qemu.KERNEL, app)
    assert (made.returncode, made.stdout, made.stderr.count("\n")) == (2, "", 1), made.stderr
    assert made.stderr.startswith(f"boot/make-iso: {said}") and left(tmp_path) == [], made.stderr


@pytest.mark.parametrize("door", ["iso", "gdb"])
@pytest.mark.parametrize(
    ("app", "said"), [("/none/a b", "no such program: /none/a b"), ("/bin", "/bin is a folder")]
)
def test_make_says_what_is_wrong_with_a_program(door: str, app: str, said: str, tmp_path: Path) -> None:
    command = ["make", door, f"APP={app}", f"ISO={tmp_path / 'x.iso'}"]
    ran = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120
    )
    first, *rest = ran.stderr.splitlines()
    assert f": {said}" in first and all(line.startswith("make: ***") for line in rest), ran.stderr
    assert ran.returncode == 2 and left(tmp_path) == [], ran.stderr


def test_make_iso_takes_blanks_and_quotes_in_names_and_arguments(tmp_path: Path) -> None:
    folder = tmp_path / "it's a folder"
    folder.mkdir()
    app, iso = folder / "my program", folder / "my image.iso"
    app.write_bytes(program("arguments.musl").read_bytes())
    command = ["make", "iso", f"ISO={iso}", f"APP={app}", """ARGS='two words' "say \\"x\\"" it\\'s"""]
    environment = {**os.environ, "TACET_OPTIONS": "stdout=com2 stderr=com3"}
    made = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert made.returncode == 0, made.stderr
    result = expect_exit(qemu.run_machine(["-cdrom", str(iso)], time_limit=120))
    assert b'my program\0two words\0say "x"\0it\'s\0=ENV=\0' in result.stdout, result.explain()


@pytest.mark.parametrize(
    ("iso", "said"),
    [
        ("none/x.iso", "no such folder: "),
        ("", "is a folder; the image must be a file"),
        ("/dev/full", "/dev/full is not a regular file"),
    ],
)
def test_a_target_that_cannot_be_is_refused(iso: str, said: str, tmp_path: Path) -> None:
    made = make_iso(tmp_path / iso, qemu.KERNEL, APPS / "ftq")
    assert (made.returncode, made.stderr.count("\n")) == (2, 1) and said in made.stderr, made.stderr
    assert left(tmp_path) == [], left(tmp_path)


@pytest.mark.parametrize("limit", [400_000, 4_000_000], ids=["of_the_copies", "of_the_image"])
def test_where_there_is_no_room_an_earlier_image_stays_and_no_half_one_is_left(
    limit: int, tmp_path: Path
) -> None:
    (tmp_path / "x.iso").write_text("an earlier image")
    made = make_iso(
        tmp_path / "x.iso",
        qemu.KERNEL,
        APPS / "ftq",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert (made.returncode, made.stdout, made.stderr.count("\n")) == (1, "", 1), made.stderr
    assert "cannot make " in made.stderr and "File too large" in made.stderr, made.stderr
    assert left(tmp_path) == ["x.iso"] and (tmp_path / "x.iso").read_text() == "an earlier image"


@pytest.mark.parametrize(
    ("tool", "package"), [("grub-mkrescue", "grub-common"), ("xorriso", "xorriso"), ("mformat", "mtools")]
)
def test_a_missing_tool_is_named_with_its_package(tool: str, package: str, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in {"python3", "env", "grub-mkrescue", "xorriso", "mformat"} - {tool}:
        (tools / name).symlink_to(f"/usr/bin/{name}")
    made = make_iso(tmp_path / "x.iso", qemu.KERNEL, APPS / "ftq", env={"PATH": str(tools)})
    assert made.returncode == 2, made.stderr
    assert made.stderr == f"boot/make-iso: missing: {tool}; apt-get install {package}\n", made.stderr


def test_missing_modules_of_grub_are_named_with_their_package(tmp_path: Path) -> None:
    environment = {**os.environ, "GRUB_LIBRARY": str(tmp_path)}
    made = make_iso(tmp_path / "x.iso", qemu.KERNEL, APPS / "ftq", env=environment)
    assert made.returncode == 2 and made.stderr.count("\n") == 1, made.stderr
    assert made.stderr.endswith("; apt-get install grub-efi-amd64-bin grub-pc-bin\n"), made.stderr
