/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * load.h: loading a program into the memory of a process.
 */
#ifndef TACET_LOAD_H
#define TACET_LOAD_H

#include "process/process.h"

#define PROGRAM_NUMBERS_MAX 4

/* A program of the tree, and what it is started with. */
struct program {
    const char *path;
    struct inode *inode;
    const char *const *arguments;
    unsigned argument_count;
    const char *const *environment;
    unsigned environment_count;
    /* Variables that follow these, of the rank alone, whose values are numbers. */
    struct {
        const char *name;
        unsigned value;
    } numbers[PROGRAM_NUMBERS_MAX];
    unsigned number_count;
    /* Then the variables that other launchers set to the rank. */
    const char *const *rank_names;
    unsigned rank_name_count;
    unsigned rank;
    uint64_t stack_bytes;
    bool stack_is_data; /* execstack=off: refused if its file asks for an executable one */
};

/* Loads it into this CPU's process, whose address space must be active: segments with their rights, and a
 * stack with arguments, environment and auxiliary vector. -ENOEXEC, -ENOMEM, -E2BIG with `why`. */
int program_load(struct process *process, const struct program *program, uint64_t *entry, uint64_t *stack,
                 struct message *why);

#endif
