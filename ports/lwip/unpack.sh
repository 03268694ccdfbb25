#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# ports/lwip/unpack.sh BUILD-FOLDER: unpacks the sources of lwIP, which ports/fetch.py brings, as
# BUILD-FOLDER/lwip. The Makefile compiles those that the kernel needs.

set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${1:?usage: ports/lwip/unpack.sh BUILD-FOLDER}

archive=$("$here/../fetch.py" lwip)
rm -rf "$build/lwip" "$build/lwip.part"
mkdir -p "$build/lwip.part"
tar -x -f "$archive" -C "$build/lwip.part" --strip-components=1
mv "$build/lwip.part" "$build/lwip"
