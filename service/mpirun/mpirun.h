/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mpirun.h: what the parts of tacet-mpirun share. It runs a program as several ranks on this machine, and is
 * their PMI server: one thread, which waits for nothing but its event loop, so that no rank delays another.
 *
 *     mpirun.c      the job from beginning to end, and what ends it early
 *     options.c     the command line
 *     rank.c        a rank: its descriptors, environment and CPU, and the start of its program
 */
#ifndef TACET_SERVICE_MPIRUN_H
#define TACET_SERVICE_MPIRUN_H

#include "service/lib/clock.h"
#include "service/lib/event_loop.h"
#include "service/lib/launch_cpus.h"
#include "service/lib/pmi_server.h"
#include "service/lib/say.h"
#include "service/lib/status.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#define STATUS_NOT_RUN   126 /* the program cannot be started */
#define STATUS_NOT_FOUND 127 /* there is no such program */
#define STATUS_NOT_CLEAN 1   /* a rank has broken PMI's rules, and not said how it ends */
#define RANKS_MAX        1024

/* ---- The command line ---- */

/* Ranks that run one program: one of those that ':' parts. */
struct program {
    char **words;           /* its name and its arguments */
    const char **variables; /* NAME=VALUE */
    unsigned variable_count;
    uint32_t ranks; /* 0: not said */
};

struct plan {
    struct program *programs;
    unsigned program_count;
    uint32_t ranks, nodes;
    enum { BIND_IF_ENOUGH, BIND_ALWAYS, BIND_NEVER } bind;
    bool is_labelled;
    uint32_t stdin_rank; /* PMI_RANK_NONE */
    uint64_t timeout_ns; /* 0: no limit */
};

/* Reads the words into run.plan; those that are wrong end the program with status 2. */
void plan_read(int count, char **words, unsigned cpus);

/* ---- The job ---- */

/* Why a job ends early. Where several reasons come to light in the same moment, the first of these is the
 * cause, and the others follow from it: a rank whose neighbour has crashed aborts. */
enum reason {
    REASON_TOLD, /* by the user, or nothing else can be done */
    REASON_SIGNAL,
    REASON_ABORT,
    REASON_PMI, /* it does not keep to the protocol */
    REASON_STATUS,
    REASON_NO_FINALIZE,
    REASON_STUCK, /* ranks wait for one that has ended */
    REASON_NONE
};

struct rank {
    pid_t pid; /* 0: it has not been started, or it has ended */
    const struct program *program;
    uint32_t local; /* its number on its node */
    bool has_ended;
};

extern struct run {
    struct plan plan;
    struct event_loop loop;
    struct launch_cpus cpus;
    struct pmi_server pmi;
    struct rlimit descriptors; /* as this program was started with */
    struct rank *ranks;
    uint32_t ended_count;
    uint64_t now_ns;
} run;

/* The job is to end with this status. It does at the end of the loop's turn: a stronger reason may come. */
__attribute__((format(printf, 4, 5))) void run_end(enum reason reason, uint32_t rank, int status,
                                                   const char *format, ...);

/* ---- Ranks ---- */

/* A rank's ends of what connects it, between fork and exec. */
struct rank_ends {
    int pmi, in, out, err;
    int problems; /* a struct rank_problem, where it cannot start; the program closes it */
};

struct rank_problem {
    int error, status;
    char doing[64];
};

/* Starts a rank. 0, or the status with which the program is to end: it has been said why. */
int rank_start(uint32_t number);

#endif
