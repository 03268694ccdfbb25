/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * priority.c: hardware priorities of threads: x86_64 has none.
 */
#include "arch.h"

unsigned arch_priority_max(void)
{
    return 0;
}

unsigned arch_priority(const struct arch_context *context)
{
    (void)context; /* there is none in it */
    return 0;
}

void arch_priority_set(unsigned priority)
{
    (void)priority; /* no thread has one */
}
