#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# ports/sqlite/build.sh BUILD-FOLDER [ARCH]: the shell of SQLite as
# BUILD-FOLDER/ARCH/sqlite/sqlite3.{musl,glibc}, both static: an ordinary program that the tests run
# unmodified. The source comes from ports/fetch.py; its one-file form is made by its own scripts, in Tcl.
# Needs musl (ports/musl) in the same folder. Does nothing when the recipe, this file and the compiler are
# those of the last time.

set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${1:?usage: ports/sqlite/build.sh BUILD-FOLDER [ARCH]}
arch=${2:-x86_64}
compiler=${CC:-gcc}

mkdir -p "$build/$arch"
build=$(cd "$build" && pwd)
folder=$build/$arch/sqlite
stamp=$folder/stamp
now=$(cat "$here/recipe" "$here/build.sh" && $compiler --version)
[ "$(cat "$stamp" 2>/dev/null)" != "$now" ] || exit 0

work=$build/$arch/sqlite.work
rm -rf "$work" "$folder"
mkdir -p "$work" "$folder"
tar -x -f "$("$here/../fetch.py" sqlite)" -C "$work" --strip-components=1

# The options of a calling make are not meant for SQLite's. TOP: its makefile takes no path with a blank. No
# line editing, no loading of libraries at run time: a static program.
unset MAKEFLAGS MFLAGS
options='-O2 -w -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_ENABLE_MATH_FUNCTIONS -DSQLITE_ENABLE_FTS5'
options="$options -DSQLITE_DEFAULT_MEMSTATUS=0"
if ! (cd "$work" &&
    ./configure CC="$compiler" --disable-tcl --disable-readline --disable-load-extension &&
    make TOP=. sqlite3.c shell.c &&
    TACET_BUILD="$build" TACET_ARCH="$arch" "$here/../../libc/tacet-cc" $options \
        shell.c sqlite3.c -pthread -lm -o "$folder/sqlite3.musl" &&
    $compiler $options -fno-pie -no-pie -static \
        shell.c sqlite3.c -pthread -lm -o "$folder/sqlite3.glibc") >"$work/log" 2>&1; then
    tail -n 20 "$work/log" >&2
    echo "ports/sqlite/build.sh: SQLite did not build; everything it said is in $work/log" >&2
    exit 1
fi
rm -rf "$work"
printf '%s\n' "$now" >"$stamp"
