/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * idle.c: see network.h. The keeper changes under the network's lock alone; `idle` says of each CPU whether
 * it idles. A CPU that ends idling clears its bit and then reads which CPU is the keeper. The CPU that makes
 * it the keeper writes that and then reads the bit. So one of them sees the other, and a device is never left
 * to interrupt a CPU that runs a program. In the same way a thread that waits counts itself and then reads
 * whether there is a keeper, and the CPU that leaves none writes that and then reads the count.
 */
#include "arch.h"
#include "lib/errno.h"
#include "lib/format.h"
#include "net/beat_wire.h"
#include "net/device.h"
#include "net/interface.h"
#include "net/network.h"
#include "process/process.h"
#include "process/schedule.h"
#include "smp/crosscall.h"
#include "smp/per_cpu.h"
#include "time/clock.h"
#include "time/timer.h"

#define POLL_NS 1000000
#define NOBODY  UINT32_MAX

struct idle_counts idle_counts;

static struct cpu_mask idle;
static unsigned keeper = NOBODY;
static bool keeper_polls; /* its device cannot interrupt it */
static unsigned waiting;  /* threads that wait for the network; for each CPU, those that began there: */
PER_CPU static unsigned waiting_here;
static struct cpu_mask waiting_cpus; /* CPUs that have had such */

static void poll_expire(struct smart_timer *timer, uint64_t now_ns);
static struct smart_timer poll_timer = { .expire = poll_expire };

static void poll_timer_start(void *unused)
{
    (void)unused; /* the argument of a crosscall */
    timer_start(&poll_timer, clock_now_ns() + POLL_NS, POLL_NS / 2);
}

/* Starts the timer on a CPU, unless it is pending. The caller holds the network's lock. */
static void poll_on(unsigned cpu)
{
    struct cpu_mask one = { 0 };

    if (timer_is_pending(&poll_timer))
        return;
    cpu_mask_set(&one, cpu);
    if (cpu == arch_cpu_index())
        poll_timer_start(NULL);
    else
        crosscall(&one, poll_timer_start, NULL);
}

/* Returns how many threads of a CPU still wait. This CPU's own thread does not count if it has been woken. */
static unsigned waiting_on(unsigned cpu)
{
    const struct thread *thread = arch_thread();
    unsigned count = __atomic_load_n(PER_CPU_OF(waiting_here, cpu), __ATOMIC_RELAXED);

    return count && cpu == arch_cpu_index() && thread && thread->waits_for_network &&
                   thread->schedule.state == THREAD_RUNNING
               ? count - 1
               : count;
}

/* Has a CPU poll, if threads wait while there is no keeper: the CPU of some of them, and no other. The caller
 * holds the network's lock. */
static void poll_for_waiting(void)
{
    if (!__atomic_load_n(&waiting, __ATOMIC_SEQ_CST)) /* after `keeper` was written */
        return;
    CPU_MASK_EACH(cpu, &waiting_cpus)
        if (waiting_on((unsigned)cpu)) {
            poll_on((unsigned)cpu);
            return;
        }
}

static void poll_expire(struct smart_timer *timer, uint64_t now_ns)
{
    (void)timer; /* there is one */
    (void)now_ns;
    idle_counts.polled++;
    network_poll();
    NETWORK_GUARD();
    if (keeper == NOBODY)
        poll_for_waiting();
    else if (keeper_polls || interface_has_kept())
        poll_on(keeper);
}

/* ---- With the network's lock ---- */

/* Makes an idle CPU the keeper. Returns false if it no longer idles. */
static bool keeper_set(unsigned cpu)
{
    __atomic_store_n(&keeper, cpu, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (!cpu_mask_test(&idle, cpu)) {
        __atomic_store_n(&keeper, NOBODY, __ATOMIC_SEQ_CST);
        return false;
    }
    idle_counts.kept++;
    if (beat_is_shared)
        beat_shared_release(network_device);
    keeper_polls = !network_device->operations->interrupt_enable(network_device, cpu);
    timer_cancel(&poll_timer);
    if (keeper_polls || interface_has_kept())
        poll_on(cpu);
    return true;
}

/* ---- Around idling ---- */

static void idle_begin(unsigned cpu)
{
    cpu_mask_set_atomic(&idle, cpu);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&keeper, __ATOMIC_SEQ_CST) != NOBODY)
        return;
    NETWORK_GUARD();
    if (keeper == NOBODY)
        keeper_set(cpu);
}

static void idle_end(unsigned cpu)
{
    cpu_mask_clear_atomic(&idle, cpu);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&keeper, __ATOMIC_SEQ_CST) != cpu)
        return;
    network_lock();
    if (keeper == cpu) {
        network_device->operations->interrupt_disable(network_device);
        __atomic_store_n(&keeper, NOBODY, __ATOMIC_SEQ_CST);
        timer_cancel(&poll_timer);
        CPU_MASK_EACH(next, &idle)
            if (keeper_set((unsigned)next))
                break;
        if (keeper == NOBODY) {
            if (beat_is_shared)
                beat_shared_route(network_device);
            poll_for_waiting();
        }
    }
    network_unlock();
    arch_interrupts_accept();
}

static void idle_changed(bool begins)
{
    if (begins)
        idle_begin(arch_cpu_index());
    else
        idle_end(arch_cpu_index());
}

bool idle_keeps_here(void)
{
    return __atomic_load_n(&keeper, __ATOMIC_RELAXED) == arch_cpu_index();
}

bool idle_has_keeper(void)
{
    return __atomic_load_n(&keeper, __ATOMIC_RELAXED) != NOBODY;
}

void idle_wait_begin(void)
{
    struct thread *thread = arch_thread();
    unsigned cpu = arch_cpu_index();

    thread->waits_for_network = true;
    thread->waits_on_cpu = cpu;
    if (!cpu_mask_test(&waiting_cpus, cpu))
        cpu_mask_set_atomic(&waiting_cpus, cpu);
    __atomic_fetch_add(PER_CPU_HERE(waiting_here), 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&waiting, 1, __ATOMIC_SEQ_CST); /* last: a CPU that sees it sees the others */
    if (!network_device)
        return;
    if (!schedule_others_ready() || __atomic_load_n(&keeper, __ATOMIC_SEQ_CST) != NOBODY)
        return;
    NETWORK_GUARD();
    if (keeper == NOBODY)
        poll_on(cpu);
}

void idle_wait_end(void)
{
    struct thread *thread = arch_thread();

    __atomic_fetch_sub(&waiting, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_sub(PER_CPU_OF(waiting_here, thread->waits_on_cpu), 1, __ATOMIC_SEQ_CST);
    thread->waits_for_network = false;
}

static void look_expire(struct smart_timer *timer, uint64_t now_ns)
{
    (void)timer; /* there is one */
    (void)now_ns;
    network_poll();
}

void idle_look_soon_locked(void)
{
    /* Of CPUs that idle: it interrupts no program. */
    static struct smart_timer look_timer = { .expire = look_expire, .is_background = true };

    if (!timer_is_pending(&look_timer))
        timer_start(&look_timer, clock_now_ns(), POLL_NS / 2);
}

void idle_look_soon(void)
{
    NETWORK_GUARD();
    idle_look_soon_locked();
}

int idle_device_start(struct message *why)
{
    bool interrupts = true;

    schedule_idle_hook = idle_changed;
    network_lock();
    if (beat_is_shared && keeper == NOBODY)
        interrupts = beat_shared_route(network_device);
    network_unlock();
    return interrupts ? 0
                      : message_set(why, -ENODEV,
                                    "nettick=irq: %s at %s has no usable interrupt; use nettick=poll, "
                                    "which polls for heartbeats",
                                    network_device->model, network_device->place);
}
