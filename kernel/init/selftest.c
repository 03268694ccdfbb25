/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * selftest.c: see selftest.h. The timers' promises [Tsafrir05 §4.2] on this machine's own clock event device:
 * never early, at most the bound late, one interrupt for all that fall on one boundary; and what arming,
 * expiring and logging cost, in ticks of the clock source (instructions, under an instruction-counting
 * emulator).
 */
#include "init/selftest.h"
#include "arch.h"
#include "time/clock.h"
#include "time/timer.h"
#include "debug/console.h"
#include "debug/klog.h"
#include "lib/kstring.h"
#include "mm/page.h"
#include "mm/page_pool.h"
#include "debug/stop.h"

#define CROWD            10000 /* timers, 1 ns apart: the paper's attack */
#define CROWD_BOUND_NS   1000000
#define RANDOM_TIMERS    100000
#define RANDOM_BATCH     200
#define RANDOM_LEAD_NS   1000000 /* more than arming a batch takes, with interrupts off */
#define RANDOM_SPAN_NS   4000000
#define RANDOM_BOUND_MAX 20 /* bounds from 2^0 to 2^20 ns */
#define EXACT_TIMERS     1000
#define COST_RUNS        1000

struct trial {
    uint64_t expired, early, late_beyond_bound_max_ns, late_max_ns;
};

struct trial_timer {
    struct smart_timer timer;
    struct trial *trial;
    uint64_t bound_ns;
};

static bool broken;

static void promise(bool kept, const char *what)
{
    if (!kept) {
        broken = true;
        kernel_print("selftest: BROKEN %s\n", what);
    }
}

static void trial_expire(struct smart_timer *timer, uint64_t now_ns)
{
    struct trial_timer *mine = timer->context;
    struct trial *trial = mine->trial;
    uint64_t late_ns = now_ns - timer->deadline_ns;

    trial->expired++;
    if (now_ns < timer->deadline_ns) {
        trial->early++;
        return;
    }
    if (late_ns > trial->late_max_ns)
        trial->late_max_ns = late_ns;
    if (late_ns > mine->bound_ns && late_ns - mine->bound_ns > trial->late_beyond_bound_max_ns)
        trial->late_beyond_bound_max_ns = late_ns - mine->bound_ns;
}

static void trial_arm(struct trial *trial, struct trial_timer *timer, uint64_t deadline_ns, uint64_t bound_ns)
{
    *timer = (struct trial_timer){ .timer = { .expire = trial_expire, .context = timer },
                                   .trial = trial,
                                   .bound_ns = bound_ns };
    timer_start(&timer->timer, deadline_ns, bound_ns);
}

static void trial_finish(const struct trial *trial, uint64_t count)
{
    while (trial->expired < count)
        arch_cpu_idle();
}

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void crowd_trial(struct trial_timer *timers)
{
    struct trial trial = { 0 };
    struct timer_counts before = timer_counts();
    /* All between two boundaries, multiples of the bound, which is rounded down to a power of two. */
    uint64_t start_ns = align_up(clock_now_ns() + 20 * CROWD_BOUND_NS, 1 << 20) + 1;

    for (uint64_t i = 0; i < CROWD; i++)
        trial_arm(&trial, &timers[i], start_ns + i, CROWD_BOUND_NS);
    trial_finish(&trial, CROWD);

    struct timer_counts after = timer_counts();
    uint64_t interrupts = after.interrupts - before.interrupts - (after.rearms - before.rearms);

    kernel_print("selftest: crowd_timers %u\n", CROWD);
    kernel_print("selftest: crowd_interrupts %lu\n", interrupts);
    kernel_print("selftest: crowd_rearms %lu\n", after.rearms - before.rearms);
    promise(interrupts <= 2, "10 000 timers 1 ns apart cost at most two interrupts");
    promise(trial.early == 0, "no timer of the crowd is early");
}

static void random_trial(struct trial_timer *timers)
{
    struct trial trial = { 0 };
    uint64_t state = 88172645463325252;

    for (uint64_t done = 0; done < RANDOM_TIMERS; done += RANDOM_BATCH) {
        uint64_t now_ns = clock_now_ns();

        for (uint64_t i = 0; i < RANDOM_BATCH; i++) {
            uint64_t deadline_ns = now_ns + RANDOM_LEAD_NS + random_next(&state) % RANDOM_SPAN_NS;

            trial_arm(&trial, &timers[i], deadline_ns, 1ULL << random_next(&state) % (RANDOM_BOUND_MAX + 1));
        }
        trial_finish(&trial, done + RANDOM_BATCH);
    }
    kernel_print("selftest: random_timers %lu\n", trial.expired);
    kernel_print("selftest: random_early %lu\n", trial.early);
    kernel_print("selftest: random_late_beyond_bound_max_ns %lu\n", trial.late_beyond_bound_max_ns);
    promise(trial.early == 0, "no random timer is early");
}

static void exact_trial(struct trial_timer *timers)
{
    struct trial trial = { 0 };

    for (uint64_t i = 0; i < EXACT_TIMERS; i++) {
        trial_arm(&trial, &timers[0], clock_now_ns() + 100000 + i * 7, 1);
        trial_finish(&trial, i + 1);
    }
    kernel_print("selftest: exact_late_max_ns %lu\n", trial.late_max_ns);
    promise(trial.early == 0, "no exact timer is early");
}

/* The cost of each operation: the minimum of many runs, less that of two readings of the clock. */
static void cost_trial(struct trial_timer *timers)
{
    struct trial trial = { 0 };
    uint64_t clock = UINT64_MAX, arm = UINT64_MAX, cancel = UINT64_MAX, expire = UINT64_MAX, log = UINT64_MAX;
    uint32_t mask = klog_mask;

    klog_mask = 0; /* the log is measured separately */
    for (unsigned i = 0; i < COST_RUNS; i++) {
        uint64_t t0 = arch_ticks(), t1 = arch_ticks();

        clock = smaller(clock, t1 - t0);
        t0 = arch_ticks();
        timer_start(&timers[0].timer, t0 + 1000 * NS_PER_S, CROWD_BOUND_NS);
        t1 = arch_ticks();
        timer_cancel(&timers[0].timer);
        uint64_t t2 = arch_ticks();
        arm = smaller(arm, t1 - t0);
        cancel = smaller(cancel, t2 - t1);

        /* Due already; the interrupt that it arms stays pending meanwhile. */
        trial_arm(&trial, &timers[0], 0, 1);
        t0 = arch_ticks();
        timer_interrupt();
        t1 = arch_ticks();
        expire = smaller(expire, t1 - t0);

        t0 = arch_ticks();
        klog_write(KLOG_mark, i, 0);
        t1 = arch_ticks();
        log = smaller(log, t1 - t0);
    }
    klog_mask = mask;
    kernel_print("selftest: arm_ticks %lu\n", arm - clock);
    kernel_print("selftest: cancel_ticks %lu\n", cancel - clock);
    kernel_print("selftest: expire_ticks %lu\n", expire - clock);
    kernel_print("selftest: klog_event_ticks %lu\n", log - clock);
}

_Noreturn void selftest_run(const char *name, const struct memory_slice *slice)
{
    const uint64_t bytes = page_up(CROWD * sizeof(struct trial_timer));
    struct page_pool pool;

    if (strcmp(name, "network") == 0 || strcmp(name, "network-polled") == 0)
        selftest_network(strcmp(name, "network") == 0);
    if (strcmp(name, "timers") != 0)
        node_stop(STOP_BAD_INPUT, "selftest=%s: there are timers, network and network-polled", name);
    page_pool_initialise(&pool, slice->extents, slice->extent_count);
    uint64_t memory = page_pool_allocate(&pool, bytes, ARCH_PAGE);
    if (memory == PAGE_POOL_NONE)
        node_stop(STOP_NO_MEMORY, "no memory for %u timers", CROWD);

    struct trial_timer *timers = arch_physical(memory);
    arch_zero(timers, bytes);
    crowd_trial(timers);
    random_trial(timers);
    exact_trial(timers);
    cost_trial(timers);
    node_exit(broken);
}
