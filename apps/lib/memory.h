/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.h: memory for a measuring window. It is written before the window, so that its first use inside
 * causes no page fault [Tsafrir05 §3.1, footnote 2].
 */
#ifndef MEMORY_H
#define MEMORY_H

#include <stddef.h>

/*
 * Allocates `bytes` of zeroed memory that will not fault: touched, and locked if the system can. Returns NULL
 * if there is none. Enters the kernel; do not call it inside a window.
 */
void *memory_ready(size_t bytes);

#endif /* MEMORY_H */
