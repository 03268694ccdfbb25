# SPDX-License-Identifier: BSD-2-Clause
"""tools/cluster: nodes that boot over their own network, take beats of the real conductor, have a shared
folder, and leave nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, program, slowness
from rack import arguments

from tests.making import made

UNAVAILABLE = 3
NO_STATUS = 125
#: A cluster of two comes up in some twenty seconds; this is for busy machines.
LIMIT_S = 900


@pytest.fixture(autouse=True, scope="module")
def built() -> None:
    made("service")


def cluster(tmp_path: Path, *words: str, **settings: object) -> subprocess.CompletedProcess[str]:
    """A cluster of two, unless the words say otherwise, to its end."""
    command = ["tools/cluster", "--nodes", "2", "--logs", str(tmp_path / "logs"), *words]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S * slowness(), **settings
    )
    if done.returncode == UNAVAILABLE and "does not work here" in done.stderr:
        pytest.skip(done.stderr.strip())
    return done


def said(done: subprocess.CompletedProcess[str]) -> str:
    return f"status {done.returncode}\n{done.stdout}{done.stderr}"


def of_node(text: str, name: str) -> str:
    """What a node has printed."""
    return "".join(f"{line}\n" for line in re.findall(rf"^{name}: (.*)$", text, re.MULTILINE))


def test_nodes_come_up_take_beats_and_see_the_shared_folder(tmp_path: Path) -> None:
    share = tmp_path / "share"
    share.mkdir()
    shutil.copy(program("beats.musl"), share)
    words = ["--share", str(share), "--app", "/bin/busybox", "--args", "true", "--wait"]
    # The program that runs is the one of the shared folder.
    done = cluster(tmp_path, *words, "--args", "wait 20", "--options", "app=/mnt/beats.musl")
    assert done.returncode == 0, said(done)
    for name in ("node1", "node2"):
        assert f"cluster: {name} has an address" in done.stderr, said(done)
        heard = of_node(done.stdout, name)
        fields = dict(re.findall(r"^(\w+) (\S+)$", heard, re.MULTILINE))
        assert fields["mode"] == "irq" and int(fields["fine"]) >= 20, said(done)
        assert int(fields["sequence"]) >= 20 and fields["forged"] == "0", said(done)
        assert re.search(r"^cpu0 beats [1-9]", heard, re.MULTILINE), said(done)
        assert f"name {name}," in (tmp_path / "logs" / f"{name}.console").read_text(), said(done)
    assert all(re.match(r"node[12]: ", line) for line in done.stdout.splitlines()), said(done)


def objects(text: str) -> list[dict[str, Any]]:
    """JSON's, one after the other."""
    found = []
    while text := text.strip():
        value, end = json.JSONDecoder().raw_decode(text)
        found.append(value)
        text = text[end:]
    return found


def test_the_conductor_commands_the_nodes(tmp_path: Path) -> None:
    """Real nodes answer the real conductor, while they run a job: each command is acknowledged by both."""
    asked = ("trace +syscall", "nodes", "stop", "nodes", "counters 1", "continue", "nodes", "kill")
    words = f"tacetrun -n 4 --bcast {program('jobs.musl')} spin"
    job = f"{words} > $TACET_SHARE/said 2> $TACET_SHARE/ended & job=$!"
    begun = '[ "$(cat $TACET_SHARE/said 2> /dev/null | wc -l)" = 4 ]'
    script = "; ".join([
        job,
        f"while ! {begun}; do sleep 0.1; done",
        *(f"conductorctl --json {words}" for words in asked),
        'wait $job; status=$?; cat $TACET_SHARE/ended >&2; exit $status',
    ])  # fmt: skip
    done = cluster(tmp_path, "--cpus", "2", "--", "sh", "-c", script)
    answers = objects(done.stdout)
    assert done.returncode == 128 + signal.SIGKILL and len(answers) == len(asked), said(done)
    trace, first, stop, stopped, counted, go_on, running, kill = answers
    nodes = {node["name"]: node for node in first["nodes"]}
    assert sorted(nodes) == ["node1", "node2"], said(done)
    assert {node["ipv4"] for node in nodes.values()} == {"10.99.0.11", "10.99.0.12"}, said(done)
    assert all(node["cpus"] == node["ranks"] == 2 for node in nodes.values()), said(done)
    assert [node["state"] for node in stopped["nodes"]] == ["stopped"] * 2, said(done)
    assert [node["state"] for node in running["nodes"]] == ["running"] * 2, said(done)
    assert [answer["done"] for answer in (stop, go_on, trace, kill)] == [2] * 4, said(done)
    # A stopped job makes no system call.
    assert [node["system_calls"] for node in counted["nodes"]] == [0, 0], said(done)
    for name in nodes:
        console = (tmp_path / "logs" / f"{name}.console").read_text()
        assert console.count("which tacetrun or the conductor commanded") == 2, said(done)
    assert len({node["job"] for node in first["nodes"]}) == 1 and first["nodes"][0]["job"] > 0, said(done)


def test_a_command_runs_beside_the_nodes_and_gives_its_status(tmp_path: Path) -> None:
    """It reaches the conductor, and finds what nodes write into the shared folder."""
    script = (
        "conductorctl status; conductorctl rate 50; grep node2 /etc/hosts; "
        'while [ ! -s "$TACET_SHARE/version" ]; do sleep 0.2; done; cat "$TACET_SHARE/version"; exit 7'
    )
    words = ["--app", "/bin/busybox", "--args", "cp /proc/version /mnt/version", "--", "sh", "-c", script]
    done = cluster(tmp_path, *words)
    assert done.returncode == 7, said(done)
    assert re.search(r"^period_ns +100000000$", done.stdout, re.M), said(done)
    assert "Linux version" in done.stdout, said(done)
    assert re.search(r"^10\.99\.0\.12 node2$", done.stdout, re.MULTILINE), said(done)


def test_linux_nodes_run_jobs_under_the_conductor_and_keep_nothing_of_them(tmp_path: Path) -> None:
    """The shared folder, a program that is sent, stop, continue and kill at a beat, and tacetrun, which runs
    the same program on them and on a Tacet node; then all processes and descriptors are those of before."""
    made("service", "build/linux/version")
    share = tmp_path / "share"
    share.mkdir()
    (share / "word").write_text("shared\n")
    script = [sys.executable, str(Path(__file__).with_name("jobs_on_linux.py")), str(program("status.musl"))]
    done = cluster(tmp_path, "--nodes", "1", "--linux", "2", "--share", str(share), "--", *script)
    assert done.returncode == 0, said(done)
    found = json.loads(done.stdout)
    names = ["linux1", "linux2"]
    for rank, name in enumerate(names):
        assert f"cluster: {name} runs" in done.stderr, said(done)
        lines, (output,) = found["ran"][name]
        assert lines == ["started", f"rank {rank} 0", "end 0"], found
        assert output.split("\n") == ["Linux", name, "shared", f"{rank} 2", "2", "-900", "0", ""], found
        assert found["commanded"]["ends"][name] == ["started", "rank 0 137", "end 137"], found
    assert found["names"] == [0, ["0: node1", "1: linux1", "2: linux2"], ""], found
    assert found["fails"][0] == 5 and "rank 2 on linux2 has ended with status 5" in found["fails"][2], found
    assert found["sent"] == dict.fromkeys(names, 5), found
    for name, (uid, gid, *groups, group) in found["users"].items():
        assert (uid, gid, groups) == ("4711", "4712", ["4712", "4713"]), (name, found)
        assert re.fullmatch(r"0::/tacet-job-9-\d+", group), (name, found)
    assert found["wrong_key"].startswith("the ticket is wrong"), found
    assert found["commanded"]["done"] == [0, 0, 0], found
    assert found["commanded"]["stopped"] == dict.fromkeys(names, ["stopped", 1]), found
    assert found["commanded"]["running"] == dict.fromkeys(names, ["running", 1]), found
    assert found["states"] == dict.fromkeys(names, "idle"), found
    before, after = found["processes"]
    assert before == after and "(tacet-launchd) 1\n" in before["linux1"], found


def test_the_status_is_the_worst_and_the_node_that_failed_is_named(tmp_path: Path) -> None:
    """Programs fail on both, and one node's kernel has been told nonsense that stops it."""
    words = ["--app", str(program("status.musl")), "--args", "5", "--wait"]
    done = cluster(tmp_path, *words)
    assert done.returncode == 5, said(done)
    assert "cluster: node1 has ended with status 5" in done.stderr, said(done)
    stopped = cluster(tmp_path, *words, "--options", "nonsense=1")
    assert stopped.returncode == 64, said(stopped)
    for name in ("node1", "node2"):
        assert re.search(rf"cluster: {name} has stopped, status 64: .*nonsense", stopped.stderr), said(
            stopped
        )
        assert "nonsense" in of_node(stopped.stderr, name), said(stopped)


def marked(mark: str) -> list[int]:
    """Processes whose environment has the mark."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                if b"State:\tZ" not in (entry / "status").read_bytes():
                    found.append(int(entry.name))
        except OSError:
            pass
    return found


def started(tmp_path: Path, mark: str, temporary: Path) -> subprocess.Popen[str]:
    """A cluster whose command says that it runs, and waits for its end."""
    command = ["tools/cluster", "--nodes", "2", "--logs", str(tmp_path / "logs")]
    process = subprocess.Popen(
        [*command, "--", "sh", "-c", "sleep 100000 & echo up; wait"],
        cwd=ROOT,
        env={**os.environ, "TACET_TEST_MARK": mark, "TMPDIR": str(temporary)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None and process.stderr is not None
    if process.stdout.readline() != "up\n":
        text = process.stderr.read()
        if process.wait() == UNAVAILABLE:
            pytest.skip(text.strip())
        raise AssertionError(text)
    return process


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda n: n.name)
def test_nothing_remains_however_it_is_ended(number: signal.Signals, tmp_path: Path) -> None:
    """SIGINT is the terminal's: it goes to all of them, and ends the command."""
    mark = uuid.uuid4().hex
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    process = started(tmp_path, mark, temporary)
    names = {Path(f"/proc/{pid}/comm").read_text().strip() for pid in marked(mark)}
    assert {"dnsmasq", "diod", "conductor"} <= names, names
    assert any(name.startswith("qemu-system") for name in names), names
    (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
    process.wait(120 * slowness())
    deadline = time.monotonic() + 120 * slowness()
    while (left := marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []
    assert process.returncode == {signal.SIGKILL: -9}.get(number, 128 + number)
    assert not list(temporary.iterdir())


def test_a_node_that_never_boots_is_named_with_its_console(tmp_path: Path) -> None:
    """The limit is over before any firmware has come to its network."""
    done = cluster(tmp_path, "--boot-limit", "0.001", "--", "echo", "not reached")
    assert done.returncode == NO_STATUS and "not reached" not in done.stdout, said(done)
    for name in ("node1", "node2"):
        assert f"cluster: {name} is not up after 0.001 s (--boot-limit)" in done.stderr, said(done)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--nodes", "0"], "a cluster needs at least one node: --nodes, --linux"),
        (["--nodes", "1000"], "--nodes takes 0 to 64, not 1000"),
        (["--nodes", "two"], "--nodes takes 0 to 64, not two"),
        (["--linux", "65"], "--linux takes 0 to 64, not 65"),
        (["--linux", "1", "--memory", "64M"], "--memory takes 96M or more, which Linux needs"),
        (["--linux", "1", "--app", "/bin/busybox"], "--app is only for Tacet nodes"),
        (["--rate", "2000"], "--rate takes 1/60 to 1000"),
        (["--app", "/nowhere/prog"], "no such program: /nowhere/prog"),
        (["--app", "/run/prog"], "the cluster cannot see /run"),
        (["--app", "/bin/busybox", "--args", "'"], "--args: no closing quotation"),
        (["--args", "a"], "need a program"),
        (["--app", "/bin/busybox", "--wait", "--", "true"], "--wait waits for the nodes' programs"),
        (["--"], "the command after -- is missing"),
        (["--share", "/nowhere"], "there is no folder /nowhere"),
        (["--nodes", "64", "--memory", "1000G"], "--memory takes at most"),
        (["--wrong"], "--wrong"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(words: list[str], line: str, tmp_path: Path) -> None:
    done = cluster(tmp_path, *words)
    assert done.returncode == 2 and line in done.stderr, said(done)
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("tools/cluster: "), said(done)


def test_a_missing_tool_is_named(tmp_path: Path) -> None:
    """Nothing but dnsmasq is missing in there."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for one in (*arguments.TOOLS, *arguments.SERVERS, "qemu-system-x86_64"):
        found = shutil.which(one, path=arguments.search_path())
        assert found, f"{one} is not installed (ports/deps.sh network cluster)"
        if one != "dnsmasq":
            (tools / one).symlink_to(found)
    script = (
        "import sys; sys.argv[0] = 'tools/cluster'; from rack import arguments; arguments.SBIN = '';"
        "import runpy; runpy.run_path('tools/cluster', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={"PATH": str(tools), "PYTHONPATH": str(ROOT / "tools")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == UNAVAILABLE, done.stderr
    assert done.stderr == "tools/cluster: missing: dnsmasq (ports/deps.sh network cluster)\n"
