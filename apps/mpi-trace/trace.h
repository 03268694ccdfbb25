/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace.h: a profiling library [MPI 3.1 §14.2] that records each call of a program: its arguments that matter
 * for messages, its start and its end. Compiled once for each MPI library, by that library's mpi.h:
 *
 *   wrappers.py   makes MPI_F and mpi_f_ of each function F from mpi-lite's functions.txt; each calls PMPI_F
 *                 or pmpi_f_, and one of the functions below
 *   record.c      the clock, the memory of records, polls
 *   object.c      numbers of communicators and requests, sizes of data types
 *   message.c     what is recorded of messages, requests and collectives
 *   begin.c       MPI_Init and MPI_Finalize: offsets of clocks, the tracer's own cost
 *   file.c        the file: at MPI_Finalize, MPI_Abort, exit, or a signal that ends the process
 *
 * One thread at a time is traced: a program that wants MPI_THREAD_MULTIPLE gets MPI_THREAD_SERIALIZED.
 * Functions without a remark run inside a traced call that has returned no error, after its end has been
 * recorded.
 *
 * A file, TACET_TRACE/rank-N.trace, is text up to an empty line, filled with spaces to a multiple of 64
 * bytes, then records. The text's first line has the version and its length; `key: value` lines follow, and
 * `call NUMBER NAME COUNT` for each function that was called (file.c).
 */
#ifndef TRACE_H
#define TRACE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_VERSION 1

/* ---- Records ---- */

/* A call, or one of the `more` records that continue the call before it: their `call` is TRACE_PART (another
 * message of the call, with the same fields but no times) or TRACE_WORDS (numbers). TRACE_COMM describes a
 * communicator, at the latest after the first call that names it: `comm` is its number, `peer` this process's
 * rank, `bytes` its size; words are the ranks in MPI_COMM_WORLD of its group and, of an intercommunicator, of
 * the remote group: for each the number of runs, then each run's first rank, step and length. All numbers are
 * little-endian. */
struct trace_record {
    uint16_t call;  /* its number in the file's list of calls */
    uint16_t flags; /* TRACE_* below */
    uint32_t more;
    union {
        struct {
            uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC; in memory ticks of the clock of records */
            uint64_t cpu_ns;           /* CPU time of the thread since the call before; 0 if not measured */
            uint64_t bytes;      /* of the message; of a poll: ns outside the library between its calls */
            int32_t peer, tag;   /* ranks in `comm`; peer is a collective's root; -1: none, or any */
            uint32_t comm;       /* 0: MPI_COMM_WORLD; TRACE_NONE */
            uint32_t request;    /* begun, or completed, by the call; numbers count from 1; 0: none */
            uint32_t polls;      /* calls of a loop that are one record */
            uint32_t type_bytes; /* of the data type */
        };
        uint32_t words[14];
    };
};
_Static_assert(sizeof(struct trace_record) == 64 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the file's layout");

#define TRACE_PART  0xffff
#define TRACE_WORDS 0xfffe
#define TRACE_COMM  0xfffd
#define TRACE_NONE  UINT32_MAX
#define TRACE_PEERS 14 /* words of a record */

#define TRACE_ANY_SOURCE -1 /* the same for all libraries */
#define TRACE_NOBODY     -2 /* MPI_PROC_NULL */
#define TRACE_ROOT       -3 /* MPI_ROOT */

enum {
    TRACE_SENDS = 1 << 0,    /* a message that is sent */
    TRACE_RECEIVES = 1 << 1, /* one that is received, or announced to a probe */
    TRACE_COLLECTIVE = 1 << 2,
    TRACE_COMPLETES = 1 << 3, /* requests: `request`, or else the words */
    TRACE_IN_VAIN = 1 << 4,   /* a poll that has found nothing */
    TRACE_ANY = 1 << 5,       /* the program named MPI_ANY_SOURCE or MPI_ANY_TAG */
    TRACE_OPEN = 1 << 6,      /* a receive whose message is not known: peer, tag, bytes are what it asked */
    TRACE_CANCELLED = 1 << 7,
    TRACE_ERROR = 1 << 8,     /* the call has returned an error */
    TRACE_ONE_SIDED = 1 << 9, /* its messages are not recorded */
    TRACE_FILE = 1 << 10,     /* the same, MPI-IO */
    TRACE_CLIPPED = 1 << 11,  /* a word would have been above 2^32 - 1 bytes */
    TRACE_PERSISTENT = 1 << 12,
    TRACE_PROBES = 1 << 13,      /* RECEIVES is announced, not received */
    TRACE_INTER = 1 << 14,       /* TRACE_COMM: an intercommunicator */
    TRACE_SYNCHRONOUS = 1 << 15, /* a send that waits for its receive */
};

/* ---- Calls (record.c) ---- */

struct trace_state {
    bool on;              /* from MPI_Init to MPI_Finalize */
    bool inside;          /* a call is being traced: calls that the library makes of its own are not */
    bool cpu_time;        /* measured in addition */
    int rank, ranks;      /* in MPI_COMM_WORLD */
    unsigned long thread; /* that is in a call */
    struct trace_record *records, *next, *end; /* `end` leaves room for the last call */
    struct trace_record *poll;                 /* the record that polls continue, or NULL */
    struct trace_object *undescribed;          /* communicators whose record is due before the next call's */
    uint64_t cpu_ns;                           /* CPU time of the thread at the end of the last call */
    uint64_t lost;                             /* calls without room */
    uint64_t missed;                           /* calls of a second thread at the same time */
    uint32_t *counts;                          /* of each function's calls, lost ones included */
};
extern struct trace_state trace;

struct trace_call {
    uint64_t start_ns, cpu_ns;
};

/* Begins a call, outside of others. False: it is not to be traced. */
bool trace_begin(struct trace_call *call);
/* Takes the time of a call's beginning. */
void trace_call_begin(struct trace_call *call);
/* Ends a call of function number `code`, and returns its record; never NULL. */
struct trace_record *trace_end(const struct trace_call *call, unsigned code, int error);
/* Ends a call that polls. Polls in a row are one record, which a successful one ends. */
struct trace_record *trace_end_poll(const struct trace_call *call, unsigned code, int error, bool found);
/* Returns a zeroed record that continues `record`, the last call's. NULL without room: the call is lost. */
struct trace_record *trace_more(struct trace_record *record, unsigned kind);
/* Appends numbers in TRACE_WORDS. */
void trace_words(struct trace_record *record, const uint32_t *words, size_t count);

uint64_t trace_clock_ns(void);
/* Begins the clock of records: the processor's counter, if the system's clock stands on it. */
void trace_times_begin(void);
/* Converts all times that have been recorded to CLOCK_MONOTONIC, once. No call is recorded after it. */
void trace_times_end(void);
bool trace_memory_make(size_t records);

/* ---- Objects (object.c) ---- */

enum trace_kind { TRACE_OF_COMM, TRACE_OF_TYPE, TRACE_OF_REQUEST, TRACE_OF_MESSAGE };

/* What is known of a handle. */
struct trace_object {
    struct trace_object *next;
    uintptr_t key; /* the handle */
    enum trace_kind kind;
    uint32_t number; /* of a communicator or a request */
    uint32_t bytes;  /* of a type's element */
    int rank, size;  /* of a communicator; `size` is the remote group's if there is one */
    bool is_inter;
    struct trace_object *undescribed; /* the next one */
    uint32_t *groups;                 /* of a communicator that is not described yet: its words */
    size_t group_words;
    struct trace_record *record; /* of a receive, until its message is known */
    void *made; /* of MPI_Comm_idup: where its communicator will be, and whether as Fortran has it */
    bool made_in_fortran;
    struct trace_record *message; /* of a persistent request or a matched message; else NULL */
};

#define TRACE_KEY(handle) ((uintptr_t)(handle))

/* Finds the oldest object of a handle, or NULL. */
struct trace_object *trace_find(enum trace_kind kind, uintptr_t key);
/* Adds one; never NULL (the process ends without memory). */
struct trace_object *trace_add(enum trace_kind kind, uintptr_t key);
/* Removes one; NULL is ignored. */
void trace_remove(struct trace_object *object);

/* The last ones that were found, or NULL: programs use few. */
extern struct trace_object *trace_last_comm, *trace_last_type;
struct trace_object *trace_comm_look(MPI_Comm comm);
uint32_t trace_type_look(MPI_Datatype type);

/* Returns what is known of a communicator; NULL of MPI_COMM_NULL. */
static inline struct trace_object *trace_comm(MPI_Comm comm)
{
    struct trace_object *last = trace_last_comm;

    return last && last->key == TRACE_KEY(comm) ? last : trace_comm_look(comm);
}

/* Returns the size of a type's element. */
static inline uint32_t trace_type_bytes(MPI_Datatype type)
{
    struct trace_object *last = trace_last_type;

    return last && last->key == TRACE_KEY(type) ? last->bytes : trace_type_look(type);
}

/* Gives a communicator that has been made its number: all members do it at the same place among their own. */
void trace_comm_made(MPI_Comm comm);
void trace_comm_freed(struct trace_record *record, uintptr_t key);
/* Gives the communicator of MPI_Comm_idup its number; `made` is valid when the request completes. */
void trace_comm_begun(struct trace_record *record, MPI_Comm comm, void *made, bool in_fortran,
                      uintptr_t request);
void trace_comm_completed(void *made, bool in_fortran);
void trace_type_freed(uintptr_t key);
/* Writes the records of communicators that have been made. */
void trace_comms_describe(void);

/* ---- Messages (message.c) ---- */

void trace_send(struct trace_record *record, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                unsigned flags);
/* Records a send that begins a request; `begins` is TRACE_KEY of its handle. */
void trace_isend(struct trace_record *record, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                 unsigned flags, uintptr_t begins);
void trace_recv(struct trace_record *record, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                const MPI_Status *status);
void trace_irecv(struct trace_record *record, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                 uintptr_t begins);
/* Records that a persistent request is made, of a send or a receive by `flags`. */
void trace_init_request(struct trace_record *record, int count, MPI_Datatype type, int peer, int tag,
                        MPI_Comm comm, unsigned flags, uintptr_t key);
void trace_start(struct trace_record *record, int count, const uintptr_t *keys);
void trace_sendrecv(struct trace_record *record, int count, MPI_Datatype type, int dest, int send_tag,
                    int receive_count, MPI_Datatype receive_type, int source, int receive_tag, MPI_Comm comm,
                    const MPI_Status *status);
void trace_probe(struct trace_record *record, bool found, int peer, int tag, MPI_Comm comm,
                 const MPI_Status *status);
void trace_mprobe(struct trace_record *record, bool found, int peer, int tag, MPI_Comm comm,
                  const MPI_Status *status, uintptr_t message);
void trace_mrecv(struct trace_record *record, int count, MPI_Datatype type, uintptr_t message,
                 const MPI_Status *status);
void trace_imrecv(struct trace_record *record, int count, MPI_Datatype type, uintptr_t message,
                  uintptr_t begins);

/* Records that a request has completed; `status` may be NULL. */
void trace_completed(struct trace_record *record, uintptr_t key, const MPI_Status *status);
/* Records that several have: those of `indices`, which count from `base`, or all if that is NULL. */
void trace_completed_some(struct trace_record *record, int count, const uintptr_t *keys, const int *indices,
                          int base, const MPI_Status *statuses);
/* Records what MPI_Request_get_status has found: the request may be complete, but is still the program's. */
void trace_request_seen(struct trace_record *record, bool found, uintptr_t key, const MPI_Status *status);
void trace_request_freed(struct trace_record *record, uintptr_t key);
void trace_request_named(struct trace_record *record, uintptr_t key);

/* Copies the handles of requests before a call that changes them; statuses for a call that ignores them. Both
 * are valid until the next call. */
uintptr_t *trace_keys(int count, const MPI_Request *requests);
MPI_Status *trace_statuses(int count);
/* Returns memory for `count` elements, which grows and stays: `memory` and `bytes` begin as zero. */
void *trace_scratch(int count, size_t element, void **memory, size_t *bytes);

/* Records a collective: bytes of one process's part, the root or TRACE_ANY_SOURCE; `begins` is 0 if it
 * blocks. */
void trace_collective(struct trace_record *record, int count, MPI_Datatype type, int root, MPI_Comm comm,
                      uintptr_t begins);
/* Records one with the part for, or of, each process; `types` gives each one's type, or NULL: `type`. */
void trace_collective_parts(struct trace_record *record, const int *counts, MPI_Datatype type,
                            const MPI_Datatype *types, int root, MPI_Comm comm, uintptr_t begins);
/* Records one with the part for each neighbour that is sent to. */
void trace_neighbours(struct trace_record *record, const int *counts, MPI_Datatype type,
                      const MPI_Datatype *types, MPI_Comm comm, uintptr_t begins);
bool trace_is_root(int root, MPI_Comm comm);
int trace_remote_size(MPI_Comm comm);
int trace_neighbours_count(MPI_Comm comm);

/* ---- Fortran (fortran.c) ---- */

uintptr_t *trace_fortran_keys(int count, const MPI_Fint *requests);
MPI_Fint *trace_fortran_statuses(int count);
MPI_Status *trace_statuses_of_fortran(int count, const MPI_Fint *statuses);
MPI_Datatype *trace_types_of_fortran(int count, const MPI_Fint *types);
bool trace_fortran_in_place(const void *buffer);

/* ---- Beginning and end (begin.c, file.c) ---- */

/* Begins MPI_Init; false: within the library's own call of it. */
bool trace_init_begin(struct trace_call *call);
void trace_init(const struct trace_call *call, unsigned code, int error);
/* Returns the level of threads that the program may have. */
int trace_threads(int required);
bool trace_finalize_begin(struct trace_call *call);
void trace_finalize(const struct trace_call *call, unsigned code, int error);

/* Writes the file; `how` the process ended goes into it. False, with a message, if it cannot be written. Safe
 * in a signal's handler. */
bool trace_file_write(const char *how);
/* Begins the file, and makes sure that it is written however the process ends. */
bool trace_file_begin(void);
/* Writes the file before MPI_Abort ends the job. */
void trace_abort(unsigned code);
/* Writes the file when mpi-lite ends the job because of an error; other libraries call exit. */
void mpi_lite_tracer_end(const char *why);

struct trace_facts {
    int64_t offset_ns[2];           /* of rank 0's clock to this one's, at MPI_Init and MPI_Finalize */
    uint64_t within_ns[2];          /* half the round trip by which it was measured */
    uint64_t between_ns, inside_ns; /* the tracer's cost between two calls, and within one */
    uint64_t cpu_ns;                /* what is measured as CPU time between two calls without work */
    char library[80];
};
extern struct trace_facts trace_facts;

/* The names of functions (made by wrappers.py). */
extern const char *const trace_names[];
extern const uint16_t trace_function_flags[]; /* TRACE_ONE_SIDED, TRACE_FILE or 0 */
extern const unsigned trace_functions;

#endif
