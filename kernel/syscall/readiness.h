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

/* What may change the readiness that was read. */
struct scan_until {
    uint64_t events; /* kinds */
    uint64_t due_ns; /* when a file becomes ready on its own; WAIT_FOREVER: never */
    bool by_wall;    /* one of these goes by a clock that may step */
};

struct scan {
    struct scan_until until;
    uint64_t sets_since_ns; /* when it has read the first epoll set as a file; 0: none so far */
    unsigned depth;         /* sets above the files that are read */
};

/* Scans `set` until the result is not 0, and returns that: a number of files, or a negative errno. 0 at the
 * deadline; -EINTR if a signal ends the wait. A scan does not wait. */
long readiness_wait(int64_t (*scan_set)(void *set, struct scan *scan), void *set, uint64_t deadline_ns);

/* Reads the readiness of a file (enum file_ready), and its activity (file_operations.activity). */
unsigned file_scan(struct file *file, struct scan *scan, uint64_t *activity);

/* Adds what may change what another scan has read. */
void scan_add(struct scan *scan, const struct scan_until *until);

/* Does file_scan for an epoll set. A scan that reads a set many times scans its rows once. sys_epoll.c */
extern const struct file_operations epoll_operations;
unsigned epoll_readiness(struct file *file, struct scan *scan, uint64_t *activity);

#endif
