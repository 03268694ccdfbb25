/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * launchd.h: the parts of tacet-launchd, a Linux node's side of the launch protocol (docs/jobs.md). One
 * thread, which never waits but in its loop (event_loop.h):
 *
 *      launchd.c     the program: options, signals, the loop
 *      client.c      connections: greeting, tickets, lines in and out
 *      job.c         the node's one job, from its request to its end
 *      rank.c        a rank between fork and exec
 *      beats.c       the conductor's beats: answers, stop, continue, kill
 */
#ifndef TACET_SERVICE_LAUNCHD_H
#define TACET_SERVICE_LAUNCHD_H

#include "beat/answer_frame.h"
#include "launch/launch_request.h"
#include "service/lib/clock.h"
#include "service/lib/event_loop.h"
#include "service/lib/launch_cpus.h"
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

/* What the node is; set at its start. */
extern struct launchd {
    char name[ANSWER_NAME_BYTES];
    struct in_addr address; /* zeros: all of the node's */
    uint8_t key[SIPHASH_KEY_BYTES];
    bool has_key;
    struct launch_cpus cpus;
    /* As it was, for ranks. */
    struct rlimit descriptors;
    int memory_priority; /* /proc/self/oom_score_adj: who goes first where there is no memory left */
    struct event_loop loop;
} launchd;

/* The loop turns again by then, at the latest; to be said anew in each turn. */
void turn_by(uint64_t when_ns);

/* This process's memory_priority; without the right to lower it, it stays as it is. */
void memory_priority_set(int priority);

/* ---- Connections ---- */

struct client;

/* In each turn of the loop: what is to be said is sent, who is late is sent away. */
void clients_turn(void);

/* Greets those that have come, some in each turn. */
void clients_accept(int listener);

/* A line to tacetrun. `client` may be NULL: it has gone. */
__attribute__((format(printf, 2, 3))) void client_say(struct client *client, const char *format, ...);

/* "refused WHY", and no more. */
__attribute__((format(printf, 2, 3))) void client_refuse(struct client *client, const char *format, ...);

/* Says no more; the connection ends when all has been taken. */
void client_finish(struct client *client);

/* Where the ranks' streams go, but for the port. */
struct in_addr client_address(const struct client *client);

/* ---- The job ---- */

/* "idle", or "busy". */
const char *job_state(void);

/* It is this client's from now on, whose request has so many bytes. False: there is one. */
bool job_take(struct client *client, size_t bytes);

/* Bytes of the request, and of the program after it; how many it has taken. 0: it takes no more. */
size_t job_feed(const char *bytes, size_t count);

/* tacetrun says kill. */
void job_kill(void);

/* The client has gone: nobody is told anything any more. */
void job_lost(void);

/* All of it ends now, and tacetrun is told why. */
__attribute__((format(printf, 1, 2))) void job_fail(const char *format, ...);

/* Children have ended. */
void job_children_ended(void);

/* In each turn of the loop: what is to be done next. */
void job_turn(void);

bool job_is_over(void);
unsigned job_ranks(void);  /* that have not ended */
uint32_t job_number(void); /* 0: there is none */

/* Stops all processes of the job, or lets them go on, and whether it is so. Without a job the node counts as
 * stopped until the next one starts. */
void job_stop(bool stop);
bool job_is_stopped(void);

/* ---- A rank ---- */

struct launch_rank {
    const struct launch_request *request;
    unsigned local; /* its number on the node */
    int out, err;   /* its streams */
    int program;    /* a file in memory; -1: it is at the request's path */
    int problems;   /* closed by exec; what goes wrong before is written there */
};

/* In the child: becomes the rank's program. */
_Noreturn void launch_rank_run(const struct launch_rank *rank, pid_t parent);

/* ---- Beats ---- */

/* Takes beats from this interface. 0, or -1 with errno and what failed in *what. */
int beats_open(const char *interface, const char **what);

#endif
