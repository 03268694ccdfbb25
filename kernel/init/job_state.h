/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * job_state.h: what the files of a job share: job.c (ranks on their CPUs), job_line.c (a job of the command
 * line), job_launch.c (jobs of tacetrun, one after the other), job_program.c (its program). The first CPU
 * sets it up between jobs; it is constant while one runs, except what is marked.
 */
#ifndef TACET_JOB_STATE_H
#define TACET_JOB_STATE_H

#include "init/load.h"
#include "mm/memplan.h"

struct job {
    struct program program; /* each rank adds variables to its environment */
    bool prefix;
    unsigned cores;               /* cores of each rank; 0: an equal part of all */
    uint32_t number, first, size; /* for a job of tacetrun's: docs/jobs.md */

    struct memplan *plan;
    struct tree *tree;
    const char *directory_path; /* cwd=, or NULL */
    struct inode *directory;    /* the directory in which every rank starts */
    uint64_t started;           /* how many jobs have begun so far; atomic */

    struct program service; /* no service if its path is NULL */
    uint32_t service_policy;
    struct memory_slice service_slice;

    unsigned running;      /* ranks that have not ended; atomic */
    unsigned worst_status; /* highest status of the ranks that have ended; atomic */
    unsigned end_status;   /* of the rank that has ended the others; 0: none has; atomic */
    unsigned at_home;      /* CPUs that have nothing to do with this job any more; atomic */
    bool is_killed;        /* atomic */
};

extern struct job job;

/* ---- job.c ---- */

/* Starts the ranks on all CPUs, this one included. */
_Noreturn void job_begin(void);

/* Ends all ranks, as by SIGKILL, also those that are about to begin. On any CPU, no locks held. */
void job_kill(void);

/* ---- job_program.c ---- */

/* Finds the program of `path`, which `option` names in messages. A file on a mount is copied into memory that
 * is taken from the first rank's slice. -ENOENT, -EINVAL, -ENOMEM, -EIO with `why`. */
int program_find(const char *option, const char *path, struct inode **program, struct message *why);

/* Finds the working directory: `path`; if that is NULL, the root if files can be made in it, else /tmp.
 * -EINVAL with `why`. */
int directory_find(const char *path, struct inode **directory, struct message *why);

/* Makes /proc/self/exe a link to `path`, which must live as long as the tree. -ENOMEM with `why`. */
int program_link(const char *path, struct message *why);

/* ---- job_launch.c ---- */

/* Waits for the next job, and begins it: on the first CPU, between two jobs, on its own stack. */
_Noreturn void job_next(void);

/* Does the same after a job has ended: first leaves everything as it was before. */
_Noreturn void job_finish(void);

#endif
