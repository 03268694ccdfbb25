#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# ports/musl/build.sh BUILD-FOLDER [ARCH]: musl for Tacet's programs as BUILD-FOLDER/ARCH/musl/{include,lib},
# static only. ARCH is x86_64 (default) or ppc64, which is little-endian. The sources come from
# ports/fetch.py, Debian's patches on top; the compiler's OpenMP runtime is made fit for it (libc/openmp.c).
# CC names another compiler. Does nothing when the recipe, this file, libc/openmp.c and the compiler are those
# of the last time.

set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${1:?usage: ports/musl/build.sh BUILD-FOLDER [ARCH]}
arch=${2:-x86_64}
case $arch in
x86_64)
    compiler=${CC:-gcc}
    binutils=''
    options=''
    target=x86_64
    ;;
ppc64)
    compiler=${CC:-powerpc64le-linux-gnu-gcc}
    binutils=powerpc64le-linux-gnu-
    options='-mlong-double-64'
    target=powerpc64le
    ;;
*) echo "ports/musl/build.sh: no such architecture: $arch (x86_64, ppc64)" >&2 && exit 1 ;;
esac

mkdir -p "$build/$arch"
build=$(cd "$build/$arch" && pwd)
stamp=$build/musl/stamp
openmp=$here/../../libc/openmp.c
now=$(cat "$here/recipe" "$here/build.sh" "$openmp" && $compiler --version && echo "$compiler $options")
[ "$(cat "$stamp" 2>/dev/null)" != "$now" ] || exit 0

work=$build/musl.work
rm -rf "$work" "$build/musl"
mkdir -p "$work"
"$here/../fetch.py" musl >"$work/files"
while read -r file; do
    case $file in
    *.orig.tar.*) tar -x -f "$file" -C "$work" --strip-components=1 ;;
    *.debian.tar.*) tar -x -f "$file" -C "$work" ;;
    esac
done <"$work/files"

cd "$work"
if [ -f debian/patches/series ]; then
    grep -v '^#' debian/patches/series | while read -r patch _; do
        [ -z "$patch" ] || patch -s -p1 <"debian/patches/$patch"
    done
fi
# The options of a calling make are not meant for musl's.
unset MAKEFLAGS MFLAGS
# No path of this machine gets into the library, so that two builds are the same; and none into musl's
# makefile, which cannot take any path: the compiler is a script of the work folder, the prefix is relative.
printf '#!/bin/sh\nexec %s "-ffile-prefix-map=$PWD=musl" "$@"\n' "$compiler" >tacet-gcc
chmod +x tacet-gcc
if ! { ./configure --target="$target" --disable-shared --disable-wrapper \
    --prefix=../musl --syslibdir=../musl CC=./tacet-gcc \
    AR="${binutils}ar" RANLIB="${binutils}ranlib" CFLAGS="-O2 -g $options" &&
    make -s -j"$(nproc)" && make -s install; } >log 2>&1; then
    tail -n 20 log >&2
    echo "ports/musl/build.sh: musl did not build; everything it said is in $work/log" >&2
    exit 1
fi

# The compiler's libgomp.a, with what it misses in musl; a cross compiler may have none.
gomp=$($compiler -print-file-name=libgomp.a)
if [ -f "$gomp" ]; then
    own=$build/musl/lib/libgomp.a
    $compiler -O2 -g $options -fPIC -ffile-prefix-map="$(dirname "$openmp")"=libc -nostdinc -c "$openmp" \
        -isystem "$build/musl/include" -isystem "$($compiler -print-file-name=include)" -o openmp.o
    "${binutils}objcopy" --redefine-sym pthread_create=openmp_pthread_create "$gomp" "$own"
    "${binutils}ar" qs "$own" openmp.o
fi

cd "$build"
rm -rf "$work"
printf '%s\n' "$now" >"$stamp"
