# SPDX-License-Identifier: BSD-2-Clause
"""What Debian's MPICH and Open MPI print for the programs of programs/ and fortran/, as recorded in
answers.txt: how they are started, and what the answers depend on. tests/answers.py has the rules and the
file's form, refresh.py renews the file.

A reference is MPICH, or Open MPI on a number of ranks: `mpich`, `openmpi-1`, `openmpi-3`. A program of
fortran/ is named with its folder.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1])]

from tests.answers import Absent, Answers, Reference
from tests.ingredients import package_version, variables, version_of, with_headers
from tests.making import ROOT, made

BUILD = ROOT / "build" / "mpi-lite"
PROGRAMS = sorted(path.stem for path in (HERE / "programs").glob("*.c"))
FORTRAN = sorted(f"fortran/{path.stem}" for path in (HERE / "fortran").glob("*.f*"))
#: Limit of a job, in seconds.
LIMIT_S = 600
#: Open MPI as root, on more ranks than CPUs, in a container: shared memory without ptrace, nothing but the
#: loopback, no launcher of other machines, no pinning.
OPENMPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_btl": "self,vader",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_plm": "isolated",
    "OMPI_MCA_oob_tcp_if_include": "lo",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}
OPENMPI_RANKS = (1, 3)
#: Programs that fail with Debian's Open MPI (4.1), or without a network of the machine's own.
OPENMPI_LACKS = {
    "corners": "makes boxes longer than necessary, and does not rename types",
    "errors_collectives": "waits for ever in a barrier after an error of one rank",
    "generalized": "waits for ever for a communicator of MPI_Comm_idup",
    "intercommunicators": "crashes in MPI_Comm_create of an intercommunicator",
    "neighbours": "refuses collectives of distributed graphs",
    "removed": "has no functions that MPI 3.0 has removed",
    "rma": "makes no windows",
    "rma_errors": "makes no windows",
    "rma_stress": "makes no windows",
    "windows": "makes no windows",
}


def mpich_ranks(name: str) -> int:
    """The programs print the same with any number of ranks; MPICH's take long where these outnumber CPUs, and
    crash in some collectives of several ranks (4.0)."""
    return 1 if name == "collectives" else 2


def sources(name: str) -> Sequence[Path]:
    if name not in FORTRAN:
        return with_headers(HERE / "programs" / f"{name}.c")
    return with_headers(*HERE.glob(f"{name}.f*"), HERE / "fortran" / "support.c")


def flags(library: str, *more: str) -> str:
    names = ("MPI_PROGRAM_CFLAGS", f"MPI_CC_{library}", f"MPI_PROGRAM_WARNINGS_{library}", *more)
    return variables(ROOT / "apps" / "mpi-lite" / "mpi-lite.mk", names)


def run(
    *command: str | Path, environment: Mapping[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """The command's end; TACET_* of the caller's environment does not reach it."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TACET_")}
    return subprocess.run(
        [str(word) for word in command],
        env={**clean, **(environment or {})},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )


def said(command: Sequence[str | Path], environment: Mapping[str, str]) -> list[str]:
    """The lines of a job. Absent if its launcher is not installed."""
    if shutil.which(str(command[0])) is None:
        raise Absent(f"{command[0]} is not installed (ports/deps.sh run test)")
    done = run(*command, environment=environment)
    assert (done.returncode, done.stderr) == (0, ""), f"{command}: status {done.returncode}\n{done.stderr}"
    assert done.stdout.endswith("\n"), f"{command}: its last line has no end"
    return done.stdout.splitlines()


def built(library: str, name: str) -> Path:
    """The program of a name, linked with a library. Absent if its compiler is not installed."""
    if shutil.which(f"mpicc.{library}") is None:
        raise Absent(f"mpicc.{library} is not installed (ports/deps.sh run test)")
    folder = "fortran-programs" if name in FORTRAN else "programs"
    program = BUILD / folder / library / name.rpartition("/")[2]
    made(str(program.relative_to(ROOT)))
    return program


def mpich_says(names: Sequence[str]) -> dict[str, list[str]]:
    return {
        name: said(["mpiexec.mpich", "-n", str(mpich_ranks(name)), built("mpich", name)], {})
        for name in names
    }


def mpich_options() -> dict[str, str]:
    return {"flags": flags("mpich", "MPI_FC_mpich"), "run": "mpiexec.mpich -n 2 (collectives: 1)"}


def mpich_versions() -> dict[str, str | None]:
    return {
        "MPICH": package_version("mpich"),
        "compiler": version_of("gcc"),
        "Fortran compiler": version_of("gfortran"),
    }


def openmpi_versions() -> dict[str, str | None]:
    return {"Open MPI": package_version("openmpi-bin"), "compiler": version_of("gcc")}


def openmpi(ranks: int) -> Reference:
    def ask(names: Sequence[str]) -> dict[str, list[str]]:
        lines = {}
        for name in names:
            words = ["mpirun.openmpi", "-n", str(ranks), built("openmpi", name)]
            with tempfile.TemporaryDirectory() as folder:  # of this job: one that ends removes what it shares
                lines[name] = said(words, OPENMPI | {"OMPI_MCA_orte_tmpdir_base": folder})
        return lines

    def tree() -> dict[str, str]:
        options = " ".join(f"{name}={value}" for name, value in OPENMPI.items())
        return {"flags": flags("openmpi"), "run": f"{options} mpirun.openmpi -n {ranks}"}

    names = [name for name in PROGRAMS if name not in OPENMPI_LACKS]
    return Reference(f"openmpi-{ranks}", names, sources, tree, openmpi_versions, ask)


HEAD = """\
SPDX-License-Identifier: BSD-2-Clause
What Debian's MPICH and Open MPI print for the programs of tests/mpi. Do not edit: tests/mpi/refresh.py writes
this file; tests/answers.py says what it means."""

ANSWERS = Answers(
    HERE / "answers.txt",
    HEAD,
    "tests/mpi/refresh.py",
    [
        Reference("mpich", [*PROGRAMS, *FORTRAN], sources, mpich_options, mpich_versions, mpich_says),
        *map(openmpi, OPENMPI_RANKS),
    ],
)


def recorded(reference: str, name: str) -> str:
    """What a library printed, as a whole. Refused if the record cannot be used (tests/answers.py)."""
    return "".join(f"{line}\n" for line in ANSWERS.lines(reference, name))
