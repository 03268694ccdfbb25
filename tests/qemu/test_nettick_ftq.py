# SPDX-License-Identifier: BSD-2-Clause
"""What heartbeats cost a program that computes, exactly: one instruction takes one nanosecond, so what FTQ
and selfish miss is what the kernel has executed. When a frame comes is the host's matter; what it costs is
not.
[Betti09 §VI]
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import APPS, ROOT, Run, expect_exit
from test_nettick import HEARS, MAC
from test_nettick_commands import Commander, conduct
from wire import Wire
from witness import TRAP_STUB_BYTES

import qemu
from lab.formats import klog
from lab.reproduce.measured import PLUGIN_QEMU
from qemu.symbols import Symbols
from qemu.version import qemu_binary, qemu_major
from tests.beat_frames import Beat
from tests.making import made

QUANTUM_NS = 1_000_000
#: Of the CPU that takes the frame, in instructions, but for each eighth beat, at which the clock is adjusted,
#: and where two have come at once.
BEAT_MIN, BEAT_MAX = 1_000, 1_600
#: At least so much before and after its event in the flight log.
BEFORE_NS, AFTER_NS = 1_000, 2_000
#: Of each other CPU.
OTHERS_MAX = 300
BEATS = 100
#: The stub of the vector by which a beat is passed on (0xf4).
BEAT_VECTOR = 244
#: FTQ begins so soon after the program does.
START_NS = 200_000_000
#: On this machine, between two; slower machines see more beats in the same time of the node's.
PAUSE_S = 0.05
BEATS_MIN = 8


def beside_beats(program: Path, args: list[str], card: str, **further: Any) -> qemu.Result:
    """A program that computes on one CPU, while beats come that the node counts from its boot on."""
    with Wire() as wire:
        is_over = []

        def script(wire: Wire) -> None:
            wire.connected()
            try:
                for sequence in range(1, 10_000):
                    if is_over:
                        break
                    wire.send(Beat(sequence).frame())
                    wire.poll(PAUSE_S)
            except (AssertionError, OSError):
                pass  # the machine has ended

        wire.play(script)
        result = qemu.run_tacet(
            program,
            args,
            icount=0,
            options=HEARS,
            qemu_options=wire.options(card, MAC),
            time_limit=300,
            **further,
        )
        is_over.append(True)
        expect_exit(result)
        wire.check()
    return result


def explains(begin_ns: int, beats: np.ndarray, disturbed: set[int], quanta: int) -> bool:
    """Whether, on a grid that begins there, each disturbed quantum has a beat, or the end of one that began
    in the quantum before, and each beat lies in a disturbed quantum, or ends in one; as far back as the
    flight log goes."""
    first = (beats - BEFORE_NS - begin_ns) // QUANTUM_NS
    last = (beats + AFTER_NS - begin_ns) // QUANTUM_NS
    inside = (first >= 0) & (last < quanta)
    pairs = list(zip(first[inside].tolist(), last[inside].tolist(), strict=True))
    logged = {number for number in disturbed if number >= first.min()}
    return (
        len(logged) >= BEATS_MIN
        and logged <= {number for pair in pairs for number in pair}
        and all(disturbed & set(pair) for pair in pairs)
    )


@pytest.mark.parametrize("card", ["e1000", "e1000e"])
def test_ftq_loses_operations_to_beats_and_to_nothing_else(card: str, tmp_path: Path) -> None:
    kept = tmp_path / "klog.bin"
    result = beside_beats(APPS / "ftq", ["-n", "4000", "-s"], card, klog=kept)
    counts = [int(count) for count in re.findall(r"^\d+ (\d+)\r?$", result.stdout.decode(), re.M)]
    disturbed = {number for number, count in enumerate(counts) if count < max(counts) - 2}
    log = klog.read(kept)
    beats = log.time_ns[[log.kinds[kind].name == "beat" for kind in log.kind]].astype(np.int64)
    sequences, lost = log.of("beat").T.tolist()
    assert sequences == list(range(sequences[0], sequences[0] + len(sequences))) and not any(lost[1:])
    entered = int(log.time_ns[[log.kinds[kind].name == "program_enter" for kind in log.kind]][0])
    places = range(entered, entered + START_NS, BEFORE_NS // 2)
    assert any(explains(begin, beats, disturbed, len(counts)) for begin in places), result.explain()


@pytest.mark.parametrize("card", ["e1000", "e1000e"])
def test_a_beat_costs_the_cpu_that_takes_it_less_than_1600_instructions(card: str) -> None:
    result = beside_beats(APPS / "selfish", ["-r", "4s", "-s"], card)
    detours = sorted(int(ns) for ns in re.findall(r"^\d+\t(\d+)\r?$", result.stdout.decode(), re.M))
    # After several beats at once, which a busy machine hands over late, QEMU's cards interrupt once more, and
    # there is no frame.
    beats = [ns for ns in detours if ns > BEAT_MIN]
    assert len(beats) >= BEATS_MIN and 2 * len(beats) > len(detours), result.explain()
    assert beats[len(beats) // 2] < BEAT_MAX, result.explain()


def test_a_beat_costs_each_other_cpu_less_than_300_instructions(tacet: Run, tmp_path: Path) -> None:
    """Four ranks compute, and a plugin of QEMU counts what each visit to the kernel takes."""
    if qemu_major(qemu_binary("newest")) < PLUGIN_QEMU:
        pytest.skip("QEMU 10 is not there (make qemu10)")
    made("visits")
    out = tmp_path / "visits"

    def script(commander: Commander) -> None:
        for _ in range(BEATS):
            commander.beat()

    plugin = ("-plugin", f"{ROOT / 'build/visits.so'},out={out}")
    options = HEARS.replace("ranks=1", "ranks=4")
    conduct(tacet, script, "wait.musl", cpus=4, options=options, cards=plugin, qemu="newest")
    first = Symbols(qemu.KERNEL).find("trap_stubs_start").address
    stub = first + BEAT_VECTOR * TRAP_STUB_BYTES
    visits = re.findall(r"^cpu (\d+) entry (\w+) visits (\d+) minimum (\d+) ", out.read_text(), re.M)
    beats = {int(cpu): (int(count), int(least)) for cpu, at, count, least in visits if int(at, 16) == stub}
    # CPU 0 has the card; others that stand still take several beats as one. A beat that moves the clock of
    # timers costs more.
    assert sorted(beats) == [1, 2, 3] and all(0 < count <= BEATS for count, _ in beats.values()), beats
    assert all(least < OTHERS_MAX for _, least in beats.values()), beats
