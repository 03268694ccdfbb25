# SPDX-License-Identifier: BSD-2-Clause
"""tacet-mpirun on this machine: ranks that speak PMI over the connection that it gives them, ranks that do
not speak it at all, how a job ends, and that nothing of it is left then."""

from __future__ import annotations

import os
import pty
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import waiting
from tests.making import ROOT, made
from tests.tacetrun import hears_all

MPIRUN = ROOT / "build/service/tacet-mpirun"
PATIENCE_S = 120

#: What each client below begins with: a rank's side of PMI-1.
CLIENT = """
import os, signal, socket, sys, time
rank, size = int(os.environ["PMI_RANK"]), int(os.environ["PMI_SIZE"])
wire = socket.socket(fileno=int(os.environ["PMI_FD"]))
lines = wire.makefile("r")
def ask(line):
    wire.sendall((line + "\\n").encode())
    answer = lines.readline()
    if not answer:
        sys.exit("the launcher has closed the connection")
    return dict(word.split("=", 1) for word in answer.split())
def begin():
    said = ask("cmd=init pmi_version=1 pmi_subversion=1")
    assert said["rc"] == "0", said
    return ask("cmd=get_my_kvsname")["kvsname"]
def finalize():
    assert ask("cmd=finalize")["rc"] == "0"
"""


@pytest.fixture(scope="module", autouse=True)
def build() -> None:
    made("service")


@pytest.fixture
def mark() -> Iterator[str]:
    """A word for the environment of a job's processes, none of which may be left."""
    word = f"TACET_MARK={uuid.uuid4().hex}"
    yield word
    left = marked(word)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left, f"processes {left} are left"


def marked(word: str) -> list[int]:
    """Those that have the word in their environment; zombies have none."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            pass
    return found


def until(condition: Callable[[], object], what: str) -> None:
    waiting.until(condition, what, PATIENCE_S)


def ran(*words: object, text: str | None = None, **more: object) -> subprocess.CompletedProcess[str]:
    where = {"stdin": subprocess.DEVNULL} if text is None else {"input": text}
    return subprocess.run(
        [str(MPIRUN), *map(str, words)], capture_output=True, text=True, timeout=PATIENCE_S, **where, **more
    )  # fmt: skip


@contextmanager
def job_of(*words: str | Path, **streams: Any) -> Iterator[subprocess.Popen[str]]:
    """tacet-mpirun, to talk to; it is killed where a test fails before its end."""
    streams = {"stdout": subprocess.PIPE, "preexec_fn": hears_all, **streams}
    with subprocess.Popen([MPIRUN, *words], text=True, **streams) as job:
        try:
            yield job
        except BaseException:
            job.kill()
            raise


def client(body: str) -> list[str]:
    return [sys.executable, "-c", CLIENT + body]


# ---- Programs that know nothing of PMI ----


def test_a_program_that_is_not_mpi_runs_so_many_times() -> None:
    done = ran("-n", 3, "sh", "-c", "echo $PMI_RANK of $PMI_SIZE")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.splitlines()) == ["0 of 3", "1 of 3", "2 of 3"]


def test_without_a_number_there_is_a_rank_on_each_cpu() -> None:
    done = ran("sh", "-c", "echo $PMI_SIZE")
    count = len(os.sched_getaffinity(0))
    assert done.stdout.split() == [str(count)] * count


@pytest.mark.parametrize("option", ["--bind", "--no-bind"])
def test_ranks_are_bound_in_turn_or_not_at_all(option: str) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    count = len(cpus) + 1
    done = ran("-n", count, option, sys.executable, "-c", "import os; print(sorted(os.sched_getaffinity(0)))")
    found = [eval(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and len(found) == count
    if option == "--bind":
        assert all(len(own) == 1 for own in found) and sorted({own[0] for own in found}) == cpus
    else:
        assert found == [cpus] * count


def test_programs_parted_by_colons_are_one_job() -> None:
    tells = "echo $WHO $PMI_RANK of $PMI_SIZE"
    done = ran("-n", 2, "-e", "WHO=a", "sh", "-c", tells, ":", "-e", "WHO=b", "sh", "-c", tells)
    assert done.returncode == 0
    assert sorted(done.stdout.splitlines()) == ["a 0 of 3", "a 1 of 3", "b 2 of 3"]


def test_another_launchers_variables_do_not_reach_ranks() -> None:
    environment = {**os.environ, "PMI_PORT": "localhost:1", "PMI_ID": "7", "PMI_RANK": "7"}
    done = ran("-n", 1, "sh", "-c", "echo ${PMI_PORT-no} ${PMI_ID-no} $PMI_RANK", env=environment)
    assert done.stdout == "no no 0\n"


def test_a_rank_has_no_descriptors_but_its_own() -> None:
    done = ran("-n", 2, sys.executable, "-c", "import os; print(len(os.listdir('/proc/self/fd')))")
    assert done.stdout.split() == ["5", "5"]  # the standard ones, PMI's, and the folder's


# ---- Output and input ----


def test_no_line_is_cut_by_another_ranks(mark: str) -> None:
    line = "(os.environ['PMI_RANK'] * (i * 7 % 3000 + 1)).encode()"
    body = f"import os\nfor i in range(300): os.write(1, {line});"
    done = ran("-e", mark, "-n", 4, sys.executable, "-c", body + " os.write(1, b'\\n')")
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) == 1200
    assert all(len(set(line)) == 1 for line in lines)
    for rank in "0123":
        assert [len(line) for line in lines if line[0] == rank] == [i * 7 % 3000 + 1 for i in range(300)]


def test_labels_name_the_rank_of_each_line_of_both_streams() -> None:
    done = ran("-l", "-n", 2, "sh", "-c", "echo out; echo err >&2; printf unfinished")
    assert sorted(done.stdout.splitlines()) == ["0: out", "0: unfinished", "1: out", "1: unfinished"]
    assert sorted(done.stderr.splitlines()) == ["0: err", "1: err"]


def test_a_line_that_is_longer_than_the_buffer_flows() -> None:
    done = ran("-n", 1, sys.executable, "-c", "print('x' * 1_000_000)")
    assert done.returncode == 0 and done.stdout == "x" * 1_000_000 + "\n"


def test_much_output_waits_for_a_slow_reader() -> None:
    body = "for i in range(100000): print('line', i)"
    with job_of("-n", "2", sys.executable, "-c", body, stdin=subprocess.DEVNULL) as job:
        assert job.stdout
        time.sleep(0.5)
        assert len(job.stdout.readlines()) == 200_000
        assert job.wait(PATIENCE_S) == 0


def is_full(stream: socket.socket) -> bool:
    """True if nothing more can be sent now; sends a byte otherwise."""
    try:
        stream.send(b"\n", socket.MSG_DONTWAIT)
    except BlockingIOError:
        return True
    return False


def test_a_socket_that_nobody_reads_holds_up_ranks_alone(mark: str) -> None:
    ours, theirs = socket.socketpair()
    words = ["-e", mark, "-n", "1", "yes", "x" * 1000]
    with ours, job_of(*words, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE) as job:
        waiting.until(lambda: is_full(theirs), "a full socket")
        theirs.close()
        job.send_signal(signal.SIGTERM)
        assert job.stderr and "the job ends" in job.stderr.readline()
        while ours.recv(1 << 16):
            pass
        assert job.wait(PATIENCE_S) == 143


def test_a_reader_that_leaves_ends_the_job(mark: str) -> None:
    with job_of("-e", mark, "-n", "2", "yes", stderr=subprocess.PIPE) as job:
        assert job.stdout and job.stderr and job.stdout.readline() == "y\n"
        job.stdout.close()
        assert "reader of standard output has closed it" in job.stderr.read()
        assert job.wait(PATIENCE_S) == 141


@pytest.mark.parametrize(("words", "reader"), [([], 0), (["--stdin", "2"], 2), (["--stdin", "none"], None)])
def test_one_rank_reads_the_standard_input(words: list[str], reader: int | None) -> None:
    text = "".join(f"line {i}\n" for i in range(20_000))
    done = ran("-n", 3, *words, "sh", "-c", "echo $PMI_RANK $(cat | wc -c)", text=text)
    expected = [f"{rank} {len(text) if rank == reader else 0}" for rank in range(3)]
    assert (done.returncode, sorted(done.stdout.splitlines())) == (0, expected)


@pytest.mark.parametrize("is_its_own", [True, False], ids=["its-own", "another-session-s"])
def test_the_terminals_input_comes_to_the_rank(is_its_own: bool) -> None:
    ours, theirs = pty.openpty()
    words = ["-n", "2", "sh", "-c", "while read word; do echo $PMI_RANK got $word; done"]

    def take() -> None:
        hears_all()
        if is_its_own:  # the first terminal that a session's leader opens
            os.close(os.open(os.ttyname(0), os.O_RDWR))

    with job_of(*words, stdin=theirs, start_new_session=True, preexec_fn=take) as job:
        os.close(theirs)
        assert job.stdout
        os.write(ours, b"one\n")
        assert job.stdout.readline() == "0 got one\n"
        os.write(ours, b"two\n\x04")
        assert job.stdout.read() == "0 got two\n"
        assert job.wait(PATIENCE_S) == 0
    os.close(ours)


# ---- PMI ----


def test_ranks_put_wait_and_get() -> None:
    body = """
store = begin()
maxes = {"cmd": "maxes", "kvsname_max": "256", "keylen_max": "64", "vallen_max": "1024"}
assert ask("cmd=get_maxes") == maxes
assert ask("cmd=get_universe_size")["size"] == str(size)
assert ask("cmd=get_appnum")["appnum"] == os.environ["APP"]
assert ask(f"cmd=put kvsname={store} key=card-{rank} value=is-{rank}")["rc"] == "0"
for _ in range(20):
    assert ask("cmd=barrier_in") == {"cmd": "barrier_out"}
for other in range(size):
    assert ask(f"cmd=get kvsname={store} key=card-{other}")["value"] == f"is-{other}"
print(ask(f"cmd=get kvsname={store} key=PMI_process_mapping")["value"])
finalize()
"""
    done = ran("-n", 3, "-e", "APP=0", *client(body), ":", "-e", "APP=1", "--nodes", 3, *client(body))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["(vector,(0,1,2),(1,2,1))"] * 4


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("garbage", "cmd=COMMAND"),
        ("cmd=garbage", "no such command"),
        ("cmd=put key=a value=b", "kvsname= is missing"),
        ("cmd=initack pmiid=0", "no such command"),
        ("cmd=init pmi_version=1 pmi_subversion=1", "init was sent twice"),
        ("cmd=barrier_in\\ncmd=get_maxes", "during a barrier"),
        ("cmd=finalize\\ncmd=get_maxes", "after finalize"),
        ("cmd=\\033[31m", "cmd=?[31m: PMI-1 has no such command"),
        pytest.param("cmd=get " + "x" * 5000, "line is too long", id="long"),
    ],
)
def test_a_rank_that_speaks_pmi_wrongly_is_named_and_ends_the_job(mark: str, line: str, said: str) -> None:
    body = f"begin()\nif rank == 1: wire.sendall(b'{line}\\n')\ntime.sleep(1000)"
    done = ran("-e", mark, "-n", 2, *client(body))
    assert done.returncode == 1
    assert re.search(r"rank 1 \(process \d+\) violates the PMI protocol", done.stderr) and said in done.stderr


def test_a_request_before_init_is_refused() -> None:
    done = ran("-n", 1, *client("ask('cmd=get_maxes')"))
    assert done.returncode == 1 and "before init" in done.stderr


def test_what_is_not_offered_is_answered_so() -> None:
    body = "begin()\nsaid = ask('cmd=lookup_name service=a')\nassert said['rc'] == '-1', said\nfinalize()"
    assert ran("-n", 1, *client(body)).returncode == 0


def test_a_key_that_is_put_twice_is_refused_and_named() -> None:
    body = """
store = begin()
assert ask(f"cmd=put kvsname={store} key=a value=b")["rc"] == "0"
assert ask(f"cmd=put kvsname={store} key=a value=c")["rc"] == "-1"
finalize()
"""
    done = ran("-n", 1, *client(body))
    assert done.returncode == 0 and "rank 0: PMI put failed: key=a" in done.stderr


# ---- Ends ----


def test_a_rank_that_a_signal_kills_ends_the_job_and_is_named(mark: str) -> None:
    body = "begin()\nif rank == 1: os.kill(os.getpid(), signal.SIGSEGV)\nask('cmd=barrier_in')"
    done = ran("-e", mark, "-n", 3, *client(body))
    assert done.returncode == 128 + signal.SIGSEGV
    assert re.search(
        r"rank 1 \(process \d+\) was killed by signal 11 \(Segmentation fault\); the job ends", done.stderr
    )


def test_a_bad_exit_status_ends_the_job(mark: str) -> None:
    done = ran("-e", mark, "-n", 3, "sh", "-c", "[ $PMI_RANK = 2 ] && exit 33; sleep 1000")
    assert done.returncode == 33
    assert re.search(r"rank 2 \(process \d+\) has ended with exit status 33", done.stderr)


def test_abort_ends_the_job_with_its_code(mark: str) -> None:
    abort = "wire.sendall(b'cmd=abort exitcode=42\\n'); sys.exit(42)"
    body = f"begin()\nif rank == 1:\n  {abort}\nask('cmd=barrier_in')"
    done = ran("-e", mark, "-n", 3, *client(body))
    assert done.returncode == 42 and "rank 1 aborts the job with exit code 42" in done.stderr


def test_an_end_without_finalize_ends_the_job(mark: str) -> None:
    done = ran("-e", mark, "-n", 2, *client("begin()\nif rank == 0: sys.exit(0)\nask('cmd=barrier_in')"))
    assert done.returncode == 1
    assert re.search(r"rank 0 \(process \d+\) has ended without MPI_Finalize", done.stderr)


def test_finalize_may_be_the_last_word() -> None:
    body = "begin()\nwire.sendall(b'cmd=finalize\\n')\nos._exit(0)"
    for _ in range(10):
        done = ran("-n", 4, *client(body))
        assert (done.returncode, done.stderr) == (0, "")


def test_a_rank_that_never_begins_is_not_waited_for(mark: str) -> None:
    done = ran("-e", mark, "-n", 2, *client("if rank: sys.exit(0)\nbegin()\nask('cmd=barrier_in')"))
    assert done.returncode == 1
    assert "rank 1 has ended without MPI_Init, and 1 others wait for it" in done.stderr


def test_ranks_that_do_not_listen_to_signals_are_killed_with_their_children(mark: str) -> None:
    deaf = "trap '' TERM; (trap '' TERM; setsid sleep 1000 & sleep 1000) & sleep 1000 & wait; sleep 1000"
    done = ran("-e", mark, "-n", 3, "sh", "-c", f"[ $PMI_RANK = 0 ] && sleep 0.5 && exit 5; {deaf}")
    assert done.returncode == 5


def test_what_ranks_leave_ends_with_the_job(mark: str) -> None:
    done = ran("-e", mark, "-n", 2, "sh", "-c", "setsid sleep 1000 & echo done")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\ndone\n", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_passed_on_and_ends_the_job(mark: str, number: signal.Signals) -> None:
    rank = f"trap 'echo has it; exit 3' {number.name[3:]}; echo ready; while :; do sleep 0.1; done"
    with job_of("-e", mark, "-n", "3", "sh", "-c", rank, stderr=subprocess.PIPE) as job:
        assert job.stdout
        assert [job.stdout.readline() for _ in range(3)] == ["ready\n"] * 3
        job.send_signal(number)
        out, err = job.communicate(timeout=PATIENCE_S)
        assert job.returncode == 128 + number and "the job ends" in err
        assert out == "has it\n" * 3


def test_a_second_interrupt_kills_at_once(mark: str) -> None:
    stubborn = "trap '' INT TERM; echo ready; while :; do sleep 0.1; done"
    with job_of("-e", mark, "-n", "2", "sh", "-c", stubborn, stderr=subprocess.PIPE) as job:
        assert job.stdout
        assert [job.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
        for _ in range(2):
            job.send_signal(signal.SIGINT)
            time.sleep(0.2)
        job.communicate(timeout=PATIENCE_S)
        assert job.returncode == 130


def test_ranks_die_with_a_launcher_that_is_killed(mark: str) -> None:
    rank = "print('ready', flush=True); input()"
    with job_of("-e", mark, "-n", "2", sys.executable, "-c", rank, "--", stdin=subprocess.PIPE) as job:
        assert job.stdout and job.stdout.readline() == "ready\n"
        job.kill()
    until(lambda: not marked(mark), "ranks outlive tacet-mpirun")


def test_a_timeout_ends_the_job(mark: str) -> None:
    done = ran("-e", mark, "--timeout", 1, "-n", 2, "sleep", 1000)
    assert done.returncode == 124 and "1 s has passed (--timeout)" in done.stderr


def test_ranks_of_several_nodes_are_told_that_they_share_cpus() -> None:
    """What waits gives its CPU to others then, unless the caller says otherwise."""
    cpus = len(os.sched_getaffinity(0))
    echo = ["sh", "-c", "echo ${TACET_MPI_SPIN_US-none}"]
    for words, said in (
        (["-n", cpus + 1, "--nodes", 2], "20"),
        (["-n", cpus + 1, "--nodes", 2, "-e", "TACET_MPI_SPIN_US=7"], "7"),
        (["-n", cpus + 1], "none"),
        (["-n", 1, "--nodes", 1], "none"),
    ):
        done = ran(*words, *echo)
        assert set(done.stdout.split()) == {said}, done


# ---- Words and programs that are wrong ----


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "the program to run is missing"),
        (["-n", "0", "x"], "-n 0: not a number from 1 to 1024"),
        (["-n", "1025", "x"], "-n 1025: not a number from 1 to 1024"),
        (["-np", "99999999999999999999", "x"], "not a number from"),
        (["-np", "-1", "x"], "-n -1: not a number from"),
        (["-n", "many", "x"], "-n many: not a number from"),
        (["-n"], "-n: needs a value (tacet-mpirun --help)"),
        (["--unknown", "x"], "--unknown: no such option (tacet-mpirun --help)"),
        (["-no", "x"], "-no: ambiguous"),
        (["-label=yes", "x"], "-label=yes: it takes no value"),
        (["-e", "A", "x"], "-e A: expected NAME=VALUE"),
        (["-e", "=A", "x"], "expected NAME=VALUE"),
        (["-e", "PMI_FD=3", "x"], "sets each rank's PMI_FD"),
        (["-n", "2", "--nodes", "3", "x"], "--nodes 3: each node has at least one rank"),
        (["--nodes", "0", "x"], "--nodes 0: not a number from"),
        (["-n", "2", "--stdin", "2", "x"], "--stdin 2: ranks are 0 to 1"),
        (["--stdin", "all", "x"], "--stdin all: not a number from"),
        (["--timeout", "1h", "x"], "--timeout 1h: not a number from"),
        (["--timeout", "0", "x"], "--timeout 0: not a number from"),
        (["-n", "600", "x", ":", "-n", "600", "x"], "too many ranks"),
        (["x", ":"], "program 2 is missing: ':'"),
        (["-n", "1", ""], "the program's name is empty"),
    ],
)
def test_wrong_words_are_named_with_what_would_be_right(words: list[str], said: str) -> None:
    done = ran(*words)
    assert done.returncode == 2 and said in done.stderr and done.stdout == ""


def test_a_program_that_cannot_be_started_is_named(tmp_path: Path, mark: str) -> None:
    (tmp_path / "data").write_text("no program")
    (tmp_path / "odd").write_text("neither ELF nor a script")
    (tmp_path / "odd").chmod(0o755)
    for name, status, said in (
        ("./missing", 127, "./missing cannot be started: No such file or directory"),
        ("missing-everywhere", 127, "missing-everywhere cannot be started: No such file"),
        ("odd", 127, "write ./odd"),
        ("./data", 126, "./data cannot be started: Permission denied"),
        ("./odd", 126, "./odd cannot be started: Exec format error"),
        ("/", 126, "/ cannot be started: Is a directory"),
    ):
        done = ran("-e", mark, "-n", 1, "sleep", 1000, ":", "-n", 1, name, cwd=tmp_path)
        assert done.returncode == status and said in done.stderr


def test_too_few_descriptors_are_said_before_the_job_begins() -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    done = ran("-n", 100, "true", preexec_fn=limit)
    assert done.returncode == 125 and "100 ranks need 332 descriptors" in done.stderr


def test_help_and_version_are_there() -> None:
    done = ran("--help")
    assert done.returncode == 0 and "usage: tacet-mpirun" in done.stdout and done.stderr == ""
    assert "tacet-mpirun" in ran("--version").stdout


# ---- Another MPI's programs ----

MPI_PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int count, char **words)
{
    int rank, size;
    long sum, own;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (count > 1 && rank == 1 && strcmp(words[1], "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (count > 1 && rank == 1)
        _Exit(0);
    own = rank + 1;
    MPI_Allreduce(&own, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d of %d: sum %ld\n", rank, size, sum);
    MPI_Finalize();
    return 0;
}
"""


@pytest.fixture(scope="module")
def mpi_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("mpicc.mpich"):
        pytest.skip("no mpicc.mpich here (Debian: libmpich-dev, mpich)")
    folder = tmp_path_factory.mktemp("mpi")
    (folder / "sum.c").write_text(MPI_PROGRAM)
    subprocess.run(["mpicc.mpich", "-o", folder / "sum", folder / "sum.c"], check=True)
    return folder / "sum"


@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_programs_with_mpich_run(mpi_program: Path, nodes: int) -> None:
    done = ran("-n", 4, "--nodes", nodes, mpi_program)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"rank {rank} of 4: sum 10" for rank in range(4)]


def test_mpichs_abort_and_early_end_end_the_job(mpi_program: Path, mark: str) -> None:
    done = ran("-e", mark, "-n", 4, mpi_program, "abort")
    assert done.returncode == 7 and "rank 1 aborts the job with exit code 7" in done.stderr
    done = ran("-e", mark, "-n", 4, mpi_program, "leave")
    assert done.returncode == 1 and "has ended without MPI_Finalize" in done.stderr
