# SPDX-License-Identifier: BSD-2-Clause
"""MPICH's own tests, as their authors wrote them, compiled by tacet-mpicc and tacet-mpif90: each prints
`No Errors`, or this file says why not. The source is ports/mpich's; it is configured and compiled under
build/, once for a run of the tests."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.making import made
from tests.mpi.programs_of_others import MAKE_S, MPI_LITE, MPIRUN, run, unpack

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("mpich suite")]

#: Limit of a program, in seconds: it may wait in loops of its own on few CPUs.
RUN_S = 300.0
FOLDERS = [
    *("attr", "coll", "comm", "datatype", "errhan", "group", "info", "init", "mpi_t", "pt2pt", "rma", "topo"),
    *("threads/comm", "threads/init", "threads/pt2pt", "threads/rma"),
    *(f"errors/{name}" for name in ("attr", "coll", "comm", "datatype", "group", "pt2pt", "topo")),
    *(f"f77/{name}" for name in ("attr", "coll", "comm", "datatype", "ext", "info", "init", "pt2pt", "rma")),
    *("f77/topo", "f90/attr", "f90/coll", "f90/comm", "f90/datatype", "f90/ext", "f90/info", "f90/init"),
    *("f90/misc", "f90/pt2pt", "f90/rma", "f90/timer", "f90/topo"),
]

MPI_4 = "it is of MPI 4"
NUMBERS = "takes handles for numbers, which they are in MPICH"
LIMITS = "expects that communicators run out"
CANCEL = "cancels sends, which always complete here; MPICH's list has it as one that may fail"
LAX = "passes an array for a number, or the reverse, to what the module has an interface of"
WINDOW = "expects the handler of MPI_COMM_WORLD to learn of a window's error"
STATE = "expects Fortran's extra state of a generalized request to be the program's variable, not its value"
DIFFERS = "expects that operations, or types, which differ between ranks are found"
LENGTHS = "expects each rank to find counts that differ, also where those it exchanges with agree"
LAUNCHER = "is about a time limit of MPICH's launcher"
#: Programs that do not pass, by folder, and why.
KNOWN: dict[str, dict[str, str]] = {
    "coll": {
        "nonblocking2": NUMBERS,
        "nonblocking3": NUMBERS,
        "coll_large": MPI_4,
        **dict.fromkeys(
            "p_bcast p_bcast2 p_allred p_red p_alltoall p_allgather p_allgatherv p_red_scat_block p_redscat "
            "p_scan p_gather p_gatherv p_scatter p_scatterv p_alltoallv p_alltoallw p_exscan p_barrier "
            "p_order".split(),
            MPI_4,
        ),
    },
    "comm": {"cmsplit_type": MPI_4, "idup_with_info": MPI_4},
    "datatype": {
        "pack_external": NUMBERS,
        "type_large": MPI_4,
        "typename": "expects MPI_INTEGER16, which is optional",
        "typename_oldapi": "expects MPI_INTEGER16, which is optional",
    },
    "errors/attr": {"keyvalmis": WINDOW},
    "errors/coll": {
        "reduceop": DIFFERS,
        "ireduceop": DIFFERS,
        **{
            f"{first}{name}length": LENGTHS
            for name in ("bcast", "allreduce", "scatter", "allgather")
            for first in ("", "i")
        },
    },
    "errors/comm": {
        **dict.fromkeys(
            [f"comm_{name}_nullarg" for name in ("create", "create_group", "split", "split_type")],
            "expects a communicator to have the error handler that its parent is given later",
        ),
        **dict.fromkeys(
            "too_many_comms too_many_comms2 too_many_comms3 too_many_icomms too_many_icomms2".split(), LIMITS
        ),
    },
    "errors/pt2pt": {"truncmsg2": DIFFERS},
    "f77/info": {"infocrenvf": MPI_4, "infogetstrf": MPI_4},
    "f77/pt2pt": {"greqf": STATE},
    "f77/rma": {"aintf": "declares what mpif.h declares, too"},
    "f90/coll": dict.fromkeys("alltoallvf90 nonblocking_inpf90 split_typef90 vw_inplacef90".split(), LAX),
    "f90/info": {"infocrenvf90": MPI_4, "infogetstrf90": MPI_4},
    "f90/pt2pt": {"greqf90": STATE},
    "info": dict.fromkeys("infocreateenv infogetstring info_no_init".split(), MPI_4),
    "init": {
        "timeout": LAUNCHER,
        **dict.fromkeys("session session_mult_init session_psets session_self".split(), MPI_4),
    },
    "mpi_t": {"qmpi_test": "is about an interface of MPICH's alone"},
    "pt2pt": {
        **dict.fromkeys("isendrecv isendrecv_replace pt2pt_large sendrecv3".split(), MPI_4),
        **dict.fromkeys("cancelrecv pscancel scancel scancel_unmatch".split(), CANCEL),
    },
    "rma": {"win_info": "expects hints to be kept that change nothing"},
    "threads/init": {"mult_session": MPI_4},
    "topo": {"cartsuball": "expects that a single rank has a grid of no dimensions"},
}


@dataclass(frozen=True)
class Line:
    """A line of a testlist: NAME RANKS OPTION=VALUE..."""

    program: str
    ranks: int = 2
    arguments: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    expected: str = ""

    def __str__(self) -> str:
        return " ".join([self.program, str(self.ranks), *self.arguments])


def line_of(text: str) -> Line | None:
    words = text.partition("#")[0].split()
    if not words:
        return None
    options = [word.partition("=")[::2] for word in words[1:] if "=" in word]
    numbers = [int(word) for word in words[1:] if word.isdigit()]
    return Line(
        words[0],
        numbers[0] if numbers else 2,
        [value for key, value in options if key == "arg"],
        dict(value.partition("=")[::2] for key, value in options if key == "env"),
        "".join(value for key, value in options if key == "resultTest"),
    )


@pytest.fixture(scope="session")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The suite, configured."""
    made("mpi", "build/service/tacet-mpirun")
    top = tmp_path_factory.mktemp("mpich-suite")
    unpack("mpich", top, "--strip-components=3", "--wildcards", "*/test/mpi/*")
    compilers = top / "with" / "bin"
    compilers.mkdir(parents=True)
    for name in ("mpicc", "mpicxx", "mpif77", "mpif90", "mpifort"):
        (compilers / name).symlink_to(MPI_LITE / f"tacet-{name}")
    options = ["--disable-spawn", "--disable-part", "--disable-cxx", "--disable-romio"]
    words = ["./configure", f"--with-mpi={top / 'with'}", *options, "--enable-threads=multiple"]
    for command, folder in ((words, "."), (["make"], "util"), (["make"], "dtpools")):
        status, said = run(command, top / folder, MAKE_S)
        assert status == 0, said[-4000:]
    yield top
    shutil.rmtree(top)


def failure_of(folder: Path, line: Line) -> str:
    """Returns why a program does not pass; "" if it does."""
    status, said = run(["make", line.program], folder, MAKE_S)
    if status != 0:
        return f"{line}: does not compile\n{said[-1500:]}"
    words = [MPIRUN, "-n", str(line.ranks), f"./{line.program}", *line.arguments]
    status, said = run(words, folder, RUN_S, **line.environment)
    if line.expected:  # it must end the job
        return "" if status != 0 else f"{line}: status 0\n{said[-1500:]}"
    return "" if status == 0 and "no errors" in said.lower() else f"{line}: status {status}\n{said[-1500:]}"


@pytest.mark.limit(cpu=7200, wall=14400)
@pytest.mark.parametrize("name", FOLDERS)
def test_programs_pass_as_they_are(name: str, suite: Path) -> None:
    folder, known = suite / name, KNOWN.get(name, {})
    lines = [line for text in (folder / "testlist").read_text().splitlines() if (line := line_of(text))]
    lines = [line for line in lines if not (folder / line.program).is_dir()]
    assert lines and set(known) <= {line.program for line in lines}
    wrong = [why for line in lines if line.program not in known and (why := failure_of(folder, line))]
    assert not wrong, "\n".join(wrong)
