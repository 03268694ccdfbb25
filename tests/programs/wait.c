/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait.c: says "ready" and computes until the counter of exception 2 (NMI) moves, or for ever: for a test
 * that does something to the machine in the meantime.
 */
#include "machine.h"

#include <stdio.h>
#include <tacet.h>

int main(void)
{
    const volatile struct tacet_counters *counters = tacet_counters(0);
    const uint64_t before = counters ? counters->exceptions[2] : 0;

    puts("ready");
    fflush(stdout);
    while (counters && counters->exceptions[2] == before)
        machine_relax();
    printf("non-maskable interrupts: %lu\n",
           counters ? (unsigned long)(counters->exceptions[2] - before) : 0);
    return 0;
}
