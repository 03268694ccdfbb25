/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tacetrun.h: what the parts of tacetrun share. It runs a program on nodes (docs/jobs.md): one thread, which
 * waits for nothing but its event loop, so that no node delays another.
 *
 *     tacetrun.c    the job from beginning to end, and what ends it early
 *     options.c     the command line
 *     names.c       which nodes there are, and their addresses
 *     conductor.c   requests to the conductor, and its answers
 *     nodes.c       connections to nodes: greeting, choice, launch, ranks that end
 *     streams.c     connections from ranks, by what they say first
 *     pmi.c         PMI's server
 */
#ifndef TACET_SERVICE_TACETRUN_H
#define TACET_SERVICE_TACETRUN_H

#include "launch/launch_request.h"
#include "service/lib/clock.h"
#include "service/lib/event_loop.h"
#include "service/lib/say.h"
#include "service/lib/status.h"
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NODE_NAME_BYTES  128
#define ENDING_NOTE_S    5          /* after which the user hears what did not work, and what would */
#define TICK_MS          100        /* how often times are looked at */
#define CONDUCTOR_TIME_S 2          /* for an answer of the conductor */
#define SILENCE_DEFAULT  UINT64_MAX /* after which a node is dead: by its system */

/* ---- The command line ---- */

struct plan {
    uint32_t nodes, ranks; /* 0: as many as there are; one on each node */
    uint32_t cpus;
    const char *names; /* NULL: the conductor's */
    const char *variables[LAUNCH_VARIABLES_MAX];
    unsigned variable_count;
    const char *directory;
    bool is_labelled, is_sent, kills_on_bad_exit;
    uint32_t stdin_rank;                              /* LAUNCH_RANK_NONE */
    uint64_t wait_ns, time_ns, within_ns, silence_ns; /* 0: no limit; SILENCE_DEFAULT */
    const char *conductor;
    bool needs_conductor; /* --conductor names it */
    const char *key_file; /* NULL: the conductor makes the tickets */
    uint32_t port;        /* 0: any */
    char **program;       /* its name and its arguments */
    unsigned argument_count;
};

/* Reads the words into run.plan; those that are wrong end the program with status 2. */
void plan_read(char **words);

/* ---- The job ---- */

enum phase {
    PHASE_NAMES, /* which nodes there are */
    PHASE_GREET, /* they say what they are */
    PHASE_RUN,   /* some are chosen: requests are on their way, or ranks run */
    PHASE_FINISH /* it has ended on all; the last output comes */
};

struct rank {
    int16_t status; /* -1: it has not ended */
    bool has_out, has_err;
};

extern struct run {
    struct plan plan;
    struct event_loop loop;
    enum phase phase;
    uint64_t now_ns;
    uint32_t job;    /* 0: it has no number yet */
    uint64_t secret; /* by which its ranks are known */
    uint16_t port;   /* where they connect to */
    uint8_t key[SIPHASH_KEY_BYTES];
    int program; /* what is sent; -1 */
    uint64_t program_bytes;
    struct rank *ranks; /* by number, once nodes are chosen */
    uint32_t size, ended_count, stream_count;
    uint64_t launched_ns, first_end_ns;
    uint64_t heard_ns;   /* when something was ready to be read, or waited to be written */
    bool is_killed;      /* it ends early; nothing new begins */
    int status;          /* tacetrun's where it ends early; -1: the highest of the ranks' */
    uint64_t command_ns; /* when the conductor was told to kill it; 0: not */
    uint64_t kill_ns;    /* when its nodes were; 0: not */
    bool has_noted;      /* what could be done about nodes where it does not end */
    unsigned interrupts;
} run;

/* Ends the job early: its ranks are killed on all nodes, and `status` is tacetrun's; the first reason counts.
 * Before there is a job, tacetrun ends at once. */
__attribute__((format(printf, 2, 3))) void run_kill(int status, const char *format, ...);

/* Nodes are chosen, and it is known which ranks run where: gets the job a number, and lets them begin. */
void run_launch(void);

/* A rank has ended. */
void run_rank_ended(uint32_t number, int status);

/* ---- Nodes ---- */

enum node_state {
    NODE_CONNECTING,
    NODE_GREETING, /* connected; it speaks first */
    NODE_READY,    /* it has greeted */
    NODE_TICKET,   /* the conductor makes its ticket */
    NODE_SENDING,  /* the request is on its way */
    NODE_STARTING, /* it has the request, and has not said that it has started */
    NODE_RUNNING,
    NODE_LEAVING, /* it had not said that it has started, and is to drop the job */
    NODE_ENDED,
    NODE_FAILED /* node->why */
};

struct node {
    struct watch watch;         /* first */
    char name[NODE_NAME_BYTES]; /* as it is named, with its port */
    char host[NODE_NAME_BYTES]; /* without it */
    struct sockaddr_in address;
    bool has_address;
    enum node_state state;
    char line[LAUNCH_LINE_BYTES]; /* what has come of one */
    size_t line_bytes;
    uint64_t nonce;
    bool needs_ticket, is_busy, is_tacet, is_kill_sent;
    uint32_t first, ranks; /* its ranks, once it is chosen */
    char *out;             /* "launch …" and the request */
    size_t out_bytes, out_sent;
    uint64_t program_sent;
    uint64_t deadline_ns; /* by when its state has to change */
    char why[256];
};

extern struct nodes {
    struct node **all; /* after the choice: those of the job, in the order of their ranks */
    uint32_t count;
    uint32_t open; /* of the job: it has not ended there */
} nodes;

/* Adds a node by its name or "name:port", and its address where that is known already. */
void node_add(const char *text, const struct in_addr *address);

/* Connects to all; once enough have greeted, nodes_tick chooses. */
void nodes_connect(void);
void nodes_tick(void);

/* The job has a number: requests go out. */
void nodes_begin(void);

/* Kills the ranks: by a word where they run, elsewhere by the end of what tacetrun says. Again for those that
 * could not be reached. */
void nodes_kill(void);

/* Whether its ranks run on all on which it has not ended: a command at a beat reaches them. */
bool nodes_are_running(void);

/* Those of the job on which it has not ended: "node1, node2", cut where they are too many. */
const char *nodes_open_names(char *text, size_t room);

/* The node of a rank. */
const struct node *node_of_rank(uint32_t rank);

/* ---- Names ---- */

/* Fills `nodes` from --nodelist, TACET_NODES, or the conductor; then calls `done`, perhaps later. */
void names_find(void (*done)(void));

/* ---- The conductor ---- */

/* Looks whether there is one; false with errno where there is none. */
bool conductor_find(void);
bool conductor_is_there(void);

/* Sends a request once those before it have been answered. `answered` gets the answer, or NULL where none
 * comes. */
void conductor_request(const char *text, void (*answered)(void *context, const char *answer), void *context);

/* Looks at the time. */
void conductor_tick(void);

/* ---- Streams and PMI ---- */

/* Listens for ranks. */
void streams_listen(void);

/* Sends those away that do not say what they are. */
void streams_tick(void);

/* Whether there are connections of which it is not known yet what they are. */
bool newcomers_are_there(void);

/* A line about a connection that is no rank's. */
void stranger_say(const struct sockaddr_in *from, const char *why);

/* The keys that are PMI's own. */
void pmi_prepare(void);

/* A connection that speaks PMI, and what it has said so far. */
void pmi_begin(int connection, const struct sockaddr_in *from, const char *bytes, size_t count);

/* Whether the rank is between PMI's init and its finalize. */
bool pmi_has_begun(uint32_t rank);

#endif
