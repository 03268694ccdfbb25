/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loggp.c: see loggp.h. Between two measurements the ranks pass a barrier.
 *
 * Each datagram of a burst has its own barrier number, as in a program that counts datagrams.
 */
#include "loggp.h"

#include "cycles.h"

#include <inttypes.h>
#include <stdio.h>

/* Computes until `end_ticks`, without receiving. */
static void wait_until(uint64_t end_ticks)
{
    while (cycles_now() < end_ticks)
        ;
}

static void print(const char *what, const uint64_t *ticks, int count)
{
    fputs(what, stdout);
    for (int i = 0; i < count; i++)
        printf("\t%" PRIu64, ticks[i]);
    putchar('\n');
}

static void pings(struct exchange *exchange)
{
    uint64_t times[LOGGP_ROUNDS][3];
    const bool first = exchange->rank == 0;

    for (int i = 0; i < LOGGP_ROUNDS; i++) {
        if (first) {
            times[i][0] = cycles_now();
            exchange_send(exchange, 1, 0);
            times[i][1] = cycles_now();
            exchange_wait(exchange, 1, 0);
            times[i][2] = cycles_now();
        } else {
            exchange_wait(exchange, 0, 0);
            times[i][0] = cycles_now();
            exchange_send(exchange, 0, 0);
            times[i][1] = cycles_now();
        }
        exchange_next(exchange);
    }
    for (int i = 0; i < LOGGP_ROUNDS; i++)
        print(first ? "ping" : "pong", times[i], first ? 3 : 2);
}

static void late(struct exchange *exchange, uint64_t late_ticks)
{
    uint64_t times[LOGGP_ROUNDS][2];

    for (int i = 0; i < LOGGP_ROUNDS; i++) {
        if (exchange->rank == 0) {
            exchange_send(exchange, 1, 0);
            exchange_wait(exchange, 1, 0);
        } else {
            wait_until(cycles_now() + late_ticks);
            times[i][0] = cycles_now();
            exchange_wait(exchange, 0, 0);
            times[i][1] = cycles_now();
            exchange_send(exchange, 0, 0);
        }
        exchange_next(exchange);
    }
    for (int i = 0; i < LOGGP_ROUNDS && exchange->rank; i++)
        print("late", times[i], 2);
}

static void burst(struct exchange *exchange, uint64_t late_ticks)
{
    uint64_t times[LOGGP_BURST + 1];

    if (exchange->rank)
        wait_until(cycles_now() + late_ticks);
    times[0] = cycles_now();
    for (int i = 0; i < LOGGP_BURST; i++) {
        if (exchange->rank)
            exchange_wait(exchange, 0, 0);
        else
            exchange_send(exchange, 1, 0);
        times[i + 1] = cycles_now();
        exchange_next(exchange);
    }
    print(exchange->rank ? "taken" : "burst", times, LOGGP_BURST + 1);
}

void loggp_measure(struct exchange *exchange, uint64_t late_ticks)
{
    pings(exchange);
    exchange_barrier(exchange);
    late(exchange, late_ticks);
    exchange_barrier(exchange);
    burst(exchange, late_ticks);
    exchange_barrier(exchange);
}
