# SPDX-License-Identifier: BSD-2-Clause
"""HPC Challenge, NetPIPE and FFTW, as their authors wrote them, compiled by our compilers: all their
verifications pass, in shared memory and over TCP. tests/qemu/test_mpi_of_others.py runs the first two on
Tacet's nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.making import made
from tests.mpi.programs_of_others import (
    HPCC_ENVIRONMENT,
    MPIRUN,
    NETPIPE_CHECK,
    NETPIPE_WAYS,
    fftw_check,
    fftw_made,
    fftw_verify,
    hpcc_input,
    hpcc_made,
    hpcc_verify,
    netpipe_made,
    netpipe_verify,
    run,
)

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("programs of others")]

#: Limit of a job, in seconds: ranks also wait in loops of their own, and may share few CPUs.
RUN_S = 1200.0
#: Numbers of ranks, and of the nodes that the launcher tells them.
PLACES = {"4": (4, 1), "3": (3, 1), "4-on-2-nodes": (4, 2)}


@pytest.fixture(scope="session")
def hpcc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made("mpi", "build/service/tacet-mpirun")
    return hpcc_made(tmp_path_factory.mktemp("hpcc"))


@pytest.fixture(scope="session", params=["glibc", "musl"])
def netpipe(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made("mpi", "build/service/tacet-mpirun")
    return netpipe_made(tmp_path_factory.mktemp("netpipe"), request.param)


@pytest.mark.parametrize(("ranks", "nodes"), PLACES.values(), ids=PLACES)
def test_hpc_challenge_passes_its_own_checks(ranks: int, nodes: int, hpcc: Path, tmp_path: Path) -> None:
    grids = [(p, ranks // p) for p in range(1, ranks + 1) if ranks % p == 0]
    (tmp_path / "hpccinf.txt").write_text(hpcc_input(grids))
    words = [MPIRUN, "-n", str(ranks), "--nodes", str(nodes), hpcc]
    status, said = run(words, tmp_path, RUN_S, **HPCC_ENVIRONMENT)
    assert (status, said) == (0, "")
    hpcc_verify((tmp_path / "hpccoutf.txt").read_text(), ranks, grids)


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("way", NETPIPE_WAYS)
def test_netpipe_finds_what_it_has_sent(way: str, nodes: int, netpipe: Path, tmp_path: Path) -> None:
    words = [MPIRUN, "-n", "2", "--nodes", str(nodes), netpipe, *NETPIPE_CHECK, *NETPIPE_WAYS[way]]
    status, said = run(words, tmp_path, RUN_S)
    assert status == 0, said[-4000:]
    netpipe_verify(said)


@pytest.fixture(scope="session")
def fftw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made("mpi", "build/service/tacet-mpirun")
    return fftw_made(tmp_path_factory.mktemp("fftw"))


@pytest.mark.parametrize(("ranks", "nodes"), [(1, 1), *PLACES.values()], ids=["1", *PLACES])
def test_fftw_verifies_transforms_at_random(ranks: int, nodes: int, fftw: Path) -> None:
    words = fftw_check([MPIRUN, "-n", str(ranks), "--nodes", str(nodes)])
    status, said = run(words, fftw, RUN_S)
    assert status == 0, said[-4000:]
    fftw_verify(said)
