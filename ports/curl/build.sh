#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# ports/curl/build.sh BUILD-FOLDER [ARCH]: curl as BUILD-FOLDER/ARCH/curl/curl, static, against musl: an
# ordinary program of the network that the tests run unmodified. It speaks HTTP, FTP and TFTP, without
# encryption. The source comes from ports/fetch.py. Needs musl (ports/musl) in the same folder. Does nothing
# when the recipe, this file and the compiler are those of the last time.

set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${1:?usage: ports/curl/build.sh BUILD-FOLDER [ARCH]}
arch=${2:-x86_64}

mkdir -p "$build/$arch"
build=$(cd "$build" && pwd)
folder=$build/$arch/curl
stamp=$folder/stamp
tacet_cc=$here/../../libc/tacet-cc
export TACET_BUILD="$build" TACET_ARCH="$arch"
now=$(cat "$here/recipe" "$here/build.sh" "$tacet_cc" && "$tacet_cc" --version)
[ "$(cat "$stamp" 2>/dev/null)" != "$now" ] || exit 0

work=$build/$arch/curl.work
rm -rf "$work" "$folder"
mkdir -p "$work" "$folder"
tar -x -f "$("$here/../fetch.py" curl)" -C "$work" --strip-components=1

# The options of a calling make are not meant for curl's. The compiler is a link in the work folder, so that
# its makefiles need no path of this machine, which may have blanks.
unset MAKEFLAGS MFLAGS CFLAGS CPPFLAGS LDFLAGS LIBS
ln -s "$(readlink -f "$tacet_cc")" "$work/tacet-cc"
without='manual libcurl-option ipv6 threaded-resolver unix-sockets cookies socketpair dict file gopher imap'
without="$without ldap ldaps mqtt pop3 rtsp smb smtp telnet ntlm alt-svc hsts doh netrc shared"
options=$(printf -- '--disable-%s ' $without)
for library in ssl zlib brotli zstd libpsl libidn2 nghttp2 librtmp libssh2 ca-bundle ca-path; do
    options="$options --without-$library"
done
if ! (cd "$work" &&
    ./configure --host="$arch-linux-musl" CC=./tacet-cc PKG_CONFIG=false $options &&
    make -s -C lib -j"$(nproc)" CC=../tacet-cc && make -s -C src -j"$(nproc)" CC=../tacet-cc curl &&
    strip -o "$folder/curl" src/curl) >"$work/log" 2>&1; then
    tail -n 20 "$work/log" >&2
    echo "ports/curl/build.sh: curl did not build; everything it said is in $work/log" >&2
    exit 1
fi
rm -rf "$work"
printf '%s\n' "$now" >"$stamp"
