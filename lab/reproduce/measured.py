# SPDX-License-Identifier: BSD-2-Clause
"""Measurements for the experiments: a noise program on Linux or Tacet in QEMU, with a daemon if wanted.

Time is a count of instructions (`icount`): the same program, kernel and QEMU give the same data, so a
measurement is a point of the store, like a simulated one. With `shift` S every instruction lasts 2^S ns of
the machine. Debian's kernel has a tick of 250 Hz, one every 4 ms. With shift 2 this is one tick per million
instructions, like a tick of 1000 Hz on a processor with one instruction per nanosecond. So the times of a
measurement are divided by 2^S (`Found.scale`), and its tick is one of 250 Hz times 2^S.

QEMU can watch a function of the program with models of caches (tools/caches). It then reports which accesses
of the function miss, and which accesses of the kernel that interrupts it.

On Linux the program is a small script. It can start a daemon, give each of the two a scheduling
class, and have the kernel log every interrupt with the processor's counter [Tsafrir05 §3.1, klogger].
"""

from __future__ import annotations

import hashlib
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.bench import runner
from lab.common.errors import DataError, LabError
from lab.common.paths import APPS, CACHES, KERNEL
from lab.common.version import files_version
from lab.formats import ftq, phase, selfish
from lab.formats.ftq import parse_report
from lab.formats.trace import Trace
from lab.reproduce.outcome import Settings
from lab.reproduce.store import Maker

#: The tick of Debian's kernel, Hz, and the shift that makes it the papers' 1000 Hz.
TICK_HZ = 250
SHIFT_1000_HZ = 2
MEMORY = "256M"
#: The seed with which tools/qemu starts QEMU under icount.
QEMU_SEED = 1
TIME_LIMIT_S = 600.0  # of one run
#: The first QEMU with the plugin interface that tools/caches needs.
PLUGIN_QEMU = 9
#: The line between the program's data and the kernel's log.
LOG = "--- log"
#: What the kernel logs: interrupts of devices and of the local APIC, and the softirqs that they raise.
EVENTS = ("irq_vectors", "irq")


@dataclass(frozen=True)
class Measurement:
    """One program on one system.

    system   tacet, linux (one CPU, as Debian has it), or linux_tuned
    shift    an instruction lasts 2^shift ns
    policy   Linux: the program's scheduling class, other or fifo
    daemon   arguments of apps/daemon, which runs at the same time; `daemon_policy` is its class, other or
    idle
    logged   Linux: with the kernel's log of interrupts
    watched  the program's function to watch, or empty; `caches` are the processors' caches, in the format of
             tools/caches/cache.h
    """

    system: str
    program: str
    args: tuple[str, ...]
    shift: int = 0
    policy: str = "other"
    daemon: tuple[str, ...] = ()
    daemon_policy: str = "other"
    logged: bool = False
    watched: str = ""
    caches: tuple[str, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether only the program is started."""
        return self.policy == "other" and not self.daemon and not self.logged

    def script(self) -> str:
        """Returns the script that a Linux node runs."""
        lines = ["b=/bin/busybox"]
        # Otherwise the kernel stops a SCHED_FIFO program for 50 ms of each second, which Linux 2.6 did not.
        lines += ["echo -1 >/proc/sys/kernel/sched_rt_runtime_us"] * (self.policy == "fifo")
        if self.logged:
            lines += ["$b mount -t tracefs tracefs /sys/kernel/tracing", "cd /sys/kernel/tracing"]
            lines += ["echo 8192 >buffer_size_kb", "echo x86-tsc >trace_clock"]
            lines += [f"echo 1 >events/{group}/enable" for group in EVENTS]
        if self.daemon:
            words = ["/lab/policy", self.daemon_policy, "/lab/daemon", *self.daemon]
            lines += [f"{shlex.join(words)} &", "daemon=$!"]
        # The log begins empty, and does not include the output of the data.
        lines += ["echo >trace"] * self.logged
        words = ["/lab/policy", self.policy, f"/lab/{self.program}", *self.args]
        lines += [f"{shlex.join(words)} >/tmp/data || exit 1"]
        lines += ["echo 0 >tracing_on"] * self.logged
        lines += ["kill $daemon"] * bool(self.daemon)
        lines += ["$b cat /tmp/data"]
        if self.logged:
            fields = "/local_timer|irq_handler|softirq_e/ {print $4, $5, $6, $7}"
            lines += [f"echo '{LOG}'", f"$b awk '{fields}' trace"]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Event:
    """An interrupt or softirq as the kernel logged it, in ns of the machine."""

    name: str
    start_ns: float
    duration_ns: float


@dataclass(frozen=True)
class Misses:
    """Cache misses of program or kernel on one processor: first level for code and for data, and second
    level."""

    code: int
    data: int
    second: int

    @property
    def first(self) -> int:
        return self.code + self.data


@dataclass(frozen=True)
class Watched:
    """What the watched function did, and what the kernel did while it ran. `misses` are by processor and by
    `program` or `kernel`."""

    instructions: dict[str, int]
    interruptions: int
    misses: dict[tuple[str, str], Misses]


@dataclass(frozen=True)
class Found:
    """The result of a measurement."""

    what: Measurement
    stdout: str
    stderr: str
    watch: str = ""

    @property
    def scale(self) -> int:
        return 1 << self.what.shift

    @property
    def data(self) -> str:
        return self.stdout.partition(LOG)[0]

    def report(self) -> dict[str, str]:
        return parse_report(self.stderr)

    def entries(self) -> int:
        """Returns the interrupts (Linux) or kernel entries (Tacet) in the window."""
        text = self.report().get("kernel_entries", "")
        if not text.isdigit():
            raise DataError(f"{self.what.program} on {self.what.system} did not count its kernel entries")
        return int(text)

    def phases(self) -> phase.PhaseData:
        return phase.parse(self.data, f"{self.what.program} on {self.what.system}")[0]

    def ftq(self) -> ftq.FtqData:
        return ftq.parse(self.data, f"{self.what.program} on {self.what.system}")[0]

    def selfish(self) -> selfish.SelfishData:
        return selfish.parse(self.data, f"{self.what.program} on {self.what.system}")[0]

    def trace(self) -> Trace:
        """Returns selfish's detours in ticks of the processor's counter, scaled. The program measured the
        counter's rate, with an error of a millionth."""
        found = self.selfish()
        rate = float(self.report()["ticks_per_ns"]) / self.scale
        return Trace(
            source=f"{self.what.program} on {self.what.system}",
            format="selfish",
            start_ns=found.start_ns * rate,
            duration_ns=found.duration_ns * rate,
            span_ns=found.period_ns * rate,
            threshold_ns=found.threshold_ns and found.threshold_ns * rate,
        )

    def watched(self) -> Watched:
        """Returns the counts of tools/caches. DataError if the function did not run."""
        where = f"{self.what.program} on {self.what.system}"
        whole = re.match(r"instructions program (\d+) kernel (\d+)\ninterruptions (\d+)\n", self.watch)
        if not whole or not int(whole[1]):
            raise DataError(f"{where}: {self.what.watched} did not run, so nothing was counted")
        line = r"^misses (\S+) (program|kernel) code (\d+) data (\d+) second (\d+)$"
        misses = {
            (name, who): Misses(int(code), int(data), int(second))
            for name, who, code, data, second in re.findall(line, self.watch, re.MULTILINE)
        }
        return Watched({"program": int(whole[1]), "kernel": int(whole[2])}, int(whole[3]), misses)

    def events(self) -> list[Event]:
        """Returns the kernel's log in the order of the events' ends; an event's length excludes what
        interrupted it."""
        open_events: list[list[Any]] = []
        found = []
        for line in self.stdout.partition(LOG)[2].strip().splitlines():
            when, what, *words = line.split()
            kind, _, edge = what.rstrip(":").rpartition("_")
            name = {"local_timer": "timer", "irq_handler": "device"}.get(kind) or softirq_name(words)
            at_ns = float(when.rstrip(":"))
            if edge == "entry":
                open_events.append([name, at_ns, 0.0])
            elif open_events and open_events[-1][0] == name:
                _, start_ns, inner_ns = open_events.pop()
                found.append(Event(name, start_ns, at_ns - start_ns - inner_ns))
                if open_events:
                    open_events[-1][2] += at_ns - start_ns
            else:
                raise DataError(f"the log of {self.what.system}: {line!r} ends an event that has not begun")
        return found


def softirq_name(words: list[str]) -> str:
    """Returns the name of a softirq: "vec=9 [action=RCU]" is "softirq RCU"."""
    return "softirq " + words[1].partition("=")[2].rstrip("]")


def digest(*paths: Path) -> str:
    whole = hashlib.sha256()
    for path in paths:
        whole.update(path.read_bytes())
    return whole.hexdigest()[:20]


def machines_version(made_by: Sequence[Path]) -> str:
    """Returns the version of a measurement: of the emulator, the kernel and the programs."""
    return f"machines {files_version(made_by)}"


def function_range(program: Path, name: str) -> tuple[int, int]:
    """Returns where a function of a program begins and ends. LabError if it does not exist."""
    listed = subprocess.run(["nm", "-S", str(program)], capture_output=True, text=True).stdout
    found = re.search(rf"^(\w+) (\w+) [tT] {re.escape(name)}$", listed, re.MULTILINE)
    if not found:
        raise LabError(f"{program}: it has no function {name}; build it again with `make apps`")
    begin = int(found[1], 16)
    return begin, begin + int(found[2], 16)


def plugin_options(machines: Any, what: Measurement, out: Path) -> list[str]:
    """Returns QEMU's options that watch the program's function; the counts go to `out`. LabError if QEMU or
    the plugin is missing."""
    if not what.caches:
        return []
    if machines.qemu_major(machines.qemu_binary("newest")) < PLUGIN_QEMU:
        raise LabError(f"caches need QEMU {PLUGIN_QEMU} or later; ports/qemu/fetch.sh build installs it")
    if not CACHES.is_file():
        raise LabError(f"{CACHES}: no such plugin of QEMU; build it with `make caches`")
    begin, end = function_range(APPS / what.program, what.watched)
    words = [str(CACHES), f"begin={begin:x}", f"end={end:x}", f"out={out}"]
    words += [f"caches={one}" for one in what.caches]
    return ["-plugin", ",".join(word.replace(",", ",,") for word in words)]


def measure(settings: Settings, what: Measurement) -> Found:
    """Measures, or takes the result for the same program, kernel and QEMU from the store. LabError if the run
    fails."""
    machines: Any = runner.load()
    names = [what.program] if what.plain or what.system == "tacet" else [what.program, "policy"]
    names += ["daemon"] * bool(what.daemon)
    files = [runner.program_found(APPS / name) for name in names]
    variant = {"linux": "stock", "linux_tuned": "tuned"}.get(what.system, "")
    try:
        kernel = machines.LinuxNode(variant).kernel_file() if variant else KERNEL
        if not kernel.is_file():
            raise LabError(f"{kernel}: no such kernel; build it with `make`")
        depends = {
            "system": what.system,
            "args": [what.program, *what.args],
            "shift": what.shift,
            "files": digest(*files),
            "kernel": digest(kernel),
            "qemu": digest(Path(machines.qemu_binary("newest"))),
            "script": "" if what.plain or not variant else what.script(),
            "daemon": [what.daemon_policy, *what.daemon] if what.daemon else [],
        }
        if what.caches:
            plugin_options(machines, what, Path())  # reports at once what is missing
            depends["caches"] = [digest(CACHES), what.watched, *what.caches]

        def compute() -> dict[str, str]:
            with tempfile.TemporaryDirectory(prefix="reproduce") as folder:
                watch = Path(folder) / "watch"
                result = start(machines, what, variant, plugin_options(machines, what, watch))
                runner.result_checked(what.system, result)
                return {
                    "stdout": result.stdout.decode("ascii", errors="replace"),
                    "stderr": result.stderr.decode("ascii", errors="replace"),
                    "watch": watch.read_text(encoding="ascii") if what.caches else "",
                }

        daemon = f", with a daemon ({what.daemon_policy})" if what.daemon else ""
        logged = ", logged" if what.logged else ""
        logged += ", watched" if what.caches else ""
        name = f"{what.program} on {what.system} ({what.policy}{daemon}{logged}), shift {what.shift}"
        made_by = Path(machines.qemu_binary("newest")), kernel, *files
        kept = settings.store.point(name, depends, compute, Maker(machines_version(made_by), QEMU_SEED))
    except machines.RunnerError as error:
        raise LabError(f"{what.system}: {error}") from None
    return Found(what, kept["stdout"], kept["stderr"], kept.get("watch", ""))


def start(machines: Any, what: Measurement, variant: str, qemu_options: list[str]) -> runner.Result:
    common: dict[str, Any] = {
        "memory": MEMORY,
        "icount": what.shift,
        "qemu": "newest",
        "time_limit": TIME_LIMIT_S,
        "qemu_options": qemu_options,
    }
    if not variant:
        if what.daemon:
            common["service"] = [str(APPS / "daemon"), *what.daemon]
            common["options"] = f"service_policy={what.daemon_policy}"
        return machines.run_tacet(APPS / what.program, list(what.args), **common)
    if what.plain:
        return machines.run_linux(APPS / what.program, list(what.args), variant=variant, **common)
    with tempfile.TemporaryDirectory(prefix="reproduce") as folder:
        files = Path(folder) / "lab"
        files.mkdir()
        for name in (what.program, "policy", "daemon"):
            shutil.copy(APPS / name, files)
        (files / "script").write_text(what.script(), encoding="ascii")
        return machines.run_linux(
            machines.BUSYBOX, ["sh", "/lab/script"], variant=variant, files=Path(folder), **common
        )


def measure_all(settings: Settings, wanted: dict[str, Measurement]) -> dict[str, Found]:
    """Measures all, by their names. The progress counts all of them from the beginning."""
    settings.store.progress.total += len(wanted)
    return {name: measure(settings, what) for name, what in wanted.items()}
