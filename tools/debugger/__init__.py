# SPDX-License-Identifier: BSD-2-Clause
"""What tools/gdb adds to gdb: a node in QEMU that ends with gdb and says how it ended, and commands that know
the kernel's structures. All but `session` runs in gdb's Python.

    session.py    what tools/gdb hands over
    node.py       QEMU as gdb's child: its beginning and its end
    kernel.py     the kernel's structures as they lie in the node's memory
    registers.py  where a CPU is, and the registers of its program
    program.py    the symbols of the program
    commands.py   `tacet …`
"""
