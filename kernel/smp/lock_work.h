/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lock_work.h: counts what a CPU does while it holds a lock that another rank may wait for. Empty, except in
 * a kernel that is built to check itself (make kernel LOCKCHECK=1): there each byte that is zeroed, copied or
 * printed, and each step of a loop whose length a program chooses, counts from the first of these locks that
 * is taken to the last that is released. Too much is a panic that names the first lock; the most that there
 * was is printed when the node ends (debug/lock_check.c).
 *
 * Which locks these are: all that spin_lock takes.
 *   of the node    the file tree's, a writable file's memory's (struct shared_memory), the console's output
 *                  and input, the ratings of clock event devices, the flight log's classes
 *   of a rank, which other ranks take if they share memory with it, send it signals, wake its threads,
 *   or read /proc  its page pool's, its CPU group's, its threads', its signals', its timers', its descriptor
 *                  table's, its events' and futexes', a domain of locks that inherit priority
 *   of a CPU       its timer queue's: threads of the service may be on any
 *   of a socket    its own and its ring's (AF_UNIX)
 *   of a rank      an epoll set's, an eventfd's: only its threads take them, as briefly; a queue of
 * inotify's: any rank that changes a watched file
 *
 * The locks of spin_lock_own do not count: only threads of one process take them, for as long as they like.
 * They are an address space's, an open file's while it is read or written, that of a process's unfinished
 * lines, either end of a pipe or a stream. Ranks that share one open file (SCM_RIGHTS) wait for each other,
 * too.
 *
 * Loops that have a constant bound are not counted: over CPUs, ranks, descriptors, POSIX timers, the words of
 * a mask, the levels of a balanced tree (lib/avl.c, a directory's), the objects of a page (fs/tree/slab.c).
 */
#ifndef TACET_LOCK_WORK_H
#define TACET_LOCK_WORK_H

#include "arch/platform.h"
#include "smp/per_cpu.h"
#include <stdbool.h>
#include <stdint.h>

#ifdef LOCKCHECK

/* Twice a piece: if the program's memory ends in it, it is written again page by page, and the rest
 * zeroed. */
#define LOCK_BYTES_MAX (2 * 64 * 1024UL + (unsigned long)ARCH_PAGE)
/* A rename walks two paths, each, with its links, of at most 4096 components of two steps, and at most 2048
 * steps up from either directory. */
#define LOCK_STEPS_MAX (5 * 4096UL)

/* An amount of work, and where the lock was taken under which it was done. */
struct lock_amount {
    uint64_t amount;
    const char *place;
};

/* Of each CPU. */
extern struct lock_work {
    unsigned locks;    /* number of locks that it holds */
    const char *place; /* where the first of them was taken */
    uint64_t bytes, steps;
    struct lock_amount bytes_max, steps_max; /* since the start */
} lock_work;

/* Called by a CPU that has done too much; it clears the pointer first. NULL: nothing is checked. */
extern void (*lock_work_exceeded)(const struct lock_work *work);

#define LOCK_PLACE_TEXT(lock, line) lock " (" __FILE__ ":" #line ")"
#define LOCK_PLACE_AT(lock, line)   LOCK_PLACE_TEXT(lock, line)
#define LOCK_PLACE(lock)            LOCK_PLACE_AT(#lock, __LINE__)

static inline void lock_work_begin(const char *place)
{
    struct lock_work *work = PER_CPU_HERE(lock_work);

    if (work->locks++ == 0) {
        work->place = place;
        work->bytes = work->steps = 0;
    }
}

static inline void lock_work_end(void)
{
    PER_CPU_HERE(lock_work)->locks--;
}

void lock_work_count(uint64_t bytes, uint64_t steps);

#define lock_work_add(bytes) lock_work_count(bytes, 0)
#define lock_work_step()     lock_work_count(0, 1)

#else

#define LOCK_PLACE(lock)       NULL
#define lock_work_begin(place) ((void)(place))
#define lock_work_end()        ((void)0)
#define lock_work_add(bytes)   ((void)(bytes))
#define lock_work_step()       ((void)0)

#endif

/* For each member of a list that a lock guards, whose link comes first in it: a step each. */
#define LIST_EACH(type, member, list)                                                     \
    for (struct type *member = (void *)(list)->first; member && (lock_work_step(), true); \
         member = (void *)member->link.next)

/* The same if the loop may take the member out of the list. The next member is NAME_next. */
#define LIST_EACH_SAFE(type, member, list)                                              \
    for (struct type *member = (void *)(list)->first, *member##_next;                   \
         member && (member##_next = (void *)member->link.next, lock_work_step(), true); \
         member = member##_next)

#endif
