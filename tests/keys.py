# SPDX-License-Identifier: BSD-2-Clause
"""Keys and tickets (docs/jobs.md, docs/nettick.md), written from the documents for the tests alone:
SipHash-2-4, a node's keys, which are made of the site's master key, and what tacetrun says to a node."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Sequence
from pathlib import Path

MASTER = bytes(range(16))
TICKET_S = 60
_WORD = (1 << 64) - 1


def _siphash(key: bytes, message: bytes, words: int) -> list[int]:
    """SipHash-2-4's result, written from the paper: one word, or two of the variant with 128 bits."""
    k0, k1 = struct.unpack("<QQ", key)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]
    v[1] ^= 0xEE if words == 2 else 0

    def turn(value: int, bits: int) -> int:
        return (value << bits | value >> (64 - bits)) & _WORD

    def rounds(count: int) -> None:
        for _ in range(count):
            v[0] = (v[0] + v[1]) & _WORD
            v[2] = (v[2] + v[3]) & _WORD
            v[1] = turn(v[1], 13) ^ v[0]
            v[3] = turn(v[3], 16) ^ v[2]
            v[0] = turn(v[0], 32)
            v[2] = (v[2] + v[1]) & _WORD
            v[0] = (v[0] + v[3]) & _WORD
            v[1] = turn(v[1], 17) ^ v[2]
            v[3] = turn(v[3], 21) ^ v[0]
            v[2] = turn(v[2], 32)

    whole = message + bytes(-(len(message) + 1) % 8) + bytes([len(message) & 0xFF])
    for (word,) in struct.iter_unpack("<Q", whole):
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xEE if words == 2 else 0xFF
    rounds(4)
    result = [v[0] ^ v[1] ^ v[2] ^ v[3]]
    if words == 2:
        v[1] ^= 0xDD
        rounds(4)
        result.append(v[0] ^ v[1] ^ v[2] ^ v[3])
    return result


def siphash(key: bytes, message: bytes) -> int:
    return _siphash(key, message, 1)[0]


def siphash_128(key: bytes, message: bytes) -> bytes:
    return struct.pack("<QQ", *_siphash(key, message, 2))


def derive(key: bytes, label: str, identity: bytes = b"") -> bytes:
    return siphash_128(key, label.encode() + b"\0" + identity)


#: Of beats, from the tests' master key.
KEY = derive(MASTER, "tacet beats")


def node_lines(node: str, master: bytes = MASTER) -> str:
    """The file of a node's keys."""
    ticket = derive(master, "tacet ticket", node.encode())
    return f"beats {derive(master, 'tacet beats').hex()}\nticket {ticket.hex()}\n"


def key_write(path: Path, content: str) -> Path:
    """Write a file of keys, which only its owner can read."""
    path.write_text(content)
    path.chmod(0o600)
    return path


def ticket(
    nonce: str,
    node: str = "",
    *,
    job: int = 1,
    uid: int | None = None,
    gid: int | None = None,
    groups: Sequence[int] = (),
    expires: int | None = None,
    master: bytes | None = MASTER,
) -> str:
    """What follows "launch BYTES ": JOB UID GID GROUPS EXPIRES MAC, by default this process's. Without a
    master key for nodes without keys."""
    uid = os.getuid() if uid is None else uid
    gid = os.getgid() if gid is None else gid
    sealed = f"{job} {uid} {gid} {','.join(map(str, groups)) or '-'} "
    if master is None:
        return sealed + "0 -"
    sealed += str(int(time.time()) + TICKET_S if expires is None else expires)
    own = derive(
        derive(master, "tacet ticket", node.encode()), "tacet-launch 2", bytes.fromhex(nonce) + node.encode()
    )
    return f"{sealed} {siphash_128(own, sealed.encode()).hex()}"
