/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * entry.c: at its first instruction a program finds its registers zero and its vector state initial: nothing
 * of the kernel's or the boot loader's. Afterwards, a system call changes what it changes on Linux and
 * nothing else. Without any library. Status 0, or a number that says what did not hold.
 */
#if defined(__x86_64__)
#include "entry_x86_64.h"
#else
#include "entry_ppc64.h"
#endif
