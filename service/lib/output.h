/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * output.h: what ranks write, to standard output and standard error, a line at a time: no line ends up within
 * another one; a line of more than LINE_PART_BYTES comes in parts. What the program itself says goes the same
 * way (say.h).
 *
 * Where standard output or standard error is full, what it has not taken waits in memory, a line or so, and
 * the ranks' streams that lead there are left alone as a group: their ranks block in the end, and nothing
 * else does.
 */
#ifndef TACET_SERVICE_OUTPUT_H
#define TACET_SERVICE_OUTPUT_H

#include "service/lib/event_loop.h"

#define LINE_PART_BYTES 65536

struct output {
    struct event_loop *loop;
    bool is_labelled; /* each line has its rank before it */

    /* Nothing can be written any more, with this exit status, and why. */
    void (*failed)(int status, const char *why);
};

/* Once. What the program says goes this way from now on. */
void output_open(const struct output *output);

/* Whether all that was written has been taken. */
bool output_is_written(void);

/* Takes a stream from a rank, a socket or a pipe, whose first bytes may have come already. False without
 * memory: it stays the caller's. */
bool stream_begin(int fd, uint32_t rank, bool is_err, const char *bytes, size_t count);

/* Streams that have not ended. */
uint32_t streams_count(void);

/* Nobody writes to the streams any more: takes what is in them, as far as there is room for it, and ends
 * those that are empty. To be called again until there are none. */
void streams_end(void);

#endif
