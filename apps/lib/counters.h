/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counters.h: how often a CPU entered the kernel during a measuring window, by cause.
 *
 * - Tacet: the kernel's counters of tacet.h, read without entering the kernel.
 * - Linux: the CPU's column of /proc/interrupts: interrupts only, no system calls or page faults. Reading it
 *   takes system calls, so read it outside the window.
 * - Elsewhere: nothing is counted, and the source is COUNTERS_NONE.
 */
#ifndef COUNTERS_H
#define COUNTERS_H

#include <stdint.h>
#include <stdio.h>

enum counters_source { COUNTERS_NONE, COUNTERS_TACET, COUNTERS_PROC_INTERRUPTS };

#define COUNTERS_ROWS       400
#define COUNTERS_TEXT_BYTES (256 * 1024)

/* One cause and its count. */
struct counters_row {
    char name[12];        /* "system_call", "exception", "interrupt", or Linux's row name, "LOC" */
    char description[40]; /* Linux's text, "Local timer interrupts"; else empty */
    uint32_t number; /* Tacet: of the exception or interrupt. Linux: earlier rows of the same name */
    uint64_t count;
};

/* The counters of one CPU at one moment. Large: allocate it, touch it before the window. */
struct counters_snapshot {
    enum counters_source source;
    uint32_t cpu;
    uint32_t row_count;
    struct counters_row rows[COUNTERS_ROWS];
    char text[COUNTERS_TEXT_BYTES]; /* contents of /proc/interrupts */
};

/* Reads the counters of CPU `cpu` from the source that this system has. */
void counters_read(struct counters_snapshot *snapshot, uint32_t cpu);

/* Reads them from a text in the form of /proc/interrupts; source NONE if it lacks the CPU's column. Pure. */
void counters_parse_interrupts(struct counters_snapshot *snapshot, uint32_t cpu, const char *text);

/* Returns the kernel entries, of all causes, between two snapshots of one CPU. A row that the first snapshot
 * lacks counts from 0. */
uint64_t counters_difference(const struct counters_snapshot *before, const struct counters_snapshot *after);

/* Prints `kernel_entries: …`, its source, and one line for each cause that is not zero. */
void counters_print(FILE *out, const struct counters_snapshot *before, const struct counters_snapshot *after);

#endif /* COUNTERS_H */
