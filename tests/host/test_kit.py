# SPDX-License-Identifier: BSD-2-Clause
"""The kit for Linux nodes: it measures where it is unpacked, without rights, records the settings, keeps what
it has measured, never writes over another run, and says in a line what is wrong.

Runs take a second; what is asserted is which files there are and what is recorded, never how much noise there
was. Locks are in the test's own folder, so that tests that run at the same time do not wait."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lab.formats import phase, registry
from tests.making import made

#: How long a run may take before it counts as hanging.
HANGS_S = 120

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kit, unpacked as its user unpacks it, where everybody can read it."""
    made("kit")
    folder = tmp_path_factory.mktemp("kit")
    with tarfile.open(ROOT / "build/tacet-noise-kit.tar.xz") as archive:
        archive.extractall(folder)
    return folder / "tacet-noise-kit"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "locks").mkdir()
    known = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "OMPI_", "PMI_", "MPI_"))}
    return {**known, "TACET_NOISE_LOCKS": str(tmp_path / "locks")}


@pytest.fixture
def run(kit: Path, tmp_path: Path, environment: dict[str, str]) -> Run:
    def start(*words: str, shell: tuple[str, ...] = (), **further: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*shell, str(kit / "tacet-noise"), *words],
            cwd=tmp_path,
            env={**environment, **further},
            capture_output=True,
            text=True,
            timeout=HANGS_S,
        )

    return start


def run_long_enough(start: Callable[[str], subprocess.CompletedProcess[str]], out: Path) -> tuple[int, str]:
    """The seconds of a run, and what it said; a longer one where ftq has had next to no CPU in it."""
    for seconds in (1, 5, 25):
        said = start(str(seconds))
        if "did next to nothing" not in said.stderr:
            break
        shutil.rmtree(out)
    assert said.returncode == 0, said.stderr
    return seconds, said.stderr


def meta_of(folder: Path) -> dict[str, str]:
    lines = (folder / "meta.txt").read_text().splitlines()
    assert all("=" in line for line in lines), lines
    return dict(line.split("=", 1) for line in lines)


def cpus_here() -> list[int]:
    return sorted(os.sched_getaffinity(0))


# ---- The archive ----


def test_the_archive_has_the_script_and_a_folder_of_static_programs() -> None:
    made("kit")
    with tarfile.open(ROOT / "build/tacet-noise-kit.tar.xz") as archive:
        names = {member.name.removeprefix("tacet-noise-kit/") for member in archive.getmembers()}
        assert names >= {"tacet-noise", "README", "LICENSE"}
        assert names >= {f"x86_64/{name}" for name in ("ftq", "fwq", "selfish", "phase")}
        for member in archive.getmembers():
            assert (member.uid, member.gid, member.mtime) == (0, 0, 0), member.name
        program = archive.extractfile("tacet-noise-kit/x86_64/ftq")
        assert program and b"/lib64/ld-linux" not in program.read()


def test_the_help_is_one_screen(run: Run) -> None:
    said = run("--help")
    assert said.returncode == 0 and not said.stderr
    lines = said.stdout.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    assert all(word in said.stdout for word in ("srun", "mpirun", "pdsh", "--seconds", "--quick", "--cpus"))


# ---- A run ----


def test_a_run_leaves_a_folder_that_the_lab_reads(run: Run, tmp_path: Path) -> None:
    seconds, said = run_long_enough(
        lambda seconds: run("--seconds", seconds, "--out", "r", "--name", "node 1/a"), tmp_path / "r"
    )
    folder = tmp_path / "r/node_1_a"
    meta = meta_of(folder)
    assert meta["status"] == "complete" and meta["host"] == "node 1/a"
    assert meta["kernel"] == os.uname().release and meta["seconds"] == str(seconds)
    assert not (folder / "unfinished").exists()
    files = sorted(path.name for path in folder.glob("*.dat"))
    measured = meta["cpus_measured"].split(",")
    assert len(files) == 4 * len(measured)
    for path in folder.glob("*.dat"):
        if path.name.startswith("phase"):
            assert phase.read(path)
        else:
            assert [str(trace.cpu) for trace in registry.read(path)][0] in measured
    assert all((folder / f"{name}-after.txt").stat().st_size for name in ("interrupts", "stat"))
    for program in ("ftq", "fwq", "selfish", "phase"):
        assert f": {program}, about " in said and f"/{program} " in (folder / "log").read_text()
    assert list((tmp_path / "locks").iterdir()) == []


def test_busybox_is_shell_enough(run: Run, tmp_path: Path) -> None:
    if not shutil.which("busybox"):
        pytest.skip("no busybox")
    said = run("--seconds=1", "--programs=selfish", "--out=r", "--name=b", shell=("busybox", "sh"))
    assert said.returncode == 0, said.stderr
    assert meta_of(tmp_path / "r/b")["program.selfish"] == "complete"


def test_a_second_run_is_kept_apart_and_says_so(run: Run, tmp_path: Path) -> None:
    words = ("--seconds", "1", "--programs", "selfish", "--out", "r", "--name", "n")
    assert run(*words).returncode == 0
    first = (tmp_path / "r/n/meta.txt").read_bytes()
    said = run(*words)
    assert said.returncode == 0 and "r/n exists already" in said.stderr and "r/n.2" in said.stderr
    assert (tmp_path / "r/n/meta.txt").read_bytes() == first
    assert meta_of(tmp_path / "r/n.2")["status"] == "complete"


def test_of_two_tasks_on_the_same_cpus_one_measures(run: Run, tmp_path: Path, environment: dict) -> None:
    for cpu in cpus_here():
        (tmp_path / "locks" / f"tacet-noise-cpu-{cpu}").symlink_to(str(os.getpid()))
    said = run("--seconds", "1", "--out", "r", SLURM_LOCALID="1")
    assert said.returncode == 0 and "does nothing" in said.stderr and "task 1" in said.stderr
    assert not (tmp_path / "r").exists()


def test_a_task_leaves_out_the_cpus_of_another(run: Run, tmp_path: Path) -> None:
    first, *others = cpus_here()
    if not others:
        pytest.skip("one CPU")
    (tmp_path / "locks" / f"tacet-noise-cpu-{first}").symlink_to(str(os.getpid()))
    words = ("--seconds", "1", "--programs", "selfish", "--cpus", "all", "--out", "r", "--name", "n")
    said = run(*words, OMPI_COMM_WORLD_LOCAL_RANK="3")
    assert said.returncode == 0 and "skipping CPU" in said.stderr
    assert str(first) not in meta_of(tmp_path / "r/n")["cpus_measured"].split(",")


def test_two_tasks_of_one_host_at_once_have_a_folder_each(
    kit: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    cpus = cpus_here()
    if len(cpus) < 2:
        pytest.skip("one CPU")
    words = [kit / "tacet-noise", "--seconds", "1", "--programs", "selfish", "--out", "r", "--name", "n"]
    tasks = [
        subprocess.Popen(
            [*words, "--cpus", str(cpu)],
            cwd=tmp_path,
            env={**environment, "SLURM_LOCALID": str(rank)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank, cpu in enumerate(cpus[:2])
    ]
    said = "".join(task.communicate(timeout=HANGS_S)[1] for task in tasks)
    assert [task.returncode for task in tasks] == [0, 0], said
    assert "n exists already" in said
    measured = {meta_of(tmp_path / "r" / name)["cpus_measured"] for name in ("n", "n.2")}
    assert measured == {str(cpu) for cpu in cpus[:2]}


def test_a_claim_of_one_that_is_dead_counts_for_nothing(run: Run, tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    for cpu in cpus_here():
        (tmp_path / "locks" / f"tacet-noise-cpu-{cpu}").symlink_to(str(ended.pid))
    words = ("--seconds", "1", "--programs", "selfish", "--out", "r", "--name", "n")
    assert run(*words, SLURM_LOCALID="0").returncode == 0
    assert (tmp_path / "r/n/selfish_0.dat").is_file()


def test_by_hand_it_waits_for_the_other_one(
    kit: Path, tmp_path: Path, environment: dict[str, str]
) -> None:  # fmt: skip
    other = subprocess.Popen(["sleep", "1000"])
    for cpu in cpus_here():
        (tmp_path / "locks" / f"tacet-noise-cpu-{cpu}").symlink_to(str(other.pid))
    words = [kit / "tacet-noise", "--seconds", "1", "--programs", "selfish", "--out", "r", "--name", "n"]
    process = subprocess.Popen(words, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    assert "waiting until it has ended" in process.stderr.readline()
    assert not (tmp_path / "r").exists()
    other.kill()
    other.wait()
    process.communicate(timeout=HANGS_S)
    assert process.returncode == 0 and (tmp_path / "r/n/selfish_0.dat").is_file()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_keeps_what_was_measured(
    kit: Path, tmp_path: Path, environment: dict[str, str], number: signal.Signals
) -> None:
    words = [kit / "tacet-noise", "--programs", "fwq,selfish", "--out", "r", "--name", "n"]
    words += ["--seconds", "4", "--cpus", str(cpus_here()[0])]
    process = subprocess.Popen(
        words, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stderr
    while "selfish, about" not in (line := process.stderr.readline()):
        assert line, "ended too early"
    time.sleep(0.2)
    os.killpg(process.pid, number)
    _, rest = process.communicate(timeout=HANGS_S)
    assert process.returncode == 130
    assert "interrupted; what was measured is kept in r/n" in rest
    meta = meta_of(tmp_path / "r/n")
    assert meta["status"] == "incomplete" and "selfish" in meta["reason"]
    assert [path.name for path in (tmp_path / "r/n").glob("*.dat")] == ["fwq_0_times.dat"]
    assert not (tmp_path / "r/n/unfinished").exists() and not list((tmp_path / "locks").iterdir())


# ---- Settings, of a machine that does not exist ----


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """/proc and /sys of four CPUs in two cores; the process may use the real ones only."""
    root = tmp_path / "machine"
    cpus = ",".join(map(str, cpus_here()))
    files = {
        "proc/self/status": f"Name:\tsh\nCpus_allowed_list:\t{cpus}\n",
        "proc/cmdline": "root=/dev/sda nohz_full=1-3 rcu_nocbs=1-3 quiet\n",
        "proc/cpuinfo": "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nflags\t\t: fpu hypervisor tsc\n",
        "proc/loadavg": "7.50 1.00 1.00 3/400 99\n",
        "proc/uptime": "100.00 50.00\n",
        "proc/interrupts": "      CPU0\nLOC:  5  Local timer interrupts\n",
        "proc/stat": "cpu0 1 2 3 4 5 6 7 8 9 10\n",
        "proc/12/comm": "irqbalance\n",
        "proc/irq/24/smp_affinity_list": "0-3\n",
        "proc/self/cgroup": "0::/job_7\n",
        "proc/sys/kernel/nmi_watchdog": "1\n",
        "proc/sys/kernel/hostname": "fake\n",
        "sys/fs/cgroup/job_7/cpu.max": "150000 100000\n",
        "sys/devices/system/cpu/nohz_full": "1-3\n",
        "sys/devices/system/cpu/isolated": "\n",
        "sys/devices/system/cpu/smt/active": "1\n",
        "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
        "sys/class/dmi/id/sys_vendor": "QE\x07MU\n",
        "boot/config-" + os.uname().release: "CONFIG_HZ=1000\nCONFIG_NO_HZ_FULL=y\n",
    }
    for cpu in cpus_here():
        files[f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"] = "powersave\n"
        files[f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"] = cpus + "\n"
    first = cpus_here()[0]
    for state, (name, latency) in enumerate([("POLL", "0"), ("C6", "133")]):
        for key, value in (("name", name), ("latency", latency), ("disable", "0")):
            files[f"sys/devices/system/cpu/cpu{first}/cpuidle/state{state}/{key}"] = value + "\n"
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_the_settings_that_noise_comes_from_are_recorded(run: Run, tmp_path: Path, machine: Path) -> None:
    words = ("--seconds", "1", "--programs", "selfish", "--out", "r")
    said = run(*words, TACET_NOISE_ROOT=str(machine))
    assert said.returncode == 0, said.stderr
    assert "a load of 7.50" in said.stderr
    meta = meta_of(tmp_path / "r/fake")
    first = str(cpus_here()[0])
    wanted = {
        "cpu_model": "Some CPU @ 2 GHz",
        "nohz_full": "1-3",
        "boot_rcu_nocbs": "1-3",
        "isolated": "none",
        "smt_active": "1",
        "irqbalance": "running",
        "irq.24.cpus": "0-3",
        "nmi_watchdog": "1",
        "cgroup_cpu_max": "150000 100000",
        "hypervisor": "unnamed",
        "hypervisor_vendor": "QEMU",
        "transparent_hugepage": "[always] madvise never",
        "config": "CONFIG_HZ=1000 CONFIG_NO_HZ_FULL=y",
        "cstates": "POLL:0us:0 C6:133us:0",
        f"cpu.{first}.governor": "powersave",
        "cpus_measured": first,  # one hardware thread of the one core
    }
    assert {key: meta.get(key) for key in wanted} == wanted


def test_a_cpu_that_is_off_is_not_measured(run: Run, tmp_path: Path, machine: Path) -> None:
    cpus = cpus_here()
    if len(cpus) < 2:
        pytest.skip("one CPU")
    (machine / "sys/devices/system/cpu/online").write_text(f"{cpus[1]}\n")
    words = ("--seconds", "1", "--programs", "selfish", "--cpus", "all", "--out", "r")
    assert run(*words, TACET_NOISE_ROOT=str(machine)).returncode == 0
    assert meta_of(tmp_path / "r/fake")["cpus_measured"] == str(cpus[1])


def test_where_nothing_is_told_nothing_is_recorded(run: Run, tmp_path: Path, machine: Path) -> None:
    for path in [*(machine / "sys").rglob("*"), *(machine / "boot").rglob("*")]:
        if path.is_file():
            path.unlink()
    words = ("--seconds", "1", "--programs", "selfish", "--out", "r")
    assert run(*words, TACET_NOISE_ROOT=str(machine)).returncode == 0
    meta = meta_of(tmp_path / "r/fake")
    assert meta["status"] == "complete"
    assert not {"nohz_full", "smt_active", "clocksource", "transparent_hugepage"} & set(meta)


def test_one_cpu_is_measured_and_said(run: Run, tmp_path: Path) -> None:
    cpu = str(cpus_here()[0])
    words = ("--seconds", "1", "--programs", "selfish", "--out", "r", "--name", "n")
    said = run(*words, shell=("taskset", "-c", cpu))
    assert said.returncode == 0 and "only one CPU" in said.stderr
    assert meta_of(tmp_path / "r/n")["cpus_measured"] == cpu


def test_without_rights_it_measures_all_the_same(kit: Path, environment: dict[str, str]) -> None:
    if os.getuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root to become another user")
    import tempfile

    with tempfile.TemporaryDirectory() as name:  # pytest's folders are the user's alone
        folder = Path(name)
        shutil.copytree(kit, folder / "kit")
        for path in (folder, folder / "kit", folder / "kit/x86_64"):
            path.chmod(0o755)
        (folder / "out").mkdir()
        (folder / "out").chmod(0o777)
        words = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs"]
        words += [str(folder / "kit/tacet-noise"), "--programs", "ftq", "--name", "n"]
        _, said = run_long_enough(
            lambda seconds: subprocess.run(
                [*words, "--seconds", seconds, "--out", str(folder / "out")],
                cwd=folder,
                env={**environment, "TACET_NOISE_LOCKS": str(folder / "out")},
                capture_output=True,
                text=True,
                timeout=HANGS_S,
            ),
            folder / "out/n",
        )
        assert "osnoise, the kernel's own tracer: it needs root" in said
        meta = meta_of(folder / "out/n")
        assert meta["user"] == "65534" and meta["program.ftq"] == "complete"


RTLA = """#!/bin/sh
echo "$*" >&2
cat <<END
                                          Operating System Noise
duration:   0 00:00:05 | time is in us
CPU Period       Runtime        Noise  % CPU Aval   Max Noise   Max Single          HW          NMI          IRQ      Softirq       Thread
  0 #5          5000000         4896    99.90208         978           56          49            0         5311          159           13
END
"""  # noqa: E501 -- as the tool writes it


@pytest.mark.parametrize(
    ("script", "outcome"), [(RTLA, "rtla osnoise top"), ("#!/bin/sh\nexit 1\n", "rtla failed")]
)
def test_root_with_rtla_asks_the_kernel_s_tracer(run: Run, tmp_path: Path, script: str, outcome: str) -> None:
    if os.getuid() != 0:
        pytest.skip("not root")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/rtla").write_text(script)
    (tmp_path / "bin/rtla").chmod(0o755)
    words = ("--seconds", "1", "--programs", "selfish", "--out", "r", "--name", "n")
    said = run(*words, PATH=f"{tmp_path}/bin:{os.environ['PATH']}")
    assert said.returncode == 0, said.stderr
    assert meta_of(tmp_path / "r/n")["osnoise"] == outcome
    assert (tmp_path / "r/n/selfish_0.dat").is_file()
    if script == RTLA:
        (trace,) = registry.read(tmp_path / "r/n/rtla.txt")
        assert trace.parameters["IRQ"] == "5311"
        assert "osnoise top -q -d 5s -c" in (tmp_path / "r/n/log").read_text()
    else:
        assert "rtla failed" in said.stderr and not (tmp_path / "r/n/rtla.txt").exists()


# ---- What is wrong is said in a line ----


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--seconds", "0"), "--seconds 0: give 1 to 86400"),
        (("--seconds", "000"), "--seconds 0: give 1 to 86400"),
        (("--seconds", "-5"), "--seconds -5: not a whole number"),
        (("--seconds", "soon"), "--seconds soon: not a whole number"),
        (("--seconds", "1.5"), "--seconds 1.5: not a whole number"),
        (("--seconds", "99999999999999999999"), "give 1 to 86400"),
        (("--seconds",), "--seconds needs a value"),
        (("--seconds=",), "--seconds needs a value"),
        (("--cpus", "1-"), "--cpus 1-: give a list"),
        (("--cpus", "3-1"), "--cpus 3-1: give a list"),
        (("--cpus", "*"), "--cpus *: give a list"),
        (("--programs", "ftq,rm"), "no such program: rm"),
        (("--programs", ","), "name one of ftq"),
        (("--sideways",), "no such option: --sideways"),
        (("results",), "no such option: results"),
    ],
)
def test_a_wrong_option_is_one_line_and_status_2(
    run: Run, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    done = run(*words)
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "results").exists()


def test_a_cpu_that_the_cpuset_does_not_have_is_named(run: Run) -> None:
    done = run("--cpus", "0,4095")
    assert done.returncode == 1 and "may not use CPU 4095" in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_unknown_architecture_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    uname = tmp_path / "bin/uname"
    uname.write_text(f'#!/bin/sh\n[ "$1" = -m ] && echo riscv64 && exit\nexec {shutil.which("uname")} "$@"\n')
    uname.chmod(0o755)
    done = run("--quick", PATH=f"{tmp_path}/bin:{os.environ['PATH']}")
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "no programs for this architecture, riscv64" in done.stderr and "available: x86_64" in done.stderr


@pytest.mark.parametrize("kept", [0, 2000])
def test_a_program_that_cannot_be_run_is_named(
    kit: Path, tmp_path: Path, environment: dict[str, str], kept: int
) -> None:
    shutil.copytree(kit, tmp_path / "cut")
    (tmp_path / "cut/x86_64/selfish").write_bytes((kit / "x86_64/selfish").read_bytes()[:kept])
    done = subprocess.run(
        [tmp_path / "cut/tacet-noise", "--quick"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=HANGS_S,
    )
    assert done.returncode == 1 and "cannot run" in done.stderr
    assert done.stderr.count("\n") == 1 and not (tmp_path / "results").exists()


@pytest.mark.parametrize("place", ["/proc/x", "plain"])
def test_a_folder_that_cannot_be_written_is_named(run: Run, tmp_path: Path, place: str) -> None:
    (tmp_path / "plain").write_text("")
    done = run("--quick", "--out", place)
    assert done.returncode == 1 and f"{place}: not a writable folder" in done.stderr
    assert done.stderr.count("\n") == 1 and not list((tmp_path / "locks").iterdir())


def on_a_small_disk(kit: Path, tmp_path: Path, environment: dict[str, str], size: str, words: str) -> str:
    """Returns the output and status of a run whose folder `disk` holds this number of bytes."""
    script = f"mount -t tmpfs -o size={size} none disk && {{ {kit}/tacet-noise {words}; echo status $?; }}"
    (tmp_path / "disk").mkdir()
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=HANGS_S,
    )
    if "status" not in done.stdout:
        pytest.skip(f"no file system can be mounted here: {done.stdout}")
    return done.stdout


def test_a_disk_that_is_too_small_is_named_before(
    kit: Path, tmp_path: Path, environment: dict[str, str]
) -> None:  # fmt: skip
    said = on_a_small_disk(kit, tmp_path, environment, "64k", "--seconds 1 --out disk")
    assert "status 1" in said and "kB are free; give another folder" in said and said.count("\n") == 2


def test_a_disk_that_is_full_meanwhile_is_named_after(
    kit: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    """`df` that knows nothing of it stands for others who write, and for a quota."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/df").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "bin/df").chmod(0o755)
    path = {**environment, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    words = "--seconds 2 --programs ftq --out disk --name n"
    said = on_a_small_disk(kit, tmp_path, path, "24k", words)
    assert "status 1" in said
    assert "no room left" in said or "cannot be written" in said or "cannot write" in said, said
    assert "traceback" not in said.lower() and ": line " not in said
