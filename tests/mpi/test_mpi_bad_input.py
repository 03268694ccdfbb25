# SPDX-License-Identifier: BSD-2-Clause
"""Errors are reported with their place, and end the job: ranks that die, errors without a handler, invalid
launch variables, connections from outside the job, too little shared memory, objects that a program has not
freed."""

from __future__ import annotations

import os
import re
import socket
import struct
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from tests.keys import MASTER, key_write
from tests.launchd import Daemon
from tests.making import ROOT, made

MPIRUN, TACETRUN = (ROOT / "build" / "service" / name for name in ("tacet-mpirun", "tacetrun"))
ENDS = ROOT / "build" / "mpi-lite" / "programs" / "glibc" / "ends"
#: Limit of a job in seconds: a rank that waits for a dead rank would wait for ever.
LIMIT_S = 300


@pytest.fixture(scope="module", autouse=True)
def build() -> None:
    made("build/mpi-lite/programs/glibc/ends", "service")


def ran(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )


# ---- Ranks that end ----


@pytest.mark.parametrize("nodes", [1, 3])
@pytest.mark.parametrize(
    ("how", "status", "why"),
    [
        ("kill", 128 + 9, "was killed by signal 9"),
        ("segfault", 128 + 11, "was killed by signal 11"),
        ("exit", 1, "has ended without MPI_Finalize"),
        ("status", 5, "5"),
        ("abort", 128 + 6, "was killed by signal 6"),
        ("negative", 255, "aborts the job with exit code -1"),
        ("self", 6, "aborts the job with exit code 6"),
        ("returned", 8, "has ended with exit status 8"),
        ("before", 3, "has ended with exit status 3"),
    ],
)
def test_a_rank_that_dies_ends_the_job_and_is_named(how: str, status: int, why: str, nodes: int) -> None:
    done = ran(MPIRUN, "-n", 3, "--nodes", nodes, ENDS, how, "computes")
    assert done.returncode == status and "went on" not in done.stdout, done
    assert re.search(rf"^tacet-mpirun: rank 2 (\(process \d+\) )?.*{why}", done.stderr, re.MULTILINE), done


@pytest.mark.parametrize(("how", "status"), [("segfault", 128 + 11), ("status", 5)])
def test_the_status_is_that_of_the_rank_that_has_died_and_not_of_its_peers(how: str, status: int) -> None:
    """Those that send to it find a broken connection, perhaps before the launcher knows."""
    for _ in range(5):
        done = ran(MPIRUN, "-n", 4, "--nodes", 3, ENDS, how, "sends")
        assert done.returncode == status, done


@contextmanager
def launchds(count: int) -> Iterator[str]:
    """Linux nodes on this machine; yields their addresses."""
    with ExitStack() as stack:
        nodes = [stack.enter_context(closing(Daemon())).node for _ in range(count)]
        yield ",".join(f"{address}:{port}" for address, port in nodes)


@pytest.mark.parametrize(("how", "status"), [("segfault", 128 + 11), ("negative", 255), ("returned", 8)])
@pytest.mark.parametrize("others", ["computes", "sends"])
def test_a_rank_that_dies_ends_the_job_of_tacetrun(
    how: str, status: int, others: str, tmp_path: Path
) -> None:
    """Its ranks are children of a shell, which passes PMI's descriptor on."""
    script = ["/bin/sh", "-c", '"$0" "$@"; exit $?', ENDS, how, others]
    with launchds(2) as nodes:
        key = key_write(tmp_path / "key", MASTER.hex() + "\n")
        done = ran(TACETRUN, "--key", key, "-w", nodes, "-i", "none", *script)
        assert done.returncode == status and "went on" not in done.stdout, done
        assert "rank 1 on" in done.stderr, done


#: The errors of the last of two ranks, and the line that each prints.
FATAL = {
    "send": "MPI_Send: MPI_ERR_RANK: argument dest: 9 is no rank of a communicator of 2",
    "receive": "MPI_Recv: MPI_ERR_COUNT: argument 2, count: -1 is negative",
    "start": "MPI_Start: MPI_ERR_REQUEST: argument request: it is not persistent",
    "buffered": "MPI_Bsend: MPI_ERR_BUFFER: the attached buffer has 0 of 0 bytes free",
    "collective": "MPI_Bcast: MPI_ERR_ROOT: argument root: 7 is no rank of a communicator of 2",
    "operation": "MPI_Allreduce: MPI_ERR_OP: argument op: MPI_OP_NULL",
    "type": "MPI_Type_commit: MPI_ERR_TYPE: argument datatype: MPI_DATATYPE_NULL",
    "group": "MPI_Group_size: MPI_ERR_GROUP: argument group: MPI_GROUP_NULL",
    "comm": "MPI_Comm_size: MPI_ERR_COMM: argument comm: MPI_COMM_NULL",
    "topology": "MPI_Cartdim_get: MPI_ERR_TOPOLOGY: argument comm: it has no",
    "info": "MPI_Info_set: MPI_ERR_INFO: argument info: MPI_INFO_NULL",
    "memory": "MPI_Alloc_mem: MPI_ERR_NO_MEM: no memory for 1152921504606846976 bytes",
    "again": "MPI_Init_thread: MPI_ERR_OTHER: MPI is initialized already",
}


def test_ranks_of_several_nodes_share_no_window() -> None:
    done = ran(MPIRUN, "-n", 2, "--nodes", 2, ENDS, "shared")
    why = "MPI_Win_allocate_shared: MPI_ERR_RMA_SHARED: argument comm: rank 0 is on another node"
    assert f"mpi-lite: rank 1: {why}" in done.stderr, done


@pytest.mark.parametrize("how", FATAL)
def test_an_error_without_a_handler_names_rank_function_and_argument(how: str) -> None:
    done = ran(MPIRUN, "-n", 2, ENDS, how)
    assert f"mpi-lite: rank 1: {FATAL[how]}" in done.stderr, done
    assert done.returncode != 0 and "went on" not in done.stdout, done


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("early", "MPI_Comm_rank: MPI_ERR_OTHER: MPI is not initialized"),
        ("late", "MPI_Barrier: MPI_ERR_OTHER: MPI is finalized"),
    ],
)
def test_calls_before_and_after_mpi_are_named(how: str, why: str) -> None:
    done = ran(MPIRUN, "-n", 1, ENDS, how)
    assert done.returncode != 0 and f"mpi-lite: rank 0: {why}" in done.stderr, done


def test_what_is_left_at_finalize_is_named() -> None:
    done = ran(MPIRUN, "-n", 2, ENDS, "leak", TACET_MPI_DEBUG="1")
    assert done.returncode == 0, done
    assert sorted(done.stderr.splitlines()) == sorted(
        [
            "mpi-lite: rank 0: 1 message was not received",
            *(
                f"mpi-lite: rank 1: 1 {what} was not {how}"
                for what, how in (
                    ("request", "completed or freed"),
                    ("communicator", "freed"),
                    ("data type", "freed"),
                    ("operation", "freed"),
                    ("group", "freed"),
                    ("info object", "freed"),
                )
            ),
        ]
    )


# ---- Variables ----


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({"PMI_FD": "x", "PMI_RANK": "0", "PMI_SIZE": "1"}, "PMI_FD=x: the launcher sets it to a number"),
        ({"PMI_FD": "0", "PMI_RANK": "x", "PMI_SIZE": "1"}, "PMI_RANK=x: the launcher sets it to a number"),
        ({"PMI_FD": "0", "PMI_RANK": "-1", "PMI_SIZE": "1"}, "PMI_RANK=-1: the launcher"),
        ({"PMI_FD": "0", "PMI_RANK": "0"}, "PMI_SIZE=(not set): the launcher"),
        ({"PMI_FD": "0", "PMI_RANK": "0", "PMI_SIZE": "0"}, "rank 0 (PMI_RANK) of 0 (PMI_SIZE)"),
        ({"PMI_FD": "0", "PMI_RANK": "3", "PMI_SIZE": "2"}, "rank 3 (PMI_RANK) of 2 (PMI_SIZE)"),
        ({"PMI_FD": "77", "PMI_RANK": "0", "PMI_SIZE": "1"}, "PMI_FD=77 is not open here"),
        ({"PMI_PORT": "127.0.0.1:1", "PMI_ID": "0"}, "PMI_PORT=127.0.0.1:1: a launcher must pass PMI's"),
        ({"TACET_SIZE": "2", "TACET_RANK": "2"}, "rank 2 (TACET_RANK) of 2 (TACET_SIZE)"),
        ({"TACET_SIZE": "two", "TACET_RANK": "0"}, "TACET_SIZE=two: the launcher"),
        ({"TACET_MPI_EAGER": "large"}, "TACET_MPI_EAGER=large: it takes a number from 0"),
        ({"TACET_MPI_EAGER": "-1"}, "TACET_MPI_EAGER=-1: it takes a number from 0"),
        ({"TACET_MPI_SPIN_US": "1s"}, "TACET_MPI_SPIN_US=1s: it takes a number from 0"),
        ({"TACET_MPI_DEBUG": "2"}, "TACET_MPI_DEBUG=2: it takes a number from 0 to 1"),
        ({"TACET_MPI_PEER_READ": ""}, "TACET_MPI_PEER_READ=: it takes a number from 0 to 1"),
        ({"TACET_MPI_ADDRESS": "here"}, "TACET_MPI_ADDRESS=here: it takes an IPv4 address"),
    ],
)
def test_launch_variables_that_make_no_sense_are_named(variables: dict[str, str], why: str) -> None:
    done = ran(ENDS, **variables)
    assert done.returncode != 0 and not done.stdout, done
    assert "mpi-lite: rank 0: MPI_Init: MPI_ERR_OTHER: " in done.stderr or "mpi-lite: rank" in done.stderr
    assert why in done.stderr, done


def test_too_little_shared_memory_is_said_with_what_helps() -> None:
    script = 'mount -t tmpfs -o size=64k none /dev/shm && exec "$@"'
    words = ["unshare", "-rm", "sh", "-c", script, "sh", MPIRUN, "-n", "4", ENDS]
    if ran(*words[:4], "mount -t tmpfs none /dev/shm").returncode:
        pytest.skip("no mount namespaces here")
    done = ran(*words)
    assert done.returncode != 0 and "went on" not in done.stdout
    assert re.search(r"MPI_ERR_NO_MEM: shared memory of \d+ bytes, /dev/shm/", done.stderr), done
    assert "make /dev/shm larger, or start fewer ranks on a node" in done.stderr, done


# ---- Strangers ----


def listeners(word: str) -> list[int]:
    """The TCP ports at which processes that have the word in their environment listen."""
    inodes = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() not in (folder / "environ").read_bytes().split(b"\0"):
                continue
            targets = [os.readlink(one) for one in (folder / "fd").iterdir()]
        except OSError:
            continue
        inodes |= {target[8:-1] for target in targets if target.startswith("socket:[")}
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and row[9] in inodes]


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], list[int], Path]]:
    """A job of two ranks over TCP, of which the first waits; their ports; the file that ends it."""
    word, file = f"TACET_MARK={uuid.uuid4().hex}", tmp_path / "go"
    words = [MPIRUN, "-n", "2", "--nodes", "2", "-e", word, "-e", "TACET_MPI_SPIN_US=0", ENDS, "wait", file]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([str(one) for one in words], **pipes) as job:
        try:
            ports: list[int] = []
            while len(ports) < 2 and job.poll() is None:
                ports = listeners(word)
            yield job, ports, file
        finally:
            job.kill()


HELLO = "=QQii"
MAGIC = 0x31697061746D7074


def test_strangers_are_refused_and_the_job_goes_on(
    waiting: tuple[subprocess.Popen[str], list[int], Path],
) -> None:
    job, ports, file = waiting
    held = []

    def say(port: int, data: bytes, hold: bool = False) -> None:
        one = socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S)
        one.sendall(data)
        if hold:
            held.append(one)
        else:
            one.close()

    for port in ports:
        say(port, b"GET / HTTP/1.1\r\nHost: example\r\n\r\n")
        say(port, struct.pack(HELLO, MAGIC, 1, 0, 2))
        say(port, struct.pack(HELLO, MAGIC, 1, 7, 2) + b"\xff" * 100000)
        say(port, struct.pack(">QQii", MAGIC, 1, 0, 2))
        say(port, struct.pack("=Q", MAGIC), hold=True)
        for i in range(300):
            say(port, b"x" * (i % 30), hold=i % 3 == 0)
    file.touch()
    out, err = job.communicate(timeout=LIMIT_S)
    for one in held:
        one.close()
    assert job.returncode == 0 and sorted(out.splitlines()) == ["rank 0 went on", "rank 1 went on"], err
    for why in ("does not speak this protocol", "is of another job", "has the other byte order"):
        assert f"closed a connection made to it: it {why}" in err, err
    assert err.count("closed a connection") <= 32, "each rank names some"
