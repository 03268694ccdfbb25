/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cost.c: measures the kernel's cost to a program that does nothing: an empty system call, the time from
 * reset to main(), the memory that the system keeps. Prints `key value` lines on standard output. The same
 * ELF file runs on Tacet and Linux.
 *
 * Ticks are those of cycles_now(). Under QEMU's `-icount shift=0` an instruction is a nanosecond, and the
 * figures are the same in every run: on x86_64 a tick is one guest instruction, on POWER 1.95. Elsewhere
 * ticks are time.
 *
 * The empty system call is getpid with the bare system call instruction, without a library. Two clock reads
 * are timed with the call between them, and with everything except the call. The difference is its cost: the
 * system call instruction, the kernel, and the return instruction. If a tick is more than an instruction,
 * several calls are between the reads, and a call's share is printed with decimals.
 *
 * On Tacet the same call is also timed with the flight log's class of system calls on. The call then writes
 * two events, so an event costs half of the difference, including the saving of registers around it.
 *
 *     -b  a page, from mmap and its first touch to munmap, in a small mapping and a large one (map.h)
 *     -w  waking a thread on another CPU (wake.h)
 *     -s  two threads sharing a CPU (share.h)
 *     -t  a timer, and a crowd of timers (timer.h)
 *     -u  the network (wire.h)
 *
 * The monotonic clock is read by the C library's clock_gettime, as programs do, and by the bare system call;
 * both include the library's few instructions around them.
 *
 * The last figures are times, not ticks: how late the program wakes up from sleeps of a millisecond, with
 * exact timers, which it requests, and with the system's default.
 */
#define _GNU_SOURCE
#include "cycles.h"
#include "map.h"
#include "order.h"
#include "parse.h"
#include "share.h"
#include "sleep.h"
#include "tacet.h"
#include "timer.h"
#include "wake.h"
#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CALLS_DEFAULT 1000
#define CALLS_MAX     10000 /* few, because the arrays are zeroed before main() */

static uint64_t calls_ticks[CALLS_MAX], reads_ticks[CALLS_MAX];

static void key_print(const char *key, uint64_t value)
{
    printf("%s %" PRIu64 "\n", key, value);
}

/* Prints the ticks of CYCLES_CALLS calls, divided by their number. */
static void call_print(const char *key, uint64_t ticks)
{
    printf("%s %.*f\n", key, CYCLES_CALLS > 1 ? 3 : 0, (double)ticks / CYCLES_CALLS);
}

/* Takes `calls` timings, each of CYCLES_CALLS empty system calls. Sorts them and returns the smallest, in
 * ticks. */
static uint64_t calls_time(size_t calls)
{
    for (size_t i = 0; i < calls; i++)
        calls_ticks[i] = cycles_around_system_calls(SYS_getpid);
    order_sort(calls_ticks, calls);
    return calls_ticks[0];
}

/* Switches the logging of system calls on or off; false if this system has no such log. */
static bool calls_log(const char *command)
{
    int log = open("/proc/tacet/klog", O_WRONLY);
    bool done = log >= 0 && write(log, command, strlen(command)) == (ssize_t)strlen(command);

    if (log >= 0)
        close(log);
    return done;
}

static void log_event_measure(size_t calls, uint64_t read_min, uint64_t call_min)
{
    uint64_t logged_min;

    if (!calls_log("+syscall"))
        return;
    logged_min = calls_time(calls);
    calls_log("-syscall");
    call_print("getpid_logged_ticks_min", logged_min > read_min ? logged_min - read_min : 0);
    call_print("klog_event_ticks", logged_min > call_min ? (logged_min - call_min) / 2 : 0);
}

/* Times many runs of CYCLES_CALLS empty system calls, and as many pairs of clock reads with none between. */
static void system_call_measure(size_t calls)
{
    uint64_t read_min, read_median, call_min;

    /* Touches the pages, so that no first store to a page is between two reads. */
    memset(calls_ticks, 0xff, calls * sizeof *calls_ticks);
    memset(reads_ticks, 0xff, calls * sizeof *reads_ticks);
    for (size_t i = 0; i < calls; i++)
        reads_ticks[i] = cycles_around_nothing(SYS_getpid);
    call_min = calls_time(calls);
    order_sort(reads_ticks, calls);
    read_min = reads_ticks[0];
    read_median = reads_ticks[calls / 2];
    key_print("clock_reads_ticks_min", read_min);
    call_print("getpid_ticks_min", call_min > read_min ? call_min - read_min : 0);
    call_print("getpid_ticks_median",
               calls_ticks[calls / 2] > read_median ? calls_ticks[calls / 2] - read_median : 0);
    key_print("getpid_calls", calls * CYCLES_CALLS);
    log_event_measure(calls, read_min, call_min);
}

static void signal_ignore(int number)
{
    (void)number;
}

/* Returns the smallest ticks of a call through the library. */
static uint64_t call_time(size_t calls, long number, long first, long second)
{
    uint64_t minimum = UINT64_MAX;

    for (size_t i = 0; i < calls; i++) {
        uint64_t start = cycles_now();

        syscall(number, first, second);
        uint64_t ticks = cycles_now() - start;
        minimum = ticks < minimum ? ticks : minimum;
    }
    return minimum;
}

/* Times a signal: from the call of kill through the handler to the return from kill, less an empty call. */
static void signal_measure(size_t calls)
{
    struct sigaction action = { .sa_handler = signal_ignore };
    uint64_t empty = call_time(calls, SYS_getpid, 0, 0), handled;

    sigaction(SIGUSR1, &action, NULL);
    handled = call_time(calls, SYS_kill, getpid(), SIGUSR1);
    key_print("signal_ticks", handled > empty ? handled - empty : 0);
}

/* Returns the value of a line of /proc/meminfo, in bytes; 0 if there is no such line. */
static uint64_t meminfo_bytes(const char *name)
{
    FILE *info = fopen("/proc/meminfo", "r");
    char line[128];
    uint64_t found_bytes = 0;

    if (!info)
        return 0;
    while (fgets(line, sizeof line, info)) {
        unsigned long long kib;

        if (!strncmp(line, name, strlen(name)) && sscanf(line + strlen(name), ": %llu kB", &kib) == 1)
            found_bytes = kib * 1024;
    }
    fclose(info);
    return found_bytes;
}

/* Prints, on Linux, how much of the machine's memory is no longer free when the first program starts. */
static void memory_taken_print(uint64_t machine_bytes)
{
    uint64_t total_bytes = meminfo_bytes("MemTotal"), free_bytes = meminfo_bytes("MemFree");

    if (!total_bytes)
        return;
    key_print("mem_total_bytes", total_bytes);
    key_print("mem_free_bytes", free_bytes);
    if (machine_bytes > free_bytes)
        key_print("memory_gone_bytes", machine_bytes - free_bytes);
}

/* Measures the smallest ticks of the library's clock_gettime, from before the call to after its return, less
 * the cost of an empty reading. Does the same for the system call. */
static void clock_measure(size_t calls)
{
    struct timespec time;
    uint64_t read_min = UINT64_MAX, library_min = UINT64_MAX, kernel_min = UINT64_MAX;

    for (size_t i = 0; i < calls; i++) {
        uint64_t first = cycles_now(), second = cycles_now();

        clock_gettime(CLOCK_MONOTONIC, &time);
        uint64_t third = cycles_now();
        syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
        uint64_t fourth = cycles_now();

        read_min = second - first < read_min ? second - first : read_min;
        library_min = third - second < library_min ? third - second : library_min;
        kernel_min = fourth - third < kernel_min ? fourth - third : kernel_min;
    }
    key_print("clock_gettime_ticks_min", library_min - read_min);
    key_print("clock_gettime_kernel_ticks_min", kernel_min - read_min);
}

static void sleep_print(const char *which, unsigned long slack_ns)
{
    struct sleep_lateness lateness;

    if (!sleep_lateness_measure(slack_ns, &lateness)) {
        fprintf(stderr, "cost: a sleep failed, or its timer slack could not be set\n");
        return;
    }
    printf("sleep_%s_late_min_ns %" PRId64 "\n", which, lateness.min_ns);
    printf("sleep_%s_late_median_ns %" PRId64 "\n", which, lateness.median_ns);
    printf("sleep_%s_late_max_ns %" PRId64 "\n", which, lateness.max_ns);
}

/* Prints the ticks per page of the machine from mmap to munmap; nothing if the memory does not suffice. */
static void map_print(const char *key, uint64_t bytes, unsigned times)
{
    const uint64_t page_bytes = (uint64_t)getpagesize();
    uint64_t ticks;

    if (map_measure((size_t)bytes, times, &ticks))
        key_print(key, ticks / (bytes / page_bytes));
}

/* Measures and prints a wake; returns the exit status. */
static int wake_print(void)
{
    uint64_t minimum_ticks, median_ticks;
    int error = wake_measure(&minimum_ticks, &median_ticks);

    if (error) {
        fprintf(stderr, "cost: -w: %s\n",
                error == -ENODEV ? "the waker and the waiter need a CPU each, and there is only one"
                                 : strerror(-error));
        return 1;
    }
    key_print("futex_wake_ticks_min", minimum_ticks);
    key_print("futex_wake_ticks_median", median_ticks);
    return fflush(stdout) || ferror(stdout);
}

static int share_print(void)
{
    struct share_costs costs;
    int error = share_measure(&costs);

    if (error) {
        fprintf(stderr, "cost: -s: %s\n", strerror(-error));
        return 1;
    }
    key_print("futex_switch_ticks_min", costs.switch_min_ticks);
    key_print("futex_switch_ticks_median", costs.switch_median_ticks);
    key_print("wake_over_idle_ticks_min", costs.over_idle_min_ticks);
    key_print("wake_over_idle_ticks_median", costs.over_idle_median_ticks);
    return fflush(stdout) || ferror(stdout);
}

static const char *crowd_error_text(int error)
{
    switch (error) {
    case -EAGAIN:
        return "it needs 1,001 threads: boot with threads=1024";
    case -ERANGE:
        return "a sleep ended before its time";
    case -ETIMEDOUT:
        return "the threads did not all sleep in time, in 8 attempts: boot with rotation=off";
    default:
        return strerror(-error);
    }
}

static int timer_print(void)
{
    struct timer_costs costs;
    uint64_t interrupts;
    int error = timer_measure(&costs);

    if (!error) {
        key_print("timer_arm_ticks", costs.arm_ticks);
        key_print("timer_disarm_ticks", costs.disarm_ticks);
        key_print("timer_expire_ticks", costs.expire_ticks);
        error = crowd_measure(&interrupts);
    }
    if (!error) {
        key_print("crowd_sleeps", CROWD_SLEEPS);
        key_print("crowd_interrupts", interrupts);
    }
    if (error && error != -ENOSYS) {
        fprintf(stderr, "cost: -t: %s\n", crowd_error_text(error));
        return 1;
    }
    return fflush(stdout) || ferror(stdout);
}

static int wire_print(const char *peer)
{
    struct wire_costs costs;
    int error = wire_measure(peer, &costs);

    if (error) {
        fprintf(stderr, "cost: -u %s: %s\n", peer,
                error == -EINVAL ? "a peer is ADDRESS:PORT, such as 10.0.2.2:7000" : strerror(-error));
        return 1;
    }
    key_print("udp_echo_ticks_min", costs.echo_min_ticks);
    key_print("udp_echo_ticks_median", costs.echo_median_ticks);
    key_print("tcp_send_kib_ticks", costs.send_kib_ticks);
    key_print("tcp_receive_kib_ticks", costs.receive_kib_ticks);
    return fflush(stdout) || ferror(stdout);
}

static void usage_exit(const char *option, const char *right)
{
    fprintf(stderr, "cost: %s: %s\n", option, right);
    exit(2);
}

int main(int argc, char **argv)
{
    const uint64_t main_ticks = cycles_now();
    const struct tacet_node *node = tacet_node();
    const uint64_t zeroed_bytes = node ? node->zeroed_bytes : 0;
    uint64_t calls = CALLS_DEFAULT, machine_mib = 0, map_mib = 0;
    const char *right, *peer = NULL;
    bool wake = false, share = false, timer = false;
    int letter;

    opterr = 0;
    while ((letter = getopt(argc, argv, "n:m:b:wstu:h")) != -1) {
        if (letter == 'n' && (right = parse_count(optarg, 1, CALLS_MAX, &calls)))
            usage_exit("-n", right);
        if (letter == 'm' && (right = parse_count(optarg, 1, 1 << 24, &machine_mib)))
            usage_exit("-m", right);
        if (letter == 'b' && (right = parse_count(optarg, 1, 1 << 24, &map_mib)))
            usage_exit("-b", right);
        wake |= letter == 'w';
        share |= letter == 's';
        timer |= letter == 't';
        if (letter == 'u')
            peer = optarg;
        if (letter == 'h') {
            printf(
                "usage: cost [-n CALLS] [-m MIB] [-b MIB] [-w] [-s] [-t] [-u PEER]\n"
                "Prints the cost of an empty system call (CALLS of them, default %d), the clock at "
                "main(), and the\n"
                "memory that the kernel keeps; -m MIB is the machine's memory, which Linux does not report.\n"
                "Each of these prints one cost only:\n"
                "  -b MIB   a page from mmap to munmap, in 16 pages and in MIB\n"
                "  -w       waking a thread on another CPU\n"
                "  -s       two threads that share a CPU\n"
                "  -t       a timer, and 1,000 of them\n"
                "  -u PEER  the network; PEER is ADDRESS:PORT, see wire.h\n",
                CALLS_DEFAULT);
            return 0;
        }
        if (letter == '?')
            usage_exit("options", "give -n CALLS, -m MIB, -b MIB, -w, -s, -t, -u PEER or -h");
    }
    if (optind < argc)
        usage_exit(argv[optind], "give -n CALLS, -m MIB, -b MIB, -w, -s, -t, -u PEER or -h");

    if (map_mib) {
        map_print("map_small_page_ticks", 16 * (uint64_t)getpagesize(), 20);
        map_print("map_large_page_ticks", map_mib << 20, 2);
        return fflush(stdout) || ferror(stdout);
    }
    if (wake)
        return wake_print();
    if (share)
        return share_print();
    if (timer)
        return timer_print();
    if (peer)
        return wire_print(peer);
    key_print("main_ticks", main_ticks);
    if (node) {
        key_print("boot_ticks", node->boot_ticks);
        key_print("boot_to_main_ticks", main_ticks - node->boot_ticks);
        key_print("zeroed_bytes_before_main", zeroed_bytes);
        key_print("kernel_bytes", node->kernel_bytes);
    } else {
        memory_taken_print(machine_mib << 20);
    }
    system_call_measure((size_t)calls);
    clock_measure((size_t)calls);
    signal_measure((size_t)calls);
    sleep_print("exact", 1);
    sleep_print("default", 0);
    return fflush(stdout) || ferror(stdout);
}
