/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * beat_frame.c: see beat_frame.h. Numbers are in network byte order. The length in the header includes the
 * sender's address and the tag, the last 14 bytes, but not the padding that Ethernet adds after them.
 */
#include "beat/beat_frame.h"
#include "lib/bytes.h"

enum { AT_VERSION = 0, AT_KIND = 1, AT_LENGTH = 2, AT_REST = 4 };

void beat_head_write(uint8_t *payload, enum beat_kind kind, size_t bytes)
{
    store_be(payload + AT_VERSION, 1, BEAT_VERSION);
    store_be(payload + AT_KIND, 1, kind);
    store_be(payload + AT_LENGTH, 2, bytes);
}

void beat_end_write(uint8_t *payload, size_t bytes, const uint8_t key[SIPHASH_KEY_BYTES],
                    const uint8_t sender[BEAT_ADDRESS_BYTES])
{
    __builtin_memcpy(payload + bytes - BEAT_END_BYTES, sender, BEAT_ADDRESS_BYTES);
    store_be(payload + bytes - BEAT_TAG_BYTES, BEAT_TAG_BYTES, siphash(key, payload, bytes - BEAT_TAG_BYTES));
}

/* Compares two addresses, inline: each beat pays for it. */
static inline bool is_same(const uint8_t *address, const uint8_t *other)
{
    return load_le32(address) == load_le32(other) && load_le16(address + 4) == load_le16(other + 4);
}

/* Checks as beat_head_check; inline, so that a beat does not pay for the arguments. */
static inline __attribute__((always_inline)) enum beat_fault head_check(
    const uint8_t *payload, size_t bytes, enum beat_kind kind, size_t bytes_min, size_t bytes_max,
    const uint8_t key[SIPHASH_KEY_BYTES], const uint8_t sender[BEAT_ADDRESS_BYTES], size_t *whole)
{
    if (bytes < bytes_min)
        return BEAT_TRUNCATED;
    if (payload[AT_VERSION] != BEAT_VERSION)
        return BEAT_OTHER_VERSION;
    if (payload[AT_KIND] != kind)
        return BEAT_OTHER_KIND;
    *whole = load_be16(payload + AT_LENGTH);
    if (*whole > bytes || *whole < bytes_min || *whole > bytes_max)
        return BEAT_TRUNCATED;
    return is_same(payload + *whole - BEAT_END_BYTES, sender) &&
                   load_be64(payload + *whole - BEAT_TAG_BYTES) ==
                       siphash(key, payload, *whole - BEAT_TAG_BYTES)
               ? BEAT_FINE
               : BEAT_FORGED;
}

enum beat_fault beat_head_check(const uint8_t *payload, size_t bytes, enum beat_kind kind, size_t bytes_min,
                                size_t bytes_max, const uint8_t key[SIPHASH_KEY_BYTES],
                                const uint8_t sender[BEAT_ADDRESS_BYTES], size_t *whole)
{
    return head_check(payload, bytes, kind, bytes_min, bytes_max, key, sender, whole);
}

/* ---- Beats ---- */

static size_t padded(size_t bytes)
{
    return (bytes + 3) & ~(size_t)3;
}

static bool is_absurd(const struct beat *beat)
{
    return !beat->epoch || !beat->sequence || beat->command_count > BEAT_COMMANDS_MAX ||
           beat->tai_utc_s > BEAT_TAI_UTC_S_MAX ||
           (beat->period_ns &&
            (beat->period_ns < BEAT_PERIOD_NS_MIN || beat->period_ns > BEAT_PERIOD_NS_MAX));
}

enum {
    AT_ANSWER_EVERY = AT_REST,
    AT_COMMANDS = 6,
    AT_EPOCH = 8,
    AT_SEQUENCE = 16,
    AT_TIME = 24,
    AT_PERIOD = 32,
    AT_LATE = 40,
    AT_TAI_UTC = 44
};

size_t beat_encode(const struct beat *beat, const uint8_t key[SIPHASH_KEY_BYTES],
                   const uint8_t sender[BEAT_ADDRESS_BYTES], uint8_t *payload, size_t room)
{
    size_t bytes = BEAT_HEADER_BYTES + BEAT_END_BYTES;

    if (is_absurd(beat))
        return 0;
    for (unsigned i = 0; i < beat->command_count; i++) {
        if (beat->commands[i].bytes > BEAT_COMMAND_BYTES)
            return 0;
        bytes += 8 + padded(beat->commands[i].bytes);
    }
    if (bytes > room)
        return 0;
    for (size_t i = 0; i < bytes; i++)
        payload[i] = 0;
    beat_head_write(payload, BEAT_KIND_BEAT, bytes);
    store_be(payload + AT_ANSWER_EVERY, 2, beat->answer_every);
    store_be(payload + AT_COMMANDS, 2, beat->command_count);
    store_be(payload + AT_EPOCH, 8, beat->epoch);
    store_be(payload + AT_SEQUENCE, 8, beat->sequence);
    store_be(payload + AT_TIME, 8, beat->time_ns);
    store_be(payload + AT_PERIOD, 8, beat->period_ns);
    store_be(payload + AT_LATE, 4, beat->late_ns);
    store_be(payload + AT_TAI_UTC, 4, beat->tai_utc_s);

    uint8_t *at = payload + BEAT_HEADER_BYTES;
    for (unsigned i = 0; i < beat->command_count; i++) {
        const struct beat_command *command = &beat->commands[i];

        store_be(at, 2, command->code);
        store_be(at + 2, 2, command->bytes);
        store_be(at + 4, 4, command->number);
        __builtin_memcpy(at + 8, command->body, command->bytes);
        at += 8 + padded(command->bytes);
    }
    beat_end_write(payload, bytes, key, sender);
    return bytes;
}

/* Reads the commands. Returns false unless they fill exactly the space between the header and the end. */
static bool commands_read(const uint8_t *at, const uint8_t *end, struct beat *beat)
{
    for (unsigned i = 0; i < beat->command_count; i++) {
        struct beat_command *command = &beat->commands[i];

        if (end - at < 8)
            return false;
        command->code = load_be16(at);
        command->bytes = load_be16(at + 2);
        command->number = load_be32(at + 4);
        if (command->bytes > BEAT_COMMAND_BYTES || (size_t)(end - at) < 8 + padded(command->bytes))
            return false;
        __builtin_memcpy(command->body, at + 8, command->bytes);
        at += 8 + padded(command->bytes);
    }
    return at == end;
}

enum beat_fault beat_decode(const uint8_t *payload, size_t bytes, const uint8_t key[SIPHASH_KEY_BYTES],
                            const uint8_t sender[BEAT_ADDRESS_BYTES], struct beat *beat)
{
    size_t whole;
    const enum beat_fault fault =
        bytes > BEAT_FRAME_BYTES /* a short one is padded to fewer bytes */
            ? BEAT_TRUNCATED
            : head_check(payload, bytes, BEAT_KIND_BEAT, BEAT_HEADER_BYTES + BEAT_END_BYTES, BEAT_FRAME_BYTES,
                         key, sender, &whole);

    if (fault != BEAT_FINE)
        return fault;
    const uint8_t *end = payload + whole - BEAT_END_BYTES;
    beat->answer_every = load_be16(payload + AT_ANSWER_EVERY);
    beat->command_count = load_be16(payload + AT_COMMANDS);
    beat->epoch = load_be64(payload + AT_EPOCH);
    beat->sequence = load_be64(payload + AT_SEQUENCE);
    beat->time_ns = load_be64(payload + AT_TIME);
    beat->period_ns = load_be64(payload + AT_PERIOD);
    beat->late_ns = load_be32(payload + AT_LATE);
    beat->tai_utc_s = load_be32(payload + AT_TAI_UTC);
    return is_absurd(beat) || !commands_read(payload + BEAT_HEADER_BYTES, end, beat) ? BEAT_ABSURD
                                                                                     : BEAT_FINE;
}

enum beat_place beat_order_take(struct beat_order *order, const struct beat *beat, uint64_t now_ns,
                                uint64_t *lost)
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
    *order = (struct beat_order){ beat->epoch, beat->sequence, beat->period_ns, now_ns, 0 };
    return place;
}

bool beat_order_is_silent(const struct beat_order *order, uint64_t now_ns)
{
    return now_ns - order->heard_ns > BEAT_SILENT_PERIODS * order->period_ns || !order->period_ns;
}

bool beat_order_passes_over(struct beat_order *order, const struct beat *beat, uint64_t now_ns)
{
    return beat->epoch < order->epoch && ++order->older % 2 == 0 && beat_order_is_silent(order, now_ns);
}
