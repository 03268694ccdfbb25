/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pages.c: requests for pages of flight logs (conductor.h): sends a command with the next three beats, then
 * checks the node's pages and passes each on as it comes. The conductor keeps no log: the client sees what is
 * missing, and asks again. A page is stray if it comes twice, or is of another node, start or command.
 */
#include "lib/bytes.h"
#include "service/conductor/conductor.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define READERS_MAX 16
#define WAIT_NS     (SECOND_NS / 2) /* for pages, after the last beat that carried the command */

static struct reader {
    unsigned client; /* 0: this place is free */
    uint8_t address[NODE_ADDRESS_BYTES];
    uint32_t number;      /* its command's number */
    uint64_t offset;      /* offset of the first page */
    unsigned count, come; /* pages: requested, received */
    uint32_t have;        /* a bit for each page that has come */
    uint64_t last_beat;   /* number of the last beat that carries the command */
    uint64_t deadline_ns; /* 0: that beat is not sent yet */
} readers[READERS_MAX];

static char page_text[2 * PAGE_DATA_BYTES + 1024];

static struct reader *reader_find(unsigned client)
{
    for (unsigned i = 0; i < READERS_MAX; i++)
        if (readers[i].client == client)
            return &readers[i];
    return NULL;
}

static const char *reader_start(struct reader *reader)
{
    struct command command = { .name = "page", .is_answered = true };
    uint8_t *body = command.wire.body;

    command.wire.code = BEAT_PAGE;
    command.wire.bytes = PAGE_REQUEST_BYTES;
    memcpy(body, reader->address, NODE_ADDRESS_BYTES);
    store_be(body + 6, 8, reader->offset);
    store_be(body + 14, 2, reader->count);
    if (!is_beating())
        return "no beats are sent, so none can carry the command; start them with: conductorctl rate HZ";
    if (commands_add(&conductor.commands, &command) < 0)
        return "beats are full: 16 commands are under way; try again later";
    reader->number = conductor.commands.last_number;
    reader->last_beat = conductor.sequence + COMMAND_BEATS;
    return NULL;
}

/* Reads and starts a request. Returns NULL, or the error. */
static const char *request_start(const char *words, struct reader *reader)
{
    char name[NODE_ADDRESS_TEXT];
    int end = 0;

    if (sscanf(words, "%17s %" SCNu64 " %u%n", name, &reader->offset, &reader->count, &end) != 3 ||
        words[end] || !reader->count || reader->count > PAGE_COUNT_MAX)
        return "page takes a node's Ethernet address, an offset and a count of pages, 1 to 8";
    const struct node *node = registry_find(&conductor.registry, name);
    if (!node)
        return "the node is no longer known";
    if (node_is_silent(node, conductor.asked))
        return "the node is silent";
    memcpy(reader->address, node->address, NODE_ADDRESS_BYTES);
    return reader_start(reader);
}

bool pages_take(const char *words, unsigned client, struct json *answer)
{
    struct reader reader = { .client = client };
    struct reader *place = reader_find(0);
    const char *why =
        place ? request_start(words, &reader) : "16 clients read pages already; try again later";

    if (why) {
        json_error(answer, why);
        return true;
    }
    *place = reader;
    return false;
}

/* ---- Pages that come ---- */

static void page_pass(const struct reader *reader, const struct page *page)
{
    struct json part = { .text = page_text, .room = sizeof(page_text) };
    static const char digits[] = "0123456789abcdef";
    char data[2 * PAGE_DATA_BYTES + 1];

    for (unsigned i = 0; i < page->bytes; i++) {
        data[2 * i] = digits[page->data[i] >> 4];
        data[2 * i + 1] = digits[page->data[i] & 15];
    }
    data[2 * page->bytes] = '\0';
    json_print(&part,
               "{\"page\": %u, \"start\": %" PRIu64 ", \"beat\": %" PRIu64 ", \"local_ns\": %" PRIu64
               ", \"global_ns\": %" PRIu64 ", \"drift\": %" PRId64 ", \"offset\": %" PRIu64
               ", \"size\": %" PRIu64 ", \"data\": \"%s\"}\n",
               page->number, page->start, page->sequence, page->local_ns, page->global_ns, page->drift,
               page->offset, page->size, data);
    client_part(reader->client, &part);
}

/* Returns which of the requested pages this is, from 0; PAGE_COUNT_MAX: none. The file may end before the
 * first or the last requested page; an empty page, 0, says that it ends before the first. */
static unsigned page_place(const struct reader *reader, const struct page *page)
{
    const uint64_t left = page->size - page->offset, distance = page->offset - reader->offset;
    const uint64_t due = left < PAGE_DATA_BYTES ? left : PAGE_DATA_BYTES;

    if (page->bytes == 0)
        return page->size <= reader->offset ? 0 : PAGE_COUNT_MAX;
    if (page->offset < reader->offset || distance % PAGE_DATA_BYTES || page->bytes != due ||
        distance / PAGE_DATA_BYTES >= reader->count)
        return PAGE_COUNT_MAX;
    return (unsigned)(distance / PAGE_DATA_BYTES);
}

static void reader_end(struct reader *reader)
{
    struct json answer = { .text = page_text, .room = sizeof(page_text) };
    const unsigned client = reader->client;

    json_print(&answer, "{\"pages\": %u}\n", reader->come);
    reader->client = 0;
    client_answer(client, &answer);
}

/* Returns whether all requested pages have come that the file has. */
static bool is_whole(const struct reader *reader, const struct page *page)
{
    const uint64_t left = page->size > reader->offset ? page->size - reader->offset : 0;
    const uint64_t pages = (left + PAGE_DATA_BYTES - 1) / PAGE_DATA_BYTES;

    return reader->come >= reader->count || reader->come >= pages;
}

void page_heard(const uint8_t address[NODE_ADDRESS_BYTES], const struct page *page)
{
    const struct node *node = registry_node(&conductor.registry, address);
    struct reader *reader = NULL;

    for (unsigned i = 0; i < READERS_MAX; i++)
        if (readers[i].client && readers[i].number == page->number &&
            memcmp(readers[i].address, address, NODE_ADDRESS_BYTES) == 0)
            reader = &readers[i];
    const unsigned place = reader ? page_place(reader, page) : PAGE_COUNT_MAX;
    if (!node || page->epoch != conductor.timeline.epoch_ns || page->start != node->answer.start ||
        place == PAGE_COUNT_MAX || (reader->have & 1U << place)) {
        conductor.stray_pages++;
        return;
    }
    conductor.pages++;
    reader->have |= 1U << place;
    reader->come++;
    page_pass(reader, page);
    if (reader->client && is_whole(reader, page)) /* 0: page_pass has closed it */
        reader_end(reader);
}

/* ---- Pages that do not come ---- */

void pages_settle(void)
{
    const uint64_t now_ns = conductor_now_ns();

    for (unsigned i = 0; i < READERS_MAX; i++) {
        struct reader *reader = &readers[i];

        if (!reader->client)
            continue;
        if (!reader->deadline_ns && (conductor.sequence >= reader->last_beat || !is_beating()))
            reader->deadline_ns = now_ns + WAIT_NS;
        if (reader->deadline_ns && reader->deadline_ns <= now_ns)
            reader_end(reader);
    }
}

void pages_epoch_begin(void)
{
    for (unsigned i = 0; i < READERS_MAX; i++)
        if (readers[i].client)
            reader_end(&readers[i]);
}

int pages_timeout_ms(void)
{
    const uint64_t now_ns = conductor_now_ns();
    uint64_t first_ns = UINT64_MAX;

    for (unsigned i = 0; i < READERS_MAX; i++)
        if (readers[i].client && readers[i].deadline_ns && readers[i].deadline_ns < first_ns)
            first_ns = readers[i].deadline_ns;
    if (first_ns == UINT64_MAX)
        return -1;
    return first_ns <= now_ns ? 0 : (int)((first_ns - now_ns) / 1000000 + 1);
}

void pages_client_gone(unsigned client)
{
    struct reader *reader = client ? reader_find(client) : NULL;

    if (reader)
        reader->client = 0;
}
