/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process.h: a rank of the job: its memory, its files, and the threads that it has on its CPUs.
 */
#ifndef TACET_PROCESS_H
#define TACET_PROCESS_H

#include "smp/cpu_mask.h"
#include "fs/file.h"
#include "process/itimer.h"
#include "mm/memplan.h"
#include "mm/page_pool.h"
#include "process/signal.h"
#include "smp/spinlock.h"
#include "process/thread.h"
#include "fs/tree/tree.h"
#include "mm/vm.h"

#define PROCESS_NAME_BYTES 16      /* Linux's TASK_COMM_LEN */
#define PID_FIRST          1       /* pids are this plus the rank; */
#define PID_LAST           1000    /* threads but the first have tids above */
#define TID_LAST           4194303 /* Linux's largest */
#define PROCESS_LINE_BYTES 1024    /* longer lines of a rank may be broken by others' */

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
    uint64_t cpus;        /* a bit each: of its rank; a thread each at most */
    struct spinlock lock; /* guards which threads it has, and what follows up to `pages` */
    unsigned thread_count;
    struct thread *successors; /* in order, those that start when one of the others ends; not counted above */
    unsigned successor_count;
    bool ending; /* all threads are to end with exit_status */
    bool threads_refused;
    unsigned exit_status;
    uint64_t start_ns;
    struct cpu_time ended_time; /* of threads that have ended */
    struct process_signals signals;
    struct process_timers timers;
    struct page_pool pages; /* its slice */
    struct vm vm;
    struct file_table files;
    struct tree *tree;
    struct inode *directory; /* current; in use; under the tree's lock */
    struct inode *program;
    const char *program_path;
    struct process_image image;
    char name[PROCESS_NAME_BYTES];
    uint32_t umask;
    int nice;                       /* kept for whoever asks: nothing is preempted */
    uint64_t stack_low, stack_high; /* the main stack */
    bool barriers_registered;       /* membarrier */
    bool prefix;                    /* lines of its output begin with its rank */
    struct spinlock lines_lock;
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
    uint64_t cpus; /* of its rank */
    bool prefix;   /* lines of output begin with the rank's number */
};

/* Makes the process of a rank, in its own slice, standard streams open. -ENOMEM with `why`. */
int process_create(unsigned rank, const struct memory_slice *slice, struct tree *tree,
                   const struct process_arguments *given, struct process **out, struct message *why);

/* Loads the program (kernel/init/load.c): segments with their rights, stack with arguments, environment and
 * auxiliary vector. Its address space must be active. -ENOEXEC, -ENOMEM, -E2BIG with `why`. */
int process_load(struct process *process, struct inode *program, const struct process_arguments *given,
                 uint64_t *entry, uint64_t *stack, struct message *why);

/* Of all its threads, ended ones included. */
struct cpu_time process_time(struct process *process);

/* A limit of this CPU's process, of Linux's RLIMIT_ numbers; -EINVAL. */
struct linux_rlimit;
int process_limit(uint64_t resource, struct linux_rlimit *limit);
/* The process with this pid, NULL where there is none. Its memory stays, also when it ends. */
struct process *process_find(uint64_t pid);

/* Ends this thread's process, all its threads. */
_Noreturn void process_exit(unsigned status);
/* The same by the default action of a signal, with a report on where the program was: `frame`. */
_Noreturn void process_kill(const struct signal_info *info, const void *frame);
/* What its last thread does. */
_Noreturn void process_end(void);

#endif
