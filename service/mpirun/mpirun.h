/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mpirun.h: what the parts of tacet-mpirun share. It runs a program as several ranks on this machine, and is
 * their PMI server: one thread, which waits for nothing but its event loop, so that no rank delays another.
 *
 *     mpirun.c      the job from beginning to end, and what ends it early
 *     options.c     the command line
 *     rank.c        a rank: its descriptors, environment and CPU, and the start of its program
 *     streams.c     the ranks' output, line by line; the terminal's input for one of them
 */
#ifndef TACET_SERVICE_MPIRUN_H
#define TACET_SERVICE_MPIRUN_H

#include "service/lib/clock.h"
#include "service/lib/event_loop.h"
#include "service/lib/launch_cpus.h"
#include "service/lib/pmi_server.h"
#include "service/lib/say.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#define STATUS_TIME      124 /* --timeout is over */
#define STATUS_FAILED    125 /* tacet-mpirun could not do its part */
#define STATUS_NOT_RUN   126 /* the program cannot be started */
#define STATUS_NOT_FOUND 127 /* there is no such program */
#define STATUS_NOT_CLEAN 1   /* a rank has broken PMI's rules, and not said how it ends */
#define STATUS_CLOSED    141 /* nobody reads the output: as SIGPIPE */
#define RANKS_MAX        1024
#define LINE_PART_BYTES  65536 /* a longer line comes in parts */

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

/* ---- Streams ---- */

void streams_open(void);

/* A pipe from a rank. False without memory: it stays the caller's. */
bool stream_begin(int pipe, uint32_t rank, bool is_err);

/* Standard input where that is a terminal, which is read here: the rank is in a group of processes of its
 * own, and the terminal would stop it. */
void input_begin(int pipe);
void input_tick(void);
void input_stop(void);

/* One write to standard error. What is not taken waits in memory. */
void error_write(const char *text);

/* Streams that have not ended. */
uint32_t streams_count(void);

/* All who could write have ended: takes what is in the pipes, as far as there is room for it, and closes
 * those that are empty. Again, until there are none. */
void streams_end(void);

/* Whether all that was written has been taken. */
bool streams_are_written(void);

#endif
