# SPDX-License-Identifier: BSD-2-Clause
"""`end=`: what the machine does after the last line, after an exit and after a stop.

A monitor looks at the machine from outside: QEMU reports that it was switched off, or reset, and by whom; a
machine that does neither still runs when it answers.
"""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import pytest
from conftest import Run, expect_exit, program
from monitor import Client, Monitor
from planted import planted

import qemu
from qemu import paths
from qemu.monitor import MonitorError, connect

WELL = b"exit status=3\r\n"
BROKEN = b"stop status=70 "
KEY = b"press a key to switch the node off\r\n"


def run_to_end(
    run: Run,
    arch: str,
    folder: Path,
    way: str | None,
    script: object,
    *options: str,
    words: bytes | None = None,
    broken: bool = False,
) -> qemu.Result:
    """The script begins at these words on the console, or at once: then the machine starts when QEMU's
    monitor listens, before which QEMU tells no event."""

    def from_the_start(client: Client) -> None:
        client.command("cont")
        script(client)  # type: ignore[operator]

    if words is None:
        options = ("-S", *options)
    with Monitor(folder, script if words else from_the_start) as monitor:  # type: ignore[arg-type]
        if words is None:
            monitor.go()
        result = run(
            "status.musl",
            "3",
            options=f"end={way}" if way else "",
            qemu_options=[*options, *monitor.options],
            on_console=monitor.at(words or b"\0never"),
            **({"kernel": planted(folder, "sys_exit_group", arch=arch)} if broken else {}),
        )
    monitor.check()
    return result


def still_runs(client: Client) -> None:
    """It halts, and has neither ended nor been reset. The last line may not be out yet. POWER's registers do
    not show that it halts."""
    for _ in range(3):
        assert client.command("query-status")["status"] == "running"
    while re.search("HLT=0", client.human("info registers")):
        assert client.command("query-status")["status"] == "running"
    assert client.events == [], client.events
    client.quit()


@pytest.mark.parametrize("broken", [False, True], ids=["exit", "panic"])
@pytest.mark.parametrize("way", [None, "poweroff"])
def test_by_default_the_machine_switches_itself_off(
    way: str | None, broken: bool, arch: str, tacet: Run, tmp_path: Path
) -> None:
    reason: list[str] = []

    def ended(client: Client) -> None:
        client.wait_event("SHUTDOWN")
        reason.extend(client.causes)
        client.quit()

    result = run_to_end(tacet, arch, tmp_path, way, ended, "-no-shutdown", broken=broken)
    assert reason == ["guest-shutdown"] and result.status == (70 if broken else 3), result.explain()


@pytest.mark.parametrize(("kind", "broken"), [("usual", False), ("q35", False), ("usual", True)])
def test_end_reboot_resets_the_machine(
    kind: str, broken: bool, arch: str, tacet: Run, tmp_path: Path
) -> None:
    """QEMU must not reboot it (-no-reboot), and ends by that event instead."""
    seen: list[str] = []

    def reset(client: Client) -> None:
        client.wait_event("SHUTDOWN")
        seen.extend(client.causes)
        client.quit()

    machine = [] if kind == "usual" else ["-machine", kind]
    result = run_to_end(tacet, arch, tmp_path, "reboot", reset, *machine, "-no-shutdown", broken=broken)
    assert seen == ["guest-reset"] and result.status == (70 if broken else 3), (seen, result.explain())


@pytest.mark.parametrize(("way", "broken"), [("halt", False), ("halt", True)])
def test_a_node_that_halts_stays_as_it_is(
    way: str, broken: bool, arch: str, tacet: Run, tmp_path: Path
) -> None:
    result = run_to_end(
        tacet, arch, tmp_path, way, still_runs, words=BROKEN if broken else WELL, broken=broken
    )
    assert f"status={70 if broken else 3}" in result.console, result.explain()


@pytest.mark.parametrize("broken", [False, True], ids=["exit", "panic"])
def test_end_wait_switches_off_at_a_key_of_the_keyboard(
    broken: bool, arch: str, tacet: Run, tmp_path: Path
) -> None:
    def press(client: Client) -> None:
        assert "SHUTDOWN" not in client.events
        while "SHUTDOWN" not in client.events:  # a key before the node looks is none
            try:
                client.human("sendkey spc")
                time.sleep(0.5)  # QEMU holds it for 0.1 s, and queues what comes sooner
            except MonitorError:
                return

    result = run_to_end(tacet, arch, tmp_path, "wait", press, words=KEY, broken=broken)
    assert (result.outcome, result.status) == (("stop", 70) if broken else ("exit", 3)), result.explain()
    assert result.console.replace("\r", "").endswith("tacet: press a key to switch the node off\n")


def test_end_wait_switches_off_at_a_byte_on_the_serial_console(arch: str, tmp_path: Path) -> None:
    """The console is a socket; bytes are sent until the machine is off: a byte that comes too early is
    lost."""
    port = tmp_path / "port"
    boot = qemu.DirectBoot(paths.kernel(arch), "end=wait -- 3", program("status.musl", arch))
    options = ["-chardev", f"socket,id=c,path={port},server=on,wait=on", "-serial", "chardev:c"]
    command = qemu.Machine(boot=boot, memory="256M", arch=arch, qemu_options=options).command()
    machine = subprocess.Popen(command)
    text = b""
    try:
        with connect(port, 60) as console:
            console.settimeout(60)
            while not text.endswith(KEY):
                text += console.recv(4096)
            assert machine.poll() is None
            while machine.poll() is None:
                try:
                    console.send(b"\n")
                except OSError:
                    break
                time.sleep(0.1)
        assert machine.wait(60) == 0
    finally:
        machine.kill()
    assert b"exit status=3\r\n" in text


def test_end_wait_waits_for_ever_without_a_key(arch: str, tacet: Run, tmp_path: Path) -> None:
    def runs(client: Client) -> None:
        for _ in range(3):
            client.human("mouse_move 10 10")
            assert client.command("query-status")["status"] == "running"
        assert "SHUTDOWN" not in client.events, client.events
        client.quit()

    result = run_to_end(tacet, arch, tmp_path, "wait", runs, words=KEY)
    assert result.console.count("press a key") == 1, result.explain()


def test_a_wrong_end_is_named_with_what_is_right(tacet: Run) -> None:
    result = tacet("status.musl", "3", options="end=nonsense")
    assert (result.outcome, result.status) == ("stop", 64), result.explain()
    assert result.reason == "end=nonsense: it can be poweroff, reboot, halt, wait", result.explain()


def test_a_mistake_in_another_option_ends_the_node_as_end_says(tacet: Run, tmp_path: Path) -> None:
    with Monitor(tmp_path, still_runs) as monitor:
        result = tacet(
            "status.musl",
            "3",
            options="end=halt console=nowhere",
            qemu_options=monitor.options,
            on_console=monitor.at(b"no such console"),
        )
    monitor.check()
    assert re.search("console=nowhere: this machine has no such console", result.console), result.explain()


def test_a_program_that_ends_well_still_does(tacet: Run) -> None:
    expect_exit(tacet("status.musl", "0", options="end=poweroff"))
