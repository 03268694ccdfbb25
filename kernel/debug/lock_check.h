/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lock_check.h: what happens with the counts of lock_work.h: a panic if they are too large, a line on the
 * console when the node ends. Empty, except in a kernel built with LOCKCHECK=1.
 */
#ifndef TACET_LOCK_CHECK_H
#define TACET_LOCK_CHECK_H

#ifdef LOCKCHECK

/* Makes too much work with a lock held a panic from here on. */
void lock_check_start(void);

/* Ends that: a CPU that prints the report of a panic may hold a lock. */
void lock_check_end(void);

/* Prints the most of either kind that any CPU has done so far. */
void lock_check_report(void);

#else

#define lock_check_start()  ((void)0)
#define lock_check_end()    ((void)0)
#define lock_check_report() ((void)0)

#endif

#endif
