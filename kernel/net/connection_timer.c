/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * connection_timer.c: see connection.h. Owns each rank's timer, and the tree of its connections that
 * are due at some time. These of lwIP's counters (struct tcp_pcb) count steps of 100 ms: rtime, for
 * retransmission, runs up to rto; persist_cnt runs up to its back-off; tmr is the step of the last activity,
 * from which all the rest is counted. lwIP's tcp_slowtmr makes one step for the connection that is linked.
 *
 * A timer that expires polls the devices first: a frame that came while the rank computed may acknowledge
 * what would be retransmitted. Then it serves a bounded number of connections, and starts itself again if
 * more are due. [RFC 6298; RFC 9293 §3.8]
 */
#include "arch.h"
#include "lib/list.h"
#include "mm/page.h"
#include "net/datagram.h"
#include "net/memory.h"
#include "net/network.h"
#include "net/stream_state.h"
#include "process/process.h"
#include "time/clock.h"
#include "time/timer.h"
#include "lwip/priv/tcp_priv.h"

#define TICK_NS        (TCP_SLOW_INTERVAL * 1000000ULL)
#define SERVED_MAX     16 /* connections served by one interrupt */
#define OWED_MAX       64 /* connections served by one call */
#define NEVER          UINT32_MAX
#define FIN_WAIT_TICKS (TCP_FIN_WAIT_TIMEOUT / TCP_SLOW_INTERVAL)
#define DUE_AT(key)    ((uint32_t)((key) >> 32))

struct rank_timer {
    struct smart_timer timer;
    struct avl_node *due; /* connections, by due tick and number */
    struct process *process;
    struct rank_timer *next;
    uint32_t armed; /* the tick that the timer is armed for */
};

static struct rank_timer kernel_timer, *timers;
static uint8_t slow_steps; /* follows lwIP's own count, by which lwIP knows what it has done in this step */

static void expire(struct smart_timer *timer, uint64_t now_ns);

struct rank_timer *rank_timer_of(struct process *process)
{
    struct rank_timer *timer = process ? process->connections : &kernel_timer;

    if (!timer) {
        NETWORK_PAYER(network_account_of(process));
        timer = process->connections = network_allocate_array(1, sizeof(*timer));
        if (!timer)
            return NULL;
    }
    if (!timer->timer.expire) {
        timer->timer.expire = expire;
        timer->timer.context = timer;
        timer->process = process;
        timer->next = timers;
        timers = timer;
    }
    return timer;
}

uint32_t connection_tick_now(void)
{
    return (uint32_t)(clock_now_ns() / TICK_NS);
}

static uint8_t persist_steps(const struct tcp_pcb *pcb)
{
    static const uint8_t steps[] = { 3, 6, 12, 24, 48, 96, 120 }; /* lwIP's tcp_persist_backoff */

    return steps[smaller(pcb->persist_backoff, sizeof(steps)) - 1];
}

void connection_time_add(struct connection *connection)
{
    struct tcp_pcb *pcb = connection->pcb;
    uint32_t now = connection_tick_now(), passed = now - connection->tick;

    connection->tick = now;
    if (pcb->rtime >= 0)
        pcb->rtime = (int16_t)smaller(pcb->rtime + (uint64_t)passed, pcb->rto > 0 ? pcb->rto : 1);
    if (pcb->persist_backoff > 0)
        pcb->persist_cnt = (uint8_t)smaller(pcb->persist_cnt + (uint64_t)passed, persist_steps(pcb));
}

static void sooner(uint32_t *due, uint32_t now, uint64_t steps)
{
    uint64_t at = now + (steps ? steps : 1);

    if (at < *due)
        *due = (uint32_t)at;
}

/* Lowers *due to `steps` after the last activity, if that is sooner. */
static void sooner_idle(uint32_t *due, uint32_t now, const struct tcp_pcb *pcb, uint64_t steps)
{
    uint32_t idle = now - pcb->tmr;

    sooner(due, now, steps > idle ? steps - idle : 1);
}

static uint32_t until(uint32_t tick, uint32_t now)
{
    return (int32_t)(tick - now) > 0 ? tick - now : 0;
}

/* Returns whether both directions were closed here, and the peer's has not ended. */
static bool is_closed_half(const struct tcp_pcb *pcb)
{
    return pcb->state == FIN_WAIT_2 && pcb->flags & TF_RXCLOSED;
}

static uint32_t due_tick(const struct connection *connection)
{
    const struct tcp_pcb *pcb = connection->pcb;
    uint32_t now = connection->tick, due = NEVER;

    if (!pcb || pcb->state == LISTEN || pcb->state == CLOSED)
        return NEVER;
    if (pcb->persist_backoff > 0)
        sooner(&due, now, persist_steps(pcb) - pcb->persist_cnt);
    else if (pcb->rtime >= 0)
        sooner(&due, now, pcb->rto - pcb->rtime);
    else if (pcb->unsent && !pcb->unacked)
        sooner(&due, now, 1);
    if (pcb->flags & (TF_CLOSEPEND | TF_NAGLEMEMERR))
        sooner(&due, now, 1);
    if (connection->is_limited)
        sooner(&due, now, until(connection->limit_tick, now));
    if (is_closed_half(pcb))
        sooner_idle(&due, now, pcb, smaller(connection->linger_ticks, FIN_WAIT_TICKS) + 1);
    if (pcb->state == SYN_RCVD)
        sooner_idle(&due, now, pcb, TCP_SYN_RCVD_TIMEOUT / TCP_SLOW_INTERVAL + 1);
    if (pcb->state == LAST_ACK)
        sooner_idle(&due, now, pcb, 2 * TCP_MSL / TCP_SLOW_INTERVAL + 1);
    if (ip_get_option(pcb, SOF_KEEPALIVE) && (pcb->state == ESTABLISHED || pcb->state == CLOSE_WAIT))
        sooner_idle(&due, now, pcb,
                    (pcb->keep_idle + (uint64_t)pcb->keep_cnt_sent * pcb->keep_intvl) / TCP_SLOW_INTERVAL +
                        1);
    if (pcb->ooseq)
        sooner_idle(&due, now, pcb, (uint64_t)pcb->rto * TCP_OOSEQ_TIMEOUT);
    return due;
}

/* ---- Arming ---- */

static void start(void *context)
{
    struct rank_timer *timer = context;

    timer_start(&timer->timer, timer->armed * TICK_NS, latency_bound_default_ns);
}

/* Arms the timer, on a CPU that the rank's timers may interrupt: this one, or else the rank's first. */
static void arm(struct rank_timer *timer)
{
    struct connection *first = avl_above(timer->due, 0);
    const struct process *process = timer->process;

    if (!first) {
        timer_cancel(&timer->timer);
        return;
    }
    first = LIST_OWNER(first, connection, by_due);
    uint32_t at = DUE_AT(first->by_due.key);
    if (timer_is_pending(&timer->timer) && timer->armed <= at)
        return;
    timer_cancel(&timer->timer);
    timer->armed = at;
    if (!process || process->has_ended || cpu_mask_test(&process->cpus, arch_cpu_index())) {
        start(timer);
        return;
    }
    struct cpu_mask one = { 0 };
    cpu_mask_set(&one, cpu_mask_first(&process->cpus));
    crosscall(&one, start, timer);
}

void connection_due_set(struct connection *connection)
{
    struct rank_timer *timer = connection->timer;
    uint32_t due = due_tick(connection);

    if (connection->is_due ? DUE_AT(connection->by_due.key) == due : due == NEVER)
        return;
    if (connection->is_due)
        avl_remove(&timer->due, &connection->by_due, NULL);
    connection->is_due = due != NEVER;
    if (connection->is_due) {
        connection->by_due.key = (uint64_t)due << 32 | connection->number;
        avl_insert(&timer->due, &connection->by_due, NULL);
    }
    arm(timer);
}

/* ---- Serving ---- */

/* Makes one step of lwIP's timer. lwIP counts that step, so it is taken off the counters first. */
static void step(struct connection *connection)
{
    struct tcp_pcb *pcb = connection->pcb;

    connection_enter(connection);
    if (connection->is_limited && !until(connection->limit_tick, tcp_ticks)) {
        connection->is_limited = false;
        stream_late(stream_of(connection));
        connection_leave(connection);
        return;
    }
    if (is_closed_half(pcb) && tcp_ticks - pcb->tmr > connection->linger_ticks)
        pcb->tmr = tcp_ticks - FIN_WAIT_TICKS - 1; /* lwIP gives it up */
    if (pcb->flags & TF_CLOSEPEND) {
        pcb->last_timer = slow_steps++;
        tcp_fasttmr();
    }
    if (pcb->rtime > 0)
        pcb->rtime--;
    if (pcb->persist_backoff > 0 && pcb->persist_cnt > 0)
        pcb->persist_cnt--;
    if (pcb == tcp_active_pcbs) {
        pcb->last_timer = slow_steps++;
        tcp_ticks--;
        tcp_slowtmr();
    }
    connection_push(connection);
    connection_leave(connection);
}

/* Serves a connection that is due. Returns whether there was one. */
static bool serve_one(struct rank_timer *timer)
{
    NETWORK_GUARD();
    struct avl_node *node = avl_above(timer->due, 0);
    if (!node || DUE_AT(node->key) > connection_tick_now())
        return false;
    step(LIST_OWNER(node, connection, by_due));
    return true;
}

static void expire(struct smart_timer *smart, uint64_t now_ns)
{
    struct rank_timer *timer = smart->context;

    (void)now_ns; /* not used: it may be later by now */
    network_poll();
    for (unsigned served = 0; served < SERVED_MAX && serve_one(timer); served++)
        ;
    NETWORK_GUARD();
    arm(timer);
}

void connection_timers_drop(void)
{
    NETWORK_GUARD();
    for (struct rank_timer **link = &timers, *timer; (timer = *link);) {
        if (!timer->process) {
            link = &timer->next;
            continue;
        }
        *link = timer->next;
        timer_cancel(&timer->timer);
        network_free(timer);
    }
}

void connection_timers_serve(void)
{
    for (struct rank_timer *timer = timers; timer; timer = timer->next)
        serve_one(timer);
}

/* Serves what is owed. The calls that unlocking makes from in here return at once. Two connections of this
 * node may owe each other something as long as their programs send: so a call serves a bounded number, and
 * the next call, or a CPU that idles, serves the rest. */
void connection_work(void)
{
    PER_CPU static bool working;

    if (!connection_is_owing() && !datagram_has_more())
        return;
    bool *here = PER_CPU_HERE(working);
    if (*here)
        return;
    *here = true;
    for (unsigned i = 0; i < OWED_MAX && connection_is_owing(); i++) {
        network_lock();
        connection_work_one();
        network_unlock();
        network_give_way();
    }
    for (bool more = datagram_has_more(); more;) {
        network_lock();
        more = datagram_deliver_more();
        network_unlock();
        network_give_way();
    }
    if (connection_is_owing() || datagram_has_more())
        idle_look_soon();
    *here = false;
}
