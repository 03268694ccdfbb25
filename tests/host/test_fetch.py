# SPDX-License-Identifier: BSD-2-Clause
"""ports/fetch.py against a web server of this test's own: no network is needed."""

from __future__ import annotations

import functools
import hashlib
import http.server
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FETCH = ROOT / "ports" / "fetch.py"
CONTENT = b"foreign sources\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()

sys.path.insert(0, str(ROOT / "ports"))

import fetch

pytestmark = pytest.mark.skipif(not fetch.DOWNLOADER.exists(), reason="apt's downloader is not installed")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[str]:
    """A mirror with one file."""
    pool = tmp_path / "mirror" / "pool" / "main" / "t" / "thing"
    pool.mkdir(parents=True)
    (pool / "thing.tar").write_bytes(CONTENT)
    handler = functools.partial(Quiet, directory=str(tmp_path / "mirror"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def down() -> Iterator[str]:
    """A mirror that does not answer; no server of another test can take its port meanwhile."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


@pytest.fixture
def run(tmp_path: Path):
    """Fetch the port `thing`, its recipe having this sum, from these mirrors."""

    def fetch_thing(*mirrors: str, sha256: str = SHA256) -> subprocess.CompletedProcess[str]:
        recipe = tmp_path / "ports" / "thing" / "recipe"
        recipe.parent.mkdir(parents=True, exist_ok=True)
        recipe.write_text(f"# a comment\nversion 1\nfile pool/main/t/thing/thing.tar {sha256}\n")
        options = [word for mirror in mirrors for word in ("--mirror", mirror)]
        return subprocess.run(
            [
                sys.executable,
                str(FETCH),
                "--ports",
                str(tmp_path / "ports"),
                "--retries",
                "0",
                *options,
                "thing",
            ],
            capture_output=True,
            text=True,
            env=os.environ | {"TACET_CACHE": str(tmp_path / "cache"), "no_proxy": "127.0.0.1"},
        )

    return fetch_thing


def kept(tmp_path: Path) -> list[str]:
    folder = tmp_path / "cache" / "thing"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_good_file_is_kept_and_named(run, mirror: str, tmp_path: Path) -> None:
    done = run(mirror)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{tmp_path}/cache/thing/thing.tar\n"
    assert Path(done.stdout.strip()).read_bytes() == CONTENT
    assert kept(tmp_path) == ["thing.tar"]


def test_a_wrong_checksum_stops(run, mirror: str, tmp_path: Path) -> None:
    done = run(mirror, sha256="0" * 64)
    assert done.returncode == 1
    for part in ("wrong checksum", "0" * 64, SHA256, "thing.tar", f"{mirror}/pool/main/t/thing/thing.tar"):
        assert part in done.stderr
    assert kept(tmp_path) == []


def test_the_cache_serves_without_network(run, mirror: str, down: str) -> None:
    assert run(mirror).returncode == 0
    done = run(down)
    assert done.returncode == 0, done.stderr


def test_a_damaged_cache_is_refused_and_named(run, mirror: str, tmp_path: Path) -> None:
    assert run(mirror).returncode == 0
    (tmp_path / "cache" / "thing" / "thing.tar").write_bytes(b"changed")
    done = run(mirror)
    assert done.returncode == 1
    actual = hashlib.sha256(b"changed").hexdigest()
    for part in ("wrong checksum", SHA256, actual, f"{tmp_path}/cache/thing/thing.tar"):
        assert part in done.stderr


def test_the_next_mirror_is_tried(run, mirror: str, down: str) -> None:
    done = run(down, f"{mirror}/elsewhere", mirror)
    assert done.returncode == 0, done.stderr


def test_no_mirror_is_a_clear_error(run, mirror: str, down: str, tmp_path: Path) -> None:
    done = run(down, f"{mirror}/elsewhere")
    assert done.returncode == 1
    for part in ("cannot fetch thing.tar", down, "Connection refused", f"{mirror}/elsewhere", "404"):
        assert part in done.stderr
    assert kept(tmp_path) == []


def test_without_network_the_error_says_what_to_put_where(run, down: str, tmp_path: Path) -> None:
    done = run(down)
    assert done.returncode == 1
    kept_at = tmp_path / "cache" / "thing" / "thing.tar"
    assert (
        f"{kept_at}: missing; a Debian mirror's pool/main/t/thing/thing.tar, sha256 {SHA256}" in done.stderr
    )
    kept_at.write_bytes(CONTENT)
    done = run(down)
    assert (done.returncode, done.stdout) == (0, f"{kept_at}\n"), done.stderr


@pytest.mark.skipif(not (fetch.cache_folder() / "musl").exists(), reason="musl was never fetched here")
def test_a_full_cache_needs_no_network() -> None:
    done = subprocess.run(["unshare", "-rn", FETCH, "musl"], capture_output=True, text=True, timeout=60)
    if "unshare" in done.stderr:
        pytest.skip(f"no network namespaces here: {done.stderr}")
    recipe = fetch.parse_recipe((ROOT / "ports/musl/recipe").read_text())
    names = [Path(line).name for line in done.stdout.splitlines()]
    assert done.returncode == 0 and names == [file.name for file in recipe.files], done.stderr


@pytest.mark.parametrize("script", ["fetch.py musl", "linux/fetch.sh build", "foreign/fetch.sh build go"])
def test_a_cache_that_cannot_be_written_is_a_line_that_names_another(script: str, tmp_path) -> None:
    words = [str(ROOT / "ports" / script.split()[0]), *script.split()[1:]]
    environment = os.environ | {"TACET_CACHE": "/proc/none"}
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "/proc/none" in done.stderr and "name another folder with TACET_CACHE" in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_unknown_port_is_a_clear_error(tmp_path: Path) -> None:
    script = ROOT / "ports" / "foreign" / "fetch.sh"
    done = subprocess.run([script, "build", "no"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and "no such thing: no (go, rust, libraries, network)" in done.stderr
    done = subprocess.run([sys.executable, str(FETCH), "no-such-port"], capture_output=True, text=True)
    assert done.returncode == 1 and "no such port" in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "version 1\n",
        f"file a {SHA256}\n",
        "version 1\nfile a 123\n",
        f"version 1\nfile a {SHA256} b\n",
        "version 1\nx\n",
    ],
)
def test_broken_recipes_are_refused(text: str) -> None:
    with pytest.raises(fetch.FetchError):
        fetch.parse_recipe(text)


@pytest.mark.parametrize(
    "recipe", sorted((ROOT / "ports").glob("*/recipe")), ids=lambda path: path.parent.name
)
def test_the_recipes_of_this_tree_can_be_read(recipe: Path) -> None:
    assert fetch.parse_recipe(recipe.read_text(), str(recipe)).files


def test_mirrors_come_from_apts_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "\n".join(
        [
            "Packages main http://last.example/bookworm/",
            "Packages main http://one.example/debian/",
            "DEP-11 main http://one.example/debian/",
            "Packages main http://one.example/debian-security/",
            "Packages stable https://other.example/linux/debian/",
            "Packages main https://two.example/debian",
            "Packages main http://one.example/debian/",
        ]
    )
    answer = subprocess.CompletedProcess([], 0, stdout=said, stderr="")
    monkeypatch.setattr(fetch.subprocess, "run", lambda *_, **__: answer)
    assert fetch.debian_mirrors() == [
        "http://one.example/debian",
        "https://two.example/debian",
        "http://last.example/bookworm",
    ]
