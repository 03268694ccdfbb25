/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * entry.c: at its first instruction a program has zero registers and an initial vector state, without
 * anything of the kernel or the boot loader. A system call changes the same registers as on Linux and no
 * others. Uses no library. Status 0, or the number of the check that failed.
 */
#if defined(__x86_64__)
#include "entry_x86_64.h"
#else
#include "entry_ppc64.h"
#endif
