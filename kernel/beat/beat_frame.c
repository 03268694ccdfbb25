/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * beat_frame.c: see beat_frame.h. Numbers are in network byte order. The tag is the last 8 bytes of what the
 * header calls the frame's length; what Ethernet has padded after it does not count.
 */
#include "beat/beat_frame.h"

static void put(uint8_t *at, unsigned bytes, uint64_t value)
{
    while (bytes > 0) {
        at[--bytes] = (uint8_t)value;
        value >>= 8;
    }
}

static uint64_t get(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

static size_t padded(size_t bytes)
{
    return (bytes + 3) & ~(size_t)3;
}

static bool is_absurd(const struct beat *beat)
{
    return !beat->epoch || !beat->sequence || beat->command_count > BEAT_COMMANDS_MAX ||
           (beat->period_ns &&
            (beat->period_ns < BEAT_PERIOD_NS_MIN || beat->period_ns > BEAT_PERIOD_NS_MAX));
}

static const struct field {
    uint8_t at, bytes;
} version = { 0, 1 }, kind = { 1, 1 }, length = { 2, 2 }, answer_every = { 4, 2 }, commands = { 6, 2 },
  epoch = { 8, 8 }, sequence = { 16, 8 }, due = { 24, 8 }, period = { 32, 8 }, late = { 40, 4 };

static void field_put(uint8_t *payload, struct field field, uint64_t value)
{
    put(payload + field.at, field.bytes, value);
}

static uint64_t field_get(const uint8_t *payload, struct field field)
{
    return get(payload + field.at, field.bytes);
}

size_t beat_encode(const struct beat *beat, const uint8_t key[SIPHASH_KEY_BYTES], uint8_t *payload,
                   size_t room)
{
    size_t bytes = BEAT_HEADER_BYTES + BEAT_TAG_BYTES;

    if (is_absurd(beat))
        return 0;
    for (unsigned i = 0; i < beat->command_count; i++) {
        if (beat->commands[i].bytes > BEAT_COMMAND_BYTES)
            return 0;
        bytes += 8 + padded(beat->commands[i].bytes);
    }
    if (bytes > room || bytes > BEAT_BYTES_MAX)
        return 0;
    for (size_t i = 0; i < bytes; i++)
        payload[i] = 0;
    field_put(payload, version, BEAT_VERSION);
    field_put(payload, kind, BEAT_KIND_BEAT);
    field_put(payload, length, bytes);
    field_put(payload, answer_every, beat->answer_every);
    field_put(payload, commands, beat->command_count);
    field_put(payload, epoch, beat->epoch);
    field_put(payload, sequence, beat->sequence);
    field_put(payload, due, beat->time_ns);
    field_put(payload, period, beat->period_ns);
    field_put(payload, late, beat->late_ns);

    uint8_t *at = payload + BEAT_HEADER_BYTES;
    for (unsigned i = 0; i < beat->command_count; i++) {
        const struct beat_command *command = &beat->commands[i];

        put(at, 2, command->code);
        put(at + 2, 2, command->bytes);
        put(at + 4, 4, command->number);
        __builtin_memcpy(at + 8, command->body, command->bytes);
        at += 8 + padded(command->bytes);
    }
    put(at, BEAT_TAG_BYTES, siphash(key, payload, bytes - BEAT_TAG_BYTES));
    return bytes;
}

/* The commands fill what is between the header and the tag, all of it. */
static bool commands_read(const uint8_t *at, const uint8_t *end, struct beat *beat)
{
    for (unsigned i = 0; i < beat->command_count; i++) {
        struct beat_command *command = &beat->commands[i];

        if (end - at < 8)
            return false;
        command->code = (uint16_t)get(at, 2);
        command->bytes = (uint16_t)get(at + 2, 2);
        command->number = (uint32_t)get(at + 4, 4);
        if (command->bytes > BEAT_COMMAND_BYTES || (size_t)(end - at) < 8 + padded(command->bytes))
            return false;
        __builtin_memcpy(command->body, at + 8, command->bytes);
        at += 8 + padded(command->bytes);
    }
    return at == end;
}

enum beat_fault beat_decode(const uint8_t *payload, size_t bytes, const uint8_t key[SIPHASH_KEY_BYTES],
                            struct beat *beat)
{
    if (bytes < BEAT_HEADER_BYTES + BEAT_TAG_BYTES)
        return BEAT_TRUNCATED;
    if (field_get(payload, version) != BEAT_VERSION)
        return BEAT_OTHER_VERSION;
    if (field_get(payload, kind) != BEAT_KIND_BEAT)
        return BEAT_OTHER_KIND;
    size_t whole = field_get(payload, length);
    if (whole > bytes || whole < BEAT_HEADER_BYTES + BEAT_TAG_BYTES)
        return BEAT_TRUNCATED;
    const uint8_t *end = payload + whole - BEAT_TAG_BYTES;
    if (get(end, BEAT_TAG_BYTES) != siphash(key, payload, whole - BEAT_TAG_BYTES))
        return BEAT_FORGED;

    beat->answer_every = (uint16_t)field_get(payload, answer_every);
    beat->command_count = (uint16_t)field_get(payload, commands);
    beat->epoch = field_get(payload, epoch);
    beat->sequence = field_get(payload, sequence);
    beat->time_ns = field_get(payload, due);
    beat->period_ns = field_get(payload, period);
    beat->late_ns = (uint32_t)field_get(payload, late);
    return is_absurd(beat) || !commands_read(payload + BEAT_HEADER_BYTES, end, beat) ? BEAT_ABSURD
                                                                                     : BEAT_FINE;
}

enum beat_place beat_order_take(struct beat_order *order, const struct beat *beat, uint64_t *lost)
{
    enum beat_place place;

    *lost = 0;
    if (beat->epoch < order->epoch || (beat->epoch == order->epoch && beat->sequence < order->sequence))
        return BEAT_LATE;
    if (beat->epoch == order->epoch && beat->sequence == order->sequence)
        return BEAT_DUPLICATE;
    if (beat->epoch > order->epoch) {
        place = order->epoch ? BEAT_NEW_EPOCH : BEAT_NEXT;
    } else {
        *lost = beat->sequence - order->sequence - 1;
        place = *lost ? BEAT_AFTER_LOST : BEAT_NEXT;
    }
    order->epoch = beat->epoch;
    order->sequence = beat->sequence;
    return place;
}
