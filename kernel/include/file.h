/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file.h: open files and the table of descriptors.
 *
 * What a descriptor can do depends on its kind: `struct file_operations`. An operation that is NULL answers
 * as Linux would: reading EBADF or EISDIR, seeking ESPIPE. Addresses are the program's.
 */
#ifndef TACET_FILE_H
#define TACET_FILE_H

#include "tree.h"
#include <stdbool.h>

#define FILE_DESCRIPTORS_MAX 256

struct file;

struct file_operations {
    int64_t (*read)(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset);
    int64_t (*write)(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset);
    uint64_t (*size)(const struct file *file); /* NULL: not seekable */
    void (*release)(struct file *file);        /* when the last descriptor is closed */
    bool terminal;
};

struct file {
    const struct file_operations *operations;
    struct tree_node *node; /* NULL for the standard streams */
    uint64_t offset;
    unsigned flags; /* Linux's O_ flags that F_GETFL tells */
    unsigned references;
    uint32_t mode;   /* S_IFMT bits and permissions, for stat */
    unsigned device; /* which stream or device */
    char *text;      /* contents made at open, for pseudo files */
    uint64_t text_bytes, text_capacity;
};

struct file_table {
    struct file *descriptors[FILE_DESCRIPTORS_MAX];
    bool close_on_exec[FILE_DESCRIPTORS_MAX];
    struct file files[FILE_DESCRIPTORS_MAX];
};

struct process;

/* The open file behind a descriptor, or NULL. */
struct file *file_get(struct process *process, uint64_t descriptor);

/* A free descriptor at or above `lowest` that is made to stand for `file`; -EMFILE. */
int file_install(struct process *process, struct file *file, unsigned lowest, bool close_on_exec);

/* An unused open file with one reference to come, or NULL. */
struct file *file_allocate(struct process *process);

int file_close(struct process *process, uint64_t descriptor);

/* Opens the three standard streams. */
void file_open_streams(struct process *process);

/* Hands out what a process has written of lines that have not ended. devices.c */
void file_streams_flush(struct process *process);

/* Gives `file` the operations of its node's kind; makes a pseudo file's contents. -ENOMEM, -ENXIO. devices.c
 */
int file_bind(struct process *process, struct file *file);

/* Whether a read would answer at once. devices.c */
bool file_input_ready(const struct file *file);

/* Adds /dev to the tree. devices.c */
int devices_add(struct tree *tree, struct message *why);

#endif
