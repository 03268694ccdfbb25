# SPDX-License-Identifier: BSD-2-Clause
"""Nodes that wait for jobs (docs/jobs.md): tacetrun starts programs on them, one job after the other, and
nothing of a job is left for the next one."""

from __future__ import annotations

import re
import shutil
import signal
import struct
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import program, slowness
from nodes import other_machine
from waiting_nodes import LIMIT_S, PORT, TACETRUN, WAITS, Node, WaitingNodes

import qemu
from tests.keys import MASTER, key_write, node_lines
from tests.making import ROOT, made

JOBS = ROOT / "build/x86_64/tests/jobs.musl"
BUSYBOX = qemu.BUSYBOX
INTERRUPTED = 128 + signal.SIGINT
LOST = 125
pytestmark = pytest.mark.xdist_group("jobs")


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    made("service", str(JOBS.relative_to(ROOT)))


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WaitingNodes]:
    """Two nodes of two CPUs, for all tests that leave them as they were."""
    with WaitingNodes(tmp_path_factory.mktemp("jobs"), nodes=2, cpus=2, memory="128M") as nodes:
        yield nodes


def run(nodes: WaitingNodes, *words: str | Path, status: int = 0, **more: object) -> str:
    done = nodes.tacetrun(*words, **more)
    assert done.returncode == status, done
    return done.stdout


def test_ranks_know_who_they_are_and_have_the_environment_that_was_asked_for(pair: WaitingNodes) -> None:
    """Nothing else is in the output; blocks of ranks are in the order of the nodes."""
    said = run(pair, "-n", "3", "-l", "--bcast", "--env", "WORD=a b", BUSYBOX, "env").splitlines()
    found = {rank: dict(line.split(": ", 1)[1].split("=", 1) for line in said if line.startswith(f"{rank}:"))
             for rank in range(3)}  # fmt: skip
    for rank, local in ((0, 0), (1, 1), (2, 0)):
        assert found[rank] == {
            "WORD": "a b",
            "PMI_SIZE": "3",
            "PMI_FD": "3",
            "PMI_RANK": str(rank),
            "TACET_RANK": str(rank),
            "TACET_SIZE": "3",
            "TACET_LOCAL_RANK": str(local),
        }


def test_the_status_is_the_highest_and_says_whose_it_is(pair: WaitingNodes) -> None:
    done = pair.tacetrun("-n", "4", "--bcast", BUSYBOX, "sh", "-c", "exit $((TACET_RANK * 3))")
    assert done.returncode == 9
    for rank in (1, 2, 3):
        assert re.search(rf"rank {rank} .*status {3 * rank}\b", done.stderr), done.stderr


def test_input_reaches_the_first_rank_and_the_others_find_its_end(pair: WaitingNodes) -> None:
    text = "".join(f"line {i}\n" for i in range(20000))
    said = run(pair, "-n", "4", "-l", "--bcast", BUSYBOX, "md5sum", input=text).splitlines()
    sums = Counter(line.split(": ")[1].split()[0] for line in said)
    empty = "d41d8cd98f00b204e9800998ecf8427e"
    assert sums.pop(empty) == 3 and len(sums) == 1, said
    expected = subprocess.run(["md5sum"], input=text, capture_output=True, text=True).stdout.split()[0]
    assert list(sums) == [expected]


def test_a_flood_of_all_ranks_comes_out_whole_and_by_lines(pair: WaitingNodes) -> None:
    lines = 20000
    done = pair.start("-n", "4", "--bcast", JOBS, "flood", str(lines))
    assert done.stdout is not None
    next_number: Counter[int] = Counter()
    for line in done.stdout:
        rank, number, padded = line.split()
        assert int(number) == int(padded) == next_number[int(rank)], line
        next_number[int(rank)] += 1
    assert done.wait(LIMIT_S * slowness()) == 0
    assert next_number == {rank: lines for rank in range(4)}


def test_nothing_of_a_job_is_left_for_the_next_one(pair: WaitingNodes) -> None:
    """Each leaves dirty memory, files, names, ports and unread bytes; each finds zeros, no file, all ports
    free, and as much memory as the first job with as many ranks."""
    free: dict[tuple[str, str], set[str]] = {}
    for job in range(12):
        ranks = 2 + job % 3
        said = run(pair, "-n", str(ranks), "--bcast", JOBS, "leavings")
        for rank, size, bytes_free in re.findall(r"rank (\d+) of (\d+): (\d+ of \d+) free", said):
            free.setdefault((size, rank), set()).add(bytes_free)
    assert {size for size, _ in free} == {"2", "3", "4"}
    assert all(len(found) == 1 for found in free.values()), free
    assert not any(node.said("a bug of the kernel") for node in pair.nodes)


def test_ranks_find_each_other_by_pmi(pair: WaitingNodes) -> None:
    said = run(pair, "-n", "4", "--bcast", JOBS, "meet")
    assert sorted(re.findall(r"rank (\d) met rank (\d)", said)) == [
        ("0", "3"),
        ("1", "0"),
        ("2", "1"),
        ("3", "2"),
    ]


@pytest.mark.parametrize("mode", ["wait", "look"])
def test_an_interrupt_ends_all_ranks_and_the_nodes_take_the_next_job(mode: str, pair: WaitingNodes) -> None:
    """A rank that looks may receive, in its own call, what ends it, and it waits in none."""
    before = [node.said("ended with status") for node in pair.nodes]
    job = pair.start("-n", "4", "--bcast", JOBS, mode)
    assert job.stdout is not None and [job.stdout.readline() for _ in range(4)] == [f"{mode}s\n"] * 4
    job.send_signal(signal.SIGINT)
    assert job.wait(LIMIT_S * slowness()) == INTERRUPTED
    for node, count in zip(pair.nodes, before, strict=True):
        node.wait("ended with status", count + 1)
    assert run(pair, "-n", "2", "--bcast", BUSYBOX, "echo", "next") == "next\nnext\n"


def test_a_job_ends_with_the_tacetrun_that_was_killed(pair: WaitingNodes) -> None:
    before = [node.said("ended with status") for node in pair.nodes]
    job = pair.start("-n", "4", "--bcast", JOBS, "wait")
    assert job.stdout is not None and [job.stdout.readline() for _ in range(4)] == ["waits\n"] * 4
    job.kill()
    job.wait()
    for node, count in zip(pair.nodes, before, strict=True):
        node.wait("ended with status", count + 1)
    assert run(pair, "--bcast", BUSYBOX, "echo", "next") == "next\nnext\n"


def test_a_node_that_runs_a_job_says_so(pair: WaitingNodes) -> None:
    job = pair.start("--bcast", JOBS, "wait")
    try:
        assert job.stdout is not None and [job.stdout.readline() for _ in range(2)] == ["waits\n"] * 2
        for node in pair.nodes:  # alone, so that no other one's answer is enough
            done = pair.tacetrun("-w", node.address, "--bcast", BUSYBOX, "true")
            found = re.search(rf"{re.escape(node.address)}: busy with job (\d+) of root\n", done.stderr)
            assert done.returncode == LOST and found, done
            node.wait(f"job {found[1]}: 1 ranks of")
        waits = pair.start("--wait-for-nodes", "1000", "-i", "none", "--bcast", BUSYBOX, "echo", "waited")
        assert waits.stderr is not None and "waiting for idle nodes" in waits.stderr.readline()
    finally:
        job.send_signal(signal.SIGINT)
        job.wait(LIMIT_S * slowness())
    assert waits.communicate(timeout=LIMIT_S * slowness())[0] == "waited\n" * 2


#: Asks a node twice at once; prints what it says to the second one, after its greeting.
ASKS_TWICE = """
import socket, sys
visitors = [socket.create_connection((sys.argv[1], 35019)) for _ in range(2)]
answers = [visitor.makefile("rb") for visitor in visitors]
assert all(b" state=idle " in answer.readline() for answer in answers)
for visitor in visitors:
    visitor.sendall(b"launch 8 1 0 0 - 0 -\\n")
print(answers[1].read().decode(), end="")
"""


def test_one_of_two_that_ask_at_once_gets_the_node_and_the_other_is_told(pair: WaitingNodes) -> None:
    asks = ["/usr/bin/python3", "-c", ASKS_TWICE, pair.nodes[0].address]
    done = pair.space.run(asks, capture_output=True, text=True, timeout=60 * slowness())
    assert done.stdout == "refused busy: another job has begun here\n", done
    assert run(pair, "--bcast", BUSYBOX, "true") == ""


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("/none",), "path=/none: there is no such file"),
        (("/tmp",), "path=/tmp is not a file"),
        (("-n", "5", "--bcast", str(BUSYBOX)), r"3 ranks .* do not fit: this node has 2 CPUs"),
        (("-n", "2", "-c", "3", "--bcast", str(BUSYBOX)), r"1 ranks of 3 CPUs do not fit"),
        (("-D", "/none", "--bcast", str(BUSYBOX)), "cwd=/none: there is no such directory"),
        (("--bcast", "/bin/sh"), "dynamic|interpreter"),
        (("--bcast", "/etc/passwd"), "not an ELF file"),
    ],
)
def test_what_cannot_run_is_refused_with_the_reason(
    words: tuple[str, ...], reason: str, pair: WaitingNodes
) -> None:
    done = pair.tacetrun(*words)
    assert done.returncode == LOST, done
    assert re.search(reason, done.stderr), done.stderr
    assert run(pair, "--bcast", BUSYBOX, "echo", "next") == "next\nnext\n"


def test_a_program_for_another_machine_is_refused(pair: WaitingNodes, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    content = bytearray(JOBS.read_bytes())
    content[18:20] = (21).to_bytes(2, "little")  # e_machine: EM_PPC64
    foreign.write_bytes(content)
    done = pair.tacetrun("--bcast", foreign)
    assert done.returncode == LOST, done
    assert re.search(r"10\.99\.0\.1\d: .* a program for 64-bit PowerPC; this node is x86_64", done.stderr)
    assert run(pair, "--bcast", BUSYBOX, "echo", "next") == "next\nnext\n"


def test_a_program_that_is_too_large_is_refused(pair: WaitingNodes, tmp_path: Path) -> None:
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.write(JOBS.read_bytes())
        file.truncate(200 << 20)
    done = pair.tacetrun("--bcast", large)
    assert done.returncode == LOST and "no memory for a program" in done.stderr, done


def test_a_rank_that_does_not_fit_into_its_memory_is_refused_and_leaves_nothing(pair: WaitingNodes) -> None:
    """The program is sound, so that only ranks find out."""
    done = pair.tacetrun("-n", "4", "--bcast", program("huge.musl"))
    assert done.returncode == LOST and "does not fit into memory" in done.stderr, done
    assert run(pair, "-n", "4", "--bcast", BUSYBOX, "echo", "next") == "next\n" * 4
    assert not any(node.said("a bug of the kernel") for node in pair.nodes)


def test_a_node_that_dies_in_a_job_is_named(tmp_path: Path) -> None:
    """And the ranks of the other nodes are ended."""
    with WaitingNodes(tmp_path, nodes=2, memory="128M") as nodes:
        job = nodes.start("--silence", "3", "--bcast", JOBS, "wait")
        assert job.stdout is not None and [job.stdout.readline() for _ in range(2)] == ["waits\n"] * 2
        nodes.nodes[1].off()
        _, said = job.communicate(timeout=LIMIT_S * slowness())
        assert job.returncode == LOST and nodes.nodes[1].address in said, said
        nodes.nodes[0].wait("ended with status")


def test_a_node_that_boots_anew_in_a_job_is_named_and_takes_the_next_one(tmp_path: Path) -> None:
    """It knows nothing of the job, and says so when it is sent something."""
    with WaitingNodes(tmp_path, nodes=2, memory="128M") as nodes:
        job = nodes.start("--silence", "30", "--bcast", JOBS, "wait")
        assert job.stdout is not None and [job.stdout.readline() for _ in range(2)] == ["waits\n"] * 2
        nodes.nodes[1].reset()
        _, said = job.communicate(timeout=LIMIT_S * slowness())
        assert job.returncode == LOST, said
        assert f"{nodes.nodes[1].address}: connection reset" in said, said
        nodes.nodes[0].wait("ended with status")
        assert run(nodes, "--within", "60", "--bcast", BUSYBOX, "echo", "next") == "next\nnext\n"


def test_nodes_are_free_when_the_service_node_comes_back_after_a_power_failure(tmp_path: Path) -> None:
    """It ends without a word, and then knows of no connection: ranks that write to one are told."""
    service = "10.99.0.2/24"
    card = ["ip", "link", "set", "eth0", "address", "52:54:00:00:00:02"]
    with WaitingNodes(tmp_path, nodes=1, memory="128M") as nodes:
        words = nodes.words("-i", "none", "--bcast", JOBS, "steps", "1000000", "100000000")
        with other_machine(nodes.space, service) as inside:
            nodes.space.run([*inside, *card], check=True)
            job = nodes.space.popen([*inside, *words], stdout=subprocess.PIPE, text=True)
            assert job.stdout is not None and job.stdout.readline() == "rank 0 step 0\n"
            nodes.space.run(["ip", "link", "delete", "port"], check=True)
            job.kill()
            job.wait()
        assert not nodes.nodes[0].said("ended with status")
        with other_machine(nodes.space, service) as inside:
            nodes.space.run([*inside, *card], check=True)
            nodes.nodes[0].wait("ended with status")
            words = [*inside, *nodes.words("--bcast", BUSYBOX, "echo", "next")]
            done = nodes.space.run(words, capture_output=True, text=True, timeout=LIMIT_S * slowness())
            assert (done.returncode, done.stdout) == (0, "next\n"), done


def test_only_who_has_the_key_starts_jobs(tmp_path: Path) -> None:
    key = key_write(tmp_path / "key", MASTER.hex())
    ticket = node_lines("525400010001").split()[-1]
    with WaitingNodes(tmp_path, options=f"ticket_key={ticket}", memory="128M") as nodes:
        refused = nodes.tacetrun("--bcast", BUSYBOX, "true")
        assert refused.returncode == LOST and "ticket" in refused.stderr, refused
        key_of_others = key_write(tmp_path / "other", "ff112233445566778899aabbccddeeff")
        refused = nodes.tacetrun("--key", key_of_others, "--bcast", BUSYBOX, "true")
        assert refused.returncode == LOST and "ticket" in refused.stderr, refused
        assert run(nodes, "--key", key, "--bcast", BUSYBOX, "echo", "ours") == "ours\n"


#: What a tacetrun does that sends on while the node refuses: prints what the node says, and how it ends.
SENDS_ON = """
import socket, sys, time
node = socket.create_connection((sys.argv[1], 35019))
node.recv(512)
node.sendall(b"launch 8 1 0 0 - 0 0123456789abcdef\\n" + bytes(100))
said = node.recv(512)
for part in range(4):
    node.sendall(bytes(100_000))
    time.sleep(0.1)
node.shutdown(socket.SHUT_WR)
while more := node.recv(512):
    said += more
print(said.decode(), end="")
"""


def test_a_refusal_arrives_where_the_program_is_still_being_sent(pair: WaitingNodes) -> None:
    done = pair.space.run(
        ["/usr/bin/python3", "-c", SENDS_ON, pair.nodes[0].address],
        capture_output=True,
        text=True,
        timeout=60 * slowness(),
    )
    assert done.stdout.startswith("refused ") and not done.stderr, done
    assert run(pair, "--bcast", BUSYBOX, "true") == ""


#: A tacetrun that takes no streams, or resets each: prints the last word of each job.
TAKES_NO_STREAMS = """
import socket, struct, sys, threading
where, port, program = sys.argv[1], int(sys.argv[2]), open(sys.argv[3], "rb").read()
def reset():
    while True:
        stream = listener.accept()[0]
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        stream.close()
if not port:
    listener = socket.create_server(("", 0))
    port = listener.getsockname()[1]
    threading.Thread(target=reset, daemon=True).start()
words = ["job=1", "ranks=2", f"port={port}", "secret=0123456789abcdef", "path=x", "arg=x"]
request = b"".join(word.encode() + b"\\0" for word in [*words, f"program={len(program)}"])
for _ in range(10):
    node = socket.create_connection((where, 35019))
    lines = node.makefile("rb")
    lines.readline()
    node.sendall(b"launch %d 1 0 0 - 0 -\\n" % len(request) + request + program)
    while not (line := lines.readline()).startswith((b"refused", b"end")):
        assert line, "the node has gone"
    print(line.decode(), end="")
    node.shutdown(socket.SHUT_WR)
    while lines.readline():
        pass
"""


@pytest.mark.parametrize(("port", "said"), [(9, r"for \w+ to tacetrun's port 9 has failed"), (0, "")])
def test_ranks_whose_streams_fail_are_refused_and_leave_nothing(
    port: int, said: str, pair: WaitingNodes
) -> None:
    words = [pair.nodes[0].address, str(port), program("status.musl")]
    done = pair.space.run(
        ["/usr/bin/python3", "-c", TAKES_NO_STREAMS, *words],
        capture_output=True,
        text=True,
        timeout=LIMIT_S * slowness(),
    )
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 10, done
    assert not said or len(re.findall(said, done.stdout)) == 10, done
    assert run(pair, "-n", "4", "--bcast", BUSYBOX, "echo", "next") == "next\n" * 4
    assert not any(node.said("a bug of the kernel") for node in pair.nodes)


@pytest.mark.long
@pytest.mark.limit(1800, 7200)
def test_five_hundred_jobs_leave_a_node_as_it_was(pair: WaitingNodes) -> None:
    free: dict[tuple[str, str], set[str]] = {}
    for job in range(500):
        said = run(pair, "-n", str(2 + job % 3), "--bcast", JOBS, "leavings")
        for rank, size, bytes_free in re.findall(r"rank (\d+) of (\d+): (\d+ of \d+) free", said):
            free.setdefault((size, rank), set()).add(bytes_free)
    assert all(len(found) == 1 for found in free.values()), free


#: Makes a node the same request again and again, each once the node is idle; prints how many answers there
#: were of each kind.
ASKS = """
import collections, socket, sys
port, count = map(int, sys.argv[1:3])
words = ["job=1", "ranks=1", "port=9", "secret=0123456789abcdef", "arg=x", *sys.argv[3:]]
request = b"".join(word.encode() + b"\\0" for word in words)
def idle():
    while True:
        node = socket.create_connection(("127.0.0.1", port), 60)
        answers = node.makefile("rb")
        if b" state=idle" in answers.readline():
            return node, answers
        node.close()
said = collections.Counter()
for number in range(count):
    node, answers = idle()
    node.sendall(b"launch %d 1 0 0 - 0 -\\n" % len(request) + request)
    said[answers.readline().decode().strip()] += 1
    node.close()
for line, times in said.items():
    print(times, line)
"""
#: Fewer of them filled the table of files.
ASKED = 1400
#: What a node refuses after it has looked at a file on a mount, and what it says; and what it starts.
REFUSED = {
    "folder": (["path=/mnt"], "is not a file"),
    "nothing": (["path=/mnt/nothing"], "there is no such file"),
    "circle": (["path=/mnt/circle"], "path=/mnt/circle"),
    "text": (["path=/mnt/text"], "not an ELF file"),
    "foreign": (["path=/mnt/foreign"], "foreign"),
    "cwd": (["path=/mnt/small", "cwd=/mnt/text"], "there is no such directory"),
    "gone": (["path=/mnt/small"], "started"),  # and ended, since the client leaves
}


@contextmanager
def node_that_mounts(
    folder: Path, mount: str, archive: Path | None = None, **machine: Any
) -> Iterator[tuple[Node, int]]:
    """A node on QEMU's own network that waits for jobs, and the port at this machine that leads to it."""
    port = qemu.free_port()
    line = f"stdout=com2 stderr=com3 launch {mount}"
    monitor = f"unix:{folder}/monitor1,server=on,wait=off"
    network = qemu.Network("user", "e1000", "52:54:00:12:34:56", [f"{port}:{PORT}"])
    options = ["-kernel", str(qemu.KERNEL), "-append", line, "-qmp", monitor]
    options += ["-initrd", str(archive)] if archive else []
    node = Node(folder, 1, [], "", network=network, qemu_options=options, **machine)
    try:
        node.wait(WAITS)
        yield node, port
    finally:
        node.off()


def test_only_a_job_that_uses_a_dead_server_s_files_notices(tmp_path: Path) -> None:
    """The server is silent, as a machine without power: a job whose cwd= is the mount runs, what needs a file
    there names the server, and all is well when the server is back."""
    (share := tmp_path / "share").mkdir()
    shutil.copy(BUSYBOX, share / "busybox")
    with (
        qemu.FileServer([share]) as server,
        node_that_mounts(tmp_path, f"{server.option(share)} mount_timeout=1s cwd=/mnt") as (node, port),
    ):

        def said(*words: str | Path) -> tuple[int, str, str]:
            to = [TACETRUN, "-i", "none", "-w", f"127.0.0.1:{port}", "--within", "60", *words]
            done = subprocess.run(to, capture_output=True, text=True, timeout=LIMIT_S * slowness())
            return done.returncode, done.stdout, done.stderr

        assert server.process is not None
        server.process.send_signal(signal.SIGSTOP)
        try:
            assert said("--bcast", BUSYBOX, "pwd") == (0, "/mnt\n", "")
            status, _, why = said("/mnt/busybox", "true")
            assert status == LOST, why
            assert f"path=/mnt/busybox: the file server 10.0.2.2:{server.port}:" in why, why
            status, _, why = said("-D", "/mnt/folder", "--bcast", BUSYBOX, "true")
            assert status == LOST and "cwd=/mnt/folder: the file server" in why, why
            assert said("--bcast", BUSYBOX, "pwd") == (0, "/mnt\n", "")
            assert node.said("the server does not answer") == 1
        finally:
            server.process.send_signal(signal.SIGCONT)
        # The mount point as a working directory is one like others.
        script = (
            "pwd -P; echo *; echo made > new; read -r x < /mnt/new; read -r y < ./new; echo $x $y; cd ..; "
            "pwd; cd mnt; cd /proc/self/cwd; pwd -P"
        )
        lines = ("/mnt", "busybox", "made made", "/", "/mnt")
        assert said("/mnt/busybox", "sh", "-c", script) == (0, "".join(f"{line}\n" for line in lines), "")


@pytest.mark.long
@pytest.mark.limit(600, 7200)
@pytest.mark.parametrize("why", REFUSED)
def test_requests_that_are_refused_keep_nothing_of_a_file_server(why: str, tmp_path: Path) -> None:
    """With a number of a file and an inode left by each, 1,253 were enough for no program to start."""
    words, reason = REFUSED[why]
    (share := tmp_path / "share").mkdir()
    for name, content in (("busybox", BUSYBOX), ("small", program("status.musl"))):
        shutil.copy(content, share / name)
    (share / "text").write_text("hello\n")
    (share / "circle").symlink_to("circle")
    foreign = bytearray((share / "small").read_bytes())
    foreign[18:20] = struct.pack("<H", 183)  # AArch64
    (share / "foreign").write_bytes(foreign)
    with qemu.FileServer([share]) as server, node_that_mounts(tmp_path, server.option(share)) as (_, port):

        def starts() -> bool:
            words = [*(TACETRUN, "-i", "none", "-w", f"127.0.0.1:{port}"), "/mnt/busybox", "echo", "starts"]
            done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S * slowness())
            return (done.returncode, done.stdout) == (0, "starts\n")

        assert starts()
        asks = ["/usr/bin/python3", "-c", ASKS, str(port), str(ASKED), *words]
        said = subprocess.run(asks, check=True, stdout=subprocess.PIPE, text=True, timeout=7200).stdout
        assert re.fullmatch(rf"{ASKED} .*{reason}.*\n", said), said
        assert starts()
