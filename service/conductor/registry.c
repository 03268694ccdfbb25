/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * registry.c: see registry.h. A hash table with chains, and a list in the order of the nodes' last answers; a
 * new node gets a place that another node has left, if there is one.
 */
#include "service/conductor/registry.h"
#include <stdio.h>
#include <string.h>

/* Finds an address's bucket, by FNV-1a: addresses of one maker differ only in their last bytes. */
static uint16_t *bucket_of(struct registry *registry, const uint8_t *address)
{
    uint32_t hash = 2166136261u;

    for (unsigned i = 0; i < NODE_ADDRESS_BYTES; i++)
        hash = (hash ^ address[i]) * 16777619u;
    return &registry->buckets[(hash ^ hash >> 16) & (REGISTRY_BUCKETS - 1)];
}

struct node *registry_node(struct registry *registry, const uint8_t address[NODE_ADDRESS_BYTES])
{
    struct node *node = NULL;

    for (unsigned at = *bucket_of(registry, address); at; at = node->next) {
        node = &registry->nodes[at - 1];
        if (memcmp(node->address, address, NODE_ADDRESS_BYTES) == 0)
            return node;
    }
    return NULL;
}

/* Appends a node to the list of those that were heard, or takes it off. */
static void heard_append(struct registry *registry, uint16_t place)
{
    struct node *node = &registry->nodes[place - 1];

    node->older = registry->newest;
    node->newer = 0;
    *(registry->newest ? &registry->nodes[registry->newest - 1].newer : &registry->oldest) = place;
    registry->newest = place;
}

static void heard_remove(struct registry *registry, const struct node *node)
{
    *(node->older ? &registry->nodes[node->older - 1].newer : &registry->oldest) = node->newer;
    *(node->newer ? &registry->nodes[node->newer - 1].older : &registry->newest) = node->older;
}

static struct node *node_add(struct registry *registry, const uint8_t *address)
{
    uint16_t *bucket = bucket_of(registry, address);
    unsigned place = registry->free;

    if (place)
        registry->free = registry->nodes[place - 1].next;
    else if (registry->places < REGISTRY_NODES_MAX)
        place = ++registry->places;
    else
        return NULL;
    struct node *node = &registry->nodes[place - 1];
    *node = (struct node){ .is_known = true, .next = *bucket };
    memcpy(node->address, address, NODE_ADDRESS_BYTES);
    *bucket = (uint16_t)place;
    heard_append(registry, (uint16_t)place);
    registry->count++;
    return node;
}

/* Removes the node that was heard longest ago, if it is silent. */
static bool oldest_remove(struct registry *registry, uint64_t asked)
{
    struct node *node = registry->oldest ? &registry->nodes[registry->oldest - 1] : NULL;

    if (!node || !node_is_silent(node, asked))
        return false;
    registry_remove(registry, node);
    return true;
}

bool is_one_card_s(const uint8_t *address)
{
    static const uint8_t none[NODE_ADDRESS_BYTES];

    return !(address[0] & 1) && memcmp(address, none, sizeof(none)) != 0;
}

enum registry_place registry_take(struct registry *registry, const uint8_t address[NODE_ADDRESS_BYTES],
                                  const struct answer *answer, const struct registry_moment *now,
                                  struct node **node)
{
    enum registry_place place = REGISTRY_NEXT;

    if (!is_one_card_s(address))
        return REGISTRY_OTHER_ADDRESS;
    if (answer->epoch != now->epoch)
        return REGISTRY_OTHER_EPOCH;
    if (answer->sequence > now->sequence || answer->done > now->last_command)
        return REGISTRY_NOT_SENT;
    if (answer->follows != answer->epoch)
        return REGISTRY_FOLLOWS_OTHER;
    struct node *found = registry_node(registry, address);
    if (found) {
        const bool is_other_start = answer->start != found->answer.start;
        if (answer->sequence < found->answer.sequence ||
            (is_other_start && answer->sequence <= found->known_since))
            return REGISTRY_LATE;
        if (answer->sequence == found->answer.sequence)
            return REGISTRY_DUPLICATE;
        if (is_other_start) {
            found->restarts++;
            place = REGISTRY_RESTARTED;
        }
    } else {
        place = REGISTRY_NEW;
        found = node_add(registry, address);
        if (!found && oldest_remove(registry, now->asked)) {
            place = REGISTRY_REPLACED;
            found = node_add(registry, address);
        }
        if (!found)
            return REGISTRY_FULL;
    }
    if (place != REGISTRY_NEXT)
        found->known_since = now->sequence;
    heard_remove(registry, found);
    heard_append(registry, (uint16_t)(found - registry->nodes + 1));
    found->answer = *answer;
    found->heard_ns = now->conductor_ns;
    found->asked = now->asked;
    *node = found;
    return place;
}

bool address_read(const char *text, uint8_t address[NODE_ADDRESS_BYTES])
{
    unsigned bytes[NODE_ADDRESS_BYTES];
    int end = 0;

    if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &bytes[0], &bytes[1], &bytes[2], &bytes[3], &bytes[4],
               &bytes[5], &end) != NODE_ADDRESS_BYTES ||
        text[end])
        return false;
    for (unsigned i = 0; i < NODE_ADDRESS_BYTES; i++)
        address[i] = (uint8_t)bytes[i];
    return true;
}

struct node *registry_find(struct registry *registry, const char *name)
{
    uint8_t address[NODE_ADDRESS_BYTES];

    if (address_read(name, address))
        return registry_node(registry, address);
    for (unsigned i = 0; i < registry->places; i++) {
        struct node *node = &registry->nodes[i];

        if (node->is_known && strcmp(node->answer.name, name) == 0)
            return node;
    }
    return NULL;
}

void registry_remove(struct registry *registry, struct node *node)
{
    uint16_t place = (uint16_t)(node - registry->nodes + 1), *link = bucket_of(registry, node->address);

    while (*link != place)
        link = &registry->nodes[*link - 1].next;
    *link = node->next;
    heard_remove(registry, node);
    node->is_known = false;
    node->next = registry->free;
    registry->free = place;
    registry->count--;
}

unsigned registry_remove_silent(struct registry *registry, uint64_t asked)
{
    unsigned removed = 0;

    while (oldest_remove(registry, asked))
        removed++;
    return removed;
}

void registry_epoch_begin(struct registry *registry)
{
    for (unsigned i = 0; i < registry->places; i++) {
        struct node *node = &registry->nodes[i];

        node->answer.sequence = node->known_since = 0;
        node->answer.done = node->answer.result = 0;
        node->answer.is_welcomed = false;
    }
}

bool node_is_silent(const struct node *node, uint64_t asked)
{
    return asked > node->asked + REGISTRY_SILENT_AFTER;
}

void node_address_print(const uint8_t address[NODE_ADDRESS_BYTES], char text[NODE_ADDRESS_TEXT])
{
    snprintf(text, NODE_ADDRESS_TEXT, "%02x:%02x:%02x:%02x:%02x:%02x", address[0], address[1], address[2],
             address[3], address[4], address[5]);
}
