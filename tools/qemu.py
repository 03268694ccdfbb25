# SPDX-License-Identifier: BSD-2-Clause
"""Start QEMU: the one place that knows how. Imported by tools/run, the tests and the benchmarks.

`run_tacet` runs a program on a Tacet node, `run_linux` runs the same file on a Linux node: the same machine, CPU,
memory and serial ports. Both wait for the machine to switch itself off, within a time limit, and return a `Result`.

    COM1   the kernel's console; its last line tells how it ended (see `parse_end`)
    COM2   the program's standard output, byte by byte; its standard input comes in here
    COM3   the program's standard error
    COM4   the flight log, if it is asked for: at its end a Tacet node sends it there, and QEMU writes it into a file

Each of the first three is a FIFO of the host that QEMU opens and this module reads as bytes come, so that a person sees
output while the program runs and nothing is polled. With `icount`, guest time is a function of the instructions executed
and a run prints the same digits each time.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import queue
import re
import selectors
import shlex
import shutil
import signal
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import cpio

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("TACET_BUILD") or ROOT / "build")
KERNEL = BUILD / "x86_64" / "tacet.elf"
BUSYBOX = Path("/bin/busybox")

END_OF_INPUT = b"\x04"

Outcome = Literal["exit", "stop", "timeout", "no-status", "qemu-failed"]
Sink = Callable[[bytes], None]

# The Linux node as Debian installs it, and as somebody sets it up who wants CPU 1 for one program: no tick, no
# callbacks, no interrupts, no timers of the watchdogs there. `tsc=reliable` is what lets the tick stop at all: QEMU's
# CPU promises no constant TSC, and an unstable clock keeps the tick of a nohz_full CPU running.
LINUX_STOCK = "console=ttyS0 quiet"
LINUX_TUNED = (
    LINUX_STOCK + " nohz_full=1 isolcpus=nohz,domain,managed_irq,1 rcu_nocbs=1 rcu_nocb_poll irqaffinity=0"
    " tsc=reliable nowatchdog nosoftlockup mce=ignore_ce audit=0 skew_tick=1 workqueue.power_efficient=0"
)

_INIT = """#!/bin/busybox sh
# The first process of a Linux node: run one program, tell its status, switch the machine off.
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t sysfs sysfs /sys
$b mount -t devtmpfs devtmpfs /dev
$b mkdir /dev/shm
$b mount -t tmpfs tmpfs /dev/shm
$b mount -t tmpfs tmpfs /tmp
$b stty -F /dev/ttyS1 115200 raw -onlcr -echo
$b stty -F /dev/ttyS2 115200 raw -onlcr -echo
{tuning}
. /command </stdin >/dev/ttyS1 2>/dev/ttyS2
echo "linux: exit status=$?"
$b poweroff -f
"""

_TUNING = """
echo 1 >/sys/devices/virtual/workqueue/cpumask
echo 3600 >/proc/sys/vm/stat_interval
echo -1 >/proc/sys/kernel/sched_rt_runtime_us
for irq in /proc/irq/*/smp_affinity; do echo 1 >$irq; done 2>/dev/null
"""


class RunnerError(Exception):
    """The run cannot begin; the text says why in one line."""


@dataclass
class Result:
    """What came out of one run.

    outcome   exit         the program ended, with `status`
              stop         the node ended by itself, for `reason`, with `status`
              timeout      the time limit passed
              no-status    the machine went off and did not say how the program ended
              qemu-failed  QEMU did not run; `reason` is what it said
    console   all that came out of COM1
    command   a command to type that starts the same machine, with the console on the terminal
    seconds   wall time from start to end
    """

    status: int | None
    outcome: Outcome
    reason: str
    console: str
    stdout: bytes
    stderr: bytes
    command: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def explain(self, console_lines: int = 30) -> str:
        """What a failed test shows: how it ended, the console's last lines, the command that repeats it."""
        tail = "\n".join(self.console.splitlines()[-console_lines:]) or "(empty)"
        parts = [f"{self.outcome}, status {self.status}, after {self.seconds:.1f} s: {self.reason or '-'}"]
        if self.stderr:
            parts.append("standard error:\n" + self.stderr.decode(errors="replace")[-2000:].rstrip())
        parts += ["console:\n" + tail, "again:\n" + shlex.join(self.command)]
        return "\n".join(parts)


def clock_options(icount: int | None) -> list[str]:
    """QEMU's options for time. A number is a deterministic run in which one instruction takes 2**icount ns."""
    if icount is None:
        return []
    return ["-icount", f"shift={icount},sleep=off", "-seed", "1", "-rtc", "base=2026-01-01,clock=vm"]


DETERMINISTIC = clock_options(0)


def quote(word: str) -> str:
    """One word of the Tacet command line, as the kernel's parser reads it: quotes only where they are needed."""
    if "\0" in word:
        raise RunnerError("an argument cannot hold a NUL byte")
    if word and not any(c.isspace() or c in '"\\' for c in word):
        return word
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


def tacet_command_line(name: str, args: Sequence[str], env: Mapping[str, str], options: str = "") -> str:
    """The kernel's command line for a program; `options` are kernel options, passed as they are."""
    words = ["stdout=com2", "stderr=com3", f"argv0={name}", *(f"env={k}={v}" for k, v in env.items())]
    raw = [options.strip()] if options.strip() else []
    return " ".join([*map(quote, words), *raw, "--", *map(quote, args)])


_END = re.compile(
    r'^(?:tacet|linux): (exit|stop) status=(\d{1,3})(?: reason="((?:[^"\\]|\\.)*)")?\s*$',
    re.MULTILINE,
)


def parse_end(console: str) -> tuple[Outcome, int | None, str]:
    """How a run ended, by the last line of its kind on the console.

    `tacet: exit status=N`, `linux: exit status=N`: a program ended. `tacet: stop status=N reason="…"`: the node did.
    """
    ends = [end for end in _END.finditer(console.replace("\r", "")) if int(end[2]) <= 255]
    if not ends:
        panic = re.search(r"Kernel panic - not syncing: .*", console)
        return "no-status", None, panic[0].strip() if panic else "the machine went off and told no status"
    kind, status, reason = ends[-1].groups()
    return ("exit" if kind == "exit" else "stop"), int(status), re.sub(r"\\(.)", r"\1", reason or "")


def qemu_binary(which: str = "system") -> str:
    """The QEMU to use: `system` is the installed one, `newest` the unpacked QEMU 10 where there is one."""
    unpacked = BUILD / "qemu10" / "bin" / "qemu-system-x86_64"
    if which == "newest" and unpacked.exists():
        return str(unpacked)
    if which not in ("system", "newest"):
        raise RunnerError(f"no such choice of QEMU: {which}")
    installed = shutil.which("qemu-system-x86_64")
    if installed is None:
        raise RunnerError("qemu-system-x86_64 is not installed (ports/deps.sh run)")
    return installed


def qemu_major(binary: str) -> int:
    """The first number of a QEMU's version."""
    said = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=30).stdout
    version = re.search(r"version (\d+)", said)
    if version is None:
        raise RunnerError(f"{binary} tells no version")
    return int(version[1])


def _kept(name: str, content: bytes) -> Path:
    """A file for QEMU, named by its content, so that a command that was shown works later. The newest 64 stay."""
    folder = BUILD / "run"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha256(content).hexdigest()[:16]}-{name}"
    if path.exists():
        path.touch()
        return path
    handle, part = tempfile.mkstemp(dir=folder, suffix=".part")
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    os.replace(part, path)
    by_age = sorted((p for p in folder.iterdir() if p.suffix == ".cpio"), key=lambda p: p.stat().st_mtime)
    for old in by_age[:-64]:
        old.unlink(missing_ok=True)
    return path


class _Ports:
    """The three serial ports as FIFOs in a folder of their own.

    This side holds a writing end of each until QEMU is gone, so that a reader sees the end of the stream exactly
    then. The FIFOs are made as large as the system allows: a full one makes the guest's port wait for the host, so
    that output would depend on the host's speed, and a guest that waits too long gives bytes up.
    """

    NAMES = ("console", "stdout", "stderr")

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.readers: dict[str, int] = {}
        self.writers: list[int] = []
        for name in self.NAMES:
            for suffix in ("in", "out"):
                os.mkfifo(folder / f"{name}.{suffix}", 0o600)
            self.readers[name] = os.open(folder / f"{name}.out", os.O_RDONLY | os.O_NONBLOCK)
            self.writers.append(os.open(folder / f"{name}.out", os.O_WRONLY))
            try:
                fcntl.fcntl(self.writers[-1], fcntl.F_SETPIPE_SZ, 1 << 20)
            except OSError:
                pass  # a smaller pipe works, unless the reader is starved for long

    def options(self) -> list[str]:
        options: list[str] = []
        for name in self.NAMES:
            path = str(self.folder / name).replace(",", ",,")
            options += ["-chardev", f"pipe,id={name},path={path}", "-serial", f"chardev:{name}"]
        return options

    def hang_up(self) -> None:
        """Let the readers come to an end: QEMU has gone."""
        for writer in self.writers:
            os.close(writer)
        self.writers = []

    def close(self) -> None:
        self.hang_up()
        for reader in self.readers.values():
            os.close(reader)
        self.readers = {}


class _Delivery:
    """Hands output to the sinks from a thread of its own, so that a slow reader never holds the guest up."""

    def __init__(self) -> None:
        self.chunks: queue.SimpleQueue[tuple[Sink, bytes] | None] = queue.SimpleQueue()
        self.failed = os.eventfd(0)  # readable once a sink has raised an exception
        self.failure: BaseException | None = None
        self.thread = threading.Thread(target=self._deliver, daemon=True)
        self.thread.start()

    def _deliver(self) -> None:
        try:
            while item := self.chunks.get():
                sink, chunk = item
                sink(chunk)
        except BaseException as failure:  # raised again in finish()
            self.failure = failure
            os.eventfd_write(self.failed, 1)

    def finish(self) -> None:
        """Wait until everything is handed over; raise what a sink raised."""
        self.chunks.put(None)
        self.thread.join()
        os.close(self.failed)
        if self.failure is not None:
            raise self.failure


def _klog_options(file: Path | None) -> list[str]:
    """QEMU's options for a fourth port that is a file: QEMU itself writes, so no byte can be lost to a slow reader."""
    if file is None:
        return []
    path = os.path.abspath(file).replace(",", ",,")
    return ["-chardev", f"file,id=klog,path={path}", "-serial", "chardev:klog"]


def _klog_begin(file: Path) -> None:
    """Empty the file, so that it never holds the log of an earlier run."""
    try:
        file.write_bytes(b"")
    except OSError as error:
        raise RunnerError(f"the flight log cannot be kept: {error}") from None


def _feed(source: Path | None, port: Path) -> None:
    """Send a file and an end-of-transmission, which the kernel takes as the end of input, into a serial port."""
    try:
        with port.open("wb", buffering=0) as target:
            if source is not None:
                with source.open("rb", buffering=0) as file:
                    while chunk := file.read(4096):
                        target.write(chunk)
            target.write(END_OF_INPUT)
    except OSError:
        pass  # the machine went off first


class _Running:
    """One QEMU process, its ports, and what came out of them. QEMU dies with this process, even if that is killed."""

    def __init__(self, machine: list[str], folder: Path, sinks: Mapping[str, Sink | None], klog: Path | None) -> None:
        self.ports = _Ports(folder)
        self.sinks = sinks
        self.seen: dict[str, bytearray] = {name: bytearray() for name in (*_Ports.NAMES, "qemu")}
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *machine, *self.ports.options(), *_klog_options(klog)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)
        self.sources = {**self.ports.readers, "qemu": self.process.stdout.fileno()}
        self.delivery = _Delivery()

    def take(self, name: str) -> bool:
        """Read what is there; False at the end of the stream."""
        try:
            chunk = os.read(self.sources[name], 1 << 16)
        except BlockingIOError:
            return True
        self.seen[name] += chunk
        if chunk and (sink := self.sinks.get(name)):
            self.delivery.chunks.put((sink, chunk))
        return bool(chunk)

    def wait(self, deadline: float, feed: Callable[[], None] | None) -> bool:
        """Read until the machine is off; False when it had to be killed because of the time.

        `feed` is called at the kernel's first word: then it has set its ports up. A Linux that has panicked, and a
        machine whose output nobody takes any more, are killed too.
        """
        ended = os.pidfd_open(self.process.pid)
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(ended, selectors.EVENT_READ, "ended")
                selector.register(self.delivery.failed, selectors.EVENT_READ, "failed")
                for name, source in self.sources.items():
                    selector.register(source, selectors.EVENT_READ, name)
                while (left := deadline - time.monotonic()) > 0:
                    ready = {key.data: key.fd for key, _ in selector.select(left)}
                    for name in ready.keys() & self.sources.keys():
                        if not self.take(name):
                            selector.unregister(ready[name])
                    if "ended" in ready:
                        return True
                    if "failed" in ready or b"Kernel panic - not syncing" in self.seen["console"]:
                        self.process.kill()
                        return True
                    if feed is not None and self.seen["console"]:
                        feed()
                        feed = None
            self.process.kill()
            return False
        finally:
            os.close(ended)

    def drain(self) -> None:
        """Read what is left in the ports of a machine that is off."""
        self.process.wait()
        self.ports.hang_up()
        for name, source in self.sources.items():
            os.set_blocking(source, True)
            while self.take(name):
                pass

    def close(self) -> None:
        self.delivery.chunks.put(None)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.ports.close()


def _run(
    machine: list[str],
    *,
    stdin: Path | None = None,
    feed: bool = False,
    time_limit: float,
    sinks: Mapping[str, Sink | None],
    klog: Path | None = None,
) -> Result:
    """Run one machine to its end; `feed` sends `stdin`, or nothing but its end, to the program's port."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tacet-") as folder:
        running = _Running(machine, Path(folder), sinks, klog)
        port = running.ports.folder / "stdout.in"
        feeder = threading.Thread(target=_feed, args=(stdin, port), daemon=True)
        try:
            in_time = running.wait(begun + time_limit, feeder.start if feed else None)
            running.drain()
        finally:
            running.close()
    seconds = time.monotonic() - begun
    running.delivery.finish()
    text = {name: seen.decode(errors="replace") for name, seen in running.seen.items()}
    outcome, status, reason = parse_end(text["console"])
    returned = running.process.returncode
    if not in_time:
        told = "" if status is None else f" (the console told {outcome} status={status}; the machine did not go off)"
        outcome, status, reason = "timeout", None, f"no end within {time_limit:g} s{told}"
    elif outcome == "no-status" and returned not in (0, -signal.SIGKILL):
        outcome, reason = "qemu-failed", text["qemu"].strip() or f"QEMU ended with status {returned}"
    shown = [*machine, "-serial", "stdio", "-serial", "file:program.stdout", "-serial", "file:program.stderr"]
    shown += _klog_options(klog)
    stdout, stderr = bytes(running.seen["stdout"]), bytes(running.seen["stderr"])
    return Result(status, outcome, reason, text["console"], stdout, stderr, shown, seconds)


def _machine(qemu: str, cpu: str, cpus: int, memory: str, icount: int | None) -> list[str]:
    """The machine that both kernels get."""
    if icount is not None:
        # QEMU 10 has an x2APIC, but takes its registers for ordinary ones: it ends with "Bad icount read" at the first that tells the time.
        cpu += ",-x2apic"
    return [
        *(qemu, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-machine", "pc", "-accel", "tcg"),
        *("-cpu", cpu, "-smp", str(cpus), "-m", memory),
        *clock_options(icount),
    ]


def _check_files(app: Path | None, stdin: Path | None) -> None:
    if app is not None and not app.is_file():
        raise RunnerError(f"no such program: {app}")
    if stdin is not None and not stdin.exists():
        raise RunnerError(f"no such file: {stdin}")


_STATIC = (
    "link it statically: gcc -static, g++ -static, gfortran -static, or libc/tacet-cc for musl (docs/porting.md)"
)


def check_program(app: Path) -> None:
    """Refuse what cannot run on a node, before one is started: RunnerError in one line that says what would be right.

    The node itself checks each byte of the headers; this is for the mistakes that people make.
    """
    if app.is_dir():
        raise RunnerError(f"{app} is a folder, not a program")
    if not app.is_file():
        raise RunnerError(f"no such program: {app}")
    content = app.read_bytes()
    if content[:4] != b"\x7fELF":
        what = "a script" if content[:2] == b"#!" else "empty" if not content else "not an ELF file"
        raise RunnerError(f"{app} is {what}; a node runs static ELF programs")
    if len(content) < 64 or content[4:6] != b"\2\1":
        raise RunnerError(f"{app} is not a 64-bit little-endian ELF file")
    offset, size, count = struct.unpack_from("<Q", content, 32)[0], *struct.unpack_from("<HH", content, 54)
    kinds = [struct.unpack_from("<I", content, at)[0] for at in range(offset, offset + size * count, size or 1) if at + 4 <= len(content)]
    if 3 in kinds[:64]:  # PT_INTERP
        raise RunnerError(f"{app} is linked dynamically, and there is no dynamic linker on a node; {_STATIC}")


def find_program(app: Path, files: Path | None) -> tuple[Path, str | None]:
    """The program's file on this machine and, where it lies in the folder `files`, its path on the node.

    A path of this machine comes first; one that is not here may be a path inside of `files`.
    """
    if files is None:
        return app, None
    if not files.is_dir():
        raise RunnerError(f"{files} is not a folder" if files.exists() else f"no such folder: {files}")
    if not app.exists() and (files / str(app).lstrip("/")).is_file():
        app = files / str(app).lstrip("/")
    if app.resolve().is_relative_to(files.resolve()):
        return app, "/" + str(app.resolve().relative_to(files.resolve()))
    return app, None


def run_tacet(
    app: Path | None,
    args: Sequence[str] = (),
    *,
    kernel: Path | None = None,
    env: Mapping[str, str] | None = None,
    initrd: Path | None = None,
    files: Path | None = None,
    options: str = "",
    memory: str = "256M",
    cpus: int = 1,
    icount: int | None = None,
    qemu: str = "system",
    stdin: Path | None = None,
    time_limit: float = 60.0,
    extra: Sequence[str] = (),
    cpu: str = "max",
    klog: Path | None = None,
    on_stdout: Sink | None = None,
    on_stderr: Sink | None = None,
    on_console: Sink | None = None,
) -> Result:
    """Run a program on a Tacet node.

    The boot module is `initrd` if given, an archive of `files` (a folder) and the program if that is given, else the
    program itself. In an archive of `files` the program is /bin/NAME, unless it lies in that folder and has its path there;
    the kernel is told which by `app=`.

    `options` are kernel options as they are, `extra` are options for QEMU. `stdin` goes to the program's port once the
    kernel has spoken, and an end-of-transmission after it; without `stdin` only that. A regular file arrives as it is,
    for the kernel is told how many bytes it has; what else comes ends at its first end-of-transmission. `klog` is a file for the flight
    log (lab/klog.py reads it); it stays empty if the node does not come to its end. The sinks get output as it comes.
    RunnerError: the run cannot begin.
    """
    kernel = kernel or KERNEL
    if not kernel.is_file():
        raise RunnerError(f"there is no kernel in {kernel}; `make` builds it")
    _check_files(app, stdin)
    name = app.name if app else "app"
    module = initrd or app
    if files is not None:
        inside = find_program(app, files)[1] if app else None
        entries = cpio.entries_of(files)
        if inside is not None:
            options = f"{options} {quote(f'app={inside}')}".strip()
        elif app is not None:
            entries.append(cpio.Entry.file(f"bin/{name}", app.read_bytes(), executable=True))
            options = f"{options} {quote(f'app=/bin/{name}')}".strip()
        module = _kept(f"{name}.cpio", cpio.pack(entries))
    if klog is not None:
        _klog_begin(klog)
        options = f"klog=com4 {options}".strip()
    if stdin is not None and stdin.is_file():
        options = f"{options} stdin_bytes={stdin.stat().st_size}".strip()
    machine = _machine(qemu_binary(qemu), cpu, cpus, memory, icount)
    machine += ["-kernel", os.path.abspath(kernel), "-append", tacet_command_line(name, args, env or {}, options)]
    if module is not None:
        machine += ["-initrd", os.path.abspath(module)]
    sinks = {"stdout": on_stdout, "stderr": on_stderr, "console": on_console}
    return _run([*machine, *extra], stdin=stdin, feed=True, time_limit=time_limit, sinks=sinks, klog=klog)


def run_machine(
    options: Sequence[str],
    *,
    memory: str = "256M",
    cpu: str = "max",
    icount: int | None = None,
    time_limit: float = 60.0,
    on_console: Sink | None = None,
) -> Result:
    """Run a machine that finds its kernel by itself, on a disk or CD that `options`, for QEMU, tell of."""
    machine = _machine(qemu_binary(), cpu, 1, memory, icount)
    return _run([*machine, *options], time_limit=time_limit, sinks={"console": on_console})


def initramfs(
    app: Path,
    args: Sequence[str],
    env: Mapping[str, str],
    *,
    tuned: bool,
    stdin: Path | None = None,
    files: Path | None = None,
) -> bytes:
    """The Linux node's files: the program, Debian's busybox, and a first process that runs the program."""
    if not BUSYBOX.is_file():
        raise RunnerError(f"there is no {BUSYBOX} (ports/deps.sh run)")
    # env(1) looks the program up in /bin and /usr/bin, so that argv[0] is its bare name, as on Tacet.
    program = app.name if "PATH" not in env else f"/usr/bin/{app.name}"
    words = ["/bin/busybox", "env", "-i", *(f"{k}={v}" for k, v in env.items()), program, *args]
    if tuned:
        words = ["/bin/busybox", "taskset", "2", *words]
    entries = cpio.entries_of(files) if files else []
    entries += [
        *(cpio.Entry.folder(name) for name in ("proc", "sys", "dev", "tmp")),
        cpio.Entry.character_device("dev/console", 5, 1),
        cpio.Entry.file("bin/busybox", BUSYBOX.read_bytes(), executable=True),
        cpio.Entry.file(f"usr/bin/{app.name}", app.read_bytes(), executable=True),
        cpio.Entry.file("stdin", stdin.read_bytes() if stdin else b""),
        cpio.Entry.file("command", os.fsencode(shlex.join(words) + "\n")),
        cpio.Entry.file("init", _INIT.format(tuning=_TUNING if tuned else "").encode(), executable=True),
    ]
    return cpio.pack(entries)


def run_linux(
    app: Path,
    args: Sequence[str] = (),
    *,
    variant: Literal["stock", "tuned", "rt"] = "stock",
    kernel: Path | None = None,
    env: Mapping[str, str] | None = None,
    files: Path | None = None,
    options: str = "",
    memory: str = "256M",
    cpus: int | None = None,
    icount: int | None = None,
    qemu: str | None = None,
    stdin: Path | None = None,
    time_limit: float = 120.0,
    extra: Sequence[str] = (),
    cpu: str = "max",
    on_stdout: Sink | None = None,
    on_stderr: Sink | None = None,
    on_console: Sink | None = None,
) -> Result:
    """Run the same program on a Linux node with Debian's kernel.

    `stock` has one CPU and an untouched kernel; so has `rt`, Debian's kernel with PREEMPT_RT. `tuned` has two; CPU 1
    is kept free of the kernel's work and the program is bound to it. Everything else is as with `run_tacet`; `stdin`
    is a file in the node's memory, empty if not given.

    Under icount, `tuned` needs QEMU 10: on 7.2, Linux hangs with two CPUs. Count interrupts there, not gaps in time:
    the CPUs take turns and share one clock, so CPU 0's tick passes as lost time on CPU 1, which itself takes no
    interrupt. A single CPU (`stock`) has no such flaw.
    """
    tuned = variant == "tuned"
    if kernel is None:
        unpacked = BUILD / ("linux-rt" if variant == "rt" else "linux") / "vmlinux"
        kernel = unpacked if unpacked.is_file() else unpacked.with_name("vmlinuz")
    if not kernel.is_file():
        flavour = " build rt" if variant == "rt" else ""
        raise RunnerError(f"there is no Linux kernel in {kernel}; ports/linux/fetch.sh{flavour} gets it")
    _check_files(app, stdin)
    binary = qemu_binary(qemu or ("newest" if tuned else "system"))
    cpus = cpus or (2 if tuned else 1)
    if icount is not None and cpus > 1 and qemu_major(binary) < 10:
        raise RunnerError("Linux with several CPUs and icount needs QEMU 10; ports/qemu/fetch.sh gets it")
    archive = initramfs(app, args, env or {}, tuned=tuned, stdin=stdin, files=files)
    machine = _machine(binary, cpu, cpus, memory, icount)
    append = f"{LINUX_TUNED if tuned else LINUX_STOCK} {options}".strip()
    machine += ["-kernel", os.path.abspath(kernel), "-append", append]
    machine += ["-initrd", str(_kept(f"{app.name}.cpio", archive))]
    sinks = {"stdout": on_stdout, "stderr": on_stderr, "console": on_console}
    return _run([*machine, *extra], time_limit=time_limit, sinks=sinks)
