/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * smi.c: the processor's count of system management interrupts (Intel SDM 4, MSR 0x34), or the reason why a
 * program cannot read it.
 */
#define _GNU_SOURCE
#include "smi.h"

#include "tacet.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define MSR_SMI_COUNT 0x34

#if defined(__x86_64__)
#include <cpuid.h>

/* Returns why this processor has no such register; NULL if it has. */
static const char *processor_refuses(void)
{
    uint32_t eax, ebx, ecx, edx;

    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) && ecx >> 31)
        return "absent: a virtual machine (QEMU and the like) has no SMI counter";
    if (!__get_cpuid(0, &eax, &ebx, &ecx, &edx) || ebx != signature_INTEL_ebx || edx != signature_INTEL_edx ||
        ecx != signature_INTEL_ecx)
        return "absent: only Intel's processors have MSR 0x34";
    return NULL;
}
#else
static const char *processor_refuses(void)
{
    return "absent: this architecture has no system management interrupts";
}
#endif

void smi_read(struct smi_reading *reading, uint32_t cpu)
{
    char path[40];
    uint64_t value;
    ssize_t got;
    int file;

    reading->known = false;
    reading->count = 0;
    reading->why_not = processor_refuses();
    if (reading->why_not)
        return;
    if (tacet_node()) {
        reading->why_not = "Tacet does not offer MSR 0x34 to programs";
        return;
    }
    snprintf(path, sizeof path, "/dev/cpu/%u/msr", cpu);
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        reading->why_not = errno == ENOENT ? "no /dev/cpu/N/msr: load Linux's module msr"
                                           : "no right to read /dev/cpu/N/msr: run as root";
        return;
    }
    got = pread(file, &value, sizeof value, MSR_SMI_COUNT);
    close(file);
    if (got != (ssize_t)sizeof value) {
        reading->why_not = "absent: the processor refuses MSR 0x34";
        return;
    }
    reading->known = true;
    reading->count = (uint32_t)value; /* bits 31:0 hold the count */
}

void smi_print(FILE *out, const struct smi_reading *before, const struct smi_reading *after)
{
    if (!before->known || !after->known) {
        fprintf(out, "smi: not available\nsmi_source: %s\n",
                before->why_not ? before->why_not : "lost during the window");
        return;
    }
    fprintf(out, "smi: %u (from %u to %u)\nsmi_source: MSR 0x34\n", after->count - before->count,
            before->count, after->count);
}
