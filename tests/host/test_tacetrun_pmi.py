# SPDX-License-Identifier: BSD-2-Clause
"""What tacetrun says to ranks that speak PMI, and to people whose words are wrong."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.launch_node import PATIENCE_S, Job, processes
from tests.making import made
from tests.tacetrun import (
    TACETRUN,
    PmiClient,
    Run,
    environment,
    names_of,
    nodes_of,
    ran,
    streams_then,
    until_killed,
)


@pytest.fixture(scope="module", autouse=True)
def build() -> None:
    made("service")


# ---- PMI ----


def in_pmi(body: Callable[[PmiClient, int], None], status: int = 0) -> Run:
    """Each rank of the node is a thread that speaks PMI."""

    def run(job: Job) -> None:
        streams = [job.stream(rank, which) for rank in job.ranks for which in ("out", "err")]
        job.say("started")
        failures = []

        def rank_run(rank: int) -> None:
            try:
                with PmiClient(job, rank) as client:
                    body(client, rank)
            except BaseException as failure:
                failures.append(failure)

        threads = [threading.Thread(target=rank_run, args=(rank,)) for rank in job.ranks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for stream in streams:
            stream.close()
        job.end(status)
        if failures:
            raise failures[0]

    return run


def test_ranks_find_each_other_by_pmi() -> None:
    def body(client: PmiClient, rank: int) -> None:
        assert client.exchange("cmd=get_maxes") == {
            "cmd": "maxes", "kvsname_max": "256", "keylen_max": "64", "vallen_max": "1024",
        }  # fmt: skip
        assert client.exchange("cmd=get_appnum") == {"cmd": "appnum", "appnum": "0"}
        assert client.exchange("cmd=get_universe_size") == {"cmd": "universe_size", "size": "7"}
        assert client.put(f"card-{rank}", f"tcp://10.0.0.{rank}")["rc"] == "0"
        for _ in range(20):
            assert client.exchange("cmd=barrier_in") == {"cmd": "barrier_out"}
        for other in range(client.size):
            assert client.get(f"card-{other}")["value"] == f"tcp://10.0.0.{other}"
        assert client.get("PMI_process_mapping")["value"] == "(vector,(0,1,3),(1,2,2))"
        found, index = {}, "0"
        while (said := client.exchange(f"cmd=getbyidx kvsname={client.store} idx={index}"))["rc"] == "0":
            found[said["key"]], index = said["val"], said["nextidx"]
        assert len(found) == 8 and said["reason"] == "no_more_keyvals"
        client.finalize()

    with nodes_of(*[in_pmi(body)] * 3) as nodes:
        done = ran(nodes, "-n", 7, "/bin/x")
        assert (done.returncode, done.stderr) == (0, "")


def test_pmi_refuses_what_it_does_not_offer_and_goes_on() -> None:
    def body(client: PmiClient, rank: int) -> None:
        assert client.put("key", "value")["rc"] == "0"
        again = client.put("key", "other")
        assert again["rc"] == "-1" and "already" in again["msg"]
        assert client.put("k" * 64, "v")["rc"] == "-1" and client.put("k" * 63, "v")["rc"] == "0"
        assert client.put("long", "v" * 1024)["rc"] == "-1" and client.put("long", "v" * 1023)["rc"] == "0"
        assert client.put("empty", "")["rc"] == "0" and client.get("empty")["value"] == ""
        assert client.get("other")["rc"] == "-1"
        assert client.exchange("cmd=get kvsname=elsewhere key=key")["rc"] == "-1"
        assert client.exchange("cmd=put kvsname=elsewhere key=a value=b")["rc"] == "-1"
        for request, answer in (
            ("cmd=publish_name service=a port=b", "publish_result"),
            ("cmd=unpublish_name service=a", "unpublish_result"),
            ("cmd=lookup_name service=a", "lookup_result"),
            ("cmd=create_kvs", "newkvs"),
            ("cmd=destroy_kvs kvsname=a", "kvs_destroyed"),
            ("mcmd=spawn\nnprocs=1\nexecname=/bin/x\narg1=without = sense\nendcmd", "spawn_result"),
        ):
            said = client.exchange(request)
            assert (said["cmd"], said["rc"]) == (answer, "-1")
        client.finalize()

    with nodes_of(in_pmi(body)) as nodes:
        done = ran(nodes, "/bin/x")
        assert done.returncode == 0 and "PMI put failed: key=key: already put" in done.stderr


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("garbage", "cmd=COMMAND"),
        ("cmd=garbage", "no such command"),
        ("cmd=put key=a value=b", "kvsname= is missing"),
        ("cmd=put kvsname=a value=b", "key= is missing"),
        ("cmd=put kvsname=a key=b", "value= is missing"),
        ("cmd=get kvsname=a", "key= is missing"),
        ("cmd=getbyidx kvsname=a idx=99999999999999999999", "not a number from"),
        ("cmd=initack pmiid=0", "no such command"),
        ("cmd=init pmi_version=1 pmi_subversion=1", "init was sent twice"),
        ("cmd=barrier_in\ncmd=get_maxes", "during a barrier"),
        pytest.param("cmd=get " + "x" * 5000, "line is too long", id="long"),
    ],
)
def test_a_rank_that_speaks_pmi_wrongly_is_named_and_ends_the_job(line: str, said: str) -> None:
    def wrong(client: PmiClient, rank: int) -> None:
        client.send(line + "\n")
        try:
            while client.lines.readline():
                pass
        except ConnectionError:
            pass

    with nodes_of(in_pmi(wrong, status=9), until_killed) as nodes:
        done = ran(nodes, "/bin/x")
        assert done.returncode == 9
        assert f"rank 0 on {nodes[0].address} violates the PMI" in done.stderr and said in done.stderr


def test_another_version_of_pmi_is_refused() -> None:
    def run(job: Job) -> None:
        with job.stream(0, "out"), job.stream(0, "err"):
            job.say("started")
            with job.stream(0, "pmi") as client, client.makefile("rb") as lines:
                client.sendall(b"cmd=init pmi_version=2 pmi_subversion=0\n")
                assert lines.readline().split()[-1] == b"rc=-1"
        job.end()

    with nodes_of(run) as nodes:
        assert ran(nodes, "/bin/x").returncode == 0


def test_abort_ends_all_ranks_with_its_exit_code() -> None:
    def body(client: PmiClient, rank: int) -> None:
        client.send("cmd=abort exitcode=42\n")

    with nodes_of(in_pmi(body, status=42), until_killed) as nodes:
        done = ran(nodes, "/bin/x")
        assert done.returncode == 42 and f"rank 0 on {nodes[0].address} aborts the job" in done.stderr


def test_a_rank_that_dies_in_pmi_ends_those_that_wait_for_it() -> None:
    def dies(client: PmiClient, rank: int) -> None:
        pass

    def waits(client: PmiClient, rank: int) -> None:
        with pytest.raises((EOFError, ConnectionError)):
            client.exchange("cmd=barrier_in")

    def run(job: Job) -> None:
        streams = [job.stream(1, which) for which in ("out", "err")]
        job.say("started")
        with PmiClient(job, 1) as client:
            client.send("cmd=barrier_in\n")
            assert job.wait_for_kill()
        for stream in streams:
            stream.close()
        job.end(137)

    with nodes_of(in_pmi(dies, status=139), run) as nodes:
        done = ran(nodes, "/bin/x")
        assert done.returncode == 139 and "has ended before PMI's finalize" in done.stderr


@pytest.mark.parametrize("status", [0, 3])
def test_a_rank_that_ends_before_pmi_ends_those_that_wait_for_it(status: int) -> None:
    def run(job: Job) -> None:
        with job.stream(0, "out"), job.stream(0, "err"), PmiClient(job, 0) as client:
            job.say("started")
            client.send("cmd=barrier_in\n")
            assert job.wait_for_kill()
        job.end(137)

    with nodes_of(run, streams_then("started", f"rank 1 {status}", f"end {status}")) as nodes:
        done = ran(nodes, "/bin/x")
        assert done.returncode == (status or 1)
        assert (
            f"rank 1 on {nodes[1].address} has ended without MPI_Init, and 1 others wait for it"
            in done.stderr
        )


MPI_PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
int main(int count, char **words)
{
    int rank, size, right;
    long sum, own;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (count > 1 && rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 7);
    own = rank + 1;
    MPI_Allreduce(&own, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + size - 1) % size, 0, &right, 1, MPI_INT, (rank + 1) % size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("rank %d of %d: sum %ld, right %d\n", rank, size, sum, right);
    MPI_Finalize();
    return 0;
}
"""


@pytest.fixture(scope="module")
def mpi_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("mpicc.mpich"):
        pytest.skip("no mpicc.mpich here (Debian: libmpich-dev, mpich)")
    folder = tmp_path_factory.mktemp("mpi")
    (folder / "ring.c").write_text(MPI_PROGRAM)
    subprocess.run(["mpicc.mpich", "-o", folder / "ring", folder / "ring.c"], check=True)
    return folder / "ring"


def test_programs_with_mpich_run_over_nodes(mpi_program: Path) -> None:
    with nodes_of(processes, processes) as nodes:
        done = ran(nodes, "-n", 4, mpi_program)
        expected = [f"rank {r} of 4: sum 10, right {(r + 1) % 4}" for r in range(4)]
        assert (done.returncode, sorted(done.stdout.splitlines())) == (0, expected), done.stderr
        done = ran(nodes, "-n", 4, mpi_program, "abort")
        assert done.returncode == 7 and "aborts the job with exit code 7" in done.stderr


# ---- Command lines ----


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "the program to run is missing"),
        (["ftq"], "ftq: nodes do not search for programs: give its path on the nodes, as /mnt/ftq"),
        (["--bcast", "ftq"], "write ./ftq"),
        (["/mnt/"], "is a folder"),
        (["-N", "0", "/bin/x"], "-N 0: not a number from 1 to"),
        (["-N", "-1", "/bin/x"], "-N -1: not a number from"),
        (["-n", "many", "/bin/x"], "-n many: not a number from"),
        (["-n", "99999999999999999999", "/bin/x"], "not a number from"),
        (["-c", "0", "/bin/x"], "-c 0"),
        (["-N", "4", "-n", "3", "/bin/x"], "each node runs at least one rank"),
        (["-t", "1h", "/bin/x"], "-t 1h: not a number from"),
        (["-W", "0", "/bin/x"], "-W 0: not a number from"),
        (["--within", "0", "/bin/x"], "--within 0"),
        (["--silence", "x", "/bin/x"], "--silence x"),
        (["--port", "65536", "/bin/x"], "--port 65536"),
        (["--env", "A", "/bin/x"], "--env A: expected NAME=VALUE"),
        (["--env", "=A", "/bin/x"], "expected NAME=VALUE"),
        (["--env", "PMI_FD=4", "/bin/x"], "--env PMI_FD=4: each rank has a PMI_FD of its own"),
        (["-D", "here", "/bin/x"], "expected an absolute path"),
        (["-i", "all", "/bin/x"], "-i all: not a number from"),
        (["-n", "2", "-i", "2", "/bin/x"], "ranks are 0 to 1"),
        (["--unknown", "/bin/x"], "--unknown: no such option (tacetrun --help)"),
        (["-lx", "/bin/x"], "-x: no such option"),
        (["-n"], "-n: needs a value (tacetrun --help)"),
        (["--label=x", "/bin/x"], "--label=x: it takes no value"),
        (["--cpus=0", "/bin/x"], "-c 0: not a number from"),
        (["--no", "1", "/bin/x"], "--no: ambiguous"),
    ],
)
def test_wrong_words_are_named_with_what_would_be_right(words: list[str], said: str) -> None:
    done = ran(None, *words)
    assert done.returncode == 2 and said in done.stderr and done.stdout == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["/bin/x"], "name them with -w"),
        (["-w", ",", "/bin/x"], "-w names no node"),
        (["-w", "a:b", "/bin/x"], "the port is not a number"),
        (["-w", "a:0", "/bin/x"], "the port is not a number"),
        (["-w", ":1", "/bin/x"], "name has 1 to 127 characters"),
        (["-w", "n" * 128, "/bin/x"], "name has 1 to 127 characters"),
        (["-w", "127.0.0.1:9,127.0.0.1:9", "/bin/x"], "is named twice"),
        (["-w", "127.0.0.1:9", "-N", "2", "/bin/x"], "-N 2: there are only 1 nodes"),
        (["-w", "127.0.0.1:9", "--bcast", "./no-such-file"], "./no-such-file: No such file"),
        (["-w", "127.0.0.1:9", "--bcast", "/dev/null"], "not a regular file of 1 byte to 4 GiB"),
        (["-w", "127.0.0.1:9", "--key", "/no-such-key", "/bin/x"], "the key /no-such-key: No such file"),
        (
            ["-w", "127.0.0.1:9", "--conductor", "/no-such-socket", "/bin/x"],
            "no conductor at /no-such-socket",
        ),
    ],
)
def test_what_cannot_be_done_is_named(words: list[str], said: str) -> None:
    done = ran(None, *words)
    assert done.returncode == 125 and said in done.stderr and done.stdout == ""


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("0.0.0.0", 0)) as taken:
        port = taken.getsockname()[1]
        done = ran(None, "-w", "127.0.0.1:9", "--port", port, "/bin/x")
        assert done.returncode == 125 and f"port {port}: Address already in use" in done.stderr


def test_arguments_that_do_not_fit_into_a_request_are_refused() -> None:
    with nodes_of(processes) as nodes:
        done = ran(nodes, "/bin/x", *["a" * 70_000] * 2)
        assert done.returncode == 125 and "131072 bytes" in done.stderr
        done = ran(nodes, "/bin/x", *["a"] * 1024)
        assert done.returncode == 2 and "too many arguments" in done.stderr


def test_too_few_descriptors_are_said_before_the_job_begins() -> None:
    with nodes_of(processes) as nodes:
        done = subprocess.run(
            ["/bin/sh", "-c", f"ulimit -n 64; exec {TACETRUN} -w {names_of(nodes)} -n 100 /bin/x"],
            capture_output=True, text=True, env=environment(), timeout=PATIENCE_S, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 125 and "100 ranks need 333 descriptors" in done.stderr


def test_help_is_there() -> None:
    done = ran(None, "--help")
    assert done.returncode == 0 and "usage: tacetrun" in done.stdout and done.stderr == ""
