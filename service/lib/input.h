/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * input.h: this program's standard input for the one rank that reads it, as fast as the rank takes it. A
 * terminal is read only while this program is in its foreground: otherwise the terminal would stop it.
 */
#ifndef TACET_SERVICE_INPUT_H
#define TACET_SERVICE_INPUT_H

#include "service/lib/event_loop.h"

/* Gives the input to `fd`, a socket or a pipe, which is the input's from now on. `rank` is for messages. */
void input_begin(struct event_loop *loop, int fd, uint32_t rank);

/* To be called from time to time: this program may have come into the foreground. */
void input_tick(void);

/* The rank reads no more. */
void input_stop(void);

#endif
