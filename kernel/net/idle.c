/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * idle.c: see idle.h. The keeper changes under the network's lock alone; `idle` says of each CPU whether it
 * idles. A CPU that ends idling clears its bit and then reads who the keeper is; who makes it the keeper
 * writes that and then reads the bit. So one of them sees the other, and a device is never left to interrupt
 * a CPU that runs a program.
 */
#include "net/idle.h"
#include "arch.h"
#include "net/device.h"
#include "net/interface.h"
#include "net/network.h"
#include "process/process.h"
#include "process/schedule.h"
#include "smp/crosscall.h"
#include "time/clock.h"
#include "time/timer.h"

#define POLL_NS 1000000
#define NOBODY  UINT32_MAX

struct idle_counts idle_counts;

static struct cpu_mask idle;
static unsigned keeper = NOBODY;
static unsigned waiting; /* threads that wait for the network */
static struct smart_timer poll_timer;
static struct smart_timer look_timer; /* of CPUs that idle: it interrupts no program */

static void poll_timer_start(void *unused)
{
    (void)unused; /* of a crosscall */
    timer_start(&poll_timer, clock_now_ns() + POLL_NS, POLL_NS / 2);
}

/* Whether a timer has to look: the keeper's device cannot interrupt it, or there is none and somebody waits.
 */
static bool polls_by_timer(void)
{
    return __atomic_load_n(&keeper, __ATOMIC_RELAXED) != NOBODY ||
           __atomic_load_n(&waiting, __ATOMIC_RELAXED) != 0;
}

static void poll_expire(struct smart_timer *timer, uint64_t now_ns)
{
    (void)timer; /* there is one */
    (void)now_ns;
    idle_counts.polled++;
    network_poll();
    network_lock();
    if (polls_by_timer() && !timer_is_pending(&poll_timer))
        poll_timer_start(NULL);
    network_unlock();
}

/* ---- With the network's lock ---- */

/* Makes an idle CPU the keeper; false where it does not idle any more. */
static bool keeper_set(unsigned cpu)
{
    __atomic_store_n(&keeper, cpu, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (!cpu_mask_test(&idle, cpu)) {
        __atomic_store_n(&keeper, NOBODY, __ATOMIC_SEQ_CST);
        return false;
    }
    idle_counts.kept++;
    if (network_device->operations->interrupt_enable(network_device, cpu)) {
        timer_cancel(&poll_timer);
    } else if (!timer_is_pending(&poll_timer)) {
        struct cpu_mask one = { 0 };

        cpu_mask_set(&one, cpu);
        if (cpu == arch_cpu_index())
            poll_timer_start(NULL);
        else
            crosscall(&one, poll_timer_start, NULL);
    }
    return true;
}

static void keeper_choose(void)
{
    CPU_MASK_EACH(cpu, &idle)
    if (keeper_set((unsigned)cpu))
        return;
}

/* ---- Around idling ---- */

static void idle_begin(unsigned cpu)
{
    cpu_mask_set_atomic(&idle, cpu);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&keeper, __ATOMIC_SEQ_CST) != NOBODY)
        return;
    network_lock();
    if (keeper == NOBODY)
        keeper_set(cpu);
    network_unlock();
}

/* Threads that go on waiting when this CPU's own one runs. */
static unsigned others_waiting(void)
{
    const struct thread *thread = arch_thread();
    unsigned count = __atomic_load_n(&waiting, __ATOMIC_RELAXED);

    return count && thread && thread->waits_for_network && thread->schedule.state == THREAD_RUNNING
               ? count - 1
               : count;
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
        keeper_choose();
        if (keeper == NOBODY && others_waiting() && !timer_is_pending(&poll_timer))
            poll_timer_start(NULL);
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

void idle_wait_begin(void)
{
    arch_thread()->waits_for_network = true;
    __atomic_fetch_add(&waiting, 1, __ATOMIC_SEQ_CST);
    if (!network_device || !schedule_others_ready() || __atomic_load_n(&keeper, __ATOMIC_SEQ_CST) != NOBODY)
        return;
    network_lock();
    if (keeper == NOBODY && !timer_is_pending(&poll_timer))
        poll_timer_start(NULL);
    network_unlock();
}

void idle_wait_end(void)
{
    __atomic_fetch_sub(&waiting, 1, __ATOMIC_SEQ_CST);
    arch_thread()->waits_for_network = false;
}

static void look_expire(struct smart_timer *timer, uint64_t now_ns)
{
    (void)timer; /* there is one */
    (void)now_ns;
    network_poll();
}

void idle_look_soon(void)
{
    network_lock();
    if (!timer_is_pending(&look_timer))
        timer_start(&look_timer, clock_now_ns(), POLL_NS / 2);
    network_unlock();
}

void idle_start(void)
{
    poll_timer.expire = poll_expire;
    look_timer.expire = look_expire;
    look_timer.is_background = true;
}

void idle_device_start(void)
{
    schedule_idle_hook = idle_changed;
}
