/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * base.h: what the parts of the library promise each other.
 *
 *   the standard's functions (PMPI_*; MPI_* are weak aliases)     point_to_point.c, collective_calls.c, …
 *   collectives: schedules of sends, receives and local steps     collective.h, choice.c
 *   communicators, groups, topologies, attributes, error handlers comm.c, group.c, …
 *   memory of all these objects, and of those that have ended     object.c
 *   data types: layouts, pack, unpack; operations                 type*.c, op*.c
 *   windows and one-sided communication                           window*.c, rma*.c
 *   messages: matching, eager and rendezvous, requests, progress  message.c, request.c, progress.c
 *   transports: shared memory in a node, TCP between nodes        shared.c, tcp.c
 *   the launcher: PMI-1, PMI-2; who is on which node              pmi*.c, nodes.c
 *
 * Handles are pointers to the structures below; predefined ones are addresses of objects, so that they are
 * constants in C. Every object has a reference count; a request holds references to its communicator and
 * type.
 *
 * One lock (mpi_enter, mpi_leave; it nests) is held inside every call; progress_wait releases it while it
 * blocks. All functions below run under it. Inside the library, errors are MPI error classes as int returns
 * (MPI_SUCCESS is 0); the outermost call hands them to the error handler once, by mpi_return.
 *
 * Source: MPI: A Message-Passing Interface Standard, version 3.1 (chapters are named where they apply).
 */
#ifndef MPI_INTERNAL_H
#define MPI_INTERNAL_H

#include "mpi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The program's name of a function, which a profiling library may define instead. Follows its definition. */
#define MPI_ALIAS(name) extern __typeof__(PMPI_##name) MPI_##name __attribute__((weak, alias("PMPI_" #name)))

/* ---- The world (init.c) ---- */

struct mpi_world {
    bool initialized, finalized;
    int thread_level; /* MPI_THREAD_* that was provided */
    int rank, size;   /* in MPI_COMM_WORLD */
    int node;         /* index of this process's node, 0 … nodes - 1, in order of their lowest ranks */
    int nodes;
    int *node_of;             /* of each world rank */
    int node_rank, node_size; /* this process among those of its node, in order of world ranks */
    size_t eager_bytes; /* TACET_MPI_EAGER: messages of at most that many bytes are sent eagerly; SIZE_MAX:
                         * of at most as many as transports say */
    uint64_t spin_ns; /* TACET_MPI_SPIN_US: how long a wait spins before it blocks, where ranks share CPUs */
    bool crowded;     /* ranks share CPUs, or a service waits for this one: waits block after spin_ns */
    bool debug;       /* TACET_MPI_DEBUG=1: leaks are named at MPI_Finalize */
    bool
        reads_peers; /* TACET_MPI_PEER_READ: large messages are copied from the sender's memory if possible */
};
extern struct mpi_world mpi_world;

/* The lock of the library; nests, so that a callback of the program may call MPI. Free without
 * MPI_THREAD_MULTIPLE. */
void mpi_enter(void);
void mpi_leave(void);

/* Ends the whole job: a line on standard error that names the rank and says why, then the launcher is told.
 */
_Noreturn void mpi_abort(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Objects that the program has made and not freed: MPI_Finalize names them where mpi_world.debug says so. */
enum live_kind { LIVE_TYPE, LIVE_OPERATION, LIVE_GROUP, LIVE_INFO, LIVE_KINDS };
extern int mpi_live[LIVE_KINDS];

/* ---- Errors (error.c) ---- */

/* The outermost call's return: calls the error handler of `comm` (NULL: of MPI_COMM_WORLD) if `error` is not
 * MPI_SUCCESS, with the text that mpi_error left; returns `error` where the handler returns. */
int mpi_return(struct mpi_comm *comm, const char *function, int error);
/* The same for a window's calls; `win` NULL: no valid one, so that MPI_COMM_WORLD's handler hears of it. */
int mpi_return_win(struct mpi_win *win, const char *function, int error);

/* The handler of a communicator, or of no object: NULL stands for MPI_COMM_WORLD's. */
struct mpi_errhandler {
    int references;
    bool predefined;
    bool is_of_windows;                     /* made by MPI_Win_create_errhandler: `function` takes a window */
    bool is_fortran;                        /* the function takes the number of its communicator */
    MPI_Comm_errhandler_function *function; /* NULL: MPI_ERRORS_ARE_FATAL and MPI_ERRORS_RETURN */
};
void errhandler_release(struct mpi_errhandler *handler);

/* Notes why, for the handler's message ("argument 3, tag: -7 is negative"), and returns `class`. */
int mpi_error(int class, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* MPI_ERR_ARG where the program has given NULL for an argument that the call writes to; `name`: the
 * standard's name of it. */
static inline int check_output(const void *argument, const char *name)
{
    return argument ? MPI_SUCCESS : mpi_error(MPI_ERR_ARG, "argument %s: NULL", name);
}

/* ---- Objects (object.c) ---- */

/* Zeroed memory, or NULL; where there are ended ones of that size, that of the last one. */
void *object_make(size_t bytes);
/* Zeroes an object that ends and keeps its memory while no other is made, and not many more end: a handle
 * that a program goes on to use is then refused. */
void object_end(void *object, size_t bytes);

/* `class` where the handle `argument` is of an object that has ended. */
static inline int check_live(bool is_live, int class, const char *argument)
{
    return is_live ? MPI_SUCCESS : mpi_error(class, "argument %s: it has been freed", argument);
}

/* ---- Data types (type.c, type_make.c, type_layout.c, type_table.c) ---- */

/* A basic type's kind says which operations it takes part in; MINLOC pairs have kinds of their own. */
enum type_kind {
    KIND_ENDED, /* it has been freed */
    KIND_DERIVED,
    KIND_SIGNED,
    KIND_UNSIGNED,
    KIND_FLOAT,
    KIND_COMPLEX,
    KIND_LOGICAL,
    KIND_BYTE,
    KIND_CHARACTER,
    KIND_PAIR,
    KIND_OPAQUE, /* numbers that C does not compute with */
    KIND_MARKER
};

struct mpi_datatype {
    int references;
    const char *name; /* of a predefined type */
    char *given_name; /* by the program; NULL: none */
    enum type_kind kind;
    size_t bytes;           /* of data in one element: MPI_Type_size */
    MPI_Aint lower, extent; /* of the type map, with markers */
    MPI_Aint true_lower, true_extent;
    bool has_lower, has_upper; /* its bounds are given, by MPI_LB, MPI_UB or MPI_Type_create_resized */
    size_t alignment;          /* the largest of its basic elements, in bytes */
    size_t elements;           /* basic ones; 2 in a pair */
    bool committed, predefined;
    bool dense; /* data is `extent` bytes without a gap, in order, at offset 0: bytes == extent */
    struct mpi_layout *layout;     /* where the data of an element lies; may be NULL where dense */
    struct mpi_contents *contents; /* how it was made: MPI_Type_get_contents */
    struct mpi_attributes *attributes;
};

/* Packs bytes [from, from + bytes) of the stream that `count` elements at `buffer` make, and the reverse. A
 * caller goes through a message in steps of any size. */
void type_pack(const void *buffer, size_t count, const struct mpi_datatype *type, size_t from, size_t bytes,
               void *packed);
void type_unpack(void *buffer, size_t count, const struct mpi_datatype *type, size_t from, size_t bytes,
                 const void *packed);
/* Between buffers of this process, as a send to oneself would: at most the receiver's room. */
int type_copy(const void *from, size_t from_count, const struct mpi_datatype *from_type, void *to,
              size_t to_count, const struct mpi_datatype *to_type);
/* Basic elements in the first `bytes` bytes of the stream of such elements; -1 if a partial one is left. */
int64_t type_elements(const struct mpi_datatype *type, size_t bytes);
/* Bytes from the lowest to the highest byte that `count` elements touch; *begin: where the lowest is. */
size_t type_span(const struct mpi_datatype *type, size_t count, MPI_Aint *begin);
void type_hold(struct mpi_datatype *type);
void type_release(struct mpi_datatype *type);
/* Why one that is not committed is refused. */
static inline const char *type_flaw(const struct mpi_datatype *type)
{
    return type->kind != KIND_ENDED ? "it is not committed" : "it has been freed";
}

/* ---- Operations (op.c, op_kernels.c) ---- */

struct mpi_op {
    int references;
    const char *name; /* NULL for a program's own */
    bool commutes, predefined;
    int kinds;       /* bits 1 << enum type_kind that it is defined for */
    bool is_fortran; /* the function takes the number of its type */
    MPI_User_function *function;
};

/* MPI_ERR_OP with its reason, or MPI_SUCCESS. */
int op_check(const struct mpi_op *op, const struct mpi_datatype *type);
/* to[i] = from[i] op to[i]: `from` is the left operand. */
void op_apply(struct mpi_op *op, const void *from, void *to, size_t count, struct mpi_datatype *type);

/* ---- Groups and communicators (group.c, comm.c) ---- */

struct mpi_group {
    int references;
    int size, rank;   /* this process's, or MPI_UNDEFINED */
    const int *world; /* world rank of each member */
};

struct mpi_comm {
    int references;
    uint32_t context;         /* messages: context; collectives: context + 1. Even, the same on all members */
    struct mpi_group *group;  /* the local one */
    struct mpi_group *remote; /* whom messages go to; the same as `group` but in an intercommunicator */
    bool inter;
    bool hidden;       /* the library's own: the program has no handle of it */
    int rank, size;    /* in, of the local group */
    uint32_t sequence; /* collectives begun on it: their tags (collective.c) */
    struct mpi_errhandler *errhandler;
    struct mpi_attributes *attributes;
    struct mpi_topology *topology;
    struct mpi_comm *local;       /* of an intercommunicator: its local group's own; else NULL */
    struct mpi_win *window;       /* of a window's own: whose handler hears of errors; else NULL */
    struct mpi_comm_nodes *nodes; /* collective.c's: who of it shares which node; made on first use */
    char name[MPI_MAX_OBJECT_NAME];
};

/* An even number that no communicator of these members uses: agreed by an allreduce over `comm` (comm.c). */
int context_agree(struct mpi_comm *comm, uint32_t *context);
struct mpi_comm *comm_make(uint32_t context, struct mpi_group *group, struct mpi_group *remote, bool inter);
void comm_hold(struct mpi_comm *comm);
void comm_release(struct mpi_comm *comm);
/* The program gets no handle of it, and so cannot have left it unfreed. */
void comm_hide(struct mpi_comm *comm);

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
    /* What follows belongs to message.c, collective.c or the generalized request. */
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

/* One round over transports and collective schedules; whether anything moved. Never blocks. */
bool progress_poll(void);
/* Polls until done(argument): spins, or blocks for what transports announce where mpi_world.crowded. */
void progress_wait(bool (*done)(void *argument), void *argument);
/* Lets another thread into the library, where there may be one. */
void progress_yield(void);
/* Collective schedules that are under way: collective.c's step function, called from each poll. */
bool collective_progress(void);
/* One-sided operations that wait for room on their way, or for a lock (rma_origin.c). */
bool window_progress(void);
struct head;
/* A head of HEAD_WINDOW from the rank `peer` of the world (rma_target.c). */
void window_arrived(int peer, const struct head *head, const void *data, size_t bytes);

/* ---- Transports (shared.c, tcp.c) ---- */

/* A message's head on every transport. */
struct head {
    uint32_t context;
    int32_t tag;
    int32_t source;  /* the sender's rank in its communicator (MPI_Comm_rank); in answers not used */
    uint32_t kind;   /* enum head_kind */
    uint64_t bytes;  /* of the whole message */
    uint64_t cookie; /* the sender's request, or the receiver's, in a rendezvous */
    uint64_t other;  /* of the rendezvous's other side; or the address for process_vm_readv */
};
enum head_kind {
    HEAD_EAGER,
    HEAD_EAGER_SYNC,
    HEAD_REQUEST,
    HEAD_CLEAR,
    HEAD_DATA,
    HEAD_DONE,
    HEAD_OFFER,
    HEAD_COPIED,
    HEAD_WINDOW, /* of one-sided communication: window.h */
    HEAD_WAKE,
    HEAD_KINDS
};

struct transport {
    const char *name;
    int (*begin)(void); /* after PMI; an MPI error class, with its reason */
    void (*end)(void);  /* after all have said that they end */
    /* Sends a head with up to a fragment of bytes; returns false where there is no room now (try after a
     * poll). */
    bool (*send)(int peer, const struct head *head, const void *data, size_t bytes);
    size_t (*fragment_bytes)(void); /* the most that goes with one head */
    size_t eager_bytes;             /* messages of at most so many go at once, without TACET_MPI_EAGER */
    /* Takes what has arrived and calls message_arrived for each; whether anything did. */
    bool (*poll)(void);
};
extern const struct transport transport_shared, transport_tcp;

const struct transport *transport_to(int peer); /* world rank */
/* `peer` is the sender's world rank, of which the transport is sure. `data` is valid during the call alone. A
 * head that makes no sense ends the job, naming its sender. */
void message_arrived(int peer, const struct head *head, const void *data, size_t bytes);

/* ---- Attributes, error handlers, topologies: freed with their owner ---- */

/* Both stop at the first error of a program's function, and return it; what is left of the list stays. */
int attributes_free(void *owner, struct mpi_attributes **attributes);
int attributes_copy(void *from_owner, struct mpi_attributes *from, struct mpi_attributes **to);
/* The calls about keys and values, for objects of one kind. `value` of the get is the address of a pointer.
 */
enum attribute_kind { ATTRIBUTE_COMM, ATTRIBUTE_TYPE, ATTRIBUTE_WIN };
/* Who has set a value or made a key: C's values are pointers; Fortran's integers, of an address's size or, in
 * the functions of MPI-1, of INTEGER's. */
enum attribute_language { LANGUAGE_C, LANGUAGE_FORTRAN, LANGUAGE_FORTRAN_1 };
int keyval_create(const char *name, enum attribute_kind kind, void (*copy)(void), void (*delete_)(void),
                  void *state, int *keyval);
int keyval_free(const char *name, enum attribute_kind kind, int *keyval);
int attribute_set(enum attribute_kind kind, void *owner, struct mpi_attributes **list, int keyval,
                  void *value);
int attribute_get(enum attribute_kind kind, struct mpi_attributes *list, int keyval, void *value, int *flag);
int attribute_remove(enum attribute_kind kind, void *owner, struct mpi_attributes **list, int keyval);
/* MPI_Finalize begins with it: the attributes of MPI_COMM_SELF are deleted. */
int comm_self_finalize(void);
void topology_free(struct mpi_topology *topology);
void comm_nodes_free(struct mpi_comm_nodes *nodes);

/* ---- Fortran (handles.c) ---- */

/* The object ends: its number in Fortran, if it has one, is free. */
void handle_release(const void *object);

/* ---- The launcher (pmi.c) ---- */

/* PMI-1, PMI-2 or nothing, as the environment says. */
int pmi_begin(int *rank, int *size);
bool pmi_is_used(void); /* a launcher has started this process */
int pmi_put(const char *key, const char *value);
int pmi_barrier(void); /* puts made before it can be got after it */
int pmi_get(const char *key, char *value, size_t bytes);
void pmi_end(void);
/* This process's IPv4 address, as other nodes may use it. */
int pmi_local_address(char *text, size_t bytes);
_Noreturn void pmi_abort(int status, const char *why);

#endif
