# SPDX-License-Identifier: BSD-2-Clause
"""What a cluster's Linux nodes boot: Debian's kernel, which QEMU loads itself, and an initramfs with busybox
and tacet-launchd. All nodes have the same files. The command line sets
environment variables that tell the first process its node."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

import cpio
import qemu
from qemu.linux import LinuxNode, stock_options
from qemu.linux_network import LinuxNetwork

from . import layout

#: Console messages when its first process starts, and when it takes jobs.
BOOTS = "linux: "
RUNS = rf"{layout.LAUNCHD}: \S+ takes jobs at "
NETWORK = LinuxNetwork("e1000", modules=("9p", "9pnet_fd"))

_INIT = """#!/bin/busybox sh
# The first process of a cluster's Linux node: its cards, the shared folder, tacet-launchd.
/bin/busybox mount -t proc proc /proc
/bin/busybox --install -s /bin
mount -t sysfs sysfs /sys
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t devtmpfs devtmpfs /dev
mkdir /dev/shm
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /tmp
echo "linux: $NODE, $(uname -sr)"
hostname "$NODE"
{modules}
card() {{
    grep -l "$1" /sys/class/net/*/address | cut -d / -f 5
}}
data=$(card "$DATA") beats=$(card "$BEATS")
# The wire for beats carries nothing else.
echo 1 >"/proc/sys/net/ipv6/conf/$beats/disable_ipv6"
ip link set lo up
ip link set "$beats" up
ip addr add "$ADDRESS/24" dev "$data"
ip link set "$data" up
until [ "$(cat "/sys/class/net/$data/carrier")$(cat "/sys/class/net/$beats/carrier")" = 11 ]; do
    usleep 10000
done
tries=0
until mount -t 9p -o {options} {server} {place}; do
    tries=$((tries + 1))
    if [ $tries = 10 ]; then
        echo 'linux: stop status=64 reason="the shared folder cannot be mounted"'
        poweroff -f
    fi
    sleep 1
done
{launchd} --name "$NODE" --address "$ADDRESS" --conductor-key {public} --beats "$beats"
echo "linux: exit status=$?"
poweroff -f
"""


@dataclass(frozen=True)
class Mount:
    """The shared folder: diod's address as seen by nodes, and the folder's path there."""

    host: str
    port: int
    folder: Path

    def options(self) -> str:
        """Options of Linux's 9P client, without a cache: nodes see each other's writes."""
        words = ["trans=tcp", f"port={self.port}", "version=9p2000.L", "msize=65536", "cache=none"]
        return ",".join([*words, "access=any", "dfltuid=0", "uname=root", f"aname={self.folder}"])


def check() -> None:
    """RunnerError if a file of Debian is missing."""
    node = LinuxNode()
    node.kernel_file()
    NETWORK.files(node.module_folder())
    if not qemu.BUSYBOX.is_file():
        raise qemu.RunnerError(f"there is no {qemu.BUSYBOX} (ports/deps.sh run)")


def initramfs(public: str, mount: Mount, hosts: str) -> bytes:
    """All files of a Linux node; `public` is the conductor's public key, `hosts` has the names of all
    nodes."""
    modules = LinuxNode().module_folder()
    launchd = f"sbin/{layout.LAUNCHD}"
    init = _INIT.format(
        modules="\n".join(f"insmod /modules/{path.name}" for path in NETWORK.files(modules)),
        options=shlex.quote(mount.options()),
        server=mount.host,
        place=layout.PLACE,
        launchd=f"/{launchd}",
        public=public,
    )
    folders = ("proc", "sys", "dev", "tmp", "bin", "sbin", layout.PLACE.lstrip("/"))
    entries = [
        *NETWORK.entries(modules),
        *map(cpio.Entry.folder, folders),
        cpio.Entry.character_device("dev/console", 5, 1),
        cpio.Entry.file("bin/busybox", qemu.BUSYBOX.read_bytes(), executable=True),
        cpio.Entry.file(launchd, (layout.SERVICE / layout.LAUNCHD).read_bytes(), executable=True),
        cpio.Entry.file("etc/hosts", hosts.encode()),
        cpio.Entry.file("init", init.encode(), executable=True),
    ]
    return cpio.pack(entries)


def boot(number: int) -> qemu.DirectBoot:
    """The boot of one node, after LINUX_FILES is written."""
    who = {
        "NODE": layout.name_of(number),
        "ADDRESS": layout.address_of(number),
        "DATA": layout.data_mac(number),
        "BEATS": layout.beats_mac(number),
    }
    words = [stock_options(), *(f"{name}={value}" for name, value in who.items())]
    return qemu.DirectBoot(LinuxNode().kernel_file(), " ".join(words), layout.LINUX_FILES)
