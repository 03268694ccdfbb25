# SPDX-License-Identifier: BSD-2-Clause
"""A folder from which nodes boot over the network: for boot/make-pxe.

    dnsmasq.conf       DHCP and TFTP for the folder; needs no changes
    tacet/bios.0       GRUB for a BIOS's PXE, and for UEFI, each in one file. It contains GRUB's modules and
    tacet/uefi.efi     start.cfg, which reads grub.cfg from the server; so a node requests only four files
    tacet/grub.cfg     common to all nodes; it reads the node's own file, or the default:
    tacet/nodes/01-52-54-00-12-34-56.cfg   named as for pxelinux, by kind of network and MAC
    tacet/nodes/default.cfg                for all other nodes
    tacet/tacet.elf, tacet/program*        kernel and programs

A node that cannot get a file prints its name and server, after GRUB's messages, and restarts after RETRY_S
seconds. So the nodes boot when the server works again.

Sources: PXE Specification 2.1; GRUB manual 2.06 §6.4 (network), §18 (net_default_*); RFC 4578 (client
architectures: 0 BIOS, 7 and 9 UEFI on x86_64); dnsmasq(8).
"""

from __future__ import annotations

import io
import ipaddress
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grub import GRUB, Failure, Serial, WrongInput, check_tools, quoted

TOOLS = {"grub-mkimage": "grub-common"}
#: GRUB's modules for every loader; LOADERS has those for one firmware's network.
MODULES = (
    "normal echo sleep reboot test regexp multiboot2 serial terminal tftp http net memdisk tar configfile"
).split()
#: File, format and modules of the loaders.
LOADERS = {
    "i386-pc": ("bios.0", "i386-pc-pxe", ["pxe"]),
    "x86_64-efi": ("uefi.efi", "x86_64-efi", ["efinet", "all_video"]),
}
RETRY_S = 10
FOLDER = "tacet"
#: A node's file; $ variables are set by grub.cfg.
_NODE = """# {comment}
set file=tacet.elf
if multiboot2 $files/tacet.elf bootif=$node {words}; then
    set file={program}
    if module2 $files/{program}; then boot; fi
fi
"""


#: The file of a node without a program.
_NODE_ALONE = """# {comment}
set file=tacet.elf
if multiboot2 $files/tacet.elf bootif=$node {words}; then boot; fi
"""


@dataclass(frozen=True)
class Node:
    """What a node boots: its program's file on this machine (None: it waits for jobs), kernel options and
    arguments; and its address and name if the DHCP server should give them."""

    program: Path | None
    options: Sequence[str] = ()
    args: Sequence[str] = ()
    address: str = ""
    name: str = ""


@dataclass(frozen=True)
class Service:
    """The service node: its network, its interface there, and how nodes get files.

    server     its address; "": the next server that DHCP names
    http       nodes with a BIOS get kernel and program by HTTP, from port 80 (GRUB 2.06's HTTP returns wrong
               bytes under UEFI)
    proxy      another server gives addresses; dnsmasq only tells nodes what to boot
    """

    network: ipaddress.IPv4Network = ipaddress.IPv4Network("10.99.0.0/24")
    interface: str = "tacet"
    server: str = ""
    http: bool = False
    proxy: bool = False

    def __post_init__(self) -> None:
        if self.proxy and not self.server:
            raise WrongInput("with another DHCP server, nodes need this server's address: --server ADDRESS")


@dataclass(frozen=True)
class Tree:
    """The contents of the folder."""

    kernel: Path
    default: Node
    nodes: Mapping[str, Node] = field(default_factory=dict)
    service: Service = Service()
    serial: Serial = Serial()

    def programs(self) -> dict[Path, str]:
        """Each program's name in the folder."""
        found: dict[Path, str] = {}
        for node in (self.default, *self.nodes.values()):
            if node.program is not None:
                found.setdefault(node.program, f"program{len(found) + 1 if found else ''}")
        return found


def node_file(mac: str) -> str:
    return f"01-{mac.replace(':', '-')}.cfg"


def start_cfg(service: Service, serial: Serial) -> str:
    """The loader's own configuration, which finds grub.cfg."""
    server = service.server or "$net_default_server"
    console = serial.commands(keys=False)
    return f"""{console}set server={server}
set base=(tftp,$server)/{FOLDER}
echo "Tacet: GRUB, node $net_default_mac, address $net_default_ip, server $server"
if [ -s "$base/grub.cfg" ]; then source $base/grub.cfg; fi
echo "Tacet: no tftp://$server/{FOLDER}/grub.cfg; again in {RETRY_S} s"
sleep {RETRY_S}
reboot
"""


def grub_cfg(service: Service) -> str:
    digits = " ".join(f"--set={i}:m{i}" for i in range(1, 7))
    pattern = ":".join(["(..)"] * 6)
    http = f"\n    set files=(http,$server)/{FOLDER}" if service.http else ""
    return f"""# Tacet's nodes, from boot/make-pxe, which overwrites it; what one node boots is in nodes/.
regexp {digits} '{pattern}' "$net_default_mac"
set node=01-$m1-$m2-$m3-$m4-$m5-$m6
set files=$base
if [ "$grub_platform" = pc ]; then
    # The kernel's header has asked for a framebuffer; a BIOS has a text mode.
    set gfxpayload=text{http}
fi
set own=default
set file=nodes/default.cfg
if [ -s "$base/nodes/$node.cfg" ]; then set own=$node; fi
source $base/nodes/$own.cfg
echo "Tacet: cannot load $file for nodes/$own.cfg; again in {RETRY_S} s"
sleep {RETRY_S}
reboot
"""


def node_cfg(node: Node, program: str, comment: str, console: Sequence[str]) -> str:
    if node.program is None:
        return _NODE_ALONE.format(comment=comment, words=" ".join(map(quoted, [*console, *node.options])))
    words = [f"argv0={node.program.name}", *console, *node.options]
    line = " ".join([*map(quoted, words), "--", *map(quoted, node.args)])
    return _NODE.format(comment=comment, words=line, program=program)


def dnsmasq_conf(tree: Tree, folder: Path) -> str:
    """dnsmasq's configuration. Paths are absolute, so that it can be started from any folder."""
    service = tree.service
    lines = [
        "# DHCP and TFTP for Tacet's nodes, from boot/make-pxe: dnsmasq --conf-file=FILE --no-daemon",
        "port=0  # no name server",
        f"interface={service.interface}",
        "bind-dynamic",
        "log-dhcp",
        "enable-tftp",
        f"tftp-root={folder.absolute()}",
    ]
    if service.proxy:
        lines += [
            "# Another server gives the addresses.",
            f"dhcp-range={service.network.network_address},proxy,{service.network.netmask}",
            f'pxe-service=x86PC,"Tacet",{FOLDER}/bios.0',
            f'pxe-service=X86-64_EFI,"Tacet",{FOLDER}/uefi.efi',
            f'pxe-service=BC_EFI,"Tacet",{FOLDER}/uefi.efi',
        ]
        return "\n".join(lines) + "\n"
    hosts = service.network.num_addresses
    first, last = (service.network.network_address + n for n in (min(10, hosts // 2), hosts - 2))
    lines += [
        "# Infinite leases: renewing an address would disturb a node that computes.",
        f"dhcp-range={first},{last},{service.network.netmask},infinite",
        "dhcp-match=set:bios,option:client-arch,0",
        "dhcp-match=set:uefi,option:client-arch,7",
        "dhcp-match=set:uefi,option:client-arch,9",
        *(
            f"dhcp-boot=tag:{tag},{FOLDER}/{file}" + (f",,{service.server}" if service.server else "")
            for tag, file in (("bios", "bios.0"), ("uefi", "uefi.efi"))
        ),
        *(
            ",".join(filter(None, [f"dhcp-host={mac}", node.address, node.name, "infinite"]))
            for mac, node in tree.nodes.items()
            if node.address or node.name
        ),
    ]
    return "\n".join(lines) + "\n"


def loader(platform: str, service: Service, serial: Serial) -> bytes:
    """GRUB with its modules and start.cfg, as the bytes of one file. Raises Failure."""
    _, image_format, modules = LOADERS[platform]
    with tempfile.TemporaryDirectory(prefix="tacet-pxe-") as name:
        folder = Path(name)
        with tarfile.open(folder / "memdisk", "w") as archive:
            content = start_cfg(service, serial).encode()
            entry = tarfile.TarInfo("start.cfg")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        (folder / "early.cfg").write_text("normal (memdisk)/start.cfg\n")
        made = subprocess.run(
            [
                *("grub-mkimage", "-O", image_format, "-d", GRUB / platform, "-p", "(memdisk)"),
                *("-m", folder / "memdisk", "-c", folder / "early.cfg", "-o", folder / "image"),
                *(*MODULES, *modules),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        if made.returncode != 0:
            raise Failure(
                f"no loader for {platform}: {made.stdout.strip() or 'grub-mkimage printed nothing'}"
            )
        return (folder / "image").read_bytes()


def contents(tree: Tree, folder: Path) -> dict[str, bytes | Path]:
    """The files of the folder: for each its bytes, or the file to copy."""
    tree.serial.check()
    programs = tree.programs()
    console = tree.serial.kernel_options() if tree.serial != Serial() else []
    found: dict[str, bytes | Path] = {f"{FOLDER}/tacet.elf": tree.kernel}
    found |= {f"{FOLDER}/{name}": program for program, name in programs.items()}
    for platform in LOADERS:
        found[f"{FOLDER}/{LOADERS[platform][0]}"] = loader(platform, tree.service, tree.serial)
    for name, comment, node in [
        ("default.cfg", "all nodes without a file of their own", tree.default),
        *((node_file(mac), mac, node) for mac, node in tree.nodes.items()),
    ]:
        text = node_cfg(node, programs[node.program] if node.program else "", comment, console)
        found[f"{FOLDER}/nodes/{name}"] = os.fsencode(text)
    found[f"{FOLDER}/grub.cfg"] = grub_cfg(tree.service).encode()
    found["dnsmasq.conf"] = os.fsencode(dnsmasq_conf(tree, folder))
    return found


def check_target(folder: Path) -> None:
    """WrongInput if a folder exists that boot/make-pxe has not made, so that it is not overwritten."""
    if folder.exists() and not folder.is_dir():
        raise WrongInput(f"{folder} is a file; a folder is needed")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / FOLDER / "grub.cfg").is_file():
        raise WrongInput(f"{folder} has other contents; name a new or empty folder")


def make(tree: Tree, folder: Path) -> None:
    """Write the folder. Nodes may boot at the same time, so each file appears when it is complete, and old
    files are removed last. Raises WrongInput, Failure."""
    check_tools(TOOLS)
    check_target(folder)
    found = contents(tree, folder)
    try:
        for name, content in found.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            part = target.with_name(f".{target.name}.part")
            if isinstance(content, Path):
                shutil.copyfile(content, part)
            else:
                part.write_bytes(content)
            part.chmod(0o644)
            os.replace(part, target)
        for old in (folder / FOLDER).rglob("*"):
            if old.is_file() and str(old.relative_to(folder)) not in found:
                old.unlink()
    except OSError as error:
        raise Failure(f"{folder} is incomplete: {error.filename or folder}: {error.strerror}") from None
