# SPDX-License-Identifier: BSD-2-Clause
"""Holds the reader of the flight log to its promises, on files made here; nothing starts a machine."""

from __future__ import annotations

import io
import json
import random
import re
import struct
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from lab.cli import dispatch as lab
from lab.flight_log import causes, chrome, names
from lab.formats import klog

KINDS = {
    "program_enter": ("process", "rank entry"),
    "program_end": ("process", "rank status"),
    "system_call": ("syscall", "number argument"),
    "system_call_end": ("syscall", "number result"),
    "exception": ("trap", "vector instruction"),
    "interrupt": ("trap", "vector instruction"),
    "sleep": ("timer", "deadline_ns bound_ns"),
    "sleep_end": ("timer", "deadline_ns now_ns"),
    "clockevent_disarm": ("timer", "0 0"),
    "map": ("memory", "address bytes"),
    "mark": ("mark", "value value"),
}
NUMBER = {name: i for i, name in enumerate(KINDS)}
HZ = 2_000_000_000
BOOT = 1_000_000
NANOSLEEP, EXIT_GROUP = 35, 231

#: ticks since boot, kind, first word, second word
Event = tuple[int, str, int, int]


def packed(cpu: int, event: Event, boot: int = BOOT) -> bytes:
    ticks, kind, first, second = event
    return struct.pack(
        "<QIIQQ",
        boot + ticks,
        NUMBER.get(kind, klog.OVERWRITTEN),
        cpu,
        first & klog.NEVER,
        second & klog.NEVER,
    )


def file_of(
    *cpus: Iterable[Event], lost: int = 0, hz: int = HZ, boot: int = BOOT, architecture: str = "x86_64"
) -> bytes:
    """A file as the kernel writes it: each CPU's events in the order given; as the first version had it,
    where it says no architecture."""
    version = 2 if architecture else 1
    data = struct.pack("<8sIIIIQQ", b"TACETLOG", version, len(cpus), len(KINDS), 32, hz, boot)
    if architecture:
        data += struct.pack("<16s", architecture.encode())
    for name, (event_class, words) in KINDS.items():
        data += struct.pack("<24s16s40s", name.encode(), event_class.encode(), words.encode())
    for cpu, events in enumerate(cpus):
        part = [packed(cpu, event, boot) for event in events]
        data += struct.pack("<IIQ", cpu, len(part), lost) + b"".join(part)
    return data


AT_KINDS = 56
HEADER_BYTES = AT_KINDS + 80 * len(KINDS)

#: A rank that sleeps, with an interrupt in it, and one that is disturbed and leaves.
SLEEPER: list[Event] = [
    (1000, "program_enter", 0, 0x401000),
    (2000, "system_call", NANOSLEEP, 0x7FFF0000),
    (2200, "sleep", 5000, 4096),
    (16500, "interrupt", 0xF1, 0xFFFFFFFF80200000),
    (16600, "sleep_end", 5000, 8300),
    (16700, "system_call_end", NANOSLEEP, 0),
    (16800, "system_call_end", 39, -22),
    (17000, "system_call", EXIT_GROUP, 3),
    (17100, "program_end", 0, 3),
]
OTHER: list[Event] = [
    (1500, "program_enter", 1, 0x401000),
    (2100, "exception", 14, 0x401234),
    (2200, "map", 0x100000000000, 4096),
    (9000, "interrupt", 0xF0, 0x401300),
    (9000, "mark", 7, 8),
]


@pytest.fixture
def log() -> klog.FlightLog:
    return klog.parse(file_of(SLEEPER, OTHER))


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    path = tmp_path / "klog.bin"
    path.write_bytes(file_of(SLEEPER, OTHER))
    return path


def shown(*words: str | Path) -> str:
    out = io.StringIO()
    assert lab.main(["klog", *map(str, words)], out=out) == 0
    return out.getvalue()


# ---- Reading ----


def test_events_of_all_cpus_come_in_the_order_of_time(log: klog.FlightLog) -> None:
    assert len(log) == len(SLEEPER) + len(OTHER)
    assert log.time_ns.tolist() == sorted(ticks // 2 for ticks, *_ in SLEEPER + OTHER)
    assert [log.cpu[i] for i in np.flatnonzero(log.time_ns == 4500)] == [1, 1]
    assert log.kinds[log.kind[0]] == klog.Kind("program_enter", "process", ("rank", "entry"))
    assert log.of("sleep_end").tolist() == [[5000, 8300]]


def test_the_log_describes_itself() -> None:
    """Kinds that this program has never heard of read as well."""
    data = (
        file_of([(10, "mark", 1, 2**40)])
        .replace(b"mark\0", b"frob\0", 1)
        .replace(b"value value", b"pain_ns joy", 1)
    )
    (row,) = list(causes.rows(klog.parse(data)))[1:]
    assert row.split() == ["5", "0", "frob", "pain_ns", "1", "joy", "0x10000000000"]


def test_a_log_without_events_is_a_log() -> None:
    log = klog.parse(file_of([], []))
    assert len(log) == 0 and causes.heading(log) == "flight log: 0 events of 2 CPUs of x86_64"
    assert len(list(causes.rows(log))) == 1 and causes.causes(log) == {}


@pytest.mark.parametrize("hz", [1, 512_000_000, 999_999_937, 1_000_000_000, 2_299_999_999, 5_000_000_000])
def test_times_are_the_kernel_s_own_to_the_nanosecond(hz: int) -> None:
    rng = random.Random(hz)
    limit = 2**63 * hz // klog.NS_PER_S
    ticks = sorted(rng.randrange(min(2 ** rng.randrange(1, 64), limit) or 1) for _ in range(500))
    log = klog.parse(file_of([(t, "mark", 0, 0) for t in ticks], hz=hz, boot=0))
    assert log.time_ns.tolist() == [t * ((klog.NS_PER_S << 32) // hz) >> 32 for t in ticks]


def test_a_node_that_ended_before_it_knew_its_clock_reports_ticks() -> None:
    log = klog.parse(file_of([(77, "exception", 6, 1)], hz=0))
    assert log.time_ns.tolist() == [77] and "times are ticks" in causes.heading(log)


def test_what_was_overwritten_during_the_reading_counts_as_lost() -> None:
    """Also what stands before the last gap: what is kept has no gaps."""
    events = [
        (1, "mark", 1, 1),
        (0, "overwritten", 0, 0),
        (2, "mark", 2, 2),
        (0, "overwritten", 0, 0),
        (3, "mark", 3, 3),
    ]
    log = klog.parse(file_of(events, lost=10))
    assert log.cpus == (klog.CpuPart(0, 1, 14),)
    assert log.words.tolist() == [[3, 3]]
    assert "CPU 0: 14 older events were overwritten" in causes.heading(log)


def test_a_full_log_of_a_large_node_reads_in_seconds() -> None:
    cpus = [[(cpu + 100 * i, "mark", cpu, i) for i in range(1024)] for cpu in range(64)]
    data = file_of(*cpus)
    assert len(data) > 2_000_000
    log = klog.parse(data)
    assert len(log) == 65536 and (np.diff(log.time_ns.astype(np.int64)) >= 0).all()


# ---- Files that are none ----


def corrupt(offset: int, layout: str, value: Any, data: bytes | None = None) -> bytes:
    changed = bytearray(data or file_of(SLEEPER, OTHER))
    struct.pack_into("<" + layout, changed, offset, value)
    return bytes(changed)


AT_CPU = HEADER_BYTES
AT_EVENT = HEADER_BYTES + 16

HOSTILE = {
    "empty": (b"", "the file is empty: the node did not end normally"),
    "text": (b"hello, world\n" * 9, "offset 0: not a flight log: it begins with b'hello, w'"),
    "other magic": (corrupt(3, "B", 0), "offset 0: not a flight log"),
    "header cut": (file_of([])[:33], "offset 0: the file is 7 bytes too short, in the header"),
    "version": (corrupt(8, "I", 3), "offset 8: version 3; this program reads versions 1 to 2"),
    "no version": (corrupt(8, "I", 0), "offset 8: version 0; this program reads versions 1 to 2"),
    "architecture cut": (file_of([])[:55], "offset 40: the file is 1 bytes too short, in the architecture's"),
    "no architecture": (corrupt(40, "16s", b""), "offset 40: the architecture is b'\\x00"),
    "architecture with escape": (corrupt(40, "B", 27), "offset 40: the architecture is b'\\x1b86_64"),
    "architecture without end": (corrupt(40, "16s", b"\xff" * 16), "offset 40: the architecture is b'\\xff"),
    "architecture with a tail": (corrupt(54, "B", 65), "offset 40: the architecture is b'x86_64"),
    "no CPU": (corrupt(12, "I", 0), "offset 12: 0 CPUs"),
    "many CPUs": (corrupt(12, "I", 2**32 - 1), "offset 12: 4294967295 CPUs"),
    "one CPU more": (corrupt(12, "I", 3), "the file is 16 bytes too short, in the part of CPU 2"),
    "one CPU less": (corrupt(12, "I", 1), f"{16 + 32 * len(OTHER)} bytes after the end of the log"),
    "no kinds": (corrupt(16, "I", 0), "offset 16: 0 kinds"),
    "many kinds": (corrupt(16, "I", 2**31), "offset 16: 2147483648 kinds"),
    "event size": (corrupt(20, "I", 64), "offset 20: events of 64 bytes"),
    "kinds cut": (
        file_of([])[:76],
        "offset 56: the file is 60 bytes too short, in the description of event kind 0 of 11",
    ),
    "name with escape": (corrupt(AT_KINDS, "B", 27), "the name of event kind 0 is b'\\x1brogram_enter"),
    "name without end": (corrupt(AT_KINDS, "24s", b"\xff" * 24), "the name of event kind 0 is"),
    "name with a tail": (corrupt(AT_KINDS + 20, "B", 65), "the name of event kind 0 is"),
    "one word": (corrupt(AT_KINDS + 40, "40s", b"rank"), "the words of event kind 0 is b'rank"),
    "same name": (corrupt(AT_KINDS + 80, "24s", b"program_enter"), "two kinds of events have the same name"),
    "CPU out of order": (corrupt(AT_CPU, "I", 1), f"offset {AT_CPU}: the part of CPU 1 instead of CPU 0"),
    "huge count": (corrupt(AT_CPU + 4, "I", 2**32 - 1), f"offset {AT_EVENT}: the file is "),
    "events cut": (
        file_of(SLEEPER)[:-1],
        f"offset {AT_EVENT}: the file is 1 bytes too short, in the 9 events of CPU 0",
    ),
    "unknown kind": (
        corrupt(AT_EVENT + 2 * 32 + 8, "I", 11),
        f"offset {AT_EVENT + 64}: an event of a kind that the file does not",
    ),
    "other CPU": (corrupt(AT_EVENT + 32 + 12, "I", 1), f"offset {AT_EVENT + 32}: an event of another CPU"),
    "before boot": (corrupt(AT_EVENT, "Q", 5), f"offset {AT_EVENT}: an event from before the node's boot"),
    "out of order": (
        corrupt(AT_EVENT + 3 * 32, "Q", BOOT + 1),
        f"offset {AT_EVENT + 96}: an event that is older than the one before",
    ),
    "far future": (
        corrupt(AT_EVENT, "Q", 2**64 - 1),
        f"offset {AT_EVENT + 32}: an event that is older than the one before",
    ),
    "tail": (file_of(SLEEPER) + b"x", "1 bytes after the end of the log"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_wrong_file_is_refused_with_the_reason_and_the_place(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, reason = HOSTILE[name]
    with pytest.raises(klog.KlogError, match=re.escape(reason)):
        klog.parse(data)
    path = tmp_path / "hostile.bin"
    path.write_bytes(data)
    assert lab.main(["klog", str(path)], out=io.StringIO()) == 1
    shown_text = capsys.readouterr().err
    assert (
        shown_text.startswith(f"lab klog: {path}: ")
        and shown_text.count("\n") == 1
        and shown_text.rstrip("\n").isprintable()
    )


@pytest.mark.parametrize("length", range(0, len(file_of(SLEEPER, OTHER)), 13))
def test_a_truncated_file_is_refused(length: int) -> None:
    with pytest.raises(klog.KlogError):
        klog.parse(file_of(SLEEPER, OTHER)[:length])


def test_random_damage_is_refused_or_harmless() -> None:
    rng = random.Random(1)
    whole = file_of(SLEEPER, OTHER)
    for _ in range(2000):
        data = bytearray(whole)
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            log = klog.parse(bytes(data))
        except klog.KlogError:
            continue
        assert all(row.isprintable() for row in causes.rows(log))
        causes.summary(log)
        trace_checked(chrome.chrome(log))


def test_an_endless_file_is_refused() -> None:
    with pytest.raises(klog.KlogError, match="more than .* bytes: a flight log is never that large"):
        klog.read(Path("/dev/zero"))


def test_a_missing_file_is_one_clear_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lab.main(["klog", str(tmp_path / "none")], out=io.StringIO()) == 1
    assert capsys.readouterr().err == f"lab klog: {tmp_path / 'none'}: No such file or directory\n"


# ---- What is shown ----


def test_words_are_named_and_shown_as_what_they_are(log: klog.FlightLog) -> None:
    table = [re.split(r"  +", row.strip()) for row in causes.rows(log)]
    assert table[0] == ["time_ns", "cpu", "event", "words"]
    shown_text = {(row[1], row[2]): row[3:] for row in table}
    assert shown_text["0", "program_enter"] == ["rank 0", "entry 0x401000"]
    assert ["1000", "0", "system_call", "number nanosleep", "argument 0x7fff0000"] in table
    assert shown_text["0", "interrupt"] == ["vector 0xf1 (timer)", "instruction 0xffffffff80200000"]
    assert shown_text["1", "interrupt"] == ["vector 0xf0 (ipi)", "instruction 0x401300"]
    assert shown_text["1", "exception"] == ["vector 0xe (page fault)", "instruction 0x401234"]
    assert shown_text["0", "sleep"] == ["deadline_ns 5000", "bound_ns 4096"]
    assert shown_text["0", "sleep_end"] == ["deadline_ns 5000", "now_ns 8300", "late_ns 3300"]
    assert ["8400", "0", "system_call_end", "number getpid", "result -EINVAL"] in table
    assert shown_text["1", "map"] == ["address 0x100000000000", "bytes 4096"]
    assert shown_text["1", "mark"] == ["value 7", "value_2 8"]


def test_a_deadline_that_never_comes_says_so() -> None:
    (row,) = list(causes.rows(klog.parse(file_of([(2, "sleep", klog.NEVER, 1)]))))[1:]
    assert "deadline_ns never  bound_ns 1" in row
    (row,) = list(causes.rows(klog.parse(file_of([(2, "clockevent_disarm", 0, 0)]))))[1:]
    assert row.endswith("clockevent_disarm")


def test_without_the_kernel_s_source_numbers_are_shown(
    log: klog.FlightLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names.system_calls.cache_clear()
    names.vectors.cache_clear()
    monkeypatch.setattr(names, "ROOT", tmp_path)
    try:
        shown_text = "\n".join(causes.rows(log))
    finally:
        names.system_calls.cache_clear()
        names.vectors.cache_clear()
    assert (
        "number 35 " in shown_text
        and "vector 0xf1  " in shown_text
        and "vector 0xe (page fault)" in shown_text
    )


def words_of(data: bytes) -> list[str]:
    return [re.split(r"  +", row.strip())[3] for row in causes.rows(klog.parse(data))][1:]


def test_numbers_have_the_names_of_the_log_s_own_architecture() -> None:
    """Numbers of the first version are x86_64's. Numbers of an unknown architecture are shown as they are,
    with a line that says so. A call that an architecture lacks has no name there."""
    events = [
        (1, "system_call", 0, 0),
        (2, "system_call", 3, 0),
        (3, "system_call", 140, 0),
        (4, "exception", 3, 0),
        (5, "interrupt", 0xF1, 0),
        (6, "interrupt", 0xF5, 0),
    ]
    own = ["number read", "number close", "number getpriority"]
    own += ["vector 0x3 (breakpoint)", "vector 0xf1 (timer)", "vector 0xf5"]
    assert words_of(file_of(events)) == words_of(file_of(events, architecture="")) == own
    assert klog.parse(file_of(events, architecture="")).architecture == "x86_64"
    power = file_of(events, architecture="ppc64")
    assert words_of(power) == ["number restart_syscall", "number read", "number _llseek"] + [
        "vector 0x3 (data storage)",
        "vector 0xf1 (timer)",
        "vector 0xf5 (range)",
    ]
    assert causes.heading(klog.parse(power)).startswith("flight log: 6 events of 1 CPU of ppc64, from")
    assert (0, "system_call _llseek") in causes.causes(klog.parse(power))
    drawn = {event["name"] for event in trace_checked(chrome.chrome(klog.parse(power)))}
    assert {"system_call _llseek", "interrupt 0xf5 (range)"} < drawn
    other = file_of(events, architecture="riscv64")
    assert words_of(other) == [
        "number 0",
        "number 3",
        "number 140",
        "vector 0x3",
        "vector 0xf1",
        "vector 0xf5",
    ]
    said = "Calls and vectors of riscv64 are shown as numbers; names are known for x86_64, ppc64."
    assert said in causes.heading(klog.parse(other)).splitlines()


def test_power_s_exceptions_have_the_kernel_s_names() -> None:
    text = (ROOT / "arch/ppc64/trap.c").read_text()
    rows = re.findall(r'^    \[(\d+)\] = "([a-z ]+)",$', text, re.MULTILINE)
    assert {int(number): name for number, name in rows} == dict(names.PPC64_EXCEPTIONS) and len(rows) > 5


def test_causes_are_counted_and_timed(log: klog.FlightLog) -> None:
    found = causes.causes(log)
    assert found[0, "system_call nanosleep"] == causes.Cause(1, 7350, 7350)
    assert found[0, "sleep"] == causes.Cause(1, 7200, 7200, 3300)
    assert found[0, "program_enter"] == causes.Cause(1, 8050, 8050)
    assert found[0, "interrupt 0xf1 (timer)"] == causes.Cause(1)
    # Halves of pairs count, without a time: an end whose beginning is gone, a call that does not return.
    assert found[0, "system_call getpid"] == causes.Cause(1)
    assert found[0, "system_call exit_group"] == causes.Cause(1)
    assert found[1, "exception 0xe (page fault)"] == causes.Cause(1)
    text = causes.summary(log)
    assert re.search(r"^sleep +0 +1 +7200 +7200 +3300$", text, re.MULTILINE)
    assert text.index("program_enter") < text.index("nanosleep") < text.index("interrupt 0xf1")


def test_an_end_finds_its_own_beginning() -> None:
    """Not that of another call, nor of another CPU."""
    first = [
        (10, "system_call", 1, 0),
        (20, "system_call", 2, 0),
        (30, "system_call_end", 2, 0),
        (50, "system_call_end", 1, 0),
    ]
    second = [(15, "system_call", 1, 0), (25, "system_call_end", 3, 0)]
    log = klog.parse(file_of(first, second, hz=klog.NS_PER_S))
    taken = {
        (int(log.words[s.begin, 0]), int(log.time_ns[s.end] - log.time_ns[s.begin]))
        for s in causes.spans(log)
    }
    assert taken == {(2, 10), (1, 40)}


def test_a_part_can_be_chosen(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(shown(kept).splitlines()) == 3 + len(SLEEPER) + len(OTHER)
    assert len(shown(kept, "--cpu", "1").splitlines()) == 3 + len(OTHER)
    assert [row.split()[2] for row in shown(kept, "--from", "1100", "--to", "4499").splitlines()[3:]] == [
        "sleep",
        "map",
    ]
    assert lab.main(["klog", str(kept), "--cpu", "2"], out=io.StringIO()) == 1
    assert "no CPU 2; its CPUs are 0 to 1" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "klog.bin"
    path.write_bytes(file_of([(i, "mark", i, i) for i in range(20000)]))
    command = f"{ROOT / 'tools/lab'} klog {path} | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=ROOT, capture_output=True, text=True)
    assert (done.stderr, done.stdout.count("\n")) == ("", 1)


# ---- Chrome's trace format ----


def trace_checked(trace: dict[str, Any]) -> list[dict[str, Any]]:
    """The structure that a viewer needs; the events without the names of tracks."""
    trace = json.loads(json.dumps(trace, allow_nan=False))
    events = trace["traceEvents"]
    for event in events:
        assert event["ph"] in ("M", "X", "i") and isinstance(event["name"], str)
        assert isinstance(event["ts"], float) and event["ts"] >= 0
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int)
        assert (event["ph"] == "X") == ("dur" in event) and event.get("dur", 0.0) >= 0
        assert (event["ph"] == "i") == (event.get("s") == "t")
    timed = [event for event in events if event["ph"] != "M"]
    assert events[: len(events) - len(timed)] == [event for event in events if event["ph"] == "M"]
    assert [event["ts"] for event in timed] == sorted(event["ts"] for event in timed)
    named = {event["tid"] for event in events if event["name"] == "thread_name"}
    assert {event["tid"] for event in timed} <= named
    return timed


def test_the_trace_has_a_track_a_cpu_and_durations_of_pairs(kept: Path, tmp_path: Path) -> None:
    shown_text = shown(kept, "--chrome", tmp_path / "trace.json")
    assert shown_text.startswith(f"{tmp_path / 'trace.json'}: 14 events")
    trace = json.loads((tmp_path / "trace.json").read_text())
    timed = trace_checked(trace)
    names = {e["tid"]: e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"}
    assert names == {0: "CPU 0, rank 0", 1: "CPU 1, rank 1"}
    whole = {e["name"]: (e["ts"], e["dur"]) for e in timed if e["ph"] == "X"}
    assert whole == {"program of rank 0": (0.5, 8.05), "nanosleep": (1.0, 7.35), "sleep": (1.1, 7.2)}
    sleep = next(e for e in timed if e["name"] == "sleep")
    assert sleep["args"] == {"deadline_ns": 5000, "bound_ns": 4096, "now_ns": 8300, "late_ns": 3300}
    instants = {(e["tid"], e["name"]) for e in timed if e["ph"] == "i"}
    assert (0, "interrupt 0xf1 (timer)") in instants and (0, "system_call exit_group") in instants


def test_a_trace_says_what_is_missing() -> None:
    trace = chrome.chrome(klog.parse(file_of(SLEEPER, lost=5)))
    assert trace["otherData"] == {"lost events": {"CPU 0": 5}} and trace["displayTimeUnit"] == "ns"


def test_durations_that_begin_together_come_outermost_first() -> None:
    events = [
        (10, "system_call", 35, 0),
        (10, "sleep", 1, 1),
        (30, "sleep_end", 1, 2),
        (40, "system_call_end", 35, 0),
    ]
    timed = trace_checked(chrome.chrome(klog.parse(file_of(events))))
    assert [event["name"] for event in timed] == ["nanosleep", "sleep"]


def test_large_values_stay_exact_in_json() -> None:
    (event,) = trace_checked(chrome.chrome(klog.parse(file_of([(1, "sleep", 2**63 + 1, klog.NEVER)]))))
    assert event["args"] == {"deadline_ns": str(2**63 + 1), "bound_ns": "never"}
