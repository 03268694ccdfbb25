/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mpirun.h: declarations shared by the parts of tacet-mpirun, which runs a program as several ranks on this
 * machine and is their PMI server. One thread blocks only in its event loop, so that no rank delays another.
 *
 *     mpirun.c      the job from start to end, and what ends it early
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
#define STATUS_NOT_CLEAN 1   /* a rank has violated PMI's rules, without a status of its own */
#define RANKS_MAX        1024

/* ---- The command line ---- */

/* One of the programs that ':' separates, and its ranks. */
struct program {
    char **words;           /* name and arguments */
    const char **variables; /* NAME=VALUE */
    unsigned variable_count;
    uint32_t ranks; /* 0: not given */
};

struct plan {
    struct program *programs;
    unsigned program_count;
    uint32_t ranks, nodes;
    enum { BIND_IF_ENOUGH, BIND_ALWAYS, BIND_NEVER } bind;
    bool is_labelled;
    uint32_t stdin_rank; /* PMI_RANK_NONE: no rank */
    uint64_t timeout_ns; /* 0: no limit */
};

/* Reads the command line into run.plan; ends the program with status 2 if it is wrong. `cpus`: CPUs of this
 * process, the default number of ranks. */
void plan_read(int count, char **words, unsigned cpus);

/* ---- The job ---- */

/* Why a job ends early. If several reasons are found in the same turn, the first in this list counts: the
 * others follow from it. For example, a rank whose neighbour has crashed aborts. */
enum reason {
    REASON_TOLD, /* by the user; also a time limit, or output that cannot be written */
    REASON_SIGNAL,
    REASON_ABORT,
    REASON_PMI, /* a rank violates the protocol */
    REASON_STATUS,
    REASON_NO_FINALIZE,
    REASON_STUCK, /* ranks wait for one that has ended */
    REASON_NONE
};

struct rank {
    pid_t pid; /* 0: not started, or ended */
    const struct program *program;
    uint32_t local; /* its number on its node */
    bool has_ended;
};

extern struct run {
    struct plan plan;
    struct event_loop loop;
    struct launch_cpus cpus;
    struct pmi_server pmi;
    struct rlimit descriptors; /* the limit with which this program was started */
    struct rank *ranks;
    uint32_t ended_count;
    uint64_t now_ns;
} run;

/* Ends the job with this status at the end of the loop's turn, unless a stronger reason is found before. */
__attribute__((format(printf, 4, 5))) void run_end(enum reason reason, uint32_t rank, int status,
                                                   const char *format, ...);

/* ---- Ranks ---- */

/* A rank's ends of its connections, between fork and exec. */
struct rank_ends {
    int pmi, in, out, err;
    int problems; /* takes a struct rank_problem if the rank cannot start; exec closes it */
};

struct rank_problem {
    int error, status;
    char doing[64];
};

/* Starts a rank. 0; or, after a message, the status with which tacet-mpirun should end. */
int rank_start(uint32_t number);

#endif
