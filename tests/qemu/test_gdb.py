# SPDX-License-Identifier: BSD-2-Clause
"""tools/gdb and its commands, end to end: no QEMU outlives gdb, the end of the node is told, and what the
commands show is what the node does."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import APPS, ROOT, program

import qemu
from tests import waiting

# All sessions write the same files in build/.
pytestmark = pytest.mark.xdist_group("gdb")

#: Seconds after which something hangs.
LIMIT_S = 120

FTQ = APPS / "ftq"


def environment(folder: Path, **further: str) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(folder), "TERM": "dumb", **further}


def batch(folder: Path, commands: str, app: Path, *args: str, options: str = "--icount 0") -> str:
    """What gdb prints for some commands."""
    (folder / "commands").write_text(commands)
    ran = subprocess.run(
        ["tools/gdb", *options.split(), str(app), *args],
        cwd=ROOT,
        env=environment(folder, GDB_COMMANDS=str(folder / "commands")),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=LIMIT_S,
    )
    return ran.stdout.decode(errors="replace")


# ---- No QEMU outlives gdb ----


class Terminal:
    """gdb on a terminal of its own, whose controlling process it is."""

    def __init__(self, folder: Path) -> None:
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            try:
                signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which `nohup make test` ignores
                os.chdir(ROOT)
                os.execve("tools/gdb", ["tools/gdb", str(program("wait.musl"))], environment(folder))
            finally:
                os._exit(127)
        self.received = b""
        self.reaped = False

    def expect(self, text: bytes) -> bytes:
        """Read up to a text, and return what came before."""
        while text not in self.received:
            ready, _, _ = select.select([self.master], [], [], LIMIT_S)
            assert ready, self.received.decode(errors="replace")
            self.received += os.read(self.master, 4096)
        before, _, self.received = self.received.partition(text)
        return before

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def close(self) -> None:
        if self.master >= 0:
            os.close(self.master)
            self.master = -1

    def end(self) -> None:
        self.close()
        if not self.reaped:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.reaped = True


@contextmanager
def session(folder: Path) -> Iterator[tuple[Terminal, int]]:
    """A session at its prompt, and a descriptor that is readable when its QEMU has ended."""
    terminal = Terminal(folder)
    try:
        terminal.expect(b"(gdb) ")
        terminal.type('python print("QEMU=%d." % commands.NODE.process.pid)\n')
        terminal.expect(b"QEMU=%d")
        terminal.expect(b"QEMU=")
        qemu_pid = int(terminal.expect(b"."))
        assert b"qemu-system" in Path(f"/proc/{qemu_pid}/cmdline").read_bytes()
        ended = os.pidfd_open(qemu_pid)
        terminal.expect(b"(gdb) ")
        try:
            yield terminal, ended
        finally:
            os.close(ended)
    finally:
        terminal.end()


def run_on(terminal: Terminal) -> None:
    terminal.type("delete\ncontinue\n")
    terminal.expect(b"Continuing.")


def await_output(text: bytes) -> None:
    """The program has printed this, so the node runs: before that, a key may meet gdb's hooks in Python, or
    lead to an interrupt that gdb sends before the command to continue, where it is lost."""
    console = qemu.BUILD / "gdb.stdout"
    waiting.until(lambda: text in console.read_bytes(), f"{text!r} of the program", LIMIT_S)


ENDS: dict[str, Callable[[Terminal], None]] = {
    "quit": lambda terminal: terminal.type("quit\n"),
    "control_D": lambda terminal: terminal.type("\x04"),
    "kill_9": lambda terminal: os.kill(terminal.pid, signal.SIGKILL),
    "terminate": lambda terminal: os.kill(terminal.pid, signal.SIGTERM),
    "terminal_closed": lambda terminal: terminal.close(),
    "detach_quit": lambda terminal: terminal.type("detach\nquit\n"),
    "disconnect_quit": lambda terminal: terminal.type("disconnect\nquit\n"),
    "kill": lambda terminal: terminal.type("kill\n"),
}


@pytest.mark.parametrize("way", ENDS)
def test_no_qemu_outlives_gdb(way: str, tmp_path: Path) -> None:
    with session(tmp_path) as (terminal, ended):
        ENDS[way](terminal)
        assert select.select([ended], [], [], LIMIT_S)[0], "QEMU goes on"


@pytest.mark.parametrize("way", ["kill_9", "terminal_closed"])
def test_no_qemu_outlives_gdb_while_the_node_runs(way: str, tmp_path: Path) -> None:
    with session(tmp_path) as (terminal, ended):
        run_on(terminal)
        ENDS[way](terminal)
        assert select.select([ended], [], [], LIMIT_S)[0], "QEMU goes on"


def test_the_interrupt_key_stops_the_node_and_not_qemu(tmp_path: Path) -> None:
    with session(tmp_path) as (terminal, ended):
        terminal.type("delete\nhbreak main\ncontinue\n")
        terminal.expect(b" in main (")
        run_on(terminal)
        await_output(b"ready")
        terminal.type("\x03")
        terminal.expect(b"SIGINT")
        terminal.type("tacet thread\n")
        terminal.expect(b"computes in its program")
        assert not select.select([ended], [], [], 0)[0]


# ---- The node's end ----


def test_a_qemu_that_dies_is_told_and_gdb_stays(tmp_path: Path) -> None:
    with session(tmp_path) as (terminal, ended):
        signal.pidfd_send_signal(ended, signal.SIGKILL)
        assert select.select([ended], [], [], LIMIT_S)[0]
        terminal.type("stepi\n")
        terminal.expect(b"QEMU has ended (status -9). `tacet start` ")
        terminal.type("tacet start\ninfo symbol kernel_start\n")
        terminal.expect(b"Console: build/gdb.console.")
        terminal.expect(b"kernel_start in section .text")


def test_the_end_of_the_node_is_told_and_its_memory_stays(tmp_path: Path) -> None:
    text = batch(tmp_path, "continue\ncontinue\nbacktrace 4\ntacet log 1\n", program("status.musl"), "7")
    assert "The node has ended: tacet: exit status=7\nIts full console: build/gdb.console.\n" in text, text
    assert "node_exit (status=7)" in text and "program_end        rank 0  status 7" in text, text
    assert "closed" not in text and "roken pipe" not in text, text


def test_a_stop_of_the_node_is_told_with_its_reason(tmp_path: Path) -> None:
    text = batch(
        tmp_path, "continue\ncontinue\n", program("status.musl"), options="--icount 0 --options colour=blue"
    )
    assert re.search(r'The node has ended: tacet: stop status=64 reason=".*colour', text), text


def test_a_node_that_has_ended_does_not_go_on_and_starts_anew(tmp_path: Path) -> None:
    (tmp_path / "commands").write_text(
        "continue\ncontinue\npython\ntry: gdb.execute('continue')\nexcept gdb.error: print('REFUSED')\nend\n"
        "info symbol kernel_start\ntacet start\ncontinue\nprint boot->module_count\n"
    )
    text = batch(tmp_path, (tmp_path / "commands").read_text(), program("status.musl"), "7")
    assert "It cannot continue; `tacet start` " in text and "REFUSED" in text, text
    assert "kernel_start in section .text" in text and "\n$1 = 1\n" in text, text


# ---- What the commands show ----


def test_before_the_kernel_s_first_instruction_the_commands_say_so(tmp_path: Path) -> None:
    text = batch(
        tmp_path, "tacet thread\ntacet rank\ntacet cpus\ntacet log\nprint 1\n", program("status.musl")
    )
    assert text.count("The kernel has not set up this CPU yet (early boot)") == 3, text
    assert "* gdb's thread 1: not set up by the kernel yet, at 0x000000000000fff0" in text, text
    assert "$1 = 1" in text, text


def test_at_kernel_start_there_is_a_cpu_and_no_thread(tmp_path: Path) -> None:
    text = batch(tmp_path, "continue\ntacet thread\ntacet rank\ntacet cpus\ntacet log\n", FTQ)
    assert "\nCPU 0: no thread\n  in the kernel, without a thread, at\n" in text, text
    assert re.search(r"\* CPU 0: no thread, .* kernel_start.*\(kernel/init/main.c:\d+\)\n", text), text
    assert "CPU 0: no rank" in text and "CPU 0 has logged nothing yet" in text, text


def test_in_a_system_call_the_commands_show_thread_rank_and_log(tmp_path: Path) -> None:
    text = batch(
        tmp_path,
        "hbreak sys_exit_group\ncontinue\ncontinue\ntacet thread\ntacet rank\ntacet cpus\ntacet log 2\n",
        program("status.musl"),
        "7",
    )
    assert "CPU 0: thread 1 (status.musl) of rank 0\n  in system call exit_group, at\n" in text, text
    assert re.search(r"registers of the program, saved by the system call's entry code:\n", text), text
    assert re.search(r"\n  rip 0x0000000000[0-9a-f]{6}  _Exit\+", text), text
    assert re.search(r"  rdi    0x0000000000000007\b", text), text
    assert "rank 0 (status.musl): pid 1, 1 thread, CPUs 0\n  program /init, bias 0x0\n" in text, text
    assert re.search(r"  its slice of the memory: [0-9.]+ MiB, of which [0-9.]+ MiB are free\n", text), text
    assert re.search(r"  [0-9a-f]{16}-00007fffffa00000  rw-       8 MiB  \[stack\]\n", text), text
    assert "* CPU 0: thread 1 (status.musl) of rank 0, in system call exit_group, at 0xffffffff8" in text
    assert re.search(r"\n        time_ns  cpu  event +words\n +\d+    0  program_enter +rank 0  ", text), text


def test_in_the_program_the_commands_show_its_registers_and_symbols(tmp_path: Path) -> None:
    text = batch(
        tmp_path, "hbreak main\ncontinue\ncontinue\ntacet thread\ntacet log 1\n", program("status.musl"), "7"
    )
    assert "computes in its program, at\n" in text, text
    found = re.search(r"registers of the program, in the CPU:\n  rip (0x[0-9a-f]{16})  main", text)
    assert found and f"  {found[1]}  main" in text, text
    assert "r15    0x" in text and "status.musl: symbols at their linked addresses" in text, text
    assert re.search(r" program_enter +rank 0  entry 0x4", text), text


@pytest.mark.parametrize("kind", ["musl-pie", "glibc-pie"])
def test_a_static_pie_has_its_symbols_where_the_kernel_loads_it(kind: str, tmp_path: Path) -> None:
    text = batch(
        tmp_path, "hbreak main\ncontinue\ncontinue\ntacet thread\ntacet rank\n", program(f"clocks.{kind}")
    )
    assert "symbols 0x40000000000 above their linked addresses (static-PIE)" in text, text
    assert re.search(r"  rip 0x00000400000[0-9a-f]{5}  main", text), text
    assert "  program /init, bias 0x40000000000\n" in text, text


def test_each_step_into_a_system_call_shows_where_the_program_called(tmp_path: Path) -> None:
    """From the first instruction of the entry code to the last one that saves something."""
    steps = "stepi\ntacet thread\n" * 24
    text = batch(
        tmp_path,
        "hbreak main\ncontinue\ncontinue\nhbreak syscall_entry\ncontinue\ntacet thread\n" + steps,
        program("status.musl"),
        "7",
    )
    shown = re.findall(r"registers of the program, .*\n  (rip .*)\n  (rsp    \S+)  (eflags \S+)", text)
    assert len(shown) == 25 and len(set(shown)) == 1, text
    assert "_Exit+" in shown[0][0], text


def test_a_trap_is_named_and_shows_all_registers(tmp_path: Path) -> None:
    text = batch(
        tmp_path, "hbreak trap_handle\ncontinue\ncontinue\ntacet thread\n", program("runtime.musl"), "fault"
    )
    assert "\n  in page fault, at\n" in text and "saved by the trap's entry code:\n" in text, text
    assert "fault_here" in text and "r15    0x" in text, text


def test_every_cpu_is_listed_with_what_it_runs(tmp_path: Path) -> None:
    commands = "hbreak sys_exit_group\ncontinue\ncontinue\ntacet cpus\nthread 2\ntacet thread\ntacet log 1\n"
    text = batch(tmp_path, commands, program("status.musl"), options="--icount 0 --cpus 2 --options ranks=1")
    assert "* CPU 0: thread 1 (status.musl) of rank 0, in system call exit_group, at" in text, text
    # It may just have been interrupted.
    does = "(?:idles|in the kernel, without a thread)"
    assert re.search(rf"\n  CPU 1: no thread, {does}, at 0xffffffff8", text), text
    assert re.search(rf"\nCPU 1: no thread\n  {does}, at\n", text), text
    assert re.search(r"\n +\d+ +1  (cpu_online|interrupt) ", text), text


def test_help_explains_the_commands(tmp_path: Path) -> None:
    text = batch(tmp_path, "help tacet\n", program("status.musl"))
    for name in ("thread", "rank", "cpus", "log", "program", "start"):
        assert f"\ntacet {name} -- " in text, text


# ---- Bad input ----


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("tacet frob", "no such command: tacet frob; `help tacet` lists them"),
        ("tacet log many", "tacet log takes a number of events, such as 50, not many"),
        ("tacet rank 3", "tacet rank takes no argument"),
        ("tacet program /none", "no such program: /none"),
        ("tacet program", "tacet program needs the program's file"),
        ("tacet program /bin/ls", "/bin/ls is linked dynamically"),
        ("disconnect\ntacet cpus", "there is no node; `tacet start` starts one"),
    ],
)
def test_a_wrong_command_gets_one_clear_line(command: str, said: str, tmp_path: Path) -> None:
    text = batch(tmp_path, f"{command}\n", program("status.musl"))
    assert any(line.startswith(said) for line in text.splitlines()) and "Traceback" not in text, text


@pytest.mark.parametrize(
    ("words", "commands", "said"),
    [
        (["/none"], "", "no such program: /none"),
        (["/bin"], "", "/bin is a folder, not a program"),
        (["/bin/ls"], "", "/bin/ls is linked dynamically"),
        (["--kernel", "/none", "APP"], "", "there is no kernel /none"),
        (["APP"], "/none", "GDB_COMMANDS: no such file: /none"),
        (["--kernel", "KERNEL", "APP"], "", "cannot write /proc/none: No such file or directory"),
    ],
)
def test_tools_gdb_says_what_is_wrong(words: list[str], commands: str, said: str, tmp_path: Path) -> None:
    files = {"APP": str(program("status.musl")), "KERNEL": str(qemu.KERNEL)}
    command = ["tools/gdb", *(files.get(word, word) for word in words)]
    given = environment(tmp_path, **({"GDB_COMMANDS": commands} if commands else {}))
    given |= {"TACET_BUILD": "/proc/none"} if "KERNEL" in words else {}
    ran = subprocess.run(command, cwd=ROOT, env=given, capture_output=True, text=True, timeout=LIMIT_S)
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1), ran.stderr
    assert ran.stderr.startswith(f"tools/gdb: {said}"), ran.stderr


def test_a_machine_that_qemu_refuses_is_told_in_qemu_s_words(tmp_path: Path) -> None:
    text = batch(tmp_path, "print 1\n", program("status.musl"), options="--memory none")
    assert text.startswith("tools/gdb: QEMU did not start: qemu-system-x86_64: "), text
    assert text.count("\n") == 1 and "$1" not in text, text


def test_a_program_with_blanks_and_quotes_in_its_path_is_started(tmp_path: Path) -> None:
    app = tmp_path / 'my "program", 1'
    app.write_bytes(program("arguments.musl").read_bytes())
    app.chmod(0o755)
    text = batch(
        tmp_path, "hbreak main\ncontinue\ncontinue\ntacet rank\ndelete\ncontinue\n", app, "a b", 'say "x"'
    )
    assert 'rank 0 (my "program", 1): pid 1' in text and "exit status=0" in text, text
    written = (qemu.BUILD / "gdb.stdout").read_bytes()
    assert written.startswith(b'my "program", 1\0a b\0say "x"\0'), written
