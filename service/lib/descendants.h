/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * descendants.h: all processes that this one has started, directly or indirectly, even if they have left
 * their session or group or lost their parent. This process is their subreaper (prctl(2)): a process whose
 * parent ends becomes its child. So /proc shows all descendants as a tree below it.
 */
#ifndef TACET_SERVICE_DESCENDANTS_H
#define TACET_SERVICE_DESCENDANTS_H

#include <stdbool.h>
#include <sys/types.h>

/* Makes this process the subreaper. Call it once, before the first child. 0, or -1 with errno (without /proc,
 * ENOENT). */
int descendants_adopt(void);

/* Sends a signal to all descendants, and scans again until none is found that has not got it. It may miss a
 * process that keeps starting others: call it until all children have ended. */
void descendants_signal(int number);

/* Returns whether this process has a child for which `is_known` is false. */
bool descendants_others(bool (*is_known)(pid_t pid));

#endif
