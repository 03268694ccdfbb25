/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease_table.h: the jobs that the conductor has numbered, and their nodes. A job's lease is the connection
 * of its tacetrun. States of a lease:
 *
 *      LEASE_HELD     its tacetrun is connected
 *      LEASE_LOST     the conductor has restarted; tacetrun may return for LEASE_RETURN_S
 *      LEASE_ENDING   tacetrun is gone without "job end": beats carry a kill with the job's number until each
 *                     node has answered for a while without the job
 *
 * A node of a job is silent if more than three beats that asked for an answer, and LEASE_SILENCE_NS of beats,
 * were sent since its last one. Only sent beats count, so a pause of the conductor makes no node silent. A
 * node that polls for beats (answer_frame.h) is never silent, nor one that has not answered during the job.
 * While a node of an ending job is silent its lease stays, without kills, and goes on when the node answers.
 *
 * Users choose the names of nodes. So the hash tables that find them have a secret key, a node leaves its
 * chain at once however many share its name, and a user has a part of the places. Makes no system call. The
 * time to enter an answer depends only on how often jobs have named this node.
 */
#ifndef TACET_SERVICE_LEASE_TABLE_H
#define TACET_SERVICE_LEASE_TABLE_H

#include "lib/siphash.h"
#include "service/conductor/registry.h"
#include <stddef.h>

#define LEASES_MAX          2048
#define LEASE_NODES_MAX     65535              /* of all jobs */
#define LEASE_BUCKETS       16384              /* a power of two */
#define LEASES_OF_USER_MAX  64                 /* for a user without rights to all jobs */
#define LEASE_NODES_OF_USER REGISTRY_NODES_MAX /* likewise, in all his jobs */
#define LEASE_RETURN_S      10
#define LEASE_SILENCE_NS    3000000000ULL
#define LEASE_QUIET_ANSWERS 2 /* beats that ask for an answer: a node without the job for longer is done */
#define LEASE_BLIND_KILLS   3 /* kills for a node that has never answered */

enum lease_state { LEASE_FREE, LEASE_HELD, LEASE_LOST, LEASE_ENDING };

/* What tacetrun is told of a node. */
enum lease_news { LEASE_NO_NEWS, LEASE_SILENT, LEASE_RESTARTED, LEASE_WITHOUT_JOB };

/* A node as tacetrun names it: "10.0.0.7/node3", its IPv4 address (or 0.0.0.0) and its name or the twelve
 * digits of its Ethernet address. */
struct lease_name {
    uint8_t address[4];
    char name[ANSWER_NAME_BYTES]; /* NUL-padded; "": none */
};

struct lease_node {
    struct lease_name named;
    uint16_t lease; /* an index */
    uint16_t next;  /* of its lease, or free; an index + 1; 0: none */
    struct lease_link {
        uint16_t next, previous; /* in the bucket; an index + 1; 0: none */
    } by_address, by_name;
    bool is_heard;                    /* it has answered during the job; the fields below are valid */
    bool polls, has_job, is_quiet;    /* its last answer: how it hears beats, with the job, without it */
    bool is_kept;                     /* the file of jobs names it as heard (lease_file.c) */
    bool has_run;                     /* it has answered with the job, or the lease was resumed */
    uint8_t told;                     /* enum lease_news that tacetrun has been told */
    uint8_t card[NODE_ADDRESS_BYTES]; /* zeros: it has not answered since the conductor's start */
    uint64_t start;                   /* its start when it last answered with the job; 0: not known */
    uint64_t last_start;              /* its start at its last answer */
    uint64_t asked, beaten_ns;        /* as in lease_moment, at its last answer */
    uint64_t quiet_asked;  /* beats that had asked for an answer when it first answered without the job */
    uint64_t job_sequence; /* the beat to which it has last answered with the job */
};

struct lease {
    enum lease_state state;
    uint32_t job, uid;
    unsigned client;      /* of LEASE_HELD (clients.c) */
    uint16_t first, last; /* nodes, an index + 1; 0: none */
    uint16_t by_job;      /* next in the bucket; an index + 1; 0: none */
    unsigned count;
    unsigned looks;         /* places of the registry that are to be looked at for its nodes */
    unsigned kills;         /* of LEASE_ENDING: commands so far */
    uint64_t kill_sequence; /* the last beat that carries the last of them */
    uint64_t ending_asked;  /* lease_moment.asked when it began to end */
    bool is_resumed;        /* its job runs on the nodes that tacetrun names */
    uint16_t next_named;    /* a resumed lease: the node of the file that tacetrun is to name next */
};

struct lease_table {
    struct lease leases[LEASES_MAX];
    struct lease_node nodes[LEASE_NODES_MAX];
    uint8_t key[SIPHASH_KEY_BYTES];                          /* of the hash tables; random */
    uint16_t addresses[LEASE_BUCKETS], names[LEASE_BUCKETS]; /* an index + 1; 0: empty */
    uint16_t jobs[LEASES_MAX];                               /* leases, likewise; jobs' numbers differ */
    uint16_t free;                                           /* an index + 1 of a node that was used before */
    unsigned places;                                         /* number of `nodes` that have been used */
    unsigned node_count, counts[LEASE_ENDING + 1];           /* leases by state */
    bool has_heard; /* nodes that the file of jobs does not name as heard */
    bool has_news;  /* an answer may be news for a tacetrun */
    bool is_ending; /* a job has begun to end, or a node of one that ends has answered */
};

/* What the conductor has sent when the table is used. */
struct lease_moment {
    uint64_t sequence;  /* number of the last beat */
    uint64_t asked;     /* beats that have asked for an answer */
    uint64_t beaten_ns; /* sum of the periods of all beats */
    uint64_t excused_asked,
        excused_ns; /* no node is silent from before: the nodes have followed another conductor */
    bool asks;      /* some beats ask for answers (--answer-every is not 0) */
};

/* Reads a node's name up to a blank or the end; *end is the text after it. Returns false if it is none. */
bool lease_name_read(const char *text, const char **end, struct lease_name *name);

/* Returns the lease of a job, or NULL. */
struct lease *lease_of_job(struct lease_table *table, uint32_t job);

/* Returns the lease of a client, or NULL. */
struct lease *lease_of_client(struct lease_table *table, unsigned client);

/* Returns the number of a user's leases, and of their nodes. */
unsigned leases_of_user(const struct lease_table *table, uint32_t uid, unsigned *nodes);

/* Adds a lease without nodes. If all places are taken, it takes that of an ending job whose nodes are silent.
 * NULL: there is none. */
struct lease *lease_add(struct lease_table *table, enum lease_state state, uint32_t job, uint32_t uid,
                        const struct lease_moment *now);

/* Adds a node that tacetrun has named, after those that it has named before; a resumed lease may have it from
 * the file. NULL: there is no room. */
struct lease_node *lease_node_add(struct lease_table *table, struct lease *lease,
                                  const struct lease_name *name);

/* Takes a lease up: the tacetrun of its job has returned. */
void lease_resume(struct lease_table *table, struct lease *lease, const struct lease_moment *now);

void lease_state_set(struct lease_table *table, struct lease *lease, enum lease_state state,
                     const struct lease_moment *now);

/* Frees the lease. */
void lease_drop(struct lease_table *table, struct lease *lease);

/* Enters an answer that counts. `is_old`: it came before; for leases that look for their nodes. */
void lease_answer(struct lease_table *table, bool is_old, const uint8_t card[NODE_ADDRESS_BYTES],
                  const struct answer *answer, const struct lease_moment *now);

/* Returns whether leases look for their nodes; leases_looked notes that this number of places more was
 * entered. */
bool leases_look(const struct lease_table *table);
void leases_looked(struct lease_table *table, unsigned places);

/* Returns the news of a node that its tacetrun has not been told. */
enum lease_news lease_news_of(const struct lease_node *node, const struct lease_moment *now);

/* Returns the next ending job that needs something, or NULL. *is_over: it has ended; the caller drops it.
 * Else it needs a kill: the caller has the next beats carry it, and calls lease_killed with the last of
 * these. */
struct lease *lease_to_kill(struct lease_table *table, struct registry *registry,
                            const struct lease_moment *now, bool *is_over);
/* Forgets numbers of beats: the conductor begins a new epoch, whose beats count from 1. */
void lease_epoch_begin(struct lease_table *table);

void lease_killed(struct lease *lease, uint64_t last_sequence);

#endif
