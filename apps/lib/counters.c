/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counters.c: kernel entries of one CPU by cause, from Tacet's counters or Linux's /proc/interrupts. They are
 * the proof of a noise figure: a core that lost no operation and took no interrupt was silent. Tacet's
 * counters are read with loads from mapped memory, Linux's with open, read, close. No allocation.
 */
#include "counters.h"

#include "tacet.h"

#include <ctype.h>
#include <stdbool.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void row_add(struct counters_snapshot *snapshot, const char *name, uint32_t number, uint64_t count)
{
    struct counters_row *row = &snapshot->rows[snapshot->row_count++];

    memset(row, 0, sizeof *row);
    memcpy(row->name, name, strnlen(name, sizeof row->name - 1));
    row->number = number;
    row->count = count;
}

_Static_assert(1 + TACET_EXCEPTIONS + TACET_INTERRUPTS <= COUNTERS_ROWS, "every cause of Tacet has its row");

static void tacet_read(struct counters_snapshot *snapshot, const volatile struct tacet_counters *counters)
{
    snapshot->source = COUNTERS_TACET;
    row_add(snapshot, "system_call", 0, counters->system_calls);
    for (uint32_t i = 0; i < TACET_EXCEPTIONS; i++)
        row_add(snapshot, "exception", i, counters->exceptions[i]);
    for (uint32_t i = 0; i < TACET_INTERRUPTS; i++)
        row_add(snapshot, "interrupt", i, counters->interrupts[i]);
}

/* Returns the index of the column of `cpu` in the first line "CPU0 CPU2 …"; -1 if none. `*columns` is the
 * number of columns. */
static int column_find(const char *line, uint32_t cpu, int *columns)
{
    int found = -1;

    *columns = 0;
    while (*line && *line != '\n') {
        char *end;

        if (strncmp(line, "CPU", 3)) {
            line++;
            continue;
        }
        if (strtoul(line + 3, &end, 10) == cpu)
            found = *columns;
        ++*columns;
        line = end;
    }
    return found;
}

/* Returns how many of the rows so far have this name. */
static uint32_t rows_named(const struct counters_snapshot *snapshot, const char *name)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < snapshot->row_count; i++)
        found += !strcmp(snapshot->rows[i].name, name);
    return found;
}

/* Reads a row such as `LOC:  250  12  Local timer interrupts`. Skips rows with a single count for all CPUs
 * (ERR, MIS). */
static void interrupts_row_parse(struct counters_snapshot *snapshot, const char *line, int column,
                                 int columns)
{
    struct counters_row *row = &snapshot->rows[snapshot->row_count];
    size_t length = 0, blank = 0;

    memset(row, 0, sizeof *row);
    while (*line == ' ')
        line++;
    while (line[length] && line[length] != ':' && line[length] != '\n')
        length++;
    if (line[length] != ':' || length == 0)
        return;
    memcpy(row->name, line, length < sizeof row->name ? length : sizeof row->name - 1);
    row->number = rows_named(snapshot, row->name);
    line += length + 1;
    for (int i = 0; i < columns; i++) {
        char *end;
        uint64_t count;

        while (*line == ' ')
            line++;
        if (!isdigit((unsigned char)*line))
            return;
        count = strtoull(line, &end, 10);
        if (i == column)
            row->count = count;
        line = end;
    }
    for (length = 0; *line && *line != '\n' && length < sizeof row->description - 1; line++) {
        blank = *line == ' ' ? blank + 1 : 0;
        if (blank < 2 && (length || *line != ' '))
            row->description[length++] = *line;
    }
    snapshot->row_count++;
}

void counters_parse_interrupts(struct counters_snapshot *snapshot, uint32_t cpu, const char *text)
{
    int columns, column = column_find(text, cpu, &columns);

    snapshot->source = COUNTERS_NONE;
    snapshot->cpu = cpu;
    snapshot->row_count = 0;
    if (column < 0)
        return;
    snapshot->source = COUNTERS_PROC_INTERRUPTS;
    while ((text = strchr(text, '\n')) && *++text && snapshot->row_count < COUNTERS_ROWS)
        interrupts_row_parse(snapshot, text, column, columns);
}

/* Reads a whole file into `text` as a string; false if it cannot be read. */
static bool file_read(const char *path, char *text, size_t room)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    ssize_t got = -1;

    if (file < 0)
        return false;
    while (length < room - 1 && (got = read(file, text + length, room - 1 - length)) > 0)
        length += (size_t)got;
    close(file);
    text[length] = 0;
    return length > 0 && got >= 0;
}

void counters_read(struct counters_snapshot *snapshot, uint32_t cpu)
{
    const volatile struct tacet_counters *counters = tacet_counters(cpu);

    snapshot->source = COUNTERS_NONE;
    snapshot->cpu = cpu;
    snapshot->row_count = 0;
    if (counters)
        tacet_read(snapshot, counters);
    else if (!tacet_node() && file_read("/proc/interrupts", snapshot->text, sizeof snapshot->text))
        counters_parse_interrupts(snapshot, cpu, snapshot->text);
}

/* Returns by how much `row` of `after` has grown since `before`. Rows keep their order, but Linux may insert
 * one. */
static uint64_t row_difference(const struct counters_snapshot *before, const struct counters_row *row)
{
    for (uint32_t i = 0; i < before->row_count; i++) {
        const struct counters_row *old = &before->rows[i];

        if (old->number == row->number && !strcmp(old->name, row->name))
            return row->count - old->count;
    }
    return row->count;
}

uint64_t counters_difference(const struct counters_snapshot *before, const struct counters_snapshot *after)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < after->row_count; i++)
        sum += row_difference(before, &after->rows[i]);
    return sum;
}

void counters_print(FILE *out, const struct counters_snapshot *before, const struct counters_snapshot *after)
{
    if (after->source == COUNTERS_NONE || before->source != after->source || before->cpu != after->cpu) {
        fprintf(out, "kernel_entries: not available\n");
        return;
    }
    fprintf(out, "kernel_entries: %llu\n", (unsigned long long)counters_difference(before, after));
    fprintf(out, "kernel_entries_source: %s\n",
            after->source == COUNTERS_TACET ? "tacet counters (system calls, exceptions, interrupts)"
                                            : "/proc/interrupts (interrupts only)");
    for (uint32_t i = 0; i < after->row_count; i++) {
        const struct counters_row *row = &after->rows[i];
        unsigned long long gained = row_difference(before, row);

        if (!gained)
            continue;
        if (after->source == COUNTERS_TACET && !strcmp(row->name, "system_call"))
            fprintf(out, "kernel_entries_%s: %llu\n", row->name, gained);
        else if (after->source == COUNTERS_TACET)
            fprintf(out, "kernel_entries_%s_%u: %llu\n", row->name, row->number, gained);
        else if (row->number)
            fprintf(out, "kernel_entries_%s_%u: %llu (%s)\n", row->name, row->number, gained,
                    row->description);
        else
            fprintf(out, "kernel_entries_%s: %llu (%s)\n", row->name, gained, row->description);
    }
}
