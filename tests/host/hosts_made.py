# SPDX-License-Identifier: BSD-2-Clause
"""Folders as tacet-noise leaves them, of hosts that do not exist: with a tick, settings, and interrupts that
a test chooses."""

from __future__ import annotations

import random
from pathlib import Path

SETTINGS = {
    "format": "tacet-noise 1",
    "status": "running",
    "boot_id": "11111111-2222",
    "started": "1000000",
    "uptime_before": "500.00 10.00",
    "kernel": "6.1.0-18-amd64",
    "cpu_model": "Some CPU <at> 2.6 GHz & more",
    "load_before": "0.02 0.05 0.01 1/200 4711",
    "clocksource": "tsc",
    "nohz_full": "none",
    "isolated": "none",
    "smt_active": "0",
    "irqbalance": "absent",
    "transparent_hugepage": "always [madvise] never",
    "numa_balancing": "0",
    "watchdog": "0",
    "nmi_watchdog": "0",
    "hypervisor": "none",
    "container": "none",
    "osnoise": "not tried: it needs root",
    "uptime_after": "520.00 20.00",
    "ended": "1000020",
}


def selfish_text(cpu: int, hz: float, tooth_ns: int, extra: list[tuple[int, int]], seconds: float) -> str:
    """Detours of a tick, and further ones."""
    count = int(seconds * hz)
    rows = sorted([(int((i + 0.3) * 1e9 / hz), tooth_ns) for i in range(count)] + extra)
    lines = "".join(f"{start}\t{duration}\n" for start, duration in rows)
    return (
        f"# Benchmark Method: selfish\n# thread {cpu}, core {cpu}\n# Sysname Linux\n# Threshold [ns]: 100\n"
        f"{lines}# Measurement period: {seconds} s\n"
    )


def ftq_text(cpu: int, lost: int, quanta: int = 1000) -> str:
    rows = "".join(f"{1_000_000 * i} {15625 - (lost if i % 4 == 1 else 0)}\n" for i in range(quanta))
    return f"# quantum_ns 1000000\n# thread {cpu}, core {cpu}\n{rows}"


def interrupts_text(rows: dict[str, tuple[str, list[int]]]) -> str:
    width = max(len(counts) for _, counts in rows.values())
    head = "      " + " ".join(f"CPU{i}" for i in range(width))
    lines = [f"{name:>4}: {' '.join(map(str, counts))}  {what}" for name, (what, counts) in rows.items()]
    return "\n".join([head, *lines]) + "\n"


def stat_text(ticks: list[tuple[int, ...]]) -> str:
    return "cpu  1 2 3\n" + "".join(
        f"cpu{i} {' '.join(map(str, row))} 0 0\n" for i, row in enumerate(ticks)
    ) + "intr 1\n"  # fmt: skip


def host_made(
    folder: Path,
    name: str,
    *,
    cpus: int = 2,
    hz: float = 250,
    tooth_ns: int = 4_000,
    extra: list[tuple[int, int]] | None = None,
    seconds: float = 2,
    **settings: str,
) -> Path:
    """A host's folder; settings replace the usual ones, an empty one is left out, `__` stands for a dot."""
    host = folder / name
    host.mkdir(parents=True)
    changed = {key.replace("__", "."): value for key, value in settings.items()}
    meta = {**SETTINGS, "host": name, "cpus_measured": ",".join(map(str, range(cpus))), **changed}
    meta.setdefault("status", "complete")
    text = "".join(f"{key}={value}\n" for key, value in meta.items() if value)
    (host / "meta.txt").write_text(text + ("" if "status" in changed else "status=complete\n"))
    generator = random.Random(name)
    for cpu in range(cpus):
        tooth = int(tooth_ns * generator.uniform(0.95, 1.05))
        mine = (extra or []) if cpu == cpus - 1 else []
        (host / f"selfish_{cpu}.dat").write_text(selfish_text(cpu, hz, tooth, mine, seconds))
        (host / f"ftq_{cpu}.dat").write_text(ftq_text(cpu, 60))
    return host


def activity_made(
    host: Path, rows: dict[str, tuple[str, list[int]]], ticks: list[tuple[int, ...]] | None = None
) -> None:
    """Interrupts that came during the 20 s of the run, and what each CPU's time went to."""
    zero = {name: (what, [0] * len(counts)) for name, (what, counts) in rows.items()}
    (host / "interrupts-before.txt").write_text(interrupts_text(zero))
    (host / "interrupts-after.txt").write_text(interrupts_text(rows))
    if ticks:
        (host / "stat-before.txt").write_text(stat_text([tuple(0 for _ in row) for row in ticks]))
        (host / "stat-after.txt").write_text(stat_text(ticks))
