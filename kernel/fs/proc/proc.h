/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc.h: the pseudo files of /proc and /sys. docs/abi.md tells which there are and what they count.
 */
#ifndef TACET_PROC_H
#define TACET_PROC_H

#include "mm/page_pool.h"
#include "fs/text_file.h"

/* Adds them to the tree; the names of CPUs come from `pool`. -ENOMEM. */
int proc_add(struct tree *tree, struct page_pool *pool, struct message *why);
/* What proc_add takes of the pool at most, the tree's nodes included. */
uint64_t proc_pool_bytes(void);

/* Links that are others for each process; what one says: its length, or an error. proc_links.c */
int proc_links_add(struct tree *tree, struct message *why);
int64_t proc_link_text(const struct tree *tree, const struct inode *link, char *text, size_t bytes);

bool inode_is_of_proc(const struct inode *inode);
int proc_bind(struct file *file); /* -ENOMEM */

/* A kind of file: what makes it, or its constant text; what takes what is written to it. */
struct proc_file {
    const char *path;
    void (*make)(struct file *file);
    const char *text;
    const struct file_operations *operations; /* NULL: read-only */
};

/* The tables of proc_self.c and proc_tacet.c end with a NULL path. */
extern const struct proc_file proc_self_files[], proc_tacet_files[];

/* Times as Linux tells them there, in hundredths of a second. */
uint64_t clock_ticks_of(uint64_t ns);

/* "0-3,8" of a mask of CPUs. */
void text_add_cpus(struct file *file, uint64_t cpus);

#endif
