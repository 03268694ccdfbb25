# SPDX-License-Identifier: BSD-2-Clause
"""Nodes in lockstep on one virtual clock, on unmodified QEMU 10: for tools/lockstep-run (docs/lockstep.md).

Each node runs under `-icount`: its time is the count of its instructions. All nodes stop at the same instants
of this time, the *gates*, one each quantum. When all have stopped at a gate, frames are carried between them,
and all continue. So nothing that a node can see depends on this machine, and every run is the same, byte for
byte.

    timers.py   the gates: timers of the node's HPET that no guest notices
    doorbell.py the device that these timers write to: an ivshmem device, whose server is this process
    node.py     one QEMU: started, stopped at a gate, continued, ended
    cable.py    frames to and from one network card
    switch.py   which node gets a frame, and at which gate; pure
    beats.py    the conductor, in virtual time
    gates.py    the loop
    cluster.py  makes nodes, cards, switch and conductor according to the plan
    arguments.py the command line and the plan
    hold.c      a QEMU plugin that stops the node's CPUs, but not QEMU
    conductor.c the conductor's own code, for beats.py

Frames arrive at an exact time. At a gate nothing of a QEMU runs: the CPU's thread blocks in write(2) and
holds QEMU's lock. Then frames for the node are put into its cable's socket. QEMU's main loop reads them some
time after the gate opens; whether it does so before the next gate would depend on this machine. So hold.c
keeps the node's CPUs from executing, without the lock, from the opening of the gate until the socket has been
read empty. The frames go to QEMU's filter-buffer, whose timer is virtual: it passes them to the card at the
instant of the next gate, before the node stops there.

A halted CPU executes nothing. QEMU's main loop then leaps to the node's next timer. It may do so once with
its state from before the gate, without having seen the frames. A third timer (timers.py) gives it a nearer
time to leap to; after that it looks at its sockets again. It may also leap too far: when a CPU has reported
that it is halted, but has not yet added the instructions of its last turn to the node's time. So hold.c makes
a CPU wait before it halts until the main loop sleeps.
"""
