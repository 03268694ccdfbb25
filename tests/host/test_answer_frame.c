/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_answer_frame.c: the answers of nodes: what is written is read again, nothing that was cut or changed
 * passes, and what no node says is refused.
 */
#include "check.h"
#include "beat/answer_frame.h"
#include <string.h>

static const uint8_t key[SIPHASH_KEY_BYTES] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
static const uint8_t sender[BEAT_ADDRESS_BYTES] = { 2, 84, 0, 0, 0, 1 };
static uint64_t seed = 13;

static uint64_t any(void)
{
    return check_random(&seed);
}

static struct answer some_answer(void)
{
    struct answer answer;

    memset(&answer, 0, sizeof(answer));
    answer.state = any() % 2 ? ANSWER_RUNNING : ANSWER_STOPPED;
    answer.is_welcomed = any() % 2;
    answer.cpus = (uint16_t)(1 + any() % 65535);
    answer.epoch = 1 + any() % INT64_MAX;
    answer.sequence = 1 + any() % INT64_MAX;
    answer.follows = answer.epoch + (any() % 2 ? any() % INT64_MAX : 0);
    answer.booted_ns = any();
    answer.error_ns = (int64_t)any();
    answer.beats = any();
    answer.lost = any();
    answer.done = (uint32_t)any();
    answer.result = (uint32_t)any();
    answer.system_calls = any();
    answer.exceptions = any();
    answer.interrupts = any();
    answer.switches = any();
    for (unsigned i = 0; i < sizeof(answer.address); i++)
        answer.address[i] = (uint8_t)any();
    answer.ranks = (uint16_t)any();
    answer.polls = any() % 2;
    for (unsigned length = (unsigned)(any() % ANSWER_NAME_BYTES), i = 0; i < length; i++)
        answer.name[i] = (char)('!' + any() % ('~' - '!' + 1));
    answer.job = (uint32_t)any();
    answer.start = any();
    return answer;
}

TEST(an_answer_is_read_as_it_was_written)
{
    uint8_t payload[2 * ANSWER_BYTES];

    memset(payload, 0xee, sizeof(payload));
    for (unsigned round = 0; round < 20000; round++) {
        struct answer answer = some_answer(), read;

        memset(&read, 0, sizeof(read));
        answer_encode(&answer, key, sender, payload);
        CHECK_EQUAL(answer_decode(payload, ANSWER_BYTES + any() % ANSWER_BYTES, key, sender, &read),
                    BEAT_FINE);
        CHECK_EQUAL(memcmp(&read, &answer, sizeof(answer)), 0);
    }
}

TEST(an_answer_counts_from_its_sender_alone)
{
    uint8_t payload[ANSWER_BYTES], other[BEAT_ADDRESS_BYTES];
    struct answer answer = some_answer(), read;

    answer_encode(&answer, key, sender, payload);
    for (unsigned bit = 0; bit < 8 * BEAT_ADDRESS_BYTES; bit++) {
        memcpy(other, sender, sizeof(other));
        other[bit / 8] ^= (uint8_t)(1 << bit % 8);
        CHECK_EQUAL(answer_decode(payload, ANSWER_BYTES, key, other, &read), BEAT_FORGED);
        payload[ANSWER_BYTES - BEAT_END_BYTES + bit / 8] ^= (uint8_t)(1 << bit % 8); /* it is covered */
        CHECK_EQUAL(answer_decode(payload, ANSWER_BYTES, key, other, &read), BEAT_FORGED);
        payload[ANSWER_BYTES - BEAT_END_BYTES + bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    CHECK_EQUAL(answer_decode(payload, ANSWER_BYTES, key, sender, &read), BEAT_FINE);
}

TEST(no_node_follows_an_older_epoch_than_it_answers)
{
    uint8_t payload[ANSWER_BYTES];
    struct answer answer = some_answer(), read;

    answer.follows = answer.epoch - 1;
    answer_encode(&answer, key, sender, payload);
    CHECK_EQUAL(answer_decode(payload, ANSWER_BYTES, key, sender, &read), BEAT_ABSURD);
}

TEST(what_is_cut_is_refused)
{
    struct answer answer = some_answer(), read;
    uint8_t payload[ANSWER_BYTES];

    answer_encode(&answer, key, sender, payload);
    for (size_t bytes = 0; bytes < ANSWER_BYTES; bytes++)
        CHECK_EQUAL(answer_decode(payload, bytes, key, sender, &read), BEAT_TRUNCATED);
}

TEST(whatever_bit_is_changed_the_answer_is_refused)
{
    uint8_t payload[ANSWER_BYTES], other_key[SIPHASH_KEY_BYTES];
    struct answer read;

    for (unsigned round = 0; round < 20; round++) {
        struct answer answer = some_answer();

        answer_encode(&answer, key, sender, payload);
        for (unsigned bit = 0; bit < 8 * ANSWER_BYTES; bit++) {
            payload[bit / 8] ^= (uint8_t)(1 << bit % 8);
            enum beat_fault fault = answer_decode(payload, ANSWER_BYTES, key, sender, &read);
            CHECK(fault == (bit < 8    ? BEAT_OTHER_VERSION
                            : bit < 16 ? BEAT_OTHER_KIND
                            : bit < 32 ? BEAT_TRUNCATED
                                       : BEAT_FORGED));
            payload[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        for (unsigned bit = 0; bit < 8 * SIPHASH_KEY_BYTES; bit++) {
            memcpy(other_key, key, sizeof(key));
            other_key[bit / 8] ^= (uint8_t)(1 << bit % 8);
            CHECK_EQUAL(answer_decode(payload, ANSWER_BYTES, other_key, sender, &read), BEAT_FORGED);
        }
    }
}

TEST(an_answer_that_says_neither_how_it_hears_beats_nor_that_it_is_welcome_is_refused)
{
    const unsigned flags[] = { 5, 102 }, wrong[] = { 4, 2 };
    uint8_t payload[ANSWER_BYTES];

    for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        struct answer answer = some_answer(), read;

        answer_encode(&answer, key, sender, payload);
        payload[flags[i]] = (uint8_t)wrong[i];
        beat_end_write(payload, ANSWER_BYTES, key, sender);
        CHECK_EQUAL(answer_decode(payload, ANSWER_BYTES, key, sender, &read), BEAT_ABSURD);
    }
}

/* One field each that no node says, under the right tag. */
TEST(an_absurd_answer_is_refused)
{
    static const char *const names[] = { "a b", "a\033[2J", "\x7f", "caf\xc3\xa9", " ", "a\n" };
    uint8_t payload[ANSWER_BYTES];
    struct answer read;

    for (unsigned field = 0; field < 5; field++) {
        struct answer answer = some_answer();

        answer.state = field == 0 ? 0 : field == 1 ? 3 : answer.state;
        answer.cpus = field == 2 ? 0 : answer.cpus;
        answer.epoch = field == 3 ? 0 : answer.epoch;
        answer.sequence = field == 4 ? 0 : answer.sequence;
        answer_encode(&answer, key, sender, payload);
        CHECK_EQUAL(answer_decode(payload, ANSWER_BYTES, key, sender, &read), BEAT_ABSURD);
    }
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct answer answer = some_answer();

        memset(answer.name, 0, sizeof(answer.name));
        memcpy(answer.name, names[i], strlen(names[i]));
        answer_encode(&answer, key, sender, payload);
        CHECK_EQUAL(answer_decode(payload, ANSWER_BYTES, key, sender, &read), BEAT_ABSURD);
    }
    struct answer answer = some_answer();
    memset(answer.name, 'a', sizeof(answer.name)); /* no NUL at its end */
    answer_encode(&answer, key, sender, payload);
    CHECK_EQUAL(answer_decode(payload, ANSWER_BYTES, key, sender, &read), BEAT_ABSURD);
    memcpy(answer.name, "a\0b", 4); /* something after its end */
    memset(answer.name + 4, 0, sizeof(answer.name) - 4);
    answer_encode(&answer, key, sender, payload);
    CHECK_EQUAL(answer_decode(payload, ANSWER_BYTES, key, sender, &read), BEAT_ABSURD);
}

TEST(a_beat_is_no_answer_and_an_answer_no_beat)
{
    struct beat beat = { .epoch = 1, .sequence = 1, .command_count = 2 }, beat_read;
    struct answer answer = some_answer(), answer_read;
    uint8_t payload[BEAT_BYTES_MAX];

    beat.commands[0].bytes = beat.commands[1].bytes = BEAT_COMMAND_BYTES; /* as long as an answer */
    size_t bytes = beat_encode(&beat, key, sender, payload, sizeof(payload));
    CHECK(bytes >= ANSWER_BYTES);
    CHECK_EQUAL(answer_decode(payload, bytes, key, sender, &answer_read), BEAT_OTHER_KIND);
    answer_encode(&answer, key, sender, payload);
    CHECK_EQUAL(beat_decode(payload, ANSWER_BYTES, key, sender, &beat_read), BEAT_OTHER_KIND);
}

int main(void)
{
    RUN(an_answer_is_read_as_it_was_written);
    RUN(an_answer_counts_from_its_sender_alone);
    RUN(no_node_follows_an_older_epoch_than_it_answers);
    RUN(what_is_cut_is_refused);
    RUN(whatever_bit_is_changed_the_answer_is_refused);
    RUN(an_answer_that_says_neither_how_it_hears_beats_nor_that_it_is_welcome_is_refused);
    RUN(an_absurd_answer_is_refused);
    RUN(a_beat_is_no_answer_and_an_answer_no_beat);
    return check_report("answer_frame");
}
