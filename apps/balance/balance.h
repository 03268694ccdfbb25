/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * balance.h: balances the ranks of each core by hardware priorities [Betti09 §IV]: how a rank says where its
 * iterations begin, wait and end, and what is exported of each. docs/balancer.md.
 *
 *      struct balance balance;
 *      int error = balance_join(&balance, "job", NULL);
 *      (a barrier)
 *      balance_iteration_begin(&balance);
 *      for (;;) {
 *          (compute)
 *          balance_wait_begin(&balance);
 *          (a barrier, or whatever waits for all the others)
 *          balance_wait_end(&balance);
 *      }
 *      balance_leave(&balance);
 *
 * A rank is a thread that is pinned to one CPU; several of a process may be. They meet in a page of shared
 * memory, /dev/shm/balance.NAME. Ranks of one core (hardware threads that share it, or ranks that share a
 * CPU) are balanced among themselves, by heuristic.h; one that is alone on its core has nobody to give to or
 * take from. The last of a core's ranks to wait decides for all of them, before it waits: so each finds after
 * the barrier what it is to have, and gives itself that, by one write to /proc/tacet/priorities, and only
 * where it has changed. What a rank decides from is until then: waiting for other cores does not count, for
 * which no share inside a core could be blamed.
 *
 * Where the machine has no hardware priorities, or the system is not Tacet, times are exported all the same,
 * and nothing is decided. Calls of one `struct balance` come from its own thread. No locks;
 * balance_wait_begin and balance_wait_end read CLOCK_MONOTONIC, and make no other call than that write.
 */
#ifndef BALANCE_H
#define BALANCE_H

#include "heuristic.h"

#include <stdbool.h>
#include <stdint.h>

#define BALANCE_CORES_MAX 128
#define BALANCE_NAME_MAX  48 /* bytes of a name, with its NUL */

/* What is exported of a rank. Its own thread writes; others may read at any time. */
struct balance_figures {
    uint32_t thread;   /* its tid */
    uint32_t cpu;      /* where it was when it joined */
    uint32_t priority; /* hardware priority in force; 0: there is none */
    uint32_t reserved;
    uint64_t iterations;       /* that have ended */
    struct balance_times last; /* t_R and t_W of the last one, ns: all waiting */
    struct balance_times sum;  /* of all */
};

/* A core in the page. */
struct balance_place {
    uint32_t core;            /* its lowest CPU, plus 1; 0: free */
    uint32_t joined, arrived; /* ranks; of them, those that wait in this iteration */
    uint32_t steps;           /* changes of priorities so far */
    uint64_t running_ns[BALANCE_SIBLINGS_MAX], arrived_ns[BALANCE_SIBLINGS_MAX];
    struct balance_core state;
    struct balance_figures figures[BALANCE_SIBLINGS_MAX];
};

struct balance_page {
    uint32_t joined; /* ranks of all cores; the last one to leave removes the page */
    uint32_t reserved;
    struct balance_place places[BALANCE_CORES_MAX];
};

/* A rank's own. */
struct balance {
    struct balance_page *page;
    struct balance_place *place;
    struct balance_figures *figures; /* its own, in `place` */
    struct balance_rules rules;
    uint32_t number; /* in `place` */
    int priorities;  /* file descriptor; -1: the machine has none */
    uint64_t began_ns, arrived_ns;
    char name[BALANCE_NAME_MAX];
};

/* Joins the ranks of `name`, from the CPU to which the thread is pinned. `rules`:
 * NULL for balance_rules_default; those of a core's ranks must be alike. All must have joined, and nobody
 * left, while any of them iterates. 0, or a negative errno: -EINVAL for a name that is empty, too long or has
 * a '/', or rules that make no sense; -ENOSPC where the core has BALANCE_SIBLINGS_MAX ranks, or there are too
 * many cores; what shm_open, ftruncate and mmap answer. */
int balance_join(struct balance *balance, const char *name, const struct balance_rules *rules);

/* Whether the machine has hardware priorities that this rank may be given. */
bool balance_has_priorities(const struct balance *balance);

/* The iteration begins now, and not when the last one ended: for the first one, after the barrier, and for a
 * program that does something else between two which is not to count. */
void balance_iteration_begin(struct balance *balance);

/* The rank has computed, and waits from now on. Once an iteration; the wait must be for all ranks of its core
 * at least. */
void balance_wait_begin(struct balance *balance);

/* The wait has ended, and with it the iteration: exports its figures, takes over a priority that was decided;
 * the next iteration begins. */
void balance_wait_end(struct balance *balance);

/* After the last iteration, when all ranks of the core have ended it. A core's ranks leave together, before
 * any joins again. Its thread has the lowest priority of the rules from then on. */
void balance_leave(struct balance *balance);

/* Removes the page of `name`, which the last rank to leave does otherwise: for a job that ends before. */
void balance_page_remove(const char *name);

/* The page of `name`, read-only, or NULL with errno, EAGAIN while it is made: for whoever looks on. */
const struct balance_page *balance_page_open(const char *name);

/* The lowest CPU of those that share a core with `cpu`; itself where the system does not say. */
unsigned balance_core_of(unsigned cpu);

#endif
