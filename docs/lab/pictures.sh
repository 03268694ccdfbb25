#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# docs/lab/pictures.sh: measures (in QEMU, one instruction a nanosecond: the same data every time), simulates,
# and draws the pictures of docs/lab/README.md, with the very commands that stand there. Needs a built tree
# and what `make run` has left; takes a minute. Then it repeats the experiments of docs/lab/reproduce.md,
# which takes ten.

set -eu
cd "$(dirname "$0")/../.."
data=build/lab/data
mkdir -p $data

for system in tacet linux; do
    option=$([ $system = tacet ] || echo --linux)
    tools/run --icount 0 --qemu newest $option build/x86_64/apps/selfish -s -r 4s \
        >$data/selfish-$system.dat 2>/dev/null
    tools/lab convert $data/selfish-$system.dat --to noise -o $data/$system.noise
    for ranks in 64 1024 16384; do
        build/simulator/sim pattern dissemination -n $ranks -r 100 --noise $data/$system.noise \
            --json $data/$system-$ranks.json -q
    done
done

# The commands are those of the page: lines that begin with "$ tools/lab plot".
sed -n 's/^\$ \(tools\/lab plot [a-z]\)/\1/p' docs/lab/README.md | while read -r command; do
    eval "$command" | tee -a $data/drawn
done
cp $(sort -u $data/drawn) docs/lab
rm $data/drawn

tools/lab reproduce all --thumbnails docs/lab
