# SPDX-License-Identifier: BSD-2-Clause
"""A fresh machine is tried, not believed: each target of `make help` as the first command on a bare Debian.

A bare Debian is made once by mmdebstrap, of this machine's mirror, with make, git and ca-certificates, and
copied for each target; its packages come by this machine's apt configuration. It is a mount and process
namespace with a root folder of its own, so that nothing of it outlives a test. Root is needed for that.

The targets run as root, as a user with sudo, and as one without, who must be told in one line what is
missing. Nothing here depends on how fast the machine is.
"""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "ports"))

import fetch

INSIDE = "/home/tacet"
#: The longest that a target may take here, by the wall clock, before it counts as hung.
HANGS_S = 3600
#: The namespace: a root folder of its own, and at the end a line for each process that is left.
ENTER = r"""
set -e
root=$1 user=$2 command=$3
mount --bind "$root" "$root"
cd "$root"
mount -t proc proc proc
mount --rbind /dev dev
mount -t sysfs sysfs sys
mkdir -p .old
pivot_root . .old
cd /
umount -l /.old
export HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
[ "$user" = root ] || set -- setpriv --reuid "$user" --regid "$user" --init-groups
[ "$user" != root ] || set --
[ "$user" = root ] || export HOME=/home/"$user" PATH=/usr/local/bin:/usr/bin:/bin
cd /home/tacet
set +e
"$@" sh -c "$command"
status=$?
for left in /proc/[0-9]*; do
    [ "$left" = /proc/1 ] || [ "$left" = /proc/$$ ] || [ ! -s "$left/cmdline" ] ||
        echo "left running: $(tr '\0' ' ' <"$left/cmdline")"
done
exit $status
"""

CASES = {
    "make kernel": r"LD +build/x86_64/tacet.elf",
    "make kernel ARCH=ppc64": r"LD +build/ppc64/tacet.elf",
    "make apps": r"APP +build/x86_64/apps/ftq",
    "make kit && ls -l build/tacet-noise-kit.tar.xz": r"tacet-noise-kit",
    "make sim && build/simulator/sim --help": r"simulator|usage|Usage",
    "make mpi && ls build/mpi-lite/x86_64/libmpi.a": r"libmpi.a",
    "make mpi-trace-others && ls build/mpi-trace/mpich/libmpi-trace.so": r"libmpi-trace.so",
    "make mpich && ls build/x86_64/mpich/lib/libmpi.a": r"libmpi.a",
    "make service && ls build/service/conductor": r"conductor",
    "make visits": r"visits.so",
    "make caches": r"caches.so",
    "make abi": r"abi.md",
    "make compile_commands.json && head -c 1 compile_commands.json": r"\[",
    "make build/host/test_string && build/host/test_string": r"",
    "make build/fuzz/fuzz_tree && build/fuzz/fuzz_tree -runs=10": r"Done 10 runs",
    "make format": r"",
    "make pictures": r"",
    "make iso && ls build/tacet.iso": r"tacet.iso",
    "make pxe APP=/bin/true && ls build/pxe": r"tacet",
    "make run": r"disturbed quanta +0 of 1000 +\d+ of 1000(.|\n)*Linux, tuned",
    "make run ARCH=ppc64": r"disturbed quanta +0 of 1000 +\d+ of 1000",
    "make run APP=/bin/busybox ARGS='echo hello'": r"^hello",
    "make run APP=/bin/busybox ARGS='ls /mnt' MOUNT=lab": r"bench",
    "make run APP=/bin/busybox ARGS='sleep 0.01' && make klog": r"exit",
    "make cluster NODES=1 APP=/bin/busybox ARGS='echo hello'": r"hello",
    "make lockstep APP=/bin/busybox ARGS='echo hello' NODES=2": r"hello",
    "make gdb GDB_COMMANDS=/dev/null": r"",
    "make fuzz-calls MINUTES=0.02": r"",
    "make fuzz-collide MINUTES=0.02": r"fuzz-collide: \d+ passed, 0 failed",
    "echo 'int main(void) { return 7; }' >a.c && libc/tacet-cc a.c -o a && ! ./a": r"PORT +musl",
    "tools/lab show docs/pictures/ftq-linux.dat": r"noise",
}
#: What a target says first that has nothing to do yet: command, status, words.
REFUSED = {
    "make klog": (2, "make run APP=prog keeps one there"),
    "make report": (2, "nothing is measured yet"),
}
#: Targets of `make help` that are not tried from nothing, and why.
NOT_TRIED = {
    "test": "it is this",
    "test-long": "it is this",
    "bench": "takes ten minutes; its groups are those of the others",
    "beats": "takes minutes; the same groups as lockstep and cluster",
    "clock-offsets": "takes minutes; the same groups as lockstep and cluster",
    "docs": "takes minutes; its groups are some of make run's and bench's",
    "host-test": "build/host/test_string is one of it",
    "fuzz": "build/fuzz/fuzz_tree is one of it",
    "klog": "with a flight log and without, above",
    "help": "needs nothing",
    "clean": "needs nothing",
}


def helped() -> list[str]:
    """Targets that `make help` names."""
    said = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    firsts = re.findall(r"^make ([\w.-]+(?: \| [\w.-]+)*)", said, re.M)
    return sorted({one for words in firsts for one in words.split(" | ")})


def test_every_target_of_make_help_is_tried_from_nothing_or_says_why_not() -> None:
    tried = {word for command in [*CASES, *REFUSED] for word in re.findall(r"make ([\w.-]+)", command)}
    lacking = set(helped()) - tried - set(NOT_TRIED)
    assert not lacking and len(helped()) > 20, lacking


# ---- Bare machines ----


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A bare Debian with this tree's files, and two users: `able` has sudo, `plain` has not."""
    if os.getuid() != 0:
        pytest.skip("bare machines are namespaces with a root folder of their own: needs root")
    subprocess.run([ROOT / "ports/deps.sh", "test-long"], check=True)
    folder = tmp_path_factory.mktemp("bare") / "base"
    release = Path("/etc/os-release").read_text()
    codename = re.search(r"^VERSION_CODENAME=(\w+)", release, re.M)
    assert codename, release
    words = ["--variant=minbase", "--include=make,git,ca-certificates,sudo", codename[1], str(folder)]
    made = subprocess.run(["mmdebstrap", *words, fetch.debian_mirrors()[0]], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr[-3000:]
    for part in Path("/etc/apt/apt.conf.d").iterdir():
        if "Acquire" in part.read_text(errors="replace"):
            shutil.copy(part, folder / "etc/apt/apt.conf.d")
    for name in ("resolv.conf", "hosts"):
        shutil.copy(f"/etc/{name}", folder / "etc" / name)
    listing = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    tree = folder / INSIDE.lstrip("/")
    tree.mkdir()
    for name in listing.stdout.splitlines():
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    users = """
        useradd -m able && echo 'able ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/able && useradd -m plain
        chown -R able:able /home/tacet
        git config --system --add safe.directory /home/tacet
    """
    subprocess.run(["chroot", folder, "sh", "-ec", users], check=True)
    yield folder
    shutil.rmtree(folder.parent)


@pytest.fixture
def bare(base: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of it."""
    folder = tmp_path / "machine"
    subprocess.run(["cp", "-a", "--reflink=auto", base, folder], check=True)
    yield folder
    shutil.rmtree(folder)


def entered(machine: Path, user: str, command: str) -> list[str]:
    """The words that run a command on it."""
    kept = [f"{k}={v}" for k, v in os.environ.items() if k.lower().endswith("_proxy") or k == "TERM"]
    inside = ["sh", "-c", ENTER, "enter", str(machine), user, command]
    apart = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"]
    return [*apart, "env", "-i", f"PATH={os.environ['PATH']}", "LC_ALL=C.UTF-8", *kept, *inside]


def ran(machine: Path, user: str, command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        entered(machine, user, command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=HANGS_S,
    )


@pytest.mark.long
@pytest.mark.limit(cpu=HANGS_S, wall=2 * HANGS_S)
@pytest.mark.parametrize("command", CASES)
def test_it_works_as_the_first_command_of_a_machine(command: str, bare: Path) -> None:
    done = ran(bare, "root", command)
    assert done.returncode == 0 and re.search(CASES[command], done.stdout, re.M), done.stdout[-6000:]
    assert "left running" not in done.stdout, done.stdout[-2000:]


@pytest.mark.long
@pytest.mark.parametrize("command", REFUSED)
def test_what_has_nothing_to_do_yet_says_so_and_installs_nothing(command: str, bare: Path) -> None:
    status, words = REFUSED[command]
    done = ran(bare, "root", command)
    assert done.returncode == status and words in done.stdout, done.stdout
    assert "APT" not in done.stdout, done.stdout


@pytest.mark.long
@pytest.mark.limit(cpu=HANGS_S, wall=2 * HANGS_S)
def test_a_user_with_sudo_needs_no_more(bare: Path) -> None:
    done = ran(bare, "able", "make run")
    assert done.returncode == 0 and re.search(CASES["make run"], done.stdout), done.stdout[-6000:]


@pytest.mark.long
@pytest.mark.limit(cpu=HANGS_S, wall=2 * HANGS_S)
def test_a_user_without_sudo_is_told_in_one_line_what_is_missing(bare: Path) -> None:
    assert ran(bare, "root", "chown -R plain:plain /home/tacet").returncode == 0
    for target in sorted(set(helped()) - {"help", "klog", "report", "clean", "abi"}):
        done = ran(bare, "plain", f"make {target}")
        lines = [line for line in done.stdout.splitlines() if not line.startswith("make: ***")]
        assert done.returncode == 2 and len(lines) == 1, (target, done.stdout)
        assert re.match(r"ports/deps.sh: missing Debian packages; as root: apt-get .* install .*", lines[0])
    done = ran(bare, "plain", "libc/tacet-cc -c a.c")
    assert done.returncode == 1 and "missing Debian packages" in done.stdout, done.stdout


# ---- Interrupts ----


def interrupted_at(machine: Path, command: str, words: str) -> tuple[int, str]:
    """Types Ctrl-C on a terminal when these words have come: the status, and all that came."""
    pid, terminal = pty.fork()
    if pid == 0:
        inside = entered(machine, "root", f"stty cols 200; {command}")
        os.execvp(inside[0], inside)
    said, typed, begun = "", False, time.monotonic()
    while time.monotonic() - begun < HANGS_S:
        if not select.select([terminal], [], [], 1.0)[0]:
            continue
        try:
            chunk = os.read(terminal, 1 << 16)
        except OSError:  # its other side is closed
            break
        if not chunk:
            break
        said += chunk.decode(errors="replace")
        if not typed and re.search(words, said):
            typed = True
            os.write(terminal, b"\x03")
    else:
        os.kill(pid, signal.SIGKILL)
    os.close(terminal)
    assert typed, said[-6000:]
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said


@pytest.mark.long
@pytest.mark.limit(cpu=HANGS_S, wall=4 * HANGS_S)
def test_make_run_can_be_interrupted_anywhere_and_goes_on_from_there(bare: Path) -> None:
    """Ctrl-C while packages come, are unpacked, while it builds and while a machine runs: its children end,
    and in the end it works."""
    for words in (
        r"APT .* downloading",
        r"APT .* [4-9]\d %",
        r"table in about \d+ s: (cc|as|nasm) ",
        r"installing QEMU",
        r"FTQ on Linux … \d+ s",
    ):
        status, said = interrupted_at(bare, "make run", words)
        assert status != 0 and "left running" not in said, (words, status, said[-3000:])
    done = ran(bare, "root", "make run")
    assert done.returncode == 0 and re.search(CASES["make run"], done.stdout), done.stdout[-6000:]
    assert "left running" not in done.stdout
