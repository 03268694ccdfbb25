# SPDX-License-Identifier: BSD-2-Clause
"""The page on many hosts: it names who stands out and why, what to tune first with what was found, shows what
was left out, and ends in a line where there is nothing to show."""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]

from hosts_made import activity_made, host_made, selfish_text

from lab.cli import dispatch as command
from lab.common.errors import DataError
from lab.formats import registry
from lab.pictures.heat_map import heat_map_picture
from lab.report.activity import activity_read
from lab.report.comb import comb_find
from lab.report.hosts import cpu_list, cpu_text, hosts_read
from lab.report.hosts_page import cpu_map, hosts_compared, hosts_sentence, judge, time_map
from lab.report.outliers import crowd

BUSY = ROOT / "tests/data/noise-files/busy-host"
CHROMIUM = shutil.which("chromium")

#: 19 detours of 0.9 ms in two seconds, on the last CPU.
DAEMON = [(i * 100_000_000 + 50_000_000, 900_000) for i in range(19)]


def page_of(folder: Path, *words: str) -> str:
    out = folder.parent / "page.html"
    assert command.main(["report", str(folder), "-o", str(out), *words]) == 0
    return out.read_text()


def text_of(page: str) -> str:
    """What a reader sees of a page, without pictures."""
    return html.unescape(re.sub(r"<[^>]+>", " ", page))


def cluster(folder: Path, count: int = 6, **loud: str) -> Path:
    """Hosts n0, n1 … of which n2 is loud where `loud` says so."""
    for i in range(count):
        if i == 2 and loud:
            host_made(folder, "n2", extra=DAEMON, **loud)
        else:
            host_made(folder, f"n{i}")
    return folder


# ---- The page ----


def test_the_page_holds_everything_itself(tmp_path: Path) -> None:
    page = page_of(cluster(tmp_path / "r"))
    assert page.count("<img ") == 2 and "data:image/" in page
    assert not re.search(r"(src|href)=\"(?!data:)", page) and "<script" not in page
    for title in ("Where and when", "Hosts that stand out", "Tune this first", "Settings"):
        assert f"<h2>{title}</h2>" in page
    assert "Compared with Tacet" in page and "Tacet (emulated)" in page and "measured in QEMU" in page
    assert "<at>" not in page and "&lt;at&gt; 2.6 GHz &amp; more" in page


def test_the_answer_counts_hosts_and_names_the_worst(tmp_path: Path) -> None:
    judged = judge(hosts_read(cluster(tmp_path / "r", cpu__0__governor="powersave")))
    said = hosts_sentence(judged)
    assert said.startswith("6 hosts, 12 CPUs: median loss 0.1") and "; n2 loses most, 0." in said
    assert said.endswith("Tune first: the clock tick.") and len(said.split()) <= 20
    assert (
        "n2 surely loses more than each other host (95 %, Holm's correction for 15 pairs)"
        in hosts_compared(judged)
    )


def test_of_hosts_that_are_alike_none_is_the_worst(tmp_path: Path) -> None:
    """The daemon's hosts lose most, but they are two, so neither loses more than each other one."""
    for name, extra in (("a", []), ("b", DAEMON), ("c", DAEMON)):
        host_made(tmp_path / "r", name, extra=extra)
    judged = judge(hosts_read(tmp_path / "r"))
    assert "; none surely loses most" in hosts_sentence(judged)
    assert "surely loses more" not in hosts_compared(judged)


def test_longest_detours_are_compared_in_the_time_that_all_were_measured(tmp_path: Path) -> None:
    """A host that was measured for 20 s has had ten times as many chances of a long detour as the others; its
    longest in 2 s is the median of ten."""
    cluster(tmp_path / "r", 5)
    one = tmp_path / "r/n0"
    for file in one.glob("selfish*.dat"):
        *head, _ = [line for line in file.read_text().splitlines() if line[0] == "#"]
        again = [line.split() for line in file.read_text().splitlines() if line[0] != "#"]
        rows = [[int(a) + 2_000_000_000 * i, int(b)] for i in range(10) for a, b in again]
        rows[5][1] = 900_000
        period = "# Measurement period: 20 s"
        file.write_text("\n".join([*head, *(f"{a}\t{b}" for a, b in rows), period]) + "\n")
    figures = judge(hosts_read(tmp_path / "r")).figures
    assert figures["n0"].longest_ns == 900_000 and figures["n0"].span_ns == 20e9
    assert figures["n0"].longest_in_ns(2e9) == pytest.approx(figures["n1"].longest_ns, rel=0.1)
    assert figures["n0"].lost_ratio == pytest.approx(figures["n1"].lost_ratio, rel=0.2)
    text = text_of(page_of(tmp_path / "r"))
    assert "900 µs in 20 s" in text and "its longest detour" not in text


@pytest.mark.skipif(not CHROMIUM, reason="no chromium")
def test_a_browser_shows_it_without_an_error(tmp_path: Path) -> None:
    page_of(cluster(tmp_path / "r"))
    words = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"]
    done = subprocess.run(
        [*words, f"--user-data-dir={tmp_path / 'profile'}", f"file://{tmp_path / 'page.html'}"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert "Tune this first" in done.stdout
    assert not [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def test_the_heat_map_has_hosts_as_rows_and_cpus_as_columns(tmp_path: Path) -> None:
    host_made(tmp_path / "r", "few", cpus=1)
    host_made(tmp_path / "r", "many", cpus=3, extra=DAEMON)
    judged = judge(hosts_read(tmp_path / "r"))
    names, cpus, lost = cpu_map(judged)
    assert (names, cpus) == (["many", "few"], ["0", "1", "2"])
    assert np.isnan(lost[1]).tolist() == [False, True, True]
    assert lost[0, 2] == pytest.approx(lost[0, 0] + 19 * 900_000 / 2e9, abs=2e-4)
    over_time = time_map(judged)
    assert over_time and over_time[2].shape == (2, 60)
    assert over_time[2].mean(axis=1) == pytest.approx(np.nanmean(lost, axis=1), rel=0.1)


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_a_heat_map_is_drawn_of_silence_and_of_gaps_too(tmp_path: Path, suffix: str) -> None:
    lost = np.array([[0.0, np.nan], [0.0, 0.0]])
    heat_map_picture(["$a$", "b" * 90], ["0", "1"], lost, tmp_path / f"x.{suffix}", marked=["$a$"])
    assert (tmp_path / f"x.{suffix}").stat().st_size > 1000
    many = [f"n{i}" for i in range(300)]
    heat_map_picture(many, ["0"], np.full((300, 1), 0.01), tmp_path / f"z.{suffix}", marked=["n7"])
    with pytest.raises(DataError, match="no heat map"):
        heat_map_picture(["a"], ["0"], np.array([[np.nan]]), tmp_path / "y.svg")


def test_a_real_busy_host_has_a_page(tmp_path: Path) -> None:
    shutil.copytree(BUSY, tmp_path / "r/busy", ignore=shutil.ignore_patterns("phase*"))
    text = text_of(page_of(tmp_path / "r"))
    assert "1 host, 1 CPU: busy loses" in text and "busy" in text and "no meta.txt" in text
    assert "no settings were recorded" in text.lower()


def test_phases_alone_are_no_error(tmp_path: Path) -> None:
    (tmp_path / "r/p").mkdir(parents=True)
    (tmp_path / "r/p/phase_0.dat").write_text(
        "# Phase durations\n# grain_ns 1000000\n# calibrated_ns 1000000\n# phases 2\n# ticks_per_ns 1\n"
        "1000000 2\n"
    )
    assert "measured only with phases of work" in page_of(tmp_path / "r")


# ---- Who stands out ----


def test_a_loud_host_is_named_with_what_it_does_otherwise(tmp_path: Path) -> None:
    cluster(tmp_path / "r", cpu__0__governor="powersave", irqbalance="running")
    judged = judge(hosts_read(tmp_path / "r"))
    assert [one.name for one in judged.outside] == ["n2"]
    assert "the median of 6 hosts is 0.1" in judged.outside[0].why and "MAD above" in judged.outside[0].why
    assert "its longest detour in 2 s lasts 900 µs" in judged.outside[0].why
    assert "irqbalance: running (most others: absent)" in judged.outside[0].differs
    assert "governor: powersave (most others: unknown)" in judged.outside[0].differs


def test_two_loud_hosts_do_not_hide_each_other(tmp_path: Path) -> None:
    cluster(tmp_path / "r", 7, irqbalance="running")
    host_made(tmp_path / "r", "n9", extra=[(start, 10 * length) for start, length in DAEMON])
    assert {one.name for one in judge(hosts_read(tmp_path / "r")).outside} == {"n2", "n9"}


def test_a_loud_cpu_is_named_within_its_host(tmp_path: Path) -> None:
    host_made(tmp_path / "r", "n", cpus=6, extra=DAEMON)
    (one,) = judge(hosts_read(tmp_path / "r")).outside
    assert "of its 6 CPUs, CPU 5 loses much more" in one.why


@pytest.mark.parametrize(
    ("values", "outside"),
    [
        ([1, 1, 1, 1], ()),
        ([1, 1, 1, 1.4], ()),
        ([1, 1, 1, 2], ("3",)),
        ([0, 0, 0, 0], ()),
        ([0, 0, 0, 1e-6], ("3",)),
        ([1, 1.2, 0.8, 1.1, 0.9, 100, 200], ("5", "6")),
        ([5, 5, 5, 5, 0], ()),
    ],
)
def test_standing_out_is_by_median_and_mad(values: list[float], outside: tuple[str, ...]) -> None:
    found = crowd({str(i): value for i, value in enumerate(values)})
    assert found and found.outside == outside


def test_three_are_no_crowd(tmp_path: Path) -> None:
    assert crowd({"a": 0, "b": 0, "c": 1}) is None
    cluster(tmp_path / "r", 3, irqbalance="running")
    assert "too few to find outliers" in page_of(tmp_path / "r")


# ---- What to tune ----


def titles(folder: Path) -> list[str]:
    return [one.title for one in judge(hosts_read(folder)).advice]


QUIET = {"hz": 0.5, "tooth_ns": 1000}

RULES = [
    ({"cpu__0__governor": "powersave"}, "The frequency governor", "powersave on CPUs 0", "cpupower"),
    ({"cgroup_cpu_max": "50000 100000"}, "A CPU quota", "0.5 CPUs' time for 2 CPUs", "cpu.max"),
    ({"load_before": "3.20 1 1 4/99 1"}, "Other programs", "a load of 3.2", "--exclusive"),
    ({"numa_balancing": "1"}, "NUMA balancing", "numa_balancing is 1", "sysctl kernel.numa_balancing=0"),
    (
        {"transparent_hugepage": "[always] madvise never"},
        "Transparent hugepages",
        "[always]",
        "echo madvise > ",
    ),
    ({"nmi_watchdog": "1"}, "The NMI watchdog", "nmi_watchdog is 1", "sysctl kernel.nmi_watchdog=0"),
    ({"watchdog": "1"}, "The soft lockup watchdog", "watchdog is 1", "sysctl kernel.watchdog=0"),
    ({"clocksource": "hpet"}, "The clock source", "time by hpet", "tsc=reliable"),
    ({"cstates": "POLL:0us:0 C6:133us:0 C8:400us:1"}, "Deep C-states", "C6 (133 µs)", "cpupower idle-set"),
]


@pytest.mark.parametrize(
    ("settings", "title", "found", "setting"),
    [pytest.param(*row, id=row[1], marks=pytest.mark.long if i % 3 else ()) for i, row in enumerate(RULES)],
)
def test_a_setting_leads_to_advice_with_what_was_found(
    tmp_path: Path, settings: dict[str, str], title: str, found: str, setting: str
) -> None:
    host_made(tmp_path / "r", "n", **QUIET, **settings)
    (one,) = judge(hosts_read(tmp_path / "r")).advice
    ((host, finding),) = one.findings
    assert (one.title, host) == (title, "n")
    assert found in finding.found and setting in finding.setting
    text = text_of(page_of(tmp_path / "r"))
    assert finding.found in text and finding.setting in text


def test_a_quiet_host_needs_no_advice(tmp_path: Path) -> None:
    host_made(tmp_path / "r", "n", **QUIET)
    assert titles(tmp_path / "r") == []
    assert "Nothing in the recorded settings" in page_of(tmp_path / "r")


@pytest.mark.parametrize("hz", [100, 250, 300, 1000])
@pytest.mark.parametrize("drift", [0.0, 2e-5])
def test_a_tick_is_found_by_its_period(tmp_path: Path, hz: int, drift: float) -> None:
    path = tmp_path / "selfish.dat"
    path.write_text(selfish_text(0, hz * (1 + drift), 4_000, [(123_456_789, 2_000_000)], 4))
    (trace,) = registry.read(path)
    comb = comb_find(trace)
    assert comb and comb.rate_hz == hz and comb.tooth_ns == 4_000
    assert comb.lost_ratio == pytest.approx(hz * 4e-6, rel=0.1)


def test_random_detours_are_no_tick(tmp_path: Path) -> None:
    starts = np.sort(np.random.default_rng(3).integers(0, 4_000_000_000, 3000))
    path = tmp_path / "selfish.dat"
    path.write_text(selfish_text(0, 0, 0, [(int(start), 300) for start in starts], 4))
    (trace,) = registry.read(path)
    assert comb_find(trace) is None


@pytest.mark.parametrize(
    ("nohz_full", "found", "setting"),
    [
        ("none", "nohz_full is none", "nohz_full=1-2 rcu_nocbs=1-2"),
        ("1", "nohz_full is 1 only", "nohz_full=1-2 rcu_nocbs=1-2"),
        ("", "not supported by this kernel", "CONFIG_NO_HZ_FULL=y"),
        ("0-7", "nohz_full is 0-7 already", "isolcpus"),
    ],
)
def test_a_tick_leads_to_nohz_full_on_the_measured_cpus(
    tmp_path: Path, nohz_full: str, found: str, setting: str
) -> None:
    host = host_made(tmp_path / "r", "n", cpus=3, hz=1000, tooth_ns=2_000, nohz_full=nohz_full)
    activity_made(host, {"LOC": ("Local timer interrupts", [20_000] * 3)})
    (one,) = judge(hosts_read(tmp_path / "r")).advice
    ((_, finding),) = one.findings
    assert one.title == "The clock tick" and one.lost_ratio == pytest.approx(2e-3, rel=0.1)
    assert "detours at 1000 Hz" in finding.found and "1,000 local timer interrupts a second" in finding.found
    assert found in finding.found and setting in finding.setting


def test_a_comb_that_is_not_the_timer_s_is_not_called_the_tick(tmp_path: Path) -> None:
    host = host_made(tmp_path / "r", "n", hz=100, tooth_ns=30_000)
    activity_made(host, {"LOC": ("Local timer interrupts", [5_000] * 2)})
    (one,) = judge(hosts_read(tmp_path / "r")).advice
    assert "not this kernel's tick" in one.findings[0][1].found and one.lost_ratio is None


def test_device_interrupts_siblings_and_steal_are_found_in_what_was_counted(tmp_path: Path) -> None:
    host = host_made(
        tmp_path / "r", "n", **QUIET, irqbalance="running", cpu__0__siblings="0,2", hypervisor="kvm"
    )
    rows = {"24": ("PCI-MSI eth0-rx-1", [5, 2000, 0]), "25": ("PCI-MSI idle", [1, 1, 1])}
    idle, work = (0, 0, 0, 2000, 0, 0, 0, 0), (1000, 0, 0, 1000, 0, 0, 0, 0)
    activity_made(host, rows, [(1800, 0, 0, 0, 0, 0, 0, 200), idle, work])
    found = {one.title: one.findings[0][1] for one in judge(hosts_read(tmp_path / "r")).advice}
    assert list(found) == ["Time stolen by the hypervisor", "Interrupts of devices", "Busy SMT siblings"]
    assert "10 % of its time stolen" in found["Time stolen by the hypervisor"].found
    assert "24 (PCI-MSI eth0-rx-1) 100/s on CPU 1" in found["Interrupts of devices"].found
    assert "systemctl stop irqbalance" in found["Interrupts of devices"].setting
    assert "/proc/irq/$i/" in found["Interrupts of devices"].setting
    assert "CPU 2, the sibling of CPU 0, was busy for 50 %" in found["Busy SMT siblings"].found


def test_what_the_kernel_s_tracer_counted_is_shown(tmp_path: Path) -> None:
    host = host_made(tmp_path / "r", "n", osnoise="rtla osnoise top")
    assert "counted nothing (not tried: it needs root)" not in page_of(tmp_path / "r")
    counts = "49            0         5311          159           13"
    (host / "rtla.txt").write_text(
        "  Operating System Noise\nduration:   0 00:00:05 | time is in us\n"
        "CPU Period Runtime Noise % CPU Aval Max Noise Max Single HW NMI IRQ Softirq Thread\n"
        f"  0 #5          5000000         4896    99.90208         978           56          {counts}\n"
    )
    text = " ".join(text_of(page_of(tmp_path / "r")).split())
    assert "n 0 rtla-top 0 5311 159 13 0.0979 %" in text


def test_what_costs_most_is_tuned_first(tmp_path: Path) -> None:
    host = host_made(tmp_path / "r", "n", hz=250, tooth_ns=4_000, cpu__0__governor="powersave")
    activity_made(host, {"LOC": ("x", [5000] * 2)}, [(1990, 0, 0, 0, 0, 0, 0, 10)] * 2)
    assert titles(tmp_path / "r") == [
        "Time stolen by the hypervisor",
        "The clock tick",
        "The frequency governor",
    ]


def test_the_same_advice_for_many_hosts_is_given_once(tmp_path: Path) -> None:
    page = text_of(page_of(cluster(tmp_path / "r", 9)))
    assert page.count("nohz_full=1 rcu_nocbs=1") == 1 and "On 9 of 9 hosts." in page
    assert "and 4 more" in page


# ---- What is wrong is said ----


def refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert command.main(["report", str(folder), "-o", str(folder.parent / "x.html")]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and str(folder) in said and not (folder.parent / "x.html").exists()
    return said


def test_a_folder_without_hosts_is_refused_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no such folder" in refused(tmp_path / "none", capsys)
    (tmp_path / "file").write_text("x")
    assert "not a folder" in refused(tmp_path / "file", capsys)
    (tmp_path / "empty").mkdir()
    assert "no host's folder in it" in refused(tmp_path / "empty", capsys)
    (tmp_path / "foreign/photos").mkdir(parents=True)
    (tmp_path / "foreign/photos/a.jpg").write_bytes(b"\xff\xd8\xff\xe0")
    (tmp_path / "foreign/notes.txt").write_text("milk\n")
    assert "photos: no program's data in it" in refused(tmp_path / "foreign", capsys)


def test_a_folder_and_nodes_do_not_go_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    host_made(tmp_path / "r", "n")
    assert command.main(["report", str(tmp_path / "r"), "--node", "a=b"]) == 1
    assert "cannot be combined with --node" in capsys.readouterr().err


def test_a_host_s_own_folder_is_a_host(tmp_path: Path) -> None:
    host_made(tmp_path / "r", "alone")
    assert [host.name for host in hosts_read(tmp_path / "r/alone").hosts] == ["alone"]


def test_of_a_mixed_folder_the_hosts_are_shown_and_the_rest_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = cluster(tmp_path / "r", 2)
    (folder / "notes.txt").write_text("x")
    (folder / "empty").mkdir()
    (folder / "loop").symlink_to(folder / "loop")
    cut = folder / "n1/selfish_0.dat"
    cut.write_text(cut.read_text()[:400])
    (folder / "n1/ftq_1.dat").write_bytes(b"\x00\xff" * 300)
    text = text_of(page_of(folder))
    err = capsys.readouterr().err
    for said in (err, text):
        assert "n1/selfish_0.dat" in said and "n1/ftq_1.dat" in said
        assert "empty" in said and "no program's data in it" in said
    assert "2 hosts, 3 CPUs" in text


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"status": "running"}, "the run was killed or still runs"),
        ({"status": "incomplete", "reason": "interrupted in phase"}, "incomplete: interrupted in phase"),
        ({"ended": "1003620"}, "the clock of the day stepped by +3600 s"),
        ({"ended": "999000"}, "the clock of the day stepped by -1020 s"),
        ({"format": "tacet-noise 9"}, "this lab reads tacet-noise 1"),
    ],
)
def test_what_happened_during_the_run_is_said(tmp_path: Path, settings: dict[str, str], said: str) -> None:
    host_made(tmp_path / "r", "n", **settings)
    (host,) = hosts_read(tmp_path / "r").hosts
    assert any(said in remark for remark in host.remarks)
    assert said in text_of(page_of(tmp_path / "r"))


def test_clocks_that_run_on_are_no_remark(tmp_path: Path) -> None:
    host_made(tmp_path / "r", "n", ended="1000021")
    assert hosts_read(tmp_path / "r").hosts[0].remarks == []


def test_a_clock_that_steps_back_leaves_the_rates_right(tmp_path: Path) -> None:
    """The uptime says how long it took."""
    host = host_made(tmp_path / "r", "n", ended="900000")
    activity_made(host, {"LOC": ("x", [2000, 4000])})
    line = hosts_read(tmp_path / "r").hosts[0].activity.line("LOC")
    assert line and line.per_second == {0: 100, 1: 200}


@pytest.mark.parametrize(("boot", "said"), [("11111111-2222", "one host"), ("3", "different hosts")])
def test_two_folders_of_one_name_are_two_rows_and_said(tmp_path: Path, boot: str, said: str) -> None:
    host_made(tmp_path / "r", "n")
    host_made(tmp_path / "r", "n.2", host="n", boot_id=boot)
    hosts = hosts_read(tmp_path / "r").hosts
    assert [host.name for host in hosts] == ["n", "n.2"]
    assert all(said in host.remarks[0] and "has the host name n, like n" in host.remarks[0] for host in hosts)


DAMAGE = [
    b"",
    b"\x00\xff\xfe" * 100,
    b"format=tacet-noise 1\nhost",
    b"started=soon\nended=1e999\nuptime_before=\nuptime_after=9999999999999999999999\nload_before=nan\n",
    b"cpus_measured=0,99999999999\ncgroup_cpu_max=9 0\ncstates=:::us:\nnohz_full=1-\nload_before=-1\n",
    b"cpus_measured=9-2,x\ncgroup_cpu_max=max 100000\nclocksource=\nhost=<script>\x07\n",
    b"cpus_measured=" + b"0-99999," * 100_000 + b"0\n",
    b"=\n==\na=b=c\n" + b"x" * 100_000,
]


@pytest.mark.parametrize(
    "damage",
    [pytest.param(text, id=str(i), marks=pytest.mark.long if i % 3 else ()) for i, text in enumerate(DAMAGE)],
)
def test_damaged_settings_never_stop_the_page(tmp_path: Path, damage: bytes) -> None:
    host = host_made(tmp_path / "r", "n")
    activity_made(host, {"LOC": ("x", [2000, 4000])}, [(1, 0, 0, 1, 0, 0, 0, 0)] * 2)
    (host / "meta.txt").write_bytes(damage)
    page = page_of(tmp_path / "r")
    assert "1 host, 2 CPUs" in page and "<script" not in page


@pytest.mark.parametrize("name", ["interrupts-after.txt", "interrupts-before.txt", "stat-after.txt"])
@pytest.mark.parametrize("damage", [b"", b"\xff" * 50, b"CPU0 CPU1\nLOC: 1\n", b"CPU0\nLOC: -5 x\n", None])
def test_damaged_counts_are_no_counts(tmp_path: Path, name: str, damage: bytes | None) -> None:
    host = host_made(tmp_path / "r", "n")
    activity_made(host, {"LOC": ("x", [2000, 4000])}, [(1, 0, 0, 1, 0, 0, 0, 0)] * 2)
    if damage is None:
        (host / name).unlink()
    else:
        (host / name).write_bytes(damage)
    found = activity_read(host, 20.0)
    assert not (found.busy if "stat" in name else found.lines)


def test_counts_that_fall_are_left_out(tmp_path: Path) -> None:
    host = host_made(tmp_path / "r", "n")
    activity_made(host, {"LOC": ("x", [2000, 4000])})
    (host / "interrupts-before.txt").write_text((host / "interrupts-after.txt").read_text())
    (host / "interrupts-after.txt").write_text("CPU0 CPU1\nLOC: 1 4001 x\n")
    assert activity_read(host, 20.0).lines == []


def test_a_name_that_is_no_text_has_a_page(tmp_path: Path) -> None:
    host = host_made(tmp_path / "r", "n")
    os.rename(os.fsencode(host), os.fsencode(tmp_path / "r") + b"/n\xff<b>")
    os.rename(os.fsencode(host_made(tmp_path / "r", "n")), os.fsencode(tmp_path / "r") + b"/n\xfe<b>")
    page = page_of(tmp_path / "r")
    assert "<b>" not in page and "n?&lt;b&gt;" in page and "n?&lt;b&gt;&#x27;" in page


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("0,2-4", [0, 2, 3, 4]), ("", []), ("x", []), ("1-", []), ("(null)", []), ("5", [5]), ("3-1", [])],
)
def test_cpu_lists_are_read_and_written(text: str, cpus: list[int]) -> None:
    assert cpu_list(text) == cpus
    assert cpu_text(cpus) == (text if cpus else "")
