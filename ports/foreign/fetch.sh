#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# ports/foreign/fetch.sh BUILD-FOLDER WHAT...: compilers and libraries of others, as Debian has them, unpacked
# and not installed, as BUILD-FOLDER/foreign/WHAT; the tests' programs of tests/foreign/ are made with them.
#
#   go          Debian's Go: compiler, runtime, standard library                                   80 MB
#   rust        Debian's Rust: compiler and standard library                                       80 MB
#   libraries   static libraries: OpenBLAS and FFTW with threads, HDF5, SQLite, Lua, CPython       20 MB
#   network     static libraries: iperf3 and what it needs                                          3 MB
#
# `packages` there lists names and versions, and is written last. The first time needs the network, later ones
# only the cache; remove the cache's folder of the same name for newer packages. Exits 3, with one line on
# stderr, when something is not available, and 2 for a WHAT there is not.

set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${1:?usage: ports/foreign/fetch.sh BUILD-FOLDER go|rust|libraries|network...}
shift
. "$here/../apt.sh"

# OpenBLAS and the others stand alone; of what HDF5 and CPython need, only what a static program links.
libraries='libopenblas-pthread-dev libfftw3-dev libhdf5-dev libsqlite3-dev liblua5.4-dev libpython3-dev'
for what in "$@"; do
    case $what in
    go) packages=golang-go pattern='golang-.*' ;;
    rust) packages=rustc pattern='rustc.*|libstd-rust.*|libllvm.*' ;;
    libraries)
        packages=$libraries
        pattern='libopenblas-pthread-dev|libfftw3-dev|libhdf5-dev|libsqlite3-dev|liblua5.4-dev'
        pattern="$pattern|libpython3\\.[0-9]+-(dev|stdlib|minimal)|libexpat1-dev|zlib1g-dev|libaec-dev"
        ;;
    network) packages='libiperf-dev libssl-dev libsctp-dev' pattern='lib(iperf|ssl|sctp)-dev' ;;
    *) echo "ports/foreign/fetch.sh: no such thing: $what (go, rust, libraries, network)" >&2 && exit 2 ;;
    esac
    mkdir -p "$build/foreign"
    folder=$build/foreign/$what
    [ ! -f "$folder/packages" ] || continue
    debs_cached "$what" || debs_get_matching "$what" "$pattern" $packages
    debs_unpack "$what" "$folder"
    for deb in "$cache/$what"/*.deb; do
        dpkg-deb --showformat '${Package} ${Version}\n' --show "$deb"
    done >"$folder/packages.part"
    mv "$folder/packages.part" "$folder/packages"
done
