#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# ports/deps.sh [--check] GROUP...: see that the Debian packages of some groups are installed, and install
# what is missing: as root, or by sudo where it asks for no password. Elsewhere, and with --check, say what is
# missing and which command installs it, and exit 1. When nothing is missing it is silent and needs neither
# root nor network. A system without apt-get gets a list of what is missing; TACET_DEPS=skip goes on without
# looking, where it is there in another place.
#
#   build   compile the kernel, musl and the programs
#   run     run them in QEMU, make boot media, draw the lab's pictures
#   ppc64   what ARCH=ppc64 needs on top of these two
#   bench   the other MPIs that `make bench` measures beside, and what a cluster takes
#   test    what the tests need on top
#   dev     what changes sources: the formatter, of the version that .clang-format is written for

set -eu

# Group, what shows that it is there (a command, a file, for which patterns are fine, or python:MODULE), and
# the package that brings it; of alternatives A|B the first that apt knows. HPC Challenge, which the tests of
# MPI compile, needs a BLAS: whichever is there, or the smallest.
table='
build  gcc                                              gcc
build  /usr/include/stdlib.h                            libc6-dev
build  g++                                              g++
build  /usr/include/CLI/CLI.hpp                         libcli11-dev
build  ld                                               binutils
build  make                                             make
build  nasm                                             nasm
build  /usr/bin/python3                                 python3
build  xz                                               xz-utils
build  patch                                            patch
build  /usr/share/keyrings/debian-archive-keyring.gpg   debian-archive-keyring

run    /usr/bin/python3                                 python3
run    qemu-system-x86_64                               qemu-system-x86
run    /usr/share/seabios/bios-256k.bin                 seabios
run    /usr/share/OVMF/OVMF_CODE*.fd                    ovmf
run    /usr/lib/ipxe/qemu/efi-e1000.rom                 ipxe-qemu
run    /var/lib/dpkg/info/busybox-static.list           busybox-static
run    /usr/share/keyrings/debian-archive-keyring.gpg   debian-archive-keyring
run    grub-mkrescue                                    grub-common
run    /usr/lib/grub/i386-pc/multiboot2.mod             grub-pc-bin
run    /usr/lib/grub/x86_64-efi/multiboot2.mod          grub-efi-amd64-bin
run    /usr/*bin/dnsmasq                                dnsmasq-base
run    ip                                               iproute2
run    unshare                                          util-linux
run    xorriso                                          xorriso
run    mformat                                          mtools
run    python:numpy                                     python3-numpy
run    python:matplotlib                                python3-matplotlib
run    python:scipy                                     python3-scipy

ppc64  powerpc64le-linux-gnu-gcc                        gcc-powerpc64le-linux-gnu
ppc64  qemu-system-ppc64                                qemu-system-ppc

bench  mpicc.mpich                                      mpich
bench  /usr/include/*/mpich/mpi.h                       libmpich-dev
bench  mpirun.openmpi                                   openmpi-bin
bench  mpicc.openmpi                                    libopenmpi-dev
bench  /usr/sbin/diod                                   diod

test   chromium                                         chromium
test   python:pytest                                    python3-pytest
test   python:xdist                                     python3-pytest-xdist
test   clang                                            clang
test   /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-x86_64.a libclang-rt-14-dev|libclang-rt-19-dev
test   gdb                                              gdb
test   gfortran                                         gfortran
test   /usr/lib/*/libblas.a                             libblas-dev
test   cmake                                            cmake
test   tclsh                                            tcl
test   powerpc64le-linux-gnu-gcc                        gcc-powerpc64le-linux-gnu
test   powerpc64le-linux-gnu-g++                        g++-powerpc64le-linux-gnu
test   powerpc64le-linux-gnu-gfortran                   gfortran-powerpc64le-linux-gnu
test   /usr/powerpc64le-linux-gnu/lib/libc.a               libc6-dev-ppc64el-cross
test   qemu-system-ppc64                                qemu-system-ppc
test   mpicc.mpich                                      mpich
test   /usr/include/*/mpich/mpi.h                       libmpich-dev
test   mpirun.openmpi                                   openmpi-bin
test   mpicc.openmpi                                    libopenmpi-dev
test   /usr/sbin/slurmctld                              slurmctld
test   /usr/sbin/slurmd                                 slurmd
test   /usr/sbin/diod                                   diod
test   spin                                             spin
test   bochs                                            bochs
test   /usr/lib/*/bochs/plugins/libbx_rfb_gui.so        bochs
test   /usr/share/bochs/BIOS-bochs-latest               bochsbios
test   /usr/share/vgabios/vgabios.bin                   vgabios

dev    clang-format-14                                  clang-format-14
'

check=no
[ "${1:-}" != --check ] || { check=yes && shift; }
groups=" $* "
for group in "$@"; do
    case $group in
    build | run | ppc64 | bench | test | dev) ;;
    *) echo "ports/deps.sh: no such group: $group (build, run, ppc64, bench, test, dev)" >&2 && exit 2 ;;
    esac
done
[ "${TACET_DEPS:-}" != skip ] || exit 0
[ $# -gt 0 ] || { echo "usage: ports/deps.sh [--check] build|run|ppc64|bench|test|dev..." >&2 && exit 2; }

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
    for package in $missing; do
        found=${package%%|*}
        for one in $(echo "$package" | tr '|' ' '); do
            [ "$one" != "$package" ] || break
            if apt-cache show "$one" >/dev/null 2>&1; then
                found=$one
                break
            fi
        done
        echo "$found"
    done
}

# A mirror may be busy: three attempts, each of which retries single files itself.
tried()
{
    for pause in 5 15 0; do
        if $root env DEBIAN_FRONTEND=noninteractive \
            apt-get -q -o Acquire::Retries=3 -o DPkg::Lock::Timeout=120 "$@"; then
            return 0
        fi
        [ $pause = 0 ] || sleep $pause
    done
    return 1
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
    echo "ports/deps.sh: missing Debian packages; as root:" >&2
    echo "    apt-get update && apt-get install --no-install-recommends" $(chosen) >&2
    exit 1
fi
echo "ports/deps.sh: installing, once, which may take minutes:" $(chosen) >&2
if ! { tried update && tried install -y --no-install-recommends $(chosen); }; then
    echo "ports/deps.sh: could not install:" $(chosen) >&2
    exit 1
fi
missing=$(missing_packages)
if [ -n "$missing" ]; then
    echo "ports/deps.sh: installed, and still not found:" $missing >&2
    exit 1
fi
