# SPDX-License-Identifier: BSD-2-Clause
"""Requests for keys and their answers as bytes (docs/nettick.md), written from the documents for the tests
alone: X25519 (RFC 7748), ChaCha20-Poly1305 (RFC 8439), HChaCha20, and a node that asks for its keys.

    asker = Asker(b"n1", address, conductor_key)
    wire.send(asker.frame())
    keys = asker.keys_of(wire.recv(2000))
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass, field

from tests.beat_frames import ETHERTYPE, PAYLOAD_AT, framed
from tests.keys import siphash_128

KEY_REQUEST, KEY_ANSWER = 4, 5
VERSION = 2
#: The command at which nodes ask once more.
REKEY = 11
#: Version, kind, length, number, start, public key, name; then a proof.
REQUEST = struct.Struct(">BBHIQ32s32s")
REQUEST_BYTES = REQUEST.size + 16
#: Version, kind, length, number; then the nonce, both keys sealed, the tag.
ANSWER_HEAD = struct.Struct(">BBHI")
ANSWER_BYTES = ANSWER_HEAD.size + 12 + 32 + 16
_PRIME = (1 << 255) - 19
_WORD = (1 << 32) - 1
_CONSTANTS = struct.unpack("<4I", b"expand 32-byte k")


def x25519(secret: bytes, point: bytes = (9).to_bytes(32, "little")) -> bytes:
    """RFC 7748 §5."""
    clamped = bytes([secret[0] & 248]) + secret[1:31] + bytes([secret[31] & 127 | 64])
    scalar = int.from_bytes(clamped, "little")
    x1 = int.from_bytes(point, "little") & ((1 << 255) - 1)
    x2, z2, x3, z3, swap = 1, 0, x1, 1, 0
    for bit in range(254, -1, -1):
        if swap ^ (swap := scalar >> bit & 1):
            x2, x3, z2, z3 = x3, x2, z3, z2
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        aa, bb, da, cb = a * a, b * b, d * a, c * b
        e = aa - bb
        x3, z3 = (da + cb) ** 2 % _PRIME, x1 * (da - cb) ** 2 % _PRIME
        x2, z2 = aa * bb % _PRIME, e * (aa + 121665 * e) % _PRIME
    if swap:
        x2, z2 = x3, z3
    return (x2 * pow(z2, _PRIME - 2, _PRIME) % _PRIME).to_bytes(32, "little")


def _rounds(state: list[int]) -> list[int]:
    """The twenty rounds of ChaCha20."""
    s = list(state)

    def quarter(a: int, b: int, c: int, d: int) -> None:
        for left, right, bits in ((a, b, 16), (c, d, 12), (a, b, 8), (c, d, 7)):
            s[left] = (s[left] + s[right]) & _WORD
            other = d if left == a else b
            s[other] ^= s[left]
            s[other] = (s[other] << bits | s[other] >> (32 - bits)) & _WORD

    for _ in range(10):
        for column in range(4):
            quarter(column, 4 + column, 8 + column, 12 + column)
        for row in range(4):
            quarter(row, 4 + (row + 1) % 4, 8 + (row + 2) % 4, 12 + (row + 3) % 4)
    return s


def hchacha20(key: bytes, nonce: bytes = bytes(16)) -> bytes:
    out = _rounds([*_CONSTANTS, *struct.unpack("<8I", key), *struct.unpack("<4I", nonce)])
    return struct.pack("<8I", *out[:4], *out[12:])


def chacha20(key: bytes, nonce: bytes, counter: int, text: bytes) -> bytes:
    out = bytearray()
    for at in range(0, len(text), 64):
        block = [*_CONSTANTS, *struct.unpack("<8I", key), counter, *struct.unpack("<3I", nonce)]
        stream = struct.pack("<16I", *((x + y) & _WORD for x, y in zip(block, _rounds(block))))
        out += bytes(x ^ y for x, y in zip(text[at : at + 64], stream))
        counter += 1
    return bytes(out)


def _tag(key: bytes, nonce: bytes, header: bytes, sealed: bytes) -> bytes:
    """Poly1305 of header and text, as RFC 8439 §2.8 has it."""
    one_time = chacha20(key, nonce, 0, bytes(32))
    r = int.from_bytes(one_time[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    padded = b"".join(part + bytes(-len(part) % 16) for part in (header, sealed))
    total = 0
    for at in range(0, len(padded) + 16, 16):
        block = padded[at : at + 16] or struct.pack("<QQ", len(header), len(sealed))
        total = (total + int.from_bytes(block + b"\1", "little")) * r % ((1 << 130) - 5)
    return ((total + int.from_bytes(one_time[16:], "little")) & ((1 << 128) - 1)).to_bytes(16, "little")


def seal(key: bytes, nonce: bytes, header: bytes, text: bytes) -> bytes:
    sealed = chacha20(key, nonce, 1, text)
    return sealed + _tag(key, nonce, header, sealed)


def unseal(key: bytes, nonce: bytes, header: bytes, sealed: bytes) -> bytes | None:
    """The text, or None if these do not belong together."""
    text, tag = sealed[:-16], sealed[-16:]
    return chacha20(key, nonce, 1, text) if _tag(key, nonce, header, text) == tag else None


def fingerprint(public: bytes) -> str:
    digits = public[:10].hex()
    return "-".join(digits[at : at + 5] for at in range(0, 20, 5))


@dataclass
class Asker:
    """A node that asks for its keys."""

    name: bytes
    address: bytes
    conductor: bytes
    start: int = 1
    number: int = 1
    secret: bytes = field(default_factory=lambda: os.urandom(32))
    version: int = VERSION
    #: Its key for tickets, once it has one.
    ticket: bytes = b""

    @property
    def public(self) -> bytes:
        return x25519(self.secret)

    @property
    def print(self) -> str:
        return fingerprint(self.public)

    def payload(self) -> bytes:
        head = (self.version, KEY_REQUEST, REQUEST_BYTES, self.number, self.start)
        body = REQUEST.pack(*head, self.public, self.name.ljust(32, b"\0"))
        return body + (siphash_128(self.ticket, body) if self.ticket else bytes(16))

    def frame(self) -> bytes:
        return framed(self.payload(), source=self.address)

    def header(self, head: bytes) -> bytes:
        """What an answer's tag covers besides the keys."""
        return head + self.public + self.conductor + self.address + struct.pack(">Q", self.start)

    def keys_of(self, frame: bytes) -> tuple[bytes, bytes] | None:
        """The beats' key and the tickets' key of an answer; None if it is none to this request."""
        payload = frame[PAYLOAD_AT : PAYLOAD_AT + ANSWER_BYTES]
        if frame[12:14] != ETHERTYPE or len(payload) < ANSWER_BYTES:
            return None
        head = payload[: ANSWER_HEAD.size]
        version, kind, length, number = ANSWER_HEAD.unpack(head)
        if (version, kind, length, number) != (VERSION, KEY_ANSWER, ANSWER_BYTES, self.number):
            return None
        session = hchacha20(x25519(self.secret, self.conductor))
        nonce, sealed = payload[ANSWER_HEAD.size :][:12], payload[ANSWER_HEAD.size + 12 :]
        keys = unseal(session, nonce, self.header(head), sealed)
        return (keys[:16], keys[16:]) if keys else None
