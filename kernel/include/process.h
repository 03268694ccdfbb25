/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process.h: the one process of a CPU: a rank of the job.
 */
#ifndef TACET_PROCESS_H
#define TACET_PROCESS_H

#include "file.h"
#include "page_pool.h"
#include "signal_numbers.h"
#include "tree.h"
#include "vm.h"

#define PROCESS_NAME_BYTES 16   /* Linux's TASK_COMM_LEN */
#define PROCESS_LINE_BYTES 1024 /* longer lines of a rank may be broken by others' */

/* Where the program and what it was given lie in its memory. */
struct process_image {
    uint64_t bias;                         /* its addresses less those in its file; 0 but for a static-PIE */
    uint64_t low, high;                    /* of its segments, page-aligned */
    uint64_t arguments, arguments_end;     /* strings, one behind the other */
    uint64_t environment, environment_end; /* the same */
    uint64_t auxiliary, auxiliary_end;     /* vector */
};

struct process {
    uint64_t pid;
    unsigned rank;
    struct page_pool pages; /* its slice */
    struct vm vm;
    struct file_table files;
    struct tree *tree;
    struct tree_node *directory; /* current */
    struct tree_node *program;
    const char *program_path;
    struct process_image image;
    char name[PROCESS_NAME_BYTES];
    char path[TREE_PATH_MAX];       /* of the system call that runs; too large for the kernel's stack */
    uint64_t stack_low, stack_high; /* the main stack */
    uint64_t start_ns;
    uint64_t idle_ns; /* of the time since then, slept */
    uint64_t signal_mask;
    uint64_t signals_ignored;   /* a bit each: SIG_IGN */
    uint64_t signals_pending;   /* a bit each: sent while they were blocked */
    uint64_t clear_tid_address; /* set_tid_address, set_robust_list: kept for a second thread */
    uint64_t robust_list;
    uint64_t latency_bound_ns; /* of its timers: latency_bound=, or what prctl(PR_SET_TIMERSLACK) says */
    bool prefix;               /* lines of its output begin with its rank */
    struct process_line {
        char text[PROCESS_LINE_BYTES];
        size_t used;
        bool continues; /* what comes next belongs to a line whose beginning is out already */
    } lines[2];         /* of stdout, stderr, with `prefix`: what has come of the present line */
};

struct process_arguments {
    const char *path; /* of the program in the tree */
    const char *name; /* argv[0]; its last component names the process */
    const char *const *arguments;
    unsigned argument_count;
    const char *const *environment;
    unsigned environment_count;
    uint64_t stack_bytes;
    bool prefix; /* lines of output begin with the rank's number */
};

/* Makes the process of a rank, in its own slice, standard streams open. -ENOMEM with `why`. */
int process_create(unsigned rank, const struct memory_slice *slice, struct tree *tree,
                   const struct process_arguments *given, struct process **out, struct message *why);

/* Loads the program (kernel/load.c): segments with their rights, stack with arguments, environment and
 * auxiliary vector. Its address space must be active. -ENOEXEC, -ENOMEM, -E2BIG with `why`. */
int process_load(struct process *process, struct tree_node *program, const struct process_arguments *given,
                 uint64_t *entry, uint64_t *stack, struct message *why);

/* Of the process that this CPU runs: its CPUs, a bit each; its time in the program and in the kernel since its
 * start, idle time in neither; a limit of Linux's RLIMIT_ numbers, -EINVAL. */
uint64_t process_cpus(void);
void process_times(uint64_t *user_ns, uint64_t *system_ns);
struct linux_rlimit;
int process_limit(uint64_t resource, struct linux_rlimit *limit);

/* The end of the process that this CPU runs. */
_Noreturn void process_exit(unsigned status);
_Noreturn void process_kill(int signal);

#endif
