/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counters.h: how often a CPU entered the kernel during a measuring window, by cause. On Tacet these are the
 * kernel's counters of tacet.h, read without entering the kernel; on Linux the CPU's column of
 * /proc/interrupts, which knows interrupts only (no system call, no page fault) and whose reading is itself
 * system calls, so that it belongs outside the window. Elsewhere the source is COUNTERS_NONE and nothing is
 * counted.
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
    uint32_t number; /* of the exception or interrupt on Tacet; on Linux, rows before it of the same name */
    uint64_t count;
};

/* The counters of one CPU at one moment. Large: allocate it, touch it before the window. */
struct counters_snapshot {
    enum counters_source source;
    uint32_t cpu;
    uint32_t row_count;
    struct counters_row rows[COUNTERS_ROWS];
    char text[COUNTERS_TEXT_BYTES]; /* where /proc/interrupts is read to */
};

/* Reads the counters of CPU `cpu`, from whichever source this system has. */
void counters_read(struct counters_snapshot *snapshot, uint32_t cpu);

/* The same from a text in the form of /proc/interrupts; source NONE when it has no such column. Pure. */
void counters_parse_interrupts(struct counters_snapshot *snapshot, uint32_t cpu, const char *text);

/* Sum of all causes between two snapshots of one CPU; a row that the first lacks counts from 0. */
uint64_t counters_difference(const struct counters_snapshot *before, const struct counters_snapshot *after);

/* Prints `kernel_entries: …`, its source, and one line for each cause that is not zero. */
void counters_print(FILE *out, const struct counters_snapshot *before, const struct counters_snapshot *after);

#endif /* COUNTERS_H */
