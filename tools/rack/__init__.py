# SPDX-License-Identifier: BSD-2-Clause
"""A cluster in QEMU, for tools/cluster: nodes that boot over a private network, a DHCP and TFTP server, a
file server, and a conductor.

There are two main processes. The user starts the first one (house.py). It makes a house: namespaces for the
network, processes and mounts, with their own empty /run. The second one (__main__.py) is the first process in
the house and starts everything else. When either of the two ends, Linux ends all processes in the house, and
the networks and /run disappear with their namespaces: no process, socket or folder remains.

    tacet    the bridge for data: PXE, DHCP, files; this machine is 10.99.0.1, nodes are .11 and up
    beats    the bridge for heartbeats only
    /run     tmpfs: the conductor's key and socket, the folder that nodes boot from, QEMU's serial ports

    arguments.py  the command line           house.py     the namespaces
    layout.py     addresses, places          services.py  bridges, servers, conductor
    nodes.py      one node, from its first request to its end
    linux.py      what a node with Linux boots
    lines.py      output of many nodes as whole lines
"""
