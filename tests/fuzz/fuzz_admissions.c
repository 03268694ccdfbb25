/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_admissions.c: any bytes as the conductor's file of admissions, and any line of it. A refusal has a
 * reason; what is taken is written and read again, and gives the same file.
 */
#include "service/conductor/admission_file.h"
#include "fuzz.h"
#include <string.h>

static struct admission taken[ADMISSIONS_MAX];
static unsigned count;

static void take(const struct admission *admission)
{
    PROMISE(count < ADMISSIONS_MAX && answer_name_is_fine(admission->name));
    PROMISE(!admission->is_expected || fingerprint_is_valid(admission->fingerprint));
    taken[count++] = *admission;
}

static void line_try(const char *text)
{
    char written[ADMISSION_LINE];
    struct admission admission;
    const char *wrong = admission_read(text, &admission);

    PROMISE(!wrong || *wrong);
    if (wrong)
        return;
    const size_t bytes = admission_write(&admission, written);
    PROMISE(bytes == strlen(text) + 1 && bytes < ADMISSION_LINE && memcmp(text, written, bytes - 1) == 0);
}

static void file_try(char *text)
{
    unsigned line;

    count = 0;
    const char *wrong = admissions_parse(text, take, &line);
    PROMISE(!wrong || (*wrong && line));
    if (wrong)
        return;
    const unsigned before = count;
    char *again = malloc((count + 2) * (size_t)ADMISSION_LINE);
    admissions_print(taken, count, again);
    count = 0;
    PROMISE(!admissions_parse(again, take, &line) && count == before);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text = malloc(bytes + 1), *first;

    memcpy(text, data, bytes);
    text[bytes] = '\0';
    first = strndup(text, strcspn(text, "\n"));
    line_try(first);
    file_try(text);
    free(first);
    free(text);
    return 0;
}
