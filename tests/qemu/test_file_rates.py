# SPDX-License-Identifier: BSD-2-Clause
"""The same program uses the files of a server on Tacet and on Linux (tests/programs/file_rates.c): all that
it does succeeds, and each rate is there. How large they are is `lab bench-network`'s to say."""

from __future__ import annotations

import argparse
import io

import pytest

import qemu
from lab.bench import network
from tests.making import made


@pytest.mark.parametrize("system", network.SYSTEMS)
def test_the_files_of_a_server_have_rates(system: str) -> None:
    made("build/linux/version", "build/x86_64/tests/file_rates.musl")
    options = argparse.Namespace(
        programs=qemu.BUILD / "x86_64" / "tests", nic="e1000", qemu="system", time_limit=120.0
    )
    rates = network.rates_on(system, options, qemu, io.StringIO(), mib=1, files=10)
    assert rates.keys() == network.RATES.keys() and all(rate > 0 for rate in rates.values()), rates
