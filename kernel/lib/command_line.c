/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * command_line.c: the kernel command line cut into options and program arguments (command_line.h).
 *
 * Words are unquoted in place: what is written never overtakes what is read. GRUB escapes quotes and
 * backslashes on its way to the kernel exactly as they are read here. Portable C; any context; owns nothing.
 */
#include "lib/command_line.h"
#include "lib/bytes.h"
#include "lib/errno.h"
#include "lib/kstring.h"

#define SHOWN 60 /* bytes of a word that messages repeat */

struct word {
    char *text;
    bool plain; /* no quote and no backslash in it */
};

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n';
}

/* Unquotes the word at *at, terminates it and moves *at past it. Returns 1, 0 at the end of the text, or
 * -EINVAL. */
static int word_next(char **at, struct word *word, struct message *why)
{
    char *from = *at;

    while (is_blank(*from))
        from++;
    if (!*from)
        return 0;

    char *to = from;
    bool quoted = false;
    *word = (struct word){ from, true };
    for (; *from && (quoted || !is_blank(*from)); from++) {
        word->plain = word->plain && *from != '"' && *from != '\\';
        if (*from == '"') {
            quoted = !quoted;
            continue;
        }
        if (*from == '\\' && !*++from)
            return message_set(why, -EINVAL, "command line: a backslash at the end quotes nothing");
        *to++ = *from;
    }
    *at = *from ? from + 1 : from;
    *to = '\0';
    if (quoted)
        return message_set(why, -EINVAL, "command line: the quote in \"%.*s\" is not closed", SHOWN,
                           word->text);
    return 1;
}

static int option_add(struct command_line *out, char *text, struct message *why)
{
    char *value = text;

    if (out->option_count == COMMAND_LINE_OPTIONS_MAX)
        return message_set(why, -E2BIG, "command line: more than %d options", COMMAND_LINE_OPTIONS_MAX);
    while (*value && *value != '=')
        value++;
    if (value == text)
        return message_set(why, -EINVAL, "command line: option \"%.*s\" has no name", SHOWN, text);
    out->options[out->option_count].name = text;
    out->options[out->option_count].value = *value ? value + 1 : NULL;
    out->option_count++;
    *value = '\0';
    return 0;
}

static int argument_add(struct command_line *out, const char *text, struct message *why)
{
    if (out->argument_count == COMMAND_LINE_ARGUMENTS_MAX)
        return message_set(why, -E2BIG, "command line: more than %d arguments after --",
                           COMMAND_LINE_ARGUMENTS_MAX);
    out->arguments[out->argument_count++] = text;
    return 0;
}

int command_line_parse(char *text, struct command_line *out, struct message *why)
{
    bool arguments = false;
    struct word word;
    int found;

    memset(out, 0, sizeof(*out));
    while ((found = word_next(&text, &word, why)) > 0) {
        if (!arguments && word.plain && strcmp(word.text, "--") == 0) {
            arguments = true;
            continue;
        }
        int error = arguments ? argument_add(out, word.text, why) : option_add(out, word.text, why);
        if (error)
            return error;
    }
    return found;
}

const char *command_line_option(const struct command_line *line, const char *name)
{
    for (unsigned i = line->option_count; i-- > 0;)
        if (strcmp(line->options[i].name, name) == 0)
            return line->options[i].value ? line->options[i].value : "";
    return NULL;
}

int word_find(const char *words, const char *word, size_t bytes)
{
    for (int index = 0;; index++) {
        size_t length = 0;

        while (words[length] && words[length] != ',')
            length++;
        if (length == bytes && strncmp(words, word, bytes) == 0)
            return index;
        if (!words[length])
            return -1;
        words += length + 2;
    }
}

int command_line_check(const struct command_line *line, const char *known, struct message *why)
{
    for (unsigned i = 0; i < line->option_count; i++)
        if (word_find(known, line->options[i].name, strlen(line->options[i].name)) < 0)
            return message_set(why, -EINVAL, "command line: unknown option \"%.*s\"; known are %s", SHOWN,
                               line->options[i].name, known);
    return 0;
}

int option_word(const struct command_line *line, const char *name, const char *words, unsigned *out,
                struct message *why)
{
    const char *text = command_line_option(line, name);
    int index = text ? word_find(words, text, strlen(text)) : (int)*out;

    if (index < 0)
        return message_set(why, -EINVAL, "%s=%.*s: it can be %s", name, SHOWN, text, words);
    *out = (unsigned)index;
    return 0;
}

bool number_read(const char **at, uint64_t *out)
{
    const char *text = *at;
    unsigned base = 10;

    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        base = 16;
        text += 2;
    }
    if (hexadecimal_digit(*text) >= base)
        return false;
    for (*out = 0; hexadecimal_digit(*text) < base; text++) {
        if (__builtin_mul_overflow(*out, base, out) ||
            __builtin_add_overflow(*out, hexadecimal_digit(*text), out))
            return false;
    }
    *at = text;
    return true;
}

/* What may follow a number, and by how much it multiplies it. */
struct unit {
    const char *name;
    uint64_t factor;
};

static bool read_value(const char *text, const struct unit *units, uint64_t *out)
{
    uint64_t number;

    if (!number_read(&text, &number))
        return false;
    for (; units->name; units++)
        if (strcmp(text, units->name) == 0)
            return !__builtin_mul_overflow(number, units->factor, out);
    return false;
}

static const struct unit plain[] = { { "", 1 }, { NULL, 0 } };
static const struct unit sizes[] = { { "", 1 },           { "K", 1ULL << 10 }, { "M", 1ULL << 20 },
                                     { "G", 1ULL << 30 }, { "T", 1ULL << 40 }, { NULL, 0 } };
static const struct unit times[] = { { "", 1 },         { "ns", 1 },         { "us", 1000 },
                                     { "ms", 1000000 }, { "s", 1000000000 }, { NULL, 0 } };

/* What messages say about each kind, and the unit of its bounds. */
static const struct {
    const char *text, *unit;
    const struct unit *units;
} kinds[] = {
    [OPTION_NUMBER] = { "number", "", plain },
    [OPTION_BYTES] = { "size (a number of bytes, or one with K, M, G or T)", " bytes", sizes },
    [OPTION_TIME] = { "time (a number of ns, or one with ns, us, ms or s)", " ns", times },
    [OPTION_TIME_OR_OFF] = { "time (a number of ns, or one with ns, us, ms or s; or off)", " ns", times },
};

int option_value(enum option_kind kind, const char *name, const char *text, uint64_t low, uint64_t high,
                 uint64_t *out, struct message *why)
{
    uint64_t value = 0;
    bool is_off = kind == OPTION_TIME_OR_OFF && text && strcmp(text, "off") == 0;

    if (text && !is_off && (!read_value(text, kinds[kind].units, &value) || value < low || value > high))
        return message_set(why, -EINVAL, "option %.*s: \"%.*s\" is not a %s from %lu to %lu%s", SHOWN, name,
                           SHOWN, text, kinds[kind].text, low, high, kinds[kind].unit);
    if (text)
        *out = value;
    return 0;
}
