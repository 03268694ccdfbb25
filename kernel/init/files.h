/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * files.h: the file tree of a job: what the boot modules bring, devices, pseudo files, mounts. It is built
 * from memory of its own, so that another job gets a new one.
 */
#ifndef TACET_INIT_FILES_H
#define TACET_INIT_FILES_H

#include "fs/tree/tree.h"
#include "lib/boot_info.h"

/* Returns an upper bound of the memory, in bytes, that a tree takes before programs run. */
uint64_t files_memory_bytes(const struct boot_info *boot);

/* Takes that memory from the kernel's pool, once. */
void files_start(const struct boot_info *boot);

/* Builds the tree, as at boot: nothing of the tree before is left. Mounts that were made since boot are in
 * it. On the first CPU, without processes. Stops the node if an archive is bad. */
struct tree *files_build(void);

#endif
