#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Take the kernel proper (vmlinux, an ELF file) out of a compressed Linux kernel: extract.py VMLINUZ VMLINUX.

QEMU starts the ELF by its PVH note, as it starts Tacet. The guest then does not decompress 60 MB itself,
which takes an emulated CPU longer than all the rest of the boot. Fields: Documentation/arch/x86/boot.rst in
Linux.
"""

from __future__ import annotations

import bz2
import lzma
import struct
import sys
import zlib
from pathlib import Path

SETUP_SECTORS = 0x1F1
SIGNATURE = 0x202
PAYLOAD = 0x248  # offset from the end of the setup code, and length, two words

ELF = b"\x7fELF"


def decompress(payload: bytes) -> bytes:
    """The payload without its compression; what follows the compressed stream is ignored."""
    if payload.startswith(b"\xfd7zXZ\0"):
        return lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(payload)
    if payload.startswith(b"\x5d\0\0"):
        return lzma.LZMADecompressor(lzma.FORMAT_ALONE).decompress(payload)
    if payload.startswith(b"\x1f\x8b"):
        return zlib.decompressobj(wbits=31).decompress(payload)
    if payload.startswith(b"BZh"):
        return bz2.BZ2Decompressor().decompress(payload)
    if payload.startswith(ELF):
        return payload
    raise ValueError(f"unknown compression, first bytes {payload[:6].hex()}")


def extract(image: bytes) -> bytes:
    if image[SIGNATURE : SIGNATURE + 4] != b"HdrS":
        raise ValueError("not a Linux kernel for x86")
    offset, length = struct.unpack_from("<II", image, PAYLOAD)
    start = ((image[SETUP_SECTORS] or 4) + 1) * 512 + offset
    kernel = decompress(image[start : start + length])
    if not kernel.startswith(ELF):
        raise ValueError("what was compressed is not an ELF file")
    return kernel


def main() -> int:
    source, target = (Path(name) for name in sys.argv[1:])
    try:
        target.write_bytes(extract(source.read_bytes()))
    except (OSError, ValueError, lzma.LZMAError, zlib.error) as error:
        print(f"extract.py: {source}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
