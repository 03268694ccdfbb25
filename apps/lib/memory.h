/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.h: memory for a measuring window. [Tsafrir05 §3.1, footnote 2]: the array is written beforehand, so
 * that its first use inside the window faults no page in.
 */
#ifndef MEMORY_H
#define MEMORY_H

#include <stddef.h>

/*
 * `bytes` of zeroed memory that will not fault: touched, and locked where the system can. NULL if there is
 * none. Enters the kernel; never call it inside a window.
 */
void *memory_ready(size_t bytes);

#endif /* MEMORY_H */
