/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * balance_ranks.c: two ranks, each a process on a hardware thread of one core, meet in the balancer's page
 * (apps/balance/balance.c) and are balanced. A file of each takes the priorities, so that machines without
 * any do as well; since they move nothing, the step that is tried is undone.
 */
#define _GNU_SOURCE
#include "promise.h"

#include <stdint.h>
#include <stdlib.h>

static char own_file[32];

#define PRIORITIES own_file
#include "apps/balance/balance.c"
#include "apps/balance/heuristic.c"

#define ITERATIONS 5

/* In memory that both share: how often each rank has been at the barrier. */
struct meeting {
    unsigned been[2];
};

static unsigned rank;

static struct meeting *meeting_open(void)
{
    int file = open("/dev/shm/meeting", O_RDWR | O_CREAT, 0600);

    IS(ftruncate(file, sizeof(struct meeting)), 0);
    return mmap(NULL, sizeof(struct meeting), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
}

static void meet(struct meeting *meeting)
{
    const unsigned own = __atomic_add_fetch(&meeting->been[rank], 1, __ATOMIC_ACQ_REL);

    while (__atomic_load_n(&meeting->been[1 - rank], __ATOMIC_ACQUIRE) < own)
        usleep(100);
}

static void compute(void)
{
    usleep(rank ? 5000 : 20000);
}

static void priorities_are(const char *expected)
{
    char text[16] = "";
    int file = open(own_file, O_RDONLY);

    PROMISE(read(file, text, sizeof(text) - 1) >= 0 && !strcmp(text, expected), "%s", text);
    close(file);
}

int main(void)
{
    struct meeting *meeting = meeting_open();
    struct balance balance;

    rank = (unsigned)atoi(getenv("TACET_RANK"));
    snprintf(own_file, sizeof(own_file), "/tmp/priorities.%u", rank);
    close(open(own_file, O_WRONLY | O_CREAT, 0600));
    IS(balance_join(&balance, "ranks", NULL), 0);
    meet(meeting);
    PROMISE(balance.place->joined == 2, "%u", balance.place->joined);
    balance_iteration_begin(&balance);
    for (int i = 0; i < ITERATIONS; i++) {
        compute();
        balance_wait_begin(&balance);
        meet(meeting);
        balance_wait_end(&balance);
    }
    meet(meeting);

    const struct balance_figures *other = &balance.place->figures[1 - balance.number];

    PROMISE(other->iterations == ITERATIONS, "%lu", (unsigned long)other->iterations);
    PROMISE(other->thread != balance.figures->thread, "%u", other->thread);
    PROMISE(balance.place->steps == 2, "%u", balance.place->steps);
    PROMISE(balance.figures->sum.running_ns >= ITERATIONS * (rank ? 5000000U : 20000000U), "%lu",
            (unsigned long)balance.figures->sum.running_ns);
    priorities_are(rank ? "4" : "454");
    meet(meeting);
    balance_leave(&balance);
    return promises_kept();
}
