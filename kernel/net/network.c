/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * network.c: see network.h. Owns the network's lock and what it guards of its own: whom to notify.
 */
#include "net/network.h"
#include "arch.h"
#include "lib/errno.h"
#include "lwip/init.h"
#include "net/address.h"
#include "net/input.h"
#include "net/device.h"
#include "net/idle.h"
#include "net/interface.h"
#include "net/loopback.h"
#include "net/memory.h"
#include "net/protocol_timers.h"
#include "process/process.h"
#include "smp/spinlock.h"
#include "time/clock.h"

#define FRAMES_MAX       64  /* of one poll */
#define PACKETS_MAX      256 /* to the node itself, of one unlocking */
#define POLLS_PER_SERVICE 64
#define NOTICES_MAX      16

static struct spinlock lock;
static unsigned polls;

/* Whom the one that releases the lock wakes. */
struct notice {
    struct process *process;
    uint64_t kinds;
};

static struct notice notices[NOTICES_MAX];
static unsigned notice_count;

void network_lock(void)
{
    spin_lock(&lock);
}

/* Releases the lock alone, and wakes. */
static void release(void)
{
    struct notice taken[NOTICES_MAX];
    unsigned count = notice_count;

    for (unsigned i = 0; i < count; i++)
        taken[i] = notices[i];
    notice_count = 0;
    network_account_use(NULL);
    spin_unlock(&lock);
    for (unsigned i = 0; i < count; i++)
        event_notify(taken[i].process, taken[i].kinds);
}

/* What the node has sent to itself, each packet with the lock held for itself. */
static void loopback_work(void)
{
    for (unsigned i = 0; i < PACKETS_MAX && loopback_pending(); i++) {
        spin_lock(&lock);
        loopback_receive();
        release();
        crosscall_serve();
    }
}

void network_unlock(void)
{
    protocol_timers_update();
    release();
    loopback_work();
    connection_work();
    loopback_work();
}

void network_notify(struct process *process, uint64_t kinds)
{
    for (unsigned i = 0; i < notice_count; i++)
        if (notices[i].process == process) {
            notices[i].kinds |= kinds;
            return;
        }
    if (notice_count == NOTICES_MAX) /* with the lock, which no waiter takes together with a list's */
        event_notify(process, kinds);
    else
        notices[notice_count++] = (struct notice){ process, kinds };
}

static bool receive_one(bool service)
{
    bool received;

    spin_lock(&lock);
    if (service)
        interface_service();
    received = interface_receive();
    release();
    return received;
}

bool network_poll(void)
{
    bool service = __atomic_add_fetch(&polls, 1, __ATOMIC_RELAXED) % POLLS_PER_SERVICE == 0;
    unsigned received = 0;

    if (network_device) {
        protocol_timers_run();
        while (received < FRAMES_MAX && receive_one(service && received == 0)) {
            received++;
            crosscall_serve();
        }
    }
    if (received || loopback_pending()) {
        loopback_work();
        connection_work();
        loopback_work();
    }
    return received != 0;
}

int network_wait(struct process *process, uint64_t kinds, uint64_t deadline_ns)
{
    int error;

    (void)process; /* the caller's, whose threads wait by their own lists */
    if (network_poll())
        return thread_has_pending_work(arch_thread()) ? -EINTR : 0;
    if (clock_now_ns() >= deadline_ns)
        return -ETIMEDOUT;
    idle_wait_begin();
    error = event_wait(kinds, deadline_ns);
    idle_wait_end();
    return error;
}

void network_interrupt(void)
{
    spin_lock(&lock);
    interface_service();
    release();
    while (network_poll())
        if (!schedule_is_idle())
            break;
}

bool network_has_device(void)
{
    return network_device != NULL;
}
