#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/suites/build.sh SUITE BUILD-FOLDER: compiles the tests of another project, as their authors wrote
# them, into static programs in BUILD-FOLDER/x86_64/suites/SUITE:
#
#   lmdb    mtest, mtest2 … mtest6: each a test
#   libuv   uv_run_tests, which runs the test that its two arguments name, without a process of its own
#   hwloc   a program for each test
#   go      PACKAGE.test, with `.` for `/`, and what it reads, in src/PACKAGE, where it runs; of the standard
#           library of Debian's Go, which ports/foreign/fetch.sh unpacks: without it nothing is made
#
# Sources come from ports/fetch.py. Does nothing if recipe, this file and the compiler are those of the last
# time.

set -eu

here=$(cd "$(dirname "$0")" && pwd)
suite=${1:?usage: tests/suites/build.sh lmdb|libuv|hwloc|go BUILD-FOLDER}
build=${2:?usage: tests/suites/build.sh lmdb|libuv|hwloc|go BUILD-FOLDER}
compiler=${CC:-gcc}
packages='net os os/signal os/user runtime/pprof syscall time'

mkdir -p "$build/x86_64/suites"
build=$(cd "$build" && pwd)
folder=$build/x86_64/suites/$suite
origin=$here/../../ports/$suite/recipe
[ "$suite" != go ] || origin=$build/foreign/go/packages
[ -f "$origin" ] || { echo "tests/suites/build.sh: there is no $origin" >&2 && exit 3; }
stamp=$folder/stamp
now=$(cat "$origin" "$here/build.sh" "$here/place.c" && $compiler --version)
[ "$(cat "$stamp" 2>/dev/null)" != "$now" ] || exit 0

work=$folder.work
rm -rf "$work" "$folder"
mkdir -p "$work" "$folder"
# The options of a calling make are not meant for a suite's.
unset MAKEFLAGS MFLAGS CFLAGS CPPFLAGS LDFLAGS LIBS
flags='-O2 -w -fno-pie -no-pie -static -pthread'

build_lmdb()
{
    cd "$work/libraries/liblmdb"
    for source in mdb midl; do
        $compiler $flags -c $source.c
    done
    for test in mtest mtest2 mtest3 mtest4 mtest5; do
        $compiler $flags mdb.o midl.o $test.c "$here/place.c" -o "$folder/$test"
    done
    # It shows keys, by a function that only a library for debugging has.
    $compiler $flags -DMDB_DEBUG=1 mdb.c midl.o mtest6.c "$here/place.c" -o "$folder/mtest6"
}

build_libuv()
{
    cd "$work"
    unix='async core dl epoll fs getaddrinfo getnameinfo linux-core linux-inotify linux-syscalls loop
        loop-watcher pipe poll process procfs-exepath proctitle random-devurandom random-getrandom
        random-sysctl-linux signal stream tcp thread tty udp'
    sources=$(ls src/*.c; printf 'src/unix/%s.c ' $unix; ls test/test-*.c)
    $compiler $flags -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -D_LARGEFILE_SOURCE -Iinclude -Isrc -Itest \
        $sources test/blackhole-server.c test/echo-server.c test/run-tests.c test/runner.c \
        test/runner-unix.c "$here/place.c" -Wl,--no-warnings -o "$folder/uv_run_tests"
}

build_hwloc()
{
    cd "$work"
    ./configure -q CC="$compiler" --enable-static --disable-shared --disable-libxml2 --disable-cairo \
        --disable-pci --disable-libudev --disable-opencl --disable-cuda --disable-nvml --disable-rsmi \
        --disable-levelzero --disable-gl --disable-readme
    make -s -j"$(nproc)" -C hwloc
    make -s -j"$(nproc)" -C tests/hwloc check TESTS= LDFLAGS=-all-static
    for object in tests/hwloc/*.o; do
        [ ! -x "${object%.o}" ] || cp "${object%.o}" "$folder"
    done
}

build_go()
{
    cd "$work"
    go=$(cd "$build"/foreign/go/usr/lib/go-* && pwd)
    for package in $packages; do
        env -u GOFLAGS -u GOPATH GOROOT="$go" GOCACHE="$build/foreign/go.cache" GOENV=off GO111MODULE=off \
            GOTOOLCHAIN=local CGO_ENABLED=0 "$go/bin/go" test -c -trimpath \
            -o "$folder/$(echo $package | tr / .).test" $package
        mkdir -p "$folder/src/$package"
        (cd "$go/src/$package" && tar -c -h --exclude-vcs -f - .) | tar -x -f - -C "$folder/src/$package"
    done
}

[ "$suite" = go ] || tar -x -f "$("$here/../../ports/fetch.py" "$suite")" -C "$work" --strip-components=1
if ! ("build_$suite") >"$work/log" 2>&1; then
    tail -n 20 "$work/log" >&2
    echo "tests/suites/build.sh: $suite did not build; everything it said is in $work/log" >&2
    exit 1
fi
rm -rf "$work"
printf '%s\n' "$now" >"$stamp"
