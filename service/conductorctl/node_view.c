/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * node_view.c: see node_view.h.
 */
#include "service/conductorctl/node_view.h"
#include "service/lib/clock.h"
#include "service/lib/control.h"
#include "service/lib/json.h"
#include "service/lib/say.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD_BYTES   64 /* of a node's longest value */
#define PAGE_WITHIN_S 10
#define COUNTERS      4

static const char *const counter_names[COUNTERS] = { "system_calls", "exceptions", "interrupts", "switches" };

static const char *text_of(const char *object, const char *name, char text[FIELD_BYTES])
{
    return json_member_text(object, name, text, FIELD_BYTES);
}

static void list_append(struct node_list *list, const char *text, size_t bytes)
{
    if (list->length + bytes + 1 > list->room) {
        list->room = 2 * (list->length + bytes + 1);
        list->text = realloc(list->text, list->room);
        if (!list->text)
            give_up(1, "no memory");
    }
    memcpy(list->text + list->length, text, bytes);
    list->length += bytes;
    list->text[list->length] = '\0';
}

static bool list_ask(struct node_list *list, struct conversation *conversation, const char *what)
{
    uint64_t next = 0;

    *list = (struct node_list){ 0 };
    list_append(list, "[", 1);
    do {
        char request[CONTROL_REQUEST_BYTES];

        snprintf(request, sizeof(request), "%s %" PRIu64, what, next);
        const char *page = conversation_ask(conversation, request, PAGE_WITHIN_S);
        if (!page)
            return false;
        list->now_ns = json_number(page, "now_ns");
        next = json_number(page, "next");
        json_member_text(page, "conductor_key", list->conductor_key, sizeof(list->conductor_key));
        for (const char *node = json_first(json_member(page, "nodes")); node; node = json_next(node)) {
            if (list->length > 1)
                list_append(list, ",\n", 2);
            list_append(list, node, (size_t)(json_end(node) - node));
        }
    } while (next);
    list_append(list, "]", 1);
    return true;
}

bool node_list_ask(struct node_list *list, struct conversation *conversation)
{
    return list_ask(list, conversation, "nodes");
}

bool key_list_ask(struct node_list *list, struct conversation *conversation)
{
    return list_ask(list, conversation, "keys");
}

void node_list_free(struct node_list *list)
{
    free(list->text);
    list->text = NULL;
}

/* Returns a node's state; if it is silent, with the seconds since its last answer. */
static const char *state_of(const struct node_list *list, const char *node, char text[FIELD_BYTES])
{
    text_of(node, "state", text);
    if (strcmp(text, "silent") == 0)
        snprintf(text, FIELD_BYTES, "silent %" PRIu64 " s",
                 (list->now_ns - json_number(node, "heard_ns")) / SECOND_NS);
    return text;
}

static void row_print(const struct node_list *list, const char *node)
{
    const char *error = json_member(node, "error_ns");
    char name[FIELD_BYTES], address[FIELD_BYTES], ipv4[FIELD_BYTES], state[FIELD_BYTES], job[FIELD_BYTES];

    printf("%-16s %-17s %-15s %-12s %10" PRIu64 " %6" PRIu64 " %10.1f %5" PRIu64 "/%-5" PRIu64 " %10s",
           text_of(node, "name", name), text_of(node, "address", address), text_of(node, "ipv4", ipv4),
           state_of(list, node, state), json_number(node, "sequence"), json_number(node, "lost"),
           error ? strtod(error, NULL) / 1e3 : 0, json_number(node, "ranks"), json_number(node, "cpus"),
           json_number(node, "job") ? text_of(node, "job", job) : "-");
    for (unsigned i = 0; i < COUNTERS; i++)
        printf(" %12" PRIu64, json_number(node, counter_names[i]));
    printf(" %8" PRIu64 "\n", json_number(node, "restarts"));
}

void node_list_print(const struct node_list *list, bool is_json)
{
    if (is_json) {
        printf("{\"now_ns\": %" PRIu64 ", \"nodes\": %s}\n", list->now_ns, list->text);
        return;
    }
    printf("%-16s %-17s %-15s %-12s %10s %6s %10s %11s %10s", "node", "address", "ipv4", "state", "beat",
           "lost", "offset_us", "ranks/cpus ", "job");
    for (unsigned i = 0; i < COUNTERS; i++)
        printf(" %12s", counter_names[i]);
    printf(" %8s\n", "restarts");
    for (const char *node = json_first(list->text); node; node = json_next(node))
        row_print(list, node);
}

void key_list_print(const struct node_list *list, bool is_json)
{
    char name[FIELD_BYTES], address[FIELD_BYTES], fingerprint[FIELD_BYTES], state[FIELD_BYTES];

    if (is_json) {
        printf("{\"now_ns\": %" PRIu64 ", \"conductor_key\": \"%s\", \"nodes\": %s}\n", list->now_ns,
               list->conductor_key, list->text);
        return;
    }
    if (*list->conductor_key)
        printf("conductor_key=%s\n", list->conductor_key);
    else
        puts("the conductor gives no keys: it was started without --identity FILE");
    printf("%-16s %-17s %-23s %-9s %s\n", "node", "address", "fingerprint", "state", "heard");
    for (const char *node = json_first(list->text); node; node = json_next(node))
        printf("%-16s %-17s %-23s %-9s %" PRIu64 " s ago\n", text_of(node, "name", name),
               text_of(node, "address", address), text_of(node, "fingerprint", fingerprint),
               text_of(node, "state", state), (list->now_ns - json_number(node, "heard_ns")) / SECOND_NS);
}

static bool is_same(const char *one, const char *other, const char *name)
{
    char left[FIELD_BYTES], right[FIELD_BYTES];

    return strcmp(text_of(one, name, left), text_of(other, name, right)) == 0;
}

/* Finds a node in another list; NULL: it is not there. Looks at *hint first, because lists have their nodes
 * in the same order except for those that have come or gone. */
static const char *node_find(const struct node_list *list, const char **hint, const char *node)
{
    const char *at = *hint;

    if (!at || !is_same(at, node, "address"))
        for (at = json_first(list->text); at && !is_same(at, node, "address");)
            at = json_next(at);
    *hint = at ? json_next(at) : NULL;
    return at;
}

static void counts_row_print(const char *before, const char *after, bool is_json, bool is_first)
{
    char name[FIELD_BYTES], address[FIELD_BYTES];
    const char *quoted = json_member(after, "name");

    text_of(after, "address", address);
    if (is_json)
        printf("%s{\"name\": %.*s, \"address\": \"%s\"", is_first ? "" : ",\n",
               (int)(json_end(quoted) - quoted), quoted, address);
    else
        printf("%-16s %-17s", text_of(after, "name", name), address);
    for (unsigned i = 0; i < COUNTERS; i++) {
        uint64_t count = json_number(after, counter_names[i]) - json_number(before, counter_names[i]);

        if (is_json)
            printf(", \"%s\": %" PRIu64, counter_names[i], count);
        else
            printf(" %12" PRIu64, count);
    }
    fputs(is_json ? "}" : "\n", stdout);
}

void node_counts_print(const struct node_list *before, const struct node_list *after, uint32_t number,
                       uint64_t interval_ns, bool is_json)
{
    const char *hint = json_first(before->text);
    bool is_first = true;

    if (is_json)
        printf("{\"interval_ns\": %" PRIu64 ", \"nodes\": [", interval_ns);
    else
        printf("%-16s %-17s %12s %12s %12s %12s  in %.3f s\n", "node", "address", counter_names[0],
               counter_names[1], counter_names[2], counter_names[3], (double)interval_ns / 1e9);
    for (const char *node = json_first(after->text); node; node = json_next(node)) {
        const char *earlier = node_find(before, &hint, node);

        if (!earlier || json_number(node, "done") < number || !is_same(earlier, node, "booted_ns") ||
            !is_same(earlier, node, "restarts"))
            continue;
        counts_row_print(earlier, node, is_json, is_first);
        is_first = false;
    }
    if (is_json)
        fputs("]}\n", stdout);
}
