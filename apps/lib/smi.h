/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * smi.h: how many system management interrupts a CPU has taken (Intel SDM 4, MSR_SMI_COUNT, 0x34). The
 * firmware handles them below the kernel, so no kernel counter shows them. They are detours all the same: a
 * noise figure from real hardware needs their count with it.
 *
 * Only Intel processors have the register, and only a kernel can read it. Linux offers it to root as
 * /dev/cpu/N/msr. Reading it takes system calls, so read it outside the window.
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
