/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process.h: descriptors and signals of a program that runs jobs, and of a rank's process between fork and
 * exec.
 */
#ifndef TACET_SERVICE_PROCESS_H
#define TACET_SERVICE_PROCESS_H

#include "service/lib/event_loop.h"
#include <sys/resource.h>
#include <sys/types.h>

/* Opens /dev/null for each of the descriptors 0 to 2 that is closed, and raises the limit of descriptors as
 * far as the system allows. Call it once, before anything is opened. *before: the limit as it was. On failure
 * ends the program with status `failed`. */
void descriptors_prepare(int failed, struct rlimit *before);

/* Ends the program with STATUS_FAILED and a message if it may not have `needed` descriptors. */
void descriptors_need(uint32_t ranks, rlim_t needed);

/* Delivers signals through a signalfd(2), which `ready` reads: SIGINT, SIGTERM, SIGHUP (unless it is ignored,
 * as by nohup(1)), and SIGCHLD if the program has children. Ignores SIGPIPE. */
void signals_take(struct event_loop *loop, void (*ready)(struct watch *watch, uint32_t events),
                  bool has_children);

/* Prepares a rank's process: it dies with its parent, and has default signal actions and the given limit of
 * descriptors, like a shell's child. Signals stay blocked until child_unblock. */
void child_begin(pid_t parent, const struct rlimit *descriptors);
void child_unblock(void);

/* Makes the calling process die with its parent; again after a change of its user, which ends this,
 * prctl(2). */
void child_bind(pid_t parent);

#endif
