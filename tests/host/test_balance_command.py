# SPDX-License-Identifier: BSD-2-Clause
"""The command `balance` on this machine: a job's figures while it runs, and what is asked for wrongly."""

from __future__ import annotations

import os
import re
import subprocess
import time

import pytest

from tests.making import ROOT, made

BALANCE = ROOT / "build/x86_64/apps/balance"


@pytest.fixture(scope="module", autouse=True)
def program() -> None:
    made("build/x86_64/apps/balance")


def said(*words: str) -> tuple[int, str, str]:
    done = subprocess.run([BALANCE, *words], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def test_the_figures_of_a_job_are_shown_while_it_runs() -> None:
    name = f"test.{os.getpid()}"
    words = ["job", "--works", "20ms,10ms", "--iterations", "1000", "--yield", "--name", name]
    job = subprocess.Popen([BALANCE, *words], stdout=subprocess.DEVNULL)
    try:
        rows: list[str] = []
        while len(rows) < 2 and job.poll() is None:
            time.sleep(0.05)
            rows = re.findall(r"^\d+ +\d+ +\d+ +0 +[1-9]\d* .*\d\.\d\d$", said("show", name)[1], re.MULTILINE)
        assert len(rows) == 2
    finally:
        job.kill()
        job.wait()
        os.unlink(f"/dev/shm/balance.{name}")


@pytest.mark.parametrize(
    ("words", "right"),
    [
        (["show", "nobody.has.this"], "no job of that name has joined"),
        (["job", "--works", "3ms"], "give the times of two ranks at least"),
        (["job", "--works", "3ms,1parsec"], "balance: 3ms,1parsec: "),
        (["model", "--need", "2"], "balance: 2: "),
        (["job", "--works", "1ms,1ms,1ms", "--modelled"], "two ranks on one core"),
        (["job"], "usage: balance"),
        (["model", "--works", "3ms,1ms"], "balance: --works is no option of model\n"),
        (["model", "--modelled"], "balance: --modelled is no option of model\n"),
        (["--iterations", "3", "model"], "balance: --iterations is no option of model\n"),
        (["job", "--works", "3ms,1ms", "--need", "0.5"], "balance: --need is no option of job without"),
        (["show", "--yield", "x"], "balance: --yield is no option of show\n"),
        (["show", "x", "--name", "y"], "balance: --name is no option of show\n"),
        ([], "usage: balance"),
    ],
)
def test_what_is_asked_for_wrongly_is_one_message(words: list[str], right: str) -> None:
    status, out, error = said(*words)
    assert status in (1, 2) and out == "" and right in error
