/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * welcome.c: see welcome.h. The message that is hashed is shorter than any frame, so that no welcome is a
 * frame's tag.
 */
#include "beat/welcome.h"
#include "lib/bytes.h"

uint64_t welcome_of(const uint8_t key[SIPHASH_KEY_BYTES], const uint8_t address[BEAT_ADDRESS_BYTES],
                    uint64_t start)
{
    uint8_t message[BEAT_ADDRESS_BYTES + 8];

    __builtin_memcpy(message, address, BEAT_ADDRESS_BYTES);
    store_be(message + BEAT_ADDRESS_BYTES, 8, start);
    return siphash(key, message, sizeof(message));
}

bool welcome_add(struct beat *beat, unsigned commands_max, uint64_t welcome)
{
    struct beat_command *last = beat->command_count ? &beat->commands[beat->command_count - 1] : NULL;

    if (!last || last->bytes == BEAT_COMMAND_BYTES) {
        if (beat->command_count >= commands_max)
            return false;
        last = &beat->commands[beat->command_count++];
        *last = (struct beat_command){ .code = BEAT_WELCOME };
    }
    store_be(last->body + last->bytes, WELCOME_BYTES, welcome);
    last->bytes = (uint16_t)(last->bytes + WELCOME_BYTES);
    return true;
}

bool welcome_is_in(const struct beat *beat, uint64_t welcome)
{
    for (unsigned i = 0; i < beat->command_count; i++) {
        const struct beat_command *command = &beat->commands[i];

        if (command->code != BEAT_WELCOME)
            continue;
        for (unsigned at = 0; at + WELCOME_BYTES <= command->bytes; at += WELCOME_BYTES)
            if (load_be64(command->body + at) == welcome)
                return true;
    }
    return false;
}
