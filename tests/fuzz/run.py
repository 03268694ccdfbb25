# SPDX-License-Identifier: BSD-2-Clause
"""Runs libFuzzer targets for a set time each, in parallel on all CPUs, from generated seeds, and prints
`N passed, M failed`. A target that runs much longer than its time has failed.

New inputs of a run stay in BUILD/corpus/NAME for the next run. An input that fails stays in BUILD/NAME-*; its
path and the command that repeats it are printed.
"""

import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import seeds

#: Longest time of one input, and by how much a target may exceed its time on a busy machine.
INPUT_SECONDS = 60
OVERTIME_SECONDS = 600


def run(name: str, build: Path, seconds: int) -> bool:
    corpus = build / "corpus" / name
    seed_folder = build / "seeds" / name
    corpus.mkdir(parents=True, exist_ok=True)
    seeds.write(name, seed_folder)
    binary = build / f"fuzz_{name}"
    command = [
        str(binary),
        f"-max_total_time={seconds}",
        f"-timeout={INPUT_SECONDS}",
        "-print_final_stats=1",
        "-verbosity=0",
        f"-artifact_prefix={build}/{name}-",
        str(corpus),
        str(seed_folder),
    ]
    dictionary = Path(__file__).parent / f"{name}.dict"
    if dictionary.exists():
        command.insert(1, f"-dict={dictionary}")
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=seconds + OVERTIME_SECONDS
        )
    except subprocess.TimeoutExpired:
        print(f"fuzz {name}: FAILED: no end {OVERTIME_SECONDS} s after its {seconds} s", flush=True)
        return False
    report = done.stdout + done.stderr
    if done.returncode != 0:
        print(report)
        print(f"fuzz {name}: FAILED; repeat with {binary} FILE, FILE being one of {build}/{name}-*")
        return False
    executed = [
        line.split()[-1] for line in report.splitlines() if line.startswith("stat::number_of_executed_units")
    ]
    print(f"fuzz {name}: {executed[0] if executed else 'no'} inputs, nothing found", flush=True)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = list(pool.map(lambda name: run(name, arguments.build, arguments.seconds), arguments.names))
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
