/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * main.c: from a struct boot_info to a running program, or to a node that waits for jobs: read the command
 * line, plan the memory, take over from the early map, build the file tree, start the other CPUs and the job.
 * Runs once, on the first CPU, interrupts off. A mistake in the command line, the modules or the program
 * stops the node, with one line that says what is wrong.
 */
#include "arch.h"
#include "beat/nettick.h"
#include "net/beat_wire.h"
#include "time/clock.h"
#include "time/clock_event.h"
#include "time/timer.h"
#include "lib/command_line.h"
#include "debug/console.h"
#include "fs/proc/proc.h"
#include "init/files.h"
#include "init/job.h"
#include "init/memory.h"
#include "init/mounts.h"
#include "launch/launcher.h"
#include "debug/klog.h"
#include "debug/lock_check.h"
#include "init/node.h"
#include "net/network.h"
#include "process/process.h"
#include "debug/stop.h"
#include "lib/version.h"

static const char known_options[] =
    "app, argv0, bootif, clockevent, clockevents, conductor_key, console, cwd, end, env, execstack, "
    "idle, ip, ip_wait, klog, klog_classes, latency_bound, launch, mount, mount_required, "
    "mount_timeout, netconsole, netdev, nettick, nettick_dev, nettick_interrupts, nettick_key, ntp, "
    "prefix, ranks, raw_sockets, rotation, service, service_memory, service_policy, stack, stderr, "
    "stdin_bytes, stdout, threads, ticket_key";

static struct command_line line;

static void options_read(struct boot_info *boot)
{
    struct message why;

    start_check(command_line_parse(boot->command_line, &line, &why) || stop_configure(&line, &why) ||
                    console_configure(&line, &why) || klog_configure(&line, &why) ||
                    command_line_check(&line, known_options, &why) || netconsole_configure(&line, &why) ||
                    launcher_configure(&line, &why),
                &why);
}

_Noreturn void kernel_cpu_start(unsigned cpu)
{
    klog(cpu_online, cpu, 0);
    timer_cpu_start();
    job_cpu_join(cpu, 0);
}

_Noreturn void kernel_start(struct boot_info *boot)
{
    struct message why;
    char cpu[128];

    lock_check_start();
    options_read(boot);
    arch_cpu_describe(cpu, sizeof(cpu));
    kernel_print("Tacet %s, %s, started by %s\n", TACET_VERSION, ARCH_NAME, boot->protocol);
    kernel_print("cpu: %s\n", cpu);
    if (boot->ranges_dropped)
        kernel_print("memory: %u entries of the firmware's map are more than the kernel keeps; that memory "
                     "stays unused\n",
                     boot->ranges_dropped);
    if (boot->module_count == 0 && !launcher_is_on())
        node_stop(STOP_BAD_INPUT,
                  "no program: hand one in as boot module (QEMU: -initrd FILE, GRUB: module2 FILE)");
    memory_start(boot, &line);
    arch_memory_initialise(&kernel_pool, boot);
    files_start(boot);
    arch_initialise(boot);
    clock_start();
    start_check(nettick_configure(&line, &why) || clock_event_configure(&line, &why) ||
                    timer_configure(&line, &why) || arch_idle_configure(&line, &why) ||
                    schedule_configure(&line, &why) || threads_configure(&line, &why),
                &why);
    if (node_keys_are_given(&line))
        node_keys_hide(arch_physical(memory_take(ARCH_PAGE, ARCH_PAGE)), &kernel_pool);
    timer_cpu_start();
    klog_cpu_start(); /* the options have been read since this CPU's setup */
    arch_cpus_start(&kernel_pool, boot);
    clock_offsets_set();
    job_configure(&line, arch_cpu_count());

    struct memory_slice service = memory_service_take();
    struct memplan *plan;
    start_check(memory_slices_plan(&plan, &why), &why);
    memory_describe();
    node_facts_set(memory_kernel_bytes());

    memory_network_give();
    start_check(network_start(&line, &why) != 0, &why);
    if (node_keys_state.waits) { /* for keys from the conductor: no job runs before */
        launcher_rests(true);
        beat_keys_await(launcher_rest);
        launcher_rests(false);
    }
    proc_command_line = &line;
    struct tree *tree = files_build();
    start_check(mounts_start(&line, tree, &why), &why);
    if (launcher_is_on())
        start_check(launcher_start(arch_physical(memory_take(LAUNCHER_BYTES, ARCH_PAGE)), memory_ranks_mib(),
                                   &why) != 0,
                    &why);
    job_start(plan, &service, tree);
}
