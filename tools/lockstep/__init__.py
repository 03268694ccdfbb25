# SPDX-License-Identifier: BSD-2-Clause
"""Nodes in lockstep on one virtual clock, on unmodified QEMU 10: for tools/lockstep-run (docs/lockstep.md).

Each node runs under `-icount`: its time is the count of its instructions. All stop at the same instants of
it, *gates*, one each quantum. When all stand at one, frames are carried between them, and all are let go on.
So nothing that a node can see depends on this machine, and every run is the same, byte for byte.

    timers.py   the gates: timers of the node's HPET that no guest notices
    doorbell.py where they lead to: an ivshmem device, whose server is this process
    node.py     one QEMU: started, at a gate, let go on, ended
    cable.py    frames to and from one network card
    switch.py   who gets a frame, and at which gate; pure
    beats.py    the conductor, in virtual time
    gates.py    the loop
    cluster.py  nodes, cards, switch and conductor from what was asked for
    arguments.py what may be asked for
    hold.c      a plugin of QEMU: the node waits, its QEMU does not
    conductor.c the conductor's own code, for beats.py

How frames come in at an exact time. At a gate nothing of a QEMU runs: the CPU's thread stands in write(2) and
holds QEMU's lock. Frames for a node are put into its cable's socket then. Its main loop reads them some time
after the gate has been opened, but which gate comes first, the next one or the main loop, would be this
machine's matter. So, from the opening of that gate until the socket has been read empty, hold.c keeps the
node's CPUs from executing anything, without the lock. What was read goes to QEMU's filter-buffer, whose
timer is virtual: it gives the frames to the card at the next gate's instant, before the node stops there.

A CPU that is halted executes nothing anyway, and QEMU's main loop leaps to the next timer of the node, but
may do so once with what it knew before the gate, frames not seen. A third timer (timers.py) is there for it
to leap to; then it looks at its sockets again. It may also leap too far: if it comes by when a CPU says that
it is halted, and has not yet added the instructions of its last turn to the node's time. So, before it halts,
hold.c has a CPU wait until the main loop sleeps.
"""
