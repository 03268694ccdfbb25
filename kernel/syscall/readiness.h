/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * readiness.h: the wait that select, poll and epoll share. A scan reads the readiness of each file of a set
 * once; it is repeated after each event (event.h) until it has a result or the deadline has passed.
 */
#ifndef TACET_READINESS_H
#define TACET_READINESS_H

#include <stdbool.h>
#include <stdint.h>

/* Scans `set` until the scan's result is not 0, and returns that: a number of files, or a negative errno. 0
 * at the deadline; -EINTR where a signal ends the wait. A scan sets *polled where it meets a file whose
 * readiness nobody notifies (file.h). It does not wait. */
long readiness_wait(int64_t (*scan)(void *set, bool *polled), void *set, uint64_t deadline_ns);

/* For scans: the readiness of a descriptor's file (enum file_ready), or -EBADF. */
int readiness_of(uint64_t descriptor, bool *polled);

/* For files that are sets themselves, whose readiness is only read in scans: a number of the scan that this
 * CPU makes at present, never 0. Such a file scans its own set once in each scan, however often it is listed.
 */
uint64_t readiness_scan(void);

#endif
