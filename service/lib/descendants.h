/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * descendants.h: all processes that this one has started, and those that they have started: also where these
 * have left their session, their group or their parent. This process is their subreaper (prctl(2)): who has
 * lost its parent becomes its child. So they are what can be reached from it in /proc.
 */
#ifndef TACET_SERVICE_DESCENDANTS_H
#define TACET_SERVICE_DESCENDANTS_H

#include <stdbool.h>
#include <sys/types.h>

/* Once, before the first of them. 0, or -1 where there is no /proc, or errno says why not. */
int descendants_adopt(void);

/* Sends a signal to all, and looks again until there is none that has not got it. One that is started by
 * another one in that moment, again and again, may be missed: call it until all children have ended. */
void descendants_signal(int number);

/* Whether this process has a child, other than those that `is_known` says true of. */
bool descendants_others(bool (*is_known)(pid_t pid));

#endif
