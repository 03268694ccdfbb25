/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * smi.h: how many system management interrupts a CPU has taken (Intel SDM 4, MSR_SMI_COUNT, 0x34). The
 * firmware takes them below every kernel: no kernel's counter shows them, and they are detours all the same,
 * so a noise figure from real hardware needs them beside it.
 *
 * The register is Intel's and can be read by a kernel only. Linux hands it to root as /dev/cpu/N/msr. Reading
 * it is system calls: it belongs outside the window.
 */
#ifndef SMI_H
#define SMI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The count at one moment, or why there is none. */
struct smi_reading {
    bool known;
    uint32_t count;
    const char *why_not; /* if not known */
};

/* Reads the count of CPU `cpu`. */
void smi_read(struct smi_reading *reading, uint32_t cpu);

/* Prints `smi: COUNT` and `smi_source: …`, or `smi: not available` and the reason. */
void smi_print(FILE *out, const struct smi_reading *before, const struct smi_reading *after);

#endif /* SMI_H */
