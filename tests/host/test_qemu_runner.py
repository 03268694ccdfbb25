# SPDX-License-Identifier: BSD-2-Clause
"""tools/qemu and tools/run, without QEMU: a machine's description, how a run ended, what is in the Linux
node's memory.

A small shell script stands in for QEMU where a run is needed: it gets the same options and writes to the same
ports.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import cpio
import qemu
from qemu import Machine, Program
from qemu.own_time import OwnTime


def kernel_words(line: str) -> list[str]:
    """The kernel's rules: blanks part words, quotes keep blanks, a backslash takes the next character as it
    is."""
    words: list[str] = []
    word: str | None = None
    quoted = False
    characters = iter(line)
    for c in characters:
        if c == '"':
            quoted = not quoted
            word = word or ""
        elif c == "\\":
            word = (word or "") + next(characters)
        elif c in " \t\n" and not quoted:
            if word is not None:
                words.append(word)
            word = None
        else:
            word = (word or "") + c
    return words if word is None else [*words, word]


ARGUMENTS = [
    "",
    "-n",
    "a b",
    'say "x"',
    "back\\slash",
    "tab\there",
    "--",
    "ends\\",
    "ünï",
    "new\nline",
    "$HOME;`x`",
]


@pytest.mark.parametrize("word", ARGUMENTS)
def test_the_kernel_reads_back_what_was_quoted(word: str) -> None:
    assert kernel_words(qemu.quote(word)) == [word]


def test_plain_words_stay_plain() -> None:
    assert qemu.quote("env=A=1") == "env=A=1"


def test_the_command_line_has_options_then_arguments() -> None:
    line = qemu.tacet_command_line("ftq", ARGUMENTS, {"A": "1 2"}, "latency_bound=1ms quiet")
    start = ["stdout=com2", "stderr=com3", "argv0=ftq", "env=A=1 2", "latency_bound=1ms", "quiet", "--"]
    assert kernel_words(line) == start + ARGUMENTS


def test_nul_in_an_argument_is_refused() -> None:
    with pytest.raises(qemu.RunnerError, match="NUL"):
        qemu.quote("a\0b")


@pytest.mark.parametrize(
    ("console", "end"),
    [
        ("tacet: hello\ntacet: exit status=0\n", ("exit", 0, "")),
        ("tacet: exit status=255\r\n", ("exit", 255, "")),
        ("linux: exit status=42\n[    2.7] reboot: Power down\n", ("exit", 42, "")),
        ('tacet: stop status=64 reason="no such option"\n', ("stop", 64, "no such option")),
        ('tacet: exit status=1\ntacet: stop status=70 reason="a \\"b\\" c"\n', ("stop", 70, 'a "b" c')),
    ],
)
def test_the_last_line_reports_how_it_ended(console: str, end: tuple[str, int, str]) -> None:
    assert qemu.parse_end(console) == end


@pytest.mark.parametrize(
    "console",
    [
        "",
        "tacet: exit status=",
        "tacet: exit status=256\n",
        "xtacet: exit status=1\n",
        "tacet: exit status=-1\n",
    ],
)
def test_anything_else_is_no_status(console: str) -> None:
    outcome, status, reason = qemu.parse_end(console)
    assert (outcome, status) == ("no-status", None)
    assert reason


def test_a_linux_panic_is_the_reason() -> None:
    _, _, reason = qemu.parse_end("[ 1.0] Kernel panic - not syncing: No working init found.\n[ 1.1] more\n")
    assert reason == "Kernel panic - not syncing: No working init found."


def test_time_is_a_function_of_instructions_only_when_asked() -> None:
    assert qemu.clock_options(None) == []
    assert qemu.clock_options(4)[:2] == ["-icount", "shift=4,sleep=off"]
    assert qemu.DETERMINISTIC == qemu.clock_options(0)


@pytest.fixture
def binary(monkeypatch: pytest.MonkeyPatch) -> None:
    """A QEMU of each kind, by name."""
    monkeypatch.setattr(qemu.version, "qemu_binary", lambda which, arch="x86_64": f"qemu-{which}-{arch}")


def test_a_machine_is_a_command_line(binary: None) -> None:
    machine = Machine(cpus=4, memory="1G", cpu="qemu64", qemu="newest", qemu_options=["-vga", "std"])
    command = machine.command()
    assert command[0] == "qemu-newest-x86_64" and command[-2:] == ["-vga", "std"]
    for option, value in (("-smp", "4"), ("-m", "1G"), ("-cpu", "qemu64"), ("-accel", "tcg")):
        assert command[command.index(option) + 1] == value
    assert "-icount" not in command and "-kernel" not in command and machine.com4_options() == []


def test_another_architecture_is_another_command_line(binary: None) -> None:
    boot = qemu.DirectBoot(Path("/kernel"), "a b")
    command = Machine(arch="ppc64", icount=0, boot=boot).command()
    assert command[0] == "qemu-system-ppc64"
    assert command[command.index("-cpu") + 1] == "power9"
    board = command[command.index("-machine") + 1]
    assert board.startswith("pseries,") and board.endswith(",x-vof=on")
    real = Machine(arch="ppc64", boot=boot, firmware="slof").command()
    assert real[real.index("-machine") + 1] == board.removesuffix(",x-vof=on")
    for wrong in (Machine(arch="arm"), Machine(arch="ppc64", firmware="seabios")):
        with pytest.raises(qemu.RunnerError, match=" or "):
            wrong.command()
    turns = Machine(arch="ppc64", icount=0, cpus=2, turns_ns=10_000)
    with pytest.raises(qemu.RunnerError, match="ppc64 has no device"):
        turns.takes_turns()


def test_the_kernels_words_name_the_terminals_of_its_machine() -> None:
    line = qemu.tacet_command_line("ftq", ["1"], {}, arch="ppc64")
    assert line == "stdout=hvc1 stderr=hvc2 argv0=ftq -- 1"


def test_a_deterministic_machine_has_no_x2apic(binary: None) -> None:
    command = Machine(icount=3).command()
    assert command[command.index("-cpu") + 1] == "max,-x2apic" and "shift=3,sleep=off" in command


def test_qemu_options_come_last_and_so_replace_the_others(binary: None) -> None:
    boot = qemu.DirectBoot(Path("/kernel"), "a b", Path("/module"))
    command = Machine(boot=boot, qemu_options=["-append", "c"]).command()
    assert command[-8:] == ["-kernel", "/kernel", "-append", "a b", "-initrd", "/module", "-append", "c"]


def test_the_shown_command_starts_the_same_machine_with_the_console_on_the_terminal(binary: None) -> None:
    machine = Machine(com4=Path("/log"))
    assert machine.shown_command()[: len(machine.command())] == machine.command()
    assert machine.shown_command()[len(machine.command()) :][:2] == ["-serial", "stdio"]
    assert machine.shown_command()[-4:] == ["-chardev", "file,id=klog,path=/log", "-serial", "chardev:klog"]


def test_a_node_leaves_the_description_of_the_machine_alone(app: Path) -> None:
    """What it adds is the kernel to boot and the port of the flight log."""
    machine = Machine(cpus=2)
    node = qemu.TacetNode(kernel=app, options="ranks=1", klog=app.with_name("log"))
    prepared = node.prepare(Program(app, ["x"], stdin=app), machine)
    assert machine == Machine(cpus=2) and prepared.cpus == 2 and prepared.com4 == app.with_name("log")
    assert prepared.boot is not None and prepared.boot.module == app
    line = f"stdout=com2 stderr=com3 argv0=app stdin_bytes={app.stat().st_size} klog=com4 ranks=1 -- x"
    assert prepared.boot.command_line == line


@pytest.mark.parametrize(
    ("options", "ends"),
    [("", True), ("ranks=1", True), ("launch=7", False), ("stdin_bytes=5", False), ("console=com2", False)],
)
def test_a_node_ends_an_empty_input_itself_unless_options_are_about_it(
    binary: None, app: Path, options: str, ends: bool
) -> None:
    """What the host sends comes at a time that depends on the host's speed."""
    node, program = qemu.TacetNode(kernel=app, options=options), Program(app)
    boot = node.prepare(program, Machine()).boot
    assert boot is not None
    assert ("stdin_bytes=0" in boot.command_line.split()) == node.input_is_empty(program) == ends


@pytest.mark.parametrize(("variant", "cpus"), [("stock", 1), ("rt", 1), ("tuned", 2)])
def test_only_the_tuned_linux_has_a_second_cpu(variant: str, cpus: int) -> None:
    assert qemu.linux.machine_defaults(variant)["cpus"] == cpus


def test_a_setting_of_none_leaves_the_default_and_an_unknown_one_is_refused() -> None:
    machine, watch = qemu.settings.split({"cpus": None, "memory": "1G", "time_limit": 5}, Machine, qemu.Watch)
    assert (machine, watch) == (Machine(memory="1G"), qemu.Watch(time_limit=5))
    with pytest.raises(TypeError, match="no such setting of a run: cores"):
        qemu.run_tacet(None, cores=3)


@pytest.fixture
def app(tmp_path: Path) -> Path:
    path = tmp_path / "app"
    path.write_bytes(b"\x7fELF")
    return path


@pytest.fixture
def busybox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "busybox"
    path.write_bytes(b"busybox")
    monkeypatch.setattr(qemu.paths, "BUSYBOX", path)


def command_of(archive: bytes) -> str:
    return {entry.name: entry for entry in cpio.unpack(archive)}["command"].data.decode()


def test_linux_gets_the_same_arguments_and_environment(app: Path, busybox: None) -> None:
    archive = qemu.initramfs(Program(app, ["%s|", *ARGUMENTS], {"A": "1 'x'"}), tuned=False)
    # The shell of the node reads the file; here the words go to printf instead of the program.
    script = command_of(archive).replace("/bin/busybox env -i 'A=1 '\"'\"'x'\"'\"'' app", "printf")
    assert (
        subprocess.run(["sh", "-c", script], capture_output=True, text=True).stdout
        == "|".join(ARGUMENTS) + "|"
    )


def test_only_the_tuned_node_binds_the_program(app: Path, busybox: None) -> None:
    assert "taskset" not in command_of(qemu.initramfs(Program(app), tuned=False))
    assert "taskset 2 " in command_of(qemu.initramfs(Program(app), tuned=True))


def test_the_linux_node_is_the_same_each_time(app: Path, busybox: None) -> None:
    assert qemu.initramfs(Program(app, ["a"]), tuned=True) == qemu.initramfs(Program(app, ["a"]), tuned=True)


FAKE_QEMU = """#!/bin/sh
# Finds the folder of the FIFOs in the options, as QEMU does.
for option in "$@"; do
    case $option in pipe,id=console,path=*) console=${option#pipe,id=console,path=} ;; esac
done
ports=$(dirname "$console")
BODY
"""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Run with a script in QEMU's place."""
    (tmp_path / "kernel").write_bytes(b"kernel")
    (tmp_path / "app").write_bytes(b"app")

    def run(body: str, **keywords) -> qemu.Result:
        program = tmp_path / "qemu-system-x86_64"
        program.write_text(FAKE_QEMU.replace("BODY", body))
        program.chmod(0o755)
        monkeypatch.setattr(qemu.version, "qemu_binary", lambda which="system", arch="": str(program))
        monkeypatch.setattr(qemu.postmortem, "ANSWER_SECONDS", 0.3)
        keywords.setdefault("time_limit", 20)
        return qemu.run_tacet(tmp_path / "app", ["x"], kernel=tmp_path / "kernel", **keywords)

    return run


def test_the_three_streams_come_apart_and_exact(fake) -> None:
    result = fake(r"""
        printf 'tacet: hello\n' >$ports/console.out
        printf '\000\001\r\n\377' >$ports/stdout.out
        printf 'oops' >$ports/stderr.out
        printf 'tacet: exit status=7\n' >$ports/console.out""")
    assert (result.outcome, result.status) == ("exit", 7), result.explain()
    assert result.stdout == b"\0\1\r\n\xff"
    assert result.stderr == b"oops"
    assert result.console == "tacet: hello\ntacet: exit status=7\n"


def test_output_comes_while_the_program_runs(fake, tmp_path: Path) -> None:
    came: list[bytes] = []

    def arrive(chunk: bytes) -> None:
        came.append(chunk)
        (tmp_path / "arrived").touch()

    # The second word is printed only when the first has arrived.
    result = fake(
        f"echo one >$ports/stdout.out; until [ -e {tmp_path / 'arrived'} ]; do sleep 0.01; done; "
        "echo two >$ports/stdout.out",
        on_stdout=arrive,
    )
    assert came == [b"one\n", b"two\n"]
    assert result.outcome == "no-status"


def test_large_output_is_whole(fake) -> None:
    result = fake(
        "head -c 3000000 /dev/zero >$ports/stdout.out; echo 'tacet: exit status=0' >$ports/console.out"
    )
    assert result.status == 0 and len(result.stdout) == 3000000


def test_a_slow_reader_does_not_hold_the_machine_up(fake, tmp_path: Path) -> None:
    """The sink takes nothing more until the machine, which writes more than a FIFO holds, has ended."""
    ended = tmp_path / "ended"

    def slow(chunk: bytes) -> None:
        for _ in range(10_000):
            if ended.exists():
                return
            time.sleep(0.01)
        raise AssertionError("the machine waits for the reader")

    result = fake(
        "head -c 3000000 /dev/zero >$ports/stdout.out; echo 'tacet: exit status=0' >$ports/console.out; "
        f"touch {ended}",
        on_stdout=slow,
    )
    assert result.status == 0 and len(result.stdout) == 3000000


def test_a_reader_that_goes_away_ends_the_machine(fake) -> None:
    def closed(chunk: bytes) -> None:
        raise BrokenPipeError

    # Without an end its time limit would end it, and nothing would be raised before.
    with pytest.raises(BrokenPipeError):
        fake("echo one >$ports/stdout.out; exec sleep 600", on_stdout=closed, time_limit=600)


@pytest.fixture
def fake_said(fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Run with a machine that says one line and stays on; its time is over once it has said that, however
    long it took."""
    said = tmp_path / "said"
    monkeypatch.setattr(OwnTime, "seconds", lambda self: 60.0 if said.exists() else 0.0)
    after = f">$ports/console.out; touch {said}; exec sleep 60"
    return lambda line: fake(f"echo '{line}' {after}", time_limit=0.5)


def test_a_time_limit_ends_the_machine(fake_said) -> None:
    result = fake_said("tacet: hello")
    assert (result.outcome, result.status) == ("timeout", None)
    explained = result.explain()
    assert "tacet: hello" in explained and "qemu-system-x86_64 -nodefaults" in explained


def test_a_monitor_that_is_silent_does_not_keep_a_run_from_its_end(fake_said) -> None:
    result = fake_said("tacet: hello")
    silent = "cannot find out where its CPUs were: QEMU's monitor has not answered for 0.3 s"
    assert result.outcome == "timeout" and result.no_flight_log == silent
    assert silent in result.explain() and result.flight_log is None


def test_a_qemu_without_a_monitor_does_not_keep_a_run_from_its_end(fake) -> None:
    result = fake("exec python3 -c 'import os, time; os.closerange(3, 1000); time.sleep(60)'", time_limit=2)
    assert result.outcome == "timeout" and "cannot find out" in result.no_flight_log


def test_a_machine_that_does_not_go_off_is_a_timeout(fake_said) -> None:
    result = fake_said("tacet: exit status=0")
    assert result.outcome == "timeout" and "the machine stayed on" in result.reason


def test_what_qemu_says_is_the_reason(fake) -> None:
    result = fake("echo 'qemu: no such option' >&2; exit 1")
    assert (result.outcome, result.reason) == ("qemu-failed", "qemu: no such option")


def test_input_comes_after_the_kernels_first_word(fake, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"one\ntwo\n")
    # The stand-in holds both ends, as QEMU does, and reads up to the end-of-transmission.
    result = fake(
        r"""exec 3<>$ports/stdout.in
        echo 'tacet: hello' >$ports/console.out
        head -c 9 <&3 >$ports/stdout.out
        echo 'tacet: exit status=0' >$ports/console.out""",
        stdin=tmp_path / "in",
    )
    assert result.stdout == b"one\ntwo\n\x04"


def test_files_become_an_archive_with_the_program(
    fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qemu.paths, "BUILD", tmp_path / "build")
    (tmp_path / "files" / "etc").mkdir(parents=True)
    (tmp_path / "files" / "etc" / "motd").write_text("hi")
    result = fake("true", files=tmp_path / "files")
    archive = Path(result.command[result.command.index("-initrd") + 1])
    assert [entry.name for entry in cpio.unpack(archive.read_bytes())] == [
        "bin",
        "bin/app",
        "etc",
        "etc/motd",
    ]
    assert "app=/bin/app" in result.command[result.command.index("-append") + 1]


def test_the_flight_log_is_a_fourth_port_into_a_file(fake, tmp_path: Path) -> None:
    """The ports before it stay as they are, and what an earlier run has left in the file is removed."""
    kept = tmp_path / "a,b.bin"
    kept.write_bytes(b"of an earlier run")
    result = fake('echo "$@" >$ports/stdout.out', klog=kept, options="quiet")
    words = result.stdout.decode().split()
    serials = [words[i + 1] for i, word in enumerate(words) if word == "-serial"]
    assert serials == ["chardev:console", "chardev:stdout", "chardev:stderr", "chardev:klog"]
    assert f"file,id=klog,path={tmp_path}/a,,b.bin" in words
    assert "klog=com4 quiet --" in result.command[result.command.index("-append") + 1]
    assert result.command[-2:] == ["-serial", "chardev:klog"]
    assert kept.read_bytes() == b""


def test_a_flight_log_that_cannot_be_kept_is_one_clear_line(fake, tmp_path: Path) -> None:
    with pytest.raises(qemu.RunnerError, match="cannot write the flight log to .*No such file or directory"):
        fake("true", klog=tmp_path / "none" / "klog.bin")


def test_linux_has_no_flight_log(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "tools" / "run"), "--klog", "x", "--linux", "app"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2 and "Linux keeps no flight log" in done.stderr


def test_missing_files_are_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(qemu.RunnerError, match="no kernel"):
        qemu.run_tacet(tmp_path / "app", kernel=tmp_path / "none")
    (tmp_path / "kernel").touch()
    with pytest.raises(qemu.RunnerError, match="no such program"):
        qemu.run_tacet(tmp_path / "app", kernel=tmp_path / "kernel")


@pytest.mark.parametrize(("variant", "folder"), [("stock", "linux"), ("tuned", "linux"), ("rt", "linux-rt")])
def test_each_linux_has_its_own_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variant: str, folder: str
) -> None:
    monkeypatch.setattr(qemu.paths, "BUILD", tmp_path)
    with pytest.raises(qemu.RunnerError, match=rf"no Linux kernel .*/{folder}/vmlinuz; ports/linux/fetch.sh"):
        qemu.run_linux(tmp_path / "app", variant=variant)


def test_the_command_refuses_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "kernel").write_bytes(b"\x7fELF")
    command = [
        sys.executable,
        str(ROOT / "tools" / "run"),
        "--kernel",
        str(tmp_path / "kernel"),
        "no-such-app",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert re.fullmatch(r"tools/run: no such program: no-such-app\n", done.stderr)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]):
    """tools/run in this process, with a run that ends as given; gives its status, stdout and stderr."""
    loader = importlib.machinery.SourceFileLoader("tacet_run", str(ROOT / "tools" / "run"))
    spec = importlib.util.spec_from_loader("tacet_run", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loader.exec_module(module)

    def run(
        outcome: qemu.Outcome,
        status: int | None,
        reason: str = "",
        console: str = "tacet: console\n",
        errors: bytes = b"err\n",
    ) -> tuple[int, str, str]:
        def ended(
            app: Path,
            args: list[str],
            *,
            on_stdout: qemu.Sink,
            on_stderr: qemu.Sink,
            on_console: qemu.Sink | None,
            **_,
        ) -> qemu.Result:
            on_stdout(b"out")
            on_stderr(errors)
            assert on_console is None
            return qemu.Result(status, outcome, reason, console, b"out", errors, ["qemu", "a b"], 1.0)

        monkeypatch.setattr(qemu, "run_tacet", ended)
        monkeypatch.setattr(qemu, "check_program", lambda app, arch: None)
        monkeypatch.setattr(sys, "argv", ["tools/run", "app", "--its", "own"])
        code = module.main()
        return (code, *capfd.readouterr())

    return run


def test_the_programs_status_and_output_are_the_commands(command) -> None:
    assert command("exit", 0) == (0, "out", "err\n")
    assert command("exit", 42) == (42, "out", "err\n")


def test_registers_are_shown_after_a_fault_whose_report_is_on_standard_error(command) -> None:
    fault, registers = "tacet: rank 0 (x) ended by SIGSEGV\n", "tacet:   rip 0\n"
    ended = command("exit", 139, errors=fault.encode(), console=f"tacet: hello\n{fault}{registers}")
    assert ended == (139, "out", fault + registers)


def test_a_stopped_node_gives_its_reason_and_status(command) -> None:
    assert command("stop", 64, "no such option") == (
        64,
        "out",
        "err\ntools/run: the node stopped: no such option\n",
    )


@pytest.mark.parametrize(("outcome", "code"), [("timeout", 124), ("no-status", 125), ("qemu-failed", 125)])
def test_other_ends_show_the_console_and_how_to_repeat(command, outcome: qemu.Outcome, code: int) -> None:
    status, _, message = command(outcome, None, "because")
    assert status == code
    for part in ("because", "tacet: console", "qemu 'a b'"):
        assert part in message


class Clock:
    """A clock that stands until it is set."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def own_time(tmp_path: Path, wall_s: float, threads: list[tuple[float, float]], cpus: int) -> OwnTime:
    """After `wall_s` seconds on a host of `cpus` CPUs; for each thread the seconds on a CPU and waiting."""
    clock = Clock()
    measured = OwnTime(7, clock, tmp_path)
    measured.cpus = cpus
    clock.now += wall_s
    for number, (used, waited) in enumerate(threads):
        task = tmp_path / "7" / "task" / str(number)
        task.mkdir(parents=True)
        (task / "schedstat").write_text(f"{used * 1e9:.0f} {waited * 1e9:.0f} 5\n")
    return measured


@pytest.mark.parametrize(
    ("threads", "own_s"),
    [
        ([], 60),  # a system without such times: the wall clock
        ([(0, 0)], 60),  # sleeps
        ([(60, 0), (1, 0)], 60),  # computes, alone
        ([(6, 54), (0, 0)], 6),  # computes, and has a tenth of a CPU
        ([(0, 60)], 0),  # the host has no CPU for it
        ([(15, 45)] * 8, 60),  # eight threads have both CPUs
        ([(3, 57)] * 8, 12),  # eight threads have a fifth of them
    ],
)
def test_a_time_limit_does_not_pass_while_others_have_the_cpus(
    tmp_path: Path, threads: list[tuple[float, float]], own_s: float
) -> None:
    measured = own_time(tmp_path, 60, threads, cpus=2)
    assert measured.seconds() == pytest.approx(own_s)
    assert measured.wall() == pytest.approx(60) and measured.waited() == pytest.approx(60 - own_s)


def test_own_time_goes_on_with_the_wall_clock_while_a_process_sleeps_or_computes() -> None:
    for script in ("sleep 60", "while :; do :; done"):
        process = subprocess.Popen(["sh", "-c", f"exec 2>&1; {script}"])
        measured = OwnTime(process.pid)
        while measured.seconds() < 0.3:
            time.sleep(0.01)
        assert measured.seconds() <= measured.wall()
        process.kill()
        process.wait()


def test_a_machine_that_the_host_starves_is_not_hung(fake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own time stands still; it ends without help, long after its limit by the wall clock."""
    monkeypatch.setattr(OwnTime, "seconds", lambda self: 0.0)
    body = "echo 'tacet: hello' >$ports/console.out; sleep 1; echo 'tacet: exit status=0' >$ports/console.out"
    assert fake(body, time_limit=0.5).status == 0


def test_a_machine_that_the_host_never_runs_is_ended_by_the_wall_clock(
    fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OwnTime, "seconds", lambda self: 0.0)
    result = fake("echo 'tacet: hello' >$ports/console.out; exec sleep 60", time_limit=0.1)
    assert result.outcome == "timeout"
    assert re.fullmatch(
        r"no end within 0.1 s, not counting \d+ s when others had the host's CPUs", result.reason
    )
