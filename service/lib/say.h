/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * say.h: a program's messages to its user: lines on standard error that begin with the program's name.
 */
#ifndef TACET_SERVICE_SAY_H
#define TACET_SERVICE_SAY_H

#include <stdarg.h>

/* Sets the program's name and the function that writes its lines, each with LF. NULL: they go to standard
 * error, and writing may block. */
void say_begin(const char *program, void (*write)(const char *line));

/* Writes a line for say_begin without blocking: drops it if standard error is full. Bytes other than
 * printable ASCII become '?', since part of a line may come from other machines. */
void say_without_waiting(const char *line);

const char *say_program(void);

/* Writes a line, cut at SAY_BYTES. */
#define SAY_BYTES 1024
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);
void say_va(const char *format, va_list arguments);

/* Writes a line and ends the program with this status. */
__attribute__((format(printf, 2, 3))) _Noreturn void give_up(int status, const char *format, ...);

#endif
