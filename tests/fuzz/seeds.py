# SPDX-License-Identifier: BSD-2-Clause
"""Generates the fuzzers' first inputs, so that the tree has no binary files."""

import struct
from collections.abc import Callable, Iterator
from pathlib import Path

GENERATORS: dict[str, Callable[[], Iterator[bytes]]] = {}


def write(name: str, folder: Path) -> None:
    """Writes the seeds of fuzzer `name` as numbered files; it may have none."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = GENERATORS.get(name)
    if generator is None:
        return
    for number, content in enumerate(generator()):
        (folder / str(number)).write_bytes(content)


BASE = 0x10000  # where the fuzzers' memory begins


def seeds_of(name: str) -> Callable[[Callable[[], Iterator[bytes]]], Callable[[], Iterator[bytes]]]:
    def register(generator: Callable[[], Iterator[bytes]]) -> Callable[[], Iterator[bytes]]:
        GENERATORS[name] = generator
        return generator

    return register


MAP = struct.pack("<" + "QQII" * 3, 0, 0x9FC00, 1, 0, 0xF0000, 0x10000, 2, 0, 0x100000, 0x7F00000, 1, 0)


@seeds_of("multiboot2")
def multiboot2() -> Iterator[bytes]:
    def tag(kind: int, content: bytes) -> bytes:
        return struct.pack("<II", kind, len(content) + 8) + content + bytes(-len(content) % 8)

    tags = [
        tag(1, b"app=/bin/ftq ranks=2\0"),
        tag(3, struct.pack("<II", 0x9000, 0xA000) + b"initrd\0"),
        tag(6, struct.pack("<II", 24, 0) + MAP),
        tag(8, struct.pack("<QIIIBBH", 0xB8000, 160, 80, 25, 16, 2, 0)),
        tag(12, bytes(8)),
        tag(14, b"RSD PTR " + bytes(12)),
        tag(15, b"RSD PTR " + bytes(28)),
    ]
    colours = bytes((16, 8, 8, 8, 0, 8))
    screens = [
        tag(8, struct.pack("<QIIIBBH", 0xC0000000, 1366 * 4 + 8, 1366, 768, 32, 1, 0) + colours),
        tag(8, struct.pack("<QIIIBBH", 0x80000000, 300, 100, 50, 24, 1, 0) + colours),
        tag(8, struct.pack("<QIIIBBH", 0x80000000, 640, 640, 480, 8, 0, 0) + struct.pack("<I", 1) + bytes(3)),
    ]
    for chosen in (tags, *([*tags[:3], screen] for screen in screens)):
        body = b"".join(chosen) + tag(0, b"")
        yield struct.pack("<II", len(body) + 8, 0) + body


@seeds_of("pvh")
def pvh() -> Iterator[bytes]:
    module = struct.pack("<QQQQ", 0x7F00000, 0x1000, BASE + 200, 0)
    head = struct.pack(
        "<IIIIQQQQII", 0x336EC578, 1, 0, 1, BASE + 56, BASE + 210, 0xF52D0, BASE + 88, len(MAP) // 24, 0
    )
    start = head + module + MAP
    yield start + bytes(200 - len(start)) + b"initrd\0\0\0\0" + b"app=/bin/fwq\0"


@seeds_of("command_line")
def command_line() -> Iterator[bytes]:
    yield b'app=/bin/ftq env=OMP_NUM_THREADS=4 stack=16M quiet ranks=0x10 -- -n 1000 "a b" c\\ d'


@seeds_of("symbols")
def symbols() -> Iterator[bytes]:
    names = b"\0compute\0label\0"
    table = (
        bytes(24)
        + struct.pack("<IBBHQQ", 1, 2, 0, 1, 0x1000, 0x40)
        + struct.pack("<IBBHQQ", 9, 0, 0, 1, 0x1080, 0)
    )
    head = (
        b"\x7fELF\x02\x01\x01"
        + bytes(9)
        + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, 0x1000, 0, 64, 0, 64, 0, 0, 64, 3, 0)
    )
    sections = bytes(64)
    for kind, offset, length, link, entry in (
        (2, 256, len(table), 2, 24),
        (3, 256 + len(table), len(names), 0, 0),
    ):
        sections += struct.pack("<IIQQQQIIQQ", 0, kind, 0, 0, offset, length, link, 0, 1, entry)
    for address in (0x1001, 0x1100, 0):
        yield struct.pack("<Q", address) + head + sections + table + names


@seeds_of("elf")
def elf() -> Iterator[bytes]:
    def program(kind: int, base: int) -> bytes:
        segments = [
            (1, 4, 0, base, 0x200, 0x200),
            (1, 5, 0x200, base + 0x1200, 0x40, 0x40),
            (1, 6, 0x240, base + 0x2240, 0x20, 0x3000),
            (0x6474E551, 6, 0, 0, 0, 0),
        ]
        head = b"\x7fELF\x02\x01\x01" + bytes(9)
        head += struct.pack(
            "<HHIQQQIHHHHHH", kind, 62, 1, base + 0x1200, 64, 0, 0, 64, 56, len(segments), 64, 0, 0
        )
        for what, flags, offset, address, in_file, in_memory in segments:
            head += struct.pack(
                "<IIQQQQQQ", what, flags, offset, address, address, in_file, in_memory, 0x1000
            )
        return head + bytes(0x260 - len(head))

    yield program(2, 0x400000)
    yield program(3, 0)


@seeds_of("tree")
def tree() -> Iterator[bytes]:
    def entry(name: bytes, mode: int, data: bytes = b"", inode: int = 1, links: int = 1) -> bytes:
        fields = (inode, mode, 0, 0, links, 0, len(data), 8, 1, 0, 0, len(name) + 1, 0)
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + name + b"\0"
        return head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)

    trailer = entry(b"TRAILER!!!", 0)
    paths = b"/bin/a\nlnk/../x\n/loop\n/bin/a/\n\n"
    yield (
        paths
        + entry(b".", 0o40755)
        + entry(b"bin/a", 0o100755, b"data")
        + entry(b"lnk", 0o120777, b"bin")
        + trailer
    )
    yield paths + entry(b"loop", 0o120777, b"./loop") + entry(b"x", 0o120777, b"/bin/../lnk/") + trailer
    linked = (
        entry(b"a", 0o100644, b"", 7, 2) + entry(b"b", 0o100644, b"data", 7, 2) + entry(b"a", 0o100644, b"x")
    )
    yield paths + linked + trailer + bytes(4) + entry(b"c", 0o100644, b"", 7, 2) + trailer


@seeds_of("acpi")
def acpi() -> Iterator[bytes]:
    def table(signature: bytes, content: bytes) -> bytes:
        body = signature + struct.pack("<I", len(content) + 36) + bytes(28) + content
        return body + bytes(-len(body) % 4)

    def machine(revision: int, fadt_bytes: int) -> bytes:
        places: list[int] = []
        memory = bytearray(36 + 36 + 24 + 36 + 48)
        madt = struct.pack("<II", 0xFEE00000, 1) + b"\0\x08\0\0\1\0\0\0\0\x08\1\1\1\0\0\0"
        madt += struct.pack("<BBHIII", 9, 16, 0, 300, 1, 2) + struct.pack("<BBHQ", 5, 12, 0, 0xFEE00000)
        code = bytes(9) + b"\x08_S5_\x12\x08\x04\x0a\x05\x0a\x05\0\0" + bytes(5)
        fadt = bytearray(fadt_bytes - 36)
        fadt[12:17] = struct.pack("<IB", 0xB2, 0xF1)
        fadt[28:32] = struct.pack("<I", 0x604)
        fadt[40:44] = struct.pack("<I", 0x608)
        fadt[55] = 4
        if fadt_bytes >= 244:
            fadt[136:148] = struct.pack("<BBBBQ", 1, 16, 0, 0, 0x604)
            fadt[172:184] = struct.pack("<BBBBQ", 1, 32, 0, 0, 0x608)
        if fadt_bytes >= 276:
            fadt[76:80] = struct.pack("<I", 1 << 20 | 1 << 10)
            fadt[80:93] = struct.pack("<BBBBQB", 1, 8, 0, 1, 0xCF9, 6)
            fadt[208:232] = struct.pack("<BBBBQBBBBQ", 0, 8, 0, 1, 0xFEA00000, 1, 8, 0, 1, 0x405)
        fadt[4:8] = struct.pack("<I", BASE + len(memory))
        hpet = struct.pack("<IBBBBQ", 0, 0, 64, 0, 0, 0xFED00000) + bytes(4)
        srat = bytes(12) + struct.pack("<BBBBIBBHI", 0, 16, 1, 0, 1, 0, 0, 0, 0)
        srat += struct.pack("<BBIHQQIIQ", 1, 40, 1, 0, 1 << 32, 1 << 30, 0, 1, 0)
        srat += struct.pack("<BBHIIIII", 2, 24, 0, 2, 300, 1, 0, 0)
        spcr = struct.pack("<B3xBBBBQ", 0, 1, 8, 0, 1, 0x2F8) + struct.pack("<BBIBBBB", 3, 3, 3, 6, 0, 1, 0)
        spcr += bytes(18)
        tables = {
            b"DSDT": code,
            b"FACP": bytes(fadt),
            b"APIC": madt,
            b"HPET": hpet,
            b"SRAT": srat,
            b"SPCR": spcr,
        }
        for signature, content in tables.items():
            one = table(signature, content)
            places.append(BASE + len(memory))
            memory += one
        memory[0:36] = b"RSD PTR \0ACPI  " + struct.pack("<BIIQI", revision, BASE + 36, 36, BASE + 96, 0)
        root = table(b"RSDT", struct.pack(f"<{len(places)}I", *places))
        memory[36 : 36 + len(root)] = root
        root = table(b"XSDT", struct.pack(f"<{len(places)}Q", *places))
        memory[96 : 96 + len(root)] = root
        return bytes(memory)

    yield machine(0, 116)
    yield machine(2, 244)
    yield machine(2, 276)


@seeds_of("device_tree")
def device_tree() -> Iterator[bytes]:
    # Places in the lists of fuzz_device_tree.c.
    chosen, cpus, cpu, memory, rtas, vdevice, vty, controller, blocks, reserved = range(10)
    up, peer, child = b"\x40", 224, 228
    names = (
        "device_type compatible reg status bootargs initrd-start initrd-end stdout cpu timebase dec-bits "
        "servers associativity points chip-id address-cells size-cells rtas-size time interrupts lisn "
        "eq-sizes lmb-size memory memory-v2 arrays vec-5"
    ).split()

    def have(name: str, content: bytes) -> bytes:
        return bytes([96 + names.index(name), len(content)]) + content

    def cells(name: str, *numbers: int) -> bytes:
        return have(name, struct.pack(f">{len(numbers)}I", *numbers))

    def node(kind: int, *parts: bytes) -> bytes:
        return bytes([kind]) + b"".join(parts) + up

    def processor(*servers: int, domain: int = 0) -> bytes:
        return node(
            cpu,
            have("device_type", b"cpu\0"),
            cells("reg", servers[0]),
            cells("servers", *servers),
            cells("timebase", 512000000),
            cells("dec-bits", 56),
            cells("associativity", 5, 0, 0, 0, domain, servers[0]),
        )

    def ram(base: int, size: int, domain: int = 0) -> bytes:
        near = cells("associativity", 4, 0, 0, 0, domain)
        return node(memory, have("device_type", b"memory\0"), cells("reg", 0, base, 0, size), near)

    root = cells("address-cells", 2) + cells("size-cells", 2)
    functions = node(rtas, cells("rtas-size", 2204), cells("time", 0x2001), cells("points", 4, 4, 2))
    terminal = node(
        vty, have("compatible", b"hvterm1\0"), cells("reg", 0x71000000), cells("interrupts", 4352, 0)
    )
    xive = node(
        controller,
        have("compatible", b"ibm,power-ivpe\0"),
        cells("reg", 0x60302, 0x31B0000, 0, 0x10000, 0x60302, 0x31A0000, 0, 0x10000),
        cells("lisn", 0, 8),
        cells("eq-sizes", 12, 16, 21, 24),
    )
    chosen_one = node(
        chosen, have("bootargs", b"-- one\0"), cells("stdout", 0x10003), have("vec-5", bytes(27))
    )
    plugged = node(
        blocks,
        cells("lmb-size", 0, 1 << 28),
        cells(
            "memory-v2", 2, 2, 0, 0x40000000, 0x80000004, 0, 8, 12, 0, 0x60000000, 0x80000006, 0xFFFFFFFF, 0
        ),
        cells("arrays", 1, 4, 0, 0, 0, 1),
    )
    small = root + node(chosen) + node(cpus, processor(0)) + ram(0, 1 << 28)
    yield small
    yield (
        root
        + node(chosen)
        + node(cpus, processor(0, 1, 2, 3), processor(4, 5, domain=1))
        + functions
        + ram(0, 1 << 28)
        + ram(1 << 28, 1 << 28, 1)
        + node(vdevice, terminal)
        + xive
        + plugged
    )
    yield (
        root
        + chosen_one
        + node(cpus, processor(8))
        + ram(0, 1 << 30)
        + node(reserved, node(10, cells("reg", 0)))
    )
    yield small + bytes([memory, peer, 3])
    yield small + bytes([cpus, child, 2])


@seeds_of("sim")
def sim() -> Iterator[bytes]:
    yield b"""tnum_ranks 2
rank 0 { // first
a: send 8b to 1 tag 1 cpu 1 nic 1
b: recv 200b from -1 tag -1
c: calc 100 cpu 2
c requires b /* and */ c irequires a
}
rank 1 {
l1: recv 8b from 0 tag 1
l2: send 200b to 0 tag 0
l2 requires l1
}
"""
    yield b"n# Measurement period: 1.5 s\n0\t100\n5000\t20.5\n"
    yield b"l0\t100\n5000\t20.5\n9000\t0"
    yield b"o# places\n0\n20.5\n300\n"

    def node(
        waits: int, kind: int, peer: int, size: int, ends: tuple[int, int], starts: tuple[int, int]
    ) -> bytes:
        return struct.pack("<IBIQIBBIIII", waits, kind, peer, size, 0, 0, 0, *ends, *starts)

    parts = [
        struct.pack("<III", 2, 1, 0)
        + node(0, 1, 1, 8, (1, 0), (0, 0))
        + node(1, 3, 0, 50, (0, 0), (0, 0))
        + struct.pack("<I", 1),
        struct.pack("<III", 1, 1, 0) + node(0, 2, 0xFFFFFFFF, 8, (0, 0), (0, 0)),
    ]
    table = b""
    at = 6 + 16 * len(parts)
    for part in parts:
        table += struct.pack("<QQ", at, at + len(part))
        at += len(part)
    yield b"b" + struct.pack("<QIBB", 4223, len(parts), 0, 0) + table + b"".join(parts)


@seeds_of("beat_frame")
def beat_frame() -> Iterator[bytes]:
    header = struct.Struct(">BBHHHQQQQII")
    for commands in ([], [b""], [b"12345", bytes(64)]):
        body = b"".join(
            struct.pack(">HHI", 0x8001, len(text), number) + text + bytes(-len(text) % 4)
            for number, text in enumerate(commands)
        )
        length = header.size + len(body) + 14
        yield header.pack(2, 1, length, 10, len(commands), 5, 7, 10**9, 10**7, 400, 0) + body + bytes(14)
    answer = struct.Struct(">BBHBBHQQQqQQIIQQQQ4sHH32sIQQ14x")
    begin, counts = (2, 2, answer.size, 1, 0, 4, 5, 7, 9, -3, 11, 0, 2, 38), (1, 2, 3, 4)
    for follows in (5, 6):
        yield answer.pack(*begin, *counts, bytes(4), 4, 0, b"node3", 8, 10**9, follows)
    page = struct.Struct(">BBHIQQQQQqQQ")
    for data, offset, size in ((bytes(1408), 1408, 5000), (b"TACETLOG", 0, 8), (b"", 8, 8), (b"", 0, 0)):
        length = page.size + len(data) + 14
        begin = (2, 3, length, 6, 5, 99, 7 * bool(size))
        yield page.pack(*begin, 10**9, 10**18, -3, offset, size) + data + bytes(14)
    yield struct.pack(">BBHIQ32s32s16x", 2, 4, 96, 1, 9, bytes(range(32)), b"node3")
    yield struct.pack(">BBHI60s", 2, 5, 68, 1, bytes(60))


@seeds_of("frames")
def frames() -> Iterator[bytes]:
    def step(make: int, frame: bytes) -> bytes:
        return struct.pack(">BH", make, len(frame)) + frame

    def ip(protocol: int, payload: bytes, options: bytes = b"") -> bytes:
        words = 5 + len(options) // 4
        head = struct.pack(
            ">BBHHHBBH4s4s", 0x40 | words, 0, 0, 1, 0, 64, protocol, 0, b"\x0a\0\0\x02", b"\x0a\0\0\x09"
        )
        return b"\xff" * 6 + b"\x52\x54\0\0\0\x09" + b"\x08\0" + head + options + payload

    def tcp(flags: int, options: bytes = b"", data: bytes = b"") -> bytes:
        words = 5 + len(options) // 4
        return struct.pack(">HHIIBBHHH", 4000, 7, 100, 0, words << 4, flags, 8000, 0, 0) + options + data

    arp = b"\xff" * 6 + b"\x52\x54\0\0\0\x09\x08\x06\0\x01\x08\0\x06\x04\0\x01" + bytes(20)
    offer = bytes(236 + 4) + b"\x35\x01\x02\x36\x04\x0a\0\0\x02\x33\x04\xff\xff\xff\xff\x01\x04\xff\0\0\0\xff"
    acknowledged = offer.replace(b"\x35\x01\x02", b"\x35\x01\x05")
    yield step(31, ip(17, bytes(8) + offer)) + step(5, b"") + step(31, ip(17, bytes(8) + acknowledged))
    facts = b"\x1a\x02\x05\x78\x79\x07\x10\x0a\x32\x0a\0\0\x01\x79\x05\0\x0a\0\0\x02"
    facts += b"\x77\x0e\x07cluster\0\x01a\xc0\0\0" + b"\x06\x0c" + b"\x0a\0\0\x02" * 3
    given = acknowledged[:-1] + facts + b"\xff"
    yield step(31, ip(17, bytes(8) + offer)) + step(5, b"") + step(31, ip(17, bytes(8) + given))
    yield step(0, arp) + step(15, ip(6, tcp(2, b"\x02\x04\x05\xb4\x01\x03\x03\x07"))) + step(9, b"")
    yield step(15, ip(6, tcp(2))) + step(15, ip(6, tcp(16, data=b"hello"))) + step(15, ip(6, tcp(17)))
    selected = b"\x01\x01\x05\x0a" + struct.pack(">II", 3000, 9000)
    yield step(15, ip(6, tcp(2, b"\x04\x02\x01\x01"))) + step(15, ip(6, tcp(16, selected)))
    yield step(15, ip(6, tcp(0x23, b"\x04\x02\x01\x41"))) * 2  # the header ends before an option's length
    yield step(7, ip(1, b"\x08\0\0\0\0\x01\0\x01" + bytes(32))) + step(7, ip(1, b"\x03\x03\0\0" + bytes(40)))
    yield step(7, ip(2, b"\x11\x0a\0\0\xe0\0\0\x01")) + step(
        15, ip(17, bytes(64), b"\x07\x07\x04" + bytes(5))
    )


@seeds_of("pmi")
def pmi() -> Iterator[bytes]:
    yield (
        b"cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_maxes\ncmd=get_my_kvsname\n"
        b"cmd=put kvsname=job_1 key=card-0 value=tcp://10.0.0.1:5000\ncmd=barrier_in\n"
        b"cmd=get kvsname=job_1 key=card-1\ncmd=getbyidx kvsname=job_1 idx=0\ncmd=finalize\n"
    )
    yield b"mcmd=spawn\nnprocs=1\nexecname=/bin/x\nendcmd\ncmd=abort exitcode=3\ncmd=lookup_name service=x\n"


@seeds_of("leases")
def leases() -> Iterator[bytes]:
    yield (
        b"last 1796000123\njob 1796000122 1000\nnodes 1796000122 10.0.0.7/n1 10.0.0.8/n2 10.0.0.9\n"
        b"heard 1796000122 10.0.0.7/n1\nending 1796000122\njob 4 0\nend 4\n"
    )
    yield b"job 4294967295 4294967295\nnodes 4294967295 255.255.255.255/" + b"x" * 31 + b"\nending 1 0"
    yield b"10.0.0.7/n1 10.0.0.8/n2 0.0.0.0/n3"


@seeds_of("admissions")
def admissions() -> Iterator[bytes]:
    head = b"tacet-admissions 1\n"
    admitted = b"admitted 525400000001 " + b"3f" * 32 + b" 1796000123 n1\n"
    expected = b"expected 525400000002 3f2a9-0c417-be5d8-77e10 1796000124 -\n"
    yield head + admitted + expected + b"end 2\n"
    yield head + b"end 0\n"
    yield admitted
    yield expected


@seeds_of("launch_request")
def launch_request() -> Iterator[bytes]:
    required = b"job=7\0ranks=2\0port=4000\0secret=0123456789abcdef\0path=/bin/ftq\0arg=ftq\0"
    yield required
    yield required + b"first=2\0size=4\0cpus=1\0stdin=3\0program=0\0cwd=/tmp\0arg=-n\0env=A=1\0number=RANK\0"
    yield required.replace(b"/bin/", b"") + b"program=4096\0arg=\0env=B=\0number=PMI_RANK\0"
    yield b"launch 131072 0123456789abcdef"
    yield b"launch 1 -"
    yield b"stream 0123456789abcdef 1048575 out"
    yield b"stream 0123456789abcdef 0 pmi"


@seeds_of("greeting")
def greeting() -> Iterator[bytes]:
    begin = b"tacet-launch 2 0123456789abcdef "
    yield begin + b"ticket cpus=4 memory_mib=512 state=idle name=n1 system=Tacet-0.1"
    yield begin + b"open cpus=1 memory_mib=0 state=busy job=4294967295 uid=1000 name=- system=Linux-6.1.0"
    yield b"tacet-launch 1 0123456789abcdef open state=idle"


@seeds_of("mpi_windows")
def mpi_windows() -> Iterator[bytes]:
    """A byte, 1 for a dynamic window, then messages of one-sided communication."""
    put, get, accumulate, fetch, swap, flush, unlock, complete = range(8)
    answer, acknowledge, lock, grant, post = range(8, 13)
    an_int, a_double, a_pair = 6, 13, 55
    maximum, total, maxloc, no_op = 1, 3, 12, 14

    def message(kind: int, source: int, cookie: int = 0, other: int = 0, data: bytes = b"") -> bytes:
        return struct.pack("<BBHQQ", kind, source, len(data), cookie, other) + data

    def run(offset: int, size: int, count: int = 1, stride: int = 0) -> bytes:
        return struct.pack("<qQQq", offset, size, count, stride)

    def word(runs: int, element: int, op: int) -> int:
        return runs | element << 32 | op << 48

    for dynamic in b"\0", b"\1":
        yield dynamic + message(put, 1, 1, 16, run(8, 16) + bytes(16)) + message(flush, 1)
        yield dynamic + message(get, 2, 2, 24, run(64, 4, 4, -16) + run(100, 8))
        yield dynamic + message(accumulate, 1, word(1, an_int, total), 8, run(4, 4, 2, 12) + bytes(8))
        yield dynamic + message(fetch, 3, word(1, a_double, no_op), 8, run(0, 8))
        yield dynamic + message(fetch, 3, word(1, a_pair, maxloc), 12, run(0, 12) + bytes(12))
        yield dynamic + message(swap, 1, word(1, an_int, maximum), 4, run(4, 4) + bytes(8))
        yield dynamic + message(put, 1, 1, 16, run(500, 16) + bytes(16)) + message(flush, 1)
        yield dynamic + message(answer, 1, 64, 0, bytes(64)) + message(acknowledge, 1) + message(grant, 2, 3)
        yield dynamic + message(answer, 1, 16, 0, bytes(16)) + message(answer, 1, 48, 1)
        yield dynamic + message(lock, 1, 3) + message(lock, 2, 2) + message(unlock, 1) + message(unlock, 2)
        yield dynamic + message(complete, 3) + message(post, 2)


def mpi_record(kind: int, source: int, tag: int, data: bytes = b"", size: int = -1, cookie: int = 0) -> bytes:
    """A record: its length, a message's head, and the part of the message's data that comes with it."""
    size = len(data) if size < 0 else size
    return struct.pack("<QIiiIQQQ", 8 + 40 + len(data), 0, tag, source, kind, size, cookie, 0) + data


def mpi_messages() -> Iterator[list[bytes]]:
    eager, synchronous, request, clear, fragment, done = range(6)
    yield [mpi_record(synchronous, 1, 2, bytes(64)), mpi_record(eager, 2, 3, bytes(65))]
    yield [mpi_record(request, 1, 0, size=40), mpi_record(fragment, 1, 0, bytes(40), 40, 1 << 32 | 2)]
    first = 1 << 32 | 1
    yield [mpi_record(clear, 1, 0, size=20000, cookie=first), mpi_record(done, 1, 0, cookie=first)]


@seeds_of("mpi_records")
def mpi_records() -> Iterator[bytes]:
    """A byte, 1 if the hello has been taken; a byte, the pieces' size less 1; then the stream's bytes."""
    magic, secret = 0x31697061746D7074, 0x0123456789ABCDEF
    hello = struct.pack("<QQii", magic, secret, 1, 4)
    yield b"\0\x07" + hello + mpi_record(0, 1, 0, b"short")
    yield b"\0\xff" + hello.replace(b"\x01\0\0\0\x04", b"\x09\0\0\0\x04")
    own = hello.replace(
        b"\x01\0\0\0\x04", b"\0\0\0\0\x04"
    )  # the rank's own number; answers would go to itself
    yield from (b"\0\xff" + own + b"".join(records) for records in mpi_messages())
    for records in mpi_messages():
        yield b"\1\xff" + b"".join(records)


@seeds_of("mpi_shared")
def mpi_shared() -> Iterator[bytes]:
    """A byte: by how many lines the first record is before the ring's end; then lines."""

    def lines(record: bytes) -> bytes:
        return record + bytes(-len(record) % 64)

    for before, records in zip((4, 2, 9), mpi_messages()):
        yield bytes([before]) + b"".join(map(lines, records))
    wrap = lines(struct.pack("<Q", (1 << 64) - 1))
    yield b"\x01" + wrap + lines(mpi_record(0, 1, 0, b"short"))
    yield b"\x01" + lines(mpi_record(0, 1, 0, bytes(60)))  # beyond the ring's end


@seeds_of("mpi_launcher")
def mpi_launcher() -> Iterator[bytes]:
    """A byte for the protocol (1: PMI-2), then what the launcher sends."""
    lines = b"cmd=put_result rc=0\ncmd=barrier_out rc=0\ncmd=get_result rc=0 value=0123456789abcdef\n"
    first = (
        b"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\ncmd=my_kvsname rc=0 kvsname=job_1\n"
        b"cmd=get_result rc=0 value=(vector,(0,1,3),(1,1,1))\n"
    )
    yield b"\0" + first + lines + b"cmd=finalize_ack rc=0\n"
    yield b"\0" + first.replace(b"rc=0\n", b"rc=-1\n")

    def message(text: bytes, prefix: bytes = b"%-6d") -> bytes:
        return prefix % len(text) + text

    begin = b"cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n"
    full = message(b"cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=1;size=5;appnum=-1;")
    mapping = message(b"cmd=info-getjobattr-response;rc=0;found=TRUE;value=(vector,(0,2,2),(2,1,1));")
    rest = message(b"cmd=kvs-put-response;rc=0;") + message(b"cmd=kvs-fence-response;rc=0;", b"%6d")
    value = message(b"cmd=kvs-get-response;rc=0;found=TRUE;value=0123456789abcdef;", b"%6d")
    yield b"\1" + begin + full + mapping + rest + value + message(b"cmd=finalize-response;rc=0;")
    yield b"\1" + begin + full + mapping.replace(b"TRUE", b"FALSE").replace(b"77", b"78") + rest
    yield b"\1" + begin + message(b"cmd=fullinit-response;rc=14;errmsg=no such rank;")
