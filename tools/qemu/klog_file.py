# SPDX-License-Identifier: BSD-2-Clause
"""The flight log's file, in the kernel's format (kernel/debug/klog.h): checks whether it is complete, and
makes one from the rings of a node that did not reach its end. `lab/formats/klog.py` reads its contents."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

from .result import Result

MAGIC = b"TACETLOG"
VERSION = 2
RING_EVENTS = 1024
HEADER = struct.Struct("<8sIIIIQQ16s")
KIND = struct.Struct("<24s16s40s")
CPU = struct.Struct("<IIQ")
EVENT_BYTES = 32


def what_is_missing(data: bytes) -> str:
    """Why a file is not a complete log, as a clause; "" if it is complete."""
    if not data:
        return "it is empty"
    if len(data) < HEADER.size:
        return f"it ends in its header, after {len(data)} bytes"
    magic, version, cpus, kinds, event_bytes, *_ = HEADER.unpack_from(data)
    if (magic, version, event_bytes) != (MAGIC, VERSION, EVENT_BYTES):
        return "it does not begin with a log's header"
    at = HEADER.size + kinds * KIND.size
    for cpu in range(cpus):
        if at + CPU.size > len(data):
            return f"it ends after {len(data)} bytes, before the events of CPU {cpu} of {cpus}"
        at += CPU.size + CPU.unpack_from(data, at)[1] * EVENT_BYTES
        if at > len(data):
            return f"it ends after {len(data)} bytes, within the events of CPU {cpu} of {cpus}"
    return "" if at == len(data) else f"{len(data) - at} bytes follow its end"


def log_missing(result: Result, path: Path) -> str:
    """Why the file kept by a run is not a complete log; "" if it is, or if none can be expected: a node that
    stopped because of its command line may have no log yet, and one that has not ended has sent none."""
    if result.outcome not in ("exit", "stop") or not path.is_file():
        return ""
    try:
        data = path.read_bytes()
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    return "" if not data and result.outcome == "stop" else what_is_missing(data)


def events_of_ring(written: int, ring: bytes) -> tuple[int, bytes]:
    """The number of older events that are lost, and the events in the ring, oldest first.

    The slot of the next event may be half-written, so a full ring holds one event less than it has slots.
    """
    events = len(ring) // EVENT_BYTES
    first = max(0, written - (events - 1))
    slots = (i % events * EVENT_BYTES for i in range(first, written))
    return first, b"".join(ring[at : at + EVENT_BYTES] for at in slots)


def pack(
    architecture: str, clock: tuple[int, int], kinds: bytes, rings: Sequence[tuple[int, bytes]]
) -> bytes:
    """The bytes of a log's file. `clock`: its rate in Hz and its value at boot. `kinds`: the table of kinds
    of events, as the kernel has it. `rings`: for each CPU the number of events ever written, and its
    slots."""
    counts = (len(rings), len(kinds) // KIND.size, EVENT_BYTES)
    parts = [HEADER.pack(MAGIC, VERSION, *counts, *clock, architecture.encode()), kinds]
    for cpu, ring in enumerate(rings):
        lost, events = events_of_ring(*ring)
        parts += [CPU.pack(cpu, len(events) // EVENT_BYTES, lost), events]
    return b"".join(parts)
