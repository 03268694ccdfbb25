/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * message.h: messages between two ranks: requests, the transfers that they stand for, matching, progress, and
 * the calls of point-to-point communication. Uses transport/, launch/, type/ and base/.
 *
 * The rooms above begin transfers (message_send, message_receive), wait for them (request_wait,
 * progress_wait), have their own work done in each round of progress (progress_add), and window/ has messages
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
    bool complete; /* set once, by progress; then `status` holds */
    bool persistent, active;
    bool freed; /* MPI_Request_free: progress frees it at its completion */
    bool ended; /* it is none any more; then `next` is the free one after it */
    int error;  /* MPI_ERR_TRUNCATE and the like */
    MPI_Status status;
    struct mpi_comm *comm;            /* held; NULL for none */
    struct mpi_request *next, **link; /* in the queue that it stands in */
    /* What follows belongs to message.c, schedule.c or the generalized request. */
    struct message *message;
    struct schedule *schedule;
    struct generalized *generalized;
    struct persistent *persistence; /* the arguments with which MPI_Start begins it */
};

/* Begins a transfer. `context` is comm->context or + 1, where nothing is received from MPI_ANY_SOURCE or with
 * MPI_ANY_TAG; `peer` a rank of comm->remote, MPI_ANY_SOURCE or MPI_PROC_NULL. The request is complete at
 * once where nothing is left to do. Returns NULL out of memory alone. */
struct mpi_request *message_send(enum send_mode mode, const void *buffer, size_t count,
                                 struct mpi_datatype *type, int peer, int tag, struct mpi_comm *comm,
                                 uint32_t context);
struct mpi_request *message_receive(void *buffer, size_t count, struct mpi_datatype *type, int peer, int tag,
                                    struct mpi_comm *comm, uint32_t context);

struct mpi_request *request_make(enum request_kind kind, struct mpi_comm *comm);
/* After completion: its status (if not NULL) and its error; frees it, or makes a persistent one inactive. */
int request_finish(struct mpi_request **request, MPI_Status *status);
/* Waits for it, then finishes it. */
int request_wait(struct mpi_request **request, MPI_Status *status);

/* ---- Progress (progress.c) ---- */

/* One round over transports, messages and what has been added; whether anything moved. Never blocks. */
bool progress_poll(void);
/* From now on each round calls `work`, once however often it is added; it returns whether anything moved. */
void progress_add(bool (*work)(void));
/* Polls until done(argument): spins, or blocks for what transports announce where mpi_world.crowded. */
void progress_wait(bool (*done)(void *argument), void *argument);
/* Lets another thread into the library, where there may be one. */
void progress_yield(void);
/* The one to a rank of the world. */
const struct transport *transport_to(int peer);

/* ---- Transfers ---- */

/* The state of a send or a receive, next to its request. */
struct message {
    void *buffer; /* of a send: only read */
    size_t count;
    struct mpi_datatype *type; /* held; NULL when complete */
    size_t bytes;              /* of a send: to be sent; of a receive: room, then what comes of the message */
    size_t moved;              /* of a rendezvous: bytes that fragments have carried */
    int peer;                  /* of the communicator, or MPI_ANY_SOURCE */
    int world;                 /* its world rank; of a receive: once it is known who sends */
    int tag;
    uint32_t context;
    enum send_mode mode;
    uint64_t order;  /* of a posted receive: which came first */
    uint64_t cookie; /* in the table of rendezvous; 0: none */
    uint64_t other;  /* the other side's */
    void *packed;    /* owned: what a buffered send copied */
    size_t buffered; /* bytes of the attached buffer that it occupies */
    bool is_queued, is_buffered, is_rendezvous;
    int sides_left;         /* of a receive that is copied by both ends: those that have not finished */
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
    struct mpi_request *sender;       /* of a message to oneself, not yet copied */
    struct mpi_comm *comm;            /* of a matched probe: held */
    unsigned char class;              /* of its size (match.c) */
    _Alignas(8) unsigned char data[]; /* of an eager message */
};

/* A standard send that takes no request: an eager message of dense data, for which there is room. False where
 * it is none, and nothing is done then. */
bool message_send_now(const void *buffer, size_t count, const struct mpi_datatype *type, int peer, int tag,
                      const struct mpi_comm *comm, uint32_t context);
/* Messages of the library's own (HEAD_WINDOW), in order with all others to that rank of the world, which is
 * not this one. At once, or not at all: false where there is no room. */
bool message_try(int world, const struct head *head, const void *data, size_t bytes);
/* At once, or later from a copy. */
void message_post(int world, const struct head *head, const void *data, size_t bytes);
/* The most data that goes with one head. */
size_t message_fragment(int world);
bool message_progress(void);
/* What the transports begin with. */
extern const struct receiver message_receiver;
/* From now on, messages of HEAD_WINDOW go to `taker`, whose arguments are those of struct receiver. */
typedef void message_taker(int peer, const struct head *head, const void *data, size_t bytes);
void message_windows_take(message_taker *taker);
void message_cookie_make(struct mpi_request *request);
/* A head without data, to whoever has that cookie. */
void message_answer(int peer, enum head_kind kind, uint64_t cookie, uint64_t bytes, uint64_t other);
int message_rendezvous_sends(void); /* this rank's, under way */
/* All data of a receive that has a cookie is there. */
void message_receive_end(struct mpi_request *request);
/* Returns whether nothing waits to be sent, and no send without a request is under way: for progress_wait. */
bool outputs_are_empty(void *unused);
/* `source` is a rank of the communicator that has the context, or, in one for messages of the program's,
 * MPI_ANY_SOURCE; `tag` MPI_ANY_TAG there. */
struct arrival *message_find(uint32_t context, int source, int tag);
void message_unlink(struct arrival *arrival);
struct mpi_request *message_receive_arrival(void *buffer, size_t count, struct mpi_datatype *type,
                                            struct arrival *arrival, struct mpi_comm *comm);
bool message_cancel(struct mpi_request *request);
/* Receives that match has posted; those that wait for a message of (context, source). */
void match_post(struct mpi_request *request);
struct mpi_request *match_posted(const struct head *head);
void match_unpost(struct mpi_request *request);
void match_keep(struct arrival *arrival);
/* Makes memory for the first messages that may come early; false where there is none. The end gives back all,
 * with the messages that nobody has received. */
bool match_begin(void);
void match_end(void);
/* Memory for one with so much data, or NULL; and its end. */
struct arrival *arrival_take(size_t bytes);
void arrival_give(struct arrival *arrival);
int match_unexpected_count(void);

/* ---- Copies from rank to rank (peer_copy.c) ---- */

/* One chunk of each copy under way; whether there is one. */
bool peer_copy_progress(void);
/* A receive that has met its message, of message->bytes at `from` in the sender's memory. False: it cannot be
 * copied so, and nothing has happened. */
bool peer_copy_receive(struct mpi_request *request, uint64_t from, uint64_t sender_cookie);
/* HEAD_OFFER, HEAD_COPIED and HEAD_DONE have come. */
void peer_copy_offered(struct mpi_request *send, uint32_t generation, uint64_t index);
void peer_copy_copied(struct mpi_request *receive);
void peer_copy_done(struct mpi_request *send);

/* ---- Requests ---- */

/* Completes it: the status' source, tag and bytes hold; frees it if the program has given it up. What the
 * program's function returns that a generalized request ends with. */
int request_complete(struct mpi_request *request);
void request_free(struct mpi_request *request);
int request_live_count(void);
/* Sends under way that the program has no request for. */
extern int request_detached;
struct mpi_request *request_done_make(enum request_kind kind, struct mpi_comm *comm);
/* Whether the next one can be made. */
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
