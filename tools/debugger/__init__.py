# SPDX-License-Identifier: BSD-2-Clause
"""What tools/gdb adds to gdb: a node in QEMU that ends with gdb and reports how it ended, and commands that
know the kernel's structures. All modules except `session` run in gdb's Python.

    session.py    the settings that tools/gdb passes to gdb
    node.py       QEMU as gdb's child: its start and its end
    kernel.py     the kernel's structures in the node's memory
    registers.py  where a CPU is, and the registers of its program
    program.py    the symbols of the program
    commands.py   `tacet …`
"""
