/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * say.h: what a program says to its user: lines on standard error, each with the program's name before it.
 */
#ifndef TACET_SERVICE_SAY_H
#define TACET_SERVICE_SAY_H

#include <stdarg.h>

/* Sets the program's name, and what takes its lines from now on, each with its LF. NULL: standard error,
 * which is waited for. */
void say_begin(const char *program, void (*write)(const char *line));

/* Takes a line for say_begin: loses it where standard error is full. Part of a line may come from other
 * machines: what is not printable ASCII becomes '?'. */
void say_without_waiting(const char *line);

const char *say_program(void);

/* Says a line, cut at SAY_BYTES. */
#define SAY_BYTES 1024
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);
void say_va(const char *format, va_list arguments);

/* The program cannot go on: says why, and ends with this status. */
__attribute__((format(printf, 2, 3))) _Noreturn void give_up(int status, const char *format, ...);

#endif
