# SPDX-License-Identifier: BSD-2-Clause
"""HPC Challenge and NetPIPE, MPI programs of others, on a Tacet node: static files, made by our compilers of
their authors' sources. They verify there what they verify on Linux (tests/mpi/test_programs_of_others.py)."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Run, expect_exit

import qemu
from tests.making import made
from tests.mpi.programs_of_others import (
    HPCC_ENVIRONMENT,
    NETPIPE_CHECK,
    NETPIPE_WAYS,
    hpcc_input,
    hpcc_made,
    hpcc_verify,
    netpipe_made,
    netpipe_verify,
)

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("programs of others")]

LIMIT_S = 900
GRIDS = [(1, 2), (2, 1)]


def test_hpc_challenge_passes_its_own_checks(
    tacet: Run, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """It starts in a folder of a file server, where its input is and its output comes to be."""
    made("mpi")
    hpcc = hpcc_made(tmp_path_factory.mktemp("hpcc"))
    (tmp_path / "hpccinf.txt").write_text(hpcc_input(GRIDS))
    with qemu.FileServer([tmp_path]) as server:
        result = tacet(
            hpcc,
            cpus=2,
            memory="512M",
            env=HPCC_ENVIRONMENT,
            options=server.option(tmp_path),
            cwd="/mnt",
            network=qemu.Network("user"),
            time_limit=LIMIT_S,
        )
    said = expect_exit(result)
    assert not said.stdout and not said.stderr, result.explain()
    hpcc_verify((tmp_path / "hpccoutf.txt").read_text(), 2, GRIDS)


def test_netpipe_finds_what_it_has_sent(tacet: Run, tmp_path: Path) -> None:
    made("mpi")
    netpipe = netpipe_made(tmp_path, "musl")
    for options in NETPIPE_WAYS.values():
        result = expect_exit(
            tacet(netpipe, *NETPIPE_CHECK, *options, cpus=2, memory="256M", time_limit=LIMIT_S)
        )
        netpipe_verify(result.stderr.decode())
