# SPDX-License-Identifier: BSD-2-Clause
"""What a newcomer types and meets before anything runs: make in any folder, on any system, and what it says
where it cannot work."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MUSL = ROOT / "build/x86_64/musl"
BLANK = "a b'ä#$,"


def typed(*words: str | Path, cwd: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "CI")}
    return subprocess.run(
        [*map(str, words)], cwd=cwd, capture_output=True, text=True, env=environment | variables, timeout=900
    )


def copy_of(folder: Path) -> Path:
    """The tree's sources in another folder."""
    listing = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listing.splitlines():
        if (ROOT / name).is_file() and not name.startswith(("docs/lab/", "tests/conformance/")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    (folder / "tests/conformance").mkdir(parents=True)
    shutil.copy2(ROOT / "tests/conformance/conformance.mk", folder / "tests/conformance")
    return folder


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree in a folder whose name has a blank, a quote and more; musl is taken from this build."""
    tree = copy_of(tmp_path_factory.mktemp("tree") / BLANK)
    made = typed("make", "build/x86_64/musl/stamp")
    assert made.returncode == 0, made.stderr
    shutil.copytree(MUSL, tree / "build/x86_64/musl", copy_function=shutil.copy2)
    os.utime(tree / "build/x86_64/musl/stamp")
    return tree


def test_a_path_with_a_blank_is_no_obstacle(odd: Path) -> None:
    objects = [f"build/x86_64/kernel/{name}.o" for name in ("kernel/lib/format", "arch/x86_64/msr.asm")]
    made = typed("make", "--no-print-directory", "build/x86_64/apps/cost", *objects, cwd=odd)
    assert made.returncode == 0, made.stderr
    for name in objects:
        typed("make", name)
        for tree in (odd, ROOT):
            typed("objcopy", "--strip-debug", tree / name, odd / f"{tree == odd}.o")
        assert (odd / "True.o").read_bytes() == (odd / "False.o").read_bytes(), "the path is in the kernel"
    shutil.copy2(ROOT / "build/x86_64/tacet.elf", odd / "build/x86_64")
    ran = typed("tools/run", "build/x86_64/apps/cost", "-h", cwd=odd)
    assert (ran.returncode, "CALLS of them" in ran.stdout) == (0, True), ran.stdout + ran.stderr
    assert typed("tools/lab", "help", cwd=odd).returncode == 0


@pytest.mark.long
def test_everything_is_built_and_runs_in_a_path_with_a_blank(odd: Path) -> None:
    made = typed("make", "--no-print-directory", "build/host/test_string", "kernel", cwd=odd)
    assert made.returncode == 0, made.stderr
    assert typed("build/host/test_string", cwd=odd).returncode == 0
    ran = typed("tools/run", "/bin/busybox", "echo", "two  words", cwd=odd)
    assert (ran.returncode, ran.stdout) == (0, "two  words\n"), ran.stderr
    kernel = "build/x86_64/tacet.stripped.elf"
    typed("make", "kernel")
    assert (odd / kernel).read_bytes() == (ROOT / kernel).read_bytes(), "the path is in the kernel"


def test_musl_is_fetched_into_a_path_with_a_blank(tmp_path: Path) -> None:
    folder = tmp_path / BLANK
    for _ in range(2):
        done = typed(ROOT / "ports/musl/fetch.sh", folder)
        assert done.returncode == 0, done.stderr
    assert (folder / "x86_64/musl/lib/libc.a").is_file()


def test_other_flags_make_again_what_was_made_with_them(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text(
        f"include {ROOT}/tools/flags.mk\nbuild/x.flags: FLAGS = $(WORDS)\n"
        "build/x: build/x.flags\n\t@echo made; touch $@\n"
    )

    def made(words: str) -> bool:
        done = typed("make", "build/x", f"WORDS={words}", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return "made" in done.stdout

    os.utime(tmp_path / "Makefile", (1, 1))
    assert made("-O1 'a b'") and not made("-O1 'a b'")
    os.utime(tmp_path / "build/x", (2, 2))
    os.utime(tmp_path / "build/x.flags", (1, 1))
    assert not made("-O1 'a b'") and made("-O2")


@pytest.mark.parametrize(
    "target",
    [
        "build/x86_64/kernel/kernel/lib/format.o",
        "build/host/kernel/lib/format.o",
        "build/host/tests/fuzz/fuzz_elf.o",
        "build/simulator/main.o",
        "build/host/simulator/noise.o",
        "build/x86_64/vdso.so",
        "build/x86_64/offsets.inc",
        "build/x86_64/apps/ftq",
        "build/x86_64/tests/wait.musl",
        "build/x86_64/tests/openmp.glibc",
    ],
)
def test_every_kind_of_object_depends_on_its_flags(target: str) -> None:
    """make's own words on what it would look at."""
    said = typed("make", "-n", "--debug=v", target).stdout
    assert ".flags'" in said, said[-2000:]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("ARCH=none",), "ARCH=none: no such architecture; there are ppc64 x86_64."),
        (("run", "ARGS=x"), "need a program: APP=prog"),
        (("run", "FILES=x"), "need a program: APP=prog"),
        (("klog", "KLOG=/none"), "make run APP=prog keeps one there"),
        (("rnu",), "No rule to make target 'rnu'"),
    ],
)
def test_what_is_typed_wrong_is_said_at_once(words: tuple[str, ...], said: str) -> None:
    done = typed("make", *words)
    assert done.returncode == 2 and done.stdout == ""
    assert said in done.stderr and len(done.stderr.splitlines()) <= 2


def test_a_checkout_that_cannot_be_written_is_said_at_once(tmp_path: Path) -> None:
    script = f"mount --bind '{ROOT}' . && mount -o remount,ro,bind . && cd \"$PWD\" && make kernel"
    done = typed("unshare", "-rm", "sh", "-c", script, cwd=tmp_path)
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"no mount namespaces here: {done.stderr}")
    assert done.returncode == 2 and "build/ cannot be written here: copy the tree" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_colon_in_the_path_is_refused_at_once(tmp_path: Path) -> None:
    tree = tmp_path / "a:b"
    shutil.copytree(ROOT / "tools", tree / "tools")
    shutil.copy2(ROOT / "Makefile", tree)
    (tree / "arch/x86_64").mkdir(parents=True)
    (tree / "arch/x86_64/link.ld").touch()
    done = typed("make", cwd=tree)
    assert done.returncode == 2 and "must not contain a colon" in done.stderr


@pytest.mark.parametrize(("option", "jobs"), [((), f"-j{len(os.sched_getaffinity(0))}"), (("-j1",), "-j1")])
def test_builds_use_all_cpus_unless_told_otherwise(
    option: tuple[str, ...], jobs: str, tmp_path: Path
) -> None:
    (tmp_path / "show.mk").write_text("include Makefile\nshow-jobs:\n\t@echo '$(MAKEFLAGS)'\n")
    done = typed("make", "-f", tmp_path / "show.mk", *option, "show-jobs")
    assert jobs in done.stdout.split(), done.stdout + done.stderr


def test_goals_follow_each_other_as_typed_where_order_matters() -> None:
    ask = "--eval=show-jobs: ; @echo order"
    assert ".NOTPARALLEL" in typed("make", "-np", ask, "klog", "show-jobs", "KLOG=/none").stdout
    assert "\n.NOTPARALLEL" not in typed("make", "-np", ask, "show-jobs").stdout


def needs(*words: str) -> set[str]:
    """The groups of ports/deps.sh that make would see to before it makes these goals."""
    said = typed("make", "-np", *words).stdout
    return set(said.split("\nNEEDS := ")[-1].split("\n", 1)[0].split())


@pytest.mark.parametrize(
    ("words", "groups"),
    [
        (("kernel",), {"build"}),
        (("kernel", "ARCH=ppc64"), {"build", "build-ppc64"}),
        (("clean",), set()),
        (("build/fuzz/fuzz_tree",), {"build", "sim", "fuzz"}),
        (("kit", "sim"), {"build", "sim"}),
        (("klog", "KLOG=/none"), set()),
    ],
)
def test_a_goal_s_packages_are_seen_to_before_anything_is_made(
    words: tuple[str, ...], groups: set[str]
) -> None:
    assert needs(*words) == groups


def test_what_needs_no_package_looks_for_none_and_what_is_there_is_found_at_once(tmp_path: Path) -> None:
    """Without apt, sudo and root, nothing but looking is possible."""
    spy = tmp_path / "sh"
    spy.write_text(
        f'#!/bin/sh\ncase "$*" in *deps.sh*) echo "$*" >>{tmp_path}/calls ;; esac\nexec /bin/sh "$@"\n'
    )
    spy.chmod(0o755)
    calls = tmp_path / "calls"
    done = typed("make", f"SHELL={spy}", "help")
    assert done.returncode == 0 and not calls.exists()
    assert typed("make", f"SHELL={spy}", "-n", "kernel").returncode == 0 and not calls.exists()
    assert typed("make", f"SHELL={spy}", "abi").returncode == 0
    assert len(calls.read_text().splitlines()) == 1


def test_a_system_without_apt_gets_a_list_of_what_is_missing(tmp_path: Path) -> None:
    for name in ("sh", "sort", "printf", "dirname", "uniq"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    deps = ROOT / "ports/deps.sh"
    done = typed(deps, "build", "run", "test", "dev", PATH=str(tmp_path))
    lines = done.stderr.splitlines()
    assert done.returncode == 1 and 5 < len(lines) <= 32 and "there is no apt-get here" in lines[0]
    assert ["nasm", "nasm"] in [line.split() for line in lines]
    assert "debian-archive-keyring" not in done.stderr and "TACET_DEPS=skip" in lines[-1]
    assert typed(deps, "build", PATH=str(tmp_path), TACET_DEPS="skip").returncode == 0


def test_the_formatter_is_of_the_version_that_the_style_is_written_for() -> None:
    assert "clang-format-14" in (ROOT / "ports/deps.sh").read_text()
    assert needs("format") == {"dev"}
