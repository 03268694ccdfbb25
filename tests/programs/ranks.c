/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ranks.c: one rank of several. The first argument says what it does; a list "A,B,…" gives each rank its
 * own, the last one for all the rest.
 *
 *   own          a CPU and memory of its own: fills it with a pattern of its own, computes, looks whether the
 *                pattern has stayed
 *   lines        writes many lines, in pieces
 *   exit:N       ends with status N        die     writes to where nothing is
 *   spin         computes for ever         sleep:N waits N ms and ends
 *
 * Prints on standard output which rank of how many, on which CPU: one line in one write.
 */
#define _GNU_SOURCE
#include "machine.h"
#include "promise.h"

#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <tacet.h>
#include <time.h>
#include <unistd.h>

#define WORDS (1 << 19) /* 4 MiB */
#define LINES 100

static unsigned rank, size;

static uint64_t mix(uint64_t value)
{
    value += 0x9e3779b97f4a7c15;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    return value ^ value >> 31;
}

/* Writes to memory: every rank has the same addresses, but no other rank may see what it writes. */
static void own(void)
{
    static uint64_t fixed[WORDS];
    uint64_t *taken = malloc(WORDS * sizeof(*taken)), wrong = 0, sum = 0;
    unsigned cpu = ~0U;

    PROMISE(taken, "memory");
    for (int round = 0; round < 3 && taken; round++) {
        for (uint64_t i = 0; i < WORDS; i++) {
            fixed[i] = mix(i * 1000 + rank);
            taken[i] = mix(i * 1000 + rank + 500);
        }
        for (uint64_t i = 0; i < WORDS; i++)
            wrong += (fixed[i] != mix(i * 1000 + rank)) + (taken[i] != mix(i * 1000 + rank + 500));
        sum += fixed[WORDS - 1];
        syscall(SYS_getcpu, &cpu, NULL, NULL);
    }
    PROMISE(wrong == 0, "rank %u finds %lu strange words", rank, (unsigned long)wrong);
    PROMISE(getpid() > 0 && tacet_node() && cpu < tacet_node()->cpu_count, "a CPU: %u", cpu);
    printf("rank %u of %u cpu %u apic %u pid %d sum %lx\n", rank, size, cpu, machine_cpu(), getpid(),
           (unsigned long)sum);
}

static void lines(void)
{
    char text[200];

    for (int i = 0; i < LINES; i++) {
        int used = snprintf(text, sizeof(text), "line %d of rank %u ", i, rank);

        memset(text + used, 'a' + (int)rank, (size_t)(100 - used));
        strcpy(text + 100, " end\n");
        write(1, text, (size_t)used);
        write(1, text + used, strlen(text) - (size_t)used);
    }
}

static int deed(const char *what)
{
    unsigned cpu = ~0U;

    if (!strcmp(what, "own")) {
        own();
        return promises_broken ? 1 : 0;
    }
    if (!strcmp(what, "lines")) {
        lines();
        return 0;
    }
    syscall(SYS_getcpu, &cpu, NULL, NULL);
    printf("rank %u of %u cpu %u %s\n", rank, size, cpu, what);
    fflush(stdout);
    if (!strncmp(what, "exit:", 5))
        return atoi(what + 5);
    if (!strncmp(what, "sleep:", 6)) {
        int ms = atoi(what + 6);

        nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000L }, NULL);
        return 0;
    }
    if (!strcmp(what, "die"))
        *(volatile int *)0x123456789000 = 1;
    if (!strcmp(what, "spin"))
        for (;;)
            machine_relax();
    return 99;
}

int main(int argc, char **argv)
{
    const char *rank_text = getenv("TACET_RANK"), *size_text = getenv("TACET_SIZE");
    static char buffer[1 << 16];
    char *mine = argc == 2 ? argv[1] : NULL, *comma;

    if (!mine || !rank_text || !size_text)
        return 98;
    rank = (unsigned)atoi(rank_text);
    size = (unsigned)atoi(size_text);
    setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
    for (unsigned i = 0; i < rank && (comma = strchr(mine, ',')); i++)
        mine = comma + 1;
    if ((comma = strchr(mine, ',')))
        *comma = 0;
    return deed(mine);
}
