/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_welcomes.c: whom the conductor welcomes, and when; and that a welcome is of one node, one start, and
 * one key.
 */
#include "check.h"
#include "service/conductor/welcomes.h"
#include <string.h>

static const uint8_t key[SIPHASH_KEY_BYTES] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
static struct registry registry;
static struct welcomes welcomes;

static void address_of(unsigned number, uint8_t address[NODE_ADDRESS_BYTES])
{
    const uint8_t bytes[] = { 2, 0, 0, 0, (uint8_t)(number >> 8), (uint8_t)number };

    memcpy(address, bytes, sizeof(bytes));
}

static uint64_t welcome_of_node(unsigned number, uint64_t start)
{
    uint8_t address[NODE_ADDRESS_BYTES];

    address_of(number, address);
    return welcome_of(key, address, start);
}

static struct node *answers(unsigned number, uint64_t sequence, uint64_t start, bool is_welcomed)
{
    const struct registry_moment now = { .epoch = 1, .sequence = sequence };
    const struct answer answer = { .epoch = 1,
                                   .follows = 1,
                                   .sequence = sequence,
                                   .start = start,
                                   .is_welcomed = is_welcomed,
                                   .name = "n" };
    uint8_t address[NODE_ADDRESS_BYTES];
    struct node *node = NULL;

    address_of(number, address);
    registry_take(&registry, address, &answer, &now, &node);
    CHECK(node != NULL);
    welcomes_answer(&welcomes, &registry, node);
    return node;
}

static struct beat next_beat(unsigned commands_max)
{
    struct beat beat = { 0 };

    welcomes_put(&welcomes, &registry, key, commands_max, &beat);
    CHECK(beat.command_count <= commands_max);
    return beat;
}

static unsigned welcomes_in(const struct beat *beat)
{
    unsigned count = 0;

    for (unsigned i = 0; i < beat->command_count; i++) {
        CHECK_EQUAL(beat->commands[i].code, BEAT_WELCOME);
        CHECK_EQUAL(beat->commands[i].number, 0);
        CHECK_EQUAL(beat->commands[i].bytes % WELCOME_BYTES, 0);
        count += beat->commands[i].bytes / WELCOME_BYTES;
    }
    return count;
}

static void reset(void)
{
    memset(&registry, 0, sizeof(registry));
    memset(&welcomes, 0, sizeof(welcomes));
}

TEST(a_welcome_is_of_one_node_and_start_and_key)
{
    static const uint8_t address[NODE_ADDRESS_BYTES] = { 2, 0, 0, 0, 0, 1 };
    const uint8_t other_key[SIPHASH_KEY_BYTES] = { 1 };
    const uint64_t welcome = welcome_of_node(1, 5);

    CHECK_EQUAL(welcome, welcome_of(key, address, 5));
    CHECK(welcome != welcome_of_node(2, 5));
    CHECK(welcome != welcome_of_node(1, 6));
    CHECK(welcome != welcome_of(other_key, address, 5));
}

TEST(a_node_is_welcomed_by_three_beats_after_each_answer_that_says_it_was_not)
{
    struct beat beat;

    reset();
    beat = next_beat(16);
    CHECK_EQUAL(beat.command_count, 0);
    answers(1, 1, 5, false);
    answers(2, 1, 6, true);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < WELCOME_BEATS; i++) {
            beat = next_beat(16);
            CHECK_EQUAL(welcomes_in(&beat), 1);
            CHECK(welcome_is_in(&beat, welcome_of_node(1, 5)));
            CHECK(!welcome_is_in(&beat, welcome_of_node(2, 6)));
        }
        CHECK_EQUAL(next_beat(16).command_count, 0);
        answers(1, 2 + round, 5, false); /* those beats were lost */
    }
    answers(1, 4, 5, false);
    answers(1, 5, 5, true);
    beat = next_beat(16);
    CHECK_EQUAL(beat.command_count, 0);
    answers(1, 6, 7, false); /* it was restarted */
    beat = next_beat(16);
    CHECK(welcome_is_in(&beat, welcome_of_node(1, 7)));
    CHECK(!welcome_is_in(&beat, welcome_of_node(1, 5)));
}

TEST(a_node_that_is_no_longer_known_is_not_welcomed)
{
    struct beat beat;

    reset();
    registry_remove(&registry, answers(1, 1, 5, false));
    answers(2, 1, 6, true); /* in its place */
    beat = next_beat(16);
    CHECK_EQUAL(beat.command_count, 0);
    registry_remove(&registry, answers(3, 1, 7, false));
    beat = next_beat(16);
    CHECK_EQUAL(beat.command_count, 0);
}

/* All start at once; commands leave what room they leave. */
TEST(as_many_nodes_as_there_may_be_are_welcomed_by_as_few_beats_as_have_room)
{
    const unsigned all = WELCOME_BEATS * REGISTRY_NODES_MAX;
    static uint8_t payload[BEAT_BYTES_MAX];
    unsigned count = 0, beats = 0;

    reset();
    for (unsigned i = 0; i < REGISTRY_NODES_MAX; i++)
        answers(i, 1, i, false);
    while (count < all && beats < 1000) {
        const unsigned room = beats % 2 ? 0 : BEAT_COMMANDS_MAX;
        struct beat beat = next_beat(room);

        CHECK_EQUAL(welcomes_in(&beat), 8 * room);
        for (unsigned i = 0; i < beat.command_count; i++)
            for (unsigned at = 0; at < BEAT_COMMAND_BYTES; at += WELCOME_BYTES) {
                const unsigned number = count++ % REGISTRY_NODES_MAX;
                const struct beat one = { .command_count = 1, .commands = { beat.commands[i] } };

                CHECK(welcome_is_in(&one, welcome_of_node(number, number)));
            }
        beat.epoch = beat.sequence = 1;
        CHECK(beat_encode(&beat, key, (const uint8_t[BEAT_ADDRESS_BYTES]){ 2 }, payload, sizeof(payload)) >
              0);
        beats++;
    }
    CHECK_EQUAL(count, all);
    CHECK_EQUAL(beats, 2 * all / 128 - 1);
    CHECK_EQUAL(next_beat(16).command_count, 0);
}

TEST(no_node_waits_for_those_that_answer_again_and_again)
{
    bool is_welcomed = false;

    reset();
    for (unsigned i = 0; i < 1000; i++)
        answers(i, 1, i, false);
    for (uint64_t sequence = 2; sequence < 12; sequence++) {
        const struct beat beat = next_beat(16);

        is_welcomed |= welcome_is_in(&beat, welcome_of_node(999, 999));
        for (unsigned i = 0; i < 999; i++)
            answers(i, sequence, i, false);
    }
    CHECK(is_welcomed);
}

int main(void)
{
    RUN(a_welcome_is_of_one_node_and_start_and_key);
    RUN(a_node_is_welcomed_by_three_beats_after_each_answer_that_says_it_was_not);
    RUN(a_node_that_is_no_longer_known_is_not_welcomed);
    RUN(as_many_nodes_as_there_may_be_are_welcomed_by_as_few_beats_as_have_room);
    RUN(no_node_waits_for_those_that_answer_again_and_again);
    return check_report("welcomes");
}
