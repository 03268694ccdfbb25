/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmi.c: see pmi.h.
 */
#include "service/lib/pmi.h"
#include "service/lib/text.h"
#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 16 /* in a line */

/* A word NAME=VALUE, its '=' replaced by a NUL. */
struct word {
    const char *name, *value;
};

static const struct {
    const char *name;
    enum pmi_command command;
    const char *reply;
} commands[] = {
    { "init", PMI_INIT, NULL },
    { "get_maxes", PMI_GET_MAXES, NULL },
    { "get_appnum", PMI_GET_APPNUM, NULL },
    { "get_my_kvsname", PMI_GET_MY_KVSNAME, NULL },
    { "get_universe_size", PMI_GET_UNIVERSE_SIZE, NULL },
    { "put", PMI_PUT, NULL },
    { "get", PMI_GET, NULL },
    { "getbyidx", PMI_GETBYIDX, NULL },
    { "barrier_in", PMI_BARRIER_IN, NULL },
    { "finalize", PMI_FINALIZE, NULL },
    { "abort", PMI_ABORT, NULL },
    { "create_kvs", PMI_REFUSED, "newkvs" },
    { "destroy_kvs", PMI_REFUSED, "kvs_destroyed" },
    { "publish_name", PMI_REFUSED, "publish_result" },
    { "unpublish_name", PMI_REFUSED, "unpublish_result" },
    { "lookup_name", PMI_REFUSED, "lookup_result" },
    { "spawn", PMI_REFUSED, "spawn_result" },
};

/* Splits a line at its blanks. Returns the number of words; -1 if a word has no '=' or there are too many. */
static int words_part(char *line, struct word words[WORDS_MAX])
{
    int count = 0;
    char *rest = NULL;

    for (char *at = strtok_r(line, " \t\r", &rest); at; at = strtok_r(NULL, " \t\r", &rest)) {
        char *value = strchr(at, '=');

        if (!value || value == at || count == WORDS_MAX)
            return -1;
        *value = '\0';
        words[count++] = (struct word){ .name = at, .value = value + 1 };
    }
    return count;
}

static const char *word_value(const struct word *words, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(words[i].name, name) == 0)
            return words[i].value;
    return NULL;
}

/* Reads a decimal number. 0, or -EINVAL and a message that names the word. */
static int number_read(const char *name, const char *text, uint32_t *number, struct message *why)
{
    const char *end;

    if (!text || !decimal_read(text, &end, INT32_MAX, number) || *end)
        return message_set(why, -EINVAL, "%s=%.40s: not a number from 0 to 2147483647", name,
                           text ? text : "");
    return 0;
}

static int text_missing(const char *command, const char *name, struct message *why)
{
    return message_set(why, -EINVAL, "cmd=%s: %s= is missing", command, name);
}

/* Reads an exit code, an int, as 32 bits. */
static int exit_code_read(const char *text, uint32_t *number, struct message *why)
{
    const bool is_negative = *text == '-';
    const char *end;

    if (!decimal_read(text + is_negative, &end, INT32_MAX + (uint32_t)is_negative, number) || *end)
        return message_set(why, -EINVAL, "exitcode=%.40s: not a number of 32 bits", text);
    *number = is_negative ? -*number : *number;
    return 0;
}

/* Reads a command's operands. */
static int operands_read(const char *name, const struct word *words, int count, struct pmi_request *request,
                         struct message *why)
{
    const char *number = request->command == PMI_INIT       ? "pmi_version"
                         : request->command == PMI_GETBYIDX ? "idx"
                                                            : NULL;
    bool is_keyed = request->command == PMI_PUT || request->command == PMI_GET;

    const char *code = request->command == PMI_ABORT ? word_value(words, count, "exitcode") : NULL;

    if (request->command == PMI_ABORT && !code)
        request->number = 1; /* older clients send no exit code */
    else if (code && exit_code_read(code, &request->number, why))
        return -EINVAL;
    else if (number && number_read(number, word_value(words, count, number), &request->number, why))
        return -EINVAL;
    if (request->command == PMI_INIT &&
        number_read("pmi_subversion", word_value(words, count, "pmi_subversion"), &request->subversion, why))
        return -EINVAL;
    request->kvsname = word_value(words, count, "kvsname");
    request->key = word_value(words, count, "key");
    request->value = word_value(words, count, "value");
    if (!request->kvsname && (is_keyed || request->command == PMI_GETBYIDX))
        return text_missing(name, "kvsname", why);
    if (!request->key && is_keyed)
        return text_missing(name, "key", why);
    if (!request->value && request->command == PMI_PUT)
        return text_missing(name, "value", why);
    return 0;
}

int pmi_request_read(char *line, bool in_spawn, struct pmi_request *request, struct message *why)
{
    struct word words[WORDS_MAX];

    memset(request, 0, sizeof(*request));
    if (in_spawn || strcmp(line, "mcmd=spawn") == 0) {
        request->command = !in_spawn                     ? PMI_SPAWN_BEGIN
                           : strcmp(line, "endcmd") == 0 ? PMI_SPAWN_END
                                                         : PMI_SPAWN_LINE;
        request->reply = "spawn_result";
        return 0;
    }
    int count = words_part(line, words);
    const char *name = count > 0 ? word_value(words, count, "cmd") : NULL;
    if (!name)
        return message_set(why, -EINVAL, "a line is cmd=COMMAND and words NAME=VALUE, %d at most", WORDS_MAX);
    for (unsigned i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(name, commands[i].name) != 0)
            continue;
        request->command = commands[i].command;
        request->reply = commands[i].reply;
        return operands_read(name, words, count, request, why);
    }
    return message_set(why, -EINVAL, "cmd=%.40s: PMI-1 has no such command", name);
}

/* ---- The store ---- */

static int pair_compare(const void *left, const void *right)
{
    return strcmp(((const struct pmi_pair *)left)->key, ((const struct pmi_pair *)right)->key);
}

static struct pmi_pair *pair_make(const char *key, const char *value)
{
    struct pmi_pair *pair = malloc(sizeof(*pair));

    if (!pair)
        return NULL;
    pair->key = strdup(key);
    pair->value = strdup(value);
    if (pair->key && pair->value)
        return pair;
    free(pair->key);
    free(pair->value);
    free(pair);
    return NULL;
}

static bool store_has_room(struct pmi_store *store)
{
    uint32_t room = store->room ? 2 * store->room : 64;

    if (store->count < store->room)
        return true;
    struct pmi_pair **pairs = realloc(store->pairs, room * sizeof(pairs[0]));
    if (!pairs)
        return false;
    store->pairs = pairs;
    store->room = room;
    return true;
}

int pmi_store_put(struct pmi_store *store, const char *key, const char *value, struct message *why)
{
    if (!*key || strlen(key) >= PMI_KEY_BYTES)
        return message_set(why, -EINVAL, "key=%.40s: a key has 1 to %d characters", key, PMI_KEY_BYTES - 1);
    if (strlen(value) >= PMI_VALUE_BYTES)
        return message_set(why, -EINVAL, "key=%s: a value has %d characters at most", key,
                           PMI_VALUE_BYTES - 1);
    if (pmi_store_get(store, key))
        return message_set(why, -EEXIST, "key=%s: already put", key);
    struct pmi_pair *pair = store_has_room(store) ? pair_make(key, value) : NULL;
    if (!pair || !tsearch(pair, &store->tree, pair_compare))
        return message_set(why, -ENOMEM, "key=%s: no memory", key);
    store->pairs[store->count++] = pair;
    return 0;
}

const char *pmi_store_get(const struct pmi_store *store, const char *key)
{
    const struct pmi_pair pair = { .key = (char *)key };
    struct pmi_pair **found = tfind(&pair, (void *const *)&store->tree, pair_compare);

    return found ? (*found)->value : NULL;
}

void pmi_store_free(struct pmi_store *store)
{
    for (uint32_t i = 0; i < store->count; i++) {
        tdelete(store->pairs[i], &store->tree, pair_compare);
        free(store->pairs[i]->key);
        free(store->pairs[i]->value);
        free(store->pairs[i]);
    }
    free(store->pairs);
    memset(store, 0, sizeof(*store));
}

void pmi_mapping_print(char text[PMI_VALUE_BYTES], uint32_t nodes, uint32_t ranks)
{
    uint32_t each = ranks / nodes, more = ranks % nodes;

    if (more)
        snprintf(text, PMI_VALUE_BYTES, "(vector,(0,%u,%u),(%u,%u,%u))", more, each + 1, more, nodes - more,
                 each);
    else
        snprintf(text, PMI_VALUE_BYTES, "(vector,(0,%u,%u))", nodes, each);
}
