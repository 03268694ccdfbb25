/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * launchd.h: the parts of tacet-launchd, a Linux node's side of the launch protocol (docs/jobs.md). It is
 * one thread, which waits only in its loop (event_loop.h):
 *
 *      launchd.c     the program: options, signals, the loop
 *      client.c      connections: greeting, tickets, lines in and out
 *      job.c         the node's one job, from its request to its end
 *      cgroup.c      the job's control group
 *      rank.c        a rank between fork and exec
 *      beats.c       the conductor's beats: answers, stop, continue, kill
 *      keys.c        the node's keys, from a file or from the conductor
 */
#ifndef TACET_SERVICE_LAUNCHD_H
#define TACET_SERVICE_LAUNCHD_H

#include "beat/key_frame.h"
#include "launch/launch_request.h"
#include "service/lib/clock.h"
#include "service/lib/event_loop.h"
#include "service/lib/key_file.h"
#include "service/lib/launch_cpus.h"
#include "service/lib/wire.h"
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

/* The node; set when the program starts. */
extern struct launchd {
    char name[ANSWER_NAME_BYTES];
    struct in_addr address;            /* 0.0.0.0: all of the node's addresses */
    char id[LAUNCH_NODE_ID_BYTES + 1]; /* of what its key for tickets is made (docs/jobs.md) */
    struct node_keys keys;
    bool has_key;
    struct launch_cpus cpus;
    /* As they were before this program changed its own; ranks get them back. */
    struct rlimit descriptors;
    int memory_priority; /* /proc/self/oom_score_adj: the highest is killed first if memory runs out */
    struct event_loop loop;
} launchd;

/* Makes the loop turn again at this time (clock_now_ns) or before. Holds for one turn. */
void turn_by(uint64_t when_ns);

/* Sets this process's oom_score_adj. It stays as it is if this process may not lower it. */
void memory_priority_set(int priority);

/* ---- Connections ---- */

struct client;

/* Sends queued lines and closes connections whose time is over. Called in each turn of the loop. */
void clients_turn(void);

/* Accepts and greets new connections, a limited number in each turn. */
void clients_accept(int listener);

/* Queues a line for tacetrun. Does nothing if `client` is NULL: the connection is closed. */
__attribute__((format(printf, 2, 3))) void client_say(struct client *client, const char *format, ...);

/* Queues "refused WHY", then does client_finish. */
__attribute__((format(printf, 2, 3))) void client_refuse(struct client *client, const char *format, ...);

/* Queues nothing further; closes the connection once all queued lines are sent. `client` may be NULL. */
void client_finish(struct client *client);

/* Returns the address that ranks connect their streams to; the request has the port. */
struct in_addr client_address(const struct client *client);

/* ---- The job ---- */

/* Begins a job for this client, whose request follows this line. Returns false if the node has a job. */
bool job_take(struct client *client, const struct launch_line *line);

/* Takes bytes of the request, then of the program. Returns how many it took; 0 once it has all of them. */
size_t job_feed(const char *bytes, size_t count);

/* Kills the job, as tacetrun or the conductor asks. */
void job_kill(void);

/* Ends the job because its client's connection is closed. Sends nothing further. */
void job_lost(void);

/* Ends the whole job now, and refuses it to tacetrun with this reason. */
__attribute__((format(printf, 1, 2))) void job_fail(const char *format, ...);

/* Takes the status of children that have ended. Called after SIGCHLD. */
void job_children_ended(void);

/* Moves the job to its next stage if it can. Called in each turn of the loop. */
void job_turn(void);

bool job_is_over(void);
unsigned job_ranks(void);  /* ranks that have not ended */
uint32_t job_number(void); /* 0: no job */
uint32_t job_user(void);   /* its uid */

/* Stops all processes of the job, or continues them; job_is_stopped returns which was last. Without a job the
 * node counts as stopped until the next job starts. */
void job_stop(bool stop);
bool job_is_stopped(void);

/* Where jobs have their folders, and how the names begin: the job's number, and tacet-launchd's PID. */
#define JOB_FOLDERS "/tmp"
#define JOB_FOLDER  "tacet-%u-%d-"

/* ---- The job's control group ---- */

/* Finds out whether jobs can have one, and ends what a killed tacet-launchd has left in its, and empty
 * folders of its jobs. Returns NULL, or why not: then the other calls do nothing. */
const char *cgroup_find(void);

/* Makes the group of a job. Returns false, with errno, if that fails. */
bool cgroup_make(uint32_t job);

/* Moves the calling process into the group, in a child. Returns false, with errno, if that fails. */
bool cgroup_join(void);

/* Kills all processes of the group. Returns false if there is none. */
bool cgroup_kill(void);

/* Removes the group, once its processes have ended. */
void cgroup_remove(void);

/* ---- A rank ---- */

struct launch_rank {
    const struct launch_request *request;
    const struct credentials *user;
    const char *directory;
    unsigned local; /* its number on the node */
    int out, err;   /* its streams */
    int pmi;
    int program;  /* a file in memory; -1: the program is at the request's path */
    int problems; /* a pipe for what goes wrong before exec, which closes it */
};

/* Becomes the rank's program. Called in the child. */
_Noreturn void launch_rank_run(const struct launch_rank *rank, pid_t parent);

/* ---- Beats ---- */

/* Starts to take beats from this interface. Returns 0, or -1 with errno and the failed step in *what. */
int beats_open(const char *interface, const char **what);

/* Returns the time of the conductor's beats, UTC in seconds since 1970; this host's if it hears none. */
uint64_t beats_utc_s(void);

/* ---- Keys ---- */

/* Sets where the node's keys come from: a file, or the conductor of this public key, 64 hexadecimal digits.
 * Ends the program if they are wrong. */
void keys_from_file(const char *path);
void keys_from_conductor(const char *conductor);

/* Starts to ask the conductor, if the keys come from it. `start`: the number drawn at this start. */
void keys_open(const struct wire *wire, uint64_t start);

/* Asks if a request is due. Called in each turn of the loop. */
void keys_turn(void);

/* Takes an answer with keys. */
void keys_take(const uint8_t *payload, size_t bytes);

/* Reads the file once more. Returns whether it has other keys, which are the next ones then. */
bool keys_reload(void);

/* Does BEAT_REKEY. Returns 0, or an errno. */
uint32_t keys_renew(void);

/* Returns whether there are next keys; keys_advance makes them those that count. */
bool keys_have_next(void);
void keys_advance(void);

/* Checks a ticket under the keys that count, or under the next ones. Returns 0, or an error with `why`. */
int keys_ticket_check(const struct launch_line *line, uint64_t nonce, struct message *why);

/* Decodes a beat under the keys that count, or under the next ones: then *is_next. */
enum beat_fault keys_beat_decode(const struct wire_frame *frame, struct beat *beat, bool *is_next);

#endif
