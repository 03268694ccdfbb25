# SPDX-License-Identifier: BSD-2-Clause
"""A cluster in QEMU, for tools/cluster: nodes that boot over a network of their own, a DHCP and TFTP server,
a file server, and a conductor.

It is two processes. The first one (house.py), which the user has started, makes a house: namespaces for the
network, the processes and the mounts, in which the second one (__main__.py) is the first process, with an
empty /run of its own. The second one starts everything else. Whichever of the two ends, and however, Linux
then ends whatever runs in the house, and the networks and /run go with their namespaces: no process, no
socket and no folder remains.

    tacet    the bridge of nodes' data: PXE, DHCP, files; this machine is 10.99.0.1, nodes from .11 on
    beats    the bridge of heartbeats, on which nothing else is
    /run     tmpfs: the conductor's key and socket, the folder that nodes boot from, QEMU's serial ports

    arguments.py  what may be asked for      house.py     the namespaces
    layout.py     addresses, places          services.py  bridges, servers, conductor
    nodes.py      one node, from its first request to its end
    linux.py      what a node with Linux boots
    lines.py      output of many nodes as whole lines
"""
