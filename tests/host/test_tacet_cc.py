# SPDX-License-Identifier: BSD-2-Clause
"""libc/tacet-cc: what it makes are static programs that run on this Linux too."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TACET_BUILD") or ROOT / "build")
TACET_CC = ROOT / "libc" / "tacet-cc"

needs_musl = pytest.mark.skipif(
    not (BUILD / "x86_64" / "musl" / "stamp").exists() or platform.machine() != "x86_64",
    reason="musl is not there (ports/musl/fetch.sh build)",
)

HELLO = """
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <immintrin.h>
#include <tacet.h>

static _Thread_local int local = 7;

static void *thread(void *result)
{
    *(int *)result = ++local;
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t id;
    int seen = 0;

    pthread_create(&id, NULL, thread, &seen);
    pthread_join(id, NULL);
    printf("%d %d %.3f %d %s\\n", local, seen, sqrt(argc), tacet_node() == NULL, argv[1]);
    return 3;
}
"""


@pytest.fixture
def hello(tmp_path: Path) -> Path:
    (tmp_path / "hello.c").write_text(HELLO)
    return tmp_path


def compiled(folder: Path, *arguments: str, compiler: Path = TACET_CC) -> None:
    """Compile from within `folder`, which is not the tree."""
    done = subprocess.run([str(compiler), *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def kind_of(program: Path) -> str:
    header = subprocess.run(
        ["readelf", "-hlW", str(program)], capture_output=True, text=True, check=True
    ).stdout
    assert "INTERP" not in header
    return "static-pie" if "Type:                              DYN" in header else "static"


def check_hello(program: Path) -> None:
    done = subprocess.run([str(program), "a b"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (3, "7 8 1.414 1 a b\n")


@needs_musl
@pytest.mark.parametrize("kind", ["default", "static", "static-pie"])
def test_a_program_is_static_and_runs(hello: Path, kind: str) -> None:
    options = [] if kind == "default" else [f"-{kind}"]
    compiled(hello, "-O2", "-Wall", "-Werror", *options, "hello.c", "-o", "hello", "-lm", "-pthread")
    assert kind_of(hello / "hello") == ("static" if kind == "default" else kind)
    check_hello(hello / "hello")


@needs_musl
def test_one_object_serves_both_kinds(hello: Path) -> None:
    compiled(hello, "-O2", "-c", "hello.c", "-o", "hello.o")
    for options in ([], ["-static-pie"]):
        compiled(hello, *options, "hello.o", "-o", "hello")
        check_hello(hello / "hello")


@needs_musl
def test_nostdlib_brings_nothing(tmp_path: Path) -> None:
    (tmp_path / "raw.c").write_text(
        'void _start(void) { __asm__ volatile("mov $60, %eax; mov $3, %edi; syscall"); }'
    )
    compiled(tmp_path, "-nostdlib", "raw.c", "-o", "raw")
    assert subprocess.run([str(tmp_path / "raw")]).returncode == 3
    assert (tmp_path / "raw").stat().st_size < 20000


@needs_musl
def test_it_finds_itself_through_a_link(hello: Path) -> None:
    (hello / "cc").symlink_to(TACET_CC)
    compiled(hello, "hello.c", "-o", "hello", compiler=hello / "cc")
    check_hello(hello / "hello")


@needs_musl
def test_a_build_that_exports_cc_is_served(hello: Path) -> None:
    """Processes are bounded here: a script that calls itself would otherwise fill the machine's table."""
    bounded = ("prlimit", "--nproc=4000", "--cpu=20", "timeout", "60")
    words = [*bounded, str(TACET_CC), "hello.c", "-o", "hello", "-lm", "-pthread"]
    environment = os.environ | {"CC": str(TACET_CC)}
    done = subprocess.run(words, cwd=hello, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    check_hello(hello / "hello")


def test_without_musl_it_says_how_to_get_it(tmp_path: Path) -> None:
    environment = os.environ | {"TACET_BUILD": str(tmp_path)}
    done = subprocess.run([str(TACET_CC), "x.c"], env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert "ports/musl/fetch.sh" in done.stderr and done.stderr.count("\n") == 1


PLACES = ROOT / "tests" / "programs" / "places.c"
TASKS = ROOT / "docs" / "examples" / "tasks.c"


def said(program: Path, **environment: str) -> str:
    done = subprocess.run([str(program)], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


@needs_musl
@pytest.mark.parametrize("options", [[], ["-static-pie"]], ids=["static", "static-pie"])
def test_openmp_has_as_many_threads_as_requested(options: list[str], tmp_path: Path) -> None:
    compiled(tmp_path, "-O2", *options, "-fopenmp", str(TASKS), "-o", "tasks")
    assert kind_of(tmp_path / "tasks") == ("static-pie" if options else "static")
    assert said(tmp_path / "tasks", OMP_NUM_THREADS="3") == "3 threads: 14.392727, 6765\n"


@needs_musl
def test_openmp_s_runtime_reports_errors_on_standard_error(tmp_path: Path) -> None:
    compiled(tmp_path, "-fopenmp", str(TASKS), "-o", "tasks")
    done = subprocess.run(
        [str(tmp_path / "tasks")], env={"OMP_NUM_THREADS": "x"}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0 and "libgomp: Invalid value for environment variable" in done.stderr, done


@needs_musl
def test_openmp_binds_threads_where_the_environment_says(tmp_path: Path) -> None:
    compiled(tmp_path, "-fopenmp", str(PLACES), "-o", "places")
    cpus = sorted(os.sched_getaffinity(0))
    last = cpus[-1]
    bound = said(tmp_path / "places", OMP_NUM_THREADS="2", OMP_PLACES=f"{{{cpus[0]}}},{{{last}}}")
    assert bound == f"thread 0: CPU {cpus[0]} of 1\nthread 1: CPU {last} of 1\n"
    assert said(tmp_path / "places", OMP_NUM_THREADS="2").count(f" of {len(cpus)}\n") == 2


@needs_musl
def test_without_fopenmp_nothing_of_openmp_is_linked(hello: Path) -> None:
    compiled(hello, "hello.c", "-o", "hello", "-pthread")
    names = subprocess.run(["nm", str(hello / "hello")], capture_output=True, text=True, check=True).stdout
    assert "GOMP_" not in names and "openmp_" not in names


def test_a_static_fortran_program_with_threads_ends_well(tmp_path: Path) -> None:
    program = tmp_path / "heat"
    words = ["gfortran", "-O2", "-static", "-fopenmp", "docs/examples/heat.f90", "libc/gfortran.ld", "-o"]
    subprocess.run([*words, str(program)], cwd=ROOT, check=True, capture_output=True)
    assert said(program, OMP_NUM_THREADS="3") == "3 threads: mean 0.749380\n"
    # Every function of threads that the library names weakly has an address.
    archive = subprocess.run(
        ["gfortran", "-print-file-name=libgfortran.a"], capture_output=True, text=True, check=True
    ).stdout.strip()
    weak = subprocess.run(["nm", archive], capture_output=True, text=True, check=True).stdout
    symbols = subprocess.run(["nm", str(program)], capture_output=True, text=True, check=True).stdout
    for name in set(re.findall(r" w (_*pthread_\w+)$", weak, re.MULTILINE)):
        assert re.search(rf"^[0-9a-f]+ [TtWi] {name}$", symbols, re.MULTILINE), name
