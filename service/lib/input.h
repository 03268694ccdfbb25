/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * input.h: passes this program's standard input to the one rank that reads it, as fast as the rank takes it.
 * A terminal is read only while this program is in its foreground: otherwise the terminal would stop it.
 */
#ifndef TACET_SERVICE_INPUT_H
#define TACET_SERVICE_INPUT_H

#include "service/lib/event_loop.h"

/* Passes the input to `fd`, a socket or a pipe; takes ownership of it. `rank` is for messages. */
void input_begin(struct event_loop *loop, int fd, uint32_t rank);

/* Resumes if this program has come into the foreground. Call it regularly. */
void input_tick(void);

/* Stops passing input and closes the rank's end. */
void input_stop(void);

#endif
