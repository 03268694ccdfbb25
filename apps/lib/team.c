/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * team.c: windows that open and close together; team.h documents them. Starts threads only if several CPUs
 * are requested.
 */
#define _GNU_SOURCE
#include "team.h"

#include "affinity.h"
#include "cycles.h"
#include "tacet.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

/* A window begins this much after the last thread is ready. */
#define SOON_NS 50000

/* The barrier of one run. */
static struct {
    atomic_size_t ready, done;
    atomic_uint_fast64_t origin_ticks; /* 0: wait; UINT64_MAX: give up */
} gate;

static uint64_t origin_soon(const struct team *team)
{
    return cycles_now() + (uint64_t)(team->ticks_per_ns * SOON_NS) + 1;
}

/* Returns the common start of the ranks. */
static uint64_t origin_by_clock(const struct team *team)
{
    const struct tacet_node *node = tacet_node();
    const uint64_t base_ticks = node ? node->boot_ticks : 0, now_ticks = cycles_now();

    if (team->start_ticks && base_ticks + team->start_ticks > now_ticks)
        return base_ticks + team->start_ticks;
    return together_start_ticks(now_ticks, base_ticks,
                                (uint64_t)((double)TOGETHER_INTERVAL_NS * team->ticks_per_ns),
                                (uint64_t)((double)TOGETHER_LEAD_NS * team->ticks_per_ns));
}

static uint64_t origin_wait(void)
{
    uint64_t origin_ticks;

    atomic_fetch_add(&gate.ready, 1);
    while (!(origin_ticks = atomic_load(&gate.origin_ticks)))
        cycles_relax();
    return origin_ticks;
}

/* Waits for the other members and sets the start; called by the first member. */
static uint64_t origin_decide(const struct team *team)
{
    uint64_t origin_ticks;

    while (atomic_load(&gate.ready) < team->count - 1)
        cycles_relax();
    origin_ticks = origin_soon(team);
    for (size_t i = 0; i < team->count; i++) {
        if (team->members[i].pin_error)
            origin_ticks = UINT64_MAX;
    }
    atomic_store(&gate.origin_ticks, origin_ticks);
    return origin_ticks;
}

static uint64_t origin_agree(const struct team_member *member)
{
    if (member->team->place.size > 1)
        return origin_by_clock(member->team);
    if (member->team->count == 1)
        return origin_soon(member->team);
    return member == member->team->members ? origin_decide(member->team) : origin_wait();
}

/* Waits until the windows of all members are closed. */
static void all_done_wait(const struct team_member *member)
{
    const struct team *team = member->team;
    uint64_t now_ticks;

    if (team->count > 1) {
        atomic_fetch_add(&gate.done, 1);
        while (atomic_load(&gate.done) < team->count)
            cycles_relax();
    } else if (team->place.size > 1) {
        operations_until(together_end_ticks(member->origin_ticks, team->planned_ticks,
                                            (uint64_t)((double)TOGETHER_LEAD_NS * team->ticks_per_ns)),
                         &now_ticks);
    }
}

static void window_run(struct team_member *member)
{
    uint64_t origin_ticks;

    member->team->rehearse(member);
    counters_read(member->after, member->cpu); /* warms the caches for the reading that counts */
    smi_read(&member->smi_before, member->cpu);
    counters_read(member->before, member->cpu);
    origin_ticks = origin_agree(member);
    member->origin_ticks = origin_ticks;
    if (origin_ticks != UINT64_MAX)
        member->team->measure(member, origin_ticks);
    counters_read(member->after, member->cpu);
    all_done_wait(member);
    smi_read(&member->smi_after, member->cpu);
    member->cpu_after = affinity_current();
}

static void *thread_main(void *argument)
{
    struct team_member *member = argument;

    member->pin_error = affinity_pin(member->cpu);
    window_run(member);
    return NULL;
}

bool team_run(struct team *team)
{
    struct team_member *first = &team->members[0];

    atomic_store(&gate.ready, 0);
    atomic_store(&gate.done, 0);
    atomic_store(&gate.origin_ticks, 0);
    for (size_t i = 1; i < team->count; i++) {
        int error = pthread_create(&team->members[i].handle, NULL, thread_main, &team->members[i]);

        if (error) {
            fprintf(stderr, "%s: no thread for CPU %u: %s\n", team->program, team->members[i].cpu,
                    strerror(error));
            return false; /* the process ends, and with it the threads that wait */
        }
    }
    first->pin_error = affinity_pin(first->cpu);
    if (!team->pin_required)
        first->pin_error = 0; /* the user did not request this CPU; the summary says so if it moved */
    if (team->count > 1 || !first->pin_error)
        window_run(first);
    for (size_t i = 1; i < team->count; i++)
        pthread_join(team->members[i].handle, NULL);
    for (size_t i = 0; i < team->count; i++) {
        if (team->members[i].pin_error) {
            fprintf(stderr, "%s: cannot bind to CPU %u: %s\n", team->program, team->members[i].cpu,
                    strerror(-team->members[i].pin_error));
            return false;
        }
    }
    return true;
}
