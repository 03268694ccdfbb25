/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * format.h: text from values, for the console, the log and error messages.
 *
 * The conversions are those of C's printf that a kernel needs: %d %u %x %X %o %c %s %%, the lengths l ll
 * z, the flags '-' '0', '#' (with %x, %X), width and precision (also '*'). An unknown conversion is printed
 * unchanged. Pure functions; any context.
 */
#ifndef TACET_FORMAT_H
#define TACET_FORMAT_H

#include <stdarg.h>
#include <stddef.h>

/* Writes at most `bytes` bytes, a terminating NUL included (nothing if `bytes` is 0). Returns the length
 * that the whole text has, without the NUL, as C's snprintf does. */
size_t format_va(char *buffer, size_t bytes, const char *format, va_list arguments);
__attribute__((format(printf, 3, 4))) size_t format_text(char *buffer, size_t bytes, const char *format, ...);

/* Why something was refused: one line that names what was wrong, where, and what would be right. Functions
 * that parse outside bytes fill one when they return a negative errno. */
struct message {
    char text[512];
};

/* Sets the message (cut at its size) and returns `error`, so that a parser can `return message_set(why,
 * -EINVAL, …)`. */
__attribute__((format(printf, 3, 4))) int message_set(struct message *why, int error, const char *format,
                                                      ...);

/* Where text goes, a piece at a time. */
struct text_sink {
    void (*add)(struct text_sink *sink, const char *line);
};

/* Adds formatted text, cut at SINK_PRINT_BYTES with its NUL. */
#define SINK_PRINT_BYTES 160
__attribute__((format(printf, 2, 3))) void sink_print(struct text_sink *sink, const char *format, ...);

#endif
