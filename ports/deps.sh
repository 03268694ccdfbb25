#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# ports/deps.sh [--check] GROUP... [--later GROUP...]: installs the Debian packages of some groups that are
# missing: as root, or by sudo if it asks for no password. Otherwise, and with --check, names them and the
# command that installs them in one line and exits 1; those of the groups after --later, which the caller
# installs while it does something else, are named with them. If nothing is missing it is silent and needs
# neither root nor network. A system without apt-get gets a list of what is missing; TACET_DEPS=skip goes on
# without looking, for programs in unusual places.
#
#   build        compile the kernel and the programs; take Debian's packages without installing them
#   build-ppc64  compile them for POWER
#   sim          compile C++: the simulator
#   run          run programs on nodes in QEMU
#   run-ppc64    the same on POWER
#   draw         pictures, and what reads measurements
#   lab          all of the lab: spectra need scipy
#   boot         boot images: CDs and network boot
#   network      networks of nodes: addresses, bridges
#   cluster      what a cluster takes on top: the file server, which MOUNT= needs too
#   gdb          the debugger
#   fuzz         fuzzers
#   bench        the other MPIs that `make bench` measures next to ours
#   test         what the tests need on top of all these
#   test-long    what only the long tests need
#   dev          what changes sources: the formatter, of the version that .clang-format is written for
#
# While it installs, a terminal shows one line that is rewritten; otherwise there is a line before and a line
# after. What apt says is in build/deps.log, and its end is shown if apt fails. An interrupted installation is
# repaired by the next one.

set -eu

here=$(dirname "$0")

# Group, what shows that it is there (a command, a file, for which patterns are fine, or python:MODULE), and
# the package that brings it; of alternatives A|B the first that apt knows, A&B is both. Debian's matplotlib
# wants either munkres or scipy, which is ten times as large. HPC Challenge, which the tests of MPI compile,
# needs a BLAS: whichever is there, or the smallest.
table='
build  gcc                                              gcc
build  /usr/include/stdlib.h                            libc6-dev
build  ld                                               binutils
build  make                                             make
build  nasm                                             nasm
build  /usr/bin/python3                                 python3
build  xz                                               xz-utils
build  /usr/share/keyrings/debian-archive-keyring.gpg   debian-archive-keyring

build-ppc64  powerpc64le-linux-gnu-gcc                  gcc-powerpc64le-linux-gnu
build-ppc64  powerpc64le-linux-gnu-ld                   binutils-powerpc64le-linux-gnu
build-ppc64  /usr/powerpc64le-linux-gnu/lib/libc.a      libc6-dev-ppc64el-cross

sim    g++                                              g++
sim    /usr/include/CLI/CLI.hpp                         libcli11-dev

run    /usr/bin/python3                                 python3
run    qemu-system-x86_64                               qemu-system-x86
run    /usr/share/seabios/bios-256k.bin                 seabios
run    /usr/lib/ipxe/qemu/efi-e1000.rom                 ipxe-qemu
run    /var/lib/dpkg/info/busybox-static.list           busybox-static

run-ppc64  qemu-system-ppc64                            qemu-system-ppc

draw   python:numpy                                     python3-numpy
draw   python:matplotlib                                python3-matplotlib&python3-munkres

lab    python:numpy                                     python3-numpy
lab    python:matplotlib                                python3-matplotlib
lab    python:scipy                                     python3-scipy

boot   grub-mkrescue                                    grub-common
boot   /usr/lib/grub/i386-pc/multiboot2.mod             grub-pc-bin
boot   /usr/lib/grub/x86_64-efi/multiboot2.mod          grub-efi-amd64-bin
boot   xorriso                                          xorriso
boot   mformat                                          mtools

network  /usr/*bin/dnsmasq                              dnsmasq-base
network  ip                                             iproute2
network  unshare                                        util-linux

cluster  /usr/sbin/diod                                 diod

gdb    gdb                                              gdb
gdb    python:numpy                                     python3-numpy

fuzz   clang                                            clang
fuzz   /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-x86_64.a libclang-rt-14-dev|libclang-rt-19-dev

bench  mpicc.mpich                                      mpich
bench  /usr/include/*/mpich/mpi.h                       libmpich-dev
bench  mpirun.openmpi                                   openmpi-bin
bench  mpicc.openmpi                                    libopenmpi-dev

test   /usr/share/OVMF/OVMF_CODE*.fd                    ovmf
test   chromium                                         chromium
test   python:pytest                                    python3-pytest
test   python:xdist                                     python3-pytest-xdist
test   gfortran                                         gfortran
test   /usr/lib/*/libblas.a                             libblas-dev
test   cmake                                            cmake
test   bzip2                                            bzip2
test   cpio                                             cpio
test   tclsh                                            tcl
test   powerpc64le-linux-gnu-g++                        g++-powerpc64le-linux-gnu
test   powerpc64le-linux-gnu-gfortran                   gfortran-powerpc64le-linux-gnu
test   /usr/sbin/slurmctld                              slurmctld
test   /usr/sbin/slurmd                                 slurmd
test   spin                                             spin
test   bochs                                            bochs
test   /usr/lib/*/bochs/plugins/libbx_rfb_gui.so        bochs
test   /usr/share/bochs/BIOS-bochs-latest               bochsbios
test   /usr/share/vgabios/vgabios.bin                   vgabios

test-long  mmdebstrap                                   mmdebstrap

dev    clang-format-14                                  clang-format-14
'

known=$(echo "$table" | while read -r group _; do echo "$group"; done | uniq)

check=no
[ "${1:-}" != --check ] || { check=yes && shift; }
groups=' ' later=' ' is_later=no
for group in "$@"; do
    if [ "$group" = --later ]; then
        is_later=yes && continue
    fi
    [ $is_later = no ] && groups="$groups$group " || later="$later$group "
    case "
$known
" in
    *"
$group
"*) ;;
    *) echo "ports/deps.sh: no such group: $group (known:" $known")" >&2 && exit 2 ;;
    esac
done
[ "${TACET_DEPS:-}" != skip ] || exit 0
[ $# -gt 0 ] || { echo "usage: ports/deps.sh [--check] GROUP... (known:" $known")" >&2 && exit 2; }

there()
{
    case $1 in
    python:*)
        there "/usr/lib/python3/dist-packages/${1#*:}/__init__.py" ||
            there "/usr/lib*/python3*/site-packages/${1#*:}/__init__.py"
        ;;
    /*)
        # The pattern, or the files that it stands for.
        for file in $1; do
            [ ! -e "$file" ] || return 0
        done
        return 1
        ;;
    *) command -v "$1" >/dev/null ;;
    esac
}

missing_packages()
{
    echo "$table" | while read -r group probe package; do
        case $groups in
        *" $group "*) there "$probe" || echo "$package" ;;
        esac
    done | sort -u
}

# Of alternatives the first that apt knows, or simply the first.
chosen()
{
    for package in $(echo "$missing" | tr '&' '\n'); do
        found=${package%%|*}
        for one in $(echo "$package" | tr '|' ' '); do
            [ "$one" != "$package" ] || break
            if apt-cache show "$one" >/dev/null 2>&1; then
                found=$one
                break
            fi
        done
        echo "$found"
    done | sort -u
}

# The list for a system without apt: what was looked for, and what Debian calls it. Its archive's keys are for
# apt only.
missing_elsewhere()
{
    echo "$table" | while read -r group probe package; do
        case "$groups$package" in
        *" " | *debian-archive-keyring) ;;
        *" $group "*) there "$probe" || printf '    %-45s %s\n' "$probe" "$package" ;;
        esac
    done | sort -u
}

now=$groups
groups="$now${later# }"
missing=$(missing_packages)
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
    missing=$(missing_elsewhere)
    [ -n "$missing" ] || exit 0
    {
        echo "ports/deps.sh: there is no apt-get here to install what is missing; your system's packages" \
            "have similar names:"
        printf '    %-45s %s\n%s\n' "looked for" "Debian's package" "$missing"
        echo "If all of it is there, in other places: TACET_DEPS=skip make ..."
    } >&2
    exit 1
fi
if [ "$(id -u)" = 0 ]; then
    root=''
elif sudo -n true 2>/dev/null; then
    root='sudo -n'
else
    check=yes
fi
if [ $check = yes ]; then
    echo "ports/deps.sh: missing Debian packages; as root:" \
        "apt-get update && apt-get install --no-install-recommends" $(chosen) >&2
    exit 1
fi

# ---- Installing ----

groups=$now
missing=$(missing_packages)
[ -n "$missing" ] || exit 0

log=$here/../build/deps.log
mkdir -p "$here/../build"
terminal=no
[ ! -t 2 ] || terminal=yes
begun=$(date +%s)
# The shell waits for apt before it obeys: a package is not left half unpacked where apt can help it.
trap 'stopped' INT TERM HUP

stopped()
{
    [ $terminal = no ] || printf '\r\033[K' >&2
    echo "ports/deps.sh: interrupted; the next call goes on from here" >&2
    exit 130
}

# The one line of a terminal.
show()
{
    [ $terminal = no ] || printf '\r\033[K  APT     %s' "$*" >&2
}

# Reads apt's status lines, KIND:NAME:PERCENT:TEXT, and the last one, `ended:STATUS`, which is returned. What
# is downloaded is about a third of the work.
progress()
{
    status=1 last=''
    while IFS=: read -r kind name percent text; do
        case $kind in
        dlstatus) doing=downloading tenths=$((${percent%%.*} * 3)) ;;
        pmstatus) doing=$name tenths=$((300 + ${percent%%.*} * 7)) ;;
        ended) status=$name && continue ;;
        *) continue ;;
        esac
        [ $terminal = yes ] && [ "$doing$tenths" != "$last" ] || continue
        last=$doing$tenths
        seconds=$(($(date +%s) - begun))
        left=''
        if [ $tenths -ge 100 ] && [ $seconds -ge 3 ]; then
            left=", about $((seconds * (1000 - tenths) / tenths + 1)) s left"
        fi
        show "$size: $((tenths / 10)) %$left: $doing"
    done
    return "$status"
}

# apt WORD...: apt-get, without a question; its status lines come by its standard output, which sudo passes.
apt()
{
    {
        $root env DEBIAN_FRONTEND=noninteractive LC_ALL=C sh -c 'exec apt-get "$@" 3>&1 >&2' sh -q \
            -o APT::Status-Fd=3 -o Acquire::Retries=3 -o DPkg::Lock::Timeout=120 "$@" </dev/null 2>>"$log" &&
            echo ended:0 || echo "ended:$?"
    } | progress
}

# What was interrupted before.
repair()
{
    [ -n "$(dpkg --audit 2>/dev/null)$(ls /var/lib/dpkg/updates 2>/dev/null)" ] || return 0
    show "finishing an installation that was interrupted"
    $root env DEBIAN_FRONTEND=noninteractive dpkg --force-confdef --force-confold --configure -a \
        </dev/null >>"$log" 2>&1 || :
    apt install -y --no-install-recommends -f
}

update()
{
    show "Debian's package lists"
    apt update
}

# Package lists of this hour need no renewal.
lists_fresh()
{
    [ -n "$(find /var/lib/apt/lists -maxdepth 1 -name '*_Packages*' -mmin -60 2>/dev/null)" ]
}

install()
{
    packages=$(chosen)
    size=$(LC_ALL=C apt-get install -y --no-install-recommends --print-uris $packages 2>/dev/null |
        awk '/^.*:\/\// { n++; b += $3 } END { if (n) printf "%d packages, %d MB", n, b / 1000000 + 0.5 }')
    # Nothing to download: an interrupted call has done it.
    size=${size:-$(echo "$packages" | wc -w) packages}
    [ $terminal = yes ] || echo "  APT     installing $size:" $packages >&2
    apt install -y --no-install-recommends $packages
}

# A mirror may be busy: three attempts, each of which retries single files itself.
installed()
{
    repair
    lists_fresh && install && return 0
    for pause in 5 15 0; do
        update && install && return 0
        show "apt failed; trying again"
        [ $pause = 0 ] || sleep $pause
        repair || :
    done
    return 1
}

size=packages
: >"$log"
if ! installed; then
    [ $terminal = no ] || printf '\r\033[K' >&2
    tail -n 12 "$log" >&2
    echo "ports/deps.sh: could not install" $(chosen)"; all that apt said is in build/deps.log" >&2
    exit 1
fi
[ $terminal = no ] || printf '\r\033[K' >&2
missing=$(missing_packages)
if [ -n "$missing" ]; then
    echo "ports/deps.sh: installed, and still not found:" $missing >&2
    exit 1
fi
echo "  APT     installed $size, $(($(date +%s) - begun)) s" >&2
