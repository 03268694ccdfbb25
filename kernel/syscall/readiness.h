/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * readiness.h: the wait that select, poll and epoll share. A scan reads the readiness of each file of a set
 * once; it is repeated after each event (event.h) until it has a result or the deadline has passed.
 */
#ifndef TACET_READINESS_H
#define TACET_READINESS_H

#include "fs/file.h"
#include <stdbool.h>
#include <stdint.h>

struct scan {
    uint64_t events;        /* kinds that may change what it has read */
    uint64_t sets_since_ns; /* when it has read the first epoll set; 0: none so far */
};

/* Scans `set` until the result is not 0, and returns that: a number of files, or a negative errno. 0 at the
 * deadline; -EINTR if a signal ends the wait. A scan does not wait. */
long readiness_wait(int64_t (*scan_set)(void *set, struct scan *scan), void *set, uint64_t deadline_ns);

/* Epoll sets as files. A scan that reads a set many times scans its rows once. sys_epoll.c */
extern const struct file_operations epoll_operations;
unsigned epoll_readiness(struct file *file, struct scan *scan);

#endif
