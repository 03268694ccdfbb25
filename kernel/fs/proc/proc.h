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
/* Returns an upper bound of the memory that proc_add takes, before it is known how many CPUs run. */
uint64_t proc_memory_bytes(void);

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
        uint64_t (*number)(const struct file *file);                  /* the contents, by number_text */
        void (*mask)(const struct file *file, struct cpu_mask *mask); /* by list_text or words_text */
        void (*describe)(struct text_sink *sink);                     /* by described_text */
    };
    int (*command)(const char *line);         /* executes a line that a program writes, or NULL */
    const struct file_operations *operations; /* NULL: those for reading, and for `command` */
};

/* These tables end with a NULL path. */
extern const struct proc_file proc_self_files[], proc_tacet_files[], proc_machine_files[],
    proc_socket_files[];

/* Writes what the file's row has a function for: a number; a mask, which is empty at first, as a list or in
 * words. */
void number_text(struct file *file);
void list_text(struct file *file);
void words_text(struct file *file);

/* Adds the files of a table that ends with a NULL path. -ENOMEM with `why`. */
int proc_files_add(struct tree *tree, const struct proc_file *file, struct message *why);

/* Adds the links that differ from process to process. links.c */
int proc_links_add(struct tree *tree, struct message *why);

/* Adds the directories of threads. task.c */
int proc_tasks_add(struct tree *tree, struct message *why);

/* Adds the directories of CPUs and NUMA domains. machine.c */
int proc_machine_add(struct tree *tree, struct message *why);

/* A kind of numbered entries of a directory; `inode` stands for all of them. numbered.c */
struct numbered {
    const char *name;               /* what precedes the number, as "cpu" */
    uint32_t first;                 /* the tid of number 0 */
    uint32_t (*next)(uint32_t tid); /* returns the tid of the first from this one on; 0: there is none */
    struct inode *inode;
    struct directory_entry entry;
};

/* Gives a directory the numbered entries of a kind. False with `why`. */
bool numbered_add(struct tree *tree, struct inode *directory, struct numbered *kind, struct message *why);

/* Adds an inode to a directory; with `copy`, copies its name. NULL with `why`. */
struct inode *proc_inode_add(struct tree *tree, struct inode *directory, const char *name, bool copy,
                             uint32_t mode, struct message *why);

/* Adds a file to a directory. False with `why`; also if `directory` is NULL, because making that failed. */
bool proc_made_add(struct tree *tree, struct inode *directory, const char *name, const struct proc_file *file,
                   struct message *why);

/* Adds a directory, whose name is copied, with the files of a table, whose paths are names in it. NULL with
 * `why`; also if `parent` is NULL. */
struct inode *proc_directory_add(struct tree *tree, struct inode *parent, const char *name,
                                 const struct proc_file *files, struct message *why);

/* Converts a time to Linux's unit for user space, hundredths of a second. */
uint64_t clock_ticks_of(uint64_t ns);

/* Appends a mask of CPUs, or of NUMA domains, as a line: "0-3,8". */
void text_add_cpus(struct file *file, struct cpu_mask cpus);

/* Appends a mask as Linux writes it: a bit for each of `count`, highest first, in groups of 32. */
void text_add_words(struct file *file, const struct cpu_mask *mask, unsigned count);

#endif
