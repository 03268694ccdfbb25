# SPDX-License-Identifier: BSD-2-Clause
"""Writes the flight log in Chrome's trace format, for https://ui.perfetto.dev or chrome://tracing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from lab.flight_log.causes import spans
from lab.flight_log.names import cause, fields
from lab.formats.klog import FlightLog


def _argument(value: str) -> int | str:
    """Returns a number if JavaScript holds it exactly, else the text."""
    return int(value) if re.fullmatch(r"-?\d{1,15}", value) else value


def _tracks(log: FlightLog, node: int, node_name: str) -> Iterator[dict[str, Any]]:
    """Yields the names of the node and of each CPU, with the rank that ran there."""
    ranks: dict[int, int] = {}
    for i, kind in enumerate(log.kinds):
        if kind.words[0] == "rank":
            chosen = log.kind == i
            ranks.update(zip(log.cpu[chosen].tolist(), log.words[chosen, 0].tolist()))
    yield {"ph": "M", "ts": 0.0, "pid": node, "tid": 0, "name": "process_name", "args": {"name": node_name}}
    for part in log.cpus:
        name = f"CPU {part.cpu}" + (f", rank {ranks[part.cpu]}" if part.cpu in ranks else "")
        common = {"ph": "M", "ts": 0.0, "pid": node, "tid": part.cpu}
        yield {**common, "name": "thread_name", "args": {"name": name}}
        yield {**common, "name": "thread_sort_index", "args": {"sort_index": part.cpu}}


def _events(log: FlightLog, node: int) -> list[dict[str, Any]]:
    """Returns complete pairs as durations, all other events as instants; times in µs."""
    whole = spans(log)
    ends = {span.end for span in whole}
    end_of = {span.begin: span.end for span in whole}
    times, cpus = log.time_ns.tolist(), log.cpu.tolist()
    kinds, all_words = log.kind.tolist(), log.words.tolist()
    events: list[dict[str, Any]] = []
    for i, (time_ns, cpu, number, words) in enumerate(zip(times, cpus, kinds, all_words)):
        if i in ends:
            continue
        kind = log.kinds[number]
        shown = fields(kind, words, log.architecture)
        name = cause(kind, words, log.architecture)
        event = {
            "ph": "i",
            "s": "t",
            "ts": time_ns / 1000,
            "pid": node,
            "tid": cpu,
            "name": name,
            "cat": kind.event_class,
        }
        if i in end_of:
            end = end_of[i]
            shown.update(fields(log.kinds[kinds[end]], all_words[end], log.architecture))
            del event["s"]
            event.update(ph="X", dur=(times[end] - time_ns) / 1000, name=name.removeprefix("system_call "))
            if kind.name == "program_enter":
                event["name"] = f"program of rank {words[0]}"
        event["args"] = {field: _argument(value) for field, value in shown.items()}
        events.append(event)
    return events


def _trace(logs: Mapping[str, FlightLog], lost: dict[str, int]) -> dict[str, Any]:
    """Returns a trace with a process per node and a track per CPU."""
    tracks = [track for i, (name, log) in enumerate(logs.items()) for track in _tracks(log, i, name)]
    events = [event for i, log in enumerate(logs.values()) for event in _events(log, i)]
    events.sort(key=lambda event: (event["ts"], -event.get("dur", 0.0)))
    return {"displayTimeUnit": "ns", "otherData": {"lost events": lost}, "traceEvents": [*tracks, *events]}


def chrome(log: FlightLog) -> dict[str, Any]:
    """Returns the log as a Chrome trace."""
    return _trace({"Tacet node": log}, {f"CPU {part.cpu}": part.lost for part in log.cpus if part.lost})


def node_chrome(logs: Mapping[str, FlightLog]) -> dict[str, Any]:
    """Returns the logs of several nodes as one trace. No log has lost an event of the time that it shows."""
    return _trace(logs, {})
