/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.c: see options.h. Translates the table for getopt_long(3), which reads the words.
 */
#include "service/lib/options.h"
#include "service/lib/clock.h"
#include "service/lib/say.h"
#include "service/lib/text.h"
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void options_wrong(const char *format, ...)
{
    char text[SAY_BYTES];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    give_up(STATUS_WRONG, "%s (%s --help)", text, say_program());
}

void options_print(const char *text, int failed)
{
    exit(fputs(text, stdout) < 0 || fflush(stdout) ? failed : 0);
}

/* ---- Values ---- */

uint32_t option_number(const char *option, const char *text, uint32_t min, uint32_t max)
{
    const char *end;
    uint32_t number;

    if (!decimal_read(text, &end, max, &number) || *end || number < min)
        options_wrong("%s %s: not a number from %u to %u", option, text, min, max);
    return number;
}

static bool has_value(const struct option_row *row)
{
    return row->kind >= OPTION_TEXT;
}

static void row_take(const struct option_row *row, const char *text)
{
    char option[64];

    if (row->letter)
        snprintf(option, sizeof(option), "-%c", row->letter);
    else
        snprintf(option, sizeof(option), "--%s", row->name);
    switch (row->kind) {
    case OPTION_FLAG:
        *(bool *)row->value = true;
        break;
    case OPTION_TEXT:
        *(const char **)row->value = text;
        break;
    case OPTION_NUMBER:
        *(uint32_t *)row->value = option_number(option, text, row->min, row->max);
        break;
    case OPTION_SECONDS:
        *(uint64_t *)row->value = option_number(option, text, row->min, SECONDS_MAX) * SECOND_NS;
        break;
    case OPTION_CALL:
    case OPTION_TAKE:
        row->take(text);
        break;
    }
}

/* ---- Words ---- */

/* getopt_long(3) returns a letter as itself, and a name as NAMED + its row's key. The key is the letter,
 * which several names may share; without a letter it is UNLETTERED + the row's index. */
enum { UNLETTERED = 128, NAMED = 256 };

/* The option string of programs without letters. '+': the first other word ends the options. ':':
 * getopt_long(3) returns ':' if a value is missing. */
#define NO_LETTERS "+:h"

static int key_of(const struct option_row *rows, int index)
{
    return rows[index].letter ? rows[index].letter : UNLETTERED + index;
}

/* Writes the table and --help in getopt_long(3)'s form. */
static void table_write(const struct option_row *rows, int count, struct option *name, char *letter)
{
    *name++ = (struct option){ "help", no_argument, NULL, NAMED + 'h' };
    letter = stpcpy(letter, NO_LETTERS);
    for (int i = 0; i < count; i++) {
        if (rows[i].name)
            *name++ = (struct option){ rows[i].name, has_value(&rows[i]), NULL, NAMED + key_of(rows, i) };
        if (rows[i].letter)
            letter += sprintf(letter, "%c%s", rows[i].letter, has_value(&rows[i]) ? ":" : "");
    }
    *name = (struct option){ 0 };
}

static bool begins_name(const struct option *names, const char *text)
{
    while (names->name && strncmp(names->name, text, strcspn(text, "=")) != 0)
        names++;
    return names->name;
}

/* Says why getopt_long(3) has returned ':' or '?' for a word, and ends the program. optopt is 0 if no
 * option's name begins like the word, and also if several do. */
static _Noreturn void word_refuse(int code, const struct option *names, const char *word)
{
    const char letter[] = { '-', (char)optopt, 0 };

    if (!optopt && begins_name(names, word + 1 + (word[1] == '-')))
        options_wrong("%s: ambiguous: several options begin like this", word);
    if (optopt >= NAMED && code == '?')
        options_wrong("%s: it takes no value", word);
    options_wrong("%s: %s", !optopt || optopt >= NAMED ? word : letter,
                  code == ':' ? "needs a value" : "no such option");
}

static void code_take(const struct options *options, int code)
{
    int index = 0;

    if (code % NAMED == 'h')
        options_print(options->usage, options->failed);
    while (key_of(options->rows, index) != code % NAMED)
        index++;
    row_take(&options->rows[index], optarg);
}

int options_read(const struct options *options, char **words, int at)
{
    int rows = 0, count = 1, end = 1;

    while (options->rows[rows].name || options->rows[rows].letter)
        rows++;
    struct option names[rows + 2];
    char letters[2 * rows + sizeof(NO_LETTERS)];
    table_write(options->rows, rows, names, letters);
    for (words += at - 1; words[count];) /* words[0] may be NULL */
        count++;
    opterr = optind = 0; /* 0: getopt_long(3) begins again, at words[1] */
    for (int code = 0; code != -1 && words[end]; end = optind) {
        if (strcmp(letters, NO_LETTERS) == 0 && strncmp(words[end], "--", 2) != 0)
            break;
        code = (options->has_short_dash ? getopt_long_only : getopt_long)(count, words, letters, names, NULL);
        if (code == '?' || code == ':')
            word_refuse(code, names, words[optind - 1]);
        if (code != -1)
            code_take(options, code);
    }
    return at - 1 + end;
}
