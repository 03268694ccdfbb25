/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * network_alternate.c: computes and waits for the network by turns while the wire is flooded: no interrupt of
 * a network card comes while it computes; those that come find the CPU idle.
 */
#include "promise.h"

#include <stdint.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <tacet.h>

#define VECTOR_DEVICE 0xf3
#define TURNS         400

static uint64_t device_interrupts(const volatile struct tacet_counters *counters)
{
    return counters->interrupts[VECTOR_DEVICE];
}

int main(void)
{
    const volatile struct tacet_counters *counters = tacet_counters(0);
    const struct timeval pause = { 0, 3000 };
    const int waiting = socket(AF_INET, SOCK_DGRAM, 0);
    char byte;
    uint64_t computing = 0, idle = 0;

    setsockopt(waiting, SOL_SOCKET, SO_RCVTIMEO, &pause, sizeof(pause));
    for (int turn = 0; turn < TURNS; turn++) {
        uint64_t before = device_interrupts(counters);
        for (volatile int step = 0; step < 300000; step++)
            ;
        computing += device_interrupts(counters) - before;
        before = device_interrupts(counters);
        recv(waiting, &byte, 1, 0);
        idle += device_interrupts(counters) - before;
    }
    printf("computing %llu idle %llu\n", (unsigned long long)computing, (unsigned long long)idle);
    PROMISE(computing == 0, "no card interrupts a program that computes");
    PROMISE(idle > 0, "an idle CPU takes the card's interrupts");
    return promises_kept();
}
