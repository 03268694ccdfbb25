# SPDX-License-Identifier: BSD-2-Clause
"""Which tests of whole systems run on x86_64 alone, and why: what this list does not name runs on every
architecture. And which run in `make test-long` alone, whatever they cost: only that builds what they need.

A key is a file of this folder, one of its tests, or one case of a test: `test_bochs`, `test_pc::test_name`,
`test_pc::test_name[case]`. tests/host/test_only.py holds that each is there.
"""

from __future__ import annotations

from collections.abc import Iterable

from qemu import architectures

NO_NETWORK = "POWER has no driver of a network card yet"
SMALL = "QEMU's machine for POWER has 256 MiB at least"
APIC = "POWER has no APIC"
SILENT = "QEMU's debugger cannot hold a CPU that RTAS has not started; test_ppc64_smp has silent CPUs"
CPU = "its case is a model of an x86_64 CPU"
TURNS = "a PC's HPET ends the turns of its CPUs"
NO_START = "Debian's glibc for POWER has no start file for static-PIE"
NO_CHECK = "QEMU's machine for POWER raises no machine check"
STOPS = "such an interrupt stops a POWER node (test_ppc64_entry)"
PC = "it is about what a PC's firmware and devices do"

X86_64_ALONE = {
    "test_bad_input::test_too_little_memory_is_reported_in_numbers": SMALL,
    "test_bench_programs": "the table of docs/costs.md, which is of x86_64",
    "test_bochs": "Bochs is a PC",
    "test_clock_offsets": NO_NETWORK,
    "test_corners::test_no_descriptor_table_lies_where_programs_can_write": "POWER has none",
    "test_cluster": NO_NETWORK,
    "test_collide::test_threads_that_collide_leave_the_kernel_alive[mounts]": NO_NETWORK,
    "test_end::test_end_reboot_resets_the_machine[q35-False]": "a PC's board",
    "test_end::test_end_wait_switches_off_at_a_key_of_the_keyboard": "POWER has no keyboard here",
    "test_faults::test_a_machine_check_stops_the_node_with_the_bank_and_its_status": NO_CHECK,
    "test_faults::test_a_non_maskable_interrupt_is_reported_and_the_program_goes_on": STOPS,
    "test_faults::test_non_maskable_interrupts_do_no_harm_wherever_they_come": STOPS,
    "test_file_server": NO_NETWORK,
    "test_foreign_programs": "what it compiles and fetches is Debian's for x86_64",
    "test_hardware": PC,
    "test_inet": NO_NETWORK,
    "test_klog::test_an_nmi_to_a_sleeping_cpu_tears_nothing": STOPS,
    "test_mounts": NO_NETWORK,
    "test_mpi::test_fortran_says_on_a_node_what_it_says_with_mpich": "its library is of x86_64 alone",
    "test_mpi::test_what_knows_no_machine_says_on_a_node_what_it_says_with_mpich": "it is the same on both",
    "test_mpi_of_others": "what it compiles and links is Debian's for x86_64",
    "test_mpich": "it is built for x86_64 alone",
    "test_netconsole": NO_NETWORK,
    "test_nettick": NO_NETWORK,
    "test_nettick_commands": NO_NETWORK,
    "test_nettick_ftq": NO_NETWORK,
    "test_nettick_logs": NO_NETWORK,
    "test_nettick_poll": NO_NETWORK,
    "test_nettick_shared": NO_NETWORK,
    "test_network": NO_NETWORK,
    "test_network_cost": NO_NETWORK,
    "test_network_programs": NO_NETWORK,
    "test_network_silence": NO_NETWORK,
    "test_pc": PC,
    "test_postmortem::test_a_machine_check_is_shown_whole": NO_CHECK,
    "test_programs::test_what_runs_at_the_end_runs_in_order[glibc-pie]": NO_START,
    "test_proc::test_a_process_reads_the_truth_about_itself[glibc-pie]": NO_START,
    "test_call_fuzz::test_random_calls_harm_neither_the_kernel_nor_another_rank[old_cpu]": CPU,
    "test_ppc64_priority::test_a_machine_without_priorities_says_so": "POWER has priorities",
    "test_ppc64_priority::test_the_balancer_says_where_there_are_no_priorities": "POWER has priorities",
    "test_real_programs": "Debian's programs and compilers for x86_64; test_languages has POWER's compilers",
    "test_serial::test_a_short_write_passes_between_the_lines_of_a_long_one[console]": PC,
    "test_serial::test_input_is_no_slower_than_linux_s": PC,
    "test_serial::test_without_interrupts_of_devices_input_is_polled": PC,
    "test_service_windows": NO_NETWORK,
    "test_smp::test_a_cpu_that_never_answers_is_named_and_left_out": SILENT,
    "test_smp::test_a_newer_qemu_runs_them_in_x2apic_mode": APIC,
    "test_smp::test_cpus_that_only_an_x2apic_reaches_run": APIC,
    "test_smp::test_many_cpus_that_never_answer_are_not_each_waited_for": SILENT,
    "test_smp::test_ranks_fill_cores_before_they_share_one": "APICs number its CPUs; see test_ppc64_smp",
    "test_smp::test_without_x2apic_the_memory_mapped_one_serves": APIC,
    "test_socket_races::test_packets_of_all_sizes_arrive_or_are_refused[ping-sizes]": (
        "two packets of 64 KiB, in POWER's pages, are more than the node's own account of the network"
    ),
    "test_socket_races::test_packets_of_all_sizes_cross_the_wire_and_come_back": NO_NETWORK,
    "test_socket_races::test_who_sends_to_many_sockets_keeps_no_other_rank_waiting": TURNS,
    "test_sockets": NO_NETWORK,
    "test_timers::test_the_tsc_deadline_keeps_the_same_promises_where_there_is_one": "a TSC is x86_64's",
    "test_strangers": NO_NETWORK,
    "test_tcp_losses": NO_NETWORK,
    "test_time_server": NO_NETWORK,
    "test_tools": "it is about tools of the host; the runner of all tests is what they run on POWER",
    "test_transfers": NO_NETWORK,
    "test_turns": TURNS,
    "test_vdso::test_a_cpu_whose_clock_is_late_reports_the_first_one_s_time": "POWER's CPUs have one clock",
}

#: What `make test` does not build or measure, by the fixture that needs it; and what it does not build for
#: POWER, by the file of the tests.
LONG_FIXTURES = {
    "checking_kernel": "a kernel that checks what is done with locks held",
    "sqlite": "SQLite, of Debian's source",
    "store": "points of experiments that measure Linux and Tacet (test_reproduce)",
}
LONG_ON_POWER = {"test_mpi": "the MPI library and its programs"}

#: What the name of a case says, of whatever test, that only x86_64 has.
X86_64_CASES = {"glibc-pie": NO_START}


def is_long(file: str, arch: str, fixtures: Iterable[str]) -> bool:
    """Whether a case needs what only `make test-long` builds for its architecture."""
    return (arch == "ppc64" and file in LONG_ON_POWER) or not LONG_FIXTURES.keys().isdisjoint(fixtures)


def keys_of(file: str, test: str, case: str = "") -> list[str]:
    return [file, f"{file}::{test}", *([f"{file}::{test}[{case}]"] if case else [])]


def names(file: str, test: str) -> list[str]:
    """The architectures of a test."""
    alone = any(key in X86_64_ALONE for key in keys_of(file, test))
    return [architectures.DEFAULT] if alone else list(architectures.ALL)


def case_of(name: str, arch: str) -> tuple[str, str]:
    """A test and its case, but for the architecture, of the whole name that pytest gives."""
    test, _, cases = name.partition("[")
    return test, "-".join(word for word in cases.removesuffix("]").split("-") if word != arch)


def left_out(file: str, name: str, arch: str) -> str:
    """Why the case of a test, by its whole name, is not for an architecture; "" where it is."""
    test, case = case_of(name, arch)
    if arch == architectures.DEFAULT or not case:
        return ""
    of_any = (why for words, why in X86_64_CASES.items() if f"-{words}-" in f"-{case}-")
    return X86_64_ALONE.get(f"{file}::{test}[{case}]", "") or next(of_any, "")
