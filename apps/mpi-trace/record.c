/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record.c: the clock, and the records of calls in memory that MPI_Init has taken and touched. A call that
 * finds no room is counted, and nothing is recorded after it, so that a trace is whole up to its end.
 */
#include "cycles.h"
#include "trace.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES 4096
/* What every call does: a third of the tracer's instructions would be these functions' calls. */
#define INLINE static inline __attribute__((always_inline))

struct trace_state trace;

/* Takes what has no room. */
static struct trace_record spare;

static uint64_t clock_read(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t trace_clock_ns(void)
{
    return clock_read(CLOCK_MONOTONIC);
}

/* ---- The clock of records ---- */

/* One moment by both clocks. */
struct moment {
    uint64_t ticks, ns;
};
static struct moment first;
static bool is_counter, is_converted;

INLINE uint64_t ticks_now(void)
{
    return is_counter ? cycles_now() : trace_clock_ns();
}

/* Returns the moment between the two closest reads of several. */
static struct moment moment_now(void)
{
    struct moment best = { 0, 0 };
    uint64_t shortest = UINT64_MAX;

    for (int i = 0; i < 16; i++) {
        uint64_t before = ticks_now(), ns = trace_clock_ns(), took = ticks_now() - before;
        if (took < shortest)
            best = (struct moment){ before + took / 2, ns };
        shortest = took < shortest ? took : shortest;
    }
    return best;
}

/* Reads the counter unless Linux says that its own clock is another one: the counter may then stop or differ
 * between CPUs. */
void trace_times_begin(void)
{
    char name[16] = "tsc";
    int file = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);

    if (file >= 0) {
        ssize_t length = read(file, name, sizeof(name) - 1);
        name[length > 0 ? length : 0] = '\0';
        close(file);
    }
    is_counter = strncmp(name, "tsc", 3) == 0 || strncmp(name, "timebase", 8) == 0;
    first = moment_now();
}

/* Returns a time in ns, where `ns` have as many ticks as the counter had since the first moment. */
static uint64_t ns_of(uint64_t at, uint64_t ticks, uint64_t ns)
{
    uint64_t since = at > first.ticks ? at - first.ticks : 0;

    return first.ns + (uint64_t)((unsigned __int128)since * ns / ticks);
}

void trace_times_end(void)
{
    struct moment last = moment_now();
    uint64_t ticks = last.ticks - first.ticks, ns = last.ns - first.ns;

    if (is_converted || !is_counter || !ticks)
        return;
    is_converted = true;
    for (struct trace_record *record = trace.records; record < trace.next; record++) {
        if (record->call >= trace_functions)
            continue;
        record->start_ns = ns_of(record->start_ns, ticks, ns);
        record->end_ns = ns_of(record->end_ns, ticks, ns);
        if (record->polls)
            record->bytes = (uint64_t)((unsigned __int128)record->bytes * ns / ticks);
    }
    trace_facts.between_ns = (uint64_t)((unsigned __int128)trace_facts.between_ns * ns / ticks);
    trace_facts.inside_ns = (uint64_t)((unsigned __int128)trace_facts.inside_ns * ns / ticks);
}

/* ---- Records ---- */

bool trace_memory_make(size_t records)
{
    size_t bytes = records * sizeof(*trace.records);

    trace.records = bytes / sizeof(*trace.records) == records ? malloc(bytes) : NULL;
    trace.counts = calloc(trace_functions, sizeof(*trace.counts));
    if (!trace.records || !trace.counts)
        return false;
    for (size_t at = 0; at < bytes; at += PAGE_BYTES)
        ((volatile char *)trace.records)[at] = 0; /* no page fault later */
    trace.next = trace.records;
    trace.end = trace.records + records;
    return true;
}

INLINE void call_begin(struct trace_call *call)
{
    call->cpu_ns = trace.cpu_time ? clock_read(CLOCK_THREAD_CPUTIME_ID) : 0;
    call->start_ns = ticks_now();
}

void trace_call_begin(struct trace_call *call)
{
    call_begin(call);
}

bool trace_begin(struct trace_call *call)
{
    if (!trace.on)
        return false;
    if (trace.inside) {
        if (trace.thread != (unsigned long)pthread_self())
            trace.missed++;
        return false;
    }
    unsigned long self = (unsigned long)pthread_self();
    bool is_other = trace.thread != self;

    trace.inside = true;
    trace.thread = self;
    call_begin(call);
    if (is_other)
        trace.cpu_ns = call->cpu_ns; /* the time between belongs to no thread */
    return true;
}

/* Returns the next record. Without room it returns one that is written nowhere. */
INLINE struct trace_record *record_take(void)
{
    if (trace.undescribed)
        trace_comms_describe();
    if (trace.next == trace.end || trace.lost)
        return &spare;
    return trace.next++;
}

INLINE void record_fill(struct trace_record *record, const struct trace_call *call, unsigned code, int error)
{
    record->call = (uint16_t)code;
    record->flags = error == MPI_SUCCESS ? 0 : TRACE_ERROR;
    record->more = 0;
    record->start_ns = call->start_ns;
    record->end_ns = ticks_now();
    record->cpu_ns = record->bytes = 0;
    record->peer = TRACE_ANY_SOURCE;
    record->tag = -1;
    record->comm = TRACE_NONE;
    record->request = record->polls = record->type_bytes = 0;
    if (trace.cpu_time) {
        record->cpu_ns = call->cpu_ns - trace.cpu_ns;
        trace.cpu_ns = clock_read(CLOCK_THREAD_CPUTIME_ID);
    }
}

struct trace_record *trace_end(const struct trace_call *call, unsigned code, int error)
{
    struct trace_record *record = record_take();

    record_fill(record, call, code, error);
    trace.inside = false;
    trace.poll = NULL;
    trace.counts[code]++;
    if (record == &spare)
        trace.lost++;
    return record;
}

struct trace_record *trace_end_poll(const struct trace_call *call, unsigned code, int error, bool found)
{
    struct trace_record *record = trace.poll;

    if (!record || trace.next != record + 1) {
        record = trace_end(call, code, error);
    } else {
        struct trace_record before = *record;
        record_fill(record, call, code, error);
        record->bytes = before.bytes + call->start_ns - before.end_ns;
        record->start_ns = before.start_ns;
        record->cpu_ns = before.cpu_ns; /* that between polls belongs to the wait */
        record->polls = before.polls;
        trace.inside = false;
        trace.counts[code]++;
    }
    record->polls++;
    record->flags |= found ? 0 : TRACE_IN_VAIN;
    trace.poll = found || record == &spare ? NULL : record;
    return record;
}

struct trace_record *trace_more(struct trace_record *record, unsigned kind)
{
    if (record == &spare)
        return NULL;
    if (trace.next == trace.end) { /* takes the call away, whole */
        trace.next = record;
        trace.poll = NULL;
        trace.lost++;
        return NULL;
    }
    if (trace.lost)
        return NULL;
    struct trace_record *more = trace.next++;
    *more = (struct trace_record){ .call = (uint16_t)kind };
    record->more++;
    return more;
}

void trace_words(struct trace_record *record, const uint32_t *words, size_t count)
{
    for (size_t at = 0; at < count; at += TRACE_PEERS) {
        size_t here = count - at < TRACE_PEERS ? count - at : TRACE_PEERS;
        struct trace_record *more = trace_more(record, TRACE_WORDS);
        if (!more)
            return;
        more->flags = (uint16_t)here;
        memcpy(more->words, words + at, here * sizeof(*words));
    }
}
