#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# ports/mpich/build.sh BUILD-FOLDER: MPICH as BUILD-FOLDER/x86_64/mpich/{include/mpi.h,lib/libmpi.a}, of which
# this machine's gcc makes ordinary static programs that the tests run unmodified. Ranks of a node share
# memory, others speak TCP (ch3:nemesis); they find each other by PMI-1. What the tests do not use is left
# out, so that it builds in minutes: Fortran, C++, MPI-IO, launchers, other networks, topology, shared
# libraries. The source comes from ports/fetch.py. Does nothing when the recipe, this file and the compiler
# are those of the last time.

set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${1:?usage: ports/mpich/build.sh BUILD-FOLDER}
compiler=${CC:-gcc}

mkdir -p "$build/x86_64"
folder=$(cd "$build/x86_64" && pwd)/mpich
stamp=$folder/stamp
now=$(cat "$here/recipe" "$here/build.sh" && $compiler --version)
[ "$(cat "$stamp" 2>/dev/null)" != "$now" ] || exit 0

# The source is unpacked beside the folder; its own tests, manuals, and the networks' libraries are not.
work=$folder.work
rm -rf "$work" "$folder"
mkdir -p "$work"
tar -x -f "$("$here/../fetch.py" mpich)" -C "$work" --strip-components=1 \
    --exclude='*/test/mpi' --exclude='*/modules/libfabric' --exclude='*/modules/ucx' \
    --exclude='*/modules/yaksa' --exclude='*/modules/hwloc'

# The options of a calling make are not meant for MPICH's.
unset MAKEFLAGS MFLAGS CFLAGS CPPFLAGS LDFLAGS LIBS
options='--with-device=ch3:nemesis --with-pmi=simple --with-pm=no --with-datatype-engine=dataloop'
options="$options --without-hwloc --without-libfabric --without-ucx --disable-fortran --disable-cxx"
options="$options --disable-romio --disable-shared --disable-dependency-tracking --enable-fast=O1,ndebug"
if ! (cd "$work" &&
    ./configure -q CC="$compiler" $options &&
    make -s -j"$(nproc)") >"$work/log" 2>&1; then
    tail -n 20 "$work/log" >&2
    echo "ports/mpich/build.sh: MPICH did not build; everything it said is in $work/log" >&2
    exit 1
fi
mkdir -p "$folder/lib" "$folder/include"
cp "$work/lib/.libs/libmpi.a" "$folder/lib"
cp "$work/src/include/mpi.h" "$work/src/include/mpi_proto.h" "$folder/include"
rm -rf "$work"
printf '%s\n' "$now" >"$stamp"
