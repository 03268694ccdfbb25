/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * protocol_timers.c: see network.h. Owns one smart timer, armed while ARP asks for an address, while
 * DHCP waits for an answer (address.h), or while a multicast group is to be reported: a few seconds at most.
 * Everything else (ages of ARP entries, incomplete packets) waits for the next network call.
 */
#include "arch.h"
#include "lwip/dhcp.h"
#include "lwip/etharp.h"
#include "lwip/igmp.h"
#include "lwip/ip4_frag.h"
#include "net/address.h"
#include "net/interface.h"
#include "net/network.h"
#include "time/clock.h"
#include "time/timer.h"

#define NS_PER_MS    1000000ULL
#define ARP_ASKING_S 6 /* lwIP asks five times */
#define STEPS_MAX    16
#define LATENCY_NS   (20 * NS_PER_MS)

/* A function of lwIP that is to be called once in each step. */
struct protocol_timer {
    void (*step)(void);
    uint64_t step_ms;
};

enum { ARP, FRAGMENTS, DHCP, IGMP, TIMERS };

static const struct protocol_timer timers[TIMERS] = {
    [ARP] = { etharp_tmr, ARP_TMR_INTERVAL },
    [FRAGMENTS] = { ip_reass_tmr, IP_TMR_INTERVAL },
    [DHCP] = { dhcp_fine_tmr, DHCP_FINE_TIMER_MSECS },
    [IGMP] = { igmp_tmr, IGMP_TMR_INTERVAL },
};
static uint64_t steps_ns[TIMERS]; /* when each is called next */
static uint64_t next_ns;          /* the earliest of them */
static uint64_t arp_until_ns;
static bool igmp_active;

uint32_t sys_now(void)
{
    return (uint32_t)(clock_now_ns() / NS_PER_MS);
}

uint32_t network_random(void)
{
    return (uint32_t)arch_random();
}

void protocol_timers_arp(void)
{
    arp_until_ns = clock_now_ns() + ARP_ASKING_S * NS_PER_S;
}

void protocol_timers_igmp(void)
{
    igmp_active = true;
    steps_ns[IGMP] = 0;
    next_ns = 0;
}

static bool igmp_reports(const struct netif *interface)
{
    for (const struct igmp_group *group = netif_igmp_data(interface); group; group = group->next)
        if (group->timer)
            return true;
    return false;
}

/* ---- With the network's lock ---- */

static void steps_run(const struct protocol_timer *mine, uint64_t *at_ns, uint64_t now_ns)
{
    const uint64_t step_ns = mine->step_ms * NS_PER_MS;

    for (unsigned steps = 0; steps < STEPS_MAX && *at_ns <= now_ns; steps++) {
        mine->step();
        *at_ns = (*at_ns ? *at_ns : now_ns) + step_ns;
    }
    if (*at_ns <= now_ns && step_ns < NS_PER_S) /* nothing was pending meanwhile */
        *at_ns = now_ns + step_ns;
}

static void run(uint64_t now_ns)
{
    uint64_t next = UINT64_MAX;

    for (unsigned i = 0; i < TIMERS; i++) {
        if ((i == DHCP && !address_is_busy()) || (i == IGMP && !igmp_active)) {
            steps_ns[i] = 0;
            continue;
        }
        if (steps_ns[i] <= now_ns)
            steps_run(&timers[i], &steps_ns[i], now_ns);
        if (steps_ns[i] < next)
            next = steps_ns[i];
    }
    next_ns = next;
    igmp_active = igmp_active && igmp_reports(&ethernet_interface);
    if (now_ns >= arp_until_ns)
        arp_until_ns = 0;
    address_update(now_ns);
}

static void expire(struct smart_timer *mine, uint64_t now_ns)
{
    (void)mine; /* there is one */
    (void)now_ns;
    network_poll();
    NETWORK_GUARD();
    run(clock_now_ns());
}

void protocol_timers_update(void)
{
    /* Of idle CPUs: it interrupts no program. */
    static struct smart_timer timer = { .expire = expire, .is_background = true };
    static unsigned timer_cpu;
    unsigned cpu = arch_cpu_index();

    if (!network_device || !(arp_until_ns || igmp_active || address_is_busy()))
        return;
    if (timer_is_pending(&timer)) {
        if (timer_cpu == cpu)
            return;
        timer_cancel(&timer); /* that CPU may compute now, and this one may block */
    }
    if (next_ns <= clock_now_ns())
        run(clock_now_ns());
    timer_cpu = cpu;
    timer_start(&timer, next_ns, LATENCY_NS);
}

void protocol_timers_run(void)
{
    if (clock_now_ns() < __atomic_load_n(&next_ns, __ATOMIC_RELAXED))
        return;
    NETWORK_GUARD();
    run(clock_now_ns());
}
