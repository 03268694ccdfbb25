# SPDX-License-Identifier: BSD-2-Clause
"""Programs use the files of a server, diod on this host, as they use a node's own: every call on paths and
files answers as on Linux, what they write is there afterwards, and a server that fails or is dead is an error
of a call, not the node's end."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT, Run, expect_exit

import qemu
from tests.making import made

sys.path.insert(0, str(ROOT / "tests" / "conformance"))

import compare

BAD_INPUT = 64
#: Of calls: a busy host may let a server that lives stand still; and where it is dead.
TIMEOUT_S, DEAD_TIMEOUT_S = 60, 2
#: Calls on paths and files, on what is open, and on mappings and links of these.
CALLS = (
    "access chdir chmod creat faccessat fallocate fcntl flock folder_changes fstat fsync ftruncate getcwd "
    "getdents64 link lseek lstat mkdir mmap_file mmap_shared newfstatat open openat pread64 preadv pwrite64 "
    "read readlink readlinkat readv rename sendfile stat statfs statx unlink utimensat vector_append write "
    "write_file writev"
).split()

WAIT_FOR_GO = (
    "with recursive tried(n, found) as (select 0, readfile('/mnt/go') union all "
    "select n + 1, readfile('/mnt/go') from tried where found is null and n < 1000000) "
    "select 'went on' from tried where found is not null;\n"
)


@pytest.fixture
def export(tmp_path: Path) -> Path:
    folder = tmp_path / "export"
    (folder / "sub").mkdir(parents=True)
    (folder / "a").write_text("hello\n")
    (folder / "sub" / "deep").write_text("deep\n")
    (folder / "out").symlink_to("/tmp")
    (folder / "up").symlink_to("../proc/version")
    (folder / "link").symlink_to("sub/deep")
    return folder


@pytest.fixture
def server(export: Path) -> Iterator[qemu.FileServer]:
    with qemu.FileServer([export]) as started:
        yield started


@pytest.fixture(scope="session")
def sqlite() -> Path:
    """SQLite's shell, built from Debian's source."""
    made("build/x86_64/sqlite/stamp")
    return qemu.BUILD / "x86_64" / "sqlite" / "sqlite3.musl"


@pytest.fixture
def mounted(tacet: Run, server: qemu.FileServer, export: Path) -> Run:
    """Run a program on a node that has the export at /mnt."""

    def run(
        app: Path, *args: str, options: str = "", timeout_s: int = TIMEOUT_S, **keywords: object
    ) -> qemu.Result:
        options = f"{server.option(export)} mount_timeout={timeout_s}s {options}"
        return tacet(app, *args, options=options, network=qemu.Network("user"), **keywords)

    return run


def shell(mounted: Run, busybox: Path, script: str, **keywords: object) -> list[str]:
    """The lines that a script prints, without a word on stderr."""
    result = expect_exit(mounted(busybox, "sh", "-c", script, **keywords))
    assert result.stderr == b"", result.explain()
    return result.stdout.decode().splitlines()


def test_every_call_on_files_answers_on_a_mount_as_on_linux(
    tacet: Run, server: qemu.FileServer, export: Path, tmp_path: Path
) -> None:
    made("build/linux/version")
    (export / "tmp").mkdir()
    (export / "tmp").chmod(0o1777)
    linux = compare.run_linux("musl", CALLS)
    said = expect_exit(
        tacet(
            compare.program("musl"),
            *CALLS,
            files=compare.files_make(tmp_path / "files"),
            cpus=compare.CPUS,
            memory="256M",
            options=f"ranks=1 {server.option(export, '/tmp')}/tmp",
            network=qemu.Network("user"),
        )
    )
    lines = compare.lines_of(said.stdout.decode(errors="replace"))
    here = compare.read_differences((compare.HERE / "mount_differences").read_text())
    listed = here + compare.differences_of()
    wrong = [compare.compare(linux.lines[name], lines.get(name, []), listed) for name in CALLS]
    assert not any(wrong), f"- is Linux, + is Tacet\n{chr(10).join(filter(None, wrong))}"


def test_links_and_dots_lead_out_of_a_mount_and_back(mounted: Run, busybox: Path) -> None:
    script = (
        "cd /mnt/sub; pwd; cd ..; pwd; cd ..; pwd; cd mnt/sub/../../mnt/sub; pwd -P; cd -P /mnt/out; pwd;"
        "read -r x < /mnt/link; echo $x; read -r x rest < /mnt/up; echo $x;"
        "echo made > /mnt/out/file; read -r x < /tmp/file; echo $x;"
        "cd -P /mnt/sub; cd -P /proc/self/cwd; pwd; read -r x < /proc/self/cwd/../a; echo $x;"
        "exec 3< /mnt/a; read -r x < /proc/self/fd/3; echo $x"
    )
    assert shell(mounted, busybox, script) == [
        *("/mnt/sub", "/mnt", "/", "/mnt/sub", "/tmp", "deep", "Linux", "made", "/mnt/sub", "hello", "hello")
    ]


def test_files_are_copied_packed_renamed_and_removed(mounted: Run, busybox: Path, export: Path) -> None:
    data = os.urandom(3_000_001)
    (export / "data").write_bytes(data)
    listed = expect_exit(mounted(busybox, "ls", "/mnt")).stdout.decode().split()
    assert listed == ["a", "data", "link", "out", "sub", "up"]
    expect_exit(mounted(busybox, "cp", "/mnt/data", "/mnt/sub/copy"))
    assert (export / "sub" / "copy").read_bytes() == data
    summed = expect_exit(mounted(busybox, "sha256sum", "/mnt/sub/copy"))
    assert summed.stdout.split()[0].decode() == hashlib.sha256(data).hexdigest()
    expect_exit(mounted(busybox, "tar", "cf", "/mnt/packed.tar", "-C", "/mnt", "sub"))
    with tarfile.open(export / "packed.tar") as packed:
        assert sorted(packed.getnames()) == ["sub", "sub/copy", "sub/deep"]
    expect_exit(mounted(busybox, "mv", "/mnt/sub/deep", "/mnt/sub/renamed"))
    assert (export / "sub" / "renamed").read_text() == "deep\n"
    expect_exit(mounted(busybox, "rm", "-r", "/mnt/sub", "/mnt/link"))
    assert not (export / "sub").exists() and not (export / "link").is_symlink()


def test_a_program_and_its_folder_may_be_on_a_mount(mounted: Run, busybox: Path, export: Path) -> None:
    (export / "program").write_bytes(busybox.read_bytes())
    result = expect_exit(
        mounted(
            *(busybox, "ls", "-l", "/proc/self/exe", "."),
            options="app=/mnt/program cwd=/mnt/sub ranks=2",
            cpus=2,
        )
    )
    text = result.stdout.decode()
    assert text.count("/proc/self/exe -> /mnt/program") == 2 and text.count(" deep") == 2, result.explain()


def test_what_two_ranks_append_at_once_is_all_there(mounted: Run, busybox: Path, export: Path) -> None:
    script = "i=0; while [ $i -lt 40 ]; do echo $TACET_RANK $i >> /mnt/log; i=$((i+1)); done"
    shell(mounted, busybox, script, cpus=2, options="ranks=2")
    lines = (export / "log").read_text().splitlines()
    for rank in range(2):
        assert [line for line in lines if line.startswith(f"{rank} ")] == [f"{rank} {i}" for i in range(40)]
    assert len(lines) == 80


def test_sqlite_keeps_its_data_on_a_server_that_fails_in_between(
    mounted: Run, sqlite: Path, server: qemu.FileServer, export: Path, tmp_path: Path
) -> None:
    """The server is killed between two transactions, and comes back: the program goes on. Without a lock on
    the database it waits for a file that is made then."""
    insert = "insert into t(x) select printf('%200d', value) from generate_series(1, 50);\n"
    script = tmp_path / "script"
    script.write_text(
        "create table t(id integer primary key, x text);\n"
        + insert * 3
        + "select 'half';\n"
        + WAIT_FOR_GO
        + insert * 3
        + "select 'sum', count(*) from t; pragma integrity_check;\n"
    )
    said = bytearray()
    killed: list[bool] = []

    def watch(chunk: bytes) -> None:
        said.extend(chunk)
        if b"half" in said and not killed:
            killed.append(True)
            server.kill()
            server.start()
            (export / "go").write_text("go")

    result = expect_exit(mounted(sqlite, "-batch", "/mnt/data.db", stdin=script, on_stdout=watch))
    assert killed and result.stdout.decode().split()[-2:] == ["sum|300", "ok"], result.explain()
    with sqlite3.connect(export / "data.db") as database:
        assert database.execute("select count(*) from t").fetchall() == [(300,)]
        assert database.execute("pragma integrity_check").fetchall() == [("ok",)]


def test_a_dead_server_is_an_error_within_its_time_and_the_node_goes_on(
    mounted: Run, busybox: Path, server: qemu.FileServer
) -> None:
    said = bytearray()

    def watch(chunk: bytes) -> None:
        said.extend(chunk)
        if b"ready" in said:
            server.kill()

    script = (
        "echo ready; while read -r x < /mnt/a; do :; done; read -r begun rest < /proc/uptime;"
        "read -r x < /mnt/a || read -r x < /mnt/sub/deep; read -r ended rest < /proc/uptime;"
        "echo alive > /tmp/x; read -r x < /tmp/x; echo $x $((${ended%.*} - ${begun%.*}))"
    )
    result = expect_exit(mounted(busybox, "sh", "-c", script, on_stdout=watch, timeout_s=DEAD_TIMEOUT_S))
    alive, seconds = result.stdout.decode().splitlines()[-1].split()
    # Of two calls; the node's clock goes on where the host lets it stand still.
    assert alive == "alive" and int(seconds) <= 2 * DEAD_TIMEOUT_S + 10, result.explain()
    assert b"Input/output error" in result.stderr, result.explain()


@pytest.mark.parametrize(
    "words", ["", "/mnt", "/mnt:10.0.2.2", "mnt:10.0.2.2:/x", "/mnt:10.0.2.300:/x", "/mnt:10.0.2.2:0:/x"]
)
def test_a_mount_that_is_written_wrongly_is_refused_with_how_to_write_it(
    words: str, tacet: Run, busybox: Path
) -> None:
    result = tacet(busybox, "true", options=f"mount={words} ip=off")
    assert (result.outcome, result.status) == ("stop", BAD_INPUT), result.explain()
    assert "write PLACE:ADDRESS:/EXPORT" in result.reason, result.explain()


def test_what_cannot_be_mounted_stops_the_node_unless_it_may_go_on_without(
    tacet: Run, busybox: Path, server: qemu.FileServer, export: Path
) -> None:
    server.kill()
    options = f"{server.option(export)} mount_timeout=1s"
    stopped = tacet(busybox, "ls", "/mnt", options=options, network=qemu.Network("user"))
    assert stopped.outcome == "stop" and "10.0.2.2" in stopped.reason, stopped.explain()
    went_on = expect_exit(
        tacet(busybox, "true", options=options + " mount_required=no", network=qemu.Network("user"))
    )
    assert "goes on without" in went_on.console, went_on.explain()
