/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * message.h: messages between two ranks: requests, the transfers that they stand for, matching, progress, and
 * the calls of point-to-point communication. Uses transport/, launch/, type/ and base/.
 *
 * The folders above begin transfers (message_send, message_receive), wait for them (request_wait,
 * progress_wait), and register their own work for each round of progress (progress_add). window/ has messages
 * of its own (message_windows_take). Everything runs under the library's lock.
 *
 * Source: MPI 3.1 chapter 3.
 */
#ifndef MPI_MESSAGE_H
#define MPI_MESSAGE_H

#include "message/burst.h"
#include "transport/transport.h"
#include "type/type.h"

/* ---- Requests and messages (request.c, message.c) ---- */

enum request_kind { REQUEST_SEND, REQUEST_RECEIVE, REQUEST_COLLECTIVE, REQUEST_GENERALIZED, REQUEST_RMA };
enum send_mode { SEND_STANDARD, SEND_BUFFERED, SEND_SYNCHRONOUS, SEND_READY };

struct mpi_request {
    enum request_kind kind;
    bool complete; /* set once, by progress; `status` is valid then */
    bool persistent, active;
    bool freed; /* MPI_Request_free: progress frees it at its completion */
    bool ended; /* it has been freed; `next` is the next free request then */
    int error;  /* MPI_ERR_TRUNCATE and the like */
    MPI_Status status;
    struct mpi_comm *comm;            /* held; NULL for none */
    struct mpi_request *next, **link; /* in its queue */
    /* The members below belong to message.c, schedule.c or the generalized request. */
    struct message *message;
    struct schedule *schedule;
    struct generalized *generalized;
    struct persistent *persistence; /* the arguments with which MPI_Start begins a transfer */
};

/* Begins a transfer. `context` is comm->context, or + 1, in which no receive uses MPI_ANY_SOURCE or
 * MPI_ANY_TAG. `peer` is a rank of comm->remote, MPI_ANY_SOURCE or MPI_PROC_NULL. The request is complete at
 * once if nothing is left to do. Returns NULL only without memory. */
struct mpi_request *message_send(enum send_mode mode, const void *buffer, size_t count,
                                 struct mpi_datatype *type, int peer, int tag, struct mpi_comm *comm,
                                 uint32_t context);
struct mpi_request *message_receive(void *buffer, size_t count, struct mpi_datatype *type, int peer, int tag,
                                    struct mpi_comm *comm, uint32_t context);

struct mpi_request *request_make(enum request_kind kind, struct mpi_comm *comm);
/* Finishes a complete request: sets *status (if not NULL) and returns its error. Frees the request, or makes
 * a persistent one inactive. */
int request_finish(struct mpi_request **request, MPI_Status *status);
/* Waits for a request, then finishes it. */
int request_wait(struct mpi_request **request, MPI_Status *status);

/* ---- Progress (progress.c) ---- */

/* Runs one round over transports, messages and added work. Returns whether anything moved. Never blocks. */
bool progress_poll(void);
/* Adds work to each round, which calls `work` and learns from it whether anything moved. Adding it again has
 * no effect. */
void progress_add(bool (*work)(void));
/* Polls until done(argument): spins, or blocks until a transport announces something if mpi_world.crowded. */
void progress_wait(bool (*done)(void *argument), void *argument);
/* Releases the library for another thread, if there may be one. */
void progress_yield(void);
/* Returns the transport to a rank of the world. */
const struct transport *transport_to(int peer);

/* ---- Transfers ---- */

/* The state of a send or a receive, in addition to its request. */
struct message {
    void *buffer; /* a send only reads it */
    size_t count;
    struct mpi_datatype *type; /* held; NULL when complete */
    size_t bytes;              /* a send: bytes to be sent; a receive: room, then the length of the message */
    size_t moved;              /* a rendezvous: bytes received in fragments so far */
    int peer;                  /* rank in the communicator, or MPI_ANY_SOURCE */
    int world;                 /* the peer's world rank; for a receive, set once the sender is known */
    int tag;
    uint32_t context;
    enum send_mode mode;
    uint64_t order;  /* number of a posted receive, rising in the order of posts */
    uint64_t cookie; /* in the table of rendezvous; 0: none */
    uint64_t other;  /* the other side's cookie */
    void *packed;    /* owned: the copy of a buffered send */
    size_t buffered; /* bytes of the attached buffer that it occupies */
    bool is_queued, is_buffered, is_rendezvous;
    int sides_left;         /* for a receive that both ends copy: ends that have not finished */
    struct peer_copy *copy; /* while this rank copies */
};

#define MATCH_TABLES 4 /* match.c */
struct arrival_links {
    struct arrival *next, *previous;
};

/* A message that matches no receive yet, or that MPI_Mprobe has taken from the queue. */
struct arrival {
    struct arrival_links in[MATCH_TABLES];
    struct head head;
    int world;                        /* the sender's world rank */
    struct mpi_request *sender;       /* for a message to the own rank that is not yet copied: its send */
    struct mpi_comm *comm;            /* for a matched probe: its communicator, held */
    unsigned char class;              /* its size class (match.c) */
    _Alignas(8) unsigned char data[]; /* of an eager message */
};

/* Sends without a request, if this is a standard send of an eager message with dense data and there is room
 * for it. Else returns false and does nothing. */
bool message_send_now(const void *buffer, size_t count, const struct mpi_datatype *type, int peer, int tag,
                      const struct mpi_comm *comm, uint32_t context);
/* Sends a message of the library's own (HEAD_WINDOW), in order with all others to that rank of the world,
 * which is not this one. Sends it at once, or returns false if there is no room. */
bool message_try(int world, const struct head *head, const void *data, size_t bytes);
/* Does the same at once, or later from a copy. */
void message_post(int world, const struct head *head, const void *data, size_t bytes);
/* Returns the maximum bytes of data with one head. */
size_t message_fragment(int world);
bool message_progress(void);
/* The functions that the transports get when they begin. */
extern const struct receiver message_receiver;
/* Makes `taker` receive messages of HEAD_WINDOW; its arguments are those of struct receiver. */
typedef void message_taker(int peer, const struct head *head, const void *data, size_t bytes);
void message_windows_take(message_taker *taker);
void message_cookie_make(struct mpi_request *request);
/* Sends a head without data to the rank that has that cookie. */
void message_answer(int peer, enum head_kind kind, uint64_t cookie, uint64_t bytes, uint64_t other);
int message_rendezvous_sends(void); /* this rank's rendezvous sends under way */
/* Completes a receive that has a cookie; all its data has arrived. */
void message_receive_end(struct mpi_request *request);
/* Returns whether no output waits and no send without a request is under way: for progress_wait. */
bool outputs_are_empty(void *unused);
/* Finds a message that has arrived. `source` is a rank of the communicator with this context. In a context
 * for the program's messages, it may be MPI_ANY_SOURCE, and `tag` MPI_ANY_TAG. */
struct arrival *message_find(uint32_t context, int source, int tag);
void message_unlink(struct arrival *arrival);
struct mpi_request *message_receive_arrival(void *buffer, size_t count, struct mpi_datatype *type,
                                            struct arrival *arrival, struct mpi_comm *comm);
bool message_cancel(struct mpi_request *request);
/* Posts a receive; match_posted finds and removes the oldest posted receive that a head matches. */
void match_post(struct mpi_request *request);
struct mpi_request *match_posted(const struct head *head);
void match_unpost(struct mpi_request *request);
void match_keep(struct arrival *arrival);
/* Allocates memory for the first early messages; returns false without memory. match_end frees all, with the
 * messages that were never received. */
bool match_begin(void);
void match_end(void);
/* Allocates a message with this much data, or returns NULL; arrival_give frees it. */
struct arrival *arrival_take(size_t bytes);
void arrival_give(struct arrival *arrival);
int match_unexpected_count(void);

/* ---- Copies from rank to rank (peer_copy.c) ---- */

/* Moves one chunk of each copy under way. Returns whether there is one. */
bool peer_copy_progress(void);
/* Begins to copy a message of message->bytes at `from` in the sender's memory to the receive that it matches.
 * Returns false, and does nothing, if it cannot be copied. */
bool peer_copy_receive(struct mpi_request *request, uint64_t from, uint64_t sender_cookie);
/* Handles a HEAD_OFFER, HEAD_COPIED or HEAD_DONE that has arrived. */
void peer_copy_offered(struct mpi_request *send, uint32_t generation, uint64_t index);
void peer_copy_copied(struct mpi_request *receive);
void peer_copy_done(struct mpi_request *send);

/* ---- Requests ---- */

/* Completes a request whose status has source, tag and bytes; frees it if the program has given it up.
 * Returns what the program's function returns at the end of a generalized request. */
int request_complete(struct mpi_request *request);
void request_free(struct mpi_request *request);
int request_live_count(void);
/* Number of sends under way for which the program has no request. */
extern int request_detached;
struct mpi_request *request_done_make(enum request_kind kind, struct mpi_comm *comm);
/* Returns whether there is memory for one more request. */
bool request_has_room(void);

/* ---- Generalized requests (generalized.c): the program's functions; the second is the last one ---- */
int generalized_query(struct mpi_request *request);
int generalized_end(struct mpi_request *request);
int generalized_cancel(struct mpi_request *request);

/* ---- Buffered sends (buffered.c) ---- */

int buffered_take(size_t bytes);
void buffered_give(size_t bytes);

/* ---- Checks of calls' arguments (check.c) ---- */

int check_peer(int peer, const struct mpi_comm *comm, bool may_be_any);
int check_tag(int tag, bool may_be_any);
int check_transfer(const void *buffer, int count, const struct mpi_datatype *type, int peer, int tag,
                   const struct mpi_comm *comm, bool receives);

#endif
