/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * conductor.h: the parts of the conductor, which is one thread with one state:
 *
 *     conductor.c   the program, its clock, and the loop, which sends a due beat before anything else
 *     beats.c       when the next beat is due, and its contents
 *     answers.c     frames that come: answers and pages of nodes, and beats of other conductors
 *     epochs.c      the conductor's epoch, among those of other conductors and of earlier starts
 *     requests.c    requests of conductorctl, and their answers in JSON
 *     orders.c      requests that are commands to nodes: which nodes have done them, and the answers
 *     pages.c       requests for pages of flight logs: passes them from the node's frames to the client
 *     keys.c        nodes that ask for their keys, their admission, and rotation (keys.h)
 *     admissions.c  keeps the admitted nodes on disk (admissions.h)
 *     jobs.c        numbers of jobs, tickets for them, and nodes' keys
 *     leases.c      requests of tacetrun for its job; jobs without tacetrun, and nodes without their job
 *     access.c      who may make which request
 *     clients.c     the connections that requests come by
 *
 * tools/lockstep/conductor.c is the conductor of nodes whose time is virtual; it replaces conductor.c,
 * clients.c, leases.c and wire.c.
 */
#ifndef TACET_SERVICE_CONDUCTOR_H
#define TACET_SERVICE_CONDUCTOR_H

#include "beat/page_frame.h"
#include "lib/key.h"
#include "service/conductor/commands.h"
#include "service/conductor/lease_table.h"
#include "service/conductor/registry.h"
#include "service/conductor/timeline.h"
#include "service/conductor/welcomes.h"
#include "service/lib/clock.h"
#include "service/lib/json.h"
#include "service/lib/peer.h"
#include "service/lib/wire.h"
#include <poll.h>

#define CLIENTS_MAX         1024
#define CLIENTS_RESERVED    16  /* places that are never leases' */
#define CLIENTS_OF_USER_MAX 128 /* for a user without rights to all jobs */
#define ANSWERS_PER_LOOP    64  /* frames taken between two checks for a due beat */

enum { POLL_TIMER, POLL_WIRE, POLL_LISTENER, POLL_CLIENTS, POLL_WRITER, POLL_COUNT };

struct conductor {
    const char *interface, *socket_path;
    const char *state_folder; /* --state; NULL: nothing is kept */
    struct wire wire;
    const char *key_path;
    uint8_t master[KEY_BYTES]; /* all other keys are made of it */
    uint8_t key[KEY_BYTES];    /* of beats */
    struct peer peer;          /* the client whose request is being done */
    struct timeline timeline;
    uint64_t sequence;
    bool is_last;       /* the next beat tells nodes that none follows */
    int answer_every;   /* --answer-every; -1: about one answer a second */
    uint64_t asked;     /* beats sent that asked for an answer */
    uint64_t beaten_ns; /* sum of the periods of beats sent */
    struct pollfd polls[POLL_COUNT];
    bool is_fifo, is_locked;
    uint64_t sent, failed, left_out, late_max_ns, late_sum_ns;
    int last_error;
    struct commands commands;
    struct registry registry;
    struct welcomes welcomes;
    unsigned holder;             /* the client for which flight logs are held; 0: none */
    uint64_t pages, stray_pages; /* received: those a client waits for, and others */
    uint32_t last_job;           /* the last job's number */
    unsigned nodes_expected;     /* --nodes; 0: the nodes that have answered */
    unsigned acknowledged_to; /* nodes before this place have done the outstanding command, or are silent */
    /* Frames that came, by fault; those without a fault are answers (by place), pages or beats. */
    uint64_t faults[BEAT_FAULTS], places[REGISTRY_PLACES], dropped, other_beats, own_beats;
    unsigned answers_per_loop_max;
    uint8_t other_address[NODE_ADDRESS_BYTES]; /* address of the last other conductor heard */
    struct beat_order other;                   /* its beats */
    uint64_t epochs_raised, epochs_refused;    /* because nodes follow a newer epoch */
};

extern struct conductor conductor;

/* ---- conductor.c ---- */

uint64_t conductor_now_ns(void);

/* Sets the timer to the time of the next beat, at which beat_due is called; stops it if there are no
 * beats. */
void beat_timer_set(void);

/* ---- beats.c ---- */

/* Sends a beat if one is due. */
void beat_due(void);

/* Sends a beat which says that none follows, unless there are no beats. */
void beats_end(void);

/* Sets the rate: beats a second, 1/60 to 1000, or 0. Returns false if the text is not such a number. */
bool rate_set(const char *text);

/* Returns whether beats go on after the next one. */
bool is_beating(void);

/* Returns N for the beat of this sequence number: nodes answer beats whose number is a multiple of N. 0: no
 * beat asks for an answer. */
uint16_t answer_every(uint64_t sequence);

/* ---- answers.c ---- */

/* Takes frames that have come, at most ANSWERS_PER_LOOP. */
void answers_take(void);

/* ---- epochs.c ---- */

/* Begins an epoch above the last one that is kept in --state, and keeps it. Gives up if it cannot. */
void epoch_start(void);

/* Notes a beat that was received. */
void other_beat_heard(const struct wire_frame *frame, const struct beat *beat);

/* Returns whether another conductor beats now. */
bool other_conductor_beats(void);

/* Handles the answer of a node that follows a newer epoch: begins one above that, unless another conductor
 * beats in a newer epoch. */
void newer_epoch_heard(const struct wire_frame *frame, const struct answer *answer);

/* ---- requests.c ---- */

/* Does a request. Returns true if its answer is written, false if it comes later (client_answer). */
bool request_take(const char *request, unsigned client, struct json *answer);

/* ---- orders.c ---- */

/* Queues a request that is a command. Returns as request_take does. */
bool order_take(const char *request, unsigned client, struct json *answer);

/* Answers commands that all nodes have done, that have timed out, or that beats no longer carry. */
void orders_settle(void);

/* Returns the ms until the first command times out; -1: none waits. */
int orders_timeout_ms(void);

/* Begins a rotation to the key that is in the key file now, as `conductorctl rotate` does; logs its outcome.
 */
void orders_rotate(void);

/* Releases the flight logs that are held for a client whose connection is closed. */
void orders_client_gone(unsigned client);

/* ---- pages.c ---- */

/* Does the request "page …" (control.h). Returns as request_take does. */
bool pages_take(const char *words, unsigned client, struct json *answer);

/* Passes a page that has come from this address to its client, or counts it as stray. */
void page_heard(const uint8_t address[NODE_ADDRESS_BYTES], const struct page *page);

/* Ends requests whose time for pages is over. */
void pages_settle(void);

/* Returns as orders_timeout_ms does. */
int pages_timeout_ms(void);

void pages_client_gone(unsigned client);

/* Ends all requests, because a new epoch begins: clients ask again. */
void pages_epoch_begin(void);

/* ---- jobs.c ---- */

/* Starts numbers of jobs at the time of start, in seconds since 1970. So numbers of an earlier start are not
 * used again, unless there were more jobs than seconds. */
void jobs_start(void);

/* Returns a number that no other job has. */
uint32_t job_number_next(void);

/* Answers "NONCE ID JOB" with a ticket of the client's credentials, "ID" with the keys of a node, "ID next"
 * with those that a rotation would give it. */
void ticket_answer(const char *words, struct json *answer);
void keys_answer(const char *words, struct json *answer);

/* ---- leases.c ---- */

/* Reads the jobs that an earlier start has left (--state). After jobs_start. */
void leases_start(void);

/* Does the request "job …" (control.h). */
void job_take(const char *request, unsigned client, struct json *answer);

/* Returns whose job this is; false: none that is open has this number. */
bool job_owner(uint32_t job, uint32_t *uid);

/* Ends the job of a client whose connection is closed. */
void leases_client_gone(unsigned client);

/* Enters a node's answer. */
void leases_heard(const struct node *node);

/* Counts nodes' silence from now on: they follow another conductor. */
void leases_excuse(void);

/* Does what a new epoch requires that begins while jobs run; after conductor.sequence is 0. */
void leases_epoch_begin(void);

/* Sends tacetruns their news, and kills jobs without tacetrun, after each beat. */
void leases_settle(void);

/* Returns as orders_timeout_ms does. */
int leases_timeout_ms(void);

/* Appends the counts of jobs and clients to the answer to "status". */
void leases_write(struct json *answer);

/* ---- clients.c ---- */

/* Returns a descriptor that is readable when a client needs clients_serve; -1 with errno. */
int clients_start(void);

/* Accepts a client, or tells it why not. */
void client_accept(void);

/* Does requests that have come, and closes connections that clients have closed. */
void clients_serve(void);

/* Returns the user of a client that is connected. */
uint32_t client_uid(unsigned client);

/* Sets whether a client that is connected is the tacetrun of a job: then it keeps its place. */
void client_lease_set(unsigned client, bool has);

/* Returns whether the user may have any number of connections and jobs: root, or the conductor's own. */
bool user_has_all_rights(uint32_t uid);

/* Returns the number of clients. */
unsigned clients_count(void);

/* Returns how many of them may have leases. */
unsigned clients_leases_max(void);

/* Sends a tacetrun news, besides answers. False: it is gone, or does not read. */
bool client_tell(unsigned client, const struct json *news);

/* Sends a client the answer that it waits for. Does nothing if it is gone. */
void client_answer(unsigned client, const struct json *answer);

/* Sends a part of an answer; more parts follow. */
void client_part(unsigned client, const struct json *part);

#endif
