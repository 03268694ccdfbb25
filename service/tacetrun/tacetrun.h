/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tacetrun.h: declarations shared by the parts of tacetrun, which runs a program on nodes (docs/jobs.md). One
 * thread blocks only in its event loop, so that no node delays another.
 *
 *     tacetrun.c    the job from start to end, and what ends it early
 *     options.c     the command line
 *     names.c       the list of nodes, and their addresses
 *     conductor.c   requests to the conductor, and its answers
 *     lease.c       the job's number and its lease: the conductor watches the nodes, and tacetrun
 *     nodes.c       connections to nodes: greeting, launch, ends of ranks
 *     choice.c      which nodes get the job
 *     streams.c     connections from ranks, sorted by their first line (stream_line.c)
 *     pmi.c         the PMI server
 */
#ifndef TACET_SERVICE_TACETRUN_H
#define TACET_SERVICE_TACETRUN_H

#include "beat/answer_frame.h"
#include "launch/launch_request.h"
#include "service/lib/clock.h"
#include "service/lib/event_loop.h"
#include "service/lib/say.h"
#include "service/lib/status.h"
#include "service/tacetrun/stream_line.h"
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#define NODE_NAME_BYTES  128
#define LAST_OUTPUT_NS   SECOND_NS       /* when ranks have ended: output ends after this time without any */
#define ENDING_NOTE_S    5               /* time from the kill to the message that the job has not ended */
#define TICK_MS          100             /* time between checks of time limits */
#define CONDUCTOR_TIME_S 2               /* time limit for an answer of the conductor */
#define AGAIN_NS         (SECOND_NS / 2) /* time before a connection that has ended is made again */
#define SILENCE_DEFAULT  UINT64_MAX      /* --silence is not given: the limit depends on the node's system */

/* ---- The command line ---- */

struct plan {
    uint32_t nodes, ranks; /* 0: all nodes; one rank on each node */
    uint32_t cpus;
    const char *names; /* --nodelist; NULL: not given */
    const char *variables[LAUNCH_VARIABLES_MAX];
    unsigned variable_count;
    const char *directory;
    bool is_labelled, is_sent, kills_on_bad_exit;
    uint32_t stdin_rank;                              /* LAUNCH_RANK_NONE: no rank */
    uint64_t wait_ns, time_ns, within_ns, silence_ns; /* 0: no limit; SILENCE_DEFAULT */
    uint64_t idle_ns;                                 /* --wait-for-nodes */
    const char *conductor;
    bool needs_conductor; /* --conductor is given */
    const char *key_file; /* NULL: the conductor makes the tickets */
    uint32_t port;        /* 0: any */
    char **program;       /* name and arguments */
    unsigned argument_count;
};

/* Reads the command line into run.plan; ends the program with status 2 if it is wrong. */
void plan_read(char **words);

/* ---- The job ---- */

enum phase {
    PHASE_NAMES, /* finding the nodes' names */
    PHASE_GREET, /* waiting for the nodes' greetings */
    PHASE_RUN,   /* nodes are chosen: requests are being sent, or ranks run */
    PHASE_FINISH /* the job has ended on all nodes; reading the last output */
};

struct rank {
    int16_t status; /* -1: not ended */
    bool has_stream[STREAM_KINDS];
};

extern struct run {
    struct plan plan;
    struct event_loop loop;
    enum phase phase;
    uint64_t now_ns, greet_ns; /* the time of this turn; when the nodes were first connected to */
    uint32_t job;              /* the job's number; 0: none yet */
    uint64_t secret;           /* authenticates the job's ranks */
    uint16_t port;             /* the port to which ranks connect */
    uint8_t key[KEY_BYTES];    /* the site's, with --key */
    struct credentials user;   /* this process's */
    int conductor_error;       /* errno: why there is no conductor */
    int program;               /* the file to send; -1: none */
    uint64_t program_bytes;
    struct rank *ranks; /* by number, once nodes are chosen */
    uint32_t size, ended_count;
    uint32_t stream_counts[STREAM_KINDS]; /* how many have come */
    uint64_t claimed_ns; /* when all nodes had been sent the first line of their request; 0: not yet */
    uint64_t launched_ns, first_end_ns;
    uint64_t finish_ns;  /* when the job had ended on all nodes */
    uint64_t heard_ns;   /* when a descriptor was last ready, or output was unwritten */
    bool is_killed;      /* the job ends early; nothing new is started */
    int status;          /* tacetrun's if the job ends early; -1: the highest of the ranks' */
    uint64_t command_ns; /* when the conductor was told to kill the job; 0: not */
    uint64_t kill_ns;    /* when the nodes were told to kill the job; 0: not */
    bool has_noted;      /* the user has been told on which nodes the job does not end */
    unsigned interrupts;
} run;

/* Ends the job early: kills its ranks on all nodes and makes `status` tacetrun's exit status. Later calls are
 * ignored. Before nodes are chosen, ends tacetrun at once. */
__attribute__((format(printf, 2, 3))) void run_kill(int status, const char *format, ...);

/* Gets a number for the job and launches it. Called when nodes are chosen and have their ranks. */
void run_launch(void);

/* Records that a rank has ended with `status`; may end the job. */
void run_rank_ended(uint32_t number, int status);

/* ---- Nodes ---- */

enum node_state {
    NODE_CONNECTING,
    NODE_GREETING, /* connected; its greeting has not come */
    NODE_READY,    /* its greeting has come */
    NODE_TICKET,   /* waiting for a ticket from the conductor */
    NODE_SENDING,  /* the request is being sent */
    NODE_STARTING, /* the request is sent; "started" has not come */
    NODE_RUNNING,
    NODE_LEAVING, /* told to drop the job, or has refused it; it ends its ranks */
    NODE_ENDED,
    NODE_FAILED /* node->why tells the reason */
};

struct node {
    struct watch watch;         /* first */
    char name[NODE_NAME_BYTES]; /* as the user gave it, with its port */
    char host[NODE_NAME_BYTES]; /* without the port */
    struct sockaddr_in address;
    bool has_address;
    enum node_state state;
    char said_name[ANSWER_NAME_BYTES]; /* by its greeting; "": none */
    char line[LAUNCH_LINE_BYTES];      /* received, not yet handled */
    size_t line_bytes;
    uint64_t nonce;
    char id[LAUNCH_NODE_ID_BYTES + 1]; /* of what its key is made; "": its greeting has none */
    bool needs_ticket, is_busy, is_tacet, is_kill_sent;
    bool has_new_ticket;   /* its first ticket was refused */
    uint32_t job, user;    /* what runs there if it is busy; job 0: not known yet */
    bool has_user;         /* `user` is known */
    uint32_t heard_job;    /* what runs there as the conductor has heard; 0: nothing, or unknown */
    uint32_t first, ranks; /* its ranks, when it is chosen */
    char *out;             /* "launch …" and the request */
    size_t out_line;       /* bytes of the first line */
    size_t out_bytes, out_sent;
    uint64_t program_sent;
    uint64_t deadline_ns; /* if its state has not changed by then, it fails */
    uint64_t connect_ns, greeted_ns;
    uint64_t again_ns;   /* NODE_CONNECTING without a connection: when it is made */
    uint64_t without_ns; /* it answers beats without the job: then it fails; 0: it has the job */
    char why[256];
};

extern struct nodes {
    struct node **all; /* after the choice: the job's nodes, in the order of their ranks */
    uint32_t count;
    uint32_t open;    /* nodes on which the job has not ended */
    uint32_t skipped; /* nodes that the conductor reports as silent */
} nodes;

/* Adds a node by its name or "name:port". `address`: its address if it is known, or NULL. */
void node_add(const char *text, const struct in_addr *address);

/* Connects to all nodes. */
void nodes_connect(void);

/* Connects to a node again at this time; drops what it was to be sent. */
void node_again(struct node *node, uint64_t at_ns);

/* Chooses the job's nodes and launches it if enough nodes are idle; ends tacetrun if there will not be
 * enough. Called in each turn until nodes are chosen. */
void choice_try(void);

/* Gives the chosen nodes back, because another job has got one of them, and goes on waiting for idle nodes.
 * Returns false if --wait-for-nodes does not allow that, or a rank may have begun. */
bool choice_again(void);

/* Checks time limits; connects again to nodes whose connection has ended; tries the choice. */
void nodes_tick(void);

/* Sends requests to the chosen nodes. Called when the job has a number. */
void nodes_begin(void);

/* Kills the ranks: sends "kill" to nodes where they run; ends the connection's sending side elsewhere. Call
 * it again until the job has ended: it tries nodes again that could not be told. */
void nodes_kill(void);

/* Returns whether ranks run on all nodes on which the job has not ended: then a command at a beat reaches
 * them. */
bool nodes_are_running(void);

/* Writes the names of the nodes on which the job has not ended, as "node1, node2", cut with "..." if they do
 * not fit. Returns `text`. */
const char *nodes_open_names(char *text, size_t room);

/* Ends the job because the conductor has found out that this node cannot end its part: `why`. */
void node_is_dead(struct node *node, const char *why);

/* Returns whether all nodes have said that the job has ended there. */
bool nodes_have_ended(void);

/* Returns the node on which a rank runs. */
const struct node *node_of_rank(uint32_t rank);

/* ---- Names ---- */

/* Fills `nodes` from --nodelist, TACET_NODES, or the conductor; then calls `done`, now or from the event
 * loop. */
void names_find(void (*done)(void));

/* Asks the conductor which jobs run on the nodes; sets their heard_job. */
void names_heard(void);

/* ---- The conductor ---- */

/* Connects to the conductor as a test; false with errno if there is none. */
bool conductor_find(void);

/* Returns whether the conductor was found and has answered in time so far, and is connected if it has the
 * job's lease. */
bool conductor_is_there(void);

/* Sends a request when the earlier ones have been answered. `answered` gets the answer, or NULL if none
 * comes. */
void conductor_request(const char *text, void (*answered)(void *context, const char *answer), void *context);

/* Sends a request before all others, without a time limit; the conductor is connected. */
void conductor_request_first(const char *text, void (*answered)(void *context, const char *answer));

/* Sends a request without waiting for its answer, if the conductor is connected. */
void conductor_tell(const char *text);

/* Has the connection stay: it is the job's lease. */
void conductor_keep(bool is_leased);

/* Ends the connection. Requests that have not been answered never are; later ones connect again. */
void conductor_drop(void);

/* Checks the time limit of an answer; connects again. */
void conductor_tick(void);

/* ---- The lease ---- */

/* Asks the conductor for the job's number and its lease; calls `has_begun` with the number, or 0. */
void lease_begin(void (*has_begun)(uint32_t job));

/* Takes the lease up with a conductor that has restarted. */
void lease_resume(void);

/* Tells the conductor that the job has ended on all nodes. */
void lease_end(void);

/* Handles a message about a node, "event" (control.h). */
void lease_event(const char *event);

/* ---- Streams and PMI ---- */

/* Listens for connections from ranks. */
void streams_listen(void);

/* Sets how many strangers there may be at once, given the descriptors that the job needs. */
void streams_reserve(rlim_t needed);

/* Rejects connections whose first line has not come in time, and all some time after the job's end. */
void streams_tick(void);

/* Returns whether there are connections whose first line has not come. */
bool newcomers_are_there(void);

/* Opens the PMI server for the job's ranks. */
void pmi_prepare(void);

/* Gives a rank's PMI stream to the server, with the `count` bytes that have been read from it. Returns false
 * if out of memory: the caller then still owns it. */
bool pmi_begin(int connection, uint32_t rank, const char *bytes, size_t count);

/* Ends the job if ranks wait in a barrier for a rank that has ended. */
void pmi_tick(void);

/* Returns whether the rank has sent PMI's init and not yet finalize. */
bool pmi_has_begun(uint32_t rank);

#endif
