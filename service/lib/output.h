/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * output.h: writes the ranks' output to standard output and standard error, line by line, so that lines are
 * never mixed. A line of more than LINE_PART_BYTES is written in parts. The program's own messages (say.h) go
 * the same way.
 *
 * While standard output or standard error is full, about one line waits in memory, and the ranks' streams
 * that lead there are not read. Only the ranks that write to them block in the end.
 */
#ifndef TACET_SERVICE_OUTPUT_H
#define TACET_SERVICE_OUTPUT_H

#include "service/lib/event_loop.h"

#define LINE_PART_BYTES 65536

struct output {
    struct event_loop *loop;
    bool is_labelled; /* each line begins with its rank */

    /* Called when output can no longer be written: the exit status, and why. */
    void (*failed)(int status, const char *why);
};

/* Opens the output; the program's own messages (say) use it from now on. Call it once. */
void output_open(const struct output *output);

/* Returns whether standard output and standard error have taken all that was written. */
bool output_is_written(void);

/* Takes over a rank's stream, a socket or a pipe, with `count` bytes that have been read from it already.
 * Returns false if out of memory: the caller then still owns `fd`. */
bool stream_begin(int fd, uint32_t rank, bool is_err, const char *bytes, size_t count);

/* Returns the number of streams that have not ended. */
uint32_t streams_count(void);

/* Reads what is left in the streams, as far as the output has room, and ends the empty ones. Call it when no
 * process writes to them any longer, until streams_count is 0. */
void streams_end(void);

#endif
