/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_pmi.c: any lines of a PMI client, one after the other. Text that is read must lie inside its line, a
 * refusal must have a reason, and a key that is put must be found.
 */
#include "service/lib/pmi.h"
#include "fuzz.h"

static void promise_inside(const char *text, const char *line, size_t bytes)
{
    PROMISE(!text ||
            (text >= line && text <= line + bytes && memchr(text, 0, (size_t)(line + bytes - text) + 1)));
}

static void promise_put(struct pmi_store *store, const struct pmi_request *request)
{
    struct message why = { "" };
    uint32_t before = store->count;
    const char *found = pmi_store_get(store, request->key);

    if (pmi_store_put(store, request->key, request->value, &why) == 0) {
        PROMISE(!found && store->count == before + 1);
        PROMISE(strcmp(pmi_store_get(store, request->key), request->value) == 0);
    } else {
        PROMISE(why.text[0] && store->count == before);
    }
}

static bool line_try(char *line, size_t bytes, bool in_spawn, struct pmi_store *store)
{
    struct pmi_request request;
    struct message why = { "" };

    if (pmi_request_read(line, in_spawn, &request, &why)) {
        PROMISE(why.text[0]);
        return in_spawn;
    }
    PROMISE(request.command <= PMI_SPAWN_END &&
            (request.number <= INT32_MAX || request.command == PMI_ABORT));
    PROMISE((request.command >= PMI_REFUSED) == (request.reply != NULL));
    promise_inside(request.kvsname, line, bytes);
    promise_inside(request.key, line, bytes);
    promise_inside(request.value, line, bytes);
    if (request.command == PMI_PUT)
        promise_put(store, &request);
    return request.command == PMI_SPAWN_BEGIN || request.command == PMI_SPAWN_LINE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct pmi_store store = { 0 };
    bool in_spawn = false;

    while (bytes) {
        const uint8_t *feed = memchr(data, '\n', bytes);
        size_t count = feed ? (size_t)(feed - data) : bytes;
        char *line = malloc(count + 1);

        memcpy(line, data, count);
        line[count] = '\0';
        in_spawn = line_try(line, count, in_spawn, &store);
        free(line);
        data += count + (feed != NULL);
        bytes -= count + (feed != NULL);
    }
    pmi_store_free(&store);
    return 0;
}
