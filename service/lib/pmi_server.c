/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmi_server.c: see pmi_server.h. A client's requests are handled one at a time: the next one is read when
 * the last answer has been sent.
 *
 * Source: PMI-1 as described by Flux RFC 13.
 */
#include "service/lib/pmi_server.h"
#include "service/lib/say.h"
#include "service/lib/text.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct pmi_client {
    struct watch watch; /* first */
    struct pmi_server *server;
    uint32_t rank;
    bool has_begun, is_in_barrier, is_in_spawn;
    char in[PMI_LINE_BYTES];
    size_t in_bytes;
    char out[2 * PMI_REPLY_BYTES]; /* the answer; no request is read before it has been sent */
    size_t out_begin, out_end;
};

static struct pmi_rank *rank_of(const struct pmi_client *client)
{
    return &client->server->ranks[client->rank];
}

static void client_free(struct pmi_client *client)
{
    rank_of(client)->client = NULL;
    client->server->barrier_count -= client->is_in_barrier;
    watch_close(&client->watch);
    free(client);
}

/* Disconnects a client that violates the protocol, and frees it. */
static void client_refuse(struct pmi_client *client, const char *why)
{
    char clean[256];

    client->server->calls->refused(client->rank, text_clean(why, clean, sizeof(clean)));
    client_free(client);
}

/* ---- Answers ---- */

__attribute__((format(printf, 2, 3))) static void client_answer(struct pmi_client *client, const char *format,
                                                                ...)
{
    size_t room = sizeof(client->out) - client->out_end;
    va_list arguments;

    va_start(arguments, format);
    int bytes = vsnprintf(client->out + client->out_end, room, format, arguments);
    va_end(arguments);
    if (bytes > 0 && (size_t)bytes < room)
        client->out_end += (size_t)bytes;
}

/* Sends what the connection takes now; the rest is sent when there is room. */
static void client_send(struct pmi_client *client)
{
    ssize_t bytes = client->out_end ? send(client->watch.fd, client->out + client->out_begin,
                                           client->out_end - client->out_begin, MSG_NOSIGNAL | MSG_DONTWAIT)
                                    : 0;

    if (bytes > 0)
        client->out_begin += (size_t)bytes;
    if (client->out_begin == client->out_end || (bytes < 0 && errno != EAGAIN))
        client->out_begin = client->out_end = 0; /* after an error the next read reports the end */
    watch_set(client->server->loop, &client->watch, client->out_end ? EPOLLOUT : EPOLLIN);
}

static void barrier_enter(struct pmi_client *client)
{
    struct pmi_server *server = client->server;

    client->is_in_barrier = true;
    if (++server->barrier_count < server->size)
        return;
    server->barrier_count = 0;
    for (uint32_t i = 0; i < server->size; i++) {
        struct pmi_client *other = server->ranks[i].client;

        other->is_in_barrier = false;
        client_answer(other, "cmd=barrier_out\n");
        if (other != client)
            client_send(other);
    }
}

/* Replaces blanks by '_', since blanks separate a line's words. */
static const char *joined(char *text)
{
    for (char *at = text; *at; at++)
        if (*at == ' ')
            *at = '_';
    return text;
}

static void put_answer(struct pmi_client *client, const struct pmi_request *request)
{
    struct pmi_server *server = client->server;
    struct message why;
    char clean[256];

    if (strcmp(request->kvsname, server->store_name) != 0)
        message_set(&why, 0, "kvsname=%.40s: no such store; use %s", request->kvsname, server->store_name);
    else if (pmi_store_put(&server->store, request->key, request->value, &why) == 0) {
        client_answer(client, "cmd=put_result rc=0 msg=success\n");
        return;
    }
    server->calls->put_refused(client->rank, text_clean(why.text, clean, sizeof(clean)));
    client_answer(client, "cmd=put_result rc=-1 msg=%s\n", joined(why.text));
}

static void get_answer(struct pmi_client *client, const struct pmi_request *request)
{
    const struct pmi_server *server = client->server;
    bool is_ours = strcmp(request->kvsname, server->store_name) == 0;
    const char *value = is_ours ? pmi_store_get(&server->store, request->key) : NULL;

    if (value)
        client_answer(client, "cmd=get_result rc=0 msg=success value=%s\n", value);
    else
        client_answer(client, "cmd=get_result rc=-1 msg=%s_not_found value=unknown\n",
                      is_ours ? "key" : "kvsname");
}

static void getbyidx_answer(struct pmi_client *client, const struct pmi_request *request)
{
    const struct pmi_server *server = client->server;
    const struct pmi_store *store = &server->store;

    if (strcmp(request->kvsname, server->store_name) == 0 && request->number < store->count)
        client_answer(client, "cmd=getbyidx_results rc=0 nextidx=%u key=%s val=%s\n", request->number + 1,
                      store->pairs[request->number]->key, store->pairs[request->number]->value);
    else
        client_answer(client, "cmd=getbyidx_results rc=-2 reason=no_more_keyvals\n");
}

/* ---- Requests ---- */

static const char *version_take(struct pmi_client *client, const struct pmi_request *request)
{
    bool is_ours = request->number == 1;

    if (client->has_begun)
        return "init was sent twice";
    client->has_begun = is_ours;
    rank_of(client)->is_in_pmi = is_ours;
    client_answer(client, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=%d\n", is_ours ? 0 : -1);
    return NULL;
}

static void finalize_take(struct pmi_client *client)
{
    rank_of(client)->is_in_pmi = false;
    rank_of(client)->is_finished = true;
    client_answer(client, "cmd=finalize_ack rc=0\n");
}

/* Handles a request. NULL, or why the client is disconnected. */
static const char *request_take(struct pmi_client *client, const struct pmi_request *request)
{
    if (rank_of(client)->is_finished)
        return "a request was sent after finalize";
    if (request->command == PMI_INIT)
        return version_take(client, request);
    if (!client->has_begun && request->command != PMI_ABORT)
        return "a request was sent before init";
    switch (request->command) {
    case PMI_GET_MAXES:
        client_answer(client, "cmd=maxes kvsname_max=%d keylen_max=%d vallen_max=%d\n", PMI_NAME_BYTES,
                      PMI_KEY_BYTES, PMI_VALUE_BYTES);
        break;
    case PMI_GET_APPNUM:
        client_answer(client, "cmd=appnum appnum=%u\n", rank_of(client)->appnum);
        break;
    case PMI_GET_MY_KVSNAME:
        client_answer(client, "cmd=my_kvsname kvsname=%s\n", client->server->store_name);
        break;
    case PMI_GET_UNIVERSE_SIZE:
        client_answer(client, "cmd=universe_size size=%u\n", client->server->size);
        break;
    case PMI_PUT:
        put_answer(client, request);
        break;
    case PMI_GET:
        get_answer(client, request);
        break;
    case PMI_GETBYIDX:
        getbyidx_answer(client, request);
        break;
    case PMI_BARRIER_IN:
        barrier_enter(client);
        break;
    case PMI_FINALIZE:
        finalize_take(client);
        break;
    case PMI_ABORT:
        client->server->calls->aborted(client->rank, request->number);
        break;
    case PMI_SPAWN_BEGIN:
    case PMI_SPAWN_LINE:
        client->is_in_spawn = true;
        break;
    default: /* not supported, such as a spawn of many lines */
        client->is_in_spawn = false;
        client_answer(client, "cmd=%s rc=-1 msg=%s_does_not_offer_it info=not_offered\n", request->reply,
                      say_program());
    }
    return NULL;
}

/* Handles one line, which ends with NUL instead of LF. Returns false if the client has been freed. */
static bool line_take(struct pmi_client *client)
{
    struct pmi_request request;
    struct message why;
    const char *refused = why.text;

    if (client->is_in_barrier)
        refused = "a request was sent during a barrier";
    else if (pmi_request_read(client->in, client->is_in_spawn, &request, &why) == 0)
        refused = request_take(client, &request);
    if (refused)
        client_refuse(client, refused);
    return !refused;
}

/* Handles the complete lines that have come, until an answer cannot be sent at once. May free the client. */
static void lines_take(struct pmi_client *client)
{
    char *feed;

    while (!client->out_end && (feed = memchr(client->in, '\n', client->in_bytes))) {
        size_t bytes = (size_t)(feed - client->in) + 1;

        *feed = '\0';
        if (!line_take(client))
            return;
        client->in_bytes -= bytes;
        memmove(client->in, feed + 1, client->in_bytes);
        client_send(client);
    }
    if (!client->out_end && client->in_bytes == sizeof(client->in))
        client_refuse(client, "a line is too long");
}

/* Reads and handles requests. Returns false if none have come or the connection has ended. May free the
 * client. */
static bool client_read(struct pmi_client *client)
{
    ssize_t bytes = recv(client->watch.fd, client->in + client->in_bytes,
                         sizeof(client->in) - client->in_bytes, MSG_DONTWAIT);

    if (bytes < 0 && errno == EAGAIN)
        return false;
    if (bytes <= 0) {
        client_free(client);
        return false;
    }
    client->in_bytes += (size_t)bytes;
    lines_take(client);
    return true;
}

static void client_ready(struct watch *watch, uint32_t events)
{
    struct pmi_client *client = (struct pmi_client *)watch;

    (void)events; /* recv reports an error as the end */
    if (!client->out_end) {
        client_read(client);
        return;
    }
    client_send(client);
    if (!client->out_end)
        lines_take(client);
}

/* ---- The server ---- */

int pmi_server_open(struct pmi_server *server, const char *store_name, uint32_t nodes, uint32_t ranks,
                    struct message *why)
{
    char mapping[PMI_VALUE_BYTES];

    server->ranks = calloc(ranks, sizeof(server->ranks[0]));
    if (!server->ranks)
        return message_set(why, -ENOMEM, "no memory for %u ranks", ranks);
    server->size = ranks;
    snprintf(server->store_name, sizeof(server->store_name), "%s", store_name);
    pmi_mapping_print(mapping, nodes, ranks);
    return pmi_store_put(&server->store, "PMI_process_mapping", mapping, why);
}

bool pmi_server_connect(struct pmi_server *server, int connection, uint32_t rank, const char *bytes,
                        size_t count)
{
    struct pmi_client *client = calloc(1, sizeof(*client));

    if (!client)
        return false;
    client->watch = (struct watch){ .fd = connection, .ready = client_ready };
    client->server = server;
    client->rank = rank;
    rank_of(client)->client = client;
    if (count)
        memcpy(client->in, bytes, count);
    client->in_bytes = count;
    watch_set(server->loop, &client->watch, EPOLLIN);
    lines_take(client);
    return true;
}

void pmi_server_drain(struct pmi_server *server, uint32_t rank)
{
    struct pmi_client *client = server->ranks[rank].client;
    bool goes_on = true;

    /* If an answer cannot be sent, its reader has gone: a next request would wait forever. */
    while (goes_on && (client = server->ranks[rank].client) && !client->out_end)
        goes_on = client_read(client);
}
