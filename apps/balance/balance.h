/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * balance.h: balances the ranks of each core by hardware priorities [Betti09 §IV]. A rank calls it where its
 * iterations begin, wait and end. It exports figures of each rank. See docs/balancer.md.
 *
 *      struct balance balance;
 *      int error = balance_join(&balance, "job", NULL);
 *      (a barrier)
 *      balance_iteration_begin(&balance);
 *      for (;;) {
 *          (compute)
 *          balance_wait_begin(&balance);
 *          (a barrier, or another wait for all other ranks)
 *          balance_wait_end(&balance);
 *      }
 *      balance_leave(&balance);
 *
 * A rank is a thread that is pinned to one CPU; a process may have several. Ranks meet in a page of shared
 * memory, /dev/shm/balance.NAME. The ranks of one core (on hardware threads of it, or taking turns on a CPU)
 * are balanced among themselves, by heuristic.h. A rank that is alone on its core is left as it is.
 *
 * The last of a core's ranks to arrive decides for all of them, before it waits. After the barrier each rank
 * reads its new priority and, if it has changed, takes it with one write to /proc/tacet/priorities. The
 * decision uses times up to the last arrival: time spent waiting for other cores does not count, because no
 * share inside this core caused it.
 *
 * If the machine has no hardware priorities, or the system is not Tacet, times are exported all the same, and
 * nothing is decided. Only a rank's own thread may use its `struct balance`. No locks. balance_wait_begin and
 * balance_wait_end read CLOCK_MONOTONIC and make no other call except that write.
 */
#ifndef BALANCE_H
#define BALANCE_H

#include "heuristic.h"

#include <stdbool.h>
#include <stdint.h>

#define BALANCE_CORES_MAX 128
#define BALANCE_NAME_MAX  48 /* bytes of a name, with its NUL */

/* The exported figures of a rank. Its own thread writes; others may read at any time. */
struct balance_figures {
    uint32_t thread;   /* its tid */
    uint32_t cpu;      /* the CPU on which it joined */
    uint32_t priority; /* hardware priority in force; 0: there is none */
    uint32_t reserved;
    uint64_t iterations;       /* iterations that have ended */
    struct balance_times last; /* t_R and t_W of the last, ns; t_W with the wait for other cores */
    struct balance_times sum;  /* times of all iterations */
};

/* A core in the page. */
struct balance_place {
    uint32_t core;            /* its lowest CPU, plus 1; 0: free */
    uint32_t joined, arrived; /* ranks; those of them that wait in this iteration */
    uint32_t steps;           /* changes of priorities so far */
    uint64_t running_ns[BALANCE_SIBLINGS_MAX], arrived_ns[BALANCE_SIBLINGS_MAX];
    struct balance_core state;
    struct balance_figures figures[BALANCE_SIBLINGS_MAX];
};

struct balance_page {
    uint32_t joined; /* ranks of all cores; the last to leave removes the page */
    uint32_t reserved;
    struct balance_place places[BALANCE_CORES_MAX];
};

/* A rank's private state. */
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

/* Joins the ranks of `name`, from the CPU to which the thread is pinned. `rules` NULL means
 * balance_rules_default; all ranks of a core must have the same rules. While any rank iterates, all must have
 * joined and none may have left. Returns 0 or a negative errno: -EINVAL if the name is empty, too long or has
 * a '/', or the rules are inconsistent; -ENOSPC if the core has BALANCE_SIBLINGS_MAX ranks, or there are too
 * many cores; an error of shm_open, ftruncate or mmap. */
int balance_join(struct balance *balance, const char *name, const struct balance_rules *rules);

/* Returns whether the machine has hardware priorities that this rank may get. */
bool balance_has_priorities(const struct balance *balance);

/* Sets the beginning of the iteration to now. Needed for the first iteration, after the barrier; and if work
 * between two iterations should not count, as an iteration otherwise begins where the last ended. */
void balance_iteration_begin(struct balance *balance);

/* Notes that the rank has computed and now waits. Called once in each iteration; the rank must then wait at
 * least for all ranks of its core. */
void balance_wait_begin(struct balance *balance);

/* Ends the wait and the iteration: exports its figures, takes a newly decided priority, and begins the next
 * iteration. */
void balance_wait_end(struct balance *balance);

/* Leaves after the last iteration, when all ranks of the core have ended it. All ranks of a core leave before
 * any joins again. The thread then has the lowest priority of the rules. */
void balance_leave(struct balance *balance);

/* Removes the page of `name`, for a job that ends early; otherwise the last rank to leave removes it. */
void balance_page_remove(const char *name);

/* Maps the page of `name` read-only, for an observer. Returns NULL with errno on failure; EAGAIN if a rank is
 * just making the page. */
const struct balance_page *balance_page_open(const char *name);

/* Returns the lowest CPU of those that share a core with `cpu`; `cpu` itself if the system does not tell. */
unsigned balance_core_of(unsigned cpu);

#endif
