# SPDX-License-Identifier: BSD-2-Clause
"""A Tacet node: the kernel's command line, and the boot module with the program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import cpio

from . import architectures, paths
from .errors import RunnerError
from .machine import DirectBoot, Machine
from .program import Program, check_program, find_program
from .room import TACET_ROOM, check_room, folder_bytes


def quote(word: str) -> str:
    """A word for the kernel's command line, in quotes if its parser needs them. Raises RunnerError."""
    if "\0" in word:
        raise RunnerError("an argument cannot hold a NUL byte")
    if word and not any(c.isspace() or c in '"\\' for c in word):
        return word
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


def tacet_command_line(
    name: str,
    args: Sequence[str],
    env: Mapping[str, str],
    options: str = "",
    arch: str = architectures.DEFAULT,
) -> str:
    """The kernel's command line for a program; `options` are kernel options, passed unchanged."""
    _, output, errors, _ = architectures.named(arch).terminals
    words = [
        f"stdout={output}",
        f"stderr={errors}",
        f"argv0={name}",
        *(f"env={k}={v}" for k, v in env.items()),
    ]
    raw = [options.strip()] if options.strip() else []
    return " ".join([*map(quote, words), *raw, "--", *map(quote, args)])


def words_of(command_line: str) -> list[str]:
    """The words of a command line, split as the kernel's parser does."""
    words: list[str] = []
    word: str | None = None
    quoted = False
    letters = iter(command_line)
    for letter in letters:
        if letter == '"':
            quoted = not quoted
            word = word or ""
        elif letter.isspace() and not quoted:
            words += [] if word is None else [word]
            word = None
        else:
            word = (word or "") + (next(letters, letter) if letter == "\\" else letter)
    return words if word is None else [*words, word]


#: With one of these, the program has another input, or its port may be the kernel's too.
STREAM_OPTIONS = {"console", "launch", "stdin_bytes", "stdout"}


@dataclass(frozen=True)
class TacetNode:
    """The software of a Tacet node.

    kernel    the kernel's file; None: the tree's own options   kernel options, passed unchanged initrd    a
    boot module that replaces the one that is made for the program service   the words of a service: a static
    ELF program of this machine, and its arguments klog      a file for the flight log (`tools/lab klog` reads
    it), which the node sends at its end, or which is
              found in its memory when it exceeds its time limit
    """

    kernel: Path | None = None
    options: str = ""
    initrd: Path | None = None
    service: Sequence[str] = ()
    klog: Path | None = None

    def kernel_file(self, arch: str = architectures.DEFAULT) -> Path:
        return self.kernel or paths.kernel(arch)

    def prepare(self, program: Program, machine: Machine) -> Machine:
        """The machine, ready to boot Tacet and to run the program. RunnerError if something is missing.

        The boot module is `initrd` if given; otherwise, with `files` or a service, an archive of these and
        the program; otherwise the program itself.
        """
        kernel = self.kernel_file(machine.arch)
        if not kernel.is_file():
            words = "" if machine.arch == architectures.DEFAULT else f" kernel ARCH={machine.arch}"
            raise RunnerError(f"there is no kernel {kernel}; `make{words}` builds it")
        program.check_files()
        name = program.app.name if program.app else "app"
        module, app_options = self.initrd or program.app, []
        if self.service:
            check_program(Path(self.service[0]), machine.arch)
        if program.files is not None or self.service:
            module, app_options = _archive(program, name, self.service, machine.memory)
        if module is not None and module.is_file():
            check_room(module.stat().st_size, machine.memory, TACET_ROOM)
        options = [
            *self._input_options(program),
            *self._klog_options(machine.architecture()),
            self.options,
            *app_options,
        ]
        if program.cwd is not None:
            options.append(quote(f"cwd={program.cwd}"))
        line = tacet_command_line(
            name, program.args, program.env, " ".join(filter(None, map(str.strip, options))), machine.arch
        )
        return replace(machine, boot=DirectBoot(kernel, line, module), com4=self.klog)

    def input_is_empty(self, program: Program) -> bool:
        """Whether the kernel itself ends the program's input. Then nothing is sent to the node, whose time of
        arrival would depend on the host's speed. Options about the streams take this choice away."""
        names = {word.partition("=")[0] for word in words_of(self.options)}
        return program.stdin is None and not names & STREAM_OPTIONS

    def _input_options(self, program: Program) -> list[str]:
        """The kernel's option for the length of standard input. It knows that of a regular file, which may
        contain any byte. Other input ends at its first end-of-transmission."""
        if self.input_is_empty(program):
            return ["stdin_bytes=0"]
        if program.stdin is not None and program.stdin.is_file():
            return [f"stdin_bytes={program.stdin.stat().st_size}"]
        return []

    def _klog_options(self, architecture: architectures.Architecture) -> list[str]:
        """The kernel's options for the flight log. Empties its file, so that it never holds an earlier run's
        log. Raises RunnerError."""
        if self.klog is None:
            return []
        try:
            self.klog.write_bytes(b"")
        except OSError as error:
            raise RunnerError(f"cannot write the flight log to {self.klog}: {error.strerror}") from None
        return [f"klog={architecture.terminals[3]}"]


def _archive(program: Program, name: str, service: Sequence[str], memory: str) -> tuple[Path, list[str]]:
    """An archive of the program's files, the program and the service, and the kernel options that name them.

    The program is /bin/NAME in it, unless it is in the folder and has its path there. The service is
    /sbin/NAME.
    """
    entries = []
    if program.files is not None:
        check_room(folder_bytes(program.files), memory, TACET_ROOM)
        entries = cpio.entries_of(program.files)
    inside = find_program(program.app, program.files)[1] if program.app else None
    if program.app is not None and inside is None:
        inside = f"/bin/{name}"
        entries.append(cpio.Entry.file(inside.lstrip("/"), program.app.read_bytes(), executable=True))
    options = [] if inside is None else [quote(f"app={inside}")]
    if service:
        daemon = Path(service[0])
        entries.append(cpio.Entry.file(f"sbin/{daemon.name}", daemon.read_bytes(), executable=True))
        options.append(quote(" ".join([f"service=/sbin/{daemon.name}", *service[1:]])))
    content = cpio.pack(entries)
    check_room(len(content), memory, TACET_ROOM)
    return paths.keep(f"{name}.cpio", content), options
