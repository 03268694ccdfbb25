# SPDX-License-Identifier: BSD-2-Clause
"""Network programs of other projects do on a node what they are for: Debian's busybox as it is
installed (wget, nc, ping, tftp, nslookup), curl, iperf3, CPython's http.server, Go's net/http. Their peers
are on this machine, across QEMU's own network (services.py); those over loopback alone are in
test_foreign_programs.py."""

from __future__ import annotations

import concurrent.futures
import hashlib
import http.client
import json
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, expect_exit
from monitor import Client, Monitor
from services import HOST, NAME, NAME_ADDRESS, NODE, Services, content, options
from test_foreign_programs import FOREIGN, absent

import qemu
from lab.bench.peer import Iperf
from tests.making import made

CARDS = ("e1000", "e1000e")
CLIENTS = 8
#: Of the node's servers.
PORT = 8000
WAIT_S = 120.0

Node = Callable[..., qemu.Result]


@pytest.fixture
def services() -> Iterator[Services]:
    with Services() as running:
        yield running


@pytest.fixture
def node(tacet: Run) -> Node:
    """Runs a program on a node with a card in QEMU's own network."""

    def run(
        app: Path, *words: str, cable: Sequence[str] = (), more: str = "", **keywords: Any
    ) -> qemu.Result:
        extra = keywords.pop("qemu_options", ())
        return tacet(
            app,
            *words,
            options=f"ip={NODE} ranks=1 {more}",
            qemu_options=[*(cable or options()), *extra],
            **{"memory": "256M", **keywords},
        )

    return run


def foreign(kind: str, name: str) -> Path:
    if reason := absent(kind):
        pytest.skip(reason)
    return FOREIGN / name


@pytest.fixture(scope="session")
def curl() -> Path:
    made("build/x86_64/curl/curl")
    return qemu.BUILD / "x86_64" / "curl" / "curl"


@pytest.mark.parametrize("card", CARDS)
def test_busybox_wget_fetches_a_file(card: str, node: Node, busybox: Path, services: Services) -> None:
    url = services.url("/bytes/1/1000000")
    result = expect_exit(node(busybox, "wget", "-q", "-O", "-", url, cable=options(card)))
    assert result.stdout == content(1, 1_000_000), result.explain()


def test_busybox_wget_says_what_is_wrong(node: Node, busybox: Path, services: Services) -> None:
    gone = node(busybox, "wget", "-q", "-O", "-", services.url("/none"))
    assert expect_exit(gone, 1).stderr == b"wget: server returned error: HTTP/1.1 404 Not Found\n"
    refused = node(busybox, "wget", "-O", "-", f"http://{HOST}:{qemu.free_port()}/")
    assert b"Connection refused" in expect_exit(refused, 1).stderr, refused.explain()


def test_busybox_nc_sends_its_input_and_prints_the_answer(
    node: Node, busybox: Path, services: Services, tmp_path: Path
) -> None:
    text = tmp_path / "text"
    text.write_bytes(b"some words\n" * 5000)
    result = node(busybox, "nc", HOST, str(services.upper_port), stdin=text)
    assert expect_exit(result).stdout == text.read_bytes().upper(), result.explain()


@pytest.mark.parametrize("host", [HOST, "127.0.0.1"])
def test_busybox_ping_gets_its_answers(host: str, node: Node, busybox: Path) -> None:
    words = ["ping", "-c", "3", "-i", "0.1", "-s", "1000", host]
    result = expect_exit(node(busybox, *words, more="raw_sockets=on"))
    said = result.stdout.decode()
    assert "3 packets transmitted, 3 packets received, 0% packet loss" in said, result.explain()
    assert re.findall(rf"1008 bytes from {host}: seq=(\d) ttl=\d+ time=", said) == ["0", "1", "2"], said


def test_without_the_nodes_option_no_program_has_a_raw_socket(tacet: Run, busybox: Path) -> None:
    result = tacet(busybox, "ping", "-c", "1", "127.0.0.1")
    assert (result.outcome, result.status) == ("exit", 1), result.explain()
    assert result.stderr == b"ping: permission denied (are you root?)\n", result.explain()


def test_busybox_tftp_fetches_a_file(node: Node, busybox: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content(2, 100_001))
    words = ("tftp", "-g", "-r", "file", "-l", "-", HOST)
    result = node(busybox, *words, cable=options(tftp=tmp_path))
    assert expect_exit(result).stdout == content(2, 100_001), result.explain()


def test_busybox_nslookup_asks_a_name_server(node: Node, busybox: Path, services: Services) -> None:
    words = ("nslookup", NAME, f"{HOST}:{services.names_port}")
    result = expect_exit(node(busybox, *words))
    assert f"Name:\t{NAME}\nAddress: {NAME_ADDRESS}\n" in result.stdout.decode(), result.explain()


@pytest.mark.long
@pytest.mark.parametrize("card", CARDS)
def test_curl_fetches_several_files_over_one_connection_and_at_once(
    card: str, node: Node, curl: Path, services: Services
) -> None:
    urls = [services.url(f"/bytes/{i}/{50_000 * i}") for i in range(6)]
    expected = b"".join(content(i, 50_000 * i) for i in range(6))
    result = node(curl, "-s", "-S", *urls, cable=options(card))
    assert expect_exit(result).stdout == expected, result.explain()
    # At once, they come in any order of their pieces.
    result = node(curl, "-s", "-S", "-Z", "-f", *urls, cable=options(card))
    assert sorted(expect_exit(result).stdout) == sorted(expected), result.explain()


@pytest.mark.long
def test_curl_sends_files_and_follows_redirections(
    node: Node, curl: Path, services: Services, tmp_path: Path
) -> None:
    text = tmp_path / "text"
    text.write_bytes(content(5, 700_000))
    length = ("-H", "Transfer-Encoding:", "-H", "Content-Length: 700000")
    result = expect_exit(node(curl, "-s", "-S", "-T", "-", services.url("/"), *length, stdin=text))
    assert result.stdout == hashlib.sha256(text.read_bytes()).hexdigest().encode(), result.explain()
    result = expect_exit(node(curl, "-s", "-S", "-L", services.url("/moved")))
    assert result.stdout == content(1, 10), result.explain()
    result = node(curl, "-s", "-S", "--max-time", "20", f"http://{HOST}:{qemu.free_port()}/")
    assert b"curl: (7) Failed to connect" in expect_exit(result, 7).stderr, result.explain()


def figures_of(result: qemu.Result) -> dict[str, Any]:
    return dict(json.loads(expect_exit(result).stdout)["end"])


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [("-n", "8M"), ("-n", "8M", "-R"), ("-n", "8M", "-P", "4"), ("-n", "4M", "--bidir")],
    ids=["sends", "receives", "four-streams", "both-ways"],
)
def test_iperf3_moves_as_many_bytes_as_asked(words: tuple[str, ...], node: Node) -> None:
    program = foreign("network", "iperf3")
    with Iperf(program) as server:
        result = node(program, "-c", HOST, "-p", str(server.port), "-J", *words)
    figures = figures_of(result)
    asked = int(words[1][:-1]) << 20
    assert figures["sum_sent"]["bytes"] >= asked, figures
    # What the last second brought may not have been read when the test ended.
    assert figures["sum_received"]["bytes"] > 0.5 * asked, figures


@pytest.mark.long
def test_iperf3_loses_few_datagrams_of_a_slow_stream(node: Node) -> None:
    program = foreign("network", "iperf3")
    with Iperf(program) as server:
        # All of it has room in the server's socket, should a busy host let that not read for a while.
        words = ("-c", HOST, "-p", str(server.port), "-J", "-u", "-b", "1M", "-l", "1000", "-n", "60K")
        figures = figures_of(node(program, *words))
    assert figures["sum"]["packets"] >= 61 and figures["sum"]["lost_packets"] <= 3, figures


def served(
    node: Node, folder: Path, app: Path, words: Sequence[str], clients: Callable[[int], None], **keywords: Any
) -> qemu.Result:
    """A server's run on a node: `clients` has the port of this machine that leads to it, once it listens."""
    port = qemu.free_port()

    def use(client: Client) -> None:
        try:
            wait_for(port)
            clients(port)
        finally:
            client.quit()

    with Monitor(folder, use) as monitor:
        monitor.go()
        result = node(
            app, *words, cable=options(forward=[(port, PORT)]), qemu_options=monitor.options, **keywords
        )
    try:
        monitor.check()
    except Exception as error:
        raise AssertionError(result.explain()) from error
    return result


def wait_for(port: int) -> None:
    """Waits until the node's HTTP server answers: QEMU accepts, and hangs up while no program listens
    there."""
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            assert get(port, "/") < 500
            return
        except (OSError, http.client.HTTPException):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def get(port: int, path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


@pytest.mark.long
def test_cpython_s_http_server_serves_eight_connections_at_once(node: Node, tmp_path: Path) -> None:
    """All are open before the first asks; then each has its own file."""
    app = foreign("libraries", "python")
    files = tmp_path / "files"
    (files / "served").mkdir(parents=True)
    shutil.copytree(FOREIGN / "python-files" / "usr", files / "usr")
    for i in range(CLIENTS):
        (files / "served" / f"file{i}").write_bytes(content(i, 20_000 * i))
    words = ("-S", "-m", "http.server", "-d", "/served", "-p", "HTTP/1.1", str(PORT))

    def clients(port: int) -> None:
        connections = [socket.create_connection(("127.0.0.1", port), WAIT_S) for _ in range(CLIENTS)]
        for i, connection in enumerate(connections):
            connection.sendall(f"GET /file{i} HTTP/1.0\r\n\r\n".encode())
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as crew:
            bodies = list(crew.map(body_of, connections))
        assert [len(body) for body in bodies] == [20_000 * i for i in range(CLIENTS)]
        assert bodies == [content(i, 20_000 * i) for i in range(CLIENTS)]

    served(
        node, tmp_path, app, words, clients, files=files, env={"PYTHONHOME": "/usr"}, memory="512M", cpus=2
    )


def body_of(connection: socket.socket) -> bytes:
    with connection, connection.makefile("rb") as stream:
        header, _, body = stream.read().partition(b"\r\n\r\n")
        assert header.startswith(b"HTTP/1.1 200 "), header
        return body


@pytest.mark.long
@pytest.mark.parametrize("cpus", [1, 4])
def test_go_s_net_http_serves_and_fetches(cpus: int, node: Node, tmp_path: Path) -> None:
    app = foreign("go", "go")

    def clients(port: int) -> None:
        ran = subprocess.run(
            [app, "exchange", f"http://127.0.0.1:{port}"], capture_output=True, text=True, timeout=WAIT_S
        )
        assert (ran.returncode, ran.stdout) == (0, "exchanges: 8\n"), ran.stdout

    served(node, tmp_path, app, ("serve", f"0.0.0.0:{PORT}"), clients, memory="512M", cpus=cpus)
    port = qemu.free_port()
    with subprocess.Popen([app, "serve", f"127.0.0.1:{port}"], stdout=subprocess.DEVNULL) as server:
        try:
            wait_for(port)
            result = node(app, "exchange", f"http://{HOST}:{port}", memory="512M", cpus=cpus)
        finally:
            server.kill()
    assert expect_exit(result).stdout == b"exchanges: 8\n", result.explain()
