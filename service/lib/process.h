/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process.h: what a program that runs jobs does with its own process, and with a rank's between fork and
 * exec: descriptors, signals.
 */
#ifndef TACET_SERVICE_PROCESS_H
#define TACET_SERVICE_PROCESS_H

#include "service/lib/event_loop.h"
#include <sys/resource.h>
#include <sys/types.h>

/* Once, before anything is opened: makes descriptors 0 to 2 those that the program was started with, or
 * /dev/null, and takes as many further ones as the system gives. *before: the limit as it was. If that cannot
 * be, ends the program with status `failed`. */
void descriptors_prepare(int failed, struct rlimit *before);

/* Ends the program with STATUS_FAILED, and says why, if it may not have `needed` descriptors. */
void descriptors_need(uint32_t ranks, rlim_t needed);

/* From now on `ready` reads what ends the program from a signalfd(2): SIGINT, SIGTERM, SIGHUP (unless that is
 * ignored, as by nohup(1)); and SIGCHLD, if the program has children. SIGPIPE is ignored. */
void signals_take(struct event_loop *loop, void (*ready)(struct watch *watch, uint32_t events),
                  bool has_children);

/* In a rank's process: it dies with its parent, and has the signals' actions and the limit of descriptors
 * that a shell's child has. No signal comes before child_unblock. */
void child_begin(pid_t parent, const struct rlimit *descriptors);
void child_unblock(void);

#endif
