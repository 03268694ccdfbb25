/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_futex.c: the system call futex: decodes its operations [man 2 futex]; futex.c carries them out.
 *
 * Runs in system calls, interrupts off, no locks held.
 */
#include "lib/errno.h"
#include "process/futex.h"
#include "syscall/linux_calls.h"
#include "syscall/syscall.h"
#include "time/clock.h"
#include "time/timespec.h"

static long wait_resume(const uint64_t *words);

static long wait(uint64_t address, uint32_t expected, uint64_t deadline_ns, uint32_t bits)
{
    long result = futex_wait(address, expected, deadline_ns, bits);

    if (result != -EINTR)
        return result;
    const uint64_t words[RESUME_WORDS] = { address, expected, deadline_ns, bits };
    return deadline_ns == TIMER_NEVER ? thread_interrupted_call(SYSCALL_NUMBER_futex, RESTART_ALWAYS)
                                      : thread_interrupted_wait(wait_resume, words);
}

static long wait_resume(const uint64_t *words)
{
    return wait(words[0], (uint32_t)words[1], words[2], (uint32_t)words[3]);
}

/* Sets the deadline (clock.h) of a call; TIMER_NEVER if it has no time. */
static int deadline_decode(uint64_t operation, uint64_t timeout, uint64_t *deadline_ns)
{
    uint64_t ns;

    *deadline_ns = TIMER_NEVER;
    if (!timeout)
        return 0;

    int error = timespec_read(timeout, &ns);
    if (error)
        return error;
    if ((operation & FUTEX_COMMANDS) == FUTEX_WAIT)
        *deadline_ns = time_add(clock_now_ns(), ns); /* the one operation whose time is relative */
    else if ((operation & FUTEX_CLOCK_REALTIME) || (operation & FUTEX_COMMANDS) == FUTEX_LOCK_PI)
        *deadline_ns = deadline_by(DEADLINE_WALL, ns);
    else
        *deadline_ns = ns;
    return 0;
}

static long wait_decode(uint64_t address, uint64_t operation, uint64_t value, uint64_t timeout, uint32_t bits)
{
    uint64_t deadline_ns;
    int error = deadline_decode(operation, timeout, &deadline_ns);

    if (error)
        return error;
    return bits ? wait(address, (uint32_t)value, deadline_ns, bits) : -EINVAL;
}

/* Takes a lock. An interrupted call starts again after any handler: its time is absolute, so that it can. */
static long lock_decode(uint64_t address, uint64_t operation, uint64_t value, uint64_t timeout,
                        uint64_t address2)
{
    bool is_private = operation & FUTEX_PRIVATE_FLAG;
    uint64_t deadline_ns;
    long result = deadline_decode(operation, timeout, &deadline_ns);

    if (!result)
        result = (operation & FUTEX_COMMANDS) == FUTEX_WAIT_REQUEUE_PI
                     ? futex_wait_requeue_pi(address, (uint32_t)value, deadline_ns, address2, is_private)
                     : futex_lock_pi(address, deadline_ns, false, is_private);
    return result == -EINTR ? thread_interrupted_call(SYSCALL_NUMBER_futex, RESTART_ANYHOW) : result;
}

static long requeue_decode(uint64_t address, uint64_t value, uint64_t value2, uint64_t address2,
                           const uint32_t *expected)
{
    if ((int32_t)value < 0 || (int32_t)value2 < 0)
        return -EINVAL;
    return futex_requeue(address, address2, (uint32_t)value, (uint32_t)value2, expected, false);
}

long sys_futex(uint64_t address, uint64_t operation, uint64_t value, uint64_t timeout, uint64_t address2,
               uint64_t value3)
{
    const uint32_t command = (uint32_t)operation & FUTEX_COMMANDS;
    const uint32_t third = (uint32_t)value3; /* bits, an expected value or an instruction */
    const uint64_t count = (uint32_t)value ? (uint32_t)value : 1; /* Linux wakes one for 0, too */

    if ((operation & FUTEX_CLOCK_REALTIME) && command != FUTEX_WAIT_BITSET &&
        command != FUTEX_WAIT_REQUEUE_PI && command != FUTEX_LOCK_PI2)
        return -ENOSYS;
    switch (command) {
    case FUTEX_WAIT:
        return wait_decode(address, operation, value, timeout, FUTEX_ANY);
    case FUTEX_WAIT_BITSET:
        return wait_decode(address, operation, value, timeout, third);
    case FUTEX_WAKE:
        return futex_wake(address, count, FUTEX_ANY);
    case FUTEX_WAKE_BITSET:
        return third ? futex_wake(address, count, third) : -EINVAL;
    case FUTEX_REQUEUE:
        return requeue_decode(address, value, timeout, address2, NULL);
    case FUTEX_CMP_REQUEUE:
        return requeue_decode(address, value, timeout, address2, &third);
    case FUTEX_WAKE_OP:
        return futex_wake_operate(address, address2, count, (uint32_t)timeout, third);
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
    case FUTEX_WAIT_REQUEUE_PI:
        return lock_decode(address, operation, value, timeout, address2);
    case FUTEX_TRYLOCK_PI:
        return futex_lock_pi(address, TIMER_NEVER, true, operation & FUTEX_PRIVATE_FLAG);
    case FUTEX_UNLOCK_PI:
        return futex_unlock_pi(address);
    case FUTEX_CMP_REQUEUE_PI:
        return value != 1 || (int32_t)timeout < 0 || address == address2
                   ? -EINVAL
                   : futex_requeue(address, address2, 0, (uint32_t)timeout + 1ULL, &third, true);
    default:
        return -ENOSYS;
    }
}
