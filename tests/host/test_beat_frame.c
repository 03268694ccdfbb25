/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_beat_frame.c: NETTICK's frames: what is written is read again, nothing that was changed passes, and
 * each beat counts once, whatever the network does to their order.
 */
#include "check.h"
#include "beat/beat_frame.h"
#include <string.h>

static const uint8_t key[SIPHASH_KEY_BYTES] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
static const uint8_t sender[BEAT_ADDRESS_BYTES] = { 2, 84, 0, 0, 0, 1 };
static uint64_t seed = 7;

static uint64_t random_below(uint64_t limit)
{
    return check_random(&seed) % limit;
}

/* The table at the end of the paper's reference: messages 00, 00 01, … under the key 00 … 0f. */
TEST(siphash_answers_the_published_vectors)
{
    static const struct {
        unsigned bytes;
        uint64_t tag;
    } vectors[] = { { 0, 0x726fdb47dd0e0e31 },
                    { 1, 0x74f839c593dc67fd },
                    { 7, 0xab0200f58b01d137 },
                    { 8, 0x93f5f5799a932462 },
                    { 15, 0xa129ca6149be45e5 } };
    uint8_t message[16];

    for (unsigned i = 0; i < sizeof(message); i++)
        message[i] = (uint8_t)i;
    for (unsigned i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
        CHECK_EQUAL(siphash(key, message, vectors[i].bytes), vectors[i].tag);
}

static struct beat some_beat(void)
{
    struct beat beat = { .epoch = 1 + random_below(1ULL << 62),
                         .sequence = 1 + random_below(1ULL << 40),
                         .time_ns = check_random(&seed),
                         .period_ns = random_below(4) ? 1000000 + random_below(1000000000) : 0,
                         .late_ns = (uint32_t)check_random(&seed),
                         .tai_utc_s = (uint32_t)random_below(BEAT_TAI_UTC_S_MAX + 1),
                         .answer_every = (uint16_t)random_below(100),
                         .command_count = (uint16_t)random_below(BEAT_COMMANDS_MAX + 1) };

    for (unsigned i = 0; i < beat.command_count; i++) {
        struct beat_command *command = &beat.commands[i];

        command->code = (uint16_t)check_random(&seed);
        command->bytes = (uint16_t)random_below(BEAT_COMMAND_BYTES + 1);
        command->number = (uint32_t)check_random(&seed);
        for (unsigned k = 0; k < command->bytes; k++)
            command->body[k] = (uint8_t)check_random(&seed);
    }
    return beat;
}

TEST(a_beat_is_read_as_it_was_written)
{
    uint8_t payload[BEAT_BYTES_MAX];

    for (unsigned round = 0; round < 20000; round++) {
        struct beat beat = some_beat(), read;
        size_t bytes = beat_encode(&beat, key, sender, payload, sizeof(payload));

        CHECK(bytes >= BEAT_HEADER_BYTES + BEAT_END_BYTES);
        memset(&read, 0, sizeof(read));
        /* Ethernet pads short frames. */
        size_t padding = bytes < BEAT_FRAME_BYTES ? random_below(BEAT_FRAME_BYTES - bytes) : 0;
        memset(payload + bytes, 0xee, padding);
        CHECK_EQUAL(beat_decode(payload, bytes + padding, key, sender, &read), BEAT_FINE);
        CHECK_EQUAL(memcmp(&read, &beat, sizeof(beat)), 0);
    }
}

TEST(what_is_cut_or_changed_is_refused)
{
    uint8_t payload[BEAT_BYTES_MAX], other_key[SIPHASH_KEY_BYTES];
    struct beat read;

    for (unsigned round = 0; round < 2000; round++) {
        struct beat beat = some_beat();
        size_t bytes = beat_encode(&beat, key, sender, payload, sizeof(payload));

        for (size_t cut = 0; cut < bytes; cut++)
            CHECK(beat_decode(payload, cut, key, sender, &read) != BEAT_FINE);
        size_t at = random_below(bytes);
        uint8_t change = (uint8_t)(1 + random_below(255));
        payload[at] ^= change;
        CHECK(beat_decode(payload, bytes, key, sender, &read) != BEAT_FINE);
        payload[at] ^= change;
        memcpy(other_key, key, sizeof(key));
        other_key[random_below(sizeof(key))] ^= change;
        CHECK_EQUAL(beat_decode(payload, bytes, other_key, sender, &read), BEAT_FORGED);
    }
}

TEST(each_fault_has_its_name)
{
    uint8_t payload[BEAT_BYTES_MAX];
    struct beat beat = { .epoch = 1, .sequence = 1 }, read;
    size_t bytes = beat_encode(&beat, key, sender, payload, sizeof(payload));

    CHECK_EQUAL(beat_decode(payload, 3, key, sender, &read), BEAT_TRUNCATED);
    payload[0]++;
    CHECK_EQUAL(beat_decode(payload, bytes, key, sender, &read), BEAT_OTHER_VERSION);
    payload[0]--;
    payload[1] = BEAT_KIND_ANSWER;
    CHECK_EQUAL(beat_decode(payload, bytes, key, sender, &read), BEAT_OTHER_KIND);
    payload[1] = BEAT_KIND_BEAT;
    CHECK_EQUAL(beat_decode(payload, bytes, key, (const uint8_t[]){ 2, 84, 0, 0, 0, 2 }, &read), BEAT_FORGED);
    payload[bytes - 1]++;
    CHECK_EQUAL(beat_decode(payload, bytes, key, sender, &read), BEAT_FORGED);
    CHECK_EQUAL(beat_decode(payload, BEAT_FRAME_BYTES + 1, key, sender, &read), BEAT_TRUNCATED);
}

TEST(the_longest_beat_has_the_longest_length)
{
    uint8_t payload[BEAT_BYTES_MAX];
    struct beat beat = { .epoch = 1, .sequence = 1, .command_count = BEAT_COMMANDS_MAX }, read;

    for (unsigned i = 0; i < BEAT_COMMANDS_MAX; i++)
        beat.commands[i].bytes = BEAT_COMMAND_BYTES;
    CHECK_EQUAL(beat_encode(&beat, key, sender, payload, sizeof(payload)), BEAT_FRAME_BYTES);
    CHECK_EQUAL(beat_decode(payload, BEAT_FRAME_BYTES, key, sender, &read), BEAT_FINE);
}

TEST(an_absurd_beat_is_not_written)
{
    uint8_t payload[BEAT_BYTES_MAX];
    const struct beat absurd[] = { { .epoch = 0, .sequence = 1 },
                                   { .epoch = 1, .sequence = 0 },
                                   { .epoch = 1, .sequence = 1, .period_ns = 999999 },
                                   { .epoch = 1, .sequence = 1, .period_ns = 60000000001 },
                                   { .epoch = 1, .sequence = 1, .tai_utc_s = BEAT_TAI_UTC_S_MAX + 1 },
                                   { .epoch = 1, .sequence = 1, .command_count = BEAT_COMMANDS_MAX + 1 } };

    for (unsigned i = 0; i < sizeof(absurd) / sizeof(absurd[0]); i++)
        CHECK_EQUAL(beat_encode(&absurd[i], key, sender, payload, sizeof(payload)), 0);
}

/* A million beats through a network that loses, repeats and reorders: each is counted once as what it is. */
TEST(beats_count_once_and_lost_ones_add_up)
{
    struct beat_order order = { 0 };
    uint64_t next = 0, highest = 0, took = 0, lost = 0, late = 0, twice = 0, came = 0, missing;

    for (unsigned i = 0; i < 1000000; i++) {
        struct beat beat = { .epoch = 5, .sequence = ++next };

        if (random_below(100) == 0)
            continue;
        if (random_below(100) == 0 && next > 3)
            beat.sequence -= random_below(3); /* one that was under way for longer, or comes again */
        came++;
        switch (beat_order_take(&order, &beat, 0, &missing)) {
        case BEAT_NEXT:
        case BEAT_AFTER_LOST:
            CHECK(beat.sequence > highest);
            CHECK_EQUAL(missing, highest ? beat.sequence - highest - 1 : 0);
            highest = beat.sequence;
            lost += missing;
            took++;
            break;
        case BEAT_DUPLICATE:
            CHECK_EQUAL(beat.sequence, highest);
            twice++;
            break;
        case BEAT_LATE:
            CHECK(beat.sequence < highest);
            late++;
            break;
        case BEAT_NEW_EPOCH:
            CHECK(false);
        }
    }
    CHECK_EQUAL(came, took + late + twice);
    CHECK(highest - took == lost || highest - took == lost + order.sequence - highest);
}

TEST(a_conductor_started_anew_goes_on_and_the_old_one_s_beats_do_not)
{
    struct beat_order order = { 0 };
    struct beat beat = { .epoch = 10, .sequence = 900 };
    uint64_t lost;

    CHECK_EQUAL(beat_order_take(&order, &beat, 0, &lost), BEAT_NEXT);
    beat = (struct beat){ .epoch = 11, .sequence = 1 };
    CHECK_EQUAL(beat_order_take(&order, &beat, 0, &lost), BEAT_NEW_EPOCH);
    beat = (struct beat){ .epoch = 10, .sequence = 901 };
    CHECK_EQUAL(beat_order_take(&order, &beat, 0, &lost), BEAT_LATE);
    beat = (struct beat){ .epoch = 11, .sequence = 2 };
    CHECK_EQUAL(beat_order_take(&order, &beat, 0, &lost), BEAT_NEXT);
    CHECK_EQUAL(lost, 0);
}

/* While the followed conductor beats, however seldom, no sender of older beats is told of it. */
TEST(an_older_conductor_is_told_of_a_newer_epoch_whose_beats_have_stopped)
{
    const struct beat newer = { .epoch = 9, .sequence = 4, .period_ns = 100 },
                      older = { .epoch = 8, .sequence = 50 }, earlier = { .epoch = 9, .sequence = 3 },
                      last = { .epoch = 9, .sequence = 5 };
    struct beat_order order = { 0 };
    uint64_t lost;

    CHECK_EQUAL(beat_order_take(&order, &newer, 1000, &lost), BEAT_NEXT);
    for (uint64_t at_ns = 1000; at_ns <= 1300; at_ns += 10) {
        CHECK_EQUAL(beat_order_take(&order, &older, at_ns, &lost), BEAT_LATE);
        CHECK(!beat_order_passes_over(&order, &older, at_ns) && !beat_order_is_silent(&order, at_ns));
    }
    CHECK(beat_order_is_silent(&order, 1301));
    CHECK(!beat_order_passes_over(&order, &earlier, 1301) && !beat_order_passes_over(&order, &earlier, 1301));
    for (unsigned i = 0; i < 20; i++)
        CHECK_EQUAL(beat_order_passes_over(&order, &older, 1301 + i), i % 2 == 0); /* 31 came before */
    CHECK_EQUAL(beat_order_take(&order, &last, 1400, &lost), BEAT_NEXT);           /* none follows */
    CHECK(!beat_order_passes_over(&order, &older, 1400));
    CHECK(beat_order_passes_over(&order, &older, 1400));
}

int main(void)
{
    RUN(siphash_answers_the_published_vectors);
    RUN(a_beat_is_read_as_it_was_written);
    RUN(what_is_cut_or_changed_is_refused);
    RUN(each_fault_has_its_name);
    RUN(the_longest_beat_has_the_longest_length);
    RUN(an_absurd_beat_is_not_written);
    RUN(beats_count_once_and_lost_ones_add_up);
    RUN(an_older_conductor_is_told_of_a_newer_epoch_whose_beats_have_stopped);
    RUN(a_conductor_started_anew_goes_on_and_the_old_one_s_beats_do_not);
    return check_report("beat_frame");
}
