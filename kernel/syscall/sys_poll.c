/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_poll.c: waiting for one of several files that the call lists: poll, select and their variants; and the
 * wait itself (readiness.h), also of sets that the kernel keeps (epoll, sys_epoll.c). Scans hold no lock.
 *
 * A wait that a signal without a handler has interrupted continues: poll by restart_syscall until its
 * deadline, the others as a new call, which finds the time left in its timeout. A signal mask that comes with
 * the call holds for the wait only (signal.h).
 *
 * Source: man 2 poll, select (facts of the interface).
 */
#include "arch.h"
#include "fs/file.h"
#include "time/clock.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "mm/page.h"
#include "mm/page_pool.h"
#include "smp/crosscall.h"
#include "syscall/linux_calls.h"
#include "syscall/readiness.h"
#include "syscall/syscall.h"
#include "time/timespec.h"

void scan_add(struct scan *scan, const struct scan_until *until)
{
    scan->until.events |= until->events;
    scan->until.due_ns = smaller(scan->until.due_ns, until->due_ns);
    scan->until.by_wall |= until->by_wall;
}

/* Reads the deadline and the activity first: what changes meanwhile is seen in the readiness. */
unsigned file_scan(struct file *file, struct scan *scan, uint64_t *activity)
{
    const struct file_operations *operations = file->operations;
    struct scan_until until = { file_events(file), WAIT_FOREVER, false };

    if (operations == &epoll_operations)
        return epoll_readiness(file, scan, activity);
    if (operations->deadline) {
        uint64_t deadline = operations->deadline(file, true);

        until.due_ns = deadline_wait_ns(deadline);
        until.by_wall = deadline_is_wall(deadline);
    }
    scan_add(scan, &until);
    *activity = operations->activity ? operations->activity(file) : 0;
    return file_ready(file);
}

/* Returns the readiness of a descriptor's file (enum file_ready), or -EBADF. For scans. */
static int readiness_of(uint64_t descriptor, struct scan *scan)
{
    FILE_REFERENCE file = file_of(descriptor);
    uint64_t activity;

    return file ? (int)file_scan(file, scan, &activity) : -EBADF;
}

/* Returns until when to wait: a time of the clock that may step, if a file waits for that to happen. */
static uint64_t scan_deadline(const struct scan *scan, uint64_t deadline_ns)
{
    const uint64_t until_ns = smaller(scan->until.due_ns, deadline_ns);

    if (!scan->until.by_wall)
        return until_ns;
    const uint64_t left_ns = until_ns - smaller(clock_now_ns(), until_ns);
    return deadline_by(DEADLINE_WALL, smaller(time_add(clock_wall_ns(NULL), left_ns), (1ULL << 62) - 1));
}

long readiness_wait(int64_t (*scan_set)(void *set, struct scan *scan), void *set, uint64_t deadline_ns)
{
    for (;;) {
        struct scan scan = { .until.due_ns = WAIT_FOREVER };
        long result = scan_set(set, &scan);

        if (result || clock_now_ns() >= deadline_ns)
            return result;
        result = file_event_wait(scan.until.events, scan_deadline(&scan, deadline_ns));
        if (result)
            return result;
    }
}

/* ---- Time limit and signal mask, as select, pselect6 and ppoll have them ---- */

struct limits {
    uint64_t timeout; /* address of the program's time limit, and of the time left; 0: none */
    uint64_t unit_ns; /* of its second field */
    uint64_t deadline_ns;
    bool masked;
};

/* Reads a struct timespec and a signal mask, whose addresses may be 0. The mask holds from here on, unless
 * this fails. */
static int limits_begin(struct limits *limits, uint64_t timeout, uint64_t mask_address, uint64_t mask_bytes)
{
    uint64_t mask;

    *limits = (struct limits){ .timeout = timeout, .unit_ns = 1, .masked = mask_address != 0 };
    int error = deadline_read(timeout, &limits->deadline_ns);
    if (!error && limits->masked) {
        error = signal_mask_read(mask_address, mask_bytes, &mask);
        if (!error)
            signal_mask_swap(mask);
    }
    return error;
}

/* Writes the time left, whatever the result is. If that fails, an interrupted call does not start again,
 * since it would wait for all of its time again. It still takes the slow return path, for its mask. */
static long limits_end(const struct limits *limits, unsigned number, long result)
{
    uint64_t now_ns = clock_now_ns();
    uint64_t left_ns = limits->deadline_ns > now_ns ? limits->deadline_ns - now_ns : 0;
    uint64_t left[2] = { left_ns / NS_PER_S, left_ns % NS_PER_S / limits->unit_ns };

    if (limits->masked && result != -EINTR)
        signal_mask_restore();
    bool written = !limits->timeout || limits->deadline_ns == UINT64_MAX ||
                   !user_write(limits->timeout, left, sizeof(left));
    if (result != -EINTR)
        return result;
    if (written)
        return thread_interrupted_call(number, RESTART_NEVER);
    arch_request_slow_return();
    return -EINTR;
}

/* ---- poll ---- */

enum { POLL_INVALID = 32, POLL_IN_NORMAL = 64, POLL_OUT_NORMAL = 256 };

struct linux_pollfd {
    int32_t descriptor;
    int16_t events, revents;
};

struct poll_list {
    uint64_t address, count;
};

static int poll_result(const struct linux_pollfd *entry, struct scan *scan)
{
    int ready;

    if (entry->descriptor < 0)
        return 0;
    ready = readiness_of((uint32_t)entry->descriptor, scan);
    if (ready < 0)
        return POLL_INVALID;
    ready |= (ready & READY_IN ? POLL_IN_NORMAL : 0) | (ready & READY_OUT ? POLL_OUT_NORMAL : 0);
    return ready & (entry->events | READY_ERROR | READY_HANG_UP);
}

static int64_t poll_scan(void *set, struct scan *scan)
{
    const struct poll_list *list = set;
    int64_t ready = 0;

    for (uint64_t i = 0; i < list->count; i++) {
        struct linux_pollfd entry;
        uint64_t address = list->address + i * sizeof(entry);

        crosscall_serve();
        if (user_read(&entry, address, sizeof(entry)))
            return -EFAULT;
        entry.revents = (int16_t)poll_result(&entry, scan);
        ready += entry.revents != 0;
        if (user_write(address, &entry, sizeof(entry)))
            return -EFAULT;
    }
    return ready;
}

static long poll_until(uint64_t address, uint64_t count, uint64_t deadline_ns)
{
    struct poll_list list = { address, (uint32_t)count };

    if (list.count > process_soft_limit(arch_process(), LIMIT_FILES))
        return -EINVAL;
    return readiness_wait(poll_scan, &list, deadline_ns);
}

/* Waits; continues when interrupted. Words: the list, its length, the deadline. */
static long poll_resume(const uint64_t *words)
{
    long result = poll_until(words[0], words[1], words[2]);

    return result == -EINTR ? thread_interrupted_wait(poll_resume, words) : result;
}

long sys_poll(uint64_t list, uint64_t count, uint64_t timeout_ms)
{
    const uint64_t words[RESUME_WORDS] = { list, count, deadline_of_ms((int32_t)timeout_ms) };

    return poll_resume(words);
}

long sys_ppoll(uint64_t list, uint64_t count, uint64_t timeout, uint64_t mask_address, uint64_t mask_bytes)
{
    struct limits limits;
    int error = limits_begin(&limits, timeout, mask_address, mask_bytes);

    if (error)
        return error;
    return limits_end(&limits, SYSCALL_NUMBER_ppoll, poll_until(list, count, limits.deadline_ns));
}

/* ---- select ---- */

#define SELECT_WORDS 16 /* of C libraries' fd_set; more for programs with larger ones */

enum { SELECT_IN, SELECT_OUT, SELECT_ERROR, SELECT_KINDS };

/* What makes a file ready for each kind; for exceptional conditions nothing does. */
static const int select_bits[SELECT_KINDS] = { READY_IN | READY_HANG_UP | READY_ERROR,
                                               READY_OUT | READY_ERROR, 0 };

struct select_sets {
    uint64_t last_bits; /* of the last word, those that count */
    uint64_t words;
    uint64_t *requested[SELECT_KINDS], *found[SELECT_KINDS];
};

static int64_t select_scan(void *set, struct scan *scan)
{
    struct select_sets *sets = set;
    int64_t bits = 0;

    for (uint64_t word = 0; word < sets->words; word++) {
        uint64_t requested = 0;

        for (unsigned kind = 0; kind < SELECT_KINDS; kind++) {
            requested |= sets->requested[kind][word];
            sets->found[kind][word] = 0;
        }
        requested &= word + 1 < sets->words ? UINT64_MAX : sets->last_bits;
        for (; requested; requested &= requested - 1) {
            uint64_t bit = requested & -requested;
            int ready = readiness_of(64 * word + (unsigned)__builtin_ctzll(requested), scan);

            if (ready < 0)
                return ready;
            for (unsigned kind = 0; kind < SELECT_KINDS; kind++) {
                if (!(ready & select_bits[kind]) || !(sets->requested[kind][word] & bit))
                    continue;
                sets->found[kind][word] |= bit;
                bits++;
            }
        }
        crosscall_serve();
    }
    return bits;
}

/* Waits for the program's sets, one of each kind, whose addresses may be 0. */
static long select_sets_wait(struct select_sets *sets, const uint64_t addresses[SELECT_KINDS],
                             uint64_t deadline_ns)
{
    const uint64_t bytes = sets->words * sizeof(uint64_t);

    for (unsigned kind = 0; kind < SELECT_KINDS; kind++) {
        if (!addresses[kind])
            memset(sets->requested[kind], 0, bytes);
        else if (user_read(sets->requested[kind], addresses[kind], bytes))
            return -EFAULT;
    }
    long result = readiness_wait(select_scan, sets, deadline_ns);
    for (unsigned kind = 0; kind < SELECT_KINDS && result >= 0; kind++)
        if (addresses[kind] && user_write(addresses[kind], sets->found[kind], bytes))
            return -EFAULT;
    return result;
}

/* Returns how many words of sets of `count` bits count: as on Linux no more than the descriptors need, since
 * programs give larger numbers than their sets have bits. */
static uint64_t select_words(uint64_t count)
{
    const uint64_t *taken = arch_process()->files->taken;
    uint64_t words = smaller(count, FILE_DESCRIPTORS_MAX) / 64 + (count % 64 && count < FILE_DESCRIPTORS_MAX);

    while (words > SELECT_WORDS && !taken[words - 1])
        words--;
    return words;
}

static long select_until(uint64_t count, const uint64_t addresses[SELECT_KINDS], uint64_t deadline_ns)
{
    struct page_pool *pages = arch_process()->vm.pages;
    uint64_t small[2 * SELECT_KINDS * SELECT_WORDS], *bits = small, memory = PAGE_POOL_NONE;

    if ((int32_t)count < 0)
        return -EINVAL;
    count = (uint32_t)count;
    struct select_sets sets = { .words = select_words(count) };
    uint64_t bytes = page_up(2 * SELECT_KINDS * sets.words * sizeof(uint64_t));
    sets.last_bits = 64 * sets.words > count ? (1ULL << count % 64) - 1 : UINT64_MAX;
    if (sets.words > SELECT_WORDS) {
        memory = page_pool_allocate(pages, bytes, ARCH_PAGE);
        if (memory == PAGE_POOL_NONE)
            return -ENOMEM;
        bits = arch_physical(memory);
    }
    for (unsigned kind = 0; kind < SELECT_KINDS; kind++) {
        sets.requested[kind] = bits + kind * sets.words;
        sets.found[kind] = bits + (SELECT_KINDS + kind) * sets.words;
    }
    long result = select_sets_wait(&sets, addresses, deadline_ns);
    if (memory != PAGE_POOL_NONE)
        page_pool_free(pages, memory, bytes);
    return result;
}

long sys_select(uint64_t count, uint64_t in, uint64_t out, uint64_t error, uint64_t timeout)
{
    const uint64_t addresses[SELECT_KINDS] = { in, out, error };
    struct limits limits = { .timeout = timeout, .unit_ns = 1000, .deadline_ns = UINT64_MAX };
    struct linux_timeval time;

    if (timeout) {
        if (user_read(&time, timeout, sizeof(time)))
            return -EFAULT;
        if (time.seconds < 0 || time.microseconds < 0)
            return -EINVAL;
        limits.deadline_ns = deadline_of(time.seconds, time.microseconds, 1000);
    }
    return limits_end(&limits, SYSCALL_NUMBER_select, select_until(count, addresses, limits.deadline_ns));
}

/* Waits as select. `packed` is the address of the signal mask's address and size; 0: no mask. */
long sys_pselect6(uint64_t count, uint64_t in, uint64_t out, uint64_t error, uint64_t timeout,
                  uint64_t packed)
{
    const uint64_t addresses[SELECT_KINDS] = { in, out, error };
    struct limits limits;
    struct {
        uint64_t address, bytes;
    } mask = { 0, 0 };

    if (packed && user_read(&mask, packed, sizeof(mask)))
        return -EFAULT;
    int fault = limits_begin(&limits, timeout, mask.address, mask.bytes);
    if (fault)
        return fault;
    return limits_end(&limits, SYSCALL_NUMBER_pselect6, select_until(count, addresses, limits.deadline_ns));
}
