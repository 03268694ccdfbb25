# SPDX-License-Identifier: BSD-2-Clause
"""What firmware leaves behind, and processors that say what is not so: the node starts all the same, and
names what it found."""

from __future__ import annotations

import re
from pathlib import Path

from conftest import Run, expect_exit
from monitor import Client, Monitor
from planted import planted

# ---- Machine checks ----

#: MOV SS, ECX: a general protection fault in place of the access, as for a register that is not there.
FAULT = b"\x8e\xd1"


def test_machine_check_registers_that_are_not_there_do_not_stop_the_boot(tacet: Run, tmp_path: Path) -> None:
    result = expect_exit(tacet("status.musl", kernel=planted(tmp_path, "msr_try_write.write", FAULT), cpus=2))
    for cpu in range(2):
        assert re.search(
            rf"machine check: CPU {cpu} counts 10 banks, and has registers for 0; errors", result.console
        ), result.explain()
    result = expect_exit(tacet("status.musl", kernel=planted(tmp_path, "msr_try_read.read", FAULT)))
    assert "machine check" not in result.console, result.explain()


def test_errors_from_before_the_boot_are_logged_and_cleared(tacet: Run, tmp_path: Path) -> None:
    def script(monitor: Client) -> None:
        monitor.human("mce 1 4 0x9400000000000135 0 0x12345000 0")  # corrected: it interrupts nobody
        monitor.command("cont")

    with Monitor(tmp_path, script) as monitor:
        monitor.go()
        result = expect_exit(tacet("status.musl", cpus=2, qemu_options=["-S", *monitor.options]))
    monitor.check()
    assert re.findall(
        r"^tacet: (machine check:.*|  bank.*)$", result.console.replace("\r", ""), re.MULTILINE
    ) == [
        "machine check: CPU 1 has errors from before this boot; logged here and cleared",
        "  bank 4 status 9400000000000135 address 0000000012345000",
    ], result.explain()
