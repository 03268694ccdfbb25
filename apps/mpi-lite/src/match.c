/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * match.c: receives that wait for a message, and messages that wait for a receive, in the order that MPI
 * demands: of two that match, the first.
 *
 * Receives that name their source stand in a bucket of (context, source), those from any source in one of
 * the context; a message takes the older of the two first matches. Messages stand in both kinds of lists.
 * Runs under the library's lock.
 *
 * Source: MPI 3.1 §3.5 (semantics of point-to-point communication).
 */
#include "message.h"
#include <stdlib.h>

/* Arrivals are used again, for a C library may enter the kernel to give memory back: data of up to 64 <<
 * class bytes, or of any size in the last class, whose arrivals are not kept. */
#define CLASSES  10
#define KEPT_MAX 64 /* of each class */
#define AT_ONCE  4  /* made where none is left, so that ranks that run ahead later find some */

#define BUCKETS 256

struct post_queue {
    struct mpi_request *first, **last; /* `last` is NULL before the first use */
};

struct arrival_queue {
    struct arrival *first, *last;
};

static struct post_queue posts[BUCKETS], posts_any[BUCKETS];
static struct arrival_queue arrivals[BUCKETS], arrivals_any[BUCKETS];
static uint64_t post_order;
static int unexpected_count;
static struct arrival *arrivals_free[CLASSES];
static int kept_count[CLASSES];

static unsigned bucket_of(uint32_t context, int source)
{
    return (context * 31u + (unsigned)source) % BUCKETS;
}

static struct post_queue *post_queue_of(const struct message *message)
{
    return message->peer == MPI_ANY_SOURCE ? &posts_any[message->context % BUCKETS]
                                           : &posts[bucket_of(message->context, message->peer)];
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
    struct mpi_request *named = post_find(&posts[bucket_of(head->context, head->source)], head);
    struct mpi_request *any = post_find(&posts_any[head->context % BUCKETS], head);
    struct mpi_request *request = !named                                        ? any
                                  : !any                                        ? named
                                  : named->message->order < any->message->order ? named
                                                                                : any;

    if (request)
        match_unpost(request);
    return request;
}

void match_keep(struct arrival *arrival)
{
    struct arrival_queue *queue = &arrivals[bucket_of(arrival->head.context, arrival->head.source)];
    struct arrival_queue *any = &arrivals_any[arrival->head.context % BUCKETS];

    arrival->next = arrival->next_any = NULL;
    arrival->previous = queue->last;
    *(queue->last ? &queue->last->next : &queue->first) = arrival;
    queue->last = arrival;
    arrival->previous_any = any->last;
    *(any->last ? &any->last->next_any : &any->first) = arrival;
    any->last = arrival;
    unexpected_count++;
}

void message_unlink(struct arrival *arrival)
{
    struct arrival_queue *queue = &arrivals[bucket_of(arrival->head.context, arrival->head.source)];
    struct arrival_queue *any = &arrivals_any[arrival->head.context % BUCKETS];

    *(arrival->previous ? &arrival->previous->next : &queue->first) = arrival->next;
    *(arrival->next ? &arrival->next->previous : &queue->last) = arrival->previous;
    *(arrival->previous_any ? &arrival->previous_any->next_any : &any->first) = arrival->next_any;
    *(arrival->next_any ? &arrival->next_any->previous_any : &any->last) = arrival->previous_any;
    unexpected_count--;
}

struct arrival *message_find(uint32_t context, int source, int tag)
{
    struct arrival *at;

    if (source == MPI_ANY_SOURCE) {
        for (at = arrivals_any[context % BUCKETS].first; at; at = at->next_any)
            if (at->head.context == context && tag_matches(tag, at->head.tag))
                return at;
        return NULL;
    }
    for (at = arrivals[bucket_of(context, source)].first; at; at = at->next)
        if (at->head.context == context && at->head.source == source && tag_matches(tag, at->head.tag))
            return at;
    return NULL;
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
        arrivals_free[class] = arrival->next;
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
    arrival->next = arrivals_free[class];
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

int match_unexpected_count(void)
{
    return unexpected_count;
}
