/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.h: a program's command line: its options from a table, and one way to say what is wrong with a
 * word: what it is, and what would be right. Long options may be cut as long as one alone begins so, and have
 * their value after '=' or as the next word; letters may stand together. Every program has --help, and -h if
 * it has letters.
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
    const char *name; /* "port" for --port; NULL: it has a letter alone */
    char letter;      /* 'p' for -p; 0: it has a name alone */
    enum option_kind kind;
    void *value;
    uint32_t min, max;
    void (*take)(const char *text);
};

struct options {
    const struct option_row *rows; /* after the last one, one without name and letter */
    const char *usage;
    int failed;          /* exit status where that cannot be written */
    bool has_short_dash; /* -name is --name, as for mpiexec, unless it is letters */
};

/* Reads options from words[at] on; "--" ends them. Returns the place of the first word that is none.
 * Ends the program where they are wrong, or after --help. */
int options_read(const struct options *options, char **words, int at);

/* The value of an option, as it is called in messages. */
uint32_t option_number(const char *option, const char *text, uint32_t min, uint32_t max);

/* Says what is wrong, and where help is to be found; ends with STATUS_WRONG. */
__attribute__((format(printf, 1, 2))) _Noreturn void options_wrong(const char *format, ...);

/* Prints what was asked for instead of a run; ends with 0, or with `failed`. */
_Noreturn void options_print(const char *text, int failed);

#endif
