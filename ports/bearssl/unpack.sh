#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# ports/bearssl/unpack.sh BUILD-FOLDER: unpacks the sources of BearSSL, which ports/fetch.py brings, as
# BUILD-FOLDER/bearssl. bearssl.mk names those that are compiled.

set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${1:?usage: ports/bearssl/unpack.sh BUILD-FOLDER}

archive=$("$here/../fetch.py" bearssl)
rm -rf "$build/bearssl" "$build/bearssl.part"
mkdir -p "$build/bearssl.part"
tar -x -f "$archive" -C "$build/bearssl.part" --strip-components=1
mv "$build/bearssl.part" "$build/bearssl"
