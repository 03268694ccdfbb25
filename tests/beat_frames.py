# SPDX-License-Identifier: BSD-2-Clause
"""Heartbeats as bytes (docs/nettick.md), written from the documents for the tests alone: a builder of
frames in which every field can be anything.

    wire.send(Beat(sequence=7).frame())
    wire.send(Beat(sequence=8, commands=[Command(code=1, number=5, body=b"x")]).frame(key))
    wire.send(Answer(sequence=8, name=b"node3", done=5).frame(to, source))
    wire.send(Page(number=9, offset=1408, size=5000, data=b"…").frame(to, source))
    beat = beat_of(wire.recv(2000))
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from tests.keys import KEY, siphash

#: Version, kind, length, answer every, commands, epoch, sequence, time, period, late, TAI - UTC.
HEADER = struct.Struct(">BBHHHQQQQII")
TAG_BYTES = 8
#: The sender's address and the tag, which end each payload.
END_BYTES = 6 + TAG_BYTES
VERSION = 2
ETHERTYPE = b"\x88\xcb"
BROADCAST = b"\xff" * 6
SOURCE = bytes.fromhex("025400000001")
#: Where the payload begins in a frame, and a frame's least length without its checksum.
PAYLOAD_AT, FRAME_MIN = 14, 60
EPOCH = 10**18
BEAT, ANSWER, PAGE = 1, 2, 3
VERSION = 2
#: A command: code, bytes of the body, number.
COMMAND = struct.Struct(">HHI")
#: Added to the code of a command that is to be acknowledged.
ACKNOWLEDGE = 0x8000
#: Not really a command: it says which nodes may obey, with this number of bytes for each.
WELCOME, WELCOME_BYTES = 8, 8
#: Holds the flight log for a number of seconds (0: releases it); has a node send pages: address, offset,
#: count.
HOLD, SEND_PAGES = 9, 10
PAGE_REQUEST = struct.Struct(">6sQH")
#: Version, kind, length, number of the command, epoch, start, beat of the hold, both clocks there, drift,
#: offset, size of the file; then at most PAGE_BYTES of it.
PAGE_HEAD = struct.Struct(">BBHIQQQQQqQQ")
PAGE_BYTES = 1408
#: Version, kind, length, state, welcomed, CPUs, epoch, sequence, booted, error, beats, lost, done, result,
#: four counters, IPv4 address, ranks, whether it polls, 0, name, job, start, the epoch that the node follows.
ANSWER_BODY = struct.Struct(">BBHBBHQQQqQQIIQQQQ4sHBB32sIQQ")
RUNNING, STOPPED = 1, 2


@dataclass(frozen=True)
class Command:
    """A command in a beat, padded with zeros to a multiple of 4 bytes."""

    code: int
    number: int
    body: bytes = b""

    def encoded(self) -> bytes:
        head = COMMAND.pack(self.code, len(self.body), self.number)
        return head + self.body + bytes(-len(self.body) % 4)


@dataclass(frozen=True)
class Beat:
    """A beat's fields. None: what follows from the other fields: a time of `sequence` periods after the
    epoch, the right length and count of commands."""

    sequence: int = 1
    epoch: int = EPOCH
    period_ns: int = 10_000_000
    time_ns: int | None = None
    late_ns: int = 0
    tai_utc_s: int = 0
    answer_every: int = 0
    commands: Sequence[Command] = ()
    command_count: int | None = None
    length: int | None = None
    version: int = VERSION
    kind: int = BEAT

    def payload(self, key: bytes = KEY, source: bytes = SOURCE) -> bytes:
        body = b"".join(command.encoded() for command in self.commands)
        time_ns = self.epoch + self.sequence * self.period_ns if self.time_ns is None else self.time_ns
        length = HEADER.size + len(body) + END_BYTES if self.length is None else self.length
        count = len(self.commands) if self.command_count is None else self.command_count
        begin = (self.version, self.kind, length, self.answer_every, count, self.epoch, self.sequence)
        tagged = HEADER.pack(*begin, time_ns, self.period_ns, self.late_ns, self.tai_utc_s) + body
        return ended(tagged, source, key)

    def frame(self, key: bytes = KEY) -> bytes:
        """As it is on the wire, with Ethernet's padding."""
        return framed(self.payload(key))


@dataclass(frozen=True)
class Answer:
    """An answer's fields."""

    sequence: int = 1
    epoch: int = EPOCH
    name: bytes = b"node"
    state: int = RUNNING
    cpus: int = 1
    ranks: int = 0
    booted_ns: int = 1
    error_ns: int = 0
    beats: int = 0
    lost: int = 0
    done: int = 0
    result: int = 0
    #: System calls, exceptions, interrupts, switches.
    counts: tuple[int, int, int, int] = (0, 0, 0, 0)
    ipv4: bytes = bytes(4)
    job: int = 0
    start: int = 1
    welcomed: int = 0
    #: The epoch that the node follows. None: that of the beat that it answers.
    follows: int | None = None
    length: int = ANSWER_BODY.size + END_BYTES
    version: int = VERSION
    kind: int = ANSWER
    polls: int = 0

    def payload(self, key: bytes = KEY, source: bytes = SOURCE) -> bytes:
        begin = (self.version, self.kind, self.length, self.state, self.welcomed, self.cpus)
        beat = (self.epoch, self.sequence)
        middle = (self.booted_ns, self.error_ns, self.beats, self.lost, self.done, self.result)
        follows = self.epoch if self.follows is None else self.follows
        end = (self.ipv4, self.ranks, self.polls, 0, self.name, self.job, self.start, follows)
        tagged = ANSWER_BODY.pack(*begin, *beat, *middle, *self.counts, *end)
        return ended(tagged, source, key)

    def frame(self, to: bytes, source: bytes, key: bytes = KEY) -> bytes:
        return framed(self.payload(key, source), to, source)


@dataclass(frozen=True)
class Page:
    """A page of a flight log. None: the right length."""

    number: int = 1
    epoch: int = EPOCH
    start: int = 1
    beat: int = 1
    local_ns: int = 0
    global_ns: int = 0
    drift: int = 0
    offset: int = 0
    size: int = 0
    data: bytes = b""
    length: int | None = None
    version: int = VERSION
    kind: int = PAGE

    def frame(self, to: bytes, source: bytes, key: bytes = KEY) -> bytes:
        length = PAGE_HEAD.size + len(self.data) + END_BYTES if self.length is None else self.length
        begin = (self.version, self.kind, length, self.number, self.epoch, self.start, self.beat)
        hold = (self.local_ns, self.global_ns, self.drift, self.offset, self.size)
        tagged = PAGE_HEAD.pack(*begin, *hold) + self.data
        return framed(ended(tagged, source, key), to, source)


def ended(body: bytes, source: bytes, key: bytes) -> bytes:
    """A payload with its sender's address and its tag."""
    tagged = body + source
    return tagged + struct.pack(">Q", siphash(key, tagged))


def framed(payload: bytes, to: bytes = BROADCAST, source: bytes = SOURCE) -> bytes:
    return (to + source + ETHERTYPE + payload).ljust(FRAME_MIN, b"\0")


def tagged_payload(frame: bytes, kind: int, key: bytes) -> bytes:
    """The payload of a frame without its end. AssertionError if it is of another kind, or forged."""
    version, its_kind, length = struct.unpack_from(">BBH", frame, PAYLOAD_AT)
    payload = frame[PAYLOAD_AT : PAYLOAD_AT + length]
    assert frame[12:14] == ETHERTYPE and (version, its_kind, len(payload)) == (VERSION, kind, length)
    assert payload == ended(payload[:-END_BYTES], frame[6:12], key)
    return payload[:-END_BYTES]


def beat_of(frame: bytes, key: bytes = KEY) -> Beat:
    """The beat of a frame; its commands fill what is between header and tag."""
    payload = tagged_payload(frame, BEAT, key)
    _, _, length, answer_every, count, *fields = HEADER.unpack_from(payload)
    epoch, sequence, time_ns, period_ns, late_ns, tai_utc_s = fields
    commands, at = [], HEADER.size
    for _ in range(count):
        code, body_bytes, number = COMMAND.unpack_from(payload, at)
        body = payload[at + COMMAND.size : at + COMMAND.size + body_bytes]
        commands.append(Command(code, number, body))
        at += len(commands[-1].encoded())
    assert at == len(payload)
    begin = (sequence, epoch, period_ns, time_ns, late_ns, tai_utc_s)
    return Beat(*begin, answer_every, commands, count, length)


def answer_of(frame: bytes, key: bytes = KEY) -> Answer:
    """The answer of a frame, its name without the zeros that pad it."""
    fields = ANSWER_BODY.unpack(tagged_payload(frame, ANSWER, key))
    version, kind, length, state, welcomed, cpus, epoch, sequence, *said = fields[:14]
    ipv4, ranks, polls, _, name, job, start, follows = fields[18:]
    begin = (sequence, epoch, name.rstrip(b"\0"), state, cpus, ranks, *said)
    return Answer(*begin, fields[14:18], ipv4, job, start, welcomed, follows, length, version, kind, polls)


def page_of(frame: bytes, key: bytes = KEY) -> Page:
    """The page of a frame."""
    payload = tagged_payload(frame, PAGE, key)
    version, kind, length, *fields = PAGE_HEAD.unpack_from(payload)
    return Page(*fields, payload[PAGE_HEAD.size :], length, version, kind)


def welcome_of(address: bytes, start: int, key: bytes = KEY) -> bytes:
    """The welcome that lets the node of this address obey, in the start that has drawn this number."""
    return struct.pack(">Q", siphash(key, address + struct.pack(">Q", start)))


def welcomes_in(beat: Beat) -> list[bytes]:
    bodies = [command.body for command in beat.commands if command.code == WELCOME]
    return [body[at : at + WELCOME_BYTES] for body in bodies for at in range(0, len(body), WELCOME_BYTES)]


def flipped(frame: bytes, bit: int) -> bytes:
    """The frame with another value of one bit of its payload."""
    at = PAYLOAD_AT + bit // 8
    return frame[:at] + bytes([frame[at] ^ 1 << bit % 8]) + frame[at + 1 :]
