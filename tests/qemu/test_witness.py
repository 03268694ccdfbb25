# SPDX-License-Identifier: BSD-2-Clause
"""QEMU's own record of entries into the kernel agrees with the kernel's counters: on every CPU, for every
cause, to the last one.

Under a deterministic clock, and with one thread of the host a CPU. See witness.py for how the record comes
about.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from conftest import Run, expect_exit, program
from witness import Witness, entries, is_entry, symbols

import qemu
from qemu import paths

#: The counter of faults of loads and stores.
PAGE_FAULTS = {"x86_64": "exception_14", "ppc64": "exception_3"}
CALLS = ("getpid", "access", "nanosleep", "getcpu")

CLOCKS = pytest.mark.parametrize("icount", [0, None], ids=["icount", "free"])
MACHINES = pytest.mark.parametrize("cpus", [1, 4])


def witness_of_calls(folder: Path, arch: str) -> Witness:
    known = symbols(paths.kernel(arch))
    # A call that is another one with some arguments fixed has a handler call_NAME (syscalls.def).
    handlers = {name: known.get(f"sys_{name}") or known[f"call_{name}"] for name in CALLS}
    marks = {f"call_{name}": address for name, address in handlers.items()}
    return Witness(folder, paths.kernel(arch), marks, arch)


def reported(result: qemu.Result) -> dict[int, Counter[str]]:
    """The counters that each CPU's program has read."""
    counts: dict[int, Counter[str]] = {}
    for line in result.stdout.decode().splitlines():
        _, cpu, cause, count = line.split()
        counts.setdefault(int(cpu), Counter())[cause] = int(count)
    return counts


def window(events: list[str]) -> list[str]:
    """What happened between the program's last two calls of getcpu."""
    marks = [i for i, name in enumerate(events) if name == "call_getcpu"]
    assert len(marks) == 3, f"getcpu was called {len(marks)} times"
    inside = events[marks[1] + 1 : marks[2]]
    assert inside[-1] == "system_calls"  # the entry of the last getcpu itself
    return inside[:-1]


def check(result: qemu.Result, witness: Witness, cpus: int) -> dict[int, Counter[str]]:
    counts, record = reported(result), witness.events()
    assert sorted(counts) == list(range(cpus)), result.explain()
    for cpu, mine in counts.items():
        seen = Counter(window(record[cpu]))
        assert seen == +mine, (
            f"CPU {cpu}: QEMU saw {dict(seen)}, the counters say {dict(mine)}\n{result.explain()}"
        )
    return counts


@CLOCKS
@MACHINES
def test_the_witness_and_the_counters_agree_event_by_event(
    icount: int | None, cpus: int, arch: str, tacet: Run, tmp_path: Path
) -> None:
    witness = witness_of_calls(tmp_path, arch)
    result = expect_exit(
        tacet(
            "witness.musl",
            "busy",
            icount=icount,
            cpus=cpus,
            options="clockevents=writable",
            qemu_options=witness.options,
            time_limit=120,
        )
    )
    counts = check(result, witness, cpus)
    for cpu, mine in counts.items():
        # Neither side may have been blind: there were calls, faults, timers, and on the further CPUs a
        # wake-up.
        assert mine["system_calls"] >= 1234 and mine[PAGE_FAULTS[arch]] == 7, result.explain()
        # A sleep may cost a second interrupt, where the timer's rate was measured a little wrong: early, it
        # is armed again.
        assert 1 <= mine["interrupt_241"] <= 2 * 5 and mine["interrupt_240"] == (cpu > 0), result.explain()


@CLOCKS
@MACHINES
def test_the_witness_sees_a_computing_program_left_alone(
    icount: int | None, cpus: int, arch: str, tacet: Run, tmp_path: Path
) -> None:
    witness = witness_of_calls(tmp_path, arch)
    result = expect_exit(
        tacet(
            "witness.musl",
            "silent",
            "100",
            icount=icount,
            cpus=cpus,
            qemu_options=witness.options,
            time_limit=120,
        )
    )
    counts = check(result, witness, cpus)
    assert all(mine.total() == 0 for mine in counts.values()), result.explain()


@pytest.mark.parametrize(("icount", "cpus"), [(0, 1), (None, 4)])
def test_the_witness_sees_no_entry_in_the_window_of_ftq(
    icount: int | None, cpus: int, arch: str, tacet: Run, tmp_path: Path
) -> None:
    ftq = program("apps/ftq", arch)
    known = symbols(ftq)
    places = {name: known[name] for name in ("grid_measure", "counters_read")}
    witness = Witness(tmp_path, paths.kernel(arch), places, arch)
    result = expect_exit(
        tacet(
            ftq,
            "-n",
            "100",
            *([] if icount is not None else ["-q", "10ms"]),  # on a busy host a CPU may rest for long
            "-s",
            icount=icount,
            cpus=cpus,
            qemu_options=witness.options,
            time_limit=120,
        )
    )
    record = witness.events()
    assert sorted(record) == list(range(cpus)), result.explain()
    assert result.stderr.count(b"kernel_entries: 0") == cpus, result.explain()
    for cpu, events in record.items():
        # The first one is the rehearsal; what follows the last one's end is the printing of the results.
        start = len(events) - 1 - events[::-1].index("grid_measure")
        end = events.index("counters_read", start)
        assert entries(events[start:end]) == Counter(), f"CPU {cpu}\n{result.explain()}"
        assert sum(map(is_entry, events[:start])) > 0 and sum(map(is_entry, events[end:])) > 0, (
            "the witness was blind"
        )


@CLOCKS
def test_the_witness_of_a_newer_qemu_agrees_too(
    icount: int | None, arch: str, tacet: Run, tmp_path: Path
) -> None:
    if qemu.qemu_binary("newest", arch) == qemu.qemu_binary(arch=arch):
        pytest.skip("no newer QEMU here (make qemu10)")
    witness = witness_of_calls(tmp_path, arch)
    run = tacet(
        "witness.musl",
        "busy",
        icount=icount,
        cpus=4,
        qemu="newest",
        options="clockevents=writable",
        qemu_options=witness.options,
        time_limit=120,
    )
    check(expect_exit(run), witness, 4)


def test_the_witness_sees_the_entries_of_a_logged_system_call_too(
    arch: str, tacet: Run, tmp_path: Path
) -> None:
    # With system calls in the flight log, these come in by another door; they are counted as before.
    witness = witness_of_calls(tmp_path, arch)
    run = tacet(
        "witness.musl",
        "busy",
        icount=0,
        cpus=2,
        options="klog_classes=all clockevents=writable",
        qemu_options=witness.options,
        time_limit=120,
    )
    check(expect_exit(run), witness, 2)
