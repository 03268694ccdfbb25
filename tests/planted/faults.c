/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * faults.c: what no program can make the kernel do. build/ARCH/planted.elf is the kernel with this around
 * exit_group: an ordinary program that ends with one of these statuses has the kernel do it in its name.
 *
 *   101  goes beyond the end of its kernel stack
 *   102  cuts a guard page out of its process's memory, gives it back, cuts it out again and reads it
 *   103  zeroes too many bytes with a lock held     (LOCKCHECK=1)
 *   104  does too many steps with a lock held       (LOCKCHECK=1)
 */
#include "arch.h"
#include "debug/console.h"
#include "debug/stop.h"
#include "mm/page_pool.h"
#include "process/process.h"
#include "smp/lock_work.h"
#include "smp/spinlock.h"

long __real_sys_exit_group(uint64_t status);
long __wrap_sys_exit_group(uint64_t status);

static __attribute__((noinline)) unsigned stack_overflow(unsigned depth)
{
    volatile uint8_t room[1024];

    room[0] = (uint8_t)depth;
    if (depth < 2 * ARCH_KERNEL_STACK_BYTES / sizeof(room))
        return stack_overflow(depth + 1) + room[0];
    return room[0];
}

/* Reads a guard page. Before, drops one and finds its neighbours and its own bytes as they were. */
static void guard_read(void)
{
    struct page_pool *pool = &arch_process()->pages;
    const struct memory_range range = { page_pool_allocate(pool, 3 * ARCH_PAGE, ARCH_PAGE), 3 * ARCH_PAGE };

    ASSERT(range.base != PAGE_POOL_NONE);
    volatile uint64_t *words = arch_physical(range.base);
    const unsigned page_words = ARCH_PAGE / sizeof(words[0]);

    words[page_words] = 1;
    arch_guard_page((uint64_t)&words[page_words], pool);
    words[page_words - 1] = words[2 * page_words] = 2;
    arch_guard_pages_drop(&range);
    ASSERT(words[page_words] == 1 && words[page_words - 1] == 2 && words[2 * page_words] == 2);
    arch_guard_page((uint64_t)&words[page_words], pool);
    kernel_print("planted: a guard page is read now\n");
    (void)words[page_words];
}

#ifdef LOCKCHECK

static struct spinlock planted_lock;

static void bytes_zero(void)
{
    struct page_pool *pool = &arch_process()->pages;
    void *page = arch_physical(page_pool_allocate(pool, ARCH_PAGE, ARCH_PAGE));

    SPIN_GUARD(&planted_lock);
    for (uint64_t bytes = 0; bytes <= LOCK_BYTES_MAX; bytes += ARCH_PAGE)
        arch_zero(page, ARCH_PAGE);
}

static void steps_do(void)
{
    SPIN_GUARD(&planted_lock);
    for (uint64_t step = 0; step <= LOCK_STEPS_MAX; step++)
        lock_work_step();
}

#endif

long __wrap_sys_exit_group(uint64_t status)
{
    if (status == 101)
        stack_overflow(0);
    if (status == 102)
        guard_read();
#ifdef LOCKCHECK
    if (status == 103)
        bytes_zero();
    if (status == 104)
        steps_do();
#endif
    return __real_sys_exit_group(status);
}
