/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * match.c: receives that wait for a message, and messages that wait for a receive, in the order that MPI
 * demands: of two that match, the first.
 *
 * A posted receive is in a bucket chosen by those of context, source and tag that it names. A message takes
 * the oldest of the first matches in all tables. A message is in a list of each table in which a receive may
 * look for it: messages of collectives are in one only, since no receive of the library's own has a wildcard.
 * Runs under the library's lock.
 *
 * Source: MPI 3.1 §3.5 (semantics of point-to-point communication).
 */
#include "message/message.h"
#include <stdlib.h>

/* Arrivals are reused, because a C library may enter the kernel to give memory back. A class holds arrivals
 * with up to 64 << class bytes of data; the last class holds any size, and its arrivals are not kept. */
#define CLASSES  10
#define KEPT_MAX 64 /* arrivals kept in each class */
#define AT_ONCE  4  /* allocated when none is left, so that ranks that run ahead later find some */

/* There is a table for each way to name source and tag. A list for a source and a tag has its own place among
 * many, so that a long queue costs nothing if tags differ. */
enum { NAMES_SOURCE = 1, NAMES_TAG = 2, NAMES_BOTH = NAMES_SOURCE | NAMES_TAG, TABLES = MATCH_TABLES };

#define BUCKETS 1024

struct post_queue {
    struct mpi_request *first, **last; /* `last` is NULL before the first use */
};

struct arrival_queue {
    struct arrival *first, *last;
};

static struct post_queue posts[TABLES][BUCKETS];
static int posts_count[TABLES];
static struct arrival_queue arrivals[TABLES][BUCKETS];
static uint64_t post_order;
static int unexpected_count;
static struct arrival *arrivals_free[CLASSES]; /* by their first links */
static int kept_count[CLASSES];

static unsigned bucket_of(unsigned table, uint32_t context, int source, int tag)
{
    uint32_t hash = context * 0x9e3779b1u;

    if (table & NAMES_SOURCE)
        hash = (hash + (uint32_t)source) * 0x85ebca6bu;
    if (table & NAMES_TAG)
        hash = (hash + (uint32_t)tag) * 0x9e3779b1u;
    return hash >> 22; /* the upper bits depend on all others */
}

static unsigned table_of(int source, int tag)
{
    return (source == MPI_ANY_SOURCE ? 0 : NAMES_SOURCE) | (tag == MPI_ANY_TAG ? 0 : NAMES_TAG);
}

/* Returns the first table that holds messages of this context; they are in all later tables, too.
 * Collectives' contexts are odd. */
static unsigned first_table(uint32_t context)
{
    return context & 1 ? NAMES_BOTH : 0;
}

static struct post_queue *post_queue_of(const struct message *message)
{
    unsigned table = table_of(message->peer, message->tag);

    return &posts[table][bucket_of(table, message->context, message->peer, message->tag)];
}

void match_post(struct mpi_request *request)
{
    struct post_queue *queue = post_queue_of(request->message);

    if (!queue->last)
        queue->last = &queue->first;
    request->message->order = post_order++;
    request->message->is_queued = true;
    request->next = NULL;
    request->link = queue->last;
    *queue->last = request;
    queue->last = &request->next;
    posts_count[table_of(request->message->peer, request->message->tag)]++;
}

void match_unpost(struct mpi_request *request)
{
    *request->link = request->next;
    if (request->next)
        request->next->link = request->link;
    else
        post_queue_of(request->message)->last = request->link;
    request->link = NULL;
    request->message->is_queued = false;
    posts_count[table_of(request->message->peer, request->message->tag)]--;
}

static bool tag_matches(int selected, int tag)
{
    return selected == tag || (selected == MPI_ANY_TAG && tag >= 0);
}

static struct mpi_request *post_find(const struct post_queue *queue, const struct head *head)
{
    for (struct mpi_request *request = queue->first; request; request = request->next) {
        const struct message *message = request->message;

        if (message->context == head->context && tag_matches(message->tag, head->tag) &&
            (message->peer == head->source || message->peer == MPI_ANY_SOURCE))
            return request;
    }
    return NULL;
}

struct mpi_request *match_posted(const struct head *head)
{
    struct mpi_request *oldest = NULL;

    for (unsigned table = first_table(head->context); table < TABLES; table++) {
        if (!posts_count[table])
            continue;
        unsigned bucket = bucket_of(table, head->context, head->source, head->tag);
        struct mpi_request *request = post_find(&posts[table][bucket], head);

        if (request && (!oldest || request->message->order < oldest->message->order))
            oldest = request;
    }
    if (oldest)
        match_unpost(oldest);
    return oldest;
}

static struct arrival_queue *arrival_queue_of(const struct arrival *arrival, unsigned table)
{
    const struct head *head = &arrival->head;

    return &arrivals[table][bucket_of(table, head->context, head->source, head->tag)];
}

void match_keep(struct arrival *arrival)
{
    for (unsigned table = first_table(arrival->head.context); table < TABLES; table++) {
        struct arrival_queue *queue = arrival_queue_of(arrival, table);

        arrival->in[table] = (struct arrival_links){ .next = NULL, .previous = queue->last };
        *(queue->last ? &queue->last->in[table].next : &queue->first) = arrival;
        queue->last = arrival;
    }
    unexpected_count++;
}

void message_unlink(struct arrival *arrival)
{
    for (unsigned table = first_table(arrival->head.context); table < TABLES; table++) {
        struct arrival_queue *queue = arrival_queue_of(arrival, table);
        const struct arrival_links *links = &arrival->in[table];

        *(links->previous ? &links->previous->in[table].next : &queue->first) = links->next;
        *(links->next ? &links->next->in[table].previous : &queue->last) = links->previous;
    }
    unexpected_count--;
}

struct arrival *message_find(uint32_t context, int source, int tag)
{
    unsigned table = table_of(source, tag);
    struct arrival *at = arrivals[table][bucket_of(table, context, source, tag)].first;

    while (at && !(at->head.context == context && tag_matches(tag, at->head.tag) &&
                   (source == MPI_ANY_SOURCE || at->head.source == source)))
        at = at->in[table].next;
    return at;
}

static struct arrival *arrival_new(unsigned char class, size_t bytes)
{
    struct arrival *arrival = malloc(sizeof(*arrival) + bytes);

    if (arrival)
        arrival->class = class;
    return arrival;
}

struct arrival *arrival_take(size_t bytes)
{
    unsigned char class = 0;

    while (class < CLASSES - 1 && (size_t)64 << class < bytes)
        class ++;
    if (class == CLASSES - 1)
        return arrival_new(class, bytes);
    bool is_short = !arrivals_free[class];
    for (int i = 0; is_short && i < AT_ONCE; i++) {
        struct arrival *spare = arrival_new(class, (size_t)64 << class);

        if (spare)
            arrival_give(spare);
    }
    struct arrival *arrival = arrivals_free[class];
    if (arrival) {
        arrivals_free[class] = arrival->in[0].next;
        kept_count[class]--;
    }
    return arrival;
}

void arrival_give(struct arrival *arrival)
{
    unsigned char class = arrival->class;

    if (class == CLASSES - 1 || kept_count[class] == KEPT_MAX) {
        free(arrival);
        return;
    }
    arrival->in[0].next = arrivals_free[class];
    arrivals_free[class] = arrival;
    kept_count[class]++;
}

bool match_begin(void)
{
    for (size_t bytes = 64; bytes < (size_t)64 << (CLASSES - 1); bytes *= 2) {
        struct arrival *arrival = arrival_take(bytes);

        if (!arrival)
            return false;
        arrival_give(arrival);
    }
    return true;
}

void match_end(void)
{
    for (unsigned bucket = 0; bucket < BUCKETS; bucket++)
        for (struct arrival *arrival; (arrival = arrivals[NAMES_BOTH][bucket].first);) {
            message_unlink(arrival);
            free(arrival);
        }
    for (unsigned char class = 0; class < CLASSES; class ++) {
        for (struct arrival *arrival; (arrival = arrivals_free[class]);) {
            arrivals_free[class] = arrival->in[0].next;
            free(arrival);
        }
        kept_count[class] = 0;
    }
}

int match_unexpected_count(void)
{
    return unexpected_count;
}
