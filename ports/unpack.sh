#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# ports/unpack.sh PORT BUILD-FOLDER: unpacks the sources of a port that is compiled with the tree, which
# ports/fetch.py brings, as BUILD-FOLDER/PORT. The port's makefile names those that are compiled.

set -eu

here=$(cd "$(dirname "$0")" && pwd)
port=${1:?usage: ports/unpack.sh PORT BUILD-FOLDER}
build=${2:?usage: ports/unpack.sh PORT BUILD-FOLDER}

archive=$("$here/fetch.py" "$port")
rm -rf "$build/$port" "$build/$port.part"
mkdir -p "$build/$port.part"
tar -x -f "$archive" -C "$build/$port.part" --strip-components=1
mv "$build/$port.part" "$build/$port"
