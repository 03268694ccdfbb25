/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * answer_frame.c: see answer_frame.h. Numbers are in network byte order.
 */
#include "beat/answer_frame.h"
#include "lib/bytes.h"

enum {
    AT_STATE = 4,
    AT_WELCOMED = 5,
    AT_CPUS = 6,
    AT_EPOCH = 8,
    AT_SEQUENCE = 16,
    AT_BOOTED = 24,
    AT_ERROR = 32,
    AT_BEATS = 40,
    AT_LOST = 48,
    AT_DONE = 56,
    AT_RESULT = 60,
    AT_COUNTS = 64,
    AT_ADDRESS = 96,
    AT_RANKS = 100,
    AT_POLLS = 102,
    AT_NAME = 104,
    AT_JOB = 136,
    AT_START = 140,
    AT_FOLLOWS = 148,
    AT_END = 156
};

_Static_assert(AT_NAME + ANSWER_NAME_BYTES == AT_JOB && AT_END + BEAT_END_BYTES == ANSWER_BYTES,
               "the job's number follows the name, and nothing comes before the end");

void answer_encode(const struct answer *answer, const uint8_t key[SIPHASH_KEY_BYTES],
                   const uint8_t sender[BEAT_ADDRESS_BYTES], uint8_t payload[ANSWER_BYTES])
{
    const uint64_t counts[] = { answer->system_calls, answer->exceptions, answer->interrupts,
                                answer->switches };

    __builtin_memset(payload, 0, ANSWER_BYTES);
    beat_head_write(payload, BEAT_KIND_ANSWER, ANSWER_BYTES);
    store_be(payload + AT_STATE, 1, answer->state);
    store_be(payload + AT_WELCOMED, 1, answer->is_welcomed + 2U * answer->has_next_keys);
    store_be(payload + AT_CPUS, 2, answer->cpus);
    store_be(payload + AT_EPOCH, 8, answer->epoch);
    store_be(payload + AT_SEQUENCE, 8, answer->sequence);
    store_be(payload + AT_BOOTED, 8, answer->booted_ns);
    store_be(payload + AT_ERROR, 8, (uint64_t)answer->error_ns);
    store_be(payload + AT_BEATS, 8, answer->beats);
    store_be(payload + AT_LOST, 8, answer->lost);
    store_be(payload + AT_DONE, 4, answer->done);
    store_be(payload + AT_RESULT, 4, answer->result);
    for (unsigned i = 0; i < 4; i++)
        store_be(payload + AT_COUNTS + 8 * i, 8, counts[i]);
    __builtin_memcpy(payload + AT_ADDRESS, answer->address, sizeof(answer->address));
    store_be(payload + AT_RANKS, 2, answer->ranks);
    store_be(payload + AT_POLLS, 1, answer->polls);
    __builtin_memcpy(payload + AT_NAME, answer->name, ANSWER_NAME_BYTES);
    store_be(payload + AT_JOB, 4, answer->job);
    store_be(payload + AT_START, 8, answer->start);
    store_be(payload + AT_FOLLOWS, 8, answer->follows);
    beat_end_write(payload, ANSWER_BYTES, key, sender);
}

bool answer_name_is_fine(const char name[ANSWER_NAME_BYTES])
{
    unsigned length = 0;

    while (length < ANSWER_NAME_BYTES && name[length] > ' ' && name[length] < 0x7f)
        length++;
    for (unsigned i = length; i < ANSWER_NAME_BYTES; i++)
        if (name[i])
            return false;
    return length < ANSWER_NAME_BYTES;
}

enum beat_fault answer_decode(const uint8_t *payload, size_t bytes, const uint8_t key[SIPHASH_KEY_BYTES],
                              const uint8_t sender[BEAT_ADDRESS_BYTES], struct answer *answer)
{
    size_t whole;
    const enum beat_fault fault =
        beat_head_check(payload, bytes, BEAT_KIND_ANSWER, ANSWER_BYTES, ANSWER_BYTES, key, sender, &whole);

    if (fault != BEAT_FINE)
        return fault;
    answer->state = payload[AT_STATE];
    answer->is_welcomed = payload[AT_WELCOMED] & 1;
    answer->has_next_keys = payload[AT_WELCOMED] & 2;
    answer->cpus = load_be16(payload + AT_CPUS);
    answer->epoch = load_be64(payload + AT_EPOCH);
    answer->sequence = load_be64(payload + AT_SEQUENCE);
    answer->booted_ns = load_be64(payload + AT_BOOTED);
    answer->error_ns = (int64_t)load_be64(payload + AT_ERROR);
    answer->beats = load_be64(payload + AT_BEATS);
    answer->lost = load_be64(payload + AT_LOST);
    answer->done = load_be32(payload + AT_DONE);
    answer->result = load_be32(payload + AT_RESULT);
    answer->system_calls = load_be64(payload + AT_COUNTS);
    answer->exceptions = load_be64(payload + AT_COUNTS + 8);
    answer->interrupts = load_be64(payload + AT_COUNTS + 16);
    answer->switches = load_be64(payload + AT_COUNTS + 24);
    __builtin_memcpy(answer->address, payload + AT_ADDRESS, sizeof(answer->address));
    answer->ranks = load_be16(payload + AT_RANKS);
    answer->polls = payload[AT_POLLS] == 1;
    __builtin_memcpy(answer->name, payload + AT_NAME, ANSWER_NAME_BYTES);
    answer->job = load_be32(payload + AT_JOB);
    answer->start = load_be64(payload + AT_START);
    answer->follows = load_be64(payload + AT_FOLLOWS);
    const bool is_known = answer->state == ANSWER_RUNNING || answer->state == ANSWER_STOPPED;
    return is_known && payload[AT_WELCOMED] <= 3 && payload[AT_POLLS] <= 1 && answer->epoch &&
                   answer->follows >= answer->epoch && answer->sequence && answer->cpus &&
                   answer_name_is_fine(answer->name)
               ? BEAT_FINE
               : BEAT_ABSURD;
}
