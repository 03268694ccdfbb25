/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * eventfd.h: event counters between the threads of a process, eventfd(2).
 */
#ifndef TACET_EVENTFD_H
#define TACET_EVENTFD_H

#include "fs/file.h"

/* Makes `file`, new from file_allocate, an event counter. Of `flags`, O_NONBLOCK and EFD_SEMAPHORE count. */
void eventfd_initialise(struct file *file, uint32_t value, unsigned flags);

#endif
