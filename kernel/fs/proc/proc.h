/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc.h: the pseudo files of /proc and /sys. docs/abi.md lists them, and what they count.
 */
#ifndef TACET_PROC_H
#define TACET_PROC_H

#include "fs/text_file.h"
#include "smp/cpu_mask.h"

/* Adds them to the tree, when all CPUs run. -ENOMEM with `why`. */
int proc_add(struct tree *tree, struct message *why);
/* Returns an upper bound of the memory that proc_add takes, before it is known how many CPUs run. */
uint64_t proc_memory_bytes(void);

/* ---- For the files of this folder ---- */

/* inode.device of all files here; 0 means a plain file. */
#define PROC_DEVICE 0x100U

struct proc_file {
    const char *path;
    void (*make)(struct file *file); /* writes the contents, at each open; NULL: they are `text` */
    const char *text;
    int (*command)(const char *line);         /* executes a line that a program writes, or NULL */
    const struct file_operations *operations; /* NULL: those for reading, and for `command` */
    void (*describe)(struct text_sink *sink); /* writes the contents, if `make` is described_text */
};

/* The tables of self.c and tacet.c end with a NULL path. */
extern const struct proc_file proc_self_files[], proc_tacet_files[];

/* Adds the files of a table that ends with a NULL path. -ENOMEM with `why`. */
int proc_files_add(struct tree *tree, const struct proc_file *file, struct message *why);

/* Adds the links that differ from process to process. links.c */
int proc_links_add(struct tree *tree, struct message *why);

/* Adds the directories of threads. task.c */
int proc_tasks_add(struct tree *tree, struct message *why);

/* Adds an inode to a directory; with `copy`, copies its name. NULL with `why`. */
struct inode *proc_inode_add(struct tree *tree, struct inode *directory, const char *name, bool copy,
                             uint32_t mode, struct message *why);

/* Adds a file whose contents are made when it is opened. False with `why`; also if `directory` is NULL,
 * because making that failed. */
bool proc_made_add(struct tree *tree, struct inode *directory, const char *name, const struct proc_file *file,
                   struct message *why);

/* Converts a time to Linux's unit for user space, hundredths of a second. */
uint64_t clock_ticks_of(uint64_t ns);

/* Appends a mask of CPUs, or of NUMA domains, as a line: "0-3,8". */
void text_add_cpus(struct file *file, struct cpu_mask cpus);

/* Appends a mask as Linux writes it: a bit for each CPU of the node, highest first, in groups of 32. */
void text_add_cpu_words(struct file *file, const struct cpu_mask *cpus);

#endif
