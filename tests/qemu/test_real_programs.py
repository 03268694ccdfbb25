# SPDX-License-Identifier: BSD-2-Clause
"""Well-known programs run unmodified: Debian's busybox, C++ with its library, OpenMP with GCC's,
SQLite.

Each row is one run of a static ELF file; it prints, and ends, as the same file does on this machine, in a
root directory with the same files and an empty /tmp. What describes the machine itself (`nproc`, `free`) is
held against a pattern instead. A node runs one process, so rows are commands that start no other; busybox's
shell is used for what it does without other programs.
"""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import lzma
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pending
import pytest
from conftest import Run, expect_exit, program

import qemu
from tests.making import made

TEXT = "pear 3\napple 12\nfig 7\napple 1\n\nlast line\tof all\n"
NUMBERS = "".join(f"{i * 7919 % 1000}\n" for i in range(200))


@dataclass(frozen=True)
class Row:
    """A command's words, what it reads on standard input, CPUs of the node, and how its output is to be held
    against the host's."""

    words: Sequence[str]
    stdin: str = ""
    cpus: int = 1
    env: tuple[tuple[str, str], ...] = ()
    any_order: bool = False


def shell(script: str) -> Row:
    """Busybox's shell with what is built into it."""
    return Row(("sh", "-c", script))


BUSYBOX: dict[str, Row] = {
    # Files as they are
    "cat": Row(("cat", "data/text", "-", "data/numbers"), "from input\n"),
    "tac": Row(("tac", "data/text")),
    "rev": Row(("rev", "data/text")),
    "ls-long": Row(("ls", "-ln", "data/text", "data/numbers", "data/link", "data/deep/er/file")),
    "ls-size": Row(("ls", "-1S", "data/numbers", "data/text", "data/binary")),
    "find-name": Row(("find", "data", "-name", "*.gz"), any_order=True),
    "find-print0": Row(("find", "data", "-type", "f", "-size", "-2", "-print0"), any_order=True),
    "stat": Row(("stat", "-c", "%n %s %h %a %u %Y %F", "data/text", "data/numbers", "data/link")),
    "readlink": Row(("readlink", "-f", "data/link")),
    "realpath": Row(("realpath", "data/../data/link")),
    "test-file": shell(
        "for f in data/text data/none data/deep data/link; do [ -e $f ] && [ -r $f ] && [ ! -d $f ] && echo "
        "$f; done; true"
    ),
    # Text
    "sort": Row(("sort", "data/text")),
    "sort-numbers": Row(("sort", "-n", "-r", "-u", "data/numbers")),
    "sort-key": Row(("sort", "-k2,2n", "-k1,1", "data/text")),
    "uniq": Row(("uniq", "-c"), "a\na\nb\na\n"),
    "wc": Row(("wc", "data/text", "data/numbers", "data/binary")),
    "head": Row(("head", "-n", "3", "data/text")),
    "tail": Row(("tail", "-n", "+3", "data/text")),
    "tail-bytes": Row(("tail", "-c", "100", "data/numbers")),
    "cut": Row(("cut", "-d", " ", "-f", "2", "data/text")),
    "paste": Row(("paste", "-d", ":", "data/text", "data/numbers")),
    "tr": Row(("tr", "a-z", "A-Z"), TEXT),
    "expand": Row(("expand", "data/text")),
    "fold": Row(("fold", "-w", "5", "data/text")),
    "nl": Row(("nl", "data/text")),
    "grep": Row(("grep", "-n", "-i", "APPLE", "data/text")),
    "grep-expression": Row(("grep", "-E", "-o", "[0-9]+$", "data/text")),
    "grep-folder": Row(("grep", "-r", "-l", "deep", "data"), any_order=True),
    "grep-nothing": Row(("grep", "nothing of this", "data/text")),
    "sed": Row(("sed", "-n", "-e", "s/\\([a-z]*\\) \\([0-9]*\\)/\\2 \\1/p", "data/text")),
    "sed-program": Row(("sed", "2,3d;$s/all/&!/;y/abc/xyz/", "data/text")),
    "awk-sum": Row(
        (
            "awk",
            '{ s += $2; n[$1]++ } END { print s, n["apple"]; printf "%.6f %e\\n", s / 7, exp(1) }',
            "data/text",
        )
    ),
    "awk-functions": Row(
        (
            "awk",
            'function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2) } BEGIN { print f(15), substr("abcdef", '
            '2, 3), toupper("x"), sprintf("%05d", 42), match("foobar", "o+"), RLENGTH; print split("a:b:c", '
            'p, ":"), p[3] }',
        )
    ),
    "diff": Row(("diff", "data/text", "data/deep/text")),
    "cmp": Row(("cmp", "data/text", "data/deep/text")),
    "strings": Row(("strings", "data/binary")),
    "od": Row(("od", "-A", "x", "-t", "x1z", "-N", "64", "data/binary")),
    "hexdump": Row(("hexdump", "-C", "-n", "80", "data/binary")),
    "xxd": Row(("xxd", "data/text")),
    "dos2unix": Row(("dos2unix",), "a\r\nb\r\n"),
    "ed": Row(("ed", "data/text"), "2,3p\n,s/apple/orange/g\n1,$p\nQ\n"),
    "more": Row(("more",), TEXT),
    # Sums and archives
    "md5sum": Row(("md5sum", "data/binary", "data/text")),
    "sha1sum": Row(("sha1sum", "data/binary")),
    "sha256sum": Row(("sha256sum", "data/binary")),
    "sha512sum": Row(("sha512sum", "data/binary")),
    "sha3sum": Row(("sha3sum", "data/binary")),
    "md5sum-check": Row(("md5sum", "-c", "data/sums")),
    "crc32": Row(("crc32", "data/binary")),
    "base64": Row(("base64", "data/binary")),
    "base64-decode": Row(("base64", "-d", "data/binary.base64")),
    "uuencode": Row(("uuencode", "-m", "data/text", "name")),
    "gzip": Row(("gzip", "-c", "-n", "data/numbers")),
    "gunzip": Row(("gunzip", "-c", "data/numbers.gz")),
    "bzip2": Row(("bzip2", "-c", "data/numbers")),
    "bunzip2": Row(("bunzip2", "-c", "data/numbers.bz2")),
    "unxz": Row(("unxz", "-c", "data/numbers.xz")),
    "unlzma": Row(("unlzma", "-c", "data/numbers.lzma")),
    "tar-list": Row(("tar", "-tvf", "data/archive.tar")),
    "tar-make": Row(("tar", "-cf", "-", "data/text", "data/deep/er")),
    "tar-out": Row(("tar", "-xOf", "data/archive.tar", "text")),
    "ar": Row(("ar", "-t", "data/library.a")),
    # Arithmetic, dates, words
    "expr": Row(("expr", "(", "7", "+", "5", ")", "*", "3")),
    "expr-match": Row(("expr", "abc123", ":", "[a-z]*\\([0-9]*\\)")),
    "bc": Row(("bc",), "scale=20\n4*2/3\n2^100\nsqrt(2)\nfor(i=0;i<3;i++) i*i\n"),
    "dc": Row(("dc", "-e", "20 k 2 v p 3 5 ^ p")),
    "factor": Row(("factor", "1000000016000000063", "97")),
    "seq": Row(("seq", "-w", "8", "0.5", "11")),
    "date": Row(("date", "-u", "-d", "@1700000000", "+%F %T %A %j %s")),
    "date-parse": Row(("date", "-u", "-d", "2024-02-29 12:34:56", "+%s")),
    "cal": Row(("cal", "2", "2024")),
    "printf": Row(("printf", "%s|%5d|%-5s|%x|%c\\n", "a", "42", "b", "255", "z")),
    "env": Row(("env",), env=(("A", "1"), ("B", "two words"))),
    "printenv": Row(("printenv", "A"), env=(("A", "1"),)),
    "basename": Row(("basename", "/a/b/c.txt", ".txt")),
    "dirname": Row(("dirname", "/a/b/c.txt")),
    "false": Row(("false",)),
    "pwd": Row(("pwd",)),
    "id": Row(("id", "-u")),
    "ascii": Row(("ascii",)),
    "ipcalc": Row(("ipcalc", "-n", "-b", "192.168.3.77/20")),
    "shell": shell(
        "f() { local n=$1; [ $n -le 1 ] && { r=1; return; }; f $((n - 1)); r=$((r * n)); }; f 10; echo $r; "
        "for i in a b c; do echo -n $i; done; echo; case abc in a*) echo match;; esac"
    ),
    "shell-read": shell(
        'n=0; while read a b; do n=$((n + 1)); echo "$n:$b:$a"; done <data/text; echo ${n}x ${#n} '
        "$((16#ff)) $((1 << 40))"
    ),
    "shell-trap": shell("trap 'echo left' EXIT; set -e; cd data; echo *; false; echo never"),
    "sleep": Row(("sleep", "0.01")),
    "usleep": Row(("usleep", "1000")),
    # What is written, in /tmp
    "cp": Row(("cp", "-v", "data/text", "/tmp/copy")),
    "cp-folder": Row(("cp", "-rv", "data/deep", "/tmp/copy"), any_order=True),
    "mkdir": Row(("mkdir", "-pv", "/tmp/a/b/c")),
    "touch": Row(("touch", "/tmp/new")),
    "ln": Row(("ln", "-sv", "text", "/tmp/link")),
    "tee": Row(("tee", "/tmp/a", "/tmp/b"), TEXT),
    "dd": Row(("dd", "if=data/binary", "of=/tmp/out", "bs=1000", "count=7")),
    "truncate": Row(("truncate", "-s", "100000", "/tmp/sparse")),
    "tar-unpack": Row(("tar", "-xvf", "data/archive.tar", "-C", "/tmp")),
    "sort-to-file": Row(("sort", "-o", "/tmp/sorted", "data/numbers")),
    "awk-file": Row(
        (
            "awk",
            'BEGIN { for (i = 0; i < 500; i++) print i * i > "/tmp/squares"; close("/tmp/squares"); while '
            '((getline line < "/tmp/squares") > 0) sum += line; print sum }',
        )
    ),
    "ed-write": Row(("ed",), "r data/text\n,s/apple/orange/g\nw /tmp/edited\ne /tmp/edited\n,p\nq\n"),
    "shell-files": shell(
        'cd /tmp; echo one >a; echo two >>a; while read l; do echo "<$l>"; done <a; [ -s a ] && echo there; '
        ">a; [ -s a ] || echo empty; echo x >b; echo *; cd /; umask"
    ),
    "shell-document": shell('while read a b; do echo "$b $a"; done <<END\none two\nthree four\nEND\n'),
    "patch": Row(("patch", "-o", "/tmp/patched", "data/text", "data/text.patch")),
    "shuf": Row(("shuf", "-n", "0", "data/text")),
}

#: What describes the node: the words, and what the output must be like. The node has two CPUs and 256 MiB.
NODE: dict[str, tuple[Sequence[str], str]] = {
    "nproc": (("nproc",), r"2\n"),
    "uname": (("uname", "-s", "-m"), r"Linux x86_64\n"),
    "hostname": (("hostname",), r"\S+\n"),
    "free": (("free", "-m"), r" +total +used +free.*\nMem: +(1\d\d|2[0-5]\d) .*\n(.*\n)*"),
    "uptime": (("uptime",), r" *\d\d:\d\d:\d\d up .*load average: [\d., ]+\n"),
    "df": (("df", "/tmp"), r"Filesystem +1K-blocks.*\n.* /tmp\n"),
    "mount": (("mount",), r"(.* on .* type .*\n)+"),
    "ps": (("ps", "-o", "pid,comm"), r" *PID +COMMAND *\n( *\d+ \S.*\n)+"),
    "arch": (("arch",), r"x86_64\n"),
    "taskset": (("taskset", "-p", "1"), r"pid 1's current affinity mask: [13]\n"),
    "cpuinfo": (("grep", "-c", "^processor", "/proc/cpuinfo"), r"2\n"),
    "date-now": (("date", "-u", "+%Y"), r"20[2-9]\d\n"),
    "tty": (("tty",), r"not a tty\n"),
}

SQL_COMMON = """
create table person(id integer primary key, name text not null, city integer);
create table city(id integer primary key, name text);
insert into city values (0, 'Rome'), (1, 'Jerusalem'), (2, 'Chicago');
begin;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000)
  insert into person select i, printf('name%05d', i * 7919 % 10007), i % 3 from n;
commit;
create index by_name on person(name);
select count(*), min(name), max(name), sum(id) from person;
begin; delete from person; select count(*) from person; rollback; select count(*) from person;
select city.name, count(*), round(avg(person.id), 3) from person join city on city.id = person.city
  group by 1 order by 1;
explain query plan select id from person where name = 'name00042';
select id from person where name = 'name00042';
update person set name = upper(name) where id % 1000 = 0;
select name from person where id % 2500 = 0 order by id;
insert into person values (1, 'twice', 0);
delete from person where id > 9000; vacuum;
create virtual table words using fts5(body);
insert into words values ('one process a rank'), ('no noise at all');
select body from words where words match 'noise';
select length(randomblob(100)), typeof(1.5), sin(0), json_extract('{"a":[1,2]}', '$.a[1]');
pragma integrity_check;
"""
SQL_FILE = (
    "pragma journal_mode;\n"
    + SQL_COMMON
    + "pragma page_count;\n.open /tmp/db\nselect count(*) from person;\npragma integrity_check;\n"
)
SQL_WAL = (
    "pragma journal_mode = wal;\n"
    + SQL_COMMON
    + "pragma wal_checkpoint(truncate);\npragma integrity_check;\n"
)

SQLITE = {
    f"sqlite-{kind}-{name}": (kind, path, script)
    for kind in ("musl", "glibc")
    for name, path, script in (
        ("memory", ":memory:", SQL_COMMON),
        ("file", "/tmp/db", SQL_FILE),
        ("wal", "/tmp/db", SQL_WAL),
    )
}
CPLUSPLUS = {f"cplusplus-{part}": part for part in ("language", "threads", "files")}
OPENMP = {f"openmp-{kind}-{cpus}": (kind, cpus) for kind in ("musl", "glibc") for cpus in (1, 2, 4, 8)}
#: More CPUs than this machine may have, whose threads wait for each other's turns.
OPENMP_LONG = ("openmp-musl-4", "openmp-musl-8", "openmp-glibc-4", "openmp-glibc-8")

NAMES = [
    *(f"busybox-{name}" for name in BUSYBOX),
    *(f"node-{name}" for name in NODE),
    *SQLITE,
    *CPLUSPLUS,
    *OPENMP,
]
PARAMS = {param.id: param for param in pending.params("program", NAMES)}


def params_of(names: Sequence[str], long: Sequence[str] = ()) -> list[object]:
    marks = {name: [*PARAMS[name].marks, *([pytest.mark.long] if name in long else [])] for name in names}
    return [pytest.param(*PARAMS[name].values, id=name, marks=marks[name]) for name in names]


def archive_of(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What both sides have as their root directory."""
    root = tmp_path_factory.mktemp("real") / "files"
    data = root / "data"
    (data / "deep" / "er").mkdir(parents=True)
    (root / "tmp").mkdir()
    binary = bytes(i * i % 251 for i in range(20000)) + b"some words\0" + bytes(range(256))
    contents = {
        "text": TEXT.encode(),
        "numbers": NUMBERS.encode(),
        "binary": binary,
        "binary.base64": base64.encodebytes(binary),
        "numbers.gz": gzip.compress(NUMBERS.encode(), mtime=0),
        "numbers.bz2": bz2.compress(NUMBERS.encode()),
        "numbers.xz": lzma.compress(NUMBERS.encode(), check=lzma.CHECK_CRC32),
        "numbers.lzma": lzma.compress(NUMBERS.encode(), format=lzma.FORMAT_ALONE),
        "archive.tar": archive_of({"text": TEXT.encode(), "folder/numbers": NUMBERS.encode()}),
        "library.a": b"!<arch>\n"
        + b"%-16s%-12d%-6d%-6d%-8s%-10d`\n" % (b"member/", 0, 0, 0, b"100644", 4)
        + b"body",
        "sums": b"0" * 32 + b"  data/text\n",
        "text.patch": b"--- data/text\n+++ data/text\n@@ -1,3 +1,3 @@\n pear 3\n-apple 12\n+plum 12\n fig "
        b"7\n",
        "deep/text": TEXT.replace("fig", "date").encode(),
        "deep/er/file": b"deep\n",
    }
    for name, content in contents.items():
        (data / name).write_bytes(content)
    (data / "link").symlink_to("deep/er/file")
    for path in sorted(root.rglob("*"), reverse=True):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() else 0o644)
        os.utime(path, (0, 0), follow_symlinks=False)
    return root


def here(app: Path, row: Row, files: Path, folder: Path) -> tuple[int, bytes]:
    """Status and output of the same file on this machine, in a copy of the files as its root directory."""
    root = folder / "root"
    subprocess.run(["cp", "-a", files, root], check=True, timeout=60)
    os.utime(root / "data", (0, 0))
    shutil.copy(app, root / app.name)
    environment = {"PATH": os.environ["PATH"], **dict(row.env)}
    command = ["unshare", "-r", "chroot", ".", f"/{app.name}", *row.words]
    ran = subprocess.run(
        command, cwd=root, input=row.stdin.encode(), capture_output=True, timeout=60, env=environment
    )
    return ran.returncode, ran.stdout


def compare(app: Path, row: Row, tacet: Run, files: Path, folder: Path) -> None:
    """The row on a node against the row here."""
    source = folder / "stdin"
    source.write_text(row.stdin)
    status, expected = here(app, row, files, folder)
    result = tacet(
        app,
        *row.words,
        files=files,
        stdin=source,
        env=dict(row.env),
        cpus=row.cpus,
        memory="256M",
        options="ranks=1 cwd=/",
        time_limit=60,
    )
    assert (result.outcome, result.status) == ("exit", status), result.explain()
    if row.any_order or row.words == ("env",):
        # The node gives a rank its place in the environment; this machine has a PATH, for unshare.
        own = (b"TACET_", b"PATH=")
        lines = [
            sorted(line for line in re.split(rb"[\n\0]", said) if not line.startswith(own))
            for said in (result.stdout, expected)
        ]
        assert lines[0] == lines[1], result.explain()
    else:
        assert result.stdout == expected, result.explain()


@pytest.mark.parametrize("name", params_of([f"busybox-{name}" for name in BUSYBOX]))
def test_busybox_prints_what_it_prints_here(
    name: str, tacet: Run, busybox: Path, files: Path, tmp_path: Path
) -> None:
    compare(busybox, BUSYBOX[name.removeprefix("busybox-")], tacet, files, tmp_path)


@pytest.mark.parametrize("name", params_of([f"node-{name}" for name in NODE]))
def test_busybox_finds_a_node_of_linux_s_shape(name: str, tacet: Run, busybox: Path, files: Path) -> None:
    words, pattern = NODE[name.removeprefix("node-")]
    result = tacet(
        busybox, *words, files=files, cpus=2, memory="256M", options="ranks=1 cwd=/", time_limit=30
    )
    assert result.outcome == "exit" and re.fullmatch(pattern, result.stdout.decode()), result.explain()


@pytest.mark.parametrize("name", params_of(list(CPLUSPLUS)))
def test_a_cplusplus_program_with_its_library_runs(
    name: str, tacet: Run, files: Path, tmp_path: Path
) -> None:
    compare(program("cplusplus.glibc"), Row((CPLUSPLUS[name],), cpus=4), tacet, files, tmp_path)


@pytest.mark.parametrize("name", params_of(list(OPENMP), OPENMP_LONG))
def test_an_openmp_program_runs_on_all_cores(name: str, tacet: Run, files: Path, tmp_path: Path) -> None:
    kind, cpus = OPENMP[name]
    compare(
        program(f"openmp.{kind}"),
        Row((), cpus=cpus, env=(("OMP_NUM_THREADS", str(cpus)),)),
        tacet,
        files,
        tmp_path,
    )


@pytest.mark.parametrize("kind", ["musl", "glibc"])
def test_openmp_binds_threads_to_the_places_of_the_environment(kind: str, tacet: Run) -> None:
    places = {"OMP_NUM_THREADS": "2", "OMP_PLACES": "{3},{1}", "OMP_PROC_BIND": "true"}
    bound = tacet(program(f"places.{kind}"), cpus=4, env=places, options="ranks=1")
    assert expect_exit(bound).stdout == b"thread 0: CPU 3 of 1\nthread 1: CPU 1 of 1\n", bound.explain()
    free = tacet(program(f"places.{kind}"), cpus=4, options="ranks=1")
    assert expect_exit(free).stdout == b"".join(b"thread %d: CPU %d of 4\n" % (n, n) for n in range(4))


@pytest.fixture(scope="session")
def sqlite() -> Path:
    """The folder with SQLite's shell, built from Debian's source."""
    made("build/x86_64/sqlite/stamp")
    return qemu.BUILD / "x86_64" / "sqlite"


@pytest.mark.long
@pytest.mark.xdist_group("sqlite")
@pytest.mark.parametrize("name", params_of(list(SQLITE)))
def test_sqlite_keeps_its_data(name: str, tacet: Run, sqlite: Path, files: Path, tmp_path: Path) -> None:
    kind, path, script = SQLITE[name]
    compare(sqlite / f"sqlite3.{kind}", Row(("-batch", path), stdin=script), tacet, files, tmp_path)
