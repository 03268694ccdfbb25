/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lock_check.h: what becomes of the counts of lock_work.h: a panic where they are too large, a line of the
 * console when the node ends. Nothing, but in a kernel built with LOCKCHECK=1.
 */
#ifndef TACET_LOCK_CHECK_H
#define TACET_LOCK_CHECK_H

#include <stdint.h>

#ifdef LOCKCHECK

/* From here on too much work with a lock held is a panic. */
void lock_check_start(void);

/* Ends that: whoever prints the report of a panic may hold a lock. */
void lock_check_end(void);

/* Prints the most of either kind that any CPU has done so far. */
void lock_check_report(void);

#else

#define lock_check_start()  ((void)0)
#define lock_check_end()    ((void)0)
#define lock_check_report() ((void)0)

#endif

#endif
