/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.c: see options.h. What getopt_long(3) takes, but that options end at the first other word.
 */
#include "service/lib/options.h"
#include "service/lib/clock.h"
#include "service/lib/say.h"
#include "service/lib/text.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option_row help = { .name = "help", .letter = 'h' };

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
        options_wrong("%s %s: it takes a number, %u to %u", option, text, min, max);
    return number;
}

static bool has_value(const struct option_row *row)
{
    return row->kind >= OPTION_TEXT;
}

static void row_take(const struct options *options, const struct option_row *row, const char *text)
{
    char option[64];

    if (row->letter)
        snprintf(option, sizeof(option), "-%c", row->letter);
    else
        snprintf(option, sizeof(option), "--%s", row->name);
    if (row == &help)
        options_print(options->usage, options->failed);
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

/* ---- Names and letters ---- */

/* The rows of the table, then that of --help, then NULL. */
static const struct option_row *row_next(const struct option_row *row)
{
    if (row == &help)
        return NULL;
    return row[1].name || row[1].letter ? row + 1 : &help;
}

static bool has_letters(const struct options *options)
{
    for (const struct option_row *row = options->rows; row != &help; row = row_next(row))
        if (row->letter)
            return true;
    return false;
}

/* `word` says so of the option in messages. NULL where there is none. */
static const struct option_row *row_of_name(const struct options *options, const char *word, const char *name,
                                            size_t length)
{
    const struct option_row *found = NULL;
    bool is_ambiguous = false;

    for (const struct option_row *row = options->rows; row; row = row_next(row)) {
        if (!row->name || strncmp(row->name, name, length) != 0)
            continue;
        if (!row->name[length])
            return row;
        is_ambiguous |= found && (found->value != row->value || found->take != row->take);
        found = row;
    }
    if (is_ambiguous)
        options_wrong("%s: several options begin so", word);
    return found;
}

static const struct option_row *row_of_letter(const struct options *options, char letter)
{
    for (const struct option_row *row = options->rows; row; row = row_next(row))
        if (row->letter == letter)
            return row;
    return NULL;
}

/* ---- Words ---- */

/* Takes one option by its name, with its value. False: there is none of this name. */
static bool name_take(const struct options *options, char **words, int *at, const char *name)
{
    const char *word = words[*at], *text = NULL;
    const size_t length = strcspn(name, "=");
    const struct option_row *row = row_of_name(options, word, name, length);

    if (!row)
        return false;
    if (name[length] && !has_value(row))
        options_wrong("%s: it takes no value", word);
    if (has_value(row)) {
        text = name[length] ? name + length + 1 : words[++*at];
        if (!text)
            options_wrong("%s: it takes a value", word);
    }
    ++*at;
    row_take(options, row, text);
    return true;
}

/* Takes the letters of a word, and the last one's value. */
static void letters_take(const struct options *options, char **words, int *at)
{
    for (const char *letter = words[(*at)++] + 1; *letter; letter++) {
        const struct option_row *row = row_of_letter(options, *letter);

        if (!row)
            options_wrong("-%c: there is no such option", *letter);
        if (!has_value(row)) {
            row_take(options, row, NULL);
            continue;
        }
        const char *text = letter[1] ? letter + 1 : words[(*at)++];
        if (!text)
            options_wrong("-%c: it takes a value", *letter);
        row_take(options, row, text);
        return;
    }
}

int options_read(const struct options *options, char **words, int at)
{
    const bool takes_letters = has_letters(options);

    for (const char *word; (word = words[at]) && word[0] == '-' && word[1];) {
        const bool is_name = word[1] == '-', is_letter = !is_name && row_of_letter(options, word[1]);
        const bool may_be_name = is_name || (options->has_short_dash && (word[2] || !is_letter));

        if (is_name && !word[2])
            return at + 1;
        if (!is_name && !takes_letters)
            break;
        if (may_be_name && name_take(options, words, &at, word + 1 + is_name))
            continue;
        if (may_be_name && !is_letter)
            options_wrong("%s: there is no such option", word);
        letters_take(options, words, &at);
    }
    return at;
}
