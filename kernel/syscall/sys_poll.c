/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_poll.c: waiting for one of several files: poll, select and their kin. All are looked at, and again
 * after each event_wait. Sets that are kept (epoll) are in sys_epoll.c.
 *
 * A wait that a signal interrupts without a handler goes on: poll by restart_syscall until its deadline,
 * select and ppoll as a new call, which finds in its timeout what was left. Those that come with a signal
 * mask have it only for the wait (signal.h).
 */
#include "arch.h"
#include "fs/file.h"
#include "time/clock.h"
#include "lib/errno.h"
#include "lib/linux_abi.h"
#include "process/process.h"
#include "syscall/syscall.h"
#include "time/timespec.h"
#include "process/event.h"

/* ---- poll ---- */

enum { POLL_INVALID = 32, POLL_IN_NORMAL = 64, POLL_OUT_NORMAL = 256 };

struct linux_pollfd {
    int32_t descriptor;
    int16_t events, revents;
};

/* What one entry has to tell; sets *polled where its file may get ready without being announced. */
static int poll_entry(const struct linux_pollfd *entry, bool *polled)
{
    struct file *file;
    unsigned ready;

    if (entry->descriptor < 0)
        return 0;
    file = file_get(arch_process(), (uint32_t)entry->descriptor);
    if (!file)
        return POLL_INVALID;
    ready = file_ready(file);
    *polled |= file_is_polled(file);
    file_put(file);
    ready |= (ready & READY_IN ? POLL_IN_NORMAL : 0) | (ready & READY_OUT ? POLL_OUT_NORMAL : 0);
    return (int)ready & (entry->events | READY_ERROR | READY_HANG_UP);
}

/* Looks at all descriptors once; how many have something to tell, or -EFAULT. */
static int poll_once(uint64_t list, uint64_t count, bool *polled)
{
    int ready = 0;

    for (uint64_t i = 0; i < count; i++) {
        struct linux_pollfd entry;

        if (user_read(&entry, list + i * sizeof(entry), sizeof(entry)))
            return -EFAULT;
        entry.revents = (int16_t)poll_entry(&entry, polled);
        ready += entry.revents != 0;
        if (user_write(list + i * sizeof(entry), &entry, sizeof(entry)))
            return -EFAULT;
    }
    return ready;
}

static long poll_wait(uint64_t list, uint64_t count, uint64_t deadline_ns)
{
    bool polled = false;

    count = (uint32_t)count;
    if (count > FILE_DESCRIPTORS_MAX)
        return -EINVAL;
    for (;;) {
        long result = poll_once(list, count, &polled);

        if (result != 0 || clock_now_ns() >= deadline_ns)
            return result;
        result = event_wait_any(deadline_ns, polled);
        if (result)
            return result;
    }
}

/* Words: the list, its length, the deadline. */
static long poll_rest(const uint64_t *words)
{
    long result = poll_wait(words[0], words[1], words[2]);

    return result == -EINTR ? thread_interrupted_wait(poll_rest, words) : result;
}

long sys_poll(uint64_t list, uint64_t count, uint64_t timeout_ms)
{
    const uint64_t words[RESUME_WORDS] = { list, count, deadline_of_ms((int32_t)timeout_ms) };

    return poll_rest(words);
}

/* ---- select ---- */

#define SELECT_MAX   1024
#define SELECT_WORDS (SELECT_MAX / 64)

struct select_sets {
    uint64_t in[SELECT_WORDS], out[SELECT_WORDS], error[SELECT_WORDS];
};

/* The program's sets, whose addresses may be NULL. */
struct select_call {
    uint64_t in, out, error;
    uint64_t count, bytes;
    struct select_sets asked;
};

static int sets_read(struct select_call *call)
{
    struct select_sets *asked = &call->asked;

    *asked = (struct select_sets){ { 0 }, { 0 }, { 0 } };
    if ((call->in && user_read(asked->in, call->in, call->bytes)) ||
        (call->out && user_read(asked->out, call->out, call->bytes)) ||
        (call->error && user_read(asked->error, call->error, call->bytes)))
        return -EFAULT;
    return 0;
}

static int sets_write(const struct select_call *call, const struct select_sets *found)
{
    if ((call->in && user_write(call->in, found->in, call->bytes)) ||
        (call->out && user_write(call->out, found->out, call->bytes)) ||
        (call->error && user_write(call->error, found->error, call->bytes)))
        return -EFAULT;
    return 0;
}

/* Looks at all once; how many bits are set in `found`, or -EBADF. */
static int select_once(const struct select_call *call, struct select_sets *found, bool *polled)
{
    int bits = 0;

    *found = (struct select_sets){ { 0 }, { 0 }, { 0 } };
    for (uint64_t d = 0; d < call->count; d++) {
        uint64_t word = d / 64, bit = 1ULL << d % 64;
        struct file *file;
        unsigned ready;

        if (!((call->asked.in[word] | call->asked.out[word] | call->asked.error[word]) & bit))
            continue;
        file = file_get(arch_process(), d);
        if (!file)
            return -EBADF;
        ready = file_ready(file);
        *polled |= file_is_polled(file);
        file_put(file);
        if (ready & (READY_IN | READY_HANG_UP | READY_ERROR))
            found->in[word] |= call->asked.in[word] & bit;
        if (ready & (READY_OUT | READY_ERROR))
            found->out[word] |= call->asked.out[word] & bit;
        bits += (found->in[word] & bit) != 0;
        bits += (found->out[word] & bit) != 0;
    }
    return bits;
}

static long select_until(uint64_t count, uint64_t in, uint64_t out, uint64_t error, uint64_t deadline_ns)
{
    struct select_call call = { .in = in, .out = out, .error = error };
    struct select_sets found;
    bool polled = false;

    if ((int32_t)count < 0)
        return -EINVAL;
    call.count = (uint32_t)count < SELECT_MAX ? (uint32_t)count : SELECT_MAX;
    call.bytes = (call.count + 63) / 64 * 8;
    int result = sets_read(&call);
    if (result)
        return result;
    for (;;) {
        result = select_once(&call, &found, &polled);
        if (result < 0)
            return result;
        if (result > 0 || clock_now_ns() >= deadline_ns)
            break;
        result = event_wait_any(deadline_ns, polled);
        if (result)
            return result;
    }
    return sets_write(&call, &found) ? -EFAULT : result;
}

/* As Linux tells how much time was left: false where it cannot write there. */
static bool rest_tell(uint64_t address, uint64_t deadline_ns, uint64_t unit_ns)
{
    uint64_t now = clock_now_ns(), left = deadline_ns > now ? deadline_ns - now : 0;
    uint64_t rest[2] = { left / NS_PER_S, left % NS_PER_S / unit_ns };

    return !address || deadline_ns == UINT64_MAX || !user_write(address, rest, sizeof(rest));
}

/* Tells the time left, whatever the result. An interrupted call that can't is not started again: it would
 * wait for all of its time once more. It still goes the long way, where its signal mask is put back. */
static long timed_end(unsigned number, long result, uint64_t timeout, uint64_t deadline_ns, uint64_t unit_ns)
{
    bool told = rest_tell(timeout, deadline_ns, unit_ns);

    if (result != -EINTR)
        return result;
    if (told)
        return thread_interrupted_call(number, RESTART_NEVER);
    arch_request_slow_return();
    return -EINTR;
}

long sys_select(uint64_t count, uint64_t in, uint64_t out, uint64_t error, uint64_t timeout)
{
    struct linux_timeval time;
    uint64_t deadline_ns = UINT64_MAX;

    if (timeout) {
        if (user_read(&time, timeout, sizeof(time)))
            return -EFAULT;
        if (time.seconds < 0 || time.microseconds < 0)
            return -EINVAL;
        deadline_ns = deadline_of(time.seconds, time.microseconds, 1000);
    }
    long result = select_until(count, in, out, error, deadline_ns);
    return timed_end(SYSCALL_NUMBER_select, result, timeout, deadline_ns, 1000);
}

/* A time limit and a signal mask (0: none) of the program's. The mask holds from here on, if all is well,
 * until waiting_mask_end; after -EINTR signal_deliver puts the old one back (signal.h). */
static int waiting_mask_begin(uint64_t timeout, uint64_t mask_address, uint64_t mask_bytes,
                              uint64_t *deadline_ns)
{
    int error = deadline_read(timeout, deadline_ns);
    uint64_t mask;

    if (!error && mask_address)
        error = signal_mask_read(mask_address, mask_bytes, &mask);
    if (!error && mask_address)
        signal_mask_swap(mask);
    return error;
}

static void waiting_mask_end(uint64_t mask_address, long result)
{
    if (mask_address && result != -EINTR)
        signal_mask_restore();
}

/* `packed` leads to the mask's address and its size; 0: no mask. */
long sys_pselect6(uint64_t count, uint64_t in, uint64_t out, uint64_t error, uint64_t timeout,
                  uint64_t packed)
{
    struct {
        uint64_t address, bytes;
    } given = { 0, 0 };
    uint64_t deadline_ns;

    if (packed && user_read(&given, packed, sizeof(given)))
        return -EFAULT;
    int fault = waiting_mask_begin(timeout, given.address, given.bytes, &deadline_ns);
    if (fault)
        return fault;
    long result = select_until(count, in, out, error, deadline_ns);
    waiting_mask_end(given.address, result);
    return timed_end(SYSCALL_NUMBER_pselect6, result, timeout, deadline_ns, 1);
}

/* ---- ppoll: looks like poll, and ends like select ---- */

long sys_ppoll(uint64_t list, uint64_t count, uint64_t timeout, uint64_t mask_address, uint64_t mask_bytes)
{
    uint64_t deadline_ns;
    int error = waiting_mask_begin(timeout, mask_address, mask_bytes, &deadline_ns);

    if (error)
        return error;
    long result = poll_wait(list, count, deadline_ns);
    waiting_mask_end(mask_address, result);
    return timed_end(SYSCALL_NUMBER_ppoll, result, timeout, deadline_ns, 1);
}
