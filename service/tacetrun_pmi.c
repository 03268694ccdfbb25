/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tacetrun_pmi.c: PMI's server (pmi.h): ranks put keys, wait for each other, and get what the others have
 * put. A client that does not keep to the protocol is named and sent away; it is for its rank to end then.
 */
#include "service/pmi.h"
#include "service/tacetrun.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct pmi_client {
    struct watch watch; /* first */
    struct sockaddr_in from;
    uint32_t rank; /* LAUNCH_RANK_NONE before it has said so */
    bool has_begun, is_in_barrier, is_in_spawn;
    char in[PMI_LINE_BYTES];
    size_t in_bytes;
    char out[2 * PMI_REPLY_BYTES]; /* a request is read once the last answer is out */
    size_t out_begin, out_end;
};

static struct pmi_store store;
static char store_name[32];
static uint32_t barrier_count;

static void client_free(struct pmi_client *client)
{
    if (client->rank != LAUNCH_RANK_NONE)
        run.ranks[client->rank].pmi = NULL;
    barrier_count -= client->is_in_barrier;
    watch_close(&client->watch);
    free(client);
}

/* It does not keep to the protocol. It is freed. */
static void client_refuse(struct pmi_client *client, const char *why)
{
    char clean[256];

    text_clean(why, clean, sizeof(clean));
    if (client->rank == LAUNCH_RANK_NONE)
        stranger_say(&client->from, clean);
    else
        say("rank %u on %s does not keep to PMI: %s", client->rank, node_of_rank(client->rank)->name, clean);
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

/* Sends what it can; what is left goes when there is room. */
static void client_send(struct pmi_client *client)
{
    ssize_t bytes = client->out_end ? send(client->watch.fd, client->out + client->out_begin,
                                           client->out_end - client->out_begin, MSG_NOSIGNAL | MSG_DONTWAIT)
                                    : 0;

    if (bytes > 0)
        client->out_begin += (size_t)bytes;
    if (client->out_begin == client->out_end || (bytes < 0 && errno != EAGAIN))
        client->out_begin = client->out_end = 0; /* reading says that it has ended */
    watch_set(&run.loop, &client->watch, client->out_end ? EPOLLOUT : EPOLLIN);
}

static void barrier_enter(struct pmi_client *client)
{
    client->is_in_barrier = true;
    if (++barrier_count < run.size)
        return;
    barrier_count = 0;
    for (uint32_t i = 0; i < run.size; i++) {
        struct pmi_client *other = run.ranks[i].pmi;

        other->is_in_barrier = false;
        client_answer(other, "cmd=barrier_out\n");
        if (other != client)
            client_send(other);
    }
}

/* Blanks part words. */
static const char *joined(char *text)
{
    for (char *at = text; *at; at++)
        if (*at == ' ')
            *at = '_';
    return text;
}

static void put_answer(struct pmi_client *client, const struct pmi_request *request)
{
    struct message why;

    if (strcmp(request->kvsname, store_name) != 0)
        message_set(&why, 0, "kvsname=%.40s: its name is %s", request->kvsname, store_name);
    else if (pmi_store_put(&store, request->key, request->value, &why) == 0) {
        client_answer(client, "cmd=put_result rc=0 msg=success\n");
        return;
    }
    say("rank %u on %s: PMI's put is refused: %s", client->rank, node_of_rank(client->rank)->name, why.text);
    client_answer(client, "cmd=put_result rc=-1 msg=%s\n", joined(why.text));
}

static void get_answer(struct pmi_client *client, const struct pmi_request *request)
{
    bool is_ours = strcmp(request->kvsname, store_name) == 0;
    const char *value = is_ours ? pmi_store_get(&store, request->key) : NULL;

    if (value)
        client_answer(client, "cmd=get_result rc=0 msg=success value=%s\n", value);
    else
        client_answer(client, "cmd=get_result rc=-1 msg=%s_not_found value=unknown\n",
                      is_ours ? "key" : "kvsname");
}

static void getbyidx_answer(struct pmi_client *client, const struct pmi_request *request)
{
    if (strcmp(request->kvsname, store_name) == 0 && request->number < store.count)
        client_answer(client, "cmd=getbyidx_results rc=0 nextidx=%u key=%s val=%s\n", request->number + 1,
                      store.pairs[request->number]->key, store.pairs[request->number]->value);
    else
        client_answer(client, "cmd=getbyidx_results rc=-2 reason=no_more_keyvals\n");
}

/* ---- Requests ---- */

/* "cmd=initack pmiid=R": who it is. NULL, or why not. */
static const char *rank_take(struct pmi_client *client, uint32_t rank)
{
    if (client->rank != LAUNCH_RANK_NONE)
        return "it says initack twice";
    if (rank >= run.size)
        return "PMI's initack is of a rank that the job does not have";
    if (run.ranks[rank].pmi || run.ranks[rank].is_pmi_finished)
        return "PMI's initack is of a rank that is there already";
    client->rank = rank;
    run.ranks[rank].pmi = client;
    client_answer(client, "cmd=initack\ncmd=set size=%u\ncmd=set rank=%u\ncmd=set debug=0\n", run.size, rank);
    return NULL;
}

static const char *version_take(struct pmi_client *client, const struct pmi_request *request)
{
    bool is_ours = request->number == 1;

    if (client->has_begun)
        return "it says init twice";
    client->has_begun = is_ours;
    run.ranks[client->rank].is_in_pmi = is_ours;
    client_answer(client, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=%d\n", is_ours ? 0 : -1);
    return NULL;
}

static void finalize_take(struct pmi_client *client)
{
    run.ranks[client->rank].is_in_pmi = false;
    run.ranks[client->rank].is_pmi_finished = true;
    client_answer(client, "cmd=finalize_ack rc=0\n");
}

static void abort_take(const struct pmi_client *client, uint32_t code)
{
    run_kill(code & 0xff ? code & 0xff : 1, "rank %u on %s aborts the job with exit code %u", client->rank,
             node_of_rank(client->rank)->name, code);
}

/* NULL, or why the client is sent away. */
static const char *request_take(struct pmi_client *client, const struct pmi_request *request)
{
    if (request->command == PMI_INITACK)
        return rank_take(client, request->number);
    if (client->rank == LAUNCH_RANK_NONE)
        return "PMI begins with cmd=initack pmiid=RANK";
    if (run.ranks[client->rank].is_pmi_finished)
        return "it goes on after finalize";
    if (request->command == PMI_INIT)
        return version_take(client, request);
    if (!client->has_begun && request->command != PMI_ABORT)
        return "after initack PMI takes cmd=init";
    switch (request->command) {
    case PMI_GET_MAXES:
        client_answer(client, "cmd=maxes kvsname_max=%d keylen_max=%d vallen_max=%d\n", PMI_NAME_BYTES,
                      PMI_KEY_BYTES, PMI_VALUE_BYTES);
        break;
    case PMI_GET_APPNUM:
        client_answer(client, "cmd=appnum appnum=0\n");
        break;
    case PMI_GET_MY_KVSNAME:
        client_answer(client, "cmd=my_kvsname kvsname=%s\n", store_name);
        break;
    case PMI_GET_UNIVERSE_SIZE:
        client_answer(client, "cmd=universe_size size=%u\n", run.size);
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
        abort_take(client, request->number);
        break;
    case PMI_SPAWN_BEGIN:
    case PMI_SPAWN_LINE:
        client->is_in_spawn = true;
        break;
    default: /* not offered, a spawn of many lines among them */
        client->is_in_spawn = false;
        client_answer(client, "cmd=%s rc=-1 msg=tacetrun_does_not_offer_it info=not_offered\n",
                      request->reply);
    }
    return NULL;
}

/* One line, with a NUL for its LF; false where the client is freed. */
static bool line_take(struct pmi_client *client)
{
    struct pmi_request request;
    struct message why;
    const char *refused = why.text;

    if (client->is_in_barrier)
        refused = "it goes on before the barrier has opened";
    else if (pmi_request_read(client->in, client->is_in_spawn, &request, &why) == 0)
        refused = request_take(client, &request);
    if (refused)
        client_refuse(client, refused);
    return !refused;
}

/* The lines that are there, until one has to wait for an answer that is not out. The client may be freed. */
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
        client_refuse(client, "its line is too long");
}

static void client_ready(struct watch *watch, uint32_t events)
{
    struct pmi_client *client = (struct pmi_client *)watch;

    if (client->out_end) {
        client_send(client);
        if (!client->out_end)
            lines_take(client);
        return;
    }
    ssize_t bytes =
        recv(watch->fd, client->in + client->in_bytes, sizeof(client->in) - client->in_bytes, MSG_DONTWAIT);
    (void)events;
    if (bytes < 0 && errno == EAGAIN)
        return;
    if (bytes <= 0) {
        client_free(client);
        return;
    }
    client->in_bytes += (size_t)bytes;
    lines_take(client);
}

void pmi_begin(int connection, const struct sockaddr_in *from, const char *bytes, size_t count)
{
    struct pmi_client *client = calloc(1, sizeof(*client));

    if (!client) {
        run_kill(STATUS_FAILED, "no memory for PMI");
        return;
    }
    client->watch = (struct watch){ .fd = connection, .ready = client_ready };
    client->from = *from;
    client->rank = LAUNCH_RANK_NONE;
    client->in_bytes = count;
    memcpy(client->in, bytes, count);
    connection_prepare(connection, 0);
    watch_set(&run.loop, &client->watch, EPOLLIN);
    lines_take(client);
}

void pmi_prepare(void)
{
    char mapping[PMI_VALUE_BYTES];
    struct message why;

    snprintf(store_name, sizeof(store_name), "job_%u", run.job);
    pmi_mapping_print(mapping, nodes.count, run.size);
    if (pmi_store_put(&store, "PMI_process_mapping", mapping, &why))
        run_kill(STATUS_FAILED, "PMI: %s", why.text);
}
