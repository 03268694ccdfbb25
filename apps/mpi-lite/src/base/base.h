/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * base.h: what all folders of the library use: the world and its lock, errors, checks, objects, groups and
 * communicators as structures, attributes, numbers of handles, statuses, hints.
 *
 * The library's folders, from the highest layer to the lowest; none uses a folder above it (tests/structure):
 *
 *   fortran     Fortran's names, and its numbers of handles     fortran_*.c, handles.c
 *   init        the world's beginning and end; old names        init.c, environment.c, tool.c, deprecated.c
 *   window      one-sided communication                         window*.c, rma*.c
 *   construct   communicators made of others, topologies        agreement.c, comm_*.c, cart.c, graph.c, …
 *   collective  schedules of sends, receives and local steps    schedule.c, choice.c, the algorithms
 *   comm        groups, communicators, their attributes         group.c, comm.c, topology.c
 *   message     matching, requests, progress, the calls         message.c, match.c, request.c, progress.c, …
 *   transport   shared memory in a node, TCP between nodes      shared.c, segment.c, tcp.c
 *   launch      PMI-1, PMI-2; which rank is on which node       pmi*.c, nodes.c, watchdog.c
 *   type        data types, pack, unpack; operations            type*.c, op*.c
 *   base        what all others use                             world.c, error.c, check.c, handles.c, …
 *
 * A lower folder calls a higher one only through callbacks that the higher one has registered: progress_add
 * (collectives, windows), message_windows_take (windows), struct receiver (transports), mpi_others_end and
 * mpi_lock_left (below), a communicator's `end`.
 *
 * Handles are pointers to structures. Predefined handles are addresses of objects, so that they are constants
 * in C. Every object has a reference count; a request holds references to its communicator and type.
 *
 * One lock (mpi_enter, mpi_leave; it nests) is held inside every call; progress_wait releases it while it
 * blocks. All of the library's functions run under it. Inside the library, functions return MPI error classes
 * as int (MPI_SUCCESS is 0); the outermost call passes them to the error handler once, by mpi_return.
 *
 * Source: MPI: A Message-Passing Interface Standard, version 3.1 (chapters are named where they apply).
 */
#ifndef MPI_BASE_H
#define MPI_BASE_H

#include "mpi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* MPI_CALL(name) follows a static function of that name, the body of a call. It defines the call itself,
 * which checks its arguments as functions.txt says and runs the body. bindings.py generates frames.h from
 * that list. */
#include "base/frames.h"

/* Gives a function its MPI_ name as a weak alias, so that a profiling library may define that name instead.
 * Follows the function's definition. */
#define MPI_ALIAS(name) extern __typeof__(PMPI_##name) MPI_##name __attribute__((weak, alias("PMPI_" #name)))

/* ---- The world (world.c) ---- */

struct mpi_world {
    bool initialized, finalized;
    int thread_level; /* MPI_THREAD_* that was provided */
    int rank, size;   /* in MPI_COMM_WORLD */
    int node;         /* index of this process's node, 0 … nodes - 1, in order of their lowest ranks */
    int nodes;
    int *node_of;             /* the node of each world rank */
    int node_rank, node_size; /* this process among those of its node, in order of world ranks */
    size_t eager_bytes; /* TACET_MPI_EAGER: messages of at most this many bytes are sent eagerly; SIZE_MAX:
                         * each transport's own limit holds */
    uint64_t spin_ns;   /* TACET_MPI_SPIN_US: how long a wait spins before it blocks, if ranks share CPUs */
    bool crowded;       /* ranks share CPUs, or a service waits for this rank: waits block after spin_ns */
    bool debug;         /* TACET_MPI_DEBUG=1: MPI_Finalize names leaked objects */
    bool
        reads_peers; /* TACET_MPI_PEER_READ: large messages are copied from the sender's memory if possible */
};
extern struct mpi_world mpi_world;

/* Takes, or releases, the lock of the library. It nests, so that a callback of the program may call MPI.
 * Costs nothing without MPI_THREAD_MULTIPLE. */
void mpi_enter(void);
void mpi_leave(void);

/* Releases the lock at any depth, which is returned; lock_retake takes it again at that depth. */
int lock_release(void);
void lock_retake(int depth);
/* Called before the lock is released, if there are threads: other threads may wait for what this thread did.
 * Set by the transport that wakes them. */
extern void (*mpi_lock_left)(void);

/* Ends the whole job: prints a line on standard error that names the rank and the reason, then calls
 * mpi_others_end. */
_Noreturn void mpi_abort(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Makes the job's other ranks end, and returns; NULL: there are none. Set by the launcher's connection, or
 * without a launcher by shared memory. */
extern void (*mpi_others_end)(int status, const char *why);

uint64_t clock_ns(void); /* CLOCK_MONOTONIC */

/* Numbers of objects that the program has made and not freed: MPI_Finalize prints them if mpi_world.debug is
 * set. */
enum live_kind { LIVE_TYPE, LIVE_OPERATION, LIVE_GROUP, LIVE_INFO, LIVE_KINDS };
extern int mpi_live[LIVE_KINDS];

/* ---- Errors (error.c) ---- */

/* Ends the outermost call: calls the error handler of `comm` (NULL: of MPI_COMM_WORLD) if `error` is not
 * MPI_SUCCESS, with the text that mpi_error has stored. Returns `error` if the handler returns. */
int mpi_return(struct mpi_comm *comm, const char *function, int error);
/* Does the same, and releases the lock. */
int mpi_leave_with(struct mpi_comm *comm, const char *function, int error);

/* The part of a window that has an error handler. It is the window's first member, so that its address is the
 * handle that the program's function gets. */
struct hearer {
    struct mpi_errhandler *errhandler; /* NULL: MPI_ERRORS_ARE_FATAL */
};
int mpi_return_to(struct hearer *hearer, const char *function, int error);

/* The error handler of a communicator, a window or, as MPI_COMM_WORLD's, of calls without either. */
struct mpi_errhandler {
    int references;
    bool predefined;
    bool is_of_windows;                     /* made by MPI_Win_create_errhandler: `function` takes a window */
    bool is_fortran;                        /* the function takes the number of its communicator */
    MPI_Comm_errhandler_function *function; /* NULL: MPI_ERRORS_ARE_FATAL and MPI_ERRORS_RETURN */
};
void errhandler_release(struct mpi_errhandler *handler);

/* Stores the reason for the handler's message ("argument 3, tag: -7 is negative"), and returns `class`. */
int mpi_error(int class, const char *format, ...) __attribute__((format(printf, 2, 3)));
int mpi_out_of_memory(void);

/* ---- The texts of errors (error_text.c) ---- */

/* Returns the name of an error class, or of a code's class. */
const char *error_name(int code);
/* Writes the sentence of an error class or code to `text`. */
void error_say(int code, char *text, size_t bytes);
/* Returns the exit status of a job that this error ends. */
int error_status(int code);
/* Returns the address of the highest error code in use, which is the attribute MPI_LASTUSEDCODE. */
int *error_last_used(void);

/* ---- Checks (check.c) ---- */

int check_started(void); /* MPI_Init has returned, and MPI_Finalize has not */
/* Checks the same, and that the communicator is valid. */
int check_comm(const struct mpi_comm *comm);

/* Returns MPI_ERR_ARG if the program has passed NULL for an argument that the call writes to; `name` is the
 * standard's name of it. */
static inline int check_output(const void *argument, const char *name)
{
    return argument ? MPI_SUCCESS : mpi_error(MPI_ERR_ARG, "argument %s: NULL", name);
}

/* ---- Objects (object.c) ---- */

/* Returns zeroed memory, or NULL without memory. Reuses the last ended object of that size, if there is one.
 */
void *object_make(size_t bytes);
/* Zeroes an object that ends. Its memory is kept until another object is made or many more end, so that a
 * handle that a program still uses is refused. */
void object_end(void *object, size_t bytes);

/* Returns `class` if the object of the handle `argument` has ended. */
static inline int check_live(bool is_live, int class, const char *argument)
{
    return is_live ? MPI_SUCCESS : mpi_error(class, "argument %s: it has been freed", argument);
}

/* ---- Groups and communicators (world.c; comm/ makes and ends them) ---- */

struct mpi_group {
    int references;
    int size, rank;   /* this process's rank, or MPI_UNDEFINED */
    const int *world; /* world rank of each member */
};

struct mpi_comm {
    int references;
    uint32_t context;         /* of messages; collectives use context + 1. Even, the same on all members */
    struct mpi_group *group;  /* the local one */
    struct mpi_group *remote; /* the group that messages go to; the same as `group` except in an
                               * intercommunicator */
    bool inter;
    bool hidden;       /* the library's own: the program has no handle of it */
    int rank, size;    /* in, and of, the local group */
    uint32_t sequence; /* number of collectives begun on it: their tags (schedule.c) */
    struct mpi_errhandler *errhandler;
    struct mpi_attributes *attributes;
    struct mpi_topology *topology;
    struct mpi_comm *local;             /* of an intercommunicator: the communicator of its local group; else
                                         * NULL */
    struct hearer *window;              /* of a window's communicator: its handler is called for errors; else
                                         * NULL */
    struct mpi_comm_nodes *nodes;       /* made on first use by collective_nodes.c, in one piece of memory */
    void (*end)(struct mpi_comm *comm); /* called when its last reference goes; not for the two predefined
                                         * ones */
    char name[MPI_MAX_OBJECT_NAME];
};

static inline void comm_hold(struct mpi_comm *comm)
{
    comm->references++;
}

static inline void comm_release(struct mpi_comm *comm)
{
    if (--comm->references == 0)
        comm->end(comm);
}

/* ---- Attributes (attributes.c) ---- */

/* Deletes, or copies, all attributes of an object. Both stop at the first error of a program's function, and
 * return it; the rest of the list stays. */
int attributes_free(void *owner, struct mpi_attributes **attributes);
int attributes_copy(void *from_owner, struct mpi_attributes *from, struct mpi_attributes **to);
/* The calls about keys and values, for objects of one kind. attribute_get's `value` is the address of a
 * pointer. */
enum attribute_kind { ATTRIBUTE_COMM, ATTRIBUTE_TYPE, ATTRIBUTE_WIN };
/* The language that has set a value or made a key. C's values are pointers. Fortran's values are integers of
 * an address's size or, in the functions of MPI-1, of INTEGER's size. */
enum attribute_language { LANGUAGE_C, LANGUAGE_FORTRAN, LANGUAGE_FORTRAN_1 };
int keyval_create(const char *name, enum attribute_kind kind, void (*copy)(void), void (*delete_)(void),
                  void *state, int *keyval);
int keyval_free(const char *name, enum attribute_kind kind, int *keyval);
int attribute_set(enum attribute_kind kind, void *owner, struct mpi_attributes **list, int keyval,
                  void *value);
int attribute_get(enum attribute_kind kind, struct mpi_attributes *list, int keyval, void *value, int *flag);
int attribute_remove(enum attribute_kind kind, void *owner, struct mpi_attributes **list, int keyval);

/* The library's functions below are global in its archive; their names begin with mpi_lite_. */
#pragma GCC visibility push(default)
/* Sets the language of the calls that read or set attributes, or make keys, until mpi_lite_attribute_end.
 * Holds the lock. */
void mpi_lite_attribute_begin(enum attribute_language language);
void mpi_lite_attribute_end(void);
#pragma GCC visibility pop

/* ---- Numbers of handles (handles.c; handle.h) ---- */

/* Frees the number in Fortran, if it has one, of an object that ends. */
void handle_release(const void *object);

/* ---- Statuses (status.c) ---- */

/* Sets the status of a receive from MPI_PROC_NULL, or of a null request; status_set sets that of a message.
 * Neither changes MPI_ERROR, which only calls that complete several requests set. */
void status_empty(MPI_Status *status, int source);
void status_set(MPI_Status *status, int source, int tag, size_t bytes);

#endif
