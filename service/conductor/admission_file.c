/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * admission_file.c: see admission_file.h.
 */
#include "service/conductor/admission_file.h"
#include "lib/bytes.h"
#include "service/conductor/state_file.h"
#include "service/lib/key_file.h"
#include "service/lib/text.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD "tacet-admissions 1"

/* Room for all lines, and what is around them. */
#define FILE_BYTES ((ADMISSIONS_MAX + 2) * (size_t)ADMISSION_LINE)

bool fingerprint_is_valid(const char *text)
{
    unsigned i = 0;

    while (text[i] && (i % 6 == 5 ? text[i] == '-' : strchr("0123456789abcdef", text[i]) != NULL))
        i++;
    return i == FINGERPRINT_BYTES - 1 && !text[i];
}

/* ---- Lines ---- */

static char *hexadecimal_write(char *text, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < 2 * count; i++)
        *text++ = "0123456789abcdef"[bytes[i / 2] >> (i % 2 ? 0 : 4) & 15];
    return text;
}

size_t admission_write(const struct admission *admission, char line[ADMISSION_LINE])
{
    char *at = stpcpy(line, admission->is_expected ? "expected " : "admitted ");

    at = hexadecimal_write(at, admission->address, BEAT_ADDRESS_BYTES);
    *at++ = ' ';
    at = admission->is_expected ? stpcpy(at, admission->fingerprint)
                                : hexadecimal_write(at, admission->public, CURVE_BYTES);
    at += sprintf(at, " %u %s\n", admission->heard_s, admission->name[0] ? admission->name : "-");
    return (size_t)(at - line);
}

/* Reads the node's key, or its fingerprint. */
static bool key_read(const char *word, struct admission *admission)
{
    if (!admission->is_expected)
        return hexadecimal_read(word, admission->public, CURVE_BYTES);
    if (!fingerprint_is_valid(word))
        return false;
    strcpy(admission->fingerprint, word);
    return true;
}

const char *admission_read(const char *line, struct admission *admission)
{
    char what[9], address[2 * BEAT_ADDRESS_BYTES + 1], key[2 * CURVE_BYTES + 1], time[11],
        name[ANSWER_NAME_BYTES], again[ADMISSION_LINE];
    const char *end;

    *admission = (struct admission){ 0 };
    if (sscanf(line, "%8s %12s %64s %10s %31s", what, address, key, time, name) != 5)
        return "a line has: admitted or expected, an Ethernet address, a key or fingerprint, a time, a name";
    admission->is_expected = strcmp(what, "expected") == 0;
    if (!hexadecimal_read(address, admission->address, BEAT_ADDRESS_BYTES))
        return "an Ethernet address is 12 hexadecimal digits";
    if (!key_read(key, admission))
        return "a public key is 64 hexadecimal digits, a fingerprint as 01234-56789-abcde-f0123";
    if (!decimal_read(time, &end, UINT32_MAX, &admission->heard_s) || *end)
        return "the time is a number of seconds";
    if (strcmp(name, "-") != 0)
        strcpy(admission->name, name);
    if (!answer_name_is_fine(admission->name))
        return "the name is not printable";
    /* There is one way to write each line. */
    const size_t bytes = admission_write(admission, again);
    return strlen(line) == bytes - 1 && memcmp(line, again, bytes - 1) == 0 ? NULL : "the line is malformed";
}

/* ---- The file ---- */

const char *admissions_parse(char *text, void (*take)(const struct admission *admission), unsigned *number)
{
    char end[32], *rest = text;
    struct admission admission;
    const char *line;

    *number = 1;
    line = strsep(&rest, "\n");
    if (strcmp(line, HEAD) != 0)
        return "it does not begin with \"" HEAD "\"";
    while (rest && (line = strsep(&rest, "\n"))) {
        const unsigned count = (*number)++ - 1;

        snprintf(end, sizeof(end), "end %u", count);
        if (strcmp(line, end) == 0)
            return rest && !*rest ? NULL : "its end is not the last line";
        const char *wrong = admission_read(line, &admission);
        if (wrong)
            return wrong;
        if (count == ADMISSIONS_MAX)
            return "it has more than 16384 nodes";
        take(&admission);
    }
    return "its end is missing";
}

/* Loads an open file. Returns NULL, or what is wrong. */
static const char *text_load(int file, char *text)
{
    const char *why = key_file_check(file);
    size_t bytes = 0;
    ssize_t got = 0;

    while (!why && bytes < FILE_BYTES && (got = read(file, text + bytes, FILE_BYTES - bytes)) > 0)
        bytes += (size_t)got;
    text[bytes] = '\0';
    if (why || got < 0)
        return why ? why : strerror(errno);
    if (bytes == FILE_BYTES || strlen(text) != bytes)
        return "it is too long, or has a zero byte";
    return NULL;
}

int admissions_read(const char *folder, void (*take)(const struct admission *admission), char *why,
                    size_t room)
{
    const int file = state_file_open(folder, ADMISSIONS_FILE);
    char *text = file < 0 ? NULL : malloc(FILE_BYTES + 1);
    unsigned number = 0;

    if (file < 0 && errno == ENOENT)
        return 0;
    const char *wrong = text ? text_load(file, text) : strerror(errno);
    wrong = wrong ? wrong : admissions_parse(text, take, &number);
    if (file >= 0)
        close(file);
    free(text);
    if (wrong && number)
        snprintf(why, room,
                 "%s/%s, line %u: %s: repair or remove the file; without it, nodes are admitted once more",
                 folder, ADMISSIONS_FILE, number, wrong);
    else if (wrong)
        snprintf(why, room, "%s/%s: %s", folder, ADMISSIONS_FILE, wrong);
    return wrong ? -1 : 0;
}

size_t admissions_print(const struct admission *all, unsigned count, char *text)
{
    char *at = text + sprintf(text, HEAD "\n");

    for (unsigned i = 0; i < count; i++)
        at += admission_write(&all[i], at);
    at += sprintf(at, "end %u\n", count);
    return (size_t)(at - text);
}

const char *admissions_write(const char *folder, const struct admission *all, unsigned count)
{
    char *text = malloc((count + 2) * (size_t)ADMISSION_LINE);

    if (!text)
        return strerror(ENOMEM);
    const size_t bytes = admissions_print(all, count, text);
    const char *why = state_file_replace(folder, ADMISSIONS_FILE, text, bytes, 0600);
    free(text);
    return why;
}
