/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.h: a program's command line: options from a table, and one form of error message: the wrong word,
 * and what would be right. Long options may be abbreviated if the prefix is unique; their value follows after
 * '=' or as the next word. Letters may be combined (-ab). Every program has --help, and -h if it has letters.
 */
#ifndef TACET_SERVICE_OPTIONS_H
#define TACET_SERVICE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define STATUS_WRONG 2        /* exit status: the command line is wrong */
#define SECONDS_MAX  31536000 /* a year */

enum option_kind {
    OPTION_FLAG, /* sets a bool */
    OPTION_CALL, /* calls take with NULL */
    /* These have a value. */
    OPTION_TEXT,    /* sets a const char * */
    OPTION_NUMBER,  /* sets an uint32_t, from min to max */
    OPTION_SECONDS, /* sets an uint64_t, in ns, from min to SECONDS_MAX seconds */
    OPTION_TAKE     /* calls take */
};

struct option_row {
    const char *name; /* "port" for --port; NULL: only a letter */
    char letter;      /* 'p' for -p; 0: only a name */
    enum option_kind kind;
    void *value;
    uint32_t min, max;
    void (*take)(const char *text);
};

struct options {
    const struct option_row *rows; /* the last row has neither name nor letter */
    const char *usage;
    int failed;          /* exit status if the usage cannot be written */
    bool has_short_dash; /* -name means --name, as for mpiexec, unless it reads as letters */
};

/* Reads options from words[at] on; "--" ends them. Returns the index of the first word that is no option.
 * Ends the program if an option is wrong, or after --help. */
int options_read(const struct options *options, char **words, int at);

/* Reads an option's number, `min` to `max`, from text; ends the program if it is wrong. `option` is the
 * option's name in messages. */
uint32_t option_number(const char *option, const char *text, uint32_t min, uint32_t max);

/* Says what is wrong and how to get help; ends the program with STATUS_WRONG. */
__attribute__((format(printf, 1, 2))) _Noreturn void options_wrong(const char *format, ...);

/* Prints text to standard output and ends the program with 0, or with `failed` if it cannot be written. */
_Noreturn void options_print(const char *text, int failed);

#endif
