/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * begin.c: what the tracer does in MPI_Init and MPI_Finalize, and these environment variables:
 *
 *   TACET_TRACE=FOLDER       of the files rank-N.trace; mpi-trace by default
 *   TACET_TRACE_RECORDS=N    records of each rank, 64 bytes each; 2^20 by default
 *   TACET_TRACE_CPU=0 or 1   the thread's CPU time in addition; 1 by default if ranks share CPUs
 *
 * Offsets of clocks: each rank asks rank 0 for its time; the shortest of several round trips counts, and half
 * of it is the error's bound.
 */
#define _GNU_SOURCE /* sched_getaffinity, CPU_COUNT */
#include "trace.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUND_TRIPS   8
#define RECORDS_USUAL (1 << 20)
#define RECORDS_MAX   (1ull << 34)
#define RECORDS_MIN   64
#define TRIALS        200

struct trace_facts trace_facts;
static MPI_Comm own;    /* the tracer's messages */
static bool serializes; /* the program wanted MPI_THREAD_MULTIPLE */

static _Noreturn void refuse(const char *what)
{
    fprintf(stderr, "mpi-trace: rank %d: %s\n", trace.rank, what);
    PMPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static uint64_t variable(const char *name, uint64_t lowest, uint64_t highest, uint64_t usual)
{
    const char *text = getenv(name);
    char *end, what[160];

    if (!text)
        return usual;
    unsigned long long number = strtoull(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end && number >= lowest && number <= highest)
        return number;
    snprintf(what, sizeof(what), "%s=%.40s: it takes a number from %llu to %llu", name, text,
             (unsigned long long)lowest, (unsigned long long)highest);
    refuse(what);
}

/* Returns whether ranks of this node outnumber the CPUs that they may use. */
static bool shares_cpus(void)
{
    MPI_Comm node;
    int ranks;
    cpu_set_t allowed;

    CPU_ZERO(&allowed);
    sched_getaffinity(0, sizeof(allowed), &allowed);
    PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    PMPI_Allreduce(MPI_IN_PLACE, &allowed, sizeof(allowed), MPI_BYTE, MPI_BOR, node);
    PMPI_Comm_size(node, &ranks);
    PMPI_Comm_free(&node);
    return ranks > CPU_COUNT(&allowed);
}

/* ---- Clocks ---- */

/* Serves another rank's questions, as rank 0. */
static void clock_serve(int rank)
{
    for (int i = 0; i < ROUND_TRIPS; i++) {
        uint64_t now;
        PMPI_Recv(NULL, 0, MPI_BYTE, rank, 0, own, MPI_STATUS_IGNORE);
        now = trace_clock_ns();
        PMPI_Send(&now, sizeof(now), MPI_BYTE, rank, 0, own);
    }
}

static void clock_query(int when)
{
    uint64_t shortest_ns = UINT64_MAX;

    for (int i = 0; i < ROUND_TRIPS; i++) {
        uint64_t there, before = trace_clock_ns();
        PMPI_Send(NULL, 0, MPI_BYTE, 0, 0, own);
        PMPI_Recv(&there, sizeof(there), MPI_BYTE, 0, 0, own, MPI_STATUS_IGNORE);
        uint64_t trip_ns = trace_clock_ns() - before;
        if (trip_ns >= shortest_ns)
            continue;
        shortest_ns = trip_ns;
        trace_facts.offset_ns[when] = (int64_t)(before + trip_ns / 2 - there);
        trace_facts.within_ns[when] = trip_ns / 2 + 1;
    }
}

static void clocks_compare(int when)
{
    for (int rank = 1; rank < trace.ranks; rank++) {
        if (trace.rank == 0)
            clock_serve(rank);
        else if (trace.rank == rank)
            clock_query(when);
    }
}

/* ---- The tracer's cost ---- */

/* Records sends that do not happen, and takes the shortest times between and within them. */
static void cost_measure(void)
{
    struct trace_call call;
    struct trace_record *first = trace.next, *record = NULL;
    uint64_t between_ns = UINT64_MAX, inside_ns = UINT64_MAX, cpu_ns = UINT64_MAX, last_end_ns = 0;

    for (int i = 0; i < TRIALS; i++) {
        trace_begin(&call);
        trace.next = first;
        record = trace_end(&call, 0, MPI_SUCCESS);
        trace_send(record, 1, MPI_INT, trace.rank, 0, MPI_COMM_WORLD, 0);
        if (i > 0 && record->start_ns - last_end_ns < between_ns)
            between_ns = record->start_ns - last_end_ns;
        if (record->end_ns - record->start_ns < inside_ns)
            inside_ns = record->end_ns - record->start_ns;
        if (i > 0 && record->cpu_ns < cpu_ns)
            cpu_ns = record->cpu_ns;
        last_end_ns = record->end_ns;
    }
    trace_facts.between_ns = between_ns;
    trace_facts.inside_ns = inside_ns;
    trace_facts.cpu_ns = cpu_ns;
    trace.next = first;
    trace.counts[0] = 0;
}

/* ---- MPI_Init ---- */

static void library_name(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    PMPI_Get_library_version(text, &length);
    snprintf(trace_facts.library, sizeof(trace_facts.library), "%.79s", text);
    for (char *at = trace_facts.library; *at; at++)
        if (*at < ' ' || *at > '~')
            *at = *at == '\t' ? ' ' : '\0';
}

bool trace_init_begin(struct trace_call *call)
{
    if (trace.on || trace.inside)
        return false;
    trace.inside = true;
    trace_times_begin();
    trace_call_begin(call);
    return true;
}

void trace_init(const struct trace_call *call, unsigned code, int error)
{
    trace.inside = false;
    if (error != MPI_SUCCESS)
        return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &trace.rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &trace.ranks);
    size_t records = (size_t)variable("TACET_TRACE_RECORDS", RECORDS_MIN, RECORDS_MAX, RECORDS_USUAL);
    if (!trace_memory_make(records))
        refuse("no memory for the records; set TACET_TRACE_RECORDS to a lower number");
    trace.cpu_time = variable("TACET_TRACE_CPU", 0, 1, shares_cpus()) != 0;
    library_name();
    if (!trace_file_begin())
        refuse("a trace that cannot be written would be lost; set TACET_TRACE to another folder");
    if (serializes && trace.rank == 0)
        fprintf(stderr, "mpi-trace: MPI_THREAD_MULTIPLE cannot be traced: the program gets "
                        "MPI_THREAD_SERIALIZED, one thread in MPI at a time\n");
    PMPI_Comm_dup(MPI_COMM_WORLD, &own);
    trace.on = true;
    trace_comm(MPI_COMM_WORLD);
    trace_comm(MPI_COMM_SELF);
    trace_comms_describe();
    cost_measure();
    clocks_compare(0);
    PMPI_Barrier(own);
    trace.cpu_ns = call->cpu_ns; /* MPI_Init has no call before it */
    trace_end(call, code, error);
}

int trace_threads(int required)
{
    serializes = required == MPI_THREAD_MULTIPLE;
    return serializes ? MPI_THREAD_SERIALIZED : required;
}

/* Names, at exit, a program whose MPI_Init the tracer has not seen: one of `use mpi_f08`. A process that is
 * none of MPI, such as a launcher with the same LD_PRELOAD, has no such function. */
#ifdef TRACE_SHARED
#pragma weak PMPI_Initialized
__attribute__((destructor)) static void unseen_name(void)
{
    int is_initialized = 0;

    if (&PMPI_Initialized && !trace.records)
        PMPI_Initialized(&is_initialized);
    if (is_initialized)
        fprintf(stderr, "mpi-trace: no trace: MPI_Init was called by a way that cannot be traced, such as "
                        "mpi_f08\n");
}
#endif

/* ---- MPI_Finalize ---- */

static uint64_t calls_of(unsigned flags)
{
    uint64_t calls = 0;

    for (unsigned i = 0; i < trace_functions; i++)
        if (trace_function_flags[i] & flags)
            calls += trace.counts[i];
    return calls;
}

/* Prints, on rank 0, what the traces of all ranks lack. */
static void gaps_name(void)
{
    uint64_t gaps[4] = { trace.lost, trace.missed, calls_of(TRACE_ONE_SIDED), calls_of(TRACE_FILE) };
    uint64_t all[4];
    static const char *const what[] = {
        "calls found no room, and are not in the trace; set TACET_TRACE_RECORDS to a higher number",
        "calls of two threads at the same time are not in the trace",
        "one-sided calls are in the trace as time without messages",
        "calls of MPI-IO are in the trace as time without messages",
    };

    PMPI_Reduce(gaps, all, 4, MPI_UINT64_T, MPI_SUM, 0, own);
    for (int i = 0; i < 4 && trace.rank == 0; i++)
        if (all[i])
            fprintf(stderr, "mpi-trace: %llu %s\n", (unsigned long long)all[i], what[i]);
}

bool trace_finalize_begin(struct trace_call *call)
{
    if (!trace_begin(call))
        return false;
    clocks_compare(1);
    gaps_name();
    PMPI_Comm_free(&own);
    return true;
}

void trace_finalize(const struct trace_call *call, unsigned code, int error)
{
    trace_end(call, code, error);
    trace.on = false;
    trace_file_write("MPI_Finalize");
}
