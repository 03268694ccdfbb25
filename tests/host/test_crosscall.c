/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_crosscall.c: crosscalls among CPUs that are threads of the test: all of them call all others, over and
 * over, and serve others' calls while they wait. Each call is made once on each CPU, with the context as the
 * caller has made it, and its effects are seen when it returns. No IPI comes: a waiting CPU polls.
 *
 * The host orders memory as x86_64 does, where it runs: tests/model/ordering.pml has what weaker memory does.
 */
#define arena_cpu (*arena_cpu_of_thread()) /* each thread plays another one */
#include "arch/platform.h"
#include "check.h"
#include "per_cpu_areas.h"
#include <pthread.h>
#include <sched.h>
#define arch_pause() sched_yield() /* there may be fewer real CPUs */
#include "smp/crosscall.c"

#define CPUS  4
#define CALLS 2000

uintptr_t arena_origin;
uint64_t arena_distances[ARCH_CPUS_MAX];
static __thread uint32_t own_cpu;
static unsigned made; /* calls, by all */

uint32_t *arena_cpu_of_thread(void)
{
    return &own_cpu;
}

unsigned arch_cpu_count(void)
{
    return CPUS;
}

void arch_ipi_send(unsigned cpu)
{
    (void)cpu; /* it polls */
}

/* Plain: the crosscall orders them. */
struct context {
    uint64_t number, negated;
    unsigned made[CPUS];
};

static unsigned faults;

static void look(void *of)
{
    struct context *context = of;

    if ((context->number + own_cpu) % 3 == 0)
        sched_yield(); /* others go on meanwhile */
    if (context->negated != ~context->number)
        __atomic_fetch_add(&faults, 1, __ATOMIC_RELAXED);
    context->made[own_cpu]++;
}

static void call_others(const struct cpu_mask *all, uint64_t number)
{
    struct context context = { .number = number, .negated = ~number };

    crosscall(all, look, &context);
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        if (context.made[cpu] != (cpu != own_cpu))
            __atomic_fetch_add(&faults, 1, __ATOMIC_RELAXED);
    context.negated = 0; /* no CPU reads it any more */
}

static void *cpu_run(void *number)
{
    const struct cpu_mask all = cpu_mask_below(CPUS);

    own_cpu = (uint32_t)(uintptr_t)number;
    for (uint64_t i = 0; i < CALLS; i++) {
        call_others(&all, i * CPUS + own_cpu);
        __atomic_fetch_add(&made, 1, __ATOMIC_ACQ_REL);
        while (__atomic_load_n(&made, __ATOMIC_ACQUIRE) <
               (i + 1) * CPUS) { /* so a call that is missed stays so */
            crosscall_serve();
            sched_yield();
        }
    }
    return NULL;
}

TEST(each_call_is_made_once_on_each_cpu)
{
    pthread_t threads[CPUS];

    per_cpu_areas_make(CPUS);
    for (uintptr_t cpu = 0; cpu < CPUS; cpu++)
        CHECK_EQUAL(pthread_create(&threads[cpu], NULL, cpu_run, (void *)cpu), 0);
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        pthread_join(threads[cpu], NULL);
    CHECK_EQUAL(faults, 0);
    per_cpu_areas_free(CPUS);
}

int main(void)
{
    RUN(each_call_is_made_once_on_each_cpu);
    return check_report("crosscall");
}
