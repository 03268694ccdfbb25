/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream_visitor.c: connections to listeners of the kernel's before a valid request (stream.h): one account
 * pays for all of them, and there are few, so a new one may replace another. With the network's lock held.
 */
#include "net/memory.h"
#include "net/network.h"
#include "net/stream.h"
#include "net/stream_state.h"

static struct list visitors; /* the oldest first */
static unsigned visitor_count;

void stream_visit_end(struct stream *stream)
{
    if (!stream->is_visitor)
        return;
    stream->is_visitor = false;
    list_remove(&visitors, &stream->visit);
    visitor_count--;
}

static unsigned visitors_from(uint32_t address)
{
    unsigned count = 0;

    for (struct list_link *link = visitors.first; link; link = link->next)
        count += LIST_OWNER(link, stream, visit)->connection.ends.remote_address == address;
    return count;
}

bool stream_visitor_dismiss(const struct stream *except)
{
    struct stream *dismissed = NULL;
    unsigned highest = 0;

    for (struct list_link *link = visitors.first; link; link = link->next) {
        struct stream *stream = LIST_OWNER(link, stream, visit);
        const unsigned count = visitors_from(stream->connection.ends.remote_address);

        if (count > highest && stream != except && (stream->listener || stream->connection.pcb)) {
            dismissed = stream;
            highest = count;
        }
    }
    if (!dismissed)
        return false;
    stream_visit_end(dismissed);
    if (!dismissed->owned || dismissed->listener) {
        stream_dismiss(dismissed);
        return true;
    }
    connection_abort(&dismissed->connection, true);
    if (!dismissed->reading)
        byte_queue_free(&dismissed->in);
    if (!dismissed->writing)
        byte_queue_free(&dismissed->out);
    return true;
}

struct stream *stream_visitor_make(void)
{
    struct network_account *account = network_account_own(NETWORK_VISITORS);
    struct stream *stream = NULL;

    if (visitor_count == STREAM_VISITORS_MAX || !(stream = stream_make(NULL, account)))
        stream_visitor_dismiss(NULL);
    if (!stream && visitor_count < STREAM_VISITORS_MAX)
        stream = stream_make(NULL, account);
    if (!stream)
        return NULL;
    stream->is_visitor = true;
    list_append(&visitors, &stream->visit);
    visitor_count++;
    return stream;
}

void stream_trust(struct stream *stream)
{
    NETWORK_GUARD();
    stream_visit_end(stream);
    stream->connection.account = network_account_of(NULL);
    stream->socket.receive_room = stream->socket.send_room;
    stream_configure(stream);
}
