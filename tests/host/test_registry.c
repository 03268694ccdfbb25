/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_registry.c: the conductor's nodes: which answers count, which nodes are silent, and that the largest
 * number of nodes are all found again.
 */
#include "check.h"
#include "service/conductor/registry.h"
#include <string.h>

static struct registry registry;
static uint64_t seed = 11;
static uint64_t last_sequence; /* that the conductor has sent */
static uint64_t have_asked;    /* beats that have asked for an answer */

static void reset(void)
{
    memset(&registry, 0, sizeof(registry));
    last_sequence = 1000;
    have_asked = 10;
}

static void address_of(uint32_t number, uint8_t address[NODE_ADDRESS_BYTES])
{
    const uint8_t bytes[] = {
        0x02, 0x54, (uint8_t)(number >> 24), (uint8_t)(number >> 16), (uint8_t)(number >> 8), (uint8_t)number
    };

    memcpy(address, bytes, sizeof(bytes));
}

static enum registry_place take(uint32_t number, uint64_t sequence, uint64_t start)
{
    const struct registry_moment now = {
        .epoch = 5, .sequence = last_sequence, .conductor_ns = 77, .asked = have_asked
    };
    struct answer answer = { .state = ANSWER_RUNNING, .cpus = 1, .epoch = 5, .follows = 5, .name = "n" };
    uint8_t address[NODE_ADDRESS_BYTES];
    struct node *node = NULL;

    answer.sequence = sequence;
    answer.start = start;
    address_of(number, address);
    enum registry_place place = registry_take(&registry, address, &answer, &now, &node);
    CHECK((node != NULL) == (place == REGISTRY_NEXT || place == REGISTRY_NEW || place == REGISTRY_REPLACED ||
                             place == REGISTRY_RESTARTED));
    CHECK(!node || memcmp(node->address, address, sizeof(address)) == 0);
    return place;
}

TEST(each_answer_counts_once_and_in_order)
{
    reset();
    CHECK_EQUAL(take(1, 10, 1), REGISTRY_NEW);
    CHECK_EQUAL(take(1, 10, 1), REGISTRY_DUPLICATE);
    CHECK_EQUAL(take(1, 9, 1), REGISTRY_LATE);
    CHECK_EQUAL(take(1, 12, 1), REGISTRY_NEXT);
    CHECK_EQUAL(take(1, 1001, 1), REGISTRY_NOT_SENT);
    CHECK_EQUAL(take(1, 1000, 1), REGISTRY_NEXT);
    CHECK_EQUAL(take(2, 10, 1), REGISTRY_NEW);
    CHECK_EQUAL(registry.count, 2);
}

TEST(an_answer_to_another_epoch_or_from_no_card_is_refused)
{
    static const uint8_t wrong[][NODE_ADDRESS_BYTES] = { { 0 },
                                                         { 1, 2, 3, 4, 5, 6 },
                                                         { 255, 255, 255, 255, 255, 255 } };
    const struct registry_moment now = { .epoch = 5, .sequence = 10 };
    struct answer answer = { .epoch = 4, .follows = 4, .sequence = 1, .cpus = 1 };
    uint8_t address[NODE_ADDRESS_BYTES];
    struct node *node;

    reset();
    address_of(1, address);
    CHECK_EQUAL(registry_take(&registry, address, &answer, &now, &node), REGISTRY_OTHER_EPOCH);
    answer.epoch = answer.follows = 6;
    CHECK_EQUAL(registry_take(&registry, address, &answer, &now, &node), REGISTRY_OTHER_EPOCH);
    answer.epoch = 5;
    CHECK_EQUAL(registry_take(&registry, address, &answer, &now, &node), REGISTRY_FOLLOWS_OTHER);
    answer.follows = 5;
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        CHECK_EQUAL(registry_take(&registry, wrong[i], &answer, &now, &node), REGISTRY_OTHER_ADDRESS);
    answer.done = 1;
    CHECK_EQUAL(registry_take(&registry, address, &answer, &now, &node), REGISTRY_NOT_SENT);
    CHECK_EQUAL(registry.count, 0);
}

TEST(a_node_that_was_started_anew_is_counted)
{
    reset();
    last_sequence = 10;
    take(1, 10, 100);
    last_sequence = 12;
    CHECK_EQUAL(take(1, 9, 200), REGISTRY_LATE);
    CHECK_EQUAL(take(1, 11, 200), REGISTRY_RESTARTED);
    CHECK_EQUAL(take(1, 12, 200), REGISTRY_NEXT);
    CHECK_EQUAL(registry_find(&registry, "n")->restarts, 1);
}

/* The wire may keep answers of a node's earlier start, and give a beat to the later one that it has kept. */
TEST(no_answer_of_an_earlier_start_counts_after_one_of_a_later)
{
    reset();
    last_sequence = 20;
    CHECK_EQUAL(take(1, 5, 200), REGISTRY_NEW); /* it hears an old beat */
    for (uint64_t sequence = 6; sequence <= 20; sequence++)
        CHECK_EQUAL(take(1, sequence, 100), REGISTRY_LATE);
    CHECK_EQUAL(take(1, 20, 200), REGISTRY_NEXT);
    last_sequence = 30;
    CHECK_EQUAL(take(1, 22, 300), REGISTRY_RESTARTED);
    CHECK_EQUAL(take(1, 30, 200), REGISTRY_LATE);
    CHECK_EQUAL(take(1, 30, 300), REGISTRY_NEXT);
    CHECK_EQUAL(registry_find(&registry, "n")->restarts, 1);
}

TEST(a_node_is_silent_after_more_than_three_beats_that_asked)
{
    const struct node node = { .asked = 10 };

    for (uint64_t asked = 10; asked < 20; asked++)
        CHECK_EQUAL(node_is_silent(&node, asked), asked > 13);
}

TEST(as_many_nodes_as_there_may_be_are_found_and_removed)
{
    uint32_t known = 0;

    reset();
    for (uint32_t i = 0; i < REGISTRY_NODES_MAX; i++)
        CHECK_EQUAL(take(i * 7919, 1, 1), REGISTRY_NEW);
    CHECK_EQUAL(take(UINT32_MAX, 1, 1), REGISTRY_FULL);
    for (uint32_t i = 0; i < REGISTRY_NODES_MAX; i++)
        CHECK_EQUAL(take(i * 7919, 2, 1), REGISTRY_NEXT);
    CHECK_EQUAL(registry.count, REGISTRY_NODES_MAX);
    for (unsigned i = 0; i < REGISTRY_NODES_MAX; i++)
        if (check_random(&seed) % 2)
            registry_remove(&registry, &registry.nodes[i]);
    for (unsigned i = 0; i < REGISTRY_NODES_MAX; i++)
        known += registry.nodes[i].is_known;
    CHECK_EQUAL(registry.count, known);
    uint32_t came_back = 0;
    for (uint32_t i = 0; i < REGISTRY_NODES_MAX; i++) {
        enum registry_place place = take(i * 7919, 3, 1);

        CHECK(place == REGISTRY_NEXT || place == REGISTRY_NEW);
        came_back += place == REGISTRY_NEW;
    }
    CHECK_EQUAL(known + came_back, REGISTRY_NODES_MAX);
    CHECK_EQUAL(registry.count, REGISTRY_NODES_MAX);
    CHECK_EQUAL(registry.places, REGISTRY_NODES_MAX);
}

/* Returns the number of nodes on the list in the order of their last answers, which is checked. */
static unsigned heard_count(void)
{
    unsigned count = 0, last = 0;

    for (unsigned at = registry.oldest; at; last = at, at = registry.nodes[at - 1].newer, count++) {
        CHECK(registry.nodes[at - 1].is_known);
        CHECK_EQUAL(registry.nodes[at - 1].older, last);
        CHECK(!last || registry.nodes[last - 1].asked <= registry.nodes[at - 1].asked);
    }
    CHECK_EQUAL(registry.newest, last);
    return count;
}

/* A full registry gives a new node the place of the one that was silent longest, and no other's. */
TEST(a_new_node_replaces_the_one_that_was_silent_longest)
{
    reset();
    for (uint32_t i = 0; i < REGISTRY_NODES_MAX; i++)
        take(i, 1, 1);
    CHECK_EQUAL(take(UINT32_MAX, 1, 1), REGISTRY_FULL);
    have_asked += 2;
    for (uint32_t i = 0; i < REGISTRY_NODES_MAX; i++)
        if (i != 77 && i != 12345)
            take(i, 2, 1);
    CHECK_EQUAL(take(UINT32_MAX, 2, 1), REGISTRY_FULL); /* these two are late, and not silent yet */
    take(12345, 2, 1);
    have_asked += 2;
    CHECK_EQUAL(take(UINT32_MAX, 3, 1), REGISTRY_REPLACED);
    CHECK_EQUAL(take(UINT32_MAX, 4, 1), REGISTRY_NEXT);
    CHECK_EQUAL(take(UINT32_MAX - 1, 3, 1), REGISTRY_FULL);
    CHECK_EQUAL(take(77, 4, 1), REGISTRY_FULL);
    CHECK_EQUAL(take(12345, 4, 1), REGISTRY_NEXT);
    CHECK_EQUAL(registry.count, REGISTRY_NODES_MAX);
    CHECK_EQUAL(heard_count(), REGISTRY_NODES_MAX);
}

TEST(all_silent_nodes_are_removed_at_once)
{
    reset();
    for (uint32_t i = 0; i < 1000; i++)
        take(i, 1, 1);
    have_asked += REGISTRY_SILENT_AFTER + 1;
    for (uint32_t i = 0; i < 1000; i += 3)
        take(i, 2, 1);
    CHECK_EQUAL(registry_remove_silent(&registry, have_asked), 666);
    CHECK_EQUAL(registry_remove_silent(&registry, have_asked), 0);
    CHECK_EQUAL(registry.count, 334);
    CHECK_EQUAL(heard_count(), 334);
    for (uint32_t i = 0; i < 1000; i++)
        CHECK_EQUAL(take(i, 3, 1), i % 3 ? REGISTRY_NEW : REGISTRY_NEXT);
    CHECK_EQUAL(heard_count(), 1000);
}

/* Random answers, silences and removals: the list has all nodes, in the order of their answers. */
TEST(the_order_of_last_answers_holds_whatever_comes)
{
    reset();
    for (unsigned i = 0; i < 20000; i++) {
        const uint32_t number = (uint32_t)(check_random(&seed) % 40);
        uint8_t address[NODE_ADDRESS_BYTES];

        address_of(number, address);
        struct node *node = registry_node(&registry, address);
        if (check_random(&seed) % 8 == 0 && node)
            registry_remove(&registry, node);
        else
            take(number, ++last_sequence, check_random(&seed) % 2);
        have_asked += check_random(&seed) % 10 == 0;
        if (i % 100 == 0)
            CHECK_EQUAL(heard_count(), registry.count);
    }
}

TEST(nodes_stay_known_in_a_new_epoch_and_have_done_nothing_in_it)
{
    reset();
    take(1, 500, 1);
    registry.nodes[0].answer.done = 7;
    registry.nodes[0].answer.is_welcomed = true;
    registry_epoch_begin(&registry);
    last_sequence = 3;
    CHECK(!registry.nodes[0].answer.done && !registry.nodes[0].answer.is_welcomed);
    CHECK_EQUAL(take(1, 1, 1), REGISTRY_NEXT);
    CHECK_EQUAL(take(1, 3, 2), REGISTRY_RESTARTED);
    CHECK_EQUAL(registry.count, 1);
}

TEST(a_node_is_found_by_name_and_by_address)
{
    reset();
    take(0xabcdef, 1, 1);
    CHECK(registry_find(&registry, "n") == &registry.nodes[0]);
    CHECK(registry_find(&registry, "02:54:00:AB:CD:EF") == &registry.nodes[0]);
    CHECK(registry_find(&registry, "m") == NULL);
    CHECK(registry_find(&registry, "02:54:00:ab:cd:ee") == NULL);
    CHECK(registry_find(&registry, "02:54:00:ab:cd:ef0") == NULL);
    registry_remove(&registry, &registry.nodes[0]);
    CHECK(registry_find(&registry, "n") == NULL);
}

int main(void)
{
    RUN(each_answer_counts_once_and_in_order);
    RUN(an_answer_to_another_epoch_or_from_no_card_is_refused);
    RUN(a_node_that_was_started_anew_is_counted);
    RUN(no_answer_of_an_earlier_start_counts_after_one_of_a_later);
    RUN(a_node_is_silent_after_more_than_three_beats_that_asked);
    RUN(as_many_nodes_as_there_may_be_are_found_and_removed);
    RUN(a_new_node_replaces_the_one_that_was_silent_longest);
    RUN(all_silent_nodes_are_removed_at_once);
    RUN(the_order_of_last_answers_holds_whatever_comes);
    RUN(nodes_stay_known_in_a_new_epoch_and_have_done_nothing_in_it);
    RUN(a_node_is_found_by_name_and_by_address);
    return check_report("registry");
}
