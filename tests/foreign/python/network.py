# SPDX-License-Identifier: BSD-2-Clause
"""Checks CPython's http.server and its clients, in one process over loopback or as one side of a network:

python network.py loopback                8 clients at once, datagrams; ends with 1 if a check has failed
python network.py serve ADDRESS PORT      serves files of the folder /served until it is killed
"""

import functools
import hashlib
import http.client
import http.server
import socket
import sys
import threading
from pathlib import Path

CLIENTS = 8
wrong = 0


def check(what: str, got: object, expected: object) -> None:
    global wrong
    right = got == expected
    wrong += not right
    print(f"{what}: {got!r}" + ("" if right else f" WRONG, expected {expected!r}"), flush=True)


def content(i: int) -> bytes:
    return hashlib.sha256(b"%d" % i).digest() * (1 + 1000 * i)


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words: object) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer = hashlib.sha256(body).hexdigest().encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


def server(folder: str, address: str, port: int) -> http.server.ThreadingHTTPServer:
    return http.server.ThreadingHTTPServer((address, port), functools.partial(Handler, directory=folder))


def client(port: int, i: int, right: list[int]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=50)
    connection.request("GET", f"/file{i}")
    answer = connection.getresponse()
    got = answer.read() == content(i) and answer.getheader("Content-Length") == str(len(content(i)))
    connection.request("POST", "/", content(i))
    got &= connection.getresponse().read() == hashlib.sha256(content(i)).hexdigest().encode()
    connection.request("GET", "/none")
    answer = connection.getresponse()
    answer.read()
    connection.close()
    if got and answer.status == 404:
        right.append(i)


def loopback() -> None:
    folder = Path("/tmp/served")
    folder.mkdir()
    for i in range(CLIENTS):
        (folder / f"file{i}").write_bytes(content(i))
    served = server(str(folder), "127.0.0.1", 0)
    thread = threading.Thread(target=served.serve_forever)
    thread.start()
    right: list[int] = []
    port = served.server_address[1]
    crew = [threading.Thread(target=client, args=(port, i, right)) for i in range(CLIENTS)]
    for one in crew:
        one.start()
    for one in crew:
        one.join()
    check("clients served", sorted(right), list(range(CLIENTS)))
    served.shutdown()
    thread.join()
    served.server_close()
    try:
        socket.create_connection(("127.0.0.1", port), 50)
        check("no listener", "connected", "refused")
    except ConnectionRefusedError:
        check("no listener", "refused", "refused")

    one, other = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    one.bind(("127.0.0.1", 0))
    other.sendto(b"a datagram", one.getsockname())
    text, sender = one.recvfrom(100)
    one.sendto(text.upper(), sender)
    check("datagrams", other.recv(100), b"A DATAGRAM")
    one.settimeout(0.003)
    try:
        one.recv(100)
        check("a time limit", "received", "passed")
    except TimeoutError:
        check("a time limit", "passed", "passed")
    check("the name of an address", socket.inet_ntoa(socket.inet_aton("127.1")), "127.0.0.1")


if sys.argv[1] == "serve":
    with server("/served", sys.argv[2], int(sys.argv[3])) as running:
        print("ready", flush=True)
        running.serve_forever()
loopback()
sys.exit(wrong != 0)
