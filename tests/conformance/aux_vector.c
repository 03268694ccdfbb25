/* SPDX-License-Identifier: BSD-2-Clause */
/* aux_vector.c: what the kernel passes to a program at its start, and the vDSO that serves the clock. */
#include "conform.h"

#include <elf.h>

CONFORM(aux_vector)
{
    const unsigned char *vdso = (const unsigned char *)getauxval(AT_SYSINFO_EHDR);
    const char *name = (const char *)getauxval(AT_EXECFN);
    struct timespec a, b;

    result("AT_PAGESZ", (long)getauxval(AT_PAGESZ));
    result("AT_CLKTCK", (long)getauxval(AT_CLKTCK));
    result("AT_SECURE", (long)getauxval(AT_SECURE));
    result("AT_UID", (long)getauxval(AT_UID));
    result("AT_PHENT", (long)getauxval(AT_PHENT));
    holds("AT_PHDR", getauxval(AT_PHDR) && getauxval(AT_PHNUM) > 2);
    holds("AT_ENTRY", getauxval(AT_ENTRY));
    holds("AT_RANDOM", getauxval(AT_RANDOM));
    holds("AT_HWCAP", getauxval(AT_HWCAP));
    holds("AT_EXECFN", name && name[0]);
    text("AT_PLATFORM", (const char *)getauxval(AT_PLATFORM));
    holds("AT_SYSINFO_EHDR", vdso && memcmp(vdso, "\177ELF\2\1", 6) == 0 && vdso[EI_CLASS] == ELFCLASS64);
    clock_gettime(CLOCK_MONOTONIC, &a);
    sys(SYS_clock_gettime, CLOCK_MONOTONIC, &b);
    holds("the library's clock is the kernel's",
          (b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec < 60000000000 &&
              (b.tv_sec > a.tv_sec || b.tv_nsec >= a.tv_nsec));
    holds("sysconf(_SC_NPROCESSORS_ONLN)", sysconf(_SC_NPROCESSORS_ONLN) == 4);
}
