/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease_table.c: see lease_table.h. Two hash tables with chains find the nodes that an answer is about, a
 * third one finds jobs.
 */
#include "service/conductor/lease_table.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define NAME_TEXT (INET_ADDRSTRLEN + 1 + ANSWER_NAME_BYTES)

/* ---- Names ---- */

bool lease_name_read(const char *text, const char **end, struct lease_name *name)
{
    const size_t bytes = strcspn(text, " ");
    char word[NAME_TEXT];

    *name = (struct lease_name){ 0 };
    *end = text + bytes;
    if (!bytes || bytes >= sizeof(word))
        return false;
    memcpy(word, text, bytes);
    word[bytes] = '\0';
    char *slash = strchr(word, '/');
    if (slash)
        *slash++ = '\0';
    if (inet_pton(AF_INET, word, name->address) != 1 || (slash && strlen(slash) >= sizeof(name->name)))
        return false;
    for (const char *at = slash; at && *at; at++)
        if (!isgraph((unsigned char)*at) || *at == '/')
            return false;
    if (slash)
        strcpy(name->name, slash);
    return true;
}

static uint16_t *bucket_of_address(struct lease_table *table, const uint8_t address[4])
{
    return &table->addresses[siphash(table->key, address, 4) % LEASE_BUCKETS];
}

static uint16_t *bucket_of_name(struct lease_table *table, const char *name)
{
    return &table->names[siphash(table->key, name, strlen(name)) % LEASE_BUCKETS];
}

/* Returns whether a node is found by its address: most nodes without one would share a bucket. */
static bool has_address(const uint8_t address[4])
{
    return address[0] | address[1] | address[2] | address[3];
}

/* ---- Nodes ---- */

static uint16_t index_of(const struct lease_table *table, const struct lease_node *node)
{
    return (uint16_t)(node - table->nodes + 1);
}

/* Enters a node into its chains, each at its begin. */
static void node_chain(struct lease_table *table, struct lease_node *node)
{
    const uint16_t place = index_of(table, node);

    if (has_address(node->named.address)) {
        uint16_t *bucket = bucket_of_address(table, node->named.address);

        node->by_address.next = *bucket;
        if (*bucket)
            table->nodes[*bucket - 1].by_address.previous = place;
        *bucket = place;
    }
    if (node->named.name[0]) {
        uint16_t *bucket = bucket_of_name(table, node->named.name);

        node->by_name.next = *bucket;
        if (*bucket)
            table->nodes[*bucket - 1].by_name.previous = place;
        *bucket = place;
    }
}

static void node_unchain(struct lease_table *table, const struct lease_node *node)
{
    const struct lease_link *address = &node->by_address, *name = &node->by_name;

    if (address->next)
        table->nodes[address->next - 1].by_address.previous = address->previous;
    if (address->previous)
        table->nodes[address->previous - 1].by_address.next = address->next;
    else if (has_address(node->named.address))
        *bucket_of_address(table, node->named.address) = address->next;
    if (name->next)
        table->nodes[name->next - 1].by_name.previous = name->previous;
    if (name->previous)
        table->nodes[name->previous - 1].by_name.next = name->next;
    else if (node->named.name[0])
        *bucket_of_name(table, node->named.name) = name->next;
}

struct lease_node *lease_node_add(struct lease_table *table, struct lease *lease,
                                  const struct lease_name *name)
{
    unsigned place = table->free;

    if (lease->next_named && memcmp(&table->nodes[lease->next_named - 1].named, name, sizeof(*name)) == 0) {
        struct lease_node *known = &table->nodes[lease->next_named - 1];

        lease->next_named = known->next;
        known->has_run = true;
        return known;
    }
    if (lease->next_named || lease->count >= REGISTRY_NODES_MAX)
        return NULL;
    if (place)
        table->free = table->nodes[place - 1].next;
    else if (table->places < LEASE_NODES_MAX)
        place = ++table->places;
    else
        return NULL;
    struct lease_node *node = &table->nodes[place - 1];

    *node = (struct lease_node){ .named = *name,
                                 .lease = (uint16_t)(lease - table->leases),
                                 .has_run = lease->is_resumed };
    node_chain(table, node);
    if (lease->last)
        table->nodes[lease->last - 1].next = (uint16_t)place;
    else
        lease->first = (uint16_t)place;
    lease->last = (uint16_t)place;
    lease->count++;
    table->node_count++;
    return node;
}

static void nodes_drop(struct lease_table *table, struct lease *lease)
{
    uint16_t next;

    for (uint16_t at = lease->first; at; at = next) {
        struct lease_node *node = &table->nodes[at - 1];

        next = node->next;
        node_unchain(table, node);
        node->next = table->free;
        table->free = at;
    }
    table->node_count -= lease->count;
    lease->first = lease->last = 0;
    lease->count = 0;
}

static uint64_t later_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static bool is_silent(const struct lease_node *node, const struct lease_moment *now)
{
    return node->is_heard && now->asked > later_of(node->asked, now->excused_asked) + REGISTRY_SILENT_AFTER &&
           now->beaten_ns > later_of(node->beaten_ns, now->excused_ns) + LEASE_SILENCE_NS;
}

/* ---- Leases ---- */

struct lease *lease_of_job(struct lease_table *table, uint32_t job)
{
    struct lease *lease;

    for (uint16_t at = table->jobs[job % LEASES_MAX]; at; at = lease->by_job) {
        lease = &table->leases[at - 1];
        if (lease->job == job)
            return lease;
    }
    return NULL;
}

struct lease *lease_of_client(struct lease_table *table, unsigned client)
{
    for (unsigned i = 0; table->counts[LEASE_HELD] && i < LEASES_MAX; i++)
        if (table->leases[i].state == LEASE_HELD && table->leases[i].client == client)
            return &table->leases[i];
    return NULL;
}

unsigned leases_of_user(const struct lease_table *table, uint32_t uid, unsigned *nodes)
{
    unsigned count = 0;

    *nodes = 0;
    for (unsigned i = 0; i < LEASES_MAX; i++)
        if (table->leases[i].state && table->leases[i].uid == uid) {
            *nodes += table->leases[i].count;
            count++;
        }
    return count;
}

/* Returns whether all nodes of an ending job are silent, or have ended it. */
static bool waits_for_silent_nodes(const struct lease_table *table, const struct lease *lease,
                                   const struct lease_moment *now)
{
    if (lease->state != LEASE_ENDING || !lease->kills)
        return false;
    for (uint16_t at = lease->first; at; at = table->nodes[at - 1].next)
        if (!table->nodes[at - 1].is_quiet && !is_silent(&table->nodes[at - 1], now))
            return false;
    return true;
}

static struct lease *place_find(struct lease_table *table, const struct lease_moment *now)
{
    for (unsigned i = 0; i < LEASES_MAX; i++)
        if (!table->leases[i].state)
            return &table->leases[i];
    for (unsigned i = 0; i < LEASES_MAX; i++)
        if (waits_for_silent_nodes(table, &table->leases[i], now)) {
            lease_drop(table, &table->leases[i]);
            return &table->leases[i];
        }
    return NULL;
}

struct lease *lease_add(struct lease_table *table, enum lease_state state, uint32_t job, uint32_t uid,
                        const struct lease_moment *now)
{
    struct lease *lease = place_find(table, now);

    if (!lease)
        return NULL;
    uint16_t *bucket = &table->jobs[job % LEASES_MAX];
    *lease = (struct lease){ .job = job, .uid = uid, .by_job = *bucket };
    *bucket = (uint16_t)(lease - table->leases + 1);
    lease_state_set(table, lease, state, now);
    return lease;
}

void lease_state_set(struct lease_table *table, struct lease *lease, enum lease_state state,
                     const struct lease_moment *now)
{
    if (lease->state)
        table->counts[lease->state]--;
    table->counts[state]++;
    table->is_ending |= state == LEASE_ENDING;
    lease->state = state;
    lease->client = 0;
    lease->kills = 0;
    lease->ending_asked = now->asked;
}

void lease_resume(struct lease_table *table, struct lease *lease, const struct lease_moment *now)
{
    lease_state_set(table, lease, LEASE_HELD, now);
    lease->is_resumed = true;
    lease->next_named = lease->first;
}

void lease_drop(struct lease_table *table, struct lease *lease)
{
    const uint16_t place = (uint16_t)(lease - table->leases + 1);
    uint16_t *link = &table->jobs[lease->job % LEASES_MAX];

    while (*link != place)
        link = &table->leases[*link - 1].by_job;
    *link = lease->by_job;
    nodes_drop(table, lease);
    table->counts[lease->state]--;
    lease->state = LEASE_FREE;
}

/* ---- Answers ---- */

static void node_answered(struct lease_table *table, struct lease_node *node,
                          const uint8_t card[NODE_ADDRESS_BYTES], const struct answer *answer,
                          const struct lease_moment *now)
{
    node->has_job = answer->job == table->leases[node->lease].job;
    if (node->has_job) {
        node->has_run = true;
        node->is_quiet = false;
        node->start = answer->start;
        node->job_sequence = answer->sequence;
    } else if (!node->is_quiet) {
        node->is_quiet = true;
        node->quiet_asked = now->asked;
    }
    table->has_heard |= !node->is_heard || node->polls != answer->polls;
    table->is_ending |= table->leases[node->lease].state == LEASE_ENDING;
    table->has_news |= node->told || (node->has_run && node->is_quiet);
    if (node->has_job || node->told == LEASE_SILENT)
        node->told = LEASE_NO_NEWS;
    node->is_heard = true;
    node->polls = answer->polls;
    node->last_start = answer->start;
    node->asked = now->asked;
    node->beaten_ns = now->beaten_ns;
    memcpy(node->card, card, sizeof(node->card));
}

/* Returns whether the name is the digits of an Ethernet address: then only this card's answers are the
 * node's. */
static bool is_card(const char *name)
{
    return strlen(name) == 2 * NODE_ADDRESS_BYTES &&
           strspn(name, "0123456789abcdef") == 2 * NODE_ADDRESS_BYTES;
}

/* Enters an answer for one node of a chain; an old one only if the node's lease looks for it. */
static void chained(struct lease_table *table, bool is_old, struct lease_node *node,
                    const uint8_t card[NODE_ADDRESS_BYTES], const struct answer *answer,
                    const struct lease_moment *now)
{
    if (!is_old || table->leases[node->lease].looks)
        node_answered(table, node, card, answer, now);
}

void lease_answer(struct lease_table *table, bool is_old, const uint8_t card[NODE_ADDRESS_BYTES],
                  const struct answer *answer, const struct lease_moment *now)
{
    const bool is_addressed = has_address(answer->address);
    char digits[2 * NODE_ADDRESS_BYTES + 1] = "";
    struct lease_node *node;

    if (!table->node_count)
        return;
    for (unsigned i = 0; i < 2 * NODE_ADDRESS_BYTES; i++)
        digits[i] = "0123456789abcdef"[card[i / 2] >> (i % 2 ? 0 : 4) & 15];
    for (uint16_t at = *bucket_of_name(table, digits); at; at = node->by_name.next) {
        node = &table->nodes[at - 1];
        if (strcmp(node->named.name, digits) == 0)
            chained(table, is_old, node, card, answer, now);
    }
    for (uint16_t at = is_addressed ? *bucket_of_address(table, answer->address) : 0; at;
         at = node->by_address.next) {
        node = &table->nodes[at - 1];
        if (memcmp(node->named.address, answer->address, 4) == 0 && !is_card(node->named.name))
            chained(table, is_old, node, card, answer, now);
    }
    /* A node that does not know its address is found by its name. */
    for (uint16_t at = is_addressed || !answer->name[0] ? 0 : *bucket_of_name(table, answer->name); at;
         at = node->by_name.next) {
        node = &table->nodes[at - 1];
        if (strcmp(node->named.name, answer->name) == 0)
            chained(table, is_old, node, card, answer, now);
    }
}

bool leases_look(const struct lease_table *table)
{
    for (unsigned i = 0; table->counts[LEASE_HELD] && i < LEASES_MAX; i++)
        if (table->leases[i].state == LEASE_HELD && table->leases[i].looks)
            return true;
    return false;
}

void leases_looked(struct lease_table *table, unsigned places)
{
    for (unsigned i = 0; i < LEASES_MAX; i++)
        table->leases[i].looks -= table->leases[i].looks < places ? table->leases[i].looks : places;
}

static bool is_quiet_for_long(const struct lease_node *node, uint64_t since_asked,
                              const struct lease_moment *now)
{
    return node->is_heard && node->is_quiet && now->asks &&
           node->asked >= later_of(node->quiet_asked, since_asked) + LEASE_QUIET_ANSWERS;
}

enum lease_news lease_news_of(const struct lease_node *node, const struct lease_moment *now)
{
    enum lease_news news = LEASE_NO_NEWS;

    if (is_silent(node, now) && !node->polls)
        news = LEASE_SILENT;
    else if (node->is_quiet && node->has_run && node->start && node->last_start != node->start)
        news = LEASE_RESTARTED;
    else if (node->has_run && is_quiet_for_long(node, 0, now))
        news = LEASE_WITHOUT_JOB;
    return news == node->told ? LEASE_NO_NEWS : news;
}

/* ---- Jobs that end ---- */

/* Returns whether nothing of an ending job is left on a node, as far as the conductor can know. */
static bool node_is_done(const struct lease *lease, const struct lease_node *node, struct registry *registry,
                         const struct lease_moment *now)
{
    static const uint8_t none[NODE_ADDRESS_BYTES];
    const bool is_blind = lease->kills >= LEASE_BLIND_KILLS && now->sequence >= lease->kill_sequence;

    if (!node->is_heard || !now->asks)
        return is_blind;
    if (memcmp(node->card, none, sizeof(none)) != 0 && !registry_node(registry, node->card))
        return lease->kills > 0; /* an administrator has removed it */
    return is_quiet_for_long(node, lease->ending_asked, now);
}

static bool needs_kill(const struct lease_table *table, const struct lease *lease)
{
    bool is_blind = lease->kills == 0;

    for (uint16_t at = lease->first; at; at = table->nodes[at - 1].next) {
        const struct lease_node *node = &table->nodes[at - 1];

        if (node->is_heard && node->has_job && node->job_sequence > lease->kill_sequence)
            return true;
        is_blind |= !node->is_heard && lease->kills < LEASE_BLIND_KILLS;
    }
    return is_blind;
}

static bool lease_is_over(const struct lease_table *table, const struct lease *lease,
                          struct registry *registry, const struct lease_moment *now)
{
    for (uint16_t at = lease->first; at; at = table->nodes[at - 1].next)
        if (!node_is_done(lease, &table->nodes[at - 1], registry, now))
            return false;
    return lease->kills > 0;
}

struct lease *lease_to_kill(struct lease_table *table, struct registry *registry,
                            const struct lease_moment *now, bool *is_over)
{
    static unsigned turn; /* so that all jobs get their turn */

    for (unsigned i = 0; table->counts[LEASE_ENDING] && i < LEASES_MAX; i++) {
        struct lease *lease = &table->leases[(turn + i) % LEASES_MAX];

        if (lease->state != LEASE_ENDING || (lease->kills && now->sequence < lease->kill_sequence))
            continue;
        const bool needs = needs_kill(table, lease);
        *is_over = !needs && lease_is_over(table, lease, registry, now);
        if (needs || *is_over) {
            turn = (unsigned)(lease - table->leases) + 1;
            return lease;
        }
    }
    return NULL;
}

void lease_killed(struct lease *lease, uint64_t last_sequence)
{
    lease->kills++;
    lease->kill_sequence = last_sequence;
}

void lease_epoch_begin(struct lease_table *table)
{
    table->is_ending = true;
    for (unsigned i = 0; i < LEASES_MAX; i++)
        table->leases[i].kill_sequence = 0;
    for (unsigned i = 0; i < table->places; i++)
        table->nodes[i].job_sequence = 0;
}
