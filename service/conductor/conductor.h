/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * conductor.h: the parts of the conductor, which is one thread with one state:
 *
 *     conductor.c   the program, its clock, and the loop; beats come first, between any two other things
 *     beats.c       what the next beat says and carries, and when it is due
 *     answers.c     frames that come: answers of nodes, and beats of other conductors
 *     requests.c    what conductorctl asks for: its words, and JSON
 *     orders.c      the commands among that: who has done them, and what is answered
 *     pages.c       pages of flight logs that conductorctl asks for, from the node's frames to the client
 *     jobs.c        what tacetrun asks for: numbers of jobs, and tickets
 *     clients.c     the connections that requests come by
 *
 * tools/lockstep/conductor.c is the conductor of nodes whose time is virtual: it has other ones for
 * conductor.c, clients.c and wire.c.
 */
#ifndef TACET_SERVICE_CONDUCTOR_H
#define TACET_SERVICE_CONDUCTOR_H

#include "beat/page_frame.h"
#include "service/conductor/commands.h"
#include "service/conductor/registry.h"
#include "service/conductor/timeline.h"
#include "service/conductor/welcomes.h"
#include "service/lib/clock.h"
#include "service/lib/json.h"
#include "service/lib/wire.h"
#include <poll.h>

#define CLIENTS_MAX      16
#define ANSWERS_PER_LOOP 64 /* that are taken before it is seen whether a beat is due */

enum { POLL_TIMER, POLL_WIRE, POLL_LISTENER, POLL_CLIENTS, POLL_COUNT = POLL_CLIENTS + CLIENTS_MAX };

struct conductor {
    const char *interface, *socket_path;
    struct wire wire;
    uint8_t key[SIPHASH_KEY_BYTES];
    struct timeline timeline;
    uint64_t sequence;
    bool is_last;     /* the beat that is due tells nodes that none follows */
    int answer_every; /* by --answer-every; -1: about one answer a second */
    uint64_t asked;   /* beats that asked for an answer */
    struct pollfd polls[POLL_COUNT];
    bool is_fifo, is_locked;
    uint64_t sent, failed, left_out, late_max_ns, late_sum_ns;
    int last_error;
    struct commands commands;
    struct registry registry;
    struct welcomes welcomes;
    unsigned holder;             /* the client for which flight logs are held; 0: none */
    uint64_t pages, stray_pages; /* that came: for a client, and for none */
    uint32_t last_job;           /* the number that a job was given last */
    unsigned nodes_expected;     /* by --nodes; 0: those that have answered */
    unsigned acknowledged_to; /* nodes before this place have done the outstanding command, or are silent */
    /* Frames that came, by what was wrong with them; the fine ones are answers, by place, or beats. */
    uint64_t faults[BEAT_FAULTS], places[REGISTRY_PLACES], dropped, other_beats, own_beats;
    unsigned answers_per_loop_max;
    uint8_t other_address[NODE_ADDRESS_BYTES]; /* of the other conductor that was heard last */
};

extern struct conductor conductor;

/* ---- conductor.c ---- */

uint64_t conductor_now_ns(void);

/* The beat that is due next is another one: beat_due is to be called at its time. */
void beat_timer_set(void);

/* ---- beats.c ---- */

/* Sends the beat that is due, if one is. */
void beat_due(void);

/* Says that none follows, where nodes wait for one. */
void beats_end(void);

/* False where the text is no rate. */
bool rate_set(const char *text);

/* Whether beats go on after the next one. */
bool is_beating(void);

/* Sequence numbers that this divides ask for answers; 0: none does. */
uint16_t answer_every(uint64_t sequence);

/* ---- answers.c ---- */

/* Takes what has come, ANSWERS_PER_LOOP frames at most. */
void answers_take(void);

/* ---- requests.c ---- */

/* Does a request; true where its answer is written, false where it comes later (clients_answer). */
bool request_take(const char *request, unsigned client, struct json *answer);

/* ---- orders.c ---- */

/* A request that is a command: queues it, as request_take. */
bool order_take(const char *request, unsigned client, struct json *answer);

/* Answers commands that all nodes have done, whose time is up, or that no beat carries any more. */
void orders_settle(void);

/* How long poll may wait until a command's time is up, ms; -1: none has one. */
int orders_timeout_ms(void);

/* A client has gone: the flight logs that are held for it are released. */
void orders_client_gone(unsigned client);

/* ---- pages.c ---- */

/* The request "page …" (control.h), as request_take. */
bool pages_take(const char *words, unsigned client, struct json *answer);

/* A page has come from this address. */
void page_heard(const uint8_t address[NODE_ADDRESS_BYTES], const struct page *page);

/* Ends requests whose pages come no more. */
void pages_settle(void);

/* As orders_timeout_ms. */
int pages_timeout_ms(void);

void pages_client_gone(unsigned client);

/* ---- jobs.c ---- */

/* Numbers of jobs go on from the second at which the conductor was started: those of an earlier start of it
 * do not come again, unless there were more jobs than seconds. */
void jobs_start(void);

/* The next number. */
void job_begin(struct json *answer);

/* The ticket for a nonce, 16 hexadecimal digits each. */
void ticket_write(const char *nonce, struct json *answer);

/* ---- clients.c ---- */

void clients_start(void);
void client_accept(void);

/* Something has come from a client, or it has gone: its place in conductor.polls. */
void client_serve(unsigned place);

/* The answer that this client waits for, unless it has gone. */
void client_answer(unsigned client, const struct json *answer);

/* A part of it, after which more follow. */
void client_part(unsigned client, const struct json *part);

#endif
