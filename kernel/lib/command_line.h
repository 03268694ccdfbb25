/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * command_line.h: the kernel command line: options of the node, then `--`, then the program's arguments.
 *
 *     app=/bin/ftq env=OMP_NUM_THREADS=4 stack=16M -- -n 1000 "a b"
 *
 * Words are separated by blanks (space, tab, newline). Inside double quotes blanks are literal; a backslash,
 * inside or outside of quotes, takes the next character literally. An option is NAME=VALUE or NAME. Portable
 * C, host-tested and fuzzed.
 */
#ifndef TACET_COMMAND_LINE_H
#define TACET_COMMAND_LINE_H

#include "lib/format.h"
#include <stdbool.h>
#include <stdint.h>

#define COMMAND_LINE_OPTIONS_MAX   64
#define COMMAND_LINE_ARGUMENTS_MAX 512

struct command_line {
    struct {
        const char *name;
        const char *value; /* NULL for a bare NAME, "" for NAME= */
    } options[COMMAND_LINE_OPTIONS_MAX];
    unsigned option_count;
    const char *arguments[COMMAND_LINE_ARGUMENTS_MAX]; /* after the first unquoted `--` */
    unsigned argument_count;
};

/* Cuts `text` (NUL-terminated, modified in place; `out` points into it) into words. -EINVAL with `why` for an
 * unterminated quote, a trailing backslash or an option with an empty name, -E2BIG for too many words. */
int command_line_parse(char *text, struct command_line *out, struct message *why);

/* Returns the value of the last option `name`, or NULL if it is absent. A bare NAME gives "". */
const char *command_line_option(const struct command_line *line, const char *name);

/* Reads a decimal or 0x hexadecimal number at *at, which is moved to what follows it. Returns false if there
 * is none, or it does not fit. */
bool number_read(const char **at, uint64_t *out);

/* Finds a word of `bytes` bytes in a list of words that have ", " between them. Returns its index, or -1. */
int word_find(const char *words, const char *word, size_t bytes);

/* Checks that the names of all options are in the list `known`. Else -EINVAL with `why` naming the option and
 * the known ones, because an option that is silently ignored could spoil an experiment. */
int command_line_check(const struct command_line *line, const char *known, struct message *why);

/* Reads an option whose value is one of a list of words. *out becomes the word's index; without the option it
 * is untouched. -EINVAL with `why` naming the words. */
int option_word(const struct command_line *line, const char *name, const char *words, unsigned *out,
                struct message *why);

/* Reads an option's value: a decimal or 0x hexadecimal number. Sizes take K, M, G, T (powers of 1024), times
 * ns, us, ms, s (ns by default); "off" is 0. Returns 0, or -EINVAL with `why` naming the option, its text and
 * the range that would be right. *out is untouched then, and without a text (NULL): the option is absent. */
enum option_kind { OPTION_NUMBER, OPTION_BYTES, OPTION_TIME, OPTION_TIME_OR_OFF };
int option_value(enum option_kind kind, const char *name, const char *text, uint64_t low, uint64_t high,
                 uint64_t *out, struct message *why);

#endif
