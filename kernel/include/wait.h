/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait.h: waiting for another thread, another rank or a device, in system calls on files.
 */
#ifndef TACET_WAIT_H
#define TACET_WAIT_H

#include <stdint.h>

#define WAIT_FOREVER UINT64_MAX

/* Waits for a while, at most until the deadline, after which the caller looks again at what it waits for. No
 * lock may be held. 0, or -EINTR where a signal came. wait.c */
int file_wait(uint64_t deadline_ns);

/* SIGPIPE for the caller. wait.c */
void file_broken_pipe(void);

#endif
