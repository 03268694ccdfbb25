/* SPDX-License-Identifier: BSD-2-Clause */
/* max_rss.c: the most memory that the process has had at one time: getrusage's ru_maxrss, VmHWM. */
#include "conform.h"

/* Linux counts in batches of 64 pages for each thread, and memory of two kinds: so much more or less, KiB. */
#define STEP ((long)(2 * 64 * PAGE / 1024))

static long peak_kib(int who)
{
    struct rusage usage = { 0 };

    return sys(SYS_getrusage, who, &usage) ? -1 : usage.ru_maxrss;
}

static long status_kib(const char *name)
{
    char content[4096] = "";
    long file = sys(SYS_open, "/proc/self/status", O_RDONLY), kib = -1;

    sys(SYS_read, file, content, sizeof(content) - 1);
    sys(SYS_close, file);
    if (strstr(content, name))
        sscanf(strstr(content, name) + strlen(name), " %ld kB", &kib);
    return kib;
}

/* So much memory, written and given back. */
static void had(long kib)
{
    size_t bytes = (size_t)kib * 1024;
    char *memory =
        (char *)sys(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    for (size_t at = 0; at < bytes; at += 4096)
        memory[at] = 1;
    sys(SYS_munmap, memory, bytes);
}

/* Tests before this one may have had more. */
CONFORM(max_rss)
{
    long begin = peak_kib(RUSAGE_SELF), more = begin - status_kib("VmRSS:") + 4 * STEP, peak, then;

    holds("some at the beginning", begin > 100);
    had(more);
    peak = peak_kib(RUSAGE_SELF);
    holds("more than ever", peak >= begin + 3 * STEP);
    had(more / 2);
    then = peak_kib(RUSAGE_SELF);
    holds("less changes nothing", then >= peak && then <= peak + STEP);
    had(more + 8 * STEP);
    then = peak_kib(RUSAGE_SELF);
    holds("eight steps more are as much more", then >= peak + 7 * STEP && then <= peak + 9 * STEP);
    then -= peak_kib(RUSAGE_THREAD);
    holds("for the thread that of the process", then >= -STEP && then <= 0);
    result("children have had none", peak_kib(RUSAGE_CHILDREN));
    then = status_kib("VmHWM:") - peak_kib(RUSAGE_SELF);
    holds("VmHWM is the same", then >= -STEP && then <= STEP);
    holds("VmRSS is less by then", status_kib("VmRSS:") < status_kib("VmHWM:") - 7 * STEP);
}
