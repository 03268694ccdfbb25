/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc.h: the pseudo files of /proc and /sys. docs/abi.md lists them, and what they count.
 */
#ifndef TACET_PROC_H
#define TACET_PROC_H

#include "fs/text_file.h"
#include "lib/command_line.h"
#include "smp/cpu_mask.h"

/* Adds them to the tree, when all CPUs run. -ENOMEM with `why`. */
int proc_add(struct tree *tree, struct message *why);
/* Upper bound of what proc_add, and what adds /dev, /etc and net/, add to the tree. */
#define PROC_ENTRIES_MAX 280

/* ---- For the files of this folder ---- */

/* What /proc/cmdline shows; set before the tree is built. */
extern const struct command_line *proc_command_line;

/* inode.device of all files here; 0 means a plain file. */
#define PROC_DEVICE 0x100U

struct proc_file {
    const char *path;
    void (*make)(struct file *file); /* writes the contents, at each open; NULL: they are `text` */
    union {
        const char *text;
        unsigned of;                                                  /* one of the texts of `make` */
        void (*mask)(const struct file *file, struct cpu_mask *mask); /* by list_text or words_text */
        void (*describe)(struct text_sink *sink);                     /* by described_text */
    };
    int (*command)(const char *line);         /* executes a line that a program writes, or NULL */
    const struct file_operations *operations; /* NULL: those for reading, and for `command` */
};

/* These tables end with a NULL path. */
extern const struct proc_file proc_self_files[], proc_tacet_files[], proc_socket_files[];

/* Writes the mask that the file's row has a function for, which is empty at first, as a list or in words. */
void list_text(struct file *file);
void words_text(struct file *file);

/* Adds the files of a table that ends with a NULL path; the paths begin in `directory`. False with `why`;
 * also if `directory` is NULL, because making that failed. */
bool proc_files_add(struct tree *tree, struct inode *directory, const struct proc_file *file,
                    struct message *why);

/* Adds the links and directories that differ from process to process; those of CPUs and NUMA domains. False
 * with `why`. links.c, machine.c */
bool proc_links_add(struct tree *tree, struct message *why);
bool proc_machine_add(struct tree *tree, struct message *why);

/* A kind of numbered entries of a directory; `inode` stands for all of them. numbered.c */
struct numbered {
    const char *name;               /* what precedes the number, as "cpu" */
    uint32_t first;                 /* the tid of number 0 */
    uint32_t (*next)(uint32_t tid); /* returns the tid of the first from this one on; 0: there is none */
    const struct inode_operations *links; /* of symbolic links; NULL: the entries are directories */
    struct inode *inode;
    struct directory_entry entry;
};

/* Gives the directory at a path, which it makes if need be, numbered entries. NULL with `why`. */
struct inode *numbered_add(struct tree *tree, const char *path, uint32_t mode, struct numbered *kind,
                           struct message *why);

/* Adds a directory, whose path begins in another one, with the files of a table. NULL with `why`. */
struct inode *proc_directory_add(struct tree *tree, struct inode *parent, const char *path,
                                 const struct proc_file *files, struct message *why);

/* Converts a time to Linux's unit for user space, hundredths of a second. */
uint64_t clock_ticks_of(uint64_t ns);

/* Appends a mask of CPUs, or of NUMA domains, as a line: "0-3,8". */
void text_add_cpus(struct file *file, struct cpu_mask cpus);

/* Appends a mask as Linux writes it: a bit for each of `count`, highest first, in groups of 32. */
void text_add_words(struct file *file, const struct cpu_mask *mask, unsigned count);

#endif
